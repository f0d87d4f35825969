//! Two numbers for each collection of the record file: the count of its entries, and the sum of
//! their hashes.
//!
//! A commit updates the sums in its own transaction, by the entries that it adds and removes. So a
//! scan of a snapshot can detect, while others write, that an entry is missing, was added, or was
//! changed other than by a commit. All sums are one row of [`Space::Meta`], in a page that each
//! commit writes anyway.
//!
//! What must hold: every change of a space other than the index goes through
//! [`Turn::apply`](super::Turn::apply), which updates the sums. A change that bypasses it would
//! look like damage. The index has no sum: its entries follow from the records, and are compared
//! with them.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::{xxh3_64, xxh3_128_with_seed};

use super::{Space, envelope};

/// The key of the row with the sums.
pub(crate) const KEY: &[u8] = b"sums";

/// A set of entries with one sum: a space, or the part of it that belongs to one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Collection {
    /// The space.
    pub(crate) space: Space,
    /// The code of the kind, if the keys of the space begin with one; else 0.
    pub(crate) kind: u8,
}

impl Collection {
    /// The collection of a key; `None` for keys without a sum.
    pub(crate) fn of(space: Space, key: &[u8]) -> Option<Self> {
        let kind = match space {
            Space::Index => return None,
            Space::Meta if key == KEY => return None,
            Space::Records | Space::RecordState => key.first().copied().unwrap_or_default(),
            _ => 0,
        };
        Some(Self { space, kind })
    }
}

/// The sum of a set of entries, independent of their order. Equal sums mean equal sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    /// The count of the entries. In a difference of two sums it may be negative, as a two's
    /// complement.
    pub(crate) entries: u64,
    hashes: u128,
}

/// The hash of an entry. The hash of the key is the seed, so a value under another key has another
/// hash.
fn hash(key: &[u8], value: &[u8]) -> u128 {
    xxh3_128_with_seed(value, xxh3_64(key))
}

impl Sum {
    /// Adds an entry.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        self.entries = self.entries.wrapping_add(1);
        self.hashes = self.hashes.wrapping_add(hash(key, value));
    }

    /// Removes an entry.
    fn take(&mut self, key: &[u8], value: &[u8]) {
        self.entries = self.entries.wrapping_sub(1);
        self.hashes = self.hashes.wrapping_sub(hash(key, value));
    }

    pub(super) fn join(&mut self, other: Self) {
        self.entries = self.entries.wrapping_add(other.entries);
        self.hashes = self.hashes.wrapping_add(other.hashes);
    }
}

/// The sums of all nonempty collections, or the changes of them by a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums(BTreeMap<Collection, Sum>);

/// Bytes of one sum in the row.
const ITEM: usize = 26;

impl Sums {
    /// Adds an entry.
    pub(crate) fn add(&mut self, space: Space, key: &[u8], value: &[u8]) {
        self.replace(space, key, None, Some(value));
    }

    /// Records that the value of a key was replaced.
    pub(super) fn replace(
        &mut self,
        space: Space,
        key: &[u8],
        old: Option<&[u8]>,
        new: Option<&[u8]>,
    ) {
        let Some(collection) = Collection::of(space, key) else { return };
        let sum = self.0.entry(collection).or_default();
        if let Some(old) = old {
            sum.take(key, old);
        }
        if let Some(new) = new {
            sum.add(key, new);
        }
    }

    /// Whether all sums are zero: nothing is stored, or nothing was changed.
    pub(super) fn is_empty(&self) -> bool {
        self.0.values().all(|sum| *sum == Sum::default())
    }

    /// Adds the changes of a transaction.
    pub(super) fn join(&mut self, changes: &Self) {
        for (collection, sum) in &changes.0 {
            self.0.entry(*collection).or_default().join(*sum);
        }
    }

    /// The sum of a collection.
    pub(crate) fn get(&self, collection: Collection) -> Sum {
        self.0.get(&collection).copied().unwrap_or_default()
    }

    /// The collections, in order.
    pub(crate) fn collections(&self) -> impl Iterator<Item = Collection> + '_ {
        self.0.keys().copied()
    }

    /// Encodes the sums as their row.
    pub(super) fn to_row(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.0.len() * ITEM);
        for (collection, sum) in self.0.iter().filter(|(_, sum)| **sum != Sum::default()) {
            out.extend_from_slice(&[collection.space.number(), collection.kind]);
            out.extend_from_slice(&sum.entries.to_be_bytes());
            out.extend_from_slice(&sum.hashes.to_be_bytes());
        }
        envelope::seal(KEY, 0, &out)
    }

    /// Decodes the row of the sums; `None` if it is damaged.
    pub(super) fn read(row: &[u8]) -> Option<Self> {
        let payload = envelope::open(KEY, 0, row).ok()?.bytes;
        let (items, rest) = payload.as_chunks::<ITEM>();
        let mut sums = Self::default();
        for item in items {
            let (&[space, kind], item) = item.split_first_chunk::<2>()?;
            let (entries, hashes) = item.split_first_chunk::<8>()?;
            let sum = Sum {
                entries: u64::from_be_bytes(*entries),
                hashes: u128::from_be_bytes(*hashes.first_chunk::<16>()?),
            };
            sums.0.insert(Collection { space: Space::from_number(space)?, kind }, sum);
        }
        rest.is_empty().then_some(sums)
    }
}
