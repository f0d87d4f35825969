//! The process that opened a file or a disk.

use std::io;

/// The process that opened a file or a disk. A forked process gets a copy of every handle, and must
/// not use it: two processes that write one file from what each has in memory destroy it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    process_id: u32,
}

impl Default for Owner {
    fn default() -> Self {
        Self::current()
    }
}

impl Owner {
    /// The current process.
    #[must_use]
    pub(crate) fn current() -> Self {
        Self { process_id: std::process::id() }
    }

    /// Whether the current process is the owner.
    #[must_use]
    pub(crate) fn is_current(self) -> bool {
        std::process::id() == self.process_id
    }

    /// Returns `ResourceBusy` in every process but the owner.
    pub(crate) fn check(self) -> io::Result<()> {
        if self.is_current() {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            format!(
                "process {} opened it; process {} is a fork of it and must not use its handles",
                self.process_id,
                std::process::id()
            ),
        ))
    }
}
