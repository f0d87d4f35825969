//! The cells of an answer from what is known about its groups.

use super::grouped::GroupedRows;
use super::groups::{KeyCell, key_float};
use super::needs::Needs;
use super::request::{Aggregation, ColumnAggregate, Term};
use super::state::{Cell, ColumnFacts, ColumnState, Group, Numbers};
use crate::columnar::cells;
use crate::columnar::column_slice::Scale;
use crate::columnar::kernels::between;
use crate::columnar::schema::TableSchema;
use crate::columnar::ticks;
use crate::error::Result;
use crate::model::tables::aggregate::{AggregateGroup, AggregateValue};
use crate::model::tables::data::DataType;
use crate::value::exact::Sums;

/// A float without the sign of a zero: of equal zeros any may be met, and a mean may round to one.
fn plain(value: f64) -> f64 {
    value + 0.0
}

fn write(cell: &Cell, data_type: DataType) -> Option<String> {
    let mut out = String::new();
    match cell {
        Cell::Null => return None,
        Cell::Bool(value) => cells::write_bool(*value, &mut out),
        Cell::Int(value) => match ticks::unit_of(data_type) {
            Some(unit) => ticks::write(*value, unit, &mut out),
            None => cells::write_int(*value, &mut out),
        },
        Cell::Float(value) if data_type == DataType::Float32 => {
            cells::write_f32(plain(*value) as f32, &mut out);
        }
        Cell::Float(value) => cells::write_f64(plain(*value), &mut out),
        Cell::Text(text) => out.push_str(text),
    }
    Some(out)
}

fn double(value: f64) -> String {
    let mut out = String::new();
    cells::write_f64(plain(value), &mut out);
    out
}

fn key_text(key: &KeyCell, data_type: DataType, has_width: bool) -> Option<String> {
    let cell = match key {
        KeyCell::Bool(value) => Cell::Bool(*value),
        KeyCell::Int(value) => Cell::Int(*value),
        // The start of a bucket of FLOAT32 values is a double.
        KeyCell::Float(key) if has_width => return Some(double(key_float(*key))),
        KeyCell::Float(key) => Cell::Float(key_float(*key)),
        KeyCell::Text(text) => Cell::Text(text.clone()),
        KeyCell::Null => Cell::Null,
    };
    write(&cell, data_type)
}

/// The groups in order of their keys; without keys one group, also of no rows.
pub(super) fn groups(
    grouped: GroupedRows,
    schema: &TableSchema,
    aggregation: &Aggregation<'_>,
    needs: &Needs,
) -> Result<Vec<AggregateGroup>> {
    let mut groups: Vec<(Vec<KeyCell>, Group)> = grouped.groups.into_iter().collect();
    if groups.is_empty() && aggregation.keys.is_empty() {
        groups.push((Vec::new(), Group::new(needs)));
    }
    groups.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
    groups
        .into_iter()
        .map(|(keys, mut group)| {
            let texts = keys
                .iter()
                .zip(&aggregation.keys)
                .map(|(cell, key)| {
                    let data_type = schema.column(key.column)?.data_type;
                    Ok(key_text(cell, data_type, key.width.is_some()))
                })
                .collect::<Result<Vec<_>>>()?;
            let rows = group.rows;
            let values = aggregation
                .terms
                .iter()
                .map(|term| value(term, rows, &mut group, schema, needs))
                .collect::<Result<Vec<_>>>()?;
            Ok(AggregateGroup { keys: texts, rows: rows.cast_signed(), values })
        })
        .collect()
}

fn value(
    term: &Term,
    rows: u64,
    group: &mut Group,
    schema: &TableSchema,
    needs: &Needs,
) -> Result<AggregateValue> {
    let text = |value: Option<String>| AggregateValue { value, counts: None };
    let Some(column) = term.column else { return Ok(text(Some(rows.to_string()))) };
    let data_type = schema.column(column)?.data_type;
    let Some((place, need)) = needs.place(column) else { return Ok(text(None)) };
    let Some(state) = group.states.get_mut(place) else { return Ok(text(None)) };
    Ok(match term.want {
        ColumnAggregate::Count => text(Some(state.cells.to_string())),
        ColumnAggregate::Min | ColumnAggregate::Max => text(
            extreme(state, term.want == ColumnAggregate::Max)
                .and_then(|cell| write(&cell, data_type)),
        ),
        ColumnAggregate::First => {
            text(state.ends.as_ref().and_then(|ends| write(&ends.first, data_type)))
        }
        ColumnAggregate::Last => {
            text(state.ends.as_ref().and_then(|ends| write(&ends.last, data_type)))
        }
        ColumnAggregate::Histogram(bins) => {
            let at = need.bins.iter().position(|known| *known == bins);
            let counts = match &state.known {
                ColumnFacts::Ints(numbers) => counts(numbers, at),
                ColumnFacts::Floats(numbers) => counts(numbers, at),
                ColumnFacts::Others(_) => None,
            };
            let counts = counts.unwrap_or_else(|| vec![0; bins.count + 2]);
            AggregateValue { value: None, counts: Some(counts) }
        }
        want => text(match &mut state.known {
            ColumnFacts::Ints(numbers) => number(numbers, want, data_type, Cell::Int),
            ColumnFacts::Floats(numbers) => number(numbers, want, data_type, Cell::Float),
            ColumnFacts::Others(_) => None,
        }),
    })
}

fn counts<T: Scale>(numbers: &Numbers<T>, at: Option<usize>) -> Option<Vec<i64>> {
    let counts = numbers.bins.get(at?)?;
    Some(counts.iter().map(|count| count.cast_signed()).collect())
}

fn extreme(state: &ColumnState, is_max: bool) -> Option<Cell> {
    match &state.known {
        ColumnFacts::Ints(numbers) => {
            numbers.extremes.map(|(min, max)| Cell::Int(if is_max { max } else { min }))
        }
        ColumnFacts::Floats(numbers) => {
            numbers.extremes.map(|(min, max)| Cell::Float(if is_max { max } else { min }))
        }
        ColumnFacts::Others(known) => {
            known.as_ref().map(|(min, max)| match if is_max { max } else { min } {
                KeyCell::Bool(value) => Cell::Bool(*value),
                KeyCell::Text(text) => Cell::Text(text.clone()),
                _ => Cell::Null,
            })
        }
    }
}

fn number<T: Scale>(
    numbers: &mut Numbers<T>,
    want: ColumnAggregate,
    data_type: DataType,
    make: fn(T) -> Cell,
) -> Option<String> {
    let count = numbers.used;
    match want {
        // The sum of no values is null, as in SQL.
        ColumnAggregate::Sum if count == 0 => None,
        ColumnAggregate::Sum => Some(match numbers.sums.integer() {
            Some(sum) => sum.to_string(),
            None => double(numbers.sums.clone().exact(count).sum()),
        }),
        ColumnAggregate::Mean => numbers.sums.clone().exact(count).mean().map(double),
        ColumnAggregate::Deviation { is_sample } => {
            numbers.sums.clone().exact(count).deviation(is_sample).map(double)
        }
        ColumnAggregate::Percentile { percent, is_linear } => {
            percentile(&mut numbers.values, percent, is_linear, data_type, make)
        }
        // Computed without the numbers.
        ColumnAggregate::Count
        | ColumnAggregate::Min
        | ColumnAggregate::Max
        | ColumnAggregate::First
        | ColumnAggregate::Last
        | ColumnAggregate::Histogram(_) => None,
    }
}

fn percentile<T: Scale>(
    values: &mut [T],
    percent: f64,
    is_linear: bool,
    data_type: DataType,
    make: fn(T) -> Cell,
) -> Option<String> {
    let last = values.len().checked_sub(1)?;
    let order = |left: &T, right: &T| left.partial_cmp(right).unwrap_or(std::cmp::Ordering::Equal);
    if !is_linear {
        let rank = (percent * values.len() as f64 / 100.0).ceil() as usize;
        let (_, value, _) = values.select_nth_unstable_by(rank.saturating_sub(1).min(last), order);
        return write(&make(*value), data_type);
    }
    let place = percent * last as f64 / 100.0;
    let at = (place.floor() as usize).min(last);
    let (_, low, above) = values.select_nth_unstable_by(at, order);
    let low = low.nearest();
    let high = above.iter().copied().min_by(order).map_or(low, Scale::nearest);
    Some(double(between(low, high, place - at as f64)))
}
