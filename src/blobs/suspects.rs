//! Blobs that possibly no record names.

use std::sync::{Arc, Mutex, PoisonError};

/// Ids of blobs whose record may never be committed, or that could not be removed at first.
#[derive(Clone, Debug, Default)]
pub(super) struct Suspects(Arc<Mutex<Vec<u64>>>);

impl Suspects {
    pub(super) fn add(&self, ids: impl IntoIterator<Item = u64>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(ids);
    }

    /// Removes and returns all ids.
    pub(super) fn take(&self) -> Vec<u64> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
