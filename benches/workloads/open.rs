//! OPEN: the time to open a store after its process was killed during writes, and after a clean
//! close.
//!
//! Three stores, with a tenth, three tenths and all of `BENCH_OPEN_RECORDS` work items of about 1
//! KB and `BENCH_OPEN_ROWS` rows of the measurement table, are made once and kept (`BENCH_REPS=0`
//! makes them and measures nothing). One process writes work items and rows until it is killed, a
//! second one opens the store, measures that and closes it, and a third one opens it again; with
//! `quick_repair` and without. The record file is read before, so the page cache is warm and the
//! time is that of the store and not of the disk.

use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use stationdb::prelude::*;
use stationdb::work_items::{CreateWorkItemRequest, QueryWorkItemsRequest};
use stationdb::{Identity, Session, Store};

use crate::common::{Res, Scale, bytes_below, hash, timed};
use crate::measurements::{batch, batches, create_table, schema};
use crate::w10::killed;
use crate::words::word;

/// Set for the child processes: their role.
const ROLE: &str = "STATIONDB_OPEN_ROLE";
const DIRECTORY: &str = "STATIONDB_OPEN_DIRECTORY";
const QUICK_REPAIR: &str = "STATIONDB_OPEN_QUICK_REPAIR";
const WRITING: &str = "writing";
const OPENING: &str = "open";
const OPENED: &str = "opened in ms ";

/// Work items of one commit.
const BATCH: usize = 1_000;
/// Words of a description.
const WORDS: u64 = 100;
/// Work items that the killed process writes at a time.
const KILLED_BATCH: usize = 100;
const KILLED_ROWS: usize = 1_000;

/// Runs the role of a child process, if this is one.
pub fn child() -> Option<Res<()>> {
    let role = std::env::var(ROLE).ok()?;
    let directory = std::env::var_os(DIRECTORY)?;
    let quick_repair = std::env::var_os(QUICK_REPAIR).is_some();
    let path = Path::new(&directory);
    Some(match role.as_str() {
        WRITING => write(path, quick_repair),
        killed::WRITE => killed::write(path),
        killed::OPEN => killed::open(path),
        _ => open(path, quick_repair),
    })
}

fn options(quick_repair: bool) -> stationdb::StoreOptions {
    Store::options().quick_repair(quick_repair)
}

/// Runs the workload.
pub fn run(scale: &Scale) -> Res<()> {
    for tenths in [1, 3, 10] {
        let (records, rows) = (scale.open_records * tenths / 10, scale.open_rows * tenths / 10);
        let directory = scale.data().join(format!("open-{records}-{rows}"));
        build(&directory, records, rows)?;
        for quick_repair in [true, false] {
            measure(scale, &directory, quick_repair, records, rows)?;
        }
    }
    Ok(())
}

/// Kills, opens and opens again, once for each repetition.
fn measure(
    scale: &Scale,
    directory: &Path,
    quick_repair: bool,
    records: usize,
    rows: usize,
) -> Res<()> {
    let (mut killed, mut closed) = (Vec::new(), Vec::new());
    for repetition in 0..scale.repetitions {
        kill_while_writing(
            WRITING,
            directory,
            quick_repair,
            scale.open_writing + Duration::from_millis(37 * repetition as u64),
        )?;
        read_all(directory)?;
        killed.push(opened_in(OPENING, directory, quick_repair)?);
        closed.push(opened_in(OPENING, directory, quick_repair)?);
    }
    if killed.is_empty() {
        return Ok(());
    }
    let mib = |name: &str| bytes_below(&directory.join(name)) >> 20;
    let note = format!(
        "{records} work items and {rows} rows: record file {} MiB, tables {} MiB, text index {} MiB; page cache warm",
        mib("records.redb"),
        mib("tables"),
        mib("search")
    );
    let with = if quick_repair { "quick_repair" } else { "default" };
    scale.emit("OPEN", &format!("after_kill_{with}"), &killed, "ms", &note);
    scale.emit("OPEN", &format!("after_close_{with}"), &closed, "ms", &note);
    Ok(())
}

fn request(number: u64) -> CreateWorkItemRequest {
    static VOCABULARY: OnceLock<Vec<String>> = OnceLock::new();
    let vocabulary = VOCABULARY.get_or_init(|| (0..2_000).map(|i| word(70, i, 6, 12)).collect());
    let words = (0..WORDS).map(|at| vocabulary[(hash(71 + at, number) % 2_000) as usize].as_str());
    CreateWorkItemRequest::new()
        .name(format!("item {number}"))
        .r#type("testplan")
        .part_number(format!("PN-{}", hash(60, number) % 5_000))
        .description(words.collect::<Vec<_>>().join(" "))
}

fn create(session: &Session, from: usize, count: usize) -> Res<()> {
    let answer = session
        .create_work_items((from..from + count).map(|number| request(number as u64)).collect())?;
    assert_eq!(answer.created_work_items.len(), count);
    Ok(())
}

/// Makes the store, unless an earlier run made it.
fn build(directory: &Path, records: usize, rows: usize) -> Res<()> {
    let mark = directory.with_extension("made");
    if mark.exists() {
        return Ok(());
    }
    if directory.exists() {
        std::fs::remove_dir_all(directory)?;
    }
    let store = options(false).open(directory)?;
    let session = store.session(Identity::user("bench"));
    for from in (0..records).step_by(BATCH) {
        create(&session, from, BATCH.min(records - from))?;
    }
    let id = create_table(&session, true)?;
    session.append_batches(&id.as_str().into(), &mut batches(&schema(true), rows), None)?;
    drop(session);
    store.close()?;
    Ok(std::fs::write(mark, [])?)
}

fn start(role: &str, directory: &Path, quick_repair: bool) -> Res<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.env(ROLE, role).env(DIRECTORY, directory).stdout(Stdio::piped());
    if quick_repair {
        command.env(QUICK_REPAIR, "1");
    }
    Ok(command.spawn()?)
}

/// Returns the first line that a child prints.
fn line_of(child: &mut Child) -> Res<String> {
    let output = child.stdout.take().ok_or("the child has no output")?;
    BufReader::new(output)
        .lines()
        .next()
        .ok_or("the child ended without a word")?
        .map_err(Into::into)
}

/// Starts a child in a role that writes, and kills it.
pub fn kill_while_writing(
    role: &str,
    directory: &Path,
    quick_repair: bool,
    after: Duration,
) -> Res<()> {
    let mut child = start(role, directory, quick_repair)?;
    let line = line_of(&mut child);
    std::thread::sleep(after);
    // SIGKILL on Unix, TerminateProcess on Windows: the child runs no further code.
    child.kill()?;
    child.wait()?;
    assert_eq!(line?, WRITING);
    Ok(())
}

/// The child that is killed: two threads write until then.
fn write(directory: &Path, quick_repair: bool) -> Res<()> {
    let store = options(quick_repair).open(directory)?;
    let session = store.session(Identity::user("bench"));
    let id = create_table(&session, true)?;
    create(&session, 0, KILLED_BATCH)?;
    tell_writing()?;
    std::thread::scope(|scope| {
        let appending = scope.spawn(|| -> Res<()> {
            for from in (0..).step_by(KILLED_ROWS) {
                let rows = batch(&schema(true), from, KILLED_ROWS)?;
                session.append_batches(
                    &id.as_str().into(),
                    &mut std::iter::once(Ok(rows)),
                    None,
                )?;
            }
            Ok(())
        });
        while !appending.is_finished() {
            create(&session, 0, KILLED_BATCH)?;
        }
        appending.join().map_err(|_| "the appending thread stopped")?
    })
}

/// Tells the parent that the child writes.
pub fn tell_writing() -> Res<()> {
    println!("{WRITING}");
    Ok(std::io::stdout().flush()?)
}

/// Tells the parent how long the opening took.
pub fn tell_opened(seconds: f64) {
    println!("{OPENED}{}", seconds * 1e3);
}

/// Reads the record file, so that it is in the page cache.
pub fn read_all(directory: &Path) -> Res<()> {
    std::io::copy(&mut std::fs::File::open(directory.join("records.redb"))?, &mut std::io::sink())?;
    Ok(())
}

/// Opens and closes the store in a new process. Returns the time of the opening in ms.
pub fn opened_in(role: &str, directory: &Path, quick_repair: bool) -> Res<f64> {
    let mut child = start(role, directory, quick_repair)?;
    let line = line_of(&mut child)?;
    assert!(child.wait()?.success());
    Ok(line.strip_prefix(OPENED).ok_or("the child did not tell its time")?.parse()?)
}

/// The child that opens the store.
fn open(directory: &Path, quick_repair: bool) -> Res<()> {
    let (seconds, store) = timed(|| Ok(options(quick_repair).open(directory)?))?;
    let session = store.session(Identity::user("bench"));
    // The opened store answers queries.
    let query = QueryWorkItemsRequest::new().take(1);
    assert_eq!(session.query_work_items(query)?.work_items.len(), 1);
    drop(session);
    store.close()?;
    tell_opened(seconds);
    Ok(())
}
