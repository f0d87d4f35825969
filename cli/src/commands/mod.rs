//! The commands. Each is a function over the open store; a new one gets a variant in `args.rs` and
//! a line in [`run`].

mod axis;
mod changes;
mod chart;
mod drawing;
mod figures;
mod import;
mod info;
#[cfg(feature = "lake")]
mod lake;
mod list;
mod missing;
mod page;
mod paths;
mod picture;
mod plot;
mod report;
mod rows;
mod scale;
mod sets;
#[cfg(feature = "sql")]
mod sql;
mod status;
mod terminal;
mod tree;
mod upkeep;

use stationdb::Store;

#[cfg(not(feature = "lake"))]
use crate::args::LakeFlags;
use crate::args::{Command, OutputFlags};
use crate::desk::{Desk, needs_the_store};
use crate::failure::{Code, Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::Output;

#[cfg(feature = "lake")]
use lake::sql_of_lake;
pub use sets::{backups, restore};
#[cfg(feature = "sql")]
use sql::sql;
pub use upkeep::salvage;

/// Runs one command.
pub fn run(desk: &mut Desk, look: &OutputFlags, command: &Command) -> Outcome {
    if desk.is_view && needs_the_store(command) {
        // Tells who has it.
        Store::options().create(false).open(&desk.dir)?;
        return Err(Failure::new(
            Code::Locked,
            "another process had the store open when this shell began; leave the shell and try \
             again",
        ));
    }
    let output = Output::new(look);
    match command {
        Command::Info => info::info(desk, output),
        Command::Status { watch } => status::status(desk, output, *watch),
        Command::Ls(ls) => list::ls(desk, output, ls),
        Command::Show { id, kind } => list::show(desk, output, id, kind.as_deref()),
        Command::Search { words, kind, take } => list::search(desk, output, words, kind, *take),
        Command::Sql { over, statement } => {
            let statement = statement.join(" ");
            match over.lake {
                Some(_) => sql_of_lake(&desk.interrupt, output, over, &statement),
                None => sql(desk, output, &statement),
            }
        }
        Command::Export(export) => rows::export(desk, output, export),
        Command::Import(import) => import::import(desk, output, import),
        Command::Plot(asked) => match &asked.measurement {
            Some(name) => chart::plot(desk, output, asked, name),
            None => plot::plot(desk, output, asked),
        },
        Command::Yield(asked) => figures::yields(desk, output, asked),
        Command::Pareto(asked) => figures::pareto(desk, output, asked),
        Command::Capability(asked) => figures::capability(desk, output, asked),
        Command::Report(asked) => report::report(desk, output, asked),
        Command::Changes { since, take, follow } => {
            changes::changes(desk, output, *since, *take, *follow)
        }
        Command::Backup { target, into } if into.set => sets::backup(desk, output, target, into),
        Command::Backup { target, .. } => upkeep::backup(desk, output, target),
        Command::Archive { set, bytes, bytes_per_second } => {
            sets::archive(desk, output, set.as_deref(), *bytes, *bytes_per_second)
        }
        Command::Repair { set } => sets::repair(desk, output, set),
        Command::Verify { quick, pages } => upkeep::verify(desk, output, *quick, *pages),
        Command::Compact { present_clock } => upkeep::compact(desk, output, *present_clock),
    }
}

/// Runs a command that needs no store, a statement over a lake; `None` for all others.
pub fn ask_a_lake(look: &OutputFlags, command: &Command, interrupt: &Interrupt) -> Option<Outcome> {
    let Command::Sql { over, statement } = command else { return None };
    over.lake.as_ref()?;
    Some(sql_of_lake(interrupt, Output::new(look), over, &statement.join(" ")))
}

/// What a build without the feature says.
#[cfg(not(feature = "sql"))]
fn sql(_desk: &Desk, _output: Output, _statement: &str) -> Outcome {
    Err(Failure::usage("this build has no SQL; build it with the feature `sql`"))
}

/// What a build without the feature says.
#[cfg(not(feature = "lake"))]
fn sql_of_lake(_interrupt: &Interrupt, _output: Output, _over: &LakeFlags, _text: &str) -> Outcome {
    Err(Failure::usage("this build has no SQL over lakes; build it with the feature `lake`"))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Line, ShellCommand};

    /// Ctrl-C is in the calls of each command that may read for long: none comes so far as to miss
    /// what is not there.
    #[test]
    fn every_command_is_told_of_an_interrupt() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let interrupt = Interrupt::default();
        let mut desk = Desk::open(&path, true, None, None, interrupt.clone()).unwrap();
        let backup = format!("backup {}", directory.path().join("copy").display());
        for words in [
            "info",
            "ls products --filter nothing=1",
            "show nothing",
            "search nothing",
            "export nothing",
            "plot nothing --y volts",
            "plot --measurement nothing",
            "yield",
            "pareto",
            "capability nothing",
            "report run nothing -o nothing.html",
            "report product nothing -o nothing.html",
            "report store -o nothing.html",
            backup.as_str(),
            "verify",
        ] {
            let line = Line::try_parse_from(words.split(' ')).unwrap();
            let ShellCommand::Command(command) = line.command else { panic!("{words}") };
            interrupt.begin();
            interrupt.press();
            let failure = run(&mut desk, &line.look, &command).unwrap_err();
            assert_eq!(failure.code, Code::Interrupted, "{words}: {failure}");
        }
    }
}
