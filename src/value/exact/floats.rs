//! Exact sums of doubles.

use super::big::{Big, WideSum};
use super::block::{BlockSums, FRACTION, Form, HALF, HIDDEN, SPECIAL};
use super::sums::{Exact, Summable, Sums};

/// Exponents above the lowest one of the window for which 128 bits are enough for the squares of
/// 2^31 values.
const WINDOW: u32 = 21;
/// Where in the window the first value lies: later ones are more often smaller than much greater.
const BELOW: u32 = 15;
/// Values outside of the window after which it moves.
const MISSES: u32 = 256;
/// The window of no values.
const UNSET: u32 = 1 << 31;
/// Limbs of 32 bits for every sum of doubles, and of their squares.
const SUM_LIMBS: usize = 72;
const SQUARE_LIMBS: usize = 140;
/// The exponent of the lowest bit of a double, and of its square.
const SUM_EXPONENT: i32 = -1074;
const SQUARE_EXPONENT: i32 = 2 * SUM_EXPONENT;

impl Summable for f64 {
    type Sums = FloatSums;

    fn block_sums(values: &[Self]) -> BlockSums {
        BlockSums::of_floats(values)
    }
}

/// The sum, and the sums of the low and of the high halves of the squares, in units of a window.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// The least exponent field.
    base: u32,
    sum: i128,
    squares: (u128, u128),
}

/// Sums of doubles.
#[derive(Clone, Debug)]
pub struct FloatSums {
    window: Window,
    missed: u32,
    infinities: (u64, u64),
    wide: Option<Box<(WideSum, WideSum)>>,
}

impl Default for FloatSums {
    fn default() -> Self {
        Self { window: Window::EMPTY, missed: 0, infinities: (0, 0), wide: None }
    }
}

impl Window {
    const EMPTY: Self = Self { base: UNSET, sum: 0, squares: (0, 0) };

    /// The sums of two windows in units of the lower one; `None` if they do not fit.
    fn with(&self, other: &Self) -> Option<Self> {
        let (low, high) = if self.base <= other.base { (self, other) } else { (other, self) };
        let by = high.base - low.base;
        let above = |value: u128, by: u32, before: u128| match value {
            0 => Some(before),
            _ => (value.leading_zeros() > by).then(|| (value << by).checked_add(before)).flatten(),
        };
        let sum = match high.sum {
            0 => Some(low.sum),
            sum => (sum.unsigned_abs().leading_zeros() > by + 1)
                .then(|| (sum << by).checked_add(low.sum))
                .flatten(),
        };
        Some(Self {
            base: low.base,
            sum: sum?,
            squares: (
                above(high.squares.0, 2 * by, low.squares.0)?,
                above(high.squares.1, 2 * by, low.squares.1)?,
            ),
        })
    }

    /// The sum and the sum of the squares.
    fn bigs(&self) -> (Big, Big) {
        if self.base == UNSET {
            return (Big::of_int(0), Big::of_int(0));
        }
        let shift = self.base - 1;
        let square =
            |part: u128, more: u32| Big::of_units(false, part, 2 * shift + more, SQUARE_EXPONENT);
        let sum = Big::of_units(self.sum < 0, self.sum.unsigned_abs(), shift, SUM_EXPONENT);
        (sum, square(self.squares.0, 0).plus(&square(self.squares.1, HALF)))
    }
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
        if self.window.base == UNSET || self.missed >= MISSES {
            let window = std::mem::replace(&mut self.window, Window::EMPTY);
            self.spread(&window);
            self.missed = 0;
            self.window.base = field.saturating_sub(BELOW).clamp(1, SPECIAL - 1 - WINDOW);
            if field >= 1 {
                return self.add::<SQUARES>(value);
            }
        }
        let fraction = bits & FRACTION;
        let (significand, shift) =
            if field == 0 { (fraction, 0) } else { (fraction | HIDDEN, field - 1) };
        let (sum, squares) = self.wide();
        sum.add(u128::from(significand), shift, value < 0.0);
        if SQUARES {
            squares.add(u128::from(significand).pow(2), 2 * shift, false);
        }
    }

    fn wide(&mut self) -> &mut (WideSum, WideSum) {
        self.wide
            .get_or_insert_with(|| Box::new((WideSum::new(SUM_LIMBS), WideSum::new(SQUARE_LIMBS))))
    }

    /// Adds the sums of another window.
    fn join(&mut self, other: Window) {
        if self.window.base == UNSET {
            self.window = other;
        } else if other.base != UNSET {
            match self.window.with(&other) {
                Some(joined) => self.window = joined,
                None => self.spread(&other),
            }
        }
    }

    /// Adds the sums of a window to the wide ones.
    fn spread(&mut self, window: &Window) {
        if window.base == UNSET || (window.sum == 0 && window.squares == (0, 0)) {
            return;
        }
        let shift = window.base - 1;
        let (sum, squares) = self.wide();
        sum.add(window.sum.unsigned_abs(), shift, window.sum < 0);
        squares.add(window.squares.0, 2 * shift, false);
        squares.add(window.squares.1, 2 * shift + HALF, false);
    }
}

impl Sums<f64> for FloatSums {
    #[inline]
    fn add<const SQUARES: bool>(&mut self, value: f64) {
        let bits = value.to_bits();
        let above = ((bits >> 52) as u32 & SPECIAL).wrapping_sub(self.window.base);
        if above > WINDOW {
            return self.outside::<SQUARES>(value);
        }
        let significand = (bits & FRACTION) | HIDDEN;
        let sign = -i128::from(bits >> 63);
        self.window.sum += ((i128::from(significand) << above) ^ sign) - sign;
        if SQUARES {
            let square = u128::from(significand) * u128::from(significand);
            self.window.squares.0 += (square & ((1 << HALF) - 1)) << (2 * above);
            self.window.squares.1 += (square >> HALF) << (2 * above);
        }
    }

    fn merge(&mut self, other: Self) {
        self.infinities.0 += other.infinities.0;
        self.infinities.1 += other.infinities.1;
        self.join(other.window);
        match (&mut self.wide, other.wide) {
            (Some(mine), Some(other)) => {
                let (sum, squares) = *other;
                mine.0.merge(sum);
                mine.1.merge(squares);
            }
            (mine @ None, other) => *mine = other,
            _ => {}
        }
    }

    fn merge_block<const SQUARES: bool>(&mut self, block: &BlockSums) {
        self.infinities.0 += u64::from(block.infinities.0);
        self.infinities.1 += u64::from(block.infinities.1);
        let squares = if SQUARES { block.squares } else { (0, 0) };
        if block.sum == 0 && squares == (0, 0) {
            return;
        }
        let base = u32::from(block.base).clamp(1, SPECIAL - 1);
        // A window must not reach infinity, as [`Sums::add`] trusts it.
        if block.form == Form::Near && base < SPECIAL - WINDOW {
            return self.join(Window { base, sum: block.sum, squares });
        }
        let shift = base - 1;
        let high = if block.form == Form::Near { HALF } else { 128 };
        let (all, wide) = self.wide();
        all.add(block.sum.unsigned_abs(), shift, block.sum < 0);
        if SQUARES {
            wide.add(squares.0, 2 * shift, false);
            wide.add(squares.1, 2 * shift + high, false);
        }
    }

    fn integer(&self) -> Option<i128> {
        None
    }

    fn bytes(&self) -> usize {
        if self.wide.is_some() { 8 * (SUM_LIMBS + SQUARE_LIMBS) } else { 0 }
    }

    fn exact(mut self, count: u64) -> Exact {
        let window = std::mem::replace(&mut self.window, Window::EMPTY);
        if self.wide.is_some() {
            self.spread(&window);
        }
        let infinities = self.infinities;
        let (sum, squares) = match self.wide {
            Some(wide) => (wide.0.into_big(SUM_EXPONENT), wide.1.into_big(SQUARE_EXPONENT)),
            None => window.bigs(),
        };
        Exact { count, sum, squares, infinities }
    }
}
