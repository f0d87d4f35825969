//! The error of the record engine.

use super::file::page_sums::refusal;
use crate::error::{Error, ErrorKind};

/// An error of redb.
#[derive(Debug, thiserror::Error)]
#[error("records.redb: cannot {attempt}: {source}")]
pub(super) struct RecordsError {
    attempt: String,
    source: redb::Error,
}

impl RecordsError {
    fn kind(&self) -> ErrorKind {
        use std::io::ErrorKind as Io;
        match &self.source {
            redb::Error::Corrupted(_) | redb::Error::RepairAborted => ErrorKind::Corrupt,
            // All tables are created with the file and with one definition, so a mismatch is
            // damage.
            redb::Error::TableDoesNotExist(_)
            | redb::Error::TableTypeMismatch { .. }
            | redb::Error::TableIsMultimap(_)
            | redb::Error::TypeDefinitionChanged { .. } => ErrorKind::Corrupt,
            redb::Error::Io(error) if error.kind() == Io::StorageFull => ErrorKind::NoSpace,
            redb::Error::Io(error)
                if matches!(error.kind(), Io::InvalidData | Io::UnexpectedEof) =>
            {
                ErrorKind::Corrupt
            }
            redb::Error::PreviousIo => ErrorKind::Latched,
            redb::Error::DatabaseAlreadyOpen => ErrorKind::Locked,
            redb::Error::TransactionInProgress => ErrorKind::Conflict,
            redb::Error::ValueTooLarge(_) => ErrorKind::LimitExceeded,
            _ => ErrorKind::Io,
        }
    }

    fn into_error(self) -> Error {
        if let redb::Error::Corrupted(text) = &self.source
            && let Some(place) = refusal::told(text)
        {
            let attempt = &self.attempt;
            let text = format!(
                "records.redb: cannot {attempt}: the page at {place} is damaged; restore a backup, \
                 or salvage the store"
            );
            return Error::corrupt(text).with_source(self.source);
        }
        let text = match self.kind() {
            ErrorKind::Corrupt => format!("{self}; restore a backup, or salvage the store"),
            _ => self.to_string(),
        };
        Error::new(self.kind(), text).with_source(self.source)
    }
}

/// Converts an error of redb into the public error; `attempt` says what was attempted.
pub(super) fn from_redb(attempt: &str, error: impl Into<redb::Error>) -> Error {
    RecordsError { attempt: attempt.to_owned(), source: error.into() }.into_error()
}
