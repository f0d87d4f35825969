//! Imports Parquet files of many forms, and refuses damaged ones.

use std::io::Cursor;
use std::sync::Arc;

use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;
use stationdb::arrow::array::RecordBatch;
use stationdb::arrow::datatypes::TimeUnit;
use stationdb::tables::readers::{batch_rows, frame_to_batch, parquet_pages, ticks};
use stationdb::tables::{
    Column, ColumnType, CreateTableRequest, DataFrame, DataType, ExportFormat,
    ExportTableDataRequest, RowSource, TableSchema, TableService,
};
use stationdb::{Control, ErrorKind, Identity, Place, Store};

use super::ParquetImport;
use crate::limits;
use crate::options::ImportOptions;

fn column(name: &str, data_type: DataType, column_type: ColumnType) -> Column {
    Column::new(name, data_type).column_type(column_type)
}

fn columns() -> Vec<Column> {
    vec![
        column("i", DataType::Int64, ColumnType::Index),
        column("f", DataType::Float64, ColumnType::Nullable),
        column("g", DataType::Float32, ColumnType::Normal),
        column("n", DataType::Int32, ColumnType::Nullable),
        column("b", DataType::Bool, ColumnType::Nullable),
        column("s", DataType::String, ColumnType::Nullable),
        column("t", DataType::Timestamp, ColumnType::Normal),
    ]
}

fn schema() -> TableSchema {
    TableSchema::with_default_limit(columns()).unwrap()
}

fn time(millis: i64) -> String {
    let mut text = String::new();
    ticks::write(millis, TimeUnit::Millisecond, &mut text);
    text
}

type Cells = Vec<Option<String>>;

fn cells(rows: usize) -> Vec<Cells> {
    (0..rows)
        .map(|row| {
            let some = |every: usize, text: String| (row % every != 0).then_some(text);
            vec![
                Some((row * 3).to_string()),
                some(
                    4,
                    if row % 5 == 0 { "NaN".to_owned() } else { format!("{}", row as f64 + 0.5) },
                ),
                Some(if row % 7 == 0 {
                    "-Infinity".to_owned()
                } else {
                    format!("{}", row as f32 / 4.0)
                }),
                some(3, (row as i64 - 5).to_string()),
                some(2, (row % 4 == 1).to_string()),
                some(6, format!("text {}", row % 9)),
                Some(time(row as i64 * 1001)),
            ]
        })
        .collect()
}

fn batch(rows: &[Cells]) -> RecordBatch {
    frame_to_batch(&schema(), &DataFrame::new().data(rows.to_vec())).unwrap()
}

/// One small file of each form that readers encounter.
fn files(rows: &[Cells]) -> Vec<(&'static str, Vec<u8>)> {
    let batch = batch(rows);
    let text = ColumnPath::new(vec!["s".to_owned()]);
    let base = || {
        WriterProperties::builder().set_max_row_group_row_count(Some(rows.len().div_ceil(2).max(1)))
    };
    let forms = [
        ("plain", base().set_dictionary_enabled(false).build()),
        (
            "dictionary, zstd",
            base().set_compression(Compression::ZSTD(ZstdLevel::default())).build(),
        ),
        (
            "snappy, small pages",
            base()
                .set_compression(Compression::SNAPPY)
                .set_data_page_row_count_limit(3)
                .set_write_batch_size(3)
                .build(),
        ),
        ("lz4", base().set_compression(Compression::LZ4_RAW).build()),
        (
            "second version",
            base()
                .set_writer_version(WriterVersion::PARQUET_2_0)
                .set_dictionary_enabled(false)
                .set_column_encoding(text, Encoding::DELTA_LENGTH_BYTE_ARRAY)
                .set_compression(Compression::ZSTD(ZstdLevel::default()))
                .build(),
        ),
    ];
    let mut out: Vec<(&'static str, Vec<u8>)> = forms
        .into_iter()
        .map(|(name, properties)| (name, parquet(&batch, Some(properties))))
        .collect();
    out.push(("the export", exported(batch)));
    out
}

/// The file that the store exports.
fn exported(batch: RecordBatch) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path().join("store")).unwrap();
    let session = store.session(Identity::user("ada"));
    let id = session.create_table(CreateTableRequest::new(columns())).unwrap();
    session.append_batches(&id, &mut [Ok(batch)].into_iter(), None).unwrap();
    let mut out = Vec::new();
    let request = ExportTableDataRequest::new(ExportFormat::Parquet);
    session.export_table_data(&id, request, &mut out, &Control::default()).unwrap();
    out
}

/// Options with this index.
fn by(index: &str) -> ImportOptions {
    ImportOptions { index: Some(index.to_owned()), ..ImportOptions::default() }
}

/// The file that Arrow's writer makes of a batch.
fn parquet(batch: &RecordBatch, properties: Option<WriterProperties>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), properties).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn read(bytes: Vec<u8>, schema: Option<&TableSchema>) -> stationdb::Result<Vec<Cells>> {
    let mut import = ParquetImport::new(Box::new(Cursor::new(bytes)), by("i"))?;
    let inferred = match schema {
        Some(schema) => schema.clone(),
        None => TableSchema::with_default_limit(import.columns()?)?,
    };
    rest(&mut import, &inferred)
}

/// All batches that are left, as rows.
fn rest(import: &mut ParquetImport, schema: &TableSchema) -> stationdb::Result<Vec<Cells>> {
    let mut rows = Vec::new();
    while let Some(batch) = import.next_batch(schema, &Control::default())? {
        rows.extend(batch_rows(&batch));
    }
    Ok(rows)
}

#[test]
fn files_of_every_form_are_read_back() {
    for count in [1, 2, 40] {
        let rows = cells(count);
        for (name, bytes) in files(&rows) {
            assert_eq!(read(bytes.clone(), Some(&schema())).unwrap(), rows, "{name}");
            assert_eq!(read(bytes.clone(), None).unwrap(), rows, "{name}");
            let mut import = ParquetImport::new(Box::new(Cursor::new(bytes)), by("i")).unwrap();
            assert_eq!(import.columns().unwrap(), columns(), "{name}");
        }
    }
}

#[test]
fn a_file_that_is_cut_anywhere_is_refused() {
    for (name, bytes) in files(&cells(7)) {
        for end in 0..bytes.len() {
            let error = read(bytes[..end].to_vec(), Some(&schema())).unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::InvalidArgument | ErrorKind::LimitExceeded),
                "{name}, {end}: {error}"
            );
        }
    }
}

/// Whatever byte is changed: the import returns rows of the table's types or an error, does not
/// panic, and is quick.
#[test]
fn a_file_with_a_changed_byte_is_rows_or_an_error() {
    let (mut good, mut bad) = (0, 0);
    for (name, bytes) in files(&cells(8)) {
        // Every second byte, in one of three ways; the other forms and columns cover the rest.
        for at in (name.len() % 2..bytes.len()).step_by(2) {
            let change = [0x01, 0x80, 0xff][at / 2 % 3];
            let mut changed = bytes.clone();
            changed[at] ^= change;
            match read(changed, Some(&schema())).map_err(|error| error.kind()) {
                Ok(rows) => {
                    assert!(rows.len() <= 8, "{name}");
                    good += 1;
                }
                Err(
                    ErrorKind::InvalidArgument | ErrorKind::LimitExceeded | ErrorKind::Unsupported,
                ) => bad += 1,
                Err(kind) => panic!("{name}, byte {at} ^ {change}: {kind:?}"),
            }
        }
    }
    assert!(good > 100 && bad > 100, "{good} {bad}");
}

#[test]
fn errors_name_row_group_row_and_column() {
    let rows = cells(10);
    let (_, bytes) = files(&rows).remove(0);
    let mut other = columns();
    other[1].column_type = ColumnType::Normal;
    let strict = TableSchema::with_default_limit(other.clone()).unwrap();
    let error = read(bytes.clone(), Some(&strict)).unwrap_err();
    assert_eq!(
        error.place(),
        Some(&Place::RowGroup { row_group: 0, row: Some(0), column: Some("f".to_owned()) }),
        "{error}"
    );
    other[1].column_type = ColumnType::Nullable;
    other.pop();
    let narrow = TableSchema::with_default_limit(other).unwrap();
    assert!(read(bytes.clone(), Some(&narrow)).unwrap_err().to_string().contains("\"t\""));
    // The page header of the second row group declares a huge page.
    let import =
        ParquetImport::new(Box::new(Cursor::new(bytes.clone())), ImportOptions::default()).unwrap();
    let at = import.metadata.row_group(1).column(2).data_page_offset() as usize;
    let mut forged = bytes;
    assert_eq!(
        forged[at..at + 3],
        [0x15, 0x00, 0x15],
        "the page type, then the uncompressed length"
    );
    forged[at + 3] = 0x7e;
    let error = read(forged, Some(&schema())).unwrap_err();
    assert_eq!(
        error.place(),
        Some(&Place::RowGroup { row_group: 1, row: None, column: Some("g".to_owned()) }),
        "{error}"
    );
}

#[test]
fn pages_may_be_just_as_large_as_the_limit() {
    let rows = cells(40);
    for (name, bytes) in files(&rows) {
        let read = |page_bytes_max: usize| {
            let mut import =
                ParquetImport::new(Box::new(Cursor::new(bytes.clone())), ImportOptions::default())
                    .unwrap();
            import.page_bytes_max = page_bytes_max;
            let mut count = 0;
            while let Some(batch) = import.next_batch(&schema(), &Control::default())? {
                count += batch.num_rows();
            }
            Ok::<_, stationdb::Error>(count)
        };
        let largest = (0..100_000).find(|most| read(*most).is_ok()).unwrap();
        assert!(largest > 8, "{name}");
        assert_eq!(read(largest + 1).unwrap(), 40);
        let error = read(largest - 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{name}: {error}");
        assert!(
            matches!(error.place(), Some(Place::RowGroup { column: Some(_), .. })),
            "{name}: {error}"
        );
    }
}

#[test]
fn an_encoding_that_is_not_read_is_told_with_its_column() {
    let batch = batch(&cells(20));
    let written = |encoding: Encoding| {
        let properties = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_2_0)
            .set_column_dictionary_enabled(ColumnPath::new(vec!["s".to_owned()]), false)
            .set_column_encoding(ColumnPath::new(vec!["s".to_owned()]), encoding)
            .build();
        parquet(&batch, Some(properties))
    };
    let error = read(written(Encoding::DELTA_BYTE_ARRAY), Some(&schema())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert_eq!(
        error.place(),
        Some(&Place::RowGroup { row_group: 0, row: None, column: Some("s".to_owned()) })
    );
    assert!(error.message().contains("DELTA_LENGTH_BYTE_ARRAY"), "{error}");
    for encoding in [Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::PLAIN] {
        assert_eq!(read(written(encoding), Some(&schema())).unwrap(), cells(20));
    }
}

/// The bytes of all pages of a column with their headers, and the places of the headers.
fn chunk(bytes: &[u8], column: usize) -> (std::ops::Range<usize>, Vec<std::ops::Range<usize>>) {
    let source = Box::new(Cursor::new(bytes.to_vec()));
    let import = ParquetImport::new(source, ImportOptions::default()).unwrap();
    let chunk = import.metadata.row_group(0).column(column);
    let (start, len) = chunk.byte_range();
    let (start, end) = (start as usize, (start + len) as usize);
    let (mut at, mut headers) = (start, Vec::new());
    while at < end {
        let header = parquet_pages::PageHeader::read(&bytes[at..]).unwrap();
        headers.push(at..at + header.len);
        at += header.len + header.compressed as usize;
    }
    (start..end, headers)
}

/// Reads a file without a guard for panics. Returns whether it is one.
fn is_read(bytes: Vec<u8>, schema: &TableSchema) -> bool {
    match stationdb::fuzz::unguarded(|| read(bytes, Some(schema))) {
        Ok(_) => true,
        Err(error) => {
            assert!(!error.message().contains("contradict"), "{error}");
            false
        }
    }
}

/// Lengths, widths, counts and encodings inside of pages and their headers made the decoder panic,
/// which a host that aborts on panics does not survive, and which the hook of any host prints.
#[test]
fn no_byte_of_a_page_makes_the_decoder_panic() {
    let base = |version, dictionary| {
        WriterProperties::builder()
            .set_writer_version(version)
            .set_dictionary_enabled(dictionary)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_column_encoding(ColumnPath::new(vec!["s".to_owned()]), Encoding::PLAIN)
    };
    let (first, second) = (WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0);
    let encoded = |version, encodings: &[(&str, Encoding)]| {
        encodings.iter().fold(base(version, false), |base, (column, encoding)| {
            base.set_column_encoding(ColumnPath::new(vec![(*column).to_owned()]), *encoding)
        })
    };
    let (split, packed) = (Encoding::BYTE_STREAM_SPLIT, Encoding::DELTA_BINARY_PACKED);
    let splits = [("t", split), ("f", split), ("g", split), ("n", split)];
    let deltas = [("s", Encoding::DELTA_LENGTH_BYTE_ARRAY), ("n", packed), ("t", packed)];
    let forms = [
        base(first, true),
        base(second, true),
        base(first, false),
        base(second, false),
        encoded(first, &splits),
        encoded(second, &splits),
        encoded(second, &deltas),
    ];
    let all = columns();
    let (mut good, mut bad) = (0, 0);
    for form in forms.map(|form| form.build()) {
        for column in 1..all.len() {
            // The column alone, so that a file is read quickly; and a second time with nulls only.
            let name = &all[column].name;
            let pair = vec![all[0].clone(), all[column].clone()];
            let schema = TableSchema::with_default_limit(pair).unwrap();
            let is_nullable = all[column].column_type == ColumnType::Nullable;
            for empty in 0..=usize::from(is_nullable) {
                let mut rows = cells(11 - 8 * empty);
                for row in &mut rows {
                    *row = vec![row[0].take(), row[column].take().filter(|_| empty == 0)];
                }
                let frame = DataFrame::new().data(rows);
                let batch = frame_to_batch(&schema, &frame).unwrap();
                let bytes = parquet(&batch, Some(form.clone()));
                assert!(is_read(bytes.clone(), &schema), "{name}");
                let (pages, headers) = chunk(&bytes, 1);
                for at in pages {
                    let changes: &[u8] = if headers.iter().any(|header| header.contains(&at)) {
                        // Encodings and small numbers, as a header has them.
                        &[0, 2, 4, 6, 10, 12, 14, 16, 18, 22, 0x7f]
                    } else if headers
                        .iter()
                        .any(|header| (header.end..header.end + 8).contains(&at))
                    {
                        &[0, 1, 3, 33, 65, 128, 170, 255]
                    } else {
                        &[0, 128, 255]
                    };
                    for byte in changes.iter().filter(|byte| **byte != bytes[at]) {
                        let mut changed = bytes.clone();
                        changed[at] = *byte;
                        if is_read(changed, &schema) {
                            good += 1;
                        } else {
                            bad += 1;
                        }
                    }
                }
            }
        }
    }
    println!("counted: {good} were read, {bad} refused");
    assert!(good > 1000 && bad > 1000, "{good} {bad}");
}

/// Sets the counts of nulls in the footer that are 1 to 0.
fn without_counts(mut bytes: Vec<u8>, expected: usize) -> Vec<u8> {
    let footer = bytes.len()
        - 8
        - u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap()) as usize;
    let mut changed = 0;
    for at in footer..bytes.len() - 12 {
        // A field 3 of 64 bits, behind field 2 or at the beginning, with 1 as 2. Field 5 follows.
        if matches!(bytes[at], 0x16 | 0x36) && bytes[at + 1..at + 3] == [2, 0x28] {
            bytes[at + 1] = 0;
            changed += 1;
        }
    }
    assert_eq!(changed, expected);
    bytes
}

/// The numbers went on behind the batches that had been read before the file was read again.
#[test]
fn rows_that_are_read_again_have_the_numbers_of_their_rows() {
    use stationdb::arrow::array::{ArrayRef, Int64Array};
    const ROWS: i64 = 20_000;
    for null in [0, 9_000, ROWS - 1] {
        let values = (0..ROWS).map(|row| (row != null).then_some(row));
        let values: ArrayRef = Arc::new(values.collect::<Int64Array>());
        let batch = RecordBatch::try_from_iter_with_nullable([("v", values, true)]).unwrap();
        let bytes = without_counts(parquet(&batch, None), 1);
        for first in [0, 7] {
            let source = Box::new(Cursor::new(bytes.clone()));
            let mut import = ParquetImport::new(source, ImportOptions::default()).unwrap();
            import.number_from(first);
            let schema = TableSchema::with_default_limit(import.columns().unwrap()).unwrap();
            rest(&mut import, &schema).unwrap_err();
            assert!(import.begin_again());
            let schema = TableSchema::with_default_limit(import.columns().unwrap()).unwrap();
            let rows = rest(&mut import, &schema).unwrap();
            assert_eq!(rows.len(), ROWS as usize);
            for (row, cells) in (0..).zip(&rows) {
                assert_eq!(cells[0], Some((row + first as i64).to_string()), "null in {null}");
                assert_eq!(cells[1], (row != null).then(|| row.to_string()));
            }
        }
    }
}

/// The writer of Arrow 4.0.1 counted no nulls where there were some.
#[test]
fn a_column_whose_statistics_count_no_nulls_may_have_some() {
    use stationdb::arrow::array::{ArrayRef, Int64Array, StringArray};
    let ids: ArrayRef = Arc::new((0..9).map(Some).collect::<Int64Array>());
    let texts: ArrayRef = Arc::new(StringArray::from_iter(
        (0..9).map(|row| (row % 4 != 3).then(|| format!("id{row}"))),
    ));
    let numbers: ArrayRef =
        Arc::new((0..9).map(|row| (row > 0).then_some(row)).collect::<Int64Array>());
    let whole: ArrayRef = Arc::new((0..9).map(Some).collect::<Int64Array>());
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("i", ids, true),
        ("s", texts, true),
        ("n", numbers, true),
        ("w", whole, true),
    ])
    .unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(3)).build();
    let bytes = without_counts(parquet(&batch, Some(properties)), 3);
    let mut import = ParquetImport::new(Box::new(Cursor::new(bytes)), by("i")).unwrap();
    let types =
        |columns: &[Column]| columns.iter().map(|column| column.column_type).collect::<Vec<_>>();
    use ColumnType::{Index, Normal, Nullable};
    let first = import.columns().unwrap();
    assert_eq!(types(&first), [Index, Normal, Normal, Normal]);
    let schema = TableSchema::with_default_limit(first).unwrap();
    rest(&mut import, &schema).unwrap_err();
    assert!(import.begin_again());
    let again = import.columns().unwrap();
    assert_eq!(types(&again), [Index, Nullable, Nullable, Normal]);
    let schema = TableSchema::with_default_limit(again).unwrap();
    let found = rest(&mut import, &schema).unwrap();
    assert_eq!(found.len(), 9);
    assert_eq!(found[3][1], None);
    assert_eq!(found[0][2], None);
    assert!(import.warnings().iter().any(|told| told.contains("\"s\"")), "{:?}", import.warnings());
    assert!(!import.begin_again(), "the second reading is as it should be");
}

/// Errors of the reader were passed on in terms of its codecs and of Rust.
#[test]
fn damaged_pages_are_told_in_words_of_this_library() {
    let (mut told, mut with_source) = (std::collections::BTreeSet::new(), 0);
    for (_, bytes) in files(&cells(8)) {
        for column in 0..columns().len() {
            for at in chunk(&bytes, column).0 {
                let mut changed = bytes.clone();
                changed[at] ^= 0x81;
                if let Err(error) = read(changed, Some(&schema())) {
                    with_source += usize::from(std::error::Error::source(&error).is_some());
                    told.insert(error.message().to_owned());
                }
            }
        }
    }
    for message in &told {
        for foreign in ["Parquet error", "argument error", "Codec", "PageType", "::", "NYI", "EOF"]
        {
            assert!(!message.contains(foreign), "{foreign}: {message}");
        }
    }
    assert!(with_source > 0 && told.len() > 5, "{told:?}");
}

#[test]
fn nested_columns_are_refused() {
    use stationdb::arrow::array::{ArrayRef, Int64Array, ListArray, StructArray};
    use stationdb::arrow::datatypes::{Field, Int64Type};
    let list: ArrayRef =
        Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([Some([Some(1)])]));
    let inner: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let field = Arc::new(Field::new("x", inner.data_type().clone(), false));
    let group: ArrayRef = Arc::new(StructArray::from(vec![(field, inner)]));
    for nested in [list, group] {
        let batch = RecordBatch::try_from_iter([("v", nested)]).unwrap();
        let bytes = parquet(&batch, None);
        let error = read(bytes, Some(&schema())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
}

/// Long texts that differ in every row are read in small batches, too.
#[test]
fn long_texts_stay_in_bounds() {
    let rows: Vec<Cells> = (0..120)
        .map(|row: usize| vec![Some(row.to_string()), Some(format!("{row} ").repeat(500_000))])
        .collect();
    let columns = vec![
        column("i", DataType::Int64, ColumnType::Index),
        column("s", DataType::String, ColumnType::Normal),
    ];
    let schema = TableSchema::with_default_limit(columns).unwrap();
    let batch = frame_to_batch(&schema, &DataFrame::new().data(rows)).unwrap();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_write_batch_size(4)
        .set_compression(Compression::LZ4_RAW)
        .build();
    let bytes = parquet(&batch, Some(properties));
    let mut import =
        ParquetImport::new(Box::new(Cursor::new(bytes)), ImportOptions::default()).unwrap();
    let mut total = 0;
    while let Some(batch) = import.next_batch(&schema, &Control::default()).unwrap() {
        assert!(batch.num_rows() <= 64, "{}", batch.num_rows());
        total += batch.num_rows();
    }
    assert_eq!(total, 120);
}

/// A dictionary with one long text that occurs in every row is read in small batches.
#[test]
fn a_long_text_in_every_row_stays_in_bounds() {
    let long = "x".repeat(700_000);
    let rows: Vec<Cells> =
        (0..300).map(|row| vec![Some(row.to_string()), Some(long.clone())]).collect();
    let columns = vec![
        column("i", DataType::Int64, ColumnType::Index),
        column("s", DataType::String, ColumnType::Normal),
    ];
    let schema = TableSchema::with_default_limit(columns).unwrap();
    let batch = frame_to_batch(&schema, &DataFrame::new().data(rows)).unwrap();
    let properties = WriterProperties::builder().set_dictionary_page_size_limit(8 << 20).build();
    let bytes = parquet(&batch, Some(properties));
    assert!(bytes.len() < 2_000_000, "the text is there once");
    let mut import =
        ParquetImport::new(Box::new(Cursor::new(bytes)), ImportOptions::default()).unwrap();
    let mut total = 0;
    while let Some(batch) = import.next_batch(&schema, &Control::default()).unwrap() {
        assert!(batch.num_rows() <= 100, "{}", batch.num_rows());
        total += batch.num_rows();
    }
    assert_eq!(total, 300);
}

#[test]
fn the_footer_holds_at_the_limit_and_not_above() {
    // A length within the limit is refused because the footer would begin before the file.
    limits::holds_at(limits::IMPORT_METADATA_BYTES, stationdb::ErrorKind::LimitExceeded, |bytes| {
        read([b"PAR1".as_slice(), &[0; 100], &(bytes as u32).to_le_bytes(), b"PAR1"].concat(), None)
    });
}
