//! The contract of every disk, written once over the trait.
//!
//! A new implementation lists itself in `disk_contract!`, and gets each check as a separate test.
//! Each check needs an empty disk.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a broken contract is a failed test"
)]

use std::io;

use super::{DirEntry, Disk, DiskFile, Mode, read_file, write_new_file};

type Check = fn(&dyn Disk);

/// All checks with their names.
pub const CHECKS: &[(&str, Check)] = &[
    ("modes", modes),
    ("positioned_io", positioned_io),
    ("lengths", lengths),
    ("directories", directories),
    ("renames", renames),
    ("removals", removals),
    ("paths", paths),
    ("locks", locks),
    ("handles_outlive_names", handles_outlive_names),
    ("identities", identities),
    ("whole_files", whole_files),
    ("threads", threads),
];

/// Runs all checks, each on a disk of its own.
///
/// # Panics
///
/// When a check fails; the text names the check.
pub fn run_all<D: Disk>(mut make: impl FnMut() -> D) {
    for (name, check) in CHECKS {
        let disk = make();
        let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&disk)));
        assert!(run.is_ok(), "the disk broke the contract in {name}");
    }
}

fn kind<T: std::fmt::Debug>(result: io::Result<T>) -> io::ErrorKind {
    result.unwrap_err().kind()
}

fn contents(file: &dyn DiskFile) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

fn put(disk: &dyn Disk, path: &str, bytes: &[u8]) {
    disk.open(path, Mode::CreateNew).unwrap().write_all_at(bytes, 0).unwrap();
}

fn modes(disk: &dyn Disk) {
    assert_eq!(kind(disk.open("f", Mode::Read)), io::ErrorKind::NotFound);
    assert_eq!(kind(disk.open("f", Mode::ReadWrite)), io::ErrorKind::NotFound);
    assert_eq!(kind(disk.open("f", Mode::ReadWriteRemovable)), io::ErrorKind::NotFound);
    assert!(!disk.exists("f").unwrap());
    let file = disk.open("f", Mode::CreateNew).unwrap();
    assert_eq!(file.len().unwrap(), 0);
    file.write_all_at(b"abc", 0).unwrap();
    assert_eq!(kind(disk.open("f", Mode::CreateNew)), io::ErrorKind::AlreadyExists);
    assert_eq!(contents(&*disk.open("f", Mode::OpenOrCreate).unwrap()), b"abc");
    let reader = disk.open("f", Mode::Read).unwrap();
    assert_eq!(contents(&*reader), b"abc");
    assert!(reader.write_all_at(b"x", 0).is_err());
    assert!(reader.set_len(0).is_err());
    assert_eq!(contents(&*disk.open("f", Mode::ReadWrite).unwrap()), b"abc");
    assert_eq!(kind(disk.open("none/f", Mode::OpenOrCreate)), io::ErrorKind::NotFound);
    disk.create_dir_all("d").unwrap();
    assert!(disk.open("d", Mode::Read).is_err());
    assert!(disk.open("d", Mode::CreateNew).is_err());
    drop((file, reader));
    let removable = disk.open("f", Mode::ReadWriteRemovable).unwrap();
    removable.write_all_at(b"x", 0).unwrap();
    disk.remove_file("f").unwrap();
    removable.write_all_at(b"y", 1).unwrap();
    assert_eq!(contents(&*removable), b"xyc");
    drop(removable);
    assert!(!disk.exists("f").unwrap());
}

fn positioned_io(disk: &dyn Disk) {
    let file = disk.open("f", Mode::CreateNew).unwrap();
    file.write_all_at(b"world", 5).unwrap();
    assert_eq!(contents(&*file), b"\0\0\0\0\0world");
    file.write_all_at(b"hello", 0).unwrap();
    let mut middle = [0; 4];
    file.read_exact_at(&mut middle, 3).unwrap();
    assert_eq!(&middle, b"lowo");
    assert_eq!(kind(file.read_exact_at(&mut middle, 7)), io::ErrorKind::UnexpectedEof);
    assert_eq!(kind(file.read_exact_at(&mut middle, 1 << 40)), io::ErrorKind::UnexpectedEof);
    file.read_exact_at(&mut [], 10).unwrap();
    file.write_all_at(b"", 1000).unwrap();
    assert_eq!(file.len().unwrap(), 10);
    let second = disk.open("f", Mode::ReadWrite).unwrap();
    second.write_all_at(b"HE", 0).unwrap();
    assert_eq!(contents(&*file), b"HElloworld");
}

fn lengths(disk: &dyn Disk) {
    let file = disk.open("f", Mode::CreateNew).unwrap();
    file.write_all_at(b"abcdef", 0).unwrap();
    file.set_len(3).unwrap();
    file.set_len(5).unwrap();
    assert_eq!(contents(&*file), b"abc\0\0");
    file.sync_data().unwrap();
    file.sync_all().unwrap();
    assert_eq!(disk.list("").unwrap(), [DirEntry { name: "f".into(), is_dir: false, len: 5 }]);
}

fn directories(disk: &dyn Disk) {
    assert!(disk.exists("").unwrap());
    disk.create_dir_all("").unwrap();
    assert!(disk.list("").unwrap().is_empty());
    disk.create_dir_all("a/b/c").unwrap();
    disk.create_dir_all("a/b").unwrap();
    assert!(disk.exists("a/b").unwrap());
    put(disk, "a/z", b"12");
    // Sorts before "a/", and must not be taken for an entry of it.
    put(disk, "a-b", b"1");
    let names: Vec<String> = disk.list("a").unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["b", "z"]);
    assert_eq!(
        disk.list("").unwrap(),
        [
            DirEntry { name: "a".into(), is_dir: true, len: 0 },
            DirEntry { name: "a-b".into(), is_dir: false, len: 1 }
        ]
    );
    assert_eq!(kind(disk.list("none")), io::ErrorKind::NotFound);
    assert!(disk.list("a/z").is_err());
    assert!(disk.create_dir_all("a/z/y").is_err());
    disk.sync_dir("").unwrap();
    disk.sync_dir("a/b").unwrap();
    assert!(disk.sync_dir("none").is_err());
    disk.free_bytes().unwrap();
}

fn renames(disk: &dyn Disk) {
    put(disk, "old", b"1");
    put(disk, "target", b"22");
    disk.rename("old", "target").unwrap();
    assert!(!disk.exists("old").unwrap());
    assert_eq!(read_file(disk, "target", 10).unwrap(), b"1");
    assert_eq!(kind(disk.rename("old", "x")), io::ErrorKind::NotFound);
    assert_eq!(kind(disk.rename("target", "none/x")), io::ErrorKind::NotFound);
    disk.create_dir_all("d/e").unwrap();
    put(disk, "d/e/f", b"3");
    disk.rename("d", "moved").unwrap();
    assert_eq!(read_file(disk, "moved/e/f", 10).unwrap(), b"3");
    assert!(!disk.exists("d").unwrap());
    assert!(!disk.exists("d/e/f").unwrap());
    assert!(disk.rename("moved", "moved/e/inside").is_err());
    assert!(disk.rename("target", "moved").is_err());
    disk.rename("target", "target").unwrap();
    assert_eq!(read_file(disk, "target", 10).unwrap(), b"1");
}

fn removals(disk: &dyn Disk) {
    put(disk, "f", b"1");
    disk.remove_file("f").unwrap();
    assert_eq!(kind(disk.remove_file("f")), io::ErrorKind::NotFound);
    disk.create_dir_all("d/e").unwrap();
    put(disk, "d/e/f", b"1");
    put(disk, "d-x", b"1");
    assert!(disk.remove_file("d").is_err());
    assert_eq!(kind(disk.remove_dir("d")), io::ErrorKind::DirectoryNotEmpty);
    disk.create_dir_all("empty").unwrap();
    disk.remove_dir("empty").unwrap();
    assert!(!disk.exists("empty").unwrap());
    assert_eq!(kind(disk.remove_dir("empty")), io::ErrorKind::NotFound);
    disk.remove_dir_all("d").unwrap();
    assert!(!disk.exists("d/e/f").unwrap());
    assert!(disk.exists("d-x").unwrap());
    assert_eq!(kind(disk.remove_dir_all("d")), io::ErrorKind::NotFound);
}

fn paths(disk: &dyn Disk) {
    for bad in ["/a", "../a", "a/../b", "a//b", "a/", ".", "a\\b", "a\0b", "C:a"] {
        assert_eq!(
            kind(disk.open(bad, Mode::OpenOrCreate)),
            io::ErrorKind::InvalidInput,
            "{bad:?}"
        );
        assert_eq!(kind(disk.create_dir_all(bad)), io::ErrorKind::InvalidInput, "{bad:?}");
        assert_eq!(kind(disk.exists(bad)), io::ErrorKind::InvalidInput, "{bad:?}");
        assert_eq!(kind(disk.list(bad)), io::ErrorKind::InvalidInput, "{bad:?}");
        assert_eq!(kind(disk.rename(bad, "x")), io::ErrorKind::InvalidInput, "{bad:?}");
        assert_eq!(kind(disk.rename("x", bad)), io::ErrorKind::InvalidInput, "{bad:?}");
        assert_eq!(kind(disk.remove_file(bad)), io::ErrorKind::InvalidInput, "{bad:?}");
        assert_eq!(kind(disk.remove_dir_all(bad)), io::ErrorKind::InvalidInput, "{bad:?}");
        assert_eq!(kind(disk.sync_dir(bad)), io::ErrorKind::InvalidInput, "{bad:?}");
    }
    assert!(disk.remove_dir_all("").is_err());
    assert!(disk.open("", Mode::Read).is_err());
}

fn locks(disk: &dyn Disk) {
    let first = disk.open("LOCK", Mode::OpenOrCreate).unwrap();
    let second = disk.open("LOCK", Mode::OpenOrCreate).unwrap();
    assert!(first.try_lock().unwrap());
    assert!(!second.try_lock().unwrap());
    second.unlock().unwrap();
    assert!(!second.try_lock().unwrap(), "only the holder can give a lock back");
    first.unlock().unwrap();
    assert!(second.try_lock().unwrap());
    drop(second);
    assert!(first.try_lock().unwrap(), "the lock ends with its handle");
}

/// Readers keep a file that is removed while they have it open. Windows keeps the name until the
/// last handle is closed.
fn handles_outlive_names(disk: &dyn Disk) {
    put(disk, "f", b"still here");
    let reader = disk.open("f", Mode::Read).unwrap();
    disk.remove_file("f").unwrap();
    assert_eq!(contents(&*reader), b"still here");
    drop(reader);
    assert!(!disk.exists("f").unwrap());
}

fn whole_files(disk: &dyn Disk) {
    disk.create_dir_all("d").unwrap();
    write_new_file(disk, "d/f", b"12345").unwrap();
    assert_eq!(kind(write_new_file(disk, "d/f", b"x")), io::ErrorKind::AlreadyExists);
    assert_eq!(read_file(disk, "d/f", 5).unwrap(), b"12345");
    assert_eq!(kind(read_file(disk, "d/f", 4)), io::ErrorKind::InvalidData);
    assert_eq!(kind(read_file(disk, "d/g", 4)), io::ErrorKind::NotFound);
}

fn identities(disk: &dyn Disk) {
    assert_eq!(kind(disk.file_id("f")), io::ErrorKind::NotFound);
    put(disk, "f", b"one");
    let file = disk.open("f", Mode::ReadWriteRemovable).unwrap();
    let id = file.file_id().unwrap();
    assert_eq!(disk.file_id("f").unwrap(), id);
    file.set_len(100_000).unwrap();
    assert_eq!(disk.file_id("f").unwrap(), id, "what is in a file does not count");
    disk.rename("f", "g").unwrap();
    assert_eq!(kind(disk.file_id("f")), io::ErrorKind::NotFound);
    assert_eq!(disk.file_id("g").unwrap(), id);
    assert_eq!(file.file_id().unwrap(), id, "a handle follows its file");
    put(disk, "f", b"one");
    assert_ne!(disk.file_id("f").unwrap(), id);
    // While a handle is open, no later file gets its id. Windows may keep the name until then.
    disk.remove_file("g").unwrap();
    put(disk, "h", b"one");
    assert_ne!(disk.file_id("h").unwrap(), id);
    assert_eq!(file.file_id().unwrap(), id);
}

fn threads(disk: &dyn Disk) {
    const WRITERS: u8 = 4;
    const PART_BYTES: u64 = 1000;
    let file = disk.open("f", Mode::CreateNew).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let file = &file;
            scope.spawn(move || {
                for at in 0..PART_BYTES {
                    file.write_all_at(&[writer + 1], u64::from(writer) * PART_BYTES + at).unwrap();
                }
                disk.open(&format!("own-{writer}"), Mode::CreateNew)
                    .unwrap()
                    .write_all_at(b"x", 0)
                    .unwrap();
            });
        }
    });
    let bytes = contents(&*file);
    assert_eq!(bytes.len() as u64, u64::from(WRITERS) * PART_BYTES);
    for (part, writer) in bytes.chunks(usize::try_from(PART_BYTES).unwrap()).zip(1..) {
        assert!(part.iter().all(|byte| *byte == writer));
    }
    assert_eq!(disk.list("").unwrap().len(), usize::from(WRITERS) + 1);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::disk::{MemoryDisk, RealDisk, Removal, WindowsDisk};

    macro_rules! disk_contract {
        ($name:ident, $make:expr, [$($check:ident),* $(,)?]) => {
            mod $name {
                use super::*;
                $(#[test]
                fn $check() {
                    let (disk, _guard) = $make;
                    let disk: &dyn Disk = &*disk;
                    crate::disk::contract::$check(disk);
                })*
            }
        };
        ($($name:ident: $make:expr;)*) => {
            $(disk_contract!($name, $make, [
                modes, positioned_io, lengths, directories, renames, removals, paths, locks,
                handles_outlive_names, identities, whole_files, threads,
            ]);)*
        };
    }

    disk_contract! {
        memory: (Arc::new(MemoryDisk::new()), ());
        real: {
            let dir = tempfile::tempdir().unwrap();
            (RealDisk::open(dir.path()).unwrap(), dir)
        };
        windows: (Arc::new(WindowsDisk::over(Arc::new(MemoryDisk::new()), Removal::AtOnce)), ());
        windows_old: {
            let memory = Arc::new(MemoryDisk::new());
            let disk = WindowsDisk::over(memory, Removal::WithLastHandle);
            (Arc::new(disk.scanned(2, Duration::from_millis(20))), ())
        };
    }

    #[test]
    fn run_all_runs_every_check() {
        run_all(MemoryDisk::new);
    }
}
