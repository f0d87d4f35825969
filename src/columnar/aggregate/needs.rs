//! What the aggregates of a request need of each column.

use super::bins::Bins;
use super::request::{Aggregation, ColumnAggregate};
use crate::columnar::schema::TableSchema;
use crate::error::Result;
use crate::model::tables::data::DataType;

/// About the memory of the state of one column.
const STATE_BYTES: usize = 256;

/// What is needed of one column.
#[derive(Clone, Debug)]
pub(super) struct Need {
    pub column: usize,
    pub data_type: DataType,
    pub extremes: bool,
    pub sums: bool,
    pub squares: bool,
    pub values: bool,
    pub ends: bool,
    pub bins: Vec<Bins>,
}

/// What is needed of each column.
#[derive(Clone, Debug)]
pub(super) struct Needs(pub Vec<Need>);

impl Needs {
    pub(super) fn of(schema: &TableSchema, aggregation: &Aggregation<'_>) -> Result<Self> {
        let mut needs: Vec<Need> = Vec::new();
        let mut places: Vec<Option<usize>> = vec![None; schema.len()];
        for term in &aggregation.terms {
            let Some(column) = term.column else { continue };
            let data_type = schema.column(column)?.data_type;
            let Some(place) = places.get_mut(column) else { continue };
            let at = *place.get_or_insert_with(|| {
                needs.push(Need::nothing(column, data_type));
                needs.len() - 1
            });
            let Some(need) = needs.get_mut(at) else { continue };
            match term.want {
                ColumnAggregate::Count => {}
                ColumnAggregate::Min | ColumnAggregate::Max => need.extremes = true,
                ColumnAggregate::Sum | ColumnAggregate::Mean => need.sums = true,
                ColumnAggregate::Deviation { .. } => (need.sums, need.squares) = (true, true),
                ColumnAggregate::Percentile { .. } => need.values = true,
                ColumnAggregate::Histogram(bins) if !need.bins.contains(&bins) => {
                    need.bins.push(bins);
                }
                ColumnAggregate::Histogram(_) => {}
                ColumnAggregate::First | ColumnAggregate::Last => need.ends = true,
            }
        }
        Ok(Self(needs))
    }

    /// Whether the summaries of blocks have all of it; sums only where they are stored.
    pub(super) fn are_in_summaries(&self) -> bool {
        let is_in = |need: &Need| {
            need.data_type.is_numeric() && !(need.values || need.ends) && need.bins.is_empty()
        };
        self.0.iter().all(is_in)
    }

    /// Whether the first or the last cell of a column is needed.
    pub(super) fn have_ends(&self) -> bool {
        self.0.iter().any(|need| need.ends)
    }

    /// Memory of one group at most, without the values of its cells.
    pub(super) fn group_bytes(&self) -> usize {
        let bins = |need: &Need| need.bins.iter().map(|bins| 8 * (bins.count + 2)).sum::<usize>();
        self.0.iter().map(|need| STATE_BYTES + bins(need)).sum()
    }

    pub(super) fn place(&self, column: usize) -> Option<(usize, &Need)> {
        self.0.iter().enumerate().find(|(_, need)| need.column == column)
    }
}

impl Need {
    fn nothing(column: usize, data_type: DataType) -> Self {
        Self {
            column,
            data_type,
            extremes: false,
            sums: false,
            squares: false,
            values: false,
            ends: false,
            bins: Vec::new(),
        }
    }
}
