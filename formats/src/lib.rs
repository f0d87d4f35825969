//! Readers of the files that others write: tables of measured rows from CSV and Parquet, and the
//! records of test programs.
//!
//! [`ImportFiles`] gives a session the imports of files; each format has a module, whose `source`
//! is a [`RowSource`](stationdb::tables::RowSource). [`openhtf`] reads the records of `OpenHTF`,
//! [`teststand`] the reports of `TestStand`, [`atml`] test results of IEEE 1636.1, and
//! [`results_csv`] results from CSV.
//!
//! The feature `zones` has the names of time zones, such as `Europe/Berlin`, for times without a
//! zone.
#![deny(missing_docs)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod atml;
pub mod csv;
#[cfg(test)]
mod damage_tests;
mod directory;
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
pub mod results;
pub mod results_csv;
pub mod teststand;
mod xml;
mod zone;

#[cfg(test)]
#[path = "../../tests/common/sizes.rs"]
mod sizes;

pub use crate::parquet::ReadSeek;
pub use directory::{DirectoryReport, FileReport, ImportDirectoryRequest};
pub use format::FileFormat;
pub use import::ImportFiles;
