//! Many tables, and one table with many columns. `STATIONDB_TABLES` sets the number of tables
//! (10,000 for the figures of a report).

#[path = "common/sizes.rs"]
mod sizes;

use std::time::Instant;

use stationdb::prelude::*;
use stationdb::tables::{
    AppendTableDataRequest, Column, ColumnType, CreateTableRequest, DataFrame, DataType,
    DecimationMethod, DecimationOptions, GetTableDataRequest, ListTablesRequest,
    QueryDecimatedDataRequest,
};
use stationdb::{Control, Identity, Store};

fn column(name: String, data_type: DataType, column_type: ColumnType) -> Column {
    Column::new(name, data_type).column_type(column_type)
}

/// Memory of this process in MiB without the page cache of files, if the system reports it.
fn resident_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib / 1024)
}

fn frame(rows: usize, columns: usize) -> DataFrame {
    let row =
        |at: usize| (0..columns).map(move |column| Some(((at * 31 + column) % 1000).to_string()));
    DataFrame::new().data(
        (0..rows)
            .map(|at| -> Vec<_> { std::iter::once(Some(at.to_string())).chain(row(at)).collect() }),
    )
}

#[test]
fn many_tables_open_fast_and_read_right() {
    let count = sizes::count("tables");
    let rows = if count >= 1000 { 1000 } else { 100 };
    let dir = tempfile::tempdir().unwrap();
    let options = || Store::options().maintenance_thread(false);
    let store = options().open(dir.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let start = Instant::now();
    let frame = frame(rows, 2);
    for first in (0..count).step_by(50) {
        session
            .transaction(|tx| {
                for at in first..count.min(first + 50) {
                    let columns = vec![
                        column("t".into(), DataType::Int64, ColumnType::Index),
                        column("a".into(), DataType::Float64, ColumnType::Normal),
                        column("b".into(), DataType::Int32, ColumnType::Nullable),
                    ];
                    let name = Some(format!("table {at:05}"));
                    let id = tx.create_table(CreateTableRequest::new(columns).maybe_name(name))?;
                    let request = AppendTableDataRequest::new().frame(frame.clone());
                    tx.append_table_data(&id, request)?;
                }
                Ok(())
            })
            .unwrap();
    }
    let tables = |session: &stationdb::Session| {
        let (mut all, mut token) = (Vec::new(), None);
        loop {
            let request = ListTablesRequest::new().maybe_continuation_token(token);
            let page = session.list_tables(request).unwrap();
            all.extend(page.tables);
            token = page.continuation_token;
            if token.is_none() {
                return all;
            }
        }
    };
    // Every second table is closed, so it has a segment.
    for table in tables(&session).iter().step_by(2) {
        let request = AppendTableDataRequest::new().end_of_data(true);
        session.append_table_data(table.id.as_ref().unwrap(), request).unwrap();
    }
    println!(
        "{count} tables of {rows} rows, half of them sealed: written in {:?}",
        start.elapsed()
    );
    drop((session, store));

    let before = resident_mib();
    let start = Instant::now();
    let store = options().open(dir.path()).unwrap();
    let opened = start.elapsed();
    let after_open = resident_mib();
    let session = store.session(Identity::user("ada"));
    let start = Instant::now();
    let all = tables(&session);
    let listed = start.elapsed();
    assert_eq!(all.len(), count);
    let start = Instant::now();
    for table in &all {
        let id = table.id.as_ref().unwrap();
        let page = session.get_table_data(id, GetTableDataRequest::new().take(3)).unwrap();
        assert_eq!((page.total_row_count, page.frame.row_count()), (rows as u64, 3));
    }
    println!(
        "{count} tables: opened in {opened:?}, listed in {listed:?}, a page of each read in {:?}; \
         memory before, after opening, after reading: {before:?}, {after_open:?}, {:?} MiB",
        start.elapsed(),
        resident_mib()
    );
    store.maintain(&Control::default()).unwrap();
}

#[test]
fn a_table_of_2500_columns_works() {
    const COLUMNS: usize = 2499;
    let dir = tempfile::tempdir().unwrap();
    let options = || Store::options().maintenance_thread(false).seal_rows(300);
    let store = options().open(dir.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let mut columns = vec![column("t".into(), DataType::Int64, ColumnType::Index)];
    columns.extend(
        (0..COLUMNS).map(|at| column(format!("c{at:04}"), DataType::Float32, ColumnType::Normal)),
    );
    let start = Instant::now();
    let id = session.create_table(CreateTableRequest::new(columns)).unwrap();
    let created = start.elapsed();
    let frame = frame(20, COLUMNS);
    let start = Instant::now();
    const APPENDS: u32 = 20;
    for _ in 0..APPENDS {
        let request = AppendTableDataRequest::new().frame(frame.clone());
        session.append_table_data(&id, request).unwrap();
    }
    let appended = start.elapsed() / APPENDS;
    drop((session, store));
    let start = Instant::now();
    let store = options().open(dir.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let opened = start.elapsed();
    let start = Instant::now();
    let request = GetTableDataRequest::new().columns(["t", "c0007", "c2498"]).take(10_000);
    let page = session.get_table_data(&id, request).unwrap();
    let read = start.elapsed();
    assert_eq!(page.total_row_count, 400);
    for row in page.frame.to_data_frame().data {
        let at: usize = row[0].as_deref().unwrap().parse().unwrap();
        assert_eq!(row[1], Some(((at * 31 + 7) % 1000).to_string()));
        assert_eq!(row[2], Some(((at * 31 + 2498) % 1000).to_string()));
    }
    let start = Instant::now();
    let decimation =
        DecimationOptions::new(DecimationMethod::MaxMin).intervals(4).y_columns(["c1000"]);
    let request = QueryDecimatedDataRequest::new().decimation(decimation);
    assert!(session.query_decimated_data(&id, request).unwrap().frame.row_count() <= 8);
    println!(
        "2,500 columns: created in {created:?}, 20 rows appended in {appended:?}, opened in {opened:?}, three columns of \
         400 rows read in {read:?}, decimated in {:?}; {:?} MiB",
        start.elapsed(),
        resident_mib()
    );
}
