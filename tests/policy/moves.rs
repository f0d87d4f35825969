//! A change event names the workspace that a resource was moved from, to those who may read there.

use serde_json::{Value, json};
use stationdb::prelude::*;
use stationdb::{ChangeEvent, ChangeStream, Position, What};

use crate::world::{World, request};

/// What a stream tells of a change, as kind and JSON of its workspaces.
fn told(mut changes: ChangeStream) -> Vec<(&'static str, Value)> {
    let events: Vec<ChangeEvent> = std::iter::from_fn(|| changes.poll().unwrap()).collect();
    let pair = |event: &ChangeEvent| {
        let json = serde_json::to_value(event).unwrap();
        assert_eq!(event.what, What::Updated, "{json}");
        assert_eq!(json.get("movedFrom").and_then(Value::as_str), event.moved_from.as_deref());
        (event.kind, json!([json.get("movedFrom"), json["workspace"]]))
    };
    events.iter().map(pair).collect()
}

#[test]
fn only_who_reads_the_old_workspace_is_told_of_it() {
    let world = World::new();
    let ada = world.session("ada");
    let columns = json!([{"name": "t", "dataType": "INT64", "columnType": "INDEX"}]);
    let table = json!({"name": "moves", "workspace": "secret", "columns": columns});
    let table = ada.create_table(request(table)).unwrap();
    let product = json!({"partNumber": "moves", "workspace": "secret"});
    let made = ada.create_products(vec![request(product)]).unwrap();
    let product = made.products[0].id.clone();
    // Both go where `change` says; returns the position before.
    let both = |change: Value| -> Position {
        let before = ada.position();
        ada.modify_table(&table, request(change.clone())).unwrap();
        let mut change = change;
        change["id"] = json!(product);
        let updated = ada.update_products(vec![request(change)], false).unwrap();
        assert!(updated.error.is_none(), "{:?}", updated.error);
        before
    };
    let about = |from: Value, to: &str| {
        let pair = json!([from, to]);
        vec![("table", pair.clone()), ("product", pair)]
    };
    let all = |from: Position, expected: &[(&'static str, Value)]| {
        assert_eq!(told(world.store.changes(from)), expected, "the host");
        for who in ["ada", "reader"] {
            assert_eq!(told(world.session(who).changes(from)), expected, "{who}");
        }
    };

    let before = both(json!({"workspace": "open"}));
    all(before, &about(json!("secret"), "open"));
    for who in ["guest", "member"] {
        let changes = world.session(who).changes(before);
        assert_eq!(told(changes), about(Value::Null, "open"), "{who}");
    }
    assert_eq!(told(world.session("stranger").changes(before)), []);

    let before = both(json!({"name": "renamed"}));
    all(before, &about(Value::Null, "open"));
    let before = both(json!({"workspace": "open"}));
    all(before, &about(Value::Null, "open"));

    let before = both(json!({"workspace": "secret"}));
    all(before, &about(json!("open"), "secret"));
    assert_eq!(told(world.session("member").changes(before)), []);
}
