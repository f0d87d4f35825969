use crate::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A clock that tests can advance.
fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new("2024-05-01T08:00:00Z".parse().unwrap()))
}

struct Bench {
    disk: Arc<MemoryDisk>,
    clock: Arc<ManualClock>,
    store: Store,
    session: Session,
}

fn options(clock: &Arc<ManualClock>, runner: Arc<dyn JobRunner>) -> StoreOptions {
    let clock: Arc<dyn Clock> = clock.clone();
    StoreOptions::default().shared_clock(clock).shared_job_runner(runner).maintenance_thread(false)
}

impl Bench {
    fn new() -> Self {
        Self::with_runner(Arc::new(FreshIdRunner))
    }

    fn with_runner(runner: Arc<dyn JobRunner>) -> Self {
        let (disk, clock) = (Arc::new(MemoryDisk::new()), clock());
        let (store, session) = opened(options(&clock, runner), disk.clone());
        Self { disk, clock, store, session }
    }

    fn reopen(self) -> Self {
        let Self { disk, clock, store, session } = self;
        drop((session, store));
        let (store, session) = opened(options(&clock, Arc::new(FreshIdRunner)), disk.clone());
        Self { disk, clock, store, session }
    }

    fn create(&self, request: Value) -> WorkItem {
        let response = self.session.create_work_items(vec![read(&request)]).unwrap();
        assert_eq!(response.error, None);
        response.created_work_items.into_iter().next().unwrap()
    }

    fn template(&self, request: Value) -> WorkItemTemplate {
        let response = self.session.create_work_item_templates(vec![read(&request)]).unwrap();
        assert_eq!(response.error, None);
        response.created_work_item_templates.into_iter().next().unwrap()
    }

    fn update(&self, request: Value) -> UpdateWorkItemsPartialSuccessResponse {
        self.session.update_work_items(read(&request)).unwrap()
    }

    fn schedule(&self, request: Value) -> ScheduleWorkItemsPartialSuccessResponse {
        self.session.schedule_work_items(read(&request)).unwrap()
    }

    fn query(&self, request: Value) -> Value {
        write(&self.session.query_work_items(read(&request)).unwrap())
    }

    fn get(&self, id: &str) -> Value {
        write(&self.session.get_work_item(&id.into()).unwrap())
    }
}

/// The members of every work item that these tests create.
fn made(id: &str, more: Value) -> Value {
    let mut item = json!({
        "id": id, "state": "NEW", "substate": "NEW", "workspace": "default",
        "createdBy": "ada", "createdAt": "2024-05-01T08:00:00.000Z",
        "updatedBy": "ada", "updatedAt": "2024-05-01T08:00:00.000Z", "executionActions": [], "fileIdsFromTemplate": [], "properties": {},
        "executionHistory": []
    });
    for (name, value) in more.as_object().unwrap() {
        item[name] = value.clone();
    }
    item
}

#[test]
fn create_answers_with_the_stored_record_in_camel_case_whatever_the_spelling() {
    let bench = Bench::new();
    let camel = json!({
        "name": "n", "type": "testplan", "state": "in progress", "description": "d", "parentId": "p", "assignedTo": "a",
        "requestedBy": "r", "testProgram": "t", "partNumber": "pn", "workspace": "w", "workflowId": "f",
        "timeline": {"earliestStartDateTime": "2024-01-01T00:00:00", "dueDateTime": "2024-01-02T00:00:00+01:00",
            "estimatedDurationInSeconds": 60},
        "resources": {
            "assets": {"selections": [{"id": "a1", "targetLocationId": "l", "targetSystemId": "s", "targetParentId": "q"}],
                "filter": "fa"},
            "systems": {"selections": [{"id": "s1", "targetLocationId": "l"}], "filter": "fs"}},
        "executionActions": [
            {"type": "JOB", "action": "START", "jobs": [{"functions": ["f"], "arguments": [[1]], "metadata": {"queued": true}}],
                "systemId": "s"},
            {"type": "NOTEBOOK", "action": "ANALYZE", "notebookId": "nb", "parameters": {"k": "v"}}],
        "fileIdsFromTemplate": ["f1"], "properties": {"some_key": "v"},
        "dashboard": {"id": "d", "variables": {"product": "<partNumber>"}}
    });
    let snake = json!({
        "name": "n", "type": "testplan", "state": "IN_PROGRESS", "description": "d", "parent_id": "p", "assigned_to": "a",
        "requested_by": "r", "test_program": "t", "part_number": "pn", "workspace": "w", "workflow_id": "f",
        "timeline": {"earliest_start_date_time": "2024-01-01T00:00:00Z", "due_date_time": "2024-01-01T23:00:00.000Z",
            "estimated_duration_in_seconds": 60},
        "resources": {
            "assets": {"selections": [{"id": "a1", "target_location_id": "l", "target_system_id": "s",
                "target_parent_id": "q"}], "filter": "fa"},
            "systems": {"selections": [{"id": "s1", "target_location_id": "l"}], "filter": "fs"}},
        "execution_actions": [
            {"type": "JOB", "action": "START", "jobs": [{"functions": ["f"], "arguments": [[1]], "metadata": {"queued": true}}],
                "system_id": "s"},
            {"type": "NOTEBOOK", "action": "ANALYZE", "notebook_id": "nb", "parameters": {"k": "v"}}],
        "file_ids_from_template": ["f1"], "properties": {"some_key": "v"},
        "dashboard": {"id": "d", "variables": {"product": "<partNumber>"}}
    });
    let mut expected = camel.clone();
    expected["state"] = json!("IN_PROGRESS");
    expected["substate"] = json!("IN_PROGRESS");
    expected["timeline"]["earliestStartDateTime"] = json!("2024-01-01T00:00:00.000Z");
    expected["timeline"]["dueDateTime"] = json!("2024-01-01T23:00:00.000Z");
    expected["dashboard"]["url"] = json!("/dashboards/d/d?var-product=pn");
    for (position, request) in [camel, snake].into_iter().enumerate() {
        let id = (1000 + position).to_string();
        assert_eq!(write(&bench.create(request)), made(&id, expected.clone()));
        assert_eq!(bench.get(&id), made(&id, expected.clone()));
    }
    let bench = bench.reopen();
    assert_eq!(bench.get("1000"), made("1000", expected));
    assert_eq!(write(&bench.create(json!({}))), made("1002", json!({})), "no field is required");
}

#[test]
fn refused_creates_come_back_as_they_came_with_one_inner_error_each_in_order() {
    let bench = Bench::new();
    let requests = json!([
        {"name": "good"},
        {"name": "bad state", "state": "DONE"},
        {"name": "bad template", "templateId": "77"},
        {"timeline": {"estimatedDurationInSeconds": -1}},
        {"name": "due", "timeline": {"earliestStartDateTime": "2024-01-02T00:00:00.000Z", "dueDateTime": "2024-01-01T00:00:00.000Z"}},
        {"name": "twice", "executionActions": [{"type": "MANUAL", "action": "A"}, {"type": "NONE", "action": "A"}]},
        {"name": "blank", "executionActions": [{"type": "MANUAL", "action": " "}]},
        {"name": "also good"}
    ]);
    let response = write(&bench.session.create_work_items(read(&requests)).unwrap());
    assert_eq!(response["createdWorkItems"].as_array().unwrap().len(), 2);
    assert_eq!(response["createdWorkItems"][1]["id"], "1001", "refused requests use up no id");
    assert_eq!(
        response["failedWorkItems"].as_array().unwrap().as_slice(),
        &requests.as_array().unwrap()[1..7]
    );
    let error = &response["error"];
    assert_eq!(
        (&error["name"], &error["code"]),
        (&json!("Skyline.OneOrMoreErrorsOccurred"), &json!(-251_041))
    );
    let inner: Vec<(&str, &str, &str)> = error["innerErrors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|inner| {
            let text = |name: &str| inner[name].as_str().unwrap();
            (text("resourceType"), text("resourceId"), text("name"))
        })
        .collect();
    let invalid = "Skyline.WorkOrder.InputValidationError";
    assert_eq!(
        inner,
        [
            ("work item", "bad state", invalid),
            ("work item", "bad template", "Skyline.WorkOrder.WorkItemTemplateNotFoundOrNoAccess"),
            ("work item", "3", invalid),
            ("work item", "due", invalid),
            ("work item", "twice", invalid),
            ("work item", "blank", invalid),
        ]
    );
    let nothing = bench.session.create_work_items(vec![]).unwrap();
    assert_eq!(write(&nothing), json!({"createdWorkItems": []}));
    let all_bad = bench.session.create_work_items(vec![read(&json!({"state": "x"}))]).unwrap();
    assert!(all_bad.created_work_items.is_empty() && all_bad.error.is_some());
}

#[test]
fn templates_are_copied_into_items_and_the_request_wins() {
    let bench = Bench::new();
    let template = bench.template(json!({
        "name": "t", "templateGroup": "g", "type": "testplan", "description": "from template", "testProgram": "p",
        "summary": "s", "partNumbers": ["x"], "productFamilies": ["y"], "workspace": "elsewhere",
        "timeline": {"estimatedDurationInSeconds": 30}, "workflowId": "f",
        "resources": {"systems": {"filter": "fs"}, "duts": {"filter": "fd"}},
        "executionActions": [{"type": "MANUAL", "action": "START"}], "fileIds": ["f1"],
        "properties": {"a": "1", "b": "2"}, "dashboard": {"id": "d", "variables": {"v": "<properties.a>"}}
    }));
    let id = template.id.unwrap();
    let inherited = json!({
        "templateId": "1000", "type": "testplan", "description": "from template", "testProgram": "p", "workflowId": "f",
        "timeline": {"estimatedDurationInSeconds": 30}, "resources": {"systems": {"filter": "fs", "selections": []}, "duts": {"filter": "fd", "selections": []}},
        "executionActions": [{"type": "MANUAL", "action": "START"}], "fileIdsFromTemplate": ["f1"],
        "properties": {"a": "1", "b": "2"},
        "dashboard": {"id": "d", "variables": {"v": "<properties.a>"}, "url": "/dashboards/d/d?var-v=1"}
    });
    assert_eq!(write(&bench.create(json!({"templateId": id.as_str()}))), made("1000", inherited));
    let own = bench.create(json!({
        "templateId": "1000", "type": "job", "description": "own", "properties": {"a": "9", "c": "3"},
        "timeline": {"dueDateTime": "2024-06-01T00:00:00Z"},
        "resources": {"systems": {"filter": "own", "selections": [{"id": "s1"}]}},
        "executionActions": [], "fileIdsFromTemplate": ["own"], "dashboard": {"id": "own"}
    }));
    assert_eq!(
        write(&own),
        made(
            "1001",
            json!({
                "templateId": "1000", "type": "job", "description": "own", "testProgram": "p", "workflowId": "f",
                "timeline": {"dueDateTime": "2024-06-01T00:00:00.000Z", "estimatedDurationInSeconds": 30},
                "resources": {"systems": {"filter": "own", "selections": [{"id": "s1"}]}, "duts": {"filter": "fd", "selections": []}},
                "executionActions": [], "fileIdsFromTemplate": ["own"], "properties": {"a": "9", "b": "2", "c": "3"},
                "dashboard": {"id": "own", "variables": {}, "url": "/dashboards/d/own"}
            })
        )
    );
    bench.session.delete_work_item_templates(vec!["1000".into()]).unwrap();
    assert_eq!(
        bench.get("1000")["templateId"],
        "1000",
        "items keep the id of a template that is gone"
    );
}

#[test]
fn each_item_of_a_batch_takes_from_the_template_that_it_names() {
    /// Together they have 1.2 MB, more than a batch keeps.
    const TEMPLATES: usize = 40;
    let bench = Bench::new();
    let templates: Vec<String> = (0..TEMPLATES)
        .map(|number| {
            let description = format!("template {number}");
            let request = json!({
                "name": "t", "templateGroup": "g", "type": "t", "description": description,
                "properties": {"long": "x".repeat(30_000)}
            });
            bench.template(request).id.unwrap().to_string()
        })
        .collect();
    let named = (0..3 * TEMPLATES).map(|at| match at % 10 {
        8 => json!({"name": at.to_string()}),
        9 => json!({"name": at.to_string(), "templateId": "77"}),
        _ => json!({"name": at.to_string(), "templateId": templates[at / 2 % TEMPLATES]}),
    });
    let response =
        bench.session.create_work_items(named.map(|item| read(&item)).collect()).unwrap();
    let (mut made, mut failed) = (
        response.created_work_items.into_iter(),
        response.failed_work_items.unwrap_or_default().into_iter(),
    );
    for at in 0..3 * TEMPLATES {
        let name = Some(at.to_string());
        if at % 10 == 9 {
            assert_eq!(failed.next().unwrap().name, name);
            continue;
        }
        let item = made.next().unwrap();
        let of_template = (at % 10 != 8).then(|| format!("template {}", at / 2 % TEMPLATES));
        assert_eq!((item.name, item.description), (name, of_template));
    }
    assert!(made.next().is_none() && failed.next().is_none());
}

#[test]
fn update_merges_or_replaces_and_tells_absent_from_null() {
    let start = json!({
        "name": "n", "description": "d", "timeline": {"dueDateTime": "2024-06-01T00:00:00Z", "estimatedDurationInSeconds": 5},
        "resources": {"systems": {"selections": [{"id": "s1"}], "filter": "f"}, "duts": {"filter": "fd"}},
        "executionActions": [{"type": "MANUAL", "action": "A"}], "fileIdsFromTemplate": ["f1"],
        "properties": {"a": "1", "b": "2"}, "dashboard": {"id": "d", "variables": {"x": "1"}}
    });
    let change = json!({
        "description": null, "partNumber": "pn", "workspace": null,
        "timeline": {"dueDateTime": null}, "state": "Closed",
        "resources": {"systems": {"selections": [{"id": "s1", "targetLocationId": "l"}, {"id": "s2"}]}, "duts": null},
        "executionActions": [{"type": "NONE", "action": "A"}, {"type": "MANUAL", "action": "B"}],
        "fileIdsFromTemplate": ["f1", "f2"], "properties": {"b": "3"}, "dashboard": {"variables": {"y": "2"}, "url": "ignored"}
    });
    let merged = json!({
        "name": "n", "partNumber": "pn", "state": "CLOSED", "substate": "CLOSED", "updatedBy": "ada",
        "updatedAt": "2024-05-01T08:00:01.000Z", "timeline": {"estimatedDurationInSeconds": 5},
        "resources": {"systems": {"selections": [{"id": "s1", "targetLocationId": "l"}, {"id": "s2"}], "filter": "f"}},
        "executionActions": [{"type": "NONE", "action": "A"}, {"type": "MANUAL", "action": "B"}],
        "fileIdsFromTemplate": ["f1", "f2"], "properties": {"a": "1", "b": "3"},
        "dashboard": {"id": "d", "variables": {"x": "1", "y": "2"}, "url": "/dashboards/d/d?var-x=1&var-y=2"}
    });
    for (replace, expected) in [
        (json!(null), merged.clone()),
        (json!(false), merged.clone()),
        (json!(true), {
            let mut replaced = merged.clone();
            replaced["properties"] = json!({"b": "3"});
            replaced["dashboard"] =
                json!({"id": "d", "variables": {"y": "2"}, "url": "/dashboards/d/d?var-y=2"});
            replaced
        }),
    ] {
        let bench = Bench::new();
        bench.create(start.clone());
        bench.clock.advance_ms(1000);
        let mut entry = change.clone();
        entry["id"] = json!("1000");
        let response = bench.update(json!({"workItems": [entry], "replace": replace}));
        assert_eq!(write(&response), json!({"updatedWorkItems": [made("1000", expected.clone())]}));
        assert_eq!(bench.get("1000"), made("1000", expected));
    }
    let bench = Bench::new();
    bench.create(start);
    let _ = bench.update(json!({"workItems": [
        {"id": "1000", "executionActions": [], "fileIdsFromTemplate": null, "resources": {"systems": {"selections": []}},
         "dashboard": null, "timeline": null, "properties": {}}], "replace": true}));
    let expected = json!({
        "name": "n", "description": "d", "executionActions": [], "properties": {},
        "resources": {"systems": {"selections": [], "filter": "f"}, "duts": {"filter": "fd", "selections": []}}
    });
    assert_eq!(bench.get("1000"), made("1000", expected));
}

#[test]
fn refused_updates_change_nothing_and_come_back_with_their_nulls() {
    let bench = Bench::new();
    bench.create(
        json!({"name": "n", "timeline": {"earliestStartDateTime": "2024-06-01T00:00:00Z"}}),
    );
    let entries = json!([
        {"id": "1000", "name": "first"},
        {"id": "7", "name": null},
        {"id": "x"},
        {"name": "no id"},
        {"id": "1000", "parentId": "1000"},
        {"id": "1000", "state": "nowhere"},
        {"id": "1000", "timeline": {"dueDateTime": "2024-05-01T00:00:00.000Z"}},
        {"id": "1000", "executionActions": [{"type": "MANUAL", "action": "A"}, {"type": "MANUAL", "action": "A"}]},
        {"id": "1000", "name": "second"}
    ]);
    let response = write(&bench.update(json!({"workItems": entries})));
    let updated: Vec<&Value> =
        response["updatedWorkItems"].as_array().unwrap().iter().map(|item| &item["name"]).collect();
    assert_eq!(
        updated,
        ["first", "second"],
        "one id twice is applied in order, and both are reported"
    );
    assert_eq!(
        response["failedWorkItems"].as_array().unwrap().as_slice(),
        &entries.as_array().unwrap()[1..8]
    );
    let inner = response["error"]["innerErrors"].as_array().unwrap();
    let ids: Vec<&Value> = inner.iter().map(|inner| &inner["resourceId"]).collect();
    assert_eq!(ids, ["7", "x", "3", "1000", "1000", "1000", "1000"]);
    assert_eq!(inner[0]["name"], "Skyline.WorkOrder.WorkItemNotFoundOrNoAccess");
    assert_eq!(inner[0]["args"], json!(["7"]));
    assert_eq!(bench.get("1000")["name"], "second");
}

#[test]
fn scheduling_moves_the_state_and_reaches_nothing_but_plan_and_selections() {
    let bench = Bench::new();
    bench.create(json!({"resources": {"systems": {"filter": "f", "selections": [{"id": "s1"}]}}}));
    let plan = json!({"plannedStartDateTime": "2024-06-01T00:00:00.000Z", "plannedEndDateTime": "2024-06-02T00:00:00.000Z"});
    let response = bench.schedule(json!({"work_items": [{"id": "1000", "assigned_to": "bob",
        "schedule": {"planned_duration_in_seconds": 5}, "resources": {"systems": {"selections": [{"id": "s2"}]}}}]}));
    let item = write(&response.scheduled_work_items.unwrap()[0]);
    assert_eq!(
        (&item["state"], &item["schedule"]),
        (&json!("NEW"), &json!({"plannedDurationInSeconds": 5}))
    );
    bench.clock.advance_ms(1);
    let response = bench.schedule(
        json!({"workItems": [{"id": "1000", "schedule": plan, "resources": {"duts": {"selections": [{"id": "d"}]}}}]}),
    );
    let expected = made(
        "1000",
        json!({
            "assignedTo": "bob", "state": "SCHEDULED", "substate": "SCHEDULED", "updatedAt": "2024-05-01T08:00:00.001Z",
            "schedule": {"plannedStartDateTime": "2024-06-01T00:00:00.000Z", "plannedEndDateTime": "2024-06-02T00:00:00.000Z",
                "plannedDurationInSeconds": 5},
            "resources": {"systems": {"filter": "f", "selections": [{"id": "s1"}, {"id": "s2"}]},
                "duts": {"selections": [{"id": "d"}]}}
        }),
    );
    assert_eq!(write(&response), json!({"scheduledWorkItems": [expected]}));
    let replaced = bench.schedule(json!({"replace": true, "workItems": [
        {"id": "1000", "schedule": {"plannedEndDateTime": null}, "resources": {"systems": {"selections": [{"id": "s9"}]}}}]}));
    let item = write(&replaced.scheduled_work_items.unwrap()[0]);
    assert_eq!(item["resources"]["systems"], json!({"filter": "f", "selections": [{"id": "s9"}]}));
    assert_eq!(item["resources"]["duts"], json!({"selections": [{"id": "d"}]}));
    let cleared =
        bench.schedule(json!({"workItems": [{"id": "1000", "resources": null, "schedule": null}]}));
    let item = write(&cleared.scheduled_work_items.unwrap()[0]);
    assert_eq!(
        (&item["resources"]["systems"], item.get("schedule")),
        (&json!({"filter": "f", "selections": []}), None)
    );
    assert_eq!(item["state"], "SCHEDULED");
}

#[test]
fn scheduling_keeps_the_later_states_and_refuses_the_terminal_ones() {
    let bench = Bench::new();
    for (position, state) in State::ALL.iter().enumerate() {
        bench.create(json!({"state": state.as_str()}));
        let id = (1000 + position).to_string();
        let request = json!({"workItems": [{"id": id, "schedule": {"plannedStartDateTime": "2024-06-01T00:00:00.000Z"}}]});
        let response = write(&bench.schedule(request.clone()));
        match state {
            State::Closed | State::Canceled => {
                assert_eq!(response["failedWorkItems"], request["workItems"]);
                assert_eq!(
                    response["error"]["innerErrors"][0]["name"],
                    "Skyline.WorkOrder.InvalidState"
                );
                assert_eq!(bench.get(&id).get("schedule"), None);
            }
            State::InProgress | State::PendingApproval => {
                assert_eq!(bench.get(&id)["state"], state.as_str());
            }
            _ => assert_eq!(bench.get(&id)["state"], "SCHEDULED"),
        }
    }
    let bad = json!([
        {"id": "1000", "schedule": {"plannedStartDateTime": "2024-06-03T00:00:00.000Z", "plannedEndDateTime": "2024-06-02T00:00:00.000Z"}},
        {"id": "1000", "schedule": {"plannedEndDateTime": "2024-05-02T00:00:00.000Z"}},
        {"id": "1000", "schedule": {"plannedDurationInSeconds": -5}},
        {"id": "9"}
    ]);
    let response = write(&bench.schedule(json!({"workItems": bad})));
    assert_eq!((&response["failedWorkItems"], &response["scheduledWorkItems"]), (&bad, &json!([])));
}

#[test]
fn delete_answers_nothing_unless_some_id_fails() {
    let bench = Bench::new();
    for parent in ["x", "1000", "1000", "1000"] {
        bench.create(json!({ "parentId": parent }));
    }
    let delete = |ids: &[&str]| {
        bench.session.delete_work_items(ids.iter().map(|id| (*id).into()).collect()).unwrap()
    };
    assert_eq!(delete(&[]), None);
    assert_eq!(delete(&["1000", "1000"]), None, "an id given twice counts once");
    let response = write(&delete(&["1001", "1000", "x", "1002", "x"]).unwrap());
    assert_eq!(response["deletedIds"], json!(["1001", "1002"]));
    assert_eq!(response["failedIds"], json!(["1000", "x"]));
    assert_eq!(response["error"]["innerErrors"].as_array().unwrap().len(), 2);
    assert_eq!(bench.get("1003")["parentId"], "1000", "children stay");
    assert_eq!(
        bench.session.get_work_item(&"1000".into()).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    let bench = bench.reopen();
    assert_eq!(bench.create(json!({})).id.unwrap().as_str(), "1004", "ids are never used again");
    let other: DeleteWorkItemsPartialSuccessResponse =
        read(&json!({"deletedWorkItemIds": ["1"], "failed_work_item_ids": ["2"]}));
    assert_eq!(write(&other), json!({"deletedIds": ["1"], "failedIds": ["2"]}));
}

#[test]
fn queries_page_in_order_and_project() {
    let bench = Bench::new();
    for n in 0..5 {
        bench.create(json!({"name": format!("n{n}"), "dashboard": {"id": "d"}, "properties": {"n": n.to_string()}}));
        bench.clock.advance_ms(1);
    }
    let _ = bench.update(json!({"workItems": [{"id": "1001", "name": "last"}]}));
    let ids = |page: &Value| -> Vec<String> {
        page["workItems"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&bench.query(json!({}))), ["1000", "1001", "1002", "1003", "1004"]);
    assert_eq!(
        ids(&bench.query(json!({"orderBy": "ID", "descending": true, "take": 2}))),
        ["1004", "1003"]
    );
    assert_eq!(
        ids(&bench.query(json!({"order_by": "UPDATED_AT"}))),
        ["1000", "1002", "1003", "1004", "1001"]
    );
    assert_eq!(
        ids(&bench.query(json!({"orderBy": "updatedAt", "descending": true, "take": 2}))),
        ["1001", "1004"]
    );
    assert_eq!(
        bench.query(json!({"take": 0, "returnCount": true})),
        json!({"workItems": [], "totalCount": 5})
    );
    let bad = bench.session.query_work_items(read(&json!({"take": -1}))).unwrap_err();
    assert_eq!(bad.kind(), ErrorKind::InvalidArgument);

    let mut walked = Vec::new();
    let mut request = json!({"orderBy": "UPDATED_AT", "descending": true, "take": 2, "projection": ["ID", "DASHBOARD"]});
    loop {
        let page = bench.query(request.clone());
        for item in page["workItems"].as_array().unwrap() {
            assert_eq!(
                *item,
                json!({"id": item["id"], "dashboard": {"id": "d", "variables": {}, "url": "/dashboards/d/d"}})
            );
        }
        walked.extend(ids(&page));
        match page.get("continuationToken") {
            Some(token) => request["continuationToken"] = token.clone(),
            None => break,
        }
    }
    assert_eq!(walked, ["1001", "1004", "1003", "1002", "1000"]);
    let plan = bench
        .session
        .explain_query_work_items(read(&json!({"orderBy": "UPDATED_AT", "take": 1})))
        .unwrap();
    assert!(plan.records_touched.unwrap() > 0, "{plan}");
}

#[test]
fn filters_reach_every_documented_property() {
    let bench = Bench::new();
    bench.create(json!({
        "name": "n", "type": "t", "state": "PENDING_APPROVAL", "description": "some words", "parentId": "p",
        "assignedTo": "a", "requestedBy": "r", "testProgram": "tp", "partNumber": "pn", "workspace": "w", "workflowId": "f",
        "timeline": {"earliestStartDateTime": "2024-01-01T00:00:00Z", "dueDateTime": "2024-01-02T00:00:00Z",
            "estimatedDurationInSeconds": 60},
        "resources": {"assets": {"selections": [{"id": "a1", "targetParentId": "q"}], "filter": "fa"},
            "systems": {"selections": [{"id": "s1", "targetLocationId": "l"}, {"id": "s2"}], "filter": "fs"}},
        "fileIdsFromTemplate": ["f1"], "properties": {"Location": "Austin"}, "dashboard": {"id": "1234"}
    }));
    bench.create(json!({"name": "other", "properties": {"Location": "Aachen"}}));
    for filter in [
        r#"id = "1000""#,
        r#"name = "n" and type == "t""#,
        r#"state = "PendingApproval""#,
        r#"state = "PENDING_APPROVAL" && substate = "PENDING_APPROVAL""#,
        r#"description.Contains("word")"#,
        r#"parentId = "p" and assignedTo = "a" and requestedBy = "r" and testProgram = "tp" and partNumber = "pn""#,
        r#"workspace = "w" and workflowId = "f" and templateId = null"#,
        r#"createdBy = "ada" and updatedBy = "ada" and name != "other""#,
        r#"timeline.dueDateTime > "2024-01-01T12:00:00Z" and timeline.earliestStartDateTime < "2024-01-01T12:00:00Z""#,
        "timeline.estimatedDurationInSeconds >= 60",
        r#"resources.systems.filter = "fs" and resources.assets.filter.Contains("f")"#,
        r#"resources.systems.selections.id = "s2""#,
        r#"resources.systems.selections.targetLocationId = "l""#,
        r#"resources.assets.selections.Any(s => s.id == "a1")"#,
        r#"resources.assets.selections.targetParentId = "q""#,
        r#"fileIdsFromTemplate.Contains("f1")"#,
        r#"properties.Any(key == "Location" & value == "Austin")"#,
        r#"dashboard.Id == "1234""#,
        r#"createdAt >= "2024-05-01" and name = @0"#,
    ] {
        let page =
            bench.query(json!({"filter": filter, "substitutions": ["n"], "projection": ["ID"]}));
        assert_eq!(page["workItems"], json!([{"id": "1000"}]), "{filter}");
    }
    for bad in [
        r#"id = "x""#,
        r#"id > "5""#,
        r#"executionActions = "x""#,
        r#"executionHistory = null"#,
        "name =",
        "name = @7",
        r#"state = "DONE""#,
    ] {
        let error = bench.session.query_work_items(read(&json!({"filter": bad}))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{bad}: {error}");
    }
    assert_eq!(
        bench.query(json!({"filter": "  ", "returnCount": true, "take": 0}))["totalCount"],
        2
    );
}

#[test]
fn templates_are_made_queried_changed_and_deleted() {
    let bench = Bench::new();
    let requests = json!([
        {"name": "b", "templateGroup": "g", "type": "t", "executionActions": [{"type": "MANUAL", "action": "A"}], "fileIds": ["1"],
         "dashboard": {"id": "d", "url": "x"}, "properties": {"k": "v"}},
        {"name": " ", "templateGroup": "g", "type": "t"},
        {"templateGroup": "g", "type": "t"},
        {"name": "c", "type": "t"},
        {"name": "c", "templateGroup": "g"},
        {"name": "c", "templateGroup": "g", "type": "t", "timeline": {"estimatedDurationInSeconds": -1}},
        {"name": "a", "templateGroup": "g", "type": "t"}
    ]);
    let response = write(&bench.session.create_work_item_templates(read(&requests)).unwrap());
    assert_eq!(
        response["failedWorkItemTemplates"].as_array().unwrap().as_slice(),
        &requests.as_array().unwrap()[1..6]
    );
    let inner = response["error"]["innerErrors"].as_array().unwrap();
    let ids: Vec<&Value> = inner.iter().map(|inner| &inner["resourceId"]).collect();
    assert_eq!(ids, [" ", "2", "c", "c", "c"]);
    assert_eq!(inner[0]["resourceType"], "work item template");
    assert_eq!(
        response["createdWorkItemTemplates"][0]["dashboard"],
        json!({"id": "d", "variables": {}}),
        "templates have no address"
    );

    let query =
        |request: Value| write(&bench.session.query_work_item_templates(read(&request)).unwrap());
    let page = query(json!({"orderBy": "NAME", "projection": ["NAME", "ID"]}));
    assert_eq!(
        page,
        json!({"workItemTemplates": [{"id": "1001", "name": "a"}, {"id": "1000", "name": "b"}]})
    );
    for order in ["ID", "NAME", "TEMPLATE_GROUP", "CREATED_AT", "UPDATED_AT"] {
        let page =
            query(json!({"orderBy": order, "descending": true, "take": 1, "projection": ["ID"]}));
        let first = if matches!(order, "ID") { "1001" } else { "1000" };
        assert_eq!(page["workItemTemplates"], json!([{"id": first}]), "{order}");
    }
    assert_eq!(
        query(json!({"filter": r#"fileIds.Contains("1")"#, "projection": ["ID"]}))["workItemTemplates"],
        json!([{"id": "1000"}])
    );

    let response = bench
        .session
        .update_work_item_templates(read(&json!({"workItemTemplates": [
        {"id": "1000", "workflowId": "w", "fileIds": ["1", "2"], "properties": {"k": "w", "l": "x"}, "summary": null},
        {"id": "1000", "name": null}, {"id": "1000", "templateGroup": null}, {"id": "5"}]})))
        .unwrap();
    let response = write(&response);
    assert_eq!(response["updatedWorkItemTemplates"][0]["fileIds"], json!(["1", "2"]));
    assert_eq!(response["updatedWorkItemTemplates"][0]["properties"], json!({"k": "w", "l": "x"}));
    assert_eq!(
        response["failedWorkItemTemplates"],
        json!([{"id": "1000", "name": null}, {"id": "1000", "templateGroup": null}, {"id": "5"}])
    );
    let response =
        bench.session.delete_work_item_templates(vec!["1000".into(), "5".into()]).unwrap().unwrap();
    assert_eq!(
        (write(&response.deleted_ids), write(&response.failed_ids)),
        (json!(["1000"]), json!(["5"]))
    );
    assert_eq!(bench.session.delete_work_item_templates(vec!["1001".into()]).unwrap(), None);
}

/// A runner that records its calls, and fails if it is told to.
#[derive(Debug, Default)]
struct Recorder {
    calls: Mutex<Vec<Value>>,
    fail_at_job: Option<usize>,
    fail_notebook: bool,
    panic: bool,
}

impl JobRunner for Recorder {
    fn queue(&self, request: &JobRequest<'_>) -> Result<Vec<String>, QueueFailure> {
        assert!(!self.panic, "told to");
        let mut calls = self.calls.lock().unwrap();
        calls.push(json!({"item": request.work_item_id, "action": request.action, "system": request.system_id,
            "arguments": request.jobs.iter().map(|job| &job.arguments).collect::<Vec<_>>()}));
        let ids = (0..request.jobs.len()).map(|job| format!("job{job}"));
        match self.fail_at_job {
            None => Ok(ids.collect()),
            Some(at) => Err(QueueFailure {
                error: Error::invalid("no such function"),
                queued: ids.take(at).collect(),
            }),
        }
    }

    fn cancel(&self, job_ids: &[String]) -> Result<()> {
        self.calls.lock().unwrap().push(json!({ "cancel": job_ids }));
        Ok(())
    }

    fn run_notebook(&self, request: &NotebookRequest<'_>) -> Result<String> {
        self.calls
            .lock()
            .unwrap()
            .push(json!({"notebook": request.notebook_id, "parameters": request.parameters}));
        if self.fail_notebook {
            Err(Error::invalid("no such notebook"))
        } else {
            Ok("run1".to_owned())
        }
    }
}

fn runnable() -> Value {
    json!({
        "partNumber": "pn", "resources": {"systems": {"selections": [{"id": "s1"}]}},
        "executionActions": [
            {"type": "JOB", "action": "START", "jobs": [
                {"functions": ["f"], "arguments": [["<partNumber>", 1]], "metadata": {}},
                {"functions": ["g"], "arguments": [[{"id": "<id>"}]], "metadata": {}}]},
            {"type": "JOB", "action": "END", "systemId": "other", "jobs": [{"functions": ["f"], "arguments": [[]], "metadata": {}}]},
            {"type": "NOTEBOOK", "action": "Analyse", "notebookId": "nb", "parameters": {"p": "<partNumber>"}},
            {"type": "MANUAL", "action": "Look"}, {"type": "NONE", "action": "PAUSE"}]
    })
}

#[test]
fn each_kind_of_action_answers_moves_and_is_remembered() {
    let runner = Arc::new(Recorder::default());
    let bench = Bench::with_runner(runner.clone());
    bench.create(runnable());
    let execute =
        |action: &str| write(&bench.session.execute_work_item(&"1000".into(), action).unwrap());
    assert_eq!(
        execute("START"),
        json!({"error": null, "result": {"type": "JOB", "jobIds": ["job0", "job1"]}})
    );
    assert_eq!(bench.get("1000")["state"], "IN_PROGRESS");
    assert_eq!(
        execute("Analyse"),
        json!({"error": null, "result": {"type": "NOTEBOOK", "executionId": "run1"}})
    );
    assert_eq!(execute("Look"), json!({"error": null, "result": {"type": "MANUAL"}}));
    assert_eq!(execute("PAUSE"), json!({"error": null, "result": {"type": "NONE"}}));
    bench.clock.advance_ms(1);
    assert_eq!(
        execute("END"),
        json!({"error": null, "result": {"type": "JOB", "jobIds": ["job0"]}})
    );
    let item = bench.get("1000");
    assert_eq!(
        (&item["state"], &item["updatedAt"]),
        (&json!("PENDING_APPROVAL"), &json!("2024-05-01T08:00:00.001Z"))
    );
    let event = |kind: &str, action: &str, from: &str, to: &str, at: &str| {
        json!({"type": kind, "action": action, "triggeredAt": at, "triggeredBy": "ada", "previousState": from,
            "previousSubstate": from, "newState": to, "newSubstate": to})
    };
    let (first, last) = ("2024-05-01T08:00:00.000Z", "2024-05-01T08:00:00.001Z");
    let mut expected = vec![
        event("JOB", "START", "NEW", "IN_PROGRESS", first),
        event("NOTEBOOK", "Analyse", "IN_PROGRESS", "IN_PROGRESS", first),
        event("MANUAL", "Look", "IN_PROGRESS", "IN_PROGRESS", first),
        event("JOB", "END", "IN_PROGRESS", "PENDING_APPROVAL", last),
    ];
    expected[0]["jobIds"] = json!(["job0", "job1"]);
    expected[1]["executionId"] = json!("run1");
    expected[3]["jobIds"] = json!(["job0"]);
    assert_eq!(item["executionHistory"], json!(expected), "NONE leaves no event");
    assert_eq!(
        *runner.calls.lock().unwrap(),
        [
            json!({"item": "1000", "action": "START", "system": "s1", "arguments": [[["pn", 1]], [[{"id": "1000"}]]]}),
            json!({"notebook": "nb", "parameters": {"p": "pn"}}),
            json!({"item": "1000", "action": "END", "system": "other", "arguments": [[[]]]}),
        ]
    );
}

#[test]
fn start_and_end_need_no_definition_and_scheduling_actions_leave_no_event() {
    let bench = Bench::new();
    bench.create(json!({}));
    let execute = |action: &str| {
        bench.session.execute_work_item(&"1000".into(), action).map(|response| write(&response))
    };
    assert_eq!(
        execute("SCHEDULE").unwrap_err().kind(),
        ErrorKind::Conflict,
        "there is no planned start"
    );
    let _ = bench.update(json!({"workItems": [{"id": "1000", "state": "REVIEWED"}]}));
    let _ = bench
        .schedule(json!({"workItems": [{"id": "1000", "schedule": {"plannedStartDateTime": "2024-06-01T00:00:00Z"}}]}));
    assert_eq!(
        execute("unschedule").unwrap(),
        json!({"error": null, "result": {"type": "UNSCHEDULE"}})
    );
    let item = bench.get("1000");
    assert_eq!((&item["state"], item.get("schedule")), (&json!("REVIEWED"), None));
    let _ = bench
        .schedule(json!({"workItems": [{"id": "1000", "schedule": {"plannedStartDateTime": "2024-06-01T00:00:00Z"}}]}));
    let _ = bench.update(json!({"workItems": [{"id": "1000", "state": "DEFINED"}]}));
    assert_eq!(
        execute("SCHEDULE").unwrap(),
        json!({"error": null, "result": {"type": "SCHEDULE"}})
    );
    assert_eq!(bench.get("1000")["state"], "SCHEDULED");
    assert_eq!(bench.get("1000")["executionHistory"], json!([]));
    assert_eq!(execute("start").unwrap(), json!({"error": null, "result": {"type": "MANUAL"}}));
    assert_eq!(execute("END").unwrap(), json!({"error": null, "result": {"type": "MANUAL"}}));
    let history = bench.get("1000")["executionHistory"].clone();
    assert_eq!(history.as_array().unwrap().len(), 2);
    assert_eq!(history[0]["action"], "start");
}

#[test]
fn refused_executions_change_nothing() {
    let bench = Bench::new();
    bench.create(
        json!({"state": "CLOSED", "executionActions": [{"type": "MANUAL", "action": "Look"}]}),
    );
    bench.create(json!({"executionActions": [{"type": "JOB", "action": "START", "jobs": []}]}));
    let before = (bench.get("1000"), bench.get("1001"));
    for (id, action, kind) in [
        ("1000", "Look", ErrorKind::Conflict),
        ("1000", "START", ErrorKind::Conflict),
        ("1000", "Nothing", ErrorKind::NotFound),
        ("1001", "COMPLETE", ErrorKind::NotFound),
        ("1001", "", ErrorKind::InvalidArgument),
        ("1001", "START", ErrorKind::Conflict),
        ("1009", "START", ErrorKind::NotFound),
        ("x", "START", ErrorKind::NotFound),
    ] {
        let error = bench.session.execute_work_item(&id.into(), action).unwrap_err();
        assert_eq!(error.kind(), kind, "{id} {action}: {error}");
        assert_eq!(error.resource(), Some(("work item", id)), "{id} {action}");
    }
    assert_eq!((bench.get("1000"), bench.get("1001")), before);
}

#[test]
fn jobs_that_cannot_all_be_queued_are_cancelled_and_the_state_stays() {
    let runner =
        Arc::new(Recorder { fail_at_job: Some(1), fail_notebook: true, ..Recorder::default() });
    let bench = Bench::with_runner(runner.clone());
    bench.create(runnable());
    let response = bench.session.execute_work_item(&"1000".into(), "START").unwrap();
    let response = write(&response);
    assert_eq!(response["result"]["jobIds"], json!(["job0"]));
    assert_eq!(response["error"], response["result"]["error"]);
    assert_eq!(response["error"]["message"], "no such function");
    assert_eq!(runner.calls.lock().unwrap()[1], json!({"cancel": ["job0"]}));
    let response = write(&bench.session.execute_work_item(&"1000".into(), "Analyse").unwrap());
    assert_eq!(response["result"]["type"], "NOTEBOOK");
    let item = bench.get("1000");
    assert_eq!(item["state"], "NEW");
    let history = item["executionHistory"].as_array().unwrap();
    assert_eq!(history.len(), 2);
    assert_eq!(
        (&history[0]["previousState"], &history[0]["newState"]),
        (&json!("NEW"), &json!("NEW"))
    );
    assert_eq!(
        (&history[0]["error"]["message"], &history[0]["jobIds"]),
        (&json!("no such function"), &json!(["job0"]))
    );

    let bench = Bench::with_runner(Arc::new(Recorder { panic: true, ..Recorder::default() }));
    bench.create(runnable());
    let response = bench.session.execute_work_item(&"1000".into(), "START").unwrap();
    assert_eq!(response.error.unwrap().name.as_deref(), Some("StationDb.JobRunnerFailed"));
}

#[test]
fn jobs_and_notebooks_are_refused_inside_a_transaction_and_the_rest_is_not() {
    let bench = Bench::new();
    bench.create(runnable());
    let answer = bench.session.transaction(|tx| {
        for action in ["START", "Analyse"] {
            assert_eq!(
                tx.execute_work_item(&"1000".into(), action).unwrap_err().kind(),
                ErrorKind::Unsupported
            );
        }
        tx.execute_work_item(&"1000".into(), "Look")?;
        Ok(tx.get_work_item(&"1000".into())?.execution_history.map_or(0, |history| history.len()))
    });
    assert_eq!(answer.unwrap(), 1);
    assert_eq!(bench.get("1000")["executionHistory"].as_array().unwrap().len(), 1);
}

/// A runner during whose call another caller changes the work item.
#[derive(Debug, Default)]
struct Meddling {
    session: Mutex<Option<Session>>,
    act: Mutex<Option<&'static str>>,
}

impl JobRunner for Meddling {
    fn queue(&self, _request: &JobRequest<'_>) -> Result<Vec<String>, QueueFailure> {
        let session = self.session.lock().unwrap().take();
        if let (Some(session), Some(act)) = (session, *self.act.lock().unwrap()) {
            match act {
                "delete" => drop(session.delete_work_items(vec!["1000".into()]).unwrap()),
                _ => {
                    let _ = session
                        .update_work_items(read(
                            &json!({"workItems": [{"id": "1000", "state": act}]}),
                        ))
                        .unwrap();
                }
            }
        }
        Ok(vec!["j".to_owned()])
    }

    fn cancel(&self, job_ids: &[String]) -> Result<()> {
        *self.act.lock().unwrap() = Some(if job_ids == ["j"] { "cancelled" } else { "?" });
        Ok(())
    }

    fn run_notebook(&self, _request: &NotebookRequest<'_>) -> Result<String> {
        Err(Error::invalid("no"))
    }
}

#[test]
fn a_call_into_the_store_from_the_runner_does_not_block_and_its_changes_count() {
    for (act, state, error) in [
        ("REVIEWED", Some("IN_PROGRESS"), None),
        ("CLOSED", Some("CLOSED"), Some("Skyline.WorkOrder.InvalidState")),
        ("delete", None, Some("Skyline.WorkOrder.WorkItemNotFoundOrNoAccess")),
    ] {
        let runner = Arc::new(Meddling::default());
        let bench = Bench::with_runner(runner.clone());
        bench.create(runnable());
        *runner.session.lock().unwrap() = Some(bench.session.clone());
        *runner.act.lock().unwrap() = Some(act);
        let response = bench.session.execute_work_item(&"1000".into(), "START").unwrap();
        assert_eq!(response.error.as_ref().and_then(|error| error.name.as_deref()), error, "{act}");
        assert_eq!(write(&response.result)["jobIds"], json!(["j"]));
        assert_eq!(*runner.act.lock().unwrap() == Some("cancelled"), error.is_some());
        if let Some(state) = state {
            let item = bench.get("1000");
            assert_eq!(item["state"], state);
            let history = item["executionHistory"].as_array().unwrap();
            assert_eq!((history.len(), history[0]["error"].is_object()), (1, error.is_some()));
            let previous = if act == "CLOSED" { "CLOSED" } else { "REVIEWED" };
            assert_eq!(history[0]["previousState"], previous);
        }
    }
}

/// A runner that takes longer than the deadline of its caller.
#[derive(Debug, Default)]
struct Slow {
    sleep_ms: AtomicU64,
    calls: AtomicU64,
}

impl JobRunner for Slow {
    fn queue(&self, _request: &JobRequest<'_>) -> Result<Vec<String>, QueueFailure> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(self.sleep_ms.load(Ordering::SeqCst)));
        Ok(vec!["j".to_owned()])
    }

    fn cancel(&self, _job_ids: &[String]) -> Result<()> {
        Err(Error::invalid("nothing is to be cancelled"))
    }

    fn run_notebook(&self, _request: &NotebookRequest<'_>) -> Result<String> {
        Err(Error::invalid("no"))
    }
}

#[test]
fn what_the_runner_did_is_remembered_also_after_the_deadline() {
    let runner = Arc::new(Slow::default());
    let bench = Bench::with_runner(runner.clone());
    bench.create(runnable());
    // Longer times are for machines on which the runner is not reached in time.
    for time_ms in [50, 500, 5_000] {
        runner.sleep_ms.store(time_ms + 10, Ordering::SeqCst);
        let session = bench.session.with_deadline(Instant::now() + Duration::from_millis(time_ms));
        let answer = session.execute_work_item(&"1000".into(), "START");
        if runner.calls.load(Ordering::SeqCst) == 0 {
            assert_eq!(answer.unwrap_err().kind(), ErrorKind::DeadlineExceeded);
            continue;
        }
        assert_eq!(
            write(&answer.unwrap()),
            json!({"error": null, "result": {"type": "JOB", "jobIds": ["j"]}})
        );
        assert_eq!(
            session.get_work_item(&"1000".into()).unwrap_err().kind(),
            ErrorKind::DeadlineExceeded
        );
        break;
    }
    let item = bench.reopen().get("1000");
    assert_eq!(
        (&item["state"], item["executionHistory"].as_array().unwrap().len()),
        (&json!("IN_PROGRESS"), 1)
    );
    assert_eq!(item["executionHistory"][0]["error"], json!(null));
}

#[test]
fn histories_keep_the_last_thousand_events() {
    let bench = Bench::new();
    bench.create(json!({}));
    bench
        .session
        .transaction(|tx| {
            for _ in 0..1003 {
                tx.execute_work_item(&"1000".into(), "START")?;
            }
            tx.execute_work_item(&"1000".into(), "END").map(drop)
        })
        .unwrap();
    let history = bench.session.get_work_item(&"1000".into()).unwrap().execution_history.unwrap();
    assert_eq!(history.len(), 1000);
    assert_eq!(history[0].base.previous_state, Some(State::InProgress));
    assert_eq!(history[999].base.action.as_deref(), Some("END"));
}

#[test]
fn the_change_feed_tells_what_happened_to_work_items() {
    let bench = Bench::new();
    bench.create(json!({"name": "n"}));
    let _ = bench.update(json!({"workItems": [{"id": "1000", "name": "m"}, {"id": "5"}]}));
    let _ = bench
        .schedule(json!({"workItems": [{"id": "1000", "schedule": {"plannedStartDateTime": "2024-06-01T00:00:00Z"}}]}));
    bench.session.execute_work_item(&"1000".into(), "START").unwrap();
    bench.session.delete_work_items(vec!["1000".into()]).unwrap();
    let bench = bench.reopen();
    let mut changes = bench.session.changes(Position::START);
    let mut seen = Vec::new();
    while let Some(event) = changes.poll().unwrap() {
        assert_eq!((event.kind, event.id.as_str()), ("work item", "1000"));
        if event.what == What::Executed {
            let detail = event.detail.as_ref().unwrap();
            assert_eq!(
                (&detail["action"], &detail["newState"]),
                (&json!("START"), &json!("IN_PROGRESS"))
            );
        }
        seen.push(event.what);
    }
    assert_eq!(
        seen,
        [What::Created, What::Updated, What::Scheduled, What::Executed, What::Deleted]
    );
    // The longest timeout does not overflow, and no event follows the last position.
    let first = bench.session.changes(Position::START).next(std::time::Duration::MAX).unwrap();
    assert_eq!(first.map(|event| event.what), Some(What::Created));
    assert_eq!(bench.session.changes(Position(u64::MAX)).poll().unwrap(), None);
}

#[test]
fn a_thousand_items_with_one_percent_bad_ones_are_one_commit() {
    let bench = Bench::new();
    let before = bench.session.position();
    let requests: Vec<CreateWorkItemRequest> = (0..1000)
        .map(|n| {
            CreateWorkItemRequest::new()
                .name(format!("item {n}"))
                .maybe_state((n % 100 == 42).then(|| "nowhere".to_owned()))
        })
        .collect();
    let response = bench.session.create_work_items(requests.clone()).unwrap();
    assert_eq!(bench.session.position().0, before.0 + 1);
    assert_eq!(response.created_work_items.len(), 990);
    let failed: Vec<_> = requests.into_iter().filter(|request| request.state.is_some()).collect();
    assert_eq!(response.failed_work_items, Some(failed));
    assert_eq!(response.error.unwrap().inner_errors.len(), 10);
    let update = UpdateWorkItemsRequest::new(
        (0..1000)
            .map(|n| UpdateWorkItemRequest::new().id((1000 + n).to_string()).name("new"))
            .collect::<Vec<_>>(),
    );
    let response = bench.session.update_work_items(update).unwrap();
    assert_eq!(bench.session.position().0, before.0 + 2);
    let failed: Vec<_> =
        response.failed_work_items.unwrap().into_iter().filter_map(|request| request.id).collect();
    assert_eq!(failed, (1990..2000).map(|id| id.to_string()).collect::<Vec<_>>());
    let bench = bench.reopen();
    assert_eq!(bench.query(json!({"take": 0, "returnCount": true}))["totalCount"], 990);
}

#[test]
fn eight_threads_on_one_item_make_a_history_that_is_a_legal_sequence() {
    let bench = Bench::with_runner(Arc::new(Recorder::default()));
    bench.create(json!({
        "resources": {"systems": {"selections": [{"id": "s"}]}},
        "executionActions": [
            {"type": "MANUAL", "action": "RESET"}, {"type": "MANUAL", "action": "PAUSE"},
            {"type": "JOB", "action": "RESUME", "jobs": [{"functions": ["f"], "arguments": [[]]}]},
            {"type": "MANUAL", "action": "ABORT"}]
    }));
    let actions = ["START", "PAUSE", "RESUME", "END", "ABORT", "RESET", "START", "PAUSE"];
    let succeeded: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|thread| {
                let session = bench.session.clone();
                scope.spawn(move || {
                    let run = |step: usize| match session
                        .execute_work_item(&"1000".into(), actions[(thread + step) % 8])
                    {
                        Ok(response) => response.result.is_some(),
                        Err(error) => {
                            assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
                            false
                        }
                    };
                    (0..25).filter(|&step| run(step)).count()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let item = bench.session.get_work_item(&"1000".into()).unwrap();
    let history = item.execution_history.unwrap();
    assert_eq!(history.len(), succeeded, "no event was lost");
    let mut state = (Some(State::New), Some("NEW".to_owned()));
    for event in &history {
        let base = &event.base;
        assert_eq!((base.previous_state, base.previous_substate.clone()), state);
        if base.error.is_some() {
            assert_eq!(base.new_state, base.previous_state);
        }
        state = (base.new_state, base.new_substate.clone());
    }
    assert_eq!(state, (item.state, item.substate));
}

#[test]
fn two_sessions_that_update_one_item_lose_nothing_but_the_same_field() {
    let bench = Bench::new();
    bench.create(json!({}));
    let (one, two) = (bench.session.clone(), bench.store.session(Identity::user("bob")));
    let update = |session: &Session, who: &str, n: usize| {
        let _ = session
            .update_work_items(read(&json!({"workItems": [
                {"id": "1000", "name": format!("{who}{n}"), "properties": {format!("{who}{n}"): "x"}}]})))
            .unwrap();
        session.execute_work_item(&"1000".into(), "START").unwrap();
    };
    std::thread::scope(|scope| {
        scope.spawn(|| (0..20).for_each(|n| update(&one, "a", n)));
        scope.spawn(|| (0..20).for_each(|n| update(&two, "b", n)));
    });
    let item = bench.session.get_work_item(&"1000".into()).unwrap();
    assert_eq!(item.properties.unwrap().len(), 40);
    assert_eq!(item.execution_history.unwrap().len(), 40);
    assert!(["a19", "b19"].contains(&item.name.as_deref().unwrap()));
}

/// A policy: bob may see the workspace `lab`, and may not execute, create or delete.
const BOB_READS_LAB: Rule = Rule(|who, _, action| match (who.user_id(), action) {
    ("bob", Action::Read | Action::Update) => Visibility::workspaces(["lab"]),
    ("bob", _) => Visibility::None,
    _ => Visibility::All,
});

#[test]
fn the_access_policy_counts_item_by_item() {
    let store = StoreOptions::default().access_policy(BOB_READS_LAB).maintenance_thread(false);
    let store = store.open_disk(Arc::new(MemoryDisk::new())).unwrap();
    let (ada, bob) = (store.session(Identity::user("ada")), store.session(Identity::user("bob")));
    let _ = ada
        .create_work_items(read(&json!([{"workspace": "lab"}, {"workspace": "office"}])))
        .unwrap();
    assert_eq!(bob.get_work_item(&"1001".into()).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(bob.query_work_items(QueryWorkItemsRequest::default()).unwrap().work_items.len(), 1);
    assert_eq!(
        bob.execute_work_item(&"1000".into(), "START").unwrap_err().kind(),
        ErrorKind::PermissionDenied
    );
    let refused =
        bob.create_work_items(read(&json!([{"name": "mine", "workspace": "lab"}]))).unwrap();
    let inner = &refused.error.unwrap().inner_errors[0];
    assert_eq!(
        (inner.name.as_deref(), inner.code),
        (Some("Skyline.InsufficientPrivileges"), Some(-251_009))
    );
    let response = bob
        .update_work_items(read(&json!({"workItems": [
            {"id": "1000", "name": "seen"}, {"id": "1001", "name": "unseen"}, {"id": "1000", "workspace": "office"}]})))
        .unwrap();
    assert_eq!(response.updated_work_items.unwrap().len(), 1);
    let names: Vec<_> =
        response.error.unwrap().inner_errors.into_iter().filter_map(|inner| inner.name).collect();
    assert_eq!(
        names,
        ["Skyline.WorkOrder.WorkItemNotFoundOrNoAccess", "Skyline.InsufficientPrivileges"]
    );
    assert_eq!(
        ada.get_work_item(&"1000".into()).unwrap().workspace.as_deref(),
        Some("lab"),
        "a refused move moves nothing"
    );
    assert_eq!(
        bob.delete_work_items(vec!["1000".into()]).unwrap().unwrap().failed_ids,
        Some(vec!["1000".into()])
    );
}

#[test]
fn a_transaction_reads_its_own_templates_and_items_and_leaves_nothing_when_it_fails() {
    let bench = Bench::new();
    let make = |fail: bool| {
        bench.session.transaction(|tx| {
            let template = json!([{"name": "t", "templateGroup": "g", "type": "testplan", "testProgram": "p"}]);
            let made = tx.create_work_item_templates(read(&template))?.created_work_item_templates;
            let id = made[0].id.clone().unwrap();
            let items = tx.create_work_items(read(&json!([{"templateId": id.as_str()}])))?.created_work_items;
            let page = tx.query_work_items(read(&json!({"filter": "testProgram = \"p\""})))?;
            assert_eq!(page.work_items, items);
            if fail { Err(Error::invalid("changed my mind")) } else { Ok(()) }
        })
    };
    make(true).unwrap_err();
    assert_eq!(bench.query(json!({"returnCount": true}))["totalCount"], 0);
    make(false).unwrap();
    assert_eq!(bench.query(json!({"returnCount": true}))["totalCount"], 1);
}

/// The power fails at every possible write during the execution of a job action. Afterwards the
/// item is as before, or has an event with an unknown outcome, or has changed its state and has its
/// event. State and events always agree.
#[test]
fn a_power_cut_anywhere_in_an_execution_leaves_a_state_that_agrees_with_the_history() {
    let disk = SimDisk::new(7);
    let clock = clock();
    let open =
        |disk: SimDisk| options(&clock, Arc::new(FreshIdRunner)).open_disk(Arc::new(disk)).unwrap();
    let store = open(disk.clone());
    let session = store.session(Identity::user("ada"));
    let _ = session.create_work_items(vec![read(&runnable())]).unwrap();
    let before = disk.changes();
    session.execute_work_item(&"1000".into(), "START").unwrap();

    let mut replay = disk.replay();
    let (mut untouched, mut interrupted, mut done) = (0, 0, 0);
    for change in 0..disk.changes() {
        replay.advance();
        if change < before {
            continue;
        }
        for survival in [Survival::None, Survival::Random] {
            let store = open(replay.survivors(change as u64, survival));
            let item = store.session(Identity::user("ada")).get_work_item(&"1000".into()).unwrap();
            let history = item.execution_history.unwrap();
            match (item.state.unwrap(), history.as_slice()) {
                (State::New, []) => untouched += 1,
                (State::New, [event]) => {
                    let error = event.base.error.as_ref().unwrap();
                    assert_eq!(error.name.as_deref(), Some("StationDb.ExecutionInterrupted"));
                    interrupted += 1;
                }
                (State::InProgress, [event]) if event.base.error.is_none() => done += 1,
                (state, history) => panic!("{state} with {history:?}"),
            }
        }
    }
    assert!(untouched > 0 && interrupted > 0 && done > 0, "{untouched} {interrupted} {done}");
}
