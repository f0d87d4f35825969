//! Appends: plain arrays, streams of Arrow IPC, and batches.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use stationdb::arrow::datatypes::{Field, Schema};
use stationdb::arrow::error::ArrowError;
use stationdb::by_name::Services;
use stationdb::tables::{Column, ColumnType, DataType, TableId};
use stationdb::{Error, ErrorKind};

use crate::failure::{Failure, Outcome};
use crate::json;
use crate::memory::In;
use crate::numbers::{of_f64, of_whole};
use crate::registry;

/// Whether an append is the last one: 0 or 1.
fn end_of_data(value: i32) -> Outcome<Option<bool>> {
    match value {
        0 => Ok(None),
        1 => Ok(Some(true)),
        _ => Err(Error::invalid(format!(
            "end_of_data is {value}; it is 1 if no rows come after these, and 0 otherwise"
        ))
        .into()),
    }
}

/// Appends batches, all or none. They are asked for inside of the call, in which their callbacks
/// may not close the store.
pub fn batches<R: Iterator<Item = Result<RecordBatch, ArrowError>>>(
    caller: u64,
    table: &str,
    end: i32,
    rows: impl FnOnce() -> Outcome<R>,
) -> Outcome<()> {
    let end = end_of_data(end)?;
    let caller = registry::caller(caller)?;
    let begun = caller.begin(None)?;
    begun.services().append_batches(&TableId::from(table), &mut rows()?, end)?;
    Ok(())
}

/// The rows of a caller without Arrow: columns of doubles, one after the other.
struct Plain<'a> {
    names: Vec<String>,
    /// The first column, if it is given apart from the others.
    index: Option<&'a [i64]>,
    values: &'a [f64],
    rows: usize,
}

impl Plain<'_> {
    /// Each column of doubles with its name.
    fn doubles(&self) -> impl Iterator<Item = (&str, &[f64])> {
        let names = self.names.iter().skip(usize::from(self.index.is_some()));
        // `rows` is not 0 where there are values.
        names.map(String::as_str).zip(self.values.chunks_exact(self.rows.max(1)))
    }

    fn batch(columns: Vec<(&str, ArrayRef)>) -> Outcome<RecordBatch> {
        let field =
            |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), true);
        let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        RecordBatch::try_new(Arc::new(schema), arrays)
            .map_err(|error| Error::invalid(format!("the rows: {error}")).into())
    }

    /// As INT64 and FLOAT64, which most tables of measurements have.
    fn as_given(&self) -> Outcome<RecordBatch> {
        let mut columns: Vec<(&str, ArrayRef)> = Vec::with_capacity(self.names.len());
        if let (Some(index), Some(name)) = (self.index, self.names.first()) {
            columns.push((name, Arc::new(Int64Array::from(index.to_vec()))));
        }
        for (name, values) in self.doubles() {
            columns.push((name, Arc::new(Float64Array::from(values.to_vec()))));
        }
        Self::batch(columns)
    }

    /// In the types of the table's columns.
    fn converted(&self, table: &[Column]) -> Outcome<RecordBatch> {
        let of = |name: &str| {
            let found = table.iter().find(|column| column.name == name);
            // The table refuses what it does not know.
            found.map_or((DataType::Float64, false), |column| {
                (column.data_type, column.column_type == ColumnType::Nullable)
            })
        };
        let mut columns: Vec<(&str, ArrayRef)> = Vec::with_capacity(self.names.len());
        if let (Some(index), Some(name)) = (self.index, self.names.first()) {
            let whole = index.iter().copied().map(Some).collect();
            columns.push((name, of_whole(name, of(name).0, whole)?));
        }
        for (name, values) in self.doubles() {
            let (data_type, may_be_null) = of(name);
            columns.push((name, of_f64(name, data_type, may_be_null, values)?));
        }
        Self::batch(columns)
    }

    fn append(&self, services: &dyn Services, table: &TableId) -> Outcome<()> {
        let append = |batch| services.append_batches(table, &mut std::iter::once(Ok(batch)), None);
        let refusal = match append(self.as_given()?) {
            Err(error) if error.kind() == ErrorKind::InvalidArgument => error,
            done => return done.map_err(Failure::from),
        };
        // Only an append that was refused asks what the columns are.
        let columns = services.get_table_metadata(table)?.columns.unwrap_or_default();
        let is_as_given = columns.iter().all(|column| {
            let is_index = self.index.is_some() && self.names.first() == Some(&column.name);
            let given = if is_index { DataType::Int64 } else { DataType::Float64 };
            column.data_type == given || !self.names.contains(&column.name)
        });
        if is_as_given {
            return Err(refusal.into());
        }
        append(self.converted(&columns)?).map_err(Failure::from)
    }
}

export! {
    fn sdb_append_f64(
        caller: u64,
        table: In<u8>,
        table_length: i64,
        columns: In<u8>,
        columns_length: i64,
        index: In<i64>,
        values: In<f64>,
        rows: i64,
    ) {
        let table = table.text("table", table_length)?;
        let names = json::names("columns", columns.text("columns", columns_length)?)?;
        let index = if index.is_null() { None } else { Some(index.values("index", rows)?) };
        let doubles = names.len().checked_sub(usize::from(index.is_some())).ok_or_else(|| {
            Error::invalid("columns is empty; the first name is that of the index").at_member("columns")
        })?;
        let cells = i64::try_from(doubles).ok().and_then(|doubles| doubles.checked_mul(rows));
        let cells = cells.ok_or_else(|| {
            Error::limit(format!("{doubles} columns of {rows} rows are more than memory can be"))
        })?;
        let values = values.values("values", cells)?;
        let rows = usize::try_from(rows)
            .map_err(|_| Error::invalid(format!("the number of rows is {rows}; it is negative")))?;
        let plain = Plain { names, index: index.as_deref(), values: &values, rows };
        let caller = registry::caller(caller)?;
        let begun = caller.begin(None)?;
        plain.append(begun.services(), &TableId::from(table))
    }

    fn sdb_append_ipc(
        caller: u64,
        table: In<u8>,
        table_length: i64,
        bytes: In<u8>,
        count: i64,
        end: i32,
    ) {
        let table = table.text("table", table_length)?;
        let mut bytes = bytes.bytes("bytes", count)?;
        let end = end_of_data(end)?;
        let caller = registry::caller(caller)?;
        let begun = caller.begin(None)?;
        begun.services().append_arrow(&TableId::from(table), &mut bytes, end)?;
        Ok(())
    }
}
