//! Counts keys by the totals that blocks store.

use std::ops::Range;

use super::block::{self, Block};
use super::{Memory, Rows, row_key, split_row_key};
use crate::error::Result;
use crate::records::error::from_redb;

/// The number of keys from `from` (included) to `to` (excluded), over these runs and the changes in
/// memory.
///
/// What must hold: the mark of an entry says whether the key existed before its run, so that the
/// number of keys in a range is the sum of the net changes of all runs, and no run is compared with
/// another. A row's key is the last entry of its block. So the first row at or after `from` may
/// contain `from`, the first row whose key is at or after `to` contains the end, and all entries of
/// the rows between them are in the range: of these, only the stored total is read.
///
/// Counting stops as soon as the sum is above `most`. The result may then be too large, because
/// newer runs that remove keys were not counted.
pub(in crate::records) fn count(
    table: Rows<'_>,
    memory: Memory<'_>,
    runs: &[u64],
    range: Range<&[u8]>,
    most: u64,
) -> Result<u64> {
    let Range { start: from, end: to } = range;
    if from >= to {
        return Ok(0);
    }
    let mut net = memory.sets().map(|set| set.net_within(from, to)).sum::<i64>();
    let mut block = Block::default();
    // The oldest run is usually the largest, so counting it first reaches `most` earlier.
    for &run in runs.iter().rev() {
        let mut is_first = true;
        for row in table.range(&row_key(run, from), &row_key(run + 1, &[]))? {
            let (key, value) = row.map_err(|error| from_redb("count index entries", error))?;
            let is_last = split_row_key(key.value())? >= to;
            if is_first || is_last {
                block.load(key.value(), value.value())?;
                net += within(&mut block, from, to)?;
            } else {
                net += block::net(key.value(), value.value())?;
            }
            if u64::try_from(net).is_ok_and(|net| net > most) {
                return Ok(net.unsigned_abs());
            }
            if is_last {
                break;
            }
            is_first = false;
        }
    }
    Ok(u64::try_from(net).unwrap_or(0))
}

/// The number of keys that the entries of one block from `from` to `to` add. If all entries add a
/// key, their positions are enough, and at most two groups are decoded.
fn within(block: &mut Block, from: &[u8], to: &[u8]) -> Result<i64> {
    if block.only_adds() {
        let before = block.rank(from)?;
        return Ok(i64::try_from(block.rank(to)?.saturating_sub(before)).unwrap_or(i64::MAX));
    }
    let mut net = 0;
    let mut is_there = block.seek_forward(Some(from))?;
    while is_there && block.key() < to {
        net += block.mark().net();
        is_there = block.forward()?;
    }
    Ok(net)
}
