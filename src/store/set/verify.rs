//! Reads everything in a set and compares it with its checksums.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use serde::Serialize;

use super::chunks::{Chunk, Packs, Place, list_entries};
use super::layout::{Set, opened, pack_path};
use super::list::{SetBackup, backups_of};
use super::manifest::Manifest;
use super::objects::Object;
use super::rows::{FILE, each_row};
use super::sweep::Manifests;
use crate::disk::SharedDisk;
use crate::error::{Error, Result};
use crate::session::guarded;
use crate::store::findings::{Finding, VerifyReport};
use crate::store::open::Store;
use crate::value::Control;

const AGAIN: &str = "remove this file from the set and back up again: what the store still has of \
                     it is written anew; until then the backups named lack it";
const MISSING: &str = "back up again: what the store still has of it is written anew; until then \
                       the backups named lack it";
const UNREADABLE: &str = "remove this file from the set: the backup cannot be restored, and while \
                          it is there no space is given back";

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
    /// store is not needed, and the set is not changed. What several backups need is read once.
    ///
    /// # Errors
    /// `NotFound` if there is no directory; `NotAStore` if it has no set; `Locked` while a backup
    /// writes to it; `NewerFormat`, `Corrupt` if `SET` is damaged, `Io`; the errors of `control`.
    /// Damage is a finding and not an error.
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
    let Check { damage, files, bytes, .. } = check;
    let mut backups = backups_of(&manifests);
    let mut report = VerifyReport::default();
    for (backup, error) in &manifests.unreadable {
        let path = super::layout::manifest_path(*backup);
        report.find(&path, format!("the backup {backup}"), error.message(), UNREADABLE);
    }
    for ((file, problem), needed_by) in &damage {
        let ids: Vec<String> = needed_by.iter().map(u64::to_string).collect();
        let action = if matches!(set.disk.exists(file), Ok(false)) { MISSING } else { AGAIN };
        report.find(file, format!("needed by the backups {}", ids.join(", ")), problem, action);
        for backup in backups.iter_mut().filter(|backup| needed_by.contains(&backup.backup)) {
            backup.problem.get_or_insert_with(|| format!("{file}: {problem}"));
        }
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

    fn list(&mut self, list: &Chunk) -> Result<Wrong> {
        if let Some(known) = self.chunks.get(&list.at) {
            return Ok(known.clone());
        }
        let mut wrong = Wrong::new();
        match self.read(list).and_then(|bytes| list_entries(&bytes)) {
            Ok(chunks) => {
                for chunk in chunks {
                    wrong.extend(self.chunk(&chunk)?);
                }
            }
            Err(error) => tell(&mut wrong, &pack_path(list.at.pack), error)?,
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
        let read = self.read(chunk).and_then(|bytes| {
            each_row(&bytes, &mut |tag, path, row| {
                if tag == FILE {
                    objects.extend(Object::from_row(path, row)?.1);
                }
                Ok(())
            })
        });
        if let Err(error) = read {
            tell(&mut wrong, &pack_path(chunk.at.pack), error)?;
        }
        for object in objects {
            if let Some(problem) = self.object(&object)? {
                wrong.insert((object.path(), problem));
            }
        }
        self.chunks.insert(chunk.at, wrong.clone());
        Ok(wrong)
    }

    fn read(&mut self, chunk: &Chunk) -> Result<Vec<u8>> {
        self.bytes += u64::from(chunk.at.stored);
        self.control.report(self.bytes, None, "bytes");
        self.packs.read(chunk)
    }

    fn object(&mut self, object: &Object) -> Result<Option<String>> {
        if let Some(known) = self.objects.get(object) {
            return Ok(known.clone());
        }
        let checked = object.check(&*self.set.disk, &object.path(), self.control);
        let problem = match checked {
            Err(error) if error.is_damage() => Some(error.message().to_owned()),
            checked => {
                checked?;
                None
            }
        };
        self.files += 1;
        self.bytes += object.len;
        self.control.report(self.bytes, None, "bytes");
        self.objects.insert(*object, problem.clone());
        Ok(problem)
    }
}

fn tell(wrong: &mut Wrong, path: &str, error: Error) -> Result<()> {
    if !error.is_damage() {
        return Err(error);
    }
    wrong.insert((path.to_owned(), error.message().to_owned()));
    Ok(())
}
