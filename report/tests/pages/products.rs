//! What the page of a product selects, and which points it marks.

use std::collections::BTreeMap;

use stationdb::prelude::*;
use stationdb::products::CreateProductRequest;
use stationdb::results::{
    ChartRule, ControlChartRequest, CreateResultRequest, CreateStepRequest, ResultWithSteps,
    StatusType, StepData,
};
use stationdb::{Control, ErrorKind, Identity, Session, Store};
use stationdb_report::{ProductOptions, product_html};

use crate::cells;

fn measure(session: &Session, serial: &str, name: &str, value: f64) {
    let run = Run::begin("P-1", serial, "final").start(session).unwrap();
    run.step("supply").measure(name, value, "V").limits(3.2, 3.4).finish().unwrap();
    run.finish().unwrap();
}

fn page(session: &Session, options: &ProductOptions) -> String {
    product_html(session, "P-1", options).unwrap()
}

/// Of a chart: which of its points are marked, in their order.
fn marked(page: &str, chart: &str) -> Vec<bool> {
    let svg = page.split(chart).nth(1).unwrap().split("</svg>").next().unwrap();
    svg.split("<circle class=\"").skip(1).map(|dot| dot.starts_with("bad")).collect()
}

/// An outlier breaks the limits of the values and those of the ranges; the value behind it those of
/// the ranges alone.
#[test]
fn a_chart_marks_the_points_that_break_its_own_limits() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    for at in 0..60 {
        let value = if at == 30 { 3.9 } else { 3.3 + (f64::from(at) * 1.7).sin() / 100.0 };
        measure(&session, &format!("SN-{at}"), "VOUT", value);
    }
    let request = ControlChartRequest::new("VOUT").filter("partNumber == \"P-1\"");
    let chart = session.control_chart(request, &Control::default()).unwrap();
    let (lower, upper) = (chart.limits.lower.unwrap(), chart.limits.upper.unwrap());
    let values: Vec<bool> = chart
        .points
        .iter()
        .map(|point| {
            let is_run = point.rules.contains(&ChartRule::Run);
            point.value < lower || point.value > upper || is_run
        })
        .collect();
    let ranges: Vec<bool> = chart
        .points
        .iter()
        .filter(|point| point.range.is_some())
        .map(|point| point.range > chart.range_limits.upper)
        .collect();
    assert!(values[30] && !values[31] && ranges[29] && ranges[30], "{values:?} {ranges:?}");
    let page = page(&session, &ProductOptions::new());
    assert_eq!(marked(&page, "Control chart of the values"), values);
    assert_eq!(marked(&page, "Control chart of the ranges"), ranges);
}

#[test]
fn a_part_number_that_nothing_has_is_not_found() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let error = product_html(&session, "P-1", &ProductOptions::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains("has the part number \"P-1\""), "{error}");
    // A product without results has a page, and so have results without a product.
    session.create_products(vec![CreateProductRequest::new("P-1")]).unwrap().require_all().unwrap();
    assert!(page(&session, &ProductOptions::new()).contains("No test result is selected."));
    let run = Run::begin("P-2", "SN-1", "final").start(&session).unwrap();
    run.finish().unwrap();
    product_html(&session, "P-2", &ProductOptions::new()).unwrap();
}

/// A chart has its first points, each in few bytes; and a search for measurements with values ends.
#[test]
fn a_page_stays_short() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let run = |at: usize, name: &str| {
        let value = 3.3 + (at as f64).sin() / 100.0;
        let value = [("name", name.to_owned()), ("measurement", value.to_string())];
        let value = BTreeMap::from(value.map(|(key, text)| (key.to_owned(), text)));
        let step = CreateStepRequest::new().name("supply").status(StatusType::Passed);
        let step = step.data(StepData::new().parameters([value]));
        let result = CreateResultRequest::new().program_name("final").part_number("P-1");
        ResultWithSteps::new(result.status(StatusType::Passed)).steps([step])
    };
    let add = |runs: Vec<ResultWithSteps>| {
        for runs in runs.chunks(500) {
            session.append_results(runs).unwrap().require_all().unwrap();
        }
    };
    add((0..1_200).map(|at| run(at, "VOUT")).collect());
    let all = page(&session, &ProductOptions::new());
    assert!(all.contains("the first 1,000 points"));
    assert!((150_000..380_000).contains(&all.len()), "{}", all.len());
    // 250 others have no value in the selected results.
    add((0..250).map(|at| run(at, &format!("A{at:03}"))).collect());
    let hour = ProductOptions::new().filter("serialNumber == \"SN-7\"");
    measure(&session, "SN-7", "VOUT", 3.3);
    let told = "No measurement with values was found; 51 more were not looked at.";
    assert!(page(&session, &hour).contains(told));
    // More are looked at where more are asked for.
    let all = page(&session, &hour.measurements_max(300));
    assert!(all.contains("Control chart of VOUT") && !all.contains("not looked at"));
}

/// Measurements that the selected results do not have are named, and take no place of others.
#[test]
fn the_filter_selects_the_measurements_too() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    for at in 0..30 {
        measure(&session, "old", &format!("A{at:02}"), 3.3);
    }
    for at in 0..3 {
        measure(&session, "new", &format!("B{at}"), 3.3);
    }
    let new = ProductOptions::new().filter("serialNumber == \"new\"").measurements_max(2);
    let page_of_new = page(&session, &new);
    for text in [
        "These are the first 2 measurements with values; one more was not looked at.",
        "Without a value in the selected results: <bdi>supply &gt; A00</bdi>, ",
        "<bdi>supply &gt; A19</bdi> and 10 more.",
        "Control chart of B0",
        "Control chart of B1",
    ] {
        assert!(page_of_new.contains(text), "{text}");
    }
    assert!(!page_of_new.contains("A20") && !page_of_new.contains("is a number"));
    let none = page(&session, &ProductOptions::new().filter("serialNumber == \"none\""));
    assert!(none.contains("No test result is selected.") && !none.contains("is a number"));
    assert!(!cells(&none).iter().any(|cell| cell.contains("supply")));
    // What the filter is joined to does not reach further, and is not told.
    for (filter, told) in [("bad ==", "(at character 6)"), ("true) || (true", "(at character 4)")] {
        let options = ProductOptions::new().filter(filter);
        let error = product_html(&session, "P-1", &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{filter}");
        assert!(error.to_string().contains(told), "{filter}: {error}");
    }
    let options = ProductOptions::new().filter("partNumber == @0");
    assert!(product_html(&session, "P-1", &options).is_err());
}
