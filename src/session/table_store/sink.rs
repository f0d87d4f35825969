//! Rows on their way into new segments.

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::{SEGMENT_ROWS, directory};
use crate::columnar::{MemoryRun, SegmentMeta, SegmentWriter, TableSchema, index_values};
use crate::error::{Error, Result};
use crate::records::Space;
use crate::session::access::Access;
use crate::session::engine::lock;

const SEGMENT_COUNTER: &str = "segments";
/// Segment numbers that are drawn from the record file at once.
const RESERVED_IDS: u64 = 64;
/// Rows that are sorted together before they go to a segment.
pub(crate) const SORT_ROWS: usize = 256 * 1024;

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

/// The last index value of batches, when their rows stand in index order behind a row with the index value `end`.
fn follows(schema: &TableSchema, batches: &[RecordBatch], end: i64) -> Result<Option<i64>> {
    let mut end = end;
    for batch in batches {
        let values = index_values(batch.column(schema.index()))?;
        if values.first().is_some_and(|first| *first < end) || !values.is_sorted() {
            return Ok(None);
        }
        end = values.last().copied().unwrap_or(end);
    }
    Ok(Some(end))
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
        let pending = std::mem::take(&mut self.pending);
        let rows = std::mem::take(&mut self.pending_rows) as u64;
        if let Some((writer, end)) = &mut self.writer
            && let Some(greatest) = follows(&self.schema, &pending, *end)?
            && writer.row_count() + rows < SEGMENT_ROWS
        {
            // Nothing to sort, so nothing to copy.
            for batch in &pending {
                writer.write(batch, None)?;
            }
            *end = greatest;
            return Ok(());
        }
        let run = MemoryRun::new(&self.schema, &pending, 0)?;
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
