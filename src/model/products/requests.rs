//! Requests and responses of the product service.

use crate::error::ApiError;
use crate::model::products::product::{
    CreateProductRequest, Product, ProductField, ProductOrderBy, ProductProjection,
    UpdateProductRequest,
};
use crate::value::wire::record;

record! {
    /// The result of creating products.
    created batch pub struct CreateProductsPartialSuccess {
        /// The created products, in request order.
        pub products: Vec<Product>,
        /// The requests that failed, as they were sent, with every required member.
        pub failed: Option<Vec<CreateProductRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The result of updating products.
    batch pub struct UpdateProductsPartialSuccess {
        /// The updated products, in request order.
        pub products: Vec<Product>,
        /// The requests that failed, as they were sent, with every required member.
        pub failed: Option<Vec<UpdateProductRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The result of deleting products, if some could not be deleted.
    batch pub struct DeleteProductsPartialSuccess {
        /// Ids of the deleted products.
        pub ids: Vec<String>,
        /// Ids that could not be deleted.
        pub failed: Option<Vec<String>>,
        /// One inner error for each failed id.
        pub error: Option<ApiError>,
    }

    /// A query for products.
    wire pub struct QueryProductsRequest new() queries(Product) {
        /// Filter; all products when absent.
        pub filter: Option<String>,
        /// Values of `@0`, `@1`, … in the filter: texts, integers, numbers, Booleans or null.
        pub substitutions: Option<Vec<serde_json::Value>>,
        /// Order; by id when absent.
        pub order_by: Option<ProductOrderBy>,
        /// Whether the order is descending.
        pub descending: Option<bool>,
        /// Members to return; all when absent or empty.
        pub projection: Option<Vec<ProductProjection>>,
        /// Page size; 1000 when absent or negative.
        pub take: Option<i64>,
        /// The token of the previous page.
        pub continuation_token: Option<String>,
        /// Whether to count all matches.
        pub return_count: Option<bool>,
    }

    /// A page of products.
    page pub struct PagedProducts {
        /// The products.
        pub products: Vec<Product>,
        /// The token of the next page; absent on the last one.
        pub continuation_token: Option<String>,
        /// Count of all matches, if requested.
        pub total_count: Option<u64>,
    }

    /// A query for the distinct values of a field.
    wire pub struct QueryProductValuesRequest new() {
        /// The field; required.
        pub field: Option<ProductField>,
        /// Filter on the products; all products when absent.
        pub filter: Option<String>,
        /// Values of `@0`, `@1`, … in the filter.
        pub substitutions: Option<Vec<serde_json::Value>>,
        /// Restricts the result to values that start with this text, in this letter case.
        pub starts_with: Option<String>,
    }
}
