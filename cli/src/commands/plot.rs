//! `plot`: reads the decimated rows, and hands the curves to the picture or the terminal.

use std::io::{self, Write as _};
use std::path::Path;

use stationdb::Session;
use stationdb::chrono::DateTime;
use stationdb::prelude::*;
use stationdb::serde_json::json;
use stationdb::tables::{
    DecimationMethod, DecimationOptions, QueryDecimatedDataRequest, TableMetadata,
};
use stationdb_report::{Limits, PlotOptions};

use super::drawing::{Curve, Drawing, LEFT_OUT, Limit, LimitKind, Marks};
use super::page::has_extension;
use super::rows::{DraftFile, has_column};
use super::scale::number;
use super::{picture, terminal};
use crate::args::{Chart, Plot, SeriesFlags};
use crate::conditions;
use crate::desk::Desk;
use crate::failure::{Failure, Outcome};
use crate::kinds::{self, RecordsQuery};
use crate::names::names;
use crate::output::{Output, failed, printable};
use crate::progress::Bar;

/// Intervals of the decimation for a picture; more would not be seen.
const PICTURE_INTERVALS: i64 = 1000;

/// Refuses files that are no pictures.
pub fn check_output(plot: &Plot) -> Outcome {
    match plot.output.as_ref().filter(|path| !has_extension(path, "png")) {
        None => Ok(()),
        Some(path) => Err(Failure::usage(format!("{}: plots are written as .png", path.display()))),
    }
}

pub fn plot(desk: &Desk, output: Output, plot: &Plot) -> Outcome {
    let page = plot.output.as_ref().filter(|path| has_extension(path, "html"));
    if page.is_none() {
        check_output(plot).map_err(|_| {
            let path = plot.output.as_deref().unwrap_or(Path::new("")).display();
            Failure::usage(format!("{path}: plots of tables are written as .html or .png"))
        })?;
        if plot.full {
            return Err(Failure::usage("--full is for pages; name a file with -o FILE.html"));
        }
    }
    if plot.series != SeriesFlags::default() || plot.chart != Chart::Imr {
        return Err(Failure::usage(
            "--chart and the options of test results are for a measurement; name one with \
             --measurement",
        ));
    }
    let (bar, control) = Bar::new(desk.interrupt.control(), "reading", None);
    let session = desk.session().with_control(&control);
    let table = kinds::metadata(&session, plot.table.as_deref().unwrap_or_default())?;
    if let Some(target) = page {
        return to_page(&session, output, plot, &table, target, bar, desk);
    }
    let (width, height) = terminal::size();
    let intervals = match &plot.output {
        Some(_) => PICTURE_INTERVALS,
        None => i64::try_from(width * 2).unwrap_or(PICTURE_INTERVALS),
    };
    let drawing = read(&session, &table, plot, intervals)?;
    drop(bar);
    desk.interrupt.check()?;
    let points: usize = drawing.curves.iter().map(|curve| curve.points.len()).sum();
    let Some(target) = &plot.output else {
        let mut out = io::stdout().lock();
        out.write_all(terminal::draw(&drawing, width, height).as_bytes()).map_err(failed)?;
        return out.flush().map_err(failed);
    };
    to_file(target, |path| picture::draw(path, &[&drawing]))?;
    let name = target.display().to_string();
    let mut message =
        format!("plotted {points} points of {} rows to {name}", table.row_count.unwrap_or(0));
    if drawing.is_partial {
        message.push_str(&format!("; {LEFT_OUT}"));
    }
    let rows = table.row_count;
    output.report(
        &message,
        &json!({"file": name, "points": points, "rows": rows, "isPartial": drawing.is_partial}),
    )
}

/// Writes the page of a table.
fn to_page(
    session: &Session,
    output: Output,
    plot: &Plot,
    table: &TableMetadata,
    target: &Path,
    bar: Bar,
    desk: &Desk,
) -> Outcome {
    let id = table.id.clone().unwrap_or_default();
    let mut options = PlotOptions::new()
        .columns(names(&plot.y, |name| has_column(table, name)))
        .filters(conditions::filters(table, &plot.range)?)
        .full(plot.full);
    if let Some(x) = &plot.x {
        options = options.x_column(x);
    }
    for &value in &plot.limit {
        options = options.line(format!("limit {}", number(value)), value);
    }
    for spec in &plot.spec {
        let found = specification(session, spec)?;
        let side = |side: &str| found["limit"][side].as_f64();
        let name = found["specId"].as_str().unwrap_or(spec);
        options = options.limits(Limits::strict(name, side("min"), side("max")));
    }
    if plot.full {
        super::page::say_size(stationdb_report::full_bytes(session, &id, &options)?);
    }
    let page = stationdb_report::plot_page(session, &id, &options)?;
    drop(bar);
    desk.interrupt.check()?;
    super::page::save(target, &page.html)?;
    let (name, rows) = (target.display().to_string(), page.rows);
    output.report(
        &format!("plotted {rows} rows to {name}"),
        &json!({"file": name, "rows": rows, "bytes": page.html.len()}),
    )
}

/// Draws into a file that appears when it is complete.
pub fn to_file(
    target: &Path,
    draw: impl FnOnce(&Path) -> Result<(), Box<dyn std::error::Error>>,
) -> Outcome {
    let draft = DraftFile::new(target, ".png")?;
    draw(draft.path()).map_err(|error| {
        Failure::new(crate::failure::Code::Failed, format!("drawing {}: {error}", target.display()))
    })?;
    draft.finish()
}

fn read(session: &Session, table: &TableMetadata, plot: &Plot, intervals: i64) -> Outcome<Drawing> {
    let x_name = match &plot.x {
        Some(x) => x.clone(),
        None => conditions::index(table)?.to_owned(),
    };
    let y_names = names(&plot.y, |name| has_column(table, name));
    let columns = || std::iter::once(&x_name).chain(&y_names);
    for name in columns() {
        let column = table.columns.iter().flatten().find(|column| column.name == *name);
        match column.map(|column| column.data_type.is_numeric()) {
            Some(true) => {}
            Some(false) => {
                return Err(Failure::usage(format!("the column {name:?} is not of numbers")));
            }
            None => return Err(Failure::usage(format!("the table has no column {name:?}"))),
        }
    }
    let is_time = |name: &str| {
        let column = table.columns.iter().flatten().find(|column| column.name == *name);
        column.is_some_and(|column| column.data_type.is_time())
    };
    // With the first and the last row of each interval, the lines between intervals are right too.
    let mut options = DecimationOptions::new(DecimationMethod::EntryExit)
        .y_columns(y_names.clone())
        .intervals(intervals);
    options.x_column.clone_from(&plot.x);
    let mut request = QueryDecimatedDataRequest::new().decimation(options);
    let mut wanted: Vec<String> = Vec::new();
    for name in columns() {
        if !wanted.contains(name) {
            wanted.push(name.clone());
        }
    }
    request.columns = Some(wanted.clone());
    request.filters = Some(conditions::filters(table, &plot.range)?);
    let id = table.id.clone().unwrap_or_default();
    let frame = session.query_decimated_data(&id, request)?.frame.to_data_frame();
    let cells = |name: &str| -> Vec<Option<f64>> {
        let at = wanted.iter().position(|wanted| wanted == name).unwrap_or(0);
        let is_time = is_time(name);
        let rows = frame.data.iter();
        rows.map(|row| coordinate(row.get(at)?.as_deref()?, is_time)).collect()
    };
    let x = cells(&x_name);
    let is_finite = |cell: &Option<String>| {
        let value = cell.as_deref().and_then(|cell| cell.parse::<f64>().ok());
        value.is_none_or(f64::is_finite)
    };
    let is_partial = !frame.data.iter().flatten().all(is_finite);
    let curves = y_names.iter().map(|name| {
        let mut points: Vec<(f64, f64)> =
            x.iter().zip(cells(name)).filter_map(|(x, y)| Some(((*x)?, y?))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Curve { name: printable(name), points }
    });
    Ok(Drawing {
        title: printable(table.name.as_deref().unwrap_or_default()),
        is_time: is_time(&x_name),
        curves: curves.collect(),
        limits: limits(session, plot)?,
        marks: Marks::default(),
        is_partial,
        x_name: printable(&x_name),
    })
}

/// The value of a cell; none where there is nothing to draw.
fn coordinate(cell: &str, is_time: bool) -> Option<f64> {
    if is_time {
        let time = DateTime::parse_from_rfc3339(cell).ok();
        return time.map(|time| time.timestamp_micros() as f64 / 1e3);
    }
    cell.parse().ok().filter(|value: &f64| value.is_finite())
}

/// The limits that the options name.
pub fn limits(session: &Session, plot: &Plot) -> Outcome<Vec<Limit>> {
    let kind = LimitKind::Specification;
    let mut limits = Vec::new();
    for &value in plot.limit.iter().filter(|value| value.is_finite()) {
        limits.push(Limit { name: format!("limit {}", number(value)), value, kind });
    }
    for spec in &plot.spec {
        let found = specification(session, spec)?;
        let name = found["specId"].as_str().unwrap_or(spec);
        for side in ["min", "max"] {
            if let Some(value) = found["limit"][side].as_f64() {
                let name = printable(&format!("{name} {side} {}", number(value)));
                limits.push(Limit { name, value, kind });
            }
        }
    }
    Ok(limits)
}

/// The specification with an id of the store, or else with the user's own id.
fn specification(session: &Session, id: &str) -> Outcome<stationdb::serde_json::Value> {
    if let Ok((_, found)) = kinds::find(session, id, Some("specifications")) {
        return Ok(found);
    }
    let ask = RecordsQuery::default();
    let mut found = None;
    for spec in kinds::kind("specifications")?.list(session, &ask)? {
        let spec = spec?;
        if spec["specId"] == id && found.replace(spec).is_some() {
            return Err(Failure::usage(format!(
                "several specifications have the id {id:?}; give the id that `ls specifications` \
                 shows first"
            )));
        }
    }
    found.ok_or_else(|| {
        Failure::new(
            crate::failure::Code::NotFound,
            format!("there is no specification with the id {id:?}"),
        )
    })
}
