//! The commands. Each is a function over the open store; a new one gets a variant in `args.rs` and
//! a line in [`run`].

mod axis;
mod changes;
mod import;
mod info;
#[cfg(feature = "lake")]
mod lake;
mod list;
mod picture;
mod plot;
mod rows;
mod scale;
#[cfg(feature = "sql")]
mod sql;
mod terminal;
mod upkeep;

use std::io;
use std::path::{Path, PathBuf};

use stationdb::{Error, ErrorKind, Identity, Session, Store};

#[cfg(not(feature = "lake"))]
use crate::args::Over;
use crate::args::{Command, Look};
use crate::failure::{Code, Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::Output;

#[cfg(feature = "lake")]
use lake::sql_of_lake;
#[cfg(feature = "sql")]
use sql::sql;
pub use upkeep::restore;

/// The open store, and for whom commands work on it.
pub struct Desk {
    pub dir: PathBuf,
    pub store: Store,
    pub user: String,
    pub interrupt: Interrupt,
    /// Another process or user has the store, and this is a view of one commit.
    pub is_view: bool,
}

impl Desk {
    /// Opens the store in `dir`; creates one only if `may_create`.
    ///
    /// A shell stays open, so it maintains the store as every owner does. One command does not. If
    /// another process or user has the store, commands that read look into it; `command` is `None`
    /// for the shell.
    pub fn open(
        dir: &Path,
        may_create: bool,
        user: Option<&str>,
        command: Option<&Command>,
        interrupt: Interrupt,
    ) -> Outcome<Self> {
        if !may_create {
            check_exists(dir)?;
        }
        let store = Store::options().create(may_create).maintenance_thread(command.is_none());
        let (store, is_view) = match store.open(dir) {
            Err(error) if is_of_another(&error) && !command.is_some_and(needs_the_store) => {
                (Store::look(dir)?, true)
            }
            opened => (opened?, false),
        };
        let system = || ["USER", "USERNAME"].into_iter().find_map(|name| std::env::var(name).ok());
        let user = user.map(str::to_owned).or_else(system).filter(|user| !user.is_empty());
        let user = user.unwrap_or_else(|| "local".to_owned());
        Ok(Self { dir: dir.to_owned(), store, user, interrupt, is_view })
    }

    /// Looks again, if this is a view: the next command sees the newest commit.
    pub fn refresh(&mut self) -> Outcome {
        if self.is_view {
            self.store = Store::look(&self.dir)?;
        }
        Ok(())
    }

    /// A session of the user, whose calls Ctrl-C stops. None may be kept: compacting needs the store
    /// alone.
    pub fn session(&self) -> Session {
        self.store.session(Identity::user(&self.user)).with_control(&self.interrupt.control())
    }
}

/// Whether a command cannot work on a view: it writes, or works on the whole record file.
fn needs_the_store(command: &Command) -> bool {
    matches!(
        command,
        Command::Import(_) | Command::Compact { .. } | Command::Verify { pages: true, .. }
    )
}

/// Whether another process has the store, or another user, whose files this one may only read.
fn is_of_another(error: &Error) -> bool {
    let first = std::error::Error::source(error);
    let mut chain = std::iter::successors(first, |error| error.source());
    let io = chain.find_map(|error| error.downcast_ref::<io::Error>());
    error.kind() == ErrorKind::Locked
        || io.is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// The library creates a store where there is none; a command that looks must not.
fn check_exists(dir: &Path) -> Outcome {
    let name = dir.display();
    if dir.join("FORMAT").exists() {
        return Ok(());
    }
    if dir.join("records.redb").exists() {
        return Err(Failure::new(
            Code::Damaged,
            format!(
                "{name} has records but no file FORMAT: its creation was interrupted, which \
                 --create finishes, or the file was lost, and a backup has it"
            ),
        ));
    }
    let is_empty = std::fs::read_dir(dir).map_or(true, |mut entries| entries.next().is_none());
    let advice = if is_empty { "--create makes one" } else { "give the directory of a store" };
    Err(Failure::new(Code::NoStore, format!("there is no store in {name}; {advice}")))
}

/// Runs one command.
pub fn run(desk: &mut Desk, look: &Look, command: &Command) -> Outcome {
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
        Command::Plot(plot) => plot::plot(desk, output, plot),
        Command::Changes { since, take, follow } => {
            changes::changes(desk, output, *since, *take, *follow)
        }
        Command::Backup { target } => upkeep::backup(desk, output, target),
        Command::Verify { quick, pages } => upkeep::verify(desk, output, *quick, *pages),
        Command::Compact { present_clock } => upkeep::compact(desk, output, *present_clock),
    }
}

/// Runs a command that needs no store, a statement over a lake; `None` for all others.
pub fn ask_a_lake(look: &Look, command: &Command, interrupt: &Interrupt) -> Option<Outcome> {
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
fn sql_of_lake(_interrupt: &Interrupt, _output: Output, _over: &Over, _text: &str) -> Outcome {
    Err(Failure::usage("this build has no SQL over lakes; build it with the feature `lake`"))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{InShell, Line};

    #[test]
    fn a_store_of_another_user_is_one_to_look_into() {
        let error = |kind: io::ErrorKind| Error::io("opening the lock file", kind.into());
        assert!(is_of_another(&error(io::ErrorKind::PermissionDenied)));
        assert!(is_of_another(
            &error(io::ErrorKind::PermissionDenied).context("opening the store")
        ));
        assert!(!is_of_another(&error(io::ErrorKind::NotFound)));
        assert!(is_of_another(&Error::new(ErrorKind::Locked, "taken")));
    }

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
            backup.as_str(),
            "verify",
        ] {
            let line = Line::try_parse_from(words.split(' ')).unwrap();
            let InShell::Command(command) = line.command else { panic!("{words}") };
            interrupt.begin();
            interrupt.press();
            let failure = run(&mut desk, &line.look, &command).unwrap_err();
            assert_eq!(failure.code, Code::Interrupted, "{words}: {failure}");
        }
    }
}
