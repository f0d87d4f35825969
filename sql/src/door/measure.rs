//! Sizes of the arguments of a call.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Int64Type, IntervalMonthDayNanoType, TimeUnit,
};
use datafusion::error::Result;
use datafusion::logical_expr::ColumnarValue;

/// An argument, of one row if it is a constant.
pub(super) struct Argument {
    array: ArrayRef,
    is_constant: bool,
}

impl Argument {
    pub(super) fn new(value: &ColumnarValue) -> Result<Self> {
        Ok(match value {
            ColumnarValue::Array(array) => Self { array: array.clone(), is_constant: false },
            ColumnarValue::Scalar(value) => Self { array: value.to_array()?, is_constant: true },
        })
    }

    fn at(&self, row: usize) -> usize {
        if self.is_constant { 0 } else { row }
    }

    /// The bytes of all rows.
    pub(super) fn bytes(&self, rows: usize) -> u128 {
        let bytes = data_bytes(&self.array);
        if self.is_constant { bytes * rows as u128 } else { bytes }
    }

    /// The bytes of one row.
    pub(super) fn row_bytes(&self, row: usize) -> u128 {
        let at = self.at(row);
        if at >= self.array.len() || self.array.is_null(at) {
            return 1;
        }
        match text_length(&self.array, at) {
            Some(length) => length,
            None => data_bytes(&self.array.slice(at, 1)),
        }
    }

    /// The elements of the list of one row, and of the lists in it; the bytes of a text.
    pub(super) fn elements(&self, row: usize) -> u128 {
        let at = self.at(row);
        if at >= self.array.len() || self.array.is_null(at) {
            return 0;
        }
        match text_length(&self.array, at) {
            Some(length) => length,
            None => leaves(&self.array.slice(at, 1)),
        }
    }

    /// The whole numbers of the rows.
    pub(super) fn numbers(&self) -> Result<Numbers> {
        let array = cast(&self.array, &DataType::Int64)?.as_primitive::<Int64Type>().clone();
        Ok(Numbers { array, source: self.array.clone(), is_constant: self.is_constant })
    }

    pub(super) fn data_type(&self) -> &DataType {
        self.array.data_type()
    }

    /// Nanoseconds since 1970.
    pub(super) fn nanos(&self, row: usize) -> Option<i128> {
        let at = self.at(row);
        if at >= self.array.len() || self.array.is_null(at) {
            return None;
        }
        match self.array.data_type() {
            DataType::Date32 => {
                let days = self.array.as_primitive::<Date32Type>().value(at);
                Some(i128::from(days) * 86_400_000_000_000)
            }
            DataType::Timestamp(unit, _) => {
                let scale = match unit {
                    TimeUnit::Second => 1_000_000_000,
                    TimeUnit::Millisecond => 1_000_000,
                    TimeUnit::Microsecond => 1000,
                    TimeUnit::Nanosecond => 1,
                };
                let array = cast(&self.array.slice(at, 1), &DataType::Int64).ok()?;
                Some(i128::from(array.as_primitive::<Int64Type>().value(0)) * scale)
            }
            _ => None,
        }
    }

    /// Months, days and nanoseconds of an interval.
    pub(super) fn interval(&self, row: usize) -> Option<(i32, i32, i64)> {
        let at = self.at(row);
        let array = self.array.as_primitive_opt::<IntervalMonthDayNanoType>()?;
        if at >= array.len() || array.is_null(at) {
            return None;
        }
        let step = array.value(at);
        Some((step.months, step.days, step.nanoseconds))
    }
}

/// Whole numbers, null where there is none.
pub(super) struct Numbers {
    array: Int64Array,
    source: ArrayRef,
    is_constant: bool,
}

impl Numbers {
    pub(super) fn at(&self, row: usize) -> Option<i128> {
        let at = if self.is_constant { 0 } else { row };
        let is_known = at < self.source.len() && self.source.is_valid(at);
        // A number beyond 64 bits, which the cast leaves out, is a large one.
        let large = || i128::from(i64::MAX);
        is_known
            .then(|| if self.array.is_valid(at) { self.array.value(at).into() } else { large() })
    }
}

fn text_length(array: &ArrayRef, at: usize) -> Option<u128> {
    Some(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(at).len() as u128,
        DataType::LargeUtf8 => array.as_string::<i64>().value(at).len() as u128,
        DataType::Utf8View => array.as_string_view().value(at).len() as u128,
        _ => return None,
    })
}

/// The part of the values that a list of rows has.
fn values_of(array: &ArrayRef) -> Option<ArrayRef> {
    fn part(values: &ArrayRef, first: Option<usize>, last: Option<usize>) -> ArrayRef {
        let first = first.unwrap_or(0);
        values.slice(first, last.unwrap_or(first).saturating_sub(first))
    }
    Some(match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let offsets = list.value_offsets();
            let bound = |offset: Option<&i32>| offset.and_then(|at| usize::try_from(*at).ok());
            part(list.values(), bound(offsets.first()), bound(offsets.last()))
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let offsets = list.value_offsets();
            let bound = |offset: Option<&i64>| offset.and_then(|at| usize::try_from(*at).ok());
            part(list.values(), bound(offsets.first()), bound(offsets.last()))
        }
        DataType::Map(..) => {
            let map = array.as_map();
            let offsets = map.value_offsets();
            let bound = |offset: Option<&i32>| offset.and_then(|at| usize::try_from(*at).ok());
            let entries: ArrayRef = std::sync::Arc::new(map.entries().clone());
            part(&entries, bound(offsets.first()), bound(offsets.last()))
        }
        DataType::FixedSizeList(..) => array.as_fixed_size_list().values().clone(),
        _ => return None,
    })
}

/// The bytes of the values of an array, without those that it does not show.
fn data_bytes(array: &ArrayRef) -> u128 {
    let rows = array.len() as u128;
    if let Some(values) = values_of(array) {
        return rows * 8 + data_bytes(&values);
    }
    match array.data_type() {
        DataType::Null => rows,
        DataType::Boolean => rows.div_ceil(8),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            let length =
                |at| if array.is_null(at) { 0 } else { text_length(array, at).unwrap_or(0) };
            rows * 8 + (0..array.len()).map(length).sum::<u128>()
        }
        DataType::Struct(_) => array.as_struct().columns().iter().map(data_bytes).sum(),
        other => match other.primitive_width() {
            Some(width) => rows * width as u128,
            None => array.get_array_memory_size() as u128,
        },
    }
}

/// The values in lists.
fn leaves(array: &ArrayRef) -> u128 {
    match (values_of(array), array.data_type()) {
        (Some(values), _) => array.len() as u128 + leaves(&values),
        (None, DataType::Struct(_)) => array.as_struct().columns().iter().map(leaves).sum(),
        (None, _) => array.len() as u128,
    }
}

/// Whether texts of the values may have hundreds of digits.
pub(super) fn has_floats(data_type: &DataType) -> bool {
    match data_type {
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            has_floats(field.data_type())
        }
        DataType::Struct(fields) => fields.iter().any(|field| has_floats(field.data_type())),
        other => other.is_floating(),
    }
}
