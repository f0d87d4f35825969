//! One file a service: the public trait, and its one implementation for sessions and transactions.

pub(crate) mod batch;
mod search;

pub use search::{
    SearchFacet, SearchFacets, SearchHighlight, SearchHit, SearchRequest, SearchResponse, SearchService, SearchSnippet,
};
mod content;
mod file_query;
mod file_search;
mod file_sessions;
mod files;
#[cfg(test)]
mod files_tests;

pub(crate) use content::{sweep as sweep_contents, verify as verify_contents};
pub use files::FileService;
