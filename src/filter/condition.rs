//! Conditions that a query planner can use: every match of the filter satisfies them, and they
//! consist of fields and constants.
//!
//! A condition is equivalent to the part of the filter that it was derived from. Its constants have
//! the representation of the field, so index keys made from them select neither more nor fewer
//! records.

use std::ops::Bound;
use std::sync::Arc;

use super::constant::{Constant, Fold, order};
use super::schema::Schema;
use super::simplify::{exact_double, exact_int};
use super::syntax::Comparison;
use super::tree::{How, List, Members, Scalar, Set, Test};
use crate::value::{FieldType, Val, time};

/// One condition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    /// A field, by its position in [`Schema::fields`], satisfies this.
    Field(usize, FieldTest),
    /// The text search with this number in the filter matches the record.
    Search(usize),
    /// At least one of these groups is true; a group is true when each of its conditions is.
    AnyOf(Vec<Vec<Condition>>),
    /// No record matches.
    Never,
    /// Only evaluation can decide.
    Other,
}

/// A condition on one field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FieldTest {
    /// It equals a value that is not null.
    Eq(Constant),
    /// It equals one of the values, which are ascending and distinct; null comes first if it is
    /// listed.
    In(Vec<Constant>),
    /// It is between a lower and an upper bound. Null and NaN are outside: an open side is bounded
    /// by the least or greatest value of the type. Only text has no greatest value, so its upper
    /// side stays open.
    Range(Bound<Constant>, Bound<Constant>),
    /// The text starts with a prefix.
    Prefix(Arc<str>),
    /// The text contains a part after its letter case was folded.
    Contains(Arc<str>, Fold),
    /// The text contains a part of ASCII characters, whatever the letter case, if the record
    /// matches: not exact.
    MayContain(Arc<str>),
    /// The map has the key with this value.
    MapEq(Arc<str>, Arc<str>),
    /// The map has the key with one of these values.
    MapIn(Arc<str>, Vec<Arc<str>>),
    /// The map has the key.
    MapKey(Arc<str>),
    /// The list of strings has at least one of these elements; one or more.
    ListHas(Vec<Arc<str>>),
    /// Some record of the list has a member, by its position in the fields of these records, that
    /// equals one of the values; one or more.
    RowsHave(usize, Vec<Constant>),
    /// It is null.
    IsNull,
    /// It is not null.
    NotNull,
}

impl Condition {
    /// Whether the condition is equivalent to the part of the filter that it was derived from.
    #[must_use]
    pub(crate) fn is_exact(&self) -> bool {
        match self {
            Self::Other | Self::Field(_, FieldTest::MayContain(_)) => false,
            Self::AnyOf(groups) => groups.iter().flatten().all(Self::is_exact),
            _ => true,
        }
    }
}

/// The conditions that are joined by `and` at the top level of a filter.
pub(super) fn conjuncts(test: &Test, schema: &Schema<'_>) -> Vec<Condition> {
    let mut conditions = Vec::new();
    collect(test, schema, &mut conditions);
    merge_ranges(&mut conditions);
    conditions
}

fn collect(test: &Test, schema: &Schema<'_>, out: &mut Vec<Condition>) {
    match test {
        Test::Const(true) => {}
        Test::All(tests) => tests.iter().for_each(|test| collect(test, schema, out)),
        test => out.push(condition(test, schema)),
    }
}

fn condition(test: &Test, schema: &Schema<'_>) -> Condition {
    let on = |field: Option<usize>, test| field.map(|field| Condition::Field(field, test));
    match test {
        Test::Const(false) => Some(Condition::Never),
        Test::Any(tests) => Some(union(tests, schema)),
        Test::Not(inner) => match &**inner {
            Test::IsNull(value) => on(value.record_field(), FieldTest::NotNull),
            _ => None,
        },
        Test::Truth(value) => on(value.record_field(), FieldTest::Eq(Constant::Bool(true))),
        Test::IsNull(value) => on(value.record_field(), FieldTest::IsNull),
        Test::Compare { left, comparison, right: Scalar::Const(value) } => {
            compared(left, *comparison, value, schema)
        }
        Test::In { value, set } => member(value, set),
        Test::Contains { text, fold, find } => std::str::from_utf8(find.needle())
            .ok()
            .and_then(|part| on(text.record_field(), FieldTest::Contains(part.into(), *fold))),
        Test::Match { text, how: How::Starts, part: Scalar::Const(Constant::Text(part)) } => {
            on(text.record_field(), FieldTest::Prefix(part.clone()))
        }
        Test::Like { pattern, words: Some(place), .. } => pattern
            .ascii_piece()
            .and_then(|piece| on(place.of_record(), FieldTest::MayContain(piece.into()))),
        Test::Holds { list: List::Field(place), value: Scalar::Const(Constant::Text(value)) } => {
            on(place.of_record(), FieldTest::ListHas(vec![value.clone()]))
        }
        Test::HasKey { map, key: Scalar::Const(Constant::Text(key)) } => {
            on(map.of_record(), FieldTest::MapKey(key.clone()))
        }
        Test::Exists { list: List::Field(place), scope, test } => {
            place.of_record().and_then(|field| element(field, *scope, test))
        }
        Test::Search(number) => Some(Condition::Search(*number)),
        _ => None,
    }
    .unwrap_or(Condition::Other)
}

/// Derives a condition from alternatives: a membership if all are about one field. If one
/// alternative has nothing that a planner can use, neither has the whole, since its matches may be
/// anywhere.
fn union(tests: &[Test], schema: &Schema<'_>) -> Condition {
    let mut groups = Vec::with_capacity(tests.len());
    for test in tests {
        let group = conjuncts(test, schema);
        if group.iter().all(|condition| *condition == Condition::Other) {
            return Condition::Other;
        }
        groups.push(group);
    }
    one_membership(&groups).unwrap_or(Condition::AnyOf(groups))
}

fn one_membership(groups: &[Vec<Condition>]) -> Option<Condition> {
    let mut of = None;
    let mut values = Vec::new();
    for group in groups {
        let [condition] = group.as_slice() else { return None };
        let field = match condition {
            Condition::Field(field, FieldTest::Eq(value)) => {
                values.push(value.clone());
                *field
            }
            Condition::Field(field, FieldTest::In(more)) => {
                values.extend_from_slice(more);
                *field
            }
            _ => return None,
        };
        if *of.get_or_insert(field) != field {
            return None;
        }
    }
    values.sort_by(by_key);
    values.dedup();
    Some(Condition::Field(of?, FieldTest::In(values)))
}

/// Orders null first, then by value.
fn by_key(left: &Constant, right: &Constant) -> std::cmp::Ordering {
    let (left_val, right_val) = (left.val(), right.val());
    order(&left_val, &right_val).unwrap_or_else(|| right_val.is_null().cmp(&left_val.is_null()))
}

fn member(value: &Scalar, set: &Set) -> Option<Condition> {
    if let Scalar::Entry { map, key } = value {
        return match (map.of_record(), &**key, &set.members) {
            (Some(field), Scalar::Const(Constant::Text(key)), Members::Texts(values, _))
                if !set.has_null =>
            {
                Some(Condition::Field(field, FieldTest::MapIn(key.clone(), values.clone())))
            }
            _ => None,
        };
    }
    let field = value.record_field()?;
    let mut values = set.constants();
    if set.has_null {
        values.insert(0, Constant::Null);
    }
    Some(Condition::Field(field, FieldTest::In(values)))
}

fn compared(
    left: &Scalar,
    comparison: Comparison,
    value: &Constant,
    schema: &Schema<'_>,
) -> Option<Condition> {
    match (left, value) {
        (Scalar::Field(place), value) => range(place.of_record()?, comparison, value, schema),
        // `reference - time` compared with a span is equivalent to `time` compared, with the
        // mirrored operator, with `reference - span`.
        (Scalar::Within { time: place, reference_ms }, Constant::Span(span)) => {
            let field = timestamp_field(place.of_record()?, schema)?;
            let bound = Constant::Time(reference_ms.checked_sub(*span)?);
            range(field, comparison.mirrored(), &bound, schema)
        }
        (Scalar::Entry { map, key }, Constant::Text(value)) if comparison == Comparison::Eq => {
            match &**key {
                Scalar::Const(Constant::Text(key)) => {
                    let test = FieldTest::MapEq(key.clone(), value.clone());
                    Some(Condition::Field(map.of_record()?, test))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// The time field that a `...Within` field is computed from: `createdAt` for `createdWithin`.
fn timestamp_field(within: usize, schema: &Schema<'_>) -> Option<usize> {
    let path = schema.fields.get(within)?.path;
    let stem = path.strip_suffix("Within")?;
    schema.fields.iter().position(|decl| {
        matches!(decl.ty, FieldType::Time)
            && decl.path.strip_suffix("At").is_some_and(|at| at == stem)
    })
}

fn range(
    field: usize,
    comparison: Comparison,
    value: &Constant,
    schema: &Schema<'_>,
) -> Option<Condition> {
    let ty = schema.fields.get(field)?.ty;
    let whole = matches!(ty, FieldType::Int);
    let (comparison, value) = match (ty, value) {
        (FieldType::Int, Constant::Double(double)) => match (exact_int(value), comparison) {
            (Some(int), _) => (comparison, Constant::Int(int)),
            (None, Comparison::Eq) => return Some(Condition::Never),
            (None, Comparison::Ne) => return None,
            // No integer equals the double, so a comparison with the integer below selects the same
            // values.
            (None, Comparison::Lt | Comparison::Le) => {
                (Comparison::Le, Constant::Int(integer_below(*double)?))
            }
            (None, Comparison::Gt | Comparison::Ge) => {
                (Comparison::Gt, Constant::Int(integer_below(*double)?))
            }
        },
        (FieldType::Double, Constant::Int(_)) => {
            (comparison, Constant::Double(exact_double(value)?))
        }
        _ => (comparison, value.clone()),
    };
    let (least, greatest) = match &value {
        Constant::Text(_) => (Constant::text(""), None),
        Constant::Int(_) if whole => (Constant::Int(i64::MIN), Some(Constant::Int(i64::MAX))),
        Constant::Time(_) => (Constant::Time(time::MIN_MS), Some(Constant::Time(time::MAX_MS))),
        Constant::Double(_) => {
            (Constant::Double(f64::NEG_INFINITY), Some(Constant::Double(f64::INFINITY)))
        }
        Constant::Bool(_) if comparison == Comparison::Eq => {
            return Some(Condition::Field(field, FieldTest::Eq(value)));
        }
        _ => return None,
    };
    let least = Bound::Included(least);
    let greatest = greatest.map_or(Bound::Unbounded, Bound::Included);
    let (lower, upper) = match comparison {
        Comparison::Eq => return Some(Condition::Field(field, FieldTest::Eq(value))),
        Comparison::Ne => return None,
        Comparison::Lt => (least, Bound::Excluded(value)),
        Comparison::Le => (least, Bound::Included(value)),
        Comparison::Gt => (Bound::Excluded(value), greatest),
        Comparison::Ge => (Bound::Included(value), greatest),
    };
    Some(Condition::Field(field, FieldTest::Range(lower, upper)))
}

fn integer_below(double: f64) -> Option<i64> {
    let floor = double.floor();
    exact_int(&Constant::Double(floor))
}

/// Derives a condition from a test of some element of a list or map.
fn element(field: usize, scope: u32, test: &Test) -> Option<Condition> {
    let texts = |values: Vec<Constant>| -> Option<Vec<Arc<str>>> {
        values
            .into_iter()
            .map(|value| if let Constant::Text(text) = value { Some(text) } else { None })
            .collect()
    };
    match test {
        Test::Any(tests) => {
            let groups: Option<Vec<_>> = tests
                .iter()
                .map(|test| element(field, scope, test).map(|condition| vec![condition]))
                .collect();
            groups.map(Condition::AnyOf)
        }
        Test::All(tests) => {
            let [first, second] = tests.as_slice() else { return None };
            let (((Subject::Key, key), (Subject::Value, values))
            | ((Subject::Value, values), (Subject::Key, key))) =
                (subject(first, scope)?, subject(second, scope)?)
            else {
                return None;
            };
            let mut keys = texts(key)?;
            let key = if keys.len() == 1 { keys.pop()? } else { return None };
            Some(match texts(values)? {
                mut values if values.len() == 1 => {
                    Condition::Field(field, FieldTest::MapEq(key, values.pop()?))
                }
                values => Condition::Field(field, FieldTest::MapIn(key, values)),
            })
        }
        test => match subject(test, scope)? {
            (Subject::Element, values) => {
                Some(Condition::Field(field, FieldTest::ListHas(texts(values)?)))
            }
            (Subject::Member(member), values) => {
                Some(Condition::Field(field, FieldTest::RowsHave(member, values)))
            }
            (Subject::Key, keys) => {
                let mut keys = texts(keys)?;
                if keys.len() == 1 {
                    Some(Condition::Field(field, FieldTest::MapKey(keys.pop()?)))
                } else {
                    None
                }
            }
            (Subject::Value, _) => None,
        },
    }
}

/// The part of an element that a test is about.
enum Subject {
    Element,
    Key,
    Value,
    Member(usize),
}

/// The part of the element that the test requires to equal one of the constants.
fn subject(test: &Test, scope: u32) -> Option<(Subject, Vec<Constant>)> {
    let (value, constants) = match test {
        Test::Compare { left, comparison: Comparison::Eq, right: Scalar::Const(value) } => {
            (left, vec![value.clone()])
        }
        Test::In { value, set } if !set.has_null => (value, set.constants()),
        _ => return None,
    };
    let subject = match value {
        Scalar::Element(of) if *of == scope => Subject::Element,
        Scalar::Key(of) if *of == scope => Subject::Key,
        Scalar::Value(of) if *of == scope => Subject::Value,
        Scalar::Field(place) if place.scope == scope => Subject::Member(place.index),
        _ => return None,
    };
    Some((subject, constants))
}

/// Merges the ranges over one field to one range.
fn merge_ranges(conditions: &mut Vec<Condition>) {
    let mut merged: Vec<Condition> = Vec::with_capacity(conditions.len());
    for condition in conditions.drain(..) {
        let Condition::Field(field, FieldTest::Range(lower, upper)) = condition else {
            merged.push(condition);
            continue;
        };
        let same = merged.iter_mut().find_map(|known| match known {
            Condition::Field(of, FieldTest::Range(lower, upper)) if *of == field => {
                Some((lower, upper))
            }
            _ => None,
        });
        match same {
            Some((known_lower, known_upper)) => {
                tighten(known_lower, lower, true);
                tighten(known_upper, upper, false);
            }
            None => merged.push(Condition::Field(field, FieldTest::Range(lower, upper))),
        }
    }
    *conditions = merged;
}

/// Replaces `known` with `other` if that is the narrower bound. The constants of one field have one
/// type, so their order is known.
fn tighten(known: &mut Bound<Constant>, other: Bound<Constant>, lower: bool) {
    let value = |bound: &Bound<Constant>| match bound {
        Bound::Included(value) => Some((value.clone(), false)),
        Bound::Excluded(value) => Some((value.clone(), true)),
        Bound::Unbounded => None,
    };
    let replace = match (value(known), value(&other)) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some((left, _)), Some((right, right_excluded))) => {
            let order: Option<std::cmp::Ordering> = order_constants(&left, &right);
            match order {
                Some(std::cmp::Ordering::Equal) => right_excluded,
                Some(order) => (order == std::cmp::Ordering::Less) == lower,
                None => false,
            }
        }
    };
    if replace {
        *known = other;
    }
}

fn order_constants(left: &Constant, right: &Constant) -> Option<std::cmp::Ordering> {
    let (left, right): (Val<'_>, Val<'_>) = (left.val(), right.val());
    order(&left, &right)
}
