//! Uses of the text index in a query: the results of `search("...")`, and candidates for conditions
//! on parts of texts.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::offers::{Offer, Question, Set, has_keys, keys};
use super::walk;
use crate::error::{Error, Place, Result};
use crate::filter::{Condition, FieldTest, Filter, Fold};
use crate::session::view::View;
use crate::value::{Kind, RecordKey};

/// The records that each `search("...")` of the filter finds, by its number. Searches for the same
/// text share one result.
///
/// # Errors
/// `InvalidArgument` for a malformed search text; `LimitExceeded` if the results take more memory
/// than a query may; `DeadlineExceeded` and `Cancelled`.
pub(super) fn searches(
    view: &View<'_>,
    kind: Kind,
    filter: Option<&Filter>,
) -> Result<Vec<Arc<HashSet<RecordKey>>>> {
    let most = view.context().settings().query_memory_bytes;
    let mut known: HashMap<&str, Arc<HashSet<RecordKey>>> = HashMap::new();
    let mut bytes = 0usize;
    let mut found = Vec::new();
    for search in filter.iter().flat_map(|filter| filter.searches()) {
        let keys = match known.get(search.text.as_str()) {
            Some(keys) => keys.clone(),
            None => {
                view.context().check_deadline()?;
                let keys = view.context().engine.search.matching(view, kind, &search.text);
                let keys = Arc::new(keys.map_err(|error| in_filter(error, search.offset))?);
                bytes = bytes.saturating_add(keys.capacity() * size_of::<RecordKey>());
                if bytes > most && !known.is_empty() {
                    return Err(Error::limit(format!(
                        "the results of the {} searches of the filter take more than the {most} \
                         bytes that `query_memory_bytes` allows one query; search for fewer texts, \
                         or for rarer words",
                        known.len() + 1
                    ))
                    .at_member("filter"));
                }
                known.insert(&search.text, keys.clone());
                keys
            }
        };
        found.push(keys);
    }
    Ok(found)
}

/// Up to this many records, reading them costs less than asking the text index.
const FEW: usize = 256;

/// The keys that are in the results of all searches that every match must satisfy.
pub(super) fn searched(question: &Question<'_>, known: &[Offer<Set>]) -> Result<Vec<Offer<Set>>> {
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
pub(super) fn containing(question: &Question<'_>, known: &[Offer<Set>]) -> Result<Vec<Offer<Set>>> {
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
    let sets: Vec<&Set> = known.iter().map(|offer| &offer.set).collect();
    let sizes = walk::race(question.view, question.decl.kind, &sets, FEW)?;
    Ok(has_keys(known) || sizes.into_iter().flatten().any(|size| size <= FEW))
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

/// Moves the error of a text query to its place in the filter. `offset` is that of the literal; the
/// offsets of the text query start after the quote.
fn in_filter(error: Error, offset: usize) -> Error {
    let within = match error.place() {
        Some(Place::Offset(within)) => within + 1,
        _ => 0,
    };
    error.at(Place::Offset(offset + within))
}
