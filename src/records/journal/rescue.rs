//! Reading the journal of a damaged store: every intact record is taken, whatever lies between.
//!
//! What must hold: a record is taken only if the record file lacks its commits. Otherwise it would
//! undo newer changes of the record file. The record file names the first pass that it lacks. Where
//! that is lost, only the newest pass is taken: a checkpoint moves only passes that another one
//! follows.

use super::file::{NAMES, PassFile, RECORDS};
use super::header::Header;
use super::replay::Window;
use super::{Link, body, file_of};
use crate::disk::{Mode, SharedDisk};
use crate::error::Result;
use crate::records::Change;

/// What the journal of a damaged store has.
#[derive(Debug, Default)]
pub(crate) struct JournalRescue {
    /// The changes of the commits that the record file lacks, in the order in which they were made.
    pub(crate) changes: Vec<Change>,
    /// How many commits these are.
    pub(crate) kept: u64,
    /// What is missing.
    pub(crate) lost: Vec<LostCommits>,
}

/// Commits that the record file lacks and that the journal has lost.
#[derive(Debug)]
pub(crate) struct LostCommits {
    pub(crate) file: &'static str,
    /// The sequences of the first and of the last one; `None` if it is not known whether there were
    /// any.
    pub(crate) commits: Option<(u64, u64)>,
    pub(crate) reason: String,
}

impl JournalRescue {
    fn lose(&mut self, file: &'static str, reason: impl Into<String>) {
        self.lost.push(LostCommits { file, commits: None, reason: reason.into() });
    }
}

/// Reads the journal of a store without writing. `link` is what the record file says about its
/// journal, and `sequence` is the commit that the record file is at; `None` where that is lost.
pub(crate) fn rescue(
    disk: &SharedDisk,
    link: Option<Link>,
    sequence: Option<u64>,
) -> JournalRescue {
    let mut rescued = JournalRescue::default();
    let mut passes = Vec::new();
    for (number, name) in NAMES.into_iter().enumerate() {
        let is_ours = |header: &Header| {
            file_of(header.pass) == number && link.is_none_or(|link| link.id == header.id)
        };
        let opened = PassFile::open(disk, name, Mode::Read);
        match opened.and_then(|file| Ok((file.header()?, file))) {
            Ok((Some(header), file)) if is_ours(&header) => passes.push((header, file)),
            Ok((Some(_), _)) => rescued.lose(name, "it is not the journal of records.redb"),
            Ok((None, _)) => rescued.lose(name, "its header is damaged"),
            Err(error) => rescued.lose(name, error.message()),
        }
    }
    passes.sort_by_key(|(header, _)| header.pass);
    if let [(one, _), (other, file)] = passes.as_slice()
        && one.id != other.id
    {
        rescued.lose(file.name(), "the two files are of different journals");
        return rescued;
    }
    let newest = passes.last().map(|(header, _)| header.pass);
    let first_live =
        link.and_then(|link| passes.iter().find(|(header, _)| header.pass == link.pass));
    // Each opening finds the pass that the record file names. Without it, the file is of another
    // time, or one of the two was replaced.
    if let (Some(link), None) = (link, first_live)
        && let Some(&name) = NAMES.get(file_of(link.pass))
        && !rescued.lost.iter().any(|lost| lost.file == name)
    {
        rescued
            .lose(name, format!("it does not have pass {}, which records.redb names", link.pass));
    }
    // The record file has what came before that pass, also when it has no state of its own yet.
    let mut at = sequence.or(first_live.map(|(header, _)| header.first.saturating_sub(1)));
    let is_live = |header: &Header| link.is_none_or(|link| header.pass >= link.pass);
    for (header, file) in passes.into_iter().filter(|(header, _)| is_live(header)) {
        if link.is_none() && sequence.is_none() && Some(header.pass) != newest {
            rescued.lose(file.name(), "it is not known whether records.redb has them");
            continue;
        }
        tell_gap(&mut rescued, file.name(), &mut at, header.first.saturating_sub(1));
        let read = read_pass(&file, header, &mut at, &mut rescued);
        let marks = read.and_then(|()| file.marks(header)).map(|marks| marks.needed());
        match marks {
            Ok(Some(needed)) => tell_gap(&mut rescued, file.name(), &mut at, needed),
            Ok(None) => {
                rescued.lose(file.name(), "both marks of what was acknowledged are damaged");
            }
            Err(error) => rescued.lose(file.name(), error.message()),
        }
    }
    rescued
}

/// Tells the commits after `at` up to `before`, which should have been there, and advances `at`.
fn tell_gap(rescued: &mut JournalRescue, file: &'static str, at: &mut Option<u64>, before: u64) {
    if let Some(at) = at.as_mut().filter(|at| **at < before) {
        let commits = Some((at.saturating_add(1), before));
        *at = before;
        let reason = "their records are damaged or missing".to_owned();
        rescued.lost.push(LostCommits { file, commits, reason });
    }
}

/// Reads the intact records of a pass. Adds the changes of the commits after `sequence`, and
/// advances it.
fn read_pass(
    file: &PassFile,
    header: Header,
    sequence: &mut Option<u64>,
    rescued: &mut JournalRescue,
) -> Result<()> {
    let mut window = Window::over(file);
    let mut at = RECORDS;
    loop {
        let Some(found) = window.record(header.salt, at)? else {
            let Some(next) = window.find_record(header.salt, at)? else { return Ok(()) };
            at = next;
            continue;
        };
        let (before, after) = (found.sequences.before, found.sequences.after);
        if sequence.is_none_or(|held| after > held) {
            tell_gap(rescued, file.name(), sequence, before);
            match body::decode(window.body(at, found.len)?, file.name()) {
                Ok(read) => {
                    rescued.changes.extend(read);
                    rescued.kept += after.saturating_sub(before);
                }
                Err(error) => rescued.lost.push(LostCommits {
                    file: file.name(),
                    commits: Some((before.saturating_add(1), after)),
                    reason: error.message().to_owned(),
                }),
            }
            *sequence = Some(after);
        }
        at = at.saturating_add(found.record_len());
    }
}
