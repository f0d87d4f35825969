use crate::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use crate::test_store::TestStore;

fn request(part_number: &str) -> CreateProductRequest {
    CreateProductRequest::new(part_number)
}

fn create(service: &impl ProductService, part_number: &str, family: Option<&str>) -> Product {
    let request = request(part_number).maybe_family(family.map(str::to_owned));
    service.create_products(vec![request]).unwrap().products.remove(0)
}

fn numbers(page: &PagedProducts) -> Vec<&str> {
    page.products.iter().filter_map(|product| product.part_number.as_deref()).collect()
}

#[test]
fn creates_judge_each_item_on_its_own() {
    let store = TestStore::new();
    let session = store.session();
    let answer = session.create_products(vec![request("A"), request("B")]).unwrap();
    assert_eq!((answer.products.len(), &answer.failed, &answer.error), (2, &None, &None));
    let answer = session
        .create_products(vec![request("C"), request("A"), request(" "), request("C")])
        .unwrap();
    assert_eq!(answer.products.len(), 1);
    assert_eq!(answer.failed, Some(vec![request("A"), request(" "), request("C")]));
    let error = answer.error.unwrap();
    assert_eq!(
        (error.name.as_deref(), error.code),
        (Some("TestMonitorErrorCodes.OneOrMoreErrorsOccurred"), Some(-252_921))
    );
    assert_eq!(error.inner_errors.len(), 3);
    assert_eq!(error.inner_errors[0].args[0], "A");
    let answer = session.create_products(vec![request("A")]).unwrap();
    assert_eq!((answer.products.len(), answer.failed.unwrap().len()), (0, 1));
    assert_eq!(session.create_products(vec![]).unwrap(), CreateProductsPartialSuccess::default());
    assert_eq!(session.query_products(QueryProductsRequest::default()).unwrap().products.len(), 3);
}

#[test]
fn a_property_without_a_value_rejects_its_item_alone() {
    let store = TestStore::new();
    let session = store.session();
    let body = json!([
        {"partNumber": "A", "properties": {"color": "red", "size": null}},
        {"partNumber": "B", "properties": {"color": "red"}},
    ]);
    let requests: Vec<CreateProductRequest> =
        stationdb::from_json(body.to_string().as_bytes()).unwrap();
    let answer = session.create_products(requests).unwrap();
    assert_eq!(
        answer.products.iter().map(|product| product.part_number.as_deref()).collect::<Vec<_>>(),
        [Some("B")]
    );
    // Returned as it was sent.
    assert_eq!(serde_json::to_value(answer.failed).unwrap(), json!([body[0]]));
    let inner = answer.error.unwrap().inner_errors.remove(0);
    assert_eq!(inner.args[0], "properties.size");
    let id = answer.products[0].id.clone().unwrap();
    let updates = json!([{"id": id, "properties": {"size": null}}, {"id": id, "name": "N"}]);
    for replace in [false, true] {
        let updates: Vec<UpdateProductRequest> =
            stationdb::from_json(updates.to_string().as_bytes()).unwrap();
        let answer = session.update_products(updates, replace).unwrap();
        assert_eq!((answer.products.len(), answer.failed.map(|failed| failed.len())), (1, Some(1)));
        assert_eq!(
            answer.products[0].properties,
            Some(BTreeMap::from([("color".into(), "red".into())]))
        );
    }
}

#[test]
fn part_numbers_are_exact_and_stored_as_given() {
    let store = TestStore::new();
    let session = store.session();
    for part_number in ["a", "A", " A", "A\0", "Ä"] {
        assert_eq!(create(&session, part_number, None).part_number.as_deref(), Some(part_number));
    }
    assert_eq!(create(&session, "x", None).name, None);
}

#[test]
fn products_are_got_updated_and_deleted_by_id() {
    let store = TestStore::new();
    let session = store.session();
    let product = create(&session, "A", None);
    let id = product.id.clone().unwrap().to_string();
    assert_eq!(session.get_product(&id.as_str().into()).unwrap(), product);
    for unknown in ["", "x", "00000000-0000-8000-8000-000000000000"] {
        let error = session.get_product(&unknown.into()).unwrap_err();
        assert_eq!((error.kind(), error.api_error().code), (ErrorKind::NotFound, Some(-253_700)));
        assert_eq!(error.resource(), Some(("Product", unknown)));
    }
    store.clock.advance_ms(5);
    let update = |id: &str, keyword: &str| UpdateProductRequest::new(id).keywords([keyword]);
    let answer = session
        .update_products(vec![update(&id, "a"), update("x", "b"), update(&id, "c")], false)
        .unwrap();
    assert_eq!(answer.products.len(), 2);
    assert_eq!(answer.products[1].keywords, Some(vec!["a".to_owned(), "c".to_owned()]));
    assert!(answer.products[1].updated_at > product.updated_at);
    // A client needs the part number of every entry.
    assert_eq!(answer.failed, Some(vec![update("x", "b").part_number("")]));
    let inner = &answer.error.unwrap().inner_errors[0];
    assert_eq!((inner.resource_id.as_deref(), inner.code), (Some("x"), Some(-253_700)));
    let answer = session.update_products(vec![update(&id, "z")], true).unwrap();
    assert_eq!(answer.products[0].keywords, Some(vec!["z".to_owned()]));
    assert_eq!((answer.failed, answer.error), (None, None));

    session.delete_product(&"x".into()).unwrap();
    let other = create(&session, "B", None).id.unwrap().to_string();
    let answer = session
        .delete_products(vec![id.clone().into(), "x".into(), id.clone().into()])
        .unwrap()
        .unwrap();
    assert_eq!((answer.ids, answer.failed), (vec![id.clone()], Some(vec!["x".to_owned()])));
    assert_eq!(session.delete_products(vec![other.into()]).unwrap(), None);
    assert_eq!(session.delete_products(vec![]).unwrap(), None);
    let answer = session.delete_products(vec![id.into()]).unwrap().unwrap();
    assert_eq!((answer.ids.len(), answer.failed.unwrap().len()), (0, 1));
    create(&session, "A", None);
}

#[test]
fn an_inner_error_names_its_item_and_requests_come_back_as_received() {
    let store = TestStore::new();
    let session = store.session();
    let taken = create(&session, "A", None).id.unwrap().to_string();
    let sent = serde_json::json!([{"partNumber": "A", "name": "Amp"}, {"name": "Nameless"}, {"partNumber": "A"}, {"partNumber": " "}]);
    let answer = session.create_products(serde_json::from_value(sent.clone()).unwrap()).unwrap();
    let mut echoed = sent;
    echoed[1]["partNumber"] = "".into();
    assert_eq!(serde_json::to_value(answer.failed).unwrap(), echoed);
    let inner = answer.error.unwrap().inner_errors;
    assert!(inner.iter().all(|error| error.resource_type.as_deref() == Some("Product")));
    let ids: Vec<_> = inner.iter().map(|error| error.resource_id.as_deref().unwrap()).collect();
    assert_eq!(ids, ["Amp", "Nameless", "2", "3"]);
    assert_eq!(inner[0].args, ["A", &taken]);
    assert_eq!(inner[3].args, ["partNumber", "a product needs a part number that is not blank"]);
}

#[test]
fn a_page_by_part_number_reads_that_page() {
    let store = TestStore::new();
    let session = store.session();
    let requests = (0..300).map(|number| request(&format!("PN-{:03}", number * 7 % 300))).collect();
    assert!(session.create_products(requests).unwrap().error.is_none());
    for descending in [false, true] {
        let mut query: QueryProductsRequest = serde_json::from_value(
            json!({"orderBy": "PART_NUMBER", "descending": descending, "take": 20}),
        )
        .unwrap();
        let mut found = Vec::new();
        loop {
            let plan = session.explain_query_products(query.clone()).unwrap();
            assert!(plan.records_touched <= Some(22), "{plan}");
            let page = session.query_products(query.clone()).unwrap();
            found.extend(numbers(&page).into_iter().map(str::to_owned));
            query.continuation_token = page.continuation_token;
            if query.continuation_token.is_none() {
                break;
            }
        }
        let mut expected: Vec<String> = (0..300).map(|number| format!("PN-{number:03}")).collect();
        if descending {
            expected.reverse();
        }
        assert_eq!(found, expected);
    }
}

#[test]
fn queries_filter_order_project_count_and_page() {
    let store = TestStore::new();
    let session = store.session();
    for (part_number, family) in [("3", Some("F")), ("1", None), ("2", Some("E")), ("4", Some("F"))]
    {
        create(&session, part_number, family);
        store.clock.advance_ms(1000);
    }
    let query =
        |value: serde_json::Value| session.query_products(serde_json::from_value(value).unwrap());
    assert_eq!(numbers(&query(json!({})).unwrap()), ["3", "1", "2", "4"]);
    assert_eq!(numbers(&query(json!({"orderBy": "FAMILY"})).unwrap()), ["1", "2", "3", "4"]);
    assert_eq!(
        numbers(&query(json!({"orderBy": "FAMILY", "descending": true})).unwrap()),
        ["4", "3", "2", "1"]
    );
    assert_eq!(
        numbers(&query(json!({"orderBy": "UPDATED_AT", "descending": true})).unwrap()),
        ["4", "2", "1", "3"]
    );
    assert_eq!(numbers(&query(json!({"descending": true})).unwrap()), ["3", "1", "2", "4"]);
    let page = query(
        json!({"filter": "family == @0", "substitutions": ["F"], "returnCount": true, "take": 1}),
    )
    .unwrap();
    assert_eq!((numbers(&page), page.total_count), (vec!["3"], Some(2)));
    let next = json!({
        "filter": "family == @0", "substitutions": ["F"], "take": 5, "continuationToken": page.continuation_token,
    });
    let page = query(next).unwrap();
    assert_eq!(
        (numbers(&page), page.total_count, &page.continuation_token),
        (vec!["4"], None, &None)
    );
    let page = query(json!({"take": 0, "returnCount": true})).unwrap();
    assert_eq!(
        (page.products.len(), page.total_count, page.continuation_token),
        (0, Some(4), None)
    );
    assert_eq!(query(json!({"take": -5})).unwrap().products.len(), 4);
    let page = query(json!({"projection": ["PART_NUMBER"], "take": 1})).unwrap();
    assert_eq!(serde_json::to_value(&page.products).unwrap(), json!([{"partNumber": "3"}]));
    let first = session.get_products(None, Some(3), true).unwrap();
    assert_eq!((first.products.len(), first.total_count), (3, Some(4)));
    let second = session.get_products(first.continuation_token.clone(), Some(3), false).unwrap();
    assert_eq!((numbers(&second), &second.continuation_token), (vec!["4"], &None));
    for bad in [
        json!({"filter": "nothing == 1"}),
        json!({"filter": "family =="}),
        json!({"filter": "family == @0"}),
        json!({"continuationToken": "x"}),
        json!({"filter": "family == \"E\"", "continuationToken": first.continuation_token}),
    ] {
        assert_eq!(query(bad.clone()).unwrap_err().kind(), ErrorKind::InvalidArgument, "{bad}");
    }
}

#[test]
fn the_properties_of_the_reference_can_be_filtered() {
    let store = TestStore::new();
    let session = store.session();
    let full = request("A")
        .name("N")
        .family("F")
        .keywords(["k1"])
        .file_ids(["f1"])
        .properties([("color", "red")])
        .workspace("w");
    let _ = session.create_products(vec![full, request("B")]).unwrap();
    for filter in [
        r#"family = "F" && name = "N""#,
        r#"(name != "X") and (family == "F")"#,
        r#"fileIds.Contains("f1")"#,
        r#"keywords.Contains("k1")"#,
        r#"keywords.Any(it == "k1")"#,
        r#"properties.Any(key == "color" && value == "red")"#,
        r#"properties["color"] == "red""#,
        r#"properties.ContainsKey("color")"#,
        r#"workspace == "w""#,
        r#"PARTNUMBER.StartsWith("A") and updatedAt >= "2024-03-01""#,
        r#"not (name == null)"#,
        r#"updatedWithin <= "1.00:00:00" and partNumber < "B""#,
    ] {
        let query = QueryProductsRequest::new().filter(filter);
        assert_eq!(numbers(&session.query_products(query).unwrap()), ["A"], "{filter}");
    }
}

#[test]
fn values_are_distinct_sorted_and_without_nulls() {
    let store = TestStore::new();
    let session = store.session();
    let mut ids = BTreeSet::new();
    for (part_number, family) in
        [("b", Some("F1")), ("a", None), ("c", Some("E")), ("d", Some("F1"))]
    {
        ids.insert(create(&session, part_number, family).id.unwrap().to_string());
    }
    let values = |value: serde_json::Value| {
        session.query_product_values(serde_json::from_value(value).unwrap())
    };
    assert_eq!(values(json!({"field": "FAMILY"})).unwrap(), ["E", "F1"]);
    assert_eq!(values(json!({"field": "FAMILY", "startsWith": "F"})).unwrap(), ["F1"]);
    assert!(values(json!({"field": "FAMILY", "startsWith": "f"})).unwrap().is_empty());
    assert_eq!(
        values(json!({"field": "PART_NUMBER", "filter": "family == \"F1\""})).unwrap(),
        ["b", "d"]
    );
    assert_eq!(values(json!({"field": "PART_NUMBER"})).unwrap(), ["a", "b", "c", "d"]);
    assert!(values(json!({"field": "NAME"})).unwrap().is_empty());
    assert_eq!(
        values(json!({"field": "UPDATED_AT", "startsWith": "2024-03"})).unwrap(),
        ["2024-03-01T00:00:00.000Z"]
    );
    assert!(values(json!({"field": "ID"})).unwrap().iter().eq(&ids));
    for bad in [json!({}), json!({"field": "ID", "filter": "x"})] {
        assert_eq!(values(bad).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn a_policy_hides_products_and_their_values_and_refuses_items() {
    let store = TestStore::with(|options| options.access_policy(GuestsRead("one")));
    let session = store.session();
    for (part_number, workspace) in [("A", "one"), ("B", "two")] {
        let request = request(part_number).workspace(workspace).family(part_number);
        let _ = session.create_products(vec![request]).unwrap();
    }
    let guest = store.store.session(Identity::user("guest"));
    assert_eq!(numbers(&guest.query_products(QueryProductsRequest::default()).unwrap()), ["A"]);
    for (field, count) in
        [(ProductField::Family, 1), (ProductField::Id, 1), (ProductField::UpdatedAt, 1)]
    {
        let query = QueryProductValuesRequest::new().field(field);
        assert_eq!(guest.query_product_values(query).unwrap().len(), count);
    }
    let event_count =
        |mut changes: ChangeStream| std::iter::from_fn(|| changes.poll().unwrap()).count();
    let (guests, all) = (guest.changes(Position::START), store.store.changes(Position::START));
    assert_eq!((event_count(guests), event_count(all)), (1, 2), "the store itself sees all events");
    let answer = guest.create_products(vec![request("C")]).unwrap();
    assert_eq!(answer.error.unwrap().inner_errors[0].code, Some(-251_009));
}

#[test]
fn sixteen_threads_create_one_part_number_and_one_wins() {
    let store = TestStore::new();
    let (won, lost) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let session = store.session();
                for _ in 0..1000 {
                    let answer = session.create_products(vec![request("ONE")]).unwrap();
                    won.fetch_add(answer.products.len(), Ordering::Relaxed);
                    lost.fetch_add(
                        answer.failed.map_or(0, |failed| failed.len()),
                        Ordering::Relaxed,
                    );
                }
            });
        }
    });
    assert_eq!((won.into_inner(), lost.into_inner()), (1, 15_999));
    assert_eq!(
        store.session().query_products(QueryProductsRequest::default()).unwrap().products.len(),
        1
    );
}

#[test]
fn a_transaction_reads_its_own_products_and_leaves_nothing_when_it_fails() {
    let store = TestStore::new();
    let session = store.session();
    let failed = session.transaction(|tx| {
        let id = create(tx, "A", Some("F")).id.unwrap().to_string();
        assert_eq!(tx.get_product(&id.as_str().into())?.family.as_deref(), Some("F"));
        let query = QueryProductValuesRequest::new().field(ProductField::Family);
        assert_eq!(tx.query_product_values(query)?, ["F"]);
        assert_eq!(tx.create_products(vec![request("A")])?.products.len(), 0);
        Err::<(), _>(stationdb::Error::conflict("no"))
    });
    assert!(failed.is_err());
    assert!(session.query_products(QueryProductsRequest::default()).unwrap().products.is_empty());
}

#[derive(Clone, Debug)]
enum Step {
    Create(u8, Option<u8>),
    Update(u8, u8, bool),
    Delete(u8),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u8..8, proptest::option::of(0u8..3)).prop_map(|(part, family)| Step::Create(part, family)),
        4 => (0u8..8, 0u8..4, any::<bool>()).prop_map(|(part, keyword, replace)| Step::Update(part, keyword, replace)),
        2 => (0u8..8).prop_map(Step::Delete),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The service compared with a map from part number to family and keywords, with reopenings.
    #[test]
    fn the_service_equals_its_model(steps in proptest::collection::vec(step(), 1..40)) {
        let mut store = TestStore::new();
        let mut model: BTreeMap<String, Product> = BTreeMap::new();
        for step in steps {
            let session = store.session();
            match step {
                Step::Create(part, family) => {
                    let part = part.to_string();
                    let request = request(&part).maybe_family(family.map(|f| f.to_string()));
                    let answer = session.create_products(vec![request]).unwrap();
                    prop_assert_eq!(answer.products.len(), usize::from(!model.contains_key(&part)));
                    for product in answer.products {
                        model.insert(part.clone(), product);
                    }
                }
                Step::Update(part, keyword, replace) => {
                    let id = model.get(&part.to_string()).and_then(|p| p.id.clone()).unwrap_or_default().to_string();
                    let keyword = keyword.to_string();
                    let update = UpdateProductRequest::new(id).keywords([keyword.clone()]);
                    let answer = session.update_products(vec![update], replace).unwrap();
                    let stored = model.get_mut(&part.to_string());
                    prop_assert_eq!(answer.products.len(), usize::from(stored.is_some()));
                    if let Some(stored) = stored {
                        let keywords = stored.keywords.get_or_insert_default();
                        if replace {
                            keywords.clear();
                        }
                        if !keywords.contains(&keyword) {
                            keywords.push(keyword);
                        }
                    }
                }
                Step::Delete(part) => {
                    let removed = model.remove(&part.to_string());
                    let id = removed.as_ref().and_then(|p| p.id.clone()).unwrap_or_default().to_string();
                    let answer = session.delete_products(vec![id.into()]).unwrap();
                    prop_assert_eq!(answer.is_none(), removed.is_some());
                }
                Step::Reopen => {
                    drop(session);
                    store = store.reopen();
                }
            }
            let session = store.session();
            let query = QueryProductsRequest::new().order_by(ProductOrderBy::PartNumber);
            let page = session.query_products(query).unwrap();
            prop_assert_eq!(page.products, model.values().cloned().collect::<Vec<_>>());
            let families: BTreeSet<String> = model.values().filter_map(|p| p.family.clone()).collect();
            let query = QueryProductValuesRequest::new().field(ProductField::Family);
            let values: BTreeSet<String> = session.query_product_values(query).unwrap().into_iter().collect();
            prop_assert_eq!(values, families);
        }
    }
}

#[test]
fn products_are_filtered_by_the_registered_names_of_their_workspaces() {
    let store = TestStore::new();
    let session = store.session();
    for (number, workspace) in [("a", "w1"), ("b", "w2"), ("c", "default")] {
        let made = session.create_products(vec![request(number).workspace(workspace)]);
        assert_eq!(made.unwrap().failed, None);
    }
    session.create_workspace(CreateWorkspaceRequest::new("Bench 1").id("w1")).unwrap();
    for (filter, found) in [
        ("workspaceName == \"Bench 1\"", "a"),
        ("workspaceName == \"w1\"", ""),
        ("workspaceName in (\"Bench 1\", \"w2\")", "ab"),
        ("workspaceName.StartsWith(\"d\") or workspaceName == \"w2\"", "bc"),
    ] {
        let query = QueryProductsRequest::new().filter(filter);
        let query = query.order_by(ProductOrderBy::PartNumber).descending(false);
        assert_eq!(numbers(&session.query_products(query).unwrap()).concat(), found, "{filter}");
    }
}
