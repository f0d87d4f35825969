//! Floats with one zero and one NaN, the positive ones.
//!
//! DataFusion 55.2 orders floats by their bits. Scans return no sign of zero and NaN; what an
//! expression makes of them may have one.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, ArrowPrimitiveType, AsArray};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;

use super::terms::called;

pub(crate) const NAME: &str = "settle";

/// Functions whose float is one of their arguments, or is made by this.
pub(super) const KEPT: [&str; 9] =
    [NAME, "coalesce", "get_field", "greatest", "least", "nullif", "nvl", "nvl2", "date_trunc"];

static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(SettleFunction { signature }))
});

pub(super) fn function() -> Arc<ScalarUDF> {
    FUNCTION.clone()
}

/// The expression with one zero and one NaN.
pub(super) fn of(expr: Expr) -> Expr {
    called(function(), vec![expr])
}

/// Whether a cast to floats makes neither.
pub(super) fn is_safe(from: &DataType, to: &DataType) -> bool {
    from.is_integer() || from == to || (*from == DataType::Float32 && *to == DataType::Float64)
}

/// The literal without its sign, if it has one.
pub(super) fn literal(value: &ScalarValue) -> Option<ScalarValue> {
    match value {
        ScalarValue::Float64(Some(value)) if is_odd(*value) => {
            Some(ScalarValue::Float64(Some(settled(*value))))
        }
        ScalarValue::Float32(Some(value)) if is_odd(f64::from(*value)) => {
            Some(ScalarValue::Float32(Some(if value.is_nan() { f32::NAN } else { 0.0 })))
        }
        _ => None,
    }
}

fn is_odd(value: f64) -> bool {
    value.is_sign_negative() & (value.is_nan() | (value == 0.0))
}

fn settled(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value + 0.0 }
}

/// An array of floats without these signs; any other as it is.
pub(crate) fn array(array: &ArrayRef) -> ArrayRef {
    fn unsigned<T: ArrowPrimitiveType>(
        array: &ArrayRef,
        is_odd: impl Fn(T::Native) -> bool,
        settle: impl Fn(T::Native) -> T::Native,
    ) -> ArrayRef {
        let values = array.as_primitive::<T>();
        // Without a branch for each value: almost no batch has an odd one.
        if values.values().iter().fold(false, |any, value| any | is_odd(*value)) {
            Arc::new(values.unary::<_, T>(settle))
        } else {
            array.clone()
        }
    }
    match array.data_type() {
        DataType::Float32 => unsigned::<Float32Type>(
            array,
            |value| value.is_sign_negative() & (value.is_nan() | (value == 0.0)),
            |value| if value.is_nan() { f32::NAN } else { value + 0.0 },
        ),
        DataType::Float64 => unsigned::<Float64Type>(array, is_odd, settled),
        _ => array.clone(),
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct SettleFunction {
    signature: Signature,
}

impl ScalarUDFImpl for SettleFunction {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [data_type] => Ok(data_type.clone()),
            _ => plan_err!("{NAME} takes one value"),
        }
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.as_slice() {
            [ColumnarValue::Array(values)] => Ok(ColumnarValue::Array(array(values))),
            [ColumnarValue::Scalar(value)] => {
                let value = literal(value).unwrap_or_else(|| value.clone());
                Ok(ColumnarValue::Scalar(value))
            }
            _ => plan_err!("{NAME} takes one value"),
        }
    }
}
