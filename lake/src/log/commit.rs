//! How a commit comes into a log: the object of the next version is created, and only once.

use bytes::Bytes;
use serde_json::{Value, json};
use stationdb::{Control, Error, Result};

use super::{COMMIT, LakeLog, now_ms};
use crate::checkpoint;
use crate::checks::{Check, is_off};
use crate::nonce;
use crate::remote::{Note, PutOutcome, Remote, failed};

/// Who wrote a commit.
const ENGINE: &str = concat!("stationdb-lake/", env!("CARGO_PKG_VERSION"));
/// Commits of others that a commit passes by before it gives up.
const RACES: u32 = 10_000;

/// How a commit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommitOutcome {
    Done,
    /// Others changed what the commit depends on.
    PlanAgain,
}

impl CommitOutcome {
    /// Whether another writer was first.
    pub(crate) fn is_late(self) -> bool {
        self == Self::PlanAgain
    }
}

impl LakeLog {
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

    /// Adds a version with these actions, and a checkpoint when one is due. `holds` says whether
    /// the table, as others have changed it in the meantime, still takes them.
    pub(crate) fn commit(
        &mut self,
        remote: &Remote,
        operation: &str,
        actions: Vec<Value>,
        holds: &dyn Fn(&Self) -> bool,
        control: &Control,
    ) -> Result<CommitOutcome> {
        let outcome = self.put(remote, operation, actions, holds, control)?;
        if outcome == CommitOutcome::Done {
            self.write_due_checkpoint(remote, control);
        }
        Ok(outcome)
    }

    /// Writes a checkpoint if none is near. The commit stands without it, so an error is told and
    /// no more; it is tried again after as many versions.
    fn write_due_checkpoint(&mut self, remote: &Remote, control: &Control) {
        let Some(version) = self.version else { return };
        let every = checkpoint::interval(self.metadata.as_ref());
        let is_due =
            |known: Option<u64>| version.saturating_sub(known.unwrap_or_default()) >= every;
        if !is_due(self.checkpoint) {
            return;
        }
        let written = checkpoint::hinted(remote, &self.directory, control).and_then(|known| {
            // Another writer may have written one.
            self.checkpoint = known.max(self.checkpoint);
            if !is_due(known) {
                return Ok(false);
            }
            checkpoint::write(remote, &self.directory, known, version, now_ms(), control)?;
            Ok(true)
        });
        let error = match written {
            Ok(false) => return,
            Ok(true) => None,
            Err(error) => Some(error.to_string()),
        };
        self.checkpoint = Some(version);
        remote.note(Note::Checkpoint { table: self.path.to_string(), version, error });
    }

    fn put(
        &mut self,
        remote: &Remote,
        operation: &str,
        mut actions: Vec<Value>,
        holds: &dyn Fn(&Self) -> bool,
        control: &Control,
    ) -> Result<CommitOutcome> {
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
                PutOutcome::Done => {
                    self.apply(next, &bytes, Some(&mine))?;
                    let table = self.path.to_string();
                    remote.note(Note::Committed { table, version: next, files });
                    return Ok(CommitOutcome::Done);
                }
                PutOutcome::Unknown(_) if is_off(Check::UnknownOutcome) => {
                    return Ok(CommitOutcome::Done);
                }
                PutOutcome::Unknown(error) => {
                    failures += 1;
                    let attempt = format!("creating {file}");
                    if failures >= remote.backoff.attempts {
                        return Err(failed(&attempt, error));
                    }
                    remote.back_off(control, failures, &attempt, &error)?;
                    // The version may be there: from this put, or from another writer.
                    self.refresh(remote, Some(&mine), control)?
                }
                PutOutcome::Taken => {
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
                return Ok(CommitOutcome::Done);
            }
            let is_changed = news.has_own && !is_off(Check::OwnStation);
            if is_changed || !holds(self) {
                return Ok(CommitOutcome::PlanAgain);
            }
        }
    }
}

/// A random id in the form of a GUID.
fn guid() -> String {
    let hex = nonce();
    let part = |from, to| hex.get(from..to).unwrap_or_default();
    format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}
