//! Which conditions of a statement the store tests.
//!
//! What must hold: the store keeps every row that the condition keeps; DataFusion tests it again.
//! So one side of `and` may be left out, and none of `or`.
//! NaN is greater than every number in SQL and matches nothing in the store, so `>` and `>=` stay
//! with DataFusion on float columns that have NaN. Whatever sign the zero of a statement has, `<`
//! keeps the rows with the other one, so it is passed on as `<=`. Where the store keeps exactly the
//! rows of the condition, DataFusion does not test it again.

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};
use datafusion::scalar::ScalarValue;
use serde_json::{Value, json};
use stationdb::chrono::{DateTime, SecondsFormat};
use stationdb::tables::{ColumnFilter, FilterOperation};

/// A comparison of something with a value.
#[derive(Debug)]
pub(crate) struct Test<'e> {
    operand: &'e Expr,
    operator: Operator,
    value: &'e ScalarValue,
}

impl<'e> Test<'e> {
    /// The column that is compared, if it is one.
    pub(crate) fn column(&self) -> Option<&'e str> {
        match self.operand {
            Expr::Column(column) => Some(&column.name),
            _ => None,
        }
    }
}

fn value_of(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) if !value.is_null() => Some(value),
        _ => None,
    }
}

/// The comparisons that must all hold for this condition; `None` if it is anything else.
pub(crate) fn tests(expr: &Expr) -> Option<Vec<Test<'_>>> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            let mut both = tests(left)?;
            both.extend(tests(right)?);
            Some(both)
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let found = match value_of(right) {
                Some(value) => Test { operand: left, operator: *op, value },
                None => Test { operand: right, operator: op.swap()?, value: value_of(left)? },
            };
            Some(vec![found])
        }
        Expr::Between(Between { expr: operand, negated: false, low, high }) => {
            let (low, high) = (value_of(low)?, value_of(high)?);
            Some(vec![
                Test { operand, operator: Operator::GtEq, value: low },
                Test { operand, operator: Operator::LtEq, value: high },
            ])
        }
        _ => None,
    }
}

fn text_of(value: &ScalarValue) -> Option<&str> {
    value.try_as_str().flatten()
}

fn time_of(value: &ScalarValue) -> Option<String> {
    let (time, digits) = match value {
        ScalarValue::TimestampMillisecond(Some(count), _) => {
            (DateTime::from_timestamp_millis(*count)?, SecondsFormat::Millis)
        }
        ScalarValue::TimestampMicrosecond(Some(count), _) => {
            (DateTime::from_timestamp_micros(*count)?, SecondsFormat::Micros)
        }
        ScalarValue::TimestampNanosecond(Some(count), _) => {
            (DateTime::from_timestamp_nanos(*count), SecondsFormat::Nanos)
        }
        _ => return None,
    };
    Some(time.to_rfc3339_opts(digits, true))
}

fn integer_of(value: &ScalarValue) -> Option<i64> {
    match value {
        ScalarValue::Int32(Some(value)) => Some(i64::from(*value)),
        ScalarValue::Int64(Some(value)) => Some(*value),
        _ => None,
    }
}

/// A condition on measured rows as the store tests it.
#[derive(Clone, Debug)]
pub(crate) struct RowFilter {
    pub filter: ColumnFilter,
    /// Whether the store keeps exactly the rows that SQL keeps.
    pub is_exact: bool,
}

/// The filter of a column of measured rows for this test, if the store can test it. `has_nan` says
/// whether the column may have NaN.
pub(crate) fn of_rows(test: &Test<'_>, schema: &Schema, has_nan: bool) -> Option<RowFilter> {
    let (_, field) = schema.column_with_name(test.column()?)?;
    let operation = match test.operator {
        Operator::Eq => FilterOperation::Equals,
        Operator::Lt => FilterOperation::LessThan,
        Operator::LtEq => FilterOperation::LessThanEquals,
        Operator::Gt => FilterOperation::GreaterThan,
        Operator::GtEq => FilterOperation::GreaterThanEquals,
        _ => return None,
    };
    let mut is_exact = true;
    let (operation, value) = match field.data_type() {
        DataType::Float32 | DataType::Float64 => {
            let value = match test.value {
                ScalarValue::Float32(Some(value)) => f64::from(*value),
                ScalarValue::Float64(Some(value)) => *value,
                _ => return None,
            };
            // The zeros differ by their sign.
            is_exact = value != 0.0;
            let operation = match operation {
                FilterOperation::GreaterThan | FilterOperation::GreaterThanEquals if has_nan => {
                    return None;
                }
                FilterOperation::LessThan if !is_exact => FilterOperation::LessThanEquals,
                FilterOperation::GreaterThan if !is_exact => FilterOperation::GreaterThanEquals,
                operation => operation,
            };
            (operation, value.is_finite().then(|| value.to_string())?)
        }
        DataType::Int32 | DataType::Int64 => (operation, integer_of(test.value)?.to_string()),
        DataType::Timestamp(..) => (operation, time_of(test.value)?),
        DataType::Utf8 if operation == FilterOperation::Equals => {
            (operation, text_of(test.value)?.to_owned())
        }
        _ => return None,
    };
    let filter = ColumnFilter::new(field.name().clone(), operation).value(value);
    Some(RowFilter { filter, is_exact })
}

/// Comparisons in one filter over records at most; a longer list is tested by DataFusion alone.
const TERMS_MAX: usize = 100;

/// A filter over records, in the language of the store.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordFilter {
    pub text: String,
    pub substitutions: Vec<Value>,
}

impl RecordFilter {
    /// Adds what the store can test of a condition; returns whether that is anything. What is added
    /// keeps every record that the condition keeps.
    pub(crate) fn add(&mut self, expr: &Expr, schema: &Schema) -> bool {
        let Some(text) = self.term(expr, schema, Operator::And) else { return false };
        if !self.text.is_empty() {
            self.text.push_str(" and ");
        }
        self.text.push_str(&text);
        true
    }

    /// The condition as a term of a chain of `and` or of `or`. Without effect where there is none.
    fn term(&mut self, expr: &Expr, schema: &Schema, chain: Operator) -> Option<String> {
        let known = self.substitutions.len();
        let text = match expr {
            // One of both is less strict than both.
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
                let sides = [left, right];
                let terms =
                    sides.into_iter().filter_map(|side| self.term(side, schema, Operator::And));
                joined(terms.collect(), Operator::And, chain)
            }
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
                let sides = [left, right];
                let terms = sides.into_iter().map(|side| self.term(side, schema, Operator::Or));
                terms
                    .collect::<Option<Vec<_>>>()
                    .and_then(|terms| joined(terms, Operator::Or, chain))
            }
            Expr::InList(InList { expr: operand, list, negated: false }) => {
                let equal = |value| {
                    let test = Test { operand, operator: Operator::Eq, value: value_of(value)? };
                    self.comparison(&test, schema)
                };
                let terms = list.iter().map(equal).collect::<Option<Vec<_>>>();
                terms.and_then(|terms| joined(terms, Operator::Or, chain))
            }
            _ => {
                let tests = tests(expr).unwrap_or_default();
                let terms = tests.iter().filter_map(|test| self.comparison(test, schema));
                joined(terms.collect(), Operator::And, chain)
            }
        };
        let text = text.filter(|_| self.substitutions.len() <= TERMS_MAX);
        if text.is_none() {
            self.substitutions.truncate(known);
        }
        text
    }

    fn comparison(&mut self, test: &Test<'_>, schema: &Schema) -> Option<String> {
        let field = member(test.operand, schema)?;
        let path = field.metadata().get("stationdb.field")?;
        let operator = match test.operator {
            Operator::Eq => "==",
            Operator::Lt => "<",
            Operator::LtEq => "<=",
            Operator::Gt => ">",
            Operator::GtEq => ">=",
            _ => return None,
        };
        let value = match field.data_type() {
            DataType::Utf8 if operator == "==" => json!(text_of(test.value)?),
            DataType::Int64 => json!(integer_of(test.value)?),
            DataType::Timestamp(..) => json!(time_of(test.value)?),
            _ => return None,
        };
        let number = self.substitutions.len();
        self.substitutions.push(value);
        Some(format!("{path} {operator} @{number}"))
    }
}

/// The column, or the member of objects that `timeline['due_date_time']` names.
fn member<'s>(expr: &Expr, schema: &'s Schema) -> Option<&'s Field> {
    match expr {
        Expr::Column(column) => schema.column_with_name(&column.name).map(|(_, field)| field),
        Expr::ScalarFunction(call) if call.name() == "get_field" => {
            let (object, names) = call.args.split_first()?;
            names.iter().try_fold(member(object, schema)?, |field, name| {
                let DataType::Struct(members) = field.data_type() else { return None };
                let (_, found) = members.find(text_of(value_of(name)?)?)?;
                Some(found.as_ref())
            })
        }
        _ => None,
    }
}

/// The terms of one chain, as a term of another: flat chains do not nest.
fn joined(terms: Vec<String>, own: Operator, outer: Operator) -> Option<String> {
    let word = if own == Operator::And { " and " } else { " or " };
    match terms.len() {
        0 => None,
        1 => terms.into_iter().next(),
        _ if own == outer => Some(terms.join(word)),
        _ => Some(format!("({})", terms.join(word))),
    }
}
