//! Imports: the rows of a file are appended to a table, in one commit.

use std::io::Read;
use std::sync::Arc;

use arrow::array::RecordBatch;

use crate::columnar::{CsvImport, ParquetImport, ReadSeek, TableSchema};
use crate::error::{Error, Result};
use crate::model::Resource;
use crate::model::tables::data::Column;
use crate::model::tables::import::{ImportTableRequest, ImportTableResponse};
use crate::model::tables::table::{TableId, TableMetadata};
use crate::services::tables::append::{self, Rest, commit};
use crate::services::tables::metadata;
use crate::session::Access;
use crate::value::{Action, Control, RecordKey};

/// A source of rows of an import.
trait Source {
    fn infer(&mut self, index: Option<&str>) -> Result<Vec<Column>>;
    fn next(&mut self, schema: &TableSchema, control: &Control) -> Result<Option<RecordBatch>>;
    fn total(&self) -> Option<u64>;
}

impl Source for CsvImport<'_> {
    fn infer(&mut self, index: Option<&str>) -> Result<Vec<Column>> {
        CsvImport::infer(self, index)
    }

    fn next(&mut self, schema: &TableSchema, _: &Control) -> Result<Option<RecordBatch>> {
        self.next_batch(schema)
    }

    fn total(&self) -> Option<u64> {
        None
    }
}

impl Source for ParquetImport {
    fn infer(&mut self, index: Option<&str>) -> Result<Vec<Column>> {
        ParquetImport::infer(self, index)
    }

    fn next(&mut self, schema: &TableSchema, control: &Control) -> Result<Option<RecordBatch>> {
        self.next_batch(schema, control)
    }

    fn total(&self) -> Option<u64> {
        Some(self.row_count())
    }
}

pub(in crate::services) fn csv<A: Access>(
    access: &A,
    request: ImportTableRequest,
    input: &mut dyn Read,
    control: &Control,
) -> Result<ImportTableResponse> {
    access.refuse_in_transaction("an import")?;
    let text = request.separator.as_deref().unwrap_or(",");
    let mut characters = text.chars();
    let (Some(separator), None) = (characters.next(), characters.next()) else {
        return Err(Error::invalid(format!("{text:?} is not one character")).at_member("separator"));
    };
    import(access, request, &mut CsvImport::new(input, separator)?, control)
}

pub(in crate::services) fn parquet<A: Access>(
    access: &A,
    request: ImportTableRequest,
    input: Box<dyn ReadSeek>,
    control: &Control,
) -> Result<ImportTableResponse> {
    access.refuse_in_transaction("an import")?;
    import(access, request, &mut ParquetImport::new(input)?, control)
}

fn fill<A: Access>(
    rest: &mut Rest<'_, A>,
    source: &mut dyn Source,
    control: &Control,
) -> Result<()> {
    let schema = rest.schema().clone();
    loop {
        control.check()?;
        let Some(batch) = source.next(&schema, control)? else { return Ok(()) };
        rest.push(batch)?;
        control.report(rest.rows(), source.total(), "rows");
    }
}

fn import<A: Access>(
    access: &A,
    request: ImportTableRequest,
    source: &mut dyn Source,
    control: &Control,
) -> Result<ImportTableResponse> {
    let control = access.context().control(control);
    let end_of_data = request.end_of_data.unwrap_or_default();
    let declared = request.table.as_ref().is_some_and(|table| !table.columns.is_empty());
    if request.id.is_some() && request.table.is_some() {
        return Err(Error::invalid(
            "an import needs either an existing table or a new one, not both",
        )
        .at_member("table"));
    }
    if request.index_column.is_some() && (declared || request.id.is_some()) {
        return Err(Error::invalid(
            "indexColumn applies only to inferred columns; leave it out, the table declares its \
             index",
        )
        .at_member("indexColumn"));
    }
    if let Some(id) = &request.id {
        let mut imported = 0;
        append::append(access, id, end_of_data, |rest| {
            fill(rest, source, &control)?;
            imported = rest.rows();
            Ok(())
        })?;
        let id = RecordKey::parse(TableMetadata::KIND.id, id).map(TableId::from);
        return Ok(ImportTableResponse { id, row_count: imported as i64 });
    }
    let mut table = request.table.unwrap_or_default();
    if !declared {
        table.columns = source.infer(request.index_column.as_deref())?;
    }
    let schema = Arc::new(metadata::check_new(access.context(), &table)?);
    // Checked before the rows are read, so that a caller without permission, or an
    // unknown workspace, is rejected early.
    let workspace = table.workspace.as_deref().unwrap_or(access.context().default_workspace());
    access.context().require(TableMetadata::KIND.service, Action::Create, workspace)?;
    access.read(|view| view.require_workspace(workspace))?;
    // The id is drawn in a commit of its own: the segments of the rows are stored under it before
    // the table exists.
    let id = TableId::from(access.write(|draft| draft.new_key::<TableMetadata>())?);
    let mut rest = Rest::new(access, &id, schema, 0);
    fill(&mut rest, source, &control)?;
    let row_count = rest.rows() as i64;
    let arrived = rest.finish()?;
    let new_id = id.clone();
    commit(access, &id, arrived, end_of_data, move |draft| {
        metadata::create_as(draft, new_id, table)
    })?;
    Ok(ImportTableResponse { id: Some(id), row_count })
}
