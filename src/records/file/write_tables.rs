//! The tables of an open write transaction.
//!
//! A table is opened when it is first written. Until then it is read from the snapshot that the
//! transaction began from, which is the state of the last commit. What must hold: no other
//! transaction commits between that snapshot and this commit. Otherwise reads would mix two states.

use std::sync::Arc;

use redb::{ReadableTable, ReadableTableMetadata};

use super::parts::Part;
use super::transaction::{WriteTable, WriteTransaction};
use crate::error::{Error, Result};
use crate::records::base::range;
use crate::records::error::from_redb;
use crate::records::space::{Table, TablePrefix};
use crate::records::{Base, Found, SUMS_KEY, Space, Sums};
use crate::value::drop_guarded;

/// The tables of one open write transaction: reads see what was written through it.
pub(in crate::records) struct WriteTables<'t> {
    pub(in crate::records) transaction: &'t WriteTransaction,
    tables: [Option<WriteTable<'t>>; Table::COUNT],
    /// The state that the transaction began from.
    pub(in crate::records) base: Arc<Base>,
    /// The changes of the sums; [`Self::finish`] writes them.
    sums: Sums,
    /// Bytes of values that were removed or replaced.
    removed_bytes: u64,
}

/// Opens a table for writing, once.
fn to_write<'s, 't>(
    transaction: &'t WriteTransaction,
    tables: &'s mut [Option<WriteTable<'t>>; Table::COUNT],
    table: Table,
) -> Result<&'s mut WriteTable<'t>> {
    let missing = || {
        Error::corrupt(format!(
            "records.redb has no table {}; restore the store from a backup",
            table.name()
        ))
    };
    let place = tables.get_mut(table.position()).ok_or_else(missing)?;
    if place.is_none() {
        *place = Some(transaction.open_table(table)?);
    }
    place.as_mut().ok_or_else(missing)
}

/// What is kept of the tables while they are closed between two calls.
pub(in crate::records) struct ClosedTables {
    base: Arc<Base>,
    sums: Sums,
    removed_bytes: u64,
    /// Which of them were written.
    written: [bool; Table::COUNT],
}

impl<'t> WriteTables<'t> {
    pub(in crate::records) fn new(transaction: &'t WriteTransaction, base: Arc<Base>) -> Self {
        Self {
            transaction,
            tables: Default::default(),
            base,
            sums: Sums::default(),
            removed_bytes: 0,
        }
    }

    /// Closes the tables until [`Self::reopen`].
    pub(in crate::records) fn pause(mut self) -> Result<ClosedTables> {
        let written = self.tables.each_ref().map(Option::is_some);
        self.close()?;
        Ok(ClosedTables {
            base: self.base.clone(),
            sums: std::mem::take(&mut self.sums),
            removed_bytes: self.removed_bytes,
            written,
        })
    }

    /// Opens again those of the tables that were written.
    pub(in crate::records) fn reopen(
        transaction: &'t WriteTransaction,
        closed: ClosedTables,
    ) -> Result<Self> {
        let ClosedTables { base, sums, removed_bytes, written } = closed;
        let mut opened = Self::new(transaction, base);
        (opened.sums, opened.removed_bytes) = (sums, removed_bytes);
        let is_written = |table: &Table| written.get(table.position()) == Some(&true);
        for table in Table::ALL.into_iter().filter(is_written) {
            opened.table_mut(table)?;
        }
        Ok(opened)
    }

    /// The table, if it was opened for writing.
    pub(in crate::records) fn written(&self, table: Table) -> Option<&WriteTable<'t>> {
        self.tables.get(table.position()).and_then(Option::as_ref)
    }

    /// The table for writing.
    pub(in crate::records) fn table_mut(&mut self, table: Table) -> Result<&mut WriteTable<'t>> {
        to_write(self.transaction, &mut self.tables, table)
    }

    /// Calls `f` with the value of a key, without copying the value; returns whether it has one.
    /// Not for the index and the log, whose entries are in several places.
    pub(in crate::records) fn read(
        &self,
        space: Space,
        key: &[u8],
        f: &mut Found<'_>,
    ) -> Result<bool> {
        let place = space.place();
        let Some(table) = self.written(place.table) else { return self.base.read(space, key, f) };
        let value =
            table.get(place.key(key).as_ref()).map_err(|error| from_redb("read a value", error))?;
        Ok(value.map(|guard| f(guard.value())).is_some())
    }

    /// A range of keys of a place.
    pub(in crate::records) fn part(
        &self,
        place: TablePrefix,
        from: &[u8],
        to: Option<&[u8]>,
    ) -> Result<Part<'_>> {
        match self.written(place.table) {
            Some(table) => range!(table, place, from, to),
            None => self.base.part(place, from, to),
        }
    }

    /// The number of rows of a table.
    pub(in crate::records) fn len(&self, table: Table) -> Result<u64> {
        match self.written(table) {
            Some(table) => table.len().map_err(|error| from_redb("count a space", error)),
            None => self.base.table_len(table),
        }
    }

    /// Tells the transaction which record changes.
    fn note(&self, space: Space, key: &[u8]) {
        if space == Space::Records {
            self.transaction.changes_record(key);
        }
    }

    /// Sets a key, and updates the sums of `space`.
    pub(in crate::records) fn insert(
        &mut self,
        space: Space,
        place: TablePrefix,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        self.note(space, key);
        let table = to_write(self.transaction, &mut self.tables, place.table)?;
        let old = table.insert(place.key(key).as_ref(), value);
        let old = old.map_err(|error| from_redb("write a value", error))?;
        let old = old.as_ref().map(|old| old.value());
        self.removed_bytes += old.map_or(0, |old| old.len() as u64);
        self.sums.replace(space, key, old, Some(value));
        Ok(())
    }

    /// Removes a key, and updates the sums of `space`; returns whether the key existed.
    pub(in crate::records) fn remove(
        &mut self,
        space: Space,
        place: TablePrefix,
        key: &[u8],
    ) -> Result<bool> {
        self.note(space, key);
        let table = to_write(self.transaction, &mut self.tables, place.table)?;
        let old = table.remove(place.key(key).as_ref());
        let old = old.map_err(|error| from_redb("remove a value", error))?;
        let old = old.as_ref().map(|old| old.value());
        self.removed_bytes += old.map_or(0, |old| old.len() as u64);
        self.sums.replace(space, key, old, None);
        Ok(old.is_some())
    }

    /// Writes the sums and closes the tables. The changes of a table that is not closed would be
    /// missing from the commit.
    pub(in crate::records) fn finish(&mut self) -> Result<()> {
        self.write_sums()?;
        self.close()?;
        self.transaction.removed(self.removed_bytes);
        Ok(())
    }

    /// Closes the tables. When a table is dropped, redb takes its changes into the transaction.
    ///
    /// Each table is dropped under a guard of its own. redb panics here if it panicked before with
    /// a lock held, and a second panic during the unwinding of the first one would abort the
    /// process.
    fn close(&mut self) -> Result<()> {
        let mut closed = Ok(());
        for table in &mut self.tables {
            // The other tables are closed even if one cannot be.
            closed = closed.and(drop_guarded("closing a table", table.take()));
        }
        closed
    }

    /// Adds the changes to the row of the sums. A damaged row stays as it is, so that verification
    /// reports it.
    fn write_sums(&mut self) -> Result<()> {
        if self.sums.is_empty() {
            return Ok(());
        }
        let place = Space::Meta.place();
        let key = place.key(SUMS_KEY);
        let table = to_write(self.transaction, &mut self.tables, place.table)?;
        let stored =
            match table.get(key.as_ref()).map_err(|error| from_redb("read a value", error))? {
                Some(row) => Sums::read(row.value()),
                None => Some(Sums::default()),
            };
        let Some(mut sums) = stored else { return Ok(()) };
        sums.join(&self.sums);
        let row = sums.to_row();
        table
            .insert(key.as_ref(), row.as_slice())
            .map_err(|error| from_redb("write a value", error))?;
        Ok(())
    }
}

impl Drop for WriteTables<'_> {
    fn drop(&mut self) {
        let _ = self.close();
    }
}
