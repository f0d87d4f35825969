//! Compares the contents of the index with the expected documents, one by one.
//!
//! The index stores no documents. It has postings, which map words to documents, and columns. So
//! the postings of a segment are read once, in their order, and each adds a hash of its word and
//! position to the sum of its document. The sum of a document is then compared with the one
//! computed from its record. Sums are independent of the order of the postings. A segment needs
//! eight bytes of memory for each of its documents.

use tantivy::columnar::{Column, StrColumn};
use tantivy::postings::Postings;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::tokenizer::MAX_TOKEN_LEN;
use tantivy::{DocSet, SegmentReader, TERMINATED, Term};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::failure::{failed, guarded};
use super::schema::{Fields, Keys, WORKSPACE, column_name};
use super::view::View;
use crate::error::Result;
use crate::text::document::{Cell, Comparison, DocKey, Document, ExpectedContents, Shape};
use crate::text::folding::Folding;
use crate::text::words::words;

/// Number of postings or documents between two checks of the deadline.
const STEP: usize = 4_096;
/// Number of positions that the engine skips between two texts of a field.
const GAP: u32 = 1;

impl View {
    /// Compares every document of the index with the expected one. Changes that are only in memory
    /// are not compared: commit first.
    ///
    /// # Errors
    /// The errors of `comparison`; `Corrupt` or `Io` when the index cannot be read.
    pub(crate) fn compare(&self, comparison: &mut dyn Comparison) -> Result<()> {
        for reader in self.searcher.segment_readers() {
            guarded("comparing", || self.compare_segment(reader, comparison))?;
        }
        Ok(())
    }

    fn compare_segment(
        &self,
        reader: &SegmentReader,
        comparison: &mut dyn Comparison,
    ) -> Result<()> {
        let sums = sums(reader, &self.fields, comparison)?;
        let keys = Keys::of(reader).map_err(failed)?;
        let columns = Columns::of(reader, &self.shape).map_err(failed)?;
        let alive = reader.alive_bitset();
        let documents = (0..reader.max_doc())
            .filter(|document| alive.is_none_or(|alive| alive.is_alive(*document)));
        for (count, document) in documents.enumerate() {
            if count.is_multiple_of(STEP) {
                comparison.check()?;
            }
            let Ok(key) = keys.key(document, &self.shape) else {
                comparison.found(None, "a document has no valid key");
                continue;
            };
            let sum = usize::try_from(document).ok().and_then(|at| sums.get(at).copied());
            match comparison.expected(key)? {
                ExpectedContents::Unknown => {}
                ExpectedContents::Nothing => {
                    comparison.found(Some(key), "the document has no record");
                }
                ExpectedContents::Document(wanted) => {
                    if sum != Some(sum_of(&self.fields, &wanted, self.shape.folding)) {
                        comparison.found(
                            Some(key),
                            "the words of the document differ from those of the record",
                        );
                    } else if !columns.hold(document, &wanted).map_err(failed)? {
                        comparison.found(
                            Some(key),
                            "the columns of the document differ from those of the record",
                        );
                    }
                }
            }
        }
        Ok(())
    }

    /// The number of documents of a key in the index, without changes that are only in memory.
    ///
    /// # Errors
    /// `Corrupt` or `Io` when the index cannot be read.
    pub(crate) fn copies(&self, key: DocKey) -> Result<u64> {
        let term = Term::from_field_bytes(self.fields.key, &key.to_bytes());
        guarded("looking up a key", || {
            let mut count = 0;
            for reader in self.searcher.segment_readers() {
                let inverted = reader.inverted_index(self.fields.key).map_err(failed)?;
                let postings = inverted.read_postings(&term, IndexRecordOption::Basic);
                let Some(mut postings) = postings.map_err(|error| failed(error.into()))? else {
                    continue;
                };
                let alive = reader.alive_bitset();
                while postings.doc() != TERMINATED {
                    count += u64::from(alive.is_none_or(|alive| alive.is_alive(postings.doc())));
                    postings.advance();
                }
            }
            Ok(count)
        })
    }
}

/// The sum of the postings of each document of a segment.
fn sums(
    reader: &SegmentReader,
    fields: &Fields,
    comparison: &mut dyn Comparison,
) -> Result<Vec<u64>> {
    let mut sums = vec![0u64; usize::try_from(reader.max_doc()).unwrap_or(0)];
    let mut positions = Vec::new();
    let mut count = 0usize;
    let whole =
        [fields.key, fields.kind, fields.workspace].map(|field| (field, IndexRecordOption::Basic));
    let texts = fields.texts.iter().map(|&field| (field, IndexRecordOption::WithFreqsAndPositions));
    for (field, option) in whole.into_iter().chain(texts) {
        let inverted = reader.inverted_index(field).map_err(failed)?;
        let mut terms = inverted.terms().stream().map_err(|error| failed(error.into()))?;
        while let Some((term, info)) = terms.next() {
            let mut postings = inverted
                .read_postings_from_terminfo(info, option)
                .map_err(|error| failed(error.into()))?;
            let hash = hash(field, term);
            while postings.doc() != TERMINATED {
                if count.is_multiple_of(STEP) {
                    comparison.check()?;
                }
                count += 1;
                let mut added = 0u64;
                if option == IndexRecordOption::Basic {
                    added = mark(hash, 0);
                } else {
                    postings.positions(&mut positions);
                    for &position in &positions {
                        added = added.wrapping_add(mark(hash, position));
                    }
                }
                if let Some(sum) =
                    usize::try_from(postings.doc()).ok().and_then(|at| sums.get_mut(at))
                {
                    *sum = sum.wrapping_add(added);
                }
                postings.advance();
            }
        }
    }
    Ok(sums)
}

/// The sum that the postings of a document must have.
fn sum_of(fields: &Fields, document: &Document, folding: Folding) -> u64 {
    let mut sum = 0u64;
    let mut add = |field: Field, term: &[u8], position: u32| {
        sum = sum.wrapping_add(mark(hash(field, term), position));
    };
    for term in [
        Term::from_field_bytes(fields.key, &document.key.to_bytes()),
        Term::from_field_u64(fields.kind, u64::from(document.key.kind)),
        Term::from_field_text(fields.workspace, &document.workspace),
    ] {
        // The engine does not index a longer term.
        if term.serialized_value_bytes().len() <= MAX_TOKEN_LEN {
            add(term.field(), term.serialized_value_bytes(), 0);
        }
    }
    let mut next = vec![0u32; fields.texts.len()];
    for (at, text) in &document.texts {
        let (Some(&field), Some(next)) = (fields.texts.get(*at), next.get_mut(*at)) else {
            continue;
        };
        for word in words(text, folding) {
            add(field, word.text.as_bytes(), *next);
            *next += 1;
        }
        *next += GAP;
    }
    sum
}

fn hash(field: Field, term: &[u8]) -> u64 {
    xxh3_64_with_seed(term, u64::from(field.field_id()))
}

/// A hash of a word at a position. Mixed well, so that sums of different words and positions
/// differ.
fn mark(hash: u64, position: u32) -> u64 {
    let mut mixed =
        hash.wrapping_add(u64::from(position).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// The columns of a segment, without those of the keys.
struct Columns {
    workspace: Option<StrColumn>,
    cells: Vec<CellColumn>,
}

enum CellColumn {
    Int(Column<i64>),
    Float(Column<f64>),
}

impl Columns {
    fn of(reader: &SegmentReader, shape: &Shape) -> tantivy::Result<Self> {
        let columns = reader.fast_fields();
        let mut cells = Vec::with_capacity(shape.columns.len());
        for (at, column) in shape.columns.iter().enumerate() {
            let name = column_name(at);
            cells.push(if column.is_float {
                CellColumn::Float(columns.f64(&name)?)
            } else {
                CellColumn::Int(columns.i64(&name)?)
            });
        }
        Ok(Self { workspace: columns.str(WORKSPACE)?, cells })
    }

    fn hold(&self, document: u32, wanted: &Document) -> tantivy::Result<bool> {
        let mut workspace = String::new();
        if let Some(column) = &self.workspace
            && let Some(ordinal) = column.ords().first(document)
        {
            column.ord_to_str(ordinal, &mut workspace)?;
        }
        if workspace != wanted.workspace {
            return Ok(false);
        }
        let is_as_wanted = |(at, column): (usize, &CellColumn)| {
            let wanted =
                wanted.cells.iter().find(|(column, _)| *column == at).map(|(_, cell)| *cell);
            match (column, wanted) {
                (CellColumn::Int(column), Some(Cell::Int(value))) => {
                    column.first(document) == Some(value)
                }
                (CellColumn::Float(column), Some(Cell::Float(value))) => {
                    column.first(document).map(f64::to_bits) == Some(value.to_bits())
                }
                (CellColumn::Int(column), None) => column.first(document).is_none(),
                (CellColumn::Float(column), None) => column.first(document).is_none(),
                _ => false,
            }
        };
        Ok(self.cells.iter().enumerate().all(is_as_wanted))
    }
}
