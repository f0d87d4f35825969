//! Repairs of damaged pages of the record file from a set.

use super::*;
use crate::records::salvage::{MappedPage, page_map};

const FILE: &str = "records.redb";
const PRODUCTS: usize = 120;

fn open(disk: &SharedDisk, clock: &Arc<ManualClock>) -> Store {
    let options = StoreOptions::default().maintenance_thread(false).seed(Some(1));
    options.clock(Hands(clock.clone())).open_on(disk.clone()).unwrap()
}

fn part_number(number: usize) -> String {
    format!("part {number:04}")
}

fn create(store: &Store, numbers: std::ops::Range<usize>) -> Vec<ProductId> {
    let request = |number| CreateProductRequest {
        part_number: part_number(number),
        name: Some("n".repeat(200)),
        ..Default::default()
    };
    let made = session(store).create_products(numbers.map(request).collect()).unwrap();
    made.products.into_iter().map(|product| product.id.unwrap()).collect()
}

/// Every product is there as it was made.
fn assert_products(store: &Store, ids: &[ProductId], place: &str) {
    let ada = session(store);
    for (number, id) in ids.iter().enumerate() {
        let found = ada.get_product(id).unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_eq!(found.part_number, Some(part_number(number)), "{place}");
    }
}

/// A store of many pages whose record file has every commit, a backup of it, and its products.
fn with_products() -> (Store, SharedDisk, SharedDisk, Arc<ManualClock>, Vec<ProductId>) {
    let (disk, set, clock) = (new_disk(), new_disk(), clock());
    let store = open(&disk, &clock);
    let ids = create(&store, 0..PRODUCTS);
    let ada = session(&store);
    upload(&ada, b'x', 10_000);
    upload(&ada, b'y', 70_000);
    let table = create_table(&ada);
    append(&ada, &table, 0);
    drop(ada);
    store.close().unwrap();
    let store = open(&disk, &clock);
    assert_eq!(back_up(&store, &set).unwrap().findings, []);
    (store, disk, set, clock, ids)
}

fn pages(disk: &SharedDisk) -> Vec<MappedPage> {
    page_map(&*disk.open(FILE, Mode::Read).unwrap())
}

fn bytes_of(disk: &SharedDisk, page: &MappedPage) -> Vec<u8> {
    let mut bytes = vec![0; (page.place.end - page.place.start) as usize];
    disk.open(FILE, Mode::Read).unwrap().read_exact_at(&mut bytes, page.place.start).unwrap();
    bytes
}

fn put(disk: &SharedDisk, page: &MappedPage, bytes: &[u8]) {
    disk.open(FILE, Mode::ReadWrite).unwrap().write_all_at(bytes, page.place.start).unwrap();
}

fn has(page: &MappedPage, space: Space) -> bool {
    page.entries.iter().any(|(of, _)| *of == space)
}

/// Every page is damaged in several ways while the store is open. It has its bytes again, or the
/// ones that the damage left, and is told.
#[test]
fn a_page_is_made_again_exactly_or_stays_as_it_is() {
    let (store, disk, set, clock, ids) = with_products();
    let (mut mended, mut told) = (BTreeMap::new(), 0);
    let mapped = pages(&disk);
    for page in &mapped {
        let whole = bytes_of(&disk, page);
        let len = whole.len();
        for case in 0..5 {
            let place = format!("the page at {:?}, case {case}", page.place);
            let mut damaged = whole.clone();
            match case {
                0 => damaged.fill(0),
                1 => damaged[len / 2] ^= 4,
                2 => damaged[len - 1] ^= 1,
                // The number of its rows, and where the first key ends.
                3 => damaged[2] ^= 8,
                _ => damaged[4] ^= 1,
            }
            put(&disk, page, &damaged);
            let report = store.repair_disk(&set, &control()).unwrap();
            assert!(!report.needs_reopen, "{place}");
            let now = bytes_of(&disk, page);
            if report.repaired_pages == [page.place.start] {
                assert!(now == whole && report.findings.is_empty(), "{place}: {report:?}");
                for (space, _) in &page.entries {
                    *mended.entry(space.name()).or_insert(0) += 1;
                }
            } else {
                assert!(now == damaged && report.repaired_pages.is_empty(), "{place}: {report:?}");
                let words = format!("the page at byte {} ", page.place.start);
                let is_named = |finding: &crate::Finding| {
                    finding.place.starts_with(&words) || finding.place.starts_with("the table ")
                };
                assert!(report.findings.iter().any(is_named), "{place}: {report:?}");
                told += 1;
                // The state of the store and the indexes are in no backup, nor are branches.
                let is_known = has(page, Space::Records)
                    || has(page, Space::SmallBlobs)
                    || has(page, Space::Segments)
                    || has(page, Space::TableBuffer);
                assert!(!is_known, "{place}: {report:?}");
                put(&disk, page, &whole);
            }
        }
    }
    println!("{} pages, mended {mended:?}, {told} told", mapped.len());
    assert!(mended["records"] > 100 && mended["small_blobs"] == 5 && told > 5, "{mended:?} {told}");
    let report = store.repair_disk(&set, &control()).unwrap();
    assert_eq!((report.findings, report.repaired_pages), (vec![], vec![]));
    assert_products(&store, &ids, "after all");
    assert!(store.verify(VerifyLevel::Checksums, &control()).unwrap().is_sound());
    store.close().unwrap();
    let mut store = open(&disk, &clock);
    assert!(store.verify_pages(&control()).unwrap().is_sound());
}

/// Each page of rows is damaged in turn. A backup of the store has everything that is not on the
/// page, the rows behind it and all files among them, and tells what it lacks.
#[test]
fn a_backup_goes_on_behind_a_damaged_page() {
    let (store, disk, _, clock, ids) = with_products();
    let files = back_up(&store, &new_disk()).unwrap().files;
    store.close().unwrap();
    let (mut tried, mut lost) = (BTreeMap::new(), 0);
    for page in pages(&disk) {
        let is_of = |spaces: &[Space]| spaces.iter().any(|space| has(&page, *space));
        if page.entries.is_empty() || is_of(&[Space::Index]) {
            continue;
        }
        let place = format!("the page at {:?}", page.place);
        let image = copy(&*disk);
        let options = StoreOptions::default().maintenance_thread(false).seed(Some(1));
        let options = options.clock(Hands(clock.clone())).record_cache_bytes(0);
        let store = options.open_on(image.clone()).unwrap();
        put(&image, &page, &vec![0; bytes_of(&disk, &page).len()]);
        let set = new_disk();
        let report = match back_up(&store, &set) {
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{place}: {error}");
                assert!(is_of(&[Space::Meta, Space::Counters]), "{place}: {error}");
                continue;
            }
            Ok(report) => report,
        };
        assert!(!report.findings.is_empty(), "{place}: {report:?}");
        assert_eq!(report.files, files, "{place}: {report:?}");
        for (space, _) in &page.entries {
            *tried.entry(space.name()).or_insert(0) += 1;
        }
        let target = new_disk();
        Store::restore_from_set_disk(&set, RestorePoint::Latest, &target, &control())
            .unwrap_or_else(|error| panic!("{place}: {error}"));
        let restored = open(&target, &clock);
        let ada = session(&restored);
        let missing = ids.iter().filter(|id| ada.get_product(id).is_err()).count();
        let on_page = page.entries.iter().filter(|(space, _)| *space == Space::Records).count();
        assert!(missing <= on_page, "{place}: {missing} of {on_page}");
        lost += missing;
    }
    println!("{tried:?}, {lost} products lost");
    // Each row of the records is on one page.
    assert!(tried["records"] > PRODUCTS && lost == PRODUCTS, "{tried:?} {lost}");
    assert!(tried.contains_key("blobs") && tried.contains_key("small_blobs"), "{tried:?}");
}

fn page_with(disk: &SharedDisk, space: Space, text: &str) -> MappedPage {
    let found = pages(disk).into_iter().find(|page| {
        let bytes = bytes_of(disk, page);
        has(page, space) && bytes.windows(text.len()).any(|part| part == text.as_bytes())
    });
    found.unwrap_or_else(|| panic!("{text} is nowhere"))
}

fn offset_of(bytes: &[u8], text: &str) -> usize {
    bytes.windows(text.len()).position(|part| part == text.as_bytes()).unwrap()
}

/// A page has rows that are newer than every backup. What is damaged of the others comes from the
/// set; a newer row does not, and how old that of the set is is told.
#[test]
fn newer_rows_of_the_page_stay_and_older_ones_of_the_set_are_not_taken() {
    let (store, disk, set, clock, ids) = with_products();
    let rename = crate::products::UpdateProductRequest {
        id: ids[40].to_string(),
        name: Some("renamed".to_owned()),
        ..Default::default()
    };
    let _ = session(&store).update_products(vec![rename], false).unwrap();
    store.close().unwrap();
    clock.advance_ms(3 * 86_400_000);
    let store = open(&disk, &clock);
    let page = page_with(&disk, Space::Records, "renamed");
    let whole = bytes_of(&disk, &page);
    // Another row of the page.
    let number = (0..PRODUCTS)
        .find(|number| {
            let text = part_number(*number);
            *number != 40 && whole.windows(text.len()).any(|part| part == text.as_bytes())
        })
        .unwrap();
    let mut damaged = whole.clone();
    damaged[offset_of(&whole, &part_number(number))] ^= 1;
    put(&disk, &page, &damaged);
    let report = store.repair_disk(&set, &control()).unwrap();
    assert_eq!((report.repaired_pages, report.findings), (vec![page.place.start], vec![]));
    assert!(bytes_of(&disk, &page) == whole);
    assert_products(&store, &ids, "mended");
    // The newer row itself, and the whole page.
    let mut newer = whole.clone();
    newer[offset_of(&whole, "renamed")] ^= 1;
    for damaged in [newer, vec![0; whole.len()]] {
        put(&disk, &page, &damaged);
        let report = store.repair_disk(&set, &control()).unwrap();
        assert!(report.repaired_pages.is_empty() && bytes_of(&disk, &page) == damaged);
        let of_page = |finding: &&crate::Finding| finding.place.contains("of the table records");
        let problem = &report.findings.iter().find(of_page).unwrap().problem;
        assert!(problem.contains("not the same ones"), "{problem}");
        assert!(problem.contains("the backup 1 from 2026-01-05T"), "{problem}");
        assert!(problem.ends_with(", 3 days ago"), "{problem}");
        put(&disk, &page, &whole);
    }
    // A backup that has them mends the page; the newer one that cannot be read is passed over.
    assert_eq!(back_up(&store, &set).unwrap().backup, 2);
    assert_eq!(create(&store, PRODUCTS..PRODUCTS + 40).len(), 40);
    assert_eq!(back_up(&store, &set).unwrap().backup, 3);
    set.remove_file(&pack_path(3)).unwrap();
    put(&disk, &page, &vec![0; whole.len()]);
    let report = store.repair_disk(&set, &control()).unwrap();
    assert_eq!((report.repaired_pages, report.findings), (vec![page.place.start], vec![]));
    assert!(bytes_of(&disk, &page) == whole);
    assert_products(&store, &ids, "mended from the second backup");
    // The pages of the commit before are not those of the last one.
    let of_store = crate::session::Session::of_store(store.engine());
    crate::session::checkpoint(&of_store).unwrap();
    let before = read_file(&*disk, FILE, 1 << 30).unwrap();
    let report = store.repair_disk(&set, &control()).unwrap();
    assert_eq!((report.repaired_pages, report.findings), (vec![], vec![]));
    assert!(read_file(&*disk, FILE, 1 << 30).unwrap() == before);
}

/// Contents of small files have no checksums in their rows. A page of them that has a newer one is
/// mended all the same.
#[test]
fn rows_without_checksums_come_from_the_set_beside_newer_ones() {
    let (disk, set, clock) = (new_disk(), new_disk(), clock());
    let store = open(&disk, &clock);
    upload(&session(&store), b'a', 900);
    upload(&session(&store), b'b', 900);
    back_up(&store, &set).unwrap();
    upload(&session(&store), b'c', 900);
    store.close().unwrap();
    let store = open(&disk, &clock);
    let page = page_with(&disk, Space::SmallBlobs, "bbbbbbbbbb");
    let whole = bytes_of(&disk, &page);
    for (text, is_in_the_set) in [("aaaaaaaaaa", true), ("bbbbbbbbbb", true), ("cccccccc", false)] {
        let mut damaged = whole.clone();
        damaged[offset_of(&whole, text) + 100] ^= 1;
        put(&disk, &page, &damaged);
        let report = store.repair_disk(&set, &control()).unwrap();
        assert_eq!(report.repaired_pages.len(), usize::from(is_in_the_set), "{report:?}");
        let expected = if is_in_the_set { &whole } else { &damaged };
        assert!(bytes_of(&disk, &page) == *expected, "{text}");
    }
}

/// Damage that a verification has found is in redb's cache. A repair makes redb read the page again
/// unless a reader holds a snapshot, and commits that are in the journal alone stay.
#[test]
fn a_mended_page_is_read_again_while_the_store_is_open() {
    let (store, disk, set, clock, mut ids) = with_products();
    let page = page_with(&disk, Space::Records, &part_number(40));
    let whole = bytes_of(&disk, &page);
    ids.extend(create(&store, PRODUCTS..PRODUCTS + 10));
    for is_held in [false, true] {
        // What was read before would be in the cache.
        assert!(
            crate::session::read_pages_again(&crate::session::Session::of_store(store.engine()))
                .unwrap()
        );
        put(&disk, &page, &vec![0; whole.len()]);
        let told = store.verify(VerifyLevel::Checksums, &control()).unwrap();
        assert!(!told.is_sound());
        assert_eq!(session(&store).get_product(&ids[40]).unwrap_err().kind(), ErrorKind::Corrupt);
        let held = is_held.then(|| store.engine().snapshot());
        let report = store.repair_disk(&set, &control()).unwrap();
        assert_eq!(report.repaired_pages, [page.place.start]);
        assert_eq!(report.needs_reopen, is_held, "{report:?}");
        assert!(bytes_of(&disk, &page) == whole);
        if held.is_some() {
            assert!(session(&store).get_product(&ids[40]).is_err(), "from the cache");
            // The snapshot is gone, and the next repair reads the page again.
            drop(held);
            assert!(!store.repair_disk(&set, &control()).unwrap().needs_reopen);
        }
        assert_products(&store, &ids, "read again");
        assert!(store.verify(VerifyLevel::Checksums, &control()).unwrap().is_sound());
    }
    let more = create(&store, PRODUCTS + 10..PRODUCTS + 20);
    ids.extend(more);
    store.close().unwrap();
    let store = open(&disk, &clock);
    assert_products(&store, &ids, "after a close");
}

/// The power is cut at any change of a repair of pages: the store opens, each page is damaged as it
/// was or whole, and the next repair ends it. And each operation fails.
#[test]
fn every_change_and_operation_of_a_repair_of_pages_can_be_the_last() {
    let (store, disk, set, clock, ids) = with_products();
    store.close().unwrap();
    let damaged = SimDisk::new(1);
    for (path, _) in walk(&*disk, "").unwrap() {
        damaged.create_dir_all(parent(&path)).unwrap();
        copy_file(&*disk, &damaged, &path, |_| Ok(())).unwrap();
    }
    let shared: SharedDisk = Arc::new(damaged.clone());
    let opens = |page: &MappedPage| {
        let image: SharedDisk = Arc::new(damaged.survivors(0, Survival::All));
        put(&image, page, &[7; 100]);
        options(&clock).open_on(image).is_ok()
    };
    let of_records = |page: &MappedPage| has(page, Space::Records) && opens(page);
    let wanted: Vec<MappedPage> =
        pages(&shared).into_iter().filter(of_records).step_by(2).collect();
    assert!(wanted.len() > 2, "{}", wanted.len());
    for page in &wanted {
        let mut bytes = bytes_of(&shared, page);
        let half = bytes.len() / 2;
        bytes[half..].fill(7);
        put(&shared, page, &bytes);
    }
    let start = damaged.survivors(0, Survival::All);
    let run = start.survivors(0, Survival::All);
    let store = open(&(Arc::new(run.clone()) as SharedDisk), &clock);
    let from = run.ops();
    let report = store.repair_disk(&set, &control()).unwrap();
    assert_eq!((report.repaired_pages.len(), report.findings), (wanted.len(), vec![]));
    let until = run.ops();
    let (mut counts, mut failed) = (BTreeSet::new(), 0);
    let mut end = |image: SharedDisk, place: &str| {
        let store = open(&image, &clock);
        let report = store.repair_disk(&set, &control()).unwrap();
        assert_eq!(report.findings, [], "{place}");
        counts.insert(report.repaired_pages.len());
        assert_products(&store, &ids, place);
        assert!(store.verify(VerifyLevel::Checksums, &control()).unwrap().is_sound(), "{place}");
    };
    let mut replay = run.replay();
    while let Some((op, kind, path)) = replay.advance() {
        if (from..until).contains(&op) {
            for survival in [Survival::None, Survival::All, Survival::Random] {
                let place = format!("after {op} ({kind:?} {path:?}), {survival:?}");
                end(Arc::new(replay.survivors(op, survival)), &place);
            }
        }
    }
    for op in from..until {
        let run = start.survivors(0, Survival::All);
        let store = open(&(Arc::new(run.clone()) as SharedDisk), &clock);
        run.inject(Pick::op(op), Fault::Io);
        let outcome = store.repair_disk(&set, &control());
        run.heal();
        let place = format!("operation {op}: {outcome:?}");
        failed += usize::from(outcome.is_err());
        drop(store);
        end(Arc::new(run), &place);
    }
    assert_eq!(counts.first(), Some(&0));
    assert_eq!(counts.last(), Some(&wanted.len()));
    println!("{} operations, {failed} failed, repaired later: {counts:?}", until - from);
    assert!(failed > 3, "{failed}");
}
