//! Reads the records of a long plan into the page cache before the plan needs them.
//!
//! A batch changes records that are far apart in the tree, so each one takes a page read. The keys
//! are known at the start: a second thread reads them in the snapshot that the turn began from,
//! while the plan works on the first ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use super::{Base, Space};

/// A read-ahead in progress; dropping it ends it.
pub(super) struct ReadAhead {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ReadAhead {
    /// Starts to read these keys of a space. Errors are ignored: the plan meets the same error when
    /// it reads the key.
    pub(super) fn begin(base: &Arc<Base>, space: Space, keys: Vec<Vec<u8>>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (base, is_over) = (Arc::clone(base), Arc::clone(&stop));
        let read = move || {
            for key in keys {
                if is_over.load(Ordering::Relaxed) || base.touch(space, &key).is_err() {
                    return;
                }
            }
        };
        let thread =
            std::thread::Builder::new().name("stationdb-ahead".to_owned()).spawn(read).ok();
        Self { stop, thread }
    }
}

impl Drop for ReadAhead {
    /// Waits for the thread: it holds the snapshot, which must not outlive the turn.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
