//! The change feed and search hits, as subscribers see them.

use crate::prelude::*;

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

/// One of each kind, in the order in which they are made.
fn one_of_each(client: &Client) {
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
    client.get(
        "create_work_item_templates",
        json!({"workItemTemplates": [{"name": "finder", "templateGroup": "g", "type": "t"}]}),
    );
    client.get("create_work_items", json!({"workItems": [{"name": "finder"}]}));
    client.get(
        "create_test_plan_templates",
        json!({"testPlanTemplates": [{"name": "finder", "templateGroup": "g"}]}),
    );
    client.get("create_test_plans", json!({"testPlans": [{"name": "finder"}]}));
    let columns = json!([{"name": "t", "dataType": "INT64", "columnType": "INDEX"}]);
    client.get("create_table", json!({"name": "finder", "columns": columns}));
    let control = Control::default();
    let s = &client.session;
    s.upload_file(&mut &b"x"[..], UploadFileRequest::new().name("finder"), &control).unwrap();
    s.start_upload_session(None).unwrap();
    let feed = client.get("create_feed", json!({"name": "finder", "platform": "NI_LINUX_RT"}));
    let feed = feed["id"].as_str().unwrap().into();
    let archive = crate::feeds::deb("finder", "1.0");
    s.upload_package_content(&feed, &mut archive.as_slice(), None, false, &control).unwrap();
    s.create_workspace(CreateWorkspaceRequest::new("finder").id("lab")).unwrap();
    s.set_quota(SetQuotaRequest::new("lab").records_max(9_u64)).unwrap();
}

/// The last column of the table of kinds in the reference.
fn kinds_of_the_reference() -> Vec<&'static str> {
    let page = include_str!("../../../docs/reference/README.md");
    let table = page.split("| Kind in events and hits |").nth(1).unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.rsplit('`').nth(1).unwrap()).collect()
}

#[test]
fn kinds_of_events_and_hits_are_lower_case_words() {
    let client = Client::new();
    one_of_each(&client);
    let created = |event: &ChangeEvent| event.what == What::Created;
    let events: Vec<_> =
        told(&client).iter().filter(|event| created(event)).map(|event| event.kind).collect();
    assert_eq!(
        events,
        [
            "product",
            "specification",
            "asset",
            "asset utilization",
            "work item template",
            "work item",
            "test plan template",
            "test plan",
            "table",
            "file",
            "upload session",
            "feed",
            "package",
            "workspace",
            "quota",
        ]
    );
    let (mut events, mut known) = (events, kinds_of_the_reference());
    events.sort_unstable();
    known.sort_unstable();
    assert_eq!(events, known, "the table in docs/reference/README.md");
    let request = SearchRequest::new().text("finder").facets(true);
    let answer = client.session.search(request).unwrap();
    let mut hits: Vec<_> = answer.hits.iter().map(|hit| hit.kind.as_str()).collect();
    hits.sort_unstable();
    assert_eq!(
        hits,
        [
            "asset",
            "feed",
            "file",
            "package",
            "product",
            "specification",
            "table",
            "test plan",
            "test plan template",
            "work item",
            "work item template",
        ]
    );
    let mut facets: Vec<_> =
        answer.facets.unwrap().kinds.into_iter().map(|facet| facet.value).collect();
    facets.sort_unstable();
    assert_eq!(facets, hits);
}
