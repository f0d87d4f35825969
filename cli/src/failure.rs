//! Why a command ended, and the exit code that says so.

use std::fmt;
use std::io;

use stationdb::{Error, ErrorKind};

/// The exit codes; `--help` and `docs/shell.md` list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    Failed = 1,
    Usage = 2,
    NoStore = 3,
    Locked = 4,
    NotFound = 5,
    Damaged = 6,
    /// 128 and the number of SIGINT.
    Interrupted = 130,
    /// 128 and the number of SIGPIPE.
    BrokenPipe = 141,
}

/// A command that did not succeed: the one line for the user, and the exit code.
#[derive(Debug)]
pub struct Failure {
    pub code: Code,
    pub message: String,
}

pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Code::Usage, message)
    }

    pub fn interrupted() -> Self {
        Self::new(Code::Interrupted, "interrupted")
    }

    /// An error of the operating system.
    pub fn io(attempt: impl fmt::Display, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => {
                Self::new(Code::BrokenPipe, "the reader of the output went away")
            }
            io::ErrorKind::NotFound => Self::new(Code::NotFound, format!("{attempt}: {error}")),
            _ => Self::new(Code::Failed, format!("{attempt}: {error}")),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::of(&error)
    }
}

impl Failure {
    /// An error of the store.
    pub fn of(error: &Error) -> Self {
        // The writers of the formats wrap the error of the output.
        let first = std::error::Error::source(error);
        let mut chain = std::iter::successors(first, |error| error.source());
        let is_pipe = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
        if let Some(pipe) = chain.find_map(|error| error.downcast_ref().filter(|e| is_pipe(e))) {
            return Self::io("", pipe);
        }
        let code = match error.kind() {
            ErrorKind::InvalidArgument | ErrorKind::LimitExceeded | ErrorKind::Unsupported => {
                Code::Usage
            }
            ErrorKind::NotFound => Code::NotFound,
            ErrorKind::Locked => Code::Locked,
            ErrorKind::NotAStore | ErrorKind::NewerFormat | ErrorKind::OlderFormat => Code::NoStore,
            ErrorKind::Corrupt => Code::Damaged,
            ErrorKind::Cancelled => return Self::interrupted(),
            _ => Code::Failed,
        };
        Self::new(code, error.to_string())
    }
}

impl fmt::Display for Failure {
    /// One line: a name in a message may contain line ends and escape sequences.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.message.trim_end();
        let shown = shown.chars().map(|c| if c.is_control() { ' ' } else { c });
        write!(f, "stationdb: {}", shown.collect::<String>())
    }
}
