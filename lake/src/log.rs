//! The log of a Delta table: what a lake table has, and how a commit comes into it.
//!
//! A version is an object that is created only if it does not exist, so all writers agree on one
//! order. A writer creates only the version after the last one that it has read, so it has seen
//! whatever its commit depends on.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use object_store::path::Path;
use serde_json::Value;
use stationdb::{Control, Error, Result};

use crate::checks::{Check, is_off};
use crate::clock::now_ms;
use crate::ledger::{Ledger, LedgerEntry, STATEMENTS};
use crate::remote::Remote;
use crate::stations::{STATION, Stations};
use crate::{accepts, actions, checkpoint, versions};

mod commit;

pub(crate) use commit::CommitOutcome;

/// Member of `commitInfo` by which a writer finds its own commit.
const COMMIT: &str = "stationdb.commit";
/// Part of the application id that names a lake table.
pub(crate) const TABLES: &str = "/tables/";
/// Age of what was read at which a log is opened again. Engines keep versions for days.
const OLD: Duration = Duration::from_secs(3600);

/// What came into a log since it was last read.
#[derive(Clone, Copy, Debug, Default)]
struct LogChanges {
    /// The commit that was looked for.
    is_mine: bool,
    /// A commit of the same station that was not looked for.
    has_own: bool,
}

/// A lake table as its log says.
#[derive(Debug)]
pub(crate) struct LakeLog {
    /// `<root>/<name>`.
    pub path: Path,
    pub name: String,
    /// The application id of the store, without an epoch.
    app: String,
    directory: Path,
    /// The last version that was read.
    version: Option<u64>,
    /// The last checkpoint that is known, or that was tried.
    checkpoint: Option<u64>,
    /// The last `metaData`.
    metadata: Option<Value>,
    /// The fields of the schema.
    pub fields: Vec<Value>,
    /// Application ids of the store, and their versions.
    pub txns: BTreeMap<String, i64>,
    /// The stations of all stores.
    pub stations: Stations,
    pub ledger: Ledger,
    /// When it was last read: a clock that stands still while the machine sleeps, and one that may
    /// be set.
    read_at: (Instant, i64),
}

impl LakeLog {
    /// Reads the log from its last checkpoint; a table that does not exist has none.
    pub(crate) fn open(
        remote: &Remote,
        root: &Path,
        name: &str,
        app: &str,
        control: &Control,
    ) -> Result<Self> {
        let mut log = Self::new(root.clone().join(name), name, app);
        log.checkpoint = checkpoint::hinted(remote, &log.directory, control)?;
        if let Some(version) = log.checkpoint {
            log.begin_at(remote, version, control)?;
        }
        let begin = log.version;
        log.refresh(remote, None, control)?;
        if log.version == begin {
            log.pass_by_removed(remote, control)?;
        }
        Ok(log)
    }

    fn new(path: Path, name: &str, app: &str) -> Self {
        Self {
            directory: checkpoint::directory(&path),
            path,
            name: name.to_owned(),
            app: app.to_owned(),
            version: None,
            checkpoint: None,
            metadata: None,
            fields: Vec::new(),
            txns: BTreeMap::new(),
            stations: Stations::default(),
            ledger: Ledger::default(),
            read_at: (Instant::now(), now_ms()),
        }
    }

    pub(crate) fn exists(&self) -> bool {
        self.metadata.is_some()
    }

    /// Whether a commit of the store said what it sent.
    pub(crate) fn has_statements(&self) -> bool {
        !self.ledger.sent.is_empty() || !self.ledger.gone.is_empty()
    }

    fn file(&self, version: u64) -> Path {
        checkpoint::version_file(&self.directory, version)
    }

    /// Begins at a checkpoint. Returns whether it was there, and has all that the store said: what
    /// files said that another engine compacted is in no checkpoint.
    fn begin_at(&mut self, remote: &Remote, version: u64, control: &Control) -> Result<bool> {
        let mut log = Self::new(self.path.clone(), &self.name, &self.app);
        let mut said = Vec::new();
        let mut each = |kind: &str, action| log.take(kind, &action, &mut said).map(drop);
        let is_read = checkpoint::read(remote, &self.directory, version, &mut each, control)?;
        said.sort_by_key(LedgerEntry::order);
        said.into_iter().for_each(|said| log.ledger.take(said));
        let is_whole = log.is_whole() || is_off(Check::WholeCheckpoint);
        if !is_read || !log.exists() || !is_whole {
            return Ok(false);
        }
        log.version = Some(version);
        log.checkpoint = Some(version);
        *self = log;
        Ok(true)
    }

    /// Whether the statements are all that the store made in this log.
    fn is_whole(&self) -> bool {
        let counted = self.txns.get(&format!("{}{STATEMENTS}", self.app));
        match counted {
            Some(counted) => u64::try_from(*counted) == Ok(self.ledger.count),
            // Names say nothing of what was sent.
            None => {
                let is_name = |id: &String| id.contains(STATION) || id.contains(TABLES);
                self.txns.keys().all(is_name) && self.ledger.count == 0
            }
        }
    }

    /// Goes on after versions that were removed: the next version is not there, and must not be
    /// created, because readers begin after it.
    fn pass_by_removed(&mut self, remote: &Remote, control: &Control) -> Result<()> {
        if is_off(Check::RemovedVersions) && self.version.is_some() {
            return Ok(());
        }
        let later = checkpoint::after(remote, &self.directory, self.version, control)?;
        let (version, checkpoint) = later;
        if version.is_none() && checkpoint.is_none() {
            return Ok(());
        }
        let next = self.version.map_or(0, |version| version + 1);
        // It may have been created since.
        let is_there = remote.size(&self.file(next), control)?.is_some();
        let begins = match checkpoint.filter(|_| !is_there) {
            Some(checkpoint) => self.begin_at(remote, checkpoint, control)?,
            None => is_there,
        };
        if begins {
            self.refresh(remote, None, control).map(drop)
        } else {
            Err(self.refused(
                "versions were removed, and no checkpoint says all that the store sent; keep the \
                 versions of the log (delta.logRetentionDuration)",
            ))
        }
    }

    fn refused(&self, why: &str) -> Error {
        Error::unsupported(format!("the lake table {} cannot be published to: {why}", self.path))
    }

    /// Whether so much time went by that versions may have been removed after the last one that was
    /// read. A clock that was set back says nothing, so the log counts as old.
    pub(crate) fn is_old(&self) -> bool {
        let (read_at, read_at_ms) = self.read_at;
        let age_ms = u64::try_from(now_ms().saturating_sub(read_at_ms));
        read_at.elapsed() > OLD || age_ms.map_or(true, |age_ms| Duration::from_millis(age_ms) > OLD)
    }

    /// Reads what others have committed since.
    pub(crate) fn update(&mut self, remote: &Remote, control: &Control) -> Result<()> {
        self.refresh(remote, None, control).map(drop)
    }

    /// Reads the versions after the last one that was read.
    fn refresh(
        &mut self,
        remote: &Remote,
        mine: Option<&str>,
        control: &Control,
    ) -> Result<LogChanges> {
        let mut news = LogChanges::default();
        self.read_at = (Instant::now(), now_ms());
        let (log, next) = (self.directory.clone(), self.version.map_or(0, |version| version + 1));
        let mut each = |version, bytes: &[u8]| {
            let read = self.apply(version, bytes, mine)?;
            news.is_mine |= read.is_mine;
            news.has_own |= read.has_own;
            Ok(())
        };
        versions::each(remote, &log, next, control, &mut each)?;
        Ok(news)
    }

    /// Takes over the actions of a version.
    fn apply(&mut self, version: u64, bytes: &[u8], mine: Option<&str>) -> Result<LogChanges> {
        let actions = actions::of_version(version, bytes)?;
        let commit = actions.iter().find(|(kind, _)| kind == "commitInfo");
        let commit = commit.and_then(|(_, info)| info.get(COMMIT)).and_then(Value::as_str);
        let is_mine = mine.is_some() && commit == mine;
        let (mut has_own, mut said) = (false, Vec::new());
        for (kind, action) in &actions {
            has_own |= self.take(kind, action, &mut said)?;
        }
        said.into_iter().for_each(|said| self.ledger.take(said));
        self.version = Some(version);
        Ok(LogChanges { is_mine, has_own: has_own && !is_mine })
    }

    /// Takes over an action, and adds what it says that the store sent to `said`. Returns whether
    /// it is of the store.
    fn take(&mut self, kind: &str, action: &Value, said: &mut Vec<LedgerEntry>) -> Result<bool> {
        match kind {
            "protocol" => match accepts::protocol(action) {
                Some(why) => Err(self.refused(&why)),
                None => Ok(false),
            },
            "metaData" => self.set_metadata(action).map(|()| false),
            "txn" => {
                let id = action.get("appId").and_then(Value::as_str).unwrap_or_default();
                let is_own = id.strip_prefix(&self.app).is_some_and(|rest| rest.starts_with('/'));
                self.stations.take(id);
                if is_own {
                    let to = action.get("version").and_then(Value::as_i64).unwrap_or_default();
                    self.txns.insert(id.to_owned(), to);
                }
                Ok(is_own)
            }
            "add" if !is_off(Check::SentFromLake) => {
                let tags = action.get("tags");
                let own =
                    tags.map(|tags| LedgerEntry::read(&self.app, tags)).transpose()?.flatten();
                let is_own = own.is_some();
                said.extend(own);
                Ok(is_own)
            }
            // What others remove or note does not change what was sent.
            "add" | "remove" | "commitInfo" | "cdc" | "domainMetadata" => Ok(false),
            other => Err(self.refused(&format!("it has the action {other}, which is unknown"))),
        }
    }

    fn set_metadata(&mut self, metadata: &Value) -> Result<()> {
        if let Some(why) = accepts::metadata(metadata) {
            return Err(self.refused(&why));
        }
        let schema = metadata.get("schemaString").and_then(Value::as_str).unwrap_or_default();
        let schema: Value = serde_json::from_str(schema).map_err(|error| {
            Error::corrupt(format!("the schema of the lake table {} is not JSON", self.path))
                .with_source(error)
        })?;
        let fields = schema.get("fields").and_then(Value::as_array);
        self.fields = fields.cloned().unwrap_or_default();
        self.metadata = Some(metadata.clone());
        Ok(())
    }

    /// Whether each of these fields is there with this type.
    pub(crate) fn has_fields(&self, fields: &[Value]) -> bool {
        let is_same = |own: &&Value, field: &Value| {
            own.get("name") == field.get("name") && own.get("type") == field.get("type")
        };
        fields.iter().all(|field| self.fields.iter().any(|own| is_same(&own, field)))
    }
}
