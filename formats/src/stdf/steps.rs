//! Records of tests as steps.

use std::collections::BTreeMap;

use stationdb::Result;
use stationdb::chrono::{DateTime, Utc};
use stationdb::results::{CreateStepRequest, StatusType, StepData};

use super::known::{Executed, Tests, Told, comparison, is_within, parm_notes, status_text};
use super::pins::Pins;
use super::records::Record;
use super::setting::{Setting, exact};
use super::value::Value;

pub(super) const DATA_MODEL: &str = "STDF";

/// A measurement, as the store keeps it.
type Parameter = BTreeMap<String, String>;

/// A step of a part, of which its number among equal ones is not known yet.
#[derive(Debug)]
pub(super) struct NewStep {
    pub(super) executed: Executed,
    pub(super) name: String,
    step_type: &'static str,
    properties: BTreeMap<String, String>,
    parameters: Vec<Parameter>,
}

impl NewStep {
    /// The step of a record of the type PTR, MPR or FTR.
    ///
    /// # Errors
    /// `InvalidArgument` for a damaged record; `LimitExceeded` for too many tests.
    pub(super) fn new(record: &Record<'_>, tests: &mut Tests, pins: &Pins) -> Result<Self> {
        let executed = Executed::new(record)?;
        match record.number() {
            (_, 10) => single(record, executed, tests),
            (_, 15) => multiple(record, executed, tests, pins),
            _ => functional(record, executed, tests, pins),
        }
    }

    pub(super) fn measurements(&self) -> usize {
        self.parameters.iter().filter(|entry| entry.contains_key("measurement")).count()
    }

    /// About how many bytes it has in memory.
    pub(super) fn weight(&self) -> usize {
        const ENTRY: usize = 56;
        let of = |map: &BTreeMap<String, String>| -> usize {
            map.iter().map(|(key, text)| ENTRY + key.len() + text.len()).sum()
        };
        4 * ENTRY + of(&self.properties) + self.parameters.iter().map(of).sum::<usize>()
    }

    /// The request, for the `count`th step of its name in its part.
    pub(super) fn request(
        self,
        count: usize,
        started_at: Option<DateTime<Utc>>,
    ) -> CreateStepRequest {
        let number = |name: String| if count < 2 { name } else { format!("{name} {count}") };
        let request = CreateStepRequest::new()
            .name(number(self.name))
            .step_type(self.step_type)
            .status(self.executed.status())
            .data_model(DATA_MODEL)
            .properties(self.properties)
            .maybe_started_at(started_at);
        if self.parameters.is_empty() {
            return request;
        }
        request.data(StepData::new().parameters(self.parameters))
    }
}

fn put(entry: &mut Parameter, key: &str, text: impl Into<String>) {
    entry.insert(key.to_owned(), text.into());
}

/// A measurement without its name and value.
fn judged(status: StatusType, comparison: &str, setting: &Setting) -> Parameter {
    let mut entry = Parameter::new();
    put(&mut entry, "status", status_text(status));
    put(&mut entry, "comparisonType", comparison);
    for (key, text) in &setting.members {
        put(&mut entry, key, text.as_str());
    }
    entry
}

fn put_value(entry: &mut Parameter, value: f32, setting: &Setting) {
    put(entry, "measurement", exact(value));
    if let Some(shown) = setting.shown(value) {
        put(entry, "shown", shown);
    }
}

fn single(record: &Record<'_>, executed: Executed, tests: &mut Tests) -> Result<NewStep> {
    let [
        _,
        _,
        _,
        _,
        parm,
        result,
        text,
        alarm,
        options,
        scale,
        low_scale,
        high_scale,
        low,
        high,
        unit,
        format,
        low_format,
        high_format,
        low_spec,
        high_spec,
    ] = record.first()?;
    let told = Told {
        options,
        scales: [scale, low_scale, high_scale],
        limits: [low, high],
        specs: [low_spec, high_spec],
        inputs: [Value::Missing; 2],
        texts: [unit, format, low_format, high_format, Value::Missing],
    };
    let found = tests.of(record, &executed, text, Value::Missing, &told)?;
    let setting = found.setting();
    let flags = parm.unsigned().unwrap_or(0);
    let comparison = comparison(flags, &setting.numbers);
    let mut entry = judged(executed.status(), comparison, setting);
    put(&mut entry, "name", found.name());
    if let Some(value) = result.single().filter(|_| executed.is_valid()) {
        put_value(&mut entry, value, setting);
    }
    let mut properties = BTreeMap::new();
    executed.notes(alarm, &mut properties);
    parm_notes(flags, &mut properties);
    let name = found.name().to_owned();
    Ok(NewStep { executed, name, step_type: "PTR", properties, parameters: vec![entry] })
}

fn multiple(
    record: &Record<'_>,
    executed: Executed,
    tests: &mut Tests,
    pins: &Pins,
) -> Result<NewStep> {
    let [
        _,
        _,
        _,
        _,
        parm,
        _,
        _,
        states,
        results,
        text,
        alarm,
        options,
        scale,
        low_scale,
        high_scale,
        low,
        high,
        start,
        increment,
        indexes,
        unit,
        unit_in,
        format,
        low_format,
        high_format,
        low_spec,
        high_spec,
    ] = record.first()?;
    let told = Told {
        options,
        scales: [scale, low_scale, high_scale],
        limits: [low, high],
        specs: [low_spec, high_spec],
        inputs: [start, increment],
        texts: [unit, format, low_format, high_format, unit_in],
    };
    let found = tests.of(record, &executed, text, indexes, &told)?;
    let setting = found.setting();
    let flags = parm.unsigned().unwrap_or(0);
    let comparison = comparison(flags, &setting.numbers);
    let mut named =
        indexes.items().filter_map(|pin| u16::try_from(pin.unsigned()?).ok()).peekable();
    let has_own = named.peek().is_some();
    let indexes: Vec<u16> = if has_own { named.collect() } else { found.test.pins.clone() };
    let states: Vec<u8> =
        states.items().filter_map(|state| u8::try_from(state.unsigned()?).ok()).collect();
    let results: Vec<f32> = results.items().filter_map(Value::single).collect();
    let status = executed.status();
    let is_outside = |value: &f32| !is_within(*value, flags, &setting.numbers);
    let tells_pin = executed.has_failed() && results.iter().any(is_outside);
    let count = results.len().max(states.len());
    let entries = (0..count).map(|at| {
        let pin = indexes.get(at).copied();
        let value = results.get(at).copied().filter(|_| executed.is_valid());
        let own = match value {
            Some(value) if tells_pin && !is_outside(&value) => StatusType::Passed,
            _ => status,
        };
        let mut entry = judged(own, comparison, setting);
        let name = pin.map_or_else(|| format!("result {}", at + 1), |pin| pins.name(pin));
        put(&mut entry, "name", name);
        if let Some(value) = value {
            put_value(&mut entry, value, setting);
        }
        if let Some(group) = pin.and_then(|pin| pins.group_of(pin)) {
            put(&mut entry, "group", group);
        }
        if let Some(state) = states.get(at) {
            put(&mut entry, "state", pins.state(pin, *state));
        }
        if let Some((start, increment)) = setting.numbers.input {
            #[expect(clippy::cast_precision_loss, reason = "a record has at most 65,535 results")]
            let input = f64::from(start) + at as f64 * f64::from(increment);
            put(&mut entry, "input", crate::results::text::cell(input));
            if !setting.texts.input_unit.is_empty() {
                put(&mut entry, "inputUnits", setting.texts.input_unit.as_str());
            }
        }
        entry
    });
    let parameters = entries.collect();
    let mut properties = BTreeMap::new();
    executed.notes(alarm, &mut properties);
    parm_notes(flags, &mut properties);
    let name = found.name().to_owned();
    Ok(NewStep { executed, name, step_type: "MPR", properties, parameters })
}

fn functional(
    record: &Record<'_>,
    executed: Executed,
    tests: &mut Tests,
    pins: &Pins,
) -> Result<NewStep> {
    let [
        _,
        _,
        _,
        _,
        options,
        cycle,
        address,
        repeats,
        failing,
        x,
        y,
        offset,
        _,
        _,
        _,
        _,
        _,
        _,
        bits,
        vector,
        time_set,
        op_code,
        text,
        alarm,
        program_text,
        result_text,
    ] = record.first()?;
    let nothing = Told {
        options: Value::Missing,
        scales: [Value::Missing; 3],
        limits: [Value::Missing; 2],
        specs: [Value::Missing; 2],
        inputs: [Value::Missing; 2],
        texts: [Value::Missing; 5],
    };
    let found = tests.of(record, &executed, text, Value::Missing, &nothing)?;
    let name = found.name().to_owned();
    let status = executed.status();
    let mut entry = Parameter::new();
    put(&mut entry, "name", name.as_str());
    put(&mut entry, "status", status_text(status));
    put(&mut entry, "comparisonType", "LOG");
    if matches!(status, StatusType::Passed | StatusType::Failed) {
        put(&mut entry, "measurement", (status == StatusType::Passed).to_string());
    }
    let mut properties = BTreeMap::new();
    executed.notes(alarm, &mut properties);
    // A bit of OPT_FLAG says that there is no number.
    let missing = options.unsigned().unwrap_or(u64::MAX);
    for (bit, key, value) in [
        (0, "CYCL_CNT", cycle),
        (1, "REL_VADR", address),
        (2, "REPT_CNT", repeats),
        (3, "NUM_FAIL", failing),
        (4, "XFAIL_AD", x),
        (4, "YFAIL_AD", y),
        (5, "VECT_OFF", offset),
    ] {
        if let Some(number) = value.integer().filter(|_| missing >> bit & 1 == 0) {
            put(&mut properties, key, number.to_string());
        }
    }
    for (key, value) in [
        ("VECT_NAM", vector),
        ("TIME_SET", time_set),
        ("OP_CODE", op_code),
        ("PROG_TXT", program_text),
        ("RSLT_TXT", result_text),
    ] {
        if let Some(text) = value.given() {
            put(&mut properties, key, text);
        }
    }
    let failing = bits.set_bits().filter_map(|pin| u16::try_from(pin).ok());
    let failing: Vec<String> = failing.map(|pin| pins.name(pin)).collect();
    if !failing.is_empty() {
        put(&mut properties, "FAIL_PIN", failing.join(", "));
    }
    Ok(NewStep { executed, name, step_type: "FTR", properties, parameters: vec![entry] })
}
