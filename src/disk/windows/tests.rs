//! What the disk refuses, how long, and what it lets pass.

use std::thread::{scope, sleep};
use std::time::Instant;

use super::*;
use crate::disk::MemoryDisk;
use crate::disk::held::RETRY;

const BOTH: [Removal; 2] = [Removal::AtOnce, Removal::WithLastHandle];

fn disk(removal: Removal) -> WindowsDisk {
    WindowsDisk::over(Arc::new(MemoryDisk::new()), removal)
}

fn put(disk: &WindowsDisk, path: &str) {
    disk.open(path, Mode::CreateNew).unwrap().write_all_at(b"x", 0).unwrap();
}

/// Runs operations that are refused, side by side: each takes as long as the retries.
fn all_refused(disk: &WindowsDisk, operations: &[(Refusal, &(dyn Fn() -> io::Result<()> + Sync))]) {
    let before = disk.refusals();
    scope(|scope| {
        for (refusal, operation) in operations {
            scope.spawn(move || {
                let began = Instant::now();
                let error = operation().unwrap_err();
                assert_eq!(Refusal::of(&error), Some(*refusal), "{error}");
                assert!(began.elapsed() > RETRY - RETRY / 10, "given up early: {error}");
            });
        }
    });
    assert!(disk.refusals() > before + operations.len() as u64);
}

#[test]
fn what_is_open_without_sharing_is_neither_removed_nor_renamed_nor_replaced() {
    for removal in BOTH {
        let disk = &disk(removal);
        disk.create_dir_all("d").unwrap();
        for path in ["d/kept", "other"] {
            put(disk, path);
        }
        let kept = disk.open("d/kept", Mode::ReadWrite).unwrap();
        all_refused(
            disk,
            &[
                (Refusal::Shared, &|| disk.remove_file("d/kept")),
                (Refusal::Shared, &|| disk.rename("d/kept", "d/new")),
                (Refusal::AccessDenied, &|| disk.rename("other", "d/kept")),
                (Refusal::AccessDenied, &|| disk.rename("d", "e")),
                (Refusal::Shared, &|| disk.remove_dir_all("d")),
            ],
        );
        drop(kept);
        disk.rename("other", "d/kept").unwrap();
        disk.rename("d", "e").unwrap();
        disk.remove_dir_all("e").unwrap();
        assert!(disk.list("").unwrap().is_empty());
    }
}

#[test]
fn a_shared_file_is_replaced_or_keeps_its_name() {
    let at_once = disk(Removal::AtOnce);
    put(&at_once, "f");
    let reader = at_once.open("f", Mode::Read).unwrap();
    put(&at_once, "g");
    at_once.rename("g", "f").unwrap();
    at_once.remove_file("f").unwrap();
    assert!(!at_once.exists("f").unwrap());
    put(&at_once, "f");
    drop(reader);
    assert!(at_once.exists("f").unwrap());

    let old = &disk(Removal::WithLastHandle);
    for path in ["f", "g"] {
        put(old, path);
    }
    old.create_dir_all("d").unwrap();
    put(old, "d/h");
    let readers = ["f", "d/h"].map(|path| old.open(path, Mode::Read).unwrap());
    all_refused(old, &[(Refusal::AccessDenied, &|| old.rename("g", "f"))]);
    let error = old.remove_dir_all("d").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::DirectoryNotEmpty);
    old.remove_file("f").unwrap();
    all_refused(old, &[(Refusal::AccessDenied, &|| old.open("f", Mode::CreateNew).map(drop))]);
    // The others give up at once.
    assert!(old.exists("f").is_err());
    assert!(old.open("f", Mode::Read).is_err());
    assert_eq!(old.list("").unwrap().len(), 3);
    // A new file of the name waits for the last handle of the old one.
    scope(|scope| {
        let created = scope.spawn(|| old.open("f", Mode::CreateNew).map(drop));
        sleep(Duration::from_millis(50));
        assert!(!created.is_finished());
        drop(readers);
        created.join().unwrap().unwrap();
    });
    assert!(old.exists("f").unwrap());
}

#[test]
fn a_scanner_of_two_seconds_delays_and_refuses_nothing() {
    let disk = &disk(Removal::AtOnce).scanned(1, Duration::from_secs(2));
    let paths = ["opened", "renamed", "removed", "replaced", "d/moved", "e/gone"];
    for directory in ["d", "e"] {
        disk.create_dir_all(directory).unwrap();
    }
    for path in paths {
        put(disk, path);
    }
    let operations: [&(dyn Fn() -> io::Result<()> + Sync); 5] = [
        &|| disk.open("opened", Mode::Read).map(drop),
        &|| disk.rename("renamed", "new"),
        &|| disk.remove_file("removed"),
        &|| disk.rename("d", "c"),
        &|| disk.remove_dir_all("e"),
    ];
    let began = Instant::now();
    scope(|scope| {
        for operation in operations {
            scope.spawn(move || {
                operation().unwrap();
                assert!(began.elapsed() > Duration::from_millis(1_900));
            });
        }
    });
    assert!(disk.refusals() > 0);
}

#[test]
fn a_scanner_that_stays_is_reported_after_the_retries() {
    let disk = &disk(Removal::AtOnce).scanned(1, 4 * RETRY);
    put(disk, "f");
    put(disk, "g");
    all_refused(
        disk,
        &[
            (Refusal::Shared, &|| disk.open("f", Mode::Read).map(drop)),
            (Refusal::Shared, &|| disk.remove_file("f")),
            (Refusal::Shared, &|| disk.rename("f", "h")),
            (Refusal::AccessDenied, &|| disk.rename("h", "g")),
        ],
    );
}

/// `LockFileEx` keeps others from reading and writing, and a shared lock also its holders from
/// writing.
#[test]
fn locks_keep_others_from_the_bytes() {
    let disk = disk(Removal::AtOnce);
    put(&disk, "f");
    let [one, two] = [0; 2].map(|_| disk.open("f", Mode::OpenOrCreate).unwrap());
    let refusal = |outcome: io::Result<()>| Refusal::of(&outcome.unwrap_err());
    assert!(one.try_lock().unwrap());
    one.write_all_at(b"y", 0).unwrap();
    one.read_exact_at(&mut [0], 0).unwrap();
    assert_eq!(refusal(two.read_exact_at(&mut [0], 0)), Some(Refusal::Locked));
    assert_eq!(refusal(two.write_all_at(b"z", 0)), Some(Refusal::Locked));
    assert_eq!(two.len().unwrap(), 1);
    one.unlock().unwrap();
    two.write_all_at(b"z", 0).unwrap();
    assert!(one.try_lock_shared().unwrap());
    two.read_exact_at(&mut [0], 0).unwrap();
    assert_eq!(refusal(two.write_all_at(b"z", 0)), Some(Refusal::Locked));
    assert_eq!(refusal(one.write_all_at(b"z", 0)), Some(Refusal::Locked));
    drop(one);
    two.write_all_at(b"z", 0).unwrap();
}

#[test]
fn names_of_devices_and_other_spellings_are_refused() {
    let disk = disk(Removal::AtOnce);
    let refused =
        ["nul", "Con.txt", "d/aux", "com1", "LPT9.log", "com¹", "a.", "a ", "a?", "a\u{1}"];
    for name in refused.into_iter().chain(["x".repeat(256).as_str()]) {
        let error = disk.open(name, Mode::OpenOrCreate).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidFilename, "{name:?}");
        assert!(disk.create_dir_all(name).is_err() && disk.rename("f", name).is_err());
    }
    for name in ["null", "console", "com10", "a.b", "comx", &"x".repeat(255)] {
        put(&disk, name);
    }
    assert!(disk.open("A.B", Mode::CreateNew).is_err(), "it is the file a.b");
    disk.remove_file("a.b").unwrap();
    put(&disk, "A.B");
    disk.rename("A.B", "a.b").unwrap();
    assert!(disk.open("A.b", Mode::OpenOrCreate).is_err());
}
