//! A log as a reader sees it: the fields of the table, and the files that are there.

use std::collections::{BTreeMap, BTreeSet};

use object_store::path::Path;
use serde_json::Value;
use stationdb::{Control, Error, ErrorKind, Result};

use crate::remote::Remote;
use crate::{accepts, actions, checkpoint, versions};

/// How often reading begins again after versions were removed under it.
const TRIES: usize = 5;

/// A file as the log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AddedFile {
    pub size: u64,
    /// The station of all rows, if they have one.
    pub station: Option<String>,
    /// The least and the greatest `_batch`.
    pub batches: Option<(i64, i64)>,
    /// `_rows_from`, if all rows have one.
    pub rows_from: Option<i64>,
    /// The least and the greatest `_table`.
    pub tables: Option<(String, String)>,
}

/// What a log says up to its last version.
#[derive(Debug, Default)]
pub(crate) struct ReadLog {
    pub name: String,
    pub exists: bool,
    /// The fields of the schema.
    pub fields: Vec<Value>,
    /// Files by their path below the table.
    pub files: BTreeMap<String, AddedFile>,
    /// Application ids of all writers.
    pub apps: BTreeSet<String>,
    next: u64,
}

impl ReadLog {
    /// Reads a log from its last checkpoint; a table that does not exist has no fields.
    pub(crate) fn open(
        remote: &Remote,
        root: &Path,
        name: &str,
        control: &Control,
    ) -> Result<Self> {
        let path = root.clone().join(name);
        let directory = checkpoint::directory(&path);
        let mut from = checkpoint::hinted(remote, &directory, control)?;
        for _ in 0..TRIES {
            let mut log = Self { name: name.to_owned(), ..Self::default() };
            let begins = match from {
                Some(version) => log.begin_at(remote, &directory, version, control)?,
                None => true,
            };
            let begin = log.next;
            if begins {
                log.refresh(remote, &directory, control)?;
            }
            if log.exists && log.next > begin {
                return Ok(log);
            }
            // Nothing follows: the checkpoint is the last version, or those after it were removed,
            // and a later checkpoint has them. Where nothing is at all, there is no such table.
            let before = log.next.checked_sub(1);
            let (version, last) = checkpoint::after(remote, &directory, before, control)?;
            match (version, last) {
                (None, None) => return Ok(log),
                (_, Some(last)) if from != Some(last) => from = Some(last),
                // It was made since, or the checkpoint cannot be read.
                (Some(0), _) => from = None,
                (Some(version), _) if version == log.next => {}
                _ if log.exists && version.is_none() => return Ok(log),
                _ => return Err(lost(&path)),
            }
        }
        Err(lost(&path))
    }

    fn begin_at(
        &mut self,
        remote: &Remote,
        directory: &Path,
        version: u64,
        control: &Control,
    ) -> Result<bool> {
        let mut each = |kind: &str, action: Value| self.take(kind, &action);
        let is_read = checkpoint::read(remote, directory, version, &mut each, control)?;
        let begins = is_read && self.exists;
        if begins {
            self.next = version + 1;
        } else {
            *self = Self { name: self.name.clone(), ..Self::default() }
        }
        Ok(begins)
    }

    fn refresh(&mut self, remote: &Remote, directory: &Path, control: &Control) -> Result<()> {
        let next = self.next;
        let mut each = |version, bytes: &[u8]| {
            for (kind, action) in actions::of_version(version, bytes)? {
                self.take(&kind, &action)?;
            }
            self.next = version + 1;
            Ok(())
        };
        versions::each(remote, directory, next, control, &mut each)
    }

    fn take(&mut self, kind: &str, action: &Value) -> Result<()> {
        let refused = |why: &str| {
            Error::unsupported(format!("the lake table {} cannot be read: {why}", self.name))
        };
        let text = |member: &str| action.get(member).and_then(Value::as_str);
        let broken = |member: &str| {
            Error::corrupt(format!(
                "an action {kind} of the lake table {} has no {member}",
                self.name
            ))
        };
        match kind {
            "protocol" => {
                if let Some(why) = accepts::reading(action) {
                    return Err(refused(&why));
                }
            }
            "metaData" => {
                if let Some(why) = accepts::columns(action) {
                    return Err(refused(&why));
                }
                let schema: Value = serde_json::from_str(text("schemaString").unwrap_or_default())
                    .map_err(|error| broken("schema").with_source(error))?;
                let fields = schema.get("fields").and_then(Value::as_array);
                self.fields = fields.cloned().ok_or_else(|| broken("fields"))?;
                self.exists = true;
            }
            "txn" => {
                self.apps.insert(text("appId").ok_or_else(|| broken("appId"))?.to_owned());
            }
            "add" => {
                let path = decoded(text("path").ok_or_else(|| broken("path"))?);
                if action.get("deletionVector").is_some_and(|vector| !vector.is_null()) {
                    return Err(refused("a file has a deletion vector"));
                }
                let size = action.get("size").and_then(Value::as_u64);
                let size = size.ok_or_else(|| broken("size"))?;
                let file = added(&path, size, text("stats"));
                self.files.insert(path, file);
            }
            "remove" => {
                self.files.remove(&decoded(text("path").ok_or_else(|| broken("path"))?));
            }
            // What a later engine may add says nothing of which rows are there.
            _ => {}
        }
        Ok(())
    }
}

fn lost(path: &Path) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!(
            "versions of the log of {path} are not there, and no checkpoint that can be read has \
             them; keep the versions of the log (delta.logRetentionDuration)"
        ),
    )
}

/// The path of an action, which the protocol has as a URI.
fn decoded(path: &str) -> String {
    Path::from_url_path(path).map_or_else(|_| path.to_owned(), |path| path.to_string())
}

/// Length from which engines cut texts of statistics.
const CUT: usize = 32;

/// A file with what its statistics say of the identity of its rows.
fn added(path: &str, size: u64, stats: Option<&str>) -> AddedFile {
    let stats: Value = stats.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let bound = |which: &str, name: &str| stats.get(which)?.get(name).cloned();
    let text = |name: &str| {
        let of = |which| bound(which, name)?.as_str().map(str::to_owned);
        Some((of("minValues")?, of("maxValues")?))
    };
    let number = |name: &str| {
        let of = |which| bound(which, name)?.as_i64();
        Some((of("minValues")?, of("maxValues")?))
    };
    let station = text("_station").filter(|(least, most)| least == most).map(|(least, _)| least);
    // A text of this length may be the begin of several.
    let is_one = |name: &String| {
        name.len() < CUT
            || path.strip_prefix("data/").is_some_and(|rest| {
                rest.split_once('/').is_some_and(|(directory, _)| directory == name)
            })
    };
    let rows_from = number("_rows_from").filter(|(least, most)| least == most);
    AddedFile {
        size,
        station: station.filter(is_one),
        batches: number("_batch"),
        rows_from: rows_from.map(|(least, _)| least),
        tables: text("_table"),
    }
}

/// Whether rows of a table may be between these ids.
pub(crate) fn may_have(tables: Option<&(String, String)>, id: &str) -> bool {
    // The greatest text may be cut.
    let is_below = |most: &String| id <= most.as_str() || id.starts_with(most.as_str());
    tables.is_none_or(|(least, most)| least.as_str() <= id && is_below(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_say_what_all_rows_have() {
        let stats =
            r#"{"minValues":{"_station":"a","_batch":3},"maxValues":{"_station":"a","_batch":5}}"#;
        let file = added("data/a/1.parquet", 7, Some(stats));
        assert_eq!(file.station.as_deref(), Some("a"));
        assert_eq!((file.batches, file.rows_from), (Some((3, 5)), None));
        let of_two = r#"{"minValues":{"_station":"a"},"maxValues":{"_station":"b"}}"#;
        assert_eq!(added("data/a/1.parquet", 7, Some(of_two)).station, None);
        for damaged in [None, Some("{"), Some("[]"), Some(r#"{"minValues":{"_batch":"x"}}"#)] {
            assert_eq!(added("data/a/1.parquet", 7, damaged).batches, None);
        }
    }
}
