//! Exact sums of a block of values in a fixed number of bytes, so that they can be stored.

/// Bytes of the stored form: form u8, base u16, infinities above and below zero u16 each, sum i128,
/// squares two u128. All little-endian.
pub(crate) const BLOCK_SUM_BYTES: usize = 55;

/// Exponents above the lowest one for which the halves of squares of 2^11 values fit.
const NARROW: u32 = 32;
/// Exponents above the lowest one for which the sums of 2^10 values and of their squares fit.
const WIDE: u32 = 64;
/// Values of a block at most, for which [`WIDE`] holds.
const MOST: usize = 1 << 10;
/// Bits of a half of a squared significand.
pub(super) const HALF: u32 = 53;
/// The exponent field of infinity and NaN.
pub(super) const SPECIAL: u32 = 0x7ff;
/// The bits of the fraction, and the bit above them that is not stored.
pub(super) const FRACTION: u64 = (1 << 52) - 1;
pub(super) const HIDDEN: u64 = 1 << 52;

/// What the numbers of [`BlockSums`] mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Nothing is known: the exponents of the values lie too far apart, or it is not known here.
    None = 0,
    /// Integers, whose squares are low + high · 2^64; or doubles, whose squares are
    /// low + high · 2^53.
    Near = 1,
    /// Doubles, whose squares are low + high · 2^128.
    Far = 2,
}

/// The exact sums of a block of values. The unit of doubles is 2^(base - 1075), that of their
/// squares the square of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockSums {
    pub(super) form: Form,
    pub(super) base: u16,
    pub(super) infinities: (u16, u16),
    pub(super) sum: i128,
    pub(super) squares: (u128, u128),
}

impl BlockSums {
    /// Nothing known.
    pub(crate) const UNKNOWN: Self =
        Self { form: Form::None, base: 0, infinities: (0, 0), sum: 0, squares: (0, 0) };

    const ZERO: Self = Self { form: Form::Near, base: 1, ..Self::UNKNOWN };

    /// Whether the sums are known.
    pub(crate) fn is_known(&self) -> bool {
        self.form != Form::None
    }

    pub(super) fn of_ints(values: &[i64]) -> Self {
        let mut sums = Self::ZERO;
        if values.len() > MOST {
            return Self::UNKNOWN;
        }
        for value in values {
            let square = i128::from(*value).unsigned_abs().pow(2);
            sums.sum += i128::from(*value);
            sums.squares.0 += u128::from(square as u64);
            sums.squares.1 += square >> 64;
        }
        sums
    }

    /// The sums of values that are not NaN.
    pub(super) fn of_floats(values: &[f64]) -> Self {
        let mut sums = Self::ZERO;
        if values.len() > MOST {
            return Self::UNKNOWN;
        }
        let (mut low, mut high) = (SPECIAL, 0);
        for value in values {
            let (field, significand) = parts(*value);
            if field == SPECIAL {
                *(if *value > 0.0 { &mut sums.infinities.0 } else { &mut sums.infinities.1 }) += 1;
            } else if significand != 0 {
                (low, high) = (low.min(field), high.max(field));
            }
        }
        if low > high {
            return sums;
        }
        if high - low > WIDE {
            return Self::UNKNOWN;
        }
        sums.base = low as u16;
        let is_near = high - low <= NARROW;
        sums.form = if is_near { Form::Near } else { Form::Far };
        // Sums for each exponent, which are shifted once: 2^10 significands fit in 63 bits.
        let mut parts_of = [(0i64, 0u128); WIDE as usize + 1];
        for value in values {
            let (field, significand) = parts(*value);
            // Infinity is beyond all places, and a zero adds nothing.
            if let Some((sum, square)) = parts_of.get_mut(field.wrapping_sub(low) as usize)
                && field != SPECIAL
            {
                let part = significand.cast_signed();
                *sum += if *value < 0.0 { -part } else { part };
                *square += u128::from(significand) * u128::from(significand);
            }
        }
        for (above, (sum, square)) in (0..).zip(parts_of) {
            if square == 0 {
                continue;
            }
            sums.sum += i128::from(sum) << above;
            if is_near {
                sums.squares.0 += (square & ((1 << HALF) - 1)) << (2 * above);
                sums.squares.1 += (square >> HALF) << (2 * above);
            } else {
                let (less, more) = spread(square, 2 * above);
                let (total, carries) = sums.squares.0.overflowing_add(less);
                sums.squares = (total, sums.squares.1 + more + u128::from(carries));
            }
        }
        sums
    }

    /// The stored form.
    pub(crate) fn to_bytes(self) -> [u8; BLOCK_SUM_BYTES] {
        let mut bytes = [0; BLOCK_SUM_BYTES];
        let all = [self.form as u8]
            .into_iter()
            .chain(self.base.to_le_bytes())
            .chain(self.infinities.0.to_le_bytes())
            .chain(self.infinities.1.to_le_bytes())
            .chain(self.sum.to_le_bytes())
            .chain(self.squares.0.to_le_bytes())
            .chain(self.squares.1.to_le_bytes());
        bytes.iter_mut().zip(all).for_each(|(place, byte)| *place = byte);
        bytes
    }

    /// Reads the stored form. Numbers that no block can have are nothing known.
    pub(crate) fn from_bytes(bytes: &[u8; BLOCK_SUM_BYTES], is_float: bool) -> Self {
        fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
            let Some((head, tail)) = rest.split_first_chunk::<N>() else { return [0; N] };
            *rest = tail;
            *head
        }
        let rest = &mut &bytes[..];
        let [form] = take::<1>(rest);
        let sums = Self {
            form: match form {
                1 => Form::Near,
                2 => Form::Far,
                _ => Form::None,
            },
            base: u16::from_le_bytes(take(rest)),
            infinities: (u16::from_le_bytes(take(rest)), u16::from_le_bytes(take(rest))),
            sum: i128::from_le_bytes(take(rest)),
            squares: (u128::from_le_bytes(take(rest)), u128::from_le_bytes(take(rest))),
        };
        let fits = if is_float {
            (1..SPECIAL).contains(&u32::from(sums.base))
        } else {
            // A count of 2^10 integers, each below 2^63 in magnitude.
            sums.form == Form::Near
                && sums.sum.unsigned_abs() <= 1 << 73
                && sums.squares.0.max(sums.squares.1) < 1 << 74
        };
        if fits { sums } else { Self::UNKNOWN }
    }
}

/// The exponent field, at least 1, and the significand.
fn parts(value: f64) -> (u32, u64) {
    let bits = value.to_bits();
    let (field, fraction) = ((bits >> 52) as u32 & SPECIAL, bits & FRACTION);
    if field == 0 { (1, fraction) } else { (field, fraction | HIDDEN) }
}

/// A sum of squares times 2^`by`, at most 2^128, in two halves of 128 bits.
fn spread(square: u128, by: u32) -> (u128, u128) {
    match by {
        0 => (square, 0),
        1..128 => (square << by, square >> (128 - by)),
        _ => (0, square << (by - 128).min(127)),
    }
}
