//! Files that another program has open without sharing them.
//!
//! On Windows, scanners and indexers open new files for short times, and meanwhile the system
//! refuses to open, rename, remove or shorten them. Such a refusal is no answer: the operation is
//! tried again for [`RETRY`]. Elsewhere an open file refuses nothing.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a refused operation is tried again.
pub(super) const RETRY: Duration = Duration::from_millis(2_500);

/// The longest pause between two attempts.
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// Repeats an operation on names, or on a length, while another program has the file open.
///
/// A name whose removal waits for the last handle is refused with "access denied", as is what the
/// user may not do: the latter is reported after [`RETRY`], too.
pub(super) fn while_held<T>(attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    repeat(attempt, |refusal| {
        matches!(refusal, Refusal::AccessDenied | Refusal::Shared | Refusal::Locked)
            || refusal == Refusal::Mapped
    })
}

/// Repeats the opening of a file that exists while another program does not share it. "Access
/// denied" is an answer here: Windows gives it for a directory.
pub(super) fn while_not_shared<T>(attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    repeat(attempt, |refusal| refusal == Refusal::Shared)
}

fn repeat<T>(
    mut attempt: impl FnMut() -> io::Result<T>,
    is_passing: impl Fn(Refusal) -> bool,
) -> io::Result<T> {
    let mut pause = Duration::from_millis(1);
    let mut deadline = None;
    loop {
        match attempt() {
            Err(error) if Refusal::of(&error).is_some_and(&is_passing) => {
                let end = *deadline.get_or_insert_with(|| Instant::now() + RETRY);
                if Instant::now() + pause > end {
                    return Err(error);
                }
                sleep(pause);
                pause = PAUSE_MAX.min(pause * 2);
            }
            result => return result,
        }
    }
}

/// Why Windows refuses an operation on a file that is open elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// `ERROR_ACCESS_DENIED`: among others, the name is being removed, or is open and would be
    /// replaced.
    AccessDenied,
    /// `ERROR_SHARING_VIOLATION`: it is open without sharing what is asked for.
    Shared,
    /// `ERROR_LOCK_VIOLATION`: another handle has locked the range.
    Locked,
    /// `ERROR_USER_MAPPED_FILE`: it is mapped, and would become shorter.
    Mapped,
}

impl Refusal {
    const ALL: [Self; 4] = [Self::AccessDenied, Self::Shared, Self::Locked, Self::Mapped];

    /// The code of the system's error.
    const fn code(self) -> i32 {
        match self {
            Self::AccessDenied => 5,
            Self::Shared => 32,
            Self::Locked => 33,
            Self::Mapped => 1224,
        }
    }

    pub(super) fn of(error: &io::Error) -> Option<Self> {
        #[cfg(any(test, feature = "faults"))]
        if let Some(refused) =
            error.get_ref().and_then(|inner| inner.downcast_ref::<super::windows::Refused>())
        {
            return Some(refused.refusal);
        }
        let code = error.raw_os_error().filter(|_| cfg!(windows))?;
        Self::ALL.into_iter().find(|refusal| refusal.code() == code)
    }
}
