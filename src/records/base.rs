//! A read-only view of the record file.

use std::sync::OnceLock;

use redb::{ReadTransaction, ReadableTableMetadata};

use super::cursor::Inner;
use super::error::from_redb;
use super::file::parts::{Part, Parts};
use super::journal::Link;
use super::row_cache::KeptRows;
use super::runs::{self, Manifest, Memory, Merged, Rows};
use super::space::{JOURNAL_LINK, RECENT_LOG, Table, TablePrefix};
use super::{Cursor, Found, SUMS_KEY, Space, Sums};
use crate::error::{Error, Result};

pub(super) type ReadTable = redb::ReadOnlyTable<&'static [u8], &'static [u8]>;

/// A read-only view of one state of the record file. It is cheap to create and to share, and stays
/// readable during later transactions.
///
/// A table is opened when it is first read: most snapshots of a busy store are replaced before they
/// are read.
pub(crate) struct Base {
    /// `None` in the empty view.
    transaction: Option<ReadTransaction>,
    tables: [OnceLock<ReadTable>; Table::COUNT],
    runs: OnceLock<Manifest>,
    /// The kept rows of records.
    rows: KeptRows,
    /// Sequence number of its last commit, or 0 if nobody asks for it.
    pub(crate) sequence: u64,
}

/// Opens a range of keys of a place.
macro_rules! range {
    ($table:expr, $place:expr, $from:expr, $to:expr) => {{
        let place: TablePrefix = $place;
        let from = place.key($from);
        let range = match place.end($to) {
            Some(to) => $table.range::<&[u8]>(from.as_ref()..to.as_ref().max(from.as_ref())),
            None => $table.range::<&[u8]>(from.as_ref()..),
        };
        range
            .map(|range| Part { range, prefix_len: place.prefix_len() })
            .map_err(|error| from_redb("open a key range", error))
    }};
}
pub(super) use range;

impl Base {
    pub(super) fn new(transaction: ReadTransaction, rows: KeptRows, sequence: u64) -> Self {
        Self {
            transaction: Some(transaction),
            tables: Default::default(),
            runs: OnceLock::new(),
            rows,
            sequence,
        }
    }

    /// A view without rows, which keeps no page of the file in use.
    pub(super) fn empty(sequence: u64) -> Self {
        Self {
            transaction: None,
            tables: Default::default(),
            runs: OnceLock::new(),
            rows: KeptRows::none(),
            sequence,
        }
    }

    pub(super) fn table(&self, table: Table) -> Result<&ReadTable> {
        let missing = || {
            Error::corrupt(format!(
                "records.redb has no table {}; restore the store from a backup",
                table.name()
            ))
        };
        let place = self.tables.get(table.position()).ok_or_else(missing)?;
        if let Some(open) = place.get() {
            return Ok(open);
        }
        let transaction = self.transaction.as_ref().ok_or_else(missing)?;
        let open = transaction.open_table(table.definition()).map_err(|error| {
            from_redb(&format!("open its table {} for reading", table.name()), error)
        })?;
        Ok(place.get_or_init(|| open))
    }

    /// Opens every table and reads the list of runs.
    ///
    /// # Errors
    /// `Corrupt` if a table or the list is missing or damaged.
    pub(super) fn open_all(&self) -> Result<()> {
        Table::ALL.into_iter().try_for_each(|table| self.table(table).map(|_| ()))?;
        self.runs().map(|_| ())
    }

    /// The list of runs.
    pub(super) fn runs(&self) -> Result<&Manifest> {
        if let Some(runs) = self.runs.get() {
            return Ok(runs);
        }
        let runs = runs::read_manifest(self.table(Table::Index)?)?;
        Ok(self.runs.get_or_init(|| runs))
    }

    pub(super) fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut copy = None;
        self.read(space, key, &mut |value| copy = Some(value.to_vec()))?;
        Ok(copy)
    }

    /// Calls `f` with the value of a key, without copying the value; returns whether it has one.
    pub(super) fn read(&self, space: Space, key: &[u8], f: &mut Found<'_>) -> Result<bool> {
        if space == Space::Index {
            return self.cursor(space, key, Some(&[key, &[0]].concat()))?.visit_value(f);
        }
        if space == Space::Records {
            return self.read_record(key, f);
        }
        let mut found = self.value_at(space.place(), key)?;
        if found.is_none() && space == Space::Log {
            found = self.value_at(RECENT_LOG, key)?;
        }
        Ok(found.map(|value| f(value.value())).is_some())
    }

    /// As [`Self::read`], for a row of a record.
    fn read_record(&self, key: &[u8], f: &mut Found<'_>) -> Result<bool> {
        if let Some(row) = self.rows.get(key) {
            f(&row);
            return Ok(true);
        }
        let Some(found) = self.value_at(Space::Records.place(), key)? else { return Ok(false) };
        self.rows.keep(key, found.value());
        f(found.value());
        Ok(true)
    }

    fn value_at(
        &self,
        place: TablePrefix,
        key: &[u8],
    ) -> Result<Option<redb::AccessGuard<'static, &'static [u8]>>> {
        let value = self.table(place.table)?.get(place.key(key).as_ref());
        value.map_err(|error| from_redb("read a value", error))
    }

    /// Reads the pages on the path to a key into the cache.
    pub(super) fn touch(&self, space: Space, key: &[u8]) -> Result<()> {
        let place = space.place();
        let found = self.table(place.table)?.get(place.key(key).as_ref());
        found.map(|_| ()).map_err(|error| from_redb("read a value", error))
    }

    pub(super) fn cursor(
        &self,
        space: Space,
        from: &[u8],
        to: Option<&[u8]>,
    ) -> Result<Cursor<'_>> {
        if space == Space::Index {
            return self.entries(Memory::default(), from, to);
        }
        self.parts(space, from, to).map(|parts| Cursor(Inner::Parts(parts)))
    }

    /// A cursor over the index space, with entries in memory that are newer.
    pub(super) fn entries<'a>(
        &'a self,
        memory: Memory<'a>,
        from: &[u8],
        to: Option<&[u8]>,
    ) -> Result<Cursor<'a>> {
        let rows = Rows::Snapshot(self.table(Table::Index)?);
        Ok(Cursor(Inner::Runs(Merged::new(rows, memory, self.runs()?.ids(), from, to))))
    }

    /// The rows of a space other than the index.
    pub(super) fn parts(&self, space: Space, from: &[u8], to: Option<&[u8]>) -> Result<Parts<'_>> {
        let first = self.part(space.place(), from, to)?;
        if space == Space::Log {
            return Ok(Parts::Two(Box::new([first, self.part(RECENT_LOG, from, to)?])));
        }
        Ok(Parts::One(first))
    }

    /// A range of keys of a place.
    pub(super) fn part(
        &self,
        place: TablePrefix,
        from: &[u8],
        to: Option<&[u8]>,
    ) -> Result<Part<'_>> {
        range!(self.table(place.table)?, place, from, to)
    }

    /// The number of keys of the index space from `from` (included) to `to` (excluded), with
    /// entries in memory that are newer.
    pub(super) fn count_entries(
        &self,
        memory: Memory<'_>,
        from: &[u8],
        to: &[u8],
        most: u64,
    ) -> Result<u64> {
        let rows = Rows::Snapshot(self.table(Table::Index)?);
        runs::count(rows, memory, &self.runs()?.ids(), from..to, most)
    }

    /// Keys that split a range of the index space into parts of at most `blocks` blocks.
    pub(super) fn split_entries(
        &self,
        from: &[u8],
        to: &[u8],
        blocks: usize,
    ) -> Result<Vec<Vec<u8>>> {
        let rows = Rows::Snapshot(self.table(Table::Index)?);
        runs::split(rows, &self.runs()?.ids(), from..to, blocks)
    }

    /// Finds the first row of the index space that a scan returns and a lookup of its key does not
    /// find. Such a row means a damaged branch page.
    pub(super) fn lost_index_row(&self) -> Result<Option<Vec<u8>>> {
        let failed = |error: redb::StorageError| from_redb("read the indexes", error);
        let table = self.table(Table::Index)?;
        for row in table.range::<&[u8]>(..).map_err(failed)? {
            let (key, _) = row.map_err(failed)?;
            if table.get(key.value()).map_err(failed)?.is_none() {
                return Ok(Some(key.value().to_vec()));
            }
        }
        Ok(None)
    }

    /// The sums of all collections; `None` if their row is missing or damaged.
    pub(super) fn sums(&self) -> Result<Option<Sums>> {
        Ok(self.get(Space::Meta, SUMS_KEY)?.and_then(|row| Sums::read(&row)))
    }

    /// Which journal continues this file, and from which pass on; `None` if it has none yet.
    ///
    /// # Errors
    /// `Corrupt` if the row is damaged.
    pub(super) fn link(&self) -> Result<Option<Link>> {
        let Some(row) = self.value_at(JOURNAL_LINK, &[])? else { return Ok(None) };
        let damaged = || {
            Error::corrupt(
                "records.redb: the row of its journal is damaged; restore it from a backup",
            )
        };
        Link::from_row(row.value()).map(Some).ok_or_else(damaged)
    }

    /// The number of sorted runs.
    #[cfg(test)]
    pub(super) fn run_count(&self) -> usize {
        self.runs().unwrap().ids().len()
    }

    pub(super) fn len(&self, space: Space) -> Result<u64> {
        match space {
            Space::Index => Ok(self.runs()?.len()),
            Space::Log => {
                Ok(self.table_len(Table::Log)? + self.part(RECENT_LOG, &[], None)?.count()?)
            }
            space if space.place().prefix_len() > 0 => self.part(space.place(), &[], None)?.count(),
            space => self.table_len(space.place().table),
        }
    }

    /// The number of rows of a table.
    pub(super) fn table_len(&self, table: Table) -> Result<u64> {
        self.table(table)?.len().map_err(|error| from_redb("count a space", error))
    }
}

impl std::fmt::Debug for Base {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Base").field("sequence", &self.sequence).finish_non_exhaustive()
    }
}
