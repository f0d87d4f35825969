//! Reads a damaged record file page by page, without redb and without writing.
//!
//! redb stops at the first damaged page, and a damaged branch hides whole leaves. So the trees are
//! walked here, from the root of the last commit down. Each page is compared with the XXH3-128
//! checksum in its parent. An entry that is reached in this way is proven to be of the last commit.
//!
//! The leaves below a damaged branch are no longer referenced. They lie among leaves of earlier
//! commits, whose entries look just as valid. An entry of such a leaf is taken only if redb's own
//! bookkeeping of the last commit says that the page is in use, and the entry's own checksum
//! matches.
//!
//! The entries of a damaged leaf whose own checksums match are taken as well, but reported as
//! unproven: the bytes of an earlier version of the page would look the same. Such an entry is left
//! out in three cases:
//! - All entries of the leaf match. Then the whole page is another version, or another page.
//! - Another page has another version of the entry.
//! - The collection's count shows that at least one of these entries is wrong.
//!
//! The last commit stored the count and the sum of hashes of each collection (see `sums`). If they
//! equal those of all entries that were found, each of these is proven.

mod check;
mod commit;
mod live;
pub(crate) mod mend;
mod scan;
mod source;
mod walk;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use self::check::Check;
use self::commit::{choose, sequence_in};
use self::live::Live;
use self::scan::{Candidate, Partial, partial, scan};
use self::source::{ANY, PageSource};
use self::walk::{Gap, PageRanges, TreeWalk, walk};
use super::file::pages::{Child, Node};
use super::journal::Link;
use super::space::{Table, is_journal_link, space_of};
use super::{Collection, Space, Sum, Sums};
use crate::disk::DiskFile;
use crate::error::Result;
use crate::value::Control;

/// How certain it is that an entry is of the last commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// A chain of checksums leads from the last commit to the entry, or what the last commit says
    /// of its pages or of its sums does.
    Proven,
    /// Only the entry's own bytes say so.
    Unproven,
}

/// Lost entries: keys of a collection after `after`, up to `upto` (included). `None` means the
/// start or the end of the collection.
#[derive(Clone, Debug)]
pub(crate) struct LostEntries {
    /// The collection.
    pub(crate) collection: Collection,
    /// The last key before the lost ones.
    pub(crate) after: Option<Vec<u8>>,
    /// The last key that may be lost.
    pub(crate) upto: Option<Vec<u8>>,
    /// How many entries the whole collection has lost, if known.
    pub(crate) entries: Option<u64>,
    /// The reason, for the report.
    pub(crate) reason: &'static str,
}

/// The result of reading a damaged record file, in addition to its entries.
#[derive(Debug, Default)]
pub(crate) struct SalvageResult {
    /// The lost entries.
    pub(crate) lost: Vec<LostEntries>,
    /// Why there may have been a later commit than the one that was read; `None` if there was none.
    pub(crate) doubt: Option<&'static str>,
    /// The highest commit sequence that is found in any page of the file, of whatever commit.
    pub(crate) newest_sequence: u64,
    /// Spaces of which entries are or may be lost.
    pub(crate) damaged: BTreeSet<Space>,
    /// Which journal continues the file; `None` if that is lost, or if there is none.
    pub(crate) link: Option<Link>,
}

const PAGE: &str = "a page of records.redb is damaged";
const BRANCH: &str = "the parent page in records.redb is damaged";
const SILENT: &str = "the entries differ from those that the last commit counted";
const DAMAGED: &str = "its checksum does not match";

/// Reads the entries of all spaces except the index, whose entries can be rebuilt from the records.
///
/// `check` verifies an entry by its own checksum. `emit` is called once for each entry, in no
/// order.
///
/// # Errors
/// The errors of `control` and of `emit`. Damage is not an error: the result reports it.
pub(crate) fn read(
    file: &dyn DiskFile,
    check: &dyn Fn(Space, &[u8], &[u8]) -> Check,
    control: &Control,
    emit: &mut dyn FnMut(Space, &[u8], &[u8], Proof) -> Result<()>,
) -> Result<SalvageResult> {
    let source = PageSource::new(file, file.len().unwrap_or(0));
    let chosen = choose(&source, control)?;
    let mut visited = PageRanges::new();
    let tables = match &chosen.commit {
        Some(commit) => walk_tables(&source, commit.tables, &mut visited, control)?,
        None => all_lost(),
    };
    let mut reading = Reading {
        source: &source,
        check,
        control,
        tables,
        candidates: Vec::new(),
        partial: Vec::new(),
        taken: BTreeMap::new(),
        salvaged: SalvageResult { doubt: chosen.doubt, ..SalvageResult::default() },
    };
    let has_gaps =
        |(table, walked): &(Table, TreeWalk)| *table != Table::Index && !walked.gaps.is_empty();
    if reading.tables.iter().any(has_gaps) {
        let live = match &chosen.commit {
            Some(commit) => Live::of(&source, commit, &mut visited, control)?,
            None => None,
        };
        reading.partial = partial(&source, &reading.tables, check);
        reading.candidates = scan(
            &source,
            &visited,
            live.as_ref(),
            &reading.tables,
            check,
            &mut reading.partial,
            &mut reading.salvaged.newest_sequence,
            control,
        )?;
    } else if chosen.doubt.is_some() {
        // Only to find the highest sequence.
        let newest = &mut reading.salvaged.newest_sequence;
        scan(&source, &visited, None, &[], check, &mut Vec::new(), newest, control)?;
    }
    reading.run(emit)
}

/// Walks the tables of a commit. A table that no readable page names is one gap.
fn walk_tables(
    source: &PageSource<'_>,
    root: Option<Child>,
    visited: &mut PageRanges,
    control: &Control,
) -> Result<Vec<(Table, TreeWalk)>> {
    let names = walk(source, root, ANY, visited, control)?;
    // A damaged page with names may look like a leaf of a table whose keys are names.
    let damaged = names.gaps.iter().filter_map(|gap| source.place(gap.page?));
    visited.extend(damaged.map(|place| (place.start, place.end)));
    let mut roots = BTreeMap::new();
    for leaf in names.leaves {
        let Some(page) = source.page(leaf, ANY) else { continue };
        let tables = Node { bytes: &page, widths: ANY }.tables();
        roots.extend(tables.into_iter().map(|table| (table.name, table.root)));
    }
    let walked = Table::ALL.into_iter().map(|table| match roots.get(table.name()) {
        Some(root) => Ok((table, walk(source, *root, ANY, visited, control)?)),
        None => Ok((table, TreeWalk { gaps: vec![Gap::everything()], ..TreeWalk::default() })),
    });
    walked.collect()
}

fn all_lost() -> Vec<(Table, TreeWalk)> {
    let gap = |table| (table, TreeWalk { gaps: vec![Gap::everything()], ..TreeWalk::default() });
    Table::ALL.into_iter().map(gap).collect()
}

/// What is taken of a collection in addition to the entries that a chain of checksums leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum More {
    /// Nothing: these are all.
    None,
    /// All that was found, each of them proven: together they have the sum that the commit stored.
    Exact,
    /// The leaves in use. At least one entry of the damaged leaves is wrong, so none is taken.
    InUse,
    /// The leaves in use, and what damaged leaves have.
    All,
}

struct Reading<'r> {
    source: &'r PageSource<'r>,
    check: &'r dyn Fn(Space, &[u8], &[u8]) -> Check,
    control: &'r Control,
    tables: Vec<(Table, TreeWalk)>,
    candidates: Vec<Candidate>,
    partial: Vec<Partial>,
    /// Count and hashes of the entries emitted so far, for each collection.
    taken: BTreeMap<Collection, Sum>,
    salvaged: SalvageResult,
}

impl Reading<'_> {
    fn run(
        mut self,
        emit: &mut dyn FnMut(Space, &[u8], &[u8], Proof) -> Result<()>,
    ) -> Result<SalvageResult> {
        let (written, proven) = self.sums()?;
        let more = written.as_ref().map(|written| self.more(written, &proven)).unwrap_or_default();
        let more = |collection| more.get(&collection).copied().unwrap_or(More::All);
        self.emit_proven(emit)?;
        self.emit_candidates(&more, emit)?;
        for Partial { space, key, value, has_rival } in std::mem::take(&mut self.partial) {
            let Some(collection) = Collection::of(space, &key) else { continue };
            let proof = match more(collection) {
                More::Exact => Proof::Proven,
                More::All if !has_rival => Proof::Unproven,
                _ => continue,
            };
            self.taken.entry(collection).or_default().add(&key, &value);
            emit(space, &key, &value, proof)?;
        }
        self.tell_lost(written.as_ref());
        Ok(self.salvaged)
    }

    /// Calls `f` with each proven entry.
    fn for_each_proven(
        &mut self,
        mut f: impl FnMut(&mut SalvageResult, Table, Space, &[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        for (table, walked) in self.tables.iter().filter(|(table, _)| *table != Table::Index) {
            for leaf in &walked.leaves {
                self.control.check()?;
                let Some(page) = self.source.page(*leaf, ANY) else { continue };
                let node = Node { bytes: &page, widths: ANY };
                if *table == Table::State {
                    let newest = &mut self.salvaged.newest_sequence;
                    *newest = sequence_in(&node).unwrap_or(0).max(*newest);
                }
                for (key, value) in (0..node.count()).filter_map(|n| node.entry(n)) {
                    if is_journal_link(*table, key) {
                        self.salvaged.link = Link::from_row(value);
                    }
                    let Some((space, key)) = space_of(*table, key) else { continue };
                    f(&mut self.salvaged, *table, space, key, value)?;
                }
            }
        }
        Ok(())
    }

    /// The sums that the last commit wrote, and those of the proven entries.
    fn sums(&mut self) -> Result<(Option<Sums>, BTreeMap<Collection, Sum>)> {
        let mut written = None;
        let mut proven = BTreeMap::<Collection, Sum>::new();
        self.for_each_proven(|_, _, space, key, value| {
            match Collection::of(space, key) {
                Some(collection) => proven.entry(collection).or_default().add(key, value),
                None if space == Space::Meta => written = Sums::read(value),
                None => {}
            }
            Ok(())
        })?;
        if written.is_none() {
            // Only one of the pages that the last commit uses can have the row. If several
            // candidates have it, none is trusted.
            let mut rows = self.candidates.iter().filter_map(|candidate| candidate.sums.clone());
            written = rows.next().filter(|_| rows.next().is_none());
        }
        Ok((written, proven))
    }

    /// Compares what was found of each collection with the sums that the last commit stored.
    fn more(
        &self,
        written: &Sums,
        proven: &BTreeMap<Collection, Sum>,
    ) -> BTreeMap<Collection, More> {
        let mut all = proven.clone();
        for (collection, sum) in self.candidates.iter().flat_map(|one| &one.parts) {
            all.entry(*collection).or_default().join(*sum);
        }
        for Partial { space, key, value, .. } in &self.partial {
            if let Some(collection) = Collection::of(*space, key) {
                all.entry(collection).or_default().add(key, value);
            }
        }
        let of = |(collection, all): (Collection, Sum)| {
            let target = written.get(collection);
            let more = if proven.get(&collection).copied().unwrap_or_default() == target {
                More::None
            } else if all == target {
                More::Exact
            } else if all.entries >= target.entries {
                More::InUse
            } else {
                More::All
            };
            (collection, more)
        };
        all.into_iter().map(of).collect()
    }

    fn emit_proven(
        &mut self,
        emit: &mut dyn FnMut(Space, &[u8], &[u8], Proof) -> Result<()>,
    ) -> Result<()> {
        let (check, mut taken) = (self.check, std::mem::take(&mut self.taken));
        self.for_each_proven(|salvaged, _, space, key, value| {
            let Some(collection) = Collection::of(space, key) else { return Ok(()) };
            // The entry was written with a wrong checksum of its own. It counts as found, because
            // the commit counted it, but it is reported and not emitted.
            taken.entry(collection).or_default().add(key, value);
            if check(space, key, value) == Check::Damaged {
                let bound = Some(key.to_vec());
                salvaged.damaged.insert(space);
                salvaged.lost.push(LostEntries {
                    collection,
                    after: bound.clone(),
                    upto: bound,
                    entries: Some(1),
                    reason: DAMAGED,
                });
                return Ok(());
            }
            emit(space, key, value, Proof::Proven)
        })?;
        self.taken = taken;
        Ok(())
    }

    fn emit_candidates(
        &mut self,
        more: &dyn Fn(Collection) -> More,
        emit: &mut dyn FnMut(Space, &[u8], &[u8], Proof) -> Result<()>,
    ) -> Result<()> {
        let mut seen = BTreeSet::new();
        for candidate in &self.candidates {
            self.control.check()?;
            let Some(page) = self.source.bytes(candidate.place.clone()) else { continue };
            let node = Node { bytes: &page, widths: ANY };
            for (full, value) in (0..node.count()).filter_map(|n| node.entry(n)) {
                let Some((space, key)) = space_of(candidate.table, full) else { continue };
                let Some(collection) = Collection::of(space, key) else { continue };
                let proof = match ((self.check)(space, key, value), more(collection)) {
                    (Check::Damaged, _) | (_, More::None) => continue,
                    (Check::Whole, _) | (_, More::Exact) => Proof::Proven,
                    (Check::Unsummed, _) => Proof::Unproven,
                };
                if seen.insert((space, key.to_vec())) {
                    self.taken.entry(collection).or_default().add(key, value);
                    emit(space, key, value, proof)?;
                }
            }
        }
        Ok(())
    }

    /// Reports what is missing, by the counts of the last commit; without them, reports each gap.
    fn tell_lost(&mut self, written: Option<&Sums>) {
        let mut collections: BTreeSet<Collection> = self.taken.keys().copied().collect();
        match written {
            Some(written) => collections.extend(written.collections()),
            None => collections
                .extend(Space::ALL.into_iter().map(|space| Collection { space, kind: 0 })),
        }
        for collection in collections {
            let taken = self.taken.get(&collection).copied().unwrap_or_default();
            let target = written.map(|written| written.get(collection));
            if target == Some(taken) || collection.space == Space::Index {
                continue;
            }
            let entries = target.map(|target| target.entries.saturating_sub(taken.entries));
            let mut told = 0;
            for (table, walked) in &self.tables {
                for gap in walked.gaps.iter().filter(|gap| overlaps(*table, gap, collection)) {
                    told += 1;
                    // A key of another collection is no bound in this one.
                    let is_of_it = |(space, key): &(Space, &[u8])| {
                        *space == collection.space
                            && (collection.kind == 0 || key.first() == Some(&collection.kind))
                    };
                    let bound = |key: &Option<Vec<u8>>| {
                        let key = key.as_deref().and_then(|key| space_of(*table, key));
                        key.filter(is_of_it).map(|(_, key)| key.to_vec())
                    };
                    self.salvaged.lost.push(LostEntries {
                        collection,
                        after: bound(&gap.after),
                        upto: bound(&gap.upto),
                        entries,
                        reason: if gap.page.is_some() { PAGE } else { BRANCH },
                    });
                }
            }
            if told > 0 || target.is_some() {
                self.salvaged.damaged.insert(collection.space);
            }
            if told == 0 && target.is_some() {
                let reason = SILENT;
                self.salvaged.lost.push(LostEntries {
                    collection,
                    after: None,
                    upto: None,
                    entries,
                    reason,
                });
            }
        }
    }
}

/// Whether a gap of a table may contain entries of a collection.
fn overlaps(table: Table, gap: &Gap, collection: Collection) -> bool {
    let kind = (collection.kind > 0).then_some(collection.kind);
    let places = [collection.space.place(), super::space::RECENT_LOG];
    let places = places.iter().take(if collection.space == Space::Log { 2 } else { 1 });
    places.filter(|place| place.table == table).any(|place| {
        let first = place.key(kind.as_slice());
        let end = match kind {
            Some(kind) => Some(place.key(&[kind.saturating_add(1)]).into_owned()),
            None => place.end(None).map(std::borrow::Cow::into_owned),
        };
        gap.upto.as_deref().is_none_or(|upto| upto >= first.as_ref())
            && gap.after.as_deref().is_none_or(|after| end.is_none_or(|end| after < end.as_slice()))
    })
}

/// For tests: a page of the tables of the last commit. Its place, the places of its ancestors, and
/// its entries if it is a leaf.
#[cfg(test)]
pub(crate) struct MappedPage {
    pub(crate) place: std::ops::Range<u64>,
    pub(crate) above: Vec<std::ops::Range<u64>>,
    pub(crate) entries: Vec<(Space, Vec<u8>)>,
}

/// Every page of the tables of an undamaged file.
#[cfg(test)]
pub(crate) fn page_map(file: &dyn DiskFile) -> Vec<MappedPage> {
    let source = PageSource::new(file, file.len().unwrap());
    let commit = choose(&source, &Control::default()).unwrap().commit.unwrap();
    let mut pages = Vec::new();
    let mut waiting = vec![(
        None,
        commit.tables.unwrap(),
        std::iter::once(0..super::file::pages::HEADER_BYTES as u64).collect::<Vec<_>>(),
    )];
    while let Some((table, child, above)) = waiting.pop() {
        let page = source.page(child, ANY).unwrap();
        let node = Node { bytes: &page, widths: ANY };
        let start = source.place(child).unwrap().start;
        let place = start..start + node.summed().unwrap().len() as u64;
        let below = || above.iter().cloned().chain([place.clone()]).collect::<Vec<_>>();
        let mut entries = Vec::new();
        if node.kind() == Some(super::file::pages::BRANCH) {
            waiting.extend(node.children().map(|child| (table, child, below())));
        } else if let Some(table) = table {
            let pairs = (0..node.count()).filter_map(|n| node.entry(n));
            entries.extend(
                pairs
                    .filter_map(|(key, _)| space_of(table, key))
                    .map(|(space, key)| (space, key.to_vec())),
            );
        } else {
            for found in node.tables() {
                let table =
                    Table::ALL.into_iter().find(|table| table.name() == found.name).unwrap();
                waiting.extend(found.root.map(|root| (Some(table), root, below())));
            }
        }
        pages.push(MappedPage { place, above, entries });
    }
    pages
}

/// For tests: the entries of the leaf of the records' table that begins here, of whatever commit.
#[cfg(test)]
pub(crate) fn leaf_of_records(file: &dyn DiskFile, at: u64) -> Option<BTreeMap<Vec<u8>, Vec<u8>>> {
    let page = scan::leaf(&PageSource::new(file, file.len().unwrap()), at)?;
    let node = Node { bytes: &page, widths: ANY };
    let entries = (0..node.count()).filter_map(|n| node.entry(n));
    Some(entries.map(|(key, value)| (key.to_vec(), value.to_vec())).collect())
}
