//! Makes damaged leaves of an open record file again from rows that are found elsewhere.
//!
//! The parent of a page has the XXH3-128 checksum of its bytes, and a leaf has nothing but its
//! rows. So rows from a backup are proven to be the ones that the leaf had: a leaf of them has its
//! checksum. The rows of the damaged page that have their own checksums count too, because a page
//! is seldom damaged as a whole and the backup may have older versions of them.
//!
//! What must hold: bytes are written only over a page that the last commit uses, and only those
//! that have its checksum. So whatever of a write reaches the medium, each byte is the one that was
//! there, or the right one.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_128;

use super::check::Check;
use super::commit::{Commit, newest};
use super::source::{ANY, PageSource};
use super::walk::{Gap, PageRanges};
use super::walk_tables;
use crate::disk::DiskFile;
use crate::error::Result;
use crate::records::Space;
use crate::records::file::pages::{Child, LEAF, Node};
use crate::records::space::{RECENT_LOG, Table, TablePrefix, is_journal_link, space_of};
use crate::value::{Control, limits};

/// Bytes of damaged pages that are kept at a time.
const PAGES_BYTES_MAX: u64 = 2 * limits::BATCH_BYTES as u64;
/// Most leaves that are tried for a page, each with one row less.
const TRIES: usize = 512;
/// Bytes of a leaf for each of its rows, and before the first.
const ROW_BYTES: usize = 8;
const LEAF_START: usize = 4;

/// A key of a table, and its value.
pub(crate) type Row = (Vec<u8>, Vec<u8>);

/// A page of the last commit that does not have its checksum.
pub(crate) struct DamagedPage {
    table: Table,
    gap: Gap,
    child: Child,
    place: Range<u64>,
    /// What is there instead.
    bytes: Vec<u8>,
}

/// The last commit of an open record file.
pub(crate) struct LastCommit(Option<Commit>);

impl LastCommit {
    /// Reads the header, which nobody may write meanwhile.
    pub(crate) fn of(file: &dyn DiskFile) -> Self {
        Self(newest(&PageSource::new(file, file.len().unwrap_or(0))))
    }
}

/// What a walk of the pages of a commit found.
#[derive(Default)]
pub(crate) struct PageDamage {
    /// Damaged pages, in the order of tables and keys.
    pub(crate) pages: Vec<DamagedPage>,
    /// The number of damaged pages that are not in `pages`, to bound the memory.
    pub(crate) left_out: u64,
    /// Tables that no page names, because the page that does is damaged.
    pub(crate) lost_tables: Vec<&'static str>,
}

/// Compares every page of the tables of a commit with its checksum. The caller holds a snapshot of
/// it, so that none of them is overwritten.
///
/// # Errors
/// Those of `control`. Damage is no error.
pub(crate) fn damage(
    file: &dyn DiskFile,
    commit: &LastCommit,
    control: &Control,
) -> Result<PageDamage> {
    let source = PageSource::new(file, file.len().unwrap_or(0));
    let mut visited = PageRanges::new();
    let walked = match &commit.0 {
        Some(commit) => walk_tables(&source, commit.tables, &mut visited, control)?,
        None => super::all_lost(),
    };
    let mut found = PageDamage::default();
    let mut left = PAGES_BYTES_MAX;
    for (table, walked) in walked {
        for gap in walked.gaps {
            let Some((child, place)) = gap.page.and_then(|page| Some((page, source.place(page)?)))
            else {
                found.lost_tables.push(table.name());
                continue;
            };
            match left.checked_sub(place.end - place.start) {
                Some(rest) => {
                    left = rest;
                    let bytes = source.unchecked(child).unwrap_or_default();
                    found.pages.push(DamagedPage { table, gap, child, place, bytes });
                }
                None => found.left_out += 1,
            }
        }
    }
    // For `find`.
    found.pages.sort_by(|one, other| {
        (one.table.position(), &one.gap.after).cmp(&(other.table.position(), &other.gap.after))
    });
    Ok(found)
}

/// The page that has a row, if it is damaged: its number in `pages`, and the key in its table.
pub(crate) fn find(pages: &[DamagedPage], space: Space, key: &[u8]) -> Option<(usize, Vec<u8>)> {
    find_at(pages, space.place(), key)
}

/// As [`find`], if the row is one of the newest of the log.
pub(crate) fn find_recent(pages: &[DamagedPage], key: &[u8]) -> Option<(usize, Vec<u8>)> {
    find_at(pages, RECENT_LOG, key)
}

fn find_at(pages: &[DamagedPage], place: TablePrefix, key: &[u8]) -> Option<(usize, Vec<u8>)> {
    let (table, key) = (place.table.position(), place.key(key));
    let behind = pages.partition_point(|page| {
        let position = page.table.position();
        let is_before = page.gap.after.as_deref().is_none_or(|after| after < key.as_ref());
        position < table || (position == table && is_before)
    });
    let at = behind.checked_sub(1)?;
    let page = pages.get(at)?;
    let is_there = page.table.position() == table && page.gap.contains(&key);
    is_there.then(|| (at, key.into_owned()))
}

impl DamagedPage {
    /// Where the page begins in the file.
    pub(crate) fn at(&self) -> u64 {
        self.place.start
    }

    /// The name of its table.
    pub(crate) fn table(&self) -> &'static str {
        self.table.name()
    }

    /// Whether its rows are in no backup, because they follow from others.
    pub(crate) fn is_of_index(&self) -> bool {
        self.table == Table::Index
    }

    /// The most bytes of rows that are worth looking at for the page.
    pub(crate) fn bytes_max(&self) -> usize {
        /// Some rows of its range may have been added since, or removed.
        const TIMES: u64 = 2;
        let bytes = (self.place.end - self.place.start).saturating_mul(TIMES);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// The bytes of the page, from rows in the order of their keys that lie in its range.
    ///
    /// The rows that are tried, in this order: those given, and then fewer and fewer of them,
    /// because the last rows of the log may be elsewhere; those of the page, with what is given in
    /// place of the damaged ones; and with what is given for rows without a checksum as well.
    pub(crate) fn mended(
        &self,
        given: &[Row],
        check: &dyn Fn(Space, &[u8], &[u8]) -> Check,
    ) -> Option<Vec<u8>> {
        let given: Vec<(&[u8], &[u8])> =
            given.iter().map(|(key, value)| (key.as_slice(), value.as_slice())).collect();
        let fewer = (1..=given.len()).rev().take(TRIES);
        let from_given = || fewer.filter_map(|rows| given.get(..rows)).find_map(|r| self.leaf(r));
        let own = |prefers_given| {
            self.own(&given, prefers_given, check).and_then(|rows| self.leaf(&rows))
        };
        from_given().or_else(|| own(false)).or_else(|| own(true))
    }

    /// The rows of the page, with those of `given` that lie between its neighbours in place of each
    /// row that is damaged. A row without a checksum of its own gets the value that is given for
    /// it, if `prefers_given`.
    fn own<'a>(
        &'a self,
        given: &[(&'a [u8], &'a [u8])],
        prefers_given: bool,
        check: &dyn Fn(Space, &[u8], &[u8]) -> Check,
    ) -> Option<Vec<(&'a [u8], &'a [u8])>> {
        let node = Node { bytes: &self.bytes, widths: ANY };
        let mut rows: Vec<(&[u8], &[u8])> = Vec::new();
        let verdict = |(key, value): (&[u8], &[u8])| match space_of(self.table, key) {
            Some((space, key)) => check(space, key, value),
            None if is_journal_link(self.table, key) => Check::Unsummed,
            None => Check::Damaged,
        };
        let mut last: Option<&[u8]> = None;
        let mut is_hole = false;
        for row in (0..node.count()).map(|n| node.entry(n)) {
            let row = row
                .filter(|(key, _)| self.gap.contains(key) && last.is_none_or(|last| *key > last));
            match row.map(|row| (row, verdict(row))) {
                None | Some((_, Check::Damaged)) => is_hole = true,
                Some(((key, value), verdict)) => {
                    if std::mem::take(&mut is_hole) {
                        rows.extend(between(given, last, Some(key)));
                    }
                    let known = given.binary_search_by(|(given, _)| (*given).cmp(key));
                    let known = known.ok().and_then(|at| given.get(at));
                    let known = known.filter(|_| prefers_given && verdict == Check::Unsummed);
                    rows.push((key, known.map_or(value, |(_, value)| *value)));
                    last = Some(key);
                }
            }
        }
        if is_hole {
            rows.extend(between(given, last, None));
        }
        (!rows.is_empty()).then_some(rows)
    }

    /// A leaf of rows, if it has the checksum of the page.
    fn leaf(&self, rows: &[(&[u8], &[u8])]) -> Option<Vec<u8>> {
        let count = u16::try_from(rows.len()).ok()?;
        let bytes: usize = rows.iter().map(|(key, value)| key.len() + value.len()).sum();
        let len = usize::try_from(self.place.end - self.place.start).ok()?;
        if LEAF_START + rows.len() * ROW_BYTES + bytes > len {
            return None;
        }
        // redb leaves the byte after the kind as it was.
        let unused = self.bytes.get(1).copied().unwrap_or_default();
        let mut page = vec![LEAF, unused];
        page.extend_from_slice(&count.to_le_bytes());
        let mut end = LEAF_START + rows.len() * ROW_BYTES;
        let keys = rows.iter().map(|(key, _)| key.len());
        for part in keys.chain(rows.iter().map(|(_, value)| value.len())) {
            end += part;
            page.extend_from_slice(&u32::try_from(end).ok()?.to_le_bytes());
        }
        rows.iter().for_each(|(key, _)| page.extend_from_slice(key));
        rows.iter().for_each(|(_, value)| page.extend_from_slice(value));
        for byte in [unused, 0, u8::MAX] {
            *page.get_mut(1)? = byte;
            if xxh3_128(&page) == self.child.sum {
                // What follows has no meaning; it stays as it is.
                let summed = page.len();
                page.resize(len, 0);
                if let (Some(rest), Some(there)) =
                    (page.get_mut(summed..), self.bytes.get(summed..))
                    && rest.len() == there.len()
                {
                    rest.copy_from_slice(there);
                }
                return Some(page);
            }
        }
        None
    }
}

/// The rows after one key and before another.
fn between<'a>(
    rows: &[(&'a [u8], &'a [u8])],
    after: Option<&[u8]>,
    before: Option<&[u8]>,
) -> Vec<(&'a [u8], &'a [u8])> {
    let is_between = |key: &[u8]| {
        after.is_none_or(|after| key > after) && before.is_none_or(|before| key < before)
    };
    rows.iter().copied().filter(|(key, _)| is_between(key)).collect()
}
