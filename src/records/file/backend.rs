//! redb's storage backend over a `DiskFile`, so that every access to the record file goes through
//! the disk trait.
//!
//! What must hold:
//! - The lock calls reach the file. Otherwise redb would run without its guard against a second
//!   opener.
//! - `close` releases the lock. A live read transaction keeps the backend alive, so dropping the
//!   backend comes too late.

#[cfg(test)]
mod crash_tests;

use std::io;
use std::ops::Bound;
use std::sync::Arc;

use redb::{BackendError, StorageBackend};

use super::medium::Medium;
use crate::records::row_cache::RowCache;

/// A [`StorageBackend`] over one [`Medium`]. It tells the kept rows how long the file is, because
/// they share a bound with its pages.
#[derive(Debug)]
pub(crate) struct DiskBackend(Arc<Medium>, Arc<RowCache>);

impl DiskBackend {
    /// Takes over the file; no other code may write to it.
    pub(in crate::records) fn new(medium: Arc<Medium>, rows: Arc<RowCache>) -> Self {
        Self(medium, rows)
    }

    /// A backend over a file, with a medium of its own.
    #[cfg(test)]
    pub(crate) fn over(file: Box<dyn crate::disk::DiskFile>) -> Self {
        Self::alone(Arc::new(Medium::new(file)))
    }

    /// A backend without kept rows.
    #[cfg(test)]
    pub(in crate::records) fn alone(medium: Arc<Medium>) -> Self {
        Self(medium, Arc::new(RowCache::new(0)))
    }
}

/// Whether the range is the whole file, the only range that can be locked. redb locks it in its
/// default mode of one exclusive writer.
fn is_whole(start: Bound<u64>, end: Bound<u64>) -> bool {
    matches!(start, Bound::Unbounded | Bound::Included(0)) && end == Bound::Unbounded
}

impl StorageBackend for DiskBackend {
    fn len(&self) -> io::Result<u64> {
        let len = self.0.len()?;
        self.1.fit(len);
        Ok(len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.1.fit(len);
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.0.unlock()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        if !is_whole(start, end) {
            return Err(BackendError::Unsupported);
        }
        self.0.try_lock().map_err(BackendError::from)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        if !is_whole(start, end) {
            return Err(BackendError::Unsupported);
        }
        self.0.unlock().map_err(BackendError::from)
    }
}

#[cfg(test)]
mod tests {
    use redb::{Builder, Database, DatabaseError, ReadableDatabase, TableDefinition};

    use super::*;
    use crate::disk::{Disk, MemoryDisk, Mode};

    const TABLE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("t");

    fn open(disk: &dyn Disk) -> Result<Database, DatabaseError> {
        Builder::new()
            .create_with_backend(DiskBackend::over(disk.open("r", Mode::OpenOrCreate).unwrap()))
    }

    #[test]
    fn records_survive_a_reopen() {
        let disk = MemoryDisk::new();
        let database = open(&disk).unwrap();
        let write = database.begin_write().unwrap();
        write.open_table(TABLE).unwrap().insert(7, b"seven".as_slice()).unwrap();
        write.commit().unwrap();
        drop(database);
        let database = open(&disk).unwrap();
        let read = database.begin_read().unwrap();
        assert_eq!(read.open_table(TABLE).unwrap().get(7).unwrap().unwrap().value(), b"seven");
    }

    #[test]
    fn a_second_opener_is_refused_until_the_first_is_closed() {
        let disk = MemoryDisk::new();
        let first = open(&disk).unwrap();
        assert!(matches!(open(&disk), Err(DatabaseError::DatabaseAlreadyOpen)));
        drop(first);
        assert!(open(&disk).is_ok());
    }
}
