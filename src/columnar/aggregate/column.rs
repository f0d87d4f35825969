//! What the values of one column say about the groups of their rows.

use std::borrow::Cow;

use super::groups::KeyCell;
use super::needs::Need;
use super::state::{Cell, ColumnFacts, ColumnState, Ends, Numbers, Rank};
use crate::arrow::array::{Array, ArrayRef, AsArray};
use crate::arrow::buffer::NullBuffer;
use crate::columnar::column_slice::{CellValue, ColumnSlice, Level, Scale, WideNumbers, nulls_of};
use crate::model::tables::data::DataType;
use crate::value::exact::Sums;

/// The states of a column for each group; `counts` are the rows of the groups.
pub(super) fn add_column(
    array: &ArrayRef,
    codes: Option<&[u32]>,
    counts: &[u64],
    need: &Need,
    rank: &dyn Fn(usize) -> Rank,
) -> Vec<ColumnState> {
    let cells = cells(array, codes, counts);
    let nulls = nulls_of(array);
    let groups = counts.len();
    let wide = ColumnSlice::of(array).and_then(|slice| slice.wide());
    let known = match wide {
        Some(WideNumbers::Ints(values)) => {
            numbers(&values, nulls, codes, groups, need, ColumnFacts::Ints)
        }
        Some(WideNumbers::Floats(values)) => {
            numbers(&values, nulls, codes, groups, need, ColumnFacts::Floats)
        }
        None => others(array, codes, groups, need),
    };
    let ends = if need.ends { ends(array, codes, groups, rank) } else { Vec::new() };
    let mut ends = ends.into_iter();
    cells
        .into_iter()
        .zip(known)
        .map(|(cells, known)| ColumnState {
            cells,
            known,
            ends: ends.next().flatten().map(Box::new),
        })
        .collect()
}

/// The cells of each group that are not null.
fn cells(array: &ArrayRef, codes: Option<&[u32]>, counts: &[u64]) -> Vec<u64> {
    match (nulls_of(array), codes) {
        (None, _) => counts.to_vec(),
        (Some(nulls), None) => vec![(nulls.len() - nulls.null_count()) as u64; counts.len()],
        (Some(nulls), Some(codes)) => {
            let mut cells = vec![0; counts.len()];
            for at in nulls.valid_indices() {
                let count = codes.get(at).and_then(|code| cells.get_mut(*code as usize));
                if let Some(count) = count {
                    *count += 1;
                }
            }
            cells
        }
    }
}

/// The values that are neither null nor NaN, and the codes of their rows.
fn usable<'a, T: Scale>(
    values: &'a [T],
    nulls: Option<&NullBuffer>,
    codes: Option<&'a [u32]>,
) -> (Cow<'a, [T]>, Option<Cow<'a, [u32]>>) {
    if nulls.is_none() && !values.iter().any(|value| value.is_nan()) {
        return (Cow::Borrowed(values), codes.map(Cow::Borrowed));
    }
    let is_used =
        |at: usize, value: &T| nulls.is_none_or(|all| all.is_valid(at)) && !value.is_nan();
    let used = |(at, value): (usize, &T)| is_used(at, value).then_some(*value);
    let kept = codes.map(|codes| {
        let rows = values.iter().zip(codes).enumerate();
        rows.filter_map(|(at, (value, code))| is_used(at, value).then_some(*code)).collect()
    });
    (values.iter().enumerate().filter_map(used).collect(), kept.map(Cow::Owned))
}

fn numbers<T: Scale>(
    values: &[T],
    nulls: Option<&NullBuffer>,
    codes: Option<&[u32]>,
    groups: usize,
    need: &Need,
    known: fn(Numbers<T>) -> ColumnFacts,
) -> Vec<ColumnFacts> {
    let (values, codes) = usable(values, nulls, codes);
    let mut groups: Vec<Numbers<T>> =
        std::iter::repeat_with(Numbers::default).take(groups).collect();
    match (&codes, groups.as_mut_slice()) {
        (None, [group]) => one_group(&values, need, group),
        (Some(codes), groups) => many_groups(&values, codes, need, groups),
        _ => {}
    }
    groups.into_iter().map(known).collect()
}

fn one_group<T: Scale>(values: &[T], need: &Need, group: &mut Numbers<T>) {
    group.used = values.len() as u64;
    if need.extremes
        && let Some(&first) = values.first()
    {
        let (mut low, mut high) = (first, first);
        for &value in values {
            low = if value < low { value } else { low };
            high = if value > high { value } else { high };
        }
        group.offer(low, high);
    }
    if need.squares {
        values.iter().for_each(|value| group.sums.add::<true>(*value));
    } else if need.sums {
        values.iter().for_each(|value| group.sums.add::<false>(*value));
    }
    if !need.bins.is_empty() {
        values.iter().for_each(|value| group.put(*value, &need.bins));
    }
    if need.values {
        group.values = values.to_vec();
    }
}

fn many_groups<T: Scale>(values: &[T], codes: &[u32], need: &Need, groups: &mut [Numbers<T>]) {
    let mut each = |put: &dyn Fn(&mut Numbers<T>, T)| {
        for (value, code) in values.iter().zip(codes) {
            if let Some(group) = groups.get_mut(*code as usize) {
                put(group, *value);
            }
        }
    };
    if !need.bins.is_empty() {
        each(&|group, value| group.put(value, &need.bins));
    }
    if need.values {
        each(&|group, value| group.values.push(value));
    }
    // Each of these is one loop over small states, since sums are asked for most.
    let mut used: Vec<(u64, Option<(T, T)>)> = vec![(0, None); groups.len()];
    let mut sums = vec![T::Sums::default(); groups.len()];
    if need.extremes {
        for (value, code) in values.iter().zip(codes) {
            if let Some((count, found)) = used.get_mut(*code as usize) {
                *count += 1;
                let (low, high) = found.get_or_insert((*value, *value));
                *low = if *value < *low { *value } else { *low };
                *high = if *value > *high { *value } else { *high };
            }
        }
    } else {
        for code in codes {
            if let Some((count, _)) = used.get_mut(*code as usize) {
                *count += 1;
            }
        }
    }
    let rows = values.iter().zip(codes);
    if need.squares {
        for (value, code) in rows {
            if let Some(sums) = sums.get_mut(*code as usize) {
                sums.add::<true>(*value);
            }
        }
    } else if need.sums {
        for (value, code) in rows {
            if let Some(sums) = sums.get_mut(*code as usize) {
                sums.add::<false>(*value);
            }
        }
    }
    for ((group, used), sums) in groups.iter_mut().zip(used).zip(sums) {
        (group.used, group.extremes, group.sums) = (used.0, used.1, sums);
    }
}

/// Extremes of BOOL and STRING. Cells are compared where they are, and copied at the end.
fn others(array: &ArrayRef, codes: Option<&[u32]>, groups: usize, need: &Need) -> Vec<ColumnFacts> {
    if !need.extremes {
        return vec![ColumnFacts::Others(None); groups];
    }
    let is_less = |left: usize, right: usize| match need.data_type {
        DataType::Bool => !array.as_boolean().value(left) & array.as_boolean().value(right),
        _ => array.as_string::<i32>().value(left) < array.as_string::<i32>().value(right),
    };
    let mut found: Vec<Option<(usize, usize)>> = vec![None; groups];
    for at in (0..array.len()).filter(|at| array.is_valid(*at)) {
        let code = codes.map_or(0, |codes| codes.get(at).copied().unwrap_or_default());
        let Some(slot) = found.get_mut(code as usize) else { continue };
        *slot = Some(match *slot {
            None => (at, at),
            Some((low, high)) if is_less(at, low) => (at, high),
            Some((low, high)) if is_less(high, at) => (low, at),
            Some(known) => known,
        });
    }
    let cell = |at: usize| match need.data_type {
        DataType::Bool => KeyCell::Bool(array.as_boolean().value(at)),
        _ => KeyCell::Text(array.as_string::<i32>().value(at).to_owned()),
    };
    let known = |(low, high)| (cell(low), cell(high));
    found.into_iter().map(|slot| ColumnFacts::Others(slot.map(known))).collect()
}

fn ends(
    array: &ArrayRef,
    codes: Option<&[u32]>,
    groups: usize,
    rank: &dyn Fn(usize) -> Rank,
) -> Vec<Option<Ends>> {
    let mut ends: Vec<Option<(usize, usize)>> = vec![None; groups];
    for at in 0..array.len() {
        let code = codes.map_or(0, |codes| codes.get(at).copied().unwrap_or_default());
        if let Some(slot) = ends.get_mut(code as usize) {
            *slot = Some(slot.map_or((at, at), |(first, _)| (first, at)));
        }
    }
    let cell = |at| cell_of(array, at);
    let made = |(first, last)| Ends {
        first_at: rank(first),
        first: cell(first),
        last_at: rank(last),
        last: cell(last),
    };
    ends.into_iter().map(|slot| slot.map(made)).collect()
}

fn cell_of(array: &ArrayRef, at: usize) -> Cell {
    let value = ColumnSlice::of(array).filter(|_| array.is_valid(at));
    match value.and_then(|slice| slice.value(at)) {
        None => Cell::Null,
        Some(CellValue::Bool(value)) => Cell::Bool(value),
        Some(CellValue::Number(Level::Int(value))) => Cell::Int(value),
        Some(CellValue::Number(Level::Float(value))) => Cell::Float(value),
        Some(CellValue::Text(text)) => Cell::Text(text.to_owned()),
    }
}
