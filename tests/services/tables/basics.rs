//! The table service on a whole store: rules, durability, walks while others write.

use crate::prelude::*;

use stationdb::arrow::array::{Array, Int64Array, RecordBatch};

use super::{column, int64_values, ipc_stream};

fn store(disk: &SharedDisk) -> Store {
    Store::options().maintenance_thread(false).seal_rows(50).open_disk(disk.clone()).unwrap()
}

fn session(store: &Store) -> Session {
    store.session(Identity::user("ada"))
}

fn request() -> CreateTableRequest {
    CreateTableRequest::new([
        column("t", DataType::Int64, ColumnType::Index),
        column("v", DataType::Float64, ColumnType::Nullable),
        column("s", DataType::String, ColumnType::Nullable),
    ])
}

fn rows(range: std::ops::Range<i64>) -> AppendTableDataRequest {
    let data: Vec<_> = range
        .map(|i| vec![Some(i.to_string()), Some((i % 7).to_string()), Some(format!("r{i}"))])
        .collect();
    AppendTableDataRequest::new().frame(DataFrame::new().data(data))
}

fn walk(
    session: &Session,
    id: &str,
    take: i64,
    mut between: impl FnMut(usize),
) -> Result<Vec<String>> {
    let mut seen = Vec::new();
    let mut token = None;
    for page_number in 0.. {
        let page = session.get_table_data(
            &id.into(),
            GetTableDataRequest::new().take(take).maybe_continuation_token(token),
        )?;
        seen.extend(page.frame.to_data_frame().data.into_iter().filter_map(|row| row[2].clone()));
        token = page.continuation_token;
        if token.is_none() {
            break;
        }
        between(page_number);
    }
    Ok(seen)
}

#[test]
fn metadata_follows_its_rules_and_a_malformed_id_has_its_message() {
    let disk = disk();
    let store = store(&disk);
    let session = session(&store);
    let id = session.create_table(request()).unwrap();
    let table = session.get_table_metadata(&id).unwrap();
    assert_eq!(table.name.as_deref(), Some(id.as_str()));
    assert_eq!(
        (table.metadata_revision, table.row_count, table.supports_append),
        (Some(1), Some(0), Some(true))
    );
    assert_eq!(table.created_at, table.metadata_modified_at);
    let modify = |json: &str| {
        session.modify_table(&id, serde_json::from_str::<ModifyTableRequest>(json).unwrap())
    };
    modify(r#"{"metadataRevision":2,"name":"n","properties":{"a":"1","b":"2"}}"#).unwrap();
    assert_eq!(modify(r#"{"metadataRevision":2}"#).unwrap_err().kind(), ErrorKind::Conflict);
    modify(r#"{"properties":{"a":null},"columns":[{"name":"v","properties":{"unit":"V"}}],"test_result_id":"r"}"#)
        .unwrap();
    assert_eq!(
        modify(r#"{"columns":[{"name":"x","properties":{}}]}"#).unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    modify("{}").unwrap();
    let table = session.get_table_metadata(&id).unwrap();
    assert_eq!((table.name.as_deref(), table.metadata_revision), (Some("n"), Some(3)));
    assert_eq!(serde_json::to_value(&table.properties).unwrap(), serde_json::json!({"b": "2"}));
    assert_eq!(table.columns.unwrap()[1].properties["unit"], "V");
    session.modify_table(&id, ModifyTableRequest::new().clear_name()).unwrap();
    assert_eq!(session.get_table_metadata(&id).unwrap().name.as_deref(), Some(id.as_str()));
    let found = session
        .query_tables(QueryTablesRequest::new().filter(
            r#"testResultId = "r" && columns.any(it.name = "v") && rowCount = 0"#.to_owned(),
        ))
        .unwrap();
    assert_eq!(found.tables.len(), 1);
    let unbound = QueryTablesRequest::new().filter(r#"columns.any(it.name = "v")"#.to_owned());
    assert_eq!(session.query_tables(unbound).unwrap_err().kind(), ErrorKind::InvalidArgument);
    let malformed = session.get_table_metadata(&"x".into()).unwrap_err();
    assert_eq!(malformed.api_error().code, Some(-255_134));
    assert!(malformed.message().contains("invalid table ID"), "{malformed}");
    let unknown = "0".repeat(24);
    assert_eq!(
        session.get_table_metadata(&unknown.as_str().into()).unwrap_err().api_error().code,
        Some(-255_130)
    );
    let partial = session
        .modify_tables(
            ModifyTablesRequest::new([
                TableMetadataModification::new(id.to_string()).name("m"),
                TableMetadataModification::new(unknown.clone()),
            ])
            .replace(false),
        )
        .unwrap()
        .unwrap();
    assert_eq!(partial.modified_table_ids, [id.to_string()]);
    assert_eq!(partial.error.inner_errors.len(), 1);
    let partial = session
        .delete_tables(vec![id.to_string().into(), "x".into(), id.to_string().into()])
        .unwrap()
        .unwrap();
    assert_eq!(
        (partial.deleted_table_ids, partial.failed_table_ids),
        (vec![id.to_string()], vec!["x".to_owned()])
    );
    assert_eq!(session.get_table_metadata(&id).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(session.list_tables(ListTablesRequest::default()).unwrap().tables.len(), 0);
}

#[test]
fn bad_columns_are_refused() {
    let disk = disk();
    let store = store(&disk);
    let session = session(&store);
    let make = |columns: Vec<Column>| session.create_table(CreateTableRequest::new(columns));
    let index = || column("t", DataType::Int32, ColumnType::Index);
    assert!(make(vec![]).is_err());
    assert!(make(vec![column("v", DataType::Int32, ColumnType::Normal)]).is_err());
    assert!(make(vec![column("t", DataType::Float64, ColumnType::Index)]).is_err());
    assert!(make(vec![index(), column("u", DataType::Int32, ColumnType::Index)]).is_err());
    assert!(make(vec![index(), column("t", DataType::Int32, ColumnType::Normal)]).is_err());
    assert!(make(vec![index(), column("", DataType::Int32, ColumnType::Normal)]).is_err());
    let wide = |count: usize| {
        let mut columns: Vec<Column> = (1..count)
            .map(|at| column(&format!("c{at}"), DataType::Bool, ColumnType::Nullable))
            .collect();
        columns.push(index());
        make(columns)
    };
    assert!(wide(2500).is_ok());
    assert_eq!(wide(2501).unwrap_err().kind(), ErrorKind::LimitExceeded);
}

#[test]
fn appends_close_and_refuse() {
    let disk = disk();
    let store = store(&disk);
    let session = session(&store);
    let id = session.create_table(request()).unwrap();
    session.append_table_data(&id, rows(0..10)).unwrap();
    let mut bad = rows(10..20);
    bad.frame.as_mut().unwrap().data[3][1] = Some("inf".to_owned());
    bad.end_of_data = Some(true);
    assert_eq!(session.append_table_data(&id, bad).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert!(session.append_table_data(&id, AppendTableDataRequest::default()).is_err());
    assert!(session.append_batches(&id, &mut std::iter::empty(), None).is_err());
    let table = session.get_table_metadata(&id).unwrap();
    assert_eq!(
        (table.row_count, table.supports_append, table.metadata_revision),
        (Some(10), Some(true), Some(1))
    );
    let mut last = rows(10..12);
    last.end_of_data = Some(true);
    session.append_table_data(&id, last).unwrap();
    assert_eq!(session.append_table_data(&id, rows(0..1)).unwrap_err().kind(), ErrorKind::Conflict);
    let only_flag = AppendTableDataRequest::new().end_of_data(true);
    assert_eq!(session.append_table_data(&id, only_flag).unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(session.get_table_metadata(&id).unwrap().row_count, Some(12));
    assert_eq!(walk(&session, &id, 5, |_| {}).unwrap().len(), 12);
}

#[test]
fn a_walk_survives_appends_seals_and_merges() {
    let disk = disk();
    let store = store(&disk);
    let session = session(&store);
    let id = session.create_table(request()).unwrap();
    session.append_table_data(&id, rows(100..140)).unwrap();
    session.append_table_data(&id, rows(0..60)).unwrap();
    session.append_table_data(&id, rows(30..45)).unwrap();
    let before = walk(&session, &id, 1000, |_| {}).unwrap();
    assert_eq!(before.len(), 115);
    let mut next = 0;
    let seen = walk(&session, &id, 7, |page| {
        // The appends are limited: if rows arrive faster than they are read, the walk does not end.
        if next < 15 {
            session.append_table_data(&id, rows(next * 10..next * 10 + 10)).unwrap();
            next += 1;
        }
        if page % 3 == 0 {
            store.maintain(&Control::default()).unwrap();
        }
    })
    .unwrap();
    // Later rows may be in between. The rows of the start come in order, each as often as it was
    // appended.
    let mut expected = before.iter().peekable();
    for row in &seen {
        if expected.peek() == Some(&row) {
            expected.next();
        }
    }
    assert_eq!(expected.next(), None, "a row of the start is missing");
    let names = disk.list(&format!("tables/{id}")).unwrap();
    assert!(names.iter().any(|entry| entry.name.ends_with(".parquet")), "{names:?}");
}

#[test]
fn rows_survive_reopening_in_every_state() {
    let disk = disk();
    let first = store(&disk);
    let session_1 = session(&first);
    let id = session_1.create_table(request()).unwrap();
    for from in [200, 0, 100, 50] {
        session_1.append_table_data(&id, rows(from..from + 75)).unwrap();
    }
    session_1.append_table_data(&id, rows(300..310)).unwrap();
    let expected = walk(&session_1, &id, 33, |_| {}).unwrap();
    assert_eq!(expected.len(), 310);
    drop(session_1);
    drop(first);
    // A file that no manifest names is removed.
    let stray = format!("tables/{id}/{:016x}.parquet", 77_777);
    stationdb::faults::write_new_file(&*disk, &stray, b"stray").unwrap();
    let second = store(&disk);
    let session_2 = session(&second);
    assert!(!disk.exists(&stray).unwrap());
    assert_eq!(walk(&session_2, &id, 40, |_| {}).unwrap(), expected);
    second.maintain(&Control::default()).unwrap();
    second.maintain(&Control::default()).unwrap();
    assert_eq!(walk(&session_2, &id, 40, |_| {}).unwrap(), expected);
    let close = AppendTableDataRequest::new().end_of_data(true);
    session_2.append_table_data(&id, close).unwrap();
    second.maintain(&Control::default()).unwrap();
    assert_eq!(walk(&session_2, &id, 40, |_| {}).unwrap(), expected);
    let files = disk.list(&format!("tables/{id}")).unwrap();
    assert!(
        second.verify(stationdb::VerifyLevel::Checksums, &Control::default()).unwrap().is_sound()
    );
    assert_eq!(files.len(), 2, "a closed table is one segment and its summary: {files:?}");
    session_2.delete_table(&id).unwrap();
    second.maintain(&Control::default()).unwrap();
    assert!(
        !disk.exists(&format!("tables/{id}")).unwrap(),
        "the directory goes with the last file"
    );
}

#[test]
fn transactions_see_their_rows_and_leave_none_behind() {
    let disk = disk();
    let store = store(&disk);
    let session = session(&store);
    let id = session.create_table(request()).unwrap();
    let failed: Result<()> = session.transaction(|tx| {
        tx.append_table_data(&id, rows(0..5))?;
        assert_eq!(tx.get_table_data(&id, GetTableDataRequest::default())?.total_row_count, 5);
        Err(stationdb::Error::invalid("no"))
    });
    assert!(failed.is_err());
    session.append_table_data(&id, rows(7..12)).unwrap();
    assert_eq!(walk(&session, &id, 10, |_| {}).unwrap(), ["r7", "r8", "r9", "r10", "r11"]);
}

#[test]
fn large_arrow_appends_become_segments() {
    let disk = disk();
    let store = store(&disk);
    let session = session(&store);
    let columns = vec![
        column("t", DataType::Int64, ColumnType::Index),
        column("m", DataType::Int64, ColumnType::Normal),
    ];
    let id = session.create_table(CreateTableRequest::new(columns)).unwrap();
    let batch = |from: i64, len: i64, reverse: bool| {
        let mut values: Vec<i64> = (from..from + len).collect();
        if reverse {
            values.reverse();
        }
        let squares = values.iter().map(|v| v.wrapping_mul(7919) % 1000).collect::<Vec<_>>();
        let arrays: [(&str, Arc<dyn Array>); 2] =
            [("m", Arc::new(Int64Array::from(squares))), ("t", Arc::new(Int64Array::from(values)))];
        RecordBatch::try_from_iter(arrays).unwrap()
    };
    let mut batches = (0..6).map(|at| Ok(batch(at * 65_536, 65_536, at == 3)));
    session.append_batches(&id, &mut batches, None).unwrap();
    let late = batch(1000, 300_000, false);
    let stream = ipc_stream(late.schema_ref(), [late.clone()]);
    session.append_arrow(&id, &mut &stream[..], Some(true)).unwrap();
    let total = 6 * 65_536 + 300_000;
    let table = session.get_table_metadata(&id).unwrap();
    assert_eq!((table.row_count, table.supports_append), (Some(total), Some(false)));
    assert_eq!(
        disk.list(&format!("tables/{id}")).unwrap().len(),
        6,
        "the merged ones wait for maintenance"
    );
    let mut previous = i64::MIN;
    let mut count = 0;
    for batch in session.scan(&id, ScanRequest::default(), &Control::default()).unwrap() {
        let batch = batch.unwrap();
        for value in int64_values(&batch, 0) {
            assert!(*value >= previous);
            previous = *value;
            count += 1;
        }
    }
    assert_eq!(count, total);
    let filter = ColumnFilter::new("m", FilterOperation::Equals).value("7");
    let decimated = session
        .query_decimated_data(
            &id,
            QueryDecimatedDataRequest::new()
                .filters([filter.clone()])
                .decimation(DecimationOptions::default().intervals(50)),
        )
        .unwrap();
    assert_eq!(decimated.frame.row_count(), 50);
    let page = session
        .query_table_data(
            &id,
            QueryTableDataRequest::new()
                .filters([filter])
                .order_by([ColumnOrderBy::new("t").descending(true)])
                .take(3),
        )
        .unwrap();
    assert_eq!(page.frame.row_count(), 3);
    assert!(page.total_row_count > 600);
    let wire = serde_json::to_value(&page).unwrap();
    assert_eq!(wire["frame"]["columns"], serde_json::json!(["t", "m"]));
    let mut csv = Vec::new();
    let written = session
        .export_table_data(
            &id,
            ExportTableDataRequest::default().take(2),
            &mut csv,
            &Control::default(),
        )
        .unwrap();
    assert_eq!((written, String::from_utf8(csv).unwrap().as_str()), (2, "t,m\n0,0\n1,919\n"));
}

#[test]
fn bad_reads_are_refused() {
    let disk = disk();
    let store = store(&disk);
    let session = session(&store);
    let id = session.create_table(request()).unwrap();
    session.append_table_data(&id, rows(0..10)).unwrap();
    let query = |json: &str| {
        session
            .query_table_data(&id, stationdb::from_json::<QueryTableDataRequest>(json.as_bytes())?)
    };
    for bad in [
        r#"{"take":-1}"#,
        r#"{"take":10001}"#,
        r#"{"columns":["x"]}"#,
        r#"{"columns":["t","t"]}"#,
        r#"{"filters":[{"column":"x","operation":"EQUALS","value":"1"}]}"#,
        r#"{"filters":[{"column":"t","operation":"CONTAINS","value":"1"}]}"#,
        r#"{"filters":[{"column":"s","operation":"LESS_THAN","value":"1"}]}"#,
        r#"{"filters":[{"column":"t","operation":"LESS_THAN"}]}"#,
        r#"{"filters":[{"column":"t","operation":"EQUALS","value":"1.5"}]}"#,
        r#"{"filters":[{"column":"v","operation":"EQUALS","value":"NaN"}]}"#,
        r#"{"filters":[{"column":"v","operation":"SOMETHING"}]}"#,
        r#"{"orderBy":[{"column":"x"}]}"#,
        r#"{"continuationToken":"nonsense"}"#,
    ] {
        assert_eq!(query(bad).map(|_| ()).unwrap_err().kind(), ErrorKind::InvalidArgument, "{bad}");
    }
    let page = query(r#"{"take":0}"#).unwrap();
    assert_eq!(
        (page.frame.row_count(), page.total_row_count, page.continuation_token),
        (0, 10, None)
    );
    let page = query(r#"{"take":3}"#).unwrap();
    let token = page.continuation_token.unwrap();
    assert!(
        query(&format!(r#"{{"take":3,"columns":["t"],"continuationToken":"{token}"}}"#)).is_err()
    );
    assert!(
        query(&format!(r#"{{"take":10,"continuationToken":"{token}"}}"#))
            .unwrap()
            .continuation_token
            .is_none()
    );
    let decimate = |json: &str| {
        session.query_decimated_data(&id, stationdb::from_json(json.as_bytes()).unwrap())
    };
    for bad in [
        r#"{"decimation":{"method":"MAX_MIN"}}"#,
        r#"{"decimation":{"method":"MAX_MIN","yColumns":["s"]}}"#,
        r#"{"decimation":{"xColumn":"s"}}"#,
        r#"{"decimation":{"intervals":0}}"#,
        r#"{"decimation":{"yColumns":["x"]}}"#,
    ] {
        assert_eq!(decimate(bad).unwrap_err().kind(), ErrorKind::InvalidArgument, "{bad}");
    }
    let kept =
        decimate(r#"{"decimation":{"method":"MAX_MIN","intervals":1,"yColumns":["v"]}}"#).unwrap();
    assert_eq!(kept.frame.row_count(), 2);
}

/// Orders of an index read only the page. The plan of other orders says that all tables are read.
#[test]
fn the_plan_says_which_orders_of_tables_read_all_tables() {
    let store = crate::test_store::TestStore::new();
    let session = store.session();
    let plan = |request: serde_json::Value| {
        session.explain_query_tables(serde_json::from_value(request).unwrap()).unwrap().to_string()
    };
    for (order, field) in [
        ("CREATED_AT", "createdAt"),
        ("METADATA_MODIFIED_AT", "metadataModifiedAt"),
        ("NAME", "name"),
    ] {
        let plan = plan(serde_json::json!({ "orderBy": order }));
        assert!(
            plan.contains(&format!("index {field} in order")) && !plan.contains("all records"),
            "{order}: {plan}"
        );
    }
    // These fields change with every append, and an index would make each append more expensive.
    for (order, field) in [("NUMBER_OF_ROWS", "rowCount"), ("ROWS_MODIFIED_AT", "rowsModifiedAt")] {
        let plan = plan(serde_json::json!({ "orderBy": order }));
        assert!(
            plan.starts_with("all records") && plan.contains(&format!("by {field}")),
            "{order}: {plan}"
        );
    }
    for filter in ["workspace == \"lab\"", "rowCount > 5", "rowsModifiedAt > \"2024-01-01\""] {
        let plan = plan(serde_json::json!({ "filter": filter }));
        assert!(plan.starts_with("all records"), "{filter}: {plan}");
    }
}

#[test]
fn workspaces_are_filtered_by_their_registered_names() {
    let disk = disk();
    let store = store(&disk);
    let session = session(&store);
    let find = |filter: &str| {
        let query = QueryTablesRequest::new().filter(filter).order_by(TableOrderBy::Name);
        let tables = session.query_tables(query).unwrap().tables;
        tables.into_iter().filter_map(|table| table.name).collect::<String>()
    };
    for (name, workspace) in [("a", "w1"), ("b", "w2"), ("c", "default")] {
        session.create_table(request().name(name).workspace(workspace)).unwrap();
    }
    assert_eq!(find("workspaceName = \"w1\""), "a", "nothing is registered");
    let registered = CreateWorkspaceRequest::new("Bench 1").id("w1");
    session.create_workspace(registered).unwrap();
    for (filter, found) in [
        ("workspaceName = \"w1\"", ""),
        ("workspaceName = \"Bench 1\"", "a"),
        ("workspaceName != \"Bench 1\"", "bc"),
        ("workspaceName = \"w2\"", "b"),
        ("workspaceName in (\"Bench 1\", \"default\")", "ac"),
        ("workspaceName.StartsWith(\"Bench\") or workspaceName.Contains(\"2\")", "ab"),
        ("workspaceName < \"a\"", "a"),
        ("workspace = \"w1\" and WorkspaceName = \"Bench 1\"", "a"),
        ("workspace = \"Bench 1\"", ""),
        ("string.IsNullOrEmpty(workspaceName)", ""),
        ("columns.any(it.name = \"v\" and workspaceName = \"w2\") and testResultId = null", "b"),
    ] {
        assert_eq!(find(filter), found, "{filter}");
    }
}
