use crate::store::tests::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use redb::{ReadableDatabase, ReadableTable, TableDefinition, TableHandle};

use super::findings::VerifyReport;
use super::open::{Store, StoreOptions};
use super::verify::VerifyLevel;
use crate::files::*;
use crate::products::*;
use crate::records::file::backend::DiskBackend;
use crate::sizes;
use crate::tables::*;
use crate::*;

fn open(disk: &SharedDisk) -> Result<Store> {
    let options = StoreOptions::default().maintenance_thread(false).seed(Some(1)).seal_rows(40);
    options.clock(ManualClock::new(Default::default())).open_on(disk.clone())
}

fn control() -> Control {
    Control::default()
}

fn verify(store: &Store) -> VerifyReport {
    store.verify(VerifyLevel::Checksums, &control()).unwrap()
}

fn product(number: usize) -> CreateProductRequest {
    CreateProductRequest {
        part_number: format!("P-{number}"),
        name: Some(format!("product {number}")),
        keywords: Some(vec!["red".to_owned(), format!("group {}", number % 3)]),
        ..Default::default()
    }
}

fn rows(range: std::ops::Range<i64>) -> AppendTableDataRequest {
    let data = range.map(|at| vec![Some(at.to_string()), Some((at % 7).to_string())]).collect();
    AppendTableDataRequest { frame: Some(DataFrame { columns: None, data }), end_of_data: None }
}

fn table(session: &Session) -> TableId {
    let columns = vec![
        column("t", DataType::Int64, ColumnType::Index),
        column("v", DataType::Float64, ColumnType::Nullable),
    ];
    session.create_table(CreateTableRequest { columns, ..Default::default() }).unwrap()
}

fn file(session: &Session, name: &str, len: usize) {
    let bytes: Vec<u8> = (0..len).map(|at| (at.wrapping_mul(31) >> 3) as u8).collect();
    let request = UploadFileRequest { name: Some(name.to_owned()), ..Default::default() };
    session.upload_file(&mut bytes.as_slice(), request, &control()).unwrap();
}

/// A closed store with entries in every space.
fn example() -> SharedDisk {
    let disk: SharedDisk = Arc::new(MemoryDisk::new());
    let store = open(&disk).unwrap();
    let session = store.session(Identity::user("ada"));
    let _ = session.create_products((0..8).map(product).collect()).unwrap();
    session.register_subscriber("replica").unwrap();
    let table = table(&session);
    session.append_table_data(&table, rows(0..60)).unwrap();
    session.append_table_data(&table, rows(60..70)).unwrap();
    file(&session, "small", 100);
    file(&session, "large", 70_000);
    let upload = session.start_upload_session(None).unwrap();
    session
        .append_to_upload_session(
            &upload.id.as_str().into(),
            1,
            &mut &b"part"[..],
            true,
            &control(),
        )
        .unwrap();
    drop(session);
    // One run of index entries, and no rows of unused runs.
    store.maintain(&control()).unwrap();
    assert!(verify(&store).is_sound());
    store.close().unwrap();
    disk
}

fn copy(disk: &SharedDisk) -> SharedDisk {
    let fresh: SharedDisk = Arc::new(MemoryDisk::new());
    for (path, _) in walk(&**disk, "").unwrap() {
        fresh.create_dir_all(parent(&path)).unwrap();
        copy_file(&**disk, &*fresh, &path, |_| Ok(())).unwrap();
    }
    fresh
}

type Rows = TableDefinition<'static, &'static [u8], &'static [u8]>;

fn database(disk: &SharedDisk) -> redb::Database {
    let file = disk.open("records.redb", Mode::ReadWrite).unwrap();
    redb::Builder::new()
        .set_cache_size(1 << 20)
        .create_with_backend(DiskBackend::over(file))
        .unwrap()
}

/// Every row of the record file: table, key, value.
fn raw_rows(disk: &SharedDisk) -> Vec<(String, Vec<u8>, Vec<u8>)> {
    let database = database(disk);
    let read = database.begin_read().unwrap();
    let mut rows = Vec::new();
    for handle in read.list_tables().unwrap() {
        let name: &'static str = handle.name().to_owned().leak();
        let table = read.open_table(Rows::new(name)).unwrap();
        let all = table.iter().unwrap().map(|row| row.unwrap());
        rows.extend(
            all.map(|(key, value)| (name.to_owned(), key.value().to_vec(), value.value().to_vec())),
        );
    }
    rows
}

/// Changes one row without the store, by a complete commit of the engine.
fn edit(disk: &SharedDisk, table: &str, key: &[u8], value: Option<&[u8]>) {
    let database = database(disk);
    let write = database.begin_write().unwrap();
    {
        let name: &'static str = table.to_owned().leak();
        let mut table = write.open_table(Rows::new(name)).unwrap();
        match value {
            Some(value) => table.insert(key, value).unwrap().map(|_| ()),
            None => table.remove(key).unwrap().map(|_| ()),
        };
    }
    write.commit().unwrap();
}

/// The report of one pass over a store; `None` if the store cannot be opened.
fn one_pass(disk: &SharedDisk) -> Option<VerifyReport> {
    open(disk).ok().map(|store| verify(&store))
}

#[test]
fn every_row_that_is_removed_altered_or_added_underneath_is_found() {
    let whole = example();
    let rows = raw_rows(&whole);
    let tables: BTreeSet<&str> = rows.iter().map(|(table, ..)| table.as_str()).collect();
    assert!(tables.len() > 4, "{tables:?}");
    let mut cases = 0;
    for (at, (table, key, value)) in rows.iter().enumerate() {
        // The first rows of each table, and some of the others.
        let place = rows[..at].iter().filter(|(other, ..)| other == table).count();
        if place > 3 && !at.is_multiple_of(5) {
            continue;
        }
        let mut altered = value.clone();
        if let Some(byte) = altered.last_mut() {
            *byte ^= 4;
        }
        let mut foreign = key.clone();
        if let Some(byte) = foreign.last_mut() {
            *byte ^= 0x80;
        }
        let mut edits = vec![("removed", key, None)];
        if altered != *value {
            edits.push(("altered", key, Some(&altered)));
        }
        // A block of index entries that belongs to no run changes nothing.
        if table != "index" {
            edits.push(("added", &foreign, Some(value)));
        }
        for (what, key, value) in edits {
            cases += 1;
            let disk = copy(&whole);
            edit(&disk, table, key, value.map(Vec::as_slice));
            if let Some(report) = one_pass(&disk) {
                assert!(
                    !report.is_sound(),
                    "{what}: a row of {table} under {:?}",
                    key.escape_ascii().to_string()
                );
            }
        }
    }
    println!("{cases} rows removed, altered or added");
    assert!(cases > 60, "{cases}");
}

/// The key of a record in the form of the findings.
fn some_product(disk: &SharedDisk) -> (Vec<u8>, Vec<u8>) {
    let rows = raw_rows(disk)
        .into_iter()
        .filter(|(table, key, _)| table == "records" && key.first() == Some(&1));
    rows.map(|(_, key, value)| (key, value)).nth(3).unwrap()
}

#[test]
fn findings_name_collection_and_key() {
    let whole = example();
    let (key, value) = some_product(&whole);
    let hex = crate::value::id::hex(&key);
    let name = crate::model::by_code(1).unwrap().kind.name;
    let places = |disk: &SharedDisk| -> Vec<String> {
        let report = one_pass(disk).unwrap();
        report
            .findings
            .into_iter()
            .map(|finding| format!("{}: {}", finding.place, finding.problem))
            .collect()
    };
    let lost = copy(&whole);
    edit(&lost, "records", &key, None);
    let told = places(&lost);
    assert!(
        told.iter().any(|told| told.contains("7 entries were found where 8 were written")),
        "{told:?}"
    );
    assert!(
        told.iter().any(|told| told
            .starts_with(&format!("records of {name}, key {hex}: the record is missing"))),
        "{told:?}"
    );

    let damaged = copy(&whole);
    let mut bytes = value.clone();
    bytes[9] ^= 1;
    edit(&damaged, "records", &key, Some(&bytes));
    let told = places(&damaged);
    assert!(
        told.iter().any(|told| told.starts_with(&format!("records of {name}, key {hex}"))),
        "{told:?}"
    );

    // A complete record that is not the one that was written: an older state came back.
    let old = copy(&whole);
    let store = open(&old).unwrap();
    let session = store.session(Identity::user("ada"));
    let form = crate::model::by_code(1).unwrap().kind.id;
    let id = crate::value::RecordKey::from_bytes(form, &key[1..]).unwrap().to_id(form);
    let update =
        UpdateProductRequest { id, name: Some("renamed".to_owned()), ..Default::default() };
    assert_eq!(session.update_products(vec![update], false).unwrap().products.len(), 1);
    drop(session);
    store.close().unwrap();
    assert!(one_pass(&old).unwrap().is_sound());
    edit(&old, "records", &key, Some(&value));
    let told = places(&old);
    assert!(
        told.iter().any(|told| told.contains("the entries differ from those that were written")),
        "{told:?}"
    );
}

/// The value that a reader gets for every entry of the undamaged store.
fn contents(store: &Store, spaces: &[(Space, Vec<u8>)]) -> Vec<Option<Vec<u8>>> {
    let snapshot = store.engine().snapshot();
    let source = ReadSource::Snapshot(&snapshot);
    let get = |space, key: &[u8]| crate::session::guarded("reading", || source.get(space, key));
    // An error is not a wrong answer.
    spaces
        .iter()
        .map(|(space, key)| get(*space, key).unwrap_or_else(|_| Some(b"refused".to_vec())))
        .collect()
}

/// redb compares its own checksums only in a repair. After a clean close, a wrong bit may hide
/// keys.
#[test]
fn a_wrong_bit_of_the_record_file_hides_nothing_from_one_pass() {
    let whole = example();
    let mut store = open(&whole).unwrap();
    // Enough for trees of more than one page.
    let _ = store
        .session(Identity::user("ada"))
        .create_products((100..300).map(product).collect())
        .unwrap();
    store.maintain(&control()).unwrap();
    // Most of the rest is removed, so that most pages are read.
    store.compact().unwrap();
    store.close().unwrap();
    let (keys, expected) = {
        let store = open(&whole).unwrap();
        let snapshot = store.engine().snapshot();
        let mut keys = Vec::new();
        for space in Space::ALL {
            let mut cursor = ReadSource::Snapshot(&snapshot).cursor(space, &[], None).unwrap();
            while let Some((key, _)) = cursor.next().unwrap() {
                keys.push((space, key));
            }
        }
        let expected = contents(&store, &keys);
        (keys, expected)
    };
    let live = live_sectors(&whole);
    let branches = branch_sectors(&whole);
    let flips = sizes::size("flips_of_scrubs");
    let mut random = crate::disk::sim::Random::new(1);
    let (mut refused, mut reported, mut untouched) = (0, 0, 0);
    for _ in 0..flips {
        let disk = copy(&whole);
        let sectors = if random.percent(50) { &live } else { &branches };
        let sector = sectors[random.below(sectors.len() as u64) as usize];
        let (offset, bit) = (sector * SECTOR + random.below(SECTOR), random.below(8));
        let file = disk.open("records.redb", Mode::ReadWrite).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, offset).unwrap();
        file.write_all_at(&[byte[0] ^ (1 << bit)], offset).unwrap();
        drop(file);
        let Ok(store) = open(&disk) else {
            refused += 1;
            continue;
        };
        let is_sound = verify(&store).is_sound();
        let is_right = contents(&store, &keys) == expected;
        assert!(
            is_right || !is_sound,
            "bit {bit} of byte {offset} hides something, and verify is content"
        );
        if is_sound { untouched += 1 } else { reported += 1 }
    }
    println!(
        "{flips} flips: {refused} refused, {reported} reported, {untouched} in nothing that is read"
    );
    assert!(branches.len() > 1 && reported > 0);
}

const SECTOR: u64 = 512;

/// The sectors of the record file that were ever written. Most of a small file is room to grow.
fn live_sectors(disk: &SharedDisk) -> Vec<u64> {
    let bytes = crate::disk::read_file(&**disk, "records.redb", u64::MAX).unwrap();
    let sectors = bytes.chunks(SECTOR as usize).enumerate();
    sectors
        .filter(|(_, sector)| sector.iter().any(|byte| *byte != 0))
        .map(|(at, _)| at as u64)
        .collect()
}

/// The sectors in which branch pages begin. A wrong key there hides entries that are still in their
/// leaves.
fn branch_sectors(disk: &SharedDisk) -> Vec<u64> {
    const PAGE: usize = 4096;
    const BRANCH: u8 = 2;
    let bytes = crate::disk::read_file(&**disk, "records.redb", u64::MAX).unwrap();
    let pages = bytes.chunks(PAGE).enumerate().skip(1).filter(|(_, page)| page[0] == BRANCH);
    pages.map(|(at, _)| (at * PAGE) as u64 / SECTOR).collect()
}

#[test]
fn nothing_is_reported_beside_writers() {
    let disk: SharedDisk = Arc::new(MemoryDisk::new());
    let store = open(&disk).unwrap();
    let stop = AtomicBool::new(false);
    let rounds = [AtomicUsize::new(0), AtomicUsize::new(0)];
    let (mut passes, mut entries) = (0u32, 0);
    let goes_on = || !stop.load(Ordering::Relaxed);
    std::thread::scope(|scope| {
        for (writer, done) in rounds.iter().enumerate() {
            let session = store.session(Identity::user("ada"));
            scope.spawn(move || {
                let table = table(&session);
                let mut round = 0;
                while goes_on() {
                    let first = writer * 1_000_000 + round * 10;
                    let made =
                        session.create_products((first..first + 3).map(product).collect()).unwrap();
                    let ids =
                        made.products.into_iter().map(|product| product.id.unwrap()).collect();
                    session
                        .append_table_data(&table, rows(round as i64 * 25..(round as i64 + 1) * 25))
                        .unwrap();
                    file(&session, "small", 64);
                    if round.is_multiple_of(2) {
                        session.delete_products(ids).unwrap();
                    }
                    round += 1;
                    done.store(round, Ordering::Relaxed);
                }
            });
        }
        scope.spawn(|| {
            while goes_on() {
                store.maintain(&control()).unwrap();
            }
        });
        while passes < 20 || rounds.iter().any(|done| done.load(Ordering::Relaxed) < 12) {
            let report = verify(&store);
            if !report.is_sound() {
                stop.store(true, Ordering::Relaxed);
                panic!("pass {passes}: {:?}", report.findings);
            }
            passes += 1;
            entries = entries.max(report.records + report.index_entries);
        }
        stop.store(true, Ordering::Relaxed);
    });
    println!("{passes} passes during writes, {entries} entries in the largest");
}

#[test]
fn a_backup_tells_what_was_lost_and_makes_the_indexes_anew() {
    let whole = example();
    let (key, _) = some_product(&whole);
    let back_up = |disk: &SharedDisk| {
        let store = open(disk).unwrap();
        let target: SharedDisk = Arc::new(MemoryDisk::new());
        let report = store.backup_to(&target, &control()).unwrap();
        let copy = open(&target).unwrap();
        (report, verify(&copy), copy)
    };
    let (report, copied, _copy) = back_up(&whole);
    assert_eq!((report.findings, copied.findings), (vec![], vec![]));
    let lost = copy(&whole);
    edit(&lost, "records", &key, None);
    let (report, copied, _copy) = back_up(&lost);
    assert_eq!(report.findings.len(), 1, "{report:?}");
    assert_eq!(copied.findings, [], "what is left is a whole store");
    let in_set = |disk: &SharedDisk| {
        let set: SharedDisk = Arc::new(MemoryDisk::new());
        let store = open(disk).unwrap();
        store.backup_to_set_disk(&set, &SetBackupOptions::new(), &control()).unwrap().findings
    };
    assert_eq!((in_set(&whole), in_set(&lost).len()), (vec![], 1));
    // A block of index entries is removed; the records show which entries it had.
    let (_, block, _) = raw_rows(&whole).into_iter().rfind(|(table, ..)| table == "index").unwrap();
    let holed = copy(&whole);
    edit(&holed, "index", &block, None);
    assert!(!one_pass(&holed).unwrap().is_sound());
    let (report, copied, copy) = back_up(&holed);
    assert_eq!((report.findings, copied.findings), (vec![], vec![]));
    let filter = Some("keywords.Contains(\"red\")".to_owned());
    let found = copy
        .session(Identity::user("ada"))
        .query_products(QueryProductsRequest { filter, ..Default::default() });
    assert_eq!(found.unwrap().products.len(), 8);
}

#[test]
fn pages_are_verified_where_nobody_else_holds_the_store() {
    let whole = example();
    let mut store = open(&whole).unwrap();
    let session = store.session(Identity::user("ada"));
    assert_eq!(store.verify_pages(&control()).unwrap_err().kind(), ErrorKind::Conflict);
    drop(session);
    assert!(store.verify_pages(&control()).unwrap().is_sound());
    // The store continues to work.
    let _ = store.session(Identity::user("ada")).create_products(vec![product(100)]).unwrap();
    assert!(verify(&store).is_sound());
}

#[test]
fn a_report_is_bounded() {
    let mut report = VerifyReport::default();
    for at in 0..1_003 {
        report.find("records.redb", format!("{at}"), "a problem", "an action");
    }
    assert_eq!((report.findings.len(), report.findings_left_out), (1_000, 3));
}
