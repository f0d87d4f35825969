//! `+`, `-`, `*`, `<<` and `>>` of integers, which fail where the result is outside of the type.
//!
//! DataFusion 55.2 wraps around. It can go when `BinaryExpr` of its planner fails on overflow.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type, UInt64Type};
use datafusion::common::{exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::type_coercion::binary::BinaryTypeCoercer;
use datafusion::logical_expr::{
    ColumnarValue, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::door::operate;

pub(crate) const NAMES: [&str; 5] =
    ["checked_add", "checked_subtract", "checked_multiply", "checked_shift", "checked_shift_right"];
const OPERATORS: [Operator; 5] = [
    Operator::Plus,
    Operator::Minus,
    Operator::Multiply,
    Operator::BitwiseShiftLeft,
    Operator::BitwiseShiftRight,
];

static FUNCTIONS: LazyLock<[Arc<ScalarUDF>; 5]> = LazyLock::new(|| {
    [0, 1, 2, 3, 4].map(|at: usize| {
        let signature = Signature::any(2, Volatility::Immutable);
        let (name, operator) = (NAMES[at], OPERATORS[at]);
        Arc::new(ScalarUDF::new_from_impl(CheckedArithmetic { name, operator, signature }))
    })
});

pub(super) fn functions() -> &'static [Arc<ScalarUDF>; 5] {
    &FUNCTIONS
}

/// The function of an operator that may wrap.
pub(super) fn of(operator: Operator) -> Option<Arc<ScalarUDF>> {
    let at = OPERATORS.iter().position(|own| *own == operator)?;
    FUNCTIONS.get(at).cloned()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CheckedArithmetic {
    name: &'static str,
    operator: Operator,
    signature: Signature,
}

impl ScalarUDFImpl for CheckedArithmetic {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let [left, right] = types else { return plan_err!("{} takes two values", self.name) };
        BinaryTypeCoercer::new(left, &self.operator, right).get_result_type()
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if matches!(self.operator, Operator::BitwiseShiftLeft | Operator::BitwiseShiftRight) {
            check_shift(self.operator, &args)?;
        }
        operate(self.operator, true, args)
    }
}

/// Fails where a shift to the left loses a bit that counts, or a shift is as wide as the type.
fn check_shift(operator: Operator, args: &ScalarFunctionArgs) -> Result<()> {
    let arrays = ColumnarValue::values_to_arrays(&args.args)?;
    let [values, shifts] = arrays.as_slice() else {
        return plan_err!("{operator} takes two values");
    };
    let width = values.data_type().primitive_width().unwrap_or(8) as i128 * 8;
    let is_unsigned = values.data_type().is_unsigned_integer();
    let bits = if is_unsigned { width } else { width - 1 };
    for (value, shift) in wide(values)?.into_iter().zip(wide(shifts)?) {
        let (Some(value), Some(shift)) = (value, shift) else { continue };
        let is_whole = (0..width).contains(&shift)
            && (operator == Operator::BitwiseShiftRight || {
                let shifted = value << shift;
                (-(1_i128 << bits)..(1_i128 << bits)).contains(&shifted)
            });
        if !is_whole {
            return exec_err!("Overflow happened on: {value} {operator} {shift}");
        }
    }
    Ok(())
}

/// The integers of an array of any width.
fn wide(array: &ArrayRef) -> Result<Vec<Option<i128>>> {
    if *array.data_type() == DataType::UInt64 {
        let values = array.as_primitive::<UInt64Type>().iter();
        return Ok(values.map(|value| value.map(i128::from)).collect());
    }
    let values = cast(array, &DataType::Int64)?;
    let values = values.as_primitive::<Int64Type>().iter();
    Ok(values.map(|value| value.map(i128::from)).collect())
}
