//! The package reader: one pass over the bytes; the first bytes identify the container.

mod ar;
mod inflate;
mod members;
mod source;
mod tarball;

use std::io::{Read, Write};

use super::{Container, ControlFile, Inspection, PackageInfo, invalid};
use crate::error::Result;
use crate::value::id::hex;
use members::{AR_MAGIC, GZIP_MAGIC};
use source::PackageReader;

/// Reads a package to its end, and returns its control file, size and hashes.
///
/// # Errors
/// `InvalidArgument` when the content is not a package; `LimitExceeded` when it is beyond a bound;
/// errors of the source. An [`crate::Error`] that the source wraps in its [`std::io::Error`] is
/// returned unchanged.
pub(crate) fn inspect(source: &mut dyn Read) -> Result<Inspection> {
    let mut source = PackageReader::new(source);
    let head = source.peek(AR_MAGIC.len())?;
    let (container, members) = if head == AR_MAGIC {
        (Container::Ar, ar::read(&mut source)?)
    } else if head.starts_with(GZIP_MAGIC) {
        (Container::GzippedTar, tarball::read_outer(&mut source)?)
    } else if head.is_empty() {
        return Err(invalid("it is empty"));
    } else {
        return Err(invalid(format_args!(
            "it starts with the bytes {}, which is neither an ar archive nor a gzipped tar",
            hex(head)
        )));
    };
    let control = members.control()?;
    let text = tarball::control_file(&inflate::control_archive(control)?)?;
    let control = ControlFile::parse(&text)?;
    let info = PackageInfo::from_control(&control)?;
    let (size, md5, sha256) = source.finish()?;
    Ok(Inspection { container, control, info, size, md5, sha256 })
}

/// Compresses `bytes` as a gzip file without name and time, so that equal bytes give equal files.
///
/// # Errors
/// None in practice: it compresses in memory.
pub(crate) fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    let compressed = encoder.write_all(bytes).and_then(|()| encoder.finish());
    compressed.map_err(|error| crate::error::Error::io("compressing with gzip", error))
}
