//! Extended-precision floats: numbers of 80 bits as processors have them, in 10, 12 or 16 bytes, or
//! numbers of 128 bits (binary128 of IEEE 754).
//!
//! What must hold: a value is the nearest double, halves to the even one, and what is lost is counted.

use std::ops::AddAssign;

use super::decode::{Number, count};

/// Values that are other ones as doubles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lost {
    /// Values with more digits.
    pub(super) rounded: u64,
    /// Values beyond the largest double, which are infinite.
    pub(super) beyond: u64,
    /// Bytes that are no number, and are NaN.
    pub(super) invalid: u64,
}

impl AddAssign for Lost {
    fn add_assign(&mut self, other: Self) {
        self.rounded += other.rounded;
        self.beyond += other.beyond;
        self.invalid += other.invalid;
    }
}

impl Lost {
    /// What the report says of these values; nothing where there are none.
    pub(super) fn told(self, of: &str) -> Vec<String> {
        let all = [
            (self.rounded, "have more digits than a double, and are rounded"),
            (self.beyond, "are beyond a double, and are infinite"),
            (self.invalid, "have bytes that are no number, and are NaN"),
        ];
        let told = all.into_iter().filter(|(count, _)| *count > 0);
        told.map(|(count, what)| format!("{count} extended-precision floats of {of} {what}"))
            .collect()
    }
}

/// Bits of the fraction of a double.
const DOUBLE_BITS: i32 = 52;
/// The power of two of the smallest double above 0, and of the largest one.
const LEAST: i32 = -1074;
const MOST: i32 = 1023;
/// What is subtracted from the stored power, which is this one where it stands for no number.
const BIAS: i32 = 16_383;
const NO_NUMBER: i32 = 0x7fff;

/// The double of two to the power of `power`, from the smallest double on.
fn power_of_two(power: i32) -> f64 {
    let bits = if power > LEAST + DOUBLE_BITS - 1 {
        ((power + MOST) as u64) << DOUBLE_BITS
    } else {
        1 << (power - LEAST)
    };
    f64::from_bits(bits)
}

/// The double nearest to `digits` times two to the power of `power`.
fn nearest(digits: u128, power: i32, lost: &mut Lost) -> f64 {
    if digits == 0 {
        return 0.0;
    }
    let top = power + 127 - digits.leading_zeros() as i32;
    if top > MOST {
        lost.beyond += 1;
        return f64::INFINITY;
    }
    // The power of the last bit that a double keeps.
    let last = (top - DOUBLE_BITS).max(LEAST);
    let kept = match u32::try_from(last - power) {
        // All bits, with zeros behind them.
        Err(_) | Ok(0) => digits << (power - last),
        // Less than half of the last bit.
        Ok(cut) if cut > 127 => {
            lost.rounded += 1;
            0
        }
        Ok(cut) => {
            let (kept, rest, half) = (digits >> cut, digits & ((1 << cut) - 1), 1u128 << (cut - 1));
            lost.rounded += u64::from(rest != 0);
            kept + u128::from(rest > half || rest == half && kept & 1 == 1)
        }
    };
    let value = kept as f64 * power_of_two(last);
    if value.is_infinite() {
        lost.rounded -= 1;
        lost.beyond += 1;
    }
    value
}

/// The double of a number of 80 bits: a sign, 15 bits of a power, and 64 of digits, the first of which
/// is 1 unless the power is 0.
fn of_80_bits(bits: u128, lost: &mut Lost) -> f64 {
    let (digits, power) = (bits as u64, (bits >> 64) as i32 & NO_NUMBER);
    let is_whole = digits >> 63 == 1;
    let value = match power {
        NO_NUMBER if digits == 1 << 63 => f64::INFINITY,
        NO_NUMBER if is_whole => f64::NAN,
        1.. if !is_whole => {
            lost.invalid += 1;
            f64::NAN
        }
        _ => nearest(digits.into(), power.max(1) - BIAS - 63, lost),
    };
    if bits >> 79 & 1 == 1 { -value } else { value }
}

/// The double of a number of 128 bits: a sign, 15 bits of a power, and 112 of digits behind a first
/// one that is not stored.
fn of_128_bits(bits: u128, lost: &mut Lost) -> f64 {
    const STORED: i32 = 112;
    let (stored, power) = (bits & ((1 << STORED) - 1), (bits >> STORED) as i32 & NO_NUMBER);
    let value = match power {
        NO_NUMBER if stored == 0 => f64::INFINITY,
        NO_NUMBER => f64::NAN,
        0 => nearest(stored, 1 - BIAS - STORED, lost),
        _ => nearest(stored | 1 << STORED, power - BIAS - STORED, lost),
    };
    if bits >> 127 == 1 { -value } else { value }
}

/// The double of a value in 10, 12 or 16 bytes, the lowest first. Of 16 bytes, zeros in the last six
/// are behind a number of 80 bits.
pub(super) fn double(bytes: &[u8], lost: &mut Lost) -> f64 {
    let mut all = [0; 16];
    for (to, from) in all.iter_mut().zip(bytes) {
        *to = *from;
    }
    let bits = u128::from_le_bytes(all);
    if bytes.len() == 16 && bits >> 80 != 0 {
        of_128_bits(bits, lost)
    } else {
        of_80_bits(bits, lost)
    }
}

/// Sets the values of `size` bytes that begin at each `stride` bytes of a slice.
pub(super) fn numbers<T: Number>(
    size: usize,
    is_big: bool,
    bytes: &[u8],
    stride: usize,
    out: &mut [T],
    lost: &mut Lost,
) {
    debug_assert!(out.len() <= count(bytes, stride));
    for (out, row) in out.iter_mut().zip(bytes.chunks(stride.max(1))) {
        let mut value = [0; 16];
        let size = size.min(value.len());
        for (to, from) in value.iter_mut().zip(row.get(..size).unwrap_or_default()) {
            *to = *from;
        }
        let value = value.get_mut(..size).unwrap_or_default();
        if is_big {
            value.reverse();
        }
        *out = T::of_double(double(value, lost));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_80(sign: u16, power: u16, digits: u64) -> [u8; 10] {
        let mut out = [0; 10];
        out[..8].copy_from_slice(&digits.to_le_bytes());
        out[8..].copy_from_slice(&(sign << 15 | power).to_le_bytes());
        out
    }

    fn of_128(power: u16, digits: u128) -> [u8; 16] {
        (u128::from(power) << 112 | digits).to_le_bytes()
    }

    const EXACT: Lost = Lost { rounded: 0, beyond: 0, invalid: 0 };
    const ROUNDED: Lost = Lost { rounded: 1, ..EXACT };
    const BEYOND: Lost = Lost { beyond: 1, ..EXACT };
    const INVALID: Lost = Lost { invalid: 1, ..EXACT };

    #[track_caller]
    fn check(bytes: &[u8], expected: f64, expected_lost: Lost) {
        let mut lost = Lost::default();
        let found = double(bytes, &mut lost);
        let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
        assert!(same, "{found:e} is not {expected:e}");
        assert_eq!(lost, expected_lost, "{found:e}");
    }

    #[test]
    fn numbers_of_80_bits_are_the_nearest_doubles() {
        const ONE: u64 = 1 << 63;
        for (power, digits, expected, lost) in [
            (0, 0, 0.0, EXACT),
            (16_383, ONE, 1.0, EXACT),
            (16_384, 0xc90f_daa2_2168_c235, std::f64::consts::PI, ROUNDED),
            (16_383, ONE | 1 << 11, 1.0 + f64::EPSILON, EXACT),
            // Half of the last bit, to the even one; a little more; and less.
            (16_383, ONE | 1 << 10, 1.0, ROUNDED),
            (16_383, ONE | 3 << 10, 1.0 + 2.0 * f64::EPSILON, ROUNDED),
            (16_383, ONE | 1 << 10 | 1, 1.0 + f64::EPSILON, ROUNDED),
            (16_383, ONE | ((1 << 10) - 1), 1.0, ROUNDED),
            (16_383, u64::MAX, 2.0, ROUNDED),
            (16_383 + 1023, u64::MAX << 11, f64::MAX, EXACT),
            (16_383 + 1023, u64::MAX << 11 | 0x3ff, f64::MAX, ROUNDED),
            (16_383 + 1023, u64::MAX << 11 | 0x400, f64::INFINITY, BEYOND),
            (16_383 + 1024, ONE, f64::INFINITY, BEYOND),
            (0x7ffe, ONE, f64::INFINITY, BEYOND),
            (0x7fff, ONE, f64::INFINITY, EXACT),
            (0x7fff, ONE | 1, f64::NAN, EXACT),
            (0x7fff, 0, f64::NAN, INVALID),
            (16_383, 1, f64::NAN, INVALID),
            // The smallest doubles.
            (16_383 - 1022, ONE, f64::MIN_POSITIVE, EXACT),
            (16_383 - 1023, ONE | 1 << 62, 0.75 * f64::MIN_POSITIVE, EXACT),
            (16_383 - 1074, ONE, f64::from_bits(1), EXACT),
            (16_383 - 1075, ONE, 0.0, ROUNDED),
            (16_383 - 1075, ONE | 1, f64::from_bits(1), ROUNDED),
            (16_383 - 1076, u64::MAX, 0.0, ROUNDED),
            (1, ONE, 0.0, ROUNDED),
            (0, 1, 0.0, ROUNDED),
            (0, ONE, 0.0, ROUNDED),
        ] {
            check(&of_80(0, power, digits), expected, lost);
            check(&of_80(1, power, digits), -expected, lost);
            // In more bytes.
            let twelve = [&of_80(0, power, digits)[..], &[0x55; 2]].concat();
            check(&twelve, expected, lost);
            check(&[&of_80(1, power, digits)[..], &[0; 6]].concat(), -expected, lost);
        }
    }

    #[test]
    fn numbers_of_128_bits_are_the_nearest_doubles() {
        for (power, digits, expected, lost) in [
            (16_383, 0, 1.0, EXACT),
            (16_384, 0x921f_b544_42d1_8469_898c_c517_01b8, std::f64::consts::PI, ROUNDED),
            (16_383, 1 << 60, 1.0 + f64::EPSILON, EXACT),
            (16_383, 1 << 59, 1.0, ROUNDED),
            (16_383, 1 << 59 | 1, 1.0 + f64::EPSILON, ROUNDED),
            (16_383 + 1024, 0, f64::INFINITY, BEYOND),
            (0x7fff, 0, f64::INFINITY, EXACT),
            (0x7fff, 1, f64::NAN, EXACT),
            (16_383 - 1074, 0, f64::from_bits(1), EXACT),
            (1, 0, 0.0, ROUNDED),
            (0, 1 << 111, 0.0, ROUNDED),
        ] {
            check(&of_128(power, digits), expected, lost);
            check(&of_128(power | 1 << 15, digits), -expected, lost);
        }
    }

    /// Every double comes back from its 80 and its 128 bits.
    #[test]
    fn doubles_come_back() {
        let mut state = 3_u64;
        for _ in 0..20_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let value = f64::from_bits(state ^ state >> 29);
            let (stored, fraction) =
                (value.to_bits() >> 52 & 0x7ff, value.to_bits() & ((1 << 52) - 1));
            if stored == 0 || stored == 0x7ff {
                continue;
            }
            let (sign, power) = (u16::from(value < 0.0), stored as u16 + 16_383 - 1023);
            check(&of_80(sign, power, 1 << 63 | fraction << 11), value, EXACT);
            check(&of_128(sign << 15 | power, u128::from(fraction) << 60), value, EXACT);
        }
    }
}
