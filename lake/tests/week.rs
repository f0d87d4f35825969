//! A station that was offline for a week: one call sends what the lake lacks, in bounded memory.
//!
//! The short form has files, parts and row groups that are smaller, so that whoever keeps all that is
//! sent allocates more than it may.

mod common;
#[path = "common/memory.rs"]
mod memory;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use arrow_cast::cast;
use common::curves::{append_curve, curve_table};
use common::sizes;
use common::*;
use memory::peak_of;
use object_store::ObjectStoreExt;
use object_store::local::LocalFileSystem;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::json;
use stationdb::arrow::array::{AsArray, RecordBatch};
use stationdb::arrow::datatypes::{
    DataType, Float32Type, Float64Type, Int32Type, Int64Type, TimeUnit, TimestampMicrosecondType,
};
use stationdb::prelude::*;
use stationdb::results::{
    CreateResultRequest, CreateStepRequest, ResultWithSteps, ScanMeasurementsRequest, StatusType,
    StepData,
};
use stationdb::scans::RecordKind;
use stationdb::tables::{DeleteRowsRequest, ScanRequest, TableId};
use stationdb::{Control, HoldBounds, HoldState, Session, Store};
use stationdb_lake::PublishReport;
use stationdb_lake::faults::set_small_files;

const TABLES: usize = 4;

/// One test at a time: what others allocate would be counted too.
static ALONE: Mutex<()> = Mutex::new(());

/// Rows of a table: how many, and a sum over their values that does not depend on an order.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sum {
    rows: u64,
    values: u64,
}

impl Sum {
    fn add(&mut self, row: u64) {
        self.rows += 1;
        self.values = self.values.wrapping_add(row);
    }
}

/// A number for the values of each row.
fn numbers(batch: &RecordBatch) -> Vec<u64> {
    let column = |name: &str| batch.column_by_name(name).unwrap();
    let micros = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let times = cast(column("time"), &micros).unwrap();
    let times = times.as_primitive::<TimestampMicrosecondType>().values();
    let voltages = column("voltage").as_primitive::<Float64Type>().values();
    let currents = column("current").as_primitive::<Float32Type>().values();
    let channels = column("channel").as_primitive::<Int32Type>().values();
    let mixed = |at: usize| {
        let parts = [
            times[at] as u64,
            voltages[at].to_bits(),
            u64::from(currents[at].to_bits()),
            channels[at] as u64,
        ];
        parts.into_iter().fold(1_u64, |mixed, part| {
            let mixed = (mixed ^ part).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed ^ mixed >> 29
        })
    };
    (0..batch.num_rows()).map(mixed).collect()
}

fn sums_of_store(session: &Session, tables: &[TableId]) -> BTreeMap<String, Sum> {
    let sum = |id: &TableId| {
        let mut sum = Sum::default();
        for batch in session.scan(id, ScanRequest::new(), &Control::default()).unwrap() {
            numbers(&batch.unwrap()).into_iter().for_each(|row| sum.add(row));
        }
        (id.to_string(), sum)
    };
    tables.iter().map(sum).collect()
}

/// The rows that count in the lake. Panics on one that is there twice.
fn sums_of_lake(objects: &Objects) -> BTreeMap<String, Sum> {
    let name = names(objects, "lake").into_iter().find(|name| is_rows(name)).unwrap();
    let (last, first) = complete(objects, "lake", "s1").unwrap();
    let number = |row: &Row, name: &str| row[name].parse::<i64>().unwrap();
    let range = |row: &Row| {
        let rows = number(row, "_row_from")..=number(row, "_row_to");
        (row["_table"].clone(), rows, number(row, "_batch"))
    };
    let deleted: Vec<_> =
        table(objects, "lake", &format!("{name}_deleted")).rows.iter().map(range).collect();
    let mut all: BTreeMap<String, (Sum, Vec<bool>)> = BTreeMap::new();
    for file in log_of(objects, "lake", &name).files {
        let path = object_store::path::Path::from(format!("lake/{name}/{file}"));
        let bytes = wait(async { objects.get(&path).await.unwrap().bytes().await.unwrap() });
        for batch in ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap().build().unwrap() {
            let batch = batch.unwrap();
            let identity = |name: &str| batch.column_by_name(name).unwrap();
            let texts = |name: &str| cast(identity(name), &DataType::Utf8).unwrap();
            let (stations, tables) = (texts("_station"), texts("_table"));
            let (stations, tables) = (stations.as_string::<i32>(), tables.as_string::<i32>());
            let batches = identity("_batch").as_primitive::<Int64Type>().values();
            let rows = identity("_row").as_primitive::<Int64Type>().values();
            for (at, values) in numbers(&batch).into_iter().enumerate() {
                let (id, row, number) = (tables.value(at), rows[at], batches[at]);
                assert!(stations.value(at) == "s1" && (first..=last).contains(&number));
                let is_deleted = |(table, rows, batch): &(String, _, i64)| {
                    table == id && number < *batch && std::ops::RangeInclusive::contains(rows, &row)
                };
                if deleted.iter().any(is_deleted) {
                    continue;
                }
                if !all.contains_key(id) {
                    all.insert(id.to_owned(), (Sum::default(), Vec::new()));
                }
                let (sum, seen) = all.get_mut(id).unwrap();
                let row = row as usize;
                seen.resize(seen.len().max(row + 1), false);
                assert!(!seen[row], "row {row} of {id} is there twice");
                seen[row] = true;
                sum.add(values);
            }
        }
    }
    all.into_iter().map(|(id, (sum, _))| (id, sum)).collect()
}

/// Changes of products by this many commits: new ones, later ones of some, and deletions.
fn change(session: &Session, changes: usize, commits: usize) {
    let step = changes / commits;
    let mut ids = Vec::new();
    for commit in 0..commits {
        let last = ids.len().saturating_sub(step);
        if commit % 5 < 3 {
            let product = |n| from(json!({ "partNumber": format!("W-{n}"), "name": "new" }));
            let numbers = commit * step..(commit + 1) * step;
            let made = session.create_products(numbers.map(product).collect()).unwrap();
            assert!(made.error.is_none());
            ids.extend(made.products.into_iter().map(|product| product.id.unwrap()));
        } else if commit % 20 == 4 {
            session.delete_products(ids.split_off(last)).unwrap();
        } else {
            let product = |id| from(json!({ "id": id, "name": format!("changed {commit}") }));
            let products = ids[last..].iter().map(product).collect();
            assert!(session.update_products(products, false).unwrap().error.is_none());
        }
    }
}

/// Publishes after a week. The change log keeps `log_entries` commits beyond what is held.
fn week(log_entries: Option<u64>, hold: Option<HoldBounds>) -> PublishReport {
    let (rows, changes, commits) = (
        sizes::count("lake_week_rows"),
        sizes::count("lake_week_changes"),
        sizes::count("lake_week_commits"),
    );
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (file_rows, part_bytes) =
        (sizes::count("lake_week_file_rows"), sizes::count("lake_week_part_bytes"));
    if file_rows > 0 {
        set_small_files(file_rows);
    }
    let directory = tempfile::tempdir().unwrap();
    let mut options = Store::options().maintenance_thread(false);
    if let Some(most) = log_entries {
        options = options.log_entries_max(most);
    }
    let store = options.open(directory.path().join("store")).unwrap();
    let session = ada(&store);
    let tables: Vec<TableId> =
        (0..TABLES).map(|at| curve_table(&session, &format!("curve {at}"))).collect();
    for id in &tables {
        append_curve(&session, id, 0..1_000);
    }
    let lakes = directory.path().join("lakes");
    std::fs::create_dir(&lakes).unwrap();
    let objects: Objects = Arc::new(LocalFileSystem::new_with_prefix(&lakes).unwrap());
    let new = || {
        let mut new = publisher(&store, &objects, lake(), "s1");
        if let Some(hold) = hold {
            new = new.with_hold(hold);
        }
        if part_bytes > 0 { new.with_part_bytes(part_bytes) } else { new }
    };
    assert_eq!(publish(&new()).rows, 4_000);

    for (at, id) in tables.iter().enumerate() {
        let first = 1_000 + at * rows;
        append_curve(&session, id, first..first + rows / TABLES);
    }
    // Rows that the lake has.
    let before = DeleteRowsRequest::new().index_before("2023-11-14T22:13:21.500Z");
    let deleted = session.delete_rows(&tables[0], before).unwrap();
    assert!(deleted.row_count > 100, "{deleted:?}");
    change(&session, changes, commits);
    store.maintain(&Control::default()).unwrap();

    let kept = new();
    let held = kept.status(&Control::default()).unwrap().hold.unwrap();
    let is_lost = held.state == HoldState::Lost;
    assert_eq!(is_lost, log_entries.is_some() && hold.is_some(), "{held:?}");
    let began = Instant::now();
    let (published, peak) = peak_of(|| publish(&kept));
    println!(
        "{} rows and {changes} changes in {:?}, {} files of {} bytes, full passes {:?}; {} MiB \
         allocated at a time",
        published.rows,
        began.elapsed(),
        published.files,
        published.bytes,
        published.full_passes,
        peak >> 20,
    );
    println!("counted: {} rows", published.rows);
    assert_eq!(published.rows, rows as u64);
    let most = sizes::count("lake_week_memory_bytes");
    assert!(peak <= most, "{peak} bytes were allocated at a time");
    assert_eq!(sums_of_lake(&objects), sums_of_store(&session, &tables));
    let mut found: Vec<String> = latest(&objects, "lake", "s1", "product").into_values().collect();
    found.sort();
    assert_eq!(found, records(&session, RecordKind::Product, |_| true));
    assert!(!found.is_empty());
    assert_eq!(publish(&kept).commits, 0);
    published
}

/// Commits that the change log keeps, which are fewer than those of the week.
fn few() -> Option<u64> {
    Some(sizes::size("lake_week_commits") / 2)
}

#[test]
fn a_week_offline_is_sent_by_one_call() {
    assert!(week(None, None).full_passes.is_empty());
}

#[test]
fn a_week_offline_is_sent_from_a_change_log_that_the_publisher_holds() {
    assert!(week(few(), None).full_passes.is_empty());
}

#[test]
fn a_week_offline_is_sent_after_the_change_log_was_trimmed() {
    assert_eq!(week(few(), Some(HoldBounds::new(0, 0))).full_passes, ["lake"]);
}

/// A result with 25 steps of two measurements each, whose values are the numbers from `first` on.
fn measured(first: usize) -> ResultWithSteps {
    let parameter = |at: usize| -> BTreeMap<String, String> {
        let parts = [("name", format!("value {}", at % 2)), ("measurement", at.to_string())];
        let more = [("units", "V".to_owned()), ("lowLimit", "0".to_owned())];
        parts.into_iter().chain(more).map(|(key, text)| (key.to_owned(), text)).collect()
    };
    let step = |at: usize| {
        let parameters = [2 * at, 2 * at + 1].map(|at| parameter(first + at));
        let step = CreateStepRequest::new().name(format!("Step {at}")).status(StatusType::Passed);
        step.data(StepData::new().parameters(parameters))
    };
    let result = CreateResultRequest::new().program_name("Gain").status(StatusType::Passed);
    ResultWithSteps::new(result.serial_number(first.to_string())).steps((0..25).map(step))
}

/// The number and the sum of the measurements in the lake.
fn sum_of_measurements(objects: &Objects) -> (u64, f64) {
    let (mut count, mut sum) = (0, 0.0);
    for file in log_of(objects, "lake", "measurement_changes").files {
        let path = object_store::path::Path::from(format!("lake/measurement_changes/{file}"));
        let bytes = wait(async { objects.get(&path).await.unwrap().bytes().await.unwrap() });
        for batch in ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap().build().unwrap() {
            let batch = batch.unwrap();
            let values = batch.column_by_name("value").unwrap().as_primitive::<Float64Type>();
            count += batch.num_rows() as u64;
            sum += values.iter().flatten().sum::<f64>();
        }
    }
    (count, sum)
}

#[test]
fn a_week_offline_sends_steps_in_bounded_memory() {
    let results = sizes::count("lake_week_results");
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (file_rows, part_bytes) =
        (sizes::count("lake_week_file_rows"), sizes::count("lake_week_part_bytes"));
    if file_rows > 0 {
        set_small_files(file_rows);
    }
    let directory = tempfile::tempdir().unwrap();
    let options = Store::options().maintenance_thread(false).seal_rows(20_000);
    let store = options.open(directory.path().join("store")).unwrap();
    for first in (0..results).step_by(500) {
        let end = results.min(first + 500);
        let some: Vec<ResultWithSteps> = (first..end).map(|at| measured(50 * at)).collect();
        let _ = ada(&store).append_results(&some).unwrap().into_result().unwrap();
    }
    store.maintain(&Control::default()).unwrap();
    let lakes = directory.path().join("lakes");
    std::fs::create_dir(&lakes).unwrap();
    let objects: Objects = Arc::new(LocalFileSystem::new_with_prefix(&lakes).unwrap());
    let new = publisher(&store, &objects, lake(), "s1");
    let new = if part_bytes > 0 { new.with_part_bytes(part_bytes) } else { new };
    // What the store itself takes to read all.
    let control = Control::default();
    let scan = || ada(&store).scan_measurements(ScanMeasurementsRequest::new(), &control).unwrap();
    let (read, of_store) = peak_of(|| scan().map(|batch| batch.unwrap().num_rows()).sum::<usize>());
    let began = Instant::now();
    let (sent, peak) = peak_of(|| publish(&new));
    let took = began.elapsed();
    let bytes = |name: &str| -> u64 {
        let files = log_of(&objects, "lake", name).files.into_iter();
        let path = |file| lakes.join("lake").join(name).join(file);
        files.map(|file: String| std::fs::metadata(path(file)).unwrap().len()).sum()
    };
    println!(
        "{} measurements of {} steps in {took:?}, {} files of {} bytes ({} of measurements, {} of \
         steps); {} KiB allocated at a time, {} KiB by the store",
        sent.measurements,
        sent.steps,
        sent.files,
        sent.bytes,
        bytes("measurement_changes"),
        bytes("step_changes"),
        peak >> 10,
        of_store >> 10,
    );
    println!("counted: {} measurements", sent.measurements);
    let all = 50 * results as u64;
    assert_eq!((sent.measurements, sent.steps, read as u64), (all, all / 2, all));
    assert_eq!(sum_of_measurements(&objects), (all, (all * (all - 1) / 2) as f64));
    let most = of_store + sizes::count("lake_week_memory_bytes");
    assert!(peak <= most, "{peak} bytes were allocated at a time");
    // What changes costs by what it is, and not by the store.
    let _ = ada(&store).append_results(&[measured(0)]).unwrap().into_result().unwrap();
    let after = publish(&new);
    assert_eq!((after.measurements, after.steps), (50, 25));
    assert!(after.bytes < 100_000, "{after:?}");
}
