//! Syncs a file in the background while it is being written.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use crate::disk::DiskFile;

/// A thread that syncs one file on request, until a sync fails.
pub(super) struct SyncAhead {
    requests: SyncSender<()>,
    thread: JoinHandle<io::Result<()>>,
}

impl SyncAhead {
    /// Starts the thread; `None` if the system cannot start one.
    pub(super) fn start(file: Arc<dyn DiskFile>) -> Option<Self> {
        let (requests, received) = sync_channel(1);
        let work = move || received.into_iter().try_for_each(|()| file.sync_data());
        let thread =
            std::thread::Builder::new().name("stationdb-sync".to_owned()).spawn(work).ok()?;
        Some(Self { requests, thread })
    }

    /// Requests a sync of the data written so far, without waiting for it.
    ///
    /// # Errors
    /// The error of an earlier sync. The file must then not be synced again: the system may have
    /// dropped the data that it failed to write.
    pub(super) fn ask(self) -> io::Result<Self> {
        match self.requests.try_send(()) {
            // A request in the queue covers the data written since as well.
            Ok(()) | Err(TrySendError::Full(())) => Ok(self),
            Err(TrySendError::Disconnected(())) => {
                self.finish()?;
                Err(io::Error::other("internal error: the thread that syncs the file has stopped"))
            }
        }
    }

    /// Waits for all requested syncs.
    ///
    /// # Errors
    /// The error of one of them.
    pub(super) fn finish(self) -> io::Result<()> {
        drop(self.requests);
        self.thread.join().unwrap_or_else(|_| {
            Err(io::Error::other("internal error: the thread that syncs the file has stopped"))
        })
    }
}
