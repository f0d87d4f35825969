//! The steps of test results.

use std::collections::BTreeMap;
use std::fmt;

use chrono::{DateTime, Utc};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::model::results::status::Status;
use crate::value::Number;
use crate::value::nested::{Nested, children};
use crate::value::wire::{record, wire_enum};

record! {
    /// A value of a step with its name; the JSON type of the value is kept.
    wire pub struct NamedValue new(name: String, value: serde_json::Value) requires(name) {
        /// Name; required.
        pub name: String,
        /// The value: any JSON.
        pub value: serde_json::Value,
    }

    /// What a step measured.
    wire pub struct StepData new() {
        /// Free text.
        pub text: Option<String>,
        /// Measurements and other parameters. Each is a free map of texts that is kept exactly;
        /// numbers and Booleans are taken as their JSON text, nulls are left out.
        #[serde(deserialize_with = "parameters")]
        pub parameters: Option<Vec<BTreeMap<String, String>>>,
    }

    /// A step of a test result; members that a projection omits are `None`.
    answer pub struct Step {
        /// Id; unique within its result.
        pub step_id: Option<String>,
        /// Id of the result that it belongs to.
        pub result_id: Option<String>,
        /// Id of the step that it is part of.
        pub parent_id: Option<String>,
        /// Name.
        pub name: Option<String>,
        /// Type, such as `NumericLimitTest`.
        pub step_type: Option<String>,
        /// Status.
        pub status: Option<Status>,
        /// Time at which the step started.
        pub started_at: Option<DateTime<Utc>>,
        /// Duration of the step in seconds.
        pub total_time_in_seconds: Option<f64>,
        /// What the step measured.
        pub data: Option<StepData>,
        /// The model that `data` follows, such as `TestStand`.
        pub data_model: Option<String>,
        /// What the step was given.
        pub inputs: Option<Vec<NamedValue>>,
        /// What the step gave.
        pub outputs: Option<Vec<NamedValue>>,
        /// Keywords.
        pub keywords: Option<Vec<String>>,
        /// Properties.
        pub properties: Option<BTreeMap<String, String>>,
        /// The names of the steps around it and its own, joined by line feeds.
        pub path: Option<String>,
        /// The ids of the same steps: the root first, its own last.
        pub path_ids: Option<Vec<String>>,
        /// Whether some step of the result names it as its parent.
        pub has_children: Option<bool>,
        /// Id of the workspace: that of the result.
        pub workspace: Option<String>,
        /// Time of creation or of the last update.
        pub updated_at: Option<DateTime<Utc>>,
    }

    /// A step to create, with the steps that are part of it.
    wire pub struct CreateStepRequest new() {
        /// Id; generated when absent or empty. At most 1,024 bytes.
        pub step_id: Option<String>,
        /// Id of the result; required, except for a step inside another one.
        pub result_id: Option<String>,
        /// Id of the step that it is part of; inside another step, that of the enclosing one.
        pub parent_id: Option<String>,
        /// Name; required.
        pub name: Option<String>,
        /// Type, such as `NumericLimitTest`.
        pub step_type: Option<String>,
        /// Status.
        pub status: Option<Status>,
        /// Time at which the step started; the time of the store when absent.
        pub started_at: Option<DateTime<Utc>>,
        /// Duration of the step in seconds; 0 when absent.
        pub total_time_in_seconds: Option<Number>,
        /// What the step measured.
        pub data: Option<StepData>,
        /// The model that `data` follows, such as `TestStand`.
        pub data_model: Option<String>,
        /// What the step was given.
        pub inputs: Option<Vec<NamedValue>>,
        /// What the step gave.
        pub outputs: Option<Vec<NamedValue>>,
        /// Keywords.
        pub keywords: Option<Vec<String>>,
        /// Properties; one without a value is refused with its step.
        pub properties: Option<BTreeMap<String, Option<String>>>,
        /// The steps that are part of it, up to 100 levels deep.
        #[serde(deserialize_with = "children")]
        pub children: Option<Vec<CreateStepRequest>>,
    }

    /// A change of a step, with changes of steps that are part of it; absent members keep their
    /// values.
    wire pub struct UpdateStepRequest new() {
        /// Id of the step; required.
        pub step_id: Option<String>,
        /// Id of the result; required, except for a step inside another one.
        pub result_id: Option<String>,
        /// New parent.
        pub parent_id: Option<String>,
        /// New name. The path stays.
        pub name: Option<String>,
        /// New type.
        pub step_type: Option<String>,
        /// New status.
        pub status: Option<Status>,
        /// New time of the start.
        pub started_at: Option<DateTime<Utc>>,
        /// New duration.
        pub total_time_in_seconds: Option<Number>,
        /// New data, which replaces all of it.
        pub data: Option<StepData>,
        /// New model of the data.
        pub data_model: Option<String>,
        /// New inputs, which replace all of them.
        pub inputs: Option<Vec<NamedValue>>,
        /// New outputs, which replace all of them.
        pub outputs: Option<Vec<NamedValue>>,
        /// Keywords to add, or all keywords when replacing.
        pub keywords: Option<Vec<String>>,
        /// Properties to set, or all properties when replacing; one without a value is refused
        /// with its step.
        pub properties: Option<BTreeMap<String, Option<String>>>,
        /// Changes of steps that are part of it, each by its own ids, up to 100 levels deep.
        #[serde(deserialize_with = "children")]
        pub children: Option<Vec<UpdateStepRequest>>,
    }
}

wire_enum! {
    /// Fields that a query of steps can be ordered by.
    wire pub enum StepOrderBy {
        /// `name`.
        Name = "NAME",
        /// `stepType`.
        StepType = "STEP_TYPE",
        /// `stepId`.
        StepId = "STEP_ID",
        /// `parentId`.
        ParentId = "PARENT_ID",
        /// `resultId`.
        ResultId = "RESULT_ID",
        /// `path`.
        Path = "PATH",
        /// `totalTimeInSeconds`.
        TotalTimeInSeconds = "TOTAL_TIME_IN_SECONDS",
        /// `startedAt`.
        StartedAt = "STARTED_AT",
        /// `updatedAt`.
        UpdatedAt = "UPDATED_AT",
        /// `dataModel`.
        DataModel = "DATA_MODEL",
    }
}

wire_enum! {
    /// Fields of steps whose values can be listed.
    wire pub enum StepField {
        /// `name`.
        Name = "NAME",
        /// `stepType`.
        StepType = "STEP_TYPE",
        /// `stepId`.
        StepId = "STEP_ID",
        /// `parentId`.
        ParentId = "PARENT_ID",
        /// `resultId`.
        ResultId = "RESULT_ID",
        /// `path`.
        Path = "PATH",
        /// `totalTimeInSeconds`.
        TotalTimeInSeconds = "TOTAL_TIME_IN_SECONDS",
        /// `startedAt`.
        StartedAt = "STARTED_AT",
        /// `updatedAt`.
        UpdatedAt = "UPDATED_AT",
        /// `dataModel`.
        DataModel = "DATA_MODEL",
    }
}

wire_enum! {
    /// Members that a query of steps can be restricted to.
    wire pub enum StepProjection {
        /// `name`.
        Name = "NAME",
        /// `stepType`.
        StepType = "STEP_TYPE",
        /// `stepId`.
        StepId = "STEP_ID",
        /// `parentId`.
        ParentId = "PARENT_ID",
        /// `resultId`.
        ResultId = "RESULT_ID",
        /// `path`.
        Path = "PATH",
        /// `totalTimeInSeconds`.
        TotalTimeInSeconds = "TOTAL_TIME_IN_SECONDS",
        /// `startedAt`.
        StartedAt = "STARTED_AT",
        /// `updatedAt`.
        UpdatedAt = "UPDATED_AT",
        /// `dataModel`.
        DataModel = "DATA_MODEL",
        /// `pathIds`.
        PathIds = "PATH_IDS",
        /// `status`.
        Status = "STATUS",
        /// `inputs`.
        Inputs = "INPUTS",
        /// `outputs`.
        Outputs = "OUTPUTS",
        /// `data`.
        Data = "DATA",
        /// `hasChildren`.
        HasChildren = "HAS_CHILDREN",
        /// `workspace`.
        Workspace = "WORKSPACE",
        /// `keywords`.
        Keywords = "KEYWORDS",
        /// `properties`.
        Properties = "PROPERTIES",
    }
}

impl Step {
    /// The step with only the members of `projection`, or with all members if it is empty.
    ///
    /// ```
    /// use stationdb::results::{Step, StepProjection};
    ///
    /// let step = Step::new().step_id("1").name("Gain");
    /// assert_eq!(step.project(&[StepProjection::Name]), Step::new().name("Gain"));
    /// ```
    #[must_use]
    pub fn project(mut self, projection: &[StepProjection]) -> Self {
        if projection.is_empty() {
            return self;
        }
        let mut kept = Self::default();
        for member in projection {
            match member {
                StepProjection::Name => kept.name = self.name.take().or(kept.name),
                StepProjection::StepType => {
                    kept.step_type = self.step_type.take().or(kept.step_type);
                }
                StepProjection::StepId => kept.step_id = self.step_id.take().or(kept.step_id),
                StepProjection::ParentId => {
                    kept.parent_id = self.parent_id.take().or(kept.parent_id);
                }
                StepProjection::ResultId => {
                    kept.result_id = self.result_id.take().or(kept.result_id);
                }
                StepProjection::Path => kept.path = self.path.take().or(kept.path),
                StepProjection::PathIds => kept.path_ids = self.path_ids.take().or(kept.path_ids),
                StepProjection::Status => kept.status = self.status.take().or(kept.status),
                StepProjection::TotalTimeInSeconds => {
                    kept.total_time_in_seconds = self.total_time_in_seconds;
                }
                StepProjection::StartedAt => kept.started_at = self.started_at,
                StepProjection::UpdatedAt => kept.updated_at = self.updated_at,
                StepProjection::Inputs => kept.inputs = self.inputs.take().or(kept.inputs),
                StepProjection::Outputs => kept.outputs = self.outputs.take().or(kept.outputs),
                StepProjection::DataModel => {
                    kept.data_model = self.data_model.take().or(kept.data_model);
                }
                StepProjection::Data => kept.data = self.data.take().or(kept.data),
                StepProjection::HasChildren => kept.has_children = self.has_children,
                StepProjection::Workspace => {
                    kept.workspace = self.workspace.take().or(kept.workspace);
                }
                StepProjection::Keywords => kept.keywords = self.keywords.take().or(kept.keywords),
                StepProjection::Properties => {
                    kept.properties = self.properties.take().or(kept.properties);
                }
            }
        }
        kept
    }
}

impl Nested for CreateStepRequest {
    fn set_children(&mut self, children: Vec<Self>) {
        self.children = Some(children);
    }
}

impl Nested for UpdateStepRequest {
    fn set_children(&mut self, children: Vec<Self>) {
        self.children = Some(children);
    }
}

/// An entry of the parameters, as it was sent.
struct Parameter(BTreeMap<String, String>);

impl<'de> Deserialize<'de> for Parameter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Parameter;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parameter, A::Error> {
                let mut entries = BTreeMap::new();
                while let Some(key) = map.next_key::<String>()? {
                    if let Some(ParameterText(text)) = map.next_value::<Option<ParameterText>>()? {
                        entries.insert(key, text);
                    }
                }
                Ok(Parameter(entries))
            }
        }

        deserializer.deserialize_map(Entries)
    }
}

/// A value of an entry of the parameters.
struct ParameterText(String);

impl<'de> Deserialize<'de> for ParameterText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Self(text)),
            value @ (Value::Number(_) | Value::Bool(_)) => Ok(Self(value.to_string())),
            _ => Err(serde::de::Error::custom("expected a string, a number, true or false")),
        }
    }
}

fn parameters<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<BTreeMap<String, String>>>, D::Error> {
    let entries = Option::<Vec<Parameter>>::deserialize(deserializer)?;
    Ok(entries.map(|entries| entries.into_iter().map(|Parameter(entry)| entry).collect()))
}
