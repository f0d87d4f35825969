//! The manifests of a set, what they need together, and the files that none of them needs.

use std::collections::HashSet;

use super::chunks::{Chunk, Packs, Place, UnreadChunk};
use super::layout::{BACKUPS, NEW, OBJECTS, RECORDS, Set, failed, pack_path};
use super::manifest::Manifest;
use super::objects::Object;
use super::rows::{FILE, each_row};
use crate::disk::walk;
use crate::error::{Error, Result};
use crate::records::archive::DIRECTORY as ARCHIVE;
use crate::value::Control;

/// The manifests of a set: those that can be read, in order, and the others with the reason.
pub(super) struct Manifests {
    pub(super) readable: Vec<Manifest>,
    pub(super) unreadable: Vec<(u64, Error)>,
}

impl Manifests {
    /// Reads all manifests.
    ///
    /// # Errors
    /// `Io` if they cannot be listed.
    pub(super) fn of(set: &Set) -> Result<Self> {
        let mut manifests = Self { readable: Vec::new(), unreadable: Vec::new() };
        for (backup, _) in set.numbered(BACKUPS)? {
            match Manifest::read(set, backup) {
                Ok(manifest) => manifests.readable.push(manifest),
                Err(error) => manifests.unreadable.push((backup, error)),
            }
        }
        Ok(manifests)
    }

    /// The number of the next backup: no pack and no manifest has it or a greater one.
    pub(super) fn next(&self, set: &Set) -> Result<u64> {
        let known = self.readable.iter().map(|manifest| manifest.backup);
        let known = known.chain(self.unreadable.iter().map(|(backup, _)| *backup));
        let packs = set.numbered(RECORDS)?.into_iter().map(|(pack, _)| pack);
        Ok(known.chain(packs).max().unwrap_or(0).saturating_add(1))
    }

    /// Whether all manifests can be read, so that it is known what is needed.
    pub(super) fn are_all(&self) -> bool {
        self.unreadable.is_empty()
    }
}

/// Files that were removed, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Removed {
    pub(super) files: u64,
    pub(super) bytes: u64,
}

/// Removes what interrupted calls have left: incomplete files, and packs that no manifest needs.
/// Does nothing when a manifest cannot be read.
///
/// # Errors
/// `Io`.
pub(super) fn clean(set: &Set, manifests: &Manifests) -> Result<Removed> {
    let attempt = failed("removing what an interrupted backup left");
    let mut removed = Removed::default();
    if !manifests.are_all() {
        return Ok(removed);
    }
    let needed: HashSet<u64> =
        manifests.readable.iter().flat_map(|manifest| &manifest.packs).map(|p| p.pack).collect();
    let mut gone: Vec<(String, u64)> = Vec::new();
    for (pack, len) in set.numbered(RECORDS)? {
        if !needed.contains(&pack) {
            gone.push((pack_path(pack), len));
        }
    }
    for directory in [BACKUPS, OBJECTS, ARCHIVE] {
        let files = walk(&*set.disk, directory).map_err(&attempt)?;
        gone.extend(files.into_iter().filter(|(path, _)| path.ends_with(NEW)));
    }
    for (path, len) in gone {
        set.disk.remove_file(&path).map_err(&attempt)?;
        removed.files += 1;
        removed.bytes += len;
    }
    Ok(removed)
}

/// Makes the names in a set durable that an interrupted call may have left without a sync.
///
/// # Errors
/// `Io`.
pub(super) fn sync_names(set: &Set) -> Result<()> {
    let attempt = failed("syncing the backup set");
    let objects = set.disk.list(OBJECTS).map_err(&attempt)?;
    for entry in objects.into_iter().filter(|entry| entry.is_dir) {
        set.disk.sync_dir(&format!("{OBJECTS}/{}", entry.name)).map_err(&attempt)?;
    }
    let has_archive = set.disk.exists(ARCHIVE).map_err(&attempt)?;
    [OBJECTS, RECORDS, BACKUPS, ""]
        .iter()
        .chain(has_archive.then_some(&ARCHIVE))
        .try_for_each(|directory| set.disk.sync_dir(directory).map_err(&attempt))
}

/// Calls `f` with each chunk of lists, and `lost` with each list that cannot be read.
///
/// # Errors
/// Those of `f` and `lost`.
pub(super) fn each_chunk(
    packs: &mut Packs,
    lists: &[Chunk],
    lost: &mut dyn FnMut(UnreadChunk) -> Result<()>,
    f: &mut dyn FnMut(&mut Packs, &Chunk) -> Result<()>,
) -> Result<()> {
    for list in lists {
        match packs.read_list(list) {
            Ok(chunks) => chunks.iter().try_for_each(|chunk| f(packs, chunk))?,
            Err(unread) if unread.error.is_damage() => lost(unread)?,
            Err(unread) => return Err(unread.error),
        }
    }
    Ok(())
}

/// Calls `f` with the files of a backup, and `lost` with each part of their list that cannot be
/// read. Chunks in `seen` are left out, and those that were read are added.
///
/// # Errors
/// Those of `f`, `lost` and `control`.
pub(super) fn each_file(
    packs: &mut Packs,
    manifest: &Manifest,
    seen: &mut HashSet<Place>,
    control: &Control,
    lost: &mut dyn FnMut(UnreadChunk) -> Result<()>,
    f: &mut dyn FnMut(String, Option<Object>) -> Result<()>,
) -> Result<()> {
    let lists: Vec<Chunk> =
        manifest.file_lists.iter().filter(|list| !seen.contains(&list.at)).copied().collect();
    let mut lost_chunks = Vec::new();
    each_chunk(packs, &lists, lost, &mut |packs, chunk| {
        control.check()?;
        if seen.contains(&chunk.at) {
            return Ok(());
        }
        match files_of(packs, chunk) {
            Ok(files) => files.into_iter().try_for_each(|(path, object)| f(path, object))?,
            Err(unread) if unread.error.is_damage() => lost_chunks.push(unread),
            Err(unread) => return Err(unread.error),
        }
        seen.insert(chunk.at);
        Ok(())
    })?;
    seen.extend(lists.iter().map(|list| list.at));
    lost_chunks.into_iter().try_for_each(lost)
}

/// The files that a chunk describes.
fn files_of(
    packs: &mut Packs,
    chunk: &Chunk,
) -> Result<Vec<(String, Option<Object>)>, UnreadChunk> {
    let rows = packs.read(chunk)?;
    let mut files = Vec::new();
    let read = each_row(&rows, &mut |tag, path, row| match tag {
        FILE => {
            files.push(Object::from_row(path, row)?);
            Ok(())
        }
        _ => Err(Error::corrupt("the list of files of the backup has other rows")),
    });
    read.map_err(|error| UnreadChunk { pack: chunk.at.pack, error })?;
    Ok(files)
}
