use std::sync::Arc;

use crate::disk::{Disk, MemoryDisk, Mode};
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
    assert_eq!(StoreOptions::default().open_on(disk.clone()).unwrap_err().kind(), ErrorKind::NewerFormat);
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
