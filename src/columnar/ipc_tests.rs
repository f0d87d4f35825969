//! Arrow IPC streams that are cut, forged, nested or at odds with themselves.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, DictionaryArray, Int32Array, Int64Array, ListArray, NullArray, RecordBatch, StringArray,
    StringViewArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{Field, Int32Type, Schema};
use arrow::ipc::CompressionType;
use arrow::ipc::writer::{IpcWriteOptions, StreamWriter};

use super::coerce::coerce_batch;
use super::ipc::read_stream;
use super::schema::TableSchema;
use crate::error::{ErrorKind, Result};
use crate::model::table_data::{ColumnType, DataType, column};
use crate::value::limits;

fn schema() -> TableSchema {
    TableSchema::with_default_limit(vec![
        column("i", DataType::Int64, ColumnType::Index),
        column("s", DataType::String, ColumnType::Nullable),
        column("b", DataType::Bool, ColumnType::Nullable),
    ])
    .unwrap()
}

fn stream(batches: &[RecordBatch], compression: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new_with_options(&mut bytes, batches[0].schema_ref(), options).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    bytes
}

fn batch(text: ArrayRef) -> RecordBatch {
    let index: ArrayRef = Arc::new(Int64Array::from_iter_values(0..text.len() as i64));
    RecordBatch::try_from_iter([("i", index), ("s", text)]).unwrap()
}

fn texts() -> ArrayRef {
    Arc::new(StringArray::from(vec![Some("alpha"), None, Some("")]))
}

fn dictionary(keys: Vec<i32>, values: Vec<&str>) -> ArrayRef {
    let values: ArrayRef = Arc::new(StringArray::from(values));
    Arc::new(DictionaryArray::<Int32Type>::try_new(Int32Array::from(keys), values).unwrap())
}

/// Rows that would be stored.
fn read(bytes: &[u8]) -> Result<usize> {
    let schema = schema();
    let mut rows = 0;
    read_stream(&mut &*bytes, |batch| {
        rows += coerce_batch(&schema, &batch, rows as u64)?.num_rows();
        Ok(())
    })?;
    Ok(rows)
}

fn streams() -> Vec<Vec<u8>> {
    let view: ArrayRef = Arc::new(StringViewArray::from(vec![Some("a text that is longer than twelve"), None]));
    vec![
        stream(&[batch(texts()), batch(texts())], None),
        stream(&[batch(texts())], Some(CompressionType::ZSTD)),
        stream(&[batch(texts())], Some(CompressionType::LZ4_FRAME)),
        stream(&[batch(dictionary(vec![0, 1, 0], vec!["on", "off"]))], None),
        stream(&[batch(view)], None),
        stream(&[batch(Arc::new(NullArray::new(4)))], None),
    ]
}

fn is_refused(error: &crate::Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidArgument | ErrorKind::LimitExceeded)
}

#[test]
fn a_stream_that_is_cut_anywhere_is_refused() {
    for bytes in streams() {
        assert!(read(&bytes).unwrap() > 0);
        // The end is marked by eight bytes, of which the last four say that nothing follows.
        for len in 0..bytes.len() {
            let error = read(&bytes[..len]).map(|rows| format!("{rows} rows, cut at {len} of {}", bytes.len()));
            assert!(is_refused(&error.unwrap_err()));
        }
    }
}

#[test]
fn a_stream_with_a_changed_byte_is_rows_or_an_error() {
    let (mut good, mut bad) = (0, 0);
    for bytes in streams() {
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= [0x01, 0x80, 0xff][at % 3];
            match read(&changed) {
                Ok(_) => good += 1,
                Err(error) if is_refused(&error) => bad += 1,
                Err(error) => panic!("byte {at}: {error}"),
            }
        }
    }
    assert!(good > 100 && bad > 100, "{good} {bad}");
}

/// Every length of the metadata, one after the other, becomes huge or negative.
#[test]
fn forged_lengths_are_refused() {
    let bytes = stream(&[batch(texts())], None);
    let mut forged_count = 0;
    for at in (0..bytes.len() - 8).step_by(4) {
        let word = i64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        // Row counts, null counts, buffer offsets and lengths.
        if !(1..=128).contains(&word) {
            continue;
        }
        for forged in [i64::MAX, i64::MIN, -1, 1 << 40, i64::from(i32::MAX)] {
            let mut changed = bytes.clone();
            changed[at..at + 8].copy_from_slice(&forged.to_le_bytes());
            match read(&changed) {
                Ok(rows) => assert!(rows <= 3),
                Err(error) => assert!(is_refused(&error), "{error}"),
            }
            forged_count += 1;
        }
    }
    assert!(forged_count > 20, "{forged_count}");
}

#[test]
fn a_dictionary_that_does_not_fit_is_refused() {
    let bytes = stream(&[batch(dictionary(vec![1, 0, 1], vec!["on", "off"]))], None);
    let keys: Vec<u8> = [1i32, 0, 1].iter().flat_map(|key| key.to_le_bytes()).collect();
    let at = bytes.windows(keys.len()).rposition(|window| window == keys).unwrap();
    for key in [2i32, -1, i32::MAX] {
        let mut changed = bytes.clone();
        changed[at..at + 4].copy_from_slice(&key.to_le_bytes());
        assert!(is_refused(&read(&changed).unwrap_err()), "{key}");
    }
    // A dictionary of numbers where the table has texts.
    let numbers: ArrayRef = Arc::new(
        DictionaryArray::<Int32Type>::try_new(Int32Array::from(vec![0]), Arc::new(Int64Array::from(vec![7]))).unwrap(),
    );
    assert!(is_refused(&read(&stream(&[batch(numbers)], None)).unwrap_err()));
    // A batch whose dictionary never came.
    let no_dictionary = {
        let whole = stream(&[batch(dictionary(vec![1, 0, 1], vec!["on", "off"]))], None);
        let message = |at: usize| {
            let metadata = u32::from_le_bytes(whole[at + 4..at + 8].try_into().unwrap()) as usize;
            let header = arrow::ipc::root_as_message(&whole[at + 8..at + 8 + metadata]).unwrap();
            at + 8 + metadata + header.bodyLength() as usize
        };
        let (schema_end, dictionary_end) = (message(0), message(message(0)));
        [&whole[..schema_end], &whole[dictionary_end..]].concat()
    };
    assert!(is_refused(&read(&no_dictionary).unwrap_err()));
}

#[test]
fn nested_columns_and_too_many_columns_are_refused() {
    for depth in [1, 3, 60, 300] {
        let mut array: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        for _ in 0..depth {
            let field = Arc::new(Field::new("item", array.data_type().clone(), true));
            array = Arc::new(ListArray::new(field, OffsetBuffer::from_lengths([1]), array, None));
        }
        let batch = RecordBatch::try_from_iter([("i", array)]).unwrap();
        assert!(is_refused(&read(&stream(&[batch], None)).unwrap_err()), "{depth}");
    }
    let columns = |count: usize| -> Vec<Field> {
        (0..count).map(|at| Field::new(format!("c{at}"), arrow::datatypes::DataType::Null, true)).collect()
    };
    limits::holds_at(limits::IMPORT_COLUMNS, ErrorKind::LimitExceeded, |count| {
        let batch = RecordBatch::new_empty(Arc::new(Schema::new(columns(count))));
        read_stream(&mut &*stream(&[batch], None), |_| Ok(()))
    });
}

/// A stream whose every length that was `from` is `to`.
fn forged(from: i64, to: usize) -> Vec<u8> {
    let mut bytes = stream(&[batch(Arc::new(NullArray::new(77)))], None);
    let mut count = 0;
    for at in (0..bytes.len() - 8).step_by(4) {
        if bytes[at..at + 8] == from.to_le_bytes() {
            bytes[at..at + 8].copy_from_slice(&(to as i64).to_le_bytes());
            count += 1;
        }
    }
    assert!(count > 0);
    bytes
}

/// What a stream says of itself is refused before memory is taken for it; one that only lies is refused otherwise.
#[test]
fn declared_sizes_hold_at_the_limit_and_not_above() {
    let above = ErrorKind::LimitExceeded;
    // The values of the index column are all of the body.
    let body = (77_u64 * 8).next_multiple_of(64) as i64;
    limits::holds_at(limits::IMPORT_MESSAGE_BYTES, above, |bytes| read(&forged(body, bytes)));
    limits::holds_at(limits::IMPORT_BATCH_ROWS, above, |rows| read(&forged(77, rows)));
    limits::holds_at(limits::IMPORT_METADATA_BYTES, above, |bytes| {
        read(&[u32::MAX.to_le_bytes(), (bytes as u32).to_le_bytes()].concat())
    });
}

/// A few bytes that would unpack to very many are refused before memory is taken for them.
#[test]
fn texts_that_grow_too_large_are_refused() {
    let long = "x".repeat(1 << 20);
    let packed = batch(dictionary(vec![0; 1000], vec![&long]));
    let error = read(&stream(&[packed], None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    let one = StringViewArray::from(vec![long.as_str()]);
    let rows = arrow::compute::take(&one, &Int32Array::from(vec![0; 1000]), None).unwrap();
    let error = read(&stream(&[batch(rows)], None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
}
