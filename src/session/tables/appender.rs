//! Appends of any size, each in one commit: small ones go to the buffer of their table, large ones
//! directly to segments.

use std::sync::Arc;

use super::append::{PreparedRows, append_rows, check_open, too_many_rows};
use super::cache::Numbering;
use super::merge::{Rewrite, merge};
use super::seal::seal;
use super::sink::{NewSegments, SORT_ROWS, SegmentSink};
use super::state::{key_of, next_ordinal_in};
use crate::arrow::array::RecordBatch;
use crate::columnar::{TableSchema, batch_bytes, coerce_batch, is_numbered};
use crate::error::{Error, Result};
use crate::model::Resource;
use crate::model::tables::table::TableMetadata;
use crate::session::access::sessions::{Access, Session};
use crate::session::write::draft::Draft;
use crate::value::{Control, guarded};

/// Cells that are converted together: a batch of a table with many columns is split into pieces.
const PUSH_CELLS: usize = 4 * 1024 * 1024;
/// Bytes in memory above which an append goes directly to segments.
const LARGE_BYTES: usize = 32 * 1024 * 1024;

/// Collects the rows of one append.
pub(crate) struct Appender<'a, A> {
    access: &'a A,
    id: String,
    schema: Arc<TableSchema>,
    rows_max: u64,
    rows: u64,
    bytes: usize,
    batches: Vec<RecordBatch>,
    sink: Option<SegmentSink<'a, A>>,
    numbering: Option<Numbering>,
    /// Bytes in memory above which the rows go directly to segments.
    memory: usize,
}

/// The rows of one append, before their commit. The files of their segments are removed on drop.
pub(crate) struct StagedRows<'a, A> {
    access: &'a A,
    id: String,
    rows: PreparedRows,
    files: NewSegments,
    /// Held until the rows are committed.
    _numbering: Option<Numbering>,
}

impl<'a, A: Access> Appender<'a, A> {
    /// Begins an append to a table.
    ///
    /// # Errors
    /// `Conflict` for a closed table.
    pub(crate) fn to(
        access: &'a A,
        table: &TableMetadata,
        schema: Arc<TableSchema>,
    ) -> Result<Self> {
        check_open(table)?;
        let mut appender = Self::to_new(access, table.id(), schema);
        let rows = table.row_count.unwrap_or_default().unsigned_abs();
        appender.rows_max = appender.rows_max.saturating_sub(rows);
        Ok(appender)
    }

    /// Begins an append to a table that its commit creates.
    pub(crate) fn to_new(access: &'a A, id: &str, schema: Arc<TableSchema>) -> Self {
        let rows_max = access.context().settings().table_rows_max;
        // The directory of the segments is named by the id as the store writes it: in lower case.
        let id = id.to_ascii_lowercase();
        Self {
            access,
            id,
            schema,
            rows_max,
            rows: 0,
            bytes: 0,
            batches: Vec::new(),
            sink: None,
            numbering: None,
            memory: LARGE_BYTES,
        }
    }

    /// Lets the rows take less memory by those of other appends of the same commit.
    #[must_use]
    pub(crate) fn beside(mut self, bytes: usize) -> Self {
        self.memory = LARGE_BYTES.saturating_sub(bytes);
        self
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn schema(&self) -> &Arc<TableSchema> {
        &self.schema
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds a batch with another schema. Its first row follows those that were added before.
    pub(crate) fn push_foreign(&mut self, batch: &RecordBatch) -> Result<()> {
        let schema = self.schema.clone();
        self.push_each(batch, &mut |piece, row| coerce_batch(&schema, piece, row))
    }

    /// Adds a batch that `convert` makes one of the table. It takes a piece, and the row of its
    /// first one.
    pub(super) fn push_each(
        &mut self,
        batch: &RecordBatch,
        convert: &mut dyn FnMut(&RecordBatch, u64) -> Result<RecordBatch>,
    ) -> Result<()> {
        // Converted in pieces, to bound memory: missing columns are filled with nulls, and
        // dictionaries are unpacked.
        let step = (PUSH_CELLS / self.schema.len().max(1)).max(1);
        for at in (0..batch.num_rows().max(1)).step_by(step) {
            let piece = batch.slice(at, step.min(batch.num_rows() - at));
            let converted = convert(&piece, self.rows)?;
            self.push(converted)?;
        }
        Ok(())
    }

    /// Adds a batch that has the schema of the table.
    pub(crate) fn push(&mut self, batch: RecordBatch) -> Result<()> {
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
        let is_large = self.rows >= SORT_ROWS as u64 || self.bytes >= self.memory;
        if is_large && !self.access.is_transaction() {
            let mut sink = SegmentSink::new(self.access, &self.id, self.schema.clone());
            for batch in std::mem::take(&mut self.batches) {
                sink.push(batch)?;
            }
            self.sink = Some(sink);
        }
        Ok(())
    }

    /// Lets this append number the rows of a table whose index has their numbers, from the number
    /// that it returns; `None` for a table that is gone.
    ///
    /// # Errors
    /// `Conflict` while another append numbers rows of the table.
    pub(crate) fn number_rows(&mut self) -> Result<Option<u64>> {
        if !is_numbered(self.schema.column(self.schema.index())?) {
            return Ok(Some(0));
        }
        let key = key_of(&self.id)?;
        let numbering = self.access.context().engine.tables.number(key).ok_or_else(|| {
            Error::conflict(
                "another import numbers rows of this table, and two at once would repeat numbers; \
                 import again when it is done",
            )
            .with_resource(TableMetadata::KIND.name, &self.id)
        })?;
        self.numbering = Some(numbering);
        self.access.read(|view| {
            let table = view.any_by_key::<TableMetadata>(key)?;
            table.map(|table| next_ordinal_in(view, &table)).transpose()
        })
    }

    /// Prepares the rows for their commit.
    pub(crate) fn finish(self) -> Result<StagedRows<'a, A>> {
        let Self { access, id, schema, rows: count, batches, sink, numbering, .. } = self;
        let files = sink.map(SegmentSink::finish).transpose()?.unwrap_or_default();
        let segments = files.metas().to_vec();
        let rows = if segments.is_empty() {
            PreparedRows::encoded(&schema, &batches)?
        } else {
            PreparedRows { count, segments, ..PreparedRows::default() }
        };
        Ok(StagedRows { access, id, rows, files, _numbering: numbering })
    }
}

/// Rows of a table that is created with them, in memory.
#[derive(Debug)]
pub(crate) struct NewRows {
    rows: PreparedRows,
}

impl NewRows {
    /// Converts batches to the schema of the table and encodes them for its buffer.
    ///
    /// # Errors
    /// `InvalidArgument` for a batch that does not fit the columns; `LimitExceeded` for too many
    /// rows.
    pub(crate) fn encoded(
        schema: &TableSchema,
        batches: &[RecordBatch],
        rows_max: u64,
    ) -> Result<Self> {
        let (mut rows, mut converted) = (0, Vec::new());
        for batch in batches {
            let step = (PUSH_CELLS / schema.len().max(1)).max(1);
            for at in (0..batch.num_rows().max(1)).step_by(step) {
                let piece = batch.slice(at, step.min(batch.num_rows() - at));
                converted.push(coerce_batch(schema, &piece, rows)?);
                rows += piece.num_rows() as u64;
            }
            if rows > rows_max {
                return Err(too_many_rows("", rows_max));
            }
        }
        converted.retain(|batch| batch.num_rows() > 0);
        Ok(Self { rows: PreparedRows::encoded(schema, &converted)? })
    }

    /// Drafts the rows of a table that was drafted just before. Returns whether the buffer has to
    /// be sealed.
    ///
    /// # Errors
    /// Those of the disk.
    pub(crate) fn append(
        self,
        draft: &mut Draft<'_>,
        table: TableMetadata,
        closes: bool,
    ) -> Result<bool> {
        append_rows(draft, table, self.rows, closes)
    }
}

impl<A: Access> StagedRows<'_, A> {
    /// Commits the rows to the table that `table` finds or creates, without asking the policy, and
    /// closes the table if asked.
    ///
    /// What must hold: segment files are complete and synced before the commit that adds them to
    /// the manifest. Whether the table is open and how many rows it has is checked in the write
    /// turn: other appends may have committed since the caller read the table. `settle` comes after
    /// the write, because only its outcome decides whether the files are kept or removed.
    pub(crate) fn commit(
        self,
        closes: bool,
        table: impl FnOnce(&mut Draft<'_>) -> Result<TableMetadata> + Send + 'static,
    ) -> Result<()> {
        let (access, table): (_, FindTable) = (self.access, Box::new(table));
        commit_all(access, vec![(self, closes, table)])
    }

    /// The bytes of the rows that wait in memory.
    pub(crate) fn memory(&self) -> usize {
        self.rows.encoded.iter().map(|(_, bytes)| bytes.len()).sum()
    }
}

/// Finds or creates the table of staged rows.
pub(crate) type FindTable = Box<dyn FnOnce(&mut Draft<'_>) -> Result<TableMetadata> + Send>;

/// Commits the rows of several tables at once, each as [`StagedRows::commit`].
pub(crate) fn commit_all<A: Access>(
    access: &A,
    tables: Vec<(StagedRows<'_, A>, bool, FindTable)>,
) -> Result<()> {
    let (mut ids, mut kept, mut drafts) = (Vec::new(), Vec::new(), Vec::new());
    for (staged, closes, table) in tables {
        ids.push((staged.id, closes));
        kept.push((staged.files, staged._numbering));
        drafts.push((staged.rows, closes, table));
    }
    let outcome = access.write(move |draft| {
        let mut due = Vec::with_capacity(drafts.len());
        for (rows, closes, table) in drafts {
            let table = table(draft)?;
            due.push(append_rows(draft, table, rows, closes)?);
        }
        Ok(due)
    });
    let outcome = kept.into_iter().fold(outcome, |outcome, (files, _)| files.settle(outcome));
    for ((id, closes), is_due) in ids.into_iter().zip(outcome?) {
        if (is_due || closes) && !access.is_transaction() {
            seal_appended(access, &id, closes);
        }
    }
    Ok(())
}

/// Seals the buffer of a table after an append. The rows are durable already: if sealing fails,
/// maintenance repeats it.
pub(crate) fn seal_appended(access: &impl Access, id: &str, is_closed: bool) {
    let session = Session::of_store(&access.context().engine);
    let control = Control::default();
    let _ = guarded("sealing a table", || {
        seal(&session, id, &control)?;
        Ok(is_closed && merge(&session, id, Rewrite::Due, &control)?)
    });
}
