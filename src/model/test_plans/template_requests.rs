//! Requests and responses about test plan templates.

use serde_json::Value;

use crate::error::ApiError;
use crate::model::test_plans::template::{
    CreateTestPlanTemplateRequest, TestPlanTemplate, TestPlanTemplateField, TestPlanTemplateId,
    TestPlanTemplateOrderBy,
};
use crate::value::wire::record;

record! {
    /// The body of a create call on the wire.
    wire pub struct CreateTestPlanTemplatesRequest {
        /// The templates to create.
        pub test_plan_templates: Vec<CreateTestPlanTemplateRequest>,
    }

    /// The body of a delete call on the wire.
    wire pub struct DeleteTestPlanTemplatesRequest {
        /// The templates to delete.
        pub ids: Vec<TestPlanTemplateId>,
    }

    /// The response to a create call.
    created batch pub struct CreateTestPlanTemplatePartialSuccessResponse {
        /// The created records, in request order.
        pub created_test_plan_templates: Vec<TestPlanTemplate>,
        /// The requests that failed, as they were sent, in request order.
        pub failed_test_plan_templates: Option<Vec<CreateTestPlanTemplateRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The response to a delete call in which some ids failed.
    batch pub struct DeleteTestPlanTemplatesPartialSuccessResponse {
        /// Ids that were deleted.
        pub deleted_test_plan_template_ids: Vec<String>,
        /// Ids that could not be deleted.
        pub failed_test_plan_template_ids: Option<Vec<String>>,
        /// One inner error for each failed id.
        pub error: Option<ApiError>,
    }

    /// A query of test plan templates.
    wire pub struct QueryTestPlanTemplatesRequest new() queries(TestPlanTemplate) {
        /// Filter expression; everything when absent or blank.
        pub filter: Option<String>,
        /// Values for `@0`, `@1` and so on: Boolean, integer, string or null.
        pub substitutions: Option<Vec<Value>>,
        /// Maximum number of templates on the page; 1000 when absent, at most 1000.
        pub take: Option<i64>,
        /// Order; by id when absent.
        pub order_by: Option<TestPlanTemplateOrderBy>,
        /// Whether the order is descending.
        pub descending: Option<bool>,
        /// The token of the previous page.
        pub continuation_token: Option<String>,
        /// The parts to return; everything when absent or empty.
        pub projection: Option<Vec<TestPlanTemplateField>>,
    }

    /// A page of test plan templates.
    page pub struct PagedTestPlanTemplates {
        /// The page.
        pub test_plan_templates: Vec<TestPlanTemplate>,
        /// The token of the next page; absent on the last one.
        pub continuation_token: Option<String>,
        /// Always absent: templates are not counted.
        pub total_count: Option<u64>,
    }
}
