//! Clauses that the parser takes and planning leaves out, and operators that it reads with another
//! precedence than all other engines.
//!
//! DataFusion 55.2 plans a statement without a word on a clause that it does not know. What is here
//! can go when it refuses them, reads what follows `distinct from` as an operand, and counts the rows
//! of `except all` and `intersect all`.

use std::ops::ControlFlow;

use datafusion::common::plan_datafusion_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, GroupByExpr, Query, Select, SetExpr, SetOperator, SetQuantifier,
    TableFactor, UnaryOperator, VisitMut as _, VisitorMut,
};

/// Refuses the clauses, and reads the operators as PostgreSQL does.
///
/// # Errors
/// A clause that would be left out, by its name.
pub(super) fn check(statement: &mut Statement) -> Result<()> {
    match statement {
        Statement::Statement(statement) => match statement.visit(&mut Clauses) {
            ControlFlow::Break(error) => Err(error),
            ControlFlow::Continue(()) => Ok(()),
        },
        Statement::Explain(explain) => check(&mut explain.statement),
        _ => Ok(()),
    }
}

struct Clauses;

fn refuse(clauses: &[(&str, bool)]) -> ControlFlow<DataFusionError> {
    match clauses.iter().find(|(_, is_there)| *is_there) {
        None => ControlFlow::Continue(()),
        Some((name, _)) => ControlFlow::Break(plan_datafusion_err!(
            "{name} is not among the clauses that SQL has here; leave it out"
        )),
    }
}

impl VisitorMut for Clauses {
    type Break = DataFusionError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<DataFusionError> {
        refuse(&[
            ("for update or for share", !query.locks.is_empty()),
            ("settings", query.settings.is_some()),
            ("for xml, json or browse", query.for_clause.is_some()),
            ("format", query.format_clause.is_some()),
        ])?;
        let mut open = vec![&*query.body];
        while let Some(body) = open.pop() {
            let SetExpr::SetOperation { left, op, set_quantifier, right } = body else { continue };
            let is_all = matches!(set_quantifier, SetQuantifier::All | SetQuantifier::AllByName);
            if is_all && !matches!(op, SetOperator::Union) {
                return ControlFlow::Break(plan_datafusion_err!(
                    "{op} ALL is not among what SQL has here; write it without ALL, or number equal \
                     rows by row_number() on both sides"
                ));
            }
            open.extend([&**left, &**right]);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<DataFusionError> {
        let has_modifiers = match &select.group_by {
            GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers) => {
                !modifiers.is_empty()
            }
        };
        refuse(&[
            ("prewhere", select.prewhere.is_some()),
            ("connect by", !select.connect_by.is_empty()),
            ("with rollup, cube or totals", has_modifiers),
        ])
    }

    fn pre_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<DataFusionError> {
        match table {
            TableFactor::Table { with_hints, version, partitions, sample, index_hints, .. } => {
                refuse(&[
                    ("tablesample", sample.is_some()),
                    ("a version of a table", version.is_some()),
                    ("partition", !partitions.is_empty()),
                    ("with (hint)", !with_hints.is_empty()),
                    ("a hint of an index", !index_hints.is_empty()),
                ])
            }
            TableFactor::Derived { sample, .. } => refuse(&[("tablesample", sample.is_some())]),
            _ => ControlFlow::Continue(()),
        }
    }

    /// The parser takes all that follows `is distinct from` as its right side. What of it is behind
    /// an `and` or `or` without brackets stands beside the comparison, and so beside what is before
    /// it: `not` and `and` bind to the comparison alone.
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<DataFusionError> {
        let taken = match expr {
            Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right) => {
                is_chain(right).then(|| std::mem::replace(&mut **right, nothing()))
            }
            Expr::UnaryOp { op: UnaryOperator::Not, expr: inner } => {
                is_chain(inner).then(|| std::mem::replace(&mut **inner, nothing()))
            }
            Expr::BinaryOp { op: BinaryOperator::And, right, .. } => {
                is_or(right).then(|| std::mem::replace(&mut **right, nothing()))
            }
            _ => None,
        };
        let Some(mut chain) = taken else { return ControlFlow::Continue(()) };
        let is_and = matches!(expr, Expr::BinaryOp { .. });
        let first = if is_and { first_of_or(&mut chain) } else { first_of_chain(&mut chain) };
        let operand = std::mem::replace(first, nothing());
        let mut whole = std::mem::replace(expr, nothing());
        match &mut whole {
            Expr::IsDistinctFrom(_, place)
            | Expr::IsNotDistinctFrom(_, place)
            | Expr::UnaryOp { expr: place, .. }
            | Expr::BinaryOp { right: place, .. } => **place = operand,
            _ => {}
        }
        *first = whole;
        *expr = chain;
        ControlFlow::Continue(())
    }
}

/// What stands in the place of an expression that is moved.
fn nothing() -> Expr {
    Expr::Value(datafusion::sql::sqlparser::ast::Value::Null.into())
}

fn is_or(expr: &Expr) -> bool {
    matches!(expr, Expr::BinaryOp { op: BinaryOperator::Or, .. })
}

fn is_chain(expr: &Expr) -> bool {
    is_or(expr) || matches!(expr, Expr::BinaryOp { op: BinaryOperator::And, .. })
}

/// The first operand of `and` and `or` without brackets.
fn first_of_chain(mut expr: &mut Expr) -> &mut Expr {
    loop {
        match expr {
            Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, .. } => {
                expr = left;
            }
            other => return other,
        }
    }
}

/// The first operand of `or` without brackets.
fn first_of_or(mut expr: &mut Expr) -> &mut Expr {
    loop {
        match expr {
            Expr::BinaryOp { left, op: BinaryOperator::Or, .. } => {
                expr = left;
            }
            other => return other,
        }
    }
}
