//! The in-memory state of an open store's tables: open segments, sorted buffers, reserved segment
//! numbers.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, Weak};

use xxhash_rust::xxh3::xxh3_64;

use super::buffer::{number_of, stretches};
use super::files::SegmentFiles;
use crate::columnar::{
    DATA_SUFFIX, Layouts, MemoryRun, Run, RunStorage, SUMMARY_SUFFIX, Segment, SegmentMeta,
    TableView, batch_bytes, batch_revision, decode_batch,
};
use crate::disk::SharedDisk;
use crate::error::Result;
use crate::session::lock::lock;
use crate::value::RecordKey;
use crate::value::cache::{Cache, bounded};

/// Number of open segments that are kept. Their files need not be open.
const OPEN_SEGMENTS: usize = 256;
/// Runs that the last opened rows of a table of the store may have to be kept.
const OPENED_RUNS: usize = 64;
/// Number of tables whose sorted buffer is kept, and the bytes of these buffers together.
const KEPT_BUFFERS: usize = 64;
const KEPT_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of the kept ranges of deleted rows of all segments.
const DEAD_BYTES: usize = 16 * 1024 * 1024;

type BufferKey = (u64, u64);

/// The deleted rows of a segment, and a fingerprint of the ordinals that they have.
type Dead = (u64, Arc<[Range<usize>]>);

/// The sorted buffer of a table.
#[derive(Clone, Debug)]
struct KeptBuffer {
    key: BufferKey,
    bytes: usize,
    runs: Vec<Arc<MemoryRun>>,
}

/// Up to which time of the index, in milliseconds since 1970 UTC, and which append ordinal the old
/// rows of a table were looked for and deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexLook {
    pub(super) limit_ms: i64,
    pub(super) end: u64,
}

/// The rows of a table in the state of a commit, by its sequence number.
#[derive(Debug)]
struct Opened {
    table: &'static str,
    sequence: u64,
    rows: Arc<TableView>,
}

impl Opened {
    fn has_segment(&self, id: u64) -> bool {
        self.rows.runs().iter().any(|run| match run.stored() {
            RunStorage::Segment(segment) => segment.meta().id == id,
            RunStorage::Memory(_) => false,
        })
    }
}

/// The in-memory state of an open store's tables.
#[derive(Debug)]
pub(crate) struct TableCache {
    segments: Cache<u64, Arc<Segment>>,
    /// The segments that are kept or in use.
    in_use: Mutex<HashMap<u64, Weak<Segment>>>,
    pub(super) files: Arc<SegmentFiles>,
    /// The last opened rows of each table that the store keeps itself, which keep their segments
    /// open.
    opened: Mutex<Vec<Opened>>,
    buffers: Arc<Cache<Vec<u8>, KeptBuffer>>,
    /// The deleted rows of each segment, with a fingerprint of the ordinals that they have.
    pub(super) dead: Arc<Cache<u64, Dead>>,
    pub(super) ids: Mutex<Range<u64>>,
    /// The next number of a temporary file.
    pub(super) temporary: Arc<AtomicU64>,
    /// Directories of tables that are being created, or whose names could not be made durable.
    pub(super) unsynced: Mutex<HashSet<String>>,
    /// Number of holders of each held segment.
    held: Arc<Mutex<HashMap<u64, usize>>>,
    /// Up to where the old rows of tables with a retention were looked for.
    pub(super) looked: Mutex<HashMap<RecordKey, IndexLook>>,
    /// Tables whose rows an import numbers.
    numbered: Arc<Mutex<HashSet<RecordKey>>>,
    /// Locked while segments are sealed or merged: one at a time.
    pub(super) turn: Mutex<()>,
}

impl Default for TableCache {
    fn default() -> Self {
        // A buffer larger than the whole bound counts as exactly the bound, so that it is still
        // kept, alone: a client that pages through the table needs it again for each page.
        let share = |_: &Vec<u8>, kept: &KeptBuffer| {
            kept.bytes.clamp(KEPT_BYTES / KEPT_BUFFERS, KEPT_BYTES)
        };
        Self {
            segments: bounded(OPEN_SEGMENTS, OPEN_SEGMENTS, |_, _| 1),
            in_use: Mutex::default(),
            files: Arc::default(),
            opened: Mutex::default(),
            buffers: Arc::new(bounded(KEPT_BUFFERS, KEPT_BYTES, share)),
            dead: Arc::new(bounded(OPEN_SEGMENTS, DEAD_BYTES, |_, (_, rows): &Dead| {
                (rows.len() * size_of::<Range<usize>>())
                    .clamp(DEAD_BYTES / OPEN_SEGMENTS, DEAD_BYTES)
            })),
            ids: Mutex::default(),
            temporary: Arc::default(),
            unsynced: Mutex::default(),
            held: Arc::default(),
            looked: Mutex::default(),
            numbered: Arc::default(),
            turn: Mutex::default(),
        }
    }
}

impl TableCache {
    /// Most bytes of the caches that [`Self::switch`] empties.
    pub(in crate::session) const CACHE_BYTES: usize = KEPT_BYTES + DEAD_BYTES;

    /// Empties the caches of bytes and keeps them empty, or lets them fill again.
    pub(in crate::session) fn switch(&self) -> impl Fn(bool) + Send + Sync + 'static {
        let (buffers, dead) = (self.buffers.clone(), self.dead.clone());
        move |are_empty| {
            let bound = |bytes: usize| if are_empty { 0 } else { bytes as u64 };
            buffers.set_capacity(bound(KEPT_BYTES));
            dead.set_capacity(bound(DEAD_BYTES));
        }
    }

    /// Bytes in these caches.
    pub(crate) fn cached_bytes(&self) -> u64 {
        self.buffers.weight().saturating_add(self.dead.weight())
    }
}

/// Segments whose files are not removed while this value lives, although none of their files may be
/// open.
#[derive(Debug)]
pub(super) struct HeldSegments {
    held: Arc<Mutex<HashMap<u64, usize>>>,
    ids: Vec<u64>,
}

impl Drop for HeldSegments {
    fn drop(&mut self) {
        let mut held = lock(&self.held);
        for id in &self.ids {
            if let Some(holders) = held.get_mut(id) {
                *holders -= 1;
                if *holders == 0 {
                    held.remove(id);
                }
            }
        }
    }
}

/// An import that numbers the rows of a table. No other one begins while this value lives: both
/// would begin with the same number.
#[derive(Debug)]
pub(crate) struct Numbering {
    numbered: Arc<Mutex<HashSet<RecordKey>>>,
    table: RecordKey,
}

impl Drop for Numbering {
    fn drop(&mut self) {
        lock(&self.numbered).remove(&self.table);
    }
}

/// The number of the segment that a data or summary file belongs to; `None` for any other file.
fn segment_of(path: &str) -> Option<u64> {
    let name = path.strip_prefix("tables/")?.rsplit('/').next()?;
    let number = name.strip_suffix(DATA_SUFFIX).or_else(|| name.strip_suffix(SUMMARY_SUFFIX))?;
    u64::from_str_radix(number, 16).ok()
}

impl TableCache {
    /// Begins to number the rows of a table; `None` while another import does.
    pub(crate) fn number(&self, table: RecordKey) -> Option<Numbering> {
        let is_first = lock(&self.numbered).insert(table);
        is_first.then(|| Numbering { numbered: self.numbered.clone(), table })
    }

    /// Remembers that the old rows of a table are gone, until the store is closed.
    pub(crate) fn looked(&self, table: RecordKey, look: IndexLook) {
        lock(&self.looked).insert(table, look);
    }

    /// Protects the files of these segments from removal. Must be called while a snapshot that
    /// names them is alive: until then the snapshot protects them.
    pub(super) fn hold(&self, ids: Vec<u64>) -> HeldSegments {
        let mut held = lock(&self.held);
        for id in &ids {
            *held.entry(*id).or_default() += 1;
        }
        drop(held);
        HeldSegments { held: self.held.clone(), ids }
    }

    /// Closes the segment whose file at `path` is about to be removed. Returns false if a reader
    /// has it in use: then the file must stay.
    ///
    /// No snapshot that names the segment may be alive, so that nobody opens it meanwhile.
    pub(crate) fn release(&self, path: &str) -> bool {
        let Some(id) = segment_of(path) else { return true };
        if lock(&self.held).contains_key(&id) {
            return false;
        }
        self.close(id);
        let mut in_use = lock(&self.in_use);
        let is_free = in_use.get(&id).is_none_or(|segment| segment.strong_count() == 0);
        if is_free {
            in_use.remove(&id);
        }
        is_free
    }

    /// The rows of a segment.
    pub(super) fn segment(
        &self,
        disk: &SharedDisk,
        dir: &str,
        meta: SegmentMeta,
        layouts: &Layouts,
    ) -> Result<Run> {
        let layout = layouts.at(meta.columns_revision)?;
        // A segment is opened with the columns that it was written with, so one that is kept serves
        // the table at each revision.
        let run = |segment: Arc<Segment>| Run::from(segment).with_sources(layout.sources.clone());
        let id = meta.id;
        let known = || lock(&self.in_use).get(&id).and_then(Weak::upgrade);
        if let Some(segment) = self.segments.get(&id).or_else(known) {
            return Ok(run(segment));
        }
        let open = |path: &str| self.files.open(disk, path);
        let mut opened = Arc::new(Segment::open_with(&open, dir, meta, layout.stored.clone())?);
        let mut in_use = lock(&self.in_use);
        // Another thread may have opened it meanwhile: there is one for each number, so that
        // `release` knows its readers.
        match in_use.get(&id).and_then(Weak::upgrade) {
            Some(other) => opened = other,
            None => drop(in_use.insert(id, Arc::downgrade(&opened))),
        }
        drop(in_use);
        self.segments.insert(id, opened.clone());
        Ok(run(opened))
    }

    /// The rows of a table of the store in the state of a commit, if they were the last ones that
    /// were kept.
    pub(super) fn opened(&self, table: &str, sequence: u64) -> Option<Arc<TableView>> {
        let opened = lock(&self.opened);
        let known = opened.iter().find(|known| known.table == table)?;
        (known.sequence == sequence).then(|| known.rows.clone())
    }

    /// Keeps the rows of a table of the store in the state of a commit. A snapshot of that commit
    /// must be alive: until then no file of the segments is removed.
    pub(super) fn keep_opened(&self, table: &'static str, sequence: u64, rows: &Arc<TableView>) {
        let mut opened = lock(&self.opened);
        opened.retain(|known| known.table != table);
        if rows.runs().len() <= OPENED_RUNS {
            opened.push(Opened { table, sequence, rows: rows.clone() });
        }
    }

    /// Drops what is kept of the segment whose file at `path` was repaired. Whoever has it in use
    /// reads the repaired file from now on.
    pub(crate) fn forget(&self, path: &str) {
        if let Some(id) = segment_of(path) {
            self.close(id);
            self.files.close_all();
        }
    }

    /// Drops what is kept of a segment.
    fn close(&self, id: u64) {
        self.segments.remove(&id);
        self.dead.remove(&id);
        lock(&self.opened).retain(|known| !known.has_segment(id));
    }

    /// The buffer as sorted runs, one for each stretch.
    ///
    /// A cached run is found by the checksums of the batches and the columns, not by the table
    /// alone. So a buffer that a refused transaction put into the cache is never used for other
    /// data.
    pub(super) fn buffer(
        &self,
        table: &[u8],
        batches: &[(Vec<u8>, Vec<u8>)],
        layouts: &Layouts,
    ) -> Result<Vec<Arc<MemoryRun>>> {
        let schema = layouts.table();
        let mut sums = Vec::with_capacity(batches.len() * 12);
        for column in schema.columns() {
            sums.extend_from_slice(&(column.name.len() as u64).to_be_bytes());
            sums.extend_from_slice(column.name.as_bytes());
            sums.extend_from_slice(&[column.data_type as u8, column.column_type as u8]);
        }
        // Where the columns are in the batches, so that two histories that end with the same
        // columns are different keys.
        let revisions: BTreeSet<u64> = batches.iter().map(|(_, row)| batch_revision(row)).collect();
        for revision in revisions.into_iter().filter(|revision| *revision < schema.revision()) {
            sums.extend_from_slice(&revision.to_be_bytes());
            for source in layouts.at(revision)?.sources.iter().flat_map(|sources| sources.iter()) {
                let source = source.map_or(u64::MAX, |at| at as u64);
                sums.extend_from_slice(&source.to_be_bytes());
            }
        }
        for (key, bytes) in batches {
            sums.extend_from_slice(&number_of(key).to_be_bytes());
            sums.extend_from_slice(bytes.get(16..20).unwrap_or_default());
        }
        let first = batches.first().map_or(0, |(key, _)| number_of(key));
        let wanted = (first, xxh3_64(&sums));
        if let Some(known) = self.buffers.get(table).filter(|known| known.key == wanted) {
            return Ok(known.runs);
        }
        let run = |stretch: &[(Vec<u8>, Vec<u8>)]| {
            let decoded = stretch
                .iter()
                .map(|(_, bytes)| {
                    let layout = layouts.at(batch_revision(bytes))?;
                    layout.adapt(schema, decode_batch(&layout.stored, bytes)?)
                })
                .collect::<Result<Vec<_>>>()?;
            let first = stretch.first().map_or(0, |(key, _)| number_of(key));
            MemoryRun::new(schema, &decoded, first).map(Arc::new)
        };
        let runs = stretches(batches).into_iter().map(run).collect::<Result<Vec<_>>>()?;
        let bytes = runs.iter().map(|run| batch_bytes(run.batch())).sum();
        self.buffers.insert(table.to_vec(), KeptBuffer { key: wanted, bytes, runs: runs.clone() });
        Ok(runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    use crate::columnar::{SegmentWriter, TableSchema, encode_batch};
    use crate::disk::MemoryDisk;
    use crate::model::tables::data::{ColumnType, DataType, column};

    /// A segment of one row.
    fn segment(disk: &SharedDisk, id: u64, schema: &Arc<TableSchema>) -> Arc<Segment> {
        let mut writer = SegmentWriter::new(disk.clone(), "t", id, schema.clone(), id).unwrap();
        let index: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        writer.write(&RecordBatch::try_from_iter([("t", index)]).unwrap(), None).unwrap();
        Arc::new(Segment::open(disk, "t", writer.finish().unwrap(), schema.clone()).unwrap())
    }

    #[test]
    fn opened_rows_are_those_of_one_commit_and_hold_no_file_that_goes() {
        let columns = vec![column("t", DataType::Int64, ColumnType::Index)];
        let schema = Arc::new(TableSchema::with_default_limit(columns).unwrap());
        let disk: SharedDisk = Arc::new(MemoryDisk::default());
        disk.create_dir_all("t").unwrap();
        let rows = |ids: Range<u64>| {
            let runs = ids.map(|id| segment(&disk, id, &schema).into()).collect();
            Arc::new(TableView::new(schema.clone(), runs))
        };
        let cache = TableCache::default();
        let known = |sequence| cache.opened("a", sequence).map(|rows| rows.runs().len());
        cache.keep_opened("a", 7, &rows(1..3));
        cache.keep_opened("b", 7, &rows(3..4));
        assert_eq!((known(6), known(7), known(8)), (None, Some(2), None));
        cache.keep_opened("a", 8, &rows(4..5));
        assert_eq!((known(7), known(8)), (None, Some(1)));
        assert!(cache.release(&format!("tables/x/{:016x}{SUMMARY_SUFFIX}", 3)));
        assert!(cache.opened("b", 7).is_none() && known(8) == Some(1));
        // More segments than may be kept open.
        cache.keep_opened("a", 9, &rows(10..10 + OPENED_RUNS as u64));
        assert_eq!(known(9), Some(OPENED_RUNS));
        cache.keep_opened("a", 10, &rows(200..201 + OPENED_RUNS as u64));
        assert_eq!((known(9), known(10)), (None, None));
    }

    fn kept_bytes(cache: &TableCache) -> usize {
        cache.buffers.iter().map(|(_, kept)| kept.bytes).sum()
    }

    #[test]
    fn kept_buffers_are_bounded_by_their_bytes() {
        let columns = vec![
            column("t", DataType::Int64, ColumnType::Index),
            column("s", DataType::String, ColumnType::Normal),
        ];
        let schema = Arc::new(TableSchema::with_default_limit(columns).unwrap());
        let layouts = Layouts::unchanged(schema.clone());
        let batches = |text_bytes: usize| {
            let index: ArrayRef = Arc::new(Int64Array::from(vec![1]));
            let text: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(text_bytes)]));
            let batch = RecordBatch::try_from_iter([("t", index), ("s", text)]).unwrap();
            vec![(vec![0; 8], encode_batch(&schema, &batch).unwrap())]
        };
        let cache = TableCache::default();
        let third = batches(KEPT_BYTES / 3);
        for table in 0..7 {
            cache.buffer(&[table], &third, &layouts).unwrap();
            assert!(cache.buffers.contains_key(&[table][..]), "the newest");
            assert!(kept_bytes(&cache) <= KEPT_BYTES, "{} buffers", cache.buffers.len());
        }
        assert_eq!(cache.buffers.len(), 2);
        // The same table again replaces its earlier buffer.
        let small = batches(10);
        for table in [5, 6, 6, 8, 9] {
            cache.buffer(&[table], &small, &layouts).unwrap();
        }
        assert_eq!(cache.buffers.len(), 4);
        assert!(kept_bytes(&cache) < KEPT_BYTES / 3, "the large ones are gone");
        // One that is larger than the bound is kept, alone.
        let part = |number: u64| (number.to_be_bytes().to_vec(), third[0].1.clone());
        cache.buffer(&[10], &(0..4).map(part).collect::<Vec<_>>(), &layouts).unwrap();
        assert!(kept_bytes(&cache) > KEPT_BYTES);
        assert_eq!(cache.buffers.iter().map(|(table, _)| table).collect::<Vec<_>>(), [[10]]);
        // Small ones are bounded by their number.
        for table in 11..=11 + 2 * KEPT_BUFFERS as u8 {
            cache.buffer(&[table], &small, &layouts).unwrap();
            assert!(
                cache.buffers.contains_key(&[table][..]) && cache.buffers.len() <= KEPT_BUFFERS
            );
        }
    }
}
