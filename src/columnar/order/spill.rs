//! Sorts more rows than fit in memory: writes sorted runs to temporary files, then merges them.
//!
//! Only the process that wrote the files reads them, so they are not synced. They are removed when
//! the sort is dropped; files that a crash leaves are removed when the store is opened.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::select::{key_rows, keys, order_arrays, pieces, with_order};
use crate::arrow::array::{
    ArrayRef, AsArray, BinaryArray, RecordBatch, RecordBatchOptions, UInt32Array, UInt64Array,
};
use crate::arrow::compute::{concat_batches, interleave_record_batch, take_record_batch};
use crate::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type};
use crate::arrow::error::ArrowError;
use crate::arrow::ipc::reader::StreamReader;
use crate::arrow::ipc::writer::StreamWriter;
use crate::columnar::read::row_query::{RowQuery, SpillPlace};
use crate::columnar::read::unit;
use crate::columnar::read::view::TableView;
use crate::columnar::schema::misfit;
use crate::columnar::write::buffer::batch_bytes;
use crate::disk::{DiskFile, Mode, SharedDisk};
use crate::error::{Error, ErrorKind, Result};
use crate::value::Control;
use crate::value::budget::Reservation;

/// Rows and bytes of one block of a run. During the merge one block of each run is in memory.
const BLOCK_ROWS: usize = 4 * 1024;
const BLOCK_BYTES: usize = 1024 * 1024;
/// Rows and bytes of one batch of the result.
const MERGED_ROWS: usize = 8 * 1024;
const MERGED_BYTES: usize = 8 * 1024 * 1024;
/// Rows that are read together, unless their keys take too much memory.
const ROWS_TOGETHER: usize = 256 * 1024;
const FILE_BUFFER: usize = 256 * 1024;
/// A sort has three copies in memory: the rows, the sorted rows, and their encoding for the file.
const COPIES: usize = 3;

/// A file that is read or written sequentially.
struct Sequential {
    file: Arc<dyn DiskFile>,
    at: u64,
    len: u64,
}

impl Write for Sequential {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.file.write_all_at(data, self.at)?;
        self.at += data.len() as u64;
        self.len = self.at;
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Sequential {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.len - self.at).unwrap_or(usize::MAX);
        let Some(target) = out.get_mut(..left.min(out.len())).filter(|target| !target.is_empty())
        else {
            return Ok(0);
        };
        self.file.read_exact_at(target, self.at)?;
        self.at += target.len() as u64;
        Ok(target.len())
    }
}

/// Removes a temporary file when dropped.
struct Temporary {
    disk: SharedDisk,
    path: String,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // If this fails, the next open removes the file.
        let _ = self.disk.remove_file(&self.path);
    }
}

struct Run {
    reader: StreamReader<BufReader<Sequential>>,
    block: RecordBatch,
    at: usize,
    // Dropped after the reader, because the file must be closed before it is removed.
    _file: Option<Temporary>,
}

impl Run {
    fn key(&self) -> Option<(&[u8], u64)> {
        let columns = self.block.columns();
        let keys: &BinaryArray = columns.get(columns.len().checked_sub(2)?)?.as_binary_opt()?;
        let ordinals = columns.last()?.as_primitive_opt::<UInt64Type>()?;
        (self.at < self.block.num_rows()).then(|| (keys.value(self.at), ordinals.value(self.at)))
    }

    /// Moves to the next block when this one is used up; returns false at the end of the run.
    fn fill(&mut self) -> Result<bool> {
        while self.at >= self.block.num_rows() {
            match self.reader.next() {
                None => return Ok(false),
                Some(block) => (self.block, self.at) = (block.map_err(spill_error)?, 0),
            }
        }
        Ok(true)
    }
}

fn spill_error(error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, error) => Error::io("sorting in a temporary file", error),
        other => {
            Error::corrupt("a temporary file of a sort cannot be read back; run the query again")
                .with_source(other)
        }
    }
}

/// The rows that satisfy the predicates, by the order of the query and then by append ordinal.
pub(in crate::columnar) struct SpillSort {
    schema: SchemaRef,
    /// All rows, sorted, and the position of the next one, if they fit in memory.
    in_memory: Option<(RecordBatch, usize)>,
    runs: Vec<Run>,
    /// The memory of the rows or of the merge.
    _reserved: Reservation,
}

/// Bytes of a merge of so many runs: a block of each, those that are used up, and the batch.
fn merge_bytes(runs: usize) -> usize {
    runs.saturating_mul(BLOCK_BYTES + FILE_BUFFER).saturating_add(2 * MERGED_BYTES)
}

impl SpillSort {
    /// Reads and sorts all rows that satisfy the predicates. Runs beyond the memory of the query
    /// are written to files in `place`.
    pub(in crate::columnar) fn new(
        view: &TableView,
        query: &RowQuery,
        place: &SpillPlace,
        control: &Control,
    ) -> Result<Self> {
        let schema = view.schema.project(&query.columns);
        let mut fields: Vec<Field> =
            schema.fields().iter().map(|field| field.as_ref().clone()).collect();
        fields.push(Field::new("key", DataType::Binary, false));
        fields.push(Field::new("ordinal", DataType::UInt64, false));
        let mut sorter = Sorter {
            place,
            schema: Arc::new(Schema::new(fields)),
            pending: Vec::new(),
            pending_bytes: 0,
            spilled_bytes: 0,
            runs: Vec::new(),
            reserved: query.budget.reservation(),
        };
        let wanted = with_order(&query.columns, &query.order);
        let budget = (query.memory_bytes / COPIES).max(1);
        let mut rows_done = 0;
        let together = key_rows(&view.schema, &query.order, query.key_bytes(), ROWS_TOGETHER)?;
        for (run_at, rows) in pieces(view, &query.predicates, together) {
            control.check()?;
            let run = view.run(run_at)?;
            let picked = unit::pick(run, &view.schema, &query.predicates, rows, &wanted, control)?;
            if unit::row_count(&picked.ranges) == 0 {
                continue;
            }
            let batch = unit::materialise(run, &view.schema, &picked, &wanted)?;
            let arrays = order_arrays(&query.order, &wanted, &batch);
            let keys = BinaryArray::from_iter_values(keys(&query.order, &arrays)?.iter());
            let ordinals = UInt64Array::from(run.ordinals(&picked.ranges)?);
            let mut columns: Vec<ArrayRef> =
                batch.columns().iter().take(query.columns.len()).cloned().collect();
            columns.push(Arc::new(keys));
            columns.push(Arc::new(ordinals));
            rows_done += batch.num_rows() as u64;
            sorter.push(
                RecordBatch::try_new(sorter.schema.clone(), columns).map_err(misfit)?,
                budget,
                control,
            )?;
            control.report(rows_done, None, "rows");
        }
        if sorter.runs.is_empty() {
            let sorted = sorter.sorted()?;
            let mut reserved = sorter.reserved;
            reserved.hold(batch_bytes(&sorted))?;
            let in_memory = Some((sorted, 0));
            return Ok(Self { schema, in_memory, runs: Vec::new(), _reserved: reserved });
        }
        sorter.spill(control)?;
        let mut reserved = sorter.reserved;
        reserved.hold(merge_bytes(sorter.runs.len()))?;
        Ok(Self { schema, in_memory: None, runs: sorter.runs, _reserved: reserved })
    }

    /// Returns the next rows; `None` at the end.
    pub(in crate::columnar) fn next(&mut self) -> Result<Option<RecordBatch>> {
        let whole = match &mut self.in_memory {
            Some((sorted, at)) => {
                let rows = MERGED_ROWS.min(sorted.num_rows() - *at);
                let batch = sorted.slice(*at, rows);
                *at += rows;
                batch
            }
            None => self.merge()?,
        };
        if whole.num_rows() == 0 {
            return Ok(None);
        }
        // Drops the key and the ordinal.
        let columns = whole.columns().iter().take(self.schema.fields().len()).cloned().collect();
        let options = RecordBatchOptions::new().with_row_count(Some(whole.num_rows()));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
            .map(Some)
            .map_err(misfit)
    }

    /// Merges the next batch. A block that is used up stays in memory until the batch is built, so
    /// the bytes of such blocks bound the batch.
    fn merge(&mut self) -> Result<RecordBatch> {
        let mut sources: Vec<RecordBatch> = Vec::new();
        // The position of each run's block among the sources.
        let mut places: Vec<Option<usize>> = vec![None; self.runs.len()];
        let mut picks: Vec<(usize, usize)> = Vec::with_capacity(MERGED_ROWS);
        let mut source_bytes = 0;
        while picks.len() < MERGED_ROWS && source_bytes < MERGED_BYTES {
            let first = self
                .runs
                .iter()
                .enumerate()
                .filter_map(|(at, run)| run.key().map(|key| (key, at)))
                .min()
                .map(|(_, at)| at);
            let Some(at) = first else { break };
            let (Some(run), Some(place)) = (self.runs.get_mut(at), places.get_mut(at)) else {
                break;
            };
            let source = *place.get_or_insert_with(|| {
                sources.push(run.block.clone());
                sources.len() - 1
            });
            picks.push((source, run.at));
            run.at += 1;
            if run.at >= run.block.num_rows() {
                // Memory grows with the blocks that are used up; each run has one more.
                source_bytes += batch_bytes(&run.block);
                *place = None;
                run.fill()?;
            }
        }
        if sources.is_empty() {
            return Ok(RecordBatch::new_empty(self.schema.clone()));
        }
        interleave_record_batch(&sources.iter().collect::<Vec<_>>(), &picks).map_err(misfit)
    }
}

struct Sorter<'p> {
    place: &'p SpillPlace,
    schema: SchemaRef,
    pending: Vec<RecordBatch>,
    pending_bytes: usize,
    spilled_bytes: u64,
    runs: Vec<Run>,
    /// The memory of the pending rows, and of their copies while they are sorted.
    reserved: Reservation,
}

impl Sorter<'_> {
    fn push(&mut self, batch: RecordBatch, budget: usize, control: &Control) -> Result<()> {
        let bytes = batch_bytes(&batch);
        let is_over = self.pending_bytes + bytes > budget;
        // A sort that cannot have more memory goes on with what it has.
        if self.pending_bytes > 0 && (is_over || self.reserve(bytes).is_err()) {
            self.spill(control)?;
        }
        self.reserve(bytes)?;
        self.pending_bytes += bytes;
        self.pending.push(batch);
        Ok(())
    }

    /// Reserves memory for the pending rows and for `more` bytes of rows.
    fn reserve(&mut self, more: usize) -> Result<()> {
        let bytes = COPIES * (self.pending_bytes + more);
        self.reserved.hold(bytes.saturating_add(self.runs.len() * (BLOCK_BYTES + FILE_BUFFER)))
    }

    fn sorted(&mut self) -> Result<RecordBatch> {
        self.pending_bytes = 0;
        let whole =
            concat_batches(&self.schema, &std::mem::take(&mut self.pending)).map_err(misfit)?;
        let mut order: Vec<u32> = (0..whole.num_rows() as u32).collect();
        let columns = whole.columns();
        if let [.., keys, ordinals] = columns {
            let keys: &BinaryArray = keys.as_binary();
            let ordinals = ordinals.as_primitive::<UInt64Type>();
            order.sort_unstable_by_key(|&row| {
                (keys.value(row as usize), ordinals.value(row as usize))
            });
        }
        take_record_batch(&whole, &UInt32Array::from(order)).map_err(misfit)
    }

    /// Fails if a run, with those before it, takes more than a sort may.
    fn check_room(&self, run_bytes: u64) -> Result<()> {
        if self.spilled_bytes.saturating_add(run_bytes) > self.place.bytes_max {
            return Err(Error::limit(format!(
                "the sort needs more than the {} bytes that one may take in temporary files; ask \
                 for fewer rows or columns, or sort by the index column",
                self.place.bytes_max
            )));
        }
        Ok(())
    }

    /// Refuses a run that would leave the disk less than the reserve.
    fn check_disk(&self, run_bytes: u64) -> Result<()> {
        let free = self.place.disk.free_bytes();
        let free =
            free.map_err(|error| Error::io("asking how much space is left for a sort", error))?;
        let needed = self.place.reserve_bytes.saturating_add(run_bytes);
        if free.is_some_and(|free| free < needed) {
            return Err(Error::new(
                ErrorKind::NoSpace,
                format!(
                    "the disk has {} bytes left, and the sort wants {run_bytes} in temporary files \
                     beside the reserve of {}; ask for fewer rows or columns, sort by the index \
                     column, or make room on the disk",
                    free.unwrap_or_default(),
                    self.place.reserve_bytes
                ),
            ));
        }
        Ok(())
    }

    fn spill(&mut self, control: &Control) -> Result<()> {
        let attempt = |error| Error::io("sorting in a temporary file", error);
        // Before the sort, so that one that has no room costs nothing more.
        self.check_disk(self.pending_bytes as u64)?;
        let sorted = self.sorted()?;
        let SpillPlace { disk, dir, numbers, .. } = self.place;
        disk.create_dir_all(dir).map_err(attempt)?;
        let path = format!("{dir}/{:016x}.sort", numbers.fetch_add(1, Ordering::Relaxed));
        let file: Arc<dyn DiskFile> =
            Arc::from(disk.open(&path, Mode::CreateNew).map_err(attempt)?);
        let temporary = Temporary { disk: disk.clone(), path };
        let out =
            BufWriter::with_capacity(FILE_BUFFER, Sequential { file: file.clone(), at: 0, len: 0 });
        let mut writer = StreamWriter::try_new(out, &self.schema).map_err(spill_error)?;
        let row_bytes = (batch_bytes(&sorted) / sorted.num_rows().max(1)).max(1);
        let block_rows = (BLOCK_BYTES / row_bytes).clamp(1, BLOCK_ROWS);
        for at in (0..sorted.num_rows()).step_by(block_rows) {
            control.check()?;
            writer
                .write(&sorted.slice(at, block_rows.min(sorted.num_rows() - at)))
                .map_err(spill_error)?;
            self.check_room(writer.get_ref().get_ref().len)?;
        }
        writer.finish().map_err(spill_error)?;
        let out = writer.into_inner().map_err(spill_error)?;
        let len = out.into_inner().map_err(|error| attempt(error.into_error()))?.len;
        self.check_room(len)?;
        self.spilled_bytes += len;
        let input = BufReader::with_capacity(FILE_BUFFER, Sequential { file, at: 0, len });
        let reader = StreamReader::try_new(input, None).map_err(spill_error)?;
        let mut run = Run {
            reader,
            block: RecordBatch::new_empty(self.schema.clone()),
            at: 0,
            _file: Some(temporary),
        };
        if run.fill()? {
            self.runs.push(run);
        }
        Ok(())
    }
}
