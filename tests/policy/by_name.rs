//! Operations that are called by their names do what the methods do, and the list of them says what
//! each is.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use stationdb::by_name::{OperationInfo, operations};
use stationdb::{ErrorKind, Result, Session};

use crate::operations::{Effect, Probe, probes};
use crate::world::{MARK, World};

/// The JSON of a call with these arguments.
fn body(operation: &OperationInfo, arguments: &[Value]) -> String {
    let mut members = Map::new();
    for (name, value) in operation.arguments.iter().zip(arguments) {
        if ["request", "query"].contains(name) {
            members.extend(value.as_object().cloned().unwrap_or_default());
        } else {
            members.insert((*name).to_owned(), value.clone());
        }
    }
    Value::Object(members).to_string()
}

fn outcome(answer: Result<Value>) -> Value {
    answer.unwrap_or_else(|error| json!({"refused": error.api_error()}))
}

/// The answer of the method in the form of the wire, as a text has it: not every number is read
/// back to its last digit.
fn on_the_wire(name: &str, answer: Value) -> Value {
    let answer: Value = serde_json::from_str(&answer.to_string()).unwrap();
    match name {
        _ if answer.get("refused").is_some() => answer,
        "create_table" => json!({"id": answer}),
        "finish_upload_session" => {
            let id = answer.as_str().unwrap();
            json!({"uri": format!("/nifile/v1/service-groups/Default/files/{id}")})
        }
        _ if name.starts_with("explain_") => answer["plan"].clone(),
        _ => answer,
    }
}

/// Each store seals its tokens with a key of its own.
fn without_token(mut answer: Value) -> Value {
    if let Some(token) = answer.get_mut("continuationToken") {
        assert!(token.is_string());
        *token = json!("a token");
    }
    answer
}

fn named(session: &Session, operation: &OperationInfo, arguments: &[Value]) -> Value {
    let answer = session.call(operation.name, body(operation, arguments));
    outcome(answer.map(|json| serde_json::from_str(&json).unwrap()))
}

fn find(probe: &Probe) -> OperationInfo {
    let mut all = operations().into_iter();
    all.find(|one| probe.operation == format!("{}::{}", one.service, one.name)).unwrap()
}

#[test]
fn the_list_has_every_operation_of_every_service() {
    let listed: Vec<String> =
        operations().iter().map(|one| format!("{}::{}", one.service, one.name)).collect();
    let declared: BTreeSet<String> = crate::declared().into_keys().collect();
    assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>(), declared);
    assert_eq!(listed.len(), declared.len(), "a name twice");
}

/// Two worlds that are alike: one is asked by methods, the other by names.
#[test]
fn a_call_by_name_does_what_the_method_does() {
    let mut worlds = [World::new(), World::new()];
    let (mut equal, mut refused) = (0, 0);
    for probe in probes() {
        let operation = find(&probe);
        let name = operation.name;
        let Some(arguments) = probe.arguments(&worlds[0]) else { continue };
        if let Some(refusal) = &operation.refusal {
            let error = worlds[1].session("ada").call(name, "{}").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{name}");
            assert_eq!(error.message(), refusal);
            assert!(refusal.ends_with(&format!("call {}", probe.operation)), "{refusal}");
            refused += 1;
            continue;
        }
        // A guest first, who is refused or sees nothing of the hidden workspace.
        for who in ["guest", "ada"] {
            let method = outcome(probe.run(&worlds[0].session(who), &worlds[0]));
            let answer = named(&worlds[1].session(who), &operation, &arguments);
            let wire = on_the_wire(name, method);
            assert_eq!(without_token(answer.clone()), without_token(wire), "{name} of {who}");
            assert!(who == "ada" || !answer.to_string().contains(MARK), "{name}: {answer}");
        }
        equal += 1;
        if operation.writes {
            worlds = [World::new(), World::new()];
        } else {
            let [method, by_name] = [&worlds[0], &worlds[1]].map(|w| w.session("ada"));
            let transaction = by_name.begin().unwrap();
            let inside = transaction.call(name, body(&operation, &arguments));
            let closure = method.transaction(|tx| tx.call(name, body(&operation, &arguments)));
            let inside = inside.map_err(|error| error.to_string());
            assert_eq!(inside, closure.map_err(|error| error.to_string()), "{name}");
        }
    }
    println!("{equal} operations are called by name, {refused} cannot be");
    assert!(equal > 120, "{equal}");
}

#[test]
fn what_writes_is_listed_so() {
    let mut world = World::new();
    for probe in probes() {
        let operation = find(&probe);
        let ada = world.session("ada");
        let before = ada.position();
        let outcome = probe.run(&ada, &world);
        let changed = ada.position() != before;
        let name = operation.name;
        assert!(operation.writes || !changed, "{name} changed the store");
        if matches!(probe.effect, Effect::Changes) && outcome.is_ok() {
            assert!(operation.writes, "{name} is there to change the store");
        }
        drop(ada);
        if changed {
            world = World::new();
        }
    }
}

#[test]
fn what_cannot_be_called_says_why() {
    let world = World::new();
    let ada = world.session("ada");
    for (operation, json, kind, message) in [
        (
            "query_produkts",
            "",
            ErrorKind::NotFound,
            "there is no operation \"query_produkts\"; did you mean `query_products`?",
        ),
        ("zzz", "", ErrorKind::NotFound, "there is no operation \"zzz\""),
        (
            "create_products",
            "",
            ErrorKind::InvalidArgument,
            "the request cannot be read: member `products`: it is required",
        ),
        (
            "create_products",
            r#"{"products": [{}, {"partNumber": 7}]}"#,
            ErrorKind::InvalidArgument,
            "the request cannot be read: member `products[1].partNumber`: expected a string, found \
             the integer 7",
        ),
        (
            "modify_table",
            r#"{"id": "1", "name": []}"#,
            ErrorKind::InvalidArgument,
            "the request cannot be read: member `name`: expected a string, found an array",
        ),
        (
            "query_products",
            r#"{"take": "many"}"#,
            ErrorKind::InvalidArgument,
            "the request cannot be read: member `take`: expected an integer of 64 bits, found the \
             string \"many\"",
        ),
        (
            "get_product",
            "[]",
            ErrorKind::InvalidArgument,
            "the request cannot be read: expected an object, found an array",
        ),
        (
            "get_product",
            r#"{"id": 7}"#,
            ErrorKind::InvalidArgument,
            "the request cannot be read: member `id`: expected a string, found the integer 7",
        ),
        (
            "scan_records",
            "",
            ErrorKind::Unsupported,
            "scan_records cannot be called by name: its answer is a stream of Arrow batches, which \
             JSON does not have; call RecordService::scan_records",
        ),
        (
            "packages_index_gz",
            "",
            ErrorKind::Unsupported,
            "packages_index_gz cannot be called by name: its answer is bytes, which JSON does not \
             have; call FeedService::packages_index_gz",
        ),
    ] {
        let error = ada.call(operation, json).unwrap_err();
        assert_eq!((error.kind(), error.message()), (kind, message), "{operation} {json}");
    }
    let syntax = ada.call("get_product", "{").unwrap_err();
    assert_eq!(syntax.kind(), ErrorKind::InvalidArgument, "{syntax}");
}

/// Both spellings, members from elsewhere, nulls and defaults.
#[test]
fn members_come_from_the_json_or_from_elsewhere() {
    let world = World::new();
    let ada = world.session("ada");
    let given = |members: Value| members.as_object().cloned().unwrap();
    let count = |members: Value, json: &str| -> Value {
        let reply = ada.call_with("get_products", given(members), json.as_bytes()).unwrap();
        assert_eq!(reply.status, 200);
        serde_json::from_str(&reply.json).unwrap()
    };
    assert_eq!(count(json!({}), r#"{"returnCount": true, "take": 1}"#)["totalCount"], json!(2));
    let page = count(json!({"return_count": true}), r#"{"returnCount": false, "take": null}"#);
    assert_eq!(page["totalCount"], json!(2));
    let page = count(json!({"take": 1}), r#"{"return_count": true, "take": 2}"#);
    assert_eq!((page["products"].as_array().unwrap().len(), &page["totalCount"]), (1, &json!(2)));
    let gone = ada.call_with("delete_product", given(json!({"id": world.open.product})), b"");
    let gone = gone.unwrap();
    assert_eq!((gone.status, gone.json.as_str()), (204, "null"));
    // The steps of a result go with it, unless the request keeps them.
    let result = json!({"id": world.open.result, "delete_steps": false});
    assert_eq!(ada.call_with("delete_result", given(result), b"").unwrap().status, 204);
    let created = ada.call_with("create_workspace", Map::new(), br#"{"name": "lab"}"#).unwrap();
    assert_eq!(created.status, 200);
}
