//! The store that commands work on.

use std::io;
use std::path::{Path, PathBuf};

use stationdb::tables::readers::did_you_mean;
use stationdb::{Error, ErrorKind, Identity, Session, Store};

use crate::args::Command;
use crate::failure::{Code, Failure, Outcome};
use crate::interrupt::Interrupt;

/// Directories that a name is compared with.
const BESIDE_MAX: usize = 10_000;

/// The open store, and for whom commands work on it.
pub struct Desk {
    pub dir: PathBuf,
    pub store: Store,
    pub user: String,
    pub interrupt: Interrupt,
    /// Another process or user has the store, and this is a view of one commit.
    pub is_view: bool,
    /// The process that has the store, as its lock names it.
    pub owner: Option<String>,
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
        let (store, is_view, owner) = match store.open(dir) {
            Err(error) if is_of_another(&error) && !command.is_some_and(needs_the_store) => {
                let owner = owner_in(&error).map(str::to_owned);
                (Store::look(dir)?, true, owner)
            }
            opened => (opened.map_err(|error| unopened(dir, &error))?, false, None),
        };
        let system = || ["USER", "USERNAME"].into_iter().find_map(|name| std::env::var(name).ok());
        let user = user.map(str::to_owned).or_else(system).filter(|user| !user.is_empty());
        let user = user.unwrap_or_else(|| "local".to_owned());
        Ok(Self { dir: dir.to_owned(), store, user, interrupt, is_view, owner })
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
pub fn needs_the_store(command: &Command) -> bool {
    matches!(
        command,
        Command::Import(_)
            | Command::Compact { .. }
            | Command::Repair { .. }
            | Command::Archive { .. }
            | Command::Verify { pages: true, .. }
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

/// The process that an error about the lock names.
fn owner_in(error: &Error) -> Option<&str> {
    let (_, owner) = error.message().split_once("open already, by ")?;
    owner.split_once(';').map(|(owner, _)| owner)
}

/// The file of records, which every store has, and the one of a backup that is not complete.
const RECORDS: &str = "records.redb";
const INCOMPLETE: &str = "BACKUP-INCOMPLETE";
const ADVICE: &str = "restore a backup, or salvage the store into another directory";

/// Why a store does not open, and what to do about damage.
fn unopened(dir: &Path, error: &Error) -> Failure {
    let mut failure = Failure::of(error);
    let is_store = dir.join(RECORDS).exists() && !dir.join(INCOMPLETE).exists();
    if error.kind() == ErrorKind::NotAStore && is_store {
        failure.code = Code::Damaged;
        failure.message = format!(
            "{} has records, but its file FORMAT is damaged or that of something else; {ADVICE}",
            dir.display()
        );
    } else if error.kind() == ErrorKind::Corrupt && !says_what_to_do(&failure.message) {
        failure.message.push_str("; ");
        failure.message.push_str(ADVICE);
    }
    failure
}

fn says_what_to_do(message: &str) -> bool {
    message.contains("restore") || message.contains("salvage")
}

/// The library creates a store where there is none; a command that looks must not.
fn check_exists(dir: &Path) -> Outcome {
    let name = dir.display();
    if dir.join("FORMAT").exists() {
        return Ok(());
    }
    if dir.join(INCOMPLETE).exists() {
        return Err(Failure::new(
            Code::NoStore,
            format!(
                "{name} has a backup that was interrupted, which is no store; back up to it again, \
                 or use another backup"
            ),
        ));
    }
    if dir.join(RECORDS).exists() {
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
    let near = if dir.exists() { String::new() } else { near(dir) };
    Err(Failure::new(Code::NoStore, format!("there is no store in {name}{near}; {advice}")))
}

/// The directory beside it that is nearly called so.
fn near(dir: &Path) -> String {
    let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty());
    let beside = std::fs::read_dir(parent.unwrap_or(Path::new("."))).into_iter().flatten();
    let directories = beside.flatten().filter(|entry| entry.path().is_dir());
    let names: Vec<String> = directories
        .take(BESIDE_MAX)
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    did_you_mean(&name, names.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
