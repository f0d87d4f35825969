//! The page that redb gets in place of a damaged one.
//!
//! An error of the backend would end all uncached reads of redb, and a page of an unknown kind
//! makes redb panic, also in places where a panic ends the process. So the page is a branch with
//! two children whose page numbers cannot exist. redb compares a key, takes a child, and returns
//! `Corrupted` with the page number, in reads and in writes. The number tells which page was
//! damaged, also when redb has the page in its cache.
//!
//! redb reads the neighbours of a page that becomes too small as pages of the same kind:
//! - As a leaf, this page looks like one value that fills it, which redb does not merge.
//! - As a branch, its children would get into another branch. [`carried`] finds that before the
//!   branch is written.
//!
//! `page_sums::tests` ties this to redb 4.6.

use crate::records::file::pages::{BRANCH, Node, PAGE_BYTES, Widths};

/// redb refuses page numbers of a larger order.
const ORDER_MAX: u64 = 20;
/// Orders from here on to 30 tell the page, in pieces of 2^20 pages; 31 tells roughly.
const ORDER_FIRST: u64 = ORDER_MAX + 1;
const ORDER_ROUGH: u64 = 31;
const TWENTY_BITS: u64 = 0xF_FFFF;
/// Pages that `ORDER_ROUGH` tells together.
const ROUGH_PAGES: u64 = 1024;

/// Fills the page that begins at `offset` of the file. A page has at least 4 KiB.
pub(super) fn fill(page: &mut [u8], offset: u64) {
    page.fill(0);
    let number = offset / PAGE_BYTES;
    let (order, told) = match ORDER_FIRST + (number >> 20) {
        order if order < ORDER_ROUGH => (order, number & TWENTY_BITS),
        _ => (ORDER_ROUGH, (number / ROUGH_PAGES).min(TWENTY_BITS)),
    };
    let child = ((order << 59) | (told << 20)).to_le_bytes();
    let parts: [(usize, &[u8]); 6] = [
        // A branch with one key, or a leaf with one pair.
        (0, &[BRANCH, 0, 1, 0]),
        // The end of the leaf's key and value.
        (4, &12u32.to_le_bytes()),
        (8, &0x7fff_ffffu32.to_le_bytes()),
        // The checksums of the children are never compared.
        (40, &child),
        (48, &child),
        // The end of the branch's key. Where keys have a fixed length, these bytes begin the key,
        // and are valid in all tables of redb.
        (56, &259u32.to_le_bytes()),
    ];
    for (at, bytes) in parts {
        if let Some(target) = page.get_mut(at..at + bytes.len()) {
            target.copy_from_slice(bytes);
        }
    }
}

fn described(order: u64, told: u64) -> Option<String> {
    match order {
        ORDER_ROUGH => Some(format!(
            "a place in the {} MiB from byte {} on",
            (ROUGH_PAGES * PAGE_BYTES) >> 20,
            told * ROUGH_PAGES * PAGE_BYTES
        )),
        ORDER_FIRST..ORDER_ROUGH => {
            Some(format!("byte {}", (((order - ORDER_FIRST) << 20) | told) * PAGE_BYTES))
        }
        _ => None,
    }
}

/// The damaged page that a page of redb has as a child, if there is one.
pub(super) fn carried(page: &[u8]) -> Option<String> {
    if page.first() != Some(&BRANCH) {
        return None;
    }
    let mut children = Node { bytes: page, widths: Widths::ANY }.children();
    children.find_map(|child| described(child.number >> 59, (child.number >> 20) & TWENTY_BITS))
}

/// The damaged page that an error of redb is about: its text is
/// `Page r{region}.{index}/{order} has order greater than the maximum of 20`.
pub(in crate::records) fn told(text: &str) -> Option<String> {
    let number = text.strip_prefix("Page r")?;
    let (number, rest) = number.split_once(' ')?;
    if !rest.starts_with("has order greater") {
        return None;
    }
    let (region, rest) = number.split_once('.')?;
    let (_, order) = rest.split_once('/')?;
    described(order.parse().ok()?, region.parse().ok()?)
}
