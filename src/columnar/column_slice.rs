//! The cells of a column as slices of their type: the one place that tells the types of arrays
//! apart.
//!
//! INT32, INT64 and times widen to 64-bit integers, FLOAT32 and FLOAT64 to doubles. The word of a
//! number has its 8 bytes in segments: a 64-bit integer, or the bits of the float.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use super::kernels::{Extremes, Sample, extremes, extremes_where};
use super::schema::arrow_type;
use super::ticks::{self, ticks};
use crate::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array,
    StringArray,
};
use crate::arrow::buffer::{Buffer, NullBuffer};
use crate::arrow::datatypes::{
    ArrowPrimitiveType, DataType as Arrow, Float32Type, Float64Type, Int32Type, Int64Type,
};
use crate::filter::order_mixed;
use crate::model::tables::data::DataType;
use crate::value::exact::Summable;

/// The cells of a column. Times are their counts, and a null has any value.
#[derive(Clone, Copy)]
pub enum ColumnSlice<'a> {
    /// BOOL.
    Bool(&'a BooleanArray),
    /// INT32.
    I32(&'a [i32]),
    /// INT64 and times.
    I64(&'a [i64]),
    /// FLOAT32.
    F32(&'a [f32]),
    /// FLOAT64.
    F64(&'a [f64]),
    /// STRING.
    Text(&'a StringArray),
}

/// Evaluates an expression for the slice of a column of numbers, whatever their type.
macro_rules! with_numbers {
    ($slice:expr, $values:ident => $then:expr, else $other:expr) => {
        match $slice {
            ColumnSlice::I32($values) => $then,
            ColumnSlice::I64($values) => $then,
            ColumnSlice::F32($values) => $then,
            ColumnSlice::F64($values) => $then,
            ColumnSlice::Bool(_) | ColumnSlice::Text(_) => $other,
        }
    };
}
pub(in crate::columnar) use with_numbers;

/// Numbers in the type that they widen to.
pub(in crate::columnar) enum WideNumbers<'a> {
    Ints(Cow<'a, [i64]>),
    Floats(Cow<'a, [f64]>),
}

/// The value of one cell.
pub(in crate::columnar) enum CellValue<'a> {
    Bool(bool),
    Number(Level),
    Text(&'a str),
}

impl<'a> ColumnSlice<'a> {
    /// The cells of an array; `None` for a type that no table column has.
    pub(in crate::columnar) fn of(array: &'a dyn Array) -> Option<Self> {
        fn values<T: ArrowPrimitiveType>(array: &dyn Array) -> &[T::Native] {
            array.as_primitive::<T>().values()
        }
        Some(match array.data_type() {
            Arrow::Boolean => Self::Bool(array.as_boolean()),
            Arrow::Int32 => Self::I32(values::<Int32Type>(array)),
            Arrow::Int64 => Self::I64(values::<Int64Type>(array)),
            Arrow::Float32 => Self::F32(values::<Float32Type>(array)),
            Arrow::Float64 => Self::F64(values::<Float64Type>(array)),
            Arrow::Timestamp(..) => Self::I64(ticks(array)),
            Arrow::Utf8 => Self::Text(array.as_string()),
            _ => return None,
        })
    }

    /// Rows.
    pub(in crate::columnar) fn len(&self) -> usize {
        match self {
            Self::Bool(values) => values.len(),
            Self::Text(values) => values.len(),
            numbers => with_numbers!(numbers, values => values.len(), else 0),
        }
    }

    /// The value of a row; `None` behind the last one.
    pub(in crate::columnar) fn value(&self, row: usize) -> Option<CellValue<'a>> {
        match *self {
            Self::Bool(values) => (row < values.len()).then(|| CellValue::Bool(values.value(row))),
            Self::Text(values) => (row < values.len()).then(|| CellValue::Text(values.value(row))),
            numbers => self.number(row).map(CellValue::Number).filter(|_| row < numbers.len()),
        }
    }

    /// The number of a row; `None` behind the last one, and for cells that are no numbers.
    pub(in crate::columnar) fn number(&self, row: usize) -> Option<Level> {
        with_numbers!(
            self,
            values => values.get(row).map(|value| Stored::widen(*value).level()),
            else None
        )
    }

    /// The word of a row; 0 where there is no number.
    pub(in crate::columnar) fn word(&self, row: usize) -> u64 {
        with_numbers!(self, values => values.get(row).map_or(0, |value| value.word()), else 0)
    }

    /// Appends the words of all rows.
    pub(in crate::columnar) fn push_words(&self, out: &mut Vec<u64>) {
        with_numbers!(self, values => out.extend(values.iter().map(|value| value.word())), else {});
    }

    /// All numbers; `None` for cells that are no numbers.
    pub(in crate::columnar) fn wide(&self) -> Option<WideNumbers<'a>> {
        Some(match self {
            Self::I32(values) => {
                WideNumbers::Ints(values.iter().map(|value| i64::from(*value)).collect())
            }
            Self::I64(values) => WideNumbers::Ints(Cow::Borrowed(values)),
            Self::F32(values) => {
                WideNumbers::Floats(values.iter().map(|value| f64::from(*value)).collect())
            }
            Self::F64(values) => WideNumbers::Floats(Cow::Borrowed(values)),
            Self::Bool(_) | Self::Text(_) => return None,
        })
    }
}

/// A type of numbers that columns store.
pub trait Stored: Sample + Default {
    /// The type that it widens to.
    type Wide: Scale;

    /// The same number.
    fn widen(self) -> Self::Wide;

    /// Its word.
    fn word(self) -> u64;

    /// Whether it is NaN.
    #[expect(clippy::eq_op, reason = "only NaN differs from itself")]
    fn is_nan(self) -> bool {
        self != self
    }
}

macro_rules! stored {
    ($($number:ty, $wide:ty, |$value:ident| $word:expr;)*) => {
        $(impl Stored for $number {
            type Wide = $wide;

            fn widen(self) -> $wide {
                self.into()
            }

            fn word(self) -> u64 {
                let $value = self;
                $word
            }
        })*
    };
}

stored! {
    i32, i64, |value| i64::from(value).cast_unsigned();
    i64, i64, |value| value.cast_unsigned();
    f32, f64, |value| value.to_bits().into();
    f64, f64, |value| value.to_bits();
}

/// A type of summaries and aggregates.
pub trait Scale: Stored<Wide = Self> + Summable + Send + Sync + std::fmt::Debug {
    /// The nearest float. Monotonic: a greater value never has a lesser float.
    fn nearest(self) -> f64;

    /// How it compares with a float, without a rounding; `None` with NaN.
    fn order(self, float: f64) -> Option<Ordering>;

    /// The number as a level.
    fn level(self) -> Level;

    /// The number of a level; `None` for one of another type.
    fn of_level(level: Level) -> Option<Self>;
}

impl Scale for i64 {
    fn nearest(self) -> f64 {
        self as f64
    }

    fn order(self, float: f64) -> Option<Ordering> {
        order_mixed(self, float)
    }

    fn level(self) -> Level {
        Level::Int(self)
    }

    fn of_level(level: Level) -> Option<Self> {
        if let Level::Int(value) = level { Some(value) } else { None }
    }
}

impl Scale for f64 {
    fn nearest(self) -> f64 {
        self
    }

    fn order(self, float: f64) -> Option<Ordering> {
        self.partial_cmp(&float)
    }

    fn level(self) -> Level {
        Level::Float(self)
    }

    fn of_level(level: Level) -> Option<Self> {
        if let Level::Float(value) = level { Some(value) } else { None }
    }
}

/// A number that sorts like the values of a numeric column.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum Level {
    /// Of INT32, INT64 and times.
    Int(i64),
    /// Of FLOAT32 and FLOAT64.
    Float(f64),
}

impl Level {
    /// Its word in a column of this type.
    pub(in crate::columnar) fn word(self, data_type: DataType) -> u64 {
        match self {
            Self::Int(value) => value.word(),
            Self::Float(value) if data_type == DataType::Float32 => (value as f32).word(),
            Self::Float(value) => value.word(),
        }
    }

    /// The lesser of two numbers, the first one of equals.
    pub(in crate::columnar) fn least(self, other: Self) -> Self {
        if other < self { other } else { self }
    }

    /// The greater of two numbers, the first one of equals.
    pub(in crate::columnar) fn greatest(self, other: Self) -> Self {
        if other > self { other } else { self }
    }
}

impl<N: Stored> Extremes<N> {
    /// The extremes as levels.
    pub(in crate::columnar) fn levels(self) -> Extremes<Level> {
        let Self { min, min_at, max, max_at } = self;
        Extremes { min: min.widen().level(), min_at, max: max.widen().level(), max_at }
    }
}

/// The validity of an array with nulls.
pub(in crate::columnar) fn nulls_of(array: &dyn Array) -> Option<&NullBuffer> {
    array.nulls().filter(|nulls| nulls.null_count() > 0)
}

/// The extremes of the rows from `from` on, with positions counted from there.
pub(in crate::columnar) fn part_extremes<N: Sample>(
    values: &[N],
    nulls: Option<&NullBuffer>,
    from: usize,
    len: usize,
) -> Option<Extremes<N>> {
    let values = values.get(from..from + len)?;
    match nulls {
        None => extremes(values),
        Some(nulls) => extremes_where(values, |at| nulls.is_valid(from + at)),
    }
}

/// The number of NaNs in the rows from `from` on.
pub(in crate::columnar) fn part_nans<N: Stored>(
    values: &[N],
    nulls: Option<&NullBuffer>,
    from: usize,
    len: usize,
) -> usize {
    let values = values.get(from..from + len).unwrap_or_default();
    match nulls {
        None => values.iter().filter(|value| value.is_nan()).count(),
        Some(nulls) => values
            .iter()
            .enumerate()
            .filter(|(at, value)| value.is_nan() && nulls.is_valid(from + at))
            .count(),
    }
}

/// The extremes of a part of an array; `None` for an array that has no numbers.
pub(in crate::columnar) fn array_extremes(
    array: &dyn Array,
    from: usize,
    len: usize,
) -> Option<Option<Extremes<Level>>> {
    let slice = ColumnSlice::of(array)?;
    with_numbers!(slice, values => {
        let found = part_extremes(values, nulls_of(array), from, len);
        Some(found.map(Extremes::levels))
    }, else None)
}

/// The number of NaNs of an array.
pub(in crate::columnar) fn nan_count(array: &dyn Array) -> usize {
    let (nulls, len) = (nulls_of(array), array.len());
    match ColumnSlice::of(array) {
        Some(ColumnSlice::F32(values)) => part_nans(values, nulls, 0, len),
        Some(ColumnSlice::F64(values)) => part_nans(values, nulls, 0, len),
        _ => 0,
    }
}

/// An array of a column of numbers; `None` for a column of another type.
pub(in crate::columnar) fn array_of(
    data_type: DataType,
    values: Buffer,
    nulls: Option<NullBuffer>,
) -> Option<ArrayRef> {
    Some(match data_type {
        DataType::Int32 => Arc::new(Int32Array::new(values.into(), nulls)),
        DataType::Int64 => Arc::new(Int64Array::new(values.into(), nulls)),
        DataType::Float32 => Arc::new(Float32Array::new(values.into(), nulls)),
        DataType::Float64 => Arc::new(Float64Array::new(values.into(), nulls)),
        DataType::Bool | DataType::String => return None,
        time => ticks::array_of(time, values.into(), nulls),
    })
}

/// A column of this type from the words of its values; `None` for texts.
///
/// The word of a number is that of [`Word`](super::readers::Word), that of true is 1, that of
/// false 0.
pub fn array_of_words(
    data_type: DataType,
    words: Vec<u64>,
    nulls: Option<NullBuffer>,
) -> Option<ArrayRef> {
    if data_type == DataType::Bool {
        let values = words.iter().map(|word| *word == 1).collect();
        return Some(Arc::new(BooleanArray::new(values, nulls)));
    }
    let is_short = arrow_type(data_type).primitive_width() == Some(size_of::<u32>());
    let values = if is_short {
        // The lower half of a word has the bits of a shorter number.
        Buffer::from_vec(words.into_iter().map(|word| word as u32).collect::<Vec<u32>>())
    } else {
        Buffer::from_vec(words)
    };
    array_of(data_type, values, nulls)
}
