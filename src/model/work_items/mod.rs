//! Work items, their templates and their requests.

#[cfg(test)]
mod projection_tests;
pub mod requests;
pub mod template;
pub mod template_requests;
pub mod work_item;

pub use requests::*;
pub use template::*;
pub use template_requests::*;
pub use work_item::*;
