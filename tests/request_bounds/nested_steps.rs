//! Steps of results nest in 100 levels by every way that a request comes, also on a thread with
//! little stack, and no further.

use serde_json::{Value, json};
use stationdb::prelude::*;
use stationdb::results::*;
use stationdb::{ErrorKind, Identity, Place, Store};

use crate::nesting::on_little_stack;

#[test]
fn steps_are_nested_in_at_most_100_levels_by_every_way() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let request = CreateResultRequest::new().program_name("P").status(StatusType::Running);
    let made = session.create_results(vec![request]).unwrap().into_result().unwrap();
    let id = made.results[0].id.clone().unwrap();
    // The text of a step in so many levels, each with a value that nests itself.
    let nested = |prefix: &str, levels: usize| {
        let open: String = (0..levels)
            .map(|level| {
                let own = format!("\"stepId\":\"{prefix}{level}\",\"name\":\"n{level}\"");
                let inputs = "\"inputs\":[{\"name\":\"i\",\"value\":[[[{\"a\":[1]}]]]}]";
                format!("{{{own},{inputs},\"children\":[")
            })
            .collect();
        let inner = open.strip_suffix(",\"children\":[").unwrap().to_owned();
        let steps = format!("{inner}}}{}", "]}".repeat(levels - 1));
        steps.replacen('{', &format!("{{\"resultId\":\"{id}\","), 1)
    };
    let call = |steps: &str| {
        on_little_stack(|| session.call("create_steps", format!("{{\"steps\":[{steps}]}}")))
    };
    let made: Value = serde_json::from_str(&call(&nested("call", 100)).unwrap()).unwrap();
    assert_eq!(made["steps"].as_array().unwrap().len(), 100);
    assert_eq!(made["failed"], Value::Null);
    // The same steps as a value of the trait, read leniently and strictly.
    for (prefix, strict) in [("typed", false), ("strict", true)] {
        let text = format!("[{}]", nested(prefix, 100));
        let read = if strict { stationdb::from_json_strict } else { stationdb::from_json };
        let steps: Vec<CreateStepRequest> = on_little_stack(|| read(text.as_bytes()).unwrap());
        let made = on_little_stack(|| session.create_steps(steps, false).unwrap());
        assert_eq!((made.steps.len(), made.failed), (100, None));
    }
    for prefix in ["call", "typed", "strict"] {
        let deepest = session.get_step(&id, &format!("{prefix}99")).unwrap();
        assert_eq!(deepest.name.as_deref(), Some("n99"));
        let ids: Vec<String> = (0..100).map(|level| format!("{prefix}{level}")).collect();
        assert_eq!(deepest.path_ids, Some(ids));
        assert_eq!(
            serde_json::to_value(&deepest.inputs).unwrap(),
            json!([{"name": "i", "value": [[[{"a": [1]}]]]}])
        );
    }
    // One level more fails by itself, and comes back as it was sent.
    let json = call(&nested("deep", 101)).unwrap();
    let sent = nested("deep", 101);
    let made: CreateStepsPartialSuccess = stationdb::from_json(json.as_bytes()).unwrap();
    assert_eq!(made.steps, []);
    assert_eq!(made.failed.unwrap(), [stationdb::from_json(sent.as_bytes()).unwrap()]);
    let error = &made.error.unwrap().inner_errors[0];
    assert_eq!(error.name.as_deref(), Some("StationDb.LimitExceeded"));
    // Still more are refused before anything of them is read.
    for levels in [102, 200, 100_000] {
        let error = call(&nested("endless", levels)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
        assert!(error.message().contains("`children`"), "{error}");
    }
    let count = QueryStepsRequest::new().take(0).return_count(true);
    assert_eq!(session.query_steps(count).unwrap().total_count, Some(300));
    // A value of a step has the bound of a stored value, also where it calls its lists `children`.
    let value =
        |levels: usize| format!("{}1{}", "{\"children\":[".repeat(levels), "]}".repeat(levels));
    let with_value = |levels: usize| {
        let value = value(levels);
        let step = format!("\"name\":\"v\",\"inputs\":[{{\"name\":\"i\",\"value\":{value}}}]");
        format!("{{\"steps\":[{{\"resultId\":\"{id}\",{step}}}]}}")
    };
    for (levels, is_kept) in [(58, true), (59, false), (80, false)] {
        let json = session.call("create_steps", with_value(levels)).unwrap();
        let made: CreateStepsPartialSuccess = stationdb::from_json(json.as_bytes()).unwrap();
        assert_eq!((made.steps.len(), made.error.is_none()), (usize::from(is_kept), is_kept));
        let step = format!(
            "{{\"name\":\"v\",\"inputs\":[{{\"name\":\"i\",\"value\":{}}}]}}",
            value(levels)
        );
        let step: CreateStepRequest = stationdb::from_json(step.as_bytes()).unwrap();
        let result = CreateResultRequest::new().program_name("P").status(StatusType::Done);
        let made = session.append_results(&[ResultWithSteps::new(result).step(step)]).unwrap();
        assert_eq!(made.results.len(), usize::from(is_kept), "{levels}");
    }
    // Updates nest as creations do, and faults are named by their place.
    let nest = |inner: &str, levels: usize| {
        let outer = format!("{{\"resultId\":\"{id}\",\"stepId\":\"call0\",\"children\":[");
        format!("{{\"steps\":[{}{inner}{}]}}", outer.repeat(levels), "]}".repeat(levels))
    };
    let renamed = r#"{"stepId":"call1","name":"renamed"}"#;
    session.call("update_steps", nest(renamed, 99)).unwrap();
    assert_eq!(session.get_step(&id, "call1").unwrap().name.as_deref(), Some("renamed"));
    let error = session.call("update_steps", nest(r#"{"stepId":7}"#, 99)).unwrap_err();
    let place = format!("steps[0]{}.stepId", ".children[0]".repeat(99));
    assert_eq!(error.place(), Some(&Place::Member(place)), "{error}");
    let error = session.call("update_steps", nest("7", 1)).unwrap_err();
    assert_eq!(error.place(), Some(&Place::Member("steps[0].children[0]".to_owned())));
    let wrong = r#"{"steps":[{"children":[{"children":{}}]}]}"#;
    let error = session.call("create_steps", wrong).unwrap_err();
    let place = "steps[0].children[0].children".to_owned();
    assert_eq!(error.place(), Some(&Place::Member(place)));
    let unknown = br#"[{"children":[{},{"children":[{"nmae":"a"}]}]}]"#;
    let error = stationdb::from_json_strict::<Vec<CreateStepRequest>>(unknown).unwrap_err();
    let place = "[0].children[1].children[0].nmae".to_owned();
    assert_eq!(error.place(), Some(&Place::Member(place)), "{error}");
}
