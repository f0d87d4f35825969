//! Deletion of the records that match a filter, in steps.
//!
//! What must hold: a step deletes only records that match at the time of its commit. They are found
//! without holding the write turn, and tested again in it.

use super::kinds::{Position, ScannedKind};
use crate::error::{Error, Result};
use crate::model::{DeleteRecordsRequest, DeleteRecordsResponse};
use crate::session::{Access, Query, View};
use crate::value::Control;
use crate::value::stored::Members;

/// Records that are deleted in one commit, at most.
const STEP_RECORDS: usize = 1_000;

/// Deletes the records that match, in order of their ids.
pub(super) fn run<A: Access>(
    access: &A,
    request: &DeleteRecordsRequest,
    control: &Control,
) -> Result<DeleteRecordsResponse> {
    let kind = ScannedKind::new(request.kind);
    access.context().refuse_pinned("deleting records")?;
    if let Some(instead) = kind.instead {
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
    let (mut deleted, mut position) = (0_i64, Position::default());
    loop {
        control.check()?;
        let take = left.min(STEP_RECORDS);
        let ids = access.read(|view| {
            let before = position.clone();
            let query = before.query(Some(filter), request.substitutions.as_ref(), take);
            matching(kind, view, &query, &mut position)
        })?;
        left -= ids.len();
        if !ids.is_empty() {
            deleted += step(access, kind, request, ids)?;
        }
        control.report(deleted.unsigned_abs(), None, "records");
        if position.is_done || left == 0 {
            return Ok(DeleteRecordsResponse { deleted_count: deleted });
        }
    }
}

fn matching(
    kind: ScannedKind,
    view: &View<'_>,
    query: &Query<'_>,
    position: &mut Position,
) -> Result<Vec<String>> {
    let mut ids = Vec::new();
    kind.part(view, query, Members::NONE, position, &mut |records, _| {
        ids.extend(records.iter().map(|record| record.identity()[0].to_owned()));
        Ok(())
    })?;
    Ok(ids)
}

/// Deletes those of the records that still match, in one commit.
fn step(
    access: &impl Access,
    kind: ScannedKind,
    request: &DeleteRecordsRequest,
    ids: Vec<String>,
) -> Result<i64> {
    let request = request.clone();
    access.write(move |draft| {
        let start = Position::default();
        let (filter, substitutions) = (request.filter.as_deref(), request.substitutions.as_ref());
        let query = Query { ids: Some(&ids), ..start.query(filter, substitutions, ids.len()) };
        let matching = matching(kind, draft.view(), &query, &mut Position::default())?;
        let mut deleted = 0;
        for id in matching {
            (kind.remove)(draft, &id).map_err(|error| error.with_resource(kind.kind.name, id))?;
            deleted += 1;
        }
        Ok(deleted)
    })
}
