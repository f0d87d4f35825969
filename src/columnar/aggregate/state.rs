//! What is known about one group, and how the knowledge of two sets of rows is joined.

use super::bins::Bins;
use super::groups::KeyCell;
use super::needs::{Need, Needs};
use crate::columnar::column_slice::Scale;
use crate::columnar::segment::Block;
use crate::model::tables::data::DataType;
use crate::value::exact::{BlockSums, Sums};

/// Where a row is in the order of the index: its value, its run, its row.
pub(super) type Rank = (i64, usize, usize);

/// The value of a cell.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

/// What is known about the numbers of a group.
#[derive(Clone, Debug)]
pub(super) struct Numbers<T: Scale> {
    /// Values that are neither null nor NaN.
    pub used: u64,
    pub extremes: Option<(T, T)>,
    pub sums: T::Sums,
    pub values: Vec<T>,
    /// For each histogram the values below, in and above its ranges; none before the first value.
    pub bins: Vec<Vec<u64>>,
}

impl<T: Scale> Default for Numbers<T> {
    fn default() -> Self {
        Self {
            used: 0,
            extremes: None,
            sums: T::Sums::default(),
            values: Vec::new(),
            bins: Vec::new(),
        }
    }
}

impl<T: Scale> Numbers<T> {
    /// Adds what the summary of a block says; returns its cells that are not null.
    pub(super) fn add_block(
        &mut self,
        block: &Block<T>,
        sums: Option<&BlockSums>,
        need: &Need,
    ) -> u64 {
        // Counts of a damaged file may exceed each other.
        let cells = u64::from(block.rows.saturating_sub(block.nulls));
        self.used += cells.saturating_sub(u64::from(block.nans));
        if block.is_usable() {
            self.offer(block.min, block.max);
        }
        match sums {
            Some(sums) if need.squares => self.sums.merge_block::<true>(sums),
            Some(sums) => self.sums.merge_block::<false>(sums),
            None => {}
        }
        cells
    }

    pub(super) fn offer(&mut self, low: T, high: T) {
        self.extremes = Some(match self.extremes {
            None => (low, high),
            Some((min, max)) => {
                (if low < min { low } else { min }, if high > max { high } else { max })
            }
        });
    }

    fn merge(&mut self, other: Self) {
        self.used += other.used;
        if let Some((low, high)) = other.extremes {
            self.offer(low, high);
        }
        self.sums.merge(other.sums);
        self.values.extend(other.values);
        if self.bins.is_empty() {
            self.bins = other.bins;
        } else {
            for (mine, other) in self.bins.iter_mut().zip(other.bins) {
                mine.iter_mut().zip(other).for_each(|(mine, other)| *mine += other);
            }
        }
    }

    /// Counts a value in the ranges of the histograms.
    pub(super) fn put(&mut self, value: T, wanted: &[Bins]) {
        if self.bins.is_empty() {
            self.bins = wanted.iter().map(|bins| vec![0; bins.count + 2]).collect();
        }
        for (counts, bins) in self.bins.iter_mut().zip(wanted) {
            if let Some(count) = counts.get_mut(bins.place(value)) {
                *count += 1;
            }
        }
    }

    fn bytes(&self) -> usize {
        let bins: usize = self.bins.iter().map(Vec::len).sum();
        8 * (self.values.len() + bins) + self.sums.bytes()
    }
}

/// What is known about one column of a group.
#[derive(Clone, Debug)]
pub(super) enum ColumnFacts {
    Ints(Numbers<i64>),
    Floats(Numbers<f64>),
    /// Least and greatest value of BOOL and STRING.
    Others(Option<(KeyCell, KeyCell)>),
}

/// The first and the last cell of a group.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    pub first_at: Rank,
    pub first: Cell,
    pub last_at: Rank,
    pub last: Cell,
}

/// One column of a group.
#[derive(Clone, Debug)]
pub(super) struct ColumnState {
    /// Cells that are not null.
    pub cells: u64,
    pub known: ColumnFacts,
    pub ends: Option<Box<Ends>>,
}

impl ColumnState {
    pub(super) fn new(need: &Need) -> Self {
        let known = match need.data_type {
            DataType::Bool | DataType::String => ColumnFacts::Others(None),
            data_type if data_type.is_float() => ColumnFacts::Floats(Numbers::default()),
            _ => ColumnFacts::Ints(Numbers::default()),
        };
        Self { cells: 0, known, ends: None }
    }

    fn merge(&mut self, other: Self) {
        self.cells += other.cells;
        match (&mut self.known, other.known) {
            (ColumnFacts::Ints(mine), ColumnFacts::Ints(other)) => mine.merge(other),
            (ColumnFacts::Floats(mine), ColumnFacts::Floats(other)) => mine.merge(other),
            (ColumnFacts::Others(mine), ColumnFacts::Others(Some((low, high)))) => match mine {
                None => *mine = Some((low, high)),
                Some((min, max)) => {
                    if low < *min {
                        *min = low;
                    }
                    if high > *max {
                        *max = high;
                    }
                }
            },
            // Both are of one column, so they have one type.
            _ => {}
        }
        match (&mut self.ends, other.ends) {
            (Some(mine), Some(other)) => {
                if other.first_at < mine.first_at {
                    (mine.first_at, mine.first) = (other.first_at, other.first);
                }
                if other.last_at > mine.last_at {
                    (mine.last_at, mine.last) = (other.last_at, other.last);
                }
            }
            (mine @ None, other) => *mine = other,
            _ => {}
        }
    }

    fn bytes(&self) -> usize {
        let known = match &self.known {
            ColumnFacts::Ints(numbers) => numbers.bytes(),
            ColumnFacts::Floats(numbers) => numbers.bytes(),
            ColumnFacts::Others(extremes) => {
                extremes.as_ref().map_or(0, |(min, max)| min.bytes() + max.bytes())
            }
        };
        let cell = |cell: &Cell| if let Cell::Text(text) = cell { text.len() } else { 0 };
        let ends = self
            .ends
            .as_ref()
            .map_or(0, |ends| size_of::<Ends>() + cell(&ends.first) + cell(&ends.last));
        size_of::<Self>() + known + ends
    }
}

/// One group.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub rows: u64,
    /// By column of the needs.
    pub states: Vec<ColumnState>,
}

impl Group {
    pub(super) fn new(needs: &Needs) -> Self {
        Self { rows: 0, states: needs.0.iter().map(ColumnState::new).collect() }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.rows += other.rows;
        self.states.iter_mut().zip(other.states).for_each(|(mine, other)| mine.merge(other));
    }

    /// Memory that the group needs.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.states.iter().map(ColumnState::bytes).sum::<usize>()
    }
}
