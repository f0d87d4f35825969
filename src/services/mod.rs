//! One folder for each service: the public trait, and its one implementation for sessions and
//! transactions.

mod assets;
pub(crate) mod batch;
pub(crate) mod by_name;
mod catalogue;
pub(crate) mod content;
pub(crate) mod declare;
mod feeds;
#[cfg(test)]
mod field_page_tests;
mod files;
mod lab;
pub(crate) mod lists;
mod pages;
pub(crate) mod products;
pub(crate) mod queries;
mod records;
pub(crate) mod results;
mod search;
pub(crate) mod service_record;
mod specifications;
mod tables;
pub(crate) mod test_plans;
mod values;
pub(crate) mod work_items;
mod workspaces;

pub use assets::AssetService;
pub use by_name::Reply;
pub use catalogue::{OperationInfo, Services, operations};
pub use content::ContentWriter;
pub(crate) use content::{
    NamedBlob, blob_hashes, blobs_of_row, named_paths as named_content_paths,
    remove_abandoned as remove_abandoned_contents, sweep as sweep_contents,
    verify as verify_contents,
};
pub use feeds::FeedService;
pub use files::FileService;
pub(crate) use files::expire as expire_upload_sessions;
pub use pages::Items;
pub use products::ProductService;
pub use records::{RecordService, RecordStream};
pub(crate) use results::retain_results;
#[cfg(test)]
pub(crate) use results::retain_results_with;
pub use results::{Measured, ResultService, Run, RunSequence, RunStart, RunStep};
pub(crate) use results::{mend_steps, verify_steps};
pub use search::SearchService;
pub use specifications::SpecificationService;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use tables::compile_row_filter;
pub use tables::{PagedTableRows, Rows, TablePlan, TableRows, TableService};
pub use test_plans::TestPlanService;
pub use work_items::WorkItemService;
pub(crate) use work_items::recover_intents;
pub use workspaces::WorkspaceService;
