//! The buffered batches of a table, and the keys of what belongs to one.

use crate::columnar::batch_row_count;

pub(super) fn entry_key(table: &[u8], number: u64) -> Vec<u8> {
    let mut key = table.to_vec();
    key.extend_from_slice(&number.to_be_bytes());
    key
}

pub(super) fn number_of(key: &[u8]) -> u64 {
    key.last_chunk::<8>().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// Bytes that the batches of one run take, about: its columns must stay within the 2 GiB that an array of texts has.
const RUN_BYTES: usize = 512 * 1024 * 1024;

/// The buffered batches, by key and bytes, cut into those whose rows follow each other: a large append, which went straight
/// into segments, may stand between two small ones.
pub(super) fn stretches(batches: &[(Vec<u8>, Vec<u8>)]) -> Vec<&[(Vec<u8>, Vec<u8>)]> {
    let mut out = Vec::new();
    let (mut from, mut next, mut taken) = (0, None, 0);
    for (at, (key, bytes)) in batches.iter().enumerate() {
        let follows = next == Some(number_of(key)) && bytes.len().saturating_add(taken) <= RUN_BYTES;
        if at > 0 && !follows {
            out.extend(batches.get(from..at));
            (from, taken) = (at, 0);
        }
        next = number_of(key).checked_add(batch_row_count(bytes));
        taken += bytes.len();
    }
    out.extend(batches.get(from..).filter(|last| !last.is_empty()));
    out
}
