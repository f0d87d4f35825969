//! Readers of segment files for callers; they verify the checksum while they read.

use std::io::{self, Read};
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

use super::cache::HeldSegments;
use super::deleted::{dead_rows, stored_deleted};
use super::files::SegmentFiles;
use super::merge::{Rewrite, merge};
use super::seal::seal;
use super::state::{directory, key_of, manifest, state_in};
use crate::columnar::{SegmentMeta, data_name};
use crate::disk::{DiskFile, SharedDisk};
use crate::error::{Error, Result};
use crate::model::Resource;
use crate::model::tables::table::TableMetadata;
use crate::session::access::sessions::{Access, Session};
use crate::session::view::View;
use crate::value::id::hex;
use crate::value::{Control, guarded};

/// How often the segments are made ready while others delete rows.
const ATTEMPTS: usize = 5;

/// One stored file of a table: Parquet, sorted by the index column.
#[non_exhaustive]
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

/// The segments of a table in one snapshot; one of them is open at a time. Their files are kept
/// until this value is dropped.
pub(crate) struct Handout {
    disk: SharedDisk,
    files: Arc<SegmentFiles>,
    dir: String,
    metas: std::vec::IntoIter<SegmentMeta>,
    _held: HeldSegments,
}

impl Handout {
    /// Seals and rewrites a table until its segments have each of its rows with its columns, and no
    /// deleted row. Returns with them what `read` finds in their snapshot.
    ///
    /// # Errors
    /// `Conflict` if rows or columns go each time.
    pub(crate) fn for_readers<T>(
        access: &impl Access,
        id: &str,
        control: &Control,
        read: impl Fn(&View<'_>) -> Result<T>,
    ) -> Result<(Self, T)> {
        // Sealing moves rows and does not change which rows exist, so it is a write of the store
        // and not of the caller.
        let session = Session::of_store(&access.context().engine);
        for _ in 0..ATTEMPTS {
            guarded("sealing a table", || seal(&session, id, control))?;
            let rewrite = || merge(&session, id, Rewrite::ForReaders, control);
            while guarded("rewriting a table", rewrite)? {}
            let ready = access.read(|view| {
                let segments = Self::new(view, id)?;
                segments.map(|segments| Ok((segments, read(view)?))).transpose()
            })?;
            if let Some(ready) = ready {
                return Ok(ready);
            }
        }
        Err(Error::conflict(
            "rows or columns of the table went each time its segments were made ready; repeat the \
             call",
        )
        .with_resource(TableMetadata::KIND.name, id))
    }

    /// The segments of a table in the snapshot of `view`, by index and then by order of append;
    /// `None` if one of them still has deleted rows, or other columns than the table.
    fn new(view: &View<'_>, id: &str) -> Result<Option<Self>> {
        let handout = Self::of_all(view, id)?;
        let deleted = stored_deleted(view, key_of(id)?.as_bytes())?;
        let revision = state_in(view, key_of(id)?.as_bytes())?.columns_revision;
        let is_old =
            |meta: &SegmentMeta| meta.columns_revision != revision || dead_rows(meta, &deleted) > 0;
        let has_old = handout.metas.as_slice().iter().any(is_old);
        Ok((!has_old).then_some(handout))
    }

    /// The segments of a table in the snapshot of `view`, by index and then by order of append,
    /// also those that still have deleted rows or other columns.
    pub(crate) fn of_all(view: &View<'_>, id: &str) -> Result<Self> {
        let mut metas = manifest(view, key_of(id)?.as_bytes())?;
        metas.sort_by_key(|meta| (meta.min_index, meta.first_ordinal));
        let engine = &view.context().engine;
        // Must come before the snapshot of `view` is released: until here, the snapshot protects
        // the files.
        let held = engine.tables.hold(metas.iter().map(|meta| meta.id).collect());
        Ok(Self {
            disk: engine.disk.clone(),
            files: engine.tables.files.clone(),
            dir: directory(id),
            metas: metas.into_iter(),
            _held: held,
        })
    }

    /// Opens the next segment; `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<SegmentReader>> {
        let Some(meta) = self.metas.next() else { return Ok(None) };
        self.open(&meta).map(Some)
    }

    /// Opens one of the segments.
    pub(crate) fn open(&self, meta: &SegmentMeta) -> Result<SegmentReader> {
        let path = format!("{}/{}", self.dir, data_name(meta.id));
        let file = self
            .files
            .open(&self.disk, &path)
            .map_err(|error| Error::io(format_args!("opening the segment file {path}"), error))?;
        Ok(SegmentReader { meta: meta.clone(), file, at: 0, hasher: Xxh3::new() })
    }
}

/// Reads the Parquet file of one segment from its start to its end.
pub(crate) struct SegmentReader {
    meta: SegmentMeta,
    file: Box<dyn DiskFile>,
    at: u64,
    hasher: Xxh3,
}

impl SegmentReader {
    pub(crate) fn name(&self) -> String {
        data_name(self.meta.id)
    }

    pub(crate) fn meta(&self) -> &SegmentMeta {
        &self.meta
    }
}

impl Read for SegmentReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.meta.data_bytes - self.at).unwrap_or(usize::MAX);
        let Some(target) = out.get_mut(..left.min(out.len())).filter(|target| !target.is_empty())
        else {
            return Ok(0);
        };
        let read = guarded("reading a segment", || Ok(self.file.read_exact_at(target, self.at)));
        read.map_err(io::Error::other)??;
        self.hasher.update(target);
        self.at += target.len() as u64;
        if self.at == self.meta.data_bytes
            && hex(&self.hasher.digest128().to_be_bytes()) != self.meta.data_hash
        {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!(
                    "the segment file {} does not match its checksum; restore the table from a \
                     backup",
                    self.name()
                ),
            ));
        }
        Ok(target.len())
    }
}
