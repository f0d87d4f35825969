//! Which backup of a set is meant.

use std::str::FromStr;

use chrono::{DateTime, Utc};

use super::manifest::Manifest;
use super::sweep::Manifests;
use crate::error::{Error, ErrorKind, Result};
use crate::value::time;

/// The state of a store that is restored from a set.
///
/// As a text it is `latest`, the number of a backup, `sequence:` with the number of a commit, or a
/// time with its zone.
///
/// ```
/// use stationdb::RestorePoint;
///
/// let point: RestorePoint = "sequence:7".parse()?;
/// assert_eq!(point, RestorePoint::Sequence(7));
/// let [here, utc] = ["2026-11-29T23:40:00+01:00", "2026-11-29T22:40:00Z"];
/// assert_eq!(here.parse::<RestorePoint>()?, utc.parse::<RestorePoint>()?);
/// # Ok::<(), stationdb::Error>(())
/// ```
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

impl FromStr for RestorePoint {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "latest" {
            return Ok(Self::Latest);
        }
        if let Ok(backup) = text.parse() {
            return Ok(Self::Backup(backup));
        }
        if let Some(Ok(sequence)) = text.strip_prefix("sequence:").map(str::parse) {
            return Ok(Self::Sequence(sequence));
        }
        let time = DateTime::parse_from_rfc3339(text).map_err(|_| {
            Error::invalid(format!(
                "{text:?} is no point of a backup set; give latest, the number of a backup, \
                 sequence:N, or a time as 2026-11-29T22:40:00Z"
            ))
        })?;
        Ok(Self::Time(time.with_timezone(&Utc)))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_read() {
        let point = |text: &str| text.parse::<RestorePoint>();
        assert_eq!(point("latest").unwrap(), RestorePoint::Latest);
        assert_eq!(point("12").unwrap(), RestorePoint::Backup(12));
        assert_eq!(point("sequence:7").unwrap(), RestorePoint::Sequence(7));
        let time = "2026-11-29T22:40:00Z".parse().unwrap();
        assert_eq!(point("2026-11-29T23:40:00+01:00").unwrap(), RestorePoint::Time(time));
        for wrong in ["", "-1", "yesterday", "sequence:", "2026-11-29", "Latest"] {
            assert_eq!(point(wrong).unwrap_err().kind(), ErrorKind::InvalidArgument, "{wrong}");
        }
    }
}
