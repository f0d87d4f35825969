//! Exact arithmetic of the values of cells, without the engine and without a calendar of others.

use std::cmp::Ordering;

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type, TimeUnit};
use datafusion::arrow::util::display::array_value_to_string;
use stationdb_sql::datafusion;

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i128),
    /// The bits of a float with one zero and one NaN.
    Float(u64),
    /// Nanoseconds since 1970.
    Time(i128),
    Text(String),
}

impl Value {
    pub fn float(value: f64) -> Self {
        let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
        Self::Float(value.to_bits())
    }
}

/// The order of two values; none where one is null.
pub fn order(left: &Value, right: &Value) -> Option<Ordering> {
    use Value::{Float, Int, Null, Time};
    Some(match (left, right) {
        (Null, _) | (_, Null) => return None,
        (Int(left), Int(right)) => left.cmp(right),
        (Time(left), Time(right)) => left.cmp(right),
        (Float(left), Float(right)) => floats(f64::from_bits(*left), f64::from_bits(*right)),
        (Int(left), Float(right)) => mixed(*left, f64::from_bits(*right)),
        (Float(left), Int(right)) => mixed(*right, f64::from_bits(*left)).reverse(),
        _ => panic!("{left:?} is not compared with {right:?}"),
    })
}

fn floats(left: f64, right: f64) -> Ordering {
    match (left.is_nan(), right.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => left.partial_cmp(&right).unwrap(),
    }
}

/// An integer and a float by the whole numbers of its mantissa and exponent.
fn mixed(whole: i128, float: f64) -> Ordering {
    if float.is_nan() || float == f64::INFINITY {
        return Ordering::Less;
    }
    if float == f64::NEG_INFINITY {
        return Ordering::Greater;
    }
    if float.abs() >= 1e30 {
        return if float > 0.0 { Ordering::Less } else { Ordering::Greater };
    }
    let (bits, sign) = (float.to_bits(), if float < 0.0 { -1 } else { 1 });
    let exponent = i32::try_from(bits >> 52 & 0x7ff).unwrap();
    let mantissa = i128::from(bits & ((1 << 52) - 1)) | i128::from(exponent > 0) << 52;
    let shift = exponent.max(1) - 1075;
    match shift {
        0.. => whole.cmp(&(sign * (mantissa << shift))),
        // Both sides times a power of two; below 2^-60 only the sign counts.
        -60..0 => (whole << -shift).cmp(&(sign * mantissa)),
        _ if whole == 0 && mantissa != 0 => {
            if sign > 0 {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
        _ => whole.cmp(&0),
    }
}

/// The rows of an answer.
pub fn cells(batches: &[RecordBatch]) -> Vec<Vec<Value>> {
    let row =
        |batch: &RecordBatch, row| batch.columns().iter().map(|array| cell(array, row)).collect();
    batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |at| row(batch, at))).collect()
}

fn cell(array: &dyn Array, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Float32 | DataType::Float64 => {
            let wide = cast(array, &DataType::Float64).unwrap();
            let value = wide.as_primitive::<Float64Type>().value(row);
            assert!(value.is_sign_positive() || !(value.is_nan() || value == 0.0), "a sign");
            Value::float(value)
        }
        DataType::Timestamp(unit, _) => {
            let counts = cast(array, &DataType::Int64).unwrap();
            let count = counts.as_primitive::<Int64Type>().value(row);
            let scale = match unit {
                TimeUnit::Second => 1_000_000_000,
                TimeUnit::Millisecond => 1_000_000,
                TimeUnit::Microsecond => 1000,
                TimeUnit::Nanosecond => 1,
            };
            Value::Time(i128::from(count) * scale)
        }
        kind if kind.is_integer() => {
            Value::Int(array_value_to_string(array, row).unwrap().parse().unwrap())
        }
        _ => Value::Text(array_value_to_string(array, row).unwrap()),
    }
}

const SECOND: i128 = 1_000_000_000;
const DAY: i128 = 86_400 * SECOND;

fn is_leap(year: i128) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days before a year since the year 1.
fn days_before(year: i128) -> i128 {
    let past = year - 1;
    past * 365 + past.div_euclid(4) - past.div_euclid(100) + past.div_euclid(400)
}

fn lengths(year: i128) -> [i128; 12] {
    let february = if is_leap(year) { 29 } else { 28 };
    [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
}

/// Days since 1970 of a date.
fn days_of(year: i128, month: i128, day: i128) -> i128 {
    let months: i128 = lengths(year)[..(month - 1) as usize].iter().sum();
    days_before(year) - days_before(1970) + months + day - 1
}

/// Year, month, day, and the day of the year.
fn date_of(days: i128) -> (i128, i128, i128, i128) {
    let mut year = 1970 + days.div_euclid(366);
    while days >= days_before(year + 1) - days_before(1970) {
        year += 1;
    }
    while days < days_before(year) - days_before(1970) {
        year -= 1;
    }
    let of_year = days - (days_before(year) - days_before(1970));
    let (mut month, mut day) = (1, of_year);
    for length in lengths(year) {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    (year, month, day + 1, of_year + 1)
}

/// Nanoseconds since 1970 of a text with digits of any number.
pub fn instant(text: &str) -> i128 {
    let number = |text: &str| text.parse::<i128>().unwrap();
    let days = days_of(number(&text[..4]), number(&text[5..7]), number(&text[8..10]));
    let Some(clock) = text.get(11..) else { return days * DAY };
    let (clock, offset) = match clock.split_once('+') {
        Some((clock, offset)) => (clock, number(&offset[..2]) * 3600 + number(&offset[3..]) * 60),
        None => (clock.trim_end_matches('Z'), 0),
    };
    let seconds = number(&clock[..2]) * 3600 + number(&clock[3..5]) * 60 + number(&clock[6..8]);
    let fraction = clock.get(9..).map_or(0, |digits| number(&format!("{digits:0<9}")));
    days * DAY + (seconds - offset) * SECOND + fraction
}

pub fn text_of_instant(nanos: i128) -> String {
    let (year, month, day, _) = date_of(nanos.div_euclid(DAY));
    let rest = nanos.rem_euclid(DAY);
    let (hour, minute) = (rest / (3600 * SECOND), rest / (60 * SECOND) % 60);
    let (second, fraction) = (rest / SECOND % 60, rest % SECOND);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:09}")
}

pub const PARTS: [&str; 10] = [
    "microsecond",
    "millisecond",
    "second",
    "minute",
    "hour",
    "day",
    "week",
    "month",
    "quarter",
    "year",
];

/// The first instant of the part that this one is in.
pub fn begin_of(part: &str, nanos: i128) -> i128 {
    let floor = |width: i128| nanos.div_euclid(width) * width;
    let days = nanos.div_euclid(DAY);
    let (year, month, ..) = date_of(days);
    match part {
        "microsecond" => floor(1000),
        "millisecond" => floor(1_000_000),
        "second" => floor(SECOND),
        "minute" => floor(60 * SECOND),
        "hour" => floor(3600 * SECOND),
        "day" => floor(DAY),
        // Monday; the first of January 1970 was a Thursday.
        "week" => (days - (days + 3).rem_euclid(7)) * DAY,
        "month" => days_of(year, month, 1) * DAY,
        "quarter" => days_of(year, (month - 1) / 3 * 3 + 1, 1) * DAY,
        _ => days_of(year, 1, 1) * DAY,
    }
}

/// The number of a field of an instant.
pub fn field_of(field: &str, nanos: i128) -> i128 {
    let days = nanos.div_euclid(DAY);
    let (year, month, day, of_year) = date_of(days);
    let rest = nanos.rem_euclid(DAY);
    match field {
        "year" => year,
        "quarter" => (month - 1) / 3 + 1,
        "month" => month,
        "week" => {
            // The week of the Thursday of the same week.
            let thursday = days - (days + 3).rem_euclid(7) + 3;
            (date_of(thursday).3 - 1) / 7 + 1
        }
        "day" => day,
        "doy" => of_year,
        "dow" => (days + 4).rem_euclid(7),
        "hour" => rest / (3600 * SECOND),
        "minute" => rest / (60 * SECOND) % 60,
        _ => rest / SECOND % 60,
    }
}
