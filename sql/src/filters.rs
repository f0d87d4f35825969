//! Which conditions of a statement the store tests.
//!
//! What must hold: the store keeps every row that the condition keeps; DataFusion tests it again.
//! NaN is greater than every number in SQL and matches nothing in the store, so `>` and `>=` stay
//! with DataFusion on float columns that have NaN. Whatever sign the zero of a statement has, `<`
//! keeps the rows with the other one, so it is passed on as `<=`. Where the store keeps exactly the
//! rows of the condition, DataFusion does not test it again.

use std::borrow::Cow;

use datafusion::arrow::datatypes::{DataType, Schema, TimeUnit};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};
use datafusion::scalar::ScalarValue;
use stationdb::chrono::{DateTime, Datelike as _, SecondsFormat};
use stationdb::tables::{ColumnFilter, FilterOperation};

/// A comparison of something with a value.
#[derive(Debug)]
pub(crate) struct ColumnTest<'e> {
    pub operand: &'e Expr,
    pub operator: Operator,
    pub value: &'e ScalarValue,
}

impl<'e> ColumnTest<'e> {
    /// The column that is compared, if it is one.
    pub(crate) fn column(&self) -> Option<&'e str> {
        match self.operand {
            Expr::Column(column) => Some(&column.name),
            _ => None,
        }
    }
}

pub(crate) fn value_of(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) if !value.is_null() => Some(value),
        _ => None,
    }
}

/// The comparisons that must all hold for this condition; `None` if it is anything else.
pub(crate) fn tests(expr: &Expr) -> Option<Vec<ColumnTest<'_>>> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            let mut both = tests(left)?;
            both.extend(tests(right)?);
            Some(both)
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let found = match value_of(right) {
                Some(value) => ColumnTest { operand: left, operator: *op, value },
                None => ColumnTest { operand: right, operator: op.swap()?, value: value_of(left)? },
            };
            Some(vec![found])
        }
        Expr::Between(Between { expr: operand, negated: false, low, high }) => {
            let (low, high) = (value_of(low)?, value_of(high)?);
            Some(vec![
                ColumnTest { operand, operator: Operator::GtEq, value: low },
                ColumnTest { operand, operator: Operator::LtEq, value: high },
            ])
        }
        _ => None,
    }
}

/// The condition with a value of its type in place of each placeholder.
///
/// The placeholders of a plan that is kept stand for values that the store tests alike: see
/// [`crate::prepared`].
pub(crate) fn stand_in(expr: &Expr) -> Cow<'_, Expr> {
    if !expr.exists(|part| Ok(matches!(part, Expr::Placeholder(_)))).unwrap_or(false) {
        return Cow::Borrowed(expr);
    }
    let replaced = expr.clone().transform_up(|part| {
        let value = match &part {
            Expr::Placeholder(place) => place.field.as_ref().and_then(|it| any(it.data_type())),
            _ => None,
        };
        Ok(match value {
            Some(value) => Transformed::yes(Expr::Literal(value, None)),
            None => Transformed::no(part),
        })
    });
    replaced.data().map_or(Cow::Borrowed(expr), Cow::Owned)
}

/// A value of a type that the store tests.
fn any(data_type: &DataType) -> Option<ScalarValue> {
    Some(match data_type {
        DataType::Int32 => ScalarValue::Int32(Some(1)),
        DataType::Int64 => ScalarValue::Int64(Some(1)),
        DataType::Float32 => ScalarValue::Float32(Some(1.0)),
        DataType::Float64 => ScalarValue::Float64(Some(1.0)),
        DataType::Utf8 => ScalarValue::Utf8(Some("a".to_owned())),
        DataType::Timestamp(TimeUnit::Millisecond, zone) => {
            ScalarValue::TimestampMillisecond(Some(0), zone.clone())
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            ScalarValue::TimestampMicrosecond(Some(0), zone.clone())
        }
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            ScalarValue::TimestampNanosecond(Some(0), zone.clone())
        }
        _ => return None,
    })
}

pub(crate) fn text_of(value: &ScalarValue) -> Option<&str> {
    value.try_as_str().flatten()
}

pub(crate) fn time_of(value: &ScalarValue) -> Option<String> {
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
    // Other years have no text that the store reads.
    (1..=9999).contains(&time.year()).then(|| time.to_rfc3339_opts(digits, true))
}

pub(crate) fn integer_of(value: &ScalarValue) -> Option<i64> {
    match value {
        ScalarValue::Int32(Some(value)) => Some(i64::from(*value)),
        ScalarValue::Int64(Some(value)) => Some(*value),
        _ => None,
    }
}

pub(crate) fn float_of(value: &ScalarValue) -> Option<f64> {
    match value {
        ScalarValue::Float32(Some(value)) => Some(f64::from(*value)),
        ScalarValue::Float64(Some(value)) => Some(*value),
        _ => None,
    }
}

/// A comparison of measured rows as the store tests it.
#[derive(Clone, Debug)]
pub(crate) struct RowFilter {
    pub filter: ColumnFilter,
    /// Whether the store keeps exactly the rows that SQL keeps.
    pub is_exact: bool,
}

/// The filter of a column of measured rows for this test, if the store can test it. `has_nan` says
/// whether the column may have NaN.
pub(crate) fn of_rows(test: &ColumnTest<'_>, schema: &Schema, has_nan: bool) -> Option<RowFilter> {
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
            let value = float_of(test.value)?;
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
