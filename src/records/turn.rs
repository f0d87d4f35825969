//! An open write transaction with its own view of the indexes and of the log.
//!
//! Rows are read and written through [`WriteTables`]. Changes of the index space stay in memory and
//! become a run when the turn is finished.

use std::cell::RefCell;
use std::sync::Arc;

use super::cursor::Inner;
use super::entries::SortedEntries;
use super::read_ahead::ReadAhead;
use super::recent_log::RecentLog;
use super::runs::{self, Ahead, Manifest, Memory, Merged, Rows, Work};
use super::space::{RECENT_LOG, Table};
use super::write_tables::WriteTables;
use super::{Change, Cursor, Entries, Finished, Snapshot, Space, WriteTransaction};
use crate::error::Result;

/// The tables of one open write transaction: reads see what the turn wrote.
pub(crate) struct Turn<'t> {
    tables: WriteTables<'t>,
    /// The list of runs; `None` until the turn changes it.
    runs: Option<Manifest>,
    /// Changes of the index space, which become a run when the turn is finished.
    entries: Memory,
    /// Merging of runs in another thread.
    ahead: RefCell<Option<Ahead>>,
    /// Reads of records into the cache by other threads.
    reading: RefCell<Vec<ReadAhead>>,
    log: RecentLog,
}

/// Number of changes of index entries from which on runs are merged in another thread.
const MANY_ENTRIES: usize = 2_048;

/// Number of keys from which on they are read by another thread.
const MANY_READS: usize = 100;

impl<'t> Turn<'t> {
    /// Begins a turn that writes in `transaction`, from `base`, the state of the last commit.
    pub(crate) fn open(transaction: &'t WriteTransaction, base: Arc<Snapshot>) -> Self {
        Self {
            tables: WriteTables::new(transaction, base),
            runs: None,
            entries: Memory::new(),
            ahead: RefCell::default(),
            reading: RefCell::default(),
            log: RecentLog::default(),
        }
    }

    /// The table of the runs, and the ids of the runs.
    fn runs(&self) -> Result<(Rows<'_>, Vec<u64>)> {
        let rows = match self.tables.written(Table::Index) {
            Some(table) => Rows::Turn(table),
            None => Rows::Snapshot(self.tables.base.table(Table::Index)?),
        };
        let ids = match &self.runs {
            Some(runs) => runs.ids(),
            None => self.tables.base.runs()?.ids(),
        };
        Ok((rows, ids))
    }

    pub(super) fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.read(space, key, <[u8]>::to_vec)
    }

    /// Calls `f` with the value of a key, without copying the value, and returns its result.
    pub(super) fn read<T>(
        &self,
        space: Space,
        key: &[u8],
        f: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>> {
        if space == Space::Index {
            return self
                .cursor(space, key, Some(&[key, &[0]].concat()))?
                .visit(false, |_, value| f(value));
        }
        if space == Space::Log {
            return self
                .cursor(space, key, Some(&[key, &[0]].concat()))?
                .visit(false, |_, value| f(value));
        }
        self.tables.read(space, key, f)
    }

    pub(super) fn cursor(
        &self,
        space: Space,
        from: &[u8],
        to: Option<&[u8]>,
    ) -> Result<Cursor<'_>> {
        if space == Space::Index {
            let (rows, ids) = self.runs()?;
            return Ok(Cursor(Inner::Runs(Merged::new(rows, Some(&self.entries), ids, from, to))));
        }
        let first = self.tables.part(space.place(), from, to)?;
        if space == Space::Log {
            return Ok(Cursor(Inner::Trees(Box::new([
                first,
                self.tables.part(RECENT_LOG, from, to)?,
            ]))));
        }
        Ok(Cursor(Inner::Tree(first)))
    }

    /// The number of keys of the index space from `from` (included) to `to` (excluded).
    pub(super) fn count_entries(&self, from: &[u8], to: &[u8], most: u64) -> Result<u64> {
        let (rows, ids) = self.runs()?;
        runs::count(rows, Some(&self.entries), &ids, from..to, most)
    }

    pub(super) fn len(&self, space: Space) -> Result<u64> {
        match space {
            Space::Index => self.count_entries(&[], &[0xff], u64::MAX),
            Space::Log => {
                Ok(self.tables.len(Table::Log)?
                    + self.tables.part(RECENT_LOG, &[], None)?.count()?)
            }
            space if space.place().prefix_len() > 0 => {
                self.tables.part(space.place(), &[], None)?.count()
            }
            space => self.tables.len(space.place().table),
        }
    }

    /// Applies changes in order.
    pub(crate) fn apply(&mut self, changes: impl IntoIterator<Item = Change>) -> Result<()> {
        let mut single = Entries::default();
        for change in changes {
            // After a failure, redb's writes only reach the memory.
            self.tables.transaction.check()?;
            match change {
                Change::Entries(entries) => self.add_entries(entries),
                // Only a caller that copies a store does this, and it sets each key of the index
                // space once, so the key does not exist yet.
                Change::Put { space: Space::Index, key, value } => {
                    single.change_key(&key, false, Some(&value));
                }
                Change::Delete { space: Space::Index, key } => single.change_key(&key, true, None),
                Change::Put { space: Space::Log, key, value } => {
                    self.log.put(&mut self.tables, &key, &value)?;
                }
                Change::Delete { space: Space::Log, key } => {
                    self.log.delete(&mut self.tables, &key)?;
                }
                Change::Put { space, key, value } => {
                    self.tables.insert(space, space.place(), &key, &value)?;
                }
                Change::Delete { space, key } => {
                    self.tables.remove(space, space.place(), &key)?;
                }
            }
        }
        self.add_entries(single.into_sorted());
        Ok(())
    }

    /// Announces reads of these keys of a space. If they are many, another thread reads them into
    /// the cache.
    pub(crate) fn expect_reads(&self, space: Space, keys: Vec<Vec<u8>>) {
        if keys.len() >= MANY_READS {
            self.reading.borrow_mut().push(ReadAhead::begin(&self.tables.base, space, keys));
        }
    }

    /// Announces this many changes of index entries. If they are many, another thread merges runs
    /// meanwhile.
    pub(crate) fn expect_entries(&self, entries: usize) {
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
    fn add_entries(&mut self, mut newest: SortedEntries) {
        if newest.len() == 0 {
            return;
        }
        self.expect_entries(
            newest.len() + self.entries.iter().map(SortedEntries::len).sum::<usize>(),
        );
        while let Some(older) = self.entries.pop() {
            if older.len() >= newest.len() * 2 {
                self.entries.push(older);
                break;
            }
            newest = older.then(&newest);
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
            runs::flush(self.tables.table_mut(Table::Index)?, &mut runs, entries, ahead)?;
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
