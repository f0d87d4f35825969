//! Imports: the rows of sources are appended to tables, in one commit.

use std::collections::{BTreeMap, HashMap};

use crate::columnar::readers::shortened;
use crate::columnar::{RowSource, TableSchema, TableSource};
use crate::error::{Error, Result};
use crate::model::Resource;
use crate::model::tables::data::Column;
use crate::model::tables::import::{ImportTableRequest, ImportTableResponse, ImportedColumn};
use crate::model::tables::table::{CreateTableRequest, TableId, TableMetadata};
use crate::services::lists;
use crate::services::service_record::absent;
use crate::services::tables::{append, metadata};
use crate::session::tables::{FindTable, Reading, RowCounts, StagedRows, commit_all, stage_new};
use crate::session::{Access, Draft};
use crate::value::{Action, Control, limits};

pub(in crate::services) fn rows<A: Access>(
    access: &A,
    request: ImportTableRequest,
    source: &mut dyn RowSource,
    control: &Control,
) -> Result<ImportTableResponse> {
    access.refuse_in_transaction("an import")?;
    let control = access.context().control(control);
    let mut import = Import::new(access);
    let answer = import.stage(request, source, &control)?;
    import.commit()?;
    Ok(answer)
}

pub(in crate::services) fn tables<A: Access>(
    access: &A,
    source: &mut dyn TableSource,
    control: &Control,
) -> Result<Vec<ImportTableResponse>> {
    access.refuse_in_transaction("an import")?;
    let control = access.context().control(control);
    let (mut import, mut answers) = (Import::new(access), Vec::new());
    loop {
        control.check()?;
        if !source.advance(&control)? {
            break;
        }
        if answers.len() == limits::IMPORT_TABLES {
            return Err(Error::limit(format!(
                "there are more than the {} tables of one import; import them in several",
                limits::IMPORT_TABLES
            )));
        }
        let table = source.table()?;
        answers.push(import.stage(table.request, table.rows, &control)?);
    }
    import.commit()?;
    Ok(answers)
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
    id: &TableId,
    schema: &TableSchema,
    source: &dyn RowSource,
    counts: &RowCounts,
) -> ImportTableResponse {
    let columns = schema.columns().iter().enumerate().map(|(at, column)| {
        let told = source.note(&column.name);
        ImportedColumn {
            name: column.name.clone(),
            data_type: column.data_type,
            column_type: column.column_type,
            why: if told.why.is_empty() { "declared by the caller".to_owned() } else { told.why },
            unit: told.unit,
            time_zone: told.time_zone,
            null_count: counts.nulls.get(at).copied().unwrap_or_default(),
        }
    });
    let form = source.form();
    ImportTableResponse {
        id: Some(id.clone()),
        row_count: counts.rows as i64,
        columns: columns.collect(),
        separator: form.separator.map(String::from),
        header_line: form.header_line.and_then(|line| i64::try_from(line).ok()),
        warnings: source.warnings(),
    }
}

/// Columns or properties that a message about an append names.
const SHOWN: usize = 10;

/// The first of what a message names, and how many are left out.
fn listed(all: &[String]) -> String {
    let shown = all.get(..SHOWN.min(all.len())).unwrap_or_default().join(", ");
    match all.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown}, and {more} more"),
    }
}

/// What is told of numbers that are stored as they are in columns of another unit.
fn other_units(schema: &TableSchema, imported: &[ImportedColumn]) -> Option<String> {
    let other = |(column, imported): (&Column, &ImportedColumn)| {
        let (name, unit) = (&column.name, imported.unit.as_deref()?);
        match column.properties.get(Column::UNIT) {
            Some(own) if own == unit => None,
            Some(own) => Some(format!("{name:?} has {unit:?}, and {own:?} in the table")),
            None => Some(format!("{name:?} has {unit:?}, and no unit in the table")),
        }
    };
    let others: Vec<String> = schema.columns().iter().zip(imported).filter_map(other).collect();
    (!others.is_empty()).then(|| {
        format!(
            "the source has other units than the table, whose numbers are stored as they are: {}",
            listed(&others)
        )
    })
}

/// What is told of properties that have other values in a table than in a source.
fn other_properties(
    own: &BTreeMap<String, String>,
    properties: &BTreeMap<String, String>,
) -> String {
    let other = |(key, value): (&String, &String)| {
        let of_table = own.get(key).filter(|own| *own != value)?;
        let (value, of_table) = (shortened(value), shortened(of_table));
        Some(format!("{key:?} is {value:?}, and {of_table:?} in the table"))
    };
    let others: Vec<String> = properties.iter().filter_map(other).collect();
    if others.is_empty() { String::new() } else { format!(": {}", listed(&others)) }
}

/// Gives a new table the name and the properties that its source has for it, where it has none of
/// its own.
fn complete(table: &mut CreateTableRequest, source: &dyn RowSource) {
    if table.name.as_ref().is_none_or(String::is_empty) {
        table.name = source.name();
    }
    let mut properties = source.properties();
    properties.extend(table.properties.take().unwrap_or_default());
    table.properties = (!properties.is_empty()).then_some(properties);
}

/// The first number of the rows of a table with numbers, and its rows in this import.
#[derive(Clone, Copy, Default)]
struct Numbered {
    first: u64,
    rows: u64,
}

/// Tables whose rows are read, before their commit.
struct Import<'a, A> {
    access: &'a A,
    staged: Vec<(StagedRows<'a, A>, bool, FindTable)>,
    rows: u64,
    bytes: usize,
    /// The tables that are appended to, by their ids.
    numbered: HashMap<String, Numbered>,
}

impl<'a, A: Access> Import<'a, A> {
    fn new(access: &'a A) -> Self {
        Self { access, staged: Vec::new(), rows: 0, bytes: 0, numbered: HashMap::new() }
    }

    /// Reads the rows of a source.
    fn stage(
        &mut self,
        request: ImportTableRequest,
        source: &mut dyn RowSource,
        control: &Control,
    ) -> Result<ImportTableResponse> {
        check(&request)?;
        let reading = Reading {
            cut_times: request.cut_times.unwrap_or_default(),
            control,
            rows_before: self.rows,
            bytes_before: self.bytes,
        };
        let answer = match &request.id {
            Some(id) => self.append(id, request.end_of_data.unwrap_or_default(), source, reading),
            None => self.create(request, source, reading),
        }?;
        self.rows += answer.row_count.unsigned_abs();
        Ok(answer)
    }

    fn keep(&mut self, rows: StagedRows<'a, A>, closes: bool, table: FindTable) {
        self.bytes += rows.memory();
        self.staged.push((rows, closes, table));
    }

    fn append(
        &mut self,
        id: &str,
        closes: bool,
        source: &mut dyn RowSource,
        reading: Reading<'_>,
    ) -> Result<ImportTableResponse> {
        let mut rows = append::begin(self.access, id)?.beside(self.bytes);
        let known = self.numbered.get(rows.id()).copied();
        let mut numbered = match known {
            // The rows of the sources before have the numbers before.
            Some(numbered) => numbered,
            None => {
                let first = rows.number_rows()?;
                Numbered { first: first.ok_or_else(|| absent::<TableMetadata>(id))?, rows: 0 }
            }
        };
        source.number_from(numbered.first + numbered.rows);
        let counts = rows.fill(source, reading)?;
        numbered.rows += counts.rows;
        let (id, schema) = (TableId::from(rows.id().to_owned()), rows.schema().clone());
        self.numbered.insert(id.to_string(), numbered);
        match append::stage(rows, closes)? {
            Some((rows, table)) => self.keep(rows, closes, table),
            // Nothing is appended, so nothing keeps others from numbering rows.
            None if known.is_none() => drop(self.numbered.remove(id.as_str())),
            None => {}
        }
        let mut answer = response(&id, &schema, source, &counts);
        answer.warnings.extend(other_units(&schema, &answer.columns));
        let properties = source.properties();
        if !properties.is_empty() {
            let table = self.access.read(|view| view.get::<TableMetadata>(&id))?;
            let own = table.and_then(|table| table.properties).unwrap_or_default();
            answer.warnings.push(format!(
                "the table has its own properties, so those of the source are not stored{}",
                other_properties(&own, &properties)
            ));
        }
        Ok(answer)
    }

    fn create(
        &mut self,
        mut request: ImportTableRequest,
        source: &mut dyn RowSource,
        reading: Reading<'_>,
    ) -> Result<ImportTableResponse> {
        let access = self.access;
        let is_declared = declares(&request);
        let closes = request.end_of_data.unwrap_or_default();
        let columns = if is_declared { None } else { Some(source.columns()?) };
        let mut table = request.table.take().unwrap_or_default();
        if let Some(columns) = columns {
            table.columns = columns;
        }
        complete(&mut table, source);
        let schema = metadata::check_new(access.context(), &table)?;
        // Checked before the rows are read, so that a caller without permission, or an
        // unknown workspace, is rejected early.
        let workspace = table.workspace.as_deref().unwrap_or(access.context().default_workspace());
        access.context().require(TableMetadata::KIND.service, Action::Create, workspace)?;
        access.read(|view| view.require_workspace(workspace))?;
        // The id is drawn in a commit of its own: the segments of the rows are stored under it
        // before the table exists.
        let id = TableId::from(access.write(|draft| draft.new_key::<TableMetadata>())?);
        let infer_again = |source: &mut dyn RowSource| {
            if is_declared || !source.begin_again() {
                return Ok(None);
            }
            table.columns = source.columns()?;
            metadata::check_new(access.context(), &table).map(Some)
        };
        let staged = stage_new(access, &id, schema, source, reading, infer_again)?;
        let (rows, schema, counts) = staged;
        // A source may know more when it was read.
        complete(&mut table, source);
        metadata::check_new(access.context(), &table)?;
        let (new_id, changes) = (id.clone(), counts.rows > 0 || closes);
        let find = move |draft: &mut Draft<'_>| {
            let table = metadata::create_as(draft, new_id, table)?;
            if changes {
                metadata::require_update(draft, &table)?;
            }
            Ok(table)
        };
        self.keep(rows, closes, Box::new(find));
        Ok(response(&id, &schema, source, &counts))
    }

    fn commit(self) -> Result<()> {
        if self.staged.is_empty() { Ok(()) } else { commit_all(self.access, self.staged) }
    }
}
