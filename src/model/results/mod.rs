//! Test results and their steps.

pub(crate) mod figure_requests;
pub(crate) mod figures;
pub(crate) mod status;

pub use status::StatusType;
