//! One of the two files. Its space is written with zeros before records use it: a write into an
//! extent that was never written changes metadata, and its sync costs more.

use std::time::Instant;

use super::header::Header;
use super::mark::{COPY, Marks};
use crate::disk::{DiskFile, FileId, Mode, SharedDisk, remove_if_there};
use crate::error::{Error, Result};
use crate::records::file::names::OpenName;
use crate::value::Latencies;

/// The names of the two files; pass `p` is in the file `p % 2`.
pub(crate) const NAMES: [&str; 2] = ["journal.0", "journal.1"];
/// Where the records of a pass begin.
pub(super) const RECORDS: u64 = 8_192;

/// The file grows at least by this.
const GROWTH_MIN: u64 = 64 * 1024;
/// The file grows at most by this, apart from a record that is larger.
const GROWTH_MAX: u64 = 4 * 1024 * 1024;
/// What [`PassFile::shrink`] leaves of the file, so that the next commits need not write zeros.
pub(super) const KEPT: u64 = 1024 * 1024;
/// Zeros that are written at a time.
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// An open file of the journal.
#[derive(Debug)]
pub(super) struct PassFile {
    name: &'static str,
    file: Box<dyn DiskFile>,
    id: FileId,
    /// The length of the file: all of it was written.
    len: u64,
}

fn failed(attempt: &str, name: &str) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::io(format!("{name}: cannot {attempt}"), error)
}

impl PassFile {
    /// Creates an empty file; a file of this name is removed first.
    pub(super) fn create(disk: &SharedDisk, name: &'static str) -> Result<Self> {
        remove_if_there(&**disk, name).map_err(failed("remove it", name))?;
        Self::over(name, disk.open(name, Mode::CreateNew).map_err(failed("create it", name))?)
    }

    /// Opens a file.
    ///
    /// # Errors
    /// `Corrupt` if there is none; `Io`.
    pub(super) fn open(disk: &SharedDisk, name: &'static str, mode: Mode) -> Result<Self> {
        let file = disk.open(name, mode).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Error::corrupt(format!("the store has no {name}; restore it from a backup"))
            }
            _ => Error::io(format!("opening {name}"), error),
        })?;
        Self::over(name, file)
    }

    fn over(name: &'static str, file: Box<dyn DiskFile>) -> Result<Self> {
        let id = file.file_id().map_err(failed("read its identity", name))?;
        let len = file.len().map_err(failed("read its length", name))?;
        Ok(Self { name, file, id, len })
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// What lies in front of the records; `None` if the file is shorter.
    pub(super) fn front(&self) -> Result<Option<Vec<u8>>> {
        if self.len < RECORDS {
            return Ok(None);
        }
        let mut front = vec![0; COPY * 2];
        self.read(&mut front, 0)?;
        Ok(Some(front))
    }

    /// The newer valid copy of the header.
    pub(super) fn header(&self) -> Result<Option<Header>> {
        Ok(self.front()?.and_then(|front| Header::from_front(&front)))
    }

    /// The marks of a pass.
    pub(super) fn marks(&self, header: Header) -> Result<Marks> {
        Ok(Marks::of(&self.front()?.unwrap_or_default(), header.salt))
    }

    /// Reads a part of the file.
    pub(super) fn read(&self, buffer: &mut [u8], at: u64) -> Result<()> {
        self.file.read_exact_at(buffer, at).map_err(failed("read it", self.name))
    }

    /// Writes what lies in front of the records of a new pass and makes it durable.
    pub(super) fn begin(&mut self, header: Header) -> Result<()> {
        self.write(&header.to_first_front(), 0)?;
        self.sync()
    }

    /// Writes a record, and a mark at its place, and makes both durable. If the file is too short,
    /// it grows with zeros first; the same sync makes them durable.
    pub(super) fn append(
        &mut self,
        at: u64,
        record: &[u8],
        mark: (u64, &[u8]),
        syncs: &Latencies,
    ) -> Result<()> {
        let end = at.saturating_add(record.len() as u64);
        if end > self.len {
            self.grow(end)?;
        }
        let (place, bytes) = mark;
        self.write(bytes, place)?;
        self.write(record, at)?;
        let begun = Instant::now();
        let synced = self.sync();
        syncs.add(begun.elapsed());
        synced
    }

    fn grow(&mut self, needed: u64) -> Result<()> {
        let step = self.len.clamp(GROWTH_MIN, GROWTH_MAX);
        let target = needed.max(self.len.saturating_add(step)).next_multiple_of(GROWTH_MIN);
        while self.len < target {
            let step = usize::try_from(target - self.len).map_or(ZEROS.len(), |left| left);
            self.write(ZEROS.get(..step).unwrap_or(&ZEROS), self.len)?;
        }
        Ok(())
    }

    /// Cuts off what follows `end`, apart from [`KEPT`] bytes of the file. Needs no sync: after a
    /// power cut the file may have its earlier length, and then has records of earlier passes.
    pub(super) fn shrink(&mut self, end: u64) -> Result<()> {
        let len = end.next_multiple_of(GROWTH_MIN).max(KEPT);
        if len < self.len {
            self.file.set_len(len).map_err(failed("shorten it", self.name))?;
            self.len = len;
        }
        Ok(())
    }

    pub(super) fn write(&mut self, bytes: &[u8], at: u64) -> Result<()> {
        self.file.write_all_at(bytes, at).map_err(failed("write it", self.name))?;
        self.len = self.len.max(at.saturating_add(bytes.len() as u64));
        Ok(())
    }

    pub(super) fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(failed("sync it", self.name))
    }

    /// The name of the open file.
    pub(super) fn open_name(&self) -> OpenName {
        OpenName { name: self.name, id: self.id }
    }
}

/// Opens both files.
pub(super) fn open_both(disk: &SharedDisk) -> Result<[PassFile; 2]> {
    let [one, other] = NAMES;
    let open = |name| PassFile::open(disk, name, Mode::ReadWrite);
    Ok([open(one)?, open(other)?])
}
