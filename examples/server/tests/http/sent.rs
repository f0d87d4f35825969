//! Holds the requests in `wire/` against the pages: each member that a page gives a request is sent
//! by one of them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::reference::{Members, Pages};

/// Members that no request of `wire/` has, and why.
const UNSENT: &[(&str, &str)] = &[
    ("systemConnection of AssetState", "it is in answers alone"),
    ("resolvedDueDate of ExternalCalibration", "it is computed, and ignored in requests"),
    ("url of Dashboard", "it is computed, and ignored in requests"),
    ("returnCount of QueryWorkItemTemplatesRequest", "only work items are counted"),
    ("returnCount of QueryTestPlanTemplatesRequest", "only test plans are counted"),
];

/// What was sent of each record.
pub struct SentMembers {
    pages: Pages,
    /// Record to its members that were sent.
    seen: BTreeMap<String, BTreeSet<String>>,
    strange: Vec<String>,
}

impl SentMembers {
    pub fn new(pages: Pages) -> Self {
        Self { pages, seen: BTreeMap::new(), strange: Vec::new() }
    }

    /// The record of the request of an operation: the one that the pages name as its body, the one
    /// with the operation's own name, or the one of its input.
    fn request(&self, operation: &str) -> Option<String> {
        if self.pages.queries.get(operation).is_some_and(|query| !query.is_empty())
            && !self.pages.bodies.contains(operation)
        {
            return None;
        }
        let input = self.pages.inputs.get(operation).map_or("", String::as_str);
        let named = self.pages.records.contains_key(operation).then_some(operation);
        self.pages.record_in(input).or(named).map(str::to_owned)
    }

    /// Takes a step of a file of `wire/`.
    pub fn note(&mut self, operation: &str, step: &Map<String, Value>, status: u16) {
        // What is refused was perhaps not read.
        if status >= 300 {
            return;
        }
        let call = step["call"].as_str().unwrap_or_default();
        let query = call.split_once('?').map_or("", |(_, query)| query);
        let record = self.request(operation);
        for name in query.split('&').filter_map(|pair| pair.split('=').next()) {
            for of in [Some(format!("query of {operation}")), record.clone()].into_iter().flatten()
            {
                self.seen.entry(of).or_default().insert(name.to_owned());
            }
        }
        let Some(record) = record else { return };
        for part in step.get("form").and_then(Value::as_array).into_iter().flatten() {
            if let Some(name) = part[0].as_str() {
                self.seen.entry(record.clone()).or_default().insert(name.to_owned());
            }
        }
        if step.contains_key("package") {
            self.seen.entry(record.clone()).or_default().insert("package".to_owned());
        }
        if let Some(body) = step.get("body") {
            self.look(&record, body);
        }
    }

    fn look(&mut self, record: &str, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.look(record, item)),
            Value::Object(given) => {
                let Some(known) = self.pages.records.get(record).cloned() else {
                    self.strange.push(format!("no page has the record {record:?}"));
                    return;
                };
                for (name, value) in given {
                    self.seen.entry(record.to_owned()).or_default().insert(name.clone());
                    let kind = known.get(name).map_or("", String::as_str);
                    if let Some(inner) = self.pages.held(name, kind).map(str::to_owned) {
                        self.look(&inner, value);
                    }
                }
            }
            _ => {}
        }
    }

    /// Members that a request reaches and that were not sent.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = self.strange.clone();
        let mut wanted: BTreeMap<String, Members> = BTreeMap::new();
        let operations = self.pages.operations.keys().chain(self.pages.inputs.keys());
        let named = self.pages.records.keys().filter(|name| name.contains('_'));
        let mut waiting: Vec<String> =
            operations.chain(named).filter_map(|operation| self.request(operation)).collect();
        while let Some(record) = waiting.pop() {
            if wanted.contains_key(&record) {
                continue;
            }
            let members = self.pages.records.get(&record).cloned().unwrap_or_default();
            let held =
                |(name, kind): (&String, &String)| self.pages.held(name, kind).map(str::to_owned);
            waiting.extend(members.iter().filter_map(held));
            wanted.insert(record, members);
        }
        for (operation, members) in &self.pages.queries {
            wanted.insert(format!("query of {operation}"), members.clone());
        }
        let mut unsent = BTreeSet::new();
        for (record, members) in &wanted {
            let seen = self.seen.get(record);
            for name in members.keys().filter(|name| !seen.is_some_and(|seen| seen.contains(*name)))
            {
                unsent.insert(format!("{name} of {record}"));
            }
        }
        for (member, _) in UNSENT {
            if !unsent.remove(*member) {
                problems.push(format!("{member} is sent, or no page has it: it is no exception"));
            }
        }
        problems.extend(unsent.into_iter().map(|member| format!("no request sends {member}")));
        problems
    }
}
