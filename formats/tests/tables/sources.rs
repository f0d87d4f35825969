//! A source of rows may be wrong in every way: its import is refused, and nothing of it is left.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use stationdb::Progress;
use stationdb::arrow::array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray,
};
use stationdb::faults::Disk;

use super::column;
use crate::prelude::*;

/// What a source does when it is asked for its batch with this number.
type Batch = dyn FnMut(usize, &TableSchema) -> Result<Option<RecordBatch>>;

/// A source of the columns `t` and `v`.
struct Own {
    columns: Vec<Column>,
    batch: Box<Batch>,
    asked: usize,
}

impl Own {
    fn new(
        batch: impl FnMut(usize, &TableSchema) -> Result<Option<RecordBatch>> + 'static,
    ) -> Self {
        let mut volts = column("v", DataType::Float64, ColumnType::Nullable);
        volts.properties.insert("unit".to_owned(), "V".to_owned());
        let columns = vec![column("t", DataType::Int64, ColumnType::Index), volts];
        Self { columns, batch: Box::new(batch), asked: 0 }
    }
}

impl RowSource for Own {
    fn columns(&mut self) -> Result<Vec<Column>> {
        Ok(self.columns.clone())
    }

    fn next_batch(&mut self, schema: &TableSchema, _: &Control) -> Result<Option<RecordBatch>> {
        self.asked += 1;
        (self.batch)(self.asked - 1, schema)
    }

    fn row_count(&self) -> Option<u64> {
        Some(40_000)
    }

    fn name(&self) -> Option<String> {
        Some("ramp".to_owned())
    }

    fn properties(&self) -> BTreeMap<String, String> {
        [("device", "dmm"), ("range", "10 V")].map(|(k, v)| (k.to_owned(), v.to_owned())).into()
    }

    fn note(&self, name: &str) -> ColumnNote {
        let is_volts = name == "v";
        let why = if is_volts { "channel 1" } else { "" };
        ColumnNote::new(why).unit(is_volts.then(|| "V".to_owned()))
    }

    fn warnings(&self) -> Vec<String> {
        vec!["sample 3 was clipped".to_owned()]
    }
}

fn rows(from: i64, count: i64) -> RecordBatch {
    let t: ArrayRef = Arc::new(Int64Array::from_iter_values(from..from + count));
    let v: ArrayRef = Arc::new(Float64Array::from_iter(
        (0..count).map(|at| (at % 4 != 0).then_some(at as f64 / 8.0)),
    ));
    RecordBatch::try_from_iter([("t", t), ("v", v)]).unwrap()
}

/// A store on a disk whose files can be listed.
fn store() -> (SharedDisk, Store, Session) {
    let disk: SharedDisk = Arc::new(MemoryDisk::default());
    let (store, session) =
        opened(Store::options().maintenance_thread(false).seed(Some(1)), disk.clone());
    (disk, store, session)
}

fn tables(session: &Session) -> usize {
    session.list_tables(ListTablesRequest::new()).unwrap().tables.len()
}

/// The files of segments.
fn segments(disk: &SharedDisk) -> Vec<String> {
    let mut out = Vec::new();
    for table in Disk::list(&**disk, "tables").unwrap_or_default() {
        let files = Disk::list(&**disk, &format!("tables/{}", table.name)).unwrap_or_default();
        out.extend(files.into_iter().map(|file| file.name));
    }
    out
}

#[test]
fn columns_properties_notes_and_progress_come_from_the_source() {
    let (_disk, _store, session) = store();
    let batches =
        |at: usize, _: &TableSchema| Ok((at < 40).then(|| rows(at as i64 * 1_000, 1_000)));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = seen.clone();
    let control = Control::default().with_progress(move |progress: Progress| {
        told.lock().unwrap().push((progress.done, progress.total));
    });
    let table = CreateTableRequest::new([]).properties([("range".to_owned(), "1 V".to_owned())]);
    let request = ImportTableRequest::new().table(table);
    let answer = session.import_rows(request, &mut Own::new(batches), &control).unwrap();
    assert_eq!((answer.row_count, answer.columns[1].null_count), (40_000, 10_000));
    assert_eq!(answer.columns[1].why, "channel 1");
    assert_eq!(answer.columns[1].unit.as_deref(), Some("V"));
    assert_eq!(answer.warnings, ["sample 3 was clipped"]);
    let seen = seen.lock().unwrap();
    assert_eq!(
        (seen.len(), seen[0], seen[39]),
        (40, (1_000, Some(40_000)), (40_000, Some(40_000)))
    );
    let id = answer.id.unwrap();
    let table = session.get_table_metadata(&id).unwrap();
    assert_eq!(table.name.as_deref(), Some("ramp"));
    assert_eq!(table.row_count, Some(40_000));
    let properties = table.properties.unwrap();
    assert_eq!((&*properties["device"], &*properties["range"]), ("dmm", "1 V"), "{properties:?}");
    assert_eq!(table.columns.unwrap()[1].properties["unit"], "V");
    // Into the same table: its properties stay, which is told.
    let again = ImportTableRequest::new().id(id.to_string());
    let batches = |at: usize, _: &TableSchema| Ok((at == 0).then(|| rows(0, 1)));
    let answer = session.import_rows(again, &mut Own::new(batches), &Control::default()).unwrap();
    let told = "the table has its own properties, so those of the source are not stored: \"range\" \
                is \"10 V\", and \"1 V\" in the table";
    assert_eq!(answer.warnings[1..], [told]);
}

#[test]
fn units_that_are_not_those_of_the_table_are_told() {
    let (_disk, _store, session) = store();
    for (of_table, told) in [
        (Some("V"), None),
        (Some("mV"), Some("\"v\" has \"V\", and \"mV\" in the table")),
        (None, Some("\"v\" has \"V\", and no unit in the table")),
    ] {
        let mut columns = Own::new(|_, _| Ok(None)).columns;
        columns[1].properties.clear();
        columns[1].properties.extend(of_table.map(|unit| ("unit".to_owned(), unit.to_owned())));
        let id = session.create_table(CreateTableRequest::new(columns)).unwrap();
        let batches = |at: usize, _: &TableSchema| Ok((at == 0).then(|| rows(0, 5)));
        let request = ImportTableRequest::new().id(id.to_string());
        let mut source = Own::new(batches);
        let answer = session.import_rows(request, &mut source, &Control::default()).unwrap();
        let found = answer.warnings.iter().find(|warning| warning.contains("other units"));
        assert_eq!(found.is_some(), told.is_some(), "{of_table:?}: {:?}", answer.warnings);
        assert!(found.is_none_or(|warning| warning.ends_with(told.unwrap_or_default())));
    }
}

#[test]
fn an_import_of_rows_is_cancelled_between_batches() {
    let (disk, _store, session) = store();
    let control = Control::default();
    let inner = control.clone();
    let mut endless = Own::new(move |at, _| {
        if at == 30 {
            inner.cancel();
        }
        Ok(Some(rows(at as i64 * 100_000, 100_000)))
    });
    let error = session.import_rows(ImportTableRequest::new(), &mut endless, &control).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!((endless.asked, tables(&session)), (31, 0));
    assert_eq!(segments(&disk), [] as [String; 0]);
    // A source of empty batches never ends by itself, and is cancelled, too.
    let control = Control::default();
    let inner = control.clone();
    let mut empty = Own::new(move |at, _| {
        if at == 1_000 {
            inner.cancel();
        }
        Ok(Some(rows(0, 0)))
    });
    let error = session.import_rows(ImportTableRequest::new(), &mut empty, &control).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

/// The second batch is wrong, after a first one that is large enough for a segment.
#[test]
fn a_source_that_lies_is_refused_with_row_and_column() {
    let index = || Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef;
    let of = |columns: Vec<(&'static str, ArrayRef)>| RecordBatch::try_from_iter(columns).unwrap();
    let texts = Arc::new(StringArray::from(vec!["a", "b"])) as ArrayRef;
    let nulls = Arc::new(Int64Array::from(vec![Some(1), None])) as ArrayRef;
    let volts = Arc::new(Float64Array::from(vec![0.5, 1.0])) as ArrayRef;
    let lies = [
        (of(vec![("t", index()), ("w", volts.clone())]), "no column \"w\""),
        (of(vec![("t", index()), ("v", texts)]), "Arrow type Utf8"),
        (of(vec![("t", nulls)]), "not NULLABLE"),
        (of(vec![("v", volts)]), "no column \"t\""),
    ];
    for (lie, part) in lies {
        let (disk, _store, session) = store();
        let mut source =
            Own::new(move |at, _| Ok(Some(if at < 20 { rows(0, 100_000) } else { lie.clone() })));
        let request = ImportTableRequest::new();
        let error = session.import_rows(request, &mut source, &Control::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{part}: {error}");
        assert!(error.message().contains(part), "{part}: {error}");
        assert_eq!((tables(&session), segments(&disk).len()), (0, 0), "{part}");
    }
}

/// A batch with the schema of the table itself is checked nevertheless.
#[test]
fn a_batch_with_the_schema_of_the_table_is_not_believed() {
    let (_disk, _store, session) = store();
    let mut source = Own::new(|_, schema| {
        let far: ArrayRef =
            Arc::new(TimestampMillisecondArray::from(vec![0, i64::MAX]).with_timezone("UTC"));
        Ok(Some(RecordBatch::try_new(schema.arrow().clone(), vec![far]).unwrap()))
    });
    source.columns = vec![column("t", DataType::Timestamp, ColumnType::Index)];
    let request = ImportTableRequest::new();
    let error = session.import_rows(request, &mut source, &Control::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert_eq!(error.place(), Some(&Place::Cell { row: 1, column: "t".to_owned() }), "{error}");
    assert_eq!(tables(&session), 0);
}

#[test]
fn columns_that_make_no_table_are_refused() {
    let (_disk, _store, session) = store();
    let index = || column("t", DataType::Int64, ColumnType::Index);
    for columns in
        [vec![], vec![index(), index()], vec![column("t", DataType::Int64, ColumnType::Normal)]]
    {
        let mut source = Own::new(|_, _| Ok(None));
        source.columns = columns;
        let request = ImportTableRequest::new();
        let error = session.import_rows(request, &mut source, &Control::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert_eq!(source.asked, 0);
    }
}

#[test]
fn an_error_of_a_source_is_the_error_of_its_import() {
    let (disk, _store, session) = store();
    let place = || Place::Line { line: 7, column: None };
    let mut source = Own::new(move |at, _| {
        if at < 20 {
            Ok(Some(rows(0, 100_000)))
        } else {
            Err(Error::invalid("damaged").at(place()))
        }
    });
    let request = ImportTableRequest::new();
    let error = session.import_rows(request, &mut source, &Control::default()).unwrap_err();
    assert_eq!((error.message(), error.place()), ("damaged", Some(&place())));
    assert_eq!((tables(&session), segments(&disk).len()), (0, 0));
}

/// The panic is the caller's own: it is not told as damage of the store, which goes on.
#[test]
fn a_panic_of_a_source_leaves_nothing_and_the_store_goes_on() {
    let (disk, _store, session) = store();
    let mut source = Own::new(|at, _| {
        assert!(at < 20, "the source is broken");
        Ok(Some(rows(0, 100_000)))
    });
    let import =
        || session.import_rows(ImportTableRequest::new(), &mut source, &Control::default());
    let panic = catch_unwind(AssertUnwindSafe(import)).unwrap_err();
    let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    assert!(text.contains("the source is broken"), "{text}");
    assert_eq!((tables(&session), segments(&disk).len()), (0, 0));
    let mut good = Own::new(|at, _| Ok((at == 0).then(|| rows(0, 3))));
    let answer = session.import_rows(ImportTableRequest::new(), &mut good, &Control::default());
    assert_eq!(answer.unwrap().row_count, 3);
}

#[test]
fn bounds_hold_for_sources_of_others() {
    use stationdb::faults::limits;
    let disk: SharedDisk = Arc::new(MemoryDisk::default());
    let options = Store::options().maintenance_thread(false).table_rows_max(1_000);
    let (_store, session) = opened(options, disk);
    let mut source = Own::new(|at, _| Ok(Some(rows(at as i64 * 100, 100))));
    let request = ImportTableRequest::new();
    let error = session.import_rows(request, &mut source, &Control::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    assert_eq!((source.asked, tables(&session)), (11, 0));
    // A batch has a bound of its own.
    let (_disk, _store, session) = store();
    let count = limits::IMPORT_BATCH_ROWS as i64 + 1;
    let mut source = Own::new(move |_, _| {
        let t: ArrayRef = Arc::new(Int64Array::from_iter_values(0..count));
        Ok(Some(RecordBatch::try_from_iter([("t", t)]).unwrap()))
    });
    let request = ImportTableRequest::new();
    let error = session.import_rows(request, &mut source, &Control::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    // So has a table.
    source = Own::new(|_, _| Ok(None));
    source.columns = (0..limits::TABLE_COLUMNS + 1)
        .map(|at| column(&format!("c{at}"), DataType::Int64, ColumnType::Nullable))
        .collect();
    source.columns[0].column_type = ColumnType::Index;
    let request = ImportTableRequest::new();
    let error = session.import_rows(request, &mut source, &Control::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
}

/// Several tables, of which one may fail.
struct Several {
    left: Vec<(ImportTableRequest, Own)>,
    at: Option<(ImportTableRequest, Own)>,
}

impl TableSource for Several {
    fn advance(&mut self, _: &Control) -> Result<bool> {
        self.at = (!self.left.is_empty()).then(|| self.left.remove(0));
        Ok(self.at.is_some())
    }

    fn table(&mut self) -> Result<SourceTable<'_>> {
        let (request, rows) = self.at.as_mut().unwrap();
        Ok(SourceTable::new(request.clone(), rows))
    }
}

#[test]
fn several_tables_are_one_commit() {
    let (disk, _store, session) = store();
    let good = |count: i64| Own::new(move |at, _| Ok((at == 0).then(|| rows(0, count))));
    let bad = || Own::new(|_, _| Err(Error::invalid("damaged")));
    let new = ImportTableRequest::new;
    // A small table, a large one with segments, and one that fails.
    let left = vec![(new(), good(3)), (new(), good(2_000_000)), (new(), bad())];
    let error =
        session.import_tables(&mut Several { left, at: None }, &Control::default()).unwrap_err();
    assert_eq!(error.message(), "damaged");
    assert_eq!((tables(&session), segments(&disk).len()), (0, 0));
    let left = vec![(new(), good(3)), (new(), good(2_000_000))];
    let answers =
        session.import_tables(&mut Several { left, at: None }, &Control::default()).unwrap();
    let counts: Vec<i64> = answers.iter().map(|answer| answer.row_count).collect();
    assert_eq!((counts, tables(&session)), (vec![3, 2_000_000], 2));
    // Several sources go to one table, in their order.
    let id = answers[0].id.clone().unwrap();
    let into = || new().id(id.to_string());
    let left = vec![(into(), good(2)), (new(), good(1)), (into(), good(5))];
    session.import_tables(&mut Several { left, at: None }, &Control::default()).unwrap();
    assert_eq!(session.get_table_metadata(&id).unwrap().row_count, Some(10));
    // None at all is no commit.
    let none = &mut Several { left: Vec::new(), at: None };
    assert_eq!(session.import_tables(none, &Control::default()).unwrap(), []);
}

/// Many small tables of one commit stay in bounded memory: from some bytes on, their rows go to
/// segments.
#[test]
fn tables_beyond_the_memory_of_one_append_go_to_segments() {
    let (disk, _store, session) = store();
    let good = || Own::new(|at, _| Ok((at == 0).then(|| rows(0, 500_000))));
    let left = (0..8).map(|_| (ImportTableRequest::new(), good())).collect();
    let answers =
        session.import_tables(&mut Several { left, at: None }, &Control::default()).unwrap();
    assert_eq!(answers.iter().map(|answer| answer.row_count).sum::<i64>(), 4_000_000);
    assert!(!segments(&disk).is_empty());
    for answer in &answers {
        let table = session.get_table_metadata(answer.id.as_ref().unwrap()).unwrap();
        assert_eq!(table.row_count, Some(500_000));
    }
}

#[test]
fn imports_of_sources_are_refused_in_transactions_and_by_name() {
    let (_disk, store, session) = store();
    let error = session
        .transaction(|tx| {
            let mut source = Own::new(|_, _| Ok(None));
            tx.import_rows(ImportTableRequest::new(), &mut source, &Control::default())
        })
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    let error = session.call("import_rows", "{}").unwrap_err();
    assert!(error.message().contains("a source of rows"), "{error}");
    assert!(session.call("import_csv", "{}").is_err());
    drop(store);
}
