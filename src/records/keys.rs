//! The keys of records and of index entries: the only module that knows their layout.
//!
//! | Space | Key |
//! |---|---|
//! | `Records`, `RecordState` | code of the kind (1 byte), key of the record |
//! | `Index` | code of the kind, number of the index (1 byte), entry, key of the record |
//!
//! All record keys of a kind have the same length. So the record key at the end of an index key can
//! be split off, although entries have any length.

use crate::value::id::{Kind, RecordKey};

/// The key of a record in the record spaces, without an allocation.
#[derive(Clone, Copy)]
pub(crate) struct KeyBytes {
    bytes: [u8; 17],
    len: usize,
}

impl KeyBytes {
    /// The key of this record.
    pub(crate) fn of(kind: Kind, key: RecordKey) -> Self {
        let (mut bytes, key) = ([0; 17], key.as_bytes());
        for (to, from) in bytes.iter_mut().zip(std::iter::once(&kind.code).chain(key)) {
            *to = *from;
        }
        Self { bytes, len: 1 + key.len() }
    }

    /// The bytes of the key.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

/// The key of a record in the record spaces.
pub(crate) fn record_key(kind: Kind, key: RecordKey) -> Vec<u8> {
    KeyBytes::of(kind, key).bytes().to_vec()
}

/// Splits a key of the record spaces into the record's key; `None` if `bytes` is not a key of this
/// kind.
pub(crate) fn split_record_key(kind: Kind, bytes: &[u8]) -> Option<RecordKey> {
    let (_, key) = bytes.split_first().filter(|(code, _)| **code == kind.code)?;
    RecordKey::from_bytes(kind.id, key)
}

/// The first bytes of the keys of all entries of an index.
pub(crate) fn index_head(kind_code: u8, index: u8) -> [u8; 2] {
    [kind_code, index]
}

/// The kind and the index of an index entry's key, as [`index_head`] writes them.
pub(crate) fn index_head_of(bytes: &[u8]) -> [u8; 2] {
    bytes.first_chunk::<2>().copied().unwrap_or_default()
}

/// The first bytes of the keys of those entries of an index that begin with `prefix`.
pub(crate) fn index_prefix(kind: Kind, index: u8, prefix: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(2 + prefix.len() + 16);
    bytes.extend_from_slice(&index_head(kind.code, index));
    bytes.extend_from_slice(prefix);
    bytes
}

/// The key of an index entry of the record with the key `record_key`.
pub(crate) fn index_key(kind_code: u8, index: u8, entry: &[u8], record_key: &[u8]) -> Vec<u8> {
    [&index_head(kind_code, index), entry, record_key.get(1..).unwrap_or_default()].concat()
}

/// Splits the key of an index entry into the entry and the record's key.
pub(crate) fn split_index_key(kind: Kind, bytes: &[u8]) -> Option<(&[u8], RecordKey)> {
    let entry_end = bytes.len().checked_sub(kind.id.key_len())?;
    let entry = bytes.get(2..entry_end)?;
    Some((entry, RecordKey::from_bytes(kind.id, bytes.get(entry_end..)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Product, Resource};

    #[test]
    fn keys_are_split_as_they_were_joined() {
        let kind = Product::KIND;
        let key = RecordKey::generate(kind, 7, 1);
        let record = record_key(kind, key);
        assert_eq!(record, [&[kind.code], key.as_bytes()].concat());
        assert_eq!(split_record_key(kind, &record), Some(key));
        let full = index_key(kind.code, 3, b"entry", &record);
        assert_eq!(full, [&[kind.code, 3], b"entry".as_slice(), key.as_bytes()].concat());
        assert_eq!(index_head_of(&full), index_head(kind.code, 3));
        assert!(full.starts_with(&index_prefix(kind, 3, b"ent")));
        assert_eq!(split_index_key(kind, &full), Some((b"entry".as_slice(), key)));
        // Bytes that are not keys of this kind.
        for len in 0..record.len() {
            assert_eq!(split_record_key(kind, &record[..len]), None);
        }
        assert_eq!(split_record_key(kind, &full), None);
        assert_eq!(split_index_key(kind, &full[..key.as_bytes().len() + 1]), None);
        assert_eq!(index_head_of(&[1]), [0, 0]);
    }
}
