//! The built-in actions and their state transitions; `docs/states-and-actions.md` contains the same
//! table.

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ExecutionDefinition, State};

/// The states in which a built-in action is allowed.
#[derive(Clone, Copy, Debug)]
enum From {
    Any,
    NonTerminal,
    Only(&'static [State]),
}

impl From {
    fn holds(self, state: State) -> bool {
        match self {
            Self::Any => true,
            Self::NonTerminal => !state.is_terminal(),
            Self::Only(states) => states.contains(&state),
        }
    }
}

/// What a built-in action runs if the item does not define it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum DefaultAction {
    Manual,
    Schedule,
    Unschedule,
    /// The action cannot be executed.
    Refused,
}

struct BuiltIn {
    name: &'static str,
    from: From,
    state: State,
    substate: &'static str,
    undefined: DefaultAction,
}

const fn action(name: &'static str, from: From, state: State, undefined: DefaultAction) -> BuiltIn {
    BuiltIn { name, from, state, substate: state.as_str(), undefined }
}

static BUILT_IN: &[BuiltIn] = &[
    action("START", From::NonTerminal, State::InProgress, DefaultAction::Manual),
    action("END", From::NonTerminal, State::PendingApproval, DefaultAction::Manual),
    action("COMPLETE", From::NonTerminal, State::PendingApproval, DefaultAction::Refused),
    BuiltIn {
        name: "PAUSE",
        from: From::Only(&[State::InProgress]),
        state: State::InProgress,
        substate: "PAUSED",
        undefined: DefaultAction::Refused,
    },
    action("RESUME", From::Only(&[State::InProgress]), State::InProgress, DefaultAction::Refused),
    action("ABORT", From::NonTerminal, State::Canceled, DefaultAction::Refused),
    action("CANCEL", From::NonTerminal, State::Canceled, DefaultAction::Refused),
    action("READY", From::Only(&[State::New]), State::Defined, DefaultAction::Refused),
    action("APPROVE", From::Only(&[State::Defined]), State::Reviewed, DefaultAction::Refused),
    action("APPROVE", From::Only(&[State::PendingApproval]), State::Closed, DefaultAction::Refused),
    action("RESET", From::Any, State::New, DefaultAction::Refused),
    action(
        "SCHEDULE",
        From::Only(&[State::New, State::Defined, State::Reviewed]),
        State::Scheduled,
        DefaultAction::Schedule,
    ),
    action(
        "UNSCHEDULE",
        From::Only(&[State::Scheduled]),
        State::Reviewed,
        DefaultAction::Unschedule,
    ),
];

/// What an action runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Runs {
    /// The definition of the item.
    Defined(ExecutionDefinition),
    /// Nothing.
    Manual,
    /// Schedules the item.
    Schedule,
    /// Unschedules the item.
    Unschedule,
}

/// The state after an action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Target {
    pub(crate) state: State,
    pub(crate) substate: &'static str,
    /// Whether the action removes the schedule of the item.
    pub(crate) clears_schedule: bool,
}

/// The effect of executing an action of an item.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) runs: Runs,
    /// The new state; `None` if the state does not change.
    pub(crate) target: Option<Target>,
}

/// The members of an item that decide about its actions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation<'i> {
    pub(crate) state: State,
    pub(crate) definitions: &'i [ExecutionDefinition],
    pub(crate) has_planned_start: bool,
}

/// The error about an action that the state does not allow.
pub(crate) fn invalid_state(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Conflict, message).with_name("Skyline.WorkOrder.InvalidState", None)
}

/// Resolves the action `name`: the definition says what it runs, the table of built-in actions
/// gives the target state.
///
/// Names of definitions are compared exactly, built-in names without letter case. A name may have
/// several rows in the table; the row that allows the present state applies.
///
/// # Errors
/// `InvalidArgument` for a blank name, `NotFound` for an action that is neither defined nor built
/// in, `Conflict` if the state does not allow it.
pub(crate) fn resolve(situation: Situation<'_>, name: &str) -> Result<Step> {
    if name.trim().is_empty() {
        return Err(super::checks::invalid("action", "must not be blank"));
    }
    let definition = situation.definitions.iter().find(|definition| definition.action() == name);
    let mut rows = BUILT_IN.iter().filter(|row| row.name.eq_ignore_ascii_case(name)).peekable();
    let undefined = rows.peek().map(|row| row.undefined);
    let runs = match (definition, undefined) {
        (Some(definition), _) => Runs::Defined(definition.clone()),
        (None, Some(DefaultAction::Manual)) => Runs::Manual,
        (None, Some(DefaultAction::Schedule)) => Runs::Schedule,
        (None, Some(DefaultAction::Unschedule)) => Runs::Unschedule,
        (None, Some(DefaultAction::Refused) | None) => {
            let message =
                format!("the work item has no action {name:?}; define it in its executionActions");
            return Err(Error::new(ErrorKind::NotFound, message)
                .with_name("Skyline.WorkOrder.ActionNotFound", None)
                .with_args([name]));
        }
    };
    let state = situation.state;
    let forbidden = || {
        invalid_state(format!("the action {name:?} cannot be executed in the state {state}"))
            .with_args([name])
    };
    let target = if undefined.is_some() {
        let row = rows.find(|row| row.from.holds(state)).ok_or_else(forbidden)?;
        if row.state == State::Scheduled && !situation.has_planned_start {
            return Err(invalid_state(
                "an item without a planned start cannot be scheduled; schedule it with one first",
            )
            .with_args([name]));
        }
        let clears_schedule = row.name == "UNSCHEDULE";
        Some(Target { state: row.state, substate: row.substate, clears_schedule })
    } else if state.is_terminal() {
        return Err(forbidden());
    } else {
        None
    };
    // A definition of the kind NONE never changes the state, even under the name of a built-in
    // action.
    let stays = matches!(runs, Runs::Defined(ExecutionDefinition::None(_)));
    Ok(Step { runs, target: target.filter(|_| !stays) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::lab::execution::{ManualExecution, NoneExecution};

    fn manual(action: &str) -> ExecutionDefinition {
        ManualExecution::new(action).into()
    }

    fn go(
        state: State,
        definitions: &[ExecutionDefinition],
        name: &str,
    ) -> Result<Option<(State, &'static str)>> {
        let situation = Situation { state, definitions, has_planned_start: true };
        resolve(situation, name)
            .map(|step| step.target.map(|target| (target.state, target.substate)))
    }

    /// The table of `docs/states-and-actions.md`, one line for each action: allowed states, target
    /// state, and whether it needs a definition.
    #[test]
    fn the_built_in_actions_lead_where_the_reference_says() {
        use State::{
            Canceled, Closed, Defined, InProgress, New, PendingApproval, Reviewed, Scheduled,
        };
        let open = [New, Defined, Reviewed, Scheduled, InProgress, PendingApproval].as_slice();
        let all =
            [New, Defined, Reviewed, Scheduled, InProgress, PendingApproval, Closed, Canceled]
                .as_slice();
        let table: &[(&str, &[State], State, &str, bool)] = &[
            ("START", open, InProgress, "IN_PROGRESS", false),
            ("END", open, PendingApproval, "PENDING_APPROVAL", false),
            ("COMPLETE", open, PendingApproval, "PENDING_APPROVAL", true),
            ("PAUSE", &[InProgress], InProgress, "PAUSED", true),
            ("RESUME", &[InProgress], InProgress, "IN_PROGRESS", true),
            ("ABORT", open, Canceled, "CANCELED", true),
            ("CANCEL", open, Canceled, "CANCELED", true),
            ("READY", &[New], Defined, "DEFINED", true),
            ("RESET", all, New, "NEW", true),
            ("SCHEDULE", &[New, Defined, Reviewed], Scheduled, "SCHEDULED", false),
            ("UNSCHEDULE", &[Scheduled], Reviewed, "REVIEWED", false),
        ];
        for &(name, from, to, substate, needs_definition) in table {
            for &state in State::ALL {
                let defined = go(state, &[manual(name)], name);
                let undefined = go(state, &[], &name.to_lowercase());
                if from.contains(&state) {
                    assert_eq!(defined.unwrap(), Some((to, substate)), "{name} from {state}");
                } else {
                    assert_eq!(
                        defined.unwrap_err().kind(),
                        ErrorKind::Conflict,
                        "{name} from {state}"
                    );
                }
                match undefined {
                    Ok(target) => assert!(
                        !needs_definition && target == Some((to, substate)),
                        "{name} from {state}"
                    ),
                    Err(error) if needs_definition => {
                        assert_eq!(error.kind(), ErrorKind::NotFound, "{name}");
                    }
                    Err(error) => assert!(
                        error.kind() == ErrorKind::Conflict && !from.contains(&state),
                        "{name}"
                    ),
                }
            }
        }
        let approve = [manual("APPROVE")];
        assert_eq!(go(Defined, &approve, "APPROVE").unwrap(), Some((Reviewed, "REVIEWED")));
        assert_eq!(go(PendingApproval, &approve, "APPROVE").unwrap(), Some((Closed, "CLOSED")));
        assert_eq!(go(New, &approve, "APPROVE").unwrap_err().kind(), ErrorKind::Conflict);
    }

    #[test]
    fn names_are_exact_for_definitions_and_free_of_case_for_built_ins() {
        let definitions = [manual("Burn in"), NoneExecution::new("START").into()];
        assert_eq!(go(State::New, &definitions, "Burn in").unwrap(), None);
        assert_eq!(
            go(State::New, &definitions, "burn in").unwrap_err().kind(),
            ErrorKind::NotFound
        );
        assert_eq!(
            go(State::Closed, &definitions, "Burn in").unwrap_err().kind(),
            ErrorKind::Conflict
        );
        assert_eq!(
            go(State::New, &definitions, "START").unwrap(),
            None,
            "a definition of the kind NONE stays"
        );
        assert_eq!(
            go(State::New, &definitions, "Start").unwrap(),
            Some((State::InProgress, "IN_PROGRESS"))
        );
        assert_eq!(
            go(State::New, &definitions, " ").unwrap_err().kind(),
            ErrorKind::InvalidArgument
        );
    }

    #[test]
    fn scheduling_needs_a_planned_start() {
        let situation = Situation { state: State::New, definitions: &[], has_planned_start: false };
        assert_eq!(resolve(situation, "SCHEDULE").unwrap_err().kind(), ErrorKind::Conflict);
    }
}
