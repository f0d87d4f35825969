//! A store for one test, and what it has.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use serde_json::Value;
use stationdb::arrow::array::{Array, AsArray};
use stationdb::arrow::datatypes::TimestampNanosecondType;
use stationdb::arrow::datatypes::{DataType as Arrow, Float64Type, Int32Type, Int64Type};
use stationdb::faults::MemoryDisk;
use stationdb::prelude::*;
use stationdb::tables::{
    ImportTableRequest, ImportTableResponse, ListTablesRequest, ScanRequest, TableMetadata,
    TableSchema, TableSource,
};
use stationdb::{Control, Identity, Result, Session, Store};
use stationdb_formats::{ImportFiles, lvm};

/// A store in memory.
pub struct Stage {
    pub session: Session,
    _store: Store,
}

/// A table that was imported: its metadata, and each of its columns as texts.
#[derive(Debug)]
pub struct Table {
    pub metadata: TableMetadata,
    pub answer: ImportTableResponse,
    pub columns: Vec<(String, Vec<Option<String>>)>,
}

impl Table {
    /// The cells of a column.
    #[track_caller]
    pub fn cells(&self, name: &str) -> Vec<&str> {
        let found = self.columns.iter().find(|(column, _)| column == name);
        let (_, cells) = found.unwrap_or_else(|| panic!("no column {name}: {:?}", self.names()));
        cells.iter().map(|cell| cell.as_deref().unwrap_or("null")).collect()
    }

    pub fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// A property of a column.
    #[track_caller]
    pub fn property(&self, column: &str, key: &str) -> Option<&str> {
        let columns = self.metadata.columns.as_ref().unwrap();
        let column = columns.iter().find(|one| one.name == column).unwrap();
        column.properties.get(key).map(String::as_str)
    }

    pub fn warnings(&self) -> String {
        self.answer.warnings.join("\n")
    }
}

/// The bits of a double; all that are no number are one.
fn bits(value: f64) -> String {
    if value.is_nan() { "nan".to_owned() } else { format!("{:016x}", value.to_bits()) }
}

fn cell(array: &dyn Array, row: usize) -> Option<String> {
    if array.is_null(row) {
        return None;
    }
    Some(match array.data_type() {
        Arrow::Float64 => bits(array.as_primitive::<Float64Type>().value(row)),
        Arrow::Int32 => array.as_primitive::<Int32Type>().value(row).to_string(),
        Arrow::Int64 => array.as_primitive::<Int64Type>().value(row).to_string(),
        Arrow::Utf8 => array.as_string::<i32>().value(row).to_owned(),
        Arrow::Timestamp(..) => {
            array.as_primitive::<TimestampNanosecondType>().value(row).to_string()
        }
        other => panic!("{other} is not expected"),
    })
}

impl Stage {
    pub fn new() -> Self {
        let options = Store::options().maintenance_thread(false).seed(Some(1));
        let store = options.open_disk(Arc::new(MemoryDisk::default())).unwrap();
        Self { session: store.session(Identity::user("ada")), _store: store }
    }

    pub fn table_count(&self) -> usize {
        self.session.list_tables(ListTablesRequest::new()).unwrap().tables.len()
    }

    /// Imports the tables of a source.
    pub fn import(&self, source: &mut dyn TableSource) -> Result<Vec<Table>> {
        let answers = self.session.import_tables(source, &Control::default())?;
        Ok(answers.into_iter().map(|answer| self.read(answer)).collect())
    }

    /// Imports a measurement file.
    pub fn lvm(&self, request: &ImportTableRequest, bytes: &[u8]) -> Result<Vec<Table>> {
        self.import(lvm::tables(request, Box::new(Cursor::new(bytes.to_vec()))).as_mut())
    }

    /// Imports a file by its path.
    pub fn file(&self, request: ImportTableRequest, path: &Path) -> Result<Vec<Table>> {
        let answers = self.session.import_file(request, path, None, &Control::default())?;
        Ok(answers.into_iter().map(|answer| self.read(answer)).collect())
    }

    fn read(&self, answer: ImportTableResponse) -> Table {
        let id = answer.id.clone().unwrap();
        let metadata = self.session.get_table_metadata(&id).unwrap();
        let names = metadata.columns.iter().flatten().map(|column| column.name.clone());
        let mut columns: Vec<_> = names.map(|name| (name, Vec::new())).collect();
        for batch in self.session.scan(&id, ScanRequest::new(), &Control::default()).unwrap() {
            let batch = batch.unwrap();
            for (array, (_, cells)) in batch.columns().iter().zip(&mut columns) {
                cells.extend((0..array.len()).map(|row| cell(array, row)));
            }
        }
        Table { metadata, answer, columns }
    }
}

/// What a source has, without a store: there are many damaged files.
#[derive(Debug)]
pub struct Outline {
    pub rows: Vec<usize>,
    pub warnings: Vec<String>,
}

/// Reads the tables of a source to their ends.
pub fn outline(source: &mut dyn TableSource) -> Result<Outline> {
    let control = Control::default();
    let mut out = Outline { rows: Vec::new(), warnings: Vec::new() };
    while source.advance(&control)? {
        let table = source.table()?;
        let schema = TableSchema::with_default_limit(table.rows.columns()?)?;
        let mut rows = 0;
        while let Some(batch) = table.rows.next_batch(&schema, &control)? {
            rows += batch.num_rows();
        }
        out.rows.push(rows);
        out.warnings.extend(table.rows.warnings());
    }
    Ok(out)
}

/// A directory of this suite.
pub fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/instruments").join(name)
}

/// The lines of JSON that a script prints, if an interpreter has its packages.
pub fn drawn(script: &str, packages: &str, seed: u64, count: u64) -> Option<Drawn> {
    let Some(python) = crate::python::python() else {
        println!("skipped: there is no Python here; STATIONDB_PYTHON may name one");
        return None;
    };
    let has = Command::new(&python).args(["-c", &format!("import {packages}")]).output().unwrap();
    if !has.status.success() {
        println!("skipped: {packages} are not installed for {python}");
        return None;
    }
    let files = tempfile::tempdir().unwrap();
    let mut command = Command::new(&python);
    command.arg(directory(script)).arg(files.path()).args([seed.to_string(), count.to_string()]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    Some(Drawn { files, lines })
}

/// Drawn files, with their names and what they are.
pub struct Drawn {
    pub files: tempfile::TempDir,
    pub lines: Vec<(String, Value)>,
}
