//! Puts the commits after a backup into the records of a restored store.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::records::archive::Item;
use crate::records::{Change, Collection, Entries, ReadSource, RecordFile, Space};
use crate::session::FILLING_KEY;
use crate::store::scrub_indexes::index_entries;
use crate::value::{Control, limits};

/// Writes changes of commits in their order, with the index entries that follow from them.
pub(super) struct Replay<'c> {
    copy: &'c RecordFile,
    control: &'c Control,
    /// The newest value of each key that was changed.
    batch: BTreeMap<(Space, Vec<u8>), Option<Vec<u8>>>,
    bytes: usize,
    changes: u64,
}

impl<'c> Replay<'c> {
    pub(super) fn new(copy: &'c RecordFile, control: &'c Control) -> Self {
        Self { copy, control, batch: BTreeMap::new(), bytes: 0, changes: 0 }
    }

    /// Applies what comes next, soon.
    ///
    /// # Errors
    /// Those of the disk and of the control.
    pub(super) fn add(&mut self, item: Item) -> Result<()> {
        let (space, key, value) = match item {
            Item::Change(Change::Put { space, key, value }) => (space, key, Some(value)),
            Item::Change(Change::Delete { space, key }) => (space, key, None),
            // The end of a commit, and entries of the index, which an archive does not have.
            Item::End { .. } | Item::Change(Change::Entries(_)) => return Ok(()),
        };
        // The restored store has its own sums, and its indexes are complete.
        let is_filling = space == Space::Meta && key == FILLING_KEY;
        if Collection::of(space, &key).is_none() || is_filling {
            return Ok(());
        }
        self.bytes += key.len() + value.as_ref().map_or(0, Vec::len);
        self.changes += 1;
        self.batch.insert((space, key), value);
        if self.bytes >= limits::BATCH_BYTES / 4 { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.control.check()?;
        self.control.report(self.changes, None, "changes");
        self.bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        if batch.is_empty() {
            return Ok(());
        }
        let mut entries = Entries::default();
        let mut changes = Vec::with_capacity(batch.len() + 1);
        let snapshot = self.copy.snapshot(0)?;
        for ((space, key), value) in batch {
            if space == Space::Records {
                let old = ReadSource::Snapshot(&snapshot).get(space, &key)?;
                change_entries(&mut entries, &key, old.as_deref(), value.as_deref());
            }
            changes.push(match value {
                Some(value) => Change::Put { space, key, value },
                None => Change::Delete { space, key },
            });
        }
        drop(snapshot);
        changes.push(Change::Entries(entries.into_sorted()));
        self.copy.write(|turn| turn.apply(changes))
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub(super) fn finish(mut self) -> Result<()> {
        self.flush()
    }
}

/// Changes the index entries of a record that is replaced.
fn change_entries(entries: &mut Entries, key: &[u8], old: Option<&[u8]>, new: Option<&[u8]>) {
    let of = |value: Option<&[u8]>| -> BTreeMap<Vec<u8>, Vec<u8>> {
        value.map(|value| index_entries(key, value).into_iter().collect()).unwrap_or_default()
    };
    let (mut old, new) = (of(old), of(new));
    for (entry, value) in &new {
        let before = old.remove(entry);
        if before.as_ref() != Some(value) {
            entries.change_key(entry, before.is_some(), Some(value));
        }
    }
    for entry in old.keys() {
        entries.change_key(entry, true, None);
    }
}
