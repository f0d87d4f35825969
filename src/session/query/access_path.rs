//! Chooses the access path: where the candidates of a query come from.
//!
//! Every access path gives the same answer, because every candidate is tested; the choice only
//! decides what is read.
//!
//! Ranges are compared by their number of entries. The entries of all ranges are counted in rounds,
//! up to a cap that grows with each round, until the count of the smallest range is complete. So
//! choosing costs a small multiple of reading the smallest range, and needs no statistics, which
//! could be stale.

use super::count::Count;
use super::predicate::Predicate;
use super::scan::{OrderedScan, SPAN_BYTES, Scan, ordered, scans, whole};
use super::{OrderTerm, Query, cells, text, walk};
use crate::error::Result;
use crate::filter::Condition;
use crate::model::KindDecl;
use crate::session::view::View;
use crate::text::Ask;
use crate::value::Val;
use crate::value::id::RecordKey;

/// The source of the candidates.
#[derive(Debug)]
pub(super) enum AccessPath {
    /// Nothing can match.
    Nothing,
    /// The records with these keys, in key order.
    Keys(Vec<RecordKey>),
    /// The records that have entries in every group; a group is the union of its scans.
    Sets(Vec<Vec<Scan>>),
    /// An index, read in the order of the query; with `within`, only the records of that set.
    Ordered {
        /// The index.
        ordered: OrderedScan,
        /// A superset of the matches.
        within: Option<Within>,
    },
    /// Every record, in key order.
    All,
}

/// A set of records that is looked up while an index is read in order.
#[derive(Debug)]
pub(super) enum Within {
    /// The records that have entries in one of these ranges.
    Ranges(Vec<Scan>),
    /// The records with these keys, in key order.
    Keys(Vec<RecordKey>),
}

/// The chosen access path and way of counting.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) path: AccessPath,
    /// How the matches are counted without reading records; `None` if that is not possible or not
    /// asked for.
    pub(super) count: Option<Count>,
}

/// A set with more entries than this is not gathered if an index can be read in order instead.
const GATHER: usize = 32_768;
/// Up to this many records, reading them costs less than asking the text index.
const FEW: usize = 256;
/// The cost of reading a record, in index entries read.
const RECORD_COST: usize = 8;

/// The order of a query as field positions. Not available if the directions of its terms differ.
struct IndexOrder {
    terms: Vec<usize>,
    descending: bool,
}

fn index_order(decl: &KindDecl, query: &Query<'_>) -> Option<IndexOrder> {
    let first = query.order.first();
    let descending = first.is_some_and(|term| term.descending);
    if query.order.iter().any(|term| term.descending != descending) {
        return None;
    }
    if first.is_none_or(|term| term.path == "id") {
        return Some(IndexOrder { terms: Vec::new(), descending });
    }
    let position = |term: &OrderTerm| decl.position(term.path);
    let terms = query.order.iter().map(position).collect::<Option<Vec<_>>>()?;
    Some(IndexOrder { terms, descending })
}

/// Chooses the access path of a query.
pub(super) fn choose(view: &View<'_>, query: &Query<'_>, predicate: &Predicate) -> Result<Choice> {
    let conditions = &predicate.conditions;
    if conditions.contains(&Condition::Never) {
        return Ok(Choice { path: AccessPath::Nothing, count: None });
    }
    let filling = view.filling_indexes(predicate.decl.kind)?;
    let mut decl = predicate.decl.clone();
    decl.indexes.retain(|index| !filling.contains(&index.number));
    let decl = &decl;
    let keys = match named(decl, query, conditions)
        .or_else(|| text::searched(conditions, &predicate.searches))
    {
        Some(keys) => Some(keys),
        // If an index leaves few records, reading them costs less than searching the texts of all
        // records.
        None if smallest_is(view, decl, conditions, FEW)? => None,
        None => text::containing(view, decl, conditions),
    };
    let wanted = query.skip.saturating_add(query.take).saturating_add(1);
    if let Some(keys) = keys {
        let keys = narrowed(view, decl, predicate, keys)?;
        // For many keys and an order that an index has, the index is read in order and the keys are
        // looked up: the page needs few of their records.
        let is_worth = !query.return_count && keys.len() > wanted.saturating_mul(RECORD_COST);
        let in_order = index_order(decl, query)
            .filter(|order| is_worth && !order.terms.is_empty())
            .and_then(|order| ordered(decl, &order.terms, order.descending, conditions));
        let path = match in_order {
            Some(ordered) => AccessPath::Ordered { ordered, within: Some(Within::Keys(keys)) },
            None => AccessPath::Keys(keys),
        };
        return Ok(Choice { path, count: None });
    }
    let groups = groups(decl, conditions);
    let count = if query.return_count {
        exact(decl, predicate, &groups)
            .map(Count::Entries)
            .or_else(|| columns(view, predicate).map(Count::Columns))
    } else {
        None
    };
    // Without a count from an index, every match must be read, in any order.
    let every_match = query.return_count && count.is_none();
    let in_order = index_order(decl, query)
        .filter(|_| !every_match)
        .and_then(|order| ordered(decl, &order.terms, order.descending, conditions));
    let path = match (in_order, groups.is_empty()) {
        (Some(ordered), true) => AccessPath::Ordered { ordered, within: None },
        (None, true) => AccessPath::All,
        (in_order, false) => sized(view, decl, groups, in_order, wanted)?,
    };
    Ok(Choice { path, count })
}

/// The keys that the query or its filter names.
fn named(decl: &KindDecl, query: &Query<'_>, conditions: &[Condition]) -> Option<Vec<RecordKey>> {
    let is_id = |field: usize| decl.fields.get(field).is_some_and(|field| field.path == "id");
    let text = |value: Val<'_>| {
        if let Val::Str(text) = value { RecordKey::parse(decl.kind.id, &text) } else { None }
    };
    let in_filter = conditions.iter().filter_map(|condition| match condition {
        Condition::Eq { field, value } if is_id(*field) => {
            Some(text(value.val()).into_iter().collect())
        }
        Condition::In { field, values } if is_id(*field) => {
            Some(values.iter().filter_map(|value| text(value.val())).collect())
        }
        _ => None,
    });
    // The ids of the query go before those of the filter: the test of a candidate does not check
    // them.
    let key = |id: &String| RecordKey::parse(decl.kind.id, id);
    let in_query = query.ids.map(|ids| ids.iter().filter_map(key).collect());
    in_query.or_else(|| in_filter.min_by_key(Vec::len))
}

/// Whether some index leaves at most `most` records. False if no condition could use the text
/// index: then the answer is not needed.
fn smallest_is(
    view: &View<'_>,
    decl: &KindDecl,
    conditions: &[Condition],
    most: usize,
) -> Result<bool> {
    let asks_for_text = conditions.iter().any(|condition| {
        matches!(condition, Condition::Contains { .. } | Condition::MayContain { .. })
    });
    let sets: Vec<Vec<Scan>> = if asks_for_text {
        groups(decl, conditions).into_iter().map(|group| group.scans).collect()
    } else {
        Vec::new()
    };
    if sets.is_empty() {
        return Ok(false);
    }
    Ok(walk::race(view, decl.kind, &sets, most)?.into_iter().flatten().any(|size| size <= most))
}

/// Removes keys that other indexes exclude, if reading the entries of these indexes costs less than
/// reading the records that they exclude. Returns the keys in key order.
fn narrowed(
    view: &View<'_>,
    decl: &KindDecl,
    predicate: &Predicate,
    mut keys: Vec<RecordKey>,
) -> Result<Vec<RecordKey>> {
    keys.sort_unstable();
    keys.dedup();
    if keys.len() <= RECORD_COST {
        return Ok(keys);
    }
    let sets: Vec<Vec<Scan>> =
        groups(decl, &predicate.conditions).into_iter().map(|group| group.scans).collect();
    if sets.is_empty() {
        return Ok(keys);
    }
    let worth = keys.len().saturating_mul(RECORD_COST) / 2;
    let sizes = walk::race(view, decl.kind, &sets, worth.min(GATHER))?;
    let small =
        sets.into_iter().zip(sizes).filter(|(_, size)| size.is_some_and(|size| size <= worth));
    let small: Vec<Vec<Scan>> = small.map(|(set, _)| set).collect();
    if small.is_empty() {
        return Ok(keys);
    }
    let (common, _) = walk::gather(view, decl.kind, &small, &predicate.visibility)?;
    keys.retain(|key| common.binary_search(key).is_ok());
    Ok(keys)
}

/// A group of scans, and the numbers of the conditions that their union answers exactly.
struct Group {
    scans: Vec<Scan>,
    answers: Vec<usize>,
}

/// The groups that the indexes offer: one for each index that a condition can use, and one for each
/// disjunction of which every branch can use an index.
fn groups(decl: &KindDecl, conditions: &[Condition]) -> Vec<Group> {
    let mut groups: Vec<Group> = scans(decl, conditions)
        .into_iter()
        .map(|scan| Group { answers: scan.answers.clone(), scans: vec![scan] })
        .collect();
    for (number, condition) in conditions.iter().enumerate() {
        let Condition::AnyOf(branches) = condition else { continue };
        let mut union: Vec<Scan> = Vec::new();
        let mut is_exact = true;
        let mut bytes = 0;
        for branch in branches {
            // Prefers the scan that answers the most conditions of the branch.
            let Some(scan) = scans(decl, branch).into_iter().max_by_key(|scan| scan.answers.len())
            else {
                union.clear();
                break;
            };
            bytes += scan.span_bytes();
            if bytes > SPAN_BYTES {
                union.clear();
                break;
            }
            is_exact &= scan.answers.len() == branch.len();
            union.push(scan);
        }
        if !union.is_empty() {
            groups.push(Group {
                scans: union,
                answers: if is_exact { vec![number] } else { Vec::new() },
            });
        }
    }
    groups
}

/// The names of the indexes that conditions can use.
pub(super) fn usable(decl: &KindDecl, conditions: &[Condition]) -> Vec<String> {
    let scans = groups(decl, conditions).into_iter().flat_map(|group| group.scans);
    let mut names: Vec<String> = scans.map(|scan| scan.name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Groups whose intersection is exactly the set of matches, chosen greedily by the number of
/// conditions that they answer; `None` if the groups cannot answer all conditions exactly.
fn exact(decl: &KindDecl, predicate: &Predicate, groups: &[Group]) -> Option<Vec<Vec<Scan>>> {
    let conditions = &predicate.conditions;
    if conditions.is_empty() {
        return whole(decl).map(|scan| vec![vec![scan]]);
    }
    if !conditions.iter().all(Condition::is_exact) {
        return None;
    }
    let mut open: Vec<usize> = (0..conditions.len()).collect();
    let mut chosen = Vec::new();
    while !open.is_empty() {
        let gain =
            |group: &&Group| open.iter().filter(|number| group.answers.contains(number)).count();
        let best = groups.iter().max_by_key(gain)?;
        if gain(&best) == 0 {
            return None;
        }
        open.retain(|number| !best.answers.contains(number));
        chosen.push(best.scans.clone());
    }
    Some(chosen)
}

/// The questions to columns of the text index that together answer the predicate exactly; `None` if
/// some condition has no column.
fn columns(view: &View<'_>, predicate: &Predicate) -> Option<Vec<Ask>> {
    let conditions = &predicate.conditions;
    if conditions.is_empty() || !conditions.iter().all(Condition::is_exact) {
        return None;
    }
    conditions.iter().map(|condition| cells::ask(view, &predicate.decl, condition)).collect()
}

/// Chooses by size between groups and an index in order.
fn sized(
    view: &View<'_>,
    decl: &KindDecl,
    groups: Vec<Group>,
    in_order: Option<OrderedScan>,
    wanted: usize,
) -> Result<AccessPath> {
    // One group and no order: there is nothing to choose.
    if groups.len() == 1 && in_order.is_none() {
        return Ok(AccessPath::Sets(groups.into_iter().map(|group| group.scans).collect()));
    }
    let sets: Vec<Vec<Scan>> = groups.into_iter().map(|group| group.scans).collect();
    let sizes = walk::race(view, decl.kind, &sets, GATHER)?;
    if let (None, None) = (&in_order, sizes.iter().flatten().min()) {
        // All groups are large. Their intersection may still be small.
        return Ok(AccessPath::Sets(sets));
    }
    let mut known: Vec<(usize, Vec<Scan>)> = sets
        .into_iter()
        .zip(&sizes)
        .filter_map(|(set, size)| size.map(|size| (size, set)))
        .collect();
    known.sort_by_key(|(size, _)| *size);
    let smallest = known.first().map(|(size, _)| *size);
    match (in_order, smallest) {
        // There are so few candidates that sorting them costs less than reading an index in order.
        (_, Some(size)) if size <= wanted => Ok(intersection(known)),
        // The smallest set is a range of the ordered index itself: reading the index in order gives
        // exactly these candidates.
        (Some(ordered), Some(_))
            if !ordered.scan.answers.is_empty() && is_of(known.first(), &ordered) =>
        {
            Ok(AccessPath::Ordered { ordered, within: None })
        }
        // The set is much larger than the page: read the index in order until the page is full, and
        // skip records outside the set.
        (Some(ordered), Some(size)) if size > wanted.saturating_mul(RECORD_COST) => {
            let within = known.into_iter().next().map(|(_, set)| Within::Ranges(set));
            Ok(AccessPath::Ordered { ordered, within })
        }
        (Some(ordered), None) => Ok(AccessPath::Ordered { ordered, within: None }),
        _ => Ok(intersection(known)),
    }
}

/// Whether a set is a range of the ordered index, so that it need not be gathered before that index
/// is read.
fn is_of(set: Option<&(usize, Vec<Scan>)>, ordered: &OrderedScan) -> bool {
    set.is_some_and(
        |(_, scans)| matches!(scans.as_slice(), [scan] if scan.index == ordered.scan.index),
    )
}

/// Intersects the smallest set with those whose entries cost less to read than the records that
/// they exclude.
fn intersection(known: Vec<(usize, Vec<Scan>)>) -> AccessPath {
    let smallest = known.first().map_or(0, |(size, _)| *size);
    let worth = smallest.saturating_mul(RECORD_COST);
    AccessPath::Sets(
        known.into_iter().filter(|(size, _)| *size <= worth.max(1)).map(|(_, set)| set).collect(),
    )
}
