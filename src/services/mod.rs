//! One file a service: the public trait, and its one implementation for sessions and transactions.

pub(crate) mod batch;
mod search;

pub use search::{
    SearchFacet, SearchFacets, SearchHighlight, SearchHit, SearchRequest, SearchResponse, SearchService, SearchSnippet,
};
