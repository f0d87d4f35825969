//! The wire form of plain data: camelCase on output, camelCase or snake_case on input, nulls
//! omitted.
//!
//! [`record!`](crate::value::wire::record) declares a struct once, with its wire form and its
//! stored form. Its serde code is the derived one, run through two adapters. [`Respell`] renames
//! members on input, prefers the camelCase spelling, lets the last of equal keys win, and names the
//! path of a faulty member. [`SkipNulls`] omits members that are `None` on output.

use std::cell::Cell;
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, IntoDeserializer, MapAccess, Visitor,
};
use serde::ser::{Impossible, Serialize, SerializeStruct, Serializer};
use serde_json::Value;
pub(crate) use stationdb_derive::Record;

use super::located::{LocatedValue, PathError, Whole};
use super::nested::{self, Unreadable};
use super::{Absent, ignored};

/// Converts `order_by_descending` to `orderByDescending`.
#[must_use]
pub(crate) fn camel_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for (index, part) in name.split('_').enumerate() {
        let mut chars = part.chars();
        match chars.next() {
            Some(first) if index > 0 => {
                out.extend(first.to_uppercase());
                out.extend(chars.flat_map(char::to_lowercase));
            }
            Some(first) => {
                out.push(first);
                out.push_str(chars.as_str());
            }
            None => {}
        }
    }
    out
}

/// Enumeration text in lower case, without `_`, `-` and spaces.
#[must_use]
pub(crate) fn fold(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

/// Runs derived struct code over a map whose members may have either spelling.
pub(crate) struct Respell<'a, D> {
    /// The deserializer of the map.
    pub inner: D,
    /// Whether null members are dropped (absent and null mean the same), or passed on (three-state
    /// requests).
    pub drop_nulls: bool,
    /// Members that must be present, by the names in the struct.
    pub required: &'static [&'static str],
    /// Alternative names of members in camelCase, each with the name that serde knows the member
    /// by.
    pub also: &'static [(&'static str, &'static str)],
    /// Takes the members that the map does not have.
    pub absent: Option<&'a Cell<Absent>>,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Respell<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let Self { inner, drop_nulls, required, also, absent } = self;
        let rules = Rules { fields, drop_nulls, required, also, absent };
        let visitor = RespellVisitor { rules, visitor };
        inner.deserialize_struct(name, fields, visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        option unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier
        ignored_any
    }
}

/// How the members of a map become those of a struct.
struct Rules<'a> {
    fields: &'static [&'static str],
    drop_nulls: bool,
    required: &'static [&'static str],
    also: &'static [(&'static str, &'static str)],
    absent: Option<&'a Cell<Absent>>,
}

impl Rules<'_> {
    /// The member with this name or alternative name.
    fn member(&self, name: &str) -> Option<&'static str> {
        let further =
            || self.also.iter().find(|(also, _)| *also == name).map(|(_, member)| *member);
        self.fields.iter().copied().find(|field| *field == name).or_else(further)
    }

    /// Reads the members of a map. Compiled once for each form of a map, not for each struct.
    fn read<'de, A: MapAccess<'de>>(&self, mut map: A) -> Result<Members, A::Error> {
        let mut members: Vec<(&'static str, bool, Value)> = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            let Some(field) = self.member(&key).or_else(|| self.member(&camel_case(&key))) else {
                map.next_value::<IgnoredAny>()?;
                ignored::ignored(&key, self.fields);
                continue;
            };
            let Whole(value) = map.next_value()?;
            let is_exact = field == key;
            match members.iter_mut().find(|(name, ..)| *name == field) {
                Some((_, exact_before, _)) if *exact_before && !is_exact => {}
                Some(member) => *member = (field, is_exact, value),
                None => members.push((field, is_exact, value)),
            }
        }
        if self.drop_nulls {
            members.retain(|(_, _, value)| !value.is_null());
        }
        for name in self.required.iter().map(|name| camel_case(name)) {
            if !members.iter().any(|(member, ..)| *member == name) {
                return Err(A::Error::custom(format_args!("member `{name}`: it is required")));
            }
        }
        if let Some(absent) = self.absent {
            let is_absent = |field: &&str| !members.iter().any(|(member, ..)| member == field);
            absent.set(Absent::new(self.fields.iter().copied().filter(is_absent).collect()));
        }
        Ok(Members { rest: members.into_iter(), current: None })
    }
}

struct RespellVisitor<'a, V> {
    rules: Rules<'a>,
    visitor: V,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for RespellVisitor<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        let mut members = self.rules.read(map)?;
        self.visitor.visit_map(&mut members).map_err(|error| A::Error::custom(error.0))
    }
}

struct Members {
    rest: std::vec::IntoIter<(&'static str, bool, Value)>,
    current: Option<(&'static str, Value)>,
}

impl<'de> MapAccess<'de> for &mut Members {
    type Error = PathError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, PathError> {
        let Some((name, _, value)) = self.rest.next() else {
            return Ok(None);
        };
        self.current = Some((name, value));
        let key: StrDeserializer<'_, PathError> = name.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, PathError> {
        let (name, value) = self.current.take().unwrap_or(("", Value::Null));
        let _inside = ignored::inside(name);
        seed.deserialize(LocatedValue(value)).map_err(|error| error.within(name))
    }
}

/// Runs derived struct code, omitting members that serialize as none.
pub(crate) struct SkipNulls<S>(pub S);

macro_rules! forward {
    ($($name:ident($($arg:ident: $ty:ty),*) $(-> $out:ident)?;)*) => {
        $(fn $name(self, $($arg: $ty),*) -> Result<forward!(@out $($out)?), S::Error> {
            self.0.$name($($arg),*)
        })*
    };
    (@out) => { S::Ok };
    (@out $out:ident) => { S::$out };
}

impl<S: Serializer> Serializer for SkipNulls<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = S::SerializeSeq;
    type SerializeTuple = S::SerializeTuple;
    type SerializeTupleStruct = S::SerializeTupleStruct;
    type SerializeTupleVariant = S::SerializeTupleVariant;
    type SerializeMap = S::SerializeMap;
    type SerializeStruct = SkipNulls<S::SerializeStruct>;
    type SerializeStructVariant = S::SerializeStructVariant;

    forward! {
        serialize_bool(v: bool);
        serialize_i8(v: i8);
        serialize_i16(v: i16);
        serialize_i32(v: i32);
        serialize_i64(v: i64);
        serialize_u8(v: u8);
        serialize_u16(v: u16);
        serialize_u32(v: u32);
        serialize_u64(v: u64);
        serialize_f32(v: f32);
        serialize_f64(v: f64);
        serialize_char(v: char);
        serialize_str(v: &str);
        serialize_bytes(v: &[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(name: &'static str);
        serialize_unit_variant(name: &'static str, index: u32, variant: &'static str);
        serialize_seq(len: Option<usize>) -> SerializeSeq;
        serialize_tuple(len: usize) -> SerializeTuple;
        serialize_tuple_struct(name: &'static str, len: usize) -> SerializeTupleStruct;
        serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, len: usize)
            -> SerializeTupleVariant;
        serialize_map(len: Option<usize>) -> SerializeMap;
        serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, len: usize)
            -> SerializeStructVariant;
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.0.serialize_some(value)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_struct(name, value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_variant(name, index, variant, value)
    }

    fn serialize_struct(
        self,
        name: &'static str,
        len: usize,
    ) -> Result<Self::SerializeStruct, S::Error> {
        // The length is an upper bound, because members may be omitted; JSON does not write it.
        self.0.serialize_struct(name, len.max(1)).map(SkipNulls)
    }
}

impl<S: SerializeStruct> SerializeStruct for SkipNulls<S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), S::Error> {
        if value.serialize(IsNone).is_ok() {
            return self.0.skip_field(key);
        }
        self.0.serialize_field(key, value)
    }

    fn end(self) -> Result<S::Ok, S::Error> {
        self.0.end()
    }
}

/// Succeeds on `serialize_none` only. Everything else fails before its content is visited.
struct IsNone;

#[derive(Debug, thiserror::Error)]
#[error("not none")]
struct NotNone;

impl serde::ser::Error for NotNone {
    fn custom<T: fmt::Display>(_message: T) -> Self {
        Self
    }
}

macro_rules! not_none {
    ($($name:ident($($ty:ty),*) -> $out:ty;)*) => {
        $(fn $name(self, $(_: $ty),*) -> Result<$out, NotNone> {
            Err(NotNone)
        })*
    };
}

type Never = Impossible<(), NotNone>;

impl Serializer for IsNone {
    type Ok = ();
    type Error = NotNone;
    type SerializeSeq = Never;
    type SerializeTuple = Never;
    type SerializeTupleStruct = Never;
    type SerializeTupleVariant = Never;
    type SerializeMap = Never;
    type SerializeStruct = Never;
    type SerializeStructVariant = Never;

    fn serialize_none(self) -> Result<(), NotNone> {
        Ok(())
    }

    not_none! {
        serialize_bool(bool) -> ();
        serialize_i8(i8) -> ();
        serialize_i16(i16) -> ();
        serialize_i32(i32) -> ();
        serialize_i64(i64) -> ();
        serialize_u8(u8) -> ();
        serialize_u16(u16) -> ();
        serialize_u32(u32) -> ();
        serialize_u64(u64) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_char(char) -> ();
        serialize_str(&str) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_unit_variant(&'static str, u32, &'static str) -> ();
        serialize_seq(Option<usize>) -> Never;
        serialize_tuple(usize) -> Never;
        serialize_tuple_struct(&'static str, usize) -> Never;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Never;
        serialize_map(Option<usize>) -> Never;
        serialize_struct(&'static str, usize) -> Never;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Never;
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<(), NotNone> {
        Err(NotNone)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: &T,
    ) -> Result<(), NotNone> {
        Err(NotNone)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), NotNone> {
        Err(NotNone)
    }
}

/// Declares plain structs with their wire form and their stored form: `#[derive(Record)]` for
/// several at once.
///
/// `record! { pub struct … }`: absent and null mean the same; every member has a default.
/// `record! { patch pub struct … }`: null members are passed on, for requests with [`crate::Patch`]
/// members; not stored.
/// `record! { wire pub struct … }`: as the first, without a stored form (requests).
/// `record! { answer pub struct … }`: a wire struct that answers a call. `created` instead of
/// `answer`: with status 201. `page`: made of a page of records. `batch`, `created batch`: made of
/// the outcome of a batch.
/// `since(2) pub member: …`: format 2 introduced the member; it has its default when bytes of
/// format 1 are read.
/// `record! { pub struct Name requires(member, …) … }`: JSON without these members is refused.
/// `record! { pub struct Name also("otherName" = "member", …) … }`: JSON may use an alternative
/// name for a member.
/// `record! { wire pub struct Name queries(Record) … }`: a query for records of this type.
/// `record! { pub struct Name new(member: Type, …) … }`: the arguments of `Name::new(…)`; each
/// member also has a setter. Members may come, so other crates make a record only so.
macro_rules! record {
    ($(#[$meta:meta])* wire pub struct $($rest:tt)*) => {
        $crate::value::wire::record!($(#[$meta])* #[wire] pub struct $($rest)*);
    };
    ($(#[$meta:meta])* patch pub struct $($rest:tt)*) => {
        $crate::value::wire::record!($(#[$meta])* #[patch] pub struct $($rest)*);
    };
    ($(#[$meta:meta])* answer pub struct $($rest:tt)*) => {
        $crate::value::wire::record!($(#[$meta])* #[answer()] wire pub struct $($rest)*);
    };
    ($(#[$meta:meta])* created pub struct $($rest:tt)*) => {
        $crate::value::wire::record!($(#[$meta])* #[answer(created)] wire pub struct $($rest)*);
    };
    ($(#[$meta:meta])* page pub struct $($rest:tt)*) => {
        $crate::value::wire::record!($(#[$meta])* #[answer(page)] wire pub struct $($rest)*);
    };
    ($(#[$meta:meta])* created batch pub struct $($rest:tt)*) => {
        $crate::value::wire::record!($(#[$meta])* #[answer(created)] batch pub struct $($rest)*);
    };
    ($(#[$meta:meta])* batch pub struct $($rest:tt)*) => {
        $crate::value::wire::record!(
            $(#[$meta])*
            #[answer(batch)]
            #[must_use = "items may have failed: read `error`, or call `into_result`"]
            wire pub struct $($rest)*
        );
    };
    ($(#[$meta:meta])* pub struct $name:ident $(new($($arg:ident: $arg_ty:ty),* $(,)?))?
     $(queries($record:ident))?
     $(requires($($required:ident),+))?
     $(also($($also:literal = $member:literal),+))?
     { $($(#[$fmeta:meta])* $(since($since:literal))? pub $field:ident: $ty:ty),* $(,)? }
     $($rest:tt)*) => {
        #[derive(Clone, Debug, Default, PartialEq, $crate::value::wire::Record)]
        $(#[$meta])*
        $(#[new($($arg),*)])?
        $(#[queries($record)])?
        $(#[requires($($required),+)])?
        $(#[also($($also = $member),+)])?
        #[non_exhaustive]
        // Records of the crate alone are declared like those of its surface.
        #[allow(unreachable_pub)]
        pub struct $name { $($(#[$fmeta])* $(#[since($since)])? pub $field: $ty),* }

        $crate::value::wire::record!($($rest)*);
    };
    () => {};
}
pub(crate) use record;

/// The place of a text among the wire texts of an enumeration, ignoring spelling as [`fold`] does.
///
/// # Errors
/// `InvalidArgument`, with the known texts.
pub(crate) fn place_of(known: &[&str], text: &str) -> crate::error::Result<usize> {
    // Stored texts have this spelling, and passes over records read one for each.
    if let Some(exact) = known.iter().position(|value| *value == text) {
        return Ok(exact);
    }
    let folded = fold(text);
    known.iter().position(|value| fold(value) == folded).ok_or_else(|| {
        crate::error::Error::invalid(format!("{text:?} is not one of {}", known.join(", ")))
    })
}

/// Declares an enumeration with its wire texts. They are written in canonical spelling, and read
/// ignoring letter case, `_`, `-` and spaces. The stored form is the position of the value, so
/// values are only ever added at the end, with the format that introduces them:
/// `Name = "NAME" since 2`. The default is the first value.
///
/// `wire_enum! { wire pub enum … }`: without a stored form (requests and answers).
macro_rules! wire_enum {
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[$vmeta:meta])* $variant:ident = $text:literal $(since $since:literal)?),* $(,)?
    }) => {
        $crate::value::wire::wire_enum!($(#[$meta])* wire pub enum $name {
            $($(#[$vmeta])* $variant = $text),*
        });

        impl $crate::value::Stored for $name {
            fn put(
                &self,
                out: &mut $crate::value::stored::Output<'_>,
            ) -> $crate::value::stored::EncodeResult {
                (*self as u8).put(out)
            }
            fn take(
                input: &mut $crate::value::stored::Input<'_>,
            ) -> $crate::value::stored::DecodeResult<Self> {
                const SINCE: &[u8] = &[$(1 $(- 1 + $since)?),*];
                let place = $crate::value::stored::take_place(SINCE, stringify!($name), input)?;
                Ok(Self::ALL.get(place).copied().unwrap_or_default())
            }
        }
    };
    ($(#[$meta:meta])* wire pub enum $name:ident {
        $($(#[$vmeta:meta])* $variant:ident = $text:literal),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(unreachable_pub)]
        pub enum $name { $($(#[$vmeta])* $variant),* }

        #[allow(unreachable_pub)]
        impl $name {
            /// Every value, in order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The canonical wire text.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }
        }

        #[allow(clippy::derivable_impls, reason = "the first variant is not known to the macro by \
                                                   name")]
        impl Default for $name {
            fn default() -> Self {
                Self::ALL[0]
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::error::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let place = $crate::value::wire::place_of(&[$($text),*], text)?;
                Ok(Self::ALL.get(place).copied().unwrap_or_default())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(|error: $crate::error::Error| {
                    serde::de::Error::custom(error.message())
                })
            }
        }

        impl From<$name> for $crate::value::Val<'_> {
            fn from(value: $name) -> Self {
                Self::from(value.as_str())
            }
        }

        impl From<&$name> for $crate::value::Val<'_> {
            fn from(value: &$name) -> Self {
                Self::from(value.as_str())
            }
        }

        $crate::value::part::part!($name => {
            // The canonical texts, without alternative spellings.
            const TEXTS: &[(&str, &[&str])] = &[$(($text, &[])),*];
            $crate::value::FieldType::Enum(TEXTS)
        });
    };
}
pub(crate) use wire_enum;

/// Gives an enum of newtype variants a stored form:
/// `stored_union!(Event { 0 => Job, 1 => Manual })`.
macro_rules! stored_union {
    ($name:ident { $($code:literal => $variant:ident $(since $since:literal)?),* $(,)? }) => {
        impl $crate::value::Stored for $name {
            fn put(
                &self,
                out: &mut $crate::value::stored::Output<'_>,
            ) -> $crate::value::stored::EncodeResult {
                match self { $(Self::$variant(value) => {
                    let code: u8 = $code;
                    code.put(out)?;
                    value.put(out)
                })* }
            }
            fn take(
                input: &mut $crate::value::stored::Input<'_>,
            ) -> $crate::value::stored::DecodeResult<Self> {
                let code = <u8 as $crate::value::Stored>::take(input)?;
                match code {
                    $($code $(if $crate::value::stored::format(input).has($since))? =>
                        $crate::value::Stored::take(input).map(Self::$variant),)*
                    _ => Err($crate::value::stored::bad(stringify!($name))),
                }
            }
            fn settle(&mut self) {
                match self { $(Self::$variant(value) => $crate::value::Stored::settle(value)),* }
            }
        }
    };
}
pub(crate) use stored_union;

/// Reads a part of a request, for members that are accepted in several forms.
///
/// # Errors
/// The error text, with the path of the member relative to `value`.
pub(crate) fn from_value<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, String> {
    T::deserialize(LocatedValue(value)).map_err(|error| error.0)
}

/// A record that [`record!`] or the derive of resources declares: it is read from an object.
pub(crate) trait Form {}

/// Reads the member `name` of a request.
///
/// # Errors
/// As [`from_json`].
pub(crate) fn from_value_of<T: serde::de::DeserializeOwned>(
    name: &str,
    value: Value,
) -> crate::error::Result<T> {
    T::deserialize(LocatedValue(value)).map_err(|error| fault(&error.within(name).0))
}

/// Reads a request from JSON text, as a server that wraps the store does. An empty text is `{}`
/// where every member of the request is optional.
///
/// # Errors
/// `InvalidArgument`, with the member that has the wrong type, or the position of the syntax error.
pub fn from_json<T: serde::de::DeserializeOwned>(json: &[u8]) -> crate::error::Result<T> {
    if let Some(value) = of_nothing(json) {
        return Ok(value);
    }
    let error = match serde_json::from_slice(json) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    // Reads again with `LocatedValue`, whose errors contain indexes and terms of JSON. The first
    // error may be a type in terms of Rust, also where the text is not JSON behind it.
    match T::deserialize(LocatedValue(parsed(json)?)) {
        Ok(value) if nested::is_deep(&error) => Ok(value),
        read => Err(fault(&read.err().map_or_else(|| error.to_string(), |error| error.0))),
    }
}

/// As [`from_json`], over a parsed text: every level adds its part of the member path.
pub(crate) fn from_located<T: serde::de::DeserializeOwned>(json: &[u8]) -> crate::error::Result<T> {
    if let Some(value) = of_nothing(json) {
        return Ok(value);
    }
    T::deserialize(LocatedValue(parsed(json)?)).map_err(|error| fault(&error.0))
}

/// The JSON of a request, in which `children` may nest in 100 levels.
///
/// # Errors
/// `InvalidArgument` for what is not JSON, `LimitExceeded` for deeper levels.
pub(crate) fn parsed(json: &[u8]) -> crate::error::Result<Value> {
    match serde_json::from_slice(json) {
        Ok(value) => Ok(value),
        Err(error) if nested::is_deep(&error) => nested::parse(json).map_err(|why| match why {
            Unreadable::TooDeep(text) => {
                crate::error::Error::limit(format!("the request is not read: {text}"))
            }
            Unreadable::Syntax(text) => fault(&text),
        }),
        Err(_) if json.trim_ascii().is_empty() => Err(fault("it is empty")),
        Err(syntax) => Err(fault(&syntax.to_string())),
    }
}

/// The request that an empty text is: `{}`, unless it has required members.
fn of_nothing<T: serde::de::DeserializeOwned>(json: &[u8]) -> Option<T> {
    if !json.trim_ascii().is_empty() {
        return None;
    }
    T::deserialize(LocatedValue(Value::Object(serde_json::Map::new()))).ok()
}

/// The error of a request whose reader says `text`.
pub(crate) fn fault(text: &str) -> crate::error::Error {
    let member = text.strip_prefix("member `").and_then(|rest| rest.split('`').next());
    let result = crate::error::Error::invalid(format!("the request cannot be read: {text}"));
    match member {
        Some(path) => result.at_member(path),
        None => result,
    }
}

#[cfg(test)]
mod tests {
    use crate::value::{Patch, stored};
    use std::collections::BTreeMap;

    wire_enum! {
        /// Colours.
        pub enum Colour {
            /// Red.
            DarkRed = "DARK_RED",
            /// Blue.
            Blue = "BLUE",
        }
    }

    record! {
        /// Inner.
        pub struct Inner {
            /// Count.
            pub item_count: Option<i32>,
        }

        /// Outer.
        pub struct Outer {
            /// Name.
            pub part_number: Option<String>,
            /// List.
            pub key_words: Vec<String>,
            /// Inner.
            pub the_inner: Option<Inner>,
            /// Map.
            pub properties: BTreeMap<String, String>,
            /// Colour.
            pub colour: Option<Colour>,
        }

        /// Records in lists in a list.
        wire pub struct Nested {
            /// Lists.
            pub list: Vec<Vec<Outer>>,
        }

        /// Members with further names.
        wire pub struct Known requires(main_name) also("otherName" = "mainName", "_links" = "links") {
            /// Name.
            pub main_name: Option<String>,
            /// Links.
            pub links: Vec<String>,
        }

        /// Patch.
        patch pub struct Change {
            /// Name.
            pub new_name: Patch<String>,
            /// Other.
            pub other_name: Option<String>,
        }
    }

    #[test]
    fn both_spellings_are_read_and_camel_case_wins() {
        let text = r#"{"partNumber":"camel","part_number":"snake","key_words":null,"unknown":[{}],
            "the_inner":{"item_count":3},"properties":{"a_b":"c"},"colour":"darkred"}"#;
        let outer: Outer = serde_json::from_str(text).unwrap();
        assert_eq!(outer.part_number.as_deref(), Some("camel"));
        assert_eq!(outer.the_inner.as_ref().unwrap().item_count, Some(3));
        assert_eq!(outer.properties["a_b"], "c");
        assert_eq!(
            serde_json::to_string(&outer).unwrap(),
            r#"{"partNumber":"camel","keyWords":[],"theInner":{"itemCount":3},"properties":{"a_b":"c"},"colour":"DARK_RED"}"#
        );
        let bytes = stored::to_bytes(&outer).unwrap();
        assert_eq!(stored::from_bytes::<Outer>(&bytes).unwrap(), outer);
        assert!(stored::from_bytes::<Inner>(&bytes).is_err());
    }

    #[test]
    fn further_names_are_spellings_of_their_member() {
        for (text, name) in [
            (r#"{"mainName":"1","other_name":"2","otherName":"3","main_name":"4"}"#, "1"),
            (r#"{"other_name":"2","otherName":"3","mainName":"1"}"#, "1"),
            (r#"{"other_name":"2","main_name":"4","_links":["a"]}"#, "4"),
            (r#"{"otherName":"3","links":["b"],"_links":["a"]}"#, "3"),
        ] {
            let known: Known = serde_json::from_str(text).unwrap();
            assert_eq!(known.main_name.as_deref(), Some(name), "{text}");
            let links: &[&str] = if text.contains("\"b\"") {
                &["b"]
            } else if text.contains('[') {
                &["a"]
            } else {
                &[]
            };
            assert_eq!(known.links, links, "{text}");
        }
        assert!(serde_json::from_str::<Known>(r#"{"otherNames":"1"}"#).is_err());
    }

    #[test]
    fn the_last_of_equal_keys_wins() {
        let outer: Outer = serde_json::from_str(r#"{"partNumber":"1","partNumber":"2"}"#).unwrap();
        assert_eq!(outer.part_number.as_deref(), Some("2"));
    }

    #[test]
    fn a_member_of_the_wrong_type_is_named_with_its_path() {
        let error = super::from_json::<Outer>(br#"{"theInner":{"itemCount":"3"}}"#).unwrap_err();
        assert_eq!(error.place(), Some(&crate::error::Place::Member("theInner.itemCount".into())));
        for (json, path) in [
            (r#"{"keyWords":["a",7]}"#, "keyWords[1]"),
            (r#"{"keyWords":{}}"#, "keyWords"),
            (r#"{"properties":{"a":"b","c d":null}}"#, "properties.c d"),
            (r#"{"list":[[{}],[{},{"properties":{"k":[1]}}]]}"#, "list[1][1].properties.k"),
            (
                r#"{"list":[[{"the_inner":{"itemCount":9999999999}}]]}"#,
                "list[0][0].theInner.itemCount",
            ),
        ] {
            let error = super::from_json::<Nested>(json.as_bytes()).err();
            let error = error.or_else(|| super::from_json::<Outer>(json.as_bytes()).err()).unwrap();
            assert_eq!(error.place(), Some(&crate::error::Place::Member(path.into())), "{error}");
        }
        assert!(super::from_json::<Outer>(b"[").is_err());
        let error = super::from_json::<Vec<Outer>>(br#" [{},{"the_inner":{"itemCount":"3"}}]"#)
            .unwrap_err();
        assert_eq!(
            error.place(),
            Some(&crate::error::Place::Member("[1].theInner.itemCount".into()))
        );
        assert!(
            super::from_json::<Outer>(br#"{"colour":"GREEN"}"#)
                .unwrap_err()
                .message()
                .contains("DARK_RED, BLUE")
        );
    }

    #[test]
    fn an_empty_text_is_an_object_unless_a_member_is_required() {
        for text in ["", " ", "\r\n\t"] {
            let nothing = text.as_bytes();
            let optional = super::from_json::<Outer>(nothing).unwrap();
            assert_eq!(optional, Outer::default());
            assert_eq!(super::from_located::<Outer>(nothing).unwrap(), optional);
            assert_eq!(super::from_json::<Change>(nothing).unwrap(), Change::default());
            let required = super::from_json::<Known>(nothing).unwrap_err();
            assert!(required.message().ends_with("it is empty"), "{required}");
            assert!(super::from_located::<Known>(nothing).is_err());
            assert!(super::from_json::<Vec<Outer>>(nothing).is_err());
        }
        assert!(super::from_json::<Outer>(b"null").is_err());
    }

    /// By each of the ways in which JSON is read.
    #[test]
    fn each_double_is_read_as_it_was_written() {
        let mut state = 1_u64;
        let mut doubles = vec![0.947_976_869_749_725_7, f64::MAX, f64::MIN_POSITIVE, 5e-324, -0.0];
        while doubles.len() < 20_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            // Of all sizes, and from 0 to 1.
            let bits = state.rotate_left(32) ^ state;
            doubles.push(f64::from_bits(bits));
            doubles.push((bits >> 11) as f64 / (1_u64 << 53) as f64);
            doubles.retain(|double| double.is_finite());
        }
        let text = serde_json::to_string(&doubles).unwrap();
        let bits =
            |doubles: &[f64]| -> Vec<u64> { doubles.iter().map(|one| one.to_bits()).collect() };
        let direct: Vec<f64> = super::from_json(text.as_bytes()).unwrap();
        let located: Vec<f64> = super::from_located(text.as_bytes()).unwrap();
        let parsed = crate::value::nested::parse(text.as_bytes()).unwrap();
        let parsed: Vec<f64> = serde_json::from_value(parsed).unwrap();
        for (way, read) in [("direct", direct), ("located", located), ("parsed", parsed)] {
            assert_eq!(bits(&read), bits(&doubles), "{way}");
        }
    }

    #[test]
    fn absent_null_and_value_stay_apart_in_patches() {
        for (text, expected) in [
            ("{}", Patch::Absent),
            (r#"{"newName":null}"#, Patch::Null),
            (r#"{"newName":"x"}"#, Patch::Value("x".to_owned())),
        ] {
            let change: Change = serde_json::from_str(text).unwrap();
            assert_eq!(change.new_name, expected);
            assert_eq!(serde_json::to_string(&change).unwrap(), text);
        }
    }
}
