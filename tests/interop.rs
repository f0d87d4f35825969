//! The files of a table as other readers see them: pyarrow, Polars and DuckDB read the same rows.
//!
//! `STATIONDB_PYTHON` names the interpreter; the default is `python3`. Readers that are not
//! installed are skipped with a message. What they write is imported in `formats`.

#[path = "common/python.rs"]
mod python;

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use stationdb::prelude::*;
use stationdb::tables::{
    AppendTableDataRequest, Column, ColumnType, CreateTableRequest, DataFrame, DataType,
    ExportFormat, ExportTableDataRequest, GetTableDataRequest,
};
use stationdb::{Control, Identity, Store};

use python::python;

/// Prints one line for each installed reader, with its name and its rows: integers and times as
/// numbers, floats as the bits of a double, NaN as `nan`.
const SCRIPT: &str = r#"
import json, struct, sys
files = sys.argv[1:]
names = ["i", "f", "g", "n", "m", "b", "s", "t", "us", "ns"]
units = {"us": "us", "ns": "ns"}
def cell(v):
    if isinstance(v, float):
        return "nan" if v != v else struct.pack(">d", v).hex()
    return v
def show(reader, columns):
    print(json.dumps([reader, [[cell(v) for v in row] for row in zip(*columns)]]))
def pyarrow_rows():
    import pyarrow as pa, pyarrow.parquet as pq
    table = pa.concat_tables([pq.ParquetFile(f).read() for f in files])
    out = []
    for name in names:
        column = table.column(name)
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp(units.get(name, "ms"), tz="UTC")).cast(pa.int64())
        out.append(column.to_pylist())
    return out
def polars_rows():
    import polars as pl
    frame = pl.concat([pl.read_parquet(f) for f in files])
    out = []
    for name in names:
        column = frame[name]
        if column.dtype == pl.Datetime:
            column = column.dt.epoch(units.get(name, "ms"))
        out.append(column.to_list())
    return out
def duckdb_rows():
    import duckdb
    rows = []
    for f in files:
        epochs = {"i": "ms", "t": "ms", "us": "us", "ns": "ns"}
        cells = ("epoch_%s(%s)" % (epochs[n], n) if n in epochs else n for n in names)
        query = "select " + ", ".join(cells) + " from read_parquet(?)"
        rows += duckdb.execute(query, [f]).fetchall()
    return list(zip(*rows))
for reader, rows in (("pyarrow", pyarrow_rows), ("polars", polars_rows), ("duckdb", duckdb_rows)):
    try:
        columns = rows()
    except ImportError as error:
        print(json.dumps([reader, None]))
        continue
    show(reader, columns)
"#;

fn columns() -> Vec<Column> {
    let column = |name: &str, data_type, column_type| {
        Column::new(name.to_owned(), data_type).column_type(column_type)
    };
    vec![
        column("i", DataType::Timestamp, ColumnType::Index),
        column("f", DataType::Float64, ColumnType::Nullable),
        column("g", DataType::Float32, ColumnType::Normal),
        column("n", DataType::Int32, ColumnType::Nullable),
        column("m", DataType::Int64, ColumnType::Normal),
        column("b", DataType::Bool, ColumnType::Nullable),
        column("s", DataType::String, ColumnType::Nullable),
        column("t", DataType::Timestamp, ColumnType::Nullable),
        column("us", DataType::TimestampMicros, ColumnType::Nullable),
        column("ns", DataType::TimestampNanos, ColumnType::Normal),
    ]
}

fn time(ms: i64) -> String {
    chrono::DateTime::from_timestamp_millis(ms)
        .unwrap()
        .format("%Y-%m-%dT%H:%M:%S%.3fZ")
        .to_string()
}

/// A time with 6 digits for microseconds since 1970, or 9 for nanoseconds.
fn fine(count: i64, digits: u32) -> String {
    let per = 10i64.pow(digits);
    let nanos = count.rem_euclid(per) * 10i64.pow(9 - digits);
    let time = chrono::DateTime::from_timestamp(count.div_euclid(per), nanos as u32).unwrap();
    match digits {
        6 => time.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string(),
        _ => time.format("%Y-%m-%dT%H:%M:%S%.9fZ").to_string(),
    }
}

fn frame(rows: std::ops::Range<i64>) -> DataFrame {
    let some = |is_some: bool, text: String| is_some.then_some(text);
    let float = |at: i64| match at % 9 {
        0 => "NaN".to_owned(),
        1 => "Infinity".to_owned(),
        2 => "-Infinity".to_owned(),
        3 => "-0".to_owned(),
        _ => format!("{}", at as f64 / 7.0),
    };
    let row = |at: i64| {
        vec![
            Some(time(at * 250)),
            some(at % 4 != 0, float(at)),
            Some(float(at + 1)),
            some(at % 3 != 0, (at - 50).to_string()),
            Some((i64::MAX - at).to_string()),
            some(at % 5 != 0, (at % 2 == 0).to_string()),
            some(
                at % 6 != 0,
                if at % 7 == 0 { String::new() } else { format!("text ä {}", at % 40) },
            ),
            some(at % 8 != 0, time(-at * 1_000_000_007)),
            some(at % 3 != 1, fine(-at * 1_000_003, 6)),
            Some(fine(at * 1_000_000_007, 9)),
        ]
    };
    DataFrame::new().data(rows.map(row))
}

/// A cell in the form that the script prints.
fn expected(data_type: DataType, cell: Option<&String>) -> Value {
    let Some(text) = cell else { return Value::Null };
    let bits = |value: f64| {
        if value.is_nan() {
            json!("nan")
        } else {
            json!(value.to_be_bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        }
    };
    let special = text.replace("Infinity", "inf");
    match data_type {
        DataType::Bool => json!(text == "true"),
        DataType::Float32 => bits(f64::from(special.parse::<f32>().unwrap())),
        DataType::Float64 => bits(special.parse().unwrap()),
        DataType::Int32 | DataType::Int64 => json!(text.parse::<i64>().unwrap()),
        DataType::String => json!(text),
        DataType::TimestampMicros => {
            json!(chrono::DateTime::parse_from_rfc3339(text).unwrap().timestamp_micros())
        }
        DataType::TimestampNanos => {
            json!(
                chrono::DateTime::parse_from_rfc3339(text).unwrap().timestamp_nanos_opt().unwrap()
            )
        }
        DataType::Timestamp => {
            json!(chrono::DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis())
        }
    }
}

fn check(python: &str, files: &[impl AsRef<Path>], rows: &[Vec<Value>], what: &str) {
    let mut command = Command::new(python);
    command.args(["-c", SCRIPT]).args(files.iter().map(AsRef::as_ref));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let (reader, found): (String, Option<Vec<Vec<Value>>>) =
            serde_json::from_str(line).unwrap();
        match found {
            None => println!("skipped: {reader} is not installed for {python}"),
            Some(found) => {
                assert_eq!(found.len(), rows.len(), "{what}, {reader}");
                for (at, (found, row)) in found.iter().zip(rows).enumerate() {
                    assert_eq!(found, row, "{what}, {reader}, row {at}");
                }
                println!("{what}: {reader} reads the same {} rows", rows.len());
            }
        }
    }
}

#[test]
fn other_readers_see_the_same_rows() {
    let Some(python) = python() else {
        println!("skipped: there is no Python here; STATIONDB_PYTHON may name one");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let store = Store::options()
        .maintenance_thread(false)
        .seal_rows(5000)
        .open(dir.path().join("store"))
        .unwrap();
    let session = store.session(Identity::user("ada"));
    let id = session.create_table(CreateTableRequest::new(columns())).unwrap();
    for range in [6000..12_000, 0..6000, 12_000..12_100] {
        let request = AppendTableDataRequest::new().frame(frame(range));
        session.append_table_data(&id, request).unwrap();
    }
    let mut rows: Vec<Vec<Value>> = Vec::new();
    let mut token = None;
    loop {
        let request = GetTableDataRequest::new().take(10_000).maybe_continuation_token(token);
        let page = session.get_table_data(&id, request).unwrap();
        rows.extend(page.frame.to_data_frame().data.iter().map(|row| {
            row.iter()
                .zip(columns())
                .map(|(cell, column)| expected(column.data_type, cell.as_ref()))
                .collect()
        }));
        token = page.continuation_token;
        if token.is_none() {
            break;
        }
    }
    assert_eq!(rows.len(), 12_100);

    // Open segments, among them overlapping ones: those that the manifest names.
    let export = |name: &str| {
        let out = dir.path().join(name);
        let manifest = session.export_segments_to(&id, &out, &Control::default()).unwrap();
        manifest.files.iter().map(|file| out.join(&file.name)).collect::<Vec<_>>()
    };
    let files = export("open");
    assert!(files.len() >= 2, "{files:?}");
    check(&python, &files, &rows, "open segments");
    store.maintain(&Control::default()).unwrap();
    let files = export("merged");
    check(&python, &files, &rows, "merged segments");

    // The files of the store itself, after the table was closed and is one run.
    session.append_table_data(&id, AppendTableDataRequest::new().end_of_data(true)).unwrap();
    let mut own: Vec<_> = std::fs::read_dir(dir.path().join("store/tables").join(id.as_str()))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "parquet"))
        .collect();
    store.maintain(&Control::default()).unwrap();
    own.retain(|path| path.exists());
    assert_eq!(own.len(), 1, "{own:?}");
    check(&python, &own, &rows, "the store's own file");

    let exported = dir.path().join("exported.parquet");
    let request = ExportTableDataRequest::new(ExportFormat::Parquet);
    let mut file = std::fs::File::create(&exported).unwrap();
    session.export_table_data(&id, request, &mut file, &Control::default()).unwrap();
    check(&python, &[&exported], &rows, "the export");
}

/// Prints for each installed reader how many rows it finds with a filter that it pushes down into
/// the files, and how many with the same filter over rows that it has read whole.
const NAN_SCRIPT: &str = r#"
import json, sys
files = sys.argv[1:]
def pyarrow_counts():
    import pyarrow.dataset as ds, pyarrow.compute as pc
    found = ds.dataset(files).to_table(filter=pc.field("volts") > 100).num_rows
    return found, ds.dataset(files).to_table().filter(pc.field("volts") > 100).num_rows
def polars_counts():
    import polars as pl
    found = pl.scan_parquet(files).filter(pl.col("volts") > 100).collect().height
    return found, pl.read_parquet(files).filter(pl.col("volts") > 100).height
def duckdb_counts():
    import duckdb
    duckdb.execute("create table whole as select * from read_parquet(?)", [files])
    count = lambda source, given: duckdb.execute("select count(*) from %s where volts > 100" % source, given).fetchone()[0]
    return count("read_parquet(?)", [files]), count("whole", [])
for reader, counts in (("pyarrow", pyarrow_counts), ("polars", polars_counts), ("duckdb", duckdb_counts)):
    try:
        print(json.dumps([reader, counts()]))
    except ImportError as error:
        print(json.dumps([reader, None]))
"#;

/// Rows with NaN are among those above a limit for readers to whom NaN is the greatest number. They
/// must not skip them by statistics, which leave NaN out.
#[test]
fn other_readers_find_nan_above_every_number() {
    let Some(python) = python() else {
        println!("skipped: there is no Python here; STATIONDB_PYTHON may name one");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let options = Store::options().maintenance_thread(false).seal_rows(1);
    let store = options.open(dir.path().join("store")).unwrap();
    let session = store.session(Identity::user("ada"));
    let columns = [
        Column::new("t", DataType::Int64).column_type(ColumnType::Index),
        Column::new("volts", DataType::Float64),
    ];
    let id = session.create_table(CreateTableRequest::new(columns)).unwrap();
    let volts = |at: i64| match at % 200 {
        0 => "NaN".to_owned(),
        at => at.min(99).to_string(),
    };
    let data: Vec<_> = (0..12_000).map(|at| vec![Some(at.to_string()), Some(volts(at))]).collect();
    let request = AppendTableDataRequest::new().frame(DataFrame::new().data(data));
    session.append_table_data(&id, request).unwrap();
    let (segment, exported) =
        (dir.path().join("segment.parquet"), dir.path().join("exported.parquet"));
    let each = &mut |file: stationdb::tables::SegmentFile<'_>| {
        std::io::copy(file.data, &mut std::fs::File::create(&segment).unwrap()).unwrap();
        Ok(())
    };
    session.export_segments(&id, each, &Control::default()).unwrap();
    let request = ExportTableDataRequest::new(ExportFormat::Parquet);
    let mut file = std::fs::File::create(&exported).unwrap();
    session.export_table_data(&id, request, &mut file, &Control::default()).unwrap();
    for path in [segment, exported] {
        let output = Command::new(&python).args(["-c", NAN_SCRIPT]).arg(&path).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let (reader, counts): (String, Option<(u64, u64)>) =
                serde_json::from_str(line).unwrap();
            let Some((found, whole)) = counts else {
                println!("skipped: {reader} is not installed for {python}");
                continue;
            };
            assert_eq!(found, whole, "{reader}, {}", path.display());
            if reader == "duckdb" {
                assert_eq!(found, 60, "{}", path.display());
            }
            println!("{}: {reader} finds {found} rows above 100", path.display());
        }
    }
}
