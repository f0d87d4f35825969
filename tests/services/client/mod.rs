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
use serde::Serialize;

use crate::test_store::TestStore;

/// A client of one store.
struct Client {
    store: TestStore,
    session: Session,
}

fn read<T: serde::de::DeserializeOwned>(body: &Value) -> Result<T> {
    from_json(body.to_string().as_bytes())
}

fn written(answer: Result<impl Serialize>) -> Result<Value> {
    answer.map(|answer| serde_json::to_value(answer).unwrap())
}

fn ids(body: &Value) -> Result<Vec<String>> {
    read(&body["ids"])
}

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
        let s = &self.session;
        let id = || body["id"].as_str().unwrap_or_default();
        let replace = || body["replace"].as_bool().unwrap_or_default();
        match operation {
            "create_products" => {
                written(s.create_products(read(body.get("products").unwrap_or(&body))?))
            }
            "query_products" => written(s.query_products(read(&body)?)),
            "query_product_values" => written(s.query_product_values(read(&body)?)),
            "get_product" => written(s.get_product(&id().into())),
            "update_products" => written(s.update_products(read(&body["products"])?, replace())),
            "delete_product" => written(s.delete_product(&id().into())),
            "delete_products" => {
                written(s.delete_products(ids(&body)?.into_iter().map(Into::into).collect()))
            }
            "create_specs" => written(s.create_specs(read(&body)?)),
            "query_specs" => written(s.query_specs(read(&body)?)),
            "get_spec" => written(s.get_spec(&id().into())),
            "update_specs" => written(s.update_specs(read(&body)?)),
            "delete_specs" => {
                written(s.delete_specs(ids(&body)?.into_iter().map(Into::into).collect()))
            }
            "create_assets" => written(s.create_assets(read(body.get("assets").unwrap_or(&body))?)),
            "query_assets" => written(s.query_assets(read(&body)?)),
            "get_asset" => written(s.get_asset(&id().into())),
            "update_assets" => written(s.update_assets(read(body.get("assets").unwrap_or(&body))?)),
            "delete_assets" => {
                written(s.delete_assets(ids(&body)?.into_iter().map(Into::into).collect()))
            }
            "link_files" => written(s.link_files(&id().into(), read(&body["fileIds"])?)),
            "start_utilization" => written(s.start_utilization(read(&body)?)),
            "utilization_heartbeat" => {
                let request: stationdb::bodies::UpdateUtilizationRequest = read(&body)?;
                written(s.utilization_heartbeat(
                    request.utilization_identifiers,
                    request.utilization_timestamp,
                ))
            }
            "end_utilization" => {
                let request: stationdb::bodies::UpdateUtilizationRequest = read(&body)?;
                written(s.end_utilization(
                    request.utilization_identifiers,
                    request.utilization_timestamp,
                ))
            }
            "query_asset_utilization_history" => {
                written(s.query_asset_utilization_history(read(&body)?))
            }
            "create_work_items" => written(s.create_work_items(read(&body["workItems"])?)),
            "query_work_items" => written(s.query_work_items(read(&body)?)),
            "get_work_item" => written(s.get_work_item(&id().into())),
            "update_work_items" => written(s.update_work_items(read(&body)?)),
            "schedule_work_items" => written(s.schedule_work_items(read(&body)?)),
            "delete_work_items" => {
                written(s.delete_work_items(ids(&body)?.into_iter().map(Into::into).collect()))
            }
            "execute_work_item" => written(
                s.execute_work_item(&id().into(), body["action"].as_str().unwrap_or_default()),
            ),
            "create_work_item_templates" => {
                written(s.create_work_item_templates(read(&body["workItemTemplates"])?))
            }
            "query_work_item_templates" => written(s.query_work_item_templates(read(&body)?)),
            "update_work_item_templates" => written(s.update_work_item_templates(read(&body)?)),
            "create_test_plans" => written(s.create_test_plans(read(&body["testPlans"])?)),
            "query_test_plans" => written(s.query_test_plans(read(&body)?)),
            "get_test_plan" => written(s.get_test_plan(&id().into())),
            "update_test_plans" => written(s.update_test_plans(read(&body)?)),
            "schedule_test_plans" => written(s.schedule_test_plans(read(&body)?)),
            "delete_test_plans" => {
                written(s.delete_test_plans(ids(&body)?.into_iter().map(Into::into).collect()))
            }
            "create_test_plan_templates" => {
                written(s.create_test_plan_templates(read(&body["testPlanTemplates"])?))
            }
            "query_test_plan_templates" => written(s.query_test_plan_templates(read(&body)?)),
            "modify_tables" => written(s.modify_tables(read(&body)?)),
            "create_table" => written(s.create_table(read(&body)?)),
            "get_table_metadata" => written(s.get_table_metadata(&id().into())),
            "create_feed" => written(s.create_feed(read(&body)?)),
            "delete_feed" => written(s.delete_feed(&id().into())),
            other => panic!("no operation {other}"),
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
