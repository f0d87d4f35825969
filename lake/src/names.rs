//! The names of lake tables that a lake always has.

use stationdb::scans::RecordKind;

/// The name of the lake table with the complete batches.
pub(crate) const BATCHES: &str = "batches";

/// What is added to the name of a lake table for its deleted rows.
pub(crate) const DELETED_ROWS: &str = "_deleted";

/// End of the names of lake tables with changes of records.
pub(crate) const CHANGES: &str = "_changes";

/// The lake table with the measurements of results.
pub(crate) const MEASUREMENTS: &str = "measurement_changes";

/// The lake table with the steps of results.
pub(crate) const STEPS: &str = "step_changes";

/// Whether a lake table has rows of tables.
pub(crate) fn is_rows(name: &str) -> bool {
    let is_other = name == BATCHES || name.ends_with(DELETED_ROWS) || name.ends_with(CHANGES);
    !is_other && !name.starts_with('_') && !name.starts_with('.')
}

/// The name of the lake table for the changes of a kind.
pub(crate) fn table_of(kind: RecordKind) -> String {
    format!("{}{CHANGES}", kind.to_string().to_lowercase())
}
