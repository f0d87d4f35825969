//! Deletes rows of a table by their append ordinals.

use serde_json::{Value, json};

use super::deleted::{Cause, delete_ordinals};
use crate::error::Result;
use crate::model::tables::table::TableMetadata;
use crate::session::feed::event::What;
use crate::session::write::draft::Draft;
use crate::value::limits;
use crate::value::ranges::RangeSet;

/// Drafts the deletion of the rows with these append ordinals, without asking the policy: the
/// ordinals, the row count of the table and the event. Returns how many rows there were.
pub(crate) fn delete_rows(
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
        draft.put_state(&table, What::RowsDeleted, Some(detail(&deleted, cause)))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, ErrorKind};

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
