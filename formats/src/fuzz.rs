//! Bodies of the fuzz targets: what must hold for any input.

use stationdb::arrow::datatypes::TimeUnit;
use stationdb::fuzz::{every_type, expect_guarded_panics};
use stationdb::tables::{
    BinaryForm, DataType, DateOrder, ImportTableRequest, RowSource, SourceTable, TableSchema,
    TableSource,
};
use stationdb::{Control, ErrorKind, Result};

use crate::csv::{CsvImport, Encoding};
use crate::lvm;
use crate::options::ImportOptions;
use crate::parquet::ParquetImport;
use crate::stdf;
use crate::tdms::{self, TdmsOptions};
use crate::touchstone::{self, TouchstoneOptions};

/// Every target: its name, which is also the name of its corpus directory, and its body.
pub const TARGETS: &[(&str, fn(&[u8]))] = &[
    ("atml_import", fuzz_atml_import),
    ("csv_import", fuzz_csv_import),
    ("lvm_import", fuzz_lvm_import),
    ("parquet_import", fuzz_parquet_import),
    ("results_csv", fuzz_results_csv),
    ("stdf_records", fuzz_stdf_records),
    ("tdms_import", fuzz_tdms_import),
    ("teststand_import", fuzz_teststand_import),
    ("touchstone_import", fuzz_touchstone_import),
];

/// Runs the target `name`; does nothing when there is none.
pub fn run(name: &str, data: &[u8]) {
    if let Some((_, body)) = TARGETS.iter().find(|(known, _)| *known == name) {
        body(data);
    }
}

/// Any bytes are a Parquet file that fits a table, or an error.
pub fn fuzz_parquet_import(data: &[u8]) {
    expect_guarded_panics();
    let input = || Box::new(std::io::Cursor::new(data.to_vec()));
    let control = Control::default();
    // With the columns of a table, and with those inferred from the file.
    let options = || ImportOptions {
        flatten: true,
        binary: Some(BinaryForm::Hex),
        epoch: Some(TimeUnit::Microsecond),
        cut_times: true,
        ..ImportOptions::default()
    };
    let inferred = ParquetImport::new(input(), options())
        .and_then(|mut import| TableSchema::with_default_limit(import.columns()?));
    for schema in every_type().into_iter().chain(inferred.ok()) {
        let Ok(mut import) = ParquetImport::new(input(), options()) else { return };
        let mut rows = 0;
        while let Ok(Some(batch)) = import.next_batch(&schema, &control) {
            assert_eq!(batch.schema_ref(), schema.arrow());
            rows += batch.num_rows() as u64;
            // A few bytes may encode very many equal rows.
            if rows > 100_000 {
                break;
            }
        }
        assert!(import.row_count().is_some_and(|declared| rows <= declared));
    }
}

/// Any bytes are whole records with their values, or an error.
pub fn fuzz_stdf_records(data: &[u8]) {
    let Ok(mut records) = stdf::Records::new(data) else { return };
    let mut end = 0;
    // A few compressed bytes may stand for very many records.
    for _ in 0..100_000 {
        let Ok(Some(record)) = records.next_record() else { break };
        assert_eq!(record.position(), end);
        end += record.body().len() as u64 + 4;
        let count = record.fields().len();
        let Ok(values) = record.values() else { continue };
        assert_eq!(values.len(), count);
        for value in values {
            // What a value shows is in the bytes of its record.
            assert!(value.items().count() <= record.body().len() + 65_535);
            assert!(value.set_bits().count() <= 8 * record.body().len());
            assert!(value.text().is_none_or(|text| text.len() <= 2 * record.body().len()));
        }
    }
    // As results, up to what is stored.
    stdf::read_parts(data);
}

/// Any bytes are a TDMS file, whose tables have as many rows as they tell, or an error.
pub fn fuzz_tdms_import(data: &[u8]) {
    let control = Control::default();
    for is_raw in [false, true] {
        let input = Box::new(std::io::Cursor::new(data.to_vec()));
        let options = TdmsOptions::new().raw(is_raw);
        let mut tables = tdms::tables(&ImportTableRequest::new(), input, options);
        while let Ok(true) = tables.advance(&control) {
            let Ok(table) = tables.table() else { return };
            let mut rows = 0;
            let columns = table.rows.columns().and_then(TableSchema::with_default_limit);
            let Ok(schema) = columns else { continue };
            while let Ok(Some(batch)) = table.rows.next_batch(&schema, &control) {
                assert_eq!(batch.num_columns(), schema.columns().len());
                rows += batch.num_rows() as u64;
            }
            // Each value takes at least a byte of the file; digital lines may share it.
            let told = table.rows.row_count().unwrap_or_default();
            assert!(rows <= told && told <= data.len() as u64);
        }
    }
}

/// Any text is CSV that fits a table, or an error.
pub fn fuzz_csv_import(data: &[u8]) {
    let control = Control::default();
    let comma = || ImportOptions { separator: Some(b','), ..ImportOptions::default() };
    let told = || ImportOptions {
        decimal_comma: Some(true),
        comment: Some("//".to_owned()),
        skip_lines: 1,
        date_order: Some(DateOrder::MonthFirst),
        epoch: Some(TimeUnit::Second),
        cut_times: true,
        null_texts: Some(["-".to_owned()].into()),
        types: [("a".to_owned(), DataType::TimestampNanos)].into(),
        ..ImportOptions::default()
    };
    let bare = || ImportOptions {
        separator: Some(b' '),
        header: Some(false),
        short_rows: Some(true),
        footer_lines: 2,
        sample_interval: Some("0.001".to_owned()),
        start_time: Some("2024-01-31 12:00".to_owned()),
        ..ImportOptions::default()
    };
    let blocks = || ImportOptions {
        preset: Some("NONE".to_owned()),
        encoding: Some(Encoding::Windows1252),
        units_line: Some(true),
        side_by_side: Some(true),
        ..ImportOptions::default()
    };
    let instrument =
        || ImportOptions { preset: Some("INSTRUMENT".to_owned()), ..ImportOptions::default() };
    // With the form that is found in the text, and with forms that are given.
    for options in [ImportOptions::default(), comma(), told(), bare(), blocks(), instrument()] {
        let inferred = CsvImport::new(&mut &*data, options).and_then(|mut import| {
            let columns = import.columns()?;
            assert!(columns.iter().all(|column| !column.name.trim().is_empty()));
            let schema = TableSchema::with_default_limit(columns)?;
            while let Some(batch) = import.next_batch(&schema, &control)? {
                assert!(batch.num_rows() > 0);
            }
            Ok(())
        });
        drop(inferred);
    }
    let Some(schema) = every_type() else { return };
    let counted = || ImportOptions { epoch: Some(TimeUnit::Nanosecond), ..comma() };
    for options in [comma(), counted()] {
        let mut input = data;
        let Ok(mut import) = CsvImport::new(&mut input, options) else { return };
        while let Ok(Some(batch)) = import.next_batch(&schema, &control) {
            assert_eq!(batch.schema_ref(), schema.arrow());
        }
    }
}

/// Reads the tables of a file to their ends, with the columns that each has.
fn read_tables(tables: &mut dyn TableSource) -> Result<()> {
    let control = Control::default();
    while tables.advance(&control)? {
        let SourceTable { rows, .. } = tables.table()?;
        let columns = rows.columns()?;
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let schema = TableSchema::with_default_limit(columns)?;
        while let Some(batch) = rows.next_batch(&schema, &control)? {
            assert!(batch.num_rows() > 0);
        }
        assert!(names.iter().all(|name| !rows.note(name).why.is_empty()));
        drop((rows.warnings(), rows.properties()));
    }
    Ok(())
}

/// Any text is a measurement file of `LabVIEW`, or an error.
pub fn fuzz_lvm_import(data: &[u8]) {
    let told = ImportTableRequest::new()
        .separator(";")
        .decimal_separator(",")
        .date_order(DateOrder::DayFirst)
        .null_texts(["-"])
        .index_column("row");
    for request in [ImportTableRequest::new(), told] {
        let input = Box::new(std::io::Cursor::new(data.to_vec()));
        drop(read_tables(lvm::tables(&request, input).as_mut()));
    }
}

/// Any text is a Touchstone file, or an error.
pub fn fuzz_touchstone_import(data: &[u8]) {
    let row = ImportTableRequest::new().index_column("row");
    for (request, options) in [
        (ImportTableRequest::new(), TouchstoneOptions::new()),
        (ImportTableRequest::new(), TouchstoneOptions::new().ports(1)),
        (ImportTableRequest::new(), TouchstoneOptions::new().ports(2)),
        (row, TouchstoneOptions::new().ports(3).raw(true)),
    ] {
        let input = Box::new(std::io::Cursor::new(data.to_vec()));
        drop(read_tables(touchstone::tables(&request, input, &options).as_mut()));
    }
}

/// Any bytes are a document of ATML, or an error.
pub fn fuzz_atml_import(data: &[u8]) {
    is_results(crate::atml::count(data));
}

/// Any text is CSV of results, or an error.
pub fn fuzz_results_csv(data: &[u8]) {
    is_results(crate::results_csv::count(data));
}

/// Any bytes are a report of `TestStand`, or an error.
pub fn fuzz_teststand_import(data: &[u8]) {
    is_results(crate::teststand::count(data));
}

/// What is read has results, and what is refused is refused for its bytes.
fn is_results(count: Result<usize>) {
    match count {
        Ok(count) => assert!(count > 0),
        Err(error) => {
            let kinds =
                [ErrorKind::InvalidArgument, ErrorKind::LimitExceeded, ErrorKind::Unsupported];
            assert!(kinds.contains(&error.kind()), "{error:?}");
        }
    }
}

#[cfg(test)]
#[path = "../../tests/common/corpora.rs"]
mod corpora;

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn root() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fuzz")
    }

    /// Replays the seeds of the fuzzers, and the inputs that they once found.
    #[test]
    fn the_corpora_break_no_promise() {
        for (name, body) in TARGETS {
            corpora::replay(&root(), name, body);
        }
    }

    /// Mutates the corpora, for machines without a fuzzer. `STATIONDB_FUZZ_MILLIS` sets the time for
    /// each target.
    #[test]
    fn mutations_of_the_corpora_break_no_promise() {
        for (name, body) in TARGETS {
            corpora::mutate(&root(), name, crate::sizes::size("fuzz_millis"), body);
        }
    }

    #[test]
    fn every_fuzz_target_is_replayed() {
        for entry in std::fs::read_dir(root().join("fuzz_targets")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let known = TARGETS.iter().any(|(known, _)| *known == name);
            assert_eq!(known, text.contains("stationdb_formats::fuzz::"), "{name}");
        }
    }
}
