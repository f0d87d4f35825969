//! Conversions that fail where they would change a value without a word.
//!
//! DataFusion 55.2 cuts the part of an interval that is finer than the time that it is added to,
//! and makes infinity of a float that is too large for 32 bits. Each can go when it is an error there.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float32Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Float64Type, Int64Type, IntervalMonthDayNanoType, IntervalUnit,
};
use datafusion::common::{DFSchema, exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility, lit,
};
use datafusion::scalar::ScalarValue;

use super::settle;
use super::terms::{called, per_second};

pub(crate) const NAMES: [&str; 3] = ["checked_step", "checked_float", "try_checked_float"];
const NANOS: i128 = 1_000_000_000;
const DAY_SECONDS: i128 = 86_400;

static FUNCTIONS: LazyLock<[Arc<ScalarUDF>; 3]> = LazyLock::new(|| {
    [Kind::Step, Kind::Float, Kind::TryFloat].map(|kind| {
        let signature = Signature::variadic_any(Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(Checked { kind, signature }))
    })
});

pub(super) fn functions() -> &'static [Arc<ScalarUDF>; 3] {
    &FUNCTIONS
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// An interval that a time of so many nanoseconds has whole.
    Step,
    Float,
    TryFloat,
}

/// The nanoseconds of the unit of a type of times.
fn unit_of(data_type: &DataType) -> Option<i128> {
    match data_type {
        DataType::Timestamp(unit, _) => Some(NANOS / per_second(*unit)),
        DataType::Date32 => Some(DAY_SECONDS * NANOS),
        _ => None,
    }
}

/// What is added to a time, which fails where it is finer.
pub(super) fn step(step: Expr, time: &DataType, schema: &DFSchema) -> Result<Expr> {
    let Some(unit) = unit_of(time).and_then(|unit| i64::try_from(unit).ok()) else {
        return Ok(step);
    };
    let [function, ..] = functions();
    let of = |step: Expr| called(function.clone(), vec![step, lit(unit)]);
    Ok(match step {
        Expr::Cast(mut cast) => {
            let from = cast.expr.get_type(schema)?;
            if matches!(from, DataType::Duration(_)) && from != *cast.field.data_type() {
                cast.expr = Box::new(of(*cast.expr));
            }
            Expr::Cast(cast)
        }
        step if unit > 1 && matches!(step.get_type(schema)?, DataType::Interval(_)) => of(step),
        step => step,
    })
}

/// A float of 64 bits as one of 32.
pub(super) fn narrowed(value: Expr, is_try: bool) -> Expr {
    let [_, float, tried] = functions();
    called(if is_try { tried.clone() } else { float.clone() }, vec![value])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    kind: Kind,
    signature: Signature,
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        let [step, float, tried] = NAMES;
        match self.kind {
            Kind::Step => step,
            Kind::Float => float,
            Kind::TryFloat => tried,
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match (self.kind, types) {
            (Kind::Step, [step, _]) => Ok(step.clone()),
            (Kind::Float | Kind::TryFloat, [_]) => Ok(DataType::Float32),
            _ => plan_err!("{} takes other arguments", self.name()),
        }
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(first) = args.args.first() else {
            return plan_err!("{} takes a value", self.name());
        };
        let array = first.to_array(1)?;
        let made = match (self.kind, args.args.get(1)) {
            (Kind::Step, Some(ColumnarValue::Scalar(ScalarValue::Int64(Some(unit))))) => {
                check_steps(&array, i128::from(*unit))?;
                array
            }
            (Kind::Step, _) => return plan_err!("{} takes a constant", self.name()),
            (Kind::Float, _) => singles(&array, false)?,
            (Kind::TryFloat, _) => singles(&array, true)?,
        };
        Ok(match first {
            ColumnarValue::Array(_) => ColumnarValue::Array(made),
            ColumnarValue::Scalar(_) => {
                ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?)
            }
        })
    }
}

fn check_steps(array: &ArrayRef, unit: i128) -> Result<()> {
    let is_finer = match array.data_type() {
        DataType::Duration(own) => {
            let scale = NANOS / per_second(*own);
            let counts = cast(array, &DataType::Int64)?;
            let counts = counts.as_primitive::<Int64Type>();
            counts.iter().flatten().any(|count| i128::from(count) * scale % unit != 0)
        }
        _ => {
            let steps = cast(array, &DataType::Interval(IntervalUnit::MonthDayNano))?;
            let steps = steps.as_primitive::<IntervalMonthDayNanoType>();
            steps.iter().flatten().any(|step| i128::from(step.nanoseconds) % unit != 0)
        }
    };
    if is_finer {
        return exec_err!(
            "the interval is finer than the time that it is added to: cast the time to a finer type"
        );
    }
    Ok(())
}

fn singles(array: &ArrayRef, is_try: bool) -> Result<ArrayRef> {
    let wide = cast(array, &DataType::Float64)?;
    let narrow = |value: Option<f64>| {
        let Some(value) = value else { return Ok(None) };
        let single = value as f32;
        if single.is_infinite() && value.is_finite() {
            if is_try {
                return Ok(None);
            }
            return exec_err!("Overflow happened on: {value} as a float of 32 bits");
        }
        Ok(Some(single))
    };
    let values = wide.as_primitive::<Float64Type>().iter().map(narrow);
    let singles: ArrayRef = Arc::new(values.collect::<Result<Float32Array>>()?);
    Ok(settle::array(&singles))
}
