//! The common operations of a station, in small sizes. Each bench asserts its result, so that a
//! fast and wrong answer fails.
//!
//! `cargo bench` measures; `cargo bench -- --test` runs each bench once.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use serde_json::json;
use stationdb::arrow::array::{Float64Array, Int64Array, RecordBatch};
use stationdb::prelude::*;
use stationdb::tables::{
    Column, ColumnFilter, ColumnType, CreateTableRequest, DataType, DecimationMethod,
    DecimationOptions, FilterOperation, QueryDecimatedDataRequest, QueryTableDataRequest,
    ScanRequest,
};
use stationdb::work_items::{CreateWorkItemRequest, QueryWorkItemsRequest};
use stationdb::{Control, Identity, Session, Store};

const ROWS: usize = 200_000;
const ITEMS: usize = 1_000;

struct Place {
    session: Session,
    // The last field, so that the directory is removed after the store is closed.
    _dir: tempfile::TempDir,
}

fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    Place { session: store.session(Identity::user("bench")), _dir: dir }
}

/// Row i has t = 10 i, and v from a hash of i.
fn batch(from: usize, rows: usize) -> RecordBatch {
    let t = Int64Array::from_iter_values((from..from + rows).map(|row| 10 * row as i64));
    let v = Float64Array::from_iter_values((from..from + rows).map(value));
    RecordBatch::try_from_iter([("t", Arc::new(t) as _), ("v", Arc::new(v) as _)]).unwrap()
}

fn value(row: usize) -> f64 {
    let hash = (row as u64 + 1)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .rotate_left(23)
        .wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (hash >> 11) as f64 / (1u64 << 53) as f64 * 1000.0
}

fn create_table(session: &Session) -> String {
    let column = |name: &str, data_type, column_type| {
        Column::new(name.to_owned(), data_type).column_type(column_type)
    };
    let columns = vec![
        column("t", DataType::Int64, ColumnType::Index),
        column("v", DataType::Float64, ColumnType::Normal),
    ];
    session.create_table(CreateTableRequest::new(columns)).unwrap().into()
}

fn append_batch(session: &Session, id: &str, batch: RecordBatch, end_of_data: Option<bool>) {
    session.append_batches(&id.into(), &mut std::iter::once(Ok(batch)), end_of_data).unwrap();
}

fn filled_table(session: &Session) -> String {
    let id = create_table(session);
    append_batch(session, &id, batch(0, ROWS), Some(true));
    id
}

fn append(c: &mut Criterion) {
    let place = place();
    let mut group = c.benchmark_group("append");
    group.sample_size(10);
    for (name, rows) in [("100 rows, durable", 100), ("65536 rows, durable", 65_536)] {
        let id = create_table(&place.session);
        let mut appended = 0;
        group.throughput(Throughput::Elements(rows as u64));
        group.bench_function(name, |b| {
            b.iter_batched(
                || {
                    appended += rows;
                    batch(appended - rows, rows)
                },
                |batch| append_batch(&place.session, &id, batch, None),
                BatchSize::PerIteration,
            );
        });
        assert_eq!(
            place.session.get_table_metadata(&id.as_str().into()).unwrap().row_count,
            Some(appended as i64)
        );
    }
}

fn scan(c: &mut Criterion) {
    let place = place();
    let id = filled_table(&place.session);
    let mut group = c.benchmark_group("scan");
    group.sample_size(10);
    group.throughput(Throughput::Elements(ROWS as u64));
    group.bench_function("all rows", |b| {
        b.iter(|| {
            let stream = place
                .session
                .scan(&id.as_str().into(), ScanRequest::default(), &Control::default())
                .unwrap();
            let rows: usize = stream.map(|batch| batch.unwrap().num_rows()).sum();
            assert_eq!(black_box(rows), ROWS);
        });
    });
    let expected = (0..ROWS).filter(|row| value(*row) < 10.0).count() as u64;
    group.bench_function("filtered, 1 percent", |b| {
        b.iter(|| {
            let filter = ColumnFilter::new("v", FilterOperation::LessThan).value("10");
            let request = QueryTableDataRequest::new().filters([filter]).take(500);
            assert_eq!(
                place
                    .session
                    .query_table_data(&id.as_str().into(), request)
                    .unwrap()
                    .total_row_count,
                expected
            );
        });
    });
}

fn decimate(c: &mut Criterion) {
    let place = place();
    let id = filled_table(&place.session);
    let max = (0..ROWS).map(value).fold(0.0, f64::max);
    let mut group = c.benchmark_group("decimate");
    group.sample_size(10);
    for method in [DecimationMethod::Lossy, DecimationMethod::MaxMin, DecimationMethod::EntryExit] {
        group.bench_function(method.as_str(), |b| {
            b.iter(|| {
                let options = DecimationOptions::new(method).y_columns(["v"]).intervals(100);
                let request = QueryDecimatedDataRequest::new().decimation(options);
                let frame = place
                    .session
                    .query_decimated_data(&id.as_str().into(), request)
                    .unwrap()
                    .frame
                    .to_data_frame();
                let has_max = frame
                    .data
                    .iter()
                    .any(|row| row[1].as_deref().and_then(|cell| cell.parse().ok()) == Some(max));
                assert_eq!(has_max, method != DecimationMethod::Lossy || has_max);
                assert!((100..=400).contains(&frame.data.len()));
            });
        });
    }
}

fn item(number: usize) -> CreateWorkItemRequest {
    CreateWorkItemRequest::new()
        .name(format!("Burn-in {number} of the amplifier"))
        .r#type("burn-in")
        .part_number(format!("PN-{:05}", number % 50))
        .properties([("lot".to_owned(), format!("LOT{:03}", number % 100))])
}

fn filled_items(session: &Session) -> Vec<String> {
    let made = session.create_work_items((0..ITEMS).map(item).collect()).unwrap();
    assert!(made.error.is_none());
    made.created_work_items.into_iter().map(|item| item.id.map(String::from).unwrap()).collect()
}

fn records(c: &mut Criterion) {
    let place = place();
    let session = &place.session;
    let ids = filled_items(session);
    let mut group = c.benchmark_group("records");
    group.sample_size(10);
    group.bench_function("create 1, durable", |b| {
        let other = self::place();
        let mut number = 0;
        b.iter(|| {
            number += 1;
            assert_eq!(
                other
                    .session
                    .create_work_items(vec![item(number)])
                    .unwrap()
                    .created_work_items
                    .len(),
                1
            );
        });
    });
    group.bench_function("get by id", |b| {
        let mut at = 0;
        b.iter(|| {
            at = (at + 7) % ids.len();
            let found = session.get_work_item(&ids[at].as_str().into()).unwrap();
            assert_eq!(found.id.as_deref(), Some(ids[at].as_str()));
        });
    });
    let query = |filter: &str, value: &str, expected: u64| {
        let request = QueryWorkItemsRequest::new()
            .filter(filter.to_owned())
            .substitutions([json!(value)])
            .take(100)
            .return_count(true);
        assert_eq!(session.query_work_items(request).unwrap().total_count, Some(expected));
    };
    group
        .bench_function("query by index", |b| b.iter(|| query("partNumber == @0", "PN-00007", 20)));
    group.bench_function("query by property", |b| {
        b.iter(|| query("properties[\"lot\"] == @0", "LOT042", 10));
    });
    group.bench_function("query by scan", |b| {
        b.iter(|| query("name.Contains(@0)", "Burn-in 99", 11));
    });
}

/// Filters that nest too deeply or are too long are refused quickly, on the small stack of a
/// server's thread.
fn filters(c: &mut Criterion) {
    const BYTES: usize = 256 * 1024;
    const STACK_BYTES: usize = 512 * 1024;
    let place = place();
    let mut group = c.benchmark_group("filters");
    group.sample_size(10);
    for piece in ["(", "()", "!(", "-(", "name.Contains(", "[", "state==\"NEW\"||("] {
        let request =
            QueryWorkItemsRequest::new().filter(piece.repeat(BYTES / piece.len())).take(0);
        let refuse = || {
            let (session, request) = (place.session.clone(), request.clone());
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
                let began = std::time::Instant::now();
                let answer = session.query_work_items(request);
                (began.elapsed(), answer.map(|page| page.work_items.len()))
            });
            let (took, answer) = thread.unwrap().join().unwrap();
            assert!(answer.is_err(), "{piece} {answer:?}");
            took
        };
        // The fastest of several runs, so that other load of the machine does not count.
        let took = (0..10).map(|_| refuse()).min().unwrap();
        assert!(took.as_millis() < 10, "256 KiB of {piece} took {took:?}");
        group.bench_function(format!("256 KiB of {piece}"), |b| b.iter(|| black_box(refuse())));
    }
}

#[cfg(feature = "search")]
fn search(c: &mut Criterion) {
    use stationdb::search::SearchRequest;
    let place = place();
    filled_items(&place.session);
    let mut group = c.benchmark_group("search");
    group.sample_size(10);
    for (text, expected) in [("amplifier", ITEMS as u64), ("amplifier 123", 1)] {
        group.bench_function(text, |b| {
            b.iter(|| {
                let request = SearchRequest::new().text(text.to_owned()).take(10);
                assert_eq!(place.session.search(request).unwrap().total, Some(expected));
            });
        });
    }
}

#[cfg(not(feature = "search"))]
fn search(_: &mut Criterion) {}

criterion_group!(benches, append, scan, decimate, records, filters, search);
criterion_main!(benches);
