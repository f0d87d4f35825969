//! Aggregates of a table as rows.

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use stationdb::arrow::datatypes::{Field, Schema};
use stationdb::tables::{
    Aggregate, AggregateFunction, AggregateGroup, AggregateTableDataRequest, Column, DataType,
    TableId,
};

use crate::failure::{Failure, Outcome};
use crate::json;
use crate::memory::{In, Out};
use crate::registry::{self, Object};
use crate::rows::{Rows, Source};

/// Cells of one column as the values of its type; times and texts stay texts.
fn cells(data_type: DataType, cells: Vec<Option<&str>>) -> Outcome<ArrayRef> {
    let wrong = || Failure::internal("an aggregate is no value of its type");
    if data_type.is_float() {
        let numbers = cells.into_iter().map(|cell| cell.map(str::parse).transpose());
        let numbers: Result<Vec<Option<f64>>, _> = numbers.collect();
        return Ok(Arc::new(Float64Array::from(numbers.map_err(|_| wrong())?)));
    }
    if matches!(data_type, DataType::Int32 | DataType::Int64) {
        let numbers = cells.into_iter().map(|cell| cell.map(str::parse).transpose());
        let numbers: Result<Vec<Option<i64>>, _> = numbers.collect();
        return Ok(Arc::new(Int64Array::from(numbers.map_err(|_| wrong())?)));
    }
    Ok(Arc::new(StringArray::from(cells)))
}

fn type_of(columns: &[Column], name: &str) -> DataType {
    let found = columns.iter().find(|column| column.name == name);
    found.map_or(DataType::String, |column| column.data_type)
}

/// The type of the values of an aggregate.
fn type_of_aggregate(columns: &[Column], aggregate: &Aggregate) -> DataType {
    let column = || type_of(columns, aggregate.column.as_deref().unwrap_or_default());
    match aggregate.function {
        AggregateFunction::Count => DataType::Int64,
        AggregateFunction::Mean
        | AggregateFunction::Deviation
        | AggregateFunction::PopulationDeviation
        | AggregateFunction::PercentileLinear => match column() {
            // The mean of times is a time.
            time if time.is_time() => time,
            _ => DataType::Float64,
        },
        // A sum may be beyond 64 bits.
        AggregateFunction::Sum if !column().is_float() => DataType::String,
        _ => column(),
    }
}

fn histograms(groups: &[AggregateGroup], at: usize) -> ArrayRef {
    let mut lists = ListBuilder::new(Int64Builder::new());
    for group in groups {
        let counts = group.values.get(at).and_then(|value| value.counts.as_ref());
        match counts {
            None => lists.append_null(),
            Some(counts) => lists.append_value(counts.iter().copied().map(Some)),
        }
    }
    Arc::new(lists.finish())
}

/// The columns of an answer: the keys by their names, `rows`, and the aggregates `a0`, `a1`, ….
fn batch(
    columns: &[Column],
    asked: &AggregateTableDataRequest,
    groups: &[AggregateGroup],
) -> Outcome<RecordBatch> {
    let mut named: Vec<(String, ArrayRef)> = Vec::new();
    for (at, key) in asked.group_by.iter().flatten().enumerate() {
        let found = groups.iter().map(|group| group.keys.get(at).and_then(Option::as_deref));
        named.push((key.column.clone(), cells(type_of(columns, &key.column), found.collect())?));
    }
    let rows: Int64Array = groups.iter().map(|group| Some(group.rows)).collect();
    named.push(("rows".to_owned(), Arc::new(rows)));
    for (at, aggregate) in asked.aggregates.iter().flatten().enumerate() {
        let array = if aggregate.function == AggregateFunction::Histogram {
            histograms(groups, at)
        } else {
            let value = |group| {
                let group: &AggregateGroup = group;
                group.values.get(at).and_then(|value| value.value.as_deref())
            };
            cells(type_of_aggregate(columns, aggregate), groups.iter().map(value).collect())?
        };
        named.push((format!("a{at}"), array));
    }
    let field =
        |(name, array): &(String, ArrayRef)| Field::new(name, array.data_type().clone(), true);
    let schema = Schema::new(named.iter().map(field).collect::<Vec<_>>());
    let arrays = named.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(schema), arrays)
        .map_err(|_| Failure::internal("columns of aggregates of different lengths"))
}

export! {
    fn sdb_aggregate(
        caller: u64,
        table: In<u8>,
        table_length: i64,
        request: In<u8>,
        request_length: i64,
        control: u64,
        rows: Out<u64>,
    ) {
        rows.begin("rows", 0)?;
        let table = TableId::from(table.text("table", table_length)?);
        let request = request.text("request", request_length)?;
        let asked: AggregateTableDataRequest = json::request("aggregate", request)?;
        let caller = registry::caller(caller)?;
        let watch = registry::optional_control(control)?;
        let begun = caller.begin_by_session(watch.as_deref())?;
        let columns = begun.services().get_table_metadata(&table)?.columns.unwrap_or_default();
        let found = begun.services().aggregate_table_data(&table, asked.clone())?;
        let batch = batch(&columns, &asked, &found.groups)?;
        let schema = batch.schema();
        let source: Source = Box::new(std::iter::once(Ok(batch)));
        let found = Rows::new(&caller.open, schema, source, begun.control.clone());
        rows.set(registry::put(Object::Rows(found))?);
        Ok(())
    }
}
