//! Errors of a source or target that the caller supplies.

use std::io;

use crate::error::Error;

/// Returns the crate's own error if the I/O error wraps one, or else the I/O error.
pub(super) fn own_error(attempt: &str, error: io::Error) -> Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(own) => own.clone(),
        None => Error::io(attempt, error),
    }
}
