//! A table as a TDMS file, which is only appended to: segments of equal numbers of rows, of which
//! only the first one and the last one have metadata, unless there are texts. Long texts make segments
//! of fewer rows.

mod encode;
mod index;

use std::collections::BTreeMap;
use std::io::Write;

use stationdb::arrow::array::{ArrayRef, AsArray, RecordBatch};
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
/// Bytes of texts of a segment, unless one row has more.
const TEXT_BYTES: usize = 32 * 1024 * 1024;

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
    let mut text_bytes = 0;
    for batch in rows {
        control.check()?;
        let batch = batch?;
        index.check(&batch)?;
        let mut from = 0;
        while from < batch.num_rows() {
            let room = (rows_max - waiting, TEXT_BYTES - text_bytes);
            let rest = batch.slice(from, batch.num_rows() - from);
            let (taken, is_full) = rows_within(&rest, room, waiting == 0);
            let rest = rest.slice(0, taken);
            text_bytes += bytes_of_texts(&rest, taken);
            if taken > 0 {
                pending.push(rest);
            }
            (from, waiting) = (from + taken, waiting + taken);
            if is_full {
                writer.write(&pending, count, out)?;
                count += waiting as u64;
                (waiting, text_bytes, pending) = (0, 0, Vec::new());
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

/// Bytes of the texts of the first rows.
fn bytes_of_texts(batch: &RecordBatch, rows: usize) -> usize {
    let bytes = |column: &ArrayRef| {
        let offsets = column.as_string_opt::<i32>()?.value_offsets();
        let bytes = offsets.get(rows)?.checked_sub(*offsets.first()?)?;
        usize::try_from(bytes).ok()
    };
    batch.columns().iter().filter_map(bytes).sum()
}

/// How many of the first rows fit into a segment that has room for rows and for bytes of texts, and whether
/// it is full with them. The first row of a segment always fits.
fn rows_within(batch: &RecordBatch, room: (usize, usize), is_first: bool) -> (usize, bool) {
    let (rows, bytes) = (batch.num_rows().min(room.0), room.1);
    let (mut fits, mut above) = (usize::from(is_first && rows > 0), rows + 1);
    while fits + 1 < above {
        let middle = fits + (above - fits) / 2;
        if bytes_of_texts(batch, middle) <= bytes { fits = middle } else { above = middle }
    }
    (fits, fits == room.0 || fits < rows || bytes_of_texts(batch, fits) >= bytes)
}

fn group_name(request: &ExportTdmsRequest, table: &TableMetadata) -> String {
    let imported = table.properties.as_ref().and_then(|properties| properties.get(GROUP));
    let names = [request.group.as_ref(), imported, table.name.as_ref()];
    names.into_iter().flatten().next().cloned().unwrap_or_else(|| "table".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use stationdb::arrow::array::{Float64Array, StringArray};
    use std::sync::Arc;

    #[test]
    fn segments_end_at_their_rows_and_bytes() {
        let texts = StringArray::from(vec![Some("aaaa"), None, Some("bb"), Some("cccccc")]);
        let numbers = Float64Array::from(vec![0.0; 4]);
        let columns: [(&str, ArrayRef); 2] = [("s", Arc::new(texts)), ("v", Arc::new(numbers))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        for (from, room, is_first, expected) in [
            (0, (9, 100), true, (4, false)),
            (0, (4, 100), true, (4, true)),
            (0, (3, 100), true, (3, true)),
            (0, (9, 12), true, (4, true)),
            (0, (9, 11), true, (3, true)),
            (0, (9, 5), true, (2, true)),
            (1, (9, 7), true, (2, true)),
            // A row that is too long alone.
            (3, (9, 5), true, (1, true)),
            (3, (9, 5), false, (0, true)),
            (3, (9, 7), false, (1, false)),
        ] {
            let rest = batch.slice(from, 4 - from);
            assert_eq!(rows_within(&rest, room, is_first), expected, "{from} {room:?}");
        }
    }
}
