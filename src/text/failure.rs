//! From the engine's errors and panics to ours.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tantivy::TantivyError;

use crate::error::{Error, ErrorKind, Result};

/// An error of the engine.
pub fn failed(error: TantivyError) -> Error {
    let kind = match &error {
        // A thread of it ends with a panic, as calls of it do, on damaged bytes.
        TantivyError::DataCorruption(_) | TantivyError::IncompatibleIndex(_) | TantivyError::ErrorInThread(_) => {
            ErrorKind::Corrupt
        }
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("the text index failed: {error}")).with_source(error)
}

/// Runs the engine on files that may be damaged: a panic of it becomes `Corrupt`.
pub fn guarded<T>(what: &str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|_| Err(Error::corrupt(format!("the text index is damaged: {what} could not be carried out"))))
}
