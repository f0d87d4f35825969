//! The journal: commits that are durable and that the record file may lack.
//!
//! Two files are written in turn. One turn is a pass: it begins with a header that has a number and
//! a new salt, and then has one record for each commit. `docs/format.md` has the bytes,
//! `docs/journal.md` how the journal and the record file work together.
//!
//! What must hold:
//! - A record is written only after the sync of the record before it, so that a torn record is the
//!   last one of its pass.
//! - A pass begins only when the record file has every commit of the pass whose file it overwrites.
//! - Each append writes with its record how far commits were acknowledged before it, in another
//!   sector. So what is missing is known, up to the last record.
//! - After a failed write or sync nothing more is written: [`Journal::append`] is not called again.

mod body;
mod check;
mod copy;
mod file;
mod header;
#[cfg(test)]
mod loss_tests;
mod mark;
mod pass_part;
mod record;
mod replay;
mod rescue;
#[cfg(test)]
mod tests;

pub(super) use body::{decode_next, encode};
pub(crate) use copy::copy;
pub(crate) use file::NAMES;
#[cfg(test)]
pub(crate) use header::MAGIC as JOURNAL_MAGIC;
pub(crate) use pass_part::PassPart;
pub(crate) use replay::Replayed;
pub(crate) use rescue::{LostCommits, rescue};

use file::{PassFile, RECORDS};
use header::Header;
use mark::{Mark, PLACES};

use std::sync::Arc;

use super::envelope;
use super::file::names::OpenName;
use crate::disk::SharedDisk;
use crate::error::{Error, ErrorKind, Result};
use crate::value::Latencies;

/// What the record file says about its journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// The id of the journal.
    pub(crate) id: u64,
    /// The first pass whose commits the record file may lack.
    pub(crate) pass: u64,
}

impl Link {
    /// The row of the record file.
    pub(super) fn to_row(self) -> Vec<u8> {
        envelope::seal(&[], 0, &[self.id.to_be_bytes(), self.pass.to_be_bytes()].concat())
    }

    /// Reads the row of the record file; `None` if it is damaged.
    pub(super) fn from_row(row: &[u8]) -> Option<Self> {
        let payload = envelope::open(&[], 0, row).ok()?.bytes;
        let (numbers, _) = payload.as_chunks::<8>();
        let &[id, pass] = numbers else { return None };
        Some(Self { id: u64::from_be_bytes(id), pass: u64::from_be_bytes(pass) })
    }
}

/// The open journal. Only the holder of the write turn uses it.
#[derive(Debug)]
pub(crate) struct Journal {
    files: [PassFile; 2],
    /// The header of the newest pass.
    newest: Header,
    /// Where the next record goes.
    at: u64,
    /// Which of the two places the next mark goes to.
    next_mark: usize,
    /// The pass before the newest one, and where its records end. Its file may be overwritten.
    older: Option<(Header, u64)>,
    /// The record that is being written; kept for its capacity.
    buffer: Vec<u8>,
    /// How long the syncs of records took.
    syncs: Arc<Latencies>,
}

fn file_of(pass: u64) -> usize {
    usize::from(pass % 2 == 1)
}

fn draw() -> Result<u64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)
        .map_err(|error| std::io::Error::other(error.to_string()))
        .map_err(|error| Error::io("drawing a random number for the journal", error))?;
    Ok(u64::from_le_bytes(bytes))
}

/// The error of a journal whose bytes are not those that were written.
fn damaged(name: &str, what: &str) -> Error {
    Error::corrupt(format!("{name}: {what}; restore the store from a backup"))
}

impl Journal {
    /// Creates both files without a commit, and makes them durable. Files of these names are
    /// replaced. The caller makes the names durable.
    ///
    /// # Errors
    /// `Io`, `NoSpace`.
    pub(super) fn create(disk: &SharedDisk) -> Result<Link> {
        let id = draw()?;
        for (pass, name) in (0..).zip(NAMES) {
            let header = Header { id, pass, first: 1, salt: draw()? };
            PassFile::create(disk, name)?.begin(header)?;
        }
        Ok(Link { id, pass: 1 })
    }

    /// Opens the journal that `link` names and reads the commits after `sequence`, the one of the
    /// record file. Further records go after the last one that was found.
    ///
    /// On return everything that was read is durable, see `replay`.
    ///
    /// # Errors
    /// `Corrupt` if a file is missing or is not the one that the record file needs, if a record is
    /// damaged that others follow or that was acknowledged before the last one, or if the commits
    /// do not continue those of the record file. The message says what a salvage would keep.
    pub(crate) fn open(disk: &SharedDisk, link: Link, sequence: u64) -> Result<(Self, Replayed)> {
        Self::replay(disk, link, sequence).map_err(|error| match error.kind() {
            ErrorKind::Corrupt => {
                let kept = rescue(disk, Some(link), Some(sequence)).kept;
                let text = error.message();
                Error::corrupt(format!(
                    "{text}, or salvage it, which keeps the record file and {kept} commits of the \
                     journal"
                ))
            }
            _ => error,
        })
    }

    /// Begins the next pass, whose first commit is after `sequence`; returns its number.
    ///
    /// # Errors
    /// `Io`, `NoSpace`: the store must then latch.
    pub(crate) fn begin_pass(&mut self, sequence: u64) -> Result<u64> {
        let pass = self.newest.pass + 1;
        let first = sequence.saturating_add(1);
        let header = Header { id: self.newest.id, pass, first, salt: draw()? };
        self.file(pass)?.begin(header)?;
        self.older = Some((self.newest, self.at));
        self.newest = header;
        self.at = RECORDS;
        self.next_mark = 0;
        Ok(pass)
    }

    /// Gives the space of both files back to the disk that no record of the newest pass has. Only
    /// while the record file has every commit of the pass before it.
    ///
    /// # Errors
    /// `Io`: the file then has either length, which changes nothing.
    pub(crate) fn shrink(&mut self) -> Result<()> {
        self.older = None;
        let (pass, end) = (self.newest.pass, self.at);
        self.file(pass)?.shrink(end)?;
        self.file(pass + 1)?.shrink(RECORDS)
    }

    /// The id of the journal.
    pub(crate) fn id(&self) -> u64 {
        self.newest.id
    }

    /// The number of the newest pass.
    pub(crate) fn pass(&self) -> u64 {
        self.newest.pass
    }

    /// Appends the record of the commits after `before` up to `after`, and makes it durable. All
    /// commits up to `before` were acknowledged.
    ///
    /// # Errors
    /// `Io`, `NoSpace`: the record may be there or not, and the store must latch.
    pub(crate) fn append(&mut self, before: u64, after: u64, body: &[u8]) -> Result<()> {
        let (salt, at, pass) = (self.newest.salt, self.at, self.newest.pass);
        let mut buffer = std::mem::take(&mut self.buffer);
        record::write(&mut buffer, salt, at, record::Sequences { before, after }, body);
        let place = PLACES.get(self.next_mark).copied().unwrap_or_default();
        let mark = Mark { acknowledged: before, written: after }.to_bytes(salt, place);
        let syncs = self.syncs.clone();
        let written = self.file(pass)?.append(at, &buffer, (place as u64, &mark), &syncs);
        if written.is_ok() {
            self.at = at.saturating_add(buffer.len() as u64);
            self.next_mark = 1 - self.next_mark;
        }
        // A large record does not keep its memory for the small ones after it.
        buffer.clear();
        buffer.shrink_to(1 << 20);
        self.buffer = buffer;
        written
    }

    /// How long the syncs of records took.
    pub(crate) fn syncs(&self) -> &Arc<Latencies> {
        &self.syncs
    }

    /// Bytes of both files on the disk, and bytes of the records of the newest pass.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        (self.files.iter().map(PassFile::len).sum(), self.at.saturating_sub(RECORDS))
    }

    /// The names of both open files. That of the older pass is needed until its checkpoint, and
    /// then written again.
    pub(crate) fn open_names(&self) -> [OpenName; 2] {
        self.files.each_ref().map(PassFile::open_name)
    }

    fn file(&mut self, pass: u64) -> Result<&mut PassFile> {
        self.files
            .get_mut(file_of(pass))
            .ok_or_else(|| Error::conflict("internal error: the journal has two files"))
    }
}
