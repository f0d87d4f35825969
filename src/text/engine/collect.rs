//! Collects the best hits of an index view, and counts.
//!
//! The order is total (score, then key), so results do not depend on segments. Counting visits
//! every hit. Without counting, the engine skips blocks of postings in which no document scores
//! more than a floor.
//!
//! What must hold: no document that belongs on the page scores at most the floor, and none of them
//! is in a block that is skipped ([`super::lengths`]). Many documents
//! have equal scores. A document that scores like the last hit of a full page comes before it if
//! its key is smaller, so in general the floor must be below that score ([`below`]). If all keys
//! that follow are greater, no such document exists, and the floor is raised to skip documents of
//! equal score ([`among`]). Segments whose documents are in key order allow this most often.

use std::collections::BinaryHeap;
use tantivy::columnar::StrColumn;
use tantivy::query::{Bm25StatisticsProvider, EnableScoring, Query, Weight};
use tantivy::{Searcher, SegmentReader, Term};

use super::fixed_statistics::FixedStatistics;
use super::known_statistics::{Frequencies, KnownStatistics};
use super::lengths::{Lengths, factors};
use super::schema::{KIND, KeyNumbers, Keys, WORKSPACE, key_of};
use super::segment_cache::SegmentCache;
use crate::text::document::{DocKey, Shape};
use crate::text::request::{After, Facets, Hit, Hits, Request, among, below, counted};

/// A hit; the greatest candidate is the worst hit.
#[derive(PartialEq)]
struct Candidate {
    score: f32,
    key: KeyNumbers,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.score.total_cmp(&self.score).then_with(|| self.key.cmp(&other.key))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// A compiled request.
pub(crate) struct Compiled {
    pub query: Box<dyn Query>,
    /// The term whose documents are those of the query, if the query is for one word in one field.
    /// The dictionary tells how many they are, so that counting them visits none.
    pub only_term: Option<Term>,
    pub frequencies: Frequencies,
}

/// Adds the first hits of the page to `hits`, one more than it takes and in no order, and the
/// counts.
pub(crate) fn collect(
    searcher: &Searcher,
    compiled: &Compiled,
    request: &Request,
    shape: &Shape,
    (key_columns, lengths): (&SegmentCache<Keys>, &SegmentCache<Lengths>),
    hits: &mut Hits,
) -> tantivy::Result<()> {
    let Compiled { query, only_term, frequencies } = compiled;
    let known = KnownStatistics { searcher, frequencies };
    let statistics: &dyn Bm25StatisticsProvider =
        if request.fixed_statistics { &FixedStatistics } else { &known };
    let scoring = EnableScoring::enabled_from_statistics_provider(statistics, searcher);
    let weight = query.weight(scoring)?;
    // The bounds of blocks were computed with the statistics of the index, so blocks cannot be
    // skipped when fixed statistics are used.
    let visits_all = hits.facets.is_some()
        || request.fixed_statistics
        || (hits.total.is_some() && only_term.is_none());
    let factors = if visits_all { Vec::new() } else { factors(searcher, &**query, lengths)? };
    let mut top = Top::new(request.after.as_ref(), request.take.saturating_add(1));
    let mut segments = Vec::with_capacity(searcher.segment_readers().len());
    for reader in searcher.segment_readers() {
        segments.push((key_columns.of(searcher, reader)?, reader));
    }
    // Least keys first: later documents of equal score can then be skipped.
    segments.sort_by_key(|(keys, _)| keys.least());
    for (keys, reader) in segments {
        // The dictionary also counts the documents that are deleted.
        let told = match only_term {
            Some(term) if !visits_all && hits.total.is_some() && !reader.has_deletes() => {
                Some(reader.inverted_index(term.field())?.doc_freq(term)?)
            }
            _ => None,
        };
        if visits_all || (hits.total.is_some() && told.is_none()) {
            let count = visit_all(&*weight, reader, &keys, &mut top, hits.facets.as_mut())?;
            if let Some(total) = &mut hits.total {
                *total += count;
            }
        } else {
            if let (Some(total), Some(told)) = (&mut hits.total, told) {
                *total += u64::from(told);
            }
            let alive = reader.alive_bitset();
            let factor = factors.iter().find(|(segment, _)| *segment == reader.segment_id());
            let factor = factor.map_or(1.0, |(_, factor)| *factor);
            top.raise_floor(&keys, 0);
            weight.for_each_pruning(top.floor / factor, reader, &mut |document, score| {
                if alive.is_none_or(|alive| alive.is_alive(document)) {
                    top.offer(&keys, document, score);
                    top.raise_floor(&keys, document);
                }
                top.floor / factor
            })?;
            // Documents of the next segment with equal score may come before the last hit.
            top.lower_floor();
        }
    }
    hits.hits.append(&mut top.hits(shape)?);
    Ok(())
}

/// The keys of all hits, in no order.
pub(crate) fn collect_keys(
    searcher: &Searcher,
    query: &dyn Query,
    shape: &Shape,
    key_columns: &SegmentCache<Keys>,
) -> tantivy::Result<Vec<DocKey>> {
    let weight = query.weight(EnableScoring::disabled_from_searcher(searcher))?;
    let mut found = Vec::new();
    for reader in searcher.segment_readers() {
        let alive = reader.alive_bitset();
        let mut here = Vec::new();
        weight.for_each_no_score(reader, &mut |documents| {
            here.extend(
                documents
                    .iter()
                    .filter(|document| alive.is_none_or(|alive| alive.is_alive(**document))),
            );
        })?;
        push_keys(&*key_columns.of(searcher, reader)?, &here, shape, &mut found)?;
    }
    Ok(found)
}

/// Appends the keys of documents of one segment.
pub(crate) fn push_keys(
    keys: &Keys,
    documents: &[u32],
    shape: &Shape,
    found: &mut Vec<DocKey>,
) -> tantivy::Result<()> {
    for &document in documents {
        found.push(keys.key(document, shape)?);
    }
    Ok(())
}

fn visit_all(
    weight: &dyn Weight,
    reader: &SegmentReader,
    keys: &Keys,
    top: &mut Top,
    facets: Option<&mut Facets>,
) -> tantivy::Result<u64> {
    let alive = reader.alive_bitset();
    let mut total = 0;
    let Some(facets) = facets else {
        weight.for_each(reader, &mut |document, score| {
            if alive.is_none_or(|alive| alive.is_alive(document)) {
                total += 1;
                top.offer(keys, document, score);
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
        top.offer(keys, document, score);
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

/// The best hits.
struct Top {
    heap: BinaryHeap<Candidate>,
    wanted: usize,
    /// Only documents with a greater score are considered.
    floor: f32,
    /// Score and key of the last hit of the previous page.
    after: Option<(f32, KeyNumbers)>,
}

impl Top {
    fn new(after: Option<&After>, wanted: usize) -> Self {
        let after = after.map(|after| {
            let (high, low) = after.key.halves();
            (after.score, (u64::from(after.key.kind), high, low))
        });
        Self { heap: BinaryHeap::new(), wanted, floor: f32::NEG_INFINITY, after }
    }

    fn offer(&mut self, keys: &Keys, document: u32, score: f32) {
        if score <= self.floor {
            return;
        }
        let score = counted(score);
        if self.after.is_some_and(|(after, _)| score > after) {
            return;
        }
        let Some(key) = keys.numbers(document) else { return };
        if self.after.is_some_and(|(after, last)| score == after && key <= last) {
            return;
        }
        let candidate = Candidate { score, key };
        if self.heap.len() < self.wanted {
            self.heap.push(candidate);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && candidate < *worst
        {
            *worst = candidate;
        }
        self.lower_floor();
    }

    /// The last hit of a full page: every document that comes before it must be considered.
    fn worst(&self) -> Option<&Candidate> {
        self.heap.peek().filter(|_| self.heap.len() == self.wanted)
    }

    /// Sets the floor so that a document that scores like the last hit of a full page passes: it
    /// may come before that hit by its key.
    fn lower_floor(&mut self) {
        if let Some(worst) = self.worst() {
            self.floor = below(worst.score);
        }
    }

    /// Sets the floor so that documents that score like the last hit of a full page are skipped, if
    /// no document from `document` on comes before that hit by its key.
    fn raise_floor(&mut self, keys: &Keys, document: u32) {
        if let Some(worst) = self.worst()
            && keys.least_from(document).is_none_or(|least| least >= worst.key)
        {
            self.floor = among(worst.score);
        }
    }

    fn hits(self, shape: &Shape) -> tantivy::Result<Vec<Hit>> {
        let hit = |candidate: Candidate| {
            Ok(Hit { key: key_of(candidate.key, shape)?, score: candidate.score })
        };
        self.heap.into_iter().map(hit).collect()
    }
}
