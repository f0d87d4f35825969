//! What exact sums say: the sum, the mean, the deviation.

use super::big::Big;
use super::block::BlockSums;

/// What exact sums say about values.
#[derive(Clone, Debug)]
pub struct Exact {
    /// Number of values.
    pub(super) count: u64,
    pub(super) sum: Big,
    pub(super) squares: Big,
    /// Infinities of each sign.
    pub(super) infinities: (u64, u64),
}

impl Exact {
    /// The correctly rounded sum.
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

    /// The mean, correctly rounded; `None` of no values. Of equal values it is that value.
    pub(crate) fn mean(&self) -> Option<f64> {
        let mean = || self.special().unwrap_or_else(|| self.sum.over(self.count));
        (self.count > 0).then(mean)
    }

    /// The sum of finite values, without a rounding.
    pub(crate) fn total(&self) -> &Big {
        &self.sum
    }

    /// The sum of the squares of finite values, without a rounding.
    pub(crate) fn squares(&self) -> &Big {
        &self.squares
    }

    /// The sum of the squared deviations of finite values from their mean, times their number,
    /// without a rounding: n times the sum of the squares minus the square of the sum, where the
    /// subtraction may cancel nearly all digits.
    pub(crate) fn spread(&self) -> Big {
        let all = self.squares.times(&Big::of_int(i128::from(self.count)));
        all.plus(&self.sum.times(&self.sum).negated())
    }

    /// The standard deviation of a sample, or of the whole population. `None` of less than two
    /// values, or of none.
    pub(crate) fn deviation(&self, is_sample: bool) -> Option<f64> {
        let divisor = if is_sample { self.count.checked_sub(1)? } else { self.count };
        if divisor == 0 || self.count == 0 {
            return None;
        }
        if self.special().is_some() {
            return Some(f64::NAN);
        }
        Some(self.spread().root_over(self.count as f64 * divisor as f64))
    }
}

/// A type of numbers that can be summed exactly.
pub trait Summable: Copy {
    /// Their sums.
    type Sums: Sums<Self>;

    /// The sums of a block of at most 1,024 values, none of them NaN.
    fn block_sums(values: &[Self]) -> BlockSums;
}

/// Sums of numbers.
pub trait Sums<T>: Default + Clone + Send + Sync + std::fmt::Debug {
    /// Adds a value, and its square if `SQUARES`. A NaN must not be added, nor more than 2^31
    /// values before the sums are merged.
    fn add<const SQUARES: bool>(&mut self, value: T);

    /// Adds the sums of other values.
    fn merge(&mut self, other: Self);

    /// Adds the sums of a block, and its squares if `SQUARES`. The sums must be known.
    fn merge_block<const SQUARES: bool>(&mut self, block: &BlockSums);

    /// The integer sum, if the values are integers.
    fn integer(&self) -> Option<i128>;

    /// What is known about `count` values.
    fn exact(self, count: u64) -> Exact;

    /// Bytes beside the value itself.
    fn bytes(&self) -> usize;
}
