//! Measurement files that a package writes become what that package and another one read.

use serde_json::Value;
use stationdb::tables::ImportTableRequest;

use crate::sizes;
use crate::stage::{Drawn, Stage, Table, directory, drawn};

fn texts(cells: &Value) -> Vec<Option<String>> {
    let text = |cell: &Value| match cell {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    cells.as_array().unwrap().iter().map(text).collect()
}

/// The numbers of the rows in the order of their times, which is that of the table.
fn order(times: &[Option<String>]) -> Vec<usize> {
    let time = |row: &usize| times[*row].as_ref().map(|text| text.parse::<i64>().unwrap());
    let mut rows: Vec<usize> = (0..times.len()).collect();
    rows.sort_by_key(time);
    rows
}

fn compare(name: &str, table: &Table, expected: &Value, base: &str) {
    let suffix = expected["suffix"].as_str().unwrap();
    let full = if suffix.is_empty() { base.to_owned() } else { format!("{base}.{suffix}") };
    assert_eq!(table.metadata.name.as_deref(), Some(full.as_str()), "{name}");
    let columns = expected["columns"].as_object().unwrap();
    let has_times = !expected["times"].is_null();
    let first = columns.values().next().unwrap().as_array().unwrap().len();
    let mut rows: Vec<usize> = (0..first).collect();
    if has_times {
        let times = texts(&expected["times"]);
        rows = order(&times);
        for (row, found) in rows.iter().zip(table.cells("time")) {
            // The last digit is rounded from a double.
            let nanos = |text: &str| text.parse::<i64>().unwrap();
            let apart = nanos(found) - nanos(times[*row].as_deref().unwrap());
            assert!(apart.abs() <= 1, "{name} {full} row {row}: {apart}");
        }
    }
    let mut names: Vec<&str> = columns.keys().map(String::as_str).collect();
    names.push(if has_times { "time" } else { "row" });
    names.sort_unstable();
    let mut found = table.names();
    found.sort_unstable();
    assert_eq!(found, names, "{name} {full}");
    for (column, cells) in columns {
        let cells = texts(cells);
        let expected: Vec<&str> =
            rows.iter().map(|row| cells[*row].as_deref().unwrap_or("null")).collect();
        assert_eq!(table.cells(column), expected, "{name} {full} {column}");
    }
    for (column, unit) in expected["units"].as_object().unwrap() {
        assert_eq!(table.property(column, "unit"), unit.as_str(), "{name} {full} {column}");
    }
}

fn check(stage: &Stage, name: &str, path: &std::path::Path, expected: &Value) -> usize {
    let tables = stage
        .file(ImportTableRequest::new(), path)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let wanted = expected["tables"].as_array().unwrap();
    assert_eq!(tables.len(), wanted.len(), "{name}");
    let base = path.file_stem().unwrap().to_str().unwrap();
    for (table, wanted) in tables.iter().zip(wanted) {
        compare(name, table, wanted, base);
        let properties = table.metadata.properties.as_ref().unwrap();
        for (key, member) in [("Operator", "operator"), ("Description", "description")] {
            let text = expected[member].as_str().unwrap();
            let found = properties.get(key).map_or("", String::as_str);
            assert_eq!(found, text, "{name} {key}");
        }
    }
    let notes = expected["notes"].as_str().unwrap();
    let has_notes = |table: &Table| {
        table.metadata.properties.as_ref().unwrap().get("Notes").map(String::as_str) == Some(notes)
    };
    assert!(notes.is_empty() || tables.iter().any(has_notes), "{name}: {notes}");
    tables.len()
}

/// The files that `make.py` writes with lvmio, as lvmio and lvm_read read them.
#[test]
fn files_of_a_writer_become_what_two_readers_read() {
    let stage = Stage::new();
    let mut count = 0;
    for entry in std::fs::read_dir(directory("lvm")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "lvm") {
            continue;
        }
        let expected = std::fs::read_to_string(path.with_extension("json")).unwrap();
        let name = path.display().to_string();
        check(&stage, &name, &path, &serde_json::from_str(&expected).unwrap());
        count += 1;
    }
    assert_eq!(count, 11);
}

#[test]
fn drawn_files_become_what_two_readers_read() {
    let count = sizes::size("instrument_files");
    let found = drawn("lvm/make.py", "lvmio, lvm_read", sizes::seed(), count);
    let Some(Drawn { files, lines }) = found else { return };
    assert_eq!(lines.len() as u64, count);
    let (stage, mut tables) = (Stage::new(), 0);
    for (name, expected) in lines {
        tables += check(&stage, &name, &files.path().join(&name), &expected);
    }
    println!("{count} files with {tables} tables");
}
