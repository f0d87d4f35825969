//! The write side: the changes of one plan, and reads that see them.
//!
//! A draft applies nothing: it collects changes over a view, and the write path applies them.
//!
//! What must hold: a record, its index entries and its event are always drafted together, and no
//! two records share an entry of a unique index.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::model::quotas::QuotaRecord;
use crate::model::{
    EntryBuffer, Index, Resource, entries, entries_between, entry_value_into, has_same_entries,
    has_same_value, include_positions, index_positions, members_beside_state,
};
use crate::records::keys::{KeyBytes, index_head, index_prefix, record_key, split_index_key};
use crate::records::{Change, Entries, ReadSource, Space, envelope};
use crate::session::access::context::Context;
use crate::session::feed::event::{Event, What};
use crate::session::maintain::fillings::Fillings;
use crate::session::view::{View, part_at, with_state};
use crate::value::id::{Kind, RecordKey};
use crate::value::stored::Members;
use crate::value::{Action, Service, limits, stored};

/// The changes of one plan, over the view that it was planned for.
pub(crate) struct Draft<'v> {
    view: View<'v>,
    overlay: BTreeMap<Space, BTreeMap<Vec<u8>, Option<Vec<u8>>>>,
    /// Changed index entries.
    entries: Entries,
    events: Vec<Event>,
    /// Number of events that the store logged on its own behalf.
    notes: usize,
    /// The incomplete indexes; loaded at first use.
    fillings: Option<Option<Fillings>>,
    /// Positions of the indexed members, by kind code.
    positions: BTreeMap<u8, Arc<[Positions]>>,
    scratch: Scratch,
    /// The workspaces that were looked up, and may be written into.
    pub(in crate::session) required_workspaces: RefCell<BTreeSet<String>>,
    /// Whether the store has a quota; `None` before the first look.
    pub(in crate::session) has_quotas: Option<bool>,
    /// The quotas that were looked up, by workspace; `None` for a workspace without one.
    pub(in crate::session) quotas: BTreeMap<String, Option<QuotaRecord>>,
}

/// Positions of the members of an index entry, and of the members stored in its value.
struct Positions {
    fields: Vec<usize>,
    included: Vec<usize>,
}

/// Buffers that are reused for each index of each record.
#[derive(Default)]
struct Scratch {
    before: EntryBuffer,
    after: EntryBuffer,
    value: Vec<u8>,
    /// Encoded size of the last record.
    record_bytes: usize,
}

/// What is checked before a record is drafted, besides its quotas.
#[derive(Clone, Copy)]
struct Checks {
    /// Whether the policy lets the caller write it.
    policy: bool,
    /// Whether its entries of unique indexes are free.
    unique: bool,
}

impl Checks {
    const ALL: Self = Self { policy: true, unique: true };
}

fn key_of<R: Resource>(record: &R) -> Result<RecordKey> {
    let refused = || format!("{:?} is not the id of a {}", record.id(), R::KIND.name);
    record.key().ok_or_else(|| Error::invalid(refused()))
}

/// The error about an entry of a unique index that another record has.
fn taken<R: Resource>(index: &Index) -> Error {
    let (kind, fields) = (R::KIND.name, index.fields.join(", "));
    Error::conflict(format!("another {kind} has the same {fields}"))
}

impl<'v> Draft<'v> {
    pub(crate) fn new(view: View<'v>) -> Self {
        Self {
            view,
            overlay: BTreeMap::new(),
            entries: Entries::default(),
            events: Vec::new(),
            notes: 0,
            fillings: None,
            positions: BTreeMap::new(),
            scratch: Scratch::default(),
            required_workspaces: RefCell::default(),
            has_quotas: None,
            quotas: BTreeMap::new(),
        }
    }

    pub(crate) fn finish(self) -> Result<(Vec<Change>, Vec<Event>)> {
        let mut changes: Vec<Change> = self
            .overlay
            .into_iter()
            .flat_map(|(space, keys)| keys.into_iter().map(move |(key, value)| (space, key, value)))
            .map(|(space, key, value)| match value {
                Some(value) => Change::Put { space, key, value },
                None => Change::Delete { space, key },
            })
            .collect();
        let entries = self.entries.into_sorted();
        if entries.len() > 0 {
            changes.push(Change::Entries(entries));
        }
        let bytes: usize = changes.iter().map(Change::len).sum();
        if bytes > 2 * limits::BATCH_BYTES {
            return Err(Error::limit(format!(
                "the changes of one call take {bytes} bytes, more than the {} that one commit may \
                 write; split the call",
                2 * limits::BATCH_BYTES
            )));
        }
        Ok((changes, self.events))
    }

    /// Whether the changes need free space beyond the disk's reserve. A draft whose only events are
    /// deletes of records or rows, and events that the store logs along with them, may use the
    /// reserve; so may a draft without events (positions, swept files).
    pub(in crate::session) fn needs_space(&self) -> bool {
        let deleted = self
            .events
            .iter()
            .filter(|event| matches!(event.what, What::Deleted | What::RowsDeleted));
        let deleted = deleted.count();
        let notes = if deleted > 0 { self.notes } else { 0 };
        self.events.len() > deleted + notes
    }

    /// The view before this draft.
    #[must_use]
    pub(crate) fn view(&self) -> &View<'v> {
        &self.view
    }

    /// The caller's identity, settings and limits.
    #[must_use]
    pub(crate) fn context(&self) -> &Context {
        self.view.context()
    }

    /// The store's time; one value for the whole call.
    #[must_use]
    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.view.now()
    }

    /// The user id of the caller.
    #[must_use]
    pub(crate) fn user(&self) -> &str {
        self.view.context().user()
    }

    /// The value of a key of a raw space, with this draft's changes.
    pub(crate) fn raw(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.drafted(space, key) {
            Some(value) => Ok(value.map(<[u8]>::to_vec)),
            None => self.view.raw(space, key),
        }
    }

    /// The value that this draft gives a key of a raw space: `None` if the draft does not change
    /// the key, `Some(None)` if it deletes it.
    fn drafted(&self, space: Space, key: &[u8]) -> Option<Option<&[u8]>> {
        self.overlay.get(&space)?.get(key).map(Option::as_deref)
    }

    /// The keys and values of a raw space whose keys start with `prefix`, in key order, with this
    /// draft's changes.
    pub(crate) fn raw_prefix(
        &self,
        space: Space,
        prefix: &[u8],
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut entries: BTreeMap<Vec<u8>, Vec<u8>> =
            self.view.raw_prefix(space, prefix)?.into_iter().collect();
        for (key, value) in self.overlay_prefix(space, prefix) {
            match value {
                Some(value) => entries.insert(key.clone(), value.clone()),
                None => entries.remove(key),
            };
        }
        Ok(entries.into_iter().collect())
    }

    fn overlay_prefix<'s>(
        &'s self,
        space: Space,
        prefix: &'s [u8],
    ) -> impl Iterator<Item = (&'s Vec<u8>, &'s Option<Vec<u8>>)> + 's {
        let from: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Included(prefix), Bound::Unbounded);
        let keys =
            self.overlay.get(&space).into_iter().flat_map(move |keys| keys.range::<[u8], _>(from));
        keys.take_while(move |(key, _)| key.starts_with(prefix))
    }

    /// The keys of index entries that start with `prefix`, with this draft's changes, in order.
    fn entries_prefix(&self, prefix: &[u8]) -> Result<BTreeSet<Vec<u8>>> {
        let mut keys = BTreeSet::new();
        let mut cursor = self.view.cursor(Space::Index, prefix)?;
        while let Some(key) = cursor.visit(false, |key, _| key.to_vec())? {
            keys.insert(key);
        }
        for (key, is_there) in self.entries.with_prefix(prefix) {
            if is_there {
                keys.insert(key)
            } else {
                keys.remove(&key)
            };
        }
        Ok(keys)
    }

    /// Sets a key of a raw space.
    pub(crate) fn put_raw(&mut self, space: Space, key: Vec<u8>, value: Vec<u8>) {
        self.overlay.entry(space).or_default().insert(key, Some(value));
    }

    /// Removes a key of a raw space.
    pub(crate) fn delete_raw(&mut self, space: Space, key: Vec<u8>) {
        self.overlay.entry(space).or_default().insert(key, None);
    }

    /// Schedules a file of the store for removal after this commit, once no reader can need it.
    ///
    /// The order matters. This commit removes the record that names the file. Then the file is
    /// removed, and last the entry that lists it. A crash at any point only repeats a removal, and
    /// no record ever names a file that is gone.
    pub(crate) fn forget_file(&mut self, path: &str) {
        self.put_raw(Space::PendingDelete, path.as_bytes().to_vec(), Vec::new());
    }

    /// The next number of a durable counter that starts at `first`; no number is returned twice.
    pub(crate) fn counter(&mut self, name: &str, first: u64) -> Result<u64> {
        let next = match self.raw(Space::Counters, name.as_bytes())? {
            Some(bytes) => {
                <[u8; 8]>::try_from(bytes.as_slice()).map(u64::from_be_bytes).map_err(|_| {
                    Error::corrupt(format!(
                        "records.redb: the counter {name} is damaged; restore it from a backup"
                    ))
                })?
            }
            None => first,
        };
        self.put_raw(Space::Counters, name.as_bytes().to_vec(), (next + 1).to_be_bytes().to_vec());
        Ok(next)
    }

    /// A key for a new record; ids are never reused.
    pub(crate) fn new_key<R: Resource>(&mut self) -> Result<RecordKey> {
        self.new_key_of(R::KIND)
    }

    fn new_key_of(&mut self, kind: Kind) -> Result<RecordKey> {
        let seed = self.context().engine.seed;
        loop {
            let number = self.counter(&format!("kind {}", kind.code), 1000)?;
            let key = RecordKey::generate(kind, number, seed);
            // Files may have ids that callers chose, so a generated id may exist.
            if self.raw(Space::Records, &record_key(kind, key))?.is_none() {
                return Ok(key);
            }
        }
    }

    /// Starts reading ahead the records with these ids, which the plan will ask for.
    pub(crate) fn expect_reads<'i, R: Resource>(&self, ids: impl Iterator<Item = &'i str>) {
        if let ReadSource::Turn(turn) = self.view.source() {
            let keys = ids.filter_map(|id| RecordKey::parse(R::KIND.id, id));
            turn.expect_reads(Space::Records, keys.map(|key| record_key(R::KIND, key)).collect());
        }
    }

    /// The record with this id, with this draft's changes, if the caller may see it. A malformed id
    /// finds nothing.
    pub(crate) fn get<R: Resource>(&self, id: &str) -> Result<Option<R>> {
        match RecordKey::parse(R::KIND.id, id) {
            Some(key) => self.by_key(key),
            None => Ok(None),
        }
    }

    /// The record with this key, with this draft's changes, if the caller may see it.
    pub(crate) fn by_key<R: Resource>(&self, key: RecordKey) -> Result<Option<R>> {
        let record = self.any_by_key::<R>(key)?;
        Ok(record.filter(|record| self.view.visibility(R::KIND).allows(record.workspace())))
    }

    /// The record with this key, without asking the policy.
    pub(crate) fn any_by_key<R: Resource>(&self, key: RecordKey) -> Result<Option<R>> {
        self.part_by_key(key, Members::ALL)
    }

    /// Reads the identifying members of the record with this id, and its changing part, with this
    /// draft's changes, if the caller may see it. That is enough for [`Draft::put_state`], which
    /// stores only the changing part.
    pub(crate) fn get_state<R: Resource>(&self, id: &str) -> Result<Option<R>> {
        let Some(key) = RecordKey::parse(R::KIND.id, id) else { return Ok(None) };
        let record = self.part_by_key::<R>(key, members_beside_state::<R>())?;
        Ok(record.filter(|record| self.view.visibility(R::KIND).allows(record.workspace())))
    }

    fn part_by_key<R: Resource>(&self, key: RecordKey, wanted: Members) -> Result<Option<R>> {
        let place = KeyBytes::of(R::KIND, key);
        let drafted = self.drafted(Space::Records, place.bytes());
        if drafted.is_none() && self.drafted(Space::RecordState, place.bytes()).is_none() {
            // The draft does not change it: decode it in place, without a copy.
            return self.view.again(key, wanted);
        }
        let bytes = self.raw(Space::Records, place.bytes())?;
        let part = |bytes: Vec<u8>| part_at::<R>(place, key, &bytes, wanted);
        let Some(record) = bytes.map(part).transpose()? else { return Ok(None) };
        if !R::HAS_STATE {
            return Ok(Some(record));
        }
        let state = self.raw(Space::RecordState, place.bytes())?;
        with_state(key, record, state.as_deref()).map(Some)
    }

    /// The first record that has this entry in an index, with this draft's changes.
    pub(crate) fn find<R: Resource>(&self, index: u8, entry: &[u8]) -> Result<Option<RecordKey>> {
        self.find_of(R::KIND, index, entry)
    }

    fn find_of(&self, kind: Kind, index: u8, entry: &[u8]) -> Result<Option<RecordKey>> {
        let prefix = index_prefix(kind, index, entry);
        let exact = |bytes: &[u8]| {
            split_index_key(kind, bytes)
                .filter(|(found, _)| *found == entry)
                .map(|(_, record)| record)
        };
        let drafted = self.entries.with_prefix(&prefix);
        let mut cursor = self.view.cursor(Space::Index, &prefix)?;
        while let Some((key, _)) = cursor.next()? {
            let is_deleted = drafted.get(&key) == Some(&false);
            if let (false, Some(record)) = (is_deleted, exact(&key)) {
                return Ok(Some(record));
            }
        }
        Ok(drafted.iter().filter(|(_, is_there)| **is_there).find_map(|(key, _)| exact(key)))
    }

    /// The keys of the records whose entries in an index start with `prefix`, in the order of the
    /// entries, with this draft's changes.
    pub(crate) fn index_keys<R: Resource>(
        &self,
        index: u8,
        prefix: &[u8],
    ) -> Result<Vec<RecordKey>> {
        let entries = self.entries_prefix(&index_prefix(R::KIND, index, prefix))?;
        Ok(entries
            .iter()
            .filter_map(|bytes| split_index_key(R::KIND, bytes))
            .map(|(_, key)| key)
            .collect())
    }

    /// Stores a record, its index entries and its event.
    ///
    /// # Errors
    /// `PermissionDenied` when the policy refuses, at either end of a move; `Conflict` when an
    /// entry of a unique index belongs to another record.
    pub(crate) fn put<R: Resource>(&mut self, record: &R, what: What) -> Result<()> {
        self.put_with(record, what, None)
    }

    /// [`Draft::put`] with details of the event.
    pub(crate) fn put_with<R: Resource>(
        &mut self,
        record: &R,
        what: What,
        detail: Option<Value>,
    ) -> Result<()> {
        self.put_checked(None, record, what, detail, Checks::ALL)
    }

    /// [`Draft::put`] of a record whose key was just generated by [`Draft::new_key`].
    pub(crate) fn put_new<R: Resource>(&mut self, record: &R, what: What) -> Result<()> {
        self.put_checked(Some(None), record, what, None, Checks::ALL)
    }

    /// [`Draft::put`] of a record that was just read from this draft, as `old`, and changed.
    pub(crate) fn put_changed<R: Resource>(
        &mut self,
        old: R,
        record: &R,
        what: What,
    ) -> Result<()> {
        self.put_checked(Some(Some(old)), record, what, None, Checks::ALL)
    }

    /// [`Draft::put_changed`] with details of the event.
    pub(crate) fn put_changed_with<R: Resource>(
        &mut self,
        old: R,
        record: &R,
        what: What,
        detail: Option<Value>,
    ) -> Result<()> {
        self.put_checked(Some(Some(old)), record, what, detail, Checks::ALL)
    }

    /// [`Draft::put_with`] on behalf of the store itself, without asking the policy.
    pub(crate) fn put_by_store<R: Resource>(
        &mut self,
        record: &R,
        what: What,
        detail: Option<Value>,
    ) -> Result<()> {
        let checks = Checks { policy: false, unique: true };
        self.put_checked(None, record, what, detail, checks)?;
        self.notes += 1;
        Ok(())
    }

    /// [`Draft::put`] of records that may take entries of unique indexes from each other, each with
    /// the record that it replaces, as it was read from this draft.
    ///
    /// The entries are compared when all records are drafted, so an error has to end the plan.
    ///
    /// # Errors
    /// As [`Draft::put`].
    pub(crate) fn put_together<R: Resource>(
        &mut self,
        records: impl IntoIterator<Item = (Option<R>, R)>,
    ) -> Result<()> {
        let checks = Checks { policy: true, unique: false };
        let mut entries_of = Vec::new();
        for (old, record) in records {
            let what = if old.is_none() { What::Created } else { What::Updated };
            self.put_checked(Some(old), &record, what, None, checks)?;
            for index in R::indexes().iter().filter(|index| index.unique) {
                let own = entries(&record, index).into_iter();
                entries_of.extend(own.map(|entry| (index, entry, record.key())));
            }
        }
        for (index, entry, key) in entries_of {
            let holders = self.index_keys::<R>(index.number, &entry)?;
            if holders.iter().any(|holder| Some(*holder) != key) {
                return Err(taken::<R>(index));
            }
        }
        Ok(())
    }

    /// `known` is the stored record under the key, if the caller has looked it up.
    fn put_checked<R: Resource>(
        &mut self,
        known: Option<Option<R>>,
        record: &R,
        what: What,
        detail: Option<Value>,
        checks: Checks,
    ) -> Result<()> {
        let key = key_of(record)?;
        let old = match known {
            Some(old) if old.as_ref().is_none_or(|old| old.key() == Some(key)) => old,
            _ => self.any_by_key::<R>(key)?,
        };
        if checks.policy {
            self.require(old.as_ref(), record, what)?;
        }
        let full_key = record_key(R::KIND, key);
        // Every check comes before the first change, so that a refused record drafts nothing.
        let (value, state) = if R::HAS_STATE {
            (self.sealed(&full_key, &record.without_state())?, Some(record.state()?))
        } else {
            (self.sealed(&full_key, record)?, None)
        };
        if checks.unique {
            self.check_unique(key, old.as_ref(), record)?;
        }
        self.count(old.as_ref(), Some(record), checks.policy)?;
        self.put_indexes(key, old.as_ref(), Some(record))?;
        if let Some(state) = state {
            let state = envelope::seal(&full_key, R::KIND.code, &state);
            self.put_raw(Space::RecordState, full_key.clone(), state);
        }
        self.put_raw(Space::Records, full_key, value);
        let moved_from = old
            .filter(|old| old.workspace() != record.workspace())
            .map(|old| old.workspace().to_owned());
        self.log::<R>(record, what, moved_from, detail);
        Ok(())
    }

    /// Encodes a record into its envelope.
    fn sealed<R: Resource>(&mut self, full_key: &[u8], record: &R) -> Result<Vec<u8>> {
        /// Added to the size of the last record, since the next one may be a little longer.
        const MORE: usize = 64;
        const MOST: usize = 4_096;
        let expected = self.scratch.record_bytes.min(MOST) + MORE;
        let value = envelope::seal_with(full_key, R::KIND.code, expected, |out| {
            stored::append(record, out)
        })?;
        self.scratch.record_bytes = value.len();
        Ok(value)
    }

    /// Stores the changing part of a record, and logs its event, without asking the policy.
    /// `record` must come from this draft, with no other member changed.
    pub(crate) fn put_state<R: Resource>(
        &mut self,
        record: &R,
        what: What,
        detail: Option<Value>,
    ) -> Result<()> {
        let key = key_of(record)?;
        if self.has_quotas()? {
            let old = self.part_by_key::<R>(key, members_beside_state::<R>())?;
            self.count(old.as_ref(), Some(record), true)?;
        }
        let full_key = record_key(R::KIND, key);
        let state = envelope::seal(&full_key, R::KIND.code, &record.state()?);
        self.put_raw(Space::RecordState, full_key, state);
        self.log::<R>(record, what, None, detail);
        Ok(())
    }

    /// Returns `PermissionDenied` if the policy does not let the caller turn `old` into `new`, and
    /// `InvalidArgument` if the registry does not have the new workspace of the record.
    /// [`Draft::put`] checks the same. A plan that looks up other records first calls this before
    /// it does, so that its refusal reveals nothing about them.
    pub(crate) fn require<R: Resource>(&self, old: Option<&R>, new: &R, what: What) -> Result<()> {
        self.require_between(R::KIND.service, old.map(R::workspace), new.workspace(), what)
    }

    /// As [`Self::require`], for the workspaces of the records.
    fn require_between(
        &self,
        service: Service,
        old: Option<&str>,
        new: &str,
        what: What,
    ) -> Result<()> {
        let context = self.view.context();
        // After the policy, so that a refusal by the registry tells nothing to who may not write
        // there.
        // Workspaces and their quotas do not ask the registry.
        let is_registry = service == Service::WORKSPACES;
        let require_workspace = || if is_registry { Ok(()) } else { self.require_workspace(new) };
        let Some(old) = old else {
            context.require(service, Action::Create, new)?;
            return require_workspace();
        };
        let action = if what == What::Executed { Action::Execute } else { Action::Update };
        context.require(service, action, old)?;
        if old != new {
            context.require(service, Action::Delete, old)?;
            context.require(service, Action::Create, new)?;
            require_workspace()?;
        }
        Ok(())
    }

    /// The id of a record that prevents a write; `None` if the caller may not see that record.
    pub(crate) fn visible_id<R: Resource>(&self, key: RecordKey) -> Result<Option<String>> {
        Ok(self.by_key::<R>(key)?.map(|_| key.to_id(R::KIND.id)))
    }

    fn check_unique<R: Resource>(&self, key: RecordKey, old: Option<&R>, new: &R) -> Result<()> {
        for index in R::indexes().iter().filter(|index| index.unique) {
            let before = old.map(|record| entries(record, index)).unwrap_or_default();
            for entry in entries(new, index).iter().filter(|entry| !before.contains(entry)) {
                if let Some(other) =
                    self.find::<R>(index.number, entry)?.filter(|other| *other != key)
                {
                    let taken = taken::<R>(index);
                    return Err(match self.visible_id::<R>(other)? {
                        Some(id) => taken.with_resource(R::KIND.name, id),
                        None => taken,
                    });
                }
            }
        }
        Ok(())
    }

    /// Adds an entry to an index that has none for its record.
    pub(in crate::session) fn put_entry(&mut self, key: &[u8], value: &[u8]) {
        self.entries.change_key(key, false, Some(value));
    }

    /// Drafts the changes of the index entries that turn the record `old` into `new`; `None` means
    /// that the record does not exist.
    ///
    /// Must be called with the exact stored form as `old`: an entry of `old` that is missed here
    /// stays in its index for ever. An index that is being filled gets entries only up to the
    /// position of the filling, see `growth`.
    fn put_indexes<R: Resource>(
        &mut self,
        key: RecordKey,
        old: Option<&R>,
        new: Option<&R>,
    ) -> Result<()> {
        if self.fillings.is_none() {
            self.fillings = Some(self.view.fillings()?);
        }
        let fillings = self.fillings.as_ref().and_then(Option::as_ref);
        let full_key = KeyBytes::of(R::KIND, key);
        let positions = self.positions.entry(R::KIND.code).or_insert_with(|| {
            let both = index_positions::<R>().into_iter().zip(include_positions::<R>());
            both.map(|(fields, included)| Positions { fields, included }).collect()
        });
        let positions = Arc::clone(positions);
        let Scratch { before, after, value, .. } = &mut self.scratch;
        for (index, Positions { fields, included }) in R::indexes().iter().zip(positions.iter()) {
            if fillings
                .is_some_and(|fillings| !fillings.has(R::KIND.code, index.number, full_key.bytes()))
            {
                continue;
            }
            // The value of an entry may change although its key does not.
            let mut is_moved = true;
            if let (Some(old), Some(new)) = (old, new) {
                is_moved = !has_same_value(old, new, included);
                if !is_moved && has_same_entries(old, new, index, fields) {
                    continue;
                }
            }
            let head = index_head(R::KIND.code, index.number);
            let fill = |record: Option<&R>, into: &mut EntryBuffer| match record {
                Some(record) => entries_between(record, index, fields, &head, key.as_bytes(), into),
                None => into.clear(),
            };
            fill(old, before);
            fill(new, after);
            for entry in before.iter().filter(|entry| !after.contains(entry)) {
                self.entries.change_key(entry, true, None);
            }
            let Some(new) = new else { continue };
            entry_value_into(new, included, value);
            for entry in after.iter() {
                let is_there = before.contains(entry);
                if is_moved || !is_there {
                    self.entries.change_key(entry, is_there, Some(value));
                }
            }
        }
        Ok(())
    }

    /// Deletes a record and its index entries, and logs the event. Returns the deleted record;
    /// `None` if there is none, or none that the caller may see.
    ///
    /// # Errors
    /// `PermissionDenied` when the policy refuses.
    pub(crate) fn delete<R: Resource>(&mut self, id: &str) -> Result<Option<R>> {
        let Some(record) = self.get::<R>(id)? else {
            return Ok(None);
        };
        self.view.context().require(R::KIND.service, Action::Delete, record.workspace())?;
        self.remove(&record)?;
        Ok(Some(record))
    }

    /// [`Draft::delete`] on behalf of the store itself, without asking the policy.
    pub(crate) fn delete_by_store<R: Resource>(&mut self, key: RecordKey) -> Result<Option<R>> {
        let record = self.any_by_key::<R>(key)?;
        if let Some(record) = &record {
            self.remove(record)?;
        }
        Ok(record)
    }

    fn remove<R: Resource>(&mut self, record: &R) -> Result<()> {
        let Some(key) = record.key() else { return Ok(()) };
        self.count(Some(record), None, false)?;
        self.put_indexes(key, Some(record), None)?;
        self.delete_raw(Space::Records, record_key(R::KIND, key));
        if R::HAS_STATE {
            self.delete_raw(Space::RecordState, record_key(R::KIND, key));
        }
        self.log::<R>(record, What::Deleted, None, None);
        Ok(())
    }

    /// Logs an event besides those of [`Draft::put`] and [`Draft::delete`].
    pub(crate) fn log<R: Resource>(
        &mut self,
        record: &R,
        what: What,
        moved_from: Option<String>,
        detail: Option<Value>,
    ) {
        self.events.push(Event {
            kind_code: R::KIND.code,
            id: record.id().to_owned(),
            name: record.name().to_owned(),
            workspace: record.workspace().to_owned(),
            moved_from,
            what,
            detail,
        });
    }
}
