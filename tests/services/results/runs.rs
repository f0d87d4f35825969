//! Runs in progress: steps that are durable one by one, verdicts, and what a crash leaves.

use super::*;
use stationdb::results::StatusType::{
    Custom, Done, Errored, Failed, Passed, Running, Skipped, Terminated, TimedOut,
};

fn begin(session: &Session) -> Run {
    Run::begin("P", "SN", "Gain").start(session).unwrap()
}

fn status_of(step: &Step) -> StatusType {
    step.status.as_ref().unwrap().status_type
}

fn parameters(step: &Step) -> Vec<Value> {
    step.data.iter().flat_map(|data| data.parameters.iter().flatten()).map(write).collect()
}

#[test]
fn a_run_reads_like_a_test() {
    let store = TestStore::new();
    let session = store.session();
    let run = Run::begin("P", "SN", "Gain")
        .operator("ada")
        .host_name("bench 1")
        .system_id("s")
        .keyword("k")
        .property("lot", "7")
        .start(&session)
        .unwrap();
    let begun = run.result().unwrap();
    assert_eq!(begun.status, Some(Running.into()));
    assert_eq!(
        (begun.operator.as_deref(), begun.host_name.as_deref(), begun.system_id.as_deref()),
        (Some("ada"), Some("bench 1"), Some("s"))
    );
    let power = run
        .step("Power")
        .step_type("NumericLimitTest")
        .measure("VOUT", 12.01, "V")
        .limits(11.8, 12.2)
        .measure("IOUT", 3, "A")
        .text("warm")
        .input("load", 4)
        .keyword("dc")
        .property("slot", "2")
        .finish()
        .unwrap();
    assert_eq!(power, session.get_step(run.id(), power.step_id.as_deref().unwrap()).unwrap());
    assert_eq!(
        parameters(&power),
        [
            json!({"name": "VOUT", "measurement": "12.01", "units": "V", "lowLimit": "11.8",
                "highLimit": "12.2", "comparisonType": "GELE", "status": "Passed"}),
            json!({"name": "IOUT", "measurement": "3", "units": "A"}),
        ]
    );
    assert_eq!(status_of(&power), Passed);
    let outer = run.sequence("Outer").unwrap();
    let inner = outer.sequence("Inner").unwrap();
    let deep = inner.step("Deep").measure_text("serial", "a").equals("b").finish().unwrap();
    assert_eq!(deep.path.as_deref(), Some("Outer\nInner\nDeep"));
    assert_eq!(status_of(&deep), Failed);
    assert_eq!(parameters(&deep)[0]["expected"], "b");
    assert_eq!(status_of(&inner.finish().unwrap()), Failed);
    outer.step("Late").measure_bool("on", true).equals(true).finish().unwrap();
    let outer = outer.finish().unwrap();
    assert_eq!((status_of(&outer), outer.has_children), (Failed, Some(true)));
    let id = run.id().clone();
    let result = run.finish().unwrap();
    assert_eq!(result, session.get_result(&id).unwrap());
    assert_eq!(result.status, Some(Failed.into()));
    assert_eq!(write(&result.properties), json!({"lot": "7"}));
    let summary = result.status_type_summary.unwrap();
    assert_eq!((summary.passed, summary.failed, summary.running), (2, 3, 0));
    store.assert_sound();
}

#[test]
fn the_status_of_a_run_is_that_of_its_most_severe_step() {
    let store = TestStore::new();
    let session = store.session();
    let custom = || Status::new(Custom).status_name("Odd");
    for (steps, expected) in [
        (vec![], Status::from(Done)),
        (vec![Status::from(Skipped)], Skipped.into()),
        (vec![Skipped.into(), Done.into()], Done.into()),
        (vec![Skipped.into(), custom(), Skipped.into()], custom()),
        (vec![Passed.into(), Failed.into(), Passed.into()], Failed.into()),
        (vec![Errored.into(), Failed.into()], Errored.into()),
        (vec![Errored.into(), TimedOut.into()], TimedOut.into()),
    ] {
        let run = begin(&session);
        for status in &steps {
            run.step("s").status(status.clone()).finish().unwrap();
        }
        assert_eq!(run.finish().unwrap().status, Some(expected), "{steps:?}");
    }
    let run = begin(&session);
    run.step("s").status(Failed).finish().unwrap();
    assert_eq!(run.finish_as(custom()).unwrap().status, Some(custom()));
    assert_eq!(begin(&session).terminate().unwrap().status, Some(Terminated.into()));
    store.assert_sound();
}

fn product(session: &Session, part_number: &str) -> String {
    let request = CreateProductRequest::new(part_number);
    let made = session.create_products(vec![request]).unwrap().into_result().unwrap();
    made.products[0].id.clone().unwrap().to_string()
}

fn specification(session: &Session, product: &str, spec_id: &str, more: Value) {
    let mut body = json!({"productId": product, "specId": spec_id, "type": "PARAMETRIC"});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let specs = read(&json!({"specs": [body]}));
    session.create_specs(specs).unwrap().require_all().unwrap();
}

#[test]
fn a_specification_judges_with_exclusive_limits_that_are_stored() {
    let store = TestStore::new();
    let session = store.session();
    let (p, q) = (product(&session, "P"), product(&session, "Q"));
    let limit = json!({"min": 1, "max": 2.5, "typical": 2});
    specification(&session, &p, "S", json!({"unit": "V", "limit": limit}));
    specification(&session, &p, "LOW", json!({"limit": {"min": 1}}));
    specification(&session, &q, "OTHER", json!({"limit": {"max": 1}}));
    let hot = json!({"name": "T", "value": {"conditionType": "NUMERIC", "discrete": [85]}});
    specification(&session, &p, "HOT", json!({"limit": {"max": 9}, "conditions": [hot]}));
    let run = begin(&session);
    for (value, status, text) in [
        (1.0, Failed, "Failed"),
        (1.5, Passed, "Passed"),
        (2.5, Failed, "Failed"),
        (f64::NAN, Errored, "Errored"),
    ] {
        let step = run.step("S").measure("m", value, "").spec("S").finish().unwrap();
        let entry = &parameters(&step)[0];
        assert_eq!((status_of(&step), entry["status"].as_str()), (status, Some(text)), "{value}");
        for (key, text) in [
            ("specId", "S"),
            ("units", "V"),
            ("lowLimit", "1"),
            ("highLimit", "2.5"),
            ("nominalValue", "2"),
            ("comparisonType", "GTLT"),
        ] {
            assert_eq!(entry[key], text, "{key}");
        }
    }
    let low = run.step("LOW").measure("m", 1.5, "A").spec("LOW").finish().unwrap();
    let entry = &parameters(&low)[0];
    assert_eq!((&entry["comparisonType"], entry.get("highLimit")), (&json!("GT"), None));
    assert_eq!(entry["units"], "A");
    let hot = |celsius: f64| {
        let step = run.step("HOT").condition("T", celsius).measure("m", 10, "").spec("HOT");
        step.finish().unwrap()
    };
    assert_eq!((status_of(&hot(85.0)), status_of(&hot(25.0))), (Failed, Skipped));
    assert_eq!(write(&hot(25.0).inputs), json!([{"name": "T", "value": 25.0}]));
    assert_eq!(
        status_of(&run.step("n").measure("m", 10, "").spec("HOT").finish().unwrap()),
        Skipped
    );

    let before = run.result().unwrap();
    for spec in ["OTHER", "none"] {
        let error = run.step("x").measure("m", 1, "").spec(spec).finish().unwrap_err();
        assert_eq!(
            (error.kind(), error.resource()),
            (ErrorKind::NotFound, Some(("specification", spec)))
        );
    }
    let error = run.step("x").measure("m", 1, "mV").spec("S").finish().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(run.result().unwrap(), before, "nothing is stored of a step that is refused");
    run.finish().unwrap();
    store.assert_sound();
}

#[test]
fn limits_without_a_measurement_and_twice_are_refused() {
    let store = TestStore::new();
    let session = store.session();
    let run = begin(&session);
    for step in [
        run.step("s").limits(1, 2),
        run.step("s").measure("m", 1, "").limits(1, 2).limits(1, 2),
        run.step("s").measure("m", 1, "").limits(1, 2).spec("S"),
        run.step("s").measure("m", 1, "").at_least(1).at_least(1),
        run.step("s").measure("m", 1, "").limits(2, 1),
        run.step("s").measure_text("m", "1").limits(1, 2),
        run.step("s").measure_text("m", "1").equals(1),
    ] {
        assert_eq!(step.finish().unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
    let step = run.step("s").measure("m", 1.5, "").at_least(1).at_most(2).finish().unwrap();
    assert_eq!(parameters(&step)[0]["comparisonType"], "GELE");
    assert_eq!(run.finish().unwrap().status_type_summary.unwrap().passed, 1);
}

#[test]
fn what_a_crash_leaves_is_listed_and_carried_on() {
    let store = TestStore::new();
    let session = store.session();
    let foreign = gain("P", "foreign").status(Running);
    create(&session, vec![foreign]);
    let run = begin(&session);
    run.step("first").measure("m", 1, "").at_least(0).finish().unwrap();
    let outer = run.sequence("Outer").unwrap();
    outer.step("inner").measure("m", 1, "").at_least(0).finish().unwrap();
    drop(outer);
    drop(run);
    drop(session);
    let store = store.reopen();
    store.clock.advance_ms(5_000);
    let session = store.session();
    let left = session.unfinished_runs().unwrap();
    let found: Vec<_> = left.iter().map(|result| result.serial_number.as_deref()).collect();
    assert_eq!(found, [Some("SN")], "and not the result of another client");
    assert_eq!(left[0].status_type_summary.as_ref().unwrap().passed, 2);

    let run = Run::resume(&session, left[0].id.as_ref().unwrap()).unwrap();
    let open = run.open_sequences().unwrap();
    assert_eq!(open.iter().map(|step| step.name.as_deref()).collect::<Vec<_>>(), [Some("Outer")]);
    let outer = run.resume_sequence(open[0].step_id.as_deref().unwrap()).unwrap();
    let more = outer.step("more").status(Failed).finish().unwrap();
    assert_eq!(more.path.as_deref(), Some("Outer\nmore"));
    let outer = outer.finish().unwrap();
    assert_eq!((status_of(&outer), outer.total_time_in_seconds >= Some(5.0)), (Failed, true));
    let again = run.resume_sequence(outer.step_id.as_deref().unwrap()).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Conflict);
    let other = Run::resume(&session, run.id()).unwrap();
    let result = run.finish().unwrap();
    assert_eq!(result.status, Some(Failed.into()));
    assert!(result.total_time_in_seconds.unwrap() >= 5.0);
    assert_eq!(session.unfinished_runs().unwrap(), []);
    for error in [
        other.step("late").finish().unwrap_err(),
        other.sequence("late").unwrap_err(),
        other.attach_file(&"f".into()).unwrap_err(),
        other.finish().unwrap_err(),
        Run::resume(&session, result.id.as_ref().unwrap()).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Conflict);
    }
    assert_eq!(session.get_result(result.id.as_ref().unwrap()).unwrap(), result);
    store.assert_sound();
}

#[test]
fn a_run_whose_properties_are_replaced_is_still_one_that_can_be_resumed() {
    let store = TestStore::new();
    let session = store.session();
    let run = Run::begin("P", "SN", "Gain").property("lot", "7").start(&session).unwrap();
    let id = run.id().clone();
    run.step("first").status(Passed).finish().unwrap();
    let mut change = UpdateResultRequest::new().id(id.clone());
    for properties in [json!({"lot": "8"}), json!({})] {
        change.properties = read(&properties);
        let changed = session.update_results(vec![change.clone()], true, false).unwrap();
        let mut expected = properties;
        expected["stationdb.run"] = json!("in progress");
        assert_eq!(write(&changed.results[0].properties), expected);
    }
    run.step("second").status(Passed).finish().unwrap();
    drop(run);
    let left = session.unfinished_runs().unwrap();
    assert_eq!(left.iter().map(|result| result.id.clone()).collect::<Vec<_>>(), [Some(id.clone())]);
    let ended = Run::resume(&session, &id).unwrap().finish().unwrap();
    assert_eq!((ended.status, write(&ended.properties)), (Some(Passed.into()), json!({})));
    // A result that was ended has the properties that it is given.
    change.properties = read(&json!({"lot": "9"}));
    let changed = session.update_results(vec![change], true, false).unwrap();
    assert_eq!(write(&changed.results[0].properties), json!({"lot": "9"}));
    store.assert_sound();
}

#[test]
fn steps_that_are_open_when_a_run_ends_are_terminated() {
    let store = TestStore::new();
    let session = store.session();
    let run = begin(&session);
    let outer = run.sequence("Outer").unwrap();
    let inner = outer.sequence("Inner").unwrap();
    inner.step("s").status(Passed).finish().unwrap();
    drop(inner);
    let before = events(&session).len();
    assert_eq!(status_of(&outer.finish().unwrap()), Terminated);
    // The event counts the steps within it, too.
    let told = &events(&session)[before..];
    let counts = json!({ "created": 0, "updated": 2, "deleted": 0 });
    assert_eq!((told.len(), told[0].detail.as_ref()), (1, Some(&counts)));
    drop(run.sequence("Last").unwrap());
    let id = run.id().clone();
    let result = run.finish().unwrap();
    assert_eq!(result.status, Some(Terminated.into()));
    let summary = result.status_type_summary.unwrap();
    assert_eq!((summary.terminated, summary.passed, summary.running), (3, 1, 0));
    let query = QueryStepsRequest::new().filter("status.statusType == \"RUNNING\"");
    assert_eq!(session.query_steps(query.return_count(true)).unwrap().total_count, Some(0));
    assert!(session.get_result(&id).is_ok());
    store.assert_sound();
}

#[test]
fn a_run_names_its_files_and_tables() {
    let store = TestStore::new();
    let session = store.session();
    let upload = || {
        let request = UploadFileRequest::new().name("log");
        session.upload_file(&mut &b"passed"[..], request, &control()).unwrap()
    };
    let (of_run, of_step) = (upload(), upload());
    let run = begin(&session);
    run.attach_file(&of_run).unwrap();
    let columns = [Column::new("t", DataType::Int64).column_type(ColumnType::Index)];
    let table = run.create_table(CreateTableRequest::new(columns)).unwrap();
    let step = run.step("s").file("log", &of_step).table("ramp", &table).finish().unwrap();
    assert_eq!(
        write(&step.outputs),
        json!([{"name": "attachment.log", "value": of_step}, {"name": "table.ramp", "value": table}])
    );
    let metadata = session.get_table_metadata(&table).unwrap();
    assert_eq!(metadata.test_result_id.as_deref(), Some(run.id().as_str()));
    let result = run.finish().unwrap();
    assert_eq!(result.file_ids, Some(vec![of_run.to_string(), of_step.to_string()]));
    assert_eq!(result.data_table_ids, Some(vec![table.to_string()]));
    store.assert_sound();
}

#[test]
fn a_caller_who_may_not_change_results_changes_no_run() {
    let store = TestStore::with(|options| options.access_policy(GuestsRead("default")));
    let session = store.session();
    let guest = store.store.session(Identity::user("guest"));
    assert_eq!(
        Run::begin("P", "S", "G").start(&guest).unwrap_err().kind(),
        ErrorKind::PermissionDenied
    );
    let run = begin(&session);
    let of_guest = Run::resume(&guest, run.id()).unwrap();
    assert_eq!(guest.unfinished_runs().unwrap().len(), 1);
    let before = run.result().unwrap();
    for error in [
        of_guest.step("s").finish().unwrap_err(),
        of_guest.sequence("s").unwrap_err(),
        of_guest.attach_file(&"f".into()).unwrap_err(),
        of_guest.terminate().unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    }
    assert_eq!(run.result().unwrap(), before);
    let hidden = Run::begin("P", "S", "G").workspace("hidden").start(&session).unwrap();
    assert_eq!(Run::resume(&guest, hidden.id()).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(guest.unfinished_runs().unwrap().len(), 1);
    store.assert_sound();
}

/// What random calls of a run do to a step or a sequence.
#[derive(Clone, Copy, Debug)]
enum Call {
    Step(u8),
    Begin,
    End,
    Drop,
    Reopen,
}

/// A naive model: the steps with their paths and statuses.
#[test]
fn random_runs_agree_with_a_plain_list() {
    let severity = |status: StatusType| StatusType::ALL.iter().position(|known| *known == status);
    let statuses = [Passed, Failed, Done, Skipped, Errored];
    for seed in 0..30 {
        let mut random = Random::new(seed);
        let mut store = TestStore::with(|options| options.seal_rows(8));
        let mut session = store.session();
        let run = begin(&session);
        let id = run.id().clone();
        drop(run);
        // Path and status of each step; the open sequences by their places, outermost first.
        let mut plain: Vec<(String, StatusType)> = Vec::new();
        let mut ids: Vec<String> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        for at in 0..40 {
            let call = match random.below(10) {
                0..=4 => Call::Step(random.below(5) as u8),
                5 | 6 => Call::Begin,
                7 => Call::End,
                8 => Call::Drop,
                _ => Call::Reopen,
            };
            let run = Run::resume(&session, &id).unwrap();
            let within = open.last().map(|at| run.resume_sequence(&ids[*at]).unwrap());
            let path = |name: &str| match open.last() {
                Some(at) => format!("{}\n{name}", plain[*at].0),
                None => name.to_owned(),
            };
            let name = format!("s{at}");
            match call {
                Call::Step(status) => {
                    let status = statuses[usize::from(status)];
                    let step = match &within {
                        Some(within) => within.step(&name),
                        None => run.step(&name),
                    };
                    let step = step.status(status).finish().unwrap();
                    plain.push((path(&name), status));
                    ids.push(step.step_id.unwrap());
                }
                Call::Begin => {
                    let begun = match &within {
                        Some(within) => within.sequence(&name).unwrap(),
                        None => run.sequence(&name).unwrap(),
                    };
                    plain.push((path(&name), Running));
                    ids.push(begun.id().to_owned());
                    open.push(plain.len() - 1);
                }
                Call::End => {
                    if let (Some(within), Some(at)) = (within, open.pop()) {
                        let prefix = format!("{}\n", plain[at].0);
                        let below = plain.iter_mut().filter(|(path, _)| path.starts_with(&prefix));
                        let mut worst = None;
                        for (_, status) in below {
                            if *status == Running {
                                *status = Terminated;
                            }
                            if worst.is_none_or(|worst| severity(worst) < severity(*status)) {
                                worst = Some(*status);
                            }
                        }
                        plain[at].1 = worst.unwrap_or(Done);
                        let ended = within.finish().unwrap();
                        assert_eq!(status_of(&ended), plain[at].1, "seed {seed}");
                    }
                }
                // The sequence stays RUNNING, and later steps are beside it.
                Call::Drop => drop(open.pop()),
                Call::Reopen => {
                    drop(within);
                    drop(run);
                    drop(session);
                    store.store.maintain(&control()).unwrap();
                    store = store.reopen();
                    session = store.session();
                }
            }
        }
        let run = Run::resume(&session, &id).unwrap();
        let result = run.finish().unwrap();
        for (_, status) in &mut plain {
            if *status == Running {
                *status = Terminated;
            }
        }
        let query = QueryStepsRequest::new();
        let found: Vec<_> = session
            .query_steps(query)
            .unwrap()
            .steps
            .iter()
            .map(|step| (step.path.clone().unwrap(), status_of(step)))
            .collect();
        assert_eq!(found, plain, "seed {seed}");
        let worst = plain.iter().map(|(_, status)| *status).max_by_key(|status| severity(*status));
        assert_eq!(result.status, Some(worst.unwrap_or(Done).into()), "seed {seed}");
        let summary = result.status_type_summary.unwrap();
        for status in StatusType::ALL {
            let count = plain.iter().filter(|(_, own)| own == status).count() as u64;
            assert_eq!(summary.count(*status), count, "seed {seed}: {status}");
        }
        store.assert_sound();
    }
}
