//! Reads the metadata of .deb, .ipk and vendor packages from a byte stream.
//!
//! [`inspect`] reads a package once, front to back, and returns its control file, its size and its
//! hashes. It extracts nothing, never decompresses the data archive, opens no file, and does not
//! trust names: the container is detected by its bytes.
//!
//! What must hold: every allocation and every decompression is bounded by a constant of
//! `value::limits`, and no input makes it panic or run without end.
//!
//! With the feature `packages` off, the same interface returns `Unsupported`.

// Without the feature the parsing rules are compiled but unused, so that both builds have one
// interface.
#![cfg_attr(not(feature = "packages"), allow(dead_code))]

mod control;
#[cfg(not(feature = "packages"))]
mod disabled;
#[cfg(feature = "packages")]
mod enabled;
mod info;
mod relations;

pub(crate) use control::ControlFile;
#[cfg(not(feature = "packages"))]
pub use disabled::{gzip, inspect};
#[cfg(feature = "packages")]
pub(crate) use enabled::{gzip, inspect};
pub(crate) use info::PackageInfo;
pub(crate) use relations::{RELATION_FIELDS, index_relations, is_relation_field};

use std::collections::BTreeMap;

use crate::error::Error;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzz;
#[cfg(test)]
mod tests;

/// How the members of a package are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    /// An `ar` archive: .deb, the vendor's packages, most .ipk.
    Ar,
    /// A gzipped tar: some .ipk.
    GzippedTar,
}

/// The result of one pass over a package.
#[derive(Clone, Debug)]
pub(crate) struct Inspection {
    /// How the members are stored.
    pub container: Container,
    /// Every field of the control file, in order.
    pub control: ControlFile,
    /// The fields that have a defined meaning.
    pub info: PackageInfo,
    /// Length of the package in bytes.
    pub size: u64,
    /// MD5 of the package, in lower-case hexadecimal digits.
    pub md5: String,
    /// SHA-256 of the package, in lower-case hexadecimal digits.
    pub sha256: String,
}

impl Inspection {
    /// The file name for a package that has none: `<package>_<version without
    /// epoch>_<architecture>.<extension>`.
    #[must_use]
    pub(crate) fn canonical_name(&self, extension: &str) -> String {
        let version = &self.info.version;
        let version = match version.split_once(':') {
            Some((epoch, rest))
                if !epoch.is_empty() && epoch.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                rest
            }
            _ => version,
        };
        format!("{}_{version}_{}.{extension}", self.info.package_name, self.info.architecture)
    }

    /// Every control field under its name in the file. Fields with an `X…-` prefix are also listed
    /// under the name without it. Measured values are added if the file does not have them.
    #[must_use]
    pub(crate) fn attributes(&self, file_name: &str) -> BTreeMap<String, String> {
        let mut out: BTreeMap<String, String> = self
            .control
            .fields
            .iter()
            .map(|field| (field.name.clone(), field.text.clone()))
            .collect();
        for field in &self.control.fields {
            if let Some(bare) = bare_name(&field.name)
                && !has(&out, bare)
            {
                out.insert(bare.to_owned(), field.text.clone());
            }
        }
        let measured = [
            ("Size", self.size.to_string()),
            ("MD5Sum", self.md5.clone()),
            ("SHA256", self.sha256.clone()),
            ("Filename", file_name.to_owned()),
        ];
        for (key, value) in measured {
            if !has(&out, key) {
                out.insert(key.to_owned(), value);
            }
        }
        out
    }
}

/// Whether there is a field of this name, ignoring case.
fn has(attributes: &BTreeMap<String, String>, name: &str) -> bool {
    attributes.keys().any(|have| have.eq_ignore_ascii_case(name))
}

/// Returns `Name` for `XB-Name`. The prefix is an `X`, followed by any of `B`, `C`, `S`.
fn bare_name(name: &str) -> Option<&str> {
    let (prefix, bare) = name.split_once('-')?;
    let flags = prefix.strip_prefix(['X', 'x'])?;
    (!bare.is_empty()
        && flags.bytes().all(|flag| matches!(flag.to_ascii_uppercase(), b'B' | b'C' | b'S')))
    .then_some(bare)
}

/// The error of content that is not a package; `reason` completes "the content is not a valid
/// package".
pub(crate) fn invalid(reason: impl std::fmt::Display) -> Error {
    Error::invalid(format!("the content is not a valid package: {reason}"))
        .with_name("Feeds.InvalidPackage", None)
}

/// The error of a package beyond a bound.
pub(crate) fn too_large(what: impl std::fmt::Display) -> Error {
    Error::limit(format!("the package is refused: {what}")).with_name("Feeds.PackageTooLarge", None)
}
