//! What is indexed: documents, and the shape that they share.

use std::fmt;
use std::ops::RangeInclusive;

use crate::error::Result;
use crate::value::RecordKey;
use crate::value::id::hex;

/// The identity of a document: its kind and the key of its record. Orders by kind, then key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocKey {
    /// Code of the kind.
    pub kind: u8,
    /// Key of the record.
    pub key: RecordKey,
}

impl DocKey {
    /// Kind byte and key bytes: the form in the index.
    pub fn to_bytes(self) -> Vec<u8> {
        let mut bytes = vec![self.kind];
        bytes.extend_from_slice(self.key.as_bytes());
        bytes
    }

    /// The first eight bytes of the key, and the further ones, as numbers: two pairs order as the
    /// keys do.
    pub fn halves(self) -> (u64, u64) {
        let mut bytes = [0; 16];
        for (to, from) in bytes.iter_mut().zip(self.key.as_bytes()) {
            *to = *from;
        }
        let both = u128::from_be_bytes(bytes);
        ((both >> 64) as u64, both as u64)
    }

    /// Reads [`DocKey::halves`] back; `None` for a kind that `shape` does not have.
    pub fn from_halves(shape: &Shape, kind: u8, high: u64, low: u64) -> Option<Self> {
        let form = shape.kinds.iter().find(|known| known.code == kind)?.id;
        let bytes = (u128::from(high) << 64 | u128::from(low)).to_be_bytes();
        Some(Self { kind, key: RecordKey::from_bytes(form, bytes.get(..form.key_len())?)? })
    }

    /// Reads [`DocKey::to_bytes`] back; `None` for a kind that `shape` does not have.
    pub fn from_bytes(shape: &Shape, bytes: &[u8]) -> Option<Self> {
        let (&kind, key) = bytes.split_first()?;
        let form = shape.kinds.iter().find(|known| known.code == kind)?.id;
        Some(Self { kind, key: RecordKey::from_bytes(form, key)? })
    }
}

impl fmt::Debug for DocKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, hex(self.key.as_bytes()))
    }
}

/// A text field of the index.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldName {
    /// Name in queries and snippets.
    pub name: String,
    /// Weight of a hit in it.
    pub weight: f32,
}

/// A column of the index: the numbers of one field of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnName {
    /// Code of the kind.
    pub kind: u8,
    /// Path of the field.
    pub path: String,
    /// Whether it holds doubles; else integers.
    pub is_float: bool,
}

/// Part of the fingerprint of every index: raised when what builds before wrote must not be used
/// any more. An index with another number is built anew from the records at the next opening.
///
/// 3: builds before could leave documents of deleted and updated records in the index.
const CONTENT_VERSION: u32 = 3;

/// Fields and kinds of the index: derived from the declarations of the resources.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    /// Text fields; documents name them by their place in this list.
    pub fields: Vec<FieldName>,
    /// Kinds that have documents.
    pub kinds: Vec<crate::value::Kind>,
    /// Columns; documents name them by their place in this list.
    pub columns: Vec<ColumnName>,
}

impl Shape {
    /// Adds a field unless there is one of this name, whose weight then is the greater of both;
    /// returns its place.
    pub fn add_field(&mut self, name: &str, weight: f32) -> usize {
        if let Some(at) = self.field(name) {
            if let Some(field) = self.fields.get_mut(at) {
                field.weight = field.weight.max(weight);
            }
            return at;
        }
        self.fields.push(FieldName { name: name.to_owned(), weight });
        self.fields.len() - 1
    }

    /// The place of the field with this name, compared without letter case.
    pub fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name.eq_ignore_ascii_case(name))
    }

    /// The code of the kind with this name, compared without letter case, `_`, `-` and spaces; a
    /// plural `s` is allowed.
    pub fn kind(&self, name: &str) -> Option<u8> {
        let wanted = folded(name);
        let wanted_one = wanted.strip_suffix('s').unwrap_or(&wanted);
        self.kinds
            .iter()
            .find(|kind| {
                let known = folded(kind.name);
                known == wanted || known == wanted_one
            })
            .map(|kind| kind.code)
    }

    /// The name of a kind without spaces, as queries print it.
    pub fn kind_name(&self, code: u8) -> String {
        self.kinds.iter().find(|kind| kind.code == code).map_or_else(|| code.to_string(), |kind| folded(kind.name))
    }

    /// A number that changes whenever an index of another shape could not be read as one of this.
    pub fn fingerprint(&self) -> u64 {
        let mut text = format!("{CONTENT_VERSION} {}", super::words::WORD_CHARS);
        for field in &self.fields {
            text.push_str(&format!("\nfield {}", field.name));
        }
        for kind in &self.kinds {
            text.push_str(&format!("\nkind {} {}", kind.code, kind.id.key_len()));
        }
        for column in &self.columns {
            text.push_str(&format!("\ncolumn {} {} {}", column.kind, column.path, column.is_float));
        }
        xxhash_rust::xxh3::xxh3_64(text.as_bytes())
    }

    /// The place of the column of a field.
    pub fn column(&self, kind: u8, path: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.kind == kind && column.path == path)
    }
}

fn folded(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

/// The value of one column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    /// An integer, or a time in milliseconds.
    Int(i64),
    /// A double.
    Float(f64),
}

/// What is asked of one column: a cell in one of these ranges.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// Of a column of integers.
    Int(usize, Vec<RangeInclusive<i64>>),
    /// Of a column of doubles.
    Float(usize, Vec<RangeInclusive<f64>>),
}

/// One document: a record as text search sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Its identity.
    pub key: DocKey,
    /// Id of its workspace.
    pub workspace: String,
    /// Field (place in [`Shape::fields`]) and text.
    pub texts: Vec<(usize, String)>,
    /// Column (place in [`Shape::columns`]) and cell; null has none.
    pub cells: Vec<(usize, Cell)>,
}

/// What the index must hold for a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// This document, once.
    Document(Document),
    /// Nothing.
    Nothing,
    /// Not known: the record cannot be read.
    Unknown,
}

/// Who compares an index with records: what is asked and told.
pub trait Comparison {
    /// What the index must hold for a key.
    fn expected(&mut self, key: DocKey) -> Result<Expected>;
    /// Whether to go on.
    fn check(&mut self) -> Result<()>;
    /// A document that is not as it must be; no key where it has none.
    fn found(&mut self, key: Option<DocKey>, problem: &'static str);
}

/// What happened to a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Which document.
    pub key: DocKey,
    /// What it is now; `None` when it is gone.
    pub document: Option<Document>,
    /// Whether the index cannot hold an earlier form of it. False is always right.
    pub is_new: bool,
}
