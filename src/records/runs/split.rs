//! Splits a range of the index space into parts of about the same size.

use std::ops::Range;

use super::{Rows, row_key, split_row_key};
use crate::error::Result;
use crate::records::error::from_redb;

/// Keys between `from` and `to`, in order, that split the range: the run with most of its blocks
/// has at most `blocks` of them between two of the keys. None for a range with fewer blocks.
///
/// A row's key is the last entry of its block, so only keys of rows are read.
pub(in crate::records) fn split(
    table: Rows<'_>,
    runs: &[u64],
    range: Range<&[u8]>,
    blocks: usize,
) -> Result<Vec<Vec<u8>>> {
    let Range { start: from, end: to } = range;
    let (mut found, mut most) = (Vec::new(), 0);
    if from >= to {
        return Ok(found);
    }
    for &run in runs {
        let (mut keys, mut count) = (Vec::new(), 0_usize);
        for row in table.range(&row_key(run, from), &row_key(run, to))? {
            let (key, _) = row.map_err(|error| from_redb("read the indexes", error))?;
            count += 1;
            if count.is_multiple_of(blocks.max(1)) {
                keys.push(split_row_key(key.value())?.to_vec());
            }
        }
        if count > most {
            (found, most) = (keys, count);
        }
    }
    Ok(found)
}
