//! Search, with and without the feature.

use crate::store::tests::prelude::*;

#[cfg(not(feature = "search"))]
use crate::search::SearchService as _;

#[test]
#[cfg(not(feature = "search"))]
fn a_build_without_the_feature_says_so() {
    let store = StoreOptions::default().open_on(Arc::new(MemoryDisk::new())).unwrap();
    let error = store.session(Identity::user("ada")).search(SearchRequest::default()).unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::Unsupported);
}

#[test]
#[cfg(feature = "search")]
fn work_items_and_products_are_found_by_their_texts() {
    use crate::prelude::*;
    use crate::products::CreateProductRequest;
    use crate::work_items::{CreateWorkItemRequest, QueryWorkItemsRequest};

    let (_store, session) = opened(StoreOptions::default(), Arc::new(MemoryDisk::new()));
    let item = |name: &str, description: &str| CreateWorkItemRequest {
        name: Some(name.to_owned()),
        description: Some(description.to_owned()),
        ..CreateWorkItemRequest::default()
    };
    let items =
        vec![item("Burn-in of DMM-4065", "twelve hours"), item("Calibration", "after the burn in")];
    let _ = session.create_work_items(items).unwrap();
    let product = CreateProductRequest {
        part_number: "DMM-4065".to_owned(),
        name: Some("Multimeter".to_owned()),
        ..CreateProductRequest::default()
    };
    let _ = session.create_products(vec![product]).unwrap();
    let find = |text: &str| {
        let request = SearchRequest { text: Some(text.to_owned()), ..SearchRequest::default() };
        let hits = session.search(request).unwrap().hits;
        hits.into_iter().map(|hit| format!("{}: {}", hit.kind, hit.name)).collect::<Vec<_>>()
    };
    assert_eq!(find("burn-in")[0].split(": ").last(), Some("Burn-in of DMM-4065"));
    assert_eq!(find("burn-in").len(), 2);
    assert_eq!(find("dmm-4065").len(), 2);
    assert_eq!(find("kind:product partNumber:dmm*").len(), 1);
    assert_eq!(find("kind:workitem -name:calibration").len(), 1);
    let query = QueryWorkItemsRequest {
        filter: Some("search(\"twelve\") and name.Contains(\"4065\")".to_owned()),
        ..QueryWorkItemsRequest::default()
    };
    assert_eq!(session.query_work_items(query).unwrap().work_items.len(), 1);
}
