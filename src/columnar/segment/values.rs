//! Values of a column during decoding: one growing buffer for each physical type.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use super::decode::deltas;
use crate::arrow::array::{ArrayRef, ArrowNativeType, StringArray};
use crate::arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use crate::columnar::column_slice::{ColumnSlice, array_of};
use crate::error::{Error, Result};
use crate::model::tables::data::DataType;

/// Decoded values in the form that tests take.
pub enum Part<'a> {
    /// Numbers without nulls.
    Numbers(ColumnSlice<'a>),
    /// Values of any other type, and values with nulls.
    Array(ArrayRef),
}

impl Part<'_> {
    /// Rows.
    pub(in crate::columnar) fn len(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Array(array) => array.len(),
        }
    }
}

/// Rows of a page: their values, or their codes and the dictionary.
#[derive(Clone, Copy)]
pub(super) enum Cells<'a> {
    Values(&'a dyn Values),
    Codes(&'a [u32], &'a dyn Values),
}

impl Cells<'_> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Values(values) => values.len(),
            Self::Codes(codes, _) => codes.len(),
        }
    }
}

/// Decoded values. All positions are checked; the functions return `None` when one is out of range.
///
/// Each function takes many values, so that its loop is one over the type of the values.
pub(super) trait Values: Any + Send + Sync {
    /// Bytes of one plain value, if all values have the same.
    fn width(&self) -> Option<usize>;

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

    /// Appends parts of cells of the same type.
    fn append(&mut self, from: &Cells<'_>, parts: &[Range<usize>]) -> Option<()>;

    /// Replaces the values, of which there are none, by cells of the same type: one for each valid
    /// row, and a blank for each null.
    fn spread(&mut self, from: &Cells<'_>, valid: &[bool]) -> Option<()>;

    fn part(&self, range: Range<usize>) -> Result<Part<'_>>;

    fn finish(self: Box<Self>, valid: Option<NullBuffer>, data_type: DataType) -> Result<ArrayRef>;
}

/// How the values of a column are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Physical {
    Int32,
    Int64,
    Float32,
    Float64,
    Text,
}

/// How a column of this type is decoded.
pub(super) fn physical(data_type: DataType) -> Physical {
    match data_type {
        DataType::Int32 => Physical::Int32,
        DataType::Float32 => Physical::Float32,
        DataType::Float64 => Physical::Float64,
        DataType::Bool | DataType::String => Physical::Text,
        _ => Physical::Int64,
    }
}

/// Values of a column of this type, none yet.
pub(super) fn no_values(data_type: DataType) -> Box<dyn Values> {
    match physical(data_type) {
        Physical::Int32 => Box::new(Vec::<i32>::new()),
        Physical::Int64 => Box::new(Vec::<i64>::new()),
        Physical::Float32 => Box::new(Vec::<f32>::new()),
        Physical::Float64 => Box::new(Vec::<f64>::new()),
        Physical::Text => Box::new(Texts::default()),
    }
}

fn same<V: Values>(from: &dyn Values) -> Option<&V> {
    (from as &dyn Any).downcast_ref()
}

fn append_deltas(out: &mut dyn Any, bytes: &[u8], wanted: Range<usize>) -> Option<usize> {
    if let Some(out) = out.downcast_mut::<Vec<i32>>() {
        return deltas(bytes, wanted, out, |value| value as i32);
    }
    deltas(bytes, wanted, out.downcast_mut::<Vec<i64>>()?, |value| value)
}

/// A number of a page.
trait Plain: ArrowNativeType + Sync {
    fn read(bytes: &[u8]) -> impl Iterator<Item = Self>;

    fn slice(values: &[Self]) -> ColumnSlice<'_>;
}

macro_rules! plain {
    ($($number:ty, $slice:ident;)*) => {
        $(impl Plain for $number {
            fn read(bytes: &[u8]) -> impl Iterator<Item = Self> {
                let (numbers, _) = bytes.as_chunks::<{ size_of::<$number>() }>();
                numbers.iter().map(|bytes| <$number>::from_le_bytes(*bytes))
            }

            fn slice(values: &[Self]) -> ColumnSlice<'_> {
                ColumnSlice::$slice(values)
            }
        })*
    };
}

plain! {
    i32, I32;
    i64, I64;
    f32, F32;
    f64, F64;
}

impl<N: Plain> Values for Vec<N> {
    fn width(&self) -> Option<usize> {
        Some(size_of::<N>())
    }

    fn len(&self) -> usize {
        Vec::len(self)
    }

    fn bytes(&self) -> usize {
        self.capacity() * size_of::<N>()
    }

    fn reserve(&mut self, count: usize) {
        Vec::reserve(self, count);
    }

    fn clear(&mut self) {
        Vec::clear(self);
    }

    fn plain(&mut self, bytes: &[u8], count: usize) -> Option<()> {
        self.extend(N::read(bytes.get(..count.checked_mul(size_of::<N>())?)?));
        Some(())
    }

    fn packed_deltas(&mut self, bytes: &[u8], wanted: Range<usize>) -> Option<usize> {
        append_deltas(self, bytes, wanted)
    }

    fn append(&mut self, from: &Cells<'_>, parts: &[Range<usize>]) -> Option<()> {
        match from {
            Cells::Values(values) => {
                let values = same::<Self>(*values)?;
                for part in parts {
                    match values.get(part.clone())? {
                        [only] => self.push(*only),
                        more => self.extend_from_slice(more),
                    }
                }
            }
            Cells::Codes(codes, dictionary) => {
                let dictionary = same::<Self>(*dictionary)?;
                for part in parts {
                    for code in codes.get(part.clone())? {
                        self.push(*dictionary.get(*code as usize)?);
                    }
                }
            }
        }
        Some(())
    }

    fn spread(&mut self, from: &Cells<'_>, valid: &[bool]) -> Option<()> {
        let all = 0..from.len();
        Values::append(self, from, std::slice::from_ref(&all))?;
        // From the last row to the first, so that no value is overwritten before it is moved.
        let mut next = all.end;
        self.resize(valid.len(), N::default());
        for (to, valid) in valid.iter().enumerate().rev() {
            next = next.checked_sub(usize::from(*valid))?;
            let value = if *valid { *self.get(next)? } else { N::default() };
            *self.get_mut(to)? = value;
        }
        Some(())
    }

    fn part(&self, range: Range<usize>) -> Result<Part<'_>> {
        self.get(range).map(|values| Part::Numbers(N::slice(values))).ok_or_else(outside)
    }

    fn finish(self: Box<Self>, valid: Option<NullBuffer>, data_type: DataType) -> Result<ArrayRef> {
        array_of(data_type, Buffer::from_vec(*self), valid).ok_or_else(outside)
    }
}

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
    fn push(&mut self, text: &[u8]) -> Option<()> {
        self.bytes.extend_from_slice(text);
        self.offsets.push(i32::try_from(self.bytes.len()).ok()?);
        Some(())
    }

    fn get(&self, at: usize) -> Option<&[u8]> {
        let (start, end) = (self.offsets.get(at)?, self.offsets.get(at + 1)?);
        self.bytes.get(*start as usize..*end as usize)
    }
}

impl Values for Texts {
    fn width(&self) -> Option<usize> {
        None
    }

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
            self.push(text)?;
            bytes = rest;
        }
        Some(())
    }

    fn packed_deltas(&mut self, _: &[u8], _: Range<usize>) -> Option<usize> {
        None
    }

    fn append(&mut self, from: &Cells<'_>, parts: &[Range<usize>]) -> Option<()> {
        let mut rows = parts.iter().flat_map(Clone::clone);
        match from {
            Cells::Values(values) => {
                let values = same::<Self>(*values)?;
                rows.try_for_each(|at| self.push(values.get(at)?))
            }
            Cells::Codes(codes, dictionary) => {
                let dictionary = same::<Self>(*dictionary)?;
                rows.try_for_each(|at| self.push(dictionary.get(*codes.get(at)? as usize)?))
            }
        }
    }

    fn spread(&mut self, from: &Cells<'_>, valid: &[bool]) -> Option<()> {
        let mut texts = Self::default();
        let all = 0..from.len();
        texts.append(from, std::slice::from_ref(&all))?;
        let mut at = 0;
        for valid in valid {
            self.push(if *valid { texts.get(at)? } else { &[] })?;
            at += usize::from(*valid);
        }
        Some(())
    }

    fn part(&self, range: Range<usize>) -> Result<Part<'_>> {
        let mut part = Box::<Self>::default();
        part.append(&Cells::Values(self), std::slice::from_ref(&range)).ok_or_else(outside)?;
        part.finish(None, DataType::String).map(Part::Array)
    }

    fn finish(self: Box<Self>, valid: Option<NullBuffer>, _: DataType) -> Result<ArrayRef> {
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
