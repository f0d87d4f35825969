//! How the texts of one CSV column are read: decided from its first values, then applied to all.

use chrono::FixedOffset;
use stationdb::tables::{DataType, DateOrder, readers as cells};

use super::layout::{has_unit_behind, split_unit};
use super::odd;
use super::records::Records;
use super::value::{has_leading_zero, is_null, loses_digits, number, real};
use crate::moment::{self, Moment};
use crate::options::{ImportOptions, unit_name};
use crate::zone::Zone;

/// How the values of a column are read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Form {
    pub(super) decimal_comma: bool,
    pub(super) order: Option<DateOrder>,
    /// Whether the type comes from the first values of the file.
    pub(super) is_inferred: bool,
    /// Whether the first values name their zones, so that the report names none for others.
    pub(super) is_zoned: bool,
    /// The unit behind each number.
    pub(super) unit: Option<String>,
}

/// What was decided for a column, and why.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    pub(super) data_type: DataType,
    pub(super) form: Form,
    pub(super) why: String,
    pub(super) zone: Option<String>,
    /// Whether the column is text because nobody but the caller can know what its values mean.
    pub(super) is_doubtful: bool,
}

/// The decimal mark of a file, and what decides it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Mark {
    pub(super) is_comma: bool,
    /// A value whose point can only be a decimal mark.
    point: Option<String>,
    /// A value whose comma may be a decimal mark or separate thousands, where nothing decides.
    unknown: Option<String>,
}

/// The line and text of the first value that fails a test.
fn first_other<'r>(
    texts: &[(u64, &'r str)],
    passes: impl Fn(&str) -> bool,
) -> Option<(u64, &'r str)> {
    texts.iter().find(|(_, text)| !passes(text)).copied()
}

fn shown((line, text): (u64, &str)) -> String {
    let start: String = text.chars().take(40).collect();
    format!("{start:?} in line {line}")
}

/// A time in an order that was found, or is told.
fn time_in(text: &str, order: Option<DateOrder>, options: &ImportOptions) -> Option<Moment> {
    if order.is_some() && order == options.date_order {
        return moment::parse_told(text, order);
    }
    moment::parse(text, order)
}

fn moments(
    texts: &[(u64, &str)],
    order: Option<DateOrder>,
    options: &ImportOptions,
) -> Option<Vec<Moment>> {
    texts.iter().map(|(_, text)| time_in(text, order, options)).collect()
}

/// A text of a column of times.
pub(super) fn time(text: &str, form: &Form, options: &ImportOptions) -> Option<Moment> {
    let counted = || moment::counted(text, options.epoch?, form.decimal_comma);
    time_in(text, form.order, options).or_else(counted)
}

/// Times in an order of day and month.
#[derive(Default)]
struct Times {
    order: Option<DateOrder>,
    /// Empty if a text is no time in the order that the caller tells.
    all: Vec<Moment>,
}

/// The orders of day and month in which all texts are times, and the order that the caller tells in
/// any case.
fn orders(texts: &[(u64, &str)], options: &ImportOptions) -> Vec<Times> {
    let times =
        |order: Option<DateOrder>| moments(texts, order, options).map(|all| Times { order, all });
    if options.date_order.is_some() && !options.assumes_order {
        let order = options.date_order;
        return vec![times(order).unwrap_or(Times { order, all: Vec::new() })];
    }
    let assumed = options.date_order.is_some().then_some(options.date_order);
    if let Some(times) = [None].into_iter().chain(assumed).find_map(times) {
        return vec![times];
    }
    [Some(DateOrder::DayFirst), Some(DateOrder::MonthFirst)].into_iter().filter_map(times).collect()
}

/// Whether all texts are times in one order, in which years may have two digits.
fn have_short_years(texts: &[(u64, &str)]) -> bool {
    [DateOrder::DayFirst, DateOrder::MonthFirst, DateOrder::YearFirst]
        .into_iter()
        .any(|order| texts.iter().all(|(_, text)| moment::parse_told(text, Some(order)).is_some()))
}

fn whole(text: &str) -> bool {
    let text = text.trim();
    cells::parse_i64(text).is_some() && !has_leading_zero(text)
}

/// The values of a column that are not null, with their lines.
fn values<'r>(
    records: &'r Records,
    column: usize,
    data_type: DataType,
    options: &ImportOptions,
) -> Vec<(u64, &'r str)> {
    (0..records.len())
        .filter_map(|row| {
            let text = records.get(row, column)?;
            let quoted = records.is_quoted(row, column);
            (!is_null(text, quoted, data_type, options)).then(|| (records.line(row), text))
        })
        .collect()
}

/// Marks between thousands that are never decimal marks: apostrophes, and blanks of every width.
const THOUSANDS: [char; 6] = ['\'', '\u{2019}', ' ', '\u{a0}', '\u{2009}', '\u{202f}'];

/// Whether each mark of a number may separate thousands: there are groups of three digits behind
/// it, and no zero at the beginning.
fn may_be_thousands(text: &str, mark: char) -> bool {
    let text = text.trim();
    let mut groups = text.strip_prefix(['+', '-']).unwrap_or(text).split(mark);
    let is_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let first = groups.next().unwrap_or_default();
    let mut rest = groups.peekable();
    (1..=3).contains(&first.len())
        && is_digits(first)
        && !first.starts_with('0')
        && rest.peek().is_some()
        && rest.all(|group| group.len() == 3 && is_digits(group))
}

/// The decimal mark of a file, from the columns that may be numbers: those whose type is unknown,
/// and those of floats. A comma that separates values is no decimal mark unless `said`.
///
/// What must hold: there is one mark for the whole file. A value that has the other one is a text,
/// or is refused. A comma before three digits decides nothing, because programs that write decimal
/// points also write thousands with commas.
pub(super) fn mark(
    records: &Records,
    types: &[Option<DataType>],
    separator: u8,
    said: Option<bool>,
    options: &ImportOptions,
) -> Mark {
    if let Some(is_comma) = said {
        return Mark { is_comma, ..Mark::default() };
    }
    let (mut point, mut comma, mut unknown) = (None, false, None);
    for (at, data_type) in types.iter().enumerate() {
        // Numbers may count time, beside texts of times.
        let counts = options.epoch.is_some() && data_type.is_some_and(DataType::is_time);
        if !counts && !matches!(data_type, None | Some(DataType::Float32 | DataType::Float64)) {
            continue;
        }
        let mut texts = values(records, at, DataType::Float64, options);
        if counts {
            texts.retain(|(_, text)| real(text, false) || real(text, true));
        }
        // Units, or other lines, may come before the numbers.
        let mut are_points = true;
        let other = texts.iter().rposition(|(_, text)| {
            let is_point = real(text, false);
            let is_other = !is_point && !real(text, true);
            are_points &= is_point || is_other;
            is_other
        });
        let texts = match other {
            Some(at) if at + 2 < texts.len() => texts.get(at + 1..).unwrap_or_default(),
            Some(_) => continue,
            None => &texts[..],
        };
        let with = |mark: char, sure: bool| {
            let is_sure = move |text: &str| !sure || !may_be_thousands(text, mark);
            texts.iter().find(|(_, text)| text.contains(mark) && is_sure(text)).copied()
        };
        if are_points {
            point = point.or_else(|| with('.', true));
        } else if separator != b',' && texts.iter().all(|(_, text)| real(text, true)) {
            comma |= with(',', true).is_some();
            unknown = unknown.or_else(|| with(',', false));
        }
    }
    match (point, comma) {
        (Some(point), _) => Mark { point: Some(shown(point)), ..Mark::default() },
        (None, true) => Mark { is_comma: true, ..Mark::default() },
        (None, false) => Mark { unknown: unknown.map(shown), ..Mark::default() },
    }
}

/// Decides how a column is read. `wanted` is its type if the caller declares one.
pub(super) fn decide(
    records: &Records,
    column: usize,
    wanted: Option<DataType>,
    mark: &Mark,
    options: &ImportOptions,
) -> Decision {
    let file_comma = mark.is_comma;
    let texts = values(records, column, wanted.unwrap_or(DataType::Bool), options);
    let texts = &texts[..];
    let form = |times: &Times| Form {
        decimal_comma: file_comma,
        order: times.order,
        is_inferred: wanted.is_none(),
        is_zoned: is_zoned(&times.all, options),
        unit: None,
    };
    let with_unit = || unit_behind(texts).filter(|_| options.has_units);
    if let Some(data_type) = wanted {
        if data_type == DataType::Float64
            && let Some((unit, decimal_comma)) = with_unit()
        {
            let why = format!("declared by the caller; the unit {unit:?} is behind the numbers");
            let form = Form { decimal_comma, unit: Some(unit), ..form(&Times::default()) };
            return Decision { data_type, form, why, zone: None, is_doubtful: false };
        }
        let mut times = Times::default();
        if data_type.is_time()
            && let Ok([only]) = <[Times; 1]>::try_from(orders(texts, options))
        {
            times = only;
        }
        let mut zone = zone_of(&times.all, options);
        let mut why = "declared by the caller".to_owned();
        why.push_str(&assumed(&times.all, options));
        if let (true, Some(unit)) = (data_type.is_time(), options.epoch)
            && texts.iter().any(|(_, text)| moment::counted(text, unit, file_comma).is_some())
        {
            why.push_str(&format!("; numbers count {} since 1970 UTC", unit_name(unit)));
            zone = zone.or_else(|| Some("UTC".to_owned()));
        }
        return Decision { data_type, form: form(&times), why, zone, is_doubtful: false };
    }
    let plain = |data_type, why: String| Decision {
        data_type,
        form: form(&Times::default()),
        why,
        zone: None,
        is_doubtful: false,
    };
    if texts.is_empty() {
        return plain(DataType::String, "no value in the first rows".to_owned());
    }
    let count = texts.len();
    if first_other(texts, |text| cells::parse_bool(text.trim()).is_some()).is_none() {
        return plain(DataType::Bool, format!("the first {count} values are true or false"));
    }
    if first_other(texts, whole).is_none() {
        return plain(DataType::Int64, format!("the first {count} values are whole numbers"));
    }
    let Some(not_number) = first_other(texts, |text| real(text, file_comma)) else {
        if let Some(comma) = &mark.unknown
            && let Some(point) = first_other(texts, |text| !may_be_thousands(text, '.'))
        {
            let why = format!(
                "the comma of {comma} may be a decimal mark, so the point of {} may separate \
                 thousands; name the decimal mark with decimalSeparator",
                shown(point)
            );
            return Decision { is_doubtful: true, ..plain(DataType::String, why) };
        }
        let mark = if file_comma { " with a decimal comma" } else { "" };
        return plain(DataType::Float64, format!("the first {count} values are numbers{mark}"));
    };
    if let Some((unit, decimal_comma)) = with_unit() {
        let why =
            format!("the first {count} values are numbers with the unit {unit:?} behind them");
        let form = Form { decimal_comma, unit: Some(unit), ..form(&Times::default()) };
        return Decision { form, ..plain(DataType::Float64, why) };
    }
    time_or_text(texts, not_number, mark, options)
}

fn time_or_text(
    texts: &[(u64, &str)],
    not_number: (u64, &str),
    mark: &Mark,
    options: &ImportOptions,
) -> Decision {
    let file_comma = mark.is_comma;
    let text = |why: String| Decision {
        data_type: DataType::String,
        form: Form { is_inferred: true, ..Form::default() },
        why,
        zone: None,
        is_doubtful: false,
    };
    let doubtful = |why: String| Decision { is_doubtful: true, ..text(why) };
    match &orders(texts, options)[..] {
        [] if have_short_years(texts) => {
            return doubtful(format!(
                "the year of {} has two digits; say the order of year, month and day with dateOrder",
                shown(not_number)
            ));
        }
        [] => {}
        [Times { order, all: found }] => {
            let digits = found.iter().map(|moment| moment.digits).max().unwrap_or_default();
            let data_type = match digits {
                0..=3 => DataType::Timestamp,
                4..=6 => DataType::TimestampMicros,
                _ => DataType::TimestampNanos,
            };
            let zone = if let Zone::Refuse = options.zone { Zone::Utc } else { options.zone };
            if let Some(outside) = (0..texts.len()).find(|&at| {
                found.get(at).is_none_or(|moment| moment.count(data_type, zone, false).is_err())
            }) {
                let outside = texts.get(outside).copied().unwrap_or_default();
                return text(format!("{} is no time that {data_type} holds", shown(outside)));
            }
            let order_told = match (*order, options.date_order) {
                (None, _) => "",
                (order, told) if options.assumes_order && order == told => {
                    ", in the order of such files; dateOrder says another one"
                }
                (Some(DateOrder::DayFirst), None) => ", the day first, as one day is above 12",
                (Some(DateOrder::MonthFirst), None) => ", the month first, as one day is above 12",
                (Some(DateOrder::DayFirst), _) => ", the day first, as dateOrder says",
                (Some(DateOrder::MonthFirst), _) => ", the month first, as dateOrder says",
                (Some(DateOrder::YearFirst), _) => ", the year first, as dateOrder says",
            };
            let count = texts.len();
            return Decision {
                data_type,
                form: Form {
                    order: *order,
                    is_inferred: true,
                    is_zoned: is_zoned(found, options),
                    ..Form::default()
                },
                why: format!(
                    "the first {count} values are times with at most {digits} digits of a \
                     second{order_told}{}",
                    assumed(found, options)
                ),
                zone: zone_of(found, options),
                is_doubtful: false,
            };
        }
        _ => {
            return doubtful(
                "the order of day and month is ambiguous; say it with dateOrder".to_owned(),
            );
        }
    }
    let (_, value) = not_number;
    if number(value, file_comma).is_some() && loses_digits(value.trim()) {
        return text(format!("{} has more digits than a number keeps", shown(not_number)));
    }
    if has_leading_zero(value.trim()) && number(value, file_comma).is_some() {
        let why = format!("{} begins with a zero", shown(not_number));
        // A code of digits is none of the numbers that are measured.
        let is_measured = value.contains(['.', ',', 'e', 'E']);
        return if is_measured { doubtful(why) } else { text(why) };
    }
    if file_comma && number(value, false).is_some() {
        return doubtful(format!(
            "the file has decimal commas, so the point of {} may separate thousands; name the \
             mark with decimalSeparator",
            shown(not_number)
        ));
    }
    if !file_comma && number(value, true).is_some() {
        return doubtful(match &mark.point {
            Some(point) => format!(
                "the point of {point} is a decimal mark, so the comma of {} is none; it may \
                 separate thousands, or name the decimal mark with decimalSeparator",
                shown(not_number)
            ),
            None => format!(
                "the comma of {} may be a decimal mark or separate thousands; name the decimal \
                 mark with decimalSeparator",
                shown(not_number)
            ),
        });
    }
    let (decimal, other) = if file_comma { (',', '.') } else { ('.', ',') };
    // Blanks and apostrophes are no decimal marks, so the other mark may be one behind them.
    let before = |marks: &[char]| value.trim().split(marks).next().unwrap_or_default();
    if may_be_thousands(before(&[decimal]), other)
        || THOUSANDS.into_iter().any(|mark| may_be_thousands(before(&['.', ',']), mark))
    {
        return doubtful(format!(
            "{} has marks that may separate thousands, which are not read",
            shown(not_number)
        ));
    }
    if first_other(texts, has_unit_behind).is_none() {
        return doubtful(format!(
            "{} has a unit behind its number, which is not read; write the unit into the name of \
             the column",
            shown(not_number)
        ));
    }
    let is_odd = |text: &str| real(text, file_comma) || odd::spelling(text).is_some();
    if let Some(odd) = texts.iter().find(|(_, text)| odd::spelling(text).is_some())
        && first_other(texts, is_odd).is_none()
    {
        let why = odd::spelling(odd.1).unwrap_or_default();
        return doubtful(format!("the number in {} {why}, which is not read", shown(*odd)));
    }
    if first_other(texts, odd::is_time_of_day).is_none() {
        return doubtful(format!("{} is a time of a day without a date", shown(not_number)));
    }
    text(format!("{} is neither a number, a time nor true or false", shown(not_number)))
}

/// The unit behind all of these numbers, and whether their decimals have a comma; `None` where they
/// are not all of one unit.
fn unit_behind(texts: &[(u64, &str)]) -> Option<(String, bool)> {
    let (_, unit) = split_unit(texts.first()?.1);
    let is_one = |text: &str| has_unit_behind(text) && split_unit(text).1.trim() == unit.trim();
    let are_numbers =
        |comma: &bool| texts.iter().all(|(_, text)| number(split_unit(text).0, *comma).is_some());
    let comma = [false, true].into_iter().find(are_numbers)?;
    first_other(texts, is_one).is_none().then(|| (unit.trim().to_owned(), comma))
}

/// What the report says of a column of texts of which at least half are numbers or times: the first
/// one that is neither.
pub(super) fn rare_text(
    records: &Records,
    column: usize,
    mark: &Mark,
    options: &ImportOptions,
) -> Option<String> {
    let texts = values(records, column, DataType::Float64, options);
    let is_value = |text: &str| real(text, mark.is_comma) || moment::is_time(text);
    let value_count = texts.iter().filter(|(_, text)| is_value(text)).count();
    let other = first_other(&texts, is_value)?;
    (2 * value_count >= texts.len()).then(|| {
        format!(
            "{} is no number, and {value_count} of the first {} values are; if the text means \
             null, name it in nullTexts; if the line is no row, remove it",
            shown(other),
            texts.len()
        )
    })
}

/// What the report says of a column of floats that others may read otherwise: the points of all of
/// its values may separate thousands, and nothing in the file decides; or a value has digits that
/// no float keeps.
pub(super) fn doubtful_float(
    records: &Records,
    column: usize,
    mark: &Mark,
    separator: u8,
    options: &ImportOptions,
) -> Option<String> {
    let texts = values(records, column, DataType::Float64, options);
    let is_decided = mark.is_comma
        || mark.point.is_some()
        || separator == b','
        || options.decimal_comma.is_some();
    if !is_decided
        && let Some(point) = texts.iter().find(|(_, text)| may_be_thousands(text, '.')).copied()
        && first_other(&texts, |text| whole(text) || may_be_thousands(text, '.')).is_none()
    {
        return Some(format!(
            "the point of {} was read as a decimal mark, and may separate thousands; name the \
             decimal mark with decimalSeparator",
            shown(point)
        ));
    }
    if let Some(code) = texts.first()
        && first_other(&texts, odd::may_be_code).is_none()
    {
        return Some(format!(
            "{} was read as a number with an exponent; if it is a code, such as that of a part, keep \
             the texts with columnTypes",
            shown(*code)
        ));
    }
    let long = first_other(&texts, |text| {
        text.len() <= FLOAT_DIGITS || significant_digits(text) <= FLOAT_DIGITS
    })?;
    Some(format!("{} has more digits than a float keeps", shown(long)))
}

/// A double has the digits of any decimal number of as many.
const FLOAT_DIGITS: usize = 17;

/// The digits of a number from the first that is not zero, without zeros at the end.
fn significant_digits(text: &str) -> usize {
    let mantissa = text.trim().split(['e', 'E']).next().unwrap_or_default();
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).skip_while(|digit| *digit == b'0');
    digits.enumerate().filter(|(_, digit)| *digit != b'0').last().map_or(0, |(at, _)| at + 1)
}

/// The row of a column of texts behind which all values are numbers or times, and how many of them
/// are before and behind it. `None` if fewer than two are behind it.
pub(super) fn last_text(
    records: &Records,
    column: usize,
    mark: &Mark,
    options: &ImportOptions,
) -> Option<LastText> {
    let texts = values(records, column, DataType::Float64, options);
    let is_value = |text: &str| real(text, mark.is_comma) || moment::is_time(text);
    let at = texts.iter().rposition(|(_, text)| !is_value(text))?;
    let (line, text) = texts.get(at)?;
    let (before, behind) = (at + 1, texts.len() - at - 1);
    (behind >= 2).then(|| LastText { line: *line, shown: shown((*line, text)), before, behind })
}

/// A text that is no number, behind which all values of its column are.
#[derive(Debug)]
pub(super) struct LastText {
    pub(super) line: u64,
    pub(super) shown: String,
    pub(super) before: usize,
    pub(super) behind: usize,
}

/// Whether all times name their zones, and the request names none for others.
fn is_zoned(times: &[Moment], options: &ImportOptions) -> bool {
    !options.names_zone && !times.is_empty() && times.iter().all(|time| time.offset.is_some())
}

/// The zones of times as the report and the property of the column name them.
fn zone_of(times: &[Moment], options: &ImportOptions) -> Option<String> {
    let mut offsets: Vec<Option<i32>> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for time in times {
        if offsets.contains(&time.offset) {
            continue;
        }
        offsets.push(time.offset);
        let name = match time.offset {
            None => options.zone.name(),
            Some(0) => "UTC".to_owned(),
            Some(seconds) => FixedOffset::east_opt(seconds)?.to_string(),
        };
        if !names.contains(&name) {
            names.push(name);
            if names.len() > 4 {
                return Some("several offsets".to_owned());
            }
        }
    }
    (!names.is_empty()).then(|| names.join(", "))
}

/// What the report adds for times that have no zone.
fn assumed(times: &[Moment], options: &ImportOptions) -> String {
    if times.iter().any(|time| time.offset.is_none()) {
        format!("; times without a zone are taken as {}", options.zone.name())
    } else {
        String::new()
    }
}
