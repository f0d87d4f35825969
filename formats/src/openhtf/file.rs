//! A file with a record: how it is known, and how it is read.

use std::io::Read as _;
use std::path::Path;

use memchr::memmem;
use stationdb::{Control, Error, Result, Session};

use super::{ImportOptions, import};
use crate::limits::WHOLE_FILE_BYTES;
use crate::result_format::{ResultFile, ResultFormat};
use crate::results_file::ResultsReport;

/// The format in the table of formats.
pub(crate) static FILE: ResultFile =
    ResultFile { name: "openhtf", is_start, extensions: &["json"], import: import_results };

/// Members by which a record is known, as JSON has them.
const KNOWN_BY: [&[u8]; 5] = [
    b"\"dut_id\"",
    b"\"start_time_millis\"",
    b"\"outcome_details\"",
    b"\"phases\"",
    b"\"code_info\"",
];

/// Whether bytes are the start of an object with a member that only records have.
fn is_start(start: &[u8]) -> bool {
    start.trim_ascii_start().starts_with(b"{")
        && KNOWN_BY.iter().any(|member| memmem::find(start, member).is_some())
}

/// The bytes of a file.
///
/// # Errors
/// `Io`; `LimitExceeded` for too many.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    read_up_to(path, WHOLE_FILE_BYTES)
}

fn read_up_to(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    crate::file::open(path)?
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| Error::io(format_args!("reading {}", path.display()), error))?;
    if bytes.len() as u64 > limit {
        return Err(Error::limit(format!(
            "the record in {} has more than the {limit} bytes of one; write its large attachments \
             as files of their own",
            path.display()
        )));
    }
    Ok(bytes)
}

fn import_results(
    session: &Session,
    path: &Path,
    options: &ImportOptions,
    control: &Control,
) -> Result<ResultsReport> {
    let created = import(&session.with_control(control), &read(path)?, options)?;
    Ok(ResultsReport {
        results: vec![created.result_id],
        steps: created.steps,
        measurements: created.measurements,
        tables: created.tables,
        files: created.files,
        ..ResultsReport::new(ResultFormat::OpenHtf)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use stationdb::ErrorKind;

    #[test]
    fn a_record_has_a_bound() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        std::fs::write(&path, [b'7'; 100]).unwrap();
        assert_eq!(read_up_to(&path, 100).unwrap().len(), 100);
        let error = read_up_to(&path, 99).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        assert!(error.message().contains("a.json") && error.message().contains("99"), "{error}");
    }
}
