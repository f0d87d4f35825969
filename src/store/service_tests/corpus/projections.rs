//! Every name of every projection: it returns the part of the whole item that it names.

use crate::store::tests::prelude::*;

use super::kinds::OPERATIONS;
use super::{Opened, kind};
use crate::filter::tests::corpus::files;
use crate::value::wire::camel_case;

/// Projection names whose member has another name.
const IRREGULAR: &[(&str, &str, &str)] = &[
    ("asset", "FILES_IDS", "fileIds"),
    ("asset", "LAST_UPDATE", "lastUpdatedTimestamp"),
    ("asset", "SUPPORTS_SELF_RESET", "supportsSelfTest"),
    ("asset", "IS_VENDOR_ASSET", "isNIAsset"),
];

/// Projection names that are accepted and return no member.
const NOTHING: &[(&str, &str)] = &[
    ("testPlan", "WORKFLOW"),
    ("testPlan", "DASHBOARD_URL"),
    ("testPlan", "WORK_ORDER_NAME"),
    ("testPlan", "EXECUTION_HISTORY"),
];

/// Members that are returned for every projection.
fn always(kind: &str) -> &'static [&'static str] {
    match kind {
        "testPlan" | "table" => &["id"],
        _ => &[],
    }
}

/// The first record of the corpus, with additional members that its cases do not need.
fn rich(kind: &str) -> Value {
    let file = files().into_iter().map(|(_, file)| file).find(|file| file.kind == kind).unwrap();
    let mut record: Value = serde_json::from_str(&file.records[0]).unwrap();
    let more = match kind {
        "asset" => json!({
            "discoveryType": "MANUAL", "supportsSelfTest": true, "supportsReset": false, "outForCalibration": false,
            "fileIds": ["f"], "lastUpdatedTimestamp": "2024-01-01T00:00:00.000Z",
            "temperatureSensors": [{"name": "s", "reading": 20.5}],
        }),
        "specification" => json!({
            "productId": "P1", "limit": {"min": 1.0}, "keywords": ["k"], "properties": {"a": "b"},
            "conditions": [{"name": "T", "value": {
                "conditionType": "NUMERIC", "unit": "C", "discrete": [1.0], "range": [{"min": 0.0, "max": 2.0}],
            }}],
        }),
        "table" => json!({"metadataRevision": 1}),
        "testPlan" | "workItem" | "testPlanTemplate" | "workItemTemplate" => json!({
            "executionActions": [{"type": "MANUAL", "action": "START"}], "dashboard": {"id": "d"},
            "estimatedDurationInSeconds": 5, "timeline": {
                "earliestStartDateTime": "2024-01-01T00:00:00.000Z", "dueDateTime": "2024-01-01T00:00:00.000Z",
                "estimatedDurationInSeconds": 5,
            },
        }),
        _ => json!({}),
    };
    for (member, value) in more.as_object().unwrap() {
        record.as_object_mut().unwrap().entry(member).or_insert(value.clone());
    }
    if ["workItem", "workItemTemplate"].contains(&kind) {
        record["resources"]["filterType"] = "LINQ".into();
    }
    record
}

/// Whether every member of `part` is in `whole`. Elements of lists are compared by position.
fn is_part(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => part
            .iter()
            .all(|(name, value)| whole.get(name).is_some_and(|other| is_part(value, other))),
        (Value::Array(part), Value::Array(whole)) => {
            part.len() == whole.len()
                && part.iter().zip(whole).all(|(part, whole)| is_part(part, whole))
        }
        _ => part == whole,
    }
}

#[test]
fn every_name_returns_its_part_of_the_item() {
    for operation in &OPERATIONS {
        let names = (operation.projections)();
        if names.is_empty() {
            continue;
        }
        let opened = Opened::new();
        opened.put(kind(operation.kind), &[rich(operation.kind)]);
        let item = |projection: Value| {
            let answer =
                operation.ask(&opened.session, json!({ "projection": projection })).unwrap();
            operation.items_of(&answer)[0].clone()
        };
        let whole = item(Value::Null);
        if operation.kind != "table" {
            assert_eq!(item(json!([])), whole, "{}: an empty projection is none", operation.name);
        }
        let member_of = |name: &str| {
            let irregular =
                IRREGULAR.iter().find(|(kind, other, _)| *kind == operation.kind && *other == name);
            irregular.map_or_else(
                || camel_case(&name.to_ascii_lowercase()),
                |(_, _, member)| (*member).to_owned(),
            )
        };
        for name in &names {
            let mut part = item(json!([name]));
            assert!(
                is_part(&part, &whole) || *name == "COLUMN_COUNT",
                "{} {name}: {part}",
                operation.name
            );
            for member in always(operation.kind) {
                assert_eq!(part[member], whole[member], "{} {name}", operation.name);
                if member_of(name) != **member {
                    part.as_object_mut().unwrap().remove(*member);
                }
            }
            let members = part.as_object().unwrap();
            if NOTHING.contains(&(operation.kind, name)) {
                assert!(
                    members.values().all(|value| value.as_array().is_some_and(Vec::is_empty)),
                    "{name}: {part}"
                );
                continue;
            }
            assert_eq!(members.len(), 1, "{} {name}: {part}", operation.name);
            let member = member_of(name);
            if let Some(value) = whole.get(&member) {
                assert_eq!(part[&member], *value, "{} {name}", operation.name);
            }
        }
        // Two names return both parts.
        let two = item(json!([names[0], names[1]]));
        for name in &names[..2] {
            assert!(is_part(&item(json!([name])), &two), "{} {name}: {two}", operation.name);
        }
    }
}
