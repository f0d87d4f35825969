//! Builds the columns of a table from the texts of CSV records.

use stationdb::arrow::array::{ArrayRef, BooleanBufferBuilder};
use stationdb::arrow::buffer::NullBuffer;
use stationdb::arrow::datatypes::TimeUnit;
use stationdb::tables::readers::{
    CUT, FINER_TIMES, TextColumn, Word, array_of_words, shortened, ticks,
};
use stationdb::tables::{Column, ColumnType, DataType, DateOrder, readers as cells};
use stationdb::{Error, Place, Result};

use super::form::{Form, time};
use super::layout::split_unit;
use super::quantity::power;
use super::quick;
use super::records::Records;
use super::value::{is_null, lost_of, number, small_number};
use crate::moment;
use crate::options::ImportOptions;
use crate::zone::Zone;

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
    if let Some(moment) = time(text, column.data_type, form, options) {
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
    if let Some(days) = number(text, form.decimal_comma)
        && let Some(why) = options.serial.map(|serial| serial.moment(days, column.data_type).err())
    {
        return format!("{shown:?} {}", why.unwrap_or("is no time"));
    }
    if options.epoch.is_none() && number(text, form.decimal_comma).is_some() {
        return format!(
            "{shown:?} is not a {} value; if the numbers of this file count time since 1970, set \
             epochUnit to S, MS, US or NS; if they are dates of a spreadsheet, set preset to \
             SPREADSHEET",
            column.data_type
        );
    }
    format!("{shown:?} is not a {} value{}", column.data_type, advice(column, form, text))
}

fn is_cut(column: &Column, options: &ImportOptions) -> bool {
    options.cut_times || column.properties.get(FINER_TIMES).is_some_and(|value| value == CUT)
}

/// One field of each record, as the values of a column.
struct Cells<'c> {
    column: &'c Column,
    records: &'c Records,
    at: usize,
    form: &'c Form,
    options: &'c ImportOptions,
    /// Whether digits of times that are finer than the column are cut off.
    cut: bool,
}

impl Cells<'_> {
    fn is_null(&self, row: usize, text: &str) -> bool {
        is_null(text, self.records.is_quoted(row, self.at), self.column.data_type, self.options)
    }

    fn text(&self, row: usize) -> Option<&str> {
        self.records.get(row, self.at).filter(|text| !self.is_null(row, text))
    }

    fn bad(&self, row: usize, text: &str) -> String {
        let (column, form) = (self.column, self.form);
        let shown = shortened(text);
        if self.millis(row).is_none() {
            let millis = self.form.millis.and_then(|at| self.records.get(row, at));
            return format!(
                "the milliseconds of {shown:?} are {:?}, which is no number from 0 to 999; set \
                 preset to NONE to read it as plain CSV",
                shortened(millis.unwrap_or_default())
            );
        }
        if let Some(unit) = &form.unit {
            return format!(
                "{shown:?} is no number in {unit:?}, nor in the same unit with another prefix{}",
                advice(column, form, text)
            );
        }
        if column.data_type.is_time() {
            return bad_time(text, column, form, self.options);
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
    }

    fn fault(&self, row: usize, text: Option<&str>) -> Error {
        let (column, records) = (self.column, self.records);
        let what = match text {
            Some(text) => self.bad(row, text),
            None => format!(
                "column {:?} is not NULLABLE, so it cannot contain null, which {:?} is",
                column.name,
                records.get(row, self.at).unwrap_or_default()
            ),
        };
        let place = Place::Line { line: records.line(row), column: Some(column.name.clone()) };
        Error::invalid(what).at(place)
    }

    /// Refuses numbers or times in a column that has no value in the first rows, and is one of texts
    /// for that reason alone. Texts among them say that it is one of texts.
    ///
    /// # Errors
    /// `InvalidArgument` with line and column of the first one.
    fn check_unseen(&self) -> Result<()> {
        if !self.form.is_unseen {
            return Ok(());
        }
        let rows = 0..self.records.len();
        let mut texts = rows.filter_map(|row| Some((row, self.text(row)?))).peekable();
        let Some((row, first)) = texts.peek().copied() else { return Ok(()) };
        let is_number = |text: &str| number(text, false).is_some() || number(text, true).is_some();
        let (what, wanted) = if is_number(first) {
            ("number", DataType::Float64)
        } else {
            ("time", DataType::Timestamp)
        };
        let is_like = |(_, text): (usize, &str)| match wanted {
            DataType::Float64 => is_number(text),
            _ => moment::is_time(text),
        };
        if !texts.all(is_like) {
            return Ok(());
        }
        let (name, shown) = (&self.column.name, shortened(first));
        let error = Error::invalid(format!(
            "{shown:?} is a {what}, and the first rows have no value in the column, so its type is \
             not known: say it with columnTypes, such as {{{name:?}: {:?}}}, or keep the texts with \
             {{{name:?}: \"STRING\"}}",
            wanted.as_str()
        ));
        let place = Place::Line { line: self.records.line(row), column: Some(name.clone()) };
        Err(error.at(place))
    }

    /// The milliseconds of the time of a row, from the field that has them: 0 if it is empty, or if
    /// there is none. `None` for what is no number of them.
    fn millis(&self, row: usize) -> Option<u32> {
        let text = self.form.millis.and_then(|at| self.records.get(row, at));
        let text = text.map(str::trim).filter(|text| !text.is_empty());
        text.map_or(Some(0), |text| {
            let is_digits = text.len() <= 3 && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|_| is_digits)
        })
    }

    /// The word of a text of a row in any spelling.
    fn word(&self, row: usize, text: &str) -> Option<u64> {
        let (column, form) = (self.column, self.form);
        let comma = form.decimal_comma;
        let (text, power) = match &form.unit {
            Some(unit) => {
                let (value, behind) = split_unit(text);
                (value, power(behind.trim(), unit)?)
            }
            None => (text, 0),
        };
        let word = match column.data_type {
            DataType::Float32 => small_number(text, comma).map(Word::word),
            // Digits and power are one decimal number, which is rounded once.
            DataType::Float64 if power != 0 => {
                number(&format!("{text}e{power}"), comma).map(Word::word)
            }
            DataType::Float64 => number(text, comma).map(Word::word),
            data_type if data_type.is_time() => {
                let moment = time(text, data_type, form, self.options)?;
                let moment = moment.with_millis(self.millis(row)?);
                let is_told = !form.is_zoned || moment.offset.is_some();
                let count = moment.count(data_type, self.options.zone, self.cut).ok();
                count.filter(|_| is_told).map(Word::word)
            }
            data_type => cells::parse_word(data_type, text.trim()),
        };
        word.filter(|_| changed(text, column, form).is_none())
    }

    /// The words of the column. `quick` reads the texts in common spellings, of which none is null by
    /// default.
    fn words(&self, quick: impl Fn(&str) -> Option<u64>) -> Result<ArrayRef> {
        let rows = self.records.len();
        // A number may be null, too.
        let names_nulls = self.options.null_texts.is_some() || self.options.has_scpi_nulls;
        let is_nullable = self.column.column_type == ColumnType::Nullable;
        let mut words = Vec::with_capacity(rows);
        let mut valid: Option<BooleanBufferBuilder> = None;
        for row in 0..rows {
            let text = self.records.get(row, self.at);
            let text = text.filter(|text| !names_nulls || !self.is_null(row, text));
            let word = match text {
                Some(text) => match quick(text) {
                    Some(word) => Some(word),
                    None if !names_nulls && self.is_null(row, text) => None,
                    None => Some(self.word(row, text).ok_or_else(|| self.fault(row, Some(text)))?),
                },
                None => None,
            };
            if word.is_none() && !is_nullable {
                return Err(self.fault(row, None));
            }
            if word.is_none() && valid.is_none() {
                let mut all = BooleanBufferBuilder::new(rows);
                all.append_n(row, true);
                valid = Some(all);
            }
            if let Some(valid) = &mut valid {
                valid.append(word.is_some());
            }
            words.push(word.unwrap_or_default());
        }
        let nulls = valid.map(|mut valid| NullBuffer::new(valid.finish()));
        array_of_words(self.column.data_type, words, nulls)
            .ok_or_else(|| Error::corrupt("internal error: a column of texts has words; report it"))
    }

    /// The word of a time in a common spelling.
    fn quick_time(&self, unit: TimeUnit, text: &str) -> Option<u64> {
        let time = quick::time(text).filter(|_| self.form.millis.is_none())?;
        let is_known = !self.form.is_zoned && matches!(self.options.zone, Zone::Utc);
        if !time.is_utc && !is_known {
            return None;
        }
        Some(ticks::of_parts(time.seconds, time.nanos, unit, self.cut)?.word())
    }
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
    let cells = Cells { column, records, at, form, options, cut: is_cut(column, options) };
    let mark = if form.decimal_comma { b',' } else { b'.' };
    match column.data_type {
        DataType::String => {
            cells.check_unseen()?;
            let text = |row: usize| cells.text(row);
            let fault = |row: usize, text: Option<&str>| cells.fault(row, text);
            let texts = TextColumn { column, rows: records.len(), text: &text, fault: &fault };
            texts.texts(records.bytes(at))
        }
        DataType::Int64 => cells.words(|text| quick::whole(text).map(Word::word)),
        DataType::Int32 => cells.words(|text| {
            quick::whole(text).filter(|whole| i32::try_from(*whole).is_ok()).map(Word::word)
        }),
        DataType::Float64 if form.unit.is_none() => {
            cells.words(|text| quick::real(text, mark).map(Word::word))
        }
        data_type => match ticks::unit_of(data_type) {
            Some(unit) => cells.words(|text| cells.quick_time(unit, text)),
            None => cells.words(|_| None),
        },
    }
}
