//! What a call about one step costs does not grow with the steps of its result.
//!
//! Costs are counted: the bytes and the pieces of memory that a call asks for. Whatever is read,
//! decoded, compared or written is in memory first.

use std::alloc::System;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use stationdb::faults::MemoryDisk;
use stationdb::prelude::*;
use stationdb::results::*;
use stationdb::{
    AccessPolicy, Action, Control, Identity, Service, Session, StoreOptions, VerifyLevel,
    Visibility,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

/// The tests count in turn: an allocation of one is none of the other.
static TURN: Mutex<()> = Mutex::new(());

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const FEW: usize = 100;
const MANY: usize = 16_000;
/// Calls of which the cheapest counts: caches are filled, and nothing else happens to run.
const CALLS: usize = 5;
/// The share that a call about a step of many may cost more than one of few.
const SHARE: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Ids {
    /// Generated ids, at the top.
    Generated,
    /// Ids that the caller chose, at the top.
    Chosen,
    /// Generated ids, below parents of ten steps each.
    Nested,
}

fn step(number: usize) -> CreateStepRequest {
    let entry = [("name", "V".to_owned()), ("measurement", format!("{number}.5"))];
    let entry = entry.map(|(key, text)| (key.to_owned(), text));
    CreateStepRequest::new()
        .name(format!("step {number}"))
        .status(StatusType::Passed)
        .data(StepData::new().parameters([BTreeMap::from(entry)]))
}

/// A result with so many steps; returns its id and those of the steps.
fn filled(session: &Session, ids: Ids, count: usize) -> (String, Vec<String>) {
    let request = CreateResultRequest::new().program_name("P").status(StatusType::Passed);
    let made = session.create_results(vec![request]).unwrap().into_result().unwrap().results;
    let result = made[0].id.clone().unwrap().to_string();
    let mut steps = Vec::new();
    for from in (0..count).step_by(1_000) {
        let new = |number: usize| {
            let new = step(number).result_id(&*result);
            match ids {
                Ids::Generated => new,
                Ids::Chosen => new.step_id(format!("chosen {number}")),
                Ids::Nested => new.children((0..9).map(|child| step(number + child))),
            }
        };
        let each = if ids == Ids::Nested { 10 } else { 1 };
        let new = (from..count.min(from + 1_000)).step_by(each).map(new).collect();
        let made = session.create_steps(new, false).unwrap().into_result().unwrap().steps;
        steps.extend(made.into_iter().filter_map(|step| step.step_id));
    }
    assert_eq!(steps.len(), count);
    (result, steps)
}

/// Bytes and pieces of memory that the cheapest of some calls asks for.
fn cost(mut call: impl FnMut(usize)) -> (usize, usize) {
    let one = |at: usize| {
        let region = Region::new(ALLOCATOR);
        call(at);
        let change = region.change();
        (change.bytes_allocated, change.allocations + change.reallocations)
    };
    (0..CALLS).map(one).min().unwrap()
}

/// The costs of the calls about one step.
fn costs(
    session: &Session,
    ids: Ids,
    (result, steps): &(String, Vec<String>),
) -> Vec<(&'static str, (usize, usize))> {
    let result_id: TestResultId = result.as_str().into();
    // Steps from the whole result, none of which has children, and another one for each call.
    let at = |kind: usize, call: usize| &steps[call * steps.len() / CALLS / 10 * 10 + 5 + kind];
    let create = |new: CreateStepRequest| {
        session.create_steps(vec![new], false).unwrap().require_all().unwrap();
    };
    let new = |call| step(call).result_id(result.as_str());
    let update = |change: UpdateStepRequest| {
        let change = change.result_id(result.as_str());
        session.update_steps(vec![change], false, false, false).unwrap().require_all().unwrap();
    };
    let read = cost(|call| {
        let read = session.get_step(&result_id, at(0, call)).unwrap();
        assert_eq!(read.step_id.as_ref(), Some(at(0, call)));
    });
    let change = |call| UpdateStepRequest::new().step_id(at(1, call).as_str());
    let updated = cost(|call| update(change(call).status(StatusType::Failed)));
    let moved = cost(|call| update(change(call).parent_id(steps[0].as_str())));
    let deleted = cost(|call| session.delete_step(&result_id, at(2, call), false).unwrap());
    let added = cost(|call| create(new(call)));
    let named = cost(|call| create(new(call).step_id(format!("{ids:?} new {call}"))));
    let below = cost(|call| create(new(call).parent_id(steps[10].as_str())));
    let absent = cost(|call| {
        session.get_step(&result_id, &format!("absent {call}")).unwrap_err();
    });
    vec![
        ("a read", read),
        ("a read of none", absent),
        ("an update", updated),
        ("a move", moved),
        ("a deletion", deleted),
        ("a creation", added),
        ("a creation with an id", named),
        ("a creation below a parent", below),
    ]
}

/// A guest sees the workspace `open` alone.
#[derive(Debug)]
struct Restricted;

impl AccessPolicy for Restricted {
    fn visible(&self, who: &Identity, _: Service, _: Action) -> Visibility {
        if who.user_id() == "guest" { Visibility::workspaces(["open"]) } else { Visibility::All }
    }
}

/// Nor does it grow with the number of results, for whoever does not see all of them either.
#[test]
fn the_steps_of_a_result_cost_the_same_in_a_store_of_any_size() {
    let _turn = TURN.lock().unwrap();
    let options = StoreOptions::default().seed(Some(1)).maintenance_thread(false);
    let options = options.access_policy(Restricted);
    let store = options.open_disk(Arc::new(MemoryDisk::new())).unwrap();
    let session = store.session(Identity::user("ada"));
    let guest = store.session(Identity::user("guest"));
    let mut costs = Vec::new();
    for more in [20, 4_000] {
        let results = (0..more).map(|at| {
            let workspace = ["open", "hidden"][at % 2];
            let result = CreateResultRequest::new().program_name("P").workspace(workspace);
            ResultWithSteps::new(result.status(StatusType::Passed)).steps([step(at), step(at + 1)])
        });
        let made = session.append_results(&results.collect::<Vec<_>>()).unwrap();
        let made = made.into_result().unwrap().results;
        let id = |at: usize| made[at].id.clone().unwrap().to_string();
        let ask = |filter: &str, id: String, count: u64| {
            let query = QueryStepsRequest::new().return_count(true);
            let query = if filter == "resultId == @0" {
                query.filter(filter).substitutions([id.as_str()])
            } else {
                query.result_filter(filter).result_substitutions([id.as_str()])
            };
            let found = guest.query_steps(query).unwrap();
            assert_eq!((found.total_count, found.steps.len() as u64), (Some(count), count));
        };
        for filter in ["resultId == @0", "id == @0"] {
            costs.push((filter, cost(|call| ask(filter, id(2 * call), 2))));
            costs.push((filter, cost(|call| ask(filter, id(2 * call + 1), 0))));
        }
    }
    let (few, many) = costs.split_at(4);
    for ((filter, few), (_, many)) in few.iter().zip(many) {
        let place = format!("{filter}: {few:?}, {many:?}");
        println!("{place}");
        let is_less = |few: usize, many: usize| many as f64 <= few as f64 * SHARE;
        assert!(is_less(few.0, many.0) && is_less(few.1, many.1), "{place}");
    }
}

#[test]
fn one_step_costs_the_same_in_a_result_of_any_size() {
    let _turn = TURN.lock().unwrap();
    for ids in [Ids::Generated, Ids::Chosen, Ids::Nested] {
        for is_sealed in [false, true] {
            let options = StoreOptions::default().seed(Some(1)).maintenance_thread(false);
            let store = options.open_disk(Arc::new(MemoryDisk::new())).unwrap();
            let session = store.session(Identity::user("ada"));
            let few = filled(&session, ids, FEW);
            let many = filled(&session, ids, MANY);
            if is_sealed {
                // The last results are left in chunks.
                filled(&session, Ids::Generated, MANY);
                store.maintain(&Control::default()).unwrap();
            }
            let (few, many) = (costs(&session, ids, &few), costs(&session, ids, &many));
            for ((what, few), (_, many)) in few.into_iter().zip(many) {
                let place = format!("{what}, {ids:?}, sealed: {is_sealed}: {few:?}, {many:?}");
                println!("{place}");
                let is_less = |few: usize, many: usize| many as f64 <= few as f64 * SHARE;
                assert!(is_less(few.0, many.0) && is_less(few.1, many.1), "{place}");
            }
            let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
            assert_eq!(report.findings, []);
        }
    }
}
