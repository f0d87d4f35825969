//! The change feed: committed changes in commit order, without gaps, with durable positions.
//!
//! A position is the sequence number of a commit. Registered [`super::subscribers`] keep the tail
//! of the log, up to bounds of their own. A reader that falls behind the log gets a `Conflict`, and
//! never a feed with a gap; [`super::synchronise`] gives it a full pass instead.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;

use super::event::{LogEntry, What};
use super::position::Position;
use crate::error::{Error, Result};
use crate::model::by_code;
use crate::model::resource::Resource as _;
use crate::model::steps::remains::RemainingSteps;
use crate::records::{Space, envelope};
use crate::session::Session;
use crate::session::access::context::Context;
use crate::session::access::holders::{Hold, Holder};
use crate::session::access::sessions::Access;
use crate::session::view::View;
use crate::value::{stored, time};

/// Number of events that are read ahead at once.
const FILL_EVENTS: usize = 1024;

/// One change of one resource.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ChangeEvent {
    /// Sequence number of the commit; several events may share it.
    pub sequence: u64,
    /// Time of the commit.
    #[serde(with = "crate::value::time::required")]
    pub time: DateTime<Utc>,
    /// User id of the session that made the change.
    pub who: String,
    /// Kind of the resource: `work item`.
    pub kind: &'static str,
    /// Id of the resource.
    pub id: String,
    /// Display name of the resource; empty if it has none.
    pub name: String,
    /// Workspace of the resource after the change.
    pub workspace: String,
    /// Workspace before the change, if it changed and the caller may read there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<String>,
    /// What happened.
    pub what: What,
    /// Details: the execution event, the number of rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<Value>,
}

/// The sequence and log entry of a row in [`Space::Log`].
pub(crate) fn read_log_row(key: &[u8], value: &[u8]) -> Result<(u64, LogEntry)> {
    let sequence = <[u8; 8]>::try_from(key).map(u64::from_be_bytes).map_err(|_| {
        Error::corrupt(
            "records.redb: a key of the change log has a wrong length; restore it from a backup",
        )
    })?;
    let entry = stored::read(envelope::open(key, 0, value)?)?;
    Ok((sequence, entry))
}

impl View<'_> {
    /// The sequence of the oldest commit in the log; `None` when the log is empty.
    pub(crate) fn log_tail(&self) -> Result<Option<u64>> {
        let mut cursor = self.source().cursor(Space::Log, &[], None)?;
        let key =
            cursor.visit(false, |key, _| <[u8; 8]>::try_from(key).map(u64::from_be_bytes).ok())?;
        Ok(key.flatten())
    }

    /// Calls `f` with sequence and entry of each commit after `position`, in order, until it
    /// returns false.
    ///
    /// # Errors
    /// `Conflict` when the log no longer reaches back to `position`.
    pub(crate) fn log_after(
        &self,
        position: u64,
        mut f: impl FnMut(u64, LogEntry) -> Result<bool>,
    ) -> Result<()> {
        self.check_log_reaches(position)?;
        let Some(after) = position.checked_add(1) else { return Ok(()) };
        let mut cursor = self.source().cursor(Space::Log, &after.to_be_bytes(), None)?;
        while let Some((key, value)) = cursor.next()? {
            let (sequence, entry) = read_log_row(&key, &value)?;
            if !f(sequence, entry)? {
                break;
            }
        }
        Ok(())
    }

    /// Refuses a position after which entries of the log were dropped.
    ///
    /// # Errors
    /// `Conflict`.
    pub(crate) fn check_log_reaches(&self, position: u64) -> Result<()> {
        let trimmed = self.raw(Space::Positions, TRIMMED)?;
        let trimmed = trimmed
            .and_then(|bytes| <[u8; 8]>::try_from(bytes.as_slice()).ok())
            .map_or(0, u64::from_be_bytes);
        if position < trimmed {
            return Err(Error::conflict(format!(
                "the change log no longer contains the commits after position {position}, it \
                 starts after {trimmed}; read the resources anew, as `synchronise` does, and \
                 continue from the current position"
            )));
        }
        Ok(())
    }
}

/// Key of the row with the sequence of the last commit that was trimmed from the log.
pub(crate) const TRIMMED: &[u8] = b"trimmed";

/// The change feed after a position. The stream of a session has the events that its identity may
/// see; that of a store has all events.
///
/// ```
/// # fn main() -> stationdb::Result<()> {
/// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
/// use stationdb::{Identity, Position, Store};
///
/// let store = Store::open(dir.path())?;
/// let session = store.session(Identity::user("ada"));
/// let mut changes = session.changes(Position::START);
/// assert_eq!(changes.poll()?, None);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ChangeStream {
    context: Arc<Context>,
    _hold: Hold,
    /// Whether it returns every event, without asking the policy.
    is_of_host: bool,
    position: Position,
    ready: VecDeque<ChangeEvent>,
    read_to: u64,
}

impl ChangeStream {
    /// The position up to which every event was returned.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    /// The next event, if one is committed already.
    ///
    /// # Errors
    /// `Conflict` when the log no longer reaches back to the position; `Corrupt` when it is
    /// damaged.
    pub fn poll(&mut self) -> Result<Option<ChangeEvent>> {
        if self.ready.is_empty() {
            self.fill()?;
        }
        let event = self.ready.pop_front();
        match (&event, self.ready.front()) {
            // A commit counts as read only after its last event was returned.
            (Some(event), Some(next)) if next.sequence == event.sequence => {}
            (Some(event), _) => self.position = Position(event.sequence),
            (None, _) => self.position = self.position.max(Position(self.read_to)),
        }
        Ok(event)
    }

    /// The next event; waits up to `timeout` for one to be committed.
    ///
    /// # Errors
    /// As [`ChangeStream::poll`].
    pub fn next(&mut self, timeout: Duration) -> Result<Option<ChangeEvent>> {
        let began = Instant::now();
        loop {
            if let Some(event) = self.poll()? {
                return Ok(Some(event));
            }
            // Counts elapsed time instead of computing an end: `Instant + Duration::MAX` overflows.
            let left = timeout.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            self.context.engine.wait_for_commit(self.read_to, left);
        }
    }

    /// Whether events were read that were not returned.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Goes on at another position.
    pub(crate) fn go_on_at(&mut self, position: Position) {
        self.position = position;
        self.read_to = position.0;
        self.ready.clear();
    }

    fn fill(&mut self) -> Result<()> {
        let snapshot = self.context.engine.snapshot();
        let context = self.context.clone();
        let view = View::of(&snapshot, &context);
        let mut ready = VecDeque::new();
        let mut read_to = self.read_to;
        crate::session::guarded("reading the change log", || {
            view.log_after(self.read_to, |sequence, entry| {
                read_to = sequence;
                let LogEntry { time_ms, who, events } = entry;
                for event in events {
                    let Some(kind) = by_code(event.kind_code).map(|registered| registered.kind)
                    else {
                        continue;
                    };
                    // An event is visible by the workspace after the change. A caller that may not
                    // read that workspace is not told that a resource moved there.
                    let sees = |workspace: &str| {
                        self.is_of_host || view.visibility(kind).allows(workspace)
                    };
                    if sees(&event.workspace) {
                        let moved_from = event.moved_from.filter(|from| sees(from));
                        ready.push_back(ChangeEvent {
                            sequence,
                            time: time::from_millis(time_ms),
                            who: who.clone(),
                            kind: match event.what {
                                // Told with the id of the result, of which they are a part.
                                What::StepsChanged => RemainingSteps::KIND.event_name(),
                                _ => kind.event_name(),
                            },
                            id: event.id,
                            name: event.name,
                            workspace: event.workspace,
                            moved_from,
                            what: event.what,
                            detail: event.detail,
                        });
                    }
                }
                Ok(ready.len() < FILL_EVENTS)
            })
        })?;
        // A commit without events has no log entry. At the end of the log, everything up to the
        // snapshot's sequence was read.
        self.read_to =
            if ready.len() < FILL_EVENTS { read_to.max(snapshot.sequence) } else { read_to };
        self.ready = ready;
        Ok(())
    }
}

impl Session {
    /// The change feed from `from` on, as this session's identity may see it.
    #[must_use]
    pub fn changes(&self, from: Position) -> ChangeStream {
        self.stream(from, false)
    }

    /// The change feed after `from`, with all events.
    pub(crate) fn all_changes(&self, from: Position) -> ChangeStream {
        self.stream(from, true)
    }

    fn stream(&self, from: Position, is_of_host: bool) -> ChangeStream {
        let (context, ready) = (self.context().clone(), VecDeque::new());
        let _hold = Hold::new(context.engine.holders.clone(), Holder::ChangeStream);
        ChangeStream { context, _hold, is_of_host, position: from, ready, read_to: from.0 }
    }

    /// The position of the last commit that the session reads: where a feed of future changes
    /// starts.
    #[must_use]
    pub fn position(&self) -> Position {
        Position(self.context().snapshot().sequence)
    }
}
