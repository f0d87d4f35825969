//! Deletion of rows, and the list of the ordinals of deleted rows.

use crate::columnar::{Predicates, TableSchema, matching};
use crate::error::{Error, Result};
use crate::model::Resource;
use crate::model::tables::data::{ColumnFilter, FilterOperation};
use crate::model::tables::deletion::{
    DeleteRowsRequest, DeleteRowsResponse, DeletedRange, DeletedRows, ListDeletedRowsRequest,
};
use crate::model::tables::table::TableMetadata;
use crate::services::tables::metadata::{found, require_update};
use crate::services::tables::read::open;
use crate::services::tables::row_filter::row_filter;
use crate::session::tables::{Cause, delete_rows, deleted_rows};
use crate::session::{Access, View};
use crate::value::{Control, limits};

/// Ranges of one answer if the caller does not specify `take`.
const DEFAULT_TAKE: i64 = 1_000;

/// What a request asks of the rows that it deletes.
fn predicates(
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
    let ordinals = matching(&view, &predicates, &access.context().control(&Control::default()))?;
    let id = id.to_owned();
    let row_count = access.write(move |draft| {
        let table = found(&id, draft.get_state::<TableMetadata>(&id)?)?;
        // A caller who may not change the table is refused even if no row matches.
        require_update(draft, &table)?;
        delete_rows(draft, table, &ordinals, Cause::Caller)
    })?;
    Ok(DeleteRowsResponse { row_count })
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
    let found = deleted.ranges_from(from, take + 1, request.retention).into_iter();
    let mut ranges: Vec<_> =
        found.map(|(range, is_retention)| DeletedRange::of(&range, is_retention)).collect();
    let next = ranges.drain(take.min(ranges.len())..).next().map(|range| range.first);
    Ok(DeletedRows { ranges, total_row_count: number(deleted.all.count()), next })
}
