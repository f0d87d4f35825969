//! The files of tables, contents and the text index, a piece at a time.

use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

use super::parts::{SEARCH, TABLES};
use crate::blobs::{self, BlobReader};
use crate::disk::{DiskFile, Mode};
use crate::error::{Error, ErrorKind, Result};
use crate::records::{ReadSource, Space};
use crate::session::outbox::verify as text_index;
use crate::session::{Engine, tables};
use crate::store::findings::{REOPEN, RESTORE, is_damage};
use crate::value::id::{bytes_of_hex, hex};

/// Room for a block of a content and its checksum.
const BLOCK_ROOM: usize = 128 * 1024;

/// A file that is read, perhaps in part.
#[derive(Debug)]
pub(super) struct OpenFile {
    pub(super) path: String,
    /// What the progress calls it: the key of its row, or its name.
    pub(super) key: Vec<u8>,
    len: u64,
    at: u64,
    what: FileKind,
    state: Option<FileState>,
}

/// What a file is, and how its bytes are compared.
#[derive(Clone, Debug)]
enum FileKind {
    /// A file of a segment, with the hash in hexadecimal digits.
    Segment(String),
    /// A content with this id, which has checksums of its own.
    Content(u64),
    /// A file of the text index, with its checksum.
    Text(u32),
}

/// A file that was opened.
enum FileState {
    Segment(Box<dyn DiskFile>, Box<Xxh3>),
    Content(Box<BlobReader>),
    Text(Box<dyn DiskFile>, crc32fast::Hasher),
}

impl std::fmt::Debug for FileState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FileState")
    }
}

/// What was read of a file.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) bytes: u64,
    pub(super) problem: Option<String>,
    pub(super) is_done: bool,
}

/// The files of the next row of a part after a key, and the key of that row; `None` after the last
/// one.
///
/// # Errors
/// Those of reading the records that are no damage.
pub(super) fn next(
    engine: &Arc<Engine>,
    part: &str,
    after: &str,
) -> Result<Option<(String, Vec<OpenFile>)>> {
    let after = bytes_of_hex(after).unwrap_or_default();
    if part == SEARCH {
        return next_of_text(engine, &after);
    }
    let snapshot = engine.snapshot();
    let space = if part == TABLES { Space::Segments } else { Space::Blobs };
    let from = if after.is_empty() { Vec::new() } else { [after.as_slice(), &[0]].concat() };
    let row = ReadSource::Snapshot(&snapshot).cursor(space, &from, None)?.next();
    // Damage of the rows was found when the rows were read.
    let row = row.or_else(|error| if is_damage(&error) { Ok(None) } else { Err(error) })?;
    let Some((key, value)) = row else { return Ok(None) };
    let open = |path: String, len: u64, what: FileKind| OpenFile {
        path,
        key: key.clone(),
        len,
        at: 0,
        what,
        state: None,
    };
    let files = if part == TABLES {
        let files = tables::segment_files(&key, &value).unwrap_or_default();
        files
            .into_iter()
            .map(|(path, len, hash)| open(path, len, FileKind::Segment(hash)))
            .collect()
    } else {
        let id = <[u8; 8]>::try_from(key.as_slice()).map(u64::from_be_bytes);
        let len = <[u8; 8]>::try_from(value.as_slice()).map(u64::from_be_bytes);
        let content = id.ok().zip(len.ok());
        content
            .map(|(id, len)| open(blobs::path(id), len, FileKind::Content(id)))
            .into_iter()
            .collect()
    };
    Ok(Some((hex(&key), files)))
}

fn next_of_text(engine: &Arc<Engine>, after: &[u8]) -> Result<Option<(String, Vec<OpenFile>)>> {
    let files = text_index::recorded_files(engine)?;
    let later = files.into_iter().filter(|(path, ..)| path.as_bytes() > after);
    let Some((path, len, crc)) = later.min() else { return Ok(None) };
    let key = path.clone().into_bytes();
    let what = FileKind::Text(crc);
    let file = OpenFile { path, key: key.clone(), len, at: 0, what, state: None };
    Ok(Some((hex(&key), vec![file])))
}

impl OpenFile {
    /// What to do about its damage.
    pub(super) fn action(&self) -> &'static str {
        match self.what {
            FileKind::Text(_) => REOPEN,
            _ => RESTORE,
        }
    }

    /// Whether the store still names the file as it was when it was opened.
    ///
    /// # Errors
    /// Those of reading the records.
    pub(super) fn is_named(&self, engine: &Arc<Engine>) -> Result<bool> {
        let snapshot = engine.snapshot();
        let source = ReadSource::Snapshot(&snapshot);
        match self.what {
            FileKind::Segment(_) => Ok(source.get(Space::Segments, &self.key)?.is_some()),
            FileKind::Content(_) => Ok(source.get(Space::Blobs, &self.key)?.is_some()),
            FileKind::Text(crc) => {
                let own = (self.path.clone(), self.len, crc);
                Ok(text_index::recorded_files(engine)?.contains(&own))
            }
        }
    }

    /// Reads up to `most` bytes, or one block.
    ///
    /// # Errors
    /// Those that are no damage.
    pub(super) fn read(&mut self, engine: &Arc<Engine>, most: usize) -> Result<Piece> {
        let mut piece = Piece::default();
        match self.read_piece(engine, most, &mut piece) {
            Err(error) if is_damage(&error) || error.kind() == ErrorKind::NotFound => {
                piece.problem = Some(error.message().to_owned());
                piece.is_done = true;
                Ok(piece)
            }
            read => read.map(|()| piece),
        }
    }

    fn read_piece(&mut self, engine: &Arc<Engine>, most: usize, piece: &mut Piece) -> Result<()> {
        if self.state.is_none() {
            // An open costs something, too.
            piece.bytes += 1;
            self.state = Some(self.open(engine)?);
        }
        let Some(state) = &mut self.state else { return Ok(()) };
        let left = self.len - self.at;
        let size = usize::try_from(left).unwrap_or(most).min(most);
        let attempt = |error| Error::io(format_args!("reading {}", self.path), error);
        let read = match state {
            FileState::Content(reader) => {
                let mut block = vec![0; BLOCK_ROOM];
                reader.read_at(&mut block, self.at)?
            }
            FileState::Segment(file, hasher) => {
                let mut bytes = vec![0; size];
                file.read_exact_at(&mut bytes, self.at).map_err(attempt)?;
                hasher.update(&bytes);
                size
            }
            FileState::Text(file, hasher) => {
                let mut bytes = vec![0; size];
                file.read_exact_at(&mut bytes, self.at).map_err(attempt)?;
                hasher.update(&bytes);
                size
            }
        };
        piece.bytes += read as u64;
        self.at += read as u64;
        piece.is_done = self.at >= self.len || read == 0;
        if piece.is_done && !self.has_sum() {
            piece.problem = Some("does not match its checksum".to_owned());
        }
        Ok(())
    }

    fn has_sum(&self) -> bool {
        match (&self.state, &self.what) {
            (Some(FileState::Segment(_, hasher)), FileKind::Segment(hash)) => {
                hex(&hasher.digest128().to_be_bytes()) == *hash
            }
            (Some(FileState::Text(_, hasher)), FileKind::Text(crc)) => {
                hasher.clone().finalize() == *crc
            }
            _ => true,
        }
    }

    fn open(&self, engine: &Arc<Engine>) -> Result<FileState> {
        if let FileKind::Content(id) = self.what {
            return Ok(FileState::Content(Box::new(engine.blobs.read(id, self.len)?)));
        }
        let attempt = |error| Error::io(format_args!("opening {}", self.path), error);
        let file = engine.disk.open(&self.path, Mode::Read).map_err(attempt)?;
        let len = file.len().map_err(attempt)?;
        if len != self.len {
            return Err(Error::corrupt(format!("has {len} bytes instead of {}", self.len)));
        }
        Ok(match self.what {
            FileKind::Text(_) => FileState::Text(file, crc32fast::Hasher::new()),
            _ => FileState::Segment(file, Box::new(Xxh3::new())),
        })
    }
}
