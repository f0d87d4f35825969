//! Which conditions of a statement the store tests.
//!
//! What must hold: the store keeps every row that the condition keeps; DataFusion tests it again.
//! NaN is greater than every number in SQL and matches nothing in the store, so `>` and `>=` stay
//! with DataFusion on float columns that have NaN. Whatever sign the zero of a statement has, `<`
//! keeps the rows with the other one, so it is passed on as `<=`. Where the store keeps exactly the
//! rows of the condition, DataFusion does not test it again.

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};
use datafusion::scalar::ScalarValue;
use serde_json::{Value, json};
use stationdb::chrono::{DateTime, SecondsFormat};
use stationdb::tables::{ColumnFilter, FilterOperation};

/// A comparison of a column with a value.
#[derive(Debug)]
pub(crate) struct Test {
    pub column: String,
    pub operator: Operator,
    pub value: ScalarValue,
}

fn swapped(operator: Operator) -> Option<Operator> {
    operator.swap()
}

fn column_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Column(column) => Some(&column.name),
        _ => None,
    }
}

fn value_of(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) if !value.is_null() => Some(value),
        _ => None,
    }
}

/// The comparisons that must all hold for this condition; `None` if it is anything else.
pub(crate) fn tests(expr: &Expr) -> Option<Vec<Test>> {
    let test = |column: &str, operator, value: &ScalarValue| Test {
        column: column.to_owned(),
        operator,
        value: value.clone(),
    };
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            let mut both = tests(left)?;
            both.extend(tests(right)?);
            Some(both)
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let found = match (column_of(left), value_of(right)) {
                (Some(column), Some(value)) => test(column, *op, value),
                _ => test(column_of(right)?, swapped(*op)?, value_of(left)?),
            };
            Some(vec![found])
        }
        Expr::Between(Between { expr, negated: false, low, high }) => {
            let column = column_of(expr)?;
            Some(vec![
                test(column, Operator::GtEq, value_of(low)?),
                test(column, Operator::LtEq, value_of(high)?),
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
pub(crate) fn of_rows(test: &Test, schema: &Schema, has_nan: bool) -> Option<RowFilter> {
    let (_, field) = schema.column_with_name(&test.column)?;
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
                ScalarValue::Float32(Some(value)) => f64::from(value),
                ScalarValue::Float64(Some(value)) => value,
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
        DataType::Int32 | DataType::Int64 => (operation, integer_of(&test.value)?.to_string()),
        DataType::Timestamp(..) => (operation, time_of(&test.value)?),
        DataType::Utf8 if operation == FilterOperation::Equals => {
            (operation, text_of(&test.value)?.to_owned())
        }
        _ => return None,
    };
    let filter = ColumnFilter::new(test.column.clone(), operation).value(value);
    Some(RowFilter { filter, is_exact })
}

/// A filter over records, in the language of the store.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordFilter {
    pub text: String,
    pub substitutions: Vec<Value>,
}

impl RecordFilter {
    /// Adds a condition if the store can test it; returns whether it can.
    pub(crate) fn add(&mut self, expr: &Expr, schema: &Schema) -> bool {
        match condition(expr, schema) {
            Some(conditions) => {
                for (path, operator, value) in conditions {
                    if !self.text.is_empty() {
                        self.text.push_str(" and ");
                    }
                    let number = self.substitutions.len();
                    self.text.push_str(&format!("{path} {operator} @{number}"));
                    self.substitutions.push(value);
                }
                true
            }
            None => false,
        }
    }
}

fn condition(expr: &Expr, schema: &Schema) -> Option<Vec<(String, &'static str, Value)>> {
    let one = |test: Test| {
        let (_, field) = schema.column_with_name(&test.column)?;
        let path = field.metadata().get("stationdb.field")?.clone();
        let operator = match test.operator {
            Operator::Eq => "==",
            Operator::Lt => "<",
            Operator::LtEq => "<=",
            Operator::Gt => ">",
            Operator::GtEq => ">=",
            _ => return None,
        };
        let value = match field.data_type() {
            DataType::Utf8 if operator == "==" => json!(text_of(&test.value)?),
            DataType::Int64 => json!(integer_of(&test.value)?),
            DataType::Timestamp(..) => json!(time_of(&test.value)?),
            _ => return None,
        };
        Some((path, operator, value))
    };
    tests(expr)?.into_iter().map(one).collect()
}
