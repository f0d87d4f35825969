//! Writes one blob: computes hash and checksums, syncs at the end, and removes an unfinished file.

use std::io;
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

use super::directory_syncs::DirectorySyncs;
use super::format::{self, BLOCK_BYTES, CHECK_BYTES, CHECKS_BYTES, PIECE_BYTES};
use super::numbers::Numbers;
use super::suspects::Suspects;
use super::sync_ahead::SyncAhead;
use crate::disk::{DiskFile, Mode, SharedDisk};
use crate::error::{Error, Result};

/// Number of blocks written with one call.
const BATCH_BLOCKS: usize = 8;

/// After this many bytes, a long file is synced in the background while it is being written. So the
/// disk works while the next bytes are received and hashed, and the sync at the end has little left
/// to do.
const SYNC_AHEAD_BYTES: u64 = 32 * 1024 * 1024;

/// The identity of a finished blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobInfo {
    /// The blob's id.
    pub id: u64,
    /// Length of its content in bytes.
    pub len: u64,
    /// XXH3-128 of its content.
    pub hash: u128,
}

/// What all writers of a store share.
pub(super) struct Shared {
    pub disk: SharedDisk,
    pub suspects: Suspects,
    pub directories: DirectorySyncs,
    pub numbers: Numbers,
}

/// A blob that is being written. If it is dropped before [`BlobWriter::finish`], its file is
/// removed.
pub struct BlobWriter {
    shared: Shared,
    file: Option<Arc<dyn DiskFile>>,
    /// Whether the name of the file is durable already.
    is_named: bool,
    /// The background sync of a long content.
    ahead: Option<SyncAhead>,
    /// Number of file bytes covered by the last requested sync.
    asked: u64,
    path: String,
    id: u64,
    len: u64,
    hash: Box<Xxh3>,
    /// Complete blocks with their checksums, followed by the current block.
    buffer: Vec<u8>,
    /// Number of bytes of `buffer` in use.
    used: usize,
    /// Number of content bytes of the current block.
    in_block: usize,
    blocks: u64,
    written: u64,
}

impl BlobWriter {
    pub(super) fn create(shared: Shared, id: u64) -> Result<Self> {
        let path = format::path(id);
        let file = shared
            .disk
            .open(&path, Mode::CreateNew)
            .map_err(|error| Error::io(format_args!("creating {path} for file content"), error))?;
        Ok(Self::over(shared, id, path, file, false))
    }

    /// The writer of a blob whose file is there, empty and with a durable name.
    pub(super) fn open(shared: Shared, id: u64) -> Result<Self> {
        let path = format::path(id);
        let file = shared
            .disk
            .open(&path, Mode::ReadWriteRemovable)
            .map_err(|error| Error::io(format_args!("opening {path} for file content"), error))?;
        Ok(Self::over(shared, id, path, file, true))
    }

    fn over(
        shared: Shared,
        id: u64,
        path: String,
        file: Box<dyn DiskFile>,
        is_named: bool,
    ) -> Self {
        let header = format::header(id);
        let mut buffer = vec![0; header.len() + BATCH_BLOCKS * (BLOCK_BYTES + CHECKS_BYTES)];
        for (target, byte) in buffer.iter_mut().zip(header) {
            *target = byte;
        }
        Self {
            shared,
            file: Some(Arc::from(file)),
            is_named,
            ahead: None,
            asked: 0,
            path,
            id,
            len: 0,
            hash: Box::new(Xxh3::new()),
            buffer,
            used: header.len(),
            in_block: 0,
            blocks: 0,
            written: 0,
        }
    }

    /// The blob's id.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Number of content bytes so far.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is no content yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A buffer for the next bytes, at least one. After filling a part of it, the caller calls
    /// [`BlobWriter::advance`].
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn space(&mut self) -> Result<&mut [u8]> {
        if self.in_block == BLOCK_BYTES {
            self.close_block()?;
        }
        let room = BLOCK_BYTES - self.in_block;
        if self.buffer.len() < self.used + room + CHECKS_BYTES {
            // Only whole blocks are in the buffer here: a block is begun only if all of it fits.
            self.flush()?;
        }
        Ok(self.buffer.get_mut(self.used..self.used + room).unwrap_or_default())
    }

    /// Appends the first `count` bytes of [`BlobWriter::space`] to the content.
    ///
    /// # Errors
    /// `InvalidArgument` if `count` is greater than that buffer.
    pub fn advance(&mut self, count: usize) -> Result<()> {
        if count > BLOCK_BYTES - self.in_block {
            return Err(Error::invalid(
                "the reader of the content returned more bytes than were requested",
            ));
        }
        self.hash.update(self.buffer.get(self.used..self.used + count).unwrap_or_default());
        self.used += count;
        self.in_block += count;
        self.len += count as u64;
        Ok(())
    }

    /// Appends `content`.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn write(&mut self, mut content: &[u8]) -> Result<()> {
        while !content.is_empty() {
            let space = self.space()?;
            let count = space.len().min(content.len());
            let (now, rest) = content.split_at(count);
            if let Some(target) = space.get_mut(..count) {
                target.copy_from_slice(now);
            }
            self.advance(count)?;
            content = rest;
        }
        Ok(())
    }

    /// Completes the blob, and makes first its bytes and then its name durable.
    ///
    /// # Errors
    /// Errors of the disk; the blob is removed then.
    pub fn finish(mut self) -> Result<BlobInfo> {
        if self.in_block > 0 {
            self.close_block()?;
        }
        self.flush()?;
        if let Some(ahead) = self.ahead.take() {
            // After a failed sync the file is not synced again: the system may have dropped the
            // data, and would report success.
            ahead
                .finish()
                .map_err(|error| Error::io(format_args!("syncing {}", self.path), error))?;
        }
        let Some(file) = &self.file else {
            return Err(Error::invalid("the blob is already finished"));
        };
        file.sync_all().map_err(|error| Error::io(format_args!("syncing {}", self.path), error))?;
        if !self.is_named {
            self.sync_name()?;
        }
        self.file = None;
        Ok(BlobInfo { id: self.id, len: self.len, hash: self.hash.digest128() })
    }

    /// Makes the name of the file durable, with those of files for the next blobs.
    fn sync_name(&self) -> Result<()> {
        let Shared { disk, suspects, directories, numbers } = &self.shared;
        let asked = numbers.for_files(self.id);
        let mut created = Vec::with_capacity(asked.len());
        for id in &asked {
            // Without such a file the next blob creates its own.
            match disk.open(&format::path(*id), Mode::CreateNew) {
                Ok(_) => created.push(*id),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(_) => {
                    suspects.add([*id]);
                    break;
                }
            }
        }
        let synced = directories.sync(&**disk, &format::directory(self.id));
        match &synced {
            Ok(()) => numbers.created(asked.len(), &created),
            Err(_) => {
                numbers.created(asked.len(), &[]);
                suspects.add(created);
            }
        }
        synced
    }

    fn close_block(&mut self) -> Result<()> {
        let start = self.used.saturating_sub(self.in_block);
        let block = self.buffer.get_mut(start..).unwrap_or_default();
        let (content, room) = block.split_at_mut(self.in_block);
        let room = room.get_mut(..format::checks_len(content.len())).unwrap_or_default();
        let first = self.blocks * (BLOCK_BYTES / PIECE_BYTES) as u64;
        let (targets, _) = room.as_chunks_mut::<CHECK_BYTES>();
        for (target, check) in targets.iter_mut().zip(format::checksums(self.id, first, content)) {
            *target = check;
        }
        self.used += room.len();
        self.in_block = 0;
        self.blocks += 1;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let Some(file) = &self.file else {
            return Err(Error::invalid("the blob is already finished"));
        };
        file.write_all_at(self.buffer.get(..self.used).unwrap_or_default(), self.written)
            .map_err(|error| Error::io(format_args!("writing {}", self.path), error))?;
        self.written += self.used as u64;
        self.used = 0;
        if self.written - self.asked >= SYNC_AHEAD_BYTES {
            self.asked = self.written;
            let ahead = match self.ahead.take() {
                None => SyncAhead::start(file.clone()),
                running => running,
            };
            // Without a thread, everything is synced at the end.
            if let Some(ahead) = ahead {
                self.ahead =
                    Some(ahead.ask().map_err(|error| {
                        Error::io(format_args!("syncing {}", self.path), error)
                    })?);
            }
        }
        Ok(())
    }
}

impl Drop for BlobWriter {
    fn drop(&mut self) {
        if let Some(ahead) = self.ahead.take() {
            // Its thread keeps the file open.
            let _ = ahead.finish();
        }
        if let Some(file) = self.file.take() {
            // Closed first: some systems cannot remove an open file.
            drop(file);
            if self.shared.disk.remove_file(&self.path).is_err() {
                self.shared.suspects.add([self.id]);
            }
        }
    }
}

impl std::fmt::Debug for BlobWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlobWriter")
            .field("path", &self.path)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
