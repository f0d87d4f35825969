//! Work items, their templates and their requests.

#[cfg(test)]
mod projection_tests;
pub(crate) mod requests;
pub(crate) mod template;
pub(crate) mod template_requests;
pub(crate) mod work_item;

pub use requests::*;
pub use template::*;
pub use template_requests::*;
pub use work_item::*;
