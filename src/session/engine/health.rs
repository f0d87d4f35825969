//! What the status of a store tells about its engine.

use std::time::Duration;

use super::Engine;
use crate::error::Error;
use crate::session::lock::lock;
use crate::value::LatencyStatus;

/// The state of the engine at one moment.
#[derive(Debug)]
pub(crate) struct Health {
    /// Why writes are refused.
    pub(crate) latch: Option<Error>,
    pub(crate) commit_latency: LatencyStatus,
    pub(crate) sync_latency: LatencyStatus,
    pub(crate) sequence: u64,
    /// The last commit that the record file has.
    pub(crate) moved_sequence: u64,
    /// Bytes of the commits that the record file lacks.
    pub(crate) pending_bytes: u64,
    pub(crate) is_moving: bool,
    pub(crate) journal_file_bytes: u64,
    pub(crate) journal_record_bytes: u64,
    /// The last commit that the text index has; `None` while it is closed.
    pub(crate) text_sequence: Option<u64>,
    pub(crate) oldest_reader: Option<OldestReader>,
}

/// The reader of the oldest state.
#[derive(Debug)]
pub(crate) struct OldestReader {
    pub(crate) who: String,
    pub(crate) sequence: u64,
    /// For how long it has that state, if that is known.
    pub(crate) age: Option<Duration>,
}

impl Engine {
    /// What the status tells. It waits for a sync of the journal that is under way.
    pub(crate) fn health(&self) -> Health {
        let (journal_file_bytes, journal_record_bytes, sync_latency) = {
            let journal = lock(&self.journal);
            let (files, records) = journal.bytes();
            (files, records, journal.syncs().status())
        };
        // Before the snapshot below, which is a reader too.
        let oldest = self.oldest_live_sequence();
        let snapshot = self.snapshot();
        Health {
            latch: self.turns.latch.cause(),
            commit_latency: self.commit_latency.status(),
            sync_latency,
            sequence: snapshot.sequence,
            moved_sequence: snapshot.base().sequence,
            pending_bytes: snapshot.pending_bytes() as u64,
            is_moving: snapshot.frozen().is_some(),
            journal_file_bytes,
            journal_record_bytes,
            text_sequence: self.search.sequence(),
            oldest_reader: self.oldest_reader(oldest, snapshot.sequence),
        }
    }

    fn oldest_reader(&self, live: u64, newest: u64) -> Option<OldestReader> {
        let named = self.readers.oldest().map(|(who, sequence, age)| OldestReader {
            who,
            sequence,
            age: Some(age),
        });
        match named {
            Some(named) if named.sequence <= live => Some(named),
            // A call holds its state for its own time, and is in no list.
            _ if live < newest => {
                Some(OldestReader { who: "a call".to_owned(), sequence: live, age: None })
            }
            named => named,
        }
    }
}
