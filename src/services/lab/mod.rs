//! The common parts of work items, test plans and their templates.
//!
//! The two services differ only in data: their records, requests and published names. Their
//! behaviour is implemented here once, over the three small traits below. What must hold: the
//! functions of [`actions`], [`checks`], [`merge`] and [`placeholders`] are pure, so that they can
//! be tested without a store.

pub(super) mod actions;
pub(super) mod batch;
pub(super) mod checks;
pub(super) mod merge;
pub(super) mod placeholders;
mod query;
mod templates;

pub(super) use templates::Templates;

use crate::error::Result;
use crate::model::{Dashboard, ExecutionDefinition, Stamped, State, fill};
use crate::services::service_record::ServiceRecord;
use crate::session::{Draft, What};
use crate::value::{Env, PlannedTime};

/// A record of the two services.
pub(super) trait LabRecord: Stamped {
    /// The published name of the error about an unknown id.
    const NOT_FOUND: &'static str;

    /// The dashboard of the record.
    fn dashboard_mut(&mut self) -> &mut Option<Dashboard>;

    /// Validates the record as it would be stored. Requests are validated by the records that they
    /// produce.
    ///
    /// # Errors
    /// `InvalidArgument` naming the member.
    fn check(&self) -> Result<()>;

    /// Fills the members that are computed when a record is read, and replaces absent lists and
    /// maps by empty ones.
    fn finish(&mut self);
}

/// A record with a state.
pub(super) trait Stateful {
    /// State and substate.
    fn state_mut(&mut self) -> (&mut Option<State>, &mut Option<String>);

    /// Sets the state. If it changes, the substate becomes the text of the new state; otherwise the
    /// substate is kept.
    fn set_state(&mut self, new: State) {
        let (state, substate) = self.state_mut();
        if *state != Some(new) {
            *state = Some(new);
            *substate = Some(new.as_str().to_owned());
        }
    }

    /// Adapts the state after scheduling, given the resulting planned start.
    ///
    /// # Errors
    /// `Conflict` if the state is terminal.
    fn follow_schedule(&mut self, planned_start: Option<PlannedTime>) -> Result<()> {
        match self.state_mut().0.unwrap_or_default() {
            state if state.is_terminal() => Err(actions::invalid_state(format!(
                "the state is {state}, so it cannot be scheduled"
            ))),
            State::New | State::Defined | State::Reviewed if planned_start.is_some() => {
                self.set_state(State::Scheduled);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// A request that creates a record.
pub(super) trait Creation: Clone + Send + 'static {
    /// The type of the created record.
    type Record: LabRecord;

    /// The type of the template that a request may name.
    type Template: LabRecord;

    /// Builds the record, without id, default workspace and stamp.
    ///
    /// # Errors
    /// `InvalidArgument` and `NotFound`, which concern only this request.
    fn build(
        self,
        draft: &Draft<'_>,
        templates: &mut Templates<Self::Template>,
    ) -> Result<Self::Record>;
}

/// A request that changes a record.
pub(super) trait Amendment: Clone + Send + 'static {
    /// The type of the changed record.
    type Record: LabRecord;

    /// How the change feed classifies the change.
    const WHAT: What;

    /// The id of the record to change.
    fn id(&self) -> Option<&str>;

    /// Changes the record in memory.
    ///
    /// # Errors
    /// `InvalidArgument` and `Conflict`, which concern only this request.
    fn amend(self, record: &mut Self::Record, replace: bool) -> Result<()>;
}

impl<R: LabRecord> ServiceRecord for R {
    const ABSENT: (&'static str, Option<i64>) = (R::NOT_FOUND, None);

    fn in_answer(mut self, _env: &Env) -> Self {
        self.finish();
        self
    }
}

/// Replaces absent lists and maps in the parts of a record by empty ones.
pub(super) fn fill_parts(
    dashboard: Option<&mut Dashboard>,
    actions: Option<&mut Vec<ExecutionDefinition>>,
) {
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
