//! Paths of steps, and pages of paths and steps whose names are long.

use super::*;
use stationdb::results::PathValueType as Of;

fn step(id: &str, name: &str) -> CreateStepRequest {
    CreateStepRequest::new().step_id(id).name(name).status(StatusType::Passed)
}

fn add(session: &Session, result: &TestResult, steps: Vec<CreateStepRequest>) {
    let steps = steps.into_iter().map(|step| step.result_id(id_of(result).to_string()));
    session.create_steps(steps.collect(), false).unwrap().require_all().unwrap();
}

fn paths(session: &Session) -> Vec<StepPath> {
    session.query_paths(QueryPathsRequest::new()).unwrap().paths
}

fn named(values: &[(&str, Value)]) -> Vec<NamedValue> {
    let value = |(name, value): &(&str, Value)| NamedValue::new(*name, value.clone());
    values.iter().map(value).collect()
}

#[test]
fn values_of_a_path_have_a_type_and_numbers_a_range() {
    let store = TestStore::new();
    let session = store.session();
    let result = &create(&session, vec![gain("P", "1")])[0];
    let rows = [
        [json!(3), json!(null), json!(true), json!(null), json!([1]), json!({"k": 1}), json!(1)],
        [json!(-2.5), json!("a"), json!(null), json!(null), json!([]), json!({}), json!("one")],
        [json!(null), json!("b"), json!(false), json!(null), json!(null), json!(null), json!(2)],
    ];
    let steps = rows.iter().enumerate().map(|(at, row)| {
        let names = ["number", "text", "bool", "null", "list", "map", "mixed"];
        let values: Vec<_> = names.into_iter().zip(row.iter().cloned()).collect();
        step(&at.to_string(), "supply").inputs(named(&values)).outputs(named(&values[..1]))
    });
    add(&session, result, steps.collect());
    let [path] = &paths(&session)[..] else { panic!("one path") };
    let inputs = path.inputs.as_ref().unwrap();
    let found: Vec<_> = inputs.iter().map(|(name, of)| (name.as_str(), of.r#type)).collect();
    let expected = [
        ("bool", Of::Boolean),
        ("list", Of::Array),
        ("map", Of::Object),
        ("mixed", Of::Mixed),
        ("null", Of::Null),
        ("number", Of::Number),
        ("text", Of::String),
    ];
    assert_eq!(found, expected.map(|(name, of)| (name, Some(of))));
    for (name, of) in inputs {
        let range = (name == "number").then_some((-2.5, 3.0));
        assert_eq!(of.min.zip(of.max), range, "{name}");
    }
    assert_eq!(path.outputs.as_ref().unwrap()["number"], inputs["number"]);
}

#[test]
fn a_path_has_the_newest_limits_and_goes_with_its_last_step() {
    let store = TestStore::new();
    let session = store.session();
    let [one, other] = &create(&session, vec![gain("P", "1"), gain("P", "2")])[..] else {
        panic!("two results")
    };
    let measured = |second: i64, limit: &str, units: &str| {
        let entry = parameter(&[
            ("name", "VOUT"),
            ("measurement", "1"),
            ("highLimit", limit),
            ("units", units),
        ]);
        let at = chrono::DateTime::from_timestamp(1_700_000_000 + second, 0).unwrap();
        step(&second.to_string(), "supply").started_at(at).data(StepData::new().parameters([entry]))
    };
    add(&session, one, vec![measured(5, "5", "V"), measured(9, "9", "mV")]);
    add(&session, other, vec![measured(7, "7", "V")]);
    let [path] = &paths(&session)[..] else { panic!("one path") };
    let id = path.id.clone().unwrap();
    let newest = |path: &StepPath| path.measurements.as_ref().unwrap()["VOUT"].clone();
    let expected = |count, limit: &str, units: &str| {
        PathMeasurement::new().units(units).high_limit(limit).count(count)
    };
    assert_eq!(newest(path), expected(3_u64, "9", "mV"));
    session.delete_step(&id_of(one), "9", false).unwrap();
    assert_eq!(newest(&session.get_path(&id).unwrap()), expected(2_u64, "7", "V"));
    session.delete_step(&id_of(other), "7", false).unwrap();
    session.delete_step(&id_of(one), "5", false).unwrap();
    assert_eq!(session.get_path(&id).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(paths(&session), []);
    add(&session, other, vec![measured(1, "1", "V")]);
    assert_eq!(session.get_path(&id).unwrap().path.as_deref(), Some("supply"), "the id is stable");
}

#[test]
fn a_name_with_a_line_feed_is_one_name() {
    let store = TestStore::new();
    let session = store.session();
    let result = &create(&session, vec![gain("P", "1")])[0];
    let tree = step("a", "power\nsupply").children([step("b", "VOUT")]);
    add(&session, result, vec![tree]);
    let query = QueryPathsRequest::new().order_by(PathOrderBy::Path);
    let names: Vec<_> = session.step_paths(query).map(|path| path.unwrap().path_names).collect();
    let expected = [vec!["power\nsupply"], vec!["power\nsupply", "VOUT"]];
    assert_eq!(names, expected.map(|names| Some(names.into_iter().map(str::to_owned).collect())));
    let query = QueryPathsRequest::new().filter("pathNames.Contains(\"supply\")");
    assert_eq!(session.query_paths(query).unwrap().paths, []);
}

/// Pages end at names that no token has room for, also while their last steps go.
#[test]
fn pages_end_at_long_names() {
    let store = TestStore::new();
    let session = store.session();
    let result = &create(&session, vec![gain("P", "1")])[0];
    let long = "n".repeat(1_024);
    let steps = (0..6).map(|at| {
        let child = step(&format!("{at}b"), &format!("{at}{long}"));
        step(&format!("{at}a"), &format!("{at}{long}")).children([child])
    });
    add(&session, result, steps.collect());
    let by_path = QueryPathsRequest::new().order_by(PathOrderBy::Path);
    let whole = session.query_paths(by_path.clone()).unwrap().paths;
    assert!(
        whole.len() == 12 && whole.iter().any(|path| path.path.as_ref().unwrap().len() > 2_048)
    );
    for is_descending in [false, true] {
        let mut whole = whole.clone();
        if is_descending {
            whole.reverse();
        }
        let query = by_path.clone().descending(is_descending).take(1_i64);
        let pages: Vec<_> = session.step_paths(query).map(Result::unwrap).collect();
        assert_eq!(pages, whole);
        let query = QueryStepsRequest::new().order_by(StepOrderBy::Path).descending(is_descending);
        let pages: Vec<_> = session.steps(query.take(1_i64)).map(Result::unwrap).collect();
        let path_of = |path: &StepPath| path.path.clone();
        let found: Vec<_> = pages.iter().map(|step| step.path.clone()).collect();
        assert_eq!(found, whole.iter().map(path_of).collect::<Vec<_>>());
    }
    // The last step of each page is deleted before the next page is read.
    let mut query = QueryStepsRequest::new().order_by(StepOrderBy::Path).take(1_i64);
    for at in 0..12 {
        let page = session.query_steps(query.clone()).unwrap();
        let id = page.steps[0].step_id.clone().unwrap();
        assert_eq!(id, format!("{}{}", at / 2, if at % 2 == 0 { "a" } else { "b" }));
        session.delete_step(&id_of(result), &id, false).unwrap();
        query.continuation_token = page.continuation_token;
        assert_eq!(query.continuation_token.is_none(), at == 11);
    }
}

#[test]
fn names_of_paths_stay_within_the_memory_of_a_query() {
    let store = TestStore::with(|options| options.query_memory_bytes(256 * 1024));
    let session = store.session();
    let result = &create(&session, vec![gain("P", "1"), gain("Q", "1")]);
    for (at, result) in result.iter().enumerate() {
        let entry = |at: usize| parameter(&[("name", &format!("m{at}")), ("measurement", "1")]);
        let steps = (0..20).map(|part| {
            let names = if at == 0 { part * 200..(part + 1) * 200 } else { 0..200 };
            let data = StepData::new().parameters(names.map(entry).collect::<Vec<_>>());
            step(&part.to_string(), "all").data(data)
        });
        add(&session, result, steps.collect());
    }
    let error = session.query_paths(QueryPathsRequest::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert!(error.message().contains("query_memory_bytes"), "{error}");
    let few = QueryPathsRequest::new().filter("partNumber == \"Q\"");
    let few = session.query_paths(few).unwrap().paths;
    assert_eq!(few[0].measurements.as_ref().unwrap().len(), 200);
}
