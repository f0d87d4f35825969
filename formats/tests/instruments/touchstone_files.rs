//! Touchstone files become what scikit-rf reads.

use std::path::Path;

use serde_json::Value;
use stationdb::tables::{ColumnType, ImportTableRequest};

use crate::sizes;
use crate::stage::{Drawn, Stage, Table, directory, drawn};

/// The number of a cell: the bits of a double, or a whole number.
fn number(cell: &str) -> f64 {
    match u64::from_str_radix(cell, 16) {
        Ok(bits) if cell.len() == 16 => f64::from_bits(bits),
        _ => cell.parse().unwrap(),
    }
}

/// Both have the same numbers but for the rounding of sines and powers.
fn compare(name: &str, table: &Table, column: &str, expected: &Value, tolerance: f64) {
    let expected = expected.as_array().unwrap();
    let cells = table.cells(column);
    assert_eq!(cells.len(), expected.len(), "{name} {column}");
    for (row, (cell, bits)) in cells.iter().zip(expected).enumerate() {
        let (found, wanted) = (number(cell), number(bits.as_str().unwrap()));
        let apart = (found - wanted).abs();
        let is_near = apart <= tolerance * wanted.abs().max(1.0);
        assert!(is_near, "{name} {column} row {row}: {found} is not {wanted}");
    }
}

fn check(stage: &Stage, name: &str, path: &Path, expected: &Value) -> usize {
    let tables = stage
        .file(ImportTableRequest::new(), path)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let (network, noise) = (&tables[0], tables.get(1));
    compare(name, network, "frequency", &expected["frequency"], 4e-16);
    let columns = expected["columns"].as_object().unwrap();
    let is_exact = expected["format"] == "RI";
    for (column, cells) in columns {
        compare(name, network, column, cells, if is_exact { 0.0 } else { 1e-14 });
    }
    let is_whole = network.answer.columns[0].column_type == ColumnType::Index
        && network.names()[0] == "frequency";
    assert_eq!(network.names().len(), columns.len() + if is_whole { 1 } else { 2 }, "{name}");
    let properties = network.metadata.properties.as_ref().unwrap();
    assert_eq!(properties["format"], expected["format"].as_str().unwrap(), "{name}");
    let ohms: Vec<f64> =
        properties["reference"].split(' ').map(|text| text.parse().unwrap()).collect();
    let wanted = expected["reference"].as_array().unwrap();
    let wanted: Vec<f64> = wanted.iter().map(|ohm| ohm.as_f64().unwrap()).collect();
    assert_eq!(ohms, wanted, "{name}");
    assert_eq!(noise.is_some(), !expected["noise"].is_null(), "{name}");
    if let (Some(noise), Some(columns)) = (noise, expected["noise"].as_object()) {
        for (column, cells) in columns {
            compare(name, noise, column, cells, 1e-15);
        }
        let base = path.file_stem().unwrap().to_str().unwrap();
        assert_eq!(noise.metadata.name, Some(format!("{base}.noise")), "{name}");
    }
    tables.len()
}

/// The files that `make.py` writes, as scikit-rf reads them.
#[test]
fn committed_files_become_what_another_reader_reads() {
    let (stage, mut count) = (Stage::new(), 0);
    for entry in std::fs::read_dir(directory("touchstone")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let expected: Value =
            serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let file = path.with_extension("");
        check(&stage, &file.display().to_string(), &file, &expected);
        count += 1;
    }
    assert_eq!(count, 13);
}

#[test]
fn drawn_files_and_those_of_the_package_become_what_it_reads() {
    let count = sizes::size("instrument_files");
    let found = drawn("touchstone/make.py", "skrf", sizes::seed(), count);
    let Some(Drawn { files, lines }) = found else { return };
    let (stage, mut tables, mut own) = (Stage::new(), 0, 0);
    for (name, expected) in &lines {
        let path = Path::new(expected["path"].as_str().unwrap());
        own += usize::from(!path.starts_with(files.path()));
        let shown = if name.is_empty() { path.display().to_string() } else { name.clone() };
        tables += check(&stage, &shown, path, expected);
    }
    assert!(own > 10, "{own} files of the package");
    println!("{count} drawn files and {own} of the package, {tables} tables");
}
