//! Deletion of the records that match a filter, in steps.
//!
//! What must hold: a step deletes only records that match at the time of its commit. They are found
//! without holding the write turn, and tested again in it.

use super::kinds::{ScannedKind, of_kind};
use crate::error::{Error, Result};
use crate::model::assets::Utilization;
use crate::model::records::{DeleteRecordsRequest, DeleteRecordsResponse};
use crate::model::tables::table::TableMetadata;
use crate::model::test_plans::template::TestPlanTemplate;
use crate::model::test_plans::test_plan::TestPlan;
use crate::model::work_items::template::WorkItemTemplate;
use crate::model::work_items::work_item::WorkItem;
use crate::model::workspaces::Workspace;
use crate::model::{Asset, Feed, FileRecord, PackageRecord, Product, Specification};
use crate::services::content;
use crate::services::{assets, feeds, tables};
use crate::session::{Access, Draft, Query, View};
use crate::value::{Control, Kind};

/// Records that are deleted in one commit, at most.
const STEP_RECORDS: usize = 1_000;

/// A kind of record that a query may delete.
trait Removed: ScannedKind {
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

/// The ids of a page, and the token of the next one.
type Ids = (Vec<String>, Option<String>);

/// A kind of record that a query may delete, with its type erased.
#[derive(Clone, Copy)]
struct Removal {
    instead: Option<&'static str>,
    ids: fn(&View<'_>, &Query<'_>) -> Result<Ids>,
    remove: fn(&mut Draft<'_>, &str) -> Result<()>,
    kind: Kind,
}

fn removal<R: Removed>() -> Removal {
    Removal {
        instead: R::INSTEAD,
        ids: |view, query| {
            let page = view.query::<R>(query)?;
            let ids = page.items.iter().map(|record| record.id().to_owned()).collect();
            Ok((ids, page.continuation_token))
        },
        remove: R::remove,
        kind: R::KIND,
    }
}

/// Deletes the records that match, in order of their ids.
pub(super) fn run<A: Access>(
    access: &A,
    request: &DeleteRecordsRequest,
    control: &Control,
) -> Result<DeleteRecordsResponse> {
    let removal = of_kind!(request.kind, removal());
    access.context().refuse_pinned("deleting records")?;
    if let Some(instead) = removal.instead {
        return Err(Error::unsupported(format!(
            "records of the kind {} are not deleted by a query; use {instead}",
            request.kind
        ))
        .at_member("kind"));
    }
    let filter = request.filter.as_deref().unwrap_or_default();
    if filter.trim().is_empty() {
        return Err(Error::invalid(
            "a deletion of records needs a filter; one that every record matches is `id != \"\"`",
        )
        .at_member("filter"));
    }
    let mut left = request.take.map_or(Ok(usize::MAX), |take| {
        usize::try_from(take).map_err(|_| {
            Error::invalid(format!("take is {take}; it cannot be negative")).at_member("take")
        })
    })?;
    let control = access.context().control(control);
    let (mut deleted, mut token) = (0_i64, None::<String>);
    loop {
        control.check()?;
        let take = left.min(STEP_RECORDS);
        let query = Query {
            filter: Some(filter),
            substitutions: request.substitutions.as_deref().unwrap_or_default(),
            take,
            continuation_token: token.as_deref(),
            ..Query::default()
        };
        let (ids, next) = access.read(|view| (removal.ids)(view, &query))?;
        left -= ids.len();
        if !ids.is_empty() {
            deleted += step(access, &removal, request, ids)?;
        }
        control.report(deleted.unsigned_abs(), None, "records");
        token = next;
        if token.is_none() || left == 0 {
            return Ok(DeleteRecordsResponse { deleted_count: deleted });
        }
    }
}

/// Deletes those of the records that still match, in one commit.
fn step(
    access: &impl Access,
    removal: &Removal,
    request: &DeleteRecordsRequest,
    ids: Vec<String>,
) -> Result<i64> {
    let (request, Removal { ids: matching, remove, kind, .. }) = (request.clone(), *removal);
    access.write(move |draft| {
        let query = Query {
            filter: request.filter.as_deref(),
            substitutions: request.substitutions.as_deref().unwrap_or_default(),
            take: ids.len(),
            ids: Some(&ids),
            ..Query::default()
        };
        let (matching, _) = matching(draft.view(), &query)?;
        let mut deleted = 0;
        for id in matching {
            remove(draft, &id).map_err(|error| error.with_resource(kind.name, id))?;
            deleted += 1;
        }
        Ok(deleted)
    })
}
