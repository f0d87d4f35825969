//! What the integration suite of the public client expects of results.

use super::*;

#[test]
fn a_created_result_comes_back_as_it_was_sent() {
    let store = TestStore::new();
    let session = store.session();
    let sent = json!({
        "partNumber": "P-1", "programName": "Gain", "status": {"statusType": "PASSED"},
        "hostName": "pc-7", "systemId": "bench", "serialNumber": "SN", "operator": "ada",
        "keywords": ["k2", "k1"], "properties": {"a": "1", "none": null}, "totalTimeInSeconds": 29.9,
        "startedAt": "2024-02-29T12:00:00.123456Z", "fileIds": ["f"], "dataTableIds": ["t"],
        // A generated member of another record, which a client sends back.
        "id": "mine",
    });
    let made = create(&session, read(&json!([sent])));
    let answer = write(&made[0]);
    for (name, value) in sent.as_object().unwrap() {
        match name.as_str() {
            "id" => assert_ne!(answer["id"], "mine"),
            "startedAt" => assert_eq!(answer["startedAt"], "2024-02-29T12:00:00.123Z"),
            _ => assert_eq!(&answer[name], value, "{name}"),
        }
    }
    // Strict clients refuse members that they do not know.
    let members: BTreeSet<&str> = answer.as_object().unwrap().keys().map(String::as_str).collect();
    let known = [
        "dataTableIds",
        "fileIds",
        "hostName",
        "id",
        "keywords",
        "operator",
        "partNumber",
        "programName",
        "properties",
        "serialNumber",
        "startedAt",
        "status",
        "statusTypeSummary",
        "systemId",
        "totalTimeInSeconds",
        "updatedAt",
        "workspace",
    ];
    assert_eq!(members.into_iter().collect::<Vec<_>>(), known);
    assert_eq!(answer["statusTypeSummary"].as_object().unwrap().len(), 11);
    let id = id_of(&made[0]);
    assert_eq!(session.get_result(&id).unwrap(), made[0]);
    assert!(id.as_str().split('-').map(str::len).eq([8, 4, 4, 4, 12]), "{id}");
}

#[test]
fn pages_and_counts_are_those_of_the_client() {
    let store = TestStore::new();
    let session = store.session();
    create(&session, vec![gain("P", "1"), gain("P", "2"), gain("Q", "3")]);
    assert_eq!(session.get_results(None, None, false).unwrap().results.len(), 3);
    let page = session.get_results(None, Some(1), true).unwrap();
    assert_eq!((page.results.len(), page.total_count), (1, Some(3)));
    let token = page.continuation_token;
    let next = session.get_results(token.clone(), Some(5), false).unwrap();
    assert_eq!((next.results.len(), next.total_count, &next.continuation_token), (2, None, &None));
    assert_eq!(session.get_results(Some(String::new()), Some(-1), false).unwrap().results.len(), 3);
    let empty = session.get_results(None, Some(0), true).unwrap();
    assert_eq!(
        (empty.results.len(), empty.total_count, empty.continuation_token),
        (0, Some(3), None)
    );
    let query = QueryResultsRequest::new()
        .filter("partNumber == @0 and serialNumber == @1")
        .substitutions(["P", "2"])
        .projection([
            ResultProjection::Id,
            ResultProjection::PartNumber,
            ResultProjection::SerialNumber,
        ])
        .return_count(true);
    let page = session.query_results(query).unwrap();
    assert_eq!(page.total_count, Some(1));
    let record = write(&page.results[0]);
    let members: Vec<&String> = record.as_object().unwrap().keys().collect();
    assert_eq!(members, ["id", "partNumber", "serialNumber"]);
    let values = QueryResultValuesRequest::new()
        .field(ResultField::ProgramName)
        .filter("id == @0")
        .substitutions([record["id"].clone()]);
    assert_eq!(session.query_result_values(values).unwrap(), ["Gain"]);
    // Without a body the whole store is asked for.
    let all: QueryResultsRequest = from_json(b"").unwrap();
    assert_eq!(session.query_results(all).unwrap().results.len(), 3);
}

#[test]
fn a_whole_answer_sent_back_changes_what_it_changes() {
    let store = TestStore::new();
    let session = store.session();
    let made = create(
        &session,
        vec![gain("P", "1").keywords(["old"]).properties([("a", "1"), ("b", "2")])],
    );
    let changed = |replace, keywords: Value, properties: Value| {
        let mut answer = write(&session.get_result(&id_of(&made[0])).unwrap());
        let members = answer.as_object_mut().unwrap();
        members.remove("statusTypeSummary");
        members.remove("updatedAt");
        members.insert("operator".to_owned(), Value::Null);
        members.insert("keywords".to_owned(), keywords);
        members.insert("properties".to_owned(), properties);
        let answer = session.update_results(read(&json!([answer])), replace, false).unwrap();
        assert_eq!(answer.error, None);
        write(&answer.results[0])
    };
    let merged = changed(false, json!(["new"]), json!({"b": "3", "c": null}));
    assert_eq!(merged["keywords"], json!(["old", "new"]));
    assert_eq!(merged["properties"], json!({"a": "1", "b": "3", "c": null}));
    let replaced = changed(true, json!(["only"]), json!({"z": "9"}));
    assert_eq!(replaced["keywords"], json!(["only"]));
    assert_eq!(replaced["properties"], json!({"z": "9"}));
    assert_eq!(replaced["serialNumber"], "1");
}

#[test]
fn clean_up_answers_records_and_no_exceptions() {
    let store = TestStore::new();
    let session = store.session();
    let made = create(&session, vec![gain("P-1", "1"), gain("P-2", "2")]);
    let ids: Vec<TestResultId> = made.iter().map(id_of).collect();
    assert_eq!(session.delete_results(ids.clone(), true).unwrap(), None);
    let again = session.delete_results(ids.clone(), true).unwrap().unwrap();
    assert_eq!(again.ids, Vec::<String>::new());
    assert_eq!(again.failed.unwrap().len(), 2);
    // The products that the creations made are found by their part numbers, and deleted.
    let values = QueryProductValuesRequest::new()
        .field(ProductField::Id)
        .filter(r#"partNumber="P-1" or partNumber="P-2""#);
    let products = session.query_product_values(values).unwrap();
    assert_eq!(products.len(), 2);
    let products = products.into_iter().map(ProductId::from).collect();
    assert_eq!(session.delete_products(products).unwrap(), None);
    session.delete_result(&ids[0], true).unwrap();
}
