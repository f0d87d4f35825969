//! Converts Arrow batches of callers to the columns of a table: matches columns by name, changes
//! types, and refuses nulls in columns that are not NULLABLE. Values keep their meaning: a whole
//! number goes into a column of floats that has it, and a float that is one into a column of
//! integers. Only floats for FLOAT32 are rounded. A time that is finer than its column is refused,
//! or cut where the column's property [`FINER_TIMES`] says so.

use std::sync::Arc;

use crate::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, new_null_array};
use crate::arrow::datatypes::{
    DataType as Arrow, Date32Type, Date64Type, Float32Type, Float64Type, Int32Type, TimeUnit,
};
use crate::arrow::integers::to_int64;
use crate::arrow::{convert, text};
use crate::columnar::schema::{TableSchema, arrow_type};
use crate::columnar::ticks;
use crate::error::{Error, Place, Result};
use crate::model::tables::data::{Column, ColumnType, DataType};
use crate::value::limits;

const DAY_SECONDS: i64 = 86_400;
/// The property of a time column that says what becomes of digits finer than its unit.
pub const FINER_TIMES: &str = "finerTimes";
/// The value of [`FINER_TIMES`] that cuts them off.
pub const CUT: &str = "CUT";

/// Converts a batch to the columns of the table. `first_row` is the position of its first row in
/// the whole append, for the places of errors.
///
/// # Errors
/// `InvalidArgument` for an unknown, repeated or missing column, an Arrow type that does not fit, a
/// value that does not fit, and a null in a column that is not NULLABLE; row and column are named.
pub(crate) fn coerce_batch(
    schema: &TableSchema,
    batch: &RecordBatch,
    first_row: u64,
) -> Result<RecordBatch> {
    if Arc::ptr_eq(schema.arrow(), batch.schema_ref()) {
        return Ok(batch.clone());
    }
    fit_batch(schema, batch, first_row)
}

/// As `coerce_batch`, for a batch that others made: its values are checked also when it has the
/// schema of the table itself.
///
/// # Errors
/// `InvalidArgument` for an unknown, repeated or missing column, an Arrow type that does not fit, a
/// value that does not fit, and a null in a column that is not NULLABLE; row and column are named.
pub fn fit_batch(schema: &TableSchema, batch: &RecordBatch, first_row: u64) -> Result<RecordBatch> {
    let mut sources: Vec<Option<&ArrayRef>> = vec![None; schema.len()];
    for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        let position = schema.position(field.name())?;
        if let Some(slot) = sources.get_mut(position)
            && slot.replace(array).is_some()
        {
            return Err(Error::invalid(format!(
                "the batch has two columns named {:?}",
                field.name()
            ))
            .with_args([field.name().clone()]));
        }
    }
    // The index column first: it cannot be null, so a forged row count fails before null columns of
    // that length are allocated.
    let mut order: Vec<usize> = (0..schema.len()).collect();
    order.swap(0, schema.index());
    let mut arrays: Vec<Option<ArrayRef>> = vec![None; schema.len()];
    for position in order {
        let column = schema.column(position)?;
        let array = match sources.get(position).copied().flatten() {
            Some(array) => coerce_array(column, array, first_row)?,
            None if column.column_type == ColumnType::Nullable => {
                new_null_array(&arrow_type(column.data_type), batch.num_rows())
            }
            None => {
                return Err(Error::invalid(format!(
                    "the batch has no column {:?}; only NULLABLE columns may be left out",
                    column.name
                ))
                .with_args([column.name.clone()]));
            }
        };
        if let Some(slot) = arrays.get_mut(position) {
            *slot = Some(array);
        }
    }
    RecordBatch::try_new(schema.arrow().clone(), arrays.into_iter().flatten().collect())
        .map_err(|error| Error::invalid("the batch does not fit the table").with_source(error))
}

/// A value as text.
fn shown(array: &ArrayRef, row: usize) -> String {
    let count = ticks::ticks(array).get(row).copied();
    match (array.data_type(), count) {
        (Arrow::Timestamp(unit, _), Some(count)) if ticks::is_in_years(count, *unit) => {
            let mut text = String::new();
            ticks::write(count, *unit, &mut text);
            text
        }
        (_, count) => text::of_cell(array, row).unwrap_or_else(|| match count {
            Some(count) => format!("{count} since 1970"),
            None => "that has no text".to_owned(),
        }),
    }
}

fn coerce_array(column: &Column, array: &ArrayRef, first_row: u64) -> Result<ArrayRef> {
    let place =
        |row: usize| Place::Cell { row: first_row + row as u64, column: column.name.clone() };
    let misfit = |row: usize| {
        let text = shown(array, row);
        Error::invalid(format!(
            "the value {text} of Arrow type {} does not fit {}",
            array.data_type(),
            column.data_type
        ))
        .at(place(row))
    };
    let out = change_type(column, array, &misfit)?;
    if column.column_type != ColumnType::Nullable
        && let Some(nulls) = out.logical_nulls().filter(|nulls| nulls.null_count() > 0)
    {
        let row = (0..nulls.len()).find(|&row| nulls.is_null(row)).unwrap_or_default();
        return Err(Error::invalid(format!(
            "column {:?} is not NULLABLE, so it cannot contain null",
            column.name
        ))
        .at(place(row)));
    }
    Ok(out)
}

/// Bytes of the texts when every row has its own copy. A dictionary or views may repeat a few
/// values in many rows.
fn unpacked_bytes(array: &dyn Array) -> u64 {
    fn lengths(array: &dyn Array) -> Vec<u64> {
        match array.data_type() {
            Arrow::Utf8 => {
                array.as_string::<i32>().offsets().lengths().map(|len| len as u64).collect()
            }
            Arrow::LargeUtf8 => {
                array.as_string::<i64>().offsets().lengths().map(|len| len as u64).collect()
            }
            // The lower half of a view is its length.
            Arrow::Utf8View => {
                array.as_string_view().views().iter().map(|view| u64::from(*view as u32)).collect()
            }
            _ => Vec::new(),
        }
    }
    match array.data_type() {
        Arrow::Utf8View => lengths(array).iter().sum(),
        Arrow::Dictionary(..) => {
            let Some(dictionary) =
                array.as_any_dictionary_opt().filter(|found| !found.values().is_empty())
            else {
                return 0;
            };
            let lengths = lengths(dictionary.values());
            dictionary.normalized_keys().into_iter().filter_map(|key| lengths.get(key)).sum()
        }
        _ => 0,
    }
}

fn change_type(
    column: &Column,
    array: &ArrayRef,
    misfit: &dyn Fn(usize) -> Error,
) -> Result<ArrayRef> {
    let unpacked = unpacked_bytes(array);
    if unpacked > limits::IMPORT_MESSAGE_BYTES as u64 {
        return Err(Error::limit(format!(
            "the texts of column {:?} take {unpacked} bytes when each row has its own, more than \
             the {} of one batch; use smaller batches",
            column.name,
            limits::IMPORT_MESSAGE_BYTES
        )));
    }
    let target = arrow_type(column.data_type);
    let source = array.data_type();
    if *source == target {
        // A value under a null counts, too: it is replaced where it is outside of the years.
        let is_in_years = ticks::unit_of(column.data_type).is_none_or(|unit| {
            ticks::ticks(array).iter().fold(true, |all, time| all & ticks::is_in_years(*time, unit))
        });
        return if is_in_years { Ok(array.clone()) } else { to_timestamps(column, array, misfit) };
    }
    if *source == Arrow::Null {
        return Ok(new_null_array(&target, array.len()));
    }
    let fits = match column.data_type {
        DataType::Bool => false,
        DataType::Int32 | DataType::Int64 | DataType::Float32 | DataType::Float64 => {
            source.is_integer() || source.is_floating()
        }
        DataType::String => match source {
            Arrow::LargeUtf8 | Arrow::Utf8View => true,
            Arrow::Dictionary(_, values) => {
                matches!(**values, Arrow::Utf8 | Arrow::LargeUtf8 | Arrow::Utf8View)
            }
            _ => false,
        },
        DataType::Timestamp | DataType::TimestampMicros | DataType::TimestampNanos => {
            return to_timestamps(column, array, misfit);
        }
    };
    if !fits {
        return Err(type_error(column, source));
    }
    let whole = || if source.is_floating() { convert::whole_int64(array) } else { to_int64(array) };
    let out: Option<ArrayRef> = match column.data_type {
        DataType::Int64 => whole().map(|all| Arc::new(all) as ArrayRef),
        DataType::Int32 => whole()
            .map(|all| convert::narrow::<_, Int32Type>(&all, |value| i32::try_from(value).ok())),
        DataType::Float64 if source.is_integer() => {
            convert::exact_floats::<Float64Type>(array, |value| {
                let float = value as f64;
                (float as i128 == value).then_some(float)
            })
        }
        DataType::Float32 if source.is_integer() => {
            convert::exact_floats::<Float32Type>(array, |value| {
                let float = value as f32;
                (float as i128 == value).then_some(float)
            })
        }
        DataType::Float64 => convert::to_float64(array).map(|all| Arc::new(all) as ArrayRef),
        // Numbers beyond the largest FLOAT32 do not fit; infinities do.
        DataType::Float32 => convert::to_float64(array).map(|all| {
            convert::narrow::<_, Float32Type>(&all, |value| {
                let narrow = value as f32;
                (narrow.is_finite() || !value.is_finite()).then_some(narrow)
            })
        }),
        _ => convert::to_text(array).map(|all| Arc::new(all) as ArrayRef),
    };
    let out = out.ok_or_else(|| type_error(column, source))?;
    if out.null_count() > array.logical_null_count() {
        let nulls = array.logical_nulls();
        let was_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let row =
            (0..out.len()).find(|&row| out.is_null(row) && !was_null(row)).unwrap_or_default();
        return Err(misfit(row));
    }
    Ok(out)
}

fn type_error(column: &Column, source: &Arrow) -> Error {
    Error::invalid(format!(
        "column {:?} of type {} cannot be filled from the Arrow type {source}; convert the values \
         where they come from, or give the column a type that holds them all",
        column.name, column.data_type
    ))
    .with_args([column.name.clone()])
}

/// Converts times to the unit of the column. The first value that does not fit is named.
fn to_timestamps(
    column: &Column,
    array: &ArrayRef,
    misfit: &dyn Fn(usize) -> Error,
) -> Result<ArrayRef> {
    let Some(unit) = ticks::unit_of(column.data_type) else {
        return Err(type_error(column, array.data_type()));
    };
    let cut = column.properties.get(FINER_TIMES).is_some_and(|value| value == CUT);
    let convert = |value: i64, from: TimeUnit| {
        let value = ticks::convert(value, from, unit, cut)?;
        ticks::is_in_years(value, unit).then_some(value)
    };
    let days = |days: i64| convert(days.checked_mul(DAY_SECONDS)?, TimeUnit::Second);
    let counts: Vec<Option<i64>> = match array.data_type() {
        Arrow::Timestamp(from, _) => {
            ticks::ticks(array).iter().map(|value| convert(*value, *from)).collect()
        }
        Arrow::Date32 => {
            let values = array.as_primitive::<Date32Type>().values();
            values.iter().map(|value| days(i64::from(*value))).collect()
        }
        Arrow::Date64 => {
            let values = array.as_primitive::<Date64Type>().values();
            values.iter().map(|value| convert(*value, TimeUnit::Millisecond)).collect()
        }
        source => return Err(type_error(column, source)),
    };
    // The value under a null is ignored.
    if let Some(row) = (0..counts.len())
        .find(|&row| counts.get(row).is_some_and(Option::is_none) && array.is_valid(row))
    {
        let error = misfit(row);
        let Some(finer) = finer_type(array, unit, row) else { return Err(error) };
        let message = format!(
            "{} unless digits are cut off; give the column the type {} to keep them, or cut them \
             off with its property {FINER_TIMES} = {CUT}, in an import also with cutTimes",
            error.message(),
            finer.as_str()
        );
        let place = error.place().cloned();
        let error = Error::invalid(message);
        return Err(match place {
            Some(place) => error.at(place),
            None => error,
        });
    }
    let values = counts.into_iter().map(Option::unwrap_or_default).collect();
    Ok(ticks::array_of(column.data_type, values, array.nulls().cloned()))
}

/// The type of column that keeps all digits of the times; `None` if the time of `row` does not fit
/// for another reason than its digits.
fn finer_type(array: &ArrayRef, unit: TimeUnit, row: usize) -> Option<DataType> {
    let Arrow::Timestamp(from, _) = array.data_type() else { return None };
    let times = ticks::ticks(array);
    let cut = ticks::convert(*times.get(row)?, *from, unit, true)?;
    if !ticks::is_in_years(cut, unit) {
        return None;
    }
    let is_micros = (0..times.len()).filter(|&row| array.is_valid(row)).all(|row| {
        let time = times.get(row).copied().unwrap_or_default();
        ticks::convert(time, *from, TimeUnit::Microsecond, false).is_some()
    });
    Some(if is_micros { DataType::TimestampMicros } else { DataType::TimestampNanos })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrow::array::{
        Date32Array, Date64Array, Float32Array, Float64Array, Int64Array,
        TimestampMicrosecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt32Array,
        UInt64Array,
    };
    use crate::arrow::buffer::NullBuffer;

    /// Microseconds in a column of milliseconds were cut off without a word.
    #[test]
    fn a_finer_time_is_refused_unless_the_column_says_cut() {
        let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![
            Some(-1_000),
            None,
            Some(1_704_067_200_000_001),
        ]));
        let mut column = Column::new("t", DataType::Timestamp);
        column.column_type = ColumnType::Nullable;
        let told = coerce_array(&column, &times, 5).unwrap_err().to_string();
        for part in ["2024-01-01T00:00:00.000001", "row 7", "TIMESTAMP_US", "finerTimes"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        // Nanoseconds below a microsecond in a later row need the finest type.
        let later: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![0, 1_000, 1_001]));
        let told = coerce_array(&column, &later, 5).unwrap_err().to_string();
        for part in ["row 6", "TIMESTAMP_NS", "finerTimes", "cutTimes"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        // A year that no column holds is no matter of digits.
        let far: ArrayRef =
            Arc::new(TimestampMicrosecondArray::from(vec![253_402_300_800_000_000]));
        let told = coerce_array(&column, &far, 5).unwrap_err().to_string();
        assert!(!told.contains("finerTimes"), "{told}");
        column.properties.insert(FINER_TIMES.to_owned(), CUT.to_owned());
        let cut = coerce_array(&column, &times, 5).unwrap();
        assert_eq!(ticks::ticks(&cut), [-1, 0, 1_704_067_200_000]);
        assert!(cut.is_null(1));
        column.data_type = DataType::TimestampMicros;
        let kept = coerce_array(&column, &times, 5).unwrap();
        assert_eq!(ticks::ticks(&kept), [-1_000, 0, 1_704_067_200_000_001]);
        column.data_type = DataType::TimestampNanos;
        let finer = coerce_array(&column, &times, 5).unwrap();
        assert_eq!(ticks::ticks(&finer), [-1_000_000, 0, 1_704_067_200_000_001_000]);
    }

    /// The time of day was cut off without a word.
    #[test]
    fn a_date_in_milliseconds_keeps_its_time_of_day() {
        let millis = [1_700_000_000_123, -1, 0, 86_400_000];
        let dates: ArrayRef = Arc::new(Date64Array::from(millis.to_vec()));
        for (data_type, factor) in [
            (DataType::Timestamp, 1),
            (DataType::TimestampMicros, 1_000),
            (DataType::TimestampNanos, 1_000_000),
        ] {
            let times = coerce_array(&Column::new("t", data_type), &dates, 0).unwrap();
            assert_eq!(ticks::ticks(&times), millis.map(|count| count * factor));
        }
        let far: ArrayRef = Arc::new(Date64Array::from(vec![0, 253_402_300_800_000]));
        let column = Column::new("t", DataType::Timestamp);
        let told = coerce_array(&column, &far, 0).unwrap_err().to_string();
        assert!(told.contains("row 1") && !told.contains("finerTimes"), "{told}");
    }

    /// The numbers that each type of column takes from arrays of the other kind.
    #[test]
    fn numbers_change_their_type_if_they_keep_their_value() {
        use DataType::{Float32, Float64, Int32, Int64};
        let column = |data_type: DataType| {
            let mut column = Column::new("c", data_type);
            column.column_type = ColumnType::Nullable;
            column
        };
        let taken = |data_type: DataType, array: ArrayRef, texts: &[&str]| {
            let found = coerce_array(&column(data_type), &array, 0).unwrap();
            let found: Vec<String> =
                (0..found.len()).map(|row| text::of_cell(&found, row).unwrap()).collect();
            assert_eq!(found, texts, "{data_type}");
        };
        let ints = |values: &[i64]| -> ArrayRef { Arc::new(Int64Array::from(values.to_vec())) };
        let large = |values: &[u64]| -> ArrayRef { Arc::new(UInt64Array::from(values.to_vec())) };
        let floats = |values: &[f64]| -> ArrayRef { Arc::new(Float64Array::from(values.to_vec())) };
        let shorts = |values: &[f32]| -> ArrayRef { Arc::new(Float32Array::from(values.to_vec())) };
        // The value under a null does not count.
        let nulls = Some(NullBuffer::from(vec![true, false]));
        taken(Int64, Arc::new(Float64Array::new(vec![7.0, 0.5].into(), nulls.clone())), &["7", ""]);
        let beside = Int64Array::new(vec![7, (1 << 53) + 1].into(), nulls);
        taken(Float64, Arc::new(beside), &["7.0", ""]);
        taken(
            Float64,
            ints(&[1 << 53, i64::MIN]),
            &["9007199254740992.0", "-9.223372036854776e18"],
        );
        taken(Float64, large(&[1 << 63]), &["9.223372036854776e18"]);
        taken(Float32, ints(&[-(1 << 24), i64::MIN]), &["-16777216.0", "-9.223372e18"]);
        taken(Int64, floats(&[-0.0, -(2f64.powi(63))]), &["0", "-9223372036854775808"]);
        taken(Int32, floats(&[2_147_483_647.0, -2_147_483_648.0]), &["2147483647", "-2147483648"]);
        taken(Int32, shorts(&[16_777_216.0]), &["16777216"]);
        let refused = |data_type: DataType, array: ArrayRef, part: &str| {
            let error = coerce_array(&column(data_type), &array, 5).unwrap_err();
            let row = 5 + array.len() as u64 - 1;
            assert_eq!(error.place(), Some(&Place::Cell { row, column: "c".to_owned() }));
            assert!(error.to_string().contains(part), "{error}");
        };
        refused(Float64, ints(&[1, (1 << 53) + 1]), "9007199254740993");
        refused(Float64, ints(&[i64::MAX]), "9223372036854775807");
        refused(Float64, large(&[1, u64::MAX]), "18446744073709551615");
        refused(Float32, ints(&[(1 << 24) + 1]), "16777217");
        refused(Int64, floats(&[1.0, f64::NAN]), "NaN");
        refused(Int64, floats(&[1.0, 0.5]), "0.5");
        refused(Int64, floats(&[f64::NEG_INFINITY]), "-inf");
        refused(Int64, floats(&[2f64.powi(63)]), "9.223372036854776e18");
        refused(Int32, floats(&[2_147_483_648.0]), "2147483648");
        refused(Int32, shorts(&[1.0, -0.5]), "-0.5");
    }

    /// A time outside of the 584 years of nanoseconds is refused, not wrapped.
    #[test]
    fn a_time_that_nanoseconds_cannot_count_is_refused() {
        let column = Column::new("t", DataType::TimestampNanos);
        let times: ArrayRef = Arc::new(TimestampSecondArray::from(vec![0, 9_300_000_000]));
        let told = coerce_array(&column, &times, 0).unwrap_err().to_string();
        assert!(told.contains("2264-09-14") && told.contains("row 1"), "{told}");
    }

    #[test]
    fn a_misfit_names_the_value_whatever_its_arrow_type() {
        let misfit = |data_type: DataType, array: ArrayRef| {
            let column = Column::new("c", data_type);
            coerce_array(&column, &array, 5).unwrap_err().to_string()
        };
        for (told, expected) in [
            (
                misfit(DataType::Int32, Arc::new(UInt32Array::from(vec![1, 4_000_000_000]))),
                "the value 4000000000 ",
            ),
            (
                misfit(DataType::Int64, Arc::new(UInt64Array::from(vec![1, u64::MAX]))),
                "the value 18446744073709551615 ",
            ),
            (
                misfit(
                    DataType::Timestamp,
                    Arc::new(TimestampSecondArray::from(vec![1, 253_402_300_800])),
                ),
                "the value ",
            ),
            (
                misfit(DataType::Timestamp, Arc::new(Date32Array::from(vec![1, 2_932_897]))),
                "the value ",
            ),
        ] {
            assert!(told.contains(expected) && !told.contains("the value  "), "{told}");
            assert!(told.contains("row 6"), "{told}");
        }
        let year = misfit(
            DataType::Timestamp,
            Arc::new(TimestampSecondArray::from(vec![253_402_300_800])),
        );
        assert!(year.contains("10000-01-01T00:00:00"), "{year}");
    }
}
