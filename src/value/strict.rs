//! Reading requests so that no member is ignored without a word.
//!
//! The wire's rule is that unknown members are ignored, and servers follow it. A person who writes
//! a request wants to be told: a misspelt `filter` matches everything.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::ignored::{IgnoredMember, collect};
use super::nearest::did_you_mean;
use super::wire::{fault, from_located, from_value};
use crate::error::{Error, Result};

/// Reads a request from JSON text, and refuses members that the request does not have.
///
/// For requests that people write: in programs, tests, shells and notebooks. Servers use
/// [`from_json`](crate::from_json), because clients of the services may send members that this
/// crate does not know.
///
/// ```
/// use stationdb::products::QueryProductsRequest;
///
/// let error = stationdb::from_json_strict::<QueryProductsRequest>(br#"{"fliter": "a"}"#);
/// assert!(error.unwrap_err().message().ends_with("did you mean `filter`?"));
/// ```
///
/// # Errors
/// Those of [`from_json`](crate::from_json), and `InvalidArgument` at the first unknown member,
/// with the nearest known name, or all of them.
pub fn from_json_strict<T: DeserializeOwned>(json: &[u8]) -> Result<T> {
    refuse_unknown(collect(|| from_located::<T>(json)))
}

/// Reads a request as [`from_json_strict`] does, from JSON that is parsed already.
///
/// ```
/// use serde_json::json;
/// use stationdb::products::QueryProductsRequest;
///
/// let query: QueryProductsRequest = stationdb::from_value_strict(json!({"take": 5}))?;
/// assert_eq!(query.take, Some(5));
/// # Ok::<(), stationdb::Error>(())
/// ```
///
/// # Errors
/// `InvalidArgument` with the member that has the wrong type or is unknown.
pub fn from_value_strict<T: DeserializeOwned>(json: Value) -> Result<T> {
    refuse_unknown(collect(|| from_value(json).map_err(|text| fault(&text))))
}

fn refuse_unknown<T>((value, ignored): (Result<T>, Vec<IgnoredMember>)) -> Result<T> {
    // A required member that is misspelt is told by the name that was written.
    let Some(IgnoredMember { path, name, known }) = ignored.into_iter().next() else {
        return value;
    };
    let mut hint = did_you_mean(&name, known.iter().copied());
    if hint.is_empty() {
        hint = format!("; the known members are {}", known.join(", "));
    }
    Err(Error::invalid(format!("the request has the unknown member {name:?}{hint}"))
        .with_args([name])
        .at_member(path))
}

/// Reads a request from JSON text as [`from_json`](crate::from_json) does, and returns the paths of
/// the members that it ignored, such as `columns[0].dataTyp`.
///
/// ```
/// use stationdb::products::QueryProductsRequest;
///
/// let read = stationdb::from_json_report::<QueryProductsRequest>(br#"{"fliter": "a"}"#)?;
/// assert_eq!(read.1, ["fliter"]);
/// # Ok::<(), stationdb::Error>(())
/// ```
///
/// # Errors
/// Those of [`from_json`](crate::from_json).
pub fn from_json_report<T: DeserializeOwned>(json: &[u8]) -> Result<(T, Vec<String>)> {
    let (value, ignored) = collect(|| from_located::<T>(json));
    Ok((value?, ignored.into_iter().map(|ignored| ignored.path).collect()))
}
