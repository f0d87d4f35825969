//! Parts of the Parquet format that segments and imports share.

pub(super) mod format;
pub(super) mod nan_statistics;
pub(super) mod runs;
pub(super) mod thrift;
