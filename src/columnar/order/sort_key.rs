//! Keys of rows for an order by columns: byte strings that compare as the rows do.
//!
//! A cell is a byte that says whether it is null, and the bytes of the value. Whole numbers are big
//! endian with the sign flipped. Numbers are the bits in their total order, with zeros of either
//! sign made one, and all NaNs; NaN sorts after infinity. In texts a zero byte is followed by 1,
//! and two zero bytes end the text, so no text's key is the beginning of another's. In a descending
//! column the bytes of the value are inverted; nulls come last either way.

use crate::arrow::array::{Array, ArrayRef};
use crate::arrow::buffer::NullBuffer;
use crate::columnar::column_slice::ColumnSlice;

/// One column of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderColumn {
    /// Position of the column.
    pub column: usize,
    /// Largest first; nulls come last either way.
    pub descending: bool,
}

/// In front of a value, and of a null.
const VALUE: u8 = 1;
const NULL: u8 = 2;

/// The keys of some rows, one after the other.
pub(in crate::columnar) struct Keys {
    bytes: Vec<u8>,
    /// Where each key ends.
    ends: Vec<usize>,
}

impl Keys {
    pub(in crate::columnar) fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let key = self.bytes.get(start..end).unwrap_or_default();
            start = end;
            key
        })
    }
}

fn number<N: Copy + Default>(values: &[N], row: usize) -> N {
    values.get(row).copied().unwrap_or_default()
}

fn push_i32(value: i32, out: &mut Vec<u8>) {
    out.extend_from_slice(&(value ^ i32::MIN).to_be_bytes());
}

fn push_i64(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&(value ^ i64::MIN).to_be_bytes());
}

struct Column<'a> {
    cells: ColumnSlice<'a>,
    nulls: Option<&'a NullBuffer>,
    descending: bool,
}

impl<'a> Column<'a> {
    /// `None` for a type that no table has.
    fn new(array: &'a ArrayRef, descending: bool) -> Option<Self> {
        Some(Self { cells: ColumnSlice::of(array)?, nulls: array.nulls(), descending })
    }

    fn push(&self, row: usize, out: &mut Vec<u8>) {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            out.push(NULL);
            return;
        }
        out.push(VALUE);
        let from = out.len();
        match &self.cells {
            ColumnSlice::Bool(values) => out.push(u8::from(values.value(row))),
            ColumnSlice::I32(values) => push_i32(number(values, row), out),
            ColumnSlice::I64(values) => push_i64(number(values, row), out),
            ColumnSlice::F32(values) => {
                let value = number(values, row);
                let value = if value.is_nan() { f32::NAN } else { value + 0.0 };
                let bits = value.to_bits().cast_signed();
                push_i32(bits ^ ((bits >> 31).cast_unsigned() >> 1).cast_signed(), out);
            }
            ColumnSlice::F64(values) => {
                let value = number(values, row);
                let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
                let bits = value.to_bits().cast_signed();
                push_i64(bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed(), out);
            }
            ColumnSlice::Text(values) => {
                for part in values.value(row).as_bytes().split_inclusive(|byte| *byte == 0) {
                    out.extend_from_slice(part);
                    if part.last() == Some(&0) {
                        out.push(1);
                    }
                }
                out.extend_from_slice(&[0, 0]);
            }
        }
        if self.descending {
            out.iter_mut().skip(from).for_each(|byte| *byte = !*byte);
        }
    }
}

/// The keys of the rows of `arrays`, which are the columns of the order; `None` if they are not.
pub(in crate::columnar) fn keys_of(order: &[OrderColumn], arrays: &[ArrayRef]) -> Option<Keys> {
    let row_count = arrays.first().map_or(0, |array| array.len());
    let columns: Vec<Column<'_>> = order
        .iter()
        .zip(arrays)
        .map(|(term, array)| Column::new(array, term.descending))
        .collect::<Option<_>>()?;
    if columns.len() < order.len() || arrays.iter().any(|array| array.len() != row_count) {
        return None;
    }
    let mut keys = Keys { bytes: Vec::new(), ends: Vec::with_capacity(row_count) };
    for row in 0..row_count {
        for column in &columns {
            column.push(row, &mut keys.bytes);
        }
        keys.ends.push(keys.bytes.len());
    }
    Some(keys)
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::arrow::array::{
        BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array, StringArray,
    };

    /// One row: a cell of each type.
    type Row = (Option<bool>, Option<i32>, Option<i64>, Option<f32>, Option<f64>, Option<String>);

    fn cell<T: std::fmt::Debug>(
        values: impl Strategy<Value = T>,
    ) -> impl Strategy<Value = Option<T>> {
        prop_oneof![1 => Just(()).prop_map(|()| None), 5 => values.prop_map(Some)]
    }

    fn rows() -> impl Strategy<Value = Vec<Row>> {
        let i32s = prop_oneof![Just(i32::MIN), Just(-1), Just(0), Just(1), Just(i32::MAX)];
        let i64s = prop_oneof![Just(i64::MIN), Just(-1), Just(0), Just(255), Just(i64::MAX)];
        let f32s = prop_oneof![
            Just(f32::NAN),
            Just(-f32::NAN),
            Just(-0.0),
            Just(0.0),
            Just(f32::MIN),
            Just(f32::INFINITY),
            Just(f32::NEG_INFINITY),
            Just(1e-45),
        ];
        let f64s = prop_oneof![
            Just(f64::NAN),
            Just(-f64::NAN),
            Just(-0.0),
            Just(0.0),
            Just(f64::MAX),
            Just(f64::INFINITY),
            Just(f64::NEG_INFINITY),
            Just(-5e-324),
        ];
        let texts = prop::collection::vec(
            prop_oneof![Just('\0'), Just('\u{1}'), Just('a'), Just('ÿ')],
            0..4,
        )
        .prop_map(|all| all.into_iter().collect::<String>());
        let row =
            (cell(any::<bool>()), cell(i32s), cell(i64s), cell(f32s), cell(f64s), cell(texts));
        prop::collection::vec(row, 1..40)
    }

    /// Compares cells: nulls last whatever the direction is.
    fn compare<T>(
        a: &Option<T>,
        b: &Option<T>,
        descending: bool,
        by: impl Fn(&T, &T) -> Ordering,
    ) -> Ordering {
        match (a, b) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(a), Some(b)) if descending => by(b, a),
            (Some(a), Some(b)) => by(a, b),
        }
    }

    /// Zeros are equal, NaNs are equal and above all numbers.
    fn numbers(a: f64, b: f64) -> Ordering {
        a.is_nan().cmp(&b.is_nan()).then(a.partial_cmp(&b).unwrap_or(Ordering::Equal))
    }

    fn of_column(a: &Row, b: &Row, term: OrderColumn) -> Ordering {
        let down = term.descending;
        match term.column {
            0 => compare(&a.0, &b.0, down, Ord::cmp),
            1 => compare(&a.1, &b.1, down, Ord::cmp),
            2 => compare(&a.2, &b.2, down, Ord::cmp),
            3 => compare(&a.3, &b.3, down, |a, b| numbers(f64::from(*a), f64::from(*b))),
            4 => compare(&a.4, &b.4, down, |a, b| numbers(*a, *b)),
            _ => compare(&a.5, &b.5, down, Ord::cmp),
        }
    }

    fn arrays(rows: &[Row]) -> [ArrayRef; 6] {
        [
            Arc::new(rows.iter().map(|row| row.0).collect::<BooleanArray>()),
            Arc::new(rows.iter().map(|row| row.1).collect::<Int32Array>()),
            Arc::new(rows.iter().map(|row| row.2).collect::<Int64Array>()),
            Arc::new(rows.iter().map(|row| row.3).collect::<Float32Array>()),
            Arc::new(rows.iter().map(|row| row.4).collect::<Float64Array>()),
            Arc::new(rows.iter().map(|row| row.5.clone()).collect::<StringArray>()),
        ]
    }

    proptest! {
        #[test]
        fn keys_compare_as_the_rows_do(
            rows in rows(),
            order in prop::collection::vec((0..6_usize, any::<bool>()), 1..4),
        ) {
            let order: Vec<OrderColumn> = order
                .into_iter()
                .map(|(column, descending)| OrderColumn { column, descending })
                .collect();
            let all = arrays(&rows);
            let chosen: Vec<ArrayRef> =
                order.iter().map(|term| all[term.column].clone()).collect();
            let keys = keys_of(&order, &chosen).unwrap();
            let keys: Vec<&[u8]> = keys.iter().collect();
            for (a, key_a) in rows.iter().zip(&keys) {
                for (b, key_b) in rows.iter().zip(&keys) {
                    let wanted = order
                        .iter()
                        .map(|term| of_column(a, b, *term))
                        .find(|found| found.is_ne())
                        .unwrap_or(Ordering::Equal);
                    prop_assert_eq!(key_a.cmp(key_b), wanted, "{:?} {:?} {:?}", order, a, b);
                }
            }
        }
    }

    #[test]
    fn a_column_that_no_table_has_makes_no_keys() {
        let order = [OrderColumn { column: 0, descending: false }];
        let bytes: ArrayRef = Arc::new(crate::arrow::array::BinaryArray::from(vec![&b"a"[..]]));
        assert!(keys_of(&order, &[bytes]).is_none());
        assert!(keys_of(&order, &[]).is_none());
    }
}
