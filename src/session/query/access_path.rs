//! Where the candidates of a query come from.
//!
//! Any choice is right, because every candidate is tested; the choice only decides what is read. Ranges are compared
//! by size, and sizes come from counting entries of all of them at once until the smallest ends: so choosing costs a
//! small multiple of what the smallest range costs anyway, and there are no statistics that could be stale.

use super::count::Count;
use super::predicate::Predicate;
use super::scan::{OrderedScan, SPAN_BYTES, Scan, ordered, scans, whole};
use super::{Query, cells, text, walk};
use crate::error::Result;
use crate::filter::Condition;
use crate::model::{Index, Resource};
use crate::session::view::View;
use crate::text::Ask;
use crate::value::Val;
use crate::value::id::RecordKey;

/// Where the candidates come from.
#[derive(Debug)]
pub(super) enum AccessPath {
    /// Nothing can match.
    Nothing,
    /// These keys, in key order.
    Keys(Vec<RecordKey>),
    /// The records that have entries in all of these groups of ranges; a group is the union of its scans.
    Sets(Vec<Vec<Scan>>),
    /// An index, read in the order that the query asks for; where there is a set, only its records.
    Ordered {
        /// The index.
        ordered: OrderedScan,
        /// What holds every match.
        within: Option<Within>,
    },
    /// Every record, in key order.
    All,
}

/// Records that are looked for along an order.
#[derive(Debug)]
pub(super) enum Within {
    /// Those that have entries in one of these ranges.
    Ranges(Vec<Scan>),
    /// Those with these keys, in key order.
    Keys(Vec<RecordKey>),
}

/// A choice.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) path: AccessPath,
    /// What counts the matches without reading them.
    pub(super) count: Option<Count>,
}

/// Ranges with up to this many entries are gathered rather than walked around.
const GATHER: usize = 32_768;
/// Records that are read rather than looked for in texts.
const FEW: usize = 256;
/// Reading a record costs about as much as reading this many index entries.
const RECORD_COST: usize = 8;

/// An order as positions of fields; `None` when no index can give it.
struct IndexOrder {
    terms: Vec<usize>,
    descending: bool,
}

fn index_order<R: Resource>(query: &Query<'_>) -> Option<IndexOrder> {
    let first = query.order.first();
    let descending = first.is_some_and(|term| term.descending);
    if query.order.iter().any(|term| term.descending != descending) {
        return None;
    }
    if first.is_none_or(|term| term.path == "id") {
        return Some(IndexOrder { terms: Vec::new(), descending });
    }
    let position = |path: &str| R::fields().iter().position(|field| field.decl.path == path);
    let terms = query.order.iter().map(|term| position(term.path)).collect::<Option<Vec<_>>>()?;
    Some(IndexOrder { terms, descending })
}

/// Chooses where the candidates come from.
pub(super) fn choose<R: Resource>(view: &View<'_>, query: &Query<'_>, predicate: &Predicate) -> Result<Choice> {
    let conditions = &predicate.conditions;
    if conditions.contains(&Condition::Never) {
        return Ok(Choice { path: AccessPath::Nothing, count: None });
    }
    let indexes = &view.complete_indexes::<R>()?;
    let keys = match named::<R>(query, conditions).or_else(|| text::searched(conditions, &predicate.searches)) {
        Some(keys) => Some(keys),
        // Where an index leaves few records, looking through the texts of all costs more than reading them.
        None if smallest_is(view, indexes, conditions, FEW)? => None,
        None => text::containing::<R>(view, conditions),
    };
    let wanted = query.skip.saturating_add(query.take).saturating_add(1);
    if let Some(keys) = keys {
        let keys = narrowed(view, indexes, predicate, keys)?;
        // Many keys in an order that an index gives are looked for along it: the page needs few of their records.
        let is_worth = !query.return_count && keys.len() > wanted.saturating_mul(RECORD_COST);
        let in_order = index_order::<R>(query)
            .filter(|order| is_worth && !order.terms.is_empty())
            .and_then(|order| ordered(indexes, &order.terms, order.descending, conditions));
        let path = match in_order {
            Some(ordered) => AccessPath::Ordered { ordered, within: Some(Within::Keys(keys)) },
            None => AccessPath::Keys(keys),
        };
        return Ok(Choice { path, count: None });
    }
    let groups = groups(indexes, conditions);
    let count = if query.return_count {
        exact(indexes, predicate, &groups)
            .map(Count::Entries)
            .or_else(|| columns::<R>(view, predicate).map(Count::Columns))
    } else {
        None
    };
    // Without a count from the index, every match must be seen, in whatever order.
    let every_match = query.return_count && count.is_none();
    let in_order = index_order::<R>(query)
        .filter(|_| !every_match)
        .and_then(|order| ordered(indexes, &order.terms, order.descending, conditions));
    let path = match (in_order, groups.is_empty()) {
        (Some(ordered), true) => AccessPath::Ordered { ordered, within: None },
        (None, true) => AccessPath::All,
        (in_order, false) => sized::<R>(view, groups, in_order, wanted)?,
    };
    Ok(Choice { path, count })
}

/// Keys that the query or its filter names.
fn named<R: Resource>(query: &Query<'_>, conditions: &[Condition]) -> Option<Vec<RecordKey>> {
    let is_id = |field: usize| R::fields().get(field).is_some_and(|field| field.decl.path == "id");
    let text = |value: Val<'_>| if let Val::Str(text) = value { RecordKey::parse(R::KIND.id, &text) } else { None };
    let in_filter = conditions.iter().filter_map(|condition| match condition {
        Condition::Eq { field, value } if is_id(*field) => Some(text(value.val()).into_iter().collect()),
        Condition::In { field, values } if is_id(*field) => {
            Some(values.iter().filter_map(|value| text(value.val())).collect())
        }
        _ => None,
    });
    // The test of a candidate does not look at the ids of the query, so they go before those of the filter.
    let in_query = query.ids.map(|ids| ids.iter().filter_map(|id| RecordKey::parse(R::KIND.id, id)).collect());
    in_query.or_else(|| in_filter.min_by_key(Vec::len))
}

/// Whether some index leaves at most `most` records.
fn smallest_is<R: Resource>(
    view: &View<'_>,
    indexes: &[&'static Index<R>],
    conditions: &[Condition],
    most: usize,
) -> Result<bool> {
    let asks_for_text = conditions.iter().any(|condition| matches!(condition, Condition::Contains { .. }));
    let sets: Vec<Vec<Scan>> = if asks_for_text {
        groups(indexes, conditions).into_iter().map(|group| group.scans).collect()
    } else {
        Vec::new()
    };
    if sets.is_empty() {
        return Ok(false);
    }
    Ok(walk::race(view, R::KIND, &sets, most)?.into_iter().flatten().any(|size| size <= most))
}

/// Those of the keys that indexes leave, where reading their entries costs less than the records that they spare; in
/// key order.
fn narrowed<R: Resource>(
    view: &View<'_>,
    indexes: &[&'static Index<R>],
    predicate: &Predicate,
    mut keys: Vec<RecordKey>,
) -> Result<Vec<RecordKey>> {
    keys.sort_unstable();
    keys.dedup();
    if keys.len() <= RECORD_COST {
        return Ok(keys);
    }
    let sets: Vec<Vec<Scan>> = groups(indexes, &predicate.conditions).into_iter().map(|group| group.scans).collect();
    if sets.is_empty() {
        return Ok(keys);
    }
    let worth = keys.len().saturating_mul(RECORD_COST) / 2;
    let sizes = walk::race(view, R::KIND, &sets, worth.min(GATHER))?;
    let small = sets.into_iter().zip(sizes).filter(|(_, size)| size.is_some_and(|size| size <= worth));
    let small: Vec<Vec<Scan>> = small.map(|(set, _)| set).collect();
    if small.is_empty() {
        return Ok(keys);
    }
    let (common, _) = walk::gather(view, R::KIND, &small, &predicate.visibility)?;
    keys.retain(|key| common.binary_search(key).is_ok());
    Ok(keys)
}

/// A group of scans and the conditions that their union stands for exactly.
struct Group {
    scans: Vec<Scan>,
    answers: Vec<usize>,
}

/// What the indexes offer: a group for each index that a condition can use, and one for each alternative whose every
/// branch can use one.
fn groups<R: Resource>(indexes: &[&'static Index<R>], conditions: &[Condition]) -> Vec<Group> {
    let mut groups: Vec<Group> = scans(indexes, conditions)
        .into_iter()
        .map(|scan| Group { answers: scan.answers.clone(), scans: vec![scan] })
        .collect();
    for (number, condition) in conditions.iter().enumerate() {
        let Condition::AnyOf(branches) = condition else { continue };
        let mut union: Vec<Scan> = Vec::new();
        let mut is_exact = true;
        let mut bytes = 0;
        for branch in branches {
            // Points are tried before ranges, so the scan that answers most comes first.
            let Some(scan) = scans(indexes, branch).into_iter().max_by_key(|scan| scan.answers.len()) else {
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
            groups.push(Group { scans: union, answers: if is_exact { vec![number] } else { Vec::new() } });
        }
    }
    groups
}

/// The names of the indexes that conditions can use.
pub(super) fn usable<R: Resource>(conditions: &[Condition]) -> Vec<String> {
    let indexes: Vec<&'static Index<R>> = R::indexes().iter().collect();
    let scans = groups(&indexes, conditions).into_iter().flat_map(|group| group.scans);
    let mut names: Vec<String> = scans.map(|scan| scan.name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The fewest groups whose intersection is all that the predicate asks for.
fn exact<R: Resource>(
    indexes: &[&'static Index<R>],
    predicate: &Predicate,
    groups: &[Group],
) -> Option<Vec<Vec<Scan>>> {
    let conditions = &predicate.conditions;
    if conditions.is_empty() {
        return whole(indexes).map(|scan| vec![vec![scan]]);
    }
    if !conditions.iter().all(Condition::is_exact) {
        return None;
    }
    let mut open: Vec<usize> = (0..conditions.len()).collect();
    let mut chosen = Vec::new();
    while !open.is_empty() {
        let gain = |group: &&Group| open.iter().filter(|number| group.answers.contains(number)).count();
        let best = groups.iter().max_by_key(gain)?;
        if gain(&best) == 0 {
            return None;
        }
        open.retain(|number| !best.answers.contains(number));
        chosen.push(best.scans.clone());
    }
    Some(chosen)
}

/// What columns are asked when they can answer everything that the predicate asks for.
fn columns<R: Resource>(view: &View<'_>, predicate: &Predicate) -> Option<Vec<Ask>> {
    let conditions = &predicate.conditions;
    if conditions.is_empty() || !conditions.iter().all(Condition::is_exact) {
        return None;
    }
    conditions.iter().map(|condition| cells::ask::<R>(view, condition)).collect()
}

/// Chooses among groups and an order by size.
fn sized<R: Resource>(
    view: &View<'_>,
    groups: Vec<Group>,
    in_order: Option<OrderedScan>,
    wanted: usize,
) -> Result<AccessPath> {
    // One range and no order to follow: nothing to choose.
    if groups.len() == 1 && in_order.is_none() {
        return Ok(AccessPath::Sets(groups.into_iter().map(|group| group.scans).collect()));
    }
    let sets: Vec<Vec<Scan>> = groups.into_iter().map(|group| group.scans).collect();
    let sizes = walk::race(view, R::KIND, &sets, GATHER)?;
    if let (None, None) = (&in_order, sizes.iter().flatten().min()) {
        // All are large, so what they have in common may still be small.
        return Ok(AccessPath::Sets(sets));
    }
    let mut known: Vec<(usize, Vec<Scan>)> =
        sets.into_iter().zip(&sizes).filter_map(|(set, size)| size.map(|size| (size, set))).collect();
    known.sort_by_key(|(size, _)| *size);
    let smallest = known.first().map(|(size, _)| *size);
    match (in_order, smallest) {
        // So few that sorting them costs less than reading around them.
        (_, Some(size)) if size <= wanted => Ok(intersection(known)),
        // The prefix of the order is the smallest range itself: its records are the candidates, and they come in order.
        (Some(ordered), Some(_)) if !ordered.scan.answers.is_empty() && is_of(known.first(), &ordered) => {
            Ok(AccessPath::Ordered { ordered, within: None })
        }
        (Some(ordered), Some(size)) if size > wanted.saturating_mul(RECORD_COST) => {
            let within = known.into_iter().next().map(|(_, set)| Within::Ranges(set));
            Ok(AccessPath::Ordered { ordered, within })
        }
        (Some(ordered), None) => Ok(AccessPath::Ordered { ordered, within: None }),
        _ => Ok(intersection(known)),
    }
}

/// Whether a set is a range of the ordered index, which need not be gathered before it is walked.
fn is_of(set: Option<&(usize, Vec<Scan>)>, ordered: &OrderedScan) -> bool {
    set.is_some_and(|(_, scans)| matches!(scans.as_slice(), [scan] if scan.index == ordered.scan.index))
}

/// The smallest set, and with it those whose entries cost less than the records that they spare.
fn intersection(known: Vec<(usize, Vec<Scan>)>) -> AccessPath {
    let smallest = known.first().map_or(0, |(size, _)| *size);
    let worth = smallest.saturating_mul(RECORD_COST);
    AccessPath::Sets(known.into_iter().filter(|(size, _)| *size <= worth.max(1)).map(|(_, set)| set).collect())
}
