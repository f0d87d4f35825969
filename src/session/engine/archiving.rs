//! The archive of commits: what the journal had, kept in the store within a bound of bytes, so that
//! a set can get every commit between two backups.
//!
//! What must hold:
//! - The commits of a pass are in the archive, durably, before a checkpoint moves them: the file of
//!   the pass may be written again from then on.
//! - No file that a commit of the archive names is removed while the archive has that commit.
//! - The commits that are given up are given up durably before a file is removed for that.
//! - A failure of the archive is a gap that is told. It fails no write, and sets no latch.

use std::collections::HashSet;

use super::archive::{ArchiveState, Keep, Kept, State};
use super::{Engine, STATE_KEY, read_state};
use crate::disk::{Mode, remove_if_there};
use crate::error::{Error, ErrorKind, Result};
use crate::records::archive::{ArchiveWriter, DIRECTORY, NEW, Span};
use crate::records::{Change, PassPart, Space};
use crate::session::lock::lock;
use crate::value::{guarded, limits, trace};

/// What the archive leaves free on the disk beside the reserve.
const SPARE_BYTES: u64 = 4 * limits::BATCH_BYTES as u64;

impl Engine {
    /// Takes up the archive that the store keeps, before the first commit.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn open_archive(&self, kept: Kept, keep: Keep) -> Result<()> {
        let attempt = |error| Error::io("opening the archive of commits", error);
        remove_if_there(&*self.disk, NEW).map_err(attempt)?;
        let journal = lock(&self.journal).id();
        let mut files = Vec::new();
        for entry in self.disk.list(DIRECTORY).map_err(attempt)? {
            match Span::of_name(&entry.name) {
                // What another journal had belongs to no commit to come.
                Some(span) if span.journal != journal || kept.bound == 0 => {
                    self.disk.remove_file(&span.path()).map_err(attempt)?;
                }
                Some(span) => files.push((span, entry.len)),
                None => {}
            }
        }
        files.sort_unstable();
        let mut state = lock(&self.archive.0);
        let last = files.last().map_or(0, |(span, _)| span.last);
        state.end = last.max(kept.after);
        state.files = files.into();
        if kept.bound == 0 {
            state.forgotten.clear();
        }
        state.bound = kept.bound;
        state.form = kept.form;
        state.keep = Some(keep);
        Ok(())
    }

    /// Returns the error of a store that takes no writes.
    ///
    /// # Errors
    /// `Latched`, `Unsupported`; `Locked` in a forked process.
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_place()?;
        self.turns.latch.check()
    }

    /// Runs `f` while no checkpoint ends, so that the archive stays as it is.
    pub(crate) fn without_checkpoints<T>(&self, f: impl FnOnce() -> Result<T>) -> Result<T> {
        let _moving = self.checkpoints.hold();
        f()
    }

    /// What the archive has.
    pub(crate) fn archive_state(&self) -> ArchiveState {
        let state = lock(&self.archive.0);
        ArchiveState {
            bound: state.bound,
            spans: state.files.iter().map(|(span, _)| *span).collect(),
            file_bytes: state.file_bytes(),
            held_bytes: state.held_bytes(),
            problem: state.problem.clone(),
        }
    }

    /// Whether the archive is on.
    pub(crate) fn has_archive(&self) -> bool {
        lock(&self.archive.0).bound > 0
    }

    /// The id of the journal.
    pub(crate) fn journal_id(&self) -> u64 {
        lock(&self.journal).id()
    }

    /// Archives every commit that was acknowledged. Checkpoints wait meanwhile.
    ///
    /// # Errors
    /// `Corrupt` if the journal is damaged, `Io`, `NoSpace`.
    pub(crate) fn archive_all(&self) -> Result<()> {
        if !self.has_archive() {
            return Ok(());
        }
        self.check_place()?;
        let _moving = self.checkpoints.hold();
        let is_moving = self.snapshot().frozen().is_some();
        let parts = lock(&self.journal).passes(is_moving);
        let done = guarded("archiving commits", || self.archive_parts(&parts));
        self.note_archived(&done);
        done
    }

    /// Archives the commits of the pass whose file is about to be free. Only the holder of the lock
    /// `moving` may call it, while that pass is not moved.
    pub(super) fn archive_moving(&self) {
        if !self.has_archive() {
            return;
        }
        // The newest pass goes on.
        let mut parts = lock(&self.journal).passes(true);
        parts.pop();
        let done = guarded("archiving commits", || self.archive_parts(&parts));
        self.note_archived(&done);
    }

    fn note_archived(&self, done: &Result<()>) {
        if let Err(error) = done {
            trace::background_error("archiving commits, of which a set will lack some", error);
            // Of a full disk it gives back what it has.
            if error.kind() == ErrorKind::NoSpace {
                let mut state = lock(&self.archive.0);
                self.trim_archive(&mut state, 0, None);
            }
        }
        lock(&self.archive.0).problem = done.as_ref().err().map(|error| error.message().to_owned());
    }

    fn archive_parts(&self, parts: &[PassPart]) -> Result<()> {
        let (mut at, form) = {
            let state = lock(&self.archive.0);
            (state.end, state.form)
        };
        let journal = self.journal_id();
        let mut writer: Option<ArchiveWriter> = None;
        for part in parts {
            part.each_record(&self.disk, at, &mut |_, after, changes| {
                for commit in commits(changes, after)? {
                    if commit.sequence <= at {
                        continue;
                    }
                    if commit.sequence != at.saturating_add(1) {
                        self.finish_archived(writer.take())?;
                    }
                    let file = match &mut writer {
                        Some(file) => file,
                        none => {
                            none.insert(ArchiveWriter::begin(&self.disk, self.seed, form, journal)?)
                        }
                    };
                    commit.changes.iter().try_for_each(|change| file.add(change))?;
                    file.end(commit.sequence, commit.time_ms)?;
                    at = commit.sequence;
                }
                Ok(())
            })?;
        }
        self.finish_archived(writer)?;
        let mut state = lock(&self.archive.0);
        let allowed = self.archive_bytes_allowed(&state);
        self.trim_archive(&mut state, allowed, None);
        Ok(())
    }

    /// Gives a file its name, and counts it.
    fn finish_archived(&self, writer: Option<ArchiveWriter>) -> Result<()> {
        let Some(writer) = writer else { return Ok(()) };
        if let Some((span, bytes)) = writer.finish()? {
            let mut state = lock(&self.archive.0);
            state.files.push_back((span, bytes));
            state.end = span.last;
        }
        Ok(())
    }

    /// The bytes that the archive may have: the bound, or what the disk can spare.
    fn archive_bytes_allowed(&self, state: &State) -> u64 {
        let used = state.file_bytes().saturating_add(state.held_bytes());
        match self.disk.free_bytes() {
            Ok(Some(free)) => {
                let spare = self.settings.reserve_bytes.saturating_add(SPARE_BYTES);
                state.bound.min(used.saturating_add(free).saturating_sub(spare))
            }
            _ => state.bound,
        }
    }

    /// Gives up the oldest commits until the archive has at most `allowed` bytes; and, when that is
    /// not enough, all up to `newest`.
    fn trim_archive(&self, state: &mut State, allowed: u64, newest: Option<u64>) {
        let mut is_changed = false;
        while state.file_bytes().saturating_add(state.held_bytes()) > allowed {
            if let Some((span, _)) = state.files.pop_front() {
                // What cannot be removed now is in no list, and the next opening finds it.
                let _ = self.disk.remove_file(&span.path());
                is_changed = true;
                continue;
            }
            let Some(newest) = newest.filter(|newest| *newest > state.end) else { break };
            state.end = newest;
            if let Some(keep) = state.keep {
                let kept = keep(&self.disk, state.bound, newest);
                state.problem = kept.err().map(|error| error.message().to_owned());
            }
        }
        if is_changed && let Err(error) = self.disk.sync_dir(DIRECTORY) {
            state.problem = Some(format!("syncing the archive of commits: {error}"));
        }
    }

    /// Which of these files, which no record of the commit `sequence` names, have to stay: a commit
    /// of the archive names them.
    pub(crate) fn archived_files(&self, paths: &[Vec<u8>], sequence: u64) -> HashSet<Vec<u8>> {
        let mut state = lock(&self.archive.0);
        if state.bound == 0 {
            return HashSet::new();
        }
        let mut before = std::mem::take(&mut state.forgotten);
        for path in paths {
            let known = before.remove(path).unwrap_or_else(|| (sequence, self.len_of(path)));
            state.forgotten.insert(path.clone(), known);
        }
        let allowed = self.archive_bytes_allowed(&state);
        self.trim_archive(&mut state, allowed, Some(sequence));
        let hold = state.hold();
        let held = state.forgotten.iter().filter(|(_, (at, _))| *at > hold);
        held.map(|(path, _)| path.clone()).collect()
    }

    fn len_of(&self, path: &[u8]) -> u64 {
        let Ok(path) = std::str::from_utf8(path) else { return 0 };
        let file = self.disk.open(path, Mode::Read);
        file.and_then(|file| file.len()).unwrap_or_default()
    }
}

/// A commit of a record.
struct Commit {
    sequence: u64,
    time_ms: i64,
    changes: Vec<Change>,
}

/// The commits of a record, whose last one is `after`: each ends with its state row.
fn commits(changes: Vec<Change>, after: u64) -> Result<Vec<Commit>> {
    let mut commits: Vec<Commit> = Vec::new();
    let mut open = Vec::new();
    for change in changes {
        let state = match &change {
            Change::Put { space: Space::Meta, key, value } if key == STATE_KEY => {
                Some(read_state(value)?)
            }
            _ => None,
        };
        open.push(change);
        if let Some((sequence, time_ms)) = state {
            commits.push(Commit { sequence, time_ms, changes: std::mem::take(&mut open) });
        }
    }
    if !open.is_empty() || commits.last().map(|commit| commit.sequence) != Some(after) {
        return Err(Error::corrupt(format!(
            "the record of the commit {after} does not end with its state"
        )));
    }
    Ok(commits)
}
