//! Rows of tables: appended, deleted and read by ordinals, and when their segments are merged.

use std::sync::Arc;

use super::TestEngine;
use crate::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use crate::columnar::SegmentMeta;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Resource;
use crate::model::tables::data::{ColumnType, DataType, column};
use crate::model::tables::store_table::STEPS;
use crate::model::tables::table::TableMetadata;
use crate::records::{Space, envelope};
use crate::session::tables::{
    Appender, Cause, OrdinalScan, PreparedRows, RowsPart, SORT_ROWS, TableState, add_segments,
    append_rows, delete_rows, delete_sealed, schema_of, settle_merges,
};
use crate::session::{Access, Draft, Session, What};
use crate::value::ranges::RangeSet;
use crate::value::{Control, limits};

/// A table with an index alone.
fn create(draft: &mut Draft<'_>) -> Result<TableMetadata> {
    let id = draft.new_key::<TableMetadata>()?.to_id(TableMetadata::KIND.id);
    let columns = Some(vec![column("t", DataType::Int64, ColumnType::Index)]);
    let table = TableMetadata { id: Some(id.as_str().into()), columns, ..TableMetadata::default() };
    draft.put(&table, What::Created)?;
    Ok(table)
}

fn indexes(values: std::ops::Range<i64>) -> RecordBatch {
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
    RecordBatch::try_from_iter([("t", values)]).unwrap()
}

/// The ordinals of the rows of a table.
fn ordinals(session: &Session, id: &str) -> Vec<u64> {
    let table = || session.read(|view| view.get::<TableMetadata>(id)).unwrap().unwrap();
    let scan = session.read(|view| OrdinalScan::open(view, &table())).unwrap();
    let mut found = Vec::new();
    let mut each = |part: RowsPart<'_>| {
        found.extend(part.first_ordinal..part.first_ordinal + part.row_count);
        Ok(())
    };
    let count = scan.pass(&(0..u64::MAX), &mut each, &Control::default()).unwrap();
    assert_eq!((count, table().row_count), (found.len() as u64, Some(found.len() as i64)));
    found
}

/// One plan appends to two tables, and another one deletes rows of both.
#[test]
fn rows_come_and_go_with_other_changes_of_a_plan() {
    let session = TestEngine::new().session("ada");
    let ids = session
        .write(|draft| {
            let mut ids = Vec::new();
            for rows in [0..4, 4..10] {
                let table = create(draft)?;
                let schema = schema_of(&table)?;
                let rows = PreparedRows::encoded(&schema, &[indexes(rows)])?;
                ids.push(table.id().to_owned());
                assert!(!append_rows(draft, table, rows, false)?, "few rows are not sealed");
            }
            Ok(ids)
        })
        .unwrap();
    assert_eq!(ordinals(&session, &ids[0]), [0, 1, 2, 3]);
    let delete = |fails: bool| {
        let ids = ids.clone();
        session.write(move |draft| {
            for id in &ids {
                let table = draft.get_state::<TableMetadata>(id)?.unwrap();
                delete_rows(draft, table, &RangeSet::of_range(1..4), Cause::Caller)?;
            }
            if fails { Err(Error::conflict("as a whole")) } else { Ok(()) }
        })
    };
    delete(true).unwrap_err();
    assert_eq!(ordinals(&session, &ids[1]).len(), 6);
    delete(false).unwrap();
    assert_eq!(ordinals(&session, &ids[0]), [0]);
    assert_eq!(ordinals(&session, &ids[1]), [0, 4, 5]);
}

/// Many rows go into segments beside the buffer, and a caller that fails leaves none.
#[test]
fn an_appender_stages_rows_for_the_plan_that_commits_them() {
    let session = TestEngine::new().session("ada");
    let table = session.write(create).unwrap();
    let (id, schema) = (table.id().to_owned(), schema_of(&table).unwrap());
    let append = |rows: std::ops::Range<i64>, fails: bool| {
        let mut appender = Appender::to(&session, &table, schema.clone()).unwrap();
        appender.push(indexes(rows)).unwrap();
        let id = id.clone();
        appender.finish().unwrap().commit(false, move |draft| {
            let table = draft.get_state::<TableMetadata>(&id)?;
            table.filter(|_| !fails).ok_or_else(|| Error::conflict("as a whole"))
        })
    };
    let many = SORT_ROWS as i64;
    append(0..3, false).unwrap();
    append(3..3 + many, true).unwrap_err();
    append(3..3 + many, false).unwrap();
    let found = ordinals(&session, &id);
    assert_eq!((found.first(), found.last()), (Some(&0), Some(&(many as u64 + 2))));
    let prefix = table.key().unwrap();
    let segments = session.read(|view| view.raw_prefix(Space::Segments, prefix.as_bytes()));
    assert_eq!(segments.unwrap().len(), 1);
}

#[test]
fn segments_that_came_after_the_last_merge_stay_due() {
    let session = TestEngine::new().session("ada");
    let key = session.write(|draft| draft.new_key::<TableMetadata>()).unwrap();
    let id = key.to_id(TableMetadata::KIND.id);
    let columns = Some(vec![column("t", DataType::Int64, ColumnType::Index)]);
    let table = TableMetadata { id: Some(id.as_str().into()), columns, ..TableMetadata::default() };
    session.write(move |draft| draft.put(&table, What::Created)).unwrap();
    let is_due = || {
        let bytes =
            session.read(|view| view.raw(Space::TableState, key.as_bytes())).unwrap().unwrap();
        envelope::from_row::<TableState>(key.as_bytes(), &bytes).unwrap().merge_due
    };
    let add = |from: u64, range: std::ops::Range<i64>| {
        let id = id.clone();
        session
            .write(move |draft| {
                let table = draft.get::<TableMetadata>(&id)?.unwrap();
                let meta = SegmentMeta {
                    id: from,
                    row_count: 10,
                    min_index: range.start,
                    max_index: range.end,
                    ..SegmentMeta::default()
                };
                add_segments(draft, &table, vec![meta])
            })
            .unwrap();
    };
    add(1, 0..10);
    assert!(is_due());
    settle_merges(&session, key).unwrap();
    assert!(!is_due());
    add(2, 5..20);
    // Between the last look of a pass at the segments and its last commit.
    settle_merges(&session, key).unwrap();
    assert!(is_due());
}

/// A caller of steps does not know the table that they lie in.
#[test]
fn too_many_changed_steps_wait_for_the_maintenance() {
    let session = TestEngine::new().session("ada");
    let apart =
        |count: usize| RangeSet::new((0..count as u64).map(|at| 2 * at..2 * at + 1).collect());
    let delete = |count: usize| {
        let gone = apart(count);
        session.write(move |draft| delete_sealed(draft, &STEPS, &gone))
    };
    limits::holds_at(limits::DELETED_RANGES, ErrorKind::LimitExceeded, delete);
    let error = delete(limits::DELETED_RANGES + 1).unwrap_err();
    assert!(error.to_string().contains("run the maintenance of the store"), "{error}");
    assert_eq!(error.resource(), None);
}
