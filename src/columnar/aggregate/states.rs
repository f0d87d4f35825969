//! What is known about the groups of some rows, and how the knowledge of two sets of rows is
//! joined.

use std::collections::HashMap;
use std::ops::Range;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{Float32Type, Float64Type, Int32Type, Int64Type, TimestampMillisecondType};

use super::groups::{KeyCell, codes};
use super::{Aggregation, Bins, Want};
use crate::columnar::keys::index_values;
use crate::columnar::schema::TableSchema;
use crate::columnar::segment::{Block, ColumnSummary};
use crate::columnar::unit::row_count;
use crate::columnar::view::Run;
use crate::error::{Error, Result};
use crate::model::tables::data::DataType;
use crate::value::exact::{Summed, Sums};

/// What is needed of one column.
#[derive(Clone, Debug)]
pub(super) struct Need {
    pub column: usize,
    data_type: DataType,
    extremes: bool,
    sums: bool,
    squares: bool,
    values: bool,
    ends: bool,
    pub bins: Vec<Bins>,
}

/// What is needed of each column.
#[derive(Clone, Debug)]
pub(super) struct Needs(Vec<Need>);

impl Needs {
    pub(super) fn of(schema: &TableSchema, aggregation: &Aggregation<'_>) -> Result<Self> {
        let mut needs: Vec<Need> = Vec::new();
        for term in &aggregation.terms {
            let Some(column) = term.column else { continue };
            let at = match needs.iter().position(|need| need.column == column) {
                Some(at) => at,
                None => {
                    needs.push(Need {
                        column,
                        data_type: schema.column(column)?.data_type,
                        extremes: false,
                        sums: false,
                        squares: false,
                        values: false,
                        ends: false,
                        bins: Vec::new(),
                    });
                    needs.len() - 1
                }
            };
            let Some(need) = needs.get_mut(at) else { continue };
            match term.want {
                Want::Count => {}
                Want::Min | Want::Max => need.extremes = true,
                Want::Sum | Want::Mean => need.sums = true,
                Want::Deviation { .. } => (need.sums, need.squares) = (true, true),
                Want::Percentile { .. } => need.values = true,
                Want::Histogram(bins) if !need.bins.contains(&bins) => need.bins.push(bins),
                Want::Histogram(_) => {}
                Want::First | Want::Last => need.ends = true,
            }
        }
        Ok(Self(needs))
    }

    /// Whether the summaries of blocks have all of it.
    pub(super) fn are_in_summaries(&self) -> bool {
        let is_in = |need: &Need| {
            need.data_type.is_numeric()
                && !(need.sums || need.values || need.ends)
                && need.bins.is_empty()
        };
        self.0.iter().all(is_in)
    }

    /// The columns.
    pub(super) fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().map(|need| need.column)
    }

    pub(super) fn place(&self, column: usize) -> Option<(usize, &Need)> {
        self.0.iter().enumerate().find(|(_, need)| need.column == column)
    }
}

/// Where a row is in the order of the index: its value, its run, its row.
type Rank = (i64, usize, usize);

/// The value of a cell.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

/// A number of a column.
pub(super) trait Number: Summed + PartialOrd + Send + Sync + std::fmt::Debug {
    fn is_nan(self) -> bool;
    fn float(self) -> f64;
}

impl Number for i64 {
    fn is_nan(self) -> bool {
        false
    }

    fn float(self) -> f64 {
        self as f64
    }
}

impl Number for f64 {
    fn is_nan(self) -> bool {
        f64::is_nan(self)
    }

    fn float(self) -> f64 {
        self
    }
}

/// What is known about the numbers of a group.
#[derive(Clone, Debug)]
pub(super) struct Numbers<T: Number> {
    /// Values that are neither null nor NaN.
    pub used: u64,
    pub extremes: Option<(T, T)>,
    pub sums: T::Sums,
    pub values: Vec<T>,
    /// For each histogram the values below, in and above its ranges.
    pub bins: Vec<Vec<u64>>,
}

impl<T: Number> Default for Numbers<T> {
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

impl<T: Number> Numbers<T> {
    fn offer(&mut self, low: T, high: T) {
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

    #[inline]
    fn add(&mut self, value: T, need: &Need) {
        self.used += 1;
        if need.extremes {
            self.offer(value, value);
        }
        if need.squares {
            self.sums.add::<true>(value);
        } else if need.sums {
            self.sums.add::<false>(value);
        }
        if need.values {
            self.values.push(value);
        }
        if !need.bins.is_empty() {
            self.put(value, need);
        }
    }

    fn put(&mut self, value: T, need: &Need) {
        if self.bins.is_empty() {
            self.bins = need.bins.iter().map(|bins| vec![0; bins.count + 2]).collect();
        }
        for (counts, bins) in self.bins.iter_mut().zip(&need.bins) {
            if let Some(count) = counts.get_mut(bins.place(value.float())) {
                *count += 1;
            }
        }
    }
}

impl Bins {
    /// The place of a value among the counts: 0 below, then the ranges, then above. A range has its
    /// start, and the last one its end, too.
    pub(super) fn place(&self, value: f64) -> usize {
        if value < self.lower {
            return 0;
        }
        if value > self.upper {
            return self.count + 1;
        }
        let width = self.upper - self.lower;
        let at = ((value - self.lower) / width * self.count as f64) as usize;
        at.min(self.count - 1) + 1
    }
}

/// What is known about one column of a group.
#[derive(Clone, Debug)]
pub(super) enum Known {
    Ints(Numbers<i64>),
    Floats(Numbers<f64>),
    /// Least and greatest value of BOOL and STRING.
    Others(Option<(KeyCell, KeyCell)>),
}

/// One column of a group.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// Cells that are not null.
    pub cells: u64,
    pub known: Known,
    pub ends: Option<Box<(Rank, Cell, Rank, Cell)>>,
}

impl State {
    fn new(need: &Need) -> Self {
        let known = match need.data_type {
            DataType::Bool | DataType::String => Known::Others(None),
            DataType::Float32 | DataType::Float64 => Known::Floats(Numbers::default()),
            _ => Known::Ints(Numbers::default()),
        };
        Self { cells: 0, known, ends: None }
    }

    fn merge(&mut self, other: Self) {
        self.cells += other.cells;
        match (&mut self.known, other.known) {
            (Known::Ints(mine), Known::Ints(other)) => mine.merge(other),
            (Known::Floats(mine), Known::Floats(other)) => mine.merge(other),
            (Known::Others(mine), Known::Others(Some((low, high)))) => offer(mine, &low, &high),
            _ => {}
        }
        match (&mut self.ends, other.ends) {
            (Some(mine), Some(other)) => {
                let (first_at, first, last_at, last) = *other;
                if first_at < mine.0 {
                    (mine.0, mine.1) = (first_at, first);
                }
                if last_at > mine.2 {
                    (mine.2, mine.3) = (last_at, last);
                }
            }
            (mine @ None, other) => *mine = other,
            _ => {}
        }
    }

    /// Bytes of the values that it keeps.
    fn bytes(&self) -> usize {
        8 * match &self.known {
            Known::Ints(numbers) => numbers.values.len(),
            Known::Floats(numbers) => numbers.values.len(),
            Known::Others(_) => 0,
        }
    }
}

fn offer(known: &mut Option<(KeyCell, KeyCell)>, low: &KeyCell, high: &KeyCell) {
    match known {
        None => *known = Some((low.clone(), high.clone())),
        Some((min, max)) => {
            if low < min {
                *min = low.clone();
            }
            if high > max {
                *max = high.clone();
            }
        }
    }
}

/// One group.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub rows: u64,
    /// By column of the needs.
    pub states: Vec<State>,
}

/// Groups of rows.
#[derive(Debug)]
pub(super) struct Grouped {
    pub groups: HashMap<Vec<KeyCell>, Group>,
    empty: Group,
    bytes: usize,
}

impl Grouped {
    pub(super) fn new(needs: &Needs) -> Self {
        let empty = Group { rows: 0, states: needs.0.iter().map(State::new).collect() };
        Self { groups: HashMap::new(), empty, bytes: 0 }
    }

    /// The group of no rows.
    pub(super) fn empty(&self) -> Group {
        self.empty.clone()
    }

    fn group(&mut self, keys: Vec<KeyCell>) -> &mut Group {
        let empty = &self.empty;
        self.groups.entry(keys).or_insert_with(|| empty.clone())
    }

    /// Adds the groups of other rows.
    ///
    /// # Errors
    /// `LimitExceeded` for too many groups, and for values beyond the memory.
    pub(super) fn merge(&mut self, other: Self, most: usize, memory: usize) -> Result<()> {
        for (keys, group) in other.groups {
            self.bytes += group.states.iter().map(State::bytes).sum::<usize>();
            let mine = self.group(keys);
            mine.rows += group.rows;
            mine.states.iter_mut().zip(group.states).for_each(|(mine, other)| mine.merge(other));
        }
        if self.groups.len() > most {
            return Err(too_many_groups(self.groups.len(), most));
        }
        if self.bytes > memory {
            return Err(Error::limit(format!(
                "percentiles need all values in memory: more than the {memory} bytes of a query; \
                 filter the rows, or raise query_memory_bytes"
            ))
            .at_member("aggregates"));
        }
        Ok(())
    }

    /// Adds a block of `rows` rows with the same keys by its summaries; false if they do not say
    /// enough.
    pub(super) fn fold(
        &mut self,
        keys: Vec<KeyCell>,
        rows: usize,
        block: usize,
        summaries: &[Option<&ColumnSummary>],
    ) -> bool {
        let mut found = Vec::new();
        for summary in summaries {
            found.push(match summary {
                Some(ColumnSummary::Int(levels)) => levels
                    .blocks()
                    .get(block)
                    .and_then(|block| folded(block, rows))
                    .map(|(cells, numbers)| (cells, Known::Ints(numbers))),
                Some(ColumnSummary::Float(levels)) => levels
                    .blocks()
                    .get(block)
                    .and_then(|block| folded(block, rows))
                    .map(|(cells, numbers)| (cells, Known::Floats(numbers))),
                None => None,
            });
        }
        let Some(found) = found.into_iter().collect::<Option<Vec<_>>>() else { return false };
        let group = self.group(keys);
        group.rows += rows as u64;
        for (state, (cells, known)) in group.states.iter_mut().zip(found) {
            state.merge(State { cells, known, ends: None });
        }
        true
    }

    /// Adds the rows of these ranges of a run, from their values.
    pub(super) fn take(
        &mut self,
        run: &Run,
        at: usize,
        schema: &TableSchema,
        ranges: &[Range<usize>],
        aggregation: &Aggregation<'_>,
        needs: &Needs,
    ) -> Result<()> {
        let has_ends = needs.0.iter().any(|need| need.ends);
        let mut columns: Vec<usize> =
            aggregation.keys.iter().map(|key| key.column).chain(needs.columns()).collect();
        columns.extend(has_ends.then_some(schema.index()));
        columns.sort_unstable();
        columns.dedup();
        let rows = row_count(ranges);
        let batch = run.read(schema, &columns, ranges)?;
        let array = |column: usize| {
            let place = columns.iter().position(|known| *known == column);
            place.and_then(|place| batch.columns().get(place)).cloned().ok_or_else(|| {
                Error::corrupt("internal error: an aggregate lacks its column; report it")
            })
        };
        let mut keys = Vec::new();
        for key in &aggregation.keys {
            keys.push((array(key.column)?, schema.column(key.column)?.data_type, key.width));
        }
        let (codes, cells) = match codes(&keys)? {
            Some((codes, cells)) => (Some(codes), cells),
            None => (None, vec![Vec::new()]),
        };
        if cells.len() > aggregation.groups_max {
            return Err(too_many_groups(cells.len(), aggregation.groups_max));
        }
        let mut groups: Vec<Group> = cells.iter().map(|_| self.empty.clone()).collect();
        match &codes {
            None => groups.iter_mut().for_each(|group| group.rows = rows as u64),
            Some(codes) => {
                for code in codes {
                    if let Some(group) = groups.get_mut(*code as usize) {
                        group.rows += 1;
                    }
                }
            }
        }
        let index = has_ends.then(|| array(schema.index())).transpose()?;
        for (place, need) in needs.0.iter().enumerate() {
            let values = array(need.column)?;
            let mut states: Vec<State> =
                groups.iter_mut().map(|group| take_state(group, place, need)).collect();
            add_column(&mut states, &values, codes.as_deref(), need);
            if let Some(index) = index.as_ref().filter(|_| need.ends) {
                let index = index_values(index)?;
                add_ends(&mut states, &values, codes.as_deref(), need, &|position| {
                    let row = row_at(ranges, position);
                    (index.get(position).copied().unwrap_or_default(), at, row)
                });
            }
            for (group, state) in groups.iter_mut().zip(states) {
                if let Some(slot) = group.states.get_mut(place) {
                    *slot = state;
                }
            }
        }
        for (keys, group) in cells.into_iter().zip(groups) {
            let mine = self.group(keys);
            mine.rows += group.rows;
            mine.states.iter_mut().zip(group.states).for_each(|(mine, other)| mine.merge(other));
        }
        Ok(())
    }
}

fn take_state(group: &mut Group, place: usize, need: &Need) -> State {
    group
        .states
        .get_mut(place)
        .map_or_else(|| State::new(need), |state| std::mem::replace(state, State::new(need)))
}

fn too_many_groups(found: usize, most: usize) -> Error {
    Error::limit(format!(
        "at least {found} groups; AGGREGATE_GROUPS allows {most}: group by fewer columns or wider \
         buckets, or filter the rows"
    ))
    .with_args([found.to_string(), most.to_string()])
    .at_member("groupBy")
}

/// What the summary of a whole block says.
fn folded<T: Number>(block: &Block<T>, rows: usize) -> Option<(u64, Numbers<T>)> {
    if usize::from(block.rows) != rows {
        return None;
    }
    let cells = u64::from(block.rows - block.nulls);
    let used = cells - u64::from(block.nans);
    let extremes = block.is_usable().then_some((block.min, block.max));
    Some((cells, Numbers { used, extremes, ..Numbers::default() }))
}

/// The row of the run at a position in the rows of ranges.
fn row_at(ranges: &[Range<usize>], mut position: usize) -> usize {
    for range in ranges {
        if position < range.len() {
            return range.start + position;
        }
        position -= range.len();
    }
    position
}

fn add_column(states: &mut [State], array: &ArrayRef, codes: Option<&[u32]>, need: &Need) {
    match need.data_type {
        DataType::Int32 => {
            let values = array.as_primitive::<Int32Type>().values();
            let values: Vec<i64> = values.iter().map(|value| i64::from(*value)).collect();
            add_numbers(states, array, &values, codes, need, ints);
        }
        DataType::Int64 => {
            let values = array.as_primitive::<Int64Type>().values();
            add_numbers(states, array, values, codes, need, ints);
        }
        DataType::Timestamp => {
            let values = array.as_primitive::<TimestampMillisecondType>().values();
            add_numbers(states, array, values, codes, need, ints);
        }
        DataType::Float32 => {
            let values = array.as_primitive::<Float32Type>().values();
            let values: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
            add_numbers(states, array, &values, codes, need, floats);
        }
        DataType::Float64 => {
            let values = array.as_primitive::<Float64Type>().values();
            add_numbers(states, array, values, codes, need, floats);
        }
        DataType::Bool | DataType::String => {
            for at in (0..array.len()).filter(|at| array.is_valid(*at)) {
                let code = codes.and_then(|codes| codes.get(at)).copied().unwrap_or(0);
                let Some(state) = states.get_mut(code as usize) else { continue };
                state.cells += 1;
                if need.extremes
                    && let Known::Others(known) = &mut state.known
                {
                    let cell = match need.data_type {
                        DataType::Bool => KeyCell::Bool(array.as_boolean().value(at)),
                        _ => KeyCell::Text(array.as_string::<i32>().value(at).to_owned()),
                    };
                    offer(known, &cell, &cell);
                }
            }
        }
    }
}

fn ints(known: &mut Known) -> Option<&mut Numbers<i64>> {
    if let Known::Ints(numbers) = known { Some(numbers) } else { None }
}

fn floats(known: &mut Known) -> Option<&mut Numbers<f64>> {
    if let Known::Floats(numbers) = known { Some(numbers) } else { None }
}

fn add_numbers<T: Number>(
    states: &mut [State],
    array: &ArrayRef,
    values: &[T],
    codes: Option<&[u32]>,
    need: &Need,
    numbers: fn(&mut Known) -> Option<&mut Numbers<T>>,
) {
    let has_nulls = array.null_count() > 0;
    let mut put = |at: usize, code: usize, value: T| {
        if has_nulls && array.is_null(at) {
            return;
        }
        let Some(state) = states.get_mut(code) else { return };
        state.cells += 1;
        if !value.is_nan()
            && let Some(numbers) = numbers(&mut state.known)
        {
            numbers.add(value, need);
        }
    };
    match codes {
        None => values.iter().enumerate().for_each(|(at, value)| put(at, 0, *value)),
        Some(codes) => values
            .iter()
            .zip(codes)
            .enumerate()
            .for_each(|(at, (value, code))| put(at, *code as usize, *value)),
    }
}

fn add_ends(
    states: &mut [State],
    array: &ArrayRef,
    codes: Option<&[u32]>,
    need: &Need,
    rank: &dyn Fn(usize) -> Rank,
) {
    let mut ends: Vec<Option<(usize, usize)>> = vec![None; states.len()];
    for at in 0..array.len() {
        let code = codes.and_then(|codes| codes.get(at)).copied().unwrap_or(0);
        if let Some(slot) = ends.get_mut(code as usize) {
            *slot = Some(slot.map_or((at, at), |(first, _)| (first, at)));
        }
    }
    for (state, ends) in states.iter_mut().zip(ends) {
        if let Some((first, last)) = ends {
            let cell = |at| cell_of(array, need.data_type, at);
            state.ends = Some(Box::new((rank(first), cell(first), rank(last), cell(last))));
        }
    }
}

fn cell_of(array: &ArrayRef, data_type: DataType, at: usize) -> Cell {
    if array.is_null(at) {
        return Cell::Null;
    }
    match data_type {
        DataType::Bool => Cell::Bool(array.as_boolean().value(at)),
        DataType::Int32 => Cell::Int(i64::from(array.as_primitive::<Int32Type>().value(at))),
        DataType::Int64 => Cell::Int(array.as_primitive::<Int64Type>().value(at)),
        DataType::Timestamp => {
            Cell::Int(array.as_primitive::<TimestampMillisecondType>().value(at))
        }
        DataType::Float32 => Cell::Float(f64::from(array.as_primitive::<Float32Type>().value(at))),
        DataType::Float64 => Cell::Float(array.as_primitive::<Float64Type>().value(at)),
        DataType::String => Cell::Text(array.as_string::<i32>().value(at).to_owned()),
    }
}
