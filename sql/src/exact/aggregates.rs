//! Sums and averages of integers and decimals without wrapping, percentiles within their values,
//! and results of aggregates with one zero and one NaN.
//!
//! DataFusion 55.2 wraps the sum of INT64 and of decimals of 38 digits, adds the average of INT64
//! in floats, and interpolates percentiles beyond the greatest value. The sums are made in decimals
//! of 38 and of 76 digits, which no number of rows exceeds. A part can go when the engine's own
//! function gives the same answers.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Column, DFSchema};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::functions_aggregate::average::avg_udaf;
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction, WindowFunctionDefinition};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Aggregate, AggregateUDF, Expr, ExprSchemable, LogicalPlan, Projection, Window, cast, lit, when,
};
use datafusion::optimizer::analyzer::AnalyzerRule;
use datafusion::scalar::ScalarValue;

use super::{frames, percentile, settle};
use crate::extremes;

/// Aggregates of ordered values.
const ORDERED: [&str; 5] = [
    "approx_median",
    "approx_percentile_cont",
    "approx_percentile_cont_with_weight",
    "median",
    "percentile_cont",
];
/// Those that are between the least and the greatest value.
const BETWEEN: [&str; 3] =
    ["approx_median", "approx_percentile_cont", "approx_percentile_cont_with_weight"];
/// Aggregates that add values. They are exact anew in each frame that moves.
const MOVING: [&str; 18] = [
    "avg",
    "corr",
    "covar_pop",
    "covar_samp",
    "regr_avgx",
    "regr_avgy",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "regr_sxx",
    "regr_sxy",
    "regr_syy",
    "stddev",
    "stddev_pop",
    "sum",
    "var",
    "var_pop",
];

/// Whether the aggregate computes a float.
fn is_computed(name: &str) -> bool {
    ORDERED.contains(&name) || MOVING.contains(&name) && name != "regr_count"
}

/// Digits of decimals whose sum may have more than a decimal of 128 bits.
const DIGITS_SAFE: u8 = 28;

#[derive(Debug)]
pub(super) struct Aggregates;

impl AnalyzerRule for Aggregates {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Aggregate(aggregate) => of_groups(aggregate),
            LogicalPlan::Window(window) => of_window(window),
            other => Ok(Transformed::no(other)),
        })
        .data()
    }

    fn name(&self) -> &str {
        "Aggregates"
    }
}

/// The calls that a node makes, and the columns that are made of their results.
#[derive(Default)]
struct Calls {
    calls: Vec<Expr>,
    is_changed: bool,
}

impl Calls {
    /// The column of the result of a call, which is made once.
    fn call(&mut self, call: Expr) -> Expr {
        if !self.calls.contains(&call) {
            self.calls.push(call.clone());
        }
        let (relation, name) = call.qualified_name();
        Expr::Column(Column::new(relation, name))
    }

    /// The exact result of a call.
    fn exact(&mut self, expr: Expr, schema: &DFSchema) -> Result<Expr> {
        let call = match &expr {
            Expr::Alias(alias) => alias.expr.as_ref(),
            other => other,
        };
        let (name, args) = match call {
            Expr::AggregateFunction(call) => (call.func.name(), call.params.args.as_slice()),
            Expr::WindowFunction(call) => match &call.fun {
                WindowFunctionDefinition::AggregateUDF(function) => {
                    (function.name(), call.params.args.as_slice())
                }
                WindowFunctionDefinition::WindowUDF(_) => return Ok(self.call(expr)),
            },
            _ => return Ok(self.call(expr)),
        };
        let first = args.first().map(|arg| arg.get_type(schema)).transpose()?;
        let wide = DataType::Decimal128(38, 0);
        if let ("sum", Some(own @ (DataType::Int64 | DataType::UInt64))) = (name, &first) {
            let arg = cast(args[0].clone(), wide);
            let sum = self.call(with(call, sum_udaf(), vec![arg]));
            self.is_changed = true;
            return Ok(cast(sum, own.clone()));
        }
        if let ("avg", Some(arg)) = (name, args.first().and_then(|arg| counted(arg, schema))) {
            let sum = self.call(with(call, sum_udaf(), vec![cast(arg.clone(), wide)]));
            let count = self.call(with(call, count_udaf(), vec![arg]));
            self.is_changed = true;
            let float = DataType::Float64;
            let zero = Expr::Literal(ScalarValue::Int64(Some(0)), None);
            // Without values there is no average.
            let average = cast(sum, float.clone()) / cast(count.clone(), float);
            return when(count.gt(zero), average).end();
        }
        if let ("sum" | "avg", Some(DataType::Decimal128(digits, scale))) = (name, &first) {
            if *digits > DIGITS_SAFE {
                let own = call.get_type(schema)?;
                let func = if name == "sum" { sum_udaf() } else { avg_udaf() };
                let arg = cast(args[0].clone(), DataType::Decimal256(60, *scale));
                let made = self.call(with(call, func, vec![arg]));
                self.is_changed = true;
                return Ok(cast(made, own));
            }
        }
        let is_float = call.get_type(schema)?.is_floating();
        if let ("median", true, [arg]) = (name, is_float, args) {
            let args = vec![arg.clone(), lit(0.5)];
            let made = self.call(with(call, percentile::function(), args));
            self.is_changed = true;
            return Ok(settle::of(made));
        }
        let moving = match call {
            Expr::WindowFunction(window) if MOVING.contains(&name) => match &window.fun {
                WindowFunctionDefinition::AggregateUDF(own)
                    if first.as_ref().is_some_and(DataType::is_floating) =>
                {
                    Some(with(call, frames::again(own), args.to_vec()))
                }
                _ => None,
            },
            _ => None,
        };
        if let Some(moving) = moving {
            let made = self.call(moving);
            self.is_changed = true;
            return Ok(if is_float { settle::of(made) } else { made });
        }
        let (name, args) = (name.to_owned(), args.to_vec());
        let call = call.clone();
        let mut result = self.call(expr);
        if let (true, Some(arg), Some(data_type)) =
            (BETWEEN.contains(&name.as_str()), args.first(), &first)
        {
            let [most, least] = extremes::functions()
                .map(|function| self.call(with(&call, Arc::new(function), vec![arg.clone()])));
            let own = call.get_type(schema)?;
            let (least, most) = if own == *data_type {
                (least, most)
            } else {
                (cast(least, own.clone()), cast(most, own))
            };
            self.is_changed = true;
            result = when(result.clone().gt(most.clone()), most)
                .when(result.clone().lt(least.clone()), least)
                .otherwise(result)?;
        }
        if is_float && is_computed(name.as_str()) {
            self.is_changed = true;
            result = settle::of(result);
        }
        Ok(result)
    }
}

/// The integers of 64 bits that an average is taken of.
fn counted(arg: &Expr, schema: &DFSchema) -> Option<Expr> {
    let Expr::Cast(cast) = arg else { return None };
    let from = cast.expr.get_type(schema).ok()?;
    let is_counted = matches!(from, DataType::Int64 | DataType::UInt64)
        && *cast.field.data_type() == DataType::Float64;
    is_counted.then(|| cast.expr.as_ref().clone())
}

/// The same call with another function and other arguments.
fn with(call: &Expr, func: Arc<AggregateUDF>, args: Vec<Expr>) -> Expr {
    match call {
        Expr::AggregateFunction(call) => {
            let mut params = call.params.clone();
            params.args = args;
            params.order_by = Vec::new();
            Expr::AggregateFunction(AggregateFunction { func, params })
        }
        Expr::WindowFunction(call) => {
            let mut params = call.params.clone();
            params.args = args;
            let fun = WindowFunctionDefinition::AggregateUDF(func);
            Expr::WindowFunction(Box::new(WindowFunction { fun, params }))
        }
        other => other.clone(),
    }
}

fn of_groups(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let schema = merge_schema(&[aggregate.input.as_ref()]);
    let mut calls = Calls::default();
    let results = aggregate.aggr_expr.iter().map(|expr| calls.exact(expr.clone(), &schema));
    let results = results.collect::<Result<Vec<_>>>()?;
    if !calls.is_changed {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let before = aggregate.schema.clone();
    let inner = Aggregate::try_new(aggregate.input, aggregate.group_expr, calls.calls)?;
    projected(&before, LogicalPlan::Aggregate(inner), results)
}

fn of_window(window: Window) -> Result<Transformed<LogicalPlan>> {
    let schema = merge_schema(&[window.input.as_ref()]);
    let mut calls = Calls::default();
    let results = window.window_expr.iter().map(|expr| calls.exact(expr.clone(), &schema));
    let results = results.collect::<Result<Vec<_>>>()?;
    if !calls.is_changed {
        return Ok(Transformed::no(LogicalPlan::Window(window)));
    }
    let before = window.schema.clone();
    let inner = Window::try_new(calls.calls, window.input)?;
    projected(&before, LogicalPlan::Window(inner), results)
}

/// The columns of a node as they were: those before the results from the node below, and the
/// results under their names.
fn projected(
    before: &DFSchema,
    inner: LogicalPlan,
    results: Vec<Expr>,
) -> Result<Transformed<LogicalPlan>> {
    let kept = before.fields().len() - results.len();
    let columns = before.columns();
    let mut exprs: Vec<Expr> = columns.iter().take(kept).cloned().map(Expr::Column).collect();
    for (column, result) in columns.into_iter().skip(kept).zip(results) {
        let is_same = matches!(&result, Expr::Column(own) if *own == column);
        exprs.push(if is_same {
            result
        } else {
            result.alias_qualified(column.relation, column.name)
        });
    }
    let plan = Projection::try_new(exprs, Arc::new(inner))?;
    Ok(Transformed::yes(LogicalPlan::Projection(plan)))
}
