//! Measurement tables: their metadata, columns and requests.

pub mod data;
pub mod import;
pub mod table;
