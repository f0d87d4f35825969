//! Calls and caches within the budget of memory.

use crate::store::tests::prelude::*;

use crate::model::Column;
use crate::tables::{
    Aggregate, AggregateFunction, AggregateTableDataRequest, ColumnOrderBy, QueryTableDataRequest,
};

const ROWS: i64 = 20_000;

/// A store with a table of numbers, in its buffer.
fn numbers() -> (Store, Session, TableId) {
    let options = Store::options().maintenance_thread(false).memory_budget_bytes(1 << 30);
    let (store, session) = opened(options, Arc::new(MemoryDisk::new()));
    let index = Column {
        name: "t".into(),
        data_type: DataType::Int64,
        column_type: ColumnType::Index,
        ..Column::default()
    };
    let request = CreateTableRequest { columns: vec![index], ..Default::default() };
    let id = session.create_table(request).unwrap();
    // In several batches, because the buffer of one batch is not kept.
    for at in 0..4 {
        let rows = at * ROWS / 4..(at + 1) * ROWS / 4;
        let index = crate::arrow::array::Int64Array::from_iter_values(rows);
        let columns = [("t", Arc::new(index) as _)];
        let batch = crate::arrow::array::RecordBatch::try_from_iter(columns).unwrap();
        session.append_batches(&id, &mut std::iter::once(Ok(batch)), None).unwrap();
    }
    (store, session, id)
}

fn sorted(session: &Session, id: &TableId) -> Result<usize> {
    let request = QueryTableDataRequest::new()
        .order_by([ColumnOrderBy::new("t").descending(true)])
        .take(9_000);
    session.query_table_data(id, request).map(|page| page.frame.row_count())
}

fn median(session: &Session, id: &TableId) -> Result<usize> {
    let median = Aggregate::new(AggregateFunction::PercentileNearest).column("t").percentile(50.0);
    let request = AggregateTableDataRequest::new().aggregates([median]);
    session.aggregate_table_data(id, request).map(|answer| answer.groups.len())
}

#[test]
fn a_call_that_cannot_have_its_share_is_refused_with_the_figures() {
    let (store, session, id) = numbers();
    let memory = &store.engine().memory;
    assert_eq!(sorted(&session, &id).unwrap(), 9_000);
    assert_eq!(median(&session, &id).unwrap(), 1);
    let (used, peak) = memory.used_and_peak();
    assert!(used == 0 && peak >= 9_000 * 96, "{used} and {peak}");

    let mut others = memory.reservation();
    others.hold(usize::try_from(memory.room()).unwrap()).unwrap();
    for refused in [sorted(&session, &id), median(&session, &id)] {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        let figures = [
            format!("where calls have {0} bytes in use and {0} are left", memory.room()),
            "memory_budget_bytes is 1073741824".to_owned(),
            "page cache 67108864 (record_cache_bytes)".to_owned(),
        ];
        for figure in figures {
            assert!(error.message().contains(&figure), "{figure}: {error}");
        }
    }
    drop(others);
    assert_eq!(sorted(&session, &id).unwrap(), 9_000);
    assert_eq!(memory.used_and_peak().0, 0);
}

#[test]
fn caches_of_tables_give_back_what_calls_need() {
    let (store, session, id) = numbers();
    let engine = store.engine();
    sorted(&session, &id).unwrap();
    assert!(engine.tables.cached_bytes() > 0);
    let beside = usize::try_from(engine.memory.room() - engine.memory.cache_bytes()).unwrap();
    let mut others = engine.memory.reservation();
    others.hold(beside / (1 << 20) * (1 << 20)).unwrap();
    assert!(engine.tables.cached_bytes() > 0);
    others.hold(beside + 1).unwrap();
    assert_eq!(engine.tables.cached_bytes(), 0);
    // Calls have what the caches gave, and the caches stay empty.
    assert_eq!(sorted(&session, &id).unwrap(), 9_000);
    assert_eq!(engine.tables.cached_bytes(), 0);
    drop(others);
    sorted(&session, &id).unwrap();
    assert!(engine.tables.cached_bytes() > 0);
}
