pub(crate) mod prelude;

use crate::store::tests::prelude::*;

use crate::Control;
use crate::files::FileService;

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
fn a_second_handle_is_told_who_holds_the_store() {
    let disk = Arc::new(MemoryDisk::new());
    let store = open(&disk);
    let error = StoreOptions::default().open_on(disk.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked);
    assert!(error.message().contains(&std::process::id().to_string()), "{error}");
    drop(store);
    open(&disk);
}

#[test]
fn another_format_is_refused_by_kind() {
    let disk = Arc::new(MemoryDisk::new());
    drop(open(&disk));
    let own = format!("{:016x}", super::format::FINGERPRINT);
    let other = format!("{:016x}", !super::format::FINGERPRINT);
    let lines = |number: &str, fingerprint: &str| {
        format!(
            "stationdb store\nformat {number}\nfingerprint {fingerprint}\nbuild 7.7 abc\nstore {other}"
        )
    };
    let text =
        |number: &str, fingerprint: &str| super::format::with_sum(&lines(number, fingerprint));
    let former = |number: u32| format!("stationdb\nformat {number}\nrevision 4\nstore {other}\n");
    let (older, newer) = (ErrorKind::OlderFormat, ErrorKind::NewerFormat);
    for (text, kind, told) in [
        (text("11", &own), newer, "format 11"),
        (text("1", &other), older, "which the build 7.7 abc wrote"),
        (text("11", &other), older, other.as_str()),
        (former(0), older, "`ls KIND --json`"),
        (former(10), older, "before format 1 got its form"),
        (former(11), older, "nothing converts it"),
        // Stores of builds that wrote no sum.
        (lines("1", &other), older, "which the build 7.7 abc wrote"),
        (lines("1", &own), ErrorKind::Corrupt, "damaged"),
        (text("1", "9"), ErrorKind::Corrupt, "damaged"),
        (text("0", &own), ErrorKind::Corrupt, "damaged"),
        (text("one", &own), ErrorKind::Corrupt, "damaged"),
        ("stationdb store\ngarbage".to_owned(), ErrorKind::Corrupt, "damaged"),
        ("#!/bin/sh\n".to_owned(), ErrorKind::Corrupt, "or salvage it"),
    ] {
        disk.remove_file("FORMAT").unwrap();
        write_file(&disk, "FORMAT", text.as_bytes());
        let error = StoreOptions::default().open_on(disk.clone()).unwrap_err();
        assert_eq!(error.kind(), kind, "{text}: {error}");
        assert!(error.message().contains(told), "{text}: {error}");
    }
    // A file of something else, which has no records.
    let other = Arc::new(MemoryDisk::new());
    write_file(&other, "FORMAT", b"#!/bin/sh\n");
    let error = StoreOptions::default().open_on(other).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotAStore, "{error}");
    assert!(error.message().contains("not one of a store"), "{error}");
}

/// A directory with a store, a backup of it, and its FORMAT after `change`.
fn with_format(change: impl Fn(&str) -> String) -> (tempfile::TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let store = StoreOptions::default().maintenance_thread(false).open(path("store")).unwrap();
    store.backup(path("backup"), &Control::default()).unwrap();
    for name in ["store", "backup"] {
        let format = path(name).join("FORMAT");
        let text = std::fs::read_to_string(&format).unwrap();
        let changed = change(text.split("\nsum").next().unwrap());
        assert_ne!(text, changed);
        std::fs::write(format, changed).unwrap();
    }
    (directory, store)
}

/// Each call that reads a store, a backup or the copy of a look refuses one with another stored
/// form, in either direction, and changes nothing.
#[test]
fn another_stored_form_is_refused_by_every_call() {
    let own = format!("{:016x}", super::format::FINGERPRINT);
    let other = format!("{:016x}", !super::format::FINGERPRINT);
    let with_other = |lines: &str| super::format::with_sum(&lines.replace(&own, &other));
    let with_former = |_: &str| "stationdb\nformat 10\nrevision 0\nstore 0\n".to_owned();
    let changes: [&dyn Fn(&str) -> String; 2] = [&with_other, &with_former];
    for change in changes {
        let (directory, store) = with_format(change);
        let path = |name: &str| directory.path().join(name);
        let control = Control::default();
        let image = || {
            let mut files: Vec<_> = ["store", "backup"]
                .into_iter()
                .flat_map(|name| std::fs::read_dir(path(name)).unwrap())
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.is_file() && !path.ends_with("LOCK.owner"))
                .map(|path| (std::fs::read(&path).unwrap(), path))
                .collect();
            files.sort_by(|a, b| a.1.cmp(&b.1));
            files
        };
        let look = || Store::look(path("store")).map(drop);
        let refused = |what: &str, result: crate::Result<()>| {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OlderFormat, "{what}: {error}");
            assert!(error.message().contains("open it with"), "{what}: {error}");
        };
        refused("a look at an open store", look());
        refused("a backup onto one", store.backup(path("backup"), &control).map(drop));
        store.close().unwrap();
        let before = image();
        refused("opening", Store::open(path("store")).map(drop));
        refused("a look", look());
        refused("opening a backup", Store::open(path("backup")).map(drop));
        let new = path("new");
        refused("a restore", Store::restore(path("backup"), &new, &control).map(drop));
        refused("a salvage", Store::salvage(path("store"), &new, &control).map(drop));
        assert!(image() == before);
        // Whoever knows that this build wrote the store removes FORMAT.
        std::fs::remove_file(path("store").join("FORMAT")).unwrap();
        assert!(Store::salvage(path("store"), &new, &control).unwrap().is_complete());
    }
}

/// Older builds compare the first line, so they refuse the store as none of theirs.
#[test]
fn format_names_the_form_and_the_build() {
    let disk = Arc::new(MemoryDisk::new());
    drop(open(&disk));
    let text = String::from_utf8(crate::disk::read_file(&*disk, "FORMAT", 4096).unwrap()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let [first, number, fingerprint, build, store, sum] = lines[..] else { panic!("{text}") };
    assert_eq!((first, number), ("stationdb store", "format 1"));
    assert_eq!(fingerprint, format!("fingerprint {:016x}", super::format::FINGERPRINT));
    let own = format!("build {}", env!("CARGO_PKG_VERSION"));
    assert!(build == own || build.len() == own.len() + 13 && build.starts_with(&own), "{text}");
    assert_eq!((store.len(), sum.len()), (22, 20));
}

/// No wrong bit makes the store look like one of another form.
#[test]
fn a_wrong_bit_in_format_is_damage() {
    let disk = Arc::new(MemoryDisk::new());
    drop(open(&disk));
    let text = crate::disk::read_file(&*disk, "FORMAT", 4096).unwrap();
    let name_len = text.iter().position(|byte| *byte == b'\n').unwrap();
    for at in 0..text.len() * 8 {
        let mut wrong = text.clone();
        wrong[at / 8] ^= 1 << (at % 8);
        disk.remove_file("FORMAT").unwrap();
        write_file(&disk, "FORMAT", &wrong);
        // The last byte is the end of the last line.
        let outcome = StoreOptions::default().open_on(disk.clone()).map(drop);
        let kind = outcome.err().map(|error| error.kind());
        let expected = match at / 8 {
            place if place <= name_len => [Some(ErrorKind::NotAStore), Some(ErrorKind::Corrupt)],
            place if place + 1 == text.len() => [Some(ErrorKind::Corrupt), None],
            _ => [Some(ErrorKind::Corrupt), Some(ErrorKind::Corrupt)],
        };
        assert!(expected.contains(&kind), "bit {at}: {kind:?}");
    }
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
    assert_eq!(
        StoreOptions::default().open_on(disk.clone()).unwrap_err().kind(),
        ErrorKind::Corrupt
    );
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
    let report =
        store.backup_to(&(target.clone() as crate::disk::SharedDisk), &Control::default()).unwrap();
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
    // Its own directory: later writes would go to a file without a name.
    assert_eq!(back_up(own).unwrap_err().kind(), ErrorKind::Locked);
    session.register_subscriber("after").unwrap();
    let foreign = StoreOptions::default().seed(Some(2)).open_on(other.clone()).unwrap();
    assert_eq!(back_up(other).unwrap_err().kind(), ErrorKind::Locked);
    drop(foreign);
    let before = walk(&**other, "").unwrap();
    assert_eq!(back_up(other).unwrap_err().kind(), ErrorKind::NotAStore);
    assert_eq!(walk(&**other, "").unwrap(), before);
    // An earlier backup of the store may have been opened meanwhile, so it has a lock file.
    let backup = Arc::new(MemoryDisk::new());
    back_up(&backup).unwrap();
    drop(open(&backup));
    back_up(&backup).unwrap();
    assert!(open(&backup).verify(VerifyLevel::Checksums, &Control::default()).unwrap().is_sound());
}

#[test]
fn a_backup_over_one_of_another_history_keeps_no_file_of_it() {
    const CONTENT_BYTES: usize = 200_000;
    let disks: [SharedDisk; 4] = std::array::from_fn(|_| Arc::new(MemoryDisk::new()) as _);
    let [first, second, older, newer] = &disks;
    let open_on = |disk: &SharedDisk| {
        let options = StoreOptions::default().seed(Some(1)).maintenance_thread(false).seal_rows(1);
        options.open_on(disk.clone()).unwrap()
    };
    let back_up =
        |store: &Store, target: &SharedDisk| store.backup_to(target, &Control::default()).unwrap();
    let upload = |store: &Store, byte: u8| {
        let request = UploadFileRequest { name: Some("log".into()), ..Default::default() };
        let session = store.session(Identity::user("ada"));
        session
            .upload_file(&mut &vec![byte; CONTENT_BYTES][..], request, &Control::default())
            .unwrap()
    };
    let append = |store: &Store, table: &str, value: i64| {
        let index = crate::arrow::array::Int64Array::from_iter_values(value..value + 100);
        let batch =
            crate::arrow::array::RecordBatch::try_from_iter([("t", Arc::new(index) as _)]).unwrap();
        store
            .session(Identity::user("ada"))
            .append_batches(&table.into(), &mut std::iter::once(Ok(batch)), None)
            .unwrap();
    };
    let store = open_on(first);
    let columns = r#"{"columns": [{"name": "t", "dataType": "INT64", "columnType": "INDEX"}]}"#;
    let request = crate::from_json(columns.as_bytes()).unwrap();
    let table = store.session(Identity::user("ada")).create_table(request).unwrap().to_string();
    back_up(&store, older);
    upload(&store, b'x');
    append(&store, &table, 0);
    let forgotten = upload(&store, b'z');
    back_up(&store, newer);
    drop(store);
    super::restore::restore_to(older, second, &Control::default()).unwrap();
    // New contents get the numbers that contents of the newer backup have.
    let store = open_on(second);
    let id = upload(&store, b'y');
    append(&store, &table, 1_000);
    let report = back_up(&store, newer);
    assert_eq!((report.files, report.files_kept), (3, 0), "{report:?}");
    // Everything is there again.
    let report = back_up(&store, newer);
    assert_eq!((report.files, report.files_kept), (0, 3), "{report:?}");
    assert_eq!(walk(&**newer, "files").unwrap().len(), 1, "{forgotten} is not forgotten");
    let copy = open_on(newer);
    let session = copy.session(Identity::user("ada"));
    let mut content = Vec::new();
    session.download_file(&id, &mut content, &Control::default()).unwrap();
    assert!(content.iter().all(|byte| *byte == b'y') && content.len() == CONTENT_BYTES);
    let page = session.get_table_data(&table.as_str().into(), Default::default()).unwrap();
    assert_eq!(page.frame.to_data_frame().data[0][0].as_deref(), Some("1000"));
    assert!(copy.verify(VerifyLevel::Checksums, &Control::default()).unwrap().is_sound());
}

#[test]
fn a_restore_wants_a_closed_source_and_an_empty_target() {
    let dir = tempfile::tempdir().unwrap();
    let [live, backup, target] = ["live", "backup", "target"].map(|name| dir.path().join(name));
    let store = Store::open(&live).unwrap();
    store.session(Identity::user("ada")).register_subscriber("replica").unwrap();
    store.backup(&backup, &Control::default()).unwrap();
    let restore = |from: &std::path::Path, to: &std::path::Path| {
        Store::restore(from, to, &Control::default())
    };

    assert_eq!(restore(&live, &target).unwrap_err().kind(), ErrorKind::Locked);
    assert_eq!(restore(&backup, &live).unwrap_err().kind(), ErrorKind::NotAStore);
    let nothing = dir.path().join("nothing");
    assert_eq!(restore(&nothing, &target).unwrap_err().kind(), ErrorKind::NotFound);
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
    assert_eq!(
        Store::restore(&backup, &target, &control).unwrap_err().kind(),
        ErrorKind::Cancelled
    );
    let report = restore(&backup, &target).unwrap();
    assert!(report.keys > 0 && report.findings.is_empty(), "{report:?}");
    assert_eq!(names(), before, "the backup was written to");
    let copy = Store::open(&target).unwrap();
    assert_eq!(copy.session(Identity::user("ada")).register_subscriber("replica").unwrap().0, 0);
    copy.close().unwrap();
    // A closed store may be copied like a backup.
    store.close().unwrap();
    assert!(restore(&live, &dir.path().join("second")).unwrap().findings.is_empty());
}

fn create_product(session: &crate::Session, part_number: &str) -> crate::Result<()> {
    use crate::products::ProductService;
    let request = crate::products::CreateProductRequest {
        part_number: part_number.to_owned(),
        ..Default::default()
    };
    session.create_products(vec![request]).map(|_| ())
}

/// An error while the place of the store is checked is no loss: the call fails, and the next one
/// succeeds.
#[test]
fn a_passing_fault_of_the_look_at_the_place_does_not_latch() {
    use std::sync::atomic::Ordering;
    let disk = crate::disk::CountingDisk::default();
    let options = StoreOptions::default().maintenance_thread(false);
    let (store, ada) = opened(options, Arc::new(disk.clone()));
    create_product(&ada, "before").unwrap();
    disk.file_id_fails.store(true, Ordering::SeqCst);
    assert_eq!(store.maintain(&Control::default()).unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(
        store.verify(VerifyLevel::Headers, &Control::default()).unwrap_err().kind(),
        ErrorKind::Io
    );
    disk.file_id_fails.store(false, Ordering::SeqCst);
    create_product(&ada, "after").unwrap();
    // A missing file is a permanent loss, even if the file comes back.
    disk.disk.rename("records.redb", "elsewhere").unwrap();
    assert_eq!(store.maintain(&Control::default()).unwrap_err().kind(), ErrorKind::Latched);
    disk.disk.rename("elsewhere", "records.redb").unwrap();
    assert_eq!(create_product(&ada, "lost").unwrap_err().kind(), ErrorKind::Latched);
}

/// After a failed write, only the published snapshot can be read, so operations on the whole file
/// do not replace it.
#[test]
fn nothing_works_on_the_whole_record_file_after_a_failed_write() {
    use crate::disk::sim::{Fault, OpKind, Pick, SimDisk};
    use crate::products::ProductService;
    let disk = SimDisk::new(1);
    let options = StoreOptions::default().maintenance_thread(false).record_cache_bytes(0);
    let mut store = options.open_on(Arc::new(disk.clone())).unwrap();
    create_product(&store.session(Identity::user("ada")), "before").unwrap();
    disk.inject(Pick::kind(OpKind::Sync).on_path("journal").once(), Fault::Io);
    let error = create_product(&store.session(Identity::user("ada")), "unknown").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
    for _ in 0..2 {
        assert_eq!(store.compact().unwrap_err().kind(), ErrorKind::Latched);
        assert_eq!(store.verify_pages(&Control::default()).unwrap_err().kind(), ErrorKind::Latched);
        let found = store
            .session(Identity::user("ada"))
            .query_products(Default::default())
            .unwrap()
            .products;
        assert_eq!(
            found.iter().map(|one| one.part_number.as_deref().unwrap()).collect::<Vec<_>>(),
            ["before"]
        );
    }
}

/// The engine of an opening that fails shuts the gate when it is dropped, which the opening had shut.
#[test]
fn an_opening_that_fails_to_remove_leftovers_waits_for_nobody() {
    use crate::disk::sim::{Fault, OpKind, Pick, SimDisk};
    let disk = SimDisk::new(1);
    let options = || StoreOptions::default().maintenance_thread(false);
    drop(options().open_on(Arc::new(disk.clone())).unwrap());
    disk.inject(Pick::kind(OpKind::List).on_path("tables"), Fault::Io);
    let begun = std::time::Instant::now();
    let error = options().open_on(Arc::new(disk)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(begun.elapsed() < crate::value::limits::LOOKER_WAIT / 2, "{:?}", begun.elapsed());
}

#[test]
fn closing_is_refused_while_another_handle_is_alive() {
    let disk = Arc::new(MemoryDisk::new());
    let is_refused = |store: Store| {
        let refused = store.close().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict, "{refused}");
        // The store is closed with the last handle.
        assert_eq!(
            StoreOptions::default().open_on(disk.clone()).unwrap_err().kind(),
            ErrorKind::Locked
        );
    };
    let store = open(&disk);
    let session = store.session(Identity::user("ada"));
    is_refused(store);
    session.register_subscriber("replica").unwrap();
    drop(session);
    let store = open(&disk);
    let mut changes = store.changes(crate::Position::START);
    is_refused(store);
    changes.poll().unwrap();
    drop(changes);
    let store = open(&disk);
    let clone = store.clone();
    is_refused(store);
    clone.close().unwrap();
    open(&disk).close().unwrap();
}

#[cfg(feature = "search")]
#[test]
fn closing_returns_the_error_of_saving_the_text_index() {
    use crate::disk::sim::{Fault, OpKind, Pick, SimDisk};
    use crate::products::CreateProductRequest;
    use crate::products::ProductService as _;

    let disk = SimDisk::new(1);
    let open = || StoreOptions::default().maintenance_thread(false).open_on(Arc::new(disk.clone()));
    let store = open().unwrap();
    let session = store.session(Identity::user("ada"));
    let products =
        (0..200).map(|number| CreateProductRequest::new(format!("P-{number}")).name("amplifier"));
    let _ = session.create_products(products.collect()).unwrap();
    let search = |session: &crate::Session| {
        let request = crate::search::SearchRequest {
            text: Some("amplifier".to_owned()),
            take: Some(1000),
            ..Default::default()
        };
        crate::search::SearchService::search(session, request).unwrap().hits.len()
    };
    // The index is open, and has what no checkpoint has.
    assert_eq!(search(&session), 200);
    drop(session);
    disk.inject(Pick::kind(OpKind::Sync).on_path("search/"), Fault::Io);
    assert_eq!(store.close().unwrap_err().kind(), ErrorKind::Io);
    disk.heal();
    // It is closed all the same, and nothing is missing.
    let store = open().unwrap();
    assert_eq!(search(&store.session(Identity::user("ada"))), 200);
    store.close().unwrap();
}

/// A table with two segments that have no files, so that each pass of maintenance fails.
fn damage_a_table(store: &Store) -> crate::tables::TableId {
    use crate::columnar::SegmentMeta;
    use crate::model::tables::table::TableMetadata;
    use crate::session::Access as _;
    use crate::tables::{Column, ColumnType, CreateTableRequest, DataType};

    let session = store.session(Identity::user("ada"));
    let column = Column { column_type: ColumnType::Index, ..Column::new("t", DataType::Int64) };
    let id = session.create_table(CreateTableRequest::new([column])).unwrap();
    let damaged = id.to_string();
    let add = session.write(move |draft| {
        let table = draft.get::<TableMetadata>(&damaged)?.unwrap();
        let meta = |id| SegmentMeta {
            id,
            row_count: 10,
            ordinal_count: 10,
            min_index: 0,
            max_index: 9,
            ..SegmentMeta::default()
        };
        crate::session::tables::add_segments(draft, &table, vec![meta(900), meta(901)])
    });
    add.unwrap();
    id
}

#[test]
fn what_maintenance_in_the_background_fails_with_can_be_read() {
    let store = open(&Arc::new(MemoryDisk::new()));
    let last_error = || {
        let errors = store.status().unwrap().maintenance.last_errors;
        errors.into_iter().next().and_then(|error| error.name)
    };
    assert_eq!(last_error(), None);
    let damaged = damage_a_table(&store);
    let wait_for = |expected: Option<&str>| {
        let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while last_error().as_deref() != expected {
            assert!(std::time::Instant::now() < until, "{:?}", last_error());
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    };
    wait_for(Some("StationDb.Corrupt"));
    let status = store.status().unwrap();
    let told = |status: &crate::status::StoreStatus| {
        let code = crate::status::AttentionCode::MaintenanceFailed;
        status.attention.iter().any(|item| item.code == code)
    };
    assert!(told(&status), "{:?}", status.attention);
    let status = status.maintenance;
    assert!(status.failed_passes > 0 && status.passes >= status.failed_passes, "{status:?}");
    store.session(Identity::user("ada")).delete_table(&damaged).unwrap();
    // A pass that succeeds forgets it, but for the status.
    wait_for(None);
    let status = store.status().unwrap();
    assert!(!told(&status), "{:?}", status.attention);
    let newest = status.maintenance.newest_error.and_then(|error| error.name);
    assert_eq!(newest.as_deref(), Some("StationDb.Corrupt"));
}

#[test]
fn maintenance_inside_a_transaction_of_its_thread_is_refused() {
    use crate::tables::{Column, ColumnType, CreateTableRequest, DataType};

    let options = StoreOptions::default().maintenance_thread(false).seal_rows(1);
    let (store, session) = opened(options, Arc::new(MemoryDisk::new()));
    let column = Column { column_type: ColumnType::Index, ..Column::new("t", DataType::Int64) };
    let id = session.create_table(CreateTableRequest::new([column])).unwrap();
    // Two segments that overlap, so that a merge is due.
    for _ in 0..2 {
        let index = crate::arrow::array::Int64Array::from_iter_values(0..10);
        let batch = crate::arrow::array::RecordBatch::try_from_iter([("t", Arc::new(index) as _)]);
        session.append_batches(&id, &mut std::iter::once(Ok(batch.unwrap())), None).unwrap();
    }
    // On a thread of its own: one that waits for itself would never come back.
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let refused = session.transaction(|_| {
            // Another thread merges, and waits for the transaction with the lock that a merge holds.
            let other = store.clone();
            std::thread::spawn(move || other.maintain(&Control::default()));
            std::thread::sleep(std::time::Duration::from_millis(200));
            Ok(store.maintain(&Control::default()).map_err(|error| error.kind()))
        });
        tell.send(refused).unwrap();
    });
    let refused = told.recv_timeout(std::time::Duration::from_secs(20));
    let refused = refused.expect("maintenance waits for the transaction that it is called in");
    assert_eq!(refused.unwrap().unwrap_err(), ErrorKind::Conflict);
}

#[cfg(unix)]
#[test]
fn an_opening_does_not_write_where_a_link_in_place_of_the_owner_leads() {
    let parent = tempfile::tempdir().unwrap();
    let (store, theirs) = (parent.path().join("store"), parent.path().join("theirs"));
    std::fs::write(&theirs, b"important").unwrap();
    drop(Store::open(&store).unwrap());
    let owner = store.join("LOCK.owner");
    for target in [theirs.clone(), parent.path().join("missing")] {
        std::fs::remove_file(&owner).unwrap();
        std::os::unix::fs::symlink(&target, &owner).unwrap();
        let opened = Store::open(&store).unwrap();
        assert_eq!(std::fs::read(&theirs).unwrap(), b"important");
        assert!(!parent.path().join("missing").exists());
        assert!(std::fs::symlink_metadata(&owner).unwrap().is_file());
        let second = Store::open(&store).unwrap_err();
        let own = format!("process {}", std::process::id());
        assert!(second.message().contains(&own), "{second}");
        drop(opened);
    }
}

/// A link in place of `views` may lead to directories of others.
#[cfg(unix)]
#[test]
fn an_opening_removes_nothing_behind_a_link_in_place_of_views() {
    let parent = tempfile::tempdir().unwrap();
    let (path, theirs) = (parent.path().join("store"), parent.path().join("theirs"));
    std::fs::create_dir_all(theirs.join("stationdb-0123456789abcdef")).unwrap();
    drop(Store::open(&path).unwrap());
    let views = path.join(super::directory::VIEWS);
    let _ = std::fs::remove_dir(&views);
    std::os::unix::fs::symlink(&theirs, &views).unwrap();
    drop(Store::open(&path).unwrap());
    assert_eq!(std::fs::read_dir(&theirs).unwrap().count(), 1);
    // Other names in the directory itself stay as well.
    std::fs::remove_file(&views).unwrap();
    for name in ["stationdb-0123456789abcdef", "stationdb-0123", "mine"] {
        std::fs::create_dir_all(views.join(name)).unwrap();
    }
    drop(Store::open(&path).unwrap());
    let mut left: Vec<_> =
        std::fs::read_dir(&views).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["mine", "stationdb-0123"]);
}

/// No copy of a store gets into the store, whatever the path says before it gets there.
#[test]
fn nothing_is_copied_into_the_store() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("store");
    std::fs::create_dir(parent.path().join("other")).unwrap();
    let store = Store::open(&path).unwrap();
    let control = Control::default();
    let inside = ["other/../store/new", "missing/../store/new", "store/new"];
    for name in inside {
        let error = store.backup(parent.path().join(name), &control).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{name}: {error}");
    }
    store.close().unwrap();
    for name in inside {
        let error = Store::salvage(&path, parent.path().join(name), &control).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{name}: {error}");
    }
    assert!(!path.join("new").exists());
}

/// Before the first checkpoint the record file does not say which commit it is at.
#[test]
fn a_salvage_tells_what_a_journal_lost_before_the_first_checkpoint() {
    let disk = Arc::new(MemoryDisk::new());
    let store = StoreOptions::default().maintenance_thread(false).open_on(disk.clone()).unwrap();
    let ada = store.session(crate::Identity::user("ada"));
    for number in 0..20 {
        let product = CreateProductRequest::new(format!("P{number}"));
        let _ = ada.create_products(vec![product]).unwrap().into_result().unwrap();
    }
    for cut in [8_192, 8_193, 9_000] {
        let source = Arc::new(MemoryDisk::new());
        for (path, _) in crate::disk::walk(&*disk, "").unwrap() {
            let bytes = crate::disk::read_file(&*disk, &path, 1 << 30).unwrap();
            let end = if path == "journal.1" { cut.min(bytes.len()) } else { bytes.len() };
            write_file(&source, &path, &bytes[..end]);
        }
        let (from, into): (SharedDisk, SharedDisk) = (source, Arc::new(MemoryDisk::new()));
        let report = super::salvage::salvage_to(&from, &into, &Control::default()).unwrap();
        let is_told = report.lost.iter().any(|lost| lost.file == "journal.1");
        assert!(is_told, "cut at {cut}: {report:?}");
    }
    drop(store);
}
