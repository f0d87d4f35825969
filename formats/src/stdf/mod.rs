//! Files of semiconductor testers: STDF V4 and V4-2007, in both byte orders, plain or compressed
//! with gzip or bzip2.
//!
//! [`import`] makes a work item of the lot and a result of each part, with its tests as steps.
//! [`tables`] has the records as they are, a table a type. [`Records`] reads them one by one.
//!
//! ```
//! use stationdb::prelude::*;
//! use stationdb::{Control, Identity, Store};
//! use stationdb_formats::stdf::{self, ImportOptions};
//!
//! let directory = tempfile::tempdir()?;
//! let store = Store::open(directory.path().join("store"))?;
//! let session = store.session(Identity::user("ada"));
//! // FAR, PIR and PRR of a part that passed.
//! let file = b"\x02\x00\x00\x0a\x02\x04\x02\x00\x05\x0a\x01\x01\
//!     \x16\x00\x05\x14\x01\x01\x00\x00\x00\x01\x00\x01\x00\x00\x80\x00\x80\x64\x00\x00\x00\
//!     \x04SN-1";
//! let (options, control) = (ImportOptions::new(), Control::default());
//! let report = stdf::import(&session, &mut &file[..], &options, &control)?;
//! let result = session.get_result(&report.results[0])?;
//! assert_eq!(result.serial_number.as_deref(), Some("SN-1"));
//! assert_eq!(result.total_time_in_seconds, Some(0.1));
//! // The same file again is a conflict.
//! assert!(stdf::import(&session, &mut &file[..], &options, &control).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(test)]
mod bounds_tests;
mod commit;
mod counts;
mod decode;
mod fields;
mod file;
mod import;
mod input;
mod known;
mod lot;
mod part;
mod pass;
mod pins;
#[cfg(test)]
mod portions_tests;
mod records;
mod report;
mod scale;
mod setting;
mod steps;
mod tables;
mod unfinished;
mod value;
mod warnings;

pub use crate::results::ResultOptions as ImportOptions;
pub use fields::{Field, RECORD_TYPES, RecordType};
pub(crate) use file::{FILE, is_packed};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use import::read_parts;
pub use import::{import, import_file};
pub use records::{Record, Records};
pub use report::ImportReport;
pub use tables::{Tables, tables};
pub use unfinished::remove_unfinished;
pub use value::{Bits, ByteOrder, List, Value};
