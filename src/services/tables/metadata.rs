//! Operations on whole tables: create, find, modify, delete.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use crate::columnar::{TableSchema, check_indexed};
use crate::error::{Error, Result};
use crate::model::{
    Column, ColumnMetadataPatch, CreateTableRequest, DeleteTablesPartialSuccess, ListTablesRequest,
    ModifyTableRequest, ModifyTablesPartialSuccess, ModifyTablesRequest, QueryTablesRequest,
    Resource, TableId, TableMetadata, TableMetadataModification, TableProjection,
};
use crate::services::batch::{self, distinct};
use crate::services::lists;
use crate::services::queries::{self, QueryRequest};
use crate::services::service_record::{ServiceRecord, absent};
use crate::session::tables::{forget_rows, index_rows};
use crate::session::{Context, Draft, Query, Settings, What};
use crate::value::nearest::did_you_mean;
use crate::value::{Action, Patch, RecordKey, limits, time};

type Merge = BTreeMap<String, Option<String>>;

/// The table, or the error: a malformed id and an unknown one have different codes.
pub(in crate::services) fn found(id: &str, table: Option<TableMetadata>) -> Result<TableMetadata> {
    let kind = TableMetadata::KIND;
    match table {
        Some(table) => Ok(table),
        None if RecordKey::parse(kind.id, id).is_none() => Err(Error::invalid(format!(
            "invalid table ID {id:?}: expected 24 hexadecimal digits in lower case"
        ))
        .with_name("DataFrame.InvalidTableId", Some(-255_134))
        .with_resource(kind.name, id)
        .with_args([id])),
        None => Err(absent::<TableMetadata>(id)),
    }
}

/// Refuses a caller who may not change a table.
pub(super) fn require_update(draft: &Draft<'_>, table: &TableMetadata) -> Result<()> {
    draft.context().require(TableMetadata::KIND.service, Action::Update, table.workspace())
}

fn filled(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

pub(super) fn check_keys<'k>(
    mut keys: impl Iterator<Item = &'k String>,
    member: &str,
) -> Result<()> {
    if keys.any(String::is_empty) {
        Err(Error::invalid("a property has an empty key").at_member(member))
    } else {
        Ok(())
    }
}

pub(in crate::services) fn create(
    draft: &mut Draft<'_>,
    request: CreateTableRequest,
) -> Result<TableId> {
    // The id is drawn last: a rejected request draws none.
    check_new(draft.context(), &request)?;
    let id = TableId::from(draft.new_key::<TableMetadata>()?);
    create_as(draft, id.clone(), request)?;
    Ok(id)
}

/// Rejects the creation of an invalid table.
pub(in crate::services) fn check_new(
    context: &Context,
    request: &CreateTableRequest,
) -> Result<TableSchema> {
    let schema = TableSchema::new(request.columns.clone(), context.settings().table_columns_max)?;
    for (at, column) in request.columns.iter().enumerate() {
        check_keys(column.properties.keys(), &format!("columns[{at}].properties"))?;
    }
    check_keys(request.properties.iter().flatten().map(|(key, _)| key), "properties")?;
    Ok(schema)
}

/// A new column as it is stored: one that is not indexed has one form.
pub(super) fn as_stored(column: Column) -> Column {
    Column { indexed: column.is_indexed().then_some(true), ..column }
}

/// Creates a table with an id that was drawn before.
pub(in crate::services) fn create_as(
    draft: &mut Draft<'_>,
    id: TableId,
    request: CreateTableRequest,
) -> Result<TableMetadata> {
    let properties = request.properties.unwrap_or_default();
    let workspace =
        request.workspace.unwrap_or_else(|| draft.context().default_workspace().to_owned());
    let now = Some(draft.now());
    let table = TableMetadata {
        name: Some(filled(request.name).unwrap_or_else(|| id.to_string())),
        id: Some(id),
        columns: Some(request.columns.into_iter().map(as_stored).collect()),
        created_at: now,
        metadata_modified_at: now,
        metadata_revision: Some(1),
        properties: Some(properties),
        row_count: Some(0),
        rows_modified_at: now,
        supports_append: Some(true),
        test_result_id: filled(request.test_result_id),
        workspace: Some(workspace),
        column_count: None,
        projected_columns: None,
    };
    draft.put(&table, What::Created)?;
    Ok(table)
}

fn check_take(take: Option<i64>) -> Result<usize> {
    match take {
        None => Ok(limits::TABLES_TAKE as usize),
        Some(take) if take < 0 => {
            Err(Error::invalid(format!("take is {take}; it cannot be negative")).at_member("take"))
        }
        Some(take) if take > i64::from(limits::TABLES_TAKE) => Err(Error::invalid(format!(
            "take is {take}, more than the {} tables of one page; read page by page",
            limits::TABLES_TAKE
        ))
        .at_member("take")),
        Some(take) => Ok(take as usize),
    }
}

impl ServiceRecord for TableMetadata {
    const ABSENT: (&'static str, Option<i64>) = ("DataFrame.TableNotFound", Some(-255_130));
}

impl QueryRequest for ListTablesRequest {
    fn query(&self, _settings: &Settings) -> Result<Query<'_>> {
        let workspaces = self.workspace.clone().filter(|list| !list.is_empty());
        lists::check("workspace", workspaces.as_ref().map_or(0, Vec::len))?;
        Ok(Query {
            take: check_take(self.take)?,
            ids: self.id.as_deref().filter(|ids| !ids.is_empty()),
            restrict: workspaces.map(|list| ("workspace", list)).into_iter().collect(),
            ..queries::common(self)?
        })
    }
}

impl QueryRequest for QueryTablesRequest {
    fn query(&self, _settings: &Settings) -> Result<Query<'_>> {
        let reference_time = self
            .reference_time
            .as_deref()
            .map(|text| {
                time::parse_with_offset(text)
                    .map(|(time, offset)| time.with_timezone(&offset))
                    .ok_or_else(|| {
                        Error::invalid(format!("{text:?} is not an ISO-8601 date-time"))
                            .at_member("referenceTime")
                    })
            })
            .transpose()?;
        let query = queries::common(self)?;
        if let (Some(projection), Some(order_by)) = (&self.projection, self.order_by) {
            let is_there = |member: &TableProjection| member.path() == order_by.path();
            if !projection.iter().any(is_there) {
                let needed =
                    TableProjection::ALL.iter().copied().find(is_there).unwrap_or_default();
                return Err(Error::invalid(format!(
                    "tables sorted by {order_by} must be projected with {needed}"
                ))
                .at_member("projection"));
            }
        }
        Ok(Query {
            take: check_take(self.take)?,
            reference_time,
            requires: &[("columns", "testResultId")],
            ..query
        })
    }

    fn shown(&self, table: TableMetadata, projection: &[TableProjection]) -> TableMetadata {
        match (projection, &self.projection) {
            // An empty list leaves the id, an absent one everything.
            ([], Some(_)) => TableMetadata { id: table.id, ..TableMetadata::default() },
            _ => table.project(projection),
        }
    }
}

pub(super) fn check_revision(table: &TableMetadata, wanted: Option<i64>) -> Result<()> {
    let next = table.metadata_revision.unwrap_or_default() + 1;
    match wanted {
        Some(wanted) if wanted != next => Err(Error::conflict(format!(
            "the modification makes revision {wanted}, but the next one of the table is {next}: \
             another caller modified it, or the current revision was sent; read the table again"
        ))
        .with_name("DataFrame.RevisionMismatch", None)
        .with_args([wanted.to_string(), next.to_string()])
        .with_resource(TableMetadata::KIND.name, table.id())
        .at_member("metadataRevision")),
        _ => Ok(()),
    }
}

fn merge(into: &mut BTreeMap<String, String>, changes: Merge, member: &str) -> Result<()> {
    check_keys(changes.keys(), member)?;
    for (key, value) in changes {
        match value {
            Some(value) => into.insert(key, value),
            None => into.remove(&key),
        };
    }
    Ok(())
}

/// Changes columns. Returns whether a column gets an index that it did not have.
fn merge_columns(table: &mut TableMetadata, patches: Vec<ColumnMetadataPatch>) -> Result<bool> {
    let mut is_to_index = false;
    for (at, patch) in patches.into_iter().enumerate() {
        let names = table.columns.iter().flatten().map(|column| column.name.as_str());
        let near = did_you_mean(&patch.name, names);
        let column = table
            .columns
            .iter_mut()
            .flatten()
            .find(|column| column.name == patch.name)
            .ok_or_else(|| {
                Error::invalid(format!("the table has no column {:?}{near}", patch.name))
                    .with_args([patch.name.clone()])
                    .at_member(format!("columns[{at}].name"))
            })?;
        merge(&mut column.properties, patch.properties, &format!("columns[{at}].properties"))?;
        if let Some(indexed) = patch.indexed {
            is_to_index |= indexed && !column.is_indexed();
            // A column that is not indexed has one form, as if it never had been.
            column.indexed = indexed.then_some(true);
            check_indexed(column)
                .map_err(|error| error.at_member(format!("columns[{at}].indexed")))?;
        }
    }
    Ok(is_to_index)
}

fn save(draft: &mut Draft<'_>, table: TableMetadata) -> Result<()> {
    save_with(draft, table, What::Updated, None)
}

/// Drafts the next revision of the metadata.
pub(super) fn save_with(
    draft: &mut Draft<'_>,
    mut table: TableMetadata,
    what: What,
    detail: Option<Value>,
) -> Result<()> {
    table.metadata_revision = table.metadata_revision.map(|revision| revision + 1);
    table.metadata_modified_at = table.metadata_modified_at.max(Some(draft.now()));
    draft.put_with(&table, what, detail)
}

pub(in crate::services) fn modify(
    draft: &mut Draft<'_>,
    id: &str,
    request: ModifyTableRequest,
) -> Result<()> {
    let mut table = found(id, draft.get::<TableMetadata>(id)?)?;
    if request == ModifyTableRequest::default() {
        return Ok(());
    }
    check_revision(&table, request.metadata_revision.value().copied())?;
    match request.name {
        Patch::Absent => {}
        Patch::Value(name) if !name.is_empty() => table.name = Some(name),
        Patch::Value(_) | Patch::Null => table.name = table.id.as_ref().map(ToString::to_string),
    }
    match request.test_result_id {
        Patch::Absent => {}
        Patch::Null => table.test_result_id = None,
        Patch::Value(result) => table.test_result_id = filled(Some(result)),
    }
    match request.workspace {
        Patch::Absent => {}
        Patch::Null => table.workspace = Some(draft.context().default_workspace().to_owned()),
        Patch::Value(workspace) => table.workspace = Some(workspace),
    }
    if let Patch::Value(changes) = request.properties {
        merge(table.properties.get_or_insert_default(), changes, "properties")?;
    }
    if let Patch::Value(patches) = request.columns {
        if merge_columns(&mut table, patches)? {
            index_rows(draft, table.id())?;
        }
    }
    save(draft, table)
}

fn modify_one(
    draft: &mut Draft<'_>,
    change: TableMetadataModification,
    replace: bool,
) -> Result<String> {
    let id = change.id.clone();
    let mut table = found(&id, draft.get::<TableMetadata>(&id)?)?;
    let nothing =
        TableMetadataModification { id: change.id.clone(), ..TableMetadataModification::default() };
    if change == nothing {
        return Ok(id);
    }
    check_revision(&table, change.metadata_revision)?;
    if let Some(name) = change.name {
        table.name = filled(Some(name)).or_else(|| table.id.as_ref().map(ToString::to_string));
    }
    if let Some(result) = change.test_result_id {
        table.test_result_id = filled(Some(result));
    }
    if let Some(workspace) = change.workspace {
        table.workspace = Some(workspace);
    }
    if let Some(changes) = change.properties {
        let properties = table.properties.get_or_insert_default();
        if replace {
            properties.clear();
        }
        merge(properties, changes, "properties")?;
    }
    save(draft, table)?;
    Ok(id)
}

pub(in crate::services) fn modify_many(
    draft: &mut Draft<'_>,
    request: ModifyTablesRequest,
) -> Result<Option<ModifyTablesPartialSuccess>> {
    let mut seen = HashSet::new();
    for (at, change) in request.tables.iter().enumerate() {
        if !seen.insert(change.id.clone()) {
            return Err(Error::invalid(format!("the table {:?} is listed twice", change.id))
                .with_resource(TableMetadata::KIND.name, change.id.clone())
                .at_member(format!("tables[{at}].id")));
        }
    }
    let outcome =
        batch::run(draft, TableMetadata::UMBRELLA, request.tables, |draft, _, change| {
            let id = change.id.clone();
            modify_one(draft, change, request.replace)
                .map_err(|error| error.with_resource(TableMetadata::KIND.name, id))
        })?;
    Ok(outcome.unless_all_succeeded())
}

pub(in crate::services) fn delete(draft: &mut Draft<'_>, id: &str) -> Result<()> {
    let table = found(id, draft.get::<TableMetadata>(id)?)?;
    draft.delete::<TableMetadata>(id)?;
    forget_rows(draft, table.id())
}

pub(in crate::services) fn delete_many(
    draft: &mut Draft<'_>,
    ids: Vec<TableId>,
) -> Result<Option<DeleteTablesPartialSuccess>> {
    let outcome = batch::run(draft, TableMetadata::UMBRELLA, distinct(ids), |draft, _, id| {
        delete(draft, &id)
            .map_err(|error| error.with_resource(TableMetadata::KIND.name, id.clone()))?;
        Ok(id)
    })?;
    Ok(outcome.unless_all_succeeded())
}
