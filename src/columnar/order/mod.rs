//! Rows in another order than that of the index, in memory or with temporary files.

pub(super) mod after;
pub(super) mod select;
pub(super) mod sort_key;
pub(super) mod spill;
