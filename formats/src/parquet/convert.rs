//! Changes the columns of a Parquet batch that have no table type of the same kind: decimals, times
//! of day, binary values, whole numbers without a sign, members of nested columns, and local times.

use std::str::FromStr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::DateTime;
use stationdb::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, PrimitiveBuilder, RecordBatch,
    RecordBatchOptions, StringBuilder, StructArray, make_array,
};
use stationdb::arrow::buffer::NullBuffer;
use stationdb::arrow::datatypes::{
    DataType as Arrow, Field, Float64Type, Int64Type, Schema, TimeUnit,
};
use stationdb::tables::readers::{UTC, hex, of_cell, ticks, to_int64, unpack};
use stationdb::tables::{BinaryForm, DataType, TableSchema};
use stationdb::{Error, Place, Result};

use crate::options::ImportOptions;
use crate::zone::Zone;

const DAY_SECONDS: i64 = 86_400;

fn misfit(array: &dyn Array, row: usize, place: Place, what: &str) -> Error {
    let text = of_cell(array, row).unwrap_or_else(|| "of this row".to_owned());
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
            let plain = unpack(array).ok_or_else(failed)?;
            return convert_array(target, &plain, options, place);
        }
        (Arrow::Decimal128(..) | Arrow::Decimal256(..) | Arrow::UInt64, DataType::Float64) => {
            Arc::new(numbers::<Float64Type>(array, place)?)
        }
        (Arrow::Decimal128(..) | Arrow::Decimal256(..), DataType::Int64 | DataType::Int32) => {
            Arc::new(numbers::<Int64Type>(array, place)?)
        }
        (Arrow::Decimal128(..) | Arrow::Decimal256(..) | Arrow::Boolean, DataType::String) => {
            as_texts(array, place)?
        }
        (source, DataType::String) if source.is_integer() => as_texts(array, place)?,
        (source, target) if source.is_integer() && target.is_time() => {
            counted(array, options, place)?
        }
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
    let (_, counts, nulls) = numbers::<Int64Type>(array, place)?.into_parts();
    Ok(ticks::timestamps(unit, Some(UTC), counts, nulls))
}

/// Passes the text of each value on, which has all its digits; `read` returns whether it fits.
fn texts(
    array: &ArrayRef,
    place: &dyn Fn(usize) -> Place,
    read: &mut dyn FnMut(Option<&str>) -> bool,
) -> Result<()> {
    for row in 0..array.len() {
        let text = of_cell(array, row).filter(|_| array.is_valid(row));
        if text.is_none() && array.is_valid(row) {
            return Err(Error::invalid("a value cannot be read").at(place(row)));
        }
        if !read(text.as_deref()) {
            return Err(misfit(array, row, place(row), "does not fit the type of its column"));
        }
    }
    Ok(())
}

fn as_texts(array: &ArrayRef, place: &dyn Fn(usize) -> Place) -> Result<ArrayRef> {
    let mut out = StringBuilder::new();
    texts(array, place, &mut |text| {
        out.append_option(text);
        true
    })?;
    Ok(Arc::new(out.finish()))
}

/// Numbers from their texts.
fn numbers<T: ArrowPrimitiveType<Native: FromStr>>(
    array: &ArrayRef,
    place: &dyn Fn(usize) -> Place,
) -> Result<PrimitiveArray<T>> {
    let mut numbers = PrimitiveBuilder::<T>::with_capacity(array.len());
    texts(array, place, &mut |text| {
        let number = text.and_then(|text| text.parse().ok());
        numbers.append_option(number);
        number.is_some() || text.is_none()
    })?;
    Ok(numbers.finish())
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
    let mut out = StringBuilder::new();
    for row in 0..array.len() {
        if array.is_null(row) {
            out.append_null();
            continue;
        }
        match form {
            BinaryForm::Utf8 => {
                out.append_value(std::str::from_utf8(bytes(row)).map_err(|_| {
                    misfit(array, row, place(row), "is not UTF-8; set binary to HEX or BASE64")
                })?);
            }
            BinaryForm::Hex => out.append_value(hex(bytes(row))),
            BinaryForm::Base64 => out.append_value(STANDARD.encode(bytes(row))),
        }
    }
    Ok(Arc::new(out.finish()))
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
