//! Changes the columns of a Parquet batch that have no table type of the same kind: decimals, times
//! of day, binary values, whole numbers without a sign, members of nested columns, and local times.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::DateTime;

use super::options::ImportOptions;
use super::zone::Zone;
use crate::arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, RecordBatchOptions,
    StringArray, StructArray, make_array,
};
use crate::arrow::buffer::NullBuffer;
use crate::arrow::datatypes::{DataType as Arrow, Field, Schema, TimeUnit};
use crate::arrow::integers::to_int64;
use crate::arrow::{convert as arrays, text};
use crate::columnar::schema::{TableSchema, UTC};
use crate::columnar::ticks;
use crate::error::{Error, Place, Result};
use crate::model::tables::data::DataType;
use crate::model::tables::import::BinaryForm;

const DAY_SECONDS: i64 = 86_400;

/// The unit of times of day.
pub(super) fn unit_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}

fn misfit(array: &dyn Array, row: usize, place: Place, what: &str) -> Error {
    let text = text::of_cell(array, row).unwrap_or_else(|| "of this row".to_owned());
    Error::invalid(format!("the value {text} {what}")).at(place)
}

/// Nested columns as columns of their members, named by their path.
pub(super) fn flatten(batch: &RecordBatch) -> Result<RecordBatch> {
    fn push(field: &Field, name: String, array: &ArrayRef, out: &mut Vec<(Field, ArrayRef)>) {
        let Some(group) = array.as_any().downcast_ref::<StructArray>() else {
            out.push((field.clone().with_name(name).with_nullable(true), array.clone()));
            return;
        };
        for (member, child) in group.fields().iter().zip(group.columns()) {
            // A member of an absent group is absent, too.
            let nulls = NullBuffer::union(group.nulls(), child.nulls());
            let data = child.to_data().into_builder().nulls(nulls).build();
            let child = data.map_or_else(|_| child.clone(), make_array);
            push(member, format!("{name}.{}", member.name()), &child, out);
        }
    }
    let is_nested = |array: &ArrayRef| matches!(array.data_type(), Arrow::Struct(_));
    if !batch.columns().iter().any(is_nested) {
        return Ok(batch.clone());
    }
    let mut out = Vec::new();
    for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        push(field, field.name().clone(), array, &mut out);
    }
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = out.into_iter().unzip();
    rebuild(fields, arrays, batch.num_rows())
}

fn rebuild(fields: Vec<Field>, arrays: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
        .map_err(|error| Error::invalid("the columns do not fit together").with_source(error))
}

/// Converts the columns that need it; `first_row` is the row of the first one, for errors.
///
/// # Errors
/// `InvalidArgument` with row, column and value for a value that does not fit.
pub(super) fn convert(
    schema: &TableSchema,
    batch: &RecordBatch,
    options: &ImportOptions,
    first_row: u64,
) -> Result<RecordBatch> {
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        let column = schema.column(schema.position(field.name())?)?;
        let place =
            |row: usize| Place::Cell { row: first_row + row as u64, column: field.name().clone() };
        let array = convert_array(column.data_type, array, options, &place)?;
        fields.push(Field::new(field.name(), array.data_type().clone(), true));
        arrays.push(array);
    }
    rebuild(fields, arrays, batch.num_rows())
}

fn convert_array(
    target: DataType,
    array: &ArrayRef,
    options: &ImportOptions,
    place: &dyn Fn(usize) -> Place,
) -> Result<ArrayRef> {
    let failed = || Error::invalid("the values cannot be converted").at(place(0));
    Ok(match (array.data_type(), target) {
        (Arrow::Dictionary(_, values), _) if !matches!(**values, Arrow::Utf8) => {
            let plain = arrays::unpack(array).ok_or_else(failed)?;
            return convert_array(target, &plain, options, place);
        }
        (Arrow::Decimal128(..) | Arrow::Decimal256(..), DataType::Float64) => {
            Arc::new(texts(array, place, |text| text.parse().ok())?.collect::<Float64Array>())
        }
        (Arrow::Decimal128(..) | Arrow::Decimal256(..), DataType::Int64 | DataType::Int32) => {
            Arc::new(texts(array, place, |text| text.parse().ok())?.collect::<Int64Array>())
        }
        (Arrow::UInt64, DataType::Float64) => {
            Arc::new(texts(array, place, |text| text.parse().ok())?.collect::<Float64Array>())
        }
        (
            Arrow::Decimal128(..)
            | Arrow::Decimal256(..)
            | Arrow::Int8
            | Arrow::Int16
            | Arrow::Int32
            | Arrow::Int64
            | Arrow::UInt8
            | Arrow::UInt16
            | Arrow::UInt32
            | Arrow::UInt64
            | Arrow::Boolean,
            DataType::String,
        ) => Arc::new(texts(array, place, |text| Some(text.to_owned()))?.collect::<StringArray>()),
        (
            Arrow::Int8
            | Arrow::Int16
            | Arrow::Int32
            | Arrow::Int64
            | Arrow::UInt8
            | Arrow::UInt16
            | Arrow::UInt32
            | Arrow::UInt64,
            target,
        ) if target.is_time() => counted(array, options, place)?,
        (Arrow::Time32(_) | Arrow::Time64(_), _) => Arc::new(to_int64(array).ok_or_else(failed)?),
        (
            Arrow::Binary | Arrow::LargeBinary | Arrow::BinaryView | Arrow::FixedSizeBinary(_),
            DataType::String,
        ) => binary(array, options, place)?,
        (Arrow::Timestamp(unit, None), _) if !matches!(options.zone, Zone::Utc) => {
            localised(array, ticks::ticks(array), *unit, 1, options, place)?
        }
        (Arrow::Date32, _) if !matches!(options.zone, Zone::Utc) => {
            let days = to_int64(array).ok_or_else(failed)?;
            localised(array, days.values(), TimeUnit::Second, DAY_SECONDS, options, place)?
        }
        _ => array.clone(),
    })
}

/// Whole numbers as counts of the unit that the caller names.
fn counted(
    array: &ArrayRef,
    options: &ImportOptions,
    place: &dyn Fn(usize) -> Place,
) -> Result<ArrayRef> {
    let Some(unit) = options.epoch else {
        return Err(Error::invalid(format!(
            "values of the type {} are no times; if they count time since 1970, set epochUnit to \
             S, MS, US or NS",
            array.data_type()
        ))
        .at(place(0)));
    };
    let counts: Int64Array = texts(array, place, |text| text.parse().ok())?.collect();
    let (_, counts, nulls) = counts.into_parts();
    Ok(ticks::timestamps(unit, Some(UTC), counts, nulls))
}

/// Each value from its text, which has all its digits.
fn texts<T>(
    array: &ArrayRef,
    place: &dyn Fn(usize) -> Place,
    read: impl Fn(&str) -> Option<T>,
) -> Result<std::vec::IntoIter<Option<T>>> {
    let mut out = Vec::with_capacity(array.len());
    for row in 0..array.len() {
        if array.is_null(row) {
            out.push(None);
            continue;
        }
        let text = text::of_cell(array, row)
            .ok_or_else(|| Error::invalid("a value cannot be read").at(place(row)))?;
        let value = read(&text);
        if value.is_none() {
            return Err(misfit(array, row, place(row), "does not fit the type of its column"));
        }
        out.push(value);
    }
    Ok(out.into_iter())
}

fn binary(
    array: &ArrayRef,
    options: &ImportOptions,
    place: &dyn Fn(usize) -> Place,
) -> Result<ArrayRef> {
    let Some(form) = options.binary else {
        return Err(Error::invalid(
            "binary values have no column type; set binary to UTF8, HEX or BASE64 to import them \
             as text",
        )
        .at(place(0)));
    };
    let bytes = |row: usize| match array.data_type() {
        Arrow::Binary => array.as_binary::<i32>().value(row),
        Arrow::LargeBinary => array.as_binary::<i64>().value(row),
        Arrow::BinaryView => array.as_binary_view().value(row),
        _ => array.as_fixed_size_binary().value(row),
    };
    let mut out = Vec::with_capacity(array.len());
    for row in 0..array.len() {
        out.push(if array.is_null(row) {
            None
        } else {
            Some(match form {
                BinaryForm::Utf8 => std::str::from_utf8(bytes(row))
                    .map_err(|_| {
                        misfit(array, row, place(row), "is not UTF-8; set binary to HEX or BASE64")
                    })?
                    .to_owned(),
                BinaryForm::Hex => bytes(row).iter().map(|byte| format!("{byte:02x}")).collect(),
                BinaryForm::Base64 => STANDARD.encode(bytes(row)),
            })
        });
    }
    Ok(Arc::new(out.into_iter().collect::<StringArray>()))
}

/// Local times as instants; each value counts `step` units.
fn localised(
    array: &ArrayRef,
    values: &[i64],
    unit: TimeUnit,
    step: i64,
    options: &ImportOptions,
    place: &dyn Fn(usize) -> Place,
) -> Result<ArrayRef> {
    let per = ticks::per_second(unit);
    let mut out = Vec::with_capacity(values.len());
    for (row, value) in values.iter().enumerate() {
        if array.is_null(row) {
            out.push(0);
            continue;
        }
        let far = || misfit(array, row, place(row), "is outside of the years of a time");
        let value = value.checked_mul(step).ok_or_else(far)?;
        let seconds = value.div_euclid(per);
        let local = DateTime::from_timestamp(seconds, 0).ok_or_else(far)?.naive_utc();
        let utc = options.zone.seconds(local).map_err(|why| misfit(array, row, place(row), why))?;
        let moved = (utc - seconds).checked_mul(per).and_then(|shift| value.checked_add(shift));
        out.push(moved.ok_or_else(far)?);
    }
    let nulls = array.nulls().cloned();
    let zone = (unit != TimeUnit::Second).then_some(UTC);
    Ok(ticks::timestamps(unit, zone, out.into(), nulls))
}
