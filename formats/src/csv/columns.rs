//! Builds the columns of a table from the texts of CSV records.

use stationdb::arrow::array::ArrayRef;
use stationdb::tables::readers::{CUT, FINER_TIMES, TextColumn, Word, shortened};
use stationdb::tables::{Column, DataType, DateOrder, readers as cells};
use stationdb::{Error, Place, Result};

use super::form::{Form, time};
use super::records::Records;
use super::value::{is_null, lost_of, number, small_number};
use crate::moment;
use crate::options::ImportOptions;

/// What is wrong with a text, and what to do.
fn advice(column: &Column, form: &Form, text: &str) -> String {
    let is_number = matches!(column.data_type, DataType::Float32 | DataType::Float64);
    if is_number && text.contains(',') && !form.decimal_comma {
        return "; if it has a decimal comma, set decimalSeparator to \",\"".to_owned();
    }
    if is_number && text.contains('.') && form.decimal_comma {
        return "; decimals have a comma here, unless decimalSeparator is \".\"".to_owned();
    }
    if form.is_inferred {
        return format!(
            "; the type comes from the first rows: give the column another one with columnTypes, \
             such as {{{:?}: {:?}}}, or name the text in nullTexts if it means null",
            column.name,
            wider(column.data_type).as_str()
        );
    }
    "; if it means null, name it in nullTexts".to_owned()
}

/// What an inferred type would change of a value behind the first rows. A type that the caller
/// declares is taken at its word.
fn changed(text: &str, column: &Column, form: &Form) -> Option<&'static str> {
    form.is_inferred.then(|| lost_of(text, column.data_type, form.decimal_comma)).flatten()
}

/// A type that holds more.
fn wider(data_type: DataType) -> DataType {
    match data_type {
        DataType::Int32 => DataType::Int64,
        DataType::Int64 | DataType::Float32 => DataType::Float64,
        _ => DataType::String,
    }
}

fn bad_time(text: &str, column: &Column, form: &Form, options: &ImportOptions) -> String {
    let shown = shortened(text);
    if let Some(moment) = time(text, form, options) {
        if form.is_zoned && moment.offset.is_none() {
            return format!(
                "{shown:?} has no zone, and the first rows name theirs; say with timeZone what \
                 such times are, for instance \"UTC\""
            );
        }
        let cut = is_cut(column, options);
        let why = moment.count(column.data_type, options.zone, cut).err();
        return format!("{shown:?} {}", why.unwrap_or("is no time"));
    }
    let both = [DateOrder::DayFirst, DateOrder::MonthFirst];
    if form.order.is_none() && both.iter().any(|order| moment::parse(text, Some(*order)).is_some())
    {
        return format!(
            "the order of day and month of {shown:?} is unknown; say it with dateOrder"
        );
    }
    if let Some(unit) = options.epoch
        && moment::counted(text, unit, !form.decimal_comma).is_some()
    {
        let mark = if form.decimal_comma { "comma" } else { "point" };
        return format!(
            "{shown:?} is not a {} value; decimals have a {mark} here, unless decimalSeparator \
             says otherwise",
            column.data_type
        );
    }
    if options.epoch.is_none() && number(text, form.decimal_comma).is_some() {
        return format!(
            "{shown:?} is not a {} value; if the numbers of this file count time since 1970, set \
             epochUnit to S, MS, US or NS",
            column.data_type
        );
    }
    format!("{shown:?} is not a {} value{}", column.data_type, advice(column, form, text))
}

fn is_cut(column: &Column, options: &ImportOptions) -> bool {
    options.cut_times || column.properties.get(FINER_TIMES).is_some_and(|value| value == CUT)
}

/// Builds one column from a field of each record.
///
/// # Errors
/// `InvalidArgument` with line, column and value for a value that does not fit and for a null in a
/// column that is not NULLABLE; `LimitExceeded` for too much text.
pub(super) fn build(
    column: &Column,
    records: &Records,
    at: usize,
    form: &Form,
    options: &ImportOptions,
) -> Result<ArrayRef> {
    let text = |row: usize| {
        let text = records.get(row, at)?;
        let quoted = records.is_quoted(row, at);
        (!is_null(text, quoted, column.data_type, options)).then_some(text)
    };
    let bad = |text: &str| {
        let shown = shortened(text);
        if column.data_type.is_time() {
            return bad_time(text, column, form, options);
        }
        if let Some(why) = changed(text, column, form) {
            return format!(
                "{shown:?} {why}; the first rows have numbers: keep the texts with columnTypes \
                 {{{:?}: \"STRING\"}}, or take them as numbers with {:?}",
                column.name,
                column.data_type.as_str()
            );
        }
        format!("{shown:?} is not a {} value{}", column.data_type, advice(column, form, text))
    };
    let fault = |row: usize, text: Option<&str>| {
        let what = match text {
            Some(text) => bad(text),
            None => format!(
                "column {:?} is not NULLABLE, so it cannot contain null, which {:?} is",
                column.name,
                records.get(row, at).unwrap_or_default()
            ),
        };
        let place = Place::Line { line: records.line(row), column: Some(column.name.clone()) };
        Error::invalid(what).at(place)
    };
    let comma = form.decimal_comma;
    let cut = is_cut(column, options);
    let word = |text: &str| match column.data_type {
        DataType::Float32 => small_number(text, comma).map(Word::word),
        DataType::Float64 => number(text, comma).map(Word::word),
        data_type if data_type.is_time() => {
            let moment = time(text, form, options)?;
            let is_told = !form.is_zoned || moment.offset.is_some();
            let count = moment.count(data_type, options.zone, cut).ok().filter(|_| is_told)?;
            Some(count.word())
        }
        data_type => cells::parse_word(data_type, text.trim()),
    };
    let texts = TextColumn { column, rows: records.len(), text: &text, fault: &fault };
    if column.data_type == DataType::String {
        return texts.texts(texts.bytes());
    }
    texts.words(&|text| word(text).filter(|_| changed(text, column, form).is_none()))
}
