//! Where the candidates of a query come from.

use super::Query;
use super::predicate::Predicate;
use crate::model::{Index, Resource};
use crate::value::id::RecordKey;
use crate::value::key;

/// Where the candidates come from.
#[derive(Debug)]
pub(super) enum AccessPath {
    /// These keys, in key order.
    Keys(Vec<RecordKey>),
    /// The entries of an index that start with one of these prefixes; the order says nothing.
    Prefixes {
        /// Number of the index.
        index: u8,
        /// Name of the index, for plans.
        name: String,
        /// Distinct prefixes.
        prefixes: Vec<Vec<u8>>,
    },
    /// A whole index, read in the order that the query asks for.
    Ordered {
        /// Number of the index.
        index: u8,
        /// Name of the index, for plans.
        name: String,
        /// Read from the end.
        descending: bool,
    },
    /// Every record, in key order.
    All,
}

fn name<R>(index: &Index<R>) -> String {
    index.fields.join(", ")
}

/// Chooses where the candidates come from.
pub(super) fn choose<R: Resource>(query: &Query<'_>, predicate: &Predicate) -> AccessPath {
    if let Some(ids) = query.ids {
        let mut keys: Vec<RecordKey> = ids.iter().filter_map(|id| RecordKey::parse(R::KIND.id, id)).collect();
        keys.sort_unstable();
        keys.dedup();
        return AccessPath::Keys(keys);
    }
    if let Some(keys) = &predicate.text_candidates {
        return AccessPath::Keys(keys.clone());
    }
    for (path, values) in &query.restrict {
        let index = R::indexes().iter().find(|index| index.on.is_none() && index.fields.first() == Some(path));
        if let Some(index) = index {
            let mut prefixes: Vec<Vec<u8>> = values
                .iter()
                .map(|value| {
                    let mut prefix = Vec::new();
                    key::push_str(&mut prefix, value);
                    prefix
                })
                .collect();
            prefixes.sort_unstable();
            prefixes.dedup();
            return AccessPath::Prefixes { index: index.number, name: name(index), prefixes };
        }
    }
    // An index serves an order when its entries are exactly the order's keys: then ties stand in key order already.
    if let [term] = query.order.as_slice() {
        let index = R::indexes().iter().find(|index| index.on.is_none() && index.fields == [term.path]);
        if let Some(index) = index.filter(|_| !term.descending || query.ties_follow_direction) {
            return AccessPath::Ordered { index: index.number, name: name(index), descending: term.descending };
        }
    }
    AccessPath::All
}
