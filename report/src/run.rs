//! The page of a test result: what was found, step by step, and the tables and files with it.

use stationdb::files::{FileQueryOperation, IdsQuery, QueryFilesRequest};
use stationdb::prelude::*;
use stationdb::results::{TestResult, TestResultId};
use stationdb::{ErrorKind, Result, Session};

use crate::html::{escaped, isolated, isolated_some, table};
use crate::limits_of_product::limits_of_product;
use crate::number::{exact_or_none, grouped};
use crate::page::Page;
use crate::plot::full_bytes;
use crate::plot_options::{Limits, PlotOptions};
use crate::run_options::RunOptions;
use crate::status::badge;
use crate::steps;
use crate::waveform;

/// Tables that are drawn; others are named.
const TABLES_MAX: usize = 12;
/// Bytes of the line of a table that is not drawn.
const TABLE_NAMES_BYTES: usize = 400;
/// Files that are named.
const FILES_MAX: usize = 1_000;

/// Makes the page of a test result: one HTML file, as text.
///
/// It has the result, the tree of its steps with their measurements and limits, the names of its
/// files, and its tables as waveforms, the first 12 of them. Columns have the limits of the
/// specifications of the product whose property `column` names them. The page has about 6 MB at
/// most, unless the options say otherwise: it says how many steps and which rows it leaves out for
/// that. Steps that failed come first, with the steps above them.
///
/// # Errors
/// `NotFound` if there is no such result; what reading steps and rows refuses. Files and tables that
/// are gone, or that the session may not see, are named by their ids. `LimitExceeded` for every row of
/// tables of more than 67 million values, and for every one of more than 262,144 steps.
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
    let mut page = without_tables(session, id, &result, budget.map(|budget| budget / 2))?;
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
    let page = without_tables(session, result, &found, None)?;
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

/// The page up to its tables. Its steps take up to `step_bytes` of HTML, about; without a bound it has
/// every step.
fn without_tables(
    session: &Session,
    id: &TestResultId,
    result: &TestResult,
    step_bytes: Option<usize>,
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
    page.push(&steps::section(session, id, step_bytes)?);
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
            Ok(added) => thinned += usize::from(!added.is_whole),
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
