//! The envelope of a stored record: format, kind, and a checksum over key and payload.
//!
//! redb verifies its own checksums only in a repair, so a read without this check would return
//! flipped bits. The checksum covers the key too, so a value under the key of another record is
//! detected as well.

use crate::error::{Error, Result};
use crate::value::stored::{self, Format, Payload, Stored};

const HEADER: usize = 6;

fn checksum(key: &[u8], format: u8, kind: u8, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[format, kind]);
    hasher.update(key);
    hasher.update(payload);
    hasher.finalize()
}

/// Puts `payload` into its envelope.
pub(crate) fn seal(key: &[u8], kind: u8, payload: &[u8]) -> Vec<u8> {
    let format = Format::current().number();
    let mut bytes = Vec::with_capacity(HEADER + payload.len());
    bytes.extend_from_slice(&[format, kind]);
    bytes.extend_from_slice(&checksum(key, format, kind, payload).to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// The row of `value` under `key`: an envelope of kind 0.
///
/// # Errors
/// As [`stored::to_bytes`].
pub(crate) fn to_row<T: Stored>(key: &[u8], value: &T) -> Result<Vec<u8>> {
    Ok(seal(key, 0, &stored::to_bytes(value)?))
}

/// The value of a row that [`to_row`] made.
///
/// # Errors
/// As [`open`] and [`stored::read`].
pub(crate) fn from_row<T: Stored>(key: &[u8], row: &[u8]) -> Result<T> {
    stored::read(open(key, 0, row)?)
}

/// Makes an envelope whose payload is what `write` appends to its buffer. The payload is written in
/// place; the buffer at first has capacity for `expected` bytes of it.
///
/// # Errors
/// The error of `write`.
pub(crate) fn seal_with(
    key: &[u8],
    kind: u8,
    expected: usize,
    write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
) -> Result<Vec<u8>> {
    let format = Format::current().number();
    let mut bytes = Vec::with_capacity(HEADER + expected);
    bytes.extend_from_slice(&[format, kind, 0, 0, 0, 0]);
    write(&mut bytes)?;
    if let Some(([_, _, sum @ ..], payload)) = bytes.split_first_chunk_mut::<HEADER>() {
        *sum = checksum(key, format, kind, payload).to_le_bytes();
    }
    Ok(bytes)
}

/// Returns the payload of an envelope.
///
/// # Errors
/// `Corrupt` if format, kind or checksum do not match those of a record under this key.
pub(crate) fn open<'a>(key: &[u8], kind: u8, bytes: &'a [u8]) -> Result<Payload<'a>> {
    let damaged = |what: &str| {
        Error::corrupt(format!(
            "records.redb: the record of kind {kind} under the key {} {what}; restore it from a \
             backup",
            crate::value::id::hex(key)
        ))
    };
    let (header, payload) =
        bytes.split_first_chunk::<HEADER>().ok_or_else(|| damaged("is too short"))?;
    let [format, stored_kind, a, b, c, d] = *header;
    if checksum(key, format, stored_kind, payload) != u32::from_le_bytes([a, b, c, d]) {
        return Err(damaged("does not match its checksum"));
    }
    // A newer build raises the number in the FORMAT file before it writes a new format, so this
    // build would have refused the store.
    let Some(format) = Format::from_number(format) else {
        return Err(damaged(&format!(
            "has format {format}, which no build that wrote this store uses"
        )));
    };
    if stored_kind != kind {
        return Err(damaged(&format!("is of kind {stored_kind}")));
    }
    Ok(Payload { format, bytes: payload })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_and_every_foreign_key_is_noticed() {
        let sealed = seal(b"key", 3, b"payload");
        assert_eq!(open(b"key", 3, &sealed).unwrap(), Payload::current(b"payload"));
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
            assert_eq!(
                open(b"key", 3, &flipped).unwrap_err().kind(),
                crate::ErrorKind::Corrupt,
                "bit {bit}"
            );
        }
        for len in 0..sealed.len() {
            assert!(open(b"key", 3, &sealed[..len]).is_err());
        }
    }
}
