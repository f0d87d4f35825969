//! Test results and their steps: a run step by step, steps that are sealed, changed and merged, and
//! a result in one transaction with rows and a file.

use crate::prelude::*;
use stationdb::results::{
    CreateResultRequest, CreateStepRequest, QueryResultsRequest, QueryStepsRequest, ResultService,
    StatusType, StepData, StepIdResultIdPair, UpdateStepRequest,
};

use crate::tables::{append, create as create_table};

struct Results;

fn create(results: &dyn ResultService, program: &str) -> Result<String, Error> {
    let request = CreateResultRequest::new().program_name(program).status(StatusType::Running);
    let made = results.create_results(vec![request])?;
    assert_eq!(made.results.len(), 1, "{made:?}");
    Ok(made.results[0].id.as_ref().map(ToString::to_string).unwrap_or_default())
}

fn id_of(store: &Store, program: &str) -> Result<String, Error> {
    let query = QueryResultsRequest::new().filter(format!("programName == \"{program}\""));
    let found = ada(store).query_results(query)?.results;
    let id = found.first().and_then(|result| result.id.as_ref());
    Ok(id.map(ToString::to_string).unwrap_or_default())
}

fn step(result: &str, id: &str, status: StatusType) -> CreateStepRequest {
    let parameter = [("name", "VOUT"), ("measurement", "3.10"), ("other", id)];
    let parameter = parameter.map(|(key, text)| (key.to_owned(), text.to_owned()));
    let parameters = vec![parameter.into_iter().collect::<BTreeMap<_, _>>(); 2];
    CreateStepRequest::new()
        .result_id(result)
        .step_id(id)
        .name(format!("name {id}"))
        .status(status)
        .data(StepData::new().parameters(parameters))
}

fn create_steps(
    results: &dyn ResultService,
    result: &str,
    steps: &[&str],
    status: StatusType,
) -> Result<(), Error> {
    let steps: Vec<_> = steps.iter().map(|id| step(result, id, status)).collect();
    let count = steps.len();
    let made = results.create_steps(steps, true)?;
    assert_eq!(made.steps.len(), count, "{made:?}");
    Ok(())
}

impl Steps for Results {
    fn options(&self) -> StoreOptions {
        options().seal_rows(8).small_blob_bytes(1000).clock(ManualClock::new(Default::default()))
    }

    fn steps(&self) -> Vec<Step> {
        fn add(store: &Store, program: &str, steps: &[&str]) -> Result<(), Error> {
            create_steps(&ada(store), &id_of(store, program)?, steps, StatusType::Passed)
        }
        fn update(store: &Store, program: &str, change: UpdateStepRequest) -> Result<(), Error> {
            let change = change.result_id(id_of(store, program)?);
            let changed = ada(store).update_steps(vec![change], true, false, false)?;
            assert_eq!(changed.steps.len(), 1, "{changed:?}");
            Ok(())
        }
        vec![
            ("a run", |store| create(&ada(store), "run").map(|_| ())),
            ("its first step", |store| add(store, "run", &["a"])),
            ("a result with its steps", |store| {
                ada(store).transaction(|tx| {
                    let id = create(tx, "whole")?;
                    create_steps(tx, &id, &["a", "b", "c"], StatusType::Failed)
                })
            }),
            ("a step and a child", |store| {
                let id = id_of(store, "run")?;
                let mut parent = step(&id, "b", StatusType::Passed);
                parent.children = Some(vec![step(&id, "child", StatusType::Failed)]);
                ada(store).create_steps(vec![parent], false).map(|_| ())
            }),
            (MAINTAIN, |store| store.maintain(&Control::default()).map(|_| ())),
            ("a step that was sealed changes", |store| {
                update(store, "run", UpdateStepRequest::new().step_id("a").name("changed"))
            }),
            (REOPEN, |_| Ok(())),
            ("more steps", |store| add(store, "run", &["d", "e", "f", "g"])),
            ("a result, its steps, rows and a file", |store| {
                ada(store).transaction(|tx| {
                    let id = create(tx, "all")?;
                    create_steps(tx, &id, &["x"], StatusType::Passed)?;
                    let table = create_table(tx, "samples")?;
                    append(tx, &table, 0..10, false)?;
                    upload(tx, "picture", 5_000)
                })
            }),
            (MAINTAIN, |store| store.maintain(&Control::default()).map(|_| ())),
            ("a moved step takes its child along", |store| {
                update(store, "run", UpdateStepRequest::new().step_id("b").parent_id("d"))
            }),
            ("a step is deleted", |store| {
                let pair = StepIdResultIdPair::new("c", id_of(store, "whole")?);
                ada(store).delete_steps(vec![pair], true).map(|_| ())
            }),
            ("a result goes, its steps stay", |store| {
                ada(store).delete_result(&id_of(store, "all")?.into(), false)
            }),
            ("a result goes with its steps", |store| {
                ada(store).delete_result(&id_of(store, "whole")?.into(), true)
            }),
            (MAINTAIN, |store| store.maintain(&Control::default()).map(|_| ())),
        ]
    }

    fn more_files(&self) -> usize {
        4
    }

    fn observe(&self, store: &Store) -> Result<Observation, Error> {
        let session = ada(store);
        let mut seen = Observation::new();
        observe_files(store, &mut seen)?;
        for result in session.query_results(QueryResultsRequest::new())?.results {
            let id = result.id.as_ref().map(ToString::to_string).unwrap_or_default();
            seen.insert(format!("result {id}"), serde_json::to_string(&result).unwrap());
        }
        let all = session.query_steps(QueryStepsRequest::new().return_count(true))?;
        assert_eq!(all.total_count, Some(all.steps.len() as u64));
        for step in all.steps {
            let (result, id) = (step.result_id.clone().unwrap(), step.step_id.clone().unwrap());
            // One by one, as they are found by their result.
            assert_eq!(session.get_step(&result.as_str().into(), &id)?, step);
            seen.insert(format!("step {id} of {result}"), serde_json::to_string(&step).unwrap());
        }
        // By a pass over columns, and by what the store counts.
        let failed = QueryStepsRequest::new()
            .filter("status.statusType == \"FAILED\"")
            .take(0_i64)
            .return_count(true);
        seen.insert("failed".to_owned(), format!("{:?}", session.query_steps(failed)?.total_count));
        let tables = session.list_tables(ListTablesRequest::default())?.tables.len();
        seen.insert("tables".to_owned(), tables.to_string());
        Ok(seen)
    }
}

#[test]
fn every_change_of_results_can_be_the_last() {
    must_hold_with("results", &Sequence::new(Results), "crash_draws_long");
}

#[test]
fn the_nth_operation_of_results_fails() {
    errors::operations_fail("results", &Sequence::new(Results), 40);
}

#[test]
fn one_wrong_bit_under_results_is_never_a_wrong_answer() {
    flips::one_bit_is_wrong("results", &Sequence::new(Results), 300);
}
