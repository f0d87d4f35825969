//! Creation, updates and deletion, and the products that results create.

use super::*;

fn product_of(session: &Session, part_number: &str) -> Option<Product> {
    let query = QueryProductsRequest::new().filter("partNumber == @0").substitutions([part_number]);
    session.query_products(query).unwrap().products.pop()
}

#[test]
fn items_are_judged_one_by_one() {
    let store = TestStore::new();
    let session = store.session();
    let sent = json!([
        {"programName": "Gain", "status": {"statusType": "PASSED"}},
        {"status": {"statusType": "PASSED"}},
        {"programName": " ", "status": {"statusType": "PASSED"}},
        {"programName": "Gain"},
        {"programName": "Gain", "status": {"statusType": "PASSED"}, "totalTimeInSeconds": -1.0},
        {"programName": "Gain", "status": {"statusType": "PASSED"}, "properties": {"": "v"}},
        {"programName": "Noise", "status": {"statusType": "Timed out"}},
    ]);
    let answer = session.create_results(read(&sent)).unwrap();
    assert_eq!(answer.results.len(), 2);
    let failed = write(&answer.failed);
    assert_eq!(failed, json!([sent[1], sent[2], sent[3], sent[4], sent[5]]));
    let error = answer.error.unwrap();
    assert_eq!(
        (error.name.as_deref(), error.code),
        (Some("TestMonitorErrorCodes.OneOrMoreErrorsOccurred"), Some(-252_921))
    );
    let places: Vec<&str> = error.inner_errors.iter().map(|inner| inner.args[0].as_str()).collect();
    assert_eq!(
        places,
        ["programName", "programName", "status", "totalTimeInSeconds", "properties"]
    );
    let about = error.inner_errors.iter().map(|inner| inner.resource_type.as_deref());
    assert!(about.into_iter().all(|kind| kind == Some("TestResult")));
    let nothing = session.create_results(Vec::new()).unwrap();
    assert_eq!(nothing, CreateResultsPartialSuccess::default());
    store.assert_sound();
}

#[test]
fn absent_members_get_their_defaults() {
    let store = TestStore::new();
    let session = store.session().with_default_workspace("lab");
    let request = CreateResultRequest::new().program_name("G").status(StatusType::Running);
    let made = write(&create(&session, vec![request])[0]);
    assert_eq!(
        (&made["startedAt"], &made["updatedAt"], &made["workspace"]),
        (&json!("2024-03-01T00:00:00.000Z"), &json!("2024-03-01T00:00:00.000Z"), &json!("lab"))
    );
    assert_eq!(made["totalTimeInSeconds"], 0.0);
    assert_eq!(
        (&made["keywords"], &made["properties"], &made["fileIds"], &made["dataTableIds"]),
        (&json!([]), &json!({}), &json!([]), &json!([]))
    );
    assert!(made.get("partNumber").is_none() && made.get("serialNumber").is_none());
}

#[test]
fn updates_keep_what_they_do_not_name() {
    let store = TestStore::new();
    let session = store.session();
    let made = create(&session, vec![gain("P", "1").file_ids(["f"]).data_table_ids(["t"])]);
    let id = id_of(&made[0]);
    store.clock.advance_ms(5_000);
    let change = UpdateResultRequest::new()
        .id(id.clone())
        .status(Status::new(StatusType::Custom).status_name("Odd"))
        .file_ids(["g", "f"])
        .started_at("2023-01-01T00:00:00Z".parse::<chrono::DateTime<chrono::Utc>>().unwrap());
    let changed = session.update_results(vec![change], false, true).unwrap().into_result().unwrap();
    let changed = &changed.results[0];
    assert_eq!(changed.file_ids.as_deref().unwrap(), ["f", "g"]);
    assert_eq!(changed.data_table_ids.as_deref().unwrap(), ["t"]);
    // No step has a status, so the given one stays.
    assert_eq!(changed.status.as_ref().unwrap().status_name.as_deref(), Some("Odd"));
    assert!(changed.updated_at > made[0].updated_at);
    assert_eq!(session.get_result(&id).unwrap(), *changed);
    let cleared = UpdateResultRequest::new().id(id.clone()).data_table_ids(Vec::<String>::new());
    let cleared = session.update_results(vec![cleared], true, false).unwrap();
    assert_eq!(cleared.results[0].data_table_ids.as_deref(), Some(&[][..]));
    assert_eq!(cleared.results[0].file_ids.as_deref().unwrap(), ["f", "g"]);

    // Twice in one call: applied in order, both reported; an unknown one fails alone.
    let twice = ["a", "b"].map(|name| UpdateResultRequest::new().id(id.clone()).operator(name));
    let unknown = UpdateResultRequest::new().id("unknown").operator("c");
    let answer =
        session.update_results(twice.into_iter().chain([unknown]).collect(), false, false).unwrap();
    assert_eq!(answer.results.len(), 2);
    assert_eq!(answer.results[1].operator.as_deref(), Some("b"));
    let inner = answer.error.unwrap().inner_errors.remove(0);
    assert_eq!(
        (inner.name.as_deref(), inner.code, inner.resource_type.as_deref()),
        (Some("TestMonitor.InvalidId"), Some(-253_700), Some("TestResult"))
    );
    assert_eq!(
        (inner.resource_id.as_deref(), inner.args),
        (Some("unknown"), vec!["unknown".into()])
    );
    let no_id = session.update_results(vec![UpdateResultRequest::new()], false, false).unwrap();
    assert_eq!((no_id.results.len(), no_id.failed.map(|failed| failed.len())), (0, Some(1)));
    drop(session);
    store.reopen().assert_sound();
}

#[test]
fn an_unknown_result_is_not_found_and_its_deletion_succeeds() {
    let store = TestStore::new();
    let session = store.session();
    let error = session.get_result(&"unknown".into()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let error = error.api_error();
    assert_eq!(
        (error.name.as_deref(), error.code),
        (Some("TestMonitor.InvalidId"), Some(-253_700))
    );
    session.delete_result(&"unknown".into(), true).unwrap();
    let made = create(&session, vec![gain("P", "1"), gain("P", "2")]);
    let ids = vec![id_of(&made[0]), "unknown".into(), id_of(&made[0])];
    let answer = session.delete_results(ids, false).unwrap().unwrap();
    assert_eq!(
        (answer.ids, answer.failed),
        (vec![id_of(&made[0]).to_string()], Some(vec!["unknown".into()]))
    );
    assert_eq!(session.delete_results(Vec::new(), true).unwrap(), None);
    assert_eq!(serials(&session, QueryResultsRequest::new()), "2");
}

#[test]
fn a_part_number_without_a_product_creates_it_in_the_same_commit() {
    let store = TestStore::new();
    let session = store.session();
    let before = events(&session).len();
    let made = create(&session, vec![gain("P-1", "1").workspace("lab"), gain("P-1", "2")]);
    let product = product_of(&session, "P-1").unwrap();
    assert_eq!(product.workspace.as_deref(), Some("lab"));
    assert_eq!((product.name, product.family), (None, None));
    let told: Vec<(&str, What)> = events(&session)
        .split_off(before)
        .into_iter()
        .map(|event| (event.kind, event.what))
        .collect();
    assert_eq!(
        told,
        [
            ("test result", What::Created),
            ("product", What::Created),
            ("test result", What::Created),
        ]
    );
    let sequences: BTreeSet<_> = events(&session).iter().map(|event| event.sequence).collect();
    assert_eq!(sequences.len(), 1, "one commit");

    // An update with a part number creates its product too; one without leaves things alone.
    let id = id_of(&made[0]);
    let change = UpdateResultRequest::new().id(id.clone()).part_number("P-2");
    session.update_results(vec![change], false, false).unwrap().require_all().unwrap();
    assert_eq!(product_of(&session, "P-2").unwrap().workspace.as_deref(), Some("lab"));
    let deleted = product_of(&session, "P-2").and_then(|product| product.id).unwrap();
    session.delete_product(&deleted).unwrap();
    let change = UpdateResultRequest::new().id(id).operator("ada");
    session.update_results(vec![change], false, false).unwrap().require_all().unwrap();
    assert_eq!(product_of(&session, "P-2"), None);

    // An existing product of another workspace is not touched; blank part numbers name none.
    let known = CreateProductRequest::new("K").name("Known").workspace("elsewhere");
    let known = session.create_products(vec![known]).unwrap().products.remove(0);
    create(&session, vec![gain("K", "3"), gain(" ", "4"), gain("", "5")]);
    assert_eq!(product_of(&session, "K"), Some(known));
    assert_eq!(session.query_products(QueryProductsRequest::new()).unwrap().products.len(), 2);
    store.assert_sound();
}

#[test]
fn no_product_is_created_with_the_option_off_or_against_the_policy() {
    let off = TestStore::with(|options| options.results_create_products(false));
    create(&off.session(), vec![gain("P", "1")]);
    assert_eq!(product_of(&off.session(), "P"), None);

    let refusing = TestStore::with(|options| {
        options.access_policy(Rule(|who, service, action| {
            if (who.user_id(), service) == ("tester", Service::PRODUCTS) && action != Action::Read {
                Visibility::None
            } else {
                Visibility::All
            }
        }))
    });
    let tester = refusing.store.session(Identity::user("tester"));
    create(&tester, vec![gain("P", "1")]);
    assert_eq!(product_of(&tester, "P"), None);
    create(&refusing.session(), vec![gain("P", "2")]);
    assert!(product_of(&tester, "P").is_some());

    // A quota that has room for the result alone.
    let session = off.session();
    let on = TestStore::new();
    let limited = on.session();
    limited.set_quota(SetQuotaRequest::new("default").records_max(1)).unwrap();
    create(&limited, vec![gain("P", "1")]);
    assert_eq!(product_of(&limited, "P"), None);
    let refused = limited.create_results(vec![gain("Q", "2")]).unwrap();
    assert_eq!(refused.results.len(), 0);
    assert_eq!(product_of(&limited, "Q"), None);
    drop(session);
    on.assert_sound();
}

#[test]
fn the_policy_decides_about_each_result_and_each_move() {
    let store = TestStore::with(|options| options.access_policy(GuestsRead("lab")));
    let ada = store.session();
    let made =
        create(&ada, vec![gain("P", "1").workspace("lab"), gain("P", "2").workspace("secret")]);
    let guest = store.store.session(Identity::user("guest"));
    assert_eq!(serials(&guest, QueryResultsRequest::new()), "1");
    let hidden = id_of(&made[1]);
    assert_eq!(guest.get_result(&hidden).unwrap_err().kind(), ErrorKind::NotFound);
    let refused = guest.create_results(vec![gain("P", "3").workspace("lab")]).unwrap();
    let inner = refused.error.unwrap().inner_errors.remove(0);
    assert_eq!(inner.name.as_deref(), Some("Skyline.InsufficientPrivileges"));
    let moved = UpdateResultRequest::new().id(id_of(&made[0])).workspace("secret");
    let answer = guest.update_results(vec![moved.clone()], false, false).unwrap();
    assert_eq!(answer.results.len(), 0);
    ada.update_results(vec![moved], false, false).unwrap().require_all().unwrap();
    assert_eq!(serials(&guest, QueryResultsRequest::new()), "");
    let counted = QueryResultsRequest::new().take(0).return_count(true);
    assert_eq!(guest.query_results(counted).unwrap().total_count, Some(0));
}

#[test]
fn a_transaction_and_a_deletion_by_query_reach_results() {
    let store = TestStore::new();
    let session = store.session();
    let failed: Result<()> = session.transaction(|tx| {
        let made = tx.create_results(vec![gain("P", "1")])?.into_result()?;
        let change = UpdateResultRequest::new().id(id_of(&made.results[0])).operator("ada");
        tx.update_results(vec![change], false, false)?.require_all()?;
        assert_eq!(tx.get_result(&id_of(&made.results[0]))?.operator.as_deref(), Some("ada"));
        Err(Error::invalid("not this time"))
    });
    assert!(failed.is_err());
    assert_eq!(serials(&session, QueryResultsRequest::new()), "");
    assert_eq!(product_of(&session, "P"), None);
    create(&session, (0..30).map(|n| gain("P", &n.to_string())).collect());
    let request = DeleteRecordsRequest::new(RecordKind::TestResult).filter("serialNumber != \"7\"");
    assert_eq!(session.delete_records(request, &control()).unwrap().deleted_count, 29);
    assert_eq!(serials(&session, QueryResultsRequest::new()), "7");
    drop(session);
    store.reopen().assert_sound();
}
