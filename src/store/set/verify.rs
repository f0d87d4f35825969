//! Reads everything in a set and compares it with its checksums.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use serde::Serialize;

use super::chain::Archives;
use super::chunks::{Chunk, Packs, Place, UnreadChunk};
use super::layout::{BACKUPS, LOST_MANIFESTS, RECORDS, Set, manifest_path, opened, pack_path};
use super::list::{SetBackup, backups_of};
use super::manifest::Manifest;
use super::marks::Marks;
use super::objects::Object;
use super::rows::{FILE, each_row};
use super::send::each_object;
use super::sweep::Manifests;
use super::unread::Unread;
use crate::disk::SharedDisk;
use crate::error::{ErrorKind, Result};
use crate::records::archive::Span;
use crate::session::guarded;
use crate::store::findings::{Finding, VerifyReport};
use crate::store::open::Store;
use crate::value::Control;

const SENT_AGAIN: &str = "back up again: the file is written anew if the store still has it, and \
                          until then the backups named lack it";
const WRITTEN_AGAIN: &str = "back up again: the new backup has what the store still has of it; \
                             keep the file, because the backups named need the rest of it";
const NOT_MARKED: &str = "the set takes no writes, so the next backup does not know of this: make \
                          it writable, verify it again, and back up; keep the file, because the \
                          backups named need the rest of it";
const ARCHIVED_AGAIN: &str = "archive to the set again: the file is written anew if the store \
                              still has it; until then restore the backups, and the commits before \
                              it";
const UNREADABLE: &str = "remove this file from the set: the backup cannot be restored, and while \
                          it is there no space is given back";
const NONE_READABLE: &str = "back up again, and then remove this file from the set: the backup \
                             cannot be restored, and a set without manifests takes no backup";
const UNREAD: &str = "verify again, on another machine if need be; keep the file, because it may \
                      be whole";
const OTHER_BUILD: &str = "restore this backup with the build that the message names; keep the \
                           file, because the backup may be whole";
const BEGIN_ANEW: &str = "put the manifests back, or back up to another directory";
const AGAIN: &str = "verify again";

/// The result of the verification of a set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SetReport {
    /// The backups, the oldest first, each with the first problem that was found in what it needs.
    pub backups: Vec<SetBackup>,
    /// Everything that is wrong, up to a thousand findings.
    pub findings: Vec<Finding>,
    /// Number of further findings.
    pub findings_left_out: u64,
    /// Whether a call that writes to the set was interrupted. Nothing that a backup in the list
    /// needs is missing for that.
    pub is_unfinished: bool,
    /// Files of the store that were checked, each once.
    pub files: u64,
    /// Bytes that were checked: of those files, and of the records as they are stored.
    pub bytes: u64,
}

impl SetReport {
    /// Whether there are no findings.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
}

impl Store {
    /// Reads everything that the backups of a set need, and compares it with its checksums. The
    /// store is not needed. What several backups need is read once.
    ///
    /// A file that is damaged is marked in the set, and stays as it is. The next backup writes what
    /// the store still has of it anew.
    ///
    /// # Errors
    /// `NotFound` if there is no directory; `NotAStore` if it has no set; `Locked` while a backup
    /// writes to it; `NewerFormat`, `Corrupt` if `SET` is damaged; `Io`, also if the medium of the
    /// set is gone; the errors of `control`. Damage is a finding and not an error, and so is a
    /// place that the medium cannot read.
    pub fn verify_set(directory: impl AsRef<Path>, control: &Control) -> Result<SetReport> {
        let path = directory.as_ref();
        let attempt = format!("verifying the backups in {}", path.display());
        let disk = opened(path, &attempt)?;
        guarded("verifying the backups", || verify(disk, control))
            .map_err(|error| error.context(attempt))
    }

    /// As [`Store::verify_set`], of a disk: for tests on the simulated disk.
    ///
    /// # Errors
    /// As [`Store::verify_set`].
    #[cfg(any(test, feature = "faults"))]
    pub fn verify_set_disk(set: &SharedDisk, control: &Control) -> Result<SetReport> {
        guarded("verifying the backups", || verify(set.clone(), control))
    }
}

fn verify(disk: SharedDisk, control: &Control) -> Result<SetReport> {
    let set = Set::shared(disk)?;
    let manifests = Manifests::of(&set)?;
    let mut check = Check {
        set: &set,
        control,
        unread: Unread::new(&set, AGAIN),
        packs: Packs::new(&set.disk),
        chunks: HashMap::new(),
        objects: HashMap::new(),
        damage: BTreeMap::new(),
        files: 0,
        bytes: 0,
    };
    for manifest in &manifests.readable {
        check.backup(manifest)?;
    }
    let archives = Archives::of(&set)?;
    let mut unusable = BTreeMap::new();
    for span in archives.spans() {
        check.archived(*span, &mut unusable)?;
    }
    let mut backups = backups_of(&manifests);
    let mut report = VerifyReport::default();
    if set.has_lost_manifests()? {
        report.find(BACKUPS, "the manifests of all backups", LOST_MANIFESTS, BEGIN_ANEW);
    }
    let all_read = manifests.unreadable.is_empty();
    for (backup, error) in manifests.unreadable {
        let action = match error.kind() {
            ErrorKind::NewerFormat | ErrorKind::OlderFormat => OTHER_BUILD,
            ErrorKind::Io => UNREAD,
            _ if manifests.readable.is_empty() => NONE_READABLE,
            _ => UNREADABLE,
        };
        let error = match action {
            UNREAD => check.unread.lost(error)?,
            _ => error,
        };
        let place = format!("the backup {backup}");
        report.find(&manifest_path(backup), place, error.message(), action);
    }
    let Check { damage, files, bytes, unread, .. } = check;
    unread.end()?;
    let mut marks = Marks::of(&set)?;
    if all_read {
        // Whatever is needed was read: a mark that is left is of what was repaired, or of a read
        // that failed once. A set that takes no writes keeps it.
        let _ = marks
            .keep(&set, |path| damage.keys().chain(unusable.keys()).any(|(file, _)| file == path));
    }
    for ((file, problem), needed_by) in &damage {
        let ids: Vec<String> = needed_by.iter().map(u64::to_string).collect();
        let is_there = !matches!(set.disk.exists(file), Ok(false));
        let action = match file.starts_with(RECORDS) {
            _ if is_there && marks.add(&set, file).is_err() => NOT_MARKED,
            true => WRITTEN_AGAIN,
            false => SENT_AGAIN,
        };
        report.find(file, format!("needed by the backups {}", ids.join(", ")), problem, action);
        for backup in backups.iter_mut().filter(|backup| needed_by.contains(&backup.backup)) {
            backup.problem.get_or_insert_with(|| format!("{file}: {problem}"));
        }
    }
    for ((file, problem), commits) in &unusable {
        let is_there = !matches!(set.disk.exists(file), Ok(false));
        let is_not_marked = is_there && marks.add(&set, file).is_err();
        let action = if is_not_marked { NOT_MARKED } else { ARCHIVED_AGAIN };
        report.find(file, format!("needed by {commits}"), problem, action);
    }
    Ok(SetReport {
        backups,
        findings: report.findings,
        findings_left_out: report.findings_left_out,
        is_unfinished: set.is_unfinished()?,
        files,
        bytes,
    })
}

/// What is wrong below a chunk: file and problem of each damage.
type Wrong = BTreeSet<(String, String)>;

struct Check<'s> {
    set: &'s Set,
    control: &'s Control,
    unread: Unread,
    packs: Packs,
    /// The chunks that were read, with what is wrong with them and with what they name. Most have
    /// nothing wrong, which takes no memory.
    chunks: HashMap<Place, Wrong>,
    objects: HashMap<Object, Option<String>>,
    /// The backups that need what is damaged.
    damage: BTreeMap<(String, String), BTreeSet<u64>>,
    files: u64,
    bytes: u64,
}

impl Check<'_> {
    fn backup(&mut self, manifest: &Manifest) -> Result<()> {
        for list in manifest.row_lists.iter().chain(&manifest.file_lists) {
            let wrong = self.list(list)?;
            for damage in wrong {
                self.damage.entry(damage).or_default().insert(manifest.backup);
            }
        }
        Ok(())
    }

    /// Checks a file with commits, and the objects that they name. What is wrong goes to
    /// `unusable`, by file and problem, with the commits that need it.
    fn archived(
        &mut self,
        span: Span,
        unusable: &mut BTreeMap<(String, String), String>,
    ) -> Result<()> {
        self.control.check()?;
        let commits = format!("the commits from {} to {}", span.first, span.last);
        let mut objects = HashSet::new();
        let read = each_object(self.set, span, self.control, &mut |object| {
            objects.insert(object);
            Ok(())
        });
        match read {
            Ok(()) => self.unread.succeeded(),
            Err(error) => {
                let error = self.unread.lost(error)?;
                unusable.insert((span.path(), error.message().to_owned()), commits.clone());
            }
        }
        for object in objects {
            if let Some(problem) = self.object(&object)? {
                unusable.entry((object.path(), problem)).or_insert_with(|| commits.clone());
            }
        }
        Ok(())
    }

    fn list(&mut self, list: &Chunk) -> Result<Wrong> {
        if let Some(known) = self.chunks.get(&list.at) {
            return Ok(known.clone());
        }
        let mut wrong = Wrong::new();
        self.count(list);
        match self.packs.read_list(list) {
            Ok(chunks) => {
                self.unread.succeeded();
                for chunk in chunks {
                    wrong.extend(self.chunk(&chunk)?);
                }
            }
            Err(unread) => self.tell(&mut wrong, unread)?,
        }
        self.chunks.insert(list.at, wrong.clone());
        Ok(wrong)
    }

    fn chunk(&mut self, chunk: &Chunk) -> Result<Wrong> {
        if let Some(known) = self.chunks.get(&chunk.at) {
            return Ok(known.clone());
        }
        self.control.check()?;
        let mut wrong = Wrong::new();
        let mut objects = HashSet::new();
        self.count(chunk);
        let read = self.packs.read(chunk).and_then(|bytes| {
            each_row(&bytes, &mut |tag, path, row| {
                if tag == FILE {
                    objects.extend(Object::from_row(path, row)?.1);
                }
                Ok(())
            })
            .map_err(|error| UnreadChunk { pack: chunk.at.pack, error })
        });
        match read {
            Ok(()) => self.unread.succeeded(),
            Err(unread) => self.tell(&mut wrong, unread)?,
        }
        for object in objects {
            if let Some(problem) = self.object(&object)? {
                wrong.insert((object.path(), problem));
            }
        }
        self.chunks.insert(chunk.at, wrong.clone());
        Ok(wrong)
    }

    fn count(&mut self, chunk: &Chunk) {
        self.bytes += u64::from(chunk.at.stored);
        self.control.report(self.bytes, None, "bytes");
    }

    fn tell(&mut self, wrong: &mut Wrong, UnreadChunk { pack, error }: UnreadChunk) -> Result<()> {
        let error = self.unread.lost(error)?;
        wrong.insert((pack_path(pack), error.message().to_owned()));
        Ok(())
    }

    fn object(&mut self, object: &Object) -> Result<Option<String>> {
        if let Some(known) = self.objects.get(object) {
            return Ok(known.clone());
        }
        let problem = match object.check(&*self.set.disk, &object.path(), self.control) {
            Ok(()) => {
                self.unread.succeeded();
                None
            }
            Err(error) => Some(self.unread.lost(error)?.message().to_owned()),
        };
        self.files += 1;
        self.bytes += object.len;
        self.control.report(self.bytes, None, "bytes");
        self.objects.insert(*object, problem.clone());
        Ok(problem)
    }
}
