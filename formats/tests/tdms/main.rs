//! TDMS files become tables as npTDMS reads them, damaged ones are refused or told, and tables become
//! TDMS files.

mod bytes;
mod damage;
mod exports;
mod extended;
mod huge;
mod mapping;
mod oracle;
#[path = "../../../tests/common/python.rs"]
mod python;
mod reads;
#[path = "../../../tests/common/sizes.rs"]
mod sizes;
mod unread;

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Arc;

use stationdb::arrow::array::{ArrayRef, RecordBatch};
use stationdb::arrow::compute::concat_batches;
use stationdb::faults::MemoryDisk;
use stationdb::prelude::*;
use stationdb::tables::*;
use stationdb::{Control, Identity, Result, Session, Store};
use stationdb_formats::ImportFiles;
use stationdb_formats::tdms::TdmsOptions;

/// A store, and a session of it.
struct Bench {
    _store: Store,
    session: Session,
}

/// A table that was imported.
struct Imported {
    answer: ImportTableResponse,
    table: TableMetadata,
    rows: RecordBatch,
}

impl Bench {
    fn new() -> Self {
        let options = Store::options().maintenance_thread(false);
        let store = options.open_disk(Arc::new(MemoryDisk::default())).unwrap();
        let session = store.session(Identity::user("ada"));
        Self { _store: store, session }
    }

    fn import(&self, bytes: &[u8], options: TdmsOptions) -> Result<Vec<Imported>> {
        self.import_as(ImportTableRequest::new(), bytes, options)
    }

    fn import_as(
        &self,
        request: ImportTableRequest,
        bytes: &[u8],
        options: TdmsOptions,
    ) -> Result<Vec<Imported>> {
        let input = Box::new(Cursor::new(bytes.to_vec()));
        let answers = self.session.import_tdms(request, input, options, &Control::default())?;
        Ok(answers.into_iter().map(|answer| self.read(answer)).collect())
    }

    /// Reads a table.
    fn read(&self, answer: ImportTableResponse) -> Imported {
        let id = answer.id.clone().unwrap();
        let table = self.session.get_table_metadata(&id).unwrap();
        let rows = self.session.scan(&id, ScanRequest::new(), &Control::default()).unwrap();
        let schema = rows.schema();
        let batches: Vec<RecordBatch> = rows.map(Result::unwrap).collect();
        let rows = concat_batches(&schema, &batches).unwrap();
        Imported { answer, table, rows }
    }

    fn tables(&self) -> usize {
        self.session.list_tables(ListTablesRequest::new()).unwrap().tables.len()
    }
}

impl Imported {
    fn column(&self, name: &str) -> Option<&ArrayRef> {
        self.rows.column_by_name(name)
    }

    fn declared(&self, name: &str) -> &Column {
        self.table.columns.iter().flatten().find(|column| column.name == name).unwrap()
    }

    fn properties(&self) -> BTreeMap<String, String> {
        self.table.properties.clone().unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.table.name.as_deref().unwrap_or_default()
    }
}
