//! The enumerations and nested records of assets.

use chrono::{DateTime, Utc};

use crate::value::wire::{record, wire_enum};

wire_enum! {
    /// How an asset is connected to its system.
    pub enum AssetBusType {
        /// Part of the system itself.
        BuiltInSystem = "BUILT_IN_SYSTEM",
        /// PCI or PXI.
        PciPxi = "PCI_PXI",
        /// USB.
        Usb = "USB",
        /// GPIB.
        Gpib = "GPIB",
        /// VXI.
        Vxi = "VXI",
        /// Serial port.
        Serial = "SERIAL",
        /// Network.
        TcpIp = "TCP_IP",
        /// Compact reconfigurable chassis.
        Crio = "CRIO",
        /// Signal conditioning chassis.
        Scxi = "SCXI",
        /// Compact data acquisition chassis.
        Cdaq = "CDAQ",
        /// Switch block.
        SwitchBlock = "SWITCH_BLOCK",
        /// Signal conditioning carrier.
        Scc = "SCC",
        /// FireWire.
        FireWire = "FIRE_WIRE",
        /// Accessory of another asset.
        Accessory = "ACCESSORY",
        /// CAN.
        Can = "CAN",
        /// Device in a switch block.
        SwitchBlockDevice = "SWITCH_BLOCK_DEVICE",
        /// Switch, load and signal conditioning chassis.
        Slsc = "SLSC",
    }
}

wire_enum! {
    /// The type of an asset.
    pub enum AssetType {
        /// An instrument or anything else.
        Generic = "GENERIC",
        /// A device under test.
        DeviceUnderTest = "DEVICE_UNDER_TEST",
        /// A fixture.
        Fixture = "FIXTURE",
        /// A system.
        System = "SYSTEM",
    }
}

wire_enum! {
    /// How an asset was discovered.
    pub enum AssetDiscoveryType {
        /// Entered by a user.
        Manual = "MANUAL",
        /// Detected by the system.
        Automatic = "AUTOMATIC",
    }
}

wire_enum! {
    /// Whether an asset is present at its location.
    pub enum AssetPresenceStatus {
        /// Initializing.
        Initializing = "INITIALIZING",
        /// Unknown.
        Unknown = "UNKNOWN",
        /// Not present.
        NotPresent = "NOT_PRESENT",
        /// Present.
        Present = "PRESENT",
    }
}

wire_enum! {
    /// The presence in an update of an asset.
    wire pub enum AssetPresenceUpdate {
        /// Initializing.
        Initializing = "INITIALIZING",
        /// Unknown.
        Unknown = "UNKNOWN",
        /// Not present; applies only if the asset is still at the location that the update names.
        NotPresent = "NOT_PRESENT",
        /// Present.
        Present = "PRESENT",
        /// Removed from its location: not present, and without system, parent and slot.
        Removed = "REMOVED",
    }
}

wire_enum! {
    /// The connection of a system, as the host last reported it.
    pub enum SystemConnection {
        /// Accepted, not connected yet.
        Approved = "APPROVED",
        /// Not connected.
        Disconnected = "DISCONNECTED",
        /// Connected; an update waits.
        ConnectedUpdatePending = "CONNECTED_UPDATE_PENDING",
        /// Connected.
        Connected = "CONNECTED",
        /// Connected; the last update failed.
        ConnectedUpdateFailed = "CONNECTED_UPDATE_FAILED",
        /// Not supported.
        Unsupported = "UNSUPPORTED",
        /// Activated, not connected yet.
        Activated = "ACTIVATED",
        /// Connected; the last update succeeded.
        ConnectedUpdateSuccessful = "CONNECTED_UPDATE_SUCCESSFUL",
    }
}

impl SystemConnection {
    /// Whether the state counts as connected.
    #[must_use]
    pub const fn is_connected(self) -> bool {
        matches!(
            self,
            Self::Connected
                | Self::ConnectedUpdatePending
                | Self::ConnectedUpdateFailed
                | Self::ConnectedUpdateSuccessful
        )
    }

    /// `CONNECTED` or `DISCONNECTED`, which filters compare.
    #[must_use]
    pub const fn folded(self) -> Self {
        if self.is_connected() { Self::Connected } else { Self::Disconnected }
    }
}

wire_enum! {
    /// How a calibration was entered.
    pub enum CalibrationMode {
        /// Read from the asset.
        Automatic = "AUTOMATIC",
        /// Entered by a user.
        Manual = "MANUAL",
    }
}

wire_enum! {
    /// The status of the external calibration of an asset at the time of reading.
    pub enum CalibrationStatus {
        /// Not due, or without a due date.
        Ok = "OK",
        /// Due within the warning window.
        ApproachingRecommendedDueDate = "APPROACHING_RECOMMENDED_DUE_DATE",
        /// Due.
        PastRecommendedDueDate = "PAST_RECOMMENDED_DUE_DATE",
        /// Out for calibration.
        OutForCalibration = "OUT_FOR_CALIBRATION",
    }
}

record! {
    /// A temperature that an asset measured.
    pub struct TemperatureSensor new() {
        /// Name of the sensor.
        pub name: Option<String>,
        /// Degrees Celsius; required.
        pub reading: Option<f64>,
    }

    /// The latest self-calibration.
    pub struct SelfCalibration new() {
        /// Temperatures during the calibration.
        pub temperature_sensors: Option<Vec<TemperatureSensor>>,
        /// Whether only part of the asset was calibrated.
        pub is_limited: Option<bool>,
        /// Date of the calibration; required.
        pub date: Option<DateTime<Utc>>,
    }

    /// The latest external calibration.
    pub struct ExternalCalibration new() {
        /// Temperatures during the calibration.
        pub temperature_sensors: Option<Vec<TemperatureSensor>>,
        /// Whether only part of the asset was calibrated.
        pub is_limited: Option<bool>,
        /// Date of the calibration; required.
        pub date: Option<DateTime<Utc>>,
        /// The manufacturer's interval in months; required.
        pub recommended_interval: Option<i32>,
        /// The manufacturer's due date; required, kept as given.
        pub next_recommended_date: Option<DateTime<Utc>>,
        /// The operator's own due date.
        pub next_custom_due_date: Option<DateTime<Utc>>,
        /// The due date that applies; computed at every read, ignored in requests.
        pub resolved_due_date: Option<DateTime<Utc>>,
        /// Comments.
        pub comments: Option<String>,
        /// How the calibration was entered.
        pub entry_type: Option<CalibrationMode>,
        /// Checksum of the calibration data.
        pub checksum: Option<String>,
    }

    /// Presence of an asset, and connection of its system.
    pub struct AssetPresenceWithSystemConnection new() {
        /// Whether the asset is present.
        pub asset_presence: Option<AssetPresenceStatus>,
        /// Connection of the system, if the host has set one; read only.
        pub system_connection: Option<SystemConnection>,
    }

    /// The location of an asset.
    #[fields(minion_id, physical_location, parent, slot_number)]
    #[request(AssetLocationForCreate = "The location member of a create request.")]
    #[request(AssetLocationForCreate(
        minion_id,
        physical_location,
        parent,
        resource_uri,
        slot_number
    ))]
    #[request(AssetLocationForCreate(state(Option<AssetPresence>, "Presence; required.")))]
    #[request(AssetLocationForUpdate = "The location member of an update request.")]
    #[request(AssetLocationForUpdate(
        minion_id = "The system that contains it; a change replaces the whole location."
    ))]
    #[request(AssetLocationForUpdate(
        physical_location = "A place outside any system; alone, it takes the asset out of its \
                             system."
    ))]
    #[request(AssetLocationForUpdate(parent, resource_uri, slot_number))]
    #[request(AssetLocationForUpdate(state(Option<AssetPresenceForUpdate>, "Presence.")))]
    pub struct AssetLocation new() {
        /// The system that contains the asset.
        pub minion_id: Option<String>,
        /// A location outside of any system.
        pub physical_location: Option<String>,
        /// The container inside of the system, such as a chassis.
        pub parent: Option<String>,
        /// Resource address.
        pub resource_uri: Option<String>,
        /// Slot; negative if there is none.
        pub slot_number: Option<i32>,
        /// Presence and connection.
        pub state: Option<AssetPresenceWithSystemConnection>,
    }

    /// The presence member of a create request.
    wire pub struct AssetPresence new() {
        /// Whether the asset is in its place; required.
        pub asset_presence: Option<AssetPresenceStatus>,
    }

    /// The presence member of an update request.
    wire pub struct AssetPresenceForUpdate new() {
        /// The new presence.
        pub asset_presence: Option<AssetPresenceUpdate>,
    }
}
