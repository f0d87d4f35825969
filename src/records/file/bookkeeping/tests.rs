use std::sync::Arc;

use super::*;
use crate::disk::sim::Random;
use crate::disk::{MemoryDisk, Mode, SharedDisk, read_file, write_new_file};
use crate::error::ErrorKind;
use crate::records::file::pages::{
    BRANCH, FORMAT_VERSION, MAGIC, PRIMARY_IS_SLOT_1, SLOT_BYTES, SLOT_SUMMED_BYTES, SLOTS_AT,
    TWO_PHASES,
};
use crate::records::{Change, ReadSource, RecordFile, RecordFileOptions, Snapshot, Space};

const OPTIONS: RecordFileOptions = RecordFileOptions { cache_bytes: 1 << 20, quick_repair: false };
const NAME: &str = "records.redb";
/// The system tables of redb 4.6. Other ones exist only with savepoints, which the store does not
/// use.
const TABLES: [&str; 6] = [
    "allocator_state",
    "data_pages_unreachable",
    "system_pages_unreachable",
    "data_pages_allocated",
    "next_savepoint_id",
    "persistent_savepoints",
];

fn put(number: u64) -> Change {
    Change::Put { space: Space::Log, key: number.to_be_bytes().to_vec(), value: vec![7; 300] }
}

/// The bytes of a cleanly closed file. A reader that is open until the end keeps the freed pages of
/// that many commits from being reused.
fn closed(commits: u64, quick_repair: bool) -> Vec<u8> {
    let disk: SharedDisk = Arc::new(MemoryDisk::new());
    let options = RecordFileOptions { quick_repair, ..OPTIONS };
    RecordFile::create(&disk, options, &[]).unwrap();
    let file = RecordFile::open(&disk, options).unwrap();
    let reader = file.snapshot(0).unwrap();
    for number in 0..commits {
        file.write(|turn| turn.apply([put(number)])).unwrap();
    }
    drop(file);
    let bytes = read_file(&*disk, NAME, 1 << 30).unwrap();
    drop(reader);
    bytes
}

fn disk(bytes: &[u8]) -> SharedDisk {
    let disk = MemoryDisk::new();
    write_new_file(&disk, NAME, bytes).unwrap();
    Arc::new(disk)
}

/// The names of the system tables, and for every page its table and the range under its checksum.
type Seen = (Vec<String>, Vec<(String, Range<u64>)>);

fn look(bytes: &[u8]) -> Result<Option<Seen>> {
    let file = disk(bytes).open(NAME, Mode::Read).unwrap();
    let mut pages = Vec::new();
    let tables = walk(
        &*file,
        &|_| true,
        &mut |table, page| pages.push((table.to_owned(), page)),
        &mut |_| (),
    )?;
    Ok(tables.map(|tables| (tables.into_iter().map(|table| table.name).collect(), pages)))
}

/// Opens the file, commits and closes it; returns the first error.
fn open(bytes: &[u8]) -> Result<()> {
    let file = RecordFile::open(&disk(bytes), OPTIONS)?;
    file.write(|turn| turn.apply([put(1)]))
}

/// Ties the reader to redb 4.6's format: it finds every table that redb creates for itself, in
/// small files and in larger ones.
#[test]
fn every_system_table_of_a_fresh_file_is_walked() {
    for (commits, quick_repair) in [(0, false), (3, true), (40, false)] {
        let bytes = closed(commits, quick_repair);
        let (tables, pages) = look(&bytes).unwrap().unwrap();
        let summed: u64 = pages.iter().map(|(_, page)| page.end - page.start).sum();
        println!(
            "{commits} commits: {} pages, {summed} bytes of {}: {tables:?}",
            pages.len(),
            bytes.len()
        );
        assert!(tables.iter().all(|table| TABLES.contains(&table.as_str())), "{tables:?}");
        let pages_of = |name: &str| pages.iter().filter(|(of, _)| of == name).count();
        assert!(pages_of(SYSTEM) > 0 && pages_of(TABLES[0]) > 0, "{pages:?}");
        if commits == 40 {
            assert!(
                TABLES[..3].iter().all(|known| tables.iter().any(|table| table == known)),
                "{tables:?}"
            );
            assert!(pages_of(TABLES[1]) > 3, "a tree with branches is wanted: {pages:?}");
        }
        open(&bytes).unwrap();
    }
}

#[test]
fn a_wrong_bit_in_any_page_of_the_walk_is_refused_when_it_is_opened() {
    let bytes = closed(40, false);
    let (_, pages) = look(&bytes).unwrap().unwrap();
    // All flips use one disk: a file that is refused is not written to.
    let disk = disk(&bytes);
    let file = disk.open(NAME, Mode::ReadWrite).unwrap();
    let mut random = Random::new(7);
    let mut flips = 0;
    for (table, page) in &pages {
        for n in 0..12 {
            let at = match n {
                0 => page.start,
                1 => page.end - 1,
                _ => page.start + random.below(page.end - page.start),
            };
            let byte = bytes[usize::try_from(at).unwrap()];
            file.write_all_at(&[byte ^ (1 << random.below(8))], at).unwrap();
            let error = RecordFile::open(&disk, OPTIONS).expect_err("damage was not found");
            assert_eq!(error.kind(), ErrorKind::Corrupt, "byte {at} of {table}: {error}");
            assert!(error.to_string().contains("in its bookkeeping"), "{error}");
            assert!(error.to_string().contains("restore a backup"), "{error}");
            file.write_all_at(&[byte], at).unwrap();
            flips += 1;
        }
    }
    drop(file);
    println!("{flips} flips in {} pages", pages.len());
    assert!(flips > 300, "{flips}");
    RecordFile::open(&disk, OPTIONS).unwrap().write(|turn| turn.apply([put(1)])).unwrap();
}

/// A flipped bit in the header may lead to an error, to the other slot, or to no difference. It
/// must never abort the process.
#[test]
fn a_wrong_bit_in_the_header_is_answered_by_redb_or_by_the_walk() {
    let bytes = closed(3, false);
    let (mut opened, mut refused) = (0, 0);
    for at in 0..HEADER_BYTES {
        // All bits of the flags byte, and one bit of each other byte.
        for bit in if at == MAGIC.len() { 0..8 } else { at % 8..at % 8 + 1 } {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            match open(&damaged) {
                Ok(()) => opened += 1,
                Err(error) => {
                    assert!(
                        matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Io),
                        "bit {bit} of {at}: {error}"
                    );
                    refused += 1;
                }
            }
        }
    }
    println!("{opened} opened, {refused} refused");
    assert!(opened > 50 && refused > 100, "{opened} opened, {refused} refused");
}

#[test]
fn what_redb_verifies_or_refuses_itself_is_left_to_it() {
    let bytes = closed(3, false);
    let slot = SLOTS_AT + usize::from(bytes[MAGIC.len()] & PRIMARY_IS_SLOT_1) * SLOT_BYTES;
    let (_, pages) = look(&bytes).unwrap().unwrap();
    let page = usize::try_from(pages[0].1.start).unwrap();
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut changed = bytes.clone();
        changed[page + 1] ^= 1;
        assert!(look(&changed).is_err(), "the damage is found while nothing else is changed");
        change(&mut changed);
        look(&changed).unwrap().is_none()
    };
    assert!(changed(&|bytes| bytes[MAGIC.len()] &= !TWO_PHASES));
    assert!(changed(&|bytes| bytes[0] = b'R'));
    assert!(changed(&|bytes| bytes[13] = 0));
    assert!(changed(&|bytes| bytes.truncate(100)));
    // Another format version, in a slot that is otherwise sound; then a slot with a wrong checksum.
    assert!(changed(&|bytes| {
        bytes[slot] = FORMAT_VERSION + 1;
        let sum = xxh3_128(&bytes[slot..slot + SLOT_SUMMED_BYTES]).to_le_bytes();
        bytes[slot + SLOT_SUMMED_BYTES..slot + SLOT_BYTES].copy_from_slice(&sum);
    }));
    assert!(changed(&|bytes| bytes[slot + SLOT_BYTES - 1] ^= 1));
    // A file whose process was killed after a two-phase commit is verified: redb uses that slot and
    // no other.
    assert!(!changed(&|bytes| {
        bytes[page + 1] ^= 1;
        bytes[MAGIC.len()] |= 2;
    }));
}

/// Pages with correct checksums whose children are all the same page: a walk without a bound would
/// read 169 to the power of the depth.
#[test]
fn a_web_of_pages_ends_with_the_bytes_of_the_file() {
    let mut bytes = closed(0, false);
    bytes.truncate(16 * usize::try_from(PAGE_BYTES).unwrap());
    let put = |bytes: &mut Vec<u8>, at: usize, part: &[u8]| {
        bytes[at..at + part.len()].copy_from_slice(part);
    };
    let mut below = None;
    for number in 1..12u64 {
        let at = usize::try_from(PAGE_BYTES * (number + 1)).unwrap();
        let summed = match below {
            None => {
                put(&mut bytes, at, &[LEAF, 0, 1, 0, 12, 0, 0, 0, 12, 0, 0, 0]);
                12
            }
            Some((child, sum)) => {
                let (keys, children) = (140u16, 141);
                put(&mut bytes, at, &[BRANCH, 0, keys.to_le_bytes()[0], 0]);
                for n in 0..children {
                    put(&mut bytes, at + 8 + 16 * n, &u128::to_le_bytes(sum));
                    put(&mut bytes, at + 8 + 16 * children + 8 * n, &u64::to_le_bytes(child));
                }
                let end = 8 + 24 * children + 4 * usize::from(keys);
                put(&mut bytes, at + end - 4, &u32::try_from(end).unwrap().to_le_bytes());
                end
            }
        };
        below = Some((number, xxh3_128(&bytes[at..at + summed])));
    }
    let (root, sum) = below.unwrap();
    let slot = SLOTS_AT + usize::from(bytes[MAGIC.len()] & PRIMARY_IS_SLOT_1) * SLOT_BYTES;
    put(&mut bytes, slot + 2, &[1]);
    put(&mut bytes, slot + 40, &root.to_le_bytes());
    put(&mut bytes, slot + 48, &sum.to_le_bytes());
    let sum = xxh3_128(&bytes[slot..slot + SLOT_SUMMED_BYTES]);
    put(&mut bytes, slot + SLOT_SUMMED_BYTES, &sum.to_le_bytes());
    let error = look(&bytes).unwrap_err();
    assert!(error.to_string().contains("cycle"), "{error}");
}

/// The count of free pages equals the one of redb.
#[test]
fn free_pages_are_counted_as_redb_counts_them() {
    for commits in [0, 3, 40, 400] {
        let bytes = closed(commits, false);
        let disk = disk(&bytes);
        let told = check(&*disk.open(NAME, Mode::Read).unwrap()).unwrap().unwrap();
        let file = disk.open(NAME, Mode::ReadWrite).unwrap();
        let backend = crate::records::file::backend::DiskBackend::over(file);
        let database = redb::Builder::new().create_with_backend(backend).unwrap();
        let stats = database.begin_write().unwrap().stats().unwrap();
        // All pages of the file except its header.
        let pages = bytes.len() as u64 / PAGE_BYTES - 1 - stats.allocated_pages();
        println!("{commits} commits: {told} bytes are free of {}", bytes.len());
        assert_eq!(told, pages * PAGE_BYTES, "{commits} commits");
    }
    assert_eq!(free_pages(&[]), None);
    assert_eq!(free_pages(&[0xff; 64]), None);
}

/// An open file of 40 commits, without a cache. The reader keeps the pages that they freed from
/// being reused, so redb's lists of pages take several pages.
fn busy(quick_repair: bool) -> (SharedDisk, RecordFile, Snapshot) {
    let disk: SharedDisk = Arc::new(MemoryDisk::new());
    let options = RecordFileOptions { cache_bytes: 0, quick_repair };
    RecordFile::create(&disk, options, &[]).unwrap();
    let file = RecordFile::open(&disk, options).unwrap();
    let reader = file.snapshot(0).unwrap();
    for number in 0..40 {
        file.write(|turn| turn.apply([put(number)])).unwrap();
    }
    (disk, file, reader)
}

fn numbers(snapshot: &Snapshot) -> Vec<u64> {
    let mut cursor = ReadSource::Snapshot(snapshot).cursor(Space::Log, &[], None).unwrap();
    let mut numbers = Vec::new();
    while let Some((key, _)) = cursor.next().unwrap() {
        numbers.push(u64::from_be_bytes(key.try_into().unwrap()));
    }
    numbers
}

/// A page of redb's lists of pages is damaged while the file is open. Commits that need it are
/// refused, without a panic of redb, and the state before them can be read. Afterwards the file is
/// refused, or has what was committed.
#[test]
fn a_list_of_pages_that_is_damaged_while_the_file_is_open_loses_nothing() {
    let (mut done, mut refused, mut unopened) = (0, 0, 0);
    for quick_repair in [true, false] {
        let (disk, file, reader) = busy(quick_repair);
        let mut bytes = read_file(&*disk, NAME, 1 << 30).unwrap();
        drop((reader, file));
        // The walk follows commits of two phases only.
        bytes[MAGIC.len()] |= TWO_PHASES;
        let (_, pages) = look(&bytes).unwrap().unwrap();
        assert!(pages.len() > 5, "{pages:?}");
        for ((table, page), kind) in
            pages.iter().flat_map(|page| [0, 1, 2].map(|kind| (page, kind)))
        {
            let place = format!("{table}, page at {}, damage {kind}, {quick_repair}", page.start);
            let whole = &bytes[page.start as usize..page.end as usize];
            let mut damaged = whole.to_vec();
            match kind {
                0 => damaged[whole.len() / 2] ^= 4,
                1 => damaged.fill(0),
                _ => damaged[4..].fill(0xff),
            }
            let (disk, file, reader) = busy(quick_repair);
            let medium = disk.open(NAME, Mode::ReadWrite).unwrap();
            medium.write_all_at(&damaged, page.start).unwrap();
            let mut reader = Some(reader);
            let mut published = file.snapshot(0).unwrap();
            let mut expected: Vec<u64> = (0..40).collect();
            for number in 40..46 {
                if number == 42 {
                    // The pages of the commits before may be reused from now on.
                    reader = None;
                }
                match file.write(|turn| turn.apply([put(number)])) {
                    Ok(()) => {
                        expected.push(number);
                        published = file.snapshot(0).unwrap();
                        done += 1;
                    }
                    Err(error) => {
                        let kind = error.kind();
                        let is_damage = matches!(kind, ErrorKind::Corrupt | ErrorKind::Latched);
                        assert!(is_damage, "{place}: {error}");
                        refused += 1;
                    }
                }
                assert_eq!(numbers(&published), expected, "{place}");
            }
            drop((reader, published, file));
            let reopened = RecordFile::open(&disk, OPTIONS);
            // After a commit of one phase, redb may take the commit before the last one for the
            // last; the journal tells then.
            if let Some(file) = reopened.as_ref().ok().filter(|_| quick_repair) {
                assert_eq!(numbers(&file.snapshot(0).unwrap()), expected, "{place}");
            }
            if let Err(error) = reopened {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{place}: {error}");
                unopened += 1;
                medium.write_all_at(whole, page.start).unwrap();
                let file = RecordFile::open(&disk, OPTIONS).unwrap();
                assert_eq!(numbers(&file.snapshot(0).unwrap()), expected, "{place}");
            }
        }
    }
    println!("{done} commits, {refused} refused, {unopened} files refused");
    assert!(done > 0 && refused > 0 && unopened > 0, "{done} {refused} {unopened}");
}
