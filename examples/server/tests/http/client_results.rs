//! What the integration suite of the public client for results and steps asks for, test by test,
//! over HTTP.
//!
//! The client is strict: it refuses members that it does not know. It sends whole answers back as
//! updates, with a null for each member that an answer has not. The store has a result of some
//! steps before each test, and nothing else after it: each test cleans up as the client does, with
//! deletions of steps that are gone already.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::client::{Reply, Server};
use crate::streams::NobodyWrites;

const BASE: &str = "/nitestmonitor/v2";
const RESULT: &str = "id programName status partNumber serialNumber operator systemId hostName \
    startedAt totalTimeInSeconds keywords properties fileIds dataTableIds workspace updatedAt \
    statusTypeSummary";
const STEP: &str = "stepId resultId parentId name stepType status startedAt totalTimeInSeconds \
    data dataModel inputs outputs keywords properties path pathIds hasChildren workspace updatedAt";
const STATUS_TYPES: &str = "LOOPING SKIPPED CUSTOM DONE PASSED FAILED RUNNING WAITING TERMINATED \
    ERRORED TIMED_OUT";
const FLAGS: &str = "getProducts queryProducts createProducts updateProducts deleteProducts \
    deleteManyProducts getResults getResultsPropertyKeys queryResults createResults updateResults \
    deleteResult deleteManyResults getSteps querySteps createSteps updateSteps deleteStep \
    deleteManySteps queryPaths";

/// The members that a record may have, and which of them it has to have.
fn strict<'v>(record: &'v Value, may: &str, must: &str) -> &'v Map<String, Value> {
    let members = record.as_object().unwrap_or_else(|| panic!("no record: {record}"));
    let known: BTreeSet<&str> = may.split_whitespace().collect();
    for name in members.keys() {
        assert!(known.contains(name.as_str()), "the client knows no member {name:?}: {record}");
    }
    for name in must.split_whitespace() {
        assert!(members.contains_key(name), "{name:?} is missing: {record}");
    }
    members
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

fn is_text(value: &Value, name: &str) {
    assert!(value.is_null() || value.is_string(), "{name} is {value}");
}

fn check_status(status: &Value) {
    if status.is_null() {
        return;
    }
    strict(status, "statusType statusName", "statusType");
    let of = text(&status["statusType"]);
    assert!(STATUS_TYPES.split_whitespace().any(|known| known == of), "{of}");
    is_text(&status["statusName"], "statusName");
}

fn check_properties(record: &Value) {
    for (key, value) in record["properties"].as_object().into_iter().flatten() {
        is_text(value, key);
    }
}

/// Time as answers write it.
fn check_time(value: &Value) {
    if let Some(time) = value.as_str() {
        assert!(time.len() == 24 && time.ends_with('Z'), "{time}");
    } else {
        assert!(value.is_null(), "{value}");
    }
}

/// A result with these members at least.
fn check_result(result: &Value, must: &str) {
    strict(result, RESULT, must);
    check_status(&result["status"]);
    check_properties(result);
    check_time(&result["startedAt"]);
    check_time(&result["updatedAt"]);
    if let Some(summary) = result.get("statusTypeSummary") {
        for (name, count) in strict(summary, STATUS_TYPES, STATUS_TYPES) {
            assert!(count.is_u64(), "{name}: {count}");
        }
    }
}

/// A step with these members at least.
fn check_step(step: &Value, must: &str) {
    strict(step, STEP, must);
    check_status(&step["status"]);
    check_properties(step);
    check_time(&step["startedAt"]);
    check_time(&step["updatedAt"]);
    if let Some(data) = step.get("data").filter(|data| !data.is_null()) {
        strict(data, "text parameters", "");
        for entry in data["parameters"].as_array().into_iter().flatten() {
            for (key, value) in entry.as_object().unwrap() {
                assert!(value.is_string(), "{key}: {value}");
            }
        }
    }
    for values in ["inputs", "outputs"] {
        for value in step[values].as_array().into_iter().flatten() {
            strict(value, "name value", "name value");
        }
    }
}

fn check_error(error: &Value) {
    strict(error, "name code message args innerErrors resourceId resourceType", "name message");
    for inner in error["innerErrors"].as_array().into_iter().flatten() {
        check_error(inner);
    }
}

/// The members in which a request and an answer agree: all that were sent.
fn assert_equal(sent: &Value, answered: &Value) {
    for (name, value) in sent.as_object().unwrap() {
        if !matches!(name.as_str(), "children" | "startedAt") {
            assert_eq!(&answered[name], value, "{name} of {answered}");
        }
    }
}

/// An answer as the client sends it back: a null for each member that the answer has not.
fn sent_back(answer: &Value, members: &str) -> Value {
    let of = |name: &str| (name.to_owned(), answer[name].clone());
    let read_only = ["statusTypeSummary", "updatedAt"];
    let names = members.split_whitespace().filter(|name| !read_only.contains(name));
    Value::Object(names.map(of).collect())
}

fn ids(records: &[Value], id: &str) -> BTreeSet<String> {
    records.iter().map(|record| text(&record[id]).to_owned()).collect()
}

/// The client, and what it has to clean up.
struct Client {
    server: Server,
    results: Vec<String>,
    steps: Vec<(String, String)>,
    part_numbers: BTreeSet<String>,
    /// Numbers its names.
    next: usize,
}

impl Client {
    fn call(&self, verb: &str, path: &str, body: &Value) -> Reply {
        let (headers, body) = match body {
            Value::Null => (vec![], String::new()),
            body => (vec![("content-type", "application/json")], body.to_string()),
        };
        self.server.send(verb, &format!("{BASE}/{path}"), &headers, body.as_bytes())
    }

    fn answer(&self, verb: &str, path: &str, body: &Value, status: u16) -> Value {
        let reply = self.call(verb, path, body);
        assert_eq!((reply.status, reply.is_whole), (status, true), "{verb} {path}: {reply:?}");
        assert_eq!(reply.headers["content-type"], "application/json", "{verb} {path}");
        reply.json()
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.answer("POST", path, body, 200)
    }

    /// A deletion that has nothing to tell.
    fn deleted(&self, verb: &str, path: &str, body: &Value) {
        let reply = self.call(verb, path, body);
        assert_eq!((reply.status, reply.body.len()), (204, 0), "{verb} {path}: {reply:?}");
        assert!(!reply.headers.contains_key("content-type"), "{reply:?}");
    }

    fn name(&mut self, what: &str) -> String {
        self.next += 1;
        format!("{what} {}", self.next)
    }

    /// What the fixtures of the client send.
    fn new_result(&mut self) -> Value {
        let part_number = self.name("part");
        self.part_numbers.insert(part_number.clone());
        json!({
            "partNumber": part_number, "programName": self.name("program"),
            "status": {"statusType": "PASSED"}, "hostName": self.name("host"),
            "systemId": self.name("system"), "serialNumber": self.name("serial"),
            "keywords": ["b", "a"], "properties": {"one": "1"},
        })
    }

    fn create(&mut self, results: &[Value]) -> Vec<Value> {
        let answer = self.answer("POST", "results", &json!({"results": results}), 201);
        strict(&answer, "results failed error", "results");
        assert!(answer["failed"].is_null() && answer["error"].is_null(), "{answer}");
        let made = list(&answer["results"]).to_vec();
        made.iter().for_each(|made| check_result(made, "id status updatedAt statusTypeSummary"));
        self.results.extend(ids(&made, "id"));
        made
    }

    /// The id of a new result.
    fn result(&mut self) -> String {
        let result = self.new_result();
        text(&self.create(&[result])[0]["id"]).to_owned()
    }

    fn create_steps(&mut self, steps: &[Value]) -> Vec<Value> {
        let answer = self.answer("POST", "steps", &json!({"steps": steps}), 201);
        strict(&answer, "steps failed error", "steps");
        assert!(answer["failed"].is_null() && answer["error"].is_null(), "{answer}");
        let made = list(&answer["steps"]).to_vec();
        for step in &made {
            check_step(step, "stepId resultId name path pathIds hasChildren workspace updatedAt");
            self.steps.push((text(&step["stepId"]).to_owned(), text(&step["resultId"]).to_owned()));
        }
        made
    }

    fn step(&mut self, result: &str) -> Value {
        let step = json!({"resultId": result, "name": self.name("step")});
        self.create_steps(&[step]).remove(0)
    }

    fn page(&self, verb: &str, path: &str, body: &Value, list_name: &str) -> (Vec<Value>, Value) {
        let page = self.answer(verb, path, body, 200);
        strict(&page, &format!("{list_name} continuationToken totalCount"), list_name);
        is_text(&page["continuationToken"], "continuationToken");
        (list(&page[list_name]).to_vec(), page)
    }

    fn results_page(&self, verb: &str, path: &str, body: &Value) -> (Vec<Value>, Value) {
        let (results, page) = self.page(verb, path, body, "results");
        results.iter().for_each(|result| check_result(result, ""));
        (results, page)
    }

    fn steps_page(&self, verb: &str, path: &str, body: &Value) -> (Vec<Value>, Value) {
        let (steps, page) = self.page(verb, path, body, "steps");
        steps.iter().for_each(|step| check_step(step, ""));
        (steps, page)
    }

    fn update_result(&self, result: Value, replace: bool) -> Value {
        let answer = self.post("update-results", &json!({"results": [result], "replace": replace}));
        strict(&answer, "results failed error", "results");
        assert!(answer["failed"].is_null() && answer["error"].is_null(), "{answer}");
        let updated = list(&answer["results"]);
        assert_eq!(updated.len(), 1);
        check_result(&updated[0], "id");
        updated[0].clone()
    }

    fn update_step(&self, step: Value, flags: &Value) -> Value {
        let mut body = json!({"steps": [step]});
        body.as_object_mut().unwrap().extend(flags.as_object().unwrap().clone());
        let answer = self.post("update-steps", &body);
        strict(&answer, "steps failed error", "steps");
        assert!(answer["failed"].is_null() && answer["error"].is_null(), "{answer}");
        let updated = list(&answer["steps"]);
        assert_eq!(updated.len(), 1);
        check_step(&updated[0], "stepId resultId");
        updated[0].clone()
    }

    fn pair(&self, at: usize) -> Value {
        let (step, result) = &self.steps[at];
        json!({"stepId": step, "resultId": result})
    }

    /// What the fixtures of the client do after each test. Steps are gone with what the test
    /// deleted: that is an answer with an error, and no failed call.
    fn clean_up(&mut self) {
        if !self.steps.is_empty() {
            let pairs: Vec<Value> = (0..self.steps.len()).map(|at| self.pair(at)).collect();
            let reply = self.call("POST", "delete-steps", &json!({"steps": pairs}));
            if reply.status != 204 {
                assert_eq!(reply.status, 200, "{reply:?}");
                let answer = reply.json();
                strict(&answer, "steps failed error", "steps failed error");
                check_error(&answer["error"]);
                for pair in list(&answer["failed"]).iter().chain(list(&answer["steps"])) {
                    strict(pair, "stepId resultId", "stepId resultId");
                    assert!(pairs.contains(pair), "{answer}");
                }
                assert!(!list(&answer["failed"]).is_empty(), "{answer}");
            }
        }
        if !self.results.is_empty() {
            self.deleted("POST", "delete-results", &json!({"ids": self.results}));
        }
        let filters = self.part_numbers.iter().map(|number| format!("partNumber=\"{number}\""));
        let filter = filters.collect::<Vec<_>>().join(" or ");
        if !filter.is_empty() {
            let values =
                self.post("query-product-values", &json!({"field": "ID", "filter": filter}));
            if !list(&values).is_empty() {
                self.deleted("POST", "delete-products", &json!({"ids": values}));
            }
        }
    }
}

/// Runs a test over a store with a result of some steps, and cleans up behind it.
fn run(test: impl FnOnce(&mut Client)) {
    let mut client = Client {
        server: Server::new(),
        results: vec![],
        steps: vec![],
        part_numbers: BTreeSet::new(),
        next: 0,
    };
    let other = client.result();
    let steps: Vec<_> =
        (0..3).map(|at| json!({"resultId": other, "name": format!("other {at}")})).collect();
    client.create_steps(&steps);
    client.results.clear();
    client.steps.clear();
    client.part_numbers.clear();
    test(&mut client);
    client.clean_up();
    for (path, count) in [("results", 1), ("steps", 3), ("products", 1)] {
        let page = client.answer("GET", &format!("{path}?returnCount=true"), &Value::Null, 200);
        assert_eq!(page["totalCount"], count, "what the clean-up leaves of {path}: {page}");
    }
}

#[test]
fn the_api_info_has_every_flag() {
    run(|client| {
        let info = client.answer("GET", "", &Value::Null, 200);
        strict(&info, "operations", "operations");
        for (name, flag) in strict(&info["operations"], FLAGS, FLAGS) {
            strict(flag, "available version", "available version");
            assert!(flag["version"].is_u64(), "{name}: {flag}");
            assert_eq!(flag["available"], name != "getResultsPropertyKeys", "{name}");
        }
    });
}

#[test]
fn a_created_result_comes_back_equal() {
    run(|client| {
        let sent = client.new_result();
        let made = client.create(std::slice::from_ref(&sent));
        assert_eq!(sent.as_object().unwrap().len(), 8);
        assert_equal(&sent, &made[0]);
        assert_eq!(made[0]["status"], json!({"statusType": "PASSED"}));
    });
}

#[test]
fn two_results_are_two_records_also_with_a_null_property() {
    run(|client| {
        let (mut one, other) = (client.new_result(), client.new_result());
        one["properties"] = json!({"one": null});
        let made = client.create(&[one, other.clone()]);
        assert_eq!(ids(&made, "id").len(), 2);
        assert_equal(&other, &made[1]);
        let (found, _) = client.results_page(
            "POST",
            "query-results",
            &json!({
            "filter": "properties.ContainsKey(\"one\") && properties[\"one\"] == null"}),
        );
        assert_eq!(ids(&found, "id"), ids(&made[..1], "id"));
    });
}

#[test]
fn all_results_are_listed() {
    run(|client| {
        let id = client.result();
        let (results, page) = client.results_page("GET", "results", &Value::Null);
        assert!(ids(&results, "id").contains(&id));
        assert!(page["totalCount"].is_null() && page["continuationToken"].is_null(), "{page}");
        // A query without a body is one of all results, and a negative take is the default.
        for path in ["results?take=-1", "results?take=-1&continuationToken="] {
            assert_eq!(client.results_page("GET", path, &Value::Null).0, results, "{path}");
        }
        for body in [
            Value::Null,
            json!({}),
            json!({"take": -1, "continuationToken": null, "projection": [], "filter": null}),
        ] {
            assert_eq!(client.results_page("POST", "query-results", &body).0, results, "{body}");
        }
    });
}

#[test]
fn a_page_of_one_result_has_one() {
    run(|client| {
        let id = client.result();
        let (results, page) = client.results_page("GET", "results?take=1", &Value::Null);
        assert_eq!(results.len(), 1);
        let next = format!("results?take=1&continuationToken={}", text(&page["continuationToken"]));
        let (rest, last) = client.results_page("GET", &next, &Value::Null);
        assert_eq!((rest.len(), text(&rest[0]["id"])), (1, id.as_str()));
        assert!(last["continuationToken"].is_null(), "{last}");
        let (none, page) = client.results_page(
            "POST",
            "query-results",
            &json!({
            "take": 0, "returnCount": true}),
        );
        assert_eq!((none.len(), &page["totalCount"]), (0, &json!(2)));
    });
}

#[test]
fn results_are_counted_when_it_is_asked() {
    run(|client| {
        client.result();
        let (_, page) = client.results_page("GET", "results?returnCount=true&take=1", &Value::Null);
        assert!(page["totalCount"].as_u64().unwrap() >= 2, "{page}");
    });
}

#[test]
fn a_result_is_found_by_its_id() {
    run(|client| {
        let sent = client.new_result();
        let id = text(&client.create(std::slice::from_ref(&sent))[0]["id"]).to_owned();
        let found = client.answer("GET", &format!("results/{id}"), &Value::Null, 200);
        check_result(&found, "id");
        assert_equal(&sent, &found);
        let unknown = client.answer("GET", "results/unknown", &Value::Null, 404);
        check_error(&strict(&unknown, "error", "error")["error"]);
        assert_eq!(unknown["error"]["name"], "TestMonitor.InvalidId");
    });
}

#[test]
fn a_query_has_exactly_the_members_of_its_projection() {
    run(|client| {
        let sent = client.new_result();
        let made = client.create(std::slice::from_ref(&sent)).remove(0);
        let (part, serial) = (text(&sent["partNumber"]), text(&sent["serialNumber"]));
        let query = |projection: Value| {
            json!({"filter": format!("partNumber=\"{part}\" and serialNumber=\"{serial}\""),
                   "returnCount": true, "projection": projection})
        };
        let names = json!(["ID", "PART_NUMBER", "SERIAL_NUMBER"]);
        let (results, page) = client.results_page("POST", "query-results", &query(names));
        assert_eq!(page["totalCount"], 1);
        let expected = json!({"id": made["id"], "partNumber": part, "serialNumber": serial});
        assert_eq!(results, [expected]);
        // Without the id where it is not listed, in the spelling of dashboards.
        let (results, _) =
            client.results_page("POST", "query-results", &query(json!(["partNumber"])));
        assert_eq!(results, [json!({"partNumber": part})]);
    });
}

/// Sends a whole answer back with another value of one member.
fn update_with(client: &mut Client, replace: bool, member: &str, given: &Value, expected: &Value) {
    let sent = client.new_result();
    let made = client.create(&[sent]).remove(0);
    let mut change = sent_back(&made, RESULT);
    assert!(change["operator"].is_null() && change.get("operator").is_some(), "a null is sent");
    change[member] = given.clone();
    let updated = client.update_result(change, replace);
    assert_eq!(&updated[member], expected);
    for name in RESULT.split_whitespace().filter(|name| ![member, "updatedAt"].contains(name)) {
        assert_eq!(updated[name], made[name], "{name}");
    }
    let path = format!("results/{}", text(&made["id"]));
    assert_eq!(client.answer("GET", &path, &Value::Null, 200), updated);
}

#[test]
fn keywords_are_replaced() {
    run(|client| update_with(client, true, "keywords", &json!(["c"]), &json!(["c"])));
}

#[test]
fn keywords_are_merged() {
    run(|client| {
        update_with(client, false, "keywords", &json!(["c", "a"]), &json!(["b", "a", "c"]));
    });
}

#[test]
fn properties_are_replaced() {
    run(|client| update_with(client, true, "properties", &json!({"2": "v"}), &json!({"2": "v"})));
}

#[test]
fn properties_are_merged() {
    let both = json!({"one": "1", "2": null});
    run(|client| update_with(client, false, "properties", &json!({"2": null}), &both));
}

/// A step with everything that the client compares.
fn full_step(result: &str, name: &str) -> Value {
    json!({
        "resultId": result, "name": name, "stepType": "NumericLimitTest",
        "data": {"text": "My output string", "parameters": [
            {"name": "p1", "measurement": "1.250", "status": "Passed", "units": "V",
             "nominalValue": "1", "lowLimit": "0.00", "highLimit": "1e1", "comparisonType": "GELE"},
            {"name": "p2", "misc_value": "x", "miscValue": "y", "": "empty key"}, {}]},
        "properties": {"p": "v", "q r": ""}, "keywords": ["z", "a"],
        "inputs": [{"name": "i", "value": "35"}, {"name": "i", "value": 35},
                   {"name": "n", "value": null}, {"name": "o", "value": {"x": [1.5, true]}}],
    })
}

#[test]
fn a_created_step_comes_back_equal() {
    run(|client| {
        let result = client.result();
        let sent = full_step(&result, "Gain");
        let made = client.create_steps(std::slice::from_ref(&sent)).remove(0);
        assert_equal(&sent, &made);
        assert!(made["outputs"].as_array().is_none_or(Vec::is_empty), "{made}");
        assert!(!text(&made["stepId"]).is_empty());
        assert_eq!(made["path"], "Gain");
        assert_eq!(made["pathIds"], json!([made["stepId"]]));
    });
}

#[test]
fn a_step_keeps_the_id_that_it_was_sent_with() {
    run(|client| {
        let result = client.result();
        let mut sent = full_step(&result, "Gain");
        sent["stepId"] = json!("step id / 1");
        let made = client.create_steps(std::slice::from_ref(&sent)).remove(0);
        assert_equal(&sent, &made);
        let path = format!("results/{result}/steps/step%20id%20%2F%201");
        assert_eq!(client.answer("GET", &path, &Value::Null, 200), made);
        // The same id once more fails, alone.
        let more = json!({"resultId": result, "name": "other", "stepId": null});
        let answer = client.post("steps", &json!({"steps": [sent, more]}));
        strict(&answer, "steps failed error", "steps failed error");
        check_error(&answer["error"]);
        assert_eq!(answer["failed"], json!([sent]));
        let names: Vec<_> = list(&answer["steps"]).iter().map(|step| &step["name"]).collect();
        assert_eq!(names, [&json!("other")]);
        assert_eq!(answer["error"]["innerErrors"][0]["name"], "TestMonitor.StepIdInUse");
        for step in list(&answer["steps"]) {
            client.steps.push((text(&step["stepId"]).to_owned(), result.clone()));
        }
        let all = client.post("steps", &json!({"steps": [{"resultId": "unknown", "name": "n"}]}));
        assert_eq!(all["steps"], json!([]));
        assert_eq!(all["error"]["innerErrors"][0]["name"], "TestMonitor.InvalidId");
    });
}

#[test]
fn two_steps_are_two_answers() {
    run(|client| {
        let result = client.result();
        let steps = ["one", "two"].map(|name| full_step(&result, name));
        let made = client.create_steps(&steps);
        assert_eq!((made.len(), ids(&made, "stepId").len()), (2, 2));
        assert_equal(&steps[1], &made[1]);
    });
}

#[test]
fn a_child_comes_behind_its_parent_and_names_it() {
    run(|client| {
        let result = client.result();
        let mut sent = full_step(&result, "parent");
        sent["children"] = json!([{"name": "child", "children": null}]);
        let made = client.create_steps(&[sent]);
        assert_eq!(made.len(), 2);
        assert_eq!(made[1]["parentId"], made[0]["stepId"]);
        assert_eq!(made[1]["resultId"], json!(result));
        assert_eq!(made[1]["path"], "parent\nchild");
        assert_eq!(made[1]["pathIds"], json!([made[0]["stepId"], made[1]["stepId"]]));
        assert_eq!(
            (&made[0]["hasChildren"], &made[1]["hasChildren"]),
            (&json!(true), &json!(false))
        );
        assert!(made[0]["parentId"].is_null());
    });
}

#[test]
fn all_steps_are_listed() {
    run(|client| {
        let result = client.result();
        let made = client.step(&result);
        let (steps, page) = client.steps_page("GET", "steps", &Value::Null);
        assert!(steps.contains(&made));
        assert!(page["totalCount"].is_null() && page["continuationToken"].is_null(), "{page}");
        let (same, _) = client.steps_page("GET", "steps?take=-1", &Value::Null);
        assert_eq!(same, steps);
        for body in [Value::Null, json!({}), json!({"take": -1, "resultFilter": null})] {
            assert_eq!(client.steps_page("POST", "query-steps", &body).0, steps, "{body}");
        }
    });
}

#[test]
fn a_page_of_one_step_has_one() {
    run(|client| {
        let result = client.result();
        client.step(&result);
        let (mut path, mut seen) = ("steps?take=1".to_owned(), Vec::new());
        loop {
            let (steps, page) = client.steps_page("GET", &path, &Value::Null);
            assert_eq!(steps.len(), 1);
            seen.extend(steps);
            let Some(token) = page["continuationToken"].as_str() else { break };
            path = format!("steps?take=1&continuationToken={token}");
        }
        assert_eq!((seen.len(), ids(&seen, "stepId").len()), (4, 4));
    });
}

#[test]
fn steps_are_counted_when_it_is_asked() {
    run(|client| {
        let result = client.result();
        client.step(&result);
        let path = "steps?take=5&returnCount=true";
        let (_, page) = client.steps_page("GET", path, &Value::Null);
        assert!(page["totalCount"].as_u64().unwrap() >= 2, "{page}");
    });
}

#[test]
fn a_step_is_found_by_its_ids() {
    run(|client| {
        let result = client.result();
        let made = client.step(&result);
        let path = format!("results/{result}/steps/{}", text(&made["stepId"]));
        let found = client.answer("GET", &path, &Value::Null, 200);
        check_step(&found, "stepId resultId");
        assert_eq!(found, made);
    });
}

#[test]
fn steps_are_found_by_name_and_result() {
    run(|client| {
        let result = client.result();
        let made = client.step(&result);
        let name = text(&made["name"]);
        // One `&` between comparisons is `and`.
        for filter in [
            format!("name=\"{name}\" & resultId=\"{result}\""),
            format!("name = \"{name}\" && resultId == \"{result}\" & hasChildren = \"False\""),
        ] {
            let query = json!({"filter": filter, "returnCount": true, "projection": ["stepId"]});
            let (steps, page) = client.steps_page("POST", "query-steps", &query);
            assert_eq!(
                (&steps[..], &page["totalCount"]),
                (&[json!({"stepId": made["stepId"]})][..], &json!(1)),
                "{filter}"
            );
        }
        let query = json!({"filter": "name = @0", "substitutions": [name],
            "resultFilter": "id == @0", "resultSubstitutions": [result]});
        assert_eq!(client.steps_page("POST", "query-steps", &query).0, [made]);
    });
}

#[test]
fn the_values_of_a_name_are_one() {
    run(|client| {
        let result = client.result();
        let name = client.step(&result)["name"].clone();
        let filter = format!("name=\"{}\" & resultId=\"{result}\"", text(&name));
        for field in ["NAME", "name"] {
            let query = json!({"field": field, "filter": filter, "startsWith": null});
            assert_eq!(client.post("query-step-values", &query), json!([name]));
        }
    });
}

#[test]
fn the_values_of_a_program_are_one() {
    run(|client| {
        let sent = client.new_result();
        client.create(std::slice::from_ref(&sent));
        let program = text(&sent["programName"]);
        let query = json!({"field": "PROGRAM_NAME", "startsWith": program,
            "filter": format!("partNumber = \"{}\"", text(&sent["partNumber"]))});
        assert_eq!(client.post("query-result-values", &query), json!([program]));
    });
}

#[test]
fn data_inputs_and_outputs_are_replaced_as_a_whole() {
    run(|client| {
        let result = client.result();
        let mut sent = full_step(&result, "Gain");
        sent["outputs"] = json!([{"name": "old", "value": 1}]);
        let made = client.create_steps(&[sent]).remove(0);
        let mut change = sent_back(&made, STEP);
        assert!(change["parentId"].is_null() && change.get("parentId").is_some(), "a null is sent");
        let given = [
            ("data", json!({"text": "new", "parameters": [{"name": "p", "specId": "S-1"}]})),
            ("inputs", json!([{"name": "new", "value": "v"}])),
            ("outputs", json!([{"name": "out", "value": 3.5}, {"name": "two", "value": false}])),
        ];
        for (name, value) in &given {
            change[*name] = value.clone();
        }
        let updated = client.update_step(change, &json!({}));
        for (name, value) in &given {
            assert_eq!(&updated[*name], value, "{name}");
        }
        assert_eq!(updated["keywords"], made["keywords"]);
        assert_eq!(updated["path"], made["path"]);
        let path = format!("results/{result}/steps/{}", text(&made["stepId"]));
        assert_eq!(client.answer("GET", &path, &Value::Null, 200), updated);
    });
}

#[test]
fn with_both_flags_keywords_and_properties_are_replaced() {
    run(|client| {
        let result = client.result();
        let made = client.create_steps(&[full_step(&result, "Gain")]).remove(0);
        let mut change = sent_back(&made, STEP);
        change["keywords"] = json!(["new"]);
        change["properties"] = json!({"new": "1"});
        let merged = client.update_step(change.clone(), &json!({"replaceKeywords": false}));
        assert_eq!(merged["keywords"], json!(["z", "a", "new"]));
        assert_eq!(merged["properties"], json!({"p": "v", "q r": "", "new": "1"}));
        let flags = json!({"replaceKeywords": true, "replaceProperties": true,
                           "updateResultTotalTime": false});
        let replaced = client.update_step(change.clone(), &flags);
        assert_equal(&change, &replaced);
    });
}

#[test]
fn the_deletion_of_a_step_answers_nothing() {
    run(|client| {
        let result = client.result();
        let made = client.step(&result);
        let path = format!("results/{result}/steps/{}", text(&made["stepId"]));
        client.deleted("DELETE", &path, &Value::Null);
        let gone = client.answer("GET", &path, &Value::Null, 404);
        check_error(&strict(&gone, "error", "error")["error"]);
    });
}

#[test]
fn an_unknown_pair_is_an_error_that_names_it() {
    run(|client| {
        let result = client.result();
        let paths = [format!("results/{result}/steps/gone"), "results/gone/steps/gone".to_owned()];
        for (verb, path) in paths.iter().flat_map(|path| [("DELETE", path), ("GET", path)]) {
            let reply = client.call(verb, path, &Value::Null);
            assert_eq!(reply.status, 404, "{verb} {path}");
            let text = String::from_utf8(reply.body.clone()).unwrap();
            assert!(text.contains("InvalidResultOrStepId"), "{text}");
            check_error(&strict(&reply.json(), "error", "error")["error"]);
        }
        let answer = client.post(
            "update-steps",
            &json!({"steps": [
            {"resultId": result, "stepId": "gone", "children": [{"stepId": "too"}]}]}),
        );
        strict(&answer, "steps failed error", "steps failed error");
        check_error(&answer["error"]);
        assert_eq!(
            answer["failed"],
            json!([
            {"resultId": result, "stepId": "gone", "children": [{"stepId": "too"}]}])
        );
        let inner = &answer["error"]["innerErrors"][0];
        assert_eq!(inner["name"], "TestMonitor.InvalidResultOrStepId");
    });
}

#[test]
fn the_deletion_of_two_steps_answers_nothing() {
    run(|client| {
        let result = client.result();
        let pairs: Vec<Value> = (0..2)
            .map(|at| {
                client.step(&result);
                client.pair(at)
            })
            .collect();
        client.deleted("POST", "delete-steps", &json!({"steps": pairs}));
        // Once more, as the clean-up does: a record, and no failed call.
        let gone = client.post("delete-steps", &json!({"steps": pairs}));
        strict(&gone, "steps failed error", "steps failed error");
        assert_eq!((&gone["steps"], &gone["failed"]), (&json!([]), &json!(pairs)));
        assert_eq!(gone["error"]["name"], "TestMonitorErrorCodes.OneOrMoreErrorsOccurred");
        assert_eq!(gone["error"]["code"], -252_921);
        assert!(gone.to_string().contains("InvalidResultOrStepId"), "{gone}");
    });
}

/// The client has no test of it: a query with the format CSV answers text.
#[test]
fn queries_answer_csv() {
    run(|client| {
        let result = client.result();
        let made = client.create_steps(&[full_step(&result, "a, \"b\"")]).remove(0);
        let csv = |path: &str, body: Value| {
            let reply = client.call("POST", path, &body);
            assert_eq!(reply.status, 200, "{reply:?}");
            assert_eq!(reply.headers["content-type"], "text/csv; charset=utf-8");
            String::from_utf8(reply.body).unwrap()
        };
        let steps = csv(
            "query-steps",
            json!({"responseFormat": "CSV",
            "filter": format!("resultId == \"{result}\""),
            "projection": ["PROPERTIES", "KEYWORDS", "STEP_ID", "NAME"]}),
        );
        let (lines, id) = (steps.lines().collect::<Vec<_>>(), text(&made["stepId"]));
        assert_eq!(
            lines,
            [
                "name,stepId,keywords,properties.p,properties.q r".to_owned(),
                format!("\"a, \"\"b\"\"\",{id},\"[\"\"z\"\",\"\"a\"\"]\",v,\"\"")
            ]
        );
        let results = csv(
            "query-results",
            json!({"responseFormat": "csv", "take": 1,
            "projection": ["STATUS", "ID"], "filter": format!("id == \"{result}\"")}),
        );
        assert_eq!(results, format!("id,status\n{result},PASSED\n"));
        let page = client.results_page("POST", "query-results", &json!({"responseFormat": "JSON"}));
        assert_eq!(page.0.len(), 2);
    });
}

/// The policy is asked for steps as for their result.
#[test]
fn a_caller_who_may_only_read_changes_no_step() {
    let options = stationdb::Store::options().access_policy(NobodyWrites);
    let server = Server::start(options, std::time::Duration::from_secs(60));
    let send = |user: &str, verb: &str, path: &str, body: Value| {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        server.send(verb, &format!("{BASE}/{path}"), &[("x-user", user)], body.as_bytes())
    };
    let result = json!({"results": [{"programName": "P", "status": {"statusType": "DONE"}}]});
    let result = send("ada", "POST", "results", result).json()["results"][0]["id"].clone();
    let step = json!({"steps": [{"resultId": result, "stepId": "s", "name": "n"}]});
    assert_eq!(send("ada", "POST", "steps", step).status, 201);
    let pair = json!({"steps": [{"resultId": result, "stepId": "s"}]});
    let more = json!({"steps": [{"resultId": result, "name": "n"}]});
    for (path, body) in [("steps", more), ("update-steps", pair.clone()), ("delete-steps", pair)] {
        let reply = send("guest", "POST", path, body.clone());
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        let answer = reply.json();
        assert_eq!((&answer["steps"], &answer["failed"]), (&json!([]), &body["steps"]), "{path}");
        let inner = &answer["error"]["innerErrors"][0]["name"];
        assert_eq!(inner, "Skyline.InsufficientPrivileges", "{path}");
    }
    let path = format!("results/{}/steps/s", text(&result));
    let refused = send("guest", "DELETE", &path, Value::Null);
    assert_eq!(refused.status, 403, "{refused:?}");
    let read = [&path, "steps", "paths"].map(|path| send("guest", "GET", path, Value::Null));
    assert_eq!(read.each_ref().map(|reply| reply.status), [200; 3]);
    assert_eq!(list(&read[1].json()["steps"]), [read[0].json()]);
    assert_eq!(list(&read[2].json()["paths"]).len(), 1);
}

#[test]
fn steps_nest_in_100_levels() {
    run(|client| {
        let id = client.result();
        let nested = |levels: usize| {
            let around = |inner, _| json!({"name": "outer", "children": [inner]});
            let mut step = (1..levels).fold(json!({"name": "deepest"}), around);
            step["resultId"] = json!(id);
            step
        };
        let made = client.create_steps(&[nested(100)]);
        assert_eq!((made.len(), &made[99]["name"]), (100, &json!("deepest")));
        assert_eq!(list(&made[99]["pathIds"]).len(), 100);
        for levels in [102, 5_000] {
            // Its text is made here, because a parsed value so deep takes much stack.
            let body = format!(
                "{{\"steps\":[{{\"resultId\":\"{id}\"{}{}]}}",
                ",\"name\":\"n\",\"children\":[{\"x\":1".repeat(levels - 1),
                "}]".repeat(levels - 1) + "}"
            );
            let headers = [("content-type", "application/json")];
            let path = format!("{BASE}/steps");
            let refused = client.server.send("POST", &path, &headers, body.as_bytes());
            assert_eq!(refused.status, 400);
            assert_eq!(refused.json()["error"]["name"], "StationDb.LimitExceeded");
        }
    });
}
