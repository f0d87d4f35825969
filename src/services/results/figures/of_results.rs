//! Yields and failures of the results of a store.

use std::collections::{BTreeSet, HashMap};

use super::classes::Classes;
use super::groups::{GroupField, Groups};
use super::pareto::{FailureCounts, StepFact, is_failed};
use super::selected::{SelectedResults, UnitEntry, bad_results, check_memory, each_result};
use super::tree::{Node, parents, step_order};
use super::yields::{ResultFact, YieldCounts};
use crate::error::Result;
use crate::filter::{Constant, Shape};
use crate::model::results::StatusType;
use crate::model::results::figure_requests::{FailureParetoRequest, YieldsRequest};
use crate::model::results::figures::{
    FailurePareto, FigureClass, ParetoBasis, ParetoBy, ResultGroup, Yields,
};
use crate::model::steps::rows::StepColumn;
use crate::model::steps::stored::StoredStep;
use crate::model::{Resource, TestResult, members_of};
use crate::services::lists;
use crate::services::results::steps::{Selection, each_part, each_step};
use crate::session::View;
use crate::value::stored::Members;
use crate::value::{Control, RecordKey};

/// Steps between two checks of the control.
const BETWEEN_CHECKS: usize = 1024;

/// Where the keys of groups come from.
struct GroupKeys {
    fields: Vec<GroupField>,
    /// The members of records that they need; none if the index has them all.
    members: Option<Members>,
    /// The families of products by part number, if they are asked for.
    families: HashMap<String, String>,
    /// Whether all fields are times, which have no texts.
    are_times: bool,
}

impl GroupKeys {
    fn new(view: &View<'_>, fields: Vec<GroupField>) -> Result<Self> {
        let member = |field: &GroupField| match field {
            GroupField::Property(_) => Some("properties"),
            GroupField::Field(ResultGroup::Operator) => Some("operator"),
            GroupField::Field(ResultGroup::SystemId) => Some("systemId"),
            GroupField::Field(ResultGroup::HostName) => Some("hostName"),
            GroupField::Field(_) => None,
        };
        let place = |path| TestResult::fields().iter().position(|known| known.path == path);
        let places: Vec<usize> = fields.iter().filter_map(member).filter_map(place).collect();
        let members = (!places.is_empty()).then(|| members_of::<TestResult>(places));
        let has_family = fields.contains(&GroupField::Field(ResultGroup::ProductFamily));
        let families = if has_family { view.product_families()? } else { HashMap::new() };
        let are_times = fields.iter().all(GroupField::is_time);
        Ok(Self { fields, members, families, are_times })
    }

    fn record(&self, view: &View<'_>, key: RecordKey) -> Result<Option<TestResult>> {
        match self.members {
            Some(members) => view.part_by_key(key, members),
            None => Ok(None),
        }
    }

    fn of<'k>(
        &'k self,
        entry: &UnitEntry<'k>,
        record: Option<&'k TestResult>,
    ) -> Vec<Option<&'k str>> {
        let key = |field: &GroupField| match field {
            GroupField::Property(name) => record?.properties.as_ref()?.get(name)?.as_deref(),
            GroupField::Field(field) => match field {
                ResultGroup::PartNumber => entry.unit.part_number,
                ResultGroup::ProgramName => Some(entry.unit.program_name),
                ResultGroup::Operator => record?.operator.as_deref(),
                ResultGroup::SystemId => record?.system_id.as_deref(),
                ResultGroup::HostName => record?.host_name.as_deref(),
                ResultGroup::Workspace => Some(entry.workspace),
                ResultGroup::ProductFamily => {
                    self.families.get(entry.unit.part_number?).map(String::as_str)
                }
                ResultGroup::Hour
                | ResultGroup::Day
                | ResultGroup::Week
                | ResultGroup::Month
                | ResultGroup::Quarter
                | ResultGroup::Year
                | ResultGroup::Shift => None,
            },
        };
        if self.are_times { Vec::new() } else { self.fields.iter().map(key).collect() }
    }
}

/// The yields of the visible results.
///
/// # Errors
/// `InvalidArgument` for a faulty filter, group, zone or list of statuses; `LimitExceeded` for too
/// many groups or matches; those of the control.
pub(in crate::services::results) fn yields(
    view: &View<'_>,
    request: &YieldsRequest,
    control: &Control,
) -> Result<Yields> {
    let selection = request.selection();
    let classes = Classes::of_request(&selection)?;
    let programs = request.programs.as_deref().unwrap_or_default();
    lists::check("programs", programs.len())?;
    lists::check("shiftHours", request.shift_hours.as_deref().unwrap_or_default().len())?;
    let (fields, groups) = Groups::of_request(request)?;
    let group_keys = GroupKeys::new(view, fields)?;
    let mut counts = YieldCounts::new(classes, selection.retest_scope, groups, programs);
    each_result(view, &selection, control, &mut |entry| {
        let mut record = None;
        if entry.is_selected {
            record = group_keys.record(view, entry.key)?;
        }
        let keys =
            if entry.is_selected { group_keys.of(entry, record.as_ref()) } else { Vec::new() };
        counts.add(&ResultFact {
            unit: entry.unit,
            started_at_ms: entry.started_at_ms,
            status_type: entry.status_type,
            status_name: entry.status_name,
            is_selected: entry.is_selected,
            keys: &keys,
        })
    })?;
    Ok(counts.finish())
}

/// What failures are counted by, of one step.
struct FailingStep {
    node: Node,
    path: String,
    name: String,
    step_type: Option<String>,
    is_bad: bool,
    failed_measurement: Option<String>,
}

impl FailingStep {
    fn new(result: RecordKey, step: &StoredStep, classes: &Classes, by: ParetoBy) -> Self {
        let status: Option<StatusType> =
            step.status_type.as_deref().and_then(|status| status.parse().ok());
        let class = status.map(|status| classes.of(status, step.status_name.as_deref()));
        let failed = || {
            let mut measurements =
                step.parameters().iter().filter(|parameter| parameter.is_measurement());
            let failed =
                measurements.find(|parameter| parameter.status.as_deref().is_some_and(is_failed));
            failed.and_then(|parameter| parameter.name.clone())
        };
        Self {
            node: Node::new(result, step),
            failed_measurement: if by == ParetoBy::Measurement { failed() } else { None },
            is_bad: class == Some(FigureClass::Bad),
            path: step.path.clone(),
            name: step.name.clone(),
            step_type: step.step_type.clone(),
        }
    }

    fn bytes(&self) -> usize {
        self.node.bytes() + size_of::<Self>() + self.path.len() + self.name.len()
    }
}

/// The failing results, one after the other.
struct Failures<'v, 's> {
    view: &'v View<'s>,
    counts: FailureCounts,
    /// While only bad steps are read: the results that need all of their steps.
    nested: Option<BTreeSet<RecordKey>>,
    result: Option<RecordKey>,
    steps: Vec<FailingStep>,
    bytes: usize,
    results: usize,
}

impl Failures<'_, '_> {
    fn add(&mut self, result: RecordKey, step: FailingStep) -> Result<()> {
        if self.result != Some(result) {
            self.end()?;
            self.result = Some(result);
        }
        self.bytes += step.bytes();
        check_memory(self.view, self.bytes, "the steps of a result")?;
        self.steps.push(step);
        Ok(())
    }

    /// Counts the result whose steps are complete.
    fn end(&mut self) -> Result<()> {
        let Some(result) = self.result.take() else { return Ok(()) };
        self.bytes = 0;
        if let Some(nested) = &mut self.nested
            && self.steps.iter().any(|step| step.node.has_parent())
        {
            nested.insert(result);
            self.steps.clear();
            return Ok(());
        }
        self.results += 1;
        let mut nodes = Vec::with_capacity(self.steps.len());
        let mut members = Vec::with_capacity(self.steps.len());
        for step in self.steps.drain(..) {
            let FailingStep { node, path, name, step_type, is_bad, failed_measurement } = step;
            nodes.push(node);
            members.push((path, name, step_type, is_bad, failed_measurement));
        }
        let parents = parents(&nodes);
        let order = step_order(&nodes, &parents);
        let mut places = vec![0; nodes.len()];
        for (place, at) in order.iter().enumerate() {
            if let Some(known) = places.get_mut(*at) {
                *known = place;
            }
        }
        let fact = |at: &usize| {
            let (path, name, step_type, is_bad, failed_measurement) = members.get(*at)?;
            let parent = parents.get(*at).copied().flatten();
            Some(StepFact {
                parent: parent.and_then(|parent| places.get(parent).copied()),
                path,
                name,
                step_type: step_type.as_deref(),
                is_bad: *is_bad,
                failed_measurement: failed_measurement.as_deref(),
            })
        };
        let facts: Vec<StepFact<'_>> = order.iter().filter_map(fact).collect();
        self.counts.add(&facts)
    }
}

/// The columns of steps that tell failures apart; `None` where parameters do.
fn columns_of(by: ParetoBy, classes: &Classes) -> Option<Vec<StepColumn>> {
    use StepColumn as Of;
    let key = match by {
        ParetoBy::Path => Of::Path,
        ParetoBy::Name => Of::Name,
        ParetoBy::StepType => Of::StepType,
        ParetoBy::Measurement => return None,
    };
    let mut columns = vec![Of::StepId, Of::ParentId, Of::StartedAt, Of::StatusType, key];
    columns.extend(classes.read_names().then_some(Of::StatusName));
    Some(columns)
}

/// A test that the bad steps pass. Whether a custom status is bad, its name tells.
fn bad_statuses(classes: &Classes) -> Shape {
    let may_be_bad = |status: &&StatusType| {
        **status == StatusType::Custom || classes.of(**status, None) == FigureClass::Bad
    };
    let statuses = StatusType::ALL.iter().filter(may_be_bad);
    let texts = statuses.map(|status| Constant::Text(status.as_str().into())).collect();
    Shape::In(StepColumn::StatusType as usize, texts, false)
}

/// The failures of the visible results.
///
/// # Errors
/// `InvalidArgument` for a faulty filter or list of statuses; `LimitExceeded` for too many keys or
/// matches; those of the control.
pub(in crate::services::results) fn failure_pareto(
    view: &View<'_>,
    request: &FailureParetoRequest,
    control: &Control,
) -> Result<FailurePareto> {
    let selection = request.selection();
    let classes = Classes::of_request(&selection)?;
    let by = request.by.unwrap_or(ParetoBy::Path);
    let basis = request.basis.unwrap_or(ParetoBasis::First);
    let first_pass_only = request.first_pass_only.unwrap_or_default();
    let SelectedResults { bad, good, not_counted, not_first } =
        bad_results(view, &selection, &classes, first_pass_only, control)?;
    let count = bad.len();
    // Only bad steps count. The others matter where they are between a bad step and one above it,
    // so a result whose bad steps have parents is read once more, with all of its steps.
    let mut failures = Failures {
        view,
        nested: Some(BTreeSet::new()),
        counts: FailureCounts::new(basis, by),
        result: None,
        steps: Vec::new(),
        bytes: 0,
        results: 0,
    };
    let control = view.context().control(control);
    let read = |results: Selection,
                shapes: Vec<Shape>,
                f: &mut dyn FnMut(RecordKey, &StoredStep) -> Result<()>| {
        let mut count = 0_usize;
        let mut add = |key: RecordKey, step: &StoredStep| {
            count += 1;
            if count.is_multiple_of(BETWEEN_CHECKS) {
                control.check()?;
            }
            f(key, step).map(|()| true)
        };
        match columns_of(by, &classes) {
            Some(columns) => each_part(view, &results, shapes, &columns, &control, &mut add),
            None => {
                each_step(view, &results, shapes, None, &control, &mut |key, step| add(key, &step))
            }
        }
    };
    if count > 0 {
        let shapes = vec![bad_statuses(&classes)];
        read(Selection::Of(bad), shapes, &mut |result, step| {
            let step = FailingStep::new(result, step, &classes, by);
            if step.is_bad {
                failures.add(result, step)?;
            }
            Ok(())
        })?;
    }
    failures.end()?;
    let nested = failures.nested.take().unwrap_or_default();
    if !nested.is_empty() {
        read(Selection::Of(nested), Vec::new(), &mut |result, step| {
            failures.add(result, FailingStep::new(result, step, &classes, by))
        })?;
        failures.end()?;
    }
    // Results without bad steps have no failing step.
    for _ in failures.results..count {
        failures.counts.add(&[])?;
    }
    let take = request.take.and_then(|take| usize::try_from(take).ok());
    let pareto = failures.counts.finish(take);
    Ok(FailurePareto { good, not_counted, not_first, ..pareto })
}
