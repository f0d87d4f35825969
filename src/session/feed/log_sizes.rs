//! How much of the change log comes after a position, without reading all of it.

use std::collections::VecDeque;
use std::sync::Mutex;

use crate::error::Result;
use crate::records::{ReadSource, Snapshot, Space};
use crate::session::lock::lock;

/// Entries between two marks.
const MARK_ENTRIES: u64 = 64;

/// Entries and bytes of a part of the change log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogSize {
    pub(crate) entries: u64,
    pub(crate) bytes: u64,
}

impl LogSize {
    fn add(&mut self, bytes: usize) {
        self.entries += 1;
        self.bytes = self.bytes.saturating_add(bytes as u64);
    }
}

/// The sizes of the change log, by marks in memory.
///
/// The first call reads the log once; later ones read what was committed since. Entries never
/// change, and leave the log at its old end alone, so what was counted stays true.
#[derive(Debug, Default)]
pub(crate) struct LogSizes(Mutex<LogCount>);

#[derive(Debug, Default)]
struct LogCount {
    /// Sequence of an entry, and the size of all entries before it that were counted.
    marks: VecDeque<(u64, LogSize)>,
    /// The sequence up to which entries were counted.
    read_to: u64,
    total: LogSize,
}

impl LogCount {
    fn read_on(&mut self, source: ReadSource<'_>) -> Result<()> {
        let Some(from) = self.read_to.checked_add(1) else { return Ok(()) };
        let mut cursor = source.cursor(Space::Log, &from.to_be_bytes(), None)?;
        while let Some((sequence, bytes)) = cursor.visit(false, sized)? {
            if self.total.entries.is_multiple_of(MARK_ENTRIES) {
                self.marks.push_back((sequence, self.total));
            }
            self.total.add(bytes);
            self.read_to = sequence;
        }
        Ok(())
    }
}

/// Sequence and bytes of an entry.
fn sized(key: &[u8], value: &[u8]) -> (u64, usize) {
    let sequence = <[u8; 8]>::try_from(key).map_or(0, u64::from_be_bytes);
    (sequence, key.len() + value.len())
}

impl LogSizes {
    /// The size of the entries after a position, which the log still has. `snapshot` is the newest
    /// one.
    pub(crate) fn after(&self, snapshot: &Snapshot, position: u64) -> Result<LogSize> {
        let source = ReadSource::Snapshot(snapshot);
        let mut counted = lock(&self.0);
        counted.read_on(source)?;
        // Marks of entries that left the log are not asked for any more.
        let tail = source
            .cursor(Space::Log, &[], None)?
            .visit(false, |key, value| sized(key, value).0)?
            .unwrap_or(u64::MAX);
        while counted.marks.get(1).is_some_and(|(sequence, _)| *sequence <= tail) {
            counted.marks.pop_front();
        }
        let next = counted.marks.partition_point(|(sequence, _)| *sequence <= position);
        let (end, before) = match counted.marks.get(next) {
            Some((sequence, before)) => (*sequence, *before),
            None => (u64::MAX, counted.total),
        };
        let mut size = LogSize {
            entries: counted.total.entries - before.entries,
            bytes: counted.total.bytes - before.bytes,
        };
        drop(counted);
        let Some(from) = position.checked_add(1) else { return Ok(size) };
        let mut cursor = source.cursor(Space::Log, &from.to_be_bytes(), None)?;
        while let Some((sequence, bytes)) = cursor.visit(false, sized)? {
            if sequence >= end {
                break;
            }
            size.add(bytes);
        }
        Ok(size)
    }
}
