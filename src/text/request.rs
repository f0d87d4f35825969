//! What a search asks and answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::document::DocKey;
use super::tree::Node;

/// Kinds and workspaces that go together: a document passes when both are met.
#[derive(Clone, Debug, PartialEq)]
pub struct Scope {
    /// Codes of the kinds.
    pub kinds: Vec<u8>,
    /// Ids of the workspaces; `None` for all.
    pub workspaces: Option<Arc<[String]>>,
}

/// Where a page starts: behind a document with this score and key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct After {
    /// Score of the last document of the page before.
    pub score: f32,
    /// Its key.
    pub key: DocKey,
}

/// One search.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which documents.
    pub query: Node,
    /// Documents must pass one of these; `None` when all do.
    pub scopes: Option<Vec<Scope>>,
    /// Fields that conditions without a field look in; `None` for all.
    pub fields: Option<Vec<usize>>,
    /// Hits of the page.
    pub take: usize,
    /// Where the page starts.
    pub after: Option<After>,
    /// Whether to count all hits.
    pub count: bool,
    /// Whether to count by kind and workspace.
    pub facets: bool,
    /// Whether scores use fixed statistics instead of counts over the index. A score is otherwise a
    /// function of how many documents have a word, so it tells of documents that the caller may not
    /// see.
    pub fixed_statistics: bool,
}

impl Request {
    /// The first page of `take` hits of a query over everything.
    pub fn new(query: Node, take: usize) -> Self {
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

    /// Whether a document may be shown.
    pub fn admits(&self, kind: u8, workspace: &str) -> bool {
        self.scopes.as_ref().is_none_or(|scopes| {
            scopes.iter().any(|scope| {
                scope.kinds.contains(&kind)
                    && scope.workspaces.as_ref().is_none_or(|known| known.iter().any(|id| id == workspace))
            })
        })
    }
}

/// One hit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Which document.
    pub key: DocKey,
    /// How well it fits; greater is better.
    pub score: f32,
}

/// The scores of several words are added in an order that depends on what was passed over, so the
/// last bits of their sum differ between pages. These bits of a score do not count.
const UNCOUNTED: u32 = 12;
/// Half of what a score is rounded to, in bits.
const HALF: u32 = 1 << (UNCOUNTED - 1);
/// More than sums of the same scores differ by, in bits.
const SLACK: u32 = 64;

/// A score as it counts in the order of hits: rounded, so that the sums of the same scores are the
/// same but for those that lie at the edge of two roundings, one in a thousand.
pub fn counted(score: f32) -> f32 {
    if score > 0.0 {
        return f32::from_bits(score.to_bits().saturating_add(HALF) & !(2 * HALF - 1));
    }
    score
}

/// A score that every sum which counts as `counted` is above.
pub fn below(counted: f32) -> f32 {
    counted.to_bits().checked_sub(HALF + SLACK).map_or(f32::NEG_INFINITY, f32::from_bits)
}

/// A score that every sum which counts more than `counted` is above; few that count alike are.
pub fn among(counted: f32) -> f32 {
    f32::from_bits(counted.to_bits().saturating_add(HALF - SLACK))
}

impl Hit {
    /// Best first; equal scores in the order of the keys.
    pub fn order(&self, other: &Self) -> std::cmp::Ordering {
        other.score.total_cmp(&self.score).then_with(|| self.key.cmp(&other.key))
    }

    /// Whether it belongs behind `after`.
    pub fn is_behind(&self, after: &After) -> bool {
        self.score < after.score || (self.score == after.score && self.key > after.key)
    }
}

/// Hits counted by kind and by workspace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facets {
    /// Code of the kind and number of hits.
    pub kinds: BTreeMap<u8, u64>,
    /// Id of the workspace and number of hits.
    pub workspaces: BTreeMap<String, u64>,
}

/// The answer of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hits {
    /// The page, best first.
    pub hits: Vec<Hit>,
    /// Whether there are further pages.
    pub has_more: bool,
    /// Number of hits on all pages, when asked for.
    pub total: Option<u64>,
    /// Counts, when asked for.
    pub facets: Option<Facets>,
}
