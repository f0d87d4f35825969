//! Groups: the keys of rows as cells, and dense numbers for them.

use std::borrow::Cow;
use std::collections::HashMap;

use super::ints::{numbered, paired};
use crate::arrow::array::{Array, ArrayRef};
use crate::columnar::column_slice::{ColumnSlice, WideNumbers};

/// A column by whose values rows are grouped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Key {
    /// Its position.
    pub column: usize,
    /// The width of its buckets; each value is a group without it.
    pub width: Option<Width>,
}

/// The width of buckets. Bucket boundaries are multiples of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Width {
    /// Of integers, and of timestamps in the unit of the column; at least 1.
    Int(i64),
    /// Of floats; greater than 0.
    Float(f64),
}

/// The value of a key. The order is that of the groups: nulls come last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum KeyCell {
    Bool(bool),
    Int(i64),
    /// A float as [`float_key`].
    Float(i64),
    Text(String),
    Null,
}

impl KeyCell {
    /// Memory that it needs.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + if let Self::Text(text) = self { text.len() } else { 0 }
    }
}

/// An integer that sorts as the float does; NaNs are equal and last, zeros are equal.
pub(super) fn float_key(value: f64) -> i64 {
    let value = if value.is_nan() { f64::NAN.abs() } else { value + 0.0 };
    let bits = value.to_bits().cast_signed();
    if bits < 0 { bits ^ i64::MAX } else { bits }
}

/// The float of a key.
pub(super) fn key_float(key: i64) -> f64 {
    f64::from_bits((if key < 0 { key ^ i64::MAX } else { key }).cast_unsigned())
}

/// The start of the bucket that contains an integer: the least integer if the boundary is below it.
pub(super) fn bucket(value: i64, width: i64) -> i64 {
    value.div_euclid(width.max(1)).checked_mul(width.max(1)).unwrap_or(i64::MIN)
}

/// The start of the bucket that contains a float: the value itself if it is so much greater than
/// the width that their quotient is no number, as NaN and infinities are; the number farthest from
/// zero if the boundary is beyond it.
fn float_bucket(value: f64, width: f64) -> f64 {
    let number = (value / width).floor();
    if !number.is_finite() {
        return value;
    }
    (number * width).clamp(f64::MIN, f64::MAX)
}

/// The starts of the buckets of integers. Rows in index order have long stretches in one bucket.
fn buckets(values: &[i64], width: Option<Width>) -> Cow<'_, [i64]> {
    let Some(Width::Int(width)) = width else { return Cow::Borrowed(values) };
    let (mut start, mut end) = (0, 0);
    let starts = values.iter().map(|&value| {
        if value < start || value >= end {
            start = bucket(value, width);
            end = value.div_euclid(width.max(1)).saturating_add(1).saturating_mul(width);
        }
        start
    });
    Cow::Owned(starts.collect())
}

fn of_ints(
    array: &ArrayRef,
    values: &[i64],
    make: impl Fn(i64) -> KeyCell,
) -> (Vec<u32>, Vec<KeyCell>) {
    let has_nulls = array.null_count() > 0;
    let (codes, distinct) = numbered(values, &|at| array.is_valid(at), has_nulls);
    (codes, distinct.into_iter().map(|value| value.map_or(KeyCell::Null, &make)).collect())
}

/// The number of each row's key, and the keys by number.
fn column_codes(array: &ArrayRef, width: Option<Width>) -> (Vec<u32>, Vec<KeyCell>) {
    let start = |value: f64| match width {
        Some(Width::Float(width)) => float_bucket(value, width),
        _ => value,
    };
    let Some(slice) = ColumnSlice::of(array) else { return Default::default() };
    match slice {
        ColumnSlice::Bool(values) => {
            let values: Vec<i64> = values.values().iter().map(i64::from).collect();
            of_ints(array, &values, |value| KeyCell::Bool(value != 0))
        }
        ColumnSlice::Text(texts) => {
            let mut known: HashMap<Option<&str>, u32> = HashMap::new();
            let mut distinct = Vec::new();
            let mut last: Option<(Option<&str>, u32)> = None;
            let codes = texts
                .iter()
                .map(|text| match last {
                    Some((before, code)) if before == text => code,
                    _ => {
                        let code = *known.entry(text).or_insert_with(|| {
                            distinct.push(
                                text.map_or(KeyCell::Null, |text| KeyCell::Text(text.to_owned())),
                            );
                            (distinct.len() - 1) as u32
                        });
                        last = Some((text, code));
                        code
                    }
                })
                .collect();
            (codes, distinct)
        }
        numbers => match numbers.wide() {
            Some(WideNumbers::Ints(values)) => {
                of_ints(array, &buckets(&values, width), KeyCell::Int)
            }
            Some(WideNumbers::Floats(values)) => {
                let keys: Vec<i64> = values.iter().map(|value| float_key(start(*value))).collect();
                of_ints(array, &keys, KeyCell::Float)
            }
            None => Default::default(),
        },
    }
}

/// The number of the group of each row, and the keys of the groups by number.
pub(super) type Codes = (Vec<u32>, Vec<Vec<KeyCell>>);

/// The groups of rows by their keys; `None` without keys, when all rows are one group.
pub(super) fn codes(keys: &[(ArrayRef, Option<Width>)]) -> Option<Codes> {
    let mut joined: Option<Codes> = None;
    for (array, width) in keys {
        let (codes, distinct) = column_codes(array, *width);
        joined = Some(match joined {
            None => (codes, distinct.into_iter().map(|cell| vec![cell]).collect()),
            Some((before, groups)) => {
                let (codes, pairs) = paired(&before, &codes, distinct.len());
                let groups = pairs
                    .into_iter()
                    .filter_map(|(left, right)| {
                        let mut cells = groups.get(left as usize)?.clone();
                        cells.push(distinct.get(right as usize)?.clone());
                        Some(cells)
                    })
                    .collect();
                (codes, groups)
            }
        });
    }
    joined
}
