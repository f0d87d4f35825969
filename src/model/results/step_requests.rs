//! Requests and responses about steps.

use crate::error::ApiError;
use crate::model::results::requests::ResponseFormat;
use crate::model::results::step::{
    CreateStepRequest, Step, StepField, StepOrderBy, StepProjection, UpdateStepRequest,
};
use crate::value::wire::record;

record! {
    /// The ids of one step.
    wire pub struct StepIdResultIdPair new(step_id: String, result_id: String)
    requires(step_id, result_id) {
        /// Id of the step.
        pub step_id: String,
        /// Id of the result that it belongs to.
        pub result_id: String,
    }

    /// The result of creating steps.
    created batch pub struct CreateStepsPartialSuccess {
        /// The created steps, each parent before its children.
        pub steps: Vec<Step>,
        /// The requests that failed, as they were sent.
        pub failed: Option<Vec<CreateStepRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The result of updating steps.
    batch pub struct UpdateStepsPartialSuccess {
        /// The updated steps, each parent before its children.
        pub steps: Vec<Step>,
        /// The requests that failed, as they were sent, with their children. A child that failed is
        /// here by itself, unless it is part of one that failed.
        pub failed: Option<Vec<UpdateStepRequest>>,
        /// One inner error for each failed request. Its inner errors are those of its children.
        pub error: Option<ApiError>,
    }

    /// The result of deleting steps, if some could not be deleted.
    batch pub struct DeleteStepsPartialSuccess {
        /// The deleted steps.
        pub steps: Vec<StepIdResultIdPair>,
        /// The steps that could not be deleted.
        pub failed: Option<Vec<StepIdResultIdPair>>,
        /// One inner error for each failed step.
        pub error: Option<ApiError>,
    }

    /// A query for steps.
    wire pub struct QueryStepsRequest new() {
        /// Filter; all steps when absent.
        pub filter: Option<String>,
        /// Values of `@0`, `@1`, … in the filter: texts, integers, numbers, Booleans or null.
        pub substitutions: Option<Vec<serde_json::Value>>,
        /// Filter over results: keeps the steps of the results that match.
        pub result_filter: Option<String>,
        /// Values of `@0`, `@1`, … in the result filter.
        pub result_substitutions: Option<Vec<serde_json::Value>>,
        /// Order; by result and creation when absent.
        pub order_by: Option<StepOrderBy>,
        /// Whether the order is descending.
        pub descending: Option<bool>,
        /// Members to return; all when absent or empty.
        pub projection: Option<Vec<StepProjection>>,
        /// Page size; 1000 when absent or negative, at most 100,000.
        pub take: Option<i64>,
        /// The token of the previous page.
        pub continuation_token: Option<String>,
        /// Whether to count all matches.
        pub return_count: Option<bool>,
        /// The form of the answer; `JSON` when absent.
        pub response_format: Option<ResponseFormat>,
    }

    /// A page of steps.
    page pub struct PagedSteps {
        /// The steps.
        pub steps: Vec<Step>,
        /// The token of the next page; absent on the last one.
        pub continuation_token: Option<String>,
        /// Count of all matches, if requested.
        pub total_count: Option<u64>,
    }

    /// A query for the distinct values of a field of steps.
    wire pub struct QueryStepValuesRequest new() {
        /// The field; required.
        pub field: Option<StepField>,
        /// Filter on the steps; all steps when absent.
        pub filter: Option<String>,
        /// Values of `@0`, `@1`, … in the filter.
        pub substitutions: Option<Vec<serde_json::Value>>,
        /// Restricts the answer to values that start with this text, in this letter case.
        pub starts_with: Option<String>,
    }
}
