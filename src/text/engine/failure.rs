//! Errors of the search engine, and the guard that turns its panics into errors.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tantivy::TantivyError;

use crate::error::{Error, ErrorKind, Result};

#[derive(Debug, thiserror::Error)]
enum SearchError {
    #[error("the text index failed: {0}")]
    Engine(TantivyError),
    #[error("the text index is damaged: internal error in the search engine while {0}")]
    Panicked(String),
}

impl SearchError {
    fn kind(&self) -> ErrorKind {
        match self {
            // On damaged bytes, calls of tantivy panic, and so do its threads.
            Self::Engine(
                TantivyError::DataCorruption(_)
                | TantivyError::IncompatibleIndex(_)
                | TantivyError::ErrorInThread(_),
            )
            | Self::Panicked(_) => ErrorKind::Corrupt,
            Self::Engine(_) => ErrorKind::Io,
        }
    }

    fn into_error(self) -> Error {
        let public = Error::new(self.kind(), self.to_string());
        match self {
            Self::Engine(source) => public.with_source(source),
            Self::Panicked(_) => public,
        }
    }
}

/// Converts an error of tantivy into the public error.
pub(crate) fn failed(error: TantivyError) -> Error {
    SearchError::Engine(error).into_error()
}

/// Runs tantivy on files that may be damaged: a panic becomes a `Corrupt` error.
pub(crate) fn guarded<T>(what: &str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|_| Err(SearchError::Panicked(what.to_owned()).into_error()))
}
