//! Builds tests and scalars in their simplest form, with constants folded.

use memchr::memmem::Finder;

use super::constant::{Constant, Fold, order};
use super::eval::{Element, Scopes, compare as compare_values};
use super::syntax::Comparison;
use super::tree::{How, RECORD, Scalar, Test};
use super::types::Value;
use crate::value::{Val, Work};

pub(super) fn not(test: Test) -> Test {
    match test {
        Test::Const(value) => Test::Const(!value),
        Test::Not(inner) => *inner,
        test => Test::Not(Box::new(test)),
    }
}

pub(super) fn all(tests: Vec<Test>) -> Test {
    joined(tests, true)
}

pub(super) fn any(tests: Vec<Test>) -> Test {
    joined(tests, false)
}

/// Joins tests by and, or by or: `neutral` is the constant that changes nothing.
fn joined(tests: Vec<Test>, neutral: bool) -> Test {
    let mut kept = Vec::with_capacity(tests.len());
    for test in tests {
        match test {
            Test::Const(value) if value == neutral => {}
            Test::Const(value) => return Test::Const(value),
            Test::All(inner) if neutral => kept.extend(inner),
            Test::Any(inner) if !neutral => kept.extend(inner),
            test => kept.push(test),
        }
    }
    match kept.len() {
        0 | 1 => kept.pop().unwrap_or(Test::Const(neutral)),
        _ if neutral => Test::All(kept),
        _ => Test::Any(kept),
    }
}

/// A comparison of two scalars, with the constant on the right and constants folded.
pub(super) fn comparison_test(left: Scalar, comparison: Comparison, right: Scalar) -> Test {
    match (left, right) {
        (Scalar::Const(left), Scalar::Const(right)) => {
            Test::Const(compare_values(&left.val(), comparison, &right.val()))
        }
        (left @ Scalar::Const(_), right) => comparison_test(right, comparison.mirrored(), left),
        // `x.Contains("a") == true` is the call itself.
        (Scalar::Test(test), Scalar::Const(Constant::Bool(value))) if !comparison.is_ordering() => {
            if value == (comparison == Comparison::Eq) {
                *test
            } else {
                not(*test)
            }
        }
        // In an equality with a count, a null list counts as empty.
        (Scalar::Count { list, filter, .. }, right) if !comparison.is_ordering() => Test::Compare {
            left: Scalar::Count { list, filter, null_is_zero: true },
            comparison,
            right,
        },
        (left, right) => Test::Compare { left, comparison, right },
    }
}

/// The integer that a number equals, if one does.
pub(super) fn exact_int(constant: &Constant) -> Option<i64> {
    match constant {
        Constant::Int(value) | Constant::Time(value) | Constant::Span(value) => Some(*value),
        Constant::Double(value) => {
            let int = *value as i64;
            (order(&Val::Int(int), &Val::Double(*value)) == Some(std::cmp::Ordering::Equal))
                .then_some(int)
        }
        _ => None,
    }
}

/// The double that a number equals, if one does.
pub(super) fn exact_double(constant: &Constant) -> Option<f64> {
    match constant {
        Constant::Double(value) => Some(*value),
        Constant::Int(value) => {
            let double = *value as f64;
            (order(&Val::Int(*value), &Val::Double(double)) == Some(std::cmp::Ordering::Equal))
                .then_some(double)
        }
        _ => None,
    }
}

/// Evaluates a scalar that consists of constants only.
pub(super) fn folded(value: Value) -> Value {
    let is_const = |scalar: &Scalar| matches!(scalar, Scalar::Const(_));
    let constant = match &value.scalar {
        Scalar::Case { text, .. }
        | Scalar::Trim(text)
        | Scalar::Length(text)
        | Scalar::Negate(text)
        | Scalar::Cast(text, _) => is_const(text),
        Scalar::Concat(parts) => parts.iter().all(is_const),
        Scalar::Chain(first, rest) => {
            is_const(first) && rest.iter().all(|(_, scalar)| is_const(scalar))
        }
        _ => false,
    };
    if !constant {
        return value;
    }
    // The filter and its substitutions bound the length of constants, so the work needs no bound.
    let work = Work::with_limit(u64::MAX, &|| Ok(()));
    let element = Element::Scalar(Val::Null);
    let scopes = Scopes { number: RECORD, element, around: None, search: &|_| false, work: &work };
    let constant = match value.scalar.get(&scopes) {
        Val::Bool(value) => Constant::Bool(value),
        Val::Int(value) => Constant::Int(value),
        Val::Double(value) => Constant::Double(value),
        Val::Str(text) => Constant::text(text.as_ref()),
        Val::Time(value) => Constant::Time(value),
        Val::Span(value) => Constant::Span(value),
        _ => Constant::Null,
    };
    Value { scalar: Scalar::Const(constant), ..value }
}

/// A test for a part of a text; a constant part is prepared for searching.
pub(super) fn match_test(text: Scalar, how: How, part: Scalar) -> Test {
    let finder = |part: &str| Box::new(Finder::new(part.as_bytes()).into_owned());
    match (text, how, part) {
        (Scalar::Case { text, upper }, How::Contains, Scalar::Const(Constant::Text(part))) => {
            let fold = if upper { Fold::Upper } else { Fold::Lower };
            Test::Contains { text: *text, fold, find: finder(&part) }
        }
        (text, How::Contains, Scalar::Const(Constant::Text(part))) => {
            Test::Contains { text, fold: Fold::None, find: finder(&part) }
        }
        (text, how, part) => Test::Match { text, how, part },
    }
}
