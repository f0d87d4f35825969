//! Lists that steer a query: how many entries one may have, and what becomes of repeated ones.
//!
//! A list of records or ids to work on is a batch, and bounded by bytes and memory alone. A list that decides how a
//! query is carried out costs work for each entry and each record, so it has a bound. `tests/request_bounds` lists which member
//! is which, and reads the sources for members that it does not list.

use crate::error::{Error, Result};
use crate::value::limits::QUERY_LIST;

/// Refuses a list with more entries than one may have.
///
/// # Errors
/// `LimitExceeded` at `member`.
pub(super) fn check(member: &str, len: usize) -> Result<()> {
    check_within(member, len, QUERY_LIST)
}

/// Refuses a list with more than `most` entries, which is at least [`QUERY_LIST`].
///
/// # Errors
/// `LimitExceeded` at `member`.
pub(super) fn check_within(member: &str, len: usize, most: usize) -> Result<()> {
    if len <= most {
        return Ok(());
    }
    Err(Error::limit(format!("{len} entries in one list; QUERY_LIST allows {most}"))
        .with_args([len.to_string(), most.to_string()])
        .at_member(member))
}

/// The entries without repetitions, in order of first appearance; of few different ones.
///
/// # Errors
/// As [`check`].
pub(crate) fn distinct<T: Copy + PartialEq>(member: &str, list: &[T]) -> Result<Vec<T>> {
    check(member, list.len())?;
    let mut distinct = Vec::new();
    for entry in list {
        if !distinct.contains(entry) {
            distinct.push(*entry);
        }
    }
    Ok(distinct)
}
