//! The history of executed actions.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::ApiError;
use crate::model::lab::state::State;
use crate::value::Stored;
use crate::value::stored::{DecodeResult, EncodeResult, Input, Output};
use crate::value::wire::{record, wire_enum};
use flat::EventRecord;

record! {
    /// The common members of all events of an execution history.
    pub struct ExecutionEventBase new() {
        /// Name of the action.
        pub action: Option<String>,
        /// When it was triggered.
        pub triggered_at: Option<DateTime<Utc>>,
        /// The user who triggered it.
        pub triggered_by: Option<String>,
        /// State before; absent in the history of test plans.
        pub previous_state: Option<State>,
        /// Substate before.
        pub previous_substate: Option<String>,
        /// State after.
        pub new_state: Option<State>,
        /// Substate after.
        pub new_substate: Option<String>,
        /// The error, if it failed.
        pub error: Option<ApiError>,
    }
}

/// The flat form of an event, on the wire and stored.
mod flat {
    use super::{ApiError, DateTime, EventType, State, Utc, record};

    record! {
        /// The flat form of an event, on the wire and stored.
        pub struct EventRecord {
            /// Discriminator.
            pub r#type: EventType,
            /// Name of the action.
            pub action: Option<String>,
            /// When it was triggered.
            pub triggered_at: Option<DateTime<Utc>>,
            /// The user who triggered it.
            pub triggered_by: Option<String>,
            /// State before.
            pub previous_state: Option<State>,
            /// Substate before.
            pub previous_substate: Option<String>,
            /// State after.
            pub new_state: Option<State>,
            /// Substate after.
            pub new_substate: Option<String>,
            /// The error, if it failed.
            pub error: Option<ApiError>,
            /// Of a notebook event: the id of the execution.
            pub execution_id: Option<String>,
            /// Of a job event: the ids of the jobs.
            pub job_ids: Option<Vec<String>>,
        }
    }
}

wire_enum! {
    /// The kinds of events.
    pub enum EventType {
        /// Nothing ran.
        Manual = "MANUAL",
        /// Jobs were queued.
        Job = "JOB",
        /// A notebook was started.
        Notebook = "NOTEBOOK",
    }
}

/// One entry of an execution history: an action that was triggered.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ExecutionEvent {
    /// The common members.
    pub base: ExecutionEventBase,
    /// What the action ran.
    pub detail: ExecutionEventDetail,
}

/// What the action of an event ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ExecutionEventDetail {
    /// Nothing.
    #[default]
    Manual,
    /// Jobs.
    Job {
        /// Their ids.
        job_ids: Option<Vec<String>>,
    },
    /// A notebook.
    Notebook {
        /// The id of the execution that the runner started.
        execution_id: Option<String>,
    },
}

impl From<EventRecord> for ExecutionEvent {
    fn from(flat: EventRecord) -> Self {
        Self {
            detail: match flat.r#type {
                EventType::Manual => ExecutionEventDetail::Manual,
                EventType::Job => ExecutionEventDetail::Job { job_ids: flat.job_ids },
                EventType::Notebook => {
                    ExecutionEventDetail::Notebook { execution_id: flat.execution_id }
                }
            },
            base: ExecutionEventBase {
                action: flat.action,
                triggered_at: flat.triggered_at,
                triggered_by: flat.triggered_by,
                previous_state: flat.previous_state,
                previous_substate: flat.previous_substate,
                new_state: flat.new_state,
                new_substate: flat.new_substate,
                error: flat.error,
            },
        }
    }
}

impl From<ExecutionEvent> for EventRecord {
    fn from(event: ExecutionEvent) -> Self {
        let (r#type, execution_id, job_ids) = match event.detail {
            ExecutionEventDetail::Manual => (EventType::Manual, None, None),
            ExecutionEventDetail::Job { job_ids } => (EventType::Job, None, job_ids),
            ExecutionEventDetail::Notebook { execution_id } => {
                (EventType::Notebook, execution_id, None)
            }
        };
        let base = event.base;
        Self {
            r#type,
            action: base.action,
            triggered_at: base.triggered_at,
            triggered_by: base.triggered_by,
            previous_state: base.previous_state,
            previous_substate: base.previous_substate,
            new_state: base.new_state,
            new_substate: base.new_substate,
            error: base.error,
            execution_id,
            job_ids,
        }
    }
}

impl Serialize for ExecutionEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut flat = EventRecord::from(self.clone());
        if flat.r#type == EventType::Job {
            flat.job_ids.get_or_insert_default();
        }
        Serialize::serialize(&flat, serializer)
    }
}

impl<'de> Deserialize<'de> for ExecutionEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <EventRecord as Deserialize>::deserialize(deserializer).map(Self::from)
    }
}

impl Stored for ExecutionEvent {
    fn put(&self, out: &mut Output<'_>) -> EncodeResult {
        EventRecord::from(self.clone()).put(out)
    }
    fn take(input: &mut Input<'_>) -> DecodeResult<Self> {
        EventRecord::take(input).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::stored;
    use crate::value::wire::from_json;

    #[test]
    fn events_are_flat_on_the_wire() {
        for text in [
            r#"{"type":"JOB","action":"START","triggeredAt":"2024-01-02T03:04:05.006Z","triggeredBy":"ada","previousState":"NEW","previousSubstate":"NEW","newState":"IN_PROGRESS","newSubstate":"IN_PROGRESS","jobIds":["1","2"]}"#,
            r#"{"type":"NOTEBOOK","action":"A","executionId":"e"}"#,
            r#"{"type":"MANUAL","action":"END"}"#,
        ] {
            let event: ExecutionEvent = from_json(text.as_bytes()).unwrap();
            assert_eq!(serde_json::to_string(&event).unwrap(), text);
            let bytes = stored::to_bytes(&event).unwrap();
            assert_eq!(stored::from_bytes::<ExecutionEvent>(&bytes).unwrap(), event);
        }
        let snake: ExecutionEvent =
            from_json(br#"{"type":"JOB","previous_state":"in progress","job_ids":[]}"#).unwrap();
        assert_eq!(snake.base.previous_state, Some(State::InProgress));
        assert_eq!(snake.detail, ExecutionEventDetail::Job { job_ids: Some(vec![]) });
    }
}
