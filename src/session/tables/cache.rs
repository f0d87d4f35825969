//! What an open store keeps in memory of its tables: open segments, sorted buffers, reserved segment numbers.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use xxhash_rust::xxh3::xxh3_64;

use super::buffer::{number_of, stretches};
use crate::columnar::{
    DATA_SUFFIX, MemoryRun, SUMMARY_SUFFIX, Segment, SegmentMeta, TableSchema, batch_bytes, decode_batch,
};
use crate::disk::SharedDisk;
use crate::error::{ErrorKind, Result};
use crate::session::lock::lock;

/// Open segments that are kept.
const OPEN_SEGMENTS: usize = 256;
/// Tables whose sorted buffer is kept, and the bytes that these take together.
const KEPT_BUFFERS: usize = 64;
const KEPT_BYTES: usize = 64 * 1024 * 1024;

type BufferKey = (u64, u64);

/// A sorted buffer.
#[derive(Debug)]
struct KeptBuffer {
    key: BufferKey,
    bytes: usize,
    runs: Vec<Arc<MemoryRun>>,
}

/// What an open store keeps in memory of its tables.
#[derive(Debug, Default)]
pub(crate) struct TableCache {
    segments: Mutex<(HashMap<u64, Arc<Segment>>, VecDeque<u64>)>,
    buffers: Mutex<HashMap<Vec<u8>, KeptBuffer>>,
    pub(super) ids: Mutex<Range<u64>>,
    /// Numbers of temporary files.
    pub(super) temporary: Arc<AtomicU64>,
    /// Directories of tables that are made just now, or whose names could not be made durable.
    pub(super) unsynced: Mutex<HashSet<String>>,
    /// How often each segment is held.
    held: Arc<Mutex<HashMap<u64, usize>>>,
    /// Held while segments are sealed or merged: one at a time.
    pub(super) turn: Mutex<()>,
}

/// Segments whose files are not removed while this lives, although no file of them may be open.
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

/// The number of the segment that a data or summary file belongs to.
fn segment_of(path: &str) -> Option<u64> {
    let name = path.strip_prefix("tables/")?.rsplit('/').next()?;
    let number = name.strip_suffix(DATA_SUFFIX).or_else(|| name.strip_suffix(SUMMARY_SUFFIX))?;
    u64::from_str_radix(number, 16).ok()
}

impl TableCache {
    /// Keeps the files of these segments. Called while a snapshot that names them is alive.
    pub(super) fn hold(&self, ids: Vec<u64>) -> HeldSegments {
        let mut held = lock(&self.held);
        for id in &ids {
            *held.entry(*id).or_default() += 1;
        }
        drop(held);
        HeldSegments { held: self.held.clone(), ids }
    }

    /// Whether the file at `path` belongs to a segment that is held.
    pub(crate) fn is_held(&self, path: &str) -> bool {
        segment_of(path).is_some_and(|id| lock(&self.held).contains_key(&id))
    }

    pub(super) fn segment(
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
        let open = || Segment::open(disk, dir, meta.clone(), schema.clone());
        let opened = match open() {
            // The process may have as many files open as it can: those that nobody reads are let go.
            Err(error) if error.kind() == ErrorKind::Io => {
                *lock(&self.segments) = Default::default();
                open()
            }
            outcome => outcome,
        };
        let opened = Arc::new(opened?);
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

    /// Lets go of the segment whose file at `path` is about to be removed: an open file keeps its bytes on the disk.
    pub(crate) fn forget(&self, path: &str) {
        let Some(id) = segment_of(path) else { return };
        let mut kept = lock(&self.segments);
        let (by_id, order) = &mut *kept;
        if by_id.remove(&id).is_some() {
            order.retain(|known| *known != id);
        }
    }

    /// The buffer as sorted runs, one for each stretch. Found again by its checksums and columns, so what a refused transaction
    /// left here is never used.
    pub(super) fn buffer(
        &self,
        table: &[u8],
        batches: &[(Vec<u8>, Vec<u8>)],
        schema: &TableSchema,
    ) -> Result<Vec<Arc<MemoryRun>>> {
        let mut sums = Vec::with_capacity(batches.len() * 12);
        for column in schema.columns() {
            sums.extend_from_slice(&(column.name.len() as u64).to_be_bytes());
            sums.extend_from_slice(column.name.as_bytes());
            sums.extend_from_slice(&[column.data_type as u8, column.column_type as u8]);
        }
        for (key, bytes) in batches {
            sums.extend_from_slice(&number_of(key).to_be_bytes());
            sums.extend_from_slice(bytes.get(16..20).unwrap_or_default());
        }
        let first = batches.first().map_or(0, |(key, _)| number_of(key));
        let wanted = (first, xxh3_64(&sums));
        if let Some(known) = lock(&self.buffers).get(table).filter(|known| known.key == wanted) {
            return Ok(known.runs.clone());
        }
        let run = |stretch: &[(Vec<u8>, Vec<u8>)]| {
            let decoded = stretch.iter().map(|(_, bytes)| decode_batch(schema, bytes)).collect::<Result<Vec<_>>>()?;
            let first = stretch.first().map_or(0, |(key, _)| number_of(key));
            MemoryRun::new(schema, &decoded, first).map(Arc::new)
        };
        let runs = stretches(batches).into_iter().map(run).collect::<Result<Vec<_>>>()?;
        let mut kept = lock(&self.buffers);
        kept.remove(table);
        let bytes = runs.iter().map(|run| batch_bytes(run.batch())).sum();
        // One that is larger alone is kept alone: a walk asks for it page by page.
        let others = kept.values().fold(0, |total: usize, other| total.saturating_add(other.bytes));
        if kept.len() >= KEPT_BUFFERS || others.saturating_add(bytes) > KEPT_BYTES {
            kept.clear();
        }
        kept.insert(table.to_vec(), KeptBuffer { key: wanted, bytes, runs: runs.clone() });
        Ok(runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columnar::encode_batch;
    use crate::model::tables::data::{ColumnType, DataType, column};
    use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};

    #[test]
    fn kept_buffers_are_bounded_by_their_bytes() {
        let columns =
            vec![column("t", DataType::Int64, ColumnType::Index), column("s", DataType::String, ColumnType::Normal)];
        let schema = TableSchema::with_default_limit(columns).unwrap();
        let batches = |text_bytes: usize| {
            let index: ArrayRef = Arc::new(Int64Array::from(vec![1]));
            let text: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(text_bytes)]));
            let batch = RecordBatch::try_from_iter([("t", index), ("s", text)]).unwrap();
            vec![(vec![0; 8], encode_batch(&schema, &batch).unwrap())]
        };
        let cache = TableCache::default();
        let third = batches(KEPT_BYTES / 3);
        for table in 0..7 {
            cache.buffer(&[table], &third, &schema).unwrap();
            let kept = lock(&cache.buffers);
            assert!(kept.contains_key(&[table][..]));
            assert!(kept.values().map(|kept| kept.bytes).sum::<usize>() <= KEPT_BYTES, "{} buffers", kept.len());
        }
        assert_eq!(lock(&cache.buffers).len(), 1);
        // The same table again takes the place of what it had.
        let small = batches(10);
        for table in [6, 6, 8, 9] {
            cache.buffer(&[table], &small, &schema).unwrap();
        }
        assert_eq!(lock(&cache.buffers).len(), 3);
    }
}
