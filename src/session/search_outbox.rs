//! Brings the text index up to the committed state, and makes it durable from time to time.
//!
//! The change log is the source: the index knows up to which commit it is complete and reads on from there. When the log
//! no longer reaches back that far, or the index was lost or damaged, it is built from the records. Nothing here is on
//! the write path. What must hold: the index holds committed state only, and the checkpoint row is written after the
//! files that it names are synced.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::access::{Access, Session};
use super::context::Context;
use super::engine::lock;
use super::event::{Event, What};
use super::identity::Visibility;
use super::view::{Place, View, record_key};
use crate::disk::Owner;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{REGISTRY, Registered, resource::registry};
use crate::records::{Snapshot, Source, Space, envelope};
use crate::text::{
    self, Ask, Cell, Change, Checkpoint, ColumnName, DocKey, Document, Index, Opened, Request, Scope, Shape,
};
use crate::value::id::{IdForm, Kind};
use crate::value::limits::{SEARCH_CHECKPOINT_CHANGES, SEARCH_FEED_CHANGES, SEARCH_OVERLAY_CHANGES};
use crate::value::stored::Members;
use crate::value::{RecordKey, key};

/// Where the index lies in the store directory.
pub(super) const DIRECTORY: &str = "search";
/// The row of [`Space::Positions`] that holds the checkpoint.
pub(super) const CHECKPOINT: &[u8] = b"text index";
/// How long work on the index may go unsaved.
const CHECKPOINT_PERIOD: Duration = Duration::from_secs(60);

/// The text index of an open store, opened when it is first needed.
#[derive(Default)]
pub(crate) struct SearchOutbox {
    registry: OnceLock<&'static [Registered]>,
    searchable: OnceLock<Vec<Searchable>>,
    opened: Mutex<Option<(Arc<Index>, Opened)>>,
    /// Held while changes are fed: one feeder at a time.
    feeding: Mutex<()>,
    saved_at: Mutex<Option<Instant>>,
    owner: Owner,
}

/// A kind that text search finds.
#[derive(Clone, Copy)]
struct Searchable {
    registered: &'static Registered,
    /// What a hit is shown from.
    summary: Members,
}

impl fmt::Debug for SearchOutbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearchOutbox").field("is_open", &lock(&self.opened).is_some()).finish_non_exhaustive()
    }
}

impl Drop for SearchOutbox {
    /// A fork must not stop the index: it would wait for threads that only the process has that opened the store.
    #[expect(clippy::mem_forget, reason = "the process that opened the store frees it")]
    fn drop(&mut self) {
        if !self.owner.is_current() {
            std::mem::forget(self.opened.get_mut().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}

impl SearchOutbox {
    fn registry(&self) -> &'static [Registered] {
        self.registry.get_or_init(|| REGISTRY)
    }

    /// Replaces the list of resources, before the index is first opened.
    #[cfg(test)]
    pub(super) fn set_registry(&self, registry: &'static [Registered]) {
        assert!(self.registry.set(registry).is_ok());
    }

    /// How the index was opened, once it is.
    #[cfg(test)]
    pub(super) fn opened(&self) -> Option<Opened> {
        lock(&self.opened).as_ref().map(|(_, how)| how.clone())
    }

    /// Drops what the index has checked of its files, so that the next search meets what is on the disk.
    #[cfg(test)]
    pub(super) fn forget_blocks(&self) {
        self.open_index().into_iter().for_each(|index| index.forget_blocks());
    }

    /// Gives the index changes that no record had.
    #[cfg(test)]
    pub(super) fn falsify(&self, changes: &[Change]) {
        let index = self.open_index().unwrap();
        index.apply(changes, index.sequence()).unwrap();
        index.commit().unwrap();
    }

    fn open_index(&self) -> Option<Arc<Index>> {
        lock(&self.opened).as_ref().map(|(index, _)| Arc::clone(index))
    }

    fn known(&self, code: u8) -> Option<Searchable> {
        self.searchable_kinds().iter().find(|known| known.registered.kind.code == code).copied()
    }

    pub(super) fn by_code(&self, code: u8) -> Option<&'static Registered> {
        self.known(code).map(|known| known.registered)
    }

    /// The kinds that text search finds.
    pub(super) fn searchable(&self) -> impl Iterator<Item = &'static Registered> {
        self.searchable_kinds().iter().map(|known| known.registered)
    }

    fn searchable_kinds(&self) -> &[Searchable] {
        self.searchable.get_or_init(|| {
            let searchable = self.registry().iter().filter(|registered| (registered.searchable)());
            searchable.map(|registered| Searchable { registered, summary: (registered.summary_members)() }).collect()
        })
    }

    pub(super) fn shape(&self) -> Shape {
        let mut shape = Shape::default();
        for registered in self.searchable() {
            shape.kinds.push(registered.kind);
            for (name, weight) in (registered.text_fields)() {
                shape.add_field(name, weight);
            }
            for (path, is_float) in (registered.scalars)() {
                shape.columns.push(ColumnName { kind: registered.kind.code, path: path.to_owned(), is_float });
            }
        }
        shape
    }

    fn recorded(view: &View<'_>) -> Result<Option<Checkpoint>> {
        Ok(view.raw(Space::Positions, CHECKPOINT)?.and_then(|bytes| Checkpoint::from_bytes(&bytes)))
    }

    fn index(&self, view: &View<'_>, newest: u64) -> Result<Arc<Index>> {
        let mut opened = lock(&self.opened);
        if let Some((index, _)) = &*opened {
            return Ok(Arc::clone(index));
        }
        let engine = &view.context().engine;
        let checkpoint = Self::recorded(view)?.filter(|checkpoint| checkpoint.sequence <= newest);
        let store_id = format!("{:016x}", engine.seed);
        let shape = Arc::new(self.shape());
        let (index, how) = Index::open(&engine.disk, DIRECTORY, shape, &store_id, checkpoint.as_ref(), true)?;
        let index = Arc::new(index);
        *opened = Some((Arc::clone(&index), how));
        *lock(&self.saved_at) = Some(Instant::now());
        Ok(index)
    }

    /// Waits until nobody feeds the index, as long as the session may.
    pub(super) fn feeding(&self, context: &Context) -> Result<MutexGuard<'_, ()>> {
        /// Between two looks.
        const PAUSE: Duration = Duration::from_millis(1);
        if context.control.is_none() {
            return Ok(lock(&self.feeding));
        }
        loop {
            match self.feeding.try_lock() {
                Ok(guard) => return Ok(guard),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => context.check_deadline()?,
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Brings the index up to the last commit; returns it and the snapshot of that commit.
    pub(super) fn catch_up(&self, context: &Arc<Context>) -> Result<(Arc<Index>, Arc<Snapshot>)> {
        let _feeding = self.feeding(context)?;
        let snapshot = context.engine.snapshot();
        let view = View::new(Source::Snapshot(&snapshot), context, &[]);
        let index = self.index(&view, snapshot.sequence)?;
        if index.sequence() == snapshot.sequence {
            // What a feeding that failed at its end has left is complete, and not shown yet.
            if index.view().sequence() < snapshot.sequence {
                index.commit()?;
            }
            return Ok((index, snapshot));
        }
        let outcome = self.feed(&index, &view, snapshot.sequence);
        match outcome {
            Ok(()) => {}
            // The index failed, and not the records: begin again, once.
            Err(error) if matches!(error.kind(), ErrorKind::Io | ErrorKind::Corrupt) => {
                index.start_anew()?;
                self.feed(&index, &view, snapshot.sequence)?;
            }
            Err(error) => return Err(error),
        }
        Ok((index, snapshot))
    }

    /// Gives up what the index holds, which turned out to be damaged after [`SearchOutbox::beginnings`] had been asked,
    /// and builds it again from the records, unless another caller has given it up since.
    pub(super) fn rebuild(&self, context: &Arc<Context>, beginnings: u64) -> Result<()> {
        if let Some(index) = self.open_index() {
            let _feeding = self.feeding(context)?;
            if index.beginnings() == beginnings {
                index.start_anew()?;
            }
        }
        self.catch_up(context).map(drop)
    }

    /// How often the index was begun anew since it was opened.
    pub(super) fn beginnings(&self) -> u64 {
        self.open_index().map_or(0, |index| index.beginnings())
    }

    /// The state of the index that holds exactly what the returned snapshot holds, all of it committed to the index. `None`
    /// when there is no index that searches would go on with, or it cannot be brought up to date; then there is nothing
    /// that could be compared with the records. Nothing is built here.
    ///
    /// # Errors
    /// What reading the checkpoint returns; the deadline of the session.
    pub(super) fn settled(&self, context: &Arc<Context>) -> Result<Option<(text::View, Arc<Snapshot>)>> {
        if cfg!(not(feature = "search")) {
            return Ok(None);
        }
        let _feeding = self.feeding(context)?;
        let snapshot = context.engine.snapshot();
        let view = View::new(Source::Snapshot(&snapshot), context, &[]);
        if self.open_index().is_none() {
            let fingerprint = self.shape().fingerprint();
            if Self::recorded(&view)?.is_none_or(|checkpoint| checkpoint.fingerprint != fingerprint) {
                return Ok(None);
            }
        }
        let outcome = self.index(&view, snapshot.sequence).and_then(|index| {
            if index.sequence() > 0 && index.sequence() != snapshot.sequence {
                self.feed(&index, &view, snapshot.sequence)?;
            }
            index.commit()?;
            Ok(index.view())
        });
        match outcome {
            Ok(state) if state.sequence() > 0 && state.sequence() == snapshot.sequence => Ok(Some((state, snapshot))),
            Ok(_) => Ok(None),
            Err(error) if matches!(error.kind(), ErrorKind::DeadlineExceeded | ErrorKind::Cancelled) => Err(error),
            // A search begins such an index again; a full disk, for example, keeps it from being written.
            Err(_) => Ok(None),
        }
    }

    /// What the index must hold for a key, as a snapshot has its record.
    pub(super) fn expected(&self, source: Source<'_>, shape: &Shape, key: DocKey) -> text::Expected {
        let Some(registered) = self.by_code(key.kind) else { return text::Expected::Nothing };
        let full_key = record_key(registered.kind, key.key);
        match source.get(Space::Records, &full_key) {
            Ok(None) => text::Expected::Nothing,
            Ok(Some(bytes)) => document(shape, registered, key, &full_key, &bytes)
                .map_or(text::Expected::Unknown, text::Expected::Document),
            Err(_) => text::Expected::Unknown,
        }
    }

    /// Gives up an index that turned out not to hold what the records say, after [`SearchOutbox::beginnings`] had been
    /// asked: the next search or maintenance builds it again, and so does the next opening.
    pub(super) fn give_up(&self, context: &Arc<Context>, beginnings: u64) -> Result<()> {
        let _feeding = self.feeding(context)?;
        match self.open_index() {
            Some(index) if index.beginnings() == beginnings => index.start_anew(),
            _ => Ok(()),
        }
    }

    fn feed(&self, index: &Index, view: &View<'_>, to: u64) -> Result<()> {
        let from = index.sequence();
        if from == 0 {
            // What a building that was cut short has left would be there twice.
            if index.unsaved_changes() > 0 {
                index.start_anew()?;
            }
            return self.feed_records(index, view, to);
        }
        match self.feed_log(index, view, from, to) {
            Err(error) if error.kind() == ErrorKind::Conflict => {
                index.start_anew()?;
                self.feed_records(index, view, to)
            }
            outcome => outcome,
        }
    }

    /// Applies what the log says happened after `from`. Each record is read once, in its newest state.
    fn feed_log(&self, index: &Index, view: &View<'_>, from: u64, to: u64) -> Result<()> {
        let mut seen = HashSet::new();
        let mut batch: Vec<(DocKey, bool)> = Vec::new();
        let mut is_long = false;
        view.log_after(from, |sequence, entry| {
            for (key, is_new) in self.touched(&entry.events) {
                if seen.insert(key) {
                    batch.push((key, is_new));
                }
            }
            if batch.len() >= SEARCH_FEED_CHANGES {
                is_long = true;
                view.context().check_deadline()?;
                let changes = self.changes(index.shape(), view, &std::mem::take(&mut batch))?;
                index.load(&changes, sequence)?;
            }
            Ok(sequence < to)
        })?;
        let changes = self.changes(index.shape(), view, &batch)?;
        if is_long {
            index.load(&changes, to)?;
            return index.commit();
        }
        index.apply(&changes, to)
    }

    /// Applies every record, to an empty index.
    fn feed_records(&self, index: &Index, view: &View<'_>, to: u64) -> Result<()> {
        let shape = index.shape();
        let mut batch = Vec::new();
        let mut is_long = false;
        for registered in self.searchable() {
            let prefix = [registered.kind.code];
            let mut cursor = view.source().cursor(Space::Records, &prefix, key::after_prefix(&prefix).as_deref())?;
            while let Some((bytes, value)) = cursor.next()? {
                let Some(key) = bytes.get(1..).and_then(|key| RecordKey::from_bytes(registered.kind.id, key)) else {
                    continue;
                };
                let key = DocKey { kind: registered.kind.code, key };
                // A damaged record is reported to whoever reads it, and cannot be found.
                let Ok(document) = document(shape, registered, key, &bytes, &value) else { continue };
                batch.push(Change { key, document: Some(document), is_new: true });
                if batch.len() >= SEARCH_FEED_CHANGES {
                    is_long = true;
                    view.context().check_deadline()?;
                    // Complete up to nothing until all is read: reading the records may fail.
                    index.load(&std::mem::take(&mut batch), 0)?;
                }
            }
        }
        if is_long {
            index.load(&batch, to)?;
            return index.commit();
        }
        index.apply(&batch, to)
    }

    /// The documents that events concern, and whether the index can hold no earlier form of them: what was created, unless
    /// callers choose the ids of the kind, so that one may be used again.
    fn touched<'e>(&'e self, events: &'e [Event]) -> impl Iterator<Item = (DocKey, bool)> + 'e {
        events.iter().filter(|event| event.what != What::RowsAppended).filter_map(|event| {
            let kind = self.by_code(event.kind_code)?.kind;
            let key = RecordKey::parse(kind.id, &event.id)?;
            let is_new = event.what == What::Created && kind.id != IdForm::Hex24AnyCase;
            Some((DocKey { kind: kind.code, key }, is_new))
        })
    }

    fn changes(&self, shape: &Shape, view: &View<'_>, keys: &[(DocKey, bool)]) -> Result<Vec<Change>> {
        let mut changes = Vec::with_capacity(keys.len());
        for &(key, is_new) in keys {
            let Some(registered) = self.by_code(key.kind) else { continue };
            let full_key = record_key(registered.kind, key.key);
            let bytes = view.raw(Space::Records, &full_key)?;
            let document = bytes.and_then(|bytes| document(shape, registered, key, &full_key, &bytes).ok());
            changes.push(Change { key, document, is_new });
        }
        Ok(changes)
    }

    /// The index, and its state with exactly what `view` sees: no later commit, and the view's open transaction.
    pub(super) fn state_at(&self, view: &View<'_>) -> Result<(Arc<Index>, text::View)> {
        let (index, state) = self.caught_up(view)?;
        // Taken after the state, so that its log reaches as far as the state does.
        let newest = view.context().engine.snapshot();
        let mut touched = HashSet::new();
        match view.source() {
            Source::Turn(_) => self.touched_in_turn(view, newest.sequence, &mut touched)?,
            Source::Snapshot(seen) if seen.sequence < state.sequence() => {
                let later = View::new(Source::Snapshot(&newest), view.context(), &[]);
                later.log_after(seen.sequence, |sequence, entry| {
                    touched.extend(self.touched(&entry.events).map(|(key, _)| key));
                    Ok(sequence < state.sequence())
                })?;
            }
            Source::Snapshot(_) => {}
        }
        // What changed since is put back to what the view sees.
        let keys: Vec<(DocKey, bool)> = touched.into_iter().map(|key| (key, false)).collect();
        let changes = self.changes(index.shape(), view, &keys)?;
        Ok((index, state.with(&changes)))
    }

    /// The index and its newest state, which no later commit than that of `view` is missing in.
    fn caught_up(&self, view: &View<'_>) -> Result<(Arc<Index>, text::View)> {
        /// Each time that the state falls back, another caller has met an error of the index.
        const TRIES: usize = 16;
        for _ in 0..TRIES {
            let (index, snapshot) = self.catch_up(view.context())?;
            let state = index.view();
            if state.sequence() >= snapshot.sequence {
                return Ok((index, state));
            }
        }
        Err(Error::new(ErrorKind::Io, "the text index fails again and again; look at the disk of its directory"))
    }

    /// The keys of the records of a kind that a text query finds, among those that the caller may see: what it takes
    /// tells nothing of the others.
    ///
    /// # Errors
    /// As [`super::text_search::search`].
    pub(super) fn matching(&self, view: &View<'_>, kind: Kind, text: &str) -> Result<HashSet<RecordKey>> {
        let mut is_rebuilt = false;
        loop {
            let beginnings = self.beginnings();
            let (index, state) = self.state_at(view)?;
            let mut request = Request::new(text::parse(text, index.shape())?, 0);
            let workspaces: Option<Arc<[String]>> = match view.visibility(kind) {
                Visibility::All => None,
                Visibility::None => return Ok(HashSet::new()),
                Visibility::Workspaces(ids) => Some(ids.iter().cloned().collect()),
            };
            request.scopes = Some(vec![Scope { kinds: vec![kind.code], workspaces }]);
            match state.matching(&request) {
                Ok(keys) => return Ok(keys.into_iter().map(|found| found.key).collect()),
                Err(error) if !is_rebuilt && matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Io) => {
                    self.rebuild(view.context(), beginnings)?;
                    is_rebuilt = true;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The keys of the records of a kind that may contain `piece` in their filter field `path`, letter case ignored:
    /// none that does is missing. `None` when the index is no help, or not at hand: a filter never waits for it.
    ///
    /// A text field that is named like a filter field holds the text of that field.
    pub(super) fn containing(&self, view: &View<'_>, kind: Kind, path: &str, piece: &str) -> Option<Vec<RecordKey>> {
        let registered = self.by_code(kind.code)?;
        if !(registered.text_fields)().iter().any(|(name, _)| *name == path) {
            return None;
        }
        let state = self.at_hand(view)?;
        // A damaged index is no reason for a filter to fail.
        let keys = state.containing(kind.code, path, piece).ok()??;
        Some(keys.into_iter().map(|found| found.key).collect())
    }

    /// The place of the column that holds a field of a kind; `None` when there is none.
    pub(super) fn column(&self, view: &View<'_>, kind: Kind, path: &str) -> Option<usize> {
        self.by_code(kind.code)?;
        let index = self.opened_index(view)?;
        // One that holds nothing yet is built by maintenance.
        (index.view().sequence() > 0).then(|| index.shape().column(kind.code, path)).flatten()
    }

    /// The number of records of a kind whose cells fulfil every ask and that `visibility` admits, and the keys of further
    /// records that have to be read to be counted. `None` when the index is no help, or not at hand.
    pub(super) fn count_cells(
        &self,
        view: &View<'_>,
        kind: Kind,
        asks: &[Ask],
        visibility: &Visibility,
    ) -> Option<(u64, Vec<RecordKey>)> {
        let scopes = match visibility {
            Visibility::All => None,
            Visibility::None => return Some((0, Vec::new())),
            Visibility::Workspaces(ids) => {
                Some(vec![Scope { kinds: vec![kind.code], workspaces: Some(ids.iter().cloned().collect()) }])
            }
        };
        let state = self.at_hand(view)?;
        let count = state.count_cells(asks, scopes.as_deref()).ok()?;
        let unsettled = state.unsettled().into_iter().filter(|found| found.kind == kind.code);
        Some((count, unsettled.map(|found| found.key).collect()))
    }

    /// The index, opened if it was not and a checkpoint says that this is worth it.
    fn opened_index(&self, view: &View<'_>) -> Option<Arc<Index>> {
        if cfg!(not(feature = "search")) {
            return None;
        }
        if let Some(index) = self.open_index() {
            return Some(index);
        }
        let snapshot = view.context().engine.snapshot();
        let newest = View::new(Source::Snapshot(&snapshot), view.context(), &[]);
        Self::recorded(&newest).ok()??;
        self.index(&newest, snapshot.sequence).ok()
    }

    /// The state of the index with exactly what `view` sees, if little is missing in it; a filter never waits for more.
    fn at_hand(&self, view: &View<'_>) -> Option<text::View> {
        let index = self.opened_index(view)?;
        let engine = &view.context().engine;
        // What the view's commit is; an open transaction adds to the newest.
        let snapshot = engine.snapshot();
        let committed = match view.source() {
            Source::Snapshot(seen) => seen.sequence,
            Source::Turn(_) => snapshot.sequence,
        };
        let newest = View::new(Source::Snapshot(&snapshot), view.context(), &[]);
        if let Ok(_feeding) = self.feeding.try_lock() {
            let from = index.view().sequence();
            // An index without anything is built by maintenance.
            let most = SEARCH_FEED_CHANGES;
            let missing = (from > 0).then(|| self.touched_between(&newest, from, snapshot.sequence, most)).flatten()?;
            if !missing.is_empty() {
                self.feed(&index, &newest, snapshot.sequence).ok()?;
            }
        }
        let state = index.view();
        // Taken after the state, so that its log reaches as far as the state does.
        let snapshot = engine.snapshot();
        let newest = View::new(Source::Snapshot(&snapshot), view.context(), &[]);
        let (first, last) = (state.sequence().min(committed), state.sequence().max(committed));
        // What the index misses is added as the view sees it, and what came later is put back.
        let mut touched = if state.sequence() == 0 {
            None
        } else {
            self.touched_between(&newest, first, last, SEARCH_OVERLAY_CHANGES)
        }?;
        self.touched_in_turn(view, committed, &mut touched).ok()?;
        let keys: Vec<(DocKey, bool)> = touched.into_iter().map(|key| (key, false)).collect();
        let changes = self.changes(index.shape(), view, &keys).ok()?;
        Some(state.with(&changes))
    }

    /// Adds the documents that an open turn changed: by what its transaction has not logged yet, and by the plans that ran
    /// before in its group, which have.
    fn touched_in_turn(&self, view: &View<'_>, committed: u64, touched: &mut HashSet<DocKey>) -> Result<()> {
        if let Source::Turn(_) = view.source() {
            touched.extend(self.touched(view.pending()).map(|(key, _)| key));
            view.log_after(committed, |_, entry| {
                touched.extend(self.touched(&entry.events).map(|(key, _)| key));
                Ok(true)
            })?;
        }
        Ok(())
    }

    /// The documents that commits after `from` and up to `to` concern; `None` when they are more than
    /// `most`, or not known.
    fn touched_between(&self, view: &View<'_>, from: u64, to: u64, most: usize) -> Option<HashSet<DocKey>> {
        let mut touched = HashSet::new();
        if from == to {
            return Some(touched);
        }
        let outcome = view.log_after(from, |sequence, entry| {
            if sequence <= to {
                touched.extend(self.touched(&entry.events).map(|(key, _)| key));
            }
            Ok(sequence < to && touched.len() <= most)
        });
        (outcome.is_ok() && touched.len() <= most).then_some(touched)
    }

    /// Catches up, commits, and makes the index durable when that is due.
    ///
    /// # Errors
    /// As any write; an error of the index itself only means that it is tried again.
    pub(crate) fn maintain(&self, session: &Session) -> Result<()> {
        if !self.is_behind(session)? {
            return Ok(());
        }
        let (index, _) = self.catch_up(session.context())?;
        {
            // What is being fed is committed by whoever feeds, when it is complete.
            let _feeding = lock(&self.feeding);
            index.commit()?;
        }
        let is_old = lock(&self.saved_at).is_none_or(|at| at.elapsed() >= CHECKPOINT_PERIOD);
        let is_much = index.unsaved_changes() >= SEARCH_CHECKPOINT_CHANGES;
        let passed = index.sequence().saturating_sub(self.position(session)?);
        let is_far = passed >= SEARCH_CHECKPOINT_CHANGES;
        if is_much || is_far || (is_old && index.unsaved_changes() > 0) {
            self.checkpoint(&index, session, is_far)?;
            *lock(&self.saved_at) = Some(Instant::now());
        }
        Ok(())
    }

    /// Merges parts of the index while nobody writes.
    ///
    /// # Errors
    /// When the merge fails, which the next pass tries again.
    pub(crate) fn settle(&self) -> Result<()> {
        self.open_index().map_or(Ok(()), |index| index.settle())
    }

    /// Whether there may be something to do. A store that never logged anything does not even open the index.
    fn is_behind(&self, session: &Session) -> Result<bool> {
        if cfg!(not(feature = "search")) || self.searchable().next().is_none() {
            return Ok(false);
        }
        let opened = self.open_index();
        session.read(|view| match opened {
            Some(index) => {
                Ok(index.sequence() != view.context().engine.snapshot().sequence || index.unsaved_changes() > 0)
            }
            None => {
                let recorded = Self::recorded(view)?;
                let fingerprint = self.shape().fingerprint();
                // Another build wrote the index, and it is not used any more: it is built anew.
                if recorded.as_ref().is_some_and(|checkpoint| checkpoint.fingerprint != fingerprint) {
                    return Ok(true);
                }
                let position = recorded.map_or(0, |checkpoint| checkpoint.sequence);
                let mut is_behind = position == 0 && view.log_tail()?.is_some();
                if position > 0 {
                    // A log that no longer reaches back is behind as well.
                    is_behind = view
                        .log_after(position, |_, _| {
                            is_behind = true;
                            Ok(false)
                        })
                        .is_err()
                        || is_behind;
                }
                Ok(is_behind)
            }
        })
    }

    /// Up to where the text index is durable: the log behind it is not needed for the index.
    pub(crate) fn position(&self, session: &Session) -> Result<u64> {
        if cfg!(not(feature = "search")) || self.searchable().next().is_none() {
            return Ok(session.context().engine.snapshot().sequence);
        }
        session.read(|view| Ok(Self::recorded(view)?.map_or(0, |checkpoint| checkpoint.sequence)))
    }

    /// Makes durable what the index holds, before the store closes.
    pub(crate) fn save(&self, session: &Session) -> Result<()> {
        match self.open_index() {
            Some(index) if index.unsaved_changes() > 0 => self.checkpoint(&index, session, false),
            _ => Ok(()),
        }
    }

    fn checkpoint(&self, index: &Index, session: &Session, is_forced: bool) -> Result<()> {
        let checkpoint = {
            // Half of what is fed must not be saved, and not be given up under whoever feeds. It is let go before the
            // write, since whoever has the turn may wait for it.
            let _feeding = lock(&self.feeding);
            // A building that was cut short is begun again, and must not be found by the next open.
            if index.sequence() == 0 {
                return Ok(());
            }
            match index.checkpoint(is_forced) {
                Ok(Some(checkpoint)) => checkpoint,
                Ok(None) => return Ok(()),
                // After a failed sync nobody knows what is on the disk, and a second sync would not tell.
                Err(error) if error.kind() == ErrorKind::Io => {
                    index.start_anew()?;
                    return Err(error);
                }
                Err(error) => return Err(error),
            }
        };
        let bytes = checkpoint.to_bytes()?;
        session.write(move |draft| {
            draft.put_raw(Space::Positions, CHECKPOINT.to_vec(), bytes);
            Ok(())
        })?;
        index.recorded(&checkpoint);
        Ok(())
    }
}

/// The document of a record in its envelope.
fn document(shape: &Shape, registered: &Registered, key: DocKey, full_key: &[u8], bytes: &[u8]) -> Result<Document> {
    let read = (registered.document)(envelope::open(full_key, registered.kind.code, bytes)?)?;
    let texts = texts(shape, read.texts);
    let cells =
        read.scalars.into_iter().filter_map(|(path, scalar)| Some((shape.column(key.kind, path)?, cell(scalar))));
    let cells = cells.collect();
    Ok(Document { key, workspace: read.workspace, texts, cells })
}

fn cell(scalar: registry::Scalar) -> Cell {
    match scalar {
        registry::Scalar::Int(value) => Cell::Int(value),
        // One zero, as in every other order of doubles.
        registry::Scalar::Float(value) => Cell::Float(if value == 0.0 { 0.0 } else { value }),
    }
}

fn texts(shape: &Shape, texts: Vec<(&'static str, f32, String)>) -> Vec<(usize, String)> {
    let known = texts.into_iter().filter(|(_, _, text)| !text.is_empty());
    known.filter_map(|(name, _, text)| Some((shape.field(name)?, text))).collect()
}

/// A record as search shows it, and its texts by field where they are wanted.
pub(super) fn shown(
    outbox: &SearchOutbox,
    shape: &Shape,
    view: &View<'_>,
    key: DocKey,
    with_texts: bool,
) -> Result<Option<(registry::Document, Vec<(usize, String)>)>> {
    let Some(Searchable { registered, summary }) = outbox.known(key.kind) else { return Ok(None) };
    let place = Place::of(registered.kind, key.key);
    let read = view.source().read(Space::Records, place.bytes(), |bytes| {
        let payload = envelope::open(place.bytes(), registered.kind.code, bytes)?;
        let read = if with_texts { (registered.document)(payload) } else { (registered.summary)(payload, summary) };
        read.map_err(|error: Error| error.with_resource(registered.kind.name, key.key.to_id(registered.kind.id)))
    })?;
    let Some(mut read) = read.transpose()? else { return Ok(None) };
    let texts = texts(shape, std::mem::take(&mut read.texts));
    Ok(Some((read, texts)))
}
