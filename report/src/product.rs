//! The page of a product: its yield, its failures, and each of its measurements.

use std::collections::BTreeMap;

use stationdb::prelude::*;
use stationdb::products::QueryProductsRequest;
use stationdb::results::{
    Capability, CapabilityRequest, ChartRule, ControlChart, ControlChartRequest, ControlLimits,
    FailureParetoRequest, HistogramRequest, ParetoKey, QueryPathsRequest, QueryResultsRequest,
    YieldGroup, YieldsRequest,
};
use stationdb::serde_json::{Value, json};
use stationdb::{Control, Error, ErrorKind, Result, Session};

use crate::bars::{Bar, Dot, Range, bars, dots, histogram};
use crate::html::{escaped, folded_table, isolated, table};
use crate::number::{exact, exact_or_none, grouped};
use crate::page::Page;
use crate::product_options::ProductOptions;

/// Measurements with charts, and with a row of the capability table.
const CHARTS_DEFAULT: usize = 50;
/// Points of a control chart, more than a picture shows, and the fewest where there are many charts.
const POINTS_MAX: usize = 1_000;
const POINTS_MIN: usize = 200;
/// Bytes of the points of all control charts, and of one in its two charts and in the table.
const CHARTS_BYTES: usize = 5_000_000;
const POINT_BYTES: usize = 250;
const PATHS_OF_PAGE: i64 = 1_000;
/// Measurements without values that are named, and after how many of them, at least, no more are looked
/// at.
const EMPTY_NAMED: usize = 20;
const EMPTY_MAX: usize = 200;
/// Failures of the Pareto.
const FAILURES: i64 = 20;

/// A measurement of the product: where it is made, and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Series {
    path: String,
    name: String,
    units: Option<String>,
}

/// Makes the page of a product: one HTML file, as text.
///
/// It has the yield of each week, at first and at last, the Pareto of failures, and for each
/// measurement its capability, its histogram and its control chart. The numbers are those of
/// `yields`, `failure_pareto`, `capability`, `histogram` and `control_chart` of the library. The
/// first points of a series are drawn: 1,000, or fewer where there are more than 20 measurements, so
/// that a page of 50 has about 6 MB at most.
///
/// # Errors
/// `NotFound` if neither a product nor a test result has the part number, `InvalidArgument` for a bad
/// filter or zone; what these calls refuse. A measurement whose values
/// make no series, such as one in several units, says why in place of its charts.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// use stationdb::prelude::*;
/// # use stationdb::{Identity, Store};
/// use stationdb_report::{ProductOptions, product_html};
/// # let store = Store::open(dir.path())?;
/// # let session = store.session(Identity::user("ada"));
///
/// let run = Run::begin("P-1", "SN-7", "final test").start(&session)?;
/// run.step("supply").measure("VOUT", 3.31, "V").limits(3.2, 3.4).finish()?;
/// run.finish()?;
/// let page = product_html(&session, "P-1", &ProductOptions::new())?;
/// assert!(page.contains("VOUT"));
/// # Ok(())
/// # }
/// ```
pub fn product_html(
    session: &Session,
    part_number: &str,
    options: &ProductOptions,
) -> Result<String> {
    let session = &session.pinned();
    let product = Product { session, part_number, options };
    product.check()?;
    let mut page = Page::new(&format!("Product {part_number}"));
    product.yields(&mut page)?;
    product.pareto(&mut page)?;
    product.measurements(&mut page)?;
    Ok(page.finish())
}

struct Product<'p> {
    session: &'p Session,
    part_number: &'p str,
    options: &'p ProductOptions,
}

/// Selects the test results of the product in a request for figures.
macro_rules! selected {
    ($product:expr, $request:expr) => {{
        let mut request = $request;
        let (filter, substitutions) = $product.condition();
        request.filter = Some(filter);
        request.substitutions = Some(substitutions);
        request
    }};
}

impl Product<'_> {
    /// Refuses a part number that nothing has, and a bad filter in its own words: the figures join it
    /// to a condition on the part number.
    fn check(&self) -> Result<()> {
        if let Some(filter) = self.filter() {
            self.session.query_results(QueryResultsRequest::new().filter(filter).take(0))?;
        }
        let of_product = || ("partNumber == @0".to_owned(), vec![json!(self.part_number)]);
        let query = QueryProductsRequest::new().filter("partNumber == @0");
        let query = query.substitutions([self.part_number]).take(1);
        if self.has_results(of_product())?
            || !self.session.query_products(query)?.products.is_empty()
        {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::NotFound,
            format!(
                "making the page of a product: neither a product nor a test result has the part \
                 number {:?}",
                self.part_number
            ),
        ))
    }

    fn has_results(&self, (filter, substitutions): (String, Vec<Value>)) -> Result<bool> {
        let mut request = QueryResultsRequest::new().filter(filter).take(1);
        request.substitutions = Some(substitutions);
        Ok(!self.session.query_results(request)?.results.is_empty())
    }

    fn filter(&self) -> Option<&str> {
        self.options.filter.as_deref().filter(|filter| !filter.trim().is_empty())
    }

    fn condition(&self) -> (String, Vec<Value>) {
        let filter = match self.filter() {
            Some(filter) => format!("partNumber == @0 && ({filter})"),
            None => "partNumber == @0".to_owned(),
        };
        (filter, vec![json!(self.part_number)])
    }

    fn yields(&self, page: &mut Page) -> Result<()> {
        let of = |by: &[&str]| {
            let mut request = selected!(self, YieldsRequest::new());
            request.group_by = Some(by.iter().map(|&by| by.to_owned()).collect());
            request.time_zone.clone_from(&self.options.time_zone);
            self.session.yields(request, &Control::default())
        };
        page.push("<section><h2>Yield</h2>\n");
        let all = of(&["PROGRAM_NAME"])?;
        page.push(&table("By program", &yield_head("Program"), &yield_rows(&all.groups)));
        let weeks = of(&["WEEK"])?.groups;
        let drawn: Vec<Bar> = weeks
            .iter()
            .map(|week| Bar {
                // The day on which it begins.
                name: key(week).chars().take(10).collect(),
                value: week.first_pass_yield,
                title: format!(
                    "{}: first pass {}, final {}, {} units",
                    key(week),
                    exact_or_none(week.first_pass_yield),
                    exact_or_none(week.final_yield),
                    week.units
                ),
                class: "good",
            })
            .collect();
        let finals: Vec<Option<f64>> = weeks.iter().map(|week| week.final_yield).collect();
        page.push(&format!(
            "<figure><figcaption>Yield of each week <span class=\"note\">bars: at the first test; \
             dots: at the last one</span></figcaption>{}</figure>\n",
            bars("Yield of each week", &drawn, &finals, Some(1.0))
        ));
        page.push(&folded_table(
            "The yield of each week",
            &yield_head("Week"),
            &yield_rows(&weeks),
        ));
        page.push("</section>\n");
        Ok(())
    }

    fn pareto(&self, page: &mut Page) -> Result<()> {
        let mut request = selected!(self, FailureParetoRequest::new());
        request.take = Some(FAILURES);
        let answer = self.session.failure_pareto(request, &Control::default())?;
        page.push("<section><h2>Failures</h2>\n");
        if answer.entries.is_empty() {
            page.push("<p>No step failed.</p></section>\n");
            return Ok(());
        }
        let names: Vec<String> = answer
            .entries
            .iter()
            .map(|entry| match &entry.key {
                Some(ParetoKey::Text(text)) => text.replace('\n', " > "),
                Some(ParetoKey::Measurement(key)) => {
                    let name = key.measurement.as_deref().unwrap_or_default();
                    format!("{} > {name}", key.path.replace('\n', " > "))
                }
                None => "no step".to_owned(),
            })
            .collect();
        let drawn: Vec<Bar> = answer
            .entries
            .iter()
            .zip(&names)
            .map(|(entry, name)| Bar {
                name: name.rsplit(" > ").next().unwrap_or(name).to_owned(),
                value: Some(entry.count as f64),
                title: format!("{name}: {}", entry.count),
                class: "bad",
            })
            .collect();
        page.push(&format!(
            "<figure><figcaption>Failures by the step that failed</figcaption>{}</figure>\n",
            bars("Failures by the step that failed", &drawn, &[], None)
        ));
        let mut rows: Vec<Vec<String>> = answer
            .entries
            .iter()
            .zip(&names)
            .map(|(entry, name)| {
                vec![
                    isolated(name),
                    entry.count.to_string(),
                    exact_or_none(entry.fraction),
                    exact_or_none(entry.cumulative),
                ]
            })
            .collect();
        if let Some(others) = &answer.others {
            rows.push(vec![
                format!("{} others", others.keys),
                others.count.to_string(),
                exact_or_none(others.fraction),
                String::new(),
            ]);
        }
        let head = ["Step", "Failures", "Fraction", "Cumulative"];
        page.push(&table(
            &format!("{} failures of {} results", answer.total, answer.results),
            &head,
            &rows,
        ));
        page.push("</section>\n");
        Ok(())
    }

    /// The measurements of the product, by path and name.
    fn series(&self) -> Result<Vec<Series>> {
        let mut found: BTreeMap<(String, String), Option<String>> = BTreeMap::new();
        let mut token = None;
        loop {
            let mut request = QueryPathsRequest::new()
                .filter("partNumber == @0")
                .substitutions([self.part_number])
                .take(PATHS_OF_PAGE);
            request.continuation_token = token;
            let answer = self.session.query_paths(request)?;
            for path in answer.paths {
                let text = path.path.unwrap_or_default();
                for (name, measurement) in path.measurements.into_iter().flatten() {
                    found.insert((text.clone(), name), measurement.units);
                }
            }
            token = answer.continuation_token;
            if token.is_none() {
                break;
            }
        }
        Ok(found.into_iter().map(|((path, name), units)| Series { path, name, units }).collect())
    }

    fn measurements(&self, page: &mut Page) -> Result<()> {
        page.push("<section><h2>Measurements</h2>\n");
        if !self.has_results(self.condition())? {
            page.push("<p>No test result is selected.</p></section>\n");
            return Ok(());
        }
        let all = self.series()?;
        let most = self.options.measurements_max.unwrap_or(CHARTS_DEFAULT);
        let (mut found, mut empty) = (Vec::new(), Vec::new());
        for series in &all {
            if found.len() == most || empty.len() == most.max(EMPTY_MAX) {
                break;
            }
            match self.capability(series) {
                Ok(Some(capability)) => found.push((series, Ok(capability))),
                Ok(None) => empty.push(series),
                Err(error) if error.kind() == ErrorKind::InvalidArgument => {
                    found.push((series, Err(error)));
                }
                Err(error) => return Err(error),
            }
        }
        let left = all.len() - found.len() - empty.len();
        page.push(&left_out(found.len(), left, &empty));
        let points = points_each(found.len());
        let (mut rows, mut charts) = (Vec::new(), String::new());
        for (series, capability) in found {
            let made = capability.and_then(|capability| {
                let charts = self.charts(series, &capability, points)?;
                Ok((capability_row(series, &capability), charts))
            });
            match made {
                Ok((row, chart)) => {
                    rows.push(row);
                    charts.push_str(&chart);
                }
                Err(error) if error.kind() == ErrorKind::InvalidArgument => {
                    charts.push_str(&refused(series, &error));
                }
                Err(error) => return Err(error),
            }
        }
        let head = [
            "Measurement",
            "Unit",
            "n",
            "Mean",
            "Lowest",
            "Highest",
            "Within deviation",
            "Overall deviation",
            "Low limit",
            "High limit",
            "Cp",
            "Cpk",
            "Pp",
            "Ppk",
            "Remarks",
        ];
        page.push(&table("Capability", &head, &rows));
        page.push(&charts);
        page.push("</section>\n");
        Ok(())
    }

    /// The capability of a measurement; none if the selected results have no value of it.
    fn capability(&self, series: &Series) -> Result<Option<Capability>> {
        let mut request = selected!(self, CapabilityRequest::new(series.name.clone()));
        request.path = Some(series.path.clone());
        let found = self.session.capability(request, &Control::default())?;
        Ok((found.n + found.not_numbers + found.skipped > 0).then_some(found))
    }

    /// The histogram and the control charts of a measurement.
    fn charts(&self, series: &Series, capability: &Capability, points: usize) -> Result<String> {
        let control = Control::default();
        let mut request = selected!(self, HistogramRequest::new(series.name.clone()));
        request.path = Some(series.path.clone());
        let counts = self.session.histogram(request, &control)?;
        let mut request = selected!(self, ControlChartRequest::new(series.name.clone()));
        request.path = Some(series.path.clone());
        request.take = i64::try_from(points).ok();
        let chart = self.session.control_chart(request, &control)?;
        let mut html = heading(series);
        let limits: Vec<(f64, &str)> =
            [(capability.low_limit, "low"), (capability.high_limit, "high")]
                .into_iter()
                .filter_map(|(value, name)| Some((value?, name)))
                .collect();
        let ranges: Vec<Range> = counts
            .ranges
            .iter()
            .map(|range| Range { lower: range.lower, upper: range.upper, count: range.count })
            .collect();
        if ranges.is_empty() && chart.points.is_empty() {
            html.push_str("<p>None of its values is a number.</p>\n");
            return Ok(html);
        }
        html.push_str(&format!(
            "<figure><figcaption>Histogram <span class=\"note\">{} values</span></figcaption>{}\
             </figure>\n",
            grouped(u64::try_from(counts.n).unwrap_or(0)),
            histogram(&format!("Histogram of {}", series.name), &ranges, &limits)
        ));
        let rows: Vec<Vec<String>> = counts
            .ranges
            .iter()
            .map(|range| vec![exact(range.lower), exact(range.upper), range.count.to_string()])
            .collect();
        html.push_str(&folded_table("The ranges", &["From", "To", "Values"], &rows));
        html.push_str(&control_charts(series, &chart));
        Ok(html)
    }
}

/// A measurement in the table of capabilities.
fn capability_row(series: &Series, capability: &Capability) -> Vec<String> {
    let mut remarks = Vec::new();
    let mut remark = |is: bool, text: String| {
        if is {
            remarks.push(text);
        }
    };
    remark(capability.limits_vary, "the limits vary".to_owned());
    remark(capability.limits_invalid, "the limits are no range".to_owned());
    remark(capability.zero_deviation.overall, "all values are equal".to_owned());
    remark(capability.not_numbers > 0, format!("{} are no numbers", capability.not_numbers));
    remark(capability.skipped > 0, format!("{} were skipped", capability.skipped));
    let mut row = vec![
        isolated(&title(series)),
        isolated(series.units.as_deref().unwrap_or_default()),
        capability.n.to_string(),
    ];
    row.extend(
        [
            capability.mean,
            capability.minimum,
            capability.maximum,
            capability.within_deviation,
            capability.overall_deviation,
            capability.low_limit,
            capability.high_limit,
            capability.cp,
            capability.cpk,
            capability.pp,
            capability.ppk,
        ]
        .map(exact_or_none),
    );
    row.push(escaped(&remarks.join(", ")));
    row
}

/// The points of each of some control charts.
fn points_each(charts: usize) -> usize {
    (CHARTS_BYTES / POINT_BYTES / charts.max(1)).clamp(POINTS_MIN, POINTS_MAX)
}

/// Which measurements the page does not show: those behind the last one that it looked at, and those
/// without values.
fn left_out(shown: usize, left: usize, empty: &[&Series]) -> String {
    let mut out = String::new();
    if left > 0 {
        let are = match shown {
            0 => "No measurement with values was found".to_owned(),
            1 => "This is the first measurement with values".to_owned(),
            count => {
                format!("These are the first {} measurements with values", grouped(count as u64))
            }
        };
        let others = match left {
            1 => "one more was".to_owned(),
            count => format!("{} more were", grouped(count as u64)),
        };
        out.push_str(&format!(
            "<p>{are}; {others} not looked at. <code>--measurements</code> says how many.</p>\n"
        ));
    }
    if !empty.is_empty() {
        let names = empty.iter().take(EMPTY_NAMED).map(|series| isolated(&title(series)));
        let mut names = names.collect::<Vec<_>>().join(", ");
        if empty.len() > EMPTY_NAMED {
            names.push_str(&format!(" and {} more", grouped((empty.len() - EMPTY_NAMED) as u64)));
        }
        out.push_str(&format!("<p>Without a value in the selected results: {names}.</p>\n"));
    }
    out
}

fn title(series: &Series) -> String {
    format!("{} > {}", series.path.replace('\n', " > "), series.name)
}

fn heading(series: &Series) -> String {
    let units = series.units.as_deref().filter(|units| !units.is_empty());
    let units = units.map_or_else(String::new, |units| format!(" ({})", isolated(units)));
    format!("<h3>{}{units}</h3>\n", isolated(&title(series)))
}

fn refused(series: &Series, error: &Error) -> String {
    format!("{}<p>{}</p>\n", heading(series), escaped(error.message()))
}

/// The chart of the values and that of their moving ranges.
fn control_charts(series: &Series, chart: &ControlChart) -> String {
    let lines = |limits: &ControlLimits| -> Vec<(f64, &'static str)> {
        [(limits.center, "center"), (limits.lower, "lower"), (limits.upper, "upper")]
            .into_iter()
            .filter_map(|(value, name)| Some((value?, name)))
            .collect()
    };
    let dot = |value: f64, is_broken: bool, at: usize| {
        let point = &chart.points[at];
        Dot {
            number: point.index,
            value,
            is_broken,
            title: format!(
                "{} at {}: {}",
                point.index,
                point.started_at.to_rfc3339(),
                exact(value)
            ),
        }
    };
    let points = || chart.points.iter().enumerate();
    let values: Vec<Dot> = points()
        .map(|(at, point)| {
            // BEYOND may be the range's alone; the other rules are of values.
            let is_beyond = chart.limits.lower.is_some_and(|lower| point.value < lower)
                || chart.limits.upper.is_some_and(|upper| point.value > upper);
            let has_other = point.rules.iter().any(|rule| *rule != ChartRule::Beyond);
            dot(point.value, is_beyond || has_other, at)
        })
        .collect();
    let ranges: Vec<Dot> =
        points().filter_map(|(at, p)| Some(dot(p.range?, !p.range_rules.is_empty(), at))).collect();
    let more = match chart.continuation_token {
        Some(_) => format!("the first {} points", grouped(chart.points.len() as u64)),
        None => String::new(),
    };
    let mut html = format!(
        "<figure><figcaption>Control chart of the values <span class=\"note\">{more}</span>\
         </figcaption>{}</figure>\n",
        dots(&format!("Control chart of {}", series.name), &values, &lines(&chart.limits))
    );
    // One value has no range.
    if !ranges.is_empty() {
        html.push_str(&format!(
            "<figure><figcaption>Control chart of the ranges</figcaption>{}</figure>\n",
            dots(&format!("Ranges of {}", series.name), &ranges, &lines(&chart.range_limits))
        ));
    }
    let limits =
        [("values", &chart.limits), ("ranges", &chart.range_limits)].map(|(of, limits)| {
            vec![
                of.to_owned(),
                exact_or_none(limits.center),
                exact_or_none(limits.lower),
                exact_or_none(limits.upper),
            ]
        });
    html.push_str(&folded_table(
        "The control limits",
        &["Of", "Center", "Lower", "Upper"],
        &limits,
    ));
    let rows: Vec<Vec<String>> = chart
        .points
        .iter()
        .map(|point| {
            let rules: Vec<String> = point.rules.iter().map(ToString::to_string).collect();
            vec![
                point.index.to_string(),
                exact(point.value),
                exact_or_none(point.range),
                escaped(&point.started_at.to_rfc3339()),
                escaped(&point.result_id),
                escaped(&rules.join(", ")),
            ]
        })
        .collect();
    let head = ["Number", "Value", "Range", "Started at", "Result", "Breaks"];
    html.push_str(&folded_table("The points", &head, &rows));
    html
}

fn key(group: &YieldGroup) -> String {
    group.keys.iter().map(|key| key.as_deref().unwrap_or("none")).collect::<Vec<_>>().join(", ")
}

fn yield_head(of: &str) -> [&str; 9] {
    [
        of,
        "First-pass yield",
        "Final yield",
        "Yield of results",
        "Retest rate",
        "Units",
        "Good",
        "Bad",
        "Retests",
    ]
}

fn yield_rows(groups: &[YieldGroup]) -> Vec<Vec<String>> {
    let row = |group: &YieldGroup| {
        let mut row = vec![isolated(&key(group))];
        let fractions =
            [group.first_pass_yield, group.final_yield, group.result_yield, group.retest_rate];
        row.extend(fractions.map(exact_or_none));
        row.extend([group.units, group.good, group.bad, group.retests].map(|n| n.to_string()));
        row
    };
    groups.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_charts_have_fewer_points() {
        let expected = [(0, 1_000), (20, 1_000), (50, 400), (99, 202), (5_000, 200)];
        for (charts, points) in expected {
            assert_eq!(points_each(charts), points, "{charts}");
        }
    }
}
