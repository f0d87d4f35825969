//! Contents of files and packages: immutable blobs, one file each, named by an id that is never
//! used again.
//!
//! Provides streaming writes that are durable on return, ranged reads that verify every byte,
//! removal, and a listing for the sweep at opening. This module does not know who names a blob: a
//! blob that no committed record names is garbage.
//!
//! What must hold: a blob is written once, under its final name, and synced before a record names
//! it. Otherwise a commit could name a file that a power cut takes away. Memory use does not grow
//! with the content.

mod content;
mod directory_syncs;
mod format;
mod numbers;
mod read;
mod store;
mod suspects;
mod sync_ahead;
mod write;

pub use content::ContentReader;
#[cfg(test)]
pub(crate) use format::MAGIC as BLOB_MAGIC;
pub(crate) use format::{check_ranges, path};
pub(crate) use read::{BlobReader, check_blob};
pub(crate) use store::{BlobEntry, BlobStore, check_limit};
pub(crate) use write::{BlobInfo, BlobWriter};

#[cfg(test)]
mod tests;
