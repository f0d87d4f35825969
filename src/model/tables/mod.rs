//! Measurement tables: their metadata and columns, and the requests about their rows.

pub mod data;
pub mod import;
pub mod table;
