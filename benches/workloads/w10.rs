//! W10: test results with measured steps. They are loaded, read, queried, changed and deleted; the
//! store is opened after a kill. `BENCH_RESULTS` results of `BENCH_STEPS` steps.
//!
//! The peers are in `benches/peers/w10.py`, which reads the values and the answers that this leaves
//! in `BENCH_DATA`, and compares its own answers with them. Figures of results are among them.

mod answers;
mod figures;
pub mod killed;
mod rows;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use stationdb::prelude::*;
use stationdb::results::{
    QueryResultsRequest, QueryStepsRequest, ResultOrderBy, ResultWithSteps, Step, StepOrderBy,
    TestResultId, UpdateStepRequest,
};
use stationdb::{Control, Identity, Session, Store};

use crate::common::{Res, Scale, bytes_below, hash, quantile, timed};
use crate::measurements::{repeat, with_peak_memory};
use answers::{Answers, PAGE, PART};
use figures::Figures;
use rows::{Rows, moment, part_number, step_name};

/// Results of one commit of the load.
const BATCH: u64 = 100;
/// Threads that commit results one by one.
const THREADS: u64 = 8;
/// Changed steps, deleted results, and random reads of each kind.
const CHANGES: u64 = 200;
const READS: u64 = 2_000;
/// Rows in chunks at which the small form seals them, so that it has sealed rows too.
const SMALL_SEAL_ROWS: u64 = 4_000;

fn options(scale: &Scale) -> stationdb::StoreOptions {
    let options = Store::options();
    if scale.is_small() { options.seal_rows(SMALL_SEAL_ROWS) } else { options }
}

fn session(store: &Store) -> Session {
    store.session(Identity::user("bench"))
}

/// Stores results with their steps in one commit. Returns their ids.
fn append(session: &Session, rows: &Rows, results: &[u64]) -> Res<Vec<TestResultId>> {
    append_made(session, &results.iter().map(|result| made(rows, *result)).collect::<Vec<_>>())
}

fn made(rows: &Rows, result: u64) -> ResultWithSteps {
    ResultWithSteps::new(rows.result(result)).steps(rows.steps_of(result))
}

fn append_made(session: &Session, results: &[ResultWithSteps]) -> Res<Vec<TestResultId>> {
    let made = session.append_results(results)?.into_result()?.results;
    Ok(made.into_iter().map(|result| result.id.unwrap_or_default()).collect())
}

/// Runs the workload.
pub fn run(scale: &Scale) -> Res<()> {
    let rows = Rows { results: scale.results as u64, steps: scale.steps as u64 };
    let answers = Answers::new(&rows);
    if !scale.is_small() {
        answers.write(&rows, scale.data())?;
    }
    let directory = scale.scratch("w10-stationdb")?;
    let store = options(scale).open(&directory)?;
    let ids = load(scale, &store, &rows)?;
    check(&session(&store), &rows, &ids, &answers)?;
    let store = settle(scale, store, &directory, &rows)?;

    let asking = session(&store);
    reads(scale, &asking, &rows, &ids)?;
    queries(scale, &asking, &rows, &ids, &answers)?;
    drop(asking);
    changes(scale, &store, &rows, &ids)?;
    store.close()?;
    killed::run(scale, &directory, &rows)?;
    std::fs::remove_dir_all(&directory)?;
    commits(scale, &rows)
}

fn load(scale: &Scale, store: &Store, rows: &Rows) -> Res<Vec<TestResultId>> {
    let session = session(store);
    let (mut ids, mut seconds) = (Vec::new(), Vec::new());
    let (peak, ()) = with_peak_memory(|| {
        for from in (0..rows.results).step_by(BATCH as usize) {
            let numbers = from..(from + BATCH).min(rows.results);
            let results: Vec<_> = numbers.map(|result| made(rows, result)).collect();
            let (took, made) = timed(|| append_made(&session, &results))?;
            seconds.push(took);
            ids.extend(made);
        }
        Ok(())
    })?;
    let parts: Vec<&[f64]> = seconds.chunks(seconds.len().div_ceil(3)).collect();
    let rate = |part: &&[f64]| (part.len() as u64 * BATCH) as f64 / part.iter().sum::<f64>();
    let rates: Vec<f64> = parts.iter().map(rate).collect();
    let note = format!(
        "{} results of {} steps, durable commits of {BATCH} results; medians over thirds of the pass",
        rows.results, rows.steps
    );
    let each = |q: f64| parts.iter().map(|part| quantile(part, q) * 1e3).collect::<Vec<f64>>();
    scale.emit("W10", "load_per_s", &rates, "results/s", &note);
    scale.emit("W10", "load_batch_p50", &each(0.5), "ms", &note);
    scale.emit("W10", "load_batch_p99", &each(0.99), "ms", &note);
    let peak: Vec<f64> = peak.into_iter().collect();
    scale.emit("W10", "load_memory", &peak, "MiB", "above an empty store, with the requests");
    Ok(ids)
}

/// Maintains, compacts and closes the store, and opens it again.
fn settle(scale: &Scale, mut store: Store, directory: &Path, rows: &Rows) -> Res<Store> {
    const PASSES_MAX: usize = 200;
    let before = bytes_below(directory);
    let (maintained, ()) = timed(|| {
        for _ in 0..PASSES_MAX {
            if store.maintain(&Control::default())?.segments_written == 0 {
                break;
            }
        }
        Ok(())
    })?;
    let (compacted, _) = timed(|| Ok(store.compact()?))?;
    store.close()?;
    let below = |name: &str| bytes_below(&directory.join(name)) as f64;
    let each = |bytes: f64| bytes / rows.measurements() as f64;
    let note = format!(
        "after maintenance ({maintained:.2} s), compaction ({compacted:.2} s) and a close; \
         {:.1} before; record file {:.1}, tables {:.1}, text index {:.1}",
        each(before as f64),
        each(std::fs::metadata(directory.join("records.redb"))?.len() as f64),
        each(below("tables")),
        each(below("search"))
    );
    let settled = each(bytes_below(directory) as f64);
    scale.emit("W10", "disk_settled", &[settled], "B/measured step", &note);
    Ok(options(scale).open(directory)?)
}

fn steps_of(session: &Session, id: &TestResultId) -> Res<Vec<Step>> {
    let query = QueryStepsRequest::new().filter("resultId == @0").substitutions([id.as_str()]);
    Ok(session.query_steps(query.take(100_000))?.steps)
}

fn assert_result(session: &Session, rows: &Rows, ids: &[TestResultId], result: u64) -> Res<()> {
    let id = &ids[result as usize];
    let found = session.get_result(id)?;
    assert_eq!(rows.at(found.started_at), Some(result));
    let steps = steps_of(session, id)?;
    assert_eq!(steps.len() as u64, rows.steps);
    for (number, step) in steps.iter().enumerate() {
        assert_eq!(step.name, Some(step_name(number as u64)));
        assert_eq!(value_of(step), Some(rows.value(result, number as u64)));
    }
    Ok(())
}

fn value_of(step: &Step) -> Option<f64> {
    step.data.as_ref()?.parameters.as_ref()?.first()?.get("measurement")?.parse().ok()
}

fn newest() -> QueryResultsRequest {
    QueryResultsRequest::new()
        .filter("status.statusType == \"PASSED\" && partNumber == @0")
        .substitutions([part_number(PART)])
        .order_by(ResultOrderBy::StartedAt)
        .descending(true)
        .take(PAGE as i64)
}

fn of_week(rows: &Rows) -> QueryStepsRequest {
    let time = |ms: i64| moment(ms).to_rfc3339_opts(stationdb::chrono::SecondsFormat::Millis, true);
    let (from, to) = rows.asked_week();
    QueryStepsRequest::new()
        .filter(
            "name == @0 && status.statusType == \"PASSED\" && startedAt >= @1 && startedAt < @2",
        )
        .substitutions([step_name(rows.asked_step()), time(from), time(to)])
}

fn first_of_week(rows: &Rows) -> QueryStepsRequest {
    of_week(rows).take(PAGE as i64)
}

fn assert_newest(session: &Session, rows: &Rows, answers: &Answers) -> Res<()> {
    let found = session.query_results(newest())?.results;
    let found: Option<Vec<u64>> = found.iter().map(|result| rows.at(result.started_at)).collect();
    assert_eq!(found.as_ref(), Some(&answers.newest));
    Ok(())
}

fn assert_first_of_week(
    session: &Session,
    rows: &Rows,
    answers: &Answers,
    query: QueryStepsRequest,
) -> Res<()> {
    let found = session.query_steps(query)?.steps;
    let results: Option<Vec<u64>> = found.iter().map(|step| rows.at(step.started_at)).collect();
    assert_eq!(results.as_ref(), Some(&answers.week_first));
    Ok(())
}

fn assert_count_of_week(session: &Session, rows: &Rows, answers: &Answers) -> Res<()> {
    let page = session.query_steps(of_week(rows).take(0).return_count(true))?;
    assert_eq!(page.total_count, Some(answers.week_count));
    Ok(())
}

/// Compares every answer with the naive one, wherever the steps lie.
fn check(session: &Session, rows: &Rows, ids: &[TestResultId], answers: &Answers) -> Res<()> {
    let numbers = [0, rows.results / 2, rows.results - 1];
    numbers.into_iter().try_for_each(|result| assert_result(session, rows, ids, result))?;
    assert_newest(session, rows, answers)?;
    assert_first_of_week(session, rows, answers, first_of_week(rows))?;
    assert_count_of_week(session, rows, answers)
}

fn reads(scale: &Scale, session: &Session, rows: &Rows, ids: &[TestResultId]) -> Res<()> {
    let count = READS.min(rows.results);
    let (mut whole, mut single) = (Vec::new(), Vec::new());
    for repetition in 0..4 {
        let (mut results, mut steps) = (Vec::new(), Vec::new());
        for draw in 0..count {
            let result = hash(100 + repetition, draw) % rows.results;
            let id = &ids[result as usize];
            let (took, (found, of)) =
                timed(|| Ok((session.get_result(id)?, steps_of(session, id)?)))?;
            assert_eq!(rows.at(found.started_at), Some(result));
            assert_eq!(of.len() as u64, rows.steps);
            results.push(took * 1e6);
            let number = hash(110 + repetition, draw) % rows.steps;
            let step_id = of[number as usize].step_id.clone().unwrap_or_default();
            // Another result in between, so that a step is not found in what was just read.
            session.get_result(&ids[(hash(120, draw) % rows.results) as usize])?;
            let (took, step) = timed(|| Ok(session.get_step(id, &step_id)?))?;
            assert_eq!(value_of(&step), Some(rows.value(result, number)));
            steps.push(took * 1e6);
        }
        if repetition > 0 {
            whole.push(results.iter().sum::<f64>() / count as f64);
            single.push(steps.iter().sum::<f64>() / count as f64);
        }
    }
    let note = "random ids, warm, mean; settled";
    scale.emit("W10", "result_with_steps", &whole, "us", note);
    scale.emit("W10", "step_by_id", &single, "us", note);
    Ok(())
}

fn queries(
    scale: &Scale,
    session: &Session,
    rows: &Rows,
    ids: &[TestResultId],
    answers: &Answers,
) -> Res<()> {
    check(session, rows, ids, answers)?;
    let times = scale.repetitions.max(7);
    let tell = |metric: &str, ask: &mut dyn FnMut() -> Res<()>| -> Res<()> {
        scale.emit("W10", metric, &repeat(times, ask)?, "ms", "warm, settled");
        Ok(())
    };
    tell("newest_100_of_status_and_part", &mut || assert_newest(session, rows, answers))?;
    let by_time = || first_of_week(rows).order_by(StepOrderBy::StartedAt);
    tell("steps_of_week_first_100", &mut || {
        assert_first_of_week(session, rows, answers, first_of_week(rows))
    })?;
    tell("steps_of_week_first_100_by_time", &mut || {
        assert_first_of_week(session, rows, answers, by_time())
    })?;
    tell("steps_of_week_count", &mut || assert_count_of_week(session, rows, answers))?;
    let wanted = Figures::new(rows);
    tell("yield_by_week", &mut || wanted.assert_yields(session))?;
    tell("pareto", &mut || wanted.assert_pareto(session))?;
    tell("capability", &mut || wanted.assert_capability(session))?;
    tell("histogram", &mut || wanted.assert_histogram(session))?;
    tell("control_chart", &mut || wanted.assert_chart(session))
}

/// Updates of single steps and deletions of results, each a durable commit.
fn changes(scale: &Scale, store: &Store, rows: &Rows, ids: &[TestResultId]) -> Res<()> {
    let session = session(store);
    let count = CHANGES.min(rows.results / 4);
    // The first half is updated, the second half deleted.
    let chosen = |draw: u64| (draw * (rows.results / 2) / count) as usize;
    let mut taken = Vec::new();
    for draw in 0..count {
        let id = &ids[chosen(draw)];
        let steps = steps_of(&session, id)?;
        let number = (hash(130, draw) % rows.steps) as usize;
        let mut data = steps[number].data.clone().unwrap_or_default();
        for parameter in data.parameters.iter_mut().flatten() {
            parameter.insert("measurement".to_owned(), "0.5".to_owned());
        }
        let step_id = steps[number].step_id.clone().unwrap_or_default();
        let change = UpdateStepRequest::new()
            .step_id(step_id.clone())
            .result_id(id.to_string())
            .total_time_in_seconds(0.5)
            .data(data);
        let (took, _) = timed(|| {
            Ok(session.update_steps(vec![change], false, false, false)?.require_all()?)
        })?;
        taken.push(took * 1e6);
        assert_eq!(value_of(&session.get_step(id, &step_id)?), Some(0.5));
        assert_eq!(steps_of(&session, id)?.len() as u64, rows.steps);
    }
    let note = "random steps of settled results, durable";
    scale.emit("W10", "update_step_p50", &[quantile(&taken, 0.5)], "us", note);
    scale.emit("W10", "update_step_mean", &[mean(&taken)], "us", note);
    taken.clear();
    for draw in 0..count {
        let id = &ids[(rows.results / 2) as usize + chosen(draw)];
        let (took, ()) = timed(|| Ok(session.delete_result(id, true)?))?;
        taken.push(took * 1e6);
        assert!(session.get_result(id).is_err() && steps_of(&session, id)?.is_empty());
    }
    let note = "settled results with their steps, durable";
    scale.emit("W10", "delete_result_p50", &[quantile(&taken, 0.5)], "us", note);
    scale.emit("W10", "delete_result_mean", &[mean(&taken)], "us", note);
    let left = session.query_steps(QueryStepsRequest::new().take(0).return_count(true))?;
    assert_eq!(left.total_count, Some((rows.results - count) * rows.steps));
    Ok(())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// One result with its steps a commit: from one thread, and from eight.
fn commits(scale: &Scale, rows: &Rows) -> Res<()> {
    let (mut rate, mut middle, mut together) = (Vec::new(), Vec::new(), Vec::new());
    let count = (scale.appends as u64).min(rows.results);
    for _ in 0..scale.repetitions {
        let directory = scale.scratch("w10-commits")?;
        let store = options(scale).open(&directory)?;
        let session = session(&store);
        let mut taken = Vec::new();
        for result in 0..count {
            let results = [made(rows, result)];
            taken.push(timed(|| append_made(&session, &results))?.0);
        }
        rate.push(count as f64 / taken.iter().sum::<f64>());
        middle.push(quantile(&taken, 0.5) * 1e3);
        let next = AtomicU64::new(0);
        let (took, ()) = timed(|| {
            std::thread::scope(|scope| -> Res<()> {
                let commit = || -> Res<()> {
                    loop {
                        let result = next.fetch_add(1, Ordering::Relaxed);
                        if result >= count {
                            return Ok(());
                        }
                        append(&session, rows, &[result])?;
                    }
                };
                let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(commit)).collect();
                threads
                    .into_iter()
                    .try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
            })
        })?;
        together.push(count as f64 / took);
        let all = session.query_results(QueryResultsRequest::new().take(0).return_count(true))?;
        assert_eq!(all.total_count, Some(2 * count));
        drop(session);
        store.close()?;
        std::fs::remove_dir_all(&directory)?;
    }
    let note = format!("a result of {} steps a commit, durable on return", rows.steps);
    scale.emit("W10", "commits_per_s", &rate, "results/s", &note);
    scale.emit("W10", "commit_p50", &middle, "ms", &note);
    let note = format!("{note}; requests are made by the same threads");
    scale.emit("W10", "commits_per_s, 8 threads", &together, "results/s", &note);
    Ok(())
}
