//! Requests and responses of the specification service.

use chrono::{DateTime, Utc};

use crate::error::ApiError;
use crate::model::operation::Operation;
use crate::model::specifications::specification::{
    CreateSpecificationRequest, Specification, SpecificationId, SpecificationOrderBy,
    SpecificationProjection, UpdateSpecificationRequest,
};
use crate::value::wire::record;

record! {
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

    /// The result for a created specification.
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
        pub created_at: DateTime<Utc>,
        /// Id of the user.
        pub created_by: String,
    }

    /// The result for an updated specification.
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
        pub updated_at: DateTime<Utc>,
        /// Id of the user.
        pub updated_by: String,
    }

    /// The result of creating specifications.
    created batch pub struct CreateSpecificationsPartialSuccess {
        /// The created specifications, in request order.
        pub created_specs: Option<Vec<CreatedSpecification>>,
        /// The requests that failed, as they were sent, with every required member.
        pub failed_specs: Option<Vec<CreateSpecificationRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The result of updating specifications.
    batch pub struct UpdateSpecificationsPartialSuccess {
        /// The updated specifications, in request order.
        pub updated_specs: Option<Vec<UpdatedSpecification>>,
        /// The requests that failed, as they were sent, with every required member.
        pub failed_specs: Option<Vec<UpdateSpecificationRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The result of deleting specifications, if some could not be deleted.
    batch pub struct DeleteSpecificationsPartialSuccess {
        /// Ids of the deleted specifications.
        pub deleted_spec_ids: Vec<String>,
        /// Ids that could not be deleted.
        pub failed_spec_ids: Vec<String>,
        /// One inner error for each failed id.
        pub error: ApiError,
    }

    /// A query for specifications.
    wire pub struct QuerySpecificationsRequest new() queries(Specification) {
        /// The products whose specifications are queried; required.
        pub product_ids: Vec<String>,
        /// Filter; all specifications of the products when absent.
        pub filter: Option<String>,
        /// Values of `@0`, `@1`, … in the filter: texts, integers, numbers, Booleans or null.
        pub substitutions: Option<Vec<serde_json::Value>>,
        /// Members to return; all when absent or empty.
        pub projection: Option<Vec<SpecificationProjection>>,
        /// Order; by id when absent.
        pub order_by: Option<SpecificationOrderBy>,
        /// Whether the order is descending.
        pub order_by_descending: Option<bool>,
        /// Page size; 1000 when absent or negative.
        pub take: Option<i64>,
        /// The token of the previous page.
        pub continuation_token: Option<String>,
    }

    /// A page of specifications.
    page pub struct PagedSpecifications {
        /// The specifications.
        pub specs: Option<Vec<Specification>>,
        /// The token of the next page; absent on the last one.
        pub continuation_token: Option<String>,
    }

    /// The operations of the specification service.
    answer pub struct V1Operations {
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

/// The answers about one specification, which differ in the names of their stamps.
macro_rules! of_specification {
    ($($answer:ident { $at:ident, $by:ident })*) => {
        $(impl From<&Specification> for $answer {
            fn from(spec: &Specification) -> Self {
                Self {
                    id: spec.id.clone().unwrap_or_default(),
                    product_id: spec.product_id.clone().unwrap_or_default(),
                    spec_id: spec.spec_id.clone().unwrap_or_default(),
                    workspace: spec.workspace.clone().unwrap_or_default(),
                    version: spec.version.unwrap_or_default(),
                    $at: spec.$at.unwrap_or_default(),
                    $by: spec.$by.clone().unwrap_or_default(),
                }
            }
        })*
    };
}

of_specification! {
    CreatedSpecification { created_at, created_by }
    UpdatedSpecification { updated_at, updated_by }
}
