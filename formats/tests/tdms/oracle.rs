//! What npTDMS reads, and what is imported.

use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use stationdb::arrow::array::{Array, AsArray};
use stationdb::arrow::datatypes::{
    DataType as Arrow, Float32Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampNanosecondType,
};

use crate::{Bench, Imported};
use stationdb_formats::tdms::TdmsOptions;

fn bits(value: f64) -> Value {
    if value.is_nan() { json!("nan") } else { json!(format!("{:016x}", value.to_bits())) }
}

fn of_bits(value: &Value) -> f64 {
    let text = value.as_str().unwrap();
    if text == "nan" { f64::NAN } else { f64::from_bits(u64::from_str_radix(text, 16).unwrap()) }
}

/// The values of a column in the form of make.py.
fn cells(array: &dyn Array) -> Vec<Value> {
    assert_eq!(array.null_count(), 0);
    let rows = 0..array.len();
    match array.data_type() {
        Arrow::Boolean => rows.map(|row| json!(array.as_boolean().value(row))).collect(),
        Arrow::Int32 => {
            array.as_primitive::<Int32Type>().values().iter().map(|v| json!(v)).collect()
        }
        Arrow::Int64 => {
            array.as_primitive::<Int64Type>().values().iter().map(|v| json!(v)).collect()
        }
        Arrow::Float32 => {
            let values = array.as_primitive::<Float32Type>().values();
            values.iter().map(|value| bits(f64::from(*value))).collect()
        }
        Arrow::Float64 => {
            array.as_primitive::<Float64Type>().values().iter().map(|v| bits(*v)).collect()
        }
        Arrow::Utf8 => rows.map(|row| json!(array.as_string::<i32>().value(row))).collect(),
        Arrow::Timestamp(..) => {
            if let Some(nanos) = array.as_primitive_opt::<TimestampNanosecondType>() {
                return nanos.values().iter().map(|value| json!(value)).collect();
            }
            // Beyond the years of nanoseconds.
            let micros = array.as_primitive::<TimestampMicrosecondType>();
            micros.values().iter().map(|v| json!(i128::from(*v) * 1000)).collect()
        }
        other => panic!("{other}"),
    }
}

fn close(found: &Value, expected: &Value, tolerance: f64) -> bool {
    if tolerance == 0.0 || !expected.is_string() {
        return found == expected;
    }
    let (found, expected) = (of_bits(found), of_bits(expected));
    let near = (found - expected).abs() <= tolerance * expected.abs().max(1e-3);
    near || found.is_nan() && expected.is_nan() || found == expected
}

/// Compares values; `what` is told of a difference.
fn same(found: &[Value], expected: &[Value], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (row, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(close(found, expected, tolerance), "{what}, row {row}: {found} is not {expected}");
    }
}

/// The table with the column of a channel.
fn table_of<'t>(tables: &'t [Imported], group: &str, column: &str) -> &'t Imported {
    let is_it = |table: &&Imported| {
        table.properties().get("tdms.group").is_some_and(|name| name == group)
            && table.column(column).is_some()
    };
    let found = tables.iter().find(is_it);
    found.unwrap_or_else(|| {
        let names: Vec<_> = tables.iter().map(|table| table.rows.schema()).collect();
        panic!("{group:?} has no column {column:?}: {names:?}")
    })
}

/// A property of npTDMS as the text that the import has.
fn is_property(text: &str, expected: &Value) -> bool {
    let (kind, value) = expected.as_object().unwrap().iter().next().unwrap();
    match kind.as_str() {
        "f" => {
            let (found, expected) = (text.parse::<f64>().unwrap(), of_bits(value));
            // A single has the digits that tell it from others.
            found == expected || found as f32 == expected as f32 || found.is_nan()
        }
        "b" => text.parse() == Ok(value.as_bool().unwrap()),
        "t" => {
            let time = chrono::DateTime::parse_from_rfc3339(text).unwrap();
            let nanos = value.as_i64().unwrap();
            // Nanoseconds beyond the nearest one are cut off by this parser.
            time.timestamp_nanos_opt().unwrap().abs_diff(nanos) <= 1
        }
        _ => text == value.as_str().unwrap(),
    }
}

fn properties(found: &Imported, column: &str, expected: &Map<String, Value>, what: &str) {
    let declared = found.declared(column);
    for (name, value) in expected {
        let name = if name == "unit_string" { "unit" } else { name };
        let text = declared.properties.get(name).map_or("", String::as_str);
        assert!(is_property(text, value), "{what}: {name} is {text:?}, not {value}");
    }
}

/// Compares a channel; a raw one has a column for each of its scalers.
fn channel(tables: &[Imported], raw: &[Imported], expected: &Value, name: &str) {
    let (group, channel) = (expected["group"].as_str().unwrap(), &expected["channel"]);
    let channel = channel.as_str().unwrap();
    let what = format!("{name}: {group}/{channel}");
    let tolerance = expected["tolerance"].as_f64().unwrap();
    let compare = |tables: &[Imported], column: &str, kind: &str, values: &Value, tolerance| {
        let values = values.as_array().unwrap();
        if kind == "complex" {
            for (half, at) in [("re", 0), ("im", 1)] {
                let column = format!("{column}.{half}");
                let table = table_of(tables, group, &column);
                let parts: Vec<Value> = values.iter().map(|pair| pair[at].clone()).collect();
                same(&cells(table.column(&column).unwrap()), &parts, 0.0, &what);
            }
            return;
        }
        let table = table_of(tables, group, column);
        let mut found = cells(table.column(column).unwrap());
        let is_coarse =
            table.declared(column).data_type == stationdb::tables::DataType::TimestampMicros;
        if is_coarse {
            for (found, expected) in found.iter_mut().zip(values) {
                let near = (found.as_i64().unwrap() - expected.as_i64().unwrap()).abs() <= 500;
                assert!(near, "{what}");
                found.clone_from(expected);
            }
        }
        // Whole numbers that a scale computes are floats here.
        if kind == "int" && table.declared(column).data_type.is_float() {
            found = found.iter().map(|value| json!(of_bits(value) as i64)).collect();
        }
        same(&found, values, tolerance, &what);
    };
    if let Some(kind) = expected["kind"].as_str() {
        compare(tables, channel, kind, &expected["values"], tolerance);
        if kind != "complex" {
            let of_channel = expected["properties"].as_object().unwrap();
            properties(table_of(tables, group, channel), channel, of_channel, &what);
        }
    }
    let scalers = expected["raw"].as_object().unwrap();
    for (id, column) in scalers {
        let name = if scalers.len() > 1 { format!("{channel}[{id}]") } else { channel.to_owned() };
        compare(raw, &name, column[0].as_str().unwrap(), &column[1], 0.0);
    }
}

/// Compares a file with a line of make.py. Returns the number of channels, 0 for a file that is
/// refused.
fn file(line: &str) -> usize {
    let expected: Value = serde_json::from_str(line).unwrap();
    let name = expected["name"].as_str().unwrap();
    let bytes = STANDARD.decode(expected["bytes"].as_str().unwrap()).unwrap();
    let bench = Bench::new();
    let scaled = bench.import(&bytes, TdmsOptions::new());
    if expected["error"].is_string() {
        if name.starts_with("test_") {
            assert!(scaled.is_err(), "{name}: {}", expected["error"]);
        }
        return 0;
    }
    let channels = expected["channels"].as_array().unwrap();
    let with: Vec<&Value> = channels.iter().filter(|found| found["length"] != json!(0)).collect();
    if with.is_empty() {
        let error = scaled.err().unwrap_or_else(|| panic!("{name}"));
        assert!(error.message().contains("no channel"), "{name}: {error}");
        return 0;
    }
    let raw = bench.import(&bytes, TdmsOptions::new().raw(true)).unwrap();
    // DAQmx channels whose scales are not there.
    let has_values = with.iter().any(|found| found["kind"].is_string());
    let scaled = match scaled {
        Err(error) if !has_values => {
            assert!(error.message().contains("import its raw values"), "{name}: {error}");
            Vec::new()
        }
        scaled => scaled.unwrap_or_else(|error| panic!("{name}: {error}")),
    };
    for found in &with {
        channel(&scaled, &raw, found, name);
    }
    for table in &scaled {
        let group = &table.properties()["tdms.group"];
        let of_group = expected["groups"][group].as_object().unwrap();
        for (key, value) in of_group {
            assert!(is_property(&table.properties()[key], value), "{name}: {group}: {key}");
        }
        for (key, value) in expected["properties"].as_object().unwrap() {
            let key = if of_group.contains_key(key) { format!("file.{key}") } else { key.clone() };
            assert!(is_property(&table.properties()[&key], value), "{name}: {key}");
        }
    }
    with.len()
}

fn files(lines: &str) -> (usize, usize) {
    let (mut read, mut channels) = (0, 0);
    for line in lines.lines() {
        let found = file(line);
        read += usize::from(found > 0);
        channels += found;
    }
    (read, channels)
}

#[test]
fn files_of_the_tests_of_nptdms_are_imported_as_it_reads_them() {
    let lines = include_str!("tests.jsonl");
    let (read, channels) = files(lines);
    assert!(read >= 100 && channels >= 150, "{read} files, {channels} channels");
    println!("{read} of {} files, {channels} channels", lines.lines().count());
}

/// A Python with npTDMS, if there is one.
pub(crate) fn python_with_nptdms() -> Option<String> {
    let Some(python) = crate::python::python() else {
        println!("skipped: there is no Python here; STATIONDB_PYTHON may name one");
        return None;
    };
    let has_it = Command::new(&python).args(["-c", "import nptdms, pytest"]).output().unwrap();
    if !has_it.status.success() {
        println!("skipped: nptdms is not installed for {python}");
        return None;
    }
    Some(python)
}

/// Lines of make.py, if there is a Python with npTDMS.
fn live(arguments: &[&str]) -> Option<String> {
    let python = python_with_nptdms()?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tdms/make.py");
    let output =
        Command::new(&python).args(["-W", "ignore", script]).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn files_that_nptdms_installs_are_imported_as_it_reads_them() {
    let Some(lines) = live(&["real"]) else { return };
    let (read, channels) = files(&lines);
    assert!(read >= 4, "{read} files");
    println!("{read} real files, {channels} channels");
}

#[test]
fn random_files_are_imported_as_nptdms_reads_them() {
    let count = crate::sizes::count("tdms_files");
    let seed = crate::sizes::seed();
    let Some(lines) = live(&["random", &seed.to_string(), &count.to_string()]) else { return };
    let (read, channels) = files(&lines);
    assert!(read * 4 >= count * 3, "{read} of {count} files");
    println!("counted: {read} files, {channels} channels, seed {seed}");
}
