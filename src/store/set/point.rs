//! Which backup of a set is meant.

use chrono::{DateTime, Utc};

use super::manifest::Manifest;
use super::sweep::Manifests;
use crate::error::{Error, ErrorKind, Result};
use crate::value::time;

/// The state of a store that is restored from a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RestorePoint {
    /// The last backup.
    #[default]
    Latest,
    /// The backup with this number.
    Backup(u64),
    /// The state after the commit with this sequence number, which a backup must have copied.
    Sequence(u64),
    /// The last backup that was made at this time or before.
    Time(DateTime<Utc>),
}

impl RestorePoint {
    /// The manifest of the backup.
    ///
    /// # Errors
    /// `NotFound`, with the nearest points, if there is none; `Corrupt` if its manifest cannot be
    /// read, or if it is unknown whether a manifest that cannot be read is meant.
    pub(super) fn find(self, manifests: &Manifests) -> Result<&Manifest> {
        let readable = &manifests.readable;
        let found = match self {
            Self::Latest => readable.last(),
            Self::Backup(backup) => readable.iter().find(|manifest| manifest.backup == backup),
            Self::Sequence(at) => readable.iter().rfind(|manifest| manifest.sequence == at),
            Self::Time(at) => readable.iter().rfind(|manifest| manifest.taken <= at),
        };
        // An unreadable manifest may be the one: nothing else is restored in its place.
        let hidden = manifests.unreadable.iter().find(|(backup, _)| match self {
            Self::Backup(wanted) => *backup == wanted,
            Self::Latest | Self::Time(_) => found.is_none_or(|found| found.backup < *backup),
            Self::Sequence(_) => found.is_none(),
        });
        if let Some((backup, error)) = hidden {
            let before = readable.iter().rfind(|manifest| manifest.backup < *backup);
            let before = before.map_or_else(
                || "no earlier one can be".to_owned(),
                |before| format!("the last before it that can be is {}", described(before)),
            );
            return Err(Error::new(
                error.kind(),
                format!(
                    "the backup {backup} may be meant and cannot be read ({}); {before}; name a \
                     backup by its number",
                    error.message()
                ),
            ));
        }
        found.ok_or_else(|| self.unreachable(readable))
    }

    fn unreachable(self, readable: &[Manifest]) -> Error {
        let (what, before, after) = match self {
            Self::Latest => ("has no backup".to_owned(), None, None),
            Self::Backup(at) => (
                format!("has no backup {at}"),
                readable.iter().rfind(|manifest| manifest.backup < at),
                readable.iter().find(|manifest| manifest.backup > at),
            ),
            Self::Sequence(at) => (
                format!("has no backup of the commit {at}"),
                readable.iter().rfind(|manifest| manifest.sequence < at),
                readable.iter().find(|manifest| manifest.sequence > at),
            ),
            Self::Time(at) => (
                format!("has no backup from {} or before", time::format(at)),
                None,
                readable.first(),
            ),
        };
        let mut message = format!("the set {what}");
        for (word, near) in [("before", before), ("after", after)] {
            if let Some(near) = near {
                message.push_str(&format!("; the nearest {word} it is {}", described(near)));
            }
        }
        Error::new(ErrorKind::NotFound, message)
    }
}

fn described(manifest: &Manifest) -> String {
    format!(
        "the backup {} from {} of the commit {}",
        manifest.backup,
        time::format(manifest.taken),
        manifest.sequence
    )
}
