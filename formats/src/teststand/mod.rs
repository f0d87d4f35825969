//! Reports of `TestStand` in its own XML.
//!
//! Each report of a unit becomes one test result with its steps, all in one commit. The file itself
//! is attached to each result, so nothing of it is lost.
//!
//! ```
//! use stationdb::prelude::*;
//! use stationdb::{Identity, Store};
//! use stationdb_formats::results::ImportOptions;
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
//! let imported = teststand::import(&session, report, &ImportOptions::new())?;
//! let result = session.get_result(&imported.result_ids[0])?;
//! assert_eq!(result.serial_number.as_deref(), Some("SN-1"));
//! // The same file again is a conflict.
//! assert!(teststand::import(&session, report, &ImportOptions::new()).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod json;
mod measurement;
mod prop;
mod report;
mod step;

use std::path::Path;

use stationdb::{Result, Session};

use crate::results::commit::{Original, commit};
use crate::results::{ImportOptions, ImportReport, file};

/// Imports the reports of a file.
///
/// # Errors
/// `InvalidArgument` for bytes that are no report, with the line; `LimitExceeded` for a document
/// beyond the bounds; `Unsupported` for an encoding that is not read; `Conflict` for a file that a
/// visible result came from, with the id of that result, unless [`ImportOptions::again`] is set;
/// the errors of creating results, steps and files. After an error nothing was changed.
///
/// ```
/// # use stationdb::prelude::*;
/// # use stationdb::{Identity, Store};
/// # use stationdb_formats::results::ImportOptions;
/// # use stationdb_formats::teststand;
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("store"))?;
/// # let session = store.session(Identity::user("ada"));
/// let error = teststand::import(&session, b"<Orders/>", &ImportOptions::new()).unwrap_err();
/// assert!(error.message().contains("the outermost element is \"Orders\""), "{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn import(session: &Session, bytes: &[u8], options: &ImportOptions) -> Result<ImportReport> {
    let (results, told) = report::read(bytes, options)?;
    let original = Original {
        bytes,
        noun: "the TestStand report",
        sum_property: "teststand.sha256",
        extension: "teststand.xml",
        mime_type: "application/xml",
    };
    let report = commit(session, original, results, options)?;
    Ok(ImportReport { warnings: told.finish(), ..report })
}

/// Imports the reports of a file with this path.
///
/// # Errors
/// As [`import`]; `Io` for a file that cannot be read. The error names the file.
///
/// ```
/// # use stationdb::prelude::*;
/// # use stationdb::{Identity, Store};
/// # use stationdb_formats::results::ImportOptions;
/// # use stationdb_formats::teststand;
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("store"))?;
/// # let session = store.session(Identity::user("ada"));
/// let error = teststand::import_file(&session, "none.xml", &ImportOptions::new()).unwrap_err();
/// assert!(error.message().contains("none.xml"), "{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn import_file(
    session: &Session,
    path: impl AsRef<Path>,
    options: &ImportOptions,
) -> Result<ImportReport> {
    file::import(path.as_ref(), options, |bytes, options| import(session, bytes, options))
}

/// How many results the bytes of a file become, without a store.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn count(bytes: &[u8]) -> Result<usize> {
    report::read(bytes, &ImportOptions::new()).map(|(results, _)| results.len())
}
