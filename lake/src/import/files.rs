//! The data files of a lake table that a reader of one station needs.

use std::collections::BTreeMap;

use object_store::path::Path;
use serde_json::Value;
use stationdb::{Control, Error, Result};

use crate::remote::Remote;
use crate::{accepts, actions, checkpoint, versions};

/// A data file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DataFile {
    pub path: Path,
    pub size: u64,
    /// The only batch in it; `None` for a file of another engine, which may have rows of many.
    pub batch: Option<u64>,
}

/// A lake table as its log says.
#[derive(Default)]
struct DataFileReader {
    version: Option<u64>,
    exists: bool,
    /// Bytes by path.
    files: BTreeMap<String, u64>,
}

impl DataFileReader {
    fn take(&mut self, table: &Path, kind: &str, action: &Value) -> Result<()> {
        let refused = |why: String| {
            Error::unsupported(format!("the lake table {table} cannot be read: {why}"))
        };
        let path = || action.get("path").and_then(Value::as_str).unwrap_or_default().to_owned();
        match kind {
            "protocol" => accepts::protocol(action).map_or(Ok(()), |why| Err(refused(why))),
            "metaData" => {
                self.exists = true;
                accepts::metadata(action).map_or(Ok(()), |why| Err(refused(why)))
            }
            "add" => {
                let size = action.get("size").and_then(Value::as_u64).unwrap_or_default();
                self.files.insert(path(), size);
                Ok(())
            }
            "remove" => {
                self.files.remove(&path());
                Ok(())
            }
            "txn" | "commitInfo" | "cdc" | "domainMetadata" => Ok(()),
            other => Err(refused(format!("it has the action {other}, which is unknown"))),
        }
    }

    fn begin_at(remote: &Remote, table: &Path, at: u64, control: &Control) -> Result<Option<Self>> {
        let mut state = Self { version: Some(at), ..Self::default() };
        let log = checkpoint::directory(table);
        let mut each = |kind: &str, action: Value| state.take(table, kind, &action);
        let is_read = checkpoint::read(remote, &log, at, &mut each, control)?;
        Ok((is_read && state.exists).then_some(state))
    }

    /// Reads the versions after the last one that was read. Returns whether there were any.
    fn refresh(&mut self, remote: &Remote, table: &Path, control: &Control) -> Result<bool> {
        let (log, begin) = (checkpoint::directory(table), self.version);
        let mut each = |version, bytes: &[u8]| {
            for (kind, action) in actions::of_version(version, bytes)? {
                self.take(table, &kind, &action)?;
            }
            self.version = Some(version);
            Ok(())
        };
        let next = begin.map_or(0, |version| version + 1);
        versions::each(remote, &log, next, control, &mut each)?;
        Ok(self.version != begin)
    }

    /// Reads a table from its last checkpoint on. Where that leads to nothing new, a list tells
    /// whether versions were removed, or a later checkpoint was not named.
    fn open(remote: &Remote, table: &Path, control: &Control) -> Result<Self> {
        let log = checkpoint::directory(table);
        let mut state = match checkpoint::hinted(remote, &log, control)? {
            Some(at) => Self::begin_at(remote, table, at, control)?.unwrap_or_default(),
            None => Self::default(),
        };
        if state.refresh(remote, table, control)? {
            return Ok(state);
        }
        let (later, last) = checkpoint::after(remote, &log, state.version, control)?;
        if let Some(at) = last.filter(|at| Some(*at) > state.version) {
            if let Some(found) = Self::begin_at(remote, table, at, control)? {
                state = found;
                state.refresh(remote, table, control)?;
                return Ok(state);
            }
        }
        // A version that came since is read by the next import.
        if later.is_some_and(|later| state.version.map_or(0, |at| at + 1) != later) {
            return Err(Error::corrupt(format!(
                "versions of the log of the lake table {table} were removed, and no checkpoint \
                 that can be read has what they said; keep the versions \
                 (delta.logRetentionDuration), or write a checkpoint"
            )));
        }
        Ok(state)
    }
}

/// The files of a lake table with rows of a station; `None` for a table that does not exist.
///
/// # Errors
/// `Unsupported` for a table that needs features which are not known here; `Corrupt` when its log
/// has lost versions; errors of the object store.
pub(super) fn of_station(
    remote: &Remote,
    table: &Path,
    station: &str,
    control: &Control,
) -> Result<Option<Vec<DataFile>>> {
    let state = DataFileReader::open(remote, table, control)?;
    if !state.exists {
        return Ok(None);
    }
    let mut files = Vec::new();
    for (name, size) in state.files {
        let relative = Path::from_url_path(&name).map_err(|error| {
            Error::unsupported(format!(
                "the lake table {table} has the data file {name:?}, which is not below it"
            ))
            .with_source(error)
        })?;
        // As a publisher names its files: `data/<station>/<batch>-<random>.parquet`.
        let parts: Vec<_> = relative.parts().collect();
        let named = match parts.as_slice() {
            [data, own, file] if data.as_ref() == "data" => {
                let batch = file.as_ref().split_once('-').and_then(|it| it.0.parse().ok());
                batch.map(|batch: u64| (own.as_ref() == station, batch))
            }
            _ => None,
        };
        if named.is_some_and(|(is_own, _)| !is_own) {
            continue;
        }
        let batch = named.map(|(_, batch)| batch);
        let path = relative.parts().fold(table.clone(), |path, part| path.join(part));
        files.push(DataFile { path, size, batch });
    }
    Ok(Some(files))
}
