//! The ids of new blobs, and files whose names are durable before their content comes.
//!
//! A blob needs the sync of its directory for its name alone. Where blobs come one after the other,
//! that sync makes the names of the next ones durable too: their files are created before it, empty
//! and with ids that nobody else gets. A blob that takes such an id has one sync less.
//!
//! What must hold: an id is given to one caller, as a new one or as one that has a file. A file
//! counts as there only after a sync of its directory that began after its creation. An empty file
//! that is left over is a blob that no record names: maintenance at rest and the drop of the last
//! handle remove it, or else the sweep at the next opening.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::format;

/// Syncs of directories for one blob each before one is shared: a process that writes a few blobs
/// makes no other files.
const ALONE: u32 = 8;
/// The most files that wait for content. More would save little: the sync of the directory is then
/// a small part of 32 syncs of content.
const READY_MAX: usize = 32;

/// The ids of new blobs, shared by all who write blobs of a store.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers(Arc<Mutex<NumberState>>);

#[derive(Debug, Default)]
struct NumberState {
    /// Reserved ids, which can be assigned without the durable counter: from here to `reserved`.
    next: u64,
    reserved: u64,
    /// Ids with an empty file of a durable name.
    ready: VecDeque<u64>,
    /// Ids whose files are being created.
    coming: usize,
    /// Syncs of directories, for one blob each or with files for others.
    syncs: u32,
}

impl Numbers {
    fn state(&self) -> MutexGuard<'_, NumberState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An id with a file that waits for content; the caller opens the file.
    pub(super) fn ready(&self) -> Option<u64> {
        self.state().ready.pop_front()
    }

    /// A reserved id without a file; `None` if the durable counter must be used.
    pub(super) fn reserved(&self) -> Option<u64> {
        let mut state = self.state();
        (state.next < state.reserved).then(|| {
            state.next += 1;
            state.next - 1
        })
    }

    /// The smallest id that was not assigned in this process.
    pub(super) fn first_free(&self) -> u64 {
        self.state().next
    }

    /// Sets the ids: those below `next` are assigned, those below `reserved` are durably reserved.
    pub(super) fn set_reserved(&self, next: u64, reserved: u64) {
        let mut state = self.state();
        state.next = state.next.max(next);
        state.reserved = state.reserved.max(reserved);
    }

    /// Ids of the directory of `id` for files that the caller creates before it syncs that
    /// directory. [`Numbers::created`] must follow.
    pub(super) fn for_files(&self, id: u64) -> Vec<u64> {
        let mut state = self.state();
        let room = READY_MAX.saturating_sub(state.ready.len() + state.coming);
        // None at first, then 1, 2, 4 and so on.
        let wanted = state.syncs.checked_sub(ALONE).map_or(0, |more| 1 << more.min(5));
        let count = room.min(wanted);
        state.syncs = state.syncs.saturating_add(1);
        let directory = format::directory(id);
        let mut ids = Vec::with_capacity(count);
        while ids.len() < count
            && state.next < state.reserved
            && format::directory(state.next) == directory
        {
            ids.push(state.next);
            state.next += 1;
        }
        state.coming += ids.len();
        ids
    }

    /// Ends what [`Numbers::for_files`] began with `asked` ids: the files of `ready` are there,
    /// with durable names.
    pub(super) fn created(&self, asked: usize, ready: &[u64]) {
        let mut state = self.state();
        state.coming = state.coming.saturating_sub(asked);
        state.ready.extend(ready);
    }

    /// Takes all ids whose files wait for content. The next blobs have syncs of their own again.
    pub(super) fn take_ready(&self) -> Vec<u64> {
        let mut state = self.state();
        state.syncs = 0;
        state.ready.drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::{ALONE, READY_MAX, format};
    use crate::blobs::{BlobInfo, BlobStore};
    use crate::disk::Disk;
    use crate::disk::sim::{Fault, OpKind, Pick, SimDisk, Survival};
    use crate::value::Control;

    fn store(disk: &SimDisk) -> BlobStore {
        let blobs = BlobStore::open(Arc::new(disk.clone())).unwrap();
        blobs.set_reserved(0, 10_000);
        blobs
    }

    fn put(blobs: &BlobStore) -> crate::error::Result<BlobInfo> {
        let writer = match blobs.ready_writer() {
            Some(writer) => writer,
            None => blobs.writer(blobs.reserved_id().unwrap())?,
        };
        let content = writer.id().to_le_bytes();
        blobs.fill(writer, &mut &content[..], None, &Control::default())
    }

    fn assert_is_there(blobs: &BlobStore, info: &BlobInfo) {
        let mut content = Vec::new();
        blobs
            .read(info.id, info.len)
            .unwrap()
            .copy_to(&mut content, None, &Control::default())
            .unwrap();
        assert_eq!(content, info.id.to_le_bytes(), "{}", info.id);
    }

    fn syncs_of_directories(disk: &SimDisk) -> usize {
        disk.trace().iter().filter(|entry| entry.kind == OpKind::SyncDir).count()
    }

    fn empty(blobs: &BlobStore) -> usize {
        blobs.list().unwrap().iter().filter(|entry| entry.file_len == 0).count()
    }

    #[test]
    fn blobs_in_a_row_need_few_syncs_of_their_directory() {
        let disk = SimDisk::new(1);
        let blobs = store(&disk);
        for _ in 0..ALONE {
            put(&blobs).unwrap();
            assert_eq!(empty(&blobs), 0, "a few blobs make no files for others");
        }
        let before = syncs_of_directories(&disk);
        for _ in ALONE..250 {
            put(&blobs).unwrap();
            assert!(empty(&blobs) <= READY_MAX);
        }
        // After 1, 2, 4, 8, 16 files 32 at a time, and one sync for the blob that makes them.
        let syncs = syncs_of_directories(&disk) - before;
        assert_eq!(syncs, 12);
        // The next directory.
        let of_two: Vec<BlobInfo> = (0..60).map(|_| put(&blobs).unwrap()).collect();
        assert!(of_two.iter().any(|info| format::directory(info.id) == format::directory(0)));
        assert!(of_two.iter().any(|info| format::directory(info.id) == format::directory(256)));
        for info in &of_two {
            assert_is_there(&blobs, info);
        }
        assert!(empty(&blobs) > 0);
        blobs.remove_ready();
        assert_eq!(empty(&blobs), 0);
    }

    #[test]
    fn ids_for_other_use_have_no_files() {
        let disk = SimDisk::new(1);
        let blobs = store(&disk);
        let mut used = std::collections::BTreeSet::new();
        for _ in 0..100 {
            assert!(used.insert(put(&blobs).unwrap().id));
            let other = blobs.reserved_id().unwrap();
            assert!(used.insert(other) && !disk.exists(&format::path(other)).unwrap());
        }
        blobs.remove_ready();
        assert_eq!(blobs.list().unwrap().len(), 100);
    }

    #[test]
    fn a_power_cut_after_any_blob_leaves_all_of_them() {
        for cut in 1..40 {
            let disk = SimDisk::new(cut);
            let blobs = store(&disk);
            let infos: Vec<BlobInfo> = (0..cut).map(|_| put(&blobs).unwrap()).collect();
            disk.crash_now();
            let after = store(&disk.survivors(cut, Survival::None));
            for info in &infos {
                assert_is_there(&after, info);
            }
        }
    }

    #[test]
    fn names_whose_sync_failed_are_not_used() {
        for failing in 1..7 {
            let disk = SimDisk::new(1);
            let blobs = store(&disk);
            for _ in 0..ALONE {
                put(&blobs).unwrap();
            }
            let of_names = Pick::kind(OpKind::SyncDir).on_path(&format::directory(0));
            disk.inject(of_names.nth(failing).once(), Fault::Io);
            let outcomes: Vec<_> = (0..100).map(|_| put(&blobs)).collect();
            assert_eq!(outcomes.iter().filter(|outcome| outcome.is_err()).count(), 1);
            // The file of the blob, and those that it made for others.
            let suspects = blobs.take_suspects();
            blobs.delete(&suspects).unwrap();
            blobs.remove_ready();
            assert_eq!(empty(&blobs), 0);
            assert_eq!(blobs.list().unwrap().len(), ALONE as usize + 99);
            disk.crash_now();
            let after = store(&disk.survivors(1, Survival::None));
            for info in outcomes.iter().flatten() {
                assert_is_there(&after, info);
            }
        }
    }

    #[test]
    fn files_that_cannot_be_created_or_are_gone_fail_no_blob() {
        let disk = SimDisk::new(1);
        let blobs = store(&disk);
        for _ in 0..ALONE + 11 {
            put(&blobs).unwrap();
        }
        let waiting = blobs.list().unwrap().into_iter().find(|entry| entry.file_len == 0).unwrap();
        disk.remove_file(&waiting.path).unwrap();
        let there: Vec<BlobInfo> = (0..20).map(|_| put(&blobs).unwrap()).collect();
        assert!(there.iter().all(|info| Some(info.id) != waiting.id));
        for nth in 1..20 {
            disk.inject(Pick::kind(OpKind::Create).nth(nth).once(), Fault::NoSpace);
            let failed = (0..40).filter(|_| put(&blobs).is_err()).count();
            assert!(failed <= 1, "{failed} blobs failed, only the one whose own file did may");
            disk.heal();
        }
        while empty(&blobs) < 5 {
            put(&blobs).unwrap();
        }
        let waiting = empty(&blobs);
        let _ = blobs.take_suspects();
        disk.inject(Pick::kind(OpKind::Open), Fault::Io);
        put(&blobs).unwrap();
        disk.heal();
        assert_eq!(blobs.take_suspects().len(), waiting, "files that cannot be opened");
    }

    #[test]
    fn writers_at_the_same_time_get_different_ids() {
        let disk = SimDisk::new(1);
        let blobs = store(&disk);
        let blobs = &blobs;
        let mut infos: Vec<BlobInfo> = thread::scope(|scope| {
            let writers: Vec<_> = (0..8)
                .map(|_| scope.spawn(move || (0..100).map(|_| put(blobs).unwrap()).collect()))
                .collect();
            writers.into_iter().flat_map(|one| -> Vec<BlobInfo> { one.join().unwrap() }).collect()
        });
        assert!(empty(blobs) <= READY_MAX);
        infos.sort_by_key(|info| info.id);
        infos.dedup_by_key(|info| info.id);
        assert_eq!(infos.len(), 800);
        for info in &infos {
            assert_is_there(blobs, info);
        }
    }
}
