//! Specifications of products, their conditions and the check of rows against their limits.

pub mod check;
pub mod condition;
pub mod requests;
pub mod specification;

pub use check::{CheckSummary, ConditionPoint, LimitSide, Verdict, WorstRow};
pub use condition::{
    Condition, ConditionRange, ConditionType, ConditionValue, NumericConditionValue, StringConditionValue,
    condition_summary,
};
pub use requests::{
    CreateSpecificationRequest, CreateSpecificationsPartialSuccess, CreateSpecificationsRequest, CreatedSpecification,
    DeleteSpecificationsPartialSuccess, PagedSpecifications, QuerySpecificationsRequest, SpecificationOrderBy,
    SpecificationProjection, UpdateSpecificationRequest, UpdateSpecificationsPartialSuccess,
    UpdateSpecificationsRequest, UpdatedSpecification, V1Operations,
};
pub use specification::{Specification, SpecificationId, SpecificationLimit, SpecificationType};
