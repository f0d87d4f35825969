//! Identity, access policy, the read snapshot, the write path, queries, the change feed.
//!
//! Services are written against [`Access`], [`View`] and [`Draft`], and know no file and no engine.

mod access;
pub(crate) mod changes;
mod context;
mod draft;
mod engine;
mod event;
pub(crate) mod growth;
mod identity;
mod latch;
mod options;
mod query;
mod runner;
mod search_outbox;
pub(crate) mod search_verify;
mod subscribers;
mod sync;
pub(crate) mod table_store;
mod text_search;
pub(crate) mod token;
mod turns;
mod view;
mod write_path;

#[cfg(test)]
mod growth_tests;
#[cfg(all(test, feature = "search"))]
mod search_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod turns_tests;

pub(crate) use crate::text::Snippet;
pub(crate) use crate::value::guarded;
pub(crate) use access::{Access, Handle};
pub use access::{Session, Transaction};
pub use changes::{ChangeEvent, ChangeStream, Position};
pub use context::Context;
pub use draft::Draft;
pub(crate) use engine::{Engine, lock};
#[cfg(any(test, fuzzing))]
pub use event::LogEntry;
pub use event::What;
pub(crate) use growth::Fillings;
pub use identity::{AccessPolicy, AllowAll, Identity, Visibility};
pub use options::Settings;
pub use query::{OrderTerm, Page, Plan, Query};
pub use runner::{FreshIdRunner, JobRequest, JobRunner, NotebookRequest, QueueFailure};
pub(crate) use subscribers::Caller;
pub use subscribers::Subscriber;
pub(crate) use text_search::{TextAnswer, TextSearch, search};
pub use view::View;
pub(crate) use view::split_index_key;
pub(crate) use write_path::settle_indexes;
