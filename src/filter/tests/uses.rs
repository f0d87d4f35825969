//! Which operators a filter applies to which fields. The coverage of the corpus is counted in these
//! pairs.

use std::collections::{BTreeMap, BTreeSet};

use crate::filter::tree::{FieldPath, How, List, RECORD, Scalar, Test};
use crate::filter::{Filter, Fold};

/// A field of the record, a member of it if it is a list of records, and an operator.
pub(crate) type Use = (usize, Option<usize>, &'static str);

/// The operators that a filter applies to fields directly, without functions.
pub(crate) fn uses(filter: &Filter) -> BTreeSet<Use> {
    let mut walk = Walk::default();
    walk.test(&filter.test);
    walk.found
}

#[derive(Default)]
struct Walk {
    found: BTreeSet<Use>,
    /// The field whose elements are the values of a scope.
    lists: BTreeMap<u32, usize>,
}

impl Walk {
    fn field(&self, place: FieldPath) -> Option<(usize, Option<usize>)> {
        if place.scope == RECORD {
            return Some((place.index, None));
        }
        self.lists.get(&place.scope).map(|list| (*list, Some(place.index)))
    }

    fn place(&mut self, place: FieldPath, operator: &'static str) {
        if let Some((field, member)) = self.field(place) {
            self.found.insert((field, member, operator));
        }
    }

    fn scalar(&mut self, scalar: &Scalar, operator: &'static str) {
        match scalar {
            Scalar::Field(place) | Scalar::Json(place) | Scalar::Within { time: place, .. } => {
                self.place(*place, operator);
            }
            Scalar::Entry { map, .. } => self.place(*map, "entry"),
            Scalar::Count { list, filter, .. } => {
                self.list(list, "count");
                if let Some((scope, test)) = filter {
                    self.inside(list, *scope, test);
                }
            }
            Scalar::Test(test) => self.test(test),
            Scalar::If(test, yes, no) => {
                self.test(test);
                self.scalar(yes, operator);
                self.scalar(no, operator);
            }
            _ => {}
        }
    }

    fn list(&mut self, list: &List, operator: &'static str) {
        if let List::Field(place) = list {
            self.place(*place, operator);
        }
    }

    fn inside(&mut self, list: &List, scope: u32, test: &Test) {
        if let List::Field(place) = list {
            if place.scope == RECORD {
                self.lists.insert(scope, place.index);
            }
        }
        self.test(test);
    }

    fn test(&mut self, test: &Test) {
        match test {
            Test::All(tests) | Test::Any(tests) => tests.iter().for_each(|test| self.test(test)),
            Test::Not(test) => self.test(test),
            Test::Truth(scalar) => self.scalar(scalar, "truth"),
            Test::IsNull(scalar) => self.scalar(scalar, "null"),
            Test::ListIsNull(list) => self.list(list, "null"),
            Test::Compare { left, comparison, right } => {
                self.scalar(left, comparison.sign());
                self.scalar(right, comparison.mirrored().sign());
            }
            Test::In { value, .. } => self.scalar(value, "in"),
            Test::Contains { text, fold: Fold::None, .. }
            | Test::Match { text, how: How::Contains, .. } => {
                self.scalar(text, "contains");
            }
            Test::Match { text, how: How::Starts, .. } => self.scalar(text, "starts"),
            Test::Match { text, how: How::Ends, .. } => self.scalar(text, "ends"),
            Test::Holds { list, .. } => self.list(list, "holds"),
            Test::NotEmpty(list) => self.list(list, "any"),
            Test::Exists { list, scope, test } | Test::Every { list, scope, test } => {
                self.list(list, "any");
                self.inside(list, *scope, test);
            }
            Test::HasKey { map, .. } => self.place(*map, "key"),
            Test::NullOrEmpty(_)
            | Test::Like { .. }
            | Test::Contains { .. }
            | Test::Search(_)
            | Test::Const(_) => {}
        }
    }
}
