//! Identity, access policy, read snapshots, the write path, queries, and the change feed.
//!
//! Services are written against [`Access`], [`View`] and [`Draft`]. They know neither files nor
//! engines.

mod access;
pub(crate) mod changes;
mod context;
mod draft;
mod engine;
mod event;
mod fillings;
pub(crate) mod growth;
mod hold;
mod holders;
mod identity;
pub(crate) mod imports;
mod lock;
mod log_sizes;
mod options;
pub(crate) mod outbox;
mod position;
mod query;
mod quotas;
mod rewrite;
mod runner;
mod settle;
mod subscriber_row;
mod subscribers;
mod sync_point;
mod synchronise;
pub(crate) mod tables;
pub(crate) mod token;
pub(crate) mod trim;
mod view;
mod workspaces;
mod write_path;
mod written;

pub(crate) use crate::value::guarded;
pub(crate) use access::{Access, Handle};
pub use access::{Session, Transaction};
pub use changes::{ChangeEvent, ChangeStream};
pub(crate) use context::Context;
pub(crate) use draft::Draft;
pub(crate) use engine::{Checkpoints, Engine};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use event::LogEntry;
pub use event::What;
pub(crate) use fillings::{FILLING_KEY, Fillings};
pub use hold::{HoldBounds, HoldState, HoldStatus};
pub(crate) use holders::Holder;
pub use identity::{AccessPolicy, AllowAll, Identity, Visibility};
pub(crate) use lock::lock;
pub use options::Settings;
pub(crate) use outbox::search;
pub use position::Position;
pub use query::Plan;
pub(crate) use query::{OrderTerm, Query};
pub(crate) use quotas::quota_entry;
pub(crate) use rewrite::rewrite_record_file;
pub use runner::{FreshIdRunner, JobRequest, JobRunner, NotebookRequest, QueueFailure};
pub(crate) use settle::{checkpoint, settle_indexes};
pub(crate) use subscriber_row::{SUBSCRIBER, SubscriberRow, parts_of};
pub(crate) use subscribers::Caller;
pub use subscribers::{Subscriber, SubscriberRef};
pub use sync_point::SyncPoint;
pub use synchronise::{PresentRecord, SyncItem, SyncStream};
pub(crate) use view::IndexEntries;
pub(crate) use view::View;
