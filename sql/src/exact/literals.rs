//! Literals of times as they are written, and null in the list of `in`.

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, ExprSchemable, Operator};
use stationdb::chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime};

use super::terms::{IntegerPosition, always, balanced, is_utc, never, null, of_type, per_second};

/// A comparison of a time with a literal, by the instant that the literal names.
///
/// DataFusion 55.2 makes a text a time of the column's resolution first, which cuts its finer
/// digits, and a literal of type timestamp one of nanoseconds, which have no years before 1677 and
/// after 2262. It can go when it compares instants.
pub(super) fn rewrite(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let made = match &expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let swapped = || op.swap().and_then(|op| compared(right, op, left, schema));
            compared(left, *op, right, schema).or_else(swapped)
        }
        Expr::Between(Between { expr: operand, negated, low: low_bound, high: high_bound })
            if !operand.is_volatile() =>
        {
            let (first, second) = if *negated {
                (Operator::Lt, Operator::Gt)
            } else {
                (Operator::GtEq, Operator::LtEq)
            };
            let low = compared(operand, first, low_bound, schema);
            let high = compared(operand, second, high_bound, schema);
            let plain = |operator, bound: &Expr| {
                let (left, right) = (operand.clone(), Box::new(bound.clone()));
                Expr::BinaryExpr(BinaryExpr { left, op: operator, right })
            };
            if low.is_some() || high.is_some() {
                let low = low.unwrap_or_else(|| plain(first, low_bound));
                let high = high.unwrap_or_else(|| plain(second, high_bound));
                Some(if *negated { low.or(high) } else { low.and(high) })
            } else {
                None
            }
        }
        Expr::InList(InList { expr: operand, list, negated }) => {
            among(operand, list, *negated, schema)
        }
        _ => None,
    };
    match made {
        Some(made) => Transformed::yes(made),
        None => Transformed::no(expr),
    }
}

/// The resolution and zone of a column of times in UTC or without a zone.
fn unit_of(operand: &Expr, schema: &DFSchema) -> Option<(TimeUnit, DataType)> {
    if literal_text(operand).is_some() {
        return None;
    }
    let data_type = operand.get_type(schema).ok()?;
    match &data_type {
        DataType::Timestamp(unit, zone) if is_utc(zone) => Some((*unit, data_type)),
        _ => None,
    }
}

/// The text of a literal, also of one with the type timestamp, in UTC or without a zone, or date. A text
/// `at time zone` is a cast to that zone, which the engine makes.
fn literal_text(expr: &Expr) -> Option<&str> {
    let Expr::Cast(cast) = expr else { return text_of(expr) };
    let text = text_of(&cast.expr)?;
    match cast.field.data_type() {
        DataType::Timestamp(_, zone) if is_utc(zone) => Some(text),
        DataType::Date32 if text.trim().len() == "2024-01-01".len() => Some(text),
        _ => None,
    }
}

fn text_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(value, _) => value.try_as_str().flatten(),
        _ => None,
    }
}

fn compared(operand: &Expr, operator: Operator, literal: &Expr, schema: &DFSchema) -> Option<Expr> {
    let (unit, data_type) = unit_of(operand, schema)?;
    let exact = instant(literal_text(literal)?, unit)?;
    exact.compared(operand.clone(), operator, |count| of_type(count, &data_type))
}

/// `in` with literals of times. A literal between two counts is equal to none.
fn among(operand: &Expr, list: &[Expr], negated: bool, schema: &DFSchema) -> Option<Expr> {
    let (unit, data_type) = unit_of(operand, schema)?;
    let mut kept = Vec::new();
    let mut is_changed = false;
    for item in list {
        match literal_text(item).and_then(|text| instant(text, unit)) {
            Some(IntegerPosition::At(count, false)) => kept.push(of_type(count, &data_type)),
            Some(_) => {}
            None => {
                kept.push(item.clone());
                continue;
            }
        }
        is_changed = true;
    }
    if !is_changed {
        return None;
    }
    Some(match (kept.is_empty(), negated) {
        (true, false) => never(operand.clone()),
        (true, true) => always(operand.clone()),
        (false, _) => operand.clone().in_list(kept, negated),
    })
}

/// The instant of a text in this resolution; none for a form that only the engine reads.
pub(super) fn instant(text: &str, unit: TimeUnit) -> Option<IntegerPosition> {
    let text = text.trim();
    let date = NaiveDate::parse_from_str(text.get(..10)?, "%Y-%m-%d").ok()?;
    let rest = text.get(10..)?;
    let (clock, zone) = match rest.strip_prefix(['T', 't', ' ']) {
        None if rest.is_empty() => ("00:00:00", ""),
        None => return None,
        Some(rest) => {
            match rest.find(|sign: char| !sign.is_ascii_digit() && !matches!(sign, ':' | '.')) {
                Some(at) => rest.split_at_checked(at)?,
                None => (rest, ""),
            }
        }
    };
    let (whole, digits) = clock.split_once('.').unwrap_or((clock, ""));
    if clock.contains('.') && digits.is_empty() {
        return None;
    }
    let time = NaiveTime::parse_from_str(whole, "%H:%M:%S");
    let time = time.or_else(|_| NaiveTime::parse_from_str(whole, "%H:%M")).ok()?;
    let offset = match zone.trim() {
        "" | "Z" | "z" => 0,
        zone => {
            let day = NaiveDateTime::new(date, NaiveTime::MIN).format("%Y-%m-%dT%H:%M:%S");
            let read = DateTime::<FixedOffset>::parse_from_rfc3339(&format!("{day}{zone}"));
            read.ok()?.offset().local_minus_utc()
        }
    };
    let seconds = NaiveDateTime::new(date, time).and_utc().timestamp() - i64::from(offset);
    let width = match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    };
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let (kept, finer) = digits.split_at(digits.len().min(width));
    let fraction: i128 = format!("0{kept:0<width$}").parse().ok()?;
    let has_rest = finer.bytes().any(|digit| digit != b'0');
    Some(IntegerPosition::new(i128::from(seconds) * per_second(unit) + fraction, has_rest))
}

/// `in` whose list has literals with values alone: what else it has is compared by itself.
///
/// DataFusion 55.2 joins two lists of `and` without a look at their nulls. It can go when null in
/// one of them makes the answer null.
pub(super) fn without_null(list: InList) -> Result<Transformed<Expr>> {
    let is_plain = |item: &Expr| matches!(item, Expr::Literal(value, _) if !value.is_null());
    if list.list.iter().all(is_plain) || list.expr.is_volatile() {
        return Ok(Transformed::no(Expr::InList(list)));
    }
    let InList { expr: operand, list, negated } = list;
    let (plain, others): (Vec<Expr>, Vec<Expr>) = list.into_iter().partition(is_plain);
    let mut terms = Vec::new();
    if !plain.is_empty() {
        terms.push(operand.as_ref().clone().in_list(plain, negated));
    }
    for other in others {
        terms.push(match (&other, negated) {
            (Expr::Literal(..), _) => null(),
            (_, false) => operand.as_ref().clone().eq(other),
            (_, true) => operand.as_ref().clone().not_eq(other),
        });
    }
    // A chain of any length would be as deep as it is long.
    let made = balanced(terms, negated).unwrap_or_else(null);
    Ok(Transformed::yes(made))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_those_that_are_written() {
        let millis = |text| instant(text, TimeUnit::Millisecond);
        assert_eq!(millis("1970-01-01T00:00:00.001Z"), Some(IntegerPosition::At(1, false)));
        assert_eq!(millis("1970-01-01 00:00:00.0010"), Some(IntegerPosition::At(1, false)));
        assert_eq!(millis("1970-01-01T00:00:00.0015Z"), Some(IntegerPosition::At(1, true)));
        assert_eq!(millis("1969-12-31T23:59:59.9995Z"), Some(IntegerPosition::At(-1, true)));
        assert_eq!(millis("1970-01-01T01:00:00+01:00"), Some(IntegerPosition::At(0, false)));
        assert_eq!(millis("1970-01-01"), Some(IntegerPosition::At(0, false)));
        assert_eq!(millis("yesterday"), None);
        assert_eq!(instant("9999-12-31", TimeUnit::Nanosecond), Some(IntegerPosition::Above));
        assert_eq!(instant("0001-01-01", TimeUnit::Nanosecond), Some(IntegerPosition::Below));
        let last = "2262-04-11T23:47:16.854775807";
        assert_eq!(instant(last, TimeUnit::Nanosecond), Some(IntegerPosition::At(i64::MAX, false)));
        assert_eq!(
            instant(&format!("{last}1"), TimeUnit::Nanosecond),
            Some(IntegerPosition::At(i64::MAX, true))
        );
    }
}
