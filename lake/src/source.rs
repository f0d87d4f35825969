//! What a store has to publish: its tables, and what changed after a position.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use object_store::path::Path;
use stationdb::arrow::array::AsArray;
use stationdb::chrono;
use stationdb::prelude::*;
use stationdb::scans::{RecordKind, ScanRecordsRequest};
use stationdb::tables::{ListDeletedRowsRequest, TableId, TableMetadata};
use stationdb::{Control, ErrorKind, Position, Result, Session, What, from_json};

use crate::layout::Layout;

/// Changed records of a kind that are looked up; of more, all are sent.
const CHANGES: usize = 200_000;

/// What a record says that is not there any more.
pub(crate) const DELETED: &str = "DELETED";

/// Every kind of record.
pub(crate) const KINDS: [RecordKind; 14] = [
    RecordKind::Product,
    RecordKind::Specification,
    RecordKind::Asset,
    RecordKind::AssetUtilization,
    RecordKind::WorkItem,
    RecordKind::WorkItemTemplate,
    RecordKind::TestPlan,
    RecordKind::TestPlanTemplate,
    RecordKind::Table,
    RecordKind::File,
    RecordKind::Feed,
    RecordKind::Package,
    RecordKind::Workspace,
    RecordKind::TestResult,
];

/// A table of the store.
#[derive(Clone, Debug)]
pub(crate) struct SourceTable {
    pub id: TableId,
    pub workspace: String,
    pub metadata: TableMetadata,
    /// The numbers of its columns.
    pub numbers: Vec<u64>,
    /// The ordinal of the next row.
    pub next: u64,
    /// Whether rows of it were deleted.
    pub has_deleted: bool,
}

/// The last change of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordChange {
    pub sequence: u64,
    pub what: String,
    pub workspace: String,
    /// Whether the record is not in this lake any more.
    pub is_gone: bool,
}

/// What changed of the records of a kind.
#[derive(Clone, Debug)]
pub(crate) enum RecordChanges {
    /// These records, by id.
    Some(BTreeMap<String, RecordChange>),
    /// More than are looked up, or it is not known what.
    All,
}

/// First and last ordinals of deleted rows; `None` if they have to be listed.
pub(crate) type Ranges = Option<Vec<(u64, u64)>>;

/// The deleted rows of a table.
#[derive(Clone, Debug)]
pub(crate) struct DeletedRows {
    pub by_caller: Ranges,
    pub by_retention: Ranges,
}

impl DeletedRows {
    /// Nothing, to which events are added.
    const NONE: Self = Self { by_caller: Some(Vec::new()), by_retention: Some(Vec::new()) };
    /// What no event tells.
    pub(crate) const UNKNOWN: Self = Self { by_caller: None, by_retention: None };
}

/// What changed after a position, as far as it is for one root.
#[derive(Debug)]
pub(crate) struct SourceChanges {
    /// By place in [`KINDS`].
    pub records: BTreeMap<usize, RecordChanges>,
    /// Tables with any change; `None` for all.
    pub tables: Option<BTreeSet<String>>,
    /// Deleted rows by table.
    pub deleted: BTreeMap<String, DeletedRows>,
    /// The last change of all.
    pub last: Option<(u64, i64)>,
    /// Why all is sent, if it is.
    pub full: Option<&'static str>,
}

impl SourceChanges {
    /// Everything the store has.
    pub(crate) fn everything(why: &'static str) -> Self {
        let records = (0..KINDS.len()).map(|kind| (kind, RecordChanges::All)).collect();
        let deleted = BTreeMap::new();
        Self { records, tables: None, deleted, last: None, full: Some(why) }
    }
}

/// A name without case, spaces and underscores.
fn folded(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Whether events name records of a kind by an id that its columns do not have.
fn has_other_id(kind: RecordKind) -> bool {
    matches!(kind, RecordKind::AssetUtilization | RecordKind::Workspace)
}

/// Reads the change log from a position on. `None` when it does not reach back.
pub(crate) fn news(
    session: &Session,
    layout: &dyn Layout,
    root: &Path,
    after: Position,
    until: Position,
    control: &Control,
) -> Result<Option<SourceChanges>> {
    let names: BTreeMap<String, usize> =
        KINDS.iter().enumerate().map(|(at, kind)| (folded(&kind.to_string()), at)).collect();
    let mut news = SourceChanges {
        records: BTreeMap::new(),
        tables: Some(BTreeSet::new()),
        deleted: BTreeMap::new(),
        last: None,
        full: None,
    };
    let mut changes = session.changes(after);
    loop {
        control.check()?;
        let event = match changes.poll() {
            Ok(Some(event)) if event.sequence <= until.0 => event,
            Ok(_) => return Ok(Some(news)),
            Err(error) if error.kind() == ErrorKind::Conflict => return Ok(None),
            Err(error) => return Err(error),
        };
        let is_here = |workspace: &str| layout.root(workspace).as_ref() == Some(root);
        let came_from_here = event.moved_from.as_deref().is_some_and(is_here);
        if !is_here(&event.workspace) && !came_from_here {
            continue;
        }
        news.last = Some((event.sequence, event.time.timestamp_millis()));
        // Changed steps change the record of their result.
        let of = match event.what {
            What::StepsChanged => folded(&RecordKind::TestResult.to_string()),
            _ => folded(event.kind),
        };
        let Some(kind) = names.get(&of).copied() else { continue };
        if KINDS.get(kind) == Some(&RecordKind::Table) {
            if let Some(tables) = &mut news.tables {
                tables.insert(event.id.clone());
            }
            if event.what == What::RowsDeleted {
                add_deleted(&mut news.deleted, &event.id, event.detail.as_ref());
            }
        }
        let stays = is_here(&event.workspace);
        let is_gone = event.what == What::Deleted || !stays;
        let change = RecordChange {
            sequence: event.sequence,
            what: if is_gone { DELETED.to_owned() } else { event.what.to_string() },
            // The workspace of another root is not told here.
            workspace: event.moved_from.filter(|_| !stays).unwrap_or(event.workspace),
            is_gone,
        };
        let of_kind =
            news.records.entry(kind).or_insert_with(|| RecordChanges::Some(BTreeMap::new()));
        let is_all = match of_kind {
            RecordChanges::Some(changed) => {
                changed.insert(event.id, change);
                let other_id = KINDS.get(kind).copied().is_some_and(has_other_id);
                changed.len() > CHANGES || other_id
            }
            RecordChanges::All => false,
        };
        if is_all {
            *of_kind = RecordChanges::All;
        }
    }
}

fn add_deleted(
    deleted: &mut BTreeMap<String, DeletedRows>,
    id: &str,
    detail: Option<&serde_json::Value>,
) {
    let is = |member: &str| detail.and_then(|detail| detail.get(member)?.as_bool()) == Some(true);
    let is_whole = is("complete");
    let ranges = detail.and_then(|detail| {
        serde_json::from_value::<Vec<(u64, u64)>>(detail.get("ordinals")?.clone()).ok()
    });
    let known = deleted.entry(id.to_owned()).or_insert(DeletedRows::NONE);
    let known = if is("retention") { &mut known.by_retention } else { &mut known.by_caller };
    match (ranges.filter(|_| is_whole), known) {
        (Some(ranges), Some(known)) => known.extend(ranges),
        (_, known) => *known = None,
    }
}

/// The time of a commit; `None` when the change log has no change of it that the session sees.
pub(crate) fn time_of(session: &Session, sequence: u64) -> Result<Option<i64>> {
    let Some(before) = sequence.checked_sub(1) else { return Ok(None) };
    let event = match session.changes(Position(before)).poll() {
        Ok(event) => event,
        Err(error) if error.kind() == ErrorKind::Conflict => None,
        Err(error) => return Err(error),
    };
    let event = event.filter(|event| event.sequence == sequence);
    Ok(event.map(|event| event.time.timestamp_millis()))
}

/// The tables with these ids, or all, that the session sees.
pub(crate) fn tables(
    session: &Session,
    ids: Option<&BTreeSet<String>>,
    control: &Control,
) -> Result<Vec<SourceTable>> {
    let mut found = Vec::new();
    if let Some(ids) = ids {
        for id in ids {
            control.check()?;
            match session.get_table_metadata(&TableId::parse(id)?) {
                Ok(metadata) => found.extend(state(session, metadata)?),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        return Ok(found);
    }
    let request = ScanRecordsRequest::new(RecordKind::Table).columns(["record"]);
    for batch in session.scan_records(request, control)? {
        let batch = batch?;
        for json in batch.column(0).as_string::<i32>().iter().flatten() {
            found.extend(state(session, from_json(json.as_bytes())?)?);
        }
    }
    Ok(found)
}

fn state(session: &Session, metadata: TableMetadata) -> Result<Option<SourceTable>> {
    let (Some(id), Some(workspace)) = (metadata.id.clone(), metadata.workspace.clone()) else {
        return Ok(None);
    };
    let deleted = session.list_deleted_rows(&id, ListDeletedRowsRequest::new().take(1))?;
    let number = |number: i64| u64::try_from(number).unwrap_or_default();
    let rows = number(metadata.row_count.unwrap_or_default());
    let gone = number(deleted.total_row_count);
    let (numbers, next) = (session.column_numbers(&id)?, rows + gone);
    Ok(Some(SourceTable { id, workspace, metadata, numbers, next, has_deleted: gone > 0 }))
}

/// The deleted rows of a table that went by its retention, or the others, as first and last
/// ordinals.
pub(crate) fn deleted_rows(
    session: &Session,
    id: &TableId,
    by_retention: bool,
) -> Result<Vec<(u64, u64)>> {
    let mut ranges = Vec::new();
    let mut from = 0;
    loop {
        let request = ListDeletedRowsRequest::new().from(from).take(10_000);
        let page = session.list_deleted_rows(id, request.retention(by_retention))?;
        let number = |number: i64| u64::try_from(number).unwrap_or_default();
        ranges.extend(page.ranges.iter().map(|range| (number(range.first), number(range.last))));
        match page.next {
            Some(next) => from = next,
            None => return Ok(ranges),
        }
    }
}

/// The time of the first change after a position, and the number of changes.
pub(crate) fn backlog(
    session: &Session,
    after: Position,
    control: &Control,
) -> Result<Option<(u64, Option<DateTime<Utc>>)>> {
    let mut changes = session.changes(after);
    let (mut count, mut oldest) = (0, None);
    loop {
        control.check()?;
        match changes.poll() {
            Ok(Some(event)) => {
                oldest = oldest.or(Some(event.time));
                count += 1;
            }
            Ok(None) => return Ok(Some((count, oldest))),
            Err(error) if error.kind() == ErrorKind::Conflict => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}
