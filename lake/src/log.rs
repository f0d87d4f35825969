//! The log of a Delta table: what a lake table has, and how a commit comes into it.
//!
//! A version is an object that is created only if it does not exist, so all writers agree on one
//! order. A writer creates only the version after the last one that it has read, so it has seen
//! whatever its commit depends on. This file alone knows the format of the log.

use std::collections::BTreeMap;

use bytes::Bytes;
use object_store::path::Path;
use serde_json::{Map, Value, json};
use stationdb::{Control, Error, Result};

use crate::checks::{Check, is_off};
use crate::ledger::Ledger;
use crate::nonce;
use crate::remote::{Note, Put, Remote, failed};

/// Member of `commitInfo` by which a writer finds its own commit.
const COMMIT: &str = "stationdb.commit";
/// Who wrote a commit.
const ENGINE: &str = concat!("stationdb-lake/", env!("CARGO_PKG_VERSION"));
/// Versions that are read at a time.
const READ_AHEAD: u64 = 64;
/// Commits of others that a commit passes by before it gives up.
const RACES: u32 = 10_000;

/// What came into a log since it was last read.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    /// The commit that was looked for.
    is_mine: bool,
    /// A commit of the same station that was not looked for.
    has_own: bool,
}

/// How a commit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// Others changed what the commit depends on.
    PlanAgain,
}

impl Outcome {
    /// Whether another writer was first.
    pub(crate) fn is_late(self) -> bool {
        self == Self::PlanAgain
    }
}

/// A lake table as its log says.
#[derive(Debug)]
pub(crate) struct LakeLog {
    /// `<root>/<name>`.
    pub path: Path,
    pub name: String,
    /// The application id of the store, without an epoch.
    app: String,
    /// The last version that was read.
    version: Option<u64>,
    /// The last `metaData`.
    metadata: Option<Value>,
    /// The fields of the schema.
    pub fields: Vec<Value>,
    /// Application ids of the store, and their versions.
    pub txns: BTreeMap<String, i64>,
    pub ledger: Ledger,
}

impl LakeLog {
    /// Reads the log; a table that does not exist has none.
    pub(crate) fn open(
        remote: &Remote,
        root: &Path,
        name: &str,
        app: &str,
        control: &Control,
    ) -> Result<Self> {
        let mut log = Self {
            path: root.clone().join(name),
            name: name.to_owned(),
            app: app.to_owned(),
            version: None,
            metadata: None,
            fields: Vec::new(),
            txns: BTreeMap::new(),
            ledger: Ledger::default(),
        };
        log.refresh(remote, None, control)?;
        if log.version.is_none() {
            log.refuse_without_beginning(remote, control)?;
        }
        Ok(log)
    }

    pub(crate) fn exists(&self) -> bool {
        self.metadata.is_some()
    }

    /// Whether a commit of the store said what it sent.
    pub(crate) fn has_statements(&self) -> bool {
        !self.ledger.sent.is_empty() || !self.ledger.gone.is_empty()
    }

    fn file(&self, version: u64) -> Path {
        self.path.clone().join("_delta_log").join(format!("{version:020}.json"))
    }

    /// A log whose first versions were removed has a checkpoint instead, which is not read.
    fn refuse_without_beginning(&self, remote: &Remote, control: &Control) -> Result<()> {
        let names = remote.names(&self.path.clone().join("_delta_log"), control)?;
        let begins = |name: &String| name.as_bytes().first().is_some_and(u8::is_ascii_digit);
        // The first version may have been created since.
        let first = self.file(0);
        if names.iter().any(begins) && remote.size(&first, control)?.is_none() {
            return Err(self.refused(
                "its first versions were removed, and a publisher does not read checkpoints; keep \
                 the versions of the log (delta.logRetentionDuration)",
            ));
        }
        Ok(())
    }

    fn refused(&self, why: &str) -> Error {
        Error::unsupported(format!("the lake table {} cannot be published to: {why}", self.path))
    }

    /// Reads what others have committed since.
    pub(crate) fn update(&mut self, remote: &Remote, control: &Control) -> Result<()> {
        self.refresh(remote, None, control).map(drop)
    }

    /// Reads the versions after the last one that was read.
    fn refresh(&mut self, remote: &Remote, mine: Option<&str>, control: &Control) -> Result<News> {
        let mut news = News::default();
        let mut run = 1;
        loop {
            let next = self.version.map_or(0, |version| version + 1);
            // Most logs have nothing new; those that have are read in longer and longer runs.
            run = (run * 2).min(READ_AHEAD);
            let files = (next..next + run).map(|version| self.file(version)).collect();
            let found = remote.get_run(files, control)?;
            for (version, bytes) in (next..).zip(&found) {
                let read = self.apply(version, bytes, mine)?;
                news.is_mine |= read.is_mine;
                news.has_own |= read.has_own;
            }
            if !found.is_empty() {
                continue;
            }
            let Some(bytes) = remote.get(&self.file(next), control)? else { return Ok(news) };
            let read = self.apply(next, &bytes, mine)?;
            news.is_mine |= read.is_mine;
            news.has_own |= read.has_own;
        }
    }

    /// Takes over the actions of a version.
    fn apply(&mut self, version: u64, bytes: &[u8], mine: Option<&str>) -> Result<News> {
        let mut actions = Vec::new();
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty())
        {
            let action: Map<String, Value> = serde_json::from_slice(line).map_err(|error| {
                Error::corrupt(format!(
                    "version {version} of the log of {} is not a list of actions",
                    self.path
                ))
                .with_source(error)
            })?;
            actions.extend(action);
        }
        let commit = actions.iter().find(|(kind, _)| kind == "commitInfo");
        let commit = commit.and_then(|(_, info)| info.get(COMMIT)).and_then(Value::as_str);
        let is_mine = mine.is_some() && commit == mine;
        let mut has_own = false;
        for (kind, action) in &actions {
            match kind.as_str() {
                "protocol" => self.check_protocol(action)?,
                "metaData" => self.set_metadata(action)?,
                "txn" => {
                    let id = action.get("appId").and_then(Value::as_str).unwrap_or_default();
                    if id.strip_prefix(&self.app).is_some_and(|rest| rest.starts_with('/')) {
                        let to = action.get("version").and_then(Value::as_i64).unwrap_or_default();
                        self.txns.insert(id.to_owned(), to);
                        has_own = true;
                    }
                }
                "add" if !is_off(Check::SentFromLake) => {
                    if let Some(tags) = action.get("tags") {
                        has_own |= self.ledger.read(&self.app, tags)?;
                    }
                }
                // What others remove or note does not change what was sent.
                "add" | "remove" | "commitInfo" | "cdc" | "domainMetadata" => {}
                other => {
                    let why = format!("version {version} has the action {other}, which is unknown");
                    return Err(self.refused(&why));
                }
            }
        }
        self.version = Some(version);
        Ok(News { is_mine, has_own: has_own && !is_mine })
    }

    fn check_protocol(&self, protocol: &Value) -> Result<()> {
        let number = |member| protocol.get(member).and_then(Value::as_i64).unwrap_or_default();
        let (reader, writer) = (number("minReaderVersion"), number("minWriterVersion"));
        let features = |member| {
            let names = protocol.get(member).and_then(Value::as_array).into_iter().flatten();
            names.filter_map(Value::as_str).collect::<Vec<_>>()
        };
        let known = ["appendOnly", "invariants"];
        let unknown: Vec<&str> = (features("readerFeatures").into_iter())
            .chain(features("writerFeatures"))
            .filter(|name| !known.contains(name))
            .collect();
        let is_known = matches!(reader, 0 | 1 | 3) && matches!(writer, 0..=2 | 7);
        if is_known && unknown.is_empty() {
            return Ok(());
        }
        Err(self.refused(&format!(
            "it needs reader version {reader}, writer version {writer} and the features {unknown:?}"
        )))
    }

    fn set_metadata(&mut self, metadata: &Value) -> Result<()> {
        let partitions = metadata.get("partitionColumns").and_then(Value::as_array);
        if partitions.is_some_and(|columns| !columns.is_empty()) {
            return Err(self.refused("it is partitioned"));
        }
        let configuration = metadata.get("configuration").and_then(Value::as_object);
        for (key, value) in configuration.into_iter().flatten() {
            let is_off = matches!(value.as_str(), Some("none" | "false"));
            let is_refused = match key.as_str() {
                // The position of a station would be forgotten.
                "delta.setTransactionRetentionDuration" => true,
                "delta.columnMapping.mode" | "delta.enableChangeDataFeed" => !is_off,
                key => key.starts_with("delta.constraints."),
            };
            if is_refused {
                return Err(self.refused(&format!("it has {key} = {value}")));
            }
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

    /// Gives the table these fields: creates it, or adds to it. `wanted` returns the fields to add
    /// to those that the table has.
    pub(crate) fn ensure(
        &mut self,
        remote: &Remote,
        wanted: &dyn Fn(&[Value]) -> Result<Vec<Value>>,
        control: &Control,
    ) -> Result<()> {
        for _ in 0..RACES {
            let added = wanted(&self.fields)?;
            if added.is_empty() && self.exists() {
                return Ok(());
            }
            let fields: Vec<Value> = self.fields.iter().cloned().chain(added).collect();
            let schema = json!({ "type": "struct", "fields": fields }).to_string();
            let mut actions = Vec::new();
            let metadata = match &self.metadata {
                Some(metadata) => {
                    let mut metadata = metadata.clone();
                    if let Some(members) = metadata.as_object_mut() {
                        members.insert("schemaString".to_owned(), Value::String(schema));
                    }
                    metadata
                }
                None => {
                    actions.push(json!({
                        "protocol": { "minReaderVersion": 1, "minWriterVersion": 2 }
                    }));
                    json!({
                        "id": guid(),
                        "name": self.name,
                        "format": { "provider": "parquet", "options": {} },
                        "schemaString": schema,
                        "partitionColumns": [],
                        "configuration": { "delta.appendOnly": "true" },
                        "createdTime": now_ms(),
                    })
                }
            };
            actions.push(json!({ "metaData": metadata }));
            let before = self.metadata.clone();
            let holds = move |log: &Self| log.metadata == before;
            self.commit(remote, "ADD COLUMNS", actions, &holds, control)?;
        }
        Err(Error::conflict(format!("others change the columns of {} again and again", self.path)))
    }

    /// Adds a version with these actions. `holds` says whether the table, as others have changed it
    /// in the meantime, still takes them.
    pub(crate) fn commit(
        &mut self,
        remote: &Remote,
        operation: &str,
        mut actions: Vec<Value>,
        holds: &dyn Fn(&Self) -> bool,
        control: &Control,
    ) -> Result<Outcome> {
        let mine = nonce();
        let info = json!({ "commitInfo": {
            "timestamp": now_ms(), "operation": operation, "operationParameters": {},
            "isBlindAppend": true, "engineInfo": ENGINE,
            COMMIT: mine,
        }});
        actions.insert(0, info);
        let files = actions.iter().filter(|action| action.get("add").is_some()).count();
        let text: Vec<String> = actions.iter().map(Value::to_string).collect();
        let bytes = Bytes::from(text.join("\n") + "\n");
        let (mut failures, mut races) = (0, 0);
        loop {
            let next = self.version.map_or(0, |version| version + 1);
            let file = self.file(next);
            let news = match remote.create(&file, bytes.clone(), control)? {
                Put::Done => {
                    self.apply(next, &bytes, Some(&mine))?;
                    let table = self.path.to_string();
                    remote.note(Note::Committed { table, version: next, files });
                    return Ok(Outcome::Done);
                }
                Put::Unknown(_) if is_off(Check::UnknownOutcome) => return Ok(Outcome::Done),
                Put::Unknown(error) => {
                    failures += 1;
                    let attempt = format!("creating {file}");
                    if failures >= remote.backoff.attempts {
                        return Err(failed(&attempt, error));
                    }
                    remote.back_off(control, failures, &attempt, &error)?;
                    // The version may be there: from this put, or from another writer.
                    self.refresh(remote, Some(&mine), control)?
                }
                Put::Taken => {
                    races += 1;
                    if races > RACES {
                        return Err(Error::conflict(format!(
                            "others were first with {RACES} versions of {}; publish again",
                            self.path
                        )));
                    }
                    let table = self.path.to_string();
                    remote.note(Note::VersionTaken { table, version: next });
                    let before = self.version;
                    let news = self.refresh(remote, Some(&mine), control)?;
                    if self.version == before {
                        // A store that answers with an object and then without it.
                        remote.wait(control, remote.delay(races.min(6)))?;
                    }
                    news
                }
            };
            if news.is_mine && !is_off(Check::OwnCommit) {
                let table = self.path.to_string();
                let version = self.version.unwrap_or_default();
                remote.note(Note::Committed { table, version, files });
                return Ok(Outcome::Done);
            }
            let is_changed = news.has_own && !is_off(Check::OwnStation);
            if is_changed || !holds(self) {
                return Ok(Outcome::PlanAgain);
            }
        }
    }

    /// Whether each of these fields is there with this type.
    pub(crate) fn has_fields(&self, fields: &[Value]) -> bool {
        let is_same = |own: &&Value, field: &Value| {
            own.get("name") == field.get("name") && own.get("type") == field.get("type")
        };
        fields.iter().all(|field| self.fields.iter().any(|own| is_same(&own, field)))
    }
}

/// A random id in the form of a GUID.
fn guid() -> String {
    let hex = nonce();
    let part = |from, to| hex.get(from..to).unwrap_or_default();
    format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

/// Milliseconds since 1970, for people: nothing depends on them.
pub(crate) fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
