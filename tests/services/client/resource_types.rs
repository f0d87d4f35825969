//! One word for a resource: the `resourceType` of every error about it.

use crate::prelude::*;

use super::Client;

const NOBODY: &str = "00000000-0000-8000-8000-000000000099";

fn told<T>(answer: stationdb::Result<T>) -> Option<String> {
    answer.err().and_then(|error: Error| error.api_error().resource_type)
}

/// The types of the inner errors of a partial success.
fn inner(answer: &Value) -> Vec<Option<String>> {
    let errors = answer["error"]["innerErrors"].as_array().expect("inner errors");
    errors.iter().map(|error| error["resourceType"].as_str().map(str::to_owned)).collect()
}

#[test]
fn an_error_has_the_one_word_of_its_resource() {
    let client = Client::new();
    let s = &client.session;
    let failing = |operation: &str, body: Value| inner(&client.get(operation, body));
    let ids = || json!({"ids": [NOBODY]});
    let asset = json!({"modelName": "m", "vendorName": "v", "serialNumber": "1",
        "location": {"state": {"assetPresence": "PRESENT"}}});
    client.get("create_assets", json!([asset]));
    let unknown_asset = AssetId::from(NOBODY);
    let unknown_table = "0123456789abcdef01234567".into();
    let spec = json!({"id": NOBODY, "version": 0, "productId": "p", "specId": "s",
        "type": "FUNCTIONAL", "workspace": "default"});
    let found: Vec<(&str, Vec<Option<String>>)> = vec![
        ("Product", vec![told(s.get_product(&NOBODY.into()))]),
        ("Product", failing("create_products", json!([{"partNumber": " "}]))),
        ("Product", failing("update_products", json!({"products": [{"id": NOBODY}]}))),
        ("Product", failing("delete_products", ids())),
        ("TestResult", vec![told(s.get_result(&NOBODY.into()))]),
        ("TestResult", failing("create_results", json!([{"programName": " "}]))),
        ("TestResult", failing("update_results", json!({"results": [{"id": NOBODY}]}))),
        ("TestResult", failing("delete_results", ids())),
        ("Specification", vec![told(s.get_spec(&NOBODY.into()))]),
        ("Specification", failing("create_specs", json!({"specs": [{"specId": "s"}]}))),
        ("Specification", failing("update_specs", json!({ "specs": [spec] }))),
        ("Specification", failing("delete_specs", ids())),
        ("Asset", vec![told(s.get_asset(&unknown_asset))]),
        ("Asset", vec![told(s.link_files(&unknown_asset, vec!["f".into()]))]),
        ("Asset", vec![told(s.unlink_file(&unknown_asset, &"f".into()))]),
        ("Asset", failing("create_assets", json!([asset, {"modelName": "m"}]))),
        ("Asset", failing("update_assets", json!([{"id": NOBODY}]))),
        ("Asset", failing("delete_assets", ids())),
        (
            "Asset",
            failing(
                "start_utilization",
                json!({"assetIdentifications": [asset, {"modelName": "m", "vendorName": "v",
                    "serialNumber": "9"}]}),
            ),
        ),
        (
            "AssetUtilization",
            failing("utilization_heartbeat", json!({"utilizationIdentifiers": ["none"]})),
        ),
        (
            "AssetUtilization",
            failing("end_utilization", json!({"utilizationIdentifiers": ["none"]})),
        ),
        ("work item", vec![told(s.get_work_item(&"7".into()))]),
        ("work item", failing("create_work_items", json!({"workItems": [{"state": "DONE"}]}))),
        ("work item", failing("update_work_items", json!({"workItems": [{"id": "7"}]}))),
        ("work item", failing("schedule_work_items", json!({"workItems": [{"id": "7"}]}))),
        ("work item", failing("delete_work_items", ids())),
        (
            "work item template",
            failing("create_work_item_templates", json!({"workItemTemplates": [{}]})),
        ),
        (
            "work item template",
            failing("update_work_item_templates", json!({"workItemTemplates": [{"id": "7"}]})),
        ),
        ("test plan", vec![told(s.get_test_plan(&"7".into()))]),
        ("test plan", failing("create_test_plans", json!({"testPlans": [{"state": "DONE"}]}))),
        ("test plan", failing("update_test_plans", json!({"testPlans": [{"id": "7"}]}))),
        ("test plan", failing("schedule_test_plans", json!({"testPlans": [{"id": "7"}]}))),
        ("test plan", failing("delete_test_plans", ids())),
        (
            "test plan template",
            failing("create_test_plan_templates", json!({"testPlanTemplates": [{}]})),
        ),
        ("table", vec![told(s.get_table_metadata(&unknown_table))]),
        ("table", vec![told(s.delete_table(&unknown_table))]),
        ("file", vec![told(s.open_file(&"0123456789abcdef01234567".into()))]),
        (
            "file",
            vec![told(s.update_metadata(
                &"0123456789abcdef01234567".into(),
                UpdateMetadataRequest::new(),
            ))],
        ),
        ("upload session", vec![told(s.cancel_upload_session(&NOBODY.into()))]),
        ("feed", vec![told(s.get_feed(&NOBODY.into()))]),
        ("feed", vec![told(s.delete_feed(&NOBODY.into()))]),
        ("package", vec![told(s.get_package(&NOBODY.into()))]),
        (
            "package",
            vec![told(s.download_package(&NOBODY.into(), &mut Vec::new(), &Control::default()))],
        ),
    ];
    for (at, (word, types)) in found.into_iter().enumerate() {
        assert!(!types.is_empty(), "{at}: {word}");
        assert!(types.iter().all(|of| of.as_deref() == Some(word)), "{at}: {types:?}, not {word}");
    }
}
