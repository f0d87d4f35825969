//! Import of what a station published, the centre for instance, into the store of another one.
//!
//! The position of the source is in the store, and moves with the records in one commit. So an
//! importer may be dropped at any time, and a lake that is read again is not applied again.

mod changes;
mod files;
mod read;

use std::collections::BTreeMap;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::path::Path;
use stationdb::prelude::*;
use stationdb::scans::{
    ImportChoice, ImportConflict, ImportRecordsRequest, ImportRecordsResponse, RecordKind,
};
use stationdb::{Control, Error, ErrorKind, Identity, Result, Session, Store};

use crate::EPOCH_BITS;
use crate::remote::{Backoff, Note, Remote};
use changes::{ChangeReader, LakeSource};

/// How often an import begins again because the lake or the store changed meanwhile.
const TRIES: usize = 10;
/// The kinds that an import takes.
const KINDS: [RecordKind; 4] = [
    RecordKind::Product,
    RecordKind::Specification,
    RecordKind::WorkItemTemplate,
    RecordKind::TestPlanTemplate,
];

/// What one call of [`Importer::import`] did.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ImportReport {
    /// The number of the batch up to which the store now has the source; `None` when the source
    /// published nothing yet.
    pub batch: Option<u64>,
    /// Commits of the store: one, unless the changes are too many for one.
    pub commits: u64,
    /// Records that were created.
    pub created: u64,
    /// Records that were changed.
    pub updated: u64,
    /// Records that were deleted.
    pub deleted: u64,
    /// Records that came and stay as they are.
    pub unchanged: u64,
    /// Why all records of a kind were read, if they were.
    pub full_passes: Vec<String>,
    /// What waits for a decision, see [`Importer::settle`].
    pub conflicts: Vec<ImportConflict>,
}

impl ImportReport {
    fn add(&mut self, answer: ImportRecordsResponse) {
        let number = |count: i64| u64::try_from(count).unwrap_or_default();
        self.created += number(answer.created_count);
        self.updated += number(answer.updated_count);
        self.deleted += number(answer.deleted_count);
        self.unchanged += number(answer.unchanged_count);
        self.commits += u64::from(answer.applied);
        self.conflicts = answer.conflicts;
    }
}

/// Imports the reference data of one station of a lake.
///
/// All calls block, and may be made on any thread, also on one of an async runtime. What was
/// changed here is never overwritten: it is told as a conflict, and waits for
/// [`Importer::settle`].
///
/// ```
/// # fn main() -> stationdb::Result<()> {
/// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
/// use std::sync::Arc;
///
/// use object_store::memory::InMemory;
/// use stationdb::scans::RecordKind;
/// use stationdb::{Control, Identity, Store};
/// use stationdb_lake::Importer;
///
/// let store = Store::open(dir.path())?;
/// let objects = Arc::new(InMemory::new());
/// let kinds = [RecordKind::Product, RecordKind::Specification];
/// let who = Identity::user("importer");
/// let importer = Importer::new(&store, who, objects, "lake", "centre", kinds)?;
/// let imported = importer.import(&Control::default())?;
/// for conflict in &imported.conflicts {
///     println!("{} {}: {}", conflict.kind, conflict.id, conflict.reason);
/// }
/// # Ok(())
/// # }
/// ```
pub struct Importer {
    session: Session,
    /// Readers of files have it for as long as a call works.
    remote: Arc<Remote>,
    root: Path,
    station: String,
    kinds: Vec<RecordKind>,
    workspaces: BTreeMap<String, String>,
}

impl std::fmt::Debug for Importer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Importer")
            .field("station", &self.station)
            .field("remote", &self.remote)
            .finish_non_exhaustive()
    }
}

/// A position as the store has it: the last batch, and the kinds that were imported.
fn position_of(batch: u64, kinds: &[RecordKind]) -> String {
    let kinds: Vec<String> = kinds.iter().map(ToString::to_string).collect();
    format!("batch {batch} of {}", kinds.join(","))
}

/// The batch of a position with the same kinds.
fn batch_of(position: &str, kinds: &[RecordKind]) -> Option<u64> {
    let batch = position.strip_prefix("batch ")?.split(' ').next()?.parse().ok()?;
    (position_of(batch, kinds) == position).then_some(batch)
}

impl Importer {
    /// An importer into a store, as `who`, of what `station` published below `root` of a lake: the
    /// kinds PRODUCT, SPECIFICATION, WORK_ITEM_TEMPLATE and TEST_PLAN_TEMPLATE, or some of them.
    /// Root and station are the name of the source in the store, as `lake/centre`.
    ///
    /// # Errors
    /// `InvalidArgument` without a kind; `Unsupported` for other kinds; `Io` when no thread can be
    /// started.
    pub fn new(
        store: &Store,
        who: Identity,
        objects: Arc<dyn ObjectStore>,
        root: impl Into<Path>,
        station: &str,
        kinds: impl IntoIterator<Item = RecordKind>,
    ) -> Result<Self> {
        let wanted: Vec<RecordKind> = kinds.into_iter().collect();
        if let Some(other) = wanted.iter().find(|kind| !KINDS.contains(kind)) {
            return Err(Error::unsupported(format!(
                "records of the kind {other} are not imported; PRODUCT, SPECIFICATION, \
                 WORK_ITEM_TEMPLATE and TEST_PLAN_TEMPLATE are"
            )));
        }
        if wanted.is_empty() {
            return Err(Error::invalid("an import needs at least one kind of record"));
        }
        Ok(Self {
            session: store.session(who),
            remote: Arc::new(Remote::new(objects)?),
            root: root.into(),
            station: station.to_owned(),
            kinds: KINDS.into_iter().filter(|kind| wanted.contains(kind)).collect(),
            workspaces: BTreeMap::new(),
        })
    }

    /// The same importer with ids of workspaces here, by their ids at the source. Others have the
    /// same id.
    #[must_use]
    pub fn with_workspaces<S: Into<String>>(
        mut self,
        workspaces: impl IntoIterator<Item = (S, S)>,
    ) -> Self {
        let pair = |(there, here): (S, S)| (there.into(), here.into());
        self.workspaces = workspaces.into_iter().map(pair).collect();
        self
    }

    /// The same importer with another back-off.
    #[must_use]
    pub fn with_backoff(mut self, backoff: Backoff) -> Self {
        if let Some(remote) = Arc::get_mut(&mut self.remote) {
            remote.backoff = backoff;
        }
        self
    }

    /// The same importer, which tells `listener` of retries as they happen.
    #[must_use]
    pub fn with_notes(mut self, listener: impl Fn(Note) + Send + Sync + 'static) -> Self {
        if let Some(remote) = Arc::get_mut(&mut self.remote) {
            remote.listener = Some(Arc::new(listener));
        }
        self
    }

    /// Imports what the source published since the last import, as one commit, and returns what
    /// was done and what conflicts.
    ///
    /// All records are read when the position of the store is not one of the lake: at the first
    /// import, with other kinds, and after the source began a new epoch (`Publisher::rebase`).
    /// What is more than 100,000 records or 48 MiB is imported by several commits, each of which
    /// has the state of the source after one of its batches.
    ///
    /// # Errors
    /// `LimitExceeded` for a batch that is too large for one commit; `Corrupt` when versions or
    /// files of the lake are lost; `Unsupported` for lake tables with properties that are not
    /// known; `Io` and `PermissionDenied` of the object store; `Cancelled` and `DeadlineExceeded`
    /// by `control`; the errors of [`RecordService::import_records`]. What was committed before
    /// stays, and the next call goes on.
    pub fn import(&self, control: &Control) -> Result<ImportReport> {
        let mut imported = ImportReport::default();
        let mut tries = 0;
        loop {
            control.check()?;
            match self.step(&mut imported, control) {
                Ok(true) => {}
                Ok(false) => return Ok(imported),
                // Another importer was first, or a file was compacted since its log was read.
                Err(error)
                    if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound)
                        && tries + 1 < TRIES =>
                {
                    tries += 1;
                    let delay = self.remote.delay(tries as u32);
                    self.remote.note(Note::Retry {
                        attempt: format!("importing from {}", self.station),
                        error: error.to_string(),
                        after: delay,
                    });
                    self.remote.wait(control, delay)?;
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return Err(Error::corrupt(format!(
                        "the lake at {} has lost a file that its log names; let the station {} \
                         publish all again (Publisher::rebase)",
                        self.root, self.station
                    ))
                    .with_source(error));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Settles conflicts that were told, and returns those that wait after it. Does not read the
    /// lake.
    ///
    /// # Errors
    /// Those of [`RecordService::import_records`].
    pub fn settle(
        &self,
        choices: impl IntoIterator<Item = ImportChoice>,
    ) -> Result<Vec<ImportConflict>> {
        let request = self.request().choices(choices);
        Ok(self.session.import_records(request)?.conflicts)
    }

    fn request(&self) -> ImportRecordsRequest {
        let source = format!("{}/{}", self.root, self.station);
        ImportRecordsRequest::new(source).workspaces(self.workspaces.clone())
    }

    /// One commit. Returns whether the lake has more.
    fn step(&self, imported: &mut ImportReport, control: &Control) -> Result<bool> {
        let known = self.session.with_control(control).import_records(self.request())?;
        let position = known.position.clone();
        imported.add(known);
        let published =
            LakeSource { remote: &self.remote, root: &self.root, station: &self.station, control };
        // Before the changes: those of a batch are in the lake before it is complete.
        let batches = published.batches()?;
        let Some(newest) = batches.last().copied() else { return Ok(false) };
        let at = position.as_deref().and_then(|text| batch_of(text, &self.kinds));
        imported.batch = at;
        if at == Some(newest) {
            return Ok(false);
        }
        let why = match at {
            None if position.is_none() => Some("nothing was imported yet"),
            None => Some("other kinds were imported before"),
            Some(at) if at > newest => Some("the lake is behind the position in the store"),
            Some(at) if at >> EPOCH_BITS != newest >> EPOCH_BITS => {
                Some("the source began a new epoch")
            }
            Some(_) => None,
        };
        let after = at.filter(|_| why.is_none());
        let found = self.changes(&published, after, newest)?;
        let has_pass = found.iter().any(ChangeReader::has_pass);
        let why = why.or(has_pass.then_some("the source published all records again"));
        let mut request = self.request();
        request.after = position;
        if let Some(why) = why {
            self.remote.note(Note::FullPass { reason: why.to_owned() });
            imported.full_passes.push(why.to_owned());
            // A kind of which the lake has nothing deletes nothing here.
            request.full = Some(found.iter().map(ChangeReader::kind).collect());
        }
        let first = found.iter().map(ChangeReader::first_cut).max().unwrap_or_default();
        let after = at.filter(|_| why.is_none());
        let is_cut = |cut: &u64| *cut >= first && after.is_none_or(|after| *cut > after);
        let cuts: Vec<u64> = batches.into_iter().filter(is_cut).collect();
        let (until, answer) = self.commit(&published, &cuts, &found, &request)?;
        imported.add(answer);
        imported.batch = Some(until);
        Ok(until != newest)
    }

    /// Imports up to the newest batch, or up to an earlier one if that is too much for one commit.
    /// Returns the batch.
    fn commit(
        &self,
        published: &LakeSource<'_>,
        cuts: &[u64],
        found: &[ChangeReader],
        request: &ImportRecordsRequest,
    ) -> Result<(u64, ImportRecordsResponse)> {
        let mut left = cuts;
        while let Some((until, earlier)) = left.split_last() {
            let (mut records, mut bytes, mut has_room) = (Vec::new(), 0, true);
            for changes in found {
                has_room =
                    has_room && changes.records(published, *until, &mut bytes, &mut records)?;
            }
            if has_room {
                let request =
                    request.clone().position(position_of(*until, &self.kinds)).records(records);
                let session = self.session.with_control(published.control);
                return Ok((*until, session.import_records(request)?));
            }
            left = earlier.get(..earlier.len().div_ceil(2)).unwrap_or_default();
        }
        Err(Error::limit(format!(
            "one batch of the station {} has more reference data than one commit takes; import \
             fewer kinds",
            self.station
        )))
    }

    /// The changes of all kinds. After a pass of one kind all kinds are read from the beginning:
    /// an import is either of changes or of all.
    fn changes(
        &self,
        published: &LakeSource<'_>,
        after: Option<u64>,
        until: u64,
    ) -> Result<Vec<ChangeReader>> {
        let read = |after: Option<u64>| -> Result<Vec<ChangeReader>> {
            let kinds = self.kinds.iter();
            let found = kinds.map(|kind| published.changes(*kind, after, until));
            Ok(found.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
        };
        let found = read(after)?;
        if after.is_some() && found.iter().any(ChangeReader::has_pass) {
            read(None)
        } else {
            Ok(found)
        }
    }
}
