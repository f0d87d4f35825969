//! The envelope of a stored record: version, kind, checksum over key and payload.
//!
//! redb verifies its own checksums only in repair, so a read that trusts nothing else would hand out flipped bits. The
//! key is part of the checksum, so that a value that stands under another record's key is noticed as well.

use crate::error::{Error, Result};

/// The version of the payload's layout that this build writes.
pub(crate) const VERSION: u8 = 1;
const HEADER: usize = 6;

fn checksum(key: &[u8], version: u8, kind: u8, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[version, kind]);
    hasher.update(key);
    hasher.update(payload);
    hasher.finalize()
}

/// Puts `payload` into its envelope.
pub(crate) fn seal(key: &[u8], kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + payload.len());
    bytes.extend_from_slice(&[VERSION, kind]);
    bytes.extend_from_slice(&checksum(key, VERSION, kind, payload).to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Puts what `write` adds behind the bytes that it is given into an envelope, in one piece of memory that at first has
/// room for a payload of `expected` bytes.
///
/// # Errors
/// That of `write`.
pub(crate) fn seal_with(
    key: &[u8],
    kind: u8,
    expected: usize,
    write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(HEADER + expected);
    bytes.extend_from_slice(&[VERSION, kind, 0, 0, 0, 0]);
    write(&mut bytes)?;
    if let Some(([_, _, sum @ ..], payload)) = bytes.split_first_chunk_mut::<HEADER>() {
        *sum = checksum(key, VERSION, kind, payload).to_le_bytes();
    }
    Ok(bytes)
}

/// The payload of an envelope.
///
/// # Errors
/// `Corrupt` when version, kind or checksum are not those of a record under this key.
pub(crate) fn open<'a>(key: &[u8], kind: u8, bytes: &'a [u8]) -> Result<&'a [u8]> {
    let damaged = |what: &str| {
        Error::corrupt(format!(
            "records.redb: the record of kind {kind} under the key {} {what}; restore it from a backup",
            crate::value::id::hex(key)
        ))
    };
    let (header, payload) = bytes.split_first_chunk::<HEADER>().ok_or_else(|| damaged("is too short"))?;
    let [version, stored_kind, a, b, c, d] = *header;
    if checksum(key, version, stored_kind, payload) != u32::from_le_bytes([a, b, c, d]) {
        return Err(damaged("does not match its checksum"));
    }
    if version != VERSION {
        return Err(damaged(&format!("has the layout version {version}, which this build does not read")));
    }
    if stored_kind != kind {
        return Err(damaged(&format!("is of kind {stored_kind}")));
    }
    Ok(payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_and_every_foreign_key_is_noticed() {
        let sealed = seal(b"key", 3, b"payload");
        assert_eq!(open(b"key", 3, &sealed).unwrap(), b"payload");
        let written = seal_with(b"key", 3, 2, |out| {
            out.extend_from_slice(b"payload");
            Ok(())
        });
        assert_eq!(written.unwrap(), sealed);
        assert!(open(b"kex", 3, &sealed).is_err());
        assert!(open(b"key", 4, &sealed).is_err());
        for bit in 0..sealed.len() * 8 {
            let mut flipped = sealed.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(open(b"key", 3, &flipped).unwrap_err().kind(), crate::ErrorKind::Corrupt, "bit {bit}");
        }
        for len in 0..sealed.len() {
            assert!(open(b"key", 3, &sealed[..len]).is_err());
        }
    }
}
