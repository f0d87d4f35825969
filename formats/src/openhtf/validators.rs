//! Limits from the texts of validators.

use crate::results::text::{cell, shortest};

/// A limit: its value and its text.
#[derive(Clone, Debug, PartialEq)]
struct Bound {
    value: f64,
    text: String,
}

/// What one validator allows.
#[derive(Clone, Debug, Default, PartialEq)]
struct Range {
    low: Option<Bound>,
    high: Option<Bound>,
    marginal_low: Option<Bound>,
    marginal_high: Option<Bound>,
    nominal: Option<Bound>,
    is_equality: bool,
}

/// The entries of a parameter that say what its validators allow.
pub(super) fn entries(texts: &[&str]) -> Vec<(&'static str, String)> {
    if texts.is_empty() {
        return Vec::new();
    }
    let ranges: Vec<Option<Range>> = texts.iter().map(|text| range(text)).collect();
    let mut entries = Vec::new();
    if let [Some(_)] = ranges.as_slice() {
    } else {
        entries.push(("validators", texts.join("\n")));
    }
    let Some(all) = ranges.into_iter().flatten().reduce(intersection) else {
        entries.push(("comparisonType", "LOG".to_owned()));
        return entries;
    };
    let comparison = match (&all.low, &all.high) {
        _ if all.is_equality => "EQ",
        (Some(_), Some(_)) => "GELE",
        (Some(_), None) => "GE",
        (None, Some(_)) => "LE",
        (None, None) => "LOG",
    };
    entries.push(("comparisonType", comparison.to_owned()));
    for (key, bound) in [
        ("lowLimit", all.low),
        ("highLimit", all.high),
        ("marginalLow", all.marginal_low),
        ("marginalHigh", all.marginal_high),
        ("nominalValue", all.nominal),
    ] {
        entries.extend(bound.map(|bound| (key, bound.text)));
    }
    entries
}

fn intersection(one: Range, other: Range) -> Range {
    let is_equality = one.is_equality && one == other;
    let greater = |a: Option<Bound>, b: Option<Bound>| match (a, b) {
        (Some(a), Some(b)) => Some(if b.value > a.value { b } else { a }),
        (a, b) => a.or(b),
    };
    let less = |a: Option<Bound>, b: Option<Bound>| match (a, b) {
        (Some(a), Some(b)) => Some(if b.value < a.value { b } else { a }),
        (a, b) => a.or(b),
    };
    Range {
        low: greater(one.low, other.low),
        high: less(one.high, other.high),
        marginal_low: greater(one.marginal_low, other.marginal_low),
        marginal_high: less(one.marginal_high, other.marginal_high),
        nominal: one.nominal.or(other.nominal),
        is_equality,
    }
}

fn range(text: &str) -> Option<Range> {
    equality(text).or_else(|| within_percent(text)).or_else(|| chain(text))
}

/// A number as Python writes it. NaN is no limit.
fn bound(text: &str) -> Option<Bound> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = digits == "inf" || digits.starts_with(|first: char| first.is_ascii_digit());
    let value: f64 = text.parse().ok().filter(|_| is_number)?;
    let is_integer = digits.bytes().all(|byte| byte.is_ascii_digit());
    Some(Bound { value, text: if is_integer { text.to_owned() } else { cell(value) } })
}

/// `x == a`.
fn equality(text: &str) -> Option<Range> {
    let bound = bound(text.strip_prefix("x == ")?)?;
    Some(Range {
        low: Some(bound.clone()),
        high: Some(bound),
        is_equality: true,
        ..Range::default()
    })
}

/// `a <= Marginal:c <= x <= Marginal:d <= b`, of which any part but `x` may be absent.
fn chain(text: &str) -> Option<Range> {
    let parts: Vec<&str> = text.split(" <= ").collect();
    let x = parts.iter().position(|part| *part == "x")?;
    let (before, after) = (parts.get(..x)?, parts.get(x + 1..)?);
    let marginal = |part: &str| bound(part.strip_prefix("Marginal:")?);
    let side =
        |limit: Option<&&str>, inner: Option<&&str>| -> Option<(Option<Bound>, Option<Bound>)> {
            let limit = limit.map(|text| bound(text).ok_or(())).transpose().ok()?;
            let inner = inner.map(|text| marginal(text).ok_or(())).transpose().ok()?;
            Some((limit, inner))
        };
    let (low, marginal_low) = match before {
        [] => (None, None),
        [limit] => side(Some(limit), None)?,
        [limit, inner] => side(Some(limit), Some(inner))?,
        _ => return None,
    };
    let (high, marginal_high) = match after {
        [] => (None, None),
        [limit] => side(Some(limit), None)?,
        [inner, limit] => side(Some(limit), Some(inner))?,
        _ => return None,
    };
    if low.is_none() && high.is_none() {
        return None;
    }
    Some(Range { low, high, marginal_low, marginal_high, ..Range::default() })
}

/// `'x' is within p% of e. Marginal: m% of e`.
fn within_percent(text: &str) -> Option<Range> {
    let (percent, rest) = text.strip_prefix("'x' is within ")?.split_once("% of ")?;
    let (expected, marginal) = match rest.split_once(". Marginal: ") {
        Some((expected, marginal)) => (expected, Some(marginal.split_once("% of ")?.0)),
        None => (rest.strip_suffix('.').unwrap_or(rest), None),
    };
    let nominal = bound(expected).filter(|bound| bound.value.is_finite())?;
    let around = |percent: &str| -> Option<(Bound, Bound)> {
        let reach = (nominal.value * bound(percent)?.value / 100.0).abs();
        let at = |value: f64| Bound { value, text: shortest(value) };
        let (low, high) = (nominal.value - reach, nominal.value + reach);
        (low.is_finite() && high.is_finite()).then(|| (at(low), at(high)))
    };
    let (low, high) = around(percent)?;
    let marginal = marginal.filter(|marginal| *marginal != "None").map(around);
    let (marginal_low, marginal_high) = match marginal {
        Some(around) => around.map(|(low, high)| (Some(low), Some(high)))?,
        None => (None, None),
    };
    Some(Range {
        low: Some(low),
        high: Some(high),
        marginal_low,
        marginal_high,
        nominal: Some(nominal),
        is_equality: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(texts: &[&str], expected: &str) {
        let found: Vec<String> =
            entries(texts).into_iter().map(|(key, text)| format!("{key}={text}")).collect();
        assert_eq!(found.join(" "), expected, "{texts:?}");
    }

    #[test]
    fn ranges() {
        check(&["4.9 <= x <= 5.1"], "comparisonType=GELE lowLimit=4.9 highLimit=5.1");
        check(&["-1.5 <= x"], "comparisonType=GE lowLimit=-1.5");
        check(&["x <= 20.0"], "comparisonType=LE highLimit=20");
        check(&["1e-07 <= x <= inf"], "comparisonType=GELE lowLimit=1e-7 highLimit=Infinity");
        let large = "900719925474099312345 <= x";
        check(&[large], "comparisonType=GE lowLimit=900719925474099312345");
        check(&["x == 12"], "comparisonType=EQ lowLimit=12 highLimit=12");
    }

    #[test]
    fn marginal_limits() {
        check(
            &["1 <= Marginal:2 <= x <= Marginal:8 <= 9"],
            "comparisonType=GELE lowLimit=1 highLimit=9 marginalLow=2 marginalHigh=8",
        );
        check(
            &["x <= Marginal:0.015 <= 0.02"],
            "comparisonType=LE highLimit=0.02 marginalHigh=0.015",
        );
        check(&["1 <= Marginal:2 <= x"], "comparisonType=GE lowLimit=1 marginalLow=2");
    }

    #[test]
    fn percents() {
        let gain = "comparisonType=GELE lowLimit=-22 highLimit=-18 nominalValue=-20";
        check(&["'x' is within 10% of -20.0."], gain);
        check(&["'x' is within 10% of -20.0"], gain);
        check(&["'x' is within 10% of -20.0. Marginal: None% of -20.0"], gain);
        check(
            &["'x' is within 5% of 100. Marginal: 2% of 100"],
            "comparisonType=GELE lowLimit=95 highLimit=105 marginalLow=98 marginalHigh=102 \
             nominalValue=100",
        );
    }

    #[test]
    fn several_ranges_intersect() {
        check(
            &["0 <= x <= 10", "5 <= x <= 20"],
            "validators=0 <= x <= 10\n5 <= x <= 20 comparisonType=GELE lowLimit=5 highLimit=10",
        );
        check(
            &["0 <= x", "'x' matches /1/"],
            "validators=0 <= x\n'x' matches /1/ comparisonType=GE lowLimit=0",
        );
        check(
            &["x == 3", "0 <= x <= 5"],
            "validators=x == 3\n0 <= x <= 5 comparisonType=GELE lowLimit=3 highLimit=3",
        );
    }

    #[test]
    fn other_texts_are_kept() {
        for text in [
            "'x' matches /^1$/",
            "x == True",
            "x",
            "",
            "nan <= x",
            "1 <= 2 <= 3 <= x",
            "1 <= y <= 2",
            "x <= infinity",
            "Marginal:1 <= x",
            "All values pass: 0 <= x <= 1",
            "'x' is within ten% of 1.",
            "'x' is within 1% of 1. Marginal: a% of 1",
        ] {
            check(&[text], &format!("validators={text} comparisonType=LOG"));
        }
        check(&[], "");
    }
}
