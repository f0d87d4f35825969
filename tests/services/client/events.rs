//! The change feed and search hits, as subscribers see them.

use serde_json::{Value, json};
use stationdb::files::UploadFileRequest;
use stationdb::prelude::*;
use stationdb::search::SearchRequest;
use stationdb::{ChangeEvent, Position, What};

use super::Client;

/// The change events of all commits.
fn told(client: &Client) -> Vec<ChangeEvent> {
    let mut changes = client.session.changes(Position::START);
    std::iter::from_fn(|| changes.poll().unwrap()).collect()
}

#[test]
fn closing_a_table_together_with_its_last_rows_tells_both() {
    let client = Client::new();
    let id = client.get(
        "create_table",
        json!({"columns": [{"name": "t", "dataType": "INT64", "columnType": "INDEX"}]}),
    );
    let id = id.as_str().unwrap();
    let append = |rows: Value, end: bool| {
        let frame = json!({"frame": {"columns": ["t"], "data": rows}, "endOfData": end});
        client.session.append_table_data(&id.into(), super::read(&frame).unwrap()).unwrap();
    };
    append(json!([["1"]]), false);
    append(json!([["2"], ["3"]]), true);
    let events = told(&client);
    let what: Vec<_> = events.iter().map(|event| (event.what, event.detail.clone())).collect();
    assert_eq!(
        what,
        [
            (What::Created, None),
            (What::RowsAppended, Some(json!({"rowCount": 1}))),
            (What::RowsAppended, Some(json!({"rowCount": 2}))),
            (What::Closed, None),
        ]
    );
    assert_eq!(events[2].sequence, events[3].sequence, "one commit");
}

#[test]
fn kinds_of_events_and_hits_are_lower_case_words() {
    let client = Client::new();
    client.get("create_products", json!([{"partNumber": "P-1", "name": "finder"}]));
    client.get(
        "create_specs",
        json!({"specs": [{"productId": "p", "specId": "finder", "type": "FUNCTIONAL"}]}),
    );
    client.get(
        "create_assets",
        json!([{"modelName": "finder", "vendorName": "v", "serialNumber": "1",
        "location": {"state": {"assetPresence": "PRESENT"}}}]),
    );
    client.get(
        "start_utilization",
        json!({"assetIdentifications": [
        {"modelName": "finder", "vendorName": "v", "serialNumber": "1"}]}),
    );
    client.get("create_work_items", json!({"workItems": [{"name": "finder"}]}));
    let file =
        UploadFileRequest { name: Some("finder".to_owned()), ..UploadFileRequest::default() };
    client.session.upload_file(&mut &b"x"[..], file, &stationdb::Control::default()).unwrap();

    let events: Vec<_> = told(&client).iter().map(|event| event.kind).collect();
    assert_eq!(
        events,
        ["product", "specification", "asset", "asset utilization", "work item", "file"]
    );
    let request = SearchRequest {
        text: Some("finder".to_owned()),
        facets: Some(true),
        ..SearchRequest::default()
    };
    let answer = client.session.search(request).unwrap();
    let mut hits: Vec<_> = answer.hits.iter().map(|hit| hit.kind.as_str()).collect();
    hits.sort_unstable();
    assert_eq!(hits, ["asset", "file", "product", "specification", "work item"]);
    let mut facets: Vec<_> =
        answer.facets.unwrap().kinds.into_iter().map(|facet| facet.value).collect();
    facets.sort_unstable();
    assert_eq!(facets, hits);
}
