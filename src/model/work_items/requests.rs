//! Requests and answers about work items.

use serde_json::Value;

use crate::error::ApiError;
use crate::model::work_items::work_item::{
    CreateWorkItemRequest, ScheduleWorkItemRequest, UpdateWorkItemRequest, WorkItem, WorkItemField, WorkItemId,
    WorkItemOrderBy,
};
use crate::value::wire::record;

record! {
    /// The body of a create call on the wire.
    wire pub struct CreateWorkItemsRequest {
        /// The work items to make.
        pub work_items: Vec<CreateWorkItemRequest>,
    }

    /// An update of work items.
    wire pub struct UpdateWorkItemsRequest new(work_items: Vec<UpdateWorkItemRequest>) requires(work_items) {
        /// The changes, applied in order.
        pub work_items: Vec<UpdateWorkItemRequest>,
        /// Whether arrays and maps are replaced (`true`) or appended to and merged (absent, `false`).
        pub replace: Option<bool>,
    }

    /// Scheduling of work items.
    wire pub struct ScheduleWorkItemsRequest new(work_items: Vec<ScheduleWorkItemRequest>) requires(work_items) {
        /// The changes, applied in order.
        pub work_items: Vec<ScheduleWorkItemRequest>,
        /// Whether selections are replaced (`true`) or appended to (absent, `false`).
        pub replace: Option<bool>,
    }

    /// The body of a delete call on the wire.
    wire pub struct DeleteWorkItemsRequest {
        /// The work items to delete.
        pub ids: Vec<WorkItemId>,
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
    wire pub struct QueryWorkItemsRequest new() {
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
