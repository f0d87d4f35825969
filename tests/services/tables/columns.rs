//! Columns that come and go: which rows show which values, who is refused, what it tells.

use crate::prelude::*;

use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use stationdb::arrow::array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch};

use super::{column, int64_values};

fn options() -> StoreOptions {
    Store::options().maintenance_thread(false).seal_rows(100)
}

fn opened(disk: &Arc<MemoryDisk>) -> (Store, Session) {
    crate::prelude::opened(options(), disk.clone())
}

fn create(session: &Session) -> TableId {
    let columns = vec![
        column("t", DataType::Int64, ColumnType::Index),
        column("v", DataType::Float64, ColumnType::Nullable),
        column("w", DataType::Float64, ColumnType::Nullable),
    ];
    session.create_table(CreateTableRequest::new(columns)).unwrap()
}

/// Rows whose other columns have these multiples of the index.
fn batch(rows: impl Iterator<Item = i64>, columns: &[(&str, f64)]) -> RecordBatch {
    let rows: Vec<i64> = rows.collect();
    let mut all: Vec<(&str, ArrayRef)> = vec![("t", Arc::new(Int64Array::from(rows.clone())))];
    for (name, factor) in columns {
        let values = rows.iter().map(|t| *t as f64 * factor);
        all.push((*name, Arc::new(Float64Array::from_iter_values(values))));
    }
    RecordBatch::try_from_iter(all).unwrap()
}

fn append(
    session: &Session,
    id: &TableId,
    rows: impl Iterator<Item = i64>,
    columns: &[(&str, f64)],
) {
    let batch = batch(rows, columns);
    session.append_batches(id, &mut std::iter::once(Ok(batch)), None).unwrap();
}

fn add(session: &Session, id: &TableId, names: &[&str]) {
    let new = |name: &&str| column(name, DataType::Float64, ColumnType::Nullable);
    let columns: Vec<Column> = names.iter().map(new).collect();
    session.add_columns(id, AddColumnsRequest::new(columns)).unwrap();
}

fn rename(session: &Session, id: &TableId, pairs: &[(&str, &str)]) {
    let pairs: Vec<_> = pairs.iter().map(|(from, to)| ColumnRename::new(*from, *to)).collect();
    session.rename_columns(id, RenameColumnsRequest::new(pairs)).unwrap();
}

fn drop_columns(session: &Session, id: &TableId, names: &[&str]) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    session.drop_columns(id, DropColumnsRequest::new(names)).unwrap();
}

/// All rows: the names of the columns, and the index with the other values.
type Found = (Vec<String>, Vec<(i64, Vec<Option<f64>>)>);

fn values(batch: &RecordBatch) -> Vec<(i64, Vec<Option<f64>>)> {
    let index = int64_values(batch, 0).to_vec();
    let cell = |column: &ArrayRef, row: usize| {
        let column = column.as_any().downcast_ref::<Float64Array>().unwrap();
        column.is_valid(row).then(|| column.value(row))
    };
    let rows = index.into_iter().enumerate();
    rows.map(|(row, t)| (t, batch.columns()[1..].iter().map(|c| cell(c, row)).collect())).collect()
}

fn all(session: &Session, id: &TableId) -> Found {
    let stream = session.scan(id, ScanRequest::new(), &Control::default()).unwrap();
    let names = stream.schema().fields().iter().map(|field| field.name().clone()).collect();
    (names, stream.flat_map(|batch| values(&batch.unwrap())).collect())
}

fn tidy(store: &Store) {
    for _ in 0..2 {
        store.maintain(&Control::default()).unwrap();
    }
}

fn is_whole(store: &Store) {
    let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

/// Rows in a segment, in another one, and in the buffer, each written with other columns.
fn grown(session: &Session) -> (TableId, Found) {
    let id = create(session);
    append(session, &id, 0..150, &[("v", 2.0), ("w", 3.0)]);
    drop_columns(session, &id, &["v"]);
    add(session, &id, &["v"]);
    append(session, &id, 200..203, &[("w", 3.0)]);
    rename(session, &id, &[("w", "v"), ("v", "w")]);
    append(session, &id, 203..205, &[("v", 5.0), ("w", 7.0)]);
    let row = |t: i64| {
        let x = t as f64;
        let of = match t {
            0..150 => vec![Some(3.0 * x), None],
            200..203 => vec![Some(3.0 * x), None],
            _ => vec![Some(5.0 * x), Some(7.0 * x)],
        };
        (t, of)
    };
    let rows = (0..150).chain(200..205).map(row).collect();
    (id, (vec!["t".into(), "v".into(), "w".into()], rows))
}

#[test]
fn values_belong_to_columns_and_not_to_names() {
    let disk = Arc::new(MemoryDisk::new());
    let (store, session) = opened(&disk);
    let (id, expected) = grown(&session);
    assert_eq!(all(&session, &id), expected, "with a buffer");
    is_whole(&store);
    drop((session, store));
    let (store, session) = opened(&disk);
    assert_eq!(all(&session, &id), expected, "opened again");
    let old = ColumnFilter::new("w", FilterOperation::Equals);
    let request = QueryTableDataRequest::new().filters([old]).take(1);
    let page = session.query_table_data(&id, request).unwrap();
    assert_eq!(page.total_row_count, 153, "rows without a value");
    // Every form of a rewrite.
    let mut nothing = |_: SegmentFile<'_>| Ok(());
    session.export_segments(&id, &mut nothing, &Control::default()).unwrap();
    assert_eq!(all(&session, &id), expected, "rewritten");
    append(&session, &id, (100..220).map(|t| t + 1_000), &[]);
    append(&session, &id, (100..220).map(|t| t + 1_000), &[]);
    tidy(&store);
    assert_eq!(all(&session, &id).1[..155], expected.1, "merged");
    is_whole(&store);
    // A backup and a salvage have the history, too.
    let (copy, into) = (Arc::new(MemoryDisk::new()), Arc::new(MemoryDisk::new()));
    let backup: SharedDisk = copy.clone();
    store.backup_disk(&backup, &Control::default()).unwrap();
    let (from, target): (SharedDisk, SharedDisk) = (copy.clone(), into.clone());
    Store::salvage_disk(&from, &target, &Control::default()).unwrap();
    let whole = all(&session, &id);
    for disk in [&copy, &into] {
        let (store, session) = opened(disk);
        assert_eq!(all(&session, &id), whole);
        append(&session, &id, 5_000..5_001, &[("w", 1.0)]);
        assert_eq!(all(&session, &id).1.last(), Some(&(5_000, vec![None, Some(5_000.0)])));
        is_whole(&store);
    }
}

#[test]
fn a_salvage_reads_each_row_with_the_columns_that_it_had() {
    for suffix in ["none", ".parquet", ".summary"] {
        let disk = Arc::new(MemoryDisk::new());
        let (store, session) = opened(&disk);
        let (id, expected) = grown(&session);
        append(&session, &id, 10_000..20_000, &[("v", 3.0)]);
        tidy(&store);
        drop_columns(&session, &id, &["w"]);
        add(&session, &id, &["w"]);
        drop((session, store));
        let dir = format!("tables/{id}");
        for file in disk.list(&dir).unwrap().iter().filter(|file| file.name.ends_with(suffix)) {
            let file = disk.open(&format!("{dir}/{}", file.name), Mode::ReadWrite).unwrap();
            let len = file.len().unwrap();
            file.write_all_at(&[0x5a; 64], len / 2).unwrap();
        }
        let into = Arc::new(MemoryDisk::new());
        let (from, target): (SharedDisk, SharedDisk) = (disk.clone(), into.clone());
        let report = Store::salvage_disk(&from, &target, &Control::default()).unwrap();
        let (store, session) = opened(&into);
        let (names, found) = all(&session, &id);
        assert_eq!(names, expected.0);
        let right = |(t, of): &(i64, Vec<Option<f64>>)| {
            let v = if (203..205).contains(t) { 5.0 } else { 3.0 };
            of[..] == [Some(v * *t as f64), None]
        };
        assert!(found.iter().all(right), "{suffix}: a wrong value");
        let least = if suffix == "none" { 10_155 } else { 1 };
        assert!(found.len() >= least, "{suffix}: {} rows, {:?}", found.len(), report.lost);
        append(&session, &id, 30_000..30_001, &[("w", 1.0)]);
        tidy(&store);
        assert_eq!(all(&session, &id).1.len(), found.len() + 1);
        is_whole(&store);
    }
}

#[test]
fn a_reader_that_began_before_keeps_its_columns() {
    let (store, session) = opened(&Arc::new(MemoryDisk::new()));
    let id = create(&session);
    append(&session, &id, 0..150_000, &[("v", 2.0), ("w", 3.0)]);
    append(&session, &id, 150_000..150_050, &[("v", 2.0), ("w", 3.0)]);
    let mut stream = session.scan(&id, ScanRequest::new(), &Control::default()).unwrap();
    let mut seen = values(&stream.next().unwrap().unwrap());
    drop_columns(&session, &id, &["v"]);
    add(&session, &id, &["v"]);
    tidy(&store);
    seen.extend(stream.flat_map(|batch| values(&batch.unwrap())));
    let x = |t: i64| t as f64;
    let right = seen
        .iter()
        .zip(0..)
        .all(|((t, of), at)| *t == at && of[..] == [Some(2.0 * x(at)), Some(3.0 * x(at))]);
    assert!(right && seen.len() == 150_050, "{} rows", seen.len());
    let (names, now) = all(&session, &id);
    assert_eq!(names, ["t", "w", "v"]);
    assert!(now.iter().all(|(t, of)| of[..] == [Some(3.0 * x(*t)), None]));
}

/// An append that began before a change is committed after it, in the buffer or in segments.
#[test]
fn an_append_beside_a_change_puts_its_values_into_its_columns() {
    for rows in [10, 300_000] {
        let (store, session) = opened(&Arc::new(MemoryDisk::new()));
        let id = create(&session);
        let half = batch(0..rows, &[("v", 2.0), ("w", 3.0)]);
        let other = batch(rows..2 * rows, &[("v", 2.0), ("w", 3.0)]);
        let mut parts = vec![other, half];
        let mut batches = std::iter::from_fn(|| {
            if parts.len() == 1 {
                drop_columns(&session, &id, &["v"]);
                add(&session, &id, &["v", "x"]);
                rename(&session, &id, &[("w", "u")]);
            }
            parts.pop().map(Ok)
        });
        session.append_batches(&id, &mut batches, None).unwrap();
        for _ in 0..2 {
            let (names, found) = all(&session, &id);
            assert_eq!(names, ["t", "u", "v", "x"]);
            let right =
                |(t, of): &(i64, Vec<Option<f64>>)| of[..] == [Some(3.0 * *t as f64), None, None];
            assert!(found.len() as i64 == 2 * rows && found.iter().all(right));
            tidy(&store);
        }
        is_whole(&store);
    }
}

#[test]
fn a_walk_is_refused_when_a_column_that_it_names_is_another_one() {
    let (store, session) = opened(&Arc::new(MemoryDisk::new()));
    let id = create(&session);
    append(&session, &id, 0..150, &[("v", 2.0), ("w", -3.0)]);
    append(&session, &id, 50..60, &[("v", 2.0), ("w", -3.0)]);
    let by = |name: &str| QueryTableDataRequest::new().order_by([ColumnOrderBy::new(name)]).take(9);
    let of = |name: &str| QueryTableDataRequest::new().columns([name.to_owned()]).take(9);
    let plain = || QueryTableDataRequest::new().take(9);
    let requests = [by("v"), by("w"), by("t"), of("v"), of("w"), plain()];
    let tokens: Vec<Option<String>> = requests
        .iter()
        .map(|request| session.query_table_data(&id, request.clone()).unwrap().continuation_token)
        .collect();
    let outcomes = || -> Vec<bool> {
        let again = requests.iter().zip(&tokens).map(|(request, token)| {
            let mut request = request.clone();
            request.continuation_token.clone_from(token);
            session.query_table_data(&id, request).is_ok()
        });
        again.collect()
    };
    add(&session, &id, &["x"]);
    tidy(&store);
    assert_eq!(outcomes(), [true; 6]);
    drop_columns(&session, &id, &["v"]);
    assert_eq!(outcomes(), [false, true, true, false, true, true]);
    add(&session, &id, &["v"]);
    assert_eq!(outcomes(), [false, true, true, false, true, true]);
    rename(&session, &id, &[("w", "v"), ("v", "w")]);
    tidy(&store);
    assert_eq!(outcomes(), [false, false, true, false, false, true]);
    // A name that its own column got back counts as new.
    rename(&session, &id, &[("t", "s")]);
    rename(&session, &id, &[("s", "t")]);
    assert_eq!(outcomes(), [false, false, false, false, false, true]);
    let token = tokens[1].clone().unwrap();
    let error = session.query_table_data(&id, by("w").continuation_token(token)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
}

#[test]
fn a_change_of_columns_tells_what_it_did() {
    let (_store, session) = opened(&Arc::new(MemoryDisk::new()));
    let id = create(&session);
    let properties = [("unit".to_owned(), "V".to_owned())].into();
    let mut volts = column("x", DataType::Float32, ColumnType::Nullable);
    volts.properties = properties;
    session.add_columns(&id, AddColumnsRequest::new([volts]).metadata_revision(2)).unwrap();
    rename(&session, &id, &[("v", "w"), ("w", "v")]);
    drop_columns(&session, &id, &["w"]);
    let stale = DropColumnsRequest::new(["v".to_owned()]).metadata_revision(3);
    assert_eq!(session.drop_columns(&id, stale).unwrap_err().kind(), ErrorKind::Conflict);
    let table = session.get_table_metadata(&id).unwrap();
    assert_eq!(table.metadata_revision, Some(4));
    let columns = table.columns.unwrap();
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["t", "v", "x"]);
    assert_eq!(columns[2].properties["unit"], "V");
    let mut changes = session.changes(Position::START);
    let events: Vec<_> = std::iter::from_fn(|| changes.poll().unwrap()).collect();
    let what: Vec<_> = events.iter().map(|event| (event.what, event.detail.clone())).collect();
    assert_eq!(
        what,
        [
            (What::Created, None),
            (What::ColumnsChanged, Some(json!({"added": ["x"]}))),
            (What::ColumnsChanged, Some(json!({"renamed": [["v", "w"], ["w", "v"]]}))),
            (What::ColumnsChanged, Some(json!({"dropped": ["w"]}))),
        ]
    );
}

#[test]
fn changes_that_cannot_be_are_refused_with_their_place() {
    let (_store, session) = opened(&Arc::new(MemoryDisk::new()));
    let id = create(&session);
    let refused = |outcome: stationdb::Result<()>, words: [&str; 2]| {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        let text = format!("{error}");
        assert!(words.iter().all(|word| text.contains(word)), "{words:?}: {text}");
    };
    let new = |name: &str, role| AddColumnsRequest::new([column(name, DataType::Bool, role)]);
    let added = |request| session.add_columns(&id, request);
    refused(added(new("x", ColumnType::Normal)), ["NULLABLE", "columns[0].columnType"]);
    refused(added(new("x", ColumnType::Index)), ["NULLABLE", "columns[0].columnType"]);
    refused(added(new("v", ColumnType::Nullable)), ["already", "columns[0].name"]);
    refused(added(new("", ColumnType::Nullable)), ["needs a name", "columns[0].name"]);
    refused(added(AddColumnsRequest::new([])), ["names no columns", "columns"]);
    let renamed = |pairs: &[(&str, &str)]| {
        let pairs: Vec<_> = pairs.iter().map(|(from, to)| ColumnRename::new(*from, *to)).collect();
        session.rename_columns(&id, RenameColumnsRequest::new(pairs))
    };
    refused(renamed(&[("v", "w")]), ["two columns", "columns[0].newName"]);
    refused(renamed(&[("v", "x"), ("w", "x")]), ["two columns", "columns[0].newName"]);
    refused(renamed(&[("v", "")]), ["needs a name", "columns[0].newName"]);
    refused(renamed(&[("x", "y")]), ["no column \"x\"", "columns[0]"]);
    refused(renamed(&[("v", "a"), ("v", "b")]), ["listed twice", "columns[1]"]);
    refused(renamed(&[]), ["names no columns", "columns"]);
    let dropped = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        session.drop_columns(&id, DropColumnsRequest::new(names))
    };
    refused(dropped(&["v", "t"]), ["INDEX", "columns[1]"]);
    refused(dropped(&["x"]), ["no column \"x\"", "columns[0]"]);
    refused(dropped(&["v", "v"]), ["listed twice", "columns[1]"]);
    refused(dropped(&[]), ["names no columns", "columns"]);
    let missing = TableId::from("0123456789abcdef01234567");
    let error = session.drop_columns(&missing, DropColumnsRequest::new(["v".to_owned()]));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::NotFound);
    // Nothing of it has changed the table.
    assert_eq!(all(&session, &id).0, ["t", "v", "w"]);
    session.modify_table(&id, ModifyTableRequest::new().metadata_revision(2).name("n")).unwrap();
}

/// Files for other readers have the columns of the table, under their names.
#[test]
fn exported_segments_have_the_columns_that_the_table_has() {
    let (_store, session) = opened(&Arc::new(MemoryDisk::new()));
    let (id, expected) = grown(&session);
    let mut found = Vec::new();
    let mut each = |file: SegmentFile<'_>| {
        let mut bytes = Vec::new();
        std::io::copy(file.data, &mut bytes).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes)).unwrap();
        let names: Vec<_> = reader.schema().fields().iter().map(|f| f.name().clone()).collect();
        assert_eq!(names, expected.0);
        found.extend(reader.build().unwrap().flat_map(|batch| values(&batch.unwrap())));
        Ok(())
    };
    let manifest = session.export_segments(&id, &mut each, &Control::default()).unwrap();
    let names: Vec<_> = manifest.columns.iter().map(|column| column.name.clone()).collect();
    assert_eq!(names, expected.0);
    found.sort_by_key(|(t, _)| *t);
    assert_eq!(found, expected.1);
}

#[test]
fn a_column_keeps_its_number_and_no_other_one_gets_it() {
    let (_store, session) = opened(&Arc::new(MemoryDisk::new()));
    let id = create(&session);
    let numbers = || session.column_numbers(&id).unwrap();
    assert_eq!(numbers(), [0, 1, 2]);
    rename(&session, &id, &[("w", "v"), ("v", "w")]);
    assert_eq!((numbers(), all(&session, &id).0.join(" ")), (vec![0, 1, 2], "t w v".into()));
    drop_columns(&session, &id, &["w"]);
    add(&session, &id, &["w"]);
    assert_eq!((numbers(), all(&session, &id).0.join(" ")), (vec![0, 2, 3], "t v w".into()));
    let unknown = session.column_numbers(&"0123456789abcdef01234567".into()).unwrap_err();
    assert_eq!(unknown.kind(), stationdb::ErrorKind::NotFound);
}

#[test]
fn exports_by_ordinal_and_statistics_have_the_columns_of_the_table() {
    let (_store, session) = opened(&Arc::new(MemoryDisk::new()));
    let (id, expected) = grown(&session);
    let mut found = Vec::new();
    let mut each = |part: stationdb::tables::RowsPart<'_>| {
        let PartRows::Batch(batch) = part.rows else { panic!("a file with other columns") };
        let names: Vec<_> = batch.schema().fields().iter().map(|f| f.name().clone()).collect();
        assert_eq!(names, expected.0);
        found.extend(values(&batch));
        Ok(())
    };
    session.export_rows(&id, 0..u64::MAX, &mut each, &Control::default()).unwrap();
    assert_eq!(found, expected.1);
    let known = session.table_statistics(&id).unwrap();
    let nulls: Vec<_> = known.columns.iter().map(|column| column.null_count).collect();
    assert_eq!(nulls, [Some(0), Some(0), Some(153)]);
}

/// Maintenance rewrites a segment when a quarter of its columns is dropped.
#[test]
fn the_space_of_dropped_columns_is_given_back() {
    let disk = Arc::new(MemoryDisk::new());
    let (store, session) = opened(&disk);
    let id = create(&session);
    // Values that do not compress.
    append(&session, &id, 0..300_000, &[("v", 1.0 / 3.0), ("w", 1.0 / 7.0)]);
    let bytes = || -> u64 {
        let dir = format!("tables/{id}");
        let len = |name: &str| disk.open(&format!("{dir}/{name}"), Mode::Read).unwrap().len();
        disk.list(&dir).unwrap().iter().map(|file| len(&file.name).unwrap()).sum()
    };
    tidy(&store);
    let whole = bytes();
    add(&session, &id, &["x"]);
    tidy(&store);
    assert_eq!(bytes(), whole, "an added column rewrites nothing");
    drop_columns(&session, &id, &["v"]);
    tidy(&store);
    let less = bytes();
    println!("{whole} bytes, {less} without one of two columns");
    assert!(less * 100 < whole * 65, "{less} of {whole} bytes");
    is_whole(&store);
}

/// Segments without a column have no summary of it, and its nulls are no extremes.
#[test]
fn a_decimation_finds_the_extremes_of_a_column_that_was_added_later() {
    let (store, session) = opened(&Arc::new(MemoryDisk::new()));
    let id = create(&session);
    append(&session, &id, 0..3_000, &[("v", 1.0), ("w", 1.0)]);
    tidy(&store);
    add(&session, &id, &["x"]);
    append(&session, &id, 3_000..6_000, &[("v", 1.0), ("x", -1.0)]);
    for is_tidy in [false, true] {
        if is_tidy {
            tidy(&store);
        }
        let kept = |method: DecimationMethod| {
            let options = DecimationOptions::default().y_columns(["x"]).intervals(4).method(method);
            let request = QueryDecimatedDataRequest::new().columns(["t"]).decimation(options);
            let answer = session.query_decimated_data(&id, request).unwrap();
            int64_values(&answer.frame.batches[0], 0).to_vec()
        };
        assert_eq!(kept(DecimationMethod::MaxMin), [3_000, 4_499, 4_500, 5_999]);
        let ends = [0, 1_499, 1_500, 2_999, 3_000, 4_499, 4_500, 5_999];
        assert_eq!(kept(DecimationMethod::EntryExit), ends);
    }
}
