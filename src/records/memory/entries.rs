//! Changes of index entries, collected in a few large buffers.
//!
//! A batch of a thousand records changes some fifteen thousand entries of forty bytes. A `BTreeMap`
//! of them, with one allocation each, cost as much as writing them. So the changes of one index are
//! appended to one bucket, and sorted when they are looked up or when all are taken.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::BTreeMap;

/// The net effect of all changes of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryChange<'e> {
    /// The key.
    pub(crate) key: &'e [u8],
    /// Whether the key existed before the changes.
    pub(crate) before: bool,
    /// The value after the changes; `None` if the key was removed.
    pub(crate) after: Option<&'e [u8]>,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    start: usize,
    key_len: u32,
    value_len: u32,
    /// The number of keys that the items before it in a sorted set add. It takes no room: without
    /// it, the item would end in as many unused bytes.
    net_before: i32,
    before: bool,
    after: bool,
}

impl Item {
    /// The number of keys that it adds: 1, 0 or -1.
    fn net(self) -> i32 {
        i32::from(self.after) - i32::from(self.before)
    }

    fn key(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start..self.start + self.key_len as usize).unwrap_or_default()
    }

    fn change(self, bytes: &[u8]) -> EntryChange<'_> {
        let from = self.start + self.key_len as usize;
        let value = bytes.get(from..from + self.value_len as usize);
        EntryChange {
            key: self.key(bytes),
            before: self.before,
            after: value.filter(|_| self.after),
        }
    }
}

/// Changes in the order in which they were made. The first `sorted` ones are in the order of their
/// keys.
#[derive(Clone, Debug, Default)]
struct Bucket {
    bytes: Vec<u8>,
    items: Vec<Item>,
    /// The first `sorted` items are sorted by key, each key once.
    sorted: usize,
}

impl Bucket {
    fn push(&mut self, key: &[u8], before: bool, after: Option<&[u8]>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let key_len = key.len() as u32;
        let value = after.unwrap_or_default();
        self.bytes.extend_from_slice(value);
        self.items.push(Item {
            start,
            key_len,
            value_len: value.len() as u32,
            net_before: 0,
            before,
            after: after.is_some(),
        });
    }

    /// Sorts the items and merges the changes of each key: `before` is that of the first change,
    /// the value that of the last one.
    ///
    /// The sort must be stable: it keeps the changes of a key in the order in which they were made.
    /// Otherwise an older value could win.
    fn sort(&mut self) {
        if self.sorted == self.items.len() {
            return;
        }
        let bytes = &self.bytes;
        self.items.sort_by(|one, other| one.key(bytes).cmp(other.key(bytes)));
        self.items.dedup_by(|later, kept| {
            let is_same = later.key(bytes) == kept.key(bytes);
            if is_same {
                *kept = Item { before: kept.before, ..*later };
            }
            is_same
        });
        self.sorted = self.items.len();
    }

    /// Sets [`Item::net_before`] of all items, which must be sorted.
    fn sum(&mut self) {
        let mut net = 0;
        for item in &mut self.items {
            item.net_before = net;
            net += item.net();
        }
    }

    /// The number of keys less than `key` that the items add, and whether a greater one follows.
    fn net_before(&self, key: &[u8]) -> (i64, bool) {
        let at = match self.items.last() {
            Some(last) if last.key(&self.bytes) >= key => {
                self.items.partition_point(|item| item.key(&self.bytes) < key)
            }
            _ => self.items.len(),
        };
        match self.items.get(at) {
            Some(item) => (i64::from(item.net_before), true),
            None => (self.net(), false),
        }
    }

    /// The number of keys that all items add.
    fn net(&self) -> i64 {
        self.items.last().map_or(0, |last| i64::from(last.net_before + last.net()))
    }

    /// Inserts into `into` the changed keys that start with `prefix`, and whether each exists now.
    ///
    /// Searches the sorted items by bisection and the unsorted ones one by one. When there are many
    /// unsorted items, it sorts first: lookups between single changes then stay cheap, and a sort
    /// happens only after the items have grown by a fixed part. The unsorted items are inserted
    /// last, because they are newer.
    fn collect(&mut self, prefix: &[u8], into: &mut BTreeMap<Vec<u8>, bool>) {
        /// Number of unsorted items that are always searched one by one. In addition, one for each
        /// `PART` sorted items.
        const FEW: usize = 32;
        const PART: usize = 64;
        if self.items.len() - self.sorted > FEW + self.sorted / PART {
            self.sort();
        }
        let (sorted, newer) =
            self.items.split_at_checked(self.sorted).unwrap_or((&self.items, &[]));
        let from = sorted.partition_point(|item| item.key(&self.bytes) < prefix);
        let older = sorted.get(from..).unwrap_or_default().iter();
        let older = older.take_while(|item| item.key(&self.bytes).starts_with(prefix));
        let newer = newer.iter().filter(|item| item.key(&self.bytes).starts_with(prefix));
        for item in older.chain(newer) {
            into.insert(item.key(&self.bytes).to_vec(), item.after);
        }
    }
}

/// Changes of index entries, in one bucket for each index.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    /// Keyed by the first two bytes of the keys: kind and index.
    buckets: RefCell<BTreeMap<[u8; 2], Bucket>>,
}

impl Entries {
    /// Records a change of a key; `before` says whether the key exists now.
    pub(crate) fn change_key(&mut self, key: &[u8], before: bool, after: Option<&[u8]>) {
        let head = key.first_chunk::<2>().copied().unwrap_or_default();
        self.buckets.get_mut().entry(head).or_default().push(key, before, after);
    }

    /// The changed keys that start with `prefix`, and whether each exists now.
    pub(crate) fn with_prefix(&self, prefix: &[u8]) -> BTreeMap<Vec<u8>, bool> {
        let mut found = BTreeMap::new();
        let mut buckets = self.buckets.borrow_mut();
        for (head, bucket) in buckets.iter_mut() {
            if head.starts_with(prefix) || prefix.starts_with(head) {
                bucket.collect(prefix, &mut found);
            }
        }
        found
    }

    /// All changes, sorted, each key once.
    pub(crate) fn into_sorted(self) -> SortedEntries {
        let mut buckets: Vec<Bucket> = self.buckets.into_inner().into_values().collect();
        for bucket in &mut buckets {
            bucket.sort();
            bucket.sum();
        }
        let mut starts = Vec::with_capacity(buckets.len());
        let mut len = 0;
        for bucket in &buckets {
            starts.push(len);
            len += bucket.items.len();
        }
        SortedEntries { buckets, starts, len }
    }
}

/// Sorted changes of index entries, each key once.
#[derive(Clone, Debug, Default)]
pub(crate) struct SortedEntries {
    buckets: Vec<Bucket>,
    /// For each bucket, the number of changes in the buckets before it.
    starts: Vec<usize>,
    len: usize,
}

impl SortedEntries {
    /// The number of changes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The change at a position.
    pub(in crate::records) fn get(&self, at: usize) -> Option<EntryChange<'_>> {
        let number = self.starts.partition_point(|start| *start <= at).checked_sub(1)?;
        let (bucket, start) = (self.buckets.get(number)?, self.starts.get(number)?);
        bucket.items.get(at - start).map(|item| item.change(&bucket.bytes))
    }

    /// The position of the first change whose key is not less than `key`.
    pub(in crate::records) fn place_of(&self, key: &[u8]) -> usize {
        for (bucket, start) in self.buckets.iter().zip(&self.starts) {
            if bucket.items.last().is_some_and(|last| last.key(&bucket.bytes) >= key) {
                return start + bucket.items.partition_point(|item| item.key(&bucket.bytes) < key);
            }
        }
        self.len
    }

    /// The number of keys that the changes add.
    pub(in crate::records) fn net(&self) -> i64 {
        self.buckets.iter().map(Bucket::net).sum()
    }

    /// The number of keys from `from` (included) to `to` (excluded) that the changes add.
    pub(in crate::records) fn net_within(&self, from: &[u8], to: &[u8]) -> i64 {
        self.net_before(to) - self.net_before(from)
    }

    /// The number of keys less than `key` that the changes add.
    fn net_before(&self, key: &[u8]) -> i64 {
        let mut net = 0;
        for bucket in &self.buckets {
            let (added, goes_on) = bucket.net_before(key);
            net += added;
            if goes_on {
                break;
            }
        }
        net
    }

    /// The changes in the order of their keys.
    pub(in crate::records) fn iter(&self) -> impl Iterator<Item = EntryChange<'_>> {
        self.buckets
            .iter()
            .flat_map(|bucket| bucket.items.iter().map(|item| item.change(&bucket.bytes)))
    }

    /// Bytes of all keys and values.
    pub(in crate::records) fn bytes(&self) -> usize {
        self.buckets.iter().map(|bucket| bucket.bytes.len()).sum()
    }

    /// Merges sets of changes, oldest first.
    pub(in crate::records) fn merge<'s>(sets: impl IntoIterator<Item = &'s Self>) -> Self {
        let mut all = Entries::default();
        for change in sets.into_iter().flat_map(Self::iter) {
            all.change_key(change.key, change.before, change.after);
        }
        all.into_sorted()
    }
}
