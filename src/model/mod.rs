//! Plain data types, one folder for each service. Each resource declares its fields once.

pub mod answer;
pub mod assets;
pub mod bodies;
pub mod download;
pub mod feeds;
pub mod files;
pub mod lab;
mod operation;
pub mod products;
pub mod resource;
pub mod specifications;
pub mod tables;
pub mod test_plans;
pub mod work_items;
pub mod workspaces;

pub use assets::*;
pub use feeds::*;
pub use files::*;
pub use operation::Operation;
pub use products::*;
pub(crate) use resource::declare::fill;
pub use resource::entries::{
    EntryBuffer, entries, entries_between, entry_value_into, has_same_entries, has_same_value, include_positions,
    index_positions, split_entry_value,
};
pub use resource::members::{members_beside_state, members_of};
pub use resource::registry::Registered;
pub use resource::{Index, Resource, Stamped, text_of};
pub use specifications::*;

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
}
