//! Bodies of the fuzz targets: what must hold for any input.
//!
//! Each takes any bytes and panics when a promise is broken. The binaries in `fuzz/` call them; an
//! ordinary test replays the corpora in `fuzz/corpus`. Those of the readers of files are in `formats`.

mod rows;

pub use crate::columnar::unguarded;
use crate::columnar::{
    TableSchema, coerce_batch, decode_batch, encode_batch, is_guarded, read_stream, segment_fuzz,
};
use crate::filter::{self, Schema, Times};
use crate::model::tables::data::{Column, ColumnType, DataType};
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
    ("deb_read", packages::fuzz::fuzz_package),
    ("filter_parse", fuzz_filter_parse),
    ("ipk_nipkg_read", packages::fuzz::fuzz_gzipped_tar),
    ("key_order", fuzz_key_order),
    ("paging_token", fuzz_paging_token),
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
#[must_use]
pub fn every_type() -> Option<TableSchema> {
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
pub fn expect_guarded_panics() {
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
#[path = "../tests/common/corpora.rs"]
mod corpora;

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn root() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz")
    }

    /// Replays the seeds of the fuzzers, and the inputs that they once found.
    #[test]
    fn the_corpora_break_no_promise() {
        for (name, body) in TARGETS {
            corpora::replay(&root(), name, body);
        }
    }

    /// Mutates the corpora of external input, for machines without a fuzzer.
    /// `STATIONDB_FUZZ_MILLIS` sets the time for each target.
    #[test]
    fn mutations_of_the_corpora_break_no_promise() {
        let millis = crate::sizes::size("fuzz_millis");
        for name in ["arrow_ipc_abort", "arrow_ipc_in", "row_filter", "summary_file", "table_batch"]
        {
            corpora::mutate(&root(), name, millis, &|data| run(name, data));
        }
    }

    #[test]
    fn every_fuzz_target_is_replayed() {
        for entry in std::fs::read_dir(root().join("fuzz_targets")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            // The others have their bodies in the crates that they name, which replay them.
            let is_here = std::fs::read_to_string(&path).unwrap().contains(" stationdb::fuzz::");
            let known = TARGETS.iter().any(|(known, _)| *known == name);
            assert_eq!(known, is_here, "{name} is not in TARGETS");
        }
    }
}
