//! Requests and answers of the asset service, utilization aside.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::error::{ApiError, Error};
use crate::model::assets::asset::Asset;
use crate::model::assets::parts::{
    AssetBusType, AssetDiscoveryType, AssetLocationForCreate, AssetLocationForUpdate, AssetType, ExternalCalibration,
    SelfCalibration, TemperatureSensor,
};
use crate::value::wire::{fold, from_value, record, wire_enum};

record! {
    /// An asset to create. Its identity (bus type, model, vendor, and serial number or system) must be new.
    wire pub struct CreateAssetRequest also("isNiAsset" = "isNIAsset", "isVendorAsset" = "isNIAsset") {
        /// Display name.
        pub name: Option<String>,
        /// Name of the model; this or the number is required.
        pub model_name: Option<String>,
        /// Number of the model.
        pub model_number: Option<u64>,
        /// Serial number; this or the system of the location is required.
        pub serial_number: Option<String>,
        /// Name of the vendor; this or the number is required.
        pub vendor_name: Option<String>,
        /// Number of the vendor.
        pub vendor_number: Option<u64>,
        /// Bus type; `BUILT_IN_SYSTEM` when absent.
        pub bus_type: Option<AssetBusType>,
        /// What the asset is; `GENERIC` when absent.
        pub asset_type: Option<AssetType>,
        /// How it became known; `MANUAL` when absent.
        pub discovery_type: Option<AssetDiscoveryType>,
        /// Version of the firmware.
        pub firmware_version: Option<String>,
        /// Version of the hardware.
        pub hardware_version: Option<String>,
        /// VISA resource name.
        pub visa_resource_name: Option<String>,
        /// Part number of the product.
        pub part_number: Option<String>,
        /// Current temperatures.
        pub temperature_sensors: Option<Vec<TemperatureSensor>>,
        /// Whether it can calibrate itself; true whenever a self-calibration is supplied.
        pub supports_self_calibration: Option<bool>,
        /// Whether it can be calibrated externally; true whenever an external calibration is supplied.
        pub supports_external_calibration: Option<bool>,
        /// Interval in months that overrides the manufacturer's.
        pub custom_calibration_interval: Option<i32>,
        /// The latest self-calibration.
        pub self_calibration: Option<SelfCalibration>,
        /// The latest external calibration.
        pub external_calibration: Option<ExternalCalibration>,
        /// Whether it is a product of the vendor whose prefix the store has.
        #[serde(rename = "isNIAsset")]
        pub is_vendor_asset: Option<bool>,
        /// Whether it stands for the controller of a system; false until somebody sets it.
        pub is_system_controller: Option<bool>,
        /// Whether it can test itself.
        pub supports_self_test: Option<bool>,
        /// Whether it can be reset.
        pub supports_reset: Option<bool>,
        /// Where it is; required, with its presence.
        pub location: Option<AssetLocationForCreate>,
        /// Id of the workspace; the default workspace of the session when absent.
        pub workspace: Option<String>,
        /// Properties.
        pub properties: Option<BTreeMap<String, String>>,
        /// Keywords.
        pub keywords: Option<Vec<String>>,
        /// Ids of linked files.
        pub file_ids: Option<Vec<String>>,
        /// Text of the code on the asset's label.
        pub scan_code: Option<String>,
    }

    /// A change of an asset, found by its id, or by its identity when there is no id. Absent members stay as they are;
    /// the members of the identity never change.
    wire pub struct UpdateAssetRequest also("isNiAsset" = "isNIAsset", "isVendorAsset" = "isNIAsset") {
        /// Id of the asset.
        pub id: Option<String>,
        /// Display name.
        pub name: Option<String>,
        /// Name of the model; only to find the asset.
        pub model_name: Option<String>,
        /// Number of the model; only to find the asset.
        pub model_number: Option<u64>,
        /// Serial number; only to find the asset.
        pub serial_number: Option<String>,
        /// Name of the vendor; only to find the asset.
        pub vendor_name: Option<String>,
        /// Number of the vendor; only to find the asset.
        pub vendor_number: Option<u64>,
        /// Bus type; only to find the asset.
        pub bus_type: Option<AssetBusType>,
        /// What the asset is.
        pub asset_type: Option<AssetType>,
        /// Version of the firmware.
        pub firmware_version: Option<String>,
        /// Version of the hardware.
        pub hardware_version: Option<String>,
        /// VISA resource name.
        pub visa_resource_name: Option<String>,
        /// Part number of the product.
        pub part_number: Option<String>,
        /// Current temperatures.
        pub temperature_sensors: Option<Vec<TemperatureSensor>>,
        /// Whether it can calibrate itself; true whenever a self-calibration is supplied.
        pub supports_self_calibration: Option<bool>,
        /// Whether it can be calibrated externally; false deletes the external calibration.
        pub supports_external_calibration: Option<bool>,
        /// Interval in months that overrides the manufacturer's.
        pub custom_calibration_interval: Option<i32>,
        /// The latest self-calibration.
        pub self_calibration: Option<SelfCalibration>,
        /// The latest external calibration; a later date than before ends being out for calibration.
        pub external_calibration: Option<ExternalCalibration>,
        /// Whether it is a product of the vendor whose prefix the store has.
        #[serde(rename = "isNIAsset")]
        pub is_vendor_asset: Option<bool>,
        /// Whether it stands for the controller of a system; false until somebody sets it.
        pub is_system_controller: Option<bool>,
        /// Whether it can test itself.
        pub supports_self_test: Option<bool>,
        /// Whether it can be reset.
        pub supports_reset: Option<bool>,
        /// Where it is.
        pub location: Option<AssetLocationForUpdate>,
        /// Whether it is away for calibration.
        pub out_for_calibration: Option<bool>,
        /// Id of the workspace.
        pub workspace: Option<String>,
        /// All properties.
        pub properties: Option<BTreeMap<String, String>>,
        /// All keywords.
        pub keywords: Option<Vec<String>>,
        /// Ids of all linked files.
        pub file_ids: Option<Vec<String>>,
        /// Text of the code on the asset's label.
        pub scan_code: Option<String>,
    }

    /// What came of creating assets.
    wire pub struct CreateAssetsPartialSuccess {
        /// The created assets, in request order.
        pub assets: Option<Vec<Asset>>,
        /// The requests that failed, as received.
        pub failed: Option<Vec<CreateAssetRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// What came of updating assets.
    wire pub struct UpdateAssetsPartialSuccess {
        /// The updated assets, in request order.
        pub assets: Option<Vec<Asset>>,
        /// The requests that failed, as received.
        pub failed: Option<Vec<UpdateAssetRequest>>,
        /// One inner error for each failed request.
        pub error: Option<ApiError>,
    }

    /// What came of deleting assets.
    wire pub struct DeleteAssetsResponse {
        /// Ids of the deleted assets.
        pub ids: Option<Vec<String>>,
        /// Ids that could not be deleted.
        pub failed: Option<Vec<String>>,
        /// One inner error for each failed id.
        pub error: Option<ApiError>,
    }

    /// What came of linking files, when some could not be linked.
    wire pub struct LinkFilesPartialSuccessResponse {
        /// Ids of the linked files.
        pub succeeded: Option<Vec<String>>,
        /// Ids that could not be linked.
        pub failed: Option<Vec<String>>,
        /// One inner error for each failed id.
        pub error: Option<ApiError>,
    }

    /// A query for assets.
    wire pub struct QueryAssetsRequest {
        /// Filter; all assets when absent. There are no substitutions.
        pub filter: Option<String>,
        /// Members to return; all when absent or empty. On the wire also the text that a public client sends, `new(ID, NAME)`.
        #[serde(deserialize_with = "projection")]
        pub projection: Option<Vec<AssetField>>,
        /// Matches to jump over.
        pub skip: Option<i64>,
        /// Page size; 1000 when absent or -1, and at most 1000.
        pub take: Option<i64>,
        /// Order; that of creation when absent.
        pub order_by: Option<AssetOrderBy>,
        /// Whether the order is reversed; needs an order.
        pub descending: Option<bool>,
        /// Whether to count all matches.
        pub return_count: Option<bool>,
    }

    /// A page of assets.
    wire pub struct QueryAssetsResponse {
        /// The assets.
        pub assets: Option<Vec<Asset>>,
        /// Count of all matches, when asked for.
        pub total_count: Option<u64>,
    }

    /// Counts over all visible assets at one moment.
    wire pub struct AssetSummary {
        /// All assets.
        pub total: u64,
        /// Present in a connected system.
        pub active: u64,
        /// All others.
        pub not_active: u64,
        /// With a running utilization that is alive.
        pub in_use: u64,
        /// All others.
        pub not_in_use: u64,
        /// With alarms; always zero, for the store knows no alarms.
        pub with_alarms: u64,
        /// Calibration due within the warning window.
        pub approaching_recommended_due_date: u64,
        /// Calibration due.
        pub past_recommended_due_date: u64,
        /// With an external calibration.
        pub total_calibrated: u64,
        /// Away for calibration.
        pub out_for_calibration: u64,
    }
}

wire_enum! {
    /// What asset queries can be ordered by.
    pub enum AssetOrderBy {
        /// The time of the last change.
        LastUpdatedTimestamp = "LAST_UPDATED_TIMESTAMP",
        /// The id, which is the order of creation.
        Id = "ID",
    }
}

wire_enum! {
    /// The members of an asset that a query can be restricted to.
    pub enum AssetField {
        /// `id`.
        Id = "ID",
        /// `name`.
        Name = "NAME",
        /// `modelName`.
        ModelName = "MODEL_NAME",
        /// `modelNumber`.
        ModelNumber = "MODEL_NUMBER",
        /// `serialNumber`.
        SerialNumber = "SERIAL_NUMBER",
        /// `partNumber`.
        PartNumber = "PART_NUMBER",
        /// `vendorName`.
        VendorName = "VENDOR_NAME",
        /// `vendorNumber`.
        VendorNumber = "VENDOR_NUMBER",
        /// `busType`.
        BusType = "BUS_TYPE",
        /// `assetType`.
        AssetType = "ASSET_TYPE",
        /// `discoveryType`.
        DiscoveryType = "DISCOVERY_TYPE",
        /// `visaResourceName`.
        VisaResourceName = "VISA_RESOURCE_NAME",
        /// `firmwareVersion`.
        FirmwareVersion = "FIRMWARE_VERSION",
        /// `hardwareVersion`.
        HardwareVersion = "HARDWARE_VERSION",
        /// `temperatureSensors`.
        TemperatureSensors = "TEMPERATURE_SENSORS",
        /// `customCalibrationInterval`.
        CustomCalibrationInterval = "CUSTOM_CALIBRATION_INTERVAL",
        /// `supportsSelfCalibration`.
        SupportsSelfCalibration = "SUPPORTS_SELF_CALIBRATION",
        /// `supportsExternalCalibration`.
        SupportsExternalCalibration = "SUPPORTS_EXTERNAL_CALIBRATION",
        /// `selfCalibration`.
        SelfCalibration = "SELF_CALIBRATION",
        /// `externalCalibration`.
        ExternalCalibration = "EXTERNAL_CALIBRATION",
        /// The vendor member, `isNIAsset` by default.
        IsVendorAsset = "IS_VENDOR_ASSET",
        /// The vendor member, as clients with the default prefix spell it.
        IsNiAsset = "IS_NI_ASSET",
        /// `isSystemController`.
        IsSystemController = "IS_SYSTEM_CONTROLLER",
        /// `location`.
        Location = "LOCATION",
        /// `calibrationStatus`.
        CalibrationStatus = "CALIBRATION_STATUS",
        /// `workspace`.
        Workspace = "WORKSPACE",
        /// `properties`.
        Properties = "PROPERTIES",
        /// `keywords`.
        Keywords = "KEYWORDS",
        /// `fileIds`.
        FilesIds = "FILES_IDS",
        /// `lastUpdatedTimestamp`.
        LastUpdate = "LAST_UPDATE",
        /// `outForCalibration`.
        OutForCalibration = "OUT_FOR_CALIBRATION",
        /// `supportsReset`.
        SupportsReset = "SUPPORTS_RESET",
        /// `supportsSelfTest`.
        SupportsSelfReset = "SUPPORTS_SELF_RESET",
        /// `scanCode`.
        ScanCode = "SCAN_CODE",
    }
}

/// Reads a projection: an array of names, or the text `new(ID, NAME)`.
fn projection<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<AssetField>>, D::Error> {
    let Some(json) = Option::<Value>::deserialize(deserializer)? else { return Ok(None) };
    let names = match &json {
        Value::String(text) => names_in(text).map_err(D::Error::custom)?,
        _ => return from_value(json).map(Some).map_err(D::Error::custom),
    };
    names.into_iter().map(field_named).collect::<Result<_, _>>().map(Some).map_err(D::Error::custom)
}

/// The names in `new(ID, NAME)`; blank text has none.
fn names_in(text: &str) -> Result<Vec<&str>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let list = text.get(..3).filter(|word| word.eq_ignore_ascii_case("new")).and_then(|_| text.get(3..));
    let list = list.and_then(|list| list.trim_start().strip_prefix('(')?.strip_suffix(')'));
    let list =
        list.ok_or_else(|| format!("{text:?} is no projection; expected an array of names, or new(ID, NAME)"))?;
    Ok(list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect())
}

/// A field by the name of its projection, or by that of its member where the two differ.
fn field_named(name: &str) -> Result<AssetField, String> {
    match fold(name).as_str() {
        "fileids" => Ok(AssetField::FilesIds),
        "lastupdatedtimestamp" => Ok(AssetField::LastUpdate),
        "supportsselftest" => Ok(AssetField::SupportsSelfReset),
        _ => name.parse().map_err(|error: Error| error.message().to_owned()),
    }
}

impl Asset {
    /// The record with only the members that `projection` lists; all of them when it is empty.
    #[must_use]
    pub fn project(self, projection: &[AssetField]) -> Self {
        if projection.is_empty() {
            return self;
        }
        let mut kept = Self::default();
        for member in projection {
            match member {
                AssetField::Id => kept.id.clone_from(&self.id),
                AssetField::Name => kept.name.clone_from(&self.name),
                AssetField::ModelName => kept.model_name.clone_from(&self.model_name),
                AssetField::ModelNumber => kept.model_number = self.model_number,
                AssetField::SerialNumber => kept.serial_number.clone_from(&self.serial_number),
                AssetField::PartNumber => kept.part_number.clone_from(&self.part_number),
                AssetField::VendorName => kept.vendor_name.clone_from(&self.vendor_name),
                AssetField::VendorNumber => kept.vendor_number = self.vendor_number,
                AssetField::BusType => kept.bus_type = self.bus_type,
                AssetField::AssetType => kept.asset_type = self.asset_type,
                AssetField::DiscoveryType => kept.discovery_type = self.discovery_type,
                AssetField::VisaResourceName => kept.visa_resource_name.clone_from(&self.visa_resource_name),
                AssetField::FirmwareVersion => kept.firmware_version.clone_from(&self.firmware_version),
                AssetField::HardwareVersion => kept.hardware_version.clone_from(&self.hardware_version),
                AssetField::TemperatureSensors => kept.temperature_sensors.clone_from(&self.temperature_sensors),
                AssetField::CustomCalibrationInterval => {
                    kept.custom_calibration_interval = self.custom_calibration_interval;
                }
                AssetField::SupportsSelfCalibration => kept.supports_self_calibration = self.supports_self_calibration,
                AssetField::SupportsExternalCalibration => {
                    kept.supports_external_calibration = self.supports_external_calibration;
                }
                AssetField::SelfCalibration => kept.self_calibration.clone_from(&self.self_calibration),
                AssetField::ExternalCalibration => kept.external_calibration.clone_from(&self.external_calibration),
                AssetField::IsVendorAsset | AssetField::IsNiAsset => kept.is_vendor_asset = self.is_vendor_asset,
                AssetField::IsSystemController => kept.is_system_controller = self.is_system_controller,
                AssetField::Location => kept.location.clone_from(&self.location),
                AssetField::CalibrationStatus => kept.calibration_status = self.calibration_status,
                AssetField::Workspace => kept.workspace.clone_from(&self.workspace),
                AssetField::Properties => kept.properties.clone_from(&self.properties),
                AssetField::Keywords => kept.keywords.clone_from(&self.keywords),
                AssetField::FilesIds => kept.file_ids.clone_from(&self.file_ids),
                AssetField::LastUpdate => kept.last_updated_timestamp = self.last_updated_timestamp,
                AssetField::OutForCalibration => kept.out_for_calibration = self.out_for_calibration,
                AssetField::SupportsReset => kept.supports_reset = self.supports_reset,
                AssetField::SupportsSelfReset => kept.supports_self_test = self.supports_self_test,
                AssetField::ScanCode => kept.scan_code.clone_from(&self.scan_code),
            }
        }
        kept
    }
}
