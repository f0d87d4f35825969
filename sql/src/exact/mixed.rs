//! Comparisons of two types in one of them, where that changes values.
//!
//! DataFusion 55.2 converts one side of `in (select …)`, of `using` and of sets to the type of the
//! other. Where a conversion would make different values equal, the statement is refused, which
//! says to cast a side. It can go when these compare the values.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::common::{DFSchema, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{InSubquery, SetComparison};
use datafusion::logical_expr::{
    BinaryExpr, Case, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator,
};

use super::literals;

/// Functions that compare the elements of a list with a value.
const ELEMENTS: [&str; 9] = [
    "array_has",
    "array_position",
    "array_positions",
    "array_remove",
    "array_remove_all",
    "array_remove_n",
    "array_replace",
    "array_replace_all",
    "array_replace_n",
];
/// Functions that compare the elements of two lists.
const LISTS: [&str; 5] =
    ["array_except", "array_has_all", "array_has_any", "array_intersect", "array_union"];

/// Whether one type has values of the other that it does not tell from each other.
fn is_mixed(left: &DataType, right: &DataType) -> bool {
    use DataType::{Float32, Float64, Int32, Int64, Timestamp, UInt32, UInt64};
    let of = |own: &DataType, other: &DataType| match (own, other) {
        (Int64 | UInt64, Float32 | Float64) | (Int32 | UInt32, Float32) => true,
        (Timestamp(..), other) => other.is_string(),
        _ => false,
    };
    match (left, right) {
        (Timestamp(left, _), Timestamp(right, _)) => left != right,
        _ => of(left, right) || of(right, left),
    }
}

fn refused<T>(what: &str, left: &DataType, right: &DataType) -> Result<T> {
    plan_err!(
        "{what} would convert {left} and {right} to one type, which changes values: cast one side \
         to the type of the other"
    )
}

fn check(what: &str, left: &DataType, right: &DataType) -> Result<()> {
    if is_mixed(left, right) { refused(what, left, right) } else { Ok(()) }
}

/// Refuses columns of joins and of sets that are compared in one of two types.
pub(super) fn check_joins(plan: &LogicalPlan) -> Result<()> {
    plan.apply_with_subqueries(|plan| {
        if let LogicalPlan::Join(join) = plan {
            for (left, right) in &join.on {
                let types =
                    (left.get_type(join.left.schema()), right.get_type(join.right.schema()));
                if let (Ok(left), Ok(right)) = types {
                    check("a join or set", &left, &right)?;
                }
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .map(drop)
}

/// The comparison as one of operators, if it can be; an error where it would be of changed values.
pub(super) fn rewrite(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let type_of = |expr: &Expr| expr.get_type(schema).ok();
    let of_query = |query: &LogicalPlan| {
        query.schema().fields().first().map(|field| field.data_type().clone())
    };
    match &expr {
        Expr::InSubquery(InSubquery { expr: operand, subquery, .. }) => {
            if let (Some(left), Some(right)) = (type_of(operand), of_query(&subquery.subquery)) {
                check("in", &left, &right)?;
            }
        }
        Expr::SetComparison(of_set @ SetComparison { expr: operand, subquery, .. }) => {
            if let (Some(left), Some(right)) = (type_of(operand), of_query(&subquery.subquery)) {
                check("any or all", &left, &right)?;
            }
            if let Some(named) = apart(&subquery.subquery)? {
                let mut named_set = of_set.clone();
                named_set.subquery.subquery = Arc::new(named);
                return Ok(Transformed::yes(Expr::SetComparison(named_set)));
            }
        }
        Expr::ScalarFunction(call) => {
            let [first, second, ..] = call.args.as_slice() else {
                return Ok(Transformed::no(expr));
            };
            if let (Some(left), Some(right)) = (type_of(first), type_of(second)) {
                match call.name() {
                    "nullif" => check("nullif", &left, &right)?,
                    name if ELEMENTS.contains(&name) => {
                        if let Some(left) = element(&left) {
                            check(name, left, &right)?;
                        }
                    }
                    name if LISTS.contains(&name) => {
                        if let (Some(left), Some(right)) = (element(&left), element(&right)) {
                            check(name, left, right)?;
                        }
                    }
                    _ => {}
                }
            }
        }
        Expr::Case(Case { expr: Some(operand), when_then_expr, .. }) if !operand.is_volatile() => {
            let own = type_of(operand);
            let is_mixed = when_then_expr.iter().any(|(when, _)| match (&own, type_of(when)) {
                (Some(own), Some(when)) => is_mixed(own, &when),
                _ => false,
            });
            if is_mixed {
                return searched(expr, schema).map(Transformed::yes);
            }
        }
        _ => {}
    }
    Ok(Transformed::no(expr))
}

/// The query of `any` or `all` under a name of its own; `None` if it has that. Its column is compared
/// with the operand in the plan of the query, where one of the same table has the same name.
fn apart(query: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    const NAME: &str = "__compared";
    if matches!(query, LogicalPlan::SubqueryAlias(known) if known.alias.table() == NAME) {
        return Ok(None);
    }
    LogicalPlanBuilder::from(query.clone()).alias(NAME)?.build().map(Some)
}

fn element(list: &DataType) -> Option<&DataType> {
    match list {
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            Some(field.data_type())
        }
        _ => None,
    }
}

/// `case a when b …` as `case when a = b …`.
fn searched(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let Expr::Case(Case { expr: Some(operand), when_then_expr, else_expr }) = expr else {
        return Ok(expr);
    };
    let terms = when_then_expr.into_iter().map(|(when, then)| {
        let (left, op, right) = (operand.clone(), Operator::Eq, when);
        let equal = Expr::BinaryExpr(BinaryExpr { left, op, right });
        Ok((Box::new(Ok(literals::rewrite(equal, schema)).data()?), then))
    });
    let when_then_expr = terms.collect::<Result<Vec<_>>>()?;
    Ok(Expr::Case(Case { expr: None, when_then_expr, else_expr }))
}
