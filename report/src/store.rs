//! The page of a store: what is in it, whether it is sound, and how it grew.

use stationdb::prelude::*;
use stationdb::scans::{AggregateRecordsKey, AggregateRecordsRequest, RecordKind, TimeBucket};
use stationdb::tables::{Aggregate, AggregateFunction};
use stationdb::{Control, Result, Session, Store};

use crate::bars::{Bar, bars};
use crate::health::health;
use crate::html::{escaped, folded_table, table};
use crate::number::grouped;
use crate::page::Page;

/// What grows, month by month.
struct Growth {
    title: &'static str,
    kind: RecordKind,
    /// The field with the time.
    time: &'static str,
    /// The field whose sum is drawn; the number of records where there is none.
    sum: Option<&'static str>,
}

const GROWTH: &[Growth] = &[
    Growth {
        title: "Test results, by the month in which they began",
        kind: RecordKind::TestResult,
        time: "startedAt",
        sum: None,
    },
    Growth {
        title: "Rows of tables, by the month in which the table was created",
        kind: RecordKind::Table,
        time: "createdAt",
        sum: Some("rowCount"),
    },
    Growth {
        title: "Bytes of files, by the month in which they were created",
        kind: RecordKind::File,
        time: "created",
        sum: Some("size"),
    },
    Growth {
        title: "Work items, by the month in which they were created",
        kind: RecordKind::WorkItem,
        time: "createdAt",
        sum: None,
    },
];

/// Makes the page of a store: one HTML file, as text.
///
/// It has the number of records of each kind that the session may see, what a verification of the
/// headers finds, the status of the store, and the growth of results, rows, files and work items by month.
///
/// # Errors
/// Those of `Store::verify` and of `aggregate_records`, and of `control`.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// use stationdb::{Control, Identity, Store};
///
/// let store = Store::open(dir.path())?;
/// let session = store.session(Identity::user("ada"));
/// let page = stationdb_report::store_html(&store, &session, "bench 7", &Control::default())?;
/// assert!(page.contains("No damage was found"));
/// # Ok(())
/// # }
/// ```
pub fn store_html(
    store: &Store,
    session: &Session,
    name: &str,
    control: &Control,
) -> Result<String> {
    let session = &session.pinned().with_control(control);
    let mut page = Page::new(&format!("Store {name}"));
    page.push(&contents(session)?);
    page.push(&health(store, control)?);
    page.push("<section><h2>Growth</h2>\n");
    for growth in GROWTH {
        page.push(&of_growth(session, growth)?);
    }
    page.push("</section>\n");
    Ok(page.finish())
}

fn contents(session: &Session) -> Result<String> {
    let mut rows = Vec::new();
    for &kind in RecordKind::ALL {
        let answer = session.aggregate_records(AggregateRecordsRequest::new(kind))?;
        let count: i64 = answer.groups.iter().map(|group| group.rows).sum();
        let name = kind.to_string().to_lowercase().replace('_', " ");
        rows.push(vec![escaped(&name), grouped(u64::try_from(count).unwrap_or(0))]);
    }
    let table = table("Records of each kind", &["Kind", "Records"], &rows);
    Ok(format!("<section><h2>Contents</h2>{table}</section>\n"))
}

fn of_growth(session: &Session, growth: &Growth) -> Result<String> {
    let key = AggregateRecordsKey::new(growth.time).bucket(TimeBucket::Month);
    let mut request = AggregateRecordsRequest::new(growth.kind).group_by([key]);
    if let Some(sum) = growth.sum {
        request = request.aggregates([Aggregate::new(AggregateFunction::Sum).column(sum)]);
    }
    let groups = session.aggregate_records(request)?.groups;
    let mut rows = Vec::new();
    let mut drawn = Vec::new();
    for group in &groups {
        let month = group.keys.first().cloned().flatten().unwrap_or_default();
        let month: String = month.chars().take(7).collect();
        let sum = group.values.first().and_then(|value| value.value.clone());
        let text = sum.unwrap_or_else(|| group.rows.to_string());
        drawn.push(Bar {
            name: month.clone(),
            value: text.parse().ok(),
            title: format!("{month}: {text}"),
            class: "",
        });
        rows.push(vec![escaped(&month), escaped(&text)]);
    }
    if rows.is_empty() {
        return Ok(format!("<h3>{}</h3><p>There are none.</p>\n", escaped(growth.title)));
    }
    Ok(format!(
        "<figure><figcaption>{}</figcaption>{}</figure>{}\n",
        escaped(growth.title),
        bars(growth.title, &drawn, &[], None),
        folded_table("The months", &["Month", "Count"], &rows)
    ))
}
