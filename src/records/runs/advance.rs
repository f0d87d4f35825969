//! One merge that goes on, by as much as a turn may do.

use super::block::Builder;
use super::cursor::{Merged, Rows};
use super::manifest::Merge;
use crate::error::Result;

/// How much merging one turn does at each level.
#[derive(Clone, Copy, Debug)]
pub(in crate::records) struct Work(pub(in crate::records) u64);

/// A merge that went on, and what it brought.
pub(super) struct Advanced {
    pub(super) merge: Merge,
    pub(super) is_done: bool,
    /// Not written yet.
    pub(super) blocks: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Goes on with a merge until `work` entries were read.
pub(super) fn go_on(rows: Rows<'_>, mut merge: Merge, work: impl Fn() -> u64) -> Result<Advanced> {
    let mut blocks = Vec::new();
    let mut builder = Builder::default();
    let mut is_done = false;
    let from = merge.position.as_ref().map(|last| [last.as_slice(), &[0]].concat()).unwrap_or_default();
    let mut merged = Merged::new(rows, None, merge.inputs.clone(), &from, None);
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
    Ok(Advanced { merge, is_done, blocks })
}
