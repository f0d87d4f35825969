//! Records of any kind as batches: the same records as the queries of their services, for each
//! caller those that it may see.

use crate::prelude::*;

use stationdb::arrow::array::{Array, AsArray, RecordBatch};
use stationdb::arrow::datatypes::{DataType, TimestampMillisecondType};

/// GUESTS see the workspace `open`.
const GUESTS: Rule = Rule(|who, _, _| match who.user_id() {
    "guest" => Visibility::workspaces(["open"]),
    "stranger" => Visibility::None,
    _ => Visibility::All,
});

fn store() -> Store {
    let clock = ManualClock::new("2024-03-02T00:00:00Z".parse().unwrap());
    let options = Store::options().maintenance_thread(false).clock(clock).access_policy(GUESTS);
    options.open_disk(Arc::new(MemoryDisk::default())).unwrap()
}

fn scan(session: &Session, asked: Value) -> Vec<RecordBatch> {
    let stream = session.scan_records(request(asked), &Control::default()).unwrap();
    let schema = stream.schema();
    let batches: Vec<RecordBatch> = stream.map(Result::unwrap).collect();
    assert!(batches.iter().all(|batch| batch.schema() == schema && batch.num_rows() > 0));
    batches
}

fn texts(batches: &[RecordBatch], column: &str) -> Vec<Option<String>> {
    let values = |batch: &RecordBatch| {
        let array = batch.column_by_name(column).unwrap().as_string::<i32>().clone();
        array.iter().map(|text| text.map(str::to_owned)).collect::<Vec<_>>()
    };
    batches.iter().flat_map(values).collect()
}

fn records(batches: &[RecordBatch]) -> Vec<Value> {
    let parsed = |text: Option<String>| serde_json::from_str(&text.unwrap()).unwrap();
    texts(batches, "record").into_iter().map(parsed).collect()
}

#[test]
fn products_are_scanned_in_batches_with_filter_take_and_columns() {
    let store = store();
    let session = store.session(Identity::user("ada"));
    let product = |at: i32| {
        request(json!({
            "partNumber": format!("P-{at:04}"), "family": format!("F{}", at % 3),
            "workspace": if at % 2 == 0 { "open" } else { "closed" },
            "keywords": ["k", format!("k{at}")], "properties": { "n": at.to_string() },
        }))
    };
    for from in [0, 1000, 2000] {
        let _ = session.create_products((from..from + 1000).map(product).collect()).unwrap();
    }
    let all = scan(&session, json!({ "kind": "PRODUCT" }));
    assert!(all.len() > 1, "several batches");
    assert_eq!(texts(&all, "part_number").len(), 3000);
    let query = json!({ "take": 1000, "orderBy": "ID" });
    let page = session.query_products(request(query)).unwrap();
    let shown: Vec<Value> =
        page.products.iter().map(|product| serde_json::to_value(product).unwrap()).collect();
    assert_eq!(records(&all)[..1000], shown);
    let first = &all[0];
    let updated = first.column_by_name("updated_at").unwrap();
    assert_eq!(
        updated.as_primitive::<TimestampMillisecondType>().value(0),
        page.products[0].updated_at.unwrap().timestamp_millis()
    );
    let words = first.column_by_name("keywords").unwrap().as_list::<i32>().value(1);
    assert_eq!(words.as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["k", "k1"]);
    let pairs = first.column_by_name("properties").unwrap().as_map().value(1);
    assert_eq!(pairs.column(0).as_string::<i32>().value(0), "n");
    assert_eq!(pairs.column(1).as_string::<i32>().value(0), "1");

    let asked = json!({ "kind": "PRODUCT", "filter": "family == @0", "substitutions": ["F1"],
        "columns": ["family", "part_number"] });
    let found = scan(&session, asked.clone());
    assert_eq!(found[0].num_columns(), 2);
    assert_eq!(texts(&found, "part_number").len(), 1000);
    assert!(texts(&found, "family").iter().all(|family| family.as_deref() == Some("F1")));
    let mut few = asked;
    few["take"] = json!(7);
    assert_eq!(texts(&scan(&session, few), "part_number"), texts(&found, "part_number")[..7]);
    for take in [0, 1, 1024, 1025, 5000] {
        let taken = scan(&session, json!({ "kind": "PRODUCT", "take": take }));
        let expected = take.min(3000) as usize;
        assert_eq!(texts(&taken, "part_number"), texts(&all, "part_number")[..expected]);
    }
    let guest = store.session(Identity::user("guest"));
    for filter in [Value::Null, json!("family != \"x\"")] {
        let asked = json!({ "kind": "PRODUCT", "filter": filter, "columns": ["workspace"] });
        let seen = texts(&scan(&guest, asked.clone()), "workspace");
        assert!(seen.len() == 1500 && seen.iter().all(|w| w.as_deref() == Some("open")));
        assert!(scan(&store.session(Identity::user("stranger")), asked).is_empty());
    }
}

#[test]
fn members_of_objects_and_parts_have_columns() {
    let store = store();
    let session = store.session(Identity::user("ada"));
    let items = json!([
        { "name": "a", "type": "t", "state": "NEW", "partNumber": "P",
          "timeline": { "dueDateTime": "2024-05-01T00:00:00Z" } },
        { "name": "b", "type": "t", "state": "DEFINED", "partNumber": "P" },
    ]);
    let _ = session.create_work_items(request(items)).unwrap();
    let batches = scan(&session, json!({ "kind": "WORK_ITEM", "columns": ["timeline", "state"] }));
    let timeline = batches[0].column_by_name("timeline").unwrap().as_struct();
    let due = timeline.column_by_name("due_date_time").unwrap();
    assert_eq!(due.as_primitive::<TimestampMillisecondType>().value(0), 1_714_521_600_000);
    assert!(due.is_null(1) && timeline.is_null(1) && timeline.is_valid(0));
    assert_eq!(texts(&batches, "state"), [Some("NEW".to_owned()), Some("DEFINED".to_owned())]);

    let product = session.create_products(vec![request(json!({ "partNumber": "P" }))]).unwrap();
    let spec = json!({ "productId": product.products[0].id, "specId": "S", "type": "PARAMETRIC",
        "limit": { "min": 1, "max": 2.5 },
        "conditions": [{ "name": "temp", "value": { "conditionType": "NUMERIC", "unit": "C" } }] });
    let made = session.create_specs(request(json!({ "specs": [spec] }))).unwrap();
    assert!(made.failed_specs.is_none(), "{:?}", made.error);
    let batches = scan(&session, json!({ "kind": "SPECIFICATION" }));
    let limit = batches[0].column_by_name("limit").unwrap().as_struct();
    let min = limit.column_by_name("min").unwrap();
    assert_eq!(min.as_primitive::<stationdb::arrow::datatypes::Float64Type>().value(0), 1.0);
    let conditions = batches[0].column_by_name("conditions").unwrap().as_list::<i32>().value(0);
    let names = conditions.as_struct().column_by_name("name").unwrap();
    assert_eq!(names.as_string::<i32>().value(0), "temp");
}

#[test]
fn every_kind_has_a_schema_and_a_stream() {
    let store = store();
    let session = store.session(Identity::user("ada"));
    session.create_workspace(request(json!({ "id": "default", "name": "d" }))).unwrap();
    for kind in RecordKind::ALL {
        let schema = session.record_schema(*kind).unwrap();
        let record = schema.field(schema.fields().len() - 1);
        assert_eq!((record.name().as_str(), record.data_type()), ("record", &DataType::Utf8));
        let names: std::collections::BTreeSet<_> =
            schema.fields().iter().map(|field| field.name()).collect();
        assert_eq!(names.len(), schema.fields().len(), "{kind}");
        assert!(
            names.contains(&"workspace".to_owned()) || *kind == RecordKind::Workspace,
            "{kind}"
        );
        let stream = session.scan_records(ScanRecordsRequest::new(*kind), &Control::default());
        assert_eq!(stream.unwrap().schema(), schema, "{kind}");
    }
    assert_eq!(scan(&session, json!({ "kind": "WORKSPACE" })).len(), 1);
}

#[test]
fn faulty_scans_are_refused_at_once() {
    let store = store();
    let session = store.session(Identity::user("ada"));
    let refused = |session: &Session, asked: Value| {
        let error = session.scan_records(request(asked), &Control::default()).unwrap_err();
        (error.kind(), error.place().map(ToString::to_string).unwrap_or_default())
    };
    let invalid = ErrorKind::InvalidArgument;
    for (asked, place) in [
        (json!({ "kind": "ASSET", "columns": ["name", "nonsense"] }), "columns[1]"),
        (json!({ "kind": "ASSET", "take": -1 }), "take"),
        (json!({ "kind": "ASSET", "filter": "nonsense == 1" }), "character 0"),
    ] {
        let (kind, at) = refused(&session, asked.clone());
        assert_eq!(kind, invalid, "{asked}");
        assert!(at.contains(place), "{asked}: {at}");
    }
    let in_transaction = session.transaction(|transaction| {
        transaction.scan_records(ScanRecordsRequest::new(RecordKind::Asset), &Control::default())
    });
    assert_eq!(in_transaction.unwrap_err().kind(), ErrorKind::Unsupported);
    let _ = session.create_products(vec![request(json!({ "partNumber": "P" }))]).unwrap();
    let control = Control::default();
    let asked = ScanRecordsRequest::new(RecordKind::Product);
    let mut stream = session.scan_records(asked, &control).unwrap();
    control.cancel();
    assert_eq!(stream.next().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(stream.next().is_none());
}

#[test]
fn a_stream_sees_one_state() {
    let store = store();
    let session = store.session(Identity::user("ada"));
    let many = |from: i32| {
        let product = |at: i32| request(json!({ "partNumber": format!("P-{at}") }));
        let _ = session.create_products((from..from + 1500).map(product).collect()).unwrap();
    };
    many(0);
    let mut stream = session
        .scan_records(ScanRecordsRequest::new(RecordKind::Product), &Control::default())
        .unwrap();
    let mut count = stream.next().unwrap().unwrap().num_rows();
    many(1500);
    count += stream.map(|batch| batch.unwrap().num_rows()).sum::<usize>();
    assert_eq!(count, 1500);
}
