//! The kinds of indexes that give candidates, and what each offers.

use std::collections::HashSet;

use super::offers::{Offer, Question, RECORD_COST, Set, has_keys, keys};
use super::scan::{SPAN_BYTES, Scan, scans};
use super::walk;
use crate::error::Result;
use crate::filter::{Condition, FieldTest, Fold};
use crate::model::KindDecl;
use crate::value::Val;
use crate::value::id::RecordKey;

/// Up to this many records, reading them costs less than asking the text index.
const FEW: usize = 256;

/// The offers of one kind of index, given those of the kinds before it.
type Offers = fn(&Question<'_>, &[Offer<Set>]) -> Result<Vec<Offer<Set>>>;

/// The kinds of indexes that give candidates, in the order in which they are asked.
///
/// Keys are offered once: the tests of candidates do not check the ids of the query, so these go
/// before all others.
const KINDS: [Offers; 4] = [named, searched, ranges, containing];

/// The offers of all kinds of indexes.
pub(super) fn offers(question: &Question<'_>) -> Result<Vec<Offer<Set>>> {
    let mut offers = Vec::new();
    for kind in KINDS {
        let more = kind(question, &offers)?;
        offers.extend(more);
    }
    Ok(offers)
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

/// The offers of the secondary indexes, unless the keys are so few that nothing narrows them.
fn ranges(question: &Question<'_>, known: &[Offer<Set>]) -> Result<Vec<Offer<Set>>> {
    let is_few = |set: &Set| matches!(set, Set::Keys(keys) if keys.len() <= RECORD_COST);
    if known.iter().any(|offer| is_few(&offer.set)) {
        return Ok(Vec::new());
    }
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

/// The keys that are in the results of all searches that every match must satisfy.
fn searched(question: &Question<'_>, known: &[Offer<Set>]) -> Result<Vec<Offer<Set>>> {
    let Question { predicate, .. } = question;
    let found = predicate.conditions.iter().filter_map(|condition| match condition {
        Condition::Search(number) => predicate.searches.get(*number),
        _ => None,
    });
    let mut all: Vec<&HashSet<RecordKey>> = found.map(|keys| &**keys).collect();
    all.sort_by_key(|keys| keys.len());
    Ok(keys(all.split_first().filter(|_| !has_keys(known)).map(|(first, others)| {
        first.iter().copied().filter(|key| others.iter().all(|keys| keys.contains(key))).collect()
    })))
}

/// Keys that include every match, if a condition requires a part of a text and the text index can
/// answer it. It is not asked if the records are known or few.
fn containing(question: &Question<'_>, known: &[Offer<Set>]) -> Result<Vec<Offer<Set>>> {
    let Question { view, decl, predicate, .. } = question;
    let mut parts = predicate
        .conditions
        .iter()
        .filter_map(|condition| match condition {
            Condition::Field(_, FieldTest::Contains(part, fold)) if !finds_folded(part, *fold) => {
                None
            }
            Condition::Field(field, FieldTest::Contains(part, _) | FieldTest::MayContain(part)) => {
                Some((decl.fields.get(*field)?.path, part))
            }
            _ => None,
        })
        .peekable();
    if parts.peek().is_none() || leave_few(question, known)? {
        return Ok(Vec::new());
    }
    let search = &view.context().engine.search;
    Ok(keys(parts.find_map(|(path, text)| search.containing(view, decl.kind, path, text))))
}

/// Whether these offers name keys or leave so few records that reading them costs less than asking
/// the text index.
fn leave_few(question: &Question<'_>, known: &[Offer<Set>]) -> Result<bool> {
    if has_keys(known) {
        return Ok(true);
    }
    let sets: Vec<&Set> = known.iter().map(|offer| &offer.set).collect();
    let sizes = walk::race(question.view, question.decl.kind, &sets, FEW)?;
    Ok(sizes.into_iter().flatten().any(|size| size <= FEW))
}

/// Whether the lower-case words of the index find every text that contains `piece` after folding.
/// Upper case is excluded, since some letters become two (`ß`); lower case of other than ASCII too,
/// since it can depend on the neighbours of a letter (`Σ`).
fn finds_folded(piece: &str, fold: Fold) -> bool {
    match fold {
        Fold::None => true,
        Fold::Lower => piece.is_ascii(),
        Fold::Upper => false,
    }
}
