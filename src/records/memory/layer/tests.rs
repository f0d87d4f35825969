use std::collections::BTreeMap;

use proptest::prelude::*;

use super::Layer;
use crate::records::{Change, Space};

type Model = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

fn key(number: u16) -> Vec<u8> {
    // Keys of several lengths, some of them prefixes of others.
    let bytes = number.to_be_bytes();
    if number.is_multiple_of(3) { bytes[..1].to_vec() } else { bytes.to_vec() }
}

fn change(key: Vec<u8>, value: Option<u8>) -> Change {
    let space = Space::Blobs;
    match value {
        Some(value) => Change::Put { space, key, value: vec![value] },
        None => Change::Delete { space, key },
    }
}

fn rows(
    layer: &Layer,
    from: &[u8],
    to: Option<&[u8]>,
    back: bool,
) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let mut rows = Vec::new();
    let Some(mut walk) = layer.walk(Space::Blobs, from, to, back) else { return rows };
    loop {
        let row = walk.row().unwrap();
        rows.push((row.key.clone(), row.value.clone()));
        if !walk.advance() {
            return rows;
        }
    }
}

fn check(layer: &Layer, model: &Model, from: &[u8], to: Option<&[u8]>) {
    let inside = |key: &Vec<u8>| key.as_slice() >= from && to.is_none_or(|to| key.as_slice() < to);
    let mut expected: Vec<_> = model.clone().into_iter().filter(|(key, _)| inside(key)).collect();
    assert_eq!(rows(layer, from, to, false), expected);
    expected.reverse();
    assert_eq!(rows(layer, from, to, true), expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn versions_are_sorted_maps(
        commits in proptest::collection::vec(
            proptest::collection::vec((0u16..2_000, proptest::option::of(any::<u8>())), 1..200),
            1..24,
        ),
        ranges in proptest::collection::vec((0u16..2_000, 0u16..2_000), 4),
        is_sorted in any::<bool>(),
    ) {
        let mut layer = Layer::default();
        let mut model = Model::new();
        let mut versions = Vec::new();
        for mut commit in commits {
            if is_sorted {
                commit.sort_unstable();
            }
            for (number, value) in commit {
                layer.apply(change(key(number), value));
                model.insert(key(number), value.map(|value| vec![value]));
            }
            versions.push((layer.clone(), model.clone()));
        }
        // Later changes do not show in earlier versions.
        for (layer, model) in &versions {
            check(layer, model, &[], None);
            for (from, to) in &ranges {
                check(layer, model, &key(*from), Some(&key(*to)));
                check(layer, model, &key(*from), None);
            }
            for number in 0..2_000 {
                let found = layer.row(Space::Blobs, &key(number)).map(|row| row.value.clone());
                prop_assert_eq!(found, model.get(&key(number)).cloned());
            }
        }
    }
}

#[test]
fn bytes_follow_what_is_held() {
    let mut layer = Layer::default();
    assert!(layer.is_empty());
    for round in 0..10u8 {
        for number in 1..1_000i32 {
            layer.apply(change(number.to_be_bytes().to_vec(), Some(round)));
        }
    }
    let (rows, each) = (999, 5 + super::ROW_BYTES);
    assert_eq!(layer.bytes(), rows * each);
}
