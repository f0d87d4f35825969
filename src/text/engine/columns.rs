//! Counts documents by their column values alone.
//!
//! One condition on all documents is a count of values: a document has at most one value in a
//! column, so nobody asks which documents they are in. Those that are deleted or hidden are few and
//! are subtracted. Several conditions, and scopes, need the documents: a bit for each, in blocks
//! that fit the processor's cache.

use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};

use tantivy::columnar::{Cardinality, Column, MonotonicallyMappableToU64, StrColumn};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, SegmentReader, TERMINATED, Term};

use super::schema::{Fields, KIND, WORKSPACE, column_name};
use crate::text::document::{Ask, DocKey};
use crate::text::request::Scope;

/// Documents or values that are looked at together.
const BLOCK: u32 = if cfg!(test) { 64 } else { 8 * 1024 };

/// The documents of a segment that are not counted.
pub(crate) struct DeletedDocuments<'g> {
    /// Those that were deleted, ascending.
    pub deleted: &'g [u32],
    /// The keys of those of which there is a newer form.
    pub hidden: &'g BTreeSet<DocKey>,
}

/// The number of documents of a segment that satisfy every `Ask` and are in one of the scopes,
/// without those that are gone.
pub(crate) fn count(
    reader: &SegmentReader,
    fields: &Fields,
    asks: &[Ask],
    scopes: Option<&[Scope]>,
    gone: &DeletedDocuments<'_>,
) -> tantivy::Result<u64> {
    let tests = asks.iter().map(|ask| open(reader, ask)).collect::<Result<Vec<_>, _>>()?;
    let gone = gone.documents(reader, fields)?;
    match (tests.as_slice(), scopes) {
        ([test], None) if test.has_single_values() => Ok(count_values(&**test, &gone)),
        _ => count_documents(reader, &tests, scopes, &gone),
    }
}

/// A condition on a column of a segment.
trait Test {
    fn has_single_values(&self) -> bool;

    /// The number of values that satisfy the condition, of all documents of the segment.
    fn count_values(&self) -> u64;

    /// Appends the documents of a block that satisfy the condition, in no order.
    fn documents(&self, block: Range<u32>, found: &mut Vec<u32>);

    /// Whether the value of a document satisfies the condition.
    fn admits(&self, document: u32) -> bool;
}

fn open(reader: &SegmentReader, ask: &Ask) -> tantivy::Result<Box<dyn Test>> {
    let columns = reader.fast_fields();
    Ok(match ask {
        Ask::Int(column, ranges) => {
            Box::new(Within::new(columns.i64(&column_name(*column))?, ranges))
        }
        Ask::Float(column, ranges) => {
            Box::new(Within::new(columns.f64(&column_name(*column))?, ranges))
        }
    })
}

/// A column and the ranges, ascending and without a common value, in one of which a value must be.
struct Within<T> {
    column: Column<T>,
    ranges: Vec<RangeInclusive<T>>,
}

impl<T: MonotonicallyMappableToU64 + std::fmt::Debug> Within<T> {
    fn new(column: Column<T>, ranges: &[RangeInclusive<T>]) -> Self {
        let mut sorted: Vec<_> = ranges
            .iter()
            // Excluded here, since the engine returns wrong documents for a range that ends below
            // the least value of a bit-packed column: it subtracts the least value from the end of
            // the range and clamps the result to zero, so the documents with the least value match.
            .filter(|range| {
                range.end().to_u64() >= column.min_value().to_u64()
                    && range.start().to_u64() <= column.max_value().to_u64()
            })
            .cloned()
            .collect();
        sorted.sort_unstable_by_key(|range| range.start().to_u64());
        let mut ranges: Vec<RangeInclusive<T>> = Vec::with_capacity(sorted.len());
        for range in sorted {
            match ranges.last_mut() {
                Some(last) if range.start().to_u64() <= last.end().to_u64() => {
                    if range.end().to_u64() > last.end().to_u64() {
                        *last = *last.start()..=*range.end();
                    }
                }
                _ => ranges.push(range),
            }
        }
        Self { column, ranges }
    }
}

impl<T: MonotonicallyMappableToU64 + std::fmt::Debug> Test for Within<T> {
    fn has_single_values(&self) -> bool {
        self.column.get_cardinality() != Cardinality::Multivalued
    }

    fn count_values(&self) -> u64 {
        let values = self.column.values.num_vals();
        let mut rows = Vec::new();
        let mut count = 0;
        for range in &self.ranges {
            for block in blocks(values) {
                // Some encodings append to the list, and others overwrite it.
                rows.clear();
                self.column.values.get_row_ids_for_value_range(range.clone(), block, &mut rows);
                count += rows.len() as u64;
            }
        }
        count
    }

    fn documents(&self, block: Range<u32>, found: &mut Vec<u32>) {
        let mut here = Vec::new();
        for range in &self.ranges {
            self.column.get_docids_for_value_range(range.clone(), block.clone(), &mut here);
            found.append(&mut here);
        }
    }

    fn admits(&self, document: u32) -> bool {
        self.column.values_for_doc(document).any(|value| {
            let value = value.to_u64();
            self.ranges
                .iter()
                .any(|range| (range.start().to_u64()..=range.end().to_u64()).contains(&value))
        })
    }
}

fn blocks(end: u32) -> impl Iterator<Item = Range<u32>> {
    (0..end).step_by(BLOCK as usize).map(move |start| start..end.min(start.saturating_add(BLOCK)))
}

/// Counts values, and subtracts those of documents that are gone.
fn count_values(test: &dyn Test, gone: &[u32]) -> u64 {
    let without = gone.iter().filter(|&&document| test.admits(document)).count();
    test.count_values().saturating_sub(without as u64)
}

/// Finds the documents that satisfy every test, block by block, and counts those that are not gone
/// and are in one of the scopes.
fn count_documents(
    reader: &SegmentReader,
    tests: &[Box<dyn Test>],
    scopes: Option<&[Scope]>,
    gone: &[u32],
) -> tantivy::Result<u64> {
    let scopes = scopes.map(|scopes| Scopes::open(reader, scopes)).transpose()?;
    let Some((first, others)) = tests.split_first() else { return Ok(0) };
    let mut found = Vec::new();
    let mut other = Vec::new();
    let mut bits = vec![false; BLOCK as usize];
    let mut count = 0;
    for block in blocks(reader.max_doc()) {
        let at = |document: u32| (document - block.start) as usize;
        found.clear();
        first.documents(block.clone(), &mut found);
        for test in others {
            other.clear();
            test.documents(block.clone(), &mut other);
            bits.fill(false);
            for document in &other {
                if let Some(bit) = bits.get_mut(at(*document)) {
                    *bit = true;
                }
            }
            found.retain(|document| bits.get(at(*document)).copied().unwrap_or(false));
        }
        let passes = |document: &&u32| {
            gone.binary_search(document).is_err()
                && scopes.as_ref().is_none_or(|scopes| scopes.admit(**document))
        };
        count += found.iter().filter(passes).count() as u64;
    }
    Ok(count)
}

impl DeletedDocuments<'_> {
    /// The documents, ascending and each once.
    fn documents(&self, reader: &SegmentReader, fields: &Fields) -> tantivy::Result<Vec<u32>> {
        let mut found = self.deleted.to_vec();
        if self.hidden.is_empty() {
            return Ok(found);
        }
        let inverted = reader.inverted_index(fields.key)?;
        for key in self.hidden {
            let term = Term::from_field_bytes(fields.key, &key.to_bytes());
            let Some(mut postings) = inverted.read_postings(&term, IndexRecordOption::Basic)?
            else {
                continue;
            };
            while postings.doc() != TERMINATED {
                found.push(postings.doc());
                postings.advance();
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }
}

/// The kinds of a scope, and the ordinals of its workspaces in a segment.
type KnownScope<'s> = (&'s [u8], Option<BTreeSet<u64>>);

/// The scopes, in the numbers of a segment.
struct Scopes<'s> {
    kinds: Column<u64>,
    workspaces: Option<StrColumn>,
    known: Vec<KnownScope<'s>>,
}

impl<'s> Scopes<'s> {
    fn open(reader: &SegmentReader, scopes: &'s [Scope]) -> tantivy::Result<Self> {
        let kinds = reader.fast_fields().u64(KIND)?;
        let workspaces: Option<StrColumn> = reader.fast_fields().str(WORKSPACE)?;
        let mut known = Vec::with_capacity(scopes.len());
        for scope in scopes {
            let mut ordinals = None;
            if let Some(ids) = &scope.workspaces {
                let mut found = BTreeSet::new();
                for id in ids.iter() {
                    let at = workspaces
                        .as_ref()
                        .map(|column| column.dictionary().term_ord(id.as_bytes()))
                        .transpose()?;
                    found.extend(at.flatten());
                }
                ordinals = Some(found);
            }
            known.push((scope.kinds.as_slice(), ordinals));
        }
        Ok(Self { kinds, workspaces, known })
    }

    fn admit(&self, document: u32) -> bool {
        let kind = self.kinds.first(document).and_then(|kind| u8::try_from(kind).ok());
        let workspace = self.workspaces.as_ref().and_then(|column| column.ords().first(document));
        self.known.iter().any(|(kinds, ordinals)| {
            kind.is_some_and(|kind| kinds.contains(&kind))
                && ordinals
                    .as_ref()
                    .is_none_or(|ordinals| workspace.is_some_and(|at| ordinals.contains(&at)))
        })
    }
}
