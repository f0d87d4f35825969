//! What each collection of the record file holds, in two numbers: its entries, and the sum of their hashes.
//!
//! A commit changes the sums in its own transaction by what it adds and takes away. So whoever walks a snapshot can tell,
//! beside writers, that an entry is missing, was added, or was changed by something else than a commit. All sums are one row
//! of [`Space::Meta`], in the page of a row that each commit writes anyway.
//!
//! What must hold: every change of a space other than the index goes through [`Turn::apply`](super::Turn::apply), where it is
//! counted. The index has no sum: its entries follow from the records, and are compared with them.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::{xxh3_64, xxh3_128_with_seed};

use super::{Space, envelope};

/// The key of the row of the sums.
pub(crate) const KEY: &[u8] = b"sums";

/// Entries that are summed together: a space, or the part of it that belongs to one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Collection {
    /// The space.
    pub(crate) space: Space,
    /// The code of the kind where keys begin with one, else 0.
    pub(crate) kind: u8,
}

impl Collection {
    /// The collection of a key; `None` for what has no sum.
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

/// Entries in any order: equal sums mean equal entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    /// How many there are. Of a difference of two sums it may be below zero, as a two's complement.
    pub(crate) entries: u64,
    hashes: u128,
}

fn hash(key: &[u8], value: &[u8]) -> u128 {
    xxh3_128_with_seed(value, xxh3_64(key))
}

impl Sum {
    /// Adds an entry.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        self.entries = self.entries.wrapping_add(1);
        self.hashes = self.hashes.wrapping_add(hash(key, value));
    }

    /// Takes an entry away.
    fn take(&mut self, key: &[u8], value: &[u8]) {
        self.entries = self.entries.wrapping_sub(1);
        self.hashes = self.hashes.wrapping_sub(hash(key, value));
    }

    pub(super) fn join(&mut self, other: Self) {
        self.entries = self.entries.wrapping_add(other.entries);
        self.hashes = self.hashes.wrapping_add(other.hashes);
    }
}

/// The sums of all collections that hold something, or what a transaction changes of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums(BTreeMap<Collection, Sum>);

/// Bytes of one sum in the row.
const ITEM: usize = 26;

impl Sums {
    /// Notes that the value of a key was replaced.
    pub(super) fn replace(&mut self, space: Space, key: &[u8], old: Option<&[u8]>, new: Option<&[u8]>) {
        let Some(collection) = Collection::of(space, key) else { return };
        let sum = self.0.entry(collection).or_default();
        if let Some(old) = old {
            sum.take(key, old);
        }
        if let Some(new) = new {
            sum.add(key, new);
        }
    }

    /// Whether nothing is held, or nothing was changed.
    pub(super) fn is_empty(&self) -> bool {
        self.0.values().all(|sum| *sum == Sum::default())
    }

    /// Adds what a transaction changed.
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

    /// The sums as their row.
    pub(super) fn to_row(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.0.len() * ITEM);
        for (collection, sum) in self.0.iter().filter(|(_, sum)| **sum != Sum::default()) {
            out.extend_from_slice(&[collection.space.number(), collection.kind]);
            out.extend_from_slice(&sum.entries.to_be_bytes());
            out.extend_from_slice(&sum.hashes.to_be_bytes());
        }
        envelope::seal(KEY, 0, &out)
    }

    /// Reads the row of the sums; `None` when it is damaged.
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
