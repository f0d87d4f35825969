//! Figures over an imported file are those that were computed by hand.

use stationdb::prelude::*;
use stationdb::results::{CapabilityRequest, FailureParetoRequest, YieldsRequest};
use stationdb_formats::results_csv::{self, ImportOptions};

use super::Bench;

/// The example of yields, with the values of the example of capability.
///
/// In the order of their starts: SN1 FAILED, SN1 PASSED, SN2 PASSED, SN3 TERMINATED, SN3 FAILED,
/// SN4 RUNNING, SN4 PASSED, SN5 SKIPPED.
fn text() -> String {
    let mut text = "serial,start,status,vout [V]\nlow limit,,,9.4\nhigh limit,,,10.6\n".to_owned();
    let rows = [
        ("SN1", "FAILED", "10.1"),
        ("SN1", "PASSED", "9.9"),
        ("SN2", "PASSED", "10.0"),
        ("SN3", "TERMINATED", "10.2"),
        ("SN3", "FAILED", "9.8"),
        ("SN4", "RUNNING", "10.0"),
        ("SN4", "PASSED", "10.1"),
        ("SN5", "SKIPPED", "9.9"),
    ];
    for (at, (serial, status, value)) in rows.iter().enumerate() {
        text.push_str(&format!("{serial},2024-02-01T08:{at:02}:00Z,{status},{value}\n"));
    }
    text
}

fn near(found: Option<f64>, expected: f64) {
    let found = found.unwrap();
    assert!((found - expected).abs() < 1e-9, "{found} and not {expected}");
}

#[test]
fn yields_of_a_file() {
    let bench = Bench::new();
    let options = ImportOptions::new().program_name("P1");
    let report = results_csv::import(&bench.session, text().as_bytes(), &options).unwrap();
    assert_eq!((report.results.len(), report.measurements), (8, 8));
    let control = stationdb::Control::default();

    let yields = bench.session.yields(YieldsRequest::new(), &control).unwrap();
    let group = &yields.groups[0];
    // Firsts: SN1 failed, SN2 passed, SN3 terminated, SN4 passed (running is not counted).
    near(group.first_pass_yield, 2.0 / 4.0);
    // Lasts: SN1, SN2 and SN4 passed, SN3 failed.
    near(group.final_yield, 3.0 / 4.0);
    near(group.result_yield, 3.0 / 6.0);
    near(group.retest_rate, 2.0 / 6.0);
}

#[test]
fn capability_of_a_file() {
    let bench = Bench::new();
    results_csv::import(&bench.session, text().as_bytes(), &ImportOptions::new()).unwrap();
    let control = stationdb::Control::default();
    let request = CapabilityRequest::new("vout");
    let capability = bench.session.capability(request, &control).unwrap();
    assert_eq!(capability.n, 8);
    assert_eq!((capability.low_limit, capability.high_limit), (Some(9.4), Some(10.6)));
    near(capability.mean, 10.0);
    near(capability.overall_deviation, 0.130_930_734_141_595_42);
    near(capability.within_deviation, 0.177_245_385_090_551_6);
    near(capability.cp, std::f64::consts::FRAC_2_SQRT_PI);
    near(capability.cpk, std::f64::consts::FRAC_2_SQRT_PI);
    near(capability.ppk, 1.527_525_231_651_946_7);
}

/// The step that failed first, over a report of several steps.
#[test]
fn pareto_of_a_file() {
    let bench = Bench::new();
    let text = "sn,run,test,result,reading\nA,1,Vout,PASS,5\nA,1,Iout,FAIL,9\nB,2,Vout,FAIL,7\n\
                C,3,Iout,FAIL,9\n";
    results_csv::import(&bench.session, text.as_bytes(), &ImportOptions::new()).unwrap();
    let control = stationdb::Control::default();
    let pareto = bench.session.failure_pareto(FailureParetoRequest::new(), &control).unwrap();
    let counts: Vec<i64> = pareto.entries.iter().map(|entry| entry.count).collect();
    assert_eq!(counts, [2, 1]);
    let keys = stationdb::serde_json::to_string(&pareto.entries[0].key).unwrap();
    assert_eq!(keys, "\"Iout\"");
}
