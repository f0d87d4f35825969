//! The memory of callers: what their pointers lead to.
//!
//! [`In`] and [`Out`] are the pointers among the parameters of exported functions. Only a caller
//! from outside can make one, because nothing here makes them but tests. That caller has promised
//! what `stationdb.h` demands: a pointer is null, or leads to as many values as the length beside
//! it says, which nobody changes during the call. All checks that do not need that promise are made
//! first: null, a negative length, one that is too large. No alignment is asked for: on 32-bit
//! Windows the doubles of LabVIEW and .NET are at multiples of 4.
#![allow(unsafe_code, reason = "reads and writes what the pointers of callers lead to")]

use std::borrow::Cow;
use std::ffi::{CStr, c_char};
use std::{ptr, slice};

use stationdb::Error;

use crate::failure::{Failure, Outcome};

/// Bytes of one text or array at most; a longer one is not looked at.
const BYTES_MAX: usize = 1 << 30;

/// The length of a text that ends at its first zero byte.
const UP_TO_ZERO: i64 = -1;

/// Values of the caller that a function reads.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct In<T>(*const T);

/// A place of the caller that a function writes to.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Out<T>(*mut T);

fn is_null(what: &str) -> Failure {
    Error::invalid(format!("the pointer {what} is null; pass the address of memory")).into()
}

/// The number of values behind a pointer, whose bytes a slice can have.
fn count<T>(what: &str, count: i64) -> Outcome<usize> {
    let values = usize::try_from(count).map_err(|_| {
        Failure::from(Error::invalid(format!("the length of {what} is {count}; it is negative")))
    })?;
    match values.checked_mul(size_of::<T>()) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(values),
        _ => Err(Error::limit(format!(
            "the length of {what} is {count}; that is more than memory can be"
        ))
        .into()),
    }
}

/// As [`count`], for a text or an array.
fn bounded<T>(what: &str, length: i64) -> Outcome<usize> {
    let values = count::<T>(what, length)?;
    if values.saturating_mul(size_of::<T>()) > BYTES_MAX {
        return Err(Error::limit(format!(
            "{what} has the length {length}; {BYTES_MAX} bytes are allowed"
        ))
        .into());
    }
    Ok(values)
}

impl<T: Copy> In<T> {
    /// As many values as `length` says, within the bound of arrays: those of the caller, or a copy
    /// if these are not aligned. A null pointer is allowed with the length 0.
    pub fn values(&self, what: &str, length: i64) -> Outcome<Cow<'_, [T]>> {
        let count = bounded::<T>(what, length)?;
        if count == 0 {
            return Ok(Cow::Borrowed(&[]));
        }
        if self.0.is_null() {
            return Err(is_null(what));
        }
        if !self.0.is_aligned() {
            // SAFETY: The pointer is not null, and the caller has promised that it leads to `count`
            // values. Each is read where it is, which asks for no alignment, and copied, because
            // its type is `Copy`.
            let value = |at| unsafe { self.0.add(at).read_unaligned() };
            return Ok((0..count).map(value).collect());
        }
        // SAFETY: The pointer is not null and is aligned, and the bytes fit in an `isize`. The
        // caller has promised that it leads to `count` values, which nobody changes during the
        // call. The slice lives as long as the parameter of that call.
        Ok(Cow::Borrowed(unsafe { slice::from_raw_parts(self.0, count) }))
    }

    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }
}

impl In<u8> {
    /// Bytes, as [`values`](Self::values).
    pub fn bytes(&self, what: &str, length: i64) -> Outcome<&[u8]> {
        match self.values(what, length)? {
            Cow::Borrowed(bytes) => Ok(bytes),
            Cow::Owned(_) => Err(Failure::internal("a byte that is not aligned")),
        }
    }

    /// A text: `length` bytes of UTF-8, or with -1 all before the first zero byte.
    pub fn text(&self, what: &str, length: i64) -> Outcome<&str> {
        let bytes = if length == UP_TO_ZERO {
            if self.0.is_null() {
                return Ok("");
            }
            // SAFETY: The pointer is not null, and with this length the caller has promised that a
            // zero byte follows. A byte has no alignment.
            let bytes = unsafe { CStr::from_ptr(self.0.cast::<c_char>()) }.to_bytes();
            bounded::<u8>(what, i64::try_from(bytes.len()).unwrap_or(i64::MAX))?;
            bytes
        } else {
            self.bytes(what, length)?
        };
        str::from_utf8(bytes).map_err(|error| {
            let at = error.valid_up_to();
            Error::invalid(format!(
                "the text {what} is not UTF-8: the byte {at} begins no character"
            ))
            .into()
        })
    }
}

impl In<u16> {
    /// A text of UTF-16: `length` units, or with -1 all before the first zero.
    pub fn text(&self, what: &str, length: i64) -> Outcome<String> {
        let units = if length == UP_TO_ZERO {
            if self.0.is_null() {
                return Ok(String::new());
            }
            let mut count = 0;
            // SAFETY: The pointer is not null, and with this length the caller has promised that a
            // zero follows. Nothing behind the first zero is read, and a read asks for no
            // alignment.
            while unsafe { self.0.add(count).read_unaligned() } != 0 {
                count += 1;
            }
            self.values(what, i64::try_from(count).unwrap_or(i64::MAX))?
        } else {
            self.values(what, length)?
        };
        String::from_utf16(&units).map_err(|_| {
            Error::invalid(format!("the text {what} is not UTF-16: it has half of a pair")).into()
        })
    }
}

impl<T> Out<T> {
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// Writes one value, unless the pointer is null.
    pub fn set(&self, value: T) {
        if !self.0.is_null() {
            // SAFETY: The pointer is not null, and the caller has promised that it leads to memory
            // for one value. This write asks for no alignment.
            unsafe { self.0.write_unaligned(value) }
        }
    }

    /// Sets the place of an answer to a first value.
    ///
    /// # Errors
    /// `InvalidArgument` for a null pointer.
    pub fn begin(&self, what: &str, value: T) -> Outcome<()> {
        if self.0.is_null() {
            return Err(is_null(what));
        }
        self.set(value);
        Ok(())
    }
}

impl<T: Copy> Out<T> {
    /// The memory of the caller for as many values as `capacity` says.
    pub fn buffer(&mut self, what: &str, capacity: i64) -> Outcome<Buffer<'_, T>> {
        let capacity = count::<T>(what, capacity)?;
        if capacity > 0 && self.0.is_null() {
            return Err(is_null(what));
        }
        Ok(Buffer { place: self, capacity })
    }
}

/// Memory of the caller that is written only: what is there need not be a value before.
pub struct Buffer<'o, T> {
    place: &'o mut Out<T>,
    capacity: usize,
}

impl<T: Copy> Buffer<'_, T> {
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Writes `values` from the place `at` on. Returns whether they fit; otherwise nothing is
    /// written.
    #[must_use]
    pub fn write(&mut self, at: usize, values: &[T]) -> bool {
        if at.checked_add(values.len()).is_none_or(|end| end > self.capacity) {
            return false;
        }
        if !values.is_empty() {
            let bytes = size_of_val(values);
            // SAFETY: `at + values.len()` is at most the capacity, for which the caller has
            // promised memory that nobody else uses during the call; with a capacity the pointer is
            // not null. So the two do not overlap. Bytes are copied, which asks for no alignment.
            unsafe {
                let target = self.place.0.add(at).cast::<u8>();
                ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), target, bytes);
            }
        }
        true
    }
}

impl Buffer<'_, u8> {
    /// The first `length` bytes as zeros, for a reader to fill.
    pub fn zeroed(&mut self, length: usize) -> &mut [u8] {
        let length = length.min(self.capacity);
        if length == 0 {
            return &mut [];
        }
        // SAFETY: `length` is at most the capacity, for which the caller has promised memory that
        // nobody else uses during the call, and the pointer is not null. The bytes are values once
        // they are zero.
        unsafe {
            self.place.0.write_bytes(0, length);
            slice::from_raw_parts_mut(self.place.0, length)
        }
    }
}

/// Pointers of tests, which keep what callers promise.
#[cfg(test)]
impl<T> Out<T> {
    pub fn to(value: &mut T) -> Self {
        Self(value)
    }

    pub fn null() -> Self {
        Self(ptr::null_mut())
    }
}

#[cfg(test)]
mod tests {
    use stationdb::ErrorKind;

    use super::*;
    use crate::failure::code_of;

    fn code<T>(outcome: Outcome<T>) -> i32 {
        outcome.err().map_or(0, |failure| failure.code)
    }

    #[test]
    fn lengths_are_checked_before_memory_is_read() {
        let invalid = code_of(ErrorKind::InvalidArgument);
        let limit = code_of(ErrorKind::LimitExceeded);
        let bytes = In(c"ab".to_bytes_with_nul().as_ptr());
        assert_eq!(bytes.text("t", 2).unwrap(), "ab");
        assert_eq!(bytes.text("t", -1).unwrap(), "ab");
        assert_eq!(code(bytes.text("t", -2)), invalid);
        assert_eq!(code(bytes.text("t", 1 << 31)), limit);
        assert_eq!(code(bytes.text("t", i64::MAX)), limit);
        assert_eq!(code(In(b"\xff".as_ptr()).text("t", 1)), invalid);
        // The contents of files too.
        assert_eq!(bytes.bytes("b", 3).unwrap(), b"ab\0");
        assert_eq!(code(bytes.bytes("b", 1 << 31)), limit);
        let null = In::<u8>(std::ptr::null());
        assert_eq!(null.text("t", 0).unwrap(), "");
        assert_eq!(null.text("t", -1).unwrap(), "");
        assert_eq!(code(null.text("t", 1)), invalid);
        let numbers = [1.0_f64, 2.0];
        assert_eq!(*In(numbers.as_ptr()).values("n", 2).unwrap(), numbers);
        assert_eq!(code(In(numbers.as_ptr()).values("n", i64::MAX)), limit);
        assert_eq!(code(In(numbers.as_ptr()).values("n", (1 << 27) + 1)), limit);
    }

    /// As those of LabVIEW and .NET are, which 32-bit Windows has at multiples of 4.
    #[test]
    fn no_alignment_is_asked_for() {
        let mut room = [0_u64; 5];
        for bytes in 1..8 {
            let place = room.as_mut_ptr().cast::<f64>().wrapping_byte_add(bytes);
            let mut out = Out(place);
            let mut buffer = out.buffer("n", 4).unwrap();
            assert!(buffer.write(0, &[1.5, -2.5]) && buffer.write(2, &[3.5, 4.5]));
            let found = In(place.cast_const());
            assert_eq!(*found.values("n", 4).unwrap(), [1.5, -2.5, 3.5, 4.5]);
        }
        let place = room.as_mut_ptr().cast::<u16>().wrapping_byte_add(1);
        let mut out = Out(place);
        assert!(out.buffer("t", 3).unwrap().write(0, &[0x47, 0xf6, 0]));
        assert_eq!(In(place.cast_const()).text("t", -1).unwrap(), "Gö");
    }

    #[test]
    fn utf16_is_read_with_and_without_a_length() {
        let units: Vec<u16> = "Größe 𝄞\0".encode_utf16().collect();
        let text = In(units.as_ptr());
        assert_eq!(text.text("t", -1).unwrap(), "Größe 𝄞");
        assert_eq!(text.text("t", 5).unwrap(), "Größe");
        assert_eq!(code(text.text("t", 7)), code_of(ErrorKind::InvalidArgument));
    }

    #[test]
    fn buffers_take_what_fits() {
        let mut numbers = [0_i64; 3];
        let mut out = Out(numbers.as_mut_ptr());
        let mut buffer = out.buffer("n", 3).unwrap();
        assert!(buffer.write(1, &[5, 6]));
        assert!(!buffer.write(2, &[7, 8]) && !buffer.write(usize::MAX, &[1]));
        assert_eq!(numbers, [0, 5, 6]);
        assert!(Out::<i64>(std::ptr::null_mut()).buffer("n", 0).is_ok());
        assert!(Out::<i64>(std::ptr::null_mut()).buffer("n", 1).is_err());
        assert!(Out::<i64>(std::ptr::null_mut()).begin("n", 0).is_err());
    }
}
