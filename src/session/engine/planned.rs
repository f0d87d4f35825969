//! The plans in the queue of writers. They are closures, so that the engine knows neither services
//! nor views.

use crate::error::Result;
use crate::records::{Change, Turn};

/// The space that the plans of one commit need.
#[derive(Debug, Default)]
pub(in crate::session) struct Room {
    /// Bytes that the accepted plans add; the free space of the disk does not reflect them yet.
    pub(in crate::session) wanted_bytes: u64,
    /// Free bytes of the disk when the last of them was checked, if it reports them.
    pub(in crate::session) disk_free_bytes: Option<u64>,
}

/// A write that waits for its turn. Its arguments are the turn, the space that earlier plans of the
/// same commit need, and the sequence number of its commit; it returns its changes.
pub(in crate::session) type Planned =
    Box<dyn FnOnce(&Turn, &mut Room, u64) -> Result<Vec<Change>> + Send>;
