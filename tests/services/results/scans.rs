//! Steps and measurements as batches, compared with the pages of `query_steps`.

use super::*;
use stationdb::arrow::array::{Array, AsArray, RecordBatch};
use stationdb::arrow::datatypes::{Float64Type, Int64Type, TimestampMillisecondType};
use stationdb::scans::RecordStream;

fn store() -> TestStore {
    TestStore::with(|options| {
        options.maintenance_thread(false).seal_rows(40).access_policy(GuestsRead("open"))
    })
}

/// Random results with steps, sealed and not; some results are deleted without their steps.
fn fill(seed: u64, store: &TestStore, results: usize) {
    let session = store.session();
    let mut random = Random::new(seed);
    for number in 0..results {
        let mut request = CreateResultRequest::new()
            .program_name(["P", "Q"][number % 2])
            .status([StatusType::Passed, StatusType::Failed][random.below(2) as usize]);
        request.part_number =
            [None, Some("A"), Some("B")][random.below(3) as usize].map(str::to_owned);
        request.operator = (random.below(2) == 0).then(|| "ada".to_owned());
        request.workspace = Some(["open", "secret"][random.below(2) as usize].to_owned());
        let id = id_of(&create(&session, vec![request])[0]);
        let mut steps = Vec::new();
        for place in 0..random.below(6) {
            let mut entries = Vec::new();
            for _ in 0..random.below(4) {
                let text = ["1", "2.50", "x", "NaN", "-3e2"][random.below(5) as usize];
                let mut entry = json!({"name": (["X", "Y"][random.below(2) as usize]), "lowLimit": "1",
                    "highLimit": "many", "nominalValue": "2", "comparisonType": "GELE", "k": "v"});
                match random.below(6) {
                    0 => entry["nitmParameterType"] = json!("ADDITIONAL_RESULTS"),
                    1 => {}
                    _ => entry["measurement"] = json!(text),
                }
                if random.below(3) == 0 {
                    entry["units"] = json!("V");
                    entry["specId"] = json!("s");
                    entry["status"] = json!("Passed");
                }
                if random.below(8) == 0 {
                    entry.as_object_mut().unwrap().remove("name");
                }
                entries.push(entry);
            }
            let mut step = json!({"resultId": id, "name": (["a", "b"][place as usize % 2]),
                "data": {"text": "t", "parameters": entries}, "inputs": [{"name": "i", "value": [1]}],
                "properties": {"p": "q"}, "keywords": ["k"]});
            if random.below(2) == 0 {
                step["stepId"] = json!(place.to_string());
                step["parentId"] = json!("0");
                step["status"] = json!({"statusType": "SKIPPED", "statusName": "left out"});
            }
            if place == 0 {
                step["stepId"] = json!("0");
                step["parentId"] = json!(null);
            }
            steps.push(read(&step));
        }
        session.create_steps(steps, false).unwrap().require_all().unwrap();
        if random.below(12) == 0 {
            store.store.maintain(&control()).unwrap();
        }
        if random.below(9) == 0 {
            session.delete_result(&id, false).unwrap();
        }
    }
}

fn batches(stream: Result<RecordStream>) -> Vec<RecordBatch> {
    stream.unwrap().map(Result::unwrap).collect()
}

fn column(batches: &[RecordBatch], name: &str) -> Vec<Value> {
    let mut found = Vec::new();
    for batch in batches {
        let array = batch.column_by_name(name).unwrap();
        for row in 0..array.len() {
            found.push(if array.is_null(row) {
                Value::Null
            } else if let Some(texts) = array.as_string_opt::<i32>() {
                json!(texts.value(row))
            } else if let Some(numbers) = array.as_primitive_opt::<Float64Type>() {
                // NaN is no JSON.
                json!(numbers.value(row).to_string())
            } else if let Some(numbers) = array.as_primitive_opt::<Int64Type>() {
                json!(numbers.value(row))
            } else if let Some(times) = array.as_primitive_opt::<TimestampMillisecondType>() {
                json!(times.value(row))
            } else {
                let map = array.as_map().value(row);
                let (keys, values) = (map.column(0).as_string::<i32>(), map.column(1));
                let values = values.as_string::<i32>();
                let pairs = keys.iter().zip(values).map(|(key, value)| (key.unwrap(), value));
                json!(pairs.collect::<BTreeMap<_, _>>())
            });
        }
    }
    found
}

/// The rows of measurements that steps have, sorted.
fn plain(session: &Session, steps: &[Step], named: Option<&str>) -> Vec<String> {
    let mut rows = Vec::new();
    for step in steps {
        let result_id = step.result_id.clone().unwrap();
        let result = session.get_result(&result_id.as_str().into()).ok();
        let of = |member: fn(&TestResult) -> Option<String>| result.as_ref().and_then(member);
        let entries = step.data.as_ref().and_then(|data| data.parameters.clone());
        for (position, mut entry) in entries.unwrap_or_default().into_iter().enumerate() {
            if entry.get("nitmParameterType").is_some_and(|text| text == "ADDITIONAL_RESULTS") {
                continue;
            }
            let (Some(name), Some(text)) = (entry.remove("name"), entry.remove("measurement"))
            else {
                continue;
            };
            if named.is_some_and(|wanted| wanted != name) {
                continue;
            }
            let number = |text: Option<&String>| {
                text.and_then(|text| text.parse::<f64>().ok()).map(|value| value.to_string())
            };
            let value = number(Some(&text));
            let low = number(entry.remove("lowLimit").as_ref());
            let high = number(entry.remove("highLimit").as_ref());
            rows.push(
                json!([
                    [result_id, step.step_id, position, name, value, text, entry.remove("units")],
                    [low, high, entry.remove("comparisonType"), entry.remove("status")],
                    [entry.remove("specId"), entry],
                    [step.name, step.path, step.status.as_ref().map(|status| status.status_type)],
                    [step.started_at.map(|at| at.timestamp_millis()), step.workspace],
                    [of(|result| result.part_number.clone())],
                    [
                        of(|result| result.program_name.clone()),
                        of(|result| result.operator.clone())
                    ],
                    [of(|result| result.status.as_ref().map(|one| one.status_type.to_string()))],
                ])
                .to_string(),
            );
        }
    }
    rows.sort();
    rows
}

/// The same rows of batches.
fn scanned(batches: &[RecordBatch]) -> Vec<String> {
    let groups: [&[&str]; 8] = [
        &["result_id", "step_id", "position", "name", "value", "text", "units"],
        &["low_limit", "high_limit", "comparison_type", "status"],
        &["spec_id", "extra"],
        &["step_name", "path", "step_status"],
        &["started_at", "workspace"],
        &["part_number"],
        &["program_name", "operator"],
        &["result_status"],
    ];
    let columns =
        groups.map(|names| names.iter().map(|name| column(batches, name)).collect::<Vec<_>>());
    let count = batches.iter().map(RecordBatch::num_rows).sum();
    let row = |row: usize| {
        let groups = columns.iter().map(|group| {
            Value::from(group.iter().map(|column| column[row].clone()).collect::<Vec<_>>())
        });
        Value::from(groups.collect::<Vec<_>>()).to_string()
    };
    let mut rows: Vec<String> = (0..count).map(row).collect();
    rows.sort();
    rows
}

fn check(session: &Session) -> usize {
    let all = session.query_steps(QueryStepsRequest::new().take(100_000)).unwrap().steps;
    let filters = [
        None,
        Some("name == \"a\""),
        Some("status.statusType == \"SKIPPED\" && path == \"a\""),
        Some("hasChildren == true"),
        Some("data.text == \"t\" && workspace == \"open\""),
        Some("inputs.Any(i => i.name == \"none\")"),
    ];
    let mut total = 0;
    for filter in filters {
        for result_filter in [None, Some("partNumber == \"A\""), Some("programName == \"P\"")] {
            let mut query = QueryStepsRequest::new().take(100_000);
            query.filter = filter.map(str::to_owned);
            query.result_filter = result_filter.map(str::to_owned);
            let steps = session.query_steps(query).unwrap().steps;
            let mut request = ScanStepsRequest::new();
            request.filter = filter.map(str::to_owned);
            request.result_filter = result_filter.map(str::to_owned);
            let found = batches(session.scan_steps(request.clone(), &control()));
            let records = column(&found, "record");
            let expected: Vec<Value> =
                steps.iter().map(|step| json!(write(step).to_string())).collect();
            let as_json =
                |text: &Value| -> Value { serde_json::from_str(text.as_str().unwrap()).unwrap() };
            assert_eq!(
                records.iter().map(as_json).collect::<Vec<_>>(),
                expected.iter().map(as_json).collect::<Vec<_>>(),
                "{filter:?} {result_filter:?}"
            );
            let ids: Vec<Value> = steps.iter().map(|step| json!(step.step_id)).collect();
            assert_eq!(column(&found, "step_id"), ids);
            for name in [None, Some("X")] {
                let mut request = ScanMeasurementsRequest::new();
                request.filter = filter.map(str::to_owned);
                request.result_filter = result_filter.map(str::to_owned);
                request.name = name.map(str::to_owned);
                let found = batches(session.scan_measurements(request.clone(), &control()));
                let rows = scanned(&found);
                assert_eq!(
                    rows,
                    plain(session, &steps, name),
                    "{filter:?} {result_filter:?} {name:?}"
                );
                total += rows.len();
                // Fewer columns, and fewer rows.
                let some = request.clone().columns(["value", "serial_number"]).take(3_i64);
                let found = batches(session.scan_measurements(some, &control()));
                let count: usize = found.iter().map(RecordBatch::num_rows).sum();
                assert_eq!(count, rows.len().min(3));
                request.path = Some("a".to_owned());
                let found = batches(session.scan_measurements(request, &control()));
                let of_path: Vec<Step> = steps
                    .iter()
                    .filter(|step| step.path.as_deref() == Some("a"))
                    .cloned()
                    .collect();
                assert_eq!(scanned(&found), plain(session, &of_path, name));
            }
        }
    }
    let first = all.first().and_then(|step| step.result_id.clone()).unwrap();
    let request =
        ScanMeasurementsRequest::new().filter("resultId == @0").substitutions([json!(first)]);
    let found = batches(session.scan_measurements(request, &control()));
    let of_first: Vec<Step> =
        all.into_iter().filter(|step| step.result_id.as_ref() == Some(&first)).collect();
    assert_eq!(scanned(&found), plain(session, &of_first, None));
    total
}

#[test]
fn batches_have_what_pages_have() {
    for (seed, results) in [(1, 40), (2, 40)] {
        let store = store();
        fill(seed, &store, results);
        let guest = store.store.session(Identity::user("guest"));
        let (seen, all) = (check(&guest), check(&store.session()));
        assert!(seen > 0 && all > seen, "{seen} of {all}");
        store.store.maintain(&control()).unwrap();
        check(&store.session());
    }
}

/// So many results are selected that their steps are read in one pass over the columns.
#[test]
fn many_results_are_read_in_one_pass() {
    let store = store();
    let session = store.session();
    let items = (0..1_200_usize).map(|number| {
        let result = CreateResultRequest::new()
            .program_name(if number % 2 == 0 { "P" } else { "Q" })
            .status(StatusType::Passed)
            .serial_number(number.to_string())
            .workspace("open");
        let entry = json!({"name": "X", "measurement": number.to_string()});
        let step = json!({"name": "a", "data": {"parameters": [entry]}});
        ResultWithSteps::new(result).step(read(&step))
    });
    let items: Vec<ResultWithSteps> = items.collect();
    let guest = store.store.session(Identity::user("guest"));
    for (part, of_part) in items.chunks(600).enumerate() {
        let _ = session.append_results(of_part).unwrap().into_result().unwrap();
        if part == 0 {
            store.store.maintain(&control()).unwrap();
        }
    }
    for (session, filter, step) in
        [(&session, Some("programName == \"P\""), 2), (&guest, None, 1), (&session, None, 1)]
    {
        let mut request =
            ScanMeasurementsRequest::new().name("X").columns(["text", "serial_number"]);
        request.result_filter = filter.map(str::to_owned);
        let found = batches(session.scan_measurements(request, &control()));
        let texts = column(&found, "text");
        assert_eq!(texts, column(&found, "serial_number"));
        let number = |text: &Value| text.as_str().unwrap().parse::<usize>().unwrap();
        let mut numbers: Vec<usize> = texts.iter().map(number).collect();
        numbers.sort();
        assert_eq!(numbers, (0..1_200).step_by(step).collect::<Vec<_>>());
    }
}

#[test]
fn streams_have_one_state_and_refuse_faults() {
    let store = store();
    fill(1, &store, 30);
    let session = store.session();
    let request = ScanMeasurementsRequest::new();
    let before = scanned(&batches(session.scan_measurements(request.clone(), &control())));
    let stream = session.scan_measurements(request.clone(), &control());
    let steps = session.scan_steps(ScanStepsRequest::new().columns(["name"]), &control());
    let count: usize = session.query_steps(QueryStepsRequest::new()).unwrap().steps.len();
    fill(2, &store, 30);
    store.store.maintain(&control()).unwrap();
    assert_eq!(scanned(&batches(stream)), before);
    assert_eq!(column(&batches(steps), "name").len(), count);
    for (asked, place) in [
        (json!({"columns": ["none"]}), "columns[0]"),
        (json!({"take": -1}), "take"),
        (json!({"filter": "name =="}), "filter"),
    ] {
        let error = session.scan_steps(read(&asked), &control()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{place}");
        let error = session.scan_measurements(read(&asked), &control()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{place}");
    }
    let cancelled = control();
    let mut stream = session.scan_measurements(request.clone(), &cancelled).unwrap();
    cancelled.cancel();
    assert_eq!(stream.next().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(stream.next().is_none());
    let refused = session
        .transaction(|transaction| transaction.scan_measurements(request, &control()).map(drop));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unsupported);
}
