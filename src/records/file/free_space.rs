//! An estimate of the bytes of the record file that can be written without growing it on the disk.
//!
//! A page that a commit frees is reused only after later commits, and only when no reader needs it.
//! redb stores which pages are free only when it is closed, and in a commit that requests it. So
//! the estimate is the last stored count minus all bytes written since. It may be too small, but it
//! is never too large: a commit writes every page that it takes. A limit that is too large would
//! let a commit run out of space, which latches the store.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::bookkeeping;
use super::medium::Medium;

/// This fraction of the file is left out of the estimate, because large values need contiguous
/// pages. The same fraction must be written or removed before a new count is worth its commit.
const PART: u64 = 32;
/// The least number of bytes that must be written or removed before a new count.
const CHANGED_BYTES: u64 = 256 * 1024;

/// The running estimate.
#[derive(Debug, Default)]
pub(in crate::records) struct FreeSpace {
    counted: Mutex<SpaceCount>,
}

#[derive(Clone, Copy, Debug, Default)]
struct SpaceCount {
    /// Whether the free pages were ever counted.
    is_known: bool,
    free_bytes: u64,
    /// Length of the file at the count.
    len: u64,
    /// Bytes of the file at the count that were never written and take no space on the disk.
    holes: u64,
    /// Bytes of the pages in use at the count.
    used_bytes: u64,
    /// `Medium::written_bytes` at the count.
    written_bytes: u64,
    /// Bytes of values removed or replaced since the count.
    removed_bytes: u64,
}

impl FreeSpace {
    fn counted(&self) -> MutexGuard<'_, SpaceCount> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that can be written without growing the file on the disk.
    pub(in crate::records) fn bytes(&self, medium: &Medium) -> u64 {
        let counted = *self.counted();
        let written = medium.written_bytes() - counted.written_bytes;
        // redb truncated these pages since the count: they are free on the disk, not in the file.
        let cut = counted.len.saturating_sub(medium.known_len());
        counted.free_bytes.saturating_sub(written.saturating_add(cut))
    }

    /// Bytes that the file takes on the disk, and bytes of the pages in use at the last count;
    /// `None` if there was none.
    pub(in crate::records) fn taken_and_used(&self, medium: &Medium) -> Option<(u64, u64)> {
        let counted = *self.counted();
        // Pages that redb added since the count are ignored; most of them are not written yet.
        let taken = medium.known_len().min(counted.len).saturating_sub(counted.holes);
        counted.is_known.then_some((taken, counted.used_bytes))
    }

    /// Records that a commit removed or replaced values of `bytes` bytes.
    pub(in crate::records) fn removed(&self, bytes: u64) {
        let mut counted = self.counted();
        counted.removed_bytes = counted.removed_bytes.saturating_add(bytes);
    }

    /// Whether so much was written or removed that a new count may find more.
    pub(in crate::records) fn is_stale(&self, medium: &Medium) -> bool {
        let counted = *self.counted();
        let changed =
            (medium.written_bytes() - counted.written_bytes).saturating_add(counted.removed_bytes);
        !counted.is_known || changed >= CHANGED_BYTES.max(counted.len / PART)
    }

    /// Approximate bytes of a commit that stores which pages are free.
    pub(in crate::records) fn count_bytes(len: u64) -> u64 {
        // Two bits for each page of the file, in pages that are not full, and the branch pages
        // above them.
        256 * 1024 + len / (8 * 1024)
    }

    /// Counts the free bytes after a commit that stored them. If they cannot be read, the count is
    /// zero.
    pub(in crate::records) fn count(&self, medium: &Medium) {
        let written_bytes = medium.written_bytes();
        let free = bookkeeping::free_bytes(medium.file()).ok().flatten();
        self.set(medium, Some(free.unwrap_or(0)), written_bytes);
    }

    /// Sets the estimate from a count: `free_bytes` were free when `written_bytes` had been
    /// written.
    pub(in crate::records) fn set(
        &self,
        medium: &Medium,
        free_bytes: Option<u64>,
        written_bytes: u64,
    ) {
        let file = medium.file();
        let len = file.len().unwrap_or(0);
        // Free pages that were never written may be holes. Writing them takes space on the disk, so
        // they are not counted.
        let holes = len.saturating_sub(file.allocated_bytes().unwrap_or(0));
        let free = free_bytes.unwrap_or(0).saturating_sub(holes).saturating_sub(len / PART);
        *self.counted() = SpaceCount {
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

    /// Free pages that redb truncates at the end of the file belong to the disk and are not
    /// counted.
    #[test]
    fn pages_that_were_cut_off_are_not_free() {
        let disk: SharedDisk = Arc::new(SimDisk::new(1));
        let options = RecordFileOptions { cache_bytes: 1 << 20, quick_repair: false };
        RecordFile::create(&disk, options, &[]).unwrap();
        let file = RecordFile::open(&disk, options).unwrap();
        let key = |number: u64| number.to_be_bytes().to_vec();
        let put = |number, len| Change::Put {
            space: Space::Blobs,
            key: key(number),
            value: vec![7; len],
        };
        file.write(|turn| turn.apply((0..60).map(|number| put(number, 500_000)))).unwrap();
        let delete = |number| Change::Delete { space: Space::Blobs, key: key(number) };
        file.write(|turn| turn.apply((0..60).map(delete))).unwrap();
        file.count_free_bytes(u64::MAX).unwrap();
        let (first, len) = (file.free_bytes(), file.known_len());
        for number in 100..112 {
            file.write(|turn| turn.apply([put(number, 1)])).unwrap();
        }
        let (told, cut) = (file.free_bytes(), len - file.known_len());
        assert!(cut > first / 4, "{cut} bytes of {len} were cut off, of which {first} were free");
        file.count_free_bytes(u64::MAX).unwrap();
        let free = bookkeeping::free_bytes(file.medium.file()).unwrap().unwrap();
        println!(
            "{first} bytes of {len} were free, {cut} were cut off, {told} were told and {free} are free"
        );
        assert!(told <= free, "{told} bytes were told, and {free} are free");
    }
}
