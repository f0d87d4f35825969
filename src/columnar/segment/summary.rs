//! Extremes of every block of rows in each numeric column, and a coarser level above them.

use std::ops::Range;

use super::BLOCK_ROWS;
use crate::arrow::array::ArrayRef;
use crate::arrow::buffer::NullBuffer;
use crate::columnar::column_slice::{
    ColumnSlice, Level, Scale, Stored, nulls_of, part_extremes, part_nans,
};
use crate::columnar::kernels::{Extremes, Sample};
use crate::model::tables::data::DataType;
use crate::value::exact::BlockSums;
use crate::value::ranges::join;

/// Blocks under one coarse entry.
const FAN: usize = 64;
/// Rows of one part of a block.
const PART_ROWS: usize = 64;
const PARTS: usize = BLOCK_ROWS / PART_ROWS;
pub(super) const PARTS_BYTES: usize = 2 * PARTS;

/// For each part of a block the step of its smallest value, then for each part the step of its
/// largest. The range of the block's values has 256 steps. A part without usable values has the
/// last step as smallest and the first as largest.
pub(crate) type Parts = [u8; PARTS_BYTES];

/// The step of a value in the range of a block. Monotonic however floats are rounded, so a lesser
/// step means a lesser value.
fn step<T: Scale>(value: T, min: T, max: T) -> u8 {
    let (low, width) = (min.nearest(), max.nearest() - min.nearest());
    if width > 0.0 && width.is_finite() {
        ((value.nearest() - low) / width * 256.0) as u8
    } else {
        0
    }
}

/// The summary of one block of rows of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block<T> {
    /// Smallest value; meaningless if no value is usable.
    pub min: T,
    /// Largest value; meaningless if no value is usable.
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
        u32::from(self.rows) > u32::from(self.nulls) + u32::from(self.nans)
    }
}

impl<T: Scale> Block<T> {
    fn levels(&self) -> Block<Level> {
        let Self { min, max, min_at, max_at, rows, nulls, nans } = *self;
        Block { min: min.level(), max: max.level(), min_at, max_at, rows, nulls, nans }
    }
}

#[derive(Clone, Copy, Debug)]
struct Coarse<T> {
    /// Block of the first smallest value, and of the first largest; `None` if no block is usable.
    at: Option<(u32, u32)>,
    min: T,
    max: T,
}

/// The blocks of one column.
#[derive(Clone, Debug)]
pub struct Levels<T> {
    blocks: Vec<Block<T>>,
    parts: Vec<Parts>,
    coarse: Vec<Coarse<T>>,
}

impl<T: Scale> Levels<T> {
    pub(super) fn new(blocks: Vec<Block<T>>, parts: Vec<Parts>) -> Self {
        let mut levels = Self { blocks, parts, coarse: Vec::new() };
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

    /// Returns the parts of `rows`, all in one block, that may have a value of at most `least` or
    /// of at least `greatest`, and that no other part of `rows` beats.
    ///
    /// `least` and `greatest` are the extremes found so far. Parts are compared by step. A lesser
    /// step means a lesser value, but equal steps leave the order open, so all parts with the best
    /// step remain; an equal value may still win by its rank. Only parts that are entirely inside
    /// `rows` exclude others: the extreme of a part at the edge may be outside of `rows`.
    #[must_use]
    pub fn candidates(
        &self,
        rows: &Range<usize>,
        least: Option<T>,
        greatest: Option<T>,
    ) -> Vec<Range<usize>> {
        let at = rows.start / BLOCK_ROWS;
        let first = at * BLOCK_ROWS;
        let (Some(block), Some(parts)) = (self.blocks.get(at), self.parts.get(at)) else {
            return vec![rows.clone()];
        };
        let (lows, highs) = parts.split_at(PARTS);
        let within = |part: usize| {
            let (from, to) = (first + part * PART_ROWS, first + (part + 1) * PART_ROWS);
            (from.max(rows.start)..to.min(rows.end), rows.start <= from && to <= rows.end)
        };
        let steps = || {
            lows.iter()
                .zip(highs)
                .enumerate()
                .map(|(part, (low, high))| (within(part), *low, *high))
        };
        // A value that is already known and less than all of this block excludes every minimum
        // here, and likewise for the maximum.
        let (asks_min, asks_max) = (
            !least.is_some_and(|value| value < block.min),
            !greatest.is_some_and(|value| value > block.max),
        );
        let mut low = least.map_or(u8::MAX, |value| step(value, block.min, block.max));
        let mut high = greatest.map_or(0, |value| step(value, block.min, block.max));
        for (_, part_low, part_high) in steps().filter(|((_, is_whole), ..)| *is_whole) {
            (low, high) = (low.min(part_low), high.max(part_high));
        }
        let mut out: Vec<Range<usize>> = Vec::new();
        for ((part, _), part_low, part_high) in steps() {
            if part.is_empty()
                || !((asks_min && part_low <= low) || (asks_max && part_high >= high))
            {
                continue;
            }
            join(&mut out, part);
        }
        out
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
    ///
    /// Uses coarse entries for whole groups of [`FAN`] blocks, and single blocks before and after
    /// them. They are offered in order of the rows, so that of equal values the first one stays.
    #[must_use]
    pub fn extremes(&self, range: Range<usize>) -> Option<Extremes<T>> {
        let mut found: Option<Extremes<T>> = None;
        let mut offer = |min_block: usize, max_block: usize| {
            let (Some(low), Some(high)) = (self.blocks.get(min_block), self.blocks.get(max_block))
            else {
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

/// Merges the extremes of earlier rows with those of later ones; of equal values the earlier one
/// stays.
fn merge<T: Sample>(before: Extremes<T>, next: Extremes<T>) -> Extremes<T> {
    let mut out = before;
    if next.min < out.min {
        (out.min, out.min_at) = (next.min, next.min_at);
    }
    if next.max > out.max {
        (out.max, out.max_at) = (next.max, next.max_at);
    }
    out
}

/// What is known of all stored rows of a numeric column.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Totals {
    /// Number of nulls.
    pub nulls: u64,
    /// Number of NaNs.
    pub nans: u64,
    /// The smallest and the largest value that is neither.
    pub range: Option<(Level, Level)>,
}

/// The summary of one numeric column: 64-bit integers for INT32, INT64 and TIMESTAMP, floats for
/// the others.
#[derive(Clone, Debug)]
pub enum ColumnSummary {
    /// Of an integer or timestamp column.
    Int(Levels<i64>),
    /// Of a float column.
    Float(Levels<f64>),
}

impl ColumnSummary {
    /// The number of blocks.
    pub(in crate::columnar) fn len(&self) -> usize {
        match self {
            Self::Int(levels) => levels.blocks.len(),
            Self::Float(levels) => levels.blocks.len(),
        }
    }

    /// A block.
    pub(in crate::columnar) fn block(&self, at: usize) -> Option<Block<Level>> {
        match self {
            Self::Int(levels) => levels.blocks.get(at).map(Block::levels),
            Self::Float(levels) => levels.blocks.get(at).map(Block::levels),
        }
    }

    /// What the blocks tell together.
    pub(in crate::columnar) fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for block in (0..self.len()).filter_map(|at| self.block(at)) {
            totals.nulls += u64::from(block.nulls);
            totals.nans += u64::from(block.nans);
        }
        let found = self.extremes(0..self.len());
        totals.range = found.map(|found| (found.min, found.max));
        totals
    }

    /// As [`Levels::extremes`].
    pub(in crate::columnar) fn extremes(&self, blocks: Range<usize>) -> Option<Extremes<Level>> {
        match self {
            Self::Int(levels) => levels.extremes(blocks).map(Extremes::levels),
            Self::Float(levels) => levels.extremes(blocks).map(Extremes::levels),
        }
    }

    /// As [`Levels::candidates`].
    pub(in crate::columnar) fn candidates(
        &self,
        rows: &Range<usize>,
        least: Option<Level>,
        greatest: Option<Level>,
    ) -> Vec<Range<usize>> {
        fn of<T: Scale>(level: Option<Level>) -> Option<T> {
            level.and_then(T::of_level)
        }
        match self {
            Self::Int(levels) => levels.candidates(rows, of(least), of(greatest)),
            Self::Float(levels) => levels.candidates(rows, of(least), of(greatest)),
        }
    }
}

pub(super) enum Builder {
    Int(BlockBuilder<i64>),
    Float(BlockBuilder<f64>),
}

pub(super) struct BlockBuilder<T> {
    done: Column<T>,
    current: Block<T>,
    /// Smallest and largest value of each part of the current block.
    parts: [(T, T); PARTS],
    /// The usable values of the current block, if they are summed.
    values: Option<Vec<T>>,
}

/// The summary of the rows of one column.
pub(crate) struct Column<T> {
    /// The blocks.
    pub blocks: Vec<Block<T>>,
    /// Their parts.
    pub parts: Vec<Parts>,
    /// Their sums; none of times, which have no sum.
    pub sums: Vec<BlockSums>,
}

fn empty<T: Sample>() -> Block<T> {
    Block { min: T::GREATEST, max: T::LEAST, min_at: 0, max_at: 0, rows: 0, nulls: 0, nans: 0 }
}

impl<T: Scale> BlockBuilder<T> {
    fn new(is_summed: bool) -> Self {
        let done = Column { blocks: Vec::new(), parts: Vec::new(), sums: Vec::new() };
        let values = is_summed.then(Vec::new);
        Self { done, current: empty(), parts: [(T::GREATEST, T::LEAST); PARTS], values }
    }

    /// Completes the current block.
    fn close(&mut self) {
        let block = std::mem::replace(&mut self.current, empty());
        let mut parts = [0; PARTS_BYTES];
        let (lows, highs) = parts.split_at_mut(PARTS);
        for ((low, high), (min, max)) in lows.iter_mut().zip(highs).zip(&self.parts) {
            // Without a usable value the minimum is greater than the maximum.
            (*low, *high) = if *min <= *max {
                (step(*min, block.min, block.max), step(*max, block.min, block.max))
            } else {
                (u8::MAX, 0)
            };
        }
        self.parts = [(T::GREATEST, T::LEAST); PARTS];
        if let Some(values) = &mut self.values {
            self.done.sums.push(T::block_sums(values));
            values.clear();
        }
        self.done.blocks.push(block);
        self.done.parts.push(parts);
    }

    /// Takes the next values of the column, split at the boundaries of blocks and of their parts.
    /// `min` and `max` of a block are meaningless until it has a usable value, so the first one
    /// always replaces them. Of equal extremes the first position stays.
    fn push<N: Stored<Wide = T>>(&mut self, values: &[N], nulls: Option<&NullBuffer>) {
        let mut from = 0;
        while from < values.len() {
            let filled = usize::from(self.current.rows);
            let len = (BLOCK_ROWS - filled).min(values.len() - from);
            let nans = part_nans(values, nulls, from, len);
            let found = part_extremes(values, nulls, from, len);
            if let Some(kept) = &mut self.values {
                let piece = values.get(from..from + len).unwrap_or_default();
                let is_valid = |at: usize| nulls.is_none_or(|nulls| nulls.is_valid(from + at));
                let rows = piece.iter().enumerate();
                let usable = rows.filter(|(at, value)| !value.is_nan() && is_valid(*at));
                kept.extend(usable.map(|(_, value)| value.widen()));
            }
            let mut at = 0;
            while at < len {
                let part = (filled + at) / PART_ROWS;
                let to = len.min((part + 1) * PART_ROWS - filled);
                let found = part_extremes(values, nulls, from + at, to - at);
                if let (Some(found), Some((min, max))) = (found, self.parts.get_mut(part)) {
                    let (low, high) = (found.min.widen(), found.max.widen());
                    (*min, *max) = (
                        if low < *min { low } else { *min },
                        if high > *max { high } else { *max },
                    );
                }
                at = to;
            }
            let usable = self.current.is_usable();
            let block = &mut self.current;
            if let Some(found) = found {
                let (min, max) = (found.min.widen(), found.max.widen());
                if !usable || min < block.min {
                    (block.min, block.min_at) = (min, (filled + found.min_at) as u16);
                }
                if !usable || max > block.max {
                    (block.max, block.max_at) = (max, (filled + found.max_at) as u16);
                }
            }
            block.rows += len as u16;
            block.nulls += nulls.map_or(0, |all| all.slice(from, len).null_count()) as u16;
            block.nans += nans as u16;
            if usize::from(block.rows) == BLOCK_ROWS {
                self.close();
            }
            from += len;
        }
    }

    fn finish(mut self) -> Column<T> {
        if self.current.rows > 0 {
            self.close();
        }
        self.done
    }
}

impl<T> Column<T> {
    fn append(&mut self, other: Self) {
        self.blocks.extend(other.blocks);
        self.parts.extend(other.parts);
        self.sums.extend(other.sums);
    }
}

/// Builds the summaries of all numeric columns while rows are written.
pub(crate) struct Summarizer {
    builders: Vec<(usize, Builder)>,
}

impl Summarizer {
    /// For columns of these types, in order.
    pub(crate) fn new(types: impl Iterator<Item = DataType>) -> Self {
        let builders = types
            .enumerate()
            .filter(|(_, data_type)| data_type.is_numeric())
            .map(|(position, data_type)| {
                let builder = if data_type.is_float() {
                    Builder::Float(BlockBuilder::new(true))
                } else {
                    Builder::Int(BlockBuilder::new(!data_type.is_time()))
                };
                (position, builder)
            })
            .collect();
        Self { builders }
    }

    /// Takes the next rows of a column.
    pub(crate) fn push(&mut self, position: usize, array: &ArrayRef) {
        let builder = self.builders.iter_mut().find(|(other, _)| *other == position);
        let (Some((_, builder)), Some(slice)) = (builder, ColumnSlice::of(array)) else { return };
        let nulls = nulls_of(array);
        match (builder, slice) {
            (Builder::Int(builder), ColumnSlice::I32(values)) => builder.push(values, nulls),
            (Builder::Int(builder), ColumnSlice::I64(values)) => builder.push(values, nulls),
            (Builder::Float(builder), ColumnSlice::F32(values)) => builder.push(values, nulls),
            (Builder::Float(builder), ColumnSlice::F64(values)) => builder.push(values, nulls),
            // A builder was made for the type of its column.
            _ => {}
        }
    }

    /// The blocks of each column, with the position of the column.
    pub(crate) fn finish(self) -> Vec<(usize, Blocks)> {
        self.builders
            .into_iter()
            .map(|(position, builder)| {
                let blocks = match builder {
                    Builder::Int(builder) => Blocks::Int(builder.finish()),
                    Builder::Float(builder) => Blocks::Float(builder.finish()),
                };
                (position, blocks)
            })
            .collect()
    }
}

/// The blocks of a numeric column, to be written to a file.
pub(crate) enum Blocks {
    /// Of an integer or timestamp column.
    Int(Column<i64>),
    /// Of a float column.
    Float(Column<f64>),
}

impl Blocks {
    /// The positions in each block of its first smallest and its first largest value.
    pub(crate) fn positions(&self) -> Vec<[usize; 2]> {
        fn of<T>(column: &Column<T>) -> Vec<[usize; 2]> {
            column
                .blocks
                .iter()
                .map(|block| [usize::from(block.min_at), usize::from(block.max_at)])
                .collect()
        }
        match self {
            Self::Int(column) => of(column),
            Self::Float(column) => of(column),
        }
    }

    /// Whether one of the values is NaN.
    pub(crate) fn has_nan(&self) -> bool {
        match self {
            Self::Int(_) => false,
            Self::Float(column) => column.blocks.iter().any(|block| block.nans > 0),
        }
    }

    /// Appends the blocks of the rows that follow; all blocks before must be full.
    pub(crate) fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::Int(column), Self::Int(other)) => column.append(other),
            (Self::Float(column), Self::Float(other)) => column.append(other),
            // Both are of one column, so they have one type.
            (Self::Int(_), Self::Float(_)) | (Self::Float(_), Self::Int(_)) => {}
        }
    }
}
