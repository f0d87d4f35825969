//! The rows of subscribers: their keys, and what is stored of each.

use super::position::Position;
use super::sync_point::SyncPoint;
use crate::error::Result;
use crate::records::envelope;
use crate::value::wire::record;

/// Prefix of the key of a subscriber. The name follows. If the subscriber has an owner, [`OWNED`],
/// the owner and [`OWNED`] again come before the name.
pub(crate) const SUBSCRIBER: &[u8] = b"subscriber ";
/// A byte that no UTF-8 text contains, so that the key of an owned subscriber never equals a name
/// without owner.
const OWNED: u8 = 0xff;

record! {
    /// The stored value of a subscriber.
    pub struct SubscriberRow {
        /// Sequence of the last commit that was handled; in a full pass, the commit at which it
        /// began.
        pub position: u64,
        /// Milliseconds for which it holds the change log; `None` for those of the settings.
        pub hold_ms: Option<u64>,
        /// Bytes of the change log that it holds; `None` for those of the settings.
        pub hold_bytes: Option<u64>,
        /// In a full pass, the key of the last record that was handled; empty before the first.
        pub pass_after: Option<Vec<u8>>,
    }
}

impl SubscriberRow {
    /// The row of a subscriber with the bounds of the settings.
    pub(crate) fn at(position: Position) -> Self {
        Self { position: position.0, ..Self::default() }
    }

    pub(crate) fn position(&self) -> Position {
        Position(self.position)
    }

    pub(crate) fn point(&self) -> SyncPoint {
        SyncPoint { position: self.position(), pass_after: self.pass_after.clone() }
    }

    /// The same row at another point.
    #[must_use]
    pub(crate) fn moved(self, point: SyncPoint) -> Self {
        Self { position: point.position.0, pass_after: point.pass_after, ..self }
    }

    /// Encodes the row under its key.
    ///
    /// # Errors
    /// As [`envelope::to_row`].
    pub(crate) fn sealed(&self, key: &[u8]) -> Result<Vec<u8>> {
        envelope::to_row(key, self)
    }

    /// Reads the row of a subscriber.
    ///
    /// # Errors
    /// `Corrupt` when the row is damaged.
    pub(crate) fn open(key: &[u8], row: &[u8]) -> Result<Self> {
        envelope::from_row(key, row)
    }
}

pub(crate) fn key_of(owner: Option<&str>, name: &str) -> Vec<u8> {
    match owner {
        None => [SUBSCRIBER, name.as_bytes()].concat(),
        Some(owner) => [SUBSCRIBER, &[OWNED], owner.as_bytes(), &[OWNED], name.as_bytes()].concat(),
    }
}

/// The owner and name in a key.
pub(crate) fn parts_of(key: &[u8]) -> (Option<String>, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let rest = key.get(SUBSCRIBER.len()..).unwrap_or_default();
    let owned = rest.strip_prefix(&[OWNED]).and_then(|owned| {
        let end = owned.iter().position(|byte| *byte == OWNED)?;
        Some((owned.get(..end)?, owned.get(end + 1..)?))
    });
    match owned {
        Some((owner, name)) => (Some(text(owner)), text(name)),
        None => (None, text(rest)),
    }
}
