//! The contents of the change log: one entry for each commit, one event for each change that a
//! subscriber can understand.

use serde_json::Value;

use crate::value::wire::{record, wire_enum};

wire_enum! {
    /// What happened to a resource.
    pub enum What {
        /// It was created.
        Created = "CREATED",
        /// Its members were changed.
        Updated = "UPDATED",
        /// It was deleted.
        Deleted = "DELETED",
        /// It was scheduled.
        Scheduled = "SCHEDULED",
        /// One of its actions was executed; the detail is the execution event.
        Executed = "EXECUTED",
        /// Rows were appended; the detail tells how many.
        RowsAppended = "ROWS_APPENDED",
        /// It was closed for appends.
        Closed = "CLOSED",
        /// Rows were deleted; the detail tells how many, and their append ordinals.
        RowsDeleted = "ROWS_DELETED",
        /// Columns were added, renamed or dropped; the detail names them.
        ColumnsChanged = "COLUMNS_CHANGED",
        /// Steps of a result were created, updated or deleted; the detail tells how many.
        StepsChanged = "STEPS_CHANGED",
    }
}

record! {
    /// One event of the change log.
    pub struct Event {
        /// Number of the resource's kind.
        pub kind_code: u8,
        /// Id of the resource.
        pub id: String,
        /// Display name of the resource; empty if it has none.
        pub name: String,
        /// Workspace of the resource after the change.
        pub workspace: String,
        /// Workspace before the change, if it changed.
        pub moved_from: Option<String>,
        /// What happened.
        pub what: What,
        /// Details: the execution event, the number of rows.
        pub detail: Option<Value>,
    }

    /// The changes of one commit, as the change log stores them.
    pub struct LogEntry {
        /// Milliseconds since 1970 UTC.
        pub time_ms: i64,
        /// User id of the session that made the change.
        pub who: String,
        /// What changed, in order.
        pub events: Vec<Event>,
    }
}
