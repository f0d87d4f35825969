//! W9: what benches have now. Samples of a time and three floats come in appends of 100 rows, each
//! durable before the next. Then the store is closed, and a new process opens it and gets the points
//! of a plot. Once more the writing process is killed in the middle, and another process reads what
//! is there.

use std::io::{BufRead, BufReader, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use stationdb::arrow::array::{AsArray, RecordBatch};
use stationdb::arrow::datatypes::{Float64Type, TimestampMillisecondType};
use stationdb::prelude::*;
use stationdb::tables::{DecimationMethod, QueryTablesRequest, ScanRequest};
use stationdb::{Control, Identity, Session, Store};

use crate::common::{Res, Scale, blocks_below, hash, quantile, timed};
use crate::measurements::{batch, create_table, open, schema, ts, v1, v2, v3};
use crate::w4;

/// Rows of an append.
const ROWS: usize = 100;
/// The roles of the child processes.
pub const WRITE: &str = "write samples";
pub const PLOT: &str = "plot samples";
pub const SURVIVORS: &str = "read samples";
/// Set for the child processes.
const ROLE: &str = "STATIONDB_W9_ROLE";
const DIRECTORY: &str = "STATIONDB_W9_DIRECTORY";
const SAMPLES: &str = "STATIONDB_W9_SAMPLES";

const NOTE: &str = "100 rows x 4 columns an append, durable on return";

/// Runs the role of a child process, if this is one.
pub fn child() -> Option<Res<()>> {
    let role = std::env::var(ROLE).ok()?;
    let directory = std::env::var_os(DIRECTORY)?;
    let samples = std::env::var(SAMPLES).ok()?.parse().ok()?;
    let directory = Path::new(&directory);
    Some(match role.as_str() {
        WRITE => write(directory, samples),
        PLOT => plot(directory, samples),
        _ => survivors(directory),
    })
}

/// Appends one batch after the other. Calls `f` with the number of each that is durable, and with
/// its time.
fn append_all(
    directory: &Path,
    made: &[RecordBatch],
    f: &mut dyn FnMut(usize, f64) -> Res<()>,
) -> Res<Session> {
    let session = open(directory)?;
    let id = create_table(&session, false)?;
    for (at, batch) in made.iter().enumerate() {
        let began = Instant::now();
        let mut one = std::iter::once(Ok(batch.clone()));
        session.append_batches(&id.as_str().into(), &mut one, None)?;
        f(at + 1, began.elapsed().as_secs_f64())?;
    }
    Ok(session)
}

fn made(samples: usize) -> Res<Vec<RecordBatch>> {
    let schema = schema(false);
    (0..samples / ROWS).map(|at| batch(&schema, at * ROWS, ROWS)).collect()
}

/// The store that another process has written, and the id of its table.
fn written(directory: &Path) -> Res<(Session, String)> {
    let session = Store::open(directory)?.session(Identity::user("bench"));
    let tables = session.query_tables(QueryTablesRequest::new().take(1))?.tables;
    let id = tables.into_iter().next().and_then(|table| table.id).ok_or("there is no table")?;
    Ok((session, id.into()))
}

/// The child that is killed: tells the number of each append that has returned.
fn write(directory: &Path, samples: usize) -> Res<()> {
    let mut output = std::io::stdout().lock();
    append_all(directory, &made(samples)?, &mut |count, _| {
        writeln!(output, "{count}")?;
        Ok(output.flush()?)
    })
    .map(drop)
}

/// The child that opens the closed store, and gets the points of three curves.
fn plot(directory: &Path, samples: usize) -> Res<()> {
    let request = w4::request(DecimationMethod::MaxMin, 3, w4::INTERVALS, Vec::new());
    let (seconds, (session, found)) = timed(|| {
        let (session, id) = written(directory)?;
        let found = session.query_decimated_data(&id.as_str().into(), request.clone())?;
        Ok((session, found.frame.batches))
    })?;
    let truths = w4::all_truths(samples as u64);
    let kept: Vec<u64> = truths.iter().flat_map(|truth| truth.kept(3, false)).collect();
    assert_eq!(found.iter().map(w4::mark_of).collect::<Vec<_>>(), [w4::mark_rows(&kept, 3)]);
    drop(session);
    println!("{}", seconds * 1e3);
    Ok(())
}

/// The child that reads what a killed one has left: tells the number of rows, which are the first
/// ones, unchanged.
fn survivors(directory: &Path) -> Res<()> {
    let (session, id) = written(directory)?;
    let request = ScanRequest::new();
    let mut row = 0;
    for batch in session.scan(&id.as_str().into(), request, &Control::default())? {
        let batch = batch?;
        let times = batch.column(0).as_primitive::<TimestampMillisecondType>();
        let [first, second, third] =
            [1, 2, 3].map(|at| batch.column(at).as_primitive::<Float64Type>());
        for at in 0..batch.num_rows() {
            assert_eq!(times.value(at), ts(row));
            assert_eq!(
                [first.value(at), second.value(at), third.value(at)],
                [v1(row), v2(row), v3(row)]
            );
            row += 1;
        }
    }
    println!("{row}");
    Ok(())
}

fn start(
    role: &str,
    directory: &Path,
    samples: usize,
) -> Res<(Child, Lines<BufReader<ChildStdout>>)> {
    let mut child = Command::new(std::env::current_exe()?)
        .env(ROLE, role)
        .env(DIRECTORY, directory)
        .env(SAMPLES, samples.to_string())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = child.stdout.take().ok_or("the child has no output")?;
    Ok((child, BufReader::new(output).lines()))
}

/// What a child says that ends by itself; nothing if it failed.
fn answer(role: &str, directory: &Path, samples: usize) -> Res<Option<f64>> {
    let (mut child, mut lines) = start(role, directory, samples)?;
    let line = lines.next().transpose()?;
    let has_ended = child.wait()?.success();
    Ok(line.filter(|_| has_ended).map(|line| line.parse()).transpose()?)
}

/// Kills a writing process. Returns the rows whose append had returned, and those that a new process
/// reads; none if it cannot.
fn killed(scale: &Scale, repetition: usize, append_s: f64) -> Res<(f64, Option<f64>)> {
    let directory = scale.scratch("w9-killed")?;
    let appends = scale.samples / ROWS;
    let random = |column: u64| hash(column, repetition as u64);
    let least = appends * 3 / 10;
    let at = least + (random(90) % (appends * 4 / 10).max(1) as u64) as usize;
    let (mut child, mut lines) = start(WRITE, &directory, scale.samples)?;
    let mut acknowledged = 0;
    while acknowledged < at {
        let line = lines.next().ok_or("the writing process ended by itself")??;
        acknowledged = line.parse()?;
    }
    // Anywhere in an append.
    let share = (random(91) % 1000) as f64 / 500.0;
    std::thread::sleep(Duration::from_secs_f64(append_s * share));
    // SIGKILL on Unix, TerminateProcess on Windows: the child runs no further code.
    child.kill()?;
    child.wait()?;
    for line in lines {
        acknowledged = line?.parse()?;
    }
    assert!(acknowledged < appends, "the kill came too late");
    Ok(((acknowledged * ROWS) as f64, answer(SURVIVORS, &directory, scale.samples)?))
}

pub fn run(scale: &Scale) -> Res<()> {
    let made = made(scale.samples)?;
    let (mut rate, mut middle, mut late, mut plotted) = (vec![], vec![], vec![], vec![]);
    let mut bytes = 0;
    for _ in 0..scale.repetitions {
        let directory = scale.scratch("w9")?;
        let mut taken = Vec::with_capacity(made.len());
        let session = append_all(&directory, &made, &mut |_, seconds| {
            taken.push(seconds);
            Ok(())
        })?;
        // The last session closes the store.
        drop(session);
        rate.push(taken.len() as f64 / taken.iter().sum::<f64>());
        middle.push(quantile(&taken, 0.5) * 1e3);
        late.push(quantile(&taken, 0.99) * 1e3);
        bytes = blocks_below(&directory);
        plotted.push(answer(PLOT, &directory, scale.samples)?.ok_or("the plot failed")?);
    }
    scale.emit("W9", "appends_per_s", &rate, "appends/s", NOTE);
    scale.emit("W9", "p50", &middle, "ms", NOTE);
    scale.emit("W9", "p99", &late, "ms", NOTE);
    scale.emit("W9", "disk", &[bytes as f64 / 1e6], "MB", "closed");
    scale.emit(
        "W9",
        "reopen_and_plot",
        &plotted,
        "ms",
        "the rows of the extremes of 3 curves in 1,000 intervals, in a new process, warm page cache",
    );
    let append_s = rate.last().map_or(0.0, |rate| 1.0 / rate);
    let (mut acknowledged, mut survived) = (Vec::new(), Vec::new());
    for repetition in 0..scale.kills {
        let (rows, read) = killed(scale, repetition, append_s)?;
        acknowledged.push(rows);
        survived.push(read);
    }
    if acknowledged.is_empty() {
        return Ok(());
    }
    let unreadable = survived.iter().filter(|read| read.is_none()).count();
    let survived: Vec<f64> = survived.into_iter().map(Option::unwrap_or_default).collect();
    let lost = acknowledged.iter().zip(&survived).map(|(rows, read)| (rows - read).max(0.0));
    let most = lost.fold(0.0, f64::max);
    assert_eq!((most, unreadable), (0.0, 0), "a killed process has lost rows");
    let note = format!("killed at a random moment of the middle, {} times", scale.kills);
    scale.emit("W9", "kill_acked", &acknowledged, "rows", &note);
    scale.emit("W9", "kill_survived", &survived, "rows", &note);
    scale.emit("W9", "kill_lost_most", &[most], "rows", &note);
    scale.emit(
        "W9",
        "kill_unreadable",
        &[unreadable as f64],
        &format!("of {}", scale.kills),
        &note,
    );
    Ok(())
}
