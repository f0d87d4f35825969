//! Test results and their steps.

pub(crate) mod figures;
pub(crate) mod status;

pub(crate) use status::StatusType;
