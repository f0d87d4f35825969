//! One waveform of a page: its numbers for the scripts, and pictures and tables beside them.

use std::collections::BTreeSet;

use stationdb::prelude::*;
use stationdb::serde_json::{Value, json};
use stationdb::tables::{Column, ColumnType, DataType, TableId, TableMetadata};
use stationdb::{Error, Result, Session};

use crate::encode::{Encoded, Plan, distances, long_numbers};
use crate::html::{isolated, visible};
use crate::markup::{Written, at_text, markup};
use crate::number::{exact, grouped};
use crate::page::Page;
use crate::plot_options::{Limits, PlotOptions};
use crate::pyramid::{Allowed, Bounds, Extremes, Place, Point, Pyramid, Sample, merged};
use crate::read::{FULL_VALUES_MAX, Heights, Pass, Question, Rows, Values};
use crate::x_axis::{XAxis, unit};

/// Columns that are shown when none is named.
const COLUMNS_DEFAULT: usize = 8;
const COLUMNS_MAX: usize = 64;
/// Bytes of the file for each column.
pub(crate) const COLUMN_BYTES: usize = 2_000_000;
const COLUMN_BYTES_MIN: usize = 20_000;
/// Of these, what the rows around marked places have.
const ROWS_SHARE: usize = 8;
/// Intervals while the rows are read.
const INTERVALS_MAX: usize = 1 << 18;
/// Groups of violations that a column lists, and that its table shows.
const VIOLATIONS_MAX: usize = 1_000;
const VIOLATIONS_SHOWN: usize = 100;
/// Of the bytes of a column, what its list of violations has, and what one of them takes.
const VIOLATIONS_SHARE: usize = 8;
const VIOLATION_BYTES: usize = 250;
/// Rows before and behind a marked place, at least, where there is room for them.
const ROWS_AROUND: u64 = 512;
/// Of the lowest and the highest values, how many are marked.
const WORST: usize = 2;
/// Intervals of a picture that needs no script.
const PICTURE_INTERVALS: usize = 480;
/// Whole numbers up to here are doubles.
const DOUBLES_KEEP: u64 = 1 << 53;
/// Characters of base64 for each byte.
const BASE64: f64 = 4.0 / 3.0;

/// The columns that a plot shows.
pub(crate) struct Chosen {
    pub x: Column,
    pub ys: Vec<Column>,
}

/// The columns that the options name, or those that can be shown.
pub(crate) fn choose(metadata: &TableMetadata, options: &PlotOptions) -> Result<Chosen> {
    let columns = || metadata.columns.iter().flatten();
    let name = metadata.name.as_deref().unwrap_or_default();
    let find = |wanted: &str| {
        let column = columns().find(|column| column.name == *wanted).ok_or_else(|| {
            Error::invalid(format!("plotting {name:?}: the table has no column {wanted:?}"))
        })?;
        if column.data_type.is_numeric() {
            return Ok(column.clone());
        }
        Err(Error::invalid(format!("plotting {name:?}: the column {wanted:?} is not of numbers")))
    };
    let x = match &options.x_column {
        Some(x) => find(x)?,
        None => columns()
            .find(|column| column.column_type == ColumnType::Index)
            .cloned()
            .ok_or_else(|| Error::corrupt(format!("plotting {name:?}: the table has no index")))?,
    };
    if options.columns.len() > COLUMNS_MAX {
        return Err(Error::limit(format!(
            "plotting {name:?}: a page shows {COLUMNS_MAX} columns at most"
        )));
    }
    let ys = if options.columns.is_empty() {
        let others = columns().filter(|column| column.name != x.name);
        others
            .filter(|column| column.data_type.is_numeric())
            .take(COLUMNS_DEFAULT)
            .cloned()
            .collect()
    } else {
        options.columns.iter().map(|column| find(column)).collect::<Result<Vec<_>>>()?
    };
    if ys.is_empty() {
        return Err(Error::invalid(format!(
            "plotting {name:?}: the table has no column of numbers beside {:?}",
            x.name
        )));
    }
    Ok(Chosen { x, ys })
}

/// What a page has of a table.
pub(crate) struct Added {
    /// Whether the page has every row.
    pub is_whole: bool,
    /// Rows that were read.
    pub rows: u64,
}

/// Reads a table, and adds it to the page with a heading.
pub(crate) fn add(
    page: &mut Page,
    session: &Session,
    id: &TableId,
    options: &PlotOptions,
) -> Result<Added> {
    let metadata = session.get_table_metadata(id)?;
    let chosen = choose(&metadata, options)?;
    let limits: Vec<Vec<&Limits>> = chosen.ys.iter().map(|y| limits_of(options, y)).collect();
    let allowed: Vec<Vec<Allowed>> = limits
        .iter()
        .map(|limits| {
            let is_side = |limit: &&&Limits| limit.low.is_some() || limit.high.is_some();
            let allowed = |limit: &&Limits| Allowed {
                low: limit.low,
                high: limit.high,
                is_strict: limit.is_strict,
            };
            limits.iter().filter(is_side).map(allowed).collect()
        })
        .collect();
    let intervals_max = if options.is_full { usize::MAX } else { INTERVALS_MAX };
    let budget = match options.column_bytes {
        _ if options.is_full => usize::MAX,
        Some(bytes) => bytes.max(COLUMN_BYTES_MIN),
        None => COLUMN_BYTES,
    };
    let values_max = if options.is_full { FULL_VALUES_MAX - page.values } else { u64::MAX };
    let violations_max = (budget / VIOLATIONS_SHARE / VIOLATION_BYTES).min(VIOLATIONS_MAX);
    let bounds = Bounds { intervals_max, violations_max, values_max };
    let question =
        Question { session, table: id, x: &chosen.x, ys: &chosen.ys, filters: &options.filters };
    let pass = question.pass(bounds, &allowed)?;
    if options.is_full {
        page.values += pass.rows * chosen.ys.len() as u64;
    }
    let marks = marks(&pass.x, options)?;
    let writer = Writer { pass: &pass, budget };
    let mut columns = Vec::new();
    for ((heights, y), limits) in pass.heights.iter().zip(&chosen.ys).zip(&limits) {
        columns.push(match heights {
            Heights::Doubles(pyramid) => writer.column(page, pyramid, y, limits, &doubles),
            Heights::Longs(pyramid) => writer.column(page, pyramid, y, limits, &longs),
        });
    }
    let is_whole = columns.iter().all(|column| column.is_whole);
    let places = if is_whole { Vec::new() } else { writer.places(&marks) };
    let windows = writer.windows(page, &question, &places)?;
    let number = page.next_waveform();
    let title = options.title.clone().or(metadata.name).unwrap_or_default();
    page.push(&markup(number, &title, &pass, &columns, &chosen.ys, options));
    page.waveform(json!({
        "title": visible(&title),
        "rows": pass.rows,
        "x": x_json(&pass.x),
        "columns": columns.into_iter().map(|column| column.json).collect::<Vec<_>>(),
        "windows": windows,
        "lines": options.lines.iter().map(|(text, value)| json!({
            "text": visible(text),
            "value": value,
        })).collect::<Vec<_>>(),
        "marks": marks.iter().map(|(text, x)| json!({
            "text": visible(text),
            "x": pass.x.offset(*x),
        })).collect::<Vec<_>>(),
    }));
    Ok(Added { is_whole, rows: pass.rows })
}

fn limits_of<'o>(options: &'o PlotOptions, y: &Column) -> Vec<&'o Limits> {
    let is_of = |limits: &&Limits| limits.column.as_ref().is_none_or(|column| *column == y.name);
    options.limits.iter().filter(is_of).collect()
}

fn marks(x: &XAxis, options: &PlotOptions) -> Result<Vec<(String, i64)>> {
    let marks = options.marks.iter().map(|(text, place)| {
        let at = x.parse(place).ok_or_else(|| {
            Error::invalid(format!(
                "marking {text:?}: {place:?} is no value of the column {:?} of {}",
                x.name, x.data_type
            ))
        })?;
        Ok((text.clone(), at))
    });
    marks.collect()
}

/// A place on the x axis for the scripts: as a number, and as text to the last digit.
fn place_json(x: &XAxis, at: i64) -> Value {
    json!({"offset": x.offset(at), "text": at_text(x, at)})
}

fn x_json(x: &XAxis) -> Value {
    json!({
        "name": visible(&x.name),
        "unit": x.unit.as_deref().map(visible),
        "isFloat": x.is_float(),
        "ticksPerSecond": x.ticks_per_second(),
        // Texts, because scripts would round them.
        "first": if x.is_float() { "0".to_owned() } else { x.first.to_string() },
        "step": x.step.map(|step| step.to_string()),
        "from": x.offset(x.first),
        "to": x.offset(x.last),
    })
}

/// The values of a column as bytes; none where an interval has no value.
type Write<'w, T> = &'w dyn Fn(&mut dyn Iterator<Item = Option<T>>, &[T]) -> Encoded;

fn doubles(values: &mut dyn Iterator<Item = Option<f64>>, all: &[f64]) -> Encoded {
    let plan = Plan::of_floats(all.iter().copied());
    plan.write(values.map(|value| value.unwrap_or(f64::NAN)))
}

fn longs(values: &mut dyn Iterator<Item = Option<i64>>, all: &[i64]) -> Encoded {
    if all.iter().all(|value| value.unsigned_abs() <= DOUBLES_KEEP) {
        let plan = Plan::of_floats(all.iter().map(|&value| value as f64));
        return plan.write(values.map(|value| value.map_or(f64::NAN, |value| value as f64)));
    }
    long_numbers(values, all)
}

struct Writer<'p> {
    pass: &'p Pass,
    budget: usize,
}

impl Writer<'_> {
    /// Bytes that the intervals of a column with these violations may have: those that neither the
    /// rows around places nor the violations take.
    fn interval_bytes(&self, violations: usize) -> usize {
        let of_violations = violations.saturating_mul(VIOLATION_BYTES);
        self.budget - self.budget / ROWS_SHARE - of_violations.min(self.budget / VIOLATIONS_SHARE)
    }

    /// How many intervals are made one, so that the column keeps its budget: the fewest that do.
    fn factor<T: Sample>(&self, pyramid: &Pyramid<T>, write: Write<'_, T>) -> usize {
        if self.budget == usize::MAX {
            return 1;
        }
        let room = self.interval_bytes(pyramid.violations.len()) as f64 / BASE64;
        let count = pyramid.intervals.len().max(1);
        // Does not fit, and does.
        let (mut below, mut factor) = (0, 1);
        loop {
            let bytes = self.encoded_bytes(pyramid, factor, write) as f64;
            if bytes <= room || factor == count {
                break;
            }
            below = factor;
            factor = ((factor as f64 * bytes / room) as usize).clamp(factor + 1, count);
        }
        while factor - below > 1 {
            let middle = below + (factor - below) / 2;
            if self.encoded_bytes(pyramid, middle, write) as f64 <= room {
                factor = middle;
            } else {
                below = middle;
            }
        }
        factor
    }

    /// The bytes of the values and places of the intervals, when `factor` of them are one. The values
    /// say how many bytes each takes, and which ones stand in a dictionary beside them.
    fn encoded_bytes<T: Sample>(
        &self,
        pyramid: &Pyramid<T>,
        factor: usize,
        write: Write<'_, T>,
    ) -> usize {
        let x = &self.pass.x;
        let intervals = merged(&pyramid.intervals, factor);
        let rows_each = pyramid.rows_each.saturating_mul(factor as u64);
        let points = if rows_each == 1 { 1 } else { 2 };
        let both = |extremes: &Extremes<T>| [extremes.low.value, extremes.high.value];
        let known = intervals.iter().flatten();
        let values: Vec<T> = known.flat_map(|known| both(known).into_iter().take(points)).collect();
        let trial = write(&mut std::iter::empty(), &values);
        // The greatest number that a place may be, and its bytes.
        let place = match x.step {
            Some(_) => rows_each - 1,
            None if x.is_float() => u64::MAX,
            None => x.distance(x.last),
        };
        let place_bytes = match place {
            0 if x.step.is_some() => 0,
            0..=0xff => 1,
            0x100..=0xffff => 2,
            0x1_0000..=0xffff_ffff => 4,
            _ => 8,
        };
        intervals.len() * points * (trial.form.width() + place_bytes) + trial.dictionary.len()
    }

    fn column<T: Sample>(
        &self,
        page: &mut Page,
        pyramid: &Pyramid<T>,
        y: &Column,
        limits: &[&Limits],
        write: Write<'_, T>,
    ) -> Written {
        let factor = self.factor(pyramid, write);
        let intervals = merged(&pyramid.intervals, factor);
        let rows_each = pyramid.rows_each * factor as u64;
        let is_whole = rows_each == 1;
        let low = |e: &Option<Extremes<T>>| e.map(|e| e.low);
        let high = |e: &Option<Extremes<T>>| e.map(|e| e.high);
        let lows = intervals.iter().map(low);
        // A single row is its lowest and its highest value.
        let highs = intervals.iter().take(if is_whole { 0 } else { usize::MAX }).map(high);
        let points: Vec<Option<Point<T>>> = lows.chain(highs).collect();
        let kept: Vec<T> = points.iter().flatten().map(|point| point.value).collect();
        let encoded = write(&mut points.iter().map(|point| point.map(|point| point.value)), &kept);
        let places = self.place_bytes(page, &points, intervals.len(), rows_each);
        let all = pyramid.all();
        let text = |value: T| value.text(y.data_type);
        let point_json = |point: Point<T>| {
            json!({
                "value": point.value.to_f64(),
                "text": text(point.value),
                "at": place_json(&self.pass.x, point.at.x),
                "row": point.at.row,
            })
        };
        let violations: Vec<Value> = pyramid
            .violations
            .iter()
            .map(|group| {
                json!({
                    "from": self.pass.x.offset(group.first.x),
                    "to": self.pass.x.offset(group.last.x),
                    "rows": group.rows,
                    "worst": point_json(group.worst),
                })
            })
            .collect();
        let unit = unit(y);
        let json = json!({
            "name": visible(&y.name),
            "unit": unit.as_deref().map(visible),
            "isSingle": y.data_type == DataType::Float32,
            "form": encoded.form.name(),
            "digits": encoded.form.digits(),
            "none": encoded.form.none(),
            "values": page.bytes(&encoded.bytes),
            "dictionary": page.bytes(&encoded.dictionary),
            "places": places,
            "intervals": intervals.len(),
            "rowsEach": rows_each,
            "limits": limits.iter().map(|limits| json!({
                "name": visible(&limits.name),
                "low": limits.low,
                "high": limits.high,
            })).collect::<Vec<_>>(),
            "violationCount": pyramid.violation_count,
            "violations": violations,
            "lowest": all.map(|all| point_json(all.low)),
            "highest": all.map(|all| point_json(all.high)),
        });
        let x = &self.pass.x;
        let place = |point: Option<Point<T>>| {
            point.map_or_else(|| "–".to_owned(), |point| isolated(&at_text(x, point.at.x)))
        };
        let shown = |point: Option<Point<T>>| {
            point.map_or_else(|| "–".to_owned(), |point| text(point.value))
        };
        let with_limits = limits.iter().map(|limits| {
            let side = |side: Option<f64>| side.map_or_else(|| "…".to_owned(), exact);
            format!("{}: {} to {}", isolated(&limits.name), side(limits.low), side(limits.high))
        });
        Written {
            json,
            is_whole,
            picture: picture_points(
                &merged(&intervals, intervals.len().div_ceil(PICTURE_INTERVALS)),
                x,
            ),
            limits: limits.iter().flat_map(|l| [l.low, l.high]).flatten().collect(),
            summary: vec![
                isolated(&y.name),
                isolated(unit.as_deref().unwrap_or_default()),
                grouped(pyramid.rows),
                shown(all.map(|all| all.low)),
                place(all.map(|all| all.low)),
                shown(all.map(|all| all.high)),
                place(all.map(|all| all.high)),
                grouped(pyramid.nulls),
                grouped(pyramid.undrawn),
                with_limits.collect::<Vec<_>>().join("<br>"),
                if pyramid.is_judged() { grouped(pyramid.violating) } else { "–".to_owned() },
                grouped(rows_each),
            ],
            violations: pyramid
                .violations
                .iter()
                .take(VIOLATIONS_SHOWN)
                .map(|group| {
                    vec![
                        isolated(&y.name),
                        isolated(&at_text(x, group.first.x)),
                        isolated(&at_text(x, group.last.x)),
                        grouped(group.rows),
                        text(group.worst.value),
                        isolated(&at_text(x, group.worst.at.x)),
                    ]
                })
                .collect(),
            violation_count: pyramid.violation_count,
        }
    }

    /// Where the points are: rows of an interval where x is regular, and else x.
    fn place_bytes<T: Sample>(
        &self,
        page: &mut Page,
        points: &[Option<Point<T>>],
        intervals: usize,
        rows_each: u64,
    ) -> Value {
        let x = &self.pass.x;
        if x.step.is_some() {
            if rows_each == 1 {
                return json!({"form": "none"});
            }
            let behind = points.iter().enumerate().map(|(at, point)| {
                let first = (at % intervals.max(1)) as u64 * rows_each;
                point.map_or(0, |point| point.at.row - first)
            });
            let (form, bytes) = distances(&behind.collect::<Vec<_>>());
            return json!({"form": form, "of": "rows", "block": page.bytes(&bytes)});
        }
        // An interval without a value is at the place of the one before.
        let mut last = x.first;
        let places = points.iter().map(|point| {
            last = point.map_or(last, |point| point.at.x);
            last
        });
        let (form, bytes) = x_bytes(x, places.collect());
        json!({"form": form, "of": "x", "block": page.bytes(&bytes)})
    }

    /// The intervals around what matters most, the most important first.
    fn places(&self, marks: &[(String, i64)]) -> Vec<usize> {
        let mut places: Vec<usize> = marks.iter().map(|(_, x)| self.pass.interval_of(*x)).collect();
        let of_column = |heights: &Heights| -> (BTreeSet<Place>, Vec<Place>) {
            fn of<T: Sample>(pyramid: &Pyramid<T>) -> (BTreeSet<Place>, Vec<Place>) {
                let broken = pyramid.violations.iter().map(|group| group.worst.at);
                (pyramid.worst(WORST), broken.collect())
            }
            match heights {
                Heights::Doubles(pyramid) => of(pyramid),
                Heights::Longs(pyramid) => of(pyramid),
            }
        };
        let columns: Vec<_> = self.pass.heights.iter().map(of_column).collect();
        let mut known: BTreeSet<usize> = places.iter().copied().collect();
        let mut add = |place: Place| {
            let interval = self.pass.interval_at(place);
            if known.insert(interval) {
                places.push(interval);
            }
        };
        columns.iter().flat_map(|(worst, _)| worst).copied().for_each(&mut add);
        // The violations of all columns in turn.
        for at in 0..VIOLATIONS_MAX {
            columns.iter().filter_map(|(_, broken)| broken.get(at)).copied().for_each(&mut add);
        }
        places
    }

    /// Reads the rows around the places, as many as the budget allows.
    fn windows(&self, page: &mut Page, question: &Question<'_>, places: &[usize]) -> Result<Value> {
        let pass = self.pass;
        let around = usize::try_from(ROWS_AROUND.div_ceil(pass.rows_each)).unwrap_or(1);
        let row_bytes = 16.0 * BASE64;
        let rows_max = (self.budget / ROWS_SHARE) as f64 / row_bytes;
        let count = pass.starts.len();
        let mut chosen = BTreeSet::new();
        for &place in places {
            // The last places have fewer rows around them, as many as there is room for.
            let mut around = around;
            let window = loop {
                let window = place.saturating_sub(around)..count.min(place + around + 1);
                let more = window.clone().filter(|interval| !chosen.contains(interval)).count();
                if ((chosen.len() + more) as u64 * pass.rows_each) as f64 <= rows_max {
                    break window;
                }
                if around == 0 {
                    break 0..0;
                }
                around /= 2;
            };
            if window.is_empty() {
                break;
            }
            chosen.extend(window);
        }
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for interval in chosen {
            match ranges.last_mut() {
                Some((_, end)) if *end == interval => *end += 1,
                _ => ranges.push((interval, interval + 1)),
            }
        }
        let mut all: Option<Rows> = None;
        let mut windows = Vec::new();
        for (from, to) in ranges {
            let rows = question.rows(pass, from..to)?;
            let (Some(&first), Some(&last)) = (rows.xs.first(), rows.xs.last()) else { continue };
            windows.push(json!({
                "from": pass.x.offset(first),
                "to": pass.x.offset(last),
                "row": rows.row,
                "rows": rows.xs.len(),
            }));
            match &mut all {
                Some(all) => all.extend(rows),
                None => all = Some(rows),
            }
        }
        let Some(all) = all else { return Ok(json!({"ranges": []})) };
        let (form, bytes) = x_bytes(&pass.x, all.xs);
        let x = json!({"form": form, "block": page.bytes(&bytes)});
        let columns: Vec<Value> = all
            .values
            .into_iter()
            .map(|values| {
                let encoded = match values {
                    Values::Doubles(values) => {
                        let finite = |v: f64| if v.is_finite() { v } else { f64::NAN };
                        let values: Vec<f64> = values.into_iter().map(finite).collect();
                        Plan::of_floats(values.iter().copied()).write(values.iter().copied())
                    }
                    Values::Longs(values) => {
                        let known: Vec<i64> = values.iter().copied().flatten().collect();
                        longs(&mut values.into_iter(), &known)
                    }
                };
                json!({
                    "form": encoded.form.name(),
                    "digits": encoded.form.digits(),
                    "none": encoded.form.none(),
                    "values": page.bytes(&encoded.bytes),
                    "dictionary": page.bytes(&encoded.dictionary),
                })
            })
            .collect();
        Ok(json!({"ranges": windows, "x": x, "columns": columns}))
    }
}

impl Rows {
    fn extend(&mut self, other: Self) {
        self.xs.extend(other.xs);
        for (into, from) in self.values.iter_mut().zip(other.values) {
            match (into, from) {
                (Values::Doubles(into), Values::Doubles(from)) => into.extend(from),
                (Values::Longs(into), Values::Longs(from)) => into.extend(from),
                // Both are of the same columns.
                _ => {}
            }
        }
    }
}

/// x of places: doubles, or distances from the first.
fn x_bytes(x: &XAxis, places: Vec<i64>) -> (&'static str, Vec<u8>) {
    if x.is_float() {
        return ("float64", places.into_iter().flat_map(i64::to_le_bytes).collect());
    }
    distances(&places.into_iter().map(|place| x.distance(place)).collect::<Vec<_>>())
}

/// The extremes in order of x.
fn picture_points<T: Sample>(
    intervals: &[Option<Extremes<T>>],
    x: &XAxis,
) -> Vec<Option<(f64, f64)>> {
    let mut points = Vec::new();
    for extremes in intervals {
        let Some(Extremes { low, high }) = extremes else {
            points.push(None);
            continue;
        };
        let (first, second) = if low.at <= high.at { (low, high) } else { (high, low) };
        let point = |point: &Point<T>| Some((x.offset(point.at.x), point.value.to_f64()));
        points.push(point(first));
        if second.at != first.at {
            points.push(point(second));
        }
    }
    points
}
