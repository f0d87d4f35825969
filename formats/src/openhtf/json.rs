//! JSON whose objects keep their order, and its values with their places.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};
use serde_json::Number;
use stationdb::{Error, Result};

use crate::results::text::shortest;

/// A JSON value. Members of objects are in the order of the text; repeated ones are kept.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    /// The value as a text: a text as it is, a number as short as it can be, a list or an object as
    /// JSON. `None` for null.
    pub(super) fn text(&self) -> Option<String> {
        match self {
            Self::Null => None,
            Self::Bool(value) => Some(value.to_string()),
            Self::Number(number) => Some(number_text(number)),
            Self::Text(text) => Some(text.clone()),
            Self::List(_) | Self::Object(_) => serde_json::to_string(self).ok(),
        }
    }
}

/// The text of a number.
pub(super) fn number_text(number: &Number) -> String {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(value) => shortest(value),
        None => number.to_string(),
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = Json;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_unit<E>(self) -> Result<Json, E> {
                Ok(Json::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
                Ok(Json::Bool(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
                Ok(Json::Number(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
                Ok(Json::Number(value.into()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
                Ok(Number::from_f64(value).map_or(Json::Null, Json::Number))
            }

            fn visit_str<E>(self, text: &str) -> Result<Json, E> {
                Ok(Json::Text(text.to_owned()))
            }

            fn visit_string<E>(self, text: String) -> Result<Json, E> {
                Ok(Json::Text(text))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Json::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Json::Object(members))
            }
        }

        deserializer.deserialize_any(Any)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => number.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(item))?;
                list.end()
            }
            Self::Object(members) => {
                let mut object = serializer.serialize_map(Some(members.len()))?;
                members.iter().try_for_each(|(key, value)| object.serialize_entry(key, value))?;
                object.end()
            }
        }
    }
}

/// A value and its place in the record, such as `phases[2].measurements.vout`.
#[derive(Clone, Debug)]
pub(super) struct At<'j> {
    pub(super) json: &'j Json,
    place: String,
}

impl<'j> At<'j> {
    /// The whole record.
    pub(super) fn root(json: &'j Json) -> Self {
        Self { json, place: String::new() }
    }

    /// An error about this value.
    pub(super) fn error(&self, what: impl fmt::Display) -> Error {
        let place = if self.place.is_empty() { "the record" } else { &self.place };
        Error::invalid(format!("reading an OpenHTF record: {place}: {what}"))
            .at_member(self.place.clone())
    }

    fn wrong(&self, expected: &str) -> Error {
        self.error(format_args!("expected {expected}, found {}", self.json.kind()))
    }

    /// The members of an object.
    pub(super) fn entries(&self) -> Result<impl Iterator<Item = (&'j str, At<'j>)> + use<'j>> {
        let Json::Object(members) = self.json else { return Err(self.wrong("an object")) };
        let prefix = if self.place.is_empty() { String::new() } else { format!("{}.", self.place) };
        Ok(members
            .iter()
            .map(move |(key, json)| (key.as_str(), At { json, place: format!("{prefix}{key}") })))
    }

    /// The items of a list.
    pub(super) fn items(&self) -> Result<impl ExactSizeIterator<Item = At<'j>> + use<'j>> {
        let Json::List(items) = self.json else { return Err(self.wrong("a list")) };
        let place = self.place.clone();
        let item = move |(at, json)| At { json, place: format!("{place}[{at}]") };
        Ok(items.iter().enumerate().map(item))
    }

    /// A member of an object that is not null; the last one of several with the name.
    pub(super) fn member(&self, name: &str) -> Result<Option<At<'j>>> {
        let found = self.entries()?.filter(|(key, _)| *key == name).last();
        Ok(found.map(|(_, value)| value).filter(|value| *value.json != Json::Null))
    }

    /// The items of a list that may be absent.
    pub(super) fn list(&self, name: &str) -> Result<Vec<At<'j>>> {
        self.member(name)?.map_or(Ok(Vec::new()), |list| Ok(list.items()?.collect()))
    }

    /// The members of an object that may be absent.
    pub(super) fn object(&self, name: &str) -> Result<Vec<(&'j str, At<'j>)>> {
        self.member(name)?.map_or(Ok(Vec::new()), |object| Ok(object.entries()?.collect()))
    }

    /// The value as a text.
    pub(super) fn as_text(&self) -> Result<&'j str> {
        let Json::Text(text) = self.json else { return Err(self.wrong("a text")) };
        Ok(text)
    }

    /// A text that may be absent.
    pub(super) fn text(&self, name: &str) -> Result<Option<&'j str>> {
        self.member(name)?.map(|text| text.as_text()).transpose()
    }

    /// A whole number that may be absent.
    pub(super) fn integer(&self, name: &str) -> Result<Option<i64>> {
        let Some(value) = self.member(name)? else { return Ok(None) };
        let Json::Number(number) = value.json else { return Err(value.wrong("a whole number")) };
        number.as_i64().map(Some).ok_or_else(|| value.wrong("a whole number of 64 bits"))
    }

    /// Whether a member is true; false if it is absent.
    pub(super) fn flag(&self, name: &str) -> Result<bool> {
        let Some(value) = self.member(name)? else { return Ok(false) };
        let Json::Bool(flag) = value.json else { return Err(value.wrong("true or false")) };
        Ok(*flag)
    }
}
