//! The commands: what they print, refuse, and how they end.

use std::time::Duration;

use stationdb_cluster::distributed;

use crate::process::{Cluster, Process};
use crate::tables;

/// The text on standard error of a command that fails.
fn fails(args: &[&str]) -> String {
    let output = Process::command(args).stderr(std::process::Stdio::piped()).output().unwrap();
    assert!(!output.status.success(), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn help_names_every_option() {
    let output = Process::command(&["executor", "--help"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for option in ["--scheduler", "--bind", "--host", "--tasks", "--memory", "--lake", "--work-dir"]
    {
        assert!(text.contains(option), "{option}: {text}");
    }
}

#[test]
fn an_address_in_use_is_told() {
    let lake = tempfile::tempdir().unwrap();
    let path = lake.path().to_str().unwrap();
    let scheduler = Process::scheduler(lake.path());
    let address = scheduler.address.strip_prefix("http://").unwrap();
    let told = fails(&["scheduler", "--bind", address, "--lake", path]);
    assert!(told.contains(address) && told.contains("choose another address"), "{told}");
    let told =
        fails(&["executor", "--scheduler", &scheduler.address, "--bind", address, "--lake", path]);
    assert!(told.contains(address) && told.contains("choose another address"), "{told}");
}

#[test]
fn a_lake_that_is_not_there_is_told() {
    let told = fails(&["scheduler", "--bind", "127.0.0.1:0", "--lake", "/no/such/lake"]);
    assert!(told.contains("/no/such/lake"), "{told}");
}

#[test]
fn an_executor_without_a_scheduler_ends() {
    let lake = tempfile::tempdir().unwrap();
    let held = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", held.local_addr().unwrap());
    drop(held);
    let told = fails(&["executor", "--scheduler", &url, "--lake", lake.path().to_str().unwrap()]);
    assert!(told.contains(&url) && told.contains("stationdb-cluster scheduler"), "{told}");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_ends_the_processes_and_the_others_answer() {
    let directory = tempfile::tempdir().unwrap();
    let lake = directory.path().canonicalize().unwrap();
    tables::write(&lake, 100).await;
    let here = tables::context(&lake).await;
    let mut cluster = Cluster::start(&lake);
    let there = distributed(&here, &cluster.scheduler.address).unwrap();
    let statement = "select product, sum(row) as rows from gain group by product order by product";
    let expected = tables::ask(&here, statement).await.unwrap();
    assert_eq!(tables::ask(&there, statement).await.unwrap(), expected);
    assert!(cluster.executors[0].terminate().success());
    assert_eq!(tables::ask(&there, statement).await.unwrap(), expected);
    assert!(cluster.scheduler.terminate().success());
    // Executors wait for a scheduler, and end when they are told.
    assert!(cluster.executors[1].terminate().success());
    cluster.executors[2].kill();
    assert!(!cluster.executors[2].wait(Duration::from_secs(1)).success());
}
