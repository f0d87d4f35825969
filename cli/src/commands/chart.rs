//! `plot --measurement`: the histogram and the control charts of a measurement, as the library
//! computes them.

use std::io::{self, Write as _};
use std::path::Path;

use stationdb::prelude::*;
use stationdb::results::{
    Capability, CapabilityRequest, ChartPoint, ChartRule, ChartType, ControlChart,
    ControlChartRequest, ControlLimits, Histogram, HistogramRequest,
};
use stationdb::serde_json::{Value, json, to_value};
use stationdb::{Control, Session};

use super::drawing::{Curve, Drawing, Limit, LimitKind, Marks};
use super::figures::{choose, with_paths};
use super::missing::{missing, tell_missing};
use super::picture::{self, Bars};
use super::plot::{check_output, limits, to_file};
use super::scale::number;
use super::terminal;
use crate::args::{Chart, Plot};
use crate::desk::Desk;
use crate::failure::{Code, Failure, Outcome};
use crate::output::{Output, OutputFormat, failed, printable};
use crate::pager::paged;
use crate::progress::Bar;

/// Points on a page of a control chart: as many as the library allows.
const PAGE: i64 = 100_000;
const RANGES: [&str; 3] = ["lower", "upper", "count"];
const POINTS: [&str; 8] =
    ["index", "value", "range", "startedAt", "resultId", "stepId", "rules", "rangeRules"];

pub fn plot(desk: &Desk, output: Output, plot: &Plot, name: &str) -> Outcome {
    check_output(plot)?;
    let range = &plot.range;
    if range.from.is_some() || range.to.is_some() || !range.conditions.is_empty() {
        return Err(Failure::usage(
            "--from, --to and --where are for the rows of a table; choose results with --filter \
             and steps with --step-filter",
        ));
    }
    let (bar, control) = Bar::new(desk.interrupt.control(), "computing", None);
    let session = desk.session().with_control(&control);
    let asked = Asked { session: &session, control: &control, plot, name };
    let answer = match plot.chart {
        Chart::Histogram => asked.histogram()?,
        Chart::Imr => asked.control_chart(ChartType::Individuals)?,
        Chart::Xbar => asked.control_chart(ChartType::Means)?,
    };
    drop(bar);
    desk.interrupt.check()?;
    if answer.is_empty() && plot.output.is_some() {
        return Err(Failure::new(Code::NotFound, missing(&session, name, &plot.series)?));
    }
    if answer.is_empty() {
        tell_missing(&session, output, name, &plot.series)?;
    }
    match &plot.output {
        Some(target) => answer.to_picture(output, target, name),
        None if output.form == OutputFormat::Table => {
            answer.is_drawable(name)?;
            let mut out = io::stdout().lock();
            out.write_all(answer.text().as_bytes()).map_err(failed)?;
            out.flush().map_err(failed)
        }
        None => answer.write(output, desk),
    }
}

/// What is plotted.
struct Asked<'a> {
    session: &'a Session,
    control: &'a Control,
    plot: &'a Plot,
    name: &'a str,
}

/// A figure, and how it is drawn.
enum Answer {
    Histogram { histogram: Histogram, bars: Bars },
    Chart { chart: Box<ControlChart>, values: Box<Drawing>, ranges: Box<Drawing> },
}

impl Asked<'_> {
    fn histogram(&self) -> Outcome<Answer> {
        let mut request = HistogramRequest::new(self.name);
        choose!(request, &self.plot.series);
        request.bins = self.plot.bins;
        let histogram = self.session.histogram(request, self.control);
        let histogram = histogram.map_err(|error| with_paths(&error))?;
        // It knows the limits of the measurement.
        let mut request = CapabilityRequest::new(self.name);
        choose!(request, &self.plot.series);
        let capability = self.session.capability(request, self.control);
        let capability = capability.map_err(|error| with_paths(&error))?;
        let mut all = limits(self.session, self.plot)?;
        for (side, value) in [("low", capability.low_limit), ("high", capability.high_limit)] {
            let name = format!("{side} limit");
            all.extend(value.map(|value| limit(&name, value, LimitKind::Specification)));
        }
        let ranges = histogram.ranges.iter();
        let bars = Bars {
            title: histogram_title(self.name, &histogram, &capability),
            x_name: printable(self.name),
            bars: ranges.map(|range| (range.lower, range.upper, range.count as f64)).collect(),
            limits: all,
        };
        Ok(Answer::Histogram { histogram, bars })
    }

    fn control_chart(&self, form: ChartType) -> Outcome<Answer> {
        let mut request = ControlChartRequest::new(self.name);
        choose!(request, &self.plot.series);
        request.chart = Some(form);
        let is_of_means = form == ChartType::Means;
        request.subgroup_size = is_of_means.then_some(self.plot.subgroup);
        request.baseline_count = self.plot.baseline;
        request.take = Some(PAGE);
        let mut chart: Option<ControlChart> = None;
        loop {
            let page = self.session.control_chart(request.clone(), self.control);
            let mut page = page.map_err(|error| with_paths(&error))?;
            request.continuation_token = page.continuation_token.take();
            match &mut chart {
                Some(chart) => chart.points.append(&mut page.points),
                None => chart = Some(page),
            }
            if request.continuation_token.is_none() {
                break;
            }
        }
        let chart = chart.unwrap_or_default();
        let (value, range, x) = if is_of_means {
            (format!("mean of {}", self.name), "range", "number of the subgroup")
        } else {
            (self.name.to_owned(), "moving range", "number of the value")
        };
        let values = chart
            .points
            .iter()
            .map(|point| (point.index, Some(point.value), is_marked(point, &chart.limits)));
        let mut values = drawing(&value, x, &chart.limits, values);
        values.title = printable(&format!("{}: {} values", self.name, chart.n));
        values.limits.extend(limits(self.session, self.plot)?);
        let ranges = chart
            .points
            .iter()
            .map(|point| (point.index, point.range, !point.range_rules.is_empty()));
        let ranges = drawing(range, x, &chart.range_limits, ranges);
        let (values, ranges) = (Box::new(values), Box::new(ranges));
        Ok(Answer::Chart { chart: Box::new(chart), values, ranges })
    }
}

/// Whether the value of a point breaks a rule, and not its range alone.
fn is_marked(point: &ChartPoint, limits: &ControlLimits) -> bool {
    let is_beyond = limits.upper.is_some_and(|upper| point.value > upper)
        || limits.lower.is_some_and(|lower| point.value < lower);
    is_beyond || point.rules.contains(&ChartRule::Run)
}

fn limit(name: &str, value: f64, kind: LimitKind) -> Limit {
    Limit { name: printable(&format!("{name} {}", number(value))), value, kind }
}

fn histogram_title(name: &str, histogram: &Histogram, capability: &Capability) -> String {
    let mut title = format!("{name}: {} values", histogram.n);
    for (name, figure) in [("mean", capability.mean), ("Cpk", capability.cpk)] {
        if let Some(figure) = figure {
            title.push_str(&format!(", {name} {}", number(figure)));
        }
    }
    printable(&title)
}

/// The drawing of numbered values with their limits; each value comes with whether it breaks a rule.
fn drawing(
    name: &str,
    x_name: &str,
    limits: &ControlLimits,
    values: impl Iterator<Item = (i64, Option<f64>, bool)>,
) -> Drawing {
    let (mut points, mut marked) = (Vec::new(), Vec::new());
    for (index, value, is_marked) in values {
        let Some(value) = value else { continue };
        points.push((index as f64, value));
        if is_marked {
            marked.push((index as f64, value));
        }
    }
    let sides = [
        ("upper control limit", limits.upper),
        ("center", limits.center),
        ("lower control limit", limits.lower),
    ];
    let limits =
        sides.into_iter().filter_map(|(side, value)| Some(limit(side, value?, LimitKind::Control)));
    let rules = match marked.len() {
        1 => "1 breaks a rule".to_owned(),
        count => format!("{count} break a rule"),
    };
    Drawing {
        title: printable(name),
        x_name: x_name.to_owned(),
        is_time: false,
        curves: vec![Curve { name: printable(name), points }],
        limits: limits.collect(),
        marks: Marks { name: rules, points: marked },
        is_partial: false,
    }
}

impl Answer {
    fn n(&self) -> i64 {
        match self {
            Self::Histogram { histogram, .. } => histogram.n,
            Self::Chart { chart, .. } => chart.n,
        }
    }

    /// The values that take no part: those that are no numbers, and those of skipped steps.
    fn left_out(&self) -> (i64, i64) {
        match self {
            Self::Histogram { histogram, .. } => (histogram.not_numbers, histogram.skipped),
            Self::Chart { chart, .. } => (chart.not_numbers, chart.skipped),
        }
    }

    /// Whether the measurement has no value at all.
    fn is_empty(&self) -> bool {
        self.n() == 0 && self.left_out() == (0, 0)
    }

    fn is_drawable(&self, name: &str) -> Outcome {
        if self.n() > 0 {
            return Ok(());
        }
        let (not_numbers, skipped) = self.left_out();
        Err(Failure::new(
            Code::NotFound,
            format!(
                "the measurement {name:?} has no value to draw: {not_numbers} are no numbers, and \
                 {skipped} are of skipped steps"
            ),
        ))
    }

    fn text(&self) -> String {
        let (width, height) = terminal::size();
        match self {
            Self::Histogram { bars, .. } => terminal::draw_bars(bars, width),
            Self::Chart { values, ranges, .. } => {
                let below = (height / 3).max(4);
                let above = height.saturating_sub(below).max(5);
                terminal::draw(values, width, above) + &terminal::draw(ranges, width, below)
            }
        }
    }

    /// The figure for programs.
    fn write(&self, output: Output, desk: &Desk) -> Outcome {
        let (whole, columns, parts): (Value, &[&str], Vec<Value>) = match self {
            Self::Histogram { histogram, .. } => {
                let ranges = histogram.ranges.iter().map(|range| to_value(range));
                (to_value(histogram).unwrap_or_default(), &RANGES, ranges.flatten().collect())
            }
            Self::Chart { chart, .. } => {
                let points = chart.points.iter().map(|point| to_value(point));
                (to_value(chart).unwrap_or_default(), &POINTS, points.flatten().collect())
            }
        };
        let columns: Vec<String> = columns.iter().map(|&name| name.to_owned()).collect();
        paged(output, &desk.interrupt, |out| match output.form {
            OutputFormat::Csv => {
                output.records(out, &columns, true, &mut parts.into_iter().map(Ok))
            }
            _ => output.object(out, &whole),
        })
    }

    fn to_picture(&self, output: Output, target: &Path, name: &str) -> Outcome {
        self.is_drawable(name)?;
        to_file(target, |path| match self {
            Self::Histogram { bars, .. } => picture::draw_bars(path, bars),
            Self::Chart { values, ranges, .. } => picture::draw(path, &[values, ranges]),
        })?;
        let (n, file) = (self.n(), target.display().to_string());
        let breaking = match self {
            Self::Histogram { .. } => None,
            Self::Chart { chart, .. } => {
                let points = || chart.points.iter();
                let values = points().filter(|point| is_marked(point, &chart.limits)).count();
                Some((values, points().filter(|point| !point.range_rules.is_empty()).count()))
            }
        };
        let mut message = format!("plotted {n} values of {name} to {file}");
        if let Some((values, ranges)) = breaking.filter(|counts| *counts != (0, 0)) {
            message.push_str(&format!("; {values} values and {ranges} ranges break a rule"));
        }
        let (values, ranges) = breaking.unzip();
        let report = json!({
            "file": file, "n": n, "breakingRules": values, "rangesBreakingRules": ranges,
        });
        output.report(&message, &report)
    }
}
