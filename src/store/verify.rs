//! Verification: compares what is on disk with the records.

use super::findings::{RECORD_FILE, RESTORE, VerifyReport, is_damage};
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
    /// missing, foreign, or changed other than by a commit; that records and indexes agree; and
    /// that the text index agrees with the records.
    Checksums,
}

const MENDED: &str =
    "nothing, if there are no other findings; otherwise restore the store from a backup";
const REOPEN: &str =
    "close and reopen the store: nothing is lost, the text index is rebuilt from the records";
const MOVE: &str = "nothing is lost while the store is open: close it without a power cut or a \
                    kill, which moves the commits into records.redb";
const LOST: &str = "close the store, then open it in the directory that has its files now, or \
                    restore it from a backup";
const GIVEN_UP: &str = "nothing is lost: the text index was discarded; the next search, `maintain` \
                        or open rebuilds it from the records";
const UNVERIFIED: &str = "they are not in the form of redb 4.6, so no page is compared with its \
                          checksum when it is read";
const UPDATE: &str = "nothing is lost: `verify_pages` compares them; open the store with a build \
                      that knows the form";

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
        guarded("verifying", || self.verify_parts(level, control))
    }

    fn verify_parts(&self, level: VerifyLevel, control: &Control) -> Result<VerifyReport> {
        let mut report = VerifyReport::default();
        let checked = guarded("checking the place of the store", || self.engine().check_place());
        match checked {
            // No name leads to a file of this store, so nothing else can be checked.
            Err(error) if error.kind() == ErrorKind::Latched => {
                report.find(RECORD_FILE, "its name", error.message(), LOST);
                return Ok(report);
            }
            checked => checked?,
        }
        let checked = guarded("reading FORMAT", || {
            format::check_seed(&self.engine().disk, self.engine().seed)
        });
        if let Err(error) = checked {
            if !is_damage(&error) {
                return Err(error);
            }
            report.find(format::NAME, "the whole file", error.message(), RESTORE);
        }
        match format::number(&self.engine().disk) {
            Ok(number) => report.format = number,
            // Its damage was reported above.
            Err(error) if is_damage(&error) => {}
            Err(error) => return Err(error),
        }
        if level >= VerifyLevel::Checksums {
            // The scrub reports damage itself and continues. A panic of redb in unexpected damage
            // ends only the scrub.
            match guarded("scrubbing the records", || {
                scrub::scrub(&self.engine().snapshot(), control, &mut report)
            }) {
                Err(error) if is_damage(&error) => {
                    report.find(RECORD_FILE, "the pages of the records", error.message(), RESTORE);
                }
                scrubbed => scrubbed?,
            }
            self.report_pages(&mut report);
            for (file, problem) in self.engine().check_journal() {
                report.find(file, "the commits that records.redb lacks", problem, MOVE);
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
        match guarded("verifying the tables", || {
            crate::session::tables::verify(self.engine(), deep, control, found)
        }) {
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
                report.find(
                    RECORD_FILE,
                    "the checkpoint of the text index",
                    error.message(),
                    RESTORE,
                );
            }
            Err(error) => return Err(error),
        }
        let is_whole = damaged.is_empty();
        for (file, problem) in damaged {
            report.find(&file, "its content", problem, REOPEN);
        }
        if deep && is_whole {
            let found =
                |place: &str, problem: &str| report.find("search", place, problem, GIVEN_UP);
            let compared = guarded("comparing the text index", || {
                crate::session::outbox::verify::compare(self.engine(), control, found)
            });
            match compared {
                Err(error) if is_damage(&error) => {
                    report.find(
                        RECORD_FILE,
                        "the records of the text index",
                        error.message(),
                        RESTORE,
                    );
                }
                compared => compared?,
            }
        }
        Ok(report)
    }

    /// Reports what the reads of pages of the record file have shown.
    fn report_pages(&self, report: &mut VerifyReport) {
        let Some(refused) = self.engine().refused_pages() else {
            report.find(RECORD_FILE, "its pages", UNVERIFIED, UPDATE);
            return;
        };
        for at in refused {
            let place = format!("the page at byte {at}");
            report.find(RECORD_FILE, place, "it does not have its checksum", RESTORE);
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
        let engine = self.engine_mut()?;
        let checked = guarded("verifying the pages", || engine.check_pages());
        let mut report = match &checked {
            Err(error) if !is_damage(error) => return Err(error.clone()),
            _ => VerifyReport::default(),
        };
        match checked {
            Ok(true) => {}
            Ok(false) => report.find(
                RECORD_FILE,
                "its pages",
                "the bookkeeping was wrong and was repaired",
                MENDED,
            ),
            Err(error) => report.find(RECORD_FILE, "its pages", error.message(), RESTORE),
        }
        let rest = self.verify(VerifyLevel::Checksums, control)?;
        report.findings.extend(rest.findings);
        Ok(VerifyReport { findings: report.findings, ..rest })
    }
}
