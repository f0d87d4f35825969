//! Holds the members of answers against the pages, at any depth: a member that no page has is a
//! problem, and so is one that the page says to be always there and is not, and a value of another
//! type than the page says.

use std::cell::Cell;

use serde_json::Value;

use crate::reference::Pages;

/// The pages, and how many objects were held against them.
pub struct Checker {
    pages: Pages,
    pub objects: Cell<usize>,
    /// Members of which a page says that they are always there, each time that one was.
    pub always: Cell<usize>,
    /// Values that were held against the type that a page says.
    pub values: Cell<usize>,
}

impl Checker {
    pub fn new(pages: Pages) -> Self {
        Self { pages, objects: Cell::default(), always: Cell::default(), values: Cell::default() }
    }

    /// Whether the answer of an operation is a record that tells what failed beside what succeeded.
    pub fn is_partial(&self, operation: &str) -> bool {
        let output = self.pages.operations.get(operation).map_or("", String::as_str);
        let record = self.pages.record_in(output).and_then(|name| self.pages.records.get(name));
        record.is_some_and(|members| members.contains_key("error"))
    }

    /// What the answer of an operation has other than its page. A projection leaves members out.
    pub fn problems(
        &self,
        operation: &str,
        status: u16,
        answer: &Value,
        is_projected: bool,
    ) -> Vec<String> {
        let mut problems = Vec::new();
        // Bytes stand in the file as what is known of them.
        if answer.get("disposition").is_some() {
            return problems;
        }
        let output = match operation {
            "explain_query_table_data" => "TablePlan",
            _ if operation.starts_with("explain_") => "Plan",
            _ => self.pages.operations.get(operation).map_or("", String::as_str),
        };
        let record = match status {
            // The error itself, or a record with it.
            400.. if answer.get("args").is_some() => Some("ApiError"),
            400.. if operation != "execute_work_item" => None,
            _ => self.pages.record_in(output),
        };
        let items = answer.as_array().map_or(std::slice::from_ref(answer), Vec::as_slice);
        for item in items.iter().filter(|item| item.is_object()) {
            record
                .into_iter()
                .for_each(|record| self.lacks(record, item, operation, &mut problems));
        }
        let inner = |record: &str, value: &Value, place: &str, problems: &mut Vec<String>| {
            if !is_projected {
                self.lacks(record, value, place, problems);
            }
        };
        match (record, answer.get("error")) {
            (Some(record), _) => self.look(record, answer, operation, &inner, &mut problems),
            (None, Some(error)) => self.look("ApiError", error, operation, &inner, &mut problems),
            (None, None) if answer.is_object() => {
                problems.push(format!("{operation}: no page says which record it answers with"));
            }
            (None, None) => {}
        }
        problems
    }

    /// Members that are always there, and are not.
    fn lacks(&self, record: &str, value: &Value, place: &str, problems: &mut Vec<String>) {
        for name in self.pages.always.get(record).into_iter().flatten() {
            self.always.set(self.always.get() + 1);
            if value.get(name).is_none() {
                problems.push(format!("{place}: {record} is always to have {name:?}"));
            }
        }
    }

    fn look(
        &self,
        record: &str,
        value: &Value,
        place: &str,
        inner: &dyn Fn(&str, &Value, &str, &mut Vec<String>),
        problems: &mut Vec<String>,
    ) {
        match value {
            Value::Array(items) => {
                items.iter().for_each(|item| self.look(record, item, place, inner, problems));
            }
            Value::Object(given) => {
                let Some(known) = self.pages.records.get(record) else {
                    problems.push(format!("{place}: no page has the record {record:?}"));
                    return;
                };
                self.objects.set(self.objects.get() + 1);
                inner(record, value, place, problems);
                for (name, value) in given {
                    let Some(kind) = known.get(name) else {
                        problems.push(format!("{place}: {record} has no member {name:?}"));
                        continue;
                    };
                    let place = format!("{place}.{name}");
                    match fits(kind, value) {
                        Some(false) => problems.push(format!("{place} is {value}, not {kind:?}")),
                        Some(true) => self.values.set(self.values.get() + 1),
                        None => {}
                    }
                    match self.pages.held(name, kind) {
                        // A map to records: its keys are anybody's.
                        Some(record) if kind.starts_with("map") => {
                            let values = value.as_object().into_iter().flat_map(|map| map.values());
                            values.for_each(|value| {
                                self.look(record, value, &place, inner, problems);
                            });
                        }
                        Some(record) => self.look(record, value, &place, inner, problems),
                        None if holds_record(value) && !is_free(name, kind) => {
                            problems
                                .push(format!("{place}: the page of {record} has no type for it"));
                        }
                        None => {}
                    }
                }
            }
            _ => {}
        }
    }
}

/// Whether a value has the type that a page says; `None` where the page says none that is known
/// here, or more than one.
fn fits(kind: &str, value: &Value) -> Option<bool> {
    let kind = kind.trim().to_lowercase();
    let kind = kind.strip_suffix(" or null").unwrap_or(&kind);
    if value.is_null() || kind.contains(" or ") {
        return None;
    }
    let begins = |words: &[&str]| words.iter().any(|word| kind.starts_with(word));
    match () {
        () if begins(&["list"]) => Some(value.is_array()),
        () if begins(&["map"]) => Some(value.is_object()),
        () if begins(&["string", "text", "date-time"]) => Some(value.is_string()),
        () if begins(&["integer", "32-bit integer", "64-bit integer"]) => {
            Some(value.is_i64() || value.is_u64())
        }
        () if begins(&["number"]) => Some(value.is_number()),
        () if begins(&["boolean"]) => Some(value.is_boolean()),
        () => None,
    }
}

/// Whether the value is an object, or a list of them.
fn holds_record(value: &Value) -> bool {
    match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => items.iter().any(holds_record),
        _ => false,
    }
}

/// Maps of anybody's keys, lists of them, and values of any kind.
fn is_free(name: &str, kind: &str) -> bool {
    ["map", "list of maps", "any JSON"].iter().any(|free| kind.starts_with(free))
        || matches!(name, "metadata" | "arguments")
}
