//! The flag that says whether any index is still being filled.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether any index may be incomplete in a snapshot that is still read.
///
/// Set when the store is opened, and never cleared while it is open: a reader may hold a snapshot
/// from before the last index was complete.
#[derive(Debug, Default)]
pub(crate) struct Growing(AtomicBool);

impl Growing {
    pub(in crate::session) fn set(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub(in crate::session) fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
