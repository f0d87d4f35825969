use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::work_item::WorkItemField as F;
use super::work_item::*;
use crate::model::work_items::template::{WorkItemTemplate, WorkItemTemplateField};

/// A record with every member, so that members outside of a projection are detected.
fn full() -> WorkItem {
    let selection = |kind: &str| {
        json!([{"id": format!("{kind}1"), "targetLocationId": "l", "targetSystemId": "s", "targetParentId": "p"},
               {"id": format!("{kind}2"), "targetSystemId": "t"}])
    };
    serde_json::from_value(json!({
        "id": "1000", "name": "n", "type": "t", "state": "NEW", "substate": "s", "description": "d",
        "parentId": "1", "templateId": "2", "assignedTo": "a", "requestedBy": "r", "testProgram": "p",
        "partNumber": "pn", "productFamily": "pf", "workspace": "w", "workflowId": "f",
        "timeline": {"earliestStartDateTime": "2024-01-01T00:00:00Z", "dueDateTime": "2024-01-02T00:00:00Z",
            "estimatedDurationInSeconds": 5},
        "schedule": {"plannedStartDateTime": "2024-01-01T00:00:00Z", "plannedEndDateTime": "2024-01-02T00:00:00Z",
            "plannedDurationInSeconds": 6},
        "resources": {
            "assets": {"selections": selection("a"), "filter": "fa"},
            "duts": {"selections": selection("d"), "filter": "fd"},
            "fixtures": {"selections": selection("f"), "filter": "ff"},
            "systems": {"selections": [{"id": "s1", "targetLocationId": "l"}], "filter": "fs"},
            "filterType": "LUCENE"},
        "executionActions": [{"type": "MANUAL", "action": "A"}],
        "fileIdsFromTemplate": ["f"], "properties": {"k": "v"}, "dashboard": {"id": "d", "url": "u"},
        "createdBy": "c", "createdAt": "2024-01-01T00:00:00Z", "updatedBy": "u", "updatedAt": "2024-01-01T00:00:00Z",
        "executionHistory": [{"type": "MANUAL", "action": "A"}]
    }))
    .unwrap()
}

/// The path of the member that a projection name means, derived from the name alone.
fn path_of(name: &str, whole: &Value) -> Vec<String> {
    let mut path = Vec::new();
    let mut rest = name;
    let mut at = whole;
    loop {
        let (key, next) = at
            .as_object()
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.clone(), value))
            .filter(|(key, _)| {
                let upper = upper_snake(key);
                rest == upper || rest.strip_prefix(&upper).is_some_and(|rest| rest.starts_with('_'))
            })
            .max_by_key(|(key, _)| key.len())
            .unwrap_or_else(|| panic!("{name} names no member"));
        rest = rest[upper_snake(&key).len()..].trim_start_matches('_');
        path.push(key);
        if rest.is_empty() {
            return path;
        }
        at = if next.is_array() { &next[0] } else { next };
    }
}

fn upper_snake(camel: &str) -> String {
    let mut out = String::new();
    for c in camel.chars() {
        if c.is_uppercase() {
            out.push('_');
        }
        out.extend(c.to_uppercase());
    }
    out
}

/// Only the member at `path`; in lists, for each element.
fn only(value: &Value, path: &[String]) -> Value {
    let Some((first, rest)) = path.split_first() else { return value.clone() };
    if let Some(items) = value.as_array() {
        return items.iter().map(|item| only(item, path)).collect();
    }
    match value.get(first) {
        Some(inner) => json!({ first: only(inner, rest) }),
        None => json!({}),
    }
}

#[test]
fn each_name_returns_exactly_the_part_that_it_names() {
    let item = full();
    let whole = serde_json::to_value(&item).unwrap();
    assert_eq!(WorkItemField::ALL.len(), 58);
    for &field in WorkItemField::ALL {
        let path = path_of(field.as_str(), &whole);
        let part = serde_json::to_value(item.clone().project(&[field])).unwrap();
        assert_eq!(part, only(&whole, &path), "{field}");
    }
}

#[test]
fn names_under_one_parent_add_up_and_all_names_leave_out_actions_and_history() {
    let item = full();
    let part = item.clone().project(&[
        F::ResourcesAssetsSelectionsTargetSystemId,
        F::ResourcesAssetsSelectionsId,
        F::ResourcesDutsFilter,
        F::TimelineDueDateTime,
    ]);
    assert_eq!(
        serde_json::to_value(&part).unwrap(),
        json!({"timeline": {"dueDateTime": "2024-01-02T00:00:00.000Z"}, "resources": {
            "assets": {"selections": [{"id": "a1", "targetSystemId": "s"}, {"id": "a2", "targetSystemId": "t"}]},
            "duts": {"filter": "fd"}}})
    );
    let all = item.clone().project(WorkItemField::ALL);
    assert_eq!(all, WorkItem { execution_actions: None, execution_history: None, ..item.clone() });
    assert_eq!(item.clone().project(&[]), item);
}

#[test]
fn parts_of_absent_objects_are_absent() {
    let item = WorkItem { name: Some("n".into()), ..WorkItem::default() };
    for &field in WorkItemField::ALL {
        if field != F::Name {
            assert_eq!(item.clone().project(&[field]), WorkItem::default(), "{field}");
        }
    }
}

#[test]
fn each_template_name_returns_exactly_the_part_that_it_names() {
    let group = json!({"filter": "f"});
    let template: WorkItemTemplate = serde_json::from_value(json!({
        "id": "1", "name": "n", "templateGroup": "g", "type": "t", "productFamilies": ["p"], "partNumbers": ["q"],
        "summary": "s", "description": "d", "testProgram": "t", "timeline": {"estimatedDurationInSeconds": 1},
        "resources": {"assets": group, "duts": group, "fixtures": group, "systems": group, "filterType": "LINQ"},
        "executionActions": [{"type": "NONE", "action": "A"}], "fileIds": ["f"], "workspace": "w",
        "properties": {"k": "v"}, "dashboard": {"id": "d"}, "workflowId": "w", "createdBy": "c",
        "createdAt": "2024-01-01T00:00:00Z", "updatedBy": "u", "updatedAt": "2024-01-01T00:00:00Z"
    }))
    .unwrap();
    let whole = serde_json::to_value(&template).unwrap();
    assert_eq!(WorkItemTemplateField::ALL.len(), 31);
    for &field in WorkItemTemplateField::ALL {
        let path = path_of(field.as_str(), &whole);
        let part = serde_json::to_value(template.clone().project(&[field])).unwrap();
        assert_eq!(part, only(&whole, &path), "{field}");
    }
    let all = template.clone().project(WorkItemTemplateField::ALL);
    assert_eq!(all, template);
    let _: BTreeMap<String, Value> = serde_json::from_value(whole).unwrap();
}
