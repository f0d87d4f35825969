//! Writers of new segments: the sink of a large append, and the cleanup of files that no commit
//! names.

use std::sync::Arc;

use super::SEGMENT_ROWS;
use super::state::directory;
use crate::arrow::array::RecordBatch;
use crate::columnar::{
    MemoryRun, SegmentMeta, SegmentWriter, TableSchema, batch_bytes, data_name, index_values,
    summary_name,
};
use crate::disk::SharedDisk;
use crate::error::{Error, ErrorKind, Result};
use crate::records::Space;
use crate::session::access::sessions::Access;
use crate::session::lock::lock;

const SEGMENT_COUNTER: &str = "segments";
/// Number of segment numbers that are reserved in the record file at once.
const RESERVED_IDS: u64 = 64;
/// Rows that are sorted together before they are written to a segment.
pub(crate) const SORT_ROWS: usize = 256 * 1024;
/// Bytes in memory that are sorted together at most, for wide rows.
const SORT_BYTES: usize = 128 * 1024 * 1024;

pub(super) fn new_segment_id(session: &impl Access) -> Result<u64> {
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

/// The last index value of batches, if their rows are in index order and follow a row with the
/// index value `end`.
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

/// Starts a segment of a table, and creates its directory. The files are removed when `NewSegments`
/// is dropped, unless it is settled.
pub(crate) fn new_writer(
    session: &impl Access,
    id: &str,
    schema: &Arc<TableSchema>,
    first_ordinal: u64,
) -> Result<(NewSegments, SegmentWriter)> {
    let number = new_segment_id(session)?;
    let mut files = NewSegments::of(session, id);
    files.started.push(number);
    let writer = writer_of(session, id, schema, number, first_ordinal)?;
    // The order of the tuple matters. Variables are dropped in reverse order of their declaration,
    // so the writer closes the files before `NewSegments` removes them.
    Ok((files, writer))
}

fn writer_of(
    session: &impl Access,
    id: &str,
    schema: &Arc<TableSchema>,
    number: u64,
    first_ordinal: u64,
) -> Result<SegmentWriter> {
    let disk = session.context().engine.disk.clone();
    let dir = directory(id);
    let attempt = |error| Error::io(format_args!("creating the directory {dir}"), error);
    {
        // Locked during the syncs. Otherwise a second caller, or one after a failure, would find a
        // directory whose name may not be durable, and rely on it.
        let mut unsynced = lock(&session.context().engine.tables.unsynced);
        if unsynced.contains(&dir) || !disk.exists(&dir).map_err(attempt)? {
            unsynced.insert(dir.clone());
            disk.create_dir_all(&dir).map_err(attempt)?;
            disk.sync_dir("tables").map_err(attempt)?;
            disk.sync_dir("").map_err(attempt)?;
            unsynced.remove(&dir);
        }
    }
    SegmentWriter::new(disk, &dir, number, schema.clone(), first_ordinal)
}

/// Writes the rows of one large append into segments.
pub(crate) struct SegmentSink<'a, A> {
    session: &'a A,
    id: String,
    schema: Arc<TableSchema>,
    pending: Vec<RecordBatch>,
    pending_rows: usize,
    pending_bytes: usize,
    writer: Option<(SegmentWriter, i64)>,
    done: NewSegments,
}

/// Written segments that no commit names yet; their files are removed on drop, unless they are
/// kept.
#[derive(Debug, Default)]
pub(crate) struct NewSegments {
    metas: Vec<SegmentMeta>,
    started: Vec<u64>,
    place: Option<(SharedDisk, String)>,
}

impl NewSegments {
    /// An empty list for a table.
    pub(super) fn of(session: &impl Access, id: &str) -> Self {
        let place = Some((session.context().engine.disk.clone(), directory(id)));
        Self { metas: Vec::new(), started: Vec::new(), place }
    }

    /// Decides about the files by the outcome of the commit that names them: they are kept if it
    /// succeeded, or if it may have.
    pub(crate) fn settle<T>(self, written: Result<T>) -> Result<T> {
        match &written {
            Err(error)
                if !matches!(error.kind(), ErrorKind::OutcomeUnknown | ErrorKind::Latched) => {}
            _ => self.keep(),
        }
        written
    }

    /// The segments, in order of append.
    pub(crate) fn metas(&self) -> &[SegmentMeta] {
        &self.metas
    }

    /// Keeps the files: a commit names them.
    fn keep(mut self) {
        self.started.clear();
    }
}

impl Drop for NewSegments {
    fn drop(&mut self) {
        let Some((disk, dir)) = &self.place else { return };
        for id in &self.started {
            // The next opening of the store sweeps files that could not be removed.
            let _ = disk.remove_file(&format!("{dir}/{}", data_name(*id)));
            let _ = disk.remove_file(&format!("{dir}/{}", summary_name(*id)));
        }
    }
}

impl<'a, A: Access> SegmentSink<'a, A> {
    pub(crate) fn new(session: &'a A, id: &str, schema: Arc<TableSchema>) -> Self {
        Self {
            session,
            id: id.to_owned(),
            schema,
            pending: Vec::new(),
            pending_rows: 0,
            pending_bytes: 0,
            writer: None,
            done: NewSegments::of(session, id),
        }
    }

    pub(crate) fn push(&mut self, batch: RecordBatch) -> Result<()> {
        self.pending_rows += batch.num_rows();
        self.pending_bytes += batch_bytes(&batch);
        self.pending.push(batch);
        if self.pending_rows >= SORT_ROWS || self.pending_bytes >= SORT_BYTES {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> Result<()> {
        if self.pending_rows == 0 {
            return Ok(());
        }
        // A long append must not use the space that commits of others need.
        self.session.context().engine.check_space(self.pending_bytes.min(SORT_BYTES) as u64)?;
        let pending = std::mem::take(&mut self.pending);
        let rows = std::mem::take(&mut self.pending_rows) as u64;
        self.pending_bytes = 0;
        if let Some((writer, end)) = &mut self.writer
            && let Some(greatest) = follows(&self.schema, &pending, *end)?
            && writer.row_count() + rows < SEGMENT_ROWS
        {
            // Already in index order: written without sorting or copying.
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
        // A sorted run continues the open segment only if it was appended in index order and starts
        // at or after the segment's last index value. Otherwise the segment would not be sorted.
        let fits = |(writer, end): &(SegmentWriter, i64)| {
            let rows = writer.row_count() + run.index().len() as u64;
            run.ordinals().is_none() && *end <= least && rows < SEGMENT_ROWS
        };
        if !self.writer.as_ref().is_some_and(fits) {
            self.close()?;
            let id = new_segment_id(self.session)?;
            self.done.started.push(id);
            self.writer = Some((writer_of(self.session, &self.id, &self.schema, id, 0)?, i64::MIN));
        }
        if let Some((writer, end)) = &mut self.writer {
            writer.write(run.batch(), run.ordinals())?;
            *end = greatest;
        }
        Ok(())
    }

    /// Ends the segment: rows that come later go into another one.
    pub(super) fn end_segment(&mut self) -> Result<()> {
        self.flush()?;
        self.close()
    }

    fn close(&mut self) -> Result<()> {
        if let Some((writer, _)) = self.writer.take() {
            self.done.metas.push(writer.finish()?);
        }
        Ok(())
    }

    /// Writes the rest, and returns the synced segments in order of append.
    pub(crate) fn finish(mut self) -> Result<NewSegments> {
        self.flush()?;
        self.close()?;
        Ok(std::mem::take(&mut self.done))
    }
}
