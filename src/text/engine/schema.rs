//! The engine's schema of documents, and the columns with the keys of documents.

use std::sync::OnceLock;

use tantivy::columnar::{Cardinality, Column};
use tantivy::schema::{
    BytesOptions, FAST, Field, INDEXED, IndexRecordOption, STRING, Schema, TextFieldIndexing,
    TextOptions,
};
use tantivy::{SegmentReader, TantivyDocument};

use crate::text::document::{Cell, DocKey, Document, Shape};

/// Column of kind codes.
pub(crate) const KIND: &str = "kind";
/// Column of workspace ids.
pub(crate) const WORKSPACE: &str = "workspace";
/// Columns of the first eight and the remaining bytes of record keys.
const HIGH: &str = "high";
const LOW: &str = "low";

/// The fields in the engine's schema.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    /// Kind byte and key bytes; deletes find documents by it.
    pub key: Field,
    /// Code of the kind.
    pub kind: Field,
    high: Field,
    low: Field,
    /// Id of the workspace.
    pub workspace: Field,
    /// The text fields, in the order of the shape.
    pub texts: Vec<Field>,
    columns: Vec<Field>,
}

/// The name of the engine's column for a column of the shape.
pub(crate) fn column_name(at: usize) -> String {
    format!("c{at}")
}

/// The engine's schema for documents of a shape.
pub(crate) fn schema(shape: &Shape) -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let key = builder.add_bytes_field("key", BytesOptions::default() | INDEXED);
    let kind = builder.add_u64_field(KIND, INDEXED | FAST);
    let high = builder.add_u64_field(HIGH, FAST);
    let low = builder.add_u64_field(LOW, FAST);
    let workspace = builder.add_text_field(WORKSPACE, STRING | FAST);
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("words")
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let options = TextOptions::default().set_indexing_options(indexing);
    // Numbered, so that the name of a field never equals that of a column above.
    let texts = (0..shape.fields.len())
        .map(|at| builder.add_text_field(&format!("t{at}"), options.clone()))
        .collect();
    let columns = shape.columns.iter().enumerate().map(|(at, column)| {
        let name = column_name(at);
        if column.is_float {
            builder.add_f64_field(&name, FAST)
        } else {
            builder.add_i64_field(&name, FAST)
        }
    });
    let columns = columns.collect();
    (builder.build(), Fields { key, kind, high, low, workspace, texts, columns })
}

/// Converts a document to the engine's form.
pub(crate) fn engine_document(fields: &Fields, document: &Document) -> TantivyDocument {
    let (high, low) = document.key.halves();
    let mut built = TantivyDocument::default();
    built.add_bytes(fields.key, &document.key.to_bytes());
    built.add_u64(fields.kind, u64::from(document.key.kind));
    built.add_u64(fields.high, high);
    built.add_u64(fields.low, low);
    built.add_text(fields.workspace, &document.workspace);
    for (field, text) in &document.texts {
        if let Some(&field) = fields.texts.get(*field) {
            built.add_text(field, text);
        }
    }
    for (column, cell) in &document.cells {
        match (fields.columns.get(*column), cell) {
            (Some(&field), Cell::Int(value)) => built.add_i64(field, *value),
            (Some(&field), Cell::Float(value)) => built.add_f64(field, *value),
            (None, _) => {}
        }
    }
    built
}

/// The keys of the documents of a segment.
pub(crate) struct Keys {
    kind: Column<u64>,
    high: Column<u64>,
    low: Column<u64>,
    /// For each block of documents, the least key from its start to the end of the segment;
    /// computed at first use.
    least: OnceLock<Vec<KeyNumbers>>,
}

/// Kind and key of a document as numbers, which order as [`DocKey`] does.
pub(crate) type KeyNumbers = (u64, u64, u64);

/// Number of documents that share an entry of [`Keys::least_from`]; a block of postings has as
/// many.
const BLOCK: usize = 128;

impl Keys {
    /// The key columns of a segment.
    pub(crate) fn of(reader: &SegmentReader) -> tantivy::Result<Self> {
        let columns = reader.fast_fields();
        Ok(Self {
            kind: columns.u64(KIND)?,
            high: columns.u64(HIGH)?,
            low: columns.u64(LOW)?,
            least: OnceLock::new(),
        })
    }

    /// The key of a document, as numbers.
    pub(crate) fn numbers(&self, document: u32) -> Option<KeyNumbers> {
        Some((self.kind.first(document)?, self.high.first(document)?, self.low.first(document)?))
    }

    /// The key of a document.
    pub(crate) fn key(&self, document: u32, shape: &Shape) -> tantivy::Result<DocKey> {
        let (kind, high, low) = self.numbers(document).ok_or_else(unreadable)?;
        key_of((kind, high, low), shape)
    }

    /// A lower bound of all keys of the segment.
    pub(crate) fn least(&self) -> KeyNumbers {
        (self.kind.min_value(), self.high.min_value(), self.low.min_value())
    }

    /// A lower bound of the keys of all documents from `document` on; `None` if there is no such
    /// document.
    pub(crate) fn least_from(&self, document: u32) -> Option<KeyNumbers> {
        let block = usize::try_from(document).ok()? / BLOCK;
        self.least.get_or_init(|| self.least_of_blocks()).get(block).copied()
    }

    /// Computes [`Keys::least_from`] for all blocks: a running minimum from the last block to the
    /// first. Keys are read block by block, and a column with one value not at all.
    fn least_of_blocks(&self) -> Vec<KeyNumbers> {
        let documents = self.kind.num_docs();
        let starts: Vec<u32> = (0..documents).step_by(BLOCK).collect();
        let columns = [&self.kind, &self.high, &self.low].map(|column| (column, constant(column)));
        let mut least = (u64::MAX, u64::MAX, u64::MAX);
        let mut block = Vec::with_capacity(BLOCK);
        let mut values = [[None; BLOCK]; 3];
        let mut from: Vec<KeyNumbers> = starts
            .into_iter()
            .rev()
            .map(|start| {
                block.clear();
                block.extend((start..documents).take(BLOCK));
                for ((column, constant), values) in columns.iter().zip(&mut values) {
                    values.fill(*constant);
                    if let (None, Some(values)) = (constant, values.get_mut(..block.len())) {
                        column.first_vals(&block, values);
                    }
                }
                let [kinds, highs, lows] = &values;
                let keys = kinds.iter().zip(highs).zip(lows).take(block.len());
                // A document without a key is in no answer.
                let keys =
                    keys.filter_map(|((kind, high), low)| Some(((*kind)?, (*high)?, (*low)?)));
                least = keys.fold(least, Ord::min);
                least
            })
            .collect();
        from.reverse();
        from
    }
}

/// The value that all documents have, if they all have the same.
fn constant(column: &Column<u64>) -> Option<u64> {
    let is_constant =
        column.get_cardinality() == Cardinality::Full && column.min_value() == column.max_value();
    is_constant.then(|| column.min_value())
}

/// The key that is encoded by these numbers.
pub(crate) fn key_of((kind, high, low): KeyNumbers, shape: &Shape) -> tantivy::Result<DocKey> {
    u8::try_from(kind)
        .ok()
        .and_then(|kind| DocKey::from_halves(shape, kind, high, low))
        .ok_or_else(unreadable)
}

fn unreadable() -> tantivy::TantivyError {
    tantivy::TantivyError::InternalError("a key of the index cannot be read".to_owned())
}
