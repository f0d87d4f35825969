//! Starting, extending and ending utilizations.
//!
//! There is one record for each utilization identifier and asset. A record that has ended never
//! changes again. A record has the workspace of its asset, so a caller that may not see the asset
//! does not see its utilization.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Asset, AssetIdentification, AssetIdentity, RUNNING, Resource, StartUtilizationPartialSuccess,
    StartUtilizationRequest, UpdateUtilizationPartialSuccess, Utilization,
};
use crate::services::assets::lookup;
use crate::services::batch;
use crate::services::service_record::{Umbrella, absent};
use crate::session::{Draft, View, What};
use crate::value::{Action, IdForm, key, time};

fn text_key(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    key::push_str(&mut bytes, text);
    bytes
}

pub(in crate::services) fn start(
    draft: &mut Draft<'_>,
    request: StartUtilizationRequest,
) -> Result<StartUtilizationPartialSuccess> {
    let start_timestamp = request.utilization_timestamp.map_or(draft.now(), time::truncate);
    let given = request.utilization_identifier.clone().filter(|given| !given.trim().is_empty());
    let utilization_identifier = match given {
        Some(given) => given,
        None if request.asset_identifications.is_empty() => String::new(),
        None => draft.new_key::<Utilization>()?.to_id(IdForm::Guid),
    };
    let template = Utilization {
        utilization_identifier,
        minion_id: request.minion_id,
        category: request.utilization_category,
        task_name: request.task_name,
        user_name: request.user_name,
        start_timestamp,
        ..Utilization::default()
    };
    let items = request.asset_identifications;
    let count = items.len();
    let mut missing = Vec::new();
    let outcome =
        batch::run(draft, Umbrella::FILES_AND_ASSETS, items, |draft, position, identification| {
            let started = start_one(draft, &template, &identification);
            missing.extend(
                started.as_ref().err().filter(|error| error.kind() == ErrorKind::NotFound).cloned(),
            );
            let serial_number = identification.serial_number.clone();
            started.map_err(batch::about_unnamed(Asset::KIND.name, serial_number, position))?;
            Ok(identification)
        })?;
    if missing.len() == count
        && let Some(first) = missing.into_iter().next()
    {
        return Err(match outcome.error {
            Some(error) if count > 1 => first.with_inner(error.inner_errors),
            _ => first,
        });
    }
    Ok(outcome.into())
}

fn start_one(
    draft: &mut Draft<'_>,
    template: &Utilization,
    identification: &AssetIdentification,
) -> Result<()> {
    let identity = AssetIdentity::of(identification, template.minion_id.as_deref())?;
    let found = lookup::find(draft, &identity)?;
    let asset =
        found.map(|key| draft.by_key::<Asset>(key)).transpose()?.flatten().ok_or_else(|| {
            absent::<Asset>(identification.serial_number.as_deref().unwrap_or_default())
        })?;
    let mut entry = text_key(&template.utilization_identifier);
    key::push_str(&mut entry, asset.id());
    if draft.find::<Utilization>(Utilization::BY_IDENTIFIER, &entry)?.is_some() {
        return Err(Error::conflict(format!(
            "the asset already has a record under the utilization identifier {:?}; use another \
             identifier",
            template.utilization_identifier
        ))
        .with_resource(Asset::KIND.name, asset.id())
        .with_args([template.utilization_identifier.as_str()]));
    }
    let record = Utilization {
        id: Some(draft.new_key::<Utilization>()?.into()),
        asset_identifier: asset.id().to_owned(),
        workspace: asset.workspace().to_owned(),
        ..template.clone()
    };
    draft.put(&record, What::Created)
}

/// A change of running records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::services) enum Change {
    /// Records a heartbeat.
    Heartbeat,
    /// Ends the record.
    End,
}

pub(in crate::services) fn change(
    draft: &mut Draft<'_>,
    ids: Vec<String>,
    timestamp: Option<DateTime<Utc>>,
    change: Change,
) -> Result<UpdateUtilizationPartialSuccess> {
    let at = timestamp.map_or(draft.now(), time::truncate);
    let ids = batch::distinct(ids);
    batch::run(draft, Umbrella::FILES_AND_ASSETS, ids, |draft, _, id| {
        change_one(draft, &id, at, change).map(|()| id)
    })
    .map(Into::into)
}

fn change_one(draft: &mut Draft<'_>, id: &str, at: DateTime<Utc>, change: Change) -> Result<()> {
    let mut records = Vec::new();
    for key in draft.index_keys::<Utilization>(Utilization::BY_IDENTIFIER, &text_key(id))? {
        records.extend(draft.by_key::<Utilization>(key)?);
    }
    if records.is_empty() {
        return Err(Error::not_found(Utilization::KIND.name, id));
    }
    records.retain(|record| record.end_timestamp.is_none());
    if records.is_empty() {
        return Err(Error::conflict(format!(
            "the utilization {id:?} has ended, so it cannot be changed"
        ))
        .with_resource(Utilization::KIND.name, id)
        .with_args([id]));
    }
    if change == Change::End {
        records.retain(|record| record.start_timestamp <= at);
        if records.is_empty() {
            return Err(Error::invalid(format!(
                "the utilization {id:?} cannot end before it started"
            ))
            .with_resource(Utilization::KIND.name, id)
            .with_args([id]));
        }
    }
    // All records are checked before the first change, so that an identifier that fails leaves all
    // its records unchanged.
    for record in &records {
        let allowed =
            draft.context().require(Utilization::KIND.service, Action::Update, record.workspace());
        allowed.map_err(batch::about(Utilization::KIND.name, id))?;
    }
    for mut record in records {
        match change {
            Change::Heartbeat => record.heartbeat_timestamp = Some(record.last_heartbeat().max(at)),
            Change::End => record.end_timestamp = Some(at),
        }
        draft.put(&record, What::Updated)?;
    }
    Ok(())
}

/// Deletes the records of an asset that is deleted.
pub(in crate::services) fn delete_of_asset(draft: &mut Draft<'_>, asset: &Asset) -> Result<()> {
    for key in draft.index_keys::<Utilization>(Utilization::BY_ASSET_SPAN, &text_key(asset.id()))? {
        draft.delete::<Utilization>(&key.to_id(IdForm::Guid))?;
    }
    Ok(())
}

/// Moves the records of an asset to its new workspace.
pub(in crate::services) fn follow_workspace(draft: &mut Draft<'_>, asset: &Asset) -> Result<()> {
    for key in draft.index_keys::<Utilization>(Utilization::BY_ASSET_SPAN, &text_key(asset.id()))? {
        if let Some(mut record) = draft.any_by_key::<Utilization>(key)? {
            asset.workspace().clone_into(&mut record.workspace);
            draft.put(&record, What::Updated)?;
        }
    }
    Ok(())
}

/// The assets in use now. Reads only the running records.
pub(in crate::services) fn assets_in_use(view: &View<'_>) -> Result<BTreeSet<String>> {
    let timeout_ms = i64::from(view.context().settings().utilization_timeout_s) * 1000;
    let mut running = Vec::new();
    key::push_i64(&mut running, i64::from(RUNNING));
    let mut in_use = BTreeSet::new();
    for key in view.index_keys::<Utilization>(Utilization::BY_SPAN, &running)? {
        if let Some(record) = view.by_key::<Utilization>(key)?
            && record.is_in_use(view.now(), timeout_ms)
        {
            in_use.insert(record.asset_identifier);
        }
    }
    Ok(in_use)
}
