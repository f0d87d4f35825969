//! The steps of one result, in memory while one call changes them.
//!
//! What must hold: a refused change leaves the set as it was; each step has the path and the
//! ancestors that follow from the parents that are there; a step has children exactly if another
//! one names it as its parent; and [`StepSet::save`] drafts what differs from what is stored, and
//! nothing else.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::columnar::IndexRows;
use crate::error::{Error, Result};
use crate::model::steps::rows::steps_of;
use crate::model::steps::stored::{StepChunk, StoredStep};
use crate::model::tables::store_table::STEPS;
use crate::session::tables::{
    ChunkChange, RowChunk, change_chunks, chunks, delete_sealed, sealed_rows,
};
use crate::session::{Draft, View};
use crate::value::RecordKey;
use crate::value::exact::{Summable, Sums as _};
use crate::value::ranges::RangeSet;

/// Levels of nested children.
pub(super) const LEVELS: usize = 100;
/// Steps of one chunk.
const CHUNK_STEPS: usize = 64;
/// Parameters of one chunk, unless one step has more.
const CHUNK_PARAMETERS: usize = 256;

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
#[derive(Debug, Default)]
pub(super) struct NewStep {
    /// The step, without number, path and ancestors.
    pub(super) step: StoredStep,
    /// Its children.
    pub(super) children: Vec<NewStep>,
}

/// Where a step is stored.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    /// Nowhere yet.
    New,
    /// In the chunk with this first row.
    Chunk(u64),
    /// In sealed rows with these ordinals.
    Sealed(Vec<u64>),
}

#[derive(Clone, Debug)]
struct Entry {
    step: StoredStep,
    place: Place,
    is_changed: bool,
    is_deleted: bool,
}

/// The steps of one result.
#[derive(Debug)]
pub(super) struct StepSet {
    result: RecordKey,
    /// The number of the next step.
    next_seq: u64,
    entries: Vec<Entry>,
    /// The steps that are there, by their ids.
    by_id: HashMap<String, usize>,
    /// Steps by their parents.
    by_parent: HashMap<String, Vec<usize>>,
    /// Rows and bytes of the stored chunks.
    chunks: BTreeMap<u64, (u64, u64)>,
}

fn row_count(step: &StoredStep) -> u64 {
    step.parameters().len().max(1) as u64
}

fn rows_of(steps: &[StoredStep]) -> u64 {
    steps.iter().map(row_count).sum()
}

/// The severity of a type of status.
pub(super) fn severity(status_type: &str) -> Option<usize> {
    STATUS_TYPES.iter().position(|known| *known == status_type)
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
            chunks: BTreeMap::new(),
        }
    }

    /// The stored steps of a result.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(super) fn load(view: &View<'_>, result: RecordKey, next_seq: u64) -> Result<Self> {
        let mut set = Self::empty(result, next_seq);
        set.add_sealed(&sealed_rows(view, &STEPS, result)?)?;
        for chunk in chunks(view, &STEPS, result)? {
            set.add_chunk(&chunk)?;
        }
        set.entries.sort_by_key(|entry| entry.step.seq);
        for at in 0..set.entries.len() {
            set.index(at);
        }
        Ok(set)
    }

    fn add_sealed(&mut self, found: &[IndexRows]) -> Result<()> {
        for rows in found {
            let mut at = 0;
            for (result, step) in steps_of(&rows.batch)? {
                let to = at + row_count(&step) as usize;
                let ordinals = rows.ordinals.get(at..to).unwrap_or_default().to_vec();
                at = to;
                if result == self.result {
                    self.entries.push(Entry {
                        step,
                        place: Place::Sealed(ordinals),
                        is_changed: false,
                        is_deleted: false,
                    });
                }
            }
        }
        Ok(())
    }

    fn add_chunk(&mut self, chunk: &RowChunk) -> Result<()> {
        let steps = chunk.value::<StepChunk>()?.steps;
        self.chunks.insert(chunk.first, (rows_of(&steps), chunk.row.len() as u64));
        self.entries.extend(steps.into_iter().map(|step| Entry {
            step,
            place: Place::Chunk(chunk.first),
            is_changed: false,
            is_deleted: false,
        }));
        Ok(())
    }

    /// Puts an entry into the maps.
    fn index(&mut self, at: usize) {
        let Some(entry) = self.entries.get(at) else { return };
        self.by_id.insert(entry.step.id(self.result), at);
        if let Some(parent) = &entry.step.parent_id {
            self.by_parent.entry(parent.clone()).or_default().push(at);
        }
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

    fn children(&self, id: &str) -> impl Iterator<Item = usize> + '_ {
        self.by_parent.get(id).into_iter().flatten().copied()
    }

    /// Adds a step with its children; returns their positions, depth first, a parent before its
    /// children.
    ///
    /// # Errors
    /// `Conflict` for an id that another step has; `InvalidArgument` for a child that names another
    /// parent; `LimitExceeded` for too many levels. Then nothing was added.
    pub(super) fn create(&mut self, tree: NewStep) -> Result<Vec<usize>> {
        let mut flat = Vec::new();
        let mut taken = HashSet::new();
        self.flatten(tree, None, 1, &mut taken, &mut flat)?;
        let mut made = Vec::with_capacity(flat.len());
        for mut step in flat {
            let id = step.id(self.result);
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
                step,
                place: Place::New,
                is_changed: true,
                is_deleted: false,
            });
            self.index(at);
            if has_children {
                self.move_descendants(at);
            }
            made.push(at);
        }
        Ok(made)
    }

    /// The steps of a tree, depth first, with their numbers and parents.
    fn flatten(
        &self,
        tree: NewStep,
        parent: Option<&str>,
        level: usize,
        taken: &mut HashSet<String>,
        flat: &mut Vec<StoredStep>,
    ) -> Result<()> {
        if level > LEVELS {
            return Err(Error::limit(format!(
                "steps are nested in more than {LEVELS} levels; create the deeper ones by \
                 themselves, with the id of their parent"
            ))
            .at_member("children"));
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
        flat.push(step);
        for child in children {
            self.flatten(child, Some(&id), level + 1, taken, flat)?;
        }
        Ok(())
    }

    /// Gives a step the path and the ancestors that follow from its parent.
    fn place_below(&self, step: &mut StoredStep, parent: Option<usize>) {
        match parent.and_then(|at| self.step(at)) {
            Some(parent) => {
                step.path = format!("{}\n{}", parent.path, step.name);
                step.ancestor_ids = parent.ancestor_ids.clone();
                step.ancestor_ids.push(parent.id(self.result));
            }
            // A parent that is not there is all that is known of the ancestors.
            None => {
                step.path = step.name.clone();
                step.ancestor_ids = step.parent_id.iter().cloned().collect();
            }
        }
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
            return Err(Error::invalid(format!(
                "the step {id:?} cannot be below itself; choose a parent that is none of its \
                 descendants"
            ))
            .at_member("parentId"));
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

    /// Deletes all steps.
    #[cfg(test)]
    pub(super) fn clear(&mut self) {
        self.by_id.clear();
        self.by_parent.clear();
        for entry in &mut self.entries {
            entry.is_deleted = true;
        }
    }

    /// How many steps have each type of status, in the order of [`STATUS_TYPES`].
    pub(super) fn status_counts(&self) -> [u64; 11] {
        let mut counts = [0; 11];
        let types = self.steps().filter_map(|step| severity(step.status_type.as_deref()?));
        for count in types {
            if let Some(count) = counts.get_mut(count) {
                *count += 1;
            }
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
        let mut worst: Option<(usize, &StoredStep)> = None;
        for step in self.in_step_order().into_iter().filter_map(|at| self.step(at)) {
            let Some(rank) = step.status_type.as_deref().and_then(severity) else { continue };
            if worst.is_none_or(|(known, _)| known < rank) {
                worst = Some((rank, step));
            }
        }
        let (_, step) = worst?;
        Some((step.status_type.clone()?, step.status_name.clone()))
    }

    /// Drafts the changes. A changed step that was sealed goes into a chunk again.
    ///
    /// # Errors
    /// `LimitExceeded` for a step that is too large; those of the disk.
    pub(super) fn save(self, draft: &mut Draft<'_>) -> Result<()> {
        let mut gone = Vec::new();
        let mut stays: BTreeMap<u64, Vec<StoredStep>> = BTreeMap::new();
        let mut is_touched: HashSet<u64> = HashSet::new();
        let mut moved: Vec<StoredStep> = Vec::new();
        for entry in self.entries {
            let Entry { step, place, is_changed, is_deleted } = entry;
            match place {
                Place::Chunk(first) => {
                    if is_changed || is_deleted {
                        is_touched.insert(first);
                    }
                    if !is_deleted {
                        stays.entry(first).or_default().push(step);
                    }
                }
                Place::Sealed(ordinals) if is_changed || is_deleted => {
                    gone.extend(ordinals.into_iter().map(|ordinal| ordinal..ordinal + 1));
                    moved.extend(Some(step).filter(|_| !is_deleted));
                }
                Place::New if !is_deleted => moved.push(step),
                Place::Sealed(_) | Place::New => {}
            }
        }
        let mut changes = Vec::new();
        for first in is_touched {
            let before = self.chunks.get(&first).copied().unwrap_or_default();
            let steps = stays.remove(&first).filter(|steps| !steps.is_empty());
            let after = steps.map(|steps| (rows_of(&steps), StepChunk { steps }));
            changes.push(ChunkChange { first, before, after });
        }
        moved.sort_by_key(|step| step.seq);
        for steps in chunked(moved) {
            let first = steps.first().map_or(0, |step| step.seq);
            let after = Some((rows_of(&steps), StepChunk { steps }));
            changes.push(ChunkChange { first, before: (0, 0), after });
        }
        delete_sealed(draft, &STEPS, &RangeSet::new(gone))?;
        change_chunks(draft, &STEPS, self.result, changes)
    }
}

/// Cuts steps into chunks that are read and written together.
fn chunked(steps: Vec<StoredStep>) -> Vec<Vec<StoredStep>> {
    let mut chunks: Vec<Vec<StoredStep>> = Vec::new();
    let mut parameters = 0;
    for step in steps {
        parameters += step.parameters().len();
        let is_full = chunks
            .last()
            .is_none_or(|chunk| chunk.len() >= CHUNK_STEPS || parameters > CHUNK_PARAMETERS);
        if is_full {
            parameters = step.parameters().len();
            chunks.push(Vec::new());
        }
        if let Some(chunk) = chunks.last_mut() {
            chunk.push(step);
        }
    }
    chunks
}
