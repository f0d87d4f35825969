//! The results of `search("...")`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::error::{Error, Place, Result};
use crate::filter::Filter;
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
    let mut memory = view.context().call_memory();
    let most = memory.most();
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
                if !memory.hold(bytes)? && !known.is_empty() {
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

/// Moves the error of a text query to its place in the filter. `offset` is that of the literal; the
/// offsets of the text query start after the quote.
fn in_filter(error: Error, offset: usize) -> Error {
    let within = match error.place() {
        Some(Place::Offset(within)) => within + 1,
        _ => 0,
    };
    error.at(Place::Offset(offset + within))
}
