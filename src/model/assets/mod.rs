//! Assets, their identity, calibration, location and utilization.

pub(crate) mod asset;
#[cfg(test)]
mod asset_tests;
pub(crate) mod calibration;
#[cfg(test)]
mod calibration_tests;
mod change;
pub(crate) mod identity;
pub(crate) mod parts;
pub(crate) mod requests;
pub(crate) mod utilization;
pub(crate) mod utilization_requests;
#[cfg(test)]
mod utilization_tests;
pub(crate) mod vendor;

pub use asset::{Asset, AssetField, AssetId, AssetOrderBy, CreateAssetRequest, UpdateAssetRequest};
pub use identity::AssetIdentification;
pub(crate) use identity::Identity as AssetIdentity;
pub use parts::{
    AssetBusType, AssetDiscoveryType, AssetLocation, AssetLocationForCreate,
    AssetLocationForUpdate, AssetPresence, AssetPresenceForUpdate, AssetPresenceStatus,
    AssetPresenceUpdate, AssetPresenceWithSystemConnection, AssetType, CalibrationMode,
    CalibrationStatus, ExternalCalibration, SelfCalibration, SystemConnection, TemperatureSensor,
};
pub use requests::{
    AssetSummary, CreateAssetsPartialSuccess, DeleteAssetsResponse,
    LinkFilesPartialSuccessResponse, QueryAssetsRequest, QueryAssetsResponse,
    UpdateAssetsPartialSuccess,
};
pub(crate) use utilization::Utilization;
pub use utilization::UtilizationOrderBy;
pub use utilization_requests::{
    AssetUtilizationHistoryItem, AssetUtilizationHistoryResponse,
    QueryAssetUtilizationHistoryRequest, StartUtilizationPartialSuccess, StartUtilizationRequest,
    UpdateUtilizationPartialSuccess, UpdateUtilizationRequest,
};
pub use vendor::VendorPrefix;
