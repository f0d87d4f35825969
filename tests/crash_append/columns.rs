//! Columns that come and go beside appends, seals and merges.

use crate::prelude::*;
use std::ops::Range;

use stationdb::tables::{
    AddColumnsRequest, ColumnRename, DropColumnsRequest, RenameColumnsRequest,
};

use crate::each_barrier_is_found;
use crate::tables::{append, create, id_of};

struct Columns;

fn add(tables: &dyn TableService, id: &str, names: &[&str]) -> Result<(), Error> {
    let new = |name: &&str| Column::new(*name, DataType::Float64).column_type(ColumnType::Nullable);
    tables
        .add_columns(&id.into(), AddColumnsRequest::new(names.iter().map(new).collect::<Vec<_>>()))
}

fn rename(tables: &dyn TableService, id: &str, pairs: &[(&str, &str)]) -> Result<(), Error> {
    let pairs: Vec<_> = pairs.iter().map(|(from, to)| ColumnRename::new(*from, *to)).collect();
    tables.rename_columns(&id.into(), RenameColumnsRequest::new(pairs))
}

fn drop_column(tables: &dyn TableService, id: &str, name: &str) -> Result<(), Error> {
    tables.drop_columns(&id.into(), DropColumnsRequest::new([name.to_owned()]))
}

/// Rows with a number in each of these columns, the index first.
fn put(
    tables: &dyn TableService,
    id: &str,
    rows: Range<i64>,
    columns: &[&str],
) -> Result<(), Error> {
    let cell = |t: i64, place: usize| Some((t * (place as i64 + 1)).to_string());
    let row = |t: i64| -> Vec<_> { (0..columns.len()).map(|place| cell(t, place)).collect() };
    let columns = Some(columns.iter().map(|name| (*name).to_owned()).collect());
    let frame = DataFrame::new().data(rows.map(row)).maybe_columns(columns);
    tables.append_table_data(&id.into(), AppendTableDataRequest::new().frame(frame))
}

impl Steps for Columns {
    fn options(&self) -> StoreOptions {
        options().seal_rows(12).clock(ManualClock::new(Default::default()))
    }

    fn steps(&self) -> Vec<Step> {
        fn id(store: &Store) -> Result<String, Error> {
            id_of(store, "a")
        }
        vec![
            ("a table with rows", |store| {
                ada(store).transaction(|tx| {
                    let a = create(tx, "a")?;
                    append(tx, &a, 0..6, false)
                })
            }),
            ("columns come", |store| add(&ada(store), &id(store)?, &["x", "y"])),
            ("rows have them", |store| put(&ada(store), &id(store)?, 6..9, &["t", "v", "s", "x"])),
            ("a segment", |store| put(&ada(store), &id(store)?, 20..40, &["t", "v", "y"])),
            ("names change", |store| {
                rename(&ada(store), &id(store)?, &[("x", "y"), ("y", "x"), ("s", "u")])
            }),
            (REOPEN, |_| Ok(())),
            ("one that overlaps it", |store| {
                put(&ada(store), &id(store)?, 30..50, &["t", "v", "y", "x"])
            }),
            ("rows come and a column goes", |store| {
                let id = id(store)?;
                ada(store).transaction(|tx| {
                    put(tx, &id, 60..64, &["t", "v", "x"])?;
                    drop_column(tx, &id, "v")?;
                    put(tx, &id, 64..66, &["t", "x", "u"])
                })
            }),
            ("its name comes again", |store| add(&ada(store), &id(store)?, &["v"])),
            ("rows have the new one", |store| put(&ada(store), &id(store)?, 66..68, &["t", "v"])),
            (MAINTAIN, |store| store.maintain(&Control::default()).map(|_| ())),
            (REOPEN, |_| Ok(())),
            ("more columns go", |store| {
                let id = id(store)?;
                drop_column(&ada(store), &id, "u")
            }),
            (MAINTAIN, |store| store.maintain(&Control::default()).map(|_| ())),
            ("the last rows", |store| put(&ada(store), &id(store)?, 70..73, &["t", "v"])),
        ]
    }

    fn observe(&self, store: &Store) -> Result<Observation, Error> {
        let mut seen = Tables.observe(store)?;
        for table in ada(store).list_tables(ListTablesRequest::default())?.tables {
            let columns: Vec<String> =
                table.columns.into_iter().flatten().map(|column| column.name).collect();
            seen.insert("columns".to_owned(), format!("{columns:?}"));
        }
        Ok(seen)
    }
}

#[test]
fn every_change_of_columns_can_be_the_last() {
    must_hold_with("changes of columns", &Sequence::new(Columns), "crash_draws_long");
}

#[test]
fn the_nth_operation_of_changing_columns_fails() {
    errors::operations_fail("changes of columns", &Sequence::new(Columns), 40);
}

#[test]
fn one_wrong_bit_under_changed_columns_is_never_a_wrong_answer() {
    flips::one_bit_is_wrong("changes of columns", &Sequence::new(Columns), 200);
}

#[test]
fn one_removed_barrier_of_changing_columns_is_found() {
    each_barrier_is_found(&Sequence::new(Columns));
}
