//! Values that have no member, as outputs of a step and as properties.

use stationdb::results::NamedValue;
use stationdb::serde_json::{Map, Number, Value};

use super::prop::{Item, Kind, Prop};
use crate::limits::{PATH_BYTES, VALUE_DEPTH};
use crate::results::Told;
use crate::results::parameter::{number, number_text};

/// The outputs that a property becomes: one for each value, named by its path. An array is a list.
/// Blank texts and empty arrays are none.
pub(super) fn outputs(prop: Prop<'_>, path: &str, told: &mut Told, out: &mut Vec<NamedValue>) {
    if path.len() > PATH_BYTES {
        told.note(
            prop.line(),
            format!("values with paths of more than {PATH_BYTES} bytes are left out"),
        );
        return;
    }
    if prop.kind() == Kind::Object {
        for inner in prop.props(told) {
            outputs(inner, &format!("{path}.{}", inner.name()), told, out);
        }
        return;
    }
    let value = value(prop, 0, told);
    let is_empty = match &value {
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    if !is_empty {
        out.push(NamedValue::new(path, value));
    }
}

/// The properties that a property becomes: as [`outputs`], with texts. Arrays are JSON.
pub(super) fn texts(prop: Prop<'_>, path: &str, told: &mut Told) -> Vec<(String, String)> {
    let mut found = Vec::new();
    outputs(prop, path, told, &mut found);
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    found.into_iter().map(|output| (output.name, text(output.value))).collect()
}

fn value(prop: Prop<'_>, depth: usize, told: &mut Told) -> Value {
    if depth >= VALUE_DEPTH {
        let what = format!("values more than {VALUE_DEPTH} levels deep are left out");
        told.note(prop.line(), what);
        return Value::Null;
    }
    match prop.kind() {
        Kind::Object => {
            let inner = prop.props(told).into_iter();
            let pairs = inner.map(|one| (one.name().to_owned(), value(one, depth + 1, told)));
            Value::Object(pairs.collect::<Map<_, _>>())
        }
        Kind::Array => {
            let items = prop.items().map(|item| match item {
                Item::Prop(inner) => value(inner, depth + 1, told),
                Item::Text(element) => scalar(element.text(), element_kind(prop)),
            });
            Value::Array(items.collect())
        }
        kind => scalar(prop.value().unwrap_or_default(), kind),
    }
}

fn element_kind(array: Prop<'_>) -> Kind {
    match array.element_type() {
        "Number" => Kind::Number,
        "Boolean" => Kind::Boolean,
        _ => Kind::Text,
    }
}

/// A value of its type; a text where the type does not have it, such as a number that is not
/// finite.
fn scalar(text: &str, kind: Kind) -> Value {
    let trimmed = text.trim();
    match kind {
        Kind::Number => {
            json_number(trimmed).map_or_else(|| number_text(trimmed).into(), Value::Number)
        }
        Kind::Boolean if trimmed.eq_ignore_ascii_case("true") => Value::Bool(true),
        Kind::Boolean if trimmed.eq_ignore_ascii_case("false") => Value::Bool(false),
        _ => text.into(),
    }
}

fn json_number(text: &str) -> Option<Number> {
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.into());
    }
    number(text).and_then(Number::from_f64)
}
