//! Appends: small ones go to the buffer of the table, large ones directly to segments. Each append
//! is one commit.

use std::sync::Arc;

use serde_json::json;

use crate::arrow::array::RecordBatch;
use crate::arrow::error::ArrowError;
use crate::columnar::{TableSchema, batch_bytes, coerce_batch, encode_batch};
use crate::error::{Error, ErrorKind, Result};
use crate::model::Resource;
use crate::model::tables::table::TableMetadata;
use crate::services::tables::metadata::found;
use crate::session::tables::{
    self as session_tables, NewSegments, Rewrite, SORT_ROWS, SegmentSink,
};
use crate::session::{Access, Draft, Identity, Session, What};
use crate::value::{Control, guarded};

/// Rows of one encoded batch of the buffer.
const BATCH_ROWS: usize = 16 * 1024;
/// Cells that are converted together: a batch of a table with many columns is split into pieces.
const PUSH_CELLS: usize = 4 * 1024 * 1024;
/// Bytes in memory above which an append goes directly to segments.
const LARGE_BYTES: usize = 32 * 1024 * 1024;
/// With a maintenance thread, an append seals the buffer itself only if the buffer is this many
/// times larger than its limit. Otherwise the append seals it at the limit.
const LATE_FACTOR: u64 = 4;

/// The rows of one append, while they arrive.
pub(in crate::services) struct Rest<'a, A> {
    access: &'a A,
    id: String,
    schema: Arc<TableSchema>,
    rows_max: u64,
    rows: u64,
    bytes: usize,
    batches: Vec<RecordBatch>,
    sink: Option<SegmentSink<'a, A>>,
}

/// The rows of one append, ready to be committed.
pub(in crate::services) struct Arrived {
    rows: u64,
    segments: NewSegments,
    encoded: Vec<(u64, Vec<u8>)>,
}

impl<'a, A: Access> Rest<'a, A> {
    /// `row_count` is the number of rows that the table already has.
    pub(in crate::services) fn new(
        access: &'a A,
        id: &str,
        schema: Arc<TableSchema>,
        row_count: u64,
    ) -> Self {
        let rows_max = access.context().settings().table_rows_max.saturating_sub(row_count);
        // The directory of the segments is named by the id as the store writes it: in lower case.
        let id = id.to_ascii_lowercase();
        Self { access, id, schema, rows_max, rows: 0, bytes: 0, batches: Vec::new(), sink: None }
    }

    pub(in crate::services) fn schema(&self) -> &Arc<TableSchema> {
        &self.schema
    }

    pub(in crate::services) fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds a batch with another schema; its first row is row `first_row` of the append.
    pub(in crate::services) fn push_foreign(
        &mut self,
        batch: &RecordBatch,
        first_row: u64,
    ) -> Result<()> {
        // Converted in pieces, to bound memory: missing columns are filled with nulls, and
        // dictionaries are unpacked.
        let step = (PUSH_CELLS / self.schema.len().max(1)).max(1);
        for at in (0..batch.num_rows().max(1)).step_by(step) {
            let piece = batch.slice(at, step.min(batch.num_rows() - at));
            let schema = self.schema.clone();
            self.push(coerce_batch(&schema, &piece, first_row + at as u64)?)?;
        }
        Ok(())
    }

    /// Adds a batch that has the schema of the table.
    pub(in crate::services) fn push(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.access.context().check_deadline()?;
        self.rows += batch.num_rows() as u64;
        if self.rows > self.rows_max {
            return Err(too_many_rows(&self.id, self.access.context().settings().table_rows_max));
        }
        if let Some(sink) = &mut self.sink {
            return sink.push(batch);
        }
        self.bytes += batch_bytes(&batch);
        self.batches.push(batch);
        // Inside a transaction every row is buffered: a segment file could not be rolled back with
        // the transaction.
        let is_large = self.rows >= SORT_ROWS as u64 || self.bytes >= LARGE_BYTES;
        if is_large && !self.access.is_transaction() {
            let mut sink = SegmentSink::new(self.access, &self.id, self.schema.clone());
            for batch in std::mem::take(&mut self.batches) {
                sink.push(batch)?;
            }
            self.sink = Some(sink);
        }
        Ok(())
    }

    pub(in crate::services) fn finish(mut self) -> Result<Arrived> {
        let segments = self.sink.take().map(SegmentSink::finish).transpose()?.unwrap_or_default();
        let mut encoded = Vec::new();
        for batch in &self.batches {
            for at in (0..batch.num_rows()).step_by(BATCH_ROWS) {
                encode_parts(
                    &self.schema,
                    batch.slice(at, BATCH_ROWS.min(batch.num_rows() - at)),
                    &mut encoded,
                )?;
            }
        }
        Ok(Arrived { rows: self.rows, segments, encoded })
    }
}

/// Encodes rows for the buffer, split so that no batch is too large.
fn encode_parts(
    schema: &TableSchema,
    rows: RecordBatch,
    out: &mut Vec<(u64, Vec<u8>)>,
) -> Result<()> {
    let count = rows.num_rows();
    match encode_batch(schema, &rows) {
        Ok(bytes) => out.push((count as u64, bytes)),
        Err(error) if error.kind() == ErrorKind::LimitExceeded && count > 1 => {
            encode_parts(schema, rows.slice(0, count / 2), out)?;
            encode_parts(schema, rows.slice(count / 2, count - count / 2), out)?;
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

fn too_many_rows(id: &str, row_limit: u64) -> Error {
    Error::limit(format!("the table would have more than {row_limit} rows, the limit of one table"))
        .with_name("DataFrame.TooManyRows", None)
        .with_resource(TableMetadata::KIND.name, id)
}

/// The error of a batch that the caller's reader did not give. What the reader says is the source,
/// since it has terms of its code; what the caller's own code says stays.
pub(in crate::services) fn unreadable(batches_before: usize, error: ArrowError) -> Error {
    let own = match &error {
        ArrowError::ExternalError(own) => format!(": {own}"),
        _ => String::new(),
    };
    let number = batches_before + 1;
    Error::invalid(format!("batch {number} of those to append cannot be read{own}"))
        .with_source(error)
}

/// Rejects an Arrow append with neither batches nor `endOfData`.
pub(in crate::services) fn require_batches(count: usize, end_of_data: Option<bool>) -> Result<()> {
    if count == 0 && end_of_data.is_none() {
        return Err(
            Error::invalid("an append without batches needs endOfData").at_member("endOfData")
        );
    }
    Ok(())
}

fn check_open(table: &TableMetadata) -> Result<()> {
    if table.supports_append == Some(false) {
        return Err(Error::conflict(
            "the table is closed: its end of data was declared, so rows cannot be appended",
        )
        .with_name("DataFrame.TableClosed", None)
        .with_resource(TableMetadata::KIND.name, table.id()));
    }
    Ok(())
}

/// Appends the rows that `fill` pushes, and closes the table if requested.
pub(in crate::services) fn append<'a, A: Access>(
    access: &'a A,
    id: &str,
    end_of_data: bool,
    fill: impl FnOnce(&mut Rest<'a, A>) -> Result<()>,
) -> Result<()> {
    let (table, schema) = access.read(|view| {
        let table = found(id, view.get::<TableMetadata>(id)?)?;
        let layouts = session_tables::layouts_of(view, &table)?;
        Ok((table, layouts.table().clone()))
    })?;
    check_open(&table)?;
    let mut rest =
        Rest::new(access, table.id(), schema, table.row_count.unwrap_or_default().unsigned_abs());
    fill(&mut rest)?;
    if rest.rows == 0 && !end_of_data {
        return Ok(());
    }
    let arrived = rest.finish()?;
    let id = table.id().to_owned();
    // Only the state of the table is read: an append does not change its columns, and there may be
    // many. If they have changed meanwhile, the rows still have the revision with which they were
    // encoded.
    commit(access, table.id(), arrived, end_of_data, move |draft| {
        found(&id, draft.get_state::<TableMetadata>(&id)?)
    })
}

/// Commits the rows to the table that `table` finds or creates.
///
/// What must hold: segment files are complete and synced before the commit that adds them to the
/// manifest. Whether the table is open and how many rows it has is checked again here, in the write
/// turn: other appends may have committed since the caller read the table. `settle` comes after the
/// write, because only its outcome decides whether the files are kept or removed.
pub(in crate::services) fn commit<A: Access>(
    access: &A,
    id: &str,
    arrived: Arrived,
    end_of_data: bool,
    table: impl FnOnce(&mut Draft<'_>) -> Result<TableMetadata> + Send + 'static,
) -> Result<()> {
    let Arrived { rows, segments, encoded } = arrived;
    let metas = segments.metas().to_vec();
    let outcome = access.write(move |draft| {
        let mut table = table(draft)?;
        check_open(&table)?;
        let settings = draft.context().settings();
        let (row_limit, seal_rows, seal_bytes) =
            (settings.table_rows_max, settings.seal_rows, settings.seal_bytes);
        let is_threaded = settings.maintenance_thread;
        let total = table.row_count.unwrap_or_default().unsigned_abs().saturating_add(rows);
        if total > row_limit {
            return Err(too_many_rows(table.id(), row_limit));
        }
        let mut is_due = false;
        if !metas.is_empty() {
            session_tables::add_segments(draft, &table, metas)?;
        } else if !encoded.is_empty() {
            let state = session_tables::buffer_batches(draft, &table, encoded)?;
            let factor = if is_threaded { LATE_FACTOR } else { 1 };
            is_due = state.buffered_rows >= seal_rows.saturating_mul(factor)
                || state.buffered_bytes >= seal_bytes.saturating_mul(factor);
        }
        if rows > 0 {
            table.row_count = Some(i64::try_from(total).unwrap_or(i64::MAX));
            table.rows_modified_at = table.rows_modified_at.max(Some(draft.now()));
        }
        if end_of_data {
            table.supports_append = Some(false);
        }
        // An import without rows only creates its table.
        if rows > 0 || end_of_data {
            if rows > 0 {
                draft.put_state(&table, What::RowsAppended, Some(json!({ "rowCount": rows })))?;
            }
            if end_of_data {
                draft.put_state(&table, What::Closed, None)?;
            }
        }
        Ok(is_due)
    });
    let is_due = segments.settle(outcome)?;
    if (is_due || end_of_data) && !access.is_transaction() {
        // The rows are durable already. If sealing fails, maintenance repeats it.
        let session = Session::new(access.context().engine.clone(), Identity::user("stationdb"));
        let control = Control::default();
        let _ = guarded("sealing a table", || {
            session_tables::seal(&session, id, &control)?;
            if end_of_data {
                session_tables::merge(&session, id, Rewrite::Due, &control)
            } else {
                Ok(false)
            }
        });
    }
    Ok(())
}
