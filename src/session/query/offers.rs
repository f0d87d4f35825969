//! What indexes offer for the conditions of a query: the seam between the kinds of indexes and the
//! choice among them.

use super::predicate::Predicate;
use super::scan::{SPAN_BYTES, Scan, scans};
use super::{Query, text};
use crate::error::Result;
use crate::filter::{Condition, FieldTest};
use crate::model::KindDecl;
use crate::session::view::View;
use crate::value::Val;
use crate::value::id::RecordKey;

/// Records, as an index gives them.
#[derive(Clone, Debug)]
pub(super) enum Set {
    /// The records with these keys. A key need not have a record.
    Keys(Vec<RecordKey>),
    /// The records that have entries in one of these ranges.
    Ranges(Vec<Scan>),
}

impl Set {
    pub(super) fn is_keys(&self) -> bool {
        matches!(self, Self::Keys(_))
    }

    /// Its ranges; none for keys.
    pub(super) fn scans(&self) -> &[Scan] {
        match self {
            Self::Keys(_) => &[],
            Self::Ranges(scans) => scans,
        }
    }
}

/// What an index offers: a set, or the means to count one, that contains every match.
#[derive(Debug)]
pub(super) struct Offer<S> {
    pub(super) set: S,
    /// Numbers of the conditions that the set answers exactly.
    pub(super) answers: Vec<usize>,
}

/// What the indexes are asked.
pub(super) struct Question<'q> {
    pub(super) view: &'q View<'q>,
    pub(super) query: &'q Query<'q>,
    pub(super) predicate: &'q Predicate,
    /// The kind of the records, with the indexes that are filled.
    pub(super) decl: &'q KindDecl,
}

/// The offers of one kind of index, given those of the kinds before it.
type Offers = fn(&Question<'_>, &[Offer<Set>]) -> Result<Vec<Offer<Set>>>;

/// The kinds of indexes that give candidates, in the order in which they are asked.
///
/// Keys are offered once: the tests of candidates do not check the ids of the query, so these go
/// before all others.
const KINDS: [Offers; 4] = [named, text::searched, ranges, text::containing];

/// The offers of all kinds of indexes.
pub(super) fn offers(question: &Question<'_>) -> Result<Vec<Offer<Set>>> {
    let mut offers = Vec::new();
    for kind in KINDS {
        let more = kind(question, &offers)?;
        offers.extend(more);
    }
    Ok(offers)
}

/// Whether some kind offered keys.
pub(super) fn has_keys(offers: &[Offer<Set>]) -> bool {
    offers.iter().any(|offer| offer.set.is_keys())
}

/// The offer of these keys. The workspaces of their records are unknown, so it answers nothing
/// exactly.
pub(super) fn keys(keys: Option<Vec<RecordKey>>) -> Vec<Offer<Set>> {
    keys.into_iter().map(|keys| Offer { set: Set::Keys(keys), answers: Vec::new() }).collect()
}

/// The keys that the query or its filter names.
fn named(question: &Question<'_>, _: &[Offer<Set>]) -> Result<Vec<Offer<Set>>> {
    let Question { query, decl, predicate, .. } = question;
    let is_id = |field: usize| decl.fields.get(field).is_some_and(|field| field.path == "id");
    let text = |value: Val<'_>| {
        if let Val::Str(text) = value { RecordKey::parse(decl.kind.id, &text) } else { None }
    };
    let in_filter = predicate.conditions.iter().filter_map(|condition| match condition {
        Condition::Field(field, FieldTest::Eq(value)) if is_id(*field) => {
            Some(text(value.val()).into_iter().collect())
        }
        Condition::Field(field, FieldTest::In(values)) if is_id(*field) => {
            Some(values.iter().filter_map(|value| text(value.val())).collect())
        }
        _ => None,
    });
    let key = |id: &String| RecordKey::parse(decl.kind.id, id);
    let in_query = query.ids.map(|ids| ids.iter().filter_map(key).collect());
    Ok(keys(in_query.or_else(|| in_filter.min_by_key(Vec::len))))
}

fn ranges(question: &Question<'_>, _: &[Offer<Set>]) -> Result<Vec<Offer<Set>>> {
    Ok(secondary(question.decl, &question.predicate.conditions))
}

/// The offers of the secondary indexes: one for each index that a condition can use, and one for
/// each disjunction of which every branch can use an index.
pub(super) fn secondary(decl: &KindDecl, conditions: &[Condition]) -> Vec<Offer<Set>> {
    let mut offers: Vec<Offer<Set>> = scans(decl, conditions)
        .into_iter()
        .map(|scan| Offer { answers: scan.answers.clone(), set: Set::Ranges(vec![scan]) })
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
            let answers = if is_exact { vec![number] } else { Vec::new() };
            offers.push(Offer { set: Set::Ranges(union), answers });
        }
    }
    offers
}
