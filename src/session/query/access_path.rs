//! Chooses the access path: where the candidates of a query come from.
//!
//! Every access path gives the same answer, because every candidate is tested; the choice only
//! decides what is read.
//!
//! Sets are compared by their number of entries. The entries of all sets are counted in rounds, up
//! to a cap that grows with each round, until the count of the smallest set is complete. So
//! choosing costs a small multiple of reading the smallest set, and needs no statistics, which
//! could be stale.

use super::kinds::offers;
use super::offers::{Count, Offer, Question, RECORD_COST, Set, has_keys};
use super::predicate::Predicate;
use super::scan::{OrderedScan, ordered, whole};
use super::{Query, cells, walk};
use crate::error::Result;
use crate::filter::Condition;
use crate::session::view::View;

/// The source of the candidates.
#[derive(Debug)]
pub(super) enum AccessPath {
    /// Nothing can match.
    Nothing,
    /// The records that are in every set.
    Sets(Vec<Set>),
    /// An index, read in the order of the query; with `within`, only the records of that set.
    Ordered {
        /// The index.
        ordered: OrderedScan,
        /// A superset of the matches.
        within: Option<Set>,
    },
    /// Every record, in key order.
    All,
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

/// Chooses the access path of a query.
pub(super) fn choose(view: &View<'_>, query: &Query<'_>, predicate: &Predicate) -> Result<Choice> {
    if predicate.conditions.contains(&Condition::Never) {
        return Ok(Choice { path: AccessPath::Nothing, count: None });
    }
    let filling = view.filling_indexes(predicate.decl.kind)?;
    let mut decl = predicate.decl.clone();
    decl.indexes.retain(|index| !filling.contains(&index.number));
    let question = Question { view, query, predicate, decl: &decl };
    let offers = offers(&question)?;
    let has_keys = has_keys(&offers);
    let count = if query.return_count && !has_keys { count(&question, &offers) } else { None };
    let sets = offers.into_iter().map(|offer| offer.set).collect();
    let sets = if has_keys { narrowed(&question, sets)? } else { sets };
    // Without a count from an index, every match must be read, in any order. Keys come in the order
    // of keys without an index.
    let every_match = query.return_count && count.is_none();
    let in_order = if every_match { None } else { in_order(&question) };
    let in_order = in_order.filter(|ordered| ordered.has_terms || !has_keys);
    Ok(Choice { path: sized(&question, sets, in_order)?, count })
}

/// How the matches are counted by indexes; `None` if these cannot answer all conditions exactly.
fn count(question: &Question<'_>, offers: &[Offer<Set>]) -> Option<Count> {
    let conditions = &question.predicate.conditions;
    if conditions.is_empty() {
        return whole(question.decl).map(|scan| Count::Entries(vec![Set::Ranges(vec![scan])]));
    }
    if !conditions.iter().all(Condition::is_exact) {
        return None;
    }
    let columns = || exact(conditions.len(), cells::columns(question).as_slice());
    let sets = exact(conditions.len(), offers).map(Count::Entries);
    sets.or_else(|| columns().map(|asks| Count::Columns(asks.concat())))
}

/// Sets whose intersection satisfies exactly these conditions, chosen greedily by the number of
/// conditions that they answer; `None` if some condition has no exact answer.
fn exact<S: Clone>(conditions: usize, offers: &[Offer<S>]) -> Option<Vec<S>> {
    let mut open: Vec<usize> = (0..conditions).collect();
    let mut chosen = Vec::new();
    while !open.is_empty() {
        let gain =
            |offer: &&Offer<S>| open.iter().filter(|number| offer.answers.contains(number)).count();
        let best = offers.iter().max_by_key(gain)?;
        if gain(&best) == 0 {
            return None;
        }
        open.retain(|number| !best.answers.contains(number));
        chosen.push(best.set.clone());
    }
    Some(chosen)
}

/// The index that has the order of the query. Not available if the directions of its terms differ.
fn in_order(question: &Question<'_>) -> Option<OrderedScan> {
    let Question { query, decl, predicate, .. } = question;
    let first = query.order.first();
    let descending = first.is_some_and(|term| term.descending);
    if query.order.iter().any(|term| term.descending != descending) {
        return None;
    }
    let is_by_key = first.is_none_or(|term| term.path == "id");
    let terms = if is_by_key { &[] } else { query.order.as_slice() };
    let terms = terms.iter().map(|term| decl.position(term.path)).collect::<Option<Vec<_>>>()?;
    ordered(decl, &terms, descending, &predicate.conditions)
}

/// Removes from the keys among these sets those that the other sets exclude, if reading the entries
/// of these costs less than reading the records that they exclude.
fn narrowed(question: &Question<'_>, sets: Vec<Set>) -> Result<Vec<Set>> {
    let (mut keys, others): (Vec<Set>, Vec<Set>) = sets.into_iter().partition(Set::is_keys);
    let [Set::Keys(known)] = keys.as_mut_slice() else { return Ok(keys) };
    known.sort_unstable();
    known.dedup();
    if known.len() <= RECORD_COST {
        return Ok(keys);
    }
    let kind = question.decl.kind;
    let worth = known.len().saturating_mul(RECORD_COST) / 2;
    let sizes =
        walk::race(question.view, kind, &others.iter().collect::<Vec<_>>(), worth.min(GATHER))?;
    let small = others.into_iter().zip(sizes).filter(|(_, size)| size.is_some_and(|n| n <= worth));
    keys.extend(small.map(|(set, _)| set));
    let (common, _) = walk::gather(question.view, kind, &keys, &question.predicate.visibility)?;
    Ok(vec![Set::Keys(common)])
}

/// Chooses by size between sets and an index in order.
fn sized(
    question: &Question<'_>,
    sets: Vec<Set>,
    in_order: Option<OrderedScan>,
) -> Result<AccessPath> {
    // At most one set and no order: there is nothing to choose.
    match (sets.len(), &in_order) {
        (0, None) => return Ok(AccessPath::All),
        (1, None) => return Ok(AccessPath::Sets(sets)),
        _ => {}
    }
    let wanted = question.query.skip.saturating_add(question.query.take).saturating_add(1);
    let sizes =
        walk::race(question.view, question.decl.kind, &sets.iter().collect::<Vec<_>>(), GATHER)?;
    if let (None, None) = (&in_order, sizes.iter().flatten().min()) {
        // All sets are large. Their intersection may still be small.
        return Ok(AccessPath::Sets(sets));
    }
    let mut known: Vec<(usize, Set)> = sets
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
            let within = known.into_iter().next().map(|(_, set)| set);
            Ok(AccessPath::Ordered { ordered, within })
        }
        (Some(ordered), None) => Ok(AccessPath::Ordered { ordered, within: None }),
        _ => Ok(intersection(known)),
    }
}

/// Whether a set is a range of the ordered index, so that it need not be gathered before that index
/// is read.
fn is_of(set: Option<&(usize, Set)>, ordered: &OrderedScan) -> bool {
    set.is_some_and(|(_, set)| matches!(set.scans(), [scan] if scan.index == ordered.scan.index))
}

/// Intersects the smallest set with those whose entries cost less to read than the records that
/// they exclude.
fn intersection(known: Vec<(usize, Set)>) -> AccessPath {
    let smallest = known.first().map_or(0, |(size, _)| *size);
    let worth = smallest.saturating_mul(RECORD_COST);
    AccessPath::Sets(
        known.into_iter().filter(|(size, _)| *size <= worth.max(1)).map(|(_, set)| set).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_of_any_index_answer_together() {
        let offer = |set, answers: &[usize]| Offer { set, answers: answers.to_vec() };
        let made_up = [offer("all", &[0, 1]), offer("last", &[2]), offer("inexact", &[])];
        assert_eq!(exact(3, &made_up), Some(vec!["all", "last"]));
        assert_eq!(exact(3, &made_up[..1]), None);
        assert_eq!(exact::<&str>(1, &[]), None);
    }
}
