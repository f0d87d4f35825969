//! Specifications of products, their conditions and the check of rows against their limits.

pub(crate) mod check;
#[cfg(test)]
mod check_tests;
pub(crate) mod condition;
pub(crate) mod requests;
pub(crate) mod specification;
#[cfg(test)]
mod specification_tests;

pub use check::{CheckSummary, ConditionPoint, LimitSide, Verdict, WorstRow};
pub use condition::{
    Condition, ConditionRange, ConditionType, ConditionValue, NumericConditionValue,
    StringConditionValue, condition_summary,
};
pub use requests::{
    CreateSpecificationsPartialSuccess, CreateSpecificationsRequest, CreatedSpecification,
    DeleteSpecificationsPartialSuccess, PagedSpecifications, QuerySpecificationsRequest,
    UpdateSpecificationsPartialSuccess, UpdateSpecificationsRequest, UpdatedSpecification,
    V1Operations,
};
pub use specification::{
    CreateSpecificationRequest, Specification, SpecificationId, SpecificationLimit,
    SpecificationOrderBy, SpecificationProjection, SpecificationType, UpdateSpecificationRequest,
};
