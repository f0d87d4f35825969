//! The one way in for changes: plans of a group, run one after another, in one commit.
//!
//! A group (see `turns`) is one redb transaction. Each plan runs over the last commit plus what the plans before it changed; the
//! commit is one sync; then the snapshot is published.
//!
//! What must hold: a commit goes to the files that the store's names lead to; a refused plan changes nothing; readers see a commit only after its sync; after a failed write the
//! store latches and nobody writes again.

use std::sync::Arc;

use super::context::Context;
use super::draft::Draft;
use super::engine::turns::Member;
use super::engine::{Answer, Engine, Planned};
use super::event::{Event, LogEntry};
use super::view::View;
use crate::error::{Error, ErrorKind, Result};
use crate::records::{Change, Source, Space, Turn, envelope};
use crate::value::{guarded, limits, stored};

/// Runs `plan` in the next group and returns its answer after the sync.
pub(super) fn submit<T: Send + 'static>(
    context: &Arc<Context>,
    plan: impl FnOnce(&mut Draft<'_>) -> Result<T> + Send + 'static,
) -> Result<T> {
    context.engine.check_process()?;
    context.check_deadline()?;
    let engine = &context.engine;
    let planning = context.clone();
    let planned: Planned = Box::new(move |turn, brought, sequence| {
        let (value, mut changes, events) = plan_over(turn, &planning, brought, plan)?;
        // What concerns no resource (positions, checkpoints, swept files) is a commit, but no event.
        // Before anything is applied: what the log cannot hold refuses its plan, not the group.
        if !changes.is_empty() && !events.is_empty() {
            changes.push(log_row(&planning.engine, &planning, sequence, events)?);
        }
        Ok((Box::new(value) as Answer, changes))
    });
    let answer = engine.write_queue.turns.submit(planned, context.deadline(), |group, committing| {
        guarded("writing", || run_group(engine, group, committing))
    })?;
    answer.downcast::<T>().map(|value| *value).map_err(|_| Error::corrupt("a write answered with another type"))
}

fn run_group(engine: &Engine, group: &mut [Member<Planned, Answer>], committing: &mut bool) -> Result<()> {
    let transaction = engine.begin()?;
    let mut sequence = engine.sequence();
    let mut brought = 0;
    let finished = {
        let mut turn = Turn::open(&transaction, engine.snapshot());
        for member in group {
            let Some(plan) = member.plan.take() else { continue };
            let planned = guarded("planning a write", || plan(&turn, &mut brought, sequence + 1));
            member.answer = Some(match planned {
                Ok((value, changes)) => {
                    if !changes.is_empty() {
                        turn.apply(changes)?;
                        sequence += 1;
                    }
                    Ok(value)
                }
                Err(refusal) => Err(refusal),
            });
        }
        if sequence != engine.sequence() {
            turn.apply([engine.state_row(sequence)])?;
        }
        if sequence == engine.sequence() {
            // Nothing changed: no sync is owed.
            return Ok(());
        }
        turn.finish()?
    };
    engine.check_place()?;
    *committing = true;
    engine.commit(transaction, finished, sequence)
}

/// Runs one plan over the turn's state; nothing is written. `brought` are the bytes that accepted plans of the same commit
/// bring, of which the disk does not know yet.
pub(super) fn plan_over<T>(
    turn: &Turn<'_>,
    context: &Arc<Context>,
    brought: &mut u64,
    plan: impl FnOnce(&mut Draft<'_>) -> Result<T>,
) -> Result<(T, Vec<Change>, Vec<Event>)> {
    // The plans before it may have taken long.
    context.check_deadline()?;
    let view = View::new(Source::Turn(turn), context, &[]);
    let mut draft = Draft::new(view);
    let value = plan(&mut draft)?;
    let needs_space = draft.needs_space();
    let (changes, events) = draft.finish()?;
    if needs_space {
        let bytes: usize = changes.iter().map(Change::len).sum();
        let together = brought.saturating_add(bytes as u64);
        context.engine.check_record_space(together)?;
        *brought = together;
    }
    Ok((value, changes, events))
}

/// The change log's row of one commit.
pub(super) fn log_row(engine: &Engine, context: &Context, sequence: u64, events: Vec<Event>) -> Result<Change> {
    /// About what an event takes.
    const EVENT_BYTES: usize = 96;
    let key = sequence.to_be_bytes();
    let entry = LogEntry { time_ms: engine.now().timestamp_millis(), who: context.user().to_owned(), events };
    let most = limits::LOG_ENTRY_BYTES;
    let expected = entry.events.len() * EVENT_BYTES;
    let sealed = envelope::seal_with(&key, 0, expected, |out| stored::append_within(&entry, out, most));
    let value = sealed.map_err(|error| match error.kind() {
        ErrorKind::LimitExceeded => error.context("the change log cannot hold what this changes; split it"),
        _ => error,
    })?;
    Ok(Change::Put { space: Space::Log, key: key.to_vec(), value })
}

/// Holds the turn alone while `f` runs: the frame of an explicit transaction.
pub(super) fn exclusive<T>(context: &Arc<Context>, f: impl FnOnce() -> Result<T>) -> Result<T> {
    context.engine.check_process()?;
    context.check_deadline()?;
    context.engine.write_queue.turns.exclusive(context.deadline(), f)
}
