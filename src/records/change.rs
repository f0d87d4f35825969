//! A change of a key. It can be stored, and applied twice with the same result.

use super::Space;
use super::memory::entries::SortedEntries;

/// One change of one key.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// Sets the value of a key.
    Put {
        /// The space.
        space: Space,
        /// The key.
        key: Vec<u8>,
        /// The new value.
        value: Vec<u8>,
    },
    /// Removes a key, if it is there.
    Delete {
        /// The space.
        space: Space,
        /// The key.
        key: Vec<u8>,
    },
    /// Sets and removes keys of the index space. The caller states which keys exist, so nothing is
    /// read.
    Entries(SortedEntries),
}

impl Change {
    /// The bytes of the change, for the size limit of a commit.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Put { key, value, .. } => key.len() + value.len(),
            Self::Delete { key, .. } => key.len(),
            Self::Entries(entries) => entries
                .iter()
                .map(|change| change.key.len() + change.after.map_or(0, <[u8]>::len))
                .sum(),
        }
    }
}
