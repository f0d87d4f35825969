//! Extremes of every block of rows, per numeric column, and coarser levels above.

use std::ops::Range;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{Float32Type, Float64Type, Int32Type, Int64Type, TimestampMillisecondType};

use super::BLOCK_ROWS;
use crate::columnar::kernels::{Extremes, Sample, extremes, extremes_where};
use crate::model::table_data::DataType;

/// Blocks under one entry of the coarse level.
const FAN: usize = 64;

/// What is known of one block of rows of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block<T> {
    /// Smallest value; without meaning when no value is usable.
    pub min: T,
    /// Largest value; without meaning when no value is usable.
    pub max: T,
    /// Position of the first smallest value in the block.
    pub min_at: u16,
    /// Position of the first largest value in the block.
    pub max_at: u16,
    /// Rows of the block.
    pub rows: u16,
    /// Nulls among them.
    pub nulls: u16,
    /// NaNs among them.
    pub nans: u16,
}

impl<T> Block<T> {
    /// Whether the block has a value that is neither null nor NaN.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.rows > self.nulls + self.nans
    }
}

#[derive(Clone, Copy, Debug)]
struct Coarse<T> {
    /// Block of the first smallest value, and of the first largest; none when no block is usable.
    at: Option<(u32, u32)>,
    min: T,
    max: T,
}

/// The blocks of one column.
#[derive(Clone, Debug)]
pub struct Levels<T> {
    blocks: Vec<Block<T>>,
    coarse: Vec<Coarse<T>>,
}

impl<T: Sample> Levels<T> {
    pub(super) fn new(blocks: Vec<Block<T>>) -> Self {
        let mut levels = Self { blocks, coarse: Vec::new() };
        levels.coarse = (0..levels.blocks.len().div_ceil(FAN))
            .map(|number| {
                let range = number * FAN..((number + 1) * FAN).min(levels.blocks.len());
                match levels.fine(range) {
                    Some((min_at, max_at)) => Coarse {
                        at: Some((min_at as u32, max_at as u32)),
                        min: levels.value(min_at, |block| block.min).unwrap_or(T::GREATEST),
                        max: levels.value(max_at, |block| block.max).unwrap_or(T::LEAST),
                    },
                    None => Coarse { at: None, min: T::GREATEST, max: T::LEAST },
                }
            })
            .collect();
        levels
    }

    fn value<V>(&self, at: usize, get: impl Fn(&Block<T>) -> V) -> Option<V> {
        self.blocks.get(at).map(get)
    }

    /// The blocks.
    #[must_use]
    pub fn blocks(&self) -> &[Block<T>] {
        &self.blocks
    }

    fn fine(&self, range: Range<usize>) -> Option<(usize, usize)> {
        let mut found: Option<(usize, T, usize, T)> = None;
        for (offset, block) in self.blocks.get(range.clone())?.iter().enumerate() {
            if !block.is_usable() {
                continue;
            }
            let at = range.start + offset;
            match &mut found {
                None => found = Some((at, block.min, at, block.max)),
                Some((min_at, min, max_at, max)) => {
                    if block.min < *min {
                        (*min_at, *min) = (at, block.min);
                    }
                    if block.max > *max {
                        (*max_at, *max) = (at, block.max);
                    }
                }
            }
        }
        found.map(|(min_at, _, max_at, _)| (min_at, max_at))
    }

    /// The extremes of whole blocks, with positions counted from the first row of the segment.
    #[must_use]
    pub fn extremes(&self, range: Range<usize>) -> Option<Extremes<T>> {
        let mut found: Option<Extremes<T>> = None;
        let mut offer = |min_block: usize, max_block: usize| {
            let (Some(low), Some(high)) = (self.blocks.get(min_block), self.blocks.get(max_block)) else {
                return;
            };
            let next = Extremes {
                min: low.min,
                min_at: min_block * BLOCK_ROWS + usize::from(low.min_at),
                max: high.max,
                max_at: max_block * BLOCK_ROWS + usize::from(high.max_at),
            };
            found = Some(match found {
                None => next,
                Some(before) => merge(before, next),
            });
        };
        let (from, to) = (range.start.div_ceil(FAN), range.end / FAN);
        if from >= to {
            if let Some((low, high)) = self.fine(range) {
                offer(low, high);
            }
            return found;
        }
        if let Some((low, high)) = self.fine(range.start..from * FAN) {
            offer(low, high);
        }
        let mut best: Option<(u32, T, u32, T)> = None;
        for coarse in self.coarse.get(from..to).unwrap_or_default() {
            let Some((low, high)) = coarse.at else { continue };
            match &mut best {
                None => best = Some((low, coarse.min, high, coarse.max)),
                Some((min_at, min, max_at, max)) => {
                    if coarse.min < *min {
                        (*min_at, *min) = (low, coarse.min);
                    }
                    if coarse.max > *max {
                        (*max_at, *max) = (high, coarse.max);
                    }
                }
            }
        }
        if let Some((low, _, high, _)) = best {
            offer(low as usize, high as usize);
        }
        if let Some((low, high)) = self.fine(to * FAN..range.end) {
            offer(low, high);
        }
        found
    }
}

/// Joins the extremes of earlier rows with those of later ones; of equal values the earlier one stays.
pub(in crate::columnar) fn merge<T: Sample>(before: Extremes<T>, next: Extremes<T>) -> Extremes<T> {
    let mut out = before;
    if next.min < out.min {
        (out.min, out.min_at) = (next.min, next.min_at);
    }
    if next.max > out.max {
        (out.max, out.max_at) = (next.max, next.max_at);
    }
    out
}

/// The summary of one numeric column: 64-bit integers for INT32, INT64 and TIMESTAMP, floats for the others.
#[derive(Clone, Debug)]
pub enum ColumnSummary {
    /// Of an integer or timestamp column.
    Int(Levels<i64>),
    /// Of a float column.
    Float(Levels<f64>),
}

pub(super) enum Builder {
    Int(BlockBuilder<i64>),
    Float(BlockBuilder<f64>),
}

pub(super) struct BlockBuilder<T> {
    done: Vec<Block<T>>,
    current: Block<T>,
}

fn empty<T: Sample>() -> Block<T> {
    Block { min: T::GREATEST, max: T::LEAST, min_at: 0, max_at: 0, rows: 0, nulls: 0, nans: 0 }
}

impl<T: Sample> BlockBuilder<T> {
    fn new() -> Self {
        Self { done: Vec::new(), current: empty() }
    }

    fn push<N: Sample>(&mut self, values: &[N], array: &dyn Array, widen: impl Fn(N) -> T) {
        let mut from = 0;
        while from < values.len() {
            let filled = usize::from(self.current.rows);
            let len = (BLOCK_ROWS - filled).min(values.len() - from);
            let piece = values.get(from..from + len).unwrap_or_default();
            let valid = |at: usize| array.is_valid(from + at);
            let (nulls, nans, found) = if array.null_count() == 0 {
                #[expect(clippy::eq_op, reason = "only NaN differs from itself")]
                let nans = piece.iter().filter(|value| **value != **value).count();
                (0, nans, extremes(piece))
            } else {
                let nulls = (0..len).filter(|&at| !valid(at)).count();
                #[expect(clippy::eq_op, reason = "only NaN differs from itself")]
                let nans = piece.iter().enumerate().filter(|(at, value)| **value != **value && valid(*at)).count();
                (nulls, nans, extremes_where(piece, valid))
            };
            let usable = self.current.is_usable();
            let block = &mut self.current;
            if let Some(found) = found {
                let (min, max) = (widen(found.min), widen(found.max));
                if !usable || min < block.min {
                    (block.min, block.min_at) = (min, (filled + found.min_at) as u16);
                }
                if !usable || max > block.max {
                    (block.max, block.max_at) = (max, (filled + found.max_at) as u16);
                }
            }
            block.rows += len as u16;
            block.nulls += nulls as u16;
            block.nans += nans as u16;
            if usize::from(block.rows) == BLOCK_ROWS {
                self.done.push(*block);
                *block = empty();
            }
            from += len;
        }
    }

    fn finish(mut self) -> Vec<Block<T>> {
        if self.current.rows > 0 {
            self.done.push(self.current);
        }
        self.done
    }
}

/// Builds the summaries of all numeric columns while rows pass by.
pub struct Summarizer {
    builders: Vec<(usize, DataType, Builder)>,
}

impl Summarizer {
    /// For columns of these types, in order.
    pub fn new(types: impl Iterator<Item = DataType>) -> Self {
        let builders = types
            .enumerate()
            .filter(|(_, data_type)| data_type.is_numeric())
            .map(|(position, data_type)| {
                let builder = if data_type.is_float() {
                    Builder::Float(BlockBuilder::new())
                } else {
                    Builder::Int(BlockBuilder::new())
                };
                (position, data_type, builder)
            })
            .collect();
        Self { builders }
    }

    /// Takes the next rows of a column.
    pub fn push(&mut self, position: usize, array: &ArrayRef) {
        let builder = self.builders.iter_mut().find(|(other, ..)| *other == position);
        let Some((_, data_type, builder)) = builder else { return };
        match builder {
            Builder::Int(builder) => match data_type {
                DataType::Int32 => {
                    builder.push(array.as_primitive::<Int32Type>().values(), array, i64::from);
                }
                DataType::Int64 => builder.push(array.as_primitive::<Int64Type>().values(), array, |v| v),
                _ => builder.push(array.as_primitive::<TimestampMillisecondType>().values(), array, |v| v),
            },
            Builder::Float(builder) => match data_type {
                DataType::Float32 => {
                    builder.push(array.as_primitive::<Float32Type>().values(), array, f64::from);
                }
                _ => builder.push(array.as_primitive::<Float64Type>().values(), array, |v| v),
            },
        }
    }

    /// The blocks with the positions of their columns.
    pub fn finish(self) -> Vec<(usize, Blocks)> {
        self.builders
            .into_iter()
            .map(|(position, _, builder)| {
                let blocks = match builder {
                    Builder::Int(builder) => Blocks::Int(builder.finish()),
                    Builder::Float(builder) => Blocks::Float(builder.finish()),
                };
                (position, blocks)
            })
            .collect()
    }
}

/// The blocks of a numeric column on their way into a file.
pub enum Blocks {
    /// Of an integer or timestamp column.
    Int(Vec<Block<i64>>),
    /// Of a float column.
    Float(Vec<Block<f64>>),
}

impl Blocks {
    /// Where the first smallest and the first largest value of each block stand in it.
    pub fn positions(&self) -> Vec<[usize; 2]> {
        fn of<T>(blocks: &[Block<T>]) -> Vec<[usize; 2]> {
            blocks.iter().map(|block| [usize::from(block.min_at), usize::from(block.max_at)]).collect()
        }
        match self {
            Self::Int(blocks) => of(blocks),
            Self::Float(blocks) => of(blocks),
        }
    }

    /// Adds the blocks of the rows that follow; all blocks before must be full.
    pub fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::Int(blocks), Self::Int(others)) => blocks.extend(others),
            (Self::Float(blocks), Self::Float(others)) => blocks.extend(others),
            // Both come from one column.
            (Self::Int(_), Self::Float(_)) | (Self::Float(_), Self::Int(_)) => {}
        }
    }
}
