//! Bounded decompression: the whole control archive in memory, and the outer layer of a gzipped tar
//! as a stream.

use std::borrow::Cow;
use std::io::{self, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;

use super::source::{Meter, PackageReader};
use crate::error::{Error, Result};
use crate::packages::{invalid, too_large};
use crate::value::limits;

const BUFFER_BYTES: usize = 64 * 1024;
const XZ_MAGIC: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Unsupported methods of old packages, so that the error can name them.
const FOREIGN: &[(&[u8], &str)] =
    &[(b"BZh", "bzip2"), (&[0x5d, 0, 0], "lzma"), (b"LZIP", "lzip"), (&[0x1f, 0x9d], "compress")];

/// Decompresses the control archive; its first bytes identify the method.
pub(super) fn control_archive(bytes: &[u8]) -> Result<Cow<'_, [u8]>> {
    let limit =
        inflated_limit(bytes.len() as u64).min(limits::PACKAGE_CONTROL_INFLATED_BYTES as u64);
    let limit = usize::try_from(limit).unwrap_or(limits::PACKAGE_CONTROL_INFLATED_BYTES);
    if bytes.starts_with(super::members::GZIP_MAGIC) {
        gather(MultiGzDecoder::new(bytes), limit, "gzip").map(Cow::Owned)
    } else if bytes.starts_with(XZ_MAGIC) {
        gather(XzReader::new_mem_limit(bytes, true, limits::PACKAGE_DECODER_KIB), limit, "xz")
            .map(Cow::Owned)
    } else if bytes.starts_with(ZSTD_MAGIC) {
        zstd_archive(bytes, limit).map(Cow::Owned)
    } else if let Some((_, method)) = FOREIGN.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        Err(invalid(format_args!(
            "its control archive is compressed with {method}, which is not supported"
        )))
    } else {
        Ok(Cow::Borrowed(bytes))
    }
}

/// Number of bytes to which `compressed` bytes may decompress.
fn inflated_limit(compressed: u64) -> u64 {
    compressed
        .saturating_mul(limits::PACKAGE_RATIO as u64)
        .max(limits::PACKAGE_RATIO_FREE_BYTES as u64)
}

fn bomb(limit: u64) -> Error {
    too_large(format_args!(
        "it decompresses to more than {limit} bytes (at most {} to one, and {} for a control \
         archive)",
        limits::PACKAGE_RATIO,
        limits::PACKAGE_CONTROL_INFLATED_BYTES
    ))
}

fn gather(mut decoder: impl Read, limit: usize, method: &str) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        // Input in memory causes no interruptions. So this is a decoder that neither consumes nor
        // produces bytes, and it is an error instead of a reason to try again.
        let count = decoder.read(&mut buffer).map_err(|error| match error.kind() {
            io::ErrorKind::OutOfMemory => too_large(format_args!(
                "its control archive needs more than {} KiB of memory in the {method} decoder",
                limits::PACKAGE_DECODER_KIB
            )),
            _ => invalid(format_args!(
                "its control archive cannot be decompressed with {method}: {error}"
            )),
        })?;
        if count == 0 {
            return Ok(out);
        }
        if out.len() + count > limit {
            return Err(bomb(limit as u64));
        }
        out.extend_from_slice(buffer.get(..count).unwrap_or_default());
    }
}

/// Decompresses in one call and into one buffer, so that no window is allocated, whatever size the
/// frame declares.
fn zstd_archive(bytes: &[u8], limit: usize) -> Result<Vec<u8>> {
    let decoded =
        zstd::bulk::Decompressor::new().and_then(|mut decoder| decoder.decompress(bytes, limit));
    decoded.map_err(|error| {
        if error.to_string().contains("too small") {
            bomb(limit as u64)
        } else {
            invalid(format_args!("its control archive cannot be decompressed with zstd: {error}"))
        }
    })
}

/// The outer layer of a gzipped tar; enforces [`limits::PACKAGE_RATIO`] while reading.
pub(super) struct Outer<'s, 'r> {
    decoder: MultiGzDecoder<BufReader<&'s mut PackageReader<'r>>>,
    meter: Meter,
    inflated: u64,
}

impl<'s, 'r> Outer<'s, 'r> {
    pub(super) fn new(source: &'s mut PackageReader<'r>) -> Self {
        let meter = source.meter();
        Self {
            decoder: MultiGzDecoder::new(BufReader::with_capacity(BUFFER_BYTES, source)),
            meter,
            inflated: 0,
        }
    }
}

impl Read for Outer<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match self.decoder.read(buffer) {
            // The source retries by itself, so this is a decoder that makes no progress. The caller
            // must not try again.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                return Err(self.meter.refuse(invalid(
                    "its outer archive cannot be decompressed: the decoder makes no progress",
                )));
            }
            other => other?,
        };
        self.inflated += count as u64;
        let limit = inflated_limit(self.meter.consumed());
        if self.inflated > limit {
            return Err(self.meter.refuse(bomb(limit)));
        }
        Ok(count)
    }
}
