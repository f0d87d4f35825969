//! Requests and responses about work items.

use serde_json::Value;

use crate::error::ApiError;
use crate::model::work_items::work_item::{
    CreateWorkItemRequest, ScheduleWorkItemRequest, UpdateWorkItemRequest, WorkItem, WorkItemField,
    WorkItemId, WorkItemOrderBy,
};
use crate::value::wire::record;

record! {
    /// The body of a create call on the wire.
    wire pub struct CreateWorkItemsRequest {
        /// The work items to create.
        pub work_items: Vec<CreateWorkItemRequest>,
    }

    /// An update of work items.
    wire pub struct UpdateWorkItemsRequest new(work_items: Vec<UpdateWorkItemRequest>)
    requires(work_items) {
        /// The changes, applied in order.
        pub work_items: Vec<UpdateWorkItemRequest>,
        /// Whether arrays and maps are replaced (`true`) or appended to and merged (absent,
        /// `false`).
        pub replace: Option<bool>,
    }

    /// Scheduling of work items.
    wire pub struct ScheduleWorkItemsRequest new(work_items: Vec<ScheduleWorkItemRequest>)
    requires(work_items) {
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

    /// The response to a create call.
    created batch pub struct CreateWorkItemsPartialSuccessResponse {
        /// The created records, in request order.
        pub created_work_items: Vec<WorkItem>,
        /// The requests that failed, as they were sent, in request order.
        pub failed_work_items: Option<Vec<CreateWorkItemRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The response to an update call.
    batch pub struct UpdateWorkItemsPartialSuccessResponse {
        /// The updated records, in request order.
        pub updated_work_items: Option<Vec<WorkItem>>,
        /// The requests that failed, as they were sent, in request order.
        pub failed_work_items: Option<Vec<UpdateWorkItemRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The response to a schedule call.
    batch pub struct ScheduleWorkItemsPartialSuccessResponse {
        /// The scheduled records, in request order.
        pub scheduled_work_items: Option<Vec<WorkItem>>,
        /// The requests that failed, as they were sent, in request order.
        pub failed_work_items: Option<Vec<ScheduleWorkItemRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The response to a delete call in which some ids failed.
    batch pub struct DeleteWorkItemsPartialSuccessResponse
    also("deletedWorkItemIds" = "deletedIds", "failedWorkItemIds" = "failedIds") {
        /// Ids that were deleted.
        pub deleted_ids: Option<Vec<String>>,
        /// Ids that could not be deleted.
        pub failed_ids: Option<Vec<String>>,
        /// One inner error for each failed id.
        pub error: Option<ApiError>,
    }

    /// A query of work items.
    wire pub struct QueryWorkItemsRequest new() queries(WorkItem) {
        /// Filter expression; everything when absent or blank.
        pub filter: Option<String>,
        /// Values for `@0`, `@1` and so on: Boolean, integer, string or null.
        pub substitutions: Option<Vec<Value>>,
        /// Maximum number of work items on the page; 1000 when absent, at most 1000.
        pub take: Option<i64>,
        /// The token of the previous page.
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
    page pub struct PagedWorkItems {
        /// The page.
        pub work_items: Vec<WorkItem>,
        /// The token of the next page; absent on the last one.
        pub continuation_token: Option<String>,
        /// Number of all matches, if requested.
        pub total_count: Option<u64>,
    }
}
