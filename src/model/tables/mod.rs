//! Measurement tables: their metadata, columns and requests.

pub(crate) mod aggregate;
pub(crate) mod columns;
pub(crate) mod data;
pub(crate) mod deletion;
pub(crate) mod import;
pub(crate) mod retention;
pub(crate) mod segments;
pub(crate) mod table;
pub(crate) mod waveform;

pub use aggregate::*;
pub use columns::*;
pub use data::*;
pub use deletion::*;
pub use import::*;
pub use retention::*;
pub use segments::*;
pub use table::*;
pub use waveform::*;
