//! Import of reference data: a centre publishes, a station edits and imports.

use std::collections::BTreeMap;
use std::sync::Arc;

use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};
use stationdb::arrow::array::RecordBatch;
use stationdb::faults::Random;
use stationdb::prelude::*;
use stationdb::scans::{
    ImportChoice, ImportConflict, ImportConflictReason as Reason, ImportDecision, RecordKind,
};
use stationdb::{Control, ErrorKind, Identity, Session, Store};
use stationdb_lake::faults::Fault;
use stationdb_lake::{Backoff, ImportReport, Importer, Layout};

use crate::common::*;

const REFERENCE: [RecordKind; 4] = [
    RecordKind::Product,
    RecordKind::Specification,
    RecordKind::WorkItemTemplate,
    RecordKind::TestPlanTemplate,
];

fn backoff() -> Backoff {
    let time = std::time::Duration::from_micros;
    Backoff::default().first(time(100)).most(time(2_000)).attempts(12)
}

fn importer(store: &Store, objects: &Objects) -> Importer {
    let who = Identity::user("importer");
    let importer = Importer::new(store, who, objects.clone(), "lake", "centre", REFERENCE);
    importer.unwrap().with_backoff(backoff())
}

fn import(store: &Store, objects: &Objects) -> ImportReport {
    importer(store, objects).import(&Control::default()).unwrap()
}

fn publish_centre(centre: &Store, objects: &Objects) {
    publish(&publisher(centre, objects, lake(), "centre"));
}

fn product(session: &Session, part: &str, name: &str, workspace: &str) -> String {
    let asked = json!([{"partNumber": part, "name": name, "workspace": workspace}]);
    let answer = session.create_products(from(asked)).unwrap();
    assert_eq!(answer.error, None);
    answer.products[0].id.clone().unwrap().to_string()
}

fn rename(session: &Session, id: &str, name: &str) {
    let asked = json!([{"id": id, "name": name}]);
    assert_eq!(session.update_products(from(asked), false).unwrap().error, None);
}

fn delete(session: &Session, id: &str) {
    session.delete_product(&id.to_owned().into()).unwrap();
}

fn name(session: &Session, id: &str) -> Option<String> {
    session.get_product(&id.to_owned().into()).ok()?.name
}

fn spec(session: &Session, product: &str, spec_id: &str) -> String {
    let asked = json!({"specs": [{"productId": product, "specId": spec_id, "type": "PARAMETRIC",
        "limit": {"min": 1, "typical": 1.5, "max": 2}, "properties": {"a": "b"}}]});
    let answer = json!(session.create_specs(from(asked)).unwrap());
    answer["createdSpecs"][0]["id"].as_str().unwrap().to_owned()
}

fn template(session: &Session, name: &str) {
    let asked = json!([{"name": name, "templateGroup": "g", "type": "testplan",
        "executionActions": [{"type": "MANUAL", "action": "START"},
            {"type": "JOB", "action": "END", "jobs": [{"functions": ["f"], "arguments": [[1]]}]}],
        "timeline": {"estimatedDurationInSeconds": 60}, "properties": {"x": "y"}}]);
    assert_eq!(session.create_work_item_templates(from(asked)).unwrap().error, None);
    let asked = json!([{"name": name, "templateGroup": "g", "dashboard": {"id": "d"}}]);
    assert_eq!(session.create_test_plan_templates(from(asked)).unwrap().error, None);
}

/// The reference data of a store as its services show it.
fn reference(store: &Store) -> Vec<String> {
    let kinds = REFERENCE.into_iter();
    kinds.flat_map(|kind| records(&ada(store), kind, |_| true)).collect()
}

fn reasons(imported: &ImportReport) -> Vec<(String, Reason)> {
    let told = |it: &ImportConflict| (it.id.clone(), it.reason);
    imported.conflicts.iter().map(told).collect()
}

fn decide(conflicts: &[ImportConflict], decision: ImportDecision) -> Vec<ImportChoice> {
    conflicts.iter().map(|it| ImportChoice::new(it.kind, &it.id, decision)).collect()
}

fn round(objects: &Objects) {
    let (centre, station) = (store(), store());
    let at_centre = ada(&centre);
    assert_eq!(import(&station, objects), ImportReport::default());
    let own = product(&ada(&station), "own", "of the station", "");
    let ids: Vec<String> =
        (0..5).map(|n| product(&at_centre, &format!("P{n}"), "first", "")).collect();
    spec(&at_centre, &ids[0], "s");
    template(&at_centre, "t");
    // Other records and other stations are nothing to an importer.
    small_table(&at_centre, "rows", "");
    let other = store();
    product(&ada(&other), "other", "other", "");
    publish(&publisher(&other, objects, lake(), "centre2"));
    publish_centre(&centre, objects);
    let before = ada(&station).position().0;
    let imported = import(&station, objects);
    assert_eq!((imported.created, imported.commits), (8, 1), "{imported:?}");
    assert_eq!(imported.full_passes, ["nothing was imported yet"]);
    assert_eq!((imported.conflicts, ada(&station).position().0), (vec![], before + 1));
    delete(&ada(&station), &own);
    assert_eq!(reference(&station), reference(&centre));
    // Nothing new is nothing to do.
    let before = ada(&station).position();
    assert_eq!((import(&station, objects).commits, ada(&station).position()), (0, before));
    for round in 0..3 {
        rename(&at_centre, &ids[1], &format!("name {round}"));
        delete(&at_centre, &ids[2 + round]);
        template(&at_centre, "more");
        publish_centre(&centre, objects);
        let imported = import(&station, objects);
        let counts = (imported.created, imported.updated, imported.deleted);
        assert_eq!((counts, imported.full_passes.len()), ((2, 1, 1), 0));
        assert_eq!(reference(&station), reference(&centre));
    }
    publisher(&centre, objects, lake(), "centre").rebase(&Control::default()).unwrap();
    rename(&at_centre, &ids[0], "after the new epoch");
    delete(&at_centre, &ids[1]);
    publish_centre(&centre, objects);
    let imported = import(&station, objects);
    assert_eq!(imported.full_passes, ["the source began a new epoch"]);
    assert_eq!((imported.updated, imported.deleted), (1, 1));
    assert_eq!(reference(&station), reference(&centre));
}

#[test]
fn a_station_follows_a_centre_through_changes_deletions_and_epochs() {
    round(&objects());
    let directory = tempfile::tempdir().unwrap();
    let local: Objects = Arc::new(LocalFileSystem::new_with_prefix(directory.path()).unwrap());
    round(&local);
}

#[test]
fn edits_at_the_station_are_told_and_settled() {
    for decision in [ImportDecision::Keep, ImportDecision::Take] {
        let (centre, station, objects) = (store(), store(), objects());
        let (at_centre, here) = (ada(&centre), ada(&station));
        let ids: Vec<String> =
            (0..3).map(|n| product(&at_centre, &format!("P{n}"), "first", "")).collect();
        publish_centre(&centre, &objects);
        import(&station, &objects);
        rename(&here, &ids[0], "mine");
        delete(&here, &ids[1]);
        product(&here, "taken", "local", "");
        rename(&at_centre, &ids[0], "theirs");
        rename(&at_centre, &ids[1], "theirs");
        let late = product(&at_centre, "taken", "theirs", "");
        publish_centre(&centre, &objects);
        let imported = import(&station, &objects);
        let mut expected = [
            (ids[0].clone(), Reason::ChangedHere),
            (ids[1].clone(), Reason::DeletedHere),
            (late.clone(), Reason::KeyTaken),
        ];
        expected.sort();
        assert_eq!(reasons(&imported), expected);
        assert_eq!(name(&here, &ids[0]).as_deref(), Some("mine"));
        // Told again without a change of the lake.
        assert_eq!(reasons(&import(&station, &objects)), expected);
        let choices = decide(&imported.conflicts, decision);
        assert_eq!(importer(&station, &objects).settle(choices).unwrap(), []);
        assert_eq!(import(&station, &objects).conflicts, []);
        match decision {
            ImportDecision::Take => assert_eq!(reference(&station), reference(&centre)),
            ImportDecision::Keep => {
                assert_eq!(name(&here, &ids[0]).as_deref(), Some("mine"));
                assert_eq!((name(&here, &ids[1]), name(&here, &late)), (None, None));
            }
        }
    }
}

#[test]
fn workspaces_are_mapped_and_moves_out_of_a_root_are_deletions() {
    /// Publishes the workspace `shared` alone.
    #[derive(Debug)]
    struct SharedWorkspace;
    impl Layout for SharedWorkspace {
        fn roots(&self) -> Vec<Path> {
            vec![Path::from("lake")]
        }
        fn root(&self, workspace: &str) -> Option<Path> {
            (workspace == "shared").then(|| Path::from("lake"))
        }
    }
    let (centre, station, objects) = (store(), store(), objects());
    let (at_centre, here) = (ada(&centre), ada(&station));
    here.create_workspace(from(json!({"id": "lab", "name": "lab"}))).unwrap();
    let ids: Vec<String> =
        (0..2).map(|n| product(&at_centre, &format!("P{n}"), "first", "shared")).collect();
    let publisher = publisher(&centre, &objects, SharedWorkspace, "centre");
    publish(&publisher);
    let imported = import(&station, &objects);
    let missing = [Reason::WorkspaceMissing; 2];
    assert_eq!(reasons(&imported).iter().map(|it| it.1).collect::<Vec<_>>(), missing);
    let mapped = || importer(&station, &objects).with_workspaces([("shared", "lab")]);
    let imported = mapped().import(&Control::default()).unwrap();
    assert_eq!((imported.created, imported.conflicts.len()), (2, 0));
    let stored = here.get_product(&ids[0].clone().into()).unwrap();
    assert_eq!(stored.workspace.as_deref(), Some("lab"));
    let moved = json!([{"id": ids[0], "workspace": "private"}]);
    assert_eq!(at_centre.update_products(from(moved), false).unwrap().error, None);
    publish(&publisher);
    assert_eq!(mapped().import(&Control::default()).unwrap().deleted, 1);
    assert_eq!(name(&here, &ids[0]), None);
}

#[test]
fn other_kinds_and_a_lake_that_is_behind_are_read_from_the_beginning() {
    let (centre, station, objects) = (store(), store(), objects());
    let id = product(&ada(&centre), "P", "first", "");
    spec(&ada(&centre), &id, "s");
    publish_centre(&centre, &objects);
    let of = |kinds: &[RecordKind]| {
        let who = Identity::user("importer");
        Importer::new(&station, who, objects.clone(), "lake", "centre", kinds.to_vec())
    };
    let first = of(&[RecordKind::Product]).unwrap().import(&Control::default()).unwrap();
    assert_eq!(first.created, 1);
    let imported = import(&station, &objects);
    assert_eq!(imported.full_passes, ["other kinds were imported before"]);
    assert_eq!((imported.created, imported.unchanged), (1, 1));
    assert_eq!(of(&[]).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(of(&[RecordKind::Table]).unwrap_err().kind(), ErrorKind::Unsupported);
    // A lake that was made again from a backup of the centre.
    let again = self::objects();
    let old = store();
    product(&ada(&old), "Q", "of the backup", "");
    publish_centre(&old, &again);
    let imported = import(&station, &again);
    assert_eq!(imported.full_passes, ["the lake is behind the position in the store"]);
    // A lake table that is not there deletes nothing.
    assert_eq!((imported.created, imported.deleted), (1, 1));
}

/// The log of a change table without its first versions, and with a checkpoint that is damaged.
#[test]
fn a_log_that_lost_versions_is_refused_and_nothing_is_deleted() {
    let (centre, station, objects) = (store(), store(), objects());
    product(&ada(&centre), "P", "first", "");
    publish_centre(&centre, &objects);
    import(&station, &objects);
    product(&ada(&centre), "Q", "second", "");
    publish_centre(&centre, &objects);
    let log =
        |version: u64| Path::from(format!("lake/product_changes/_delta_log/{version:020}.json"));
    // Another engine cleaned up, and the checkpoint that it wrote cannot be read.
    wait(async { objects.delete(&log(0)).await.unwrap() });
    let error = importer(&station, &objects).import(&Control::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.message().contains("versions of the log"), "{error}");
    assert_eq!(records(&ada(&station), RecordKind::Product, |_| true).len(), 1);
}

#[test]
fn a_lost_data_file_is_told_and_nothing_is_deleted() {
    let (centre, station, objects) = (store(), store(), objects());
    product(&ada(&centre), "P", "first", "");
    publish_centre(&centre, &objects);
    import(&station, &objects);
    product(&ada(&centre), "Q", "second", "");
    publish_centre(&centre, &objects);
    for file in table(&objects, "lake", "product_changes").files {
        let file = Path::from(format!("lake/product_changes/{file}"));
        wait(async { objects.delete(&file).await.unwrap() });
    }
    let error = importer(&station, &objects).import(&Control::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.message().contains("lost a file"), "{error}");
    assert_eq!(records(&ada(&station), RecordKind::Product, |_| true).len(), 1);
}

/// Puts one file in the place of all of a lake table, as engines do.
fn compact(objects: &Objects, name: &str) {
    let table = table(objects, "lake", name);
    let mut batches: Vec<RecordBatch> = Vec::new();
    for file in &table.files {
        let path = Path::from(format!("lake/{name}/{file}"));
        let bytes = wait(async { objects.get(&path).await.unwrap().bytes().await.unwrap() });
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap().build().unwrap();
        batches.extend(reader.map(Result::unwrap));
    }
    let schema = batches[0].schema();
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, None).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    let bytes = writer.into_inner().unwrap();
    let removes = table.files.iter().map(|path| {
        json!({"remove": {"path": path, "deletionTimestamp": 1, "dataChange": false}}).to_string()
    });
    let add = json!({"add": {"path": "data/compacted.parquet", "partitionValues": {},
        "size": bytes.len(), "modificationTime": 1, "dataChange": false}});
    let lines: Vec<String> = removes.chain([add.to_string()]).collect();
    let version = format!("lake/{name}/_delta_log/{:020}.json", table.versions);
    let file = Path::from(format!("lake/{name}/data/compacted.parquet"));
    wait(async {
        objects.put(&file, PutPayload::from(bytes)).await.unwrap();
        objects.put(&Path::from(version), PutPayload::from(lines.join("\n"))).await.unwrap();
    });
}

#[test]
fn compacted_files_have_the_rows_of_all_stations_and_batches() {
    let (centre, other, objects) = (store(), store(), objects());
    let at_centre = ada(&centre);
    let id = product(&at_centre, "P", "first", "");
    publish_centre(&centre, &objects);
    let early = store();
    import(&early, &objects);
    product(&ada(&other), "other", "other", "");
    publish(&publisher(&other, &objects, lake(), "other"));
    rename(&at_centre, &id, "second");
    product(&at_centre, "Q", "late", "");
    publish_centre(&centre, &objects);
    compact(&objects, "product_changes");
    compact(&objects, "batches");
    for station in [&early, &store()] {
        import(station, &objects);
        assert_eq!(reference(station), reference(&centre));
    }
}

/// Products of 2 MiB each.
fn large(session: &Session, parts: std::ops::Range<u64>) {
    for part in parts {
        let asked = json!([{"partNumber": format!("L{part}"),
            "properties": {"text": "x".repeat(2 << 20)}}]);
        assert_eq!(session.create_products(from(asked)).unwrap().error, None);
    }
}

#[test]
fn what_is_too_much_for_one_commit_is_cut_between_batches() {
    let (centre, station, objects) = (store(), store(), objects());
    for round in 0..3 {
        large(&ada(&centre), round * 10..round * 10 + 10);
        publish_centre(&centre, &objects);
    }
    let imported = import(&station, &objects);
    assert_eq!((imported.commits, imported.created), (2, 30));
    assert_eq!(reference(&station), reference(&centre));
    large(&ada(&centre), 30..56);
    publish_centre(&centre, &objects);
    let error = importer(&station, &objects).import(&Control::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    assert_eq!(reference(&station).len(), 30);
}

#[test]
fn crashes_and_faults_in_the_middle_change_nothing_or_everything() {
    let (mut crashes, mut imports) = (0, 0);
    for seed in 0..12 {
        let (centre, station, inner) = (store(), store(), objects());
        let (faulty, objects) = faulty(&inner, seed);
        let mut random = Random::new(seed);
        let (mut ids, mut made) = (Vec::new(), 0);
        for round in 0..4 {
            for _ in 0..1 + random.below(3) {
                made += 1;
                ids.push(product(&ada(&centre), &format!("P{made}"), "n", ""));
            }
            let at = random.below(ids.len() as u64) as usize;
            match random.below(3) {
                0 => delete(&ada(&centre), &ids.remove(at)),
                _ => rename(&ada(&centre), &ids[at], &format!("round {round}")),
            }
            publish_centre(&centre, &inner);
            faulty.rate(Fault::Crash, 20);
            faulty.rate(Fault::Failed, 100);
            faulty.rate(Fault::StaleList, 500);
            let before = reference(&station);
            loop {
                match importer(&station, &objects).import(&Control::default()) {
                    Ok(imported) => {
                        assert_eq!(imported.conflicts, []);
                        break;
                    }
                    Err(error) => {
                        assert!(faulty.is_down(), "{error}");
                        assert_eq!(reference(&station), before, "half an import");
                        crashes += 1;
                        faulty.restart();
                    }
                }
            }
            imports += 1;
            assert_eq!(reference(&station), reference(&centre), "{seed} {round}");
        }
    }
    println!("{imports} imports, {crashes} crashes");
    assert!(crashes > 20, "{crashes}");
}

#[test]
fn an_import_ends_when_it_is_cancelled() {
    let (centre, station, objects) = (store(), store(), objects());
    product(&ada(&centre), "P", "first", "");
    publish_centre(&centre, &objects);
    let control = Control::default();
    control.cancel();
    let error = importer(&station, &objects).import(&control).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(reference(&station), Vec::<String>::new());
}

/// Random edits on both sides, and random decisions: each edit of the station is kept or told, and
/// in the end, when all is taken, both have the same.
#[test]
fn random_edits_on_both_sides_are_equal_kept_or_told() {
    for seed in 0..15 {
        let mut random = Random::new(seed);
        let (centre, station, objects) = (store(), store(), objects());
        let (at_centre, here) = (ada(&centre), ada(&station));
        let mut ids: Vec<String> = Vec::new();
        // The names that the station gave, until the centre's state was taken.
        let mut edits: BTreeMap<String, Option<String>> = BTreeMap::new();
        for step in 0..12 {
            for _ in 0..random.below(4) {
                match random.below(4) {
                    0 => ids.push(product(&at_centre, &format!("P{step} {}", ids.len()), "n", "")),
                    1 if !ids.is_empty() => {
                        delete(&at_centre, &ids[random.below(ids.len() as u64) as usize]);
                    }
                    _ => {
                        let live = ids.iter().filter(|id| name(&at_centre, id).is_some());
                        let live: Vec<&String> = live.collect();
                        if !live.is_empty() {
                            let id = live[random.below(live.len() as u64) as usize];
                            rename(&at_centre, id, &format!("centre {step}"));
                        }
                    }
                }
            }
            for id in &ids {
                if random.below(6) > 0 || name(&here, id).is_none() {
                    continue;
                }
                let edit = (random.below(3) > 0).then(|| format!("station {step}"));
                match &edit {
                    Some(name) => rename(&here, id, name),
                    None => delete(&here, id),
                }
                edits.insert(id.clone(), edit);
            }
            if random.below(5) == 0 {
                publisher(&centre, &objects, lake(), "centre").rebase(&Control::default()).unwrap();
            }
            publish_centre(&centre, &objects);
            let mut waiting = import(&station, &objects).conflicts;
            if random.below(2) == 0 {
                let takes = random.below(2) == 0;
                let decision = if takes { ImportDecision::Take } else { ImportDecision::Keep };
                if takes {
                    edits.retain(|id, _| !waiting.iter().any(|it| it.id == *id));
                }
                let choices = decide(&waiting, decision);
                waiting = importer(&station, &objects).settle(choices).unwrap();
            }
            edits.retain(|id, _| name(&here, id) != name(&at_centre, id));
            for (id, edit) in &edits {
                let is_told = waiting.iter().any(|it| it.id == *id);
                assert!(name(&here, id) == *edit || is_told, "{seed} {step} {id}");
            }
        }
        for id in ids.iter().filter(|id| name(&at_centre, id).is_some()) {
            rename(&at_centre, id, "last");
        }
        publish_centre(&centre, &objects);
        let waiting = import(&station, &objects).conflicts;
        let choices = decide(&waiting, ImportDecision::Take);
        assert_eq!(importer(&station, &objects).settle(choices).unwrap(), []);
        for id in &ids {
            let kept = edits.get(id).cloned().flatten();
            let (theirs, mine) = (name(&at_centre, id), name(&here, id));
            // Kept against a deletion.
            assert!(mine == theirs || theirs.is_none() && mine == kept, "{seed} {id}: {mine:?}");
        }
        let left: Vec<Value> = records(&here, RecordKind::Product, |_| true)
            .iter()
            .map(|text| serde_json::from_str(text).unwrap())
            .collect();
        assert!(left.iter().all(|it| ids.iter().any(|id| it["id"] == id.as_str())));
    }
}
