//! Imports from sources of rows. The readers of files and their faults are tested in `formats`.

use crate::holds_at::holds_at;
use crate::prelude::*;
use stationdb::arrow::array::{ArrayRef, Int64Array, RecordBatch};
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

/// A source that knows its table when it was opened, at its first batch.
#[derive(Default)]
struct Late {
    is_read: bool,
}

impl RowSource for Late {
    fn columns(&mut self) -> Result<Vec<Column>> {
        Err(Error::invalid("the table has its columns"))
    }

    fn next_batch(&mut self, _: &TableSchema, _: &Control) -> Result<Option<RecordBatch>> {
        if std::mem::replace(&mut self.is_read, true) {
            return Ok(None);
        }
        let values: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        Ok(RecordBatch::try_from_iter([("t", values)]).ok())
    }

    fn name(&self) -> Option<String> {
        self.is_read.then(|| "of the source".to_owned())
    }

    fn properties(&self) -> BTreeMap<String, String> {
        let all = [("rig", "of the source"), ("lot", "of the source")];
        let all = all.map(|(key, value)| (key.to_owned(), value.to_owned()));
        if self.is_read { all.into() } else { BTreeMap::new() }
    }
}

#[test]
fn a_declared_table_gets_what_its_source_knows_when_it_was_read() {
    let (_disk, _store, session) = fresh();
    let table = |name: Option<&str>| {
        CreateTableRequest::new([column("t", DataType::Int64, ColumnType::Index)])
            .properties([("lot", "of the caller")])
            .maybe_name(name.map(str::to_owned))
    };
    for (name, stored) in [(None, "of the source"), (Some("own"), "own")] {
        let request = ImportTableRequest::new().table(table(name));
        let answer = session.import_rows(request, &mut Late::default(), &control()).unwrap();
        let found = session.get_table_metadata(&answer.id.unwrap()).unwrap();
        assert_eq!(found.name.as_deref(), Some(stored));
        let told = |key: &str| found.properties.as_ref().and_then(|all| all.get(key).cloned());
        assert_eq!(told("rig").as_deref(), Some("of the source"));
        assert_eq!(told("lot").as_deref(), Some("of the caller"));
    }
}

/// Rows of a table with numbers: nobody else numbers rows of it while they are read.
struct Numbers<'s> {
    session: &'s Session,
    id: String,
    batches: Vec<i64>,
    first: u64,
    others: Vec<ErrorKind>,
}

impl RowSource for Numbers<'_> {
    fn columns(&mut self) -> Result<Vec<Column>> {
        Err(Error::invalid("the table has its columns"))
    }

    fn number_from(&mut self, row: u64) {
        self.first = row;
    }

    fn next_batch(&mut self, _: &TableSchema, _: &Control) -> Result<Option<RecordBatch>> {
        let Some(rows) = self.batches.pop() else { return Ok(None) };
        let request = ImportTableRequest::new().id(self.id.clone());
        let mut other = Empty { id: self.id.clone(), left: 1 };
        if let Err(error) = self.session.import_rows(request, &mut other, &control()) {
            self.others.push(error.kind());
        }
        let first = i64::try_from(self.first).unwrap();
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + rows));
        Ok(RecordBatch::try_from_iter([("row", values)]).ok())
    }
}

/// The same rows for a table, as often as it is asked.
struct Again<'s> {
    turns: Vec<Vec<i64>>,
    rows: Numbers<'s>,
}

impl TableSource for Again<'_> {
    fn advance(&mut self, _: &Control) -> Result<bool> {
        let turn = self.turns.pop();
        self.rows.batches = turn.clone().unwrap_or_default();
        Ok(turn.is_some())
    }

    fn table(&mut self) -> Result<SourceTable<'_>> {
        let request = ImportTableRequest::new().id(self.rows.id.clone());
        Ok(SourceTable::new(request, &mut self.rows))
    }
}

#[test]
fn a_table_is_numbered_by_one_import_also_after_a_source_without_rows() {
    let (_disk, _store, session) = fresh();
    let mut index = column("row", DataType::Int64, ColumnType::Index);
    index.properties.insert(readers::ROW_NUMBER.to_owned(), "true".to_owned());
    let id = session.create_table(CreateTableRequest::new([index])).unwrap();
    let (session, id) = (&session, id.to_string());
    let rows = Numbers { session, id: id.clone(), batches: vec![], first: 0, others: vec![] };
    // From the last turn to the first one: no rows, two, none, and three.
    let turns = vec![vec![3], vec![], vec![2], vec![]];
    let mut source = Again { turns, rows };
    session.import_tables(&mut source, &control()).unwrap();
    assert_eq!(source.rows.others, [ErrorKind::Conflict; 2]);
    let page = session.get_table_data(&id.into(), GetTableDataRequest::default()).unwrap();
    let found: Vec<_> = page.frame.to_data_frame().data.into_iter().flatten().collect();
    assert_eq!(found, (0..5).map(|row| Some(row.to_string())).collect::<Vec<_>>());
}
