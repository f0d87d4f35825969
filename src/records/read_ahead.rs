//! Reading records of a long plan into the page cache before the plan asks for them.
//!
//! A batch changes records that lie far apart, so each one is a page that has to be read. The keys are known at the start:
//! a second thread reads them in the state that the turn began from, while the plan works on the first ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use super::{Snapshot, Space};

/// Reading under way; it ends when this is dropped.
pub(super) struct ReadAhead {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ReadAhead {
    /// Reads the keys of a space. What cannot be read is met again by whoever needs it.
    pub(super) fn begin(base: &Arc<Snapshot>, space: Space, keys: Vec<Vec<u8>>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (base, is_over) = (Arc::clone(base), Arc::clone(&stop));
        let read = move || {
            for key in keys {
                if is_over.load(Ordering::Relaxed) || base.touch(space, &key).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("stationdb-ahead".to_owned()).spawn(read).ok();
        Self { stop, thread }
    }
}

impl Drop for ReadAhead {
    /// The thread holds the snapshot, so it ends with the turn.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
