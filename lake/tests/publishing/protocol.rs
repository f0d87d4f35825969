//! What holds when requests fail, publishers crash, others are first and stores are restored; and
//! that each check of the protocol is needed for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload};
use stationdb::faults::{MemoryDisk, SharedDisk};
use stationdb::{Control, ErrorKind, Store};
use stationdb_lake::faults::{Check, Fault};
use stationdb_lake::{Note, Publisher};

use crate::common::*;

#[test]
fn a_new_publisher_takes_what_was_sent_from_the_lake() {
    needs(Check::SentFromLake, || {
        let (store, objects) = (store(), objects());
        let id = small_table(&ada(&store), "a", "");
        for at in 0..3 {
            append(&ada(&store), &id, at * 10..at * 10 + 10);
            publish(&publisher(&store, &objects, lake(), "s1"));
        }
        equal(&store, &objects, "s1");
    });
}

#[test]
fn a_commit_without_an_answer_is_looked_for() {
    needs(Check::OwnCommit, || {
        let (store, inner, _) = filled(0..10);
        let (faulty, objects) = faulty(&inner, 1);
        faulty.rate(Fault::AppliedButFailed, 700);
        let published = publish(&publisher(&store, &objects, lake(), "s1"));
        assert!(faulty.counts()[&Fault::AppliedButFailed] > 0);
        equal(&store, &inner, "s1");
        // The table was created, columns were added, and each commit is there once.
        let versions: u64 =
            names(&inner, "lake").iter().map(|name| table(&inner, "lake", name).versions).sum();
        let tables = names(&inner, "lake").len() as u64;
        assert_eq!(versions, published.commits + tables, "a commit is there twice");
    });
}

#[test]
fn a_put_that_failed_is_no_commit() {
    needs(Check::UnknownOutcome, || {
        let (store, inner) = (store(), objects());
        let id = small_table(&ada(&store), "a", "");
        let (faulty, objects) = faulty(&inner, 3);
        let publisher = publisher(&store, &objects, lake(), "s1");
        for at in 0..10 {
            append(&ada(&store), &id, at * 10..at * 10 + 10);
            faulty.rate(Fault::Failed, 300);
            publish(&publisher);
        }
        assert!(faulty.counts()[&Fault::Failed] > 5);
        equal(&store, &inner, "s1");
    });
}

#[test]
fn a_cut_upload_is_sent_again() {
    needs(Check::UploadSize, || {
        let (store, inner) = (store(), objects());
        let id = small_table(&ada(&store), "a", "");
        let (faulty, objects) = faulty(&inner, 4);
        faulty.rate(Fault::CutUpload, 300);
        let publisher = publisher(&store, &objects, lake(), "s1");
        for at in 0..5 {
            append(&ada(&store), &id, at * 10..at * 10 + 10);
            publish(&publisher);
        }
        assert!(faulty.counts()[&Fault::CutUpload] > 0);
        equal(&store, &inner, "s1");
    });
}

/// A second publisher of the station commits while the first has uploaded and not committed.
#[test]
fn another_publisher_of_the_station_is_noticed_before_the_commit() {
    needs(Check::OwnStation, || {
        let (store, objects, id) = filled(0..10);
        let first = publisher(&store, &objects, lake(), "s1");
        publish(&first);
        append(&ada(&store), &id, 10..20);
        let second = Mutex::new(Some(publisher(&store, &objects, lake(), "s1")));
        let control = Control::default().with_progress(move |_| {
            if let Some(second) = second.lock().unwrap().take() {
                assert_eq!(second.publish(&Control::default()).unwrap().rows, 10);
            }
        });
        first.publish(&control).unwrap();
        equal(&store, &objects, "s1");
    });
}

/// The second publisher sends what was committed after the snapshot of the first.
#[test]
fn a_publisher_that_is_overtaken_plans_over_a_later_snapshot() {
    let (store, objects, id) = filled(0..10);
    let first = publisher(&store, &objects, lake(), "s1");
    publish(&first);
    append(&ada(&store), &id, 10..20);
    let second = Mutex::new(Some(publisher(&store, &objects, lake(), "s1")));
    let (writer, table) = (ada(&store), id.clone());
    let control = Control::default().with_progress(move |_| {
        if let Some(second) = second.lock().unwrap().take() {
            append(&writer, &table, 20..30);
            assert_eq!(second.publish(&Control::default()).unwrap().rows, 20);
        }
    });
    first.publish(&control).unwrap();
    equal(&store, &objects, "s1");
    append(&ada(&store), &id, 30..40);
    publish(&first);
    equal(&store, &objects, "s1");
}

#[test]
fn a_version_is_created_only_once() {
    needs(Check::PutIfAbsent, || two_commit_one_version(&objects()));
}

/// A crash after each number of commits: readers see the state of the last complete batch.
#[test]
fn readers_see_no_part_of_a_batch() {
    needs(Check::BatchesLast, || {
        for crash_after in 1..8 {
            let (store, objects, id) = filled(0..10);
            publish(&publisher(&store, &objects, lake(), "s1"));
            let before = live_rows(&objects, "lake", "s1");
            append(&ada(&store), &id, 10..20);
            let other = small_table(&ada(&store), "b", "");
            append(&ada(&store), &other, 0..10);
            let is_whole = interrupted(publisher(&store, &objects, lake(), "s1"), crash_after);
            let live = live_rows(&objects, "lake", "s1");
            let is_complete = live == store_rows(&ada(&store), |_| true);
            assert!(live == before || is_complete, "a part is seen after {crash_after} commits");
            assert!(!is_whole || is_complete);
            publish(&publisher(&store, &objects, lake(), "s1"));
            equal(&store, &objects, "s1");
        }
    });
}

fn copy_of(store: &Store) -> Arc<MemoryDisk> {
    let disk = Arc::new(MemoryDisk::new());
    let target: SharedDisk = disk.clone();
    store.backup_disk(&target, &Control::default()).unwrap();
    disk
}

#[test]
fn a_store_behind_the_lake_is_refused_until_it_is_rebased() {
    needs(Check::StoreBehind, || {
        let (store, objects, id) = filled(0..10);
        publish(&publisher(&store, &objects, lake(), "s1"));
        let backup = copy_of(&store);
        for at in 1..20 {
            append(&ada(&store), &id, at * 10..at * 10 + 10);
        }
        publish(&publisher(&store, &objects, lake(), "s1"));
        drop(store);
        let old = on(&backup);
        let publisher = publisher(&old, &objects, lake(), "s1");
        let refused = publisher.publish(&Control::default()).expect_err("it was not refused");
        assert_eq!(refused.kind(), ErrorKind::Conflict, "{refused}");
        assert!(refused.message().contains("rebase"), "{refused}");
        publisher.rebase(&Control::default()).unwrap();
        publish(&publisher);
        equal(&old, &objects, "s1");
        assert_eq!(publisher.status(&Control::default()).unwrap().roots[0].epoch, 1);
    });
}

#[test]
fn a_store_with_another_history_is_refused_until_it_is_rebased() {
    needs(Check::OtherHistory, || {
        let (store, objects, id) = filled(0..10);
        publish(&publisher(&store, &objects, lake(), "s1"));
        let backup = copy_of(&store);
        append(&ada(&store), &id, 10..20);
        publish(&publisher(&store, &objects, lake(), "s1"));
        drop(store);
        let other = on(&backup);
        std::thread::sleep(std::time::Duration::from_millis(5));
        for at in 100..120 {
            append(&ada(&other), &id, at * 10..at * 10 + 1);
        }
        let publisher = publisher(&other, &objects, lake(), "s1");
        let refused = publisher.publish(&Control::default()).expect_err("it was not refused");
        assert_eq!(refused.kind(), ErrorKind::Conflict, "{refused}");
        publisher.rebase(&Control::default()).unwrap();
        publish(&publisher);
        equal(&other, &objects, "s1");
    });
}

#[test]
fn a_lake_behind_the_store_is_sent_again_from_its_own_position() {
    let (store, objects, id) = filled(0..10);
    publish(&publisher(&store, &objects, lake(), "s1"));
    let logs = |name: &str| Path::from(format!("lake/{name}/_delta_log"));
    let before: Vec<(String, u64)> = names(&objects, "lake")
        .into_iter()
        .map(|name| (name.clone(), table(&objects, "lake", &name).versions))
        .collect();
    append(&ada(&store), &id, 10..20);
    publish(&publisher(&store, &objects, lake(), "s1"));
    // The lake is restored to its state after the first batch.
    for (name, versions) in before {
        for version in versions..versions + 5 {
            let path = logs(&name).join(format!("{version:020}.json"));
            let _ = wait(async { objects.delete(&path).await });
        }
    }
    append(&ada(&store), &id, 20..30);
    assert_eq!(publish(&publisher(&store, &objects, lake(), "s1")).rows, 20);
    equal(&store, &objects, "s1");
}

#[test]
fn a_trimmed_change_log_costs_a_full_pass_and_no_row() {
    let disk = Arc::new(MemoryDisk::new());
    let options = Store::options().maintenance_thread(false).log_entries_max(10);
    let options = options.subscriber_hold_bytes(0);
    let store = options.open_disk(disk).unwrap();
    let objects = objects();
    let session = ada(&store);
    let id = small_table(&session, "a", "");
    append(&session, &id, 0..10);
    publish(&publisher(&store, &objects, lake(), "s1"));
    use stationdb::prelude::*;
    let made = session.create_products(vec![from(serde_json::json!({ "partNumber": "gone" }))]);
    let product = made.unwrap().products[0].id.clone().unwrap();
    for at in 1..40 {
        append(&session, &id, at * 10..at * 10 + 10);
    }
    session.delete_products(vec![product]).unwrap();
    store.maintain(&Control::default()).unwrap();
    for _ in 0..20 {
        append(&session, &id, 400..401);
        store.maintain(&Control::default()).unwrap();
    }
    let published = publish(&publisher(&store, &objects, lake(), "s1"));
    assert_eq!((published.rows, published.full_passes), (390 + 20, vec!["lake".to_owned()]));
    equal(&store, &objects, "s1");
    append(&session, &id, 500..510);
    let published = publish(&publisher(&store, &objects, lake(), "s1"));
    assert_eq!((published.rows, published.full_passes.len()), (10, 0));
    equal(&store, &objects, "s1");
}

#[test]
fn a_publisher_stops_when_it_is_cancelled_or_late_and_the_next_one_goes_on() {
    let (store, inner, _) = filled(0..10);
    let (faulty, objects) = faulty(&inner, 9);
    faulty.rate(Fault::Failed, 1000);
    let told = Arc::new(AtomicBool::new(false));
    let heard = told.clone();
    let publisher = publisher(&store, &objects, lake(), "s1").with_notes(move |note| {
        if matches!(note, Note::Retry { .. }) {
            heard.store(true, Ordering::SeqCst);
        }
    });
    let refused = publisher.publish(&Control::default()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Io, "{refused}");
    assert!(told.load(Ordering::SeqCst), "no retry was told");
    let late = Control::default().with_deadline(std::time::Instant::now());
    assert_eq!(publisher.publish(&late).unwrap_err().kind(), ErrorKind::DeadlineExceeded);
    let cancelled = Control::default();
    cancelled.cancel();
    assert_eq!(publisher.publish(&cancelled).unwrap_err().kind(), ErrorKind::Cancelled);
    faulty.rate(Fault::Failed, 0);
    assert_eq!(publish(&publisher).rows, 10);
    equal(&store, &inner, "s1");
}

#[test]
fn tables_that_a_publisher_does_not_understand_are_refused() {
    let metadata = |extra: &str| {
        format!(
            "{{\"metaData\":{{\"id\":\"x\",\"format\":{{\"provider\":\"parquet\"}},\
             \"schemaString\":\"{{\\\"type\\\":\\\"struct\\\",\\\"fields\\\":[]}}\",{extra}}}}}"
        )
    };
    let plain = "\"partitionColumns\":[],\"configuration\":{}";
    let forgets = "\"partitionColumns\":[],\
                   \"configuration\":{\"delta.setTransactionRetentionDuration\":\"7 days\"}";
    let cases = [
        ("{\"protocol\":{\"minReaderVersion\":2,\"minWriterVersion\":5}}".to_owned(), "version 5"),
        (
            "{\"protocol\":{\"minReaderVersion\":3,\"minWriterVersion\":7,\
             \"readerFeatures\":[\"deletionVectors\"],\"writerFeatures\":[\"deletionVectors\"]}}"
                .to_owned(),
            "deletionVectors",
        ),
        (metadata("\"partitionColumns\":[\"day\"],\"configuration\":{}"), "partitioned"),
        (metadata(forgets), "setTransactionRetentionDuration"),
        (metadata(plain) + "\n{\"sidecar\":{}}", "sidecar"),
    ];
    let store = store();
    for (log, told) in cases {
        let objects = objects();
        let path = Path::from("lake/batches/_delta_log/00000000000000000000.json");
        wait(async { objects.put(&path, PutPayload::from(log)).await.unwrap() });
        let refused = publisher(&store, &objects, lake(), "s1").publish(&Control::default());
        let refused = refused.expect_err(told);
        assert_eq!(refused.kind(), ErrorKind::Unsupported, "{refused}");
        assert!(refused.message().contains(told), "{refused}");
    }
    // The first versions were removed.
    let objects = objects();
    let path = Path::from("lake/batches/_delta_log/00000000000000000010.json");
    wait(async { objects.put(&path, PutPayload::from(metadata(plain))).await.unwrap() });
    let refused = publisher(&store, &objects, lake(), "s1").publish(&Control::default());
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn names_of_stations_are_checked() {
    let store = store();
    for name in ["", "a/b", "..", ".a", "ä", &"a".repeat(65)] {
        let who = stationdb::Identity::user("ada");
        let refused = Publisher::new(&store, who, objects(), lake(), name).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{name:?}");
    }
}

#[test]
fn a_status_says_what_the_lake_lacks() {
    let (store, objects, id) = filled(0..10);
    let publisher = publisher(&store, &objects, lake(), "s1");
    let status =
        |publisher: &Publisher| publisher.status(&Control::default()).unwrap().roots.remove(0);
    let before = status(&publisher);
    assert_eq!(
        (before.sequence, before.changes, before.rows, before.row_bytes),
        (None, None, 10, 160)
    );
    publish(&publisher);
    let at = status(&publisher);
    assert_eq!((at.changes, at.rows, at.oldest_change), (Some(0), 0, None));
    append(&ada(&store), &id, 10..15);
    let behind = status(&publisher);
    assert_eq!((behind.changes, behind.rows), (Some(1), 5));
    assert!(behind.oldest_change.is_some());
}
