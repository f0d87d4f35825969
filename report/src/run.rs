//! The page of a test result: what was found, step by step, and the tables and files with it.

use std::collections::{BTreeMap, BTreeSet};

use stationdb::files::{FileQueryOperation, IdsQuery, QueryFilesRequest};
use stationdb::prelude::*;
use stationdb::results::{QueryStepsRequest, Step, TestResult, TestResultId};
use stationdb::{ErrorKind, Result, Session};

use crate::html::{escaped, isolated, table};
use crate::limits_of_product::limits_of_product;
use crate::number::{exact_or_none, grouped};
use crate::page::Page;
use crate::plot::full_bytes;
use crate::plot_options::{Limits, PlotOptions};
use crate::run_options::RunOptions;
use crate::status::{badge, has_failed, parameter_badge};
use crate::waveform;

/// Tables that are drawn; others are named.
const TABLES_MAX: usize = 12;
/// Bytes of the line of a table that is not drawn.
const TABLE_NAMES_BYTES: usize = 400;
/// Files that are named.
const FILES_MAX: usize = 1_000;
/// Steps that are shown.
const STEPS_MAX: usize = 20_000;
const STEPS_OF_PAGE: i64 = 1_000;

/// Makes the page of a test result: one HTML file, as text.
///
/// It has the result, the tree of its steps with their measurements and limits, the names of its
/// files, and its tables as waveforms, the first 12 of them. Columns have the limits of the
/// specifications of the product whose property `column` names them. The page has about 6 MB at
/// most, unless the options say otherwise: it says which steps and rows it leaves out for that.
///
/// # Errors
/// `NotFound` if there is no such result; what reading steps and rows refuses. Files and tables that
/// are gone, or that the session may not see, are named by their ids. `LimitExceeded` for every row of
/// tables of more than 67 million values.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// use stationdb::prelude::*;
/// # use stationdb::{Identity, Store};
/// # let store = Store::open(dir.path())?;
/// # let session = store.session(Identity::user("ada"));
///
/// let run = Run::begin("P-1", "SN-7", "final test").start(&session)?;
/// run.step("supply").measure("VOUT", 3.31, "V").limits(3.2, 3.4).finish()?;
/// let id = run.id().clone();
/// run.finish()?;
/// let page = stationdb_report::run_html(&session, &id, &stationdb_report::RunOptions::new())?;
/// assert!(page.contains("VOUT") && page.contains("3.31"));
/// # Ok(())
/// # }
/// ```
pub fn run_html(session: &Session, result: &TestResultId, options: &RunOptions) -> Result<String> {
    let id = result;
    let session = &session.pinned();
    let result = session.get_result(id)?;
    let budget = options.budget();
    let mut page = without_tables(session, id, &result, budget.map_or(usize::MAX, |b| b / 2))?;
    add_tables(&mut page, session, id, &result, budget)?;
    Ok(page.finish())
}

/// How long a page with every row of the tables that it shows, and with every step, gets at most, in
/// bytes. Steps are read for it, and rows are not.
///
/// # Errors
/// As [`run_html`].
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// use stationdb::prelude::*;
/// # use stationdb::{Identity, Store};
/// use stationdb_report::{RunOptions, full_run_bytes, run_html};
/// # let store = Store::open(dir.path())?;
/// # let session = store.session(Identity::user("ada"));
///
/// let run = Run::begin("P-1", "SN-7", "final test").start(&session)?;
/// let id = run.id().clone();
/// run.finish()?;
/// let page = run_html(&session, &id, &RunOptions::new().full(true))?;
/// assert!(page.len() as u64 <= full_run_bytes(&session, &id)?);
/// # Ok(())
/// # }
/// ```
pub fn full_run_bytes(session: &Session, result: &TestResultId) -> Result<u64> {
    let session = &session.pinned();
    let found = session.get_result(result)?;
    let page = without_tables(session, result, &found, usize::MAX)?;
    let tables = session.tables_of_result(result)?;
    let mut options = PlotOptions::new();
    options.limits = limits_of_tables(session, &found, &tables)?;
    let of_tables = tables.iter().take(TABLES_MAX).filter_map(|table| {
        // A table that cannot be drawn is named in one line.
        full_bytes(session, &table.as_str().into(), &options).ok()
    });
    let beside = (page.finish().len() + TABLE_NAMES_BYTES * tables.len()) as u64;
    Ok(of_tables.fold(beside, u64::saturating_add))
}

/// The page up to its tables. Its steps take up to `step_bytes` of HTML, about.
fn without_tables(
    session: &Session,
    id: &TestResultId,
    result: &TestResult,
    step_bytes: usize,
) -> Result<Page> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let title = format!(
        "{} {} · {}",
        text(&result.part_number),
        text(&result.serial_number),
        text(&result.program_name)
    );
    let mut page = Page::new(title.trim());
    page.push(&of_result(result));
    let (steps, is_whole) = steps_of(session, id)?;
    page.push(&of_steps(&steps, is_whole, step_bytes));
    page.push(&of_files(session, result)?);
    Ok(page)
}

fn of_result(result: &TestResult) -> String {
    let mut rows = Vec::new();
    let mut row = |name: &str, value: String| {
        if !value.is_empty() {
            rows.push(vec![name.to_owned(), value]);
        }
    };
    let text = |text: &Option<String>| isolated_some(text.as_deref());
    row("Status", badge(result.status.as_ref()));
    row("Part number", text(&result.part_number));
    row("Serial number", text(&result.serial_number));
    row("Program", text(&result.program_name));
    row("Operator", text(&result.operator));
    row("System", text(&result.system_id));
    row("Host", text(&result.host_name));
    row("Started at", result.started_at.map(|time| time.to_rfc3339()).unwrap_or_default());
    row("Seconds", exact_or_none(result.total_time_in_seconds));
    row(
        "Keywords",
        result.keywords.iter().flatten().map(|k| isolated(k)).collect::<Vec<_>>().join(", "),
    );
    for (key, value) in result.properties.iter().flatten() {
        rows.push(vec![isolated(key), isolated_some(value.as_deref())]);
    }
    let id = result.id.as_ref().map(|id| id.as_str());
    rows.push(vec!["Id".to_owned(), isolated_some(id)]);
    table("Result", &["Member", "Value"], &rows)
}

fn isolated_some(text: Option<&str>) -> String {
    text.filter(|text| !text.is_empty()).map(isolated).unwrap_or_default()
}

/// The steps in the order in which they began, and whether these are all.
fn steps_of(session: &Session, id: &TestResultId) -> Result<(Vec<Step>, bool)> {
    let mut steps = Vec::new();
    let mut token = None;
    loop {
        let mut request = QueryStepsRequest::new()
            .filter("resultId == @0")
            .substitutions([id.as_str()])
            .take(STEPS_OF_PAGE);
        request.continuation_token = token;
        let answer = session.query_steps(request)?;
        steps.extend(answer.steps);
        token = answer.continuation_token;
        if token.is_none() || steps.len() >= STEPS_MAX {
            break;
        }
    }
    let is_whole = token.is_none() && steps.len() <= STEPS_MAX;
    steps.truncate(STEPS_MAX);
    steps.sort_by_key(|step| step.started_at);
    Ok((steps, is_whole))
}

/// The tree of the steps, as far as `bytes` of HTML go.
fn of_steps(steps: &[Step], is_whole: bool, bytes: usize) -> String {
    let mut out = String::from("<section><h2>Steps</h2>\n");
    if steps.is_empty() {
        return out + "<p>There are no steps.</p></section>\n";
    }
    if !is_whole {
        out.push_str(&format!("<p>These are {} of more steps.</p>\n", grouped(steps.len() as u64)));
    }
    let ids: BTreeSet<&str> = steps.iter().filter_map(|step| step.step_id.as_deref()).collect();
    let mut children: BTreeMap<Option<&str>, Vec<&Step>> = BTreeMap::new();
    for step in steps {
        // A step whose parent is not there begins a tree of its own.
        let parent = step.parent_id.as_deref().filter(|parent| ids.contains(parent));
        children.entry(parent).or_default().push(step);
    }
    let mut failed = BTreeSet::new();
    for step in steps.iter().filter(|step| has_failed(step.status.as_ref())) {
        failed.extend(step.path_ids.iter().flatten().map(String::as_str));
    }
    // Depth first; ends are closed when what is below them is written.
    enum Part<'s> {
        Step(&'s Step),
        End(&'static str),
    }
    let first = children.remove(&None).unwrap_or_default();
    let mut parts: Vec<Part<'_>> = first.into_iter().rev().map(Part::Step).collect();
    let mut shown = 0;
    while let Some(part) = parts.pop() {
        let step = match part {
            Part::End(end) => {
                out.push_str(end);
                continue;
            }
            Part::Step(_) if out.len() >= bytes => continue,
            Part::Step(step) => step,
        };
        shown += 1;
        let id = step.step_id.as_deref();
        let below = id.and_then(|id| children.remove(&Some(id))).unwrap_or_default();
        let is_open = below.is_empty() || id.is_some_and(|id| failed.contains(id));
        let open = if is_open { " open" } else { "" };
        let kind = isolated_some(step.step_type.as_deref());
        let time = step.total_time_in_seconds.filter(|seconds| *seconds > 0.0);
        let time = time.map_or_else(String::new, |s| format!(" {} s", exact_or_none(Some(s))));
        out.push_str(&format!(
            "<details class=\"step\"{open}><summary>{} {} <span class=\"note\">{kind}{time}</span>\
             </summary>\n",
            badge(step.status.as_ref()),
            isolated_some(step.name.as_deref())
        ));
        out.push_str(&of_step(step));
        parts.push(Part::End("</details>\n"));
        parts.extend(below.into_iter().rev().map(Part::Step));
    }
    if shown < steps.len() {
        out.push_str(&format!(
            "<p class=\"text\">{} of {} steps are not in this page, so that it stays short. \
             <code>report run --full</code> writes them all.</p>\n",
            grouped((steps.len() - shown) as u64),
            grouped(steps.len() as u64)
        ));
    }
    out + "</section>\n"
}

/// What a step says: its text, its measurements, and what went in and came out.
fn of_step(step: &Step) -> String {
    let mut out = String::new();
    let data = step.data.as_ref();
    if let Some(text) = data.and_then(|data| data.text.as_deref()).filter(|text| !text.is_empty()) {
        out.push_str(&format!("<p class=\"text\">{}</p>", isolated(text)));
    }
    let parameters = data.and_then(|data| data.parameters.as_deref()).unwrap_or_default();
    if !parameters.is_empty() {
        let rows: Vec<Vec<String>> = parameters.iter().map(measurement_row).collect();
        let head =
            ["Measurement", "Value", "Unit", "Low", "High", "Compared", "Status", "Place", "Other"];
        out.push_str(&table("Measurements", &head, &rows));
    }
    for (name, values) in [("Inputs", &step.inputs), ("Outputs", &step.outputs)] {
        let rows: Vec<Vec<String>> = values
            .iter()
            .flatten()
            .map(|value| vec![isolated(&value.name), isolated(&value.value.to_string())])
            .collect();
        if !rows.is_empty() {
            out.push_str(&table(name, &["Name", "Value"], &rows));
        }
    }
    out
}

fn measurement_row(parameter: &BTreeMap<String, String>) -> Vec<String> {
    const SHOWN: [&str; 7] =
        ["name", "measurement", "units", "lowLimit", "highLimit", "comparisonType", "status"];
    let of = |key: &str| isolated_some(parameter.get(key).map(String::as_str));
    let mut row: Vec<String> = SHOWN[..6].iter().map(|key| of(key)).collect();
    row.push(parameter_badge(parameter.get("status").map(String::as_str)));
    let number =
        |key: &str| parameter.get(key)?.trim().parse::<f64>().ok().filter(|v| v.is_finite());
    row.push(gauge(number("measurement"), number("lowLimit"), number("highLimit")));
    let others = parameter.iter().filter(|(key, _)| !SHOWN.contains(&key.as_str()));
    let others = others.map(|(key, value)| format!("{} = {}", isolated(key), isolated(value)));
    row.push(others.collect::<Vec<_>>().join("<br>"));
    row
}

/// Where a value is between its limits.
fn gauge(value: Option<f64>, low: Option<f64>, high: Option<f64>) -> String {
    let (Some(value), Some(low), Some(high)) = (value, low, high) else { return String::new() };
    if low >= high {
        return String::new();
    }
    // The limits are at a quarter and at three quarters of the width; halves keep spans finite.
    let part = (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
    let at = (30.0 + part * 60.0).clamp(3.0, 117.0);
    let class = if (0.0..=1.0).contains(&part) { "good" } else { "bad" };
    let text = format!("{:.1} % of the way from the low to the high limit", part * 100.0);
    format!(
        "<svg class=\"gauge\" viewBox=\"0 0 120 14\" width=\"120\" height=\"14\" role=\"img\" \
         aria-label=\"{}\"><path class=\"grid\" d=\"M0 7H120\"/>\
         <path class=\"limit\" d=\"M30 1V13M90 1V13\"/><circle class=\"{class}\" cx=\"{at:.1}\" \
         cy=\"7\" r=\"3\"/></svg>",
        escaped(&text)
    )
}

fn of_files(session: &Session, result: &TestResult) -> Result<String> {
    let all = result.file_ids.iter().flatten();
    let ids: Vec<String> = all.clone().take(FILES_MAX).cloned().collect();
    let more = all.count() - ids.len();
    if ids.is_empty() {
        return Ok(String::new());
    }
    let mut request = QueryFilesRequest::new().take(ids.len() as i64);
    request.ids_query = Some(IdsQuery::new(FileQueryOperation::Equal, ids.clone()));
    let found = session.query_files(request)?.available_files;
    let mut rows: Vec<Vec<String>> = ids
        .iter()
        .map(|id| {
            let file = found.iter().find(|file| file.id.as_str() == id);
            let Some(file) = file else {
                return vec![isolated(id), "gone, or not to be seen".to_owned(), String::new()];
            };
            let name = file.properties.get("Name");
            let size = u64::try_from(file.size64).unwrap_or(0);
            vec![
                isolated(name.map_or(id.as_str(), String::as_str)),
                format!("{} bytes", grouped(size)),
                isolated(&file.created.to_rfc3339()),
            ]
        })
        .collect();
    if more > 0 {
        rows.push(vec![format!("{} more", grouped(more as u64)), String::new(), String::new()]);
    }
    Ok(format!(
        "<section><h2>Files</h2>{}</section>\n",
        table("Files of the result, which are in the store", &["Name", "Size", "Created"], &rows)
    ))
}

/// Bytes of each column, so that the tables share what the page has left of its budget.
fn column_bytes(page: &Page, session: &Session, tables: &[String], budget: usize) -> usize {
    let columns = tables.iter().take(TABLES_MAX).filter_map(|table| {
        let metadata = session.get_table_metadata(&table.as_str().into()).ok()?;
        Some(waveform::choose(&metadata, &PlotOptions::new()).ok()?.ys.len())
    });
    let columns = columns.sum::<usize>().max(1);
    (budget.saturating_sub(page.size()) / columns).min(waveform::COLUMN_BYTES)
}

/// The limits of the product of a result, which its tables have.
fn limits_of_tables(
    session: &Session,
    result: &TestResult,
    tables: &[String],
) -> Result<Vec<Limits>> {
    match &result.part_number {
        Some(part_number) if !tables.is_empty() => limits_of_product(session, part_number),
        _ => Ok(Vec::new()),
    }
}

fn add_tables(
    page: &mut Page,
    session: &Session,
    id: &TestResultId,
    result: &TestResult,
    budget: Option<usize>,
) -> Result<()> {
    let tables = session.tables_of_result(id)?;
    let mut options = PlotOptions::new().full(budget.is_none());
    options.limits = limits_of_tables(session, result, &tables)?;
    options.column_bytes = budget.map(|budget| column_bytes(page, session, &tables, budget));
    let (begin, mut thinned) = (page.end(), 0);
    let mut unseen = Vec::new();
    for (at, table) in tables.iter().enumerate() {
        if at >= TABLES_MAX {
            unseen.push(vec![isolated(table), "not drawn, because there are many".to_owned()]);
            continue;
        }
        match waveform::add(page, session, &table.as_str().into(), &options) {
            Ok(is_whole) => thinned += usize::from(!is_whole),
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::InvalidArgument
                ) =>
            {
                unseen.push(vec![isolated(table), escaped(error.message())]);
            }
            Err(error) => return Err(error),
        }
    }
    if thinned > 0 {
        let of = grouped(thinned as u64);
        let tables = if thinned == 1 { "table" } else { "tables" };
        let note = format!(
            "<p class=\"text\">Of {of} {tables} below, this page has the lowest and the highest \
             sample of each interval of rows and the rows around places that matter, so that it \
             stays short. <code>report run --full</code> writes every row.</p>\n"
        );
        page.insert(begin, &note);
    }
    if !unseen.is_empty() {
        page.push(&crate::html::table("Other tables", &["Id", "Why it is not drawn"], &unseen));
    }
    Ok(())
}
