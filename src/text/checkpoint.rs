//! The entry of the record file about the text index, by which opening tells a valid index from a
//! damaged one.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A file of the index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileEntry {
    /// Name in the index directory.
    pub name: String,
    /// Length in bytes.
    pub len: u64,
    /// CRC-32 of all bytes.
    pub crc: u32,
}

/// A durable state of the index: all files that it needs are synced.
///
/// It is valid once the record file contains it. The index directory alone never shows which state
/// is the last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    /// Number of the checkpoint; also in the name of its meta file.
    pub generation: u64,
    /// The change-log sequence up to which the index is complete.
    pub sequence: u64,
    /// The store that the documents came from.
    pub store_id: String,
    /// The shape that the index was built with.
    pub fingerprint: u64,
    /// The meta file.
    pub meta: FileEntry,
    /// The files that the meta file needs.
    pub files: Vec<FileEntry>,
}

impl Checkpoint {
    /// The stored form.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| {
            Error::corrupt("internal error: the checkpoint of the text index cannot be encoded")
                .with_source(error)
        })
    }

    /// Decodes the stored form; `None` if it is damaged, and the index must be built again.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}
