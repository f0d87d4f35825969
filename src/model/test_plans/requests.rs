//! Requests and responses about test plans.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::error::ApiError;
use crate::model::test_plans::test_plan::{
    CreateTestPlanRequest, ScheduleTestPlanRequest, TestPlan, TestPlanField, TestPlanId,
    TestPlanOrderBy, UpdateTestPlanRequest,
};
use crate::value::wire::{fold, record};

record! {
    /// The body of a create call on the wire.
    wire pub struct CreateTestPlansRequest {
        /// The test plans to create.
        pub test_plans: Vec<CreateTestPlanRequest>,
    }

    /// An update of test plans.
    wire pub struct UpdateTestPlansRequest new(test_plans: Vec<UpdateTestPlanRequest>)
    requires(test_plans) {
        /// The changes, applied in order.
        pub test_plans: Vec<UpdateTestPlanRequest>,
        /// Whether arrays and maps are replaced (`true`) or appended to and merged (absent,
        /// `false`).
        pub replace: Option<bool>,
    }

    /// Scheduling of test plans.
    wire pub struct ScheduleTestPlansRequest new(test_plans: Vec<ScheduleTestPlanRequest>)
    requires(test_plans) {
        /// The changes, applied in order.
        pub test_plans: Vec<ScheduleTestPlanRequest>,
        /// Whether the fixtures are replaced (`true`) or appended to (absent, `false`).
        pub replace: Option<bool>,
    }

    /// The body of a delete call on the wire.
    wire pub struct DeleteTestPlansRequest {
        /// The test plans to delete.
        pub ids: Vec<TestPlanId>,
    }

    /// The response to a create call.
    created batch pub struct CreateTestPlansPartialSuccessResponse {
        /// The created records, in request order.
        pub created_test_plans: Vec<TestPlan>,
        /// The requests that failed, as they were sent, in request order.
        pub failed_test_plans: Option<Vec<CreateTestPlanRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The response to an update call.
    batch pub struct UpdateTestPlansResponse {
        /// The updated records, in request order.
        pub updated_test_plans: Option<Vec<TestPlan>>,
        /// The requests that failed, as they were sent, in request order.
        pub failed_test_plans: Option<Vec<UpdateTestPlanRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The response to a schedule call.
    batch pub struct ScheduleTestPlansResponse {
        /// The scheduled records, in request order.
        pub scheduled_test_plans: Option<Vec<TestPlan>>,
        /// The requests that failed, as they were sent, in request order.
        pub failed_test_plans: Option<Vec<ScheduleTestPlanRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The response to a delete call in which some ids failed.
    batch pub struct DeleteTestPlansPartialSuccessResponse {
        /// Ids that were deleted.
        pub deleted_test_plan_ids: Option<Vec<String>>,
        /// Ids that could not be deleted.
        pub failed_test_plan_ids: Option<Vec<String>>,
        /// One inner error for each failed id.
        pub error: Option<ApiError>,
    }

    /// A query of test plans.
    wire pub struct QueryTestPlansRequest new() queries(TestPlan) {
        /// Filter expression; everything when absent or blank.
        pub filter: Option<String>,
        /// Values for `@0`, `@1` and so on: Boolean, integer, string or null.
        pub substitutions: Option<Vec<Value>>,
        /// Maximum number of test plans on the page; 1000 when absent, at most 1000.
        pub take: Option<i64>,
        /// Order; by id when absent.
        #[serde(deserialize_with = "order_by")]
        pub order_by: Option<TestPlanOrderBy>,
        /// Whether the order is descending.
        pub descending: Option<bool>,
        /// Whether all matches are counted.
        pub return_count: Option<bool>,
        /// The token of the previous page.
        pub continuation_token: Option<String>,
        /// The parts to return; everything when absent or empty.
        pub projection: Option<Vec<TestPlanField>>,
    }

    /// A page of test plans.
    page pub struct PagedTestPlans {
        /// The page.
        pub test_plans: Vec<TestPlan>,
        /// The token of the next page; absent on the last one.
        pub continuation_token: Option<String>,
        /// Number of all matches, if requested.
        pub total_count: Option<u64>,
    }
}

/// Also reads `UPDATE_AT`, a misspelling of `UPDATED_AT` in a published client.
fn order_by<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<TestPlanOrderBy>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    if fold(&text) == "updateat" {
        return Ok(Some(TestPlanOrderBy::UpdatedAt));
    }
    text.parse()
        .map(Some)
        .map_err(|error: crate::error::Error| serde::de::Error::custom(error.message()))
}
