//! The registry of workspaces, and its requests.

pub mod workspace;

pub use workspace::*;
