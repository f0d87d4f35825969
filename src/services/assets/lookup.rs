//! Assets by their identity.

use crate::error::Result;
use crate::model::{Asset, AssetIdentity};
use crate::services::service_record::{ServiceRecord, Umbrella};
use crate::session::Draft;
use crate::value::Env;
use crate::value::id::RecordKey;

impl ServiceRecord for Asset {
    const UMBRELLA: Umbrella = Umbrella::FILES_AND_ASSETS;
    const ABSENT: (&'static str, Option<i64>) =
        ("AssetPerformanceManagement.NonExistingAssetWithIdentifier", Some(-253_426));

    fn in_answer(self, env: &Env) -> Self {
        self.read_at(env)
    }
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
