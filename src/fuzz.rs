//! Bodies of the fuzz targets: what must hold for any input.
//!
//! Each takes any bytes and panics when a promise is broken. The binaries in `fuzz/` call them; an
//! ordinary test replays the corpora in `fuzz/corpus`.

mod rows;

use crate::arrow::datatypes::TimeUnit;
use crate::columnar::{
    CsvImport, ImportOptions, ParquetImport, RowSource, TableSchema, coerce_batch, decode_batch,
    encode_batch, is_guarded, read_stream, segment_fuzz, unguarded,
};
use crate::filter::{self, Schema, Times};
use crate::model::tables::data::{Column, ColumnType, DataType};
use crate::model::tables::import::{BinaryForm, DateOrder};
use crate::model::{Product, REGISTRY, Resource, Specification};
use crate::packages;
use crate::records::envelope;
use crate::session::{LogEntry, token};
use crate::text::{self, Shape};
use crate::value::stored::{Format, Payload};
use crate::value::{FieldDecl, FieldType, RecordKey, Val, key, stored, time, wire};
use crate::work_items::WorkItem;

/// Every target: its name, which is also the name of its corpus directory, and its body.
pub const TARGETS: &[(&str, fn(&[u8]))] = &[
    ("arrow_ipc_abort", fuzz_arrow_ipc_abort),
    ("arrow_ipc_in", fuzz_arrow_ipc_in),
    ("control_archive", packages::fuzz::fuzz_control_archive),
    ("control_file", packages::fuzz::fuzz_control),
    ("csv_import", fuzz_csv_import),
    ("deb_read", packages::fuzz::fuzz_package),
    ("filter_parse", fuzz_filter_parse),
    ("ipk_nipkg_read", packages::fuzz::fuzz_gzipped_tar),
    ("key_order", fuzz_key_order),
    ("paging_token", fuzz_paging_token),
    ("parquet_import", fuzz_parquet_import),
    ("record_envelope", fuzz_record_envelope),
    ("row_filter", rows::fuzz_row_filter),
    ("summary_file", segment_fuzz::summary_file),
    ("table_batch", fuzz_table_batch),
    ("text_query", fuzz_text_query),
    ("wire_json", fuzz_wire_json),
];

/// Runs the target `name`; does nothing when there is none.
pub fn run(name: &str, data: &[u8]) {
    if let Some((_, body)) = TARGETS.iter().find(|(known, _)| *known == name) {
        body(data);
    }
}

/// Any text is a filter or an error. The canonical text of a filter compiles to a filter that
/// prints the same text.
pub fn fuzz_filter_parse(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let times = Times::new(time::from_millis(1_700_000_000_000), None);
    const INPUTS: &[FieldDecl] =
        &[FieldDecl::new("name", FieldType::String), FieldDecl::new("value", FieldType::Json)];
    let of_steps = [
        FieldDecl::new("data.parameters", FieldType::Maps),
        FieldDecl::new("inputs", FieldType::Rows(INPUTS)),
    ];
    let fields: Vec<FieldDecl> = WorkItem::fields().iter().copied().chain(of_steps).collect();
    for accept_brackets in [false, true] {
        let schema = Schema {
            fields: &fields,
            accept_substitutions: true,
            accept_brackets,
            search: true,
            ..Schema::default()
        };
        let values = [
            serde_json::json!(1),
            serde_json::json!("a"),
            serde_json::json!(true),
            serde_json::Value::Null,
        ];
        let Ok(Some(filter)) = filter::compile(Some(text), &values, &schema, &times) else {
            continue;
        };
        let _ = filter.matches(&());
        let _ = filter.conjuncts();
        let printed = filter.to_string();
        if let Ok(Some(again)) = filter::compile(Some(&printed), &values, &schema, &times) {
            assert_eq!(
                again.to_string(),
                printed,
                "the canonical form of {text:?} is not canonical"
            );
        }
    }
}

/// Any text is a text query or an error.
pub fn fuzz_text_query(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut shape = Shape {
        kinds: REGISTRY.iter().map(|registered| registered.kind).collect(),
        ..Shape::default()
    };
    shape.add_field("name", 2.0);
    shape.add_field("description", 1.0);
    let _ = text::parse(text, &shape);
}

/// An index of INT32, and a nullable column of each type: `c0`, `c1`, …
fn every_type() -> Option<TableSchema> {
    let column = |(position, data_type): (usize, &DataType)| Column {
        name: format!("c{position}"),
        data_type: *data_type,
        column_type: if position == 0 { ColumnType::Index } else { ColumnType::Nullable },
        ..Column::default()
    };
    let types = std::iter::once(&DataType::Int32).chain(DataType::ALL);
    TableSchema::with_default_limit(types.enumerate().map(column).collect()).ok()
}

/// Lets a fuzzer continue after a panic that the library catches: the fuzzer's own hook would end
/// the process first.
fn expect_guarded_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !is_guarded() {
                others(info);
            }
        }));
    });
}

/// Any bytes decode to batches that fit a table, or to an error.
pub fn fuzz_arrow_ipc_in(data: &[u8]) {
    expect_guarded_panics();
    let Some(schema) = every_type() else { return };
    let mut row = 0;
    let _ = read_stream(&mut &*data, |batch| {
        let rows = batch.num_rows();
        assert!(rows <= crate::value::limits::IMPORT_BATCH_ROWS);
        let fitted = coerce_batch(&schema, &batch.slice(0, rows.min(1024)), row)?;
        assert_eq!(fitted.schema_ref(), schema.arrow());
        row += rows as u64;
        Ok(())
    });
}

/// As [`fuzz_arrow_ipc_in`], without catching panics, as in a host with `panic = "abort"`.
pub fn fuzz_arrow_ipc_abort(data: &[u8]) {
    unguarded(|| fuzz_arrow_ipc_in(data));
}

/// Any bytes are a Parquet file that fits a table, or an error.
pub fn fuzz_parquet_import(data: &[u8]) {
    expect_guarded_panics();
    let input = || Box::new(std::io::Cursor::new(data.to_vec()));
    let control = crate::value::Control::default();
    // With the columns of a table, and with those inferred from the file.
    let options = || ImportOptions {
        flatten: true,
        binary: Some(BinaryForm::Hex),
        epoch: Some(TimeUnit::Microsecond),
        cut_times: true,
        ..ImportOptions::default()
    };
    let inferred = ParquetImport::new(input(), options())
        .and_then(|mut import| TableSchema::with_default_limit(import.infer()?));
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

/// Any text is CSV that fits a table, or an error.
pub fn fuzz_csv_import(data: &[u8]) {
    let control = crate::value::Control::default();
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
    // With the form that is found in the text, and with forms that are given.
    for options in [ImportOptions::default(), comma(), told()] {
        let inferred = CsvImport::new(&mut &*data, options).and_then(|mut import| {
            let columns = import.infer()?;
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

/// Any bytes decode to a buffered append or to an error; a decoded batch is encoded and decoded to
/// the same bytes.
pub fn fuzz_table_batch(data: &[u8]) {
    let Some(schema) = every_type() else { return };
    let column_count = schema.len() as u32;
    let _ = decode_batch(&schema, data);
    // With a valid header, so that the columns are reached.
    let Some((&row_count, body)) = data.split_first() else { return };
    let mut bytes = b"SDTB\x01\0\0\0".to_vec();
    bytes.extend_from_slice(&u32::from(row_count).to_le_bytes());
    bytes.extend_from_slice(&column_count.to_le_bytes());
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&bytes);
    checksum.update(body);
    bytes.extend_from_slice(&checksum.finalize().to_le_bytes());
    bytes.extend_from_slice(body);
    let Ok(batch) = decode_batch(&schema, &bytes) else { return };
    let Ok(encoded) = encode_batch(&schema, &batch) else { return };
    let again = decode_batch(&schema, &encoded).and_then(|batch| encode_batch(&schema, &batch));
    assert_eq!(again.ok(), Some(encoded));
}

/// Any bytes are a record in its envelope or an error; a decoded payload is encoded and decoded to
/// the same bytes.
pub fn fuzz_record_envelope(data: &[u8]) {
    for registered in REGISTRY {
        let code = registered.kind.code;
        let _ = envelope::open(b"key", code, data);
        let sealed = envelope::seal(b"key", code, data);
        assert_eq!(envelope::open(b"key", code, &sealed).ok(), Some(Payload::current(data)));
        for format in 0..=u8::MAX {
            let Some(format) = Format::from_number(format) else { continue };
            let payload = Payload { format, bytes: data };
            let _ = (registered.entries)(payload);
            let _ = (registered.document)(payload);
        }
    }
    fuzz_round_trip::<Product>(data);
    fuzz_round_trip::<Specification>(data);
    fuzz_round_trip::<WorkItem>(data);
    fuzz_round_trip::<LogEntry>(data);
}

fn fuzz_round_trip<T: stored::Stored>(data: &[u8]) {
    let Ok(value) = stored::from_bytes::<T>(data) else { return };
    // Compared as bytes, because a NaN is not equal to itself.
    let Ok(bytes) = stored::to_bytes(&value) else { return };
    let again = stored::from_bytes::<T>(&bytes).and_then(|value| stored::to_bytes(&value));
    assert_eq!(again.ok(), Some(bytes));
}

/// Keys sort as their values do. A text decoded from any bytes encodes to the bytes that it was
/// decoded from.
pub fn fuzz_key_order(data: &[u8]) {
    let _ = key::encoded_len(data);
    let _ = key::split_i64(data);
    if let Some((text, rest)) = key::split_str(data) {
        let mut out = Vec::new();
        key::push_str(&mut out, &text);
        assert_eq!(key::encoded_len(&out), Some(data.len() - rest.len()));
        assert_eq!(data.get(..out.len()), Some(out.as_slice()));
    }
    let Some((head, rest)) = data.split_first_chunk::<16>() else { return };
    let (a, b) = head.split_at(8);
    let number =
        |bytes: &[u8]| bytes.iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
    let (a, b) = (number(a), number(b));
    let encode = |value: Val<'_>| {
        let mut out = Vec::new();
        key::push_val(&mut out, &value);
        assert_eq!(key::encoded_len(&out), Some(out.len()));
        out
    };
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    if let Some(order) = x.partial_cmp(&y) {
        assert_eq!(encode(Val::Double(x)).cmp(&encode(Val::Double(y))), order);
    }
    let (a, b) = (a.cast_signed(), b.cast_signed());
    assert_eq!(encode(Val::Int(a)).cmp(&encode(Val::Int(b))), a.cmp(&b));
    let (one, other) = rest.split_at(rest.len() / 2);
    if let (Ok(one), Ok(other)) = (std::str::from_utf8(one), std::str::from_utf8(other)) {
        assert_eq!(encode(Val::from(one)).cmp(&encode(Val::from(other))), one.cmp(other));
    }
}

/// Any JSON is a request or an error; a request is written and read back as the same JSON.
pub fn fuzz_wire_json(data: &[u8]) {
    fuzz_wire::<Product>(data);
    fuzz_wire::<Specification>(data);
    fuzz_wire::<crate::products::CreateProductRequest>(data);
    fuzz_wire::<crate::specifications::CreateSpecificationsRequest>(data);
    fuzz_wire::<WorkItem>(data);
    fuzz_wire::<crate::products::UpdateProductRequest>(data);
    fuzz_wire::<crate::work_items::UpdateWorkItemsRequest>(data);
    fuzz_wire::<crate::files::UpdateMetadataRequest>(data);
    fuzz_wire::<crate::ApiError>(data);
}

fn fuzz_wire<T: serde::Serialize + serde::de::DeserializeOwned>(data: &[u8]) {
    let Ok(value) = wire::from_json::<T>(data) else { return };
    let Ok(text) = serde_json::to_vec(&value) else { return };
    let again = wire::from_json::<T>(&text).ok().and_then(|value| serde_json::to_vec(&value).ok());
    assert_eq!(again, Some(text));
}

/// Only tokens that the store sealed are accepted, and the position in a token is read back
/// unchanged.
pub fn fuzz_paging_token(data: &[u8]) {
    let secret = [7; 32];
    let query = || token::Fingerprint::new("fuzz");
    let text = String::from_utf8_lossy(data);
    assert!(token::open(&secret, &query(), Some(&text)).ok().flatten().is_none());
    if let Ok(sealed) = token::seal(&secret, &query(), data) {
        let opened = token::open(&secret, &query(), Some(&sealed));
        // A position beyond the bound makes a token that is refused with an error.
        if let Ok(position) = opened {
            assert_eq!(position.as_deref(), Some(data));
        }
    }
    use crate::value::IdForm;
    for form in [IdForm::Decimal, IdForm::Hex24, IdForm::Hex24AnyCase, IdForm::Guid] {
        if let Some(record_key) = RecordKey::parse(form, &text) {
            assert_eq!(RecordKey::parse(form, &record_key.to_id(form)), Some(record_key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// Replays the seeds of the fuzzers, and the inputs that they once found.
    #[test]
    fn the_corpora_break_no_promise() {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz");
        for (name, body) in TARGETS {
            assert!(
                root.join(format!("fuzz_targets/{name}.rs")).exists(),
                "{name} has no fuzz target"
            );
            let inputs = std::fs::read_dir(root.join("corpus").join(name)).unwrap();
            let mut count = 0;
            for input in inputs {
                let data = std::fs::read(input.unwrap().path()).unwrap();
                body(&data);
                // Prefixes of valid inputs, and valid inputs with one flipped bit, reach further
                // than random bytes.
                for at in 0..data.len().min(64) {
                    body(&data[..data.len() * at / 64]);
                    let mut flipped = data.clone();
                    let position = flipped.len() * at / 64;
                    flipped[position] ^= 1 << (at % 8);
                    body(&flipped);
                }
                count += 1;
            }
            assert!(count > 0, "{name} has no corpus");
        }
    }

    /// Mutates the corpora of external input, for machines without a fuzzer.
    /// `STATIONDB_FUZZ_MILLIS` sets the time for each target.
    #[test]
    fn mutations_of_the_corpora_break_no_promise() {
        let until = std::time::Duration::from_millis(crate::sizes::size("fuzz_millis"));
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as usize % below.max(1)
        };
        for name in [
            "arrow_ipc_abort",
            "arrow_ipc_in",
            "csv_import",
            "parquet_import",
            "row_filter",
            "summary_file",
            "table_batch",
        ] {
            let inputs: Vec<Vec<u8>> = std::fs::read_dir(root.join(name))
                .unwrap()
                .map(|input| std::fs::read(input.unwrap().path()).unwrap())
                .collect();
            let (start, mut count) = (std::time::Instant::now(), 0);
            while start.elapsed() < until {
                let mut data = inputs[next(inputs.len())].clone();
                for _ in 0..=next(4) {
                    let at = next(data.len());
                    match next(6) {
                        0 => data[at] = [0, 1, 0x7f, 0x80, 0xff][next(5)],
                        1 => data[at] ^= 1 << next(8),
                        2 => data.truncate(at.max(1)),
                        3 => {
                            let len = next(16).min(data.len() - at);
                            data.splice(at..at + len, std::iter::empty());
                        }
                        4 => {
                            let from = next(data.len());
                            let piece = data[from..(from + next(32)).min(data.len())].to_vec();
                            data.splice(at..at, piece);
                        }
                        _ => {
                            let word = [0u64, 1, u64::MAX, 1 << 31, 1 << 62, 0x0102_0304][next(6)]
                                .to_le_bytes();
                            let len = [1, 2, 4, 8][next(4)].min(data.len() - at);
                            data[at..at + len].copy_from_slice(&word[..len]);
                        }
                    }
                    if data.is_empty() {
                        data.push(0);
                    }
                }
                run(name, &data);
                count += 1;
            }
            println!("{name}: {count} inputs in {:?}", start.elapsed());
        }
    }

    #[test]
    fn every_fuzz_target_is_replayed() {
        let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/fuzz_targets");
        for entry in std::fs::read_dir(dir).unwrap() {
            let name = entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned();
            assert!(TARGETS.iter().any(|(known, _)| *known == name), "{name} is not in TARGETS");
        }
    }
}
