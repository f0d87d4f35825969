//! Finds leaves whose parents are damaged, and readable entries of damaged leaves.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::check::Check;
use super::commit::sequence_in;
use super::live::Live;
use super::source::{ANY, PageSource, span};
use super::walk::{PageRanges, TreeWalk};
use crate::error::Result;
use crate::records::file::pages::{LEAF, Node, PAGE_BYTES};
use crate::records::space::{Table, is_journal_link, space_of};
use crate::records::{Collection, Space, Sum, Sums};
use crate::value::Control;

/// Limit of the length of a leaf. A value has at most the bytes of one append, and no leaf has many
/// long values.
const LEAF_BYTES: u64 = 256 * 1024 * 1024;
type Checker<'c> = &'c dyn Fn(Space, &[u8], &[u8]) -> Check;

/// A leaf that the last commit uses and that no readable page references, in a gap of a table.
pub(super) struct Candidate {
    pub(super) table: Table,
    pub(super) place: Range<u64>,
    /// The count and the hashes of its entries, for each collection.
    pub(super) parts: BTreeMap<Collection, Sum>,
    /// The row of the sums, if the leaf has it.
    pub(super) sums: Option<Sums>,
}

/// An entry of a damaged leaf whose own checksum matches.
pub(super) struct Partial {
    pub(super) space: Space,
    pub(super) key: Vec<u8>,
    pub(super) value: Vec<u8>,
    /// Whether another page has another version of it.
    pub(super) has_rival: bool,
}

/// The entries of damaged leaves whose own checksums match.
pub(super) fn partial(
    source: &PageSource<'_>,
    tables: &[(Table, TreeWalk)],
    check: Checker<'_>,
) -> Vec<Partial> {
    let mut found = Vec::new();
    for (table, walked) in tables.iter().filter(|(table, _)| *table != Table::Index) {
        for gap in &walked.gaps {
            let Some(page) = gap.page.and_then(|page| source.unchecked(page)) else { continue };
            let node = Node { bytes: &page, widths: ANY };
            if node.kind() != Some(LEAF) {
                continue;
            }
            let (mut whole, mut is_other) = (Vec::new(), true);
            for n in 0..node.count() {
                if node.entry(n).is_some_and(|(key, _)| is_journal_link(*table, key)) {
                    continue;
                }
                let entry = node.entry(n).filter(|(key, _)| gap.contains(key));
                let entry = entry.and_then(|(key, value)| {
                    space_of(*table, key).map(|(space, key)| (space, key, value))
                });
                match entry {
                    Some((space, key, value)) if check(space, key, value) == Check::Whole => {
                        whole.push(Partial {
                            space,
                            key: key.to_vec(),
                            value: value.to_vec(),
                            has_rival: false,
                        });
                    }
                    _ => is_other = false,
                }
            }
            // If all entries match, the leaf is not damaged but another page: an earlier version,
            // or one of another place.
            if !is_other {
                found.append(&mut whole);
            }
        }
    }
    found
}

/// Reads all pages that no tree references. Collects the leaves in gaps that `live` says are in
/// use, marks the `partial` entries that have another version elsewhere, and finds the highest
/// sequence.
///
/// After anything but a page in use, the scan advances by one page: the size of an unreferenced
/// page is not known, so the next leaf may begin at any page.
#[expect(clippy::too_many_arguments, reason = "one pass over the file does all that needs one")]
pub(super) fn scan(
    source: &PageSource<'_>,
    visited: &PageRanges,
    live: Option<&Live>,
    tables: &[(Table, TreeWalk)],
    check: Checker<'_>,
    partial: &mut [Partial],
    newest_sequence: &mut u64,
    control: &Control,
) -> Result<Vec<Candidate>> {
    let mut rivals: BTreeMap<(Space, Vec<u8>), usize> = BTreeMap::new();
    for (number, part) in partial.iter().enumerate() {
        rivals.insert((part.space, part.key.clone()), number);
    }
    // Places that the commit references with another checksum: the content may be of an earlier
    // commit.
    let gaps = tables.iter().flat_map(|(_, walked)| &walked.gaps);
    let foreign: BTreeSet<u64> =
        gaps.filter_map(|gap| source.place(gap.page?)).map(|place| place.start).collect();
    let mut candidates = Vec::new();
    let mut at = PAGE_BYTES;
    while at < source.len() {
        control.check()?;
        if let Some((_, end)) = visited.range(..=at).next_back().filter(|(_, end)| at < **end) {
            at = *end;
            continue;
        }
        let Some(page) = leaf(source, at) else {
            at += PAGE_BYTES;
            continue;
        };
        let node = Node { bytes: &page, widths: ANY };
        *newest_sequence = sequence_in(&node).unwrap_or(0).max(*newest_sequence);
        for table in Table::ALL.into_iter().filter(|_| !rivals.is_empty()) {
            for (space, key, value) in entries(&node, table) {
                let Some(part) =
                    rivals.get(&(space, key.to_vec())).and_then(|number| partial.get_mut(*number))
                else {
                    continue;
                };
                if part.value != value && check(space, key, value) == Check::Whole {
                    part.has_rival = true;
                }
            }
        }
        let is_used = live.is_some_and(|live| live.contains(at));
        if is_used && !foreign.contains(&at) {
            let place = at..at + page.len() as u64;
            let of = |(table, walked): &(Table, TreeWalk)| {
                candidate(&node, place.clone(), *table, walked, check)
            };
            // The page is of one table, which nothing names if its parent is lost.
            let best = tables.iter().filter_map(of).max_by_key(|(fit, _)| *fit);
            candidates.extend(best.map(|(_, candidate)| candidate));
        }
        // A page in use cannot contain another page.
        at += if is_used { span(page.len() as u64) } else { PAGE_BYTES };
    }
    Ok(candidates)
}

/// Reads the leaf that begins at `at`; `None` if it is no leaf, or if its entries are not in bounds
/// and in ascending order.
pub(super) fn leaf(source: &PageSource<'_>, at: u64) -> Option<Vec<u8>> {
    // The file may end in the unused end of the page.
    let head = source.bytes(at..(at + PAGE_BYTES).min(source.len()))?;
    let node = Node { bytes: &head, widths: ANY };
    let last = node.count().checked_sub(1)?;
    if node.kind() != Some(LEAF) {
        return None;
    }
    // In a large leaf with many entries, the list of ends may itself be longer than a page.
    let lists = 4 + 8 * node.count();
    let lists = if lists > PAGE_BYTES { source.bytes(at..at + lists)? } else { head };
    let end = Node { bytes: &lists, widths: ANY }.value_end(last)?;
    if end > LEAF_BYTES {
        return None;
    }
    let page = source.bytes(at..at + end)?;
    let node = Node { bytes: &page, widths: ANY };
    let mut before: Option<&[u8]> = None;
    for n in 0..node.count() {
        let (key, _) = node.entry(n)?;
        if before.is_some_and(|before| before >= key) {
            return None;
        }
        before = Some(key);
    }
    Some(page)
}

/// The entries of a leaf, read as a leaf of this table.
fn entries<'n>(
    node: &'n Node<'n>,
    table: Table,
) -> impl Iterator<Item = (Space, &'n [u8], &'n [u8])> + 'n {
    let pairs = (0..node.count()).filter_map(|n| node.entry(n));
    pairs.filter_map(move |(key, value)| {
        space_of(table, key).map(|(space, key)| (space, key, value))
    })
}

/// How well the entries of a leaf fit a table: damaged ones, those whose own checksums match, and
/// how few other entries would fit as well.
type Fit = (Reverse<u64>, u64, Reverse<u8>);

/// Entries of these tables have any value, so that those of others fit as well.
fn generality(table: Table) -> u8 {
    match table {
        Table::SmallBlobs => 2,
        Table::Positions => 1,
        _ => 0,
    }
}

/// The leaf as one of this table, if it lies in a gap of it and its entries are valid there.
///
/// A leaf with entries that fail their own checksum still counts, as long as more of them match: it
/// is then a damaged leaf and not arbitrary bytes.
fn candidate(
    node: &Node<'_>,
    place: Range<u64>,
    table: Table,
    walked: &TreeWalk,
    check: Checker<'_>,
) -> Option<(Fit, Candidate)> {
    if table == Table::Index || walked.gaps.is_empty() {
        return None;
    }
    let (first, _) = node.entry(0)?;
    let (last, _) = node.entry(node.count().checked_sub(1)?)?;
    if !walked.gaps.iter().any(|gap| gap.contains(first) && gap.contains(last)) {
        return None;
    }
    let mut candidate = Candidate { table, place, parts: BTreeMap::new(), sums: None };
    let (mut whole, mut damaged) = (0, 0);
    for n in 0..node.count() {
        let (full, value) = node.entry(n)?;
        if is_journal_link(table, full) {
            continue;
        }
        let (space, key) = space_of(table, full)?;
        match check(space, key, value) {
            Check::Damaged => damaged += 1,
            Check::Whole => whole += 1,
            Check::Unsummed => {}
        }
        match Collection::of(space, key) {
            Some(collection) => candidate.parts.entry(collection).or_default().add(key, value),
            None if space == Space::Meta => candidate.sums = Sums::read(value),
            None => {}
        }
    }
    let fit = (Reverse(damaged), whole, Reverse(generality(table)));
    (damaged == 0 || whole > damaged).then_some((fit, candidate))
}
