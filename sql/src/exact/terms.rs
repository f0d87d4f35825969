//! Parts of expressions that several rules make.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, ScalarUDF, lit};
use datafusion::scalar::ScalarValue;

/// A call of one of the functions.
pub(super) fn called(func: Arc<ScalarUDF>, args: Vec<Expr>) -> Expr {
    Expr::ScalarFunction(ScalarFunction { func, args })
}

/// True where `expr` has a value, and null elsewhere.
pub(super) fn always(expr: Expr) -> Expr {
    expr.is_not_null().or(null())
}

/// False where `expr` has a value, and null elsewhere.
pub(super) fn never(expr: Expr) -> Expr {
    expr.is_null().and(null())
}

pub(super) fn null() -> Expr {
    Expr::Literal(ScalarValue::Boolean(None), None)
}

/// Whether times of this zone are those of UTC.
pub(super) fn is_utc(zone: &Option<Arc<str>>) -> bool {
    zone.as_deref().is_none_or(|zone| matches!(zone, "UTC" | "utc" | "+00:00" | "Z"))
}

pub(super) fn is_comparison(operator: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

/// The units of a second.
pub(super) fn per_second(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// A value between whole numbers, or one of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum IntegerPosition {
    /// The number, and whether the value is greater than it and less than the next.
    At(i64, bool),
    Below,
    Above,
}

impl IntegerPosition {
    pub(super) fn new(floor: i128, has_rest: bool) -> Self {
        match i64::try_from(floor) {
            Ok(floor) => Self::At(floor, has_rest),
            Err(_) if floor < 0 => Self::Below,
            Err(_) => Self::Above,
        }
    }

    /// `operand` compared with this value, where `literal` makes a literal of the operand's type.
    pub(super) fn compared(
        self,
        operand: Expr,
        operator: Operator,
        literal: impl Fn(i64) -> Expr,
    ) -> Option<Expr> {
        use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
        if !is_comparison(operator) {
            return None;
        }
        let (floor, has_rest) = match (self, operator) {
            (Self::At(floor, false), _) => (floor, false),
            // The operand, null or not, is not this value.
            (_, IsDistinctFrom) => return Some(lit(true)),
            (_, IsNotDistinctFrom) => return Some(lit(false)),
            (Self::At(floor, has_rest), _) => (floor, has_rest),
            (Self::Above, Lt | LtEq | NotEq) | (Self::Below, Gt | GtEq | NotEq) => {
                return Some(always(operand));
            }
            _ => return Some(never(operand)),
        };
        let operator = match operator {
            Eq if has_rest => return Some(never(operand)),
            NotEq if has_rest => return Some(always(operand)),
            Lt if has_rest => LtEq,
            GtEq if has_rest => Gt,
            other => other,
        };
        let right = Box::new(literal(floor));
        Some(Expr::BinaryExpr(BinaryExpr { left: Box::new(operand), op: operator, right }))
    }
}

pub(super) fn of_type(count: i64, data_type: &DataType) -> Expr {
    Expr::Literal(scalar_of(count, data_type), None)
}

/// A count as a value of this type of times, else as an integer.
pub(super) fn scalar_of(count: i64, data_type: &DataType) -> ScalarValue {
    let count = Some(count);
    match data_type {
        DataType::Timestamp(TimeUnit::Second, zone) => {
            ScalarValue::TimestampSecond(count, zone.clone())
        }
        DataType::Timestamp(TimeUnit::Millisecond, zone) => {
            ScalarValue::TimestampMillisecond(count, zone.clone())
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            ScalarValue::TimestampMicrosecond(count, zone.clone())
        }
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            ScalarValue::TimestampNanosecond(count, zone.clone())
        }
        _ => ScalarValue::Int64(count),
    }
}

/// The terms joined as a tree of small depth.
pub(super) fn balanced(mut terms: Vec<Expr>, is_and: bool) -> Option<Expr> {
    while terms.len() > 1 {
        let mut pairs = terms.into_iter();
        let mut joined = Vec::new();
        while let Some(first) = pairs.next() {
            joined.push(match pairs.next() {
                Some(second) if is_and => first.and(second),
                Some(second) => first.or(second),
                None => first,
            });
        }
        terms = joined;
    }
    terms.pop()
}
