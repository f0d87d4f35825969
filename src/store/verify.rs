//! Looking for damage: what is on disk against what the records say.

use super::findings::{RECORD_FILE, RESTORE, VerifyReport, is_damage};
use super::open::Store;
use super::{format, scrub};
use crate::error::{ErrorKind, Result};
use crate::session::guarded;
use crate::value::Control;

/// How deep to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VerifyLevel {
    /// That every named file is there with its length.
    Headers,
    /// And that every checksum holds, that no entry of the record file is missing, foreign or changed by anything but a
    /// commit, that records and indexes agree, and that the text index holds what the records say.
    Checksums,
}

const MENDED: &str = "nothing, when the rest of the report is sound; else restore the store from a backup";
const REOPEN: &str = "close the store and open it: nothing is lost, the text index is built again from the records";
const LOST: &str = "close the store; open it where its files are now, or restore it from a backup";
const GIVEN_UP: &str = "nothing is lost: the text index was given up; the next search, `maintain` or opening builds it again from the records";

impl Store {
    /// Looks for damage while readers and writers go on: in one snapshot, up to `level`.
    ///
    /// When the directory of the store or its record file was moved, removed or replaced meanwhile, that is the one finding.
    ///
    /// With checksums, the text index is brought up to date and compared with the records, document by document. One that
    /// differs is given up, so that it is built again from the records. A store that has no text index yet, or whose text
    /// index cannot be written now, is not compared.
    ///
    /// # Errors
    /// `Locked` in a forked process; what `control` says; damage is not an error but a finding.
    pub fn verify(&self, level: VerifyLevel, control: &Control) -> Result<VerifyReport> {
        guarded("verifying", || self.verify_parts(level, control))
    }

    fn verify_parts(&self, level: VerifyLevel, control: &Control) -> Result<VerifyReport> {
        let mut report = VerifyReport::default();
        let checked = guarded("looking at the place of the store", || self.engine().check_place());
        match checked {
            // No name leads to a file of this store, so there is nothing else to look at.
            Err(error) if error.kind() == ErrorKind::Latched => {
                report.find(RECORD_FILE, "its name", error.message(), LOST);
                return Ok(report);
            }
            checked => checked?,
        }
        let checked = guarded("reading FORMAT", || format::check_seed(&self.engine().disk, self.engine().seed));
        if let Err(error) = checked {
            if !is_damage(&error) {
                return Err(error);
            }
            report.find(format::NAME, "the whole file", error.message(), RESTORE);
        }
        match format::number(&self.engine().disk) {
            Ok(number) => report.format = number,
            // What is wrong with it was found above.
            Err(error) if is_damage(&error) => {}
            Err(error) => return Err(error),
        }
        if level >= VerifyLevel::Checksums {
            // The scrub tells damage itself and goes on; what redb panics on where nothing looked for it ends the scrub alone.
            match guarded("scrubbing the records", || scrub::scrub(&self.engine().snapshot(), control, &mut report)) {
                Err(error) if is_damage(&error) => {
                    report.find(RECORD_FILE, "the pages of the records", error.message(), RESTORE);
                }
                scrubbed => scrubbed?,
            }
        }
        let deep = level >= VerifyLevel::Checksums;
        let mut damaged = Vec::new();
        let found = |file: &str, problem: &str| damaged.push((file.to_owned(), problem.to_owned()));
        match crate::services::verify_contents(self.engine(), deep, control, found) {
            Ok((files, bytes)) => {
                report.files += files;
                report.file_bytes += bytes;
            }
            Err(error) if is_damage(&error) => {
                report.find(RECORD_FILE, "the records of files", error.message(), RESTORE);
            }
            Err(error) => return Err(error),
        }
        let found = |file: &str, problem: &str| damaged.push((file.to_owned(), problem.to_owned()));
        match guarded("verifying the tables", || crate::session::tables::verify(self.engine(), deep, control, found)) {
            Ok((files, bytes)) => {
                report.files += files;
                report.file_bytes += bytes;
            }
            Err(error) if is_damage(&error) => {
                report.find(RECORD_FILE, "the manifests of tables", error.message(), RESTORE);
            }
            Err(error) => return Err(error),
        }
        for (file, problem) in damaged {
            report.find(&file, "its content", problem, RESTORE);
        }
        let mut damaged = Vec::new();
        let found = |file: &str, problem: &str| damaged.push((file.to_owned(), problem.to_owned()));
        match guarded("verifying the text index", || {
            crate::session::outbox::verify::verify(self.engine(), deep, control, found)
        }) {
            Ok((files, bytes)) => {
                report.files += files;
                report.file_bytes += bytes;
            }
            Err(error) if is_damage(&error) => {
                report.find(RECORD_FILE, "the checkpoint of the text index", error.message(), RESTORE);
            }
            Err(error) => return Err(error),
        }
        let is_whole = damaged.is_empty();
        for (file, problem) in damaged {
            report.find(&file, "its content", problem, REOPEN);
        }
        if deep && is_whole {
            let found = |place: &str, problem: &str| report.find("search", place, problem, GIVEN_UP);
            let compared = guarded("comparing the text index", || {
                crate::session::outbox::verify::compare(self.engine(), control, found)
            });
            match compared {
                Err(error) if is_damage(&error) => {
                    report.find(RECORD_FILE, "the records of the text index", error.message(), RESTORE);
                }
                compared => compared?,
            }
        }
        Ok(report)
    }

    /// As [`Store::verify`] with every checksum, and before it each page of the record file by the checksums of its engine:
    /// so the medium itself is read and no cache is believed.
    ///
    /// # Errors
    /// `Conflict` while other clones of the store or sessions exist, since nobody may read meanwhile; as [`Store::verify`].
    pub fn verify_pages(&mut self, control: &Control) -> Result<VerifyReport> {
        control.check()?;
        let engine = self.engine_mut()?;
        let checked = guarded("verifying the pages", || engine.check_pages());
        let mut report = match &checked {
            Err(error) if !is_damage(error) => return Err(error.clone()),
            _ => VerifyReport::default(),
        };
        match checked {
            Ok(true) => {}
            Ok(false) => report.find(RECORD_FILE, "its pages", "their bookkeeping was wrong, and is mended", MENDED),
            Err(error) => report.find(RECORD_FILE, "its pages", error.message(), RESTORE),
        }
        let rest = self.verify(VerifyLevel::Checksums, control)?;
        report.findings.extend(rest.findings);
        Ok(VerifyReport { findings: report.findings, ..rest })
    }
}
