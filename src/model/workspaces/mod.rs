//! The registry of workspaces, and its requests.

pub(crate) mod workspace;

pub use workspace::*;
