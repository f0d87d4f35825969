//! Assets, their identity, calibration, location and utilization.

pub mod asset;
#[cfg(test)]
mod asset_tests;
pub mod calibration;
#[cfg(test)]
mod calibration_tests;
mod change;
pub mod identity;
pub mod parts;
pub mod requests;
pub mod utilization;
pub mod utilization_requests;
#[cfg(test)]
mod utilization_tests;
pub mod vendor;

pub use asset::{Asset, AssetField, AssetId, AssetOrderBy, CreateAssetRequest, UpdateAssetRequest};
pub use identity::{AssetIdentification, Identity as AssetIdentity};
pub use parts::{
    AssetBusType, AssetDiscoveryType, AssetLocation, AssetLocationForCreate, AssetLocationForUpdate, AssetPresence,
    AssetPresenceForUpdate, AssetPresenceStatus, AssetPresenceUpdate, AssetPresenceWithSystemConnection, AssetType,
    CalibrationMode, CalibrationStatus, ExternalCalibration, SelfCalibration, SystemConnection, TemperatureSensor,
};
pub use requests::{
    AssetSummary, CreateAssetsPartialSuccess, DeleteAssetsResponse, LinkFilesPartialSuccessResponse,
    QueryAssetsRequest, QueryAssetsResponse, UpdateAssetsPartialSuccess,
};
pub use utilization::{Utilization, UtilizationOrderBy};
pub use utilization_requests::{
    AssetUtilizationHistoryItem, AssetUtilizationHistoryResponse, QueryAssetUtilizationHistoryRequest,
    StartUtilizationPartialSuccess, StartUtilizationRequest, UpdateUtilizationPartialSuccess, UpdateUtilizationRequest,
};
pub use vendor::VendorPrefix;
