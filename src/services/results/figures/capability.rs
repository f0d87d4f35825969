//! Capability: the deviations of values, beside their limits.

use super::constants::RangeConstants;
use super::limits::Limits;
use super::numbers::{Extremes, Total, figure, ratio};
use super::series::Values;
use super::subgroups::{Subgroups, subgroup_size};
use crate::error::Result;
use crate::model::results::figures::{Capability, WithinMethod, ZeroDeviation};
use crate::value::exact::Big;

/// The deviation within subgroups, value by value.
#[derive(Debug)]
enum Within {
    MovingRange { before: Option<f64>, ranges: Total },
    Range { size: usize, subgroups: Subgroups, ranges: Total },
    Pooled { size: usize, subgroups: Subgroups, full: u64, spread: Big },
}

impl Within {
    fn new(method: WithinMethod, size: Option<i64>) -> Result<Self> {
        let size = match method {
            WithinMethod::MovingRange => {
                return Ok(Self::MovingRange { before: None, ranges: Total::default() });
            }
            WithinMethod::Range | WithinMethod::Pooled => subgroup_size(size)?,
        };
        let subgroups = Subgroups::new(size);
        Ok(match method {
            WithinMethod::Pooled => {
                Self::Pooled { size, subgroups, full: 0, spread: Big::of_int(0) }
            }
            _ => Self::Range { size, subgroups, ranges: Total::default() },
        })
    }

    fn add(&mut self, value: f64) {
        match self {
            Self::MovingRange { before, ranges } => {
                if let Some(before) = before.replace(value) {
                    ranges.add((value - before).abs());
                }
            }
            Self::Range { subgroups, ranges, .. } => {
                if let Some(subgroup) = subgroups.add(value) {
                    // A range that is no number leaves no mean.
                    ranges.add(subgroup.range().unwrap_or(f64::INFINITY));
                }
            }
            Self::Pooled { subgroups, full, spread, .. } => {
                if let Some(subgroup) = subgroups.add(value) {
                    *full += 1;
                    *spread = spread.plus(&subgroup.spread());
                }
            }
        }
    }

    fn deviation(&self) -> Option<f64> {
        match self {
            Self::MovingRange { ranges, .. } => ratio(ranges.mean()?, RangeConstants::OF_PAIRS.d2),
            Self::Range { size, ranges, .. } => {
                ratio(ranges.mean()?, RangeConstants::of(*size)?.d2)
            }
            Self::Pooled { full: 0, .. } => None,
            Self::Pooled { size, full, spread, .. } => {
                let free = *full as f64 * size.saturating_sub(1) as f64;
                figure(spread.root_over(*size as f64 * free))
            }
        }
    }

    fn left_over(&self) -> u64 {
        match self {
            Self::MovingRange { .. } => 0,
            Self::Range { subgroups, .. } | Self::Pooled { subgroups, .. } => subgroups.left_over(),
        }
    }
}

/// Takes values in order.
#[derive(Debug)]
pub(crate) struct CapabilityValues {
    total: Total,
    extremes: Extremes,
    within: Within,
}

/// The ratios to the limits: of both, of the lower, of the upper one, and the least of the latter.
type Ratios = (Option<f64>, Option<f64>, Option<f64>, Option<f64>);

impl CapabilityValues {
    /// # Errors
    /// `InvalidArgument` for a size of subgroups that has no constants.
    pub(crate) fn new(method: WithinMethod, subgroup_size: Option<i64>) -> Result<Self> {
        let within = Within::new(method, subgroup_size)?;
        Ok(Self { total: Total::default(), extremes: Extremes::default(), within })
    }

    /// Adds the next value, which is finite.
    pub(crate) fn add(&mut self, value: f64) {
        self.total.add(value);
        self.extremes.add(value);
        self.within.add(value);
    }

    /// The figures of the values that were added.
    pub(crate) fn finish(self, limits: Limits) -> Capability {
        let mean = self.total.mean();
        let overall = self.total.deviation();
        let within = self.within.deviation();
        let (cp, cpl, cpu, cpk) = ratios(limits, mean, within);
        let (pp, ppl, ppu, ppk) = ratios(limits, mean, overall);
        Capability {
            n: self.total.count.cast_signed(),
            mean,
            minimum: self.extremes.least(),
            maximum: self.extremes.greatest(),
            overall_deviation: overall,
            within_deviation: within,
            cp,
            cpl,
            cpu,
            cpk,
            pp,
            ppl,
            ppu,
            ppk,
            zero_deviation: ZeroDeviation {
                within: within == Some(0.0),
                overall: overall == Some(0.0),
            },
            low_limit: limits.low,
            high_limit: limits.high,
            limits_invalid: limits.is_invalid(),
            left_over: self.within.left_over().cast_signed(),
            ..Capability::default()
        }
    }
}

impl Capability {
    /// The capability of values in their order, of which those that are no finite numbers take no
    /// part, with the deviation within subgroups from moving ranges.
    ///
    /// Limits that are no finite numbers are none. A lower limit above the upper one leaves no
    /// ratios.
    ///
    /// # Errors
    /// None that depends on the values.
    ///
    /// ```
    /// use stationdb::results::Capability;
    ///
    /// let values = [10.1, 9.9, 10.0, 10.2, 9.8, 10.0, 10.1, 9.9];
    /// let capability = Capability::of_values(&values, Some(9.4), Some(10.6))?;
    /// assert!(capability.cpk.is_some_and(|cpk| (cpk - 1.128379167).abs() < 1e-9));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    pub fn of_values(
        values: &[f64],
        low_limit: Option<f64>,
        high_limit: Option<f64>,
    ) -> Result<Self> {
        let mut figures = CapabilityValues::new(WithinMethod::MovingRange, None)?;
        values.iter().filter(|value| value.is_finite()).for_each(|value| figures.add(*value));
        let numbers = figures.total.count.cast_signed();
        let capability = figures.finish(Limits::of_comparison(None, low_limit, high_limit));
        Ok(Self { not_numbers: values.len() as i64 - numbers, ..capability })
    }
}

fn ratios(limits: Limits, mean: Option<f64>, deviation: Option<f64>) -> Ratios {
    let (Some(mean), Some(deviation)) = (mean, deviation) else { return Ratios::default() };
    if limits.is_invalid() {
        return Ratios::default();
    }
    let over = |value: f64, times: f64| ratio(value, deviation).map(|ratio| ratio / times);
    let both = limits.low.zip(limits.high).and_then(|(low, high)| over(high - low, 6.0));
    let lower = limits.low.and_then(|low| over(mean - low, 3.0));
    let upper = limits.high.and_then(|high| over(high - mean, 3.0));
    let least = match (lower, upper) {
        (Some(lower), Some(upper)) => Some(lower.min(upper)),
        (lower, upper) => lower.or(upper),
    };
    (both, lower, upper, least)
}

/// The capability of the values of a series.
///
/// # Errors
/// `InvalidArgument` for a size of subgroups that has no constants.
pub(crate) fn capability<S: Ord + Copy>(
    values: &Values<S>,
    method: WithinMethod,
    subgroup_size: Option<i64>,
) -> Result<Capability> {
    let mut figures = CapabilityValues::new(method, subgroup_size)?;
    values.numbers().for_each(|value| figures.add(value));
    Ok(Capability {
        limits_vary: values.limits_vary,
        not_numbers: values.not_numbers,
        skipped: values.skipped,
        ..figures.finish(values.limits)
    })
}
