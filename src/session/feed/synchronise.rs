//! The change feed for readers that may have fallen behind the log: a full pass over the records
//! that are there, and then changes.
//!
//! A pass begins at the last commit. It reads the records page by page in the order of their keys,
//! each page as it is then, and after it come the changes since its beginning. A record that
//! changed meanwhile is told again by its change; one that was deleted before its page was read is
//! not told, and one that was deleted after is told by its change. So nothing is lost, no snapshot
//! is held, and a reader can go on with the pass after a crash.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};

use super::changes::{ChangeEvent, ChangeStream};
use super::hold::{HoldState, HoldStatus};
use super::position::Position;
use super::subscribers::{Caller, OwnedSubscriberRef, SubscriberRef};
use super::sync_point::SyncPoint;
use crate::error::{ErrorKind, Result};
use crate::model::{KindEntry, by_code};
use crate::records::{Space, envelope};
use crate::session::Session;
use crate::session::access::context::Context;
use crate::session::access::identity::Visibility;
use crate::session::access::sessions::Access;
use crate::session::view::{RECORDS_BETWEEN_CHECKS, View};
use crate::value::limits::PASS_PAGE_BYTES;

/// Records that are read ahead at once.
const PAGE_RECORDS: usize = 1024;

/// A record that is there, in a full pass.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PresentRecord {
    /// Kind of the resource, as in [`ChangeEvent::kind`].
    pub kind: &'static str,
    /// Id of the resource.
    pub id: String,
    /// Display name of the resource; empty if it has none.
    pub name: String,
    /// Workspace of the resource.
    pub workspace: String,
    /// Details: of a table the number of its rows, as `rowCount`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<Value>,
}

/// What a [`SyncStream`] tells.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "item", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum SyncItem {
    /// A full pass begins: nothing that was told before counts any more.
    PassBegins {
        /// Changes after this position follow the pass.
        position: Position,
    },
    /// A record that is there.
    Present(PresentRecord),
    /// All records were told; changes follow. Records were read at different commits, and a change
    /// may be of a record that a later page has told already, or of one that is not there any more.
    PassEnds {
        /// With the changes up to this position, the reader has one consistent state.
        consistent_at: Position,
    },
    /// A change.
    Change(ChangeEvent),
    /// At least 80 % of a bound of the subscriber's hold is used, or all of it. It is told once for
    /// each state. A reader that goes on with what it has, and advances the subscriber, is safe.
    HoldEnds(HoldStatus),
}

/// The subscriber that a stream reads for.
#[derive(Debug)]
struct Follower {
    caller: Caller,
    of: OwnedSubscriberRef,
    hold: HoldStatus,
    told: HoldState,
}

/// A full pass that is under way.
#[derive(Debug)]
struct Pass {
    /// The key of the last record that was read, also of one that the caller may not see.
    read_to: Vec<u8>,
    /// Records with their keys.
    ready: VecDeque<(Vec<u8>, PresentRecord)>,
    /// The last commit of which records were read.
    consistent_at: u64,
}

/// The change feed of [`Session::synchronise`].
#[derive(Debug)]
pub struct SyncStream {
    context: Arc<Context>,
    changes: ChangeStream,
    pass: Option<Pass>,
    point: SyncPoint,
    /// Whether it returns everything, without asking the policy.
    is_of_host: bool,
    has_to_begin: bool,
    follower: Option<Follower>,
}

impl SyncStream {
    /// The point up to which every item was returned: the reader stores it, with
    /// [`Session::advance_subscriber`] or by itself, after it has handled the items.
    #[must_use]
    pub fn point(&self) -> &SyncPoint {
        &self.point
    }

    /// What the subscriber held of the change log when the stream last read; `None` for a stream
    /// without a subscriber.
    #[must_use]
    pub fn hold(&self) -> Option<&HoldStatus> {
        self.follower.as_ref().map(|follower| &follower.hold)
    }

    /// Makes the next item the begin of a full pass, whatever the change log has.
    pub fn begin_pass(&mut self) {
        self.has_to_begin = true;
    }

    /// Records of a pass that were read ahead.
    #[cfg(test)]
    pub(crate) fn ready(&self) -> usize {
        self.pass.as_ref().map_or(0, |pass| pass.ready.len())
    }

    /// The next item, if there is one already.
    ///
    /// # Errors
    /// `Corrupt` when the log or a record is damaged; the errors of the session's deadline and
    /// cancel flag; `NotFound` when the subscriber was removed. A position that the log does not
    /// reach is no error.
    pub fn poll(&mut self) -> Result<Option<SyncItem>> {
        if self.has_to_begin {
            return Ok(Some(self.begin()));
        }
        if let Some(status) = self.check_hold()? {
            return Ok(Some(SyncItem::HoldEnds(status)));
        }
        if self.pass.is_some() {
            return self.poll_pass().map(Some);
        }
        // After the last commit is a position only if the store was restored since.
        if self.point.position.0 > self.context.engine.snapshot().sequence {
            return Ok(Some(self.begin()));
        }
        match self.changes.poll() {
            Err(error) if error.kind() == ErrorKind::Conflict => Ok(Some(self.begin())),
            Err(error) => Err(error),
            Ok(event) => {
                self.point = self.changes.position().into();
                Ok(event.map(SyncItem::Change))
            }
        }
    }

    /// The next item; waits up to `timeout` for one.
    ///
    /// # Errors
    /// As [`SyncStream::poll`].
    pub fn next(&mut self, timeout: Duration) -> Result<Option<SyncItem>> {
        let began = Instant::now();
        loop {
            if let Some(item) = self.poll()? {
                return Ok(Some(item));
            }
            let left = timeout.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            self.context.engine.wait_for_commit(self.point.position.0, left);
        }
    }

    /// Begins a full pass at the last commit.
    fn begin(&mut self) -> SyncItem {
        let position = Position(self.context.engine.snapshot().sequence);
        self.has_to_begin = false;
        self.take(SyncPoint { position, pass_after: Some(Vec::new()) });
        SyncItem::PassBegins { position }
    }

    /// Goes on at a point.
    fn take(&mut self, point: SyncPoint) {
        self.changes.go_on_at(point.position);
        self.pass = point.pass_after.clone().map(|read_to| Pass {
            read_to,
            ready: VecDeque::new(),
            consistent_at: point.position.0,
        });
        self.point = point;
    }

    fn poll_pass(&mut self) -> Result<SyncItem> {
        let Some(pass) = &mut self.pass else { return Ok(self.begin()) };
        if pass.ready.is_empty() {
            let snapshot = self.context.engine.snapshot();
            let view = View::of(&snapshot, &self.context);
            // The changes since the begin of the pass have to follow it.
            match view.check_log_reaches(self.point.position.0) {
                Err(error) if error.kind() == ErrorKind::Conflict => return Ok(self.begin()),
                checked => checked?,
            }
            crate::session::guarded("reading the records", || pass.fill(&view, self.is_of_host))?;
            pass.consistent_at = pass.consistent_at.max(snapshot.sequence);
        }
        if let Some((key, record)) = pass.ready.pop_front() {
            self.point.pass_after = Some(key);
            return Ok(SyncItem::Present(record));
        }
        let consistent_at = Position(pass.consistent_at);
        self.take(self.point.position.into());
        Ok(SyncItem::PassEnds { consistent_at })
    }

    /// Reads what the subscriber holds. Returns it when that is to be told.
    fn check_hold(&mut self) -> Result<Option<HoldStatus>> {
        // Once for each page, and not for each item.
        let has_more = self.changes.has_ready()
            || self.pass.as_ref().is_some_and(|pass| !pass.ready.is_empty());
        let Some(follower) = self.follower.as_mut().filter(|_| !has_more) else { return Ok(None) };
        let session = Session::new(self.context.engine.clone(), self.context.identity.clone());
        (_, follower.hold) = session.subscriber_as(follower.caller, &follower.of)?;
        let state = follower.hold.state;
        let is_news = state != follower.told;
        follower.told = state;
        let is_near = matches!(state, HoldState::EndsSoon | HoldState::Ended);
        Ok((is_news && is_near).then_some(follower.hold))
    }
}

impl Pass {
    /// Reads the next page: bounded in records and bytes.
    fn fill(&mut self, view: &View<'_>, is_of_host: bool) -> Result<()> {
        let mut kind: Option<(&'static KindEntry, Visibility)> = None;
        let from = [self.read_to.as_slice(), &[0]].concat();
        let mut cursor = view.source().cursor(Space::Records, &from, None)?;
        let (mut bytes, mut count) = (0, 0u64);
        while self.ready.len() < PAGE_RECORDS && bytes < PASS_PAGE_BYTES {
            count += 1;
            if count.is_multiple_of(RECORDS_BETWEEN_CHECKS) {
                view.context().check_deadline()?;
            }
            let Some((key, value)) = cursor.next()? else { break };
            let code = key.first().copied().unwrap_or_default();
            if kind.as_ref().is_none_or(|(known, _)| known.kind.code != code) {
                let Some(known) = by_code(code) else { continue };
                kind = Some((known, view.visibility(known.kind)));
            }
            let Some((known, visibility)) = &kind else { continue };
            let payload = envelope::open(&key, code, &value)?;
            let summary = (known.summary)(payload, (known.summary_members)())?;
            if is_of_host || visibility.allows(&summary.workspace) {
                let detail = match view.raw(Space::RecordState, &key)? {
                    None => None,
                    Some(state) => {
                        let state = envelope::open(&key, code, &state)?;
                        let (_, usage) = (known.usage)(payload, Some(state))?;
                        Some(json!({ "rowCount": usage.rows }))
                    }
                };
                bytes += key.len() + summary.id.len() + summary.name.len();
                let record = PresentRecord {
                    kind: known.kind.event_name(),
                    id: summary.id,
                    name: summary.name,
                    workspace: summary.workspace,
                    detail,
                };
                self.ready.push_back((key.clone(), record));
            }
            self.read_to = key;
        }
        Ok(())
    }
}

impl Session {
    /// The change feed from `from` on, as this session's identity may see it, for a reader that may
    /// have fallen behind: where [`Session::changes`] fails with `Conflict`, a full pass begins.
    ///
    /// A pass begins with [`SyncItem::PassBegins`], which tells the reader to drop what it has. A
    /// [`SyncItem::Present`] follows for each record that the identity may see, then
    /// [`SyncItem::PassEnds`], and then the changes since the pass began.
    /// [`SyncStream::begin_pass`] asks for a pass at any time. [`SyncStream::point`] is where the
    /// reader goes on, also in the middle of a pass and in another process. A pass reads page by
    /// page, and holds no snapshot.
    ///
    /// ```
    /// # fn main() -> stationdb::Result<()> {
    /// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
    /// use std::collections::BTreeSet;
    ///
    /// use stationdb::prelude::*;
    /// use stationdb::products::CreateProductRequest;
    /// use stationdb::{Identity, Position, Store, SyncItem, What};
    ///
    /// let store = Store::open(dir.path())?;
    /// let session = store.session(Identity::user("ada"));
    /// session.create_products(vec![CreateProductRequest::new("156502A-11L")])?.require_all()?;
    ///
    /// let mut known = BTreeSet::new();
    /// let mut stream = session.synchronise(Position::START);
    /// stream.begin_pass();
    /// while let Some(item) = stream.poll()? {
    ///     match item {
    ///         SyncItem::PassBegins { .. } => known.clear(),
    ///         SyncItem::Present(record) => drop(known.insert(record.id)),
    ///         SyncItem::Change(change) if change.what == What::Deleted => {
    ///             known.remove(&change.id);
    ///         }
    ///         SyncItem::Change(change) => drop(known.insert(change.id)),
    ///         _ => {}
    ///     }
    /// }
    /// assert_eq!(known.len(), 1);
    /// let text = stream.point().to_string();
    /// assert_eq!(session.synchronise(text.parse::<stationdb::SyncPoint>()?).poll()?, None);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn synchronise(&self, from: impl Into<SyncPoint>) -> SyncStream {
        self.synchronise_as(Caller::Session, from.into())
    }

    /// [`Session::synchronise`] from where a subscriber is. The reader moves it with
    /// [`Session::advance_subscriber`] to [`SyncStream::point`]; from the begin of a pass on, the
    /// log is then kept for the changes that follow the pass.
    ///
    /// The stream tells once when at least 80 % of a bound of the subscriber is used, and when all
    /// of it is ([`SyncItem::HoldEnds`]).
    ///
    /// # Errors
    /// `NotFound` when the caller has no subscriber of this name; `PermissionDenied` when the
    /// policy refuses, see [`Session::register_subscriber`]; errors of the disk.
    pub fn synchronise_subscriber<'a>(
        &self,
        subscriber: impl Into<SubscriberRef<'a>>,
    ) -> Result<SyncStream> {
        self.synchronise_subscriber_as(Caller::Session, subscriber.into())
    }

    pub(crate) fn synchronise_as(&self, caller: Caller, from: SyncPoint) -> SyncStream {
        let is_of_host = caller == Caller::Host;
        let changes =
            if is_of_host { self.all_changes(from.position) } else { self.changes(from.position) };
        let mut stream = SyncStream {
            context: self.context().clone(),
            changes,
            pass: None,
            point: from.position.into(),
            is_of_host,
            has_to_begin: false,
            follower: None,
        };
        stream.take(from);
        stream
    }

    pub(crate) fn synchronise_subscriber_as(
        &self,
        caller: Caller,
        of: SubscriberRef<'_>,
    ) -> Result<SyncStream> {
        let of = OwnedSubscriberRef::from(of);
        let (row, hold) = self.subscriber_as(caller, &of)?;
        let mut stream = self.synchronise_as(caller, row.point());
        stream.follower = Some(Follower { caller, of, hold, told: HoldState::Held });
        Ok(stream)
    }
}
