//! Rows that are deleted: from the buffer, from segments, whole segments, beside appends in one
//! transaction, by a retention, and the rewriting of what is left.

use crate::prelude::*;
use std::ops::Range;

use stationdb::tables::{
    ColumnFilter, DeleteRowsRequest, FilterOperation, ListDeletedRowsRequest, SetRetentionRequest,
};

use crate::each_barrier_is_found;
use crate::tables::{append, create, id_of};

/// Deletions by calls alone, or by a retention as well. A store whose disk fails may have set a
/// retention and not carry it out, so failing operations are tried without one.
struct Deletions {
    is_retained: bool,
}

const CALLED: Deletions = Deletions { is_retained: false };
const RETAINED: Deletions = Deletions { is_retained: true };

fn append_to(store: &Store, rows: Range<i64>, end: bool) -> Result<(), Error> {
    append(&ada(store), &id_of(store, "a")?, rows, end)
}

fn between(rows: Range<i64>) -> DeleteRowsRequest {
    DeleteRowsRequest::new().index_from(rows.start.to_string()).index_before(rows.end.to_string())
}

fn delete(store: &Store, rows: Range<i64>) -> Result<(), Error> {
    ada(store).delete_rows(&id_of(store, "a")?.as_str().into(), between(rows)).map(drop)
}

impl Steps for Deletions {
    fn options(&self) -> StoreOptions {
        options().seal_rows(12).clock(ManualClock::new(Default::default()))
    }

    fn steps(&self) -> Vec<Step> {
        let maintain: Step = (MAINTAIN, |store| store.maintain(&Control::default()).map(|_| ()));
        let mut steps: Vec<Step> = vec![
            ("a table with rows", |store| {
                ada(store).transaction(|tx| {
                    let a = create(tx, "a")?;
                    append(tx, &a, 0..6, false)
                })
            }),
            ("rows of the buffer go", |store| delete(store, 2..4)),
            ("a segment", |store| append_to(store, 20..40, false)),
            ("one that overlaps it", |store| append_to(store, 30..50, false)),
            ("few rows of segments go", |store| delete(store, 31..33)),
            ("many rows of segments go", |store| delete(store, 20..31)),
            maintain,
            (REOPEN, |_| Ok(())),
            ("new rows have new ordinals", |store| append_to(store, 50..55, false)),
            ("rows come and go together", |store| {
                let id = id_of(store, "a")?;
                ada(store).transaction(|tx| {
                    append(tx, &id, 60..70, false)?;
                    tx.delete_rows(&id.as_str().into(), between(45..62)).map(drop)
                })
            }),
            ("rows with a text go", |store| {
                let seven = ColumnFilter::new("s", FilterOperation::Contains).value("7");
                let request = DeleteRowsRequest::new().filters([seven]);
                ada(store).delete_rows(&id_of(store, "a")?.as_str().into(), request).map(drop)
            }),
            maintain,
            ("the end of data", |store| append_to(store, 70..75, true)),
            ("all rows go", |store| delete(store, -100..1000)),
            maintain,
        ];
        if self.is_retained {
            let end = steps.iter().position(|(name, _)| *name == "the end of data").unwrap();
            let set: Step = ("a bound of the rows", |store| {
                let id = id_of(store, "a")?;
                let twenty = SetRetentionRequest::new().rows_max(20).append_age_seconds(1_000);
                ada(store).set_retention(&id.as_str().into(), twenty).map(drop)
            });
            // The rows go by the retention in every run, before a caller deletes the others: an
            // observation tells the cause.
            steps.insert(end + 1, maintain);
            steps.splice(end..end, [set, maintain]);
        }
        steps
    }

    fn observe(&self, store: &Store) -> Result<Observation, Error> {
        // Between a new retention, or an append, and the pass that carries the retention out, the
        // table has more rows than before and after the step.
        if self.is_retained {
            store.maintain(&Control::default())?;
        }
        let mut seen = Tables.observe(store)?;
        for table in ada(store).list_tables(ListTablesRequest::default())?.tables {
            let Some(id) = table.id else { continue };
            let deleted = ada(store).list_deleted_rows(&id, ListDeletedRowsRequest::new())?;
            seen.insert("deleted".to_owned(), format!("{deleted:?}"));
            let retention = ada(store).get_retention(&id).ok();
            seen.insert("retention".to_owned(), format!("{retention:?}"));
        }
        Ok(seen)
    }
}

#[test]
fn every_change_of_deleting_rows_can_be_the_last() {
    must_hold_with("deletions of rows", &Sequence::new(RETAINED), "crash_draws_long");
}

#[test]
fn the_nth_operation_of_deleting_rows_fails() {
    errors::operations_fail("deletions of rows", &Sequence::new(CALLED), 40);
}

#[test]
fn one_wrong_bit_under_deleted_rows_is_never_a_wrong_answer() {
    flips::one_bit_is_wrong("deletions of rows", &Sequence::new(CALLED), 200);
}

#[test]
fn one_removed_barrier_of_deleting_rows_is_found() {
    each_barrier_is_found(&Sequence::new(RETAINED));
}
