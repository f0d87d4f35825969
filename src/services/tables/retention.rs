//! The operations on the retention of a table.

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::model::{Resource, Retention, RetentionPolicy, SetRetentionRequest, TableMetadata};
use crate::services::tables::metadata::{found, save_with};
use crate::session::tables::{put_retention, retention_of, schema_of};
use crate::session::{Draft, View, What};

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
