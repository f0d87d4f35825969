//! Requests and answers of imports of records from another store.

use std::collections::BTreeMap;

use crate::model::records::RecordKind;
use crate::value::wire::{record, wire_enum};

wire_enum! {
    /// What becomes of a conflict of an import.
    wire pub enum ImportDecision {
        /// The record here stays, and the conflict is not told again until the record changes at
        /// the source.
        Keep = "KEEP",
        /// The state of the source is taken over.
        Take = "TAKE",
    }
}

wire_enum! {
    /// Why the state of a record at the source was not taken over.
    wire pub enum ImportConflictReason {
        /// The record was changed here since it was imported.
        ChangedHere = "CHANGED_HERE",
        /// The record has an id that a record has that was created here.
        CreatedHere = "CREATED_HERE",
        /// The record was deleted here since it was imported.
        DeletedHere = "DELETED_HERE",
        /// Another record has its part number, or its product, workspace and `specId`.
        KeyTaken = "KEY_TAKEN",
        /// The product of the specification is not here.
        ProductMissing = "PRODUCT_MISSING",
        /// Its workspace is not here, and the request maps it to none.
        WorkspaceMissing = "WORKSPACE_MISSING",
        /// The caller may not read the record that is here, or may not write what waits.
        NotPermitted = "NOT_PERMITTED",
    }
}

record! {
    /// The state of a record at the source.
    wire pub struct ImportRecord new(kind: RecordKind, id: String) requires(kind, id) {
        /// The kind: PRODUCT, SPECIFICATION, WORK_ITEM_TEMPLATE or TEST_PLAN_TEMPLATE.
        pub kind: RecordKind,
        /// Id at the source; the record gets the same here.
        pub id: String,
        /// The record as its service returns it; absent for one that was deleted at the source.
        pub record: Option<BTreeMap<String, serde_json::Value>>,
    }

    /// The decision about a conflict that was told.
    wire pub struct ImportChoice new(kind: RecordKind, id: String, decision: ImportDecision)
        requires(kind, id, decision)
    {
        /// The kind of the record.
        pub kind: RecordKind,
        /// Its id.
        pub id: String,
        /// What becomes of it.
        pub decision: ImportDecision,
    }

    /// The options of `import_records`.
    wire pub struct ImportRecordsRequest new(source: String) requires(source) {
        /// Name of the source; at most 256 bytes.
        pub source: String,
        /// The position of the source up to which this request has its changes, any text of at most
        /// 4,096 bytes. Absent: nothing is imported, and the answer has the position and the
        /// conflicts.
        pub position: Option<String>,
        /// The position after which the changes begin: the one that the last import had. Absent for
        /// the first import.
        pub after: Option<String>,
        /// Kinds of which `records` has all that the source has: others that came from it were
        /// deleted there. Absent or empty: `records` has what changed after `after`.
        pub full: Option<Vec<RecordKind>>,
        /// The latest state of each record; at most 100,000.
        pub records: Option<Vec<ImportRecord>>,
        /// Ids of workspaces here, by their ids at the source. Others have the same id here.
        pub workspaces: Option<BTreeMap<String, String>>,
        /// Decisions about conflicts that wait; at most 100,000. One about a record without a
        /// conflict, or whose state in this request is another one, has no effect.
        pub choices: Option<Vec<ImportChoice>>,
    }

    /// A record whose state at the source was not taken over.
    wire pub struct ImportConflict {
        /// The kind of the record.
        pub kind: RecordKind,
        /// Its id at the source.
        pub id: String,
        /// Why.
        pub reason: ImportConflictReason,
        /// Its name, here or else at the source.
        pub name: Option<String>,
        /// The id of the record in the way; another one for KEY_TAKEN.
        pub here_id: Option<String>,
        /// The record in the way; absent when there is none, and when the caller may not read it.
        pub here: Option<serde_json::Value>,
        /// The record at the source; absent when it was deleted there.
        pub came: Option<serde_json::Value>,
    }

    /// The result of an import of records.
    answer pub struct ImportRecordsResponse {
        /// The position of the source that is now here; absent before the first import.
        pub position: Option<String>,
        /// Whether the records of the request were taken over by this call. They were not if an
        /// earlier call had the same position, and if the request has none.
        pub applied: bool,
        /// Records that were created.
        pub created_count: i64,
        /// Records that were changed.
        pub updated_count: i64,
        /// Records that were deleted.
        pub deleted_count: i64,
        /// Records that stay as they are.
        pub unchanged_count: i64,
        /// What waits for a decision, by kind and id.
        pub conflicts: Vec<ImportConflict>,
    }
}
