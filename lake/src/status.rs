//! How far a lake is behind a store.

use chrono::{DateTime, Utc};
use stationdb::chrono;
use stationdb::{Control, HoldStatus, Position, Result};

use crate::plan;
use crate::position;
use crate::root::Root;
use crate::rows::RowsLogs;
use crate::sender::Batch;
use crate::source;

/// How far a lake is, see [`Publisher::status`](crate::Publisher::status).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LakeStatus {
    /// The sequence of the store.
    pub sequence: u64,
    /// What is held of the change log, and how much of the hold is left; `None` before the first
    /// publish, and when the policy allows the identity no subscriber.
    pub hold: Option<HoldStatus>,
    /// Each root.
    pub roots: Vec<RootStatus>,
}

/// How far one root is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RootStatus {
    /// The root.
    pub root: String,
    /// The epoch; it grows with each [`Publisher::rebase`](crate::Publisher::rebase).
    pub epoch: u64,
    /// The sequence of the last complete batch; `None` before the first.
    pub sequence: Option<u64>,
    /// Changes that the session sees after that, of all roots; `None` when the change log does not
    /// reach back, so that everything is sent.
    pub changes: Option<u64>,
    /// Time of the first of them.
    pub oldest_change: Option<DateTime<Utc>>,
    /// Rows to send; deleted ones among them count too.
    pub rows: u64,
    /// About as many bytes in memory as these rows have, with 16 for each text.
    pub row_bytes: u64,
}

impl Root<'_> {
    pub(crate) fn status(&self, control: &Control) -> Result<RootStatus> {
        let batches = self.open_batches(control)?;
        let position = position::read(&batches, self.app);
        let sequence = position.sequence.filter(|sequence| *sequence > 0);
        let behind = match sequence {
            Some(sequence) => source::backlog(self.session, Position(sequence), control)?,
            None => None,
        };
        let news = source::SourceChanges::everything("");
        let mut logs = std::collections::BTreeMap::new();
        for name in self.lake_tables(&batches, control)? {
            let opened = RowsLogs::open(self.remote, self.path, &name, self.app, control)?;
            logs.insert(name, opened);
        }
        let batch = Batch {
            station: self.station,
            app: self.app,
            epoch: position.epoch,
            sequence: 0,
            number: 0,
            rows_from: position.rows_from,
            complete: position.complete(),
        };
        let plan = plan::plan(self, &news, true, batch, &mut logs, control)?;
        let (mut rows, mut row_bytes) = (0, 0);
        for work in plan.work.values().flatten() {
            let width: u64 = work.columns.iter().map(|(_, kind)| width(kind)).sum();
            rows += work.to - work.from;
            row_bytes += (work.to - work.from) * width;
        }
        Ok(RootStatus {
            root: self.path.to_string(),
            epoch: position.epoch,
            sequence,
            changes: behind.map(|(count, _)| count),
            oldest_change: behind.and_then(|(_, oldest)| oldest),
            rows,
            row_bytes,
        })
    }
}

fn width(kind: &str) -> u64 {
    match kind {
        "BOOL" => 1,
        "INT32" | "FLOAT32" => 4,
        "STRING" => 16,
        _ => 8,
    }
}
