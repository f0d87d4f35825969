//! The common parts of work items and test plans: states, executions, resources, timelines,
//! dashboards.

pub mod dashboard;
pub mod execution;
pub mod execution_event;
pub mod resources;
pub mod state;
pub mod timeline;
#[cfg(test)]
mod wire_tests;
