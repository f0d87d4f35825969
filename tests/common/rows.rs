//! A source of rows that are in memory.

use stationdb::arrow::array::RecordBatch;
use stationdb::tables::{
    Column, ImportTableRequest, RowSource, SourceTable, TableSchema, TableSource,
};
use stationdb::{Control, Error, Result};

/// A table of batches: its request, its columns, and the batches that are left.
pub(crate) struct Rows {
    pub request: ImportTableRequest,
    pub columns: Vec<Column>,
    pub batches: Vec<RecordBatch>,
    /// What follows the last batch in place of the end.
    pub fault: Option<Error>,
    is_at_table: bool,
}

impl Rows {
    pub(crate) fn new(
        request: ImportTableRequest,
        columns: Vec<Column>,
        batches: Vec<RecordBatch>,
    ) -> Self {
        Self { request, columns, batches, fault: None, is_at_table: false }
    }
}

impl RowSource for Rows {
    fn columns(&mut self) -> Result<Vec<Column>> {
        Ok(self.columns.clone())
    }

    fn next_batch(&mut self, _: &TableSchema, _: &Control) -> Result<Option<RecordBatch>> {
        if !self.batches.is_empty() {
            return Ok(Some(self.batches.remove(0)));
        }
        self.fault.take().map_or(Ok(None), Err)
    }
}

impl TableSource for Rows {
    fn advance(&mut self, _: &Control) -> Result<bool> {
        Ok(!std::mem::replace(&mut self.is_at_table, true))
    }

    fn table(&mut self) -> Result<SourceTable<'_>> {
        Ok(SourceTable::new(self.request.clone(), self))
    }
}
