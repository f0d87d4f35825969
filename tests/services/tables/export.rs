//! What leaves a table: readers of batches, metadata of exports, segments with their manifest.

use crate::prelude::*;
use std::path::Path;

use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use stationdb::arrow::array::{RecordBatch, RecordBatchReader};
use stationdb::arrow::ipc::reader::StreamReader;
use stationdb::faults::walk;

use super::{column, int64_values};

fn text(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// A store with a table of two segments and buffered rows, 250 rows together.
fn table() -> (Store, Session, TableId) {
    let disk: SharedDisk = Arc::new(MemoryDisk::default());
    let (store, session) = opened(Store::options().maintenance_thread(false).seal_rows(100), disk);
    let mut volts = column("v", DataType::Float64, ColumnType::Nullable);
    volts.properties =
        text(&[("unit", "V"), ("note", "a \"b\"\nc"), ("ARROW:extension:name", "x")]);
    let request = CreateTableRequest::new([column("t", DataType::Int64, ColumnType::Index), volts])
        .name("Loop")
        .properties(text(&[("station", "7")]));
    let id = session.create_table(request).unwrap();
    for rows in [100..200, 0..100, 200..250] {
        let data: Vec<_> =
            rows.map(|i| vec![Some(i.to_string()), Some("0.5".to_owned())]).collect();
        let frame = DataFrame::new().data(data);
        session.append_table_data(&id, AppendTableDataRequest::new().frame(frame)).unwrap();
    }
    (store, session, id)
}

fn export(session: &Session, id: &TableId, request: ExportTableDataRequest) -> Vec<u8> {
    let mut out = Vec::new();
    session.export_table_data(id, request, &mut out, &Control::default()).unwrap();
    out
}

#[test]
fn parquet_and_arrow_exports_carry_name_units_and_properties() {
    let (_store, session, id) = table();
    let parquet = export(&session, &id, ExportTableDataRequest::new(ExportFormat::Parquet));
    let parquet = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(parquet)).unwrap();
    let arrow = export(&session, &id, ExportTableDataRequest::new(ExportFormat::ArrowStream));
    let arrow = StreamReader::try_new(arrow.as_slice(), None).unwrap();
    let some = ExportTableDataRequest::new(ExportFormat::ArrowStream).columns(["v"]);
    let some = export(&session, &id, some);
    let some = StreamReader::try_new(some.as_slice(), None).unwrap();
    for schema in [parquet.schema(), &arrow.schema(), &some.schema()] {
        let metadata = schema.metadata();
        assert_eq!(metadata["stationdb.id"], id.to_string());
        assert_eq!(metadata["stationdb.name"], "Loop");
        assert_eq!(metadata["stationdb.properties"], r#"{"station":"7"}"#);
        let volts: BTreeMap<String, String> =
            schema.field_with_name("v").unwrap().metadata().clone().into_iter().collect();
        assert_eq!(volts, text(&[("unit", "V"), ("note", "a \"b\"\nc")]));
    }
    assert_eq!(arrow.schema().field(0).metadata().len(), 0);
    let rows: usize = arrow.map(|batch| batch.unwrap().num_rows()).sum();
    let parquet_rows: usize = parquet.build().unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!((rows, parquet_rows), (250, 250));
}

#[test]
fn csv_has_comment_lines_only_when_asked() {
    let (_store, session, id) = table();
    let request = ExportTableDataRequest::new(ExportFormat::Csv).take(1);
    let plain = String::from_utf8(export(&session, &id, request.clone())).unwrap();
    assert_eq!(plain, "t,v\n0,0.5\n");
    let request = request.csv_metadata(true);
    let told = String::from_utf8(export(&session, &id, request)).unwrap();
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 4, "{told}");
    let json = |line: &str, head: &str| -> serde_json::Value {
        serde_json::from_str(line.strip_prefix(head).unwrap()).unwrap()
    };
    let table = json(lines[0], "# table ");
    assert_eq!(table["name"], "Loop");
    assert_eq!(table["properties"]["station"], "7");
    let volts = json(lines[1], "# column ");
    assert_eq!(volts["name"], "v");
    assert_eq!(volts["properties"]["unit"], "V");
    assert_eq!(volts["properties"]["note"], "a \"b\"\nc");
    assert_eq!(lines[2..], ["t,v", "0,0.5"]);
}

#[test]
fn a_scan_is_a_record_batch_reader() {
    let (_store, session, id) = table();
    let rows = session.scan(&id, ScanRequest::default(), &Control::default()).unwrap();
    let reader: Box<dyn RecordBatchReader + Send> = Box::new(rows.into_record_batches());
    let schema = reader.schema();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    assert!(batches.iter().all(|batch| batch.schema() == schema));
    let values: Vec<i64> =
        batches.iter().flat_map(|batch| int64_values(batch, 0).to_vec()).collect();
    assert_eq!(values, (0..250).collect::<Vec<i64>>());

    let control = Control::default();
    let rows = session.scan(&id, ScanRequest::default(), &control).unwrap();
    control.cancel();
    let mut reader = rows.into_record_batches();
    let stationdb::arrow::error::ArrowError::ExternalError(error) =
        reader.next().unwrap().unwrap_err()
    else {
        panic!("not the error of the store");
    };
    assert_eq!(error.downcast_ref::<Error>().unwrap().kind(), ErrorKind::Cancelled);
    assert!(reader.next().is_none());
}

/// The rows of all files that the manifest names.
fn rows_of(directory: &Path, manifest: &SegmentManifest) -> Vec<i64> {
    let mut rows = Vec::new();
    for file in &manifest.files {
        let bytes = std::fs::read(directory.join(&file.name)).unwrap();
        assert_eq!(bytes.len() as u64, file.byte_count);
        let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes)).unwrap();
        let mut own = Vec::new();
        for batch in reader.build().unwrap() {
            own.extend_from_slice(int64_values(&batch.unwrap(), 0));
        }
        assert_eq!(own.len() as u64, file.row_count);
        assert_eq!(
            own.first().copied().zip(own.last().copied()),
            Some((file.min_index, file.max_index))
        );
        rows.extend(own);
    }
    rows
}

#[test]
fn segments_are_not_exported_into_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = Store::options().maintenance_thread(false).open(&path).unwrap();
    let session = store.session(Identity::user("ada"));
    let columns = [column("t", DataType::Int64, ColumnType::Index)];
    let id = session.create_table(CreateTableRequest::new(columns)).unwrap();
    let frame = DataFrame::new().data([[Some("1".to_owned())]]);
    session.append_table_data(&id, AppendTableDataRequest::new().frame(frame)).unwrap();
    let export = |to: &Path| session.export_segments_to(&id, to, &Control::default());
    let before = walk(&*RealDisk::open(&path).unwrap(), "").unwrap();
    for inside in ["", "new", "tables", "tables/new/deep", "../store/new", "new/../other"] {
        let error = export(&path.join(inside)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{inside}: {error}");
        assert!(error.message().contains("the store itself"), "{inside}: {error}");
    }
    let after = walk(&*RealDisk::open(&path).unwrap(), "").unwrap();
    assert_eq!(after, before, "nothing was made in the store");
    assert_eq!(export(&directory.path().join("store2")).unwrap().row_count, 1);
}

#[test]
fn a_directory_of_segments_has_a_manifest() {
    let (store, session, id) = table();
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("open");
    let control = Control::default();
    let manifest = session.export_segments_to(&id, &target, &control).unwrap();
    assert_eq!(manifest.files.len(), 3, "one for each part between seals");
    assert_eq!(manifest.row_count, 250);
    assert_eq!(manifest.id, Some(id.clone()));
    assert_eq!(manifest.name.as_deref(), Some("Loop"));
    assert_eq!(manifest.columns[1].properties["unit"], "V");
    let mut rows = rows_of(&target, &manifest);
    rows.sort_unstable();
    assert_eq!(rows, (0..250).collect::<Vec<i64>>());
    let stored = std::fs::read_to_string(target.join("manifest.json")).unwrap();
    assert_eq!(serde_json::from_str::<SegmentManifest>(&stored).unwrap(), manifest);
    let mut names: Vec<String> = std::fs::read_dir(&target)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut expected: Vec<String> = manifest.files.iter().map(|file| file.name.clone()).collect();
    expected.push("manifest.json".to_owned());
    expected.sort();
    assert_eq!(names, expected);

    // Merged to one run, the rows are the same.
    session.append_table_data(&id, AppendTableDataRequest::new().end_of_data(true)).unwrap();
    while store.maintain(&control).unwrap().segments_written > 0 {}
    let target = directory.path().join("closed");
    let manifest = session.export_segments_to(&id, &target, &control).unwrap();
    assert_eq!(manifest.files.len(), 1);
    assert_eq!(rows_of(&target, &manifest), (0..250).collect::<Vec<i64>>());

    let again = session.export_segments_to(&id, &target, &control).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Conflict, "as for a feed: {again}");
    assert!(again.message().contains("not empty"), "{again}");
    let missing = directory.path().join("missing");
    let unknown = TableId::from("0".repeat(24));
    let unknown = session.export_segments_to(&unknown, &missing, &control).unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound, "{unknown}");
    assert!(!missing.exists(), "a wrong id leaves no directory");

    // An export that ends early leaves no manifest.
    let target = directory.path().join("cut");
    let cancelled = Control::default();
    cancelled.cancel();
    let cut = session.export_segments_to(&id, &target, &cancelled).unwrap_err();
    assert_eq!(cut.kind(), ErrorKind::Cancelled);
    assert!(!target.join("manifest.json").exists());

    // The deadline of the session counts, and what is left can be exported into again.
    let target = directory.path().join("late");
    let late = session.with_deadline(std::time::Instant::now());
    let late = late.export_segments_to(&id, &target, &control).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::DeadlineExceeded);
    session.export_segments_to(&id, &target, &control).unwrap();
}
