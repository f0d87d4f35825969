//! Table maintenance: seals full buffers and merges segments.

use super::merge::{merge, mergeable, small_count};
use super::seal::seal;
use super::{TableState, set_merge_due};
use crate::columnar::SegmentMeta;
use crate::error::Result;
use crate::model::Resource;
use crate::model::tables::table::TableMetadata;
use crate::records::{Space, envelope};
use crate::session::access::{Access, Session};
use crate::value::{Control, RecordKey, guarded};

/// Seals the buffers that reached a threshold, and merges segments that overlap. Returns the number
/// of segments written.
pub(crate) fn maintain(session: &Session, control: &Control) -> Result<u64> {
    let settings = session.context().settings();
    let (seal_rows, seal_bytes) = (settings.seal_rows, settings.seal_bytes);
    let due: Vec<(RecordKey, bool)> = session.read(|view| {
        let mut due = Vec::new();
        for (key, bytes) in view.raw_prefix(Space::TableState, &[])? {
            let state: TableState = envelope::from_row(&key, &bytes)?;
            let seal_due = state.buffered_rows >= seal_rows || state.buffered_bytes >= seal_bytes;
            if let Some(key) = RecordKey::from_bytes(TableMetadata::KIND.id, &key)
                && (seal_due || state.merge_due)
            {
                due.push((key, seal_due));
            }
        }
        Ok(due)
    })?;
    let (mut written, mut failure) = (0, None);
    for (key, seal_due) in due {
        control.check()?;
        // A damaged table does not stop the maintenance of the others.
        match guarded("maintaining a table", || tidy(session, key, seal_due, control)) {
            Ok(segments) => written += segments,
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure.map_or(Ok(written), Err)
}

/// Seals and merges one table. Returns the number of segments written.
fn tidy(session: &Session, key: RecordKey, seal_due: bool, control: &Control) -> Result<u64> {
    let id = key.to_id(TableMetadata::KIND.id);
    let mut written = 0;
    if seal_due {
        written += seal(session, &id, control)?;
    }
    while merge(session, &id, control)? {
        written += 1;
    }
    settle(session, key)?;
    Ok(written)
}

/// Clears the `merge_due` flag of a table if nothing is left to merge. It checks that again inside
/// the commit: an append may have added segments since the last merge.
fn settle(session: &Session, key: RecordKey) -> Result<()> {
    session.write(move |draft| {
        // The state row of a table that was deleted meanwhile must not be written again.
        let Some(table) = draft.any_by_key::<TableMetadata>(key)? else { return Ok(()) };
        let entries = draft.raw_prefix(Space::Segments, key.as_bytes())?;
        let mut metas: Vec<SegmentMeta> =
            entries.iter().map(|(key, row)| envelope::from_row(key, row)).collect::<Result<_>>()?;
        metas.sort_by_key(|meta| meta.first_ordinal);
        match mergeable(&metas, small_count(&table)) {
            Some(_) => Ok(()),
            None => set_merge_due(draft, key, false),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::MemoryDisk;
    use crate::model::tables::data::{Column, ColumnType, DataType};
    use crate::model::tables::table::CreateTableRequest;
    use crate::session::Identity;
    use crate::session::tables::{add_segments, key_of};
    use crate::store::Store;
    use std::sync::Arc;

    #[test]
    fn segments_that_came_after_the_last_merge_stay_due() {
        let store = Store::options().maintenance_thread(false).open_on(Arc::new(MemoryDisk::default())).unwrap();
        let session = store.session(Identity::user("ada"));
        let index = Column {
            name: "t".into(),
            data_type: DataType::Int64,
            column_type: ColumnType::Index,
            ..Column::default()
        };
        let request = CreateTableRequest { columns: vec![index], ..Default::default() };
        let id = crate::tables::TableService::create_table(&session, request).unwrap();
        let key = key_of(&id).unwrap();
        let is_due = || {
            let bytes = session.read(|view| view.raw(Space::TableState, key.as_bytes())).unwrap().unwrap();
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
        settle(&session, key).unwrap();
        assert!(!is_due());
        add(2, 5..20);
        // As if they were added after a pass found nothing to merge, and before its last commit.
        settle(&session, key).unwrap();
        assert!(is_due());
    }

    #[test]
    fn a_damaged_table_keeps_no_other_from_being_merged() {
        let options = Store::options().maintenance_thread(false).seal_rows(1);
        let store = options.open_on(Arc::new(MemoryDisk::default())).unwrap();
        let session = store.session(Identity::user("ada"));
        let create = || {
            let index = Column {
                name: "t".into(),
                data_type: DataType::Int64,
                column_type: ColumnType::Index,
                ..Column::default()
            };
            let request = CreateTableRequest { columns: vec![index], ..Default::default() };
            crate::tables::TableService::create_table(&session, request).unwrap().to_string()
        };
        let [damaged, sound] = [create(), create()];
        session
            .write(move |draft| {
                let table = draft.get::<TableMetadata>(&damaged)?.unwrap();
                // Two segments that overlap, without files.
                let meta = |id| SegmentMeta { id, row_count: 10, min_index: 0, max_index: 9, ..SegmentMeta::default() };
                add_segments(draft, &table, vec![meta(900), meta(901)])
            })
            .unwrap();
        for _ in 0..2 {
            let index = arrow::array::Int64Array::from_iter_values(0..10);
            let batch = arrow::array::RecordBatch::try_from_iter([("t", Arc::new(index) as _)]).unwrap();
            crate::tables::TableService::append_batches(
                &session,
                &sound.as_str().into(),
                &mut std::iter::once(Ok(batch)),
                None,
            )
            .unwrap();
        }
        let key = key_of(&sound).unwrap();
        let segments = || session.read(|view| view.raw_prefix(Space::Segments, key.as_bytes())).unwrap().len();
        assert_eq!(segments(), 2);
        let error = store.maintain(&Control::default()).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Corrupt, "{error}");
        assert_eq!(segments(), 1);
    }
}
