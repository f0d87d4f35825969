//! One test for each rule of the mapping of ATML documents.

use stationdb::ErrorKind;
use stationdb::results::{StatusType, Step, TestResult};

use super::{Bench, Format, entry};

/// A document of an edition with these elements, and these in its set of results.
fn document(edition: &str, elements: &str, set: &str) -> String {
    format!(
        "<TestResults xmlns='urn:IEEE-1636.1:{edition}:TestResults' xmlns:x='i'>\
         <ResultSet ID='1' name='n'>{set}</ResultSet>{elements}</TestResults>"
    )
}

#[track_caller]
fn result(elements: &str) -> TestResult {
    Bench::new().one(Format::Atml, &document("2013", elements, "<Outcome value='Passed'/>")).0
}

#[track_caller]
fn steps(set: &str) -> Vec<Step> {
    Bench::new().one(Format::Atml, &document("2018", "", set)).1
}

/// The parameter of a test result with this inside.
#[track_caller]
fn parameter(inside: &str) -> String {
    let test =
        format!("<Test ID='1' name='t'><TestResult ID='2' name='m'>{inside}</TestResult></Test>");
    entry(&steps(&test)[0], 0)
}

#[test]
fn every_edition_is_read() {
    for edition in ["2011:01", "2013", "2018"] {
        let (result, ..) = Bench::new().one(Format::Atml, &document(edition, "", ""));
        let properties = result.properties.unwrap();
        assert_eq!(properties["atml.edition"].as_deref(), Some(&edition[..4]));
        assert_eq!(properties["atml.sha256"].as_ref().unwrap().len(), 64);
    }
}

#[test]
fn members_of_the_result() {
    let found = result(
        "<Personnel><SystemOperator ID='7' name=' Ada '/></Personnel>\
         <TestProgram><Definition name='P'/></TestProgram>\
         <TestStation><SerialNumber>st</SerialNumber><Rack>r</Rack></TestStation>\
         <UUT><SerialNumber> SN </SerialNumber><Definition><Identification><IdentificationNumbers>\
         <IdentificationNumber number='other' type='Model'/><IdentificationNumber number='PN' type='Part'/>\
         </IdentificationNumbers></Identification></Definition></UUT>",
    );
    assert_eq!(found.operator.as_deref(), Some("Ada"));
    assert_eq!(found.program_name.as_deref(), Some("P"));
    assert_eq!(found.host_name.as_deref(), Some("st"));
    assert_eq!(found.serial_number.as_deref(), Some("SN"));
    assert_eq!(found.part_number.as_deref(), Some("PN"));
    let properties = found.properties.unwrap();
    assert_eq!(properties["TestStation.Rack"].as_deref(), Some("r"));
    assert!(!properties.contains_key("UUT.SerialNumber"));
    let other = "UUT.Definition.Identification.IdentificationNumbers.IdentificationNumber.number";
    assert_eq!(properties[other].as_deref(), Some("other"));
}

#[test]
fn members_in_their_other_forms() {
    let found = result(
        "<Personnel><SystemOperator ID='7'/></Personnel><TestProgram><Definition><Identification>\
         <ModelName>Q</ModelName></Identification></Definition></TestProgram>\
         <UUT><Definition><Identification><ModelName>M</ModelName></Identification></Definition></UUT>",
    );
    assert_eq!(found.operator.as_deref(), Some("7"));
    assert_eq!(found.program_name.as_deref(), Some("Q"));
    assert_eq!(found.part_number.as_deref(), Some("M"));
    assert_eq!((found.serial_number, found.host_name), (None, None));
    // The set names the program, as the path of a sequence file.
    let text = document("2011", "", "").replace("name='n'", "name='C:\\a\\Main.seq#MainSequence'");
    let (found, _, warnings) = Bench::new().one(Format::Atml, &text);
    assert_eq!(found.program_name.as_deref(), Some("Main.seq"));
    assert_eq!(found.status.unwrap().status_type, StatusType::Running);
    let expected = [
        "a result has no start, and starts at the time of the import",
        "a set of results has no outcome, and is RUNNING, in line 1",
    ];
    assert_eq!(warnings, expected);
}

#[test]
fn times_and_durations() {
    let text = document("2013", "", "<Outcome value='Done'/>").replace(
        "name='n'",
        "startDateTime='2024-02-01T10:00:00.25+01:00' endDateTime='2024-02-01T10:00:02.75+01:00'",
    );
    let (found, _, warnings) = Bench::new().one(Format::Atml, &text);
    assert_eq!(found.started_at.unwrap().to_rfc3339(), "2024-02-01T09:00:00.250+00:00");
    assert_eq!(found.total_time_in_seconds, Some(2.5));
    assert_eq!(found.program_name.as_deref(), Some("ATML"));
    assert!(warnings.is_empty(), "{warnings:?}");
    let total = |attributes: &str, extension: &str| {
        let test = format!("<Test name='t' {attributes}><Extension>{extension}</Extension></Test>");
        steps(&test)[0].total_time_in_seconds
    };
    let times = "startDateTime='2024-02-01T10:00:00Z' endDateTime='2024-02-01T10:00:02Z'";
    assert_eq!(total(times, ""), Some(2.0));
    assert_eq!(total(times, "<S><TotalTime value='1.5'/></S>"), Some(1.5));
    assert_eq!(total("", ""), Some(0.0));
    // A clock that was set back.
    let back = "startDateTime='2024-02-01T10:00:02Z' endDateTime='2024-02-01T10:00:00Z'";
    assert_eq!(total(back, ""), Some(0.0));
}

#[test]
fn groups_tests_and_actions_are_steps() {
    let found = steps(
        "<TestGroup ID='g' name='G' callerName='c'><Outcome value='Passed'/><Test ID='t'/>\
         <SessionAction name='A'><ActionOutcome value='Done'/><Data><x:Datum value='3' xmlns:x='u'/></Data>\
         </SessionAction></TestGroup><Test name='T'><Extension><Own><StepType>PassFailTest</StepType>\
         <Index value='4'/></Own></Extension></Test>",
    );
    let shown: Vec<String> = found
        .iter()
        .map(|step| {
            let status = step.status.as_ref().map_or("none", |status| status.status_type.as_str());
            let kind = step.step_type.clone().unwrap();
            let path = step.path_ids.clone().unwrap().join("/");
            format!("{path} {} {kind} {status}", step.name.clone().unwrap())
        })
        .collect();
    assert_eq!(
        shown,
        [
            "step-0 G TestGroup PASSED",
            "step-0/step-1 t Test none",
            "step-0/step-2 A SessionAction DONE",
            "step-3 T PassFailTest none",
        ]
    );
    let properties = |at: usize| found[at].properties.clone().unwrap();
    assert_eq!(properties(0)["callerName"], "c");
    assert_eq!(properties(0)["ID"], "g");
    assert_eq!(properties(3)["Index"], "4");
    assert_eq!(found[2].outputs.as_ref().unwrap()[0].value, 3);
    assert!(found.iter().all(|step| step.data_model.as_deref() == Some("ATML")));
}

#[test]
fn limits_in_every_form() {
    let limits = |inside: &str| {
        let value = "<TestData><Datum x:type='double' value='2'/></TestData>";
        parameter(&format!("{value}<TestLimits><Limits>{inside}</Limits></TestLimits>"))
    };
    let pair = |operator: &str, low: &str, high: &str| {
        limits(&format!(
            "<LimitPair operator='{operator}'><Limit comparator='{low}'><Datum value='1'/></Limit>\
             <Limit comparator='{high}'><Datum value='3.0'/></Limit></LimitPair>"
        ))
    };
    for (low, high) in [("GE", "LE"), ("GE", "LT"), ("GT", "LE"), ("GT", "LT")] {
        let expected =
            format!("comparisonType={low}{high} highLimit=3 lowLimit=1 measurement=2 name=m");
        assert_eq!(pair("AND", low, high), expected);
        // In the other order the values are in the other order, too.
        let expected =
            format!("comparisonType={low}{high} highLimit=1 lowLimit=3 measurement=2 name=m");
        assert_eq!(pair("AND", high, low), expected);
        let expected =
            format!("comparisonType={high}{low} highLimit=3 lowLimit=1 measurement=2 name=m");
        assert_eq!(pair("OR", high, low), expected);
    }
    let single = |form: &str, comparator: &str| {
        limits(&format!("<{form} comparator='{comparator}'><Datum value='1' unit='V'/></{form}>"))
    };
    for (comparator, expected) in [
        ("GE", "comparisonType=GE lowLimit=1"),
        ("GT", "comparisonType=GT lowLimit=1"),
        ("LE", "comparisonType=LE highLimit=1"),
        ("LT", "comparisonType=LT highLimit=1"),
        ("EQ", "comparisonType=EQ highLimit=1 lowLimit=1"),
        ("NE", "comparisonType=NE lowLimit=1"),
    ] {
        assert_eq!(
            single("SingleLimit", comparator),
            format!("{expected} measurement=2 name=m units=V")
        );
    }
    assert!(single("Expected", "EQ").starts_with("comparisonType=EQ highLimit=1 lowLimit=1"));
    // Limits in another unit than the value keep it, and it is told.
    let text = "<Test name='t'><TestResult name='m'><TestData><Datum x:type='double' value='5.01' \
                unit='V'/></TestData><TestLimits><Limits><LimitPair operator='AND'>\
                <Limit comparator='GE'><Datum value='4900' unit='mV'/></Limit>\
                <Limit comparator='LE'><Datum value='5100' unit='mV'/></Limit>\
                </LimitPair></Limits></TestLimits></TestResult></Test>";
    let (_, found, warnings) = Bench::new().one(Format::Atml, &document("2013", "", text));
    assert_eq!(
        entry(&found[0], 0),
        "comparisonType=GELE highLimit=5100 limitUnits=mV lowLimit=4900 measurement=5.01 name=m \
         units=V"
    );
    let told = warnings.iter().find(|told| told.contains("a limit has the unit \"mV\", and its"));
    assert!(told.is_some(), "{warnings:?}");
    // A form without keys is kept, and told.
    let text = "<Test name='t'><TestResult name='m'><TestLimits><Limits><Mask value='7'/></Limits>\
                </TestLimits></TestResult></Test>";
    let (_, found, warnings) = Bench::new().one(Format::Atml, &document("2013", "", text));
    assert_eq!(entry(&found[0], 0), "Limits.Mask=7 name=m");
    assert!(warnings[2].contains("limits in the form \"Mask\""), "{warnings:?}");
}

#[test]
fn strings_and_their_comparisons() {
    let of = |comparator: &str| {
        parameter(&format!(
            "<TestData><Datum x:type='string'><Value>A</Value></Datum></TestData><TestLimits><Limits>\
             <Expected comparator='{comparator}'><Datum x:type='string'><Value>a</Value></Datum></Expected>\
             </Limits></TestLimits>"
        ))
    };
    for (comparator, expected) in
        [("EQ", "CaseSensitive"), ("CIEQ", "IgnoreCase"), ("NE", "NE"), ("CINE", "CINE")]
    {
        assert_eq!(
            of(comparator),
            format!("comparisonType={expected} expected=a measurement=A name=m")
        );
    }
}

#[test]
fn outcomes_of_measurements() {
    for (outcome, expected) in [
        ("value='Passed'", "Passed"),
        ("value='Failed'", "Failed"),
        ("value='Done'", "Done"),
        ("value='NotStarted'", "Skipped"),
        ("value='Aborted' qualifier='Error'", "Errored"),
        ("value='Aborted'", "Terminated"),
        ("value='UserDefined' qualifier='Warm'", "Warm"),
    ] {
        let found = parameter(&format!("<Outcome {outcome}/>"));
        assert_eq!(found, format!("name=m status={expected}"));
    }
}

#[test]
fn names_of_the_only_measurement_are_those_of_the_step() {
    for (name, expected) in [("Numeric", "t"), ("PassFail", "t"), ("String", "t"), ("Rail", "Rail")]
    {
        let test = format!(
            "<Test name='t'><TestResult name='{name}'><TestData><Datum value='1'/></TestData></TestResult></Test>"
        );
        assert_eq!(entry(&steps(&test)[0], 0), format!("measurement=1 name={expected}"));
    }
}

#[test]
fn texts_and_what_has_no_member() {
    let found = steps(
        "<Test name='t'><Description>d</Description><Outcome value='Failed'><Description>why</Description>\
         </Outcome><Extension><S><ReportText>r</ReportText><LoopIndex value='3'/></S></Extension>\
         <Events><Event><Message>m</Message></Event></Events></Test>",
    );
    assert_eq!(found[0].data.as_ref().unwrap().text.as_deref(), Some("d\nr"));
    let properties = found[0].properties.clone().unwrap();
    let pairs: Vec<String> = properties.iter().map(|(key, text)| format!("{key}={text}")).collect();
    assert_eq!(pairs, ["Events.Event.Message=m", "LoopIndex=3", "Outcome.Description=why"]);
}

#[test]
fn what_is_no_test_results_is_refused() {
    let bench = Bench::new();
    for (text, kind, what) in [
        ("<TestResults/>".to_owned(), ErrorKind::InvalidArgument, "namespace \"\""),
        (document("2006", "", ""), ErrorKind::Unsupported, "the edition \"2006\""),
        (
            document("2013", "", "")
                .replace("TestResults ", "TestPlan ")
                .replace("/TestResults", "/TestPlan"),
            ErrorKind::InvalidArgument,
            "and not TestResults",
        ),
        (
            "<TestResults xmlns='urn:IEEE-1636.1:2013:TestResults'/>".to_owned(),
            ErrorKind::InvalidArgument,
            "there is no ResultSet",
        ),
    ] {
        let error = bench.refusal(Format::Atml, text.as_bytes());
        assert_eq!(error.kind(), kind, "{text}: {error}");
        assert!(error.message().contains(what), "{text}: {error}");
        assert!(error.place().is_some(), "{text}: {error}");
    }
}
