//! Aggregates of rows: checks the request against the table.

use crate::columnar::{
    AggregateAnswer, Aggregation, Bins, Bounds, ColumnAggregate, Key, TableSchema, Term, Width,
    aggregate,
};
use crate::error::{Error, Result};
use crate::model::{
    Aggregate, AggregateFunction, AggregateKey, AggregateTableDataRequest, DataType,
    TableAggregates,
};
use crate::services::lists;
use crate::services::tables::read::open;
use crate::services::tables::row_filter::row_filter;
use crate::session::Access;
use crate::value::{Control, limits};

/// Computes aggregates of the rows of a table.
pub(in crate::services) fn run<A: Access>(
    access: &A,
    id: &str,
    request: &AggregateTableDataRequest,
) -> Result<TableAggregates> {
    let view = open(access, id)?;
    let schema = &view.schema;
    let aggregates = request.aggregates.as_deref().unwrap_or_default();
    let group_by = request.group_by.as_deref().unwrap_or_default();
    lists::check("aggregates", aggregates.len())?;
    lists::check("groupBy", group_by.len())?;
    let predicates = row_filter!(request).check(access, schema)?;
    let (keys, places) = keys(schema, group_by)?;
    let terms = aggregates.iter().enumerate().map(|(at, wanted)| term(schema, at, wanted));
    let aggregation = Aggregation {
        keys,
        terms: terms.collect::<Result<_>>()?,
        predicates: &predicates,
        bounds: Bounds {
            groups: limits::AGGREGATE_GROUPS,
            bytes: access.context().settings().query_memory_bytes,
            budget: &access.context().engine.memory,
        },
    };
    let control = access.context().control(&Control::default());
    let AggregateAnswer { mut groups, summarized_rows } = aggregate(&view, &aggregation, &control)?;
    if aggregation.keys.len() < places.len() {
        for group in &mut groups {
            let keys = places.iter().map(|place| group.keys.get(*place).cloned().flatten());
            group.keys = keys.collect();
        }
    }
    Ok(TableAggregates { groups, summarized_rows: Some(summarized_rows.cast_signed()) })
}

/// The different keys, and for each entry of `groupBy` its place among them.
fn keys(schema: &TableSchema, group_by: &[AggregateKey]) -> Result<(Vec<Key>, Vec<usize>)> {
    let keys = group_by.iter().enumerate().map(|(at, by)| key(schema, at, by));
    different_keys(keys)
}

/// The different ones of `each`, and for each of them its place among these.
pub(in crate::services) fn different_keys(
    each: impl Iterator<Item = Result<Key>>,
) -> Result<(Vec<Key>, Vec<usize>)> {
    let (mut keys, mut places): (Vec<Key>, Vec<usize>) = (Vec::new(), Vec::new());
    for key in each {
        let key = key?;
        let known = keys.iter().position(|known| *known == key);
        places.push(known.unwrap_or(keys.len()));
        if known.is_none() {
            keys.push(key);
        }
        if keys.len() > limits::AGGREGATE_KEYS {
            let most = limits::AGGREGATE_KEYS;
            let text = format!("more than {most} different keys; AGGREGATE_KEYS allows {most}");
            return Err(Error::limit(text).with_args([most.to_string()]).at_member("groupBy"));
        }
    }
    Ok((keys, places))
}

/// Checks a key against the columns of its rows.
pub(in crate::services) fn key(schema: &TableSchema, at: usize, by: &AggregateKey) -> Result<Key> {
    let member = |name: &str| format!("groupBy[{at}].{name}");
    let column = schema.position(&by.column).map_err(|error| error.at_member(member("column")))?;
    let Some(width) = by.width else { return Ok(Key { column, width: None }) };
    let data_type = schema.column(column)?.data_type;
    let bad = |text: String| Err(Error::invalid(text).at_member(member("width")));
    let width = match data_type {
        _ if !(width > 0.0 && width.is_finite()) => {
            return bad(format!("the width is {width}; it must be greater than 0"));
        }
        DataType::Float32 | DataType::Float64 => Width::Float(width),
        DataType::Bool | DataType::String => {
            return bad(format!("column {:?} of type {data_type} has no buckets", by.column));
        }
        _ if width.fract() != 0.0 || width >= 9.0e15 => {
            return bad(format!(
                "the width is {width}; buckets of {data_type} need a whole number"
            ));
        }
        _ => Width::Int(width as i64),
    };
    Ok(Key { column, width: Some(width) })
}

/// Checks an aggregate against the columns of its rows.
pub(in crate::services) fn term(
    schema: &TableSchema,
    at: usize,
    wanted: &Aggregate,
) -> Result<Term> {
    use AggregateFunction as Of;
    let member = |name: &str| format!("aggregates[{at}].{name}");
    let function = wanted.function;
    let refused = |name: &str, text: String| Err(Error::invalid(text).at_member(member(name)));
    let Some(name) = &wanted.column else {
        if function == Of::Count {
            return Ok(Term { want: ColumnAggregate::Count, column: None });
        }
        return refused("column", format!("{function} needs a column"));
    };
    let column = schema.position(name).map_err(|error| error.at_member(member("column")))?;
    let data_type = schema.column(column)?.data_type;
    let is_sum = matches!(
        function,
        Of::Sum | Of::Mean | Of::Deviation | Of::PopulationDeviation | Of::PercentileLinear
    ) || function == Of::Histogram;
    let needs_numbers = is_sum || function == Of::PercentileNearest;
    if (needs_numbers && !data_type.is_numeric()) || (is_sum && data_type.is_time()) {
        let text = format!("{function} cannot be computed of column {name:?} of type {data_type}");
        return refused("function", text);
    }
    let want = match function {
        Of::Count => ColumnAggregate::Count,
        Of::Min => ColumnAggregate::Min,
        Of::Max => ColumnAggregate::Max,
        Of::Sum => ColumnAggregate::Sum,
        Of::Mean => ColumnAggregate::Mean,
        Of::Deviation => ColumnAggregate::Deviation { is_sample: true },
        Of::PopulationDeviation => ColumnAggregate::Deviation { is_sample: false },
        Of::First => ColumnAggregate::First,
        Of::Last => ColumnAggregate::Last,
        Of::PercentileNearest | Of::PercentileLinear => match wanted.percentile {
            Some(percentile) if (0.0..=100.0).contains(&percentile) => {
                ColumnAggregate::Percentile {
                    percent: percentile,
                    is_linear: function == Of::PercentileLinear,
                }
            }
            _ => return refused("percentile", format!("{function} needs one from 0 to 100")),
        },
        Of::Histogram => {
            let (lower, upper) = match (wanted.lower, wanted.upper) {
                (Some(lower), Some(upper)) if lower < upper && (upper - lower).is_finite() => {
                    (lower, upper)
                }
                _ => return refused("lower", "HISTOGRAM needs lower below upper".to_owned()),
            };
            let bins = wanted.bins.and_then(|bins| usize::try_from(bins).ok());
            match bins.filter(|bins| (1..=limits::AGGREGATE_BINS).contains(bins)) {
                Some(count) => ColumnAggregate::Histogram(Bins { lower, upper, count }),
                None => {
                    let most = limits::AGGREGATE_BINS;
                    return refused("bins", format!("HISTOGRAM needs from 1 to {most} bins"));
                }
            }
        }
    };
    Ok(Term { want, column: Some(column) })
}
