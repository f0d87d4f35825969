//! One open write transaction and its tables.

use redb::{ReadableTable, ReadableTableMetadata};

use super::cursor::Inner;
use super::entries::SortedEntries;
use super::error::from_redb;
use super::runs::{self, Manifest, Memory, Merged, Rows, Work};
use super::{Change, Cursor, Entries, SUMS_KEY, Space, Sums};
use crate::error::{Error, Result};

type Table<'t> = redb::Table<'t, &'static [u8], &'static [u8]>;

/// The tables of one open write transaction: reads see what the turn wrote.
pub(crate) struct Turn<'t> {
    tables: Vec<Table<'t>>,
    runs: Manifest,
    /// Changes of the index space, which become a run when the turn is finished.
    entries: Memory,
    /// What the turn changes of the sums, which is written when the turn is finished.
    sums: Sums,
}

/// That a turn is finished: everything that it changed is in its transaction.
#[derive(Debug)]
pub(crate) struct Finished(());

fn no_space(space: Space) -> Error {
    Error::corrupt(format!("no space {}", space.name()))
}

impl<'t> Turn<'t> {
    /// Opens every space in `transaction`, creating those that are missing.
    pub(crate) fn open(transaction: &'t redb::WriteTransaction) -> Result<Self> {
        let tables = Space::ALL
            .iter()
            .map(|space| transaction.open_table(space.definition()))
            .collect::<std::result::Result<Vec<_>, _>>()
            .map_err(|error| from_redb("open its tables for writing", error))?;
        let mut turn = Self { tables, runs: Manifest::default(), entries: Memory::new(), sums: Sums::default() };
        turn.runs = runs::read_manifest(turn.table(Space::Index)?)?;
        Ok(turn)
    }

    fn table(&self, space: Space) -> Result<&Table<'t>> {
        self.tables.get(space.position()).ok_or_else(|| no_space(space))
    }

    pub(super) fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
        if space == Space::Index {
            return self.cursor(space, key, Some(&[key, &[0]].concat()))?.visit(false, |_, value| value.to_vec());
        }
        let value = self.table(space)?.get(key).map_err(|error| from_redb("read a value", error))?;
        Ok(value.map(|guard| guard.value().to_vec()))
    }

    pub(super) fn cursor(&self, space: Space, from: &[u8], to: Option<&[u8]>) -> Result<Cursor<'_>> {
        let table = self.table(space)?;
        if space == Space::Index {
            let merged = Merged::new(Rows::Turn(table), Some(&self.entries), self.runs.ids(), from, to);
            return Ok(Cursor(Inner::Runs(merged)));
        }
        let range = match to {
            Some(to) => table.range::<&[u8]>(from..to.max(from)),
            None => table.range::<&[u8]>(from..),
        };
        range.map(|range| Cursor(Inner::Tree(range))).map_err(|error| from_redb("open a key range", error))
    }

    /// The number of keys of the index space from `from` (included) to `to` (excluded).
    pub(super) fn count_entries(&self, from: &[u8], to: &[u8], most: u64) -> Result<u64> {
        runs::count(Rows::Turn(self.table(Space::Index)?), Some(&self.entries), &self.runs.ids(), from..to, most)
    }

    pub(super) fn len(&self, space: Space) -> Result<u64> {
        if space == Space::Index {
            return self.count_entries(&[], &[0xff], u64::MAX);
        }
        self.table(space)?.len().map_err(|error| from_redb("count a space", error))
    }

    /// Applies changes in order.
    pub(crate) fn apply(&mut self, changes: impl IntoIterator<Item = Change>) -> Result<()> {
        let mut single = Entries::default();
        for change in changes {
            match change {
                Change::Entries(entries) => self.add_entries(entries),
                // Whoever copies a store sets each key of the index space once.
                Change::Put { space: Space::Index, key, value } => single.change_key(&key, false, Some(&value)),
                Change::Delete { space: Space::Index, key } => single.change_key(&key, true, None),
                Change::Put { space, key, value } => {
                    let table = self.tables.get_mut(space.position()).ok_or_else(|| no_space(space))?;
                    let old = table
                        .insert(key.as_slice(), value.as_slice())
                        .map_err(|error| from_redb("write a value", error))?;
                    self.sums.replace(space, &key, old.as_ref().map(|old| old.value()), Some(&value));
                }
                Change::Delete { space, key } => {
                    let table = self.tables.get_mut(space.position()).ok_or_else(|| no_space(space))?;
                    let old = table.remove(key.as_slice()).map_err(|error| from_redb("remove a value", error))?;
                    self.sums.replace(space, &key, old.as_ref().map(|old| old.value()), None);
                }
            }
        }
        self.add_entries(single.into_sorted());
        Ok(())
    }

    /// Adds a set of changes; sets of like length become one, so that there are few.
    fn add_entries(&mut self, mut newest: SortedEntries) {
        if newest.len() == 0 {
            return;
        }
        while let Some(older) = self.entries.pop() {
            if older.len() >= newest.len() * 2 {
                self.entries.push(older);
                break;
            }
            newest = older.then(&newest);
        }
        self.entries.push(newest);
    }

    /// Puts what the turn keeps in memory into the transaction, which may then be committed.
    pub(crate) fn finish(mut self) -> Result<Finished> {
        let entries = std::mem::take(&mut self.entries);
        if !entries.is_empty() {
            let table = self.tables.get_mut(Space::Index.position()).ok_or_else(|| no_space(Space::Index))?;
            runs::flush(table, &mut self.runs, entries)?;
        }
        self.write_sums()?;
        Ok(Finished(()))
    }

    /// Adds what the turn changed to the row of the sums. A row that is damaged stays as it is, for verification to tell.
    fn write_sums(&mut self) -> Result<()> {
        if self.sums.is_empty() {
            return Ok(());
        }
        let table = self.tables.get_mut(Space::Meta.position()).ok_or_else(|| no_space(Space::Meta))?;
        let stored = match table.get(SUMS_KEY).map_err(|error| from_redb("read a value", error))? {
            Some(row) => Sums::read(row.value()),
            None => Some(Sums::default()),
        };
        let Some(mut sums) = stored else { return Ok(()) };
        sums.join(&self.sums);
        table.insert(SUMS_KEY, sums.to_row().as_slice()).map_err(|error| from_redb("write a value", error))?;
        Ok(())
    }

    /// Goes on merging the runs of the index space, a bounded part of it; whether there is more to do.
    pub(crate) fn settle_indexes(&mut self, entries: u64) -> Result<bool> {
        let table = self.tables.get_mut(Space::Index.position()).ok_or_else(|| no_space(Space::Index))?;
        runs::settle(table, &mut self.runs, Work(entries))
    }
}
