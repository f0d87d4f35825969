//! Actions of work items and test plans: their definitions and results.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::error::{ApiError, Error, ErrorKind};
use crate::model::resource::union::wire_union;
use crate::value::Absent;
use crate::value::wire::record;

record! {
    /// One job that the runner of the station queues.
    pub struct Job new() {
        /// Names of the functions, in order.
        pub functions: Vec<String>,
        /// One argument list for each function, at the same position.
        pub arguments: Vec<Vec<Value>>,
        /// Metadata that is passed to the runner.
        pub metadata: BTreeMap<String, Value>,
        /// Members that the JSON did not have.
        pub absent: Absent,
    }

    /// Queues jobs.
    pub struct JobExecution new(action: String) {
        /// Name of the action; required.
        pub action: String,
        /// The jobs; absent and empty mean the same.
        pub jobs: Option<Vec<Job>>,
        /// The system that runs them, instead of the system of the item.
        pub system_id: Option<String>,
        /// Members that the JSON did not have.
        pub absent: Absent,
    }

    /// Runs nothing, and changes the state of the item as the action specifies.
    pub struct ManualExecution new(action: String) {
        /// Name of the action; required.
        pub action: String,
        /// Members that the JSON did not have.
        pub absent: Absent,
    }

    /// Runs nothing, and does not change the state of the item.
    pub struct NoneExecution new(action: String) {
        /// Name of the action; required.
        pub action: String,
        /// Members that the JSON did not have.
        pub absent: Absent,
    }

    /// Runs a notebook.
    pub struct NotebookExecution new(action: String, notebook_id: String) {
        /// Name of the action; required.
        pub action: String,
        /// The notebook; required.
        pub notebook_id: String,
        /// Parameters of the notebook.
        pub parameters: Option<BTreeMap<String, String>>,
        /// Members that the JSON did not have.
        pub absent: Absent,
    }
}

wire_union! {
    /// The definition of an action of a work item, a test plan or a template of either.
    pub enum ExecutionDefinition {
        /// Queues jobs.
        0 "JOB" => Job(JobExecution),
        /// Runs nothing; the state changes.
        1 "MANUAL" => Manual(ManualExecution),
        /// Runs nothing; the state does not change.
        2 "NONE" => None(NoneExecution),
        /// Runs a notebook.
        3 "NOTEBOOK" => Notebook(NotebookExecution),
    }
}

impl ExecutionDefinition {
    /// The name of the action that this definition implements.
    #[must_use]
    pub fn action(&self) -> &str {
        match self {
            Self::Job(definition) => &definition.action,
            Self::Manual(definition) => &definition.action,
            Self::None(definition) => &definition.action,
            Self::Notebook(definition) => &definition.action,
        }
    }

    fn absent(&self) -> &Absent {
        match self {
            Self::Job(definition) => &definition.absent,
            Self::Manual(definition) => &definition.absent,
            Self::None(definition) => &definition.absent,
            Self::Notebook(definition) => &definition.absent,
        }
    }
}

/// Writes the definitions of a rejected request as they were sent: members that were absent are
/// empty in the record, and absent in the JSON again.
pub(crate) mod as_sent {
    use serde::{Serialize, Serializer};
    use serde_json::Value;

    use super::ExecutionDefinition;
    use crate::value::{Absent, Patch};

    fn is_empty(value: &Value) -> bool {
        match value {
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty(),
            _ => false,
        }
    }

    /// A member that was absent may have been filled since.
    fn remove(absent: &Absent, value: &mut Value) {
        if let Value::Object(members) = value {
            members.retain(|name, value| !absent.has(name) || !is_empty(value));
        }
    }

    fn definition(definition: &ExecutionDefinition) -> Result<Value, serde_json::Error> {
        let mut value = serde_json::to_value(definition)?;
        remove(definition.absent(), &mut value);
        if let ExecutionDefinition::Job(definition) = definition {
            let values = value.get_mut("jobs").and_then(Value::as_array_mut).into_iter().flatten();
            for (job, value) in definition.jobs.iter().flatten().zip(values) {
                remove(&job.absent, value);
            }
        }
        Ok(value)
    }

    fn list<S: Serializer>(
        definitions: &[ExecutionDefinition],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let values: Result<Vec<Value>, _> = definitions.iter().map(definition).collect();
        values.map_err(serde::ser::Error::custom)?.serialize(serializer)
    }

    /// For requests that create records.
    pub(crate) fn opt<S: Serializer>(
        definitions: &Option<Vec<ExecutionDefinition>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match definitions {
            None => serializer.serialize_none(),
            Some(definitions) => list(definitions, serializer),
        }
    }

    /// For requests that change records.
    pub(crate) fn patch<S: Serializer>(
        definitions: &Patch<Vec<ExecutionDefinition>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match definitions {
            Patch::Absent => serializer.serialize_none(),
            Patch::Null => serializer.serialize_unit(),
            Patch::Value(definitions) => list(definitions, serializer),
        }
    }
}

record! {
    /// The body of an execution request on the wire.
    wire pub struct ExecuteWorkItemRequest requires(action) {
        /// Name of the action; required.
        pub action: String,
    }

    /// The result of an action that ran nothing and did not change the state.
    wire pub struct NoneExecutionResult new() {
        /// The error, if it failed.
        pub error: Option<ApiError>,
    }

    /// The result of an action that only changed the state.
    wire pub struct ManualExecutionResult new() {
        /// The error, if it failed.
        pub error: Option<ApiError>,
    }

    /// The result of scheduling through an action.
    wire pub struct ScheduleExecutionResult new() {
        /// The error, if it failed.
        pub error: Option<ApiError>,
    }

    /// The result of unscheduling through an action.
    wire pub struct UnscheduleExecutionResult new() {
        /// The error, if it failed.
        pub error: Option<ApiError>,
    }

    /// The result of running a notebook.
    wire pub struct NotebookExecutionResult new() {
        /// The error, if it failed.
        pub error: Option<ApiError>,
        /// The id of the execution that the runner started.
        pub execution_id: Option<String>,
    }

    /// The result of queueing jobs.
    wire pub struct JobExecutionResult new() {
        /// The error, if it failed.
        pub error: Option<ApiError>,
        /// The jobs that were queued; with an error, those that were cancelled again.
        #[serde(serialize_with = "crate::model::resource::declare::written_list")]
        pub job_ids: Option<Vec<String>>,
    }
}

wire_union! {
    /// The result of an action.
    wire pub enum ExecutionResult {
        /// Nothing ran, and the state did not change.
        "NONE" => None(NoneExecutionResult),
        /// Nothing ran.
        "MANUAL" => Manual(ManualExecutionResult),
        /// The item was scheduled.
        "SCHEDULE" => Schedule(ScheduleExecutionResult),
        /// The item was unscheduled.
        "UNSCHEDULE" => Unschedule(UnscheduleExecutionResult),
        /// A notebook was started.
        "NOTEBOOK" => Notebook(NotebookExecutionResult),
        /// Jobs were queued.
        "JOB" => Job(JobExecutionResult),
    }
}

impl ExecutionResult {
    /// The error, if it failed.
    #[must_use]
    pub fn error(&self) -> Option<&ApiError> {
        match self {
            Self::None(result) => result.error.as_ref(),
            Self::Manual(result) => result.error.as_ref(),
            Self::Schedule(result) => result.error.as_ref(),
            Self::Unschedule(result) => result.error.as_ref(),
            Self::Notebook(result) => result.error.as_ref(),
            Self::Job(result) => result.error.as_ref(),
        }
    }
}

record! {
    /// The response to an execution. A failed one may still contain a result, for instance the jobs
    /// that were cancelled.
    ///
    /// Both members are written even if they are null.
    wire pub struct ExecuteWorkItemResponse {
        /// The error, if it failed.
        #[serde(serialize_with = "null_or_value")]
        pub error: Option<ApiError>,
        /// The result of the action; `None` when nothing ran.
        #[serde(serialize_with = "null_or_value")]
        pub result: Option<ExecutionResult>,
        /// The kind of the error, if the response was created from an error and nothing ran. Not
        /// part of the body.
        #[serde(skip)]
        pub refused: Option<ErrorKind>,
    }
}

/// Writes `None` as an explicit null.
fn null_or_value<T: Serialize, S: Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => value.serialize(serializer),
        None => serializer.serialize_unit(),
    }
}

impl ExecuteWorkItemResponse {
    /// The HTTP status of the response: 200 if the action is finished, 202 if jobs or a notebook
    /// were started, the status of the error if nothing ran, and 500 if the runner failed or the
    /// state could not change.
    #[must_use]
    pub fn status(&self) -> u16 {
        match (self.refused, &self.error, &self.result) {
            (Some(kind), ..) => kind.status(),
            (None, Some(_), _) => 500,
            (None, None, Some(ExecutionResult::Job(_) | ExecutionResult::Notebook(_))) => 202,
            (None, None, _) => 200,
        }
    }
}

impl From<Error> for ExecuteWorkItemResponse {
    /// The response to an execution that was rejected before anything ran, so that a server has one
    /// type for every outcome:
    /// `execute_work_item(id, action).unwrap_or_else(ExecuteWorkItemResponse::from)`.
    fn from(error: Error) -> Self {
        Self { error: Some(error.api_error()), result: None, refused: Some(error.kind()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::stored;
    use crate::value::wire::from_json;

    #[test]
    fn definitions_of_each_kind_read_both_spellings_and_write_camel_case() {
        for (text, expected) in [
            (
                r#"{"type":"JOB","action":"START","jobs":[{"functions":["f"],"arguments":[["a",1,null,{"b_c":2}]]}],"system_id":"s"}"#,
                r#"{"type":"JOB","action":"START","jobs":[{"functions":["f"],"arguments":[["a",1,null,{"b_c":2}]],"metadata":{}}],"systemId":"s"}"#,
            ),
            (r#"{"action":"END","type":"manual"}"#, r#"{"type":"MANUAL","action":"END"}"#),
            (r#"{"action":"X","type":"NONE","jobs":null}"#, r#"{"type":"NONE","action":"X"}"#),
            (
                r#"{"type":"NOTEBOOK","action":"A","notebookId":"n","parameters":{"part_number":"<partNumber>"}}"#,
                r#"{"type":"NOTEBOOK","action":"A","notebookId":"n","parameters":{"part_number":"<partNumber>"}}"#,
            ),
        ] {
            let definition: ExecutionDefinition = from_json(text.as_bytes()).unwrap();
            assert_eq!(serde_json::to_string(&definition).unwrap(), expected);
            let bytes = stored::to_bytes(&definition).unwrap();
            assert_eq!(stored::from_bytes::<ExecutionDefinition>(&bytes).unwrap(), definition);
        }
    }

    #[test]
    fn a_definition_without_a_known_type_is_refused_by_member() {
        for text in [
            r#"{"action":"A"}"#,
            r#"{"type":"SCHEDULE","action":"A"}"#,
            r#"{"type":1}"#,
            r#"{"type":"JOB","jobs":[1]}"#,
        ] {
            let error = from_json::<ExecutionDefinition>(text.as_bytes()).unwrap_err();
            assert!(error.place().is_some(), "{error}");
        }
    }

    #[test]
    fn results_of_each_kind_keep_their_ids() {
        for text in [
            r#"{"error":{"name":"n","args":[],"innerErrors":[]},"result":{"type":"JOB","jobIds":["1"]}}"#,
            r#"{"error":null,"result":{"type":"NOTEBOOK","executionId":"e"}}"#,
            r#"{"error":null,"result":{"type":"SCHEDULE"}}"#,
            r#"{"error":null,"result":{"type":"UNSCHEDULE"}}"#,
            r#"{"error":null,"result":{"type":"MANUAL"}}"#,
            r#"{"error":null,"result":{"type":"NONE"}}"#,
            r#"{"error":null,"result":null}"#,
        ] {
            let response: ExecuteWorkItemResponse = from_json(text.as_bytes()).unwrap();
            assert_eq!(serde_json::to_string(&response).unwrap(), text);
        }
        let snake: ExecuteWorkItemResponse =
            from_json(br#"{"result":{"type":"JOB","job_ids":["1"]}}"#).unwrap();
        assert_eq!(
            serde_json::to_string(&snake).unwrap(),
            r#"{"error":null,"result":{"type":"JOB","jobIds":["1"]}}"#
        );
    }
}
