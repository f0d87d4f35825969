//! Nothing that the identity may not see, or whose workspace has no root, leaves the station.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::common::{
    Objects, ada, from, latest, names, publish, publisher, records, store, table, wait,
};
use futures::StreamExt;
use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use serde_json::{Value, json};
use stationdb::faults::MemoryDisk;
use stationdb::prelude::*;
use stationdb::scans::{DeleteRecordsRequest, RecordKind};
use stationdb::tables::TableId;
use stationdb::{AccessPolicy, Action, Control, Identity, Service, Session, Store, Visibility};
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
        let result = json!({ "programName": format!("{mark} program"), "operator": mark,
            "status": { "statusType": "PASSED" }, "partNumber": format!("{mark}-P"),
            "properties": { "mark": mark, "none": null }, "workspace": workspace });
        let made = session.create_results(vec![from(result)]).unwrap().into_result().unwrap();
        let step = json!({ "resultId": made.results[0].id, "stepId": format!("{mark}-step"),
            "name": format!("{mark} step"), "data": { "parameters": [
                { "name": format!("{mark} measurement"), "measurement": "1" }] } });
        session.create_steps(vec![from(step)], false).unwrap().require_all().unwrap();
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
        let feed = session.create_feed(from(feed)).unwrap().id;
        let bytes = crate::package::package(&format!("{}-package", mark.to_lowercase()));
        let control = Control::default();
        session.upload_package_content(&feed, &mut &*bytes, None, false, &control).unwrap();
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

/// The name of each kind in the lake, and what a record of it has there.
const KINDS: [(RecordKind, &str, &str); 14] = [
    (RecordKind::Product, "product_changes", "SHOWN-P"),
    (RecordKind::Specification, "specification_changes", "SHOWN-S"),
    (RecordKind::Asset, "asset_changes", "SHOWN model"),
    (RecordKind::AssetUtilization, "asset_utilization_changes", "SHOWN task"),
    (RecordKind::WorkItem, "work_item_changes", "SHOWN item"),
    (RecordKind::WorkItemTemplate, "work_item_template_changes", "SHOWN template"),
    (RecordKind::TestPlan, "test_plan_changes", "SHOWN plan"),
    (RecordKind::TestPlanTemplate, "test_plan_template_changes", "SHOWN template"),
    (RecordKind::Table, "table_changes", "SHOWN table"),
    (RecordKind::File, "file_changes", "SHOWN.txt"),
    (RecordKind::Feed, "feed_changes", "SHOWN feed"),
    (RecordKind::Package, "package_changes", "shown-package"),
    (RecordKind::Workspace, "workspace_changes", "SHOWN workspace"),
    (RecordKind::TestResult, "test_result_changes", "SHOWN program"),
];

/// The ids of all records outside of the workspace `open`, and their number by kinds.
fn hidden_ids(store: &Store) -> (BTreeSet<String>, BTreeSet<RecordKind>) {
    let (mut ids, mut kinds) = (BTreeSet::new(), BTreeSet::new());
    for (kind, ..) in KINDS {
        for record in records(&ada(store), kind, |workspace| workspace != "open") {
            let record: Value = serde_json::from_str(&record).unwrap();
            // The registered workspace `open` is in none.
            if record["id"] == "open" {
                continue;
            }
            kinds.insert(kind);
            if let Some(id) = record["id"].as_str().filter(|id| id.len() > 8) {
                ids.insert(id.to_owned());
            }
        }
    }
    (ids, kinds)
}

/// Asserts that every kind is there, and nothing that is hidden, also no id.
fn check(objects: &Objects, hidden: &BTreeSet<String>) {
    assert_eq!(KINDS.map(|(kind, ..)| kind).as_slice(), RecordKind::ALL);
    for (kind, name, mark) in KINDS {
        let rows = format!("{:?}", table(objects, "lake", name).rows);
        assert!(rows.contains(mark), "no {kind} with {mark} in {name}");
    }
    let all = everything(objects);
    for shown in ["SHOWN cell", "SHOWN-step", "SHOWN measurement"] {
        assert!(all.contains(shown), "{shown} was not published");
    }
    for mark in ["HIDDEN", "hidden", "closed"] {
        assert!(!all.contains(mark), "{mark} left the station");
    }
    for id in hidden {
        assert!(!all.contains(id.as_str()), "the id {id} left the station");
    }
    let kinds = KINDS.iter().map(|(_, name, _)| *name);
    let expected: BTreeSet<&str> = kinds.chain(["measurement_changes", "step_changes"]).collect();
    let found = names(objects, "lake").into_iter().filter(|name| name.ends_with("_changes"));
    assert_eq!(found.collect::<Vec<_>>(), expected.into_iter().collect::<Vec<_>>());
}

/// The records of a kind in a workspace.
fn of(session: &Session, kind: RecordKind, workspace: &str) -> Vec<Value> {
    let found = records(session, kind, |found| found == workspace);
    found.iter().map(|record| serde_json::from_str(record).unwrap()).collect()
}

fn id(record: &Value) -> String {
    record["id"].as_str().unwrap().to_owned()
}

/// Moves all records of a workspace to another one, with a text for each of them.
fn move_all(session: &Session, workspace: &str, to: &str, text: &str) {
    let moved = |record: &Value| json!({ "id": id(record), "workspace": to, "name": text });
    for record in of(session, RecordKind::Product, workspace) {
        let done = session.update_products(vec![from(moved(&record))], false).unwrap();
        assert!(done.error.is_none(), "{done:?}");
    }
    for record in of(session, RecordKind::Specification, workspace) {
        let mut spec = moved(&record);
        for member in ["productId", "specId", "type", "version"] {
            spec[member] = record[member].clone();
        }
        let done = session.update_specs(from(json!({ "specs": [spec] }))).unwrap().unwrap();
        assert!(done.error.is_none(), "{done:?}");
    }
    for record in of(session, RecordKind::WorkItem, workspace) {
        let change = json!({ "workItems": [moved(&record)] });
        let done = session.update_work_items(from(change)).unwrap();
        assert!(done.error.is_none(), "{done:?}");
    }
    for record in of(session, RecordKind::WorkItemTemplate, workspace) {
        let change = json!({ "workItemTemplates": [moved(&record)] });
        let done = session.update_work_item_templates(from(change)).unwrap();
        assert!(done.error.is_none(), "{done:?}");
    }
    for record in of(session, RecordKind::TestPlan, workspace) {
        let change = json!({ "testPlans": [moved(&record)] });
        let done = session.update_test_plans(from(change)).unwrap();
        assert!(done.error.is_none(), "{done:?}");
    }
    let templates = of(session, RecordKind::TestPlanTemplate, workspace);
    // No service changes them: an import does, of a centre where they were moved.
    for (after, position, is_moved) in [(None, "first", false), (Some("first"), "second", true)] {
        let records = templates.iter().map(|template| {
            let mut record = template.clone();
            if is_moved {
                (record["workspace"], record["name"]) = (to.into(), text.into());
            }
            json!({ "kind": "TEST_PLAN_TEMPLATE", "id": id(template), "record": record })
        });
        let request = json!({ "source": format!("centre of {workspace}"), "position": position, "after": after,
            "records": records.collect::<Vec<_>>() });
        let done = session.import_records(from(request)).unwrap();
        assert!(done.conflicts.is_empty(), "{done:?}");
    }
    for record in of(session, RecordKind::TestResult, workspace) {
        let change = json!({ "id": id(&record), "workspace": to, "programName": text });
        let done = session.update_results(vec![from(change)], false, false).unwrap();
        assert!(done.error.is_none(), "{done:?}");
    }
    for record in of(session, RecordKind::Asset, workspace) {
        let done = session.update_assets(vec![from(moved(&record))]).unwrap();
        assert!(done.error.is_none(), "{done:?}");
    }
    for record in of(session, RecordKind::Table, workspace) {
        let change = json!({ "workspace": to, "name": text });
        session.modify_table(&TableId::parse(&id(&record)).unwrap(), from(change)).unwrap();
    }
    for record in of(session, RecordKind::File, workspace) {
        let change = json!({ "replaceExisting": false, "properties": { "a": text },
            "workspace": to });
        session.update_metadata(&id(&record).into(), from(change)).unwrap();
    }
    for record in of(session, RecordKind::Feed, workspace) {
        let change = json!({ "workspace": to, "name": text });
        session.update_feed(&id(&record).into(), from(change)).unwrap();
    }
    for (kind, ..) in KINDS {
        let left = of(session, kind, workspace);
        assert!(kind == RecordKind::Workspace || left.is_empty(), "{kind} stay: {left:?}");
    }
}

/// Moves what is in the workspace `closed` to another one without a root, and then deletes it.
/// Returns the kinds of which some were deleted.
fn change_hidden(store: &Store, publish: &dyn Fn()) -> BTreeSet<RecordKind> {
    let session = ada(store);
    let workspace = json!({ "id": "closed-too", "name": "HIDDEN too" });
    session.create_workspace(from(workspace)).unwrap();
    move_all(&session, "closed", "closed-too", "HIDDEN text");
    publish();
    let all = KINDS.map(|(kind, ..)| kind);
    let mut deleted = BTreeSet::new();
    for kind in all {
        let filter = "workspace == \"closed\" || workspace == \"closed-too\"";
        let request = DeleteRecordsRequest::new(kind).filter(filter);
        match session.delete_records(request, &Control::default()) {
            Ok(done) if done.deleted_count > 0 => drop(deleted.insert(kind)),
            answer => println!("{kind}: {answer:?}"),
        }
    }
    for workspace in ["closed", "closed-too"] {
        for record in of(&session, RecordKind::Feed, workspace) {
            session.delete_feed(&id(&record).into()).unwrap();
            deleted.insert(RecordKind::Feed);
        }
    }
    publish();
    deleted
}

/// Asserts that changes of what is hidden leave nothing in a lake that has the rest.
fn changes_of_what_is_hidden_leave_nothing(store: &Store, objects: &Objects, kept: &Publisher) {
    let (ids, kinds) = hidden_ids(store);
    assert_eq!(kinds.len(), KINDS.len(), "{kinds:?}");
    assert!(ids.len() >= 8, "{ids:?}");
    check(objects, &ids);
    let deleted = change_hidden(store, &|| drop(publish(kept)));
    check(objects, &ids);
    println!("deleted {deleted:?}");
    assert!(deleted.len() >= 10, "deleted {deleted:?}");
    // A new publisher sees no more.
    publish(kept);
    check(objects, &ids);
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
    let hidden = json!({ "partNumber": "HIDDEN-2", "workspace": "closed" });
    let made = ada(&store).create_products(vec![from(hidden)]).unwrap();
    assert!(made.error.is_none());
    assert_eq!(publish(&publisher).commits, 0, "a hidden change made a commit");
    changes_of_what_is_hidden_leave_nothing(&store, &objects, &publisher);
}

#[test]
fn nothing_of_a_workspace_without_a_root_leaves_the_station() {
    let store = store();
    fill(&store);
    let objects: Objects = Arc::new(InMemory::new());
    let publisher = publisher(&store, &objects, OpenHasARoot, "s1");
    publish(&publisher);
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
    assert!(everything(&objects).contains("SHOWN-2"));
    changes_of_what_is_hidden_leave_nothing(&store, &objects, &publisher);
}

/// Moves what is shown to where nothing leaves, with a text, and what is hidden to where it does.
/// Returns the texts of each kind that are in the lake then.
fn move_across(store: &Store, objects: &Objects, kept: &Publisher) -> BTreeSet<RecordKind> {
    let session = ada(store);
    for workspace in ["from-open", "to-open"] {
        let workspace = json!({ "id": workspace, "name": "HIDDEN too" });
        session.create_workspace(from(workspace)).unwrap();
    }
    move_all(&session, "open", "from-open", "HIDDEN since it moved");
    publish(kept);
    let all = everything(objects);
    for mark in ["HIDDEN", "hidden", "closed", "from-open"] {
        assert!(!all.contains(mark), "{mark} left the station");
    }
    // What is hidden loses its marks, and is shown.
    move_all(&session, "closed", "to-open", "HIDDEN until it is shown");
    publish(kept);
    let all = everything(objects);
    for mark in ["HIDDEN", "hidden", "closed", "from-open", "to-open"] {
        assert!(!all.contains(mark), "{mark} left the station");
    }
    move_all(&session, "to-open", "open", "seen now");
    publish(kept);
    let all = everything(objects);
    for mark in ["HIDDEN since", "HIDDEN until", "closed", "from-open", "to-open"] {
        assert!(!all.contains(mark), "{mark} left the station");
    }
    let seen = KINDS.iter().filter(|(_, name, _)| {
        format!("{:?}", latest(objects, "lake", "s1", name.trim_end_matches("_changes")))
            .contains("seen now")
    });
    seen.map(|(kind, ..)| *kind).collect()
}

/// What is seen after the moves: all but utilizations, packages and workspaces, which have no text.
fn moved_kinds() -> BTreeSet<RecordKind> {
    use RecordKind::{AssetUtilization, Package, Workspace};
    let all = KINDS.iter().map(|(kind, ..)| *kind);
    all.filter(|kind| ![AssetUtilization, Package, Workspace].contains(kind)).collect()
}

#[test]
fn what_moves_across_is_sent_from_there_on_by_what_the_identity_sees() {
    let options = Store::options().maintenance_thread(false).access_policy(OpenOnly);
    let store = options.open_disk(Arc::new(MemoryDisk::new())).unwrap();
    fill(&store);
    let objects: Objects = Arc::new(InMemory::new());
    let who = Identity::user("publisher");
    let publisher =
        Publisher::new(&store, who, objects.clone(), OneRoot::new("lake"), "s1").unwrap();
    publish(&publisher);
    assert_eq!(move_across(&store, &objects, &publisher), moved_kinds());
}

#[test]
fn what_moves_across_is_sent_from_there_on_by_workspaces_with_a_root() {
    let store = store();
    fill(&store);
    let objects: Objects = Arc::new(InMemory::new());
    let publisher = publisher(&store, &objects, OpenHasARoot, "s1");
    publish(&publisher);
    assert_eq!(move_across(&store, &objects, &publisher), moved_kinds());
}
