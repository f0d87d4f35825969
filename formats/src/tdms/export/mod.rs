//! A table as a TDMS file, which is only appended to: segments of equal numbers of rows, of which
//! only the first one and the last one have metadata, unless there are texts.

mod encode;
mod index;

use std::collections::BTreeMap;
use std::io::Write;

use stationdb::arrow::array::RecordBatch;
use stationdb::tables::{ScanRequest, TableId, TableMetadata, TableService};
use stationdb::{Control, Error, Result};

use self::encode::{Channel, Segment, io};
use self::index::Index;
use super::tables::GROUP;
use super::types::Value;

/// Rows of a segment.
const ROWS: usize = 64 * 1024;
/// Cells of a segment.
const CELLS: usize = 1024 * 1024;

/// Which rows of a table become a TDMS file, and how.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ExportTdmsRequest {
    /// The rows and columns.
    pub rows: ScanRequest,
    /// The name of the group; that of the group that the table was imported from when absent, or
    /// else that of the table.
    pub group: Option<String>,
    /// The values of cells that are null, by column, in the spelling of a cell. Without one, nulls
    /// are NaN in floats and refused elsewhere.
    pub fill: BTreeMap<String, String>,
}

impl ExportTdmsRequest {
    /// All rows and columns.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`rows`](Self::rows).
    #[must_use]
    pub fn rows(mut self, rows: ScanRequest) -> Self {
        self.rows = rows;
        self
    }

    /// Sets [`group`](Self::group).
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// Adds the value of null cells of a column to [`fill`](Self::fill).
    #[must_use]
    pub fn fill(mut self, column: impl Into<String>, value: impl Into<String>) -> Self {
        self.fill.insert(column.into(), value.into());
        self
    }
}

pub(crate) fn export<S: TableService + ?Sized>(
    session: &S,
    id: &TableId,
    request: &ExportTdmsRequest,
    out: &mut (dyn Write + Send),
    control: &Control,
) -> Result<u64> {
    let table = session.get_table_metadata(id)?;
    let declared = table.columns.as_deref().unwrap_or_default();
    if let Some(name) =
        request.fill.keys().find(|name| declared.iter().all(|column| column.name != **name))
    {
        return Err(
            Error::invalid(format!("there is no column {name:?} to fill")).at_member("fill")
        );
    }
    let mut index = Index::find(session, id, &table, &request.rows, control)?;
    let rows = session.scan(id, request.rows.clone(), control)?;
    let schema = rows.schema();
    let mut channels = Vec::new();
    for (position, field) in schema.fields().iter().enumerate() {
        let column = declared.iter().find(|column| column.name == *field.name());
        let Some(column) = column.filter(|_| !index.replaces(field.name())) else { continue };
        channels.push(Channel::new(position, column, index.properties(column), &request.fill)?);
    }
    let mut group = BTreeMap::new();
    for (name, value) in table.properties.iter().flatten().filter(|(name, _)| *name != GROUP) {
        group.insert(name.clone(), Value::Text(value.clone()));
    }
    let name = group_name(request, &table);
    let mut writer = Segment::new(name, channels, group, table.name.clone().unwrap_or_default());
    let rows_max = (CELLS / schema.fields().len().max(1)).clamp(1, ROWS);
    let (mut pending, mut waiting, mut count) = (Vec::<RecordBatch>::new(), 0, 0u64);
    for batch in rows {
        control.check()?;
        let batch = batch?;
        index.check(&batch)?;
        let mut from = 0;
        while from < batch.num_rows() {
            let taken = (batch.num_rows() - from).min(rows_max - waiting);
            pending.push(batch.slice(from, taken));
            (from, waiting) = (from + taken, waiting + taken);
            if waiting == rows_max {
                writer.write(&pending, count, out)?;
                count += waiting as u64;
                (waiting, pending) = (0, Vec::new());
            }
        }
        control.report(count + waiting as u64, None, "rows");
    }
    if waiting > 0 || count == 0 {
        writer.write(&pending, count, out)?;
        count += waiting as u64;
    }
    index.check_end(count)?;
    out.flush().map_err(io)?;
    Ok(count)
}

fn group_name(request: &ExportTdmsRequest, table: &TableMetadata) -> String {
    let imported = table.properties.as_ref().and_then(|properties| properties.get(GROUP));
    let names = [request.group.as_ref(), imported, table.name.as_ref()];
    names.into_iter().flatten().next().cloned().unwrap_or_else(|| "table".to_owned())
}
