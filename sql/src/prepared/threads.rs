//! The threads of statements that block.

use std::mem::ManuallyDrop;
use std::sync::{Mutex, PoisonError};

use stationdb::{Error, Result};
use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;

/// The threads of prepared statements, which begin with the first of them.
#[derive(Debug, Default)]
pub(crate) struct SharedThreads(Mutex<Option<(u32, Runtime)>>);

impl SharedThreads {
    pub(crate) fn spawn(
        &self,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> Result<AbortHandle> {
        let mut threads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A process that was forked has none of the threads.
        let process = std::process::id();
        if let Some((_, lost)) = threads.take_if(|(owner, _)| *owner != process) {
            let _threads_of_the_other = ManuallyDrop::new(lost);
        }
        let (_, runtime) = match threads.take() {
            Some(known) => threads.insert(known),
            None => threads.insert((process, begun()?)),
        };
        Ok(runtime.spawn(work).abort_handle())
    }
}

impl Drop for SharedThreads {
    fn drop(&mut self) {
        let threads = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some((owner, runtime)) = threads.take() {
            if owner == std::process::id() {
                runtime.shutdown_background();
            } else {
                let _threads_of_the_other = ManuallyDrop::new(runtime);
            }
        }
    }
}

/// Threads for one statement, or for those that share them.
pub(crate) fn begun() -> Result<Runtime> {
    let runtime = Builder::new_multi_thread().enable_time().build();
    runtime.map_err(|error| Error::io("starting the threads of SQL", error))
}
