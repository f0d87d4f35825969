//! Parts of the Parquet format that segments and imports share.

pub mod format;
pub(super) mod nan_statistics;
pub mod runs;
pub(super) mod thrift;
