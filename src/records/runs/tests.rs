use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use crate::disk::{MemoryDisk, SharedDisk};
use crate::error::{Error, ErrorKind};
use crate::records::pass::in_parts;
use crate::records::{
    Change, Entries, FileTurn, ReadSource, RecordFile, RecordFileOptions, Snapshot, Space,
};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

const OPTIONS: RecordFileOptions = RecordFileOptions { cache_bytes: 1 << 20, quick_repair: false };

fn file() -> (SharedDisk, RecordFile) {
    let disk: SharedDisk = Arc::new(MemoryDisk::new());
    RecordFile::create(&disk, OPTIONS, &[]).unwrap();
    let file = RecordFile::open(&disk, OPTIONS).unwrap();
    (disk, file)
}

/// Keys that share prefixes; some are long.
fn key(number: u16) -> Vec<u8> {
    let mut key = vec![5, (number % 3) as u8];
    key.extend_from_slice(format!("{:04}", number / 3).as_bytes());
    if number.is_multiple_of(7) {
        key.resize(key.len() + 600, b'x');
    }
    key
}

/// The change that sets or removes a key; applies it to the model too.
fn change(model: &mut Model, number: u16, value: Option<u8>) -> Option<Change> {
    changes(model, &[(number, value)])
}

/// One set of changes.
fn changes(model: &mut Model, numbers: &[(u16, Option<u8>)]) -> Option<Change> {
    let mut entries = Entries::default();
    numbers.iter().for_each(|(number, value)| add(model, &mut entries, *number, *value));
    let sorted = entries.into_sorted();
    (sorted.len() > 0).then_some(Change::Entries(sorted))
}

fn add(model: &mut Model, entries: &mut Entries, number: u16, value: Option<u8>) {
    let key = key(number);
    let after = value.map(|value| vec![value; usize::from(value % 5)]);
    let before = match &after {
        Some(after) => model.insert(key.clone(), after.clone()),
        None => model.remove(&key),
    };
    // No caller removes a key that does not exist.
    if before.is_some() || after.is_some() {
        entries.change_key(&key, before.is_some(), after.as_deref());
    }
    // Drafted changes are found, in their last state.
    let found = entries.with_prefix(&key);
    assert_eq!(
        found.get(&key).copied(),
        (before.is_some() || after.is_some() || found.contains_key(&key))
            .then_some(after.is_some())
    );
}

fn check(source: ReadSource<'_>, model: &Model, from: &[u8], to: Option<&[u8]>) {
    let expected: Vec<(Vec<u8>, Vec<u8>)> = model
        .iter()
        .filter(|(key, _)| key.as_slice() >= from && to.is_none_or(|to| key.as_slice() < to))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    for back in [false, true] {
        let mut cursor = source.cursor(Space::Index, from, to).unwrap();
        let mut found = Vec::new();
        while let Some(entry) =
            cursor.visit(back, |key, value| (key.to_vec(), value.to_vec())).unwrap()
        {
            found.push(entry);
        }
        if back {
            found.reverse();
        }
        assert_eq!(found, expected, "backwards: {back}");
    }
    let to = to.map_or_else(|| vec![0xff], <[u8]>::to_vec);
    for blocks in [1, 2] {
        let mut found = Vec::new();
        in_parts(source, from, &to, blocks, &mut |key, value| {
            found.push((key.to_vec(), value.to_vec()));
            Ok(true)
        })
        .unwrap();
        assert_eq!(found, expected, "parts of {blocks} blocks");
    }
    assert_eq!(source.count_entries(from, &to, u64::MAX).unwrap(), expected.len() as u64);
    assert_eq!(source.len(Space::Index).unwrap(), model.len() as u64);
}

fn check_whole(source: ReadSource<'_>, model: &Model) {
    check(source, model, &[], None);
    for (key, value) in model {
        assert_eq!(source.get(Space::Index, key).unwrap().as_ref(), Some(value));
    }
    assert_eq!(source.get(Space::Index, b"nothing").unwrap(), None);
}

/// One turn: several plans in sequence, each with changes.
type Plans = Vec<Vec<(u16, Option<u8>)>>;

fn plans(most: u16) -> impl Strategy<Value = Plans> {
    let one = (0..most, proptest::option::weighted(0.7, any::<u8>()));
    proptest::collection::vec(proptest::collection::vec(one, 1..40), 1..3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn runs_are_one_sorted_map(
        turns in proptest::collection::vec(plans(300), 1..16),
        ranges in proptest::collection::vec((0u16..320, 0u16..320), 2),
        settle in any::<bool>(),
    ) {
        let (_disk, file) = file();
        let mut model = Model::new();
        let mut older: Option<(Snapshot, Model)> = None;
        for (number, plans) in turns.iter().enumerate() {
            let transaction = file.begin().unwrap();
            let mut turn = FileTurn::open(&transaction, file.base(0).unwrap());
            for plan in plans {
                turn.apply(changes(&mut model, plan)).unwrap();
                for (from, to) in &ranges {
                    check(ReadSource::File(&turn), &model, &key(*from), Some(&key(*to)));
                }
            }
            check_whole(ReadSource::File(&turn), &model);
            let finished = turn.finish().unwrap();
            transaction.commit(finished).unwrap();
            if settle {
                file.write(|turn| turn.settle_indexes(33)).unwrap();
            }
            let snapshot = file.snapshot(0).unwrap();
            for (from, to) in &ranges {
                check(ReadSource::Snapshot(&snapshot), &model, &key(*from), Some(&key(*to)));
            }
            check_whole(ReadSource::Snapshot(&snapshot), &model);
            // An older snapshot still reads the same entries, whatever was merged since.
            if let Some((snapshot, model)) = &older {
                check_whole(ReadSource::Snapshot(snapshot), model);
            }
            if number % 3 == 0 {
                older = Some((snapshot, model.clone()));
            }
        }
        while file.write(|turn| turn.settle_indexes(50)).unwrap() {}
        let snapshot = file.snapshot(0).unwrap();
        check_whole(ReadSource::Snapshot(&snapshot), &model);
        let runs = snapshot.run_count();
        prop_assert!(runs <= 8, "{} runs are left", runs);
    }
}

#[test]
fn what_came_and_went_leaves_no_run() {
    let (_disk, file) = file();
    let mut model = Model::new();
    file.write(|turn| {
        turn.apply(change(&mut model, 1, Some(3)))?;
        turn.apply(change(&mut model, 1, None))
    })
    .unwrap();
    assert_eq!(file.snapshot(0).unwrap().run_count(), 0);
    for number in 0..200 {
        file.write(|turn| turn.apply(change(&mut model, number, Some(1)))).unwrap();
        file.write(|turn| turn.apply(change(&mut model, number, None))).unwrap();
    }
    while file.write(|turn| turn.settle_indexes(1_000)).unwrap() {}
    let snapshot = file.snapshot(0).unwrap();
    check_whole(ReadSource::Snapshot(&snapshot), &model);
    assert_eq!(snapshot.run_count(), 0);
}

#[test]
fn a_long_life_keeps_few_runs_and_survives_reopening() {
    let (disk, file) = file();
    let mut model = Model::new();
    for number in 0..3_000u16 {
        let drawn = number.wrapping_mul(40_503) % 2_000;
        let value = (number % 5 != 0).then_some(1);
        file.write(|turn| turn.apply(change(&mut model, drawn, value))).unwrap();
    }
    assert!(file.snapshot(0).unwrap().run_count() < 60);
    drop(file);
    let file = RecordFile::open(&disk, OPTIONS).unwrap();
    check_whole(ReadSource::Snapshot(&file.snapshot(0).unwrap()), &model);
}

#[test]
fn a_pass_in_parts_ends_where_it_is_told_to() {
    let (_disk, file) = file();
    let mut model = Model::new();
    file.write(|turn| {
        let numbers: Vec<(u16, Option<u8>)> = (0..9_000).map(|number| (number, Some(1))).collect();
        turn.apply(changes(&mut model, &numbers))
    })
    .unwrap();
    let snapshot = file.snapshot(0).unwrap();
    let source = ReadSource::Snapshot(&snapshot);
    let (from, to) = (vec![5, 1], vec![5, 2]);
    let part = |(key, _): &(&Vec<u8>, &Vec<u8>)| **key >= from && **key < to;
    let expected: Vec<&Vec<u8>> = model.iter().filter(part).map(|(key, _)| key).collect();
    assert_eq!(expected.len(), 3_000);
    assert!(snapshot.stack().split_entries(&from, &to, 4).unwrap().len() > 20);
    assert_eq!(snapshot.stack().split_entries(&from, &to, 4_000).unwrap(), [] as [Vec<u8>; 0]);
    for last in (0..expected.len()).step_by(37).chain([expected.len() - 1]) {
        let mut found = Vec::new();
        in_parts(source, &from, &to, 4, &mut |key, _| {
            found.push(key.to_vec());
            Ok(found.len() <= last)
        })
        .unwrap();
        assert!(found.iter().eq(expected.iter().copied().take(last + 1)), "{last}");
        let mut count = 0;
        let error = in_parts(source, &from, &to, 4, &mut |_, _| {
            count += 1;
            if count > last { Err(Error::invalid("enough")) } else { Ok(true) }
        });
        assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert_eq!(count, last + 1);
    }
}

#[test]
fn a_damaged_block_is_noticed() {
    let mut builder = super::block::Builder::default();
    let mark = super::Mark { before: false, after: true };
    for number in 0..40u16 {
        assert!(builder.push(format!("key {number:02}").as_bytes(), mark, b"w").is_none());
    }
    let (last, mut bytes) = builder.finish().unwrap();
    let row = super::row_key(7, &last);
    super::block::seal(&row, &mut bytes);
    let mut block = super::block::Block::default();
    block.load(&row, &bytes).unwrap();
    assert!(block.load(&super::row_key(8, &last), &bytes).is_err());
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(block.load(&row, &flipped).is_err(), "bit {bit}");
    }
    for len in 0..bytes.len() {
        assert!(block.load(&row, &bytes[..len]).is_err());
    }
}
