//! Verifies every page that redb reads from the disk, before redb uses it.
//!
//! redb keeps the checksum of each page in the page's parent, and compares it only in a repair. It
//! reads a tree from its root down, through our backend. So the checksum of a page is learnt when
//! its parent is read, and compared when the page itself is read. For each page of 4 KiB four bytes
//! are kept, without eviction: redb may keep a parent in its cache for ever.
//!
//! There are two kinds of sums. For a page that redb wrote through this medium it is the CRC-32 of
//! all bytes as they were written. For a page that the file had before, it is a part of the
//! checksum that the parent stores, which does not cover the unused bytes at the end of the page.
//!
//! What must hold:
//! - A sum is learnt from a parent only if the page has none. A page that redb has written since
//!   has a newer one.
//! - Only verified pages, and the header that redb uses after the open, are learnt from.
//! - When redb may have pages in its cache that it read unverified, the sums of all pages below
//!   them are learnt at once.
//! - A sum is never forgotten. That of a page that is free now is out of date, but redb reads no
//!   page of a new commit before it has written it.
//! - A page without a known sum is never refused: a file in an unknown form stays readable.
//!
//! A damaged page is replaced by a page that redb can only refuse, see [`refusal`].

pub(in crate::records) mod refusal;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard};

use xxhash_rust::xxh3::xxh3_128;

use super::pages::{
    BRANCH, Child, HEADER_BYTES, Header, LEAF, Node, PAGE_BYTES, Regions, Table, Widths,
};
use crate::disk::DiskFile;
use crate::error::{Error, Result};

/// Pages that share one allocation of sums.
const CHUNK_PAGES: usize = 4096;
/// Set in the sum of a page that redb wrote through this medium.
const WRITTEN: u32 = 1 << 31;
/// Limit of the refused pages whose places are kept for messages.
const REFUSED_KEPT: usize = 1_000;

type Chunk = Box<[AtomicU32]>;

/// The sums of the pages of one open record file.
#[derive(Default)]
pub(in crate::records) struct PageSums {
    /// One number for each 4 KiB of the file: the sum of the page that begins there, or 0.
    chunks: RwLock<Vec<Chunk>>,
    /// `None` inside if the file is not in the form of redb 4.6; not set until that is known.
    form: OnceLock<Option<Form>>,
    refused: Mutex<BTreeSet<u64>>,
    has_refused: AtomicBool,
    /// Reads of pages, and of pages without a known sum.
    #[cfg(test)]
    pub(in crate::records) reads: [std::sync::atomic::AtomicU64; 2],
}

/// What is needed to read pages.
struct Form {
    regions: Regions,
    /// The lengths of keys and values that tables of the file have.
    widths: Vec<Widths>,
}

impl Form {
    /// Whether a page has this sum, which its parent stores. The page does not tell to which table
    /// it belongs, so the lengths of every table are tried.
    fn has_sum(&self, page: &[u8], sum: u32) -> bool {
        let mut sums = self.widths.iter().map(|widths| {
            let node = Node { bytes: page, widths: *widths };
            node.summed().map(xxh3_128)
        });
        sums.any(|found| found.is_some_and(|found| stored(found) == sum))
    }

    fn start(&self, child: Child) -> Option<u64> {
        self.regions.place(child.number).map(|place| place.start)
    }
}

/// The part of a checksum of redb that is kept. Never 0.
fn stored(sum: u128) -> u32 {
    (sum as u32 & !WRITTEN).max(1)
}

/// The sum of a page that redb wrote. Never 0.
fn written(page: &[u8]) -> u32 {
    crc32fast::hash(page) | WRITTEN
}

impl PageSums {
    // A poisoned lock only means that another thread panicked: no update below can be left
    // incomplete.
    fn chunks(&self) -> RwLockReadGuard<'_, Vec<Chunk>> {
        self.chunks.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `f` with the place of the sum of the page that begins at `offset`, which is made if it
    /// is missing.
    fn with(&self, offset: u64, f: impl Fn(&AtomicU32)) {
        let Some((chunk, within)) = place_of(offset) else { return };
        let is_there = |chunks: &[Chunk]| {
            let sum = chunks.get(chunk).and_then(|chunk| chunk.get(within));
            sum.map(&f).is_some()
        };
        if is_there(&self.chunks()) {
            return;
        }
        let mut chunks = self.chunks.write().unwrap_or_else(PoisonError::into_inner);
        while chunks.len() <= chunk {
            chunks.push((0..CHUNK_PAGES).map(|_| AtomicU32::new(0)).collect());
        }
        is_there(&chunks);
    }

    fn known(&self, offset: u64) -> u32 {
        let Some((chunk, within)) = place_of(offset) else { return 0 };
        let chunks = self.chunks();
        let sum = chunks.get(chunk).and_then(|chunk| chunk.get(within));
        sum.map_or(0, |sum| sum.load(Ordering::Acquire))
    }

    fn form(&self) -> Option<&Form> {
        self.form.get().and_then(Option::as_ref)
    }

    /// Bytes of memory that the sums take.
    #[cfg(test)]
    pub(in crate::records) fn bytes(&self) -> usize {
        self.chunks().iter().map(|chunk| size_of_val(&**chunk)).sum()
    }

    /// The places in the file of pages that were refused, at most [`REFUSED_KEPT`]; `None` if no
    /// page is verified, because the file is not in the known form.
    pub(in crate::records) fn refused(&self) -> Option<Vec<u64>> {
        self.form()?;
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        Some(refused.iter().copied().collect())
    }

    /// Records what redb writes.
    ///
    /// # Errors
    /// `Corrupt` if it would keep a page that was refused in a tree. This must be asked before the
    /// page is in the file.
    pub(in crate::records) fn wrote(&self, offset: u64, data: &[u8]) -> Result<()> {
        // The header has no sum here: redb reads it only while it opens the file.
        if offset < PAGE_BYTES {
            return Ok(());
        }
        self.with(offset, |sum| sum.store(written(data), Ordering::Release));
        if self.has_refused.load(Ordering::Acquire)
            && let Some(at) = refusal::carried(data)
        {
            return Err(Error::corrupt(format!(
                "records.redb: a commit needs the damaged page at {at}; restore a backup, or \
                 salvage the store"
            )));
        }
        Ok(())
    }

    /// Verifies a page that was read into `page`. If it is damaged, replaces it by one that redb
    /// refuses. `again` reads it once more.
    ///
    /// # Errors
    /// The error of `again`.
    pub(in crate::records) fn verify(
        &self,
        offset: u64,
        page: &mut [u8],
        again: impl Fn(&mut [u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let Some(form) = self.form() else { return Ok(()) };
        if offset < PAGE_BYTES {
            return Ok(());
        }
        let mut sum = self.known(offset);
        #[cfg(test)]
        for (reads, add) in self.reads.iter().zip([1, u64::from(sum == 0)]) {
            reads.fetch_add(add, Ordering::Relaxed);
        }
        if sum == 0 {
            return Ok(());
        }
        if !is_right(form, page, sum) {
            // A fault of the transfer may be gone, and the page may have been written meanwhile.
            again(page)?;
            sum = self.known(offset);
            if !is_right(form, page, sum) {
                self.refuse(offset, page);
                return Ok(());
            }
        }
        self.learn_children(form, page);
        Ok(())
    }

    fn refuse(&self, offset: u64, page: &mut [u8]) {
        self.has_refused.store(true, Ordering::Release);
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < REFUSED_KEPT {
            refused.insert(offset);
        }
        refusal::fill(page, offset);
    }

    /// Learns what a verified page says about its children.
    fn learn_children(&self, form: &Form, page: &[u8]) {
        if page.first() != Some(&BRANCH) {
            return;
        }
        // The numbers of the children do not depend on the lengths of keys.
        let node = Node { bytes: page, widths: Widths::ANY };
        let mut missing = Vec::new();
        let chunks = self.chunks();
        for child in node.children() {
            let place = form.start(child).and_then(place_of);
            match place.and_then(|(chunk, within)| chunks.get(chunk)?.get(within)) {
                Some(sum) => learn(sum, child),
                None => missing.push(child),
            }
        }
        drop(chunks);
        missing.into_iter().for_each(|child| self.learn_child(form, child));
    }

    fn learn_child(&self, form: &Form, child: Child) {
        let Some(start) = form.start(child) else { return };
        self.with(start, |sum| learn(sum, child));
    }

    /// Begins to verify pages: learns the sums of the roots of all tables, from the header down.
    /// Pages that are damaged are refused later, when redb reads them.
    ///
    /// Called before redb opens the file, and again after that. Before, it does nothing if redb
    /// verifies the file itself, and may go back to the commit before. Afterwards redb has such a
    /// file in its cache, so all branches are read, to learn the sums of the pages below them.
    ///
    /// # Errors
    /// `Io`.
    pub(in crate::records) fn learn(&self, file: &dyn DiskFile, is_open: bool) -> Result<()> {
        let len = file.len();
        let len = len.map_err(|error| Error::io("reading the length of records.redb", error))?;
        if self.form.get().is_some() || len < HEADER_BYTES as u64 {
            return Ok(());
        }
        let read = |offset: u64, page: &mut [u8]| {
            let read = file.read_exact_at(page, offset);
            read.map_err(|error| Error::io("reading the tables of records.redb", error))
        };
        let mut header = [0; HEADER_BYTES];
        read(0, &mut header)?;
        let header = Header::new(&header).filter(|header| is_open || header.is_two_phase);
        let Some(Header { regions, records, system, .. }) = header else {
            if is_open {
                let _ = self.form.set(None);
            }
            return Ok(());
        };
        let mut form = Form { regions, widths: vec![Widths::ANY] };
        let mut trees = Vec::new();
        let mut is_known = true;
        for root in [records, system] {
            let mut tables = Vec::new();
            self.walk(&form, root, len, read, &mut |node| {
                for (name, definition) in (0..node.count()).filter_map(|n| node.entry(n)) {
                    let table = Table::new(name, definition);
                    is_known &= table.is_some();
                    tables.extend(table);
                }
                true
            })?;
            for table in tables {
                if !form.widths.contains(&table.widths) {
                    form.widths.push(table.widths);
                }
                trees.extend(table.root);
            }
        }
        for root in trees {
            if is_open {
                self.walk(&form, Some(root), len, read, &mut |_| false)?;
            } else {
                self.learn_child(&form, root);
            }
        }
        let _ = self.form.set(is_known.then_some(form));
        Ok(())
    }

    /// Learns the sums of a tree. `leaf` is called with leaves, and returns whether the other
    /// leaves of that branch are read too.
    fn walk(
        &self,
        form: &Form,
        root: Option<Child>,
        len: u64,
        read: impl Fn(u64, &mut [u8]) -> Result<()>,
        leaf: &mut dyn FnMut(&Node<'_>) -> bool,
    ) -> Result<()> {
        let mut left = len;
        let mut page = Vec::new();
        root.into_iter().for_each(|root| self.learn_child(form, root));
        let mut waiting: Vec<Vec<Child>> = vec![root.into_iter().collect()];
        while let Some(mut siblings) = waiting.pop() {
            let Some(child) = siblings.pop() else { continue };
            let place = form.regions.place(child.number).filter(|place| place.end <= len);
            // What reads more than the file has follows a cycle.
            let bytes = place.as_ref().and_then(|place| {
                left = left.checked_sub(place.end - place.start)?;
                usize::try_from(place.end - place.start).ok()
            });
            let (Some(place), Some(bytes)) = (place, bytes) else {
                waiting.push(siblings);
                continue;
            };
            page.resize(bytes, 0);
            read(place.start, &mut page)?;
            let node = Node { bytes: &page, widths: Widths::ANY };
            if !is_right(form, &page, self.known(place.start)) {
                waiting.push(siblings);
            } else if node.kind() == Some(LEAF) {
                if leaf(&node) {
                    waiting.push(siblings);
                }
            } else {
                self.learn_children(form, &page);
                waiting.push(siblings);
                waiting.push(node.children().collect());
            }
        }
        Ok(())
    }
}

/// Keeps what a parent stores, unless the sum is known.
fn learn(sum: &AtomicU32, child: Child) {
    if sum.load(Ordering::Relaxed) == 0 {
        let _ = sum.compare_exchange(0, stored(child.sum), Ordering::AcqRel, Ordering::Acquire);
    }
}

/// Where the sum of the page that begins at `offset` is.
fn place_of(offset: u64) -> Option<(usize, usize)> {
    let page = usize::try_from(offset / PAGE_BYTES).ok()?;
    Some((page / CHUNK_PAGES, page % CHUNK_PAGES))
}

/// Whether a page has its sum; 0 means that nothing is known.
fn is_right(form: &Form, page: &[u8], sum: u32) -> bool {
    match sum {
        0 => true,
        sum if sum & WRITTEN != 0 => written(page) == sum,
        sum => form.has_sum(page, sum),
    }
}

impl std::fmt::Debug for PageSums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PageSums").finish_non_exhaustive()
    }
}
