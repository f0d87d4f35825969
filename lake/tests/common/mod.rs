//! A reader of lakes that knows nothing of the publisher, and stores to publish.
#![allow(dead_code, reason = "each suite uses a part")]

pub mod curves;
pub mod results;
#[path = "../../../tests/common/sizes.rs"]
pub mod sizes;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow_cast::cast;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};
use stationdb::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use stationdb::arrow::datatypes::{DataType, FieldRef, TimeUnit};
use stationdb::faults::MemoryDisk;
use stationdb::prelude::*;
use stationdb::scans::{RecordKind, ScanRecordsRequest};
use stationdb::tables::{DeleteRowsRequest, PartRows, SetRetentionRequest, TableId};
use stationdb::{Control, Identity, Session, Store};
use stationdb_lake::faults::{Check, FaultyStore, without};
use stationdb_lake::{Backoff, Layout, Note, OneRoot, Publisher};
use tokio::runtime::Runtime;

pub type Objects = Arc<dyn ObjectStore>;
/// A row: stored name of each column, and its value as text.
pub type Row = BTreeMap<String, String>;
/// Rows by table and ordinal.
pub type Rows = BTreeMap<(String, i64), Row>;

pub fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

pub fn store() -> Store {
    on(&Arc::new(MemoryDisk::new()))
}

pub fn on(disk: &Arc<MemoryDisk>) -> Store {
    Store::options().maintenance_thread(false).seal_rows(500).open_disk(disk.clone()).unwrap()
}

pub fn ada(store: &Store) -> Session {
    store.session(Identity::user("ada"))
}

pub fn publisher(store: &Store, objects: &Objects, layout: impl Layout, name: &str) -> Publisher {
    let who = Identity::user("publisher");
    let backoff = Backoff::default()
        .first(Duration::from_micros(100))
        .most(Duration::from_millis(2))
        .attempts(12);
    Publisher::new(store, who, objects.clone(), layout, name).unwrap().with_backoff(backoff)
}

pub fn publish(publisher: &Publisher) -> stationdb_lake::PublishReport {
    publisher.publish(&Control::default()).unwrap()
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

pub fn wait<T>(future: impl Future<Output = T>) -> T {
    runtime().block_on(future)
}

/// A lake table as its log says.
#[derive(Debug, Default)]
pub struct Table {
    /// Paths of the files that are there, relative to the table.
    pub files: BTreeSet<String>,
    /// Names in the lake, and at the station.
    pub names: BTreeMap<String, String>,
    pub types: BTreeMap<String, Value>,
    pub versions: u64,
    pub rows: Vec<Row>,
}

/// The bytes of an object.
fn get(runtime: &Runtime, objects: &Objects, path: String) -> Option<bytes::Bytes> {
    runtime.block_on(async {
        match objects.get(&Path::from(path)).await {
            Ok(found) => Some(found.bytes().await.unwrap()),
            Err(object_store::Error::NotFound { .. }) => None,
            Err(error) => panic!("{error}"),
        }
    })
}

/// Reads a lake table as the Delta protocol says.
pub fn table(objects: &Objects, root: &str, name: &str) -> Table {
    let mut table = log_of(objects, root, name);
    let runtime = runtime();
    for file in &table.files {
        let bytes = get(&runtime, objects, format!("{root}/{name}/{file}"));
        let bytes = bytes.unwrap_or_else(|| panic!("no {file}"));
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap().build().unwrap();
        for batch in reader {
            let batch = batch.unwrap();
            let schema = batch.schema();
            let columns = schema.fields().iter().zip(batch.columns());
            let columns: Vec<(String, Vec<String>)> = columns
                .map(|(field, values)| (table.names[field.name()].clone(), texts(values)))
                .collect();
            for row in 0..batch.num_rows() {
                let cell = |(name, values): &(String, Vec<String>)| {
                    let value = values[row].clone();
                    (value != NULL).then(|| (name.clone(), value))
                };
                table.rows.push(columns.iter().filter_map(cell).collect());
            }
        }
    }
    table
}

/// Reads the log of a lake table, without its rows.
pub fn log_of(objects: &Objects, root: &str, name: &str) -> Table {
    let mut table = Table::default();
    let runtime = runtime();
    let get = |path: String| get(&runtime, objects, path);
    while let Some(log) = get(format!("{root}/{name}/_delta_log/{:020}.json", table.versions)) {
        table.versions += 1;
        for line in std::str::from_utf8(&log).unwrap().lines() {
            let action: Value = serde_json::from_str(line).unwrap();
            if let Some(add) = action.get("add") {
                table.files.insert(add["path"].as_str().unwrap().to_owned());
            }
            if let Some(remove) = action.get("remove") {
                table.files.remove(remove["path"].as_str().unwrap());
            }
            if let Some(metadata) = action.get("metaData") {
                let schema = metadata["schemaString"].as_str().unwrap();
                let schema: Value = serde_json::from_str(schema).unwrap();
                for field in schema["fields"].as_array().unwrap() {
                    let name = field["name"].as_str().unwrap().to_owned();
                    let stored = field["metadata"]["stationdb.name"].as_str();
                    let stored = stored.map_or_else(|| name.clone(), shown);
                    assert!(!name.contains([' ', ',', ';', '{', '}', '(', ')', '\n', '\t', '=']));
                    table.types.insert(name.clone(), field["type"].clone());
                    table.names.insert(name, stored);
                }
            }
        }
    }
    let folded: BTreeSet<String> = table.names.keys().map(|name| name.to_lowercase()).collect();
    assert_eq!(folded.len(), table.names.len(), "names that differ in case only");
    table
}

/// The name of a column of data, which is never that of a column before the data.
fn shown(stored: &str) -> String {
    if stored.starts_with('_') { format!("_{stored}") } else { stored.to_owned() }
}

pub const NULL: &str = "\u{0}null";

/// A type with another one in the place of each time.
fn with_times(data_type: &DataType, time: &DataType) -> DataType {
    let inner = |field: &FieldRef| -> FieldRef {
        let data_type = with_times(field.data_type(), time);
        Arc::new(field.as_ref().clone().with_data_type(data_type))
    };
    match data_type {
        DataType::Timestamp(..) => time.clone(),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        DataType::List(field) => DataType::List(inner(field)),
        other => other.clone(),
    }
}

/// Values as text, times as microseconds since 1970.
pub fn texts(values: &ArrayRef) -> Vec<String> {
    let micros = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let values = cast(values, &with_times(values.data_type(), &micros)).unwrap();
    let values = cast(&values, &with_times(values.data_type(), &DataType::Int64)).unwrap();
    let options = FormatOptions::default();
    let shown = ArrayFormatter::try_new(values.as_ref(), &options).unwrap();
    let text = |row: usize| match values.data_type() {
        _ if values.is_null(row) => NULL.to_owned(),
        DataType::Utf8 => values.as_string::<i32>().value(row).to_owned(),
        _ => shown.value(row).to_string(),
    };
    (0..values.len()).map(text).collect()
}

pub fn number(row: &Row, name: &str) -> i64 {
    row[name].parse().unwrap()
}

/// The names of the lake tables in a root.
pub fn names(objects: &Objects, root: &str) -> Vec<String> {
    let root = Path::from(root);
    let listed = wait(async { objects.list_with_delimiter(Some(&root)).await.unwrap() });
    listed.common_prefixes.iter().map(|path| path.filename().unwrap().to_owned()).collect()
}

pub fn is_rows(name: &str) -> bool {
    name != "batches" && !name.ends_with("_deleted") && !name.ends_with("_changes")
}

/// The last complete batch of a station, and the first batch whose rows count.
pub fn complete(objects: &Objects, root: &str, station: &str) -> Option<(i64, i64)> {
    let batches = table(objects, root, "batches").rows;
    let own = batches.iter().filter(|row| row["_station"] == station);
    own.map(|row| (number(row, "_batch"), number(row, "_rows_from"))).max()
}

/// The rows of a station that live views show, without the identity. Panics on a row that is there
/// twice.
pub fn live_rows(objects: &Objects, root: &str, station: &str) -> Rows {
    let Some((last, first)) = complete(objects, root, station) else { return Rows::new() };
    let mut live = Rows::new();
    for name in names(objects, root).into_iter().filter(|name| is_rows(name)) {
        let deleted = table(objects, root, &format!("{name}_deleted")).rows;
        let deleted: Vec<&Row> = deleted
            .iter()
            .filter(|row| row["_station"] == station && number(row, "_batch") <= last)
            .collect();
        for mut row in table(objects, root, &name).rows {
            let batch = number(&row, "_batch");
            if row["_station"] != station || batch > last || batch < first {
                continue;
            }
            let (id, at) = (row["_table"].clone(), number(&row, "_row"));
            let is_deleted = deleted.iter().any(|range| {
                range["_table"] == id
                    && (number(range, "_row_from")..=number(range, "_row_to")).contains(&at)
                    && batch < number(range, "_batch")
            });
            if is_deleted {
                continue;
            }
            row.retain(|name, _| !name.starts_with('_') || name.starts_with("__"));
            let twice = live.insert((id.clone(), at), row);
            assert!(twice.is_none(), "row {at} of {id} is in the lake twice");
        }
    }
    live
}

/// The rows of the tables of a store.
pub fn store_rows(session: &Session, is_wanted: impl Fn(&str) -> bool) -> Rows {
    let mut rows = Rows::new();
    let request = ScanRecordsRequest::new(RecordKind::Table).columns(["id", "workspace"]);
    for tables in session.scan_records(request, &Control::default()).unwrap() {
        let tables = tables.unwrap();
        for at in 0..tables.num_rows() {
            let text =
                |column: usize| tables.column(column).as_string::<i32>().value(at).to_owned();
            if is_wanted(&text(1)) {
                let id = TableId::parse(&text(0)).unwrap();
                add_rows(session, &id, &mut rows);
            }
        }
    }
    rows
}

fn add_rows(session: &Session, id: &TableId, rows: &mut Rows) {
    let mut add = |ordinals: Vec<u64>, batch: &RecordBatch| {
        let schema = batch.schema();
        let mut columns: Vec<(String, Vec<String>)> = Vec::new();
        for (field, values) in schema.fields().iter().zip(batch.columns()) {
            columns.push((shown(field.name()), texts(values)));
            if matches!(field.data_type(), DataType::Timestamp(TimeUnit::Nanosecond, _)) {
                let whole = cast(values, &DataType::Int64).unwrap();
                columns.push((format!("{}\u{0}ns", field.name()), texts(&whole)));
            }
        }
        for (at, ordinal) in ordinals.into_iter().enumerate() {
            let cell = |(name, values): &(String, Vec<String>)| {
                (values[at] != NULL).then(|| (name.clone(), values[at].clone()))
            };
            let row = columns.iter().filter_map(cell).collect();
            rows.insert((id.to_string(), ordinal as i64), row);
        }
    };
    let each = &mut |part: stationdb::tables::RowsPart<'_>| {
        match part.rows {
            PartRows::Batch(batch) => {
                add((part.first_ordinal..part.first_ordinal + part.row_count).collect(), &batch);
            }
            PartRows::Segment(segment) => {
                let ordinals = segment.ordinals(0..part.row_count).unwrap();
                let mut bytes = Vec::new();
                segment.file.data.read_to_end(&mut bytes).unwrap();
                let reader =
                    ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).unwrap();
                let mut at = 0;
                for batch in reader.build().unwrap() {
                    let batch = batch.unwrap();
                    add(ordinals[at..at + batch.num_rows()].to_vec(), &batch);
                    at += batch.num_rows();
                }
            }
            _ => panic!("another form"),
        }
        Ok(())
    };
    session.export_rows(id, 0..u64::MAX, each, &Control::default()).unwrap();
}

/// The records of a kind that latest views show: the JSON of each, by its id.
pub fn latest(
    objects: &Objects,
    root: &str,
    station: &str,
    kind: &str,
) -> BTreeMap<String, String> {
    let Some((last, _)) = complete(objects, root, station) else { return BTreeMap::new() };
    let rows = table(objects, root, &format!("{kind}_changes")).rows;
    let own: Vec<&Row> = rows
        .iter()
        .filter(|row| row["_station"] == station && number(row, "_batch") <= last)
        .collect();
    let passes = own.iter().filter(|row| row["_what"] == "PASS");
    let pass = passes.map(|row| number(row, "_batch")).max().unwrap_or(0);
    let mut latest: BTreeMap<String, (i64, Option<String>)> = BTreeMap::new();
    for row in own.iter().filter(|row| number(row, "_batch") >= pass && row["_what"] != "PASS") {
        let record = row.get("record").filter(|_| row["_what"] != "DELETED").cloned();
        let key = match (&record, row["_id"].as_str()) {
            (Some(record), "") => record.clone(),
            (_, id) => id.to_owned(),
        };
        let at = number(row, "_sequence");
        let known = latest.get(&key);
        assert!(known.is_none_or(|(known, _)| *known != at), "{key} is there twice at {at}");
        if known.is_none_or(|(known, _)| *known < at) {
            latest.insert(key, (at, record));
        }
    }
    latest.into_iter().filter_map(|(id, (_, record))| Some((id, record?))).collect()
}

/// The JSON of the records of a kind in some workspaces.
pub fn records(
    session: &Session,
    kind: RecordKind,
    is_wanted: impl Fn(&str) -> bool,
) -> Vec<String> {
    let request = ScanRecordsRequest::new(kind).columns(["workspace", "record"]);
    let mut found = Vec::new();
    for batch in session.scan_records(request, &Control::default()).unwrap() {
        let batch = batch.unwrap();
        let (workspaces, records) =
            (batch.column(0).as_string::<i32>(), batch.column(1).as_string::<i32>());
        for (workspace, record) in workspaces.iter().zip(records) {
            if is_wanted(workspace.unwrap_or_default()) {
                found.push(record.unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// Every kind whose records the suites make, with its name in the lake.
pub const KINDS: [(RecordKind, &str); 4] = [
    (RecordKind::Product, "product"),
    (RecordKind::WorkItem, "work_item"),
    (RecordKind::Table, "table"),
    (RecordKind::File, "file"),
];

/// Asserts that one root has exactly what the store has in these workspaces.
pub fn assert_equal(
    session: &Session,
    objects: &Objects,
    root: &str,
    station: &str,
    is_wanted: impl Fn(&str) -> bool + Copy,
) {
    let (lake, store) = (live_rows(objects, root, station), store_rows(session, is_wanted));
    let lost: Vec<_> = store.keys().filter(|key| !lake.contains_key(*key)).take(5).collect();
    let more: Vec<_> = lake.keys().filter(|key| !store.contains_key(*key)).take(5).collect();
    assert!(lost.is_empty() && more.is_empty(), "lost {lost:?}, too many {more:?}");
    for (key, row) in &store {
        assert_eq!(row, &lake[key], "{key:?}");
    }
    assert_same_records(session, objects, root, station, is_wanted);
}

/// Asserts that one root has exactly the records that the store has in these workspaces.
pub fn assert_same_records(
    session: &Session,
    objects: &Objects,
    root: &str,
    station: &str,
    is_wanted: impl Fn(&str) -> bool + Copy,
) {
    for (kind, name) in KINDS {
        let mut in_lake: Vec<String> = latest(objects, root, station, name).into_values().collect();
        in_lake.sort();
        assert_eq!(in_lake, records(session, kind, is_wanted), "{name}");
    }
}

/// A small table with an index `n` and a value.
pub fn small_table(session: &Session, name: &str, workspace: &str) -> TableId {
    let columns = json!([
        { "name": "n", "dataType": "INT64", "columnType": "INDEX" },
        { "name": "value", "dataType": "FLOAT64" },
    ]);
    let request = json!({ "name": name, "workspace": workspace, "columns": columns });
    session.create_table(from(request)).unwrap()
}

/// Appends rows with these index values.
pub fn append(session: &Session, id: &TableId, rows: impl Iterator<Item = i64>) {
    let data: Vec<Value> =
        rows.map(|n| json!([n.to_string(), format!("{}", n as f64 * 0.5)])).collect();
    session.append_table_data(id, from(json!({ "frame": { "data": data } }))).unwrap();
}

/// A store with a small table of these rows, and an empty lake.
pub fn filled(rows: Range<i64>) -> (Store, Objects, TableId) {
    let store = store();
    let id = small_table(&ada(&store), "a", "");
    append(&ada(&store), &id, rows);
    (store, objects(), id)
}

/// Deletes the rows of a small table with index values from `from` on and before `before`.
pub fn delete(session: &Session, id: &TableId, from: i64, before: i64) {
    let request =
        DeleteRowsRequest::new().index_from(from.to_string()).index_before(before.to_string());
    session.delete_rows(id, request).unwrap();
}

/// Leaves the newest rows of a table, as a retention does.
pub fn retire(store: &Store, id: &TableId, rows: u64) {
    ada(store).set_retention(id, SetRetentionRequest::new().rows_max(rows)).unwrap();
    store.maintain(&Control::default()).unwrap();
    ada(store).delete_retention(id).unwrap();
}

pub fn rename(session: &Session, id: &TableId, from_name: &str, to: &str) {
    let request = json!({ "columns": [{ "name": from_name, "newName": to }] });
    session.rename_columns(id, from(request)).unwrap();
}

/// Publishes until that many commits were made, and crashes. Returns whether that was all.
pub fn interrupted(publisher: Publisher, commits: u64) -> bool {
    let control = Control::default();
    let (cancelled, count) = (control.clone(), AtomicU64::new(0));
    let crashing = publisher.with_notes(move |note| {
        let is_last = || count.fetch_add(1, Ordering::SeqCst) + 1 == commits;
        if matches!(note, Note::Committed { .. }) && is_last() {
            cancelled.cancel();
        }
    });
    crashing.publish(&control).is_ok()
}

pub fn lake() -> OneRoot {
    OneRoot::new("lake")
}

pub fn objects() -> Objects {
    Arc::new(InMemory::new())
}

pub fn faulty(inner: &Objects, seed: u64) -> (Arc<FaultyStore>, Objects) {
    let faulty = Arc::new(FaultyStore::new(inner.clone(), seed));
    (faulty.clone(), faulty)
}

/// Asserts that a scenario holds, and that it does not when the check is off.
pub fn needs(check: Check, scenario: impl Fn()) {
    scenario();
    let broken = catch_unwind(AssertUnwindSafe(|| without(check, &scenario)));
    let panic = broken.expect_err("nothing is noticed without the check");
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    println!("without {check:?}: {}", text.unwrap_or_default());
}

pub fn equal(store: &Store, objects: &Objects, station: &str) {
    assert_equal(&ada(store), objects, "lake", station, |_| true);
}

/// Two stations commit at once to an empty lake, which has what both have.
pub fn two_commit_one_version(objects: &Objects) {
    let (store_1, store_2) = (store(), store());
    let publishers =
        [publisher(&store_1, objects, lake(), "s1"), publisher(&store_2, objects, lake(), "s2")];
    let ids = [&store_1, &store_2].map(|store| small_table(&ada(store), "a", ""));
    for (store, id) in [&store_1, &store_2].into_iter().zip(&ids) {
        append(&ada(store), id, 0..10);
    }
    publishers.iter().for_each(|publisher| drop(publish(publisher)));
    let [first, second] = publishers;
    append(&ada(&store_1), &ids[0], 10..20);
    append(&ada(&store_2), &ids[1], 10..20);
    // The second commits between what the first read and its commit.
    let second = Mutex::new(Some(second));
    let control = Control::default().with_progress(move |_| {
        if let Some(second) = second.lock().unwrap().take() {
            second.publish(&Control::default()).unwrap();
        }
    });
    first.publish(&control).unwrap();
    equal(&store_1, objects, "s1");
    equal(&store_2, objects, "s2");
}
