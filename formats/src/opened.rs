//! Files, opened for reading.

use std::fs::File;
use std::path::Path;

use stationdb::{Error, Result};

/// Opens a file for reading.
///
/// # Errors
/// `Io`; `InvalidArgument` for a directory or a device.
pub(crate) fn open(path: &Path) -> Result<File> {
    let failed = |error| Error::io(format_args!("reading {}", path.display()), error);
    let is_file = std::fs::metadata(path).map_err(failed)?.is_file();
    if !is_file {
        return Err(Error::invalid(format!("{} is no file", path.display())));
    }
    File::open(path).map_err(failed)
}
