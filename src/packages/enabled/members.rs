//! The members that both containers have, and the magic bytes of each container.

use crate::error::Result;
use crate::packages::{invalid, too_large};

pub(super) const AR_MAGIC: &[u8] = b"!<arch>\n";
pub(super) const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];

/// The members found so far.
#[derive(Default)]
pub(super) struct Members {
    pub(super) has_version: bool,
    pub(super) has_data: bool,
    pub(super) control: Option<Vec<u8>>,
    /// Name of a control member with an unsupported compression.
    pub(super) unknown_control: Option<String>,
}

/// The role of a member of a container.
pub(super) enum Role {
    Version,
    Control,
    Data,
    Other,
}

impl Members {
    /// The role of the member with this name; the first control member counts.
    pub(super) fn role(&mut self, name: &str) -> Role {
        match name {
            "debian-binary" => Role::Version,
            "control.tar" | "control.tar.gz" | "control.tar.xz" | "control.tar.zst"
                if self.control.is_none() =>
            {
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
    pub(super) fn version(&mut self, text: &[u8]) -> Result<()> {
        if !text.starts_with(b"2.") {
            let text = String::from_utf8_lossy(text);
            return Err(invalid(format_args!(
                "its debian-binary member says {:?}, not version 2.x",
                text.trim_end()
            )));
        }
        self.has_version = true;
        Ok(())
    }

    /// The control archive of a complete package.
    pub(super) fn control(&self) -> Result<&[u8]> {
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

/// Number of bytes of the debian-binary member that are read.
pub(super) const VERSION_BYTES: u64 = 64;

/// Returns an error for a name that could leave its directory, or that is beyond its bound.
pub(super) fn check_name(name: &[u8]) -> Result<()> {
    if name.len() > crate::value::limits::PACKAGE_NAME_BYTES {
        return Err(too_large(format_args!(
            "it has a member whose name is longer than {} bytes",
            crate::value::limits::PACKAGE_NAME_BYTES
        )));
    }
    let escapes = name.split(|&byte| byte == b'/' || byte == b'\\').any(|part| part == b"..");
    if escapes || name.starts_with(b"/") || name.contains(&0) {
        return Err(invalid(format_args!(
            "it has a member with the unsafe name {:?}",
            String::from_utf8_lossy(name)
        )));
    }
    Ok(())
}
