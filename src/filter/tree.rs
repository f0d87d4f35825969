//! The typed tree of a filter: every name is a field position, and every constant has its type.
//!
//! A scope is the record (0) or the element of a collection method. Every scope has its own number,
//! so a subtree keeps its meaning wherever it is moved.

use std::collections::HashSet;
use std::sync::Arc;

use memchr::memmem::Finder;

use super::constant::{Constant, Fold};
use super::syntax::{Arithmetic, Comparison};
use crate::value::pattern::Pattern;

/// The scope of the record itself.
pub(super) const RECORD: u32 = 0;

/// A field of the row in a scope; an element that is a map is its own and only field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FieldPath {
    pub scope: u32,
    pub index: usize,
}

impl FieldPath {
    /// The element of a scope, which is a map.
    pub(super) fn element(scope: u32) -> Self {
        Self { scope, index: 0 }
    }
}

/// A condition; always true or false, never unknown.
#[derive(Clone, Debug)]
pub(super) enum Test {
    Const(bool),
    All(Vec<Test>),
    Any(Vec<Test>),
    Not(Box<Test>),
    /// A Boolean value; null is false.
    Truth(Scalar),
    IsNull(Scalar),
    ListIsNull(List),
    NullOrEmpty(Scalar),
    Compare {
        left: Scalar,
        comparison: Comparison,
        right: Scalar,
    },
    In {
        value: Scalar,
        set: Set,
    },
    /// Contains with a constant part, which is used as it is written, after folding the letter case
    /// of the text.
    Contains {
        text: Scalar,
        fold: Fold,
        find: Box<Finder<'static>>,
    },
    Match {
        text: Scalar,
        how: How,
        part: Scalar,
    },
    /// The text fits a pattern.
    Like {
        text: Scalar,
        /// Whether the text is compared in lower case.
        fold: bool,
        pattern: Box<Pattern>,
        /// A field of the record with the same text before its letter case was folded: the words
        /// of a text index over it exclude records.
        words: Option<FieldPath>,
    },
    /// Some element of the list equals the value.
    Holds {
        list: List,
        value: Scalar,
    },
    NotEmpty(List),
    Exists {
        list: List,
        scope: u32,
        test: Box<Test>,
    },
    Every {
        list: List,
        scope: u32,
        test: Box<Test>,
    },
    HasKey {
        map: FieldPath,
        key: Scalar,
    },
    /// The n-th text search of the filter finds the record.
    Search(usize),
}

/// Where the part must be in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// Anywhere.
    Contains,
    /// At its start.
    Starts,
    /// At its end.
    Ends,
}

/// A scalar value, or null.
#[derive(Clone, Debug)]
pub(super) enum Scalar {
    Const(Constant),
    Field(FieldPath),
    /// A field that is any JSON value. It is not a [`Scalar::Field`], because the scalar in it is
    /// known only when a record is read: no condition of a planner is derived from it.
    Json(FieldPath),
    /// The reference time minus a time.
    Within {
        time: FieldPath,
        reference_ms: i64,
    },
    /// The element of a scope, if it is a scalar.
    Element(u32),
    Key(u32),
    Value(u32),
    Entry {
        map: FieldPath,
        key: Box<Scalar>,
    },
    /// The n-th element.
    At {
        list: Box<List>,
        index: Box<Scalar>,
    },
    Case {
        text: Box<Scalar>,
        upper: bool,
    },
    Trim(Box<Scalar>),
    Length(Box<Scalar>),
    IndexOf(Box<Scalar>, Box<Scalar>),
    Substring(Box<Scalar>, Box<Scalar>, Option<Box<Scalar>>),
    Concat(Vec<Scalar>),
    Count {
        list: List,
        filter: Option<(u32, Box<Test>)>,
        null_is_zero: bool,
    },
    Negate(Box<Scalar>),
    Chain(Box<Scalar>, Vec<(Arithmetic, Scalar)>),
    /// A cast; a value that does not convert is null.
    Cast(Box<Scalar>, Cast),
    Test(Box<Test>),
    If(Box<Test>, Box<Scalar>, Box<Scalar>),
    Coalesce(Box<Scalar>, Box<Scalar>),
}

/// What a cast makes of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cast {
    Time,
    Span,
    Number,
    Integer,
    Bool,
    /// The span of a number of units of this many milliseconds.
    Units(i64),
}

impl FieldPath {
    /// The position of a field of the record itself.
    pub(super) fn of_record(self) -> Option<usize> {
        (self.scope == RECORD).then_some(self.index)
    }
}

impl Scalar {
    /// The n-th element of a list.
    pub(super) fn at(list: List, index: Self) -> Self {
        Self::At { list: Box::new(list), index: Box::new(index) }
    }

    /// The position of the field of the record that it is.
    pub(super) fn record_field(&self) -> Option<usize> {
        match self {
            Self::Field(place) => place.of_record(),
            _ => None,
        }
    }
}

/// A value that has elements.
#[derive(Clone, Debug)]
pub(super) enum List {
    /// A list of strings, of maps or of records, or a map (its pairs).
    Field(FieldPath),
    Keys(FieldPath),
    Values(FieldPath),
    /// A value computed for each element of another list.
    Path {
        list: Box<List>,
        scope: u32,
        body: Box<Scalar>,
    },
    Array(Vec<Scalar>),
}

/// Constants of one kind, for membership.
#[derive(Clone, Debug)]
pub(super) struct Set {
    pub has_null: bool,
    pub members: Members,
    /// The kind of its integers: integers, times or spans.
    pub ints_are: fn(i64) -> Constant,
}

#[derive(Clone, Debug)]
pub(super) enum Members {
    Texts(Vec<Arc<str>>, Option<HashSet<Arc<str>>>),
    /// Integers, times and spans.
    Ints(Vec<i64>, Option<HashSet<i64>>),
    Doubles(Vec<f64>),
}

impl Set {
    /// Up to this many members, comparing with each in turn is faster than hashing.
    const SMALL: usize = 8;

    pub(super) fn texts(mut texts: Vec<Arc<str>>, has_null: bool) -> Self {
        texts.sort_unstable();
        texts.dedup();
        let hashed = (texts.len() > Self::SMALL).then(|| texts.iter().cloned().collect());
        Self { has_null, members: Members::Texts(texts, hashed), ints_are: Constant::Int }
    }

    pub(super) fn ints(mut ints: Vec<i64>, has_null: bool, ints_are: fn(i64) -> Constant) -> Self {
        ints.sort_unstable();
        ints.dedup();
        let hashed = (ints.len() > Self::SMALL).then(|| ints.iter().copied().collect());
        Self { has_null, members: Members::Ints(ints, hashed), ints_are }
    }

    pub(super) fn doubles(mut doubles: Vec<f64>, has_null: bool) -> Self {
        doubles.sort_unstable_by(f64::total_cmp);
        doubles.dedup();
        Self { has_null, members: Members::Doubles(doubles), ints_are: Constant::Int }
    }

    /// Its members, without null.
    pub(super) fn constants(&self) -> Vec<Constant> {
        match &self.members {
            Members::Texts(texts, _) => texts.iter().cloned().map(Constant::Text).collect(),
            Members::Ints(ints, _) => ints.iter().map(|int| (self.ints_are)(*int)).collect(),
            Members::Doubles(doubles) => doubles.iter().copied().map(Constant::Double).collect(),
        }
    }
}
