//! The shell without a terminal: commands from a pipe.

use std::io::Write as _;
use std::process::Stdio;

use crate::bench::{Bench, Run};

fn shell(bench: &Bench, arguments: &[&str], lines: &str) -> Run {
    let mut child = bench
        .command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn commands_are_read_from_a_pipe() {
    let bench = Bench::new();
    let lines = "# the first products\n\n ls products --columns 'partNumber' --take 1\n\
                 export Loop --take 1\nquit\nexport Loop\n";
    assert_eq!(shell(&bench, &[], lines).good(), "partNumber\nP-1\nt,volts,amps\n0,0.5,0\n");
    // The form of the command line is that of the lines, unless they say another.
    let lines = "ls products --columns partNumber --take 1\n\
                 ls products --columns partNumber --take 1 --csv";
    let out = shell(&bench, &["--jsonl"], lines).good();
    assert_eq!(out, "{\"partNumber\":\"P-1\"}\npartNumber\nP-1\n");
    assert_eq!(bench.names(), [""; 0], "a pipe has no history");
}

#[test]
fn the_first_failure_ends_a_script() {
    let bench = Bench::new();
    let run = shell(&bench, &[], "export Loop --take 1\nshow nothing\nexport Loop --take 1\n");
    assert_eq!(run.out, "t,volts,amps\n0,0.5,0\n");
    run.bad(5);
    let text = shell(&bench, &[], "gadget\n").bad(2);
    assert_eq!(text, "unrecognized subcommand 'gadget'; see `help`");
    let text = shell(&bench, &[], "ls products --fliter x\n").bad(2);
    assert!(text.starts_with("unexpected argument '--fliter' found"), "{text}");
    let text = shell(&bench, &[], "show 'x\n").bad(2);
    assert_eq!(text, "a quote is not closed");
}

#[test]
fn help_is_for_the_shell() {
    let bench = Bench::new();
    let all = shell(&bench, &[], "help\n").good();
    for command in ["info", "ls", "export", "plot", "quit"] {
        assert!(all.lines().any(|line| line.trim().starts_with(command)), "{command}: {all}");
    }
    // What makes a store is for the command line.
    assert!(
        !all.contains("restore") && !all.contains("salvage") && !all.contains("--create"),
        "{all}"
    );
    let one = shell(&bench, &[], "help export\n").good();
    assert!(one.contains("--where") && one.contains("export Loop -o loop.parquet"), "{one}");
}

/// Changes of one command are seen by the next, and compacting finds no session in its way.
#[test]
fn commands_follow_each_other() {
    let bench = Bench::new();
    std::fs::write(bench.path("a.csv"), "t,v\n1,2\n").unwrap();
    let lines = "import a.csv --name A\ncompact\nexport A\nverify --pages\nbackup copy\ninfo\n";
    let out = shell(&bench, &[], lines).good();
    assert!(out.contains("\nrow,t,v\n0,1,2\n"), "{out}");
    assert!(out.contains("\nno damage found: ") && out.contains("\nbacked up to copy: "), "{out}");
}
