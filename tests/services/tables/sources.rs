//! Imports from sources of rows. The readers of files and their faults are tested in `formats`.

use crate::holds_at::holds_at;
use crate::prelude::*;
use stationdb::arrow::array::RecordBatch;
use stationdb::faults::limits;

use super::column;

/// The same table as often as it is left, without rows.
struct Empty {
    id: String,
    left: usize,
}

impl RowSource for Empty {
    fn columns(&mut self) -> Result<Vec<Column>> {
        Err(Error::invalid("the table has its columns"))
    }

    fn next_batch(&mut self, _: &TableSchema, _: &Control) -> Result<Option<RecordBatch>> {
        Ok(None)
    }
}

impl TableSource for Empty {
    fn advance(&mut self, _: &Control) -> Result<bool> {
        let is_next = self.left > 0;
        self.left = self.left.saturating_sub(1);
        Ok(is_next)
    }

    fn table(&mut self) -> Result<SourceTable<'_>> {
        Ok(SourceTable::new(ImportTableRequest::new().id(self.id.clone()), self))
    }
}

#[test]
fn the_tables_of_one_import_have_a_bound() {
    let (_disk, _store, session) = fresh();
    let columns = [column("t", DataType::Int64, ColumnType::Index)];
    let id = session.create_table(CreateTableRequest::new(columns)).unwrap().to_string();
    holds_at(limits::IMPORT_TABLES, ErrorKind::LimitExceeded, |left| {
        session.import_tables(&mut Empty { id: id.clone(), left }, &control())
    });
}
