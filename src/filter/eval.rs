//! Evaluates a typed tree over one record, with two truth values.
//!
//! Evaluation cannot fail: a value that cannot be computed is null. A comparison with null is true
//! only for `null = null`, and for `!=` with a value that is not null. Only lists of records, and
//! functions that fold, build or convert texts, allocate.
//!
//! Every loop and every pass over a text counts its steps in the [`Work`] of the record. Once the
//! work has stopped, every further condition is false and every loop ends at its next element; the
//! caller discards the result.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

use super::constant::{
    Constant, Fold, fold_case, order, parse_bool, parse_number, parse_span, parse_time,
};
use super::syntax::{Arithmetic, Comparison};
use super::tree::{Cast, FieldPath, How, List, Members, Scalar, Set, Test};
use crate::value::pattern::lower_case;
use crate::value::{Pairs, Row, Val, Work, limits, time};

/// The value of a scope during evaluation.
#[derive(Clone, Debug)]
pub(super) enum Element<'a> {
    Row(&'a dyn Row),
    Pair(&'a str, Option<&'a str>),
    Map(Pairs<'a>),
    Scalar(Val<'a>),
}

/// The scopes around a node, innermost first, and the callback that answers text searches.
pub(super) struct Scopes<'a, 's> {
    pub number: u32,
    pub element: Element<'a>,
    pub around: Option<&'s Scopes<'a, 's>>,
    pub search: &'s dyn Fn(usize) -> bool,
    pub work: &'s Work<'s>,
}

impl<'a> Scopes<'a, '_> {
    fn element(&self, number: u32) -> Option<&Element<'a>> {
        let mut scope = self;
        while scope.number != number {
            scope = scope.around?;
        }
        Some(&scope.element)
    }

    fn field(&self, place: FieldPath) -> Val<'a> {
        match self.element(place.scope) {
            Some(Element::Row(row)) => {
                let value = row.val(place.index);
                if let Val::Rows(rows) = &value {
                    // The row makes this list anew at each access.
                    self.work.spend(rows.len() as u64);
                }
                value
            }
            Some(Element::Map(map)) => Val::Map(*map),
            _ => Val::Null,
        }
    }

    fn map(&self, place: FieldPath) -> Option<Pairs<'a>> {
        match self.field(place) {
            Val::Map(map) => Some(map),
            _ => None,
        }
    }

    /// Evaluates with `element` in an inner scope.
    fn within<R>(
        &self,
        number: u32,
        element: Element<'a>,
        f: impl FnOnce(&Scopes<'a, '_>) -> R,
    ) -> R {
        f(&Scopes { number, element, around: Some(self), search: self.search, work: self.work })
    }
}

pub(super) fn holds(comparison: Comparison, order: Option<Ordering>, either_null: bool) -> bool {
    match (comparison, order) {
        (Comparison::Eq, order) => order == Some(Ordering::Equal),
        // Every value is unequal to null. NaN is unequal to every value, also to itself, but
        // satisfies no comparison, not even `!=`.
        (Comparison::Ne, Some(order)) => order != Ordering::Equal,
        (Comparison::Ne, None) => either_null,
        (Comparison::Lt, order) => order == Some(Ordering::Less),
        (Comparison::Le, order) => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        (Comparison::Gt, order) => order == Some(Ordering::Greater),
        (Comparison::Ge, order) => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    }
}

pub(super) fn compare(left: &Val<'_>, comparison: Comparison, right: &Val<'_>) -> bool {
    match (left.is_null(), right.is_null()) {
        (true, true) => comparison == Comparison::Eq,
        (true, false) | (false, true) => comparison == Comparison::Ne,
        (false, false) => {
            // The type rules refuse to order Booleans; two JSON values get here.
            let has_order = !matches!(left, Val::Bool(_)) || !comparison.is_ordering();
            has_order && holds(comparison, order(left, right), false)
        }
    }
}

impl Test {
    /// Whether the test is true for the current elements of its scopes. False once the work has
    /// stopped.
    pub(super) fn holds<'a>(&'a self, at: &Scopes<'a, '_>) -> bool {
        if !at.work.spend(1) {
            return false;
        }
        match self {
            Self::Const(value) => *value,
            Self::All(tests) => tests.iter().all(|test| test.holds(at)),
            Self::Any(tests) => tests.iter().any(|test| test.holds(at)),
            Self::Not(test) => !test.holds(at),
            Self::Truth(value) => matches!(value.get(at), Val::Bool(true)),
            Self::IsNull(value) => value.get(at).is_null(),
            Self::ListIsNull(list) => list.is_null(at),
            Self::NullOrEmpty(value) => match value.get(at) {
                Val::Null => true,
                Val::Str(text) => text.is_empty(),
                _ => false,
            },
            Self::Compare { left, comparison, right } => {
                let (left, right) = (left.get(at), right.get(at));
                if let (Val::Str(left), Val::Str(right)) = (&left, &right) {
                    at.work.scan(left.len().min(right.len()));
                }
                compare(&left, *comparison, &right)
            }
            Self::In { value, set } => {
                let value = value.get(at);
                if let Val::Str(text) = &value {
                    // The lookup hashes the whole text.
                    at.work.scan(text.len());
                }
                set.has(&value)
            }
            Self::Contains { text, fold, find } => match text.get(at) {
                Val::Str(text) if *fold == Fold::None => {
                    at.work.scan(text.len()) && find.find(text.as_bytes()).is_some()
                }
                Val::Str(text) => {
                    at.work.convert(text.len())
                        && contains_folded(&text, *fold == Fold::Upper, find)
                }
                _ => false,
            },
            Self::Match { text, how, part } => match (text.get(at), part.get(at)) {
                (Val::Str(text), Val::Str(part)) => match how {
                    How::Contains => {
                        at.work.scan(text.len().saturating_add(part.len()))
                            && memchr::memmem::find(text.as_bytes(), part.as_bytes()).is_some()
                    }
                    How::Starts => at.work.scan(part.len()) && text.starts_with(&*part),
                    How::Ends => at.work.scan(part.len()) && text.ends_with(&*part),
                },
                _ => false,
            },
            Self::Like { text, fold, pattern, .. } => match text.get(at) {
                // Folding copies the text, and matching the pieces reads it: both count as work.
                Val::Str(text) if *fold => {
                    at.work.convert(text.len()) && pattern.fits(&lower_case(&text))
                }
                Val::Str(text) => at.work.scan(text.len()) && pattern.fits(&text),
                _ => false,
            },
            Self::Holds { list, value } => list.holds(&value.get(at), at),
            Self::NotEmpty(list) => list.count(at).is_some_and(|count| count > 0),
            Self::Exists { list, scope, test } => {
                let mut found = false;
                list.each(at, &mut |element| {
                    found = at.within(*scope, element, |inner| test.holds(inner));
                    !found
                });
                found
            }
            Self::Every { list, scope, test } => {
                let mut all = true;
                list.each(at, &mut |element| {
                    all = at.within(*scope, element, |inner| test.holds(inner));
                    all
                });
                all
            }
            Self::HasKey { map, key } => match (at.map(*map), key.get(at)) {
                (Some(map), Val::Str(key)) => at.work.scan(key.len()) && map.contains_key(&key),
                _ => false,
            },
            Self::Search(number) => (at.search)(*number),
        }
    }
}

/// Folds the text and searches it. Short ASCII texts, the common case, are folded on the stack.
fn contains_folded(text: &str, upper: bool, find: &memchr::memmem::Finder<'_>) -> bool {
    const STACK: usize = 256;
    let mut folded = [0u8; STACK];
    match folded.get_mut(..text.len()) {
        Some(folded) if text.is_ascii() => {
            folded.copy_from_slice(text.as_bytes());
            if upper {
                folded.make_ascii_uppercase();
            } else {
                folded.make_ascii_lowercase();
            }
            find.find(folded).is_some()
        }
        _ => find.find(fold_case(text, upper).as_bytes()).is_some(),
    }
}

impl Set {
    fn has(&self, value: &Val<'_>) -> bool {
        match (value, &self.members) {
            (Val::Null, _) => self.has_null,
            (Val::Str(text), Members::Texts(_, Some(hashed))) => hashed.contains(&**text),
            (Val::Str(text), Members::Texts(sorted, None)) => {
                sorted.iter().any(|member| **member == **text)
            }
            (
                Val::Int(value) | Val::Time(value) | Val::Span(value),
                Members::Ints(_, Some(hashed)),
            ) => hashed.contains(value),
            (
                Val::Int(value) | Val::Time(value) | Val::Span(value),
                Members::Ints(sorted, None),
            ) => sorted.contains(value),
            // A computed number may be an integer or a double.
            (Val::Double(_) | Val::Int(_), Members::Doubles(sorted)) => sorted
                .binary_search_by(|member| {
                    order(&Val::Double(*member), value).unwrap_or(Ordering::Less)
                })
                .is_ok(),
            _ => false,
        }
    }
}

impl Scalar {
    pub(super) fn get<'a>(&'a self, at: &Scopes<'a, '_>) -> Val<'a> {
        match self {
            Self::Const(value) => value.val(),
            Self::Field(place) => at.field(*place),
            Self::Json(place) => scalar_of_json(at.field(*place)),
            Self::Within { time, reference_ms } => match at.field(*time) {
                Val::Time(time) => Val::Span(reference_ms.saturating_sub(time)),
                _ => Val::Null,
            },
            Self::Element(scope) => match at.element(*scope) {
                Some(Element::Scalar(value)) => {
                    if let Val::Str(Cow::Owned(text)) = value {
                        at.work.scan(text.len());
                    }
                    value.clone()
                }
                _ => Val::Null,
            },
            Self::Key(scope) => match at.element(*scope) {
                Some(Element::Pair(key, _)) => Val::from(*key),
                _ => Val::Null,
            },
            Self::Value(scope) => match at.element(*scope) {
                Some(Element::Pair(_, value)) => Val::from(*value),
                _ => Val::Null,
            },
            Self::Entry { map, key } => match (at.map(*map), key.get(at)) {
                (Some(map), Val::Str(key)) if at.work.scan(key.len()) => {
                    map.get(&key).flatten().into()
                }
                _ => Val::Null,
            },
            Self::At { list, index } => list_element(list, index, at),
            Self::Case { text, upper } => match text.get(at) {
                Val::Str(text) if at.work.convert(text.len()) => {
                    Val::Str(Cow::Owned(fold_case(&text, *upper)))
                }
                _ => Val::Null,
            },
            Self::Trim(text) => match text.get(at) {
                Val::Str(text) if !at.work.scan(text.len()) => Val::Null,
                Val::Str(Cow::Borrowed(text)) => Val::from(text.trim()),
                Val::Str(Cow::Owned(text)) => Val::Str(Cow::Owned(text.trim().to_owned())),
                _ => Val::Null,
            },
            Self::Length(text) => match text.get(at) {
                Val::Str(text) if at.work.scan(text.len()) => count(text.chars().count()),
                _ => Val::Null,
            },
            Self::IndexOf(text, part) => match (text.get(at), part.get(at)) {
                (Val::Str(text), Val::Str(part))
                    if at.work.scan(text.len().saturating_add(part.len())) =>
                {
                    match text.find(&*part).and_then(|at| text.get(..at)) {
                        Some(before) => count(before.chars().count()),
                        None => Val::Int(-1),
                    }
                }
                _ => Val::Null,
            },
            Self::Substring(text, from, len) => substring(text, from, len.as_deref(), at),
            Self::Concat(parts) => {
                if !at.work.spend(parts.len() as u64) {
                    return Val::Null;
                }
                let mut whole = String::new();
                for part in parts {
                    if let Val::Str(part) = part.get(at) {
                        // Without this bound, nested concatenations could double the text at each
                        // level.
                        if whole.len() + part.len() > limits::FILTER_TEXT_BYTES
                            || !at.work.scan(part.len())
                        {
                            return Val::Null;
                        }
                        whole.push_str(&part);
                    }
                }
                Val::Str(Cow::Owned(whole))
            }
            Self::Count { list, filter, null_is_zero } => {
                let counted = match filter {
                    None => list.count(at),
                    Some((scope, test)) => {
                        let mut counted = 0;
                        list.each(at, &mut |element| {
                            counted +=
                                usize::from(at.within(*scope, element, |inner| test.holds(inner)));
                            true
                        })
                        .map(|()| counted)
                    }
                };
                match counted {
                    Some(counted) => count(counted),
                    None if *null_is_zero => Val::Int(0),
                    None => Val::Null,
                }
            }
            Self::Negate(value) => match value.get(at) {
                Val::Int(value) => value.checked_neg().map_or(Val::Null, Val::Int),
                Val::Span(value) => value.checked_neg().map_or(Val::Null, Val::Span),
                Val::Double(value) => Val::Double(-value),
                _ => Val::Null,
            },
            Self::Chain(first, rest) => {
                at.work.spend(rest.len() as u64);
                rest.iter().fold(first.get(at), |left, (operator, right)| {
                    calculate(&left, *operator, &right.get(at))
                })
            }
            Self::If(test, yes, no) => {
                if test.holds(at) {
                    yes.get(at)
                } else {
                    no.get(at)
                }
            }
            Self::Coalesce(first, second) => match first.get(at) {
                Val::Null => second.get(at),
                value => value,
            },
            Self::Test(test) => Val::Bool(test.holds(at)),
            Self::Cast(value, cast) => {
                let value = value.get(at);
                match &value {
                    Val::Str(text) if !at.work.convert(text.len()) => Val::Null,
                    _ => cast.of(value),
                }
            }
        }
    }
}

impl Cast {
    fn of(self, value: Val<'_>) -> Val<'static> {
        match self {
            Self::Time => match value {
                Val::Str(text) => parse_time(&text).map_or(Val::Null, Val::Time),
                Val::Time(time) => Val::Time(time),
                _ => Val::Null,
            },
            Self::Span => match value {
                Val::Str(text) => parse_span(&text).map_or(Val::Null, Val::Span),
                Val::Span(span) => Val::Span(span),
                _ => Val::Null,
            },
            Self::Number => to_number(&value),
            Self::Integer => match to_number(&value) {
                // Rounds half to even, as the public conversion does.
                Val::Double(value) if value.abs() < 9.0e18 => {
                    Val::Int(value.round_ties_even() as i64)
                }
                Val::Int(value) => Val::Int(value),
                _ => Val::Null,
            },
            Self::Bool => match value {
                Val::Str(text) => parse_bool(&text).map_or(Val::Null, Val::Bool),
                Val::Bool(value) => Val::Bool(value),
                Val::Int(value) => Val::Bool(value != 0),
                _ => Val::Null,
            },
            Self::Units(unit_ms) => match value {
                Val::Int(value) => value.checked_mul(unit_ms).map_or(Val::Null, Val::Span),
                Val::Double(value) => {
                    let millis = value * unit_ms as f64;
                    if millis.abs() < 9.0e18 { Val::Span(millis as i64) } else { Val::Null }
                }
                _ => Val::Null,
            },
        }
    }
}

fn count(value: usize) -> Val<'static> {
    i64::try_from(value).map_or(Val::Null, Val::Int)
}

fn to_number(value: &Val<'_>) -> Val<'static> {
    match value {
        Val::Str(text) => match parse_number(text) {
            Some(Constant::Int(value)) => Val::Int(value),
            Some(Constant::Double(value)) => Val::Double(value),
            _ => Val::Null,
        },
        Val::Int(value) => Val::Int(*value),
        Val::Double(value) => Val::Double(*value),
        Val::Bool(value) => Val::Int(i64::from(*value)),
        _ => Val::Null,
    }
}

fn substring<'a>(
    text: &'a Scalar,
    from: &'a Scalar,
    len: Option<&'a Scalar>,
    at: &Scopes<'a, '_>,
) -> Val<'a> {
    let (Val::Str(text), Val::Int(from)) = (text.get(at), from.get(at)) else {
        return Val::Null;
    };
    let Ok(from) = usize::try_from(from) else {
        return Val::Null;
    };
    let len = match len.map(|len| len.get(at)) {
        None => usize::MAX,
        Some(Val::Int(len)) => match usize::try_from(len) {
            Ok(len) => len,
            Err(_) => return Val::Null,
        },
        Some(_) => return Val::Null,
    };
    if !at.work.convert(text.len()) || from > text.chars().count() {
        return Val::Null;
    }
    Val::Str(Cow::Owned(text.chars().skip(from).take(len).collect()))
}

/// Calculates with numbers, times and spans; overflow, division by zero and NaN are null.
fn calculate<'a>(left: &Val<'_>, operator: Arithmetic, right: &Val<'_>) -> Val<'a> {
    use Arithmetic::{Add, Divide, Multiply, Remainder, Subtract};
    let or_null = |value: Option<i64>, make: fn(i64) -> Val<'static>| value.map_or(Val::Null, make);
    let in_range =
        |value: Option<i64>| value.filter(|value| (time::MIN_MS..=time::MAX_MS).contains(value));
    match (left, operator, right) {
        (Val::Int(left), operator, Val::Int(right)) => or_null(
            match operator {
                Add => left.checked_add(*right),
                Subtract => left.checked_sub(*right),
                Multiply => left.checked_mul(*right),
                Divide => left.checked_div(*right),
                Remainder => left.checked_rem(*right),
            },
            Val::Int,
        ),
        (Val::Int(_) | Val::Double(_), operator, Val::Int(_) | Val::Double(_)) => {
            let float = |value: &Val<'_>| match value {
                Val::Int(value) => *value as f64,
                Val::Double(value) => *value,
                _ => f64::NAN,
            };
            let (left, right) = (float(left), float(right));
            let value = match operator {
                Add => left + right,
                Subtract => left - right,
                Multiply => left * right,
                Divide => left / right,
                Remainder => left % right,
            };
            if value.is_finite() { Val::Double(value) } else { Val::Null }
        }
        (Val::Time(left), Subtract, Val::Time(right)) => {
            or_null(left.checked_sub(*right), Val::Span)
        }
        (Val::Time(left), Add, Val::Span(right)) | (Val::Span(left), Add, Val::Time(right)) => {
            or_null(in_range(left.checked_add(*right)), Val::Time)
        }
        (Val::Time(left), Subtract, Val::Span(right)) => {
            or_null(in_range(left.checked_sub(*right)), Val::Time)
        }
        (Val::Span(left), Add, Val::Span(right)) => or_null(left.checked_add(*right), Val::Span),
        (Val::Span(left), Subtract, Val::Span(right)) => {
            or_null(left.checked_sub(*right), Val::Span)
        }
        _ => Val::Null,
    }
}

/// The scalar that a JSON value is. An object and an array stay what they are: they equal nothing,
/// and are not null.
fn scalar_of_json(value: Val<'_>) -> Val<'_> {
    let Val::Json(json) = value else { return value };
    match json {
        Value::Null => Val::Null,
        Value::Bool(truth) => Val::Bool(*truth),
        Value::String(text) => Val::from(text),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(int), _) => Val::Int(int),
            (None, Some(double)) => Val::Double(double),
            (None, None) => value,
        },
        Value::Array(_) | Value::Object(_) => value,
    }
}

fn list_element<'a>(list: &'a List, index: &'a Scalar, at: &Scopes<'a, '_>) -> Val<'a> {
    let Val::Int(index) = index.get(at) else {
        return Val::Null;
    };
    let Ok(mut left) = usize::try_from(index) else {
        return Val::Null;
    };
    let mut found = Val::Null;
    list.each(at, &mut |element| {
        if left > 0 {
            left -= 1;
            return true;
        }
        found = match element {
            // It has no scalar value; a filter can only test whether the element exists.
            Element::Row(_) | Element::Pair(..) | Element::Map(_) => Val::Bool(true),
            Element::Scalar(value) => value,
        };
        false
    });
    found
}

impl List {
    /// Calls `visit` for each element until it returns false or the work stops; `None` when the
    /// list is null.
    fn each<'a>(
        &'a self,
        at: &Scopes<'a, '_>,
        visit: &mut dyn FnMut(Element<'a>) -> bool,
    ) -> Option<()> {
        let mut visit = |element: Element<'a>| at.work.spend(1) && visit(element);
        match self {
            Self::Field(place) => match at.field(*place) {
                Val::Strings(strings) => {
                    let _ = strings.iter().all(|text| visit(Element::Scalar(Val::from(text))));
                }
                Val::Map(map) => {
                    let _ = map.iter().all(|(key, value)| visit(Element::Pair(key, value)));
                }
                Val::Maps(maps) => {
                    let _ = maps.iter().all(|map| visit(Element::Map(Pairs::Texts(map))));
                }
                Val::Rows(rows) => {
                    let _ = rows.into_iter().all(|row| visit(Element::Row(row)));
                }
                _ => return None,
            },
            Self::Keys(place) => {
                let _ = at.map(*place)?.iter().all(|(key, _)| visit(Element::Scalar(key.into())));
            }
            Self::Values(place) => {
                let _ =
                    at.map(*place)?.iter().all(|(_, value)| visit(Element::Scalar(value.into())));
            }
            Self::Path { list, scope, body } => {
                return list.each(at, &mut |element| {
                    let value = at.within(*scope, element, |inner| body.get(inner));
                    visit(Element::Scalar(value))
                });
            }
            Self::Array(elements) => {
                let _ = elements.iter().all(|element| visit(Element::Scalar(element.get(at))));
            }
        }
        Some(())
    }

    fn is_null(&self, at: &Scopes<'_, '_>) -> bool {
        match self {
            Self::Field(place) | Self::Keys(place) | Self::Values(place) => {
                at.field(*place).is_null()
            }
            Self::Path { list, .. } => list.is_null(at),
            Self::Array(_) => false,
        }
    }

    fn count(&self, at: &Scopes<'_, '_>) -> Option<usize> {
        match self {
            Self::Field(place) | Self::Keys(place) | Self::Values(place) => {
                match at.field(*place) {
                    Val::Strings(strings) => Some(strings.len()),
                    Val::Map(map) => Some(map.len()),
                    Val::Maps(maps) => Some(maps.len()),
                    Val::Rows(rows) => Some(rows.len()),
                    _ => None,
                }
            }
            Self::Path { list, .. } => list.count(at),
            Self::Array(elements) => Some(elements.len()),
        }
    }

    fn holds<'a>(&'a self, value: &Val<'_>, at: &Scopes<'a, '_>) -> bool {
        if let (Self::Field(place), Val::Str(text)) = (self, value) {
            return match at.field(*place) {
                Val::Strings(strings) => strings.iter().any(|member| {
                    at.work.spend(1)
                        && at.work.scan(member.len().min(text.len()))
                        && **member == **text
                }),
                _ => false,
            };
        }
        let mut found = false;
        self.each(at, &mut |element| {
            found = match &element {
                Element::Scalar(element) => {
                    if let (Val::Str(left), Val::Str(right)) = (element, value) {
                        at.work.scan(left.len().min(right.len()));
                    }
                    compare(element, Comparison::Eq, value)
                }
                Element::Row(_) | Element::Pair(..) | Element::Map(_) => false,
            };
            !found
        });
        found
    }
}
