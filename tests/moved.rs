//! A store whose directory or record file is moved away, removed or replaced while it is open. What
//! must hold: no further write is acknowledged, no file of the replacement is changed, and all
//! acknowledged data is in the place to which it was moved. Windows does not allow an open
//! directory or record file to be moved, so there is nothing to test there.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use stationdb::arrow::array::{Int64Array, RecordBatch};
use stationdb::files::{GetFilesRequest, UploadFileRequest};
use stationdb::prelude::*;
use stationdb::products::CreateProductRequest;
use stationdb::search::SearchRequest;
use stationdb::tables::TableId;
use stationdb::{Control, Error, ErrorKind, Identity, Session, Store, VerifyLevel};

const LARGE: usize = 200_000;
const ROWS: i64 = 1_000;

fn open(path: &Path) -> Store {
    Store::options().maintenance_thread(false).seal_rows(100).open(path).unwrap()
}

fn ada(store: &Store) -> Session {
    store.session(Identity::user("ada"))
}

fn create_product(session: &Session, part_number: &str) -> Result<(), Error> {
    let request = CreateProductRequest::new(part_number.to_owned());
    session.create_products(vec![request]).map(|_| ())
}

fn upload(session: &Session, byte: u8) -> Result<(), Error> {
    let request = UploadFileRequest::new().name("log");
    session.upload_file(&mut vec![byte; LARGE].as_slice(), request, &Control::default()).map(|_| ())
}

fn append(session: &Session, table: &TableId) -> Result<(), Error> {
    let values = Int64Array::from_iter_values(0..ROWS);
    let batch = RecordBatch::try_from_iter([("t", Arc::new(values) as _)]).unwrap();
    session.append_batches(table, &mut std::iter::once(Ok(batch)), None)
}

/// A store with a product, a file and a table.
fn fill(store: &Store) -> TableId {
    let ada = ada(store);
    create_product(&ada, "acknowledged").unwrap();
    upload(&ada, b'x').unwrap();
    let columns = r#"{"columns": [{"name": "t", "dataType": "INT64", "columnType": "INDEX"}]}"#;
    let table = ada.create_table(stationdb::from_json(columns.as_bytes()).unwrap()).unwrap();
    append(&ada, &table).unwrap();
    table
}

/// Checks that a store is undamaged and contains what [`fill`] wrote, and nothing else.
fn assert_filled(path: &Path) {
    let store = open(path);
    let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
    assert_eq!(report.findings, [], "{}", path.display());
    assert_filled_store(&store);
    store.close().unwrap();
}

fn assert_filled_store(store: &Store) {
    let ada = ada(store);
    let products = ada.query_products(Default::default()).unwrap().products;
    assert_eq!(
        products.iter().map(|one| one.part_number.as_deref().unwrap()).collect::<Vec<_>>(),
        ["acknowledged"]
    );
    let files = ada.get_files(GetFilesRequest::default()).unwrap().available_files;
    assert_eq!(files.len(), 1);
    let tables = ada.query_tables(Default::default()).unwrap().tables;
    assert_eq!(tables.iter().map(|one| one.row_count.unwrap()).collect::<Vec<_>>(), [ROWS]);
}

/// The bytes of each file below a directory.
fn contents(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![path.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else {
                found.insert(
                    entry.path().strip_prefix(path).unwrap().to_owned(),
                    std::fs::read(entry.path()).unwrap(),
                );
            }
        }
    }
    found
}

/// A store that lost its files refuses every kind of write, and its checks report the loss.
fn assert_refuses(store: &Store, table: &TableId) {
    let ada = ada(store);
    let file = &ada.get_files(GetFilesRequest::default()).unwrap().available_files[0].id;
    let refusals = [
        ("a large file", upload(&ada, b'z')),
        ("a large append", append(&ada, table)),
        ("a product", create_product(&ada, "lost")),
        ("a delete", ada.delete_file(file)),
        ("a transaction", ada.transaction(|tx| tx.delete_file(file))),
        ("maintenance", store.maintain(&Control::default()).map(|_| ())),
    ];
    for (what, refusal) in refusals {
        let error = refusal.expect_err(what);
        assert_eq!(error.kind(), ErrorKind::Latched, "{what}: {error}");
        assert!(error.message().contains("while "), "{what}: {error}");
    }
    for level in [VerifyLevel::Headers, VerifyLevel::Checksums] {
        let report = store.verify(level, &Control::default()).unwrap();
        assert_eq!(report.findings.len(), 1, "{report:?}");
        assert!(report.findings[0].problem.contains("while "), "{report:?}");
    }
    // Data in memory or in the open record file can still be read.
    assert_eq!(ada.query_products(Default::default()).unwrap().products.len(), 1);
}

/// Moves the directory of an open store away, lets `place` put something in its place, and checks
/// both.
fn moved_away(place: impl FnOnce(&Store, &Path)) {
    let dir = tempfile::tempdir().unwrap();
    let [path, away] = ["station", "away"].map(|name| dir.path().join(name));
    let store = open(&path);
    let table = fill(&store);
    // A text index that closing would save.
    ada(&store).search(SearchRequest::new().text("acknowledged")).unwrap();
    // Unnamed files, which maintenance would remove.
    let other = upload(&ada(&store), b'y').map(|()| {
        let files = ada(&store).get_files(GetFilesRequest::default()).unwrap().available_files;
        files.into_iter().max_by_key(|file| file.id.to_string()).unwrap().id
    });
    ada(&store).delete_file(&other.unwrap()).unwrap();

    let staged = dir.path().join("staged");
    place(&store, &staged);
    std::fs::rename(&path, &away).unwrap();
    if staged.exists() {
        std::fs::rename(&staged, &path).unwrap();
    }
    let before = path.exists().then(|| contents(&path));
    assert_refuses(&store, &table);
    let error = store.close().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Latched, "{error}");
    let after = path.exists().then(|| contents(&path));
    let names = |files: &Option<BTreeMap<PathBuf, Vec<u8>>>| {
        files.iter().flatten().map(|(name, _)| name.clone()).collect()
    };
    let [names_before, names_after]: [Vec<PathBuf>; 2] = [names(&before), names(&after)];
    assert_eq!(names_after, names_before, "the names of the replacement changed");
    assert!(after == before, "bytes of the replacement changed");
    assert_filled(&away);
    if before.is_some_and(|files| !files.is_empty()) {
        assert_filled(&path);
    }
}

#[test]
fn a_directory_that_is_gone_takes_no_writes() {
    moved_away(|_, _| {});
}

#[test]
fn a_directory_with_a_copy_in_its_place_takes_no_writes() {
    moved_away(|store, place| {
        store.backup(place, &Control::default()).unwrap();
    });
}

#[test]
fn a_directory_with_another_store_in_its_place_takes_no_writes() {
    moved_away(|_, place| {
        let other = open(place);
        fill(&other);
        other.close().unwrap();
    });
}

#[test]
fn a_directory_with_an_empty_one_in_its_place_takes_no_writes() {
    moved_away(|_, place| std::fs::create_dir(place).unwrap());
}

/// A write to a file without a name would be lost with the process. The data in it can still be
/// backed up.
#[test]
fn a_record_file_that_was_removed_or_replaced_takes_no_writes() {
    for is_replaced in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let [path, copy, rescue] = ["station", "copy", "rescue"].map(|name| dir.path().join(name));
        let store = open(&path);
        let table = fill(&store);
        store.backup(&copy, &Control::default()).unwrap();
        if is_replaced {
            std::fs::rename(copy.join("records.redb"), path.join("records.redb")).unwrap();
        } else {
            std::fs::remove_file(path.join("records.redb")).unwrap();
        }
        assert_refuses(&store, &table);
        store.backup(&rescue, &Control::default()).unwrap();
        assert_eq!(store.close().unwrap_err().kind(), ErrorKind::Latched);
        assert_filled(&rescue);
        if is_replaced {
            // A record file belongs to its journal, and that of a backup has none.
            for name in ["journal.0", "journal.1"] {
                assert!(!copy.join(name).exists());
                std::fs::remove_file(path.join(name)).unwrap();
            }
            assert_filled(&path);
        }
    }
}

/// The maintenance thread finds the loss without a write.
#[test]
fn an_idle_store_finds_out_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let [path, away] = ["station", "away"].map(|name| dir.path().join(name));
    let store = Store::open(&path).unwrap();
    fill(&store);
    std::fs::rename(&path, &away).unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    // Moved back before each write, so that only the earlier detection can refuse it.
    loop {
        std::thread::sleep(Duration::from_millis(1_500));
        std::fs::rename(&away, &path).unwrap();
        match create_product(&ada(&store), "after") {
            Err(error) => break assert_eq!(error.kind(), ErrorKind::Latched, "{error}"),
            Ok(()) => assert!(Instant::now() < until, "the loss was not detected"),
        }
        std::fs::rename(&path, &away).unwrap();
    }
    store.close().unwrap();
}
