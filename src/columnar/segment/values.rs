//! Values of a column during decoding: one growing buffer for each physical type.

use std::ops::Range;
use std::sync::Arc;

use super::decode::deltas;
use crate::arrow::array::{
    Array, ArrayRef, Float32Array, Float64Array, Int32Array, Int64Array, StringArray,
};
use crate::arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use crate::columnar::ticks;
use crate::error::{Error, Result};
use crate::model::tables::data::DataType;

/// Decoded values in the form that tests take. The slices have no nulls.
pub enum Part<'a> {
    /// INT32.
    I32(&'a [i32]),
    /// INT64 and TIMESTAMP.
    I64(&'a [i64]),
    /// FLOAT32.
    F32(&'a [f32]),
    /// FLOAT64.
    F64(&'a [f64]),
    /// Values of any other type, and values with nulls.
    Array(ArrayRef),
}

impl Part<'_> {
    /// Rows.
    pub(in crate::columnar) fn len(&self) -> usize {
        match self {
            Self::I32(values) => values.len(),
            Self::I64(values) => values.len(),
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::Array(array) => array.len(),
        }
    }
}

/// Decoded values. All positions are checked; the functions return `None` when one is out of range.
pub(super) trait Values: Default + Send + Sync + 'static {
    /// Bytes of one plain value, if all values have the same.
    const WIDTH: Option<usize>;

    fn len(&self) -> usize;
    /// Memory that the values take.
    fn bytes(&self) -> usize;
    /// Reserves room for this many more.
    fn reserve(&mut self, count: usize);
    fn clear(&mut self);
    /// Appends `count` plain values.
    fn plain(&mut self, bytes: &[u8], count: usize) -> Option<()>;
    /// Appends the values of packed deltas at the positions `wanted`, and possibly some before
    /// them; returns the position of the first one.
    fn packed_deltas(&mut self, bytes: &[u8], wanted: Range<usize>) -> Option<usize>;
    /// Appends a part of other values.
    fn copy(&mut self, from: &Self, range: Range<usize>) -> Option<()>;
    /// Appends a placeholder for a null.
    fn blank(&mut self);
    fn part(&self, range: Range<usize>, data_type: DataType) -> Result<Part<'_>>;
    fn finish(self, valid: Option<NullBuffer>, data_type: DataType) -> Result<ArrayRef>;
}

macro_rules! numbers {
    ($ty:ty, $part:ident, $deltas:expr, $finish:expr) => {
        impl Values for Vec<$ty> {
            const WIDTH: Option<usize> = Some(size_of::<$ty>());

            fn len(&self) -> usize {
                Vec::len(self)
            }

            fn bytes(&self) -> usize {
                self.capacity() * size_of::<$ty>()
            }

            fn reserve(&mut self, count: usize) {
                Vec::reserve(self, count);
            }

            fn clear(&mut self) {
                Vec::clear(self);
            }

            fn plain(&mut self, bytes: &[u8], count: usize) -> Option<()> {
                let bytes = bytes.get(..count.checked_mul(size_of::<$ty>())?)?;
                let (values, _) = bytes.as_chunks::<{ size_of::<$ty>() }>();
                self.extend(values.iter().map(|bytes| <$ty>::from_le_bytes(*bytes)));
                Some(())
            }

            fn packed_deltas(&mut self, bytes: &[u8], wanted: Range<usize>) -> Option<usize> {
                let decode: fn(&mut Self, &[u8], Range<usize>) -> Option<usize> = $deltas;
                decode(self, bytes, wanted)
            }

            fn copy(&mut self, from: &Self, range: Range<usize>) -> Option<()> {
                if range.len() == 1 {
                    self.push(*from.get(range.start)?);
                } else {
                    self.extend_from_slice(from.get(range)?);
                }
                Some(())
            }

            fn blank(&mut self) {
                self.push(Default::default());
            }

            fn part(&self, range: Range<usize>, _: DataType) -> Result<Part<'_>> {
                self.get(range).map(Part::$part).ok_or_else(outside)
            }

            fn finish(self, valid: Option<NullBuffer>, data_type: DataType) -> Result<ArrayRef> {
                let build: fn(ScalarBuffer<$ty>, Option<NullBuffer>, DataType) -> ArrayRef =
                    $finish;
                Ok(build(ScalarBuffer::from(self), valid, data_type))
            }
        }
    };
}

numbers!(
    i32,
    I32,
    |out, bytes, wanted| deltas(bytes, wanted, out, |value| value as i32),
    |values, valid, _| Arc::new(Int32Array::new(values, valid))
);
numbers!(
    i64,
    I64,
    |out, bytes, wanted| deltas(bytes, wanted, out, |value| value),
    |values, valid, data_type| {
        if data_type.is_time() {
            ticks::array_of(data_type, values, valid)
        } else {
            Arc::new(Int64Array::new(values, valid))
        }
    }
);
numbers!(f32, F32, |_, _, _| None, |values, valid, _| Arc::new(Float32Array::new(values, valid)));
numbers!(f64, F64, |_, _, _| None, |values, valid, _| Arc::new(Float64Array::new(values, valid)));

/// Texts in one buffer, with their offsets.
pub(super) struct Texts {
    offsets: Vec<i32>,
    bytes: Vec<u8>,
}

impl Default for Texts {
    fn default() -> Self {
        Self { offsets: vec![0], bytes: Vec::new() }
    }
}

impl Texts {
    fn end(&mut self) -> Option<()> {
        self.offsets.push(i32::try_from(self.bytes.len()).ok()?);
        Some(())
    }
}

impl Values for Texts {
    const WIDTH: Option<usize> = None;

    fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    fn bytes(&self) -> usize {
        self.offsets.capacity() * 4 + self.bytes.capacity()
    }

    fn reserve(&mut self, count: usize) {
        self.offsets.reserve(count);
    }

    fn clear(&mut self) {
        self.offsets.truncate(1);
        self.bytes.clear();
    }

    fn plain(&mut self, bytes: &[u8], count: usize) -> Option<()> {
        let mut bytes = bytes;
        for _ in 0..count {
            let (len, rest) = bytes.split_first_chunk::<4>()?;
            let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
            self.bytes.extend_from_slice(text);
            self.end()?;
            bytes = rest;
        }
        Some(())
    }

    fn packed_deltas(&mut self, _: &[u8], _: Range<usize>) -> Option<usize> {
        None
    }

    fn copy(&mut self, from: &Self, range: Range<usize>) -> Option<()> {
        let ends = from.offsets.get(range.start..=range.end)?;
        for pair in ends.windows(2) {
            let [start, end] = pair else { continue };
            self.bytes.extend_from_slice(from.bytes.get(*start as usize..*end as usize)?);
            self.end()?;
        }
        Some(())
    }

    fn blank(&mut self) {
        self.offsets.push(self.offsets.last().copied().unwrap_or_default());
    }

    fn part(&self, range: Range<usize>, data_type: DataType) -> Result<Part<'_>> {
        let mut part = Self::default();
        part.copy(self, range).ok_or_else(outside)?;
        part.finish(None, data_type).map(Part::Array)
    }

    fn finish(self, valid: Option<NullBuffer>, _: DataType) -> Result<ArrayRef> {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.offsets));
        StringArray::try_new(offsets, Buffer::from_vec(self.bytes), valid)
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| {
                Error::corrupt("a segment has text that is not UTF-8").with_source(error)
            })
    }
}

fn outside() -> Error {
    Error::corrupt("internal error: rows outside of a page were requested; report it")
}
