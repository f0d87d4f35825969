//! Retention of rows: its operations, and the deletion of what it does not keep.

use std::sync::Arc;

use chrono::DateTime;
use serde_json::{Value, json};

use crate::columnar::TableView;
use crate::columnar::matching;
use crate::error::{Error, Result};
use crate::model::{
    DeleteRowsRequest, Resource, Retention, RetentionPolicy, SetRetentionRequest, TableMetadata,
};
use crate::services::tables::deletion::{delete_by_store, predicates};
use crate::services::tables::metadata::{found, save_with};
use crate::session::tables::{
    Cause, IndexLook, index_limit_ms, is_index_due, is_retention_due, open_table, put_retention,
    retention_of, schema_of, take_retention,
};
use crate::session::{Access, Draft, Session, View, What};
use crate::value::ranges::RangeSet;
use crate::value::{Control, RecordKey, guarded};

fn none(id: &str) -> Error {
    Error::not_found("retention of the table", id)
        .with_name("DataFrame.RetentionNotFound", None)
        .with_resource(TableMetadata::KIND.name, id)
}

/// The detail of the event.
fn detail(policy: Option<&RetentionPolicy>) -> Value {
    let bounds = policy.map(|policy| {
        json!({
            "rowsMax": policy.rows_max,
            "indexAgeSeconds": policy.index_age_seconds,
            "appendAgeSeconds": policy.append_age_seconds,
        })
    });
    json!({ "retention": bounds })
}

pub(in crate::services) fn set(
    draft: &mut Draft<'_>,
    id: &str,
    request: &SetRetentionRequest,
) -> Result<Retention> {
    let table = found(id, draft.get::<TableMetadata>(id)?)?;
    let policy = request.policy(draft.now(), draft.user())?;
    if policy.index_age_seconds.is_some() {
        let schema = schema_of(&table)?;
        let index = schema.column(schema.index())?;
        if !index.data_type.is_time() {
            return Err(Error::invalid(format!(
                "the index {:?} of the table is of type {}, so its rows have no age; ask for \
                 appendAgeSeconds or rowsMax",
                index.name, index.data_type
            ))
            .with_args([index.name.clone()])
            .at_member("indexAgeSeconds"));
        }
    }
    let detail = detail(Some(&policy));
    let answer = policy.clone().answered();
    save_with(draft, table.clone(), What::Updated, Some(detail))?;
    put_retention(draft, &table, Some(policy))?;
    Ok(answer)
}

pub(in crate::services) fn get(view: &View<'_>, id: &str) -> Result<Retention> {
    let table = found(id, view.get::<TableMetadata>(id)?)?;
    let policy = retention_of(view, table.id())?.ok_or_else(|| none(id))?;
    Ok(policy.answered())
}

pub(in crate::services) fn delete(draft: &mut Draft<'_>, id: &str) -> Result<()> {
    let table = found(id, draft.get::<TableMetadata>(id)?)?;
    save_with(draft, table.clone(), What::Updated, Some(detail(None)))?;
    put_retention(draft, &table, None)?.map(drop).ok_or_else(|| none(id))
}

/// Deletes the rows that the retentions of tables do not keep. Returns how many there were.
pub(crate) fn retain_rows(
    session: &Session,
    retained: Vec<(RecordKey, RetentionPolicy)>,
    control: &Control,
) -> Result<u64> {
    let (mut rows, mut failure) = (0, None);
    for (key, policy) in retained {
        control.check()?;
        // A damaged table does not stop the retention of the others.
        let carried_out = || carry_out(session, key, policy, control);
        match guarded("deleting the old rows of a table", carried_out) {
            Ok(deleted) => rows += deleted,
            Err(error) => {
                let id = key.to_id(TableMetadata::KIND.id);
                let error = error.with_resource(TableMetadata::KIND.name, id);
                failure = failure.or(Some(error));
            }
        }
    }
    failure.map_or(Ok(rows), Err)
}

/// What one read finds of a table.
struct RetentionScan {
    /// The rows of the table, if those with an old index have to be looked for.
    rows: Option<Arc<TableView>>,
    look: Option<IndexLook>,
    limit_ms: i64,
    is_due: bool,
}

fn look(
    view: &View<'_>,
    key: RecordKey,
    policy: &RetentionPolicy,
) -> Result<Option<RetentionScan>> {
    // Deleted since the pass began.
    let Some(table) = view.any_by_key::<TableMetadata>(key)? else { return Ok(None) };
    let is_due = is_retention_due(view, &table)?;
    let mut found = RetentionScan { rows: None, look: None, limit_ms: 0, is_due };
    if let Some(limit_ms) = index_limit_ms(policy, view.now().timestamp_millis()) {
        found.limit_ms = limit_ms;
        found.look = is_index_due(view, &table, limit_ms)?;
        if found.look.is_some() {
            found.rows = Some(open_table(view, &table)?);
        }
    }
    Ok(Some(found))
}

fn carry_out(
    session: &Session,
    key: RecordKey,
    policy: RetentionPolicy,
    control: &Control,
) -> Result<u64> {
    let Some(found) = session.read(|view| look(view, key, &policy))? else { return Ok(0) };
    let mut by_index = RangeSet::default();
    if let (Some(rows), Some(limit)) =
        (&found.rows, DateTime::from_timestamp_millis(found.limit_ms))
    {
        let limit = limit.to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        let request = DeleteRowsRequest::new().index_before(limit);
        by_index = matching(rows, &predicates(session, &rows.schema, &request)?, control)?;
    }
    let mut deleted = 0;
    if found.is_due || !by_index.is_empty() {
        deleted = session.write(move |draft| {
            let Some(table) = draft.any_by_key::<TableMetadata>(key)? else { return Ok(0) };
            let gone = take_retention(draft, &table, &policy, by_index)?;
            delete_by_store(draft, table, &gone, Cause::Retention)
        })?;
    }
    if let Some(look) = found.look {
        session.context().engine.tables.looked(key, look);
    }
    Ok(deleted.unsigned_abs())
}
