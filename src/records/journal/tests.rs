//! The journal alone, on disks in memory: every byte flipped, passes and files that do not belong
//! together. `loss_tests` has cuts and zeroed sectors.

use std::sync::Arc;

use super::file::RECORDS;
use super::record::HEAD;
use super::*;
use crate::disk::{Disk, MemoryDisk, Mode, read_file};
use crate::error::ErrorKind;
use crate::records::{Change, Entries, Space};

pub(super) fn shared(disk: &MemoryDisk) -> SharedDisk {
    Arc::new(disk.clone())
}

fn change(number: u64) -> Change {
    let value = vec![number as u8; 20 + number as usize % 30];
    Change::Put { space: Space::Blobs, key: number.to_be_bytes().to_vec(), value }
}

pub(super) fn body(number: u64) -> Vec<u8> {
    let mut out = Vec::new();
    encode(&change(number), &mut out);
    out
}

/// The numbers of the changes that a pass had.
pub(super) fn numbers(changes: &[Change]) -> Vec<u64> {
    let number = |change: &Change| match change {
        Change::Put { space: Space::Blobs, key, value } => {
            let number = u64::from_be_bytes(key.as_slice().try_into().unwrap());
            assert_eq!(value.len(), 20 + number as usize % 30);
            assert!(value.iter().all(|byte| *byte == number as u8));
            number
        }
        other => panic!("{other:?}"),
    };
    changes.iter().map(number).collect()
}

pub(super) fn open(
    disk: &MemoryDisk,
    link: Link,
    sequence: u64,
) -> Result<(Journal, Vec<Vec<u64>>, u64)> {
    let (journal, replayed) = Journal::open(&shared(disk), link, sequence)?;
    let passes = replayed.passes.iter().map(|changes| numbers(changes)).collect();
    Ok((journal, passes, replayed.sequence))
}

/// A journal with the commits 1 to `count` in its first pass.
fn written(count: u64) -> (MemoryDisk, Link, Journal) {
    let disk = MemoryDisk::new();
    let link = Journal::create(&shared(&disk)).unwrap();
    let (mut journal, passes, sequence) = open(&disk, link, 0).unwrap();
    assert_eq!((passes, sequence), (vec![vec![]], 0));
    append(&mut journal, 1..=count);
    (disk, link, journal)
}

fn append(journal: &mut Journal, numbers: std::ops::RangeInclusive<u64>) {
    for number in numbers {
        journal.append(number - 1, number, &body(number)).unwrap();
    }
}

pub(super) fn bytes(disk: &MemoryDisk, name: &str) -> Vec<u8> {
    read_file(disk, name, 1 << 30).unwrap()
}

/// A disk with the same files, of which `name` has other bytes.
pub(super) fn with(disk: &MemoryDisk, name: &str, bytes: &[u8]) -> MemoryDisk {
    let fresh = MemoryDisk::new();
    for each in NAMES {
        let held = if each == name { bytes.to_vec() } else { self::bytes(disk, each) };
        fresh.open(each, Mode::CreateNew).unwrap().write_all_at(&held, 0).unwrap();
    }
    fresh
}

fn until(count: u64) -> Vec<u64> {
    (1..=count).collect()
}

/// Where the record of each commit of the first pass begins, and where the last one ends.
fn places(count: u64) -> Vec<usize> {
    let mut places = vec![RECORDS as usize];
    for number in 1..=count {
        let len = (HEAD + body(number).len()).next_multiple_of(8);
        places.push(places.last().unwrap() + len);
    }
    places
}

#[test]
fn records_are_replayed_from_any_sequence_on() {
    let (disk, link, _) = written(9);
    for held in 0..=9 {
        let (_, passes, sequence) = open(&disk, link, held).unwrap();
        assert_eq!((passes, sequence), (vec![(held + 1..=9).collect()], 9));
    }
    // Further records follow, and a second open finds them too.
    let (mut journal, ..) = open(&disk, link, 4).unwrap();
    append(&mut journal, 10..=12);
    assert_eq!(open(&disk, link, 0).unwrap().1, [until(12)]);
}

/// A record file that was written directly is ahead of the journal. The next record continues it.
#[test]
fn commits_may_pass_the_journal_by() {
    let (disk, link, mut journal) = written(3);
    journal.append(7, 8, &body(8)).unwrap();
    assert_eq!(open(&disk, link, 7).unwrap().1, [[8]]);
    assert_eq!(open(&disk, link, 8).unwrap().1, [[]; 1] as [[u64; 0]; 1]);
    for lost in [0, 3, 5, 6] {
        assert_eq!(open(&disk, link, lost).unwrap_err().kind(), ErrorKind::Corrupt, "{lost}");
    }
}

#[test]
fn a_flip_of_any_byte_is_repaired_or_reported() {
    const COUNT: u64 = 5;
    let (disk, link, _) = written(COUNT);
    let held = bytes(&disk, "journal.1");
    let places = places(COUNT);
    let (last, end) = (places[COUNT as usize - 1], places[COUNT as usize]);
    let marks = mark::PLACES.map(|place| place..place + mark::LEN);
    let blocks = (0..64).chain(4_096..4_096 + 64).chain(marks.into_iter().flatten());
    let (mut whole, mut refused, mut ended) = (0, 0, 0);
    for at in blocks.chain(RECORDS as usize..end + 64) {
        for bit in [at % 8, (at + 3) % 8] {
            let mut flipped = held.clone();
            flipped[at] ^= 1 << bit;
            let place = format!("bit {bit} of byte {at}");
            match open(&with(&disk, "journal.1", &flipped), link, 0) {
                Ok((_, passes, COUNT)) => {
                    assert_eq!(passes, [until(COUNT)], "{place}");
                    whole += 1;
                }
                // A flip in the last record cannot be told from a torn write.
                Ok((_, passes, sequence)) => {
                    assert_eq!(
                        (&passes, sequence),
                        (&vec![until(COUNT - 1)], COUNT - 1),
                        "{place}"
                    );
                    assert!((last..end).contains(&at), "{place}");
                    ended += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corrupt, "{place}: {error}");
                    assert!((RECORDS as usize..last).contains(&at), "{place}: {error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(whole > 200 && refused > 200 && ended > 50, "{whole} {refused} {ended}");
}

/// A torn write of a record and its mark: either may be torn at any byte, or not be there.
#[test]
fn a_torn_last_append_leaves_the_records_before_it() {
    const COUNT: u64 = 5;
    let (disk, link, mut journal) = written(COUNT - 1);
    let before = bytes(&disk, "journal.1");
    append(&mut journal, COUNT..=COUNT);
    let after = bytes(&disk, "journal.1");
    let places = places(COUNT);
    let (start, end) = (places[COUNT as usize - 1], places[COUNT as usize]);
    let place = mark::PLACES.into_iter().find(|place| {
        let mark = *place..*place + mark::LEN;
        before[mark.clone()] != after[mark]
    });
    let place = place.unwrap();
    for torn_mark in [0, 1, 8, 11, 20, 24, 31, mark::LEN] {
        for cut in start..=end {
            let mut torn = before.clone();
            torn[place..place + torn_mark].copy_from_slice(&after[place..place + torn_mark]);
            torn[start..cut].copy_from_slice(&after[start..cut]);
            let image = with(&disk, "journal.1", &torn);
            let at = format!("cut at {cut}, {torn_mark} bytes of the mark");
            let (mut journal, passes, sequence) = open(&image, link, 0).unwrap();
            // The last bytes of a record may be zeros anyway.
            assert!((COUNT - 1..=COUNT).contains(&sequence), "{at}: {sequence}");
            assert_eq!(passes, [until(sequence)], "{at}");
            // What is written next is found, whatever the torn append left, and a torn one after
            // that leaves it.
            append(&mut journal, sequence + 1..=sequence + 2);
            let (_, passes, _) = open(&image, link, 0).unwrap();
            assert_eq!(passes, [until(sequence + 2)], "{at}");
        }
    }
}

/// A torn record was of many commits, and those that are written in its place are fewer. Its mark
/// must not stay: it names commits that were never acknowledged.
#[test]
fn the_mark_of_a_torn_record_is_replaced() {
    let (disk, link, mut journal) = written(3);
    let before = bytes(&disk, "journal.1");
    let mut many = Vec::new();
    (4..=9).for_each(|number| encode(&change(number), &mut many));
    journal.append(3, 9, &many).unwrap();
    let mut torn = bytes(&disk, "journal.1");
    torn[RECORDS as usize..].copy_from_slice(&before[RECORDS as usize..]);
    let image = with(&disk, "journal.1", &torn);
    let (mut journal, passes, _) = open(&image, link, 0).unwrap();
    assert_eq!(passes, [until(3)]);
    for next in 4..=6 {
        append(&mut journal, next..=next);
        for place in mark::PLACES {
            let mut torn = bytes(&image, "journal.1");
            torn[place + 20] ^= 1;
            let found = open(&with(&image, "journal.1", &torn), link, 0).unwrap().2;
            assert_eq!(found, next, "the mark at {place} is torn");
        }
    }
}

/// Records of an earlier pass lie where the next record would be.
#[test]
fn records_of_an_earlier_pass_are_not_taken() {
    let (disk, link, mut journal) = written(6);
    assert_eq!(journal.begin_pass(6).unwrap(), 2);
    append(&mut journal, 7..=8);
    assert_eq!(open(&disk, link, 0).unwrap().1, [until(6), vec![7, 8]]);
    assert_eq!(open(&disk, Link { pass: 2, ..link }, 6).unwrap().1, [[7, 8]]);
    // The third pass is in the file of the first one, and its records have the same lengths.
    assert_eq!(journal.begin_pass(8).unwrap(), 3);
    journal.append(8, 9, &body(1)).unwrap();
    let (_, passes, sequence) = open(&disk, Link { pass: 2, ..link }, 6).unwrap();
    assert_eq!((passes, sequence), (vec![vec![7, 8], vec![1]], 9));
    let (_, passes, sequence) = open(&disk, Link { pass: 3, ..link }, 8).unwrap();
    assert_eq!((passes, sequence), (vec![vec![1]], 9));
}

/// A header may be torn while nothing follows it. The pass before is then the newest.
#[test]
fn a_torn_header_ends_with_the_pass_before() {
    let (disk, link, mut journal) = written(4);
    let before = bytes(&disk, "journal.0");
    journal.begin_pass(4).unwrap();
    let after = bytes(&disk, "journal.0");
    for cut in (0..=before.len()).step_by(8) {
        for is_front in [true, false] {
            let (front, back) = if is_front { (&after, &before) } else { (&before, &after) };
            let torn = [&front[..cut], &back[cut..]].concat();
            let image = with(&disk, "journal.0", &torn);
            let (mut journal, passes, _) = open(&image, link, 0).unwrap();
            assert_eq!(passes[0], until(4), "{cut}");
            assert!(passes.len() == 1 || passes[1].is_empty(), "{cut}");
            // Both copies of the newest header are then whole: one of them may be lost.
            append(&mut journal, 5..=5);
            let name = NAMES[file_of(journal.pass())];
            let mut lost = bytes(&image, name);
            lost[..48].fill(0);
            let found = open(&with(&image, name, &lost), link, 0).unwrap().2;
            assert_eq!(found, 5, "{cut}");
        }
    }
}

#[test]
fn files_that_do_not_belong_together_are_refused() {
    let refused = |disk: &MemoryDisk, link, sequence| {
        let error = open(disk, link, sequence).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    };
    let (disk, link, mut journal) = written(4);
    refused(&disk, Link { id: link.id ^ 1, ..link }, 0);
    refused(&disk, Link { pass: 2, ..link }, 4);
    refused(&disk, Link { pass: 3, ..link }, 4);
    let [one, other] = NAMES.map(|name| bytes(&disk, name));
    // Exchanged, missing, empty, and without a header.
    refused(&with(&with(&disk, "journal.0", &other), "journal.1", &one), link, 0);
    refused(&with(&disk, "journal.1", &[]), link, 0);
    refused(&with(&disk, "journal.1", &vec![0; other.len()]), link, 0);
    for name in NAMES {
        let image = with(&disk, "", &[]);
        image.remove_file(name).unwrap();
        refused(&image, link, 0);
    }
    // The file of another store, and an earlier state of this one.
    let (foreign, ..) = written(4);
    refused(&with(&disk, "journal.1", &bytes(&foreign, "journal.1")), link, 0);
    for sequence in [4, 5, 6] {
        journal.begin_pass(sequence).unwrap();
    }
    refused(&with(&disk, "journal.1", &other), Link { pass: 3, ..link }, 5);
    refused(&with(&disk, "journal.1", &other), Link { pass: 4, ..link }, 6);
    // A record file that fell back to a state before the pass.
    assert!(open(&disk, Link { pass: 4, ..link }, 6).is_ok());
    refused(&disk, Link { pass: 4, ..link }, 5);
}

/// A later pass begins only after the sync of the last record, so that record is not torn.
#[test]
fn a_flip_in_the_last_record_of_a_pass_is_found_if_another_pass_follows() {
    let (disk, link, mut journal) = written(4);
    let held = bytes(&disk, "journal.1");
    let places = places(4);
    journal.begin_pass(4).unwrap();
    for at in places[3]..places[4] - 8 {
        let mut flipped = held.clone();
        flipped[at] ^= 1;
        let image = with(&disk, "journal.1", &flipped);
        let error = open(&image, link, 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "byte {at}: {error}");
    }
    assert_eq!(open(&disk, link, 0).unwrap().1, [until(4), vec![]]);
}

/// Damage in records that only the memory has otherwise is found while the store is open.
#[test]
fn a_flip_under_an_open_journal_is_found() {
    let (disk, link, mut journal) = written(3);
    journal.begin_pass(3).unwrap();
    append(&mut journal, 4..=6);
    let (reopened, ..) = open(&disk, link, 0).unwrap();
    for journal in [&journal, &reopened] {
        assert_eq!(journal.check(true), []);
        for (name, at) in [
            ("journal.0", RECORDS as usize + 60),
            ("journal.1", RECORDS as usize + 60),
            ("journal.0", 3),
        ] {
            let held = bytes(&disk, name);
            let flip = |bytes: &[u8]| {
                let file = disk.open(name, Mode::ReadWrite).unwrap();
                file.write_all_at(bytes, 0).unwrap();
            };
            let mut flipped = held.clone();
            flipped[at] ^= 4;
            // One copy of a header is enough.
            let is_header = at < RECORDS as usize;
            if is_header {
                flip(&flipped);
                assert_eq!(journal.check(true), []);
                flipped[4_096 + at] ^= 4;
            }
            flip(&flipped);
            let found = journal.check(true);
            assert!(matches!(found.as_slice(), [(file, _)] if *file == name), "{found:?}");
            // The pass before the newest one counts only until it is moved.
            assert_eq!(journal.check(false).is_empty(), name == "journal.1");
            flip(&held);
        }
    }
}

/// What a salvage takes: all intact records of the passes that the record file lacks.
#[test]
fn a_salvage_takes_every_intact_record() {
    let rescued = |disk: &MemoryDisk, link, sequence| {
        let rescued = rescue(&shared(disk), link, sequence);
        let lost: Vec<_> = rescued.lost.iter().map(|lost| (lost.file, lost.commits)).collect();
        (numbers(&rescued.changes), lost)
    };
    let (disk, link, mut journal) = written(6);
    journal.begin_pass(6).unwrap();
    append(&mut journal, 7..=9);
    let next = Link { pass: 2, ..link };
    assert_eq!(rescued(&disk, Some(link), Some(2)), ((3..=9).collect(), vec![]));
    assert_eq!(rescued(&disk, Some(link), None), (until(9), vec![]));
    assert_eq!(rescued(&disk, None, Some(2)), ((3..=9).collect(), vec![]));
    assert_eq!(rescued(&disk, Some(next), Some(6)), (vec![7, 8, 9], vec![]));
    // The record file may have the commits of the first pass, and later ones over them.
    assert_eq!(rescued(&disk, None, None), (vec![7, 8, 9], vec![("journal.1", None)]));
    // The record file has fallen back.
    assert_eq!(
        rescued(&disk, Some(next), Some(4)),
        (vec![7, 8, 9], vec![("journal.0", Some((5, 6)))])
    );
    let places = places(6);
    for lost in 1..=6 {
        let mut flipped = bytes(&disk, "journal.1");
        flipped[places[lost as usize - 1] + 3] ^= 1;
        let image = with(&disk, "journal.1", &flipped);
        let expected = (1..=9).filter(|number| *number != lost).collect();
        let (found, told) = rescued(&image, Some(link), Some(0));
        assert_eq!(found, Vec::from_iter::<Vec<u64>>(expected), "{lost}");
        let file = if lost == 6 { "journal.0" } else { "journal.1" };
        assert_eq!(told, [(file, Some((lost, lost)))], "{lost}");
    }
    // Another journal, and a lost header.
    let foreign = Link { id: link.id ^ 1, ..link };
    let (found, told) = rescued(&disk, Some(foreign), Some(0));
    assert_eq!((found, told.len()), (vec![], 2));
    let image = with(&disk, "journal.0", &vec![0; 8_192]);
    assert_eq!(rescued(&image, Some(link), Some(0)), (until(6), vec![("journal.0", None)]));
}

#[test]
fn a_record_that_skips_commits_is_refused() {
    let (disk, link, mut journal) = written(3);
    journal.append(4, 5, &body(5)).unwrap();
    assert_eq!(open(&disk, link, 0).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(open(&disk, link, 4).unwrap().1, [[5]]);
}

#[test]
fn a_large_record_grows_the_file() {
    let (disk, link, mut journal) = written(2);
    let large = Change::Put { space: Space::Blobs, key: vec![1], value: vec![7; 6_000_000] };
    let mut body = Vec::new();
    encode(&large, &mut body);
    journal.append(2, 3, &body).unwrap();
    append(&mut journal, 4..=5);
    let (_, replayed) = Journal::open(&shared(&disk), link, 2).unwrap();
    assert_eq!(replayed.sequence, 5);
    let [Change::Put { value, .. }, rest @ ..] = replayed.passes[0].as_slice() else { panic!() };
    assert_eq!((value.len(), numbers(rest)), (6_000_000, vec![4, 5]));
}

#[test]
fn every_change_is_read_as_it_was_written() {
    let mut entries = Entries::default();
    entries.change_key(b"\x05\x01abc", false, Some(b"one"));
    entries.change_key(b"\x05\x01abcd", true, None);
    entries.change_key(b"\x05\x02x", true, Some(b""));
    entries.change_key(b"\x09\x01", false, None);
    let entries = entries.into_sorted();
    let changes = [
        Change::Put { space: Space::Records, key: vec![], value: vec![] },
        Change::Entries(entries.clone()),
        Change::Delete { space: Space::RecordState, key: vec![0xff; 300] },
        Change::Put { space: Space::Log, key: vec![1], value: vec![9; 40_000] },
    ];
    let mut body = Vec::new();
    changes.iter().for_each(|change| encode(change, &mut body));
    let found = body::decode(&body, "journal.0").unwrap();
    let [Change::Put { .. }, Change::Entries(read), Change::Delete { key, .. }, last] =
        found.as_slice()
    else {
        panic!("{found:?}")
    };
    assert!(read.iter().eq(entries.iter()));
    assert_eq!(key.len(), 300);
    assert!(matches!(last, Change::Put { value, .. } if value.len() == 40_000));
    // No part of the bytes is taken for changes, and none panics.
    let mut again = Vec::new();
    found.iter().for_each(|change| encode(change, &mut again));
    assert_eq!(again, body);
    let ends = (0..body.len()).filter(|len| body::decode(&body[..*len], "journal.0").is_ok());
    assert_eq!(ends.count(), changes.len());
}

/// A copy ends at the last record before a gap: a later record may be there when an earlier part of
/// the file was read before its record was written. A mark may be read while it is written.
#[test]
fn a_copy_beside_appends_ends_at_a_whole_record() {
    const COUNT: u64 = 9;
    let name = NAMES[1];
    let (disk, link, mut journal) = written(0);
    let front = |disk: &MemoryDisk| bytes(disk, name)[..RECORDS as usize].to_vec();
    let mut fronts = vec![front(&disk)];
    for number in 1..=COUNT {
        append(&mut journal, number..=number);
        fronts.push(front(&disk));
    }
    let held = bytes(&disk, name);
    for (count, place) in places(COUNT).windows(2).enumerate() {
        // The front was read before the record that is missing was acknowledged.
        for begun in 0..=count {
            for cut in [place[0], place[0] + 3, place[1] - 1] {
                let mut torn = held.clone();
                torn[cut..place[1]].fill(0);
                let count = if torn == held { COUNT } else { count as u64 };
                torn[..RECORDS as usize].copy_from_slice(&fronts[begun]);
                if begun < count as usize && begun % 2 == 1 {
                    let next = fronts[begun + 1].iter().zip(&fronts[begun]);
                    let at = next.clone().position(|(one, other)| one != other).unwrap();
                    torn[at] ^= 0x55;
                }
                let copied = MemoryDisk::new();
                super::copy(&shared(&with(&disk, name, &torn)), &shared(&copied)).unwrap();
                let (mut journal, passes, sequence) = open(&copied, link, 0).unwrap();
                assert_eq!((passes, sequence), (vec![until(count)], count), "cut at {cut}");
                append(&mut journal, count + 1..=count + 1);
            }
        }
    }
}

#[test]
fn a_copy_has_both_passes() {
    let (disk, link, mut journal) = written(4);
    journal.begin_pass(4).unwrap();
    append(&mut journal, 5..=7);
    let copied = MemoryDisk::new();
    super::copy(&shared(&disk), &shared(&copied)).unwrap();
    assert_eq!(open(&copied, link, 0).unwrap().1, [until(4), vec![5, 6, 7]]);
}

/// What a close cuts off is beyond the records of the newest pass, however many these are.
#[test]
fn shortening_keeps_every_record_of_the_newest_pass() {
    const FIRST: u64 = 60_000;
    let (disk, link, mut journal) = written(FIRST);
    let lens = |disk: &MemoryDisk| NAMES.map(|name| bytes(disk, name).len() as u64);
    let [_, before] = lens(&disk);
    journal.shrink().unwrap();
    let [_, after] = lens(&disk);
    assert!(after < before && after > 2 * file::KEPT, "{before} {after}");
    let (_, passes, sequence) = open(&disk, link, 0).unwrap();
    assert_eq!((passes, sequence), (vec![until(FIRST)], FIRST));
    // The next pass, when the record file has the first one.
    let pass = journal.begin_pass(FIRST).unwrap();
    append(&mut journal, FIRST + 1..=FIRST + 10);
    journal.shrink().unwrap();
    assert!(lens(&disk).iter().all(|len| *len <= file::KEPT), "{:?}", lens(&disk));
    append(&mut journal, FIRST + 11..=FIRST + 20);
    let (_, passes, sequence) = open(&disk, Link { pass, ..link }, FIRST).unwrap();
    assert_eq!((passes, sequence), (vec![(FIRST + 1..=FIRST + 20).collect()], FIRST + 20));
    // A record file that fell back to its earlier state lacks commits, and is told so.
    let error = open(&disk, link, 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}
