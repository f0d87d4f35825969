//! The batch operations for all record types of the two services.
//!
//! What must hold: each call is one write; a rejected item drafts nothing; lists keep the order of
//! the request.

use super::{Amendment, Creation, LabRecord, Templates};
use crate::error::Result;
use crate::model::{Outcome, Resource as _, Stamped as _};
use crate::services::batch::{delete, run};
use crate::services::service_record::{ServiceRecord as _, found};
use crate::session::{Access, Draft, What};
use crate::value::Stored as _;

/// Creates records. `name` names a request in its error.
pub(crate) fn create<C: Creation>(
    access: &impl Access,
    requests: Vec<C>,
    name: fn(&C) -> Option<&String>,
) -> Result<Outcome<C::Record, C>> {
    if requests.is_empty() {
        return Ok(Outcome::default());
    }
    access.write(move |draft| {
        let mut templates = Templates::default();
        run(draft, C::Record::UMBRELLA, requests, |draft, position, request| {
            let name = name(&request).cloned();
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
        return Ok(Outcome::default());
    }
    access.write(move |draft| {
        draft.expect_reads::<M::Record>(requests.iter().filter_map(Amendment::id));
        run(draft, M::Record::UMBRELLA, requests, |draft, position, request| {
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
    let old = found(id, draft.get::<M::Record>(id)?)?;
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
pub(crate) fn delete_all<R: LabRecord>(
    access: &impl Access,
    ids: Vec<impl Into<String> + Send + 'static>,
) -> Result<Outcome<String, String>> {
    if ids.is_empty() {
        return Ok(Outcome::default());
    }
    access.write(move |draft| delete::<R>(draft, ids))
}

fn forget_url(record: &mut impl LabRecord) {
    if let Some(dashboard) = record.dashboard_mut() {
        dashboard.url = None;
    }
}
