//! One test for each rule of the mapping of `TestStand` reports.

use stationdb::ErrorKind;
use stationdb::results::{StatusType, Step};

use super::{Bench, Format, entry};

/// A report whose main sequence has these members beside its list, and these results.
fn report(main: &str, results: &[String]) -> String {
    let values = results.iter().map(|result| format!("<Value ID='[0]'>{result}</Value>"));
    let list: String = values.collect();
    format!(
        "<Reports><Report Type='UUT' UUTResult='Passed'><Prop Name='TEResult' Type='TEResult'>{main}\
         <Prop Name='TS' Type='Obj'><Prop Name='SequenceCall' Type='Obj'>\
         <Prop Name='ResultList' Type='Array'>{list}</Prop></Prop></Prop></Prop></Report></Reports>"
    )
}

/// A result with these members, and these of its `TS`.
fn result(members: &str, ts: &str) -> String {
    format!(
        "<Prop Type='TEResult'>{members}<Prop Name='TS' Type='Obj'>{}{ts}</Prop></Prop>",
        text("StepName", "s")
    )
}

fn prop(kind: &str, name: &str, value: &str) -> String {
    format!("<Prop Name='{name}' Type='{kind}'><Value>{value}</Value></Prop>")
}

fn text(name: &str, value: &str) -> String {
    prop("String", name, value)
}

fn number(name: &str, value: &str) -> String {
    prop("Number", name, value)
}

fn object(name: &str, inside: &str) -> String {
    format!("<Prop Name='{name}' Type='Obj'>{inside}</Prop>")
}

fn status_of(step: &Step) -> (StatusType, Option<String>) {
    let status = step.status.clone().unwrap();
    (status.status_type, status.status_name)
}

#[track_caller]
fn steps(results: &[String]) -> Vec<Step> {
    Bench::new().one(Format::TestStand, &report("", results)).1
}

#[test]
fn members_of_the_result() {
    let unit = text("SerialNumber", " SN ") + &text("PartNumber", "PN") + &number("Socket", "2.0");
    let station = text("StationID", "st") + &text("LoginName", "ada") + &text("Site", "x");
    let call = text("SequenceFile", "C:\\a\\Main.seq") + &text("Sequence", "MainSequence");
    let ts = object("TS", &(number("TotalTime", "1.25") + &object("SequenceCall", &call)));
    let document = format!(
        "<Report Type='UUT' Link='l'>{}{}{}</Report>",
        object("UUT", &unit),
        object("StationInfo", &station),
        object("TEResult", &(text("Status", "Terminated") + &ts))
    );
    let (result, steps, _) = Bench::new().one(Format::TestStand, &document);
    assert!(steps.is_empty());
    assert_eq!(result.serial_number.as_deref(), Some("SN"));
    assert_eq!(result.part_number.as_deref(), Some("PN"));
    assert_eq!(result.host_name.as_deref(), Some("st"));
    assert_eq!(result.operator.as_deref(), Some("ada"));
    assert_eq!(result.program_name.as_deref(), Some("Main.seq"));
    assert_eq!(result.total_time_in_seconds, Some(1.25));
    assert_eq!(result.status.unwrap().status_type, StatusType::Terminated);
    let mut properties = result.properties.unwrap();
    assert_eq!(properties.remove("teststand.sha256").flatten().unwrap().len(), 64);
    let expected = [
        ("Report.Link", "l"),
        ("SequenceCall.Sequence", "MainSequence"),
        ("SequenceCall.SequenceFile", "C:\\a\\Main.seq"),
        ("StationInfo.Site", "x"),
        ("UUT.Socket", "2"),
    ];
    let found: Vec<(String, String)> =
        properties.into_iter().map(|(key, value)| (key, value.unwrap())).collect();
    // A whole number is one whatever its text is.
    let found: Vec<(&str, &str)> =
        found.iter().map(|(key, value)| (key.as_str(), value.trim_end_matches(".0"))).collect();
    assert_eq!(found, expected);
}

#[test]
fn starts_in_every_form() {
    let start = |date: &str, time: &str| {
        let document = format!(
            "<Report Type='UUT' UUTResult='Passed'>{}{}</Report>",
            object("StartDate", date),
            object("StartTime", time)
        );
        let (result, _, warnings) = Bench::new().one(Format::TestStand, &document);
        let is_kept = result.properties.unwrap().keys().any(|key| key.starts_with("StartDate"));
        (result.started_at.unwrap().to_rfc3339(), is_kept, warnings.join("; "))
    };
    let date = number("Year", "2024") + &number("Month", "2") + &number("MonthDay", "1");
    let parts = number("Hours", "13") + &number("Minutes", "5") + &number("Seconds", "9");
    let millis = parts.clone() + &number("Milliseconds", "7");
    let (found, is_kept, warnings) = start(&date, &millis);
    assert_eq!((found.as_str(), is_kept), ("2024-02-01T13:05:09.007+00:00", false));
    assert!(warnings.contains("taken as UTC"), "{warnings}");
    let (found, ..) = start(&date.replace("MonthDay", "Day"), &text("Text", "1:05:09 PM"));
    assert_eq!(found, "2024-02-01T13:05:09+00:00");
    let (found, ..) = start(&text("ShortText", "2024-02-01"), &parts);
    assert_eq!(found, "2024-02-01T13:05:09+00:00");
    // Day and month in an order that nobody knows: the store's clock, and the text as a property.
    let (_, is_kept, warnings) = start(&text("ShortText", "2/1/2024"), &parts);
    assert!(is_kept && warnings.contains("is not read, and is a property"), "{warnings}");
}

#[test]
fn statuses_of_steps() {
    for (name, expected) in [
        ("Passed", (StatusType::Passed, None)),
        ("Failed", (StatusType::Failed, None)),
        ("Done", (StatusType::Done, None)),
        ("Error", (StatusType::Errored, None)),
        ("Terminated", (StatusType::Terminated, None)),
        ("Skipped", (StatusType::Skipped, None)),
        ("Running", (StatusType::Running, None)),
        ("Looping", (StatusType::Looping, None)),
        ("Warm", (StatusType::Custom, Some("Warm".to_owned()))),
    ] {
        assert_eq!(status_of(&steps(&[result(&text("Status", name), "")])[0]), expected, "{name}");
    }
    assert_eq!(steps(&[result("", "")])[0].status, None);
}

#[test]
fn numbers_with_every_comparison() {
    for (comparison, limits) in [
        ("GELE", "highLimit=9 lowLimit=1.5"),
        ("GTLT", "highLimit=9 lowLimit=1.5"),
        ("GELT", "highLimit=9 lowLimit=1.5"),
        ("GTLE", "highLimit=9 lowLimit=1.5"),
        ("LTGT", "highLimit=9 lowLimit=1.5"),
        ("GE", "lowLimit=1.5"),
        ("GT", "lowLimit=1.5"),
        ("EQ", "highLimit=1.5 lowLimit=1.5"),
        ("NE", "lowLimit=1.5"),
    ] {
        let both = object("Limits", &(number("Low", "1.50") + &number("High", "9")));
        let members = number("Numeric", "2.0")
            + &both
            + &text("Comp", comparison)
            + &text("Units", "V")
            + &text("Status", "Passed");
        let steps = steps(&[result(&members, "")]);
        assert_eq!(
            entry(&steps[0], 0),
            format!(
                "comparisonType={comparison} {limits} measurement=2 name=s status=Passed units=V"
            )
        );
    }
    // The sequencer has the only limit as the low one.
    let low = object("Limits", &number("Low", "7"));
    for comparison in ["LE", "LT"] {
        let members = number("Numeric", "2") + &low + &text("Comp", comparison);
        let expected = format!("comparisonType={comparison} highLimit=7 measurement=2 name=s");
        assert_eq!(entry(&steps(&[result(&members, "")])[0], 0), expected);
    }
    let members = number("Numeric", "NaN") + &text("Comp", "LOG") + &low;
    assert_eq!(
        entry(&steps(&[result(&members, "")])[0], 0),
        "comparisonType=LOG measurement=NaN name=s"
    );
    let bench = Bench::new();
    let document = report("", &[result(&number("Numeric", "4,9"), "")]);
    let (_, steps, warnings) = bench.one(Format::TestStand, &document);
    assert_eq!(entry(&steps[0], 0), "measurement=4,9 name=s");
    let expected = [
        "a measured value is no number, and is kept as its text, in line 1",
        "a result has no start, and starts at the time of the import",
    ];
    assert_eq!(warnings, expected);
}

#[test]
fn strings_and_verdicts() {
    let limit = object("Limits", &text("String", "a"));
    for comparison in ["CaseSensitive", "IgnoreCase"] {
        let members = text("String", " A ") + &limit + &text("Comp", comparison);
        let expected = format!("comparisonType={comparison} expected=a measurement= A  name=s");
        assert_eq!(entry(&steps(&[result(&members, "")])[0], 0), expected);
    }
    for (value, expected) in [("True", "true"), ("False", "false")] {
        let members = prop("Boolean", "PassFail", value) + &text("Status", "Failed");
        let found = entry(&steps(&[result(&members, "")])[0], 0);
        assert_eq!(found, format!("measurement={expected} name=s status=Failed"));
    }
}

#[test]
fn several_measurements() {
    let one = |name: &str, members: &str| {
        format!("<Value ID='[0]'><Prop {name} Type='NI_LimitMeasurement'>{members}</Prop></Value>")
    };
    let low = object("Limits", &number("Low", "1"));
    let array = format!(
        "<Prop Name='Measurement' Type='Array' ElementType='NI_LimitMeasurement'>{}{}</Prop>",
        one(
            "Name='a'",
            &(number("Data", "2") + &low + &text("Comp", "GE") + &text("Status", "Passed"))
        ),
        one("", &(number("Data", "3") + &text("Units", "A") + &number("Cycle", "4"))),
    );
    let steps = steps(&[result(&(text("Status", "Failed") + &array), "")]);
    assert_eq!(
        entry(&steps[0], 0),
        "comparisonType=GE lowLimit=1 measurement=2 name=a status=Passed"
    );
    assert_eq!(entry(&steps[0], 1), "Cycle=4 measurement=3 name=Measurement 1 units=A");
}

#[test]
fn errors_and_report_texts_are_the_text() {
    let error = |occurred: &str, code: &str| {
        let inside =
            number("Code", code) + &text("Msg", "bus ") + &prop("Boolean", "Occurred", occurred);
        object("Error", &inside)
    };
    let of = |members: &str| {
        let step = steps(&[result(members, "")]).remove(0);
        (step.data.unwrap_or_default().text, step.properties.unwrap_or_default().len())
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(of(&error("True", "-17500")), (some("Error -17500: bus"), 3));
    assert_eq!(of(&(error("False", "5") + &text("ReportText", "r"))), (some("Error 5: bus\nr"), 3));
    assert_eq!(of(&(error("False", "0") + &text("ReportText", " r "))), (some("r"), 0));
    assert_eq!(of(&error("False", "0")), (None, 0));
    // That of the main sequence is a property.
    let (result, ..) = Bench::new().one(Format::TestStand, &report(&error("True", "1"), &[]));
    assert_eq!(result.properties.unwrap()["TEResult.text"], some("Error 1: bus"));
}

#[test]
fn steps_below_steps_and_their_times() {
    let list = |inner: &str| {
        format!("<Prop Name='ResultList' Type='Array'><Value ID='[0]'>{inner}</Value></Prop>")
    };
    let below = result("", &(text("StepType", "Action") + &number("StartTime", "13")));
    let called = object("SequenceCall", &(text("Sequence", "Sub") + &list(&below)));
    let after = object("PostAction", &list(&result("", "")));
    let ts =
        text("StepType", "SequenceCall") + &number("TotalTime", "2.5") + &number("StartTime", "12");
    let outer = result("", &(ts + &called + &after));
    let date = number("Year", "2024") + &number("Month", "2") + &number("Day", "1");
    let document = report("", &[outer])
        .replace(
            "<Prop Name='TS' Type='Obj'><Prop Name='SequenceCall'",
            &format!(
                "<Prop Name='TS' Type='Obj'>{}<Prop Name='SequenceCall'",
                number("StartTime", "10")
            ),
        )
        .replace(
            "<Prop Name='TEResult'",
            &format!("{}<Prop Name='TEResult'", object("StartDate", &date)),
        );
    let (_, steps, _) = Bench::new().one(Format::TestStand, &document);
    let shown: Vec<String> = steps
        .iter()
        .map(|step| {
            let start = step.started_at.unwrap().format("%T");
            format!("{} {start} {:?}", step.path_ids.clone().unwrap().join("/"), step.step_type)
        })
        .collect();
    assert_eq!(
        shown,
        [
            "step-0 00:00:02 Some(\"SequenceCall\")",
            "step-0/step-1 00:00:03 Some(\"Action\")",
            "step-0/step-2 00:00:02 None",
        ]
    );
    assert_eq!(steps[0].total_time_in_seconds, Some(2.5));
    assert_eq!(steps[0].properties.as_ref().unwrap()["TS.SequenceCall.Sequence"], "Sub");
    assert_eq!(steps[2].properties.as_ref().unwrap()["calledBy"], "PostAction");
    assert!(steps.iter().all(|step| step.data_model.as_deref() == Some("TestStand")));
}

#[test]
fn iterations_are_below_their_loop() {
    let whole = result("", &number("NumLoops", "2"));
    let iteration = |at: &str| result("", &number("LoopIndex", at));
    let steps = steps(&[whole, iteration("0"), iteration("1"), result("", "")]);
    let ids: Vec<String> =
        steps.iter().map(|step| step.path_ids.clone().unwrap().join("/")).collect();
    assert_eq!(ids, ["step-0", "step-0/step-1", "step-0/step-2", "step-3"]);
    assert_eq!(steps[2].properties.as_ref().unwrap()["TS.LoopIndex"], "1");
}

#[test]
fn other_members_are_outputs_with_their_types() {
    let array = "<Prop Name='a' Type='Array' ElementType='Number'><Value ID='[0]'>1</Value>\
                 <Value ID='[1]'>2.5</Value><Value ID='[2]'>INF</Value></Prop>";
    let inside =
        object("o", &(prop("Boolean", "b", "False") + &text("empty", " ") + &text("t", "x")));
    let objects = format!(
        "<Prop Name='l' Type='Array' ElementType='Obj'><Value ID='[0]'><Prop Type='Obj'>{}</Prop></Value></Prop>",
        number("n", "7")
    );
    let document = report("", &[result(&(array.to_owned() + &inside + &objects + "<Odd/>"), "")]);
    let (_, steps, warnings) = Bench::new().one(Format::TestStand, &document);
    let outputs = steps[0].outputs.clone().unwrap();
    let outputs: Vec<String> =
        outputs.iter().map(|one| format!("{}={}", one.name, one.value)).collect();
    assert_eq!(outputs, ["a=[1,2.5,\"Infinity\"]", "o.b=false", "o.t=\"x\"", "l=[{\"n\":7}]"]);
    assert!(warnings[1].starts_with("the element \"Odd\" is not read"), "{warnings:?}");
}

#[test]
fn errors_name_the_line_and_change_nothing() {
    let bench = Bench::new();
    for (text, kind, what) in [
        ("<Orders/>", ErrorKind::InvalidArgument, "the outermost element is \"Orders\""),
        ("<Reports/>", ErrorKind::InvalidArgument, "no report of a unit"),
        (
            "<Reports><Report Type='Batch'/></Reports>",
            ErrorKind::InvalidArgument,
            "no report of a unit",
        ),
        ("{}", ErrorKind::InvalidArgument, "reading a TestStand report: reading XML"),
    ] {
        let error = bench.refusal(Format::TestStand, text.as_bytes());
        assert_eq!(error.kind(), kind, "{text}");
        assert!(error.message().contains(what), "{text}: {error}");
        assert!(error.place().is_some(), "{text}: {error}");
    }
}
