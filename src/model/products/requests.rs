//! Requests and answers of the product service.

use std::collections::BTreeMap;

use crate::error::ApiError;
use crate::model::products::product::Product;
use crate::value::wire::{record, wire_enum};

wire_enum! {
    /// What product queries can be ordered by.
    pub enum ProductOrderBy {
        /// The id, which is the order of creation.
        Id = "ID",
        /// The family.
        Family = "FAMILY",
        /// The part number.
        PartNumber = "PART_NUMBER",
        /// The name.
        Name = "NAME",
        /// The time of the last update.
        UpdatedAt = "UPDATED_AT",
    }
}

wire_enum! {
    /// The fields whose values can be listed.
    pub enum ProductField {
        /// The id.
        Id = "ID",
        /// The family.
        Family = "FAMILY",
        /// The part number.
        PartNumber = "PART_NUMBER",
        /// The name.
        Name = "NAME",
        /// The time of the last update, as ISO-8601 text.
        UpdatedAt = "UPDATED_AT",
    }
}

wire_enum! {
    /// The members of a product that a query can be restricted to.
    pub enum ProductProjection {
        /// `id`.
        Id = "ID",
        /// `family`.
        Family = "FAMILY",
        /// `partNumber`.
        PartNumber = "PART_NUMBER",
        /// `name`.
        Name = "NAME",
        /// `updatedAt`.
        UpdatedAt = "UPDATED_AT",
        /// `workspace`.
        Workspace = "WORKSPACE",
        /// `keywords`.
        Keywords = "KEYWORDS",
        /// `properties`.
        Properties = "PROPERTIES",
        /// `fileIds`.
        FileIds = "FILE_IDS",
    }
}

record! {
    /// A product to create.
    wire pub struct CreateProductRequest new(part_number: String) {
        /// Names the product in the whole store; required.
        #[serde(skip_serializing_if = "String::is_empty")]
        pub part_number: String,
        /// Shared by the part numbers that are revisions of one product.
        pub name: Option<String>,
        /// Grouping above the name.
        pub family: Option<String>,
        /// Ids of attached files.
        pub file_ids: Option<Vec<String>>,
        /// Keywords.
        pub keywords: Option<Vec<String>>,
        /// Properties; one without a value is refused with its item.
        pub properties: Option<BTreeMap<String, Option<String>>>,
        /// Id of the workspace; the default workspace of the session when absent.
        pub workspace: Option<String>,
    }

    /// A change of a product; members that are absent stay as they are.
    wire pub struct UpdateProductRequest new(id: String) {
        /// Id of the product; required.
        #[serde(skip_serializing_if = "String::is_empty")]
        pub id: String,
        /// New name.
        pub name: Option<String>,
        /// New family.
        pub family: Option<String>,
        /// Files to attach, or all attached files when replacing.
        pub file_ids: Option<Vec<String>>,
        /// Keywords to add, or all keywords when replacing.
        pub keywords: Option<Vec<String>>,
        /// Properties to set, or all properties when replacing; one without a value is refused with its item.
        pub properties: Option<BTreeMap<String, Option<String>>>,
        /// New workspace.
        pub workspace: Option<String>,
    }

    /// What came of creating products.
    wire pub struct CreateProductsPartialSuccess {
        /// The created products, in request order.
        pub products: Vec<Product>,
        /// The requests that failed, as received.
        pub failed: Option<Vec<CreateProductRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// What came of updating products.
    wire pub struct UpdateProductsPartialSuccess {
        /// The updated products, in request order.
        pub products: Vec<Product>,
        /// The requests that failed, as received.
        pub failed: Option<Vec<UpdateProductRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// What came of deleting products, when some could not be deleted.
    wire pub struct DeleteProductsPartialSuccess {
        /// Ids of the deleted products.
        pub ids: Vec<String>,
        /// Ids that could not be deleted.
        pub failed: Option<Vec<String>>,
        /// One inner error for each failed id.
        pub error: Option<ApiError>,
    }

    /// A query for products.
    wire pub struct QueryProductsRequest new() {
        /// Filter; all products when absent.
        pub filter: Option<String>,
        /// What `@0`, `@1`, … in the filter stand for: texts, integers, numbers, Booleans or null.
        pub substitutions: Option<Vec<serde_json::Value>>,
        /// Order; by id when absent.
        pub order_by: Option<ProductOrderBy>,
        /// Whether the order is reversed.
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
    wire pub struct PagedProducts {
        /// The products.
        pub products: Vec<Product>,
        /// Gets the next page; absent on the last.
        pub continuation_token: Option<String>,
        /// Count of all matches, when asked for.
        pub total_count: Option<u64>,
    }

    /// A query for the distinct values of a field.
    wire pub struct QueryProductValuesRequest new() {
        /// The field; required.
        pub field: Option<ProductField>,
        /// Which products to look at; all when absent.
        pub filter: Option<String>,
        /// What `@0`, `@1`, … in the filter stand for.
        pub substitutions: Option<Vec<serde_json::Value>>,
        /// Keeps the values that start with this text, in this letter case.
        pub starts_with: Option<String>,
    }

    /// Whether an operation is available, and its version.
    pub struct Operation {
        /// Whether it can be called.
        pub available: bool,
        /// Version of its interface.
        pub version: i32,
    }

    /// The operations of the product service.
    wire pub struct ProductOperations {
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
    }
}
