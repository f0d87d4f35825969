//! What record declarations require of the types of their members.
//!
//! The derives see the text of a member's type and cannot resolve it. The code that they generate
//! calls these traits, so the type determines which value a filter sees and which words a search
//! finds.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::{Env, FieldDecl, FieldType, Row, Val};

/// A member that may be absent.
pub(crate) trait Part {
    /// Its type when it is present.
    type Of;

    /// The value, if it is present.
    fn part(&self) -> Option<&Self::Of>;
}

impl<T> Part for Option<T> {
    type Of = T;

    fn part(&self) -> Option<&T> {
        self.as_ref()
    }
}

impl<T> Part for Vec<T> {
    type Of = Self;

    fn part(&self) -> Option<&Self> {
        Some(self)
    }
}

/// A type that a filter field can have.
pub(crate) trait Typed {
    /// The type of the field.
    const TYPE: FieldType;
}

impl<T: Typed> Typed for Option<T> {
    const TYPE: FieldType = T::TYPE;
}

/// Implements [`Part`] and [`Typed`] for types that are never absent.
macro_rules! part {
    ($($ty:ty => $field:expr),* $(,)?) => { $(
        impl $crate::value::part::Part for $ty {
            type Of = Self;

            fn part(&self) -> Option<&Self> {
                Some(self)
            }
        }

        impl $crate::value::part::Typed for $ty {
            const TYPE: $crate::value::FieldType = $field;
        }
    )* };
}
pub(crate) use part;

part! {
    bool => FieldType::Bool,
    i32 => FieldType::Int,
    i64 => FieldType::Int,
    u64 => FieldType::Int,
    f64 => FieldType::Double,
    String => FieldType::String,
    DateTime<Utc> => FieldType::Time,
    BTreeMap<String, String> => FieldType::Map,
    BTreeMap<String, Option<String>> => FieldType::Map,
    serde_json::Value => FieldType::Json,
}

impl Typed for Vec<String> {
    const TYPE: FieldType = FieldType::Strings;
}

impl Typed for Vec<BTreeMap<String, String>> {
    const TYPE: FieldType = FieldType::Maps;
}

/// A record type that is used in lists whose elements filters test.
pub(crate) trait Rows: Row + Sized {
    /// Its fields.
    const FIELDS: &'static [FieldDecl];
}

impl<T: Rows> Typed for Vec<T> {
    const TYPE: FieldType = FieldType::Rows(T::FIELDS);
}

impl<'a, T: Rows> From<&'a Vec<T>> for Val<'a> {
    fn from(rows: &'a Vec<T>) -> Self {
        Self::Rows(rows.iter().map(|row| row as &dyn Row).collect())
    }
}

macro_rules! from_reference {
    ($($ty:ty),*) => { $(
        impl From<&$ty> for Val<'_> {
            fn from(value: &$ty) -> Self {
                Self::from(*value)
            }
        }
    )* };
}

from_reference!(bool, i64, f64, DateTime<Utc>);

impl From<&i32> for Val<'_> {
    fn from(value: &i32) -> Self {
        Self::Int(i64::from(*value))
    }
}

/// A value above the range of a 64-bit signed integer is null.
impl From<&u64> for Val<'_> {
    fn from(value: &u64) -> Self {
        i64::try_from(*value).ok().into()
    }
}

/// The field type of a member.
pub(crate) const fn type_of<R, T: Typed>(_: for<'a> fn(&'a R) -> Option<&'a T>) -> FieldType {
    T::TYPE
}

/// The field type of a computed value.
pub(crate) const fn type_of_value<R, T: Typed>(_: fn(&R) -> T) -> FieldType {
    T::TYPE
}

/// The field type of a value that depends on the time of reading.
pub(crate) const fn type_of_value_at<R, T: Typed>(_: fn(&R, &Env) -> T) -> FieldType {
    T::TYPE
}

/// The elements of a list; an absent list has none.
pub(crate) fn rows_or_none<T: Rows>(rows: Option<&Vec<T>>) -> Val<'_> {
    rows.map_or(Val::Rows(Vec::new()), Val::from)
}

/// A member that full-text search can read.
pub(crate) trait Words {
    /// Appends its words to those of its field.
    fn add(&self, out: &mut String);
}

impl Words for String {
    fn add(&self, out: &mut String) {
        if !self.is_empty() {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(self);
        }
    }
}

impl Words for Vec<String> {
    fn add(&self, out: &mut String) {
        self.iter().for_each(|text| text.add(out));
    }
}

impl<V: Words> Words for BTreeMap<String, V> {
    fn add(&self, out: &mut String) {
        for (key, value) in self {
            key.add(out);
            value.add(out);
        }
    }
}

impl<T: Words> Words for Option<T> {
    fn add(&self, out: &mut String) {
        self.iter().for_each(|value| value.add(out));
    }
}

/// A member whose own members a projection can select.
pub(crate) trait Nest {
    /// The record inside it.
    type Inner;

    /// A copy of it with none of those members: a list keeps its number of elements.
    fn blank(&self) -> Self;

    /// Copies members of each inner record to `into`, which may have other members of them already.
    fn nest(&self, into: &mut Self, copy: fn(&Self::Inner, &mut Self::Inner));
}

impl<N: Nest> Nest for Option<N> {
    type Inner = N::Inner;

    fn blank(&self) -> Self {
        self.as_ref().map(N::blank)
    }

    fn nest(&self, into: &mut Self, copy: fn(&N::Inner, &mut N::Inner)) {
        if let Some(from) = self {
            from.nest(into.get_or_insert_with(|| from.blank()), copy);
        }
    }
}

impl<N: Nest> Nest for Vec<N> {
    type Inner = N::Inner;

    fn blank(&self) -> Self {
        self.iter().map(N::blank).collect()
    }

    fn nest(&self, into: &mut Self, copy: fn(&N::Inner, &mut N::Inner)) {
        self.iter().zip(into).for_each(|(from, into)| from.nest(into, copy));
    }
}
