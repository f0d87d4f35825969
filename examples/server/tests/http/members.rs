//! Holds the members of answers against the pages: a member that no page has is a problem, at any
//! depth.

use std::cell::Cell;

use serde_json::Value;

use crate::reference::Pages;

/// The pages, and how many objects were held against them.
pub struct Checker {
    pages: Pages,
    pub objects: Cell<usize>,
}

impl Checker {
    pub fn new(pages: Pages) -> Self {
        Self { pages, objects: Cell::new(0) }
    }

    /// Members that the answer of an operation has and its page has not.
    pub fn problems(&self, operation: &str, status: u16, answer: &Value) -> Vec<String> {
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
        match (record, answer.get("error")) {
            (Some(record), _) => self.look(record, answer, operation, &mut problems),
            (None, Some(error)) => self.look("ApiError", error, operation, &mut problems),
            (None, None) if answer.is_object() => {
                problems.push(format!("{operation}: no page says which record it answers with"));
            }
            (None, None) => {}
        }
        problems
    }

    fn look(&self, record: &str, value: &Value, place: &str, problems: &mut Vec<String>) {
        match value {
            Value::Array(items) => {
                items.iter().for_each(|item| self.look(record, item, place, problems));
            }
            Value::Object(given) => {
                let Some(known) = self.pages.records.get(record) else {
                    problems.push(format!("{place}: no page has the record {record:?}"));
                    return;
                };
                self.objects.set(self.objects.get() + 1);
                for (name, value) in given {
                    let Some(kind) = known.get(name) else {
                        problems.push(format!("{place}: {record} has no member {name:?}"));
                        continue;
                    };
                    let place = format!("{place}.{name}");
                    match self.pages.held(name, kind) {
                        // A map to records: its keys are anybody's.
                        Some(record) if kind.starts_with("map") => {
                            let values = value.as_object().into_iter().flat_map(|map| map.values());
                            values.for_each(|value| self.look(record, value, &place, problems));
                        }
                        Some(record) => self.look(record, value, &place, problems),
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

/// Whether the value is an object, or a list of them.
fn holds_record(value: &Value) -> bool {
    match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => items.iter().any(holds_record),
        _ => false,
    }
}

/// Maps of anybody's keys, and values of any kind.
fn is_free(name: &str, kind: &str) -> bool {
    kind.starts_with("map") || matches!(name, "metadata" | "arguments")
}
