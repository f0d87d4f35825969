//! Answers that are exact at the edges of types, or errors.
//!
//! Each rule here works around answers of DataFusion 55.2 that differ from exact arithmetic; it can
//! go with the version that answers alike, which `tests/edges` shows when the rule is taken out.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    AggregateUDF, BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, ScalarUDF, lit,
};
use datafusion::optimizer::analyzer::AnalyzerRule;
use datafusion::optimizer::{Analyzer, ApplyOrder, Optimizer, OptimizerConfig, OptimizerRule};
use datafusion::scalar::ScalarValue;

use crate::door::rewritten;

mod aggregates;
mod checked;
mod compare;
mod date_trunc;
mod frames;
mod integers;
mod literals;
mod mixed;
mod percentile;
mod settle;
mod terms;

pub(crate) use settle::array as settled;
use terms::called;

/// The value of a column of times in UTC or without a zone that is exactly this one, a text or a time
/// in UTC or without a zone.
pub(crate) fn time_in(value: &ScalarValue, data_type: &DataType) -> Option<ScalarValue> {
    let DataType::Timestamp(unit, zone) = data_type else { return None };
    let count = match value {
        text if text.data_type().is_string() => {
            match literals::instant(text.try_as_str().flatten()?, *unit)? {
                terms::IntegerPosition::At(count, false) => count,
                _ => return None,
            }
        }
        ScalarValue::TimestampSecond(Some(count), own) if terms::is_utc(own) => {
            finer(*count, TimeUnit::Second, *unit)?
        }
        ScalarValue::TimestampMillisecond(Some(count), own) if terms::is_utc(own) => {
            finer(*count, TimeUnit::Millisecond, *unit)?
        }
        ScalarValue::TimestampMicrosecond(Some(count), own) if terms::is_utc(own) => {
            finer(*count, TimeUnit::Microsecond, *unit)?
        }
        ScalarValue::TimestampNanosecond(Some(count), own) if terms::is_utc(own) => {
            finer(*count, TimeUnit::Nanosecond, *unit)?
        }
        _ => return None,
    };
    terms::is_utc(zone).then(|| terms::scalar_of(count, data_type))
}

/// The count in another unit, if it is a whole number there.
fn finer(count: i64, from: TimeUnit, to: TimeUnit) -> Option<i64> {
    let scaled = i128::from(count) * terms::per_second(to);
    let divisor = terms::per_second(from);
    (scaled % divisor == 0).then(|| i64::try_from(scaled / divisor).ok()).flatten()
}

/// The functions that the rules put into plans, and those that replace the engine's.
pub(crate) fn functions() -> Vec<ScalarUDF> {
    let mut all = vec![
        compare::function().as_ref().clone(),
        date_trunc::function(),
        settle::function().as_ref().clone(),
    ];
    let checked = integers::functions().iter().chain(checked::functions());
    all.extend(checked.map(|function| function.as_ref().clone()));
    all
}

/// The aggregates that replace the engine's.
pub(crate) fn aggregates() -> Vec<AggregateUDF> {
    vec![percentile::function().as_ref().clone()]
}

/// The rules of analysis of DataFusion, and these.
pub(crate) fn analyzers() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let mut rules = Analyzer::new().rules;
    // Before the types of a comparison are made one: that cuts the literal.
    let place = rules.iter().position(|rule| rule.name() == "type_coercion").unwrap_or(0);
    rules.insert(place, Arc::new(ExactLiterals));
    rules.push(Arc::new(aggregates::Aggregates));
    rules.push(Arc::new(ExactOperators));
    rules
}

/// The rules of DataFusion, and one.
pub(crate) fn optimizers() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let mut rules = Optimizer::new().rules;
    let place = rules.iter().position(|rule| rule.name() == "simplify_expressions");
    rules.insert(place.map_or(0, |place| place + 1), Arc::new(ExactConstants));
    rules
}

/// Comparisons with what has become a constant, as the store tests them.
#[derive(Debug)]
struct ExactConstants;

impl OptimizerRule for ExactConstants {
    fn name(&self) -> &str {
        "Constants"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let schema = merge_schema(&plan.inputs());
        let names = NamePreserver::new(&plan);
        plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let done = expr.transform_up(|expr| Ok(compare::with_constant(expr, &schema)))?;
            Ok(done.update_data(|expr| name.restore(expr)))
        })
    }
}

/// Compares times with literals as they are written, and refuses comparisons of changed values.
#[derive(Debug)]
struct ExactLiterals;

impl AnalyzerRule for ExactLiterals {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        mixed::check_joins(&plan)?;
        rewritten(plan, |expr, schema| match mixed::rewrite(expr, schema)? {
            done if done.transformed => Ok(done),
            same => Ok(literals::rewrite(same.data, schema)),
        })
    }

    fn name(&self) -> &str {
        "Literals"
    }
}

/// Makes operators exact.
#[derive(Debug)]
struct ExactOperators;

impl AnalyzerRule for ExactOperators {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        rewritten(plan, rewrite)
    }

    fn name(&self) -> &str {
        "Exact"
    }
}

fn rewrite(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    use Operator as O;
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right })
            if matches!(
                op,
                O::Plus
                    | O::Minus
                    | O::Multiply
                    | O::Divide
                    | O::Modulo
                    | O::BitwiseShiftLeft
                    | O::BitwiseShiftRight
            ) =>
        {
            let types = (left.get_type(schema)?, right.get_type(schema)?);
            let is_float = types.0.is_floating() || types.1.is_floating();
            if types.0.is_integer() && types.1.is_integer() {
                if let Some(func) = integers::of(op) {
                    return Ok(Transformed::yes(called(func, vec![*left, *right])));
                }
            }
            if matches!(op, O::Plus | O::Minus) && (types.0.is_temporal() || types.1.is_temporal())
            {
                let left = Box::new(checked::step(*left, &types.1, schema)?);
                let right = Box::new(checked::step(*right, &types.0, schema)?);
                let expr = Expr::BinaryExpr(BinaryExpr { left, op, right });
                return Ok(Transformed::yes(expr));
            }
            let expr = Expr::BinaryExpr(BinaryExpr { left, op, right });
            // The first version of DataFusion without a sign of NaN in its order makes this go.
            Ok(if is_float { Transformed::yes(settle::of(expr)) } else { Transformed::no(expr) })
        }
        Expr::Negative(inner) => {
            let data_type = inner.get_type(schema)?;
            Ok(match data_type {
                // DataFusion 55.2 wraps the negation of the least integer.
                _ if data_type.is_signed_integer() => {
                    let zero = Expr::Literal(ScalarValue::new_zero(&data_type)?, None);
                    let minus = integers::of(O::Minus);
                    match minus {
                        Some(func) => Transformed::yes(called(func, vec![zero, *inner])),
                        None => Transformed::no(Expr::Negative(inner)),
                    }
                }
                _ if data_type.is_floating() => Transformed::yes(settle::of(Expr::Negative(inner))),
                _ => Transformed::no(Expr::Negative(inner)),
            })
        }
        Expr::Cast(cast) if is_narrowed(&cast.expr, cast.field.data_type(), schema)? => {
            Ok(Transformed::yes(checked::narrowed(*cast.expr, false)))
        }
        Expr::TryCast(cast) if is_narrowed(&cast.expr, cast.field.data_type(), schema)? => {
            Ok(Transformed::yes(checked::narrowed(*cast.expr, true)))
        }
        Expr::Cast(cast) if cast.field.data_type().is_floating() => {
            let is_safe = settle::is_safe(&cast.expr.get_type(schema)?, cast.field.data_type());
            let expr = Expr::Cast(cast);
            Ok(if is_safe { Transformed::no(expr) } else { Transformed::yes(settle::of(expr)) })
        }
        Expr::TryCast(cast) if cast.field.data_type().is_floating() => {
            let is_safe = settle::is_safe(&cast.expr.get_type(schema)?, cast.field.data_type());
            let expr = Expr::TryCast(cast);
            Ok(if is_safe { Transformed::no(expr) } else { Transformed::yes(settle::of(expr)) })
        }
        Expr::ScalarFunction(ref call) if !is_settled(call.name()) => {
            let is_float = expr.get_type(schema)?.is_floating();
            Ok(if is_float { Transformed::yes(settle::of(expr)) } else { Transformed::no(expr) })
        }
        Expr::Literal(ref value, _) => match settle::literal(value) {
            Some(value) => Ok(Transformed::yes(lit(value))),
            None => Ok(Transformed::no(expr)),
        },
        Expr::BinaryExpr(binary) if terms::is_comparison(binary.op) => {
            compare::rewrite(binary, schema)
        }
        expr @ (Expr::Between(_) | Expr::InList(_)) => {
            let split = compare::split(expr, schema)?;
            match split.data {
                Expr::InList(list) => literals::without_null(list),
                data => Ok(Transformed { data, ..split }),
            }
        }
        other => Ok(Transformed::no(other)),
    }
}

/// Whether the cast makes a float of 32 bits of one of 64.
fn is_narrowed(from: &Expr, to: &DataType, schema: &DFSchema) -> Result<bool> {
    Ok(*to == DataType::Float32 && from.get_type(schema)? == DataType::Float64)
}

/// Whether a float that the function makes has no sign of NaN and zero.
fn is_settled(name: &str) -> bool {
    settle::KEPT.contains(&name) || checked::NAMES.contains(&name)
}
