//! Brings the text index up to the committed state.
//!
//! The change log is the source: the index knows up to which commit it is complete and reads on from there. When the log
//! no longer reaches back that far, or the index was lost or damaged, it is built from the records. Nothing here is on
//! the write path. What must hold: the index holds committed state only, and the checkpoint row is written after the
//! files that it names are synced.

use std::collections::HashSet;
use std::sync::{Arc, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use super::state::{SearchOutbox, Searchable};
use super::{CHECKPOINT, DIRECTORY};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Registered, resource::registry};
use crate::records::keys::{Place, record_key, split_record_key};
use crate::records::{Snapshot, Source, Space, envelope};
use crate::session::context::Context;
use crate::session::event::{Event, What};
use crate::session::lock::lock;
use crate::session::view::View;
use crate::text::{self, Cell, Change, Checkpoint, DocKey, Document, Index, Shape};
use crate::value::id::IdForm;
use crate::value::limits::SEARCH_FEED_CHANGES;
use crate::value::{RecordKey, key};

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
        let (index, how) = Index::open(&engine.disk, DIRECTORY, shape, &store_id, checkpoint.as_ref(), true)?;
        let index = Arc::new(index);
        *opened = Some((Arc::clone(&index), how));
        *lock(&self.saved_at) = Some(Instant::now());
        Ok(index)
    }

    /// Waits until nobody feeds the index, as long as the session may.
    pub(crate) fn feeding(&self, context: &Context) -> Result<MutexGuard<'_, ()>> {
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
    pub(in crate::session) fn catch_up(&self, context: &Arc<Context>) -> Result<(Arc<Index>, Arc<Snapshot>)> {
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
    pub(crate) fn rebuild(&self, context: &Arc<Context>, beginnings: u64) -> Result<()> {
        if let Some(index) = self.open_index() {
            let _feeding = self.feeding(context)?;
            if index.beginnings() == beginnings {
                index.start_anew()?;
            }
        }
        self.catch_up(context).map(drop)
    }

    /// The state of the index that holds exactly what the returned snapshot holds, all of it committed to the index. `None`
    /// when there is no index that searches would go on with, or it cannot be brought up to date; then there is nothing
    /// that could be compared with the records. Nothing is built here.
    ///
    /// # Errors
    /// What reading the checkpoint returns; the deadline of the session.
    pub(in crate::session) fn settled(&self, context: &Arc<Context>) -> Result<Option<(text::View, Arc<Snapshot>)>> {
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
    pub(in crate::session) fn expected(&self, source: Source<'_>, shape: &Shape, key: DocKey) -> text::Expected {
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
    pub(in crate::session) fn give_up(&self, context: &Arc<Context>, beginnings: u64) -> Result<()> {
        let _feeding = self.feeding(context)?;
        match self.open_index() {
            Some(index) if index.beginnings() == beginnings => index.start_anew(),
            _ => Ok(()),
        }
    }

    pub(super) fn feed(&self, index: &Index, view: &View<'_>, to: u64) -> Result<()> {
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
                let Some(key) = split_record_key(registered.kind, &bytes) else { continue };
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
    pub(super) fn touched<'e>(&'e self, events: &'e [Event]) -> impl Iterator<Item = (DocKey, bool)> + 'e {
        events.iter().filter(|event| event.what != What::RowsAppended).filter_map(|event| {
            let kind = self.by_code(event.kind_code)?.kind;
            let key = RecordKey::parse(kind.id, &event.id)?;
            let is_new = event.what == What::Created && kind.id != IdForm::Hex24AnyCase;
            Some((DocKey { kind: kind.code, key }, is_new))
        })
    }

    pub(super) fn changes(&self, shape: &Shape, view: &View<'_>, keys: &[(DocKey, bool)]) -> Result<Vec<Change>> {
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
pub(in crate::session) fn shown(
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
