//! The results of steps, with what is below them.

use std::collections::BTreeMap;

use stationdb::chrono::{DateTime, TimeDelta, Utc};
use stationdb::results::CreateStepRequest;

use super::json::{outputs, texts};
use super::measurement::{OF_STEP, of_step};
use super::prop::{Kind, Prop};
use crate::results::parameter::number;
use crate::results::step::{NewStep, Parameter};
use crate::results::{LoopPart, Told, nest, sequencer_status};

const DATA_MODEL: &str = "TestStand";
/// The members of a step's result that are read by name.
const READ: [&str; 4] = ["Status", "Error", "ReportText", "TS"];
/// The members of its `TS` that are read by name.
const OF_TS: [&str; 4] = ["StepName", "StepType", "TotalTime", "StartTime"];

/// What is known while the steps of a result are read.
pub(super) struct Steps<'t> {
    pub(super) told: &'t mut Told,
    /// The start of the result, and the seconds of its clock then.
    pub(super) start: Option<(DateTime<Utc>, f64)>,
    /// How many steps were read.
    pub(super) count: usize,
}

impl Steps<'_> {
    /// The steps of the lists of results below what a sequence returned.
    pub(super) fn below(&mut self, result: Prop<'_>, from: Option<DateTime<Utc>>) -> Vec<NewStep> {
        let mut steps = Vec::new();
        let Some(ts) = result.get("TS") else { return steps };
        for container in ts.props(self.told) {
            let is_object = container.kind() == Kind::Object;
            let Some(list) = container.get("ResultList").filter(|_| is_object) else { continue };
            // A step's own call, or for instance what its post action called.
            let role = Some(container.name()).filter(|name| *name != "SequenceCall");
            let mut before = from;
            let mut found = Vec::new();
            for one in list.prop_items() {
                let (part, mut step) = self.step(one, before);
                before = step.request.started_at.or(before);
                if let Some(role) = role {
                    let properties = step.request.properties.get_or_insert_default();
                    properties.insert("calledBy".to_owned(), Some(role.to_owned()));
                }
                found.push((part, step));
            }
            steps.extend(nest(found));
        }
        steps
    }

    /// The step of a result. `before` is the start of what came before it.
    fn step(&mut self, result: Prop<'_>, before: Option<DateTime<Utc>>) -> (LoopPart, NewStep) {
        let id = format!("step-{}", self.count);
        self.count += 1;
        let ts = result.get("TS");
        let of_ts = |name: &str| ts.and_then(|ts| ts.text_of(name));
        let name = of_ts("StepName").unwrap_or_else(|| result.name());
        let status = result.text_of("Status");
        let started_at = self.moment(of_ts("StartTime")).or(before);
        let properties = self.properties(result);
        let part = match ts {
            Some(ts) if ts.text_of("LoopIndex").is_some() => LoopPart::Iteration,
            Some(ts) if ts.text_of("NumLoops").is_some() => LoopPart::Whole,
            _ => LoopPart::None,
        };
        let parameters = of_step(result, name, status, self.told);
        let request = CreateStepRequest::new()
            .step_id(id)
            .name(name)
            .data_model(DATA_MODEL)
            .total_time_in_seconds(seconds(of_ts("TotalTime")))
            .properties(properties)
            .maybe_step_type(of_ts("StepType").map(str::to_owned))
            .maybe_status(status.and_then(sequencer_status))
            .maybe_started_at(started_at);
        let step = NewStep {
            request,
            text: text_of(result),
            parameters: parameters.into_iter().map(Parameter::from).collect(),
            outputs: self.outputs(result),
            children: self.below(result, started_at),
            ..NewStep::default()
        };
        (part, step)
    }

    /// The time at which the clock of the sequencer has this number of seconds.
    fn moment(&self, text: Option<&str>) -> Option<DateTime<Utc>> {
        let (start, zero) = self.start?;
        let passed = number(text?)? - zero;
        // Reports that are longer are not of one run.
        let micros = (passed * 1e6).round();
        if !(0.0..1e17).contains(&micros) {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "it is in the range of the type")]
        start.checked_add_signed(TimeDelta::microseconds(micros as i64))
    }

    /// What the sequencer noted about a step, without the lists of results.
    fn properties(&mut self, result: Prop<'_>) -> BTreeMap<String, String> {
        let mut properties = BTreeMap::new();
        let Some(ts) = result.get("TS") else { return properties };
        for one in ts.props(self.told) {
            if OF_TS.contains(&one.name()) {
                continue;
            }
            let path = format!("TS.{}", one.name());
            let inner = match one.get("ResultList") {
                Some(_) => one.props(self.told),
                None => {
                    properties.extend(texts(one, &path, self.told));
                    continue;
                }
            };
            for inner in inner.into_iter().filter(|inner| inner.name() != "ResultList") {
                properties.extend(texts(inner, &format!("{path}.{}", inner.name()), self.told));
            }
        }
        if let Some(error) = error_of(result) {
            properties.extend(texts(error, "Error", self.told));
        }
        properties
    }

    /// What the step recorded beside its measurements.
    fn outputs(&mut self, result: Prop<'_>) -> Vec<stationdb::results::NamedValue> {
        let mut found = Vec::new();
        for one in result.props(self.told) {
            if !READ.contains(&one.name()) && !OF_STEP.contains(&one.name()) {
                outputs(one, one.name(), self.told, &mut found);
            }
        }
        found
    }
}

/// A duration in seconds; 0 for what is none.
pub(super) fn seconds(text: Option<&str>) -> f64 {
    let seconds = text.and_then(number).filter(|seconds| seconds.is_finite());
    seconds.unwrap_or_default().max(0.0)
}

/// The error of a result, if one occurred.
fn error_of(result: Prop<'_>) -> Option<Prop<'_>> {
    let error = result.get("Error")?;
    let occurred =
        error.text_of("Occurred").is_some_and(|text| text.trim().eq_ignore_ascii_case("true"));
    let code = error.text_of("Code").and_then(number).unwrap_or_default();
    (occurred || code != 0.0).then_some(error)
}

/// The text of the error that occurred, and what the step reported.
pub(super) fn text_of(result: Prop<'_>) -> Option<String> {
    let error = error_of(result).map(|error| {
        let code = error.text_of("Code").map_or("0", str::trim);
        format!("Error {code}: {}", error.text_of("Msg").map_or("", str::trim))
    });
    let report = result.text_of("ReportText").map(|text| text.trim().to_owned());
    let parts: Vec<String> = error.into_iter().chain(report).collect();
    (!parts.is_empty()).then(|| parts.join("\n"))
}
