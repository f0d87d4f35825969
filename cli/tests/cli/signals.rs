//! Ctrl-C, as the signal that a terminal sends. Windows has no call that sends it to one process.

use std::fs;
use std::io::Read as _;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::bench::{Bench, Run, rows};

const ROWS: i32 = 600_000;

fn start(bench: &Bench, arguments: &[&str]) -> Child {
    let mut command = bench.command(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn interrupt(child: &Child) {
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGINT).unwrap();
}

fn ended(child: Child) -> Run {
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn is_begun(bench: &Bench) -> bool {
    fs::read_dir(bench.directory.path()).unwrap().any(|entry| {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        name.ends_with(".part") && entry.metadata().is_ok_and(|found| found.len() > 0)
    })
}

#[test]
fn an_interrupted_export_leaves_no_file() {
    let bench = Bench::empty();
    bench.fill(|session| rows(session, "Long", ROWS));
    fs::write(bench.path("long.csv"), "earlier").unwrap();
    let child = start(&bench, &["export", "Long", "-o", "long.csv"]);
    let begin = Instant::now();
    while !is_begun(&bench) {
        assert!(begin.elapsed() < Duration::from_secs(60), "the export does not begin");
        sleep(Duration::from_millis(2));
    }
    interrupt(&child);
    assert_eq!(ended(child).bad(130), "interrupted");
    assert_eq!(bench.names(), ["long.csv"]);
    assert_eq!(bench.read("long.csv"), "earlier");
    // The store is as it was.
    bench.good(&["verify"]);
}

#[test]
fn an_interrupted_export_to_a_pipe_stops() {
    let bench = Bench::empty();
    bench.fill(|session| rows(session, "Long", ROWS));
    let mut child = start(&bench, &["export", "Long"]);
    // Something was written; the rest does not fit into the pipe.
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut [0; 10]).unwrap();
    interrupt(&child);
    sleep(Duration::from_millis(100));
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert!(rest.lines().count() < ROWS as usize / 2, "{} rows", rest.lines().count());
    assert_eq!(ended(child).bad(130), "interrupted");
}

#[test]
fn following_ends_with_an_interrupt() {
    let bench = Bench::new();
    let mut child = start(&bench, &["changes", "--follow", "--jsonl"]);
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut [0; 10]).unwrap();
    sleep(Duration::from_millis(300));
    interrupt(&child);
    assert_eq!(ended(child).bad(130), "interrupted");
}

/// A statement that computes, long after its rows were read.
#[cfg(feature = "sql")]
#[test]
fn an_interrupted_statement_stops() {
    let bench = Bench::empty();
    bench.fill(|session| rows(session, "Long", 400_000));
    let statement = "select sum(a.volts * b.amps) from \"Long\" a, \"Long\" b";
    let mut child = start(&bench, &["sql", statement]);
    sleep(Duration::from_secs(1));
    assert!(child.try_wait().unwrap().is_none(), "the statement has ended");
    let pressed = Instant::now();
    interrupt(&child);
    let run = ended(child);
    assert!(pressed.elapsed() < Duration::from_secs(20), "{:?}", pressed.elapsed());
    assert_eq!(run.bad(130), "interrupted");
    bench.good(&["verify"]);
}
