//! Carries out the retentions of tables: finds the rows that have to go, and deletes them.

use std::sync::Arc;

use super::cache::IndexLook;
use super::delete::delete_rows;
use super::deleted::Cause;
use super::open::open_table;
use super::retention::{index_limit_ms, is_index_due, is_retention_due, take_retention};
use crate::arrow::datatypes::TimeUnit;
use crate::columnar::{Predicates, TableSchema, TableView, matching, ticks};
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

/// The test of rows whose index is before a time; `None` if no value of its type is.
fn before(schema: &TableSchema, limit_ms: i64) -> Result<Option<Predicates>> {
    let column = schema.column(schema.index())?;
    let Some(unit) = ticks::unit_of(column.data_type) else { return Ok(None) };
    let limit = ticks::convert(limit_ms, TimeUnit::Millisecond, unit, true)
        .filter(|limit| ticks::is_in_years(*limit, unit));
    let Some(limit) = limit else {
        // The type has no such time: it is before all of its times, or behind them.
        return Ok((limit_ms > 0).then(Predicates::default));
    };
    let mut text = String::new();
    ticks::write(limit, unit, &mut text);
    let is_old = ColumnFilter::new(&column.name, FilterOperation::LessThan).value(text);
    Predicates::new(schema, &[is_old]).map(Some)
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
        && let Some(is_old) = before(&rows.schema, look.limit_ms)?
    {
        by_index = matching(rows, &is_old, control)?;
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
