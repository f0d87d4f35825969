//! The pages that the last commit uses, by redb's own list of free pages.
//!
//! redb stores this list at a clean close, and in each commit with `quick_repair`. A page counts as
//! used if no order of the allocator has it as free, and no list of pages that wait to become free
//! contains it.

use std::collections::BTreeMap;

use super::commit::Commit;
use super::source::{ANY, PageSource, REGIONS};
use super::walk::{PageRanges, walk};
use crate::error::Result;
use crate::records::file::pages::{Node, PAGE_BYTES, le, le_u32};
use crate::value::Control;

/// First bytes of the keys of the table `allocator_state`: the free pages of a region (the region's
/// number follows), and the number of the commit that they belong to.
const REGION: u8 = 3;
const TRANSACTION: u8 = 5;
const ALLOCATOR_STATE: &str = "allocator_state";
const WAITING: [&str; 2] = ["data_pages_unreachable", "system_pages_unreachable"];

/// The free pages of a region: for each order the number of bits, and the bits. A bit is unset if
/// the block is free.
type Orders = Vec<(u64, Vec<u64>)>;

/// The pages that a commit uses.
pub(super) struct Live {
    regions: BTreeMap<u64, Orders>,
    /// Ranges of pages that wait to become free: start to end.
    waiting: BTreeMap<u64, u64>,
}

impl Live {
    /// Reads the commit's own bookkeeping; `None` if the commit stored none or it is damaged. The
    /// pages of the bookkeeping are added to `visited`.
    pub(super) fn of(
        source: &PageSource<'_>,
        commit: &Commit,
        visited: &mut PageRanges,
        control: &Control,
    ) -> Result<Option<Self>> {
        let (Some(system), Some(transaction)) = (commit.system, commit.transaction) else {
            return Ok(None);
        };
        let names = walk(source, Some(system), ANY, visited, control)?;
        let mut is_whole = names.gaps.is_empty();
        let mut live = Self { regions: BTreeMap::new(), waiting: BTreeMap::new() };
        let mut is_of_this = false;
        for leaf in names.leaves {
            let Some(page) = source.page(leaf, ANY) else { return Ok(None) };
            for table in (Node { bytes: &page, widths: ANY }).tables() {
                let walked = walk(source, table.root, table.widths, visited, control)?;
                is_whole &= walked.gaps.is_empty();
                for leaf in walked.leaves {
                    let Some(page) = source.page(leaf, table.widths) else { return Ok(None) };
                    let node = Node { bytes: &page, widths: table.widths };
                    for (key, value) in (0..node.count()).filter_map(|n| node.entry(n)) {
                        if WAITING.contains(&table.name.as_str()) {
                            live.wait(value);
                        } else if table.name == ALLOCATOR_STATE {
                            match (key.first(), le_u32(key, 1)) {
                                (Some(&REGION), Some(number)) => match orders(value) {
                                    Some(orders) => drop(live.regions.insert(number, orders)),
                                    None => is_whole = false,
                                },
                                (Some(&TRANSACTION), _) => {
                                    is_of_this =
                                        le(value, 0).map(u64::from_le_bytes) == Some(transaction);
                                }
                                _ => {}
                            }
                        }
                    }
                }
            }
        }
        Ok((is_whole && is_of_this).then_some(live))
    }

    /// Adds a list of pages: a count, and that many page numbers.
    fn wait(&mut self, list: &[u8]) {
        let count = le(list, 0).map_or(0, |count| usize::from(u16::from_le_bytes(count)));
        let numbers = (0..count).filter_map(|n| le(list, 2 + 8 * n).map(u64::from_le_bytes));
        self.waiting.extend(
            numbers
                .filter_map(|number| REGIONS.place(number))
                .map(|place| (place.start, place.end)),
        );
    }

    /// Whether the commit uses the page that begins at `at`.
    pub(super) fn contains(&self, at: u64) -> bool {
        let Some(index) = at.checked_sub(PAGE_BYTES).map(|at| at / PAGE_BYTES) else {
            return false;
        };
        let Some(orders) = self.regions.get(&(index >> 20)) else { return false };
        let page = index & 0xF_FFFF;
        let is_free = orders.iter().enumerate().any(|(order, (len, bits))| {
            let bit = page >> order;
            let word = usize::try_from(bit / 64).ok().and_then(|word| bits.get(word));
            bit < *len && word.is_some_and(|word| word >> (bit % 64) & 1 == 0)
        });
        let is_in_use = orders.first().is_some_and(|(len, _)| page < *len);
        let waits = self.waiting.range(..=at).next_back().is_some_and(|(_, end)| at < *end);
        is_in_use && !is_free && !waits
    }
}

/// Parses the free pages of a region: the largest order, padding, the number of pages; the ends of
/// the bitmaps; one bitmap for each order.
fn orders(state: &[u8]) -> Option<Orders> {
    let count = usize::from(*state.first()?) + 1;
    let mut start = 8 + 4 * count;
    let mut orders = Vec::with_capacity(count);
    for order in 0..count {
        let end = usize::try_from(le_u32(state, 8 + 4 * order)?).ok()?;
        orders.push(lowest_layer(state.get(start..end)?)?);
        start = end;
    }
    Some(orders)
}

/// The last layer of a bitmap. A bitmap is the height, the ends of the layers, and the layers; a
/// layer is the number of bits, and the bits.
fn lowest_layer(bitmap: &[u8]) -> Option<(u64, Vec<u64>)> {
    let height = usize::try_from(le_u32(bitmap, 0)?).ok()?;
    let end = |layer: usize| usize::try_from(le_u32(bitmap, 4 + 4 * layer)?).ok();
    let start = match height.checked_sub(2) {
        Some(before) => end(before)?,
        None => 4 + 4 * height,
    };
    let layer = bitmap.get(start..end(height.checked_sub(1)?)?)?;
    let (words, _) = layer.get(4..)?.as_chunks::<8>();
    Some((le_u32(layer, 0)?, words.iter().map(|word| u64::from_le_bytes(*word)).collect()))
}
