//! `check_spec(record, value)`: whether a value is within the limits of a specification.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringBuilder};
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf};
use stationdb::specifications::{Specification, Verdict};

/// The function. Its first argument is the column `record` of `specifications`, so only a caller
/// who may read a specification can check against it.
pub(crate) fn function() -> ScalarUDF {
    let check = Arc::new(|arguments: &[ColumnarValue]| {
        let arrays = ColumnarValue::values_to_arrays(arguments)?;
        let [records, values] = &arrays[..] else {
            return exec_err!("check_spec takes the record of a specification and a value");
        };
        Ok(ColumnarValue::Array(verdicts(records, values)?))
    });
    let types = vec![DataType::Utf8, DataType::Float64];
    create_udf("check_spec", types, DataType::Utf8, Volatility::Immutable, check)
}

fn verdicts(records: &ArrayRef, values: &ArrayRef) -> Result<ArrayRef> {
    let values = values.as_primitive::<Float64Type>();
    let mut out = StringBuilder::new();
    // In most statements many values meet the same specification.
    let mut last: Option<(&str, Specification)> = None;
    for (at, record) in records.as_string::<i32>().iter().enumerate() {
        let Some(record) = record else {
            out.append_null();
            continue;
        };
        if last.as_ref().is_none_or(|(text, _)| *text != record) {
            let Ok(read) = serde_json::from_str(record) else {
                return exec_err!("check_spec: its first argument is no specification");
            };
            last = Some((record, read));
        }
        let value = if values.is_valid(at) { values.value(at) } else { f64::NAN };
        let verdict = last.as_ref().map(|(_, specification)| specification.check(value, &[]));
        out.append_option(verdict.map(|verdict| match verdict {
            Verdict::Inside { .. } => "INSIDE",
            Verdict::Outside { .. } => "OUTSIDE",
            Verdict::NotMeasured => "NOT_MEASURED",
            Verdict::NotApplicable => "NOT_APPLICABLE",
        }));
    }
    Ok(Arc::new(out.finish()))
}
