//! The newest rows of the change log, which are stored in the table of the small spaces.
//!
//! A small commit would write a leaf of the log, and the branches above it, for a hundred bytes. So
//! its row goes into a page that the commit writes anyway, and the collected rows move to the log
//! together.
//!
//! What must hold: each row is in exactly one of the two places, and the newest rows have higher
//! keys than all rows of the log. A cursor reads the log first and then the newest rows, so
//! otherwise it would return a row twice or out of order.

use super::write_tables::WriteTables;
use crate::error::Result;
use crate::records::Space;
use crate::records::space::RECENT_LOG;

/// Limit of the bytes of the newest rows, so that they fit into a page with their neighbours.
pub(crate) const BYTES: usize = 2_048;

/// What a turn knows about the newest rows.
#[derive(Debug, Default)]
pub(in crate::records) struct RecentLog {
    /// Their bytes; `None` until they are counted.
    bytes: Option<usize>,
    /// Whether the newest rows moved to the log in this turn. The turn's further rows then go to
    /// the log directly.
    is_full: bool,
}

impl RecentLog {
    /// Adds the row of a commit.
    ///
    /// When the rows exceed the limit, all of them move to the log and the new row is added there.
    /// A row that stayed behind would be older than rows of the log.
    pub(in crate::records) fn put(
        &mut self,
        tables: &mut WriteTables<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        if !self.is_full {
            let bytes = match self.bytes {
                Some(bytes) => bytes,
                None => rows(tables)?.iter().map(|(key, value)| key.len() + value.len()).sum(),
            };
            let grown = bytes + key.len() + value.len();
            if grown <= BYTES {
                self.bytes = Some(grown);
                return tables.insert(Space::Log, RECENT_LOG, key, value);
            }
            for (key, value) in rows(tables)? {
                tables.remove(Space::Log, RECENT_LOG, &key)?;
                tables.insert(Space::Log, Space::Log.place(), &key, &value)?;
            }
            self.is_full = true;
        }
        tables.insert(Space::Log, Space::Log.place(), key, value)
    }

    /// Removes a row.
    pub(in crate::records) fn delete(
        &mut self,
        tables: &mut WriteTables<'_>,
        key: &[u8],
    ) -> Result<()> {
        if !tables.remove(Space::Log, Space::Log.place(), key)? {
            tables.remove(Space::Log, RECENT_LOG, key)?;
            self.bytes = None;
        }
        Ok(())
    }
}

/// The newest rows.
fn rows(tables: &WriteTables<'_>) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut part = tables.part(RECENT_LOG, &[], None)?;
    let mut rows = Vec::new();
    while let Some(row) = part.next(false)? {
        rows.push((row.key().to_vec(), row.value().to_vec()));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use crate::disk::{MemoryDisk, SharedDisk};
    use crate::records::{Change, ReadSource, RecordFile, RecordFileOptions, Space};

    fn rows(source: ReadSource<'_>, from: &[u8], back: bool) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut cursor = source.cursor(Space::Log, from, None).unwrap();
        let mut rows = Vec::new();
        while let Some(row) =
            cursor.visit(back, |key, value| (key.to_vec(), value.to_vec())).unwrap()
        {
            rows.push(row);
        }
        rows
    }

    #[test]
    fn rows_that_move_are_read_in_their_order() {
        let options = RecordFileOptions { cache_bytes: 1 << 20, quick_repair: false };
        let disk: SharedDisk = Arc::new(MemoryDisk::new());
        RecordFile::create(&disk, options, &[]).unwrap();
        let file = RecordFile::open(&disk, options).unwrap();
        let mut model = BTreeMap::new();
        let mut moved = 0;
        for number in 0..300u64 {
            // Commits of one row, of several rows, and sometimes of one large row.
            let group = if number % 7 == 0 { 1 + number % 40 } else { 1 };
            let len = if number % 50 == 17 { 5_000 } else { 60 + number % 90 };
            file.write(|turn| {
                for row in 0..group {
                    let key = (number * 100 + row).to_be_bytes().to_vec();
                    let value = vec![number as u8; len as usize];
                    model.insert(key.clone(), value.clone());
                    turn.apply([Change::Put { space: Space::Log, key, value }])?;
                }
                // The oldest rows are deleted, in whichever place they are.
                while number % 60 == 59 && model.len() > 3 {
                    let (key, _) = model.pop_first().unwrap();
                    turn.apply([Change::Delete { space: Space::Log, key }])?;
                }
                let expected: Vec<_> = model.clone().into_iter().collect();
                assert_eq!(rows(ReadSource::File(turn), &[], false), expected);
                Ok(())
            })
            .unwrap();
            let snapshot = file.snapshot(0).unwrap();
            let source = ReadSource::Snapshot(&snapshot);
            let mut expected: Vec<_> = model.clone().into_iter().collect();
            assert_eq!(rows(source, &[], false), expected);
            assert_eq!(source.len(Space::Log).unwrap(), expected.len() as u64);
            let (key, value) = expected[expected.len() / 2].clone();
            assert_eq!(source.get(Space::Log, &key).unwrap(), Some(value));
            assert_eq!(rows(source, &key, false), expected[expected.len() / 2..]);
            expected.reverse();
            assert_eq!(rows(source, &[], true), expected);
            moved += u64::from(
                snapshot.base().table_len(crate::records::space::Table::Log).unwrap() > 0,
            );
        }
        assert!(moved > 100, "{moved}");
    }
}
