//! Contents of files and packages: immutable, one file each, named by a number that is never used
//! again.
//!
//! What for: streaming writes that are durable when they return, ranged reads that verify every
//! byte they return, removal, and a listing for the sweep at open. What not: nothing here knows who
//! names a blob; a blob that no committed record names is garbage. What must hold: a blob is
//! written once, under its final name, and synced before anybody names it; memory does not grow
//! with the content.

mod content;
mod format;
mod own_error;
mod read;
mod store;
mod suspects;
mod sync_ahead;
mod write;

pub use content::ContentReader;
pub use format::{check_ranges, path};
pub use store::{BlobEntry, BlobStore};
pub use write::BlobInfo;

#[cfg(test)]
mod tests;
