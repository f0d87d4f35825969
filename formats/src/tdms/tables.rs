//! The tables of a file: a group is a table, a channel a column.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use stationdb::tables::{Column, ColumnNote, ColumnType, DataType};
use stationdb::{Error, Result};

use super::axis::{Axis, UNIT, Waveform};
use super::contents::{Contents, Object, Part, Properties};
use super::scaling::{self, Scaling, Source, Unscaled};
use super::segment::Path;
use super::types::Kind;
use super::unread;
use crate::options::{ImportOptions, some_of};
use crate::{limits, numbered};

/// The property of a table with the name of its group.
pub(super) const GROUP: &str = "tdms.group";

/// Where the values of a column come from.
#[derive(Clone, Debug)]
pub(super) enum Values {
    /// The numbers of the rows.
    Numbers,
    Axis(Axis),
    /// A part of a channel.
    Part {
        object: usize,
        part: usize,
        kind: Kind,
    },
    /// The real or the imaginary part of complex numbers.
    Half {
        object: usize,
        kind: Kind,
        is_imaginary: bool,
    },
    Scaled {
        object: usize,
        parts: Vec<Part>,
        scaling: Arc<Scaling>,
    },
}

impl Values {
    /// The channel, if the values are those of one.
    pub(super) fn object(&self) -> Option<usize> {
        match self {
            Self::Numbers | Self::Axis(_) => None,
            Self::Part { object, .. } | Self::Half { object, .. } | Self::Scaled { object, .. } => {
                Some(*object)
            }
        }
    }
}

/// A column of a table.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) column: Column,
    pub(super) values: Values,
    pub(super) note: ColumnNote,
}

/// A table of a file.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// Its name below that of the file.
    pub(super) name: String,
    pub(super) properties: BTreeMap<String, String>,
    /// The first one is the axis or the numbers of rows.
    pub(super) columns: Vec<Planned>,
    pub(super) len: u64,
    pub(super) warnings: Vec<String>,
}

/// Channels of a group that share their rows.
struct Rows {
    len: u64,
    waveform: Option<Waveform>,
    channels: Vec<usize>,
}

/// A group, with its number if it is an object itself.
struct Group<'c> {
    name: &'c str,
    object: Option<usize>,
    channels: Vec<usize>,
    empty: Vec<String>,
    /// Channels of types that are not read, with what their values are.
    unread: Vec<(String, String)>,
}

/// The tables of a file.
///
/// # Errors
/// `InvalidArgument` for a file without values, for a channel whose values cannot be scaled, and for
/// columns of the request that no table has.
pub(super) fn plan(
    contents: &Contents,
    options: &ImportOptions,
    is_raw: bool,
) -> Result<Vec<Table>> {
    let none = Properties::new();
    let objects = &contents.objects;
    let of_root = objects.iter().find(|object| object.path == Path::Root);
    let root = of_root.map_or(&none, |object| &object.properties);
    let mut tables = Vec::new();
    let mut warnings = contents.warnings.clone();
    for group in groups(objects) {
        let of_group = group.object.and_then(|at| objects.get(at));
        let of_group = of_group.map_or(&none, |object| &object.properties);
        if !group.empty.is_empty() {
            warnings.push(format!(
                "channels of the group {:?} have no values and are left out: {}",
                group.name,
                some_of(&group.empty)
            ));
        }
        if !group.unread.is_empty() {
            warnings.push(unread_told(&group));
        }
        if group.channels.len() > limits::IMPORT_COLUMNS {
            return Err(Error::limit(format!(
                "the group {:?} of the TDMS file has {} channels, more than the {} columns of an \
                 import",
                group.name,
                group.channels.len(),
                limits::IMPORT_COLUMNS
            )));
        }
        let sets = sets(objects, &group.channels);
        if sets.len() > 1 {
            warnings.push(format!(
                "the channels of the group {:?} have different lengths or rates, so they are {} \
                 tables",
                group.name,
                sets.len()
            ));
        }
        for set in &sets {
            let mut table = table(objects, set, [of_group, root], is_raw)?;
            let first = set.channels.first().and_then(|at| objects.get(*at));
            table.name = group.name.to_owned();
            if sets.len() > 1
                && let Some(Path::Channel(_, channel)) = first.map(|object| &object.path)
            {
                table.name = format!("{}/{channel}", group.name);
            }
            table.properties = table_properties(group.name, of_group, root);
            table.warnings.splice(0..0, warnings.drain(..));
            tables.push(table);
        }
    }
    match tables.last_mut() {
        // What was told of the last groups, if they have no table.
        Some(last) => last.warnings.append(&mut warnings),
        None => return Err(without_tables(objects)),
    }
    apply_options(&mut tables, options)?;
    Ok(tables)
}

/// What the report says of the channels of a group that are not read.
fn unread_told(group: &Group<'_>) -> String {
    let whats: BTreeSet<&str> = group.unread.iter().map(|(_, what)| what.as_str()).collect();
    let all = whats.into_iter().map(|what| {
        let of_it = group.unread.iter().filter(|(_, other)| other == what);
        let names: Vec<String> = of_it.map(|(name, _)| name.clone()).collect();
        format!("{} ({what})", some_of(&names))
    });
    format!(
        "channels of the group {:?} have values that are not read, and are left out: {}; write \
         them as DBL to have them",
        group.name,
        all.collect::<Vec<_>>().join(", ")
    )
}

/// The error of a file from which nothing can be imported.
fn without_tables(objects: &[Object]) -> Error {
    let unread = objects.iter().find_map(|object| Some((object, object.unread?)));
    match unread {
        Some((object, (code, at))) => Error::unsupported(format!(
            "no channel of the TDMS file has values that are read: those of {} are {}, at byte {at}; \
             write other values",
            object.path.text(),
            unread::name(code)
        )),
        None => {
            Error::invalid("no channel of the TDMS file has values, so there is no table to import")
        }
    }
}

/// The groups that have channels, in the order of the file.
fn groups(objects: &[Object]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, object) in objects.iter().enumerate() {
        let (Path::Group(name) | Path::Channel(name, _)) = &object.path else { continue };
        let number = *numbers.entry(name).or_insert_with(|| {
            groups.push(Group {
                name,
                object: None,
                channels: Vec::new(),
                empty: Vec::new(),
                unread: Vec::new(),
            });
            groups.len() - 1
        });
        let Some(group) = groups.get_mut(number) else { continue };
        match (&object.path, object.unread) {
            (Path::Channel(_, channel), Some((code, _))) => {
                group.unread.push((channel.clone(), unread::name(code)));
            }
            (Path::Channel(_, channel), None) if object.len == 0 => {
                group.empty.push(channel.clone());
            }
            (Path::Channel(..), None) => group.channels.push(at),
            _ => group.object = Some(at),
        }
    }
    groups
}

/// The channels of a group by their lengths and axes. Those without an axis share that of others of
/// their length.
fn sets(objects: &[Object], channels: &[usize]) -> Vec<Rows> {
    let mut sets: Vec<Rows> = Vec::new();
    let of = |at: usize| {
        let object = objects.get(at)?;
        Some((at, object.len, Waveform::of(&object.properties)))
    };
    let (with, without): (Vec<_>, Vec<_>) =
        channels.iter().filter_map(|at| of(*at)).partition(|(.., waveform)| waveform.is_some());
    for (at, len, waveform) in with.into_iter().chain(without) {
        let same =
            |rows: &&mut Rows| rows.len == len && (waveform.is_none() || rows.waveform == waveform);
        match sets.iter_mut().find(same) {
            Some(rows) => rows.channels.push(at),
            None => sets.push(Rows { len, waveform, channels: vec![at] }),
        }
    }
    for rows in &mut sets {
        rows.channels.sort_unstable();
    }
    sets.sort_by_key(|rows| rows.channels.first().copied());
    sets
}

fn table_properties(
    group: &str,
    of_group: &Properties,
    root: &Properties,
) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> =
        of_group.iter().map(|(name, value)| (name.clone(), value.text())).collect();
    for (name, value) in root {
        // A property of the group keeps its name.
        let name = if all.contains_key(name) { format!("file.{name}") } else { name.clone() };
        all.entry(name).or_insert_with(|| value.text());
    }
    all.insert(GROUP.to_owned(), group.to_owned());
    all
}

/// A name that is not among others.
fn unused(names: &[String], base: &str) -> String {
    let base = if base.trim().is_empty() { "channel" } else { base };
    let is_free = |name: &String| !names.contains(name);
    let numbered = (2u64..).map(|at| format!("{base} {at}"));
    std::iter::once(base.to_owned()).chain(numbered).find(is_free).unwrap_or_default()
}

/// The column that holds the values of a type.
fn data_type(kind: Kind) -> DataType {
    match kind {
        Kind::I8 | Kind::I16 | Kind::I32 | Kind::U8 | Kind::U16 => DataType::Int32,
        Kind::U32 | Kind::I64 | Kind::U64 => DataType::Int64,
        Kind::F32 | Kind::C32 => DataType::Float32,
        Kind::F64 | Kind::C64 | Kind::Extended(_) => DataType::Float64,
        Kind::Bool => DataType::Bool,
        Kind::Time => DataType::TimestampNanos,
        Kind::Text | Kind::Void => DataType::String,
    }
}

/// A table of channels that share their rows.
fn table(objects: &[Object], rows: &Rows, around: [&Properties; 2], is_raw: bool) -> Result<Table> {
    let (mut columns, mut names, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    for at in &rows.channels {
        let Some(object) = objects.get(*at) else { continue };
        let Path::Channel(_, channel) = &object.path else { continue };
        let is_number = object.parts.iter().all(|part| part.kind.is_number());
        let found = if is_raw || !is_number {
            Err(Unscaled::Raw)
        } else {
            scaling::of_channel(object, around)?
        };
        if let Err(Unscaled::Unknown(name)) = &found {
            warnings.push(format!(
                "the channel {channel:?} has a scale of the unknown type {name:?}, so its values are \
                 the raw ones"
            ));
        }
        let is_scaled = found.is_ok();
        for (suffix, values, data_type, why) in values(*at, object, found.ok()) {
            let name = unused(&names, &format!("{channel}{suffix}"));
            names.push(name.clone());
            let mut properties: BTreeMap<String, String> = object
                .properties
                .iter()
                .map(|(name, value)| (name.clone(), value.text()))
                .collect();
            // The unit is that of measured values.
            let has_scales = properties.keys().any(|name| name.starts_with("NI_Scale["));
            let mut note = ColumnNote::new(why);
            if is_scaled
                || !has_scales
                || properties.get("NI_Scaling_Status").is_some_and(|s| s == "scaled")
            {
                note.unit = properties.remove(UNIT).filter(|unit| !unit.is_empty());
            }
            if let Some(unit) = &note.unit {
                properties.insert(Column::UNIT.to_owned(), unit.clone());
            }
            let mut column = Column::new(name, data_type).column_type(ColumnType::Normal);
            column.properties = properties;
            columns.push(Planned { column, values, note });
        }
    }
    let axes = axis_columns(rows, &names);
    columns.splice(0..0, axes);
    let (name, properties) = (String::new(), BTreeMap::new());
    Ok(Table { name, properties, columns, len: rows.len, warnings })
}

/// The columns of a channel: what is added to its name, their values, type, and the reason for it.
fn values(
    at: usize,
    object: &Object,
    scaling: Option<Scaling>,
) -> Vec<(String, Values, DataType, String)> {
    let raw = |number: usize, part: Part| {
        let values = Values::Part { object: at, part: number, kind: part.kind };
        let mut why = format!("the channel has values of type {}", part.kind.name());
        if let Kind::Extended(size) = part.kind {
            why.push_str(&format!(", in {size} bytes, and each is the nearest double"));
        }
        (values, data_type(part.kind), why)
    };
    match scaling {
        Some(Scaling { result: Source::Part(number), .. }) => {
            let part = object.parts.get(number).map(|part| raw(number, *part));
            part.map(|(values, data_type, why)| (String::new(), values, data_type, why))
                .into_iter()
                .collect()
        }
        Some(scaling) => {
            let parts = object.parts.clone();
            let scaling = Arc::new(scaling);
            let values = Values::Scaled { object: at, parts, scaling };
            let why = "the values are scaled by the properties of the channel".to_owned();
            vec![(String::new(), values, DataType::Float64, why)]
        }
        None => {
            let several = object.parts.len() > 1;
            let mut all = Vec::new();
            for (number, part) in object.parts.iter().enumerate() {
                let (values, data_type, why) = raw(number, *part);
                match part.kind {
                    Kind::C32 | Kind::C64 => {
                        for (suffix, is_imaginary) in [(".re", false), (".im", true)] {
                            let values = Values::Half { object: at, kind: part.kind, is_imaginary };
                            all.push((suffix.to_owned(), values, data_type, why.clone()));
                        }
                    }
                    _ => {
                        let id = part.scaler.filter(|_| several);
                        let suffix = id.map_or_else(String::new, |id| format!("[{id}]"));
                        all.push((suffix, values, data_type, why));
                    }
                }
            }
            all
        }
    }
}

/// The index of a table, and the numbers of its axis where these are no index.
fn axis_columns(rows: &Rows, names: &[String]) -> Vec<Planned> {
    let axis = rows.waveform.as_ref().map(|waveform| (waveform, waveform.axis(rows.len)));
    let mut columns = Vec::new();
    let mut names = names.to_vec();
    if let Some((waveform, axis)) = &axis {
        let (data_type, unit) = match axis {
            Axis::Time { .. } => (DataType::TimestampNanos, None),
            Axis::Nanos { .. } => (DataType::Int64, Some("ns")),
            Axis::Numbers { .. } => (DataType::Float64, Some(waveform.unit())),
        };
        let is_index = data_type.can_be_index();
        let role = if is_index { ColumnType::Index } else { ColumnType::Normal };
        let name = unused(&names, waveform.name());
        names.push(name.clone());
        let mut column = Column::new(name, data_type).column_type(role);
        if let Some(unit) = unit {
            column.properties.insert(Column::UNIT.to_owned(), unit.to_owned());
        }
        let rounded = if axis.is_rounded() { ", rounded to nanoseconds" } else { "" };
        let start = if data_type.is_time() { "wf_start_time + " } else { "" };
        let why = format!("the axis: {start}wf_start_offset + n * wf_increment{rounded}");
        let note = ColumnNote::new(why).unit(unit.map(str::to_owned));
        columns.push(Planned { column, values: Values::Axis(*axis), note });
    }
    if columns.iter().all(|planned| planned.column.column_type != ColumnType::Index) {
        let (column, note) = (numbered::column(&names), numbered::told());
        columns.insert(0, Planned { column, values: Values::Numbers, note });
    }
    columns
}

/// Gives columns the index and the types of the request.
fn apply_options(tables: &mut [Table], options: &ImportOptions) -> Result<()> {
    let all = |tables: &[Table]| -> Vec<String> {
        let columns = tables.iter().flat_map(|table| &table.columns);
        columns.map(|planned| planned.column.name.clone()).collect()
    };
    options.check_names(&all(tables))?;
    for table in &mut *tables {
        for planned in &mut table.columns {
            if let Some(data_type) = options.types.get(&planned.column.name) {
                planned.column.data_type = *data_type;
                planned.note.why = "the request says so".to_owned();
            }
        }
    }
    let Some(name) = &options.index else { return Ok(()) };
    let mut has_any = false;
    for table in &mut *tables {
        let mut columns: Vec<Column> =
            table.columns.iter().map(|planned| planned.column.clone()).collect();
        if columns.iter().all(|column| column.name != *name) {
            continue;
        }
        has_any = true;
        let index = numbered::index_position(&columns, name)?;
        for (at, column) in columns.iter_mut().enumerate() {
            let is_index = column.column_type == ColumnType::Index;
            column.column_type = match (at == index, is_index) {
                (true, _) => ColumnType::Index,
                (false, true) => ColumnType::Normal,
                (false, false) => column.column_type,
            };
        }
        let mut columns = columns.into_iter();
        table.columns.retain_mut(|planned| {
            if let Some(column) = columns.next() {
                planned.column = column;
            }
            // The numbers of rows were only the index.
            let is_index = planned.column.column_type == ColumnType::Index;
            is_index || !matches!(planned.values, Values::Numbers)
        });
    }
    if has_any {
        return Ok(());
    }
    let columns: Vec<Column> = tables
        .iter()
        .flat_map(|table| &table.columns)
        .map(|planned| planned.column.clone())
        .collect();
    numbered::index_position(&columns, name).map(|_| ())
}
