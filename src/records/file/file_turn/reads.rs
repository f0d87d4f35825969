//! Reading what an open write of the record file has.

use super::FileTurn;
use crate::error::Result;
use crate::records::cursor::Inner;
use crate::records::file::parts::Parts;
use crate::records::runs::{self, Memory, Merged, Rows};
use crate::records::space::{RECENT_LOG, Table};
use crate::records::{Cursor, Found, Space};

impl FileTurn<'_> {
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

    /// The changed index entries.
    fn memory(&self) -> Memory<'_> {
        Memory { older: &[], newer: &self.entries }
    }

    /// Calls `f` with the value of a key, without copying the value; returns whether it has one.
    pub(in crate::records) fn read(
        &self,
        space: Space,
        key: &[u8],
        f: &mut Found<'_>,
    ) -> Result<bool> {
        if matches!(space, Space::Index | Space::Log) {
            return self.cursor(space, key, Some(&[key, &[0]].concat()))?.visit_value(f);
        }
        self.tables.read(space, key, f)
    }

    pub(in crate::records) fn cursor(
        &self,
        space: Space,
        from: &[u8],
        to: Option<&[u8]>,
    ) -> Result<Cursor<'_>> {
        if space == Space::Index {
            let (rows, ids) = self.runs()?;
            return Ok(Cursor(Inner::Runs(Merged::new(rows, self.memory(), ids, from, to))));
        }
        let first = self.tables.part(space.place(), from, to)?;
        if space == Space::Log {
            let second = self.tables.part(RECENT_LOG, from, to)?;
            return Ok(Cursor(Inner::Parts(Parts::Two(Box::new([first, second])))));
        }
        Ok(Cursor(Inner::Parts(Parts::One(first))))
    }

    /// The number of keys of the index space from `from` (included) to `to` (excluded).
    pub(in crate::records) fn count_entries(
        &self,
        from: &[u8],
        to: &[u8],
        most: u64,
    ) -> Result<u64> {
        let (rows, ids) = self.runs()?;
        runs::count(rows, self.memory(), &ids, from..to, most)
    }

    pub(in crate::records) fn len(&self, space: Space) -> Result<u64> {
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
}
