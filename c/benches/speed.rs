//! The C interface against the library: appends of 1,000 rows, decimations of a million, and a
//! record by its id. Medians of seven runs, of which each measures one after the other, in turn.
//!
//! `cargo bench -p stationdb-c`; with `--test` everything runs once. The limits of the requirement
//! are 1.05 of the library for rows, and a microsecond beyond the JSON for a record.
#![allow(unsafe_code, reason = "calls the interface as a program in C does")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use stationdb::prelude::*;
use stationdb::products::{CreateProductRequest, ProductId};
use stationdb::tables::{
    Column, ColumnType, CreateTableRequest, DataType, DecimationMethod, DecimationOptions,
    QueryDecimatedDataRequest, TableId,
};
use stationdb::{Identity, Session, Store};
// Links the exported functions.
use stationdb_c as _;

unsafe extern "C" {
    fn sdb_open(
        path: *const u8,
        path_length: i64,
        options: *const u8,
        options_length: i64,
        store: *mut u64,
        error: *mut u64,
    ) -> i32;
    fn sdb_session(
        store: u64,
        user: *const u8,
        user_length: i64,
        options: *const u8,
        options_length: i64,
        session: *mut u64,
        error: *mut u64,
    ) -> i32;
    fn sdb_call(
        caller: u64,
        operation: *const u8,
        operation_length: i64,
        json: *const u8,
        json_length: i64,
        control: u64,
        answer: *mut u64,
        error: *mut u64,
    ) -> i32;
    fn sdb_text_pointer(
        text: u64,
        pointer: *mut *const u8,
        length: *mut i64,
        error: *mut u64,
    ) -> i32;
    fn sdb_append_f64(
        caller: u64,
        table: *const u8,
        table_length: i64,
        columns: *const u8,
        columns_length: i64,
        index: *const i64,
        values: *const f64,
        rows: i64,
        error: *mut u64,
    ) -> i32;
    fn sdb_decimate_f64(
        caller: u64,
        table: *const u8,
        table_length: i64,
        request: *const u8,
        request_length: i64,
        control: u64,
        values: *mut f64,
        columns: i64,
        capacity: i64,
        rows: *mut i64,
        error: *mut u64,
    ) -> i32;
    fn sdb_free(handle: u64, error: *mut u64) -> i32;
    fn sdb_close(store: u64, error: *mut u64) -> i32;
}

const ROWS: usize = 1_000;
const COLUMNS: usize = 4;
const NAMES: &str = r#"["t", "a", "b", "c", "d"]"#;
const POINTS: usize = 8_192;
const REQUEST: &str = r#"{"columns": ["t", "a"],
    "decimation": {"yColumns": ["a"], "intervals": 1000, "method": "MAX_MIN"}}"#;

fn length(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap()
}

#[track_caller]
fn ok(code: i32) {
    assert_eq!(code, 0);
}

/// Calls an operation, and looks at its answer. Returns the bytes of the answer.
fn call(caller: u64, operation: &str, json: &str) -> String {
    let (mut answer, mut error, mut count) = (0, 0, 0);
    let mut pointer = std::ptr::null();
    // SAFETY: The texts have these lengths, and the places are of this function. The bytes of the
    // answer are read before it is freed, and they are UTF-8.
    unsafe {
        let (name, text) = (operation.as_ptr(), json.as_ptr());
        let lengths = (length(operation), length(json));
        ok(sdb_call(caller, name, lengths.0, text, lengths.1, 0, &raw mut answer, &raw mut error));
        ok(sdb_text_pointer(answer, &raw mut pointer, &raw mut count, &raw mut error));
        let bytes = std::slice::from_raw_parts(pointer, usize::try_from(count).unwrap());
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        ok(sdb_free(answer, &raw mut error));
        text
    }
}

/// The id in an answer.
fn id_of(json: &str) -> String {
    json.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

/// A table of the store, with its next index.
struct Table {
    id: String,
    next: i64,
}

fn table() -> CreateTableRequest {
    let index = Column::new("t", DataType::Int64).column_type(ColumnType::Index);
    let values = ["a", "b", "c", "d"].map(|name| Column::new(name, DataType::Float64));
    let columns: Vec<Column> = [index].into_iter().chain(values).collect();
    CreateTableRequest::new(columns)
}

/// The rows of one append.
fn rows(first: i64, count: usize) -> (Vec<i64>, Vec<f64>) {
    let index: Vec<i64> = (first..).take(count).collect();
    let values = (0..COLUMNS * count).map(|at| (at as f64 / 50.0).sin()).collect();
    (index, values)
}

fn append_by_rust(session: &Session, table: &mut Table, count: usize) {
    let (index, values) = rows(table.next, count);
    let id = TableId::from(table.id.as_str());
    let mut columns: Vec<(&str, ArrayRef)> = vec![("t", Arc::new(Int64Array::from(index)))];
    for (name, values) in ["a", "b", "c", "d"].into_iter().zip(values.chunks_exact(count)) {
        columns.push((name, Arc::new(Float64Array::from(values.to_vec()))));
    }
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    session.append_batches(&id, &mut std::iter::once(Ok(batch)), None).unwrap();
    table.next += i64::try_from(count).unwrap();
}

fn append_by_c(session: u64, table: &mut Table, count: usize) {
    let (index, values) = rows(table.next, count);
    let rows = i64::try_from(count).unwrap();
    let (id, mut error) = (table.id.as_str(), 0);
    // SAFETY: The texts have these lengths, and the arrays `rows` values and `COLUMNS * rows`
    // values.
    ok(unsafe {
        sdb_append_f64(
            session,
            id.as_ptr(),
            length(id),
            NAMES.as_ptr(),
            length(NAMES),
            index.as_ptr(),
            values.as_ptr(),
            rows,
            &raw mut error,
        )
    });
    table.next += rows;
}

fn decimate_by_rust(session: &Session, table: &Table, plot: &mut [f64]) -> usize {
    let options = DecimationOptions::new(DecimationMethod::MaxMin).y_columns(["a"]).intervals(1000);
    let request = QueryDecimatedDataRequest::new().columns(["t", "a"]).decimation(options);
    let frame =
        session.query_decimated_data(&TableId::from(table.id.as_str()), request).unwrap().frame;
    // A program in Rust plots what the batches have; this one copies it, as the other does.
    let mut at = 0;
    for batch in &frame.batches {
        let t = batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap();
        let a = batch.column(1).as_any().downcast_ref::<Float64Array>().unwrap();
        for (place, value) in plot[at..].iter_mut().zip(t.values()) {
            *place = *value as f64;
        }
        plot[POINTS + at..POINTS + at + a.len()].copy_from_slice(a.values());
        at += batch.num_rows();
    }
    at
}

fn decimate_by_c(session: u64, table: &Table, plot: &mut [f64]) -> usize {
    let (id, mut count, mut error) = (table.id.as_str(), 0, 0);
    let capacity = i64::try_from(POINTS).unwrap();
    // SAFETY: The texts have these lengths, and the plot two columns of `POINTS` values.
    ok(unsafe {
        sdb_decimate_f64(
            session,
            id.as_ptr(),
            length(id),
            REQUEST.as_ptr(),
            length(REQUEST),
            0,
            plot.as_mut_ptr(),
            2,
            capacity,
            &raw mut count,
            &raw mut error,
        )
    });
    usize::try_from(count).unwrap()
}

fn timed(times: usize, mut work: impl FnMut()) -> Duration {
    let began = Instant::now();
    for _ in 0..times {
        work();
    }
    began.elapsed() / u32::try_from(times).unwrap()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Measures both in turn, and prints the medians.
fn compare(name: &str, runs: usize, times: usize, rust: &mut dyn FnMut(), c: &mut dyn FnMut()) {
    let mut found: [Vec<Duration>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..runs {
        found[0].push(timed(times, &mut *rust));
        found[1].push(timed(times, &mut *c));
    }
    let [rust, c] = found.map(median);
    let ratio = c.as_secs_f64() / rust.as_secs_f64();
    let more = c.as_secs_f64() * 1e6 - rust.as_secs_f64() * 1e6;
    println!("{name:<32} library {rust:>10.2?}   C {c:>10.2?}   ratio {ratio:.3}   {more:+.2} us");
}

fn main() {
    let is_test = std::env::args().any(|argument| argument == "--test");
    let (runs, many) = if is_test { (1, 1) } else { (7, 200) };
    let dir = tempfile::tempdir().unwrap();
    let paths = ["rust", "c"].map(|name| dir.path().join(name));

    let store = Store::options().maintenance_thread(false).open(&paths[0]).unwrap();
    let session = store.session(Identity::user("ada"));
    let (mut c_store, mut c_session, mut error) = (0, 0, 0);
    let path = paths[1].to_str().unwrap();
    let options = r#"{"maintenanceThread": false}"#;
    // SAFETY: The texts have these lengths, and the places are of this function.
    unsafe {
        let path_length = length(path);
        ok(sdb_open(
            path.as_ptr(),
            path_length,
            options.as_ptr(),
            length(options),
            &raw mut c_store,
            &raw mut error,
        ));
        ok(sdb_session(
            c_store,
            b"ada".as_ptr(),
            3,
            std::ptr::null(),
            0,
            &raw mut c_session,
            &raw mut error,
        ));
    }
    let json = r#"{"columns": [{"name": "t", "dataType": "INT64", "columnType": "INDEX"},
        {"name": "a", "dataType": "FLOAT64"}, {"name": "b", "dataType": "FLOAT64"},
        {"name": "c", "dataType": "FLOAT64"}, {"name": "d", "dataType": "FLOAT64"}]}"#;
    let id = id_of(&call(c_session, "create_table", json));
    let mut in_c = Table { id, next: 0 };
    let id = session.create_table(table()).unwrap().as_str().to_owned();
    let mut in_rust = Table { id, next: 0 };

    compare(
        "append of 1,000 rows",
        runs,
        many,
        &mut || append_by_rust(&session, &mut in_rust, ROWS),
        &mut || append_by_c(c_session, &mut in_c, ROWS),
    );
    // Both tables get a million rows, sealed.
    for _ in 0..10 {
        append_by_rust(&session, &mut in_rust, 100_000);
        append_by_c(c_session, &mut in_c, 100_000);
    }
    let (mut plot, mut other) = (vec![0.0; 2 * POINTS], vec![0.0; 2 * POINTS]);
    let points = decimate_by_rust(&session, &in_rust, &mut plot);
    assert_eq!(decimate_by_c(c_session, &in_c, &mut other), points);
    assert_eq!(plot, other);
    compare(
        "decimation of a million rows",
        runs,
        many.min(50),
        &mut || {
            black_box(decimate_by_rust(&session, &in_rust, &mut plot));
        },
        &mut || {
            black_box(decimate_by_c(c_session, &in_c, &mut other));
        },
    );

    // The library's own call by name makes the same JSON.
    let request = vec![CreateProductRequest::new("P-1").family("Amplifier")];
    session.create_products(request).unwrap().require_all().unwrap();
    let id = session.query_products(Default::default()).unwrap().products[0].id.clone().unwrap();
    let created = call(
        c_session,
        "create_products",
        r#"{"products": [{"partNumber": "P-1", "family": "Amplifier"}]}"#,
    );
    let wanted = [id.as_str().to_owned(), id_of(&created)].map(|id| format!(r#"{{"id": "{id}"}}"#));
    let one = ProductId::from(id.as_str());
    assert!(session.get_product(&one).is_ok());
    compare(
        "record by its id, as JSON",
        runs,
        many * 100,
        &mut || {
            black_box(session.call("get_product", &wanted[0]).unwrap());
        },
        &mut || {
            black_box(call(c_session, "get_product", &wanted[1]));
        },
    );
    // SAFETY: Handles are numbers.
    unsafe {
        ok(sdb_free(c_session, &raw mut error));
        ok(sdb_close(c_store, &raw mut error));
    }
}
