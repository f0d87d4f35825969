//! Readers of the files that others write: tables of measured rows from CSV, Parquet, TDMS, LabVIEW's
//! measurement files and Touchstone, and the records of test programs.
//!
//! [`ImportFiles`] gives a session the imports of files with tables; each format has a module,
//! whose `source` is a [`RowSource`](stationdb::tables::RowSource). [`ImportResults`] gives it
//! those of files with test results: records of `OpenHTF` ([`openhtf`]), reports of `TestStand`
//! ([`teststand`]), documents of IEEE 1636.1 ([`atml`]), lots of semiconductor testers ([`stdf`])
//! and CSV ([`results_csv`]); and of directories with files of both kinds. [`DataFormat`] finds what
//! a file is.
//!
//! The feature `zones` has the names of time zones, such as `Europe/Berlin`, for times without a
//! zone.
#![deny(missing_docs)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod atml;
pub mod csv;
#[cfg(test)]
mod damage_tests;
mod data_format;
mod directory;
mod dos_end;
mod export;
mod file;
mod format;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzz;
mod import;
mod instrument_text;
mod limits;
mod lines;
pub mod lvm;
mod moment;
mod named;
mod numbered;
mod opened;
pub mod openhtf;
mod opening;
mod options;
pub mod parquet;
mod reading;
mod result_file;
mod result_format;
mod results;
pub mod results_csv;
mod results_file;
mod serial;
pub mod stdf;
pub mod tdms;
pub mod teststand;
pub mod touchstone;
mod xml;
mod zone;

#[cfg(test)]
#[path = "../../tests/common/sizes.rs"]
mod sizes;

pub use crate::parquet::ReadSeek;
pub use data_format::DataFormat;
pub use directory::{DirectoryReport, FileReport, ImportDirectoryRequest, Imported};
pub use export::ExportFiles;
pub use format::FileFormat;
pub use import::ImportFiles;
pub use opened::SourceFile;
pub use result_format::ResultFormat;
pub use results::{ResultOptions, ResultsReport};
pub use results_file::ImportResults;
