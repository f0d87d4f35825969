//! Placeholders as they are written: those without a name get numbers, and the values of arguments of
//! table functions are written into the statement. The functions are called while the statement
//! is planned, before values are bound.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use datafusion::common::{ParamValues, ScalarValue, plan_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, TableFactor, UnaryOperator, Value, ValueWithSpan, VisitMut as _, VisitorMut,
    visit_expressions_mut,
};
use datafusion::sql::sqlparser::tokenizer::Location;

/// Writes the values of placeholders into the arguments of table functions, and returns which.
///
/// # Errors
/// A placeholder there without a value, and a value that is no text, number, bool or null.
pub(super) fn bind(statement: &mut Statement, values: &ParamValues) -> Result<BTreeSet<String>> {
    match statement {
        Statement::Statement(statement) => {
            let mut arguments = Arguments { values, written: BTreeSet::new() };
            match statement.visit(&mut arguments) {
                ControlFlow::Break(error) => Err(error),
                ControlFlow::Continue(()) => Ok(arguments.written),
            }
        }
        Statement::Explain(explain) => bind(&mut explain.statement, values),
        _ => Ok(BTreeSet::new()),
    }
}

/// Gives the placeholders `?` the numbers `$1`, `$2`, … in the order of the text.
///
/// # Errors
/// `?` beside placeholders with a number or a name.
pub(super) fn number(statement: &mut Statement) -> Result<()> {
    let statement = match statement {
        Statement::Statement(statement) => statement,
        Statement::Explain(explain) => return number(&mut explain.statement),
        _ => return Ok(()),
    };
    let mut found = Placeholders::default();
    let _ = statement.visit(&mut found);
    if found.unnamed.is_empty() {
        return Ok(());
    }
    if let Some(named) = found.named.first() {
        return plan_err!("the statement has ? beside {named}: write all placeholders in one form");
    }
    let numbers = found.unnamed.into_iter().zip(1..).collect();
    let _ = statement.visit(&mut Numbers(numbers));
    Ok(())
}

/// The placeholders of a statement, which has numbers in the place of `?`.
pub(crate) fn placeholders(mut statement: Statement) -> BTreeSet<String> {
    let mut found = Placeholders::default();
    let mut statement = &mut statement;
    loop {
        match statement {
            Statement::Statement(inner) => {
                let _ = inner.visit(&mut found);
                return found.named;
            }
            Statement::Explain(explain) => statement = &mut explain.statement,
            _ => return found.named,
        }
    }
}

/// Where the placeholders of a statement are.
#[derive(Default)]
struct Placeholders {
    unnamed: BTreeSet<Location>,
    named: BTreeSet<String>,
}

impl VisitorMut for Placeholders {
    type Break = ();

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<()> {
        match &value.value {
            Value::Placeholder(name) if name == "?" => {
                self.unnamed.insert(value.span.start);
            }
            Value::Placeholder(name) => {
                self.named.insert(name.clone());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

struct Numbers(BTreeMap<Location, usize>);

impl VisitorMut for Numbers {
    type Break = ();

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<()> {
        if let (Value::Placeholder(name), Some(number)) =
            (&mut value.value, self.0.get(&value.span.start))
        {
            *name = format!("${number}");
        }
        ControlFlow::Continue(())
    }
}

struct Arguments<'v> {
    values: &'v ParamValues,
    written: BTreeSet<String>,
}

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
                match written(name, self.values) {
                    Ok(literal) => {
                        self.written.insert(name.clone());
                        *expr = literal;
                    }
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
