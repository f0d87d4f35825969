//! Every request and response of the work item and test plan services, with all members: its JSON
//! is exactly the expected one, and the snake_case spelling is read as the same value.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::model::test_plans::requests::*;
use crate::model::test_plans::template::*;
use crate::model::test_plans::template_requests::*;
use crate::model::test_plans::test_plan::*;
use crate::model::work_items::requests::*;
use crate::model::work_items::template::*;
use crate::model::work_items::template_requests::*;
use crate::model::work_items::work_item::*;

/// Maps whose keys are data and not member names.
const MAPS: [&str; 4] = ["properties", "variables", "parameters", "metadata"];

fn snake(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(snake).collect(),
        Value::Object(members) => {
            let respell = |(name, value): (&String, &Value)| {
                let value =
                    if MAPS.contains(&name.as_str()) { value.clone() } else { snake(value) };
                (snake_name(name), value)
            };
            Value::Object(members.iter().map(respell).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

fn snake_name(name: &str) -> String {
    name.chars()
        .flat_map(|c| if c.is_uppercase() { vec!['_', c.to_ascii_lowercase()] } else { vec![c] })
        .collect()
}

#[track_caller]
fn exact<T: Serialize + DeserializeOwned + PartialEq + Debug>(camel: Value) {
    let value: T = serde_json::from_value(camel.clone()).unwrap();
    assert_eq!(serde_json::to_value(&value).unwrap(), camel);
    assert_eq!(serde_json::from_value::<T>(snake(&camel)).unwrap(), value);
    let mut more = camel;
    more["somethingElse"] = json!([{"deep": 1}]);
    assert_eq!(serde_json::from_value::<T>(more).unwrap(), value, "unknown members are ignored");
}

fn actions() -> Value {
    json!([
        {"type": "JOB", "action": "A", "systemId": "s",
         "jobs": [{"functions": ["f"], "arguments": [["x", 1, null]], "metadata": {"some_key": {"deepKey": 1}}}]},
        {"type": "MANUAL", "action": "B"}, {"type": "NONE", "action": "C"},
        {"type": "NOTEBOOK", "action": "D", "notebookId": "n", "parameters": {"a_b": "c"}}])
}

fn error() -> Value {
    json!({"name": "Skyline.OneOrMoreErrorsOccurred", "code": -251_041, "message": "m", "args": [], "innerErrors": [
        {"name": "n", "message": "m", "args": ["a"], "resourceType": "work item", "resourceId": "1", "innerErrors": []}]})
}

const TIME: &str = "2024-05-01T08:00:00.000Z";

fn resources() -> Value {
    let group = json!({"filter": "f", "selections": [
        {"id": "i", "targetLocationId": "l", "targetSystemId": "s", "targetParentId": "p"}]});
    json!({"assets": group, "duts": group, "fixtures": group,
        "systems": {"filter": "f", "selections": [{"id": "i", "targetLocationId": "l"}]}})
}

fn reservations() -> Value {
    let mut resources = resources();
    for group in resources.as_object_mut().unwrap().values_mut() {
        group.as_object_mut().unwrap().remove("filter");
    }
    resources
}

fn with(mut base: Value, more: Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        base[name] = value.clone();
    }
    base
}

fn item() -> Value {
    json!({"name": "n", "state": "NEW", "description": "d", "parentId": "p", "assignedTo": "a", "requestedBy": "r",
        "testProgram": "t", "partNumber": "pn", "workspace": "w",
        "timeline": {"earliestStartDateTime": TIME, "dueDateTime": TIME, "estimatedDurationInSeconds": 1},
        "resources": resources(), "executionActions": actions(), "fileIdsFromTemplate": ["f"],
        "properties": {"some_key": "v"}, "dashboard": {"id": "d", "variables": {"some_key": "v"}}})
}

fn stamps() -> Value {
    json!({"id": "1000", "createdBy": "c", "createdAt": TIME, "updatedBy": "u", "updatedAt": TIME})
}

fn history() -> Value {
    json!([{"type": "JOB", "action": "A", "triggeredAt": TIME, "triggeredBy": "u", "previousState": "NEW",
        "previousSubstate": "NEW", "newState": "NEW", "newSubstate": "NEW", "error": error(), "jobIds": ["j"]}])
}

fn item_record() -> Value {
    let more = json!({"type": "t", "templateId": "1", "workflowId": "f", "substate": "NEW", "executionHistory": history(),
        "schedule": {"plannedStartDateTime": TIME, "plannedEndDateTime": TIME, "plannedDurationInSeconds": 2},
        "dashboard": {"id": "d", "variables": {"k": "v"}, "url": "u"}});
    with(with(item(), more), stamps())
}

fn item_template() -> Value {
    let group = json!({"filter": "f"});
    json!({"name": "n", "templateGroup": "g", "productFamilies": ["f"], "partNumbers": ["p"], "summary": "s",
        "description": "d", "testProgram": "t", "timeline": {"estimatedDurationInSeconds": 1},
        "resources": {"assets": group, "duts": group, "fixtures": group, "systems": group},
        "executionActions": actions(), "fileIds": ["f"], "workspace": "w", "properties": {"k": "v"},
        "dashboard": {"id": "d", "variables": {"k": "v"}}, "workflowId": "f"})
}

fn query(order: &str, projection: &str) -> Value {
    json!({"filter": "f", "substitutions": [true, 1, "s", null], "take": 5, "continuationToken": "t", "orderBy": order,
        "descending": true, "projection": [projection]})
}

#[test]
fn work_items() {
    let create = with(item(), json!({"type": "t", "templateId": "1", "workflowId": "f"}));
    exact::<CreateWorkItemsRequest>(json!({"workItems": [create, {}]}));
    exact::<CreateWorkItemsPartialSuccessResponse>(
        json!({"createdWorkItems": [item_record()], "failedWorkItems": [create], "error": error()}),
    );
    let update = with(item(), json!({"id": "1000"}));
    exact::<UpdateWorkItemsRequest>(json!({"workItems": [update], "replace": true}));
    exact::<UpdateWorkItemsPartialSuccessResponse>(
        json!({"updatedWorkItems": [item_record()], "failedWorkItems": [update], "error": error()}),
    );
    let schedule = json!({"id": "1000", "assignedTo": "a", "resources": reservations(),
        "schedule": {"plannedStartDateTime": TIME, "plannedEndDateTime": TIME, "plannedDurationInSeconds": 2}});
    exact::<ScheduleWorkItemsRequest>(json!({"workItems": [schedule], "replace": false}));
    exact::<ScheduleWorkItemsPartialSuccessResponse>(
        json!({"scheduledWorkItems": [item_record()], "failedWorkItems": [schedule], "error": error()}),
    );
    exact::<DeleteWorkItemsRequest>(json!({"ids": ["1"]}));
    exact::<DeleteWorkItemsPartialSuccessResponse>(
        json!({"deletedIds": ["1"], "failedIds": ["2"], "error": error()}),
    );
    exact::<QueryWorkItemsRequest>(with(
        query("UPDATED_AT", "RESOURCES_DUTS_FILTER"),
        json!({"returnCount": true}),
    ));
    exact::<PagedWorkItems>(
        json!({"workItems": [item_record()], "continuationToken": "t", "totalCount": 9}),
    );
}

#[test]
fn bodies_without_a_required_member_are_refused_by_its_name() {
    fn missing<T: DeserializeOwned + Debug>(member: &str) {
        for body in [json!({"replace": true}), json!({ member: null })] {
            let error = crate::from_json::<T>(body.to_string().as_bytes()).unwrap_err();
            assert_eq!(error.place(), Some(&crate::Place::Member(member.to_owned())), "{body}");
        }
        assert!(
            crate::from_json::<T>(json!({ snake_name(member): [] }).to_string().as_bytes()).is_ok(),
            "{member}"
        );
    }
    missing::<UpdateWorkItemsRequest>("workItems");
    missing::<ScheduleWorkItemsRequest>("workItems");
    missing::<UpdateWorkItemTemplatesRequest>("workItemTemplates");
    missing::<DeleteWorkItemTemplatesRequest>("ids");
    missing::<UpdateTestPlansRequest>("testPlans");
    missing::<ScheduleTestPlansRequest>("testPlans");
    assert!(crate::from_json::<crate::bodies::ExecuteWorkItemRequest>(b"{}").is_err());
}

#[test]
fn every_member_of_an_update_keeps_absent_and_null_apart() {
    fn nulls<T: Serialize + DeserializeOwned + Default + PartialEq + Debug>(full: &Value) {
        for name in full.as_object().unwrap().keys() {
            let request = json!({ name: null });
            let value: T = serde_json::from_value(request.clone()).unwrap();
            let kept = serde_json::to_value(&value).unwrap();
            match name.as_str() {
                // Null and absent mean the same for these: no id, and the present workspace.
                "id" | "workspace" => assert_eq!(value, T::default()),
                _ => assert_eq!(kept, request, "{name}"),
            }
        }
        assert_eq!(serde_json::to_value(T::default()).unwrap(), json!({}));
    }
    nulls::<UpdateWorkItemRequest>(&with(item(), json!({"id": "1"})));
    nulls::<ScheduleWorkItemRequest>(
        &json!({"id": "1", "assignedTo": "a", "schedule": {}, "resources": {}}),
    );
    nulls::<UpdateWorkItemTemplateRequest>(&with(item_template(), json!({"id": "1"})));
    nulls::<UpdateTestPlanRequest>(&with(plan(), json!({"id": "1"})));
    nulls::<ScheduleTestPlanRequest>(&schedule_plan());
    let deep = json!({"id": "1", "timeline": {"dueDateTime": null}, "dashboard": {"id": null},
        "resources": {"duts": null, "systems": {"selections": null, "filter": null}}});
    exact::<UpdateWorkItemRequest>(deep);
    let deep = json!({"id": "1", "schedule": {"plannedEndDateTime": null}, "resources": {"systems": {"selections": null}}});
    exact::<ScheduleWorkItemRequest>(deep);
}

#[test]
fn work_item_templates() {
    let create = with(item_template(), json!({"type": "t"}));
    let record = with(create.clone(), stamps());
    exact::<CreateWorkItemTemplatesRequest>(json!({"workItemTemplates": [create]}));
    exact::<CreateWorkItemTemplatesPartialSuccessResponse>(
        json!({"createdWorkItemTemplates": [record], "failedWorkItemTemplates": [create], "error": error()}),
    );
    let update = with(item_template(), json!({"id": "1000"}));
    exact::<UpdateWorkItemTemplatesRequest>(
        json!({"workItemTemplates": [update], "replace": true}),
    );
    exact::<UpdateWorkItemTemplatesPartialSuccessResponse>(
        json!({"updatedWorkItemTemplates": [record], "failedWorkItemTemplates": [update], "error": error()}),
    );
    exact::<DeleteWorkItemTemplatesRequest>(json!({"ids": ["1"]}));
    exact::<DeleteWorkItemTemplatesPartialSuccessResponse>(
        json!({"deletedIds": ["1"], "failedIds": ["2"], "error": error()}),
    );
    let other: DeleteWorkItemTemplatesPartialSuccessResponse = serde_json::from_value(
        json!({"deletedWorkItemTemplateIds": ["1"], "failed_work_item_template_ids": ["2"]}),
    )
    .unwrap();
    assert_eq!(
        serde_json::to_value(&other).unwrap(),
        json!({"deletedIds": ["1"], "failedIds": ["2"]})
    );
    exact::<QueryWorkItemTemplatesRequest>(query(
        "TEMPLATE_GROUP",
        "TIMELINE_ESTIMATED_DURATION_IN_SECONDS",
    ));
    exact::<PagedWorkItemTemplates>(
        json!({"workItemTemplates": [record], "continuationToken": "t"}),
    );
}

fn plan() -> Value {
    json!({"name": "n", "state": "NEW", "description": "d", "assignedTo": "a", "partNumber": "pn", "dutId": "u",
        "dutSerialNumber": "sn", "testProgram": "t", "workOrderId": "7", "estimatedDurationInSeconds": 1,
        "systemFilter": "sf", "dutFilter": "df", "executionActions": actions(), "fileIdsFromTemplate": ["f"],
        "workspace": "w", "properties": {"some_key": "v"}, "dashboard": {"id": "d", "variables": {"some_key": "v"}}})
}

fn schedule_plan() -> Value {
    json!({"id": "1000", "assignedTo": "a", "dutId": "u", "dutSerialNumber": "sn", "systemId": "s", "fixtureIds": ["f"],
        "plannedStartDateTime": TIME, "estimatedEndDateTime": TIME, "estimatedDurationInSeconds": 2})
}

#[test]
fn test_plans() {
    let create = with(plan(), json!({"templateId": "1", "workflowId": "f"}));
    let event = json!({"type": "NOTEBOOK", "action": "A", "triggeredAt": TIME, "triggeredBy": "u", "executionId": "e"});
    let more = json!({"substate": "NEW", "workOrderName": "o", "executionHistory": [event], "dashboardUrl": {"k": "v"}});
    let record = with(with(with(create.clone(), more), schedule_plan()), stamps());
    exact::<CreateTestPlansRequest>(json!({"testPlans": [create]}));
    exact::<CreateTestPlansPartialSuccessResponse>(
        json!({"createdTestPlans": [record], "failedTestPlans": [create], "error": error()}),
    );
    let update = with(plan(), json!({"id": "1000"}));
    exact::<UpdateTestPlansRequest>(json!({"testPlans": [update], "replace": true}));
    exact::<UpdateTestPlansResponse>(
        json!({"updatedTestPlans": [record], "failedTestPlans": [update], "error": error()}),
    );
    exact::<ScheduleTestPlansRequest>(json!({"testPlans": [schedule_plan()], "replace": false}));
    exact::<ScheduleTestPlansResponse>(
        json!({"scheduledTestPlans": [record], "failedTestPlans": [schedule_plan()], "error": error()}),
    );
    exact::<DeleteTestPlansRequest>(json!({"ids": ["1"]}));
    exact::<DeleteTestPlansPartialSuccessResponse>(
        json!({"deletedTestPlanIds": ["1"], "failedTestPlanIds": ["2"], "error": error()}),
    );
    exact::<QueryTestPlansRequest>(with(
        query("UPDATED_AT", "DUT_SERIAL_NUMBER"),
        json!({"returnCount": true}),
    ));
    exact::<PagedTestPlans>(
        json!({"testPlans": [record], "continuationToken": "t", "totalCount": 9}),
    );
    for &field in TestPlanField::ALL {
        let plan: crate::model::test_plans::test_plan::TestPlan =
            serde_json::from_value(record.clone()).unwrap();
        let part = serde_json::to_value(plan.clone().project(&[field])).unwrap();
        let mut expected = json!({"id": "1000"});
        let name = crate::value::wire::camel_case(&field.as_str().to_lowercase());
        if field != TestPlanField::Workflow {
            expected[&name] = record[&name].clone();
        }
        assert_eq!(part, expected, "{field}");
    }
}

#[test]
fn test_plan_templates() {
    let create = json!({"name": "n", "templateGroup": "g", "productFamilies": ["f"], "partNumbers": ["p"], "summary": "s",
        "description": "d", "testProgram": "t", "estimatedDurationInSeconds": 1, "systemFilter": "sf", "dutFilter": "df",
        "executionActions": actions(), "fileIds": ["f"], "workspace": "w", "properties": {"k": "v"},
        "dashboard": {"id": "d", "variables": {"k": "v"}}, "workflowId": "f"});
    let record = with(create.clone(), stamps());
    exact::<CreateTestPlanTemplatesRequest>(json!({"testPlanTemplates": [create]}));
    exact::<CreateTestPlanTemplatePartialSuccessResponse>(
        json!({"createdTestPlanTemplates": [record], "failedTestPlanTemplates": [create], "error": error()}),
    );
    exact::<DeleteTestPlanTemplatesRequest>(json!({"ids": ["1"]}));
    exact::<DeleteTestPlanTemplatesPartialSuccessResponse>(
        json!({"deletedTestPlanTemplateIds": ["1"], "failedTestPlanTemplateIds": ["2"], "error": error()}),
    );
    exact::<QueryTestPlanTemplatesRequest>(query("CREATED_AT", "ESTIMATED_DURATION_IN_SECONDS"));
    exact::<PagedTestPlanTemplates>(
        json!({"testPlanTemplates": [record], "continuationToken": "t"}),
    );
    assert_eq!(TestPlanTemplateField::ALL.len(), 20);
    for &field in TestPlanTemplateField::ALL {
        let template: crate::model::test_plans::template::TestPlanTemplate =
            serde_json::from_value(record.clone()).unwrap();
        let part = serde_json::to_value(template.clone().project(&[field])).unwrap();
        let name = crate::value::wire::camel_case(&field.as_str().to_lowercase());
        assert_eq!(part, json!({ &name: record[&name] }), "{field}");
    }
}
