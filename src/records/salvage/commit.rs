//! Chooses the commit of a damaged record file that is read: the newest one that the header names.

use std::collections::HashSet;

use xxhash_rust::xxh3::xxh3_128;

use super::source::{ANY, PageSource};
use super::walk::{PageRanges, walk};
use crate::error::Result;
use crate::records::file::pages::{
    Child, FORMAT_VERSION, HEADER_BYTES, MAGIC, NOT_CLOSED, Node, PRIMARY_IS_SLOT_1, SLOT_BYTES,
    SLOT_SUMMED_BYTES, SLOTS_AT, TWO_PHASES, le, le_u128,
};
use crate::records::space::{Space, TablePrefix};
use crate::value::Control;

/// What a commit slot references.
#[derive(Clone, Copy, Debug)]
pub(super) struct Commit {
    /// The root of the tree that lists the tables.
    pub(super) tables: Option<Child>,
    /// The root of the tree that lists redb's own tables; `None` if unknown.
    pub(super) system: Option<Child>,
    /// redb's transaction number of the commit; `None` if unknown.
    pub(super) transaction: Option<u64>,
    /// The number of its slot.
    slot: u8,
}

/// The commit to read, and whether there may be a later one.
#[derive(Debug)]
pub(super) struct CommitChoice {
    pub(super) commit: Option<Commit>,
    /// Why there may have been a later commit; `None` if this is the last one.
    pub(super) doubt: Option<&'static str>,
}

/// Reads a slot whose checksum matches. That of an empty slot does not, since the checksum of zeros
/// is not zero.
fn slot(header: &[u8], number: u8) -> Option<Commit> {
    let at = SLOTS_AT + usize::from(number) * SLOT_BYTES;
    let slot = header.get(at..at + SLOT_BYTES)?;
    if slot.get(..SLOT_SUMMED_BYTES).map(xxh3_128) != le_u128(slot, SLOT_SUMMED_BYTES) {
        return None;
    }
    if *slot.first()? != FORMAT_VERSION {
        return None;
    }
    let root = |flag: usize, at: usize| {
        slot.get(flag).filter(|flag| **flag != 0).and_then(|_| Child::root(slot, at))
    };
    Some(Commit {
        tables: root(1, 8),
        system: root(2, 40),
        transaction: le(slot, 104).map(u64::from_le_bytes),
        slot: number,
    })
}

/// The commit of the slot with the highest transaction number. It is the last one while the file is
/// open and nobody writes it.
pub(super) fn newest(source: &PageSource<'_>) -> Option<Commit> {
    let header = source.bytes(0..HEADER_BYTES as u64)?;
    (0..2).filter_map(|number| slot(&header, number)).max_by_key(|commit| commit.transaction)
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
    let mut visited = PageRanges::new();
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
    let place: TablePrefix = Space::Meta.place();
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
/// If a slot is lost, the commit of the other one is read. There is no proof that it is the last
/// one, and the result says so. If both are lost, no page is known to be of the last commit, and
/// nothing is read: pages of earlier commits look just as valid.
pub(super) fn choose(source: &PageSource<'_>, control: &Control) -> Result<CommitChoice> {
    let header = source.bytes(0..HEADER_BYTES as u64).unwrap_or_default();
    let mut slots: Vec<Commit> = (0..2).filter_map(|number| slot(&header, number)).collect();
    slots.sort_by_key(|commit| std::cmp::Reverse(commit.transaction));
    let god = header.get(MAGIC.len()).copied().filter(|_| header.starts_with(MAGIC));
    if let [newest, before] = slots.as_slice() {
        // A two-phase commit makes its pages durable before it writes the byte that makes its slot
        // current.
        let counts = |god: u8| god & PRIMARY_IS_SLOT_1 == newest.slot;
        let is_durable = |god: u8| god & NOT_CLOSED == 0 || (god & TWO_PHASES != 0 && counts(god));
        if god.is_some_and(is_durable) {
            return Ok(CommitChoice { commit: Some(*newest), doubt: None });
        }
        let newest_extent = extent(source, newest.tables, control)?;
        if newest_extent.damaged.is_empty() {
            return Ok(CommitChoice { commit: Some(*newest), doubt: None });
        }
        let before_extent = extent(source, before.tables, control)?;
        let is_shared = |page: &(u64, u128)| {
            before_extent.damaged.contains(page) || before_extent.named.contains(page)
        };
        if newest_extent.damaged.iter().all(is_shared) {
            return Ok(CommitChoice { commit: Some(*newest), doubt: None });
        }
        if before_extent.named.is_empty() && !newest_extent.named.is_empty() {
            // Nothing of the commit before is left, so only the whole pages of the newest commit
            // can be read.
            let doubt = "the store was not closed, the last commit is not whole, and the one \
                         before it is lost";
            return Ok(CommitChoice { commit: Some(*newest), doubt: Some(doubt) });
        }
        let doubt = "the store was not closed, and the last commit is not whole: a power cut may \
                     have torn it";
        return Ok(CommitChoice { commit: Some(*before), doubt: Some(doubt) });
    }
    let commit = slots.first().copied();
    let doubt = match commit {
        Some(_) => "a part of the header is damaged that may name a later commit",
        None => "the header that names the last commit is damaged",
    };
    Ok(CommitChoice { commit, doubt: Some(doubt) })
}
