//! Who holds an old state of the store for longer than a call: pinned sessions, scans, backups and
//! verifications. The status names the one whose state is the oldest.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::session::lock::lock;

/// The readers that hold a snapshot.
#[derive(Debug, Default)]
pub(crate) struct Readers {
    held: Mutex<ReaderList>,
}

#[derive(Debug, Default)]
struct ReaderList {
    next: u64,
    readers: BTreeMap<u64, Reader>,
}

#[derive(Debug)]
struct Reader {
    who: String,
    sequence: u64,
    since: Instant,
}

/// A reader is in the list while this lives.
#[derive(Debug)]
pub(crate) struct ReaderHold {
    readers: Arc<Readers>,
    number: u64,
}

impl Readers {
    /// Puts `who` into the list, which reads the state of the commit `sequence`.
    pub(crate) fn hold(self: &Arc<Self>, who: String, sequence: u64) -> ReaderHold {
        let mut held = lock(&self.held);
        let number = held.next;
        held.next += 1;
        held.readers.insert(number, Reader { who, sequence, since: Instant::now() });
        ReaderHold { readers: self.clone(), number }
    }

    /// The reader of the oldest state: who it is, the state, and for how long it has it.
    pub(crate) fn oldest(&self) -> Option<(String, u64, Duration)> {
        let held = lock(&self.held);
        let oldest = held.readers.values().min_by_key(|reader| (reader.sequence, reader.since))?;
        Some((oldest.who.clone(), oldest.sequence, oldest.since.elapsed()))
    }
}

impl Drop for ReaderHold {
    fn drop(&mut self) {
        lock(&self.readers.held).readers.remove(&self.number);
    }
}
