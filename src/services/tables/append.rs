//! Appends: the table is found, the caller may change it, and there is something to append.

use crate::arrow::error::ArrowError;
use crate::error::{Error, Result};
use crate::model::tables::table::TableMetadata;
use crate::services::tables::metadata::{found, require_update};
use crate::session::tables::{Appender, FindTable, StagedRows, layouts_of};
use crate::session::{Access, Draft};

/// The error of a batch that the caller's reader did not give. What the reader says is the source,
/// since it has terms of its code; what the caller's own code says stays.
pub(in crate::services) fn unreadable(batches_before: usize, error: ArrowError) -> Error {
    let own = match &error {
        ArrowError::ExternalError(own) => format!(": {own}"),
        _ => String::new(),
    };
    let number = batches_before + 1;
    Error::invalid(format!("batch {number} of those to append cannot be read{own}"))
        .with_source(error)
}

/// Rejects an Arrow append with neither batches nor `endOfData`.
pub(in crate::services) fn require_batches(count: usize, end_of_data: Option<bool>) -> Result<()> {
    if count == 0 && end_of_data.is_none() {
        return Err(
            Error::invalid("an append without batches needs endOfData").at_member("endOfData")
        );
    }
    Ok(())
}

/// Begins an append to a table.
pub(in crate::services) fn begin<'a, A: Access>(
    access: &'a A,
    id: &str,
) -> Result<Appender<'a, A>> {
    let (table, schema) = access.read(|view| {
        let table = found(id, view.get::<TableMetadata>(id)?)?;
        let layouts = layouts_of(view, &table)?;
        Ok((table, layouts.table().clone()))
    })?;
    Appender::to(access, &table, schema)
}

/// Prepares the rows of an append for their commit, which closes the table if requested. `None` for
/// an append that changes nothing.
pub(in crate::services) fn stage<A: Access>(
    rows: Appender<'_, A>,
    closes: bool,
) -> Result<Option<(StagedRows<'_, A>, FindTable)>> {
    if rows.rows() == 0 && !closes {
        return Ok(None);
    }
    let id = rows.id().to_owned();
    // Only the state of the table is read: an append does not change its columns, and there may be
    // many. If they have changed meanwhile, the rows still have the revision with which they were
    // encoded.
    let find = move |draft: &mut Draft<'_>| {
        let table = found(&id, draft.get_state::<TableMetadata>(&id)?)?;
        require_update(draft, &table)?;
        Ok(table)
    };
    Ok(Some((rows.finish()?, Box::new(find))))
}

/// Commits the rows of an append, and closes the table if requested.
pub(in crate::services) fn commit<A: Access>(rows: Appender<'_, A>, closes: bool) -> Result<()> {
    match stage(rows, closes)? {
        Some((rows, table)) => rows.commit(closes, table),
        None => Ok(()),
    }
}
