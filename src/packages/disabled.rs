//! The package interface of a build without the feature `packages`.

use std::io::Read;

use super::Inspection;
use crate::error::{Error, Result};

/// Returns an error: this build cannot read packages.
///
/// # Errors
/// `Unsupported`, always.
pub fn inspect(_source: &mut dyn Read) -> Result<Inspection> {
    Err(Error::unsupported(
        "packages cannot be read: this build of stationdb lacks the feature `packages`",
    ))
}

/// Returns an error: this build cannot compress.
///
/// # Errors
/// `Unsupported`, always.
pub fn gzip(_bytes: &[u8]) -> Result<Vec<u8>> {
    Err(Error::unsupported(
        "data cannot be compressed: this build of stationdb lacks the feature `packages`",
    ))
}
