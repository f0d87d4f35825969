//! Mending of damaged pages of the record file, while the store is open.
//!
//! What must hold:
//! - A snapshot of the commit whose pages are read is held until they are written, so that redb
//!   does not use them for something else.
//! - They are written under the lock `moving`, and a failed sync latches the store: it may have
//!   lost what a write of redb waits for.
//! - The record file is opened again only by the holder of the write turn, and without readers.

use std::sync::{Arc, PoisonError};

use crate::error::{ErrorKind, Result};
use crate::records::Snapshot;
use crate::records::salvage::mend::PageDamage;
use crate::session::access::sessions::{Access, Session};
use crate::session::engine::Engine;
use crate::session::lock::lock;
use crate::session::write::write_path::exclusive;
use crate::value::{Control, guarded};

impl Engine {
    /// The damaged pages of the record file, and a snapshot that keeps them from being replaced.
    ///
    /// # Errors
    /// `Latched` after a failed write; `Io`; the errors of `control`.
    pub(crate) fn page_damage(&self, control: &Control) -> Result<(Arc<Snapshot>, PageDamage)> {
        let (snapshot, commit) = {
            let _moving = self.hold_record_file()?;
            (self.snapshot(), self.records().last_commit()?)
        };
        let damage = self.records().page_damage(&commit, control)?;
        Ok((snapshot, damage))
    }

    /// Writes mended pages, each with the byte of the record file where it begins. `_held` is the
    /// snapshot that [`Self::page_damage`] returned them with.
    ///
    /// # Errors
    /// `Latched` if the files of the store were moved or replaced, and after a failed write; `Io`,
    /// after which the store is latched if it was the sync.
    pub(crate) fn put_pages(&self, pages: &[(u64, Vec<u8>)], _held: &Snapshot) -> Result<()> {
        let _moving = self.hold_record_file()?;
        self.check_place()?;
        let put = self.records().put_pages(pages);
        put.inspect_err(|error| {
            if self.records().check_writable().is_err() {
                self.set_latch(error);
            }
        })
    }

    /// As [`read_pages_again`]. Only the holder of the write turn may call it.
    fn reopen_record_file(&self) -> Result<bool> {
        let _moving = self.hold_record_file()?;
        self.check_place()?;
        self.at_a_moment_without_readers(|published| {
            let mut live = lock(&self.live);
            let layers = published.without_base();
            // No transaction of redb is open when the file is closed.
            *published = Arc::new(Snapshot::empty(layers.sequence));
            live.clear();
            let mut records = self.records.write().unwrap_or_else(PoisonError::into_inner);
            let at = layers.base().sequence;
            let base = guarded("opening the record file again", || records.reopen(at));
            let base = base.inspect_err(|error| self.set_latch(error))?;
            *published = Arc::new(layers.rebased(base));
            live.push_back(Arc::downgrade(published));
            Ok(())
        })
    }
}

/// Reads pages from the record file again that redb has in its cache, as damaged ones. Returns
/// false if readers left no moment for that, or the store takes no writes: then it has to be
/// reopened.
///
/// # Errors
/// Those of opening the record file; the latch is then set. The errors of the session's control.
pub(crate) fn read_pages_again(session: &Session) -> Result<bool> {
    let context = session.context();
    match exclusive(context, "a repair of the record file") {
        Err(error) if error.kind() == ErrorKind::Latched => Ok(false),
        Err(error) => Err(error),
        Ok(_turn) => context.engine.reopen_record_file(),
    }
}
