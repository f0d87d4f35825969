//! Imports: the rows of a file are appended to a table, in one commit.

use std::io::Read;

use crate::columnar::{CsvImport, ImportOptions, ParquetImport, ReadSeek, RowSource, TableSchema};
use crate::error::{Error, Result};
use crate::model::Resource;
use crate::model::tables::import::{ImportTableRequest, ImportTableResponse, ImportedColumn};
use crate::model::tables::table::{TableId, TableMetadata};
use crate::services::lists;
use crate::services::service_record::absent;
use crate::services::tables::{append, metadata};
use crate::session::Access;
use crate::session::tables::{RowCounts, stage_new};
use crate::value::{Action, Control};

pub(in crate::services) fn csv<A: Access>(
    access: &A,
    request: ImportTableRequest,
    input: &mut dyn Read,
    control: &Control,
) -> Result<ImportTableResponse> {
    access.refuse_in_transaction("an import")?;
    check(&request)?;
    let options = ImportOptions::new(&request)?;
    import(access, request, &mut CsvImport::new(input, options)?, control)
}

pub(in crate::services) fn parquet<A: Access>(
    access: &A,
    request: ImportTableRequest,
    input: Box<dyn ReadSeek>,
    control: &Control,
) -> Result<ImportTableResponse> {
    access.refuse_in_transaction("an import")?;
    check(&request)?;
    let options = ImportOptions::new(&request)?;
    import(access, request, &mut ParquetImport::new(input, options)?, control)
}

fn declares(request: &ImportTableRequest) -> bool {
    request.table.as_ref().is_some_and(|table| !table.columns.is_empty())
}

/// Refuses members that do not go together.
fn check(request: &ImportTableRequest) -> Result<()> {
    if request.id.is_some() && request.table.is_some() {
        return Err(Error::invalid(
            "an import needs either an existing table or a new one, not both",
        )
        .at_member("table"));
    }
    let is_declared = declares(request) || request.id.is_some();
    for (is_given, member) in [
        (request.index_column.is_some(), "indexColumn"),
        (request.column_types.is_some(), "columnTypes"),
    ] {
        if is_given && is_declared {
            return Err(Error::invalid(format!(
                "{member} applies only to inferred columns; leave it out, the table declares its \
                 columns"
            ))
            .at_member(member));
        }
    }
    lists::check("nullTexts", request.null_texts.as_ref().map_or(0, Vec::len))
}

/// The report of an import: the columns of the table, and the nulls that were imported.
fn response(
    id: Option<TableId>,
    schema: &TableSchema,
    source: &dyn RowSource,
    counts: &RowCounts,
) -> ImportTableResponse {
    let columns = schema.columns().iter().enumerate().map(|(at, column)| {
        let told = source.told(&column.name);
        ImportedColumn {
            name: column.name.clone(),
            data_type: column.data_type,
            column_type: column.column_type,
            why: if told.why.is_empty() { "declared by the caller".to_owned() } else { told.why },
            unit: told.unit,
            time_zone: told.zone,
            null_count: counts.nulls.get(at).copied().unwrap_or_default(),
        }
    });
    ImportTableResponse {
        id,
        row_count: counts.rows as i64,
        columns: columns.collect(),
        separator: source.form().map(|(separator, _)| separator.to_string()),
        header_line: source.form().and_then(|(_, line)| i64::try_from(line).ok()),
        warnings: source.warnings(),
    }
}

fn import<A: Access>(
    access: &A,
    request: ImportTableRequest,
    source: &mut dyn RowSource,
    control: &Control,
) -> Result<ImportTableResponse> {
    let control = access.context().control(control);
    let closes = request.end_of_data.unwrap_or_default();
    let cut_times = request.cut_times.unwrap_or_default();
    if let Some(id) = &request.id {
        let mut rows = append::begin(access, id)?;
        let first = rows.number_rows()?;
        source.set_first_row(first.ok_or_else(|| absent::<TableMetadata>(id))?);
        let counts = rows.fill(source, cut_times, &control)?;
        let (id, schema) = (TableId::from(rows.id().to_owned()), rows.schema().clone());
        append::commit(rows, closes)?;
        return Ok(response(Some(id), &schema, source, &counts));
    }
    let is_declared = declares(&request);
    let mut table = request.table.unwrap_or_default();
    if !is_declared {
        table.columns = source.infer()?;
    }
    let schema = metadata::check_new(access.context(), &table)?;
    // Checked before the rows are read, so that a caller without permission, or an
    // unknown workspace, is rejected early.
    let workspace = table.workspace.as_deref().unwrap_or(access.context().default_workspace());
    access.context().require(TableMetadata::KIND.service, Action::Create, workspace)?;
    access.read(|view| view.require_workspace(workspace))?;
    // The id is drawn in a commit of its own: the segments of the rows are stored under it before
    // the table exists.
    let id = TableId::from(access.write(|draft| draft.new_key::<TableMetadata>())?);
    let infer_again = |source: &mut dyn RowSource| {
        if is_declared || !source.begin_again() {
            return Ok(None);
        }
        table.columns = source.infer()?;
        metadata::check_new(access.context(), &table).map(Some)
    };
    let staged = stage_new(access, &id, schema, source, cut_times, &control, infer_again)?;
    let (rows, schema, counts) = staged;
    let (new_id, changes) = (id.clone(), counts.rows > 0 || closes);
    rows.commit(closes, move |draft| {
        let table = metadata::create_as(draft, new_id, table)?;
        if changes {
            metadata::require_update(draft, &table)?;
        }
        Ok(table)
    })?;
    Ok(response(Some(id), &schema, source, &counts))
}
