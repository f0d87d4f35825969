//! Queries over one kind of record: filter, order, page, count.
//!
//! What must hold: the answer is that of filtering and sorting every visible record, whatever path was taken; a page ends
//! at a key, so a walk by tokens returns each record whose match and order key did not change exactly once.

mod access_path;
mod cells;
mod count;
mod order;
mod plan;
mod position;
mod predicate;
mod run;
mod scan;
mod text;
mod walk;

pub use plan::Plan;

use chrono::{DateTime, FixedOffset};

/// One term of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderTerm {
    /// Path of the field; `id` orders by the record's key.
    pub path: &'static str,
    /// Largest first.
    pub descending: bool,
}

/// What a service asks of a collection.
#[derive(Clone, Debug, Default)]
pub struct Query<'q> {
    /// Filter text; absent or blank matches everything.
    pub filter: Option<&'q str>,
    /// The values of `@0`, `@1`, …
    pub substitutions: &'q [serde_json::Value],
    /// Whether the filter may use substitutions at all.
    pub no_substitutions: bool,
    /// Whether the filter may compare lists with `["a", "b"]` and maps with `["key": "value"]`.
    pub bracket_lists: bool,
    /// Order; ties by id. Empty means by id, which is the order of creation for generated ids.
    pub order: Vec<OrderTerm>,
    /// Whether ties are broken in the direction of the first order term instead of ascending.
    pub ties_follow_direction: bool,
    /// Most records of the page.
    pub take: usize,
    /// Matches to jump over.
    pub skip: usize,
    /// Where the previous page ended.
    pub continuation_token: Option<&'q str>,
    /// Whether to count all matches.
    pub return_count: bool,
    /// The moment and zone that relative times refer to; default: the store's time in UTC.
    pub reference_time: Option<DateTime<FixedOffset>>,
    /// Only these ids; malformed and unknown ones are simply not found.
    pub ids: Option<&'q [String]>,
    /// Only records whose field at the path has one of the values; all restrictions must hold.
    pub restrict: Vec<(&'static str, Vec<String>)>,
    /// Further names of fields in the filter, for names that depend on the store's settings.
    pub renames: Vec<(String, &'static str)>,
    /// Fields that may be used only in filters that also use another: path and path of the other.
    pub requires: &'static [(&'static str, &'static str)],
}

impl<'q> Query<'q> {
    /// Makes it the query of the page after `token`: what was to be jumped over lies before that page.
    pub(crate) fn continue_after(&mut self, token: Option<&'q str>) {
        if token.is_some() {
            self.continuation_token = token;
            self.skip = 0;
        }
    }
}

/// One page of an answer.
#[derive(Clone, Debug)]
pub struct Page<R> {
    /// The records, in order.
    pub items: Vec<R>,
    /// Where the next page starts; `None` when nothing follows.
    pub continuation_token: Option<String>,
    /// All matches whatever the page, when asked for.
    pub total_count: Option<u64>,
}
