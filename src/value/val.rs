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
    /// A map from texts to texts, some of which may be null.
    Map(Pairs<'a>),
    /// A list of maps from texts to texts.
    Maps(&'a [BTreeMap<String, String>]),
    /// A JSON value, also null.
    Json(&'a serde_json::Value),
    /// A list of records, whose fields are those of the field's [`super::FieldType::Rows`].
    Rows(Vec<&'a dyn Row>),
}

/// The pairs of a map, in order of their keys.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pairs<'a> {
    /// Every key has a text.
    Texts(&'a BTreeMap<String, String>),
    /// A key may have null.
    Nullable(&'a BTreeMap<String, Option<String>>),
}

impl<'a> Pairs<'a> {
    /// The value of a key: `None` without the key, `Some(None)` for null.
    #[must_use]
    pub(crate) fn get(self, key: &str) -> Option<Option<&'a str>> {
        match self {
            Self::Texts(map) => map.get(key).map(|text| Some(text.as_str())),
            Self::Nullable(map) => map.get(key).map(Option::as_deref),
        }
    }

    /// Whether the map has the key, also with null.
    #[must_use]
    pub(crate) fn contains_key(self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The number of pairs.
    #[must_use]
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Texts(map) => map.len(),
            Self::Nullable(map) => map.len(),
        }
    }

    /// Each key with its value.
    pub(crate) fn iter(self) -> impl Iterator<Item = (&'a str, Option<&'a str>)> {
        let (texts, nullable) = match self {
            Self::Texts(map) => (Some(map), None),
            Self::Nullable(map) => (None, Some(map)),
        };
        let texts = texts.into_iter().flatten();
        let nullable = nullable.into_iter().flatten();
        texts
            .map(|(key, text)| (key.as_str(), Some(text.as_str())))
            .chain(nullable.map(|(key, text)| (key.as_str(), text.as_deref())))
    }
}

impl PartialEq for Pairs<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Texts(one), Self::Texts(other)) => one == other,
            (Self::Nullable(one), Self::Nullable(other)) => one == other,
            _ => self.iter().eq(other.iter()),
        }
    }
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
        matches!(self, Self::Null | Self::Json(serde_json::Value::Null))
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
        Self::Map(Pairs::Texts(value))
    }
}

impl<'a> From<&'a Vec<BTreeMap<String, String>>> for Val<'a> {
    fn from(value: &'a Vec<BTreeMap<String, String>>) -> Self {
        Self::Maps(value)
    }
}

impl<'a> From<&'a serde_json::Value> for Val<'a> {
    fn from(value: &'a serde_json::Value) -> Self {
        Self::Json(value)
    }
}

impl<'a> From<&'a BTreeMap<String, Option<String>>> for Val<'a> {
    fn from(value: &'a BTreeMap<String, Option<String>>) -> Self {
        Self::Map(Pairs::Nullable(value))
    }
}

impl<'a, T: Into<Val<'a>>> From<Option<T>> for Val<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
