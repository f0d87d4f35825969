//! How the texts of one CSV column are read: decided from its first values, then applied to all.

use chrono::FixedOffset;
use stationdb::tables::{DataType, DateOrder, readers as cells};

use super::layout::{has_unit_behind, split_unit};
use super::odd;
use super::quantity::{common, power};
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
    /// Whether the first rows have no value, so that nothing says the type.
    pub(super) is_unseen: bool,
    /// Whether the first values name their zones, so that the report names none for others.
    pub(super) is_zoned: bool,
    /// The unit behind each number, or the one that it is converted to.
    pub(super) unit: Option<String>,
    /// The field with the milliseconds of each time.
    pub(super) millis: Option<usize>,
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
    pub(super) point: Option<String>,
    /// A value whose comma may be a decimal mark or separate thousands, where nothing decides.
    unknown: Option<String>,
}

/// The line and text of the first value that fails a test.
pub(super) fn first_other<'r>(
    texts: &[(u64, &'r str)],
    passes: impl Fn(&str) -> bool,
) -> Option<(u64, &'r str)> {
    texts.iter().find(|(_, text)| !passes(text)).copied()
}

pub(super) fn shown((line, text): (u64, &str)) -> String {
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

/// A text of a column of times of this type.
pub(super) fn time(
    text: &str,
    data_type: DataType,
    form: &Form,
    options: &ImportOptions,
) -> Option<Moment> {
    let counted = || moment::counted(text, options.epoch?, form.decimal_comma);
    let serial = || options.serial?.moment(number(text, form.decimal_comma)?, data_type).ok();
    time_in(text, form.order, options).or_else(counted).or_else(serial)
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

pub(super) fn whole(text: &str) -> bool {
    let text = text.trim();
    cells::parse_i64(text).is_some() && !has_leading_zero(text)
}

/// The values of a column that are not null, with their lines.
pub(super) fn values<'r>(
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
pub(crate) fn may_be_thousands(text: &str, mark: char) -> bool {
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
        let counts = (options.epoch.is_some() || options.serial.is_some())
            && data_type.is_some_and(DataType::is_time);
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
        ..Form::default()
    };
    let with_unit = || unit_behind(texts).filter(|_| options.has_units);
    if let Some(data_type) = wanted {
        if data_type == DataType::Float64
            && let Some((unit, decimal_comma)) = with_unit()
        {
            let why = format!("declared by the caller; {}", units_told(texts, &unit));
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
        if let (true, Some(serial)) = (data_type.is_time(), options.serial)
            && texts.iter().any(|(_, text)| number(text, file_comma).is_some())
        {
            let year = serial.year();
            let zone_name = options.zone.name();
            why.push_str(&format!(
                "; numbers are days since {year}, as spreadsheets count them, and are taken as \
                 {zone_name}"
            ));
            zone = zone.or(Some(zone_name));
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
        let mut decision = plain(DataType::String, "no value in the first rows".to_owned());
        decision.form.is_unseen = true;
        return decision;
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
        let why = format!("the first {count} values are numbers; {}", units_told(texts, &unit));
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
            let misplaced = texts.iter().enumerate().find_map(|(at, text)| {
                let count = found.get(at).map(|moment| moment.count(data_type, zone, false));
                let why = count.map_or(Some("is no time"), Result::err)?;
                Some(format!("{} {why}", shown(*text)))
            });
            if let Some(why) = misplaced {
                return doubtful(why);
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
    if options.has_units
        && let Some(first) = texts.iter().find(|(_, text)| has_unit_behind(text)).copied()
    {
        let unit = |text: &str| split_unit(text).1.trim().to_owned();
        let is_like =
            |text: &str| has_unit_behind(text) && power(&unit(text), &unit(first.1)).is_some();
        if let Some(other) = first_other(texts, is_like) {
            return doubtful(format!(
                "{} has a unit behind its number, and {} is no number in that unit, or in the same \
                 unit with another prefix; if the text means null, name it in nullTexts",
                shown(first),
                shown(other)
            ));
        }
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

/// The unit behind all of these numbers, or the one that theirs are converted to, and whether their
/// decimals have a comma; `None` where they are not all of one quantity.
fn unit_behind(texts: &[(u64, &str)]) -> Option<(String, bool)> {
    let mut units: Vec<&str> = Vec::new();
    for (_, text) in texts {
        let unit = split_unit(text).1.trim();
        if !has_unit_behind(text) {
            return None;
        }
        if !units.contains(&unit) {
            units.push(unit);
        }
    }
    let are_numbers =
        |comma: &bool| texts.iter().all(|(_, text)| number(split_unit(text).0, *comma).is_some());
    let comma = [false, true].into_iter().find(are_numbers)?;
    common(&units).map(|unit| (unit, comma))
}

/// What the report says of the unit of numbers.
fn units_told(texts: &[(u64, &str)], unit: &str) -> String {
    match first_other(texts, |text| split_unit(text).1.trim() == unit) {
        None => format!("the unit {unit:?} is behind them"),
        Some(other) => format!(
            "units are behind them, as in {}, and all are converted to {unit:?} by powers of ten",
            shown(other)
        ),
    }
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
