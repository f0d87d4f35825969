//! One change of one key: a value that can be stored, and applied twice without harm.

use super::Space;

/// One change of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// Sets or removes a key of the index space, by somebody who knows whether it is there: no read is needed.
    Entry {
        /// The key.
        key: Vec<u8>,
        /// Whether the key is there now.
        before: bool,
        /// Its value from now on; `None` when it is gone.
        after: Option<Vec<u8>>,
    },
}

impl Change {
    /// The bytes that the change brings, for the bounds of a commit.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Put { key, value, .. } => key.len() + value.len(),
            Self::Delete { key, .. } => key.len(),
            Self::Entry { key, after, .. } => key.len() + after.as_ref().map_or(0, Vec::len),
        }
    }
}
