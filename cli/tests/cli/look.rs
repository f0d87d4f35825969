//! Commands on a store that another process has open.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use stationdb::prelude::*;
use stationdb::products::CreateProductRequest;
use stationdb::{Identity, Session, Store};

use crate::bench::{Bench, Run};

fn create(session: &Session, part_number: &str) {
    let request = CreateProductRequest::new(part_number.to_owned());
    let _ = session.create_products(vec![request]).unwrap().into_result().unwrap();
}

#[test]
fn commands_that_read_see_the_newest_commit() {
    let bench = Bench::new();
    let before = bench.json(&["info"]);
    let store = Store::open(bench.store()).unwrap();
    let session = store.session(Identity::user("ada"));
    for number in 0..3 {
        create(&session, &format!("NEW-{number}"));
        let shown = bench.good(&["ls", "products", "--columns", "partNumber", "--csv"]);
        assert!(shown.contains(&format!("NEW-{number}")), "{shown}");
        assert_eq!(bench.json(&["info"])["counts"]["products"], {
            let held = before["counts"]["products"].as_i64().unwrap();
            held + number + 1
        });
    }
    // The copy of the one who looks does not count.
    let mut parts = bench.json(&["info"])["bytes"].as_object().unwrap().clone();
    let all = parts.remove("all").and_then(|bytes| bytes.as_u64()).unwrap();
    let named: u64 = parts.values().map(|bytes| bytes.as_u64().unwrap()).sum();
    assert!(named <= all && all - named < 4096, "{all} {parts:?}");
    let readers: [&[&str]; 9] = [
        &["search", "NEW-2"],
        &["export", "Loop", "-o", "loop.parquet"],
        &["plot", "Loop", "--y", "volts"],
        &["plot", "Loop", "--y", "volts", "-o", "loop.html"],
        &["report", "store", "-o", "store.html"],
        &["changes", "--take", "3"],
        &["verify"],
        &["verify", "--quick"],
        &["backup", "kept"],
    ];
    for reader in readers {
        bench.good(reader);
    }
    // The owner learns how the backup ended, and nothing of those who looked is left.
    let until = Instant::now() + Duration::from_secs(60);
    while store.status().unwrap().backup.last_success.is_none() {
        assert!(Instant::now() < until, "{:?}", store.status());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(bench.path("store/views").read_dir().unwrap().count(), 0);
    drop(session);
    store.close().unwrap();
}

/// A look knows who writes, and says nothing of what the owner alone knows.
#[test]
fn the_status_of_a_look_names_the_owner() {
    let bench = Bench::new();
    let own = bench.good(&["status"]);
    assert!(own.contains("\nwrites        taken\n") && own.contains("nothing needs you"), "{own}");
    let store = Store::open(bench.store()).unwrap();
    let said = bench.good(&["status"]);
    let told = format!("\nwrites      by process {} (cli", std::process::id());
    assert!(said.contains(&told), "{told}: {said}");
    assert!(said.contains("); this is a look at the last commit\n"), "{said}");
    assert!(said.contains("attention   nothing that a look can see needs you\n"), "{said}");
    for text in ["refused", "\ncommits ", "\nsyncs ", "\noldestReader ", "no thread"] {
        assert!(!said.contains(text), "{text}: {said}");
        assert!(own.contains(text) || text == "refused", "{text}: {own}");
    }
    assert_eq!(bench.json(&["status"])["isView"], true);
    store.close().unwrap();
}

#[test]
fn a_script_sees_what_was_committed_between_its_lines() {
    let bench = Bench::new();
    let store = Store::open(bench.store()).unwrap();
    let session = store.session(Identity::user("ada"));
    let mut command = bench.command(&[]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut input = child.stdin.take().unwrap();
    for number in 0..3 {
        create(&session, &format!("BETWEEN-{number}"));
        writeln!(input, "ls products --order updatedAt --desc --take 1 --columns partNumber --csv")
            .unwrap();
        assert_eq!(lines.next().unwrap(), "partNumber");
        assert_eq!(lines.next().unwrap(), format!("BETWEEN-{number}"));
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_follower_sees_the_events_of_the_other_process() {
    let bench = Bench::new();
    let store = Store::open(bench.store()).unwrap();
    let session = store.session(Identity::user("ada"));
    let since = session.position().0.to_string();
    let mut command = bench.command(&["changes", "--follow", "--jsonl", "--since", &since]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    for number in 0..3 {
        let part_number = format!("FOLLOWED-{number}");
        create(&session, &part_number);
        let line = lines.next().unwrap();
        assert!(line.contains(&part_number), "{line}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let _: Run = bench.run(&["info"]);
}
