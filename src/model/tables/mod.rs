//! Measurement tables: their metadata, columns and requests.

pub(crate) mod aggregate;
pub(crate) mod columns;
pub(crate) mod data;
pub(crate) mod deletion;
pub(crate) mod import;
pub(crate) mod retention;
pub(crate) mod segments;
pub(crate) mod store_table;
pub(crate) mod table;
pub(crate) mod waveform;

pub(crate) use aggregate::*;
pub(crate) use columns::*;
pub(crate) use data::*;
pub(crate) use deletion::*;
pub(crate) use import::*;
pub(crate) use retention::*;
pub(crate) use segments::*;
pub(crate) use table::*;
pub(crate) use waveform::*;
