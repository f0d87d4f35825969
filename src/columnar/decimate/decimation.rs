//! The parameters of a decimated read.

use std::sync::Arc;

use crate::model::tables::data::{DecimationDistribution, DecimationMethod};
use crate::value::budget::Budget;

/// A validated decimation.
#[derive(Clone, Debug)]
pub(crate) struct Decimation {
    /// Position of the axis column.
    pub x: usize,
    /// Positions of the columns whose extremes are kept.
    pub y: Vec<usize>,
    /// Number of intervals, at least one.
    pub intervals: u64,
    /// The method.
    pub method: DecimationMethod,
    /// How the axis is divided into intervals.
    pub distribution: DecimationDistribution,
    /// Memory that a sort by x may use.
    pub memory_bytes: usize,
    /// Where the memory is reserved.
    pub budget: Arc<Budget>,
}

impl Decimation {
    pub(super) fn is_equal_width(&self) -> bool {
        self.distribution == DecimationDistribution::EqualWidth
            && self.method != DecimationMethod::Lossy
    }
}
