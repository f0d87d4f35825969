//! The commits after a backup that the archive of a set has without a gap.

use super::layout::{Set, failed};
use super::manifest::Manifest;
use crate::error::{Error, ErrorKind, Result};
use crate::records::archive::{ArchiveReader, DIRECTORY, Head, Item, Span};
use crate::store::format;
use crate::value::Control;

/// The archive of a set.
pub(super) struct Archives {
    /// In the order of journals and commits.
    spans: Vec<Span>,
}

/// Commits that follow a backup without a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chain {
    /// The commit of the backup.
    pub(super) after: u64,
    /// The files, in their order. The first one may begin before the commit of the backup.
    pub(super) spans: Vec<Span>,
}

impl Archives {
    /// The files of a set.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn of(set: &Set) -> Result<Self> {
        Ok(Self { spans: spans(set)?.into_iter().map(|(span, _)| span).collect() })
    }

    /// The commits that follow a backup. None follow one of which it is not known that the store
    /// kept its last commit.
    pub(super) fn after(&self, manifest: &Manifest) -> Chain {
        let mut chain = Chain { after: manifest.sequence, spans: Vec::new() };
        let Some(journal) = manifest.journal.filter(|_| !manifest.is_ahead) else { return chain };
        let mut at = manifest.sequence;
        // In this order, a file that goes on behind another one comes after it.
        for span in self.spans.iter().filter(|span| span.journal == journal) {
            if span.first <= at.saturating_add(1) && span.last > at {
                chain.spans.push(*span);
                at = span.last;
            }
        }
        chain
    }

    pub(super) fn spans(&self) -> &[Span] {
        &self.spans
    }
}

impl Chain {
    /// The last commit, or that of the backup.
    pub(super) fn last(&self) -> u64 {
        self.spans.last().map_or(self.after, |span| span.last)
    }

    /// Calls `f` with the changes and ends of the commits after the backup up to `until`, in order.
    ///
    /// # Errors
    /// `Corrupt` if a file is damaged; `OlderFormat` if another build wrote it; `Io`; the errors of
    /// `f` and of `control`.
    pub(super) fn each(
        &self,
        set: &Set,
        until: u64,
        control: &Control,
        f: &mut dyn FnMut(Item) -> Result<()>,
    ) -> Result<()> {
        let mut at = self.after;
        for span in &self.spans {
            if at >= until {
                return Ok(());
            }
            let mut reader = opened(set, *span)?;
            // The commits up to `at` are in the backup, or in the file before.
            let mut is_after = span.first > at;
            while let Some(items) = reader.next()? {
                control.check()?;
                for item in items {
                    let end = match &item {
                        Item::End { sequence, .. } => Some(*sequence),
                        Item::Change(_) => None,
                    };
                    if is_after {
                        f(item)?;
                        at = end.unwrap_or(at);
                    }
                    is_after |= end == Some(at);
                    if at >= until {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// The last commit at `time_ms` or before; that of the backup if there is none.
    ///
    /// # Errors
    /// As [`Self::each`].
    pub(super) fn at_time(&self, set: &Set, time_ms: i64, control: &Control) -> Result<u64> {
        let mut last = self.after;
        for span in &self.spans {
            let head = opened(set, *span)?.head;
            if head.ended_ms <= time_ms {
                last = span.last;
                continue;
            }
            if head.began_ms <= time_ms {
                self.each(set, span.last, control, &mut |item| {
                    if let Item::End { sequence, time_ms: at } = item
                        && at <= time_ms
                    {
                        last = sequence;
                    }
                    Ok(())
                })?;
            }
            break;
        }
        Ok(last)
    }
}

/// Opens a file with commits, and checks that it is of the store and of this build.
///
/// # Errors
/// `Corrupt`, `OlderFormat`, `Io`.
pub(super) fn opened(set: &Set, span: Span) -> Result<ArchiveReader> {
    let reader = ArchiveReader::open(&*set.disk, span)?;
    let Head { seed, form, .. } = reader.head;
    let path = span.path();
    if seed != set.seed {
        return Err(Error::corrupt(format!("{path} has the commits of another store")));
    }
    if form != format::FINGERPRINT {
        return Err(Error::new(
            ErrorKind::OlderFormat,
            format!(
                "{path} has rows of the stored form {form:016x}, which this build does not read; \
                 use the build that wrote it"
            ),
        ));
    }
    Ok(reader)
}

/// The files with commits that a set has, in order, with their lengths.
///
/// # Errors
/// `Io`.
pub(super) fn spans(set: &Set) -> Result<Vec<(Span, u64)>> {
    let entries = match set.disk.list(DIRECTORY) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        entries => entries.map_err(failed("listing the archive of the set"))?,
    };
    let files = entries.into_iter().filter(|entry| !entry.is_dir);
    let mut spans: Vec<(Span, u64)> =
        files.filter_map(|file| Some((Span::of_name(&file.name)?, file.len))).collect();
    spans.sort_unstable();
    Ok(spans)
}
