//! The scalar that filters, indexes and orders use, borrowed from a record.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// One value of one field of one record.
///
/// The null rules of filters are in `filter`; the total order of keys is in [`super::key`].
#[derive(Clone, Debug)]
pub(crate) enum Val<'a> {
    /// Absent or null.
    Null,
    /// A Boolean.
    Bool(bool),
    /// A 64-bit integer.
    Int(i64),
    /// A double; NaN matches nothing.
    Double(f64),
    /// Text; also ids, and enumerations in canonical spelling.
    Str(Cow<'a, str>),
    /// Milliseconds since 1970-01-01 UTC.
    Time(i64),
    /// A time span in milliseconds.
    Span(i64),
    /// A list of strings.
    Strings(&'a [String]),
    /// A string map.
    Map(&'a BTreeMap<String, String>),
    /// A list of records, whose fields are those of the field's [`super::FieldType::Rows`].
    Rows(Vec<&'a dyn Row>),
}

/// A record, or an element of a list of records, as filters see it: fields by position in their
/// declaration.
pub(crate) trait Row: std::fmt::Debug {
    /// The value of the field at `index` of this row's declaration.
    fn val(&self, index: usize) -> Val<'_>;
}

impl Val<'_> {
    /// Whether the value is null.
    #[must_use]
    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

impl<'a> From<&'a str> for Val<'a> {
    fn from(text: &'a str) -> Self {
        Self::Str(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a String> for Val<'a> {
    fn from(text: &'a String) -> Self {
        Self::Str(Cow::Borrowed(text))
    }
}

impl From<String> for Val<'_> {
    fn from(text: String) -> Self {
        Self::Str(Cow::Owned(text))
    }
}

impl From<i64> for Val<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<bool> for Val<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<f64> for Val<'_> {
    fn from(value: f64) -> Self {
        Self::Double(value)
    }
}

impl From<chrono::DateTime<chrono::Utc>> for Val<'_> {
    fn from(value: chrono::DateTime<chrono::Utc>) -> Self {
        Self::Time(value.timestamp_millis())
    }
}

impl<'a> From<&'a Vec<String>> for Val<'a> {
    fn from(value: &'a Vec<String>) -> Self {
        Self::Strings(value)
    }
}

impl<'a> From<&'a BTreeMap<String, String>> for Val<'a> {
    fn from(value: &'a BTreeMap<String, String>) -> Self {
        Self::Map(value)
    }
}

impl<'a, T: Into<Val<'a>>> From<Option<T>> for Val<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
