//! The index: opened, fed, searched and made durable.
//!
//! Changes are applied in the order of the change log. What is applied is found at once: small
//! batches by evaluation in memory until the next commit, large ones by committing. A failed writer
//! is dropped and the index continues from its last commit; the caller sees the lower
//! [`Index::sequence`] and feeds the changes again. `rollback` is never called.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use tantivy::TantivyError;

use super::checkpoint::{Checkpoint, FileEntry};
use super::document::{Change, Shape};
use super::failure::{failed, guarded};
use super::merge;
use super::overlay::{Chunk, Overlay};
use super::place::Place;
use super::state::State;
use super::view::View;
use crate::disk::SharedDisk;
use crate::error::{Error, ErrorKind, Result};
use crate::value::limits::SEARCH_OVERLAY_CHANGES;

/// How an index was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened {
    /// As the checkpoint has it.
    Resumed,
    /// Empty, because there was no checkpoint, or the files are not what it says; the text is the
    /// reason.
    Anew(String),
}

/// The text index of one store.
pub struct Index {
    place: Place,
    shape: Arc<Shape>,
    state: Mutex<State>,
    published: RwLock<View>,
    walks: Mutex<Walks>,
    /// How often the index was begun anew since it was opened.
    beginnings: AtomicU64,
}

/// The views that walks by pages began with, oldest first.
struct Walks {
    next: u64,
    views: VecDeque<(u64, View)>,
}

/// Walks whose view is kept. An older walk goes on in the newest state, where scores may have
/// shifted.
const WALKS: usize = 16;

impl Index {
    /// Opens the index in the directory `path` of `disk` as `checkpoint` has it, or empty when
    /// anything does not match.
    ///
    /// With `with_contents` the checksum of every file is compared, else the length.
    ///
    /// # Errors
    /// Only when an empty index cannot be made either.
    pub fn open(
        disk: &SharedDisk,
        path: &str,
        shape: Arc<Shape>,
        store_id: &str,
        checkpoint: Option<&Checkpoint>,
        with_contents: bool,
    ) -> Result<(Self, Opened)> {
        let place = Place {
            disk: Arc::clone(disk),
            path: path.to_owned(),
            store_id: store_id.to_owned(),
            fingerprint: shape.fingerprint(),
        };
        let resumed = match checkpoint {
            None => Err(Error::corrupt("no checkpoint is recorded")),
            Some(checkpoint) => guarded("opening", || place.resume(checkpoint, with_contents, &shape)),
        };
        let (state, opened) = match resumed {
            Ok(state) => (state, Opened::Resumed),
            Err(reason) => (place.anew(&shape)?, Opened::Anew(reason.to_string())),
        };
        let view = state.view(&shape);
        // Numbers of walks are drawn anew, so that a token of an earlier opening does not find a
        // view of this one.
        let mut first = [0; 8];
        getrandom::fill(&mut first)
            .map_err(|error| Error::new(ErrorKind::Io, format!("drawing a number for the text index: {error}")))?;
        let walks = Walks { next: u64::from_be_bytes(first), views: VecDeque::new() };
        let published = RwLock::new(view);
        let (state, walks) = (Mutex::new(state), Mutex::new(walks));
        Ok((Self { place, shape, state, published, walks, beginnings: AtomicU64::new(0) }, opened))
    }

    /// See [`super::directory::StoreDirectory::forget_blocks`].
    #[cfg(test)]
    pub fn forget_blocks(&self) {
        self.state().directory.forget_blocks();
    }

    /// Keeps a view for the further pages of a walk; returns the number of the walk.
    pub fn begin_walk(&self, view: &View) -> u64 {
        let mut walks = self.walks.lock().unwrap_or_else(PoisonError::into_inner);
        walks.next = walks.next.wrapping_add(1);
        let number = walks.next;
        if walks.views.len() == WALKS {
            walks.views.pop_front();
        }
        walks.views.push_back((number, view.clone()));
        number
    }

    /// The view that a walk began with, while it is kept.
    pub fn walk(&self, number: u64) -> Option<View> {
        let walks = self.walks.lock().unwrap_or_else(PoisonError::into_inner);
        walks.views.iter().find(|(known, _)| *known == number).map(|(_, view)| view.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, state: &State) {
        *self.published.write().unwrap_or_else(PoisonError::into_inner) = state.view(&self.shape);
    }

    /// The state that searches see now.
    pub fn view(&self) -> View {
        self.published.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The shape of the documents.
    pub fn shape(&self) -> &Arc<Shape> {
        &self.shape
    }

    /// The sequence after which changes must be applied next.
    pub fn sequence(&self) -> u64 {
        self.state().applied
    }

    /// Changes that only a checkpoint would keep from being applied again after the next open.
    pub fn unsaved_changes(&self) -> u64 {
        let state = self.state();
        state.unsaved_changes + state.uncommitted_changes
    }

    /// Applies the changes from [`Index::sequence`] up to `sequence`; views taken afterwards show
    /// them.
    ///
    /// # Errors
    /// When the writer fails: the index then stands at its last commit, see [`Index::sequence`].
    pub fn apply(&self, changes: &[Change], sequence: u64) -> Result<()> {
        self.feed(changes, sequence, changes.len() <= SEARCH_OVERLAY_CHANGES)
    }

    /// Applies changes that [`Index::commit`] makes visible: for long runs.
    ///
    /// # Errors
    /// As [`Index::apply`].
    pub fn load(&self, changes: &[Change], sequence: u64) -> Result<()> {
        let mut state = self.state();
        state.is_loading = true;
        let outcome = guarded("writing", || state.write(changes, sequence));
        self.recover(&mut state, outcome)
    }

    fn feed(&self, changes: &[Change], sequence: u64, is_small: bool) -> Result<()> {
        let mut state = self.state();
        let outcome = guarded("writing", || {
            state.write(changes, sequence)?;
            // What a loading that was cut short has left is shown by a commit only.
            if changes.is_empty() && !state.is_loading {
                return Ok(());
            }
            let fits = state.overlay.len() + changes.len() <= SEARCH_OVERLAY_CHANGES;
            if is_small && fits && !state.is_loading {
                state.overlay.push(Chunk::new(changes));
                return Ok(());
            }
            state.commit(|applied| self.place.payload(applied))
        });
        self.recover(&mut state, outcome)?;
        self.publish(&state);
        Ok(())
    }

    /// Moves what is in memory into the index.
    ///
    /// # Errors
    /// As [`Index::apply`].
    pub fn commit(&self) -> Result<()> {
        let mut state = self.state();
        if state.uncommitted_changes > 0 {
            let outcome = guarded("committing", || state.commit(|applied| self.place.payload(applied)));
            self.recover(&mut state, outcome)?;
            self.publish(&state);
        }
        Ok(())
    }

    /// After an error of the writer: drops it and goes on from the last commit, whichever that is:
    /// an error may come after the commit took effect.
    fn recover(&self, state: &mut State, outcome: Result<()>) -> Result<()> {
        if outcome.is_ok() {
            return outcome;
        }
        state.writer = None;
        let resumed = guarded("going back to the last commit", || {
            let metas = state.engine.load_metas().map_err(failed)?;
            state.reader.reload().map_err(failed)?;
            let sequence = metas.payload.as_deref().and_then(|payload| payload.rsplit(' ').next()?.parse().ok());
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
                // An empty index may not be made either, and the next attempt must not go on from
                // here.
                state.disown();
                self.publish(state);
                *state = self.place.anew(&self.shape)?;
            }
        }
        self.publish(state);
        outcome
    }

    /// Commits and makes the index durable. It counts once the caller has recorded what is returned
    /// and then calls [`Index::recorded`]; `None` when the last checkpoint is still right, unless
    /// `is_forced`, which moves its sequence on.
    ///
    /// # Errors
    /// When the disk fails; the index goes on without the checkpoint.
    pub fn checkpoint(&self, is_forced: bool) -> Result<Option<Checkpoint>> {
        self.commit()?;
        let mut state = self.state();
        if is_forced && state.committed != state.applied {
            let outcome = guarded("committing", || state.commit(|applied| self.place.payload(applied)));
            self.recover(&mut state, outcome)?;
        }
        // What is complete up to nothing is no place to go on from.
        if state.unsaved_changes == 0 || state.committed == 0 {
            return Ok(None);
        }
        let sequence = state.committed;
        let generation = state.generation + 1;
        let name = format!("meta-{generation}.json");
        let attempt = |error| Error::io(format!("making the text index durable in {}", self.place.path), error);
        let (meta, files) = state.directory.pin().map_err(attempt)?;
        // A number is not used twice, also when this attempt fails.
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

    /// The caller has recorded `checkpoint` durably: files that only earlier ones name may go.
    pub fn recorded(&self, checkpoint: &Checkpoint) {
        let mut state = self.state();
        state.directory.recorded(&checkpoint.files);
        state.unsaved_changes = state.unsaved_changes.saturating_sub(std::mem::take(&mut state.saving_changes));
        if let Some(old) = state.meta_name.replace(checkpoint.meta.name.clone())
            && old != checkpoint.meta.name
        {
            // A file that stays is swept at the next open.
            let _ = self.place.disk.remove_file(&format!("{}/{old}", self.place.path));
        }
    }

    /// Sets the directory aside and begins with an empty index, after damage was met.
    ///
    /// # Errors
    /// When an empty index cannot be made.
    pub fn start_anew(&self) -> Result<()> {
        let mut state = self.state();
        state.disown();
        self.publish(&state);
        self.walks.lock().unwrap_or_else(PoisonError::into_inner).views.clear();
        *state = self.place.anew(&self.shape)?;
        self.publish(&state);
        self.beginnings.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// How often the index was begun anew since it was opened: whoever meets damage tells by it
    /// whether another caller has mended that already.
    pub fn beginnings(&self) -> u64 {
        self.beginnings.load(Ordering::Relaxed)
    }

    /// Merges segments while nobody writes, so that searches look into few; waits for it. Nothing
    /// happens where one segment is much larger than all others, so that a store that is written to
    /// now and then is not rewritten.
    ///
    /// # Errors
    /// When the merge fails; the index is as it was.
    pub fn settle(&self) -> Result<()> {
        let merging = {
            let mut state = self.state();
            let segments = state.engine.searchable_segment_metas().map_err(failed)?;
            let Some(ids) = merge::worth_settling(&state.engine, &segments) else { return Ok(()) };
            state.writer()?.merge(&ids)
        };
        match merging.wait() {
            Ok(_) => {}
            // A merge of the writer's own took some of the segments meanwhile. The next pass looks
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
