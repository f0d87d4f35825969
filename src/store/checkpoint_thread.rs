//! The thread that moves commits from the journal into the record file while others commit.

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use crate::disk::Owner;
use crate::error::{Error, Result};
use crate::session::{Checkpoints, Engine};

/// The checkpoint thread. Dropping this stops and joins it.
#[derive(Debug)]
pub(super) struct CheckpointThread {
    checkpoints: Arc<Checkpoints>,
    thread: Option<JoinHandle<()>>,
    owner: Owner,
}

impl CheckpointThread {
    /// Starts the thread. It has a strong reference to the engine only while it works, so it never
    /// keeps a store open.
    pub(super) fn start(engine: &Arc<Engine>) -> Result<Self> {
        let checkpoints = engine.checkpoints.clone();
        let (work, engine) = (checkpoints.clone(), Arc::downgrade(engine));
        checkpoints.begin();
        let thread = std::thread::Builder::new()
            .name("stationdb-checkpoint".to_owned())
            .spawn(move || work.run(|| checkpoint(&engine)))
            .map_err(|error| Error::io("starting the checkpoint thread", error))
            .inspect_err(|_| checkpoints.stop())?;
        Ok(Self { checkpoints, thread: Some(thread), owner: Owner::current() })
    }
}

/// One checkpoint; returns whether the store is still open. A failure has set the latch.
fn checkpoint(engine: &Weak<Engine>) -> bool {
    let Some(engine) = engine.upgrade() else { return false };
    let _ = engine.move_layers();
    true
}

impl Drop for CheckpointThread {
    #[expect(clippy::mem_forget, reason = "the process that opened the store joins its thread")]
    fn drop(&mut self) {
        if !self.owner.is_current() {
            // A forked process does not have this thread, and must not wait for its locks.
            std::mem::forget(self.thread.take());
            return;
        }
        self.checkpoints.stop();
        if let Some(thread) = self.thread.take() {
            // The thread itself may drop the last handle.
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}
