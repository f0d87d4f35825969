//! The queue of writers, as the engine holds it: plans that know neither services nor views.

use std::any::Any;

use super::turns::Turns;
use crate::error::Result;
use crate::records::{Change, Turn};

/// The answer of a plan.
pub(in crate::session) type Answer = Box<dyn Any + Send>;

/// A write that waits for its turn: from the turn, the bytes that the plans before it bring and the
/// number of its commit to its answer and changes.
pub(in crate::session) type Planned = Box<dyn FnOnce(&Turn<'_>, &mut u64, u64) -> Result<(Answer, Vec<Change>)> + Send>;

/// The queue of writers.
#[derive(Default)]
pub(crate) struct WriteQueue {
    pub(in crate::session) turns: Turns<Planned, Answer>,
}

impl std::fmt::Debug for WriteQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WriteQueue").field("queued", &self.turns.queued()).finish()
    }
}
