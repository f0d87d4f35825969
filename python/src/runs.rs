//! Runs of tests: results that are stored step by step while the test works.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};
use serde::Deserialize;
use stationdb::chrono::{DateTime, Utc};
use stationdb::files::FileId;
use stationdb::results::{
    CreateResultRequest, CreateStepRequest, Measured, ResultWithSteps, Run, RunStep, Status,
    TestResultId,
};
use stationdb::serde_json::Value;
use stationdb::specifications::ConditionPoint;
use stationdb::tables::TableId;
use stationdb::{Error, Result, from_json};

use crate::errors::{closed, raised};
use crate::json::{request, to_python};
use crate::lock::lock;
use crate::long::{Watch, long, short};
use crate::open::{Call, Held};
use crate::session::{Caller, SessionCore};

/// Where the run of the library is.
enum State {
    Here(Arc<Run>),
    /// The store was compacted or closed, or the run could not be ended. It is found again.
    Away,
    Ended,
}

struct RunSlot(Mutex<State>);

impl RunSlot {
    /// The run, which is then away. `None` if it was.
    fn take(&self) -> Option<Arc<Run>> {
        let mut state = lock(&self.0);
        match std::mem::replace(&mut *state, State::Away) {
            State::Here(run) => Some(run),
            other => {
                *state = other;
                None
            }
        }
    }
}

impl Held for RunSlot {
    fn end(&self) {
        drop(self.take());
    }
}

/// How a run begins.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Start {
    part_number: String,
    serial_number: String,
    program_name: String,
    operator: Option<String>,
    system_id: Option<String>,
    host_name: Option<String>,
    workspace: Option<String>,
    #[serde(default)]
    keywords: Vec<String>,
    #[serde(default)]
    properties: BTreeMap<String, String>,
}

/// A step that has ended, without its measurements.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct StepSpec {
    name: String,
    /// The sequence that it is in.
    parent: Option<String>,
    step_type: Option<String>,
    text: Option<String>,
    status: Option<Status>,
    started_at: DateTime<Utc>,
    seconds: f64,
    keywords: Vec<String>,
    properties: BTreeMap<String, String>,
    inputs: Vec<(String, Value)>,
    outputs: Vec<(String, Value)>,
    conditions: Vec<(String, Value)>,
    files: Vec<(String, String)>,
    tables: Vec<(String, String)>,
}

/// A measurement: name, value, unit, the limits, the expected value, the specification.
type MeasurementSpec<'py> = (
    String,
    Bound<'py, PyAny>,
    Option<String>,
    Option<f64>,
    Option<f64>,
    Option<Bound<'py, PyAny>>,
    Option<String>,
);

/// A measurement whose values are those of the library.
struct Taken {
    name: String,
    value: Measured,
    unit: String,
    low: Option<f64>,
    high: Option<f64>,
    equals: Option<Measured>,
    spec: Option<String>,
}

/// A value; `None` is that of a measurement without one.
fn measured(value: &Bound<'_, PyAny>) -> PyResult<Measured> {
    if value.is_none() {
        Ok(Measured::Number(f64::NAN))
    } else if value.is_instance_of::<PyBool>() {
        value.extract().map(Measured::Boolean)
    } else if value.is_instance_of::<PyString>() {
        value.extract().map(Measured::Text)
    } else {
        value.extract().map(Measured::Number)
    }
}

fn taken(spec: MeasurementSpec<'_>) -> PyResult<Taken> {
    let (name, value, unit, low, high, equals, spec) = spec;
    Ok(Taken {
        name,
        value: measured(&value)?,
        unit: unit.unwrap_or_default(),
        low,
        high,
        equals: equals.map(|value| measured(&value)).transpose()?,
        spec,
    })
}

fn with_measurement<'r>(step: RunStep<'r>, taken: Taken) -> RunStep<'r> {
    let Taken { name, value, unit, low, high, equals, spec } = taken;
    let mut step = match value {
        Measured::Number(value) => step.measure(name, value, unit),
        Measured::Text(text) => step.measure_text(name, text),
        Measured::Boolean(value) => step.measure_bool(name, value),
    };
    step = match (low, high) {
        (Some(low), Some(high)) => step.limits(low, high),
        (Some(low), None) => step.at_least(low),
        (None, Some(high)) => step.at_most(high),
        (None, None) => step,
    };
    if let Some(expected) = equals {
        step = step.equals(expected);
    }
    if let Some(spec) = spec {
        step = step.spec(spec);
    }
    step
}

fn point(value: Value) -> ConditionPoint {
    match value {
        Value::String(text) => ConditionPoint::Text(text),
        other => match other.as_f64() {
            Some(number) => ConditionPoint::Number(number),
            None => ConditionPoint::Text(other.to_string()),
        },
    }
}

fn with_spec<'r>(mut step: RunStep<'r>, spec: StepSpec) -> RunStep<'r> {
    step = step.started_at(spec.started_at).total_time_in_seconds(spec.seconds);
    if let Some(step_type) = spec.step_type {
        step = step.step_type(step_type);
    }
    if let Some(text) = spec.text {
        step = step.text(text);
    }
    if let Some(status) = spec.status {
        step = step.status(status);
    }
    step = spec.keywords.into_iter().fold(step, RunStep::keyword);
    step = spec.properties.into_iter().fold(step, |step, (key, value)| step.property(key, value));
    step = spec.inputs.into_iter().fold(step, |step, (name, value)| step.input(name, value));
    step = spec.outputs.into_iter().fold(step, |step, (name, value)| step.output(name, value));
    step = spec
        .conditions
        .into_iter()
        .fold(step, |step, (name, value)| step.condition(name, point(value)));
    step = spec.files.iter().fold(step, |step, (name, id)| step.file(name, &FileId::from(&**id)));
    spec.tables.iter().fold(step, |step, (name, id)| step.table(name, &TableId::from(&**id)))
}

/// A run in progress.
#[pyclass(frozen, module = "stationdb._stationdb")]
pub struct RunCore {
    caller: Arc<Caller>,
    slot: Arc<RunSlot>,
    id: TestResultId,
}

impl RunCore {
    fn new(caller: &Arc<Caller>, run: Run) -> Self {
        let id = run.id().clone();
        let slot = Arc::new(RunSlot(Mutex::new(State::Here(Arc::new(run)))));
        caller.open.hold(&slot);
        Self { caller: caller.clone(), slot, id }
    }

    /// The run, for a call; it is found again after a compaction.
    fn run(&self, py: Python<'_>) -> PyResult<(Call, Arc<Run>)> {
        self.caller.refuse_own_transaction(py)?;
        let (call, session) = self.caller.begin(py)?;
        match &*lock(&self.slot.0) {
            State::Here(run) => return Ok((call, run.clone())),
            State::Away => {}
            State::Ended => {
                return Err(closed(py, "the run has ended; begin another one with results.begin"));
            }
        }
        let run = Arc::new(short(py, || Run::resume(&session, &self.id))?);
        *lock(&self.slot.0) = State::Here(run.clone());
        Ok((call, run))
    }

    /// A write of the run. The one that waits for a transaction finds the run again, with a control
    /// that Ctrl-C cancels.
    fn write<T: Send>(
        &self,
        py: Python<'_>,
        run: &Run,
        work: impl FnOnce(&Run) -> Result<T> + Send,
    ) -> PyResult<T> {
        if !self.caller.may_wait_long(py) {
            return short(py, || work(run));
        }
        let (_call, session) = self.caller.begin(py)?;
        long(py, Watch::new(self.caller.timeout()), |control| {
            work(&Run::resume(&session.with_control(control), &self.id)?)
        })
    }
}

/// Begins a run, durably.
#[pyfunction]
pub fn begin_run(
    py: Python<'_>,
    session: &SessionCore,
    asked: &Bound<'_, PyAny>,
) -> PyResult<RunCore> {
    let asked: Start = request(asked, "begin")?;
    let caller = &session.caller;
    caller.refuse_own_transaction(py)?;
    let (_call, session) = caller.begin(py)?;
    let mut start = Run::begin(asked.part_number, asked.serial_number, asked.program_name);
    let user = caller.slot.spec.user.clone();
    start = start.operator(asked.operator.unwrap_or(user));
    if let Some(system) = asked.system_id {
        start = start.system_id(system);
    }
    if let Some(host) = asked.host_name {
        start = start.host_name(host);
    }
    if let Some(workspace) = asked.workspace {
        start = start.workspace(workspace);
    }
    for keyword in asked.keywords {
        start = start.keyword(keyword);
    }
    for (key, value) in asked.properties {
        start = start.property(key, value);
    }
    if !caller.may_wait_long(py) {
        return Ok(RunCore::new(caller, short(py, || start.start(&session))?));
    }
    // The control is that of this call alone, so the run is found again without it.
    let begun = long(py, Watch::new(caller.timeout()), |control| {
        let begun = start.start(&session.with_control(control))?;
        Run::resume(&session, begun.id())
    })?;
    Ok(RunCore::new(caller, begun))
}

/// Finds a run again that nobody has ended.
#[pyfunction]
pub fn resume_run(py: Python<'_>, session: &SessionCore, id: String) -> PyResult<RunCore> {
    let caller = &session.caller;
    let (_call, session) = caller.begin(py)?;
    let run = short(py, || Run::resume(&session, &TestResultId::from(id)))?;
    Ok(RunCore::new(caller, run))
}

/// A result with its steps, as Python gives it.
#[derive(Deserialize)]
struct Whole {
    result: CreateResultRequest,
    steps: Vec<CreateStepRequest>,
}

/// Stores results with their steps in one commit, of JSON as text. Returns what became of them.
#[pyfunction]
pub fn append_results(py: Python<'_>, session: &SessionCore, json: &str) -> PyResult<Py<PyAny>> {
    let made = session.caller.write(py, |services, _| {
        let whole: Vec<Whole> = from_json(json.as_bytes())?;
        let results: Vec<ResultWithSteps> = whole
            .into_iter()
            .map(|one| {
                one.steps.into_iter().fold(ResultWithSteps::from(one.result), ResultWithSteps::step)
            })
            .collect();
        services.append_results(&results)
    })?;
    to_python(py, &made)
}

#[pymethods]
impl RunCore {
    #[getter]
    fn id(&self) -> &str {
        self.id.as_str()
    }

    /// Stores a step that has ended, durably. Returns it.
    fn store_step(
        &self,
        py: Python<'_>,
        asked: &Bound<'_, PyAny>,
        measurements: Vec<MeasurementSpec<'_>>,
    ) -> PyResult<Py<PyAny>> {
        let spec: StepSpec = request(asked, "step")?;
        let measurements = measurements.into_iter().map(taken).collect::<PyResult<Vec<Taken>>>()?;
        let (_call, run) = self.run(py)?;
        let step = self.write(py, &run, |run| {
            let (name, parent) = (spec.name.clone(), spec.parent.clone());
            let sequence = parent.map(|id| run.resume_sequence(&id)).transpose()?;
            let step = match &sequence {
                Some(sequence) => sequence.step(name),
                None => run.step(name),
            };
            measurements.into_iter().fold(with_spec(step, spec), with_measurement).finish()
        })?;
        to_python(py, &step)
    }

    /// Begins a sequence, durably. Returns its id.
    fn begin_sequence(
        &self,
        py: Python<'_>,
        name: String,
        parent: Option<String>,
    ) -> PyResult<String> {
        let (_call, run) = self.run(py)?;
        self.write(py, &run, |run| {
            let parent = parent.map(|id| run.resume_sequence(&id)).transpose()?;
            let sequence = match &parent {
                Some(parent) => parent.sequence(name)?,
                None => run.sequence(name)?,
            };
            Ok(sequence.id().to_owned())
        })
    }

    /// Ends a sequence with the status, or with that of its steps.
    fn end_sequence(
        &self,
        py: Python<'_>,
        id: String,
        status: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let status: Option<Status> = status.map(|status| request(status, "status")).transpose()?;
        let (_call, run) = self.run(py)?;
        let step = self.write(py, &run, |run| {
            let sequence = run.resume_sequence(&id)?;
            match status {
                Some(status) => sequence.finish_as(status),
                None => sequence.finish(),
            }
        })?;
        to_python(py, &step)
    }

    fn open_sequences(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let (_call, run) = self.run(py)?;
        to_python(py, &short(py, || run.open_sequences())?)
    }

    fn attach_file(&self, py: Python<'_>, id: &str) -> PyResult<()> {
        let (_call, run) = self.run(py)?;
        self.write(py, &run, |run| run.attach_file(&FileId::from(id)))
    }

    fn attach_table(&self, py: Python<'_>, id: &str) -> PyResult<()> {
        let (_call, run) = self.run(py)?;
        self.write(py, &run, |run| run.attach_table(&TableId::from(id)))
    }

    /// Ends the run with the status, or with that of its steps. Returns its result.
    fn finish(&self, py: Python<'_>, status: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        let status: Option<Status> = status.map(|status| request(status, "status")).transpose()?;
        let (_call, run) = self.run(py)?;
        drop(self.slot.take());
        // A run that could not be ended is found again by the next call.
        let Some(run) = Arc::into_inner(run) else {
            let told = "another thread stores a step of the run; let it end first";
            return Err(raised(py, &Error::conflict(told)));
        };
        let finish = |run: Run| match status {
            Some(status) => run.finish_as(status),
            None => run.finish(),
        };
        let result = if self.caller.may_wait_long(py) {
            let (_call, session) = self.caller.begin(py)?;
            long(py, Watch::new(self.caller.timeout()), |control| {
                finish(Run::resume(&session.with_control(control), &self.id)?)
            })?
        } else {
            short(py, || finish(run))?
        };
        *lock(&self.slot.0) = State::Ended;
        to_python(py, &result)
    }
}
