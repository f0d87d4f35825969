//! The reader itself: one pass over the bytes, the container told by its first bytes.

mod ar;
mod inflate;
mod source;
mod tarball;

use std::io::{Read, Write};

use super::{Container, ControlFile, Inspected, PackageInfo, invalid};
use crate::error::Result;
use crate::value::id::hex;
use source::Source;

const AR_MAGIC: &[u8] = b"!<arch>\n";
const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];

/// Reads a package to its end and answers its control file, size and hashes.
///
/// # Errors
/// `InvalidArgument` when the content is no package, `LimitExceeded` when it is beyond a bound, and whatever the source
/// itself fails with: an [`crate::Error`] that the source wraps in its [`std::io::Error`] comes back as it is.
pub fn inspect(source: &mut dyn Read) -> Result<Inspected> {
    let mut source = Source::new(source);
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
    Ok(Inspected { container, control, info, size, md5, sha256 })
}

/// `bytes` as a gzip file without name and time, so that equal bytes give equal files.
///
/// # Errors
/// None in memory.
pub fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    let compressed = encoder.write_all(bytes).and_then(|()| encoder.finish());
    compressed.map_err(|error| crate::error::Error::io("compressing with gzip", error))
}

/// What both containers hold.
#[derive(Default)]
struct Members {
    has_version: bool,
    has_data: bool,
    control: Option<Vec<u8>>,
    /// A control member whose name tells of a compression that nobody reads.
    unknown_control: Option<String>,
}

/// What a member of a container is for.
enum Role {
    Version,
    Control,
    Data,
    Other,
}

impl Members {
    /// What to do with the member of this name; the first control member counts.
    fn role(&mut self, name: &str) -> Role {
        match name {
            "debian-binary" => Role::Version,
            "control.tar" | "control.tar.gz" | "control.tar.xz" | "control.tar.zst" if self.control.is_none() => {
                Role::Control
            }
            _ if name.starts_with("control.tar") => {
                self.unknown_control.get_or_insert_with(|| name.to_owned());
                Role::Other
            }
            _ if name == "data.tar" || name.starts_with("data.tar.") => Role::Data,
            _ => Role::Other,
        }
    }

    /// Checks the format version: any `2.x`.
    fn version(&mut self, text: &[u8]) -> Result<()> {
        if !text.starts_with(b"2.") {
            let text = String::from_utf8_lossy(text);
            return Err(invalid(format_args!("its debian-binary member says {:?}, not version 2.x", text.trim_end())));
        }
        self.has_version = true;
        Ok(())
    }

    /// The control archive of a complete package.
    fn control(&self) -> Result<&[u8]> {
        if !self.has_version {
            return Err(invalid("it has no debian-binary member"));
        }
        match (&self.control, &self.unknown_control) {
            (Some(control), _) if self.has_data => Ok(control),
            (Some(_), _) => Err(invalid("it has no data member, so it may have been cut off")),
            (None, Some(name)) => Err(invalid(format_args!(
                "its control member {name} is compressed with a method that is not supported"
            ))),
            (None, None) => Err(invalid("it has no control member")),
        }
    }
}

/// Bytes of the debian-binary member that are looked at.
const VERSION_BYTES: u64 = 64;

/// Refuses names that would leave a directory or that are beyond their bound.
fn check_name(name: &[u8]) -> Result<()> {
    if name.len() > crate::value::limits::PACKAGE_NAME_BYTES {
        return Err(super::too_large(format_args!(
            "it has a member whose name is longer than {} bytes",
            crate::value::limits::PACKAGE_NAME_BYTES
        )));
    }
    let escapes = name.split(|&byte| byte == b'/' || byte == b'\\').any(|part| part == b"..");
    if escapes || name.starts_with(b"/") || name.contains(&0) {
        return Err(invalid(format_args!("it has a member with the name {:?}", String::from_utf8_lossy(name))));
    }
    Ok(())
}
