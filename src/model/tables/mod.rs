//! Measurement tables: their metadata, columns and requests.

pub(crate) mod aggregate;
pub(crate) mod data;
pub(crate) mod import;
pub(crate) mod segments;
pub(crate) mod table;
