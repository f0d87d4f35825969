//! Compares the files under `tables/` with the manifest: verifies named files, removes unnamed
//! ones.

use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

use super::TEMPORARY_DIR;
use super::buffer::number_of;
use super::deleted::from_some_rows;
use super::state::{directory, key_of};
use super::store_rows::table_in;
use crate::columnar::{SegmentMeta, data_name, summary_name};
use crate::disk::{Disk, Mode};
use crate::error::{Error, ErrorKind, Result};
use crate::records::{ReadSource, Snapshot, Space, envelope};
use crate::session::access::sessions::{Access, Session};
use crate::session::engine::Engine;
use crate::session::lock::lock;
use crate::value::Control;
use crate::value::id::hex;

/// The path and length of each segment file that a snapshot names; the length is `None` if the
/// manifest entry is damaged.
pub(crate) fn named_files(snapshot: &Snapshot) -> Result<Vec<(String, Option<u64>)>> {
    let mut cursor = ReadSource::Snapshot(snapshot).cursor(Space::Segments, &[], None)?;
    let mut named = Vec::new();
    while let Some((key, value)) = cursor.next()? {
        let table = key.len().checked_sub(8).and_then(|len| key.get(..len)).unwrap_or_default();
        let (dir, id) = (directory(&hex(table)), number_of(&key));
        let meta = envelope::from_row::<SegmentMeta>(&key, &value).ok();
        named.push((format!("{dir}/{}", data_name(id)), meta.as_ref().map(|meta| meta.data_bytes)));
        named.push((format!("{dir}/{}", summary_name(id)), meta.map(|meta| meta.summary_bytes)));
    }
    Ok(named)
}

/// Path, length and hash of the files of the segment in a row of the manifest.
///
/// # Errors
/// `Corrupt` if the row is damaged.
pub(crate) fn segment_files(key: &[u8], value: &[u8]) -> Result<[(String, u64, String); 2]> {
    let meta: SegmentMeta = envelope::from_row(key, value)?;
    let table = key.len().checked_sub(8).and_then(|len| key.get(..len)).unwrap_or_default();
    let dir = directory(&hex(table));
    Ok([
        (format!("{dir}/{}", data_name(meta.id)), meta.data_bytes, meta.data_hash),
        (format!("{dir}/{}", summary_name(meta.id)), meta.summary_bytes, meta.summary_hash),
    ])
}

/// The path and XXH3-128 of each segment file that a snapshot names, without those whose manifest
/// entry is damaged.
pub(crate) fn file_hashes(snapshot: &Snapshot) -> Result<Vec<(String, u128)>> {
    let mut cursor = ReadSource::Snapshot(snapshot).cursor(Space::Segments, &[], None)?;
    let mut hashes = Vec::new();
    while let Some((key, value)) = cursor.next()? {
        let Ok(files) = segment_files(&key, &value) else { continue };
        for (path, _, hash) in files {
            if let Ok(hash) = u128::from_str_radix(&hash, 16) {
                hashes.push((path, hash));
            }
        }
    }
    Ok(hashes)
}

/// Checks the lengths of all segment files, and with `deep` every byte. Returns the number of files
/// and bytes checked.
pub(crate) fn verify(
    engine: &Arc<Engine>,
    deep: bool,
    control: &Control,
    mut found: impl FnMut(&str, &str),
) -> Result<(u64, u64)> {
    let snapshot = engine.snapshot();
    let mut cursor = ReadSource::Snapshot(&snapshot).cursor(Space::Segments, &[], None)?;
    let (mut files, mut bytes) = (0, 0);
    while let Some((key, value)) = cursor.next()? {
        control.check()?;
        for (path, len, hash) in segment_files(&key, &value)? {
            files += 1;
            bytes += len;
            let hash = deep.then_some(&hash);
            if let Err(error) = check_file(&*engine.disk, &path, len, hash, control) {
                if !matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Io) {
                    return Err(error);
                }
                found(&path, error.message());
            }
        }
    }
    verify_deleted(&snapshot, control, found)?;
    Ok((files, bytes))
}

/// Checks that the rows about the deleted rows of each table fit together.
fn verify_deleted(
    snapshot: &Snapshot,
    control: &Control,
    mut found: impl FnMut(&str, &str),
) -> Result<()> {
    let table_of = |key: &[u8]| key.get(..key.len().saturating_sub(8)).unwrap_or_default().to_vec();
    let mut cursor = ReadSource::Snapshot(snapshot).cursor(Space::DeletedRows, &[], None)?;
    let mut rows: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    loop {
        control.check()?;
        let next = cursor.next()?;
        let table = rows.first().map(|(key, _)| table_of(key));
        if table.is_some() && next.as_ref().map(|(key, _)| table_of(key)) != table {
            let table = table.unwrap_or_default();
            // Rows that are damaged by themselves are found as entries of the record file.
            if from_some_rows(&table, &rows).is_ok_and(|deleted| !deleted.is_list()) {
                let id = hex(&table);
                let problem = format!("the deleted rows of the table {id} do not fit together");
                found("records.redb", &problem);
            }
            rows.clear();
        }
        match next {
            Some(row) => rows.push(row),
            None => return Ok(()),
        }
    }
}

/// Checks the length of a file, and with `hash`, an XXH3-128 as text, every byte.
///
/// # Errors
/// `Corrupt` if they differ; `Io`; the errors of `control`.
pub(crate) fn check_file(
    disk: &dyn Disk,
    path: &str,
    len: u64,
    hash: Option<&String>,
    control: &Control,
) -> Result<()> {
    const PIECE: usize = 1024 * 1024;
    let attempt = |error| Error::io(format_args!("reading {path}"), error);
    let file = disk.open(path, Mode::Read).map_err(attempt)?;
    let real = file.len().map_err(attempt)?;
    if real != len {
        return Err(Error::corrupt(format!("the file has {real} bytes instead of {len}")));
    }
    let Some(hash) = hash else { return Ok(()) };
    let mut hasher = Xxh3::new();
    let mut piece = vec![0; PIECE];
    let mut at = 0;
    while at < len {
        control.check()?;
        let size = usize::try_from(len - at).unwrap_or(PIECE).min(PIECE);
        let part = piece.get_mut(..size).unwrap_or_default();
        file.read_exact_at(part, at).map_err(attempt)?;
        hasher.update(part);
        at += size as u64;
    }
    if hex(&hasher.digest128().to_be_bytes()) != *hash {
        return Err(Error::corrupt("the file does not match its checksum"));
    }
    Ok(())
}

/// Removes segment files that no manifest names: those that a crash or a refused append left. Must
/// run while nothing is written: files of a write in progress are not named yet.
pub(crate) fn sweep(engine: &Arc<Engine>) -> Result<u64> {
    let attempt = |error| Error::io("sweeping the tables directory", error);
    let disk = &engine.disk;
    // Spill files of sorts that a crash interrupted.
    if disk.exists(TEMPORARY_DIR).map_err(attempt)? {
        disk.remove_dir_all(TEMPORARY_DIR).map_err(attempt)?;
    }
    if !disk.exists("tables").map_err(attempt)? {
        return Ok(0);
    }
    // Makes the table directories durable. A killed process may have left one that is not, and an
    // append relies on the directories that it finds.
    disk.sync_dir("tables").map_err(attempt)?;
    let snapshot = engine.snapshot();
    let source = ReadSource::Snapshot(&snapshot);
    let mut removed = 0;
    for entry in disk.list("tables").map_err(attempt)?.into_iter().filter(|entry| entry.is_dir) {
        let Ok(key) = key_of(&entry.name) else { continue };
        let dir = directory(&entry.name);
        let mut named = Vec::new();
        let mut cursor = source.cursor(
            Space::Segments,
            key.as_bytes(),
            crate::value::key::after_prefix(key.as_bytes()).as_deref(),
        )?;
        while let Some((key, _)) = cursor.next()? {
            named.extend([data_name(number_of(&key)), summary_name(number_of(&key))]);
        }
        for file in disk.list(&dir).map_err(attempt)? {
            let path = format!("{dir}/{}", file.name);
            let is_ours = file.name.ends_with(".parquet") || file.name.ends_with(".summary");
            if is_ours
                && !named.contains(&file.name)
                && source.get(Space::PendingDelete, path.as_bytes())?.is_none()
            {
                disk.remove_file(&path).map_err(attempt)?;
                removed += 1;
            }
        }
        if disk.list(&dir).map_err(attempt)?.is_empty() {
            disk.remove_dir(&dir).map_err(attempt)?;
        }
    }
    Ok(removed)
}

/// Removes the directory of a table that was deleted, once it is empty. The directory of a table
/// that is there stays, since an append may be about to write into it.
pub(crate) fn remove_empty(session: &Session, dir: &str) -> Result<()> {
    let Some(id) = dir.strip_prefix("tables/") else { return Ok(()) };
    let Ok(key) = key_of(id) else { return Ok(()) };
    let engine = &session.context().engine;
    // Neither a seal nor a merge works meanwhile.
    let _turn = lock(&engine.tables.turn);
    if session.read(|view| table_in(view, key))?.is_some() {
        return Ok(());
    }
    match engine.disk.remove_dir(dir) {
        Ok(()) => engine.disk.sync_dir("tables"),
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::DirectoryNotEmpty | std::io::ErrorKind::NotFound
            ) =>
        {
            Ok(())
        }
        // Somebody holds a file in it open where that forbids removing it; the next open removes
        // it.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Ok(()),
        Err(error) => Err(error),
    }
    .map_err(|error| Error::io(format_args!("removing the directory {dir}"), error))
}
