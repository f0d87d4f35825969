//! The results of W10: a member of a result or step follows from its numbers alone, so that the
//! peers and a naive pass make the same.

use std::collections::BTreeMap;

use stationdb::chrono::{DateTime, Utc};
use stationdb::results::{CreateResultRequest, CreateStepRequest, StatusType, StepData};

use crate::common::{hash, uniform};
use crate::measurements::TS0;

/// All results start within this time.
const YEAR: i64 = 31_536_000_000;
/// Milliseconds from the start of a step to that of the next one.
const STEP_MS: i64 = 100;
/// Parts of one unit of a measured value.
const TICKS: f64 = 10_000.0;
/// A value fails when it is farther from its nominal value, in ticks.
const TOLERANCE: i64 = 478;

/// The sizes: results, and steps of each.
#[derive(Clone, Copy)]
pub struct Rows {
    pub results: u64,
    pub steps: u64,
}

impl Rows {
    pub fn measurements(&self) -> u64 {
        self.results * self.steps
    }

    pub fn started_ms(&self, result: u64) -> i64 {
        TS0 + YEAR / self.results as i64 * result as i64
    }

    /// The number of the result that starts at this time.
    pub fn at(&self, started: Option<DateTime<Utc>>) -> Option<u64> {
        let since = started?.timestamp_millis() - TS0;
        u64::try_from(since / (YEAR / self.results as i64)).ok()
    }

    pub fn step_started_ms(&self, result: u64, step: u64) -> i64 {
        self.started_ms(result) + STEP_MS * (step as i64 + 1)
    }

    /// The number of the unit: every tenth result is another one of the unit before.
    pub fn unit(&self, result: u64) -> u64 {
        result - u64::from(result % 10 == 9)
    }

    pub fn part(&self, result: u64) -> u64 {
        hash(80, self.unit(result)) % 100
    }

    /// What a value is farther than its nominal one, in ticks.
    pub fn noise(&self, result: u64, step: u64) -> i64 {
        let row = result * self.steps + step;
        (500.0 * (uniform(90, row) + uniform(91, row) - 1.0) + 0.5).floor() as i64
    }

    pub fn value(&self, result: u64, step: u64) -> f64 {
        (nominal(step) + self.noise(result, step)) as f64 / TICKS
    }

    pub fn step_passed(&self, result: u64, step: u64) -> bool {
        self.noise(result, step).abs() <= TOLERANCE
    }

    pub fn first_failing(&self, result: u64) -> Option<u64> {
        (0..self.steps).find(|step| !self.step_passed(result, *step))
    }

    pub fn status(&self, result: u64) -> StatusType {
        if hash(86, result).is_multiple_of(100) {
            return StatusType::Terminated;
        }
        self.first_failing(result).map_or(StatusType::Passed, |_| StatusType::Failed)
    }

    /// The step that queries ask for.
    pub fn asked_step(&self) -> u64 {
        self.steps * 17 / 50
    }

    /// The week that queries ask for.
    pub fn asked_week(&self) -> (i64, i64) {
        let from = TS0 + YEAR / 2;
        (from, from + 7 * 86_400_000)
    }

    pub fn result(&self, result: u64) -> CreateResultRequest {
        let part = self.part(result);
        CreateResultRequest::new()
            .program_name(format!("Program {}", part % 5))
            .status(self.status(result))
            .part_number(part_number(part))
            .serial_number(format!("SN-{:07}", self.unit(result)))
            .operator(format!("user-{:02}", hash(81, result) % 20))
            .system_id(format!("system-{}", hash(82, result) % 10))
            .host_name(format!("host-{}", hash(82, result) % 10))
            .started_at(moment(self.started_ms(result)))
            .total_time_in_seconds(self.steps as f64 / 10.0)
            .properties([("lot", format!("LOT{:05}", result / 200))])
    }

    pub fn steps_of(&self, result: u64) -> Vec<CreateStepRequest> {
        (0..self.steps).map(|step| self.step(result, step)).collect()
    }

    fn step(&self, result: u64, step: u64) -> CreateStepRequest {
        let is_passed = self.step_passed(result, step);
        let (low, high) = limits(step);
        let parameter = [
            ("name", measurement_name(step)),
            ("measurement", self.value(result, step).to_string()),
            ("status", (if is_passed { "Passed" } else { "Failed" }).to_owned()),
            ("units", "V".to_owned()),
            ("lowLimit", low.to_string()),
            ("highLimit", high.to_string()),
            ("comparisonType", "GELE".to_owned()),
        ];
        let parameter = BTreeMap::from(parameter.map(|(key, value)| (key.to_owned(), value)));
        CreateStepRequest::new()
            .name(step_name(step))
            .step_type("NumericLimitTest")
            .status(if is_passed { StatusType::Passed } else { StatusType::Failed })
            .started_at(moment(self.step_started_ms(result, step)))
            .total_time_in_seconds(STEP_MS as f64 / 1000.0)
            .data(StepData::new().parameters([parameter]))
    }
}

/// The nominal value of a step, in ticks.
fn nominal(step: u64) -> i64 {
    10_000 + 1_000 * step as i64
}

pub fn limits(step: u64) -> (f64, f64) {
    let limit = |tolerance: i64| (nominal(step) + tolerance) as f64 / TICKS;
    (limit(-TOLERANCE), limit(TOLERANCE))
}

pub fn step_name(step: u64) -> String {
    format!("Test {step:02}")
}

pub fn measurement_name(step: u64) -> String {
    format!("M{step:02}")
}

pub fn part_number(part: u64) -> String {
    format!("PN-{part:03}")
}

pub fn moment(ms: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(ms).unwrap_or_default()
}
