//! The status of results, steps and measurements.

use stationdb::results::{Status, StatusType};

use crate::html::escaped;

/// Whether the status is one that somebody looks for.
pub(crate) fn has_failed(status: Option<&Status>) -> bool {
    status.is_some_and(|status| class(&status.status_type) == "bad")
}

fn class(status: &StatusType) -> &'static str {
    match status.to_string().as_str() {
        "PASSED" | "DONE" => "good",
        "FAILED" | "ERRORED" | "TERMINATED" | "TIMED_OUT" => "bad",
        _ => "other",
    }
}

/// The status as a word, with a colour and a sign, so that it does not depend on the colour.
pub(crate) fn badge(status: Option<&Status>) -> String {
    let Some(status) = status else { return String::new() };
    let kind = status.status_type.to_string();
    let name = status.status_name.as_deref().filter(|name| !name.is_empty()).unwrap_or(&kind);
    written(class(&status.status_type), name)
}

/// Whether a measurement says that it failed.
pub(crate) fn parameter_has_failed(status: Option<&str>) -> bool {
    status.is_some_and(|status| parameter_class(status) == "bad")
}

fn parameter_class(status: &str) -> &'static str {
    match status.to_ascii_lowercase().as_str() {
        "passed" | "pass" | "done" => "good",
        "failed" | "fail" | "errored" | "error" => "bad",
        _ => "other",
    }
}

/// The status that a measurement says.
pub(crate) fn parameter_badge(status: Option<&str>) -> String {
    let Some(status) = status else { return String::new() };
    written(parameter_class(status), status)
}

fn written(class: &str, name: &str) -> String {
    let sign = match class {
        "good" => "✓",
        "bad" => "✗",
        _ => "·",
    };
    format!("<span class=\"status {class}\">{sign} <bdi>{}</bdi></span>", escaped(name))
}
