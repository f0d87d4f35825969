//! The rows of an import: read from their source batch by batch, and appended.

use std::sync::Arc;

use super::appender::{Appender, StagedRows};
use crate::arrow::array::Array;
use crate::columnar::{CUT, FINER_TIMES, RowSource, TableSchema, fit_batch};
use crate::error::{Error, Result};
use crate::session::access::sessions::Access;
use crate::value::{Control, limits};

/// How an import reads its sources.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'c> {
    /// Whether digits of times that are finer than their column are cut off.
    pub(crate) cut_times: bool,
    pub(crate) control: &'c Control,
    /// Rows of the tables before this one, for the progress.
    pub(crate) rows_before: u64,
    /// Bytes of their rows that wait in memory.
    pub(crate) bytes_before: usize,
}

/// The schema that batches are fitted to: that of the table, with columns that cut fine digits of
/// times when the request says so.
fn reading_schema(schema: &Arc<TableSchema>, cut_times: bool) -> Result<Arc<TableSchema>> {
    if !cut_times {
        return Ok(schema.clone());
    }
    let mut columns = schema.columns().to_vec();
    for column in columns.iter_mut().filter(|column| column.data_type.is_time()) {
        column.properties.insert(FINER_TIMES.to_owned(), CUT.to_owned());
    }
    TableSchema::new(columns, usize::MAX).map(Arc::new)
}

/// Rows that were read, and the nulls of each column.
#[derive(Default)]
pub(crate) struct RowCounts {
    pub(crate) rows: u64,
    pub(crate) nulls: Vec<i64>,
}

impl<A: Access> Appender<'_, A> {
    /// Adds all rows of a source.
    ///
    /// What must hold: nothing of a batch is taken for granted, since the source is code of others.
    /// Each is fitted to the columns, as a batch of an append.
    pub(crate) fn fill(
        &mut self,
        source: &mut dyn RowSource,
        reading: Reading<'_>,
    ) -> Result<RowCounts> {
        let Reading { control, rows_before, .. } = reading;
        let schema = reading_schema(self.schema(), reading.cut_times)?;
        let mut nulls = vec![0; schema.len()];
        loop {
            control.check()?;
            let Some(batch) = source.next_batch(&schema, control)? else {
                return Ok(RowCounts { rows: self.rows(), nulls });
            };
            if batch.num_rows() > limits::IMPORT_BATCH_ROWS {
                return Err(Error::limit(format!(
                    "a batch of an import has {} rows, more than the {} of one; give them in \
                     smaller batches",
                    batch.num_rows(),
                    limits::IMPORT_BATCH_ROWS
                )));
            }
            self.push_each(&batch, &mut |piece, row| {
                let fitted = fit_batch(&schema, piece, row)?;
                for (count, array) in nulls.iter_mut().zip(fitted.columns()) {
                    *count += array.null_count() as i64;
                }
                Ok(fitted)
            })?;
            let total = source.row_count().map(|rows| rows_before.saturating_add(rows));
            control.report(rows_before + self.rows(), total, "rows");
        }
    }
}

/// Stages all rows of a source for a table that their commit creates. After a failure,
/// `infer_again` lets the source begin again, with the schema that it returns.
pub(crate) fn stage_new<'a, A: Access>(
    access: &'a A,
    id: &str,
    schema: TableSchema,
    source: &mut dyn RowSource,
    reading: Reading<'_>,
    mut infer_again: impl FnMut(&mut dyn RowSource) -> Result<Option<TableSchema>>,
) -> Result<(StagedRows<'a, A>, Arc<TableSchema>, RowCounts)> {
    let mut schema = Arc::new(schema);
    loop {
        let appender = Appender::to_new(access, id, schema.clone());
        let mut appender = appender.beside(reading.bytes_before);
        match appender.fill(source, reading) {
            Ok(counts) => return Ok((appender.finish()?, schema, counts)),
            Err(error) => {
                // The segments of the rows that were read go with it.
                drop(appender);
                schema = Arc::new(infer_again(source)?.ok_or(error)?);
            }
        }
    }
}
