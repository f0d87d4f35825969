//! The shape of a filter over columns: tests of one column that an engine evaluates over many rows
//! at once, joined by and, or, not. What has no such form is tested row by row.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::constant::{Constant, Fold};
use super::eval::{Element, Scopes};
use super::syntax::Comparison;
use super::tree::{FieldPath, How, List, RECORD, Scalar, Test};
use crate::value::{Row, Work};

/// A test of rows; fields are positions of columns.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// Every row, or none.
    Const(bool),
    /// All of them hold.
    All(Vec<Shape>),
    /// One of them holds.
    Any(Vec<Shape>),
    /// It does not hold.
    Not(Box<Shape>),
    /// A comparison with a constant that is not null. Null holds for `!=` only, NaN for none.
    Compare(usize, Comparison, Constant),
    /// Equality with one of these constants, or null if that is listed.
    In(usize, Vec<Constant>, bool),
    /// The cell is null.
    IsNull(usize),
    /// The cell is not NaN.
    NotNan(usize),
    /// The text has a part at a place; null does not.
    Text(usize, How, Arc<str>),
    /// Anything else.
    Other(Other),
}

impl Shape {
    /// Whether it reads no columns but these; `false` for a test that is evaluated row by row.
    pub(crate) fn reads_only(&self, is_known: &mut dyn FnMut(usize) -> bool) -> bool {
        match self {
            Self::Const(_) => true,
            Self::All(shapes) | Self::Any(shapes) => {
                shapes.iter().all(|shape| shape.reads_only(is_known))
            }
            Self::Not(shape) => shape.reads_only(is_known),
            Self::Compare(column, ..)
            | Self::In(column, ..)
            | Self::IsNull(column)
            | Self::NotNan(column)
            | Self::Text(column, ..) => is_known(*column),
            Self::Other(_) => false,
        }
    }
}

/// A test that is evaluated row by row.
#[derive(Clone, Debug)]
pub(crate) struct Other {
    test: Test,
    /// The columns that it reads, ascending.
    pub(crate) fields: Vec<usize>,
}

impl Other {
    /// Whether the row matches. The result is valid only when `work` finishes without an error.
    #[must_use]
    pub(crate) fn holds(&self, row: &dyn Row, work: &Work<'_>) -> bool {
        let element = Element::Row(row);
        self.test.holds(&Scopes { number: RECORD, element, around: None, search: &|_| false, work })
    }
}

/// The shape of a test whose record has scalar fields only.
pub(super) fn shape(test: &Test) -> Shape {
    let each = |tests: &[Test]| tests.iter().map(shape).collect();
    let found = match test {
        Test::Const(value) => Some(Shape::Const(*value)),
        Test::All(tests) => Some(Shape::All(each(tests))),
        Test::Any(tests) => Some(Shape::Any(each(tests))),
        Test::Not(inner) => Some(Shape::Not(Box::new(shape(inner)))),
        Test::Truth(value) => {
            value.record_field().map(|at| Shape::Compare(at, Comparison::Eq, Constant::Bool(true)))
        }
        Test::IsNull(value) => value.record_field().map(Shape::IsNull),
        Test::Compare { left, comparison: Comparison::Eq, right }
            if left.record_field().is_some() =>
        {
            match (left.record_field(), right.record_field(), right) {
                // Only NaN differs from itself.
                (Some(left), Some(right), _) if left == right => Some(Shape::NotNan(left)),
                (Some(left), _, Scalar::Const(value)) => {
                    Some(Shape::Compare(left, Comparison::Eq, value.clone()))
                }
                _ => None,
            }
        }
        Test::Compare { left, comparison, right: Scalar::Const(value) } => {
            left.record_field().map(|at| Shape::Compare(at, *comparison, value.clone()))
        }
        Test::In { value, set } => {
            value.record_field().map(|at| Shape::In(at, set.constants(), set.has_null))
        }
        Test::Contains { text, fold: Fold::None, find } => text
            .record_field()
            .zip(std::str::from_utf8(find.needle()).ok())
            .map(|(at, part)| Shape::Text(at, How::Contains, part.into())),
        Test::Match { text, how, part: Scalar::Const(Constant::Text(part)) } => {
            text.record_field().map(|at| Shape::Text(at, *how, part.clone()))
        }
        _ => None,
    };
    // Null as a constant has tests of its own; one that came through a function stays as it is.
    match found {
        Some(Shape::Compare(_, _, Constant::Null)) | None => {
            let mut fields = BTreeSet::new();
            in_test(test, &mut fields);
            Shape::Other(Other { test: test.clone(), fields: fields.into_iter().collect() })
        }
        Some(found) => found,
    }
}

type Fields = BTreeSet<usize>;

fn at(place: FieldPath, out: &mut Fields) {
    out.extend(place.of_record());
}

/// Collects the fields of the record that a test reads.
fn in_test(test: &Test, out: &mut Fields) {
    match test {
        Test::Const(_) | Test::Search(_) => {}
        Test::All(tests) | Test::Any(tests) => tests.iter().for_each(|test| in_test(test, out)),
        Test::Not(test) => in_test(test, out),
        Test::Truth(value)
        | Test::IsNull(value)
        | Test::NullOrEmpty(value)
        | Test::In { value, .. }
        | Test::Contains { text: value, .. }
        | Test::Like { text: value, .. } => in_scalar(value, out),
        Test::Compare { left, right, .. } | Test::Match { text: left, part: right, .. } => {
            in_scalar(left, out);
            in_scalar(right, out);
        }
        Test::ListIsNull(list) | Test::NotEmpty(list) => in_list(list, out),
        Test::Holds { list, value } => {
            in_list(list, out);
            in_scalar(value, out);
        }
        Test::Exists { list, test, .. } | Test::Every { list, test, .. } => {
            in_list(list, out);
            in_test(test, out);
        }
        Test::HasKey { map, key } => {
            at(*map, out);
            in_scalar(key, out);
        }
    }
}

fn in_scalar(scalar: &Scalar, out: &mut Fields) {
    match scalar {
        Scalar::Const(_) | Scalar::Element(_) | Scalar::Key(_) | Scalar::Value(_) => {}
        Scalar::Field(place) | Scalar::Json(place) | Scalar::Within { time: place, .. } => {
            at(*place, out);
        }
        Scalar::Entry { map, key } => {
            at(*map, out);
            in_scalar(key, out);
        }
        Scalar::At { list, index, .. } => {
            in_list(list, out);
            in_scalar(index, out);
        }
        Scalar::Case { text: value, .. }
        | Scalar::Trim(value)
        | Scalar::Length(value)
        | Scalar::Negate(value)
        | Scalar::Cast(value, _) => in_scalar(value, out),
        Scalar::IndexOf(first, second) | Scalar::Coalesce(first, second) => {
            in_scalar(first, out);
            in_scalar(second, out);
        }
        Scalar::Substring(text, from, len) => {
            in_scalar(text, out);
            in_scalar(from, out);
            if let Some(len) = len {
                in_scalar(len, out);
            }
        }
        Scalar::Concat(parts) => parts.iter().for_each(|part| in_scalar(part, out)),
        Scalar::Count { list, filter, .. } => {
            in_list(list, out);
            if let Some((_, test)) = filter {
                in_test(test, out);
            }
        }
        Scalar::Chain(first, rest) => {
            in_scalar(first, out);
            rest.iter().for_each(|(_, value)| in_scalar(value, out));
        }
        Scalar::Test(test) => in_test(test, out),
        Scalar::If(test, yes, no) => {
            in_test(test, out);
            in_scalar(yes, out);
            in_scalar(no, out);
        }
    }
}

fn in_list(list: &List, out: &mut Fields) {
    match list {
        List::Field(place) | List::Keys(place) | List::Values(place) => at(*place, out),
        List::Path { list, body, .. } => {
            in_list(list, out);
            in_scalar(body, out);
        }
        List::Array(elements) => elements.iter().for_each(|element| in_scalar(element, out)),
    }
}
