//! Chooses the commit of a damaged record file that is read: the newest one that can be identified.

use std::collections::HashSet;

use xxhash_rust::xxh3::xxh3_128;

use super::source::{ANY, PageSource, mend};
use super::walk::{Visited, walk};
use crate::error::Result;
use crate::records::pages::{
    Child, FORMAT_VERSION, HEADER_BYTES, LEAF, MAGIC, NOT_CLOSED, Node, PAGE_BYTES,
    PRIMARY_IS_SLOT_1, SLOT_BYTES, SLOT_SUMMED_BYTES, SLOTS_AT, TWO_PHASES, le, le_u128,
};
use crate::records::space::{Place, Space, Table};
use crate::value::Control;

/// If the header is lost, at most this many commits are walked.
const EXTENTS: usize = 64;

/// What a commit slot references.
#[derive(Clone, Copy, Debug)]
pub(super) struct Commit {
    /// The root of the tree that lists the tables.
    pub(super) tables: Option<Child>,
    /// The root of the tree that lists redb's own tables; `None` if unknown.
    pub(super) system: Option<Child>,
    /// redb's transaction number of the commit; `None` if unknown.
    pub(super) transaction: Option<u64>,
    /// The number of its slot; `None` if no slot references it.
    slot: Option<u8>,
}

/// The commit to read, and whether there may be a later one.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) commit: Option<Commit>,
    /// Why there may have been a later commit; `None` if this is the last one.
    pub(super) doubt: Option<&'static str>,
}

/// Reads a slot whose checksum matches, as it is or with one bit repaired.
fn slot(header: &[u8], number: u8) -> Option<Commit> {
    let at = SLOTS_AT + usize::from(number) * SLOT_BYTES;
    let mut slot = header.get(at..at + SLOT_BYTES)?.to_vec();
    let holds = |slot: &[u8]| {
        let summed = slot.get(..SLOT_SUMMED_BYTES).map(xxh3_128);
        summed.is_some() && summed == le_u128(slot, SLOT_SUMMED_BYTES)
    };
    // The checksum of zeros is not zero, so an empty slot does not match.
    if !holds(&slot) && !mend(&mut slot, holds) {
        return None;
    }
    if *slot.first()? != FORMAT_VERSION {
        return None;
    }
    let root = |flag: usize, at: usize| {
        slot.get(flag).filter(|flag| **flag != 0).and_then(|_| Child::root(&slot, at))
    };
    Some(Commit {
        tables: root(1, 8),
        system: root(2, 40),
        transaction: le(&slot, 104).map(u64::from_le_bytes),
        slot: Some(number),
    })
}

/// The pages of all tables of a commit.
struct Extent {
    /// Damaged pages, by number and checksum.
    damaged: HashSet<(u64, u128)>,
    /// Leaves whose checksums match, by number and checksum.
    named: HashSet<(u64, u128)>,
}

/// Walks all tables of a commit.
fn extent(source: &PageSource<'_>, tables: Option<Child>, control: &Control) -> Result<Extent> {
    let mut extent = Extent { damaged: HashSet::new(), named: HashSet::new() };
    let mut visited = Visited::new();
    let mut roots = vec![(true, tables)];
    while let Some((is_of_tables, root)) = roots.pop() {
        let walked = walk(source, root, ANY, &mut visited, control)?;
        let pages = |children: &mut dyn Iterator<Item = Child>| -> Vec<(u64, u128)> {
            children.map(|child| (child.number, child.sum)).collect()
        };
        extent.damaged.extend(pages(&mut walked.gaps.iter().filter_map(|gap| gap.page)));
        for leaf in walked.leaves {
            extent.named.insert((leaf.number, leaf.sum));
            if let (true, Some(page)) = (is_of_tables, source.page(leaf, ANY)) {
                let tables = Node { bytes: &page, widths: ANY }.tables();
                roots.extend(tables.into_iter().map(|table| (false, table.root)));
            }
        }
    }
    Ok(extent)
}

/// The commit sequence in a leaf of the table `state`, if the leaf has it.
pub(super) fn sequence_in(leaf: &Node<'_>) -> Option<u64> {
    let place: Place = Space::Meta.place();
    let wanted = place.key(b"state");
    let (_, value) =
        (0..leaf.count()).filter_map(|n| leaf.entry(n)).find(|(key, _)| *key == wanted.as_ref())?;
    if value.len() == 16 { le(value, 0).map(u64::from_be_bytes) } else { None }
}

/// Chooses the commit to read.
///
/// No checksum covers the header byte that says which slot is current. So both slots are judged by
/// their own checksums, and the one with the higher transaction number is newer. If the file was
/// not closed, a power cut may have torn the newest commit: its slot may be on the disk without all
/// its pages. So if a page is damaged that only the newest commit has, the commit before it is
/// read, as redb's repair would do. A damaged page that both commits share says nothing about a
/// torn commit.
///
/// If a slot is lost, all pages are searched for trees of tables. The one with the highest sequence
/// whose pages are all whole is read; if there is none, the one with the highest sequence. There is
/// no proof that it is the last commit, and the result says so.
pub(super) fn choose(source: &PageSource<'_>, control: &Control) -> Result<Chosen> {
    let header = source.bytes(0..HEADER_BYTES as u64).unwrap_or_default();
    let mut slots: Vec<Commit> = (0..2).filter_map(|number| slot(&header, number)).collect();
    slots.sort_by_key(|commit| std::cmp::Reverse(commit.transaction));
    let god = header.get(MAGIC.len()).copied().filter(|_| header.starts_with(MAGIC));
    if let [newest, before] = slots.as_slice() {
        // A two-phase commit makes its pages durable before it writes the byte that makes its slot
        // current.
        let counts = |god: u8| god & PRIMARY_IS_SLOT_1 == newest.slot.unwrap_or(u8::MAX);
        let is_durable = |god: u8| god & NOT_CLOSED == 0 || (god & TWO_PHASES != 0 && counts(god));
        if god.is_some_and(is_durable) {
            return Ok(Chosen { commit: Some(*newest), doubt: None });
        }
        let newest_extent = extent(source, newest.tables, control)?;
        if newest_extent.damaged.is_empty() {
            return Ok(Chosen { commit: Some(*newest), doubt: None });
        }
        let before_extent = extent(source, before.tables, control)?;
        let is_shared = |page: &(u64, u128)| {
            before_extent.damaged.contains(page) || before_extent.named.contains(page)
        };
        if newest_extent.damaged.iter().all(is_shared) {
            return Ok(Chosen { commit: Some(*newest), doubt: None });
        }
        if before_extent.named.is_empty() && !newest_extent.named.is_empty() {
            // Nothing of the commit before is left, so only the whole pages of the newest commit
            // can be read.
            let doubt = "the store was not closed, the last commit is not whole, and the one \
                         before it is lost";
            return Ok(Chosen { commit: Some(*newest), doubt: Some(doubt) });
        }
        let doubt = "the store was not closed, and the last commit is not whole: a power cut may \
                     have torn it";
        return Ok(Chosen { commit: Some(*before), doubt: Some(doubt) });
    }
    // Most trees that are found here are of much older commits, whose pages have been reused since.
    // A repair of them would be wrong or wasted.
    let source = source.without_mending();
    let mut found: Vec<(u64, Commit)> = Vec::new();
    if let Some(known) = slots.first() {
        found.push((sequence_of(&source, known.tables, control)?, *known));
    }
    let mut at = PAGE_BYTES;
    while at + PAGE_BYTES <= source.len() {
        control.check()?;
        if let Some(tables) = definitions(&source, at) {
            let commit =
                Commit { tables: Some(tables), system: None, transaction: None, slot: None };
            found.push((sequence_of(&source, commit.tables, control)?, commit));
        }
        at += PAGE_BYTES;
    }
    // The sort is stable: a commit of a slot stays before others with the same sequence.
    found.sort_by_key(|(sequence, _)| std::cmp::Reverse(*sequence));
    let mut commit = found.first().map(|(_, commit)| *commit);
    for (_, newest) in found.iter().take(EXTENTS) {
        if extent(&source, newest.tables, control)?.damaged.is_empty() {
            commit = Some(*newest);
            break;
        }
    }
    let doubt = "the header that names the last commit is damaged; the newest commit that is whole \
                 was read";
    Ok(Chosen { commit, doubt: Some(doubt) })
}

/// The sequence of the commit with this tree of tables; 0 if it cannot be read.
fn sequence_of(source: &PageSource<'_>, tables: Option<Child>, control: &Control) -> Result<u64> {
    let mut visited = Visited::new();
    let mut sequence = 0;
    for leaf in walk(source, tables, ANY, &mut visited, control)?.leaves {
        let Some(page) = source.page(leaf, ANY) else { continue };
        let tables = Node { bytes: &page, widths: ANY }.tables();
        for table in tables.into_iter().filter(|table| table.name == Table::State.name()) {
            for leaf in walk(source, table.root, ANY, &mut visited, control)?.leaves {
                let Some(page) = source.page(leaf, ANY) else { continue };
                let leaf = Node { bytes: &page, widths: ANY };
                sequence = sequence_in(&leaf).unwrap_or(0).max(sequence);
            }
        }
    }
    Ok(sequence)
}

/// The tree of tables whose only page begins at `at`, if there is one.
fn definitions(source: &PageSource<'_>, at: u64) -> Option<Child> {
    let page = source.bytes(at..at + PAGE_BYTES)?;
    let node = Node { bytes: &page, widths: ANY };
    if node.kind() != Some(LEAF) || node.count() != Table::COUNT as u64 {
        return None;
    }
    let tables = node.tables();
    let is_ours = |table: &Table| tables.iter().any(|found| found.name == table.name());
    if tables.len() != Table::COUNT || !Table::ALL.iter().all(is_ours) {
        return None;
    }
    let index = (at - PAGE_BYTES) / PAGE_BYTES;
    // The number of a page of order 0: its region, then its index in the region.
    let number = (index >> 20) << 20 | (index & 0xF_FFFF);
    Some(Child { number, sum: xxh3_128(node.summed()?) })
}
