//! Advances a merge of runs by a bounded number of entries.

use super::block::Builder;
use super::cursor::{Memory, Merged, Rows};
use super::manifest::Merge;
use crate::error::Result;

/// How many entries of input one turn merges for each merge.
#[derive(Clone, Copy, Debug)]
pub(in crate::records) struct Work(pub(in crate::records) u64);

/// A merge that was advanced, and the blocks that it made.
pub(super) struct MergeProgress {
    pub(super) merge: Merge,
    pub(super) is_done: bool,
    /// Not written to the table yet.
    pub(super) blocks: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Advances a merge until `work` entries of its inputs were read.
///
/// What must hold: `merge.position` is the last key whose entries were all read, from every input.
/// `next_mark` reads all entries of a key at once, and `work` is checked only between two keys. The
/// next call resumes after `position`; a key that was read only in part would lose its older
/// entries. A void mark is dropped, because the key exists neither before nor after the merged
/// runs.
///
/// The last block may be smaller than the others: every call finishes its block, so that the merged
/// entries are in the same transaction as the position.
pub(super) fn go_on(
    rows: Rows<'_>,
    mut merge: Merge,
    work: impl Fn() -> u64,
) -> Result<MergeProgress> {
    let mut blocks = Vec::new();
    let mut builder = Builder::default();
    let mut is_done = false;
    let from =
        merge.position.as_ref().map(|last| [last.as_slice(), &[0]].concat()).unwrap_or_default();
    let mut merged = Merged::new(rows, Memory::default(), merge.inputs.clone(), &from, None);
    while merged.consumed < work() {
        let Some(mark) = merged.next_mark(false)? else {
            is_done = true;
            break;
        };
        let (key, value) = merged.current();
        if !mark.is_void() {
            blocks.extend(builder.push(key, mark, value));
            merge.output.net += mark.net();
            merge.output.entries += 1;
        }
    }
    if !is_done && merged.consumed > 0 {
        merge.position = Some(merged.current().0.to_vec());
    }
    blocks.extend(builder.finish());
    Ok(MergeProgress { merge, is_done, blocks })
}
