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
use std::time::Instant;

use super::draft::Draft;
use crate::error::{ErrorKind, Result};
use crate::records::{Change, ReadSource, Space, envelope};
use crate::session::access::context::Context;
use crate::session::engine::turns::{Leadership, Queued};
use crate::session::engine::{Engine, Planned, Room};
use crate::session::feed::event::{Event, LogEntry};
use crate::session::view::View;
use crate::value::{guarded, limits, stored};

/// A write before its turn: it changes a draft, and keeps its answer for its caller.
pub(crate) type Plan = Box<dyn FnOnce(&mut Draft<'_>) -> Result<()> + Send>;

/// Runs `plan` in the next group, and returns after the sync.
///
/// # Errors
/// The refusal of the plan; `Latched`; `DeadlineExceeded` and `Cancelled` when no group had taken
/// the plan by then;
/// `OutcomeUnknown` when the commit failed; the error of a step before the commit.
pub(in crate::session) fn submit(context: &Arc<Context>, plan: Plan) -> Result<()> {
    check_may_write(context, "a write")?;
    let begun = Instant::now();
    let planning = context.clone();
    let planned: Planned = Box::new(move |turn, room, sequence| {
        let (mut changes, events) = plan_over(ReadSource::Turn(turn), &planning, room, plan)?;
        // A change of no resource (positions, checkpoints, swept files) makes a commit without an
        // event. The log row is built before anything is applied: an entry beyond the limit then
        // refuses its own plan, not the group.
        if !changes.is_empty() && !events.is_empty() {
            changes.push(log_row(&planning.engine, &planning, sequence, events)?);
        }
        Ok(changes)
    });
    let engine = &context.engine;
    let answer = match engine.turns.enter(planned, context.patience())? {
        Queued::Answered(answer) => answer,
        Queued::Leads(mut group) => {
            let outcome = engine.latching("writing", || run_group(engine, &mut group));
            group.settle(outcome)
        }
    };
    if answer.is_ok() {
        engine.commit_latency.add(begun.elapsed());
    }
    answer
}

/// Refuses a write that need not wait for its turn.
fn check_may_write(context: &Context, what: &str) -> Result<()> {
    context.refuse_pinned(what)?;
    context.engine.check_process()?;
    context.check_deadline()
}

/// Runs the plans of a group, answers them, and commits their changes.
fn run_group(engine: &Engine, group: &mut Leadership<Planned, ()>) -> Result<()> {
    group.check_latch()?;
    engine.count_free_pages()?;
    let mut sequence = engine.sequence();
    let mut room = Room::default();
    let mut turn = engine.open_turn();
    for member in &mut group.members {
        let Some(plan) = member.plan.take() else { continue };
        // A panic refuses its own plan, not the group.
        let planned = guarded("planning a write", || plan(&turn, &mut room, sequence + 1));
        member.answer = Some(planned.map(|changes| {
            if !changes.is_empty() {
                turn.apply(changes);
                sequence += 1;
                // Ends the commit: an archive tells the commits of a record apart by these rows.
                turn.apply([engine.state_row(sequence)]);
            }
        }));
    }
    if sequence == engine.sequence() {
        // No plan changed anything, so there is nothing to sync.
        return Ok(());
    }
    engine.check_place()?;
    group.is_committing = true;
    engine.commit(turn.finish(), sequence, room.disk_free_bytes)
}

/// Runs one plan over `source`; writes nothing. `room` has the space that the plans of the same
/// commit before it need.
pub(in crate::session) fn plan_over(
    source: ReadSource<'_>,
    context: &Arc<Context>,
    room: &mut Room,
    plan: Plan,
) -> Result<(Vec<Change>, Vec<Event>)> {
    // The plans before this one may have taken long.
    context.check_deadline()?;
    let view = View::new(source, context, &[]);
    let mut draft = Draft::new(view);
    plan(&mut draft)?;
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
    Ok((changes, events))
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

/// Waits for the turn, and holds it alone, for `what`.
pub(in crate::session) fn exclusive(
    context: &Context,
    what: &'static str,
) -> Result<Leadership<Planned, ()>> {
    check_may_write(context, what)?;
    context.engine.turns.exclusive(what, context.patience())
}
