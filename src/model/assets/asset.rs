//! Assets: instruments, devices under test, fixtures and systems.
//!
//! Values that depend on the time of reading (calibration status, due date) are never stored:
//! [`Asset::read_at`] adds them, and the field table computes them for filters.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::error::Result;
use crate::model::assets::calibration;
use crate::model::assets::identity::{Identity, IdentityMembers};
use crate::model::assets::parts::{
    AssetBusType, AssetDiscoveryType, AssetLocation, AssetLocationForCreate,
    AssetLocationForUpdate, AssetPresenceStatus, AssetType, CalibrationStatus, ExternalCalibration,
    SelfCalibration, SystemConnection, TemperatureSensor,
};
use crate::model::resource::Resource;
use crate::model::resource::declare::fill;
use crate::value::id::id_type;
use crate::value::part::{Rows, Words as _};
use crate::value::{Env, FieldType, IdForm, Row, Val, time};

id_type!(
    /// The id of an asset.
    AssetId,
    IdForm::Guid
);

/// Connection states as filters see them: all states are mapped to connected or disconnected.
const CONNECTIONS: FieldType = FieldType::Enum(&[
    ("DISCONNECTED", &["APPROVED", "UNSUPPORTED", "ACTIVATED"]),
    (
        "CONNECTED",
        &["CONNECTED_UPDATE_PENDING", "CONNECTED_UPDATE_SUCCESSFUL", "CONNECTED_UPDATE_FAILED"],
    ),
]);

/// `locations`, a list with the one location.
const LOCATIONS: FieldType = FieldType::Rows(AssetLocation::FIELDS);

/// An asset; members that a projection omits are `None`.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(kind = 3, name = "Asset", service(ASSETS), id(Guid), title(name, model_name))]
#[also(isNiAsset = "isNIAsset", isVendorAsset = "isNIAsset")]
#[fields(
    id(also("assetIdentifier")),
    name(also("assetName")),
    serial_number,
    model_name,
    vendor_name,
    part_number
)]
#[fields(
    firmware_version,
    hardware_version,
    visa_resource_name,
    scan_code,
    workspace,
    model_number,
    vendor_number
)]
#[fields(bus_type, asset_type, discovery_type, is_vendor_asset(also("isNIAsset")))]
#[fields(is_system_controller(get(controls_system)))]
#[fields(
    supports_self_calibration,
    supports_external_calibration,
    supports_self_test,
    supports_reset
)]
#[fields(
    out_for_calibration(get(is_out_for_calibration)),
    keywords,
    properties,
    file_ids,
    last_updated_timestamp
)]
#[fields(location(minion_id, physical_location, parent, resource_uri, slot_number))]
#[fields(location(state(system_connection(
    also("location.assetState.systemConnection"),
    of(CONNECTIONS),
    get(folded_connection)
))))]
#[fields(location(state(asset_presence(also("location.assetState.assetPresence")))))]
#[fields(locations(get(locations), of(LOCATIONS)))]
#[fields(self_calibration(date(also("selfCalibration.calibrationDate")), is_limited))]
#[fields(calibration_status(at(calibration_status)), custom_calibration_interval)]
#[fields(external_calibration(date(also("externalCalibration.calibrationDate"))))]
#[fields(external_calibration(
    next_recommended_date(get(next_due_date)),
    resolved_due_date(get(due_date))
))]
#[fields(external_calibration(recommended_interval, comments, is_limited))]
#[fields(last_updated_within(within(last_updated_timestamp)))]
#[index(1, unique(), on(identity_entries))]
#[index(2, on(candidate_entries))]
#[index(3, location(minion_id))]
#[index(4, location(parent))]
#[index(5, serial_number)]
#[index(6, part_number)]
#[index(7, last_updated_timestamp)]
#[index(8, model_name)]
#[index(9, file_ids)]
#[index(10, external_calibration(resolved_due_date))]
#[text(name = 4.0, model_name = 3.0, serial_number = 3.0, vendor_name = 2.0, part_number = 3.0)]
#[text(location(1.0, get(add_location)), comments(1.0, from(external_calibration(comments))))]
#[text(keywords = 2.0, properties = 1.0)]
#[order(AssetOrderBy(last_updated_timestamp, id))]
#[projection(AssetField(
    id,
    name,
    model_name,
    model_number,
    serial_number,
    part_number,
    vendor_name,
    vendor_number
))]
#[projection(AssetField(
    bus_type,
    asset_type,
    discovery_type,
    visa_resource_name,
    firmware_version,
    hardware_version
))]
#[projection(AssetField(
    temperature_sensors,
    custom_calibration_interval,
    supports_self_calibration
))]
#[projection(AssetField(
    supports_external_calibration,
    self_calibration,
    external_calibration,
    is_vendor_asset
))]
#[projection(AssetField(
    is_vendor_asset = "IS_NI_ASSET",
    is_system_controller,
    location,
    calibration_status
))]
#[projection(AssetField(workspace, properties, keywords, file_ids = "FILES_IDS"))]
#[projection(AssetField(
    last_updated_timestamp = "LAST_UPDATE",
    out_for_calibration,
    supports_reset
))]
#[projection(AssetField(supports_self_test = "SUPPORTS_SELF_RESET", scan_code))]
#[request(
    CreateAssetRequest = "An asset to create. Its identity (bus, model, vendor, serial number or \
                          system) must be new."
)]
#[request(CreateAssetRequest(
    name,
    model_name = "Name of the model; this or the number is required."
))]
#[request(CreateAssetRequest(model_number = "Number of the model."))]
#[request(CreateAssetRequest(
    serial_number = "Serial number; this or the system of the location is required."
))]
#[request(CreateAssetRequest(vendor_name = "Name of the vendor; this or the number is required."))]
#[request(CreateAssetRequest(vendor_number = "Number of the vendor."))]
#[request(CreateAssetRequest(bus_type = "Bus type; `BUILT_IN_SYSTEM` when absent."))]
#[request(CreateAssetRequest(asset_type = "Type of the asset; `GENERIC` when absent."))]
#[request(CreateAssetRequest(discovery_type = "How it was discovered; `MANUAL` when absent."))]
#[request(CreateAssetRequest(
    firmware_version,
    hardware_version,
    visa_resource_name,
    part_number,
    temperature_sensors
))]
#[request(CreateAssetRequest(
    supports_self_calibration = "Whether it can calibrate itself; true with a self-calibration."
))]
#[request(CreateAssetRequest(
    supports_external_calibration = "Whether it can be calibrated externally; true with an \
                                     external calibration."
))]
#[request(CreateAssetRequest(
    custom_calibration_interval,
    self_calibration,
    external_calibration,
    is_vendor_asset
))]
#[request(CreateAssetRequest(
    is_system_controller = "Whether it is the controller of a system; false until it is set."
))]
#[request(CreateAssetRequest(supports_self_test, supports_reset))]
#[request(CreateAssetRequest(
    location(Option<AssetLocationForCreate>, "Location; required, with its presence.")
))]
#[request(CreateAssetRequest(
    workspace = "Id of the workspace; the default workspace of the session when absent."
))]
#[request(CreateAssetRequest(properties, keywords, file_ids, scan_code))]
#[request(
    UpdateAssetRequest = "A change of an asset, found by its id or identity. The identity and \
                          absent members stay."
)]
#[request(UpdateAssetRequest(id(Option<String>, "Id of the asset."), name))]
#[request(UpdateAssetRequest(model_name(own, "Name of the model; only to find the asset.")))]
#[request(UpdateAssetRequest(model_number(own, "Number of the model; only to find the asset.")))]
#[request(UpdateAssetRequest(serial_number(own, "Serial number; only to find the asset.")))]
#[request(UpdateAssetRequest(vendor_name(own, "Name of the vendor; only to find the asset.")))]
#[request(UpdateAssetRequest(vendor_number(
    own,
    "Number of the vendor; only to find the asset."
)))]
#[request(UpdateAssetRequest(bus_type(own, "Bus type; only to find the asset."), asset_type))]
#[request(UpdateAssetRequest(
    firmware_version,
    hardware_version,
    visa_resource_name,
    part_number,
    temperature_sensors
))]
#[request(UpdateAssetRequest(
    supports_self_calibration = "Whether it can calibrate itself; true with a self-calibration."
))]
#[request(UpdateAssetRequest(
    supports_external_calibration = "Whether it can be calibrated externally; false deletes the \
                                     external calibration."
))]
#[request(UpdateAssetRequest(custom_calibration_interval, self_calibration))]
#[request(UpdateAssetRequest(
    external_calibration = "The latest external calibration; a later date than before resets \
                            `out_for_calibration`."
))]
#[request(UpdateAssetRequest(
    is_vendor_asset,
    is_system_controller = "Whether it is the controller of a system; false until it is set."
))]
#[request(UpdateAssetRequest(supports_self_test, supports_reset))]
#[request(UpdateAssetRequest(
    location(Option<AssetLocationForUpdate>, "Location."),
    out_for_calibration,
    workspace
))]
#[request(UpdateAssetRequest(properties = "All properties.", keywords = "All keywords."))]
#[request(UpdateAssetRequest(file_ids = "Ids of all linked files.", scan_code))]
#[non_exhaustive]
pub struct Asset {
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
    /// Type of the asset.
    pub asset_type: Option<AssetType>,
    /// How the asset was discovered.
    pub discovery_type: Option<AssetDiscoveryType>,
    /// Version of the firmware.
    pub firmware_version: Option<String>,
    /// Version of the hardware.
    pub hardware_version: Option<String>,
    /// VISA resource name.
    pub visa_resource_name: Option<String>,
    /// Links the asset to a product; the product need not exist.
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
    /// Whether it is a product of the vendor whose prefix the store uses; see
    /// [`crate::model::VendorPrefix`].
    #[serde(rename = "isNIAsset")]
    pub is_vendor_asset: Option<bool>,
    /// Whether it is the controller of a system.
    pub is_system_controller: Option<bool>,
    /// Whether it can test itself.
    pub supports_self_test: Option<bool>,
    /// Whether it can be reset.
    pub supports_reset: Option<bool>,
    /// Location.
    pub location: Option<AssetLocation>,
    /// Calibration status at the time of reading.
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
    /// Time of creation or of the last change, except changes of utilization.
    pub last_updated_timestamp: Option<DateTime<Utc>>,
    /// Text of the code on the asset's label.
    pub scan_code: Option<String>,
}

impl Asset {
    /// The identity of the asset.
    ///
    /// # Errors
    /// `InvalidArgument` with the missing member.
    pub(crate) fn identity(&self) -> Result<Identity<'_>> {
        Identity::new(IdentityMembers {
            bus_type: self.bus_type,
            model_name: self.model_name.as_deref(),
            model_number: self.model_number,
            vendor_name: self.vendor_name.as_deref(),
            vendor_number: self.vendor_number,
            serial_number: self.serial_number.as_deref(),
            system: self.location.as_ref().and_then(|location| location.minion_id.as_deref()),
        })
    }

    /// The entries of the unique identity index. An asset outside of any system and without a
    /// serial number has no identity, and no entries.
    fn identity_entries(&self) -> Vec<Vec<u8>> {
        self.identity().map(|identity| vec![identity.canonical_key()]).unwrap_or_default()
    }

    /// The entry that all assets share whose identities may be the same.
    fn candidate_entries(&self) -> Vec<Vec<u8>> {
        self.identity().map(|identity| vec![identity.candidate_key()]).unwrap_or_default()
    }

    /// False if it was never set.
    fn controls_system(&self) -> bool {
        self.is_system_controller.unwrap_or(false)
    }

    /// False if it was never set.
    fn is_out_for_calibration(&self) -> bool {
        self.out_for_calibration.unwrap_or(false)
    }

    fn folded_connection(&self) -> Option<SystemConnection> {
        self.system_connection().map(SystemConnection::folded)
    }

    fn locations(&self) -> Val<'_> {
        Val::Rows(self.location.as_ref().map(|location| location as &dyn Row).into_iter().collect())
    }

    /// The member `nextRecommendedDate` or, as in the reference service, the operator's own date if
    /// there is one.
    fn next_due_date(&self) -> Option<DateTime<Utc>> {
        let calibration = self.external_calibration.as_ref()?;
        calibration.next_custom_due_date.or(calibration.next_recommended_date)
    }

    fn add_location(&self, out: &mut String) {
        let Some(location) = &self.location else { return };
        for text in [&location.minion_id, &location.physical_location, &location.parent]
            .into_iter()
            .flatten()
        {
            text.add(out);
        }
    }

    /// The date at which the external calibration is due, computed only from stored dates.
    #[must_use]
    pub fn due_date(&self) -> Option<DateTime<Utc>> {
        calibration::resolved_due_date(
            self.external_calibration.as_ref()?,
            self.custom_calibration_interval,
        )
    }

    /// The calibration status at the time of `env`.
    pub(crate) fn calibration_status(&self, env: &Env) -> CalibrationStatus {
        let is_out = self.is_out_for_calibration();
        calibration::status_at(
            time::from_millis(env.now_ms),
            is_out,
            self.due_date(),
            env.calibration_warning_days,
        )
    }

    /// The presence, if it is known.
    #[must_use]
    pub fn presence(&self) -> Option<AssetPresenceStatus> {
        self.location.as_ref()?.state.as_ref()?.asset_presence
    }

    /// The connection of the system, if the host has set one.
    #[must_use]
    pub fn system_connection(&self) -> Option<SystemConnection> {
        self.location.as_ref()?.state.as_ref()?.system_connection
    }

    /// Whether the asset is present in a connected system.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.presence() == Some(AssetPresenceStatus::Present)
            && self.system_connection().is_some_and(SystemConnection::is_connected)
    }

    /// The record as a caller sees it at the time of `env`.
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

    /// The record as a response contains it: absent lists and maps are replaced by empty ones.
    pub(super) fn answered(mut self) -> Self {
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

    /// The record as it is stored: without the values that are computed at read time.
    pub(crate) fn without_computed(mut self) -> Self {
        self.calibration_status = None;
        if let Some(calibration) = &mut self.external_calibration {
            calibration.resolved_due_date = None;
        }
        self
    }
}
