//! The queries whose answers are recorded.

use crate::prelude::*;

/// The lists of searches.
#[derive(serde::Deserialize)]
pub(super) struct Corpus {
    conditions: Vec<String>,
    alone: Vec<String>,
    faulty: Vec<String>,
    pub(super) exact: Vec<String>,
}

pub(super) fn corpus() -> Corpus {
    toml::from_str(include_str!("../../corpus/searches.toml")).unwrap()
}

pub(super) fn searches() -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    let filter = |text: &str| json!({ "filter": text });
    let Corpus { conditions, alone, faulty, .. } = corpus();
    let each = conditions.iter().chain(&alone).chain(&faulty);
    all.extend(each.map(|text| filter(text)));
    for (at, one) in conditions.iter().enumerate() {
        // Each condition meets some others in each way.
        for step in [1, 5, 7, 11] {
            let other = &conditions[(at + step) % conditions.len()];
            let text = match step {
                1 => format!("{one} AND {other}"),
                5 => format!("{one} OR {other}"),
                7 => format!("{one} {other}"),
                _ => format!("NOT {one} AND ({other} OR NOT {one})"),
            };
            all.push(filter(&text));
        }
        all.push(filter(&format!("NOT {one}")));
    }
    let orders = ["updated", "name", "created", "extension", "size", "workspace"];
    for order in orders {
        for text in ["", "extension:txt", "name:(\"*e*\")", "size:[5 TO 30]", "workspaceId:w1"] {
            for descending in [Some(true), Some(false), None] {
                all.push(json!({
                    "filter": text, "orderBy": order, "orderByDescending": descending, "take": 7,
                }));
            }
        }
    }
    for (skip, take) in [(0, 0), (0, 1), (3, 4), (39, 5), (40, 5), (500, 5), (0, 40), (0, 41)] {
        for text in ["", "extension:txt", "name:(\"run*\")"] {
            all.push(json!({ "filter": text, "skip": skip, "take": take }));
        }
    }
    all.push(json!({ "skip": -1 }));
    all.push(json!({ "take": -1 }));
    all.push(json!({ "take": 9_007_199_254_740_991_i64 }));
    all.push(json!({ "filter": null }));
    all
}

pub(super) fn structured() -> Vec<Value> {
    let operations = [
        "EQUAL",
        "NOT_EQUAL",
        "GREATER_THAN",
        "GREATER_THAN_OR_EQUAL",
        "LESS_THAN",
        "LESS_THAN_OR_EQUAL",
        "CONTAINS",
        "NOT_CONTAINS",
    ];
    let (three, four) = ("000000000000000000AB0003", "000000000000000000ab0004");
    let mut all = vec![json!({}), json!({"workspace": "w1"}), json!({"workspace": "none"})];
    for operation in operations {
        let with = |value: Value| json!({ "operation": operation, "value": value });
        all.push(json!({"idsQuery": {"operation": operation, "ids": [three, four, "x", three]}}));
        all.push(json!({"idsQuery": {"operation": operation, "ids": []}}));
        for value in [three, "x", ""] {
            all.push(json!({ "idQuery": with(json!(value)) }));
        }
        for value in ["txt", "TXT", "", "*"] {
            all.push(json!({ "extensionQuery": with(json!(value)) }));
        }
        for value in [100_i64, 0, -1, i64::MAX] {
            all.push(json!({ "sizeMinQuery": with(json!(value)) }));
            all.push(json!({ "sizeMaxQuery": with(json!(value)) }));
        }
        for time in
            ["2024-03-01T00:00:12.000Z", "2024-03-01T00:00:12.0005Z", "1999-01-01T00:00:00Z"]
        {
            all.push(json!({ "createdQuery": with(json!(time)) }));
        }
        for (key, value) in [
            ("serial", "SN-42"),
            ("serial", ""),
            ("serial", "SN"),
            ("text", "needle"),
            ("none", ""),
        ] {
            let part = json!({"key": key, "operation": operation, "value": value});
            all.push(json!({ "propertiesQuery": [part] }));
        }
    }
    let serial = json!({"key": "serial", "operation": "EQUAL", "value": "SN-42"});
    let not = json!({"key": "OR", "operation": "NOT_EQUAL", "value": "x"});
    all.push(json!({ "propertiesQuery": [serial, not] }));
    all.push(json!({ "propertiesQuery": [not, not, serial], "workspace": "w3" }));
    let at_least = json!({"operation": "GREATER_THAN_OR_EQUAL", "value": 10});
    let at_most = json!({"operation": "LESS_THAN", "value": 20});
    all.push(json!({ "sizeMinQuery": at_least, "sizeMaxQuery": at_most }));
    all.push(json!({ "sizeMinQuery": at_most, "sizeMaxQuery": at_least, "workspace": "w1",
        "extensionQuery": {"operation": "EQUAL", "value": "txt"}, "take": 2, "skip": 1 }));
    for (skip, take) in [(0, 0), (1, 3), (39, 5), (41, 5), (0, 1_000), (0, 1_001), (-1, 1), (0, -1)]
    {
        all.push(json!({ "skip": skip, "take": take, "workspace": "w1" }));
    }
    all
}
