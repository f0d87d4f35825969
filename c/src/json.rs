//! Requests and answers as JSON.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use stationdb::serde_json::{self, Value};
use stationdb::{Error, from_json_strict, from_value_strict};

use crate::failure::{Failure, Outcome};

/// A request of the library, by its wire form. An empty text is `{}`; members that the request does
/// not have are refused.
///
/// # Errors
/// `InvalidArgument` with the path of the member that is wrong or unknown.
pub fn request<T: DeserializeOwned>(what: &str, json: &str) -> Outcome<T> {
    let json = if json.trim().is_empty() { "{}" } else { json };
    from_json_strict(json.as_bytes()).map_err(|error| error.context(what).into())
}

/// Names of columns, as a JSON array of texts.
pub fn names(what: &str, json: &str) -> Outcome<Vec<String>> {
    let told = |error: &dyn std::fmt::Display| {
        Error::invalid(format!(
            "{what}: {error}; give the names as a JSON array, as [\"volts\", \"amps\"]"
        ))
    };
    serde_json::from_str(json).map_err(|error| told(&error).into())
}

/// Options by their names, in camelCase or snake_case.
pub fn options(what: &str, json: &str) -> Outcome<Vec<(String, Value)>> {
    if json.trim().is_empty() {
        return Ok(Vec::new());
    }
    let members: BTreeMap<String, Value> = serde_json::from_str(json).map_err(|error| {
        Failure::from(Error::invalid(format!("{what}: {error}; give an object, as {{\"a\": 1}}")))
    })?;
    Ok(members.into_iter().map(|(name, value)| (snake(&name), value)).collect())
}

/// The value of an option.
///
/// # Errors
/// `InvalidArgument` for a value of another type.
pub fn value<T: DeserializeOwned>(name: &str, value: Value) -> Outcome<T> {
    from_value_strict(value).map_err(|error| error.context(format!("the option {name}")).into())
}

/// A report or an answer as JSON.
pub fn text(answer: &impl Serialize) -> Outcome<String> {
    serde_json::to_string(answer).map_err(|_| Failure::internal("an answer has no JSON"))
}

fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_two_spellings() {
        let found = options("options", r#"{"sealRows": 5, "quick_repair": true}"#).unwrap();
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["quick_repair", "seal_rows"]);
        assert!(options("options", " ").unwrap().is_empty());
        assert!(options("options", "[1]").is_err());
        assert_eq!(super::names("columns", r#"["a", "b"]"#).unwrap(), ["a", "b"]);
        assert!(super::names("columns", "a,b").is_err());
    }
}
