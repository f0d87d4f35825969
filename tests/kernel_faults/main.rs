//! A real process on a real file system whose system calls fail: full, read-only, limited, or
//! failed by `strace`.
//!
//! A child process works on a store and records outside of it what each of its calls returned,
//! while the system fails some of its calls. The child has to end by itself. Then this process
//! opens the store without faults: what was acknowledged is present, what was refused is not, and
//! each call with an unknown outcome is present as a whole or not at all.
//!
//! Tests that the machine does not allow are skipped with a message: mounting needs root, and
//! failing single calls needs `strace`. A missing sync is not found here, because the system's page
//! cache survives the process; the simulator finds it. A sync whose error is ignored is found,
//! because a call has to report that error.
#![cfg(target_os = "linux")]

mod machine;
#[path = "../common/random.rs"]
mod random;
#[path = "../common/sizes.rs"]
mod sizes;
mod work;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use machine::{Mounted, Strace};
use random::Random;
use stationdb::{Control, VerifyLevel};
use work::{Outcome, STEPS};

/// Set for the child: the directory of the store, the first step, and whether it closes the store
/// at the end.
const DIRECTORY: &str = "STATIONDB_FAULT_DIRECTORY";
const FIRST: &str = "STATIONDB_FAULT_FIRST";
const CLOSES: &str = "STATIONDB_FAULT_CLOSES";
/// The child prints this when its reads after a failure show what was acknowledged.
const READABLE: &str = "all";
/// Prefix of each line that is meant for the parent.
const TOLD: &str = "told: ";

impl Random {
    /// Numbers from `range`: `draws` of them, in the measure of the run, or enough for each `step`.
    fn some(&mut self, range: std::ops::RangeInclusive<u64>, draws: usize, step: u64) -> Vec<u64> {
        let (first, last) = (*range.start(), *range.end());
        match sizes::count("kernel_draws") {
            0 => range.step_by(usize::try_from(step).unwrap()).collect(),
            hundredths => (0..(draws * hundredths).div_ceil(100))
                .map(|_| first + self.below(last.saturating_sub(first) + 1))
                .collect(),
        }
    }
}

/// Not a test of its own: the work of the child process.
#[test]
fn child_that_meets_faults() {
    let Ok(directory) = std::env::var(DIRECTORY) else { return };
    let first: u64 = std::env::var(FIRST).unwrap().parse().unwrap();
    // Bypasses the test harness's capturing; each line is one write.
    let tell = |line: String| {
        std::io::stdout().lock().write_all(format!("{TOLD}{line}\n").as_bytes()).unwrap();
    };
    let store = match work::options().open(directory) {
        Ok(store) => store,
        Err(error) => {
            tell(format!("open {:?} {error}", error.kind()));
            return;
        }
    };
    let mut outcomes: BTreeMap<u64, Outcome> =
        (0..first).map(|step| (step, Outcome::Acknowledged)).collect();
    let mut is_sound = true;
    for step in first..STEPS {
        let answer = work::step(&store, step);
        let answer = answer.map_or_else(|error| format!("{:?}", error.kind()), |()| "Ok".into());
        tell(format!("{step} {answer}"));
        outcomes.insert(step, Outcome::of(&answer));
        let has_failed = !matches!(outcomes[&step], Outcome::Acknowledged);
        // Directly after the first failure, and again after all other steps.
        if (has_failed && is_sound) || (!is_sound && step + 1 == STEPS) {
            let problems = work::problems(&store, &outcomes);
            let text = if problems.is_empty() { READABLE.to_owned() } else { problems.join("; ") };
            tell(format!("reads {}", text.replace('\n', " ")));
        }
        is_sound &= !has_failed;
    }
    if std::env::var_os(CLOSES).is_none() {
        // As if it was killed: an error of a sync during the closing of a store is reported to
        // nobody.
        std::process::exit(0);
    }
}

/// The lines that the child printed.
#[derive(Debug, Default)]
struct Told {
    outcomes: BTreeMap<u64, Outcome>,
    /// The result of each step: `Ok` or a kind of error.
    answers: Vec<String>,
    /// The results of its reads after a failure.
    reads: Vec<String>,
    opened: bool,
    text: String,
}

impl Told {
    /// Checks that reads go on after a failure: the same process can read what was acknowledged,
    /// without a cache of records.
    fn check_reads(&self, place: &str) {
        let has_failed = self.answers.iter().any(|answer| answer != "Ok");
        assert_eq!(has_failed, !self.reads.is_empty(), "{place}: {}", self.text);
        assert!(
            self.reads.iter().all(|reads| reads == READABLE),
            "{place}: {:?}\n{}",
            self.reads,
            self.text
        );
    }

    /// Checks that writes are refused after a failed write or sync of the record file: as `Latched`
    /// if nothing else fails (`is_only`), else perhaps with the error of the next failure.
    fn check_latch(&self, is_only: bool, place: &str) {
        let failed = self.answers.iter().position(|answer| answer != "Ok");
        let after = failed.and_then(|failed| self.answers.get(failed + 1..)).unwrap_or_default();
        let is_refused = |answer: &String| {
            answer == "Latched" || (!is_only && Outcome::of(answer) == Outcome::Refused)
        };
        assert!(after.iter().all(is_refused), "{place}: {}", self.text);
    }
}

/// Runs the child by `command`, which contains the program and its wrapper, on the store in `path`.
fn run(mut command: Command, path: &Path, first: u64, closes: bool) -> Told {
    command.args(["--exact", "child_that_meets_faults", "--nocapture", "--test-threads=1"]);
    command.env(DIRECTORY, path).env(FIRST, first.to_string()).env("RUST_BACKTRACE", "0");
    if closes {
        command.env(CLOSES, "1");
    }
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
    let mut told = Told { opened: true, ..Told::default() };
    told.outcomes.extend((0..first).map(|step| (step, Outcome::Acknowledged)));
    told.text = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in told.text.lines().filter_map(|line| line.split_once(TOLD)).map(|(_, line)| line) {
        let (what, answer) = line.split_once(' ').unwrap();
        match what.parse() {
            Ok(step) => {
                told.outcomes.insert(step, Outcome::of(answer));
                told.answers.push(answer.to_owned());
            }
            Err(_) if what == "open" => told.opened = false,
            Err(_) if what == "reads" => told.reads.push(answer.to_owned()),
            Err(_) => {}
        }
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), None, "the child was ended: {}\n{stderr}", told.text);
    assert!(
        output.status.success(),
        "the child failed with {:?}: {}\n{stderr}",
        output.status.code(),
        told.text
    );
    if told.opened {
        assert_eq!(
            told.outcomes.len() as u64,
            STEPS,
            "the child reported only: {}\n{stderr}",
            told.text
        );
    }
    told
}

/// Opens the store without faults and compares it with what the child printed.
fn check(path: &Path, told: &Told, place: &str) {
    let store = work::options()
        .open(path)
        .unwrap_or_else(|error| panic!("{place}: {error}\n{}", told.text));
    let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
    assert!(report.is_sound(), "{place}: {:?}\n{}", report.findings, told.text);
    let problems = work::problems(&store, &told.outcomes);
    assert!(problems.is_empty(), "{place}: {problems:?}\n{}", told.text);
    // The store can be written.
    work::step(&store, STEPS).unwrap_or_else(|error| panic!("{place}: {error}"));
}

/// A store in which half of the steps are done, to be copied; without it, the child creates the
/// store.
struct Begun(tempfile::TempDir);

const HALF: u64 = STEPS / 2;

impl Begun {
    fn new() -> Self {
        let directory = machine::directory();
        let store = work::options().open(directory.path().join("store")).unwrap();
        (0..HALF).for_each(|step| work::step(&store, step).unwrap());
        store.close().unwrap();
        Self(directory)
    }

    /// Copies it to `path` in every second run. Returns the first step that is left to do.
    fn put(&self, path: &Path, run: usize) -> u64 {
        if run.is_multiple_of(2) {
            return 0;
        }
        machine::copy(&self.0.path().join("store"), path);
        HALF
    }
}

fn program() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

/// How often the faults occurred, for `.ci/night` and for readers.
#[derive(Default)]
struct Tally {
    runs: u64,
    shown: u64,
    steps: u64,
}

impl Tally {
    fn add(&mut self, told: &Told) {
        self.runs += 1;
        let failed =
            told.outcomes.values().filter(|outcome| **outcome != Outcome::Acknowledged).count();
        self.shown += u64::from(failed > 0 || !told.opened);
        self.steps += told.outcomes.len() as u64 - failed as u64;
    }

    fn end(&self, what: &str) {
        println!("counted: {} faults", self.runs);
        println!(
            "{what}: {} runs, {} met their fault, {} calls acknowledged",
            self.runs, self.shown, self.steps
        );
        assert!(
            self.shown * 3 > self.runs,
            "{what}: the fault occurred in {} of {} runs",
            self.shown,
            self.runs
        );
    }
}

#[test]
fn a_system_call_that_fails_loses_nothing() {
    let Some(strace) = Strace::find() else { return };
    let mut latched = 0;
    let (mut random, mut tally, begun) =
        (Random::new(sizes::seed()), Tally::default(), Begun::new());
    for (calls, error, by_day) in [
        ("?fsync", "EIO", 2),
        ("?fdatasync", "EIO", 3),
        ("?pwrite64", "EIO", 2),
        ("?pwrite64", "ENOSPC", 1),
        ("?rename,?renameat,?renameat2", "EIO", 1),
        ("?unlink,?unlinkat", "EIO", 1),
        ("?ftruncate", "EIO", 2),
    ] {
        for (from, name) in [(0, "a new store"), (1, "a store with content")] {
            let directory = machine::directory();
            let path = directory.path().join("store");
            let first = begun.put(&path, from);
            // The number of calls of the busiest thread, because `strace` counts the calls of each
            // thread separately.
            run(strace.count(calls), &path, first, false);
            let most = strace.calls();
            for at in random.some(1..=most, by_day, 1) {
                // Drawn faults last or not.
                let lasting = match sizes::count("kernel_draws") {
                    0 => vec![false, true],
                    _ => vec![random.below(2) == 0],
                };
                for lasts in lasting {
                    let directory = machine::directory();
                    let path = directory.path().join("store");
                    let first = begun.put(&path, from);
                    let told = run(strace.fail(calls, error, at, lasts), &path, first, false);
                    let place =
                        format!("{calls} {error}, call {at} of {most}, lasts: {lasts}, {name}");
                    tally.add(&told);
                    check(&path, &told, &place);
                    let ignored = strace.failed_on_records() && told.opened;
                    let is_told =
                        told.outcomes.values().any(|outcome| *outcome != Outcome::Acknowledged);
                    assert!(
                        is_told || !ignored,
                        "{place}: the error was not reported\n{}\n{}",
                        strace.log(),
                        told.text
                    );
                    told.check_reads(&place);
                    if ignored {
                        told.check_latch(strace.failed() == 1, &place);
                        latched += 1;
                    }
                }
            }
        }
    }
    println!("{latched} failures of the record file, after which writes were refused as latched");
    assert!(latched > 0);
    tally.end("single calls");
}

#[test]
fn a_full_file_system_loses_nothing() {
    let (mut random, mut tally, begun) =
        (Random::new(sizes::seed()), Tally::default(), Begun::new());
    let needed = machine::bytes_below(&begun.0.path().join("store")) / 1024;
    // New stores on what is too small for them, and half filled ones with little room.
    let mut sizes = random.some(needed / 16..=needed / 2, 2, 64);
    sizes.extend(random.some(needed + 64..=needed + 320, 2, 32));
    for (at, kib) in sizes.into_iter().enumerate() {
        let Some(mounted) = Mounted::new(kib) else { return };
        let path = mounted.path().join("store");
        // The copy has to fit on the disk.
        let first = if kib > needed { begun.put(&path, 1) } else { 0 };
        let told = run(program(), &path, first, at.is_multiple_of(3));
        tally.add(&told);
        // Opening a store that was not closed needs room.
        told.check_reads(&format!("{kib} KiB"));
        mounted.resize(needed * 16);
        check(&path, &told, &format!("{kib} KiB"));
    }
    tally.end("full file systems");
}

#[test]
fn a_file_system_that_becomes_read_only_loses_nothing() {
    let begun = Begun::new();
    let Some(mounted) = Mounted::new(64 * 1024) else { return };
    for at in 0..2 {
        let path = mounted.path().join(format!("store{at}"));
        let first = begun.put(&path, at);
        let told = match first {
            0 => run(program(), &path, 0, false),
            _ => Told {
                outcomes: (0..first).map(|step| (step, Outcome::Acknowledged)).collect(),
                ..Told::default()
            },
        };
        // The system refuses this change while a store is open.
        mounted.set_read_only(true);
        let refused = run(program(), &path, told.outcomes.len() as u64, false);
        assert!(!refused.opened, "{}", refused.text);
        mounted.set_read_only(false);
        check(&path, &told, "read only");
    }
}

#[test]
fn a_limit_on_the_length_of_files_loses_nothing() {
    let (mut random, mut tally, begun) =
        (Random::new(sizes::seed()), Tally::default(), Begun::new());
    let longest = machine::longest_below(&begun.0.path().join("store"));
    let blocks = (longest / 512).max(1);
    // A longer limit is hardly met: the longest file is the one that grows.
    for (at, limit) in random.some(blocks / 4..=blocks, 4, 32).into_iter().enumerate() {
        let directory = machine::directory();
        let path = directory.path().join("store");
        let first = begun.put(&path, at);
        // The system sends a signal first, which ends a process that does not ignore it, and then
        // returns an error.
        let told = run(
            machine::limited(&format!("trap '' XFSZ; ulimit -f {limit}")),
            &path,
            first,
            at.is_multiple_of(3),
        );
        tally.add(&told);
        told.check_reads(&format!("files of {limit} blocks"));
        check(&path, &told, &format!("files of {limit} blocks"));
    }
    tally.end("limits on the length of files");
}

#[test]
fn a_limit_on_open_files_loses_nothing() {
    let (mut random, mut tally, begun) =
        (Random::new(sizes::seed()), Tally::default(), Begun::new());
    for (at, limit) in random.some(4..=14, 4, 1).into_iter().enumerate() {
        let directory = machine::directory();
        let path = directory.path().join("store");
        let first = begun.put(&path, at);
        let told = run(
            machine::limited(&format!("ulimit -n {limit}")),
            &path,
            first,
            at.is_multiple_of(3),
        );
        tally.add(&told);
        check(&path, &told, &format!("{limit} open files"));
    }
    tally.end("limits on open files");
}
