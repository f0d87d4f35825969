//! Indexes of the values of columns: what they find, when they are made, and what damage does.

use crate::prelude::*;

use stationdb::arrow::array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
};

use super::{column, int64_values};

/// More rows than a row group has.
const ROWS: i64 = 300_000;

fn hash(n: i64) -> i64 {
    let mixed = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 40) as i64
}

fn serial(t: i64) -> String {
    format!("SN-{:04}", hash(t) % 1_000)
}

fn k(t: i64) -> Option<i32> {
    (t % 7 != 0).then(|| (hash(t + 1) % 64) as i32)
}

fn v(t: i64) -> f64 {
    (hash(t + 2) % 10_000) as f64 / 8.0
}

fn columns(indexed: bool) -> Vec<Column> {
    vec![
        column("t", DataType::Int64, ColumnType::Index),
        column("s", DataType::String, ColumnType::Normal).indexed(indexed),
        column("k", DataType::Int32, ColumnType::Nullable).indexed(indexed),
        column("v", DataType::Float64, ColumnType::Normal),
    ]
}

fn opened(disk: &Arc<MemoryDisk>) -> (Store, Session) {
    let options = Store::options().maintenance_thread(false).seal_rows(1_000);
    crate::prelude::opened(options, disk.clone())
}

fn create(session: &Session, indexed: bool) -> TableId {
    session.create_table(CreateTableRequest::new(columns(indexed))).unwrap()
}

fn append(session: &Session, id: &TableId, rows: std::ops::Range<i64>) {
    let of = |array: ArrayRef| array;
    let batch = RecordBatch::try_from_iter([
        ("t", of(Arc::new(Int64Array::from_iter_values(rows.clone())))),
        ("s", of(Arc::new(StringArray::from_iter_values(rows.clone().map(serial))))),
        ("k", of(Arc::new(rows.clone().map(k).collect::<Int32Array>()))),
        ("v", of(Arc::new(Float64Array::from_iter_values(rows.map(v))))),
    ]);
    session.append_batches(id, &mut std::iter::once(Ok(batch.unwrap())), None).unwrap();
}

/// Rows beyond a segment, which stay in the buffer.
fn append_few(session: &Session, id: &TableId, rows: std::ops::Range<i64>) {
    let text = |t: i64| {
        vec![
            Some(t.to_string()),
            Some(serial(t)),
            k(t).map(|k| k.to_string()),
            Some(v(t).to_string()),
        ]
    };
    let frame = DataFrame::new().data(rows.map(text));
    session.append_table_data(id, AppendTableDataRequest::new().frame(frame)).unwrap();
}

fn scanned(session: &Session, id: &TableId, filter: &str) -> Vec<i64> {
    let request = ScanRequest::new().filter(filter).columns(["t".to_owned()]);
    let stream = session.scan(id, request, &control()).unwrap();
    stream.flat_map(|batch| int64_values(&batch.unwrap(), 0).to_vec()).collect()
}

fn plan(session: &Session, id: &TableId, filter: &str) -> TablePlan {
    let request = QueryTableDataRequest::new().filter(filter);
    session.explain_query_table_data(id, request).unwrap()
}

/// Asks in every way for the rows that a filter selects.
fn check(session: &Session, id: &TableId, filter: &str, all: &[i64], passes: fn(i64) -> bool) {
    let expected: Vec<i64> = all.iter().copied().filter(|t| passes(*t)).collect();
    assert_eq!(scanned(session, id, filter), expected, "{filter}");
    let order = [ColumnOrderBy::new("v").descending(true)];
    let request = QueryTableDataRequest::new().filter(filter).take(20).order_by(order);
    let page = session.query_table_data(id, request).unwrap();
    assert_eq!(page.total_row_count, expected.len() as u64, "{filter}");
    let mut best = expected.clone();
    best.sort_by(|a, b| v(*b).total_cmp(&v(*a)).then(a.cmp(b)));
    let found = page.frame.to_data_frame().data;
    let found: Vec<i64> =
        found.iter().map(|row| row[0].as_ref().unwrap().parse().unwrap()).collect();
    assert_eq!(found, best[..best.len().min(20)], "{filter}");
    let sum = Aggregate::new(AggregateFunction::Sum).column("t");
    let request = AggregateTableDataRequest::new().aggregates([sum]).filter(filter);
    let answer = session.aggregate_table_data(id, request).unwrap();
    assert_eq!(answer.groups[0].rows, expected.len() as i64, "{filter}");
    let total = (!expected.is_empty()).then(|| expected.iter().sum::<i64>().to_string());
    assert_eq!(answer.groups[0].values[0].value, total, "{filter}");
    let extremes = DecimationOptions::new(DecimationMethod::MaxMin).y_columns(["v"]).intervals(1);
    let request = QueryDecimatedDataRequest::new().filter(filter).decimation(extremes);
    let frame = session.query_decimated_data(id, request).unwrap().frame.to_data_frame();
    let of = |row: &Vec<Option<String>>| row[3].as_ref().unwrap().parse::<f64>().unwrap();
    let found = frame.data.iter().map(of);
    assert_eq!(
        found.clone().reduce(f64::max).zip(found.reduce(f64::min)),
        best.first().map(|t| v(*t)).zip(best.last().map(|t| v(*t))),
        "{filter}"
    );
}

#[test]
fn conditions_find_rows_by_the_index_and_plans_tell_it() {
    let disk = Arc::new(MemoryDisk::new());
    let (store, session) = opened(&disk);
    let id = create(&session, true);
    append(&session, &id, 0..ROWS);
    append_few(&session, &id, ROWS..ROWS + 900);
    let mut all: Vec<i64> = (0..ROWS + 900).collect();
    // Row groups whose rows an index finds, and whether rows must be tested beside the buffer.
    let asks: [(&str, fn(i64) -> bool, u64, bool); 10] = [
        ("s == \"SN-0437\"", |t| serial(t) == "SN-0437", 2, false),
        ("k == 7", |t| k(t) == Some(7), 2, false),
        ("s in (\"SN-0001\", \"SN-0999\", \"none\")", |t| hash(t) % 1_000 % 998 == 1, 2, false),
        ("s.StartsWith(\"SN-01\")", |t| serial(t).starts_with("SN-01"), 2, false),
        ("s >= \"SN-0990\"", |t| hash(t) % 1_000 >= 990, 2, false),
        ("k > 10 && k <= 12", |t| k(t).is_some_and(|k| k > 10 && k <= 12), 2, false),
        ("k == 7 && s == \"SN-0437\"", |t| k(t) == Some(7) && serial(t) == "SN-0437", 2, false),
        ("s == \"SN-0437\" && v > 600", |t| serial(t) == "SN-0437" && v(t) > 600.0, 2, true),
        ("s == \"none\"", |_| false, 2, false),
        ("k != 7 && k < 60", |t| k(t).is_some_and(|k| k != 7 && k < 60), 0, true),
    ];
    for is_deleted in [false, true] {
        if is_deleted {
            let filter = "s == \"SN-0437\" && k < 20 || t < 500";
            let gone = session.delete_rows(&id, DeleteRowsRequest::new().filter(filter)).unwrap();
            let is_gone =
                |t: &i64| (serial(*t) == "SN-0437" && k(*t).is_some_and(|k| k < 20)) || *t < 500;
            let before = all.len();
            all.retain(|t| !is_gone(t));
            assert_eq!(gone.row_count, (before - all.len()) as i64);
        }
        for (filter, passes, groups, is_tested) in &asks {
            let plan = plan(&session, &id, filter);
            let touched = plan.touched;
            assert_eq!((touched.row_groups, touched.row_groups_indexed), (2, *groups), "{filter}");
            assert_eq!(touched.rows_touched > 900, *is_tested, "{filter}: {touched:?}");
            assert_eq!(plan.to_string().contains("by an index of values"), *groups > 0, "{plan}");
            check(&session, &id, filter, &all, *passes);
        }
    }
    // A backup has the indexes.
    let copy = Arc::new(MemoryDisk::new());
    let shared: SharedDisk = copy.clone();
    store.backup_disk(&shared, &control()).unwrap();
    let (_store, session) = opened(&copy);
    for (filter, passes, groups, _) in &asks {
        assert_eq!(plan(&session, &id, filter).touched.row_groups_indexed, *groups, "{filter}");
        check(&session, &id, filter, &all, *passes);
    }
}

fn set(session: &Session, id: &TableId, column: &str, indexed: bool) -> Result<()> {
    let patch = ColumnMetadataPatch::new(column).indexed(indexed);
    session.modify_table(id, ModifyTableRequest::new().columns([patch]))
}

#[test]
fn maintenance_makes_an_index_that_is_wanted_later() {
    let disk = Arc::new(MemoryDisk::new());
    let (store, session) = opened(&disk);
    let id = create(&session, false);
    append(&session, &id, 0..5_000);
    let all: Vec<i64> = (0..5_000).collect();
    let ask = "s == \"SN-0437\"";
    let groups = |session: &Session| plan(session, &id, ask).touched.row_groups_indexed;
    let is_indexed = || {
        let columns = session.get_table_metadata(&id).unwrap().columns.unwrap();
        columns.iter().map(|column| column.indexed).collect::<Vec<_>>()
    };
    assert_eq!((groups(&session), is_indexed()), (0, vec![None; 4]));
    store.maintain(&control()).unwrap();
    let before = disk.list(&format!("tables/{id}")).unwrap();
    set(&session, &id, "s", true).unwrap();
    assert_eq!((groups(&session), is_indexed()), (0, vec![None, Some(true), None, None]));
    check(&session, &id, ask, &all, |t| serial(t) == "SN-0437");
    store.maintain(&control()).unwrap();
    assert_eq!(groups(&session), 1);
    check(&session, &id, ask, &all, |t| serial(t) == "SN-0437");
    // What is settled is not written again.
    let settled = |before: &[_]| {
        store.maintain(&control()).unwrap();
        store.maintain(&control()).unwrap();
        let now = disk.list(&format!("tables/{id}")).unwrap();
        let names = |list: &[stationdb::faults::DirEntry]| {
            list.iter().map(|entry| entry.name.clone()).collect::<BTreeSet<_>>()
        };
        (names(before) == names(&now), now)
    };
    let (is_same, before) = settled(&before);
    assert!(!is_same);
    let (is_same, before) = settled(&before);
    assert!(is_same);
    // Rows that are written later have no index; those before keep theirs until they are merged.
    set(&session, &id, "s", false).unwrap();
    assert!(settled(&before).0);
    assert_eq!((groups(&session), is_indexed()), (1, vec![None; 4]));
    append(&session, &id, 2_000..7_000);
    assert_eq!((plan(&session, &id, ask).touched.row_groups, groups(&session)), (2, 1));
    store.maintain(&control()).unwrap();
    assert_eq!((plan(&session, &id, ask).touched.row_groups, groups(&session)), (1, 0));
}

#[test]
fn what_cannot_be_indexed_is_refused() {
    let disk = Arc::new(MemoryDisk::new());
    let (_store, session) = opened(&disk);
    let id = create(&session, false);
    let refused = |outcome: Result<()>, member: &str, why: &str| {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert_eq!(error.place(), Some(&Place::Member(member.into())), "{error}");
        assert!(error.to_string().contains(why), "{error}");
    };
    let why = "only columns of STRING, INT32, INT64 and times can be";
    for data_type in [DataType::Bool, DataType::Float32, DataType::Float64] {
        let wrong = column("x", data_type, ColumnType::Nullable).indexed(true);
        let mut all = columns(false);
        all.push(wrong.clone());
        let created = session.create_table(CreateTableRequest::new(all)).map(drop);
        refused(created, "columns[4].indexed", why);
        let added = session.add_columns(&id, AddColumnsRequest::new([wrong]));
        refused(added, "columns[0].indexed", why);
    }
    refused(set(&session, &id, "v", true), "columns[0].indexed", why);
    refused(set(&session, &id, "t", true), "columns[0].indexed", "it is the INDEX");
    // Asking for none is always possible.
    set(&session, &id, "v", false).unwrap();
    let later = column("moment", DataType::Timestamp, ColumnType::Nullable).indexed(true);
    session.add_columns(&id, AddColumnsRequest::new([later])).unwrap();
    let columns = session.get_table_metadata(&id).unwrap().columns.unwrap();
    assert_eq!(columns[4].indexed, Some(true));
    assert_eq!(write(&columns[3]).get("indexed"), None);
}

#[test]
fn damage_of_an_index_is_found_and_mended() {
    let disk = Arc::new(MemoryDisk::new());
    let (store, session) = opened(&disk);
    let id = create(&session, true);
    append(&session, &id, 0..ROWS);
    drop((session, store));
    let dir = format!("tables/{id}");
    let name = disk.list(&dir).unwrap().into_iter().find(|file| file.name.ends_with(".parquet"));
    let path = format!("{dir}/{}", name.unwrap().name);
    let file = disk.open(&path, Mode::ReadWrite).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    // The entry of the first block of keys in the directory.
    let entry = [&7u16.to_le_bytes()[..], b"SN-0000", &[0; 12]].concat();
    let at = bytes.windows(entry.len()).position(|window| window == entry).unwrap();
    file.write_all_at(&[bytes[at + 3] ^ 4], at as u64 + 3).unwrap();
    let (store, session) = opened(&disk);
    let request = ScanRequest::new().filter("s == \"SN-0437\"");
    let failed = session.scan(&id, request, &control()).unwrap().find_map(|batch| batch.err());
    let error = failed.expect("the damage is noticed");
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains(&path), "{error}");
    let report = store.verify(VerifyLevel::Checksums, &control()).unwrap();
    assert!(!report.findings.is_empty());
    drop((session, store));
    let target: SharedDisk = Arc::new(MemoryDisk::new());
    let from: SharedDisk = disk;
    Store::salvage_disk(&from, &target, &control()).unwrap();
    let options = Store::options().maintenance_thread(false);
    let (store, session) = crate::prelude::opened(options, target);
    assert_eq!(plan(&session, &id, "s == \"SN-0437\"").touched.row_groups_indexed, 2);
    let all: Vec<i64> = (0..ROWS).collect();
    check(&session, &id, "s == \"SN-0437\"", &all, |t| serial(t) == "SN-0437");
    let report = store.verify(VerifyLevel::Checksums, &control()).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}
