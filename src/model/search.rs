//! The request and the answer of a full-text search.

use crate::error::{Error, Result};
use crate::value::limits::SEARCH_TAKE_DEFAULT;
use crate::value::wire::record;

record! {
    /// A full-text search request.
    ///
    /// The text consists of words, `"phrases"` and `prefix*`es, each optionally with a field in
    /// front (`name:amplifier`), and of `kind:product` and `workspace:id`. They are combined by
    /// `AND` (also implied between two terms), `OR`, `NOT` or `-`, and parentheses. A `prefix*`
    /// finds every word that starts with it, however many there are. At the end of a phrase
    /// (`"low noi"*`, `DMM-40*`) it may match at most 1,024 words.
    ///
    /// Letter case does not matter. Nor do diacritics, unless the option
    /// [`search_folds_diacritics`](crate::Settings::search_folds_diacritics) is off: `grosse`,
    /// `GROSSE` and `Größe` find each other, as do `resume` and `résumé`, `oe` and `œ`, `o` and
    /// `ø`. Snippets show and mark the original text. The filter function `search("...")` finds the
    /// same; other conditions of filters compare texts exactly.
    wire pub struct SearchRequest new() {
        /// The query; matches everything when absent or blank.
        pub text: Option<String>,
        /// Kinds to search, by the names of change events; all when empty. This list and the next
        /// two have at most 10,000 entries each; duplicates are ignored.
        pub kinds: Vec<String>,
        /// Ids of the workspaces to search; when empty, all that the caller may read.
        pub workspaces: Vec<String>,
        /// Fields in which words without a field are searched; all when empty.
        pub fields: Vec<String>,
        /// Number of hits on one page, 25 when absent, at most 1000.
        pub take: Option<i64>,
        /// The token of the previous page of the same search.
        pub continuation_token: Option<String>,
        /// Whether hits contain the matching pieces of text.
        pub highlight: Option<bool>,
        /// Whether to count the hits by kind and by workspace.
        pub facets: Option<bool>,
        /// Whether to count all hits; true when absent. A search that does not count may skip
        /// low-ranking hits.
        pub return_count: Option<bool>,
    }

    /// One page of hits.
    answer pub struct SearchResponse {
        /// The hits, best first.
        pub hits: Vec<SearchHit>,
        /// Counts by kind and workspace over all pages, if requested.
        pub facets: Option<SearchFacets>,
        /// Number of hits on all pages, unless `return_count` is false.
        pub total: Option<u64>,
        /// The token of the next page; absent on the last one.
        pub continuation_token: Option<String>,
    }

    /// A resource that was found.
    wire pub struct SearchHit {
        /// Kind of the resource: `work item`.
        pub kind: String,
        /// Its id.
        pub id: String,
        /// Its display name, empty where it has none.
        pub name: String,
        /// Its workspace.
        pub workspace: String,
        /// The relevance; comparable only within one search. For a caller that may not see every
        /// kind in every workspace, all words count as equally rare: word frequencies would reveal
        /// documents that the caller may not see.
        pub score: f64,
        /// Pieces of text that match, one for each field, if requested.
        pub snippets: Vec<SearchSnippet>,
    }

    /// A piece of the text of a field.
    wire pub struct SearchSnippet {
        /// Name of the field.
        pub field: String,
        /// The text of the piece.
        pub text: String,
        /// The matching parts of the piece, in order.
        pub highlights: Vec<SearchHighlight>,
        /// Whether the field has text before the piece.
        pub is_cut_before: bool,
        /// Whether the field has text after the piece.
        pub is_cut_after: bool,
    }

    /// A matching part of a snippet.
    wire pub struct SearchHighlight {
        /// First character, counted from zero.
        pub start: u64,
        /// The character after the last.
        pub end: u64,
    }

    /// Numbers of hits by kind and by workspace.
    wire pub struct SearchFacets {
        /// By kind.
        pub kinds: Vec<SearchFacet>,
        /// By workspace.
        pub workspaces: Vec<SearchFacet>,
    }

    /// The number of hits that have a value.
    wire pub struct SearchFacet {
        /// The value.
        pub value: String,
        /// The number of hits.
        pub count: u64,
    }
}

impl SearchRequest {
    /// Number of hits on one page.
    ///
    /// # Errors
    /// `InvalidArgument` at `take` for a negative number.
    pub(crate) fn page_size(&self) -> Result<usize> {
        self.take.map_or(Ok(SEARCH_TAKE_DEFAULT), |take| {
            usize::try_from(take).map_err(|_| {
                Error::invalid(format!("take is {take}; it must not be negative")).at_member("take")
            })
        })
    }
}
