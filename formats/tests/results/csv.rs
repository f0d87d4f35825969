//! One test for each rule of the mapping of CSV.

use stationdb::prelude::*;
use stationdb::results::{Step, TestResult};
use stationdb::tables::DateOrder;
use stationdb::{Error, ErrorKind, Place};
use stationdb_formats::ResultsReport;
use stationdb_formats::results_csv::{self, ImportOptions};

use super::{Bench, entry};

fn import(bench: &Bench, text: &str, options: &ImportOptions) -> Result<ResultsReport, Error> {
    results_csv::import(&bench.session, text.as_bytes(), options)
}

/// The results of a text with their steps, and the warnings.
#[track_caller]
fn results(text: &str, options: &ImportOptions) -> (Vec<(TestResult, Vec<Step>)>, Vec<String>) {
    let bench = Bench::new();
    let report = import(&bench, text, options).unwrap();
    let results = report
        .results
        .iter()
        .map(|id| (bench.session.get_result(id).unwrap(), bench.steps_of(id.as_str())));
    (results.collect(), report.warnings)
}

#[track_caller]
fn plain(text: &str) -> (Vec<(TestResult, Vec<Step>)>, Vec<String>) {
    results(text, &ImportOptions::new())
}

fn status_of(result: &TestResult) -> &'static str {
    result.status.as_ref().unwrap().status_type.as_str()
}

fn shown(steps: &[Step]) -> Vec<String> {
    let line = |step: &Step| {
        let status = step.status.as_ref().unwrap().status_type.as_str();
        format!("{} {status}", step.path.clone().unwrap().replace('\n', "/"))
    };
    steps.iter().map(line).collect()
}

#[test]
fn members_of_the_result() {
    let text = "serialNumber,partNumber,programName,operator,hostName,systemId,startedAt,\
                totalTimeInSeconds,run,status,x\nS,P,G,O,H,Y,2024-02-01T08:00:00.5Z,1.5,7,Terminated,1\n";
    let (found, warnings) = plain(text);
    let result = &found[0].0;
    let members = [
        &result.serial_number,
        &result.part_number,
        &result.program_name,
        &result.operator,
        &result.host_name,
        &result.system_id,
    ];
    assert_eq!(members.map(|member| member.clone().unwrap()), ["S", "P", "G", "O", "H", "Y"]);
    assert_eq!(result.started_at.unwrap().to_rfc3339(), "2024-02-01T08:00:00.500+00:00");
    assert_eq!(result.total_time_in_seconds, Some(1.5));
    assert_eq!(status_of(result), "TERMINATED");
    assert_eq!(result.properties.as_ref().unwrap()["run"].as_deref(), Some("7"));
    assert!(warnings.is_empty(), "{warnings:?}");
    let (found, _) = results("sn,x\nS,1\n", &ImportOptions::new().program_name("Q"));
    assert_eq!(found[0].0.program_name.as_deref(), Some("Q"));
    let (found, _) = plain("sn,x\nS,1\n");
    assert_eq!(found[0].0.program_name.as_deref(), Some("CSV"));
}

#[test]
fn members_of_the_measurement() {
    let text = "sn,step,steptype,name,value,units,lowLimit,highLimit,nominalValue,comparisonType,\
                measurementStatus,specId,status,note\n\
                S,s,NumericLimitTest,m,2.50,V,1,3,2,gele,FAIL,spec-1,x,n\n";
    let (found, _) = plain(text);
    let step = &found[0].1[0];
    assert_eq!(step.step_type.as_deref(), Some("NumericLimitTest"));
    assert_eq!(step.data_model.as_deref(), Some("CSV"));
    assert_eq!(
        entry(step, 0),
        "column.specId=spec-1 column.status=x comparisonType=GELE highLimit=3 lowLimit=1 \
         measurement=2.5 name=m nominalValue=2 note=n status=Failed units=V"
    );
    assert_eq!(shown(&found[0].1), ["s FAILED"]);
}

#[test]
fn rows_of_a_unit_and_its_runs() {
    let (found, _) = plain(
        "sn,start,test,reading\nA,2024-02-01 08:00,x,1\nB,2024-02-01 08:00,x,1\n\
                            A,2024-02-01 08:00,y,2\nA,2024-02-01 09:00,x,3\n",
    );
    let counts: Vec<usize> = found.iter().map(|(_, steps)| steps.len()).collect();
    assert_eq!(counts, [2, 1, 1]);
    // A run comes before the start.
    let (found, _) =
        plain("sn,run,start,test,reading\nA,1,2024-02-01 08:00,x,1\nA,1,2024-02-01 09:00,y,2\n");
    assert_eq!(found[0].1.len(), 2);
    // Without any of them all rows are one unit.
    let (found, _) = plain("test,reading\nx,1\ny,2\n");
    assert_eq!((found.len(), found[0].1.len()), (1, 2));
    let (_, warnings) =
        plain("sn,timestamp,test,reading\nA,2024-02-01 08:00,x,1\nA,2024-02-01 09:00,x,1\n");
    assert!(
        warnings.iter().any(|one| one.contains("each row is a result of its own")),
        "{warnings:?}"
    );
}

#[test]
fn steps_groups_and_iterations() {
    let (found, _) = plain(
        "sn,run,path,step,name,value,status\nA,1,P/Q,s,a,1,PASS\nA,1,P/Q,s,b,2,FAIL\nA,1,P/Q,s,a,3,PASS\n\
         A,1,P,t,a,1,PASS\nA,1,P/Q,s,a,1,PASS\nA,1,,u,a,1,\n",
    );
    assert_eq!(
        shown(&found[0].1),
        [
            "P FAILED",
            "P/Q FAILED",
            "P/Q/s FAILED",
            "P/Q/s PASSED",
            "P/t PASSED",
            "P/Q PASSED",
            "P/Q/s PASSED",
            "u DONE"
        ]
    );
    assert_eq!(status_of(&found[0].0), "FAILED");
    let counts: Vec<usize> = found[0]
        .1
        .iter()
        .map(|step| step.data.clone().unwrap_or_default().parameters.unwrap_or_default().len())
        .collect();
    assert_eq!(counts, [0, 0, 2, 1, 1, 0, 1, 1]);
}

#[test]
fn measurements_without_a_status_are_judged() {
    let (found, warnings) =
        plain("sn,test,reading,low,high\nA,x,1,1,2\nA,y,3,1,2\nA,z,3,,\nA,w,n,1,2\n");
    assert_eq!(shown(&found[0].1), ["x PASSED", "y FAILED", "z DONE", "w DONE"]);
    assert_eq!(status_of(&found[0].0), "FAILED");
    let unknown = "a measurement with limits and without a status was not judged, as its value, its \
                   limits or its comparison are not known, in line 5";
    let expected = [
        unknown,
        "a measurement without a status was judged by its limits, 2 times, first in line 2",
        "a result has no start, and starts at the time of the import",
    ];
    assert_eq!(warnings, expected);
}

#[test]
fn signs_of_comparisons_and_limits_that_are_none() {
    let text = "sn,name,value,low,high,comp\nA,a,5,5,,>=\nA,b,5,5,,>\nA,c,5,,5,<=\nA,d,5,NA,4,\n\
                A,e,NA,1,2,\nA,f,5,-,-,\nA,g,5,5,,near\nA,h,5,5,,!=\n";
    let (found, warnings) = plain(text);
    let expected =
        ["a PASSED", "b FAILED", "c PASSED", "d FAILED", "e DONE", "f DONE", "g DONE", "h FAILED"];
    assert_eq!(shown(&found[0].1), expected);
    let entries: Vec<String> = found[0].1.iter().map(|step| entry(step, 0)).collect();
    assert_eq!(entries[0], "comparisonType=GE lowLimit=5 measurement=5 name=a status=Passed");
    assert_eq!(entries[3], "highLimit=4 measurement=5 name=d status=Failed");
    assert_eq!(entries[4], "highLimit=2 lowLimit=1 name=e");
    assert_eq!(entries[5], "measurement=5 name=f");
    assert!(warnings.iter().any(|told| told.contains("not judged")), "{warnings:?}");
    assert!(warnings.iter().any(|told| told.ends_with("are not known, in line 8")), "{warnings:?}");
}

/// A column of results may have the values.
#[test]
fn results_that_are_numbers_are_values() {
    let (found, warnings) = plain("Serial,Test,Result,Low,High,Unit\nSN1,Vout,5.01,4.9,5.1,V\n");
    let [(result, steps)] = &found[..] else { panic!("{} results", found.len()) };
    assert_eq!((result.serial_number.as_deref(), status_of(result)), (Some("SN1"), "PASSED"));
    assert_eq!(shown(steps), ["Vout PASSED"]);
    assert_eq!(
        entry(&steps[0], 0),
        "highLimit=5.1 lowLimit=4.9 measurement=5.01 name=Vout status=Passed units=V"
    );
    assert!(warnings.iter().all(|told| !told.contains("no limits")), "{warnings:?}");
    // A status beside it, and a value that is missing.
    let (found, _) = plain(
        "Serial,Test,Result,Low,High,Status\nSN1,Vout,5.01,4.9,5.1,FAIL\nSN1,Iout,n/a,0,1,Skipped\n\
         SN1,Uin,1,0,2,PASS\n",
    );
    assert_eq!(found.len(), 1);
    assert_eq!(shown(&found[0].1), ["Vout FAILED", "Iout SKIPPED", "Uin PASSED"]);
    // A column of verdicts is none of values, also as numbers, and limits without values are told.
    for verdicts in [["PASS", "FAIL"], ["1", "0"]] {
        let [first, second] = verdicts;
        let (found, warnings) = plain(&format!(
            "Serial,Test,Result,Low,High\nSN1,Vout,{first},4.9,5.1\nSN2,Vout,{second},4.9,5.1\n"
        ));
        assert_eq!(found.len(), 2);
        assert_eq!(
            found.iter().map(|(result, _)| status_of(result)).collect::<Vec<_>>(),
            ["PASSED", "FAILED"]
        );
        let part = "no limits are read from \"Low\" and \"High\"";
        assert!(warnings.iter().any(|told| told.contains(part)), "{warnings:?}");
    }
    // The options decide.
    let options = ImportOptions::new().map("measurement", "");
    let text = "Serial,Test,Result,Low\nSN1,Vout,5.01,4.9\n";
    let (found, _) = results(text, &options);
    assert_eq!(shown(&found[0].1), ["Low DONE"]);
}

#[test]
fn rows_above_those_of_units() {
    let (found, _) = plain(
        "sn,status,a,b [mV],c\nUnits,,V,,\nLSL,,1,,\nUSL,,2,5,\nNominal,,1.5,,\nComparison,,GTLT,LE,\n\
         S1,PASS,1.5,4,x\nS2,,2,4,y\n",
    );
    assert_eq!(found.len(), 2);
    let steps = &found[0].1;
    assert_eq!(
        entry(&steps[0], 0),
        "comparisonType=GTLT highLimit=2 lowLimit=1 measurement=1.5 name=a nominalValue=1.5 \
         status=Passed units=V"
    );
    assert_eq!(
        entry(&steps[1], 0),
        "comparisonType=LE highLimit=5 measurement=4 name=b status=Passed units=mV"
    );
    assert_eq!(found[0].0.properties.as_ref().unwrap()["c"].as_deref(), Some("x"));
    assert_eq!(status_of(&found[0].0), "PASSED");
    assert_eq!(status_of(&found[1].0), "FAILED");
}

#[test]
fn columns_of_measurements() {
    let text = "sn,a,b,code,n\nS,1,x,007,-\nT,2,3,008,4\n";
    let names =
        |steps: &[Step]| steps.iter().map(|step| step.name.clone().unwrap()).collect::<Vec<_>>();
    let (found, _) = plain(text);
    assert_eq!(
        (names(&found[0].1), names(&found[1].1)),
        (vec!["a".to_owned(), "b".into()], vec!["a".into(), "b".into(), "n".into()])
    );
    let (found, _) = results(text, &ImportOptions::new().measurements(["b"]));
    assert_eq!(names(&found[0].1), ["b"]);
    assert_eq!(entry(&found[0].1[0], 0), "measurement=x name=b");
    // One text among numbers is that of its measurement, and told.
    let rows: String = (1..20).map(|at| format!("{at},PASS,5.{at:02},1\n")).collect();
    let (found, warnings) = plain(&format!("sn,status,vout,iout\n{rows}20,FAIL,ABORT,3\n"));
    assert_eq!(entry(&found[0].1[0], 0), "measurement=5.01 name=vout");
    assert_eq!(entry(&found[19].1[0], 0), "measurement=ABORT name=vout");
    let part = "column \"vout\": \"ABORT\" is no number that is read, and 19 of 20 values are";
    assert!(warnings.iter().any(|told| told.starts_with(part)), "{warnings:?}");
    assert!(warnings.iter().any(|told| told.ends_with("in line 21")), "{warnings:?}");
    // Less than half of the values.
    let (found, warnings) = plain("sn,a,b\nS,1,x\nT,2,y\nU,3,4\n");
    assert_eq!(found[2].0.properties.as_ref().unwrap()["b"].as_deref(), Some("4"));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let bench = Bench::new();
    let error = import(&bench, text, &ImportOptions::new().measurements(["z"])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("there is no column \"z\""), "{error}");
    let (_, warnings) = plain("sn,a\nS,x\n");
    let expected = [
        "a result has no start, and starts at the time of the import",
        "no column has measurements; name them with measurements or columns",
    ];
    assert_eq!(warnings, expected);
}

#[test]
fn dates_and_times() {
    let start = |text: &str, options: &ImportOptions| {
        let (found, warnings) = results(text, options);
        (found[0].0.started_at.unwrap().to_rfc3339(), warnings)
    };
    let (found, warnings) =
        start("sn,date,time,x\nS,2024-02-01,8:05:00,1\n", &ImportOptions::new());
    assert_eq!(found, "2024-02-01T08:05:00+00:00");
    assert!(warnings[0].contains("taken as UTC"), "{warnings:?}");
    let first = ImportOptions::new().date_order(DateOrder::MonthFirst);
    let (found, _) = start("sn,start,x\nS,02/01/2024 8:05 PM,1\n", &first);
    assert_eq!(found, "2024-02-01T20:05:00+00:00");
    let bench = Bench::new();
    let error = import(&bench, "sn,start,x\nS,02/01/2024,1\n", &ImportOptions::new()).unwrap_err();
    let place = Place::Line { line: 2, column: Some("start".to_owned()) };
    assert_eq!(error.place(), Some(&place), "{error}");
    assert!(error.message().contains("set dateOrder"), "{error}");
    // One day above 12 decides the order of all.
    for (dates, expected, first) in [
        (["02/01/2024", "01/31/2024"], "2024-02-01T00:00:00+00:00", "month"),
        (["02/01/2024", "31/01/2024"], "2024-01-02T00:00:00+00:00", "day"),
    ] {
        let text = format!("sn,start,x\nS,{},1\nT,{},2\n", dates[0], dates[1]);
        let (found, warnings) = start(&text, &ImportOptions::new());
        assert_eq!(found, expected);
        let part = format!("dates have the {first} first");
        assert!(warnings.iter().any(|told| told.starts_with(&part)), "{warnings:?}");
    }
    // A guessed column that has no times is none.
    let (found, warnings) = plain("sn,start,x\nS,warm,1\n");
    assert_eq!(found[0].0.properties.as_ref().unwrap()["start"].as_deref(), Some("warm"));
    assert!(warnings[1].contains("\"warm\" is no time"), "{warnings:?}");
    let told = ImportOptions::new().map("startedAt", "start");
    assert!(import(&bench, "sn,start,x\nS,warm,1\n", &told).is_err());
}

#[test]
fn decimals_with_a_comma() {
    let (found, _) = plain("sn;low;x\nS;1;1,5\n");
    assert_eq!(entry(&found[0].1[1], 0), "measurement=1.5 name=x");
    // Each column has a mark of its own, as that of a version.
    let (found, _) = plain("sn;fw;u\nS;1.2;5,01\n");
    assert_eq!(entry(&found[0].1[0], 0), "measurement=1.2 name=fw");
    assert_eq!(entry(&found[0].1[1], 0), "measurement=5.01 name=u");
    let (found, warnings) = results("sn;x\nS;1,5\n", &ImportOptions::new().decimal_comma(false));
    assert!(found[0].1.is_empty());
    assert!(warnings.iter().any(|told| told.contains("\"1,5\" is no number")), "{warnings:?}");
    // A value and its limits have one.
    let (found, _) = plain("sn;name;value;low;high;fw\nS;R;1,5;1;2;1.2\nS;Q;1;0,5;0,75;1.2\n");
    assert_eq!(shown(&found[0].1), ["R PASSED", "Q FAILED"]);
    let (found, _) = results("sn|x\nS|1\n", &ImportOptions::new().separator('|').skip_lines(0));
    assert_eq!(found[0].1.len(), 1);
}

/// A comma before three digits is no decimal mark unless something says so.
#[test]
fn commas_between_thousands() {
    let doubt = |warnings: &[String], text: &str, line: u64| {
        let begin =
            format!("{text:?} has a comma that may be a decimal mark or separate thousands");
        let is_one = |told: &String| {
            told.starts_with(&begin)
                && told.contains("decimalSeparator")
                && told.ends_with(&format!("in line {line}"))
        };
        assert!(warnings.iter().any(is_one), "{warnings:?}");
    };
    let text = "serial\tcycles\n1\t1,234\n2\t12,345\n";
    let (found, warnings) = plain(text);
    assert_eq!(found[0].0.properties.as_ref().unwrap()["cycles"].as_deref(), Some("1,234"));
    assert!(found[0].1.is_empty());
    doubt(&warnings, "1,234", 2);
    let (found, _) = results(text, &ImportOptions::new().decimal_comma(true));
    assert_eq!(entry(&found[0].1[0], 0), "measurement=1.234 name=cycles");
    // A value with two digits behind its comma says it.
    let (found, _) = plain("serial\tcycles\tu\n1\t1,234\t5,01\n2\t12,345\t5,02\n");
    assert_eq!(entry(&found[0].1[0], 0), "measurement=1.234 name=cycles");
    let (found, warnings) =
        plain("serial;name;value;low;high\n1;R;1,234;1,000;2,000\n2;R;12,345;10,000;20,000\n");
    assert_eq!(entry(&found[0].1[0], 0), "highLimit=2,000 lowLimit=1,000 measurement=1,234 name=R");
    assert_eq!(shown(&found[0].1), ["R DONE"]);
    doubt(&warnings, "1,234", 2);
    // Points between thousands, in a file of commas, and those that nothing decides.
    let (found, warnings) = plain("sn;n;u\n1;1.234;5,01\n2;1.235;5,02\n");
    assert_eq!(found[0].1.len(), 1);
    assert!(warnings.iter().any(|told| told.contains("\"1.234\" has a point")), "{warnings:?}");
    let (found, warnings) = plain("sn;n\n1;1.234\n2;1.235\n");
    assert_eq!(entry(&found[0].1[0], 0), "measurement=1.234 name=n");
    assert!(warnings.iter().any(|told| told.contains("was read with a decimal")), "{warnings:?}");
}

#[test]
fn lines_that_are_no_rows_and_rows_that_are_cut() {
    let options = || ImportOptions::new();
    let (found, _) = results("sn,x,y\nS,1,2\nT,3\n", &options().short_rows(true));
    assert_eq!(found[1].1.len(), 1);
    let (found, _) = results("sn,x\nS,1\n\nend of list\n", &options().footer_lines(2));
    assert_eq!(found.len(), 1);
    let (_, warnings) = plain("sn,x\nS,1.25\nT,6.");
    assert!(warnings.iter().any(|told| told.starts_with("line 3 has no line end")), "{warnings:?}");
}

#[test]
fn groups_are_bounded() {
    let text =
        |groups: usize| format!("sn,path,step,value\nS,{},s,1\n", vec!["g"; groups].join("/"));
    let (found, _) = plain(&text(99));
    assert_eq!(found[0].1.len(), 100);
    let bench = Bench::new();
    for groups in [100, 1_000_000] {
        let error = import(&bench, &text(groups), &ImportOptions::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
        assert_eq!(error.place(), Some(&Place::Line { line: 2, column: None }));
    }
    assert_eq!(bench.counts(), (0, 0));
}

#[test]
fn what_is_refused_names_its_place() {
    let bench = Bench::new();
    for (text, options, what) in [
        ("", ImportOptions::new(), "the text is empty"),
        ("sn,x\n", ImportOptions::new(), "no rows of results"),
        ("sn,x\n\"S,1\n", ImportOptions::new(), "not closed"),
        ("sn,sn\nS,1\n", ImportOptions::new(), "two columns"),
        ("sn,x\nS,1\n", ImportOptions::new().map("serial", "sn"), "no member of results"),
        ("sn,x\nS,1\n", ImportOptions::new().map("serialNumber", "y"), "no column \"y\""),
        ("sn,x\nS,1\n", ImportOptions::new().separator('€'), "not ASCII"),
    ] {
        let before = bench.counts();
        let error = import(&bench, text, &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{text:?}: {error}");
        assert!(error.message().contains(what), "{text:?}: {error}");
        assert_eq!(bench.counts(), before);
    }
}
