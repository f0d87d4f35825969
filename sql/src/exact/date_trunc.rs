//! `date_trunc` of every time that a column holds.
//!
//! DataFusion 55.2 counts in nanoseconds: it refuses the years 1 and 9999, and wraps or panics
//! where the truncated time is before the first one of the type. It can go when it does neither.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef, Int64Type, TimeUnit};
use datafusion::error::{DataFusionError, Result};
use datafusion::functions::datetime::date_trunc;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature,
};
use datafusion::scalar::ScalarValue;
use stationdb::chrono::{DateTime, Datelike, NaiveDate};

use super::terms::{is_utc, per_second};

pub(super) fn function() -> ScalarUDF {
    ScalarUDF::new_from_impl(DateTrunc { own: date_trunc() })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct DateTrunc {
    own: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for DateTrunc {
    fn name(&self) -> &str {
        self.own.name()
    }

    fn aliases(&self) -> &[String] {
        self.own.aliases()
    }

    fn signature(&self) -> &Signature {
        self.own.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.own.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.own.return_field_from_args(args)
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        self.own.output_ordering(inputs)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.own.documentation()
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [ColumnarValue::Scalar(part), value] = args.args.as_slice() else {
            return self.own.invoke_with_args(args);
        };
        let part = part.try_as_str().flatten().and_then(TruncationUnit::new);
        let (Some(part), DataType::Timestamp(unit, zone)) = (part, value.data_type()) else {
            return self.own.invoke_with_args(args);
        };
        // Other zones have rules that only the engine knows.
        if !is_utc(&zone) {
            return self.own.invoke_with_args(args);
        }
        Ok(match value {
            ColumnarValue::Array(array) => ColumnarValue::Array(truncated(array, part, unit)?),
            ColumnarValue::Scalar(value) => {
                let array = truncated(&value.to_array()?, part, unit)?;
                ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?)
            }
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum TruncationUnit {
    /// So many of these in a second.
    Of(i128),
    Seconds(i128),
    Week,
    /// So many months.
    Months(u32),
}

impl TruncationUnit {
    fn new(name: &str) -> Option<Self> {
        Some(match name.to_lowercase().as_str() {
            "microsecond" => Self::Of(1_000_000),
            "millisecond" => Self::Of(1000),
            "second" => Self::Seconds(1),
            "minute" => Self::Seconds(60),
            "hour" => Self::Seconds(3600),
            "day" => Self::Seconds(86_400),
            "week" => Self::Week,
            "month" => Self::Months(1),
            "quarter" => Self::Months(3),
            "year" => Self::Months(12),
            _ => return None,
        })
    }

    /// The last count at or before this one that begins such a part.
    fn begin(self, count: i64, unit: TimeUnit) -> Option<i64> {
        let (wide, second) = (i128::from(count), per_second(unit));
        let floor = |width: i128| wide.div_euclid(width) * width;
        let begin = match self {
            Self::Of(parts) if parts >= second => wide,
            Self::Of(parts) => floor(second / parts),
            Self::Seconds(seconds) => floor(second * seconds),
            Self::Week => {
                let day = second * 86_400;
                // The first of January 1970 was a Thursday.
                let since = (wide.div_euclid(day) + 3).rem_euclid(7);
                floor(day) - since * day
            }
            Self::Months(months) => {
                let seconds = i64::try_from(wide.div_euclid(second)).ok()?;
                let date = DateTime::from_timestamp(seconds, 0)?.date_naive();
                let month = date.month0() / months * months;
                let first = NaiveDate::from_ymd_opt(date.year(), month + 1, 1)?;
                let seconds = first.and_hms_opt(0, 0, 0)?.and_utc().timestamp();
                i128::from(seconds) * second
            }
        };
        i64::try_from(begin).ok()
    }
}

fn truncated(array: &ArrayRef, part: TruncationUnit, unit: TimeUnit) -> Result<ArrayRef> {
    let counts = cast(array, &DataType::Int64)?;
    let begins: PrimitiveArray<Int64Type> =
        counts.as_primitive::<Int64Type>().try_unary(|count| {
            part.begin(count, unit).ok_or_else(|| {
                DataFusionError::Execution(format!(
                    "date_trunc of the time with the count {count} is outside of what {} holds",
                    array.data_type()
                ))
            })
        })?;
    Ok(cast(&begins, array.data_type())?)
}
