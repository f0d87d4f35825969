//! A real process on a real disk, killed at random moments. Every acknowledged write is there
//! afterwards, and the store opens without help each time.

#[path = "common/random.rs"]
mod random;
#[path = "common/sizes.rs"]
mod sizes;

use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use random::Random;
use stationdb::tables::{
    AppendTableDataRequest, Column, ColumnType, CreateTableRequest, DataFrame, DataType,
    GetTableDataRequest, ListTablesRequest, TableMetadata, TableService,
};
use stationdb::{Control, ErrorKind, Identity, Store, VerifyLevel};

/// Set for the child: the directory of the store.
const DIRECTORY: &str = "STATIONDB_KILL_DIRECTORY";
/// Set for the child: the bytes of its memory table.
const MEMORY: &str = "STATIONDB_KILL_MEMORY";
/// Memory tables of one kill after the other. The small one is full after a few writes, so that
/// checkpoints are under way all the time; without one each commit is one of the record file.
const MEMORIES: [usize; 4] = [32 << 20, 8_000, 100_000, 0];
const ACKED: &str = "acknowledged ";

/// Not a separate test: the code that the child process runs until it is killed.
#[test]
fn child_that_is_killed() {
    let Ok(directory) = std::env::var(DIRECTORY) else { return };
    let memory = std::env::var(MEMORY).unwrap().parse().unwrap();
    let options = Store::options().seal_rows(200).memory_table_bytes(memory);
    let store = options.open(directory).unwrap();
    let mut next = newest(&store).map_or(0, |newest| newest + 1);
    loop {
        write(&store, next);
        // Written directly, to bypass the output capture of the test harness, and in one write, so
        // that a line is there completely or not at all.
        std::io::stdout().lock().write_all(format!("{ACKED}{next}\n").as_bytes()).unwrap();
        std::io::stdout().flush().unwrap();
        next += 1;
    }
}

#[test]
fn a_killed_process_loses_nothing_that_was_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    // Any seed is good enough: the moment of the kill is not repeatable anyway.
    let mut random = Random::new(std::process::id().into());
    let mut acked = None;
    for kill in 0..sizes::size("kills") {
        let memory = MEMORIES[kill as usize % MEMORIES.len()];
        let newest_acked =
            run_and_kill(&path, memory, Duration::from_micros(random.below(150_000)));
        acked = acked.max(newest_acked);
        let store = Store::options().seal_rows(200).open(&path).unwrap();
        let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
        assert!(report.is_sound(), "after kill {kill}: {:?}", report.findings);
        let found = newest(&store);
        assert!(
            found >= acked,
            "after kill {kill}: {acked:?} was acknowledged, {found:?} is the newest"
        );
        assert!(
            found <= acked.map_or(Some(0), |acked| Some(acked + 1)),
            "after kill {kill}: {found:?} {acked:?}"
        );
        acked = found;
    }
    // `.ci/night` adds up these lines.
    println!("counted: {} kills", sizes::size("kills"));
    println!("{} kills, {acked:?} is the newest write", sizes::size("kills"));
    assert!(acked > Some(sizes::size("kills")), "the child hardly wrote anything");
}

/// Starts the child, kills it `delay` after its first acknowledgement, and returns its last
/// acknowledged number.
fn run_and_kill(path: &Path, memory: usize, delay: Duration) -> Option<u64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_that_is_killed", "--nocapture", "--test-threads=1"])
        .env(DIRECTORY, path)
        .env(MEMORY, memory.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let lines = std::thread::spawn(move || {
        let mut lines = output.lines().map_while(Result::ok).filter_map(|line| {
            // The harness may have begun the line with the name of the test.
            line.rsplit_once(ACKED).and_then(|(_, number)| number.parse::<u64>().ok())
        });
        let first = lines.next();
        (first, lines)
    });
    let (first, rest) = lines.join().unwrap();
    std::thread::sleep(delay);
    // SIGKILL on Unix, TerminateProcess on Windows: no code of the child runs any more.
    child.kill().unwrap();
    child.wait().unwrap();
    rest.last().or(first)
}

const ROWS: u64 = 5;

fn row(at: u64) -> Vec<Option<String>> {
    vec![Some(at.to_string()), Some(format!("row {at}"))]
}

fn table(store: &Store) -> Option<TableMetadata> {
    store
        .session(Identity::user("ada"))
        .list_tables(ListTablesRequest::default())
        .unwrap()
        .tables
        .pop()
}

/// Appends the batch with this number; creates the table first if it does not exist.
fn write(store: &Store, number: u64) {
    let session = store.session(Identity::user("ada"));
    let id = match table(store).and_then(|table| table.id) {
        Some(id) => id,
        None => {
            let column = |name: &str, data_type, column_type| {
                Column::new(name.to_owned(), data_type).column_type(column_type)
            };
            let columns = vec![
                column("t", DataType::Int64, ColumnType::Index),
                column("s", DataType::String, ColumnType::Normal),
            ];
            session.create_table(CreateTableRequest::new(columns)).unwrap()
        }
    };
    let data: Vec<_> = (number * ROWS..(number + 1) * ROWS).map(row).collect();
    let frame = Some(DataFrame::new().data(data));
    session.append_table_data(&id, AppendTableDataRequest::new().maybe_frame(frame)).unwrap();
}

/// The newest batch in the table. It and all older ones must be complete.
fn newest(store: &Store) -> Option<u64> {
    let table = table(store)?;
    let (id, count) = (table.id.unwrap(), u64::try_from(table.row_count.unwrap()).unwrap());
    let session = store.session(Identity::user("ada"));
    let (mut rows, mut token) = (Vec::new(), None);
    loop {
        let request = GetTableDataRequest::new().maybe_continuation_token(token);
        let page = session.get_table_data(&id, request).unwrap();
        rows.extend(page.frame.to_data_frame().data);
        token = page.continuation_token;
        if token.is_none() {
            break;
        }
    }
    assert!(count % ROWS == 0, "half a batch: {count} rows");
    assert_eq!(rows, (0..count).map(row).collect::<Vec<_>>());
    (count / ROWS).checked_sub(1)
}

/// Set for the child: keep the store open until the standard input ends.
const HOLD: &str = "STATIONDB_HOLD_DIRECTORY";
const HELD: &str = "holding the store";

/// Not a separate test: the code of the child process that keeps the store open for another
/// process.
#[test]
fn child_that_holds_the_store() {
    let Ok(directory) = std::env::var(HOLD) else { return };
    let store = Store::open(directory).unwrap();
    std::io::stdout().lock().write_all(format!("{HELD}\n").as_bytes()).unwrap();
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read_line(&mut String::new());
    drop(store);
}

/// A process that has the store open, and its output, which must stay open while the process may
/// write to it.
fn holder(program: &Path, store: &Path) -> (Child, impl Iterator<Item = String>) {
    let mut child = Command::new(program)
        .args(["--exact", "child_that_holds_the_store", "--nocapture", "--test-threads=1"])
        .env(HOLD, store)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.ends_with(HELD)), "the child did not open the store");
    (child, lines)
}

#[test]
fn a_second_process_is_told_who_has_the_store_open() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let program = std::env::current_exe().unwrap();
    let (mut child, _output) = holder(&program, &path);
    let error = Store::open(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked, "{error}");
    let name = program.file_name().unwrap().to_string_lossy().into_owned();
    assert!(error.message().contains(&format!("process {} ({name})", child.id())), "{error}");
    // It ends by itself, and the store can be opened.
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    drop(Store::open(&path).unwrap());
    // A killed process does not keep the lock either.
    let (mut killed, _output) = holder(&program, &path);
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(
        Store::open(&path)
            .unwrap()
            .verify(VerifyLevel::Checksums, &Control::default())
            .unwrap()
            .is_sound()
    );
}

/// The example program of this build. Cargo builds the examples with the tests, but not when only
/// some of the tests are requested. So this requests the build again, which takes no time if
/// nothing has changed. `None` if the test is not run by cargo. `STATIONDB_EXAMPLE` names a program
/// that was built for another system.
fn example() -> Option<PathBuf> {
    if let Some(program) = std::env::var_os("STATIONDB_EXAMPLE") {
        return Some(PathBuf::from(program));
    }
    let program = std::env::current_exe().ok()?;
    let profile = program.parent()?.parent()?;
    // The published package does not contain the examples.
    if !Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/Cargo.toml")).exists() {
        return None;
    }
    let mut features = Vec::new();
    features.extend(cfg!(feature = "search").then_some("search"));
    features.extend(cfg!(feature = "packages").then_some("packages"));
    features.extend(cfg!(feature = "faults").then_some("faults"));
    let mut build = Command::new(std::env::var_os("CARGO")?);
    build.args([
        "build",
        "--quiet",
        "--locked",
        "--example",
        "station_day",
        "--no-default-features",
        "--features",
    ]);
    // Both packages, as in a build of everything: then their dependencies have the same features.
    build
        .arg(features.join(","))
        .args(["-p", "stationdb", "-p", "stationdb-examples", "--target-dir"])
        .arg(profile.parent()?);
    // Cargo describes the package of a test to it. Build scripts watch these variables (ring's does),
    // and would run again here, and then once more in the next build of everything.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let prefixes = ["CARGO_MANIFEST_", "CARGO_PKG_", "OUT_DIR"];
        if prefixes.iter().any(|prefix| name.starts_with(prefix)) {
            build.env_remove(&*name);
        }
    }
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    assert!(
        build.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap().success(),
        "the example does not build"
    );
    let built =
        profile.join("examples").join(format!("station_day{}", std::env::consts::EXE_SUFFIX));
    built.exists().then_some(built)
}

#[test]
fn the_killed_example_runs_again_on_its_store() {
    let Some(program) = example() else {
        eprintln!("skipped: the example is not there, and no cargo to build it");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let start = || {
        Command::new(&program)
            .args(["--rows", "20000", "--dir"])
            .arg(directory.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let mut random = Random::new(std::process::id().into());
    for kill in 0..6 {
        let mut child = start();
        std::thread::sleep(Duration::from_millis(50 + random.below(600)));
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        // It may have finished already, but it must not fail by itself.
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!text.contains("Error"), "run {kill}: {text}");
        let store = directory.path().join("store");
        if store.exists() {
            let store = Store::open(&store).unwrap();
            let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
            assert!(report.is_sound(), "after kill {kill}: {:?}", report.findings);
        }
    }
    let output = start().wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
