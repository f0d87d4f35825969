//! Identity, access policy, read snapshots, the write path, queries, and the change feed.
//!
//! Services are written against [`Access`], [`View`] and [`Draft`]. They know neither files nor
//! engines.

mod access;
mod engine;
pub(crate) mod feed;
mod lock;
pub(crate) mod maintain;
pub(crate) mod outbox;
mod query;
pub(crate) mod tables;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod token;
mod view;
mod write;

pub(crate) use crate::value::guarded;
pub(crate) use access::context::Context;
pub(crate) use access::holders::Holder;
pub use access::identity::{AccessPolicy, AllowAll, Identity, Visibility};
pub use access::options::Settings;
pub use access::runner::{FreshIdRunner, JobRequest, JobRunner, NotebookRequest, QueueFailure};
pub use access::sessions::Session;
pub(crate) use access::sessions::{Access, Handle, HasHandle, STORE_USER};
pub use access::transaction::{OwnedTransaction, Transaction};
pub(crate) use engine::{Checkpoints, Engine, Health, archive, memory};
pub use feed::changes::{ChangeEvent, ChangeStream};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use feed::event::LogEntry;
pub use feed::event::What;
pub use feed::hold::{HoldBounds, HoldState, HoldStatus};
pub use feed::position::Position;
pub(crate) use feed::subscriber_row::{SUBSCRIBER, SubscriberRow, parts_of};
pub(crate) use feed::subscribers::Caller;
pub use feed::subscribers::{Subscriber, SubscriberRef};
pub use feed::sync_point::SyncPoint;
pub use feed::synchronise::{PresentRecord, SyncItem, SyncStream};
pub(crate) use lock::lock;
pub(crate) use maintain::fillings::{FILLING_KEY, Fillings};
pub(crate) use maintain::mend::read_pages_again;
pub(crate) use maintain::rewrite::rewrite_record_file;
pub(crate) use maintain::settle::{checkpoint, settle_indexes};
pub(crate) use outbox::search;
pub use query::Plan;
pub(crate) use query::{EntryOrder, OrderTerm, ProductFilter, Query, mark_after};
pub use tables::{PartRows, RowsPart, SegmentFile, StoredBytes, StoredRows};
pub(crate) use view::IndexEntries;
pub(crate) use view::View;
pub(crate) use write::draft::Draft;
