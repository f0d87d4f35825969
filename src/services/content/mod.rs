//! Contents of files and packages: small ones in the record file, others as blobs.
//!
//! What must hold:
//! - The bytes are written and synced before the write turn that stores the record naming them.
//!   Otherwise a crash leaves a record without its content.
//! - Deleting a record passes its content to [`forget`] in the same write turn.
//! - [`Space::Blobs`] lists the blobs that records name, and is written with the records. So
//!   unreferenced blobs are found by their numbers alone: by [`sweep`] at open, by
//!   [`remove_abandoned`] in between.

mod directory;
mod guarded;
mod room;
mod writer;

use std::collections::HashSet;
use std::io::{self, Read};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_128;

use crate::blobs::{BlobEntry, BlobInfo, BlobStore, BlobWriter, ContentReader, check_limit};
use crate::disk::DiskFile;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{ContentPart, FileRecord, PackageRecord, Resource, StoredContent, UploadChunk};
use crate::records::{Cursor, ReadSource, Snapshot, Space, envelope};
use crate::session::{Access, Draft, Engine, Session, View};
use crate::value::{Control, limits, stored};
pub(in crate::services) use directory::ExportDirectory;
use guarded::GuardedSource;
pub(in crate::services) use room::Room;
pub use writer::ContentWriter;

/// Name of the durable counter of blob numbers.
const COUNTER: &str = "blob";
/// Blob numbers that one commit reserves.
const RESERVED_IDS: u64 = 1024;
/// Numbers that are tried if files of an earlier process already have them.
const ID_ATTEMPTS: usize = 64;

/// Content that is written but that no record names yet. If it is dropped before
/// [`NewContent::settle`] keeps it, its bytes are deleted.
pub(in crate::services) struct NewContent {
    /// The content as the record will name it.
    pub(in crate::services) content: StoredContent,
    /// The bytes of small content.
    small: Option<Vec<u8>>,
    engine: Arc<Engine>,
    in_transaction: bool,
    adopted: bool,
}

impl NewContent {
    /// Drafts the entries of the content outside of its record. The write may still be rejected
    /// afterwards, so the caller keeps `self` until the write has succeeded.
    pub(in crate::services) fn draft(&self) -> impl FnOnce(&mut Draft<'_>) + Send + 'static {
        let (space, value) = match &self.small {
            Some(bytes) => (Space::SmallBlobs, Some(bytes.clone())),
            None => (Space::Blobs, None),
        };
        let parts = self.content.parts.clone();
        move |draft| {
            for part in parts {
                let value = value.clone().unwrap_or_else(|| part.size.to_be_bytes().to_vec());
                draft.put_raw(space, part.blob.to_be_bytes().to_vec(), value);
            }
        }
    }

    /// Opens the bytes, which no record names yet.
    pub(in crate::services) fn reader(&self) -> Result<ContentReader> {
        match (&self.small, self.content.parts.as_slice()) {
            (Some(bytes), [part]) => ContentReader::small(bytes.clone(), part.hash()),
            (_, parts) => ContentReader::parts(&self.engine.blobs, &blob_infos(parts)),
        }
    }

    /// Decides what happens to the bytes: they are kept if the write succeeded or may have
    /// succeeded.
    pub(in crate::services) fn settle<T>(mut self, written: Result<T>) -> Result<T> {
        self.adopted = match &written {
            Ok(_) => {
                // The transaction may still be rolled back, and nothing reports that here.
                if self.in_transaction && !self.content.small {
                    self.engine.blobs.suspect(self.content.parts.iter().map(|part| part.blob));
                }
                true
            }
            // The outcome is unknown: a record may name the bytes. The sweep at the next open
            // decides.
            Err(error) => matches!(error.kind(), ErrorKind::OutcomeUnknown | ErrorKind::Latched),
        };
        written
    }
}

impl Drop for NewContent {
    fn drop(&mut self) {
        if !self.adopted && !self.content.small {
            let ids: Vec<u64> = self.content.parts.iter().map(|part| part.blob).collect();
            if self.engine.blobs.delete(&ids).is_err() {
                self.engine.blobs.suspect(ids);
            }
        }
    }
}

/// Writes content from `source`, small or as a blob. The content is durable when this returns, and
/// no record names it yet. `room` is what the quota of its workspace leaves.
pub(in crate::services) fn store<A: Access>(
    access: &A,
    source: &mut dyn Read,
    room: Room<'_>,
    control: &Control,
) -> Result<NewContent> {
    let engine = access.context().engine.clone();
    engine.check_place()?;
    let limit = engine.settings.file_bytes_max;
    let threshold = engine.settings.small_blob_bytes.min(limits::SMALL_BLOB_BYTES_MAX);
    let mut source = GuardedSource::new(source, access, Some(threshold as u64), room);
    let mut head = Vec::new();
    control.check()?;
    let read = (&mut source).take(threshold as u64 + 1).read_to_end(&mut head);
    read.map_err(|error| Error::io("reading the content from its source", error))?;
    if head.len() <= threshold {
        let len = head.len() as u64;
        check_limit(len, limit)?;
        control.check()?;
        control.report(len, Some(len), "bytes");
        let part = ContentPart::new(new_id(access)?, len, xxh3_128(&head));
        let content = StoredContent { parts: vec![part], small: true };
        return Ok(new_content(access, content, Some(head)));
    }
    let info = put_blob(access, &mut head.as_slice().chain(source), control)?;
    Ok(new_content(access, one_blob(info), None))
}

/// Writes a chunk of an upload session, always as a blob. Of a chunk that is too long, writes one
/// byte more than allowed, so that the caller detects it.
pub(in crate::services) fn store_chunk<A: Access>(
    access: &A,
    source: &mut dyn Read,
    room: Room<'_>,
    control: &Control,
) -> Result<NewContent> {
    access.context().engine.check_place()?;
    let mut source =
        GuardedSource::new(source, access, None, room).take(limits::UPLOAD_CHUNK_BYTES + 1);
    Ok(new_content(access, one_blob(put_blob(access, &mut source, control)?), None))
}

fn new_content<A: Access>(
    access: &A,
    content: StoredContent,
    small: Option<Vec<u8>>,
) -> NewContent {
    let engine = access.context().engine.clone();
    NewContent { content, small, engine, in_transaction: access.is_transaction(), adopted: false }
}

fn blob_infos(parts: &[ContentPart]) -> Vec<BlobInfo> {
    parts.iter().map(|part| BlobInfo { id: part.blob, len: part.size, hash: part.hash() }).collect()
}

fn one_blob(info: BlobInfo) -> StoredContent {
    StoredContent { parts: vec![ContentPart::new(info.id, info.len, info.hash)], small: false }
}

fn put_blob<A: Access>(access: &A, source: &mut dyn Read, control: &Control) -> Result<BlobInfo> {
    let engine = &access.context().engine;
    engine.blobs.fill(blob_writer(access)?, source, engine.settings.file_bytes_max, control)
}

/// A blob with a number of its own, still empty.
fn blob_writer<A: Access>(access: &A) -> Result<BlobWriter> {
    let blobs = &access.context().engine.blobs;
    if let Some(writer) = blobs.ready_writer() {
        return Ok(writer);
    }
    for _ in 0..ID_ATTEMPTS {
        match blobs.writer(new_id(access)?) {
            // The file was left by a process that ended before the number was durably reserved. The
            // sweep at the next open removes it.
            Err(error) if is_taken(&error) => {}
            other => return other,
        }
    }
    Err(Error::conflict("no free number for the content was found; reopen the store"))
}

fn is_taken(error: &Error) -> bool {
    let source =
        std::error::Error::source(error).and_then(|source| source.downcast_ref::<io::Error>());
    source.is_some_and(|source| source.kind() == io::ErrorKind::AlreadyExists)
}

/// A number that no other content has or had.
fn new_id<A: Access>(access: &A) -> Result<u64> {
    let blobs = &access.context().engine.blobs;
    if let Some(id) = blobs.reserved_id() {
        return Ok(id);
    }
    // A transaction that is rolled back also rolls back the counter. Then only this process knows
    // that the number is used, so a transaction reserves only the one that it needs.
    let count = if access.is_transaction() { 1 } else { RESERVED_IDS };
    let floor = blobs.first_free_id();
    let first = access.write(move |draft| {
        let stored = draft.counter(COUNTER, 1)?;
        let first = stored.max(floor);
        draft.put_raw(
            Space::Counters,
            COUNTER.as_bytes().to_vec(),
            (first + count).to_be_bytes().to_vec(),
        );
        Ok(first)
    })?;
    blobs.set_reserved(first + 1, if access.is_transaction() { 0 } else { first + count });
    Ok(first)
}

/// Opens content for reading, in the state of `view`.
pub(crate) fn open(view: &View<'_>, content: &StoredContent) -> Result<ContentReader> {
    let context = view.context();
    match content.parts.as_slice() {
        [part] if content.small => {
            let bytes = view.raw(Space::SmallBlobs, &part.blob.to_be_bytes())?;
            let bytes =
                bytes.ok_or_else(|| Error::corrupt("records.redb: a small content is missing"))?;
            ContentReader::small(bytes, part.hash())
        }
        parts => ContentReader::parts(&context.engine.blobs, &blob_infos(parts)),
    }
}

/// Drafts the removal of content whose record is deleted in the same draft.
pub(in crate::services) fn forget(draft: &mut Draft<'_>, content: &StoredContent) {
    for part in &content.parts {
        if content.small {
            draft.delete_raw(Space::SmallBlobs, part.blob.to_be_bytes().to_vec());
        } else {
            draft.delete_raw(Space::Blobs, part.blob.to_be_bytes().to_vec());
            draft.forget_file(&crate::blobs::path(part.blob));
        }
    }
}

/// The key of a chunk of an upload session.
pub(in crate::services) fn chunk_key(session: &[u8], index: u32) -> Vec<u8> {
    let mut key = session.to_vec();
    key.extend_from_slice(&index.to_be_bytes());
    key
}

/// The stored form of a chunk.
pub(in crate::services) fn seal_chunk(key: &[u8], chunk: &UploadChunk) -> Result<Vec<u8>> {
    Ok(envelope::seal(key, 0, &stored::to_bytes(chunk)?))
}

/// Reads what [`seal_chunk`] wrote.
pub(in crate::services) fn open_chunk(key: &[u8], bytes: &[u8]) -> Result<UploadChunk> {
    stored::read(envelope::open(key, 0, bytes)?)
}

/// Calls `f` with every content that a record names.
fn for_each_content(
    view: &View<'_>,
    mut f: impl FnMut(&StoredContent, &str) -> Result<()>,
) -> Result<()> {
    view.for_each_of_anyone::<FileRecord>(|file| {
        f(&file.content, &format!("file {}", file.id))?;
        Ok(true)
    })?;
    view.for_each_of_anyone::<PackageRecord>(|record| {
        f(&record.content, &format!("package {}", record.package.id))?;
        Ok(true)
    })?;
    for (key, value) in view.raw_prefix(Space::UploadChunks, b"")? {
        f(&open_chunk(&key, &value)?.content, "a chunk of an upload session")?;
    }
    Ok(())
}

/// Removes blobs that a crash left: those that no record names. Called at open, before any write.
///
/// # Errors
/// The errors of the disk. A damaged record is not an error here, but then only empty files are
/// removed.
pub(crate) fn sweep(engine: &Arc<Engine>) -> Result<u64> {
    let listed = engine.blobs.list()?;
    if listed.is_empty() {
        return Ok(0);
    }
    let session = Session::of_store(engine);
    let garbage: Vec<BlobEntry> = session.read(|view| {
        let named = named_blobs(view)?;
        let pending: HashSet<Vec<u8>> =
            view.raw_prefix(Space::PendingDelete, b"")?.into_iter().map(|(path, _)| path).collect();
        // Files whose names are not those of blobs are not ours.
        let is_garbage = |entry: &BlobEntry| {
            entry.id.is_some_and(|id| !named.contains(&id))
                && !pending.contains(entry.path.as_bytes())
        };
        Ok(listed.into_iter().filter(is_garbage).collect())
    })?;
    // Files that waited for content when a process was killed. They have nothing to lose.
    let (empty, mut garbage): (Vec<_>, Vec<_>) =
        garbage.into_iter().partition(|entry| entry.file_len == 0);
    let paths = |entries: Vec<BlobEntry>| entries.into_iter().map(|entry| entry.path).collect();
    let empty: Vec<String> = paths(empty);
    engine.blobs.remove(&empty)?;
    if garbage.is_empty() {
        return Ok(empty.len() as u64);
    }
    // The removal is rare and cannot be undone. So the records themselves are read too: their
    // checksums detect damage, and a blob that a readable record names is kept although its row is
    // missing.
    let walked = session.read(|view| {
        let mut named = HashSet::new();
        for_each_content(view, |content, _| {
            if !content.small {
                named.extend(content.parts.iter().map(|part| part.blob));
            }
            Ok(())
        })?;
        Ok(named)
    });
    match walked {
        Ok(named) => garbage.retain(|entry| entry.id.is_some_and(|id| !named.contains(&id))),
        Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(empty.len() as u64),
        Err(error) => return Err(error),
    }
    let garbage: Vec<String> = paths(garbage);
    engine.blobs.remove(&garbage)?;
    Ok((empty.len() + garbage.len()) as u64)
}

/// The numbers of all blobs that a record or a chunk names.
fn named_blobs(view: &View<'_>) -> Result<HashSet<u64>> {
    let mut named = HashSet::new();
    for_each_blob(&mut view.cursor(Space::Blobs, b"")?, |id, _| {
        named.insert(id);
    })?;
    Ok(named)
}

/// Calls `f` with the number of each blob and the length of its content, which is `None` if its row
/// is damaged.
fn for_each_blob(cursor: &mut Cursor<'_>, mut f: impl FnMut(u64, Option<u64>)) -> Result<()> {
    let number = |bytes: &[u8]| <[u8; 8]>::try_from(bytes).ok().map(u64::from_be_bytes);
    while let Some((id, len)) = cursor.visit(false, |key, value| (number(key), number(value)))? {
        f(id.ok_or_else(|| Error::corrupt("records.redb: the number of a blob is damaged"))?, len);
    }
    Ok(())
}

/// The path of each blob that a snapshot names, and the length of its file, which is `None` if its
/// row is damaged.
pub(crate) fn named_paths(snapshot: &Snapshot) -> Result<Vec<(String, Option<u64>)>> {
    let mut named = Vec::new();
    for_each_blob(
        &mut ReadSource::Snapshot(snapshot).cursor(Space::Blobs, &[], None)?,
        |id, len| {
            named.push((crate::blobs::path(id), len.map(BlobStore::file_len)));
        },
    )?;
    Ok(named)
}

/// A blob and its content, as a record names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NamedBlob {
    /// Number of the blob.
    pub(crate) id: u64,
    /// Length of the content.
    pub(crate) len: u64,
    /// XXH3-128 of the content.
    pub(crate) hash: u128,
}

/// The blobs that the readable records of a snapshot name.
///
/// # Errors
/// `Corrupt` if the records cannot be walked.
pub(crate) fn blob_hashes(snapshot: &Snapshot) -> Result<Vec<NamedBlob>> {
    let source = ReadSource::Snapshot(snapshot);
    let mut named = Vec::new();
    let [file, package] = [FileRecord::KIND.code, PackageRecord::KIND.code];
    let places: [(Space, &[u8]); 3] =
        [(Space::Records, &[file]), (Space::Records, &[package]), (Space::UploadChunks, &[])];
    for (space, prefix) in places {
        let mut cursor = source.with_prefix(space, prefix)?;
        while let Some((key, value)) = cursor.next()? {
            named.extend(blobs_of_row(space, &key, &value));
        }
    }
    Ok(named)
}

/// The blobs that a row names; none if it is damaged.
pub(crate) fn blobs_of_row(space: Space, key: &[u8], value: &[u8]) -> Vec<NamedBlob> {
    let content = match space {
        Space::Records if key.first() == Some(&FileRecord::KIND.code) => {
            readable::<FileRecord>(key, value).map(|file| file.content)
        }
        Space::Records if key.first() == Some(&PackageRecord::KIND.code) => {
            readable::<PackageRecord>(key, value).map(|package| package.content)
        }
        Space::UploadChunks => open_chunk(key, value).ok().map(|chunk| chunk.content),
        _ => None,
    };
    let parts = content.into_iter().filter(|content| !content.small);
    let parts = parts.flat_map(|content| content.parts);
    let named = |part: ContentPart| NamedBlob { id: part.blob, len: part.size, hash: part.hash() };
    parts.map(named).collect()
}

/// The record in a row; `None` if it is damaged.
fn readable<R: Resource>(key: &[u8], value: &[u8]) -> Option<R> {
    envelope::open(key, R::KIND.code, value).and_then(stored::read).ok()
}

/// Removes the blobs of transactions that were rolled back, and those that could not be removed
/// before.
///
/// # Errors
/// The errors of a write and of the disk. Blobs that remain are checked again by the next call.
pub(crate) fn remove_abandoned(session: &Session) -> Result<u64> {
    let blobs = &session.context().engine.blobs;
    let suspects = blobs.take_suspects();
    if suspects.is_empty() {
        return Ok(0);
    }
    let ids = suspects.clone();
    // Checked in the write turn, when no open transaction can still come to name one of them. A
    // blob that was named and then forgotten waits in `PendingDelete` for readers of older commits,
    // and is not removed here.
    let asked = session.write(move |draft| {
        let mut abandoned = Vec::new();
        for id in ids {
            let is_named = draft.raw(Space::Blobs, &id.to_be_bytes())?.is_some();
            if !is_named
                && draft.raw(Space::PendingDelete, crate::blobs::path(id).as_bytes())?.is_none()
            {
                abandoned.push(id);
            }
        }
        Ok(abandoned)
    });
    let removed = asked.and_then(|abandoned| {
        session.context().engine.check_place()?;
        blobs.delete(&abandoned).map(|()| abandoned.len() as u64)
    });
    if removed.is_err() {
        blobs.suspect(suspects);
    }
    removed
}

/// Checks all content: that it exists with its length, and with `deep` that each byte is what was
/// written. Calls `found` with the file and the problem.
///
/// # Errors
/// `Cancelled` and `DeadlineExceeded` by `control`, and damaged records.
pub(crate) fn verify(
    engine: &Arc<Engine>,
    deep: bool,
    control: &Control,
    mut found: impl FnMut(&str, &str),
) -> Result<(u64, u64)> {
    let session = Session::of_store(engine);
    let (mut files, mut bytes, mut named) = (0, 0, 0u64);
    session.read(|view| {
        for_each_content(view, |content, whose| {
            control.check()?;
            files += content.parts.len() as u64;
            for part in content.parts.iter().filter(|_| !content.small) {
                named += 1;
                let row = view.raw(Space::Blobs, &part.blob.to_be_bytes())?;
                if row.as_deref() != Some(&part.size.to_be_bytes()) {
                    found(
                        "records.redb",
                        &format!(
                            "{whose}: the row of the blob {:016x} is missing or wrong",
                            part.blob
                        ),
                    );
                }
            }
            bytes += content.size();
            let checked = open(view, content)
                .and_then(|mut reader| if deep { reader.verify(control) } else { Ok(()) });
            match checked {
                Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Io) => {
                    let file = match content.parts.first() {
                        Some(part) if !content.small => crate::blobs::path(part.blob),
                        _ => "records.redb".to_owned(),
                    };
                    found(&file, &format!("{whose}: {}", error.message()));
                    Ok(())
                }
                other => other,
            }
        })?;
        let rows = named_blobs(view)?.len() as u64;
        if rows > named {
            found("records.redb", &format!("{} rows of blobs belong to no record", rows - named));
        }
        Ok(())
    })?;
    Ok((files, bytes))
}

/// Reads a file of a disk.
pub(in crate::services) struct DiskReader {
    file: Box<dyn DiskFile>,
    len: u64,
    at: u64,
}

impl DiskReader {
    pub(in crate::services) fn new(file: Box<dyn DiskFile>) -> io::Result<Self> {
        Ok(Self { len: file.len()?, file, at: 0 })
    }

    /// Number of bytes of the file.
    pub(in crate::services) fn len(&self) -> u64 {
        self.len
    }
}

impl Read for DiskReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.len - self.at).unwrap_or(usize::MAX);
        let count = left.min(buffer.len());
        if let Some(target) = buffer.get_mut(..count) {
            self.file.read_exact_at(target, self.at)?;
        }
        self.at += count as u64;
        Ok(count)
    }
}

/// Writes to a file of a disk, from its start.
pub(in crate::services) struct DiskWriter {
    pub(in crate::services) file: Box<dyn DiskFile>,
    pub(in crate::services) at: u64,
}

impl io::Write for DiskWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_all_at(bytes, self.at)?;
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
