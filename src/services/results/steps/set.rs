//! The steps of one result, in memory while one call changes them.
//!
//! What must hold: a refused change leaves the set as it was; each step has the path and the
//! ancestors that follow from the parents that are there; a step has children exactly if another
//! one names it as its parent; and [`StepSet::save`] drafts what differs from what is stored, and
//! nothing else.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::error::{Error, Result};
use crate::model::steps::stored::StoredStep;
use crate::value::RecordKey;
use crate::value::exact::{Summable, Sums as _};

/// Levels of nested children.
pub(super) const LEVELS: usize = 100;

/// The types of a status, the least severe first.
pub(super) const STATUS_TYPES: [&str; 11] = [
    "LOOPING",
    "SKIPPED",
    "CUSTOM",
    "DONE",
    "PASSED",
    "FAILED",
    "RUNNING",
    "WAITING",
    "TERMINATED",
    "ERRORED",
    "TIMED_OUT",
];

/// A step to create, with its children.
#[derive(Clone, Debug, Default)]
pub(super) struct NewStep {
    /// The step, without number, path and ancestors.
    pub(super) step: StoredStep,
    /// Its children.
    pub(super) children: Vec<NewStep>,
}

/// Where a step is stored.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Place {
    /// Nowhere yet.
    New,
    /// In the chunk with this first row.
    Chunk(u64),
    /// In sealed rows with these ordinals.
    Sealed(Vec<u64>),
}

/// A step, and what is stored of it.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) step: StoredStep,
    pub(super) place: Place,
    /// The parent that the stored step has.
    pub(super) stored_parent: Option<String>,
    pub(super) is_changed: bool,
    pub(super) is_deleted: bool,
}

impl Entry {
    /// A step as it is stored.
    pub(super) fn stored(step: StoredStep, place: Place) -> Self {
        let stored_parent = step.parent_id.clone();
        Self { step, place, stored_parent, is_changed: false, is_deleted: false }
    }
}

/// The steps of one result, or those of them that a change has to do with.
#[derive(Debug)]
pub(super) struct StepSet {
    pub(super) result: RecordKey,
    /// The number of the next step.
    pub(super) next_seq: u64,
    pub(super) entries: Vec<Entry>,
    /// The steps that are there, by their ids.
    by_id: HashMap<String, usize>,
    /// Steps by their parents.
    by_parent: HashMap<String, Vec<usize>>,
    /// The numbers of the stored steps that were read.
    read: HashSet<u64>,
    /// How many steps were looked for one by one.
    pub(super) fetched: u64,
    /// Rows and bytes of the stored chunks that were read.
    pub(super) chunks: BTreeMap<u64, (u64, u64)>,
    /// The number of stored steps of each type of status that were not read; `None` if all were.
    pub(super) unread: Option<[u64; STATUS_TYPES.len()]>,
}

/// The severity of a type of status.
pub(in crate::services::results) fn severity(status_type: &str) -> Option<usize> {
    STATUS_TYPES.iter().position(|known| *known == status_type)
}

/// How many steps have each type of status, in the order of [`STATUS_TYPES`].
pub(super) fn status_counts<'s>(
    steps: impl Iterator<Item = &'s StoredStep>,
) -> [u64; STATUS_TYPES.len()] {
    let mut counts = [0; STATUS_TYPES.len()];
    for at in steps.filter_map(|step| severity(step.status_type.as_deref()?)) {
        if let Some(count) = counts.get_mut(at) {
            *count += 1;
        }
    }
    counts
}

impl StepSet {
    /// The steps of a result that has none; the next one gets the number `next_seq`.
    pub(super) fn empty(result: RecordKey, next_seq: u64) -> Self {
        Self {
            result,
            next_seq,
            entries: Vec::new(),
            by_id: HashMap::new(),
            by_parent: HashMap::new(),
            read: HashSet::new(),
            fetched: 0,
            chunks: BTreeMap::new(),
            unread: None,
        }
    }

    /// The steps of a result, of which none was read; `counts` is the number of them with each type
    /// of status.
    pub(super) fn unread(
        result: RecordKey,
        next_seq: u64,
        counts: [u64; STATUS_TYPES.len()],
    ) -> Self {
        Self { unread: Some(counts), ..Self::empty(result, next_seq) }
    }

    /// Puts an entry into the maps, by the id of its step.
    fn index(&mut self, at: usize, id: String) {
        let Some(entry) = self.entries.get(at) else { return };
        self.by_id.insert(id, at);
        if let Some(parent) = &entry.step.parent_id {
            self.by_parent.entry(parent.clone()).or_default().push(at);
        }
    }

    /// Whether the stored step with this number was read.
    pub(super) fn is_read(&self, seq: u64) -> bool {
        self.read.contains(&seq)
    }

    /// Adds a stored step that was read.
    pub(super) fn add(&mut self, entry: Entry) {
        let rank = entry.step.status_type.as_deref().and_then(severity);
        if let (Some(unread), Some(rank)) = (&mut self.unread, rank)
            && let Some(count) = unread.get_mut(rank)
        {
            *count = count.saturating_sub(1);
        }
        self.read.insert(entry.step.seq);
        let (at, id) = (self.entries.len(), entry.step.id(self.result));
        self.entries.push(entry);
        self.index(at, id);
    }

    fn step(&self, at: usize) -> Option<&StoredStep> {
        self.entries.get(at).filter(|entry| !entry.is_deleted).map(|entry| &entry.step)
    }

    fn change(&mut self, at: usize, f: impl FnOnce(&mut StoredStep)) {
        if let Some(entry) = self.entries.get_mut(at) {
            entry.is_changed = true;
            f(&mut entry.step);
        }
    }

    /// The key of the result.
    pub(super) fn result(&self) -> RecordKey {
        self.result
    }

    /// The number of the next step.
    pub(super) fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// The number after those of all steps that are there.
    pub(super) fn next_seq_of_steps(&self) -> u64 {
        self.steps().map(|step| step.seq.saturating_add(1)).max().unwrap_or_default()
    }

    /// Deletes all but the last change of each step that is there more than once.
    pub(super) fn drop_repeated(&mut self) {
        let mut last: HashMap<u64, usize> = HashMap::new();
        for at in 0..self.entries.len() {
            let Some(Entry { step, .. }) = self.entries.get(at) else { continue };
            let (seq, updated_at_ms) = (step.seq, step.updated_at_ms);
            let other = last.insert(seq, at);
            let Some(mut dropped) = other else { continue };
            let is_newer = |step: &StoredStep| step.updated_at_ms > updated_at_ms;
            if self.step(dropped).is_some_and(is_newer) {
                last.insert(seq, dropped);
                dropped = at;
            }
            if let Some(entry) = self.entries.get_mut(dropped) {
                entry.is_deleted = true;
            }
        }
    }

    /// The position of the step with this id.
    pub(super) fn find(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// The step at a position.
    pub(super) fn get(&self, at: usize) -> Option<&StoredStep> {
        self.step(at)
    }

    /// The number of steps.
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// The steps in the order of their numbers.
    pub(super) fn steps(&self) -> impl Iterator<Item = &StoredStep> {
        self.entries.iter().filter(|entry| !entry.is_deleted).map(|entry| &entry.step)
    }

    /// The steps in the order of their numbers, out of the set.
    pub(super) fn into_steps(self) -> Vec<StoredStep> {
        let there = self.entries.into_iter().filter(|entry| !entry.is_deleted);
        there.map(|entry| entry.step).collect()
    }

    /// The positions of the steps that name this one as their parent.
    pub(super) fn children(&self, id: &str) -> impl Iterator<Item = usize> + '_ {
        self.by_parent.get(id).into_iter().flatten().copied()
    }

    /// Adds a step with its children; returns their positions, depth first, a parent before its
    /// children.
    ///
    /// # Errors
    /// `Conflict` for an id that another step has; `InvalidArgument` for a child that names another
    /// parent, and for a parent that is below the step; `LimitExceeded` for too many levels. Then
    /// nothing was added.
    pub(super) fn create(&mut self, tree: NewStep) -> Result<Vec<usize>> {
        let mut flat = Vec::new();
        let mut taken = HashSet::new();
        let parent_id = tree.step.parent_id.clone();
        let parent = parent_id.as_deref().and_then(|parent| self.find(parent));
        let level = self.levels_above(parent) + 1;
        self.flatten(tree, None, level, &mut taken, &mut flat)?;
        if let Some(id) = self.ancestor_among(parent_id.as_deref(), &taken) {
            return Err(below_itself(id));
        }
        let mut made = Vec::with_capacity(flat.len());
        for (id, mut step) in flat {
            let parent = step.parent_id.as_deref().and_then(|parent| self.find(parent));
            self.place_below(&mut step, parent);
            step.has_children = self.children(&id).next().is_some();
            if let Some(parent) = parent
                && self.step(parent).is_some_and(|parent| !parent.has_children)
            {
                self.change(parent, |parent| parent.has_children = true);
            }
            let at = self.entries.len();
            self.next_seq = self.next_seq.max(step.seq + 1);
            let has_children = step.has_children;
            self.entries.push(Entry {
                is_changed: true,
                stored_parent: None,
                ..Entry::stored(step, Place::New)
            });
            self.index(at, id);
            if has_children {
                self.move_descendants(at);
            }
            made.push(at);
        }
        Ok(made)
    }

    /// The steps of a tree with their ids, depth first, with their numbers and parents.
    fn flatten(
        &self,
        tree: NewStep,
        parent: Option<&str>,
        level: usize,
        taken: &mut HashSet<String>,
        flat: &mut Vec<(String, StoredStep)>,
    ) -> Result<()> {
        if level > LEVELS {
            return Err(too_deep("children"));
        }
        let NewStep { mut step, children } = tree;
        step.seq = self.next_seq + flat.len() as u64;
        if let Some(parent) = parent {
            if step.parent_id.as_deref().is_some_and(|other| other != parent) {
                return Err(Error::invalid(format!(
                    "a child of the step {parent:?} names another parent; leave its parentId out"
                ))
                .at_member("children"));
            }
            step.parent_id = Some(parent.to_owned());
        }
        let id = step.id(self.result);
        if self.find(&id).is_some() || !taken.insert(id.clone()) {
            return Err(Error::conflict(format!(
                "another step of the result has the id {id:?}; update that step, or choose another \
                 id"
            ))
            .with_name("TestMonitor.StepIdInUse", None)
            .with_resource("TestStep", &id)
            .with_args([id]));
        }
        if step.parent_id.as_deref() == Some(&id) {
            return Err(
                Error::invalid(format!("the step {id:?} is its own parent")).at_member("parentId")
            );
        }
        if level + self.levels_below(&id) > LEVELS {
            return Err(too_deep("parentId"));
        }
        flat.push((id.clone(), step));
        for child in children {
            self.flatten(child, Some(&id), level + 1, taken, flat)?;
        }
        Ok(())
    }

    /// Gives a step the path and the ancestors that follow from its parent.
    fn place_below(&self, step: &mut StoredStep, parent: Option<usize>) {
        step.place_below(parent.and_then(|at| self.step(at)), self.result);
    }

    /// Computes paths and ancestors of all descendants of a step anew. A chain of parents that
    /// leads back to a step ends there.
    fn move_descendants(&mut self, at: usize) {
        let mut seen = HashSet::from([at]);
        let mut open = vec![at];
        while let Some(parent) = open.pop() {
            let Some(id) = self.step(parent).map(|step| step.id(self.result)) else { continue };
            for child in self.children(&id).collect::<Vec<_>>() {
                let Some(mut step) = self.step(child).cloned().filter(|_| seen.insert(child))
                else {
                    continue;
                };
                self.place_below(&mut step, Some(parent));
                self.change(child, |old| *old = step);
                open.push(child);
            }
        }
    }

    /// How many steps are above a child of this one, itself among them.
    fn levels_above(&self, parent: Option<usize>) -> usize {
        parent.and_then(|at| self.step(at)).map_or(0, |step| step.ancestor_ids.len() + 1)
    }

    /// How many levels of descendants the step with this id has, up to one more than are allowed.
    fn levels_below(&self, id: &str) -> usize {
        let mut seen = HashSet::new();
        let mut level: Vec<usize> = self.children(id).collect();
        let mut levels = 0;
        while !level.is_empty() && levels <= LEVELS {
            levels += 1;
            let ids = level.iter().filter_map(|at| Some(self.step(*at)?.id(self.result)));
            let ids: Vec<String> = ids.collect();
            let below = ids.iter().flat_map(|id| self.children(id));
            level = below.filter(|at| seen.insert(*at)).collect();
        }
        levels
    }

    /// The first of `ids` on the way from the step `parent` to the top. Steps may name a parent
    /// that is not there.
    fn ancestor_among<'i>(
        &self,
        parent: Option<&str>,
        ids: &'i HashSet<String>,
    ) -> Option<&'i str> {
        let mut seen = HashSet::new();
        let mut next = parent.map(str::to_owned);
        while let Some(id) = next.filter(|id| seen.insert(id.clone())) {
            if let Some(found) = ids.get(&id) {
                return Some(found);
            }
            next = self.find(&id).and_then(|at| self.step(at)?.parent_id.clone());
        }
        None
    }

    /// Whether the step at `at` is `id` or one of its ancestors is.
    fn is_below(&self, at: usize, id: &str) -> bool {
        let mut seen = HashSet::new();
        let mut next = Some(at);
        while let Some(at) = next.filter(|at| seen.insert(*at)) {
            let Some(step) = self.step(at) else { return false };
            if step.id(self.result) == id {
                return true;
            }
            next = step.parent_id.as_deref().and_then(|parent| self.find(parent));
        }
        false
    }

    /// Changes the step at `at`, and moves it below another parent if there is one.
    ///
    /// # Errors
    /// `InvalidArgument` for a parent that the step is an ancestor of. Then nothing was changed.
    pub(super) fn update(
        &mut self,
        at: usize,
        parent_id: Option<String>,
        f: impl FnOnce(&mut StoredStep),
    ) -> Result<()> {
        let Some(step) = self.step(at) else { return Ok(()) };
        let id = step.id(self.result);
        let old_parent = step.parent_id.clone();
        let new_parent = parent_id.filter(|parent| Some(parent) != old_parent.as_ref());
        let parent_at = new_parent.as_deref().and_then(|parent| self.find(parent));
        let is_circle = new_parent.as_deref() == Some(&id)
            || parent_at.is_some_and(|parent| self.is_below(parent, &id));
        if is_circle {
            return Err(below_itself(&id));
        }
        if new_parent.is_some()
            && self.levels_above(parent_at) + 1 + self.levels_below(&id) > LEVELS
        {
            return Err(too_deep("parentId"));
        }
        self.change(at, f);
        let Some(new_parent) = new_parent else { return Ok(()) };
        if let Some(old) = old_parent {
            self.leave(at, &old);
        }
        self.by_parent.entry(new_parent.clone()).or_default().push(at);
        self.change(at, |step| step.parent_id = Some(new_parent));
        if let Some(mut step) = self.step(at).cloned() {
            self.place_below(&mut step, parent_at);
            self.change(at, |old| *old = step);
        }
        if let Some(parent) = parent_at
            && self.step(parent).is_some_and(|parent| !parent.has_children)
        {
            self.change(parent, |parent| parent.has_children = true);
        }
        self.move_descendants(at);
        Ok(())
    }

    /// Takes a step out of the children of a parent.
    fn leave(&mut self, at: usize, parent: &str) {
        if let Some(children) = self.by_parent.get_mut(parent) {
            children.retain(|child| *child != at);
        }
        let has_children = self.children(parent).next().is_some();
        if let Some(parent) = self.find(parent).filter(|_| !has_children) {
            self.change(parent, |parent| parent.has_children = false);
        }
    }

    /// Deletes a step; its children stay as they are. Returns whether it was there.
    pub(super) fn delete(&mut self, id: &str) -> bool {
        let Some(at) = self.by_id.remove(id) else { return false };
        let parent = self.step(at).and_then(|step| step.parent_id.clone());
        if let Some(entry) = self.entries.get_mut(at) {
            entry.is_deleted = true;
        }
        if let Some(parent) = parent {
            self.leave(at, &parent);
        }
        true
    }

    /// How many steps have each type of status, in the order of [`STATUS_TYPES`].
    pub(super) fn status_counts(&self) -> [u64; STATUS_TYPES.len()] {
        let mut counts = self.unread.unwrap_or_default();
        for (count, more) in counts.iter_mut().zip(status_counts(self.steps())) {
            *count += more;
        }
        counts
    }

    /// The positions of the steps in step order: depth first, siblings by start and creation. A
    /// step whose parent is not there is at the top.
    pub(super) fn in_step_order(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.len());
        let mut seen = HashSet::new();
        let mut open = self.siblings(None);
        loop {
            while let Some(at) = open.pop() {
                if !seen.insert(at) {
                    continue;
                }
                order.push(at);
                let id = self.step(at).map(|step| step.id(self.result));
                open.extend(self.siblings(id.as_deref()));
            }
            // Steps that are each other's ancestors are below no top step.
            let left =
                (0..self.entries.len()).find(|at| self.step(*at).is_some() && !seen.contains(at));
            match left {
                Some(at) => open.push(at),
                None => return order,
            }
        }
    }

    /// The children of a step, or the top steps, the last one first.
    fn siblings(&self, parent: Option<&str>) -> Vec<usize> {
        let mut found: Vec<usize> = match parent {
            Some(parent) => self.children(parent).filter(|at| self.step(*at).is_some()).collect(),
            None => (0..self.entries.len()).filter(|at| self.is_top(*at)).collect(),
        };
        let key = |at: &usize| self.step(*at).map(|step| (step.started_at_ms, step.seq));
        found.sort_by_key(|at| std::cmp::Reverse(key(at)));
        found
    }

    fn is_top(&self, at: usize) -> bool {
        let parent = |step: &StoredStep| step.parent_id.as_deref().and_then(|id| self.find(id));
        self.step(at).is_some_and(|step| parent(step).is_none())
    }

    /// The sum of the times of the top steps; a step without a time counts as its children do.
    pub(super) fn total_time(&self) -> f64 {
        let (mut sums, mut count) = (<f64 as Summable>::Sums::default(), 0);
        let mut seen = HashSet::new();
        let mut open = self.siblings(None);
        while let Some(at) = open.pop() {
            let Some(step) = self.step(at).filter(|_| seen.insert(at)) else { continue };
            if step.total_time == 0.0 {
                open.extend(self.siblings(Some(&step.id(self.result))));
            } else {
                sums.add::<false>(step.total_time);
                count += 1;
            }
        }
        sums.exact(count).sum()
    }

    /// Type and name of the most severe status, of the first such step in step order; `None` if no
    /// step has a status.
    pub(super) fn most_severe_status(&self) -> Option<(String, Option<String>)> {
        self.worst(|_| true)
    }

    fn worst(&self, is_asked: impl Fn(&StoredStep) -> bool) -> Option<(String, Option<String>)> {
        let mut worst: Option<(usize, &StoredStep)> = None;
        let steps = self.in_step_order().into_iter().filter_map(|at| self.step(at));
        for step in steps.filter(|step| is_asked(step)) {
            let Some(rank) = step.status_type.as_deref().and_then(severity) else { continue };
            if worst.is_none_or(|(known, _)| known < rank) {
                worst = Some((rank, step));
            }
        }
        let (_, step) = worst?;
        Some((step.status_type.clone()?, step.status_name.clone()))
    }

    /// The most severe status below a step, as [`Self::most_severe_status`].
    pub(super) fn most_severe_below(&self, id: &str) -> Option<(String, Option<String>)> {
        self.worst(|step| step.ancestor_ids.iter().any(|ancestor| ancestor == id))
    }
}

/// The error about a step that would be its own ancestor.
fn below_itself(id: &str) -> Error {
    Error::invalid(format!(
        "the step {id:?} cannot be below itself; choose a parent that is none of its descendants"
    ))
    .at_member("parentId")
}

/// The error about steps below too many others.
pub(super) fn too_deep(member: &str) -> Error {
    Error::limit(format!("a step has at most {} steps above it; nest fewer", LEVELS - 1))
        .at_member(member)
}
