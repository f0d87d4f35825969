//! What work items, test plans and their templates have in common.
//!
//! The two services differ in data: their records, requests and published names. Everything that they do is here, over
//! the three small traits below; a rule that is stated twice is a defect. What must hold: the functions of [`actions`],
//! [`checks`], [`merge`] and [`placeholders`] are pure, so that they are tested without a store.

pub(super) mod actions;
pub(super) mod batch;
pub(super) mod checks;
pub(super) mod merge;
pub(super) mod placeholders;
pub(super) mod query;

use crate::error::{Error, Result};
use crate::model::Stamped;
use crate::model::fill;
use crate::model::lab::dashboard::Dashboard;
use crate::model::lab::execution::ExecutionDefinition;
use crate::model::lab::state::State;
use crate::session::{Draft, What};
use crate::value::PlannedTime;

/// A record of the two services.
pub(super) trait LabRecord: Stamped {
    /// The published name of the error about an unknown id.
    const NOT_FOUND: &'static str;

    /// Its dashboard.
    fn dashboard_mut(&mut self) -> &mut Option<Dashboard>;

    /// Checks the record as it would be stored: a request is judged by what comes of it.
    ///
    /// # Errors
    /// `InvalidArgument` naming the member.
    fn check(&self) -> Result<()>;

    /// Fills the members that are computed when a record is read, and makes lists and maps that are not there empty ones.
    fn finish(&mut self);
}

/// A record with a state.
pub(super) trait Stateful {
    /// State and substate.
    fn state_mut(&mut self) -> (&mut Option<State>, &mut Option<String>);

    /// Moves to a state; the substate becomes its text, and stays when the state does not change.
    fn set_state(&mut self, new: State) {
        let (state, substate) = self.state_mut();
        if *state != Some(new) {
            *state = Some(new);
            *substate = Some(new.as_str().to_owned());
        }
    }

    /// What scheduling does to the state, given the planned start that came of it.
    ///
    /// # Errors
    /// `Conflict` when the state is terminal.
    fn follow_schedule(&mut self, planned_start: Option<PlannedTime>) -> Result<()> {
        match self.state_mut().0.unwrap_or_default() {
            state if state.is_terminal() => Err(actions::invalid_state(format!("what is {state} cannot be scheduled"))),
            State::New | State::Defined | State::Reviewed if planned_start.is_some() => {
                self.set_state(State::Scheduled);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// A request that makes a record.
pub(super) trait Creation: Clone + Send + 'static {
    /// What it makes.
    type Record: LabRecord;

    /// The name that errors call it by.
    fn name(&self) -> Option<&str>;

    /// The record, without id, workspace default and stamp. Templates are looked up in `draft`.
    ///
    /// # Errors
    /// `InvalidArgument` and `NotFound`, about this request alone.
    fn build(self, draft: &Draft<'_>) -> Result<Self::Record>;
}

/// A request that changes a record.
pub(super) trait Amendment: Clone + Send + 'static {
    /// What it changes.
    type Record: LabRecord;

    /// What the change feed calls the change.
    const WHAT: What;

    /// The id that it names.
    fn id(&self) -> Option<&str>;

    /// Changes the record.
    ///
    /// # Errors
    /// `InvalidArgument` and `Conflict`, about this request alone.
    fn amend(self, record: &mut Self::Record, replace: bool) -> Result<()>;
}

/// The error about an id that names nothing, or nothing that the caller may see.
pub(super) fn not_found<R: LabRecord>(id: &str) -> Error {
    Error::not_found(R::KIND.name, id).with_name(R::NOT_FOUND, None)
}

/// Makes the lists and maps within a record's parts empty ones where they are not there.
pub(super) fn fill_parts(dashboard: Option<&mut Dashboard>, actions: Option<&mut Vec<ExecutionDefinition>>) {
    if let Some(dashboard) = dashboard {
        fill(&mut dashboard.variables);
    }
    for action in actions.into_iter().flatten() {
        match action {
            ExecutionDefinition::Job(definition) => fill(&mut definition.jobs),
            ExecutionDefinition::Notebook(definition) => fill(&mut definition.parameters),
            ExecutionDefinition::Manual(_) | ExecutionDefinition::None(_) => {}
        }
    }
}
