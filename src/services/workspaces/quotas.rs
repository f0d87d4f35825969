//! The quotas of workspaces.

use crate::error::{Error, Result};
use crate::model::Resource as _;
use crate::model::{ListQuotasRequest, PagedQuotas, Quota, QuotaKey, QuotaRecord, SetQuotaRequest};
use crate::services::queries::take_or;
use crate::session::{Draft, OrderTerm, Query, View, What};
use crate::value::{Action, key};

const DEFAULT_TAKE: usize = 1000;

fn not_found(workspace: &str) -> Error {
    Error::not_found(QuotaRecord::KIND.name, workspace).with_name("Workspaces.QuotaNotFound", None)
}

pub(super) fn set(draft: &mut Draft<'_>, request: SetQuotaRequest) -> Result<Quota> {
    // The same refusal whether there is a quota or not, which the caller may not know.
    let service = QuotaRecord::KIND.service;
    draft.context().require(service, Action::Create, &request.workspace)?;
    let found =
        draft.find::<QuotaRecord>(QuotaRecord::BY_WORKSPACE, &key::of_str(&request.workspace))?;
    let old = found.map(|key| draft.any_by_key::<QuotaRecord>(key)).transpose()?.flatten();
    let mut quota = old.clone().unwrap_or_default();
    quota.set(request, draft.now(), draft.user())?;
    let workspace = quota.workspace.clone().unwrap_or_default();
    match old {
        Some(old) => draft.put_changed(old, &quota, What::Updated)?,
        None => {
            quota.key = Some(QuotaKey::from(draft.new_key::<QuotaRecord>()?));
            draft.put_new(&quota, What::Created)?;
        }
    }
    let usage = draft.begin_usage(&workspace)?;
    Ok(quota.with_usage(&usage))
}

pub(super) fn get(view: &View<'_>, workspace: &str) -> Result<Quota> {
    let keys =
        view.index_keys::<QuotaRecord>(QuotaRecord::BY_WORKSPACE, &key::of_str(workspace))?;
    for key in keys {
        let Some(quota) = view.by_key::<QuotaRecord>(key)? else { continue };
        return Ok(quota.with_usage(&view.usage(workspace)?));
    }
    Err(not_found(workspace))
}

pub(super) fn list(view: &View<'_>, request: &ListQuotasRequest) -> Result<PagedQuotas> {
    let query = Query {
        order: vec![OrderTerm { path: "workspace", descending: false }],
        ties_follow_direction: true,
        take: take_or(DEFAULT_TAKE, request.take).min(DEFAULT_TAKE),
        continuation_token: request.continuation_token.as_deref(),
        ..Query::default()
    };
    let page = view.query::<QuotaRecord>(&query)?;
    let quotas = page
        .items
        .into_iter()
        .map(|quota| {
            let usage = view.usage(quota.workspace.as_deref().unwrap_or_default())?;
            Ok(quota.with_usage(&usage))
        })
        .collect::<Result<_>>()?;
    Ok(PagedQuotas { quotas, continuation_token: page.continuation_token })
}

pub(super) fn delete(draft: &mut Draft<'_>, workspace: &str) -> Result<()> {
    let found = draft.find::<QuotaRecord>(QuotaRecord::BY_WORKSPACE, &key::of_str(workspace))?;
    let deleted = match found {
        Some(key) => draft.delete::<QuotaRecord>(&key.to_id(QuotaRecord::KIND.id))?,
        None => None,
    };
    deleted.ok_or_else(|| not_found(workspace))?;
    draft.end_usage(workspace);
    Ok(())
}
