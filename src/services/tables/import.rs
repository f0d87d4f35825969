//! Imports: the rows of a file are appended to a table, in one commit.

use std::io::Read;
use std::sync::Arc;

use crate::arrow::array::{Array, RecordBatch};
use crate::columnar::{
    CUT, ColumnNote, CsvImport, FINER_TIMES, ImportOptions, ParquetImport, ReadSeek, TableSchema,
    is_numbered,
};
use crate::error::{Error, Result};
use crate::model::Resource;
use crate::model::tables::data::Column;
use crate::model::tables::import::{ImportTableRequest, ImportTableResponse, ImportedColumn};
use crate::model::tables::table::{TableId, TableMetadata};
use crate::services::lists;
use crate::services::tables::append::{self, Rest, commit};
use crate::services::tables::metadata::{self, found};
use crate::session::Access;
use crate::session::tables::{self as session_tables, Numbering};
use crate::value::{Action, Control, RecordKey};

/// A source of rows of an import.
trait RowSource {
    fn infer(&mut self) -> Result<Vec<Column>>;
    fn set_first_row(&mut self, row: u64);
    fn next(&mut self, schema: &TableSchema, control: &Control) -> Result<Option<RecordBatch>>;
    fn total(&self) -> Option<u64>;
    fn told(&self, name: &str) -> ColumnNote;
    /// Separator and line of the header of a text.
    fn form(&self) -> Option<(char, u64)>;
    /// What the caller should look at.
    fn warnings(&self) -> Vec<String>;
    /// Whether, after a failure, the columns have to be inferred again. The source then begins
    /// again.
    fn begin_again(&mut self) -> bool {
        false
    }
}

impl RowSource for CsvImport<'_> {
    fn infer(&mut self) -> Result<Vec<Column>> {
        CsvImport::infer(self)
    }

    fn set_first_row(&mut self, row: u64) {
        CsvImport::set_first_row(self, row);
    }

    fn next(&mut self, schema: &TableSchema, _: &Control) -> Result<Option<RecordBatch>> {
        self.next_batch(schema)
    }

    fn total(&self) -> Option<u64> {
        None
    }

    fn told(&self, name: &str) -> ColumnNote {
        CsvImport::told(self, name)
    }

    fn form(&self) -> Option<(char, u64)> {
        Some((self.separator(), self.header_line()))
    }

    fn warnings(&self) -> Vec<String> {
        CsvImport::warnings(self)
    }
}

impl RowSource for ParquetImport {
    fn infer(&mut self) -> Result<Vec<Column>> {
        ParquetImport::infer(self)
    }

    fn set_first_row(&mut self, row: u64) {
        ParquetImport::set_first_row(self, row);
    }

    fn next(&mut self, schema: &TableSchema, control: &Control) -> Result<Option<RecordBatch>> {
        self.next_batch(schema, control)
    }

    fn total(&self) -> Option<u64> {
        Some(self.row_count())
    }

    fn told(&self, name: &str) -> ColumnNote {
        ParquetImport::told(self, name)
    }

    fn warnings(&self) -> Vec<String> {
        ParquetImport::warnings(self)
    }

    fn begin_again(&mut self) -> bool {
        ParquetImport::begin_again(self)
    }

    fn form(&self) -> Option<(char, u64)> {
        None
    }
}

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

/// The schema that batches are fitted to: that of the table, with columns that cut fine digits of
/// times when the request says so.
fn reading_schema(schema: &Arc<TableSchema>, cut_times: bool) -> Result<Arc<TableSchema>> {
    if !cut_times {
        return Ok(schema.clone());
    }
    let mut columns = schema.columns().to_vec();
    for column in columns.iter_mut().filter(|column| column.data_type.is_time()) {
        column.properties.insert(FINER_TIMES.to_owned(), CUT.to_owned());
    }
    let count = columns.len();
    TableSchema::new(columns, count).map(Arc::new)
}

/// The report of an import: the columns of the table, and the nulls that were imported.
fn response(
    id: Option<TableId>,
    schema: &TableSchema,
    source: &dyn RowSource,
    filled: &FilledRows,
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
            null_count: filled.nulls.get(at).copied().unwrap_or_default(),
        }
    });
    ImportTableResponse {
        id,
        row_count: filled.rows as i64,
        columns: columns.collect(),
        separator: source.form().map(|(separator, _)| separator.to_string()),
        header_line: source.form().and_then(|(_, line)| i64::try_from(line).ok()),
        warnings: source.warnings(),
    }
}

/// Rows that were read, and the nulls of each column.
#[derive(Default)]
struct FilledRows {
    rows: u64,
    nulls: Vec<i64>,
}

fn fill<A: Access>(
    rest: &mut Rest<'_, A>,
    source: &mut dyn RowSource,
    cut_times: bool,
    control: &Control,
) -> Result<FilledRows> {
    let schema = reading_schema(rest.schema(), cut_times)?;
    let mut nulls = vec![0; schema.len()];
    loop {
        control.check()?;
        let Some(batch) = source.next(&schema, control)? else {
            return Ok(FilledRows { rows: rest.rows(), nulls });
        };
        for (count, array) in nulls.iter_mut().zip(batch.columns()) {
            *count += array.null_count() as i64;
        }
        rest.push(batch)?;
        control.report(rest.rows(), source.total(), "rows");
    }
}

/// Lets this import number the rows of a table whose index has their numbers, from the number that
/// it returns with the permission. The permission must live until the rows are committed.
///
/// # Errors
/// `Conflict` while another import numbers rows of the table.
fn numbering<A: Access>(
    access: &A,
    id: &str,
    schema: &TableSchema,
) -> Result<(u64, Option<Numbering>)> {
    if !is_numbered(schema.column(schema.index())?) {
        return Ok((0, None));
    }
    let key = RecordKey::parse(TableMetadata::KIND.id, id);
    let numbering = key.and_then(|key| access.context().engine.tables.number(key));
    let numbering = numbering.ok_or_else(|| {
        Error::conflict(
            "another import numbers rows of this table, and two at once would repeat numbers; \
             import again when it is done",
        )
        .with_resource(TableMetadata::KIND.name, id)
    })?;
    Ok((next_ordinal(access, id)?, Some(numbering)))
}

/// The append ordinal of the table's next row.
fn next_ordinal<A: Access>(access: &A, id: &str) -> Result<u64> {
    access.read(|view| {
        let table = found(id, view.get::<TableMetadata>(id)?)?;
        session_tables::next_ordinal_in(view, &table)
    })
}

fn import<A: Access>(
    access: &A,
    request: ImportTableRequest,
    source: &mut dyn RowSource,
    control: &Control,
) -> Result<ImportTableResponse> {
    let control = access.context().control(control);
    let end_of_data = request.end_of_data.unwrap_or_default();
    let cut_times = request.cut_times.unwrap_or_default();
    if let Some(id) = &request.id {
        let (mut imported, mut permission) = ((None, FilledRows::default()), None);
        append::append(access, id, end_of_data, |rest| {
            let (first, numbering) = numbering(access, id, rest.schema())?;
            permission = numbering;
            source.set_first_row(first);
            let filled = fill(rest, source, cut_times, &control)?;
            imported = (Some(rest.schema().clone()), filled);
            Ok(())
        })?;
        drop(permission);
        let id = RecordKey::parse(TableMetadata::KIND.id, id).map(TableId::from);
        let (Some(schema), filled) = imported else { return Ok(ImportTableResponse::default()) };
        return Ok(response(id, &schema, source, &filled));
    }
    let is_declared = declares(&request);
    let mut table = request.table.unwrap_or_default();
    if !is_declared {
        table.columns = source.infer()?;
    }
    let mut schema = Arc::new(metadata::check_new(access.context(), &table)?);
    // Checked before the rows are read, so that a caller without permission, or an
    // unknown workspace, is rejected early.
    let workspace = table.workspace.as_deref().unwrap_or(access.context().default_workspace());
    access.context().require(TableMetadata::KIND.service, Action::Create, workspace)?;
    access.read(|view| view.require_workspace(workspace))?;
    // The id is drawn in a commit of its own: the segments of the rows are stored under it before
    // the table exists.
    let id = TableId::from(access.write(|draft| draft.new_key::<TableMetadata>())?);
    let (filled, arrived) = loop {
        let mut rest = Rest::new(access, &id, schema.clone(), 0);
        match fill(&mut rest, source, cut_times, &control) {
            Ok(filled) => break (filled, rest.finish()?),
            // The segments of the rows that were read go with `rest`.
            Err(_) if !is_declared && source.begin_again() => {
                drop(rest);
                table.columns = source.infer()?;
                schema = Arc::new(metadata::check_new(access.context(), &table)?);
            }
            Err(error) => return Err(error),
        }
    };
    let new_id = id.clone();
    commit(access, &id, arrived, end_of_data, move |draft| {
        metadata::create_as(draft, new_id, table)
    })?;
    Ok(response(Some(id), &schema, source, &filled))
}
