//! Carries out the retentions of tables: finds the rows that have to go, and deletes them.

use std::sync::Arc;

use chrono::DateTime;

use super::cache::IndexLook;
use super::delete::delete_rows;
use super::deleted::Cause;
use super::open::open_table;
use super::retention::{index_limit_ms, is_index_due, is_retention_due, take_retention};
use crate::columnar::{Predicates, TableView, matching};
use crate::error::Result;
use crate::model::Resource;
use crate::model::tables::data::{ColumnFilter, FilterOperation};
use crate::model::tables::retention::RetentionPolicy;
use crate::model::tables::table::TableMetadata;
use crate::session::access::sessions::{Access, Session};
use crate::session::view::View;
use crate::value::ranges::RangeSet;
use crate::value::{Control, RecordKey, guarded};

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
    is_due: bool,
    /// The rows of the table, if those with an old index have to be looked for.
    by_index: Option<(IndexLook, Arc<TableView>)>,
}

fn look(
    view: &View<'_>,
    key: RecordKey,
    policy: &RetentionPolicy,
) -> Result<Option<RetentionScan>> {
    // Deleted since the pass began.
    let Some(table) = view.any_by_key::<TableMetadata>(key)? else { return Ok(None) };
    let mut found = RetentionScan { is_due: is_retention_due(view, &table)?, by_index: None };
    if let Some(limit_ms) = index_limit_ms(policy, view.now().timestamp_millis())
        && let Some(look) = is_index_due(view, &table, limit_ms)?
    {
        found.by_index = Some((look, open_table(view, &table)?));
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
    if let Some((look, rows)) = &found.by_index
        && let Some(limit) = DateTime::from_timestamp_millis(look.limit_ms)
    {
        let limit = limit.to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        let index = &rows.schema.column(rows.schema.index())?.name;
        let is_old = ColumnFilter::new(index, FilterOperation::LessThan).value(limit);
        by_index = matching(rows, &Predicates::new(&rows.schema, &[is_old])?, control)?;
    }
    let mut deleted = 0;
    if found.is_due || !by_index.is_empty() {
        deleted = session.write(move |draft| {
            let Some(table) = draft.any_by_key::<TableMetadata>(key)? else { return Ok(0) };
            let gone = take_retention(draft, &table, &policy, by_index)?;
            delete_rows(draft, table, &gone, Cause::Retention)
        })?;
    }
    if let Some((look, _)) = found.by_index {
        session.context().engine.tables.looked(key, look);
    }
    Ok(deleted.unsigned_abs())
}
