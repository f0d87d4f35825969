//! The batch operations for all record types of the two services.
//!
//! What must hold: each call is one write; a rejected item drafts nothing; lists keep the order of
//! the request.

use super::{Amendment, Creation, LabRecord, Templates, not_found};
use crate::error::Result;
use crate::model::{Resource as _, Stamped as _};
use crate::services::batch::{Outcome, Umbrella, distinct, run};
use crate::session::{Access, Draft, What};
use crate::value::Stored as _;

/// Creates records.
pub(crate) fn create<C: Creation>(
    access: &impl Access,
    requests: Vec<C>,
) -> Result<Outcome<C::Record, C>> {
    if requests.is_empty() {
        return Ok(nothing());
    }
    access.write(move |draft| {
        let mut templates = Templates::default();
        run(Umbrella::SKYLINE.of(draft), requests, |position, request| {
            let name = request.name().map(str::to_owned);
            create_one(draft, &mut templates, request).map_err(|error| {
                error.with_resource(
                    C::Record::KIND.name,
                    name.unwrap_or_else(|| position.to_string()),
                )
            })
        })
    })
}

fn create_one<C: Creation>(
    draft: &mut Draft<'_>,
    templates: &mut Templates<C::Template>,
    request: C,
) -> Result<C::Record> {
    let mut record = request.build(draft, templates)?;
    record.settle();
    if record.workspace_mut().is_none() {
        *record.workspace_mut() = Some(draft.context().default_workspace().to_owned());
    }
    let (user, now) = (draft.user().to_owned(), draft.now());
    record.stamp().create(&user, now);
    forget_url(&mut record);
    // Checked before the id is drawn, so that rejected requests draw no ids.
    record.check()?;
    record.set_key(draft.new_key::<C::Record>()?);
    record.check()?;
    draft.put_new(&record, What::Created)?;
    record.finish();
    Ok(record)
}

/// Updates or schedules records.
pub(crate) fn amend<M: Amendment>(
    access: &impl Access,
    requests: Vec<M>,
    replace: bool,
) -> Result<Outcome<M::Record, M>> {
    if requests.is_empty() {
        return Ok(nothing());
    }
    access.write(move |draft| {
        draft.expect_reads::<M::Record>(requests.iter().filter_map(Amendment::id));
        run(Umbrella::SKYLINE.of(draft), requests, |position, request| {
            let id = request.id().map(str::to_owned);
            amend_one(draft, request, replace).map_err(|error| {
                error
                    .with_resource(M::Record::KIND.name, id.unwrap_or_else(|| position.to_string()))
            })
        })
    })
}

fn amend_one<M: Amendment>(draft: &mut Draft<'_>, request: M, replace: bool) -> Result<M::Record> {
    let id = request.id().ok_or_else(|| super::checks::invalid("id", "is required"))?;
    let old = draft.get::<M::Record>(id)?.ok_or_else(|| not_found::<M::Record>(id))?;
    let mut record = old.clone();
    request.amend(&mut record, replace)?;
    record.settle();
    let (user, now) = (draft.user().to_owned(), draft.now());
    record.stamp().update(&user, now);
    forget_url(&mut record);
    record.check()?;
    draft.put_changed(old, &record, M::WHAT)?;
    record.finish();
    Ok(record)
}

/// Deletes records. An id that is given twice counts once.
pub(crate) fn delete<R: LabRecord>(
    access: &impl Access,
    ids: Vec<impl Into<String>>,
) -> Result<Outcome<String, String>> {
    if ids.is_empty() {
        return Ok(nothing());
    }
    let ids = distinct(ids);
    access.write(move |draft| {
        run(Umbrella::SKYLINE.of(draft), ids, |_, id| match draft.delete::<R>(&id) {
            Ok(Some(_)) => Ok(id),
            Ok(None) => Err(not_found::<R>(&id)),
            Err(error) => Err(error.with_resource(R::KIND.name, id)),
        })
    })
}

/// One record, with its computed members.
pub(crate) fn get<R: LabRecord>(access: &impl Access, id: &str) -> Result<R> {
    let mut record = access.read(|view| view.get::<R>(id))?.ok_or_else(|| not_found::<R>(id))?;
    record.finish();
    Ok(record)
}

/// The response to a delete call: `None` if all ids were deleted.
pub(crate) fn unless_all_went<T>(
    outcome: Outcome<String, String>,
    answer: impl FnOnce(Vec<String>, Vec<String>, crate::error::ApiError) -> T,
) -> Option<T> {
    outcome.error.map(|error| answer(outcome.succeeded, outcome.failed, error))
}

fn nothing<S, F>() -> Outcome<S, F> {
    Outcome { succeeded: Vec::new(), failed: Vec::new(), error: None }
}

fn forget_url(record: &mut impl LabRecord) {
    if let Some(dashboard) = record.dashboard_mut() {
        dashboard.url = None;
    }
}
