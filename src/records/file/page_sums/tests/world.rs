//! A record file in memory whose pages can be damaged, and what it must contain.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::disk::sim::Random;
use crate::disk::{MemoryDisk, Mode, SharedDisk, read_file, write_new_file};
use crate::error::{Error, ErrorKind, Result};
use crate::records::file::pages::{BRANCH, Child, HEADER_BYTES, Header, Node, PAGE_BYTES, Widths};
use crate::records::{Change, ReadSource, RecordFile, RecordFileOptions, Snapshot, Space};

pub(super) const NO_CACHE: RecordFileOptions =
    RecordFileOptions { cache_bytes: 0, quick_repair: true };
pub(super) const CACHE: RecordFileOptions =
    RecordFileOptions { cache_bytes: 64 << 20, quick_repair: false };
/// About half of the file.
pub(super) const HALF_CACHE: RecordFileOptions =
    RecordFileOptions { cache_bytes: 400 << 10, quick_repair: false };
/// The spaces with rows: a large tree, values of several pages, and a space that shares a table.
pub(super) const SPACES: [Space; 3] = [Space::Blobs, Space::SmallBlobs, Space::Meta];
const NAME: &str = "records.redb";

pub(super) type Key = (Space, Vec<u8>);
type Rows = BTreeMap<Key, Vec<u8>>;

pub(super) struct World {
    disk: SharedDisk,
    pub(super) file: RecordFile,
    pub(super) rows: Rows,
}

/// A closed file.
pub(super) struct Closed {
    pub(super) bytes: Vec<u8>,
    pub(super) rows: Rows,
}

/// A page that the last commit uses.
pub(super) struct Page {
    pub(super) start: u64,
    len: u64,
    pub(super) is_branch: bool,
    /// The keys in it or in the pages below it.
    pub(super) keys: Vec<Key>,
}

impl Page {
    /// Whether it is a branch with a parent.
    pub(super) fn is_middle(&self) -> bool {
        self.is_branch && self.keys.len() < 600
    }
}

/// Bytes that were changed, and what they were before.
#[derive(Debug)]
pub(super) struct Damage {
    what: &'static str,
    pub(super) places: Vec<u64>,
    #[expect(dead_code, reason = "only for messages")]
    at: u64,
    before: Before,
}

struct Before(Vec<(u64, Vec<u8>)>);

impl std::fmt::Debug for Before {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("..")
    }
}

/// A key whose first bytes tell little, so that branches have long keys.
fn key(number: u64, len: usize) -> Vec<u8> {
    [vec![b'k'; len - 8], number.to_be_bytes().to_vec()].concat()
}

fn value(number: u64, round: u64, len: usize) -> Vec<u8> {
    let mut value = [number.to_be_bytes(), round.to_be_bytes()].concat();
    value.resize(len, (number % 251) as u8);
    value
}

fn rows(round: u64) -> Rows {
    let mut rows = Rows::new();
    for number in 0..1_500 {
        rows.insert((Space::Blobs, key(number * 3, 90)), value(number, round, 120));
    }
    for number in 0..24 {
        rows.insert((Space::SmallBlobs, key(number, 8)), value(number, round, 9_000));
    }
    for number in 0..60 {
        rows.insert((Space::Meta, key(number, 20)), value(number, round, 60));
    }
    rows
}

fn puts(rows: &Rows) -> Vec<Change> {
    rows.iter()
        .map(|((space, key), value)| Change::Put {
            space: *space,
            key: key.clone(),
            value: value.clone(),
        })
        .collect()
}

impl World {
    /// A file with rows, in pages that it had when it was opened.
    pub(super) fn new(options: RecordFileOptions) -> Self {
        Self::with_rows(options, usize::MAX).closed().reopened(options)
    }

    /// An open file that was just created, with at most so many rows.
    pub(super) fn with_rows(options: RecordFileOptions, count: usize) -> Self {
        let disk: SharedDisk = Arc::new(MemoryDisk::new());
        RecordFile::create(&disk, options, &[]).unwrap();
        let file = RecordFile::open(&disk, options).unwrap();
        let rows: Rows = rows(0).into_iter().take(count).collect();
        for part in puts(&rows).chunks(400) {
            file.write(|turn| turn.apply(part.to_vec())).unwrap();
        }
        Self { disk, file, rows }
    }

    /// Writes all rows with other values.
    pub(super) fn rewrite(&mut self) {
        self.rows = rows(1);
        self.file.write(|turn| turn.apply(puts(&self.rows))).unwrap();
    }

    pub(super) fn copy(&self) -> Vec<u8> {
        read_file(&*self.disk, NAME, 1 << 30).unwrap()
    }

    pub(super) fn closed(self) -> Closed {
        drop(self.file);
        let bytes = read_file(&*self.disk, NAME, 1 << 30).unwrap();
        Closed { bytes, rows: self.rows }
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) {
        self.disk.open(NAME, Mode::ReadWrite).unwrap().write_all_at(bytes, offset).unwrap();
    }

    fn read_at(&self, offset: u64, len: u64) -> Vec<u8> {
        let mut bytes = vec![0; len as usize];
        self.disk.open(NAME, Mode::Read).unwrap().read_exact_at(&mut bytes, offset).unwrap();
        bytes
    }

    /// The pages of the tables of the last commit.
    pub(super) fn pages(&self) -> Vec<Page> {
        let bytes = self.copy();
        let header = Header::new(&bytes[..HEADER_BYTES]).unwrap();
        let mut pages = Vec::new();
        let mut tables = Vec::new();
        let mut waiting = vec![header.records.unwrap()];
        while let Some(child) = waiting.pop() {
            let node = node(&bytes, &header, child);
            match node.kind() {
                Some(BRANCH) => waiting.extend(node.children()),
                _ => tables.extend(node.tables()),
            }
        }
        for table in tables {
            let space = SPACES.into_iter().find(|space| space.place().table.name() == table.name);
            if let (Some(space), Some(root)) = (space, table.root) {
                add_pages(&bytes, &header, space, root, &mut pages);
            }
        }
        pages
    }

    fn counted(&self, which: usize) -> u64 {
        self.file.medium.sums().reads[which].load(Ordering::Relaxed)
    }

    /// Pages that redb read since they are verified.
    pub(super) fn reads(&self) -> u64 {
        self.counted(0)
    }

    /// How many of them had no known sum.
    pub(super) fn unverified(&self) -> u64 {
        self.counted(1)
    }

    /// Reads a row. A wrong answer panics.
    pub(super) fn get(&self, snapshot: &Snapshot, key: &Key) -> Result<()> {
        let found = ReadSource::Snapshot(snapshot).get(key.0, &key.1)?;
        assert!(found.as_ref() == self.rows.get(key), "{key:?} was answered wrongly");
        Ok(())
    }

    /// Reads up to `most` rows from a key on, and from the end back to it.
    pub(super) fn scan(&self, snapshot: &Snapshot, from: &Key, most: usize) -> Result<()> {
        let source = ReadSource::Snapshot(snapshot);
        let mut cursor = source.cursor(from.0, &from.1, None)?;
        let expected =
            self.rows.range(from.clone()..).take_while(|((space, _), _)| *space == from.0);
        let mut expected = expected.take(most).peekable();
        let is_to_end = expected.clone().count() < most;
        while expected.peek().is_some() || is_to_end {
            let Some((key, value)) = cursor.next()? else { break };
            if from.0 == Space::Meta && key == crate::records::SUMS_KEY {
                continue;
            }
            let right = expected.next();
            assert!(
                right.is_some_and(|((_, k), v)| *k == key && *v == value),
                "a scan answered wrongly"
            );
        }
        assert!(expected.next().is_none(), "a scan left out rows");
        Ok(())
    }

    /// Every row is there, and no other.
    pub(super) fn assert_whole(&self) {
        let snapshot = self.file.snapshot(0).unwrap();
        for key in self.rows.keys() {
            self.get(&snapshot, key).unwrap();
        }
        for space in SPACES {
            self.scan(&snapshot, &(space, Vec::new()), usize::MAX).unwrap();
        }
    }

    pub(super) fn some_key(&self, random: &mut Random) -> Key {
        let at = random.below(self.rows.len() as u64) as usize;
        self.rows.keys().nth(at).unwrap().clone()
    }

    /// Changes one bit.
    pub(super) fn flip(&self, at: u64, bit: u32) -> Damage {
        let before = self.read_at(at, 1);
        self.write_at(at, &[before[0] ^ (1 << bit)]);
        let page = at / PAGE_BYTES * PAGE_BYTES;
        Damage { what: "a bit", places: vec![page], at, before: Before(vec![(at, before)]) }
    }

    pub(super) fn bytes_of(&self, page: &Page) -> Vec<u8> {
        self.read_at(page.start, page.len)
    }

    /// Fills a page with zeros.
    pub(super) fn zero(&self, page: &Page) -> Damage {
        let before = Before(vec![(page.start, self.read_at(page.start, page.len))]);
        self.write_at(page.start, &vec![0; page.len as usize]);
        Damage { what: "zeros", places: vec![page.start], at: page.start, before }
    }

    /// Damages one of the pages, or exchanges two of them.
    pub(super) fn damage(&self, pages: &[Page], random: &mut Random) -> Damage {
        let mut draw = || &pages[random.below(pages.len() as u64) as usize];
        let (one, other) = (draw(), draw());
        match random.below(10) {
            0..6 => {
                let at = one.start + random.below(one.len);
                Damage { places: vec![one.start], ..self.flip(at, random.below(8) as u32) }
            }
            6..8 => self.zero(one),
            _ => {
                let len = one.len.min(other.len);
                let pair = [one.start, other.start].map(|start| (start, self.read_at(start, len)));
                self.write_at(one.start, &pair[1].1);
                self.write_at(other.start, &pair[0].1);
                let places = vec![one.start, other.start];
                Damage { what: "exchanged", places, at: one.start, before: Before(pair.to_vec()) }
            }
        }
    }

    pub(super) fn mend(&self, damage: Damage) {
        for (at, bytes) in damage.before.0 {
            self.write_at(at, &bytes);
        }
    }

    /// Up to six keys of each damaged page.
    pub(super) fn keys_on(&self, pages: &[Page], damage: &Damage, random: &mut Random) -> Vec<Key> {
        let mut keys = Vec::new();
        for page in pages.iter().filter(|page| damage.places.contains(&page.start)) {
            let all = page.keys.len() as u64;
            let picked: BTreeSet<u64> = (0..6).map(|_| random.below(all)).collect();
            keys.extend(picked.into_iter().map(|at| page.keys[at as usize].clone()));
        }
        keys
    }

    /// Up to `most` keys on each side of a damaged page.
    pub(super) fn keys_near(&self, pages: &[Page], damage: &Damage, most: usize) -> Vec<Key> {
        let first = pages.iter().find(|page| damage.places.contains(&page.start)).unwrap();
        let (low, high) = (first.keys.first().unwrap(), first.keys.last().unwrap());
        let before = self.rows.range(..low.clone()).rev().take(most);
        let after = self.rows.range(high.clone()..).skip(1).take(most);
        before.chain(after).map(|(key, _)| key.clone()).collect()
    }

    /// The keys of the space after those of a page.
    pub(super) fn keys_after(&self, page: &Page) -> Vec<Key> {
        let last = page.keys.last().unwrap();
        let after = self.rows.keys().filter(|key| *key > last && key.0 == last.0);
        after.cloned().collect()
    }

    /// Whether the key is in a damaged page or below it.
    pub(super) fn is_below(&self, pages: &[Page], damage: &Damage, key: &Key) -> bool {
        let mut pages = pages.iter().filter(|page| damage.places.contains(&page.start));
        pages.any(|page| page.keys.contains(key))
    }
}

fn node<'a>(bytes: &'a [u8], header: &Header, child: Child) -> Node<'a> {
    let place = header.regions.place(child.number).unwrap();
    Node { bytes: &bytes[place.start as usize..place.end as usize], widths: Widths::ANY }
}

/// Adds the pages of a tree; returns its keys.
fn add_pages(
    bytes: &[u8],
    header: &Header,
    space: Space,
    root: Child,
    pages: &mut Vec<Page>,
) -> Vec<Key> {
    let node = node(bytes, header, root);
    let is_branch = node.kind() == Some(BRANCH);
    let keys: Vec<Key> = if is_branch {
        let below = node.children().map(|child| add_pages(bytes, header, space, child, pages));
        below.flatten().collect()
    } else {
        let rows = (0..node.count()).filter_map(|n| node.entry(n));
        // Other spaces share the table of the last one.
        let ours =
            rows.filter_map(|(key, _)| crate::records::space::space_of(space.place().table, key));
        let keys = ours.filter(|(found, key)| *found == space && *key != crate::records::SUMS_KEY);
        keys.map(|(space, key)| (space, key.to_vec())).collect()
    };
    let place = header.regions.place(root.number).unwrap();
    if !keys.is_empty() {
        let len = place.end - place.start;
        pages.push(Page { start: place.start, len, is_branch, keys: keys.clone() });
    }
    keys
}

impl Damage {
    /// The error says that a damaged page was needed, and which one.
    pub(super) fn assert_told(&self, error: &Error, place: &str) {
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{place}: {error}");
        let is_told =
            self.places.iter().any(|at| error.to_string().contains(&format!("byte {at}")));
        assert!(is_told, "{place}: {} at {:?}: {error}", self.what, self.places);
    }
}

impl Closed {
    pub(super) fn open(&self, bytes: &[u8], options: RecordFileOptions) -> Result<World> {
        let disk = MemoryDisk::new();
        write_new_file(&disk, NAME, bytes).unwrap();
        let disk: SharedDisk = Arc::new(disk);
        let file = RecordFile::open(&disk, options)?;
        Ok(World { disk, file, rows: self.rows.clone() })
    }

    pub(super) fn reopened(&self, options: RecordFileOptions) -> World {
        self.open(&self.bytes, options).unwrap()
    }
}

/// Whether redb trusts the last commit of a file.
pub(super) fn is_two_phase(bytes: &[u8]) -> bool {
    Header::new(&bytes[..HEADER_BYTES]).unwrap().is_two_phase
}

/// The file with a wrong bit, a page of zeros, or two exchanged pages.
pub(super) fn damaged_file(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let page = PAGE_BYTES as usize;
    let used: Vec<usize> = bytes
        .chunks(page)
        .enumerate()
        .filter(|(at, chunk)| *at > 0 && chunk.iter().any(|byte| *byte != 0))
        .map(|(at, _)| at * page)
        .collect();
    let mut draw = || used[random.below(used.len() as u64) as usize];
    let (one, other) = (draw(), draw());
    let mut damaged = bytes.to_vec();
    match random.below(4) {
        0 | 1 => damaged[one + random.below(PAGE_BYTES) as usize] ^= 1 << random.below(8),
        2 => damaged[one..one + page].fill(0),
        _ => {
            let first = bytes[one..one + page].to_vec();
            damaged[one..one + page].copy_from_slice(&bytes[other..other + page]);
            damaged[other..other + page].copy_from_slice(&first);
        }
    }
    damaged
}
