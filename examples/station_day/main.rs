//! A day of a test station, from an empty directory to queries.
//!
//! The device under test is the computer that runs the example: its loop times, timer, memory and
//! disk are measured. A second run adds a second work item to the same store, and its report has the
//! yield and the capability of the last runs.

mod history;
mod machine;
mod measure;
mod package;
mod paperwork;
mod steps;
mod table;

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use clap::Parser;
use stationdb::files::UploadFileRequest;
use stationdb::prelude::*;
use stationdb::results::{
    QueryStepsRequest, Status, StatusType, Step, TestResult, TestResultId, UpdateResultRequest,
};
use stationdb::search::SearchRequest;
use stationdb::specifications::Specification;
use stationdb::work_items::QueryWorkItemsRequest;
use stationdb::{Control, Identity, Session, Store};
use stationdb_report::{RunOptions, run_html};

use machine::Machine;
use measure::{DiskProbe, ELAPSED, LOOP, quantile};
use paperwork::properties;
use steps::{Steps, bytes, duration, grouped, size_of};

const PROGRAM: &str = "station_day";
const INTERVALS: i64 = 1000;

/// A day of a test station: measures this computer and stores everything in one store.
#[derive(Parser)]
struct Options {
    /// Directory of the store and of the report; created when missing.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/station_day"))]
    dir: PathBuf,
    /// Samples to take.
    #[arg(long, default_value_t = 2_000_000, value_parser = clap::value_parser!(u32).range(1_000..))]
    rows: u32,
}

/// One measured quantity and its specification.
struct Check {
    name: String,
    /// The measured column, which is the name of the measurement.
    column: String,
    value: f64,
    unit: String,
    limit: String,
    passed: bool,
}

/// Results of the first half of the day that the second half needs.
struct Day {
    work_item_id: String,
    result_id: TestResultId,
    table_id: String,
    checks: Vec<Check>,
    loop_max_ns: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let steps = Steps::new();
    std::fs::create_dir_all(&options.dir)?;
    let store_dir = options.dir.join("store");

    steps.part("The station opens its store");
    let start = Instant::now();
    let store = Store::open(&store_dir)?;
    steps.done(start, format!("opened {}", store_dir.display()));
    let session = store.session(Identity::user("workbench"));
    let day = work(&session, &options, &steps)?;
    drop(session);
    let start = Instant::now();
    store.close()?;
    steps.done(start, format!("closed the store; {} on disk", bytes(size_of(&store_dir))));

    steps.part("The next morning: the store answers");
    let start = Instant::now();
    let store = Store::open(&store_dir)?;
    steps.done(start, "opened the store again");
    let session = store.session(Identity::user("engineer"));
    answer(&session, &options, &steps, &day)?;
    drop(session);
    store.close()?;
    steps.end();
    Ok(())
}

/// The work of the day: records, measurement, check, report.
fn work(session: &Session, options: &Options, steps: &Steps) -> Result<Day, Box<dyn Error>> {
    steps.part("Paperwork");
    let machine = Machine::look();
    let start = Instant::now();
    let (asset, is_new) = paperwork::register_asset(session, &machine)?;
    let verb = if is_new { "registered" } else { "found" };
    let name = asset.name.as_deref().unwrap_or_default();
    steps.done(
        start,
        format!("{verb} the asset {name:?}: {}, {}", machine.processor, machine.system),
    );
    let start = Instant::now();
    let (product, is_new) = paperwork::describe_product(session, &machine)?;
    let verb = if is_new { "described" } else { "found" };
    steps.done(
        start,
        format!("{verb} the product {}", product.part_number.as_deref().unwrap_or_default()),
    );
    let start = Instant::now();
    let specs = paperwork::specify(session, &product)?;
    steps.done(start, format!("{} specifications", specs.len()));
    let start = Instant::now();
    let work_item_id = paperwork::begin_work_item(session, &machine, &asset, PROGRAM)?;
    steps.done(
        start,
        format!("work item {work_item_id}: made from its template, scheduled, started"),
    );
    let use_id = format!("{PROGRAM}-{work_item_id}");
    paperwork::begin_use(session, &machine, &use_id)?;

    steps.part("Measurement");
    let test = paperwork::begin_test(session, &machine, &product, &work_item_id, PROGRAM)?;
    let table_id =
        table::create(&test, format!("Samples of work item {work_item_id}"), &work_item_id)?;
    let start = Instant::now();
    let mut run =
        table::measure(session, &table_id, options.rows as usize, DiskProbe::new(&options.dir)?)?;
    steps.done(
        start,
        format!(
            "{} samples taken, and appended while they were taken",
            grouped(options.rows as usize)
        ),
    );
    run.small_appends.sort_unstable();
    if let (Some(middle), Some(slowest)) =
        (run.small_appends.get(run.small_appends.len() / 2), run.small_appends.last())
    {
        let count = run.small_appends.len();
        let (middle, slowest) = (duration(*middle), duration(*slowest));
        steps.note(format!(
            "{count} small appends of 100 rows, each durable: median {middle}, slowest {slowest}"
        ));
    }
    let (rows, time) = run.large;
    if rows > 0 {
        let rate = rows as f64 / time.as_secs_f64() / 1e6;
        steps.note(format!(
            "{} rows in large Arrow batches, each durable: {}, {rate:.2} million rows a second",
            grouped(rows),
            duration(time)
        ));
    }
    session.utilization_heartbeat(vec![use_id.clone()], None)?.require_all()?;

    steps.part("Check and report");
    let start = Instant::now();
    let mut checks = Vec::new();
    for spec in &specs {
        checks.extend(check(&test, spec, &run)?);
    }
    let result = test.finish()?;
    let passed = result.status == Some(StatusType::Passed.into());
    for check in &checks {
        let verdict = if check.passed { "pass" } else { "FAIL" };
        steps.note(format!(
            "{verdict}  {}: {:.3} {}, limit {}",
            check.name, check.value, check.unit, check.limit
        ));
    }
    let history = history::of(session, &result, &checks)?;
    let mut report = report(&machine, &work_item_id, &result, &checks, run.loop_ns.len());
    if let Some(history) = &history {
        report += &history.table();
    }
    let report_id = session.upload_file(
        &mut report.as_bytes(),
        UploadFileRequest::new().name(format!("Self-test report {work_item_id}.md")).metadata(
            properties([("workItemId", &work_item_id), ("about", "workbench self-test")]),
        ),
        &Control::default(),
    )?;
    steps.done(
        start,
        format!(
            "checked {} limits, each a durable step of a result, which is {}; uploaded the report of \
             {}",
            checks.len(),
            status_of(&result.status),
            bytes(report.len() as u64)
        ),
    );
    if let Some(history) = &history {
        steps.note(history.summary());
        for quantity in &history.quantities {
            let [name, n, mean, ppk] = quantity.cells();
            steps.note(format!("{name}: mean {mean} of {n} runs, Ppk {ppk}"));
        }
    }

    // Rows, table, result and work item become visible together, or not at all.
    let result_id = result.id.clone().ok_or("the result has no id")?;
    let reported = UpdateResultRequest::new().id(result_id.clone()).file_ids([report_id.as_str()]);
    let start = Instant::now();
    let last_rows = run.last.num_rows();
    let last = run.last.clone();
    session.transaction(|tx| {
        table::append(tx, &table_id, Some(last), Some(true))?;
        tx.update_results(vec![reported], false, false)?.require_all()?;
        let answer =
            tx.update_work_items(paperwork::closing(&work_item_id, &table_id, &report_id, passed))?;
        match answer.error {
            Some(error) => Err(stationdb::Error::invalid(error.message.unwrap_or_default())),
            None => Ok(()),
        }
    })?;
    steps.done(
        start,
        format!(
            "one transaction: the last {} rows, the end of the data, the report of the result, the \
             closed work item",
            grouped(last_rows)
        ),
    );
    session.end_utilization(vec![use_id], None)?.require_all()?;

    steps.part("The tools of the station");
    let start = Instant::now();
    let feed = package::feed(session)?;
    let package = package::publish(session, &feed, &work_item_id)?;
    let metadata = &package.metadata;
    let (name, version) = (
        metadata.package_name.as_deref().unwrap_or_default(),
        metadata.version.as_deref().unwrap_or_default(),
    );
    steps.done(start, format!("published the package {name} {version} as {}", package.file_name));
    let loop_max_ns = run.loop_ns.iter().copied().fold(0.0, f64::max);
    Ok(Day { work_item_id, result_id, table_id, checks, loop_max_ns })
}

/// Judges a quantity by its specification, and stores it as a step of the test; `None` if it was not
/// measured.
fn check(
    test: &Run,
    spec: &Specification,
    run: &table::Run,
) -> Result<Option<Check>, Box<dyn Error>> {
    let Some(column) = spec.properties.as_ref().and_then(|properties| properties.get("column"))
    else {
        return Ok(None);
    };
    let part = if column == LOOP { 0.99 } else { 0.5 };
    let (Some(value), Some(limit)) = (quantile(run.values(column), part), spec.limit.as_ref())
    else {
        return Ok(None);
    };
    let limit = match (limit.min, limit.max) {
        (Some(min), _) => format!("above {min}"),
        (_, Some(max)) => format!("below {max}"),
        _ => "none".to_owned(),
    };
    let name = spec.name.clone().unwrap_or_default();
    let unit = spec.unit.clone().unwrap_or_default();
    let step = test
        .step(name.clone())
        .step_type("NumericLimitTest")
        .measure(column.as_str(), value, unit.as_str())
        .spec(spec.spec_id.as_deref().unwrap_or_default())
        .finish()?;
    let passed = step.status == Some(StatusType::Passed.into());
    Ok(Some(Check { name, column: column.clone(), value, unit, limit, passed }))
}

/// The measurements of a step as text.
fn measured(step: &Step) -> String {
    let parameters = step.data.iter().flat_map(|data| data.parameters.iter().flatten());
    let of = |parameter: &std::collections::BTreeMap<String, String>| {
        let text = |key: &str| parameter.get(key).map_or("", String::as_str);
        format!("{} {}", text("measurement"), text("units"))
    };
    parameters.map(of).collect::<Vec<_>>().join(", ")
}

fn status_of(status: &Option<Status>) -> String {
    status.as_ref().map(|status| status.status_type.to_string()).unwrap_or_default()
}

fn report(
    machine: &Machine,
    work_item_id: &str,
    result: &TestResult,
    checks: &[Check],
    samples: usize,
) -> String {
    let mut text = format!(
        "# Self-test of {}\n\n**{}**. Work item {work_item_id}, result {}. {}, {}, {} threads. {} \
         samples.\n\n| Quantity | Value | Limit | Result |\n|---|---|---|---|\n",
        machine.host,
        status_of(&result.status),
        result.id.as_deref().unwrap_or_default(),
        machine.processor,
        machine.system,
        machine.thread_count,
        grouped(samples)
    );
    for check in checks {
        let result = if check.passed { "pass" } else { "fail" };
        text += &format!(
            "| {} | {:.3} {} | {} | {result} |\n",
            check.name, check.value, check.unit, check.limit
        );
    }
    text
}

/// Writes the report of the test.
fn write_report(
    session: &Session,
    options: &Options,
    steps: &Steps,
    day: &Day,
) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let report = options.dir.join("report.html");
    std::fs::write(&report, run_html(session, &day.result_id, &RunOptions::new())?)?;
    let report = report.canonicalize()?;
    steps.done(start, format!("wrote {}", report.display()));
    steps.note("open it in a browser: it needs no network, and zooms to each of the worst samples");
    Ok(())
}

/// Queries the store after it was opened again.
fn answer(
    session: &Session,
    options: &Options,
    steps: &Steps,
    day: &Day,
) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let metadata = session.get_table_metadata(&day.table_id.as_str().into())?;
    let row_count = metadata.row_count.unwrap_or_default();
    if row_count != i64::from(options.rows) || metadata.supports_append != Some(false) {
        return Err(
            format!("the table has {row_count} rows, {} were acknowledged", options.rows).into()
        );
    }
    steps.done(
        start,
        format!("the table is closed and has its {} rows", grouped(options.rows as usize)),
    );

    // Once to warm up the page cache, then as a user experiences it when panning and zooming.
    let start = Instant::now();
    let first = table::decimated(session, &day.table_id, ELAPSED, LOOP, INTERVALS)?;
    let first_time = start.elapsed();
    let start = Instant::now();
    let kept = table::decimated(session, &day.table_id, ELAPSED, LOOP, INTERVALS)?;
    steps.done(
        start,
        format!(
            "decimated to {} rows ({} the first time)",
            grouped(kept.len()),
            duration(first_time)
        ),
    );
    let start = Instant::now();
    let all = table::points(session, &day.table_id, ELAPSED, LOOP)?;
    steps.done(start, format!("scanned all {} rows", grouped(all.len())));
    let max = |points: &[(f64, f64)]| {
        points.iter().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max)
    };
    if first != kept || max(&kept) != max(&all) || max(&all) != day.loop_max_ns {
        return Err("decimation lost the worst sample".into());
    }
    steps.note(format!(
        "the worst of all and the worst of the decimated rows is the same: {} ns",
        max(&kept)
    ));
    write_report(session, options, steps, day)?;

    let start = Instant::now();
    let (count, frame) = table::worst(session, &day.table_id, 20_000.0)?;
    steps.done(
        start,
        format!("{} samples are beyond 20,000 ns; the worst:", grouped(count as usize)),
    );
    for row in frame.data.iter().take(3) {
        let cells: Vec<&str> = row.iter().map(|cell| cell.as_deref().unwrap_or("")).collect();
        steps.note(cells.join("  "));
    }

    let start = Instant::now();
    let item = session.get_work_item(&day.work_item_id.as_str().into())?;
    let state = item.state.map(|state| state.to_string()).unwrap_or_default();
    steps.done(start, format!("work item {} is {state}; its history:", day.work_item_id));
    for event in item.execution_history.iter().flatten() {
        let (from, to) = (
            event.base.previous_state.unwrap_or_default(),
            event.base.new_state.unwrap_or_default(),
        );
        let who = event.base.triggered_by.as_deref().unwrap_or_default();
        steps.note(format!(
            "{} by {who}: {from} -> {to}",
            event.base.action.as_deref().unwrap_or_default()
        ));
    }
    let start = Instant::now();
    let result = session.get_result(&day.result_id)?;
    let of_result =
        QueryStepsRequest::new().filter("resultId == @0").substitutions([day.result_id.as_str()]);
    let found = session.query_steps(of_result)?.steps;
    if found.len() != day.checks.len() || result.data_table_ids.iter().flatten().count() != 1 {
        return Err("the result did not come back whole".into());
    }
    steps.done(start, format!("the result of the test is {}:", status_of(&result.status)));
    for step in &found {
        let name = step.name.as_deref().unwrap_or_default();
        steps.note(format!("{} {name}: {}", status_of(&step.status), measured(step)));
    }
    if !session.unfinished_runs()?.is_empty() {
        steps.note("an earlier test was not finished; `Run::resume` carries it on");
    }
    let items = session.query_work_items(
        QueryWorkItemsRequest::new()
            .filter("type == \"self-test\" && state == \"CLOSED\"")
            .return_count(true),
    )?;
    steps.note(format!(
        "{} self-tests are closed in this store",
        items.total_count.unwrap_or_default()
    ));

    let start = Instant::now();
    let feed = package::feed(session)?;
    let packages = session.query_packages(&feed.id)?.packages;
    steps
        .done(start, format!("listed the {} packages of the feed {:?}", packages.len(), feed.name));
    let Some(newest) = packages.last() else {
        return Err("the feed has no package".into());
    };
    let mut bytes = Vec::new();
    session.download_package(&newest.id, &mut bytes, &Control::default())?;
    if Some(bytes.len() as i64) != newest.metadata.size {
        return Err("the package did not come back whole".into());
    }
    for package in packages.iter().rev().take(3) {
        let description = package.metadata.description.as_deref().unwrap_or_default();
        steps.note(format!(
            "{}: {}",
            package.file_name,
            description.lines().next().unwrap_or_default()
        ));
    }
    // One search for each kind, so that the work items of many runs do not fill the first page.
    for kind in ["product", "asset", "file", "package", "work item"] {
        let start = Instant::now();
        let found = session.search(
            SearchRequest::new().text("workbench self test").kinds([kind.to_owned()]).take(3),
        )?;
        let total = found.total.unwrap_or_default();
        steps.done(
            start,
            format!("searched for \"workbench self test\" in every {kind}: {total} hits"),
        );
        for hit in &found.hits {
            steps.note(format!("{} {}: {}", hit.kind, hit.id, hit.name));
        }
        if found.hits.is_empty() {
            return Err(format!("the search did not find the {kind}").into());
        }
    }
    Ok(())
}
