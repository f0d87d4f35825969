//! Row groups of stored files in the lake: every number of rows around the borders of blocks, pages
//! and row groups, read by other engines too.
//!
//! `STATIONDB_PYTHON` names the interpreter; readers that are not installed are left out, with a
//! message.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;

use object_store::local::LocalFileSystem;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::json;
use stationdb::arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, TimestampMillisecondArray,
};
use stationdb::arrow::datatypes::{
    DataType, Field, Int64Type, Schema, TimeUnit, TimestampMicrosecondType,
};
use stationdb::arrow::ipc::writer::StreamWriter;
use stationdb::prelude::*;
use stationdb::{Control, Session, Store};

use crate::common::*;

/// Rows of a block of deltas, of a page, and of a row group.
const BORDERS: [i64; 3] = [128, 4096, 262_144];

/// What a reader says of a table: rows, the sums of `_row`, of the times and of the nullable times in
/// milliseconds, and the rows in which these are null.
type Sums = BTreeMap<String, (i64, i64, i64, i64, i64)>;

/// A time before 1970 in some rows, and in others after it.
fn time(row: i64) -> i64 {
    (row - 1000) * 3 + row % 2
}

/// One of few times, or none.
fn changed(row: i64) -> Option<i64> {
    (row % 5 != 0).then_some(1_700_000_000_123 + row % 3)
}

/// A table with this many rows in one stored file, in the order of their ordinals or the opposite.
fn table_of(
    session: &Session,
    row_count: i64,
    is_ordered: bool,
) -> (String, (i64, i64, i64, i64, i64)) {
    let columns = json!([
        { "name": "time", "dataType": "TIMESTAMP", "columnType": "INDEX" },
        { "name": "changed", "dataType": "TIMESTAMP", "columnType": "NULLABLE" },
        { "name": "noise", "dataType": "FLOAT64" },
    ]);
    let name = format!("{row_count} {is_ordered}");
    let id = session.create_table(from(json!({ "name": name, "columns": columns }))).unwrap();
    let rows = |at: i64| if is_ordered { at } else { row_count - 1 - at };
    let rows: Vec<i64> = (0..row_count).map(rows).collect();
    let times = TimestampMillisecondArray::from_iter_values(rows.iter().map(|row| time(*row)));
    let others = TimestampMillisecondArray::from_iter(rows.iter().map(|row| changed(*row)));
    // Chunks that are so large that they are read when they are sent, across parts.
    let noise = rows.iter().map(|row| row.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) as f64);
    let noise: ArrayRef = Arc::new(Float64Array::from_iter_values(noise));
    let columns: Vec<ArrayRef> =
        vec![Arc::new(times.with_timezone("UTC")), Arc::new(others.with_timezone("UTC")), noise];
    let unit = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
    let schema = Arc::new(Schema::new(vec![
        Field::new("time", unit.clone(), false),
        Field::new("changed", unit, true),
        Field::new("noise", DataType::Float64, false),
    ]));
    let batch = RecordBatch::try_new(schema.clone(), columns).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &schema).unwrap();
    writer.write(&batch).unwrap();
    let stream = writer.into_inner().unwrap();
    session.append_arrow(&id, &mut stream.as_slice(), None).unwrap();
    let sums = (
        row_count,
        (0..row_count).sum(),
        rows.iter().map(|row| time(*row)).sum(),
        rows.iter().filter_map(|row| changed(*row)).sum(),
        rows.iter().filter(|row| changed(**row).is_none()).count() as i64,
    );
    (id.to_string(), sums)
}

/// Prints for each reader its name and the sums of each table.
const SCRIPT: &str = r#"
import json, sys
files = sys.argv[1:]
def show(reader, rows):
    print(json.dumps([reader, {r[0]: [int(v or 0) for v in r[1:]] for r in rows}]))
ask = """select _table, count(*), sum(_row), sum(epoch_us(time)) // 1000,
    sum(epoch_us(changed)) // 1000, count(*) - count(changed) from %s
    where _station = 's1' and _workspace is not null and _batch > 0 group by _table"""
try:
    import duckdb
    show("duckdb", duckdb.sql(ask % ("read_parquet(%r)" % files)).fetchall())
    try:
        import pyarrow.dataset as ds
        rows = ds.dataset(files).to_table()
        show("pyarrow", duckdb.sql(ask % "rows").fetchall())
    except ImportError as missing:
        print(missing, file=sys.stderr)
except ImportError as missing:
    print(missing, file=sys.stderr)
try:
    import polars as pl
    rows = pl.concat([pl.read_parquet(f) for f in files], how="diagonal")
    rows = rows.filter((pl.col("_station") == "s1") & (pl.col("_batch") > 0))
    us = lambda c: (pl.col(c).dt.epoch("us") // 1000).sum()
    show("polars", rows.group_by("_table").agg(pl.len(), pl.col("_row").sum(), us("time"),
        us("changed"), pl.col("changed").null_count().alias("nulls")).rows())
except ImportError as missing:
    print(missing, file=sys.stderr)
"#;

fn read_by_python(files: &[String]) -> Vec<(String, Sums)> {
    let named = std::env::var("STATIONDB_PYTHON").ok();
    let python = named.clone().unwrap_or_else(|| "python3".to_owned());
    let Ok(output) = Command::new(&python).args(["-c", SCRIPT]).args(files).output() else {
        assert!(named.is_none(), "STATIONDB_PYTHON names {python}, which does not run");
        println!("skipped: there is no Python here; STATIONDB_PYTHON may name one");
        return Vec::new();
    };
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    let lines = String::from_utf8(output.stdout).unwrap();
    println!("{errors}");
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The sums of the rows in files, in which ordinals have to come in the order that `expected` says.
fn read_here(files: &[String]) -> Sums {
    let mut sums = Sums::new();
    for file in files {
        let file = std::fs::File::open(file).unwrap();
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        // Readers that look for rows rely on the statistics.
        for group in builder.metadata().row_groups() {
            for column in &group.columns()[..5] {
                let statistics = column.statistics().expect("statistics");
                assert_eq!(statistics.null_count_opt(), Some(0));
                assert!(
                    statistics.min_bytes_opt().is_some() && statistics.max_bytes_opt().is_some()
                );
            }
        }
        for batch in builder.build().unwrap() {
            let batch = batch.unwrap();
            let tables = batch.column(2).as_string::<i32>();
            let rows: &Int64Array = batch.column(4).as_primitive::<Int64Type>();
            let of = |name: &str| batch.column_by_name(name).unwrap();
            let times = of("time").as_primitive::<TimestampMicrosecondType>();
            let others = of("changed").as_primitive::<TimestampMicrosecondType>();
            for at in 0..batch.num_rows() {
                assert_eq!(batch.column(0).as_string::<i32>().value(at), "s1");
                let sum = sums.entry(tables.value(at).to_owned()).or_default();
                sum.0 += 1;
                sum.1 += rows.value(at);
                assert_eq!(times.value(at) % 1000, 0);
                sum.2 += times.value(at) / 1000;
                if others.is_null(at) { sum.4 += 1 } else { sum.3 += others.value(at) / 1000 }
            }
        }
    }
    sums
}

#[test]
fn row_groups_of_every_length_are_read_by_all() {
    let directory = tempfile::tempdir().unwrap();
    let objects: Objects = Arc::new(LocalFileSystem::new_with_prefix(directory.path()).unwrap());
    let options = Store::options().maintenance_thread(false).seal_rows(1);
    let disk = Arc::new(stationdb::faults::MemoryDisk::new());
    let store = options.open_disk(disk).unwrap();
    let session = ada(&store);
    let near = BORDERS.into_iter().flat_map(|border| [border - 1, border, border + 1]);
    let counts: Vec<i64> = [1, 2, 3, 130, 256, 257].into_iter().chain(near).collect();
    let mut expected = Sums::new();
    for row_count in counts {
        for is_ordered in [true, false] {
            expected.extend([table_of(&session, row_count, is_ordered)]);
        }
    }
    store.maintain(&Control::default()).unwrap();
    let published = publish(&publisher(&store, &objects, lake(), "s1"));
    assert_eq!(published.rows as i64, expected.values().map(|sums| sums.0).sum::<i64>());
    let name = names(&objects, "lake").into_iter().find(|name| is_rows(name)).unwrap();
    let data = directory.path().join("lake").join(name).join("data").join("s1");
    let files = std::fs::read_dir(data).unwrap();
    let files: Vec<String> =
        files.map(|file| file.unwrap().path().to_str().unwrap().to_owned()).collect();
    assert_eq!(read_here(&files), expected);
    for (reader, sums) in read_by_python(&files) {
        assert_eq!(sums, expected, "{reader}");
        println!("read by {reader}");
    }
    assert_equal(&session, &objects, "lake", "s1", |_| true);
}
