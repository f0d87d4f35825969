//! From redb's errors to ours.

use crate::error::{Error, ErrorKind};

/// Turns an error of redb into ours; `attempt` says what was tried.
pub(super) fn from_redb(attempt: &str, error: impl Into<redb::Error>) -> Error {
    let error = error.into();
    let kind = match &error {
        redb::Error::Corrupted(_) | redb::Error::RepairAborted => ErrorKind::Corrupt,
        // Tables are made when the file is, all with one definition.
        redb::Error::TableDoesNotExist(_)
        | redb::Error::TableTypeMismatch { .. }
        | redb::Error::TableIsMultimap(_)
        | redb::Error::TypeDefinitionChanged { .. } => ErrorKind::Corrupt,
        redb::Error::Io(source) if source.kind() == std::io::ErrorKind::StorageFull => ErrorKind::NoSpace,
        redb::Error::Io(source)
            if matches!(source.kind(), std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof) =>
        {
            ErrorKind::Corrupt
        }
        redb::Error::PreviousIo => ErrorKind::Latched,
        redb::Error::DatabaseAlreadyOpen => ErrorKind::Locked,
        redb::Error::TransactionInProgress => ErrorKind::Conflict,
        redb::Error::ValueTooLarge(_) => ErrorKind::LimitExceeded,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("records.redb: cannot {attempt}: {error}")).with_source(error)
}
