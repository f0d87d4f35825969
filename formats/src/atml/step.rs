//! Groups, tests and actions as steps.

use std::collections::BTreeMap;

use stationdb::Result;
use stationdb::chrono::{DateTime, Utc};
use stationdb::results::{CreateStepRequest, NamedValue};

use super::datum::json;
use super::measurement::measured;
use crate::results::parameter::number;
use crate::results::step::NewStep;
use crate::results::{Clock, LoopPart, Told, nest, outcome_status};
use crate::xml::{Element, flatten};

const DATA_MODEL: &str = "ATML";
/// The elements that are steps.
const STEPS: [&str; 3] = ["TestGroup", "Test", "SessionAction"];
/// Attributes that are members of a step.
const MEMBERS: [&str; 3] = ["name", "startDateTime", "endDateTime"];

/// What is known while the steps of a result are read.
pub(super) struct Steps<'t> {
    pub(super) told: &'t mut Told,
    pub(super) clock: &'t Clock,
    /// How many steps were read.
    pub(super) count: usize,
}

impl Steps<'_> {
    /// The steps inside of an element. `from` is the start of that one.
    pub(super) fn inside(
        &mut self,
        element: Element<'_>,
        from: Option<DateTime<Utc>>,
    ) -> Result<Vec<NewStep>> {
        let mut before = from;
        let mut found = Vec::new();
        for child in element.children().filter(|child| STEPS.contains(&child.name())) {
            let (part, step) = self.step(child, before)?;
            before = step.request.started_at.or(before);
            found.push((part, step));
        }
        Ok(nest(found))
    }

    /// The step of an element. `before` is the start of what came before it.
    fn step(
        &mut self,
        element: Element<'_>,
        before: Option<DateTime<Utc>>,
    ) -> Result<(LoopPart, NewStep)> {
        let id = format!("step-{}", self.count);
        self.count += 1;
        let name = element.attribute("name").or(element.attribute("ID")).unwrap_or_default();
        let mut properties = BTreeMap::new();
        for (key, value) in element.attributes() {
            if !MEMBERS.contains(&key) && !key.starts_with("xmlns") && !value.trim().is_empty() {
                properties.insert(key.to_owned(), value.to_owned());
            }
        }
        let mut step = NewStep::default();
        let mut texts = Vec::new();
        let mut status = None;
        let (mut inputs, mut step_type) = (Vec::new(), element.name().to_owned());
        for child in element.children() {
            match child.name() {
                name if STEPS.contains(&name) => {}
                "Outcome" | "ActionOutcome" => {
                    let value = child.attribute("value").unwrap_or_default();
                    status = Some(outcome_status(value, child.attribute("qualifier")));
                    for inner in child.children() {
                        self.flat(inner, &format!("Outcome.{}", inner.name()), &mut properties);
                    }
                }
                "TestResult" => {
                    let found = measured(child, name, self.told);
                    step.parameters.extend(found.parameter);
                    step.outputs.extend(found.output);
                }
                "Parameters" => inputs.extend(self.parameters(child)),
                "Data" => {
                    let value = json(child, self.told);
                    step.outputs.extend(value.map(|value| NamedValue::new("Data", value)));
                }
                "Description" => texts.push(child.text().trim().to_owned()),
                "Extension" => {
                    // Sequencers have an element of their own around their values.
                    for inner in child.children() {
                        let is_wrapper = inner.children().next().is_some();
                        let values =
                            if is_wrapper { inner.children().collect() } else { vec![inner] };
                        for value in values {
                            self.flat(value, value.name(), &mut properties);
                        }
                    }
                }
                other => self.flat(child, other, &mut properties),
            }
        }
        texts.extend(properties.remove("ReportText"));
        if let Some(text) = properties.remove("StepType") {
            step_type = text.trim().to_owned();
        }
        let started_at = match self.time(element, "startDateTime")? {
            Some(start) => Some(start),
            None => before,
        };
        let total = properties.remove("TotalTime");
        let total = match total.as_deref().and_then(number).filter(|total| total.is_finite()) {
            Some(total) => total.max(0.0),
            None => duration(started_at, self.time(element, "endDateTime")?),
        };
        let part = if properties.contains_key("LoopIndex") {
            LoopPart::Iteration
        } else if properties.contains_key("NumLoops") {
            LoopPart::Whole
        } else {
            LoopPart::None
        };
        texts.retain(|text| !text.trim().is_empty());
        step.text = (!texts.is_empty()).then(|| texts.join("\n"));
        step.children = self.inside(element, started_at)?;
        step.request = CreateStepRequest::new()
            .step_id(id)
            .name(name)
            .step_type(step_type)
            .data_model(DATA_MODEL)
            .inputs(inputs)
            .total_time_in_seconds(total)
            .properties(properties)
            .maybe_status(status)
            .maybe_started_at(started_at);
        Ok((part, step))
    }

    /// What a step was given.
    fn parameters(&mut self, parameters: Element<'_>) -> Vec<NamedValue> {
        let mut inputs = Vec::new();
        for parameter in parameters.children() {
            let name = parameter.attribute("name").or(parameter.attribute("ID"));
            let value = parameter.child("Data").and_then(|data| json(data, self.told));
            match value.or_else(|| json(parameter, self.told)) {
                Some(value) => inputs.push(NamedValue::new(name.unwrap_or("parameter"), value)),
                None => self.told.note(parameter.line(), "a parameter without a value is left out"),
            }
        }
        inputs
    }

    /// Properties of an element that has no member.
    pub(super) fn flat(
        &mut self,
        element: Element<'_>,
        path: &str,
        properties: &mut BTreeMap<String, String>,
    ) {
        let put = &mut |path, text| {
            properties.entry(path).or_insert(text);
        };
        if !flatten(element, path, put) {
            self.told.note(element.line(), "values with long paths are left out");
        }
    }

    /// The time of an attribute. What is no time is told.
    ///
    /// # Errors
    /// `InvalidArgument` for a time that its zone does not have.
    pub(super) fn time(
        &mut self,
        element: Element<'_>,
        name: &str,
    ) -> Result<Option<DateTime<Utc>>> {
        let Some(text) = element.attribute(name) else { return Ok(None) };
        let found = self.clock.read(text).map_err(|error| element.wrong(error))?;
        match found {
            Some(time) if time.is_assumed => {
                let what = "a time without a zone was taken as UTC; name the zone";
                self.told.note(element.line(), what);
            }
            Some(_) => {}
            None => self.told.note(element.line(), format!("the {name} {text:?} is no time")),
        }
        Ok(found.map(|time| time.at))
    }
}

/// The seconds from a start to an end; 0 without one of them.
pub(super) fn duration(start: Option<DateTime<Utc>>, end: Option<DateTime<Utc>>) -> f64 {
    let passed = start.zip(end).map(|(start, end)| end.signed_duration_since(start));
    let micros = passed.and_then(|passed| passed.num_microseconds()).unwrap_or_default().max(0);
    #[expect(clippy::cast_precision_loss, reason = "the service takes a double")]
    {
        micros as f64 / 1e6
    }
}
