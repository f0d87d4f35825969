//! One file a service: the public trait, and its one implementation for sessions and transactions.

mod asset_store;
mod assets;
pub(crate) mod batch;
#[cfg(test)]
mod client_end_tests;
mod lab;
mod lists;
mod search;
mod table_append;
#[cfg(test)]
mod table_append_tests;
#[cfg(test)]
mod table_files_tests;
mod table_import;
#[cfg(test)]
mod table_import_tests;
mod table_metadata;
#[cfg(test)]
mod table_model_tests;
mod table_read;
mod table_rows;
#[cfg(test)]
mod table_rules_tests;
mod table_segments;
#[cfg(test)]
mod table_syncs_tests;
#[cfg(test)]
mod table_walk_tests;
mod tables;
#[cfg(test)]
mod tables_tests;
pub mod test_plans;
pub mod work_items;

pub use search::{
    SearchFacet, SearchFacets, SearchHighlight, SearchHit, SearchRequest, SearchResponse, SearchService, SearchSnippet,
};
mod content;
#[cfg(all(test, feature = "packages"))]
mod content_edges_tests;
#[cfg(all(test, feature = "packages"))]
mod content_reference_tests;
#[cfg(test)]
mod content_tests;
#[cfg(all(test, feature = "packages"))]
mod feed_export_tests;
mod feed_index;
mod feed_upload;
mod feeds;
#[cfg(all(test, feature = "packages"))]
mod feeds_tests;
mod file_query;
mod file_search;
mod file_sessions;
mod files;
#[cfg(test)]
mod files_tests;

pub(crate) use content::{
    named_paths as named_content_paths, remove_abandoned as remove_abandoned_contents, sweep as sweep_contents,
    verify as verify_contents,
};
pub use feeds::FeedService;
pub(crate) use file_sessions::expire as expire_upload_sessions;
pub use files::FileService;
pub use table_rows::{PagedTableRows, Rows, TablePlan, TableRows};
pub use table_segments::SegmentFile;
pub use tables::TableService;
pub use test_plans::TestPlanService;
pub use work_items::WorkItemService;
pub(crate) use work_items::recover_intents;
mod products;
mod specifications;
mod utilization;
mod utilization_history;

pub use assets::AssetService;
pub use products::ProductService;
pub use specifications::SpecificationService;

#[cfg(test)]
mod asset_tests;
#[cfg(test)]
mod bounds_tests;
#[cfg(test)]
mod client_tests;
#[cfg(test)]
mod corpus_tests;
#[cfg(all(test, feature = "search"))]
mod count_tests;
#[cfg(test)]
mod product_tests;
#[cfg(test)]
mod specification_tests;
#[cfg(test)]
mod test_store;
#[cfg(test)]
mod utilization_tests;
