//! Requests and answers of the specification service.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::error::ApiError;
use crate::model::products::requests::Operation;
use crate::model::specifications::condition::Condition;
use crate::model::specifications::specification::{
    Specification, SpecificationId, SpecificationLimit, SpecificationType,
};
use crate::value::wire::{record, wire_enum};

record! {
    /// A specification to create.
    wire pub struct CreateSpecificationRequest new(product_id: String, spec_id: String) {
        /// The product that it belongs to; required, its existence is not checked.
        #[serde(skip_serializing_if = "String::is_empty")]
        pub product_id: String,
        /// The user's own id; required, new within product and workspace.
        #[serde(skip_serializing_if = "String::is_empty")]
        pub spec_id: String,
        /// What it asks for; required.
        pub r#type: Option<SpecificationType>,
        /// Id of the workspace; the default workspace of the session when absent.
        pub workspace: Option<String>,
        /// Name.
        pub name: Option<String>,
        /// Category.
        pub category: Option<String>,
        /// Short form of the name.
        pub symbol: Option<String>,
        /// Subsystem of the product.
        pub block: Option<String>,
        /// Unit of the limit.
        pub unit: Option<String>,
        /// Limit.
        pub limit: Option<SpecificationLimit>,
        /// Conditions under which it holds.
        pub conditions: Option<Vec<Condition>>,
        /// Keywords.
        pub keywords: Option<Vec<String>>,
        /// Properties.
        pub properties: Option<BTreeMap<String, String>>,
    }

    /// A change of a specification; optional members that are absent stay as they are.
    wire pub struct UpdateSpecificationRequest new(id: String) {
        /// Global id; required.
        #[serde(skip_serializing_if = "String::is_empty")]
        pub id: String,
        /// The product that it belongs to; required.
        #[serde(skip_serializing_if = "String::is_empty")]
        pub product_id: String,
        /// The user's own id; required.
        #[serde(skip_serializing_if = "String::is_empty")]
        pub spec_id: String,
        /// What it asks for; required.
        pub r#type: Option<SpecificationType>,
        /// Id of the workspace; required.
        #[serde(skip_serializing_if = "String::is_empty")]
        pub workspace: String,
        /// The version that the change was made for; required.
        pub version: Option<i64>,
        /// New name.
        pub name: Option<String>,
        /// New category.
        pub category: Option<String>,
        /// New short form.
        pub symbol: Option<String>,
        /// New subsystem.
        pub block: Option<String>,
        /// New unit.
        pub unit: Option<String>,
        /// New limit, as a whole.
        pub limit: Option<SpecificationLimit>,
        /// All conditions.
        pub conditions: Option<Vec<Condition>>,
        /// All keywords.
        pub keywords: Option<Vec<String>>,
        /// All properties.
        pub properties: Option<BTreeMap<String, String>>,
    }

    /// Specifications to create.
    wire pub struct CreateSpecificationsRequest new() {
        /// The specifications.
        pub specs: Option<Vec<CreateSpecificationRequest>>,
    }

    /// Specifications to update.
    wire pub struct UpdateSpecificationsRequest new() {
        /// The changes.
        pub specs: Option<Vec<UpdateSpecificationRequest>>,
    }

    /// What is told of a created specification.
    wire pub struct CreatedSpecification {
        /// Global id.
        pub id: SpecificationId,
        /// The product that it belongs to.
        pub product_id: String,
        /// The user's own id.
        pub spec_id: String,
        /// Id of the workspace.
        pub workspace: String,
        /// Version, 0.
        pub version: i64,
        /// Time of creation.
        #[serde(with = "crate::value::time::required")]
        pub created_at: DateTime<Utc>,
        /// Id of the user.
        pub created_by: String,
    }

    /// What is told of an updated specification.
    wire pub struct UpdatedSpecification {
        /// Global id.
        pub id: SpecificationId,
        /// The product that it belongs to.
        pub product_id: String,
        /// The user's own id.
        pub spec_id: String,
        /// Id of the workspace.
        pub workspace: String,
        /// The new version.
        pub version: i64,
        /// Time of the update.
        #[serde(with = "crate::value::time::required")]
        pub updated_at: DateTime<Utc>,
        /// Id of the user.
        pub updated_by: String,
    }

    /// What came of creating specifications.
    wire pub struct CreateSpecificationsPartialSuccess {
        /// The created specifications, in request order.
        pub created_specs: Option<Vec<CreatedSpecification>>,
        /// The requests that failed, as received.
        pub failed_specs: Option<Vec<CreateSpecificationRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// What came of updating specifications.
    wire pub struct UpdateSpecificationsPartialSuccess {
        /// The updated specifications, in request order.
        pub updated_specs: Option<Vec<UpdatedSpecification>>,
        /// The requests that failed, as received.
        pub failed_specs: Option<Vec<UpdateSpecificationRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// What came of deleting specifications, when some could not be deleted.
    wire pub struct DeleteSpecificationsPartialSuccess {
        /// Ids of the deleted specifications.
        pub deleted_spec_ids: Vec<String>,
        /// Ids that could not be deleted.
        pub failed_spec_ids: Vec<String>,
        /// One inner error for each failed id.
        pub error: ApiError,
    }

    /// A query for specifications.
    wire pub struct QuerySpecificationsRequest new() {
        /// The products to look in; required.
        pub product_ids: Vec<String>,
        /// Filter; all specifications of the products when absent. There are no substitutions.
        pub filter: Option<String>,
        /// Members to return; all when absent or empty.
        pub projection: Option<Vec<SpecificationProjection>>,
        /// Order; by id when absent.
        pub order_by: Option<SpecificationOrderBy>,
        /// Whether the order is reversed.
        pub order_by_descending: Option<bool>,
        /// Page size; 1000 when absent or negative.
        pub take: Option<i64>,
        /// The token of the previous page.
        pub continuation_token: Option<String>,
    }

    /// A page of specifications.
    wire pub struct PagedSpecifications {
        /// The specifications.
        pub specs: Option<Vec<Specification>>,
        /// Gets the next page; absent on the last.
        pub continuation_token: Option<String>,
    }

    /// The operations of the specification service.
    wire pub struct V1Operations {
        /// `create_specs`.
        pub create_specifications: Operation,
        /// `query_specs`.
        pub query_specifications: Operation,
        /// `update_specs`.
        pub update_specifications: Operation,
        /// `delete_specs`.
        pub delete_specifications: Operation,
    }
}

wire_enum! {
    /// What specification queries can be ordered by.
    pub enum SpecificationOrderBy {
        /// The global id, which is the order of creation.
        Id = "ID",
        /// The user's own id.
        SpecId = "SPEC_ID",
    }
}

wire_enum! {
    /// The members of a specification that a query can be restricted to.
    pub enum SpecificationProjection {
        /// `id`.
        Id = "ID",
        /// `productId`.
        ProductId = "PRODUCT_ID",
        /// `specId`.
        SpecId = "SPEC_ID",
        /// `name`.
        Name = "NAME",
        /// `category`.
        Category = "CATEGORY",
        /// `type`.
        Type = "TYPE",
        /// `symbol`.
        Symbol = "SYMBOL",
        /// `block`.
        Block = "BLOCK",
        /// `limit`.
        Limit = "LIMIT",
        /// `unit`.
        Unit = "UNIT",
        /// `conditions[].name`.
        ConditionName = "CONDITION_NAME",
        /// `range` and `discrete` of `conditions[].value`.
        ConditionValues = "CONDITION_VALUES",
        /// `unit` of `conditions[].value`.
        ConditionUnit = "CONDITION_UNIT",
        /// `conditionType` of `conditions[].value`.
        ConditionType = "CONDITION_TYPE",
        /// `keywords`.
        Keywords = "KEYWORDS",
        /// `properties`.
        Properties = "PROPERTIES",
        /// `workspace`.
        Workspace = "WORKSPACE",
        /// `createdAt`.
        CreatedAt = "CREATED_AT",
        /// `createdBy`.
        CreatedBy = "CREATED_BY",
    }
}
