//! Plain data types, one folder for each service. Each resource declares its fields once.

pub(crate) mod answer;
pub(crate) mod assets;
pub(crate) mod bodies;
pub(crate) mod download;
pub(crate) mod feeds;
pub(crate) mod files;
pub(crate) mod imports;
pub(crate) mod lab;
mod operation;
pub(crate) mod products;
pub(crate) mod quotas;
pub(crate) mod records;
pub(crate) mod resource;
pub(crate) mod results;
pub(crate) mod search;
pub(crate) mod specifications;
pub(crate) mod steps;
pub(crate) mod tables;
pub(crate) mod test_plans;
pub(crate) mod work_items;
pub(crate) mod workspaces;

pub(crate) use answer::*;
pub(crate) use assets::*;
pub(crate) use feeds::*;
pub(crate) use files::*;
pub(crate) use imports::*;
pub(crate) use lab::*;
pub use operation::Operation;
pub(crate) use products::*;
pub(crate) use quotas::*;
pub(crate) use records::*;
pub(crate) use resource::declare::fill;
pub(crate) use resource::entries::{
    EntryBuffer, entries, entries_between, entry_value_into, has_same_entries, has_same_value,
    include_positions, index_positions, split_entry_value,
};
pub(crate) use resource::members::{members_beside_state, members_of, places};
pub(crate) use resource::registry::{KindDecl, KindEntry};
pub(crate) use resource::{AnyRecord, Index, RecordRow, Resource, Stamped, text_of};
pub(crate) use results::*;
pub(crate) use search::*;
pub(crate) use specifications::*;
pub(crate) use tables::*;
pub(crate) use test_plans::*;
pub(crate) use work_items::*;
pub(crate) use workspaces::*;

// One line for each resource.
resource::registry::registry! {
    Product,
    Specification,
    Asset,
    Utilization,
    FileRecord,
    Feed,
    PackageRecord,
    UploadSessionRecord,
    tables::table::TableMetadata,
    work_items::work_item::WorkItem,
    work_items::template::WorkItemTemplate,
    test_plans::test_plan::TestPlan,
    test_plans::template::TestPlanTemplate,
    workspaces::Workspace,
    quotas::QuotaRecord,
    TestResult,
    steps::remains::RemainingSteps,
}
