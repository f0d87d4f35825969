//! Specifications of products, their conditions and the check of rows against their limits.

pub(crate) mod check;
#[cfg(test)]
mod check_tests;
pub(crate) mod condition;
pub(crate) mod requests;
pub(crate) mod specification;
#[cfg(test)]
mod specification_tests;

pub use check::*;
pub use condition::*;
pub use requests::*;
pub use specification::*;
