//! The operations on one asset in a draft.
//!
//! The connection of a system is stored twice. It is stored under the system's id, for assets that
//! are added later. And it is stored in every asset of the system, so that filters need no join.
//! [`set_connection`] and [`place_in_system`] keep the copies equal.

use std::collections::BTreeSet;

use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Asset, AssetIdentity, AssetSummary, CalibrationStatus, CreateAssetRequest, Resource,
    SystemConnection, UpdateAssetRequest,
};
use crate::records::Space;
use crate::services::assets::lookup::find;
use crate::services::assets::utilization;
use crate::services::batch;
use crate::services::service_record::{absent, found};
use crate::session::{Draft, Visibility, What};
use crate::value::{Action, Env, key, limits};

fn check_free(draft: &Draft<'_>, asset: &Asset) -> Result<()> {
    let other = find(draft, &asset.identity()?)?;
    match other.filter(|other| Some(*other) != asset.key()) {
        Some(other) => Err(Error::conflict(
            "another asset has the same bus type, model, vendor and serial number (or system, if \
             there is none); update that asset instead",
        )
        .with_name("AssetPerformanceManagement.AssetExists", None)
        .with_args(draft.visible_id::<Asset>(other)?)),
        None => Ok(()),
    }
}

pub(in crate::services) fn create(
    draft: &mut Draft<'_>,
    request: CreateAssetRequest,
) -> Result<Asset> {
    let mut asset = Asset::create(request, draft.now(), draft.context().default_workspace())?;
    // Checked before an id is drawn, so that a rejected batch drafts nothing and costs no commit.
    draft.require(None, &asset, What::Created)?;
    check_free(draft, &asset)?;
    place_in_system(draft, &mut asset)?;
    asset.id = Some(draft.new_key::<Asset>()?.into());
    draft.put(&asset, What::Created)?;
    Ok(asset)
}

pub(in crate::services) fn update(
    draft: &mut Draft<'_>,
    request: UpdateAssetRequest,
) -> Result<Asset> {
    let asset = match request.id.as_deref().filter(|id| !id.is_empty()) {
        Some(id) => found(id, draft.get::<Asset>(id)?)?,
        None => {
            let identification = request.identification();
            let key = find(draft, &AssetIdentity::of(&identification, request.system())?)?;
            let asset = key.map(|key| draft.by_key::<Asset>(key)).transpose()?.flatten();
            asset.ok_or_else(|| {
                absent::<Asset>(identification.serial_number.as_deref().unwrap_or_default())
            })?
        }
    };
    let id = asset.id().to_owned();
    amend(draft, asset, request).map_err(batch::about(Asset::KIND.name, id))
}

fn amend(draft: &mut Draft<'_>, mut asset: Asset, request: UpdateAssetRequest) -> Result<Asset> {
    let old = asset.clone();
    asset.update(request, draft.now())?;
    let mut asset = asset.without_computed();
    draft.require(Some(&old), &asset, What::Updated)?;
    // If the asset has no serial number, its system is part of its identity. A move to another
    // system may then collide with an asset there. Outside of any system it has no identity any
    // more, and keeps its id.
    if asset.identity().is_ok() {
        check_free(draft, &asset)?;
    }
    place_in_system(draft, &mut asset)?;
    let is_moved = asset.workspace != old.workspace;
    draft.put_changed(old, &asset, What::Updated)?;
    if is_moved {
        utilization::follow_workspace(draft, &asset)?;
    }
    Ok(asset)
}

/// Adds a file to the linked files, unless it is linked already.
pub(in crate::services) fn link(
    asset_id: &str,
    linked: &mut Vec<String>,
    file_id: String,
) -> Result<String> {
    if file_id.trim().is_empty() {
        return Err(Error::invalid("a file id is blank")
            .with_name("AssetPerformanceManagement.InvalidFileId", Some(-254_806))
            .with_resource(Asset::KIND.name, asset_id)
            .with_args([file_id]));
    }
    if !linked.contains(&file_id) {
        if linked.len() >= limits::ASSET_COLLECTION {
            return Err(Error::limit(format!(
                "the asset has {} linked files, which is the maximum; unlink some first",
                linked.len()
            ))
            .with_resource(Asset::KIND.name, asset_id)
            .with_args([file_id]));
        }
        linked.push(file_id.clone());
    }
    Ok(file_id)
}

fn connection_key(minion_id: &str) -> Vec<u8> {
    let mut bytes = b"system-connection/".to_vec();
    bytes.extend_from_slice(minion_id.as_bytes());
    bytes
}

/// Copies the connection of its system to an asset.
fn place_in_system(draft: &Draft<'_>, asset: &mut Asset) -> Result<()> {
    let Some(location) = &mut asset.location else { return Ok(()) };
    let known = match &location.minion_id {
        Some(minion_id) => draft.raw(Space::Meta, &connection_key(minion_id))?,
        None => None,
    };
    let connection =
        known.and_then(|text| std::str::from_utf8(&text).ok()?.parse::<SystemConnection>().ok());
    if connection.is_some() || location.state.is_some() {
        location.state.get_or_insert_default().system_connection = connection;
    }
    Ok(())
}

/// Sets the connection of a system, for all its assets in any workspace and for assets that are
/// added later. So the caller must be allowed to update assets in every workspace. The decision
/// does not depend on which assets the system has: a rejection would otherwise reveal them.
pub(in crate::services) fn set_connection(
    draft: &mut Draft<'_>,
    minion_id: &str,
    connection: Option<SystemConnection>,
) -> Result<u64> {
    let context = draft.context();
    if context.visibility(Asset::KIND.service, Action::Update) != Visibility::All {
        return Err(Error::new(
            ErrorKind::PermissionDenied,
            format!(
                "{:?} may not set the connection of a system: it needs Update of {} in every \
                 workspace",
                context.user(),
                Asset::KIND.service
            ),
        ));
    }
    let stored = connection_key(minion_id);
    match connection {
        Some(connection) => {
            draft.put_raw(Space::Meta, stored, connection.as_str().as_bytes().to_vec());
        }
        None => draft.delete_raw(Space::Meta, stored),
    }
    let mut prefix = Vec::new();
    key::push_str(&mut prefix, minion_id);
    let mut count = 0;
    for asset_key in draft.index_keys::<Asset>(Asset::BY_LOCATION_MINION_ID, &prefix)? {
        let Some(mut asset) = draft.any_by_key::<Asset>(asset_key)? else { continue };
        let before = asset.system_connection();
        place_in_system(draft, &mut asset)?;
        if asset.system_connection() != before {
            draft.put(&asset, What::Updated)?;
            count += 1;
        }
    }
    Ok(count)
}

/// Adds one asset to a summary.
pub(in crate::services) fn count(
    summary: &mut AssetSummary,
    asset: &Asset,
    env: &Env,
    in_use: &BTreeSet<String>,
) {
    let mut add = |target: fn(&mut AssetSummary) -> &mut u64, holds: bool| {
        *target(summary) += u64::from(holds);
    };
    let (is_active, is_in_use) = (asset.is_active(), in_use.contains(asset.id()));
    let status = asset.calibration_status(env);
    add(|s| &mut s.total, true);
    add(|s| &mut s.active, is_active);
    add(|s| &mut s.not_active, !is_active);
    add(|s| &mut s.in_use, is_in_use);
    add(|s| &mut s.not_in_use, !is_in_use);
    add(
        |s| &mut s.approaching_recommended_due_date,
        status == CalibrationStatus::ApproachingRecommendedDueDate,
    );
    add(|s| &mut s.past_recommended_due_date, status == CalibrationStatus::PastRecommendedDueDate);
    add(|s| &mut s.out_for_calibration, status == CalibrationStatus::OutForCalibration);
    add(|s| &mut s.total_calibrated, asset.external_calibration.is_some());
}
