//! Segments of tables, and when they are merged.

use super::TestEngine;
use crate::columnar::SegmentMeta;
use crate::model::Resource;
use crate::model::tables::data::{ColumnType, DataType, column};
use crate::model::tables::table::TableMetadata;
use crate::records::{Space, envelope};
use crate::session::tables::{TableState, add_segments, settle_merges};
use crate::session::{Access, What};

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
        let id = id.to_string();
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
