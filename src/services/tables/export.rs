//! Writes rows in the format of a file, with what the table says about them.

use std::io::Write;

use crate::columnar::{comment_lines, export_csv, export_ipc, export_parquet, with_metadata};
use crate::error::Result;
use crate::model::{ExportFormat, ExportTableDataRequest, ScanRequest, TableMetadata};
use crate::services::tables::metadata::found;
use crate::services::tables::read;
use crate::session::Access;
use crate::value::Control;

pub(in crate::services) fn export<A: Access>(
    access: &A,
    id: &str,
    request: ExportTableDataRequest,
    out: &mut (dyn Write + Send),
    control: &Control,
) -> Result<u64> {
    let scan = ScanRequest {
        columns: request.columns,
        filters: request.filters,
        filter: request.filter,
        substitutions: request.substitutions,
        order_by: request.order_by,
        take: request.take,
    };
    let table = access.read(|view| found(id, view.get::<TableMetadata>(id)?))?;
    let rows = read::scan(access, id, scan, control)?;
    let schema = with_metadata(&rows.schema(), &table)?;
    match request.response_format {
        ExportFormat::Csv => {
            let comments = match request.csv_metadata {
                Some(true) => comment_lines(&schema, &table)?,
                _ => String::new(),
            };
            export_csv(comments, &schema, rows, out)
        }
        ExportFormat::Parquet => export_parquet(&schema, rows, out),
        ExportFormat::ArrowStream => export_ipc(&schema, rows, out),
    }
}
