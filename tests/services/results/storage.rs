//! What holds for steps wherever they lie: in the rows of open results, sealed, merged, copied.

use std::sync::atomic::{AtomicBool, Ordering};

use stationdb::tables::{CreateTableRequest, QueryTablesRequest};

use super::*;

/// The table in which the store keeps steps.
const STEPS_TABLE: &str = "ffffffffffff000000000001";

fn small(options: StoreOptions) -> StoreOptions {
    options.maintenance_thread(false).seal_rows(8)
}

fn step(result: &TestResult, number: usize) -> CreateStepRequest {
    let entry = parameter(&[("name", "V"), ("measurement", &format!("{number}.10"))]);
    CreateStepRequest::new()
        .result_id(id_of(result).to_string())
        .name(format!("step {number}"))
        .status(StatusType::Passed)
        .data(StepData::new().parameters([entry]))
}

fn add(session: &Session, result: &TestResult, steps: std::ops::Range<usize>) -> Vec<Step> {
    let steps = steps.map(|number| step(result, number)).collect();
    session.create_steps(steps, false).unwrap().into_result().unwrap().steps
}

fn count(session: &Session, query: QueryStepsRequest) -> u64 {
    session.query_steps(query.take(0_i64).return_count(true)).unwrap().total_count.unwrap()
}

fn all(session: &Session) -> Value {
    write(&session.query_steps(QueryStepsRequest::new().take(100_000_i64)).unwrap())
}

#[test]
fn the_rows_of_steps_are_no_table_of_callers() {
    let store = TestStore::with(small);
    let session = store.session();
    let result = &create(&session, vec![gain("P", "1")])[0];
    add(&session, result, 0..40);
    store.store.maintain(&control()).unwrap();
    let id = TableId::from(STEPS_TABLE);
    assert!(session.list_tables(ListTablesRequest::default()).unwrap().tables.is_empty());
    assert!(session.query_tables(QueryTablesRequest::default()).unwrap().tables.is_empty());
    let absent = |what: &str, error: Error| assert_eq!(error.kind(), ErrorKind::NotFound, "{what}");
    absent("metadata", session.get_table_metadata(&id).unwrap_err());
    absent("rows", session.get_table_data(&id, Default::default()).unwrap_err());
    absent("an append", {
        let rows = json!({ "frame": { "columns": ["result"], "data": [["1"]] } });
        session.append_table_data(&id, request(rows)).unwrap_err()
    });
    absent("an aggregate", {
        let count = json!({ "aggregates": [{ "function": "COUNT" }] });
        session.aggregate_table_data(&id, request(count)).unwrap_err()
    });
    let mut csv = Vec::new();
    let exported = session.export_table_data(&id, Default::default(), &mut csv, &control());
    absent("an export", exported.unwrap_err());
    absent("a deletion", session.delete_table(&id).unwrap_err());
    assert_eq!(count(&session, QueryStepsRequest::new()), 40);
    let quota = json!({ "workspace": result.workspace, "rowsMax": 10 });
    session.set_quota(request(quota)).unwrap();
    let quotas = session.list_quotas(Default::default()).unwrap().quotas;
    assert_eq!(quotas.iter().map(|quota| quota.row_count).collect::<Vec<_>>(), [0]);
    // The bound of rows is one of tables: steps go on.
    add(&session, result, 40..60);
    let own = session.create_table(CreateTableRequest::new([
        Column::new("t", DataType::Int64).column_type(ColumnType::Index)
    ]));
    assert_ne!(own.unwrap().to_string(), STEPS_TABLE);
    store.assert_sound();
}

#[test]
fn copies_of_a_store_have_its_steps() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let options = || small(StoreOptions::default());
    let store = options().open(path("store")).unwrap();
    let session = store.session(Identity::user("ada"));
    let made = create(&session, vec![gain("P", "1"), gain("P", "2")]);
    for result in &made {
        add(&session, result, 0..30);
    }
    store.maintain(&control()).unwrap();
    let change = UpdateStepRequest::new()
        .result_id(id_of(&made[0]).to_string())
        .step_id(session.get_steps(None, Some(1), false).unwrap().steps[0].step_id.clone().unwrap())
        .name("changed after it was sealed");
    session.update_steps(vec![change], false, false, false).unwrap().require_all().unwrap();
    add(&session, &made[1], 30..35);
    let expected = all(&session);
    store.backup(path("backup"), &control()).unwrap();
    let look = options().look(path("store")).unwrap();
    assert_eq!(all(&look.session(Identity::user("bob"))), expected);
    drop(look);
    drop(session);
    store.close().unwrap();
    Store::restore(path("backup"), path("restored"), &control()).unwrap();
    let report = Store::salvage(path("store"), path("salvaged"), &control()).unwrap();
    assert!(report.is_complete(), "{report:?}");
    for copy in ["backup", "restored", "salvaged"] {
        let store = options().open(path(copy)).unwrap();
        let session = store.session(Identity::user("ada"));
        assert_eq!(all(&session), expected, "{copy}");
        let report = store.verify(VerifyLevel::Checksums, &control()).unwrap();
        assert_eq!(report.findings, [], "{copy}");
        // The copy goes on where the store was.
        let more = add(&session, &made[0], 30..31);
        assert!(
            expected["steps"]
                .as_array()
                .unwrap()
                .iter()
                .all(|known| { known["stepId"] != write(&more[0].step_id) })
        );
    }
}

#[test]
fn a_result_with_its_steps_is_one_commit_with_one_sync() {
    let disk = SimDisk::new(1);
    let options = small(StoreOptions::default().seed(Some(1)));
    let store = options.open_disk(Arc::new(disk.clone())).unwrap();
    let session = store.session(Identity::user("ada"));
    create(&session, vec![gain("P", "0")]);
    let before = disk.trace().len();
    session
        .transaction(|tx| {
            let made = tx.create_results(vec![gain("P", "1")])?.into_result()?.results;
            let steps = (0..50).map(|number| step(&made[0], number)).collect();
            tx.create_steps(steps, true)?.into_result().map(drop)
        })
        .unwrap();
    let trace = disk.trace();
    let syncs: Vec<_> = trace[before..]
        .iter()
        .filter(|entry| matches!(entry.kind, OpKind::Sync | OpKind::SyncDir))
        .collect();
    assert_eq!(syncs.len(), 1, "{syncs:?}");
    assert_eq!(count(&session, QueryStepsRequest::new()), 50);
}

#[test]
fn a_call_tells_one_event_for_each_result_whose_steps_it_changes() {
    let store = TestStore::with(small);
    let session = store.session();
    let made = create(&session, vec![gain("P", "1"), gain("P", "2")]);
    let mut feed = session.changes(Position(0));
    let mut events = || {
        let mut told = Vec::new();
        while let Some(event) = feed.poll().unwrap() {
            let detail = event.detail.map(|detail| detail.to_string()).unwrap_or_default();
            told.push(format!("{} {} {} {detail}", event.kind, event.what, event.id));
        }
        told
    };
    assert!(events().iter().all(|event| !event.starts_with("test step")));
    let (one, other) = (id_of(&made[0]), id_of(&made[1]));
    let told = |id: &TestResultId, created, updated, deleted| {
        let detail = json!({ "created": created, "deleted": deleted, "updated": updated });
        format!("test step STEPS_CHANGED {id} {detail}")
    };
    let steps = [0, 1, 2].map(|number| step(&made[0], number)).into_iter();
    let steps = steps.chain([step(&made[1], 0).step_id("s")]).collect();
    session.create_steps(steps, false).unwrap().require_all().unwrap();
    let mut expected = vec![told(&one, 3, 0, 0), told(&other, 1, 0, 0)];
    expected.sort();
    let mut found = events();
    found.sort();
    assert_eq!(found, expected);
    let change = UpdateStepRequest::new().result_id(other.to_string()).step_id("s").name("n");
    session.update_steps(vec![change], false, false, false).unwrap().require_all().unwrap();
    assert_eq!(events(), [told(&other, 0, 1, 0)]);
    session.delete_step(&other, "s", false).unwrap();
    assert_eq!(events(), [told(&other, 0, 0, 1)]);
    session.delete_result(&one, false).unwrap();
    assert_eq!(
        events(),
        [format!("test result DELETED {one} "), format!("test step CREATED {one} ")]
    );
}

#[test]
fn a_call_deletes_the_sealed_and_the_other_steps_of_many_results() {
    let store = TestStore::with(small);
    let session = store.session();
    let made = create(&session, (0..12).map(|at| gain("P", &at.to_string())).collect());
    for result in &made {
        add(&session, result, 0..10);
    }
    store.store.maintain(&control()).unwrap();
    for result in &made[..6] {
        add(&session, result, 10..13);
    }
    let mut ids: Vec<TestResultId> = made[2..10].iter().map(id_of).collect();
    ids.insert(3, "unknown".into());
    let answer = session.delete_results(ids, true).unwrap().unwrap();
    assert_eq!((answer.ids.len(), answer.failed.map(|failed| failed.len())), (8, Some(1)));
    assert_eq!(count(&session, QueryStepsRequest::new()), 2 * 13 + 2 * 10);
    for result in &made {
        let of = QueryStepsRequest::new().filter("resultId == @0");
        let is_left = session.get_result(&id_of(result)).is_ok();
        let steps = count(&session, of.substitutions([id_of(result).to_string()]));
        assert_eq!(steps > 0, is_left, "{result:?}");
    }
    store.assert_sound();
    store.store.maintain(&control()).unwrap();
    let left = all(&session);
    store.assert_sound();
    drop(session);
    assert_eq!(all(&store.reopen().session()), left);
}

#[test]
fn calls_of_one_transaction_see_the_steps_of_each_other() {
    let store = TestStore::with(small);
    let session = store.session();
    let result = &create(&session, vec![gain("P", "1")])[0];
    add(&session, result, 0..20);
    store.store.maintain(&control()).unwrap();
    let first = first_of(&session, result);
    session
        .transaction(|tx| {
            let new = |id: &str| step(result, 0).step_id(id);
            tx.create_steps(vec![new("a"), step(result, 21)], false)?.require_all()?;
            // Nothing stored is named, and something drafted before is.
            tx.create_steps(vec![step(result, 22)], true)?.require_all()?;
            tx.create_steps(vec![new("b").parent_id("a")], false)?.require_all()?;
            let taken = tx.create_steps(vec![new("a")], false)?;
            assert_eq!(taken.failed.map(|failed| failed.len()), Some(1));
            let change = UpdateStepRequest::new().result_id(id_of(result).to_string());
            let change = change.step_id(first.clone()).status(StatusType::Failed);
            tx.update_steps(vec![change.clone()], false, false, false)?.require_all()?;
            tx.update_steps(vec![change.name("twice")], false, false, false)?.require_all()?;
            let pair = StepIdResultIdPair::new("b", id_of(result).to_string());
            assert_eq!(tx.delete_steps(vec![pair], false)?, None);
            Ok(())
        })
        .unwrap();
    assert_eq!(count(&session, QueryStepsRequest::new()), 23);
    let step = session.get_step(&id_of(result), &first).unwrap();
    assert_eq!((step.name.as_deref(), step.has_children), (Some("twice"), Some(false)));
    let summary = session.get_result(&id_of(result)).unwrap().status_type_summary.unwrap();
    assert_eq!((summary.passed, summary.failed), (22, 1));
    let a = session.get_step(&id_of(result), "a").unwrap();
    assert_eq!(a.has_children, Some(false));
    store.assert_sound();
}

/// Ends a thread.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn changes_beside_seals_and_merges_are_kept() {
    let store = TestStore::with(small);
    let session = store.session();
    let made = create(&session, (0..4).map(|at| gain("P", &at.to_string())).collect());
    let mut names: Vec<BTreeMap<String, String>> = Vec::new();
    for result in &made {
        let steps = add(&session, result, 0..60).into_iter();
        names.push(steps.map(|step| (step.step_id.unwrap(), step.name.unwrap())).collect());
    }
    store.store.maintain(&control()).unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let maintaining = scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                store.store.maintain(&control()).unwrap();
            }
        });
        // Also if a change fails.
        let end = End(&is_done);
        for round in 0..600 {
            let at = round % made.len();
            let ids: Vec<String> = names[at].keys().cloned().collect();
            let id = ids[round * 7 % ids.len()].clone();
            let result_id = id_of(&made[at]).to_string();
            if round % 5 == 4 {
                session.delete_step(&id_of(&made[at]), &id, false).unwrap();
                names[at].remove(&id);
                let new = add(&session, &made[at], round..round + 1).remove(0);
                names[at].insert(new.step_id.unwrap(), new.name.unwrap());
            } else {
                let name = format!("changed in {round}");
                let change = UpdateStepRequest::new().result_id(result_id).step_id(id.clone());
                let change = vec![change.name(name.clone())];
                session.update_steps(change, false, false, false).unwrap().require_all().unwrap();
                names[at].insert(id, name);
            }
        }
        drop(end);
        maintaining.join().unwrap();
    });
    store.store.maintain(&control()).unwrap();
    for (result, names) in made.iter().zip(&names) {
        let found = steps_of(&session, &id_of(result)).into_iter();
        let found: BTreeMap<String, String> =
            found.map(|step| (step.step_id.unwrap(), step.name.unwrap())).collect();
        assert_eq!(found, *names);
    }
    assert_eq!(count(&session, QueryStepsRequest::new()), 240);
    store.assert_sound();
}

#[test]
fn a_call_answers_with_the_steps_that_it_made() {
    let store = TestStore::with(small);
    let session = store.session();
    let result = &create(&session, vec![gain("P", "1")])[0];
    add(&session, result, 0..3);
    // The first needs no look at the stored steps, the second does.
    let steps = vec![step(result, 7), step(result, 8).step_id("chosen"), step(result, 9)];
    let made = session.create_steps(steps, false).unwrap().into_result().unwrap().steps;
    let names: Vec<_> = made.iter().filter_map(|step| step.name.as_deref()).collect();
    assert_eq!(names, ["step 7", "step 8", "step 9"]);
    assert_eq!(count(&session, QueryStepsRequest::new()), 6);
    store.assert_sound();
}

#[test]
fn steps_have_a_hundred_levels_however_they_are_named() {
    let store = TestStore::with(small);
    let session = store.session();
    let made = create(&session, vec![gain("P", "1"), gain("P", "2")]);
    let named = |result: &TestResult, at: usize| {
        let new = step(result, at).step_id(format!("s{at}"));
        if at == 0 { new } else { new.parent_id(format!("s{}", at - 1)) }
    };
    let outcome = |steps: Vec<CreateStepRequest>| {
        let answer = session.create_steps(steps, false).unwrap();
        (answer.steps.len(), answer.failed.map_or(0, |failed| failed.len()))
    };
    // Of those that are refused, the next one is below a step that is not there.
    let chain: Vec<_> = (0..101).map(|at| named(&made[0], at)).collect();
    assert_eq!(outcome(chain), (100, 1));
    let mut chain: Vec<_> = (0..101).map(|at| named(&made[1], at)).collect();
    chain.reverse();
    assert_eq!(outcome(chain), (100, 1));
    let change = UpdateStepRequest::new().result_id(id_of(&made[0]).to_string());
    let top = session.create_steps(vec![step(&made[0], 0).step_id("top")], false).unwrap();
    assert_eq!(top.steps.len(), 1);
    let moved =
        session.update_steps(vec![change.step_id("s0").parent_id("top")], false, false, false);
    assert_eq!(moved.unwrap().failed.unwrap().len(), 1);
    store.assert_sound();
}

#[test]
fn large_steps_of_one_call_and_steps_that_grow_are_stored() {
    let store = TestStore::with(small);
    let session = store.session();
    let result = &create(&session, vec![gain("P", "1")])[0];
    let text = |bytes: usize| vec![NamedValue::new("text", json!("x".repeat(bytes)))];
    let large = |number: usize, bytes: usize| {
        let mut large = step(result, number);
        large.inputs = Some(text(bytes));
        large
    };
    let steps = (0..64).map(|number| large(number, 70_000)).chain([large(64, 2_500_000)]);
    let steps = steps.chain([large(65, 2_500_000)]).collect();
    let made = session.create_steps(steps, false).unwrap().into_result().unwrap().steps;
    let refused = session.create_steps(vec![large(66, 4 << 20)], false).unwrap();
    assert_eq!(refused.failed.map(|failed| failed.len()), Some(1));
    let small: Vec<Step> = add(&session, result, 70..100);
    let grown: Vec<_> = small
        .iter()
        .map(|step| {
            let change = UpdateStepRequest::new().result_id(id_of(result).to_string());
            change.step_id(step.step_id.clone().unwrap()).inputs(text(200_000))
        })
        .collect();
    session.update_steps(grown, false, false, false).unwrap().require_all().unwrap();
    for _ in 0..2 {
        for step in made.iter().chain(&small) {
            let found = session.get_step(&id_of(result), step.step_id.as_ref().unwrap()).unwrap();
            assert_eq!(found.name, step.name);
        }
        assert_eq!(count(&session, QueryStepsRequest::new()), 96);
        store.store.maintain(&control()).unwrap();
    }
    store.assert_sound();
}

#[test]
fn an_id_that_will_be_generated_is_refused() {
    let store = TestStore::with(small);
    let session = store.session();
    let result = &create(&session, vec![gain("P", "1")])[0];
    let made = add(&session, result, 0..2);
    let id = |at: usize| made[at].step_id.clone().unwrap();
    let later = format!("{}{}", &id(1)[..35], "9");
    assert!(id(1).ends_with('1'), "{}", id(1));
    for refused in [
        step(result, 0).step_id(later.clone()),
        step(result, 0).parent_id(later.clone()),
        step(result, 0).children([step(result, 1).step_id(later.clone())]),
    ] {
        let answer = session.create_steps(vec![refused], false).unwrap();
        let error = answer.error.unwrap().inner_errors[0].message.clone().unwrap();
        assert!(error.contains("choose another"), "{error}");
    }
    let change = UpdateStepRequest::new().result_id(id_of(result).to_string()).step_id(id(0));
    let moved = session.update_steps(vec![change.parent_id(later)], false, false, false).unwrap();
    assert_eq!(moved.failed.unwrap().len(), 1);
    // The id of the result itself, and those of its steps, are no such ids.
    let own = step(result, 3).step_id(id_of(result).to_string()).parent_id(id(0));
    session.create_steps(vec![own], false).unwrap().require_all().unwrap();
    session.delete_step(&id_of(result), &id(1), false).unwrap();
    let again = step(result, 4).step_id(id(1));
    session.create_steps(vec![again], false).unwrap().require_all().unwrap();
    assert_eq!(count(&session, QueryStepsRequest::new()), 3);
}

#[test]
fn a_result_with_many_steps_is_read_page_by_page() {
    let store = TestStore::with(|options| options.maintenance_thread(false).seal_rows(2_000));
    let session = store.session();
    let made = create(&session, vec![gain("P", "1"), gain("P", "2"), gain("P", "3")]);
    let large = &made[1];
    let mut ids: Vec<String> = Vec::new();
    for result in &made {
        let batches = if result.id == large.id { 12 } else { 1 };
        for batch in 0..batches {
            let steps = add(&session, result, batch * 500..(batch + 1) * 500);
            if result.id == large.id {
                ids.extend(steps.into_iter().filter_map(|step| step.step_id));
            }
        }
        store.store.maintain(&control()).unwrap();
    }
    let change = |ids: &[String], at: usize| {
        let change = UpdateStepRequest::new().result_id(id_of(large).to_string());
        let change = change.step_id(ids[at].clone()).name("changed");
        session.update_steps(vec![change], false, false, false).unwrap().require_all().unwrap();
    };
    for at in [0, 63, 64, 1_000, 1_001, 1_003, 2_999, 5_999] {
        change(&ids, at);
    }
    let gone = ids.remove(2_000);
    session.delete_step(&id_of(large), &gone, false).unwrap();
    let of_large = QueryStepsRequest::new().filter(format!("resultId == \"{}\"", id_of(large)));
    for take in [100_i64, 999] {
        let mut query = of_large.clone().take(take);
        let mut seen = Vec::new();
        loop {
            let page = session.query_steps(query.clone()).unwrap();
            seen.extend(page.steps.into_iter().filter_map(|step| step.step_id));
            query.continuation_token = page.continuation_token;
            if query.continuation_token.is_none() {
                break;
            }
            change(&ids, seen.len() / 2);
        }
        assert!(seen == ids, "pages of {take}");
        store.store.maintain(&control()).unwrap();
    }
    assert_eq!(count(&session, of_large), 5_999);
    assert_eq!(count(&session, QueryStepsRequest::new()), 6_999);
    store.assert_sound();
}

#[test]
fn a_walk_sees_each_unchanged_step_once_while_steps_are_written_and_sealed() {
    for order in [None, Some(StepOrderBy::Name), Some(StepOrderBy::StartedAt)] {
        let mut store = TestStore::with(small);
        let mut session = store.session();
        let made = create(&session, (0..6).map(|at| gain("P", &at.to_string())).collect());
        for result in &made {
            add(&session, result, 0..20);
        }
        let touched: BTreeMap<String, String> = session
            .query_steps(QueryStepsRequest::new().filter("name == \"step 7\""))
            .unwrap()
            .steps
            .into_iter()
            .map(|step| (step.step_id.unwrap(), step.result_id.unwrap()))
            .collect();
        let before: BTreeSet<String> = session
            .get_steps(None, Some(1_000), false)
            .unwrap()
            .steps
            .into_iter()
            .filter_map(|step| step.step_id)
            .collect();
        let mut query = QueryStepsRequest::new().take(7_i64);
        query.order_by = order;
        let (mut seen, mut round) = (BTreeMap::<String, usize>::new(), 0);
        loop {
            let page = session.query_steps(query.clone()).unwrap();
            for step in page.steps {
                *seen.entry(step.step_id.unwrap()).or_default() += 1;
            }
            query.continuation_token = page.continuation_token;
            if query.continuation_token.is_none() {
                break;
            }
            round += 1;
            match round % 4 {
                0 => drop(store.store.maintain(&control()).unwrap()),
                1 => drop(add(&session, &made[round % 6], 20..22)),
                2 => {
                    let (step_id, result_id) = touched.iter().nth(round % touched.len()).unwrap();
                    let change = UpdateStepRequest::new().result_id(result_id).step_id(step_id);
                    let changes = vec![change.name(format!("step 7 of {round}"))];
                    let changed = session.update_steps(changes, false, false, false).unwrap();
                    changed.require_all().unwrap();
                }
                _ => {
                    drop(session);
                    store = store.reopen();
                    session = store.session();
                }
            }
        }
        for id in before.iter().filter(|id| !touched.contains_key(*id)) {
            assert_eq!(seen.get(id), Some(&1), "{order:?}: {id} after {round} pages");
        }
        assert!(round > 10, "{round}");
    }
}

#[test]
fn a_result_that_moves_to_another_workspace_takes_its_steps_along_at_once() {
    let store = TestStore::with(|options| {
        small(options).access_policy(Rule(|who, _, _| match who.user_id() {
            "guest" => Visibility::workspaces(["open"]),
            _ => Visibility::All,
        }))
    });
    let (session, guest) = (store.session(), store.store.session(Identity::user("guest")));
    let made = create(&session, vec![gain("P", "1").workspace("open"), gain("P", "2")]);
    for result in &made {
        add(&session, result, 0..20);
    }
    store.store.maintain(&control()).unwrap();
    let seen = |session: &Session| {
        let values = QueryStepValuesRequest::new().field(StepField::Name);
        let paths = session.get_paths(None, None, true).unwrap();
        (
            count(session, QueryStepsRequest::new()),
            count(session, QueryStepsRequest::new().filter("name == \"step 3\"")),
            session.query_step_values(values).unwrap().len(),
            paths.total_count,
            session.get_step(&id_of(&made[1]), &first_of(&store.session(), &made[1])).is_ok(),
        )
    };
    assert_eq!(seen(&session), (40, 2, 20, Some(20), true));
    assert_eq!(seen(&guest), (20, 1, 20, Some(20), false));
    let bytes = file_bytes(&store);
    let open = UpdateResultRequest::new().id(id_of(&made[1]).to_string()).workspace("open");
    session.update_results(vec![open], false, false).unwrap().require_all().unwrap();
    assert_eq!(seen(&guest), (40, 2, 20, Some(20), true));
    assert_eq!(file_bytes(&store), bytes, "nothing is rewritten");
    let answered = guest.get_steps(None, Some(100), false).unwrap().steps;
    assert!(answered.iter().all(|step| step.workspace.as_deref() == Some("open")));
    let hidden = UpdateResultRequest::new().id(id_of(&made[0]).to_string()).workspace("closed");
    session.update_results(vec![hidden], false, false).unwrap().require_all().unwrap();
    assert_eq!(seen(&guest), (20, 1, 20, Some(20), true));
    let refused = guest.delete_step(&id_of(&made[0]), &first_of(&session, &made[0]), false);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::NotFound);
}

fn file_bytes(store: &TestStore) -> u64 {
    store.store.verify(VerifyLevel::Headers, &control()).unwrap().file_bytes
}

fn first_of(session: &Session, result: &TestResult) -> String {
    steps_of(session, &id_of(result))[0].step_id.clone().unwrap()
}

#[test]
fn steps_of_a_page_and_of_a_sort_stay_within_the_memory_of_a_query() {
    let store = TestStore::with(|options| small(options).query_memory_bytes(1 << 20));
    let session = store.session();
    let result = &create(&session, vec![gain("P", "1")])[0];
    for number in 0..30 {
        let mut large = step(result, number);
        large.inputs = Some(vec![NamedValue::new("text", json!("x".repeat(60_000)))]);
        session.create_steps(vec![large], false).unwrap().require_all().unwrap();
    }
    for sealed in [false, true] {
        for order in [None, Some(StepOrderBy::Name)] {
            let mut query = QueryStepsRequest::new();
            query.order_by = order;
            let error = session.query_steps(query.clone()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{sealed} {order:?}");
            assert!(error.message().contains("query_memory_bytes"), "{error}");
            assert_eq!(session.query_steps(query.take(5_i64)).unwrap().steps.len(), 5);
        }
        store.store.maintain(&control()).unwrap();
    }
}

#[test]
fn many_names_long_names_and_many_parameters_work() {
    let store = TestStore::with(|options| options.maintenance_thread(false).seal_rows(1_000));
    let session = store.session();
    let result = &create(&session, vec![gain("P", "1")])[0];
    let parameters = |count: usize, name: &dyn Fn(usize) -> String| {
        let entry = |at: usize| parameter(&[("name", &name(at)), ("measurement", &at.to_string())]);
        StepData::new().parameters((0..count).map(entry).collect::<Vec<_>>())
    };
    let long = "n".repeat(1_024);
    let steps = vec![
        step(result, 0).data(parameters(10_000, &|at| format!("measurement {at}"))),
        step(result, 1).name(long.clone()).data(parameters(3, &|at| format!("{at}{long}"))),
        step(result, 2).data(parameters(100_000, &|_| "v".to_owned())),
    ];
    let made = session.create_steps(steps, false).unwrap().into_result().unwrap().steps;
    let more = session
        .create_steps(vec![step(result, 3).data(parameters(100_001, &|_| "v".to_owned()))], false);
    assert_eq!(more.unwrap().failed.unwrap().len(), 1);
    for _ in 0..2 {
        for step in &made {
            let found = session.get_step(&id_of(result), step.step_id.as_ref().unwrap()).unwrap();
            assert!(found == *step);
        }
        let filter = "data.parameters.Any(name == \"measurement 9999\")";
        assert_eq!(count(&session, QueryStepsRequest::new().filter(filter)), 1);
        store.store.maintain(&control()).unwrap();
    }
    store.assert_sound();
}

#[test]
fn maintenance_gives_the_space_of_deleted_results_back() {
    let store = TestStore::with(|options| options.maintenance_thread(false).seal_rows(1_000));
    let session = store.session();
    let mut ids = Vec::new();
    for round in 0..20 {
        let requests = (0..10).map(|at| gain("P", &format!("{round} {at}"))).collect();
        for result in create(&session, requests) {
            add(&session, &result, 0..30);
            ids.push(id_of(&result));
        }
        store.store.maintain(&control()).unwrap();
    }
    let before = file_bytes(&store);
    let (gone, kept) = ids.split_at(150);
    session.delete_results(gone.to_vec(), true).unwrap();
    assert_eq!(count(&session, QueryStepsRequest::new()), 50 * 30);
    store.store.maintain(&control()).unwrap();
    let after = file_bytes(&store);
    assert!(after * 2 < before, "{before} bytes became {after}");
    assert_eq!(count(&session, QueryStepsRequest::new()), 50 * 30);
    session
        .get_step(&kept[0], &first_of(&session, &session.get_result(&kept[0]).unwrap()))
        .unwrap();
    store.assert_sound();
}
