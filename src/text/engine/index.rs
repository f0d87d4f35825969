//! The text index: opening, applying changes, searching, checkpoints.
//!
//! Changes are applied in the order of the change log and are visible at once. Small batches are
//! evaluated in memory ([`Overlay`]) until the next commit; large ones are committed.
//!
//! A writer that failed is dropped, and the index continues from its last commit. The caller sees
//! the lower [`Index::sequence`] and applies the changes again. `rollback` of the engine is never
//! called.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use tantivy::TantivyError;

use super::failure::{failed, guarded};
use super::merge;
use super::place::IndexDirectory;
use super::state::IndexState;
use super::view::View;
use crate::disk::SharedDisk;
use crate::error::{Error, ErrorKind, Result};
use crate::text::checkpoint::{Checkpoint, FileEntry};
use crate::text::document::{Change, Shape};
use crate::text::overlay::{Chunk, Overlay};
use crate::value::limits::SEARCH_OVERLAY_CHANGES;

/// How an index was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OpenOutcome {
    /// From the checkpoint.
    Resumed,
    /// Empty, since there was no checkpoint or the files do not match it; the text is the reason.
    Anew(String),
}

/// The text index of one store.
pub(crate) struct Index {
    place: IndexDirectory,
    shape: Arc<Shape>,
    state: Mutex<IndexState>,
    published: RwLock<View>,
    walks: Mutex<Walks>,
    /// Number of times that the index was discarded and started again since it was opened.
    beginnings: AtomicU64,
}

/// The views of page walks, oldest first. All pages of a walk use the view of its first page.
struct Walks {
    next: u64,
    views: VecDeque<(u64, View)>,
}

/// Number of walks whose view is kept. An older walk continues in the newest state, where scores
/// may differ.
const WALKS: usize = 16;

impl Index {
    /// Opens the index in the directory `path` of `disk` from `checkpoint`, or creates an empty one
    /// if anything does not match.
    ///
    /// With `with_contents`, the checksum of every file is compared; otherwise only its length.
    ///
    /// # Errors
    /// Only if an empty index cannot be created either.
    pub(crate) fn open(
        disk: &SharedDisk,
        path: &str,
        shape: Arc<Shape>,
        store_id: &str,
        checkpoint: Option<&Checkpoint>,
        with_contents: bool,
    ) -> Result<(Self, OpenOutcome)> {
        let place = IndexDirectory {
            disk: Arc::clone(disk),
            path: path.to_owned(),
            store_id: store_id.to_owned(),
            fingerprint: shape.fingerprint(),
        };
        let resumed = match checkpoint {
            None => Err(Error::corrupt("no checkpoint is recorded")),
            Some(checkpoint) => {
                guarded("opening", || place.resume(checkpoint, with_contents, &shape))
            }
        };
        let (state, opened) = match resumed {
            Ok(state) => (state, OpenOutcome::Resumed),
            Err(reason) => (place.anew(&shape)?, OpenOutcome::Anew(reason.to_string())),
        };
        let view = state.view(&shape);
        // Walk numbers start at a random number, so that a token from an earlier opening finds no
        // view of this one.
        let mut first = [0; 8];
        getrandom::fill(&mut first).map_err(|error| {
            Error::new(
                ErrorKind::Io,
                format!("drawing a random walk number for the text index: {error}"),
            )
        })?;
        let walks = Walks { next: u64::from_be_bytes(first), views: VecDeque::new() };
        let published = RwLock::new(view);
        let (state, walks) = (Mutex::new(state), Mutex::new(walks));
        Ok((Self { place, shape, state, published, walks, beginnings: AtomicU64::new(0) }, opened))
    }

    /// See [`super::directory::StoreDirectory::forget_blocks`].
    #[cfg(test)]
    pub(crate) fn forget_blocks(&self) {
        self.state().directory.forget_blocks();
    }

    /// Keeps a view for the next pages of a walk; returns the number of the walk.
    pub(crate) fn begin_walk(&self, view: &View) -> u64 {
        let mut walks = self.walks.lock().unwrap_or_else(PoisonError::into_inner);
        walks.next = walks.next.wrapping_add(1);
        let number = walks.next;
        if walks.views.len() == WALKS {
            walks.views.pop_front();
        }
        walks.views.push_back((number, view.clone()));
        number
    }

    /// The view of a walk, while it is kept.
    pub(crate) fn walk(&self, number: u64) -> Option<View> {
        let walks = self.walks.lock().unwrap_or_else(PoisonError::into_inner);
        walks.views.iter().find(|(known, _)| *known == number).map(|(_, view)| view.clone())
    }

    fn state(&self) -> MutexGuard<'_, IndexState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, state: &IndexState) {
        *self.published.write().unwrap_or_else(PoisonError::into_inner) = state.view(&self.shape);
    }

    /// The published view, which searches use.
    pub(crate) fn view(&self) -> View {
        self.published.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The shape of the documents.
    pub(crate) fn shape(&self) -> &Arc<Shape> {
        &self.shape
    }

    /// The sequence up to which changes were applied.
    pub(crate) fn sequence(&self) -> u64 {
        self.state().applied
    }

    /// Number of changes that are lost, and must be applied again, if the store is reopened without
    /// another checkpoint.
    pub(crate) fn unsaved_changes(&self) -> u64 {
        let state = self.state();
        state.unsaved_changes + state.uncommitted_changes
    }

    /// Applies the changes from [`Index::sequence`] up to `sequence`. Views taken afterwards show
    /// them.
    ///
    /// # Errors
    /// If the writer fails: the index is then at its last commit, see [`Index::sequence`].
    pub(crate) fn apply(&self, changes: &[Change], sequence: u64) -> Result<()> {
        self.feed(changes, sequence, changes.len() <= SEARCH_OVERLAY_CHANGES)
    }

    /// Applies changes that become visible with [`Index::commit`]; for long runs of changes.
    ///
    /// # Errors
    /// As [`Index::apply`].
    pub(crate) fn load(&self, changes: &[Change], sequence: u64) -> Result<()> {
        let mut state = self.state();
        state.is_loading = true;
        let outcome = guarded("writing", || state.write(changes, sequence));
        self.recover(&mut state, outcome)
    }

    fn feed(&self, changes: &[Change], sequence: u64, is_small: bool) -> Result<()> {
        let mut state = self.state();
        let outcome = guarded("writing", || {
            state.write(changes, sequence)?;
            // The changes of an interrupted load are not in the overlay, so only a commit shows
            // them.
            if changes.is_empty() && !state.is_loading {
                return Ok(());
            }
            let fits = state.overlay.len() + changes.len() <= SEARCH_OVERLAY_CHANGES;
            if is_small && fits && !state.is_loading {
                state.overlay.push(Chunk::new(changes, self.shape.folding));
                return Ok(());
            }
            state.commit(|applied| self.place.payload(applied))
        });
        self.recover(&mut state, outcome)?;
        self.publish(&state);
        Ok(())
    }

    /// Commits the changes that are in memory.
    ///
    /// # Errors
    /// As [`Index::apply`].
    pub(crate) fn commit(&self) -> Result<()> {
        let mut state = self.state();
        if state.uncommitted_changes > 0 {
            self.commit_state(&mut state)?;
            self.publish(&state);
        }
        Ok(())
    }

    fn commit_state(&self, state: &mut IndexState) -> Result<()> {
        let outcome = guarded("committing", || state.commit(|applied| self.place.payload(applied)));
        self.recover(state, outcome)
    }

    /// After an error of the writer: drops it and continues from the last commit of the engine.
    /// That commit is read from the engine, since an error may come after the commit took effect.
    fn recover(&self, state: &mut IndexState, outcome: Result<()>) -> Result<()> {
        if outcome.is_ok() {
            return outcome;
        }
        state.writer = None;
        let resumed = guarded("returning to the last commit", || {
            let metas = state.engine.load_metas().map_err(failed)?;
            state.reader.reload().map_err(failed)?;
            let sequence = metas
                .payload
                .as_deref()
                .and_then(|payload| payload.rsplit(' ').next()?.parse().ok());
            Ok(sequence.unwrap_or(0))
        });
        match resumed {
            Ok(sequence) => {
                state.overlay = Overlay::default();
                state.committed = sequence;
                state.applied = sequence;
                state.unsaved_changes += state.uncommitted_changes;
                state.uncommitted_changes = 0;
                state.is_loading = false;
            }
            Err(_) => {
                // Creating an empty index may fail too. The state must then claim nothing, so that
                // the next attempt does not continue from here.
                state.disown();
                self.publish(state);
                *state = self.place.anew(&self.shape)?;
            }
        }
        self.publish(state);
        outcome
    }

    /// Commits, and makes the index durable. The checkpoint is valid once the caller has recorded
    /// it durably; the caller then calls [`Index::recorded`]. Returns `None` if the last checkpoint
    /// is still valid, unless `is_forced`, which advances its sequence.
    ///
    /// # Errors
    /// If the disk fails; the index continues without the checkpoint.
    pub(crate) fn checkpoint(&self, is_forced: bool) -> Result<Option<Checkpoint>> {
        self.commit()?;
        let mut state = self.state();
        if is_forced && state.committed != state.applied {
            self.commit_state(&mut state)?;
        }
        // Sequence 0 means an incomplete index, from which the next opening must not continue.
        if state.unsaved_changes == 0 || state.committed == 0 {
            return Ok(None);
        }
        let sequence = state.committed;
        let generation = state.generation + 1;
        let name = format!("meta-{generation}.json");
        let attempt = |error| {
            Error::io(format!("making the text index durable in {}", self.place.path), error)
        };
        let (meta, files) = state.directory.pin().map_err(attempt)?;
        // A generation is not used twice, even if this attempt fails.
        state.generation = generation;
        if let Err(error) = state.directory.sync(&files, &name, &meta) {
            state.directory.unpin();
            return Err(attempt(error));
        }
        let entry = FileEntry { name, len: meta.len() as u64, crc: crc32fast::hash(&meta) };
        state.saving_changes = state.unsaved_changes;
        Ok(Some(Checkpoint {
            generation,
            sequence,
            store_id: self.place.store_id.clone(),
            fingerprint: self.place.fingerprint,
            meta: entry,
            files,
        }))
    }

    /// Confirms that `checkpoint` is recorded durably: files that only earlier checkpoints name may
    /// be removed.
    pub(crate) fn recorded(&self, checkpoint: &Checkpoint) {
        let mut state = self.state();
        state.directory.recorded(&checkpoint.files);
        state.unsaved_changes =
            state.unsaved_changes.saturating_sub(std::mem::take(&mut state.saving_changes));
        if let Some(old) = state.meta_name.replace(checkpoint.meta.name.clone())
            && old != checkpoint.meta.name
        {
            // The next opening sweeps a file that cannot be removed now.
            let _ = self.place.disk.remove_file(&format!("{}/{old}", self.place.path));
        }
    }

    /// Moves the damaged directory away and starts with an empty index.
    ///
    /// # Errors
    /// If an empty index cannot be created.
    pub(crate) fn start_anew(&self) -> Result<()> {
        let mut state = self.state();
        state.disown();
        self.publish(&state);
        self.walks.lock().unwrap_or_else(PoisonError::into_inner).views.clear();
        *state = self.place.anew(&self.shape)?;
        self.publish(&state);
        self.beginnings.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Number of times that the index was discarded and started again since it was opened. A caller
    /// that meets damage compares it to see whether another caller has already repaired the index.
    pub(crate) fn beginnings(&self) -> u64 {
        self.beginnings.load(Ordering::Relaxed)
    }

    /// Merges segments, for times without writes, so that searches read few of them; waits for the
    /// merge. Does nothing if one segment is much larger than all others, so that a store with rare
    /// writes is not rewritten each time.
    ///
    /// # Errors
    /// If the merge fails; the index is unchanged.
    pub(crate) fn settle(&self) -> Result<()> {
        let merging = {
            let mut state = self.state();
            let segments = state.engine.searchable_segment_metas().map_err(failed)?;
            let Some(ids) = merge::worth_settling(&state.engine, &segments) else { return Ok(()) };
            state.writer()?.merge(&ids)
        };
        match merging.wait() {
            Ok(_) => {}
            // A merge of the writer itself used some of the segments meanwhile. The next pass tries
            // again.
            Err(TantivyError::InvalidArgument(_)) => return Ok(()),
            Err(error) => return Err(failed(error)),
        }
        let state = self.state();
        state.reader.reload().map_err(failed)?;
        self.publish(&state);
        Ok(())
    }
}
