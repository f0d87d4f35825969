//! The rules of the table service, in the order of `docs/reference/tables.md`.

use crate::prelude::*;

use chrono::DateTime;
use serde::de::DeserializeOwned;

fn open() -> (Store, Session, Arc<ManualClock>) {
    let clock =
        Arc::new(ManualClock::new(DateTime::from_timestamp_millis(1_700_000_000_000).unwrap()));
    let (store, session) = opened(
        Store::options().maintenance_thread(false).seed(Some(1)).shared_clock(clock.clone()),
        Arc::new(MemoryDisk::default()),
    );
    (store, session, clock)
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T> {
    from_json(value.to_string().as_bytes())
}

/// Parses a request from its wire form.
fn from<T: DeserializeOwned>(value: Value) -> T {
    read(value).unwrap()
}

fn create(session: &Session, request: Value) -> Result<String> {
    session.create_table(read(request)?).map(|id| id.to_string())
}

fn columns() -> Value {
    json!([{"name": "t", "dataType": "INT32", "columnType": "INDEX"}, {"name": "v", "dataType": "FLOAT64", "columnType": "NULLABLE"}])
}

fn table(session: &Session) -> String {
    create(session, json!({ "columns": columns() })).unwrap()
}

fn metadata(session: &Session, id: &str) -> Value {
    serde_json::to_value(session.get_table_metadata(&id.into()).unwrap()).unwrap()
}

fn append(session: &Session, id: &str, request: Value) -> Result<()> {
    session.append_table_data(&id.into(), read(request)?)
}

fn kind<T: std::fmt::Debug>(outcome: Result<T>) -> ErrorKind {
    outcome.unwrap_err().kind()
}

fn name_of(error: &Error) -> String {
    error.api_error().name.unwrap_or_default()
}

const BAD: ErrorKind = ErrorKind::InvalidArgument;

#[test]
fn creation() {
    let (_store, session, _) = open();
    let index =
        json!({"name": "t", "data_type": "timestamp", "column_type": "index", "properties": null});
    let id = create(
        &session,
        json!({"columns": [index], "name": "", "testResultId": "", "workspace": null}),
    )
    .unwrap();
    assert_eq!(
        metadata(&session, &id),
        json!({
            "id": id,
            "name": id,
            "columns": [{"name": "t", "dataType": "TIMESTAMP", "columnType": "INDEX", "properties": {}}],
            "createdAt": "2023-11-14T22:13:20.000Z",
            "metadataModifiedAt": "2023-11-14T22:13:20.000Z",
            "metadataRevision": 1,
            "properties": {},
            "rowCount": 0,
            "rowsModifiedAt": "2023-11-14T22:13:20.000Z",
            "supportsAppend": true,
            "workspace": "default",
        })
    );
    assert!(
        id.len() == 24
            && id.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    );
    let full = json!({
        "columns": columns(), "name": "n", "testResultId": "r", "workspace": "w",
        "properties": {"b": "2", "a": ""}, "unknown": [1]
    });
    let found = metadata(&session, &create(&session, full).unwrap());
    assert_eq!(
        (&found["name"], &found["testResultId"], &found["workspace"]),
        (&json!("n"), &json!("r"), &json!("w"))
    );
    assert_eq!(found["properties"], json!({"a": "", "b": "2"}));
    let one = |column: Value| json!({"columns": [column]});
    let with = |column: Value| json!({"columns": [{"name": "t", "dataType": "INT64", "columnType": "INDEX"}, column]});
    for bad in [
        json!({"columns": []}),
        json!({}),
        one(json!({"name": "t", "dataType": "INT32"})),
        one(json!({"name": "t", "dataType": "STRING", "columnType": "INDEX"})),
        one(json!({"name": "t", "dataType": "BOOL", "columnType": "INDEX"})),
        one(json!({"name": "t", "columnType": "INDEX"})),
        one(json!({"dataType": "INT32", "columnType": "INDEX"})),
        one(json!({"name": "t", "dataType": "DECIMAL", "columnType": "INDEX"})),
        one(json!({"name": "t", "dataType": "INT32", "columnType": "BOTH"})),
        with(json!({"name": "t", "dataType": "INT32"})),
        with(json!({"name": "", "dataType": "INT32"})),
        with(json!({"name": "u", "dataType": "INT32", "columnType": "INDEX"})),
        with(json!({"name": "u", "dataType": "INT32", "properties": {"": "x"}})),
        json!({"columns": columns(), "properties": {"": "x"}}),
        json!({"columns": columns(), "properties": {"x": 1}}),
    ] {
        assert_eq!(kind(create(&session, bad.clone())), BAD, "{bad}");
    }
    // Names are compared exactly.
    assert!(create(&session, with(json!({"name": "T", "dataType": "INT32"}))).is_ok());
    assert_eq!(session.list_tables(ListTablesRequest::default()).unwrap().tables.len(), 3);
}

#[test]
fn modify_table_tells_absent_null_and_value_apart() {
    let (_store, session, clock) = open();
    let id = create(
        &session,
        json!({
            "columns": columns(), "name": "n", "testResultId": "r", "workspace": "w", "properties": {"a": "1", "b": "2"}
        }),
    )
    .unwrap();
    let modify = |request: Value| session.modify_table(&id.as_str().into(), read(request)?);
    let see = |members: &[&str]| {
        let found = metadata(&session, &id);
        members.iter().map(|member| found[*member].clone()).collect::<Vec<_>>()
    };
    let created = see(&["createdAt"]);
    // A request without members changes nothing, not even the revision.
    modify(json!({})).unwrap();
    assert_eq!(see(&["metadataRevision"]), [json!(1)]);
    clock.advance_ms(1000);
    modify(json!({"metadataRevision": 2})).unwrap();
    assert_eq!(
        see(&["metadataRevision", "metadataModifiedAt"]),
        [json!(2), json!("2023-11-14T22:13:21.000Z")]
    );
    for wrong in [0, 1, 2, 4] {
        let error = modify(json!({"metadataRevision": wrong, "name": "x"})).unwrap_err();
        assert_eq!(
            (error.kind(), name_of(&error).as_str()),
            (ErrorKind::Conflict, "DataFrame.RevisionMismatch")
        );
    }
    modify(json!({"metadata_revision": null, "name": "m", "test_result_id": "", "workspace": "x"}))
        .unwrap();
    assert_eq!(see(&["metadataRevision", "name", "workspace"]), [json!(3), json!("m"), json!("x")]);
    assert_eq!(metadata(&session, &id).get("testResultId"), None);
    // A value equal to the old one is also a modification.
    modify(json!({"name": "m"})).unwrap();
    assert_eq!(see(&["metadataRevision"]), [json!(4)]);
    modify(json!({"name": null, "testResultId": "again", "workspace": null})).unwrap();
    assert_eq!(
        see(&["name", "workspace", "testResultId"]),
        [json!(id), json!("default"), json!("again")]
    );
    modify(json!({"testResultId": null, "properties": null, "columns": null})).unwrap();
    assert_eq!(metadata(&session, &id).get("testResultId"), None);
    assert_eq!(see(&["properties"]), [json!({"a": "1", "b": "2"})]);
    modify(json!({"properties": {"a": null, "c": "3", "gone": null}})).unwrap();
    assert_eq!(see(&["properties"]), [json!({"b": "2", "c": "3"})]);
    modify(json!({"columns": [{"name": "v", "properties": {"unit": "V", "range": "10"}}, {"name": "t", "properties": {}}]}))
        .unwrap();
    modify(json!({"columns": [{"name": "v", "properties": {"range": null}}]})).unwrap();
    assert_eq!(metadata(&session, &id)["columns"][1]["properties"], json!({"unit": "V"}));
    let before = metadata(&session, &id);
    for bad in [
        json!({"name": "y", "columns": [{"name": "x", "properties": {}}]}),
        json!({"name": "y", "columns": [{"name": "V", "properties": {}}]}),
        json!({"name": "y", "columns": [{"name": "v"}]}),
        json!({"name": "y", "columns": [{"properties": {}}]}),
        json!({"name": "y", "columns": [{"name": "v", "properties": {"": "1"}}]}),
        json!({"name": "y", "properties": {"": null}}),
        json!({"name": 1}),
        json!({"metadataRevision": "3"}),
    ] {
        assert_eq!(kind(modify(bad.clone())), BAD, "{bad}");
    }
    assert_eq!(metadata(&session, &id), before);
    assert_eq!(see(&["createdAt"]), created);
    // Appending rows does not change the metadata.
    clock.advance_ms(1000);
    append(&session, &id, json!({"frame": {"data": [["1", null]]}})).unwrap();
    let after = metadata(&session, &id);
    assert_eq!(after["metadataRevision"], before["metadataRevision"]);
    assert_eq!(after["metadataModifiedAt"], before["metadataModifiedAt"]);
    assert_eq!(
        (&after["rowCount"], &after["rowsModifiedAt"]),
        (&json!(1), &json!("2023-11-14T22:13:22.000Z"))
    );
    let unknown = "0".repeat(24);
    let error =
        session.modify_table(&unknown.as_str().into(), from(json!({"name": "x"}))).unwrap_err();
    assert_eq!((error.kind(), error.api_error().code), (ErrorKind::NotFound, Some(-255_130)));
    let error = session.modify_table(&"x".into(), from(json!({"name": "x"}))).unwrap_err();
    assert_eq!((error.kind(), error.api_error().code), (BAD, Some(-255_134)));
}

#[test]
fn modify_tables_judges_each_table_on_its_own() {
    let (_store, session, _) = open();
    let make = || {
        let request = json!({"columns": columns(), "name": "n", "testResultId": "r", "properties": {"a": "1", "b": "2"}});
        create(&session, request).unwrap()
    };
    let (one, two) = (make(), make());
    let modify = |request: Value| {
        session.modify_tables(read(request)?).map(|answer| serde_json::to_value(answer).unwrap())
    };
    assert_eq!(modify(json!({"tables": []})).unwrap(), Value::Null);
    let request = json!({"tables": [
        {"id": one, "metadataRevision": 2, "name": "x", "workspace": "w", "testResultId": "", "properties": {"a": null, "c": "3"}},
        {"id": two, "name": null, "testResultId": null, "workspace": null, "properties": null}
    ]});
    assert_eq!(modify(request).unwrap(), Value::Null);
    let found = metadata(&session, &one);
    assert_eq!((&found["name"], &found["workspace"]), (&json!("x"), &json!("w")));
    assert_eq!(
        (&found["metadataRevision"], &found["properties"]),
        (&json!(2), &json!({"b": "2", "c": "3"}))
    );
    assert_eq!(found.get("testResultId"), None);
    let found = metadata(&session, &two);
    assert_eq!(
        (&found["name"], &found["testResultId"], &found["metadataRevision"]),
        (&json!("n"), &json!("r"), &json!(1))
    );
    // With `replace`, properties that are not listed are kept only if the request has no map.
    let request = json!({"replace": true, "tables": [
        {"id": one, "properties": {"z": "1", "y": null}}, {"id": two, "name": "kept"}
    ]});
    assert_eq!(modify(request).unwrap(), Value::Null);
    assert_eq!(metadata(&session, &one)["properties"], json!({"z": "1"}));
    assert_eq!(metadata(&session, &two)["properties"], json!({"a": "1", "b": "2"}));
    let unknown = "f".repeat(24);
    let answer = modify(json!({"tables": [
        {"id": "nonsense", "name": "q"},
        {"id": one, "name": "q"},
        {"id": unknown},
        {"id": two, "metadataRevision": 1, "properties": {"k": null}}
    ]}))
    .unwrap();
    assert_eq!(answer["modifiedTableIds"], json!([one]));
    assert_eq!(
        answer["failedModifications"],
        json!([
            {"id": "nonsense", "name": "q"},
            {"id": unknown},
            {"id": two, "metadataRevision": 1, "properties": {"k": null}}
        ])
    );
    let inner = answer["error"]["innerErrors"].as_array().unwrap();
    let ids: Vec<&Value> = inner.iter().map(|error| &error["resourceId"]).collect();
    assert_eq!(ids, [&json!("nonsense"), &json!(unknown), &json!(two)]);
    assert_eq!(answer["error"]["name"], json!("Skyline.OneOrMoreErrorsOccurred"));
    // If all modifications fail, the response is still a partial success.
    let answer = modify(json!({"tables": [{"id": unknown, "name": "q"}]})).unwrap();
    assert_eq!(answer["modifiedTableIds"], json!([]));
    let before = metadata(&session, &one);
    assert_eq!(
        kind(modify(json!({"tables": [{"id": one, "name": "1"}, {"id": one, "name": "2"}]}))),
        BAD
    );
    assert_eq!(metadata(&session, &one), before);
    // Ids are compared exactly, so the upper-case form is another text and not a valid id.
    let shouted = one.to_ascii_uppercase();
    let answer =
        modify(json!({"tables": [{"id": one, "name": "n"}, {"id": shouted, "name": "2"}]}))
            .unwrap();
    assert_eq!(answer["failedModifications"], json!([{"id": shouted, "name": "2"}]));
    let before = metadata(&session, &one);
    assert_eq!(kind(modify(json!({}))), BAD);
    assert_eq!(kind(modify(json!({"tables": [{"name": "1"}]}))), BAD);
    assert_eq!(metadata(&session, &one), before);
}

#[test]
fn deletion() {
    let (_store, session, _) = open();
    let ids: Vec<String> = (0..3).map(|_| table(&session)).collect();
    append(&session, &ids[0], json!({"frame": {"data": [["1", null]]}})).unwrap();
    session.delete_table(&ids[0].as_str().into()).unwrap();
    assert_eq!(kind(session.delete_table(&ids[0].as_str().into())), ErrorKind::NotFound);
    assert_eq!(kind(session.delete_table(&"x".into())), BAD);
    assert_eq!(
        kind(session.get_table_data(&ids[0].as_str().into(), Default::default())),
        ErrorKind::NotFound
    );
    assert_eq!(
        kind(append(&session, &ids[0], json!({"frame": {"data": []}}))),
        ErrorKind::NotFound
    );
    assert_eq!(session.delete_tables(vec![]).unwrap(), None);
    assert_eq!(
        session.delete_tables(vec![ids[1].clone().into(), ids[1].clone().into()]).unwrap(),
        None
    );
    let answer = session
        .delete_tables(vec!["x".into(), ids[0].clone().into(), ids[2].clone().into()])
        .unwrap()
        .unwrap();
    assert_eq!(answer.deleted_table_ids, [ids[2].clone()]);
    assert_eq!(answer.failed_table_ids, ["x".to_owned(), ids[0].clone()]);
    assert_eq!(answer.error.inner_errors.len(), 2);
}

fn names(page: &PagedTables) -> Vec<&str> {
    page.tables.iter().filter_map(|table| table.name.as_deref()).collect()
}

#[test]
fn listing_and_querying() {
    let (_store, session, clock) = open();
    let mut ids = Vec::new();
    for (name, workspace, rows) in [("b", "w1", 2), ("a", "w2", 0), ("", "w1", 1), ("a", "w1", 0)] {
        clock.advance_ms(1000);
        let id =
            create(&session, json!({"columns": columns(), "name": name, "workspace": workspace, "testResultId": "r"}))
                .unwrap();
        let data: Vec<Value> = (0..rows).map(|row| json!([row.to_string(), null])).collect();
        append(&session, &id, json!({"frame": {"data": data}})).unwrap();
        ids.push(id);
    }
    clock.advance_ms(1000);
    session.modify_table(&ids[0].as_str().into(), from(json!({"properties": {"k": "v"}}))).unwrap();
    let list = |request: Value| session.list_tables(read(request)?);
    let found = |request: Value| {
        let page = list(request).unwrap();
        page.tables
            .iter()
            .map(|table| {
                ids.iter().position(|id| Some(id.as_str()) == table.id.as_deref()).unwrap()
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(found(json!({})), [0, 1, 2, 3]);
    assert_eq!(
        found(json!({"orderByDescending": true})),
        [0, 1, 2, 3],
        "a direction without a key is ignored"
    );
    assert_eq!(found(json!({"id": [ids[3], ids[1], "x", "0".repeat(24)]})), [1, 3]);
    assert_eq!(found(json!({"workspace": ["w1"]})), [0, 2, 3]);
    assert_eq!(found(json!({"workspace": ["w1", "w2"], "id": [ids[1], ids[2]]})), [1, 2]);
    assert_eq!(found(json!({"workspace": ["w3"], "id": [ids[1]]})), [0; 0]);
    assert_eq!(found(json!({"id": [], "workspace": []})), [0, 1, 2, 3]);
    for (key, ascending, descending) in [
        ("CREATED_AT", [0, 1, 2, 3], [3, 2, 1, 0]),
        ("METADATA_MODIFIED_AT", [1, 2, 3, 0], [0, 3, 2, 1]),
        ("NAME", [2, 1, 3, 0], [0, 1, 3, 2]),
        ("NUMBER_OF_ROWS", [1, 3, 2, 0], [0, 2, 1, 3]),
        ("ROWS_MODIFIED_AT", [0, 1, 2, 3], [3, 2, 1, 0]),
    ] {
        assert_eq!(found(json!({"orderBy": key})), ascending, "{key}");
        assert_eq!(
            found(json!({"order_by": key.to_lowercase(), "order_by_descending": true})),
            descending,
            "{key}"
        );
        // Page by page, the result is the same.
        let mut walked = Vec::new();
        let mut token: Option<String> = None;
        loop {
            let page =
                list(json!({"orderBy": key, "take": 1, "continuationToken": token})).unwrap();
            walked.extend(
                page.tables.into_iter().filter_map(|table| table.id.map(|id| id.to_string())),
            );
            assert!(page.continuation_token != token || token.is_none());
            token = page.continuation_token;
            if token.is_none() {
                break;
            }
        }
        assert_eq!(walked, ascending.map(|at: usize| ids[at].clone()), "{key}");
    }
    let page = list(json!({"take": 0})).unwrap();
    assert_eq!((page.tables.len(), page.continuation_token), (0, None));
    let page = list(json!({"take": 4})).unwrap();
    assert_eq!(
        (page.tables.len(), page.continuation_token),
        (4, None),
        "a last page that is just full has no token"
    );
    let token = list(json!({"take": 2})).unwrap().continuation_token.unwrap();
    assert_eq!(list(json!({"take": 1000, "continuationToken": token})).unwrap().tables.len(), 2);
    for bad in [
        json!({"take": -1}),
        json!({"take": 1001}),
        json!({"orderBy": "SIZE"}),
        json!({"continuationToken": "x"}),
        json!({"continuationToken": token, "orderBy": "NAME"}),
        json!({"continuationToken": token, "workspace": ["w1"]}),
    ] {
        assert_eq!(kind(list(bad.clone())), BAD, "{bad}");
    }
    let query = |request: Value| session.query_tables(read(request)?);
    for everything in [json!({}), json!({"filter": null}), json!({"filter": ""})] {
        assert_eq!(query(everything).unwrap().tables.len(), 4);
    }
    let request = json!({
        "filter": "workspace = @0 and rowCount >= @1", "substitutions": ["w1", 1], "orderBy": "NAME", "interactive": true
    });
    assert_eq!(names(&query(request).unwrap()), [ids[2].as_str(), "b"]);
    let request =
        json!({"filter": "testResultId = \"r\" && columns.any(it.name = \"v\")", "take": 1});
    let page = query(request).unwrap();
    assert!(page.tables.len() == 1 && page.continuation_token.is_some());
    let request = json!({"filter": "createdWithin <= RelativeTime.CurrentDay", "referenceTime": "2023-11-14T23:59:59+00:00"});
    assert_eq!(query(request).unwrap().tables.len(), 4);
    for bad in [
        json!({"filter": "rowCount >"}),
        json!({"filter": "nothing = 1"}),
        json!({"filter": "rowCount = @0"}),
        json!({"filter": "columns.any(it.name = \"v\")"}),
        json!({"take": 1001}),
        json!({"referenceTime": "yesterday"}),
        json!({"orderBy": "NUMBER_OF_ROWS", "projection": ["NAME"]}),
        json!({"projection": ["NOTHING"]}),
    ] {
        assert_eq!(kind(query(bad.clone())), BAD, "{bad}");
    }
}

#[test]
fn projections_hold_just_what_was_asked_for() {
    let (_store, session, _) = open();
    let id = create(&session, json!({"columns": columns(), "name": "n", "properties": {"a": "1"}}))
        .unwrap();
    let query = |projection: Value| {
        let page = session.query_tables(from(json!({ "projection": projection }))).unwrap();
        serde_json::to_value(&page.tables[0]).unwrap()
    };
    assert_eq!(query(Value::Null), metadata(&session, &id));
    assert_eq!(query(json!([])), json!({ "id": id }));
    assert_eq!(query(json!(["COLUMN_COUNT"])), json!({"id": id, "columnCount": 2}));
    assert_eq!(
        query(json!(["COLUMN_NAME"])),
        json!({"id": id, "columns": [{"name": "t"}, {"name": "v"}]})
    );
    assert_eq!(
        query(json!(["COLUMN_DATA_TYPE", "COLUMN_COLUMN_TYPE", "ROW_COUNT"])),
        json!({"id": id, "rowCount": 0, "columns": [
            {"dataType": "INT32", "columnType": "INDEX"}, {"dataType": "FLOAT64", "columnType": "NULLABLE"}
        ]})
    );
    assert_eq!(
        query(json!(["COLUMN_PROPERTIES"])),
        json!({"id": id, "columns": [{"properties": {}}, {"properties": {}}]})
    );
    let whole = query(json!([
        "COLUMN_NAME",
        "COLUMN_DATA_TYPE",
        "COLUMN_COLUMN_TYPE",
        "COLUMN_PROPERTIES"
    ]));
    assert_eq!(whole["columns"], metadata(&session, &id)["columns"]);
    for (member, key) in [
        ("CREATED_AT", "createdAt"),
        ("METADATA_MODIFIED_AT", "metadataModifiedAt"),
        ("METADATA_REVISION", "metadataRevision"),
        ("NAME", "name"),
        ("PROPERTIES", "properties"),
        ("ROWS_MODIFIED_AT", "rowsModifiedAt"),
        ("SUPPORTS_APPEND", "supportsAppend"),
        ("WORKSPACE", "workspace"),
    ] {
        let found = query(json!([member]));
        assert_eq!(found, json!({"id": id, key: metadata(&session, &id)[key]}), "{member}");
    }
    assert_eq!(query(json!(["TEST_RESULT_ID"])), json!({ "id": id }));
}

#[test]
fn cells_have_one_spelling_out_and_the_stated_ones_in() {
    let (_store, session, _) = open();
    let accepted = [
        ("BOOL", vec![("true", "true"), ("False", "false"), ("TRUE", "true")]),
        (
            "INT32",
            vec![
                ("+007", "7"),
                ("-0", "0"),
                ("-2147483648", "-2147483648"),
                ("2147483647", "2147483647"),
            ],
        ),
        (
            "INT64",
            vec![
                ("9223372036854775807", "9223372036854775807"),
                ("-9223372036854775808", "-9223372036854775808"),
            ],
        ),
        (
            "FLOAT32",
            vec![
                ("0.1", "0.1"),
                ("3.40282347E+38", "3.4028235e38"),
                ("NaN", "NaN"),
                ("Infinity", "Infinity"),
                ("-Infinity", "-Infinity"),
                ("-0", "-0"),
                ("1e3", "1000"),
                ("16777217", "16777216"),
            ],
        ),
        (
            "FLOAT64",
            vec![
                ("1.7976931348623157E+308", "1.7976931348623157e308"),
                ("5", "5"),
                (".5", "0.5"),
                ("NaN", "NaN"),
            ],
        ),
        ("STRING", vec![("", ""), (" x ", " x "), ("null", "null"), ("ä\u{0}", "ä\u{0}")]),
        (
            "TIMESTAMP",
            vec![
                ("2024-01-02T03:04:05", "2024-01-02T03:04:05.000Z"),
                ("2024-01-02T03:04:05.1239Z", "2024-01-02T03:04:05.123Z"),
                ("2024-01-02t03:04:05.5+02:00", "2024-01-02T01:04:05.500Z"),
                ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
                ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
                ("1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z"),
            ],
        ),
    ];
    let rejected = [
        ("BOOL", vec!["1", "", "yes", " true"]),
        ("INT32", vec!["1.0", "1e3", " 1", "2147483648", "-2147483649", "", "0x1"]),
        ("INT64", vec!["9223372036854775808", "1.5", "", "1_000"]),
        ("FLOAT32", vec!["nan", "inf", "1,5", "3.5e38", "", "infinity", " 1"]),
        ("FLOAT64", vec!["NAN", "+Infinity", "1e309", "", "1.5 "]),
        (
            "TIMESTAMP",
            vec![
                "",
                "2024-01-02",
                "2024-13-02T00:00:00Z",
                "10000-01-01T00:00:00Z",
                "0000-12-31T23:59:59Z",
                "now",
            ],
        ),
    ];
    for (data_type, cells) in accepted {
        let id = create(
            &session,
            json!({"columns": [
                {"name": "i", "dataType": "INT64", "columnType": "INDEX"}, {"name": "c", "dataType": data_type}
            ]}),
        )
        .unwrap();
        let data: Vec<Value> =
            cells.iter().enumerate().map(|(at, (text, _))| json!([at.to_string(), text])).collect();
        append(&session, &id, json!({"frame": {"columns": ["i", "c"], "data": data}})).unwrap();
        let page =
            session.get_table_data(&id.as_str().into(), from(json!({"columns": ["c"]}))).unwrap();
        let wire = serde_json::to_value(&page).unwrap();
        let expected: Vec<Value> = cells.iter().map(|(_, text)| json!([text])).collect();
        assert_eq!(wire["frame"], json!({"columns": ["c"], "data": expected}), "{data_type}");
        // One invalid cell rejects the whole append, and so does a null.
        let bad = rejected
            .iter()
            .find(|(other, _)| *other == data_type)
            .map(|(_, bad)| bad.clone())
            .unwrap_or_default();
        for text in bad.into_iter().map(|text| json!(text)).chain([Value::Null]) {
            let data = json!([["100", cells[0].0], ["101", text]]);
            let error = append(&session, &id, json!({"frame": {"data": data}})).unwrap_err();
            assert_eq!(error.kind(), BAD);
            assert_eq!(
                error.place(),
                Some(&stationdb::Place::Cell { row: 1, column: "c".into() }),
                "{data_type} {text}"
            );
        }
        assert_eq!(
            session.get_table_metadata(&id.as_str().into()).unwrap().row_count,
            Some(cells.len() as i64)
        );
    }
}

#[test]
fn appending() {
    let (_store, session, _) = open();
    let id = create(
        &session,
        json!({"columns": [
            {"name": "a", "dataType": "INT32"},
            {"name": "t", "dataType": "INT32", "columnType": "INDEX"},
            {"name": "n", "dataType": "STRING", "columnType": "NULLABLE"}
        ]}),
    )
    .unwrap();
    let rows = || {
        session
            .get_table_data(&id.as_str().into(), Default::default())
            .unwrap()
            .frame
            .to_data_frame()
            .data
    };
    append(&session, &id, json!({"frame": {"columns": ["t", "a"], "data": [["2", "20"]]}}))
        .unwrap();
    append(
        &session,
        &id,
        json!({"frame": {"data": [["10", "1", "x"], ["30", "3", null]]}, "endOfData": null}),
    )
    .unwrap();
    let cell = |text: &str| Some(text.to_owned());
    let expected = [
        vec![cell("10"), cell("1"), cell("x")],
        vec![cell("20"), cell("2"), None],
        vec![cell("30"), cell("3"), None],
    ];
    assert_eq!(rows(), expected);
    let before = metadata(&session, &id);
    append(&session, &id, json!({"frame": {"data": []}, "endOfData": false})).unwrap();
    assert_eq!(metadata(&session, &id), before, "no rows: nothing changes");
    for bad in [
        json!({}),
        json!({"endOfData": false}),
        json!({"frame": {"columns": ["t"], "data": [["1"]]}}),
        json!({"frame": {"columns": ["t", "a", "x"], "data": [["1", "1", "1"]]}}),
        json!({"frame": {"columns": ["t", "a", "t"], "data": [["1", "1", "1"]]}}),
        json!({"frame": {"columns": ["t", "A"], "data": [["1", "1"]]}}),
        json!({"frame": {"columns": [], "data": [[]]}}),
        json!({"frame": {"columns": ["x"], "data": []}}),
        json!({"frame": {"data": [["1", "1"]]}}),
        json!({"frame": {"data": [["1", "1", "x", "y"]]}}),
        json!({"frame": {"data": [["1", null, "x"]]}}),
        json!({"frame": {"columns": ["t", "a"]}}),
        json!({"frame": {"data": [[1, 2, "x"]]}}),
        json!({"frame": {"data": [["1", "1", "x"], ["1", "x", "x"]]}, "endOfData": true}),
    ] {
        assert_eq!(kind(append(&session, &id, bad.clone())), BAD, "{bad}");
    }
    assert_eq!(metadata(&session, &id), before);
    // Duplicate index values are allowed. Rows and end of data may come in one request.
    append(&session, &id, json!({"frame": {"data": [["11", "1", "y"]]}, "endOfData": true}))
        .unwrap();
    assert_eq!(rows()[1], vec![cell("11"), cell("1"), cell("y")]);
    assert_eq!(metadata(&session, &id)["supportsAppend"], json!(false));
    for late in [
        json!({"endOfData": true}),
        json!({"frame": {"data": []}}),
        json!({"frame": {"data": [["1", "1", "x"]]}}),
    ] {
        let error = append(&session, &id, late).unwrap_err();
        assert_eq!(
            (error.kind(), name_of(&error).as_str()),
            (ErrorKind::Conflict, "DataFrame.TableClosed")
        );
    }
    // Closing without rows, and the forms of an Arrow append.
    let other = table(&session);
    let none = || std::iter::empty();
    assert_eq!(kind(session.append_batches(&other.as_str().into(), &mut none(), None)), BAD);
    assert_eq!(kind(session.append_batches(&other.as_str().into(), &mut none(), Some(false))), BAD);
    session.append_batches(&other.as_str().into(), &mut none(), Some(true)).unwrap();
    assert_eq!(metadata(&session, &other)["supportsAppend"], json!(false));
}

#[test]
fn rows_beyond_the_maximum_are_refused_whole() {
    let (_store, session) = opened(
        Store::options().maintenance_thread(false).table_rows_max(3).table_columns_max(2),
        Arc::new(MemoryDisk::default()),
    );
    let id = table(&session);
    append(&session, &id, json!({"frame": {"data": [["1", null], ["2", null]]}})).unwrap();
    let error =
        append(&session, &id, json!({"frame": {"data": [["3", null], ["4", null]]}})).unwrap_err();
    assert_eq!(
        (error.kind(), name_of(&error).as_str()),
        (ErrorKind::LimitExceeded, "DataFrame.TooManyRows")
    );
    append(&session, &id, json!({"frame": {"data": [["3", null]]}})).unwrap();
    assert_eq!(session.get_table_metadata(&id.as_str().into()).unwrap().row_count, Some(3));
    let mut many = columns();
    many.as_array_mut().unwrap().push(json!({"name": "w", "dataType": "BOOL"}));
    assert_eq!(kind(create(&session, json!({ "columns": many }))), ErrorKind::LimitExceeded);
}

fn texts(rows: &stationdb::tables::Rows) -> Vec<String> {
    let cell = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
    rows.to_data_frame()
        .data
        .into_iter()
        .map(|row| row.into_iter().map(cell).collect::<Vec<_>>().join(" "))
        .collect()
}

fn measured(session: &Session) -> String {
    let id = create(
        session,
        json!({"columns": [
            {"name": "t", "dataType": "INT32", "columnType": "INDEX"},
            {"name": "v", "dataType": "FLOAT32", "columnType": "NULLABLE"},
            {"name": "s", "dataType": "STRING", "columnType": "NULLABLE"},
            {"name": "b", "dataType": "BOOL", "columnType": "NULLABLE"}
        ]}),
    )
    .unwrap();
    append(session, &id, json!({"frame": {"data": [
        ["5", "0.1", "b", "true"], ["3", "NaN", "B", null], ["4", null, null, "false"], ["1", "-Infinity", "", "true"],
        ["2", "Infinity", "ab", "false"], ["3", "0.1", "b", "true"]
    ]}}))
    .unwrap();
    id
}

#[test]
fn reading_rows() {
    let (_store, session, _) = open();
    let id = measured(&session);
    let get = |request: Value| session.get_table_data(&id.as_str().into(), read(request)?);
    let rows = |request: Value| texts(&get(request).unwrap().frame);
    assert_eq!(rows(json!({"columns": ["t", "s"]})), ["1 ", "2 ab", "3 B", "3 b", "4 -", "5 b"]);
    assert_eq!(rows(json!({"columns": []}))[0], "1 -Infinity  true");
    assert_eq!(rows(json!({"columns": ["s", "t"], "take": 1})), [" 1"]);
    // NaN is ordered after infinity, nulls last in both directions, and ties by append in both
    // directions.
    assert_eq!(
        rows(json!({"columns": ["v"], "orderBy": ["v"]})),
        ["-Infinity", "0.1", "0.1", "Infinity", "NaN", "-"]
    );
    assert_eq!(rows(json!({"columns": ["t"], "orderBy": ["v"]})), ["1", "5", "3", "2", "3", "4"]);
    assert_eq!(
        rows(json!({"columns": ["t"], "orderBy": ["v"], "orderByDescending": true})),
        ["3", "2", "5", "3", "1", "4"]
    );
    assert_eq!(
        rows(json!({"columns": ["s"], "orderBy": ["s"]})),
        ["", "B", "ab", "b", "b", "-"],
        "by code point"
    );
    assert_eq!(
        rows(json!({"columns": ["t"], "orderBy": ["b", "t"]})),
        ["2", "4", "1", "3", "5", "3"]
    );
    assert_eq!(
        rows(json!({"columns": ["t"], "orderBy": ["t"], "orderByDescending": true})),
        ["5", "4", "3", "3", "2", "1"]
    );
    assert_eq!(
        rows(json!({"columns": ["s"], "orderBy": ["t"], "orderByDescending": true}))[2..4],
        ["B", "b"]
    );
    let page = get(json!({"take": 0})).unwrap();
    assert_eq!(
        (page.frame.row_count(), page.total_row_count, page.continuation_token),
        (0, 6, None)
    );
    let page = get(json!({"take": 6})).unwrap();
    assert_eq!((page.frame.row_count(), page.continuation_token), (6, None));
    assert!(get(json!({"take": 10_000})).is_ok());
    let token = get(json!({"take": 4})).unwrap().continuation_token.unwrap();
    for bad in [
        json!({"take": 10_001}),
        json!({"take": -1}),
        json!({"columns": ["x"]}),
        json!({"columns": ["t", "t"]}),
        json!({"orderBy": ["x"]}),
        json!({"continuationToken": "?"}),
        json!({"continuationToken": token, "orderBy": ["v"]}),
        json!({"continuationToken": token, "columns": ["v"]}),
    ] {
        assert_eq!(kind(get(bad.clone())), BAD, "{bad}");
    }
    let other = measured(&session);
    assert_eq!(
        kind(
            session.get_table_data(
                &other.as_str().into(),
                from(json!({ "continuationToken": token }))
            )
        ),
        BAD
    );
    assert_eq!(rows(json!({"continuationToken": token})).len(), 2);
    assert_eq!(rows(json!({"continuationToken": ""})).len(), 6);
    let rows_in =
        |request: Value| session.query_table_data(&id.as_str().into(), from(request)).unwrap();
    let page = rows_in(json!({
        "columns": ["t"], "orderBy": [{"column": "b", "descending": true}, {"column": "t"}], "take": 2,
        "filters": [{"column": "b", "operation": "NOT_EQUALS"}]
    }));
    assert_eq!(
        (texts(&page.frame), page.total_row_count),
        (vec!["1".to_owned(), "3".to_owned()], 5)
    );
    session.delete_table(&id.as_str().into()).unwrap();
    assert_eq!(kind(get(json!({"continuationToken": token}))), ErrorKind::NotFound);
}

#[test]
fn filters_of_rows_treat_null_nan_and_not_equals_as_stated() {
    let (_store, session, _) = open();
    let id = measured(&session);
    let query = |filter: Value| {
        session
            .query_table_data(
                &id.as_str().into(),
                read(json!({"columns": ["t"], "filters": [filter]}))?,
            )
            .map(|page| {
                assert_eq!(page.total_row_count, page.frame.row_count() as u64);
                texts(&page.frame).join(" ")
            })
    };
    for (column, operation, value, expected) in [
        ("t", "EQUALS", json!("3"), "3 3"),
        ("t", "NOT_EQUALS", json!("3"), "1 2 4 5"),
        ("t", "LESS_THAN", json!("3"), "1 2"),
        ("t", "LESS_THAN_EQUALS", json!("3"), "1 2 3 3"),
        ("t", "GREATER_THAN", json!("3"), "4 5"),
        ("t", "GREATER_THAN_EQUALS", json!("+03"), "3 3 4 5"),
        ("t", "EQUALS", Value::Null, ""),
        ("t", "NOT_EQUALS", Value::Null, "1 2 3 3 4 5"),
        ("v", "EQUALS", json!("0.1"), "3 5"),
        ("v", "NOT_EQUALS", json!("0.1"), "1 2 3 4"),
        ("v", "NOT_EQUALS", json!("NaN"), "1 2 3 4 5"),
        ("v", "EQUALS", Value::Null, "4"),
        ("v", "NOT_EQUALS", Value::Null, "1 2 3 3 5"),
        ("v", "EQUALS", json!("Infinity"), "2"),
        ("v", "LESS_THAN", json!("Infinity"), "1 3 5"),
        ("v", "GREATER_THAN_EQUALS", json!("-Infinity"), "1 2 3 5"),
        ("s", "EQUALS", json!("b"), "3 5"),
        ("s", "NOT_EQUALS", json!("b"), "1 2 3 4"),
        ("s", "CONTAINS", json!("b"), "2 3 5"),
        ("s", "CONTAINS", json!(""), "1 2 3 3 5"),
        ("s", "NOT_CONTAINS", json!("b"), "1 3 4"),
        ("s", "EQUALS", json!(""), "1"),
        ("s", "EQUALS", Value::Null, "4"),
        ("b", "EQUALS", json!("TRUE"), "1 3 5"),
        ("b", "LESS_THAN", json!("true"), "2 4"),
        ("b", "GREATER_THAN_EQUALS", json!("false"), "1 2 3 4 5"),
    ] {
        let filter = json!({"column": column, "operation": operation, "value": value});
        assert_eq!(query(filter.clone()).unwrap(), expected, "{filter}");
    }
    for bad in [
        json!({"column": "t", "operation": "CONTAINS", "value": "1"}),
        json!({"column": "b", "operation": "NOT_CONTAINS", "value": "t"}),
        json!({"column": "s", "operation": "LESS_THAN", "value": "b"}),
        json!({"column": "s", "operation": "GREATER_THAN_EQUALS", "value": "b"}),
        json!({"column": "t", "operation": "LESS_THAN"}),
        json!({"column": "s", "operation": "CONTAINS", "value": null}),
        json!({"column": "v", "operation": "EQUALS", "value": "NaN"}),
        json!({"column": "v", "operation": "LESS_THAN", "value": "NaN"}),
        json!({"column": "t", "operation": "NOT_EQUALS", "value": "NaN"}),
        json!({"column": "t", "operation": "EQUALS", "value": "1.5"}),
        json!({"column": "t", "operation": "EQUALS", "value": "2147483648"}),
        json!({"column": "b", "operation": "EQUALS", "value": "1"}),
        json!({"column": "x", "operation": "EQUALS", "value": "1"}),
        json!({"column": "t", "value": "1"}),
        json!({"operation": "EQUALS", "value": "1"}),
    ] {
        assert_eq!(kind(query(bad.clone())), BAD, "{bad}");
    }
}

#[test]
fn exports() {
    let (_store, session, _) = open();
    let id = measured(&session);
    let export = |request: Value| {
        let mut out = Vec::new();
        let count = session.export_table_data(
            &id.as_str().into(),
            read(request)?,
            &mut out,
            &Control::default(),
        )?;
        Ok::<_, Error>((count, String::from_utf8(out).unwrap()))
    };
    let text = |request: Value| export(request).unwrap().1;
    assert_eq!(
        text(json!({"responseFormat": "CSV"})),
        "t,v,s,b\n1,-Infinity,\"\",true\n2,Infinity,ab,false\n3,NaN,B,\n3,0.1,b,true\n4,,,false\n5,0.1,b,true\n"
    );
    assert_eq!(
        export(json!({"responseFormat": "CSV", "take": 0, "columns": ["b", "t"]})).unwrap(),
        (0, "b,t\n".into())
    );
    assert_eq!(
        text(json!({"responseFormat": "CSV", "columns": ["s"], "take": 3})),
        "s\n\"\"\nab\nB\n"
    );
    // A null in the only column is an empty line.
    let nulls = json!([{"column": "s", "operation": "EQUALS"}]);
    assert_eq!(
        text(
            json!({"responseFormat": "CSV", "columns": ["s"], "filters": nulls, "destination": "DOWNLOAD_LINK"})
        ),
        "s\n\n"
    );
    let order = json!([{"column": "v", "descending": true}]);
    assert_eq!(
        text(json!({"responseFormat": "CSV", "columns": ["t"], "orderBy": order, "take": 2})),
        "t\n3\n2\n"
    );
    let none = json!([{"column": "t", "operation": "LESS_THAN", "value": "0"}]);
    assert_eq!(text(json!({"responseFormat": "CSV", "columns": ["t"], "filters": none})), "t\n");
    for bad in
        [json!({}), json!({"responseFormat": "XML"}), json!({"responseFormat": "CSV", "take": -1})]
    {
        assert_eq!(kind(export(bad.clone())), BAD, "{bad}");
    }
}

#[test]
fn decimation() {
    let (_store, session, _) = open();
    let id = measured(&session);
    let decimate = |request: Value| {
        session
            .query_decimated_data(&id.as_str().into(), read(request)?)
            .map(|rows| texts(&rows.frame).join(", "))
    };
    let kept =
        |options: Value| decimate(json!({"columns": ["t", "s"], "decimation": options})).unwrap();
    assert_eq!(
        decimate(json!({"columns": ["t"]})).unwrap(),
        "1, 2, 3, 3, 4, 5",
        "no more rows than intervals: all"
    );
    assert_eq!(kept(json!({"intervals": 3})), "1 , 3 B, 5 b");
    assert_eq!(kept(json!({"intervals": 1})), "1 ");
    // LOSSY ignores y columns, but rejects unknown names.
    assert_eq!(kept(json!({"intervals": 1, "yColumns": ["s"]})), "1 ");
    assert_eq!(kept(json!({"method": "MAX_MIN", "intervals": 1, "yColumns": ["v"]})), "1 , 2 ab");
    assert_eq!(
        kept(json!({"method": "ENTRY_EXIT", "intervals": 1, "yColumns": ["v"]})),
        "1 , 2 ab, 5 b"
    );
    assert_eq!(
        kept(json!({"method": "MAX_MIN", "intervals": 2, "yColumns": ["t"]})),
        "1 , 3 B, 3 b, 5 b"
    );
    assert_eq!(
        kept(json!({"method": "max_min", "intervals": 1, "yColumns": ["t", "v"], "xColumn": null})),
        "1 , 2 ab, 5 b"
    );
    // Rows without x are omitted. Rows with equal x are in order of append.
    assert_eq!(kept(json!({"xColumn": "v", "intervals": 9})), "1 , 5 b, 3 b, 2 ab");
    let filtered = json!({
        "columns": ["t"], "filters": [{"column": "b", "operation": "EQUALS", "value": "false"}],
        "decimation": {"method": "ENTRY_EXIT", "yColumns": ["v"], "intervals": 5}
    });
    assert_eq!(decimate(filtered).unwrap(), "2, 4");
    let none = json!({"columns": ["t"], "filters": [{"column": "t", "operation": "LESS_THAN", "value": "0"}]});
    let empty = session.query_decimated_data(&id.as_str().into(), from(none)).unwrap();
    assert_eq!(
        serde_json::to_value(&empty).unwrap(),
        json!({"frame": {"columns": ["t"], "data": []}})
    );
    for bad in [
        json!({"intervals": 0}),
        json!({"intervals": -1}),
        json!({"method": "MAX_MIN"}),
        json!({"method": "ENTRY_EXIT", "yColumns": []}),
        json!({"method": "MAX_MIN", "yColumns": ["b"]}),
        json!({"method": "MAX_MIN", "yColumns": ["x"]}),
        json!({"yColumns": ["x"]}),
        json!({"xColumn": "b"}),
        json!({"xColumn": "s"}),
        json!({"xColumn": "x"}),
        json!({"method": "AVERAGE"}),
        json!({"distribution": "RANDOM"}),
    ] {
        assert_eq!(kind(decimate(json!({ "decimation": bad }))), BAD, "{bad}");
    }
}

#[test]
fn api_info_tells_the_versions() {
    let (_store, session, _) = open();
    let info = serde_json::to_value(session.table_api_info().unwrap()).unwrap();
    let version = |version: u32| json!({"available": true, "version": version});
    assert_eq!(
        info["operations"],
        json!({
            "createTables": version(2), "deleteTables": version(1), "modifyMetadata": version(2),
            "listTables": version(2), "readData": version(4), "writeData": version(2)
        })
    );
}

/// A builder can express every change that JSON can: null clears a member or removes a key.
#[test]
fn builders_clear_members_and_remove_keys() {
    let (_store, session, _) = open();
    let column = json!({"name": "t", "dataType": "INT32", "columnType": "INDEX", "properties": {"unit": "s", "old": "1"}});
    let table = json!({"columns": [column], "name": "n", "testResultId": "7", "properties": {"a": "1", "b": "2", "c": "3"}});
    let id = create(&session, table).unwrap();
    // No entry is lost, in whatever order the methods are called.
    let column = || ColumnMetadataPatch::new("t");
    for column in [
        column().properties([("unit", "ms")]).remove_properties(["old"]),
        column().remove_properties(["old"]).properties([("unit", "ms")]),
    ] {
        let request = json!({"name": "t", "properties": {"old": null, "unit": "ms"}});
        assert_eq!(serde_json::to_value(column).unwrap(), request);
    }
    let request = ModifyTableRequest::new()
        .clear_name()
        .clear_test_result_id()
        .remove_properties(["a"])
        .properties([("b", "4")])
        .properties([("d", "5")])
        .columns([column().remove_properties(["old"])]);
    session.modify_table(&id.as_str().into(), request).unwrap();
    let found = metadata(&session, &id);
    assert_eq!(found["name"], id.as_str());
    assert_eq!(found["testResultId"], Value::Null);
    assert_eq!(found["properties"], json!({"b": "4", "c": "3", "d": "5"}));
    assert_eq!(found["columns"][0]["properties"], json!({"unit": "s"}));

    let change = TableMetadataModification::new(id.as_str())
        .remove_properties(["b", "x"])
        .properties([("c", "6")]);
    assert_eq!(session.modify_tables(ModifyTablesRequest::new([change])).unwrap(), None);
    assert_eq!(metadata(&session, &id)["properties"], json!({"c": "6", "d": "5"}));
}
