//! The registry of workspaces, and the requests about it.

pub mod workspace;

pub use workspace::*;
