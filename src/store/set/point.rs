//! Which backup of a set is meant, or which commit after it.

use std::str::FromStr;

use chrono::{DateTime, Utc};

use super::chain::{Archives, Chain};
use super::layout::Set;
use super::manifest::Manifest;
use super::sweep::Manifests;
use crate::error::{Error, ErrorKind, Result};
use crate::records::archive::Item;
use crate::value::{Control, time};

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
    /// The last backup, and the commits after it that the archive of the set has.
    #[default]
    Latest,
    /// The backup with this number.
    Backup(u64),
    /// The state after the commit with this sequence number: a backup copied it, or the archive of
    /// the set has it and all commits since a backup before it.
    Sequence(u64),
    /// The last backup that was made at this time or before, and the commits after it up to this
    /// time that the archive of the set has. The time of a commit is that of the store, which never
    /// goes back.
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

/// What is restored: a backup, and how much of the commits after it.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) manifest: Manifest,
    pub(super) chain: Chain,
    /// The last commit.
    pub(super) until: u64,
}

impl Target {
    fn backup(manifest: &Manifest) -> Self {
        let (manifest, until) = (manifest.clone(), manifest.sequence);
        let chain = Chain { after: until, spans: Vec::new() };
        Self { manifest, chain, until }
    }
}

impl RestorePoint {
    /// The backup, and the commits after it up to the point. All commits of the archive that are
    /// needed were read then, and are intact.
    ///
    /// # Errors
    /// `NotFound`, with the nearest points, if there is none; `Corrupt` if the manifest of the
    /// backup cannot be read, if it is unknown whether a manifest that cannot be read is meant, or
    /// if a commit before the point is damaged; `OlderFormat`, `Io`; the errors of `control`.
    pub(super) fn find(self, set: &Set, control: &Control) -> Result<Target> {
        let manifests = Manifests::of(set)?;
        let archives = Archives::of(set)?;
        let readable = &manifests.readable;
        let found = match self {
            Self::Latest => readable.last(),
            Self::Backup(backup) => readable.iter().find(|manifest| manifest.backup == backup),
            Self::Sequence(at) => readable.iter().rfind(|manifest| manifest.sequence == at),
            Self::Time(at) => readable.iter().rfind(|manifest| manifest.taken <= at),
        };
        let reaches = |manifest: &&Manifest| match self {
            Self::Sequence(at) => manifest.sequence < at && archives.after(manifest).last() >= at,
            _ => false,
        };
        let base = found.or_else(|| readable.iter().rfind(reaches));
        self.refuse_hidden(&manifests, base)?;
        let manifest = base.ok_or_else(|| self.unreachable(readable, &archives))?;
        let chain = archives.after(manifest);
        let until = match self {
            Self::Backup(_) => manifest.sequence,
            Self::Latest => chain.last(),
            Self::Sequence(at) => at,
            Self::Time(at) => {
                let found = chain.at_time(set, at.timestamp_millis(), control);
                found.map_err(|error| not_whole(error, &chain, set, readable, control))?
            }
        };
        if until == manifest.sequence {
            return Ok(Target::backup(manifest));
        }
        let read = chain.each(set, until, control, &mut |_| Ok(()));
        read.map_err(|error| not_whole(error, &chain, set, readable, control))?;
        Ok(Target { manifest: manifest.clone(), chain, until })
    }

    /// An unreadable manifest may be the one: nothing else is restored in its place.
    fn refuse_hidden(self, manifests: &Manifests, found: Option<&Manifest>) -> Result<()> {
        let hidden = manifests.unreadable.iter().find(|(backup, _)| match self {
            Self::Backup(wanted) => *backup == wanted,
            Self::Latest | Self::Time(_) => found.is_none_or(|found| found.backup < *backup),
            Self::Sequence(_) => found.is_none(),
        });
        let Some((backup, error)) = hidden else { return Ok(()) };
        let before = manifests.readable.iter().rfind(|manifest| manifest.backup < *backup);
        let before = before.map_or_else(
            || "no earlier one can be".to_owned(),
            |before| format!("the last before it that can be is {}", described(before)),
        );
        Err(Error::new(
            error.kind(),
            format!(
                "the backup {backup} may be meant and cannot be read ({}); {before}; name a backup \
                 by its number",
                error.message()
            ),
        ))
    }

    fn unreachable(self, readable: &[Manifest], archives: &Archives) -> Error {
        let (what, before, after) = match self {
            Self::Latest => ("has no backup".to_owned(), None, None),
            Self::Backup(at) => (
                format!("has no backup {at}"),
                readable.iter().rfind(|manifest| manifest.backup < at).map(described),
                readable.iter().find(|manifest| manifest.backup > at).map(described),
            ),
            Self::Sequence(at) => (
                format!("has neither a backup of the commit {at} nor all commits up to it"),
                nearest_before(at, readable, archives),
                readable
                    .iter()
                    .filter(|manifest| manifest.sequence > at)
                    .min_by_key(|manifest| manifest.sequence)
                    .map(described),
            ),
            Self::Time(at) => (
                format!("has no backup from {} or before", time::format(at)),
                None,
                readable.first().map(described),
            ),
        };
        let mut message = format!("the set {what}");
        for (word, near) in [("before", before), ("after", after)] {
            if let Some(near) = near {
                message.push_str(&format!("; the nearest {word} it is {near}"));
            }
        }
        Error::new(ErrorKind::NotFound, message)
    }
}

/// The last point before a commit, in words.
fn nearest_before(at: u64, readable: &[Manifest], archives: &Archives) -> Option<String> {
    let before = readable.iter().filter(|manifest| manifest.sequence < at);
    let last = |manifest: &&Manifest| archives.after(manifest).last();
    let nearest = before.max_by_key(|manifest| (last(manifest), manifest.sequence))?;
    let last = last(&nearest);
    let backup = described(nearest);
    let is_backup = last == nearest.sequence;
    Some(if is_backup { backup } else { format!("the commit {last}, which follows {backup}") })
}

/// The error of commits that cannot be read, with the nearest points.
fn not_whole(
    error: Error,
    chain: &Chain,
    set: &Set,
    readable: &[Manifest],
    control: &Control,
) -> Error {
    if !error.is_damage() {
        return error;
    }
    let mut intact = chain.after;
    let read = chain.each(set, chain.last(), control, &mut |item| {
        if let Item::End { sequence, .. } = item {
            intact = sequence;
        }
        Ok(())
    });
    if !read.is_err_and(|error| error.is_damage()) {
        return error;
    }
    let after = readable.iter().filter(|manifest| manifest.sequence > intact);
    let after = after.min_by_key(|manifest| manifest.sequence);
    let after = after.map_or_else(String::new, |after| {
        format!("; the nearest point after the damage is {}", described(after))
    });
    error.followed_by(format_args!(
        "; the nearest point before it is sequence:{intact}{after}; a backup is named by its number"
    ))
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
