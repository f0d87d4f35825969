//! A step of a run in progress, as a test program builds it.

use std::time::Instant;

use chrono::{DateTime, Utc};

use super::Run;
use super::measurement::{Measured, Measurement, Rule};
use super::store::FinishedStep;
use crate::error::{Error, Result};
use crate::model::results::{CreateStepRequest, NamedValue, Step, StepData};
use crate::model::specifications::ConditionPoint;
use crate::model::{FileId, Status, TableId};
use crate::services::results::attached::Attached;
use crate::value::Number;

/// A step of a [`Run`] that is being carried out. Nothing is stored before
/// [`finish`](RunStep::finish), which makes it durable.
///
/// The methods about a measurement ([`limits`](RunStep::limits), [`equals`](RunStep::equals),
/// [`spec`](RunStep::spec) and others) are about the last one that was added. The status of the
/// step is the most severe of its measurements: ERRORED, FAILED, PASSED, DONE if it is not judged,
/// SKIPPED. Without measurements it is DONE. [`status`](RunStep::status) replaces it.
#[derive(Debug)]
#[must_use = "a step is stored by `finish`"]
pub struct RunStep<'r> {
    run: &'r Run,
    began: Instant,
    request: CreateStepRequest,
    parent_id: Option<String>,
    measurements: Vec<Measurement>,
    conditions: Vec<(String, ConditionPoint)>,
    attached: Attached,
    /// The first misuse of the builder.
    error: Option<Error>,
}

impl<'r> RunStep<'r> {
    pub(super) fn new(run: &'r Run, name: String, parent_id: Option<String>) -> Self {
        let request = CreateStepRequest::new().name(name).started_at(run.now());
        Self {
            run,
            began: Instant::now(),
            request,
            parent_id,
            measurements: Vec::new(),
            conditions: Vec::new(),
            attached: Attached::default(),
            error: None,
        }
    }

    fn add(mut self, name: String, value: Measured, units: Option<String>) -> Self {
        self.measurements.push(Measurement { name, value, units, rule: Rule::Log });
        self
    }

    fn judged_by(mut self, what: &str, rule: Rule) -> Self {
        let error = match self.measurements.last_mut() {
            None => format!("{what} needs a measurement before it; call measure first"),
            Some(last) => match (&mut last.rule, rule) {
                (own @ Rule::Log, rule) => {
                    *own = rule;
                    return self;
                }
                (Rule::Range { low, high }, Rule::Range { low: more_low, high: more_high })
                    if low.is_none() != more_low.is_none()
                        && high.is_none() != more_high.is_none() =>
                {
                    *low = low.or(more_low);
                    *high = high.or(more_high);
                    return self;
                }
                _ => format!("the measurement {:?} is judged already; leave {what} out", last.name),
            },
        };
        self.error.get_or_insert_with(|| Error::invalid(error).at_member("data.parameters"));
        self
    }

    /// Adds a measured number with its unit; the unit may be empty. NaN says that there is no
    /// value: the step is ERRORED.
    pub fn measure(
        self,
        name: impl Into<String>,
        value: impl Into<f64>,
        units: impl Into<String>,
    ) -> Self {
        self.add(name.into(), Measured::Number(value.into()), Some(units.into()))
    }

    /// Adds a text that was read, for example a serial number.
    pub fn measure_text(self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.add(name.into(), Measured::Text(text.into()), None)
    }

    /// Adds a Boolean that was read.
    pub fn measure_bool(self, name: impl Into<String>, value: bool) -> Self {
        self.add(name.into(), Measured::Boolean(value), None)
    }

    /// Passes the last measurement from `low` to `high`, both inside (`GELE`).
    pub fn limits(self, low: impl Into<f64>, high: impl Into<f64>) -> Self {
        let (low, high) = (Some(low.into()), Some(high.into()));
        self.judged_by("limits", Rule::Range { low, high })
    }

    /// Passes the last measurement from `low` on, which is inside (`GE`).
    pub fn at_least(self, low: impl Into<f64>) -> Self {
        self.judged_by("at_least", Rule::Range { low: Some(low.into()), high: None })
    }

    /// Passes the last measurement up to `high`, which is inside (`LE`).
    pub fn at_most(self, high: impl Into<f64>) -> Self {
        self.judged_by("at_most", Rule::Range { low: None, high: Some(high.into()) })
    }

    /// Passes the last measurement if it equals a value of its type (`EQ`). Numbers are compared
    /// exactly.
    pub fn equals(self, expected: impl Into<Measured>) -> Self {
        self.judged_by("equals", Rule::Equals(expected.into()))
    }

    /// Judges the last measurement by the specification with this `specId` of the product of the
    /// run, whose limits are outside (`GTLT`). It is read in the commit that stores the step, and
    /// its limits and unit are stored with the measurement. One that does not apply under the
    /// [conditions](RunStep::condition) skips the measurement.
    pub fn spec(self, spec_id: impl Into<String>) -> Self {
        self.judged_by("spec", Rule::Specification(spec_id.into()))
    }

    /// Sets a condition of the measurements of the step, which specifications ask for. It is stored
    /// among the inputs.
    pub fn condition(mut self, name: impl Into<String>, point: impl Into<ConditionPoint>) -> Self {
        let (name, point) = (name.into(), point.into());
        let value = match &point {
            ConditionPoint::Number(number) => serde_json::Value::from(*number),
            ConditionPoint::Text(text) => serde_json::Value::from(text.as_str()),
        };
        self.conditions.push((name.clone(), point));
        self.input(name, value)
    }

    /// Adds what the step was given.
    pub fn input(mut self, name: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
        let inputs = self.request.inputs.get_or_insert_default();
        inputs.push(NamedValue::new(name.into(), value.into()));
        self
    }

    /// Adds what the step gave.
    pub fn output(mut self, name: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
        let outputs = self.request.outputs.get_or_insert_default();
        outputs.push(NamedValue::new(name.into(), value.into()));
        self
    }

    /// Attaches a file that was uploaded: the result names it, and the step has the output
    /// `attachment.<name>` with its id.
    pub fn file(mut self, name: impl AsRef<str>, id: &FileId) -> Self {
        self.attached.file_ids.push(id.to_string());
        self.output(format!("attachment.{}", name.as_ref()), id.as_str())
    }

    /// Attaches a table: the result names it, and the step has the output `table.<name>` with its
    /// id.
    pub fn table(mut self, name: impl AsRef<str>, id: &TableId) -> Self {
        self.attached.data_table_ids.push(id.to_string());
        self.output(format!("table.{}", name.as_ref()), id.as_str())
    }

    /// Sets the type, such as `NumericLimitTest`.
    pub fn step_type(mut self, step_type: impl Into<String>) -> Self {
        self.request.step_type = Some(step_type.into());
        self
    }

    /// Sets the text of the step.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.request.data.get_or_insert_default().text = Some(text.into());
        self
    }

    /// Adds a keyword.
    pub fn keyword(mut self, keyword: impl Into<String>) -> Self {
        self.request.keywords.get_or_insert_default().push(keyword.into());
        self
    }

    /// Sets a property.
    pub fn property(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.request.properties.get_or_insert_default().insert(key.into(), Some(value.into()));
        self
    }

    /// Sets the time of the start, which is otherwise that of the call that began the step.
    pub fn started_at(mut self, started_at: DateTime<Utc>) -> Self {
        self.request.started_at = Some(started_at);
        self
    }

    /// Sets the duration, which is otherwise the time until [`finish`](RunStep::finish).
    pub fn total_time_in_seconds(mut self, seconds: f64) -> Self {
        self.request.total_time_in_seconds = Some(Number::Float(seconds));
        self
    }

    /// Sets the status, whatever the measurements say.
    pub fn status(mut self, status: impl Into<Status>) -> Self {
        self.request.status = Some(status.into());
        self
    }

    /// Judges the measurements and stores the step in one durable commit. Returns it as stored.
    ///
    /// # Errors
    /// `InvalidArgument` for limits without a measurement, in the wrong order or of a text, and for
    /// a measurement in another unit than its specification; `NotFound` for a specification that
    /// the product of the run does not have, and for a run that was deleted; `Conflict` for a run
    /// that was finished; those of [`create_steps`](crate::results::ResultService::create_steps).
    /// Then nothing was stored.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let step = run.step("Power").measure("VOUT", 12.01, "V").limits(11.8, 12.2).finish()?;
    /// assert_eq!(step.status, Some(StatusType::Passed.into()));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    pub fn finish(self) -> Result<Step> {
        let Self { run, began, mut request, parent_id, measurements, conditions, attached, error } =
            self;
        if let Some(error) = error {
            return Err(error);
        }
        request.total_time_in_seconds.get_or_insert(Number::Float(began.elapsed().as_secs_f64()));
        if !measurements.is_empty() {
            request.data.get_or_insert_with(StepData::new);
        }
        run.store(FinishedStep { request, parent_id, measurements, conditions, attached })
    }
}
