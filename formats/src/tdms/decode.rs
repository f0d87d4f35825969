//! Values of channels as numbers of columns.

use stationdb::arrow::datatypes::ArrowNativeType;

use super::time::{Moment, TimeStep};
use super::types::Kind;

/// A number of a column.
pub(super) trait Number: ArrowNativeType {
    /// The type of values whose bytes are those of the number.
    const KIND: Kind;

    fn of_int(value: i64) -> Self;
    fn of_unsigned(value: u64) -> Self;
    fn of_single(value: f32) -> Self;
    fn of_double(value: f64) -> Self;
}

macro_rules! number {
    ($($number:ty: $kind:ident)*) => {
        $(impl Number for $number {
            const KIND: Kind = Kind::$kind;

            fn of_int(value: i64) -> Self {
                value as Self
            }

            fn of_unsigned(value: u64) -> Self {
                value as Self
            }

            fn of_single(value: f32) -> Self {
                value as Self
            }

            fn of_double(value: f64) -> Self {
                value as Self
            }
        })*
    };
}

number! { i32: I32 i64: I64 f32: F32 f64: F64 }

/// Whether the bytes of values are those of the numbers, so that they need no more than a copy.
pub(super) fn is_same<T: Number>(kind: Kind, is_big: bool) -> bool {
    kind == T::KIND && is_big == cfg!(target_endian = "big")
}

/// How many values lie in a slice that begins and ends with one.
pub(super) fn count(bytes: &[u8], stride: usize) -> usize {
    bytes.len().div_ceil(stride.max(1))
}

/// Sets the values that begin at each `stride` bytes of a slice.
fn take<const N: usize, T>(
    bytes: &[u8],
    stride: usize,
    out: &mut [T],
    value: impl Fn([u8; N]) -> T,
) {
    if stride == N {
        for (out, raw) in out.iter_mut().zip(bytes.as_chunks::<N>().0) {
            *out = value(*raw);
        }
        return;
    }
    let rows = bytes.chunks_exact(stride.max(1));
    let last = rows.remainder().first_chunk::<N>();
    let whole = rows.len();
    for (out, row) in out.iter_mut().zip(rows) {
        *out = value(row.first_chunk::<N>().copied().unwrap_or([0; N]));
    }
    if let (Some(out), Some(raw)) = (out.get_mut(whole), last) {
        *out = value(*raw);
    }
}

macro_rules! numbers {
    ($bytes:expr, $stride:expr, $is_big:expr, $out:expr, $from:ty, $of:expr) => {
        if $is_big {
            take($bytes, $stride, $out, |raw| $of(<$from>::from_be_bytes(raw)))
        } else {
            take($bytes, $stride, $out, |raw| $of(<$from>::from_le_bytes(raw)))
        }
    };
}

/// Sets numbers. The parts of complex numbers and booleans count as numbers of their bytes.
pub(super) fn numbers<T: Number>(
    kind: Kind,
    is_big: bool,
    bytes: &[u8],
    stride: usize,
    out: &mut [T],
) {
    match kind {
        Kind::I8 => numbers!(bytes, stride, is_big, out, i8, |v| T::of_int(i64::from(v))),
        Kind::I16 => numbers!(bytes, stride, is_big, out, i16, |v| T::of_int(i64::from(v))),
        Kind::I32 => numbers!(bytes, stride, is_big, out, i32, |v| T::of_int(i64::from(v))),
        Kind::I64 => numbers!(bytes, stride, is_big, out, i64, T::of_int),
        Kind::U8 | Kind::Bool => {
            numbers!(bytes, stride, is_big, out, u8, |v| T::of_int(i64::from(v)));
        }
        Kind::U16 => numbers!(bytes, stride, is_big, out, u16, |v| T::of_int(i64::from(v))),
        Kind::U32 => numbers!(bytes, stride, is_big, out, u32, |v| T::of_int(i64::from(v))),
        Kind::U64 => numbers!(bytes, stride, is_big, out, u64, T::of_unsigned),
        Kind::F32 | Kind::C32 => numbers!(bytes, stride, is_big, out, f32, T::of_single),
        Kind::F64 | Kind::C64 => numbers!(bytes, stride, is_big, out, f64, T::of_double),
        Kind::Void | Kind::Text | Kind::Time | Kind::Extended(_) => {}
    }
}

/// Sets a bit of each number.
pub(super) fn bits<T: Number>(
    (kind, bit): (Kind, u8),
    is_big: bool,
    bytes: &[u8],
    stride: usize,
    out: &mut [T],
) {
    let mut whole = vec![0i64; out.len()];
    numbers(kind, is_big, bytes, stride, &mut whole);
    for (out, value) in out.iter_mut().zip(whole) {
        *out = T::of_int((value >> bit) & 1);
    }
}

/// Appends booleans.
pub(super) fn bools(bytes: &[u8], stride: usize, out: &mut Vec<bool>) {
    let from = out.len();
    out.resize(from + count(bytes, stride), false);
    take(bytes, stride, out.get_mut(from..).unwrap_or_default(), |[value]| value != 0);
}

/// Times that were read.
#[derive(Default)]
pub(super) struct Times {
    pub(super) counts: Vec<i64>,
    /// Times between two counts.
    pub(super) between: u64,
    /// The first time that has no count, by its number.
    pub(super) beyond: Option<(usize, Moment)>,
}

/// Appends times.
pub(super) fn times(is_big: bool, bytes: &[u8], stride: usize, step: TimeStep, out: &mut Times) {
    let Times { counts, between, beyond } = out;
    let mut all = vec![Moment { seconds: 0, fraction: 0 }; count(bytes, stride)];
    let moment = |value: u128| Moment { seconds: (value >> 64) as i64, fraction: value as u64 };
    numbers!(bytes, stride, is_big, &mut all, u128, moment);
    counts.reserve(all.len());
    for moment in all {
        match moment.count(step) {
            Some((count, is_between)) => {
                *between += u64::from(is_between);
                counts.push(count);
            }
            None => {
                beyond.get_or_insert((counts.len(), moment));
                counts.push(0);
            }
        }
    }
}
