//! The buffered batches of a table, and the keys of its buffer and manifest entries.

use crate::columnar::batch_row_count;

pub(super) fn entry_key(table: &[u8], number: u64) -> Vec<u8> {
    let mut key = table.to_vec();
    key.extend_from_slice(&number.to_be_bytes());
    key
}

pub(super) fn number_of(key: &[u8]) -> u64 {
    key.last_chunk::<8>().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// Approximate limit of the batches of one run, in bytes: a text column of the run must stay below
/// the 2 GiB that an Arrow array can address.
const RUN_BYTES: usize = 512 * 1024 * 1024;

/// Cuts the buffered batches (key, bytes) into stretches of consecutive ordinals. Two small appends
/// are not consecutive if a large append between them went straight into segments.
pub(super) fn stretches(batches: &[(Vec<u8>, Vec<u8>)]) -> Vec<&[(Vec<u8>, Vec<u8>)]> {
    let mut out = Vec::new();
    let (mut from, mut next, mut taken) = (0, None, 0);
    for (at, (key, bytes)) in batches.iter().enumerate() {
        let follows =
            next == Some(number_of(key)) && bytes.len().saturating_add(taken) <= RUN_BYTES;
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
