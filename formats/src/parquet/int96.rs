//! Times in the old Parquet type INT96: a day and the nanoseconds of that day. The reader counts
//! nanoseconds and wraps around outside of the years 1677 to 2262, so each value is checked first.

use chrono::{DateTime, TimeDelta};
use parquet::column::page::PageReader;
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{Int96, Int96Type};
use parquet::schema::types::ColumnDescPtr;
use stationdb::Error;

use super::source::ParquetSource;

/// Values that are read at a time.
const VALUES: usize = 8 * 1024;
/// The day number of 1970-01-01.
const FIRST_DAY: i64 = 2_440_588;
const DAY_SECONDS: i64 = 86_400;
const DAY_NANOS: u64 = 86_400_000_000_000;

/// The instant of a value, as nanoseconds since 1970, or its text.
fn nanos(value: &Int96) -> std::result::Result<i64, String> {
    let [low, high, day] = match value.data() {
        [low, high, day] => [*low, *high, *day],
        _ => return Err("of three words".to_owned()),
    };
    let of_day = u64::from(low) | (u64::from(high) << 32);
    if of_day >= DAY_NANOS {
        return Err(format!("of day {day} and {of_day} nanoseconds"));
    }
    let days = i64::from(day.cast_signed()) - FIRST_DAY;
    let of_day = of_day.cast_signed();
    // In 128 bits: before 1970 the product alone may lie below the least count.
    let count = i128::from(days) * i128::from(DAY_NANOS) + i128::from(of_day);
    i64::try_from(count).map_err(|_| {
        DateTime::from_timestamp(days * DAY_SECONDS, 0)
            .and_then(|midnight| midnight.checked_add_signed(TimeDelta::nanoseconds(of_day)))
            .map_or_else(
                || format!("of day {day}"),
                |time| time.format("%Y-%m-%dT%H:%M:%S%.9f").to_string(),
            )
    })
}

/// Refuses the first value of a column chunk that nanoseconds cannot count; returns its row.
///
/// # Errors
/// `InvalidArgument` with the row in its row group, and the value.
pub(super) fn check(
    source: &ParquetSource,
    descr: ColumnDescPtr,
    pages: Box<dyn PageReader>,
) -> std::result::Result<(), (Option<u64>, Error)> {
    let most = descr.max_def_level();
    let mut reader = ColumnReaderImpl::<Int96Type>::new(descr, pages);
    let mut row = 0u64;
    loop {
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        let (records, ..) = reader
            .read_records(VALUES, Some(&mut levels), None, &mut values)
            .map_err(|error| (None, source.error(error)))?;
        if records == 0 {
            return Ok(());
        }
        if let Some((at, text)) =
            values.iter().enumerate().find_map(|(at, value)| Some((at, nanos(value).err()?)))
        {
            let mut rows = (row..).zip(&levels).filter(|(_, level)| **level == most);
            let row = if most == 0 { Some(row + at as u64) } else { rows.nth(at).map(|at| at.0) };
            let error = Error::invalid(format!(
                "the INT96 time {text} cannot be counted in nanoseconds, which reach from 1677 to \
                 2262; write the column as a timestamp in microseconds"
            ));
            return Err((row, error));
        }
        row += records as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(day: i64, nanos: u64) -> Int96 {
        let mut value = Int96::new();
        value.set_data(nanos as u32, (nanos >> 32) as u32, (FIRST_DAY + day) as u32);
        value
    }

    #[test]
    fn a_value_is_counted_or_shown() {
        assert_eq!(nanos(&value(0, 7)), Ok(7));
        assert_eq!(nanos(&value(-1, DAY_NANOS - 1)), Ok(-1));
        // The last and the first instant that nanoseconds count.
        assert_eq!(nanos(&value(106_751, 85_636_854_775_807)), Ok(i64::MAX));
        assert_eq!(nanos(&value(-106_752, 763_145_224_192)), Ok(i64::MIN));
        for (day, of_day, text) in [
            (106_751, 85_636_854_775_808, "2262-04-11T23:47:16.854775808"),
            (-106_752, 763_145_224_191, "1677-09-21T00:12:43.145224191"),
            (-719_162, 0, "0001-01-01T00:00:00.000000000"),
            (0, DAY_NANOS, "of day 2440588 and 86400000000000 nanoseconds"),
        ] {
            assert_eq!(nanos(&value(day, of_day)), Err(text.to_owned()));
        }
    }
}
