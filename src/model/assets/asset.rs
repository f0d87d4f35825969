//! Assets: instruments, devices under test, fixtures and systems.
//!
//! What depends on the moment of reading (calibration status, due date) is never stored: [`Asset::read_at`] adds it,
//! and the field table computes it for filters.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::model::assets::calibration;
use crate::model::assets::identity::Identity;
use crate::model::assets::parts::{
    AssetBusType, AssetDiscoveryType, AssetLocation, AssetPresenceStatus, AssetType, CalibrationStatus,
    ExternalCalibration, SelfCalibration, SystemConnection, TemperatureSensor,
};
use crate::model::resource::declare::{add_keywords, add_properties, add_text, enum_type, field, fill, index};
use crate::model::resource::{Field, Index, Resource, TextField};
use crate::value::id::{Kind, id_type};
use crate::value::wire::record;
use crate::value::{Env, FieldDecl, FieldType, IdForm, Row, Service, Val, time};

id_type!(
    /// The id of an asset.
    AssetId,
    IdForm::Guid
);

record! {
    /// An asset; members that a projection drops are `None`.
    pub struct Asset also("isNiAsset" = "isNIAsset", "isVendorAsset" = "isNIAsset") {
        /// Id in the store.
        pub id: Option<AssetId>,
        /// Display name.
        pub name: Option<String>,
        /// Name of the model; part of the identity.
        pub model_name: Option<String>,
        /// Number of the model; part of the identity.
        pub model_number: Option<u64>,
        /// Serial number; part of the identity.
        pub serial_number: Option<String>,
        /// Name of the vendor; part of the identity.
        pub vendor_name: Option<String>,
        /// Number of the vendor; part of the identity.
        pub vendor_number: Option<u64>,
        /// Bus type; part of the identity.
        pub bus_type: Option<AssetBusType>,
        /// What the asset is.
        pub asset_type: Option<AssetType>,
        /// How it became known.
        pub discovery_type: Option<AssetDiscoveryType>,
        /// Version of the firmware.
        pub firmware_version: Option<String>,
        /// Version of the hardware.
        pub hardware_version: Option<String>,
        /// VISA resource name.
        pub visa_resource_name: Option<String>,
        /// Links the asset to a product, by value alone.
        pub part_number: Option<String>,
        /// Current temperatures.
        pub temperature_sensors: Option<Vec<TemperatureSensor>>,
        /// Whether it can calibrate itself.
        pub supports_self_calibration: Option<bool>,
        /// Whether it can be calibrated externally.
        pub supports_external_calibration: Option<bool>,
        /// Interval in months that overrides the manufacturer's.
        pub custom_calibration_interval: Option<i32>,
        /// The latest self-calibration.
        pub self_calibration: Option<SelfCalibration>,
        /// The latest external calibration.
        pub external_calibration: Option<ExternalCalibration>,
        /// Whether it is a product of the vendor whose prefix the store has; see [`crate::model::VendorPrefix`].
        #[serde(rename = "isNIAsset")]
        pub is_vendor_asset: Option<bool>,
        /// Whether it stands for the controller of a system.
        pub is_system_controller: Option<bool>,
        /// Whether it can test itself.
        pub supports_self_test: Option<bool>,
        /// Whether it can be reset.
        pub supports_reset: Option<bool>,
        /// Where it is.
        pub location: Option<AssetLocation>,
        /// How its calibration stands at the moment of reading.
        pub calibration_status: Option<CalibrationStatus>,
        /// Whether it is away for calibration.
        pub out_for_calibration: Option<bool>,
        /// Id of the workspace.
        pub workspace: Option<String>,
        /// Properties.
        pub properties: Option<BTreeMap<String, String>>,
        /// Keywords.
        pub keywords: Option<Vec<String>>,
        /// Ids of linked files.
        pub file_ids: Option<Vec<String>>,
        /// Time of creation or of the last change, utilization aside.
        #[serde(with = "crate::value::time::opt")]
        pub last_updated_timestamp: Option<DateTime<Utc>>,
        /// Text of the code on the asset's label.
        pub scan_code: Option<String>,
    }
}

/// Index numbers of assets.
pub mod asset_index {
    /// The canonical identity, unique.
    pub const IDENTITY: u8 = 1;
    /// What identities share that may be the same.
    pub const CANDIDATES: u8 = 2;
    /// System.
    pub const MINION: u8 = 3;
    /// Parent.
    pub const PARENT: u8 = 4;
    /// Serial number.
    pub const SERIAL_NUMBER: u8 = 5;
    /// Part number.
    pub const PART_NUMBER: u8 = 6;
    /// Time of the last change.
    pub const LAST_UPDATED: u8 = 7;
    /// Model name.
    pub const MODEL_NAME: u8 = 8;
    /// Each linked file.
    pub const FILE_IDS: u8 = 9;
    /// The date at which the external calibration is due.
    pub const DUE: u8 = 10;
}

/// Connection states as filters see them: each stands for connected or disconnected.
const CONNECTIONS: FieldType = FieldType::Enum(&[
    ("DISCONNECTED", &["APPROVED", "UNSUPPORTED", "ACTIVATED"]),
    ("CONNECTED", &["CONNECTED_UPDATE_PENDING", "CONNECTED_UPDATE_SUCCESSFUL", "CONNECTED_UPDATE_FAILED"]),
]);

/// Fields of an element of `locations`, the list view of the one location.
const LOCATION: [FieldDecl; 4] = [
    FieldDecl::new("minionId", FieldType::String),
    FieldDecl::new("physicalLocation", FieldType::String),
    FieldDecl::new("parent", FieldType::String),
    FieldDecl::new("slotNumber", FieldType::Int),
];

impl Row for AssetLocation {
    fn val(&self, index: usize) -> Val<'_> {
        match index {
            0 => self.minion_id.as_ref().into(),
            1 => self.physical_location.as_ref().into(),
            2 => self.parent.as_ref().into(),
            3 => self.slot_number.map(i64::from).into(),
            _ => Val::Null,
        }
    }
}

const fn text(path: &'static str) -> FieldDecl {
    FieldDecl::new(path, FieldType::String)
}

const fn of(path: &'static str, ty: FieldType) -> FieldDecl {
    FieldDecl::new(path, ty)
}

fn number<'a>(value: Option<u64>) -> Val<'a> {
    value.and_then(|value| i64::try_from(value).ok()).into()
}

fn place(asset: &Asset) -> Option<&AssetLocation> {
    asset.location.as_ref()
}

fn external(asset: &Asset) -> Option<&ExternalCalibration> {
    asset.external_calibration.as_ref()
}

static FIELDS: [Field<Asset>; 46] = [
    field(text("id").alias(&["assetIdentifier"]), |a, _| a.id.as_ref().into()),
    field(text("name").alias(&["assetName"]), |a, _| a.name.as_ref().into()),
    field(text("serialNumber"), |a, _| a.serial_number.as_ref().into()),
    field(text("modelName"), |a, _| a.model_name.as_ref().into()),
    field(text("vendorName"), |a, _| a.vendor_name.as_ref().into()),
    field(text("partNumber"), |a, _| a.part_number.as_ref().into()),
    field(text("firmwareVersion"), |a, _| a.firmware_version.as_ref().into()),
    field(text("hardwareVersion"), |a, _| a.hardware_version.as_ref().into()),
    field(text("visaResourceName"), |a, _| a.visa_resource_name.as_ref().into()),
    field(text("scanCode"), |a, _| a.scan_code.as_ref().into()),
    field(text("workspace"), |a, _| a.workspace.as_ref().into()),
    field(of("modelNumber", FieldType::Int), |a, _| number(a.model_number)),
    field(of("vendorNumber", FieldType::Int), |a, _| number(a.vendor_number)),
    field(of("busType", enum_type!(AssetBusType)), |a, _| a.bus_type.into()),
    field(of("assetType", enum_type!(AssetType)), |a, _| a.asset_type.into()),
    field(of("discoveryType", enum_type!(AssetDiscoveryType)), |a, _| a.discovery_type.into()),
    field(of("isVendorAsset", FieldType::Bool).alias(&["isNIAsset"]), |a, _| a.is_vendor_asset.into()),
    field(of("isSystemController", FieldType::Bool), |a, _| a.is_system_controller.unwrap_or(false).into()),
    field(of("supportsSelfCalibration", FieldType::Bool), |a, _| a.supports_self_calibration.into()),
    field(of("supportsExternalCalibration", FieldType::Bool), |a, _| a.supports_external_calibration.into()),
    field(of("supportsSelfTest", FieldType::Bool), |a, _| a.supports_self_test.into()),
    field(of("supportsReset", FieldType::Bool), |a, _| a.supports_reset.into()),
    field(of("outForCalibration", FieldType::Bool), |a, _| a.out_for_calibration.unwrap_or(false).into()),
    field(of("keywords", FieldType::Strings), |a, _| a.keywords.as_ref().into()),
    field(of("properties", FieldType::Map), |a, _| a.properties.as_ref().into()),
    field(of("fileIds", FieldType::Strings), |a, _| a.file_ids.as_ref().into()),
    field(of("lastUpdatedTimestamp", FieldType::Time), |a, _| a.last_updated_timestamp.into()),
    field(text("location.minionId"), |a, _| place(a).and_then(|l| l.minion_id.as_ref()).into()),
    field(text("location.physicalLocation"), |a, _| place(a).and_then(|l| l.physical_location.as_ref()).into()),
    field(text("location.parent"), |a, _| place(a).and_then(|l| l.parent.as_ref()).into()),
    field(text("location.resourceUri"), |a, _| place(a).and_then(|l| l.resource_uri.as_ref()).into()),
    field(of("location.slotNumber", FieldType::Int), |a, _| place(a).and_then(|l| l.slot_number).map(i64::from).into()),
    field(
        of("location.state.systemConnection", CONNECTIONS).alias(&["location.assetState.systemConnection"]),
        |a, _| a.system_connection().map(SystemConnection::folded).into(),
    ),
    field(
        of("location.state.assetPresence", enum_type!(AssetPresenceStatus))
            .alias(&["location.assetState.assetPresence"]),
        |a, _| a.presence().into(),
    ),
    field(of("locations", FieldType::Rows(&LOCATION)), |a, _| {
        Val::Rows(place(a).map(|l| l as &dyn Row).into_iter().collect())
    }),
    field(of("selfCalibration.date", FieldType::Time).alias(&["selfCalibration.calibrationDate"]), |a, _| {
        a.self_calibration.as_ref().and_then(|c| c.date).into()
    }),
    field(of("selfCalibration.isLimited", FieldType::Bool), |a, _| {
        a.self_calibration.as_ref().and_then(|c| c.is_limited).into()
    }),
    field(of("calibrationStatus", enum_type!(CalibrationStatus)), |a, env| a.calibration_status(env).into()),
    field(of("customCalibrationInterval", FieldType::Int), |a, _| a.custom_calibration_interval.map(i64::from).into()),
    field(of("externalCalibration.date", FieldType::Time).alias(&["externalCalibration.calibrationDate"]), |a, _| {
        external(a).and_then(|c| c.date).into()
    }),
    // Follows the operator's own date when there is one, as the service has it.
    field(of("externalCalibration.nextRecommendedDate", FieldType::Time), |a, _| {
        external(a).and_then(|c| c.next_custom_due_date.or(c.next_recommended_date)).into()
    }),
    field(of("externalCalibration.resolvedDueDate", FieldType::Time), |a, _| a.due_date().into()),
    field(of("externalCalibration.recommendedInterval", FieldType::Int), |a, _| {
        external(a).and_then(|c| c.recommended_interval).map(i64::from).into()
    }),
    field(text("externalCalibration.comments"), |a, _| external(a).and_then(|c| c.comments.as_ref()).into()),
    field(of("externalCalibration.isLimited", FieldType::Bool), |a, _| external(a).and_then(|c| c.is_limited).into()),
    field(of("lastUpdatedWithin", FieldType::Within), |a, _| a.last_updated_timestamp.into()),
];

/// An asset out of every system and without a serial number has no identity, and no entries.
fn identity_of(asset: &Asset) -> Option<Identity<'_>> {
    Identity::of_asset(asset).ok()
}

static INDEXES: [Index<Asset>; 10] = [
    Index {
        number: asset_index::IDENTITY,
        since: 1,
        fields: &[],
        unique: true,
        include: &[],
        on: Some(|a| identity_of(a).map(|identity| vec![identity.canonical_key()]).unwrap_or_default()),
    },
    Index {
        number: asset_index::CANDIDATES,
        since: 1,
        fields: &[],
        unique: false,
        include: &[],
        on: Some(|a| identity_of(a).map(|identity| vec![identity.candidate_key()]).unwrap_or_default()),
    },
    index(asset_index::MINION, &["location.minionId"]),
    index(asset_index::PARENT, &["location.parent"]),
    index(asset_index::SERIAL_NUMBER, &["serialNumber"]),
    index(asset_index::PART_NUMBER, &["partNumber"]),
    index(asset_index::LAST_UPDATED, &["lastUpdatedTimestamp"]),
    index(asset_index::MODEL_NAME, &["modelName"]),
    index(asset_index::FILE_IDS, &["fileIds"]),
    index(asset_index::DUE, &["externalCalibration.resolvedDueDate"]),
];

static TEXT: [TextField<Asset>; 9] = [
    TextField { name: "name", weight: 4.0, get: |a, out| add_text(out, a.name.as_deref()) },
    TextField { name: "modelName", weight: 3.0, get: |a, out| add_text(out, a.model_name.as_deref()) },
    TextField { name: "serialNumber", weight: 3.0, get: |a, out| add_text(out, a.serial_number.as_deref()) },
    TextField { name: "vendorName", weight: 2.0, get: |a, out| add_text(out, a.vendor_name.as_deref()) },
    TextField { name: "partNumber", weight: 3.0, get: |a, out| add_text(out, a.part_number.as_deref()) },
    TextField {
        name: "location",
        weight: 1.0,
        get: |a, out| {
            let Some(location) = &a.location else { return };
            add_text(out, location.minion_id.as_deref());
            add_text(out, location.physical_location.as_deref());
            add_text(out, location.parent.as_deref());
        },
    },
    TextField {
        name: "comments",
        weight: 1.0,
        get: |a, out| add_text(out, external(a).and_then(|calibration| calibration.comments.as_deref())),
    },
    TextField { name: "keywords", weight: 2.0, get: |a, out| add_keywords(out, a.keywords.as_ref()) },
    TextField { name: "properties", weight: 1.0, get: |a, out| add_properties(out, a.properties.as_ref()) },
];

impl Resource for Asset {
    const KIND: Kind = Kind { code: 3, name: "Asset", service: Service::ASSETS, id: IdForm::Guid };

    fn id(&self) -> &str {
        self.id.as_deref().unwrap_or_default()
    }

    fn workspace(&self) -> &str {
        self.workspace.as_deref().unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.name.as_deref().or(self.model_name.as_deref()).unwrap_or_default()
    }

    fn fields() -> &'static [Field<Self>] {
        &FIELDS
    }

    fn indexes() -> &'static [Index<Self>] {
        &INDEXES
    }

    fn text() -> &'static [TextField<Self>] {
        &TEXT
    }
}

impl Asset {
    /// The date at which the external calibration is due; a function of stored facts alone.
    #[must_use]
    pub fn due_date(&self) -> Option<DateTime<Utc>> {
        calibration::resolved_due_date(self.external_calibration.as_ref()?, self.custom_calibration_interval)
    }

    /// How the calibration stands at the moment of `env`.
    pub(crate) fn calibration_status(&self, env: &Env) -> CalibrationStatus {
        let is_out = self.out_for_calibration == Some(true);
        calibration::status_at(time::from_millis(env.now_ms), is_out, self.due_date(), env.calibration_warning_days)
    }

    /// The presence, when it is known.
    #[must_use]
    pub fn presence(&self) -> Option<AssetPresenceStatus> {
        self.location.as_ref()?.state.as_ref()?.asset_presence
    }

    /// The connection of the system, when the host reported one.
    #[must_use]
    pub fn system_connection(&self) -> Option<SystemConnection> {
        self.location.as_ref()?.state.as_ref()?.system_connection
    }

    /// Whether it is present in a connected system.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.presence() == Some(AssetPresenceStatus::Present)
            && self.system_connection().is_some_and(SystemConnection::is_connected)
    }

    /// The record as a caller sees it at the moment of `env`.
    pub(crate) fn read_at(mut self, env: &Env) -> Self {
        self.calibration_status = Some(self.calibration_status(env));
        self.is_system_controller.get_or_insert(false);
        self.out_for_calibration.get_or_insert(false);
        let due = self.due_date();
        if let Some(calibration) = &mut self.external_calibration {
            calibration.resolved_due_date = due;
        }
        self.answered()
    }

    /// The record with its lists and maps, also where they are empty.
    fn answered(mut self) -> Self {
        fill(&mut self.keywords);
        fill(&mut self.file_ids);
        fill(&mut self.properties);
        fill(&mut self.temperature_sensors);
        if let Some(calibration) = &mut self.self_calibration {
            fill(&mut calibration.temperature_sensors);
        }
        if let Some(calibration) = &mut self.external_calibration {
            fill(&mut calibration.temperature_sensors);
        }
        self
    }

    /// The record without what is computed at read time: the form that is stored.
    pub(crate) fn without_computed(mut self) -> Self {
        self.calibration_status = None;
        if let Some(calibration) = &mut self.external_calibration {
            calibration.resolved_due_date = None;
        }
        self
    }
}

#[cfg(test)]
#[path = "asset_tests.rs"]
mod tests;
