use crate::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use crate::test_store::TestStore;

fn request(product: &str, spec: &str) -> Value {
    json!({"productId": product, "specId": spec, "type": "PARAMETRIC"})
}

fn create(
    service: &impl SpecificationService,
    specs: Vec<Value>,
) -> CreateSpecificationsPartialSuccess {
    service.create_specs(serde_json::from_value(json!({"specs": specs})).unwrap()).unwrap()
}

fn update(
    service: &impl SpecificationService,
    specs: Vec<Value>,
) -> Option<UpdateSpecificationsPartialSuccess> {
    service.update_specs(serde_json::from_value(json!({"specs": specs})).unwrap()).unwrap()
}

fn change(created: &CreatedSpecification, version: i64, name: &str) -> Value {
    json!({
        "id": created.id, "productId": created.product_id, "specId": created.spec_id, "type": "PARAMETRIC",
        "workspace": created.workspace, "version": version, "name": name,
    })
}

fn query(
    service: &impl SpecificationService,
    value: Value,
) -> stationdb::Result<PagedSpecifications> {
    service.query_specs(serde_json::from_value(value).unwrap())
}

fn spec_ids(page: &PagedSpecifications) -> Vec<&str> {
    page.specs.iter().flatten().filter_map(|spec| spec.spec_id.as_deref()).collect()
}

#[test]
fn every_operation_is_available_and_get_specification_is_not_named() {
    let store = TestStore::new();
    let operations =
        serde_json::to_value(store.session().specification_api_info().unwrap()).unwrap();
    // There is no getSpecification among them, although the operation exists.
    let names: Vec<&String> = operations.as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        [
            "createSpecifications",
            "deleteSpecifications",
            "querySpecifications",
            "updateSpecifications"
        ]
    );
    assert!(
        operations
            .as_object()
            .unwrap()
            .values()
            .all(|o| *o == json!({"available": true, "version": 1}))
    );
}

#[test]
fn creates_judge_each_item_on_its_own() {
    let store = TestStore::new();
    let session = store.session();
    let answer = create(&session, vec![request("P", "1"), request("P", "2"), request("Q", "1")]);
    assert_eq!((answer.failed_specs, answer.error), (None, None));
    let created = answer.created_specs.unwrap();
    assert_eq!(created.len(), 3);
    assert_eq!(
        (created[0].version, created[0].created_by.as_str(), created[0].workspace.as_str()),
        (0, "ada", "default")
    );
    let mut elsewhere = request("P", "1");
    elsewhere["workspace"] = "other".into();
    let contradictory = json!({
        "productId": "P", "specId": "5", "type": "PARAMETRIC",
        "conditions": [{"name": "T", "value": {"conditionType": "NUMERIC", "discrete": ["25"]}}],
    });
    let specs = vec![
        elsewhere,
        request("P", "1"),
        request(" ", "3"),
        json!({"productId": "P", "specId": "4"}),
        contradictory.clone(),
        request("P", "6"),
        request("P", "6"),
    ];
    let answer = create(&session, specs);
    assert_eq!(answer.created_specs.unwrap().len(), 2);
    let failed = serde_json::to_value(answer.failed_specs.unwrap()).unwrap();
    assert_eq!(failed.as_array().unwrap().len(), 5);
    assert_eq!(failed[3], contradictory, "returned as it was sent");
    let error = answer.error.unwrap();
    assert_eq!((error.code, error.inner_errors.len()), (Some(-251_041), 5));
    assert_eq!(create(&session, vec![]).created_specs, Some(vec![]));
}

#[test]
fn an_inner_error_names_its_item_and_requests_come_back_as_received() {
    let store = TestStore::new();
    let session = store.session();
    let first = create(&session, vec![request("P", "1")]).created_specs.unwrap().remove(0);
    let sent = json!([{"specId": "1", "type": "FUNCTIONAL"}, {"productId": "P", "specId": "1", "type": "FUNCTIONAL", "name": "Gain"}]);
    let answer = create(&session, sent.as_array().unwrap().clone());
    let mut echoed = sent;
    echoed[0]["productId"] = "".into();
    assert_eq!(serde_json::to_value(answer.failed_specs).unwrap(), echoed);
    let inner = answer.error.unwrap().inner_errors;
    let seen: Vec<_> = inner
        .iter()
        .map(|e| (e.resource_type.as_deref().unwrap(), e.resource_id.as_deref().unwrap()))
        .collect();
    assert_eq!(seen, [("Specification", "0"), ("Specification", "Gain")]);
    assert_eq!(
        (inner[0].args[0].as_str(), inner[1].args.as_slice()),
        ("productId", ["1".to_owned(), first.id.to_string()].as_slice())
    );
    let answer =
        update(&session, vec![json!({"id": first.id, "version": 0}), change(&first, 7, "x")])
            .unwrap();
    assert_eq!(
        serde_json::to_value(&answer.failed_specs.unwrap()[0]).unwrap(),
        json!({"id": first.id, "version": 0, "productId": "P", "specId": "1", "type": "PARAMETRIC",
            "workspace": "default"})
    );
    for inner in answer.error.unwrap().inner_errors {
        assert_eq!(inner.resource_id.as_deref(), Some(first.id.as_str()));
        assert_eq!(inner.args.len(), 2, "{inner:?}");
    }
}

#[test]
fn updates_need_the_stored_version() {
    let store = TestStore::new();
    let session = store.session();
    let created =
        create(&session, vec![request("P", "1"), request("P", "2")]).created_specs.unwrap();
    store.clock.advance_ms(1000);
    let answer =
        update(&session, vec![change(&created[0], 0, "a"), change(&created[0], 0, "b")]).unwrap();
    let updated = answer.updated_specs.unwrap();
    assert_eq!((updated.len(), updated[0].version), (1, 1));
    assert!(updated[0].updated_at > created[0].created_at);
    assert_eq!(answer.failed_specs.unwrap()[0].name.as_deref(), Some("b"));
    let inner = &answer.error.unwrap().inner_errors[0];
    assert_eq!(inner.resource_id.as_deref(), Some(&*created[0].id));
    let answer =
        update(&session, vec![change(&created[0], 1, "c"), change(&created[0], 2, "d")]).unwrap();
    assert_eq!(
        (answer.updated_specs.unwrap()[1].version, answer.failed_specs, answer.error),
        (3, None, None)
    );
    let stored = session.get_spec(&created[0].id).unwrap();
    assert_eq!((stored.name.as_deref(), stored.version), (Some("d"), Some(3)));
    assert_eq!(update(&session, vec![]), None);

    let mut taken = change(&created[1], 0, "x");
    taken["specId"] = "1".into();
    let mut unknown = change(&created[1], 0, "x");
    unknown["id"] = "x".into();
    let mut moved = change(&created[1], 0, "x");
    moved["workspace"] = "w".into();
    moved["specId"] = "1".into();
    let answer = update(&session, vec![taken, unknown, moved]).unwrap();
    assert_eq!(answer.failed_specs.unwrap().len(), 2);
    assert_eq!(answer.updated_specs.unwrap()[0].workspace, "w");
    create(&session, vec![request("P", "2")]).created_specs.unwrap().pop().unwrap();
}

#[test]
fn two_updates_with_one_version_and_one_wins() {
    let store = TestStore::new();
    let created =
        create(&store.session(), vec![request("P", "1")]).created_specs.unwrap().remove(0);
    for version in 0..50 {
        let won = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for name in ["a", "b"] {
                let (won, created, session) = (&won, &created, store.session());
                scope.spawn(move || {
                    let answer = update(&session, vec![change(created, version, name)]).unwrap();
                    won.fetch_add(answer.updated_specs.unwrap().len(), Ordering::Relaxed);
                });
            }
        });
        assert_eq!(won.into_inner(), 1);
    }
}

#[test]
fn sixteen_threads_create_one_specification_id_and_one_wins() {
    let store = TestStore::new();
    let (won, lost) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let session = store.session();
                for _ in 0..1000 {
                    let answer = create(&session, vec![request("P", "ONE")]);
                    won.fetch_add(
                        answer.created_specs.map_or(0, |created| created.len()),
                        Ordering::Relaxed,
                    );
                    lost.fetch_add(
                        answer.failed_specs.map_or(0, |failed| failed.len()),
                        Ordering::Relaxed,
                    );
                }
            });
        }
    });
    assert_eq!((won.into_inner(), lost.into_inner()), (1, 15_999));
}

#[test]
fn queries_look_in_the_given_products_and_read_nothing_else() {
    let store = TestStore::new();
    let session = store.session();
    for product in ["P", "Q", "R"] {
        let _ = create(
            &session,
            (0..100).rev().map(|n| request(product, &format!("{n:02}"))).collect(),
        );
    }
    let page = query(
        &session,
        json!({"productIds": ["Q", "P", "Q", "none"], "orderBy": "SPEC_ID", "take": 4}),
    )
    .unwrap();
    assert_eq!(spec_ids(&page), ["00", "00", "01", "01"]);
    let token = page.continuation_token;
    let rest = json!({
        "productIds": ["Q", "P", "Q", "none"], "orderBy": "SPEC_ID", "take": 1000, "continuationToken": token,
    });
    let rest = query(&session, rest).unwrap();
    assert_eq!((rest.specs.as_ref().unwrap().len(), &rest.continuation_token), (196, &None));
    let page = query(&session, json!({"productIds": ["P"], "take": 1})).unwrap();
    assert_eq!(spec_ids(&page), ["99"], "order of creation");
    let page = query(
        &session,
        json!({"productIds": ["P"], "orderBy": "ID", "orderByDescending": true, "take": 1}),
    );
    assert_eq!(spec_ids(&page.unwrap()), ["00"]);
    assert_eq!(query(&session, json!({"productIds": ["none"]})).unwrap().specs, Some(vec![]));
    assert_eq!(
        query(&session, json!({"productIds": ["P"], "take": 0})).unwrap().continuation_token,
        None
    );
    let request = serde_json::from_value(json!({"productIds": ["P"]})).unwrap();
    assert_eq!(session.explain_query_specs(request).unwrap().records_touched, Some(100));
    for bad in [
        json!({}),
        json!({"productIds": ["P"], "filter": "nothing = 1"}),
        json!({"productIds": ["P"], "filter": "specId = @0"}),
        json!({"productIds": ["P"], "filter": "id.Contains(\"a\")"}),
        json!({"productIds": ["P"], "filter": "type = \"OTHER\""}),
        json!({"productIds": ["Q"], "continuationToken": token}),
    ] {
        assert_eq!(
            query(&session, bad.clone()).unwrap_err().kind(),
            ErrorKind::InvalidArgument,
            "{bad}"
        );
    }
}

#[test]
fn the_properties_of_the_reference_and_ours_can_be_filtered() {
    let store = TestStore::new();
    let session = store.session();
    let mut full = request("P", "full");
    for (member, value) in [
        ("name", json!("input voltage")),
        ("category", json!("Noise")),
        ("symbol", json!("Vin")),
        ("block", json!("In")),
        ("unit", json!("V")),
        ("limit", json!({"min": 1, "typical": 2.5, "max": 3.5})),
        (
            "conditions",
            json!([{"name": "Temperature", "value": {"range": [{"min": 1}], "unit": "C"}}]),
        ),
        ("keywords", json!(["k"])),
        ("properties", json!({"p": "v"})),
    ] {
        full[member] = value;
    }
    let mut other = request("P", "other");
    other["type"] = "FUNCTIONAL".into();
    let _ = create(&session, vec![full, other]);
    for filter in [
        r#"specId == "full""#,
        r#"name.Contains("voltage")"#,
        r#"category == "Noise" && type == "PARAMETRIC""#,
        r#"block.StartsWith("I") || symbol.EndsWith("nothing")"#,
        r#"unit = "V" and createdBy = "ada" and updatedBy != "bob" and symbol != null"#,
        r#"limit.min >= 1 && limit.typical < 3 && limit.max == 3.5"#,
        r#"conditions.name == "Temperature""#,
        r#"conditions.Any(name == "Temperature" && unit == "C")"#,
        r#"keywords.Contains("k") and properties.Any(key == "p" && value == "v") and version = 0"#,
        r#"createdAt >= "2024-03-01" and updatedAt < "2025-01-01" and workspace = "default" and block != null"#,
    ] {
        let page = query(&session, json!({"productIds": ["P"], "filter": filter})).unwrap();
        assert_eq!(spec_ids(&page), ["full"], "{filter}");
    }
    let page =
        query(&session, json!({"productIds": ["P"], "projection": ["SPEC_ID", "CONDITION_NAME"]}))
            .unwrap();
    assert_eq!(
        serde_json::to_value(page).unwrap(),
        json!({"specs": [{"specId": "full", "conditions": [{"name": "Temperature"}]}, {"specId": "other", "conditions": []}]})
    );
}

#[test]
fn deletes_name_what_is_gone_and_what_is_not() {
    let store = TestStore::new();
    let session = store.session();
    let created =
        create(&session, vec![request("P", "1"), request("P", "2")]).created_specs.unwrap();
    let ids: Vec<String> = created.iter().map(|spec| spec.id.to_string()).collect();
    let answer = session
        .delete_specs(vec![ids[0].clone().into(), "x".into(), ids[0].clone().into()])
        .unwrap()
        .unwrap();
    assert_eq!(
        (answer.deleted_spec_ids, answer.failed_spec_ids),
        (vec![ids[0].clone()], vec!["x".to_owned()])
    );
    assert_eq!(answer.error.inner_errors.len(), 1);
    assert_eq!(session.delete_specs(vec![ids[1].clone().into()]).unwrap(), None);
    assert_eq!(session.get_spec(&ids[1].as_str().into()).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(create(&session, vec![request("P", "1")]).created_specs.unwrap().len(), 1);
}

#[derive(Clone, Debug)]
enum Step {
    Create(u8, u8),
    Update(u8, u8, i64),
    Move(u8, u8, u8),
    Delete(u8, u8),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u8..3, 0u8..4).prop_map(|(product, spec)| Step::Create(product, spec)),
        4 => (0u8..3, 0u8..4, -1i64..2).prop_map(|(product, spec, off)| Step::Update(product, spec, off)),
        2 => (0u8..3, 0u8..4, 0u8..4).prop_map(|(product, spec, to)| Step::Move(product, spec, to)),
        2 => (0u8..3, 0u8..4).prop_map(|(product, spec)| Step::Delete(product, spec)),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The service compared with a map from product and specification id to id and version, with
    /// reopenings.
    #[test]
    fn the_service_equals_its_model(steps in proptest::collection::vec(step(), 1..40)) {
        let mut store = TestStore::new();
        let mut model: BTreeMap<(u8, u8), (CreatedSpecification, i64)> = BTreeMap::new();
        for step in steps {
            let session = store.session();
            match step {
                Step::Create(product, spec) => {
                    let answer = create(&session, vec![request(&product.to_string(), &spec.to_string())]);
                    let created = answer.created_specs.unwrap();
                    prop_assert_eq!(created.len(), usize::from(!model.contains_key(&(product, spec))));
                    model.extend(created.into_iter().map(|created| ((product, spec), (created, 0))));
                }
                Step::Update(product, spec, off) => {
                    let Some((created, version)) = model.get_mut(&(product, spec)) else { continue };
                    let answer = update(&session, vec![change(created, *version + off, "n")]).unwrap();
                    prop_assert_eq!(answer.updated_specs.unwrap().len(), usize::from(off == 0));
                    *version += i64::from(off == 0);
                }
                Step::Move(product, spec, to) => {
                    let Some((mut created, version)) = model.get(&(product, spec)).cloned() else { continue };
                    created.spec_id = to.to_string();
                    let is_free = to == spec || !model.contains_key(&(product, to));
                    let answer = update(&session, vec![change(&created, version, "moved")]).unwrap();
                    prop_assert_eq!(answer.updated_specs.unwrap().len(), usize::from(is_free));
                    if is_free {
                        model.remove(&(product, spec));
                        model.insert((product, to), (created, version + 1));
                    }
                }
                Step::Delete(product, spec) => {
                    let Some((created, _)) = model.remove(&(product, spec)) else { continue };
                    prop_assert_eq!(session.delete_specs(vec![created.id.to_string().into()]).unwrap(), None);
                }
                Step::Reopen => {
                    drop(session);
                    store = store.reopen();
                }
            }
            let page = query(&store.session(), json!({"productIds": ["0", "1", "2"]})).unwrap();
            let stored: BTreeMap<(u8, u8), i64> = page.specs.unwrap().into_iter().map(|spec| {
                let number = |text: Option<String>| text.unwrap().parse::<u8>().unwrap();
                ((number(spec.product_id), number(spec.spec_id)), spec.version.unwrap())
            }).collect();
            let expected: BTreeMap<(u8, u8), i64> = model.iter().map(|(key, (_, version))| (*key, *version)).collect();
            prop_assert_eq!(stored, expected);
        }
    }
}
