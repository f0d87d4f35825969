//! The publisher: what changed in a store since the position in the lake, as one batch.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use object_store::ObjectStore;
use object_store::path::Path;
use stationdb::{
    Control, Error, ErrorKind, HoldBounds, HoldStatus, Identity, Position, Result, Session, Store,
};

use crate::buffers::Buffers;
use crate::layout::Layout;
use crate::log::{CommitOutcome, LakeLog};
use crate::pass::Pass;
use crate::remote::{Backoff, Note, Remote};
use crate::root::Root;
use crate::sender::SendTotals;
use crate::status::{LakeStatus, RootStatus};

/// Bytes of the name of a station.
const STATION_BYTES: usize = 64;
/// How often a root is planned again because others were first.
const PLANS: usize = 100;

/// What one call of [`Publisher::publish`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PublishReport {
    /// The sequence of the store that the lake now has.
    pub sequence: u64,
    /// Rows of tables sent.
    pub rows: u64,
    /// Measurements of results sent.
    pub measurements: u64,
    /// Steps of results sent.
    pub steps: u64,
    /// Data files.
    pub files: u64,
    /// Bytes of the data files.
    pub bytes: u64,
    /// Bytes of them that were taken over from the store's files without encoding them again.
    pub taken_bytes: u64,
    /// Commits.
    pub commits: u64,
    /// Roots of which all records were sent, because the change log did not reach back.
    pub full_passes: Vec<String>,
    /// Whether a subscriber holds the change log for the publisher. It does not when the policy
    /// allows the identity none; then a change log that was trimmed costs a full pass.
    pub is_held: bool,
}

/// Publishes a store to a lake of Delta tables.
///
/// The lake has the only position: a publisher may be dropped at any time, also in the middle of a
/// call, and the next one goes on with what the lake lacks. A publisher sees what its identity may
/// see. All calls block, and may be made on any thread, also on one of an async runtime.
///
/// ```
/// # fn main() -> stationdb::Result<()> {
/// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
/// use std::sync::Arc;
///
/// use object_store::memory::InMemory;
/// use stationdb::{Control, Identity, Store};
/// use stationdb_lake::{OneRoot, Publisher};
///
/// let store = Store::open(dir.path())?;
/// let objects = Arc::new(InMemory::new());
/// let who = Identity::user("publisher");
/// let publisher = Publisher::new(&store, who, objects, OneRoot::new("lake"), "station-7")?;
/// let published = publisher.publish(&Control::default())?;
/// assert_eq!(published.rows, 0);
/// # Ok(())
/// # }
/// ```
pub struct Publisher {
    session: Session,
    /// The user id of the session.
    who: String,
    remote: Remote,
    layout: Box<dyn Layout>,
    station: String,
    /// The bounds of the hold of the change log; `None` for those of the store's settings.
    hold: Option<HoldBounds>,
    /// The application id of the store in the logs of the lake.
    app: String,
    /// Logs as they were last read, by path; one call at a time.
    logs: Mutex<BTreeMap<Path, LakeLog>>,
}

impl std::fmt::Debug for Publisher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Publisher")
            .field("station", &self.station)
            .field("remote", &self.remote)
            .finish_non_exhaustive()
    }
}

impl Publisher {
    /// A publisher for what `who` may see of a store. `station` names the store in the lake: at
    /// most 64 letters, digits, `-`, `_` and `.`; no two stores of a lake may have the same.
    ///
    /// # Errors
    /// `InvalidArgument` for another name or a layout without roots; `Io` when no thread can be
    /// started.
    pub fn new(
        store: &Store,
        who: Identity,
        objects: Arc<dyn ObjectStore>,
        layout: impl Layout,
        station: &str,
    ) -> Result<Self> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let begins = station.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        if !begins || station.len() > STATION_BYTES || !station.bytes().all(is_allowed) {
            return Err(Error::invalid(format!(
                "{station:?} cannot name a station in a lake: use at most {STATION_BYTES} letters, \
                 digits, '-', '_' and '.', a letter or digit first"
            )));
        }
        if layout.roots().is_empty() {
            return Err(Error::invalid(
                "the layout has no root, so there is nowhere to publish to",
            ));
        }
        Ok(Self {
            who: who.user_id().to_owned(),
            session: store.session(who),
            remote: Remote::new(objects)?,
            layout: Box::new(layout),
            station: station.to_owned(),
            hold: None,
            app: format!("stationdb/{}", store.id()),
            logs: Mutex::new(BTreeMap::new()),
        })
    }

    /// The same publisher with another back-off.
    #[must_use]
    pub fn with_backoff(mut self, backoff: Backoff) -> Self {
        self.remote.backoff = backoff;
        self
    }

    /// The same publisher, which uploads in parts of this many bytes, at least 64 KiB. Default:
    /// 8 MiB.
    ///
    /// Parts are read, and come into a directory, in pieces of 512 KiB, so smaller ones do not save
    /// time there, but memory. S3 refuses parts of less than 5 MiB.
    #[must_use]
    pub fn with_part_bytes(mut self, bytes: usize) -> Self {
        self.remote.buffers = Arc::new(Buffers::new(bytes));
        self
    }

    /// The same publisher, which holds the change log of the store until one of these bounds is
    /// reached: for how long it may be offline, and what that may cost. Beyond them a publish sends
    /// all records. Default: the bounds of the store's settings. [`Publisher::status`] tells what
    /// is left.
    #[must_use]
    pub fn with_hold(mut self, bounds: HoldBounds) -> Self {
        self.hold = Some(bounds);
        self
    }

    /// The same publisher, which tells `listener` of retries, races and commits as they happen.
    #[must_use]
    pub fn with_notes(mut self, listener: impl Fn(Note) + Send + Sync + 'static) -> Self {
        self.remote.listener = Some(Arc::new(listener));
        self
    }

    /// Publishes what the lake lacks of the store's state at this call, and returns what was sent.
    /// It reports rows to `control`, and looks at it between requests and blocks of rows.
    ///
    /// After an error the lake has a part of the batch, which its readers do not see until a later
    /// call completes it.
    ///
    /// # Errors
    /// `Conflict` when the lake is ahead of the store, or has another history: the store was
    /// restored or copied, see [`Publisher::rebase`]; when another store has the name of the
    /// station in the lake, or this store has another name there. `Unsupported` for lake tables
    /// with properties that a publisher does not know, and for object stores without conditional
    /// put. `Io` and `PermissionDenied` of the object store; `Cancelled` and `DeadlineExceeded` by
    /// `control`; errors of the store.
    pub fn publish(&self, control: &Control) -> Result<PublishReport> {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        let published = self.publish_all(&mut logs, control);
        self.remote.buffers.clear();
        published
    }

    fn publish_all(
        &self,
        logs: &mut BTreeMap<Path, LakeLog>,
        control: &Control,
    ) -> Result<PublishReport> {
        let subscriber = self.subscriber();
        let registered = match self.hold {
            Some(bounds) => self.session.register_subscriber_with(&subscriber, bounds),
            None => self.session.register_subscriber(&subscriber),
        };
        let (is_held, is_lost) = match registered {
            Ok(_) => (true, false),
            Err(error) if error.kind() == ErrorKind::Conflict => (true, true),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => (false, false),
            Err(error) => return Err(error),
        };
        let pinned = self.session.pinned();
        if is_lost {
            // The changes since the begin of the full pass have to be there when it is complete.
            self.advance(&subscriber, pinned.position())?;
        }
        let mut published =
            PublishReport { sequence: pinned.position().0, is_held, ..PublishReport::default() };
        let mut sent = SendTotals::default();
        for root in self.layout.roots() {
            if let Some(reason) = self.publish_root(&pinned, &root, logs, &mut sent, control)? {
                self.remote.note(Note::FullPass { reason: reason.to_owned() });
                published.full_passes.push(root.to_string());
            }
        }
        let SendTotals { rows, measurements, steps, files, bytes, taken, commits } = sent;
        let taken_bytes = taken;
        let counts = PublishReport {
            rows,
            measurements,
            steps,
            files,
            bytes,
            taken_bytes,
            commits,
            ..published
        };
        if is_held {
            self.advance(&subscriber, Position(counts.sequence))?;
        }
        Ok(counts)
    }

    /// The name of the subscriber that holds the change log.
    fn subscriber(&self) -> String {
        format!("lake/{}", self.station)
    }

    /// Moves the subscriber forward, unless another publisher of the station is further.
    fn advance(&self, subscriber: &str, to: Position) -> Result<()> {
        let moved = self.session.advance_subscriber(subscriber, to);
        moved.or_else(|error| match error.kind() {
            ErrorKind::InvalidArgument | ErrorKind::NotFound => Ok(()),
            ErrorKind::PermissionDenied => Ok(()),
            _ => Err(error),
        })
    }

    /// What the subscriber holds; `None` before the first publish, and when the policy allows none.
    fn hold_status(&self) -> Result<Option<HoldStatus>> {
        let listed = match self.session.subscribers() {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(None),
            listed => listed?,
        };
        let name = self.subscriber();
        let own = |of: Option<&str>| {
            listed.iter().find(|told| told.name == name && told.owner.as_deref() == of)
        };
        let found = own(Some(&self.who)).or_else(|| own(None));
        Ok(found.map(|subscriber| subscriber.hold))
    }

    /// Publishes to one root. Returns why all records were sent, if they were.
    fn publish_root(
        &self,
        pinned: &Session,
        root: &Path,
        logs: &mut BTreeMap<Path, LakeLog>,
        sent: &mut SendTotals,
        control: &Control,
    ) -> Result<Option<&'static str>> {
        let mut full = None;
        let mut later = None;
        for _ in 0..PLANS {
            let session = later.as_ref().unwrap_or(pinned);
            let mut pass = Pass { root: self.root(root, session), logs, sent, full: None };
            match pass.publish(control) {
                Ok(CommitOutcome::Done) => return Ok(full.or(pass.full)),
                Ok(CommitOutcome::PlanAgain) => {
                    full = full.or(pass.full);
                    logs.clear();
                    // The lake may have what came after the snapshot.
                    later = Some(self.session.pinned());
                }
                Err(error) => {
                    // What was read may be half of a version's news.
                    logs.clear();
                    return Err(error);
                }
            }
        }
        Err(Error::conflict(format!(
            "other publishers of the station {} were first {PLANS} times; let only one publish",
            self.station
        )))
    }

    fn root<'a>(&'a self, root: &'a Path, session: &'a Session) -> Root<'a> {
        Root {
            remote: &self.remote,
            layout: self.layout.as_ref(),
            station: &self.station,
            app: &self.app,
            path: root,
            session,
            live: &self.session,
        }
    }

    /// Begins a new epoch in the roots: the next call of [`Publisher::publish`] sends everything
    /// again, and readers of the lake then see that alone. Nothing is removed from the lake.
    ///
    /// This is for a store that was restored from a backup, or a copy that is to go on instead of
    /// the store that it comes from.
    ///
    /// What only the lake has does not count any more after it: rows and records that came after
    /// the backup, and rows that retention has deleted at the station since. The station cannot
    /// send them again, and ordinals of the two histories are not the same rows. They stay in the
    /// lake, in batches of the earlier epoch.
    ///
    /// # Errors
    /// `Conflict` when another publisher of the station is at work; the errors of
    /// [`Publisher::publish`].
    pub fn rebase(&self, control: &Control) -> Result<()> {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        logs.clear();
        for root in self.layout.roots() {
            let mut lake = self.root(&root, &self.session).open_batches(control)?;
            if !lake.exists() {
                continue;
            }
            self.root(&root, &self.session).check_station(&lake)?;
            let position = crate::position::read(&lake, &self.app);
            let epoch = position.epoch + 1;
            let actions = vec![
                crate::position::txn(&self.app, epoch, "", 0),
                crate::position::txn(&self.app, epoch, "/rows_from", epoch << crate::EPOCH_BITS),
            ];
            let outcome = lake.commit(&self.remote, "REBASE", actions, &|_| true, control)?;
            if outcome == CommitOutcome::PlanAgain {
                return Err(Error::conflict(format!(
                    "another publisher of the station {} is at work; stop it, and rebase again",
                    self.station
                )));
            }
        }
        Ok(())
    }

    /// How far the lake is, and what it lacks. Reads the logs of the lake and the change log of the
    /// store, and changes neither.
    ///
    /// # Errors
    /// As [`Publisher::publish`], without `Conflict`.
    pub fn status(&self, control: &Control) -> Result<LakeStatus> {
        let pinned = self.session.pinned();
        let roots = self.layout.roots();
        let hold = self.hold_status()?;
        let mut status = LakeStatus { sequence: pinned.position().0, hold, roots: Vec::new() };
        for root in &roots {
            let found: RootStatus = self.root(root, &pinned).status(control)?;
            status.roots.push(found);
        }
        Ok(status)
    }
}
