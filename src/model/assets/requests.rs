//! Requests and responses of the asset service, except utilization.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::error::{ApiError, Error};
use crate::model::assets::asset::{
    Asset, AssetField, AssetOrderBy, CreateAssetRequest, UpdateAssetRequest,
};
use crate::value::wire::{fold, from_value, record};

record! {
    /// The result of creating assets.
    created batch pub struct CreateAssetsPartialSuccess {
        /// The created assets, in request order.
        pub assets: Option<Vec<Asset>>,
        /// The requests that failed, as they were sent.
        pub failed: Option<Vec<CreateAssetRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The result of updating assets.
    batch pub struct UpdateAssetsPartialSuccess {
        /// The updated assets, in request order.
        pub assets: Option<Vec<Asset>>,
        /// The requests that failed, as they were sent.
        pub failed: Option<Vec<UpdateAssetRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// The result of deleting assets.
    batch pub struct DeleteAssetsResponse {
        /// Ids of the deleted assets.
        pub ids: Option<Vec<String>>,
        /// Ids that could not be deleted.
        pub failed: Option<Vec<String>>,
        /// One inner error for each failed id.
        pub error: Option<ApiError>,
    }

    /// The result of linking files, if some could not be linked.
    batch pub struct LinkFilesPartialSuccessResponse {
        /// Ids of the linked files.
        pub succeeded: Option<Vec<String>>,
        /// Ids that could not be linked.
        pub failed: Option<Vec<String>>,
        /// One inner error for each failed id.
        pub error: Option<ApiError>,
    }

    /// A query for assets.
    wire pub struct QueryAssetsRequest new() queries(Asset) {
        /// Filter; all assets when absent.
        pub filter: Option<String>,
        /// Values of `@0`, `@1`, … in the filter: texts, integers, numbers, Booleans or null.
        pub substitutions: Option<Vec<serde_json::Value>>,
        /// Members to return; all when absent or empty. JSON may also contain the text form of a
        /// published client, `new(ID, NAME)`.
        #[serde(deserialize_with = "projection")]
        pub projection: Option<Vec<AssetField>>,
        /// Number of matches to skip.
        pub skip: Option<i64>,
        /// Page size; 1000 when absent or -1, and at most 1000.
        pub take: Option<i64>,
        /// Order; by creation when absent.
        pub order_by: Option<AssetOrderBy>,
        /// Whether the order is descending; needs `order_by`.
        pub descending: Option<bool>,
        /// Whether to count all matches.
        pub return_count: Option<bool>,
    }

    /// A page of assets.
    page pub struct QueryAssetsResponse {
        /// The assets.
        pub assets: Option<Vec<Asset>>,
        /// Count of all matches, if requested.
        pub total_count: Option<u64>,
    }

    /// Counts over all visible assets at one moment.
    answer pub struct AssetSummary {
        /// All assets.
        pub total: u64,
        /// Present in a connected system.
        pub active: u64,
        /// All others.
        pub not_active: u64,
        /// With a utilization in use.
        pub in_use: u64,
        /// All others.
        pub not_in_use: u64,
        /// With alarms; always zero, because the store has no alarms.
        pub with_alarms: u64,
        /// Calibration due within the warning window.
        pub approaching_recommended_due_date: u64,
        /// Calibration due.
        pub past_recommended_due_date: u64,
        /// With an external calibration.
        pub total_calibrated: u64,
        /// Out for calibration.
        pub out_for_calibration: u64,
    }
}

/// Parses a projection: an array of names, or the text `new(ID, NAME)`.
fn projection<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<AssetField>>, D::Error> {
    let Some(json) = Option::<Value>::deserialize(deserializer)? else { return Ok(None) };
    let names = match &json {
        Value::String(text) => names_in(text).map_err(D::Error::custom)?,
        _ => return from_value(json).map(Some).map_err(D::Error::custom),
    };
    names.into_iter().map(field_named).collect::<Result<_, _>>().map(Some).map_err(D::Error::custom)
}

/// The names in `new(ID, NAME)`; none in a blank text.
fn names_in(text: &str) -> Result<Vec<&str>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let list =
        text.get(..3).filter(|word| word.eq_ignore_ascii_case("new")).and_then(|_| text.get(3..));
    let list = list.and_then(|list| list.trim_start().strip_prefix('(')?.strip_suffix(')'));
    let list = list.ok_or_else(|| {
        format!("{text:?} is not a projection; expected an array of names, or new(ID, NAME)")
    })?;
    Ok(list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect())
}

/// A field by the name in a projection, or by the name of its member if they differ.
fn field_named(name: &str) -> Result<AssetField, String> {
    match fold(name).as_str() {
        "fileids" => Ok(AssetField::FilesIds),
        "lastupdatedtimestamp" => Ok(AssetField::LastUpdate),
        "supportsselftest" => Ok(AssetField::SupportsSelfReset),
        _ => name.parse().map_err(|error: Error| error.message().to_owned()),
    }
}
