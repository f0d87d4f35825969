//! The rows with one index value.

use crate::arrow::array::RecordBatch;
use crate::error::Result;

use super::view::TableView;

/// Rows with one index value, from one run.
#[derive(Debug)]
pub(crate) struct IndexRows {
    /// The rows.
    pub batch: RecordBatch,
    /// Their append ordinals.
    pub ordinals: Vec<u64>,
}

/// The rows whose index has this value, with these columns or with all, run by run in order of
/// append.
///
/// # Errors
/// `Corrupt`, `Io`.
pub(crate) fn index_rows(
    view: &TableView,
    value: i64,
    columns: Option<&[usize]>,
) -> Result<Vec<IndexRows>> {
    let schema = &view.schema;
    let all: Vec<usize> = (0..schema.len()).collect();
    let columns = columns.unwrap_or(&all);
    let mut found = Vec::new();
    for run in view.runs() {
        let (least, greatest) = run.index_range();
        if value < least || greatest < value {
            continue;
        }
        let from = run.rows_before(schema, value, false)?;
        let ranges = run.live(from..run.rows_before(schema, value, true)?);
        if !ranges.is_empty() {
            let batch = run.read(schema, columns, &ranges)?;
            found.push(IndexRows { batch, ordinals: run.ordinals(&ranges)? });
        }
    }
    Ok(found)
}
