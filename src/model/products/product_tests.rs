use std::collections::BTreeMap;

use chrono::Utc;
use serde_json::json;

use super::product::*;
use crate::model::products::requests::*;
use crate::model::resource::Resource;
use crate::value::{RecordKey, stored, time};

fn product() -> Product {
    let request = CreateProductRequest {
        part_number: "156502A-11L".into(),
        name: Some("Amplifier".into()),
        family: Some("Analog".into()),
        file_ids: Some(vec!["f1".into(), "f1".into()]),
        keywords: Some(vec!["a".into(), "b".into(), "a".into()]),
        properties: Some(BTreeMap::from([("color".into(), Some("red".into()))])),
        workspace: None,
    };
    let now = time::parse("2024-02-29T12:00:00.5Z").unwrap();
    let mut product = Product::create(request, now, "default").unwrap();
    product.id = Some(RecordKey::generate(Product::KIND, 1, 42).into());
    product
}

#[test]
fn the_wire_form_is_camel_case_and_both_spellings_are_read() {
    let product = product();
    let id = product.id().to_owned();
    let wire = json!({
        "id": id, "partNumber": "156502A-11L", "name": "Amplifier", "family": "Analog",
        "updatedAt": "2024-02-29T12:00:00.500Z", "fileIds": ["f1"], "keywords": ["a", "b"],
        "properties": {"color": "red"}, "workspace": "default",
    });
    assert_eq!(serde_json::to_value(&product).unwrap(), wire);
    let snake = json!({
        "id": id, "part_number": "156502A-11L", "name": "Amplifier", "family": "Analog",
        "updated_at": "2024-02-29T12:00:00.5", "file_ids": ["f1"], "keywords": ["a", "b"],
        "properties": {"color": "red"}, "workspace": "default", "unknown_member": 1,
    });
    assert_eq!(serde_json::from_value::<Product>(wire).unwrap(), product);
    assert_eq!(serde_json::from_value::<Product>(snake).unwrap(), product);
    assert_eq!(
        stored::from_bytes::<Product>(&stored::to_bytes(&product).unwrap()).unwrap(),
        product
    );
}

#[test]
fn requests_and_answers_have_their_published_members() {
    let query: QueryProductsRequest = serde_json::from_value(json!({
        "filter": "family == @0", "substitutions": ["A", 1, true, null], "order_by": "part_number",
        "descending": true, "projection": ["ID", "fileIds"], "take": -1, "continuation_token": "t", "return_count": true,
    }))
    .unwrap();
    assert_eq!(query.order_by, Some(ProductOrderBy::PartNumber));
    assert_eq!(query.projection, Some(vec![ProductProjection::Id, ProductProjection::FileIds]));
    assert_eq!(
        serde_json::to_value(&query).unwrap(),
        json!({
            "filter": "family == @0", "substitutions": ["A", 1, true, null], "orderBy": "PART_NUMBER",
            "descending": true, "projection": ["ID", "FILE_IDS"], "take": -1, "continuationToken": "t", "returnCount": true,
        })
    );
    let values: QueryProductValuesRequest =
        serde_json::from_value(json!({"field": "UPDATED_AT", "starts_with": "2024"})).unwrap();
    assert_eq!(
        serde_json::to_value(&values).unwrap(),
        json!({"field": "UPDATED_AT", "startsWith": "2024"})
    );
    assert!(
        serde_json::from_value::<QueryProductValuesRequest>(json!({"field": "KEYWORDS"})).is_err()
    );
    assert_eq!(
        serde_json::to_value(CreateProductsPartialSuccess::default()).unwrap(),
        json!({"products": []})
    );
    let failed = UpdateProductsPartialSuccess {
        failed: Some(vec![UpdateProductRequest { id: "1".into(), ..Default::default() }]),
        ..Default::default()
    };
    assert_eq!(
        serde_json::to_value(failed).unwrap(),
        json!({"products": [], "failed": [{"id": "1"}]})
    );
    assert_eq!(
        serde_json::to_value(DeleteProductsPartialSuccess::default()).unwrap(),
        json!({"ids": []})
    );
    let page = PagedProducts {
        continuation_token: Some("t".into()),
        total_count: Some(3),
        ..Default::default()
    };
    assert_eq!(
        serde_json::to_value(page).unwrap(),
        json!({"products": [], "continuationToken": "t", "totalCount": 3})
    );
}

#[test]
fn a_whole_product_passes_as_an_update_request_and_its_part_number_is_ignored() {
    let value = serde_json::to_value(product()).unwrap();
    let request: UpdateProductRequest = serde_json::from_value(value).unwrap();
    assert_eq!(request.name.as_deref(), Some("Amplifier"));
    let mut stored = Product { part_number: Some("stored".into()), ..product() };
    stored.update(request, true, Utc::now()).unwrap();
    assert_eq!(stored.part_number.as_deref(), Some("stored"));
}

#[test]
fn blank_part_numbers_are_refused() {
    for blank in ["", " ", "\t\n"] {
        let request = CreateProductRequest { part_number: blank.into(), ..Default::default() };
        let error = Product::create(request, Utc::now(), "").unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::InvalidArgument);
    }
}

#[test]
fn collections_merge_or_are_replaced_and_absent_members_stay() {
    let request = UpdateProductRequest {
        keywords: Some(vec!["c".into(), "a".into()]),
        file_ids: Some(vec!["f2".into()]),
        properties: Some(BTreeMap::from([("size".into(), Some("8".into()))])),
        family: Some("Mixed".into()),
        ..Default::default()
    };
    let mut merged = product();
    let later = time::parse("2024-03-01T00:00:00Z").unwrap();
    merged.update(request.clone(), false, later).unwrap();
    assert_eq!(merged.keywords, Some(vec!["a".into(), "b".into(), "c".into()]));
    assert_eq!(merged.file_ids, Some(vec!["f1".into(), "f2".into()]));
    assert_eq!(merged.properties.as_ref().unwrap().len(), 2);
    assert_eq!(merged.family.as_deref(), Some("Mixed"));
    assert_eq!(merged.name.as_deref(), Some("Amplifier"));
    assert_eq!(merged.updated_at, Some(later));

    let mut replaced = product();
    replaced.update(request, true, later).unwrap();
    assert_eq!(replaced.keywords, Some(vec!["c".into(), "a".into()]));
    assert_eq!(replaced.file_ids, Some(vec!["f2".into()]));
    assert_eq!(replaced.properties, Some(BTreeMap::from([("size".into(), "8".into())])));

    let empty = UpdateProductRequest {
        keywords: Some(vec![]),
        properties: Some(BTreeMap::new()),
        ..Default::default()
    };
    let mut unchanged = product();
    unchanged.update(empty.clone(), false, later).unwrap();
    assert_eq!(unchanged.keywords, product().keywords);
    assert_eq!(unchanged.properties, product().properties);
    let mut cleared = product();
    cleared.update(empty, true, later).unwrap();
    assert_eq!(cleared.keywords, Some(vec![]));
    assert_eq!(cleared.properties, Some(BTreeMap::new()));
    assert_eq!(cleared.file_ids, product().file_ids);
}

#[test]
fn the_time_of_update_never_goes_back() {
    let mut product = product();
    let before = product.updated_at;
    product
        .update(
            UpdateProductRequest::default(),
            false,
            time::parse("2001-01-01T00:00:00Z").unwrap(),
        )
        .unwrap();
    assert_eq!(product.updated_at, before);
}

#[test]
fn a_projection_keeps_exactly_the_listed_members() {
    let product = product();
    for (projection, member) in ProductProjection::ALL.iter().zip([
        "id",
        "family",
        "partNumber",
        "name",
        "updatedAt",
        "workspace",
        "keywords",
        "properties",
        "fileIds",
    ]) {
        let kept = serde_json::to_value(product.clone().project(&[*projection])).unwrap();
        let members: Vec<&String> = kept.as_object().unwrap().keys().collect();
        assert_eq!(members, [member]);
    }
    assert_eq!(product.clone().project(&[]), product);
}
