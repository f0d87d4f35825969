//! Which values of a statement may differ from call to call of one plan.
//!
//! What must hold: a kept plan answers with other values as the statement with these values does.
//! So a value stays open only where a column is compared with it, and only as a value of the type
//! of the comparison that is equal to it and that the store tests as it tests any other: no null,
//! and no zero or NaN of a float. Every other value is a part of the plan, because rules of planning
//! look at it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::metadata::FieldMetadata;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, ParamValues, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{InList, Placeholder};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};

use crate::exact::time_in;
use crate::filters::time_of;

/// The key of a literal that takes the place of an open value for a while.
const OPEN: &str = "stationdb.open";
/// Integers up to this are floats of 64 bits exactly.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// The values of a plan.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Parameters {
    /// What differs from call to call, and the types in which it is compared.
    open: Vec<(String, DataType)>,
    /// What is a part of the plan.
    fixed: Vec<(String, ScalarValue)>,
}

impl Parameters {
    /// Whether the plan answers the statement with these values.
    pub(super) fn fit(&self, values: Option<&ParamValues>) -> bool {
        let of = |id: &str| value_of(id, values);
        let is_open = |(id, data_type): &(String, DataType)| {
            of(id).is_some_and(|value| converted(&value, data_type).is_some())
        };
        let is_same = |(id, known): &(String, ScalarValue)| of(id).is_some_and(|it| it == *known);
        self.open.iter().all(is_open) && self.fixed.iter().all(is_same)
    }

    /// Bytes of the values in the plan.
    pub(super) fn bytes(&self) -> usize {
        self.fixed.iter().map(|(id, value)| id.len() + value.size()).sum()
    }
}

fn value_of(id: &str, values: Option<&ParamValues>) -> Option<ScalarValue> {
    Some(values?.get_placeholders_with_values(id).ok()?.value)
}

/// The value of an open placeholder, in the type of its comparison.
pub(super) fn opened(place: &Placeholder, values: Option<&ParamValues>) -> Option<Expr> {
    let data_type = place.field.as_ref()?.data_type();
    Some(Expr::Literal(converted(&value_of(&place.id, values)?, data_type)?, None))
}

/// The plan with all values but the open ones, whose placeholders have types.
pub(super) fn bind(
    plan: LogicalPlan,
    written: BTreeSet<String>,
    values: Option<&ParamValues>,
) -> Result<(LogicalPlan, Parameters)> {
    let Some(values) = values else { return Ok((plan, Parameters::default())) };
    let marked = mapped(plan, |expr, schema| Ok(mark(expr, schema, values)))?;
    let mut fixed: BTreeSet<String> = marked.get_parameter_names()?.into_iter().collect();
    fixed.extend(written);
    let bound = marked.with_param_values(values.clone())?;
    let mut open = BTreeMap::new();
    let plan = mapped(bound, |expr, _| Ok(reopened(expr, &mut open)))?;
    let of = |id: String| value_of(&id, Some(values)).map(|value| (id, value));
    let fixed = fixed.into_iter().filter_map(of).collect();
    Ok((plan, Parameters { open: open.into_values().collect(), fixed }))
}

/// A plan with its expressions rewritten from their leaves, under the same names and types.
pub(super) fn mapped(
    plan: LogicalPlan,
    mut rewrite: impl FnMut(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|plan| {
        let schema = merge_schema(&plan.inputs());
        let names = NamePreserver::new(&plan);
        plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let done = expr.transform_up(|expr| rewrite(expr, &schema))?;
            Ok(if done.transformed { done.update_data(|expr| name.restore(expr)) } else { done })
        })
    })
    .data()
}

/// A comparison whose placeholders are literals with a mark, where they stay open.
fn mark(expr: Expr, schema: &DFSchema, values: &ParamValues) -> Transformed<Expr> {
    let beside = |operand: &Expr, item: Expr| marked(operand, item, schema, values);
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(op) => {
            let is_swapped = matches!(*right, Expr::Column(_));
            let (operand, item) = if is_swapped { (right, left) } else { (left, right) };
            beside(&operand, *item).update_data(|item| {
                let item = Box::new(item);
                let (left, right) = if is_swapped { (item, operand) } else { (operand, item) };
                Expr::BinaryExpr(BinaryExpr { left, op, right })
            })
        }
        Expr::Between(Between { expr: operand, negated, low, high }) => {
            let (low, high) = (beside(&operand, *low), beside(&operand, *high));
            let is_any = low.transformed || high.transformed;
            let (low, high) = (Box::new(low.data), Box::new(high.data));
            let made = Expr::Between(Between { expr: operand, negated, low, high });
            if is_any { Transformed::yes(made) } else { Transformed::no(made) }
        }
        Expr::InList(InList { expr: operand, list, negated }) => {
            let list: Vec<_> = list.into_iter().map(|item| beside(&operand, item)).collect();
            let is_any = list.iter().any(|item| item.transformed);
            let list = list.into_iter().map(|item| item.data).collect();
            let made = Expr::InList(InList { expr: operand, list, negated });
            if is_any { Transformed::yes(made) } else { Transformed::no(made) }
        }
        other => Transformed::no(other),
    }
}

fn is_comparison(operator: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

fn marked(
    operand: &Expr,
    item: Expr,
    schema: &DFSchema,
    values: &ParamValues,
) -> Transformed<Expr> {
    let (Expr::Column(_), Expr::Placeholder(place)) = (operand, &item) else {
        return Transformed::no(item);
    };
    let own = operand.get_type(schema).ok();
    let value = own.zip(value_of(&place.id, Some(values))).and_then(|(own, value)| {
        match converted(&value, &own) {
            // The column is compared as a float of 64 bits, as with a literal.
            None if own == DataType::Float32 => converted(&value, &DataType::Float64),
            found => found,
        }
    });
    let Some(value) = value else { return Transformed::no(item) };
    let mark = BTreeMap::from([(OPEN.to_owned(), place.id.clone())]);
    Transformed::yes(Expr::Literal(value, Some(FieldMetadata::new(mark))))
}

/// The placeholder that a marked literal takes the place of.
fn reopened(
    expr: Expr,
    open: &mut BTreeMap<(String, String), (String, DataType)>,
) -> Transformed<Expr> {
    let Expr::Literal(value, Some(metadata)) = &expr else { return Transformed::no(expr) };
    let Some(id) = metadata.inner().get(OPEN).cloned() else { return Transformed::no(expr) };
    let data_type = value.data_type();
    open.insert((id.clone(), data_type.to_string()), (id.clone(), data_type.clone()));
    let field = Arc::new(Field::new("", data_type, true));
    Transformed::yes(Expr::Placeholder(Placeholder::new_with_field(id, Some(field))))
}

/// The value in another type, if it is equal there and the store tests it as any other.
fn converted(value: &ScalarValue, to: &DataType) -> Option<ScalarValue> {
    match to {
        DataType::Int32 => {
            let value = i32::try_from(whole(value)?).ok()?;
            Some(ScalarValue::Int32(Some(value)))
        }
        DataType::Int64 => Some(ScalarValue::Int64(Some(whole(value)?))),
        DataType::Float32 => {
            let wide = float(value)?;
            let narrow = wide as f32;
            (f64::from(narrow) == wide).then_some(ScalarValue::Float32(Some(narrow)))
        }
        DataType::Float64 => Some(ScalarValue::Float64(Some(float(value)?))),
        DataType::Utf8 => Some(ScalarValue::Utf8(Some(value.try_as_str().flatten()?.to_owned()))),
        DataType::Timestamp(..) => time_in(value, to).filter(|value| time_of(value).is_some()),
        _ => None,
    }
}

fn integer(value: &ScalarValue) -> Option<i64> {
    match value {
        ScalarValue::Int8(value) => value.map(i64::from),
        ScalarValue::Int16(value) => value.map(i64::from),
        ScalarValue::Int32(value) => value.map(i64::from),
        ScalarValue::Int64(value) => *value,
        ScalarValue::UInt8(value) => value.map(i64::from),
        ScalarValue::UInt16(value) => value.map(i64::from),
        ScalarValue::UInt32(value) => value.map(i64::from),
        _ => None,
    }
}

fn whole(value: &ScalarValue) -> Option<i64> {
    let float = match value {
        ScalarValue::Float32(value) => f64::from((*value)?),
        ScalarValue::Float64(value) => (*value)?,
        other => return integer(other),
    };
    (float.fract() == 0.0 && float.abs() <= WHOLE_MAX).then_some(float as i64)
}

/// A float other than zero, NaN and infinity.
fn float(value: &ScalarValue) -> Option<f64> {
    let float = match value {
        ScalarValue::Float32(value) => f64::from((*value)?),
        ScalarValue::Float64(value) => (*value)?,
        other => {
            let whole = integer(other)?;
            let float = whole as f64;
            (float.abs() <= WHOLE_MAX && float as i64 == whole).then_some(float)?
        }
    };
    (float != 0.0 && float.is_finite()).then_some(float)
}
