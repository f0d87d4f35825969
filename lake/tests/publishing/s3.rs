//! The publisher over a server that speaks S3.
//!
//! `STATIONDB_PYTHON` names an interpreter with `moto[server]`; the default is `python3`. Without it
//! the tests are skipped with a message, unless the variable is set.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{ObjectStoreExt, PutMode, PutOptions};
use serde_json::json;
use stationdb::prelude::*;
use stationdb::tables::DeleteRowsRequest;
use stationdb::{Control, ErrorKind};
use stationdb_lake::faults::{Check, Fault};

use crate::common::*;
use crate::eight_stations::fleet_loses_nothing;
use crate::large::{ROWS, large};
use crate::server::Server;

#[test]
fn a_conditional_put_has_one_winner() {
    let Some(server) = Server::start() else { return };
    let objects = server.objects();
    for name in 0..20 {
        let path = Path::from(format!("races/{name}"));
        let put = |writer: u64| {
            let (objects, path) = (objects.clone(), path.clone());
            move || {
                wait(async {
                    let options = PutOptions::from(PutMode::Create);
                    objects.put_opts(&path, writer.to_string().into(), options).await
                })
            }
        };
        let answers: Vec<_> = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..8).map(|writer| scope.spawn(put(writer))).collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        let winners: Vec<usize> = (0..8).filter(|writer| answers[*writer].is_ok()).collect();
        assert_eq!(winners.len(), 1, "{name}: {answers:?}");
        for answer in answers.iter().filter_map(|answer| answer.as_ref().err()) {
            let is_taken = matches!(answer, object_store::Error::AlreadyExists { .. });
            assert!(is_taken, "{answer:?}");
        }
        let kept = wait(async { objects.get(&path).await.unwrap().bytes().await.unwrap() });
        assert_eq!(kept, winners[0].to_string());
    }
}

#[test]
fn two_stations_that_commit_one_version_of_a_lake_in_s3_lose_nothing() {
    let Some(server) = Server::start() else { return };
    let lakes = AtomicU64::new(0);
    needs(Check::PutIfAbsent, || {
        let prefix = format!("lake {}", lakes.fetch_add(1, Ordering::Relaxed));
        let objects: Objects = Arc::new(PrefixStore::new(server.objects(), prefix));
        two_commit_one_version(&objects);
    });
}

#[test]
fn a_lake_in_s3_equals_the_store() {
    let Some(server) = Server::start() else { return };
    let objects = server.objects();
    let store = store();
    let session = ada(&store);
    let id = small_table(&session, "a", "");
    let kept = publisher(&store, &objects, lake(), "s1");
    for batch in 0..3 {
        append(&session, &id, batch * 700..batch * 700 + 700);
        store.maintain(&Control::default()).unwrap();
        let product = from(json!({ "partNumber": format!("P-{batch}") }));
        assert!(session.create_products(vec![product]).unwrap().error.is_none());
        assert_eq!(publish(&kept).rows, 700);
    }
    let before = DeleteRowsRequest::new().index_before("500");
    assert_eq!(session.delete_rows(&id, before).unwrap().row_count, 500);
    publish(&publisher(&store, &objects, lake(), "s1"));
    equal(&store, &objects, "s1");
}

/// Parts that fail, answers that are lost, and a crash in the middle of the parts.
#[test]
fn a_large_file_comes_into_s3_in_parts() {
    let Some(server) = Server::start() else { return };
    let (store, inner) = (large(), server.objects());
    let (faulty, objects) = faulty(&inner, 6);
    faulty.crash_with_part(2);
    let refused = publisher(&store, &objects, lake(), "s1").publish(&Control::default());
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Io);
    assert!(faulty.is_down() && live_rows(&inner, "lake", "s1").is_empty());
    faulty.restart();
    faulty.rate(Fault::Failed, 150);
    faulty.rate(Fault::AppliedButFailed, 300);
    let before = faulty.parts();
    assert_eq!(publish(&publisher(&store, &objects, lake(), "s1")).rows, ROWS);
    assert!(faulty.parts() > before + 3, "no part was sent again");
    equal(&store, &inner, "s1");
}

#[test]
fn eight_stations_lose_and_double_nothing_in_s3() {
    let Some(server) = Server::start() else { return };
    fleet_loses_nothing(&server.objects(), sizes::size("lake_s3_batches") as i64);
}
