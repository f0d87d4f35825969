//! Verification: compares what is on disk with the records.

use super::findings::{MOVE, REOPEN, RESTORE, VerifyReport, checked};
use super::open::Store;
use super::{format, scrub};
use crate::error::{ErrorKind, Result};
use crate::session::guarded;
use crate::value::Control;

/// How thorough a verification is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VerifyLevel {
    /// Checks that every named file exists with its length.
    Headers,
    /// In addition, checks that every checksum matches; that no entry of the record file is
    /// missing, foreign, or changed other than by a commit; that records and indexes agree; that
    /// the steps fit their results; and that the text index agrees with the records.
    Checksums,
}

const MENDED: &str =
    "nothing, if there are no other findings; otherwise restore the store from a backup";
const LOST: &str = "close the store, then open it in the directory that has its files now, or \
                    restore it from a backup";
const GIVEN_UP: &str = "nothing is lost: the text index was discarded; the next search, `maintain` \
                        or open rebuilds it from the records";
const UNVERIFIED: &str = "they are not in the form of redb 4.6, so no page is compared with its \
                          checksum when it is read";
const UPDATE: &str = "nothing is lost: `verify_pages` compares them; open the store with a build \
                      that knows the form";

/// Files that are damaged, and what is wrong with each.
#[derive(Default)]
struct Damaged(Vec<(String, String)>);

impl Damaged {
    /// Verifies files, which records at `place` name; `verify` returns the number of files and of
    /// their bytes.
    fn of(
        &mut self,
        report: &mut VerifyReport,
        attempt: &str,
        place: &str,
        verify: impl FnOnce(&mut dyn FnMut(&str, &str)) -> Result<(u64, u64)>,
    ) -> Result<()> {
        let mut found = |file: &str, problem: &str| {
            self.0.push((file.to_owned(), problem.to_owned()));
        };
        let verified = checked(attempt, || verify(&mut found))?;
        let (files, bytes) = report.undamaged(verified, place, RESTORE).unwrap_or_default();
        report.files += files;
        report.file_bytes += bytes;
        Ok(())
    }

    fn tell(self, report: &mut VerifyReport, action: &str) {
        for (file, problem) in self.0 {
            report.find(&file, "its content", problem, action);
        }
    }
}

impl Store {
    /// Looks for damage while readers and writers continue: in one snapshot, up to `level`.
    ///
    /// If the directory of the store or its record file was moved, removed or replaced meanwhile,
    /// that is the only finding.
    ///
    /// With checksums, the text index is brought up to date and compared with the records, document
    /// by document. An index that differs is discarded and rebuilt from the records. The comparison
    /// is skipped if the store has no text index yet, or if its text index cannot be written now.
    ///
    /// # Errors
    /// `Locked` in a forked process; the errors of `control`. Damage is a finding and not an error.
    pub fn verify(&self, level: VerifyLevel, control: &Control) -> Result<VerifyReport> {
        let known = self.known_damage();
        let verified = guarded("verifying", || self.verify_parts(level, control));
        if level >= VerifyLevel::Checksums {
            self.record_verification(known, &verified);
        }
        verified
    }

    fn verify_parts(&self, level: VerifyLevel, control: &Control) -> Result<VerifyReport> {
        let mut report = VerifyReport::default();
        let placed = guarded("checking the place of the store", || self.engine().check_place());
        match placed {
            // No name leads to a file of this store, so nothing else can be checked.
            Err(error) if error.kind() == ErrorKind::Latched => {
                report.find_in_records("its name", error.message(), LOST);
                return Ok(report);
            }
            placed => placed?,
        }
        let read = checked("reading FORMAT", || {
            format::check_seed(&self.engine().disk, self.engine().seed)
        })?;
        if let Err(error) = read {
            report.find(format::NAME, "the whole file", error.message(), RESTORE);
        }
        // Its damage was reported above.
        let number = checked("reading FORMAT", || format::number(&self.engine().disk))?;
        report.format = number.unwrap_or(report.format);
        let deep = level >= VerifyLevel::Checksums;
        if deep {
            // The scrub reports damage itself and continues. A panic of redb in unexpected damage
            // ends only the scrub.
            let scrubbed = checked("scrubbing the records", || {
                let snapshot = self.engine().snapshot();
                let _hold =
                    self.engine().readers.hold("a verification".to_owned(), snapshot.sequence);
                scrub::scrub(&snapshot, control, &mut report)
            })?;
            report.undamaged(scrubbed, "the pages of the records", RESTORE);
            self.report_pages(&mut report);
            for (file, problem) in self.engine().check_journal() {
                report.find(file, "the commits that records.redb lacks", problem, MOVE);
            }
        }
        let engine = self.engine();
        let mut damaged = Damaged::default();
        damaged.of(&mut report, "verifying the contents", "the records of files", |found| {
            crate::services::verify_contents(engine, deep, control, found)
        })?;
        damaged.of(&mut report, "verifying the tables", "the manifests of tables", |found| {
            crate::session::tables::verify(engine, deep, control, found)
        })?;
        damaged.tell(&mut report, RESTORE);
        if deep {
            let found =
                |place: &str, problem: &str| report.find_in_records(place, problem, RESTORE);
            let compared = checked("comparing the steps with their results", || {
                crate::services::verify_steps(engine, control, found)
            })?;
            report.undamaged(compared, "the steps of results", RESTORE);
        }
        let mut damaged = Damaged::default();
        let checkpoint = "the checkpoint of the text index";
        damaged.of(&mut report, "verifying the text index", checkpoint, |found| {
            crate::session::outbox::verify::verify(engine, deep, control, found)
        })?;
        let is_whole = damaged.0.is_empty();
        damaged.tell(&mut report, REOPEN);
        if deep && is_whole {
            let found =
                |place: &str, problem: &str| report.find("search", place, problem, GIVEN_UP);
            let compared = checked("comparing the text index", || {
                crate::session::outbox::verify::compare(engine, control, found)
            })?;
            report.undamaged(compared, "the records of the text index", RESTORE);
        }
        Ok(report)
    }

    /// Reports what the reads of pages of the record file have shown.
    fn report_pages(&self, report: &mut VerifyReport) {
        let Some(refused) = self.engine().refused_pages() else {
            report.find_in_records("its pages", UNVERIFIED, UPDATE);
            return;
        };
        for at in refused {
            let place = format!("the page at byte {at}");
            report.find_in_records(place, "it does not have its checksum", RESTORE);
        }
    }

    /// As [`Store::verify`] with every checksum. Before that, it reads each page of the record file
    /// and compares the checksums of the storage engine, so that the medium itself is read and not
    /// a cache.
    ///
    /// # Errors
    /// `Conflict` while other clones of the store or sessions exist, because no reader may exist
    /// meanwhile; as [`Store::verify`].
    pub fn verify_pages(&mut self, control: &Control) -> Result<VerifyReport> {
        control.check()?;
        let known = self.known_damage();
        let verified = self.verify_all_pages(control);
        self.record_verification(known, &verified);
        verified
    }

    fn verify_all_pages(&mut self, control: &Control) -> Result<VerifyReport> {
        let pages = self.without_threads(|store| {
            let engine = store.engine_mut()?;
            checked("verifying the pages", || engine.check_pages())
        })?;
        let mut report = VerifyReport::default();
        if report.undamaged(pages, "its pages", RESTORE) == Some(false) {
            let problem = "the bookkeeping was wrong and was repaired";
            report.find_in_records("its pages", problem, MENDED);
        }
        let rest = guarded("verifying", || self.verify_parts(VerifyLevel::Checksums, control))?;
        report.findings.extend(rest.findings);
        Ok(VerifyReport { findings: report.findings, ..rest })
    }
}
