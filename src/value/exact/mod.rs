//! Exact sums and sums of squares, which do not depend on the order of the values.
//!
//! A double is an integer times a power of two. While the exponents of the values lie within a
//! window, their sum is one 128-bit integer; values outside of it are added to an array that covers
//! the whole range of doubles. Nothing is rounded before the end.

mod big;
mod block;
mod floats;
mod ints;
mod sums;
#[cfg(test)]
mod tests;

pub(crate) use big::Big;
pub(crate) use block::{BLOCK_SUM_BYTES, BlockSums};
pub(crate) use floats::FloatSums;
pub(crate) use sums::{Exact, Summable, Sums};
