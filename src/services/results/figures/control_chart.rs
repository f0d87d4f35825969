//! Control charts: their limits, and the points that break rules.

use super::constants::RangeConstants;
use super::numbers::{Total, figure};
use super::series::Values;
use super::subgroups::{Subgroups, subgroup_size};
use crate::error::{Error, Result};
use crate::model::results::figures::{ChartRule, ChartType, ControlChart, ControlLimits};

/// Points on one side of the center that are a run.
const RUN: u64 = 9;

/// Values, or subgroups of a size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ChartForm {
    Individuals,
    Means(usize),
}

impl ChartForm {
    /// The form that a request asks for.
    ///
    /// # Errors
    /// `InvalidArgument` for a size of subgroups that has no constants.
    pub(crate) fn new(chart: ChartType, size: Option<i64>) -> Result<Self> {
        Ok(match chart {
            ChartType::Individuals => Self::Individuals,
            ChartType::Means => Self::Means(subgroup_size(size)?),
        })
    }

    /// The position of the first value of a point.
    pub(crate) fn first_value(self, index: usize) -> usize {
        match self {
            Self::Individuals => index,
            Self::Means(size) => index.saturating_mul(size),
        }
    }

    fn constants(self) -> Option<RangeConstants> {
        match self {
            Self::Individuals => Some(RangeConstants::OF_PAIRS),
            Self::Means(size) => RangeConstants::of(size),
        }
    }
}

/// A value and its range, or a mean and that of the subgroup.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Plotted {
    value: f64,
    /// None of the first value, and where it is no number.
    range: Option<f64>,
    /// Whether it has no range because there is no value before.
    is_first: bool,
}

/// Makes points of values.
#[derive(Debug)]
enum Plot {
    Individuals { before: Option<f64> },
    Means { subgroups: Subgroups },
}

impl Plot {
    fn new(form: ChartForm) -> Self {
        match form {
            ChartForm::Individuals => Self::Individuals { before: None },
            ChartForm::Means(size) => Self::Means { subgroups: Subgroups::new(size) },
        }
    }

    fn add(&mut self, value: f64) -> Option<Plotted> {
        match self {
            Self::Individuals { before } => {
                let before = before.replace(value);
                let range = before.and_then(|before| figure((value - before).abs()));
                Some(Plotted { value: value + 0.0, range, is_first: before.is_none() })
            }
            Self::Means { subgroups } => {
                let subgroup = subgroups.add(value)?;
                let (value, range) = (subgroup.mean()?, subgroup.range());
                Some(Plotted { value, range, is_first: false })
            }
        }
    }

    fn left_over(&self) -> u64 {
        match self {
            Self::Individuals { .. } => 0,
            Self::Means { subgroups } => subgroups.left_over(),
        }
    }
}

/// Takes all values in order, and gives the limits.
#[derive(Debug)]
pub(crate) struct ChartLimits {
    form: ChartForm,
    plot: Plot,
    baseline: u64,
    n: u64,
    values: Total,
    ranges: Total,
}

impl ChartLimits {
    /// Limits from the first `baseline_count` points, or from all.
    ///
    /// # Errors
    /// `InvalidArgument` for a count below 1.
    pub(crate) fn new(form: ChartForm, baseline_count: Option<i64>) -> Result<Self> {
        let baseline = match baseline_count {
            None => u64::MAX,
            Some(count) => {
                u64::try_from(count).ok().filter(|count| *count > 0).ok_or_else(|| {
                    Error::invalid("baselineCount is at least 1").at_member("baselineCount")
                })?
            }
        };
        let (values, ranges) = (Total::default(), Total::default());
        Ok(Self { form, plot: Plot::new(form), baseline, n: 0, values, ranges })
    }

    /// Adds the next value, which is finite.
    pub(crate) fn add(&mut self, value: f64) {
        self.n += 1;
        let Some(point) = self.plot.add(value) else { return };
        if self.values.count >= self.baseline {
            return;
        }
        self.values.add(point.value);
        if !point.is_first {
            // A range that is no number leaves no mean.
            self.ranges.add(point.range.unwrap_or(f64::INFINITY));
        }
    }

    /// The chart of the values that were added, without its points.
    pub(crate) fn finish(&self) -> ControlChart {
        let center = self.values.mean();
        let mean_range = self.ranges.mean();
        let constants = self.form.constants();
        let around = |sign: f64| {
            let constants = constants?;
            let distance = match self.form {
                ChartForm::Individuals => 3.0 * mean_range? / constants.d2,
                ChartForm::Means(_) => constants.a2() * mean_range?,
            };
            figure(center? + sign * distance)
        };
        let times = |factor: Option<f64>| figure(factor? * mean_range?);
        ControlChart {
            n: self.n.cast_signed(),
            limits: ControlLimits { center, lower: around(-1.0), upper: around(1.0) },
            range_limits: ControlLimits {
                center: mean_range,
                lower: times(constants.map(|constants| constants.lower())),
                upper: times(constants.map(|constants| constants.upper())),
            },
            left_over: self.plot.left_over().cast_signed(),
            ..ControlChart::default()
        }
    }
}

/// A point of a chart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PointFigures {
    pub index: usize,
    pub value: f64,
    pub range: Option<f64>,
    /// Rules that the value or the range breaks.
    pub rules: Vec<ChartRule>,
    /// Rules that the range breaks.
    pub range_rules: Vec<ChartRule>,
}

/// Takes all values in order once more, and gives the points.
#[derive(Debug)]
pub(crate) struct ChartPoints {
    plot: Plot,
    limits: ControlLimits,
    range_limits: ControlLimits,
    index: usize,
    /// Points on one side of the center, and whether it is the upper one.
    run: (u64, bool),
}

impl ChartPoints {
    /// The points of a chart with these limits.
    pub(crate) fn new(form: ChartForm, chart: &ControlChart) -> Self {
        Self {
            plot: Plot::new(form),
            limits: chart.limits.clone(),
            range_limits: chart.range_limits.clone(),
            index: 0,
            run: (0, false),
        }
    }

    /// Adds the next value; returns the point that it completes.
    pub(crate) fn add(&mut self, value: f64) -> Option<PointFigures> {
        let point = self.plot.add(value)?;
        let index = self.index;
        self.index += 1;
        let is_run = self.is_run(point.value);
        let is_range_beyond = point.range.is_some_and(|range| is_beyond(range, &self.range_limits));
        let is_any_beyond = is_beyond(point.value, &self.limits) || is_range_beyond;
        let rules = [(is_any_beyond, ChartRule::Beyond), (is_run, ChartRule::Run)];
        let broken = |(is_broken, rule): (bool, ChartRule)| is_broken.then_some(rule);
        Some(PointFigures {
            index,
            value: point.value,
            range: point.range,
            rules: rules.into_iter().filter_map(broken).collect(),
            range_rules: is_range_beyond.then_some(ChartRule::Beyond).into_iter().collect(),
        })
    }

    fn is_run(&mut self, value: f64) -> bool {
        let Some(center) = self.limits.center else { return false };
        let is_above = value > center;
        let length = match self.run {
            _ if value == center => 0,
            (length, side) if side == is_above => length + 1,
            _ => 1,
        };
        self.run = (length, is_above);
        length >= RUN
    }
}

/// Strictly outside of the limits.
pub(super) fn is_beyond(value: f64, limits: &ControlLimits) -> bool {
    limits.lower.is_some_and(|lower| value < lower)
        || limits.upper.is_some_and(|upper| value > upper)
}

/// The chart of the values of a series, without its points, and `take` of these from `first` on.
///
/// # Errors
/// `InvalidArgument` for a baseline of nothing.
pub(crate) fn control_chart<S: Ord + Copy>(
    values: &Values<S>,
    form: ChartForm,
    baseline_count: Option<i64>,
    first: usize,
    take: usize,
) -> Result<(ControlChart, Vec<PointFigures>)> {
    let mut limits = ChartLimits::new(form, baseline_count)?;
    values.numbers().for_each(|value| limits.add(value));
    let chart = ControlChart {
        not_numbers: values.not_numbers,
        skipped: values.skipped,
        ..limits.finish()
    };
    let mut points = ChartPoints::new(form, &chart);
    let all = values.numbers().filter_map(|value| points.add(value));
    let page = all.skip(first).take(take).collect();
    Ok((chart, page))
}
