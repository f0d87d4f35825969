//! Products and their requests.

pub(crate) mod product;
#[cfg(test)]
mod product_tests;
pub(crate) mod requests;

pub use product::*;
pub use requests::*;
