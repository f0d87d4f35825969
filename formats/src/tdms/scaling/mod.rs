//! The scales of a channel: what its properties say of how raw values become measured ones.

mod curves;
mod properties;
mod sensors;
mod thermocouple;

use stationdb::arrow::buffer::MutableBuffer;
use stationdb::{Error, Result};

use super::contents::{Object, Properties};
use super::types::Value;
use curves::{interpolated, polynomials};
use properties::ScaleProperties;
use sensors::{Rtd, Strain, Thermistor};
use thermocouple::Thermocouple;

/// The scale that stands for the raw values.
const RAW: u64 = 0xffff_ffff;
/// Scales of a channel.
const SCALES: usize = 256;
/// Rows that are scaled at once, so that the values between scales take little memory.
const ROWS: usize = 4096;

/// Where the values come from that a scale takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Source {
    /// A part of the channel.
    Part(usize),
    /// An earlier step.
    Step(usize),
}

/// What a scale does with its values.
#[derive(Clone, Debug)]
enum Scale {
    Linear {
        slope: f64,
        intercept: f64,
    },
    Polynomial(Vec<f64>),
    /// Inputs that rise, and their outputs; linear between them.
    Table(Vec<(f64, f64)>),
    Rtd(Rtd),
    Strain(Strain),
    Thermistor(Thermistor),
    Thermocouple(Thermocouple),
    Add(Source),
    /// The values that come first are taken from the others, as plug-ins of NI do it.
    SubtractFrom(Source),
}

#[derive(Clone, Debug)]
struct Step {
    input: Source,
    scale: Scale,
}

/// The scales of a channel, in an order in which each follows its inputs.
#[derive(Clone, Debug)]
pub(super) struct Scaling {
    steps: Vec<Step>,
    pub(super) result: Source,
}

/// Why a channel has no scaling.
pub(super) enum Unscaled {
    /// Its properties have no scales, or its values are scaled.
    Raw,
    /// A scale has a type that is unknown.
    Unknown(String),
}

/// The scales of a channel, by its properties, or else those of its group or of the file.
///
/// # Errors
/// `InvalidArgument` for scales that cannot be computed.
pub(super) fn of_channel(
    channel: &Object,
    groups: [&Properties; 2],
) -> Result<std::result::Result<Scaling, Unscaled>> {
    let all = [&channel.properties, groups[0], groups[1]].map(ScaleProperties);
    for properties in all {
        let count = properties.count();
        let is_scaled = properties.0.get("NI_Scaling_Status").and_then(Value::as_text);
        if count == 0 || is_scaled == Some("scaled") {
            continue;
        }
        let path = channel.path.text();
        let fault = |why: String| {
            Error::invalid(format!(
                "the values of the TDMS channel {path} cannot be scaled: {why}; import its raw \
                 values with the option raw"
            ))
        };
        if count > SCALES as u64 {
            return Err(fault(format!("it has {count} scales, more than {SCALES}")));
        }
        let mut found = Vec::new();
        found.resize(count as usize, None);
        let mut plan = Plan { channel, properties, found, open: Vec::new(), steps: Vec::new() };
        return match plan.source(count - 1) {
            Ok(result) => Ok(Ok(Scaling { steps: plan.steps, result })),
            Err(Stop::Unknown(name)) => Ok(Err(Unscaled::Unknown(name))),
            Err(Stop::Fault(why)) => Err(fault(why)),
        };
    }
    Ok(Err(Unscaled::Raw))
}

/// Why scales are not planned.
enum Stop {
    Unknown(String),
    Fault(String),
}

/// The scales that were found so far.
struct Plan<'p> {
    channel: &'p Object,
    properties: ScaleProperties<'p>,
    /// The source with the values of each scale.
    found: Vec<Option<Source>>,
    /// The scales whose inputs are being found.
    open: Vec<u64>,
    steps: Vec<Step>,
}

impl Plan<'_> {
    /// The source with the values of a scale. The depth is at most the number of scales.
    fn source(&mut self, at: u64) -> std::result::Result<Source, Stop> {
        if at == RAW {
            return if self.channel.is_raw {
                Err(Stop::Fault(
                    "a scale takes raw values, and its scalers have several".to_owned(),
                ))
            } else {
                Ok(Source::Part(0))
            };
        }
        let Some(found) = self.found.get(at as usize) else {
            return Err(Stop::Fault(format!("there is no scale {at}")));
        };
        if let Some(source) = found {
            return Ok(*source);
        }
        if self.open.contains(&at) {
            return Err(Stop::Fault(format!("the scale {at} takes its own values")));
        }
        self.open.push(at);
        let source = self.planned(at)?;
        self.open.pop();
        if let Some(found) = self.found.get_mut(at as usize) {
            *found = Some(source);
        }
        Ok(source)
    }

    fn planned(&mut self, at: u64) -> std::result::Result<Source, Stop> {
        let properties = self.properties;
        let Some(name) = properties.scale_type(at) else {
            let is_scaler = |part: &super::contents::Part| part.scaler.map(u64::from) == Some(at);
            let part = self.channel.parts.iter().position(is_scaler);
            return part.map(Source::Part).ok_or_else(|| {
                Stop::Fault(format!("the scale {at} has no type and is no scaler"))
            });
        };
        let input = |name: &str| properties.source(at, name).unwrap_or(RAW);
        let needed = |name: &str| {
            properties.source(at, name).ok_or_else(|| Stop::Fault(properties.lacks(at, name)))
        };
        let fault = Stop::Fault;
        let (input, scale) = match name {
            "AdvancedAPI" => return self.source(input("AdvancedAPI_Input_Source")),
            "Linear" => (
                input("Linear_Input_Source"),
                Scale::Linear {
                    slope: properties.number(at, "Linear_Slope").map_err(fault)?,
                    intercept: properties.number(at, "Linear_Y_Intercept").map_err(fault)?,
                },
            ),
            "Polynomial" => (
                input("Polynomial_Input_Source"),
                Scale::Polynomial(properties.coefficients(at).map_err(fault)?),
            ),
            "Table" => {
                (input("Table_Input_Source"), Scale::Table(properties.table(at).map_err(fault)?))
            }
            "RTD" => {
                (needed("RTD_Input_Source")?, Scale::Rtd(Rtd::of(properties, at).map_err(fault)?))
            }
            "Strain" => (
                needed("Strain_Input_Source")?,
                Scale::Strain(Strain::of(properties, at).map_err(fault)?),
            ),
            "Thermistor" => (
                needed("Thermistor_Input_Source")?,
                Scale::Thermistor(Thermistor::of(properties, at).map_err(fault)?),
            ),
            "Thermocouple" => (
                input("Thermocouple_Input_Source"),
                Scale::Thermocouple(Thermocouple::of(properties, at).map_err(fault)?),
            ),
            "Add" | "Subtract" => {
                let left = needed(&format!("{name}_Left_Operand_Input_Source"))?;
                let right = needed(&format!("{name}_Right_Operand_Input_Source"))?;
                let right = self.source(right)?;
                let is_sum = name == "Add";
                (left, if is_sum { Scale::Add(right) } else { Scale::SubtractFrom(right) })
            }
            other => return Err(Stop::Unknown(other.to_owned())),
        };
        let input = self.source(input)?;
        self.steps.push(Step { input, scale });
        Ok(Source::Step(self.steps.len() - 1))
    }
}

impl Scaling {
    /// The parts of the channel that the scales take.
    pub(super) fn parts(&self) -> Vec<usize> {
        let mut parts = Vec::new();
        let mut note = |source: Source| {
            if let Source::Part(part) = source
                && !parts.contains(&part)
            {
                parts.push(part);
            }
        };
        note(self.result);
        for step in &self.steps {
            note(step.input);
            if let Scale::Add(other) | Scale::SubtractFrom(other) = &step.scale {
                note(*other);
            }
        }
        parts
    }

    /// Whether each scale takes the values of the one before, and the first one those of a part.
    fn is_chain(&self) -> bool {
        let is_next = |(at, step): (usize, &Step)| {
            let is_unary = !matches!(step.scale, Scale::Add(_) | Scale::SubtractFrom(_));
            is_unary
                && match step.input {
                    Source::Part(_) => at == 0,
                    Source::Step(before) => before + 1 == at,
                }
        };
        self.steps.iter().enumerate().all(is_next)
            && match self.result {
                Source::Part(_) => self.steps.is_empty(),
                Source::Step(at) => at + 1 == self.steps.len(),
            }
    }

    /// The measured values. `inputs` has the raw values of [`parts`](Self::parts), in that order.
    pub(super) fn apply(&self, mut inputs: Vec<MutableBuffer>) -> MutableBuffer {
        if self.is_chain()
            && let Some(mut values) = inputs.pop()
        {
            for values in values.typed_data_mut().chunks_mut(ROWS) {
                self.steps.iter().for_each(|step| step.scale.apply(values));
            }
            return values;
        }
        self.joined(&inputs)
    }

    /// The measured values of scales of which some take two inputs.
    fn joined(&self, inputs: &[MutableBuffer]) -> MutableBuffer {
        let inputs: Vec<&[f64]> = inputs.iter().map(MutableBuffer::typed_data).collect();
        let parts = self.parts();
        let rows = inputs.iter().map(|values| values.len()).min().unwrap_or_default();
        let mut out = MutableBuffer::with_capacity(rows * size_of::<f64>());
        let mut steps: Vec<Vec<f64>> = vec![Vec::new(); self.steps.len()];
        for from in (0..rows).step_by(ROWS) {
            let range = from..rows.min(from + ROWS);
            let part = |part: usize| {
                let at = parts.iter().position(|found| *found == part);
                at.and_then(|at| inputs.get(at)?.get(range.clone())).unwrap_or_default()
            };
            for at in 0..steps.len() {
                let mut values = steps.get_mut(at).map(std::mem::take).unwrap_or_default();
                values.clear();
                let source = |source: Source| match source {
                    Source::Part(number) => part(number),
                    Source::Step(at) => steps.get(at).map(Vec::as_slice).unwrap_or_default(),
                };
                if let Some(step) = self.steps.get(at) {
                    values.extend_from_slice(source(step.input));
                    match &step.scale {
                        Scale::Add(right) => {
                            for (value, right) in values.iter_mut().zip(source(*right)) {
                                *value += right;
                            }
                        }
                        Scale::SubtractFrom(right) => {
                            for (value, right) in values.iter_mut().zip(source(*right)) {
                                *value = right - *value;
                            }
                        }
                        scale => scale.apply(&mut values),
                    }
                }
                if let Some(slot) = steps.get_mut(at) {
                    *slot = values;
                }
            }
            out.extend_from_slice(match self.result {
                Source::Part(number) => part(number),
                Source::Step(at) => steps.get(at).map(Vec::as_slice).unwrap_or_default(),
            });
        }
        out
    }
}

impl Scale {
    fn apply(&self, values: &mut [f64]) {
        match self {
            Self::Linear { slope, intercept } => {
                values.iter_mut().for_each(|value| *value = *value * slope + intercept);
            }
            Self::Polynomial(coefficients) => polynomials(coefficients, values),
            Self::Table(points) => {
                values.iter_mut().for_each(|value| *value = interpolated(points, *value));
            }
            Self::Rtd(rtd) => values.iter_mut().for_each(|value| *value = rtd.scaled(*value)),
            Self::Strain(strain) => {
                values.iter_mut().for_each(|value| *value = strain.scaled(*value));
            }
            Self::Thermistor(thermistor) => {
                values.iter_mut().for_each(|value| *value = thermistor.scaled(*value));
            }
            Self::Thermocouple(thermocouple) => {
                values.iter_mut().for_each(|value| *value = thermocouple.scaled(*value));
            }
            Self::Add(_) | Self::SubtractFrom(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
