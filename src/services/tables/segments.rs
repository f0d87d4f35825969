//! Passes the stored files of a table to a caller.

use std::io::{self, Read};
use std::path::Path;

use crate::disk::{Disk, Mode, RealDisk, write_new_file};
use crate::error::{Error, Result};
use crate::model::Resource;
use crate::model::tables::deletion::OrdinalRange;
use crate::model::tables::segments::{SegmentFileInfo, SegmentManifest};
use crate::model::tables::table::TableMetadata;
use crate::services::tables::metadata::found;
use crate::session::tables::{self as session_tables, Handout, Rewrite, deleted_rows};
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

/// Bytes that are copied at a time.
const PIECE_BYTES: usize = 1 << 20;
/// Name of the manifest in a directory of exported segments.
const MANIFEST: &str = "manifest.json";

/// Passes the files to `each`, and returns what they are.
pub(in crate::services) fn export<A: Access>(
    access: &A,
    id: &str,
    each: &mut dyn FnMut(SegmentFile<'_>) -> Result<()>,
    control: &Control,
) -> Result<SegmentManifest> {
    access.refuse_in_transaction("handing out segments")?;
    let table = access.read(|view| found(id, view.get::<TableMetadata>(id)?))?;
    // Sealing moves rows and does not change which rows exist, so it is a write of the store and
    // not of the caller.
    let session = Session::new(access.context().engine.clone(), Identity::user("stationdb"));
    guarded("writing segments again", || session_tables::restate(&session, table.id(), control))?;
    let mut ready = None;
    for _ in 0..ATTEMPTS {
        guarded("sealing a table", || session_tables::seal(&session, table.id(), control))?;
        // A caller reads the files by itself, so no deleted row may be left in them, and their
        // columns must be those of the table.
        let rewrite = || session_tables::merge(&session, table.id(), Rewrite::ForReaders, control);
        while guarded("rewriting a table", rewrite)? {}
        // The metadata, the ordinals and the files are of one snapshot.
        ready = access.read(|view| {
            let Some(segments) = Handout::new(view, table.id())? else { return Ok(None) };
            let table = found(id, view.get::<TableMetadata>(id)?)?;
            let deleted = deleted_rows(view, table.id())?;
            Ok(Some((table, deleted, segments)))
        })?;
        if ready.is_some() {
            break;
        }
    }
    let (table, deleted, mut segments) = ready.ok_or_else(|| {
        Error::conflict(
            "rows or columns of the table went each time its segments were made ready; repeat the \
             call",
        )
        .with_resource(TableMetadata::KIND.name, table.id())
    })?;
    let mut manifest = SegmentManifest {
        id: table.id,
        name: table.name,
        properties: table.properties.unwrap_or_default(),
        columns: table.columns.unwrap_or_default(),
        deleted_row_count: deleted.count(),
        deleted_ordinals: deleted.ranges().iter().map(OrdinalRange::of).collect(),
        ..SegmentManifest::default()
    };
    while let Some(mut reader) = segments.next()? {
        control.check()?;
        let meta = reader.meta();
        let file = SegmentFileInfo {
            name: reader.name(),
            row_count: meta.row_count,
            byte_count: meta.data_bytes,
            hash: meta.data_hash.clone(),
            min_index: meta.min_index,
            max_index: meta.max_index,
            first_ordinal: meta.first_ordinal,
        };
        each(SegmentFile {
            name: &file.name,
            row_count: file.row_count,
            byte_count: file.byte_count,
            data: &mut reader,
        })?;
        manifest.row_count += file.row_count;
        manifest.files.push(file);
    }
    Ok(manifest)
}

/// Writes the files and the manifest into a directory that does not exist or is empty.
///
/// What must hold: the files and their names are durable before the manifest exists. So a directory
/// with a manifest is complete.
pub(in crate::services) fn export_to<A: Access>(
    access: &A,
    id: &str,
    directory: &Path,
    control: &Control,
) -> Result<SegmentManifest> {
    let attempt = format!("exporting segments to {}", directory.display());
    let failed = |error: io::Error| Error::io(&attempt, error);
    // The table is looked up first, so that a wrong id leaves no directory.
    access.read(|view| found(id, view.get::<TableMetadata>(id)?))?;
    let target = RealDisk::create(directory).map_err(failed)?;
    if !target.list("").map_err(failed)?.is_empty() {
        return Err(Error::invalid(format!(
            "{attempt}: the directory is not empty; name a new or an empty one"
        )));
    }
    let manifest = export(
        access,
        id,
        &mut |file| {
            let out = target.open(file.name, Mode::CreateNew).map_err(failed)?;
            let mut piece = vec![0; PIECE_BYTES];
            let mut at = 0;
            loop {
                control.check()?;
                let len = file.data.read(&mut piece).map_err(failed)?;
                let Some(bytes) = piece.get(..len).filter(|bytes| !bytes.is_empty()) else { break };
                out.write_all_at(bytes, at).map_err(failed)?;
                at += len as u64;
            }
            out.sync_all().map_err(failed)
        },
        control,
    )?;
    target.sync_dir("").map_err(failed)?;
    let text = serde_json::to_vec_pretty(&manifest).map_err(|error| {
        Error::corrupt("the metadata of a table cannot be written as JSON").with_source(error)
    })?;
    write_new_file(&*target, MANIFEST, &text).map_err(failed)?;
    target.sync_dir("").map_err(failed)?;
    Ok(manifest)
}
