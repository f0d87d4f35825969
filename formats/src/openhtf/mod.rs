//! Records of `OpenHTF`, as its JSON output writes them.
//!
//! A record becomes one test result with its steps, tables and files, in one commit. The record
//! itself is one of the files, so nothing of it is lost.
//!
//! ```
//! use stationdb::prelude::*;
//! use stationdb::{Identity, Store};
//! use stationdb_formats::openhtf::{self, ImportOptions};
//!
//! let directory = tempfile::tempdir()?;
//! let store = Store::open(directory.path().join("store"))?;
//! let session = store.session(Identity::user("ada"));
//! let record = br#"{"dut_id": "SN-1", "station_id": "bench-1", "outcome": "PASS",
//!     "start_time_millis": 1700000000000, "end_time_millis": 1700000002500,
//!     "metadata": {"test_name": "Gain"}, "phases": []}"#;
//! let report = openhtf::import(&session, record, &ImportOptions::new())?;
//! let result = session.get_result(&report.result_id)?;
//! assert_eq!(result.serial_number.as_deref(), Some("SN-1"));
//! assert_eq!(result.total_time_in_seconds, Some(2.5));
//! // The same record again is a conflict.
//! assert!(openhtf::import(&session, record, &ImportOptions::new()).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod file;
mod json;
mod measurement;
mod phase;
mod record;
mod report;
mod sha1;
mod table;
mod validators;

use std::path::Path;

use stationdb::{Result, Session};

pub use crate::results::ResultOptions as ImportOptions;
use record::Record;
pub use report::ImportReport;

use crate::opened::SourceFile;
use crate::result_format::ResultFormat;
use crate::results::commit::{Kind, Original, commit};
use crate::results::file::whole_file;
use crate::results::{ResultFile, ResultsReport};

/// Imports one record.
///
/// # Errors
/// `InvalidArgument` for bytes that are no record, with the place in the record; `Conflict` for a
/// record that a visible result came from, with the id of that result, unless
/// [`ImportOptions::again`] is set; the errors of creating results, steps, tables and files. After
/// an error nothing was changed.
///
/// ```
/// # use stationdb::prelude::*;
/// # use stationdb::{Identity, Store};
/// # use stationdb_formats::openhtf::{self, ImportOptions};
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("store"))?;
/// # let session = store.session(Identity::user("ada"));
/// let error = openhtf::import(&session, b"{\"outcome\": 7}", &ImportOptions::new()).unwrap_err();
/// assert!(error.message().contains("outcome: expected a text, found a number"), "{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn import(session: &Session, record: &[u8], options: &ImportOptions) -> Result<ImportReport> {
    let report = import_results(session, record, options)?;
    Ok(ImportReport {
        result_id: report.results.into_iter().next().unwrap_or_default(),
        steps: report.steps,
        measurements: report.measurements,
        tables: report.tables,
        files: report.files,
    })
}

/// The format in the table of formats.
pub(crate) static FILE: ResultFile = ResultFile {
    is_start: file::is_start,
    extensions: &["json"],
    import: |session, file, options, control| {
        import_results(&session.with_control(control), &whole_file(file)?, options)
    },
};

static KIND: Kind = Kind {
    format: ResultFormat::OpenHtf,
    noun: "the OpenHTF record",
    sum_property: "openhtf.sha256",
    extension: "openhtf.json",
    mime_type: "application/json",
};

fn import_results(
    session: &Session,
    record: &[u8],
    options: &ImportOptions,
) -> Result<ResultsReport> {
    let Record { result, file_name } = record::read(record, options)?;
    let original = Original { bytes: record, name: Some(&file_name), kind: &KIND };
    commit(session, original, vec![result], options)
}

/// Imports the record in a file.
///
/// # Errors
/// As [`import`]; `Io` for a file that cannot be read; `LimitExceeded` for one of more than 512 MiB.
/// The error names the file.
///
/// ```
/// # use stationdb::{Identity, Store};
/// # use stationdb_formats::openhtf::{self, ImportOptions};
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("store"))?;
/// # let session = store.session(Identity::user("ada"));
/// let error = openhtf::import_file(&session, "none.json", &ImportOptions::new()).unwrap_err();
/// assert!(error.message().contains("none.json"), "{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn import_file(
    session: &Session,
    path: impl AsRef<Path>,
    options: &ImportOptions,
) -> Result<ImportReport> {
    let path = path.as_ref();
    SourceFile::open(path)
        .and_then(|file| import(session, &whole_file(file)?, options))
        .map_err(|error| error.context(format_args!("importing {}", path.display())))
}
