//! One open write transaction and its tables.

use redb::{ReadableTable, ReadableTableMetadata};

use super::error::from_redb;
use super::{Change, Cursor, Space};
use crate::error::{Error, Result};

type Table<'t> = redb::Table<'t, &'static [u8], &'static [u8]>;

/// The tables of one open write transaction: reads see what the turn wrote.
pub(crate) struct Turn<'t> {
    tables: Vec<Table<'t>>,
}

impl<'t> Turn<'t> {
    /// Opens every space in `transaction`, creating those that are missing.
    pub(crate) fn open(transaction: &'t redb::WriteTransaction) -> Result<Self> {
        let tables = Space::ALL
            .iter()
            .map(|space| transaction.open_table(space.definition()))
            .collect::<std::result::Result<Vec<_>, _>>()
            .map_err(|error| from_redb("open its tables for writing", error))?;
        Ok(Self { tables })
    }

    fn table(&self, space: Space) -> Result<&Table<'t>> {
        self.tables.get(space.position()).ok_or_else(|| Error::corrupt(format!("no space {}", space.name())))
    }

    pub(super) fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let value = self.table(space)?.get(key).map_err(|error| from_redb("read a value", error))?;
        Ok(value.map(|guard| guard.value().to_vec()))
    }

    pub(super) fn cursor(&self, space: Space, from: &[u8], to: Option<&[u8]>) -> Result<Cursor<'_>> {
        let table = self.table(space)?;
        let range = match to {
            Some(to) => table.range::<&[u8]>(from..to.max(from)),
            None => table.range::<&[u8]>(from..),
        };
        range.map(Cursor).map_err(|error| from_redb("open a key range", error))
    }

    pub(super) fn len(&self, space: Space) -> Result<u64> {
        self.table(space)?.len().map_err(|error| from_redb("count a space", error))
    }

    /// Applies changes in order.
    pub(crate) fn apply(&mut self, changes: &[Change]) -> Result<()> {
        for change in changes {
            let (Change::Put { space, key, .. } | Change::Delete { space, key }) = change;
            let table = self
                .tables
                .get_mut(space.position())
                .ok_or_else(|| Error::corrupt(format!("no space {}", space.name())))?;
            match change {
                Change::Put { value, .. } => {
                    table
                        .insert(key.as_slice(), value.as_slice())
                        .map_err(|error| from_redb("write a value", error))?;
                }
                Change::Delete { .. } => {
                    table.remove(key.as_slice()).map_err(|error| from_redb("remove a value", error))?;
                }
            }
        }
        Ok(())
    }
}
