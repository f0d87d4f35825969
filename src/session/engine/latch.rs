//! What keeps everybody from writing once a write has left the disk in doubt.

use std::sync::PoisonError;

use super::sync::Mutex;
use crate::error::{Error, ErrorKind, Result};

/// Set once, by the first failure; until the store is opened again.
#[derive(Debug, Default)]
pub(super) struct Latch {
    cause: Mutex<Option<Error>>,
}

impl Latch {
    /// Refuses when an earlier write left the disk in doubt.
    pub(super) fn check(&self) -> Result<()> {
        match &*self.cause.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some(cause) => Err(Error::new(
                ErrorKind::Latched,
                format!(
                    "writes are refused since an earlier one failed ({}); close and reopen the store",
                    cause.message()
                ),
            )
            .with_source(cause.clone())),
        }
    }

    /// Refuses every write from now on. The first cause is kept.
    pub(super) fn set(&self, cause: &Error) {
        self.cause.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| cause.clone());
    }
}
