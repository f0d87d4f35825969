//! The keys of records and of index entries: the one place that knows their layout.
//!
//! | Space | Key |
//! |---|---|
//! | `Records`, `RecordState` | code of the kind (1 byte), key of the record |
//! | `Index` | code of the kind, number of the index (1 byte), entry, key of the record |
//!
//! All keys of the records of a kind have one length, so the end of an index key is known although
//! entries have any length.

use crate::value::id::{Kind, RecordKey};

/// The key of a record in the spaces of records, kept on the stack.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    bytes: [u8; 17],
    len: usize,
}

impl Place {
    /// Where the record with this key stands.
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

/// The key of a record in the spaces of records.
pub(crate) fn record_key(kind: Kind, key: RecordKey) -> Vec<u8> {
    Place::of(kind, key).bytes().to_vec()
}

/// The key of a record, from its key in the spaces of records; `None` for bytes that are none.
pub(crate) fn split_record_key(kind: Kind, bytes: &[u8]) -> Option<RecordKey> {
    let (_, key) = bytes.split_first().filter(|(code, _)| **code == kind.code)?;
    RecordKey::from_bytes(kind.id, key)
}

/// What the keys of all entries of an index begin with.
pub(crate) fn index_head(kind_code: u8, index: u8) -> [u8; 2] {
    [kind_code, index]
}

/// Kind and index of a key of an index entry, as [`index_head`] puts them.
pub(crate) fn index_head_of(bytes: &[u8]) -> [u8; 2] {
    bytes.first_chunk::<2>().copied().unwrap_or_default()
}

/// What the keys of the entries of an index begin with whose entries begin with `prefix`.
pub(crate) fn index_prefix(kind: Kind, index: u8, prefix: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(2 + prefix.len() + 16);
    bytes.extend_from_slice(&index_head(kind.code, index));
    bytes.extend_from_slice(prefix);
    bytes
}

/// The key of an entry of the record that stands at `record_key`.
pub(crate) fn index_key(kind_code: u8, index: u8, entry: &[u8], record_key: &[u8]) -> Vec<u8> {
    [&index_head(kind_code, index), entry, record_key.get(1..).unwrap_or_default()].concat()
}

/// Entry and record key of the key of an index entry.
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
        // Bytes that are no such keys.
        for len in 0..record.len() {
            assert_eq!(split_record_key(kind, &record[..len]), None);
        }
        assert_eq!(split_record_key(kind, &full), None);
        assert_eq!(split_index_key(kind, &full[..key.as_bytes().len() + 1]), None);
        assert_eq!(index_head_of(&[1]), [0, 0]);
    }
}
