//! The stored steps of one result that a change has to do with.
//!
//! What must hold: a set that has read some of the stored steps makes of a change what it would
//! make of it with all of them. So before a change those are read that it looks at: the step, its
//! ancestors, its descendants if it gets another place, and, where a parent may lose its last
//! child, another child. A chunk is read whole, because it is written whole.

use std::collections::HashSet;

use super::find::{each_candidate, in_chunk, sealed_step};
use super::set::{Entry, LEVELS, NewStep, Place, StepSet};
use crate::error::Result;
use crate::model::steps::links::{Link, seq_of};
use crate::model::steps::rows::steps_of;
use crate::model::steps::stored::{StepChunk, StoredStep};
use crate::model::tables::store_table::STEPS;
use crate::session::View;
use crate::session::tables::{RowChunk, chunk_around, chunks, each_link, sealed_rows};
use crate::value::RecordKey;

/// Steps that are looked for one by one, and how many more for each one that the result has got:
/// to read all of them then takes about as long.
const ONE_BY_ONE: u64 = 16;
const SHARE: u64 = 32;

impl StepSet {
    /// The stored steps of a result.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(super) fn load(view: &View<'_>, result: RecordKey, next_seq: u64) -> Result<Self> {
        let mut set = Self::unread(result, next_seq, Default::default());
        set.read(view)?;
        Ok(set)
    }

    /// Reads the stored steps that were not read.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(super) fn read(&mut self, view: &View<'_>) -> Result<()> {
        if self.unread.is_none() {
            return Ok(());
        }
        let mut stored = Vec::new();
        for rows in sealed_rows(view, &STEPS, self.result)? {
            let mut at = 0;
            for (result, step) in steps_of(&rows.batch)? {
                let to = at + step.row_count() as usize;
                let ordinals = rows.ordinals.get(at..to).unwrap_or_default().to_vec();
                at = to;
                if result == self.result && !self.is_read(step.seq) {
                    stored.push(Entry::stored(step, Place::Sealed(ordinals)));
                }
            }
        }
        for chunk in chunks(view, &STEPS, self.result)? {
            if !self.chunks.contains_key(&chunk.first) {
                stored.extend(self.chunk(&chunk)?);
            }
        }
        stored.sort_by_key(|entry| entry.step.seq);
        self.unread = None;
        // Those that are there stay where they are: their positions are known to the caller.
        stored.into_iter().for_each(|entry| self.add(entry));
        Ok(())
    }

    /// The steps of a chunk, which is read from now on.
    fn chunk(&mut self, chunk: &RowChunk) -> Result<Vec<Entry>> {
        let stored = chunk.value::<StepChunk>()?;
        self.chunks.insert(chunk.first, (stored.row_count(), chunk.row.len() as u64));
        let entry = |step| Entry::stored(step, Place::Chunk(chunk.first));
        Ok(stored.steps.into_iter().map(entry).collect())
    }

    /// Reads the stored step with this number.
    fn fetch_number(&mut self, view: &View<'_>, seq: u64) -> Result<()> {
        if self.unread.is_none() || self.is_read(seq) {
            return Ok(());
        }
        self.fetched += 1;
        if self.fetched > ONE_BY_ONE + self.next_seq / SHARE {
            return self.read(view);
        }
        let chunk = chunk_around(view, &STEPS, self.result, seq)?;
        if let Some(chunk) = chunk.filter(|chunk| !self.chunks.contains_key(&chunk.first))
            && in_chunk(&chunk, seq, &mut |_| Ok(()))?
        {
            let entries = self.chunk(&chunk)?;
            entries.into_iter().for_each(|entry| self.add(entry));
        } else if let Some((step, ordinals)) = sealed_step(view, self.result, seq)? {
            self.add(Entry::stored(step, Place::Sealed(ordinals)));
        }
        Ok(())
    }

    /// Reads the stored step with this id.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(super) fn fetch(&mut self, view: &View<'_>, id: &str) -> Result<()> {
        if self.unread.is_none() || self.find(id).is_some() {
            return Ok(());
        }
        let result = self.result;
        each_candidate(view, result, id, &mut |seq| {
            self.fetch_number(view, seq)?;
            Ok(self.find(id).is_none())
        })
    }

    /// Reads the step with this id and its ancestors.
    fn fetch_line(&mut self, view: &View<'_>, id: &str) -> Result<()> {
        let mut seen = HashSet::new();
        let mut next = Some(id.to_owned());
        while let Some(id) = next.filter(|id| seen.insert(id.clone())) {
            self.fetch(view, &id)?;
            next = self.find(&id).and_then(|at| self.get(at)?.parent_id.clone());
        }
        Ok(())
    }

    /// Reads the stored steps that name `id` as their parent, one after the other, until `f`
    /// returns false.
    fn fetch_children(
        &mut self,
        view: &View<'_>,
        id: &str,
        f: &mut dyn FnMut(&Self) -> bool,
    ) -> Result<()> {
        if self.unread.is_none() {
            return Ok(());
        }
        let result = self.result;
        each_link(view, result, Link::Parent.all(id), &mut |link| {
            self.fetch_number(view, seq_of(link))?;
            Ok(f(self))
        })
    }

    /// Reads the descendants of the step with this id, down to one level more than are allowed.
    fn fetch_descendants(&mut self, view: &View<'_>, id: &str) -> Result<()> {
        let mut seen = HashSet::from([id.to_owned()]);
        let mut level = vec![id.to_owned()];
        let mut levels = 0;
        while !level.is_empty() && levels <= LEVELS {
            levels += 1;
            let mut below = Vec::new();
            for id in level {
                self.fetch_children(view, &id, &mut |_| true)?;
                let children = self.children(&id).filter_map(|at| self.get(at));
                below.extend(children.map(|step| step.id(self.result)));
            }
            level = below.into_iter().filter(|id| seen.insert(id.clone())).collect();
        }
        Ok(())
    }

    /// Reads the parent of a step, and another child of it if there is one.
    fn fetch_family(&mut self, view: &View<'_>, step: &StoredStep) -> Result<()> {
        let Some(parent) = &step.parent_id else { return Ok(()) };
        self.fetch(view, parent)?;
        let has_other = |set: &Self| {
            let mut children = set.children(parent).filter_map(|at| set.get(at));
            children.any(|other| other.seq != step.seq)
        };
        if has_other(self) {
            return Ok(());
        }
        self.fetch_children(view, parent, &mut |set| !has_other(set))
    }

    /// Reads what [`StepSet::create`] of this tree looks at.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(super) fn fetch_for_creation(&mut self, view: &View<'_>, tree: &NewStep) -> Result<()> {
        if let Some(parent) = &tree.step.parent_id {
            self.fetch_line(view, parent)?;
        }
        let mut open = vec![tree];
        while let Some(tree) = open.pop() {
            // Nothing can name an id that is generated only now.
            if let Some(id) = &tree.step.step_id {
                self.fetch(view, id)?;
                self.fetch_descendants(view, id)?;
            }
            open.extend(&tree.children);
        }
        Ok(())
    }

    /// Reads what [`StepSet::update`] of the step with this id looks at.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(super) fn fetch_for_update(
        &mut self,
        view: &View<'_>,
        id: &str,
        parent_id: Option<&str>,
    ) -> Result<()> {
        self.fetch(view, id)?;
        let Some(step) = self.find(id).and_then(|at| self.get(at)).cloned() else { return Ok(()) };
        let Some(parent) = parent_id.filter(|parent| step.parent_id.as_deref() != Some(parent))
        else {
            return Ok(());
        };
        self.fetch_line(view, parent)?;
        self.fetch_family(view, &step)?;
        self.fetch_descendants(view, id)
    }

    /// Reads what [`StepSet::delete`] of the step with this id looks at.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(super) fn fetch_for_deletion(&mut self, view: &View<'_>, id: &str) -> Result<()> {
        self.fetch(view, id)?;
        let Some(step) = self.find(id).and_then(|at| self.get(at)).cloned() else { return Ok(()) };
        self.fetch_family(view, &step)
    }
}
