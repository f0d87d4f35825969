use super::*;
use crate::disk::{MemoryDisk, SharedDisk};
use crate::records::{Change, ReadSource, RecordFile, RecordFileOptions, Space, Turn};

fn changes(keys: &[&[u8]]) -> Changes {
    let changes = Changes::default();
    keys.iter().for_each(|key| changes.add(key));
    changes
}

/// Reads a row for the second time.
fn keep(rows: &KeptRows, key: &[u8], value: &[u8]) {
    rows.keep(key, value);
    rows.keep(key, value);
}

fn value(rows: &KeptRows, key: &[u8]) -> Option<Vec<u8>> {
    rows.get(key).map(|value| value.to_vec())
}

#[test]
fn a_state_gets_rows_of_its_own_and_of_earlier_states_only() {
    let cache = Arc::new(RowCache::new(1 << 20));
    let first = cache.rows();
    keep(&first, b"same", b"1");
    keep(&first, b"other", b"1");
    cache.commit(&changes(&[b"other", b"new"])).done();
    // The older reader is still there, and may not bring back what it sees.
    keep(&first, b"other", b"1");
    let second = cache.rows();
    assert_eq!(value(&second, b"same"), Some(b"1".to_vec()));
    assert_eq!(value(&second, b"other"), None);
    keep(&second, b"other", b"2");
    keep(&second, b"new", b"2");
    assert_eq!(value(&second, b"other"), Some(b"2".to_vec()));
    assert_eq!(value(&first, b"other"), None, "a row of a later state");
    assert_eq!(value(&first, b"new"), None, "a row of a later state");
    assert_eq!(value(&first, b"same"), Some(b"1".to_vec()));
}

#[test]
fn nobody_adds_rows_while_a_transaction_is_being_committed_or_after_it_failed() {
    let cache = Arc::new(RowCache::new(1 << 20));
    let before = cache.rows();
    keep(&before, b"kept", b"1");
    let committing = cache.commit(&changes(&[b"changed"]));
    keep(&before, b"changed", b"1");
    let meanwhile = cache.rows();
    keep(&meanwhile, b"changed", b"?");
    assert_eq!(value(&meanwhile, b"kept"), None, "which state it reads is not known");
    assert_eq!(value(&before, b"kept"), Some(b"1".to_vec()));
    committing.done();
    assert_eq!(value(&cache.rows(), b"changed"), None);
    drop(cache.commit(&changes(&[b"kept"])));
    keep(&before, b"kept", b"1");
    keep(&cache.rows(), b"kept", b"1");
    assert_eq!(value(&before, b"kept"), None);
}

#[test]
fn many_changes_stand_for_all_rows() {
    let cache = Arc::new(RowCache::new(1 << 20));
    keep(&cache.rows(), b"one", b"1");
    let many = Changes::default();
    (0..=CHANGES_MAX as u64).for_each(|number| many.add(&number.to_be_bytes()));
    cache.commit(&many).done();
    assert_eq!(value(&cache.rows(), b"one"), None);
}

#[test]
fn a_row_is_kept_when_it_is_read_again() {
    let cache = Arc::new(RowCache::new(1 << 20));
    cache.rows().keep(b"key", b"value");
    assert_eq!(value(&cache.rows(), b"key"), None);
    cache.rows().keep(b"key", b"value");
    assert_eq!(value(&cache.rows(), b"key"), Some(b"value".to_vec()));
}

#[test]
fn rows_and_pages_stay_within_one_bound() {
    const BYTES: usize = 256 << 10;
    const ROW: usize = 100;
    let cache = Arc::new(RowCache::new(BYTES));
    let rows = cache.rows();
    let fill = |held: std::ops::Range<usize>| {
        for number in 0..4_000u32 {
            keep(&rows, &number.to_be_bytes(), &[1; ROW]);
        }
        let (bytes, most) = cache.bytes();
        assert!(bytes <= most && held.contains(&(bytes as usize)), "{bytes} of {most}");
    };
    // Of a file of this length there are no more pages, so that rows take the rest.
    cache.fit(64 << 10);
    fill(150 << 10..192 << 10);
    // The file grows: rows make room before anybody reads the new pages.
    cache.fit(100 << 10);
    assert!(cache.bytes().0 <= (156 << 10));
    cache.fit(1 << 30);
    assert!(cache.bytes().0 <= (64 << 10));
    fill(50 << 10..64 << 10);
    // It shrinks.
    cache.fit(0);
    fill(220 << 10..256 << 10);
    keep(&rows, b"large", &vec![1; BYTES]);
    assert_eq!(value(&rows, b"large"), None);
    keep(&rows, &[7; 18], b"a key that is too long");
    assert_eq!(value(&rows, &[7; 18]), None);
    cache.clear();
    assert_eq!(cache.bytes().0, 0);
    let none = Arc::new(RowCache::new(0));
    keep(&none.rows(), b"key", b"value");
    assert_eq!(value(&none.rows(), b"key"), None);
}

/// The record file tells the rows how long it is, when it is opened and when it grows.
#[test]
fn the_rows_of_a_record_file_leave_room_for_its_pages() {
    const BYTES: usize = 16 << 20;
    let disk: SharedDisk = Arc::new(MemoryDisk::new());
    let options = RecordFileOptions { cache_bytes: BYTES, quick_repair: false };
    RecordFile::create(&disk, options, &[]).unwrap();
    let mut most = 0;
    for number in 0..6u8 {
        let file = RecordFile::open(&disk, options).unwrap();
        let room = |file: &RecordFile| {
            let pages = (file.medium.known_len() as usize).min(RowCache::page_bytes(BYTES));
            let (bytes, most) = file.rows().bytes();
            assert_eq!(most as usize, BYTES - pages - BYTES / 512, "of what pages leave");
            assert!(bytes <= most);
            most
        };
        let opened = room(&file);
        let rows: Vec<Change> = (0..100u8)
            .map(|at| Change::Put {
                space: Space::Records,
                key: vec![1, number, at],
                value: vec![number; 40_000],
            })
            .collect();
        let before = Arc::new(file.snapshot(0).unwrap());
        let mut turn = Turn::open(before.clone(), usize::MAX);
        turn.apply(rows.clone());
        let written = before.committed(turn.finish().active, 1).freeze(1);
        file.move_layer(written.base(), written.frozen().unwrap()).unwrap();
        most = room(&file);
        let least = (BYTES / 4 - BYTES / 512) as u64;
        assert!(most < opened || opened == least, "the file grew: {opened}, {most}");
        let snapshot = file.snapshot(1).unwrap();
        for change in rows.iter().chain(&rows).chain(&rows) {
            let Change::Put { key, value, .. } = change else { continue };
            let read = ReadSource::Snapshot(&snapshot).get(Space::Records, key).unwrap();
            assert_eq!(read.as_ref(), Some(value));
        }
        assert!(room(&file) > 0 && file.rows().bytes().0 > 0);
    }
    assert!((most as usize) < BYTES / 4, "the file outgrew the cache: {most}");
}

#[test]
fn a_key_and_its_beginning_are_two_rows() {
    let cache = Arc::new(RowCache::new(1 << 20));
    let rows = cache.rows();
    keep(&rows, &[7], b"short");
    keep(&rows, &[7, 0], b"long");
    assert_eq!(value(&rows, &[7]), Some(b"short".to_vec()));
    assert_eq!(value(&rows, &[7, 0]), Some(b"long".to_vec()));
}
