//! The process that opened something.

use std::io;

/// The process that opened something. A fork gets a copy of every handle, and must not use it: two
/// processes that write one file from what each has in memory destroy it.
#[derive(Clone, Copy, Debug)]
pub struct Owner {
    process_id: u32,
}

impl Default for Owner {
    fn default() -> Self {
        Self::current()
    }
}

impl Owner {
    /// The process that runs this.
    #[must_use]
    pub fn current() -> Self {
        Self { process_id: std::process::id() }
    }

    /// Whether the process that runs this is the owner.
    #[must_use]
    pub fn is_current(self) -> bool {
        std::process::id() == self.process_id
    }

    /// Refuses every process but the owner with `ResourceBusy`.
    pub fn check(self) -> io::Result<()> {
        if self.is_current() {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            format!(
                "process {} opened it, and process {} is a fork of that one and must not use it",
                self.process_id,
                std::process::id()
            ),
        ))
    }
}
