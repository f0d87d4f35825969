//! Values in the arguments of table functions. The functions are called while the statement is
//! planned, before values are bound, so that theirs are written into the statement.

use std::ops::ControlFlow;

use datafusion::common::{ParamValues, ScalarValue, plan_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, TableFactor, UnaryOperator, Value, VisitMut as _, VisitorMut, visit_expressions_mut,
};

/// Writes the values of placeholders into the arguments of table functions.
///
/// # Errors
/// A placeholder there without a value, and a value that is no text, number, bool or null.
pub(super) fn bind(statement: &mut Statement, values: &ParamValues) -> Result<()> {
    match statement {
        Statement::Statement(statement) => match statement.visit(&mut Arguments(values)) {
            ControlFlow::Break(error) => Err(error),
            ControlFlow::Continue(()) => Ok(()),
        },
        Statement::Explain(explain) => bind(&mut explain.statement, values),
        _ => Ok(()),
    }
}

struct Arguments<'v>(&'v ParamValues);

impl VisitorMut for Arguments<'_> {
    type Break = DataFusionError;

    fn pre_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<DataFusionError> {
        let arguments = match table {
            TableFactor::Table { args: Some(found), .. } => &mut found.args,
            TableFactor::Function { args, .. } => args,
            _ => return ControlFlow::Continue(()),
        };
        visit_expressions_mut(arguments, |expr| {
            if let Expr::Value(value) = expr
                && let Value::Placeholder(name) = &value.value
            {
                match written(name, self.0) {
                    Ok(literal) => *expr = literal,
                    Err(error) => return ControlFlow::Break(error),
                }
            }
            ControlFlow::Continue(())
        })
    }
}

/// The value of a placeholder as an expression of the statement.
fn written(name: &str, values: &ParamValues) -> Result<Expr> {
    let value = values.get_placeholders_with_values(name)?.value;
    let number = |text: String| match text.strip_prefix('-') {
        None => Expr::Value(Value::Number(text, false).into()),
        Some(digits) => Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr: Box::new(Expr::Value(Value::Number(digits.to_owned(), false).into())),
        },
    };
    Ok(match value {
        value if value.is_null() => Expr::Value(Value::Null.into()),
        ScalarValue::Boolean(Some(value)) => Expr::Value(Value::Boolean(value).into()),
        ScalarValue::Int64(Some(value)) => number(value.to_string()),
        ScalarValue::Float64(Some(value)) if value.is_finite() => number(format!("{value:?}")),
        ref text => match text.try_as_str().flatten() {
            Some(text) => Expr::Value(Value::SingleQuotedString(text.to_owned()).into()),
            None => {
                return plan_err!(
                    "the value of {name} is of the type {}, and an argument of a table function is \
                     a text, a finite number, a bool or null; write it as a text",
                    text.data_type()
                );
            }
        },
    })
}
