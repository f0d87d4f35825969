//! Filters of steps: their fields, and the tests of columns that a filter implies.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use super::convert::{entry, named_values};
use super::edits::key_of;
use super::scan::Selection;
use crate::error::Result;
use crate::filter::{
    self, Comparison, Condition, Constant, FieldTest, Filter, Schema, Shape, Times,
};
use crate::model::results::{NamedValue, StatusType};
use crate::model::steps::rows::StepColumn;
use crate::model::steps::stored::{StoredStep, index_of_half, split_generated};
use crate::model::workspaces::Workspace;
use crate::session::View;
use crate::value::part::Typed;
use crate::value::{FieldDecl, FieldType, IdForm, RecordKey, Row, Val, Work};

/// The fields of steps, in the order of [`FIELDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum StepFilterField {
    StepId,
    ResultId,
    ParentId,
    Name,
    StepType,
    Path,
    DataModel,
    StatusName,
    Text,
    Workspace,
    WorkspaceName,
    StatusType,
    StartedAt,
    UpdatedAt,
    StartedWithin,
    UpdatedWithin,
    TotalTime,
    HasChildren,
    Keywords,
    PathIds,
    Properties,
    Inputs,
    Outputs,
    Parameters,
}

use StepFilterField as Of;

const FIELD_COUNT: usize = Of::Parameters as usize + 1;

/// The fields of an input or output.
static NAMED_FIELDS: [FieldDecl; 2] =
    [FieldDecl::new("name", FieldType::String), FieldDecl::new("value", FieldType::Json)];

impl Row for NamedValue {
    fn val(&self, index: usize) -> Val<'_> {
        match index {
            0 => Val::from(&self.name),
            1 => Val::from(&self.value),
            _ => Val::Null,
        }
    }
}

const ALL: [(Of, &str, FieldType); FIELD_COUNT] = [
    (Of::StepId, "stepId", FieldType::String),
    (Of::ResultId, "resultId", FieldType::String),
    (Of::ParentId, "parentId", FieldType::String),
    (Of::Name, "name", FieldType::String),
    (Of::StepType, "stepType", FieldType::String),
    (Of::Path, "path", FieldType::String),
    (Of::DataModel, "dataModel", FieldType::String),
    (Of::StatusName, "status.statusName", FieldType::String),
    (Of::Text, "data.text", FieldType::String),
    (Of::Workspace, "workspace", FieldType::String),
    (Of::WorkspaceName, "workspaceName", FieldType::WorkspaceName),
    (Of::StatusType, "status.statusType", <StatusType as Typed>::TYPE),
    (Of::StartedAt, "startedAt", FieldType::Time),
    (Of::UpdatedAt, "updatedAt", FieldType::Time),
    (Of::StartedWithin, "startedWithin", FieldType::Within),
    (Of::UpdatedWithin, "updatedWithin", FieldType::Within),
    (Of::TotalTime, "totalTimeInSeconds", FieldType::Double),
    (Of::HasChildren, "hasChildren", FieldType::Bool),
    (Of::Keywords, "keywords", FieldType::Strings),
    (Of::PathIds, "pathIds", FieldType::Strings),
    (Of::Properties, "properties", FieldType::Map),
    (Of::Inputs, "inputs", FieldType::Rows(&NAMED_FIELDS)),
    (Of::Outputs, "outputs", FieldType::Rows(&NAMED_FIELDS)),
    (Of::Parameters, "data.parameters", FieldType::Maps),
];

/// The fields of steps that filters may name.
pub(in crate::services) static FIELDS: LazyLock<Vec<FieldDecl>> =
    LazyLock::new(|| ALL.iter().map(|(_, path, ty)| FieldDecl::new(path, *ty)).collect());

fn field_at(index: usize) -> Option<Of> {
    ALL.get(index).map(|(field, ..)| *field)
}

/// A step as filters and orders read it.
#[derive(Debug)]
pub(super) struct StepRow<'r> {
    pub(super) result: RecordKey,
    pub(super) workspace: &'r str,
    pub(super) step: &'r StoredStep,
    /// The name of the workspace, and the ids of the path, if the filter reads them.
    workspace_name: Option<&'r str>,
    path_ids: Vec<String>,
    inputs: Vec<NamedValue>,
    outputs: Vec<NamedValue>,
    parameters: Vec<BTreeMap<String, String>>,
}

impl<'r> StepRow<'r> {
    /// A step for an order.
    pub(super) fn new(result: RecordKey, step: &'r StoredStep) -> Self {
        Self {
            result,
            workspace: "",
            step,
            workspace_name: None,
            path_ids: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            parameters: Vec::new(),
        }
    }

    /// The value of a field.
    pub(super) fn value(&self, field: Of) -> Val<'_> {
        let step = self.step;
        match field {
            Of::StepId => match &step.step_id {
                Some(id) => Val::from(id),
                None => Val::Str(Cow::Owned(step.id(self.result))),
            },
            Of::ResultId => Val::Str(Cow::Owned(self.result.to_id(IdForm::Guid))),
            Of::ParentId => step.parent_id.as_ref().into(),
            Of::Name => Val::from(&step.name),
            Of::StepType => step.step_type.as_ref().into(),
            Of::Path => Val::from(&step.path),
            Of::DataModel => step.data_model.as_ref().into(),
            Of::StatusName => step.status_name.as_ref().into(),
            Of::Text => step.data.as_ref().and_then(|data| data.text.as_ref()).into(),
            Of::Workspace => Val::from(self.workspace),
            Of::WorkspaceName => Val::from(self.workspace_name.unwrap_or(self.workspace)),
            Of::StatusType => step.status_type.as_ref().into(),
            Of::StartedAt | Of::StartedWithin => Val::Time(step.started_at_ms),
            Of::UpdatedAt | Of::UpdatedWithin => Val::Time(step.updated_at_ms),
            Of::TotalTime => Val::Double(step.total_time),
            Of::HasChildren => Val::Bool(step.has_children),
            Of::Keywords => Val::Strings(&step.keywords),
            Of::PathIds => Val::Strings(&self.path_ids),
            Of::Properties => Val::from(&step.properties),
            Of::Inputs => Val::Rows(self.inputs.iter().map(|one| one as &dyn Row).collect()),
            Of::Outputs => Val::Rows(self.outputs.iter().map(|one| one as &dyn Row).collect()),
            Of::Parameters => Val::Maps(&self.parameters),
        }
    }
}

impl Row for StepRow<'_> {
    fn val(&self, index: usize) -> Val<'_> {
        field_at(index).map_or(Val::Null, |field| self.value(field))
    }
}

/// Which members of a step are made for the fields that are read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reads {
    pub(super) workspace: bool,
    path_ids: bool,
    inputs: bool,
    outputs: bool,
    parameters: bool,
}

impl Reads {
    pub(super) fn new(reads: &dyn Fn(Of) -> bool) -> Self {
        Self {
            workspace: reads(Of::Workspace) || reads(Of::WorkspaceName),
            path_ids: reads(Of::PathIds),
            inputs: reads(Of::Inputs),
            outputs: reads(Of::Outputs),
            parameters: reads(Of::Parameters),
        }
    }

    /// The members for the fields at these positions.
    pub(super) fn of_fields(fields: &[usize]) -> Self {
        Self::new(&|field| fields.contains(&(field as usize)))
    }

    /// A step with these members.
    ///
    /// # Errors
    /// `Corrupt`.
    pub(super) fn row<'r>(
        self,
        result: RecordKey,
        workspace: &'r str,
        step: &'r StoredStep,
    ) -> Result<StepRow<'r>> {
        let mut row = StepRow { workspace, ..StepRow::new(result, step) };
        if self.path_ids {
            row.path_ids = step.ancestor_ids.clone();
            row.path_ids.push(step.id(result));
        }
        if self.inputs {
            row.inputs = named_values(step.inputs.as_ref())?;
        }
        if self.outputs {
            row.outputs = named_values(step.outputs.as_ref())?;
        }
        if self.parameters {
            row.parameters = step.parameters().iter().cloned().map(entry).collect();
        }
        Ok(row)
    }
}

/// The declared fields of steps.
pub(super) fn fields() -> &'static [FieldDecl] {
    &FIELDS
}

/// A checked filter of steps.
pub(in crate::services::results) struct StepFilter {
    filter: Option<Filter>,
    workspace_names: HashMap<String, String>,
    reads: Reads,
}

impl StepFilter {
    /// Checks a filter; an absent one matches every step.
    ///
    /// # Errors
    /// `InvalidArgument`, with the place in the filter.
    pub(in crate::services::results) fn new(
        view: &View<'_>,
        text: Option<&str>,
        substitutions: &[serde_json::Value],
    ) -> Result<Self> {
        let schema = Schema { fields: &FIELDS, accept_substitutions: true, ..Schema::default() };
        let times = Times::new(view.now(), None);
        let filter = filter::compile(text, substitutions, &schema, &times)?;
        let reads = |field: Of| {
            filter.as_ref().is_some_and(|filter| filter.fields().contains(&(field as usize)))
        };
        let mut workspace_names = HashMap::new();
        if reads(Of::WorkspaceName) {
            view.for_each::<Workspace>(|workspace| {
                workspace_names.extend(workspace.id.zip(workspace.name));
                Ok(true)
            })?;
        }
        Ok(Self { reads: Reads::new(&reads), workspace_names, filter })
    }

    /// Whether the workspaces of results are read.
    pub(super) fn reads_workspace(&self) -> bool {
        self.reads.workspace
    }

    /// Whether every step matches.
    pub(in crate::services::results) fn is_empty(&self) -> bool {
        self.filter.is_none()
    }

    /// Whether a step matches.
    ///
    /// # Errors
    /// `DeadlineExceeded` and `Cancelled`; `LimitExceeded` for a step that takes too much work.
    pub(in crate::services::results) fn matches(
        &self,
        view: &View<'_>,
        result: RecordKey,
        workspace: &str,
        step: &StoredStep,
    ) -> Result<bool> {
        let Some(filter) = &self.filter else { return Ok(true) };
        let mut row = self.reads.row(result, workspace, step)?;
        row.workspace_name = self.workspace_names.get(workspace).map(String::as_str);
        let check = || view.context().check_deadline();
        let work = Work::new(&check);
        let is_match = filter.matches_with(&row, &|_| false, &work);
        work.finish().map_err(|error| error.at_member("filter"))?;
        Ok(is_match)
    }

    /// The results that every match belongs to, as far as the filter names them.
    pub(super) fn results(&self) -> Option<BTreeSet<RecordKey>> {
        let field = Of::ResultId as usize;
        let key = |value: &Constant| match value {
            Constant::Text(text) => key_of(text),
            _ => None,
        };
        let named =
            self.filter.iter().flat_map(|filter| filter.conjuncts()).filter_map(|one| match one {
                Condition::Field(of, FieldTest::Eq(value)) if *of == field => {
                    Some(key(value).into_iter().collect())
                }
                Condition::Field(of, FieldTest::In(values)) if *of == field => {
                    Some(values.iter().filter_map(key).collect::<BTreeSet<_>>())
                }
                Condition::Never => Some(BTreeSet::new()),
                _ => None,
            });
        named.min_by_key(BTreeSet::len)
    }

    /// Tests of columns that every match passes, and whether only matches pass them.
    pub(in crate::services::results) fn shapes(&self) -> (Vec<Shape>, bool) {
        match &self.filter {
            None => (Vec::new(), true),
            Some(filter) => implied(filter.shape()),
        }
    }
}

/// The terms of a conjunction that are tests of columns, and whether these are all.
fn implied(shape: Shape) -> (Vec<Shape>, bool) {
    match shape {
        Shape::All(terms) => {
            let (mut all, mut is_exact) = (Vec::new(), true);
            for term in terms {
                let (implied, exact) = implied(term);
                all.extend(implied);
                is_exact &= exact;
            }
            (all, is_exact)
        }
        shape => match exact(&shape) {
            Some(shape) => (vec![shape], true),
            None => (Vec::new(), false),
        },
    }
}

/// A test of fields as a test of columns that the same steps pass.
fn exact(shape: &Shape) -> Option<Shape> {
    let all = |shapes: &[Shape]| shapes.iter().map(exact).collect::<Option<Vec<_>>>();
    let column_of = |at: usize| column_of(field_at(at)?).map(|column| column as usize);
    Some(match shape {
        Shape::Const(value) => Shape::Const(*value),
        Shape::All(shapes) => Shape::All(all(shapes)?),
        Shape::Any(shapes) => Shape::Any(all(shapes)?),
        Shape::Not(shape) => Shape::Not(Box::new(exact(shape)?)),
        Shape::Compare(at, Comparison::Eq, value) if *at == Of::StepId as usize => has_id(value)?,
        Shape::Compare(at, comparison, value) => {
            Shape::Compare(column_of(*at)?, *comparison, value.clone())
        }
        Shape::In(at, values, has_null) => Shape::In(column_of(*at)?, values.clone(), *has_null),
        Shape::IsNull(at) => Shape::IsNull(column_of(*at)?),
        Shape::NotNan(at) => Shape::NotNan(column_of(*at)?),
        Shape::Text(at, how, text) => Shape::Text(column_of(*at)?, *how, text.clone()),
        Shape::Other(_) => return None,
    })
}

/// A step has an id that a caller chose, or one that was generated of its result and number.
fn has_id(id: &Constant) -> Option<Shape> {
    let Constant::Text(text) = id else { return None };
    let chosen = Shape::Compare(StepColumn::StepId as usize, Comparison::Eq, id.clone());
    let Some((half, seq)) = split_generated(text) else { return Some(chosen) };
    let int = |column: StepColumn, value: i64| {
        Shape::Compare(column as usize, Comparison::Eq, Constant::Int(value))
    };
    let generated = Shape::All(vec![
        int(StepColumn::Result, index_of_half(half)),
        int(StepColumn::Seq, seq.cast_signed()),
        Shape::IsNull(StepColumn::StepId as usize),
    ]);
    Some(Shape::Any(vec![chosen, generated]))
}

/// The column that has the values of a field.
pub(super) fn column_of(field: Of) -> Option<StepColumn> {
    let column = match field {
        Of::ParentId => StepColumn::ParentId,
        Of::Name => StepColumn::Name,
        Of::StepType => StepColumn::StepType,
        Of::Path => StepColumn::Path,
        Of::DataModel => StepColumn::DataModel,
        Of::StatusName => StepColumn::StatusName,
        Of::Text => StepColumn::Text,
        Of::StatusType => StepColumn::StatusType,
        Of::StartedAt => StepColumn::StartedAt,
        Of::UpdatedAt => StepColumn::UpdatedAt,
        Of::TotalTime => StepColumn::TotalTime,
        Of::HasChildren => StepColumn::HasChildren,
        _ => return None,
    };
    Some(column)
}

/// The results of both that are left when a selection is restricted.
pub(super) fn restricted(selection: Selection, to: BTreeSet<RecordKey>) -> Selection {
    match selection {
        Selection::All => Selection::Of(to),
        Selection::Of(results) => Selection::Of(results.intersection(&to).copied().collect()),
    }
}
