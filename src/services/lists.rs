//! Lists that control a query: how many entries are allowed, and how duplicates are treated.
//!
//! A list of records or ids to work on is a batch, limited only by bytes and memory. A list that
//! controls how a query is executed costs work for each entry and each record, so its length is
//! limited. `tests/request_bounds` lists which member is of which kind, and searches the sources
//! for members that it does not list.

use crate::error::{Error, Result};
use crate::value::limits::QUERY_LIST;

/// Rejects a list with more than [`QUERY_LIST`] entries.
///
/// # Errors
/// `LimitExceeded` at `member`.
pub(super) fn check(member: &str, len: usize) -> Result<()> {
    check_within(member, len, QUERY_LIST)
}

/// Rejects a list with more than `most` entries; `most` must be at least [`QUERY_LIST`].
///
/// # Errors
/// `LimitExceeded` at `member`.
pub(super) fn check_within(member: &str, len: usize, most: usize) -> Result<()> {
    if len <= most {
        return Ok(());
    }
    Err(Error::limit(format!("{len} entries in one list; QUERY_LIST allows {most}, so shorten it"))
        .with_args([len.to_string(), most.to_string()])
        .at_member(member))
}

/// The entries without duplicates, in order of first appearance. The cost is entries times distinct
/// entries, so the type must have few values.
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
