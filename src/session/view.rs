//! The read side: one consistent snapshot, restricted to what one identity may see.

use std::cell::Cell;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::access::context::Context;
use super::access::identity::Visibility;
use super::feed::event::Event;
use crate::error::{Error, Result};
use crate::model::{Resource, split_entry_value};
use crate::records::keys::{KeyBytes, index_prefix, record_key, split_index_key, split_record_key};
use crate::records::{Cursor, ReadSource, Snapshot, Space, envelope, pass};
use crate::value::id::{Kind, RecordKey};
use crate::value::stored::Members;
use crate::value::{Action, Env, key, stored};

/// Records between two checks of the deadline. Testing one record takes as long as its filter is.
pub(super) const RECORDS_BETWEEN_CHECKS: u64 = 32;

/// One consistent state of the store, as the caller may see it.
pub(crate) struct View<'a> {
    source: ReadSource<'a>,
    context: &'a Arc<Context>,
    now: DateTime<Utc>,
    /// The events of an open transaction that no commit has logged yet.
    pending: &'a [Event],
    touched: Cell<u64>,
}

impl<'a> View<'a> {
    pub(crate) fn new(
        source: ReadSource<'a>,
        context: &'a Arc<Context>,
        pending: &'a [Event],
    ) -> Self {
        Self { source, context, now: context.now(), pending, touched: Cell::new(0) }
    }

    /// The view of a snapshot.
    pub(crate) fn of(snapshot: &'a Snapshot, context: &'a Arc<Context>) -> Self {
        Self::new(ReadSource::Snapshot(snapshot), context, &[])
    }

    /// The session's identity, settings and limits.
    #[must_use]
    pub(crate) fn context(&self) -> &'a Arc<Context> {
        self.context
    }

    /// The store's time; one value for the whole call.
    #[must_use]
    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.now
    }

    /// The inputs of fields that are computed at read time.
    #[must_use]
    pub(crate) fn env(&self) -> Env {
        Env {
            now_ms: self.now.timestamp_millis(),
            calibration_warning_days: self.context.settings().calibration_warning_days,
        }
    }

    /// The events of the open transaction that no commit has logged yet.
    pub(crate) fn pending(&self) -> &'a [Event] {
        self.pending
    }

    pub(crate) fn source(&self) -> ReadSource<'a> {
        self.source
    }

    /// Number of records read from disk so far.
    #[must_use]
    pub(crate) fn records_touched(&self) -> u64 {
        self.touched.get()
    }

    /// The workspaces in which the caller may read resources of a kind.
    #[must_use]
    pub(crate) fn visibility(&self, kind: Kind) -> Visibility {
        self.context.visibility(kind.service, Action::Read)
    }

    /// The record with this id, if it exists and the caller may see it. A malformed id finds
    /// nothing.
    pub(crate) fn get<R: Resource>(&self, id: &str) -> Result<Option<R>> {
        match RecordKey::parse(R::KIND.id, id) {
            Some(key) => self.by_key(key),
            None => Ok(None),
        }
    }

    /// The record with this key, if it exists and the caller may see it.
    pub(crate) fn by_key<R: Resource>(&self, key: RecordKey) -> Result<Option<R>> {
        let record = self.any_by_key::<R>(key)?;
        Ok(record.filter(|record| self.visibility(R::KIND).allows(record.workspace())))
    }

    /// The record with this key, without asking the policy.
    pub(crate) fn any_by_key<R: Resource>(&self, key: RecordKey) -> Result<Option<R>> {
        self.part_by_key(key, Members::ALL)
    }

    /// The wanted members of the record with this key, without asking the policy; the other members
    /// have their defaults.
    pub(crate) fn part_by_key<R: Resource>(
        &self,
        key: RecordKey,
        wanted: Members,
    ) -> Result<Option<R>> {
        self.touched.set(self.touched.get() + 1);
        self.again(key, wanted)
    }

    /// Reads a record again of which a part was read before; it is not counted again.
    pub(crate) fn again<R: Resource>(&self, key: RecordKey, wanted: Members) -> Result<Option<R>> {
        let place = KeyBytes::of(R::KIND, key);
        let mut record = R::default();
        let fill = |bytes: &[u8]| fill_at(&mut record, place, key, bytes, wanted);
        match self.source.read(Space::Records, place.bytes(), fill)? {
            None => Ok(None),
            Some(Err(error)) => Err(error),
            Some(Ok(())) if R::HAS_STATE => self.complete(key, record).map(Some),
            Some(Ok(())) => Ok(Some(record)),
        }
    }

    /// Adds the changing part of a record, which is stored separately.
    fn complete<R: Resource>(&self, key: RecordKey, record: R) -> Result<R> {
        if !R::HAS_STATE {
            return Ok(record);
        }
        let state = self.source.get(Space::RecordState, &record_key(R::KIND, key))?;
        with_state(key, record, state.as_deref())
    }

    /// The keys of the records whose entries in an index start with `prefix`, in the order of the
    /// entries.
    pub(crate) fn index_keys<R: Resource>(
        &self,
        index: u8,
        prefix: &[u8],
    ) -> Result<Vec<RecordKey>> {
        let mut keys = Vec::new();
        self.index_scan(R::KIND, index, prefix, |_, key, _| {
            keys.push(key);
            Ok(true)
        })?;
        Ok(keys)
    }

    /// Calls `f` with entry, record key and workspace of each index entry that starts with
    /// `prefix`, in order, until it returns false.
    pub(crate) fn index_scan(
        &self,
        kind: Kind,
        index: u8,
        prefix: &[u8],
        mut f: impl FnMut(&[u8], RecordKey, &[u8]) -> Result<bool>,
    ) -> Result<()> {
        let mut cursor = self.cursor(Space::Index, &index_prefix(kind, index, prefix))?;
        while let Some(go_on) =
            cursor.visit(false, |bytes, value| match split_index_key(kind, bytes) {
                Some((entry, key)) => f(entry, key, split_entry_value(value).1),
                None => Ok(true),
            })?
        {
            if !go_on? {
                break;
            }
        }
        Ok(())
    }

    /// Calls `f` with entry, record key, included values and workspace of each entry of an index
    /// that starts with `prefix`, in order, until it returns false. Values that were too long are
    /// `None`. A second thread reads parts of many entries.
    pub(crate) fn index_pass(
        &self,
        kind: Kind,
        index: u8,
        prefix: &[u8],
        mut f: impl FnMut(&[u8], RecordKey, Option<&[u8]>, &[u8]) -> Result<bool>,
    ) -> Result<()> {
        let prefix = index_prefix(kind, index, prefix);
        pass::each_entry(self.source, &prefix, &mut |bytes, value| {
            let Some((entry, key)) = split_index_key(kind, bytes) else { return Ok(true) };
            let (included, workspace) = split_entry_value(value);
            f(entry, key, included, workspace)
        })
    }

    /// The entries of an index from `from` (included) to `to` (excluded).
    pub(crate) fn index_entries(
        &self,
        kind: Kind,
        index: u8,
        from: &[u8],
        to: &[u8],
    ) -> Result<IndexEntries<'a>> {
        Ok(IndexEntries { kind, cursor: self.index_range(kind, index, from, to)? })
    }

    /// A cursor over the entries of an index from `from` (included) to `to` (excluded).
    /// [`split_index_key`] splits its keys, [`split_entry_value`] its values.
    pub(super) fn index_range(
        &self,
        kind: Kind,
        index: u8,
        from: &[u8],
        to: &[u8],
    ) -> Result<Cursor<'a>> {
        let (from, to) = (index_prefix(kind, index, from), index_prefix(kind, index, to));
        self.source.cursor(Space::Index, &from, Some(&to))
    }

    /// The number of entries of an index from `from` (included) to `to` (excluded). A result of at
    /// most `most` is exact; a greater one may be too great.
    pub(crate) fn count_entries(
        &self,
        kind: Kind,
        index: u8,
        from: &[u8],
        to: &[u8],
        most: u64,
    ) -> Result<u64> {
        self.source.count_entries(
            &index_prefix(kind, index, from),
            &index_prefix(kind, index, to),
            most,
        )
    }

    /// The number of entries of an index that start with `prefix`, whoever may see them.
    pub(crate) fn count_with_prefix(&self, kind: Kind, index: u8, prefix: &[u8]) -> Result<u64> {
        let from = index_prefix(kind, index, prefix);
        // No key of an entry starts with ff.
        let to = key::after_prefix(&from).unwrap_or_else(|| vec![0xff]);
        self.source.count_entries(&from, &to, u64::MAX)
    }

    /// Calls `f` with every record of a kind that the caller may see, in key order, until it
    /// returns false.
    pub(crate) fn for_each<R: Resource>(&self, mut f: impl FnMut(R) -> Result<bool>) -> Result<()> {
        let visibility = self.visibility(R::KIND);
        self.for_each_of_anyone::<R>(|record| {
            Ok(!visibility.allows(record.workspace()) || f(record)?)
        })
    }

    /// Calls `f` with every record of a kind, without asking the policy, in key order, until it
    /// returns false.
    pub(crate) fn for_each_of_anyone<R: Resource>(
        &self,
        mut f: impl FnMut(R) -> Result<bool>,
    ) -> Result<()> {
        self.scan_records::<R>(None, false, Members::ALL, &mut |_, record| f(record))
    }

    /// Calls `f` with key and wanted members of every record of a kind, without asking the policy,
    /// until it returns false: the records after `after` in key order, or, with `back`, those
    /// before it in reverse order.
    pub(crate) fn scan_records<R: Resource>(
        &self,
        after: Option<RecordKey>,
        back: bool,
        wanted: Members,
        f: &mut dyn FnMut(RecordKey, R) -> Result<bool>,
    ) -> Result<()> {
        let mut from = vec![R::KIND.code];
        let mut to = key::after_prefix(&from);
        match after {
            Some(after) if back => to = Some(record_key(R::KIND, after)),
            Some(after) => from = [record_key(R::KIND, after), vec![0]].concat(),
            None => {}
        }
        let mut cursor = self.source.cursor(Space::Records, &from, to.as_deref())?;
        while let Some(found) = cursor.visit(back, |bytes, value| {
            let key = split_record_key(R::KIND, bytes);
            key.map(|key| {
                part_at::<R>(KeyBytes::of(R::KIND, key), key, value, wanted)
                    .map(|record| (key, record))
            })
            .transpose()
        })? {
            self.touched.set(self.touched.get() + 1);
            if self.touched.get().is_multiple_of(RECORDS_BETWEEN_CHECKS) {
                self.context.check_deadline()?;
            }
            let Some((key, record)) = found? else { continue };
            if !f(key, self.complete(key, record)?)? {
                break;
            }
        }
        Ok(())
    }

    /// The value of a key of a raw space.
    pub(crate) fn raw(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.source.get(space, key)
    }

    /// The keys and values of a raw space whose keys start with `prefix`.
    pub(crate) fn raw_prefix(
        &self,
        space: Space,
        prefix: &[u8],
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut cursor = self.cursor(space, prefix)?;
        let mut entries = Vec::new();
        while let Some(entry) = cursor.next()? {
            entries.push(entry);
        }
        Ok(entries)
    }

    /// A cursor over the keys of a raw space that start with `prefix`.
    pub(crate) fn cursor(&self, space: Space, prefix: &[u8]) -> Result<Cursor<'a>> {
        self.source.with_prefix(space, prefix)
    }
}

/// Index entries in the order of their bytes, from either end.
pub(crate) struct IndexEntries<'a> {
    kind: Kind,
    cursor: Cursor<'a>,
}

impl IndexEntries<'_> {
    /// What `f` makes of entry, record key and workspace of the next entry; of the last when
    /// `back`. The direction stays the one of the first call.
    pub(crate) fn visit<T>(
        &mut self,
        back: bool,
        mut f: impl FnMut(&[u8], RecordKey, &[u8]) -> T,
    ) -> Result<Option<T>> {
        let kind = self.kind;
        while let Some(found) = self.cursor.visit(back, |bytes, value| {
            let (entry, key) = split_index_key(kind, bytes)?;
            Some(f(entry, key, split_entry_value(value).1))
        })? {
            // A key that is none was reported by verification, and belongs to no record.
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

/// A record with its changing part, which is stored in [`Space::RecordState`].
pub(crate) fn with_state<R: Resource>(
    key: RecordKey,
    mut record: R,
    state: Option<&[u8]>,
) -> Result<R> {
    let full_key = record_key(R::KIND, key);
    state
        .ok_or_else(|| {
            Error::corrupt(format!(
                "records.redb: the changing part of a {} is missing; restore it from a backup",
                R::KIND.name
            ))
        })
        .and_then(|bytes| record.set_state(envelope::open(&full_key, R::KIND.code, bytes)?))
        .map_err(|error| error.with_resource(R::KIND.name, key.to_id(R::KIND.id)))?;
    Ok(record)
}

/// The wanted members of the record in an envelope whose key is `place`.
pub(super) fn part_at<R: Resource>(
    place: KeyBytes,
    key: RecordKey,
    bytes: &[u8],
    wanted: Members,
) -> Result<R> {
    let mut record = R::default();
    fill_at(&mut record, place, key, bytes, wanted).map(|()| record)
}

/// Reads the wanted members of the record in an envelope whose key is `place` into `record`.
fn fill_at<R: Resource>(
    record: &mut R,
    place: KeyBytes,
    key: RecordKey,
    bytes: &[u8],
    wanted: Members,
) -> Result<()> {
    let payload = envelope::open(place.bytes(), R::KIND.code, bytes);
    payload
        .and_then(|payload| stored::fill(record, payload, wanted))
        .map_err(|error| error.with_resource(R::KIND.name, key.to_id(R::KIND.id)))
}
