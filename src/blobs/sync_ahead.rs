//! Syncing a file beside its writing.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use crate::disk::DiskFile;

/// A thread that syncs one file whenever it is asked to, until a sync fails.
pub(super) struct SyncAhead {
    requests: SyncSender<()>,
    thread: JoinHandle<io::Result<()>>,
}

impl SyncAhead {
    /// Starts the thread; `None` where the system has none to give.
    pub(super) fn start(file: Arc<dyn DiskFile>) -> Option<Self> {
        let (requests, received) = sync_channel(1);
        let work = move || received.into_iter().try_for_each(|()| file.sync_data());
        let thread = std::thread::Builder::new().name("stationdb-sync".to_owned()).spawn(work).ok()?;
        Some(Self { requests, thread })
    }

    /// Asks for a sync of what is written by now, and does not wait for it.
    ///
    /// # Errors
    /// What an earlier sync failed with; then nobody may sync the file again.
    pub(super) fn ask(self) -> io::Result<Self> {
        match self.requests.try_send(()) {
            // One that waits for its turn covers what was written since.
            Ok(()) | Err(TrySendError::Full(())) => Ok(self),
            Err(TrySendError::Disconnected(())) => {
                self.finish()?;
                Err(io::Error::other("the thread that syncs the file has stopped"))
            }
        }
    }

    /// Waits for the syncs that were asked for.
    ///
    /// # Errors
    /// What one of them failed with.
    pub(super) fn finish(self) -> io::Result<()> {
        drop(self.requests);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that syncs the file has stopped")))
    }
}
