//! Brings the text index up to the committed state.
//!
//! The source is the change log: the index knows the last commit that it contains, and reads the
//! log from there. If the log no longer reaches back that far, or if the index was lost or damaged,
//! the index is built from the records. Nothing here is on the write path.
//!
//! What must hold: the index contains only committed data, and the checkpoint row is written after
//! the files that it names are synced.

use std::collections::HashSet;
use std::sync::{Arc, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use super::state::{SearchOutbox, Searchable};
use super::{CHECKPOINT, DIRECTORY};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{KindEntry, resource::registry};
use crate::records::keys::{KeyBytes, record_key, split_record_key};
use crate::records::{ReadSource, Snapshot, Space, envelope};
use crate::session::access::context::Context;
use crate::session::feed::event::{Event, What};
use crate::session::lock::lock;
use crate::session::view::View;
use crate::text::{self, Cell, Change, Checkpoint, DocKey, Document, Index, Shape};
use crate::value::RecordKey;
use crate::value::id::IdForm;
use crate::value::limits::SEARCH_FEED_CHANGES;

impl SearchOutbox {
    pub(super) fn recorded(view: &View<'_>) -> Result<Option<Checkpoint>> {
        Ok(view.raw(Space::Positions, CHECKPOINT)?.and_then(|bytes| Checkpoint::from_bytes(&bytes)))
    }

    pub(super) fn index(&self, view: &View<'_>, newest: u64) -> Result<Arc<Index>> {
        let mut opened = lock(&self.opened);
        if let Some((index, _)) = &*opened {
            return Ok(Arc::clone(index));
        }
        let engine = &view.context().engine;
        let checkpoint = Self::recorded(view)?.filter(|checkpoint| checkpoint.sequence <= newest);
        let store_id = format!("{:016x}", engine.seed);
        let shape = Arc::new(self.shape());
        let (index, how) =
            Index::open(&engine.disk, DIRECTORY, shape, &store_id, checkpoint.as_ref(), true)?;
        let index = Arc::new(index);
        *opened = Some((Arc::clone(&index), how));
        *lock(&self.saved_at) = Some(Instant::now());
        Ok(index)
    }

    /// Waits for the lock of feeding, at most until the deadline of the session.
    pub(crate) fn feeding(&self, context: &Context) -> Result<MutexGuard<'_, ()>> {
        /// The time between two attempts.
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

    /// Brings the index up to the last commit. Returns it and the snapshot of that commit.
    pub(in crate::session) fn catch_up(
        &self,
        context: &Arc<Context>,
    ) -> Result<(Arc<Index>, Arc<Snapshot>)> {
        let _feeding = self.feeding(context)?;
        let snapshot = context.engine.snapshot();
        let view = View::of(&snapshot, context);
        let index = self.index(&view, snapshot.sequence)?;
        if index.sequence() == snapshot.sequence {
            // A feeding that failed at its last step left a complete, but unpublished, index.
            if index.view().sequence() < snapshot.sequence {
                index.commit()?;
            }
            return Ok((index, snapshot));
        }
        match self.feed(&index, &view, snapshot.sequence) {
            // The index failed, not the records: start again with an empty index, once.
            Err(error) if error.is_damage() => {
                index.start_anew()?;
                self.feed(&index, &view, snapshot.sequence)?;
            }
            outcome => outcome?,
        }
        Ok((index, snapshot))
    }

    /// Discards a damaged index and builds it again from the records. `beginnings` was read before
    /// the damage was met: if the number differs now, another caller has discarded that index
    /// already.
    pub(crate) fn rebuild(&self, context: &Arc<Context>, beginnings: u64) -> Result<()> {
        if let Some(index) = self.open_index() {
            let _feeding = self.feeding(context)?;
            if index.beginnings() == beginnings {
                index.start_anew()?;
            }
        }
        self.catch_up(context).map(drop)
    }

    /// A view of the index that contains exactly what the returned snapshot contains, all of it
    /// committed to the index. `None` if there is no index that a search would continue to use, or
    /// if it cannot be brought up to date: then there is nothing to compare with the records. Never
    /// builds an index.
    ///
    /// # Errors
    /// Errors of reading the checkpoint; the deadline of the session.
    pub(in crate::session) fn settled(
        &self,
        context: &Arc<Context>,
    ) -> Result<Option<(text::View, Arc<Snapshot>)>> {
        if cfg!(not(feature = "search")) {
            return Ok(None);
        }
        let _feeding = self.feeding(context)?;
        let snapshot = context.engine.snapshot();
        let view = View::of(&snapshot, context);
        if self.open_index().is_none() {
            let fingerprint = self.shape().fingerprint();
            if Self::recorded(&view)?.is_none_or(|checkpoint| checkpoint.fingerprint != fingerprint)
            {
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
            Ok(state) if state.sequence() > 0 && state.sequence() == snapshot.sequence => {
                Ok(Some((state, snapshot)))
            }
            Ok(_) => Ok(None),
            Err(error)
                if matches!(error.kind(), ErrorKind::DeadlineExceeded | ErrorKind::Cancelled) =>
            {
                Err(error)
            }
            // A search would start such an index again. A full disk, for example, keeps it from
            // being written.
            Err(_) => Ok(None),
        }
    }

    /// The document that the index must contain for a key, by the record in a snapshot.
    pub(in crate::session) fn expected(
        &self,
        source: ReadSource<'_>,
        shape: &Shape,
        key: DocKey,
    ) -> text::ExpectedContents {
        let Some(registered) = self.by_code(key.kind) else {
            return text::ExpectedContents::Nothing;
        };
        let full_key = record_key(registered.kind, key.key);
        match source.get(Space::Records, &full_key) {
            Ok(None) => text::ExpectedContents::Nothing,
            Ok(Some(bytes)) => document(shape, registered, key, &full_key, &bytes)
                .map_or(text::ExpectedContents::Unknown, text::ExpectedContents::Document),
            Err(_) => text::ExpectedContents::Unknown,
        }
    }

    /// Discards an index whose documents differ from the records. The next search or maintenance
    /// builds it again, and so does the next opening. `beginnings` was read before the comparison,
    /// as in [`SearchOutbox::rebuild`].
    pub(in crate::session) fn give_up(
        &self,
        context: &Arc<Context>,
        beginnings: u64,
    ) -> Result<()> {
        let _feeding = self.feeding(context)?;
        match self.open_index() {
            Some(index) if index.beginnings() == beginnings => index.start_anew(),
            _ => Ok(()),
        }
    }

    /// Applies the changes up to the commit `to`: from the change log, or from all records if the
    /// index is empty or the log no longer reaches back far enough (`Conflict`). Must be called
    /// under the lock of feeding.
    pub(super) fn feed(&self, index: &Index, view: &View<'_>, to: u64) -> Result<()> {
        let from = index.sequence();
        if from == 0 {
            // An interrupted build left documents, which this build would add a second time.
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

    /// Applies the changes that the log lists after `from`. Each record is read once, in its newest
    /// state.
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
        finish(index, &self.changes(index.shape(), view, &batch)?, to, is_long)
    }

    /// Applies every record, to an empty index.
    fn feed_records(&self, index: &Index, view: &View<'_>, to: u64) -> Result<()> {
        let shape = index.shape();
        let mut batch = Vec::new();
        let mut is_long = false;
        for registered in self.searchable() {
            let mut cursor = view.cursor(Space::Records, &[registered.kind.code])?;
            while let Some((bytes, value)) = cursor.next()? {
                let Some(key) = split_record_key(registered.kind, &bytes) else { continue };
                let key = DocKey { kind: registered.kind.code, key };
                // A damaged record is reported when it is read; it has no document.
                let Ok(document) = document(shape, registered, key, &bytes, &value) else {
                    continue;
                };
                batch.push(Change { key, document: Some(document), is_new: true });
                if batch.len() >= SEARCH_FEED_CHANGES {
                    is_long = true;
                    view.context().check_deadline()?;
                    // The sequence stays 0 until all records are read, because reading may fail: an
                    // index that claimed `to` now would lack the rest for ever.
                    index.load(&std::mem::take(&mut batch), 0)?;
                }
            }
        }
        finish(index, &batch, to, is_long)
    }

    /// The documents that events change, and whether each is certainly new to the index. A created
    /// record is, unless callers choose the ids of its kind: then an id may be used again.
    pub(super) fn touched<'e>(
        &'e self,
        events: &'e [Event],
    ) -> impl Iterator<Item = (DocKey, bool)> + 'e {
        events
            .iter()
            .filter(|event| !matches!(event.what, What::RowsAppended | What::RowsDeleted))
            .filter_map(|event| {
                let kind = self.by_code(event.kind_code)?.kind;
                let key = RecordKey::parse(kind.id, &event.id)?;
                let is_new = event.what == What::Created && kind.id != IdForm::Hex24AnyCase;
                Some((DocKey { kind: kind.code, key }, is_new))
            })
    }

    pub(super) fn changes(
        &self,
        shape: &Shape,
        view: &View<'_>,
        keys: &[(DocKey, bool)],
    ) -> Result<Vec<Change>> {
        let mut changes = Vec::with_capacity(keys.len());
        for &(key, is_new) in keys {
            let Some(registered) = self.by_code(key.kind) else { continue };
            let full_key = record_key(registered.kind, key.key);
            let bytes = view.raw(Space::Records, &full_key)?;
            let document =
                bytes.and_then(|bytes| document(shape, registered, key, &full_key, &bytes).ok());
            changes.push(Change { key, document, is_new });
        }
        Ok(changes)
    }
}

/// Applies the last changes up to `to`; of a long run, the earlier ones were loaded.
fn finish(index: &Index, changes: &[Change], to: u64, is_long: bool) -> Result<()> {
    if is_long {
        index.load(changes, to)?;
        return index.commit();
    }
    index.apply(changes, to)
}

/// Builds the document of a record from its envelope.
fn document(
    shape: &Shape,
    registered: &KindEntry,
    key: DocKey,
    full_key: &[u8],
    bytes: &[u8],
) -> Result<Document> {
    let read = (registered.document)(envelope::open(full_key, registered.kind.code, bytes)?)?;
    let texts = texts(shape, read.texts);
    let cells = read
        .scalars
        .into_iter()
        .filter_map(|(path, scalar)| Some((shape.column(key.kind, path)?, cell(scalar))));
    let cells = cells.collect();
    Ok(Document { key, workspace: read.workspace, texts, cells })
}

fn cell(scalar: registry::Scalar) -> Cell {
    match scalar {
        registry::Scalar::Int(value) => Cell::Int(value),
        // One zero: -0 and 0 are equal, as in every other order of doubles.
        registry::Scalar::Float(value) => Cell::Float(if value == 0.0 { 0.0 } else { value }),
    }
}

fn texts(shape: &Shape, texts: Vec<(&'static str, f32, String)>) -> Vec<(usize, String)> {
    let known = texts.into_iter().filter(|(_, _, text)| !text.is_empty());
    known.filter_map(|(name, _, text)| Some((shape.field(name)?, text))).collect()
}

/// The summary of a record for a search result, and its texts by field if `with_texts` is set.
pub(in crate::session) fn shown(
    outbox: &SearchOutbox,
    shape: &Shape,
    view: &View<'_>,
    key: DocKey,
    with_texts: bool,
) -> Result<Option<(registry::Document, Vec<(usize, String)>)>> {
    let Some(Searchable { registered, summary }) = outbox.known(key.kind) else { return Ok(None) };
    let place = KeyBytes::of(registered.kind, key.key);
    let read = view.source().read(Space::Records, place.bytes(), |bytes| {
        let payload = envelope::open(place.bytes(), registered.kind.code, bytes)?;
        let read = if with_texts {
            (registered.document)(payload)
        } else {
            (registered.summary)(payload, summary)
        };
        read.map_err(|error: Error| {
            error.with_resource(registered.kind.name, key.key.to_id(registered.kind.id))
        })
    })?;
    let Some(mut read) = read.transpose()? else { return Ok(None) };
    let texts = texts(shape, std::mem::take(&mut read.texts));
    Ok(Some((read, texts)))
}
