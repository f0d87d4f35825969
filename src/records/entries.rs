//! Changes of index entries, gathered in one piece of memory.
//!
//! A batch of a thousand records changes some fifteen thousand entries of forty bytes; a tree of them, with an allocation
//! each, cost as much as writing them. Changes of one index lie in one bucket, in the order in which they came, and are
//! sorted when somebody asks or when all are taken.

use std::cell::RefCell;
use std::collections::BTreeMap;

/// What happened to a key over several changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryChange<'e> {
    /// The key.
    pub(crate) key: &'e [u8],
    /// Whether it was there before the changes.
    pub(crate) before: bool,
    /// Its value after them; `None` when it is gone.
    pub(crate) after: Option<&'e [u8]>,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    start: usize,
    key_len: u32,
    value_len: u32,
    before: bool,
    after: bool,
}

impl Item {
    fn key(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start..self.start + self.key_len as usize).unwrap_or_default()
    }

    fn change(self, bytes: &[u8]) -> EntryChange<'_> {
        let from = self.start + self.key_len as usize;
        let value = bytes.get(from..from + self.value_len as usize);
        EntryChange { key: self.key(bytes), before: self.before, after: value.filter(|_| self.after) }
    }
}

/// Changes in the order in which they came; the first ones may be sorted already.
#[derive(Clone, Debug, Default)]
struct Bucket {
    bytes: Vec<u8>,
    items: Vec<Item>,
    /// This many items are sorted, each key once.
    sorted: usize,
}

impl Bucket {
    fn push(&mut self, key: &[u8], before: bool, after: Option<&[u8]>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let key_len = key.len() as u32;
        let value = after.unwrap_or_default();
        self.bytes.extend_from_slice(value);
        self.items.push(Item { start, key_len, value_len: value.len() as u32, before, after: after.is_some() });
    }

    /// Sorts the items; of several changes of a key the first tells what was before, and the last what is now.
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

    /// What became of the keys that start with `prefix`, into `into`.
    fn collect(&mut self, prefix: &[u8], into: &mut BTreeMap<Vec<u8>, bool>) {
        /// Unsorted items that are looked through one by one, beside this part of the sorted ones.
        const FEW: usize = 32;
        const PART: usize = 64;
        if self.items.len() - self.sorted > FEW + self.sorted / PART {
            self.sort();
        }
        let (sorted, newer) = self.items.split_at_checked(self.sorted).unwrap_or((&self.items, &[]));
        let from = sorted.partition_point(|item| item.key(&self.bytes) < prefix);
        let older = sorted.get(from..).unwrap_or_default().iter();
        let older = older.take_while(|item| item.key(&self.bytes).starts_with(prefix));
        let newer = newer.iter().filter(|item| item.key(&self.bytes).starts_with(prefix));
        for item in older.chain(newer) {
            into.insert(item.key(&self.bytes).to_vec(), item.after);
        }
    }
}

/// Changes of index entries, with those of one index together.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    /// By the first two bytes of the keys: kind and index.
    buckets: RefCell<BTreeMap<[u8; 2], Bucket>>,
    changes: usize,
}

impl Entries {
    /// Changes a key; `before` tells whether it is there.
    pub(crate) fn change_key(&mut self, key: &[u8], before: bool, after: Option<&[u8]>) {
        let head = key.first_chunk::<2>().copied().unwrap_or_default();
        self.changes += 1;
        self.buckets.get_mut().entry(head).or_default().push(key, before, after);
    }

    /// How often a key was changed.
    pub(crate) fn changes(&self) -> usize {
        self.changes
    }

    /// The changed keys that start with `prefix`, and whether they are there now.
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
        buckets.iter_mut().for_each(Bucket::sort);
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
    /// The number of changes before each bucket.
    starts: Vec<usize>,
    len: usize,
}

impl SortedEntries {
    /// The number of changes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The change at a place.
    pub(super) fn get(&self, at: usize) -> Option<EntryChange<'_>> {
        let number = self.starts.partition_point(|start| *start <= at).checked_sub(1)?;
        let (bucket, start) = (self.buckets.get(number)?, self.starts.get(number)?);
        bucket.items.get(at - start).map(|item| item.change(&bucket.bytes))
    }

    /// The place of the first change that is not before `key`.
    pub(super) fn place_of(&self, key: &[u8]) -> usize {
        for (bucket, start) in self.buckets.iter().zip(&self.starts) {
            if bucket.items.last().is_some_and(|last| last.key(&bucket.bytes) >= key) {
                return start + bucket.items.partition_point(|item| item.key(&bucket.bytes) < key);
            }
        }
        self.len
    }

    /// The changes in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = EntryChange<'_>> {
        self.buckets.iter().flat_map(|bucket| bucket.items.iter().map(|item| item.change(&bucket.bytes)))
    }

    /// These changes and then `later` ones.
    pub(super) fn then(&self, later: &Self) -> Self {
        let mut both = Entries::default();
        for change in self.iter().chain(later.iter()) {
            both.change_key(change.key, change.before, change.after);
        }
        both.into_sorted()
    }
}
