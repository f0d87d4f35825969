//! The change feed: what is in the log, who reads it, how long it is kept, and what came from the
//! feeds of other stores.

pub(crate) mod changes;
pub(super) mod event;
pub(super) mod hold;
pub(crate) mod imports;
pub(super) mod log_sizes;
pub(super) mod position;
pub(super) mod subscriber_row;
pub(super) mod subscribers;
pub(super) mod sync_point;
pub(super) mod synchronise;
pub(crate) mod trim;
