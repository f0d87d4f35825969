//! Value indexes: for one column of one row group, which rows have a value.
//!
//! What must hold: the rows of a value index are those of its row group that have a value, each
//! once, and its keys are in order of the values. If a key was cut, rows that it finds must still
//! be tested; otherwise exactly the rows that it finds have a wanted value.

mod build;
mod keys;
mod look_up;
#[cfg(test)]
mod tests;

pub(super) use build::{IndexPart, build};
pub(crate) use keys::{KeyRange, common, disjoint};
pub(super) use look_up::look_up;

/// Bytes of a text that are its key.
const KEY_BYTES: usize = 256;
/// Keys of one block.
const BLOCK_KEYS: usize = 256;

/// Where the value index of a column of a row group is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct IndexPlace {
    pub group: u32,
    /// Position of the column.
    pub column: u32,
    /// Whether a text was longer than its key.
    pub is_cut: bool,
    /// Offset in the Parquet file.
    pub offset: u64,
    /// Bytes of each part.
    pub rows_bytes: u32,
    pub keys_bytes: u32,
    pub directory_bytes: u32,
    /// Blocks of keys.
    pub blocks: u32,
}

/// Rows that a value index found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FoundRows {
    /// Rows of the row group, ascending, counted from its first one.
    pub rows: Vec<u32>,
    /// Whether each of them has a wanted value, so that none must be tested.
    pub is_exact: bool,
}
