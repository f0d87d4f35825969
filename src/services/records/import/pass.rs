//! One kind of an import: what becomes of each record, and the changes.
//!
//! What must hold: nothing is drafted before it is known what becomes of every record of the kind.
//! Which records are written depends on each other, because one may need the unique key that
//! another one gives up; and a draft has no way back but to end the whole plan.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::reference::{DELETED, Reference, content, json};
use crate::error::{Error, ErrorKind, Result};
use crate::model::imports::{
    ImportConflict, ImportConflictReason as Reason, ImportDecision, ImportRecordsResponse,
};
use crate::model::{Product, Resource as _, entries};
use crate::session::feed::imports::{Agreed, ImportSource, Waiting};
use crate::session::{Draft, What};
use crate::value::{Action, RecordKey};

/// The states and decisions of a request that are about one kind.
#[derive(Default)]
pub(super) struct KindRequest {
    /// States at the source, by key; `None` for deleted ones.
    pub records: BTreeMap<RecordKey, Option<Value>>,
    pub choices: BTreeMap<RecordKey, ImportDecision>,
    /// Whether `records` has all that the source has.
    pub is_full: bool,
}

/// A record of the source.
struct Item<R> {
    /// As the source has it, in the workspace of this store.
    came: Option<R>,
    /// As it came, with the workspace of the source.
    raw: Option<Value>,
    /// The hash of `came`.
    hash: String,
    here: Option<R>,
    /// Whether the caller may read what is here.
    is_visible: bool,
    agreed: Agreed,
    /// Whether the request names it: the caller knows of it, and asks for it.
    is_named: bool,
    decision: Option<ImportDecision>,
}

/// What becomes of a record.
enum Verdict {
    /// Both sides have the same content, or neither has the record.
    Same,
    /// The record here stays, and that is settled.
    Stays,
    Write,
    Delete,
    /// The record here stays, and the state of the source waits.
    Conflict(Reason),
}

/// An import into a draft.
pub(super) struct Import<'i, 'v> {
    pub draft: &'i mut Draft<'v>,
    pub source: &'i ImportSource,
    pub workspaces: &'i BTreeMap<String, String>,
    pub answer: &'i mut ImportRecordsResponse,
    /// Conflicts that wait, told or not.
    pub waiting: &'i mut usize,
}

impl Import<'_, '_> {
    /// Imports the records of a kind.
    pub(super) fn run<R: Reference>(&mut self, asked: KindRequest) -> Result<()> {
        let items = self.items::<R>(asked)?;
        let mut verdicts = BTreeMap::new();
        for (key, item) in &items {
            verdicts.insert(*key, self.verdict(item)?);
        }
        let (blocked, victims) = self.settle_keys(&items, &mut verdicts)?;
        self.apply(items, &verdicts, &blocked, victims)
    }

    /// The records of the request, and those that wait.
    fn items<R: Reference>(&self, asked: KindRequest) -> Result<BTreeMap<RecordKey, Item<R>>> {
        let KindRequest { records, choices, is_full } = asked;
        let mut items = BTreeMap::new();
        for (key, waiting) in self.source.waiting::<R>(self.draft)? {
            let mut item = self.item::<R>(key, waiting.record, false)?;
            item.decision = choices.get(&key).copied();
            items.insert(key, item);
        }
        let mut sent: BTreeMap<_, _> =
            records.into_iter().map(|(key, record)| (key, (record, true))).collect();
        if is_full {
            let known = self.source.known::<R>(self.draft)?;
            let waiting: Vec<RecordKey> = items.keys().copied().collect();
            for key in known.into_iter().chain(waiting) {
                sent.entry(key).or_insert((None, false));
            }
        }
        for (key, (record, is_named)) in sent {
            let mut item = self.item::<R>(key, record, is_named)?;
            // A decision is about the state that was told, and no other.
            let told = items.get(&key).filter(|told: &&Item<R>| told.hash == item.hash);
            item.decision = told.and_then(|told| told.decision);
            items.insert(key, item);
        }
        Ok(items)
    }

    fn item<R: Reference>(
        &self,
        key: RecordKey,
        raw: Option<Value>,
        is_named: bool,
    ) -> Result<Item<R>> {
        let id = key.to_id(R::KIND.id);
        let came = match &raw {
            None => None,
            Some(raw) => Some(self.admitted::<R>(key, raw).map_err(|error| {
                error.context("a record of the source was refused").with_resource(R::KIND.name, id)
            })?),
        };
        let hash = came.as_ref().map_or_else(|| Ok(DELETED.to_owned()), content)?;
        let here = self.draft.any_by_key::<R>(key)?;
        let visibility = self.draft.view().visibility(R::KIND);
        Ok(Item {
            is_visible: here.as_ref().is_none_or(|here| visibility.allows(here.workspace())),
            agreed: self.source.agreed::<R>(self.draft, key)?,
            came,
            raw,
            hash,
            here,
            is_named,
            decision: None,
        })
    }

    /// A record of the source as it would be here.
    fn admitted<R: Reference>(&self, key: RecordKey, raw: &Value) -> Result<R> {
        let mut record = R::deserialize(raw).map_err(|error| {
            Error::invalid(format!("the record is not a {}: {error}", R::KIND.name))
        })?;
        if record.key() != Some(key) {
            return Err(Error::invalid(format!("the record has the other id {:?}", record.id()))
                .at_member("id"));
        }
        let place = record.place();
        let at_source = place.take().unwrap_or_default();
        *place = Some(self.workspaces.get(&at_source).cloned().unwrap_or(at_source));
        record.admit()?;
        Ok(record)
    }

    /// What becomes of a record, apart from unique keys.
    fn verdict<R: Reference>(&self, item: &Item<R>) -> Result<Verdict> {
        let Item { came, hash, here, agreed, .. } = item;
        if agreed.kept.as_ref() == Some(hash) || item.decision == Some(ImportDecision::Keep) {
            return Ok(Verdict::Stays);
        }
        if !item.is_visible {
            return Ok(Verdict::Conflict(Reason::NotPermitted));
        }
        let takes = item.decision == Some(ImportDecision::Take);
        let is_imported = agreed.imported.is_some();
        match (here, came) {
            (None, None) => Ok(Verdict::Same),
            (Some(here), None) => {
                let own = content(here)?;
                if takes || agreed.imported.as_ref() == Some(&own) {
                    return self.may_delete(item, here);
                }
                // One that never came from the source is no business of it.
                let reason = Verdict::Conflict(Reason::ChangedHere);
                Ok(if is_imported { reason } else { Verdict::Same })
            }
            (None, Some(came)) => {
                if takes || !is_imported {
                    return self.may_write(item, came, takes);
                }
                // The source did not change it since it was deleted here.
                let is_old = agreed.imported.as_ref() == Some(hash);
                let reason = Verdict::Conflict(Reason::DeletedHere);
                Ok(if is_old { Verdict::Stays } else { reason })
            }
            (Some(here), Some(came)) => {
                let own = content(here)?;
                if here == came {
                    return Ok(Verdict::Same);
                }
                if takes || own == *hash || agreed.imported.as_ref() == Some(&own) {
                    return self.may_write(item, came, takes);
                }
                // The source did not change it since it was changed here.
                if agreed.imported.as_ref() == Some(hash) {
                    return Ok(Verdict::Stays);
                }
                let is_known = is_imported || agreed.kept.is_some();
                let reason = if is_known { Reason::ChangedHere } else { Reason::CreatedHere };
                Ok(Verdict::Conflict(reason))
            }
        }
    }

    /// Lets a refusal by the policy end the call if the call asks for the record; what only waits
    /// goes on waiting.
    fn refused<R>(item: &Item<R>, error: Error) -> Result<Verdict> {
        match error.kind() {
            ErrorKind::PermissionDenied if !item.is_named && item.decision.is_none() => {
                Ok(Verdict::Conflict(Reason::NotPermitted))
            }
            _ => Err(error),
        }
    }

    fn may_delete<R: Reference>(&self, item: &Item<R>, here: &R) -> Result<Verdict> {
        let (service, place) = (R::KIND.service, here.workspace());
        match self.draft.context().require(service, Action::Delete, place) {
            Ok(()) => Ok(Verdict::Delete),
            Err(error) => Self::refused(item, error),
        }
    }

    fn may_write<R: Reference>(&self, item: &Item<R>, came: &R, takes: bool) -> Result<Verdict> {
        let what = if item.here.is_some() { What::Updated } else { What::Created };
        match self.draft.require(item.here.as_ref(), came, what) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::InvalidArgument => {
                return Ok(Verdict::Conflict(Reason::WorkspaceMissing));
            }
            Err(error) => return Self::refused(item, error),
        }
        let before = item.here.as_ref().and_then(Reference::product);
        let product = came.product().filter(|product| Some(*product) != before);
        let product = product.and_then(|product| RecordKey::parse(Product::KIND.id, product));
        if let Some(product) = product.filter(|_| !takes) {
            // Products are imported first, so this sees those of the request.
            if self.draft.by_key::<Product>(product)?.is_none() {
                return Ok(Verdict::Conflict(Reason::ProductMissing));
            }
        }
        Ok(Verdict::Write)
    }

    /// Finds the records whose unique keys are taken, each with the record in the way, and those
    /// that a decision deletes for their keys.
    ///
    /// A key is free if its holder gives it up in this import. So a record that cannot be written
    /// keeps the keys that it has, and what needed those cannot be written either: the search is
    /// repeated until nothing changes. Only then it is certain which records are in the way of a
    /// decision and may be deleted for it. A record of the source is never among them: its own
    /// state at the source settles where its key goes.
    fn settle_keys<R: Reference>(
        &self,
        items: &BTreeMap<RecordKey, Item<R>>,
        verdicts: &mut BTreeMap<RecordKey, Verdict>,
    ) -> Result<(BTreeMap<RecordKey, RecordKey>, BTreeSet<RecordKey>)> {
        let mut blocked = BTreeMap::new();
        loop {
            let mut claims: BTreeMap<(u8, Vec<u8>), RecordKey> = BTreeMap::new();
            let writes: Vec<(RecordKey, &Item<R>)> = items
                .iter()
                .filter(|(key, _)| matches!(verdicts.get(key), Some(Verdict::Write)))
                .map(|(key, item)| (*key, item))
                .collect();
            for (key, item) in &writes {
                for claim in keys_of(item.came.as_ref()) {
                    claims.entry(claim).or_insert(*key);
                }
            }
            let mut victims = BTreeSet::new();
            let mut stopped = Vec::new();
            for (key, item) in &writes {
                let mut in_the_way = None;
                for claim in keys_of(item.came.as_ref()) {
                    if let Some(first) = claims.get(&claim).filter(|first| *first != key) {
                        in_the_way = Some(*first);
                    }
                    for holder in self.draft.index_keys::<R>(claim.0, &claim.1)? {
                        let gives_up = match verdicts.get(&holder) {
                            _ if holder == *key => true,
                            Some(Verdict::Delete) => true,
                            Some(Verdict::Write) => claims.get(&claim) != Some(&holder),
                            _ => false,
                        };
                        if gives_up {
                            continue;
                        }
                        if self.may_replace::<R>(item, holder)? {
                            victims.insert(holder);
                        } else {
                            in_the_way = Some(holder);
                        }
                    }
                }
                stopped.extend(in_the_way.map(|other| (*key, other)));
            }
            if stopped.is_empty() {
                return Ok((blocked, victims));
            }
            for (key, other) in stopped {
                verdicts.insert(key, Verdict::Conflict(Reason::KeyTaken));
                blocked.insert(key, other);
            }
        }
    }

    /// Whether the decision about a record lets the holder of its key be deleted.
    fn may_replace<R: Reference>(&self, item: &Item<R>, holder: RecordKey) -> Result<bool> {
        if item.decision != Some(ImportDecision::Take) {
            return Ok(false);
        }
        let Some(record) = self.draft.by_key::<R>(holder)? else { return Ok(false) };
        let of_source = self.source.agreed::<R>(self.draft, holder)?;
        let is_gone = of_source.kept.as_deref() == Some(DELETED);
        if of_source != Agreed::default() && !is_gone {
            return Ok(false);
        }
        self.draft.context().require(R::KIND.service, Action::Delete, record.workspace())?;
        Ok(true)
    }

    fn apply<R: Reference>(
        &mut self,
        items: BTreeMap<RecordKey, Item<R>>,
        verdicts: &BTreeMap<RecordKey, Verdict>,
        blocked: &BTreeMap<RecordKey, RecordKey>,
        victims: BTreeSet<RecordKey>,
    ) -> Result<()> {
        let deleted = items.keys().filter(|key| matches!(verdicts.get(key), Some(Verdict::Delete)));
        for key in deleted.copied().chain(victims).collect::<Vec<_>>() {
            self.draft.delete::<R>(&key.to_id(R::KIND.id))?;
            self.answer.deleted_count += 1;
        }
        let mut writes = Vec::new();
        for (key, mut item) in items {
            let Some(verdict) = verdicts.get(&key) else { continue };
            let waits = self.agree(key, &item, verdict)?;
            self.source.wait::<R>(self.draft, key, waits.as_ref())?;
            match verdict {
                Verdict::Same | Verdict::Stays => {
                    self.answer.unchanged_count += i64::from(item.is_named);
                }
                Verdict::Delete => {}
                Verdict::Write => {
                    let Some(came) = item.came.take() else { continue };
                    match item.here {
                        Some(_) => self.answer.updated_count += 1,
                        None => self.answer.created_count += 1,
                    }
                    writes.push((item.here.take(), came));
                }
                Verdict::Conflict(reason) => {
                    *self.waiting += 1;
                    let other = blocked.get(&key).copied();
                    let told = self.told(key, item, *reason, other)?;
                    self.answer.conflicts.extend(told);
                }
            }
        }
        self.draft.put_together(writes)
    }

    /// Stores what is agreed about a record after its verdict. Returns what waits.
    fn agree<R: Reference>(
        &mut self,
        key: RecordKey,
        item: &Item<R>,
        verdict: &Verdict,
    ) -> Result<Option<Waiting>> {
        let hash = || Some(item.hash.clone());
        let mut agreed = item.agreed.clone();
        match verdict {
            Verdict::Conflict(_) => return Ok(Some(Waiting { record: item.raw.clone() })),
            Verdict::Stays if agreed.imported == hash() => {}
            Verdict::Stays => agreed.kept = hash(),
            Verdict::Same | Verdict::Delete if item.came.is_none() => agreed = Agreed::default(),
            _ => agreed = Agreed { imported: hash(), kept: None },
        }
        if agreed != item.agreed {
            self.source.agree::<R>(self.draft, key, &agreed)?;
        }
        Ok(None)
    }

    /// A conflict, with what the caller may read of it; `None` if that is nothing.
    fn told<R: Reference>(
        &self,
        key: RecordKey,
        item: Item<R>,
        reason: Reason,
        other: Option<RecordKey>,
    ) -> Result<Option<ImportConflict>> {
        let readable = self.draft.view().visibility(R::KIND);
        let may_read = |record: &R| readable.allows(record.workspace());
        let came_is_readable = item.came.as_ref().is_some_and(may_read);
        let has_visible = item.here.is_some() && item.is_visible;
        if !item.is_named && !came_is_readable && !has_visible {
            return Ok(None);
        }
        let own = item.here.filter(|_| item.is_visible);
        let here = match other {
            Some(other) => self.draft.by_key::<R>(other)?.or(own),
            None => own,
        };
        // The caller of this request sent it; what waits may have come with another one.
        let came = item.came.filter(|_| item.is_named || came_is_readable);
        let named = here.as_ref().filter(|here| here.key() == Some(key)).or(came.as_ref());
        let name = named.map(|record| record.name().to_owned()).filter(|name| !name.is_empty());
        Ok(Some(ImportConflict {
            kind: R::WIRE,
            id: key.to_id(R::KIND.id),
            reason,
            name,
            here_id: here.as_ref().map(|here| here.id().to_owned()),
            here: here.as_ref().map(json).transpose()?,
            came: came.as_ref().map(json).transpose()?,
        }))
    }
}

/// The entries of a record in the unique indexes of its kind, by index.
fn keys_of<R: Reference>(record: Option<&R>) -> Vec<(u8, Vec<u8>)> {
    let Some(record) = record else { return Vec::new() };
    let unique = R::indexes().iter().filter(|index| index.unique);
    let keys = unique
        .flat_map(|index| entries(record, index).into_iter().map(|entry| (index.number, entry)));
    keys.collect()
}
