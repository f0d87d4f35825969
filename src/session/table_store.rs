//! Rows of tables between the record file and the segment files: buffer, manifest, seal, merge, sweep.
//!
//! What must hold: a segment is named by a commit only after its files and their directory were synced; the commit that
//! names it removes from the buffer just the batches that went into it; a commit that forgets a segment remembers its
//! files for removal. Keys: buffer = table key and append ordinal of the first row; segments = table key and number.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use arrow::array::RecordBatch;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::access::{Access, Session};
use super::draft::Draft;
use super::engine::{Engine, lock};
use super::view::View;
use crate::columnar::{
    MemoryRun, MergedScan, Predicates, Run, Segment, SegmentMeta, SegmentWriter, TableSchema, TableView, data_name,
    decode_batch, summary_name,
};
use crate::disk::{Mode, SharedDisk};
use crate::error::{Error, ErrorKind, Result};
use crate::model::Resource;
use crate::model::table::TableMetadata;
use crate::records::{Source, Space};
use crate::value::id::hex;
use crate::value::wire::record;
use crate::value::{Control, RecordKey, limits, stored};

const SEGMENT_COUNTER: &str = "segments";
/// Segment numbers that are drawn from the record file at once.
const RESERVED_IDS: u64 = 64;
/// Open segments that are kept.
const OPEN_SEGMENTS: usize = 256;
/// Tables whose sorted buffer is kept.
const KEPT_BUFFERS: usize = 64;
/// Rows that are sorted together before they go to a segment.
pub(crate) const SORT_ROWS: usize = 256 * 1024;
/// Segments of at most this many rows are merged with their neighbours when there are many.
const SMALL_SEGMENT_ROWS: u64 = 1024 * 1024;
/// So many small neighbours are merged although they do not overlap.
const SMALL_SEGMENTS: usize = 16;
/// Rows of one segment.
const SEGMENT_ROWS: u64 = 1 << 31;

record! {
    /// What changes with every append and every seal.
    pub struct TableState {
        /// Rows in the buffer.
        pub buffered_rows: u64,
        /// Encoded bytes in the buffer.
        pub buffered_bytes: u64,
        /// Whether segments were added since maintenance last found nothing to merge.
        pub merge_due: bool,
    }
}

type BufferKey = (u64, u64);

/// What an open store keeps in memory of its tables.
#[derive(Debug, Default)]
pub(crate) struct TableCache {
    segments: Mutex<(HashMap<u64, Arc<Segment>>, VecDeque<u64>)>,
    buffers: Mutex<HashMap<Vec<u8>, (BufferKey, Arc<MemoryRun>)>>,
    ids: Mutex<Range<u64>>,
    /// Held while segments are sealed or merged: one at a time.
    turn: Mutex<()>,
}

/// The directory of a table's segments.
pub(crate) fn directory(id: &str) -> String {
    format!("tables/{id}")
}

fn key_of(id: &str) -> Result<RecordKey> {
    RecordKey::parse(TableMetadata::KIND.id, id).ok_or_else(|| Error::invalid(format!("{id:?} is not a table id")))
}

fn entry_key(table: &[u8], number: u64) -> Vec<u8> {
    let mut key = table.to_vec();
    key.extend_from_slice(&number.to_be_bytes());
    key
}

fn number_of(key: &[u8]) -> u64 {
    key.last_chunk::<8>().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// The checked schema of a table.
pub(crate) fn schema_of(table: &TableMetadata) -> Result<Arc<TableSchema>> {
    let columns = table.columns.clone().unwrap_or_default();
    TableSchema::new(columns, limits::IMPORT_COLUMNS)
        .map(Arc::new)
        .map_err(|error| Error::corrupt(format!("the columns of a stored table are damaged: {}", error.message())))
}

impl TableCache {
    fn segment(
        &self,
        disk: &SharedDisk,
        dir: &str,
        meta: SegmentMeta,
        schema: &Arc<TableSchema>,
    ) -> Result<Arc<Segment>> {
        if let Some(segment) = lock(&self.segments).0.get(&meta.id) {
            return Ok(segment.clone());
        }
        let id = meta.id;
        let opened = Arc::new(Segment::open(disk, dir, meta, schema.clone())?);
        let mut kept = lock(&self.segments);
        let (by_id, order) = &mut *kept;
        if by_id.insert(id, opened.clone()).is_none() {
            order.push_back(id);
        }
        while order.len() > OPEN_SEGMENTS {
            if let Some(oldest) = order.pop_front() {
                by_id.remove(&oldest);
            }
        }
        Ok(opened)
    }

    /// The buffer as a sorted run. Found again by its checksums, so what a refused transaction left here is never used.
    fn buffer(&self, table: &[u8], batches: &[(Vec<u8>, Vec<u8>)], schema: &TableSchema) -> Result<Arc<MemoryRun>> {
        let mut sums = Vec::with_capacity(batches.len() * 12);
        for (key, bytes) in batches {
            sums.extend_from_slice(&number_of(key).to_be_bytes());
            sums.extend_from_slice(bytes.get(16..20).unwrap_or_default());
        }
        let first = batches.first().map_or(0, |(key, _)| number_of(key));
        let wanted = (first, xxh3_64(&sums));
        if let Some((_, run)) = lock(&self.buffers).get(table).filter(|(known, _)| *known == wanted) {
            return Ok(run.clone());
        }
        let decoded = batches.iter().map(|(_, bytes)| decode_batch(schema, bytes)).collect::<Result<Vec<_>>>()?;
        let run = Arc::new(MemoryRun::new(schema, &decoded, first)?);
        let mut kept = lock(&self.buffers);
        if kept.len() >= KEPT_BUFFERS && !kept.contains_key(table) {
            kept.clear();
        }
        kept.insert(table.to_vec(), (wanted, run.clone()));
        Ok(run)
    }
}

fn manifest(view: &View<'_>, table: &[u8]) -> Result<Vec<SegmentMeta>> {
    view.raw_prefix(Space::Segments, table)?.iter().map(|(_, bytes)| stored::from_bytes(bytes)).collect()
}

/// All rows of a table in the state that `view` shows.
pub(crate) fn open_table(view: &View<'_>, table: &TableMetadata) -> Result<Arc<TableView>> {
    let engine = &view.context().engine;
    let schema = schema_of(table)?;
    let key = key_of(table.id())?;
    let dir = directory(table.id());
    let mut runs = Vec::new();
    for meta in manifest(view, key.as_bytes())? {
        runs.push(Run::Segment(engine.tables.segment(&engine.disk, &dir, meta, &schema)?));
    }
    let batches = view.raw_prefix(Space::TableBuffer, key.as_bytes())?;
    if !batches.is_empty() {
        runs.push(Run::Memory(engine.tables.buffer(key.as_bytes(), &batches, &schema)?));
    }
    let opened = TableView::new(schema, runs);
    let expected = table.row_count.unwrap_or_default().unsigned_abs();
    if opened.row_count() != expected {
        return Err(Error::corrupt(format!(
            "the table has {} rows instead of {expected}; restore it from a backup",
            opened.row_count()
        ))
        .with_resource(TableMetadata::KIND.name, table.id()));
    }
    Ok(Arc::new(opened))
}

fn state(bytes: Option<Vec<u8>>) -> Result<TableState> {
    bytes.map_or_else(|| Ok(TableState::default()), |bytes| stored::from_bytes(&bytes))
}

/// Puts encoded batches behind the rows that the table has; answers the rows and bytes that the buffer then holds.
pub(crate) fn buffer_batches(
    draft: &mut Draft<'_>,
    table: &TableMetadata,
    batches: Vec<(u64, Vec<u8>)>,
) -> Result<TableState> {
    let key = key_of(table.id())?;
    let mut state = state(draft.raw(Space::TableState, key.as_bytes())?)?;
    let mut ordinal = table.row_count.unwrap_or_default().unsigned_abs();
    for (rows, bytes) in batches {
        state.buffered_rows += rows;
        state.buffered_bytes += bytes.len() as u64;
        draft.put_raw(Space::TableBuffer, entry_key(key.as_bytes(), ordinal), bytes);
        ordinal += rows;
    }
    draft.put_raw(Space::TableState, key.as_bytes().to_vec(), stored::to_bytes(&state)?);
    Ok(state)
}

/// Names segments whose rows stand behind the rows that the table has.
pub(crate) fn add_segments(draft: &mut Draft<'_>, table: &TableMetadata, metas: Vec<SegmentMeta>) -> Result<()> {
    let key = key_of(table.id())?;
    let mut ordinal = table.row_count.unwrap_or_default().unsigned_abs();
    for mut meta in metas {
        meta.first_ordinal = ordinal;
        ordinal += meta.row_count;
        draft.put_raw(Space::Segments, entry_key(key.as_bytes(), meta.id), stored::to_bytes(&meta)?);
    }
    set_merge_due(draft, key, true)
}

fn set_merge_due(draft: &mut Draft<'_>, key: RecordKey, merge_due: bool) -> Result<()> {
    let state = TableState { merge_due, ..state(draft.raw(Space::TableState, key.as_bytes())?)? };
    draft.put_raw(Space::TableState, key.as_bytes().to_vec(), stored::to_bytes(&state)?);
    Ok(())
}

fn forget_segment(draft: &mut Draft<'_>, table: &[u8], dir: &str, id: u64) {
    draft.delete_raw(Space::Segments, entry_key(table, id));
    draft.forget_file(&format!("{dir}/{}", data_name(id)));
    draft.forget_file(&format!("{dir}/{}", summary_name(id)));
}

/// Removes all rows of a table that is being deleted.
pub(crate) fn forget_rows(draft: &mut Draft<'_>, id: &str) -> Result<()> {
    let key = key_of(id)?;
    let dir = directory(id);
    for (entry, _) in draft.raw_prefix(Space::Segments, key.as_bytes())? {
        forget_segment(draft, key.as_bytes(), &dir, number_of(&entry));
    }
    for (entry, _) in draft.raw_prefix(Space::TableBuffer, key.as_bytes())? {
        draft.delete_raw(Space::TableBuffer, entry);
    }
    draft.delete_raw(Space::TableState, key.as_bytes().to_vec());
    Ok(())
}

fn new_segment_id(session: &impl Access) -> Result<u64> {
    let cache = &session.context().engine.tables;
    let mut ids = lock(&cache.ids);
    if let Some(id) = ids.next() {
        return Ok(id);
    }
    let first = session.write(|draft| {
        let first = draft.counter(SEGMENT_COUNTER, 1)?;
        let next = (first + RESERVED_IDS).to_be_bytes().to_vec();
        draft.put_raw(Space::Counters, SEGMENT_COUNTER.as_bytes().to_vec(), next);
        Ok(first)
    })?;
    *ids = first + 1..first + RESERVED_IDS;
    Ok(first)
}

/// Starts a segment of a table, with its directory.
pub(crate) fn new_writer(
    session: &impl Access,
    id: &str,
    schema: &Arc<TableSchema>,
    first_ordinal: u64,
) -> Result<SegmentWriter> {
    let disk = session.context().engine.disk.clone();
    let dir = directory(id);
    let number = new_segment_id(session)?;
    let attempt = |error| Error::io(format_args!("creating the directory {dir}"), error);
    if !disk.exists(&dir).map_err(attempt)? {
        disk.create_dir_all(&dir).map_err(attempt)?;
        disk.sync_dir("tables").map_err(attempt)?;
        disk.sync_dir("").map_err(attempt)?;
    }
    SegmentWriter::new(disk, &dir, number, schema.clone(), first_ordinal)
}

/// Rows of one large append on their way into segments.
pub(crate) struct SegmentSink<'a, A> {
    session: &'a A,
    id: String,
    schema: Arc<TableSchema>,
    pending: Vec<RecordBatch>,
    pending_rows: usize,
    writer: Option<(SegmentWriter, i64)>,
    done: Vec<SegmentMeta>,
}

impl<'a, A: Access> SegmentSink<'a, A> {
    pub(crate) fn new(session: &'a A, id: &str, schema: Arc<TableSchema>) -> Self {
        Self {
            session,
            id: id.to_owned(),
            schema,
            pending: Vec::new(),
            pending_rows: 0,
            writer: None,
            done: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, batch: RecordBatch) -> Result<()> {
        self.pending_rows += batch.num_rows();
        self.pending.push(batch);
        if self.pending_rows >= SORT_ROWS { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        if self.pending_rows == 0 {
            return Ok(());
        }
        let run = MemoryRun::new(&self.schema, &std::mem::take(&mut self.pending), 0)?;
        self.pending_rows = 0;
        let (least, greatest) = match run.index() {
            [least, .., greatest] => (*least, *greatest),
            [one] => (*one, *one),
            [] => return Ok(()),
        };
        let fits = |(writer, end): &(SegmentWriter, i64)| {
            let rows = writer.row_count() + run.index().len() as u64;
            run.ordinals().is_none() && *end <= least && rows < SEGMENT_ROWS
        };
        if !self.writer.as_ref().is_some_and(fits) {
            self.close()?;
            self.writer = Some((new_writer(self.session, &self.id, &self.schema, 0)?, i64::MIN));
        }
        if let Some((writer, end)) = &mut self.writer {
            writer.write(run.batch(), run.ordinals())?;
            *end = greatest;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        if let Some((writer, _)) = self.writer.take() {
            self.done.push(writer.finish()?);
        }
        Ok(())
    }

    /// The written segments, synced, in order of append.
    pub(crate) fn finish(mut self) -> Result<Vec<SegmentMeta>> {
        self.flush()?;
        self.close()?;
        Ok(std::mem::take(&mut self.done))
    }
}

/// Seals the buffer of a table into a segment; false when there was nothing to seal.
pub(crate) fn seal(session: &Session, id: &str, control: &Control) -> Result<bool> {
    let engine = session.context().engine.clone();
    let _turn = lock(&engine.tables.turn);
    control.check()?;
    let key = key_of(id)?;
    let Some((schema, batches, run)) = session.read(|view| {
        let Some(table) = view.any_by_key::<TableMetadata>(key)? else { return Ok(None) };
        let batches = view.raw_prefix(Space::TableBuffer, key.as_bytes())?;
        if batches.is_empty() {
            return Ok(None);
        }
        let schema = schema_of(&table)?;
        let run = engine.tables.buffer(key.as_bytes(), &batches, &schema)?;
        let batches: Vec<(Vec<u8>, u64)> = batches.into_iter().map(|(key, bytes)| (key, bytes.len() as u64)).collect();
        Ok(Some((schema, batches, run)))
    })?
    else {
        return Ok(false);
    };
    let mut writer = new_writer(session, id, &schema, run.first_ordinal())?;
    writer.write(run.batch(), run.ordinals())?;
    let meta = writer.finish()?;
    let dir = directory(id);
    let sealed_rows = meta.row_count;
    session.write(move |draft| {
        for (key, _) in &batches {
            if draft.raw(Space::TableBuffer, key)?.is_none() {
                // The table was deleted meanwhile: what was written is garbage.
                draft.forget_file(&format!("{dir}/{}", data_name(meta.id)));
                draft.forget_file(&format!("{dir}/{}", summary_name(meta.id)));
                return Ok(false);
            }
        }
        let mut state = state(draft.raw(Space::TableState, key.as_bytes())?)?;
        state.buffered_rows = state.buffered_rows.saturating_sub(sealed_rows);
        state.merge_due = true;
        for (entry, len) in batches {
            state.buffered_bytes = state.buffered_bytes.saturating_sub(len);
            draft.delete_raw(Space::TableBuffer, entry);
        }
        draft.put_raw(Space::TableState, key.as_bytes().to_vec(), stored::to_bytes(&state)?);
        draft.put_raw(Space::Segments, entry_key(key.as_bytes(), meta.id), stored::to_bytes(&meta)?);
        Ok(true)
    })
}

/// Neighbours (by ordinal) that belong in one segment: those that overlap, and many small ones.
fn mergeable(metas: &[SegmentMeta], small_count: usize) -> Option<Range<usize>> {
    // `b` was appended after `a`, so rows of equal value at the seam are in order already.
    let overlap = |a: &SegmentMeta, b: &SegmentMeta| a.min_index <= b.max_index && b.min_index < a.max_index;
    for (at, first) in metas.iter().enumerate() {
        let mut end = at + 1;
        let mut rows = first.row_count;
        let mut reach = at;
        // Everything up to the last segment that overlaps one of the group.
        while let Some(next) = metas
            .iter()
            .enumerate()
            .skip(reach + 1)
            .filter(|(_, other)| metas.iter().take(reach + 1).skip(at).any(|mine| overlap(mine, other)))
            .map(|(place, _)| place)
            .next()
        {
            let more: u64 = metas.iter().take(next + 1).skip(reach + 1).map(|meta| meta.row_count).sum();
            if rows + more >= SEGMENT_ROWS {
                break;
            }
            rows += more;
            reach = next;
            end = next + 1;
        }
        if end > at + 1 {
            return Some(at..end);
        }
    }
    let is_small = |meta: &&SegmentMeta| meta.row_count < SMALL_SEGMENT_ROWS;
    (0..metas.len()).find_map(|at| {
        let count = metas.iter().skip(at).take_while(is_small).count();
        (count >= small_count).then_some(at..at + count)
    })
}

/// Merges segments of a table that overlap, or are many and small; false when there are none.
pub(crate) fn merge(session: &Session, id: &str, control: &Control) -> Result<bool> {
    let engine = session.context().engine.clone();
    let _turn = lock(&engine.tables.turn);
    let key = key_of(id)?;
    let dir = directory(id);
    let found = session.read(|view| {
        let Some(table) = view.any_by_key::<TableMetadata>(key)? else { return Ok(None) };
        let mut metas = manifest(view, key.as_bytes())?;
        metas.sort_by_key(|meta| meta.first_ordinal);
        // A closed table gets no more rows, so tidying it up is paid once.
        let small_count = if table.supports_append == Some(false) { 2 } else { SMALL_SEGMENTS };
        let Some(group) = mergeable(&metas, small_count) else { return Ok(None) };
        let schema = schema_of(&table)?;
        let group: Vec<SegmentMeta> = metas.drain(group).collect();
        let segments = group
            .iter()
            .map(|meta| engine.tables.segment(&engine.disk, &dir, meta.clone(), &schema))
            .collect::<Result<Vec<_>>>()?;
        Ok(Some((schema, group, segments)))
    })?;
    let Some((schema, group, segments)) = found else { return Ok(false) };
    let first_ordinal = group.first().map_or(0, |meta| meta.first_ordinal);
    let view = Arc::new(TableView::new(schema.clone(), segments.into_iter().map(Run::Segment).collect()));
    let columns = (0..schema.len()).collect();
    let mut scan =
        MergedScan::new(view.clone(), Arc::new(Predicates::default()), columns, None, control.clone())?.with_locators();
    let mut writer = new_writer(session, id, &schema, first_ordinal)?;
    while let Some(chunk) = scan.next_chunk()? {
        let ordinals = view.ordinals(&chunk.locators)?;
        let offsets: Vec<u32> = ordinals.into_iter().map(|ordinal| (ordinal - first_ordinal) as u32).collect();
        writer.write(&chunk.batch, Some(&offsets))?;
    }
    let meta = writer.finish()?;
    session.write(move |draft| {
        for old in &group {
            if draft.raw(Space::Segments, &entry_key(key.as_bytes(), old.id))?.is_none() {
                draft.forget_file(&format!("{dir}/{}", data_name(meta.id)));
                draft.forget_file(&format!("{dir}/{}", summary_name(meta.id)));
                return Ok(false);
            }
        }
        for old in &group {
            forget_segment(draft, key.as_bytes(), &dir, old.id);
        }
        draft.put_raw(Space::Segments, entry_key(key.as_bytes(), meta.id), stored::to_bytes(&meta)?);
        Ok(true)
    })
}

/// Seals the buffers that are due and merges what overlaps; answers the segments written.
pub(crate) fn maintain(session: &Session, control: &Control) -> Result<u64> {
    let settings = session.context().settings();
    let (seal_rows, seal_bytes) = (settings.seal_rows, settings.seal_bytes);
    let due: Vec<(RecordKey, bool)> = session.read(|view| {
        let mut due = Vec::new();
        for (key, bytes) in view.raw_prefix(Space::TableState, &[])? {
            let state: TableState = stored::from_bytes(&bytes)?;
            let seal_due = state.buffered_rows >= seal_rows || state.buffered_bytes >= seal_bytes;
            if let Some(key) = RecordKey::from_bytes(TableMetadata::KIND.id, &key)
                && (seal_due || state.merge_due)
            {
                due.push((key, seal_due));
            }
        }
        Ok(due)
    })?;
    let mut written = 0;
    for (key, seal_due) in due {
        let id = key.to_id(TableMetadata::KIND.id);
        if seal_due && seal(session, &id, control)? {
            written += 1;
        }
        while merge(session, &id, control)? {
            written += 1;
        }
        session.write(move |draft| {
            // A table that was deleted meanwhile must not get its state back.
            match draft.any_by_key::<TableMetadata>(key)? {
                Some(_) => set_merge_due(draft, key, false),
                None => Ok(()),
            }
        })?;
    }
    Ok(written)
}

/// Checks the segment files of all tables: their lengths, and with `deep` every byte. Answers files and bytes seen.
pub(crate) fn verify(
    engine: &Arc<Engine>,
    deep: bool,
    control: &Control,
    mut found: impl FnMut(&str, &str),
) -> Result<(u64, u64)> {
    let snapshot = engine.snapshot();
    let mut cursor = Source::Snapshot(&snapshot).cursor(Space::Segments, &[], None)?;
    let (mut files, mut bytes) = (0, 0);
    while let Some((key, value)) = cursor.next()? {
        control.check()?;
        let meta: SegmentMeta = stored::from_bytes(&value)?;
        let table = key.len().checked_sub(8).and_then(|len| key.get(..len)).unwrap_or_default();
        let dir = directory(&hex(table));
        for (name, len, hash) in [
            (data_name(meta.id), meta.data_bytes, &meta.data_hash),
            (summary_name(meta.id), meta.summary_bytes, &meta.summary_hash),
        ] {
            let path = format!("{dir}/{name}");
            files += 1;
            bytes += len;
            if let Err(error) = check_file(engine, &path, len, deep.then_some(hash), control) {
                if !matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Io) {
                    return Err(error);
                }
                found(&path, error.message());
            }
        }
    }
    Ok((files, bytes))
}

fn check_file(engine: &Engine, path: &str, len: u64, hash: Option<&String>, control: &Control) -> Result<()> {
    const PIECE: usize = 1024 * 1024;
    let attempt = |error| Error::io(format_args!("reading {path}"), error);
    let file = engine.disk.open(path, Mode::Read).map_err(attempt)?;
    let real = file.len().map_err(attempt)?;
    if real != len {
        return Err(Error::corrupt(format!("it has {real} bytes instead of {len}")));
    }
    let Some(hash) = hash else { return Ok(()) };
    let mut hasher = Xxh3::new();
    let mut piece = vec![0; PIECE];
    let mut at = 0;
    while at < len {
        control.check()?;
        let size = usize::try_from(len - at).unwrap_or(PIECE).min(PIECE);
        let part = piece.get_mut(..size).unwrap_or_default();
        file.read_exact_at(part, at).map_err(attempt)?;
        hasher.update(part);
        at += size as u64;
    }
    if hex(&hasher.digest128().to_be_bytes()) != *hash {
        return Err(Error::corrupt("its bytes are not what was written"));
    }
    Ok(())
}

/// Removes segment files that no manifest names: what a crash or a refused append left. Only while nobody writes.
pub(crate) fn sweep(engine: &Arc<Engine>) -> Result<u64> {
    let attempt = |error| Error::io("sweeping the tables directory", error);
    let disk = &engine.disk;
    if !disk.exists("tables").map_err(attempt)? {
        return Ok(0);
    }
    let snapshot = engine.snapshot();
    let source = Source::Snapshot(&snapshot);
    let mut removed = 0;
    for entry in disk.list("tables").map_err(attempt)?.into_iter().filter(|entry| entry.is_dir) {
        let Ok(key) = key_of(&entry.name) else { continue };
        let dir = directory(&entry.name);
        let mut named = Vec::new();
        let mut cursor = source.cursor(
            Space::Segments,
            key.as_bytes(),
            crate::value::key::after_prefix(key.as_bytes()).as_deref(),
        )?;
        while let Some((key, _)) = cursor.next()? {
            named.extend([data_name(number_of(&key)), summary_name(number_of(&key))]);
        }
        for file in disk.list(&dir).map_err(attempt)? {
            let path = format!("{dir}/{}", file.name);
            let is_ours = file.name.ends_with(".parquet") || file.name.ends_with(".summary");
            if is_ours && !named.contains(&file.name) && source.get(Space::PendingDelete, path.as_bytes())?.is_none() {
                disk.remove_file(&path).map_err(attempt)?;
                removed += 1;
            }
        }
    }
    Ok(removed)
}
