//! How the texts of one CSV column are read: decided from its first values, then applied to all.

use chrono::FixedOffset;

use super::convert::unit_name;
use super::csv::Records;
use super::moment::{self, Moment};
use super::options::ImportOptions;
use super::zone::Zone;
use crate::columnar::cells;
use crate::model::tables::data::DataType;
use crate::model::tables::import::DateOrder;

/// Texts that are null in columns of other types than STRING, unless the request names others.
pub(super) const NULL_TEXTS: [&str; 9] =
    ["NA", "N/A", "n/a", "#N/A", "null", "NULL", "Null", "<NA>", "\\N"];

/// How the values of a column are read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Form {
    pub(super) decimal_comma: bool,
    pub(super) order: Option<DateOrder>,
    /// Whether the type comes from the first values of the file.
    pub(super) is_inferred: bool,
    /// Whether the first values name their zones, so that the report names none for others.
    pub(super) is_zoned: bool,
}

/// What was decided for a column, and why.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    pub(super) data_type: DataType,
    pub(super) form: Form,
    pub(super) why: String,
    pub(super) zone: Option<String>,
}

/// Whether a text of a column of this type is null.
pub(super) fn is_null(
    text: &str,
    is_quoted: bool,
    data_type: DataType,
    options: &ImportOptions,
) -> bool {
    if is_quoted {
        return false;
    }
    match &options.null_texts {
        Some(texts) => texts.contains(text),
        None => data_type != DataType::String && NULL_TEXTS.contains(&text.trim()),
    }
}

/// A number with a decimal point, or a comma; also `nan` and `inf` in any letter case.
pub(super) fn number(text: &str, comma: bool) -> Option<f64> {
    let text = text.trim();
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    if unsigned.eq_ignore_ascii_case("nan") {
        return Some(f64::NAN);
    }
    if unsigned.eq_ignore_ascii_case("inf") || unsigned.eq_ignore_ascii_case("infinity") {
        return Some(sign * f64::INFINITY);
    }
    if !comma {
        return cells::parse_f64(text);
    }
    if text.contains('.') {
        return None;
    }
    cells::parse_f64(&text.replacen(',', ".", 1))
}

/// As [`number`], rounded once to 32 bits.
pub(super) fn small_number(text: &str, comma: bool) -> Option<f32> {
    let wide = number(text, comma)?;
    if !wide.is_finite() {
        return Some(wide as f32);
    }
    let text = text.trim();
    if comma { cells::parse_f32(&text.replacen(',', ".", 1)) } else { cells::parse_f32(text) }
}

/// Whether zeros at the beginning say that a text is a number of a part or a place, not a quantity.
fn has_leading_zero(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text).as_bytes();
    matches!(digits, [b'0', next, ..] if next.is_ascii_digit())
}

/// Whether a number of 64 bits would lose digits of a whole number.
fn loses_digits(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    digits.len() > 15
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && text.parse::<i128>().ok().is_none_or(|whole| {
            let near = whole as f64;
            near as i128 != whole
        })
}

/// What a column of this type of numbers would not keep of a text that is a number.
pub(super) fn lost_of(text: &str, data_type: DataType, comma: bool) -> Option<&'static str> {
    let text = text.trim();
    match data_type {
        DataType::Int64 | DataType::Float64 if has_leading_zero(text) => {
            number(text, comma).map(|_| "begins with a zero, which a number does not keep")
        }
        DataType::Float64 if loses_digits(text) => Some("has more digits than a number keeps"),
        _ => None,
    }
}

/// What the first values of a column can be.
struct Facts<'r> {
    texts: Vec<(u64, &'r str)>,
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

fn moments(texts: &[(u64, &str)], order: Option<DateOrder>) -> Option<Vec<Moment>> {
    texts.iter().map(|(_, text)| moment::parse(text, order)).collect()
}

/// A text of a column of times.
pub(super) fn time(text: &str, form: &Form, options: &ImportOptions) -> Option<Moment> {
    let counted = || moment::counted(text, options.epoch?, form.decimal_comma);
    moment::parse(text, form.order).or_else(counted)
}

/// The orders of day and month in which all texts are times.
fn orders(texts: &[(u64, &str)], options: &ImportOptions) -> Vec<Option<DateOrder>> {
    if let Some(order) = options.date_order {
        return vec![Some(order)];
    }
    if moments(texts, None).is_some() {
        return vec![None];
    }
    let both = [Some(DateOrder::DayFirst), Some(DateOrder::MonthFirst)];
    both.into_iter().filter(|order| moments(texts, *order).is_some()).collect()
}

fn whole(text: &str) -> bool {
    let text = text.trim();
    cells::parse_i64(text).is_some() && !has_leading_zero(text)
}

fn real(text: &str, comma: bool) -> bool {
    let trimmed = text.trim();
    number(text, comma).is_some() && !has_leading_zero(trimmed) && !loses_digits(trimmed)
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

/// Whether the values of a column are numbers only with decimal commas. A comma also separates
/// thousands where it separates values, so it is then no decimal comma unless the request says so.
pub(super) fn has_commas(
    records: &Records,
    column: usize,
    separator: u8,
    options: &ImportOptions,
) -> bool {
    if separator == b',' || options.decimal_comma.is_some() {
        return false;
    }
    let texts = values(records, column, DataType::Float64, options);
    texts.iter().any(|(_, text)| text.contains(','))
        && texts.iter().all(|(_, text)| real(text, true))
}

/// Decides how a column is read. `wanted` is its type if the caller declares one; `file_comma` says
/// that the file has decimal commas.
pub(super) fn decide(
    records: &Records,
    column: usize,
    wanted: Option<DataType>,
    file_comma: bool,
    options: &ImportOptions,
) -> Decision {
    let facts = Facts { texts: values(records, column, wanted.unwrap_or(DataType::Bool), options) };
    let texts = &facts.texts[..];
    let form = |order| Form {
        decimal_comma: file_comma,
        order,
        is_inferred: wanted.is_none(),
        is_zoned: is_zoned(texts, order, options),
    };
    if let Some(data_type) = wanted {
        let order = match orders(texts, options)[..] {
            [only] if data_type.is_time() => only,
            _ => None,
        };
        let mut zone = data_type.is_time().then(|| zone_of(texts, order, options)).flatten();
        let mut why = "declared by the caller".to_owned();
        if data_type.is_time() {
            why.push_str(&assumed(texts, order, options));
        }
        if let (true, Some(unit)) = (data_type.is_time(), options.epoch)
            && texts.iter().any(|(_, text)| moment::counted(text, unit, file_comma).is_some())
        {
            why.push_str(&format!("; numbers count {} since 1970 UTC", unit_name(unit)));
            zone = zone.or_else(|| Some("UTC".to_owned()));
        }
        return Decision { data_type, form: form(order), why, zone };
    }
    let plain = |data_type, why: String| Decision { data_type, form: form(None), why, zone: None };
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
        let mark = if file_comma { " with a decimal comma" } else { "" };
        return plain(DataType::Float64, format!("the first {count} values are numbers{mark}"));
    };
    time_or_text(texts, not_number, file_comma, options)
}

fn time_or_text(
    texts: &[(u64, &str)],
    not_number: (u64, &str),
    file_comma: bool,
    options: &ImportOptions,
) -> Decision {
    let text = |why: String| Decision {
        data_type: DataType::String,
        form: Form { is_inferred: true, ..Form::default() },
        why,
        zone: None,
    };
    match orders(texts, options)[..] {
        [] => {}
        [order] => {
            let found = moments(texts, order).unwrap_or_default();
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
            let order_told = match (order, options.date_order) {
                (None, _) => "",
                (Some(DateOrder::DayFirst), None) => ", the day first, as one day is above 12",
                (Some(DateOrder::MonthFirst), None) => ", the month first, as one day is above 12",
                (Some(DateOrder::DayFirst), _) => ", the day first, as dateOrder says",
                (Some(DateOrder::MonthFirst), _) => ", the month first, as dateOrder says",
            };
            let count = texts.len();
            return Decision {
                data_type,
                form: Form {
                    order,
                    is_inferred: true,
                    is_zoned: is_zoned(texts, order, options),
                    ..Form::default()
                },
                why: format!(
                    "the first {count} values are times with at most {digits} digits of a \
                     second{order_told}{}",
                    assumed(texts, order, options)
                ),
                zone: zone_of(texts, order, options),
            };
        }
        _ => {
            return text(
                "the order of day and month is ambiguous; say it with dateOrder".to_owned(),
            );
        }
    }
    let (_, value) = not_number;
    if number(value, file_comma).is_some() && loses_digits(value.trim()) {
        return text(format!("{} has more digits than a number keeps", shown(not_number)));
    }
    if has_leading_zero(value.trim()) && number(value, file_comma).is_some() {
        return text(format!("{} begins with a zero", shown(not_number)));
    }
    if file_comma && number(value, false).is_some() {
        return text(format!(
            "the file has decimal commas, so the point of {} may separate thousands; name the \
             mark with decimalSeparator",
            shown(not_number)
        ));
    }
    text(format!("{} is neither a number, a time nor true or false", shown(not_number)))
}

/// Whether all texts name their zones, and the request names none for others.
fn is_zoned(texts: &[(u64, &str)], order: Option<DateOrder>, options: &ImportOptions) -> bool {
    let all = || moments(texts, order).is_some_and(|all| all.iter().all(|at| at.offset.is_some()));
    !options.names_zone && !texts.is_empty() && all()
}

/// The zones of times as the report and the property of the column name them.
fn zone_of(
    texts: &[(u64, &str)],
    order: Option<DateOrder>,
    options: &ImportOptions,
) -> Option<String> {
    let found = moments(texts, order)?;
    let mut names: Vec<String> = Vec::new();
    for moment in &found {
        let name = match moment.offset {
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
fn assumed(texts: &[(u64, &str)], order: Option<DateOrder>, options: &ImportOptions) -> String {
    let found = moments(texts, order).unwrap_or_default();
    if found.iter().any(|moment| moment.offset.is_none()) {
        format!("; times without a zone are taken as {}", options.zone.name())
    } else {
        String::new()
    }
}
