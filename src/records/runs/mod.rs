//! The index space: sorted runs instead of one tree.
//!
//! A record has a dozen index entries that are far apart in key order. In a tree, each would dirty
//! a page of its own. Here, the entries of a commit are one sorted run of a few blocks. Runs of the
//! same level are merged step by step: each commit does a share of the merging that is proportional
//! to its own size. A read merges the runs; the newest entry of a key wins.
//!
//! Blocks and the [`Manifest`] are rows of one redb table, so runs are covered by the same
//! transactions, snapshots and checksums as all other rows.
//!
//! What must hold: [`Mark::before`] of an entry says whether the key existed before the run. Then
//! the number of keys in a range is the sum over the runs, and a key that was added and removed
//! again can be dropped. With a wrong mark, counts are wrong, and a removed key may come back.

mod advance;
mod ahead;
mod block;
mod count;
mod cursor;
mod manifest;
mod merge;
mod split;
#[cfg(test)]
mod tests;

pub(super) use advance::Work;
pub(super) use ahead::Ahead;
pub(super) use count::count;
pub(super) use cursor::{Memory, Merged, Rows};
pub(super) use manifest::{Manifest, read_manifest};
pub(super) use merge::{flush, settle};
pub(super) use split::split;

use crate::error::{Error, Result};

/// A block with its checksum, made of fixed entries.
#[cfg(test)]
pub(super) fn block_sample() -> Vec<u8> {
    let mut builder = block::Builder::default();
    for number in 0u32..40 {
        let mark = Mark { before: number % 3 == 0, after: number % 5 != 0 };
        let full = builder.push(&(number * 7).to_be_bytes(), mark, &[number as u8 / 4; 3]);
        assert!(full.is_none());
    }
    let (last, mut block) = builder.finish().unwrap();
    block::seal(&row_key(9, &last), &mut block);
    block
}

/// A list of runs, made of fixed runs.
#[cfg(test)]
pub(super) fn manifest_sample() -> Vec<u8> {
    let run = |id| manifest::Run { id, level: 2, net: -3, entries: 300 };
    let merge =
        manifest::Merge { output: run(9), inputs: vec![5, 4], position: Some(b"key".to_vec()) };
    Manifest { next_run: 10, runs: vec![run(5), run(4)], merges: vec![merge], garbage: vec![3] }
        .to_row()
}

/// What a run says about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// Whether the key exists in the older runs together.
    pub(super) before: bool,
    /// Whether the key exists after this run.
    pub(super) after: bool,
}

impl Mark {
    fn bits(self) -> u64 {
        u64::from(self.before) | u64::from(self.after) << 1
    }

    fn from_bits(bits: u64) -> Self {
        Self { before: bits & 1 == 1, after: bits & 2 == 2 }
    }

    /// The mark of this entry and then a `newer` one together.
    fn then(self, newer: Self) -> Self {
        Self { before: self.before, after: newer.after }
    }

    /// Whether the key exists neither before nor after.
    fn is_void(self) -> bool {
        !self.before && !self.after
    }

    /// The change of the number of keys.
    pub(super) fn net(self) -> i64 {
        i64::from(self.after) - i64::from(self.before)
    }
}

fn damaged(what: &str) -> Error {
    Error::corrupt(format!(
        "records.redb: {what} of the indexes is damaged; restore the store from a backup"
    ))
}

fn row_key(run: u64, entry: &[u8]) -> Vec<u8> {
    [run.to_be_bytes().as_slice(), entry].concat()
}

/// The last entry of the block in a row, from the row's key.
fn split_row_key(key: &[u8]) -> Result<&[u8]> {
    key.get(8..).ok_or_else(|| damaged("a row"))
}
