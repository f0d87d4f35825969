//! Steps as CSV.

use std::collections::{BTreeSet, VecDeque};
use std::io::Write;
use std::sync::Arc;

use super::convert::{answered, named_values};
use super::query::{self, Parts, Question, Workspaces};
use crate::arrow::array::{ArrayRef, Float64Array, StringArray};
use crate::columnar::export_csv;
use crate::error::{Error, Result};
use crate::model::results::{NamedValue, QueryStepsRequest, Step, StepProjection};
use crate::model::steps::stored::StoredStep;
use crate::services::lists;
use crate::services::results::csv::{
    CsvColumn, batch, list_text, schema_of, status_text, text_of_page,
};
use crate::session::{Access, View};
use crate::value::wire::camel_case;
use crate::value::{Control, RecordKey, time};

/// Steps that one part of an export reads at once, and that one batch of lines has at most.
const STEPS_AT_ONCE: usize = 4096;

/// The names of inputs, outputs and properties, which get columns of their own.
#[derive(Default)]
struct Keys {
    inputs: BTreeSet<String>,
    outputs: BTreeSet<String>,
    properties: BTreeSet<String>,
    bytes: usize,
}

impl Keys {
    fn add<'k>(
        set: &mut BTreeSet<String>,
        bytes: &mut usize,
        keys: impl IntoIterator<Item = &'k String>,
    ) {
        for key in keys {
            if !set.contains(key) {
                *bytes += key.len() + size_of::<String>();
                set.insert(key.clone());
            }
        }
    }

    fn add_step(&mut self, step: &Step) {
        let names = |values: &'_ Option<Vec<NamedValue>>| -> Vec<String> {
            values.iter().flatten().map(|value| value.name.clone()).collect()
        };
        Self::add(&mut self.inputs, &mut self.bytes, &names(&step.inputs));
        Self::add(&mut self.outputs, &mut self.bytes, &names(&step.outputs));
        Self::add(
            &mut self.properties,
            &mut self.bytes,
            step.properties.iter().flatten().map(|(key, _)| key),
        );
    }

    fn add_stored(&mut self, step: &StoredStep) -> Result<()> {
        for (set, text) in [(&mut self.inputs, &step.inputs), (&mut self.outputs, &step.outputs)] {
            let values = named_values(text.as_ref())?;
            Self::add(set, &mut self.bytes, values.iter().map(|value| &value.name));
        }
        Self::add(&mut self.properties, &mut self.bytes, step.properties.keys());
        Ok(())
    }
}

/// One column.
enum Column {
    Member(StepProjection),
    Input(String),
    Output(String),
    Property(String),
}

/// Whether a projection has a member; an empty one has all.
fn has(projection: &[StepProjection], member: StepProjection) -> bool {
    projection.is_empty() || projection.contains(&member)
}

/// The members that get a column for each of their keys.
const KEYED: [StepProjection; 3] =
    [StepProjection::Inputs, StepProjection::Outputs, StepProjection::Properties];

/// The columns of a projection, in the order of its enumeration, over steps with these keys.
fn columns(projection: &[StepProjection], keys: Keys) -> Vec<Column> {
    let members = StepProjection::ALL.iter().copied();
    let mut columns: Vec<Column> = members
        .filter(|member| has(projection, *member) && !KEYED.contains(member))
        .map(Column::Member)
        .collect();
    if has(projection, StepProjection::Inputs) {
        columns.extend(keys.inputs.into_iter().map(Column::Input));
    }
    if has(projection, StepProjection::Outputs) {
        columns.extend(keys.outputs.into_iter().map(Column::Output));
    }
    if has(projection, StepProjection::Properties) {
        columns.extend(keys.properties.into_iter().map(Column::Property));
    }
    columns
}

/// The first value with a name: a text as it is, nothing for a null, otherwise JSON.
fn value_text(values: Option<&Vec<NamedValue>>, name: &str) -> Option<String> {
    let value = &values?.iter().find(|value| value.name == name)?.value;
    match value {
        serde_json::Value::Null => None,
        serde_json::Value::String(text) => Some(text.clone()),
        value => Some(value.to_string()),
    }
}

fn member_text(member: StepProjection, step: &Step) -> Option<String> {
    match member {
        StepProjection::Name => step.name.clone(),
        StepProjection::StepType => step.step_type.clone(),
        StepProjection::StepId => step.step_id.clone(),
        StepProjection::ParentId => step.parent_id.clone(),
        StepProjection::ResultId => step.result_id.clone(),
        StepProjection::Path => step.path.clone(),
        StepProjection::PathIds => list_text(step.path_ids.as_ref()),
        StepProjection::Status => step.status.as_ref().map(status_text),
        StepProjection::StartedAt => step.started_at.map(time::format),
        StepProjection::UpdatedAt => step.updated_at.map(time::format),
        StepProjection::DataModel => step.data_model.clone(),
        StepProjection::Data => {
            step.data.as_ref().and_then(|data| serde_json::to_string(data).ok())
        }
        StepProjection::HasChildren => step.has_children.map(|has| has.to_string()),
        StepProjection::Workspace => step.workspace.clone(),
        StepProjection::Keywords => list_text(step.keywords.as_ref()),
        StepProjection::TotalTimeInSeconds
        | StepProjection::Inputs
        | StepProjection::Outputs
        | StepProjection::Properties => None,
    }
}

impl Column {
    fn text(&self, step: &Step) -> Option<String> {
        match self {
            Self::Member(member) => member_text(*member, step),
            Self::Input(name) => value_text(step.inputs.as_ref(), name),
            Self::Output(name) => value_text(step.outputs.as_ref(), name),
            Self::Property(key) => step.properties.as_ref()?.get(key).cloned(),
        }
    }
}

impl CsvColumn for Column {
    type Record = Step;

    fn name(&self) -> String {
        match self {
            Self::Member(member) => camel_case(&member.as_str().to_ascii_lowercase()),
            Self::Input(name) => format!("inputs.{name}"),
            Self::Output(name) => format!("outputs.{name}"),
            Self::Property(key) => format!("properties.{key}"),
        }
    }

    fn array(&self, steps: &[Step]) -> ArrayRef {
        match self {
            Self::Member(StepProjection::TotalTimeInSeconds) => {
                let seconds = steps.iter().map(|step| step.total_time_in_seconds);
                Arc::new(Float64Array::from_iter(seconds))
            }
            column => Arc::new(StringArray::from_iter(steps.iter().map(|step| column.text(step)))),
        }
    }
}

/// One page of a query.
///
/// # Errors
/// As the page itself.
pub(in crate::services::results) fn csv_page(
    view: &View<'_>,
    request: &QueryStepsRequest,
) -> Result<String> {
    let steps = query::page(view, request)?.items;
    let mut keys = Keys::default();
    steps.iter().for_each(|step| keys.add_step(step));
    text_of_page(&columns(request.projection.as_deref().unwrap_or_default(), keys), &steps)
}

/// The matches of a question, in its order, in parts.
struct Export<'v, 's> {
    view: &'v View<'s>,
    question: &'v Question,
    projection: &'v [StepProjection],
    parts: Parts,
    workspaces: Workspaces<'v, 's>,
    waiting: VecDeque<(RecordKey, StoredStep)>,
    is_done: bool,
}

impl Export<'_, '_> {
    fn part(&mut self) -> Result<Vec<Step>> {
        if self.waiting.is_empty() {
            self.waiting = self.parts.next(self.view, self.question, STEPS_AT_ONCE)?.into();
        }
        let count = self.waiting.len().min(STEPS_AT_ONCE);
        let mut steps = Vec::with_capacity(count);
        for (result, step) in self.waiting.drain(..count) {
            let workspace = self.workspaces.of(result)?.unwrap_or_default();
            steps.push(answered(result, workspace, step)?.project(self.projection));
        }
        Ok(steps)
    }
}

impl Iterator for Export<'_, '_> {
    type Item = Result<Vec<Step>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let part = self.part();
        self.is_done = part.as_ref().map_or(true, Vec::is_empty);
        match part {
            Ok(steps) if steps.is_empty() => None,
            part => Some(part),
        }
    }
}

/// All matches of a query. They are read twice if the header has keys of the steps.
///
/// # Errors
/// As [`csv_page`]; `LimitExceeded` for keys of more memory than `query_memory_bytes`; those of
/// the writer and of the control.
pub(in crate::services::results) fn export(
    access: &impl Access,
    request: &QueryStepsRequest,
    out: &mut (dyn Write + Send),
    control: &Control,
) -> Result<u64> {
    let control = access.context().control(control);
    let projection =
        lists::distinct("projection", request.projection.as_deref().unwrap_or_default())?;
    access.read(|view| {
        control.check()?;
        let question = Question::of(view, request)?.under(&control);
        let mut memory = view.context().call_memory();
        let bytes_max = memory.most();
        let mut keys = Keys::default();
        if KEYED.into_iter().any(|member| has(&projection, member)) {
            question.each(view, None, &mut |_, step| {
                keys.add_stored(&step)?;
                if !memory.hold(keys.bytes)? {
                    return Err(Error::limit(format!(
                        "the names of inputs, outputs and properties take more than the \
                         {bytes_max} bytes that `query_memory_bytes` allows one query; narrow the \
                         filter, or leave them out of the projection"
                    )));
                }
                Ok(true)
            })?;
        }
        let columns = columns(&projection, keys);
        let schema = schema_of(&columns);
        let steps = Export {
            view,
            question: &question,
            projection: &projection,
            parts: Parts::new(&question),
            workspaces: Workspaces::new(view),
            waiting: VecDeque::new(),
            is_done: false,
        };
        let batches = steps.map(|part| batch(&columns, &schema, &part?));
        export_csv(String::new(), &schema, batches, out)
    })
}
