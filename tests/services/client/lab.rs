//! Work items, test plans and their templates.

use crate::prelude::*;
use chrono::{DateTime, TimeDelta, Utc};

use super::{Client, assert_has};

#[test]
fn a_work_item_lives_as_its_client_sees_it() {
    let client = Client::new();
    let made = client.get("create_work_items", json!({"workItems": [
        {"name": "a", "type": "testplan", "state": "in-progress", "part_number": "P", "timeline": {"due_date_time": "2024-05-01T00:00:00+02:00"},
            "resources": {"systems": {"selections": [{"id": "s", "target_system_id": "dropped"}], "filter": "x = \"1\""},
                "duts": {"selections": [{"id": "d", "targetParentId": "p"}]}},
            "execution_actions": [{"type": "manual", "action": "Go"}, {"type": "NONE", "action": "Stay"}],
            "properties": {"k": "v"}, "dashboard": {"id": "d 1", "variables": {"b": "<partNumber>", "a": ""}, "url": "x"},
            "schedule": {"plannedStartDateTime": "2024-01-01T00:00:00Z"}, "id": "7", "substate": "mine"},
        {"state": "DONE", "name": "b"},
        {"templateId": "1", "properties": {}},
    ]}));
    assert_has(
        &made,
        &json!({"createdWorkItems": [{"id": "1000", "state": "IN_PROGRESS", "substate": "IN_PROGRESS", "partNumber": "P",
        "timeline": {"dueDateTime": "2024-04-30T22:00:00.000Z"}, "schedule": null, "workspace": "default",
        "resources": {"systems": {"selections": [{"id": "s"}], "filter": "x = \"1\""}, "duts": {"selections": [{"id": "d", "targetParentId": "p"}]}},
        "dashboard": {"id": "d 1", "url": "/dashboards/d/d%201?var-a=&var-b=P"}, "executionHistory": [],
        "createdBy": "ada", "updatedBy": "ada", "createdAt": "2024-03-01T00:00:00.000Z", "updatedAt": "2024-03-01T00:00:00.000Z"}],
        "failedWorkItems": [{"state": "DONE", "name": "b"}, {"templateId": "1", "properties": {}}],
        "error": {"name": "Skyline.OneOrMoreErrorsOccurred", "code": -251_041, "innerErrors": [
            {"name": "Skyline.WorkOrder.InputValidationError", "resourceType": "work item", "resourceId": "b"},
            {"name": "Skyline.WorkOrder.WorkItemTemplateNotFoundOrNoAccess", "resourceId": "2", "args": ["1"]}]}}),
    );
    client.store.clock.advance_ms(1000);
    let update = json!({"workItems": [{"id": "1000", "name": null, "timeline": {"due_date_time": null, "estimatedDurationInSeconds": 5},
        "resources": {"systems": {"selections": [{"id": "s", "targetLocationId": "l"}, {"id": "t"}]}}, "properties": {"k2": "v2"},
        "executionActions": [{"type": "NONE", "action": "Go"}], "workspace": null, "schedule": {"plannedDurationInSeconds": 1}}, {"id": "9"}, {}]});
    let updated = client.get("update_work_items", update);
    assert_has(
        &updated,
        &json!({"updatedWorkItems": [{"name": null, "timeline": {"dueDateTime": null, "estimatedDurationInSeconds": 5}, "schedule": null,
        "resources": {"systems": {"selections": [{"id": "s", "targetLocationId": "l"}, {"id": "t"}], "filter": "x = \"1\""}},
        "executionActions": [{"type": "NONE", "action": "Go"}, {"type": "NONE", "action": "Stay"}], "properties": {"k": "v", "k2": "v2"},
        "workspace": "default", "updatedAt": "2024-03-01T00:00:01.000Z"}],
        "failedWorkItems": [{"id": "9"}, {}], "error": {"innerErrors": [{"resourceId": "9"}, {"resourceId": "2"}]}}),
    );
    let scheduled = client.get(
        "schedule_work_items",
        json!({"workItems": [{"id": "1000", "schedule": {"plannedStartDateTime": "2024-03-02T00:00:00"},
        "resources": {"systems": {"selections": []}, "duts": null}}], "replace": true}),
    );
    assert_has(
        &scheduled,
        &json!({"scheduledWorkItems": [{"state": "IN_PROGRESS", "schedule": {"plannedStartDateTime": "2024-03-02T00:00:00.000"},
        "resources": {"systems": {"selections": [], "filter": "x = \"1\""}, "duts": {"selections": []}}}], "failedWorkItems": null, "error": null}),
    );
    assert_has(
        &client.get("execute_work_item", json!({"id": "1000", "action": "END"})),
        &json!({"error": null, "result": {"type": "MANUAL"}}),
    );
    let got = client.get("get_work_item", json!({"id": "1000"}));
    assert_has(
        &got,
        &json!({"state": "PENDING_APPROVAL", "executionHistory": [{"type": "MANUAL", "action": "END", "triggeredBy": "ada",
        "previousState": "IN_PROGRESS", "newState": "PENDING_APPROVAL", "triggeredAt": "2024-03-01T00:00:01.000Z"}]}),
    );
    assert_eq!(client.get("query_work_items", json!({}))["workItems"], json!([got]));
    assert_eq!(client.get("delete_work_items", json!({"ids": ["1000", "1000"]})), Value::Null);
    assert_has(
        &client.get("delete_work_items", json!({"ids": ["1000"]})),
        &json!({"deletedIds": [], "failedIds": ["1000"]}),
    );
}

#[test]
fn work_item_filters_of_clients_find_what_they_name() {
    let client = Client::new();
    client.get("create_work_items", json!({"workItems": [
        {"name": "a", "state": "NEW", "timeline": {"estimatedDurationInSeconds": 60, "earliestStartDateTime": "2024-01-01T00:00:00Z"},
            "resources": {"assets": {"selections": [{"id": "x", "targetSystemId": "s"}, {"id": "y"}], "filter": "f"}},
            "properties": {"Location": "Austin", "minionId": "m"}, "dashboard": {"id": "1234"}, "fileIdsFromTemplate": ["f1"]},
        {"name": "b", "state": "PENDING_APPROVAL", "resources": {"systems": {"selections": [{"id": "x"}]}}, "properties": {"Location": "Zug"}},
        {"name": "c", "parentId": "1000", "resources": {"assets": {"selections": []}}},
    ]}));
    for (filter, substitutions, expected) in [
        (r#"id == "1000""#, json!([]), "a"),
        (r#"id != @0"#, json!(["1000"]), "bc"),
        (r#"new[]{"1000", "1002"}.Contains(id)"#, json!([]), "ac"),
        (r#"id in ("1001", "7")"#, json!([]), "b"),
        (r#"state == "PendingApproval""#, json!([]), "b"),
        (r#"state != @0 && !(name = @1)"#, json!(["new", "z"]), "b"),
        (r#"timeline.estimatedDurationInSeconds >= "60""#, json!([]), "a"),
        (r#"timeline.EstimatedDurationInSeconds != 60"#, json!([]), "bc"),
        (r#"timeline.earliestStartDateTime < "2024-01-01T00:00:00.5+00:00""#, json!([]), "a"),
        (r#"timeline.dueDateTime == null || timeline.dueDateTime == "" "#, json!([]), "abc"),
        (r#"resources.assets.selections.id == "y""#, json!([]), "a"),
        (r#"resources.assets.selections.id != "y""#, json!([]), "bc"),
        (
            r#"resources.assets.selections.Any(s => s.id == "x" && s.targetSystemId == "s")"#,
            json!([]),
            "a",
        ),
        (r#"resources.systems.selections.Any(id == @0)"#, json!(["x"]), "b"),
        (r#"resources.assets.selections.Count > 0"#, json!([]), "a"),
        (r#"resources.assets.filter.Contains("f")"#, json!([]), "a"),
        (r#"properties.Any(key == "Location" & value == "Austin")"#, json!([]), "a"),
        (r#"properties.minionId = "m" or properties["Location"] = "Zug""#, json!([]), "ab"),
        (r#"dashboard.Id == "1234""#, json!([]), "a"),
        (r#"fileIdsFromTemplate.Contains("f1")"#, json!([]), "a"),
        (r#"parentId = "1000" and createdAt = updatedAt"#, json!([]), "c"),
        (r#"description == @0"#, json!([null]), "abc"),
    ] {
        let page = client.get(
            "query_work_items",
            json!({"filter": filter, "substitutions": substitutions, "returnCount": true}),
        );
        let found: String = page["workItems"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["name"].as_str().unwrap())
            .collect();
        assert_eq!(found, expected, "{filter}");
        assert_eq!(page["totalCount"], expected.len(), "{filter}");
    }
    for filter in [
        r#"id > "1""#,
        r#"id.Contains("1")"#,
        r#"id == "x""#,
        r#"state == "DONE""#,
        r#"executionActions = null"#,
        r#"name contains "x""#,
        r#"id in ["a","b"]"#,
        r#"name = "a" state = "NEW""#,
        r#"name = @0"#,
        r#"name"#,
        r#"name = "a"#,
    ] {
        let error = client.refusal("query_work_items", json!({"filter": filter}));
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{filter}");
        assert!(error.api_error().name.unwrap().starts_with("StationDb.Filter."), "{filter}");
    }
    assert_eq!(
        client.refusal("query_work_items", json!({"take": -1})).kind(),
        ErrorKind::InvalidArgument
    );
    assert_eq!(
        client.refusal("query_work_items", json!({"projection": ["EXECUTION_ACTIONS"]})).kind(),
        ErrorKind::InvalidArgument
    );
    let page = client.get("query_work_items", json!({"take": 0, "return_count": true}));
    assert_eq!(page, json!({"workItems": [], "totalCount": 3}));
    let page = client.get(
        "query_work_items",
        json!({"order_by": "updated_at", "descending": true, "take": 5000,
        "projection": ["ID", "RESOURCES_ASSETS_SELECTIONS_ID", "RESOURCES_SYSTEMS_FILTER", "TIMELINE_DUE_DATE_TIME"]}),
    );
    assert_has(
        &page,
        &json!({"workItems": [{"id": "1000", "name": null, "resources": {"assets": {"selections": [{"id": "x"}, {"id": "y"}], "filter": null}}},
        {"id": "1001"}, {"id": "1002"}]}),
    );
}

#[test]
fn a_record_that_is_read_equals_the_one_that_was_answered_whatever_its_times() {
    let client = Client::new();
    let exact = "2024-02-01T00:00:00Z".parse::<DateTime<Utc>>().unwrap()
        + TimeDelta::nanoseconds(1_999_999);
    let timeline = TimelineDefinition::new()
        .earliest_start_date_time(exact)
        .due_date_time(exact - TimeDelta::nanoseconds(1));
    let request = CreateWorkItemRequest::new().timeline(timeline);
    let made = client.session.create_work_items(vec![request]).unwrap();
    assert_eq!(made.error, None);
    let made = &made.created_work_items[0];
    assert_eq!(client.session.get_work_item(&"1000".into()).unwrap(), *made);
    assert_has(
        &serde_json::to_value(made).unwrap(),
        &json!({"timeline": {"earliestStartDateTime": "2024-02-01T00:00:00.001Z"}}),
    );

    client.get("create_test_plans", json!({"testPlans": [{}]}));
    let plan = ScheduleTestPlanRequest::new().id("1000").planned_start_date_time(exact);
    let answer = client.session.schedule_test_plans(ScheduleTestPlansRequest::new([plan])).unwrap();
    assert_eq!(
        answer.scheduled_test_plans,
        Some(vec![client.session.get_test_plan(&"1000".into()).unwrap()])
    );
}

#[test]
fn planned_times_are_answered_with_or_without_an_offset_as_they_were_given() {
    let client = Client::new();
    client.get("create_work_items", json!({"workItems": [{"name": "a"}, {"name": "b"}]}));
    client.get("create_test_plans", json!({"testPlans": [{"name": "a"}, {"name": "b"}]}));
    let (local, utc) = ("2024-05-01T08:00:00.250", "2024-05-01T10:00:00.250+02:00");
    let answered_utc = "2024-05-01T08:00:00.250Z";
    let schedules = json!({"workItems": [
        {"id": "1000", "schedule": {"plannedStartDateTime": local, "plannedEndDateTime": utc}},
        {"id": "1001", "schedule": {"plannedStartDateTime": utc, "plannedEndDateTime": local}}]});
    client.get("schedule_work_items", schedules);
    let plans = json!({"testPlans": [
        {"id": "1000", "plannedStartDateTime": local, "estimatedEndDateTime": utc},
        {"id": "1001", "plannedStartDateTime": utc, "estimatedEndDateTime": local}]});
    client.get("schedule_test_plans", plans);
    // A change of another member does not change the form of the times.
    client.get(
        "schedule_work_items",
        json!({"workItems": [{"id": "1000", "schedule": {"plannedDurationInSeconds": 1}}]}),
    );
    client.get("update_test_plans", json!({"testPlans": [{"id": "1000", "name": "c"}]}));
    let client = client.reopened();
    for (id, start, end) in [("1000", local, answered_utc), ("1001", answered_utc, local)] {
        let item = client.get("get_work_item", json!({"id": id}));
        assert_has(
            &item,
            &json!({"schedule": {"plannedStartDateTime": start, "plannedEndDateTime": end}}),
        );
        let plan = client.get("get_test_plan", json!({"id": id}));
        assert_has(&plan, &json!({"plannedStartDateTime": start, "estimatedEndDateTime": end}));
    }
    // Filters see both as the same time.
    for (operation, list, start, end) in [
        (
            "query_work_items",
            "workItems",
            "schedule.plannedStartDateTime",
            "schedule.plannedEndDateTime",
        ),
        ("query_test_plans", "testPlans", "plannedStartDateTime", "estimatedEndDateTime"),
    ] {
        for filter in [
            format!("{start} == \"{local}\""),
            format!("{start} == \"{utc}\" && {start} == {end}"),
            format!("{end} >= \"{answered_utc}\" && {end} < \"2024-05-01T08:00:01\""),
        ] {
            let page = client.get(operation, json!({"filter": filter}));
            assert_eq!(page[list].as_array().unwrap().len(), 2, "{filter}");
        }
    }
    // Start and end are compared as times, in whatever form they were sent.
    let refused = client.get("schedule_work_items", json!({"workItems": [
        {"id": "1000", "schedule": {"plannedStartDateTime": "2024-05-01T08:00:00", "plannedEndDateTime": "2024-05-01T09:00:00+02:00"}}]}));
    assert_eq!(refused["failedWorkItems"][0]["id"], "1000");
    // The times of a timeline are returned in UTC.
    let made = client
        .get("create_work_items", json!({"workItems": [{"timeline": {"dueDateTime": local}}]}));
    assert_has(&made, &json!({"createdWorkItems": [{"timeline": {"dueDateTime": answered_utc}}]}));
}

#[test]
fn what_could_not_be_read_again_is_refused() {
    let client = Client::new();
    let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    let with = |argument: Value| {
        let job = Job::new().functions(["f"]).arguments([[argument]]);
        let action = JobExecution::new("A").jobs([job]);
        let actions: Vec<ExecutionDefinition> = vec![action.into()];
        CreateWorkItemRequest::new().execution_actions(actions)
    };
    let answer =
        client.session.create_work_items(vec![with(nested(500)), with(nested(50))]).unwrap();
    assert_eq!(
        (answer.created_work_items.len(), answer.failed_work_items.map(|failed| failed.len())),
        (1, Some(1))
    );
    let made = &answer.created_work_items[0];
    assert_eq!(client.session.get_work_item(&made.id.as_deref().unwrap().into()).unwrap(), *made);
    assert_eq!(client.get("query_work_items", json!({}))["workItems"].as_array().unwrap().len(), 1);
    client.store.assert_sound();
}

#[test]
fn properties_need_keys_that_are_not_empty() {
    let client = Client::new();
    let answer = client.get(
        "create_work_items",
        json!({"workItems": [{"properties": {"": "v"}}, {"properties": {" ": ""}}]}),
    );
    assert_has(
        &answer,
        &json!({"createdWorkItems": [{"properties": {" ": ""}}], "failedWorkItems": [{"properties": {"": "v"}}],
        "error": {"innerErrors": [{"name": "Skyline.WorkOrder.InputValidationError"}]}}),
    );
    let plan = json!({"testPlanTemplates": [{"name": "n", "templateGroup": "g", "properties": {"": "v"}}]});
    assert_has(
        &client.get("create_test_plan_templates", plan),
        &json!({"createdTestPlanTemplates": [], "failedTestPlanTemplates": [{"name": "n"}]}),
    );
}

#[test]
fn a_test_plan_lives_as_its_client_sees_it() {
    let client = Client::new();
    let template = client.get("create_test_plan_templates", json!({"testPlanTemplates": [
        {"name": "t", "template_group": "g", "description": "d", "system_filter": "sf", "estimated_duration_in_seconds": 9, "file_ids": ["f"],
            "properties": {"a": "1", "b": "2"}, "dashboard": {"id": "x", "url": "dropped"}, "part_numbers": ["P"], "summary": "s"},
        {"name": " ", "templateGroup": "g"}, {"name": "n"}]}));
    assert_has(
        &template,
        &json!({"createdTestPlanTemplates": [{"id": "1000", "fileIds": ["f"], "dashboard": {"id": "x", "url": null}, "workspace": "default"}],
        "failedTestPlanTemplates": [{"name": " "}, {"name": "n"}],
        "error": {"innerErrors": [{"resourceType": "test plan template", "resourceId": " "}, {"resourceId": "n"}]}}),
    );
    let made = client.get(
        "create_test_plans",
        json!({"testPlans": [{"name": "p", "templateId": "1000", "properties": {"b": "3"}, "workOrderId": "4"}]}),
    );
    assert_has(
        &made,
        &json!({"createdTestPlans": [{"id": "1000", "description": "d", "systemFilter": "sf", "estimatedDurationInSeconds": 9,
        "fileIdsFromTemplate": ["f"], "properties": {"a": "1", "b": "3"}, "dashboard": {"id": "x", "url": "/dashboards/d/x"}, "fixtureIds": [],
        "partNumber": null, "workOrderName": null, "state": "NEW"}], "failedTestPlans": null, "error": null}),
    );
    let refused = client
        .get("schedule_test_plans", json!({"testPlans": [{"id": "1000", "fixtureIds": ["x"]}]}));
    assert_has(
        &refused,
        &json!({"scheduledTestPlans": [], "failedTestPlans": [{"id": "1000", "fixtureIds": ["x"]}],
        "error": {"innerErrors": [{"resourceType": "test plan", "resourceId": "1000"}]}}),
    );
    let planned = client.get(
        "schedule_test_plans",
        json!({"testPlans": [{"id": "1000", "systemId": "s", "fixtureIds": ["x", "y"],
        "plannedStartDateTime": "2024-03-02T00:00:00.000001Z", "estimatedDurationInSeconds": 10}]}),
    );
    assert_has(
        &planned,
        &json!({"scheduledTestPlans": [{"state": "SCHEDULED", "substate": "SCHEDULED", "fixtureIds": ["x", "y"], "systemId": "s",
        "plannedStartDateTime": "2024-03-02T00:00:00.000Z", "estimatedDurationInSeconds": 10}]}),
    );
    let page = client.get(
        "query_test_plans",
        json!({"filter": "fixtureIds.Contains(\"y\") && EstimatedDurationInSeconds == 10 && state = \"Scheduled\"",
        "orderBy": "UPDATE_AT", "projection": ["NAME", "WORKFLOW", "DASHBOARD_URL"], "returnCount": true}),
    );
    assert_eq!(page, json!({"testPlans": [{"id": "1000", "name": "p"}], "totalCount": 1}));
    let page = client.get(
        "query_test_plan_templates",
        json!({"filter": "partNumbers.Contains(\"P\") and templateGroup == @0", "substitutions": ["g"],
        "projection": ["NAME"], "orderBy": "TEMPLATE_GROUP", "descending": true}),
    );
    assert_eq!(page, json!({"testPlanTemplates": [{"name": "t"}]}));
    assert_eq!(client.get("query_work_items", json!({}))["workItems"], json!([]));
    assert_has(
        &client.get("delete_test_plans", json!({"ids": ["1000", "x"]})),
        &json!({"deletedTestPlanIds": ["1000"], "failedTestPlanIds": ["x"]}),
    );
}

#[test]
fn a_family_and_the_language_of_filters_are_kept_as_they_are_given() {
    let client = Client::new();
    let template = json!({"name": "t", "templateGroup": "g", "type": "t", "productFamilies": ["F"],
        "resources": {"systems": {"filter": "f"}, "filterType": "lucene"}});
    let made = client.get("create_work_item_templates", json!({"workItemTemplates": [template]}));
    let made = &made["createdWorkItemTemplates"][0];
    assert_eq!(made["resources"]["filterType"], "LUCENE");
    let made = client.get("create_work_items", json!({"workItems": [
        {"productFamily": "", "resources": {"filter_type": "LINQ"}},
        {"templateId": "1000"},
        {"templateId": "1000", "product_family": "Amplifiers", "resources": {"filterType": "LINQ"}},
        {"name": "none", "resources": {}},
    ]}));
    let client = client.reopened();
    let items = client.get("query_work_items", json!({}))["workItems"].clone();
    assert_eq!(items, made["createdWorkItems"]);
    for (at, family, language) in [
        (0, json!(""), json!("LINQ")),
        (1, json!(null), json!("LUCENE")),
        (2, json!("Amplifiers"), json!("LINQ")),
        (3, json!(null), json!(null)),
    ] {
        assert_eq!(
            (&items[at]["productFamily"], &items[at]["resources"]["filterType"]),
            (&family, &language),
            "{at}"
        );
    }
    let change = json!({"workItems": [
        {"id": "1000", "productFamily": null, "resources": {"filterType": null}},
        {"id": "1001", "productFamily": "x", "resources": {"filterType": "LINQ"}},
        {"id": "1002", "name": "kept"},
        {"id": "1003", "resources": {"filterType": "other"}},
    ]});
    let error = client.refusal("update_work_items", change.clone());
    assert!(error.message().contains("LUCENE, LINQ"), "{error}");
    let mut change = change;
    change["workItems"].as_array_mut().unwrap().truncate(3);
    client.get("update_work_items", change);
    let page = client.get(
        "query_work_items",
        json!({"projection": ["PRODUCT_FAMILY", "RESOURCES_FILTER_TYPE"], "filter": "id != \"1003\""}),
    );
    assert_eq!(
        page["workItems"],
        json!([
            {"resources": {}},
            {"productFamily": "x", "resources": {"filterType": "LINQ"}},
            {"productFamily": "Amplifiers", "resources": {"filterType": "LINQ"}},
        ])
    );
    let page = client.get(
        "query_work_items",
        json!({"filter": "productFamily == \"Amplifiers\"", "projection": ["ID"]}),
    );
    assert_eq!(page["workItems"], json!([{"id": "1002"}]));
    let page =
        client.get("query_work_item_templates", json!({"projection": ["RESOURCES_FILTER_TYPE"]}));
    assert_eq!(page["workItemTemplates"], json!([{"resources": {"filterType": "LUCENE"}}]));
    for (language, kept) in [
        (json!("LINQ"), json!({"systems": {"filter": "f"}, "filterType": "LINQ"})),
        (json!(null), json!({"systems": {"filter": "f"}})),
    ] {
        let change = json!({"id": "1000", "resources": {"filterType": language}});
        client.get("update_work_item_templates", json!({"workItemTemplates": [change]}));
        let page =
            client.get("query_work_item_templates", json!({"projection": ["ID", "RESOURCES"]}));
        assert_has(&page["workItemTemplates"][0]["resources"], &kept);
        let stored = &page["workItemTemplates"][0]["resources"]["filterType"];
        assert_eq!(*stored, language);
    }
}

#[test]
fn failed_entries_are_echoed_without_the_members_that_they_did_not_have() {
    let client = Client::new();
    let actions = json!([{"type": "JOB", "action": "A", "jobs": [{"functions": ["f"]}, {}]}, {"type": "JOB"},
        {"type": "NOTEBOOK", "action": "B"}, {"type": "MANUAL"}, {"type": "NONE"}]);
    let refused = json!({"name": "a", "executionActions": actions});
    for (operation, list, failed) in [
        ("create_work_items", "workItems", "failedWorkItems"),
        ("create_work_item_templates", "workItemTemplates", "failedWorkItemTemplates"),
        ("create_test_plans", "testPlans", "failedTestPlans"),
        ("create_test_plan_templates", "testPlanTemplates", "failedTestPlanTemplates"),
    ] {
        let answer =
            client.get(operation, json!({ list: [refused, {"templateId": "1", "name": null}] }));
        assert_eq!(answer[failed][0], refused, "{operation}");
    }
    let changed = json!({"id": "1", "executionActions": actions, "properties": {}, "name": null});
    for (operation, list, failed) in [
        ("update_work_items", "workItems", "failedWorkItems"),
        ("update_work_item_templates", "workItemTemplates", "failedWorkItemTemplates"),
        ("update_test_plans", "testPlans", "failedTestPlans"),
    ] {
        assert_eq!(
            client.get(operation, json!({ list: [changed] }))[failed],
            json!([changed]),
            "{operation}"
        );
    }
    let planned =
        json!({"id": "1", "schedule": {"plannedDurationInSeconds": 1}, "resources": {"duts": {}}});
    let answer = client.get("schedule_work_items", json!({"workItems": [planned]}));
    assert_eq!(answer["failedWorkItems"], json!([planned]));
    let planned =
        json!({"id": "1", "estimatedDurationInSeconds": 1, "fixtureIds": [], "dutId": null});
    let answer = client.get("schedule_test_plans", json!({"testPlans": [planned]}));
    assert_eq!(answer["failedTestPlans"], json!([planned]));
}

/// A runner that cannot queue jobs.
#[derive(Debug)]
struct Refuses;

impl JobRunner for Refuses {
    fn queue(&self, _: &JobRequest<'_>) -> stationdb::Result<Vec<String>, QueueFailure> {
        Err(QueueFailure {
            error: Error::invalid("no such function"),
            queued: vec!["j".to_owned()],
        })
    }

    fn cancel(&self, _: &[String]) -> stationdb::Result<()> {
        Ok(())
    }

    fn run_notebook(&self, _: &NotebookRequest<'_>) -> stationdb::Result<String> {
        Ok("run".to_owned())
    }
}

#[test]
fn every_outcome_of_an_execution_is_one_value_with_both_members_and_a_status() {
    let options =
        StoreOptions::default().seed(Some(1)).job_runner(Refuses).access_policy(LOOK_ONLY);
    let (store, session) =
        opened(options, std::sync::Arc::new(stationdb::faults::MemoryDisk::new()));
    let items = json!([{"name": "a", "executionActions": [
        {"type": "MANUAL", "action": "Go"}, {"type": "NOTEBOOK", "action": "Run", "notebookId": "n"},
        {"type": "JOB", "action": "Queue", "jobs": [{"functions": ["f"], "arguments": [[]]}], "systemId": "s"},
        {"type": "JOB", "action": "Lost", "jobs": []}]}]);
    let _ = session.create_work_items(super::read(&items).unwrap()).unwrap();
    let execute = |who: &str, id: &str, action: &str| {
        let answer = store.session(Identity::user(who)).execute_work_item(&id.into(), action);
        let answer = answer.unwrap_or_else(ExecuteWorkItemResponse::from);
        (answer.status(), serde_json::to_value(&answer).unwrap())
    };
    for (who, id, action, status, error, result) in [
        ("ada", "1000", "Go", 200, None, Some("MANUAL")),
        ("ada", "1000", "Run", 202, None, Some("NOTEBOOK")),
        ("ada", "1000", "Queue", 500, Some("StationDb.InvalidArgument"), Some("JOB")),
        ("ada", "7", "Go", 404, Some("Skyline.WorkOrder.WorkItemNotFoundOrNoAccess"), None),
        ("ada", "1000", "Unknown", 404, Some("Skyline.WorkOrder.ActionNotFound"), None),
        ("ada", "1000", "Lost", 409, Some("Skyline.WorkOrder.InvalidState"), None),
        ("ada", "1000", " ", 400, Some("Skyline.WorkOrder.InputValidationError"), None),
        ("guest", "1000", "Go", 403, Some("Skyline.InsufficientPrivileges"), None),
    ] {
        let (found, body) = execute(who, id, action);
        assert_eq!(found, status, "{action}: {body}");
        let members: Vec<&String> = body.as_object().unwrap().keys().collect();
        assert_eq!(members, ["error", "result"], "{action}");
        assert_eq!(body["error"]["name"], json!(error), "{action}");
        assert_eq!(body["result"]["type"], json!(result), "{action}");
    }
    assert_eq!(execute("ada", "1000", "Queue").1["result"]["jobIds"], json!(["j"]));
}

/// A policy: guests may read and change nothing.
const LOOK_ONLY: Rule = Rule(|who, _, action| {
    if who.user_id() == "guest" && action != Action::Read {
        Visibility::None
    } else {
        Visibility::All
    }
});
