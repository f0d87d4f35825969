//! A session over one snapshot: every read sees one state, whatever is written meanwhile.

use crate::prelude::*;

fn store() -> Store {
    let clock = ManualClock::new("2024-03-02T00:00:00Z".parse().unwrap());
    let options = Store::options().maintenance_thread(false).seal_rows(1).clock(clock);
    options.open_disk(Arc::new(MemoryDisk::default())).unwrap()
}

fn request<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn products(session: &Session) -> Vec<String> {
    let page = session.query_products(Default::default()).unwrap();
    page.products.into_iter().filter_map(|product| product.part_number).collect()
}

#[test]
fn every_read_sees_the_snapshot() {
    let store = store();
    let session = store.session(Identity::user("ada"));
    let create = |part: &str| {
        let product = request(json!({ "partNumber": part }));
        session.create_products(vec![product]).unwrap().require_all().unwrap();
    };
    create("P-1");
    let columns = json!([{ "name": "t", "dataType": "INT64", "columnType": "INDEX" }]);
    let id = session.create_table(request(json!({ "columns": columns }))).unwrap();
    let append = |from: i64| {
        let rows: Vec<_> = (from..from + 10).map(|at| json!([at.to_string()])).collect();
        let frame: AppendTableDataRequest = request(json!({ "frame": { "data": rows } }));
        session.append_table_data(&id, frame).unwrap();
    };
    append(0);
    append(5);
    let pinned = session.pinned();
    let position = pinned.position();
    let rows = |session: &Session| {
        let page = session.get_table_data(&id, GetTableDataRequest::default()).unwrap();
        let mut scanned = 0;
        for batch in session.scan(&id, ScanRequest::default(), &Control::default()).unwrap() {
            scanned += batch.unwrap().num_rows() as u64;
        }
        assert_eq!(page.total_row_count, scanned);
        let table = session.get_table_metadata(&id).unwrap();
        assert_eq!(table.row_count, Some(scanned as i64));
        scanned
    };
    let scanned = |session: &Session| {
        let asked = ScanRecordsRequest::new(RecordKind::Product);
        let stream = session.scan_records(asked, &Control::default()).unwrap();
        stream.map(|batch| batch.unwrap().num_rows()).sum::<usize>()
    };
    create("P-2");
    append(20);
    // Seals, merges, and removes what no snapshot needs.
    for _ in 0..3 {
        store.maintain(&Control::default()).unwrap();
    }
    let older = pinned.clone().pinned();
    assert_eq!((products(&pinned), rows(&pinned)), (vec!["P-1".to_owned()], 20));
    assert_eq!((products(&older), rows(&older)), (vec!["P-1".to_owned()], 20));
    assert_eq!((products(&session).len(), rows(&session)), (2, 30));
    assert_eq!((scanned(&pinned), scanned(&session)), (1, 2));
    assert!(older.position() == position && session.position() != position);
    let found = |session: &Session| {
        let hits = session.search(request(json!({ "query": "P", "kinds": ["product"] })));
        hits.map(|hits| hits.hits.len()).unwrap_or_default()
    };
    let expected = if cfg!(feature = "search") { (1, 2) } else { (0, 0) };
    assert_eq!((found(&pinned), found(&session)), expected);
    session.delete_table(&id).unwrap();
    store.maintain(&Control::default()).unwrap();
    assert_eq!(rows(&pinned), 20);
    assert_eq!(session.get_table_metadata(&id).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn nothing_is_written_through_a_snapshot() {
    let store = store();
    let session = store.session(Identity::user("ada"));
    let columns = json!([{ "name": "t", "dataType": "INT64", "columnType": "INDEX" }]);
    let id = session.create_table(request(json!({ "columns": columns }))).unwrap();
    let pinned = session.pinned();
    let control = Control::default();
    let refusals = [
        pinned.create_products(vec![request(json!({ "partNumber": "P" }))]).map(drop),
        pinned.transaction(|_| Ok(())),
        pinned.delete_table(&id),
        pinned.export_segments(&id, &mut |_| Ok(()), &control).map(drop),
        pinned.write_file(&control).map(drop),
        pinned.start_upload_session(None).map(drop),
    ];
    for (number, refused) in refusals.into_iter().enumerate() {
        let error = refused.expect_err(&format!("number {number}"));
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{number}: {error}");
        assert!(error.message().contains("snapshot"), "{number}: {error}");
    }
    assert!(products(&session).is_empty());
    assert!(session.get_table_metadata(&id).is_ok());
}
