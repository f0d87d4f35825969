//! Test results as documents of IEEE 1636.1, a part of ATML: 2011 (ATML 5 of `TestStand`), 2013 and
//! 2018 (ATML 6).
//!
//! Each set of results becomes one test result with its steps, all in one commit. The file itself
//! is attached to each result, so nothing of it is lost.
//!
//! ```
//! use stationdb::prelude::*;
//! use stationdb::results::StatusType;
//! use stationdb::{Identity, Store};
//! use stationdb_formats::atml;
//! use stationdb_formats::ResultOptions;
//!
//! let directory = tempfile::tempdir()?;
//! let store = Store::open(directory.path().join("store"))?;
//! let session = store.session(Identity::user("ada"));
//! let document = br#"<tr:TestResults xmlns:tr="urn:IEEE-1636.1:2013:TestResults" uuid="1">
//!     <tr:ResultSet ID="1" name="Gain" startDateTime="2024-02-01T08:00:00Z">
//!         <tr:Outcome value="Passed"/>
//!     </tr:ResultSet>
//! </tr:TestResults>"#;
//! let imported = atml::import(&session, document, &ResultOptions::new())?;
//! let result = session.get_result(&imported.results[0])?;
//! assert_eq!(result.program_name.as_deref(), Some("Gain"));
//! assert_eq!(result.status.map(|status| status.status_type), Some(StatusType::Passed));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod datum;
mod document;
mod measurement;
mod step;

use std::path::Path;

use stationdb::{Result, Session};

use crate::result_format::ResultFormat;
use crate::results::commit::Kind;
use crate::results::whole::WholeFormat;
use crate::results::{ResultFile, ResultOptions, ResultsReport};
use crate::xml;

/// Imports a document.
///
/// # Errors
/// `InvalidArgument` for bytes that are no test results, with the line; `Unsupported` for another
/// edition of the standard and for an encoding that is not read; `LimitExceeded` for a document
/// beyond the bounds; `Conflict` for a file that a visible result came from, with the id of that
/// result, unless [`ResultOptions::again`] is set; the errors of creating results, steps and files.
/// After an error nothing was changed.
///
/// ```
/// # use stationdb::prelude::*;
/// # use stationdb::{ErrorKind, Identity, Store};
/// # use stationdb_formats::atml;
/// # use stationdb_formats::ResultOptions;
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("store"))?;
/// # let session = store.session(Identity::user("ada"));
/// let other = br#"<TestResults xmlns="urn:IEEE-1636.1:2006:TestResults"/>"#;
/// let error = atml::import(&session, other, &ResultOptions::new()).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Unsupported);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn import(session: &Session, bytes: &[u8], options: &ResultOptions) -> Result<ResultsReport> {
    WHOLE.import(session, bytes, options)
}

static WHOLE: WholeFormat = WholeFormat {
    kind: Kind {
        format: ResultFormat::Atml,
        noun: "the ATML document",
        sum_property: "atml.sha256",
        extension: "atml.xml",
        mime_type: "application/xml",
    },
    read: |bytes, options, _| document::read(bytes, options),
};

/// Imports the document in a file.
///
/// # Errors
/// As [`import`]; `Io` for a file that cannot be read. The error names the file.
///
/// ```
/// # use stationdb::prelude::*;
/// # use stationdb::{Identity, Store};
/// # use stationdb_formats::atml;
/// # use stationdb_formats::ResultOptions;
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("store"))?;
/// # let session = store.session(Identity::user("ada"));
/// let error = atml::import_file(&session, "none.xml", &ResultOptions::new()).unwrap_err();
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
    is_start: |start| xml::begins(start, |text| text.contains("urn:IEEE-1636.1:")),
    extensions: &[],
    import: |session, file, options, control| WHOLE.import_open(session, file, options, control),
};

/// How many results the bytes of a file become, without a store.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn count(bytes: &[u8]) -> Result<usize> {
    document::read(bytes, &ResultOptions::new()).map(|(results, _)| results.len())
}
