//! Test results and their steps.

pub(crate) mod figure_requests;
pub(crate) mod figures;
#[allow(unreachable_pub)]
#[expect(dead_code, reason = "no record has a status yet")]
pub(crate) mod status;

pub(crate) use status::StatusType;
