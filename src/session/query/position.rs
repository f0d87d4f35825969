//! The end of a page, as its token stores it.
//!
//! A position is the sort key of the last record of the page. The next page contains the records
//! that sort after it.
//!
//! A sort key that is too long for a token is replaced by a shorter mark between it and the sort
//! key of the next record. No record sorts between these two, so the mark splits the records in the
//! same place. There is no short mark if both sort keys start with more equal bytes than fit into a
//! token. Then the token contains the key of the last record and a hash of its sort key, and the
//! next page computes the sort key from the record again.

use xxhash_rust::xxh3::xxh3_128;

use super::Query;
use super::candidates::Candidates;
use super::order::Order;
use super::predicate::Predicate;
use crate::error::{Error, Result};
use crate::session::token::Fingerprint;
use crate::value::id::{Kind, RecordKey};
use crate::value::limits;

/// A sort key or a mark follows.
const MARK: u8 = 0;
/// The key of a record and the hash of its sort key follow.
const RECORD: u8 = 1;

/// The parts of a query that its tokens are bound to: all except take, skip and the request for a
/// count.
pub(super) fn fingerprint(kind: Kind, query: &Query<'_>) -> Fingerprint {
    // Every list starts with its length, so that different queries never give the same parts.
    let list = |fingerprint: Fingerprint, len: usize| fingerprint.with(&(len as u64).to_le_bytes());
    let mut fingerprint =
        Fingerprint::new(kind.name).with(query.filter.unwrap_or_default().trim().as_bytes());
    if let Some(clause) = query.clause {
        fingerprint = fingerprint.with(format!("{clause:?}").as_bytes());
    }
    fingerprint = list(fingerprint, query.substitutions.len());
    for value in query.substitutions {
        fingerprint = fingerprint.with(value.to_string().as_bytes());
    }
    fingerprint = list(fingerprint, query.order.len());
    for term in &query.order {
        fingerprint = fingerprint.with(term.path.as_bytes()).with(&[u8::from(term.descending)]);
    }
    if let Some(entry) = query.entry {
        fingerprint = fingerprint.with(entry.key.as_bytes()).with(&[u8::from(entry.as_number)]);
    }
    fingerprint = fingerprint.with(&[u8::from(query.ties_follow_direction)]);
    if let Some(products) = query.products {
        let filter = products.filter.unwrap_or_default().trim();
        fingerprint = list(fingerprint.with(filter.as_bytes()), products.substitutions.len());
        for value in products.substitutions {
            fingerprint = fingerprint.with(value.to_string().as_bytes());
        }
    }
    fingerprint = list(fingerprint, query.restrict.len());
    for (path, values) in &query.restrict {
        fingerprint = list(fingerprint.with(path.as_bytes()), values.len());
        for value in values {
            fingerprint = fingerprint.with(value.as_bytes());
        }
    }
    if let Some(ids) = query.ids {
        fingerprint = list(fingerprint, ids.len());
        for id in ids {
            fingerprint = fingerprint.with(id.as_bytes());
        }
    }
    match query.reference_time {
        Some(reference) => fingerprint.with(reference.to_rfc3339().as_bytes()),
        None => fingerprint,
    }
}

/// The position after the last record of a page. `last` is its sort key, `next` that of the
/// following record.
pub(super) fn write(kind: Kind, last: &[u8], last_key: RecordKey, next: &[u8]) -> Vec<u8> {
    match mark_after(last, next, kind.id.key_len(), limits::TOKEN_POSITION_BYTES) {
        Some(mark) => [&[MARK], mark.as_slice()].concat(),
        None => [&[RECORD], last_key.as_bytes(), &xxh3_128(last).to_be_bytes()].concat(),
    }
}

/// The bytes that split `last` from `next`: `last` itself, or a mark between both if `last` has
/// more than `len_max` bytes.
///
/// A mark has the shape of a sort key, because readers split the key of a record or of a step off
/// its end. In that place, of `tail_len` bytes, it has bytes `ff`.
pub(crate) fn mark_after(
    last: &[u8],
    next: &[u8],
    tail_len: usize,
    len_max: usize,
) -> Option<Vec<u8>> {
    if last.len() <= len_max {
        return Some(last.to_vec());
    }
    mark_between(last, next, tail_len, len_max)
}

/// A mark of at most `len_max` bytes with `last <= mark < next`, if there is one. It ends with
/// `tail_len` bytes `ff`.
///
/// `last` and `next` first differ at the byte `common`, where `last` has the smaller byte. So
/// everything that starts with `last[..=common]` sorts before `next`. The bytes `ff` after it sort
/// after the rest of `last`.
fn mark_between(last: &[u8], next: &[u8], tail_len: usize, len_max: usize) -> Option<Vec<u8>> {
    let common = last.iter().zip(next).take_while(|(left, right)| left == right).count();
    let mut mark = last.get(..=common)?.to_vec();
    mark.resize(mark.len() + tail_len, 0xff);
    (mark.len() <= len_max && last <= mark.as_slice() && mark.as_slice() < next).then_some(mark)
}

/// The sort key or mark after which the page starts.
pub(super) fn read(
    candidates: &mut dyn Candidates,
    order: &Order<'_>,
    predicate: &Predicate,
    position: &[u8],
) -> Result<Vec<u8>> {
    let malformed =
        || Error::invalid("the continuation token is malformed").at_member("continuationToken");
    let (form, rest) = position.split_first().ok_or_else(malformed)?;
    if *form == MARK {
        return Ok(rest.to_vec());
    }
    let id = predicate.decl.kind.id;
    let (key, hash) = rest.split_at_checked(id.key_len()).ok_or_else(malformed)?;
    let key = RecordKey::from_bytes(id, key).ok_or_else(malformed)?;
    let sort = candidates.sort_key(order, predicate, key)?;
    match sort.filter(|sort| xxh3_128(sort).to_be_bytes() == *hash) {
        Some(sort) => Ok(sort),
        None => Err(Error::invalid(format!(
            "the last record of the previous page has changed since, and its sort key is too long \
             for a continuation token (TOKEN_POSITION_BYTES allows {}); start the query again \
             without one",
            limits::TOKEN_POSITION_BYTES
        ))
        .at_member("continuationToken")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Product, Resource};

    #[test]
    fn a_sort_key_is_kept_whole_up_to_its_bound() {
        limits::holds_at(limits::TOKEN_POSITION_BYTES, crate::ErrorKind::LimitExceeded, |len| {
            let (last, next) = (vec![b'a'; len], vec![b'b'; len]);
            let key = RecordKey::generate(Product::KIND, 1, 42);
            let written = write(Product::KIND, &last, key, &next);
            if written[1..] == last { Ok(()) } else { Err(Error::limit("it is cut to a mark")) }
        });
    }

    #[test]
    fn a_mark_parts_the_same_neighbours_as_the_key() {
        let key = |text: &[u8], tail: u8| [text, &[0, 1], &[tail; 16]].concat();
        let long = "x".repeat(5000);
        for (last, next) in [
            (key(b"a", 1), key(b"b", 0)),
            (key(format!("a{long}").as_bytes(), 1), key(format!("b{long}").as_bytes(), 0)),
            (key(format!("b{long}").as_bytes(), 255), key(b"ba", 0)),
            (
                key(format!("{}a{long}", "y".repeat(2000)).as_bytes(), 9),
                key("y".repeat(2001).as_bytes(), 0),
            ),
        ] {
            let (last, next) = if last < next { (last, next) } else { (next, last) };
            let mark = mark_between(&last, &next, 16, limits::TOKEN_POSITION_BYTES).unwrap();
            assert!(last <= mark && mark < next && mark.len() <= limits::TOKEN_POSITION_BYTES);
        }
        let alike = |tail| key(long.as_bytes(), tail);
        assert_eq!(mark_between(&alike(1), &alike(2), 16, limits::TOKEN_POSITION_BYTES), None);
    }
}
