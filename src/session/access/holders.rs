//! Who holds an open store, by kind of handle, for the error of a close.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A kind of handle that keeps a store open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// A session, or a clone of one.
    Session,
    /// A transaction that was begun and has not ended.
    Transaction,
    /// A change stream.
    ChangeStream,
    /// A scan of records.
    RecordStream,
    /// A writer of content that is named later.
    ContentWriter,
    /// The store itself, for the time of one call.
    Store,
}

/// The number of handles of each kind.
#[derive(Debug, Default)]
pub(crate) struct Holders {
    sessions: AtomicUsize,
    transactions: AtomicUsize,
    change_streams: AtomicUsize,
    record_streams: AtomicUsize,
    content_writers: AtomicUsize,
}

impl Holders {
    fn count(&self, holder: Holder) -> Option<&AtomicUsize> {
        match holder {
            Holder::Session => Some(&self.sessions),
            Holder::Transaction => Some(&self.transactions),
            Holder::ChangeStream => Some(&self.change_streams),
            Holder::RecordStream => Some(&self.record_streams),
            Holder::ContentWriter => Some(&self.content_writers),
            Holder::Store => None,
        }
    }

    /// The handles as a list of counts, `store_clones` before the others; `None` if there is none.
    pub(crate) fn list(&self, store_clones: usize) -> Option<String> {
        let of = |count: usize, one: &str, many: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            _ => Some(format!("{count} {many}")),
        };
        let count = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        let parts: Vec<String> = [
            of(store_clones, "clone of the store", "clones of the store"),
            of(count(&self.sessions), "session", "sessions"),
            of(count(&self.transactions), "open transaction", "open transactions"),
            of(count(&self.change_streams), "change stream", "change streams"),
            of(count(&self.record_streams), "scan of records", "scans of records"),
            of(
                count(&self.content_writers),
                "writer of file or package content",
                "writers of file or package content",
            ),
        ]
        .into_iter()
        .flatten()
        .collect();
        let (last, others) = parts.split_last()?;
        Some(match others {
            [] => last.clone(),
            _ => format!("{} and {last}", others.join(", ")),
        })
    }
}

/// Counts one handle while it lives.
#[derive(Debug)]
pub(crate) struct Hold {
    holders: Arc<Holders>,
    holder: Holder,
}

impl Hold {
    pub(crate) fn new(holders: Arc<Holders>, holder: Holder) -> Self {
        if let Some(count) = holders.count(holder) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        Self { holders, holder }
    }
}

impl Clone for Hold {
    fn clone(&self) -> Self {
        Self::new(self.holders.clone(), self.holder)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(count) = self.holders.count(self.holder) {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
