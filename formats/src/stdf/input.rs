//! The bytes of a file: as they are, or out of gzip or bzip2, and their sum.

use std::io::{ErrorKind, Read};

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use sha2::{Digest as _, Sha256};
use stationdb::{Error, Result};

/// Bytes by which a compression is known.
const MARK_BYTES: usize = 3;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Gzip,
    Bzip2,
}

impl Packing {
    /// The compression that bytes begin with.
    pub(super) fn of(start: &[u8]) -> Option<Self> {
        let marks: [(&[u8], Self); 2] = [(b"\x1f\x8b", Self::Gzip), (b"BZh", Self::Bzip2)];
        marks.into_iter().find(|(mark, _)| start.starts_with(mark)).map(|(_, packing)| packing)
    }
}

/// The bytes that `input` has, decompressed if its first bytes say so.
///
/// # Errors
/// `Io`.
pub(super) fn open<'i>(mut input: impl Read + 'i) -> Result<Box<dyn Read + 'i>> {
    let mut start = Vec::with_capacity(MARK_BYTES);
    input
        .by_ref()
        .take(MARK_BYTES as u64)
        .read_to_end(&mut start)
        .map_err(|error| Error::io("reading an STDF file", error))?;
    let packing = Packing::of(&start);
    let all = std::io::Cursor::new(start).chain(input);
    Ok(match packing {
        Some(Packing::Gzip) => Box::new(MultiGzDecoder::new(all)),
        Some(Packing::Bzip2) => Box::new(MultiBzDecoder::new(all)),
        None => Box::new(all),
    })
}

/// What a failed read means: `None` for compressed bytes that end too early.
pub(super) fn failure(error: std::io::Error, at: u64) -> Option<Error> {
    match error.kind() {
        ErrorKind::UnexpectedEof => None,
        ErrorKind::InvalidData | ErrorKind::InvalidInput => Some(
            Error::invalid(format!(
                "reading STDF: the compressed bytes are damaged where the file would be at byte \
                 {at}: {error}; copy the file again from where it was written"
            ))
            .with_source(error),
        ),
        _ => Some(Error::io(format_args!("reading an STDF file at byte {at}"), error)),
    }
}

/// Sums up the bytes that are read.
pub(super) struct Summed<R> {
    input: R,
    sum: Sha256,
}

impl<R: Read> Summed<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, sum: Sha256::new() }
    }

    /// The SHA-256 of what was read.
    pub(super) fn sum(self) -> String {
        crate::results::text::hex(&self.sum.finalize())
    }
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let count = self.input.read(out)?;
        self.sum.update(out.get(..count).unwrap_or_default());
        Ok(count)
    }
}
