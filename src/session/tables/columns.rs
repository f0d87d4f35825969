//! The history of the columns of a table: which columns it had at each revision of them.
//!
//! What must hold: a history is written in the commit that changes the columns, and stays for as
//! long as the table exists. So rows of every revision can be read, also those of an append that
//! began before the change and is committed after it.

use super::state::{key_of, put_table_state, schema_of, state, state_in};
use crate::columnar::{ColumnLife, Layouts};
use crate::error::{Error, Result};
use crate::model::Resource;
use crate::model::tables::data::Column;
use crate::model::tables::table::TableMetadata;
use crate::records::{Space, envelope};
use crate::session::view::View;
use crate::session::write::draft::Draft;
use crate::value::wire::record;
use crate::value::{RecordKey, limits};

record! {
    /// The columns of a table at each of their revisions. The last revision is in the state of the
    /// table.
    pub struct ColumnHistory {
        /// Every column that the table ever had, in order of creation.
        pub lives: Vec<ColumnLife>,
    }
}

/// Whether a row can be the history of a table's columns.
pub(crate) fn is_column_history(key: &[u8], row: &[u8]) -> bool {
    envelope::from_row::<ColumnHistory>(key, row).is_ok()
}

fn columns_of(table: &TableMetadata) -> Vec<Column> {
    table.columns.clone().unwrap_or_default()
}

/// The columns of a table whose row of the history, if it has one, is `row`.
pub(super) fn from_row(
    table: &TableMetadata,
    key: &[u8],
    revision: u64,
    row: Option<&[u8]>,
) -> Result<Layouts> {
    if revision == 0 {
        return schema_of(table).map(Layouts::unchanged);
    }
    let row = row.ok_or_else(|| {
        Error::corrupt(
            "records.redb: the history of a table's columns is missing; restore it from a backup",
        )
        .with_resource(TableMetadata::KIND.name, table.id())
    })?;
    let history: ColumnHistory = envelope::from_row(key, row)?;
    Layouts::new(columns_of(table), revision, history.lives)
}

/// The columns of a table at each of their revisions.
pub(crate) fn layouts_of(view: &View<'_>, table: &TableMetadata) -> Result<Layouts> {
    let key = key_of(table.id())?;
    let revision = state_in(view, key.as_bytes())?.columns_revision;
    // Most tables have no history, so it is not looked up.
    let row = match revision {
        0 => None,
        _ => view.raw(Space::ColumnHistory, key.as_bytes())?,
    };
    from_row(table, key.as_bytes(), revision, row.as_deref())
}

/// [`layouts_of`], with the changes of a draft.
pub(super) fn draft_layouts(
    draft: &Draft<'_>,
    table: &TableMetadata,
    key: RecordKey,
) -> Result<Layouts> {
    let revision = state(draft, key)?.columns_revision;
    let row = draft.raw(Space::ColumnHistory, key.as_bytes())?;
    from_row(table, key.as_bytes(), revision, row.as_deref())
}

fn check_history(entries: usize, revision: u64) -> Result<()> {
    let refused = |what: String, most: u64| {
        Err(Error::limit(format!(
            "the table would have had {what}, more than the {most} that are kept for one table; \
             copy its rows into a new table"
        )))
    };
    if entries > limits::COLUMN_HISTORY {
        return refused(format!("{entries} columns and names"), limits::COLUMN_HISTORY as u64);
    }
    if revision > limits::COLUMN_REVISIONS {
        return refused(format!("{revision} changes of its columns"), limits::COLUMN_REVISIONS);
    }
    Ok(())
}

/// A change of the columns of a table.
pub(crate) struct ColumnChange {
    /// The columns that the table had and still has, with their names now, each with its position
    /// before; in order of creation.
    pub(crate) kept: Vec<(usize, Column)>,
    /// New columns.
    pub(crate) added: Vec<Column>,
}

/// Drafts a new revision of the columns, without the change of the table itself.
///
/// # Errors
/// `LimitExceeded` when the table had too many columns and names.
pub(crate) fn change_columns(
    draft: &mut Draft<'_>,
    table: &TableMetadata,
    change: &ColumnChange,
) -> Result<()> {
    let key = key_of(table.id())?;
    let layouts = draft_layouts(draft, table, key)?;
    let mut state = state(draft, key)?;
    let revision = state.columns_revision + 1;
    let mut lives = layouts.lives().to_vec();
    let before = columns_of(table);
    let mut old = before.iter().enumerate();
    let mut kept = change.kept.iter().peekable();
    let mut is_dropping = false;
    for life in lives.iter_mut().filter(|life| life.dropped.is_none()) {
        let Some((position, column)) = old.next() else { break };
        match kept.next_if(|(at, _)| *at == position) {
            Some((_, now)) if now.name != column.name => life.rename(revision, &column.name),
            Some(_) => {}
            None => {
                life.end(revision, column.clone());
                is_dropping = true;
            }
        }
    }
    let added = |_: &Column| ColumnLife { added: revision, ..ColumnLife::default() };
    lives.extend(change.added.iter().map(added));
    let entries = lives.iter().map(|life| 1 + life.names.len()).sum::<usize>();
    check_history(entries, revision)
        .map_err(|error| error.with_resource(TableMetadata::KIND.name, table.id()))?;
    state.columns_revision = revision;
    state.merge_due |= is_dropping;
    put_table_state(draft, key, &state)?;
    let row = envelope::to_row(key.as_bytes(), &ColumnHistory { lives })?;
    draft.put_raw(Space::ColumnHistory, key.as_bytes().to_vec(), row);
    Ok(())
}

/// What is known of the columns of a table whose row of the history may be lost: the columns at
/// each revision, and the row to store. `revision` is the last one, if it is known, and `stored`
/// the last one of stored rows.
///
/// Rows of an earlier revision cannot be read without the history.
pub(super) fn salvaged(
    table: &TableMetadata,
    key: &[u8],
    revision: Option<u64>,
    stored: u64,
    row: Option<&[u8]>,
) -> Result<(Layouts, Option<Vec<u8>>)> {
    let history = row.and_then(|row| envelope::from_row::<ColumnHistory>(key, row).ok());
    let lives = history.map(|history| history.lives).unwrap_or_default();
    let told = lives.iter().map(|life| life.named().max(life.dropped.unwrap_or_default())).max();
    let revision = revision.unwrap_or_else(|| told.unwrap_or_default().max(stored));
    if revision == 0 {
        return Ok((Layouts::unchanged(schema_of(table)?), None));
    }
    if let Ok(layouts) = Layouts::new(columns_of(table), revision, lives) {
        return Ok((layouts, row.map(<[u8]>::to_vec)));
    }
    let begun = |_: Column| ColumnLife { added: revision, ..ColumnLife::default() };
    let lives: Vec<ColumnLife> = columns_of(table).into_iter().map(begun).collect();
    let row = envelope::to_row(key, &ColumnHistory { lives: lives.clone() })?;
    Ok((Layouts::new(columns_of(table), revision, lives)?, Some(row)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn the_history_of_columns_is_bounded() {
        let above = ErrorKind::LimitExceeded;
        limits::holds_at(limits::COLUMN_HISTORY, above, |entries| check_history(entries, 1));
        limits::holds_at(limits::COLUMN_REVISIONS, above, |last| check_history(1, last as u64));
    }
}
