//! Files of results, read whole.

use std::io::Read as _;
use std::path::Path;

use stationdb::{Error, Result};

use super::options::ImportOptions;
use crate::limits::RESULTS_BYTES;

/// The bytes of a file.
///
/// # Errors
/// `Io` with the name of the file; `LimitExceeded` for more than [`RESULTS_BYTES`].
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>> {
    let failed = |error| Error::io(format_args!("reading {}", path.display()), error);
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(RESULTS_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > RESULTS_BYTES {
        return Err(Error::limit(format!(
            "reading {}: the file has more than the {RESULTS_BYTES} bytes of a file of results; \
             write fewer results into a file",
            path.display()
        )));
    }
    Ok(bytes)
}

/// The last part of a path of any system.
pub(crate) fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Imports a file, with its name as that of the attached file.
///
/// # Errors
/// As [`bytes`] and those of `import`, with the name of the file.
pub(crate) fn import<T>(
    path: &Path,
    options: &ImportOptions,
    import: impl FnOnce(&[u8], &ImportOptions) -> Result<T>,
) -> Result<T> {
    let bytes = bytes(path)?;
    let mut options = options.clone();
    if options.file_name.is_none() {
        options.file_name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    }
    import(&bytes, &options)
        .map_err(|error| error.context(format_args!("importing {}", path.display())))
}
