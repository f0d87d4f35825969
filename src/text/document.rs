//! The documents of the index, and the shape that they share.

use std::fmt;
use std::ops::RangeInclusive;

use super::folding::Folding;
use crate::error::Result;
use crate::value::RecordKey;
use crate::value::id::hex;

/// The identity of a document: its kind and the key of its record. Orders by kind, then key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DocKey {
    /// Code of the kind.
    pub kind: u8,
    /// Key of the record.
    pub key: RecordKey,
}

impl DocKey {
    /// Kind byte and key bytes, as the index stores them.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = vec![self.kind];
        bytes.extend_from_slice(self.key.as_bytes());
        bytes
    }

    /// The first eight bytes of the key and the remaining ones, as numbers. Pairs of them order as
    /// the keys do.
    pub(crate) fn halves(self) -> (u64, u64) {
        let mut bytes = [0; 16];
        for (to, from) in bytes.iter_mut().zip(self.key.as_bytes()) {
            *to = *from;
        }
        let both = u128::from_be_bytes(bytes);
        ((both >> 64) as u64, both as u64)
    }

    /// The reverse of [`DocKey::halves`]; `None` for a kind that `shape` does not have.
    pub(crate) fn from_halves(shape: &Shape, kind: u8, high: u64, low: u64) -> Option<Self> {
        let form = shape.kinds.iter().find(|known| known.code == kind)?.id;
        let bytes = (u128::from(high) << 64 | u128::from(low)).to_be_bytes();
        Some(Self { kind, key: RecordKey::from_bytes(form, bytes.get(..form.key_len())?)? })
    }

    /// The reverse of [`DocKey::to_bytes`]; `None` for a kind that `shape` does not have.
    pub(crate) fn from_bytes(shape: &Shape, bytes: &[u8]) -> Option<Self> {
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
pub(crate) struct FieldName {
    /// Name in queries and snippets.
    pub name: String,
    /// Factor of the score of a match in it.
    pub weight: f32,
}

/// A column of the index: the numbers of one field of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnName {
    /// Code of the kind.
    pub kind: u8,
    /// Path of the field.
    pub path: String,
    /// Whether it contains doubles; otherwise integers.
    pub is_float: bool,
}

/// Part of the fingerprint of every index. Raised when indexes of earlier builds must not be used
/// any more: an index with another number is built again from the records at the next opening.
///
/// 3: earlier builds could leave documents of deleted and updated records in the index.
/// 4: words are folded, and long ones are cut by the characters of their folded form.
/// 5: compatible characters are folded, and invisible ones stand inside of words.
/// 6: several marks of a letter have the order of their classes.
const CONTENT_VERSION: u32 = 6;

/// The fields, kinds and columns of the index; derived from the declarations of the resources.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shape {
    /// Text fields; documents refer to them by their position in this list.
    pub fields: Vec<FieldName>,
    /// Kinds that have documents.
    pub kinds: Vec<crate::value::Kind>,
    /// Columns; documents refer to them by their position in this list.
    pub columns: Vec<ColumnName>,
    /// How words are made comparable.
    pub folding: Folding,
}

impl Shape {
    /// Adds a field. If there is one with this name, it gets the greater of both weights. Returns
    /// its position.
    pub(crate) fn add_field(&mut self, name: &str, weight: f32) -> usize {
        if let Some(at) = self.field(name) {
            if let Some(field) = self.fields.get_mut(at) {
                field.weight = field.weight.max(weight);
            }
            return at;
        }
        self.fields.push(FieldName { name: name.to_owned(), weight });
        self.fields.len() - 1
    }

    /// The position of the field with this name; ignores case.
    pub(crate) fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name.eq_ignore_ascii_case(name))
    }

    /// The code of the kind with this name; ignores case, `_`, `-`, spaces and a plural `s`.
    pub(crate) fn kind(&self, name: &str) -> Option<u8> {
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
    pub(crate) fn kind_name(&self, code: u8) -> String {
        self.kinds
            .iter()
            .find(|kind| kind.code == code)
            .map_or_else(|| code.to_string(), |kind| folded(kind.name))
    }

    /// A number that differs for every shape whose index cannot be read with this one.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut text = format!(
            "{CONTENT_VERSION} {} {:?} {}",
            super::words::WORD_CHARS,
            self.folding == Folding::Diacritics,
            super::folding::unicode_versions()
        );
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

    /// The position of the column of a field.
    pub(crate) fn column(&self, kind: u8, path: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.kind == kind && column.path == path)
    }
}

fn folded(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

/// The value of one column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell {
    /// An integer, or a time in milliseconds.
    Int(i64),
    /// A double.
    Float(f64),
}

/// A condition on one column: the cell is in one of these ranges.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ask {
    /// A column of integers, by position.
    Int(usize, Vec<RangeInclusive<i64>>),
    /// A column of doubles, by position.
    Float(usize, Vec<RangeInclusive<f64>>),
}

/// One document: the searchable form of a record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Document {
    /// Its identity.
    pub key: DocKey,
    /// Id of its workspace.
    pub workspace: String,
    /// Field (position in [`Shape::fields`]) and text.
    pub texts: Vec<(usize, String)>,
    /// Column (position in [`Shape::columns`]) and cell; null has no cell.
    pub cells: Vec<(usize, Cell)>,
}

/// The contents that the index must have for a key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ExpectedContents {
    /// Exactly one document, equal to this.
    Document(Document),
    /// No document.
    Nothing,
    /// Unknown: the record cannot be read.
    Unknown,
}

/// The caller's side of a comparison of the index with the records.
pub(crate) trait Comparison {
    /// The contents that the index must have for a key.
    fn expected(&mut self, key: DocKey) -> Result<ExpectedContents>;
    /// Checks the deadline; an error ends the comparison.
    fn check(&mut self) -> Result<()>;
    /// Reports a document that differs; `key` is `None` if it has no valid key.
    fn found(&mut self, key: Option<DocKey>, problem: &'static str);
}

/// A change of a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Change {
    /// The document.
    pub key: DocKey,
    /// Its new form; `None` if it was deleted.
    pub document: Option<Document>,
    /// Whether the index certainly contains no earlier form of it. False is always correct, but
    /// costs a delete.
    pub is_new: bool,
}
