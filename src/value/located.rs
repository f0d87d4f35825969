//! Parsed JSON as what a record is read from: errors name the place of a fault, and a value that is
//! asked for whole is moved.

use std::cell::Cell;
use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer, StrDeserializer};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, Visitor,
};
use serde_json::Value;

use super::ignored;

/// An error text. Each enclosing level prepends its part of the member path.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct PathError(pub(super) String);

impl PathError {
    /// The same error with `name` (a member, key or `[index]`) prepended to the path.
    pub(super) fn within(self, name: &str) -> Self {
        Self(match self.0.strip_prefix("member `") {
            Some(inner) if inner.starts_with('[') => format!("member `{name}{inner}"),
            Some(inner) => format!("member `{name}.{inner}"),
            None => format!("member `{name}`: {}", self.0),
        })
    }
}

impl serde::de::Error for PathError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self(format!("expected {}, found {}", expected_words(expected), found_words(found)))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self(format!("expected {}, found {}", expected_words(expected), found_words(found)))
    }

    fn invalid_length(len: usize, expected: &dyn Expected) -> Self {
        Self(format!("expected {}, found {len} entries", expected_words(expected)))
    }
}

/// Names an expected type in terms of JSON; the deserializers name it in terms of Rust.
fn expected_words(expected: &dyn Expected) -> String {
    let name = expected.to_string();
    let range = |least: i128, most: i128| format!("an integer from {least} to {most}");
    match name.as_str() {
        "u8" => range(0, u8::MAX.into()),
        "u16" => range(0, u16::MAX.into()),
        "u32" => range(0, u32::MAX.into()),
        "u64" | "usize" => "an integer that is not negative".to_owned(),
        "i8" => range(i8::MIN.into(), i8::MAX.into()),
        "i16" => range(i16::MIN.into(), i16::MAX.into()),
        "i32" => range(i32::MIN.into(), i32::MAX.into()),
        "i64" | "isize" => "an integer of 64 bits".to_owned(),
        "f32" | "f64" | "a JSON number" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" | "a borrowed string" | "a character" => "a string".to_owned(),
        "a map" => "an object".to_owned(),
        _ if name.starts_with("struct ") => "an object".to_owned(),
        "a sequence" => "an array".to_owned(),
        _ if name.starts_with("a tuple") || name.starts_with("an array") => "an array".to_owned(),
        _ => "another value".to_owned(),
    }
}

/// Names a found value in terms of JSON.
fn found_words(found: Unexpected<'_>) -> String {
    const LONGEST: usize = 40;
    match found {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(value) => format!("the integer {value}"),
        Unexpected::Signed(value) => format!("the integer {value}"),
        Unexpected::Float(value) => format!("the number {value:?}"),
        Unexpected::Str(text) if text.chars().count() > LONGEST => {
            let start: String = text.chars().take(LONGEST).collect();
            format!("a string that begins with {start:?}")
        }
        Unexpected::Str(text) => format!("the string {text:?}"),
        Unexpected::Unit | Unexpected::Option => "null".to_owned(),
        Unexpected::Seq => "an array".to_owned(),
        Unexpected::Map => "an object".to_owned(),
        _ => "another value".to_owned(),
    }
}

/// A JSON value whose errors contain the indexes and keys that lead to the fault.
pub(super) struct LocatedValue(pub(super) Value);

impl<'de> Deserializer<'de> for LocatedValue {
    type Error = PathError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PathError> {
        match self.0 {
            Value::Array(items) => visitor.visit_seq(Items { rest: items.into_iter().enumerate() }),
            Value::Object(members) => {
                visitor.visit_map(Entries { rest: members.into_iter(), current: None })
            }
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::String(text) => visitor.visit_string(text),
            // Visits the plain integer or double, so that numbers stay numbers whatever features
            // serde_json is built with.
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(value), ..) => visitor.visit_u64(value),
                (_, Some(value), _) => visitor.visit_i64(value),
                (_, _, Some(value)) => visitor.visit_f64(value),
                _ => Err(PathError(format!("{number} does not fit in 64 bits"))),
            },
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PathError> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, PathError> {
        if name == WHOLE {
            return hand(self.0, visitor);
        }
        visitor.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct Items {
    rest: std::iter::Enumerate<std::vec::IntoIter<Value>>,
}

impl<'de> SeqAccess<'de> for Items {
    type Error = PathError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, PathError> {
        let Some((index, item)) = self.rest.next() else { return Ok(None) };
        let _inside = ignored::inside_item(index);
        seed.deserialize(LocatedValue(item))
            .map(Some)
            .map_err(|error| error.within(&format!("[{index}]")))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct Entries {
    rest: serde_json::map::IntoIter,
    current: Option<(String, Value)>,
}

impl<'de> MapAccess<'de> for Entries {
    type Error = PathError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, PathError> {
        let Some((key, value)) = self.rest.next() else { return Ok(None) };
        let (key, _) = self.current.insert((key, value));
        let key: StrDeserializer<'_, PathError> = key.as_str().into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, PathError> {
        let (key, value) = self.current.take().unwrap_or_default();
        let _inside = ignored::inside(&key);
        seed.deserialize(LocatedValue(value)).map_err(|error| error.within(&key))
    }
}

thread_local! {
    /// A value that is on its way from a [`LocatedValue`] to a [`Whole`].
    static HANDED: Cell<Option<Value>> = const { Cell::new(None) };
}

/// The name by which a [`Whole`] asks for its value.
const WHOLE: &str = "\0a whole value";

/// Any JSON. From a [`LocatedValue`] it is moved, not read level by level.
pub(super) struct Whole(pub(super) Value);

/// Gives a value to the [`Whole`] that asked for it.
fn hand<'de, V: Visitor<'de>>(value: Value, visitor: V) -> Result<V::Value, PathError> {
    HANDED.set(Some(value));
    visitor.visit_unit()
}

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Taken;

        impl<'de> Visitor<'de> for Taken {
            type Value = Whole;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any JSON")
            }

            fn visit_unit<E: serde::de::Error>(self) -> Result<Whole, E> {
                let none = || E::invalid_type(Unexpected::Unit, &self);
                HANDED.take().map(Whole).ok_or_else(none)
            }

            // What follows is for deserializers that pass over newtypes.
            fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Whole, E> {
                Ok(Whole(Value::Bool(value)))
            }

            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Whole, E> {
                Ok(Whole(value.into()))
            }

            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Whole, E> {
                Ok(Whole(value.into()))
            }

            fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Whole, E> {
                Ok(Whole(value.into()))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Whole, E> {
                Ok(Whole(text.into()))
            }

            fn visit_none<E: serde::de::Error>(self) -> Result<Whole, E> {
                Ok(Whole(Value::Null))
            }

            fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Whole, D::Error> {
                Value::deserialize(inner).map(Whole)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Whole, A::Error> {
                Value::deserialize(SeqAccessDeserializer::new(items)).map(Whole)
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Whole, A::Error> {
                Value::deserialize(MapAccessDeserializer::new(members)).map(Whole)
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(
                self,
                deserializer: D,
            ) -> Result<Whole, D::Error> {
                Value::deserialize(deserializer).map(Whole)
            }
        }

        deserializer.deserialize_newtype_struct(WHOLE, Taken)
    }
}

#[cfg(test)]
mod tests {
    use serde::de::value::{Error, MapDeserializer};
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_whole_value_comes_from_any_deserializer() {
        let value = json!({"a": [1, -2, 0.5, "x", true, null, {"b": []}]});
        let Whole(moved) = Whole::deserialize(LocatedValue(value.clone())).unwrap();
        let Whole(read) = serde_json::from_value(value.clone()).unwrap();
        assert_eq!((&moved, &read), (&value, &value));
        let lists = MapDeserializer::<_, Error>::new([("a", vec![1_u64, 2])].into_iter());
        let Whole(read) = Whole::deserialize(lists).unwrap();
        assert_eq!(read, json!({"a": [1, 2]}));
        let text: StrDeserializer<'_, Error> = "x".into_deserializer();
        assert_eq!(Whole::deserialize(text).unwrap().0, Value::from("x"));
    }
}
