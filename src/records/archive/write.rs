//! Writing a file of an archive.

use xxhash_rust::xxh3::xxh3_128;
use zstd::bulk::Compressor;

use super::{END, HEAD, Head, NEW, PartHead, Span};
use crate::disk::{DiskFile, Mode, SharedDisk, remove_if_there};
use crate::error::{Error, Result};
use crate::records::{Change, journal};

/// A part is written when it has this many bytes.
const PART_BYTES: usize = 256 * 1024;
/// Level of the compression: the checkpoint thread writes the file.
const LEVEL: i32 = 1;

fn failed(error: std::io::Error) -> Error {
    Error::io("writing the archive of commits", error)
}

/// A file that is being written. Dropped before [`Self::finish`], it leaves a file without a name,
/// which the next one replaces.
pub(crate) struct ArchiveWriter {
    disk: SharedDisk,
    file: Box<dyn DiskFile>,
    seed: u64,
    form: u64,
    journal: u64,
    at: u64,
    part: Vec<u8>,
    /// First and last commit, each with its time.
    commits: Option<[(u64, i64); 2]>,
}

impl ArchiveWriter {
    /// Begins a file.
    ///
    /// # Errors
    /// `Io`, `NoSpace`.
    pub(crate) fn begin(disk: &SharedDisk, seed: u64, form: u64, journal: u64) -> Result<Self> {
        remove_if_there(&**disk, NEW).map_err(failed)?;
        let file = disk.open(NEW, Mode::CreateNew).map_err(failed)?;
        file.write_all_at(&[0; HEAD], 0).map_err(failed)?;
        let (disk, at, part) = (disk.clone(), HEAD as u64, Vec::new());
        Ok(Self { disk, file, seed, form, journal, at, part, commits: None })
    }

    /// Adds a change of the next commit. Those of the index are left out.
    ///
    /// # Errors
    /// `Io`, `NoSpace`.
    pub(crate) fn add(&mut self, change: &Change) -> Result<()> {
        if !matches!(change, Change::Entries(_)) {
            journal::encode(change, &mut self.part);
        }
        self.flush_if_full()
    }

    /// Ends a commit.
    ///
    /// # Errors
    /// `Io`, `NoSpace`.
    pub(crate) fn end(&mut self, sequence: u64, time_ms: i64) -> Result<()> {
        self.part.push(END);
        self.part.extend_from_slice(&sequence.to_le_bytes());
        self.part.extend_from_slice(&time_ms.to_le_bytes());
        let last = (sequence, time_ms);
        let [first, _] = self.commits.unwrap_or([last, last]);
        self.commits = Some([first, last]);
        self.flush_if_full()
    }

    fn flush_if_full(&mut self) -> Result<()> {
        if self.part.len() >= PART_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let too_large = |_| Error::invalid("a commit is larger than an archive takes");
        let frame = Compressor::new(LEVEL)
            .and_then(|mut compressor| compressor.compress(&self.part))
            .map_err(failed)?;
        let head = PartHead {
            stored: u32::try_from(frame.len()).map_err(too_large)?,
            raw: u32::try_from(self.part.len()).map_err(too_large)?,
            hash: xxh3_128(&frame),
        };
        let mut bytes = head.to_bytes(self.at);
        bytes.extend_from_slice(&frame);
        self.file.write_all_at(&bytes, self.at).map_err(failed)?;
        self.at += bytes.len() as u64;
        self.part.clear();
        Ok(())
    }

    /// Makes the file durable and gives it its name, which is durable on return. Without a commit
    /// there is no file.
    ///
    /// # Errors
    /// `Io`, `NoSpace`.
    pub(crate) fn finish(mut self) -> Result<Option<(Span, u64)>> {
        let Some([(first, began_ms), (last, ended_ms)]) = self.commits else {
            drop(self.file);
            remove_if_there(&*self.disk, NEW).map_err(failed)?;
            return Ok(None);
        };
        if !self.part.is_empty() {
            self.flush()?;
        }
        let span = Span { journal: self.journal, first, last };
        let (seed, form, bytes) = (self.seed, self.form, self.at);
        let head = Head { seed, form, span, began_ms, ended_ms, bytes };
        self.file.write_all_at(&head.to_bytes(), 0).map_err(failed)?;
        self.file.sync_all().map_err(failed)?;
        drop(self.file);
        self.disk.rename(NEW, &span.path()).map_err(failed)?;
        self.disk.sync_dir(super::DIRECTORY).map_err(failed)?;
        Ok(Some((span, bytes)))
    }
}
