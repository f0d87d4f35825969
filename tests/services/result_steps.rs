//! Steps of test results: each operation as the reference describes it, and random changes compared
//! with a plain list.

use crate::prelude::*;
use stationdb::results::*;

use crate::test_store::TestStore;

fn result(session: &Session, program: &str) -> String {
    let request = CreateResultRequest::new().program_name(program).status(StatusType::Running);
    let made = session.create_results(vec![request]).unwrap().into_result().unwrap();
    made.results[0].id.clone().unwrap().to_string()
}

fn step(result: &str, id: &str) -> CreateStepRequest {
    CreateStepRequest::new().result_id(result).step_id(id).name(format!("name {id}"))
}

fn measured(name: &str, value: &str) -> StepData {
    let entry = [("name", name), ("measurement", value), ("k", "v")];
    let entry = entry.map(|(key, text)| (key.to_owned(), text.to_owned()));
    StepData::new().parameters(vec![entry.into_iter().collect::<BTreeMap<_, _>>()])
}

fn all(session: &Session, query: &QueryStepsRequest) -> Vec<Step> {
    let (mut found, mut query) = (Vec::new(), query.clone());
    loop {
        let page = session.query_steps(query.clone()).unwrap();
        found.extend(page.steps);
        query.continuation_token = page.continuation_token;
        if query.continuation_token.is_none() {
            return found;
        }
    }
}

fn ids(steps: &[Step]) -> Vec<&str> {
    steps.iter().filter_map(|step| step.step_id.as_deref()).collect()
}

#[test]
fn a_step_comes_back_as_it_was_sent() {
    let store = TestStore::new();
    let session = store.session();
    let id = result(&session, "P");
    let sent = json!({
        "stepId": "s 1", "resultId": id, "name": "", "stepType": "NumericLimitTest",
        "status": {"statusType": "PASSED"}, "startedAt": "2024-02-01T10:00:00.123Z",
        "totalTimeInSeconds": 1.5, "dataModel": "TestStand", "keywords": ["b", "a", "b"],
        "properties": {"x": "y"},
        "inputs": [{"name": "i", "value": "35"}, {"name": "n", "value": 35}],
        "outputs": [{"name": "o", "value": {"deep": [null, 1.0]}}],
        "data": {"text": "t", "parameters": [
            {"name": "VOUT", "measurement": "3.10", "units": "V", "lowLimit": "3", "other": "1",
             "nominalValue": null, "highLimit": 3.5, "status": "Passed", "comparisonType": "GELE",
             "specId": "7"},
            {"nitmParameterType": "ADDITIONAL_RESULTS", "name": "n"}, {}]},
    });
    let answer = session.create_steps(read(&json!([sent])), false).unwrap().into_result().unwrap();
    let answered = write(&answer.steps[0]);
    let mut expected = sent;
    expected["keywords"] = json!(["b", "a"]);
    expected["data"]["parameters"][0] = json!({
        "name": "VOUT", "measurement": "3.10", "units": "V", "lowLimit": "3", "other": "1",
        "highLimit": "3.5", "status": "Passed", "comparisonType": "GELE", "specId": "7"});
    for (member, value) in [
        ("path", json!("")),
        ("pathIds", json!(["s 1"])),
        ("hasChildren", json!(false)),
        ("workspace", json!("default")),
        ("updatedAt", json!("2024-03-01T00:00:00.000Z")),
    ] {
        expected[member] = value;
    }
    assert_eq!(answered, expected);
    assert_eq!(write(&session.get_step(&id.as_str().into(), "s 1").unwrap()), expected);
    assert_eq!(write(&session.query_steps(QueryStepsRequest::new()).unwrap().steps[0]), expected);
    for (filter, count) in [
        ("data.parameters.Any(name == \"VOUT\" && status == \"Passed\")", 1),
        ("data.parameters.Any(it[\"other\"] == \"1\")", 1),
        ("data.parameters.Any(SafeConvert.ToDecimal(measurement) > 3.05)", 1),
        ("data.parameters.Any(SafeConvert.ToDecimal(measurement) > 3.15)", 0),
        ("data.parameters.Any(none == \"1\")", 0),
        ("inputs.Any(name == \"n\" && value == 35)", 1),
        ("inputs.Any(name == \"i\" && value == 35)", 0),
        ("inputs.Any(name == \"i\" && value == \"35\")", 1),
        ("pathIds.Contains(\"s 1\") & keywords.Contains(\"a\")", 1),
        ("properties[\"x\"] == \"y\" && workspaceName != \"none\"", 1),
        ("workspaceName >= \"\" && workspaceName < \"\u{10ffff}\"", 1),
        ("workspaceName > \"\u{10ffff}\"", 0),
        ("data.text == \"t\" && totalTimeInSeconds > 1", 1),
    ] {
        let query = QueryStepsRequest::new().filter(filter).return_count(true);
        assert_eq!(session.query_steps(query).unwrap().total_count, Some(count), "{filter}");
    }
    let summary = session.get_result(&id.as_str().into()).unwrap().status_type_summary.unwrap();
    assert_eq!((summary.passed, summary.failed), (1, 0));
    store.assert_sound();
}

#[test]
fn each_refusal_of_a_step_has_its_kind_and_changes_nothing() {
    let store = TestStore::new();
    let session = store.session();
    let id = result(&session, "P");
    session.create_steps(vec![step(&id, "a")], false).unwrap().require_all().unwrap();
    let before = session.query_steps(QueryStepsRequest::new()).unwrap();
    let long = "x".repeat(1_025);
    for (body, kind, name) in [
        (json!({"name": "n"}), "InvalidArgument", None),
        (json!({"resultId": "none", "name": "n"}), "NotFound", Some("TestMonitor.InvalidId")),
        (json!({"resultId": id}), "InvalidArgument", None),
        (
            json!({"resultId": id, "name": "n", "stepId": "a"}),
            "Conflict",
            Some("TestMonitor.StepIdInUse"),
        ),
        (json!({"resultId": id, "name": "n", "stepId": long}), "LimitExceeded", None),
        (json!({"resultId": id, "name": "n", "totalTimeInSeconds": -1.0}), "InvalidArgument", None),
        (json!({"resultId": id, "name": "n", "properties": {"p": null}}), "InvalidArgument", None),
        (
            json!({"resultId": id, "name": "n", "stepId": "x", "parentId": "x"}),
            "InvalidArgument",
            None,
        ),
        (
            json!({"resultId": id, "name": "n", "stepId": "x", "parentId": "y",
                "children": [{"name": "c", "stepId": "y"}]}),
            "InvalidArgument",
            None,
        ),
        (
            json!({"resultId": id, "name": "n", "stepId": "x",
                "children": [{"name": "c", "parentId": "a"}]}),
            "InvalidArgument",
            None,
        ),
        (
            json!({"resultId": id, "name": "n", "children": [{"name": "c", "stepId": "a"}]}),
            "Conflict",
            Some("TestMonitor.StepIdInUse"),
        ),
        (
            json!({"resultId": id, "name": "n", "children": [{"stepId": "x"}]}),
            "InvalidArgument",
            None,
        ),
    ] {
        let requests: Vec<CreateStepRequest> = read(&json!([body]));
        let answer = session.create_steps(requests.clone(), true).unwrap();
        assert_eq!((answer.steps.len(), answer.failed), (0, Some(requests)), "{body}");
        let error = answer.error.unwrap();
        assert_eq!(error.name.as_deref(), Some("TestMonitorErrorCodes.OneOrMoreErrorsOccurred"));
        let inner = &error.inner_errors[0];
        let own = format!("StationDb.{kind}");
        assert_eq!(inner.name.as_deref(), Some(name.unwrap_or(&own)), "{body}");
        assert!(inner.message.is_some());
    }
    let after = session.query_steps(QueryStepsRequest::new()).unwrap();
    assert_eq!(write(&after), write(&before));
    let unknown = session.get_step(&id.as_str().into(), "none").unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound);
    assert_eq!(unknown.api_error().name.as_deref(), Some("TestMonitor.InvalidResultOrStepId"));
    let unknown = session.delete_step(&id.as_str().into(), "none", false).unwrap_err();
    assert_eq!(unknown.api_error().name.as_deref(), Some("TestMonitor.InvalidResultOrStepId"));
}

#[test]
fn times_and_statuses_follow_only_where_they_are_asked_to() {
    let store = TestStore::new();
    let session = store.session();
    let id = result(&session, "P");
    let mut sequence = step(&id, "seq").status(StatusType::Done);
    sequence.children = Some(vec![
        CreateStepRequest::new()
            .step_id("one")
            .name("1")
            .total_time_in_seconds(0.1)
            .status(StatusType::Failed),
        CreateStepRequest::new()
            .step_id("two")
            .name("2")
            .total_time_in_seconds(0.2)
            .status(Status::new(StatusType::Custom).status_name("Odd")),
    ]);
    let last = step(&id, "last").total_time_in_seconds(0.7);
    session.create_steps(vec![sequence, last], false).unwrap().require_all().unwrap();
    let get = || session.get_result(&id.as_str().into()).unwrap();
    assert_eq!(get().total_time_in_seconds, Some(0.0));
    assert_eq!(get().status, Some(StatusType::Running.into()));
    let change = UpdateStepRequest::new().result_id(&*id).step_id("last").name("new");
    session.update_steps(vec![change], true, false, false).unwrap().require_all().unwrap();
    assert_eq!(get().total_time_in_seconds, Some(1.0), "0.1 + 0.2 + 0.7, exactly");
    let change = UpdateResultRequest::new().id(id.clone());
    let changed = session.update_results(vec![change], false, true).unwrap();
    assert_eq!(changed.results[0].status, Some(StatusType::Failed.into()));
    // The status of the result alone follows: that of a step around others is the client's.
    let around = session.get_step(&id.as_str().into(), "seq").unwrap();
    assert_eq!(around.status, Some(StatusType::Done.into()));
    let summary = get().status_type_summary.unwrap();
    assert_eq!((summary.done, summary.failed, summary.custom), (1, 1, 1));
}

#[test]
fn two_steps_of_one_call_are_not_each_others_parent() {
    let store = TestStore::new();
    let session = store.session();
    let id = result(&session, "P");
    let steps = [("a", "b"), ("b", "a"), ("c", "b")];
    let steps = steps.map(|(own, parent)| step(&id, own).parent_id(parent));
    let answer = session.create_steps(steps.to_vec(), false).unwrap();
    assert_eq!(ids(&answer.steps), ["a", "c"]);
    assert_eq!(answer.failed, Some(vec![steps[1].clone()]));
    let message = answer.error.unwrap().inner_errors[0].message.clone().unwrap();
    assert!(message.contains("\"b\"") && message.contains("below itself"), "{message}");
    // The same for steps that come with their result.
    let bare =
        |own: &str, parent: &str| CreateStepRequest::new().name(own).step_id(own).parent_id(parent);
    let whole = CreateResultRequest::new().program_name("P").status(StatusType::Passed);
    let whole = ResultWithSteps::new(whole).steps([bare("a", "b"), bare("b", "a")]);
    let answer = session.append_results(&[whole]).unwrap();
    assert_eq!(answer.results, []);
    let message = answer.error.unwrap().inner_errors[0].message.clone().unwrap();
    assert!(message.contains("steps[1]") && message.contains("below itself"), "{message}");
    store.assert_sound();
}

#[test]
fn changes_that_failed_come_back_as_they_were_sent() {
    let store = TestStore::new();
    let session = store.session();
    let id = result(&session, "P");
    let made = ["a", "b"].map(|name| step(&id, name)).to_vec();
    session.create_steps(made, false).unwrap().require_all().unwrap();
    // Each is an update of its own step, also below one that fails.
    let sent = json!([
        {"stepId": "a", "resultId": id, "name": "A1", "children": [
            {"stepId": "b", "name": "B1", "children": []},
            {"stepId": "no 1", "keywords": ["k"], "children": [{"stepId": "a", "name": "A2"}]}]},
        {"stepId": "no 2", "resultId": id, "children": [
            {"stepId": "b", "name": "B2"},
            {"stepId": "no 3", "children": [{"stepId": "a", "totalTimeInSeconds": -1.0}]},
            {"stepId": "a", "dataModel": "M"}]},
        {"stepId": "b", "resultId": id, "stepType": "T"},
        {"stepId": "a", "children": []},
    ]);
    let answer = session.update_steps(read(&sent), false, false, false).unwrap();
    assert_eq!(ids(&answer.steps), ["a", "b", "a", "b", "a", "b"]);
    assert_eq!(write(&answer.failed), json!([sent[0]["children"][1], sent[1], sent[3]]));
    let error = answer.error.unwrap();
    assert_eq!(error.args, ["[0].children[1]"]);
    let told = |errors: &[stationdb::ApiError]| -> Vec<String> {
        errors.iter().filter_map(|error| error.resource_id.clone()).collect()
    };
    assert_eq!(told(&error.inner_errors), ["no 1", "no 2", "a"]);
    // What fails below one that failed is told with it.
    assert_eq!(told(&error.inner_errors[1].inner_errors), ["no 3", "a"]);
    assert!(error.inner_errors[0].inner_errors.is_empty());
    let result_id = id.as_str().into();
    let [a, b] = ["a", "b"].map(|name| session.get_step(&result_id, name).unwrap());
    assert_eq!((a.name.as_deref(), a.data_model.as_deref()), (Some("A2"), Some("M")));
    assert_eq!((b.name.as_deref(), b.step_type.as_deref()), (Some("B2"), Some("T")));
    // A session whose batches fail as a whole tells the same place, and changes nothing.
    let change = json!([{"stepId": "a", "resultId": id, "name": "A3", "children": [
        {"stepId": "b", "totalTimeInSeconds": -1.0}]}]);
    let error =
        session.all_or_nothing().update_steps(read(&change), false, false, false).unwrap_err();
    let place = "[0].children[0].totalTimeInSeconds".to_owned();
    assert_eq!(error.place(), Some(&Place::Member(place)));
    assert_eq!(session.get_step(&result_id, "a").unwrap().name.as_deref(), Some("A2"));
}

#[test]
fn changes_are_nested_in_at_most_100_levels() {
    let store = TestStore::new();
    let session = store.session();
    let id = result(&session, "P");
    session.create_steps(vec![step(&id, "a")], false).unwrap().require_all().unwrap();
    let nested = |step_id: &str, levels: usize| {
        let change = || UpdateStepRequest::new().step_id(step_id);
        let nest = |inner, _| change().children([inner]);
        (1..levels).fold(change().name("deep"), nest).result_id(id.as_str())
    };
    let update = |sent| session.update_steps(vec![sent], false, false, false).unwrap();
    let deep = update(nested("a", 100));
    assert_eq!((deep.steps.len(), deep.failed), (100, None));
    // The last level of these has a child that is one too deep, and fails with it.
    let deeper = update(nested("a", 101));
    assert_eq!(deeper.steps.len(), 99);
    let failed = deeper.failed.unwrap();
    assert_eq!(
        write(&failed),
        json!([{"stepId": "a", "children": [
        {"stepId": "a", "name": "deep"}]}])
    );
    let error = &deeper.error.unwrap().inner_errors[0];
    assert_eq!(error.name.as_deref(), Some("StationDb.LimitExceeded"));
    // All of them fail: each comes back once.
    let unknown = update(nested("no", 100));
    assert_eq!(unknown.failed, Some(vec![nested("no", 100)]));
    assert_eq!(unknown.error.unwrap().inner_errors[0].inner_errors.len(), 99);
}

#[test]
fn steps_stay_when_their_result_is_deleted_without_them() {
    let store = TestStore::new();
    let session = store.session();
    let (gone, stays) = (result(&session, "P"), result(&session, "P"));
    for id in [&gone, &stays] {
        session
            .create_steps(vec![step(id, "a"), step(id, "b")], false)
            .unwrap()
            .require_all()
            .unwrap();
    }
    session.delete_result(&gone.as_str().into(), false).unwrap();
    assert_eq!(session.get_step(&gone.as_str().into(), "a").unwrap().name.unwrap(), "name a");
    assert_eq!(all(&session, &QueryStepsRequest::new()).len(), 4);
    let of_results = QueryStepsRequest::new().result_filter("programName == \"P\"");
    assert_eq!(all(&session, &of_results).len(), 2, "resultFilter no longer finds them");
    let more = session.create_steps(vec![step(&gone, "c")], false).unwrap();
    assert_eq!(more.failed.unwrap().len(), 1);
    let pairs = ["a", "b", "a"].map(|id| StepIdResultIdPair::new(id, &*gone));
    assert_eq!(session.delete_steps(pairs.to_vec(), false).unwrap(), None);
    assert_eq!(all(&session, &QueryStepsRequest::new()).len(), 2);
    session.delete_result(&stays.as_str().into(), true).unwrap();
    assert_eq!(all(&session, &QueryStepsRequest::new()).len(), 0);
    // Nothing is left of a result whose steps were deleted before it.
    let empty = result(&session, "P");
    session.create_steps(vec![step(&empty, "a")], false).unwrap().require_all().unwrap();
    session.delete_step(&empty.as_str().into(), "a", false).unwrap();
    let mut changes = session.changes(Position::START);
    while changes.poll().unwrap().is_some() {}
    session.delete_result(&empty.as_str().into(), false).unwrap();
    let told: Vec<_> =
        std::iter::from_fn(|| changes.poll().unwrap()).map(|event| event.kind).collect();
    assert_eq!(told, ["test result"]);
    store.assert_sound();
}

/// A plain list of results and steps.
#[derive(Clone, Default)]
struct Plain {
    results: Vec<String>,
    steps: Vec<Step>,
    /// The path of each step by its result and id, and the ids of the steps on it.
    places: BTreeMap<(String, String), (String, Vec<String>)>,
}

impl Plain {
    fn of<'p>(&'p self, result: &'p str) -> impl Iterator<Item = &'p Step> {
        self.steps.iter().filter(move |step| step.result_id.as_deref() == Some(result))
    }

    /// Gives a step that is new or has another parent its place, and those below it theirs.
    fn place(&mut self, result: &str, id: &str) {
        let (mut open, mut seen) = (vec![id.to_owned()], BTreeSet::from([id.to_owned()]));
        while let Some(id) = open.pop() {
            let has = |step: &&Step| step.step_id.as_ref() == Some(&id);
            let step = self.of(result).find(has).unwrap();
            let (name, parent) = (step.name.clone().unwrap(), step.parent_id.clone());
            let above = parent.clone().and_then(|parent| {
                self.of(result).find(|step| step.step_id.as_ref() == Some(&parent))?;
                self.places.get(&(result.to_owned(), parent))
            });
            let (path, mut ids) = match above {
                Some((path, ids)) => (format!("{path}\n{name}"), ids.clone()),
                None => (name, parent.into_iter().collect()),
            };
            ids.push(id.clone());
            let below = self.of(result).filter(|step| step.parent_id.as_ref() == Some(&id));
            let below: Vec<String> = below.filter_map(|step| step.step_id.clone()).collect();
            open.extend(below.into_iter().filter(|child| seen.insert(child.clone())));
            self.places.insert((result.to_owned(), id), (path, ids));
        }
    }

    fn check(&self, session: &Session, take: i64) {
        let page = QueryStepsRequest::new().take(take);
        let mut expected: Vec<&Step> = Vec::new();
        let mut results = self.results.clone();
        results.sort();
        for result in &results {
            expected.extend(self.of(result));
        }
        let found = all(session, &page);
        let texts = |steps: Vec<&Step>| steps.into_iter().map(write).collect::<Vec<_>>();
        assert_eq!(texts(found.iter().collect()), texts(expected.clone()));
        let count = session.query_steps(page.clone().take(0_i64).return_count(true)).unwrap();
        assert_eq!((count.steps.len(), count.total_count), (0, Some(expected.len() as u64)));
        for (filter, matches) in [
            (
                "name == \"name 3\"",
                (|step: &Step| step.name.as_deref() == Some("name 3")) as fn(&_) -> _,
            ),
            ("status.statusType == \"FAILED\" && hasChildren = \"True\"", |step: &Step| {
                step.has_children == Some(true) && step.status == Some(StatusType::Failed.into())
            }),
            ("keywords.Contains(\"k2\")", |step: &Step| {
                step.keywords.as_ref().is_some_and(|all| all.contains(&"k2".to_owned()))
            }),
            ("stepId == \"4\"", |step: &Step| step.step_id.as_deref() == Some("4")),
        ] {
            let query = QueryStepsRequest::new().filter(filter).take(take).return_count(true);
            let expected: Vec<&Step> =
                expected.iter().copied().filter(|step| matches(step)).collect();
            let count = session.query_steps(query.clone()).unwrap().total_count;
            assert_eq!(count, Some(expected.len() as u64), "{filter}");
            assert_eq!(
                ids(&all(session, &query)),
                ids(&expected.into_iter().cloned().collect::<Vec<_>>())
            );
        }
        let by_name = page.clone().order_by(StepOrderBy::Name).descending(true);
        let mut names: Vec<String> = expected.iter().filter_map(|step| step.name.clone()).collect();
        names.sort();
        names.reverse();
        let found = all(session, &by_name).into_iter().filter_map(|step| step.name);
        assert_eq!(found.collect::<Vec<_>>(), names);
        for step in &expected {
            let (result, id) = (step.result_id.clone().unwrap(), step.step_id.clone().unwrap());
            assert_eq!(
                write(&session.get_step(&result.as_str().into(), &id).unwrap()),
                write(step)
            );
        }
        for result in &results {
            let query = QueryStepsRequest::new().filter(format!("resultId == \"{result}\""));
            assert_eq!(all(session, &query).len(), self.of(result).count());
            let stored = session.get_result(&result.as_str().into()).unwrap();
            let failed = self.of(result).filter(|step| {
                step.status.as_ref().is_some_and(|status| status.status_type == StatusType::Failed)
            });
            assert_eq!(stored.status_type_summary.unwrap().failed, failed.count() as u64);
        }
    }

    /// Takes the steps of a result as the store has them.
    fn take_over(&mut self, session: &Session, result: &str) {
        let query = QueryStepsRequest::new().filter(format!("resultId == \"{result}\""));
        let found = session.query_steps(query).unwrap().steps;
        let known: BTreeMap<String, Step> =
            self.of(result).map(|step| (step.step_id.clone().unwrap(), step.clone())).collect();
        for step in &found {
            let Some(before) = known.get(step.step_id.as_ref().unwrap()) else {
                panic!("a step that was not created: {step:?}");
            };
            // What a caller sets must be what it set.
            for (one, other) in [
                (write(&step.name), write(&before.name)),
                (write(&step.data), write(&before.data)),
                (write(&step.status), write(&before.status)),
                (write(&step.keywords), write(&before.keywords)),
                (write(&step.parent_id), write(&before.parent_id)),
            ] {
                assert_eq!(one, other);
            }
            let place = (result.to_owned(), step.step_id.clone().unwrap());
            let (path, ids) = &self.places[&place];
            assert_eq!((step.path.as_ref(), step.path_ids.as_ref()), (Some(path), Some(ids)));
            let children = known.values().any(|other| other.parent_id == step.step_id);
            assert_eq!(step.has_children, Some(children));
        }
        assert_eq!(found.len(), known.len());
        self.steps.retain(|step| step.result_id.as_deref() != Some(result));
        self.steps.extend(found);
    }
}

fn options(options: StoreOptions) -> StoreOptions {
    options.maintenance_thread(false).seal_rows(8)
}

fn run(seed: u64, rounds: usize) {
    let mut store = TestStore::with(options);
    let mut session = store.session();
    let mut random = Random::new(seed);
    let mut plain = Plain::default();
    for _ in 0..rounds {
        let picked = match plain.results.len() {
            0 => None,
            count => plain.results.get(random.below(count as u64) as usize).cloned(),
        };
        let what = random.below(12);
        let (Some(id), 1..) = (picked, what) else {
            plain.results.push(result(&session, "P"));
            continue;
        };
        let number = random.below(9);
        let parent = Some(random.below(9)).filter(|parent| *parent != number);
        let status = if random.below(2) == 0 { StatusType::Failed } else { StatusType::Passed };
        match what {
            1..=4 => {
                let count = if random.below(4) == 0 { 40 } else { 1 };
                let mut requests = Vec::new();
                for at in 0..count {
                    let name = if count == 1 { number.to_string() } else { String::new() };
                    let mut request =
                        step(&id, &name).status(status).keywords([format!("k{}", random.below(3))]);
                    request.name = Some(format!("name {number}"));
                    request.data = Some(measured("VOUT", &format!("{at}.50")));
                    request.parent_id =
                        parent.map(|parent| parent.to_string()).filter(|_| count == 1);
                    requests.push(request);
                }
                if count == 1 && random.below(3) == 0 {
                    let child = step(&id, &format!("{number}c")).children([step(&id, "")]);
                    requests =
                        requests.into_iter().map(|one| one.children([child.clone()])).collect();
                }
                let made = session.create_steps(requests, false).unwrap();
                for step in made.steps {
                    let step_id = step.step_id.clone().unwrap();
                    plain.steps.push(step);
                    plain.place(&id, &step_id);
                }
            }
            5..=6 => {
                let mut change = UpdateStepRequest::new()
                    .result_id(&*id)
                    .step_id(number.to_string())
                    .status(status)
                    .data(measured("VOUT", "7.0"));
                change.parent_id =
                    parent.map(|parent| parent.to_string()).filter(|_| number.is_multiple_of(2));
                change.keywords = Some(vec!["k2".to_owned()]);
                if random.below(3) == 0 {
                    change.name = Some(format!("name {}", random.below(9)));
                }
                let changed = session.update_steps(vec![change], false, true, false).unwrap();
                for step in changed.steps {
                    let place = plain.steps.iter_mut().find(|known| {
                        known.step_id == step.step_id && known.result_id == step.result_id
                    });
                    let place = place.unwrap();
                    let is_moved = place.parent_id != step.parent_id;
                    *place = step;
                    if is_moved {
                        plain.place(&id, &number.to_string());
                    }
                }
            }
            7 => {
                let pair = StepIdResultIdPair::new(number.to_string(), &*id);
                if session.delete_steps(vec![pair], false).unwrap().is_none() {
                    plain.steps.retain(|step| {
                        step.result_id.as_deref() != Some(&*id)
                            || step.step_id.as_deref() != Some(&*number.to_string())
                    });
                }
            }
            8 if random.below(3) == 0 => {
                session.delete_result(&id.as_str().into(), true).unwrap();
                plain.steps.retain(|step| step.result_id.as_deref() != Some(&*id));
                plain.results.retain(|other| *other != id);
                continue;
            }
            8..=9 => {
                store.store.maintain(&control()).unwrap();
            }
            10 => {
                let workspace = format!("lab {}", random.below(2));
                let change = UpdateResultRequest::new().id(&*id).workspace(workspace.clone());
                session.update_results(vec![change], false, false).unwrap().require_all().unwrap();
                for step in &mut plain.steps {
                    if step.result_id.as_ref() == Some(&id) {
                        step.workspace = Some(workspace.clone());
                    }
                }
            }
            _ => {
                drop(session);
                store = store.reopen();
                session = store.session();
            }
        }
        plain.take_over(&session, &id);
        if random.below(4) == 0 {
            plain.check(&session, 1 + random.below(20) as i64);
        }
    }
    plain.check(&session, 7);
    store.assert_sound();
}

#[test]
fn every_change_of_steps_follows_the_model() {
    let first = crate::sizes::seed();
    for seed in first..first + crate::sizes::size("step_models") {
        run(seed, 120);
    }
}

/// A result with two steps whose members differ.
fn csv_steps(session: &Session) -> String {
    let id = result(session, "P");
    let first = json!({
        "stepId": "b", "resultId": id, "name": "one, \"two\"",
        "status": {"statusType": "CUSTOM", "statusName": "Odd"},
        "startedAt": "2024-02-01T10:00:00.123Z", "totalTimeInSeconds": 2, "keywords": ["k", "l"],
        "properties": {"z": "1", "a": ""},
        "inputs": [{"name": "i", "value": "35"}, {"name": "i", "value": "second"},
                   {"name": "n", "value": null}],
        "data": {"parameters": [{"name": "VOUT", "measurement": "3.1"}]},
    });
    let second = json!({
        "stepId": "a", "resultId": id, "parentId": "b", "name": "name a",
        "status": {"statusType": "TIMED_OUT"},
        "outputs": [{"name": "o", "value": {"x": [1.0, true]}}],
    });
    let steps = read(&json!([first, second]));
    session.create_steps(steps, false).unwrap().require_all().unwrap();
    id
}

#[test]
fn csv_has_the_members_and_then_the_keys_of_the_page() {
    let store = TestStore::new();
    let session = store.session();
    let id = csv_steps(&session);
    let workspace = session.get_step(&id.as_str().into(), "a").unwrap().workspace.unwrap();
    let members = [
        StepProjection::Properties,
        StepProjection::Outputs,
        StepProjection::Inputs,
        StepProjection::Keywords,
        StepProjection::Status,
        StepProjection::Name,
        StepProjection::TotalTimeInSeconds,
        StepProjection::HasChildren,
        StepProjection::PathIds,
    ];
    let query = || QueryStepsRequest::new().projection(members);
    assert_eq!(
        session.query_steps_csv(query().response_format(ResponseFormat::Csv)).unwrap(),
        "name,totalTimeInSeconds,pathIds,status,hasChildren,keywords,inputs.i,inputs.n,outputs.o,\
         properties.a,properties.z\n\
         \"one, \"\"two\"\"\",2,\"[\"\"b\"\"]\",Odd,true,\"[\"\"k\"\",\"\"l\"\"]\",35,,,\"\",1\n\
         name a,0,\"[\"\"b\"\",\"\"a\"\"]\",TIMED_OUT,false,[],,,\
         \"{\"\"x\"\":[1.0,true]}\",,\n"
    );
    // The keys are those of the page, and none when the projection leaves them out.
    let page = session.query_steps_csv(query().filter("stepId == \"a\"")).unwrap();
    assert_eq!(
        page.lines().next().unwrap(),
        "name,totalTimeInSeconds,pathIds,status,hasChildren,keywords,outputs.o"
    );
    let names = QueryStepsRequest::new().projection([StepProjection::StepType]);
    assert_eq!(session.query_steps_csv(names.filter("false")).unwrap(), "stepType\n");
    let whole = session.query_steps_csv(QueryStepsRequest::new().take(1_i64)).unwrap();
    let (header, line) = whole.split_once('\n').unwrap();
    assert_eq!(
        header,
        "name,stepType,stepId,parentId,resultId,path,totalTimeInSeconds,startedAt,updatedAt,\
         dataModel,pathIds,status,data,hasChildren,workspace,keywords,inputs.i,inputs.n,\
         properties.a,properties.z"
    );
    assert!(
        line.contains(&format!(",,b,,{id},\"one, \"\"two\"\"\",2,2024-02-01T10:00:00.123Z,")),
        "{line}"
    );
    assert!(line.contains(&format!(",true,{workspace},")), "{line}");
    assert!(line.contains("\"\"measurement\"\":\"\"3.1\"\""), "{line}");
    let error = session
        .query_steps(QueryStepsRequest::new().response_format(ResponseFormat::Csv))
        .unwrap_err();
    assert_eq!(error.place(), Some(&Place::Member("responseFormat".to_owned())));
}

fn exported(session: &Session, query: &QueryStepsRequest) -> (u64, String) {
    let mut text = Vec::new();
    let count = session.export_steps(query.clone(), &mut text, &Control::default()).unwrap();
    (count, String::from_utf8(text).unwrap())
}

#[test]
fn an_export_has_all_matches_in_every_order_in_little_memory() {
    let store = TestStore::with(|options| options.query_memory_bytes(64 * 1024));
    let session = store.session();
    let mut names = Vec::new();
    for program in ["P", "Q", "R"] {
        let id = result(&session, program);
        let steps: Vec<_> = (0..100)
            .map(|at| {
                let name = format!("{:03}", (at * 37) % 100);
                names.push(name.clone());
                read(&json!({"resultId": id, "stepId": at.to_string(), "name": name,
                             "properties": {program: "v"}}))
            })
            .collect();
        session.create_steps(steps, false).unwrap().require_all().unwrap();
    }
    // A page of all steps is too much for the memory of a query; an export is not.
    let error = session.query_steps(QueryStepsRequest::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    let (count, text) = exported(&session, &QueryStepsRequest::new().take(1_i64));
    assert_eq!((count, text.lines().count()), (300, 301));
    assert!(text.lines().next().unwrap().ends_with(",properties.P,properties.Q,properties.R"));
    let query = QueryStepsRequest::new().projection([StepProjection::Name]);
    let mut sorted = names.clone();
    sorted.sort();
    let lines = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    let (count, text) = exported(&session, &query.clone().order_by(StepOrderBy::Name));
    assert_eq!((count, lines(&text)), (300, sorted.clone()));
    sorted.reverse();
    let down = query.clone().order_by(StepOrderBy::Name).descending(true);
    assert_eq!(lines(&exported(&session, &down).1), sorted);
    let some = query.clone().filter("name < \"010\"").result_filter("programName == \"Q\"");
    assert_eq!(exported(&session, &some).0, 10);
    let cancelled = Control::default();
    cancelled.cancel();
    let error = session.export_steps(query, &mut Vec::new(), &cancelled).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

#[test]
fn the_plan_tells_how_steps_are_selected() {
    let store = TestStore::new();
    let session = store.session();
    let id = csv_steps(&session);
    let plan = |query: QueryStepsRequest| session.explain_query_steps(query).unwrap();
    let all = plan(QueryStepsRequest::new().filter("name == \"x\"").return_count(true));
    assert_eq!(all.access, "one pass over all steps, with 1 tests of columns");
    assert_eq!((all.residual, all.order.as_str()), (None, "by result and creation"));
    assert_eq!(all.count.as_deref(), Some("columns"));
    let one = plan(
        QueryStepsRequest::new()
            .filter(format!("resultId == \"{id}\""))
            .order_by(StepOrderBy::Name)
            .descending(true)
            .take(9_i64)
            .return_count(true),
    );
    assert_eq!(one.access, "steps of 1 results, by result");
    assert_eq!(one.order, "top 10 by NAME descending");
    assert_eq!(one.count.as_deref(), Some("every match"));
    let error = session.explain_query_steps(QueryStepsRequest::new().filter("nme == 1"));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidArgument);
    // A query that is refused has no plan.
    let error = session.explain_query_steps(QueryStepsRequest::new().take(100_001_i64));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::LimitExceeded);
}
