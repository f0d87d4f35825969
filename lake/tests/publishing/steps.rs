//! Steps and measurements come with their results, through every change of these.

use std::sync::Arc;

use object_store::memory::InMemory;
use object_store::path::Path;
use serde_json::json;
use stationdb::prelude::*;
use stationdb::{Control, Session, Store};
use stationdb_lake::faults::{Check, Fault, set_small_files};
use stationdb_lake::{Layout, OneRoot};

use crate::common::results::*;
use crate::common::*;

/// Workspace `away` goes to another root, `secret` nowhere.
#[derive(Clone, Copy)]
struct TwoRoots;

impl Layout for TwoRoots {
    fn roots(&self) -> Vec<Path> {
        vec![Path::from("plant"), Path::from("away")]
    }

    fn root(&self, workspace: &str) -> Option<Path> {
        match workspace {
            "secret" => None,
            "away" => Some(Path::from("away")),
            _ => Some(Path::from("plant")),
        }
    }
}

fn change(session: &Session, id: &str, mut members: serde_json::Value) {
    members["id"] = id.into();
    let done = session.update_results(vec![from(members)], false, false).unwrap();
    assert!(done.error.is_none(), "{:?}", done.error);
}

/// The lake has what the store has.
fn equal_parts(store: &Store, objects: &Objects) {
    assert_same_parts(&ada(store), objects, "lake", "s1", |_| true);
    let mut in_lake: Vec<String> =
        latest(objects, "lake", "s1", "test_result").into_values().collect();
    in_lake.sort();
    let kind = stationdb::scans::RecordKind::TestResult;
    assert_eq!(in_lake, records(&ada(store), kind, |_| true));
}

#[test]
fn steps_go_through_every_change() {
    let (store, objects) = (store(), objects());
    let session = ada(&store);
    let mut kept = publisher(&store, &objects, TwoRoots, "s1");
    let mut calls = 0;
    // Publishes, compares, and returns how many measurements were sent.
    let mut check = |what: &str| {
        calls += 1;
        if calls % 3 == 0 {
            kept = publisher(&store, &objects, TwoRoots, "s1");
        }
        let published = publish(&kept);
        println!("{what}: {published:?}");
        let is_plant = |workspace: &str| !matches!(workspace, "away" | "secret");
        assert_same_parts(&session, &objects, "plant", "s1", is_plant);
        assert_same_parts(&session, &objects, "away", "s1", |workspace| workspace == "away");
        assert_eq!(publish(&kept).commits, 0, "it is there already");
        (published.measurements, published.steps)
    };
    assert_eq!(check("nothing"), (0, 0));
    let plain = json!({ "programName": "P", "status": { "statusType": "PASSED" } });
    let _ = session.create_results(vec![from(plain)]).unwrap().into_result().unwrap();
    assert_eq!(check("a result without steps"), (0, 0));
    assert!(!names(&objects, "plant").contains(&"step_changes".to_owned()));
    let many: Vec<String> =
        (0..150).map(|at| tested(&session, "", &at.to_string(), "PASSED")).collect();
    assert_eq!(check("many results"), (600, 450));
    store.maintain(&Control::default()).unwrap();
    check("sealed");
    measure(&session, &many[3], "deep", "1.25");
    assert_eq!(check("a step"), (5, 3), "more was sent than changed");
    change(&session, &many[4], json!({ "operator": "bob" }));
    assert_eq!(check("a result"), (4, 3));
    let later = json!({ "resultId": many[3], "stepId": "late", "name": "Late",
        "data": { "parameters": [{ "name": "n", "measurement": "1" }] } });
    session.create_steps(vec![from(later)], false).unwrap().require_all().unwrap();
    store.maintain(&Control::default()).unwrap();
    assert_eq!(check("one step more"), (6, 4));
    session.delete_step(&many[3].as_str().into(), "left", false).unwrap();
    assert_eq!(check("a deleted step"), (4, 3));
    session.delete_result(&many[5].as_str().into(), true).unwrap();
    session.delete_result(&many[6].as_str().into(), false).unwrap();
    assert_eq!(check("deleted results"), (0, 0));
    session.delete_step(&many[6].as_str().into(), "deep", false).unwrap();
    assert_eq!(check("a step without its result"), (0, 0));
    change(&session, &many[7], json!({ "workspace": "away" }));
    assert_eq!(check("to the other root"), (4, 3));
    change(&session, &many[7], json!({ "workspace": "secret" }));
    assert_eq!(check("to where nothing leaves"), (0, 0));
    measure(&session, &many[7], "deep", "2");
    assert_eq!(check("a change there"), (0, 0));
    change(&session, &many[7], json!({ "workspace": "" }));
    assert_eq!(check("back"), (5, 3));
    // More than are looked up at once.
    for id in &many[10..140] {
        change(&session, id, json!({ "operator": "eve" }));
    }
    assert_eq!(check("many changes"), (520, 390));
    for id in &many[10..] {
        session.delete_result(&id.as_str().into(), true).unwrap();
    }
    check("most are gone");
}

#[test]
fn a_layout_may_keep_steps_at_the_station() {
    struct MeasurementsOnly;
    impl Layout for MeasurementsOnly {
        fn roots(&self) -> Vec<Path> {
            vec![Path::from("lake")]
        }
        fn root(&self, _workspace: &str) -> Option<Path> {
            Some(Path::from("lake"))
        }
        fn has_steps(&self) -> bool {
            false
        }
    }
    let (store, objects) = (store(), objects());
    tested(&ada(&store), "", "1", "PASSED");
    let sent = publish(&publisher(&store, &objects, MeasurementsOnly, "s1"));
    assert_eq!((sent.measurements, sent.steps), (4, 0));
    assert!(!names(&objects, "lake").contains(&"step_changes".to_owned()));
    let measured = lake_parts(&objects, "lake", "s1", "measurement");
    assert_eq!(measured, store_parts(&ada(&store), "measurement", |_| true));
}

/// A crash after each number of commits, with changes before the next publisher and without.
#[test]
fn an_interrupted_publication_shows_no_part_and_doubles_nothing() {
    needs(Check::OwnSending, || {
        for crash_after in 1..8 {
            for changes_more in [false, true] {
                let (store, objects) = (store(), objects());
                let session = ada(&store);
                let ids: Vec<String> =
                    (0..4).map(|at| tested(&session, "", &at.to_string(), "FAILED")).collect();
                let first = publisher(&store, &objects, lake(), "s1");
                if crash_after % 2 == 0 {
                    publish(&first);
                    measure(&session, &ids[0], "deep", "5");
                    session.delete_result(&ids[1].as_str().into(), true).unwrap();
                    tested(&session, "", "new", "PASSED");
                }
                let before = PARTS.map(|part| lake_parts(&objects, "lake", "s1", part));
                let is_whole = interrupted(first, crash_after);
                if is_whole {
                    equal_parts(&store, &objects);
                } else {
                    let after = PARTS.map(|part| lake_parts(&objects, "lake", "s1", part));
                    assert!(before == after, "a part is seen after {crash_after} commits");
                }
                if changes_more {
                    measure(&session, &ids[0], "left", "6");
                    session.delete_step(&ids[2].as_str().into(), "left", false).unwrap();
                }
                for _ in 0..2 {
                    publish(&publisher(&store, &objects, lake(), "s1"));
                    equal_parts(&store, &objects);
                }
            }
        }
    });
}

/// A result that was sent without steps names no sending, also not the one that brings its first.
#[test]
fn the_first_steps_of_a_result_are_seen_with_the_whole_batch() {
    for crash_after in 1..8 {
        let (store, objects) = (store(), objects());
        let session = ada(&store);
        let plain = json!({ "programName": "P", "status": { "statusType": "PASSED" } });
        let made = session.create_results(vec![from(plain)]).unwrap().into_result().unwrap();
        let id = made.results[0].id.as_ref().unwrap().to_string();
        publish(&publisher(&store, &objects, lake(), "s1"));
        let step = json!({ "resultId": id, "stepId": "first", "name": "First", "data": {
            "parameters": [{ "name": "n", "measurement": "1" }] } });
        session.create_steps(vec![from(step)], false).unwrap().require_all().unwrap();
        if interrupted(publisher(&store, &objects, lake(), "s1"), crash_after) {
            equal_parts(&store, &objects);
        } else {
            for part in PARTS {
                let seen = lake_parts(&objects, "lake", "s1", part);
                assert!(seen.is_empty(), "{part} is seen after {crash_after} commits");
            }
        }
        publish(&publisher(&store, &objects, lake(), "s1"));
        equal_parts(&store, &objects);
    }
}

#[test]
fn lost_answers_and_cut_uploads_double_no_steps() {
    let (store, inner) = (store(), objects());
    let session = ada(&store);
    let (faulty, objects) = faulty(&inner, 9);
    for fault in [Fault::AppliedButFailed, Fault::Failed, Fault::CutUpload] {
        faulty.rate(fault, 150);
    }
    let kept = publisher(&store, &objects, lake(), "s1");
    let mut ids = Vec::new();
    for at in 0..12 {
        ids.push(tested(&session, "", &at.to_string(), "PASSED"));
        measure(&session, &ids[at / 2], "deep", &at.to_string());
        publish(&kept);
        equal_parts(&store, &inner);
    }
    assert!(faulty.counts().values().sum::<u64>() > 20, "{:?}", faulty.counts());
}

/// A full pass sends all again, and what was sent before does not count.
#[test]
fn a_full_pass_and_an_epoch_send_all_steps_again() {
    let disk = Arc::new(stationdb::faults::MemoryDisk::new());
    let options = Store::options().maintenance_thread(false).log_entries_max(10);
    let store = options.subscriber_hold_bytes(0).open_disk(disk).unwrap();
    let session = ada(&store);
    let objects = objects();
    let ids: Vec<String> =
        (0..6).map(|at| tested(&session, "", &at.to_string(), "PASSED")).collect();
    publish(&publisher(&store, &objects, lake(), "s1"));
    session.delete_result(&ids[0].as_str().into(), true).unwrap();
    session.delete_result(&ids[1].as_str().into(), false).unwrap();
    for at in 0..30 {
        measure(&session, &ids[2], "deep", &at.to_string());
        store.maintain(&Control::default()).unwrap();
    }
    let sent = publish(&publisher(&store, &objects, lake(), "s1"));
    assert_eq!(sent.full_passes, ["lake"], "the log reaches back");
    assert_eq!(sent.measurements, 17);
    equal_parts(&store, &objects);
    let rebased = publisher(&store, &objects, lake(), "s1");
    rebased.rebase(&Control::default()).unwrap();
    // The results of a given up history do not count before the next batch either.
    assert_eq!(publish(&rebased).measurements, 17);
    equal_parts(&store, &objects);
    measure(&session, &ids[3], "deep", "99");
    assert_eq!(publish(&rebased).measurements, 5);
    equal_parts(&store, &objects);
}

/// Another publisher of the station commits between what the first has sent and its commit.
#[test]
fn two_publishers_of_a_station_double_no_steps() {
    needs(Check::OwnStation, || {
        let (store, objects) = (store(), objects());
        let session = ada(&store);
        let id = tested(&session, "", "1", "PASSED");
        let first = publisher(&store, &objects, lake(), "s1");
        publish(&first);
        measure(&session, &id, "deep", "4");
        let second = std::sync::Mutex::new(Some(publisher(&store, &objects, lake(), "s1")));
        let control = Control::default().with_progress(move |_| {
            if let Some(second) = second.lock().unwrap().take() {
                assert_eq!(second.publish(&Control::default()).unwrap().measurements, 5);
            }
        });
        first.publish(&control).unwrap();
        equal_parts(&store, &objects);
    });
}

/// Many measurements come into several files, which are in the lake by one commit.
#[test]
fn steps_of_many_results_are_in_files_of_bounded_size() {
    let (store, objects) = (store(), Arc::new(InMemory::new()) as Objects);
    let session = ada(&store);
    for at in 0..800 {
        tested(&session, "", &at.to_string(), "PASSED");
    }
    store.maintain(&Control::default()).unwrap();
    set_small_files(20_000);
    publish(&publisher(&store, &objects, OneRoot::new("lake"), "s1"));
    set_small_files(1);
    let lake = table(&objects, "lake", "step_changes");
    assert!(lake.files.len() > 1, "{:?}", lake.files);
    assert_eq!(lake.versions, 2, "the table, and its rows");
    equal_parts(&store, &objects);
    assert_eq!(stored(&objects, "lake", "measurement_changes"), 3200);
}
