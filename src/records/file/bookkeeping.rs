//! Verifies redb's own bookkeeping pages before redb reads them.
//!
//! redb trusts the pages of a file that was closed cleanly. A wrong bit in the pages that store
//! which pages are free makes redb panic inside a commit, and panic again while that unwinds, which
//! aborts the process. So these pages are verified here first: the tree that names redb's system
//! tables, and the tree of each system table. Every page is compared with the XXH3-128 checksum in
//! its parent, as redb's own repair does. The trees of the records are not walked. The cost is a
//! few pages, plus one page for each commit whose freed pages are not reusable yet, plus some bits
//! for each page of the file.
//!
//! What must hold: no file that redb would rightly open is refused. So:
//! - Only the commit slot that redb will use is followed.
//! - It is followed only where redb will not verify the file itself: after a two-phase commit, such
//!   as the one of a clean close. Otherwise redb verifies all pages and may go back to the commit
//!   before; a check here would refuse a file that redb can repair.
//! - A header that is damaged or of another version is left to redb, which checks it.

#[cfg(test)]
mod tests;

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_128;

use super::pages::{
    Child, HEADER_BYTES, Header, LEAF, Node, PAGE_BYTES, PAGE_BYTES_MAX, Regions, Table, Widths,
    le, le_u32,
};
use crate::disk::DiskFile;
use crate::error::{Error, Result};

/// The name, in error texts, of the tree that lists the system tables.
const SYSTEM: &str = "its system tables";

/// The system table that stores which pages are free. It is current in a file that was closed
/// cleanly, and after a commit that stored it.
const ALLOCATOR: &str = "allocator_state";
/// The first byte of those keys in the table whose value describes a region.
const REGION: u8 = 3;

/// Verifies redb's bookkeeping pages where redb itself would not. Returns the bytes of the free
/// pages; `None` if the file does not store them.
///
/// # Errors
/// `Corrupt` if a page does not match the checksum in its parent; errors of the disk.
pub(in crate::records) fn check(file: &dyn DiskFile) -> Result<Option<u64>> {
    let mut told = None;
    walk(file, &|_| true, &mut |_, _| (), &mut |leaf| add_pages(leaf, &mut told))?;
    told.map(|told| bytes_within(file, told)).transpose()
}

/// Returns the bytes of the free pages as the last commit stored them; `None` if it did not.
///
/// # Errors
/// As [`check`].
pub(in crate::records) fn free_bytes(file: &dyn DiskFile) -> Result<Option<u64>> {
    let mut told = None;
    walk(file, &|table| table == ALLOCATOR, &mut |_, _| (), &mut |leaf| {
        add_pages(leaf, &mut told);
    })?;
    told.map(|told| bytes_within(file, told)).transpose()
}

/// Numbers of pages, as the allocator's table stores them.
#[derive(Clone, Copy, Default)]
struct Pages {
    free: u64,
    all: u64,
}

/// Adds the pages of those regions that a leaf of the allocator's table describes.
fn add_pages(leaf: &Node<'_>, told: &mut Option<Pages>) {
    for (key, value) in (0..leaf.count()).filter_map(|n| leaf.entry(n)) {
        if key.first() == Some(&REGION) {
            let pages = told.get_or_insert_default();
            pages.free = pages.free.saturating_add(free_pages(value).unwrap_or(0));
            pages.all = pages.all.saturating_add(le_u32(value, 4).unwrap_or(0));
        }
    }
}

/// Bytes of the free pages that are inside the file. redb stores which pages are free before it
/// truncates free pages at the end of the file, so the stored count includes pages that the file no
/// longer has. The page of the header is not among them.
fn bytes_within(file: &dyn DiskFile, told: Pages) -> Result<u64> {
    let len = file.len().map_err(|error| Error::io("reading the length of records.redb", error))?;
    let cut_off = told.all.saturating_sub((len / PAGE_BYTES).saturating_sub(1));
    Ok(told.free.saturating_sub(cut_off).saturating_mul(PAGE_BYTES))
}

/// Counts the free pages of a region.
///
/// redb's buddy allocator stores one bitmap for each order. A bitmap is a tree whose last level has
/// one bit for each block of 2^order pages. The bit is unset if the block is free. A free page
/// belongs to a free block of exactly one order, so the counts of the orders can be added.
fn free_pages(region: &[u8]) -> Option<u64> {
    let orders = u32::from(*region.first()?) + 1;
    let mut start = 8 + 4 * orders as usize;
    let mut free = 0u64;
    for order in 0..orders {
        let end = le_u32(region, 8 + 4 * order as usize)?;
        let tree = region.get(start..usize::try_from(end).ok()?)?;
        let levels = usize::try_from(le_u32(tree, 0)?).ok()?;
        let last_start = match levels.checked_sub(2) {
            Some(before) => le_u32(tree, 4 + 4 * before)?,
            None => 4 + 4 * levels as u64,
        };
        let bits = tree.get(usize::try_from(last_start).ok()?..)?;
        let blocks = le_u32(bits, 0)?;
        let unset: u64 = (0..blocks.div_ceil(64))
            .map(|word| {
                let word_at = usize::try_from(4 + 8 * word).ok();
                // A missing word counts as set: no page is reported free that may be in use.
                let bits = word_at.and_then(|at| le(bits, at)).map_or(u64::MAX, u64::from_le_bytes);
                let in_use = (blocks - 64 * word).min(64);
                let beyond = if in_use < 64 { u64::MAX << in_use } else { 0 };
                u64::from((bits | beyond).count_zeros())
            })
            .sum();
        free = free.checked_add(unset.checked_shl(order)?)?;
        start = usize::try_from(end).ok()?;
    }
    Some(free)
}

/// Verifies the system tables and returns them; `None` where redb checks the file itself.
///
/// `visit` is called with the range of each verified page of the tables that `is_wanted` accepts,
/// and of the tree that lists the tables. `allocator` is called with the leaves of the allocator's
/// table.
fn walk(
    file: &dyn DiskFile,
    is_wanted: &dyn Fn(&str) -> bool,
    visit: &mut dyn FnMut(&str, Range<u64>),
    allocator: &mut dyn FnMut(&Node<'_>),
) -> Result<Option<Vec<Table>>> {
    let len = file.len().map_err(|error| Error::io("reading the length of records.redb", error))?;
    if len < PAGE_BYTES {
        return Ok(None);
    }
    let mut header = [0; HEADER_BYTES];
    file.read_exact_at(&mut header, 0)
        .map_err(|error| Error::io("reading the header of records.redb", error))?;
    // Where redb verifies the file itself, nothing is checked here.
    let header = Header::new(&header).filter(|header| header.is_two_phase);
    let Some(Header { regions, system: root, .. }) = header else { return Ok(None) };
    let mut walk = Walk { file, regions, len, left: len, page: Vec::new(), visit };
    let mut tables = Vec::new();
    if let Some(root) = root {
        let system = Table { name: SYSTEM.to_owned(), root: Some(root), widths: Widths::ANY };
        walk.tree(&system, &mut |leaf| tables.extend(leaf.tables()))?;
    }
    for table in tables.iter().filter(|table| is_wanted(&table.name)) {
        walk.tree(table, &mut |leaf| {
            if table.name == ALLOCATOR {
                allocator(leaf);
            }
        })?;
    }
    Ok(Some(tables))
}

/// A walk over the trees of one file.
struct Walk<'a> {
    file: &'a dyn DiskFile,
    regions: Regions,
    len: u64,
    /// Bytes that may still be read, at first the length of the file. Every page has one parent, so
    /// a walk that reads more than the file has follows a cycle, or pages with several parents.
    left: u64,
    page: Vec<u8>,
    visit: &'a mut dyn FnMut(&str, Range<u64>),
}

impl Walk<'_> {
    /// Verifies all pages of a tree, and calls `leaf` with each leaf.
    fn tree(&mut self, table: &Table, leaf: &mut dyn FnMut(&Node<'_>)) -> Result<()> {
        let mut waiting: Vec<Child> = table.root.into_iter().collect();
        while let Some(child) = waiting.pop() {
            let damaged = |what: String| {
                Error::corrupt(format!(
                    "records.redb is damaged in its bookkeeping ({}, {what}); restore a backup",
                    table.name
                ))
            };
            let place = self.regions.place(child.number).filter(|place| place.end <= self.len);
            let Some(place) = place else {
                return Err(damaged(format!("page {:#x} is not in the file", child.number)));
            };
            let len = place.end - place.start;
            // Larger than any page that redb 4.6 writes for these tables. It is skipped and not
            // refused, since a later redb may write it.
            let Some(bytes) = usize::try_from(len).ok().filter(|_| len <= PAGE_BYTES_MAX) else {
                continue;
            };
            self.left = self
                .left
                .checked_sub(len)
                .ok_or_else(|| damaged("its pages form a cycle".to_owned()))?;
            self.page.resize(bytes, 0);
            self.file
                .read_exact_at(&mut self.page, place.start)
                .map_err(|error| Error::io("reading the bookkeeping of records.redb", error))?;
            let node = Node { bytes: &self.page, widths: table.widths };
            let summed = node.summed().filter(|summed| xxh3_128(summed) == child.sum);
            let Some(summed) = summed else {
                return Err(damaged(format!("the page at byte {}", place.start)));
            };
            (self.visit)(&table.name, place.start..place.start + summed.len() as u64);
            if node.kind() == Some(LEAF) {
                leaf(&node);
            } else {
                waiting.extend(node.children());
            }
        }
        Ok(())
    }
}
