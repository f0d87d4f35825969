//! Passes the stored files of a table to a caller.

use std::io::{Read, Write};
use std::path::Path;

use crate::error::{Error, Result};
use crate::model::{OrdinalRange, Resource, SegmentFileInfo, SegmentManifest, TableMetadata};
use crate::services::content::ExportDirectory;
use crate::services::tables::metadata::found;
use crate::session::Access;
use crate::session::tables::{Handout, SegmentFile, deleted_rows};
use crate::value::Control;

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
    let control = &access.context().control(control);
    let table = access.read(|view| found(id, view.get::<TableMetadata>(id)?))?;
    let (mut segments, (table, deleted)) =
        Handout::for_readers(access, table.id(), control, |view| {
            let table = found(id, view.get::<TableMetadata>(id)?)?;
            let deleted = deleted_rows(view, table.id())?.all;
            Ok((table, deleted))
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
    let control = &access.context().control(control);
    // The table is looked up first, so that a wrong id leaves no directory.
    access.read(|view| found(id, view.get::<TableMetadata>(id)?))?;
    let mut target = ExportDirectory::create(directory, "segments", &access.context().engine.disk)?;
    let manifest = export(
        access,
        id,
        &mut |file| {
            target.write(file.name, |out| copy(file.data, out, directory, control)).map(drop)
        },
        control,
    )?;
    target.sync()?;
    let text = serde_json::to_vec_pretty(&manifest).map_err(|error| {
        Error::corrupt("the metadata of a table cannot be written as JSON").with_source(error)
    })?;
    target.write_all(MANIFEST, &text)?;
    target.finish();
    Ok(manifest)
}

/// Copies the bytes of a file, piece by piece.
fn copy(
    data: &mut dyn Read,
    out: &mut dyn Write,
    directory: &Path,
    control: &Control,
) -> Result<()> {
    let failed =
        |error| Error::io(format_args!("exporting segments into {}", directory.display()), error);
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        control.check()?;
        let len = data.read(&mut piece).map_err(failed)?;
        match piece.get(..len).filter(|bytes| !bytes.is_empty()) {
            Some(bytes) => out.write_all(bytes).map_err(failed)?,
            None => return Ok(()),
        }
    }
}
