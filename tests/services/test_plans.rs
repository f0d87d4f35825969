use crate::prelude::*;

fn session() -> Session {
    let clock = ManualClock::new("2024-05-01T08:00:00Z".parse().unwrap());
    let store = StoreOptions::default()
        .clock(clock)
        .maintenance_thread(false)
        .open_disk(Arc::new(MemoryDisk::new()));
    store.unwrap().session(Identity::user("ada"))
}

fn made(id: &str, more: &Value) -> Value {
    let mut plan = json!({
        "id": id, "state": "NEW", "substate": "NEW", "workspace": "default", "fixtureIds": [], "executionActions": [], "fileIdsFromTemplate": [], "properties": {},
        "executionHistory": [],
        "createdBy": "ada", "createdAt": "2024-05-01T08:00:00.000Z",
        "updatedBy": "ada", "updatedAt": "2024-05-01T08:00:00.000Z"
    });
    for (name, value) in more.as_object().unwrap() {
        plan[name] = value.clone();
    }
    plan
}

#[test]
fn create_reads_both_spellings_and_writes_camel_case() {
    let session = session();
    let camel = json!({
        "name": "n", "state": "Reviewed", "description": "d", "assignedTo": "a", "partNumber": "p", "dutId": "u",
        "dutSerialNumber": "sn", "testProgram": "t", "workOrderId": "7", "estimatedDurationInSeconds": 60,
        "systemFilter": "sf", "dutFilter": "df", "executionActions": [{"type": "NONE", "action": "A"}],
        "fileIdsFromTemplate": ["f"], "workspace": "w", "properties": {"a_b": "c"},
        "dashboard": {"id": "d", "variables": {"k": "<dutSerialNumber>"}}, "workflowId": "wf"
    });
    let snake = json!({
        "name": "n", "state": "REVIEWED", "description": "d", "assigned_to": "a", "part_number": "p", "dut_id": "u",
        "dut_serial_number": "sn", "test_program": "t", "work_order_id": "7", "estimated_duration_in_seconds": 60,
        "system_filter": "sf", "dut_filter": "df", "execution_actions": [{"type": "NONE", "action": "A"}],
        "file_ids_from_template": ["f"], "workspace": "w", "properties": {"a_b": "c"},
        "dashboard": {"id": "d", "variables": {"k": "<dutSerialNumber>"}}, "workflow_id": "wf"
    });
    let mut expected = camel.clone();
    expected["state"] = json!("REVIEWED");
    expected["substate"] = json!("REVIEWED");
    expected["dashboard"]["url"] = json!("/dashboards/d/d?var-k=sn");
    let response = session.create_test_plans(vec![read(&camel), read(&snake)]).unwrap();
    assert_eq!(
        write(&response),
        json!({"createdTestPlans": [made("1000", &expected), made("1001", &expected)]})
    );
    assert_eq!(write(&session.get_test_plan(&"1001".into()).unwrap()), made("1001", &expected));
    assert_eq!(session.get_test_plan(&"1".into()).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(
        session.get_work_item(&"1000".into()).unwrap_err().kind(),
        ErrorKind::NotFound,
        "a plan is no work item"
    );
}

#[test]
fn refused_plans_are_named_as_test_plans() {
    let session = session();
    let requests = json!([{"name": "a", "templateId": "5"}, {"estimatedDurationInSeconds": -1}, {"name": "b", "state": "x"}]);
    let response = write(&session.create_test_plans(read(&requests)).unwrap());
    assert_eq!(
        (&response["createdTestPlans"], &response["failedTestPlans"]),
        (&json!([]), &requests)
    );
    let inner = response["error"]["innerErrors"].as_array().unwrap();
    let seen: Vec<_> =
        inner.iter().map(|inner| (&inner["resourceType"], &inner["resourceId"])).collect();
    assert!(seen.iter().all(|(kind, _)| **kind == "test plan"));
    assert_eq!(seen.iter().map(|(_, id)| *id).collect::<Vec<_>>(), ["a", "1", "b"]);
    assert_eq!(inner[0]["name"], "Skyline.WorkOrder.TestPlanTemplateNotFoundOrNoAccess");
    assert_eq!(response["error"]["code"], -251_041);
}

#[test]
fn templates_are_made_queried_copied_and_deleted() {
    let session = session();
    let requests = json!([
        {"name": "b", "templateGroup": "g", "productFamilies": ["f"], "partNumbers": ["p"], "summary": "s", "description": "d",
         "testProgram": "t", "estimatedDurationInSeconds": 5, "systemFilter": "sf", "dutFilter": "df",
         "executionActions": [{"type": "MANUAL", "action": "A"}], "fileIds": ["1"], "workspace": "w",
         "properties": {"a": "1", "b": "2"}, "dashboard": {"id": "d"}, "workflowId": "wf"},
        {"name": "", "templateGroup": "g"}, {"name": "c"},
        {"name": "a", "templateGroup": "g"}
    ]);
    let response = write(&session.create_test_plan_templates(read(&requests)).unwrap());
    assert_eq!(
        response["failedTestPlanTemplates"].as_array().unwrap().as_slice(),
        &requests.as_array().unwrap()[1..3]
    );
    assert_eq!(response["error"]["innerErrors"][1]["resourceType"], "test plan template");
    assert_eq!(response["error"]["innerErrors"][1]["resourceId"], "c");
    let plan = session
        .create_test_plans(vec![read(
            &json!({"templateId": "1000", "properties": {"b": "9"}, "testProgram": "own"}),
        )])
        .unwrap();
    let expected = json!({
        "templateId": "1000", "description": "d", "testProgram": "own", "estimatedDurationInSeconds": 5, "systemFilter": "sf",
        "dutFilter": "df", "executionActions": [{"type": "MANUAL", "action": "A"}], "fileIdsFromTemplate": ["1"],
        "properties": {"a": "1", "b": "9"}, "dashboard": {"id": "d", "variables": {}, "url": "/dashboards/d/d"}, "workflowId": "wf"
    });
    assert_eq!(write(&plan.created_test_plans[0]), made("1000", &expected));

    let query = |request: Value| write(&session.query_test_plan_templates(read(&request)).unwrap());
    assert_eq!(
        query(json!({"orderBy": "NAME", "projection": ["NAME"]})),
        json!({"testPlanTemplates": [{"name": "a"}, {"name": "b"}]})
    );
    for order in ["ID", "NAME", "TEMPLATE_GROUP", "CREATED_AT", "UPDATED_AT"] {
        assert_eq!(
            query(json!({"orderBy": order, "take": 1}))["testPlanTemplates"]
                .as_array()
                .unwrap()
                .len(),
            1
        );
    }
    let filter = r#"partNumbers.Contains("p") and fileIds.Contains("1") and systemFilter = "sf" and properties.Any(key == "a" & value == "1")"#;
    assert_eq!(
        query(json!({"filter": filter, "projection": ["ID"]})),
        json!({"testPlanTemplates": [{"id": "1000"}]})
    );

    let response =
        session.delete_test_plan_templates(vec!["1000".into(), "7".into()]).unwrap().unwrap();
    let response = write(&response);
    assert_eq!(response["deletedTestPlanTemplateIds"], json!(["1000"]));
    assert_eq!(response["failedTestPlanTemplateIds"], json!(["7"]));
    assert_eq!(session.delete_test_plan_templates(vec!["1001".into()]).unwrap(), None);
    assert_eq!(session.get_test_plan(&"1000".into()).unwrap().template_id.as_deref(), Some("1000"));
}

#[test]
fn update_merges_replaces_and_clears() {
    let session = session();
    let start = json!({"name": "n", "description": "d", "fileIdsFromTemplate": ["f"], "properties": {"a": "1"}, "dutId": "u"});
    let _ = session.create_test_plans(vec![read(&start)]).unwrap();
    let change = json!({"id": "1000", "description": null, "state": "in_progress", "fileIdsFromTemplate": ["f", "g"],
        "properties": {"b": "2"}, "dutSerialNumber": "sn", "estimatedDurationInSeconds": 9, "workspace": null});
    let response =
        session.update_test_plans(read(&json!({"testPlans": [change, {"id": "3"}]}))).unwrap();
    let response = write(&response);
    let expected = json!({"name": "n", "dutId": "u", "state": "IN_PROGRESS", "substate": "IN_PROGRESS",
        "fileIdsFromTemplate": ["f", "g"], "properties": {"a": "1", "b": "2"}, "dutSerialNumber": "sn",
        "estimatedDurationInSeconds": 9});
    assert_eq!(response["updatedTestPlans"], json!([made("1000", &expected)]));
    assert_eq!(response["failedTestPlans"], json!([{"id": "3"}]));
    let response = session
        .update_test_plans(read(
            &json!({"replace": true, "testPlans": [{"id": "1000", "properties": {"c": "3"}}]}),
        ))
        .unwrap();
    assert_eq!(write(&response)["updatedTestPlans"][0]["properties"], json!({"c": "3"}));
}

#[test]
fn scheduling_reserves_system_and_fixtures() {
    let session = session();
    let _ = session
        .create_test_plans(vec![read(&json!({"name": "n"})), read(&json!({"state": "CLOSED"}))])
        .unwrap();
    let schedule = |request: Value| write(&session.schedule_test_plans(read(&request)).unwrap());
    let refused = json!([
        {"id": "1000", "fixtureIds": ["f1"]},
        {"id": "1001", "systemId": "s"},
        {"id": "1000", "plannedStartDateTime": "2024-06-02T00:00:00.000Z", "estimatedEndDateTime": "2024-06-01T00:00:00.000Z"},
        {"id": "1000", "estimatedDurationInSeconds": -1}
    ]);
    let response = schedule(json!({"testPlans": refused}));
    assert_eq!(
        (&response["failedTestPlans"], &response["scheduledTestPlans"]),
        (&refused, &json!([]))
    );
    let response = schedule(
        json!({"test_plans": [{"id": "1000", "system_id": "s", "fixture_ids": ["f1"], "assigned_to": "bob",
        "dut_id": "u", "planned_start_date_time": "2024-06-01T00:00:00Z", "estimated_duration_in_seconds": 7}]}),
    );
    let expected = json!({"name": "n", "systemId": "s", "fixtureIds": ["f1"], "assignedTo": "bob", "dutId": "u",
        "plannedStartDateTime": "2024-06-01T00:00:00.000Z", "estimatedDurationInSeconds": 7, "state": "SCHEDULED",
        "substate": "SCHEDULED"});
    assert_eq!(response, json!({"scheduledTestPlans": [made("1000", &expected)]}));
    let response = schedule(json!({"testPlans": [{"id": "1000", "fixtureIds": ["f1", "f2"]}]}));
    assert_eq!(response["scheduledTestPlans"][0]["fixtureIds"], json!(["f1", "f2"]));
    let response =
        schedule(json!({"replace": true, "testPlans": [{"id": "1000", "fixtureIds": ["f3"]}]}));
    assert_eq!(response["scheduledTestPlans"][0]["fixtureIds"], json!(["f3"]));
}

#[test]
fn queries_filter_order_count_and_project() {
    let session = session();
    let plan = json!({"name": "n", "state": "PendingApproval", "dutSerialNumber": "sn", "workOrderId": "3", "dutFilter": "df",
        "estimatedDurationInSeconds": 5, "properties": {"k": "v"}, "dashboard": {"id": "1234"}, "executionActions": []});
    let _ = session.create_test_plans(vec![read(&plan), read(&json!({"name": "other"}))]).unwrap();
    let query = |request: Value| write(&session.query_test_plans(read(&request)).unwrap());
    for filter in [
        r#"id = "1000""#,
        r#"state = "PendingApproval" and substate = "PENDING_APPROVAL""#,
        r#"dutSerialNumber = "sn" and workOrderId = "3" and dutFilter = "df""#,
        "EstimatedDurationInSeconds = 5",
        r#"properties.Any(key == "k" & value == "v")"#,
        r#"dashboard.Id == "1234""#,
    ] {
        let page = query(json!({"filter": filter, "projection": ["NAME"], "returnCount": true}));
        assert_eq!(
            page,
            json!({"testPlans": [{"id": "1000", "name": "n"}], "totalCount": 1}),
            "{filter}"
        );
    }
    assert_eq!(query(json!({"filter": r#"workOrderName = "x""#}))["testPlans"], json!([]));
    assert_eq!(
        query(json!({"orderBy": "UPDATE_AT", "descending": true, "take": 1}))["testPlans"][0]["id"],
        "1000"
    );
    assert_eq!(query(json!({"orderBy": "UPDATED_AT", "take": 1}))["testPlans"][0]["id"], "1000");
    assert_eq!(
        query(json!({"filter": r#"id = "1000""#, "projection": ["WORKFLOW", "DASHBOARD_URL"]}))["testPlans"],
        json!([{"id": "1000"}])
    );
    let error =
        serde_json::from_value::<QueryTestPlansRequest>(json!({"orderBy": "NAME"})).unwrap_err();
    assert!(error.to_string().contains("orderBy"), "{error}");
}

#[test]
fn delete_answers_nothing_when_all_went() {
    let session = session();
    let _ = session.create_test_plans(vec![read(&json!({})), read(&json!({}))]).unwrap();
    assert_eq!(session.delete_test_plans(vec!["1000".into()]).unwrap(), None);
    let response =
        write(&session.delete_test_plans(vec!["1000".into(), "1001".into()]).unwrap().unwrap());
    assert_eq!(response["deletedTestPlanIds"], json!(["1001"]));
    assert_eq!(response["failedTestPlanIds"], json!(["1000"]));
    assert_eq!(
        response["error"]["innerErrors"][0]["name"],
        "Skyline.WorkOrder.TestPlanNotFoundOrNoAccess"
    );
}
