//! The request and the response of a search.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::document::DocKey;
use super::tree::Node;

/// A combination of kinds and workspaces: a document passes if it has one of the kinds and is in
/// one of the workspaces.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scope {
    /// Codes of the kinds.
    pub kinds: Vec<u8>,
    /// Ids of the workspaces; `None` for all.
    pub workspaces: Option<Arc<[String]>>,
}

/// The start of a page: after the document with this score and key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct After {
    /// Score of the last document of the previous page.
    pub score: f32,
    /// Its key.
    pub key: DocKey,
}

/// One search.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The text query.
    pub query: Node,
    /// Documents must pass one of these; `None` if all documents do.
    pub scopes: Option<Vec<Scope>>,
    /// Fields that conditions without a field search; `None` for all.
    pub fields: Option<Vec<usize>>,
    /// Number of hits on the page.
    pub take: usize,
    /// Where the page starts.
    pub after: Option<After>,
    /// Whether all hits are counted.
    pub count: bool,
    /// Whether hits are counted by kind and workspace.
    pub facets: bool,
    /// Whether scores use fixed statistics instead of those of the index. With the latter, a score
    /// depends on how many documents have a word, and so reveals something about documents that the
    /// caller may not see.
    pub fixed_statistics: bool,
}

impl Request {
    /// The first page, of `take` hits, of a query over all documents.
    pub(crate) fn new(query: Node, take: usize) -> Self {
        Self {
            query,
            scopes: None,
            fields: None,
            take,
            after: None,
            count: true,
            facets: false,
            fixed_statistics: false,
        }
    }

    /// Whether the scopes allow a document.
    pub(crate) fn admits(&self, kind: u8, workspace: &str) -> bool {
        self.scopes.as_ref().is_none_or(|scopes| {
            scopes.iter().any(|scope| {
                scope.kinds.contains(&kind)
                    && scope
                        .workspaces
                        .as_ref()
                        .is_none_or(|known| known.iter().any(|id| id == workspace))
            })
        })
    }
}

/// One hit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Hit {
    /// The document.
    pub key: DocKey,
    /// The score; greater is better.
    pub score: f32,
}

/// Number of low bits of a score that are ignored. The scores of several words are summed in an
/// order that depends on which blocks were skipped, so the last bits of the sum differ between
/// pages.
const UNCOUNTED: u32 = 12;
/// Half of the unit that a score is rounded to, in units of the last bit.
const HALF: u32 = 1 << (UNCOUNTED - 1);
/// More than sums of the same scores can differ by, in units of the last bit.
const SLACK: u32 = 64;

/// Rounds a score for the order of hits. Sums of the same scores become equal, except for about one
/// in a thousand that lies at the border between two rounded values.
pub(crate) fn counted(score: f32) -> f32 {
    if score > 0.0 {
        return f32::from_bits(score.to_bits().saturating_add(HALF) & !(2 * HALF - 1));
    }
    score
}

/// A lower bound of all sums that round to `counted`: each of them is greater.
pub(crate) fn below(counted: f32) -> f32 {
    counted.to_bits().checked_sub(HALF + SLACK).map_or(f32::NEG_INFINITY, f32::from_bits)
}

/// A score below all sums that round to more than `counted`, but not below most sums that round to
/// `counted`.
pub(crate) fn among(counted: f32) -> f32 {
    f32::from_bits(counted.to_bits().saturating_add(HALF - SLACK))
}

impl Hit {
    /// Best first; equal scores by key.
    pub(crate) fn order(&self, other: &Self) -> std::cmp::Ordering {
        other.score.total_cmp(&self.score).then_with(|| self.key.cmp(&other.key))
    }

    /// Whether it comes after `after`.
    pub(crate) fn is_behind(&self, after: &After) -> bool {
        self.score < after.score || (self.score == after.score && self.key > after.key)
    }
}

/// Numbers of hits by kind and by workspace.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Facets {
    /// Number of hits by kind code.
    pub kinds: BTreeMap<u8, u64>,
    /// Number of hits by workspace id.
    pub workspaces: BTreeMap<String, u64>,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Hits {
    /// The page, best first.
    pub hits: Vec<Hit>,
    /// Whether there are further pages.
    pub has_more: bool,
    /// Number of hits on all pages, if asked for.
    pub total: Option<u64>,
    /// Facets, if asked for.
    pub facets: Option<Facets>,
}
