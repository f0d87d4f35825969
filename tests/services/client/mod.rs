//! The services from the view of a client: an operation by its name, JSON in, JSON out.
//!
//! Requests are parsed like in a server that wraps the store. Responses are what serde writes.

mod assets;
mod collections;
mod echoes;
mod ends;
mod events;
mod files;
mod ids;
mod lab;
mod products;
mod resource_types;
mod wrong_types;

use crate::prelude::*;

use crate::calls::{call, read, wire};
use crate::test_store::TestStore;

/// A client of one store.
struct Client {
    store: TestStore,
    session: Session,
}

/// The members of a body that are the arguments of an operation. For all others the body is the
/// argument.
const MEMBERS: &[(&str, &[&str])] = &[
    ("create_products", &["products"]),
    ("get_product", &["id"]),
    ("update_products", &["products", "replace"]),
    ("delete_product", &["id"]),
    ("delete_products", &["ids"]),
    ("create_results", &["results"]),
    ("get_result", &["id"]),
    ("update_results", &["results", "replace", "determineStatusFromSteps"]),
    ("delete_result", &["id", "deleteSteps"]),
    ("delete_results", &["ids", "deleteSteps"]),
    ("apply_result_retention", &["retention", "dryRun"]),
    ("get_spec", &["id"]),
    ("delete_specs", &["ids"]),
    ("create_assets", &["assets"]),
    ("get_asset", &["id"]),
    ("update_assets", &["assets"]),
    ("delete_assets", &["ids"]),
    ("link_files", &["id", "fileIds"]),
    ("create_work_items", &["workItems"]),
    ("get_work_item", &["id"]),
    ("delete_work_items", &["ids"]),
    ("execute_work_item", &["id", "action"]),
    ("create_work_item_templates", &["workItemTemplates"]),
    ("create_test_plans", &["testPlans"]),
    ("get_test_plan", &["id"]),
    ("delete_test_plans", &["ids"]),
    ("create_test_plan_templates", &["testPlanTemplates"]),
    ("get_table_metadata", &["id"]),
    ("delete_feed", &["id"]),
];

impl Client {
    fn new() -> Self {
        let store = TestStore::new();
        let session = store.session();
        Self { store, session }
    }

    /// A client of the same store, which was closed and opened again.
    fn reopened(self) -> Self {
        let Self { store, session } = self;
        drop(session);
        let store = store.reopen();
        let session = store.session();
        Self { store, session }
    }

    /// The response of an operation, or its error.
    fn ask(&self, operation: &str, body: Value) -> Result<Value> {
        if let "utilization_heartbeat" | "end_utilization" = operation {
            // Its members have other names as well.
            let request: stationdb::bodies::UpdateUtilizationRequest = read(&body)?;
            let ids = wire(request.utilization_identifiers);
            return call(&self.session, operation, &[ids, wire(request.utilization_timestamp)]);
        }
        let members = MEMBERS.iter().find(|(name, _)| *name == operation).map(|(_, list)| *list);
        let argument = |name: &&str| match (body.get(*name), *name) {
            (None, "replace" | "determineStatusFromSteps") => json!(false),
            (None, "deleteSteps") => json!(true),
            // A list may come without an object around it.
            (None, "products" | "assets" | "results") => body.clone(),
            (value, _) => value.cloned().unwrap_or_default(),
        };
        match members {
            Some(list) => {
                call(&self.session, operation, &list.iter().map(argument).collect::<Vec<_>>())
            }
            None => call(&self.session, operation, &[body]),
        }
    }

    /// The response of an operation that must not fail as a whole.
    fn get(&self, operation: &str, body: Value) -> Value {
        self.ask(operation, body.clone())
            .unwrap_or_else(|error| panic!("{operation} {body}: {error}"))
    }

    /// The error of an operation that must fail as a whole.
    fn refusal(&self, operation: &str, body: Value) -> Error {
        match self.ask(operation, body.clone()) {
            Err(error) => error,
            Ok(answer) => panic!("{operation} {body}: {answer}"),
        }
    }
}

/// Checks that `found` contains every member of `expected`. Lists are compared entry by entry; null
/// matches null and absent.
fn assert_has(found: &Value, expected: &Value) {
    fn differs(found: &Value, expected: &Value, path: &str) -> Option<String> {
        match (found, expected) {
            (_, Value::Object(members)) if found.is_object() => {
                members.iter().find_map(|(name, expected)| {
                    differs(
                        found.get(name).unwrap_or(&Value::Null),
                        expected,
                        &format!("{path}.{name}"),
                    )
                })
            }
            (Value::Array(found), Value::Array(expected)) if found.len() == expected.len() => {
                found.iter().zip(expected).enumerate().find_map(|(at, (found, expected))| {
                    differs(found, expected, &format!("{path}[{at}]"))
                })
            }
            _ => (found != expected).then(|| format!("{path} is {found}, not {expected}")),
        }
    }
    if let Some(difference) = differs(found, expected, "") {
        panic!("{difference}, in {found}");
    }
}

#[test]
fn what_a_client_looks_for_is_told_where_it_differs() {
    assert_has(&json!({"a": [{"b": 1, "c": 2}]}), &json!({"a": [{"b": 1, "d": null}]}));
    for expected in
        [json!({"a": [{"b": 2}]}), json!({"a": []}), json!({"a": null}), json!({"e": 1})]
    {
        let looked = std::panic::catch_unwind(|| assert_has(&json!({"a": [{"b": 1}]}), &expected));
        assert!(looked.is_err(), "{expected}");
    }
}
