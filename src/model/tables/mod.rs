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
