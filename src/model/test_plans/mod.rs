//! Test plans, their templates and the requests about them.

pub mod requests;
pub mod template;
pub mod template_requests;
pub mod test_plan;

pub use requests::*;
pub use template::*;
pub use template_requests::*;
pub use test_plan::*;
