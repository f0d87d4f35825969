//! The rows of a measurement table, with the columns that it has at its station.

use datafusion::arrow::datatypes::{DataType, Field, TimeUnit};
use datafusion::error::Result;
use datafusion::logical_expr::lit;
use datafusion::prelude::DataFrame;
use datafusion::scalar::ScalarValue;
use stationdb::tables::{Column, DataType as Stored};
use stationdb_lake::LakeRelation;

use super::live::{OneTable, live};
use super::plans::{Plans, as_type, column};

/// The type of a column in a context over a store.
fn type_of(column: &Column) -> DataType {
    let time = |unit| DataType::Timestamp(unit, Some("UTC".into()));
    match column.data_type {
        Stored::Bool => DataType::Boolean,
        Stored::Float32 => DataType::Float32,
        Stored::Float64 => DataType::Float64,
        Stored::Int32 => DataType::Int32,
        Stored::Int64 => DataType::Int64,
        Stored::Timestamp => time(TimeUnit::Millisecond),
        Stored::TimestampMicros => time(TimeUnit::Microsecond),
        Stored::TimestampNanos => time(TimeUnit::Nanosecond),
        _ => DataType::Utf8,
    }
}

/// The rows of a table in all lake tables that have some: rows that the station has deleted by a
/// retention stay in a lake table of earlier columns.
pub(super) fn rows(plans: &Plans, table: OneTable<'_>, columns: &[Column]) -> Result<DataFrame> {
    let mut all: Option<DataFrame> = None;
    for lake in plans.lake.rows() {
        if !lake.rows.files.iter().any(|file| file.may_have(table.station, table.id)) {
            continue;
        }
        let rows = shown(live(plans, lake, Some(table))?, &lake.rows, columns)?;
        all = Some(match all {
            Some(others) => others.union(rows)?,
            None => rows,
        });
    }
    match all {
        Some(all) => Ok(all),
        None => {
            let field = |column: &Column| Field::new(&column.name, type_of(column), true);
            plans.nothing(&columns.iter().map(field).collect::<Vec<_>>())
        }
    }
}

/// The columns of the station, by their names there.
fn shown(rows: DataFrame, relation: &LakeRelation, columns: &[Column]) -> Result<DataFrame> {
    let of = |own: &Column| {
        let wanted = type_of(own);
        let is_fine = own.data_type == Stored::TimestampNanos;
        let find = |is_nanoseconds| {
            relation.fields.iter().find(|field| {
                field.is_nanoseconds == is_nanoseconds && field.stored.as_ref() == Some(&own.name)
            })
        };
        let found = if is_fine { find(true).or_else(|| find(false)) } else { find(false) };
        let value = match found {
            Some(found) => as_type(column(found.field.name()), found.field.data_type(), &wanted)?,
            None => lit(ScalarValue::try_new_null(&wanted)?),
        };
        Ok(value.alias(&own.name))
    };
    rows.select(columns.iter().map(of).collect::<Result<Vec<_>>>()?)
}
