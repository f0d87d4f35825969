//! Query strings of the wire: `take=10&orderByDescending=True&id=a,b`, read like bodies.
//!
//! A query string has texts alone. What a member is stands in a table of its request; with it the
//! texts become the JSON that a body would have, and the reader of bodies does the rest. So both
//! spellings of a member, unknown members and the words of errors are as in bodies.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::value::limits;
use crate::value::wire::{camel_case, fault, from_json, from_value};

/// What the text of a member stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A text. Of several the last one counts.
    Text,
    /// A whole number. Of several the last one counts.
    Integer,
    /// `true` or `false` in any letter case. Of several the last one counts.
    Boolean,
    /// A list of ids: the key is repeated, or they are joined by commas, encoded or not. Empty
    /// entries are dropped.
    Ids,
    /// A list of names that may have commas: the key is repeated, or they are joined by commas. A
    /// comma that is written as `%2C` belongs to its name. Empty entries are dropped.
    Names,
}

/// A request that the wire has in a query string, as a whole or in part: for [`from_query`].
pub trait FromQuery: DeserializeOwned {
    /// The members that a query string may have, in camelCase.
    #[doc(hidden)]
    const MEMBERS: &'static [(&'static str, Shape)];
}

/// Reads a request from the query string of a URL, without the `?`.
///
/// Members are accepted in camelCase and in snake_case, unknown ones are ignored. `+` is a blank.
///
/// ```
/// use stationdb::from_query;
/// use stationdb::tables::ListTablesRequest;
///
/// let request: ListTablesRequest = from_query("take=10&orderByDescending=True&workspace=lab-1,lab-2")?;
/// assert_eq!(request.take, Some(10));
/// assert_eq!(request.workspace.as_deref(), Some(["lab-1".to_owned(), "lab-2".to_owned()].as_slice()));
/// # Ok::<(), stationdb::Error>(())
/// ```
///
/// # Errors
/// `InvalidArgument` for a member of the wrong type, with its name; for a `%` without two
/// hexadecimal digits and for bytes that are not UTF-8. `LimitExceeded` above 1 MiB.
pub fn from_query<T: FromQuery>(query: &str) -> Result<T> {
    from_value(Value::Object(query_members::<T>(query)?)).map_err(|text| fault(&text))
}

/// Reads a request that the wire has partly in the query string and partly in the body. Where both
/// have a member, that of the query string counts.
///
/// ```
/// use stationdb::files::QueryFilesRequest;
/// use stationdb::from_query_and_json;
///
/// let body = br#"{"extensionQuery": {"operation": "EQUAL", "value": "tdms"}}"#;
/// let request: QueryFilesRequest = from_query_and_json("skip=20&take=10", body)?;
/// assert_eq!((request.skip, request.extension_query.is_some()), (Some(20), true));
/// # Ok::<(), stationdb::Error>(())
/// ```
///
/// # Errors
/// Those of [`from_query`] and [`crate::from_json`].
pub fn from_query_and_json<T: FromQuery>(query: &str, json: &[u8]) -> Result<T> {
    let mut all = match from_json::<Value>(json)? {
        Value::Object(all) => all,
        // In the words of the reader of bodies.
        other => {
            return Err(fault(
                &from_value::<BTreeMap<String, Value>>(other).err().unwrap_or_default(),
            ));
        }
    };
    let members = query_members::<T>(query)?;
    let given: Vec<String> = members.keys().map(|key| camel_case(key)).collect();
    all.retain(|key, _| !given.contains(&camel_case(key)));
    all.extend(members);
    from_value(Value::Object(all)).map_err(|text| fault(&text))
}

/// The members of a query string as a body would have them, for
/// [`Session::call_with`](crate::Session::call_with).
///
/// ```
/// use stationdb::bodies::GetProductsRequest;
/// use stationdb::query_members;
///
/// let members = query_members::<GetProductsRequest>("take=10&returnCount=True")?;
/// assert_eq!(serde_json::Value::from(members).to_string(), r#"{"returnCount":true,"take":10}"#);
/// # Ok::<(), stationdb::Error>(())
/// ```
///
/// # Errors
/// As [`from_query`], without those of types.
pub fn query_members<T: FromQuery>(query: &str) -> Result<Map<String, Value>> {
    if query.len() > limits::QUERY_STRING_BYTES {
        return Err(Error::limit(format!(
            "the query string has {} bytes, more than the {} that are read",
            query.len(),
            limits::QUERY_STRING_BYTES
        )));
    }
    let mut members = Map::new();
    for pair in query.split('&') {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let key = decode(key, "a key")?;
        let name = camel_case(&key);
        let Some((_, shape)) =
            T::MEMBERS.iter().find(|(member, _)| *member == key || *member == name)
        else {
            continue;
        };
        match shape {
            Shape::Ids | Shape::Names => {
                let texts = texts(value, *shape, &name)?;
                match members.entry(key).or_insert_with(|| Value::Array(Vec::new())) {
                    Value::Array(list) => list.extend(texts.into_iter().map(Value::String)),
                    other => *other = Value::Array(texts.into_iter().map(Value::String).collect()),
                }
            }
            _ => {
                members.insert(key, scalar(decode(value, &name)?, *shape));
            }
        }
    }
    Ok(members)
}

/// A text that is not of its shape stays one, and the reader of bodies refuses it.
fn scalar(text: String, shape: Shape) -> Value {
    let read = match shape {
        Shape::Integer => text.parse().ok().map(|number: i64| Value::Number(number.into())),
        Shape::Boolean if text.eq_ignore_ascii_case("true") => Some(Value::Bool(true)),
        Shape::Boolean if text.eq_ignore_ascii_case("false") => Some(Value::Bool(false)),
        _ => None,
    };
    read.unwrap_or(Value::String(text))
}

fn texts(value: &str, shape: Shape, name: &str) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for part in value.split(',') {
        let text = decode(part, name)?;
        if shape == Shape::Ids {
            texts.extend(text.split(',').map(str::to_owned));
        } else {
            texts.push(text);
        }
    }
    texts.retain(|text| !text.is_empty());
    Ok(texts)
}

/// Undoes the percent encoding of a key or value.
fn decode(text: &str, name: &str) -> Result<String> {
    if !text.contains(['%', '+']) {
        return Ok(text.to_owned());
    }
    let fault = |why: &str| {
        Error::invalid(format!("the query string cannot be read: {name}: {text:?} has {why}"))
            .at_member(name)
    };
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
                let value = digit()
                    .and_then(|high| Some(high * 16 + digit()?))
                    .and_then(|value| u8::try_from(value).ok());
                value.ok_or_else(|| fault("a % without two hexadecimal digits"))?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).map_err(|_| fault("bytes that are not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::value::wire::record;

    record! {
        /// A request.
        wire pub struct Asked {
            /// A text.
            pub text: String,
        }
    }

    impl FromQuery for Asked {
        const MEMBERS: &'static [(&'static str, Shape)] = &[("text", Shape::Text)];
    }

    #[test]
    fn a_query_string_has_a_bound() {
        limits::holds_at(limits::QUERY_STRING_BYTES, ErrorKind::LimitExceeded, |bytes| {
            let asked: Asked = from_query(&format!("text={}", "x".repeat(bytes - "text=".len())))?;
            assert_eq!(asked.text.len(), bytes - "text=".len());
            Ok(())
        });
    }
}
