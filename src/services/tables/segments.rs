//! Passes the stored files of a table to a caller.

use std::io::Read;

use crate::error::{Error, Result};
use crate::model::Resource;
use crate::model::tables::table::TableMetadata;
use crate::services::tables::metadata::found;
use crate::session::tables::{self as session_tables, Handout, Rewrite};
use crate::session::{Access, Identity, Session};
use crate::value::{Control, guarded};

/// How often the segments are made ready while others delete rows.
const ATTEMPTS: usize = 5;

/// One stored file of a table: Parquet, sorted by the index column.
pub struct SegmentFile<'a> {
    /// Name of the file, unique in its table.
    pub name: &'a str,
    /// Number of rows.
    pub row_count: u64,
    /// Number of bytes.
    pub byte_count: u64,
    /// The bytes. Their checksum is verified while they are read; if it does not match, the last
    /// read fails.
    pub data: &'a mut dyn Read,
}

impl std::fmt::Debug for SegmentFile<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SegmentFile")
            .field("name", &self.name)
            .field("row_count", &self.row_count)
            .finish_non_exhaustive()
    }
}

pub(in crate::services) fn export<A: Access>(
    access: &A,
    id: &str,
    each: &mut dyn FnMut(SegmentFile<'_>) -> Result<()>,
    control: &Control,
) -> Result<u64> {
    access.refuse_in_transaction("handing out segments")?;
    let table = access.read(|view| found(id, view.get::<TableMetadata>(id)?))?;
    // Sealing moves rows and does not change which rows exist, so it is a write of the store and
    // not of the caller.
    let session = Session::new(access.context().engine.clone(), Identity::user("stationdb"));
    let mut found = None;
    for _ in 0..ATTEMPTS {
        guarded("sealing a table", || session_tables::seal(&session, table.id(), control))?;
        // A caller reads the files by itself, so no deleted row may be left in them.
        let rewrite = || session_tables::merge(&session, table.id(), Rewrite::Deleted, control);
        while guarded("rewriting a table", rewrite)? {}
        found = access.read(|view| Handout::new(view, table.id()))?;
        if found.is_some() {
            break;
        }
    }
    let mut segments = found.ok_or_else(|| {
        Error::conflict(
            "rows of the table were deleted each time its segments were made ready; repeat the \
             call",
        )
        .with_resource(TableMetadata::KIND.name, table.id())
    })?;
    let mut count = 0;
    while let Some(mut reader) = segments.next()? {
        control.check()?;
        let (name, row_count, byte_count) =
            (reader.name(), reader.row_count(), reader.byte_count());
        each(SegmentFile { name: &name, row_count, byte_count, data: &mut reader })?;
        count += 1;
    }
    Ok(count)
}
