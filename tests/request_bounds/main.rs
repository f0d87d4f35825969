//! No request ends the process, and no request works on one record without limit.
//!
//! The lists of all requests are read from the sources, so a new one must be classified here: it
//! controls a query and is limited, it is a batch of records or ids, or it is stored as a part of a
//! record. Lists that control a query are tested at their limit and one above. Batches are tested
//! with 100,000 entries. Both run in a child process with limited memory.

#[path = "../common/calls.rs"]
mod calls;
mod depth;
#[path = "../common/imports.rs"]
mod imports;
mod lists;
#[path = "../common/package.rs"]
mod package;
mod requests;
#[path = "../common/sources.rs"]
mod sources;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Instant;

use lists::{BATCH, Class, World, lists, probe};
use stationdb::{ErrorKind, Place};

/// Number of entries that every list that controls a query may have: `value::limits::QUERY_LIST`
/// and `FILTER_SUBSTITUTIONS`.
const BOUND: usize = 10_000;
/// Address space of the child, in KiB.
#[cfg(target_os = "linux")]
const MEMORY_KIB: usize = 1_536 * 1024;
/// Environment variable that is set in the child.
#[cfg(target_os = "linux")]
const CHILD: &str = "STATIONDB_REQUEST_BOUNDS_CHILD";

#[test]
fn every_list_of_a_request_is_classified() {
    let declared = requests::lists();
    assert!(declared.len() > 130, "only {} lists were found", declared.len());
    let known: BTreeSet<String> = lists().iter().map(|list| list.name.to_owned()).collect();
    assert_eq!(known.len(), lists().len(), "a list is listed twice");
    let missing: Vec<&String> = declared.difference(&known).collect();
    assert!(missing.is_empty(), "classify these lists in tests/corpus/lists.txt: {missing:#?}");
    let gone: Vec<&String> = known.difference(&declared).collect();
    assert!(gone.is_empty(), "these lists do not exist: {gone:#?}");
}

/// Runs this test alone in a child with limited memory, and returns false. Returns true in the
/// child.
#[cfg(target_os = "linux")]
fn is_child(test: &str) -> bool {
    if std::env::var_os(CHILD).is_some() {
        return true;
    }
    let program = std::env::current_exe().unwrap();
    let output = std::process::Command::new("sh")
        .arg("-c")
        .arg(format!(
            "ulimit -v {MEMORY_KIB} && exec \"$0\" --exact {test} --nocapture --test-threads=1"
        ))
        .arg(program)
        .env(CHILD, "1")
        // Each allocator arena reserves address space that it does not use.
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    println!("{text}{errors}");
    assert!(output.status.success(), "under {MEMORY_KIB} KiB: {}\n{text}{errors}", output.status);
    assert!(text.contains("1 passed"), "the child ran another test: {text}");
    false
}

#[cfg(not(target_os = "linux"))]
fn is_child(test: &str) -> bool {
    println!("{test}: the limit of memory is set by `ulimit -v`; runs without it here");
    true
}

/// The peak address space of the process, in MiB.
fn peak_mib() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.map_or_else(|| "unknown".to_owned(), |kib| format!("{} MiB", kib / 1024))
}

#[test]
fn lists_that_steer_a_query_hold_at_their_bound_and_not_above() {
    if !is_child("lists_that_steer_a_query_hold_at_their_bound_and_not_above") {
        return;
    }
    let world = World::new();
    let mut took: BTreeMap<u128, &str> = BTreeMap::new();
    for at in &lists() {
        let Class::Steers { member, kind, repeats } = &at.class else { continue };
        let list = at.name;
        let started = Instant::now();
        for (len, fits) in [(BOUND, true), (BOUND + 1, false), (10 * BOUND, false)] {
            let outcome = probe(&world, at, len);
            match outcome {
                Ok(()) => assert!(fits && *repeats, "{list} with {len} entries is accepted"),
                Err(error) if fits => {
                    // Each column may be listed once, so a list that is longer than the table has a
                    // duplicate.
                    assert!(
                        !repeats && error.to_string().contains("listed twice"),
                        "{list} with {len}: {error}"
                    );
                }
                Err(error) => {
                    assert_eq!(error.kind(), *kind, "{list} with {len}: {error}");
                    assert_eq!(
                        error.place(),
                        Some(&Place::Member((*member).to_owned())),
                        "{list}: {error}"
                    );
                    let bound = if *kind == ErrorKind::InvalidArgument {
                        "FILTER_SUBSTITUTIONS"
                    } else {
                        "QUERY_LIST"
                    };
                    assert!(error.message().contains(bound), "{list}: {error}");
                }
            }
        }
        took.insert(started.elapsed().as_millis(), list);
    }
    println!("slowest: {:?}; peak {}", took.last_key_value(), peak_mib());
}

#[test]
fn batches_end_with_an_answer_or_an_error() {
    if !is_child("batches_end_with_an_answer_or_an_error") {
        return;
    }
    let world = World::new();
    let took: Mutex<BTreeMap<u128, &str>> = Mutex::default();
    let lists = lists();
    let batches = lists.iter().filter_map(|list| match list.class {
        Class::Batch(expected) => Some((list, expected)),
        _ => None,
    });
    let next = Mutex::new(batches);
    let work = || {
        loop {
            let Some((list, expected)) = next.lock().unwrap().next() else { break };
            let started = Instant::now();
            let outcome = probe(&world, list, BATCH);
            let kind = outcome.as_ref().err().map(|error| format!("{:?}", error.kind()));
            assert_eq!(kind.as_deref(), expected, "{}: {outcome:?}", list.name);
            took.lock().unwrap().insert(started.elapsed().as_millis(), list.name);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    let took = took.into_inner().unwrap();
    println!("slowest: {:?}; peak {}", took.iter().rev().take(5).collect::<Vec<_>>(), peak_mib());
}
