//! Readers of the files that others write: tables of measured rows from CSV, Parquet and TDMS, and
//! the records of test programs.
//!
//! [`ImportFiles`] gives a session the imports of files; each format has a module, whose `source`
//! is a [`RowSource`](stationdb::tables::RowSource). [`openhtf`] reads the records of `OpenHTF`.
//!
//! The feature `zones` has the names of time zones, such as `Europe/Berlin`, for times without a
//! zone.
#![deny(missing_docs)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod csv;
mod directory;
mod export;
mod file;
mod format;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzz;
mod import;
mod limits;
mod moment;
mod numbered;
pub mod openhtf;
mod opening;
mod options;
pub mod parquet;
pub mod tdms;
mod zone;

#[cfg(test)]
#[path = "../../tests/common/sizes.rs"]
mod sizes;

pub use crate::parquet::ReadSeek;
pub use directory::{DirectoryReport, FileReport, ImportDirectoryRequest};
pub use export::ExportFiles;
pub use format::FileFormat;
pub use import::ImportFiles;
