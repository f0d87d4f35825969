//! Common parts of the requests of several resources.

use serde::{Serialize, Serializer};

use crate::error::{Error, Result};

/// Rejects a property without a key.
///
/// # Errors
/// `InvalidArgument` at the member.
pub(crate) fn check_property_keys<V>(
    properties: Option<&std::collections::BTreeMap<String, V>>,
) -> Result<()> {
    if properties.is_some_and(|properties| properties.contains_key("")) {
        Err(Error::invalid("a property has an empty key").at_member("properties"))
    } else {
        Ok(())
    }
}

/// Replaces an absent list or map of a response by an empty one.
pub(crate) fn fill<T: Default>(members: &mut Option<T>) {
    members.get_or_insert_default();
}

/// For `#[serde(serialize_with = "…")]` on a list that every response contains: an absent list is
/// written as an empty one.
pub(crate) fn written_list<T: Serialize, S: Serializer>(
    list: &Option<Vec<T>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    list.as_deref().unwrap_or_default().serialize(serializer)
}

/// The list without duplicates, in order of first appearance.
pub(crate) fn without_repeats(list: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    list.into_iter().filter(|entry| seen.insert(entry.clone())).collect()
}

/// The stored list, followed by the added entries that it does not contain.
pub(crate) fn union(stored: Option<Vec<String>>, added: Vec<String>) -> Vec<String> {
    let mut all = stored.unwrap_or_default();
    all.extend(added);
    without_repeats(all)
}
