//! Files of results, read whole.

use std::io::Read as _;
use std::path::Path;

use stationdb::{Error, Result};

use crate::limits::WHOLE_FILE_BYTES;
use crate::opened::open;

/// The bytes of a file.
///
/// # Errors
/// `Io` with the name of the file; `LimitExceeded` for too many.
pub(crate) fn whole_file(path: &Path) -> Result<Vec<u8>> {
    read_up_to(path, WHOLE_FILE_BYTES)
}

fn read_up_to(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| Error::io(format_args!("reading {}", path.display()), error))?;
    if bytes.len() as u64 > limit {
        return Err(Error::limit(format!(
            "{} has more than the {limit} bytes of a file with test results; write fewer results, \
             or their large attachments, into files of their own",
            path.display()
        )));
    }
    Ok(bytes)
}

/// Imports a file, whose name is that of the attached one.
///
/// # Errors
/// As [`whole_file`] and those of `import`, with the name of the file.
pub(crate) fn import_file<T>(
    path: &Path,
    import: impl FnOnce(&[u8], Option<&str>) -> Result<T>,
) -> Result<T> {
    let bytes = whole_file(path)?;
    let name = path.file_name().map(|name| name.to_string_lossy());
    import(&bytes, name.as_deref())
        .map_err(|error| error.context(format_args!("importing {}", path.display())))
}

/// The last part of a path of any system.
pub(crate) fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use stationdb::ErrorKind;

    use super::*;

    #[test]
    fn a_file_has_a_bound() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        std::fs::write(&path, [b'7'; 100]).unwrap();
        assert_eq!(read_up_to(&path, 100).unwrap().len(), 100);
        let error = read_up_to(&path, 99).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        assert!(error.message().contains("a.json") && error.message().contains("99"), "{error}");
    }
}
