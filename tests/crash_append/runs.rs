//! Runs in progress, results that come with their steps and tables, and results that go by a
//! retention. A step whose call returned is there after a power cut, and its run is listed.

use crate::prelude::*;
use stationdb::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use stationdb::results::{
    CreateResultRequest, CreateStepRequest, KeepResults, QueryResultsRequest, QueryStepsRequest,
    ResultRetention, ResultService, ResultTable, ResultWithSteps, Run, StatusType,
};
use stationdb::tables::CreateTableRequest;

struct Runs;

/// The run that is in progress.
fn with_run<T>(store: &Store, f: impl FnOnce(Run) -> Result<T, Error>) -> Result<T, Error> {
    let session = ada(store);
    let left = session.unfinished_runs()?.remove(0);
    f(Run::resume(&session, &left.id.unwrap())?)
}

fn table(rows: i64) -> ResultTable {
    let columns = [Column::new("t", DataType::Int64).column_type(ColumnType::Index)];
    let rows = Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef;
    ResultTable::new(CreateTableRequest::new(columns))
        .batch(RecordBatch::try_from_iter([("t", rows)]).unwrap())
}

fn finished(serial: &str, steps: usize) -> ResultWithSteps {
    let result = CreateResultRequest::new()
        .part_number("P")
        .program_name("Gain")
        .serial_number(serial)
        .status(StatusType::Passed);
    let step = |at: usize| {
        let inner = CreateStepRequest::new().name("inner").status(StatusType::Failed);
        CreateStepRequest::new()
            .name(format!("{serial} {at}"))
            .status(StatusType::Passed)
            .children(vec![inner])
    };
    ResultWithSteps::new(result).steps((0..steps).map(step)).table(table(3))
}

impl Steps for Runs {
    fn options(&self) -> StoreOptions {
        options().seal_rows(6).clock(ManualClock::new(Default::default()))
    }

    fn steps(&self) -> Vec<Step> {
        let maintain: Step = (MAINTAIN, |store| store.maintain(&Control::default()).map(|_| ()));
        vec![
            ("a run begins", |store| Run::begin("P", "SN", "Gain").start(&ada(store)).map(drop)),
            ("a step", |store| {
                with_run(store, |run| {
                    run.step("Power").measure("V", 12.01, "V").limits(11, 13).finish().map(drop)
                })
            }),
            ("a sequence begins", |store| with_run(store, |run| run.sequence("Outer").map(drop))),
            ("a step within it", |store| {
                with_run(store, |run| {
                    let open = run.open_sequences()?;
                    let outer = run.resume_sequence(open[0].step_id.as_deref().unwrap())?;
                    outer.step("Inner").measure("V", 1, "V").at_least(2).finish().map(drop)
                })
            }),
            (REOPEN, |_| Ok(())),
            ("more steps", |store| {
                with_run(store, |run| run.step("After the restart").text("x").finish().map(drop))
            }),
            maintain,
            ("a table of the run", |store| {
                let columns = [Column::new("t", DataType::Int64).column_type(ColumnType::Index)];
                with_run(store, |run| run.create_table(CreateTableRequest::new(columns)).map(drop))
            }),
            ("the run ends", |store| with_run(store, |run| run.finish().map(drop))),
            ("results with steps and tables", |store| {
                let all = [finished("1", 4), finished("2", 3), finished("3", 2)];
                ada(store).append_results(&all)?.require_all()
            }),
            maintain,
            ("one of a batch is refused", |store| {
                let refused = ResultWithSteps::new(CreateResultRequest::new()).table(table(2));
                let answer = ada(store).append_results(&[refused, finished("4", 5)])?;
                assert_eq!(
                    (answer.results.len(), answer.failed.map(|all| all.len())),
                    (1, Some(1))
                );
                Ok(())
            }),
            ("results go by a retention", |store| {
                let policy = ResultRetention::new([
                    KeepResults::new().statuses([StatusType::Terminated]),
                    KeepResults::new().newest_of_product(1),
                ]);
                let session = ada(store);
                session.apply_result_retention(policy, false, &Control::default()).map(drop)
            }),
            maintain,
        ]
    }

    fn observe(&self, store: &Store) -> Result<Observation, Error> {
        let session = ada(store);
        let mut seen = Observation::new();
        // Without the times of runs, which are those of the clock of the machine.
        for result in session.query_results(QueryResultsRequest::new())?.results {
            let text = format!(
                "{:?} {:?} {:?} {:?}",
                result.status, result.properties, result.data_table_ids, result.status_type_summary
            );
            seen.insert(format!("result {:?}", result.serial_number), text);
        }
        for step in session.query_steps(QueryStepsRequest::new())?.steps {
            let key = format!("step {:?} {:?}", step.result_id, step.step_id);
            let text = format!("{:?} {:?} {:?}", step.path_ids, step.status, step.data);
            seen.insert(key, text);
        }
        let left = session.unfinished_runs()?;
        seen.insert("unfinished".to_owned(), format!("{:?}", left.len()));
        for table in session.list_tables(ListTablesRequest::default())?.tables {
            let text = format!("{:?} {:?}", table.test_result_id, table.row_count);
            seen.insert(format!("table {:?}", table.id), text);
        }
        Ok(seen)
    }
}

#[test]
fn every_change_of_a_run_can_be_the_last() {
    must_hold_with("runs", &Sequence::new(Runs), "crash_draws_long");
}

#[test]
fn the_nth_operation_of_a_run_fails() {
    errors::operations_fail("runs", &Sequence::new(Runs), 40);
}

#[test]
fn removed_barriers_of_a_run_are_found() {
    let journal = Pick::kind(OpKind::Sync).on_path("journal");
    crate::must_fail("every sync of the journal", &Sequence::new(Runs), journal);
}
