//! Requests and responses about test results.

use crate::error::ApiError;
use crate::model::operation::Operation;
use crate::model::results::result::{
    CreateResultRequest, ResultField, ResultOrderBy, ResultProjection, TestResult,
    UpdateResultRequest,
};
use crate::value::wire::{record, wire_enum};

wire_enum! {
    /// How the values of a property are compared.
    wire pub enum OrderByComparisonType {
        /// As text.
        Default = "DEFAULT",
        /// As numbers; text that is no number comes first.
        Numeric = "NUMERIC",
        /// As text.
        Lexicographic = "LEXICOGRAPHIC",
    }
}

wire_enum! {
    /// The form of an answer.
    wire pub enum ResponseFormat {
        /// Records as JSON.
        Json = "JSON",
        /// A header and one row for each record, as RFC 4180 writes them.
        Csv = "CSV",
    }
}

record! {
    /// The result of creating test results.
    created batch pub struct CreateResultsPartialSuccess {
        /// The created results, in request order.
        pub results: Vec<TestResult>,
        /// The requests that failed, as they were sent.
        pub failed: Option<Vec<CreateResultRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The result of updating test results.
    batch pub struct UpdateResultsPartialSuccess {
        /// The updated results, in request order.
        pub results: Vec<TestResult>,
        /// The requests that failed, as they were sent.
        pub failed: Option<Vec<UpdateResultRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The result of deleting test results, if some could not be deleted.
    batch pub struct DeleteResultsPartialSuccess {
        /// Ids of the deleted results.
        pub ids: Vec<String>,
        /// Ids that could not be deleted.
        pub failed: Option<Vec<String>>,
        /// One inner error for each failed id.
        pub error: Option<ApiError>,
    }

    /// A query for test results.
    wire pub struct QueryResultsRequest new() queries(TestResult) {
        /// Filter; all results when absent.
        pub filter: Option<String>,
        /// Values of `@0`, `@1`, … in the filter: texts, integers, numbers, Booleans or null.
        pub substitutions: Option<Vec<serde_json::Value>>,
        /// Filter over products: keeps the results whose part number is that of a product that
        /// matches.
        pub product_filter: Option<String>,
        /// Values of `@0`, `@1`, … in the product filter.
        pub product_substitutions: Option<Vec<serde_json::Value>>,
        /// Order; by id when absent.
        pub order_by: Option<ResultOrderBy>,
        /// The property of the order `PROPERTIES`. Results without it come first.
        pub order_by_key: Option<String>,
        /// How the values of the property are compared; as text when absent.
        pub order_by_comparison_type: Option<OrderByComparisonType>,
        /// Whether the order is descending.
        pub descending: Option<bool>,
        /// Members to return; all when absent or empty.
        pub projection: Option<Vec<ResultProjection>>,
        /// Page size; 1000 when absent or negative, at most 100,000.
        pub take: Option<i64>,
        /// The token of the previous page.
        pub continuation_token: Option<String>,
        /// Whether to count all matches.
        pub return_count: Option<bool>,
        /// The form of the answer; `JSON` when absent.
        pub response_format: Option<ResponseFormat>,
    }

    /// A page of test results.
    page pub struct PagedResults {
        /// The results.
        pub results: Vec<TestResult>,
        /// The token of the next page; absent on the last one.
        pub continuation_token: Option<String>,
        /// Count of all matches, if requested.
        pub total_count: Option<u64>,
    }

    /// A query for the distinct values of a field of test results.
    wire pub struct QueryResultValuesRequest new() {
        /// The field; required.
        pub field: Option<ResultField>,
        /// Filter on the results; all results when absent.
        pub filter: Option<String>,
        /// Values of `@0`, `@1`, … in the filter.
        pub substitutions: Option<Vec<serde_json::Value>>,
        /// Restricts the answer to values that start with this text, in this letter case.
        pub starts_with: Option<String>,
    }

    /// What products, test results and steps offer.
    answer pub struct TestMonitorApiInfo {
        /// The operations.
        pub operations: TestMonitorOperations,
    }

    /// The operations of products, test results and steps.
    wire pub struct TestMonitorOperations {
        /// `get_product` and `get_products`.
        pub get_products: Operation,
        /// `query_products` and `query_product_values`.
        pub query_products: Operation,
        /// `create_products`.
        pub create_products: Operation,
        /// `update_products`.
        pub update_products: Operation,
        /// `delete_product`.
        pub delete_products: Operation,
        /// `delete_products`.
        pub delete_many_products: Operation,
        /// `get_result` and `get_results`.
        pub get_results: Operation,
        /// The keys of properties of results.
        pub get_results_property_keys: Operation,
        /// `query_results` and `query_result_values`.
        pub query_results: Operation,
        /// `create_results`.
        pub create_results: Operation,
        /// `update_results`.
        pub update_results: Operation,
        /// `delete_result`.
        pub delete_result: Operation,
        /// `delete_results`.
        pub delete_many_results: Operation,
        /// Steps by their ids, and all steps.
        pub get_steps: Operation,
        /// Queries of steps and of their values.
        pub query_steps: Operation,
        /// Creation of steps.
        pub create_steps: Operation,
        /// Updates of steps.
        pub update_steps: Operation,
        /// Deletion of one step.
        pub delete_step: Operation,
        /// Deletion of steps.
        pub delete_many_steps: Operation,
        /// Queries of paths.
        pub query_paths: Operation,
    }
}

impl TestMonitorApiInfo {
    /// What this build offers: one answer for products, test results and steps.
    #[must_use]
    pub(crate) fn current() -> Self {
        let available = Operation { available: true, version: 1 };
        let operations = TestMonitorOperations {
            get_products: available.clone(),
            query_products: available.clone(),
            create_products: available.clone(),
            update_products: available.clone(),
            delete_products: available.clone(),
            delete_many_products: available.clone(),
            get_results: available.clone(),
            query_results: available.clone(),
            create_results: available.clone(),
            update_results: available.clone(),
            delete_result: available.clone(),
            delete_many_results: available.clone(),
            get_steps: available.clone(),
            query_steps: available.clone(),
            create_steps: available.clone(),
            update_steps: available.clone(),
            delete_step: available.clone(),
            delete_many_steps: available.clone(),
            query_paths: available,
            // The keys of properties have no published path.
            ..TestMonitorOperations::default()
        };
        Self { operations }
    }
}
