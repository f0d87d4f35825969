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
#[path = "../common/limited_memory.rs"]
mod limited_memory;
mod lists;
mod nested_steps;
#[path = "../common/nesting.rs"]
mod nesting;
#[path = "../common/package.rs"]
mod package;
mod requests;
#[path = "../common/rows.rs"]
mod rows;
#[path = "../common/sources.rs"]
mod sources;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Instant;

use limited_memory::{is_child, peak_mib};
use lists::{BATCH, Class, World, lists, probe};
use stationdb::{ErrorKind, Place};

/// Number of entries that every list that controls a query may have: `value::limits::QUERY_LIST`
/// and `FILTER_SUBSTITUTIONS`.
const BOUND: usize = 10_000;
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
