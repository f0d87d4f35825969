//! Quotas of workspaces: bounds, what counts towards them, and the requests.

pub(crate) mod charge;
pub(crate) mod quota;

pub(crate) use charge::*;
pub use quota::*;
