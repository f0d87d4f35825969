//! One open write transaction and its tables.
//!
//! A table is opened when it is first written; until then the turn reads it in the snapshot that it began from, which
//! is the state of the last commit. What must hold: nobody else writes between that snapshot and the end of the turn.

use std::cell::RefCell;
use std::sync::Arc;

use redb::{ReadableTable, ReadableTableMetadata};

use super::cursor::{Inner, Part};
use super::entries::SortedEntries;
use super::error::from_redb;
use super::read_ahead::ReadAhead;
use super::recent_log::RecentLog;
use super::runs::{self, Ahead, Manifest, Memory, Merged, Rows, Work};
use super::snapshot::range;
use super::space::{Place, RECENT_LOG, Table};
use super::{Change, Cursor, Entries, SUMS_KEY, Snapshot, Space, Sums, WriteTransaction};
use crate::error::{Error, Result};
use crate::value::drop_guarded;

pub(super) type WriteTable<'t> = redb::Table<'t, &'static [u8], &'static [u8]>;

/// The tables of one open write transaction: reads see what the turn wrote.
pub(crate) struct Turn<'t> {
    transaction: &'t WriteTransaction,
    tables: [Option<WriteTable<'t>>; Table::COUNT],
    /// The state that the turn began from.
    base: Arc<Snapshot>,
    /// The runs, once the turn changed them.
    runs: Option<Manifest>,
    /// Changes of the index space, which become a run when the turn is finished.
    entries: Memory,
    /// Merging of runs that goes on in another thread.
    ahead: RefCell<Option<Ahead>>,
    /// Records that are read into the cache by other threads.
    reading: RefCell<Vec<ReadAhead>>,
    log: RecentLog,
    /// What the turn changes of the sums, which is written when the turn is finished.
    sums: Sums,
    /// Bytes of values that were removed or replaced.
    removed_bytes: u64,
}

/// Changes of index entries from which on runs are merged in another thread meanwhile.
const MANY_ENTRIES: usize = 2_048;

/// Keys from which on they are read by another thread.
const MANY_READS: usize = 100;

/// That a turn is finished: everything that it changed is in its transaction.
#[derive(Debug)]
pub(crate) struct Finished(());

impl Finished {
    /// Of a transaction without a turn.
    pub(super) fn nothing() -> Self {
        Self(())
    }
}

/// A table for writing.
fn to_write<'s, 't>(
    transaction: &'t WriteTransaction,
    tables: &'s mut [Option<WriteTable<'t>>; Table::COUNT],
    table: Table,
) -> Result<&'s mut WriteTable<'t>> {
    let missing = || Error::corrupt(format!("no table {}", table.name()));
    let place = tables.get_mut(table.position()).ok_or_else(missing)?;
    if place.is_none() {
        *place = Some(transaction.open_table(table)?);
    }
    place.as_mut().ok_or_else(missing)
}

impl<'t> Turn<'t> {
    /// A turn that writes in `transaction` and begins from `base`, the state of the last commit.
    pub(crate) fn open(transaction: &'t WriteTransaction, base: Arc<Snapshot>) -> Self {
        Self {
            transaction,
            tables: Default::default(),
            base,
            runs: None,
            entries: Memory::new(),
            ahead: RefCell::default(),
            reading: RefCell::default(),
            log: RecentLog::default(),
            sums: Sums::default(),
            removed_bytes: 0,
        }
    }

    /// The table if the turn writes it.
    fn written(&self, table: Table) -> Option<&WriteTable<'t>> {
        self.tables.get(table.position()).and_then(Option::as_ref)
    }

    /// The table for writing.
    fn table_mut(&mut self, table: Table) -> Result<&mut WriteTable<'t>> {
        to_write(self.transaction, &mut self.tables, table)
    }

    /// The rows of the indexes and the runs in them.
    fn runs(&self) -> Result<(Rows<'_>, Vec<u64>)> {
        let rows = match self.written(Table::Index) {
            Some(table) => Rows::Turn(table),
            None => Rows::Snapshot(self.base.table(Table::Index)?),
        };
        let ids = match &self.runs {
            Some(runs) => runs.ids(),
            None => self.base.runs()?.ids(),
        };
        Ok((rows, ids))
    }

    pub(super) fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.read(space, key, <[u8]>::to_vec)
    }

    /// What `f` makes of the value of a key, which it sees where it lies.
    pub(super) fn read<T>(&self, space: Space, key: &[u8], f: impl FnOnce(&[u8]) -> T) -> Result<Option<T>> {
        if space == Space::Index {
            return self.cursor(space, key, Some(&[key, &[0]].concat()))?.visit(false, |_, value| f(value));
        }
        if space == Space::Log {
            return self.cursor(space, key, Some(&[key, &[0]].concat()))?.visit(false, |_, value| f(value));
        }
        let place = space.place();
        let Some(table) = self.written(place.table) else { return self.base.read(space, key, f) };
        let value = table.get(place.key(key).as_ref()).map_err(|error| from_redb("read a value", error))?;
        Ok(value.map(|guard| f(guard.value())))
    }

    pub(super) fn cursor(&self, space: Space, from: &[u8], to: Option<&[u8]>) -> Result<Cursor<'_>> {
        if space == Space::Index {
            let (rows, ids) = self.runs()?;
            return Ok(Cursor(Inner::Runs(Merged::new(rows, Some(&self.entries), ids, from, to))));
        }
        let first = self.part(space.place(), from, to)?;
        if space == Space::Log {
            return Ok(Cursor(Inner::Trees(Box::new([first, self.part(RECENT_LOG, from, to)?]))));
        }
        Ok(Cursor(Inner::Tree(first)))
    }

    /// A range of keys of a place.
    pub(super) fn part(&self, place: Place, from: &[u8], to: Option<&[u8]>) -> Result<Part<'_>> {
        match self.written(place.table) {
            Some(table) => range!(table, place, from, to),
            None => self.base.part(place, from, to),
        }
    }

    /// The number of keys of the index space from `from` (included) to `to` (excluded).
    pub(super) fn count_entries(&self, from: &[u8], to: &[u8], most: u64) -> Result<u64> {
        let (rows, ids) = self.runs()?;
        runs::count(rows, Some(&self.entries), &ids, from..to, most)
    }

    pub(super) fn len(&self, space: Space) -> Result<u64> {
        match space {
            Space::Index => self.count_entries(&[], &[0xff], u64::MAX),
            Space::Log => Ok(self.table_len(Table::Log)? + self.part(RECENT_LOG, &[], None)?.count()?),
            space if space.place().prefix_len() > 0 => self.part(space.place(), &[], None)?.count(),
            space => self.table_len(space.place().table),
        }
    }

    fn table_len(&self, table: Table) -> Result<u64> {
        match self.written(table) {
            Some(table) => table.len().map_err(|error| from_redb("count a space", error)),
            None => self.base.table_len(table),
        }
    }

    /// Sets a key, which counts in the sums of `space`.
    pub(super) fn insert(&mut self, space: Space, place: Place, key: &[u8], value: &[u8]) -> Result<()> {
        let table = to_write(self.transaction, &mut self.tables, place.table)?;
        let old = table.insert(place.key(key).as_ref(), value);
        let old = old.map_err(|error| from_redb("write a value", error))?;
        let old = old.as_ref().map(|old| old.value());
        self.removed_bytes += old.map_or(0, |old| old.len() as u64);
        self.sums.replace(space, key, old, Some(value));
        Ok(())
    }

    /// Removes a key, which counts in the sums of `space`; whether it was there.
    pub(super) fn remove(&mut self, space: Space, place: Place, key: &[u8]) -> Result<bool> {
        let table = to_write(self.transaction, &mut self.tables, place.table)?;
        let old = table.remove(place.key(key).as_ref());
        let old = old.map_err(|error| from_redb("remove a value", error))?;
        let old = old.as_ref().map(|old| old.value());
        self.removed_bytes += old.map_or(0, |old| old.len() as u64);
        self.sums.replace(space, key, old, None);
        Ok(old.is_some())
    }

    /// Applies changes in order.
    pub(crate) fn apply(&mut self, changes: impl IntoIterator<Item = Change>) -> Result<()> {
        let mut single = Entries::default();
        for change in changes {
            // After a failure redb's writes go nowhere but into memory.
            self.transaction.check()?;
            match change {
                Change::Entries(entries) => self.add_entries(entries),
                // Whoever copies a store sets each key of the index space once.
                Change::Put { space: Space::Index, key, value } => single.change_key(&key, false, Some(&value)),
                Change::Delete { space: Space::Index, key } => single.change_key(&key, true, None),
                Change::Put { space: Space::Log, key, value } => {
                    let mut log = std::mem::take(&mut self.log);
                    log.put(self, &key, &value)?;
                    self.log = log;
                }
                Change::Delete { space: Space::Log, key } => {
                    let mut log = std::mem::take(&mut self.log);
                    log.delete(self, &key)?;
                    self.log = log;
                }
                Change::Put { space, key, value } => self.insert(space, space.place(), &key, &value)?,
                Change::Delete { space, key } => {
                    self.remove(space, space.place(), &key)?;
                }
            }
        }
        self.add_entries(single.into_sorted());
        Ok(())
    }

    /// Tells that these keys of a space will be read: when they are many, they are read into the cache meanwhile.
    pub(crate) fn expect_reads(&self, space: Space, keys: Vec<Vec<u8>>) {
        if keys.len() >= MANY_READS {
            self.reading.borrow_mut().push(ReadAhead::begin(&self.base, space, keys));
        }
    }

    /// Tells that so many changes of index entries will be applied: when they are many, runs are merged meanwhile.
    pub(crate) fn expect_entries(&self, entries: usize) {
        let mut ahead = self.ahead.borrow_mut();
        // What cannot be read now is found again when the turn is finished.
        if entries >= MANY_ENTRIES && ahead.is_none() && self.runs.is_none() {
            *ahead = Ahead::begin(&self.base).ok();
        }
    }

    /// Adds a set of changes; sets of like length become one, so that there are few.
    fn add_entries(&mut self, mut newest: SortedEntries) {
        if newest.len() == 0 {
            return;
        }
        self.expect_entries(newest.len() + self.entries.iter().map(SortedEntries::len).sum::<usize>());
        while let Some(older) = self.entries.pop() {
            if older.len() >= newest.len() * 2 {
                self.entries.push(older);
                break;
            }
            newest = older.then(&newest);
        }
        self.entries.push(newest);
    }

    /// The runs, to be changed.
    fn take_runs(&mut self) -> Result<Manifest> {
        match self.runs.take() {
            Some(runs) => Ok(runs),
            None => self.base.runs().cloned(),
        }
    }

    /// Puts what the turn keeps in memory into the transaction, which may then be committed.
    pub(crate) fn finish(mut self) -> Result<Finished> {
        self.transaction.check()?;
        let entries = std::mem::take(&mut self.entries);
        if !entries.is_empty() {
            let mut runs = self.take_runs()?;
            let ahead = self.ahead.take();
            runs::flush(self.table_mut(Table::Index)?, &mut runs, entries, ahead)?;
        }
        self.write_sums()?;
        // A table that was not closed is missing in the commit.
        self.close_tables()?;
        self.transaction.removed(self.removed_bytes);
        Ok(Finished(()))
    }

    /// Closes the tables: when one is dropped, redb takes what was changed in it into the transaction.
    ///
    /// Each in a guard of its own. redb panics here when it panicked before with a lock held, and the second of two panics
    /// that unwind together would end the process.
    fn close_tables(&mut self) -> Result<()> {
        let mut closed = Ok(());
        for table in &mut self.tables {
            // The others are closed as well when one cannot be.
            closed = closed.and(drop_guarded("closing a table", table.take()));
        }
        closed
    }

    /// Adds what the turn changed to the row of the sums. A row that is damaged stays as it is, for verification to tell.
    fn write_sums(&mut self) -> Result<()> {
        if self.sums.is_empty() {
            return Ok(());
        }
        let place = Space::Meta.place();
        let key = place.key(SUMS_KEY);
        let table = to_write(self.transaction, &mut self.tables, place.table)?;
        let stored = match table.get(key.as_ref()).map_err(|error| from_redb("read a value", error))? {
            Some(row) => Sums::read(row.value()),
            None => Some(Sums::default()),
        };
        let Some(mut sums) = stored else { return Ok(()) };
        sums.join(&self.sums);
        let row = sums.to_row();
        table.insert(key.as_ref(), row.as_slice()).map_err(|error| from_redb("write a value", error))?;
        Ok(())
    }

    /// Goes on merging the runs of the index space, a bounded part of it; whether there is more to do.
    pub(crate) fn settle_indexes(&mut self, entries: u64) -> Result<bool> {
        let mut runs = self.take_runs()?;
        let is_more = runs::settle(self.table_mut(Table::Index)?, &mut runs, Work(entries))?;
        self.runs = Some(runs);
        Ok(is_more)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let _ = self.close_tables();
    }
}
