//! Both services compared with plain maps: the same responses, the same order, the same errors,
//! with reopenings.
//!
//! The reference below implements the rules of the services and shares no code with them. It has
//! one plain struct for each record, and renders the JSON that each service returns.

use crate::prelude::*;

use chrono::DateTime;
use proptest::prelude::*;

use crate::wire_time;

const STATES: [&str; 9] = [
    "NEW",
    "DEFINED",
    "REVIEWED",
    "SCHEDULED",
    "IN_PROGRESS",
    "PENDING_APPROVAL",
    "CLOSED",
    "CANCELED",
    "NOWHERE",
];
const ACTIONS: [&str; 10] = [
    "START",
    "END",
    "end",
    "PAUSE",
    "ABORT",
    "LOOK",
    "CUSTOM",
    "SCHEDULE",
    "UNSCHEDULE",
    "COMPLETE",
];

/// A member that is absent, null or a value.
#[derive(Clone, Debug)]
enum Tri<T> {
    Absent,
    Null,
    Value(T),
}

#[derive(Clone, Debug)]
struct Entry {
    id: u64,
    name: Tri<u8>,
    state: Option<usize>,
    properties: Tri<BTreeMap<String, String>>,
    files: Tri<Vec<String>>,
    start: Tri<i64>,
    end: Tri<i64>,
    reserved: Tri<Vec<String>>,
    estimate: Option<i64>,
}

#[derive(Clone, Debug)]
enum Op {
    Create(Vec<Entry>),
    Update(bool, Vec<Entry>),
    Schedule(bool, Vec<Entry>),
    Delete(Vec<u64>),
    Execute(u64, usize),
    Query { by_update: bool, descending: bool, take: usize },
    Reopen,
}

fn tri<T: Clone + std::fmt::Debug + 'static>(
    value: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = Tri<T>> {
    prop_oneof![2 => Just(Tri::Absent), 1 => Just(Tri::Null), 3 => value.prop_map(Tri::Value)]
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[a-c]", 0..3)
}

fn entry() -> impl Strategy<Value = Entry> {
    let map = prop::collection::btree_map("[k-m]", "[x-z]", 0..3);
    let first = (
        1000u64..1004,
        tri(0u8..4),
        prop::option::weighted(0.4, 0usize..9),
        tri(map),
        tri(texts()),
    );
    let second = (tri(0i64..3), tri(0i64..3), tri(texts()), prop::option::weighted(0.3, -1i64..3));
    (first, second).prop_map(
        |((id, name, state, properties, files), (start, end, reserved, estimate))| Entry {
            id,
            name,
            state,
            properties,
            files,
            start,
            end,
            reserved,
            estimate,
        },
    )
}

fn op() -> impl Strategy<Value = Op> {
    let entries = || prop::collection::vec(entry(), 0..3);
    prop_oneof![
        3 => entries().prop_map(Op::Create),
        3 => (any::<bool>(), entries()).prop_map(|(replace, entries)| Op::Update(replace, entries)),
        3 => (any::<bool>(), entries()).prop_map(|(replace, entries)| Op::Schedule(replace, entries)),
        1 => prop::collection::vec(1000u64..1004, 0..3).prop_map(Op::Delete),
        5 => (1000u64..1004, 0usize..ACTIONS.len()).prop_map(|(id, action)| Op::Execute(id, action)),
        2 => (any::<bool>(), any::<bool>(), 1usize..4)
            .prop_map(|(by_update, descending, take)| Op::Query { by_update, descending, take }),
        1 => Just(Op::Reopen),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Service {
    Items,
    Plans,
}

// ---- the requests on the wire ----

fn at(day: i64) -> String {
    format!("2024-06-0{}T00:00:00.000Z", day + 1)
}

fn set<T>(target: &mut Value, name: &str, value: &Tri<T>, write: impl Fn(&T) -> Value) {
    match value {
        Tri::Absent => {}
        Tri::Null => target[name] = Value::Null,
        Tri::Value(value) => target[name] = write(value),
    }
}

fn definitions() -> Value {
    json!([{"type": "MANUAL", "action": "PAUSE"}, {"type": "NONE", "action": "LOOK"},
        {"type": "MANUAL", "action": "CUSTOM"}, {"type": "MANUAL", "action": "ABORT"}])
}

impl Entry {
    fn create(&self, service: Service) -> Value {
        let mut request = json!({ "executionActions": definitions() });
        if let Tri::Value(name) = self.name {
            request["name"] = json!(format!("n{name}"));
        }
        if let Some(state) = self.state {
            request["state"] = json!(STATES[state]);
        }
        if let Tri::Value(properties) = &self.properties {
            request["properties"] = json!(properties);
        }
        if let Tri::Value(files) = &self.files {
            request["fileIdsFromTemplate"] = json!(files);
        }
        match (self.estimate, service) {
            (None, _) => {}
            (Some(seconds), Service::Items) => {
                request["timeline"] = json!({ "estimatedDurationInSeconds": seconds });
            }
            (Some(seconds), Service::Plans) => {
                request["estimatedDurationInSeconds"] = json!(seconds);
            }
        }
        request
    }

    fn update(&self) -> Value {
        let mut request = json!({ "id": self.id.to_string() });
        set(&mut request, "name", &self.name, |name| json!(format!("n{name}")));
        if let Some(state) = self.state {
            request["state"] = json!(STATES[state]);
        }
        set(&mut request, "properties", &self.properties, |properties| json!(properties));
        set(&mut request, "fileIdsFromTemplate", &self.files, |files| json!(files));
        request
    }

    fn schedule(&self, service: Service) -> Value {
        let mut request = json!({ "id": self.id.to_string() });
        let mut plan = json!({});
        let (start, end) = match service {
            Service::Items => ("plannedStartDateTime", "plannedEndDateTime"),
            Service::Plans => ("plannedStartDateTime", "estimatedEndDateTime"),
        };
        set(&mut plan, start, &self.start, |day| json!(at(*day)));
        set(&mut plan, end, &self.end, |day| json!(at(*day)));
        match service {
            Service::Items => {
                if plan != json!({}) {
                    request["schedule"] = plan;
                }
                let mut systems = json!({});
                let selections =
                    |ids: &Vec<String>| ids.iter().map(|id| json!({ "id": id })).collect();
                set(&mut systems, "selections", &self.reserved, selections);
                request["resources"] = json!({ "systems": systems });
            }
            Service::Plans => {
                for (name, value) in plan.as_object().unwrap() {
                    request[name] = value.clone();
                }
                request["systemId"] = json!("s");
                set(&mut request, "fixtureIds", &self.reserved, |ids| json!(ids));
            }
        }
        request
    }
}

// ---- the reference ----

#[derive(Clone, Debug, Default)]
struct Record {
    name: Option<String>,
    state: String,
    substate: String,
    properties: Option<BTreeMap<String, String>>,
    files: Option<Vec<String>>,
    estimate: Option<i64>,
    start: Option<i64>,
    end: Option<i64>,
    has_schedule: bool,
    has_system: bool,
    reserved: Option<Vec<String>>,
    created_at: i64,
    updated_at: i64,
    history: Vec<Value>,
}

const INVALID: &str = "Skyline.WorkOrder.InputValidationError";
const STATE: &str = "Skyline.WorkOrder.InvalidState";

struct Reference {
    service: Service,
    records: BTreeMap<u64, Record>,
    next: u64,
}

type Refused = &'static str;

impl Reference {
    fn not_found(&self) -> Refused {
        match self.service {
            Service::Items => "Skyline.WorkOrder.WorkItemNotFoundOrNoAccess",
            Service::Plans => "Skyline.WorkOrder.TestPlanNotFoundOrNoAccess",
        }
    }

    fn create(&mut self, entry: &Entry, now: i64) -> Result<u64, Refused> {
        let state = STATES[entry.state.unwrap_or_default()];
        if state == "NOWHERE" || entry.estimate.is_some_and(|seconds| seconds < 0) {
            return Err(INVALID);
        }
        let value = |name: &Tri<u8>| {
            if let Tri::Value(name) = name { Some(format!("n{name}")) } else { None }
        };
        let record = Record {
            name: value(&entry.name),
            state: state.to_owned(),
            substate: state.to_owned(),
            properties: if let Tri::Value(map) = &entry.properties {
                Some(map.clone())
            } else {
                None
            },
            files: if let Tri::Value(files) = &entry.files { Some(files.clone()) } else { None },
            estimate: entry.estimate,
            reserved: (self.service == Service::Plans).then(Vec::new),
            created_at: now,
            updated_at: now,
            ..Record::default()
        };
        let id = self.next;
        self.next += 1;
        self.records.insert(id, record);
        Ok(id)
    }

    fn update(&mut self, entry: &Entry, replace: bool, now: i64) -> Result<(), Refused> {
        let refused = self.not_found();
        let record = self.records.get_mut(&entry.id).ok_or(refused)?;
        if entry.state == Some(8) {
            return Err(INVALID);
        }
        if let Some(state) = entry.state {
            record.go_to(STATES[state]);
        }
        match &entry.name {
            Tri::Absent => {}
            Tri::Null => record.name = None,
            Tri::Value(name) => record.name = Some(format!("n{name}")),
        }
        match &entry.properties {
            Tri::Absent => {}
            Tri::Null => record.properties = None,
            Tri::Value(map) if replace => record.properties = Some(map.clone()),
            Tri::Value(map) => record.properties.get_or_insert_default().extend(map.clone()),
        }
        merge(&mut record.files, &entry.files, replace);
        record.updated_at = now;
        Ok(())
    }

    fn schedule(&mut self, entry: &Entry, replace: bool, now: i64) -> Result<(), Refused> {
        let (service, refused) = (self.service, self.not_found());
        let stored = self.records.get_mut(&entry.id).ok_or(refused)?;
        let mut record = stored.clone();
        for (target, value) in [(&mut record.start, &entry.start), (&mut record.end, &entry.end)] {
            match value {
                Tri::Absent => continue,
                Tri::Null => *target = None,
                Tri::Value(day) => *target = Some(*day),
            }
            record.has_schedule = true;
        }
        record.has_system = true;
        // The merge of resources compares ids: an entry with an equal id replaces the stored one.
        let reserved = match (&entry.reserved, service, replace) {
            (Tri::Value(ids), _, true) => Tri::Value(ids.clone()),
            (other, _, _) => other.clone(),
        };
        merge(&mut record.reserved, &reserved, replace);
        if matches!(record.state.as_str(), "CLOSED" | "CANCELED") {
            return Err(STATE);
        }
        if matches!(record.state.as_str(), "NEW" | "DEFINED" | "REVIEWED") && record.start.is_some()
        {
            record.go_to("SCHEDULED");
        }
        if record.start.zip(record.end).is_some_and(|(start, end)| end < start) {
            return Err(INVALID);
        }
        record.updated_at = now;
        *stored = record;
        Ok(())
    }

    fn execute(&mut self, id: u64, action: &str, now: i64) -> Result<&'static str, Refused> {
        let refused = self.not_found();
        let record = self.records.get_mut(&id).ok_or(refused)?;
        let terminal = matches!(record.state.as_str(), "CLOSED" | "CANCELED");
        let (kind, target) = match action {
            "COMPLETE" => return Err("Skyline.WorkOrder.ActionNotFound"),
            _ if terminal => return Err(STATE),
            "START" => ("MANUAL", Some(("IN_PROGRESS", "IN_PROGRESS"))),
            "END" | "end" => ("MANUAL", Some(("PENDING_APPROVAL", "PENDING_APPROVAL"))),
            "ABORT" => ("MANUAL", Some(("CANCELED", "CANCELED"))),
            "PAUSE" if record.state == "IN_PROGRESS" => ("MANUAL", Some(("IN_PROGRESS", "PAUSED"))),
            "LOOK" => ("NONE", None),
            "CUSTOM" => ("MANUAL", None),
            "SCHEDULE"
                if matches!(record.state.as_str(), "NEW" | "DEFINED" | "REVIEWED")
                    && record.start.is_some() =>
            {
                ("SCHEDULE", Some(("SCHEDULED", "SCHEDULED")))
            }
            "UNSCHEDULE" if record.state == "SCHEDULED" => {
                ("UNSCHEDULE", Some(("REVIEWED", "REVIEWED")))
            }
            _ => return Err(STATE),
        };
        let before = (record.state.clone(), record.substate.clone());
        if let Some((state, substate)) = target {
            if before != (state.to_owned(), substate.to_owned()) {
                record.updated_at = now;
            }
            record.state = state.to_owned();
            record.substate = substate.to_owned();
        }
        if kind == "UNSCHEDULE" {
            (record.start, record.end, record.has_schedule) = (None, None, false);
        }
        if kind == "MANUAL" {
            record.history.push(json!({
                "type": "MANUAL", "action": action, "triggeredAt": stamp(now), "triggeredBy": "ada",
                "previousState": before.0, "previousSubstate": before.1,
                "newState": record.state, "newSubstate": record.substate
            }));
        }
        Ok(kind)
    }

    fn render(&self, id: u64) -> Value {
        let record = &self.records[&id];
        let mut out = json!({
            "id": id.to_string(), "state": record.state, "substate": record.substate, "workspace": "default",
            "executionActions": definitions(), "createdBy": "ada", "updatedBy": "ada",
            "createdAt": stamp(record.created_at), "updatedAt": stamp(record.updated_at),
            "executionHistory": record.history
        });
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                out[name] = value;
            }
        };
        put("name", record.name.as_ref().map(|name| json!(name)));
        put("properties", Some(json!(record.properties.clone().unwrap_or_default())));
        put("fileIdsFromTemplate", Some(json!(record.files.clone().unwrap_or_default())));
        match self.service {
            Service::Items => {
                put(
                    "timeline",
                    record.estimate.map(|seconds| json!({ "estimatedDurationInSeconds": seconds })),
                );
                let mut schedule = json!({});
                if let Some(day) = record.start {
                    schedule["plannedStartDateTime"] = json!(at(day));
                }
                if let Some(day) = record.end {
                    schedule["plannedEndDateTime"] = json!(at(day));
                }
                put("schedule", record.has_schedule.then_some(schedule));
                let mut systems = json!({});
                let reserved = record.reserved.iter().flatten();
                systems["selections"] = reserved.map(|id| json!({ "id": id })).collect();
                put("resources", record.has_system.then(|| json!({ "systems": systems })));
            }
            Service::Plans => {
                put("estimatedDurationInSeconds", record.estimate.map(Value::from));
                put("plannedStartDateTime", record.start.map(|day| json!(at(day))));
                put("estimatedEndDateTime", record.end.map(|day| json!(at(day))));
                put("systemId", record.has_system.then(|| json!("s")));
                put("fixtureIds", Some(json!(record.reserved.clone().unwrap_or_default())));
            }
        }
        out
    }
}

impl Record {
    fn go_to(&mut self, state: &str) {
        if self.state != state {
            self.state = state.to_owned();
            self.substate = state.to_owned();
        }
    }
}

fn merge(target: &mut Option<Vec<String>>, value: &Tri<Vec<String>>, replace: bool) {
    match value {
        Tri::Absent => {}
        Tri::Null => *target = None,
        Tri::Value(items) if replace => *target = Some(items.clone()),
        Tri::Value(items) => {
            let target = target.get_or_insert_default();
            for item in items {
                if !target.contains(item) {
                    target.push(item.clone());
                }
            }
        }
    }
}

fn stamp(ms: i64) -> String {
    wire_time(DateTime::from_timestamp_millis(ms).unwrap())
}

// ---- the store ----

struct Bench {
    disk: Arc<MemoryDisk>,
    clock: Arc<ManualClock>,
    store: Option<(Store, Session)>,
}

impl Bench {
    fn open(&mut self) {
        self.store = None;
        let clock: Arc<dyn Clock> = self.clock.clone();
        let options = StoreOptions::default().shared_clock(clock).maintenance_thread(false);
        let (store, session) = opened(options, self.disk.clone());
        self.store = Some((store, session));
    }

    fn session(&self) -> &Session {
        &self.store.as_ref().unwrap().1
    }
}

/// The response, with its error reduced to name and id of each inner error, and with common member
/// names for both services.
fn answer<T: serde::Serialize>(result: Result<T>) -> Value {
    let value = match result {
        Ok(value) => serde_json::to_value(value).unwrap(),
        Err(error) => return json!({ "refused": error.api_error().name }),
    };
    let Value::Object(members) = value else { return value };
    let unify = |(name, value): (String, Value)| match name.as_str() {
        "error" if !value.is_null() => {
            let inner = value["innerErrors"].as_array().unwrap().iter();
            (
                "error".to_owned(),
                inner.map(|inner| json!([inner["name"], inner["resourceId"]])).collect(),
            )
        }
        name => {
            let short = name
                .replace("WorkItem", "")
                .replace("TestPlan", "")
                .replace("Ids", "s")
                .replace("Id", "");
            (short, value)
        }
    };
    Value::Object(members.into_iter().map(unify).collect())
}

fn run(service: Service, ops: &[Op]) {
    let start = "2024-05-01T08:00:00Z".parse().unwrap();
    let mut bench = Bench {
        disk: Arc::new(MemoryDisk::new()),
        clock: Arc::new(ManualClock::new(start)),
        store: None,
    };
    bench.open();
    let mut reference = Reference { service, records: BTreeMap::new(), next: 1000 };
    for op in ops {
        bench.clock.advance_ms(1);
        let now = bench.clock.now().timestamp_millis();
        check(op, service, &mut bench, &mut reference, now);
    }
    let ids: Vec<u64> = reference.records.keys().copied().collect();
    for id in ids {
        let found = match service {
            Service::Items => answer(bench.session().get_work_item(&id.to_string().into())),
            Service::Plans => answer(bench.session().get_test_plan(&id.to_string().into())),
        };
        assert_eq!(found, answer(Ok::<_, Error>(reference.render(id))));
    }
}

fn check(op: &Op, service: Service, bench: &mut Bench, reference: &mut Reference, now: i64) {
    let (list, wrap) = match service {
        Service::Items => ("workItems", "workItems"),
        Service::Plans => ("testPlans", "testPlans"),
    };
    let session = || bench.session();
    let (found, expected) = match op {
        Op::Reopen => {
            bench.open();
            return;
        }
        Op::Create(entries) => {
            let requests: Vec<Value> = entries.iter().map(|entry| entry.create(service)).collect();
            let outcome =
                entries.iter().zip(&requests).enumerate().map(|(position, (entry, request))| {
                    let called = request["name"]
                        .as_str()
                        .map_or_else(|| position.to_string(), str::to_owned);
                    let made = reference.create(entry, now).map(|id| reference.render(id));
                    (made, request.clone(), called)
                });
            let expected = batch("created", outcome.collect());
            let body = json!(requests);
            let found = match service {
                Service::Items => answer(session().create_work_items(read(&body))),
                Service::Plans => answer(session().create_test_plans(read(&body))),
            };
            (found, expected)
        }
        Op::Update(replace, entries) => {
            let requests: Vec<Value> = entries.iter().map(Entry::update).collect();
            let outcome = entries.iter().zip(&requests).map(|(entry, request)| {
                let changed =
                    reference.update(entry, *replace, now).map(|()| reference.render(entry.id));
                (changed, request.clone(), entry.id.to_string())
            });
            let expected = batch("updated", outcome.collect());
            let body = json!({ wrap: requests, "replace": replace });
            let found = match service {
                Service::Items => answer(session().update_work_items(read(&body))),
                Service::Plans => answer(session().update_test_plans(read(&body))),
            };
            (found, expected)
        }
        Op::Schedule(replace, entries) => {
            let requests: Vec<Value> =
                entries.iter().map(|entry| entry.schedule(service)).collect();
            let outcome = entries.iter().zip(&requests).map(|(entry, request)| {
                let changed =
                    reference.schedule(entry, *replace, now).map(|()| reference.render(entry.id));
                (changed, request.clone(), entry.id.to_string())
            });
            let expected = batch("scheduled", outcome.collect());
            let body = json!({ wrap: requests, "replace": replace });
            let found = match service {
                Service::Items => answer(session().schedule_work_items(read(&body))),
                Service::Plans => answer(session().schedule_test_plans(read(&body))),
            };
            (found, expected)
        }
        Op::Delete(ids) => {
            let refused = reference.not_found();
            let mut seen = std::collections::BTreeSet::new();
            let (mut deleted, mut failed) = (Vec::new(), Vec::new());
            for id in ids.iter().filter(|id| seen.insert(**id)) {
                let list =
                    if reference.records.remove(id).is_some() { &mut deleted } else { &mut failed };
                list.push(id.to_string());
            }
            let errors: Vec<Value> = failed.iter().map(|id| json!([refused, id])).collect();
            let expected = if failed.is_empty() {
                Value::Null
            } else {
                json!({ "deleteds": deleted, "faileds": failed, "error": errors })
            };
            let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
            let found = match service {
                Service::Items => {
                    answer(session().delete_work_items(ids.into_iter().map(Into::into).collect()))
                }
                Service::Plans => {
                    answer(session().delete_test_plans(ids.into_iter().map(Into::into).collect()))
                }
            };
            (found, expected)
        }
        Op::Execute(id, action) => {
            // Test plans have no execute operation.
            if service == Service::Plans {
                return;
            }
            let expected = match reference.execute(*id, ACTIONS[*action], now) {
                Ok(kind) => json!({ "error": null, "result": { "type": kind } }),
                Err(refused) => json!({ "refused": refused }),
            };
            (
                answer(session().execute_work_item(&id.to_string().into(), ACTIONS[*action])),
                expected,
            )
        }
        Op::Query { by_update, descending, take } => {
            let mut order: Vec<(i64, u64)> = reference
                .records
                .iter()
                .map(|(id, record)| {
                    (if *by_update { record.updated_at } else { i64::try_from(*id).unwrap() }, *id)
                })
                .collect();
            // Ties are ordered by ascending id in both directions.
            order.sort_by_key(|(key, id)| (if *descending { -key } else { *key }, *id));
            let expected: Vec<Value> = order.iter().map(|(_, id)| reference.render(*id)).collect();
            let mut found = Vec::new();
            let mut request = json!({ "orderBy": if *by_update { "UPDATED_AT" } else { "ID" }, "descending": descending,
                "take": take, "returnCount": true });
            loop {
                let page = match service {
                    Service::Items => {
                        let request: QueryWorkItemsRequest = read(&request);
                        serde_json::to_value(session().query_work_items(request).unwrap())
                    }
                    Service::Plans => {
                        let request: QueryTestPlansRequest = read(&request);
                        serde_json::to_value(session().query_test_plans(request).unwrap())
                    }
                }
                .unwrap();
                assert_eq!(page["totalCount"], reference.records.len());
                let items = page[list].as_array().unwrap();
                assert!(items.len() <= *take);
                found.extend(items.iter().cloned());
                match page.get("continuationToken") {
                    Some(token) => request["continuationToken"] = token.clone(),
                    None => break,
                }
            }
            (json!(found), json!(expected))
        }
    };
    assert_eq!(found, expected, "{service:?} {op:?}");
}

/// The response of a batch operation.
fn batch(verb: &str, outcome: Vec<(Result<Value, Refused>, Value, String)>) -> Value {
    let (mut done, mut failed, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for (result, request, called) in outcome {
        match result {
            Ok(record) => done.push(record),
            Err(refused) => {
                failed.push(request);
                errors.push(json!([refused, called]));
            }
        }
    }
    let mut expected = json!({ format!("{verb}s"): done });
    if !failed.is_empty() {
        expected["faileds"] = json!(failed);
        expected["error"] = json!(errors);
    }
    expected
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_services_do_what_plain_maps_do(ops in prop::collection::vec(op(), 1..60)) {
        run(Service::Items, &ops);
        run(Service::Plans, &ops);
    }
}
