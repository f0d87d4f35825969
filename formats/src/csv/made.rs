//! Columns that no field of a line has: they are made from the header and the numbers of the rows.

use stationdb::Result;
use stationdb::arrow::array::ArrayRef;
use stationdb::tables::Column;

use super::layout::{Clock, SegmentColumn, Segments};

/// What a column is made from.
#[derive(Clone, Debug)]
pub(super) enum Made {
    /// A start and an interval.
    Clock(Clock),
    /// The segments of the file.
    Segments(Segments, SegmentColumn),
}

impl Made {
    /// The columns of a file whose other columns have these names.
    pub(super) fn all(
        clock: Option<Clock>,
        segments: Option<&Segments>,
        names: &[String],
    ) -> Vec<(Self, Column)> {
        let times = clock.map(|clock| (Self::Clock(clock), clock.column(names)));
        let of_segments = segments.into_iter().flat_map(|segments| {
            let columns = segments.columns(names).into_iter();
            columns.map(|(what, column)| (Self::Segments(segments.clone(), what), column))
        });
        of_segments.chain(times).collect()
    }

    /// Why the column is there.
    pub(super) const fn why(&self) -> &'static str {
        match self {
            Self::Clock(_) => {
                "the start and the interval of the rows, as no column has their times"
            }
            Self::Segments(..) => "the segment of the row, as the header lists them",
        }
    }

    /// The values of `count` rows, the first of which is `row` of the file.
    ///
    /// # Errors
    /// `InvalidArgument` for a row that has no value.
    pub(super) fn values(&self, row: u64, count: usize) -> Result<ArrayRef> {
        match self {
            Self::Clock(clock) => clock.times(row, count),
            Self::Segments(segments, what) => segments.values(*what, row, count),
        }
    }
}
