//! What a pass of maintenance and a verification make of damaged tables.

use crate::store::tests::prelude::*;

use crate::model::{Column, Resource};
use crate::session::tables::add_segments;
use crate::value::RecordKey;

fn key_of(id: &str) -> RecordKey {
    RecordKey::parse(TableMetadata::KIND.id, id).unwrap()
}

/// A table with an index alone.
fn create_table(session: &Session) -> TableId {
    let index = Column {
        name: "t".into(),
        data_type: DataType::Int64,
        column_type: ColumnType::Index,
        ..Column::default()
    };
    let request = CreateTableRequest { columns: vec![index], ..Default::default() };
    crate::tables::TableService::create_table(session, request).unwrap()
}

#[test]
fn a_damaged_table_keeps_no_other_from_being_merged() {
    let options = Store::options().maintenance_thread(false).seal_rows(1);
    let (store, session) = opened(options, Arc::new(MemoryDisk::default()));
    let create = || create_table(&session).to_string();
    let [damaged, sound] = [create(), create()];
    session
        .write(move |draft| {
            let table = draft.get::<TableMetadata>(&damaged)?.unwrap();
            // Two that overlap, without files.
            let meta = |id| SegmentMeta {
                id,
                row_count: 10,
                ordinal_count: 10,
                min_index: 0,
                max_index: 9,
                ..SegmentMeta::default()
            };
            add_segments(draft, &table, vec![meta(900), meta(901)])
        })
        .unwrap();
    for _ in 0..2 {
        let index = crate::arrow::array::Int64Array::from_iter_values(0..10);
        let batch =
            crate::arrow::array::RecordBatch::try_from_iter([("t", Arc::new(index) as _)]).unwrap();
        crate::tables::TableService::append_batches(
            &session,
            &sound.as_str().into(),
            &mut std::iter::once(Ok(batch)),
            None,
        )
        .unwrap();
    }
    let key = key_of(&sound);
    let segments =
        || session.read(|view| view.raw_prefix(Space::Segments, key.as_bytes())).unwrap().len();
    assert_eq!(segments(), 2);
    let error = store.maintain(&Control::default()).unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::Corrupt, "{error}");
    assert_eq!(segments(), 1);
}

/// Rows about deleted rows that are whole by themselves and do not fit together.
#[test]
fn what_went_by_a_retention_and_is_not_deleted_is_found() {
    let (store, session) =
        opened(Store::options().maintenance_thread(false), Arc::new(MemoryDisk::default()));
    let id = create_table(&session);
    let put = |part: DeletedPart| {
        let key = [key_of(&id).as_bytes(), &0_u64.to_be_bytes()].concat();
        let row = envelope::to_row(&key, &part).unwrap();
        let written = session.write(move |draft| {
            draft.put_raw(Space::DeletedRows, key, row);
            Ok(())
        });
        written.unwrap();
        let report = store.verify(VerifyLevel::Headers, &Control::default()).unwrap();
        report.findings.into_iter().map(|found| found.problem).collect::<Vec<_>>()
    };
    assert!(put(DeletedPart { gaps_and_lengths: vec![2, 5], retention: vec![3, 4] }).is_empty());
    let problems = put(DeletedPart { gaps_and_lengths: vec![2, 5], retention: vec![3, 5] });
    assert!(problems.len() == 1 && problems[0].contains(id.as_str()), "{problems:?}");
    let list = crate::tables::ListDeletedRowsRequest::new();
    let refused = crate::tables::TableService::list_deleted_rows(&session, &id, list);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Corrupt);
}
