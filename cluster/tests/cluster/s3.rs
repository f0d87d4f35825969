//! A lake in S3 answers on executors as the store answers in this process.
//!
//! `STATIONDB_PYTHON` names an interpreter with `moto[server]`, as for the lake's own suite.

#[path = "../../../lake/tests/common/s3.rs"]
mod server;

use std::process::Command;
use std::sync::Arc;

use stationdb_cluster::LakeLocation;
use stationdb_lake::object_store::ObjectStore;

use crate::common::open;
use crate::lake::{equal, published};
use crate::process::Process;
use server::Server;

type Objects = Arc<dyn ObjectStore>;

const BUCKET: &str = "s3://lakes/";
/// Says to the test that it is the process that asks.
const ASKS: &str = "STATIONDB_CLUSTER_TEST_ASKS";

/// The settings of a process are in its environment, also those of the one that asks, so the test
/// runs itself again with them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lake_in_s3_answers_as_the_store() {
    if std::env::var_os(ASKS).is_some() {
        return asks().await;
    }
    let Some(server) = Server::start() else { return };
    let name = "s3::a_lake_in_s3_answers_as_the_store";
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", name, "--nocapture"]).env(ASKS, "1");
    again.env("AWS_ENDPOINT", server.url()).env("AWS_ALLOW_HTTP", "true");
    again.env("AWS_REGION", "us-east-1");
    again.env("AWS_ACCESS_KEY_ID", "caller").env("AWS_SECRET_ACCESS_KEY", "secret");
    assert!(again.status().unwrap().success());
    // The caller publishes too. The others read with keys of their own, which nobody tells them.
    let calls = server.calls();
    let (caller, others): (Vec<_>, Vec<_>) =
        calls.iter().map(String::as_str).partition(|call| call.starts_with("caller:"));
    assert!(caller.contains(&"caller:GET") && caller.contains(&"caller:LIST"), "{calls:?}");
    let expected = ["executor-0:GET", "executor-1:GET", "scheduler:GET", "scheduler:HEAD"];
    assert_eq!(others, expected, "{calls:?}");
}

async fn asks() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("store"));
    let place = LakeLocation::open(BUCKET).unwrap();
    let objects: Objects = place.objects();
    // The publisher has a runtime of its own.
    let store = tokio::task::spawn_blocking({
        let objects = objects.clone();
        move || {
            published(&store, &objects);
            store
        }
    });
    let store = store.await.unwrap();
    let scheduler =
        Process::with_key("scheduler", &["scheduler", "--bind", "127.0.0.1:0", "--lake", BUCKET]);
    let executor = |key| {
        let own = ["--lake", BUCKET, "--tasks", "2", "--memory", "512"];
        let args = [&["executor", "--scheduler", &scheduler.address][..], &own[..]].concat();
        Process::with_key(key, &args)
    };
    let executors = ["executor-0", "executor-1"].map(executor);
    equal(&store, objects, &place, &scheduler.address).await;
    drop(executors);
}
