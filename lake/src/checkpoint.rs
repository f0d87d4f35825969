//! Checkpoints of a log: all that its versions up to one say, so that nobody reads those again.

use std::collections::BTreeMap;

use object_store::path::Path;
use serde_json::{Value, json};
use stationdb::{Control, Error, ErrorKind, Result};

use crate::actions::{Action, decode, encode, of_version};
use crate::remote::Remote;

/// Versions between checkpoints, as other writers of Delta have it.
const INTERVAL: u64 = 10;
/// Versions that are read at a time.
const READ_AHEAD: usize = 64;
/// How long readers may need a file that was removed, in milliseconds: Delta's default.
const TOMBSTONES_MS: i64 = 7 * 24 * 3_600_000;

/// The directory of a log.
pub(crate) fn directory(table: &Path) -> Path {
    table.clone().join("_delta_log")
}

/// The object of a version.
pub(crate) fn version_file(log: &Path, version: u64) -> Path {
    log.clone().join(format!("{version:020}.json"))
}

fn checkpoint_file(log: &Path, version: u64) -> Path {
    log.clone().join(format!("{version:020}.checkpoint.parquet"))
}

/// Versions between checkpoints, by the properties of a table.
pub(crate) fn interval(metadata: Option<&Value>) -> u64 {
    let configuration = metadata.and_then(|metadata| metadata.get("configuration"));
    let own = configuration.and_then(|own| own.get("delta.checkpointInterval")?.as_str());
    own.and_then(|text| text.parse().ok()).filter(|own| *own > 0).unwrap_or(INTERVAL)
}

/// The checkpoint that the log names as its last. It is a hint: the checkpoint may be older than
/// the last, or missing.
pub(crate) fn hinted(remote: &Remote, log: &Path, control: &Control) -> Result<Option<u64>> {
    let path = log.clone().join("_last_checkpoint");
    let Some(bytes) = remote.get(&path, control)? else { return Ok(None) };
    let hint: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    // A checkpoint of several files is left to others.
    let is_whole = hint.get("parts").is_none_or(Value::is_null);
    Ok(hint.get("version").and_then(Value::as_u64).filter(|_| is_whole))
}

/// What is in a log after a version: the first of the later versions, and the last checkpoint.
pub(crate) fn after(
    remote: &Remote,
    log: &Path,
    version: Option<u64>,
    control: &Control,
) -> Result<(Option<u64>, Option<u64>)> {
    let names = remote.names_after(log, version.map(|at| version_file(log, at)), control)?;
    let number =
        |name: &str, end| name.strip_suffix(end).filter(|digits| digits.len() == 20)?.parse().ok();
    let versions = names.iter().filter_map(|name| number(name, ".json"));
    let checkpoints = names.iter().filter_map(|name| number(name, ".checkpoint.parquet"));
    Ok((versions.min(), checkpoints.max()))
}

/// Passes on the actions of a checkpoint. Returns whether it was there and could be read; if not,
/// some may have been passed on.
pub(crate) fn read(
    remote: &Remote,
    log: &Path,
    version: u64,
    each: &mut dyn FnMut(&str, Value) -> Result<()>,
    control: &Control,
) -> Result<bool> {
    let Some(bytes) = remote.get(&checkpoint_file(log, version), control)? else {
        return Ok(false);
    };
    let mut refused = None;
    let read = decode(bytes, &mut |kind, action| {
        each(kind, action).inspect_err(|error| refused = Some(error.kind()))
    });
    match read {
        Ok(()) => Ok(true),
        Err(error) if refused.is_some() => Err(error),
        Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// What a log says up to a version.
#[derive(Default)]
struct CheckpointState {
    protocol: Option<Value>,
    metadata: Option<Value>,
    txns: BTreeMap<String, Value>,
    adds: BTreeMap<String, Value>,
    removes: BTreeMap<String, Value>,
}

impl CheckpointState {
    fn take(&mut self, kind: &str, mut action: Value) -> Result<()> {
        let named = |member| {
            action.get(member).and_then(Value::as_str).map(str::to_owned).ok_or_else(|| {
                Error::corrupt(format!("an action {kind} of a log of the lake has no {member}"))
            })
        };
        match kind {
            "protocol" => self.protocol = Some(action),
            "metaData" => self.metadata = Some(action),
            "txn" => {
                self.txns.insert(named("appId")?, action);
            }
            "add" => {
                let path = named("path")?;
                self.removes.remove(&path);
                // It is no news of the checkpoint.
                if let Some(members) = action.as_object_mut() {
                    members.insert("dataChange".to_owned(), Value::Bool(false));
                }
                self.adds.insert(path, action);
            }
            "remove" => {
                let path = named("path")?;
                self.adds.remove(&path);
                self.removes.insert(path, action);
            }
            "commitInfo" | "cdc" => {}
            other => {
                let what = format!("a checkpoint is not written over the action {other}");
                return Err(Error::unsupported(what));
            }
        }
        Ok(())
    }

    fn into_actions(self, now: i64) -> Vec<Action> {
        let configuration =
            self.metadata.as_ref().and_then(|metadata| metadata.get("configuration"));
        let keeps_longer = configuration
            .is_some_and(|own| own.get("delta.deletedFileRetentionDuration").is_some());
        let is_needed = |remove: &Value| {
            let removed = remove.get("deletionTimestamp").and_then(Value::as_i64);
            keeps_longer || removed.unwrap_or_default() > now.saturating_sub(TOMBSTONES_MS)
        };
        let of = |kind: &'static str| move |action| (kind.to_owned(), action);
        let head = self.protocol.into_iter().map(of("protocol"));
        head.chain(self.metadata.into_iter().map(of("metaData")))
            .chain(self.txns.into_values().map(of("txn")))
            .chain(self.removes.into_values().filter(is_needed).map(of("remove")))
            .chain(self.adds.into_values().map(of("add")))
            .collect()
    }
}

/// Writes the checkpoint of a version from an earlier one and the versions after that, and then
/// names it as the last.
///
/// A crash in between leaves a checkpoint that only lists show, and the name of an older one: both
/// are right, and readers begin at either.
///
/// # Errors
/// `NotFound` when versions were removed; errors of the object store.
pub(crate) fn write(
    remote: &Remote,
    log: &Path,
    from: Option<u64>,
    version: u64,
    now: i64,
    control: &Control,
) -> Result<()> {
    let mut state = CheckpointState::default();
    let mut next = 0;
    if let Some(from) = from {
        if read(remote, log, from, &mut |kind, action| state.take(kind, action), control)? {
            next = from + 1;
        } else {
            state = CheckpointState::default();
        }
    }
    while next <= version {
        let run = (next..=version).take(READ_AHEAD).map(|version| version_file(log, version));
        let mut found = remote.get_run(run.collect(), control)?;
        if found.is_empty() {
            let one = remote.get(&version_file(log, next), control)?;
            found.push(one.ok_or_else(|| {
                Error::new(ErrorKind::NotFound, format!("version {next} of {log} is not there"))
            })?);
        }
        for bytes in found {
            for (kind, action) in of_version(next, &bytes)? {
                state.take(&kind, action)?;
            }
            next += 1;
        }
    }
    let files = state.adds.len();
    let actions = state.into_actions(now);
    let bytes = encode(&actions)?;
    let hint = json!({
        "version": version, "size": actions.len(), "sizeInBytes": bytes.len(),
        "numOfAddFiles": files,
    });
    // Whoever writes the checkpoint of a version writes the same.
    remote.create_any(&checkpoint_file(log, version), bytes, control)?;
    remote.replace(&log.clone().join("_last_checkpoint"), hint.to_string().into(), control)
}
