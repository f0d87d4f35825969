//! The bytes of the record file that can be written without taking more of the disk.
//!
//! A page that a commit frees is used again only after later commits, and not while a reader may
//! need it. redb tells which pages are free only where it stores that: when it is closed, and in a
//! commit that is asked for it. So there is a figure of the last time, from which everything that
//! was written since is taken off. It may be too small, and is never too great: each page that a
//! commit takes is written.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::bookkeeping;
use super::medium::Medium;

/// One in so many bytes of the file the figure leaves out, since large values need pages that
/// follow each other; and so many have to be written or removed before counting again is worth its
/// commit.
const PART: u64 = 32;
/// The least that has to be written or removed.
const CHANGED_BYTES: u64 = 256 * 1024;

/// A running figure of the free bytes.
#[derive(Debug, Default)]
pub(super) struct FreeSpace {
    counted: Mutex<Counted>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    /// Whether they were ever counted.
    is_known: bool,
    free_bytes: u64,
    /// Length of the file then.
    len: u64,
    /// Bytes of the file then that never were written and take no room.
    holes: u64,
    /// Bytes of the pages that were in use then.
    used_bytes: u64,
    /// What had been written then.
    written_bytes: u64,
    /// Bytes of values removed or replaced since.
    removed_bytes: u64,
}

impl FreeSpace {
    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that can be written without taking more of the disk.
    pub(super) fn bytes(&self, medium: &Medium) -> u64 {
        let counted = *self.counted();
        let written = medium.written_bytes() - counted.written_bytes;
        // What redb has cut off since then is the disk's again.
        let cut = counted.len.saturating_sub(medium.known_len());
        counted.free_bytes.saturating_sub(written.saturating_add(cut))
    }

    /// Bytes of the disk that the file takes, and those of the pages that were in use when they were
    /// last counted; `None` when they never were.
    pub(super) fn taken_and_used(&self, medium: &Medium) -> Option<(u64, u64)> {
        let counted = *self.counted();
        // What redb has added since is not counted, and mostly not written yet.
        let taken = medium.known_len().min(counted.len).saturating_sub(counted.holes);
        counted.is_known.then_some((taken, counted.used_bytes))
    }

    /// Tells that a commit removed or replaced values of so many bytes.
    pub(super) fn removed(&self, bytes: u64) {
        let mut counted = self.counted();
        counted.removed_bytes = counted.removed_bytes.saturating_add(bytes);
    }

    /// Whether so much has changed that counting again may tell more.
    pub(super) fn is_stale(&self, medium: &Medium) -> bool {
        let counted = *self.counted();
        let changed = (medium.written_bytes() - counted.written_bytes).saturating_add(counted.removed_bytes);
        !counted.is_known || changed >= CHANGED_BYTES.max(counted.len / PART)
    }

    /// About what a commit writes that stores which pages are free.
    pub(super) fn count_bytes(len: u64) -> u64 {
        // Two bits for each page, in pages that are not full, and the way to them.
        256 * 1024 + len / (8 * 1024)
    }

    /// Counts the free bytes, after a commit that stored them. What cannot be read counts as none.
    pub(super) fn count(&self, medium: &Medium) {
        let written_bytes = medium.written_bytes();
        let free = bookkeeping::free_bytes(medium.file()).ok().flatten();
        self.set(medium, Some(free.unwrap_or(0)), written_bytes);
    }

    /// Takes over what was read of a file.
    pub(super) fn set(&self, medium: &Medium, free_bytes: Option<u64>, written_bytes: u64) {
        let file = medium.file();
        let len = file.len().unwrap_or(0);
        // Pages that were never written may be holes, and take room of the disk when they are.
        let holes = len.saturating_sub(file.allocated_bytes().unwrap_or(0));
        let free = free_bytes.unwrap_or(0).saturating_sub(holes).saturating_sub(len / PART);
        *self.counted() = Counted {
            is_known: free_bytes.is_some(),
            free_bytes: free,
            len,
            holes,
            used_bytes: len.saturating_sub(free_bytes.unwrap_or(0)),
            written_bytes,
            removed_bytes: 0,
        };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::disk::SharedDisk;
    use crate::disk::sim::SimDisk;
    use crate::records::{Change, RecordFile, RecordFileOptions, Space};

    /// A commit cuts free pages off the end of the file: these are the disk's again, and not the file's.
    #[test]
    fn pages_that_were_cut_off_are_not_free() {
        let disk: SharedDisk = Arc::new(SimDisk::new(1));
        let options = RecordFileOptions { cache_bytes: 1 << 20, quick_repair: false };
        RecordFile::create(&disk, options, &[]).unwrap();
        let file = RecordFile::open(&disk, options).unwrap();
        let key = |number: u64| number.to_be_bytes().to_vec();
        let put = |number, len| Change::Put { space: Space::Blobs, key: key(number), value: vec![7; len] };
        file.write(|turn| turn.apply((0..60).map(|number| put(number, 500_000)))).unwrap();
        let delete = |number| Change::Delete { space: Space::Blobs, key: key(number) };
        file.write(|turn| turn.apply((0..60).map(delete))).unwrap();
        file.count_free_bytes(u64::MAX).unwrap();
        let (first, len) = (file.free_bytes(), file.known_len());
        for number in 100..104 {
            file.write(|turn| turn.apply([put(number, 1)])).unwrap();
        }
        let (told, cut) = (file.free_bytes(), len - file.known_len());
        assert!(cut > first / 4, "{cut} bytes of {len} were cut off, of which {first} were free");
        file.count_free_bytes(u64::MAX).unwrap();
        let free = bookkeeping::free_bytes(file.medium.file()).unwrap().unwrap();
        println!("{first} bytes of {len} were free, {cut} were cut off, {told} were told and {free} are free");
        assert!(told <= free, "{told} bytes were told, and {free} are free");
    }
}
