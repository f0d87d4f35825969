//! The common parts of work items and test plans: states, executions, resources, timelines,
//! dashboards.

pub(crate) mod dashboard;
pub(crate) mod execution;
pub(crate) mod execution_event;
pub(crate) mod resources;
pub(crate) mod state;
pub(crate) mod timeline;
#[cfg(test)]
mod wire_tests;

pub(crate) use dashboard::*;
pub(crate) use execution::*;
pub(crate) use execution_event::*;
pub(crate) use resources::*;
pub(crate) use state::*;
