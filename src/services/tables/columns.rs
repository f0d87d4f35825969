//! Columns that come and go: added, renamed and dropped.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::columnar::{TableSchema, check_indexed};
use crate::error::{Error, Result};
use crate::model::{
    AddColumnsRequest, Column, ColumnType, DropColumnsRequest, RenameColumnsRequest, TableMetadata,
};
use crate::services::tables::metadata::{as_stored, check_keys, check_revision, found, save_with};
use crate::session::tables::{ColumnChange, change_columns, layouts_of, schema_of};
use crate::session::{Draft, View, What};

fn nothing() -> Error {
    Error::invalid("the request names no columns; name at least one").at_member("columns")
}

/// Checks the columns that a table will have, and drafts the change.
fn change(
    draft: &mut Draft<'_>,
    mut table: TableMetadata,
    change: &ColumnChange,
    detail: Value,
) -> Result<()> {
    let columns: Vec<Column> =
        change.kept.iter().map(|(_, column)| column).chain(&change.added).cloned().collect();
    TableSchema::new(columns.clone(), draft.context().settings().table_columns_max)?;
    // The caller may change the table, or drafts nothing.
    let before = table.clone();
    table.columns = Some(columns);
    save_with(draft, table, What::ColumnsChanged, Some(detail))?;
    change_columns(draft, &before, change)
}

fn columns_of(table: &TableMetadata) -> Vec<(usize, Column)> {
    table.columns.iter().flatten().cloned().enumerate().collect()
}

/// The numbers of the columns that a table has.
pub(in crate::services) fn numbers(view: &View<'_>, id: &str) -> Result<Vec<u64>> {
    let table = found(id, view.get::<TableMetadata>(id)?)?;
    let layouts = layouts_of(view, &table)?;
    let numbered = (0..).zip(layouts.lives());
    Ok(numbered.filter(|(_, life)| life.dropped.is_none()).map(|(number, _)| number).collect())
}

/// Adds columns. The rows that the table has are null in them.
pub(in crate::services) fn add(
    draft: &mut Draft<'_>,
    id: &str,
    request: AddColumnsRequest,
) -> Result<()> {
    let table = found(id, draft.get::<TableMetadata>(id)?)?;
    check_revision(&table, request.metadata_revision)?;
    if request.columns.is_empty() {
        return Err(nothing());
    }
    let most = draft.context().settings().table_columns_max;
    let mut names: HashSet<&str> =
        table.columns.iter().flatten().map(|column| column.name.as_str()).collect();
    let total = names.len().saturating_add(request.columns.len());
    if total > most {
        return Err(Error::limit(format!(
            "the table would have {total} columns, more than the {most} that one table may have"
        ))
        .at_member("columns"));
    }
    for (at, column) in request.columns.iter().enumerate() {
        let place = |member: &str| format!("columns[{at}].{member}");
        if column.name.is_empty() {
            return Err(Error::invalid("a column needs a name").at_member(place("name")));
        }
        if column.column_type != ColumnType::Nullable {
            return Err(Error::invalid(format!(
                "column {:?} is {}; an added column must be NULLABLE, because the rows that the \
                 table has are null in it",
                column.name, column.column_type
            ))
            .with_args([column.name.clone()])
            .at_member(place("columnType")));
        }
        if !names.insert(&column.name) {
            return Err(Error::invalid(format!(
                "the table has a column {:?} already; choose another name, or rename that one",
                column.name
            ))
            .with_args([column.name.clone()])
            .at_member(place("name")));
        }
        check_indexed(column).map_err(|error| error.at_member(place("indexed")))?;
        check_keys(column.properties.keys(), &place("properties"))?;
    }
    let names: Vec<&str> = request.columns.iter().map(|column| column.name.as_str()).collect();
    let detail = json!({ "added": names });
    let kept = columns_of(&table);
    let added = request.columns.into_iter().map(as_stored).collect();
    change(draft, table, &ColumnChange { kept, added }, detail)
}

/// Positions of the columns that a request names, each once.
fn positions(table: &TableMetadata, names: &[String], member: &str) -> Result<Vec<usize>> {
    if names.is_empty() {
        return Err(nothing());
    }
    schema_of(table)?.projection(Some(names), member)
}

/// Renames columns, all at once.
pub(in crate::services) fn rename(
    draft: &mut Draft<'_>,
    id: &str,
    request: RenameColumnsRequest,
) -> Result<()> {
    let table = found(id, draft.get::<TableMetadata>(id)?)?;
    check_revision(&table, request.metadata_revision)?;
    let names: Vec<String> = request.columns.iter().map(|column| column.name.clone()).collect();
    let renamed = positions(&table, &names, "columns")?;
    let mut kept = columns_of(&table);
    for (position, change) in renamed.iter().zip(&request.columns) {
        if let Some((_, column)) = kept.get_mut(*position) {
            column.name.clone_from(&change.new_name);
        }
    }
    for (at, (position, change)) in renamed.iter().zip(&request.columns).enumerate() {
        let name = &change.new_name;
        let refusal = if name.is_empty() {
            Some("a column needs a name".to_owned())
        } else {
            kept.iter()
                .any(|(other, column)| other != position && column.name == *name)
                .then(|| format!("two columns would have the name {name:?}"))
        };
        if let Some(refusal) = refusal {
            return Err(Error::invalid(refusal)
                .with_args([name.clone()])
                .at_member(format!("columns[{at}].newName")));
        }
    }
    let pairs: Vec<[&str; 2]> =
        request.columns.iter().map(|c| [c.name.as_str(), c.new_name.as_str()]).collect();
    let detail = json!({ "renamed": pairs });
    change(draft, table, &ColumnChange { kept, added: Vec::new() }, detail)
}

/// Drops columns with their values.
pub(in crate::services) fn drop_these(
    draft: &mut Draft<'_>,
    id: &str,
    request: DropColumnsRequest,
) -> Result<()> {
    let table = found(id, draft.get::<TableMetadata>(id)?)?;
    check_revision(&table, request.metadata_revision)?;
    let dropped = positions(&table, &request.columns, "columns")?;
    let mut kept = columns_of(&table);
    for (at, position) in dropped.iter().enumerate() {
        let column = kept.get(*position).map(|(_, column)| column);
        if let Some(column) = column.filter(|column| column.column_type == ColumnType::Index) {
            return Err(Error::invalid(format!(
                "column {:?} is the INDEX, which orders the rows; it cannot be dropped",
                column.name
            ))
            .with_args([column.name.clone()])
            .at_member(format!("columns[{at}]")));
        }
    }
    kept.retain(|(position, _)| !dropped.contains(position));
    let detail = json!({ "dropped": request.columns });
    change(draft, table, &ColumnChange { kept, added: Vec::new() }, detail)
}
