//! Results from CSV, in which a row is a measurement, or a unit.
//!
//! Columns have the members of results by their usual names, or by
//! [`columns`](crate::ResultOptions::columns). Where a column has the values of measurements and another
//! one their names, rows with one serial number and run, or start, become one result. Otherwise
//! each row becomes a result, and each column of numbers a measurement of it.
//!
//! ```
//! use stationdb::prelude::*;
//! use stationdb::results::StatusType;
//! use stationdb::{Identity, Store};
//! use stationdb_formats::results_csv::{self, ImportOptions};
//!
//! let directory = tempfile::tempdir()?;
//! let store = Store::open(directory.path().join("store"))?;
//! let session = store.session(Identity::user("ada"));
//! let text = b"serial,status,vout [V]\nlow limit,,4.9\nhigh limit,,5.1\nSN-1,PASS,5.01\n";
//! let imported = results_csv::import(&session, text, &ImportOptions::new())?;
//! assert_eq!((imported.results.len(), imported.measurements), (1, 1));
//! let result = session.get_result(&imported.results[0])?;
//! assert_eq!(result.status.map(|status| status.status_type), Some(StatusType::Passed));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod columns;
mod judge;
mod long;
mod marks;
mod unit;
mod wide;

use std::path::Path;

use stationdb::tables::DateOrder;
use stationdb::{Control, Error, Result, Session};

use self::columns::{Columns, Member};
use self::marks::{Marks, looks_like_number};
use self::unit::Reading;
use crate::csv::Texts;
use crate::limits::{FOOTER_LINES, RESULTS_CSV_BYTES, RESULTS_CSV_VALUES};
use crate::moment::{is_time, parse};
use crate::options::ImportOptions as TextOptions;
use crate::result_format::ResultFormat;
use crate::results::commit::Kind;
use crate::results::step::NewResult;
use crate::results::whole::WholeFormat;
use crate::results::{Clock, ResultFile, ResultsReport, Told};

pub use crate::results::ResultOptions as ImportOptions;

/// Imports a text.
///
/// # Errors
/// `InvalidArgument` for bytes that are no CSV and for a start that is no time, with line and
/// column, and for options that name no member or column; `LimitExceeded` for more than 256 MiB,
/// 16,000,000 values, or 99 groups around a step; `Conflict` for a file that a visible result came from, with the id of that
/// result, unless [`again`](crate::ResultOptions::again) is set; the errors of creating
/// results, steps and files. After an error nothing was changed.
///
/// ```
/// # use stationdb::prelude::*;
/// # use stationdb::{Identity, Store};
/// # use stationdb_formats::results_csv::{self, ImportOptions};
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("store"))?;
/// # let session = store.session(Identity::user("ada"));
/// let text = b"unit,test,reading\nU1,Vout,5.01\nU1,Iout,0.2\n";
/// let options = ImportOptions::new().map("serialNumber", "unit");
/// let imported = results_csv::import(&session, text, &options)?;
/// assert_eq!((imported.results.len(), imported.steps), (1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn import(session: &Session, bytes: &[u8], options: &ImportOptions) -> Result<ResultsReport> {
    WHOLE.import(session, bytes, options)
}

static WHOLE: WholeFormat = WholeFormat {
    kind: Kind {
        format: ResultFormat::Csv,
        noun: "the CSV file of results",
        sum_property: "results_csv.sha256",
        extension: "results.csv",
        mime_type: "text/csv",
    },
    read,
};

/// Imports the text in a file.
///
/// # Errors
/// As [`import`]; `Io` for a file that cannot be read. The error names the file.
///
/// ```
/// # use stationdb::prelude::*;
/// # use stationdb::{Identity, Store};
/// # use stationdb_formats::results_csv::{self, ImportOptions};
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("store"))?;
/// # let session = store.session(Identity::user("ada"));
/// let error = results_csv::import_file(&session, "none.csv", &ImportOptions::new()).unwrap_err();
/// assert!(error.message().contains("none.csv"), "{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn import_file(
    session: &Session,
    path: impl AsRef<Path>,
    options: &ImportOptions,
) -> Result<ResultsReport> {
    WHOLE.import_file(session, path.as_ref(), options)
}

/// The format in the table of formats. No bytes tell it from other CSV.
pub(crate) static FILE: ResultFile = ResultFile {
    is_start: |_| false,
    extensions: &[],
    import: |session, file, options, control| WHOLE.import_open(session, file, options, control),
};

/// The results of a text.
fn read(
    bytes: &[u8],
    options: &ImportOptions,
    control: &Control,
) -> Result<(Vec<NewResult>, Told)> {
    let context = |error: Error| error.context("reading CSV of results");
    if bytes.len() > RESULTS_CSV_BYTES {
        return Err(context(Error::limit(format!(
            "the text has more than {RESULTS_CSV_BYTES} bytes; write fewer results into a file"
        ))));
    }
    let separator = options.separator.map(|separator| {
        u8::try_from(separator).ok().filter(u8::is_ascii).ok_or_else(|| {
            let error = Error::invalid(format!("the separator {separator:?} is not ASCII"));
            error.at_member("separator")
        })
    });
    let text_options = TextOptions {
        separator: separator.transpose()?,
        skip_lines: options.skip_lines,
        decimal_comma: options.decimal_comma,
        short_rows: options.short_rows,
        footer_lines: options.footer_lines.min(FOOTER_LINES),
        ..TextOptions::default()
    };
    let texts = Texts::read(bytes, &text_options, RESULTS_CSV_VALUES).map_err(context)?;
    let mut clock = Clock::new(options.time_zone.as_deref())?;
    clock.order = options.date_order;
    let mut told = Told::default();
    if let Some(line) = texts.assumed_from {
        told.note(line, "bytes are not UTF-8, so the text was read as Windows-1252 from there on");
    }
    texts.told.iter().for_each(|what| told.note(0, what.as_str()));
    let has_numbers = |column: usize| has_numbers(&texts, column);
    let mut columns = Columns::find(texts.names(), options, &has_numbers).map_err(context)?;
    if !columns.no_limits.is_empty() {
        let names = columns.no_limits.iter().filter_map(|at| texts.names().get(*at));
        let names: Vec<String> = names.map(|name| format!("{name:?}")).collect();
        told.note(
            0,
            format!(
                "no column has the values of measurements, so no limits are read from {}; if a column \
                 has the values, name it with columns, as that of measurement",
                names.join(" and ")
            ),
        );
    }
    check_guesses(&texts, &mut columns, &clock, &mut told);
    let marks = Marks::find(&texts, &columns, options.decimal_comma.or(texts.decimal_comma));
    let mut reading = Reading { texts: &texts, columns: &columns, options, control, clock, marks };
    if reading.clock.order.is_none() {
        reading.clock.order = order_of(&reading, &mut told);
    }
    let results = if columns.is_long {
        long::results(&reading, &mut told)
    } else {
        wide::results(&reading, &mut told)
    };
    let results = results.map_err(context)?;
    if results.is_empty() {
        return Err(context(Error::invalid("the text has names and no rows of results")));
    }
    if results.iter().all(|result| result.steps.is_empty()) {
        told.note(0, "no column has measurements; name them with measurements or columns");
    }
    Ok((results, told))
}

/// Whether at least half of the values of a column are numbers, and one of them is no status.
fn has_numbers(texts: &Texts, column: usize) -> bool {
    let (mut all, mut numbers, mut others) = (0u64, 0u64, 0u64);
    for text in (0..texts.len()).filter_map(|row| texts.get(row, column)) {
        if unit::is_no_value(text) {
            continue;
        }
        all += 1;
        if looks_like_number(text) {
            numbers += 1;
            others += u64::from(!matches!(text, "0" | "1"));
        }
    }
    others > 0 && 2 * numbers >= all
}

/// Takes back a column that was guessed to have the start, and does not. A time of day is only one
/// beside a start that is a date alone.
fn check_guesses(texts: &Texts, columns: &mut Columns, clock: &Clock, told: &mut Told) {
    let width = texts.names().len();
    let first = |column: Option<usize>| {
        let column = column?;
        (0..texts.len()).find_map(|row| texts.get(row, column))
    };
    let start = first(columns.get(Member::StartedAt));
    if start.is_none_or(|start| start.contains(':')) {
        columns.take_away(Member::TimeOfDay, width);
    }
    let Some(start) = start else { return };
    let text = match first(columns.get(Member::TimeOfDay)) {
        Some(time) => format!("{start} {time}"),
        None => start.to_owned(),
    };
    // A date whose order is not known is no wrong guess.
    let is_time = clock.read(&text).is_ok_and(|time| time.is_some()) || is_time(&text);
    if !is_time && columns.take_away(Member::StartedAt, width) {
        columns.take_away(Member::TimeOfDay, width);
        told.note(0, format!("the start {text:?} is no time, so its column is no member"));
    }
}

/// The order of day and month in which the starts are times, if there is only one.
fn order_of(reading: &Reading<'_>, told: &mut Told) -> Option<DateOrder> {
    let starts = || (0..reading.texts.len()).filter_map(|row| reading.start_text(row));
    let fits = |order: Option<DateOrder>| starts().all(|text| parse(&text, order).is_some());
    if fits(None) {
        return None;
    }
    let both = [DateOrder::DayFirst, DateOrder::MonthFirst];
    match both.into_iter().filter(|order| fits(Some(*order))).collect::<Vec<_>>()[..] {
        [only] => {
            let first = if only == DateOrder::DayFirst { "day" } else { "month" };
            told.note(
                0,
                format!("dates have the {first} first, as one day is above 12; dateOrder decides"),
            );
            Some(only)
        }
        _ => None,
    }
}

/// How many results the bytes of a file become, without a store.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn count(bytes: &[u8]) -> Result<usize> {
    read(bytes, &ImportOptions::new(), &Control::default()).map(|(results, _)| results.len())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::time::{Duration, Instant};

    use stationdb::ErrorKind;

    use super::*;

    /// An import that is cancelled stops between rows.
    #[test]
    fn rows_are_read_until_the_import_is_to_stop() {
        let stopped = Control::default();
        stopped.cancel();
        for text in ["sn,step,value\nS,s,1\n", "sn,x\nS,1\n"] {
            let error = read(text.as_bytes(), &ImportOptions::new(), &stopped).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled, "{text}: {error}");
        }
    }

    /// Rows and columns cost the same however many there are.
    #[test]
    fn many_rows_of_a_step_and_many_columns_are_read_quickly() {
        let start = Instant::now();
        let mut text = "sn,step,name,value\n".to_owned();
        for at in 0..200_000 {
            writeln!(text, "S,s,n{at},1").unwrap();
        }
        let (results, _) =
            read(text.as_bytes(), &ImportOptions::new(), &Control::default()).unwrap();
        assert_eq!((results.len(), results[0].steps.len()), (1, 1));
        assert_eq!(results[0].steps[0].parameters.len(), 200_000);
        let names: Vec<String> = (0..8_000).map(|at| format!("c{at}")).collect();
        let row = vec!["x"; 4_000].join(",") + &",1".repeat(4_000) + "\n";
        let text = names.join(",") + "\n" + &row.repeat(50);
        let (results, _) =
            read(text.as_bytes(), &ImportOptions::new(), &Control::default()).unwrap();
        assert_eq!((results.len(), results[0].steps.len()), (50, 4_000));
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    }
}
