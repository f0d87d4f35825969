//! Comparisons of times of different resolutions, of INT64 with floats, and of intervals, as the
//! values that they are.
//!
//! DataFusion 55.2 converts one side to the type of the other: a year that nanoseconds do not count
//! is an error, and integers beyond 2^53 equal their neighbours. It compares intervals by their
//! months, then days, then nanoseconds. It can go when both are compared without a conversion, and
//! intervals by their length.

use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int8Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Float64Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit,
    TimeUnit, UInt64Type,
};
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{DFSchema, exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{
    Between, BinaryExpr, ColumnarValue, Expr, ExprSchemable, Operator, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility, lit,
};
use datafusion::scalar::ScalarValue;

use super::terms::{IntegerPosition, balanced, called, is_utc, null, of_type, per_second};

pub(crate) const NAME: &str = "compare_exactly";

static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let signature = Signature::any(2, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(CompareFunction { signature }))
});

pub(super) fn function() -> Arc<ScalarUDF> {
    FUNCTION.clone()
}

/// The operand of a cast to a finer time, or of INT64 to a float.
fn widened<'e>(expr: &'e Expr, schema: &DFSchema) -> Option<(&'e Expr, DataType)> {
    let Expr::Cast(cast) = expr else { return None };
    if let Expr::Literal(value, _) = cast.expr.as_ref() {
        if is_float(value, cast.field.data_type()) {
            return None;
        }
    }
    let from = cast.expr.get_type(schema).ok()?;
    let is_widened = match (&from, cast.field.data_type()) {
        (DataType::Timestamp(from, zone), DataType::Timestamp(to, other)) => {
            // A cast between zones moves the instant.
            let is_same = zone == other || (is_utc(zone) && is_utc(other));
            is_same && per_second(*from) < per_second(*to)
        }
        (DataType::Int64 | DataType::UInt64, DataType::Float64) => true,
        (DataType::Int32 | DataType::UInt32 | DataType::Int64 | DataType::UInt64, to) => {
            *to == DataType::Float32
        }
        _ => false,
    };
    is_widened.then_some((cast.expr.as_ref(), from))
}

/// Whether a float of this type is exactly the integer.
fn is_float(value: &ScalarValue, data_type: &DataType) -> bool {
    let value = match value {
        ScalarValue::Int32(Some(value)) => i128::from(*value),
        ScalarValue::Int64(Some(value)) => i128::from(*value),
        ScalarValue::UInt64(Some(value)) => i128::from(*value),
        _ => return false,
    };
    match data_type {
        DataType::Float64 => value as f64 as i128 == value,
        DataType::Float32 => value as f32 as i128 == value,
        _ => false,
    }
}

/// `between` and `in` as comparisons, where a side of them is converted.
pub(super) fn split(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let compared = |left: &Expr, op, right: Expr| {
        let (left, right) = (Box::new(left.clone()), Box::new(right));
        rewrite(BinaryExpr { left, op, right }, schema).data()
    };
    match expr {
        Expr::Between(Between { expr, negated, low, high })
            if !expr.is_volatile()
                && [&expr, &low, &high].iter().any(|part| is_split(part, schema)) =>
        {
            let made = if negated {
                compared(&expr, Operator::Lt, *low)?.or(compared(&expr, Operator::Gt, *high)?)
            } else {
                compared(&expr, Operator::GtEq, *low)?.and(compared(&expr, Operator::LtEq, *high)?)
            };
            Ok(Transformed::yes(made))
        }
        Expr::InList(InList { expr, list, negated })
            if !expr.is_volatile() && is_split(&expr, schema) =>
        {
            let operator = if negated { Operator::NotEq } else { Operator::Eq };
            let terms = list.into_iter().map(|item| match item {
                Expr::Literal(ref value, _) if value.is_null() => Ok(null()),
                item => compared(&expr, operator, item),
            });
            let terms = terms.collect::<Result<Vec<_>>>()?;
            Ok(Transformed::yes(balanced(terms, negated).unwrap_or_else(null)))
        }
        other => Ok(Transformed::no(other)),
    }
}

/// The comparison without the conversion of a side.
pub(super) fn rewrite(binary: BinaryExpr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    if is_interval(&binary.left, schema) || is_interval(&binary.right, schema) {
        let sides = [*binary.left, *binary.right].map(|side| match side {
            // As a duration it may be longer than an interval counts.
            Expr::Cast(cast) if is_duration(&cast.expr, schema) => *cast.expr,
            side => side,
        });
        let [left, right] = sides;
        return Ok(Transformed::yes(by_sign(left, binary.op, right)));
    }
    let sides = (widened(&binary.left, schema), widened(&binary.right, schema));
    let (operand, other, operator, from) = match sides {
        (Some((operand, from)), _) => (operand, binary.right.as_ref(), binary.op, from),
        (None, Some((operand, from))) => {
            let Some(operator) = binary.op.swap() else {
                return Ok(Transformed::no(Expr::BinaryExpr(binary)));
            };
            (operand, binary.left.as_ref(), operator, from)
        }
        (None, None) => return Ok(Transformed::no(Expr::BinaryExpr(binary))),
    };
    // With a literal as one of the operand's type, so that the store tests it.
    if let (Expr::Literal(value, _), DataType::Int64) = (other, &from) {
        if let Some(exact) = exact(value) {
            let made = exact.compared(operand.clone(), operator, |value| lit(value));
            if let Some(made) = made {
                return Ok(Transformed::yes(made));
            }
        }
    }
    let other = widened(other, schema).map_or(other, |(other, _)| other);
    Ok(Transformed::yes(by_sign(operand.clone(), operator, other.clone())))
}

/// The comparison by the sign of the order of both.
fn by_sign(left: Expr, op: Operator, right: Expr) -> Expr {
    let sign = called(function(), vec![left.clone(), right.clone()]);
    let (sign, zero) = (Box::new(sign), Box::new(lit(0_i8)));
    let compared = Expr::BinaryExpr(BinaryExpr { left: sign, op, right: zero });
    match op {
        Operator::IsDistinctFrom => compared.and(left.is_not_null().or(right.is_not_null())),
        Operator::IsNotDistinctFrom => compared.or(left.is_null().and(right.is_null())),
        _ => compared,
    }
}

fn is_interval(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(expr.get_type(schema), Ok(DataType::Interval(_)))
}

fn is_duration(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(expr.get_type(schema), Ok(DataType::Duration(_)))
}

/// Whether the comparison with this expression is not one of its type.
fn is_split(expr: &Expr, schema: &DFSchema) -> bool {
    widened(expr, schema).is_some() || is_interval(expr, schema)
}

/// A comparison of a time or an integer with a constant, as one with a literal of its type.
pub(super) fn with_constant(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let made = match &expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (left.as_ref(), right.as_ref()) {
            (Expr::ScalarFunction(call), Expr::Literal(ScalarValue::Int8(Some(0)), _))
                if call.name() == NAME =>
            {
                match call.args.as_slice() {
                    [operand, Expr::Literal(value, _)] => constant(operand, *op, value, schema),
                    _ => None,
                }
            }
            _ => None,
        },
        _ => None,
    };
    match made {
        Some(made) => Transformed::yes(made),
        None => Transformed::no(expr),
    }
}

fn constant(
    operand: &Expr,
    operator: Operator,
    value: &ScalarValue,
    schema: &DFSchema,
) -> Option<Expr> {
    let data_type = operand.get_type(schema).ok()?;
    if data_type == DataType::Int64 {
        return exact(value)?.compared(operand.clone(), operator, |value| lit(value));
    }
    let (count, scale) = match value {
        ScalarValue::TimestampSecond(count, _) => (*count, per_second(TimeUnit::Second)),
        ScalarValue::TimestampMillisecond(count, _) => (*count, per_second(TimeUnit::Millisecond)),
        ScalarValue::TimestampMicrosecond(count, _) => (*count, per_second(TimeUnit::Microsecond)),
        ScalarValue::TimestampNanosecond(count, _) => (*count, per_second(TimeUnit::Nanosecond)),
        _ => return None,
    };
    let DataType::Timestamp(unit, _) = &data_type else { return None };
    let ratio = scale / per_second(*unit);
    let count = i128::from(count?);
    if ratio < 1 {
        return None;
    }
    let exact = IntegerPosition::new(count.div_euclid(ratio), count.rem_euclid(ratio) != 0);
    exact.compared(operand.clone(), operator, |count| of_type(count, &data_type))
}

/// A float among whole numbers. NaN is greater than all.
fn exact(value: &ScalarValue) -> Option<IntegerPosition> {
    let value = match value {
        ScalarValue::Float64(Some(value)) => *value,
        ScalarValue::Float32(Some(value)) => f64::from(*value),
        _ => return None,
    };
    Some(match value {
        value if value.is_nan() || value >= 9_223_372_036_854_775_808.0 => IntegerPosition::Above,
        value if value < -9_223_372_036_854_775_808.0 => IntegerPosition::Below,
        value => IntegerPosition::At(value.floor() as i64, value.floor() != value),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CompareFunction {
    signature: Signature,
}

impl ScalarUDFImpl for CompareFunction {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int8)
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [left, right] = arrays.as_slice() else { return plan_err!("{NAME} takes two values") };
        let (left, right) = (ComparedColumn::new(left)?, ComparedColumn::new(right)?);
        let signs = (0..left.len()).map(|row| left.cmp(&right, row));
        let signs = signs.collect::<Result<Int8Array>>()?;
        let is_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        Ok(if is_constant {
            ColumnarValue::Scalar(ScalarValue::try_from_array(&signs, 0)?)
        } else {
            ColumnarValue::Array(Arc::new(signs))
        })
    }
}

/// The values of one side.
enum ComparedColumn {
    /// Whole numbers, and by what they are multiplied.
    Whole(ArrayRef, i128),
    Unsigned(ArrayRef),
    Float(ArrayRef),
    /// Intervals, and durations in nanoseconds.
    Span(Vec<Option<Span>>),
}

/// Months, and nanoseconds beside them.
type Span = (i128, i128);

const DAY_NANOS: i128 = 86_400_000_000_000;

/// The order of two intervals. A month has no number of days.
fn spans(left: Span, right: Span) -> Result<Ordering> {
    match (left.0.cmp(&right.0), left.1.cmp(&right.1)) {
        (Ordering::Equal, order) | (order, Ordering::Equal) => Ok(order),
        (months, rest) if months == rest => Ok(months),
        _ => exec_err!(
            "an interval of months is compared with one of days or hours, and months differ in \
             length: write both in days, or both in months"
        ),
    }
}

impl ComparedColumn {
    fn new(array: &ArrayRef) -> Result<Self> {
        Ok(match array.data_type() {
            DataType::Timestamp(unit, _) => {
                let scale = per_second(TimeUnit::Nanosecond) / per_second(*unit);
                Self::Whole(cast(array, &DataType::Int64)?, scale)
            }
            DataType::Interval(_) => {
                let steps = cast(array, &DataType::Interval(IntervalUnit::MonthDayNano))?;
                let steps = steps.as_primitive::<IntervalMonthDayNanoType>();
                let span = |step: Option<IntervalMonthDayNano>| {
                    step.map(|step| {
                        let days = i128::from(step.days) * DAY_NANOS;
                        (i128::from(step.months), days + i128::from(step.nanoseconds))
                    })
                };
                Self::Span(steps.iter().map(span).collect())
            }
            DataType::Duration(unit) => {
                let scale = per_second(TimeUnit::Nanosecond) / per_second(*unit);
                let counts = cast(array, &DataType::Int64)?;
                let counts = counts.as_primitive::<Int64Type>().iter();
                let span = |count: Option<i64>| count.map(|count| (0, i128::from(count) * scale));
                Self::Span(counts.map(span).collect())
            }
            DataType::UInt64 => Self::Unsigned(array.clone()),
            DataType::Float32 | DataType::Float64 => Self::Float(cast(array, &DataType::Float64)?),
            _ => Self::Whole(cast(array, &DataType::Int64)?, 1),
        })
    }

    fn len(&self) -> usize {
        match self {
            Self::Whole(array, _) | Self::Unsigned(array) | Self::Float(array) => array.len(),
            Self::Span(spans) => spans.len(),
        }
    }

    fn whole(&self, row: usize) -> Option<i128> {
        match self {
            Self::Whole(array, scale) if array.is_valid(row) => {
                Some(i128::from(array.as_primitive::<Int64Type>().value(row)) * scale)
            }
            Self::Unsigned(array) if array.is_valid(row) => {
                Some(i128::from(array.as_primitive::<UInt64Type>().value(row)))
            }
            _ => None,
        }
    }

    fn float(&self, row: usize) -> Option<f64> {
        match self {
            Self::Float(array) if array.is_valid(row) => {
                Some(array.as_primitive::<Float64Type>().value(row))
            }
            _ => None,
        }
    }

    fn cmp(&self, other: &Self, row: usize) -> Result<Option<i8>> {
        if let (Self::Span(left), Self::Span(right)) = (self, other) {
            let both = left.get(row).copied().flatten().zip(right.get(row).copied().flatten());
            return both.map(|(left, right)| Ok(spans(left, right)? as i8)).transpose();
        }
        Ok(self.order(other, row).map(|order| order as i8))
    }

    fn order(&self, other: &Self, row: usize) -> Option<Ordering> {
        Some(match (self, other) {
            (Self::Float(_), Self::Float(_)) => {
                let (own, other) = (self.float(row)?, other.float(row)?);
                // Both without a sign of NaN and zero.
                own.total_cmp(&other)
            }
            (Self::Float(_), _) => with_float(other.whole(row)?, self.float(row)?).reverse(),
            (_, Self::Float(_)) => with_float(self.whole(row)?, other.float(row)?),
            _ => self.whole(row)?.cmp(&other.whole(row)?),
        })
    }
}

/// An integer of 64 bits compared with a float.
fn with_float(whole: i128, float: f64) -> Ordering {
    if float.is_nan() {
        return Ordering::Less;
    }
    let floor = float.floor();
    // Floats beyond i128 become its bounds, which no integer of 64 bits meets.
    match whole.cmp(&(floor as i128)) {
        Ordering::Equal if floor < float => Ordering::Less,
        order => order,
    }
}
