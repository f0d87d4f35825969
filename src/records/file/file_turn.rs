//! An open write transaction of the record file, with its own view of the indexes and of the log.
//!
//! Rows are read and written through [`WriteTables`]. Changes of the index space stay in memory and
//! become a run when the turn is finished.

mod reads;

use std::cell::RefCell;
use std::sync::Arc;

use super::recent_log::RecentLog;
use super::write_tables::{ClosedTables, WriteTables};
use crate::error::{Error, Result};
use crate::records::error::from_redb;
use crate::records::journal::Link;
use crate::records::memory::entries::SortedEntries;
use crate::records::memory::layer::{Layer, Row, Sets};
use crate::records::runs;
use crate::records::runs::{Ahead, Manifest, Memory, Work};
use crate::records::space::{JOURNAL_LINK, Table};
use crate::records::{Base, Change, Entries, Finished, Space, WriteTransaction};

/// The tables of one open write transaction: reads see what the turn wrote.
pub(crate) struct FileTurn<'t> {
    tables: WriteTables<'t>,
    /// The list of runs; `None` until the turn changes it.
    runs: Option<Manifest>,
    /// Changes of the index space, which become a run when the turn is finished.
    entries: Sets,
    /// Merging of runs in another thread.
    ahead: RefCell<Option<Ahead>>,
    log: RecentLog,
}

/// What is kept of a turn between two calls of a transaction, while its tables are closed.
///
/// redb's tables borrow the transaction, so a value that owns both cannot keep them open. Opening
/// one takes about as long as reading a row.
pub(crate) struct PausedTurn {
    tables: ClosedTables,
    runs: Option<Manifest>,
    entries: Sets,
    ahead: Option<Ahead>,
    log: RecentLog,
}

/// Number of changes of index entries from which on runs are merged in another thread.
const MANY_ENTRIES: usize = 2_048;

impl<'t> FileTurn<'t> {
    /// Begins a turn that writes in `transaction`, from `base`, the state of the last commit.
    pub(crate) fn open(transaction: &'t WriteTransaction, base: Arc<Base>) -> Self {
        Self {
            tables: WriteTables::new(transaction, base),
            runs: None,
            entries: Sets::new(),
            ahead: RefCell::default(),
            log: RecentLog::default(),
        }
    }

    /// Closes the tables until [`Self::resume`].
    ///
    /// # Errors
    /// Those of a write. The changes are then lost, so the transaction must not be committed.
    pub(crate) fn pause(self) -> Result<PausedTurn> {
        let Self { tables, runs, entries, ahead, log } = self;
        let tables = tables.pause()?;
        Ok(PausedTurn { tables, runs, entries, ahead: ahead.into_inner(), log })
    }

    /// Continues a turn in the transaction in which it was paused.
    ///
    /// # Errors
    /// As [`Self::pause`].
    pub(crate) fn resume(transaction: &'t WriteTransaction, paused: PausedTurn) -> Result<Self> {
        let PausedTurn { tables, runs, entries, ahead, log } = paused;
        let tables = WriteTables::reopen(transaction, tables)?;
        Ok(Self { tables, runs, entries, ahead: RefCell::new(ahead), log })
    }

    /// Applies changes in order.
    pub(crate) fn apply(&mut self, changes: impl IntoIterator<Item = Change>) -> Result<()> {
        let mut single = Entries::default();
        for change in changes {
            // After a failure, redb's writes only reach the memory.
            self.tables.transaction.check()?;
            match change {
                Change::Entries(entries) => self.add_entries(Arc::new(entries)),
                // Only a caller that copies a store does this, and it sets each key of the index
                // space once, so the key does not exist yet.
                Change::Put { space: Space::Index, key, value } => {
                    single.change_key(&key, false, Some(&value));
                }
                Change::Delete { space: Space::Index, key } => single.change_key(&key, true, None),
                Change::Put { space, key, value } => self.set(space, &key, Some(&value))?,
                Change::Delete { space, key } => self.set(space, &key, None)?,
            }
        }
        self.add_entries(Arc::new(single.into_sorted()));
        Ok(())
    }

    /// Sets or removes a key of a space other than the index.
    fn set(&mut self, space: Space, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        match value {
            Some(value) if space == Space::Log => self.log.put(&mut self.tables, key, value),
            None if space == Space::Log => self.log.delete(&mut self.tables, key),
            Some(value) => self.tables.insert(space, space.place(), key, value),
            None => self.tables.remove(space, space.place(), key).map(|_| ()),
        }
    }

    /// Applies all changes of a layer, in the order of their keys.
    pub(crate) fn apply_layer(&mut self, layer: &Layer) -> Result<()> {
        for space in Space::ALL.into_iter().filter(|space| *space != Space::Index) {
            let Some(mut walk) = layer.walk(space, &[], None, false) else { continue };
            while let Some(Row { key, value }) = walk.row() {
                self.tables.transaction.check()?;
                self.set(space, key, value.as_deref())?;
                if !walk.advance() {
                    break;
                }
            }
        }
        self.add_entries(Arc::new(SortedEntries::merge(layer.sets().iter().map(|set| &**set))));
        Ok(())
    }

    /// Makes `pass` of the journal the live one.
    pub(crate) fn set_pass(&mut self, pass: u64) -> Result<()> {
        let link = self.tables.base.link()?.ok_or_else(|| {
            Error::corrupt("records.redb has lost the row of its journal; close the store")
        })?;
        self.set_link(Link { pass, ..link })
    }

    /// Writes which journal continues the file, and from which pass on.
    pub(in crate::records) fn set_link(&mut self, link: Link) -> Result<()> {
        let (key, row) = (JOURNAL_LINK.key(&[]), link.to_row());
        let table = self.tables.table_mut(JOURNAL_LINK.table)?;
        let set = table.insert(key.as_ref(), row.as_slice());
        set.map(|_| ()).map_err(|error| from_redb("write the row of the journal", error))
    }

    /// Announces this many changes of index entries. If they are many, another thread merges runs
    /// meanwhile.
    fn expect_entries(&self, entries: usize) {
        let mut ahead = self.ahead.borrow_mut();
        // An error here is ignored: the same error occurs again when the turn is finished.
        if entries >= MANY_ENTRIES && ahead.is_none() && self.runs.is_none() {
            *ahead = Ahead::begin(&self.tables.base).ok();
        }
    }

    /// Adds a set of changes.
    ///
    /// Each set keeps at least twice as many changes as the next newer one; otherwise the two are
    /// merged. So the number of sets, which every read merges, grows with the logarithm of the
    /// changes, and each change is merged only that often.
    fn add_entries(&mut self, mut newest: Arc<SortedEntries>) {
        if newest.len() == 0 {
            return;
        }
        self.expect_entries(newest.len() + self.entries.iter().map(|set| set.len()).sum::<usize>());
        while let Some(older) = self.entries.pop() {
            if older.len() >= newest.len() * 2 {
                self.entries.push(older);
                break;
            }
            newest = Arc::new(SortedEntries::merge([&*older, &*newest]));
        }
        self.entries.push(newest);
    }

    /// Takes the list of runs, to change it.
    fn take_runs(&mut self) -> Result<Manifest> {
        match self.runs.take() {
            Some(runs) => Ok(runs),
            None => self.tables.base.runs().cloned(),
        }
    }

    /// Writes what the turn keeps in memory into the transaction, which may then be committed.
    ///
    /// The tables are closed last: redb takes the changes of a table into the transaction when the
    /// table is dropped.
    pub(crate) fn finish(mut self) -> Result<Finished> {
        self.tables.transaction.check()?;
        let entries = std::mem::take(&mut self.entries);
        if !entries.is_empty() {
            let mut runs = self.take_runs()?;
            let ahead = self.ahead.take();
            let memory = Memory { older: &[], newer: &entries };
            runs::flush(self.tables.table_mut(Table::Index)?, &mut runs, memory, ahead)?;
        }
        self.tables.finish()?;
        Ok(Finished::nothing_left())
    }

    /// Continues the merging of runs by a bounded amount; returns whether there is more to do.
    pub(crate) fn settle_indexes(&mut self, entries: u64) -> Result<bool> {
        let mut runs = self.take_runs()?;
        let is_more = runs::settle(self.tables.table_mut(Table::Index)?, &mut runs, Work(entries))?;
        self.runs = Some(runs);
        Ok(is_more)
    }
}
