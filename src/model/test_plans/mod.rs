//! Test plans, their templates and the requests about them.

pub(crate) mod requests;
pub(crate) mod template;
pub(crate) mod template_requests;
pub(crate) mod test_plan;

pub use requests::*;
pub use template::*;
pub use template_requests::*;
pub use test_plan::*;
