//! A store has one name in a lake, a name belongs to one store, and a publisher holds the change
//! log of its store within its own bounds.

use std::sync::{Arc, Mutex};

use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload};
use stationdb::faults::MemoryDisk;
use stationdb::prelude::*;
use stationdb::{Control, ErrorKind, HoldBounds, HoldState, Store};
use stationdb_lake::faults::Check;
use stationdb_lake::{Note, Publisher};

use crate::common::*;

/// Publishes, and returns the text of the conflict.
fn refused(publisher: &Publisher) -> String {
    let error = publisher.publish(&Control::default()).expect_err("it was not refused");
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    error.to_string()
}

#[test]
fn a_store_has_one_name_in_a_lake() {
    needs(Check::OneStation, || {
        let (store, objects, _) = filled(0..10);
        publish(&publisher(&store, &objects, lake(), "s1"));
        let other = publisher(&store, &objects, lake(), "s2");
        let text = refused(&other);
        assert!(text.contains("publish it as s1"), "{text}");
        assert_eq!(other.rebase(&Control::default()).unwrap_err().kind(), ErrorKind::Conflict);
        equal(&store, &objects, "s1");
        assert!(live_rows(&objects, "lake", "s2").is_empty(), "rows are there twice");
    });
}

#[test]
fn a_name_belongs_to_one_store() {
    needs(Check::OneStation, || {
        let (first, second, objects) = (filled(0..10).0, filled(0..10).0, objects());
        publish(&publisher(&first, &objects, lake(), "s1"));
        let text = refused(&publisher(&second, &objects, lake(), "s1"));
        assert!(text.contains("under another name"), "{text}");
        equal(&first, &objects, "s1");
        publish(&publisher(&second, &objects, lake(), "s2"));
        equal(&second, &objects, "s2");
    });
}

/// The second publishes all of its store after the first has read the lake, and before the first
/// has named its station there.
fn race(first: &Store, second: &Store, names: [&str; 2]) {
    let objects = objects();
    let other = Mutex::new(Some(publisher(second, &objects, lake(), names[1])));
    let late = publisher(first, &objects, lake(), names[0]).with_notes(move |note| {
        let is_batches =
            matches!(&note, Note::Committed { table, .. } if table.ends_with("batches"));
        if let Some(other) = other.lock().unwrap().take_if(|_| is_batches) {
            other.publish(&Control::default()).unwrap();
        }
    });
    let text = refused(&late);
    assert!(text.contains("publish it as") || text.contains("under another name"), "{text}");
    equal(second, &objects, names[1]);
}

#[test]
fn a_name_belongs_to_one_store_also_when_two_begin_at_once() {
    needs(Check::OneStation, || race(&filled(0..10).0, &filled(0..10).0, ["s1", "s1"]));
    needs(Check::OneStation, || {
        let store = filled(0..10).0;
        race(&store, &store, ["s1", "s2"]);
    });
}

/// Takes the names of stations out of the log of `batches`.
fn without_names(objects: &Objects) {
    let mut taken = 0;
    for version in 0..table(objects, "lake", "batches").versions {
        let path = Path::from(format!("lake/batches/_delta_log/{version:020}.json"));
        let bytes = wait(async { objects.get(&path).await.unwrap().bytes().await.unwrap() });
        let text = std::str::from_utf8(&bytes).unwrap();
        let kept: Vec<&str> = text.lines().filter(|line| !line.contains("/station/")).collect();
        taken += text.lines().count() - kept.len();
        let kept = PutPayload::from(kept.join("\n") + "\n");
        wait(async { objects.put(&path, kept).await.unwrap() });
    }
    assert_eq!(taken, 1);
}

#[test]
fn in_a_lake_of_an_earlier_version_the_first_publisher_names_its_station() {
    let (store, objects, _) = filled(0..10);
    publish(&publisher(&store, &objects, lake(), "s1"));
    without_names(&objects);
    let id = small_table(&ada(&store), "b", "");
    append(&ada(&store), &id, 0..10);
    publish(&publisher(&store, &objects, lake(), "s1"));
    equal(&store, &objects, "s1");
    refused(&publisher(&store, &objects, lake(), "s2"));
    refused(&publisher(&filled(0..10).0, &objects, lake(), "s1"));
}

#[test]
fn a_publisher_that_was_offline_within_its_hold_sends_what_changed() {
    let options = || {
        let options = Store::options().maintenance_thread(false).log_entries_max(10);
        options.open_disk(Arc::new(MemoryDisk::new())).unwrap()
    };
    let bytes = 1 << 20;
    for (bounds, is_held) in
        [(HoldBounds::new(3_600_000, bytes), true), (HoldBounds::new(0, 0), false)]
    {
        let (store, objects) = (options(), objects());
        let session = ada(&store);
        let id = small_table(&session, "a", "");
        let new = || publisher(&store, &objects, lake(), "s1").with_hold(bounds);
        let status = || new().status(&Control::default()).unwrap().hold;
        assert_eq!(status(), None);
        publish(&new());
        assert_eq!(status().unwrap().entries, 0);
        for at in 0..60 {
            append(&session, &id, at * 10..at * 10 + 10);
        }
        store.maintain(&Control::default()).unwrap();
        let hold = status().unwrap();
        if is_held {
            assert_eq!((hold.state, hold.entries), (HoldState::Held, 60));
            assert_eq!(hold.bytes + hold.bytes_left, bytes);
            assert!(hold.bytes > 0 && hold.ends.is_some());
        } else {
            assert_eq!(hold.state, HoldState::Lost);
        }
        let published = publish(&new());
        assert_eq!((published.rows, published.full_passes.is_empty()), (600, is_held));
        equal(&store, &objects, "s1");
        assert_ne!(status().unwrap().state, HoldState::Lost);
    }
}

/// A publish that has to send all records holds the log from its begin on, also when it fails.
#[test]
fn a_full_pass_holds_the_changes_that_follow_it() {
    let options = Store::options().maintenance_thread(false).log_entries_max(10);
    let store = options.open_disk(Arc::new(MemoryDisk::new())).unwrap();
    let objects = objects();
    let session = ada(&store);
    let id = small_table(&session, "a", "");
    let new = |bounds| publisher(&store, &objects, lake(), "s1").with_hold(bounds);
    publish(&new(HoldBounds::new(0, 0)));
    let commit = |from: i64| {
        for at in 0..40 {
            append(&session, &id, from + at..from + at + 1);
        }
        store.maintain(&Control::default()).unwrap();
    };
    commit(0);
    let long = HoldBounds::new(3_600_000, 1 << 20);
    let late = Control::default().with_deadline(std::time::Instant::now());
    assert!(new(long).publish(&late).is_err());
    commit(100);
    let held = new(long).status(&Control::default()).unwrap().hold.unwrap();
    assert_eq!((held.state, held.entries), (HoldState::Held, 40));
    let published = publish(&new(long));
    assert_eq!((published.rows, published.full_passes.len()), (80, 1));
    equal(&store, &objects, "s1");
    let product = serde_json::json!({ "partNumber": "P" });
    assert!(session.create_products(vec![from(product)]).unwrap().error.is_none());
    assert_eq!(publish(&new(long)).full_passes.len(), 0);
    equal(&store, &objects, "s1");
}
