//! Exact sums and sums of squares, which do not depend on the order of the values.
//!
//! A double is an integer times a power of two. While the exponents of the values lie within a
//! window, their sum is one 128-bit integer; values outside of it are added to an array that covers
//! the whole range of doubles. Nothing is rounded before the end.

/// Exponents above the lowest one of the window for which 128 bits are enough for the squares of
/// 2^31 values.
const WINDOW: u32 = 21;
/// Where in the window the first value lies: later ones are more often smaller than much greater.
const BELOW: u32 = 15;
/// Values outside of the window after which it moves.
const MISSES: u32 = 256;
/// The window of no values.
const UNSET: u32 = 1 << 31;
/// The exponent field of infinity and NaN.
const SPECIAL: u32 = 0x7ff;
/// Bits of a half of a squared significand.
const HALF: u32 = 53;
/// Limbs of 32 bits for every sum of doubles, and of their squares.
const SUM_LIMBS: usize = 72;
const SQUARE_LIMBS: usize = 140;
/// The exponent of the lowest bit of a double, and of its square.
const SUM_EXPONENT: i32 = -1074;
const SQUARE_EXPONENT: i32 = 2 * SUM_EXPONENT;

/// A sum over the whole range of exponents.
#[derive(Clone, Debug)]
struct Wide {
    /// Limbs of 32 bits in 64, so that carries are rare; the last one has the sign.
    limbs: Vec<i64>,
    adds: u32,
}

impl Wide {
    fn new(limbs: usize) -> Self {
        Self { limbs: vec![0; limbs], adds: 0 }
    }

    /// Adds a magnitude times 2^`shift`.
    fn add(&mut self, magnitude: u128, shift: u32, is_negative: bool) {
        for (part, at) in [(magnitude as u64, shift), ((magnitude >> 64) as u64, shift + 64)] {
            let spread = u128::from(part) << (at % 32);
            let first = (at / 32) as usize;
            for (place, limb) in self.limbs.iter_mut().skip(first).take(3).enumerate() {
                let piece = ((spread >> (32 * place)) & 0xffff_ffff) as i64;
                *limb += if is_negative { -piece } else { piece };
            }
        }
        self.adds += 2;
        if self.adds >= 1 << 29 {
            self.carry();
        }
    }

    fn carry(&mut self) {
        let last = self.limbs.len().saturating_sub(1);
        let mut carry = 0;
        for (at, limb) in self.limbs.iter_mut().enumerate() {
            let value = *limb + carry;
            (*limb, carry) =
                if at == last { (value, 0) } else { (value & 0xffff_ffff, value >> 32) };
        }
        self.adds = 2;
    }

    fn merge(&mut self, mut other: Self) {
        self.carry();
        other.carry();
        self.limbs.iter_mut().zip(other.limbs).for_each(|(limb, other)| *limb += other);
        self.carry();
    }

    fn into_big(mut self, exponent: i32) -> Big {
        self.carry();
        let is_negative = self.limbs.last().is_some_and(|limb| *limb < 0);
        if is_negative {
            self.limbs.iter_mut().for_each(|limb| *limb = -*limb);
            self.carry();
        }
        Big::new(is_negative, self.limbs.into_iter().map(|limb| limb as u32).collect(), exponent)
    }
}

/// An integer times a power of two.
#[derive(Clone, Debug)]
pub(crate) struct Big {
    is_negative: bool,
    /// Without zeros at the end.
    limbs: Vec<u32>,
    exponent: i32,
}

impl Big {
    fn new(is_negative: bool, mut limbs: Vec<u32>, mut exponent: i32) -> Self {
        while limbs.last() == Some(&0) {
            limbs.pop();
        }
        let zeros = limbs.iter().take_while(|limb| **limb == 0).count();
        limbs.drain(..zeros);
        exponent += 32 * zeros as i32;
        Self { is_negative, limbs, exponent }
    }

    /// An integer.
    #[must_use]
    pub(crate) fn of_int(value: i128) -> Self {
        Self::of_magnitude(value < 0, value.unsigned_abs())
    }

    fn of_magnitude(is_negative: bool, value: u128) -> Self {
        let limbs = (0..4).map(|at| (value >> (32 * at)) as u32).collect();
        Self::new(is_negative, limbs, 0)
    }

    fn times(&self, other: &Self) -> Self {
        let mut limbs = vec![0u32; self.limbs.len() + other.limbs.len()];
        for (at, left) in self.limbs.iter().enumerate() {
            let mut carry = 0u64;
            let mut rights = other.limbs.iter();
            for limb in limbs.iter_mut().skip(at) {
                let right = rights.next().copied();
                if right.is_none() && carry == 0 {
                    break;
                }
                let sum =
                    u64::from(*left) * u64::from(right.unwrap_or(0)) + u64::from(*limb) + carry;
                (*limb, carry) = (sum as u32, sum >> 32);
            }
        }
        let is_negative = self.is_negative != other.is_negative;
        Self::new(is_negative, limbs, self.exponent + other.exponent)
    }

    /// The sum; the exponents must differ by a multiple of 32.
    fn plus(&self, other: &Self) -> Self {
        let exponent = self.exponent.min(other.exponent);
        let from = |big: &Self| ((big.exponent - exponent) / 32) as usize;
        let len = [self, other].map(|big| from(big) + big.limbs.len()).into_iter().max();
        let mut limbs = vec![0i64; len.unwrap_or(0) + 1];
        for big in [self, other] {
            for (limb, value) in limbs.iter_mut().skip(from(big)).zip(&big.limbs) {
                *limb += if big.is_negative { -i64::from(*value) } else { i64::from(*value) };
            }
        }
        Wide { limbs, adds: 2 }.into_big(exponent)
    }

    fn negated(mut self) -> Self {
        self.is_negative = !self.is_negative;
        self
    }

    /// A number of at least 1 and less than 2, or 0, that is rounded once, and the power of two
    /// that it is to be multiplied with.
    fn parts(&self) -> (f64, i32) {
        let Some(top) = self.limbs.last() else { return (0.0, 0) };
        // The highest 64 bits; a bit below them only matters for a tie.
        let len = self.limbs.len();
        let limb = |back: usize| {
            len.checked_sub(back).and_then(|at| self.limbs.get(at)).copied().unwrap_or(0)
        };
        let highest = (1..=4).fold(0u128, |all, back| (all << 32) | u128::from(limb(back)));
        let shift = top.leading_zeros();
        let highest = highest << shift;
        let is_inexact = highest as u64 != 0
            || self.limbs.iter().take(len.saturating_sub(4)).any(|limb| *limb != 0);
        let bits = (highest >> 64) as u64 | u64::from(is_inexact);
        let exponent = self.exponent + 32 * len as i32 - shift as i32 - 1;
        let scaled = bits as f64 / 9_223_372_036_854_775_808.0;
        (if self.is_negative { -scaled } else { scaled }, exponent)
    }

    /// The nearest double; for a multiple of the least double it is rounded once.
    #[must_use]
    pub(crate) fn nearest(&self) -> f64 {
        let (value, exponent) = self.parts();
        scaled(value, exponent)
    }
}

/// A number times a power of two.
fn scaled(mut value: f64, mut exponent: i32) -> f64 {
    let power = |exponent: i32| f64::from_bits(((1023 + exponent) as u64) << 52);
    while exponent > 1000 && value.is_finite() && value != 0.0 {
        value *= power(1000);
        exponent -= 1000;
    }
    while exponent < -1000 && value != 0.0 {
        value *= power(-1000);
        exponent += 1000;
    }
    value * power(exponent.clamp(-1000, 1000))
}

/// What exact sums say about values.
#[derive(Clone, Debug)]
pub(crate) struct Exact {
    /// Number of values.
    pub count: u64,
    sum: Big,
    squares: Big,
    /// Infinities of each sign.
    infinities: (u64, u64),
}

impl Exact {
    /// The correctly rounded sum.
    #[must_use]
    pub(crate) fn sum(&self) -> f64 {
        self.special().unwrap_or_else(|| self.sum.nearest())
    }

    fn special(&self) -> Option<f64> {
        match self.infinities {
            (0, 0) => None,
            (_, 0) => Some(f64::INFINITY),
            (0, _) => Some(f64::NEG_INFINITY),
            _ => Some(f64::NAN),
        }
    }

    /// The mean, within two roundings; `None` of no values.
    #[must_use]
    pub(crate) fn mean(&self) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let (value, exponent) = self.sum.parts();
        Some(self.special().unwrap_or_else(|| scaled(value / self.count as f64, exponent)))
    }

    /// The standard deviation of a sample, or of the whole population. `None` of less than two
    /// values, or of none.
    #[must_use]
    pub(crate) fn deviation(&self, is_sample: bool) -> Option<f64> {
        let divisor = if is_sample { self.count.checked_sub(1)? } else { self.count };
        if divisor == 0 || self.count == 0 {
            return None;
        }
        if self.special().is_some() {
            return Some(f64::NAN);
        }
        // n times the sum of the squares minus the square of the sum, without a rounding before
        // the subtraction, which may cancel nearly all digits.
        let all = self.squares.times(&Big::of_int(i128::from(self.count)));
        let spread = all.plus(&self.sum.times(&self.sum).negated());
        let (mut value, mut exponent) = spread.parts();
        value = value.max(0.0) / (self.count as f64 * divisor as f64);
        if exponent.rem_euclid(2) == 1 {
            (value, exponent) = (value * 2.0, exponent - 1);
        }
        Some(scaled(value.sqrt(), exponent / 2))
    }
}

/// A type of numbers that can be summed exactly.
pub(crate) trait Summed: Copy {
    /// Their sums.
    type Sums: Sums<Self>;
}

/// Sums of numbers.
pub(crate) trait Sums<T>: Default + Clone + Send + Sync + std::fmt::Debug {
    /// Adds a value, and its square if `SQUARES`. A NaN must not be added.
    fn add<const SQUARES: bool>(&mut self, value: T);

    /// Adds the sums of other values.
    fn merge(&mut self, other: Self);

    /// The integer sum, if the values are integers.
    fn integer(&self) -> Option<i128>;

    /// What is known about `count` values.
    fn exact(self, count: u64) -> Exact;
}

impl Summed for f64 {
    type Sums = FloatSums;
}

impl Summed for i64 {
    type Sums = IntSums;
}

/// Sums of integers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct IntSums {
    /// The sum.
    pub sum: i128,
    /// The sums of the low and of the high 64 bits of the squares.
    pub squares: (u128, u128),
}

impl Sums<i64> for IntSums {
    #[inline]
    fn add<const SQUARES: bool>(&mut self, value: i64) {
        self.sum += i128::from(value);
        if SQUARES {
            let square = i128::from(value).unsigned_abs().pow(2);
            self.squares.0 += u128::from(square as u64);
            self.squares.1 += square >> 64;
        }
    }

    fn merge(&mut self, other: Self) {
        self.sum += other.sum;
        self.squares.0 += other.squares.0;
        self.squares.1 += other.squares.1;
    }

    fn integer(&self) -> Option<i128> {
        Some(self.sum)
    }

    fn exact(self, count: u64) -> Exact {
        let mut high = Big::of_magnitude(false, self.squares.1);
        high.exponent += 64;
        let squares = Big::of_magnitude(false, self.squares.0).plus(&high);
        Exact { count, sum: Big::of_int(self.sum), squares, infinities: (0, 0) }
    }
}

/// Sums of doubles.
#[derive(Clone, Debug)]
pub(crate) struct FloatSums {
    /// The least exponent field of the window.
    base: u32,
    missed: u32,
    sum: i128,
    /// The sums of the low and of the high halves of the squares.
    squares: (u128, u128),
    infinities: (u64, u64),
    wide: Option<Box<(Wide, Wide)>>,
}

impl Default for FloatSums {
    fn default() -> Self {
        Self { base: UNSET, missed: 0, sum: 0, squares: (0, 0), infinities: (0, 0), wide: None }
    }
}

/// Sums that need no more than the window, in the form in which summaries store them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stored {
    /// The window; 0 for integers and without values.
    pub base: u16,
    /// The sum in units of the window.
    pub sum: i128,
    /// The halves of the sum of squares.
    pub squares: (u128, u128),
}

impl FloatSums {
    #[cold]
    fn outside<const SQUARES: bool>(&mut self, value: f64) {
        if value == 0.0 {
            return;
        }
        if value.is_infinite() {
            let (positive, negative) = &mut self.infinities;
            *(if value > 0.0 { positive } else { negative }) += 1;
            return;
        }
        let bits = value.to_bits();
        let field = (bits >> 52) as u32 & SPECIAL;
        self.missed += 1;
        if self.base == UNSET || self.missed >= MISSES {
            self.flush();
            self.missed = 0;
            self.base = field.saturating_sub(BELOW).clamp(1, SPECIAL - 1 - WINDOW);
            if field >= 1 {
                return self.add::<SQUARES>(value);
            }
        }
        let fraction = bits & ((1 << 52) - 1);
        let (significand, shift) =
            if field == 0 { (fraction, 0) } else { (fraction | 1 << 52, field - 1) };
        let (sum, squares) = self.wide();
        sum.add(u128::from(significand), shift, value < 0.0);
        if SQUARES {
            squares.add(u128::from(significand).pow(2), 2 * shift, false);
        }
    }

    fn wide(&mut self) -> &mut (Wide, Wide) {
        self.wide.get_or_insert_with(|| Box::new((Wide::new(SUM_LIMBS), Wide::new(SQUARE_LIMBS))))
    }

    /// Moves the sums of the window to the wide ones.
    fn flush(&mut self) {
        if self.base == UNSET {
            return;
        }
        let (shift, total, (low, high)) = (self.base - 1, self.sum, self.squares);
        (self.sum, self.squares) = (0, (0, 0));
        let (sum, squares) = self.wide();
        sum.add(total.unsigned_abs(), shift, total < 0);
        squares.add(low, 2 * shift, false);
        squares.add(high, 2 * shift + HALF, false);
    }

    /// Adds the sums of a window that begins with this one or a little higher; false if they do
    /// not fit.
    fn merge_near(&mut self, other: &Self) -> bool {
        let Some(by) = other.base.checked_sub(self.base).filter(|by| *by <= 4) else {
            return false;
        };
        let above = |value: u128, by: u32, before: u128| {
            (value.leading_zeros() > by).then(|| (value << by).checked_add(before)).flatten()
        };
        let sum = (other.sum.unsigned_abs().leading_zeros() > by + 1)
            .then(|| (other.sum << by).checked_add(self.sum))
            .flatten();
        let low = above(other.squares.0, 2 * by, self.squares.0);
        let high = above(other.squares.1, 2 * by, self.squares.1);
        let (Some(sum), Some(low), Some(high)) = (sum, low, high) else { return false };
        (self.sum, self.squares) = (sum, (low, high));
        true
    }

    /// The form for a summary; `None` if the window is not enough, or a value is infinite.
    #[must_use]
    pub(crate) fn stored(&self) -> Option<Stored> {
        if self.wide.is_some() || self.infinities != (0, 0) {
            return None;
        }
        let base = if self.base == UNSET { 0 } else { self.base as u16 };
        Some(Stored { base, sum: self.sum, squares: self.squares })
    }

    /// The sums of a summary.
    #[must_use]
    pub(crate) fn of_stored(stored: &Stored) -> Self {
        let base = if stored.base == 0 { UNSET } else { u32::from(stored.base) };
        Self { base, sum: stored.sum, squares: stored.squares, ..Self::default() }
    }
}

impl Sums<f64> for FloatSums {
    #[inline]
    fn add<const SQUARES: bool>(&mut self, value: f64) {
        let bits = value.to_bits();
        let above = ((bits >> 52) as u32 & SPECIAL).wrapping_sub(self.base);
        if above > WINDOW {
            return self.outside::<SQUARES>(value);
        }
        let significand = (bits & ((1 << 52) - 1)) | 1 << 52;
        let sign = -i128::from(bits >> 63);
        self.sum += ((i128::from(significand) << above) ^ sign) - sign;
        if SQUARES {
            let square = u128::from(significand) * u128::from(significand);
            self.squares.0 += (square & ((1 << HALF) - 1)) << (2 * above);
            self.squares.1 += (square >> HALF) << (2 * above);
        }
    }

    fn merge(&mut self, mut other: Self) {
        self.infinities.0 += other.infinities.0;
        self.infinities.1 += other.infinities.1;
        if other.base == UNSET && other.wide.is_none() {
            return;
        }
        if self.base == UNSET && self.wide.is_none() {
            (self.base, self.sum, self.squares) = (other.base, other.sum, other.squares);
            self.wide = other.wide;
            return;
        }
        if other.wide.is_none() && self.merge_near(&other) {
            return;
        }
        self.flush();
        other.flush();
        if let Some(other) = other.wide {
            let (sum, squares) = *other;
            let mine = self.wide();
            mine.0.merge(sum);
            mine.1.merge(squares);
        }
    }

    fn integer(&self) -> Option<i128> {
        None
    }

    fn exact(mut self, count: u64) -> Exact {
        self.flush();
        let infinities = self.infinities;
        let (sum, squares) = match self.wide {
            Some(wide) => (wide.0.into_big(SUM_EXPONENT), wide.1.into_big(SQUARE_EXPONENT)),
            None => (Big::of_int(0), Big::of_int(0)),
        };
        Exact { count, sum, squares, infinities }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn floats(values: &[f64]) -> FloatSums {
        let mut sums = FloatSums::default();
        values.iter().for_each(|value| sums.add::<true>(*value));
        sums
    }

    fn double() -> impl Strategy<Value = f64> {
        prop_oneof![
            4 => any::<f64>().prop_filter("finite", |value| value.is_finite()),
            4 => -3.0..3.0f64,
            1 => Just(f64::MIN_POSITIVE),
            1 => Just(f64::from_bits(1)),
            1 => Just(f64::MAX),
            1 => Just(-f64::MAX),
            1 => Just(-0.0),
        ]
    }

    proptest! {
        #[test]
        fn a_sum_does_not_depend_on_order_or_parts(
            values in proptest::collection::vec(double(), 0..40), cut in 0usize..40, swap in any::<bool>()) {
            let cut = cut.min(values.len());
            let (left, right) = values.split_at(cut);
            let (mut one, other) = if swap {
                (floats(right), floats(left))
            } else {
                (floats(left), floats(right))
            };
            one.merge(other);
            let count = values.len() as u64;
            let (whole, parts) = (floats(&values).exact(count), one.exact(count));
            prop_assert_eq!(whole.sum().to_bits(), parts.sum().to_bits());
            prop_assert_eq!(whole.deviation(true).map(f64::to_bits), parts.deviation(true).map(f64::to_bits));
            let mut reversed = values.clone();
            reversed.reverse();
            prop_assert_eq!(floats(&reversed).exact(count).sum().to_bits(), whole.sum().to_bits());
        }

        #[test]
        fn integers_as_doubles_have_the_same_sums(values in proptest::collection::vec(-(1i64 << 53)..(1 << 53), 1..50)) {
            let count = values.len() as u64;
            let mut ints = IntSums::default();
            values.iter().for_each(|value| ints.add::<true>(*value));
            let as_doubles: Vec<f64> = values.iter().map(|value| *value as f64).collect();
            let total: i128 = values.iter().map(|value| i128::from(*value)).sum();
            let (ints, floats) = (ints.exact(count), floats(&as_doubles).exact(count));
            prop_assert_eq!(floats.sum(), total as f64);
            prop_assert_eq!(ints.sum(), floats.sum());
            prop_assert_eq!(ints.mean(), floats.mean());
            prop_assert_eq!(ints.deviation(true), floats.deviation(true));
            prop_assert_eq!(ints.deviation(false), floats.deviation(false));
        }

        #[test]
        fn a_summary_gives_the_sums_back(values in proptest::collection::vec(-3.0..3.0f64, 0..50)) {
            let sums = floats(&values);
            if let Some(stored) = sums.stored() {
                let count = values.len() as u64;
                prop_assert_eq!(FloatSums::of_stored(&stored).exact(count).sum(), sums.exact(count).sum());
            }
        }
    }

    #[test]
    fn sums_that_rounding_would_lose() {
        let sum = |values: &[f64]| floats(values).exact(values.len() as u64).sum();
        assert_eq!(sum(&[1e300, 1.0, -1e300]), 1.0);
        assert_eq!(sum(&[0.1; 10]), 1.0);
        assert_eq!(sum(&[f64::MAX, f64::MAX, -f64::MAX]), f64::MAX);
        assert_eq!(sum(&[f64::MAX, f64::MAX]), f64::INFINITY);
        assert_eq!(sum(&[f64::from_bits(1); 3]), f64::from_bits(3));
        assert_eq!(sum(&[1.0, f64::EPSILON / 2.0]), 1.0);
        assert_eq!(sum(&[1.0, f64::EPSILON / 2.0, f64::from_bits(1)]), 1.0 + f64::EPSILON);
        assert_eq!(sum(&[f64::INFINITY, 1.0]), f64::INFINITY);
        assert!(sum(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan());
        assert_eq!(sum(&[]), 0.0);
    }

    #[test]
    fn a_deviation_is_exact_where_the_mean_is_large() {
        let values: Vec<f64> = (0..1000).map(|at| 1e9 + f64::from(at % 2)).collect();
        let exact = floats(&values).exact(1000);
        assert_eq!(exact.mean(), Some(1e9 + 0.5));
        let expected = (0.25f64 * 1000.0 / 999.0).sqrt();
        assert!((exact.deviation(true).unwrap() / expected - 1.0).abs() < 1e-15);
        assert_eq!(exact.deviation(false), Some(0.5));
        let huge = floats(&[1e300, 3e300]).exact(2);
        assert!((huge.deviation(false).unwrap() / 1e300 - 1.0).abs() < 1e-15);
        assert_eq!(floats(&[2.0]).exact(1).deviation(true), None);
        assert_eq!(floats(&[2.0]).exact(1).deviation(false), Some(0.0));
    }

    #[test]
    fn the_window_moves() {
        let values: Vec<f64> = (0..2000).map(|at| if at < 700 { 1e-9 } else { 1e9 }).collect();
        let small = Big::of_int(700).nearest() * 1e-9;
        let sum = floats(&values).exact(2000).sum();
        assert_eq!(sum, 1300.0 * 1e9 + small);
    }
}
