//! The layout of a file of an instrument, a logger or a spreadsheet: the lines of its header, the
//! names and units of its columns, and where its rows begin.
//!
//! The rows are found first: lines that begin with numbers or times. The names are those above
//! them, and what stands above the names becomes properties of the table.

mod clock;
mod lines;
mod names;
mod presets;
#[cfg(test)]
mod presets_tests;
mod segments;

use std::collections::BTreeMap;

use stationdb::tables::{DataType, DateOrder, readers as cells};
use stationdb::{Error, Place, Result};

pub(super) use self::clock::Clock;
use self::clock::is_quantity;
pub(super) use self::lines::Line;
use self::lines::{Fields, fields_of};
pub(super) use self::names::{Named, has_unit_behind, number_repeated, split_unit, units_in};
use self::names::{is_unit, unbracketed};
pub(super) use self::presets::{NONE, Preset, named};
pub(super) use self::segments::{SegmentColumn, Segments};
use super::value::number;
use crate::limits;
use crate::lines::invalid;
use crate::moment;
use crate::options::ImportOptions;

/// Lines of the header that a preset is looked for in.
const MARK_LINES: usize = 60;
/// Rows that a header may stand beside.
const BESIDE_LINES: usize = 60;
/// Rows that decide the separator and the width.
const ROWS: usize = 100;
/// Separators that are looked for, in the order in which they win a tie; blanks last.
const SEPARATORS: [u8; 5] = [b',', b';', b'\t', b'|', b' '];

/// What was found of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Layout {
    pub(super) separator: u8,
    /// The first of the columns, counted in fields of a line, and the columns.
    pub(super) from: usize,
    pub(super) columns: Vec<Named>,
    /// The fields of a line, with those before the columns.
    pub(super) width: usize,
    /// The line of the names, or of the first row if no line has them.
    pub(super) names_line: u64,
    /// Where the rows begin, and their line.
    pub(super) start: usize,
    pub(super) line: u64,
    /// Properties of the table.
    pub(super) properties: BTreeMap<String, String>,
    pub(super) clock: Option<Clock>,
    pub(super) segments: Option<Segments>,
    /// The order of year, month and day in its dates, if its maker has one.
    pub(super) date_order: Option<DateOrder>,
    /// Whether numbers have their units behind them.
    pub(super) has_units: bool,
    /// Texts that mean that there is no value.
    pub(super) nulls: Vec<String>,
    /// Whether the numbers that instruments of SCPI write instead of a value are null.
    pub(super) has_scpi_nulls: bool,
    /// Whether a line that begins with a letter ends the rows.
    pub(super) has_blocks: bool,
    /// Columns of numbers that may begin with zeros, with their types.
    pub(super) zeros: Vec<(String, DataType)>,
    /// The field of the times, and that of their milliseconds.
    pub(super) millis: Option<(usize, usize)>,
    /// What was assumed, with the members of the request that decide.
    pub(super) assumed: Vec<String>,
}

fn is_number(text: &str) -> bool {
    number(text, false).is_some() || number(text, true).is_some()
}

fn is_time(text: &str, preset: &Preset) -> bool {
    let is_time_of_day = || {
        text.contains(':')
            && text.bytes().all(|byte| byte.is_ascii_digit() || b":.".contains(&byte))
    };
    moment::is_time(text)
        || preset.date_order.is_some() && moment::parse_told(text, preset.date_order).is_some()
        || is_time_of_day()
}

fn is_value(text: &str, preset: &Preset) -> bool {
    is_number(text)
        || is_time(text, preset)
        || preset.has_units && has_unit_behind(text)
        || cells::parse_bool(text).is_some()
        || preset.nulls.contains(&text)
}

/// Whether fields are a row: the first one that is not empty, and at least half of them, are
/// values, and one is no text that means null.
fn is_row(fields: &[String], preset: &Preset) -> bool {
    let full = || fields.iter().map(String::as_str).filter(|text| !text.is_empty());
    let values = || full().filter(|text| is_value(text, preset)).count();
    full().next().is_some_and(|text| is_value(text, preset))
        && (preset.has_texts || 2 * values() >= full().count())
        && full().any(|text| is_value(text, preset) && !preset.nulls.contains(&text))
}

/// The first line of the rows: it and the next one are rows.
fn first_row(lines: &[Fields], preset: &Preset) -> Option<usize> {
    let is_row_at = |at: usize| {
        lines.get(at).map(|line| is_row(line.all.get(preset.from..).unwrap_or_default(), preset))
    };
    (0..lines.len()).find(|&at| is_row_at(at) == Some(true) && is_row_at(at + 1) != Some(false))
}

fn rows_from<'f>(
    lines: &'f [Fields],
    at: usize,
    preset: &'f Preset,
) -> impl Iterator<Item = &'f [String]> {
    let rest = lines.get(at..).unwrap_or_default().iter().take(ROWS);
    rest.map(move |line| line.all.get(preset.from..).unwrap_or_default())
        .take_while(move |fields| is_row(fields, preset))
}

/// The separator that splits the most values off the rows.
fn separator_of(lines: &[Line<'_>], preset: &Preset) -> u8 {
    let mut best = (0, b',');
    for separator in SEPARATORS {
        let fields = fields_of(lines, separator);
        let Some(at) = first_row(&fields, preset) else { continue };
        // A text with another separator inside speaks against this one.
        let points = |text: &String| {
            let has_other = || SEPARATORS.iter().any(|other| text.contains(char::from(*other)));
            if is_value(text, preset) {
                1
            } else if has_other() {
                -2
            } else {
                0
            }
        };
        let rows = rows_from(&fields, at, preset);
        let sum: i64 = rows.map(|fields| fields.iter().map(points).sum::<i64>()).sum();
        if sum > best.0 {
            best = (sum, separator);
        }
    }
    best.1
}

/// A text that a property can have.
fn cut(text: &str) -> String {
    text.chars().take(limits::HEADER_TEXT_CHARS).collect()
}

/// The properties that lines of a header are.
struct Properties {
    all: BTreeMap<String, String>,
    /// The first line of the header.
    first_line: u64,
    /// Lines that are none, because there are too many.
    dropped: u64,
}

impl Properties {
    /// Adds a property. A key that is there is numbered.
    fn add(&mut self, key: &str, value: &str) {
        let key = cut(key.trim().trim_end_matches([':', '=']).trim_end());
        if key.is_empty() || value.trim().is_empty() {
            return;
        }
        if self.all.len() == limits::HEADER_PROPERTIES {
            self.dropped += 1;
            return;
        }
        let mut others = (2u32..).map(|at| format!("{key} {at}"));
        let is_free = |key: &String| !self.all.contains_key(key);
        let key = if is_free(&key) { Some(key) } else { others.find(is_free) };
        self.all.insert(key.unwrap_or_default(), cut(value.trim()));
    }

    /// Adds what a line of the header says.
    fn add_line(&mut self, line: &Fields, preset: &Preset, end: Option<usize>) {
        let is_first = line.number == self.first_line && !preset.keys.is_empty();
        let mut fields: Vec<&str> = line.all.iter().map(String::as_str).collect();
        fields.truncate(end.unwrap_or(fields.len()));
        if is_first {
            for (key, value) in preset.keys.iter().zip(&fields) {
                self.add(key, value);
            }
            return;
        }
        let full: Vec<&str> = fields.iter().copied().filter(|text| !text.is_empty()).collect();
        let text = line.text.trim().trim_matches('"');
        let is_prefixed = !preset.prefix.is_empty() && text.starts_with(preset.prefix);
        let text = text.strip_prefix(preset.prefix).unwrap_or(text).trim();
        match full[..] {
            [] => {}
            [_, ..] if end.is_none() && (is_prefixed || full.len() == 1) => {
                match text.split_once(':').or_else(|| text.split_once('=')) {
                    Some((key, value)) => self.add(key, value.trim_end_matches([',', ';'])),
                    None => self.add("title", text.trim_end_matches([',', ';', '\t'])),
                }
            }
            [key, ref values @ ..] => {
                let at = preset.value_at.filter(|_| values.len() > 1);
                let value = at.and_then(|at| fields.get(at).copied()).map(str::to_owned);
                let value = value.unwrap_or_else(|| values.join(" "));
                self.add(key, &value);
            }
        }
    }
}

/// The preset of a file: the one that the request names, or one that its first lines fit.
///
/// # Errors
/// `InvalidArgument` for a name that no preset has.
pub(super) fn preset(
    lines: &[Line<'_>],
    options: &ImportOptions,
) -> Result<Option<&'static Preset>> {
    match options.preset.as_deref() {
        Some(NONE) => Ok(None),
        Some(name) => named(name).map(Some).ok_or_else(|| {
            let known: Vec<&str> = presets::all().iter().map(|preset| preset.name).collect();
            let what = format!("{name:?} is no preset; use {NONE} or {}", known.join(", "));
            Error::invalid(what).at_member("preset")
        }),
        None => {
            let texts: Vec<String> = lines
                .iter()
                .filter(|line| !line.text.trim_ascii().is_empty())
                .take(MARK_LINES)
                .map(|line| String::from_utf8_lossy(line.text).replace('"', ""))
                .collect();
            Ok(presets::find(&texts))
        }
    }
}

/// The names and units above the rows, and the lines above the names.
struct Heads<'f> {
    columns: Vec<Named>,
    names_line: u64,
    above: &'f [Fields],
    /// Fields that have a name and a number: properties of the table.
    beside: Vec<(String, String)>,
    units_line: Option<u64>,
}

/// Whether a line below names has units: all its cells may be units, and there is one. Numbers are no
/// names.
fn has_units(fields: &[String], names: &[String]) -> bool {
    let count = |fields: &[String]| fields.iter().filter(|text| !text.is_empty()).count();
    let is_fine = |text: &String| text.is_empty() || is_unit(text) || number(text, false).is_some();
    fields.iter().any(|text| is_unit(text))
        && fields.iter().all(is_fine)
        && names.iter().all(|name| number(name, false).is_none())
        && count(names) >= count(fields)
        && count(fields) > 0
}

/// A key of a header and its value, if a line has nothing else.
fn pair(fields: &[String]) -> Option<(&str, &str)> {
    let mut full = fields.iter().map(String::as_str).filter(|text| !text.is_empty());
    let pair = full.next().zip(full.next())?;
    full.next().is_none().then_some(pair)
}

/// Whether a line above rows belongs to the header, and names no columns: behind its key it has times
/// alone, or it has a number as the lines above it have. A number of one or two digits may be the name of
/// a channel, and spreadsheets have names of all kinds.
fn is_of_header(lines: &[Fields], at: usize, preset: &Preset) -> bool {
    let fields = |at: usize| lines.get(at).map(|line| &line.all[..]).unwrap_or_default();
    let mut full = fields(at).iter().filter(|text| !text.is_empty());
    let Some(key) = full.next().filter(|_| preset.serial.is_none()) else { return false };
    let is_key = |text: &str| !is_value(text, preset);
    let is_channel =
        |text: &str| text.len() <= 2 && text.bytes().all(|digit| digit.is_ascii_digit());
    let has_times = full.clone().next().is_some() && full.all(|text| is_time(text, preset));
    let has_number = || {
        let above = at.checked_sub(1).and_then(|above| pair(fields(above)));
        let is_value = |value: &str| is_number(value) && !is_channel(value);
        pair(fields(at)).is_some_and(|(_, value)| is_value(value))
            && above.is_some_and(|(key, _)| is_key(key))
    };
    is_key(key) && (has_times || has_number())
}

/// `has_values` tells whether rows have values in a column.
fn heads<'f>(
    lines: &'f [Fields],
    at: usize,
    preset: &Preset,
    options: &ImportOptions,
    has_values: &dyn Fn(usize) -> bool,
) -> Result<Heads<'f>> {
    let row_line = lines.get(at).map_or(1, |line| line.number);
    let fields = |at: usize| lines.get(at).map(|line| &line.all[..]).unwrap_or_default();
    let without_names = |above: usize| Heads {
        columns: Vec::new(),
        names_line: row_line,
        above: lines.get(..above).unwrap_or_default(),
        beside: Vec::new(),
        units_line: None,
    };
    if preset.from > 0 || !preset.names.is_empty() || options.header == Some(false) {
        return Ok(without_names(if preset.from > 0 { 0 } else { at }));
    }
    let found = || usize::from(at > 1 && has_units(fields(at - 1), fields(at - 2)));
    let below = match (options.units_line, preset.below) {
        (Some(is_there), None) => usize::from(is_there),
        (_, Some(below)) => below,
        (None, None) => found(),
    };
    let Some(names_at) = at.checked_sub(below + 1) else {
        return Err(invalid(
            row_line,
            format!(
                "the rows begin here, and the {at} lines above them have no names; set header to \
                 false if no line names the columns"
            ),
        ));
    };
    if below == 0 && options.header.is_none() && is_of_header(lines, names_at, preset) {
        return Ok(without_names(at));
    }
    let strip = |text: &String| text.strip_prefix(preset.prefix).unwrap_or(text).trim().to_owned();
    let mut texts: Vec<String> = fields(names_at).iter().map(strip).collect();
    let units = if below > 0 { fields(names_at + 1) } else { &[] };
    let above = lines.get(..names_at).unwrap_or_default();
    // Names of channels behind the word for their line, whose units begin with that of time.
    if let Some(first) = texts.first_mut().filter(|first| below > 0 && *first == "Source") {
        "time".clone_into(first);
    }
    let mut beside = Vec::new();
    let mut columns: Vec<Named> = Vec::with_capacity(texts.len());
    for (at, text) in texts.iter().enumerate() {
        let mut column = Named::with_unit(text);
        let unit = units.get(at).map(|unit| unbracketed(unit)).unwrap_or_default();
        if let Some((key, value)) = text.split_once('=').filter(|(_, value)| is_quantity(value)) {
            beside.push((key.to_owned(), value.to_owned()));
            column = Named::default();
        } else if !text.is_empty() && number(unit, false).is_some() && !has_values(at) {
            beside.push((text.clone(), unit.to_owned()));
            column = Named::default();
        } else if !unit.is_empty() {
            column = Named { name: text.clone(), unit: Some(unit.to_owned()), ..Named::default() };
        }
        for (line, key) in preset.tail.iter().enumerate() {
            let value = fields(names_at + 2 + line).get(at).filter(|value| !value.is_empty());
            column.properties.extend(value.map(|value| ((*key).to_owned(), value.clone())));
        }
        columns.push(column);
    }
    let names_line = lines.get(names_at).map_or(1, |line| line.number);
    let units_line = (below > 0).then(|| lines.get(names_at + 1).map_or(1, |line| line.number));
    Ok(Heads { columns, names_line, above, beside, units_line })
}

/// The error of a file that begins with these lines, and has no rows.
pub(super) fn no_rows(lines: &[Line<'_>], preset: &Preset) -> Error {
    let what = format!(
        "the file has the beginning of {}, and its first {} MiB have no rows of numbers; set preset \
         to {NONE} to read it as plain CSV",
        preset.name,
        limits::HEADER_BYTES >> 20
    );
    invalid(lines.first().map_or(1, |line| line.number), what)
}

/// Finds the layout of a file that begins with these lines; `None` if there are no rows in them. The
/// separator is found, too, unless it is named.
///
/// # Errors
/// `InvalidArgument` with the line where no names are found.
pub(super) fn find(
    lines: &[Line<'_>],
    preset: &'static Preset,
    separator: Option<u8>,
    options: &ImportOptions,
) -> Result<Option<Layout>> {
    let first_line = lines.first().map_or(1, |line| line.number);
    let separator = separator.unwrap_or_else(|| separator_of(lines, preset));
    let fields = fields_of(lines, separator);
    let Some(at) = first_row(&fields, preset) else { return Ok(None) };
    let rows: Vec<&[String]> = rows_from(&fields, at, preset).collect();
    let has_values =
        |at: usize| rows.iter().any(|row| row.get(at).is_some_and(|text| !text.is_empty()));
    let heads = heads(&fields, at, preset, options, &has_values)?;
    let header_line = fields.first().map_or(first_line, |line| line.number);
    let mut properties = Properties { all: BTreeMap::new(), first_line: header_line, dropped: 0 };
    let segments =
        if preset.has_segments { Segments::of_header(heads.above, options)? } else { None };
    for line in heads.above {
        if segments.is_none() || !segments::is_of_list(line) {
            properties.add_line(line, preset, None);
        }
    }
    for (key, value) in &heads.beside {
        properties.add(key, value);
    }
    // A header that stands beside the rows. Some of its lines may be empty.
    let has_key = |line: &Fields| line.all.first().is_some_and(|text| !text.is_empty());
    let beside = fields.get(..BESIDE_LINES.min(fields.len())).filter(|_| preset.from > 0);
    let beside_lines = beside.and_then(|lines| lines.iter().rposition(has_key));
    let beside_lines = beside_lines.map_or(0, |last| last + 1);
    for line in fields.iter().take(beside_lines) {
        properties.add_line(line, preset, Some(preset.from));
    }
    let row_width = rows.iter().map(|row| row.len()).max().unwrap_or_default();
    let mut columns = heads.columns.clone();
    if columns.is_empty() {
        let full = (0..row_width).rev().find(|at| has_values(*at)).map_or(1, |at| at + 1);
        let is_empty = |at: usize| (1..=at).contains(&preset.names.len()) && !has_values(at);
        let column = |at: usize| {
            if is_empty(at) {
                Named::default()
            } else {
                column_at(at, full, &fields, preset, &properties)
            }
        };
        columns = (0..full).map(column).collect();
    }
    units_above(&mut columns, heads.above, preset);
    columns.resize(columns.len().max(row_width), Named::default());
    if columns.len() + preset.from > limits::IMPORT_COLUMNS {
        let what =
            format!("there are more than the {} columns of an import", limits::IMPORT_COLUMNS);
        let place = Place::Line { line: heads.names_line, column: None };
        return Err(Error::limit(what).at(place));
    }
    for (at, column) in columns.iter_mut().enumerate() {
        if column.name.is_empty() && has_values(at) {
            column.name = format!("column_{}", at + 1);
        }
    }
    let mut assumed = vec![told(preset, &heads, beside_lines, properties.dropped, options)];
    let repeated = number_repeated(&mut columns);
    if let Some(name) = repeated.first() {
        let several = if heads.columns.is_empty() {
            format!("several columns are {name:?}")
        } else {
            format!(
                "line {} has the name {name:?} more than once, as blocks beside each other have",
                heads.names_line
            )
        };
        assumed.push(format!(
            "{several}; those that repeat are numbered, such as \"{name}_2\"; sideBySide false \
             refuses them"
        ));
        if options.side_by_side == Some(false) {
            return Err(invalid(heads.names_line, format!("two columns have the name {name:?}")));
        }
    }
    let has_axis = columns.iter().any(Named::is_axis);
    let (clock, clock_told) =
        if has_axis { (None, None) } else { Clock::of_header(&properties.all) };
    assumed.extend(clock_told);
    assumed.extend(segments.as_ref().map(Segments::told));
    let is_number_at = |at: usize| {
        let mut texts = rows.iter().filter_map(|row| row.get(at)).filter(|text| !text.is_empty());
        texts.all(|text| number(text, false).is_some())
    };
    let zeros = columns
        .iter()
        .enumerate()
        .filter(|(at, column)| preset.has_zeros && !column.name.is_empty() && is_number_at(*at));
    let zeros = zeros.map(|(_, column)| (column.name.clone(), DataType::Float64));
    let mut zeros: Vec<(String, DataType)> = zeros.collect();
    let millis = columns.iter().position(|column| column.name == preset.millis);
    let millis = millis.filter(|at| *at > 0 && !preset.millis.is_empty() && is_number_at(*at));
    zeros.extend(millis.map(|_| (preset.millis.to_owned(), DataType::Int64)));
    let row = fields.get(at);
    Ok(Some(Layout {
        separator,
        from: preset.from,
        width: columns.len() + preset.from,
        columns,
        names_line: heads.names_line,
        start: row.map_or(0, |line| line.byte),
        line: row.map_or(first_line, |line| line.number),
        properties: properties.all,
        clock,
        segments,
        date_order: preset.date_order,
        has_units: preset.has_units,
        has_blocks: preset.has_blocks,
        nulls: preset.nulls.iter().map(|text| (*text).to_owned()).collect(),
        has_scpi_nulls: has_scpi_nulls(preset, options),
        zeros,
        millis: millis.map(|at| (preset.from + at - 1, preset.from + at)),
        assumed,
    }))
}

/// A column of rows that no line names, with the name that the preset has for it.
fn column_at(
    at: usize,
    count: usize,
    lines: &[Fields],
    preset: &Preset,
    properties: &Properties,
) -> Named {
    let numbered = || Named { name: format!("column_{}", at + 1), ..Named::default() };
    // A block beside another one begins with the first key of the header, too.
    let first = lines.first().map(|line| line.all.as_slice()).unwrap_or_default();
    let is_block = |at: &usize| preset.from > 0 && first.get(*at) == first.first();
    let block = (1..=at).rev().find(is_block).unwrap_or_default();
    let missing = preset.names.len().saturating_sub(count);
    let place = at - block + missing;
    if place >= preset.names.len() && (1..count).any(|at| is_block(&at)) {
        return numbered();
    }
    let place = place.min(preset.names.len().saturating_sub(1));
    let Some(name) = preset.names.get(place) else { return numbered() };
    let of_block = |key: &str| {
        let line = lines.iter().find(|line| line.all.get(block).is_some_and(|text| text == key));
        line?.all.get(block + 1).filter(|unit| !unit.is_empty()).cloned()
    };
    let unit = preset.unit_keys.get(place).and_then(|key| match block {
        0 => properties.all.get(*key).cloned(),
        _ => of_block(key),
    });
    Named { name: (*name).to_owned(), unit, properties: Vec::new() }
}

/// Gives named columns the units that lines above the names have for them.
fn units_above(columns: &mut [Named], above: &[Fields], preset: &Preset) {
    let [of_first, of_others] = preset.unit_keys else { return };
    let has_key = |line: &&Fields, key: &str| line.all.first().is_some_and(|text| text == key);
    let unit = |key: &str, at: usize| above.iter().find(|line| has_key(line, key))?.all.get(at);
    for (at, column) in columns.iter_mut().enumerate().filter(|(_, column)| column.unit.is_none()) {
        let unit = if at == 0 { unit(of_first, 1) } else { unit(of_others, at) };
        column.unit = unit.filter(|unit| !unit.is_empty()).cloned();
    }
}

/// Whether numbers of SCPI are null: in the presets of their makers, unless the request names what is.
fn has_scpi_nulls(preset: &Preset, options: &ImportOptions) -> bool {
    preset.has_scpi_nulls && options.null_texts.is_none()
}

/// What the report says of a layout.
fn told(
    preset: &Preset,
    heads: &Heads<'_>,
    beside: usize,
    dropped: u64,
    options: &ImportOptions,
) -> String {
    let mut parts = Vec::new();
    match (heads.above.first(), heads.above.last()) {
        (Some(first), Some(last)) => parts
            .push(format!("lines {} to {} are properties of the table", first.number, last.number)),
        _ if beside > 0 => {
            parts.push(format!("the first {beside} lines have properties beside their rows"));
        }
        _ => {}
    }
    if dropped > 0 {
        let most = limits::HEADER_PROPERTIES;
        parts.push(format!("{dropped} of them are left out, as a table gets {most} at most"));
    }
    if heads.columns.is_empty() {
        parts.push("no line names the columns".to_owned());
    } else {
        parts.push(format!("line {} has the names", heads.names_line));
    }
    if let Some(line) = heads.units_line {
        parts.push(format!("line {line} has the units; unitsLine decides"));
    }
    if has_scpi_nulls(preset, options) {
        parts.push("the numbers 9.9E+37, -9.9E+37 and 9.91E+37 are null; nullTexts decides".into());
    }
    let how = if options.preset.is_some() { "asked for" } else { "found by its first lines" };
    format!("read as {} ({how}): {}; preset {NONE} reads plain CSV", preset.name, parts.join(", "))
}
