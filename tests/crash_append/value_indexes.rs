//! Indexes of the values of columns: written with segments, made later, kept over merges and
//! deletions, and left out again.

use crate::prelude::*;
use std::ops::Range;

use stationdb::tables::{
    ColumnFilter, ColumnMetadataPatch, DeleteRowsRequest, FilterOperation, ModifyTableRequest,
    QueryTableDataRequest,
};

use crate::each_barrier_is_found;
use crate::tables::id_of;

struct ValueIndexes;

fn create(store: &Store) -> Result<(), Error> {
    let columns = vec![
        Column::new("t", DataType::Int64).column_type(ColumnType::Index),
        Column::new("s", DataType::String).indexed(true),
        Column::new("k", DataType::Int32).column_type(ColumnType::Nullable),
        Column::new("v", DataType::Float64),
    ];
    let request = stationdb::tables::CreateTableRequest::new(columns).name("a");
    ada(store).create_table(request).map(drop)
}

fn put(store: &Store, rows: Range<i64>) -> Result<(), Error> {
    let row = |t: i64| {
        let k = (t % 4 != 0).then(|| (t % 9).to_string());
        vec![Some(t.to_string()), Some(format!("SN-{}", t % 17)), k, Some("0.5".to_owned())]
    };
    let frame = DataFrame::new().data(rows.map(row));
    let id = id_of(store, "a")?;
    ada(store).append_table_data(&id.into(), AppendTableDataRequest::new().frame(frame))
}

fn index(store: &Store, column: &str, indexed: bool) -> Result<(), Error> {
    let patch = ColumnMetadataPatch::new(column).indexed(indexed);
    let id = id_of(store, "a")?;
    ada(store).modify_table(&id.into(), ModifyTableRequest::new().columns([patch]))
}

fn maintain(store: &Store) -> Result<(), Error> {
    store.maintain(&Control::default()).map(drop)
}

impl Steps for ValueIndexes {
    fn options(&self) -> StoreOptions {
        options().seal_rows(12).clock(ManualClock::new(Default::default()))
    }

    fn steps(&self) -> Vec<Step> {
        vec![
            ("a table", create),
            ("rows", |store| put(store, 0..6)),
            ("a segment", |store| put(store, 20..60)),
            ("a column is indexed later", |store| index(store, "k", true)),
            ("one that overlaps it", |store| put(store, 40..80)),
            (REOPEN, |_| Ok(())),
            ("one that follows", |store| put(store, 100..160)),
            (MAINTAIN, maintain),
            ("rows with a text go", |store| {
                let seven = ColumnFilter::new("s", FilterOperation::Equals).value("SN-7");
                let request = DeleteRowsRequest::new().filters([seven]);
                ada(store).delete_rows(&id_of(store, "a")?.into(), request).map(drop)
            }),
            ("an index goes", |store| index(store, "s", false)),
            ("rows without it", |store| put(store, 200..260)),
            (MAINTAIN, maintain),
            ("it comes again", |store| index(store, "s", true)),
            (MAINTAIN, maintain),
            (REOPEN, |_| Ok(())),
            ("the last rows", |store| put(store, 260..263)),
        ]
    }

    fn observe(&self, store: &Store) -> Result<Observation, Error> {
        let mut seen = Tables.observe(store)?;
        for table in ada(store).list_tables(ListTablesRequest::default())?.tables {
            let columns: Vec<Option<bool>> =
                table.columns.into_iter().flatten().map(|column| column.indexed).collect();
            seen.insert("indexed".to_owned(), format!("{columns:?}"));
            let Some(id) = table.id else { continue };
            for (column, value) in [("s", "SN-3"), ("s", "SN-7"), ("k", "5"), ("k", "8")] {
                let filter = ColumnFilter::new(column, FilterOperation::Equals).value(value);
                let request = QueryTableDataRequest::new().filters([filter]);
                let rows = ada(store).query_table_data(&id, request)?.frame.to_data_frame().data;
                seen.insert(format!("{column} = {value}"), format!("{rows:?}"));
            }
        }
        Ok(seen)
    }
}

/// The scenario is about indexes that conditions use.
#[test]
fn conditions_use_the_indexes_of_the_scenario() {
    let disk = SimDisk::new(first_seed());
    let history = History::new(disk.clone());
    Sequence::new(ValueIndexes).run(&history).unwrap();
    let store = ValueIndexes.options().open_disk(Arc::new(disk)).unwrap();
    let id = id_of(&store, "a").unwrap();
    let explain = |column: &str, value: &str| {
        let filter = ColumnFilter::new(column, FilterOperation::Equals).value(value);
        let request = QueryTableDataRequest::new().filters([filter]);
        ada(&store).explain_query_table_data(&id.as_str().into(), request).unwrap().touched
    };
    for (column, value) in [("s", "SN-3"), ("k", "5")] {
        let touched = explain(column, value);
        assert!(touched.row_groups_indexed > 0, "{column}: {touched:?}");
    }
}

#[test]
fn every_change_of_value_indexes_can_be_the_last() {
    must_hold_with("value indexes", &Sequence::new(ValueIndexes), "crash_draws_long");
}

#[test]
fn the_nth_operation_of_value_indexes_fails() {
    errors::operations_fail("value indexes", &Sequence::new(ValueIndexes), 40);
}

#[test]
fn one_wrong_bit_under_value_indexes_is_never_a_wrong_answer() {
    flips::one_bit_is_wrong("value indexes", &Sequence::new(ValueIndexes), 200);
}

#[test]
fn one_removed_barrier_of_value_indexes_is_found() {
    each_barrier_is_found(&Sequence::new(ValueIndexes));
}
