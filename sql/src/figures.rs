//! The figures of test results as table functions: `yields`, `rolled_throughput`, `failure_pareto`,
//! `capability`, `histogram` and `control_chart`.
//!
//! Each asks the store for the figure, so its numbers are those of `ResultService`. The answer is in
//! memory, which counts to that of the engine; only the columns are made of it that the statement
//! names.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, Int64Builder, ListArray, ListBuilder,
    MapBuilder, RecordBatch, RecordBatchOptions, StringArray, StringBuilder, StructArray,
    TimestampMillisecondArray,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use datafusion::catalog::{TableFunctionImpl, TableProvider};
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableType};
use serde_json::{Map, Value, to_value};
use stationdb::chrono::{DateTime, Utc};
use stationdb::results::{
    CapabilityRequest, ChartPoint, ChartType, ControlChartRequest, FailureParetoRequest,
    HistogramRequest, ParetoBasis, ParetoBy, ParetoEntry, ParetoKey, ResultService, RolledYield,
    YieldGroup, YieldsRequest,
};
use stationdb::{Control, Error, ErrorKind, Place, Session};

use crate::batches::{Memory, misfit};
use crate::decimate::split;
use crate::pages::{Page, PageRequest, Pages};
use crate::search::{number, text};

/// Points of a control chart that are read together.
const POINTS: i64 = 100_000;
/// Rows that are made together.
const ROWS: usize = 1_024;
/// Bytes of an entry of a list or map that are not those of its texts.
const ENTRY_BYTES: usize = 64;

/// The type of a column, by what JSON has for it.
#[derive(Clone, Copy, Debug)]
enum Form {
    Text,
    Int,
    Float,
    Bool,
    Time,
    Texts,
    Counts,
    Struct(&'static [Column]),
    Structs(&'static [Column]),
}

/// Name of a column, the member of the answer that it is, and its form.
type Column = (&'static str, &'static str, Form);

const PROGRAMS: &[Column] = &[
    ("program_name", "programName", Form::Text),
    ("first_pass_yield", "firstPassYield", Form::Float),
];

const ROLLED: &[Column] = &[
    ("part_number", "partNumber", Form::Text),
    ("programs", "programs", Form::Structs(PROGRAMS)),
    ("rolled_throughput_yield", "rolledThroughputYield", Form::Float),
    ("normalized_yield", "normalizedYield", Form::Float),
];

const YIELDS: &[Column] = &[
    ("first_pass_yield", "firstPassYield", Form::Float),
    ("final_yield", "finalYield", Form::Float),
    ("result_yield", "resultYield", Form::Float),
    ("retest_rate", "retestRate", Form::Float),
    ("good", "good", Form::Int),
    ("bad", "bad", Form::Int),
    ("not_counted", "notCounted", Form::Counts),
    ("units", "units", Form::Int),
    ("first_units", "firstUnits", Form::Int),
    ("retests", "retests", Form::Int),
];

const PARETO: &[Column] = &[
    ("key", "key", Form::Text),
    ("measurement", "measurement", Form::Text),
    ("count", "count", Form::Int),
    ("fraction", "fraction", Form::Float),
    ("cumulative", "cumulative", Form::Float),
    ("total", "total", Form::Int),
    ("results", "results", Form::Int),
    ("good", "good", Form::Int),
    ("not_counted", "notCounted", Form::Counts),
    ("not_first", "notFirst", Form::Int),
];

const CAPABILITY: &[Column] = &[
    ("n", "n", Form::Int),
    ("mean", "mean", Form::Float),
    ("minimum", "minimum", Form::Float),
    ("maximum", "maximum", Form::Float),
    ("overall_deviation", "overallDeviation", Form::Float),
    ("within_deviation", "withinDeviation", Form::Float),
    ("cp", "cp", Form::Float),
    ("cpl", "cpl", Form::Float),
    ("cpu", "cpu", Form::Float),
    ("cpk", "cpk", Form::Float),
    ("pp", "pp", Form::Float),
    ("ppl", "ppl", Form::Float),
    ("ppu", "ppu", Form::Float),
    ("ppk", "ppk", Form::Float),
    (
        "zero_deviation",
        "zeroDeviation",
        Form::Struct(&[("within", "within", Form::Bool), ("overall", "overall", Form::Bool)]),
    ),
    ("low_limit", "lowLimit", Form::Float),
    ("high_limit", "highLimit", Form::Float),
    ("limits_vary", "limitsVary", Form::Bool),
    ("limits_invalid", "limitsInvalid", Form::Bool),
    ("left_over", "leftOver", Form::Int),
    ("not_numbers", "notNumbers", Form::Int),
    ("skipped", "skipped", Form::Int),
];

const HISTOGRAM: &[Column] = &[
    ("lower", "lower", Form::Float),
    ("upper", "upper", Form::Float),
    ("count", "count", Form::Int),
    ("n", "n", Form::Int),
    ("below", "below", Form::Int),
    ("above", "above", Form::Int),
    ("minimum", "minimum", Form::Float),
    ("maximum", "maximum", Form::Float),
    ("not_numbers", "notNumbers", Form::Int),
    ("skipped", "skipped", Form::Int),
];

const LIMITS: &[Column] = &[
    ("center", "center", Form::Float),
    ("lower", "lower", Form::Float),
    ("upper", "upper", Form::Float),
];

const CHART: &[Column] = &[
    ("index", "index", Form::Int),
    ("value", "value", Form::Float),
    ("range", "range", Form::Float),
    ("started_at", "startedAt", Form::Time),
    ("result_id", "resultId", Form::Text),
    ("step_id", "stepId", Form::Text),
    ("rules", "rules", Form::Texts),
    ("range_rules", "rangeRules", Form::Texts),
    ("limits", "limits", Form::Struct(LIMITS)),
    ("range_limits", "rangeLimits", Form::Struct(LIMITS)),
    ("n", "n", Form::Int),
    ("left_over", "leftOver", Form::Int),
    ("not_numbers", "notNumbers", Form::Int),
    ("skipped", "skipped", Form::Int),
];

impl Form {
    /// The values that the rows have for a member, which may be missing.
    fn array(self, values: &[Option<&Value>]) -> stationdb::Result<ArrayRef> {
        Ok(match self {
            Self::Text => {
                let texts = values.iter().map(|value| value.and_then(Value::as_str));
                Arc::new(texts.collect::<StringArray>())
            }
            Self::Int => {
                let int = |value: &Option<&Value>| value.and_then(Value::as_i64);
                Arc::new(values.iter().map(int).collect::<Int64Array>())
            }
            Self::Float => {
                let float = |value: &Option<&Value>| value.and_then(Value::as_f64);
                Arc::new(values.iter().map(float).collect::<Float64Array>())
            }
            Self::Bool => {
                let flag = |value: &Option<&Value>| value.and_then(Value::as_bool);
                Arc::new(values.iter().map(flag).collect::<BooleanArray>())
            }
            Self::Time => {
                let time = |value: &Option<&Value>| {
                    let at: DateTime<Utc> = value.and_then(Value::as_str)?.parse().ok()?;
                    Some(at.timestamp_millis())
                };
                let times = values.iter().map(time).collect::<TimestampMillisecondArray>();
                Arc::new(times.with_timezone("UTC"))
            }
            Self::Texts => {
                let mut list = ListBuilder::new(StringBuilder::new());
                for value in values {
                    let texts = value.and_then(Value::as_array).into_iter().flatten();
                    texts.for_each(|text| list.values().append_option(text.as_str()));
                    list.append(true);
                }
                Arc::new(list.finish())
            }
            Self::Counts => {
                let mut map = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
                for value in values {
                    for (key, count) in value.and_then(Value::as_object).into_iter().flatten() {
                        map.keys().append_value(key);
                        map.values().append_option(count.as_i64());
                    }
                    map.append(true).map_err(misfit)?;
                }
                Arc::new(map.finish())
            }
            Self::Structs(members) => {
                let lists = values.iter().map(|value| value.and_then(Value::as_array));
                let lengths = lists.clone().map(|list| list.map_or(0, Vec::len));
                let offsets = OffsetBuffer::from_lengths(lengths);
                let entries: Vec<Option<&Value>> = lists.flatten().flatten().map(Some).collect();
                let entries = Self::Struct(members).array(&entries)?;
                let item = Arc::new(Field::new_list_field(entries.data_type().clone(), true));
                Arc::new(ListArray::try_new(item, offsets, entries, None).map_err(misfit)?)
            }
            Self::Struct(members) => {
                let arrays = members.iter().map(|(_, member, form)| {
                    let values = values.iter().map(|value| value.and_then(|all| all.get(member)));
                    form.array(&values.collect::<Vec<_>>())
                });
                let arrays = arrays.collect::<stationdb::Result<Vec<_>>>()?;
                let fields = members
                    .iter()
                    .zip(&arrays)
                    .map(|((name, ..), array)| Field::new(*name, array.data_type().clone(), true));
                let fields: Fields = fields.collect();
                Arc::new(StructArray::try_new(fields, arrays, None).map_err(misfit)?)
            }
        })
    }
}

/// A figure with its arguments.
#[derive(Clone, Debug)]
enum Figure {
    Yields(YieldsRequest),
    Rolled(YieldsRequest),
    Pareto(FailureParetoRequest),
    Capability(CapabilityRequest),
    Histogram(HistogramRequest),
    Chart(ControlChartRequest),
}

/// A part of an answer as JSON; the store's answers are always that.
fn json(part: serde_json::Result<Value>) -> stationdb::Result<Value> {
    part.map_err(|error| {
        Error::io("preparing figures for SQL", std::io::Error::other(error.to_string()))
    })
}

/// Rows, each as JSON when it is asked for.
type Rows = Box<dyn Iterator<Item = stationdb::Result<Value>>>;

/// The rows of an answer.
struct Answer {
    rows: Rows,
    /// Members that all rows have.
    of_all: Map<String, Value>,
    /// The memory of the rows, about.
    bytes: usize,
    /// The token of the next page.
    next: Option<String>,
}

impl Answer {
    fn new<T: 'static>(
        rows: Vec<T>,
        row: fn(T) -> serde_json::Result<Value>,
        texts: fn(&T) -> usize,
    ) -> Self {
        let bytes = rows.iter().map(|row| size_of::<T>() + texts(row)).sum();
        let rows = Box::new(rows.into_iter().map(move |one| json(row(one))));
        Self { rows, of_all: Map::new(), bytes, next: None }
    }

    /// With the members of an answer that are of all rows.
    fn with(mut self, answer: serde_json::Result<Value>) -> stationdb::Result<Self> {
        if let Value::Object(members) = json(answer)? {
            self.of_all = members;
        }
        Ok(self)
    }
}

fn bytes_of_group(group: &YieldGroup) -> usize {
    let keys = group.keys.iter().flatten().map(String::len).sum::<usize>();
    keys + (group.keys.len() + group.not_counted.len()) * ENTRY_BYTES
}

fn bytes_of_rolled(rolled: &RolledYield) -> usize {
    let names = rolled.programs.iter().map(|program| program.program_name.len() + ENTRY_BYTES);
    names.sum::<usize>() + rolled.part_number.as_ref().map_or(0, String::len)
}

fn bytes_of_entry(entry: &ParetoEntry) -> usize {
    match &entry.key {
        None => 0,
        Some(ParetoKey::Text(text)) => text.len(),
        Some(ParetoKey::Measurement(key)) => {
            key.path.len() + key.measurement.as_ref().map_or(0, String::len)
        }
    }
}

fn bytes_of_point(point: &ChartPoint) -> usize {
    let rules = (point.rules.len() + point.range_rules.len()) * ENTRY_BYTES;
    rules + point.result_id.len() + point.step_id.len()
}

impl Figure {
    /// The keys of groups, which are the first columns.
    fn keys(&self) -> &[String] {
        match self {
            Self::Yields(request) => request.group_by.as_deref().unwrap_or_default(),
            _ => &[],
        }
    }

    fn columns(&self) -> &'static [Column] {
        match self {
            Self::Yields(_) => YIELDS,
            Self::Rolled(_) => ROLLED,
            Self::Pareto(_) => PARETO,
            Self::Capability(_) => CAPABILITY,
            Self::Histogram(_) => HISTOGRAM,
            Self::Chart(_) => CHART,
        }
    }

    fn schema(&self) -> stationdb::Result<SchemaRef> {
        let all: Vec<usize> = (0..self.keys().len() + self.columns().len()).collect();
        Ok(self.batch(&[], &Map::new(), &all)?.schema())
    }

    /// Rows with the columns at these positions.
    fn batch(
        &self,
        rows: &[Value],
        of_all: &Map<String, Value>,
        columns: &[usize],
    ) -> stationdb::Result<RecordBatch> {
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        let keys = self.keys();
        for at in columns.iter().copied() {
            if let Some(key) = keys.get(at) {
                let values = rows.iter().map(|row| row.get("keys")?.get(at)?.as_str());
                arrays.push(Arc::new(values.collect::<StringArray>()) as ArrayRef);
                // The keys of properties are data.
                let name = if key.contains('.') { key.clone() } else { key.to_lowercase() };
                fields.push(Field::new(name, DataType::Utf8, true));
            } else if let Some((name, member, form)) = self.columns().get(at - keys.len()) {
                let value = |row| Value::get(row, member).or_else(|| of_all.get(*member));
                let array = form.array(&rows.iter().map(value).collect::<Vec<_>>())?;
                fields.push(Field::new(*name, array.data_type().clone(), true));
                arrays.push(array);
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let schema = Arc::new(Schema::new(fields));
        RecordBatch::try_new_with_options(schema, arrays, &options).map_err(misfit)
    }

    /// The arguments that are given, for `explain`.
    fn arguments(&self) -> Value {
        let request = match self {
            Self::Yields(request) | Self::Rolled(request) => to_value(request),
            Self::Pareto(request) => to_value(request),
            Self::Capability(request) => to_value(request),
            Self::Histogram(request) => to_value(request),
            Self::Chart(request) => to_value(request),
        };
        let mut members = request.ok().and_then(|request| request.as_object().cloned());
        if let Some(members) = &mut members {
            members.retain(|_, value| !value.is_null());
        }
        Value::Object(members.unwrap_or_default())
    }

    /// The rows of the page after a token.
    fn answer(&self, session: &Session, token: Option<String>) -> stationdb::Result<Answer> {
        // The session has that of the statement.
        let control = &Control::default();
        Ok(match self {
            Self::Yields(request) => {
                let answer = session.yields(request.clone(), control)?;
                Answer::new(answer.groups, to_value, bytes_of_group)
            }
            Self::Rolled(request) => {
                let answer = session.yields(request.clone(), control)?;
                Answer::new(answer.rolled_throughput, to_value, bytes_of_rolled)
            }
            Self::Pareto(request) => {
                let mut answer = session.failure_pareto(request.clone(), control)?;
                let entries = std::mem::take(&mut answer.entries);
                let entry = |entry| to_value(entry).map(key_in_columns);
                Answer::new(entries, entry, bytes_of_entry).with(to_value(answer))?
            }
            Self::Capability(request) => {
                Answer::new(vec![session.capability(request.clone(), control)?], to_value, |_| 0)
            }
            Self::Histogram(request) => {
                let mut answer = session.histogram(request.clone(), control)?;
                let ranges = std::mem::take(&mut answer.ranges);
                Answer::new(ranges, to_value, |_| 0).with(to_value(answer))?
            }
            Self::Chart(request) => {
                let mut request = request.clone();
                request.continuation_token = token;
                let mut answer = session.control_chart(request, control)?;
                let (points, next) =
                    (std::mem::take(&mut answer.points), answer.continuation_token.take());
                let found = Answer::new(points, to_value, bytes_of_point);
                Answer { next, ..found.with(to_value(answer))? }
            }
        })
    }

    /// A page. It is one batch, so that its rows stay in order.
    fn page(&self, session: &Session, request: PageRequest<'_>) -> stationdb::Result<Page> {
        let Answer { mut rows, of_all, bytes, next } = self.answer(session, request.token)?;
        count_memory(request.memory, bytes)?;
        let nothing = self.batch(&[], &of_all, request.columns)?;
        let schema = nothing.schema();
        let (mut parts, mut counted) = (vec![nothing], bytes);
        loop {
            // Only a part of the rows is JSON at a time.
            let part = rows.by_ref().take(ROWS).collect::<stationdb::Result<Vec<_>>>()?;
            if part.is_empty() {
                break;
            }
            let part = self.batch(&part, &of_all, request.columns)?;
            // They are there twice when they become one.
            counted += 2 * part.get_array_memory_size();
            count_memory(request.memory, counted)?;
            parts.push(part);
        }
        let batch = concat_batches(&schema, &parts).map_err(misfit);
        Ok(Page { batches: Box::new(std::iter::once(batch)), next })
    }
}

/// Counts the memory of a page to that of the engine, in place of the page before.
fn count_memory(memory: &Memory, bytes: usize) -> stationdb::Result<()> {
    memory.try_resize(bytes).map_err(|error| {
        Error::new(ErrorKind::LimitExceeded, format!("the rows of a figure: {error}"))
    })
}

/// The key by measurement has two members, which are columns.
fn key_in_columns(mut row: Value) -> Value {
    if let Some(Value::Object(mut key)) = row.get("key").cloned() {
        row["key"] = key.remove("path").unwrap_or_default();
        row["measurement"] = key.remove("measurement").unwrap_or_default();
    }
    row
}

/// What the store says of several paths and units names members of its requests, which SQL does not
/// have.
fn in_arguments(error: Error) -> Error {
    let (said, instead) = match error.place() {
        Some(Place::Member(member)) if member == "units" => (
            "name one of them, \"\" for none",
            "name one of them as the last argument, '' for none",
        ),
        Some(Place::Member(member)) if member == "path" => (
            "name a path or stepName, or set anyPath",
            "name a path as the second argument, or use the table `measurements` for several",
        ),
        _ => return error,
    };
    match error.message().split_once(said) {
        Some((before, after)) => Error::new(error.kind(), format!("{before}{instead}{after}")),
        None => error,
    }
}

/// Whether an argument is the literal null.
fn is_null(arg: &Expr) -> bool {
    matches!(arg, Expr::Literal(value, _) if value.is_null())
}

/// The path of an argument: its names joined by line feeds as columns have them, by `\n` as filters
/// and errors have them, or else by ` > ` as the shell shows them.
fn path_of(text: &str) -> String {
    if text.contains('\n') {
        text.to_owned()
    } else if text.contains("\\n") {
        text.replace("\\n", "\n")
    } else {
        text.replace(" > ", "\n")
    }
}

/// The functions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Function {
    Yields,
    Rolled,
    Pareto,
    Capability,
    Histogram,
    Chart,
}

impl Function {
    pub(crate) const ALL: [Self; 6] =
        [Self::Yields, Self::Rolled, Self::Pareto, Self::Capability, Self::Histogram, Self::Chart];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Yields => "yields",
            Self::Rolled => "rolled_throughput",
            Self::Pareto => "failure_pareto",
            Self::Capability => "capability",
            Self::Histogram => "histogram",
            Self::Chart => "control_chart",
        }
    }

    /// How it is called.
    fn form(self) -> &'static str {
        match self {
            Self::Yields => {
                "yields takes a filter of results and what to group by, as yields('', 'WEEK')"
            }
            Self::Rolled => "rolled_throughput takes a filter of results, as rolled_throughput('')",
            Self::Pareto => {
                "failure_pareto takes a filter of results, what to count by, and FIRST or ALL failing \
                 steps of a result, as failure_pareto('', 'PATH', 'ALL')"
            }
            Self::Capability => {
                "capability takes a filter of results, a path, the name of a measurement and its \
                 units, as capability('', '', 'VOUT', 'V')"
            }
            Self::Histogram => {
                "histogram takes a filter of results, a path, the name of a measurement, a number \
                 of ranges and the units, as histogram('', '', 'VOUT', 20, 'V')"
            }
            Self::Chart => {
                "control_chart takes a filter of results, a path, the name of a measurement, a \
                 number of values in a subgroup and the units, as control_chart('', '', 'VOUT', 5, \
                 'V')"
            }
        }
    }

    /// The figure of arguments; `None` for arguments that the function does not have.
    fn figure(self, args: &[Expr]) -> Option<Figure> {
        let given = |at: usize| args.get(at).map_or(Some(String::new()), text);
        let some = |text: String| Some(text).filter(|text| !text.trim().is_empty());
        let filter = some(given(0)?);
        let most = match self {
            Self::Rolled => 1,
            Self::Yields => 2,
            Self::Pareto => 3,
            Self::Capability => 4,
            Self::Histogram | Self::Chart => 5,
        };
        if args.is_empty() || args.len() > most {
            return None;
        }
        match self {
            Self::Yields => {
                let groups = given(1)?;
                let groups = split(&groups).into_iter().filter(|group| !group.is_empty());
                let mut request = YieldsRequest::new().group_by(groups);
                request.filter = filter;
                return Some(Figure::Yields(request));
            }
            Self::Rolled => {
                let mut request = YieldsRequest::new();
                request.filter = filter;
                return Some(Figure::Rolled(request));
            }
            Self::Pareto => {
                let mut request = FailureParetoRequest::new();
                if let Some(by) = some(given(1)?) {
                    request.by = Some(by.parse::<ParetoBy>().ok()?);
                }
                if let Some(basis) = some(given(2)?) {
                    request.basis = Some(basis.parse::<ParetoBasis>().ok()?);
                }
                request.filter = filter;
                return Some(Figure::Pareto(request));
            }
            Self::Capability | Self::Histogram | Self::Chart => {}
        }
        let (path, name) = (some(given(1)?).map(|path| path_of(&path)), some(given(2)?)?);
        // The units are last; those of null, and those that are left out, are any single ones.
        let given = |at: usize| args.get(at).filter(|arg| !is_null(arg));
        let count = match (self, given(3)) {
            (Self::Capability, _) | (_, None) => None,
            (_, Some(count)) => Some(number(count)?),
        };
        let units = match given(most - 1) {
            None => None,
            Some(units) => Some(text(units)?),
        };
        Some(match self {
            Self::Histogram => {
                let mut request = HistogramRequest::new(name);
                (request.filter, request.path, request.bins) = (filter, path, count);
                request.units = units;
                Figure::Histogram(request)
            }
            Self::Chart => {
                let mut request = ControlChartRequest::new(name).take(POINTS);
                (request.filter, request.path, request.units) = (filter, path, units);
                request.chart = count.map(|_| ChartType::Means);
                request.subgroup_size = count;
                Figure::Chart(request)
            }
            _ => {
                let mut request = CapabilityRequest::new(name);
                (request.filter, request.path, request.units) = (filter, path, units);
                Figure::Capability(request)
            }
        })
    }
}

/// A function over a session.
#[derive(Debug)]
pub(crate) struct FigureFunction {
    pub(crate) function: Function,
    pub(crate) session: Session,
}

impl TableFunctionImpl for FigureFunction {
    fn call(&self, exprs: &[Expr]) -> Result<Arc<dyn TableProvider>> {
        let Some(figure) = self.function.figure(exprs) else {
            return plan_err!("{}", self.function.form());
        };
        let schema = figure.schema().map_err(crate::errors::external)?;
        let label = format!("{} {}", self.function.name(), figure.arguments());
        // Each page computes the figure anew, so one has all rows that it can have.
        let read = move |session: &Session, request: PageRequest<'_>| {
            figure.page(session, request).map_err(in_arguments)
        };
        let pages = Pages::new(label, &self.session, schema, TableType::Temporary, Arc::new(read));
        Ok(Arc::new(pages))
    }
}
