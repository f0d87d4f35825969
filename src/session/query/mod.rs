//! Queries over records of one kind: filter, order, page, count.
//!
//! What must hold: the answer equals that of filtering and sorting every visible record, whatever
//! access path was taken. A page ends at a sort key, so paging by tokens returns each record
//! exactly once, unless its match or its sort key changed meanwhile.
//!
//! Indexes and the choice among them meet in `offers`. A new kind of index is a function in
//! `kinds::KINDS`: it returns the sets of candidates that it has for the conditions, and for each
//! the conditions that the set answers exactly. The choice then compares the sets by size, counts
//! by those that are exact together, and intersects those that narrow. An index that only counts
//! is a way of `offers::Count`, as the columns of the text index are; it is asked when the
//! sets are not exact.

mod access_path;
mod candidates;
mod cells;
mod kinds;
mod offers;
mod order;
mod plan;
mod position;
mod predicate;
mod run;
mod scan;
mod text;
mod walk;

pub use plan::Plan;
pub(crate) use position::mark_after;

use chrono::{DateTime, FixedOffset};

use crate::filter::Clause;

/// One term of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OrderTerm {
    /// Path of the field; `id` orders by the record's key.
    pub path: &'static str,
    /// Largest values first.
    pub descending: bool,
}

/// The entry of a map by which records are ordered; a record without it, or with null, comes first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryOrder<'q> {
    /// The key of the entry.
    pub key: &'q str,
    /// Whether its text is compared as a number; text that is none counts as null.
    pub as_number: bool,
}

/// The products that the records of a query belong to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProductFilter<'q> {
    /// Path of the field with the part number.
    pub path: &'static str,
    /// Filter over products.
    pub filter: Option<&'q str>,
    /// The values of `@0`, `@1`, … in it.
    pub substitutions: &'q [serde_json::Value],
}

/// A query of a service over records of one kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query<'q> {
    /// Filter text; absent or blank matches everything.
    pub filter: Option<&'q str>,
    /// The condition of a request that has another language than filters, instead of a filter.
    pub clause: Option<&'q Clause>,
    /// The values of `@0`, `@1`, …
    pub substitutions: &'q [serde_json::Value],
    /// Whether the filter must not use substitutions.
    pub no_substitutions: bool,
    /// Whether the filter may compare lists with `["a", "b"]` and maps with `["key": "value"]`.
    pub bracket_lists: bool,
    /// The order; ties are ordered by id. Empty means by id, which is the order of creation for
    /// generated ids.
    pub order: Vec<OrderTerm>,
    /// The entry by which the terms of the order that name a map order.
    pub entry: Option<EntryOrder<'q>>,
    /// Whether ties follow the direction of the first order term instead of being ascending.
    pub ties_follow_direction: bool,
    /// Most records on the page.
    pub take: usize,
    /// Number of matches to skip.
    pub skip: usize,
    /// The token of the previous page.
    pub continuation_token: Option<&'q str>,
    /// Whether all matches are counted.
    pub return_count: bool,
    /// The moment and zone that relative times refer to; default: the store's time in UTC.
    pub reference_time: Option<DateTime<FixedOffset>>,
    /// Restricts the query to these ids. Malformed and unknown ids match nothing.
    pub ids: Option<&'q [String]>,
    /// Restricts fields, by path, to the given values; all restrictions must hold.
    pub restrict: Vec<(&'static str, Vec<String>)>,
    /// Keeps the records of products that the caller may see and that match.
    pub products: Option<ProductFilter<'q>>,
    /// Additional names of fields in the filter, for names that depend on the settings of the
    /// store.
    pub renames: Vec<(String, &'static str)>,
    /// Fields that a filter may use only together with another field: path, and path of the other.
    pub requires: &'static [(&'static str, &'static str)],
}

impl<'q> Query<'q> {
    /// Turns this into the query of the page after `token`: the skipped matches precede that page.
    pub(crate) fn continue_after(&mut self, token: Option<&'q str>) {
        if token.is_some() {
            self.continuation_token = token;
            self.skip = 0;
        }
    }
}
