//! The bytes of a file: as they are, or out of gzip or bzip2, and their sum.

use std::io::{ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use sha2::{Digest as _, Sha256};
use stationdb::{Control, Error, Result};

use crate::limits;

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

/// The bytes that `input` has, decompressed if its first bytes say so. Reading them ends with the
/// error of `control` where that says so.
///
/// # Errors
/// `Io`; those of `control`.
pub(super) fn open<'i>(input: impl Read + 'i, control: &Control) -> Result<Box<dyn Read + 'i>> {
    let stored = Arc::new(AtomicU64::new(0));
    let mut input = Stored { input, control: control.clone(), count: stored.clone() };
    let mut start = Vec::with_capacity(MARK_BYTES);
    input
        .by_ref()
        .take(MARK_BYTES as u64)
        .read_to_end(&mut start)
        .map_err(|error| own(&error).unwrap_or_else(|| Error::io("reading an STDF file", error)))?;
    let packing = Packing::of(&start);
    let all = std::io::Cursor::new(start).chain(input);
    Ok(match packing {
        Some(Packing::Gzip) => Box::new(Unpacked::new(MultiGzDecoder::new(all), stored)),
        Some(Packing::Bzip2) => Box::new(Unpacked::new(MultiBzDecoder::new(all), stored)),
        None => Box::new(all),
    })
}

/// The bytes of a file as they are stored, which are counted.
struct Stored<R> {
    input: R,
    control: Control,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Stored<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        self.control.check().map_err(std::io::Error::other)?;
        let count = self.input.read(out)?;
        self.count.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Decompressed bytes. Their number is bounded by that of the compressed ones.
struct Unpacked<R> {
    input: R,
    /// The bytes that they were decompressed from, and how many they are.
    stored: Arc<AtomicU64>,
    count: u64,
}

impl<R: Read> Unpacked<R> {
    fn new(input: R, stored: Arc<AtomicU64>) -> Self {
        Self { input, stored, count: 0 }
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let count = self.input.read(out)?;
        self.count += count as u64;
        let stored = self.stored.load(Ordering::Relaxed).max(1);
        if self.count > limits::UNPACKED_BYTES && self.count / stored > limits::UNPACKED_RATIO {
            return Err(std::io::Error::other(Error::limit(format!(
                "the compressed bytes of the STDF file become more than {} times as many, as \
                 those of no lot do; decompress the file first if it is one",
                limits::UNPACKED_RATIO
            ))));
        }
        Ok(count)
    }
}

/// The error of this crate that an error of reading has.
fn own(error: &std::io::Error) -> Option<Error> {
    error.get_ref()?.downcast_ref::<Error>().cloned()
}

/// What a failed read means: `None` for compressed bytes that end too early.
pub(super) fn failure(error: std::io::Error, at: u64) -> Option<Error> {
    if let Some(own) = own(&error) {
        return Some(own);
    }
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
