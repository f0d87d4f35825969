//! Identity, access policy, the read snapshot, the write path, queries, the change feed.
//!
//! Services are written against [`Access`], [`View`] and [`Draft`], and know no file and no engine.

mod access;
pub(crate) mod changes;
mod context;
mod draft;
mod engine;
mod event;
mod identity;
mod options;
mod query;
mod token;
mod view;
mod write_path;

#[cfg(test)]
mod tests;

pub use access::{Access, Session, Transaction};
pub use changes::{ChangeEvent, ChangeStream, Position};
pub use context::Context;
pub use draft::Draft;
pub(crate) use engine::{Engine, guarded, lock};
pub use event::{Event, LogEntry, What};
pub use identity::{AccessPolicy, AllowAll, Identity, Visibility};
pub use options::Settings;
pub use query::{OrderTerm, Page, Plan, Query};
pub use view::View;
