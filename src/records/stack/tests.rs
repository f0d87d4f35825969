//! Commits, freezes and checkpoints in any order: a snapshot and a turn read one sorted map.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use crate::disk::{MemoryDisk, SharedDisk};
use crate::records::{
    Change, Entries, ReadSource, RecordFile, RecordFileOptions, Snapshot, Space, Sums, Turn,
};

type Model = BTreeMap<(Space, Vec<u8>), Vec<u8>>;

/// Spaces with a table of their own, with a part of one, in two places, in sorted runs, and with
/// kept rows.
const SPACES: [Space; 5] =
    [Space::Blobs, Space::Counters, Space::Log, Space::Index, Space::Records];
const KEYS: u16 = 60;

fn key(space: Space, number: u16) -> Vec<u8> {
    let number = number.to_be_bytes();
    if space == Space::Index { [&[5, 1], number.as_slice()].concat() } else { number.to_vec() }
}

/// The change of a key, also in the model. Rows of the log come in order, and the oldest go first.
fn change(model: &mut Model, space: Space, number: u16, value: Option<u8>) -> Option<Change> {
    let in_log = model.keys().filter(|(space, _)| *space == Space::Log);
    let key = match (space, value) {
        (Space::Log, Some(_)) => {
            let last =
                in_log.map(|(_, key)| u16::from_be_bytes(key.as_slice().try_into().unwrap()));
            key(space, last.max().map_or(number, |last| last + 1))
        }
        (Space::Log, None) => in_log.map(|(_, key)| key.clone()).next()?,
        _ => key(space, number),
    };
    let value = value.map(|value| vec![value; usize::from(value) * 3]);
    let before = match &value {
        Some(value) => model.insert((space, key.clone()), value.clone()),
        None => model.remove(&(space, key.clone())),
    };
    Some(match (space, value) {
        (Space::Index, value) => {
            let mut entries = Entries::default();
            entries.change_key(&key, before.is_some(), value.as_deref());
            Change::Entries(entries.into_sorted())
        }
        (space, Some(value)) => Change::Put { space, key, value },
        (space, None) => Change::Delete { space, key },
    })
}

fn check(source: ReadSource<'_>, model: &Model) {
    for space in SPACES {
        let of_space = |from: &[u8], to: Option<&[u8]>| -> Vec<(Vec<u8>, Vec<u8>)> {
            let rows = model.iter().filter(|((held, key), _)| {
                *held == space && key.as_slice() >= from && to.is_none_or(|to| key.as_slice() < to)
            });
            rows.map(|((_, key), value)| (key.clone(), value.clone())).collect()
        };
        let (low, high) = (key(space, KEYS / 4), key(space, KEYS / 2));
        for (from, to) in [(&[][..], None), (&low, Some(&high[..])), (&low, None)] {
            let mut expected = of_space(from, to);
            for back in [false, true] {
                let mut cursor = source.cursor(space, from, to).unwrap();
                let mut found = Vec::new();
                let copy = |key: &[u8], value: &[u8]| (key.to_vec(), value.to_vec());
                while let Some(row) = cursor.visit(back, copy).unwrap() {
                    found.push(row);
                }
                assert_eq!(found, expected, "{space:?} backwards {back}");
                expected.reverse();
            }
        }
        assert_eq!(source.len(space).unwrap(), of_space(&[], None).len() as u64, "{space:?}");
        for number in 0..KEYS {
            let key = key(space, number);
            let expected = model.get(&(space, key.clone()));
            assert_eq!(source.get(space, &key).unwrap().as_ref(), expected, "{space:?} {number}");
        }
        if space == Space::Index {
            let counted = source.count_entries(&low, &high, u64::MAX).unwrap();
            assert_eq!(counted, of_space(&low, Some(&high)).len() as u64);
        }
    }
}

fn check_sums(snapshot: &Snapshot, model: &Model) {
    let mut expected = Sums::default();
    for ((space, key), value) in model.iter().filter(|((space, _), _)| *space != Space::Index) {
        expected.replace(*space, key, None, Some(value));
    }
    let found = snapshot.sums().unwrap().unwrap_or_default();
    for collection in found.collections().chain(expected.collections()) {
        assert_eq!(found.get(collection), expected.get(collection), "{collection:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn layers_over_the_file_are_one_map(
        commits in proptest::collection::vec(
            (
                proptest::collection::vec((0usize..5, 0..KEYS, proptest::option::weighted(0.6, 1u8..9)), 1..12),
                0u8..4,
            ),
            1..20,
        ),
        cache_bytes in prop_oneof![Just(0usize), Just(8 << 10), Just(1 << 20)],
    ) {
        let disk: SharedDisk = Arc::new(MemoryDisk::new());
        let options = RecordFileOptions { cache_bytes, quick_repair: false };
        let seed = Change::Put { space: Space::Counters, key: vec![1], value: vec![1] };
        RecordFile::create(&disk, options, &[seed]).unwrap();
        let file = RecordFile::open(&disk, options).unwrap();
        let mut snapshot = Arc::new(file.snapshot(0).unwrap());
        let mut model = Model::from([((Space::Counters, vec![1]), vec![1])]);
        let mut older = Vec::new();
        let mut sequence = 0;
        for (changes, then) in commits {
            let mut turn = Turn::open(snapshot.clone(), usize::MAX);
            for (space, number, value) in changes {
                turn.apply(change(&mut model, SPACES[space], number, value));
            }
            check(ReadSource::Turn(&turn), &model);
            sequence += 1;
            snapshot = Arc::new(snapshot.committed(turn.finish().active, sequence));
            check(ReadSource::Snapshot(&snapshot), &model);
            check_sums(&snapshot, &model);
            older.push((snapshot.clone(), model.clone()));
            let frozen = snapshot.frozen().cloned();
            snapshot = match (then, frozen) {
                (0 | 1, None) => Arc::new(snapshot.freeze(sequence)),
                (0, Some(frozen)) => {
                    file.move_layer(snapshot.base(), &frozen).unwrap();
                    Arc::new(snapshot.moved(file.base(sequence).unwrap()))
                }
                _ => continue,
            };
            check(ReadSource::Snapshot(&snapshot), &model);
            check_sums(&snapshot, &model);
        }
        // Checkpoints change no earlier snapshot.
        for (snapshot, model) in &older {
            check(ReadSource::Snapshot(snapshot), model);
        }
        // What readers of earlier snapshots read does not reach the newest one.
        check(ReadSource::Snapshot(&snapshot), &model);
    }
}
