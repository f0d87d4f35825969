//! What requests of several resources have in common.

use serde::{Serialize, Serializer};

use crate::error::{Error, Result};

/// Refuses a property without a key.
///
/// # Errors
/// `InvalidArgument` naming the member.
pub fn check_property_keys(properties: Option<&std::collections::BTreeMap<String, String>>) -> Result<()> {
    match properties.is_some_and(|properties| properties.contains_key("")) {
        true => Err(Error::invalid("a property has an empty key").at_member("properties")),
        false => Ok(()),
    }
}

/// Makes a list or map that is not there an empty one, for answers of which it is a part.
pub fn fill<T: Default>(members: &mut Option<T>) {
    members.get_or_insert_default();
}

/// For `#[serde(serialize_with = "…")]` on a list that is part of every answer: one that is not there is written empty.
pub fn written_list<T: Serialize, S: Serializer>(list: &Option<Vec<T>>, serializer: S) -> Result<S::Ok, S::Error> {
    list.as_deref().unwrap_or_default().serialize(serializer)
}

/// The list without the entries that equal an earlier one.
pub fn without_repeats(list: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    list.into_iter().filter(|entry| seen.insert(entry.clone())).collect()
}

/// The stored list followed by the new entries that it lacks.
pub fn union(stored: Option<Vec<String>>, added: Vec<String>) -> Vec<String> {
    let mut all = stored.unwrap_or_default();
    all.extend(added);
    without_repeats(all)
}
