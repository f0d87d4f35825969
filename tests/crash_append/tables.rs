//! The append path: buffered batches, sealed segments, merges, closed and deleted tables, and rows
//! in one transaction with a work item and a file.

use crate::prelude::*;
use std::ops::Range;

use stationdb::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use stationdb::tables::readers::ROW_NUMBER;
use stationdb::tables::{CreateTableRequest, GetTableDataRequest, ImportTableRequest};

use crate::each_barrier_is_found;
use crate::rows::Rows;
use crate::station::create as create_work_items;

pub struct Tables;

pub fn create(tables: &dyn TableService, name: &str) -> Result<String, Error> {
    let column = |name: &str, data_type, column_type| {
        Column::new(name.to_owned(), data_type).column_type(column_type)
    };
    let columns = vec![
        column("t", DataType::Int64, ColumnType::Index),
        column("v", DataType::Float64, ColumnType::Normal),
        column("s", DataType::String, ColumnType::Nullable),
    ];
    let request = CreateTableRequest::new(columns).name(name.to_owned());
    tables.create_table(request).map(|id| id.to_string())
}

/// Rows whose values can be checked from their index.
fn row(at: i64) -> Vec<Option<String>> {
    vec![
        Some(at.to_string()),
        Some(format!("{}", at as f64 * 0.5)),
        (at % 3 != 0).then(|| format!("row {at}")),
    ]
}

pub fn append(
    tables: &dyn TableService,
    id: &str,
    rows: Range<i64>,
    end_of_data: bool,
) -> Result<(), Error> {
    let frame = (!rows.is_empty()).then(|| DataFrame::new().data(rows.map(row)));
    tables.append_table_data(
        &id.into(),
        AppendTableDataRequest::new()
            .maybe_frame(frame)
            .maybe_end_of_data(end_of_data.then_some(true)),
    )
}

pub fn id_of(store: &Store, name: &str) -> Result<String, Error> {
    let tables = ada(store).list_tables(ListTablesRequest::default())?.tables;
    let table = tables.into_iter().find(|table| table.name.as_deref() == Some(name));
    Ok(table.and_then(|table| table.id).map(|id| id.to_string()).unwrap_or_default())
}

pub fn read(store: &Store, id: &str) -> Result<Vec<Vec<Option<String>>>, Error> {
    let (mut rows, mut token) = (Vec::new(), None);
    loop {
        let request = GetTableDataRequest::new().take(200).maybe_continuation_token(token);
        let page = ada(store).get_table_data(&id.into(), request)?;
        rows.extend(page.frame.to_data_frame().data);
        token = page.continuation_token;
        if token.is_none() {
            return Ok(rows);
        }
    }
}

impl Steps for Tables {
    fn options(&self) -> StoreOptions {
        options().seal_rows(25).small_blob_bytes(1000).clock(ManualClock::new(Default::default()))
    }

    fn steps(&self) -> Vec<Step> {
        fn append_to(store: &Store, name: &str, rows: Range<i64>, end: bool) -> Result<(), Error> {
            append(&ada(store), &id_of(store, name)?, rows, end)
        }
        vec![
            ("two tables", |store| {
                ada(store)
                    .transaction(|tx| create(tx, "a").and_then(|_| create(tx, "b")).map(|_| ()))
            }),
            ("rows from 0", |store| append_to(store, "a", 0..10, false)),
            ("rows from 10", |store| append_to(store, "a", 10..20, false)),
            ("rows that seal", |store| append_to(store, "a", 20..30, false)),
            ("rows before the others", |store| append_to(store, "a", -10..0, false)),
            ("a segment at once", |store| append_to(store, "b", 0..120, false)),
            (REOPEN, |_| Ok(())),
            ("rows that seal again", |store| append_to(store, "a", 30..60, false)),
            ("rows, a work item and a file", |store| {
                let id = id_of(store, "a")?;
                ada(store).transaction(|tx| {
                    append(tx, &id, 60..70, false)?;
                    create_work_items(tx, &["measured"])?;
                    upload(tx, "picture", 5_000)
                })
            }),
            (MAINTAIN, |store| store.maintain(&Control::default()).map(|_| ())),
            ("the end of data", |store| append_to(store, "a", 70..75, true)),
            ("a table is deleted", |store| ada(store).delete_table(&id_of(store, "b")?.into())),
            (MAINTAIN, |store| store.maintain(&Control::default()).map(|_| ())),
        ]
    }

    fn observe(&self, store: &Store) -> Result<Observation, Error> {
        let mut seen = Observation::new();
        observe_files(store, &mut seen)?;
        let items = ada(store).query_work_items(Default::default())?.work_items;
        seen.insert("work items".to_owned(), items.len().to_string());
        for table in ada(store).list_tables(ListTablesRequest::default())?.tables {
            let (Some(id), Some(name)) = (table.id, table.name) else { continue };
            let text = format!(
                "{:?} rows, open {:?}: {:?}",
                table.row_count,
                table.supports_append,
                read(store, &id)?
            );
            seen.insert(format!("table {name}"), text);
        }
        Ok(seen)
    }
}

/// Two rows whose index has their numbers, which were not read in the order of their times.
fn numbered() -> Rows {
    let mut index = Column::new("row", DataType::Int64).column_type(ColumnType::Index);
    index.properties.insert(ROW_NUMBER.to_owned(), "true".to_owned());
    let column = |name, data_type| Column::new(name, data_type).column_type(ColumnType::Nullable);
    let columns = vec![index, column("t", DataType::Int64), column("v", DataType::Float64)];
    let arrays: [(_, ArrayRef); 3] = [
        ("row", Arc::new(Int64Array::from(vec![0, 1]))),
        ("t", Arc::new(Int64Array::from(vec![2, 1]))),
        ("v", Arc::new(Float64Array::from(vec![0.5, 0.25]))),
    ];
    let table = CreateTableRequest::new([]).name("imported");
    let request = ImportTableRequest::new().table(table);
    Rows::new(request, columns, vec![RecordBatch::try_from_iter(arrays).unwrap()])
}

/// Operations that move rows: overlapping segments are merged, tables are deleted, and rows are
/// imported.
struct Tidying;

impl Steps for Tidying {
    fn options(&self) -> StoreOptions {
        options().seal_rows(12).clock(ManualClock::new(Default::default()))
    }

    fn steps(&self) -> Vec<Step> {
        fn append_to(store: &Store, name: &str, rows: Range<i64>, end: bool) -> Result<(), Error> {
            append(&ada(store), &id_of(store, name)?, rows, end)
        }
        fn import(store: &Store, mut rows: Rows) -> Result<(), Error> {
            let request = rows.request.clone();
            ada(store).import_rows(request, &mut rows, &Control::default()).map(|_| ())
        }
        vec![
            ("two tables with rows", |store| {
                ada(store).transaction(|tx| {
                    let a = create(tx, "a")?;
                    append(tx, &a, 0..5, false)?;
                    create(tx, "b").and_then(|b| append(tx, &b, 0..5, false))
                })
            }),
            ("a segment", |store| append_to(store, "a", 20..40, false)),
            ("one that overlaps it", |store| append_to(store, "a", 10..30, false)),
            ("one of the other table", |store| append_to(store, "b", 5..30, false)),
            (MAINTAIN, |store| store.maintain(&Control::default()).map(|_| ())),
            ("one that overlaps the merged one", |store| append_to(store, "a", 0..15, false)),
            ("a new table out of a source", |store| import(store, numbered())),
            // A source that is faulty at its end creates no table.
            (MAINTAIN, |store| {
                let mut rows = numbered();
                rows.fault = Some(Error::invalid("the last line has too many values"));
                assert!(import(store, rows).is_err());
                Ok(())
            }),
            ("rows go on while another table goes", |store| {
                let (a, b) = (id_of(store, "a")?, id_of(store, "b")?);
                ada(store).transaction(|tx| {
                    append(tx, &a, 40..45, false)?;
                    tx.delete_table(&b.as_str().into())
                })
            }),
            (MAINTAIN, |store| store.maintain(&Control::default()).map(|_| ())),
            (REOPEN, |_| Ok(())),
            ("the end of data", |store| append_to(store, "a", 45..46, true)),
            ("a closed table is deleted", |store| {
                ada(store).delete_table(&id_of(store, "a")?.into())
            }),
            (MAINTAIN, |store| store.maintain(&Control::default()).map(|_| ())),
        ]
    }

    fn observe(&self, store: &Store) -> Result<Observation, Error> {
        Tables.observe(store)
    }
}

/// Appends of many threads, each to its own table, in shared commits.
struct GroupedAppends;

const THREADS: i64 = 4;
const EACH: i64 = 6;
const BATCH: i64 = 5;

impl Scenario for GroupedAppends {
    fn open(&self, disk: SimDisk) -> Result<Store, Error> {
        Tables.options().open_disk(Arc::new(disk))
    }

    fn run(&self, history: &History) -> Result<(), Error> {
        let store = self.open(history.disk.clone())?;
        let names = (0..THREADS).map(|thread| thread.to_string());
        let ids: Vec<String> =
            ada(&store).transaction(|tx| names.map(|name| create(tx, &name)).collect())?;
        // Long enough for the other threads to queue during each sync.
        history.disk.set_latency(OpKind::Sync, Duration::from_millis(2));
        let store = &store;
        let outcome = std::thread::scope(|scope| {
            let threads: Vec<_> = ids
                .iter()
                .zip(0..)
                .map(|(id, thread): (_, i64)| {
                    scope.spawn(move || {
                        (0..EACH).try_for_each(|batch| {
                            let rows = batch * BATCH..(batch + 1) * BATCH;
                            history.step(format!("{thread}/{batch}"), || {
                                append(&ada(store), id, rows, false)
                            })
                        })
                    })
                })
                .collect();
            threads.into_iter().try_for_each(|thread| thread.join().unwrap())
        });
        history.disk.set_latency(OpKind::Sync, Duration::ZERO);
        outcome
    }

    fn found(&self, store: &Store, _: &SimDisk) -> Result<BTreeSet<String>, Problem> {
        let mut found = BTreeSet::new();
        for table in
            ada(store).list_tables(ListTablesRequest::default()).map_err(Problem::Refused)?.tables
        {
            let (Some(id), Some(name)) = (table.id, table.name) else { continue };
            let rows = read(store, &id).map_err(Problem::Refused)?;
            let count = i64::try_from(rows.len()).unwrap();
            // Each thread waits for its answers, so its batches are a prefix, each complete.
            if count % BATCH != 0
                || rows != (0..count).map(row).collect::<Vec<_>>()
                || table.row_count != Some(count)
            {
                return Err(Problem::Wrong(format!(
                    "table {name} has {:?} rows: {rows:?}",
                    table.row_count
                )));
            }
            found.extend((0..count / BATCH).map(|batch| format!("{name}/{batch}")));
        }
        Ok(found)
    }

    fn go_on(&self, store: &Store) -> Result<(), Error> {
        let Ok(id) = id_of(store, "0") else { return Ok(()) };
        if id.is_empty() { Ok(()) } else { append(&ada(store), &id, 1000..1003, false) }
    }
}

#[test]
fn every_change_of_appending_can_be_the_last() {
    must_hold("appends", &Sequence::new(Tables));
}

#[test]
fn every_change_of_merging_and_deleting_can_be_the_last() {
    must_hold_with("merges and deletes", &Sequence::new(Tidying), "crash_draws_long");
}

#[test]
fn the_nth_operation_of_merging_and_deleting_fails() {
    errors::operations_fail("merges and deletes", &Sequence::new(Tidying), 40);
}

#[test]
fn every_change_of_grouped_appends_can_be_the_last() {
    must_hold("grouped appends", &GroupedAppends);
}

#[test]
fn the_nth_operation_of_appending_fails() {
    errors::operations_fail("appends", &Sequence::new(Tables), 6);
}

#[test]
fn a_disk_that_fills_up_under_tables_loses_nothing() {
    assert!(errors::fills_up("appends", &Sequence::new(Tables)) > 0);
}

#[test]
fn one_wrong_bit_under_tables_is_never_a_wrong_answer() {
    flips::one_bit_is_wrong("appends", &Sequence::new(Tables), 600);
}

#[test]
fn one_removed_barrier_of_appending_is_found() {
    each_barrier_is_found(&Sequence::new(Tables));
}
