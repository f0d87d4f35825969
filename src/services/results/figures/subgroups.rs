//! Subgroups of consecutive values.

use super::constants::SIZES;
use super::numbers::{Extremes, Total};
use crate::error::{Error, Result};
use crate::value::exact::Big;

/// The size of subgroups of a request.
///
/// # Errors
/// `InvalidArgument` for none, and for one that has no constants.
pub(crate) fn subgroup_size(size: Option<i64>) -> Result<usize> {
    let known = size.and_then(|size| usize::try_from(size).ok());
    known.filter(|size| SIZES.contains(size)).ok_or_else(|| {
        let (least, most) = (SIZES.start(), SIZES.end());
        Error::invalid(format!("subgroups need a subgroupSize from {least} to {most}"))
            .at_member("subgroupSize")
    })
}

/// Takes values, and gives a subgroup when it is full.
#[derive(Debug)]
pub(super) struct Subgroups {
    size: usize,
    open: Subgroup,
}

/// The values of a subgroup.
#[derive(Debug, Default)]
pub(super) struct Subgroup {
    total: Total,
    extremes: Extremes,
}

impl Subgroups {
    pub(super) fn new(size: usize) -> Self {
        Self { size, open: Subgroup::default() }
    }

    /// Adds the next value; returns the subgroup that it completes.
    pub(super) fn add(&mut self, value: f64) -> Option<Subgroup> {
        self.open.total.add(value);
        self.open.extremes.add(value);
        (self.left_over() >= self.size as u64).then(|| std::mem::take(&mut self.open))
    }

    /// Values of the subgroup that is not full.
    pub(super) fn left_over(&self) -> u64 {
        self.open.total.count
    }
}

impl Subgroup {
    /// The mean, rounded once.
    pub(super) fn mean(&self) -> Option<f64> {
        self.total.mean()
    }

    /// The greatest value minus the least one.
    pub(super) fn range(&self) -> Option<f64> {
        self.extremes.range()
    }

    /// The sum of the squared deviations from the mean times the number of values, not rounded.
    pub(super) fn spread(&self) -> Big {
        self.total.exact().spread()
    }
}
