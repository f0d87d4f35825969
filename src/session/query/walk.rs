//! Reads index entries and records for a query.

use std::collections::HashSet;

use super::offers::Set;
use super::scan::{OrderedScan, Scan};
use crate::error::{Error, Result};
use crate::records::Space;
use crate::records::keys::{index_prefix, split_index_key};
use crate::session::Visibility;
use crate::session::view::{RECORDS_BETWEEN_CHECKS, View};
use crate::value::id::{Kind, RecordKey};
use crate::value::key;

/// Entries between two checks of the deadline.
const BETWEEN_CHECKS: u64 = 4096;

/// Calls `f` with the record key and workspace of each entry of a scan that passes its tests, until
/// it returns false. Returns the number of entries read.
fn each_entry(
    view: &View<'_>,
    kind: Kind,
    scan: &Scan,
    mut f: impl FnMut(RecordKey, &[u8]) -> bool,
) -> Result<u64> {
    let mut entries = 0;
    for (from, to) in &scan.spans {
        view.context().check_deadline()?;
        let mut cursor = view.index_range(kind, scan.index, from, to)?;
        while let Some(go_on) = cursor.visit(false, |bytes, value| {
            let Some(workspace) = scan.admits(value) else { return true };
            split_index_key(kind, bytes).is_none_or(|(_, key)| f(key, workspace))
        })? {
            entries += 1;
            if entries % BETWEEN_CHECKS == 0 {
                view.context().check_deadline()?;
            }
            if !go_on {
                return Ok(entries);
            }
        }
    }
    Ok(entries)
}

/// The number of entries of a scan; exact if it is at most `most`.
fn size(view: &View<'_>, kind: Kind, scan: &Scan, most: u64) -> Result<u64> {
    let mut size = 0u64;
    for (from, to) in &scan.spans {
        view.context().check_deadline()?;
        size += view.count_entries(kind, scan.index, from, to, most.saturating_sub(size))?;
        if size > most {
            break;
        }
    }
    Ok(size)
}

/// Counts the entries of all sets up to a cap, and raises the cap until one set is counted
/// completely or the cap reaches `limit`. Returns the sizes of the sets that were counted
/// completely. The size of keys is known.
pub(super) fn race(
    view: &View<'_>,
    kind: Kind,
    sets: &[&Set],
    limit: usize,
) -> Result<Vec<Option<usize>>> {
    const FIRST: usize = 1_024;
    const FACTOR: usize = 8;
    let mut cap = FIRST.min(limit);
    loop {
        let mut sizes = Vec::with_capacity(sets.len());
        for set in sets {
            if let Set::Keys(keys) = set {
                sizes.push(Some(keys.len()));
                continue;
            }
            let mut total = 0;
            for scan in set.scans() {
                total += usize::try_from(size(view, kind, scan, (cap - total.min(cap)) as u64)?)
                    .unwrap_or(usize::MAX / 2);
                if total > cap {
                    break;
                }
            }
            sizes.push((total <= cap).then_some(total));
        }
        if cap >= limit || sizes.iter().any(Option::is_some) {
            return Ok(sizes);
        }
        cap = cap.saturating_mul(FACTOR).min(limit);
    }
}

/// The keys that are in all sets, in order, of entries only those of visible records; and the
/// number of entries read.
pub(super) fn gather(
    view: &View<'_>,
    kind: Kind,
    sets: &[Set],
    visibility: &Visibility,
) -> Result<(Vec<RecordKey>, u64)> {
    let mut entries = 0;
    let mut common: Option<Vec<RecordKey>> = None;
    for set in sets {
        let mut keys = if let Set::Keys(keys) = set { keys.clone() } else { Vec::new() };
        for scan in set.scans() {
            entries += each_entry(view, kind, scan, |key, workspace| {
                if sees(visibility, workspace) {
                    keys.push(key);
                }
                true
            })?;
        }
        keys.sort_unstable();
        keys.dedup();
        common = Some(match common {
            None => keys,
            Some(known) => {
                known.into_iter().filter(|key| keys.binary_search(key).is_ok()).collect()
            }
        });
    }
    Ok((common.unwrap_or_default(), entries))
}

/// The number of visible records that are in all sets; and the number of entries read.
pub(super) fn count(
    view: &View<'_>,
    kind: Kind,
    sets: &[Set],
    visibility: &Visibility,
) -> Result<(u64, u64)> {
    if let [set] = sets
        && let [scan] = set.scans()
        && scan.distinct
    {
        if scan.tests.is_empty() && *visibility == Visibility::All {
            // Counted from the sizes of the index, without reading its entries.
            return Ok((size(view, kind, scan, u64::MAX)?, 0));
        }
        let mut found = 0;
        let entries = each_entry(view, kind, scan, |_, workspace| {
            found += u64::from(sees(visibility, workspace));
            true
        })?;
        return Ok((found, entries));
    }
    gather(view, kind, sets, visibility).map(|(keys, entries)| (keys.len() as u64, entries))
}

fn sees(visibility: &Visibility, workspace: &[u8]) -> bool {
    match visibility {
        Visibility::All => true,
        visibility => {
            std::str::from_utf8(workspace).is_ok_and(|workspace| visibility.allows(workspace))
        }
    }
}

/// The error for a record that an index names but the store does not have.
pub(super) fn missing(kind: Kind, key: RecordKey) -> Error {
    Error::corrupt(format!("records.redb: an index names a {} that does not exist", kind.name))
        .with_resource(kind.name, key.to_id(kind.id))
}

/// How a walk of an ordered index ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WalkEnd {
    /// At the end of the index, or because the caller stopped it.
    Done,
    /// It read as many entries as its budget allows.
    OutOfBudget,
}

/// A walk of an index in the order of a query.
pub(super) struct OrderedWalk<'w> {
    pub(super) ordered: &'w OrderedScan,
    /// Whether ties are in descending order of the record keys.
    pub(super) key_descending: bool,
    /// The sort key after which the page starts.
    pub(super) after: Option<&'w [u8]>,
    /// If set, only these records are returned.
    pub(super) within: Option<&'w HashSet<RecordKey>>,
    pub(super) visibility: &'w Visibility,
    /// Most entries to read.
    pub(super) budget: u64,
}

fn inverted(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| !byte).collect()
}

impl OrderedWalk<'_> {
    /// Whether each group of equal entries must be reversed. A backward walk reads the entries of a
    /// group in descending key order; this is wrong if ties are ascending.
    fn turns_groups(&self) -> bool {
        self.ordered.descending && self.ordered.has_terms && !self.key_descending
    }

    /// The part of the range after the start of the page. If groups are reversed, it includes the
    /// whole group in which the last page ended: the records of the group that are still to come
    /// have greater keys, so a backward walk reads them first.
    fn bounds(&self, kind: Kind) -> Option<(Vec<u8>, Vec<u8>)> {
        let (from, to) = self.ordered.scan.spans.first()?;
        let index = self.ordered.scan.index;
        let full = |entry: &[u8]| index_prefix(kind, index, entry);
        let Some(after) = self.after else { return Some((full(from), full(to))) };
        let behind = |rest: &[u8]| full(&[self.ordered.prefix.as_slice(), rest].concat());
        if !self.ordered.descending {
            return Some((behind(after).max(full(from)), full(to)));
        }
        let end = if self.turns_groups() {
            let values = inverted(after.get(..after.len().checked_sub(kind.id.key_len())?)?);
            key::after_prefix(&behind(&values))?
        } else {
            behind(&inverted(after))
        };
        Some((full(from), end.min(full(to))))
    }

    /// Calls `f` with the key of each record in order until it returns false. Returns how the walk
    /// ended and the number of entries read.
    pub(super) fn run(
        &self,
        view: &View<'_>,
        kind: Kind,
        f: &mut dyn FnMut(RecordKey) -> Result<bool>,
    ) -> Result<(WalkEnd, u64)> {
        let Some((from, to)) = self.bounds(kind) else {
            return Err(Error::invalid(
                "the continuation token does not fit the query; start the query again without one",
            )
            .at_member("continuationToken"));
        };
        let mut emitted = 0;
        let mut emit = |key: RecordKey| -> Result<bool> {
            emitted += 1;
            if emitted % RECORDS_BETWEEN_CHECKS == 0 {
                view.context().check_deadline()?;
            }
            f(key)
        };
        let turns = self.turns_groups();
        // The first group is read as a whole, so records of earlier pages are skipped: those with
        // keys up to the last one.
        let passed = self.after.filter(|_| turns).and_then(|after| {
            let (values, last) =
                after.split_at_checked(after.len().checked_sub(kind.id.key_len())?)?;
            Some(([self.ordered.prefix.as_slice(), &inverted(values)].concat(), last))
        });
        let mut entries = 0;
        let mut group: Vec<RecordKey> = Vec::new();
        let mut group_entry: Vec<u8> = Vec::new();
        if from < to {
            let mut cursor = view.source().cursor(Space::Index, &from, Some(&to))?;
            loop {
                let visited = cursor.visit(self.ordered.descending, |bytes, value| {
                    // The value of an entry excludes most unwanted records, before the key is
                    // split.
                    self.ordered
                        .scan
                        .admits(value)
                        .filter(|workspace| sees(self.visibility, workspace))?;
                    let (entry, key) = split_index_key(kind, bytes)?;
                    if self.within.is_some_and(|keys| !keys.contains(&key))
                        || passed.as_ref().is_some_and(|(values, last)| {
                            entry == values && key.as_bytes() <= *last
                        })
                    {
                        return None;
                    }
                    let new_group = turns && entry != group_entry.as_slice();
                    if new_group {
                        group_entry.clear();
                        group_entry.extend_from_slice(entry);
                    }
                    Some((new_group, key))
                })?;
                let Some(visited) = visited else { break };
                entries += 1;
                if entries % BETWEEN_CHECKS == 0 {
                    view.context().check_deadline()?;
                }
                if let Some((new_group, key)) = visited {
                    if new_group {
                        for key in group.drain(..).rev() {
                            if !emit(key)? {
                                return Ok((WalkEnd::Done, entries));
                            }
                        }
                    }
                    if turns {
                        group.push(key);
                    } else if !emit(key)? {
                        return Ok((WalkEnd::Done, entries));
                    }
                }
                if entries >= self.budget {
                    return Ok((WalkEnd::OutOfBudget, entries));
                }
            }
        }
        for key in group.drain(..).rev() {
            if !emit(key)? {
                break;
            }
        }
        Ok((WalkEnd::Done, entries))
    }
}
