//! A store on a disk that refuses what Windows refuses, while scanners have its files open.

use crate::store::tests::prelude::*;
use std::io::Read as _;

use super::open::{Store, StoreOptions};
use crate::disk::{Removal, WindowsDisk};
use crate::files::*;
use crate::tables::*;
use crate::*;

const ROWS: i64 = 40;
const FILE_BYTES: usize = 70_000;

fn open(disk: &SharedDisk) -> Store {
    let options = StoreOptions::default().maintenance_thread(false).seed(Some(1));
    let options = options.small_blob_bytes(100).seal_rows(100).memory_table_bytes(100_000);
    options.open_on(disk.clone()).unwrap()
}

/// Each third file that is written is scanned at once.
fn scanned(removal: Removal) -> (SharedDisk, WindowsDisk) {
    let disk = WindowsDisk::over(Arc::new(MemoryDisk::new()), removal);
    let disk = disk.scanned(3, Duration::from_millis(30));
    (Arc::new(disk.clone()), disk)
}

fn upload(session: &Session, byte: u8) -> FileId {
    let bytes = vec![byte; FILE_BYTES];
    let request = UploadFileRequest::default();
    session.upload_file(&mut bytes.as_slice(), request, &Control::default()).unwrap()
}

fn create_table(session: &Session) -> TableId {
    let columns = r#"{"columns": [{"name": "t", "dataType": "INT64", "columnType": "INDEX"}]}"#;
    TableService::create_table(session, crate::from_json(columns.as_bytes()).unwrap()).unwrap()
}

fn append(session: &Session, table: &TableId, first: i64) {
    let index = crate::arrow::array::Int64Array::from_iter_values(first..first + ROWS);
    let batch =
        crate::arrow::array::RecordBatch::try_from_iter([("t", Arc::new(index) as _)]).unwrap();
    session.append_batches(table, &mut std::iter::once(Ok(batch)), None).unwrap();
}

fn create_items(session: &Session, count: usize) {
    let item = |number| CreateWorkItemRequest {
        name: Some(format!("item {number}")),
        r#type: Some("test".to_owned()),
        description: Some("x".repeat(300)),
        ..Default::default()
    };
    assert!(session.create_work_items((0..count).map(item).collect()).unwrap().error.is_none());
}

fn assert_sound(store: &Store) {
    let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
    assert_eq!(report.findings, []);
}

/// Writes, deletes what is being read, merges, compacts, backs up twice and opens again: nothing is
/// refused, and nothing stays behind.
fn works(removal: Removal) {
    let (disk, windows) = scanned(removal);
    let mut store = open(&disk);
    let session = ada(&store);
    let table = create_table(&session);
    let files: Vec<FileId> = (0..6).map(|byte| upload(&session, byte)).collect();
    for round in 0..8 {
        append(&session, &table, round * ROWS);
        create_items(&session, 300);
        store.maintain(&Control::default()).unwrap();
    }
    // A reader has the file that is deleted.
    let mut reader = session.open_file(&files[0]).unwrap();
    session.delete_files(files[..3].to_vec()).unwrap();
    store.maintain(&Control::default()).unwrap();
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes, [0; FILE_BYTES]);
    drop(reader);
    store.maintain(&Control::default()).unwrap();
    drop(session);
    store.compact().unwrap();

    let (target, _) = scanned(removal);
    for round in 0..2 {
        let session = ada(&store);
        upload(&session, 100 + round);
        store.backup_to(&target, &Control::default()).unwrap();
    }
    assert_sound(&store);
    store.close().unwrap();
    let store = open(&disk);
    assert_sound(&store);
    store.maintain(&Control::default()).unwrap();
    assert_eq!(walk(&*disk, "files").unwrap().len(), 5);
    drop(store);
    let backup = open(&target);
    assert_sound(&backup);
    assert_eq!(walk(&*target, "files").unwrap().len(), 5);
    assert!(windows.refusals() > 0, "no scanner was met");
}

#[test]
fn a_store_works_where_names_are_free_at_once() {
    works(Removal::AtOnce);
}

#[test]
fn a_store_works_where_names_wait_for_the_last_handle() {
    works(Removal::WithLastHandle);
}
