//! Deletion of rows, and the list of the ordinals of deleted rows.

use serde_json::{Value, json};

use crate::columnar::matching;
use crate::columnar::{Predicates, TableSchema, TableView};
use crate::error::{Error, Result};
use crate::model::Resource;
use crate::model::tables::data::{ColumnFilter, FilterOperation};
use crate::model::tables::deletion::{
    DeleteRowsRequest, DeleteRowsResponse, DeletedRange, DeletedRows, ListDeletedRowsRequest,
};
use crate::model::tables::table::TableMetadata;
use crate::services::tables::metadata::found;
use crate::services::tables::read::open;
use crate::services::tables::row_filter::row_filter;
use crate::session::tables::{Cause, Deleted, delete_ordinals, deleted_rows};
use crate::session::{Access, Draft, View, What};
use crate::value::ranges::RangeSet;
use crate::value::{Action, Control, limits};

/// Ranges of one answer if the caller does not specify `take`.
const DEFAULT_TAKE: i64 = 1_000;

/// What a request asks of the rows that it deletes.
pub(super) fn predicates(
    access: &impl Access,
    schema: &TableSchema,
    request: &DeleteRowsRequest,
) -> Result<Predicates> {
    let mut all = row_filter!(request).check(access, schema)?;
    let bounds = [
        (&request.index_from, FilterOperation::GreaterThanEquals, "indexFrom"),
        (&request.index_before, FilterOperation::LessThan, "indexBefore"),
    ];
    let index = &schema.column(schema.index())?.name;
    for (value, operation, member) in bounds {
        if let Some(value) = value {
            let bound = ColumnFilter::new(index, operation).value(value);
            let bound = Predicates::new(schema, &[bound]).map_err(|e| e.at_member(member))?;
            all = all.and(schema, bound);
        }
    }
    if all.is_empty() {
        return Err(Error::invalid(
            "a deletion of rows needs a range of the index or a filter; to delete all rows, \
             delete the table, or set indexFrom to the least index value",
        )
        .at_member("indexFrom"));
    }
    Ok(all)
}

/// Deletes the rows that match at the time of the call.
///
/// The rows are found without holding the write turn. Ordinals never change their meaning, so the
/// commit deletes these rows wherever seals and merges have moved them, and counts none that
/// another call has deleted meanwhile.
pub(in crate::services) fn delete<A: Access>(
    access: &A,
    id: &str,
    request: &DeleteRowsRequest,
) -> Result<DeleteRowsResponse> {
    let view = open(access, id)?;
    let predicates = predicates(access, &view.schema, request)?;
    let ordinals = select(access, &view, &predicates)?;
    let id = id.to_owned();
    let row_count = access.write(move |draft| delete_these(draft, &id, &ordinals))?;
    Ok(DeleteRowsResponse { row_count })
}

/// The append ordinals of the rows that satisfy predicates.
fn select<A: Access>(access: &A, view: &TableView, predicates: &Predicates) -> Result<RangeSet> {
    matching(view, predicates, &access.context().control(&Control::default()))
}

/// Deletes the rows with these append ordinals. Returns how many there were.
pub(in crate::services) fn delete_these(
    draft: &mut Draft<'_>,
    id: &str,
    ordinals: &RangeSet,
) -> Result<i64> {
    let table = found(id, draft.get_state::<TableMetadata>(id)?)?;
    // A caller who may not change the table is refused even if no row matches.
    let service = TableMetadata::KIND.service;
    draft.context().require(service, Action::Update, table.workspace())?;
    delete_by_store(draft, table, ordinals, Cause::Caller)
}

/// [`delete_these`] on behalf of the store itself, without asking the policy.
pub(super) fn delete_by_store(
    draft: &mut Draft<'_>,
    mut table: TableMetadata,
    ordinals: &RangeSet,
    cause: Cause,
) -> Result<i64> {
    let deleted = delete_ordinals(draft, &table, ordinals, cause)?;
    let count = i64::try_from(deleted.count()).unwrap_or(i64::MAX);
    if count > 0 {
        table.row_count = Some(table.row_count.unwrap_or_default().saturating_sub(count));
        table.rows_modified_at = table.rows_modified_at.max(Some(draft.now()));
        draft.put_state_by_store(&table, What::RowsDeleted, Some(detail(&deleted, cause)))?;
    }
    Ok(count)
}

/// The detail of the event: the ranges, or the first and the last ordinal of more ranges than an
/// event may name.
fn detail(deleted: &RangeSet, cause: Cause) -> Value {
    let ranges = deleted.ranges();
    let pairs: Vec<[u64; 2]> = match ranges {
        [first, .., last] if ranges.len() > limits::EVENT_RANGES => {
            vec![[first.start, last.end.saturating_sub(1)]]
        }
        _ => ranges.iter().map(|range| [range.start, range.end.saturating_sub(1)]).collect(),
    };
    let is_whole = ranges.len() <= limits::EVENT_RANGES;
    let detail = json!({ "rowCount": deleted.count(), "ordinals": pairs, "complete": is_whole });
    match (cause, detail) {
        (Cause::Retention, Value::Object(mut members)) => {
            members.insert("retention".to_owned(), Value::Bool(true));
            Value::Object(members)
        }
        (_, detail) => detail,
    }
}

/// A part of the list of deleted rows.
pub(in crate::services) fn list(
    view: &View<'_>,
    id: &str,
    request: &ListDeletedRowsRequest,
) -> Result<DeletedRows> {
    let table = found(id, view.get::<TableMetadata>(id)?)?;
    let from = request.from.unwrap_or_default();
    let from = u64::try_from(from).map_err(|_| {
        Error::invalid(format!("from is {from}; an append ordinal cannot be negative"))
            .at_member("from")
    })?;
    let take = request.take.unwrap_or(DEFAULT_TAKE);
    if !(0..=i64::from(limits::ROWS_TAKE)).contains(&take) {
        return Err(Error::invalid(format!(
            "take is {take}; it must be from 0 to {}",
            limits::ROWS_TAKE
        ))
        .at_member("take"));
    }
    let deleted = deleted_rows(view, table.id())?;
    let number = |ordinal: u64| i64::try_from(ordinal).unwrap_or(i64::MAX);
    let take = usize::try_from(take).unwrap_or_default();
    // With one range more, which tells where the list goes on.
    let mut ranges = first_ranges(&deleted, from, take + 1, request.retention);
    let next = ranges.drain(take.min(ranges.len())..).next().map(|range| range.first);
    Ok(DeletedRows { ranges, total_row_count: number(deleted.all.count()), next })
}

/// The first ranges from an ordinal on, in order; if asked, only those that went by the retention,
/// or only the others.
fn first_ranges(
    deleted: &Deleted,
    from: u64,
    count: usize,
    retention: Option<bool>,
) -> Vec<DeletedRange> {
    let mut found = Vec::new();
    for (is_retention, set) in [(false, &deleted.by_caller()), (true, &deleted.by_retention)] {
        if retention.is_none_or(|asked| asked == is_retention) {
            let ranges = set.within(from..u64::MAX).take(count);
            found.extend(ranges.map(|range| DeletedRange::of(&range, is_retention)));
        }
    }
    found.sort_unstable_by_key(|range| range.first);
    found.truncate(count);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn an_event_names_ranges_up_to_the_bound() {
        let named = |count: usize| {
            let ranges = (0..count as u64).map(|at| 2 * at..2 * at + 1);
            let detail = detail(&RangeSet::new(ranges.collect()), Cause::Caller);
            let ordinals = detail.get("ordinals").and_then(Value::as_array).map(Vec::len);
            if detail.get("complete") != Some(&Value::Bool(true)) {
                Err(Error::limit("the first and the last ordinal"))
            } else if ordinals == Some(count) {
                Ok(())
            } else {
                Err(Error::invalid("ranges are missing"))
            }
        };
        limits::holds_at(limits::EVENT_RANGES, ErrorKind::LimitExceeded, named);
    }
}
