//! Files that pandas and pyarrow write are imported as pyarrow reads them.

use std::process::Command;

use serde_json::{Value, json};
use stationdb::arrow::array::{Array, AsArray};
use stationdb::arrow::datatypes::{
    DataType as Arrow, Float32Type, Float64Type, Int32Type, Int64Type, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};

use crate::prelude::*;

/// Writes files into a directory, and prints a line for each: its name, the separator that a reader
/// must know, and the columns that pyarrow reads. Times are nanoseconds, floats the bits of a double.
const SCRIPT: &str = r#"
import datetime, decimal, json, os, struct, sys
import pyarrow as pa, pyarrow.csv as pc, pyarrow.parquet as pq
root = sys.argv[1]
def cell(v):
    if isinstance(v, float):
        return "nan" if v != v else struct.pack(">d", v).hex()
    if isinstance(v, decimal.Decimal):
        return cell(float(v))
    if isinstance(v, bytes):
        return v.hex()
    return v
def column(c):
    t = c.type
    if pa.types.is_timestamp(t) or pa.types.is_date(t):
        return c.cast(pa.timestamp("ns")).cast(pa.int64()).to_pylist()
    if pa.types.is_time64(t):
        return c.cast(pa.int64()).to_pylist()
    if pa.types.is_time32(t):
        return c.cast(pa.int32()).to_pylist()
    return [cell(v) for v in c.to_pylist()]
def show(name, table):
    columns = {n or "column_1": column(table.column(i)) for i, n in enumerate(table.column_names)}
    print(json.dumps([name, columns]))
def path(name):
    return os.path.join(root, name)
def csv(name, separator=","):
    # As the import: dates are times, and a dictionary of texts is texts.
    options = pc.ConvertOptions(strings_can_be_null=True, null_values=["", "NA"],
        quoted_strings_can_be_null=False)
    show(name, pc.read_csv(path(name), parse_options=pc.ParseOptions(delimiter=separator), convert_options=options))
utc = datetime.timezone.utc
at = [datetime.datetime(2024, 1, 31, 14, 5, 10, 123456, utc), None, datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, utc)]
table = pa.table({
    "i": pa.array([3, 1, 2]),
    "f": pa.array([0.1, float("nan"), None]),
    "g": pa.array([1.5, -0.0, None], pa.float32()),
    "s": pa.array(["x", None, "ä,\"b\"\n"]),
    "b": pa.array([True, False, None]),
    "us": pa.array(at, pa.timestamp("us", "UTC")),
    "ns": pa.array([1706709910123456789, None, -1], pa.timestamp("ns")),
    "ms": pa.array([1706709910123, None, -1], pa.timestamp("ms", "Europe/Berlin")),
    "sec": pa.array([1706709910, None, -1], pa.timestamp("s")),
})
pc.write_csv(table.select(["i", "f", "s", "b", "us", "ns"]), path("pyarrow.csv"))
csv("pyarrow.csv")
rich = table
for name, array in {
    "d": pa.array([datetime.date(2024, 1, 31), None, datetime.date(1969, 12, 31)]),
    "t64": pa.array([1, None, 86399999999], pa.time64("us")),
    "t32": pa.array([1, None, 86399999], pa.time32("ms")),
    "dec": pa.array([decimal.Decimal("1.10"), None, decimal.Decimal("-99999.99")], pa.decimal128(9, 2)),
    "bin": pa.array([b"\x00\xff", None, b"ab"]),
    "cat": pa.array(["on", "off", None]).dictionary_encode(),
    "u64": pa.array([1, None, 9223372036854775807], pa.uint64()),
    "u8": pa.array([1, None, 255], pa.uint8()),
    "large": pa.array(["a", None, "c"], pa.large_string()),
}.items():
    rich = rich.append_column(name, array)
for version, compression in (("1.0", "snappy"), ("2.6", "zstd"), ("2.6", "none")):
    for pages in ("1.0", "2.0"):
        name = "pyarrow-%s-%s-%s.parquet" % (version, compression, pages)
        source = rich.drop_columns(["ns"]) if version == "1.0" else rich
        pq.write_table(source, path(name), version=version, compression=compression, data_page_version=pages)
        show(name, pq.read_table(path(name)))
pq.write_table(rich, path("no-statistics.parquet"), write_statistics=False, row_group_size=2)
show("no-statistics.parquet", pq.read_table(path("no-statistics.parquet")))
pq.write_table(table.select(["i", "ns"]), path("int96.parquet"), use_deprecated_int96_timestamps=True)
show("int96.parquet", pq.read_table(path("int96.parquet")))
try:
    import polars as pl
    pl.from_arrow(rich).write_parquet(path("polars.parquet"))
    show("polars.parquet", pq.read_table(path("polars.parquet")))
except ImportError:
    pass
try:
    import duckdb
    duckdb.execute("copy rich to '%s' (format parquet)" % path("duckdb.parquet"))
    show("duckdb.parquet", pq.read_table(path("duckdb.parquet")))
except ImportError:
    pass
try:
    import pandas as pd
except ImportError:
    sys.exit()
frame = table.select(["i", "f", "s", "b"]).to_pandas()
frame["at"] = pd.to_datetime(["2024-01-31 14:05:10.123456", "2024-01-31", "2024-02-01"], format="ISO8601")
frame.to_csv(path("pandas.csv"), na_rep="NA")
csv("pandas.csv")
frame[["i", "at"]].to_csv(path("pandas-tabs.csv"), sep="\t", index=False)
csv("pandas-tabs.csv", "\t")
frame.to_parquet(path("pandas.parquet"))
show("pandas.parquet", pq.read_table(path("pandas.parquet")))
"#;

fn float(value: f64) -> Value {
    if value.is_nan() {
        return json!("nan");
    }
    json!(value.to_be_bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// A cell in the form that the script prints.
fn cell(array: &dyn Array, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        Arrow::Boolean => json!(array.as_boolean().value(row)),
        Arrow::Int32 => json!(array.as_primitive::<Int32Type>().value(row)),
        Arrow::Int64 => json!(array.as_primitive::<Int64Type>().value(row)),
        Arrow::Float32 => float(f64::from(array.as_primitive::<Float32Type>().value(row))),
        Arrow::Float64 => float(array.as_primitive::<Float64Type>().value(row)),
        Arrow::Utf8 => json!(array.as_string::<i32>().value(row)),
        Arrow::Timestamp(TimeUnit::Millisecond, _) => {
            json!(array.as_primitive::<TimestampMillisecondType>().value(row) * 1_000_000)
        }
        Arrow::Timestamp(TimeUnit::Microsecond, _) => {
            json!(array.as_primitive::<TimestampMicrosecondType>().value(row) * 1_000)
        }
        Arrow::Timestamp(TimeUnit::Nanosecond, _) => {
            json!(array.as_primitive::<TimestampNanosecondType>().value(row))
        }
        other => panic!("{other}"),
    }
}

#[test]
fn files_of_pandas_and_pyarrow_are_imported_as_pyarrow_reads_them() {
    let Some(python) = crate::python::python() else {
        println!("skipped: there is no Python here; STATIONDB_PYTHON may name one");
        return;
    };
    let has_pyarrow = Command::new(&python).args(["-c", "import pyarrow"]).output().unwrap();
    if !has_pyarrow.status.success() {
        println!("skipped: pyarrow is not installed for {python}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new(&python).args(["-c", SCRIPT]).arg(dir.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let store = Store::options().maintenance_thread(false).open(dir.path().join("store")).unwrap();
    let session = store.session(Identity::user("ada"));
    let control = Control::default();
    let mut files = 0;
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let (name, expected): (String, BTreeMap<String, Vec<Value>>) =
            serde_json::from_str(line).unwrap();
        let file = std::fs::File::open(dir.path().join(&name)).unwrap();
        let request = ImportTableRequest::new().binary(BinaryForm::Hex);
        let answer = if name.ends_with(".csv") {
            // In columns of texts an unquoted NA is a text, unless the request says otherwise.
            session.import_csv(request.null_texts(["NA"]), &mut &file, &control)
        } else {
            session.import_parquet(request, Box::new(file), &control)
        };
        let answer = answer.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(answer.columns.len(), expected.len() + 1, "{name}");
        let rows = session.scan(&answer.id.unwrap(), ScanRequest::new(), &control).unwrap();
        let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for batch in rows {
            let batch = batch.unwrap();
            for (field, array) in batch.schema().fields().iter().zip(batch.columns()).skip(1) {
                let cells = (0..array.len()).map(|row| cell(array, row));
                found.entry(field.name().clone()).or_default().extend(cells);
            }
        }
        assert_eq!(found, expected, "{name}");
        files += 1;
    }
    assert!(files >= 8, "{files}");
    println!("{files} files are imported as pyarrow reads them");
}
