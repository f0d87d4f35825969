//! Assets by their identity.

use crate::error::{Error, Result};
use crate::model::{Asset, AssetIdentity, Resource};
use crate::session::Draft;
use crate::value::id::RecordKey;

/// No such asset.
pub(super) fn not_found(id: &str) -> Error {
    Asset::KIND
        .absent(id)
        .with_name("AssetPerformanceManagement.NonExistingAssetWithIdentifier", Some(-253_426))
}

/// The asset that has this identity, even if the caller may not see it; includes the writes of this
/// draft.
pub(super) fn find(draft: &Draft<'_>, identity: &AssetIdentity<'_>) -> Result<Option<RecordKey>> {
    for candidate in draft.index_keys::<Asset>(Asset::BY_CANDIDATE, &identity.candidate_key())? {
        let Some(asset) = draft.any_by_key::<Asset>(candidate)? else { continue };
        if asset.identity().is_ok_and(|other| other.is_same(identity)) {
            return Ok(Some(candidate));
        }
    }
    Ok(None)
}
