//! Requests and answers about work items.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::ApiError;
use crate::model::lab::dashboard::{Dashboard, DashboardPatch};
use crate::model::lab::execution::ExecutionDefinition;
use crate::model::lab::resources::{ResourcesDefinition, ResourcesPatch, ScheduleResourcesDefinition};
use crate::model::lab::timeline::{SchedulePatch, TimelineDefinition, TimelinePatch};
use crate::model::work_items::projection::WorkItemField;
use crate::model::work_items::work_item::WorkItem;
use crate::value::Patch;
use crate::value::wire::{record, wire_enum};

record! {
    /// A work item to make. Nothing is required.
    wire pub struct CreateWorkItemRequest {
        /// Display name.
        pub name: Option<String>,
        /// Free type text; from the template when absent.
        pub r#type: Option<String>,
        /// State in any spelling; `NEW` when absent.
        pub state: Option<String>,
        /// What the work is.
        pub description: Option<String>,
        /// The work item that it belongs to; stored as given.
        pub parent_id: Option<String>,
        /// The template to copy from; must exist.
        pub template_id: Option<String>,
        /// The user who does the work.
        pub assigned_to: Option<String>,
        /// The user who asks for it.
        pub requested_by: Option<String>,
        /// The program that tests.
        pub test_program: Option<String>,
        /// The product.
        pub part_number: Option<String>,
        /// The workspace; the session's default when absent.
        pub workspace: Option<String>,
        /// When the work may and should happen.
        pub timeline: Option<TimelineDefinition>,
        /// What it needs and reserves.
        pub resources: Option<ResourcesDefinition>,
        /// Its actions.
        #[serde(serialize_with = "crate::model::lab::execution::as_sent::opt")]
        pub execution_actions: Option<Vec<ExecutionDefinition>>,
        /// Files.
        pub file_ids_from_template: Option<Vec<String>>,
        /// Free properties; merged over those of the template.
        pub properties: Option<BTreeMap<String, String>>,
        /// The dashboard.
        pub dashboard: Option<Dashboard>,
        /// The workflow, a plain reference.
        pub workflow_id: Option<String>,
    }

    /// The body of a create call on the wire.
    wire pub struct CreateWorkItemsRequest {
        /// The work items to make.
        pub work_items: Vec<CreateWorkItemRequest>,
    }

    /// What an update changes in one work item: absent members keep, null members clear.
    patch pub struct UpdateWorkItemRequest {
        /// The work item; required.
        pub id: Option<String>,
        /// Display name.
        pub name: Patch<String>,
        /// State in any spelling, from any state; null is `NEW`.
        pub state: Patch<String>,
        /// What the work is.
        pub description: Patch<String>,
        /// The work item that it belongs to.
        pub parent_id: Patch<String>,
        /// The user who does the work.
        pub assigned_to: Patch<String>,
        /// The user who asked for it.
        pub requested_by: Patch<String>,
        /// The program that tests.
        pub test_program: Patch<String>,
        /// The product.
        pub part_number: Patch<String>,
        /// The workspace; null keeps it.
        pub workspace: Option<String>,
        /// When the work may and should happen, merged member by member.
        pub timeline: Patch<TimelinePatch>,
        /// What it needs and reserves, merged member by member.
        pub resources: Patch<ResourcesPatch>,
        /// Its actions, appended or replaced.
        #[serde(serialize_with = "crate::model::lab::execution::as_sent::patch")]
        pub execution_actions: Patch<Vec<ExecutionDefinition>>,
        /// Files, appended or replaced.
        pub file_ids_from_template: Patch<Vec<String>>,
        /// Free properties, merged or replaced.
        pub properties: Patch<BTreeMap<String, String>>,
        /// The dashboard, merged member by member.
        pub dashboard: Patch<DashboardPatch>,
    }

    /// An update of work items.
    wire pub struct UpdateWorkItemsRequest requires(work_items) {
        /// The changes, applied in order.
        pub work_items: Vec<UpdateWorkItemRequest>,
        /// Whether arrays and maps are replaced (`true`) or appended to and merged (absent, `false`).
        pub replace: Option<bool>,
    }

    /// What scheduling changes in one work item.
    patch pub struct ScheduleWorkItemRequest {
        /// The work item; required.
        pub id: Option<String>,
        /// The user who does the work.
        pub assigned_to: Patch<String>,
        /// The plan, merged member by member.
        pub schedule: Patch<SchedulePatch>,
        /// What is reserved.
        pub resources: Patch<ScheduleResourcesDefinition>,
    }

    /// Scheduling of work items.
    wire pub struct ScheduleWorkItemsRequest requires(work_items) {
        /// The changes, applied in order.
        pub work_items: Vec<ScheduleWorkItemRequest>,
        /// Whether selections are replaced (`true`) or appended to (absent, `false`).
        pub replace: Option<bool>,
    }

    /// The body of a delete call on the wire.
    wire pub struct DeleteWorkItemsRequest {
        /// The work items to delete.
        pub ids: Vec<String>,
    }

    /// The answer to a create call.
    wire pub struct CreateWorkItemsPartialSuccessResponse {
        /// What was made, in request order.
        pub created_work_items: Vec<WorkItem>,
        /// The requests that failed, as they came, in request order.
        pub failed_work_items: Option<Vec<CreateWorkItemRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The answer to an update call.
    wire pub struct UpdateWorkItemsPartialSuccessResponse {
        /// What was changed, in request order.
        pub updated_work_items: Option<Vec<WorkItem>>,
        /// The requests that failed, as they came, in request order.
        pub failed_work_items: Option<Vec<UpdateWorkItemRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The answer to a schedule call.
    wire pub struct ScheduleWorkItemsPartialSuccessResponse {
        /// What was scheduled, in request order.
        pub scheduled_work_items: Option<Vec<WorkItem>>,
        /// The requests that failed, as they came, in request order.
        pub failed_work_items: Option<Vec<ScheduleWorkItemRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The answer to a delete call in which some ids failed.
    wire pub struct DeleteWorkItemsPartialSuccessResponse
    also("deletedWorkItemIds" = "deletedIds", "failedWorkItemIds" = "failedIds") {
        /// What was deleted.
        pub deleted_ids: Option<Vec<String>>,
        /// What was not.
        pub failed_ids: Option<Vec<String>>,
        /// One inner error for each failed id.
        pub error: Option<ApiError>,
    }

    /// A query of work items.
    wire pub struct QueryWorkItemsRequest {
        /// Filter expression; everything when absent or blank.
        pub filter: Option<String>,
        /// Values for `@0`, `@1` and so on: Boolean, integer, string or null.
        pub substitutions: Option<Vec<Value>>,
        /// Most items in the page; 1000 when absent, and at most.
        pub take: Option<i64>,
        /// Where the previous page ended.
        pub continuation_token: Option<String>,
        /// Order; by id when absent.
        pub order_by: Option<WorkItemOrderBy>,
        /// Whether the order is descending.
        pub descending: Option<bool>,
        /// Whether all matches are counted.
        pub return_count: Option<bool>,
        /// The parts to return; everything when absent or empty.
        pub projection: Option<Vec<WorkItemField>>,
    }

    /// A page of work items.
    wire pub struct PagedWorkItems {
        /// The page.
        pub work_items: Vec<WorkItem>,
        /// Where the next page begins; none on the last page.
        pub continuation_token: Option<String>,
        /// All matches, when they were to be counted.
        pub total_count: Option<u64>,
    }
}

wire_enum! {
    /// The orders of a query of work items; ties by id.
    pub enum WorkItemOrderBy {
        /// By id, as a number.
        Id = "ID",
        /// By the time of the last change.
        UpdatedAt = "UPDATED_AT",
    }
}
