//! The class of each list in a request, and a call with a list of a given length.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use stationdb::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use stationdb::prelude::*;
use stationdb::results::{
    CreateResultRequest, CreateStepRequest, ResultTable, ResultWithSteps, StatusType,
};
use stationdb::tables::{
    AppendTableDataRequest, Column, ColumnType, CreateTableRequest, DataFrame, DataType, TableId,
    Waveform, WaveformAxis,
};
use stationdb::{ErrorKind, Identity, Result, Session, Store};

use crate::calls::{call, filled, read};

/// Number of entries of a batch.
pub const BATCH: usize = 100_000;

/// The class of a list in a request.
pub enum Class {
    /// Controls the execution of a query. Its length is limited, and the error above the limit
    /// names the limit and the member.
    Steers {
        member: &'static str,
        kind: ErrorKind,
        /// Whether entries may be repeated.
        repeats: bool,
    },
    /// Records or ids to work on, limited only by bytes and memory, or by a limit in
    /// `docs/reference`; with the kind of the error, if any, for a batch whose entries name no
    /// record.
    Batch(Option<&'static str>),
    /// A part of a stored record, limited by the bytes of a record. For the columns of a new table
    /// that is `TABLE_COLUMNS`.
    Stored,
}

/// One list of a request.
pub struct List {
    pub name: &'static str,
    pub class: Class,
    /// The operation and its arguments. In these `{"*": [..]}` is the list, with its entries in
    /// turn, and `#` in an entry is a number.
    call: Option<(&'static str, &'static str)>,
}

/// Every list of every request: name, class, operation and arguments.
const LISTS: &str = include_str!("../corpus/lists.txt");

pub fn lists() -> Vec<List> {
    let list = |line: &'static str| {
        let mut words = line.splitn(4, ' ');
        let (name, class) = (words.next().unwrap(), words.next().unwrap());
        let (class, value) = class.split_once('=').unwrap_or((class, ""));
        let class = match class {
            "steers" | "once" => Class::Steers {
                member: value,
                kind: match value {
                    value if value.to_lowercase().ends_with("substitutions") => {
                        ErrorKind::InvalidArgument
                    }
                    _ => ErrorKind::LimitExceeded,
                },
                repeats: class == "steers",
            },
            "batch" => Class::Batch((!value.is_empty()).then_some(value)),
            "stored" => Class::Stored,
            other => panic!("{name} {other}"),
        };
        List { name, class, call: words.next().zip(words.next()) }
    };
    LISTS.lines().map(list).collect()
}

/// A store with a table and an asset.
pub struct World {
    pub session: Session,
    pub table: String,
    pub asset: String,
    _store: Store,
    _directory: tempfile::TempDir,
}

/// Number of rows of the table: as many as a sort compares at a time.
const ROWS: usize = 8_192;

impl World {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let session = store.session(Identity::user("ada"));
        let columns = json!([{"name": "i", "dataType": "INT64", "columnType": "INDEX"},
            {"name": "v", "dataType": "FLOAT64"}]);
        let table: TableId =
            session.create_table(read(&json!({ "columns": columns })).unwrap()).unwrap();
        let data = (0..ROWS).map(|row| vec![Some(row.to_string()), Some((row % 7).to_string())]);
        let frame = AppendTableDataRequest::new().frame(DataFrame::new().data(data));
        session.append_table_data(&table, frame).unwrap();
        let asset = json!([{
            "name": "DMM", "modelName": "PXI-4071", "vendorName": "A", "serialNumber": "1", "busType": "PCI_PXI",
            "location": {"minionId": "station-1", "state": {"assetPresence": "PRESENT"}},
        }]);
        let made = session.create_assets(read(&asset).unwrap()).unwrap();
        let asset = made.assets.iter().flatten().next().and_then(|asset| asset.id.clone());
        let asset = asset.unwrap_or_else(|| panic!("{made:?}")).to_string();
        Self { session, table: table.into(), asset, _store: store, _directory: directory }
    }
}

/// The value with its list of `len` entries.
fn repeated(value: &Value, len: usize) -> Value {
    let numbered = |text: &str, at: usize| text.replace('#', &(1_000_000 + at).to_string());
    let entry = |entry: &Value, at| {
        let text = entry.to_string();
        if text.contains('#') {
            serde_json::from_str(&numbered(&text, at)).unwrap()
        } else {
            entry.clone()
        }
    };
    match value {
        Value::Array(items) => items.iter().map(|item| repeated(item, len)).collect(),
        Value::Object(members) => match members.get("*") {
            Some(Value::Array(entries)) => {
                (0..len).map(|at| entry(&entries[at % entries.len()], at)).collect()
            }
            Some(Value::Object(members)) => {
                let (name, value) = members.iter().next().unwrap();
                (0..len)
                    .map(|at| (numbered(name, at), entry(value, at)))
                    .collect::<Map<_, _>>()
                    .into()
            }
            _ => {
                let member =
                    |(name, value): (&String, &Value)| (name.clone(), repeated(value, len));
                members.iter().map(member).collect::<Map<_, _>>().into()
            }
        },
        value => value.clone(),
    }
}

/// Creates a result with `len` steps, tables, or batches of a table.
fn results(session: &Session, list: &str, len: usize) -> Result<()> {
    let result = CreateResultRequest::new().program_name("P").status(StatusType::Done);
    let mut item = ResultWithSteps::new(result);
    let columns = [Column::new("t", DataType::Int64).column_type(ColumnType::Index)];
    match list {
        "ResultWithSteps.steps" => item.steps = vec![CreateStepRequest::new().name("s"); len],
        // Each is refused, and with it the result.
        "ResultWithSteps.tables" => {
            item.tables = vec![ResultTable::new(CreateTableRequest::new([])); len];
        }
        "ResultTable.batches" => {
            let rows = Arc::new(Int64Array::from(Vec::<i64>::new())) as ArrayRef;
            let rows = RecordBatch::try_from_iter([("t", rows)]).unwrap();
            let mut table = ResultTable::new(CreateTableRequest::new(columns));
            table.batches = vec![rows; len];
            item.tables.push(table);
        }
        _ => panic!("{list} has no probe"),
    }
    session.append_results(&[item]).map(drop)
}

/// Makes a request whose list has `len` entries.
pub fn probe(world: &World, list: &List, len: usize) -> Result<()> {
    let World { session, table, asset, .. } = world;
    let Some((operation, arguments)) = list.call else {
        if list.name.starts_with("Result") {
            return results(session, list.name, len);
        }
        assert_eq!(list.name, "Waveform.y", "{} has no probe", list.name);
        let mut waveform = Waveform::new(WaveformAxis::Count { t0: 0, dt: 1 });
        waveform.y = vec![("v", (&[0.5]).into()); len];
        return session.append_waveform(&table.into(), &waveform);
    };
    let arguments = filled(arguments, &[json!({"table": table, "asset": asset})]);
    let arguments: Vec<Value> = arguments.iter().map(|value| repeated(value, len)).collect();
    let answer = crate::imports::import(session, operation, &arguments);
    match answer.unwrap_or_else(|| call(session, operation, &arguments)) {
        // A build without the feature.
        Err(error) if operation == "search" && error.kind() == ErrorKind::Unsupported => Ok(()),
        Err(error) => {
            assert!(!error.message().contains("cannot be read"), "{}: {error}", list.name);
            Err(error)
        }
        Ok(_) => Ok(()),
    }
}
