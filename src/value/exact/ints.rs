//! Exact sums of integers.

use super::big::Big;
use super::block::BlockSums;
use super::sums::{Exact, Summable, Sums};

impl Summable for i64 {
    type Sums = IntSums;

    fn block_sums(values: &[Self]) -> BlockSums {
        BlockSums::of_ints(values)
    }
}

/// Sums of integers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntSums {
    /// The sum.
    sum: i128,
    /// The sums of the low and of the high 64 bits of the squares.
    squares: (u128, u128),
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

    fn merge_block<const SQUARES: bool>(&mut self, block: &BlockSums) {
        self.sum += block.sum;
        if SQUARES {
            self.squares.0 += block.squares.0;
            self.squares.1 += block.squares.1;
        }
    }

    fn integer(&self) -> Option<i128> {
        Some(self.sum)
    }

    fn bytes(&self) -> usize {
        0
    }

    fn exact(self, count: u64) -> Exact {
        let high = Big::of_magnitude(false, self.squares.1).shifted(64);
        let squares = Big::of_magnitude(false, self.squares.0).plus(&high);
        Exact { count, sum: Big::of_int(self.sum), squares, infinities: (0, 0) }
    }
}
