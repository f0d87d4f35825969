//! Rows from and for others: frames, CSV, Parquet, Arrow streams, waveforms.

pub(super) mod export;
pub(super) mod export_metadata;
pub mod foreign;
pub(super) mod frame;
pub(super) mod ipc;
pub(super) mod ipc_check;
#[cfg(test)]
pub(super) mod ipc_tests;
pub(crate) mod source;
pub(super) mod text_column;
pub(super) mod waveform;
