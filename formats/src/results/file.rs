//! Files of results, read whole.

use std::io::Read as _;

use stationdb::{Error, Result};

use crate::limits::WHOLE_FILE_BYTES;
use crate::opened::SourceFile;

/// The bytes of a file.
///
/// # Errors
/// `Io` with the name of the file; `LimitExceeded` for too many.
pub(crate) fn whole_file(file: SourceFile) -> Result<Vec<u8>> {
    read_up_to(file, WHOLE_FILE_BYTES)
}

fn read_up_to(file: SourceFile, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let path = file.path().to_owned();
    file.into_read()
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
        let read = |limit| read_up_to(SourceFile::open(&path).unwrap(), limit);
        assert_eq!(read(100).unwrap().len(), 100);
        let error = read(99).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        assert!(error.message().contains("a.json") && error.message().contains("99"), "{error}");
    }
}
