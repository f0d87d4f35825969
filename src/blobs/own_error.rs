//! Errors of a caller's source or target.

use std::io;

use crate::error::Error;

/// An error of ours that a reader or writer wrapped, or the I/O error itself.
pub(super) fn own_error(attempt: &str, error: io::Error) -> Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(own) => own.clone(),
        None => Error::io(attempt, error),
    }
}
