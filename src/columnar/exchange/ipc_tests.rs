//! Arrow IPC streams that are cut, forged, nested or contradictory.

use std::sync::Arc;

use super::ipc::read_stream;
use crate::arrow::array::{
    Array, ArrayRef, BooleanArray, Date32Array, Date64Array, DictionaryArray, Float32Array,
    Float64Array, Int8Array, Int32Array, Int64Array, LargeStringArray, ListArray, NullArray,
    RecordBatch, StringArray, StringViewArray, TimestampNanosecondArray, TimestampSecondArray,
    UInt16Array,
};
use crate::arrow::buffer::OffsetBuffer;
use crate::arrow::datatypes::{Field, Int32Type, Schema};
use crate::arrow::ipc::writer::{IpcWriteOptions, StreamWriter};
use crate::arrow::ipc::{CompressionType, MetadataVersion};
use crate::columnar::guard::unguarded;
use crate::columnar::schema::TableSchema;
use crate::columnar::write::coerce::coerce_batch;
use crate::error::{ErrorKind, Result};
use crate::model::tables::data::{ColumnType, DataType, column};
use crate::sizes;
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
    let mut writer =
        StreamWriter::try_new_with_options(&mut bytes, batches[0].schema_ref(), options).unwrap();
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

/// The number of rows that would be stored.
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
    let view: ArrayRef =
        Arc::new(StringViewArray::from(vec![Some("a text that is longer than twelve"), None]));
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
        // Eight bytes mark the end; the last four of them are the length 0.
        for len in 0..bytes.len() {
            let error = read(&bytes[..len])
                .map(|rows| format!("{rows} rows, cut at {len} of {}", bytes.len()))
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "cut at {len}: {error}");
        }
    }
}

/// Whether the word of four or eight bytes that has byte `at` became too large for a length.
fn grew(bytes: &[u8], changed: &[u8], at: usize) -> bool {
    let is_large = |bytes: &[u8], from: usize, len: usize| {
        let mut word = [0; 8];
        word[..len].copy_from_slice(&bytes[from..from + len]);
        u64::from_le_bytes(word) > limits::IMPORT_BATCH_ROWS as u64
    };
    [(at / 4 * 4, 4), (at / 4 * 4, 8), ((at / 4 * 4).saturating_sub(4), 8)]
        .into_iter()
        .filter(|(from, len)| from + len <= bytes.len())
        .any(|(from, len)| !is_large(bytes, from, len) && is_large(changed, from, len))
}

/// Damage is an invalid argument. Too large is only what declares a length that is. A compressed
/// buffer declares its length in its first bytes, so one that begins elsewhere declares any length.
#[test]
fn a_stream_with_a_changed_byte_is_rows_or_an_error() {
    let (mut good, mut bad, mut large, mut moved) = (0, 0, 0, 0);
    for (bytes, is_compressed) in
        streams().into_iter().zip([false, true, true, false, false, false])
    {
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= [0x01, 0x80, 0xff][at % 3];
            match read(&changed) {
                Ok(_) => good += 1,
                Err(error) if error.kind() == ErrorKind::InvalidArgument => bad += 1,
                Err(error) if error.kind() == ErrorKind::LimitExceeded => {
                    large += 1;
                    if !grew(&bytes, &changed, at) {
                        assert!(is_compressed, "byte {at}: {error}");
                        moved += 1;
                    }
                }
                Err(error) => panic!("byte {at}: {error}"),
            }
        }
    }
    assert!(good > 100 && bad > 100 && large > 10 && moved < 10, "{good} {bad} {large} {moved}");
}

/// Every length in the metadata in turn becomes huge or negative.
/// Damage is told in one line, without the types of a library.
#[test]
fn the_error_of_a_damaged_stream_is_one_line() {
    let [bytes, ..] = &streams()[..] else { panic!() };
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= [0x01, 0x80, 0xff][at % 3];
        let Err(error) = read(&changed) else { continue };
        let told = error.to_string();
        assert!(!told.contains('\n') && !told.contains("::"), "byte {at}: {told}");
    }
    // A table of the schema whose offset leads out of it.
    for at in (8..bytes.len().min(400)).step_by(4) {
        let mut changed = bytes.clone();
        changed[at..at + 4].copy_from_slice(&0x7fff_ff00u32.to_le_bytes());
        let Err(error) = read(&changed) else { continue };
        let told = error.to_string();
        assert!(!told.contains('\n') && !told.contains("::"), "word {at}: {told}");
    }
}

#[test]
fn bytes_of_another_format_are_named() {
    for (bytes, part) in [
        (&b"\x1f\x8b\x08\0\0\0\0\0"[..], "compressed with gzip"),
        (b"\x28\xb5\x2f\xfd\x24\0\0\0", "compressed with zstd"),
        (b"PK\x03\x04\x14\0\0\0", "a zip archive"),
        (b"\xfd7zXZ\0\0\x04", "compressed with xz"),
        (b"ARROW1\0\0\xff\xff\xff\xff", "an Arrow file"),
        (b"a,b\n1,2\n", "it is text"),
        (&[0; 64], "only NUL bytes"),
    ] {
        let error = read(bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.message().contains(part), "{part}: {error}");
    }
}

/// A power cut leaves zeros; where a message should begin they looked like the end of a stream.
#[test]
fn a_stream_whose_end_is_zeros_is_not_complete() {
    for bytes in streams() {
        for (at, (metadata, _)) in messages(&bytes).into_iter().enumerate() {
            let mut cut = bytes.clone();
            cut[metadata.start - 8..].fill(0);
            let error = read(&cut).map(|rows| format!("{rows} rows, cut at message {at}"));
            assert!(error.unwrap_err().message().contains("NUL bytes"), "message {at}");
        }
    }
}

/// Two streams one behind the other were one whose second half was lost without a word.
#[test]
fn a_stream_that_goes_on_behind_its_end_is_refused() {
    let index: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let batch = RecordBatch::try_from_iter([("i", index)]).unwrap();
    let mut old = Vec::new();
    let options = IpcWriteOptions::try_new(8, true, MetadataVersion::V4).unwrap();
    let mut writer =
        StreamWriter::try_new_with_options(&mut old, batch.schema_ref(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    for whole in streams().into_iter().chain([old]) {
        assert!(read(&whole).is_ok());
        for behind in [&whole[..], &[0], &[0; 4096], b"garbage", &[0xff; 8]] {
            let error = read(&[&whole[..], behind].concat()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            assert!(error.message().contains("goes on behind its end"), "{error}");
        }
    }
}

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
    // A dictionary of numbers for a column of texts.
    let numbers: ArrayRef = Arc::new(
        DictionaryArray::<Int32Type>::try_new(
            Int32Array::from(vec![0]),
            Arc::new(Int64Array::from(vec![7])),
        )
        .unwrap(),
    );
    assert!(is_refused(&read(&stream(&[batch(numbers)], None)).unwrap_err()));
    // A batch without its dictionary.
    let no_dictionary = {
        let whole = stream(&[batch(dictionary(vec![1, 0, 1], vec!["on", "off"]))], None);
        let message = |at: usize| {
            let metadata = u32::from_le_bytes(whole[at + 4..at + 8].try_into().unwrap()) as usize;
            let header =
                crate::arrow::ipc::root_as_message(&whole[at + 8..at + 8 + metadata]).unwrap();
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
        (0..count)
            .map(|at| Field::new(format!("c{at}"), crate::arrow::datatypes::DataType::Null, true))
            .collect()
    };
    limits::holds_at(limits::IMPORT_COLUMNS, ErrorKind::LimitExceeded, |count| {
        let batch = RecordBatch::new_empty(Arc::new(Schema::new(columns(count))));
        read_stream(&mut &*stream(&[batch], None), |_| Ok(()))
    });
}

/// A stream in which every length `from` is replaced by `to`.
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

/// A declared length above a limit is refused before memory is allocated for it; a wrong length
/// within the limits is refused, too.
#[test]
fn declared_sizes_hold_at_the_limit_and_not_above() {
    let above = ErrorKind::LimitExceeded;
    // The values of the index column are the whole body.
    let body = (77_u64 * 8).next_multiple_of(64) as i64;
    limits::holds_at(limits::IMPORT_MESSAGE_BYTES, above, |bytes| read(&forged(body, bytes)));
    limits::holds_at(limits::IMPORT_BATCH_ROWS, above, |rows| read(&forged(77, rows)));
    limits::holds_at(limits::IMPORT_METADATA_BYTES, above, |bytes| {
        read(&[u32::MAX.to_le_bytes(), (bytes as u32).to_le_bytes()].concat())
    });
}

/// A few bytes that would decompress to very many are refused before memory is allocated for them.
#[test]
fn texts_that_grow_too_large_are_refused() {
    let long = "x".repeat(1 << 20);
    let packed = batch(dictionary(vec![0; 1000], vec![&long]));
    let error = read(&stream(&[packed], None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    let one = StringViewArray::from(vec![long.as_str()]);
    let rows = crate::arrow::compute::take(&one, &Int32Array::from(vec![0; 1000]), None).unwrap();
    let error = read(&stream(&[batch(rows)], None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
}

/// Two batches with a column of each type that a table takes, with nulls.
fn every_type(compression: Option<CompressionType>) -> Vec<u8> {
    let text = |at: i64| (at % 3 != 0).then(|| format!("a text that no view holds inside, {at}"));
    let some = |at: i64| (at % 4 != 0).then_some(at);
    let batch = |rows: std::ops::Range<i64>| {
        let all = || rows.clone();
        let dictionary: DictionaryArray<Int32Type> =
            all().map(|at| (at % 3 != 0).then_some(["on", "off"][at as usize % 2])).collect();
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("i", Arc::new(Int64Array::from_iter_values(all()))),
            ("s", Arc::new(all().map(text).collect::<StringArray>())),
            ("l", Arc::new(all().map(text).collect::<LargeStringArray>())),
            ("v", Arc::new(all().map(text).collect::<StringViewArray>())),
            ("d", Arc::new(dictionary)),
            (
                "b",
                Arc::new(all().map(|at| some(at).map(|at| at % 2 == 0)).collect::<BooleanArray>()),
            ),
            ("n", Arc::new(NullArray::new(rows.clone().count()))),
            ("tiny", Arc::new(all().map(|at| some(at).map(|at| at as i8)).collect::<Int8Array>())),
            ("u", Arc::new(all().map(|at| some(at).map(|at| at as u16)).collect::<UInt16Array>())),
            ("f", Arc::new(all().map(|at| some(at).map(|at| at as f32)).collect::<Float32Array>())),
            ("g", Arc::new(all().map(|at| some(at).map(|at| at as f64)).collect::<Float64Array>())),
            (
                "sec",
                Arc::new(all().map(some).collect::<TimestampSecondArray>().with_timezone("UTC")),
            ),
            ("ns", Arc::new(all().map(some).collect::<TimestampNanosecondArray>())),
            (
                "d32",
                Arc::new(all().map(|at| some(at).map(|at| at as i32)).collect::<Date32Array>()),
            ),
            ("d64", Arc::new(all().map(some).collect::<Date64Array>())),
        ];
        RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, array)| (name, array, true)),
        )
        .unwrap()
    };
    stream(&[batch(0..20), batch(20..33)], compression)
}

/// The columns of [`every_type`].
fn wide_schema() -> TableSchema {
    let nullable = |(name, data_type)| column(name, data_type, ColumnType::Nullable);
    let columns = [
        ("s", DataType::String),
        ("l", DataType::String),
        ("v", DataType::String),
        ("d", DataType::String),
        ("b", DataType::Bool),
        ("n", DataType::Float64),
        ("tiny", DataType::Int32),
        ("u", DataType::Int64),
        ("f", DataType::Float64),
        ("g", DataType::Float32),
        ("sec", DataType::Timestamp),
        ("ns", DataType::TimestampNanos),
        ("d32", DataType::Timestamp),
        ("d64", DataType::Timestamp),
    ];
    let index = column("i", DataType::Int64, ColumnType::Index);
    TableSchema::with_default_limit(std::iter::once(index).chain(columns.map(nullable)).collect())
        .unwrap()
}

/// Reads as a host with `panic = "abort"` does.
fn read_unguarded(schema: &TableSchema, bytes: &[u8]) -> Result<usize> {
    let mut rows = 0;
    unguarded(|| {
        read_stream(&mut &*bytes, |batch| {
            rows += coerce_batch(schema, &batch, rows as u64)?.num_rows();
            Ok(())
        })
    })?;
    Ok(rows)
}

/// The positions of the messages of a stream: the metadata and the body of each.
fn messages(bytes: &[u8]) -> Vec<(std::ops::Range<usize>, std::ops::Range<usize>)> {
    let mut out = Vec::new();
    let mut at = 0;
    loop {
        let len = u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
        if len == 0 {
            return out;
        }
        let metadata = at + 8..at + 8 + len;
        let header = crate::arrow::ipc::root_as_message(&bytes[metadata.clone()]).unwrap();
        let body = metadata.end..metadata.end + header.bodyLength() as usize;
        at = body.end;
        out.push((metadata, body));
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound.max(1)
    }
}

/// No forged stream makes the library panic: panics are not caught here.
#[test]
fn forged_metadata_panics_nowhere() {
    let count = sizes::size("arrow_streams");
    let schema = wide_schema();
    let streams =
        [None, Some(CompressionType::ZSTD), Some(CompressionType::LZ4_FRAME)].map(every_type);
    let messages = streams.each_ref().map(|bytes| messages(bytes));
    for bytes in &streams {
        assert_eq!(read_unguarded(&schema, bytes).unwrap(), 33);
    }
    let mut random =
        Random(sizes::seed().wrapping_mul(2).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let (mut good, mut bad) = (0, 0);
    for _ in 0..count {
        let which = random.below(streams.len());
        let mut bytes = streams[which].clone();
        for _ in 0..=random.below(3) {
            let (metadata, body) = messages[which][random.below(messages[which].len())].clone();
            // Mostly the metadata; sometimes the body, which has the lengths of compressed buffers.
            let range = if random.below(8) == 0 && !body.is_empty() { body } else { metadata };
            let at = range.start + random.below(range.len());
            let word = at / 4 * 4;
            match random.below(8) {
                0 | 1 => bytes[at] ^= 1 << random.below(8),
                2 => bytes[at] = [0, 1, 2, 3, 0x7f, 0x80, 0xfe, 0xff][random.below(8)],
                3 | 4 => {
                    let value = [0, 1, 2, -1, -2, 3, 7, 9, 1 << 20, 1 << 31, i64::MAX, i64::MIN]
                        [random.below(12)];
                    let len = (bytes.len() - word).min(8);
                    bytes[word..word + len].copy_from_slice(&value.to_le_bytes()[..len]);
                }
                5 => {
                    let value = i32::from_le_bytes(bytes[word..word + 4].try_into().unwrap());
                    let changed = value.wrapping_add([1, -1, 2, 4, -4, 8][random.below(6)]);
                    bytes[word..word + 4].copy_from_slice(&changed.to_le_bytes());
                }
                6 => {
                    // Copies another value of the message: an offset, a type, a count.
                    let from = range.start + random.below(range.len()) / 4 * 4;
                    let len = [1, 2, 4, 8, 16][random.below(5)].min(bytes.len() - word.max(from));
                    bytes.copy_within(from..from + len, word);
                }
                _ => bytes.truncate(bytes.len() - random.below(64)),
            }
            if bytes.len() < streams[which].len() {
                break;
            }
        }
        match read_unguarded(&schema, &bytes) {
            Ok(_) => good += 1,
            Err(error) if is_refused(&error) => bad += 1,
            Err(error) => panic!("{error}"),
        }
    }
    println!("counted: {count} forged streams");
    println!("{good} were read, {bad} refused");
    assert!(good > count / 50 && bad > count / 4, "{good} {bad}");
}

/// A few bytes of LZ4 that decompress to more than was declared, and to more than should be in
/// memory.
#[test]
fn an_lz4_frame_that_inflates_beyond_its_length_is_refused() {
    let zeros: ArrayRef = Arc::new(Int64Array::from(vec![0; 1 << 20]));
    let bytes = stream(
        &[RecordBatch::try_from_iter([("i", zeros)]).unwrap()],
        Some(CompressionType::LZ4_FRAME),
    );
    let (metadata, body) = messages(&bytes)[1].clone();
    // The values are the last buffer: their decompressed length, the header of the frame, blocks.
    let (offset, len) = last_buffer(&bytes[metadata.clone()]);
    let frame = &bytes[body.start + offset + 8..body.start + offset + len];
    let block_len = u32::from_le_bytes(frame[7..11].try_into().unwrap()) as usize;
    let block = &frame[7..11 + block_len];
    let bomb = |blocks: usize| {
        let mut new_body = bytes[body.start..body.start + offset + 8 + 7].to_vec();
        (0..blocks).for_each(|_| new_body.extend_from_slice(block));
        new_body.extend_from_slice(&[0; 4]);
        let new_len = new_body.len() - offset;
        new_body.resize(new_body.len().next_multiple_of(64), 0);
        let mut header = bytes[metadata.clone()].to_vec();
        for (old, new) in [(body.len(), new_body.len()), (len, new_len)] {
            for at in (0..header.len() - 7).step_by(4) {
                if header[at..at + 8] == (old as i64).to_le_bytes() {
                    header[at..at + 8].copy_from_slice(&(new as i64).to_le_bytes());
                }
            }
        }
        [&bytes[..metadata.start], &header, &new_body, &bytes[body.end..]].concat()
    };
    let read = |bytes: &[u8]| read_stream(&mut &*bytes, |_| Ok(()));
    assert_eq!(read(&bytes).unwrap(), 1);
    // As many blocks as there were give the same stream; one more gives another length.
    let blocks = (8 << 20) / (4 << 20);
    assert_eq!(read(&bomb(blocks)).unwrap(), 1);
    assert_eq!(read(&bomb(blocks + 1)).unwrap_err().kind(), ErrorKind::InvalidArgument);
    let most = limits::IMPORT_OPEN_BYTES as usize / (4 << 20);
    assert_eq!(read(&bomb(most + 1)).unwrap_err().kind(), ErrorKind::LimitExceeded);
}

/// Offset and length of the last buffer of a batch.
fn last_buffer(metadata: &[u8]) -> (usize, usize) {
    let header = crate::arrow::ipc::root_as_message(metadata).unwrap();
    let buffer =
        *header.header_as_record_batch().unwrap().buffers().unwrap().iter().next_back().unwrap();
    (buffer.offset() as usize, buffer.length() as usize)
}

/// The day that contains the least time of all begins before it.
#[test]
fn a_date_before_all_dates_is_refused() {
    let index: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let dates: ArrayRef = Arc::new(Date64Array::from(vec![0, i64::MIN]));
    let bytes =
        stream(&[RecordBatch::try_from_iter([("i", index), ("d64", dates)]).unwrap()], None);
    let error = read_unguarded(&wide_schema(), &bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
}

#[test]
fn bytes_that_are_no_stream_are_invalid_and_not_too_large() {
    for bytes in [
        &b"this is no Arrow stream"[..],
        b"PAR1 and more",
        &[0xff, 0xff, 0xff, 0x7f, 0],
        &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    ] {
        let error = read_stream(&mut &bytes[..], |_| Ok(())).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::InvalidArgument, "{bytes:?}: {error}");
    }
    // A message that is marked as one and is too large.
    let large =
        [&[0xff; 4][..], &(crate::value::limits::IMPORT_METADATA_BYTES as u32 + 1).to_le_bytes()]
            .concat();
    let error = read_stream(&mut &large[..], |_| Ok(())).unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::LimitExceeded, "{error}");
}
