//! The changes of the steps of one result, as chunks, deleted rows and links.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::set::{Entry, Place, StepSet};
use crate::error::Result;
use crate::model::steps::links::{links, links_of};
use crate::model::steps::stored::{StepChunk, StoredStep};
use crate::model::tables::store_table::STEPS;
use crate::session::Draft;
use crate::session::tables::{ChunkChange, change_chunks, change_links, delete_sealed};
use crate::value::RecordKey;
use crate::value::ranges::RangeSet;

/// Steps of one chunk.
pub(super) const CHUNK_STEPS: usize = 64;
/// Parameters of one chunk, unless one step has more.
const CHUNK_PARAMETERS: usize = 256;

/// Bytes of one chunk, unless one step has more: far fewer than a record may have, so that steps
/// of a chunk may grow.
const CHUNK_BYTES: usize = 256 * 1024;

impl StepSet {
    /// Drafts the changes. A changed step that was sealed goes into a chunk again.
    ///
    /// # Errors
    /// `LimitExceeded` for a step that is too large; those of the disk.
    pub(super) fn save(self, draft: &mut Draft<'_>) -> Result<()> {
        let (mut before, mut after) = (BTreeSet::new(), BTreeSet::new());
        for entry in self.entries.iter().filter(|entry| entry.is_changed || entry.is_deleted) {
            let Entry { step, place, stored_parent, .. } = entry;
            if *place != Place::New {
                before.extend(links(step.seq, step.step_id.as_deref(), stored_parent.as_deref()));
            }
            if !entry.is_deleted {
                after.extend(links_of(step));
            }
        }
        let removed = before.difference(&after).copied();
        change_links(draft, self.result, removed, after.difference(&before).copied())?;
        self.save_rows(draft)
    }

    /// [`Self::save_rows`] of a set in which all steps were read, with all chunks anew: afterwards
    /// each step is in the chunk that its number leads to.
    ///
    /// # Errors
    /// As [`Self::save`].
    pub(super) fn save_rows_anew(mut self, draft: &mut Draft<'_>) -> Result<()> {
        let gone = std::mem::take(&mut self.chunks).into_iter();
        let gone = gone.map(|(first, before)| ChunkChange { first, before, after: None });
        change_chunks::<StepChunk>(draft, &STEPS, self.result, gone.collect())?;
        let in_chunks = |entry: &&mut Entry| matches!(entry.place, Place::Chunk(_));
        self.entries.iter_mut().filter(in_chunks).for_each(|entry| entry.place = Place::New);
        self.save_rows(draft)
    }

    /// [`Self::save`], without the links.
    ///
    /// # Errors
    /// As [`Self::save`].
    pub(super) fn save_rows(self, draft: &mut Draft<'_>) -> Result<()> {
        let mut gone = Vec::new();
        let mut stays: BTreeMap<u64, Vec<StoredStep>> = BTreeMap::new();
        let mut is_touched: HashSet<u64> = HashSet::new();
        let mut moved: Vec<StoredStep> = Vec::new();
        for entry in self.entries {
            let Entry { step, place, is_changed, is_deleted, .. } = entry;
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
            // Steps that have grown may need more than one chunk; the first one keeps its place.
            let mut parts = chunked(stays.remove(&first).unwrap_or_default()).into_iter();
            let after = parts.next().map(counted);
            changes.push(ChunkChange { first, before, after });
            moved.extend(parts.flatten());
        }
        moved.sort_by_key(|step| step.seq);
        delete_sealed(draft, &STEPS, &RangeSet::new(gone))?;
        change_chunks(draft, &STEPS, self.result, changes)?;
        save_chunks(draft, self.result, moved)
    }
}

/// A chunk with its number of rows.
pub(super) fn counted(steps: Vec<StoredStep>) -> (u64, StepChunk) {
    let chunk = StepChunk { steps };
    (chunk.row_count(), chunk)
}

/// Drafts steps of a result that has got none yet, in the order of their numbers.
///
/// # Errors
/// `LimitExceeded` for a step that is too large; those of the disk.
pub(super) fn save_new(
    draft: &mut Draft<'_>,
    result: RecordKey,
    steps: Vec<StoredStep>,
) -> Result<()> {
    change_links(draft, result, [], steps.iter().flat_map(links_of))?;
    save_chunks(draft, result, steps)
}

/// Drafts chunks of steps that are in none yet, in the order of their numbers.
fn save_chunks(draft: &mut Draft<'_>, result: RecordKey, steps: Vec<StoredStep>) -> Result<()> {
    let chunk = |steps: Vec<StoredStep>| ChunkChange {
        first: steps.first().map_or(0, |step| step.seq),
        before: (0, 0),
        after: Some(counted(steps)),
    };
    let changes = chunked(steps).into_iter().map(chunk).collect();
    change_chunks(draft, &STEPS, result, changes)
}

/// Cuts steps into chunks that are read and written together. The numbers of a chunk follow each
/// other, so chunks in order of their first numbers are in order of all numbers.
fn chunked(steps: Vec<StoredStep>) -> Vec<Vec<StoredStep>> {
    let mut chunks: Vec<Vec<StoredStep>> = Vec::new();
    let (mut parameters, mut bytes) = (0, 0);
    for step in steps {
        parameters += step.parameters().len();
        bytes += step.memory_bytes();
        let follows = |chunk: &Vec<StoredStep>| {
            chunk.last().is_some_and(|last| last.seq.checked_add(1) == Some(step.seq))
        };
        let is_full = chunks.last().is_none_or(|chunk| {
            chunk.len() >= CHUNK_STEPS
                || parameters > CHUNK_PARAMETERS
                || bytes > CHUNK_BYTES
                || !follows(chunk)
        });
        if is_full {
            (parameters, bytes) = (step.parameters().len(), step.memory_bytes());
            chunks.push(Vec::new());
        }
        if let Some(chunk) = chunks.last_mut() {
            chunk.push(step);
        }
    }
    chunks
}
