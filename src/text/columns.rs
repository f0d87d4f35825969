//! Counts documents by their column values alone.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use tantivy::columnar::{Column, MonotonicallyMappableToU64, StrColumn};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, SegmentReader, TERMINATED, Term};

use super::document::{Ask, DocKey};
use super::request::Scope;
use super::schema::{Fields, KIND, WORKSPACE, column_name};

/// The number of documents of a segment that satisfy every `Ask` and are in one of the scopes,
/// without `hidden` ones.
pub(crate) fn count(
    reader: &SegmentReader,
    fields: &Fields,
    asks: &[Ask],
    scopes: Option<&[Scope]>,
    hidden: &BTreeSet<DocKey>,
) -> tantivy::Result<u64> {
    let mut found: Option<Vec<u32>> = None;
    for ask in asks {
        let here = match ask {
            Ask::Int(column, ranges) => {
                within(&reader.fast_fields().i64(&column_name(*column))?, ranges, reader)
            }
            Ask::Float(column, ranges) => {
                within(&reader.fast_fields().f64(&column_name(*column))?, ranges, reader)
            }
        };
        found = Some(match found {
            None => here,
            Some(mut known) => {
                known.retain(|document| here.binary_search(document).is_ok());
                known
            }
        });
    }
    let mut found = found.unwrap_or_default();
    if let Some(alive) = reader.alive_bitset() {
        found.retain(|document| alive.is_alive(*document));
    }
    let hidden = documents(reader, fields, hidden)?;
    if !hidden.is_empty() {
        found.retain(|document| hidden.binary_search(document).is_err());
    }
    match scopes {
        None => Ok(found.len() as u64),
        Some(scopes) => in_scopes(reader, &found, scopes),
    }
}

fn within<T: MonotonicallyMappableToU64>(
    column: &Column<T>,
    ranges: &[RangeInclusive<T>],
    reader: &SegmentReader,
) -> Vec<u32> {
    let mut found = Vec::new();
    for range in ranges {
        // Excluded here, since the engine returns wrong documents for a range that ends below the
        // least value of a bit-packed column: it subtracts the least value from the end of the
        // range and clamps the result to zero, so the documents with the least value match.
        let (first, last) = (range.start().to_u64(), range.end().to_u64());
        if last < column.min_value().to_u64() || first > column.max_value().to_u64() {
            continue;
        }
        let mut one = Vec::new();
        column.get_docids_for_value_range(range.clone(), 0..reader.max_doc(), &mut one);
        found.append(&mut one);
    }
    if ranges.len() > 1 {
        found.sort_unstable();
        found.dedup();
    }
    found
}

/// The documents with these keys, ascending.
fn documents(
    reader: &SegmentReader,
    fields: &Fields,
    keys: &BTreeSet<DocKey>,
) -> tantivy::Result<Vec<u32>> {
    let mut found = Vec::new();
    if keys.is_empty() {
        return Ok(found);
    }
    let inverted = reader.inverted_index(fields.key)?;
    for key in keys {
        let term = Term::from_field_bytes(fields.key, &key.to_bytes());
        let Some(mut postings) = inverted.read_postings(&term, IndexRecordOption::Basic)? else {
            continue;
        };
        while postings.doc() != TERMINATED {
            found.push(postings.doc());
            postings.advance();
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn in_scopes(reader: &SegmentReader, documents: &[u32], scopes: &[Scope]) -> tantivy::Result<u64> {
    let kinds = reader.fast_fields().u64(KIND)?;
    let workspaces: Option<StrColumn> = reader.fast_fields().str(WORKSPACE)?;
    // For each scope, its kinds and the ordinals of its workspaces in this segment.
    let mut known: Vec<(&[u8], Option<BTreeSet<u64>>)> = Vec::with_capacity(scopes.len());
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
        known.push((&scope.kinds, ordinals));
    }
    let passes = |document: &&u32| {
        let kind = kinds.first(**document).and_then(|kind| u8::try_from(kind).ok());
        let workspace = workspaces.as_ref().and_then(|column| column.ords().first(**document));
        known.iter().any(|(kinds, ordinals)| {
            kind.is_some_and(|kind| kinds.contains(&kind))
                && ordinals
                    .as_ref()
                    .is_none_or(|ordinals| workspace.is_some_and(|at| ordinals.contains(&at)))
        })
    };
    Ok(documents.iter().filter(passes).count() as u64)
}
