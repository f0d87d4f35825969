use std::sync::Arc;

use crate::disk::{Disk, MemoryDisk, Mode, SharedDisk, walk};
use crate::error::ErrorKind;
use crate::store::{Store, StoreOptions, VerifyLevel};
use crate::{Control, Identity};

fn open(disk: &Arc<MemoryDisk>) -> Store {
    StoreOptions::default().seed(Some(1)).open_on(disk.clone()).unwrap()
}

fn write_file(disk: &MemoryDisk, path: &str, data: &[u8]) {
    disk.open(path, Mode::OpenOrCreate).unwrap().write_all_at(data, 0).unwrap();
}

#[test]
fn a_directory_that_is_no_store_stays_untouched() {
    let disk = Arc::new(MemoryDisk::new());
    write_file(&disk, "thesis.txt", b"important");
    let before = disk.list("").unwrap();
    let error = StoreOptions::default().open_on(disk.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotAStore);
    assert!(error.message().contains("thesis.txt"));
    assert_eq!(disk.list("").unwrap(), before);
}

#[test]
fn another_format_is_refused_by_kind() {
    let disk = Arc::new(MemoryDisk::new());
    drop(open(&disk));
    disk.remove_file("FORMAT").unwrap();
    write_file(&disk, "FORMAT", b"stationdb\nformat 7\nrevision 0\nstore 0\n");
    let error = StoreOptions::default().open_on(disk.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NewerFormat, "{error}");
    assert!(error.message().contains("format 7"), "{error}");
    disk.remove_file("FORMAT").unwrap();
    write_file(&disk, "FORMAT", b"stationdb\nformat 0\nrevision 4\nstore 0\n");
    let error = StoreOptions::default().open_on(disk.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OlderFormat, "{error}");
    assert!(error.message().contains("the build that wrote"), "{error}");
    disk.remove_file("FORMAT").unwrap();
    write_file(&disk, "FORMAT", b"stationdb\ngarbage");
    assert_eq!(StoreOptions::default().open_on(disk.clone()).unwrap_err().kind(), ErrorKind::Corrupt);
    disk.remove_file("FORMAT").unwrap();
    write_file(&disk, "FORMAT", b"#!/bin/sh\n");
    assert_eq!(StoreOptions::default().open_on(disk).unwrap_err().kind(), ErrorKind::NotAStore);
}

#[test]
fn a_creation_that_was_cut_short_starts_again() {
    let disk = Arc::new(MemoryDisk::new());
    write_file(&disk, "LOCK", b"");
    write_file(&disk, "records.redb.new", b"half");
    drop(open(&disk));
    let disk = Arc::new(MemoryDisk::new());
    drop(open(&disk));
    disk.rename("FORMAT", "FORMAT.new").unwrap();
    drop(open(&disk));
}

#[test]
fn a_store_without_its_record_file_is_corrupt_and_not_empty() {
    let disk = Arc::new(MemoryDisk::new());
    drop(open(&disk));
    disk.remove_file("records.redb").unwrap();
    assert_eq!(StoreOptions::default().open_on(disk.clone()).unwrap_err().kind(), ErrorKind::Corrupt);
    write_file(&disk, "records.redb", &[7; 100_000]);
    assert_eq!(StoreOptions::default().open_on(disk).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn a_backup_is_a_store_and_an_interrupted_one_is_told_apart() {
    let source = Arc::new(MemoryDisk::new());
    let mut store = open(&source);
    let session = store.session(Identity::user("ada"));
    session.register_subscriber("replica").unwrap();
    let target = Arc::new(MemoryDisk::new());
    let control = Control::default();
    control.cancel();
    assert_eq!(
        store.backup_to(&(target.clone() as crate::disk::SharedDisk), &control).unwrap_err().kind(),
        ErrorKind::Cancelled
    );
    assert!(StoreOptions::default().open_on(target.clone()).is_err());
    let report = store.backup_to(&(target.clone() as crate::disk::SharedDisk), &Control::default()).unwrap();
    assert!(report.keys > 0);
    drop(session);
    assert!(store.compact().unwrap().bytes_after > 0);
    let copy = open(&target);
    assert!(copy.verify(VerifyLevel::Checksums, &Control::default()).unwrap().is_sound());
    let session = copy.session(Identity::user("ada"));
    assert_eq!(session.register_subscriber("replica").unwrap().0, 0);
}

#[test]
fn a_backup_touches_neither_another_store_nor_one_that_is_open() {
    let disks = [1, 2].map(|_| Arc::new(MemoryDisk::new()));
    let [own, other] = &disks;
    let store = open(own);
    let back_up = |target: &Arc<MemoryDisk>| {
        let target: SharedDisk = target.clone();
        store.backup_to(&target, &Control::default())
    };
    let session = store.session(Identity::user("ada"));
    session.register_subscriber("replica").unwrap();
    // Its own directory: what is written from then on would go to a file without a name.
    assert_eq!(back_up(own).unwrap_err().kind(), ErrorKind::Locked);
    session.register_subscriber("after").unwrap();
    let foreign = StoreOptions::default().seed(Some(2)).open_on(other.clone()).unwrap();
    assert_eq!(back_up(other).unwrap_err().kind(), ErrorKind::Locked);
    drop(foreign);
    let before = walk(&**other, "").unwrap();
    assert_eq!(back_up(other).unwrap_err().kind(), ErrorKind::NotAStore);
    assert_eq!(walk(&**other, "").unwrap(), before);
    // An earlier backup of its own may have been opened meanwhile, so it has a lock file.
    let backup = Arc::new(MemoryDisk::new());
    back_up(&backup).unwrap();
    drop(open(&backup));
    back_up(&backup).unwrap();
    assert!(open(&backup).verify(VerifyLevel::Checksums, &Control::default()).unwrap().is_sound());
}

#[test]
fn a_restore_wants_a_closed_source_and_an_empty_target() {
    let dir = tempfile::tempdir().unwrap();
    let [live, backup, target] = ["live", "backup", "target"].map(|name| dir.path().join(name));
    let store = Store::open(&live).unwrap();
    store.session(Identity::user("ada")).register_subscriber("replica").unwrap();
    store.backup(&backup, &Control::default()).unwrap();
    let restore = |from: &std::path::Path, to: &std::path::Path| Store::restore(from, to, &Control::default());

    assert_eq!(restore(&live, &target).unwrap_err().kind(), ErrorKind::Locked);
    assert_eq!(restore(&backup, &live).unwrap_err().kind(), ErrorKind::NotAStore);
    assert_eq!(restore(&dir.path().join("nothing"), &target).unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(restore(dir.path(), &target).unwrap_err().kind(), ErrorKind::NotAStore);

    let names = || {
        let entries = std::fs::read_dir(&backup).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    let control = Control::default();
    control.cancel();
    assert_eq!(Store::restore(&backup, &target, &control).unwrap_err().kind(), ErrorKind::Cancelled);
    let report = restore(&backup, &target).unwrap();
    assert!(report.keys > 0 && report.findings.is_empty(), "{report:?}");
    assert_eq!(names(), before, "the backup was written to");
    let copy = Store::open(&target).unwrap();
    assert_eq!(copy.session(Identity::user("ada")).register_subscriber("replica").unwrap().0, 0);
    copy.close().unwrap();
    // What was stored and closed may be copied like a backup.
    store.close().unwrap();
    assert!(restore(&live, &dir.path().join("second")).unwrap().findings.is_empty());
}
