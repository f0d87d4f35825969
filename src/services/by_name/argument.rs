//! What the arguments of operations are in JSON, by their types.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{Read, Write};
use std::ops::Range;
use std::path::Path;

use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::arrow::array::RecordBatch;
use crate::arrow::error::ArrowError;
use crate::columnar::ReadSeek;
use crate::error::{Error, Result};
use crate::model::assets::SystemConnection;
use crate::model::records::RecordKind;
use crate::model::results::ResultWithSteps;
use crate::model::{
    AssetId, FeedId, FileId, PackageId, ProductId, SpecificationId, TableId, TestPlanId,
    TestResultId, UploadSessionId, WorkItemId,
};
use crate::services::ContentWriter;
use crate::session::{RowsPart, SegmentFile};
use crate::value::Control;
use crate::value::wire::{Form, camel_case, fault, from_json, from_value, from_value_of};

/// The name of the argument that no request has: it is that of the session.
pub(super) const CONTROL: &str = "control";
/// The names of the arguments that are a body as a whole.
const WHOLE: [&str; 2] = ["request", "query"];

/// The JSON of a call, and the members that come from elsewhere.
pub(crate) struct Body<'j> {
    json: &'j [u8],
    given: Map<String, Value>,
    /// All members, once one of them was asked for.
    members: Option<Map<String, Value>>,
    control: Control,
}

impl<'j> Body<'j> {
    pub(super) fn new(json: &'j [u8], given: Map<String, Value>, control: Control) -> Self {
        Self { json, given, members: None, control }
    }

    /// All members. Of two spellings camelCase wins, and what is given wins over the JSON.
    fn members(&mut self) -> Result<&mut Map<String, Value>> {
        if self.members.is_none() {
            let is_empty = self.json.trim_ascii().is_empty();
            let all = if is_empty { Value::Object(Map::new()) } else { from_json(self.json)? };
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

    /// Takes a member; null is none.
    fn take(&mut self, name: &str) -> Result<Option<Value>> {
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

    fn required<T: DeserializeOwned>(&mut self, name: &str) -> Result<T> {
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
    fn absent(_name: &str) -> Option<Self> {
        None
    }
}

impl<T: Form + DeserializeOwned> ByValue for T {}
impl<T: DeserializeOwned> ByValue for Vec<T> {}
impl ByValue for RecordKind {}
impl ByValue for u32 {}

impl ByValue for bool {
    fn absent(name: &str) -> Option<Self> {
        // The steps of a result go with it, unless the request says otherwise.
        Some(name == "delete_steps")
    }
}

/// Types whose absence is their default.
macro_rules! optional {
    ($($type:ty),*) => {
        $(impl ByValue for $type {
            fn absent(_name: &str) -> Option<Self> {
                Some(Self::default())
            }
        })*
    };
}
optional! {
    Option<String>, Option<i64>, Option<bool>, Option<DateTime<Utc>>, Option<SystemConnection>,
    BTreeMap<String, String>
}

impl<'a, T: ByValue + 'a> Argument<'a> for T {
    type Kept = Option<T>;

    fn read(body: &mut Body<'_>, name: &str) -> Result<Self::Kept> {
        if WHOLE.contains(&name) {
            return body.whole().map(Some);
        }
        match T::absent(name) {
            Some(absent) => Ok(Some(body.optional(name)?.unwrap_or(absent))),
            None => body.required(name).map(Some),
        }
    }

    fn lend(kept: &'a mut Self::Kept) -> Result<Self> {
        kept.take().ok_or_else(|| Error::corrupt("internal error: an argument was taken twice"))
    }
}

/// Ids, which operations borrow.
macro_rules! ids {
    ($($id:ty),*) => {
        $(impl<'a> Argument<'a> for &'a $id {
            type Kept = $id;

            fn read(body: &mut Body<'_>, name: &str) -> Result<$id> {
                body.required(name)
            }

            fn lend(kept: &'a mut $id) -> Result<Self> {
                Ok(kept)
            }
        })*
    };
}
ids! {
    AssetId, FeedId, FileId, PackageId, ProductId, SpecificationId, TableId, TestPlanId, TestResultId,
    UploadSessionId, WorkItemId
}

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

/// Types that JSON does not have. Calls with them are refused before their arguments are read.
macro_rules! not_json {
    ($($type:ty = $form:literal;)*) => {
        $(impl<'a> Argument<'a> for $type {
            type Kept = Infallible;
            const OTHER: Option<&'static str> = Some($form);

            fn read(_body: &mut Body<'_>, name: &str) -> Result<Infallible> {
                Err(Error::unsupported(format!("the argument `{name}` is {}", $form)))
            }

            fn lend(kept: &'a mut Infallible) -> Result<Self> {
                match *kept {}
            }
        })*
    };
}

not_json! {
    &'a mut (dyn Read + 'a) = "a reader of bytes";
    Box<dyn ReadSeek> = "a file";
    &'a mut (dyn Write + 'a) = "a writer of bytes";
    &'a mut (dyn Write + Send + 'a) = "a writer of bytes";
    &'a Path = "a path of this machine";
    ContentWriter = "content that was written before";
    Option<&'a str> = "a name of what the bytes have";
    &'a [ResultWithSteps] = "results with tables of Arrow batches";
    &'a crate::model::tables::waveform::Waveform<'a> = "a waveform in memory";
    Range<u64> = "a range of ordinals";
    &'a mut (dyn Iterator<Item = std::result::Result<RecordBatch, ArrowError>> + 'a) =
        "a stream of Arrow batches";
    &'a mut (dyn for<'f> FnMut(SegmentFile<'f>) -> Result<()> + 'a) = "a function";
    &'a mut (dyn for<'f> FnMut(RowsPart<'f>) -> Result<()> + 'a) = "a function";
}
