//! One test for each rule of the mapping.

use std::collections::BTreeMap;

use stationdb::ErrorKind;
use stationdb::prelude::*;
use stationdb::results::{StatusType, Step};

use super::Bench;

/// A record with these members.
fn record(members: &str) -> String {
    format!("{{{members}}}")
}

/// A record with a phase with these members.
fn phase(members: &str) -> String {
    record(&format!("\"phases\": [{{\"name\": \"p\", {members}}}]"))
}

/// The parameter of a measurement with these members.
#[track_caller]
fn parameter(members: &str) -> BTreeMap<String, String> {
    let text = phase(&format!("\"measurements\": {{\"m\": {{{members}}}}}"));
    let steps = Bench::new().steps(&text);
    steps[0].data.clone().unwrap().parameters.unwrap().remove(0)
}

#[track_caller]
fn has(parameter: &BTreeMap<String, String>, entries: &[(&str, &str)]) {
    let entries: BTreeMap<String, String> =
        entries.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
    assert_eq!(*parameter, entries);
}

fn status_of(step: &Step) -> StatusType {
    step.status.as_ref().unwrap().status_type
}

#[test]
fn serial_number_host_and_program() {
    let bench = Bench::new();
    let result = bench.result(&record(
        r#""dut_id": "SN", "station_id": "s", "metadata": {"test_name": "T"}, "code_info": {"name": "c"}"#,
    ));
    assert_eq!(result.serial_number.as_deref(), Some("SN"));
    assert_eq!(result.host_name.as_deref(), Some("s"));
    assert_eq!(result.program_name.as_deref(), Some("T"));
    let result =
        bench.result(&record(r#""metadata": {"test_name": " "}, "code_info": {"name": "c"}"#));
    assert_eq!(result.program_name.as_deref(), Some("c"));
    assert_eq!((result.serial_number, result.host_name), (None, None));
    assert_eq!(bench.result("{}").program_name.as_deref(), Some("OpenHTF"));
}

#[test]
fn operator_and_part_number() {
    let text = record(r#""metadata": {"operator_name": "ada", "part_number": "PN"}"#);
    let result = Bench::new().result(&text);
    assert_eq!(result.operator.as_deref(), Some("ada"));
    assert_eq!(result.part_number.as_deref(), Some("PN"));
    // They are no properties too.
    assert_eq!(result.properties.unwrap().len(), 1);
}

#[test]
fn times() {
    let bench = Bench::new();
    let text = record(r#""start_time_millis": 1700000000123, "end_time_millis": 1700000002623"#);
    let result = bench.result(&text);
    assert_eq!(result.started_at.unwrap().timestamp_millis(), 1_700_000_000_123);
    assert_eq!(result.total_time_in_seconds, Some(2.5));
    let result = bench.result(&record(r#""start_time_millis": 1700000000123"#));
    assert_eq!(result.total_time_in_seconds, Some(0.0));
    // A clock that was set back.
    let text = record(r#""start_time_millis": 1700000000123, "end_time_millis": 1"#);
    assert_eq!(bench.result(&text).total_time_in_seconds, Some(0.0));
}

#[test]
fn outcomes_of_records() {
    let bench = Bench::new();
    for (outcome, status) in [
        ("\"PASS\"", StatusType::Passed),
        ("\"FAIL\"", StatusType::Failed),
        ("\"ERROR\"", StatusType::Errored),
        ("\"TIMEOUT\"", StatusType::TimedOut),
        ("\"ABORTED\"", StatusType::Terminated),
        ("null", StatusType::Running),
    ] {
        let result = bench.result(&record(&format!("\"outcome\": {outcome}")));
        assert_eq!(result.status.unwrap().status_type, status);
    }
    let message = bench.refusal(&record("\"outcome\": \"SUPER\""));
    assert!(message.contains("outcome: \"SUPER\" is not one of PASS, FAIL"), "{message}");
}

#[test]
fn properties() {
    let result = Bench::new().result(&record(
        r#""marginal": true, "outcome_details": [{"code": 7, "description": "a"}, {"code": "X", "description": ""}],
        "metadata": {"lot": 42, "scale": 1.50, "wet": false, "note": "n", "none": null, "config": {"a": 1}, "list": [1]}"#,
    ));
    let mut properties = result.properties.unwrap();
    let sum = properties.remove("openhtf.sha256").flatten().unwrap();
    assert_eq!(sum.len(), 64);
    let text = |text: &str| Some(text.to_owned());
    let expected = [
        ("marginal", text("true")),
        ("outcome_details.0", text("7: a")),
        ("outcome_details.1", text("X: ")),
        ("metadata.lot", text("42")),
        ("metadata.scale", text("1.5")),
        ("metadata.wet", text("false")),
        ("metadata.note", text("n")),
    ];
    assert_eq!(properties, expected.map(|(key, value)| (key.to_owned(), value)).into());
}

#[test]
fn subtests_stand_before_their_first_phase() {
    let bench = Bench::new();
    let text = record(
        r#""subtests": [{"name": "b", "outcome": "STOP"}, {"name": "a", "outcome": "PASS", "marginal": true},
            {"name": "empty", "outcome": "FAIL"}],
        "phases": [{"name": "0"}, {"name": "1", "subtest_name": "a"}, {"name": "2"},
            {"name": "3", "subtest_name": "b"}, {"name": "4", "subtest_name": "a"}, {"name": "5", "subtest_name": "gone"}]"#,
    );
    let steps = bench.steps(&text);
    let line = |step: &Step| {
        let kind = step.step_type.clone().unwrap();
        format!(
            "{} {kind} {}",
            step.path_ids.clone().unwrap().join("/"),
            step.name.clone().unwrap()
        )
    };
    assert_eq!(
        steps.iter().map(line).collect::<Vec<_>>(),
        [
            "phase-0 Phase 0",
            "subtest-1 Subtest a",
            "subtest-1/phase-1 Phase 1",
            "subtest-1/phase-4 Phase 4",
            "phase-2 Phase 2",
            "subtest-0 Subtest b",
            "subtest-0/phase-3 Phase 3",
            "phase-5 Phase 5",
            "subtest-2 Subtest empty",
        ]
    );
    assert!(steps.iter().all(|step| step.data_model.as_deref() == Some("OpenHTF")));
    let statuses = [1, 5, 8].map(|at| status_of(&steps[at]));
    assert_eq!(statuses, [StatusType::Passed, StatusType::Terminated, StatusType::Failed]);
    assert_eq!(steps[1].properties.as_ref().unwrap()["marginal"], "true");
}

#[test]
fn names_of_phases_repeat() {
    let text = record(r#""phases": [{"name": "a"}, {"name": "a"}, {"name": "a"}]"#);
    assert_eq!(Bench::new().steps(&text).len(), 3);
}

#[test]
fn outcomes_of_phases() {
    let bench = Bench::new();
    for (members, status) in [
        (r#""outcome": "PASS""#, StatusType::Passed),
        (r#""outcome": "FAIL""#, StatusType::Failed),
        (r#""outcome": "SKIP", "result": {"phase_result": "SKIP"}"#, StatusType::Skipped),
        (r#""outcome": "ERROR", "result": {"phase_result": "STOP"}"#, StatusType::Errored),
        (r#""outcome": "ERROR", "result": {"phase_result": null}"#, StatusType::TimedOut),
        (r#""outcome": "ERROR""#, StatusType::Errored),
        (r#""outcome": null"#, StatusType::Running),
    ] {
        assert_eq!(status_of(&bench.steps(&phase(members))[0]), status, "{members}");
    }
    let message = bench.refusal(&phase("\"outcome\": \"STOP\""));
    assert!(message.contains("phases[0].outcome: \"STOP\" is not one of"), "{message}");
}

#[test]
fn exceptions_are_the_text() {
    let text = phase(
        r#""outcome": "ERROR", "result": {"phase_result": {"exc_type": "<class 'ValueError'>", "exc_val": "stuck"}}"#,
    );
    let steps = Bench::new().steps(&text);
    assert_eq!(steps[0].data.as_ref().unwrap().text.as_deref(), Some("ValueError: stuck"));
}

#[test]
fn values_of_measurements() {
    has(&parameter(r#""measured_value": 5.0"#), &[("name", "m"), ("measurement", "5")]);
    has(&parameter(r#""measured_value": 1e-07"#), &[("name", "m"), ("measurement", "1e-7")]);
    has(&parameter(r#""measured_value": true"#), &[("name", "m"), ("measurement", "true")]);
    has(&parameter(r#""measured_value": "3.10""#), &[("name", "m"), ("measurement", "3.10")]);
    has(&parameter(r#""measured_value": null"#), &[("name", "m")]);
    has(&parameter(r#""measured_value": [1, 2.50]"#), &[("name", "m"), ("measurement", "[1,2.5]")]);
    has(&parameter(""), &[("name", "m")]);
}

#[test]
fn units_and_docstrings() {
    let with = |units: &str| parameter(&format!("\"units\": {units}"));
    has(&with(r#"{"name": "volt", "suffix": "V"}"#), &[("name", "m"), ("units", "V")]);
    has(&with(r#"{"name": "pieces", "suffix": null}"#), &[("name", "m"), ("units", "pieces")]);
    has(&with(r#"{"name": "No dimension", "suffix": null}"#), &[("name", "m")]);
    has(&parameter(r#""docstring": "why""#), &[("name", "m"), ("docstring", "why")]);
}

#[test]
fn outcomes_of_measurements() {
    for (outcome, status) in [
        ("PASS", "Passed"),
        ("FAIL", "Failed"),
        ("SKIPPED", "Skipped"),
        ("UNSET", "Errored"),
        ("PARTIALLY_SET", "Errored"),
    ] {
        let found = parameter(&format!("\"outcome\": \"{outcome}\""));
        has(&found, &[("name", "m"), ("status", status)]);
    }
}

#[test]
fn validators_become_limits() {
    has(
        &parameter(r#""validators": ["4.9 <= x <= 5.10"]"#),
        &[("name", "m"), ("comparisonType", "GELE"), ("lowLimit", "4.9"), ("highLimit", "5.1")],
    );
    has(
        &parameter(r#""validators": ["'x' matches /a/"]"#),
        &[("name", "m"), ("comparisonType", "LOG"), ("validators", "'x' matches /a/")],
    );
}

#[test]
fn measurements_stay_in_order() {
    let text =
        phase(r#""measurements": {"z": {"name": "z"}, "a": {"name": "a"}, "m": {"name": "m"}}"#);
    let parameters = Bench::new().steps(&text)[0].data.clone().unwrap().parameters.unwrap();
    let names: Vec<&str> = parameters.iter().map(|entry| entry["name"].as_str()).collect();
    assert_eq!(names, ["z", "a", "m"]);
}

#[test]
fn dimensions_with_one_name_get_numbers() {
    let bench = Bench::new();
    let text = phase(
        r#""measurements": {"m": {"dimensions": [{"name": "row"}, {"description": "d", "name": "x"}, {"name": "d"}],
            "measured_value": [[1, 2, 3, null], [4, 5, 6, "inf"]]}}"#,
    );
    let report = bench.import(&text).unwrap();
    let table = bench.session.get_table_metadata(&report.tables[0]).unwrap();
    assert_eq!(table.name.as_deref(), Some("p.m"));
    let names: Vec<String> = table.columns.unwrap().into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["row", "row 2", "d", "d 2", "value"]);
    let parameters = bench.steps_of(&report)[0].data.clone().unwrap().parameters.unwrap();
    let id = report.tables[0].to_string();
    has(&parameters[0], &[("name", "m"), ("dataTableId", &id)]);
}

#[test]
fn rows_fit_their_dimensions() {
    let text = phase(
        r#""measurements": {"m": {"dimensions": [{"name": "a"}], "measured_value": [[1, 2], [1, 2, 3]]}}"#,
    );
    let message = Bench::new().refusal(&text);
    let place = "phases[0].measurements.m.measured_value[1]: expected a value for each of 1";
    assert!(message.contains(place), "{message}");
}

#[test]
fn attachments() {
    let bench = Bench::new();
    let text = phase(
        r#""attachments": {"a.txt": {"mimetype": "text/plain", "sha1": "ba7816bf", "data": "YWJj"}}"#,
    );
    let message = bench.refusal(&text);
    let place = "phases[0].attachments.a.txt.data: the attachment has the SHA-1 \
                 a9993e364706816aba3e25717850c26c9cd0d89d and not ba7816bf";
    assert!(message.contains(place), "{message}");
    let message = bench.refusal(&phase(r#""attachments": {"a": {"data": "?"}}"#));
    assert!(message.contains("this is no base64"), "{message}");
    let text = phase(
        r#""attachments": {"a": {"sha1": "A9993E364706816ABA3E25717850C26C9CD0D89D", "data": "YWJj"}, "b": {"sha1": "77"}}"#,
    );
    let report = bench.import(&text).unwrap();
    let outputs = bench.steps_of(&report)[0].outputs.clone().unwrap();
    let pairs: Vec<(&str, &str)> =
        outputs.iter().map(|one| (one.name.as_str(), one.value.as_str().unwrap())).collect();
    let id = report.files[0].to_string();
    assert_eq!(pairs, [("attachment.a", id.as_str()), ("attachment.b", "77")]);
    assert_eq!(report.files.len(), 2);
}

#[test]
fn the_file_of_the_record_has_its_name() {
    let bench = Bench::new();
    let report = bench.import(&record(r#""dut_id": "a/b", "start_time_millis": 5"#)).unwrap();
    let files = stationdb::files::GetFilesRequest::new().ids([report.files[0].to_string()]);
    let file = bench.session.get_files(files).unwrap().available_files.remove(0);
    assert_eq!(file.properties["Name"], "a_b.5.openhtf.json");
}

#[test]
fn unknown_members_are_ignored() {
    let text = phase(r#""unknown": [1, {"a": null}], "measurements": {"m": {"other": 7}}"#);
    assert_eq!(Bench::new().steps(&text).len(), 1);
}

#[test]
fn errors_name_the_place_and_change_nothing() {
    let bench = Bench::new();
    for (text, place) in [
        ("", "this is no JSON"),
        ("[]", "the record: expected an object, found a list"),
        ("{\"phases\": 3}", "phases: expected a list, found a number"),
        ("{\"phases\": [3]}", "phases[0]: expected an object, found a number"),
        (r#"{"start_time_millis": 1.5}"#, "start_time_millis: expected a whole number"),
        (r#"{"start_time_millis": 9223372036854775807}"#, "is no time that can be stored"),
        (r#"{"marginal": "yes"}"#, "marginal: expected true or false, found a text"),
        (
            r#"{"phases": [{"name": null, "measurements": {"m": {"outcome": "OK"}}}]}"#,
            "phases[0].measurements.m.outcome: \"OK\" is not one of PASS",
        ),
        (
            r#"{"phases": [{"measurements": {"m": {"validators": [7]}}}]}"#,
            "phases[0].measurements.m.validators[0]: expected a text, found a number",
        ),
        (r#"{"a": 1, "serial": "SN-1"}"#, "it is no record of OpenHTF"),
        (r#"{"subtests": [{"name": 5}]}"#, "subtests[0].name: expected a text, found a number"),
    ] {
        let message = bench.refusal(text);
        assert!(message.contains(place), "{text}: {message}");
    }
}

/// A record that is read, but that the store refuses in the end, leaves nothing either.
#[test]
fn refusals_of_the_store_change_nothing() {
    let bench = Bench::new();
    let many: Vec<String> = (0..3_000).map(|at| format!("{{\"name\": \"d{at}\"}}")).collect();
    let cells = vec!["1"; 3_001].join(",");
    let text = phase(&format!(
        r#""attachments": {{"a": {{"data": "YWJj"}}}},
        "measurements": {{"m": {{"dimensions": [{}], "measured_value": [[{cells}]]}}}}"#,
        many.join(",")
    ));
    let before = bench.counts();
    let error = bench.import(&text).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    assert_eq!(bench.counts(), before);
}
