//! The steps of test results as the store keeps them: one record a step while it may change soon,
//! and rows of a table that the store keeps itself.

pub(crate) mod links;
pub(crate) mod remains;
pub(crate) mod rows;
pub(crate) mod stored;
