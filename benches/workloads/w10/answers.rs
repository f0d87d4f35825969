//! What the queries and figures of W10 have to answer, by a naive pass over the rows.
//!
//! The file that the peers read has all of it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use stationdb::results::StatusType;

use super::rows::{Rows, limits, measurement_name, part_number, step_name};
use crate::common::Res;

/// Steps and results on the pages that are asked for.
pub const PAGE: usize = 100;
/// The part number that is asked for.
pub const PART: u64 = 7;
/// Ranges of the histogram.
pub const BINS: usize = 50;
/// The mean of the range of two independent standard normal values.
const D2: f64 = std::f64::consts::FRAC_2_SQRT_PI;
/// Points in a row on one side of the center that break the rule of runs.
const RUN: usize = 9;
const DAY_MS: i64 = 86_400_000;

/// The answers to the queries.
pub struct Answers {
    /// The newest passed results of a part number.
    pub newest: Vec<u64>,
    /// The results of the first passed steps of a name in a week.
    pub week_first: Vec<u64>,
    /// How many there are in the week.
    pub week_count: u64,
}

impl Answers {
    pub fn new(rows: &Rows) -> Self {
        let is_asked =
            |result: &u64| rows.part(*result) == PART && rows.status(*result) == StatusType::Passed;
        let newest = (0..rows.results).rev().filter(is_asked).take(PAGE).collect();
        let (step, (from, to)) = (rows.asked_step(), rows.asked_week());
        let in_week: Vec<u64> = (0..rows.results)
            .filter(|result| (from..to).contains(&rows.step_started_ms(*result, step)))
            .filter(|result| rows.step_passed(*result, step))
            .collect();
        let week_count = in_week.len() as u64;
        Self { newest, week_first: in_week.into_iter().take(PAGE).collect(), week_count }
    }

    /// Leaves the answers and the measured values for the peers.
    pub fn write(&self, rows: &Rows, directory: &Path) -> Res<()> {
        let path = directory.join(format!("w10-{}-{}", rows.results, rows.steps));
        let mut noise = std::io::BufWriter::new(std::fs::File::create(path.with_extension("i16"))?);
        for result in 0..rows.results {
            for step in 0..rows.steps {
                noise.write_all(&(rows.noise(result, step) as i16).to_le_bytes())?;
            }
        }
        noise.flush()?;
        let values = values(rows);
        let (from, to) = rows.asked_week();
        let answers = json!({
            "newest": self.newest,
            "part_number": part_number(PART),
            "step_name": step_name(rows.asked_step()),
            "measurement_name": measurement_name(rows.asked_step()),
            "week": [from, to],
            "week_first": self.week_first,
            "week_count": self.week_count,
            "yield_by_week": yield_by_week(rows),
            "pareto": pareto(rows),
            "capability": capability(&values, limits(rows.asked_step())),
            "histogram": histogram(&values),
            "control_chart": control_chart(&values),
        });
        Ok(std::fs::write(path.with_extension("json"), answers.to_string())?)
    }
}

/// The values of the measurement that is asked for.
pub fn values(rows: &Rows) -> Vec<f64> {
    (0..rows.results).map(|result| rows.value(result, rows.asked_step())).collect()
}

/// Start of the week, units whose first result started in it, and how many of these passed.
pub fn yield_by_week(rows: &Rows) -> Vec<(i64, u64, u64)> {
    let mut weeks: BTreeMap<i64, (u64, u64)> = BTreeMap::new();
    for result in (0..rows.results).filter(|result| rows.unit(*result) == *result) {
        // 1970 began on a Thursday, three days after a Monday.
        let day = rows.started_ms(result).div_euclid(DAY_MS);
        let monday = (day + 3).div_euclid(7) * 7 - 3;
        let (units, good) = weeks.entry(monday * DAY_MS).or_default();
        *units += 1;
        *good += u64::from(rows.status(result) == StatusType::Passed);
    }
    weeks.into_iter().map(|(week, (units, good))| (week, units, good)).collect()
}

/// Path of the first failing step of each bad result, the most frequent one first.
pub fn pareto(rows: &Rows) -> Vec<(Option<String>, u64)> {
    let mut counts: BTreeMap<Option<u64>, u64> = BTreeMap::new();
    for result in (0..rows.results).filter(|result| rows.status(*result) != StatusType::Passed) {
        *counts.entry(rows.first_failing(result)).or_default() += 1;
    }
    let mut counts: Vec<(Option<u64>, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(step, count)| (std::cmp::Reverse(*count), step.is_none(), *step));
    counts.into_iter().map(|(step, count)| (step.map(step_name), count)).collect()
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

fn mean_moving_range(values: &[f64]) -> f64 {
    mean(values.windows(2).map(|pair| (pair[1] - pair[0]).abs()))
}

pub fn capability(values: &[f64], (low, high): (f64, f64)) -> Value {
    let mean = mean(values.iter().copied());
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let overall = (squares / (values.len() as f64 - 1.0)).sqrt();
    let within = mean_moving_range(values) / D2;
    let least = |sigma: f64| ((mean - low) / (3.0 * sigma)).min((high - mean) / (3.0 * sigma));
    json!({
        "n": values.len(), "mean": mean, "overallDeviation": overall, "withinDeviation": within,
        "cp": (high - low) / (6.0 * within), "cpk": least(within),
        "pp": (high - low) / (6.0 * overall), "ppk": least(overall),
    })
}

pub fn histogram(values: &[f64]) -> Value {
    let lower = values.iter().copied().fold(f64::INFINITY, f64::min);
    let upper = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let starts: Vec<f64> =
        (1..BINS).map(|range| lower + (upper - lower) * (range as f64 / BINS as f64)).collect();
    let mut counts = vec![0_u64; BINS];
    for value in values {
        counts[starts.partition_point(|start| start <= value)] += 1;
    }
    json!({ "lower": lower, "upper": upper, "counts": counts })
}

pub fn control_chart(values: &[f64]) -> Value {
    let (center, range) = (mean(values.iter().copied()), mean_moving_range(values));
    let (lower, upper) = (center - 3.0 * range / D2, center + 3.0 * range / D2);
    let beyond = values.iter().filter(|value| **value < lower || **value > upper).count();
    let side = |value: f64| i8::from(value > center) - i8::from(value < center);
    let (mut runs, mut length, mut last) = (0, 0, 0);
    for value in values {
        length = if side(*value) == last { length + 1 } else { 1 };
        last = side(*value);
        runs += u64::from(last != 0 && length >= RUN);
    }
    json!({ "center": center, "lower": lower, "upper": upper, "beyond": beyond, "run": runs })
}
