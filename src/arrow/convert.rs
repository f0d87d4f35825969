//! Changes of type between arrays of numbers and of texts. No value changes its meaning: one that
//! the other type cannot hold becomes null, and the caller looks for nulls that were none.
//!
//! `arrow-cast` converts every type to every other one. Compiling that takes longer than this crate
//! needs for the few pairs below.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, Float64Array, Int64Array, PrimitiveArray, StringArray,
};
use arrow_schema::DataType;
use arrow_select::take::take;

use super::integers::to_int64;
use super::text;

/// Numbers as the nearest FLOAT64; `None` for an array of another type.
#[expect(clippy::cast_precision_loss, reason = "large whole numbers round to the nearest one")]
pub(crate) fn to_float64(array: &dyn Array) -> Option<Float64Array> {
    fn widen<T: ArrowPrimitiveType<Native: Into<f64>>>(array: &dyn Array) -> Float64Array {
        array.as_primitive::<T>().unary(Into::into)
    }
    fn decimals(array: &dyn Array) -> Float64Array {
        let number = |row| text::of_cell(array, row)?.parse().ok();
        (0..array.len()).map(number).collect()
    }
    Some(match array.data_type() {
        DataType::Int8 => widen::<Int8Type>(array),
        DataType::Int16 => widen::<Int16Type>(array),
        DataType::Int32 => widen::<Int32Type>(array),
        DataType::Int64 => array.as_primitive::<Int64Type>().unary(|value| value as f64),
        DataType::UInt8 => widen::<UInt8Type>(array),
        DataType::UInt16 => widen::<UInt16Type>(array),
        DataType::UInt32 => widen::<UInt32Type>(array),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().unary(|value| value as f64),
        DataType::Float16 => array.as_primitive::<Float16Type>().unary(f64::from),
        DataType::Float32 => widen::<Float32Type>(array),
        DataType::Float64 => array.as_primitive::<Float64Type>().clone(),
        DataType::Decimal128(..) | DataType::Decimal256(..) => decimals(array),
        _ => return None,
    })
}

/// A narrower type of numbers; values that it cannot hold become null.
pub(crate) fn narrow<S, T>(
    array: &PrimitiveArray<S>,
    value: impl Fn(S::Native) -> Option<T::Native>,
) -> ArrayRef
where
    S: ArrowPrimitiveType,
    T: ArrowPrimitiveType,
{
    Arc::new(array.unary_opt::<_, T>(value))
}

/// Whole numbers as floats of a type; `exact` is the float that equals a number, and a number
/// without one becomes null. `None` for an array that has no whole numbers.
pub(crate) fn exact_floats<T: ArrowPrimitiveType>(
    array: &dyn Array,
    exact: impl Fn(i128) -> Option<T::Native>,
) -> Option<ArrayRef> {
    if !array.data_type().is_integer() {
        return None;
    }
    // The greatest ones are beyond INT64.
    if let Some(all) = array.as_primitive_opt::<UInt64Type>() {
        return Some(narrow::<_, T>(all, |value| exact(value.into())));
    }
    to_int64(array).map(|all| narrow::<_, T>(&all, |value| exact(value.into())))
}

/// Floats that are whole numbers as INT64; others become null. `None` for an array that has no
/// floats.
pub(crate) fn whole_int64(array: &dyn Array) -> Option<Int64Array> {
    const END: f64 = 9_223_372_036_854_775_808.0;
    let whole = |value: f64| {
        (value.trunc() == value && (-END..END).contains(&value)).then_some(value as i64)
    };
    let floats = to_float64(array).filter(|_| array.data_type().is_floating())?;
    Some(floats.unary_opt(whole))
}

/// Each value as text; `None` for types that have no text, and for more than 2 GiB of text.
pub(crate) fn to_text(array: &dyn Array) -> Option<StringArray> {
    let is_too_long = |bytes: u64| i32::try_from(bytes).is_err();
    match array.data_type() {
        DataType::Utf8 => Some(array.as_string::<i32>().clone()),
        DataType::LargeUtf8 => {
            let texts = array.as_string::<i64>();
            let bytes = texts.offsets().lengths().map(|len| len as u64).sum();
            (!is_too_long(bytes)).then(|| texts.iter().collect())
        }
        DataType::Utf8View => {
            let texts = array.as_string_view();
            // The lower half of a view is its length.
            let bytes = texts.views().iter().map(|view| u64::from(*view as u32)).sum();
            (!is_too_long(bytes)).then(|| texts.iter().collect())
        }
        DataType::Dictionary(..) => to_text(&unpack(array)?),
        _ => {
            (0..array.len())
                .map(|row| {
                    if array.is_null(row) {
                        Some(None)
                    } else {
                        text::of_cell(array, row).map(Some)
                    }
                })
                .collect()
        }
    }
}

/// The values of a dictionary, one for each row; `None` for another array, and if they take too
/// much memory for one array.
#[must_use]
pub fn unpack(array: &dyn Array) -> Option<ArrayRef> {
    let dictionary = array.as_any_dictionary_opt()?;
    take(dictionary.values(), dictionary.keys(), None).ok()
}

#[cfg(test)]
mod tests {
    use arrow_array::{
        Decimal128Array, DictionaryArray, Float16Array, Int8Array, Int16Array, LargeStringArray,
        StringViewArray, Time32SecondArray, UInt32Array, UInt64Array,
    };

    use super::*;

    fn one(array: &dyn Array) -> (Option<i64>, Option<f64>, Option<String>) {
        let ints = to_int64(array).filter(|all| all.is_valid(0)).map(|all| all.value(0));
        let floats = to_float64(array).filter(|all| all.is_valid(0)).map(|all| all.value(0));
        let texts = to_text(array).filter(|all| all.is_valid(0)).map(|all| all.value(0).to_owned());
        (ints, floats, texts)
    }

    #[test]
    fn extremes_keep_their_value_or_become_null() {
        let all = |int, float, text: &str| (int, float, Some(text.to_owned()));
        let cases: [(ArrayRef, _); 11] = [
            (Arc::new(Int8Array::from(vec![-128])), all(Some(-128), Some(-128.0), "-128")),
            (Arc::new(Int16Array::from(vec![32_767])), all(Some(32_767), Some(32_767.0), "32767")),
            (
                Arc::new(UInt32Array::from(vec![u32::MAX])),
                all(Some(4_294_967_295), Some(4_294_967_295.0), "4294967295"),
            ),
            (
                Arc::new(Int64Array::from(vec![i64::MIN])),
                all(Some(i64::MIN), Some(-(2_f64.powi(63))), "-9223372036854775808"),
            ),
            (
                Arc::new(UInt64Array::from(vec![u64::MAX])),
                all(None, Some(2_f64.powi(64)), "18446744073709551615"),
            ),
            (Arc::new(Float64Array::from(vec![1e300])), all(None, Some(1e300), "1e300")),
            (Arc::new(Float16Array::from(vec![Some(half(0.5))])), all(None, Some(0.5), "0.5")),
            (
                Arc::new(
                    Decimal128Array::from(vec![-12_345]).with_precision_and_scale(10, 2).unwrap(),
                ),
                all(None, Some(-123.45), "-123.45"),
            ),
            (Arc::new(Time32SecondArray::from(vec![3_661])), all(Some(3_661), None, "01:01:01")),
            (Arc::new(LargeStringArray::from(vec!["é"])), all(None, None, "é")),
            (
                Arc::new(StringViewArray::from(vec!["a text beyond twelve bytes"])),
                all(None, None, "a text beyond twelve bytes"),
            ),
        ];
        for (array, wanted) in cases {
            assert_eq!(one(&array), wanted, "{}", array.data_type());
        }
    }

    fn half(value: f32) -> <Float16Type as ArrowPrimitiveType>::Native {
        <Float16Type as ArrowPrimitiveType>::Native::from_f32(value)
    }

    #[test]
    fn nulls_stay_null_and_narrow_numbers_that_do_not_fit_become_null() {
        let wide = Int64Array::from(vec![Some(1), None, Some(i64::MAX), Some(-1)]);
        let narrow = narrow::<_, Int32Type>(&wide, |value| i32::try_from(value).ok());
        let narrow = narrow.as_primitive::<Int32Type>();
        assert_eq!(narrow.iter().collect::<Vec<_>>(), [Some(1), None, None, Some(-1)]);
        let texts = to_text(&wide).unwrap();
        let wanted = [Some("1"), None, Some("9223372036854775807"), Some("-1")];
        assert_eq!(texts.iter().collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn a_dictionary_is_unpacked() {
        let dictionary: DictionaryArray<Int8Type> =
            vec![Some("b"), None, Some("a"), Some("b")].into_iter().collect();
        let texts = to_text(&dictionary).unwrap();
        assert_eq!(texts.iter().collect::<Vec<_>>(), [Some("b"), None, Some("a"), Some("b")]);
        assert_eq!(text::of_cell(&dictionary, 2).unwrap(), "a");
        assert!(unpack(&texts).is_none());
    }
}
