//! What to aggregate.

use std::sync::Arc;

use super::bins::Bins;
use super::groups::Key;
use crate::columnar::predicate::predicates::Predicates;
use crate::error::{Error, Result};
use crate::value::budget::Budget;

/// What to compute of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ColumnAggregate {
    /// Cells that are not null; rows without a column.
    Count,
    /// The least value.
    Min,
    /// The greatest value.
    Max,
    /// The sum.
    Sum,
    /// The mean.
    Mean,
    /// The standard deviation: of a sample or of the population.
    Deviation {
        /// Whether the rows are a sample.
        is_sample: bool,
    },
    /// The value that a share of the values does not exceed.
    Percentile {
        /// From 0 to 100.
        percent: f64,
        /// Whether it lies between two values; else it is the nearest rank.
        is_linear: bool,
    },
    /// Numbers of values in ranges of equal width.
    Histogram(Bins),
    /// The cell of the first row in index order.
    First,
    /// The cell of the last row in index order.
    Last,
}

/// One aggregate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Term {
    /// What to compute.
    pub want: ColumnAggregate,
    /// Of which column; the rows themselves if none.
    pub column: Option<usize>,
}

/// Bounds of the groups of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds<'a> {
    /// Most groups.
    pub groups: usize,
    /// Most memory.
    pub bytes: usize,
    /// Where the memory is reserved.
    pub budget: &'a Arc<Budget>,
}

impl Bounds<'_> {
    /// # Errors
    /// `LimitExceeded` for too many groups, and for more memory than a query may use.
    pub(super) fn check(&self, groups: usize, bytes: usize) -> Result<()> {
        if groups > self.groups {
            return Err(Error::limit(format!(
                "more than {0} groups; AGGREGATE_GROUPS allows {0}: group by fewer columns or \
                 wider buckets, or filter the rows",
                self.groups
            ))
            .with_args([self.groups.to_string()])
            .at_member("groupBy"));
        }
        if bytes > self.bytes {
            return Err(Error::limit(format!(
                "the groups and the values for percentiles need more than the {} bytes of memory \
                 of a query; filter the rows, ask for fewer groups, or raise query_memory_bytes",
                self.bytes
            ))
            .with_args([self.bytes.to_string()])
            .at_member("aggregates"));
        }
        Ok(())
    }
}

/// What to aggregate.
#[derive(Clone, Debug)]
pub(crate) struct Aggregation<'a> {
    /// The groups.
    pub keys: Vec<Key>,
    /// The aggregates of each.
    pub terms: Vec<Term>,
    /// The rows.
    pub predicates: &'a Predicates,
    /// How much the groups may need.
    pub bounds: Bounds<'a>,
}
