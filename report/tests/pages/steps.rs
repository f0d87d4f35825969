//! Which steps the page of a result has.

use std::collections::BTreeMap;

use stationdb::prelude::*;
use stationdb::results::{
    CreateResultRequest, CreateStepRequest, ResultWithSteps, StatusType, StepData, TestResultId,
};
use stationdb::{Identity, Session, Store};
use stationdb_report::{RunOptions, full_run_bytes, run_html};

fn step(id: &str, status: StatusType) -> CreateStepRequest {
    CreateStepRequest::new().step_id(id).name(format!("<{id}>")).status(status)
}

fn below(mut step: CreateStepRequest, parent: &str) -> CreateStepRequest {
    step.parent_id = Some(parent.to_owned());
    step
}

fn result(session: &Session, steps: Vec<CreateStepRequest>) -> TestResultId {
    let result = CreateResultRequest::new().program_name("final").status(StatusType::Failed);
    let result = ResultWithSteps::new(result).steps(steps);
    let made = session.append_results(&[result]).unwrap().into_result().unwrap();
    made.results[0].id.clone().unwrap()
}

/// The names of the steps of a page, in their order.
fn steps_of(page: &str) -> Vec<&str> {
    let steps = page.split("<details class=\"step\" open").skip(1);
    steps.map(|step| step.split("&lt;").nth(1).unwrap().split("&gt;").next().unwrap()).collect()
}

/// A page that has no room for all steps has those that failed, each below the ones above it.
#[test]
fn steps_that_failed_are_in_a_short_page() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let long = || StepData::new().text("long ".repeat(200));
    let mut steps: Vec<CreateStepRequest> =
        (0..600).map(|at| step(&format!("passed {at}"), StatusType::Passed).data(long())).collect();
    steps.push(step("outer", StatusType::Done));
    steps.push(below(step("inner", StatusType::Passed), "outer"));
    steps.push(below(step("cause", StatusType::TimedOut), "inner"));
    let id = result(&session, steps.clone());
    let short = RunOptions::new().page_bytes(0);
    let page = run_html(&session, &id, &short).unwrap();
    let shown = steps_of(&page);
    assert!((100..600).contains(&shown.len()), "{}", shown.len());
    assert_eq!(shown[shown.len() - 3..], ["outer", "inner", "cause"]);
    let told = format!(
        "{} of 603 steps are not in this page, so that it stays short. None of these failed. \
         <code>report run --full</code>",
        603 - shown.len()
    );
    assert!(page.contains(&told), "{told}");
    // The others are the first ones.
    let first: Vec<String> = (0..shown.len() - 3).map(|at| format!("passed {at}")).collect();
    assert_eq!(shown[..shown.len() - 3], first);
    assert_eq!(page.matches("<details").count(), page.matches("</details>").count());
    // More failed than the page has room for.
    for one in &mut steps[100..] {
        *one = step(one.step_id.as_deref().unwrap(), StatusType::Errored).data(long());
    }
    let id = result(&session, steps);
    let page = run_html(&session, &id, &short).unwrap();
    let shown = steps_of(&page);
    assert!(shown.len() > 100 && shown[0] == "passed 100", "{shown:?}");
    assert!(page.contains(&format!("{} of these failed.", 503 - shown.len())), "{}", shown.len());
}

/// A step of any length leaves the page as short as it may be, and its neighbours their room.
#[test]
fn a_long_step_is_shortened() {
    const VALUES: usize = 40_000;
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let value = |at: usize| {
        let status = match at {
            30_000 => "Failed",
            31_000 => "error",
            _ => "Passed",
        };
        let members = [
            ("name", format!("m{at}")),
            ("measurement", at.to_string()),
            ("status", status.to_owned()),
        ];
        BTreeMap::from(members.map(|(key, text)| (key.to_owned(), text)))
    };
    let data = StepData::new().parameters((0..VALUES).map(value).collect::<Vec<_>>());
    let id = result(
        &session,
        vec![
            step("long", StatusType::Failed).data(data),
            step("told", StatusType::Failed).data(StepData::new().text("é".repeat(900_000))),
            step("usual", StatusType::Passed).data(StepData::new().parameters([value(7)])),
        ],
    );
    let page = run_html(&session, &id, &RunOptions::new().page_bytes(0)).unwrap();
    assert!(page.len() < 500_000, "{}", page.len());
    assert_eq!(steps_of(&page), ["long", "told", "usual"]);
    assert!(!page.contains("of 3 steps are not in this page"));
    let told = " of 40,000 are not in this page, so that it stays short.";
    assert!(page.contains("<p class=\"text\">Measurements: ") && page.contains(told), "{page}");
    assert!(page.contains("<bdi>m0</bdi>"), "{page}");
    // What failed is there, behind the first ones.
    assert!(page.contains("<bdi>m31000</bdi>"), "{page}");
    assert!(page.contains("<bdi>m30000</bdi>") && !page.contains("of these failed"), "{page}");
    // A step that has room beside others is whole.
    let data = StepData::new().parameters((0..300).map(value).collect::<Vec<_>>());
    let some = result(&session, vec![step("some", StatusType::Failed).data(data)]);
    let whole = run_html(&session, &some, &RunOptions::new().page_bytes(0)).unwrap();
    assert_eq!(whole.matches("<bdi>m").count(), 300);
    let shown = page.matches("<bdi>m").count();
    assert!(
        page.contains(&format!(
            "{},{:03} of 40,000",
            (VALUES - shown + 1) / 1_000,
            (VALUES - shown + 1) % 1_000
        )),
        "{shown}"
    );
    let full = run_html(&session, &id, &RunOptions::new().full(true)).unwrap();
    assert_eq!(full.matches("<bdi>m").count(), VALUES + 1);
    assert!(!full.contains("are not in this page"));
}

/// With `full`, the page has every step, and each other one knows how many there are.
#[test]
fn a_full_page_has_every_step() {
    const STEPS: usize = 20_200;
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let mut steps: Vec<CreateStepRequest> =
        (0..STEPS - 2).map(|at| step(&at.to_string(), StatusType::Passed)).collect();
    steps.push(step("late", StatusType::Done));
    steps.push(below(step("cause", StatusType::Failed), "late"));
    let id = result(&session, steps);
    let full = run_html(&session, &id, &RunOptions::new().full(true)).unwrap();
    assert_eq!(steps_of(&full).len(), STEPS);
    assert!(!full.contains("are not in this page"));
    assert!(full.len() as u64 <= full_run_bytes(&session, &id).unwrap());
    let page = run_html(&session, &id, &RunOptions::new().page_bytes(1_000_000)).unwrap();
    let shown = steps_of(&page);
    assert_eq!(shown[shown.len() - 2..], ["late", "cause"]);
    assert!(page.contains(" of 20,200 steps are not in this page"));
}

/// Without scripts, and on paper, the page has each step open: the script folds what passed.
#[test]
fn sequences_that_passed_are_folded_by_the_script_alone() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let steps = vec![
        step("good", StatusType::Passed),
        below(step("leaf", StatusType::Passed), "good"),
        step("bad", StatusType::Passed),
        below(step("cause", StatusType::Failed), "bad"),
    ];
    let id = result(&session, steps);
    let page = run_html(&session, &id, &RunOptions::new()).unwrap();
    assert_eq!(page.matches("<details class=\"step\"").count(), 4);
    let folded = page.split("<details class=\"step\" open").skip(1);
    let folded: Vec<bool> = folded.map(|step| step.starts_with(" data-folded>")).collect();
    assert_eq!(folded, [true, false, false, false]);
}

/// A value at a limit is inside only where the comparison says so.
#[test]
fn the_gauge_of_a_measurement_is_coloured_as_its_comparison_says() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let parameter = |comparison: &str| {
        [
            ("name", "edge"),
            ("measurement", "1"),
            ("lowLimit", "1"),
            ("highLimit", "2"),
            ("comparisonType", comparison),
            ("status", if comparison == "GTLT" { "Failed" } else { "Passed" }),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
    };
    let parameters = ["GTLT", "GELE"].map(|comparison| BTreeMap::from(parameter(comparison)));
    let data = StepData::new().parameters(parameters);
    let id = result(&session, vec![step("edges", StatusType::Failed).data(data)]);
    let page = run_html(&session, &id, &RunOptions::new()).unwrap();
    let gauges = page.split("class=\"gauge\"").skip(1);
    let is_good: Vec<bool> = gauges
        .map(|gauge| gauge.split("</svg>").next().unwrap().contains("<circle class=\"good\""))
        .collect();
    assert_eq!(is_good, [false, true]);
}
