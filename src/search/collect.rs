//! Gathers the best hits of an index view, and counts.
//!
//! The order is total: score, then key, so it does not depend on segments. Counting visits every hit; without counting,
//! postings that cannot reach the page are skipped.

use std::collections::BinaryHeap;

use tantivy::columnar::{BytesColumn, StrColumn, TermOrdHit};
use tantivy::query::{EnableScoring, Query, Weight};
use tantivy::{Searcher, SegmentReader};

use super::document::{DocKey, Shape};
use super::request::{After, Facets, Hit, Hits, Request};

/// Names of the columns that every segment has.
pub const KEY: &str = "key";
/// Column of the codes of the kinds.
pub const KIND: &str = "kind";
/// Column of the ids of the workspaces.
pub const WORKSPACE: &str = "workspace";

/// A hit within one segment; the greatest is the worst.
#[derive(PartialEq)]
struct Candidate {
    score: f32,
    ordinal: u64,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.score.total_cmp(&self.score).then_with(|| self.ordinal.cmp(&other.ordinal))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Adds to `hits` the first hits of the page, one more than it takes, in no order, and the counts.
pub fn collect(
    searcher: &Searcher,
    query: &dyn Query,
    request: &Request,
    shape: &Shape,
    hits: &mut Hits,
) -> tantivy::Result<()> {
    let weight = query.weight(EnableScoring::enabled_from_searcher(searcher))?;
    let wanted = request.take.saturating_add(1);
    let mut floor = f32::NEG_INFINITY;
    let mut found: Vec<Hit> = Vec::new();
    for reader in searcher.segment_readers() {
        let mut top = Top::new(reader, request.after.as_ref(), wanted, floor)?;
        if hits.total.is_some() || hits.facets.is_some() {
            let count = visit_all(&*weight, reader, &mut top, hits.facets.as_mut())?;
            if let Some(total) = &mut hits.total {
                *total += count;
            }
        } else {
            let alive = reader.alive_bitset();
            weight.for_each_pruning(floor, reader, &mut |document, score| {
                if alive.is_none_or(|alive| alive.is_alive(document)) {
                    top.offer(document, score);
                }
                top.floor
            })?;
        }
        found.extend(top.hits(shape)?);
        if found.len() >= wanted {
            found.sort_by(Hit::order);
            found.truncate(wanted);
            // Equal scores may still come before by their key.
            floor = found.last().map_or(floor, |worst| worst.score.next_down());
        }
    }
    hits.hits.append(&mut found);
    Ok(())
}

/// The keys of all hits, in no order.
pub fn collect_keys(searcher: &Searcher, query: &dyn Query, shape: &Shape) -> tantivy::Result<Vec<DocKey>> {
    let weight = query.weight(EnableScoring::disabled_from_searcher(searcher))?;
    let mut found = Vec::new();
    for reader in searcher.segment_readers() {
        let alive = reader.alive_bitset();
        let mut here = Vec::new();
        weight.for_each_no_score(reader, &mut |documents| {
            here.extend(documents.iter().filter(|document| alive.is_none_or(|alive| alive.is_alive(**document))));
        })?;
        push_keys(reader, &here, shape, &mut found)?;
    }
    Ok(found)
}

/// Appends the keys of documents of one segment.
pub fn push_keys(
    reader: &SegmentReader,
    documents: &[u32],
    shape: &Shape,
    found: &mut Vec<DocKey>,
) -> tantivy::Result<()> {
    let Some(keys) = reader.fast_fields().bytes(KEY)? else { return Ok(()) };
    let mut ordinals: Vec<u64> = documents.iter().filter_map(|document| keys.ords().first(*document)).collect();
    // In the order of the dictionary, so that its blocks are read once.
    ordinals.sort_unstable();
    let mut outcome = Ok(());
    keys.dictionary().sorted_ords_to_term_cb(&ordinals, |bytes| match DocKey::from_bytes(shape, bytes) {
        Some(key) => found.push(key),
        None => outcome = Err(unreadable()),
    })?;
    outcome
}

fn unreadable() -> tantivy::TantivyError {
    tantivy::TantivyError::InternalError("a key of the index cannot be read".to_owned())
}

fn visit_all(
    weight: &dyn Weight,
    reader: &SegmentReader,
    top: &mut Top,
    facets: Option<&mut Facets>,
) -> tantivy::Result<u64> {
    let alive = reader.alive_bitset();
    let mut total = 0;
    let Some(facets) = facets else {
        weight.for_each(reader, &mut |document, score| {
            if alive.is_none_or(|alive| alive.is_alive(document)) {
                total += 1;
                top.offer(document, score);
            }
        })?;
        return Ok(total);
    };
    let kinds = reader.fast_fields().u64(KIND)?;
    let workspaces: Option<StrColumn> = reader.fast_fields().str(WORKSPACE)?;
    let mut by_kind = [0u64; 256];
    let mut by_workspace = vec![0u64; workspaces.as_ref().map_or(0, |column| column.num_terms())];
    weight.for_each(reader, &mut |document, score| {
        if alive.is_some_and(|alive| alive.is_deleted(document)) {
            return;
        }
        total += 1;
        let kind = kinds.first(document).and_then(|kind| usize::try_from(kind).ok());
        if let Some(count) = kind.and_then(|kind| by_kind.get_mut(kind)) {
            *count += 1;
        }
        let workspace = workspaces.as_ref().and_then(|column| column.ords().first(document));
        let workspace = workspace.and_then(|ordinal| usize::try_from(ordinal).ok());
        if let Some(count) = workspace.and_then(|ordinal| by_workspace.get_mut(ordinal)) {
            *count += 1;
        }
        top.offer(document, score);
    })?;
    for (kind, count) in (0..=u8::MAX).zip(by_kind).filter(|(_, count)| *count > 0) {
        *facets.kinds.entry(kind).or_default() += count;
    }
    if let Some(column) = workspaces {
        let mut id = String::new();
        for (ordinal, count) in (0..).zip(by_workspace).filter(|(_, count)| *count > 0) {
            id.clear();
            column.ord_to_str(ordinal, &mut id)?;
            *facets.workspaces.entry(id.clone()).or_default() += count;
        }
    }
    Ok(total)
}

/// The best hits of one segment.
struct Top {
    keys: Option<BytesColumn>,
    heap: BinaryHeap<Candidate>,
    wanted: usize,
    floor: f32,
    /// Score of the last hit of the page before, and the first ordinal with that score that belongs to this page.
    after: Option<(f32, u64)>,
}

impl Top {
    fn new(reader: &SegmentReader, after: Option<&After>, wanted: usize, floor: f32) -> tantivy::Result<Self> {
        let keys = reader.fast_fields().bytes(KEY)?;
        let after = match (after, &keys) {
            (Some(after), Some(keys)) => {
                let first = match keys.dictionary().term_ord_or_next(after.key.to_bytes())? {
                    TermOrdHit::Exact(ordinal) => ordinal + 1,
                    TermOrdHit::Next(ordinal) => ordinal,
                };
                Some((after.score, first))
            }
            _ => None,
        };
        Ok(Self { keys, heap: BinaryHeap::new(), wanted, floor, after })
    }

    fn offer(&mut self, document: u32, score: f32) {
        if score <= self.floor || self.after.is_some_and(|(after, _)| score > after) {
            return;
        }
        let Some(ordinal) = self.keys.as_ref().and_then(|keys| keys.ords().first(document)) else { return };
        if self.after.is_some_and(|(after, first)| score == after && ordinal < first) {
            return;
        }
        let candidate = Candidate { score, ordinal };
        if self.heap.len() < self.wanted {
            self.heap.push(candidate);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && candidate < *worst
        {
            *worst = candidate;
        }
        if self.heap.len() == self.wanted
            && let Some(worst) = self.heap.peek()
        {
            self.floor = self.floor.max(worst.score.next_down());
        }
    }

    fn hits(self, shape: &Shape) -> tantivy::Result<Vec<Hit>> {
        let Some(keys) = self.keys else { return Ok(Vec::new()) };
        let mut bytes = Vec::new();
        let mut hits = Vec::with_capacity(self.heap.len());
        for candidate in self.heap {
            bytes.clear();
            keys.ord_to_bytes(candidate.ordinal, &mut bytes)?;
            let key = DocKey::from_bytes(shape, &bytes).ok_or_else(unreadable)?;
            hits.push(Hit { key, score: candidate.score });
        }
        Ok(hits)
    }
}
