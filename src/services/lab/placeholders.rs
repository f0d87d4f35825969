//! `<field>` and `<properties.key>` in arguments of the runner and in dashboard variables, and
//! dashboard URLs.

use std::fmt::Write as _;

use serde_json::Value;

use crate::model::{Dashboard, Resource};
use crate::value::wire::fold;
use crate::value::{Env, Val, time};

/// No field that placeholders can name depends on the time of reading.
const ENV: Env = Env { now_ms: 0, calibration_warning_days: 0 };

/// Replaces the placeholders in a text by values of the record.
///
/// A field without a value is replaced by nothing. A name that the record does not have stays as
/// written. A backslash before an angle bracket makes the bracket plain text.
pub(crate) fn fill<R: Resource>(text: &str, record: &R) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '<']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        if let Some(escaped) = ['<', '>']
            .into_iter()
            .find(|c| from.strip_prefix('\\').is_some_and(|s| s.starts_with(*c)))
        {
            out.push(escaped);
            rest = from.get(2..).unwrap_or_default();
            continue;
        }
        let end = from.find('>').filter(|_| from.starts_with('<'));
        match end.and_then(|end| Some((value(from.get(1..end)?, record)?, from.get(end + 1..)?))) {
            Some((value, after)) => {
                out.push_str(&value);
                rest = after;
            }
            None => {
                out.push_str(from.get(..1).unwrap_or_default());
                rest = from.get(1..).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    out
}

/// Applies [`fill`] to every text of a JSON value; member names are not changed.
pub(crate) fn fill_json<R: Resource>(json: &Value, record: &R) -> Value {
    match json {
        Value::String(text) => Value::String(fill(text, record)),
        Value::Array(items) => items.iter().map(|item| fill_json(item, record)).collect(),
        Value::Object(members) => Value::Object(
            members.iter().map(|(name, value)| (name.clone(), fill_json(value, record))).collect(),
        ),
        other => other.clone(),
    }
}

fn value<R: Resource>(name: &str, record: &R) -> Option<String> {
    if name.eq_ignore_ascii_case("id") || fold(name) == format!("{}id", fold(R::KIND.name)) {
        return Some(record.id().to_owned());
    }
    let field = |name: &str| {
        let place = R::fields().iter().position(|field| field.path.eq_ignore_ascii_case(name))?;
        Some(record.value(place, &ENV))
    };
    if let Some((map, key)) = name.split_once('.') {
        if let Some(Val::Map(entries)) = field(map) {
            return Some(entries.get(key).flatten().unwrap_or_default().to_owned());
        }
        if map.eq_ignore_ascii_case("properties") {
            return Some(String::new());
        }
    }
    match field(name)? {
        Val::Null => Some(String::new()),
        Val::Str(text) => Some(text.into_owned()),
        Val::Int(number) => Some(number.to_string()),
        Val::Bool(flag) => Some(flag.to_string()),
        Val::Double(number) => Some(number.to_string()),
        Val::Time(ms) => Some(time::format(time::from_millis(ms))),
        Val::Strings(items) => Some(items.join(",")),
        Val::Span(_) | Val::Map(_) | Val::Maps(_) | Val::Json(_) | Val::Rows(_) => None,
    }
}

/// The URL of a record's dashboard, relative to the server: `/dashboards/d/<id>?var-k=v&…`.
pub(crate) fn url<R: Resource>(dashboard: &Dashboard, record: &R) -> Option<String> {
    let mut url = String::from("/dashboards/d/");
    encode(&mut url, dashboard.id.as_deref()?);
    for (position, (key, text)) in dashboard.variables.iter().flatten().enumerate() {
        url.push(if position == 0 { '?' } else { '&' });
        url.push_str("var-");
        encode(&mut url, key);
        url.push('=');
        encode(&mut url, &fill(text, record));
    }
    Some(url)
}

/// Percent-encodes everything except the unreserved characters of RFC 3986.
fn encode(out: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::work_items::work_item::WorkItem;

    fn item() -> WorkItem {
        serde_json::from_str(
            r#"{"id":"1000","name":"Überprüfung","partNumber":"p 1","state":"IN_PROGRESS",
                "timeline":{"dueDateTime":"2024-01-02T03:04:05Z","estimatedDurationInSeconds":7},
                "properties":{"k.1":"v","a":"<b>"}}"#,
        )
        .unwrap()
    }

    #[test]
    fn placeholders_are_filled_from_the_item() {
        for (text, expected) in [
            ("<partNumber>", "p 1"),
            ("<id>/<workItemId>", "1000/1000"),
            ("x<properties.k.1>y", "xvy"),
            ("<properties.a>", "<b>"),
            ("<properties.none>|<description>|", "||"),
            ("<state> <PARTNUMBER>", "IN_PROGRESS p 1"),
            (
                "<timeline.dueDateTime> <timeline.estimatedDurationInSeconds>",
                "2024-01-02T03:04:05.000Z 7",
            ),
            ("<nothing> < > <", "<nothing> < > <"),
            (r"\<id\> \\ \n <id>", r"<id> \\ \n 1000"),
            ("a < b <id>", "a < b <id>"),
            ("<name>", "Überprüfung"),
            ("ü<ü>ü", "ü<ü>ü"),
        ] {
            // `a < b <id>`: the first bracket opens a name that no field has. It stays, and the
            // search continues after it.
            let expected = if text == "a < b <id>" { "a < b 1000" } else { expected };
            assert_eq!(fill(text, &item()), expected, "{text}");
        }
    }

    #[test]
    fn json_values_are_filled_all_the_way_down() {
        let json = serde_json::json!(["<id>", 1, {"<id>": ["<partNumber>", null]}]);
        assert_eq!(
            fill_json(&json, &item()),
            serde_json::json!(["1000", 1, {"<id>": ["p 1", null]}])
        );
    }

    #[test]
    fn dashboard_addresses_are_sorted_and_encoded() {
        let dashboard = |text: &str| serde_json::from_str::<Dashboard>(text).unwrap();
        for (text, expected) in [
            (r#"{"variables":{"a":"b"}}"#, None),
            (r#"{"id":"d"}"#, Some("/dashboards/d/d")),
            (r#"{"id":"d","variables":{}}"#, Some("/dashboards/d/d")),
            (
                r#"{"id":"a/b","variables":{"z":"1","a b":"ä&","p":"<partNumber>"}}"#,
                Some("/dashboards/d/a%2Fb?var-a%20b=%C3%A4%26&var-p=p%201&var-z=1"),
            ),
        ] {
            assert_eq!(url(&dashboard(text), &item()).as_deref(), expected);
        }
    }
}
