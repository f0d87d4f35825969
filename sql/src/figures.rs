//! The figures of test results as table functions: `yields`, `failure_pareto`, `capability`,
//! `histogram` and `control_chart`.
//!
//! Each asks the store for the figure, so its numbers are those of `ResultService`.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, Int64Builder, ListBuilder, MapBuilder,
    RecordBatch, StringArray, StringBuilder, StructArray, TimestampMillisecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use datafusion::catalog::{Session as Planner, TableFunctionImpl, TableProvider};
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use serde_json::{Value, to_value};
use stationdb::chrono::{DateTime, Utc};
use stationdb::results::{
    CapabilityRequest, ChartType, ControlChartRequest, FailureParetoRequest, HistogramRequest,
    ParetoBy, ResultService, YieldsRequest,
};
use stationdb::{Control, Error, Session};

use crate::pages::misfit;
use crate::scan::{Batches, StoreScan, project};
use crate::search::{number, text};

/// Points of a control chart that are read together.
const POINTS: i64 = 100_000;

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
}

/// Name of a column, the member of the answer that it is, and its form.
type Column = (&'static str, &'static str, Form);

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
];

impl Form {
    /// The values that the rows have for a member, which may be missing.
    fn array(self, values: &[Option<&Value>]) -> stationdb::Result<ArrayRef> {
        let text = |value: &Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        Ok(match self {
            Self::Text => Arc::new(values.iter().map(text).collect::<StringArray>()),
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
    Pareto(FailureParetoRequest),
    Capability(CapabilityRequest),
    Histogram(HistogramRequest),
    Chart(ControlChartRequest),
}

/// An answer as JSON; the store's answers are always that.
fn json(answer: serde_json::Result<Value>) -> stationdb::Result<Value> {
    answer.map_err(|error| {
        Error::io("preparing figures for SQL", std::io::Error::other(error.to_string()))
    })
}

/// The entries of a list in an answer.
fn list(answer: &Value, member: &str) -> Vec<Value> {
    answer.get(member).and_then(Value::as_array).cloned().unwrap_or_default()
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
            Self::Pareto(_) => PARETO,
            Self::Capability(_) => CAPABILITY,
            Self::Histogram(_) => HISTOGRAM,
            Self::Chart(_) => CHART,
        }
    }

    fn schema(&self) -> stationdb::Result<SchemaRef> {
        Ok(self.batch(&[])?.schema())
    }

    fn batch(&self, rows: &[Value]) -> stationdb::Result<RecordBatch> {
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for (at, key) in self.keys().iter().enumerate() {
            let value = |row: &Value| row.get("keys")?.get(at)?.as_str().map(str::to_owned);
            arrays.push(Arc::new(rows.iter().map(value).collect::<StringArray>()) as ArrayRef);
            // The keys of properties are data.
            let name = if key.contains('.') { key.clone() } else { key.to_lowercase() };
            fields.push(Field::new(name, DataType::Utf8, true));
        }
        for (name, member, form) in self.columns() {
            let values: Vec<Option<&Value>> = rows.iter().map(|row| row.get(member)).collect();
            let array = form.array(&values)?;
            fields.push(Field::new(*name, array.data_type().clone(), true));
            arrays.push(array);
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(misfit)
    }

    /// What is read, for `explain`.
    fn label(&self) -> String {
        let (name, request) = match self {
            Self::Yields(request) => ("yields", json(to_value(request))),
            Self::Pareto(request) => ("failure_pareto", json(to_value(request))),
            Self::Capability(request) => ("capability", json(to_value(request))),
            Self::Histogram(request) => ("histogram", json(to_value(request))),
            Self::Chart(request) => ("control_chart", json(to_value(request))),
        };
        let mut members = request.ok().and_then(|request| request.as_object().cloned());
        if let Some(members) = &mut members {
            members.retain(|_, value| !value.is_null());
        }
        format!("{name} {}", Value::Object(members.unwrap_or_default()))
    }

    /// The rows of a page, and the figure with the next one.
    fn page(
        &self,
        session: &Session,
        control: &Control,
    ) -> stationdb::Result<(Vec<Value>, Option<Self>)> {
        match self {
            Self::Yields(request) => Ok((
                list(&json(to_value(session.yields(request.clone(), control)?))?, "groups"),
                None,
            )),
            Self::Pareto(request) => {
                let answer = json(to_value(session.failure_pareto(request.clone(), control)?))?;
                let mut rows = list(&answer, "entries");
                for row in rows.iter_mut().filter_map(Value::as_object_mut) {
                    // The key by measurement has two members.
                    if let Some(Value::Object(mut key)) = row.get("key").cloned() {
                        row.insert("key".to_owned(), key.remove("path").unwrap_or_default());
                        let measurement = key.remove("measurement").unwrap_or_default();
                        row.insert("measurement".to_owned(), measurement);
                    }
                }
                Ok((rows, None))
            }
            Self::Capability(request) => {
                Ok((vec![json(to_value(session.capability(request.clone(), control)?))?], None))
            }
            Self::Histogram(request) => Ok((
                list(&json(to_value(session.histogram(request.clone(), control)?))?, "ranges"),
                None,
            )),
            Self::Chart(request) => {
                let chart = session.control_chart(request.clone(), control)?;
                let next = chart
                    .continuation_token
                    .clone()
                    .map(|token| Self::Chart(request.clone().continuation_token(token)));
                let answer = json(to_value(chart))?;
                let mut rows = list(&answer, "points");
                for row in rows.iter_mut().filter_map(Value::as_object_mut) {
                    for member in ["limits", "rangeLimits"] {
                        let limits = answer.get(member).cloned().unwrap_or_default();
                        row.insert(member.to_owned(), limits);
                    }
                }
                Ok((rows, next))
            }
        }
    }
}

/// The functions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Function {
    Yields,
    Pareto,
    Capability,
    Histogram,
    Chart,
}

impl Function {
    pub(crate) const ALL: [Self; 5] =
        [Self::Yields, Self::Pareto, Self::Capability, Self::Histogram, Self::Chart];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Yields => "yields",
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
            Self::Pareto => {
                "failure_pareto takes a filter of results and what to count by, as \
                 failure_pareto('', 'PATH')"
            }
            Self::Capability => {
                "capability takes a filter of results, a path and the name of a measurement, as \
                 capability('', '', 'VOUT')"
            }
            Self::Histogram => {
                "histogram takes a filter of results, a path, the name of a measurement and a \
                 number of ranges, as histogram('', '', 'VOUT', 20)"
            }
            Self::Chart => {
                "control_chart takes a filter of results, a path, the name of a measurement and a \
                 number of values in a subgroup, as control_chart('', '', 'VOUT', 5)"
            }
        }
    }

    /// The figure of arguments; `None` for arguments that the function does not have.
    fn figure(self, args: &[Expr]) -> Option<Figure> {
        let given = |at: usize| args.get(at).map_or(Some(String::new()), text);
        let some = |text: String| Some(text).filter(|text| !text.trim().is_empty());
        let filter = some(given(0)?);
        let most = match self {
            Self::Yields | Self::Pareto => 2,
            Self::Capability => 3,
            Self::Histogram | Self::Chart => 4,
        };
        if args.is_empty() || args.len() > most {
            return None;
        }
        match self {
            Self::Yields => {
                let groups = given(1)?;
                let groups = groups.split(',').map(str::trim).filter(|group| !group.is_empty());
                let mut request = YieldsRequest::new().group_by(groups.map(str::to_owned));
                request.filter = filter;
                return Some(Figure::Yields(request));
            }
            Self::Pareto => {
                let mut request = FailureParetoRequest::new();
                if let Some(by) = some(given(1)?) {
                    request.by = Some(by.parse::<ParetoBy>().ok()?);
                }
                request.filter = filter;
                return Some(Figure::Pareto(request));
            }
            Self::Capability | Self::Histogram | Self::Chart => {}
        }
        let (path, name) = (some(given(1)?), some(given(2)?)?);
        let count = match args.get(3) {
            None => None,
            Some(count) => Some(number(count)?),
        };
        Some(match self {
            Self::Histogram => {
                let mut request = HistogramRequest::new(name);
                (request.filter, request.path, request.bins) = (filter, path, count);
                Figure::Histogram(request)
            }
            Self::Chart => {
                let mut request = ControlChartRequest::new(name).take(POINTS);
                (request.filter, request.path) = (filter, path);
                request.chart = count.map(|_| ChartType::Means);
                request.subgroup_size = count;
                Figure::Chart(request)
            }
            _ => {
                let mut request = CapabilityRequest::new(name);
                (request.filter, request.path) = (filter, path);
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
        Ok(Arc::new(FigureTable { session: self.session.clone(), figure, schema }))
    }
}

/// A figure as a table.
#[derive(Debug)]
struct FigureTable {
    session: Session,
    figure: Figure,
    schema: SchemaRef,
}

#[async_trait]
impl TableProvider for FigureTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _state: &dyn Planner,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (schema, columns) = project(&self.schema, projection)?;
        let (session, figure) = (self.session.clone(), self.figure.clone());
        let label = figure.label();
        let open = move |control: &Control| {
            let (session, control) = (session.clone(), control.clone());
            let (mut next, columns) = (Some(figure.clone()), columns.clone());
            let pages = std::iter::from_fn(move || {
                let figure = next.take()?;
                Some(figure.page(&session, &control).and_then(|(rows, following)| {
                    next = following;
                    figure.batch(&rows)?.project(&columns).map_err(misfit)
                }))
            });
            Ok(Box::new(pages) as Batches)
        };
        Ok(Arc::new(StoreScan::new(label, schema, Arc::new(open))))
    }
}
