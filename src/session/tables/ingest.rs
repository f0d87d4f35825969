//! The rows of an import: read from their source batch by batch, and appended.

use std::sync::Arc;

use super::appender::{Appender, StagedRows};
use crate::arrow::array::Array;
use crate::columnar::{CUT, FINER_TIMES, RowSource, TableSchema};
use crate::error::Result;
use crate::session::access::sessions::Access;
use crate::value::Control;

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
    pub(crate) fn fill(
        &mut self,
        source: &mut dyn RowSource,
        cut_times: bool,
        control: &Control,
    ) -> Result<RowCounts> {
        let schema = reading_schema(self.schema(), cut_times)?;
        let mut nulls = vec![0; schema.len()];
        loop {
            control.check()?;
            let Some(batch) = source.next_batch(&schema, control)? else {
                return Ok(RowCounts { rows: self.rows(), nulls });
            };
            for (count, array) in nulls.iter_mut().zip(batch.columns()) {
                *count += array.null_count() as i64;
            }
            self.push(batch)?;
            control.report(self.rows(), source.row_count(), "rows");
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
    cut_times: bool,
    control: &Control,
    mut infer_again: impl FnMut(&mut dyn RowSource) -> Result<Option<TableSchema>>,
) -> Result<(StagedRows<'a, A>, Arc<TableSchema>, RowCounts)> {
    let mut schema = Arc::new(schema);
    loop {
        let mut appender = Appender::to_new(access, id, schema.clone());
        match appender.fill(source, cut_times, control) {
            Ok(counts) => return Ok((appender.finish()?, schema, counts)),
            Err(error) => {
                // The segments of the rows that were read go with it.
                drop(appender);
                schema = Arc::new(infer_again(source)?.ok_or(error)?);
            }
        }
    }
}
