//! The station: what its process does in a day, and what the store has to show of it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use stationdb::files::UploadFileRequest;
use stationdb::prelude::*;
use stationdb::results::{
    CreateResultRequest, CreateStepRequest, KeepResults, QueryResultsRequest, ResultRetention,
    StatusType, StepData, TestResultId,
};
use stationdb::tables::{
    Column, ColumnType, CreateTableRequest, DataType, ListTablesRequest, Waveform, WaveformAxis,
};
use stationdb::{
    Clock, Control, Error, Identity, ManualClock, Result, Session, SetBackupOptions, SetRetention,
    Store, Transaction,
};

use crate::sizes;

/// Days for which results are kept, with their tables and files.
pub const KEPT_DAYS: u64 = 2;
/// Days of which the set keeps the last backup.
const KEPT_BACKUPS: u32 = 2;
/// Steps of a run.
const STEPS: u64 = 40;
/// Every so many runs have a file.
const FILE_EVERY: u64 = 10;
/// The run of each day that is deleted, as soon as the next one has ended.
const DELETED: u64 = 2;
const ACKED: &str = "ended ";
const MEMORY: &str = "memory ";

/// What a line of the process says.
pub enum Told {
    /// A run has ended.
    Run(u64),
    /// Most memory that the process has had, in KiB.
    Memory(u64),
}

impl Told {
    /// The harness may have begun the line with the name of the test.
    pub fn of(line: &str) -> Option<Self> {
        let number = |word| line.rsplit_once(word).and_then(|(_, number)| number.parse().ok());
        number(ACKED).map(Self::Run).or_else(|| number(MEMORY).map(Self::Memory))
    }
}

/// Written directly, to bypass the output capture of the test harness, and in one write.
fn tell(word: &str, number: u64) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{word}{number}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// The true time in the middle of a run.
fn time_of(day: u64, run: u64) -> DateTime<Utc> {
    let begin: DateTime<Utc> = "2027-01-01T00:00:00Z".parse().unwrap();
    let seconds = day * 86_400 + 86_000 * run / sizes::size("year_runs");
    begin + TimeDelta::seconds(i64::try_from(seconds).unwrap())
}

/// The time that the computer shows: on some days it is wrong for a few runs.
fn shown_time(day: u64, run: u64) -> DateTime<Utc> {
    let time = time_of(day, run);
    match day % 10 {
        // A zone that was set wrong, backwards and forwards.
        3 if run < 4 => time - TimeDelta::hours(1),
        6 if run < 4 => time + TimeDelta::hours(1),
        // The battery of the clock is empty.
        8 if run < 4 => DateTime::UNIX_EPOCH,
        _ => time,
    }
}

fn kept_seconds() -> u64 {
    KEPT_DAYS * 86_400
}

/// Opens the store as at the end of a day.
pub fn open_after(directory: &Path, day: u64) -> Result<Store> {
    open(directory, Arc::new(ManualClock::new(time_of(day + 1, 0))))
}

fn open(directory: &Path, clock: Arc<dyn Clock>) -> Result<Store> {
    let kept = [KeepResults::new().age_seconds(kept_seconds())];
    let options = Store::options().shared_clock(clock).reserve_bytes(0);
    options.result_retention(ResultRetention::new(kept)).open(directory.join("store"))
}

fn ada(store: &Store) -> Session {
    store.session(Identity::user("ada"))
}

fn program(day: u64) -> String {
    format!("day {day}")
}

fn file_id(day: u64, run: u64) -> String {
    format!("{day:08x}{run:016x}")
}

/// Carries out the rest of a day.
pub fn live(directory: &Path, day: u64) {
    let clock = Arc::new(ManualClock::new(shown_time(day, 0)));
    let store = open(directory, clock.clone()).unwrap();
    let session = ada(&store);
    let done = runs_of(&session, day).unwrap();
    let first = done.last_key_value().map_or(0, |(run, _)| run + 1);
    let runs = sizes::size("year_runs");
    let backup_every = (runs / sizes::size("year_backups")).max(1);
    // A process that was killed may have left it to this one.
    if first > DELETED {
        delete(&session, done.get(&DELETED)).unwrap();
    }
    for run in first..runs {
        clock.set(shown_time(day, run));
        make(&session, day, run).unwrap();
        tell(ACKED, run);
        if run == DELETED + 1 {
            delete(&session, runs_of(&session, day).unwrap().get(&DELETED)).unwrap();
        }
        if run % backup_every == backup_every - 1 {
            back_up(&store, directory).unwrap();
        }
    }
    // The one of the last run was not made if the process was killed before.
    if first == runs {
        back_up(&store, directory).unwrap();
    }
    let control = Control::default();
    Store::prune_set(directory.join("set"), SetRetention::new(KEPT_BACKUPS, 0, 0), &control)
        .unwrap();
    if let Some(kib) = peak_memory_kib() {
        tell(MEMORY, kib);
    }
    drop(session);
    store.close().unwrap();
}

#[cfg(target_os = "linux")]
fn peak_memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(not(target_os = "linux"))]
fn peak_memory_kib() -> Option<u64> {
    None
}

fn back_up(store: &Store, directory: &Path) -> Result<()> {
    let control = Control::default();
    store.maintain(&control)?;
    let options = SetBackupOptions::new();
    let report = store.backup_to_set(directory.join("set"), &options, &control)?;
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    Ok(())
}

/// A run: a result with its steps, a waveform, and now and then a file.
fn make(session: &Session, day: u64, run: u64) -> Result<()> {
    let has_file = run.is_multiple_of(FILE_EVERY);
    let file = file_id(day, run);
    if has_file {
        upload(session, &file)?;
    }
    session.transaction(|tx| {
        let request = CreateResultRequest::new()
            .program_name(program(day))
            .serial_number(run.to_string())
            .part_number("P-1")
            .started_at(time_of(day, run))
            .file_ids(has_file.then_some(file))
            .status(StatusType::Passed);
        let made = tx.create_results(vec![request])?.into_result()?;
        let id = made.results.into_iter().next().and_then(|result| result.id);
        let id = id.ok_or_else(|| Error::invalid("no result was made"))?;
        add_steps(tx, &id)?;
        let columns = [
            Column::new("at", DataType::Int64).column_type(ColumnType::Index),
            Column::new("volts", DataType::Float64),
        ];
        let request = CreateTableRequest::new(columns).test_result_id(id.to_string());
        let table = tx.create_table(request.name(format!("{day}-{run}")))?;
        let volts: Vec<f64> = (0..sizes::size("year_samples"))
            .map(|at| ((at * (run + 7)) % 4_096) as f64 / 4_096.0)
            .collect();
        let axis = WaveformAxis::Count { t0: 0, dt: 1 };
        tx.append_waveform(&table, &Waveform::new(axis).y("volts", &volts))
    })
}

fn upload(session: &Session, id: &str) -> Result<()> {
    // A process that was killed may have left it without a result.
    let _ = session.delete_file(&id.into());
    let bytes: Vec<u8> = (0..40_000_u32).map(|at| (at % 251) as u8).collect();
    let request = UploadFileRequest::new().id(id).name("log.txt");
    session.upload_file(&mut bytes.as_slice(), request, &Control::default()).map(drop)
}

fn add_steps(tx: &Transaction<'_>, id: &TestResultId) -> Result<()> {
    let parameter = |step: u64| {
        let value = (step as f64 / 8.0).to_string();
        let texts =
            [("name", "VOUT"), ("measurement", &value), ("units", "V"), ("status", "Passed")];
        texts
            .into_iter()
            .map(|(key, text)| (key.to_owned(), text.to_owned()))
            .collect::<BTreeMap<_, _>>()
    };
    let steps = (0..STEPS).map(|step| {
        CreateStepRequest::new()
            .result_id(id.to_string())
            .step_id(step.to_string())
            .name(format!("step {step}"))
            .status(StatusType::Passed)
            .data(StepData::new().parameters(vec![parameter(step)]))
    });
    tx.create_steps(steps.collect(), false)?.into_result().map(drop)
}

/// Deletes a run with its waveform, if it is there.
fn delete(session: &Session, id: Option<&TestResultId>) -> Result<()> {
    let Some(id) = id else { return Ok(()) };
    for table in session.tables_of_result(id)? {
        session.delete_table(&table.as_str().into())?;
    }
    session.delete_result(id, true)
}

/// The runs of a day that the store has, by number.
fn runs_of(session: &Session, day: u64) -> Result<BTreeMap<u64, TestResultId>> {
    let query = QueryResultsRequest::new()
        .filter("programName == @0")
        .substitutions([program(day)])
        .take(1_000);
    let results = session.query_results(query)?.results.into_iter();
    Ok(results
        .filter_map(|result| Some((result.serial_number?.parse().ok()?, result.id?)))
        .collect())
}

/// Compares the store after a day with what the station did: all runs of the days that are kept,
/// their tables and files, and nothing of the days before.
pub fn check(store: &Store, day: u64) -> Result<()> {
    let session = ada(store);
    let mut results = BTreeSet::new();
    // At the end of the day these are whole; the day before them is kept in part.
    for day in (day + 1).saturating_sub(KEPT_DAYS)..=day {
        let found = runs_of(&session, day)?;
        let wanted = (0..sizes::size("year_runs")).filter(|run| *run != DELETED);
        assert!(found.keys().copied().eq(wanted), "day {day}: {:?}", found.keys());
        for run in found.keys().filter(|run| run.is_multiple_of(FILE_EVERY)) {
            session.open_file(&file_id(day, *run).as_str().into())?;
        }
        results.extend(found.into_values().map(|id| id.to_string()));
    }
    let all = session.query_results(QueryResultsRequest::new().take(0).return_count(true))?;
    assert_eq!(all.total_count, Some(results.len() as u64), "after day {day}");
    let mut tables = BTreeSet::new();
    let mut token = None;
    loop {
        let request = ListTablesRequest::default().take(1_000).maybe_continuation_token(token);
        let page = session.list_tables(request)?;
        for table in page.tables {
            let rows = table.row_count.and_then(|count| u64::try_from(count).ok());
            assert_eq!(rows, Some(sizes::size("year_samples")), "{:?}", table.name);
            tables.extend(table.test_result_id);
        }
        token = page.continuation_token;
        if token.is_none() {
            break;
        }
    }
    assert_eq!(tables, results, "tables after day {day}");
    Ok(())
}
