//! The shell: reads lines from a terminal, or commands from a file.

use std::cell::RefCell;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::rc::Rc;

use clap::Parser as _;
use clap::error::ErrorKind;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};
use stationdb::Position;
use stationdb::prelude::*;
use stationdb::tables::QueryTablesRequest;

use crate::args::{Color, Line, OutputFlags, ShellCommand};
use crate::commands;
use crate::complete::{Completion, TableNames, Tables};
use crate::desk::Desk;
use crate::failure::{Code, Failure, Outcome};
use crate::output::failed;
use crate::{statement, words};

const PROMPT: &str = "stationdb> ";
/// Lines of the history.
const HISTORY: usize = 10_000;
/// Tables that are completed.
const TABLES: i64 = 1000;

/// Whether another line is read.
#[derive(PartialEq, Eq)]
enum ShellState {
    Line,
    End,
}

pub fn run(desk: &mut Desk, look: &OutputFlags) -> Outcome {
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        talk(desk, look)
    } else {
        read(desk, look)
    }
}

/// Commands from a file or a pipe. The first that fails ends them.
fn read(desk: &mut Desk, look: &OutputFlags) -> Outcome {
    for line in io::stdin().lock().lines() {
        let line = line.map_err(|error| Failure::io("reading the commands", &error))?;
        let next = execute(desk, look, &line)?;
        desk.interrupt.end();
        if next == ShellState::End {
            break;
        }
    }
    Ok(())
}

/// Lines from a terminal. A command that fails ends nothing.
fn talk(desk: &mut Desk, look: &OutputFlags) -> Outcome {
    let said = |error: ReadlineError| {
        Failure::new(Code::Failed, format!("reading a line from the terminal: {error}"))
    };
    let builder = Config::builder().completion_type(CompletionType::List).auto_add_history(true);
    let config = builder.max_history_size(HISTORY).map_err(said)?.history_ignore_space(true);
    let mut editor: Editor<Completion, FileHistory> =
        Editor::with_config(config.build()).map_err(said)?;
    let tables = Tables::new(RefCell::new(Vec::new()));
    editor.set_helper(Some(Completion::new(Rc::clone(&tables))));
    let history = history_file();
    if let Some(path) = &history {
        // There is none before the first line.
        let _ = editor.load_history(path);
    }
    let greeting = format!(
        "stationdb {}, store {}\n`help` lists the commands, Tab completes, `quit` leaves.",
        env!("CARGO_PKG_VERSION"),
        desk.dir.display()
    );
    writeln!(io::stdout(), "{greeting}").map_err(failed)?;
    if desk.is_view {
        let note =
            "Another process or user has the store: each command looks at its newest commit.";
        writeln!(io::stdout(), "{note}").map_err(failed)?;
    }
    let mut seen = None;
    loop {
        desk.interrupt.begin();
        update(desk, &tables, &mut seen);
        match editor.readline(PROMPT) {
            Ok(line) => {
                if let Some(path) = &history {
                    // A history that cannot be written stops no work.
                    let _ = editor.append_history(path);
                }
                match execute(desk, look, &line) {
                    Ok(ShellState::Line) => {}
                    Ok(ShellState::End) => break,
                    Err(failure) => writeln!(io::stderr(), "{failure}").map_err(failed)?,
                }
            }
            // A line that was begun is dropped, as in other shells.
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(said(error)),
        }
    }
    Ok(())
}

/// Reads the names of tables and columns again if something was committed.
fn update(desk: &Desk, tables: &Tables, seen: &mut Option<Position>) {
    let session = desk.session();
    let now = session.position();
    if *seen == Some(now) {
        return;
    }
    // Without names there is no completion, and the next command tells why.
    let Ok(page) = session.query_tables(QueryTablesRequest::new().take(TABLES)) else { return };
    *seen = Some(now);
    let names = page.tables.into_iter().map(|table| TableNames {
        id: table.id.map(String::from).unwrap_or_default(),
        name: table.name.unwrap_or_default(),
        columns: table.columns.into_iter().flatten().map(|column| column.name).collect(),
    });
    *tables.borrow_mut() = names.collect();
}

fn execute(desk: &mut Desk, look: &OutputFlags, line: &str) -> Outcome<ShellState> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(ShellState::Line);
    }
    let words = match statement::words(line) {
        Some(words) => words,
        None => words::split(line)?,
    };
    match Line::try_parse_from(words) {
        Ok(Line { command: ShellCommand::Quit, .. }) => Ok(ShellState::End),
        Ok(Line { command: ShellCommand::Command(command), look: own }) => {
            desk.refresh()?;
            commands::run(desk, &merged(look, own), &command).map(|()| ShellState::Line)
        }
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            let text = error.render().to_string();
            writeln!(io::stdout(), "{}", text.trim_end()).map_err(failed)?;
            Ok(ShellState::Line)
        }
        Err(error) => {
            // The first paragraph says what is wrong; the usage follows.
            let text = error.to_string();
            let lines: Vec<&str> =
                text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
            let text = lines.join(" ");
            let text = text.strip_prefix("error: ").unwrap_or(&text);
            Err(Failure::usage(format!("{text}; see `help`")))
        }
    }
}

/// The line's own options before those of the command line.
fn merged(outer: &OutputFlags, own: OutputFlags) -> OutputFlags {
    let has_form = own.json || own.jsonl || own.csv;
    let form = if has_form { own.clone() } else { outer.clone() };
    let color = if own.color == Color::Auto { outer.color } else { own.color };
    OutputFlags { color, no_pager: own.no_pager || outer.no_pager, ..form }
}

/// Where the history is kept; nowhere if `STATIONDB_HISTORY` is empty.
fn history_file() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    if let Some(path) = variable("STATIONDB_HISTORY") {
        return Some(path).filter(|path| !path.as_os_str().is_empty());
    }
    let state = if cfg!(windows) {
        variable("LOCALAPPDATA")?
    } else {
        match variable("XDG_STATE_HOME").filter(|path| path.is_absolute()) {
            Some(path) => path,
            None => variable("HOME")?.join(".local").join("state"),
        }
    };
    let directory = state.join("stationdb");
    std::fs::create_dir_all(&directory).ok()?;
    Some(directory.join("history"))
}
