//! Integers of any size times a power of two.

/// A sum over the whole range of exponents.
#[derive(Clone, Debug)]
pub(super) struct WideSum {
    /// Limbs of 32 bits in 64, so that carries are rare; the last one has the sign.
    limbs: Vec<i64>,
    adds: u32,
}

impl WideSum {
    pub(super) fn new(limbs: usize) -> Self {
        Self { limbs: vec![0; limbs], adds: 0 }
    }

    /// Adds a magnitude times 2^`shift`.
    pub(super) fn add(&mut self, magnitude: u128, shift: u32, is_negative: bool) {
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

    /// Adds another sum of as many limbs.
    pub(super) fn merge(&mut self, mut other: Self) {
        self.carry();
        other.carry();
        self.limbs.iter_mut().zip(other.limbs).for_each(|(limb, other)| *limb += other);
        self.carry();
    }

    pub(super) fn into_big(mut self, exponent: i32) -> Big {
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
    pub(crate) fn of_int(value: i128) -> Self {
        Self::of_magnitude(value < 0, value.unsigned_abs())
    }

    pub(super) fn of_magnitude(is_negative: bool, value: u128) -> Self {
        let limbs = (0..4).map(|at| (value >> (32 * at)) as u32).collect();
        Self::new(is_negative, limbs, 0)
    }

    /// A magnitude times 2^`shift` in units of 2^`exponent`, so that numbers with the same unit can
    /// be added.
    pub(super) fn of_units(is_negative: bool, magnitude: u128, shift: u32, exponent: i32) -> Self {
        let mut carry = 0;
        let mut limbs: Vec<u32> = Vec::with_capacity(5);
        for at in 0..4 {
            let spread = u64::from((magnitude >> (32 * at)) as u32) << (shift % 32);
            limbs.push(spread as u32 | carry);
            carry = (spread >> 32) as u32;
        }
        limbs.push(carry);
        Self::new(is_negative, limbs, exponent + (shift - shift % 32).cast_signed())
    }

    /// This times 2^`bits`.
    pub(super) fn shifted(mut self, bits: i32) -> Self {
        self.exponent += bits;
        self
    }

    /// The product.
    pub(crate) fn times(&self, other: &Self) -> Self {
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
    pub(crate) fn plus(&self, other: &Self) -> Self {
        // The exponent of zero says nothing.
        if self.limbs.is_empty() || other.limbs.is_empty() {
            return if self.limbs.is_empty() { other.clone() } else { self.clone() };
        }
        let exponent = self.exponent.min(other.exponent);
        let from = |big: &Self| ((big.exponent - exponent) / 32) as usize;
        let len = [self, other].map(|big| from(big) + big.limbs.len()).into_iter().max();
        let mut limbs = vec![0i64; len.unwrap_or(0) + 1];
        for big in [self, other] {
            for (limb, value) in limbs.iter_mut().skip(from(big)).zip(&big.limbs) {
                *limb += if big.is_negative { -i64::from(*value) } else { i64::from(*value) };
            }
        }
        WideSum { limbs, adds: 2 }.into_big(exponent)
    }

    /// This with the other sign.
    pub(crate) fn negated(mut self) -> Self {
        self.is_negative = !self.is_negative;
        self
    }

    /// A number of at least 1 and less than 2, or 0, that is rounded once, and the power of two
    /// that it is to be multiplied with.
    pub(super) fn parts(&self) -> (f64, i32) {
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

    /// The quotient, correctly rounded unless it is less than the least normal double.
    pub(super) fn over(&self, divisor: u64) -> f64 {
        /// Limbs below the number: with them the quotient has more than 64 bits.
        const BELOW: [u32; 4] = [0; 4];
        let divisor = u128::from(divisor.max(1));
        let mut rest = 0u128;
        let digits = self.limbs.iter().rev().chain(&BELOW).map(|limb| {
            let all = (rest << 32) | u128::from(*limb);
            rest = all % divisor;
            (all / divisor) as u32
        });
        let mut limbs: Vec<u32> = digits.collect();
        limbs.reverse();
        // What is left matters only for a tie.
        if let Some(lowest) = limbs.first_mut() {
            *lowest |= u32::from(rest != 0);
        }
        Self::new(self.is_negative, limbs, self.exponent - 128).nearest()
    }

    /// The square root of the quotient; 0 of a negative number.
    pub(crate) fn root_over(&self, divisor: f64) -> f64 {
        let (mut value, mut exponent) = self.parts();
        value = value.max(0.0) / divisor;
        if exponent.rem_euclid(2) == 1 {
            (value, exponent) = (value * 2.0, exponent - 1);
        }
        scaled(value.sqrt(), exponent / 2)
    }

    /// The nearest double; for a multiple of the least double it is rounded once.
    pub(super) fn nearest(&self) -> f64 {
        let (value, exponent) = self.parts();
        scaled(value, exponent)
    }
}

/// A number times a power of two.
pub(super) fn scaled(mut value: f64, mut exponent: i32) -> f64 {
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
