//! Backup sets: `backup --set`, `archive`, `backups`, `restore --at` and `repair`.

use std::path::Path;

use stationdb::serde_json::{Value, to_value};
use stationdb::{
    Error, ErrorKind, PruneReport, RestorePoint, SetBackup, SetBackupOptions, SetRange, SetReport,
    SetRetention, Store,
};

use super::upkeep::{self, copied, judge, tell};
use crate::args::{Backups, OutputFlags, SetFlags};
use crate::desk::Desk;
use crate::failure::{Code, Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::pager::paged;
use crate::progress::Bar;

/// The file that every set has.
const MARK: &str = "SET";

const COLUMNS: [&str; 9] =
    ["backup", "taken", "sequence", "rows", "files", "fileBytes", "isAhead", "findings", "problem"];

const RANGE_COLUMNS: [&str; 6] = ["backup", "first", "last", "until", "missing", "problem"];

/// Sends the archive of commits to a set, changes its bound, or tells what it has.
pub fn archive(
    desk: &Desk,
    output: Output,
    set: Option<&Path>,
    bytes: Option<u64>,
    bytes_per_second: Option<u64>,
) -> Outcome {
    let Some(set) = set else {
        if let Some(bytes) = bytes {
            desk.store.set_archive_bytes(bytes)?;
        }
        let Some(status) = desk.store.archive_status() else {
            return output.report("the store archives no commits", &Value::Null);
        };
        let (bytes, held, most) = (status.bytes, status.held_bytes, status.bytes_max);
        let commits = match (status.first, status.last) {
            (Some(first), Some(last)) => format!("the commits {first} to {last}"),
            _ => "no commits yet".to_owned(),
        };
        let mut message = format!(
            "the archive has {commits}: {bytes} bytes, and {held} bytes of files that would be \
             removed otherwise, of at most {most}"
        );
        for gap in &status.gaps {
            message.push_str(&format!("; without {} to {}", gap.first, gap.last));
        }
        if let Some(problem) = &status.problem {
            message.push_str(&format!("; {problem}"));
        }
        return output.report(&message, &to_value(&status).unwrap_or_default());
    };
    let mut options = SetBackupOptions::new();
    options.bytes_per_second = bytes_per_second;
    let (bar, control) = Bar::new(desk.interrupt.control(), "archiving", None);
    let report = desk.store.archive_to_set(set, &options, &control);
    drop(bar);
    let report = report?;
    let message = format!(
        "archived {} commits up to {} to {}: {} bytes written, {} new files",
        report.commits,
        report.last,
        set.display(),
        report.written_bytes,
        report.files_sent
    );
    output.report(&message, &to_value(&report).unwrap_or_default())?;
    judge(&report.findings, report.findings_left_out)
}

/// Adds a backup to a set, and then removes those that are not kept.
pub fn backup(desk: &Desk, output: Output, set: &Path, asked: &SetFlags) -> Outcome {
    let retention = retention(&asked.keep)?;
    let mut options = SetBackupOptions::new();
    if let Some(rate) = asked.bytes_per_second {
        options = options.bytes_per_second(rate);
    }
    if asked.existing {
        options = options.must_exist();
    }
    let (bar, control) = Bar::new(desk.interrupt.control(), "backing up", None);
    let back_up = || desk.store.backup_to_set(set, &options, &control);
    let prune = || retention.map(|keep| Store::prune_set(set, keep, &control)).transpose();
    let (report, pruned) = with_room(back_up, prune)?;
    drop(bar);
    let mut message = format!(
        "backed up to {} as backup {}: {} bytes written; {} files, {} of them new",
        set.display(),
        report.backup,
        report.written_bytes,
        report.files,
        report.files_sent
    );
    let mut value = to_value(&report).unwrap_or_default();
    if let Some(pruned) = &pruned {
        let (removed, bytes) = (pruned.removed.len(), pruned.bytes);
        message.push_str(&format!("; {removed} backups removed, {bytes} bytes"));
        if let Value::Object(value) = &mut value {
            value.insert("pruned".to_owned(), to_value(pruned).unwrap_or_default());
        }
    }
    output.report(&message, &value)?;
    judge(&report.findings, report.findings_left_out)?;
    if let Some(archived) = &report.archived {
        judge(&archived.findings, archived.findings_left_out)?;
    }
    let held_back = pruned.and_then(|pruned| pruned.held_back);
    match report.unreadable.first().or(held_back.as_ref()) {
        None => Ok(()),
        Some(problem) => Err(Failure::new(
            Code::Damaged,
            format!("the backup was made, but not all of the set is well: {problem}"),
        )),
    }
}

/// Makes a backup and prunes the set. When the set has no room, it is pruned before, and the backup
/// is made once more.
fn with_room<B>(
    back_up: impl Fn() -> Result<B, Error>,
    prune: impl Fn() -> Result<Option<PruneReport>, Error>,
) -> Result<(B, Option<PruneReport>), Error> {
    let (report, before) = match back_up() {
        Err(full) if full.kind() == ErrorKind::NoSpace => match prune()? {
            None => return Err(full),
            Some(before) => (back_up()?, Some(before)),
        },
        made => (made?, None),
    };
    let mut pruned = prune()?;
    if let (Some(pruned), Some(before)) = (&mut pruned, before) {
        pruned.removed.splice(0..0, before.removed);
        pruned.files += before.files;
        pruned.bytes += before.bytes;
    }
    Ok((report, pruned))
}

/// How many days, weeks and months keep a backup.
fn retention(keep: &[u32]) -> Outcome<Option<SetRetention>> {
    match keep {
        [] => Ok(None),
        [daily, weekly, monthly] => Ok(Some(SetRetention::new(*daily, *weekly, *monthly))),
        _ => {
            Err(Failure::usage("--keep takes three numbers: of days, weeks and months, as 7,4,12"))
        }
    }
}

/// Lists or verifies the backups of a set, or removes those that are not kept. No store is opened.
pub fn backups(look: &OutputFlags, asked: &Backups, interrupt: &Interrupt) -> Outcome {
    let output = Output::new(look);
    let retention = retention(&asked.keep)?;
    let (bar, control) = Bar::new(interrupt.control(), "reading", None);
    if let Some(keep) = retention {
        let report = Store::prune_set(&asked.set, keep, &control);
        drop(bar);
        let report = report.map_err(|error| not_a_set(&asked.set, &error))?;
        let message = format!(
            "{} backups kept, {} removed with {} files and {} bytes",
            report.kept.len(),
            report.removed.len(),
            report.files,
            report.bytes
        );
        output.report(&message, &to_value(&report).unwrap_or_default())?;
        return match report.held_back {
            None => Ok(()),
            Some(reason) => Err(Failure::new(Code::Damaged, reason)),
        };
    }
    if asked.verify {
        let report = Store::verify_set(&asked.set, &control);
        drop(bar);
        let report = report.map_err(|error| not_a_set(&asked.set, &error))?;
        return verified(output, interrupt, &report);
    }
    let found = Store::list_backups(&asked.set);
    drop(bar);
    let found = found.map_err(|error| not_a_set(&asked.set, &error))?;
    if asked.points {
        points(output, interrupt, &found.ranges)?;
        return match found.ranges.iter().find_map(|range| range.problem.as_ref()) {
            None => Ok(()),
            Some(problem) => Err(Failure::new(Code::Damaged, problem.clone())),
        };
    }
    list(output, interrupt, &found.backups)?;
    match found.backups.iter().find_map(|backup| backup.problem.as_ref()) {
        None => Ok(()),
        Some(problem) => Err(Failure::new(Code::Damaged, problem.clone())),
    }
}

/// What the library says of a directory without a set is for one that a backup is made in.
fn not_a_set(directory: &Path, error: &Error) -> Failure {
    let mut failure = Failure::of(error);
    if error.kind() == ErrorKind::NotAStore && directory.is_dir() {
        let what = if directory.join("FORMAT").is_file() {
            "a plain backup or a store"
        } else {
            "no backup set"
        };
        let name = directory.display();
        failure.message = format!("{name} is {what}; give a set, which `backup SET --set` makes");
    }
    failure
}

fn list(output: Output, interrupt: &Interrupt, backups: &[SetBackup]) -> Outcome {
    let columns = COLUMNS.map(str::to_owned);
    let mut records = backups.iter().map(|backup| Ok(to_value(backup).unwrap_or_default()));
    paged(output, interrupt, |out| output.records(out, &columns, false, &mut records))
}

fn points(output: Output, interrupt: &Interrupt, ranges: &[SetRange]) -> Outcome {
    let columns = RANGE_COLUMNS.map(str::to_owned);
    let mut records = ranges.iter().map(|range| Ok(to_value(range).unwrap_or_default()));
    paged(output, interrupt, |out| output.records(out, &columns, false, &mut records))
}

fn verified(output: Output, interrupt: &Interrupt, report: &SetReport) -> Outcome {
    let unfinished = if report.is_unfinished {
        "; a backup or a pruning is at work or was interrupted, and the next one goes on"
    } else {
        ""
    };
    let message = format!(
        "no damage found: {} backups, {} files with {} bytes{unfinished}",
        report.backups.len(),
        report.files,
        report.bytes
    );
    let value = to_value(report).unwrap_or_default();
    tell(output, interrupt, &message, &value, &report.findings)?;
    judge(&report.findings, report.findings_left_out)
}

/// Makes a store from a backup, or from one of a set.
pub fn restore(
    look: &OutputFlags,
    set: &Path,
    at: Option<&str>,
    directory: &Path,
    interrupt: &Interrupt,
) -> Outcome {
    if !set.join(MARK).is_file() {
        return match at {
            None => upkeep::restore(look, set, directory, interrupt),
            Some(_) => {
                let told = format!("{} is no backup set, which --at is for", set.display());
                Err(Failure::usage(told))
            }
        };
    }
    let output = Output::new(look);
    let point: RestorePoint = at.unwrap_or("latest").parse()?;
    let (bar, control) = Bar::new(interrupt.control(), "restoring", None);
    let report = Store::restore_from_set(set, point, directory, &control)?;
    drop(bar);
    copied(output, "restored to", directory, &report)
}

/// Takes what the store has damaged from a set.
pub fn repair(desk: &Desk, output: Output, set: &Path) -> Outcome {
    let (bar, control) = Bar::new(desk.interrupt.control(), "repairing", None);
    let report = desk.store.repair(set, &control);
    drop(bar);
    let report = report.map_err(|error| not_a_set(set, &error))?;
    let mut message = format!(
        "{} files checked, {} repaired and {} pages of the records, with {} bytes",
        report.files,
        report.repaired.len(),
        report.repaired_pages.len(),
        report.repaired_bytes
    );
    if report.needs_reopen {
        message.push_str("; close the store and open it again to read the repaired pages");
    }
    output.report(&message, &to_value(&report).unwrap_or_default())?;
    judge(&report.findings, report.findings_left_out)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A set that is full is pruned, and then the backup is made once more.
    #[test]
    fn a_full_set_is_pruned_before_the_backup_is_made_again() {
        let (tried, pruned) = (Cell::new(0), Cell::new(0));
        let run = |full: u32, removes: bool| {
            tried.set(0);
            pruned.set(0);
            let back_up = || {
                tried.set(tried.get() + 1);
                if tried.get() <= full {
                    return Err(Error::new(ErrorKind::NoSpace, "full"));
                }
                Ok(tried.get())
            };
            let prune = || {
                pruned.set(pruned.get() + 1);
                let mut report = PruneReport::default();
                report.removed.push(pruned.get());
                report.bytes = 10;
                Ok(removes.then_some(report))
            };
            let done = with_room(back_up, prune);
            (done.map_err(|error| error.kind()), tried.get(), pruned.get())
        };
        let (done, ..) = run(0, true);
        assert_eq!(done.unwrap().1.unwrap().removed, [1]);
        let (done, tries, prunings) = run(1, true);
        let told = done.unwrap().1.unwrap();
        assert_eq!((tries, prunings, told.removed, told.bytes), (2, 2, vec![1, 2], 20));
        // Without a retention nothing may be removed, and one try is enough then.
        let (done, tries, _) = run(1, false);
        assert_eq!((done.unwrap_err(), tries), (ErrorKind::NoSpace, 1));
        let (done, tries, _) = run(2, true);
        assert_eq!((done.unwrap_err(), tries), (ErrorKind::NoSpace, 2));
    }
}
