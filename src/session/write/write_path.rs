//! The only path of a change into the store: the plans of a group run one after another, and one
//! commit makes them durable.
//!
//! A group (see `turns`) is one record of the journal. Each plan sees the last commit and the
//! changes of the plans before it. One sync makes the commit durable; then its snapshot is
//! published.
//!
//! What must hold:
//! - A commit goes to the files that the store's names lead to (`check_place`).
//! - A refused plan changes nothing.
//! - Readers see a commit only after its sync.
//! - After a failed write the store latches, and no further write runs.

use std::sync::Arc;

use super::draft::Draft;
use crate::error::{ErrorKind, Result};
use crate::records::{Change, ReadSource, Space, envelope};
use crate::session::access::context::Context;
use crate::session::engine::turns::Member;
use crate::session::engine::{Answer, Engine, Planned, Room};
use crate::session::feed::event::{Event, LogEntry};
use crate::session::view::View;
use crate::value::{guarded, limits, stored};

/// A write before its turn: it changes a draft and returns its answer.
pub(crate) type Plan = Box<dyn FnOnce(&mut Draft<'_>) -> Result<Answer> + Send>;

/// Runs `plan` in the next group and returns its answer after the sync.
pub(in crate::session) fn submit(context: &Arc<Context>, plan: Plan) -> Result<Answer> {
    context.refuse_pinned("a write")?;
    context.engine.check_process()?;
    context.check_deadline()?;
    let engine = &context.engine;
    let planning = context.clone();
    let planned: Planned = Box::new(move |turn, room, sequence| {
        let (answer, mut changes, events) =
            plan_over(ReadSource::Turn(turn), &planning, room, plan)?;
        // A change of no resource (positions, checkpoints, swept files) makes a commit without an
        // event. The log row is built before anything is applied: an entry beyond the limit then
        // refuses its own plan, not the group.
        if !changes.is_empty() && !events.is_empty() {
            changes.push(log_row(&planning.engine, &planning, sequence, events)?);
        }
        Ok((answer, changes))
    });
    engine.write_queue.turns.submit(planned, context.deadline(), |group, committing| {
        guarded("writing", || run_group(engine, group, committing))
    })
}

fn run_group(
    engine: &Engine,
    group: &mut [Member<Planned, Answer>],
    committing: &mut bool,
) -> Result<()> {
    engine.count_free_pages()?;
    let mut sequence = engine.sequence();
    let mut room = Room::default();
    let mut turn = engine.open_turn();
    for member in group {
        let Some(plan) = member.plan.take() else { continue };
        let planned = guarded("planning a write", || plan(&turn, &mut room, sequence + 1));
        member.answer = Some(match planned {
            Ok((value, changes)) => {
                if !changes.is_empty() {
                    turn.apply(changes);
                    sequence += 1;
                }
                Ok(value)
            }
            Err(refusal) => Err(refusal),
        });
    }
    if sequence == engine.sequence() {
        // No plan changed anything, so there is nothing to sync.
        return Ok(());
    }
    turn.apply([engine.state_row(sequence)]);
    engine.check_place()?;
    *committing = true;
    engine.commit(turn.finish(), sequence, room.disk_free_bytes)
}

/// Runs one plan over `source`; writes nothing. `room` has the space that the plans of the same
/// commit before it need.
pub(in crate::session) fn plan_over(
    source: ReadSource<'_>,
    context: &Arc<Context>,
    room: &mut Room,
    plan: Plan,
) -> Result<(Answer, Vec<Change>, Vec<Event>)> {
    // The plans before this one may have taken long.
    context.check_deadline()?;
    let view = View::new(source, context, &[]);
    let mut draft = Draft::new(view);
    let value = plan(&mut draft)?;
    // The caller may have gone while the plan ran; nothing of it is applied yet.
    context.check_deadline()?;
    let needs_space = draft.needs_space();
    let (changes, events) = draft.finish()?;
    if needs_space {
        let bytes: usize = changes.iter().map(Change::len).sum();
        let together = room.wanted_bytes.saturating_add(bytes as u64);
        let disk_free_bytes = context.engine.check_record_space(together)?;
        *room = Room { wanted_bytes: together, disk_free_bytes };
    }
    Ok((value, changes, events))
}

/// The row of one commit in the change log.
pub(in crate::session) fn log_row(
    engine: &Engine,
    context: &Context,
    sequence: u64,
    events: Vec<Event>,
) -> Result<Change> {
    /// Expected size of an event, for the first allocation.
    const EVENT_BYTES: usize = 96;
    let key = sequence.to_be_bytes();
    let entry = LogEntry {
        time_ms: engine.now().timestamp_millis(),
        who: context.user().to_owned(),
        events,
    };
    let most = limits::LOG_ENTRY_BYTES;
    let expected = entry.events.len() * EVENT_BYTES;
    let sealed =
        envelope::seal_with(&key, 0, expected, |out| stored::append_within(&entry, out, most));
    let value = sealed.map_err(|error| match error.kind() {
        ErrorKind::LimitExceeded => error
            .context("the change is too large for one entry of the change log; split the request"),
        _ => error,
    })?;
    Ok(Change::Put { space: Space::Log, key: key.to_vec(), value })
}

/// Holds the turn alone while `f` runs. Explicit transactions use it.
pub(in crate::session) fn exclusive<T>(
    context: &Arc<Context>,
    f: impl FnOnce() -> Result<T>,
) -> Result<T> {
    context.refuse_pinned("a transaction")?;
    context.engine.check_process()?;
    context.check_deadline()?;
    context.engine.write_queue.turns.exclusive(context.deadline(), f)
}
