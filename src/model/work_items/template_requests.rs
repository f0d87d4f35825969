//! Requests and responses about work item templates.

use serde_json::Value;

use crate::error::ApiError;
use crate::model::work_items::template::{
    CreateWorkItemTemplateRequest, UpdateWorkItemTemplateRequest, WorkItemTemplate,
    WorkItemTemplateField, WorkItemTemplateId, WorkItemTemplateOrderBy,
};
use crate::value::wire::record;

record! {
    /// The body of a create call on the wire.
    wire pub struct CreateWorkItemTemplatesRequest {
        /// The templates to create.
        pub work_item_templates: Vec<CreateWorkItemTemplateRequest>,
    }

    /// An update of templates.
    wire pub struct UpdateWorkItemTemplatesRequest new(
        work_item_templates: Vec<UpdateWorkItemTemplateRequest>
    ) requires(work_item_templates) {
        /// The changes, applied in order.
        pub work_item_templates: Vec<UpdateWorkItemTemplateRequest>,
        /// Whether arrays and maps are replaced (`true`) or appended to and merged (absent,
        /// `false`).
        pub replace: Option<bool>,
    }

    /// The body of a delete call on the wire.
    wire pub struct DeleteWorkItemTemplatesRequest requires(ids) {
        /// The templates to delete.
        pub ids: Vec<WorkItemTemplateId>,
    }

    /// The response to a create call.
    created batch pub struct CreateWorkItemTemplatesPartialSuccessResponse {
        /// The created records, in request order.
        pub created_work_item_templates: Vec<WorkItemTemplate>,
        /// The requests that failed, as they were sent, in request order.
        pub failed_work_item_templates: Option<Vec<CreateWorkItemTemplateRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The response to an update call.
    batch pub struct UpdateWorkItemTemplatesPartialSuccessResponse {
        /// The updated records, in request order.
        pub updated_work_item_templates: Vec<WorkItemTemplate>,
        /// The requests that failed, as they were sent, in request order.
        pub failed_work_item_templates: Option<Vec<UpdateWorkItemTemplateRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The response to a delete call in which some ids failed.
    batch pub struct DeleteWorkItemTemplatesPartialSuccessResponse
    also("deletedWorkItemTemplateIds" = "deletedIds", "failedWorkItemTemplateIds" = "failedIds") {
        /// Ids that were deleted.
        pub deleted_ids: Option<Vec<String>>,
        /// Ids that could not be deleted.
        pub failed_ids: Option<Vec<String>>,
        /// One inner error for each failed id.
        pub error: Option<ApiError>,
    }

    /// A query of work item templates.
    wire pub struct QueryWorkItemTemplatesRequest new() queries(WorkItemTemplate) {
        /// Filter expression; everything when absent or blank.
        pub filter: Option<String>,
        /// Values for `@0`, `@1` and so on: Boolean, integer, string or null.
        pub substitutions: Option<Vec<Value>>,
        /// Maximum number of templates on the page; 1000 when absent, at most 1000.
        pub take: Option<i64>,
        /// Order; by id when absent.
        pub order_by: Option<WorkItemTemplateOrderBy>,
        /// Whether the order is descending.
        pub descending: Option<bool>,
        /// The token of the previous page.
        pub continuation_token: Option<String>,
        /// The parts to return; everything when absent or empty.
        pub projection: Option<Vec<WorkItemTemplateField>>,
    }

    /// A page of work item templates.
    page pub struct PagedWorkItemTemplates {
        /// The page.
        pub work_item_templates: Vec<WorkItemTemplate>,
        /// The token of the next page; absent on the last one.
        pub continuation_token: Option<String>,
        /// Always absent: templates are not counted.
        pub total_count: Option<u64>,
    }
}
