//! Maintenance rewrites the record file while the store is open. The contents stay, and other
//! handles see no difference.

use crate::store::tests::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

use super::open::{Store, StoreOptions};
use super::verify::VerifyLevel;
use crate::{Control, ErrorKind, MaintenanceReport, Session};
use crate::{files::*, products::*, tables::*};

const MIB: u64 = 1024 * 1024;
/// Size of a file whose content is stored in the record file.
const LARGE: usize = 512 * 1024;
const FILES: usize = 12;

fn options() -> StoreOptions {
    let options =
        StoreOptions::default().maintenance_thread(false).seed(Some(1)).small_blob_bytes(LARGE);
    // Without a memory table, so that all content goes through the record file.
    let options = options.memory_table_bytes(0);
    options.reserve_bytes(MIB).clock(ManualClock::new(Default::default()))
}

fn open(disk: &SimDisk) -> Store {
    options().open_on(Arc::new(disk.clone())).unwrap()
}

fn content(number: usize) -> Vec<u8> {
    (0..LARGE as u32)
        .map(|at| (at.wrapping_mul(0x9E37_79B9).wrapping_add(number as u32) >> 13) as u8)
        .collect()
}

fn upload(session: &Session, number: usize) -> Result<FileId, Error> {
    let request = UploadFileRequest { name: Some(format!("file {number}")), ..Default::default() };
    session.upload_file(&mut content(number).as_slice(), request, &Control::default())
}

fn download(session: &Session, id: &FileId) -> Vec<u8> {
    let mut bytes = Vec::new();
    session.download_file(id, &mut bytes, &Control::default()).unwrap();
    bytes
}

fn create_product(session: &Session, number: usize) -> Result<(), Error> {
    let request = CreateProductRequest {
        part_number: format!("part {number}"),
        name: Some(format!("amplifier {number}")),
        ..Default::default()
    };
    session.create_products(vec![request]).map(|_| ())
}

fn part_numbers(session: &Session) -> Vec<String> {
    let request = QueryProductsRequest { take: Some(1000), ..Default::default() };
    let products = session.query_products(request).unwrap().products;
    let mut found: Vec<_> =
        products.into_iter().filter_map(|product| product.part_number).collect();
    found.sort();
    found
}

fn maintain(store: &Store) -> MaintenanceReport {
    store.maintain(&Control::default()).unwrap()
}

fn record_file_len(disk: &SimDisk) -> u64 {
    disk.open("records.redb", Mode::Read).unwrap().len().unwrap()
}

fn assert_sound(store: &Store) {
    let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
    assert_eq!(report.findings, []);
}

/// A store whose record file is mostly free, and the file that is left in it.
struct Emptied {
    kept: FileId,
    table: TableId,
}

fn fill_and_empty(session: &Session) -> Emptied {
    create_product(session, 0).unwrap();
    let columns = vec![
        column("t", DataType::Int64, ColumnType::Index),
        column("v", DataType::Float64, ColumnType::Normal),
    ];
    let table = session.create_table(CreateTableRequest { columns, ..Default::default() }).unwrap();
    let rows = (0..100).map(|at| vec![Some(at.to_string()), Some("0.5".to_owned())]).collect();
    let frame = Some(DataFrame { columns: None, data: rows });
    session.append_table_data(&table, AppendTableDataRequest { frame, end_of_data: None }).unwrap();
    let mut ids: Vec<_> = (0..FILES).map(|number| upload(session, number).unwrap()).collect();
    create_product(session, 1).unwrap();
    let kept = ids.pop().unwrap();
    session.delete_files(ids).unwrap();
    Emptied { kept, table }
}

fn assert_there(session: &Session, emptied: &Emptied, products: usize) {
    assert_eq!(
        part_numbers(session),
        (0..products).map(|number| format!("part {number}")).collect::<Vec<_>>()
    );
    assert_eq!(download(session, &emptied.kept), content(FILES - 1));
    assert_eq!(session.get_table_metadata(&emptied.table).unwrap().row_count, Some(100));
}

#[test]
fn the_record_file_becomes_smaller_while_the_store_is_open() {
    let disk = SimDisk::new(1);
    let store = open(&disk);
    let session = store.session(Identity::user("ada"));
    session.register_subscriber("mirror").unwrap();
    let emptied = fill_and_empty(&session);
    let mut changes = session.changes(Position::START);
    let first = changes.poll().unwrap().unwrap();
    session.advance_subscriber("mirror", Position(first.sequence)).unwrap();
    let newest = session.position();
    let before = record_file_len(&disk);
    let report = maintain(&store);
    let after = record_file_len(&disk);
    println!("{before} bytes, then {after}: {report:?}");
    assert!(after < before / 2, "{before} bytes became {after}");
    assert!(report.record_file_bytes_returned > before / 3, "{report:?}");
    assert!(!disk.exists("records.redb.new").unwrap());

    // Everything is as it was, and continues to work, in the existing handles.
    assert_there(&session, &emptied, 2);
    assert_eq!(session.position(), newest);
    let mut events = 1;
    while changes.poll().unwrap().is_some() {
        events += 1;
    }
    assert_sound(&store);
    create_product(&session, 2).unwrap();
    assert_eq!(changes.poll().unwrap().unwrap().name, "amplifier 2");
    assert_there(&session, &emptied, 3);
    #[cfg(feature = "search")]
    {
        let found = session
            .search(SearchRequest { text: Some("amplifier".into()), ..Default::default() })
            .unwrap();
        assert_eq!(found.hits.len(), 3);
    }
    // There is nothing left to do.
    assert_eq!(maintain(&store).record_file_bytes_returned, 0);
    let ids: Vec<_> = (0..FILES).map(|number| upload(&session, number).unwrap()).collect();
    session.delete_files(ids).unwrap();
    assert!(maintain(&store).record_file_bytes_returned > 0, "a second rewrite");
    assert_there(&session, &emptied, 3);
    drop((session, changes));
    store.close().unwrap();

    let mut store = open(&disk);
    let session = store.session(Identity::user("ada"));
    assert_there(&session, &emptied, 3);
    let subscribers = store.subscribers().unwrap();
    assert_eq!(subscribers.len(), 1);
    assert_eq!(subscribers[0].position, Position(first.sequence));
    let mut changes = session.changes(Position::START);
    let mut all = 0;
    while changes.poll().unwrap().is_some() {
        all += 1;
    }
    assert!(all > events, "{all} events after {events}");
    create_product(&session, 3).unwrap();
    drop((session, changes));
    assert_sound(&store);
    assert_eq!(store.verify_pages(&Control::default()).unwrap().findings, []);
}

#[test]
fn a_reader_keeps_the_record_file_and_a_later_pass_rewrites_it() {
    let disk = SimDisk::new(1);
    let store = open(&disk);
    let session = store.session(Identity::user("ada"));
    let emptied = fill_and_empty(&session);
    let reader = store.engine().snapshot();
    let files = |disk: &SimDisk| {
        disk.trace().iter().filter(|entry| &*entry.path == "records.redb.new").count()
    };
    let begun = files(&disk);
    assert_eq!(maintain(&store).record_file_bytes_returned, 0);
    assert_eq!(files(&disk), begun, "a file was written in vain");
    // The same with a reader of a state before the last commit.
    create_product(&session, 2).unwrap();
    assert_eq!(maintain(&store).record_file_bytes_returned, 0);
    assert_eq!(reader.sequence + 1, store.engine().snapshot().sequence);
    drop(reader);
    assert!(maintain(&store).record_file_bytes_returned > 0);
    assert_there(&session, &emptied, 3);
    assert_sound(&store);
}

/// A reader that starts while the file is copied also keeps the old file, and the copy is removed.
#[test]
fn a_reader_that_comes_during_the_copy_sees_its_state_and_no_error() {
    let disk = SimDisk::new(1);
    let store = open(&disk);
    let session = store.session(Identity::user("ada"));
    let emptied = fill_and_empty(&session);
    disk.set_latency(OpKind::Sync, Duration::from_millis(20));
    let begun = disk.ops();
    let is_copying = || {
        let mut trace = disk.trace().into_iter().filter(|entry| entry.op >= begun);
        trace.any(|entry| &*entry.path == "records.redb.new" && entry.kind == OpKind::Create)
    };
    let report = std::thread::scope(|scope| {
        let pass = scope.spawn(|| maintain(&store));
        while !is_copying() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let reader = store.engine().snapshot();
        let report = pass.join().unwrap();
        let mut cursor =
            ReadSource::Snapshot(&reader).cursor(Space::SmallBlobs, &[], None).unwrap();
        assert!(cursor.next().unwrap().is_some());
        report
    });
    disk.set_latency(OpKind::Sync, Duration::ZERO);
    assert_eq!(report.record_file_bytes_returned, 0);
    assert!(!disk.exists("records.redb.new").unwrap());
    assert_there(&session, &emptied, 2);
    assert!(maintain(&store).record_file_bytes_returned > 0, "the next pass rewrites it");
    assert_there(&session, &emptied, 2);
}

#[test]
fn readers_and_writers_beside_rewrites_see_no_error() {
    let disk = SimDisk::new(1);
    let store = open(&disk);
    let session = store.session(Identity::user("ada"));
    let emptied = fill_and_empty(&session);
    let is_over = AtomicBool::new(false);
    let (mut rewrites, mut reads, mut writes) = (0, 0, 2);
    std::thread::scope(|scope| {
        let reader = || {
            let session = store.session(Identity::user("ada"));
            let (mut count, mut seen) = (0, 0);
            while !is_over.load(Ordering::SeqCst) {
                let found = part_numbers(&session).len();
                assert!(found >= seen, "{found} products after {seen}");
                seen = found;
                assert_eq!(download(&session, &emptied.kept), content(FILES - 1));
                count += 1;
                std::thread::sleep(Duration::from_millis(2));
            }
            count
        };
        let readers = [scope.spawn(reader), scope.spawn(reader)];
        let writer = scope.spawn(|| {
            let session = store.session(Identity::user("ada"));
            let mut next = 2;
            while !is_over.load(Ordering::SeqCst) {
                create_product(&session, next).unwrap();
                next += 1;
                std::thread::sleep(Duration::from_millis(2));
            }
            next
        });
        for _ in 0..2 {
            for _ in 0..400 {
                if maintain(&store).record_file_bytes_returned > 0 {
                    rewrites += 1;
                    break;
                }
            }
            let mut ids: Vec<_> =
                (0..FILES).map(|number| upload(&session, number).unwrap()).collect();
            // The last one stays: without it, redb cuts off the end of the file, so that the rest
            // is too small for a rewrite.
            ids.pop();
            session.delete_files(ids).unwrap();
        }
        is_over.store(true, Ordering::SeqCst);
        reads = readers.into_iter().map(|reader| reader.join().unwrap()).sum();
        writes = writer.join().unwrap();
    });
    println!("{rewrites} rewrites during {reads} reads and {writes} writes");
    assert_eq!(rewrites, 2);
    assert_eq!(part_numbers(&session).len(), writes);
    assert_sound(&store);
}

/// Each limit alone keeps the file as it is.
#[test]
fn a_rewrite_keeps_to_its_bounds() {
    let returned = |options: StoreOptions, capacity: Option<u64>, len: usize| {
        let disk = SimDisk::new(1);
        let (store, session) = opened(options, Arc::new(disk.clone()));
        let content = &content(0)[..len];
        let upload = || {
            session
                .upload_file(&mut &*content, UploadFileRequest::default(), &Control::default())
                .unwrap()
        };
        let mut ids: Vec<_> = (0..FILES).map(|_| upload()).collect();
        create_product(&session, 0).unwrap();
        let kept = ids.split_off(FILES - 1);
        session.delete_files(ids).unwrap();
        disk.set_capacity(capacity.map(|room| record_file_len(&disk) + room));
        let report = maintain(&store);
        assert_eq!(download(&session, &kept[0]), content);
        report.record_file_bytes_returned
    };
    assert!(returned(options(), None, LARGE) > 4 * MIB);
    assert_eq!(returned(options().record_rewrite_bytes_max(0), None, LARGE), 0, "never");
    assert_eq!(
        returned(options().record_rewrite_bytes_max(LARGE as u64), None, LARGE),
        0,
        "too much is in use"
    );
    assert_eq!(returned(options(), None, LARGE / 8), 0, "a small file");
    // A commit may cut the free end off the file, up to all of its length.
    let reserved = options().reserve_bytes(64 * MIB);
    assert_eq!(returned(reserved, Some(8 * MIB), LARGE), 0, "no space in addition to the reserve");
    assert!(returned(options(), Some(8 * MIB), LARGE) > 4 * MIB);
}

/// The disk fails before the new file has the name: the old one stays in use and accepts writes.
#[test]
fn a_rewrite_that_fails_leaves_the_old_file_in_use() {
    for (kind, path) in [
        (OpKind::Create, "records.redb.new"),
        (OpKind::Write, "records.redb.new"),
        (OpKind::SetLen, "records.redb.new"),
        (OpKind::Sync, "records.redb.new"),
        (OpKind::Open, "records.redb.new"),
        (OpKind::Rename, "records.redb.new"),
    ] {
        let disk = SimDisk::new(1);
        let store = open(&disk);
        let session = store.session(Identity::user("ada"));
        let emptied = fill_and_empty(&session);
        disk.inject(Pick::kind(kind).on_path(path).once(), Fault::Io);
        let error = store.maintain(&Control::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{kind:?}: {error}");
        assert!(!disk.exists("records.redb.new").unwrap(), "{kind:?}");
        assert_there(&session, &emptied, 2);
        create_product(&session, 2)
            .unwrap_or_else(|error| panic!("{kind:?}: a write was refused: {error}"));
        // It is not copied again and again.
        assert_eq!(maintain(&store).record_file_bytes_returned, 0, "{kind:?}");
        drop(session);
        store.close().unwrap();
        let store = open(&disk);
        let session = store.session(Identity::user("ada"));
        assert_there(&session, &emptied, 3);
        assert!(maintain(&store).record_file_bytes_returned > 0, "{kind:?}");
        assert_there(&session, &emptied, 3);
        assert_sound(&store);
    }
}

/// The disk fails when it is unknown which file would have the name after a power cut: no further
/// write is accepted.
#[test]
fn a_rewrite_whose_name_may_be_lost_latches_and_reads_go_on() {
    for is_rename in [false, true] {
        let disk = SimDisk::new(1);
        let store = open(&disk);
        let session = store.session(Identity::user("ada"));
        let emptied = fill_and_empty(&session);
        // The next pass has only the rewrite to do.
        let reader = store.engine().snapshot();
        maintain(&store);
        drop(reader);
        if is_rename {
            // Neither the rename nor the old file succeeds any more.
            disk.inject(Pick::kind(OpKind::Rename).on_path("records.redb.new"), Fault::Io);
            disk.inject(Pick::kind(OpKind::Open).on_path("records.redb").nth(2), Fault::Io);
        } else {
            disk.inject(Pick::kind(OpKind::SyncDir).once(), Fault::Io);
        }
        let error = store.maintain(&Control::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        disk.heal();
        assert_there(&session, &emptied, 2);
        assert_eq!(create_product(&session, 2).unwrap_err().kind(), ErrorKind::Latched);
        assert_eq!(store.maintain(&Control::default()).unwrap_err().kind(), ErrorKind::Latched);
        assert_there(&session, &emptied, 2);
        drop(session);
        store.close().unwrap();
        let store = open(&disk);
        assert!(!disk.exists("records.redb.new").unwrap());
        let session = store.session(Identity::user("ada"));
        assert_there(&session, &emptied, 2);
        create_product(&session, 2).unwrap();
        assert_sound(&store);
    }
}

/// redb doubles a file that must grow. A rewrite that counted this as free space would repeat
/// itself after every few commits.
#[test]
fn a_file_that_grew_is_not_rewritten_again_and_again() {
    let disk = SimDisk::new(1);
    let store = open(&disk);
    let session = store.session(Identity::user("ada"));
    let mut ids: Vec<_> = (0..4 * FILES).map(|number| upload(&session, number).unwrap()).collect();
    session.delete_files(ids.split_off(FILES)).unwrap();
    assert!(maintain(&store).record_file_bytes_returned > 0);
    let small = content(0);
    for number in 0..200 {
        let request =
            UploadFileRequest { name: Some(format!("small {number}")), ..Default::default() };
        session
            .upload_file(&mut small.get(..32 * 1024).unwrap(), request, &Control::default())
            .unwrap();
        assert_eq!(
            maintain(&store).record_file_bytes_returned,
            0,
            "after {number} further commits"
        );
    }
}

/// Only the user of the station may read the record file, before and after the rewrite.
#[cfg(unix)]
#[test]
fn the_fresh_file_has_the_rights_of_the_old_one() {
    use std::os::unix::fs::PermissionsExt as _;

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("records.redb");
    let store = options().open(dir.path()).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let session = store.session(Identity::user("ada"));
    let mut ids: Vec<_> = (0..2 * FILES).map(|number| upload(&session, number).unwrap()).collect();
    session.delete_files(ids.split_off(1)).unwrap();
    assert!(maintain(&store).record_file_bytes_returned > 0);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}
