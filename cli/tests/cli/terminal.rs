//! The shell and the pager in a pseudo terminal. `scripts.rs` has what every platform tests.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use stationdb::prelude::*;

use crate::bench::{Bench, program, request, rows, run};

const PATIENCE: Duration = Duration::from_secs(30);
const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";
const UP: &str = "\u{1b}[A";

/// A program in a terminal of 100 columns.
struct Terminal {
    child: Child,
    keys: File,
    seen: Arc<Mutex<Vec<u8>>>,
    /// What was looked at already.
    at: usize,
}

impl Terminal {
    fn start(bench: &Bench, arguments: &[&str], pager: &str) -> Self {
        let size = Winsize { ws_row: 30, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        let pair = openpty(&size, None).unwrap();
        let slave = || Stdio::from(pair.slave.try_clone().unwrap());
        let mut command = bench.command(arguments);
        command.env("TERM", "xterm").env("STATIONDB_PAGER", pager);
        let child = command.stdin(slave()).stdout(slave()).stderr(slave()).spawn().unwrap();
        let keys = File::from(pair.master);
        let mut screen = keys.try_clone().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let reader = Arc::clone(&seen);
        spawn(move || {
            let mut bytes = [0; 4096];
            // The read fails when the program has ended.
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                reader.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        // The terminal ends with the last program in it.
        drop(pair.slave);
        Self { child, keys, seen, at: 0 }
    }

    fn send(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// What was not looked at yet, up to the last whole character.
    fn unseen(&self) -> String {
        let seen = self.seen.lock().unwrap();
        let new = &seen[self.at..];
        let whole = match std::str::from_utf8(new) {
            Ok(_) => new.len(),
            Err(error) => error.valid_up_to(),
        };
        String::from_utf8(new[..whole].to_vec()).unwrap()
    }

    /// Waits for a text after the last one, and returns what was between.
    #[track_caller]
    fn expect(&mut self, text: &str) -> String {
        let begin = Instant::now();
        loop {
            let new = self.unseen();
            if let Some(found) = new.find(text) {
                self.at += found + text.len();
                return new[..found].to_owned();
            }
            assert!(begin.elapsed() < PATIENCE, "no {text:?} in {new:?}");
            sleep(Duration::from_millis(5));
        }
    }

    #[track_caller]
    fn end(mut self) -> Option<i32> {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            if begin.elapsed() > PATIENCE {
                self.child.kill().unwrap();
                panic!("the program does not end: {:?}", self.unseen());
            }
            sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn a_session_of_the_shell() {
    let bench = Bench::new();
    let mut terminal = Terminal::start(&bench, &[], "");
    terminal.expect("`help` lists the commands");
    terminal.expect("stationdb> ");
    // Completion: a command, a table, a column.
    terminal.send("exp\tLo\t--colu\tvol\t --take 1\r");
    terminal.expect("export Loop --columns volts");
    terminal.expect("volts\r\n0.5\r\n");
    terminal.expect("stationdb> ");
    // A field in a filter.
    terminal.send("ls products --filter 'partN\t == \"P-2\"' --columns partNumber,family --csv\r");
    terminal.expect("partNumber,family\r\nP-2,Digital\r\n");
    terminal.expect("stationdb> ");
    // A failure ends nothing.
    terminal.send("show nothing\r");
    terminal.expect("stationdb: there is no record with the id \"nothing\"\r\n");
    terminal.expect("stationdb> ");
    if cfg!(feature = "sql") {
        // A statement, and the completion of a column in it.
        terminal.send("select max(vol\t) as most from \"Loop\" --csv\r");
        terminal.expect("most\r\n9.5\r\n");
        terminal.expect("stationdb> ");
    }
    // Ctrl-C drops a line.
    terminal.send("export Loop");
    terminal.expect("export Loop");
    terminal.send(CTRL_C);
    terminal.expect("stationdb> ");
    // A table that was made a moment ago is completed.
    std::fs::write(bench.path("a.csv"), "t,v\n1,2\n").unwrap();
    terminal.send("import a.csv --name Quick\r");
    terminal.expect("imported 1 rows");
    terminal.expect("stationdb> ");
    terminal.send("export Qui\t\r");
    terminal.expect("row,t,v\r\n0,1,2\r\n");
    terminal.expect("stationdb> ");
    terminal.send("quit\r");
    assert_eq!(terminal.end(), Some(0));

    // The next shell knows the lines of this one.
    assert!(bench.read("history").contains("\nshow nothing\n"));
    let mut terminal = Terminal::start(&bench, &[], "");
    terminal.expect("stationdb> ");
    terminal.send(&format!("{UP}{UP}\r"));
    terminal.expect("row,t,v\r\n0,1,2\r\n");
    terminal.expect("stationdb> ");
    terminal.send(CTRL_D);
    assert_eq!(terminal.end(), Some(0));
}

/// Ctrl-C while a command works stops the command, and the shell goes on.
#[test]
fn an_interrupt_stops_the_command_alone() {
    let bench = Bench::empty();
    bench.fill(|session| rows(session, "Long", 600_000));
    let mut terminal = Terminal::start(&bench, &[], "");
    terminal.expect("stationdb> ");
    for _ in 0..2 {
        terminal.send("export Long\r");
        terminal.expect("\r\n5,0.5,5\r\n");
        kill(Pid::from_raw(i32::try_from(terminal.child.id()).unwrap()), Signal::SIGINT).unwrap();
        let rows = terminal.expect("stationdb: interrupted\r\n");
        assert!(rows.lines().count() < 500_000, "{} rows", rows.lines().count());
        terminal.expect("stationdb> ");
    }
    terminal.send("quit\r");
    assert_eq!(terminal.end(), Some(0));
}

/// Long work shows a bar, which disappears; Ctrl-C in the middle ends it with one line, and leaves
/// the store and the earlier files as they were.
#[test]
fn long_work_shows_a_bar_and_is_interrupted() {
    const ROWS: i32 = 600_000;
    let bench = Bench::empty();
    bench.fill(|session| {
        rows(session, "Long", ROWS);
        let file = request!({"name": "big.bin"});
        let mut big = std::io::repeat(7).take(400 << 20);
        session.upload_file(&mut big, file, &stationdb::Control::default()).unwrap();
    });
    bench.good(&["export", "Long", "-o", "whole.csv"]);
    std::fs::write(bench.path("old.csv"), "earlier").unwrap();
    std::fs::write(bench.path("old.png"), "earlier").unwrap();
    let names = bench.names();
    let works: [(&str, &[&str]); 6] = [
        ("exporting [", &["export", "Long", "-o", "old.csv"]),
        ("importing ", &["import", "whole.csv", "--name", "Again"]),
        ("reading", &["plot", "Long", "--y", "volts", "--where", "amps > 0", "-o", "old.png"]),
        ("backing up ", &["backup", "copy"]),
        ("verifying ", &["verify"]),
        ("exporting", &["export", "Long", "--order", "amps,volts", "-o", "old.csv"]),
    ];
    for (bar, arguments) in works {
        let mut terminal = Terminal::start(&bench, arguments, "");
        terminal.expect(bar);
        kill(Pid::from_raw(i32::try_from(terminal.child.id()).unwrap()), Signal::SIGINT).unwrap();
        let rest = terminal.expect("stationdb: interrupted\r\n");
        // The line of the bar was erased before the message.
        assert!(rest.contains("\u{1b}[2K") || rest.contains("\u{1b}[K"), "{arguments:?}: {rest:?}");
        assert_eq!(terminal.end(), Some(130), "{arguments:?}");
        assert_eq!(bench.read("old.csv"), "earlier", "{arguments:?}");
        assert_eq!(bench.read("old.png"), "earlier", "{arguments:?}");
        // What an interrupted backup leaves is taken up by the next one.
        let now = bench.names().into_iter().filter(|name| name != "copy");
        assert_eq!(now.collect::<Vec<_>>(), names, "{arguments:?}");
        assert_eq!(bench.json(&["ls", "tables"]).as_array().unwrap().len(), 1, "{arguments:?}");
    }
    bench.good(&["verify", "--quick"]);
    // The next backup is whole.
    bench.good(&["backup", "copy"]);
    let copy = run(program(bench.directory.path()).args(["copy", "ls", "tables", "--json"])).good();
    assert!(copy.contains("\"Long\""), "{copy}");
    // Work that ends by itself leaves no bar either.
    let mut terminal = Terminal::start(&bench, &["export", "Long", "-o", "new.csv"], "");
    terminal.expect("exporting [");
    let rest = terminal.expect("exported 600000 rows to new.csv");
    assert!(rest.ends_with("\u{1b}[2K") || rest.contains("\u{1b}[K"), "{rest:?}");
    assert_eq!(terminal.end(), Some(0));
    // Without a terminal there is none.
    bench.good(&["verify"]);
}

#[cfg(feature = "sql")]
#[test]
fn an_interrupt_stops_the_statement_alone() {
    let bench = Bench::empty();
    bench.fill(|session| rows(session, "Long", 400_000));
    let mut terminal = Terminal::start(&bench, &[], "");
    terminal.expect("stationdb> ");
    for _ in 0..2 {
        terminal.send("select sum(a.volts * b.amps) from \"Long\" a, \"Long\" b\r");
        sleep(Duration::from_secs(1));
        kill(Pid::from_raw(i32::try_from(terminal.child.id()).unwrap()), Signal::SIGINT).unwrap();
        terminal.expect("stationdb: interrupted\r\n");
        terminal.expect("stationdb> ");
    }
    terminal.send("select count(*) as n from \"Long\" --csv\r");
    terminal.expect("n\r\n400000\r\n");
    // The statement holds the store no longer.
    terminal.send("compact\r");
    terminal.expect("records.redb: ");
    terminal.expect("stationdb> ");
    terminal.send("quit\r");
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn long_output_is_paged() {
    let bench = Bench::new();
    let paged = |arguments: &[&str], pager: &str| {
        let mut terminal = Terminal::start(&bench, arguments, pager);
        let text = terminal.expect("P-1");
        assert_eq!(terminal.end(), Some(0), "{text}");
        text
    };
    let arguments = ["ls", "products", "--columns", "partNumber"];
    assert_eq!(
        paged(&arguments, "sed s/^/paged:/"),
        "paged:\u{1b}[1mpartNumber\u{1b}[0m\r\npaged:"
    );
    let plain = "\u{1b}[1mpartNumber\u{1b}[0m\r\n";
    assert_eq!(paged(&arguments, "cat"), plain);
    let arguments = [&arguments[..], &["--no-pager"]].concat();
    assert_eq!(paged(&arguments, "sed s/^/paged:/"), plain);
    // A pager that is left early is no failure.
    let mut terminal = Terminal::start(&bench, &["changes"], "head -1");
    terminal.expect("sequence");
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn a_pager_that_is_not_there_is_told() {
    let bench = Bench::new();
    let mut terminal = Terminal::start(&bench, &["ls", "products"], "no-such-pager");
    terminal.expect("pass --no-pager");
    assert_eq!(terminal.end(), Some(1));
}

#[test]
fn a_plot_fits_the_terminal() {
    let bench = Bench::new();
    let mut terminal = Terminal::start(&bench, &["plot", "Loop", "--y", "volts"], "");
    let text = terminal.expect("x: t");
    // A bar was there and was erased.
    let text = text.rsplit("\u{1b}[2K").next().unwrap_or_default();
    assert_eq!(terminal.end(), Some(0));
    let lines: Vec<&str> = text.lines().collect();
    assert!((25..=30).contains(&lines.len()), "{} lines: {text}", lines.len());
    let width = lines.iter().map(|line| console_width(line)).max().unwrap();
    assert!((90..=100).contains(&width), "{width} columns: {text}");
}

/// Columns of a line without its colours.
fn console_width(line: &str) -> usize {
    let mut width = 0;
    let mut chars = line.trim_end().chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => {
                let _ = chars.find(char::is_ascii_alphabetic);
            }
            _ => width += 1,
        }
    }
    width
}
