//! The arguments of operations that are called by name: what they are in JSON, by their types.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::value::Control;
use crate::value::wire::{Form, camel_case, fault, from_json, from_value, from_value_of, parsed};

/// The name of the argument that no request has: it is that of the session.
pub(crate) const CONTROL: &str = "control";
/// The names of the arguments that are a body as a whole.
const WHOLE: [&str; 2] = ["request", "query"];

/// What the wire of a service has that no signature says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WireRules {
    /// Whether an absent list is an empty one.
    pub lenient: bool,
    /// Further names of members. A list among them may be absent.
    pub also: &'static [(&'static str, &'static str)],
}

/// The JSON of a call, and the members that come from elsewhere.
pub(crate) struct Body<'j> {
    rules: WireRules,
    json: &'j [u8],
    given: Map<String, Value>,
    /// All members, once one of them was asked for.
    members: Option<Map<String, Value>>,
    control: Control,
}

impl<'j> Body<'j> {
    pub(crate) fn new(
        rules: WireRules,
        json: &'j [u8],
        given: Map<String, Value>,
        control: Control,
    ) -> Self {
        Self { rules, json, given, members: None, control }
    }

    /// All members. Of two spellings camelCase wins, and what is given wins over the JSON.
    fn members(&mut self) -> Result<&mut Map<String, Value>> {
        if self.members.is_none() {
            let is_empty = self.json.trim_ascii().is_empty();
            let all = if is_empty { Value::Object(Map::new()) } else { parsed(self.json)? };
            let Value::Object(mut all) = all else {
                // In the words of the reader of requests.
                let words = from_value::<BTreeMap<String, Value>>(all).err();
                return Err(fault(&words.unwrap_or_default()));
            };
            let given = std::mem::take(&mut self.given);
            all.retain(|key, _| !given.keys().any(|name| camel_case(name) == camel_case(key)));
            all.extend(given);
            self.members = Some(all);
        }
        Ok(self.members.get_or_insert_default())
    }

    /// Takes a member, by its own name or another one; null is none.
    fn take(&mut self, name: &str) -> Result<Option<Value>> {
        let own = self.take_exactly(name)?;
        match (own, self.also(name)) {
            (None, Some(also)) => self.take_exactly(also),
            (own, _) => Ok(own),
        }
    }

    fn also(&self, name: &str) -> Option<&'static str> {
        self.rules.also.iter().find(|(member, _)| *member == name).map(|(_, also)| *also)
    }

    fn take_exactly(&mut self, name: &str) -> Result<Option<Value>> {
        let members = self.members()?;
        let camel = camel_case(name);
        let exact = members.remove(&camel);
        let key = members.keys().find(|key| camel_case(key) == camel).cloned();
        let other = key.and_then(|key| members.remove(&key));
        Ok(exact.or(other).filter(|value| !value.is_null()))
    }

    fn optional<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>> {
        self.take(name)?.map(|value| from_value_of(&camel_case(name), value)).transpose()
    }

    pub(crate) fn required<T: DeserializeOwned>(&mut self, name: &str) -> Result<T> {
        let missing = || fault(&format!("member `{}`: it is required", camel_case(name)));
        self.optional(name)?.ok_or_else(missing)
    }

    /// The request that the JSON is as a whole.
    fn whole<T: DeserializeOwned>(&mut self) -> Result<T> {
        if self.members.is_none() && self.given.is_empty() {
            return from_json(self.json);
        }
        let members = std::mem::take(self.members()?);
        from_value(Value::Object(members)).map_err(|text| fault(&text))
    }
}

/// An argument of an operation.
pub(crate) trait Argument<'a>: Sized {
    /// What is read from a body, from which the argument is lent or taken.
    type Kept: 'a;
    /// What it is where it is not JSON.
    const OTHER: Option<&'static str> = None;

    fn read(body: &mut Body<'_>, name: &str) -> Result<Self::Kept>;

    fn lend(kept: &'a mut Self::Kept) -> Result<Self>;
}

/// A type of which an argument is taken by value.
pub(crate) trait ByValue: DeserializeOwned {
    /// What it is where the body does not have it; `None` where it is required.
    fn absent(_body: &Body<'_>, _name: &str) -> Option<Self> {
        None
    }
}

impl<T: Form + DeserializeOwned> ByValue for T {}
impl ByValue for u32 {}

impl<T: DeserializeOwned> ByValue for Vec<T> {
    fn absent(body: &Body<'_>, name: &str) -> Option<Self> {
        (body.rules.lenient || body.also(name).is_some()).then(Self::new)
    }
}

impl ByValue for bool {
    fn absent(_body: &Body<'_>, name: &str) -> Option<Self> {
        // The steps of a result go with it, unless the request says otherwise.
        Some(name == "delete_steps")
    }
}

/// Types whose absence is their default.
macro_rules! optional {
    ($($type:ty),*) => {
        $(impl ByValue for $type {
            fn absent(_body: &Body<'_>, _name: &str) -> Option<Self> {
                Some(Self::default())
            }
        })*
    };
}
optional! {
    Option<String>, Option<i64>, Option<bool>, Option<DateTime<Utc>>,
    BTreeMap<String, String>
}

impl<'a, T: ByValue + 'a> Argument<'a> for T {
    type Kept = Option<T>;

    fn read(body: &mut Body<'_>, name: &str) -> Result<Self::Kept> {
        if WHOLE.contains(&name) {
            return body.whole().map(Some);
        }
        match T::absent(body, name) {
            Some(absent) => Ok(Some(body.optional(name)?.unwrap_or(absent))),
            None => body.required(name).map(Some),
        }
    }

    fn lend(kept: &'a mut Self::Kept) -> Result<Self> {
        kept.take().ok_or_else(|| Error::corrupt("internal error: an argument was taken twice"))
    }
}

/// Makes an id the argument of operations, which borrow it.
macro_rules! id_argument {
    ($name:ident) => {
        impl<'a> $crate::value::argument::Argument<'a> for &'a $name {
            type Kept = $name;

            fn read(
                body: &mut $crate::value::argument::Body<'_>,
                name: &str,
            ) -> $crate::error::Result<$name> {
                body.required(name)
            }

            fn lend(kept: &'a mut $name) -> $crate::error::Result<Self> {
                Ok(kept)
            }
        }
    };
}
pub(crate) use id_argument;

impl<'a> Argument<'a> for &'a str {
    type Kept = String;

    fn read(body: &mut Body<'_>, name: &str) -> Result<String> {
        // The name of a file may be among its properties instead.
        if name == "name" {
            return Ok(body.optional(name)?.unwrap_or_default());
        }
        body.required(name)
    }

    fn lend(kept: &'a mut String) -> Result<Self> {
        Ok(kept)
    }
}

impl<'a> Argument<'a> for &'a Control {
    type Kept = Control;

    fn read(body: &mut Body<'_>, _name: &str) -> Result<Control> {
        Ok(body.control.clone())
    }

    fn lend(kept: &'a mut Control) -> Result<Self> {
        Ok(kept)
    }
}
