//! Reports of `TestStand` in its own XML.
//!
//! Each report of a unit becomes one test result with its steps, all in one commit. The file itself
//! is attached to each result, so nothing of it is lost.
//!
//! ```
//! use stationdb::prelude::*;
//! use stationdb::{Identity, Store};
//! use stationdb_formats::ResultOptions;
//! use stationdb_formats::teststand;
//!
//! let directory = tempfile::tempdir()?;
//! let store = Store::open(directory.path().join("store"))?;
//! let session = store.session(Identity::user("ada"));
//! let report = br#"<Reports><Report Type='UUT' UUTResult='Passed'>
//!     <Prop Name='UUT' Type='Obj'>
//!         <Prop Name='SerialNumber' Type='String'><Value>SN-1</Value></Prop>
//!     </Prop>
//! </Report></Reports>"#;
//! let imported = teststand::import(&session, report, &ResultOptions::new())?;
//! let result = session.get_result(&imported.results[0])?;
//! assert_eq!(result.serial_number.as_deref(), Some("SN-1"));
//! // The same file again is a conflict.
//! assert!(teststand::import(&session, report, &ResultOptions::new()).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod json;
mod measurement;
mod prop;
mod report;
mod step;

use std::path::Path;

use stationdb::{Result, Session};

use crate::result_format::ResultFormat;
use crate::results::commit::Kind;
use crate::results::whole::WholeFormat;
use crate::results::{ResultFile, ResultOptions, ResultsReport};
use crate::xml;

/// Imports the reports of a file.
///
/// # Errors
/// `InvalidArgument` for bytes that are no report, with the line; `LimitExceeded` for a document
/// beyond the bounds; `Unsupported` for an encoding that is not read; `Conflict` for a file that a
/// visible result came from, with the id of that result, unless [`ResultOptions::again`] is set;
/// the errors of creating results, steps and files. After an error nothing was changed.
///
/// ```
/// # use stationdb::prelude::*;
/// # use stationdb::{Identity, Store};
/// # use stationdb_formats::ResultOptions;
/// # use stationdb_formats::teststand;
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("store"))?;
/// # let session = store.session(Identity::user("ada"));
/// let error = teststand::import(&session, b"<Orders/>", &ResultOptions::new()).unwrap_err();
/// assert!(error.message().contains("the outermost element is \"Orders\""), "{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn import(session: &Session, bytes: &[u8], options: &ResultOptions) -> Result<ResultsReport> {
    WHOLE.import(session, bytes, options)
}

static WHOLE: WholeFormat = WholeFormat {
    kind: Kind {
        format: ResultFormat::TestStand,
        noun: "the TestStand report",
        sum_property: "teststand.sha256",
        extension: "teststand.xml",
        mime_type: "application/xml",
    },
    read: |bytes, options, _| report::read(bytes, options),
};

/// Imports the reports of a file with this path.
///
/// # Errors
/// As [`import`]; `Io` for a file that cannot be read. The error names the file.
///
/// ```
/// # use stationdb::prelude::*;
/// # use stationdb::{Identity, Store};
/// # use stationdb_formats::ResultOptions;
/// # use stationdb_formats::teststand;
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("store"))?;
/// # let session = store.session(Identity::user("ada"));
/// let error = teststand::import_file(&session, "none.xml", &ResultOptions::new()).unwrap_err();
/// assert!(error.message().contains("none.xml"), "{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn import_file(
    session: &Session,
    path: impl AsRef<Path>,
    options: &ResultOptions,
) -> Result<ResultsReport> {
    WHOLE.import_file(session, path.as_ref(), options)
}

/// The format in the table of formats.
pub(crate) static FILE: ResultFile = ResultFile {
    is_start: |start| {
        xml::begins(start, |text| text.contains("<Reports") || text.contains("<Report "))
    },
    extensions: &[],
    import: |session, file, options, control| WHOLE.import_open(session, file, options, control),
};

/// How many results the bytes of a file become, without a store.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn count(bytes: &[u8]) -> Result<usize> {
    report::read(bytes, &ResultOptions::new()).map(|(results, _)| results.len())
}
