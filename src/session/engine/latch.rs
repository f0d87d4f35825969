//! The latch that refuses every write after one write failed with an unknown outcome.

use std::sync::PoisonError;

use super::sync::Mutex;
use crate::error::{Error, ErrorKind, Result};

/// Set by the first failure, and kept until the store is reopened.
#[derive(Debug, Default)]
pub(super) struct Latch {
    cause: Mutex<Option<Error>>,
}

impl Latch {
    /// Returns `Latched` if an earlier write failed with an unknown outcome, and `Unsupported` if
    /// the store takes no writes.
    pub(super) fn check(&self) -> Result<()> {
        match &*self.cause.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            // Nothing failed: the store takes no writes at all.
            Some(cause) if cause.kind() == ErrorKind::Unsupported => Err(cause.clone()),
            Some(cause) => Err(Error::new(
                ErrorKind::Latched,
                format!(
                    "writes are refused because an earlier one failed ({}); close and reopen the \
                     store",
                    cause.message()
                ),
            )
            .with_source(cause.clone())),
        }
    }

    /// Why every write is refused, if it is.
    #[cfg_attr(test, allow(dead_code, reason = "the tests of the queue alone have no status"))]
    pub(super) fn cause(&self) -> Option<Error> {
        self.cause.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Refuses every later write. The first cause is kept; returns whether this is the first.
    pub(super) fn set(&self, cause: &Error) -> bool {
        let mut kept = self.cause.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = kept.is_none();
        kept.get_or_insert_with(|| cause.clone());
        is_first
    }
}
