//! Ids are compared exactly. Only ids of files may have any letter case, since callers may choose
//! them.

use crate::prelude::*;

use super::{Client, assert_has};

/// The id in upper case; the id must contain letters.
fn upper(id: &serde_json::Value) -> String {
    let upper = id.as_str().unwrap().to_uppercase();
    assert_ne!(upper, id.as_str().unwrap());
    upper
}

#[test]
fn a_product_in_another_letter_case_is_another_product() {
    let client = Client::new();
    let made = client.get("create_products", json!([{"partNumber": "P-1"}]));
    let other = upper(&made["products"][0]["id"]);
    let error = client.refusal("get_product", json!({"id": other})).api_error();
    assert_eq!(
        (error.name.as_deref(), error.code),
        (Some("TestMonitor.InvalidId"), Some(-253_700))
    );
    assert_eq!(
        (error.resource_type.as_deref(), error.resource_id.as_deref()),
        (Some("Product"), Some(&*other))
    );
    let changed = client.get("update_products", json!({"products": [{"id": other, "name": "n"}]}));
    assert_has(&changed, &json!({"products": [], "failed": [{"id": other}]}));
    client.get("delete_product", json!({"id": other}));
    let deleted = client.get("delete_products", json!({"ids": [other]}));
    assert_has(
        &deleted,
        &json!({"ids": [], "failed": [other], "error": {"innerErrors": [{"resourceId": other}]}}),
    );
    assert_eq!(client.get("query_products", json!({}))["products"], made["products"]);
    assert_eq!(other.parse::<ProductId>().unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn specifications_assets_feeds_and_tables_are_compared_exactly_too() {
    let client = Client::new();
    let spec = json!({"specs": [{"productId": "p", "specId": "s", "type": "FUNCTIONAL"}]});
    let spec = upper(&client.get("create_specs", spec)["createdSpecs"][0]["id"]);
    assert_eq!(client.refusal("get_spec", json!({"id": spec})).kind(), ErrorKind::NotFound);
    assert_has(
        &client.get("delete_specs", json!({"ids": [spec]})),
        &json!({"failedSpecIds": [spec]}),
    );

    let asset = json!([{"modelName": "m", "vendorName": "v", "serialNumber": "1",
        "location": {"state": {"assetPresence": "PRESENT"}}}]);
    let asset = upper(&client.get("create_assets", asset)["assets"][0]["id"]);
    let error = client.refusal("link_files", json!({"id": asset, "fileIds": ["f"]})).api_error();
    assert_eq!((error.code, error.args), (Some(-253_426), vec![asset.clone()]));
    assert_has(
        &client.get("delete_assets", json!({"ids": [asset]})),
        &json!({"ids": [], "failed": [asset]}),
    );

    let feed = upper(&client.get("create_feed", json!({"name": "f", "platform": "WINDOWS"}))["id"]);
    assert_eq!(client.refusal("delete_feed", json!({"id": feed})).kind(), ErrorKind::NotFound);

    let table = json!({"columns": [{"name": "t", "dataType": "INT64", "columnType": "INDEX"}]});
    let error = client
        .refusal("get_table_metadata", json!({"id": upper(&client.get("create_table", table))}));
    assert_eq!(
        (error.kind(), error.api_error().code),
        (ErrorKind::InvalidArgument, Some(-255_134))
    );
}

#[test]
fn files_are_named_in_any_letter_case() {
    let client = Client::new();
    let chosen = "ABCDEF0123456789ABCDEF01";
    let request = UploadFileRequest::new().id(chosen.to_owned());
    let id = client.session.upload_file(&mut &b"x"[..], request, &Control::default()).unwrap();
    assert_eq!(id, FileId::parse(chosen).unwrap());
    assert_eq!(id.as_ref(), chosen.to_lowercase());
    let mut content = Vec::new();
    client.session.download_file(&chosen.into(), &mut content, &Control::default()).unwrap();
    assert_eq!(content, b"x");
    client.store.assert_sound();
}

#[test]
fn a_number_is_an_id_only_as_it_was_given_out() {
    let client = Client::new();
    client.get("create_work_items", json!({"workItems": [{"name": "a"}]}));
    assert_has(
        &client.get("get_work_item", json!({"id": "1000"})),
        &json!({"id": "1000", "name": "a"}),
    );
    for other in ["01000", "+1000", "1000 ", "1e3", "1000.0", ""] {
        let error = client.refusal("get_work_item", json!({"id": other})).api_error();
        assert_eq!(
            error.name.as_deref(),
            Some("Skyline.WorkOrder.WorkItemNotFoundOrNoAccess"),
            "{other}"
        );
        assert_eq!(error.args, [other]);
    }
}
