//! Lists and maps that are part of a response are written even if they are empty.

use crate::prelude::*;

use super::{Client, assert_has};
use crate::feeds::{deb, upload};

/// Checks that the members exist and are empty, and that no other collection is absent.
fn assert_empty(found: &Value, lists: &[&str], maps: &[&str]) {
    for list in lists {
        assert_eq!(found[list], json!([]), "{list} of {found}");
    }
    for map in maps {
        assert_eq!(found[map], json!({}), "{map} of {found}");
    }
}

#[test]
fn products_write_their_collections_unless_a_projection_drops_them() {
    let client = Client::new();
    let (lists, maps) = (["fileIds", "keywords"], ["properties"]);
    let made = client.get("create_products", json!([{"partNumber": "P"}]));
    let id = made["products"][0]["id"].clone();
    let updated = client.get("update_products", json!({"products": [{"id": id, "name": "n"}]}));
    let queried = client.get("query_products", json!({}));
    for product in [&made["products"][0], &updated["products"][0], &queried["products"][0]] {
        assert_empty(product, &lists, &maps);
    }
    assert_empty(&client.get("get_product", json!({"id": id})), &lists, &maps);
    let page = client.get("query_products", json!({"projection": ["KEYWORDS", "PROPERTIES"]}));
    assert_eq!(page["products"][0], json!({"keywords": [], "properties": {}}));
    // Filters still see null, as stored.
    assert_eq!(
        client.get("query_products", json!({"filter": "keywords = null"}))["products"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn specifications_write_their_collections_unless_a_projection_drops_them() {
    let client = Client::new();
    let specs = json!({"specs": [
        {"productId": "p", "specId": "1", "type": "FUNCTIONAL"},
        {"productId": "p", "specId": "2", "type": "FUNCTIONAL", "conditions": [
            {"name": "a", "value": {"conditionType": "NUMERIC", "discrete": [1]}},
            {"name": "b", "value": {"conditionType": "STRING"}}, {"name": "c"}]},
    ]});
    let made = client.get("create_specs", specs);
    let id = made["createdSpecs"][0]["id"].clone();
    assert_empty(
        &client.get("get_spec", json!({"id": id})),
        &["conditions", "keywords"],
        &["properties"],
    );
    let page = client.get("query_specs", json!({"productIds": ["p"], "orderBy": "SPEC_ID"}));
    assert_empty(&page["specs"][0], &["conditions", "keywords"], &["properties"]);
    assert_eq!(
        page["specs"][1]["conditions"],
        json!([{"name": "a", "value": {"conditionType": "NUMERIC", "range": [], "discrete": [1]}},
            {"name": "b", "value": {"conditionType": "STRING", "discrete": []}}, {"name": "c"}])
    );
    let projection = json!({"productIds": ["p"], "projection": ["CONDITION_NAME", "KEYWORDS"], "orderBy": "SPEC_ID"});
    let page = client.get("query_specs", projection);
    assert_eq!(page["specs"][0], json!({"conditions": [], "keywords": []}));
    assert_eq!(
        page["specs"][1]["conditions"],
        json!([{"name": "a"}, {"name": "b"}, {"name": "c"}])
    );
}

#[test]
fn assets_write_their_collections_unless_a_projection_drops_them() {
    let client = Client::new();
    let lists = ["temperatureSensors", "keywords", "fileIds"];
    let request = json!({"modelName": "m", "vendorName": "v", "serialNumber": "1",
        "location": {"state": {"assetPresence": "PRESENT"}}, "selfCalibration": {"date": "2024-01-01T00:00:00Z"},
        "externalCalibration": {"date": "2024-01-01T00:00:00Z", "recommendedInterval": 1,
            "nextRecommendedDate": "2024-02-01T00:00:00Z"}});
    let made = client.get("create_assets", json!([request]));
    let id = made["assets"][0]["id"].clone();
    let updated = client.get("update_assets", json!([{"id": id, "name": "n"}]));
    let queried = client.get("query_assets", json!({}));
    for asset in [&made["assets"][0], &updated["assets"][0], &queried["assets"][0]] {
        assert_empty(asset, &lists, &["properties"]);
        assert_empty(&asset["selfCalibration"], &["temperatureSensors"], &[]);
        assert_empty(&asset["externalCalibration"], &["temperatureSensors"], &[]);
    }
    assert_empty(&client.get("get_asset", json!({"id": id})), &lists, &["properties"]);
    let page = client.get("query_assets", json!({"projection": ["KEYWORDS"]}));
    assert_eq!(page["assets"][0], json!({"keywords": []}));
}

#[test]
fn work_items_test_plans_and_templates_write_their_collections() {
    let client = Client::new();
    let actions = json!([{"type": "JOB", "action": "A"}, {"type": "NOTEBOOK", "action": "B", "notebookId": "n"}]);
    let told = json!([{"type": "JOB", "action": "A", "jobs": []},
        {"type": "NOTEBOOK", "action": "B", "notebookId": "n", "parameters": {}}]);
    let item = json!({"name": "a", "resources": {"systems": {"filter": "f"}, "duts": {}}, "dashboard": {"id": "d"},
        "executionActions": actions});
    client.get("create_work_items", json!({"workItems": [{"name": "b"}, item]}));
    let page = client.get("query_work_items", json!({}));
    let lists = ["executionActions", "fileIdsFromTemplate", "executionHistory"];
    for found in [&client.get("get_work_item", json!({"id": "1000"})), &page["workItems"][0]] {
        assert_empty(found, &lists, &["properties"]);
    }
    let full = &page["workItems"][1];
    assert_eq!(full["executionActions"], told);
    assert_eq!(
        full["resources"],
        json!({"systems": {"filter": "f", "selections": []}, "duts": {"selections": []}})
    );
    assert_eq!(full["dashboard"]["variables"], json!({}));
    let projected = client
        .get("query_work_items", json!({"projection": ["PROPERTIES", "RESOURCES_SYSTEMS_FILTER"]}));
    assert_eq!(projected["workItems"][0], json!({"properties": {}}));
    assert_eq!(
        projected["workItems"][1],
        json!({"properties": {}, "resources": {"systems": {"filter": "f"}}})
    );

    let template = json!({"name": "t", "templateGroup": "g", "type": "x", "dashboard": {}, "executionActions": actions});
    client.get("create_work_item_templates", json!({"workItemTemplates": [template]}));
    let page = client.get("query_work_item_templates", json!({}));
    let found = &page["workItemTemplates"][0];
    assert_empty(found, &["productFamilies", "partNumbers", "fileIds"], &["properties"]);
    assert_eq!((&found["executionActions"], &found["dashboard"]["variables"]), (&told, &json!({})));

    let plan = json!({"name": "p", "dashboard": {"id": "d"}, "executionActions": actions});
    let made = client.get("create_test_plans", json!({"testPlans": [{"name": "q"}, plan]}));
    let lists = ["executionActions", "fileIdsFromTemplate", "fixtureIds", "executionHistory"];
    assert_empty(&made["createdTestPlans"][0], &lists, &["properties"]);
    assert_eq!(made["createdTestPlans"][1]["executionActions"], told);
    let page = client.get("query_test_plans", json!({}));
    assert_empty(&page["testPlans"][0], &lists, &["properties"]);
    client.get(
        "create_test_plan_templates",
        json!({"testPlanTemplates": [{"name": "t", "templateGroup": "g"}]}),
    );
    let page = client.get("query_test_plan_templates", json!({}));
    let lists = ["productFamilies", "partNumbers", "fileIds", "executionActions"];
    assert_empty(&page["testPlanTemplates"][0], &lists, &["properties"]);
}

#[test]
fn tables_files_and_packages_write_their_collections() {
    let client = Client::new();
    let table = json!({"columns": [{"name": "t", "dataType": "INT64", "columnType": "INDEX"}]});
    let id = client.get("create_table", table);
    let found = client.get("get_table_metadata", json!({"id": id}));
    assert_empty(&found, &[], &["properties"]);
    assert_empty(&found["columns"][0], &[], &["properties"]);
    let request = UploadFileRequest::default();
    let file = client
        .session
        .upload_file(&mut &b"x"[..], request, &stationdb::Control::default())
        .unwrap();
    let page =
        client.session.query_files_linq(stationdb::files::FileLinqQueryRequest::default()).unwrap();
    assert_has(
        &serde_json::to_value(&page.available_files[0]).unwrap(),
        &json!({"id": file.as_str(), "properties": {"Name": file.as_str()}}),
    );
    let feed = client.get("create_feed", json!({"name": "f", "platform": Platform::ni_linux_rt()}));
    let package =
        upload(&client.session, feed["id"].as_str().unwrap(), &deb("tool", "1"), None, false)
            .unwrap();
    let lists = [
        "breaks",
        "conflicts",
        "enhances",
        "predepends",
        "provides",
        "recommends",
        "replaces",
        "suggests",
    ];
    assert_empty(&serde_json::to_value(&package).unwrap()["metadata"], &lists, &[]);
}
