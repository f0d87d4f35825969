//! The kinds of records that scans return: what the service of each shows of a record, and what
//! belongs to one that is deleted.

use serde::Serialize;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::model::{
    AnyRecord, Asset, AssetUtilizationHistoryItem, Feed, FileMetadata, FileRecord, PackageRecord,
    Product, RecordKind, RecordRow, Resource, Specification, TableMetadata, TestPlan,
    TestPlanTemplate, TestResult, Utilization, WorkItem, WorkItemTemplate, Workspace, members_of,
};
use crate::services::service_record::ServiceRecord as _;
use crate::services::{assets, content, feeds, results, tables};
use crate::session::{Draft, Query, View};
use crate::value::stored::Members;
use crate::value::{Env, FieldDecl, Kind, RecordKey, Row};

/// A record that scans return.
pub(super) trait Shown: AnyRecord {
    /// The record as the JSON of its service.
    ///
    /// # Errors
    /// `Corrupt` for a record that has no JSON.
    fn json(&self, env: &Env) -> Result<String>;
}

fn text(record: &impl Serialize) -> Result<String> {
    serde_json::to_string(record).map_err(|error| {
        Error::corrupt("a stored record cannot be written as JSON").with_source(error)
    })
}

macro_rules! shown {
    ($($kind:ty: |$record:ident, $env:ident| $json:expr;)*) => {
        $(impl Shown for $kind {
            fn json(&self, $env: &Env) -> Result<String> {
                let $record = self;
                text(&$json)
            }
        })*
    };
}

shown! {
    Product: |record, env| record.clone().in_answer(env);
    Specification: |record, env| record.clone().in_answer(env);
    Asset: |record, env| record.clone().in_answer(env);
    Utilization: |record, _env| AssetUtilizationHistoryItem::from(record.clone());
    WorkItem: |record, env| record.clone().in_answer(env);
    WorkItemTemplate: |record, env| record.clone().in_answer(env);
    TestPlan: |record, env| record.clone().in_answer(env);
    TestPlanTemplate: |record, env| record.clone().in_answer(env);
    TableMetadata: |record, _env| record;
    FileRecord: |record, _env| FileMetadata::from(record);
    Feed: |record, _env| record;
    PackageRecord: |record, _env| record.package;
    Workspace: |record, _env| record;
    TestResult: |record, env| record.clone().in_answer(env);
}

/// A kind of record that a query may delete.
trait Removed: Resource + Shown {
    /// What deletes the kind instead, if a query may not.
    const INSTEAD: Option<&'static str> = None;

    /// Drafts the deletion of a record with all that belongs to it.
    fn remove(draft: &mut Draft<'_>, id: &str) -> Result<()> {
        draft.delete::<Self>(id).map(drop)
    }
}

impl Removed for Product {}
impl Removed for Specification {}
impl Removed for WorkItem {}
impl Removed for WorkItemTemplate {}
impl Removed for TestPlan {}
impl Removed for TestPlanTemplate {}
impl Removed for Workspace {}

impl Removed for Asset {
    fn remove(draft: &mut Draft<'_>, id: &str) -> Result<()> {
        match draft.delete::<Self>(id)? {
            Some(asset) => assets::delete_utilizations(draft, &asset),
            None => Ok(()),
        }
    }
}

impl Removed for TableMetadata {
    fn remove(draft: &mut Draft<'_>, id: &str) -> Result<()> {
        tables::delete_table(draft, id)
    }
}

impl Removed for TestResult {
    fn remove(draft: &mut Draft<'_>, id: &str) -> Result<()> {
        results::delete(draft, id, true)
    }
}

impl Removed for FileRecord {
    fn remove(draft: &mut Draft<'_>, id: &str) -> Result<()> {
        if let Some(file) = draft.delete::<Self>(id)? {
            content::forget(draft, &file.content);
        }
        Ok(())
    }
}

impl Removed for PackageRecord {
    fn remove(draft: &mut Draft<'_>, id: &str) -> Result<()> {
        feeds::delete_package(draft, id)
    }
}

impl Removed for Feed {
    const INSTEAD: Option<&'static str> = Some("delete_feed, which deletes its packages as well");
}

impl Removed for Utilization {
    const INSTEAD: Option<&'static str> = Some("delete_assets; a history ends with its asset");
}

/// What is called with the records of a part, and with the same records as filters read them.
pub(super) type Part<'f> = dyn FnMut(&[&dyn Shown], &[&dyn Row]) -> Result<()> + 'f;
type Each<'f> = dyn FnMut(&[&dyn Shown]) -> Result<()> + 'f;

/// Where the reading of the records of a kind is.
#[derive(Clone, Debug, Default)]
pub(super) struct Position {
    /// The last record that was read without a filter.
    pub after: Option<RecordKey>,
    /// The token of the next page of those that match.
    pub token: Option<String>,
    pub is_done: bool,
}

impl Position {
    /// The query for the next records, at most `take`.
    pub(super) fn query<'q>(
        &'q self,
        filter: Option<&'q str>,
        substitutions: Option<&'q Vec<Value>>,
        take: usize,
    ) -> Query<'q> {
        Query {
            filter,
            substitutions: substitutions.map(Vec::as_slice).unwrap_or_default(),
            take,
            continuation_token: self.token.as_deref(),
            ..Query::default()
        }
    }
}

/// A kind of record that scans return, with its type erased.
#[derive(Clone, Copy)]
pub(super) struct ScannedKind {
    pub kind: Kind,
    pub fields: &'static [FieldDecl],
    /// The members that these fields are read from.
    pub members: fn(&[usize]) -> Members,
    /// What deletes the kind instead, if a query may not.
    pub instead: Option<&'static str>,
    /// Drafts the deletion of a record with all that belongs to it.
    pub remove: fn(&mut Draft<'_>, &str) -> Result<()>,
    part: fn(&View<'_>, &Query<'_>, Members, &mut Position, &mut Each<'_>) -> Result<()>,
}

impl ScannedKind {
    fn of<R: Removed>() -> Self {
        Self {
            kind: R::KIND,
            fields: R::fields(),
            members: |fields| members_of::<R>(fields.iter().copied()),
            instead: R::INSTEAD,
            remove: R::remove,
            part: part::<R>,
        }
    }

    pub(super) fn new(kind: RecordKind) -> Self {
        match kind {
            RecordKind::Product => Self::of::<Product>(),
            RecordKind::Specification => Self::of::<Specification>(),
            RecordKind::Asset => Self::of::<Asset>(),
            RecordKind::AssetUtilization => Self::of::<Utilization>(),
            RecordKind::WorkItem => Self::of::<WorkItem>(),
            RecordKind::WorkItemTemplate => Self::of::<WorkItemTemplate>(),
            RecordKind::TestPlan => Self::of::<TestPlan>(),
            RecordKind::TestPlanTemplate => Self::of::<TestPlanTemplate>(),
            RecordKind::Table => Self::of::<TableMetadata>(),
            RecordKind::File => Self::of::<FileRecord>(),
            RecordKind::Feed => Self::of::<Feed>(),
            RecordKind::Package => Self::of::<PackageRecord>(),
            RecordKind::Workspace => Self::of::<Workspace>(),
            RecordKind::TestResult => Self::of::<TestResult>(),
        }
    }

    /// Calls `f` with the records of a query, whole and in order of their ids, and moves the
    /// position behind them. Without a filter, `wanted` are the members that are read.
    ///
    /// # Errors
    /// Those of the query and of `f`.
    pub(super) fn part(
        &self,
        view: &View<'_>,
        query: &Query<'_>,
        wanted: Members,
        position: &mut Position,
        f: &mut Part<'_>,
    ) -> Result<()> {
        let env = view.env();
        (self.part)(view, query, wanted, position, &mut |records| {
            let rows = records.iter().map(|record| RecordRow { record: *record, env });
            let rows: Vec<RecordRow<'_>> = rows.collect();
            let rows: Vec<&dyn Row> = rows.iter().map(|row| row as &dyn Row).collect();
            f(records, &rows)
        })
    }
}

fn part<R: Resource + Shown>(
    view: &View<'_>,
    query: &Query<'_>,
    wanted: Members,
    position: &mut Position,
    f: &mut Each<'_>,
) -> Result<()> {
    let mut records: Vec<R> = Vec::new();
    // A query for nothing is checked.
    if query.filter.is_some() || query.take == 0 {
        let page = view.query::<R>(query)?;
        records = page.items;
        position.is_done = page.continuation_token.is_none();
        position.token = page.continuation_token;
    } else {
        let (after, most) = (position.after, query.take);
        let visibility = view.visibility(R::KIND);
        view.scan_records::<R>(after, false, wanted, &mut |key, record| {
            position.after = Some(key);
            if visibility.allows(record.workspace()) {
                records.push(record);
            }
            Ok(records.len() < most)
        })?;
        position.is_done = records.len() < most;
    }
    let shown: Vec<&dyn Shown> = records.iter().map(|record| record as &dyn Shown).collect();
    f(&shown)
}
