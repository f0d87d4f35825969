//! The sums of a sorted set compared with its changes.

use proptest::prelude::*;

use super::*;

/// Keys of several indexes: the first two bytes are kind and index.
fn key() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(0u8..4, 2..6)
}

/// The end of a range.
fn bound() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(0u8..5, 0..6)
}

fn set(changes: &[(Vec<u8>, bool, bool)]) -> SortedEntries {
    let mut entries = Entries::default();
    for (key, before, after) in changes {
        entries.change_key(key, *before, after.then_some(b"value".as_slice()));
    }
    entries.into_sorted()
}

fn net<'e>(changes: impl Iterator<Item = EntryChange<'e>>) -> i64 {
    changes.map(|change| i64::from(change.after.is_some()) - i64::from(change.before)).sum()
}

proptest! {
    #[test]
    fn a_range_adds_what_its_changes_add(
        older in proptest::collection::vec((key(), any::<bool>(), any::<bool>()), 0..120),
        newer in proptest::collection::vec((key(), any::<bool>(), any::<bool>()), 0..40),
        ranges in proptest::collection::vec((bound(), bound()), 1..40),
    ) {
        // A merge sums anew.
        let (older, newer) = (set(&older), set(&newer));
        for set in [&older, &newer, &SortedEntries::merge([&older, &newer])] {
            prop_assert_eq!(set.net(), net(set.iter()));
            for (from, to) in ranges.iter().filter(|(from, to)| from <= to) {
                let within = |key: &[u8]| from.as_slice() <= key && key < to.as_slice();
                let expected = net(set.iter().filter(|change| within(change.key)));
                prop_assert_eq!(set.net_within(from, to), expected, "{:?} to {:?}", from, to);
            }
        }
    }
}
