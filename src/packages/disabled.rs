//! The side of the interface without the feature `packages`.

use std::io::Read;

use super::Inspected;
use crate::error::{Error, Result};

/// Refuses: this build reads no packages.
///
/// # Errors
/// `Unsupported`, always.
pub fn inspect(_source: &mut dyn Read) -> Result<Inspected> {
    Err(Error::unsupported("packages cannot be read: this build of stationdb has the feature `packages` off"))
}

/// Refuses: this build compresses nothing.
///
/// # Errors
/// `Unsupported`, always.
pub fn gzip(_bytes: &[u8]) -> Result<Vec<u8>> {
    Err(Error::unsupported("nothing can be compressed: this build of stationdb has the feature `packages` off"))
}
