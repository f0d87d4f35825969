//! Nothing that the identity may not see, or whose workspace has no root, leaves the station.

mod common;

use std::sync::Arc;

use common::*;
use futures::StreamExt;
use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use serde_json::json;
use stationdb::faults::MemoryDisk;
use stationdb::prelude::*;
use stationdb::{AccessPolicy, Action, Control, Identity, Service, Store, Visibility};
use stationdb_lake::{Layout, OneRoot, Publisher};

/// The publisher sees the workspace `open`.
#[derive(Debug)]
struct OpenOnly;

impl AccessPolicy for OpenOnly {
    fn visible(&self, who: &Identity, _service: Service, _action: Action) -> Visibility {
        match who.user_id() {
            "publisher" => Visibility::workspaces(["open"]),
            _ => Visibility::All,
        }
    }
}

/// Workspace `open` has a root.
struct OpenHasARoot;

impl Layout for OpenHasARoot {
    fn roots(&self) -> Vec<Path> {
        vec![Path::from("lake")]
    }

    fn root(&self, workspace: &str) -> Option<Path> {
        (workspace == "open").then(|| Path::from("lake"))
    }
}

/// A record of every kind in both workspaces, with a mark in each text.
fn fill(store: &Store) {
    let session = ada(store);
    for (workspace, mark) in [("open", "SHOWN"), ("closed", "HIDDEN")] {
        let _ = session.create_workspace(from(
            json!({ "id": workspace, "name": format!("{mark} workspace") }),
        ));
        let product = json!({ "partNumber": format!("{mark}-P"), "workspace": workspace });
        let made = session.create_products(vec![from(product)]).unwrap();
        let product = made.products[0].id.clone();
        let spec = json!({ "specs": [{ "productId": product, "specId": format!("{mark}-S"),
            "type": "PARAMETRIC", "workspace": workspace, "limit": { "min": 1.0 } }] });
        assert!(session.create_specs(from(spec)).unwrap().failed_specs.is_none());
        let item = json!({ "name": format!("{mark} item"), "type": "test", "partNumber": "P",
            "state": "NEW", "workspace": workspace });
        let _ = session.create_work_items(vec![from(item)]).unwrap();
        let template = json!({ "name": format!("{mark} template"), "templateGroup": "g",
            "type": "test", "workspace": workspace });
        let _ = session.create_work_item_templates(vec![from(template.clone())]).unwrap();
        let _ = session.create_test_plan_templates(vec![from(template)]).unwrap();
        let plan = json!({ "name": format!("{mark} plan"), "state": "NEW", "partNumber": "P",
            "workspace": workspace });
        let _ = session.create_test_plans(vec![from(plan)]).unwrap();
        let asset = json!({ "modelName": format!("{mark} model"), "vendorName": "V",
            "serialNumber": mark, "workspace": workspace,
            "location": { "state": { "assetPresence": "PRESENT" } } });
        let made = session.create_assets(vec![from(asset)]).unwrap();
        let asset = &made.assets.unwrap()[0];
        let used = json!({ "utilizationIdentifier": "00000000-0000-4000-8000-000000000001",
            "minionId": "m", "assetIdentifications": [asset], "utilizationCategory": "c",
            "taskName": format!("{mark} task"), "userName": "u",
            "utilizationTimestamp": "2024-03-01T00:00:00Z" });
        let _ = session.start_utilization(from(used)).unwrap();
        let file = json!({ "name": format!("{mark}.txt"), "workspace": workspace });
        session.upload_file(&mut &b"x"[..], from(file), &Control::default()).unwrap();
        let feed = json!({ "name": format!("{mark} feed"), "platform": "WINDOWS", "workspace": workspace });
        session.create_feed(from(feed)).unwrap();
        let columns = json!([
            { "name": "n", "dataType": "INT64", "columnType": "INDEX" },
            { "name": format!("{mark} text"), "dataType": "STRING" },
        ]);
        let table = json!({ "name": format!("{mark} table"), "workspace": workspace,
            "columns": columns });
        let id = session.create_table(from(table)).unwrap();
        let data = json!({ "frame": { "data": [["1", format!("{mark} cell")]] } });
        session.append_table_data(&id, from(data)).unwrap();
    }
}

/// All bytes of a lake, Parquet as the texts of its rows.
fn everything(objects: &Objects) -> String {
    let mut all = String::new();
    let paths: Vec<Path> = wait(async {
        objects.list(None).map(|meta| meta.unwrap().location).collect::<Vec<_>>().await
    });
    for path in paths.iter().filter(|path| path.as_ref().ends_with(".json")) {
        let bytes = wait(async { objects.get(path).await.unwrap().bytes().await.unwrap() });
        all.push_str(std::str::from_utf8(&bytes).unwrap());
    }
    for name in names(objects, "lake") {
        all.push_str(&format!("{:?}", table(objects, "lake", &name).rows));
    }
    all
}

fn check(objects: &Objects) {
    let all = everything(objects);
    for what in
        ["-P", "-S", " item", " template", " plan", " model", " task", ".txt", " feed", " cell"]
    {
        assert!(all.contains(&format!("SHOWN{what}")), "{what} was not published");
    }
    assert!(!all.contains("HIDDEN") && !all.contains("closed"), "something hidden left");
    // Each kind that has a record in the workspace has a table.
    let kinds = names(objects, "lake").iter().filter(|name| name.ends_with("_changes")).count();
    assert!(kinds >= 11, "{:?}", names(objects, "lake"));
}

#[test]
fn a_publisher_sends_what_its_identity_sees() {
    let options = Store::options().maintenance_thread(false).access_policy(OpenOnly);
    let store = options.open_disk(Arc::new(MemoryDisk::new())).unwrap();
    fill(&store);
    let objects: Objects = Arc::new(InMemory::new());
    let who = Identity::user("publisher");
    let publisher =
        Publisher::new(&store, who, objects.clone(), OneRoot::new("lake"), "s1").unwrap();
    let published = publish(&publisher);
    // It may not create subscribers in all workspaces.
    assert!(!published.is_held);
    check(&objects);
    let hidden = json!({ "partNumber": "HIDDEN-2", "workspace": "closed" });
    let made = ada(&store).create_products(vec![from(hidden)]).unwrap();
    assert!(made.error.is_none());
    assert_eq!(publish(&publisher).commits, 0, "a hidden change made a commit");
    check(&objects);
}

#[test]
fn nothing_of_a_workspace_without_a_root_leaves_the_station() {
    let store = store();
    fill(&store);
    let objects: Objects = Arc::new(InMemory::new());
    let publisher = publisher(&store, &objects, OpenHasARoot, "s1");
    publish(&publisher);
    check(&objects);
    // A second pass, by changes.
    let session = ada(&store);
    let made = session
        .create_products(vec![
            from(json!({ "partNumber": "HIDDEN-2", "workspace": "closed" })),
            from(json!({ "partNumber": "SHOWN-2", "workspace": "open" })),
        ])
        .unwrap();
    assert!(made.error.is_none());
    publish(&publisher);
    check(&objects);
    assert!(everything(&objects).contains("SHOWN-2"));
}
