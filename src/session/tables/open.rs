//! Opens the rows of a table.

use std::sync::Arc;

use super::columns::layouts_of;
use super::deleted::{live_run, stored_deleted};
use super::state::{directory, key_of, manifest};
use crate::columnar::{Layouts, TableView};
use crate::error::{Error, Result};
use crate::model::Resource;
use crate::model::tables::table::TableMetadata;
use crate::records::Space;
use crate::session::view::View;

/// All rows of a table in the snapshot of `view`.
pub(crate) fn open_table(view: &View<'_>, table: &TableMetadata) -> Result<Arc<TableView>> {
    let row_count = table.row_count.unwrap_or_default().unsigned_abs();
    open_rows(view, table.id(), &layouts_of(view, table)?, row_count)
}

/// All rows of a table with these columns, which are `expected` rows.
pub(super) fn open_rows(
    view: &View<'_>,
    id: &str,
    layouts: &Layouts,
    expected: u64,
) -> Result<Arc<TableView>> {
    let engine = &view.context().engine;
    let key = key_of(id)?;
    let dir = directory(id);
    let deleted = stored_deleted(view, key.as_bytes())?;
    let mut runs = Vec::new();
    for meta in manifest(view, key.as_bytes())? {
        let run = engine.tables.segment(&engine.disk, &dir, meta, layouts)?;
        runs.push(live_run(engine, run, &deleted)?);
    }
    let batches = view.raw_prefix(Space::TableBuffer, key.as_bytes())?;
    if !batches.is_empty() {
        for run in engine.tables.buffer(key.as_bytes(), &batches, layouts)? {
            runs.push(live_run(engine, run.into(), &deleted)?);
        }
    }
    let opened = TableView::new(layouts.table().clone(), runs);
    if opened.row_count() != expected {
        return Err(Error::corrupt(format!(
            "the table has {} rows instead of {expected}; restore it from a backup",
            opened.row_count()
        ))
        .with_resource(TableMetadata::KIND.name, id));
    }
    Ok(Arc::new(opened))
}
